"""The equations of motion of a robot in symbols:  M(q) q̈ + D(q, q̇) + G(q) = τ."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.codegen.graph import count_operations
from robot_dynamics_ros.equations.derivation import Derivation
from robot_dynamics_ros.equations.equations_document import document_of
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.lagrange import christoffel, coriolis_matrix, euler_lagrange
from robot_dynamics_ros.equations.motors import motor_equations, motor_names
from robot_dynamics_ros.equations.names import check_identifiers
from robot_dynamics_ros.equations.parameters import Definition, Symbols
from robot_dynamics_ros.equations.proof import prove
from robot_dynamics_ros.equations.quantities import SymbolicQuantities
from robot_dynamics_ros.equations.render_html import render_html
from robot_dynamics_ros.equations.render_latex import render_latex
from robot_dynamics_ros.equations.render_text import render_text
from robot_dynamics_ros.equations.simplify import FormulaWriter
from robot_dynamics_ros.equations.symbol_tree import Recursions, trace_recursions
from robot_dynamics_ros.equations.trig_ring import TooLargeToExpand, TrigRing
from robot_dynamics_ros.equations.unexpanded import unexpanded_terms
from robot_dynamics_ros.errors import ArgumentError, ModelError, optional_package
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.motors import check_motors, without_rotors
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import sympy

    from robot_dynamics_ros.model.motors import DCMotor

# Terms of one matrix written out: more take minutes to simplify, and fill several pages.
MAX_TERMS = 5000


class Equations(SymbolicQuantities):
    """Equations of motion as SymPy matrices and expressions.

    Attributes:
        model: the robot.
        q, v, a, tau: (nv,) symbols of coordinates, velocities, accelerations and efforts.
        K, U: kinetic and potential energy, J.
        M: (nv, nv) mass matrix H(q).
        D: (nv, 1) Coriolis and centrifugal efforts D(q, q̇).
        coriolis: (nv, nv) the matrix C(q, q̇) of the Christoffel symbols: C q̇ = D, Ṁ − 2C
            skew-symmetric.
        B, C: (nv, nv(nv−1)/2) and (nv, nv), with D = B [q̇ᵢq̇ⱼ, i < j] + C [q̇²] and pairs (1,2),
            (1,3), …, (2,3), ….
        G: (nv, 1) gravity efforts.
        definitions: what every symbol stands for.
        steps: intermediate variables (symbol, expression) that the rest is written in; empty if
            multiplied out.
        proof: the identities that were proved, or ``None`` if not multiplied out.
        operations: additions, multiplications, sines, … of each function in unexpanded form.
        motors: the electro-mechanical equations, if motors were given.

    :meth:`joint_wrench`, :meth:`wrench_balance`, :meth:`jacobian` and the other methods derive more
    quantities of the same robot in the same symbols.
    """

    def text(self, parts: Iterable[str] | None = None, digits: int | None = None) -> str:
        """Plain text that SymPy and NumPy read.

        Args:
            parts: some of :data:`robot_dynamics_ros.equations.document.PARTS`; all if not given.
            digits: figures that decimals are rounded to; if not given they are exact to the last
                bit.
        """
        return render_text(document_of(self, parts, digits))

    def latex(self, parts: Iterable[str] | None = None, digits: int | None = None) -> str:
        """LaTeX to be included in a paper (needs amsmath and longtable); arguments as for
        :meth:`text`.
        """
        return render_latex(document_of(self, parts, digits))

    def html(self, parts: Iterable[str] | None = None, digits: int | None = None) -> str:
        """One page of HTML that needs nothing else; arguments as for :meth:`text`."""
        return render_html(document_of(self, parts, digits))

    def inverse_dynamics(self) -> sympy.Matrix:
        """(nv, 1) τ = M q̈ + D + G."""
        import sympy

        return self.M * sympy.Matrix(self.a) + self.D + self.G

    def forward_dynamics(self) -> sympy.Matrix:
        """(nv, 1) q̈ = M⁻¹ (τ − D − G), solved in symbols; meant for small robots."""
        import sympy

        return self.M.LUsolve(sympy.Matrix(self.tau) - self.D - self.G)

    def function(self, name: str) -> Callable[..., np.ndarray | float]:
        """A NumPy function ``f(q, v=None, a=None) -> array`` of one of :meth:`named`, with this
        robot's values put in.

        It takes batches (..., nq), (..., nv) and returns (..., nv, nv) for matrices, (..., nv) for
        D and G, and numbers for the energies.

        Raises:
            ArgumentError: there is no such name.
        """
        import sympy
        from sympy.printing.numpy import NumPyPrinter

        if name not in self.named():
            raise ArgumentError(
                f"there is no {name!r}", where="name", remedy=f"One of {', '.join(self.named())}."
            )
        what = self.named()[name]
        shape = what.shape if hasattr(what, "shape") else ()
        if shape and name in ("D", "G"):
            shape = shape[:1]
        else:
            shape = shape
        entries = list(what) if shape else [what]
        constants = {s: sympy.Float(x, 17) for s, x in self.values.items()}
        steps = [(s, e.xreplace(constants)) for s, e in self.steps]
        # as lambdify's own, but sums stay in SymPy's order: nobody reads them
        printer = NumPyPrinter(
            {
                "order": "none",
                "fully_qualified_modules": False,
                "inline": True,
                "allow_unknown_functions": True,
            }
        )
        run = sympy.lambdify(
            [self.q, self.v, self.a],
            [sympy.sympify(e).xreplace(constants) for e in entries],
            modules="numpy",
            printer=printer,
            cse=(lambda expressions: (steps, expressions)) if steps else True,
        )

        def call(
            q: ArrayLike,
            v: ArrayLike | None = None,
            a: ArrayLike | None = None,
        ) -> np.ndarray | float:
            n = len(self.v)
            arguments = [
                np.zeros(n) if x is None else as_input(x, (n,), word)
                for x, word in ((q, "q"), (v, "v"), (a, "a"))
            ]
            lead = np.broadcast_shapes(*(x.shape[:-1] for x in arguments))
            flat = [
                np.broadcast_to(x, lead) for x in run(*(np.moveaxis(x, -1, 0) for x in arguments))
            ]
            result = (np.stack(flat, axis=-1) if flat else np.empty((*lead, 0))).reshape(
                lead + shape
            )
            return result if result.ndim else float(result)

        return call


def symbolic(
    model: RobotModel,
    symbols: Symbols = None,
    *,
    coordinates: str = "q",
    expand: bool = True,
    simplify: bool = True,
    max_terms: int = MAX_TERMS,
    motors: Mapping[str, DCMotor] | None = None,
    motor_symbols: bool = True,
) -> Equations:
    """Equations of motion in symbols, by Euler and Lagrange, proved equal to the recursive
    algorithms of this package.

    Args:
        model: the robot; its joints may be of any type but floating.
        symbols: which numbers become symbols: parameter → name (``{"mass:forearm": "m2", "gravity":
            "g"}``, see :mod:`robot_dynamics_ros.equations.parameters`), ``"auto"`` for all of them
            under textbook names, or ``None`` for numbers everywhere.
        coordinates: letter of the coordinates, numbered from 1; velocities are called d<letter>1,
            accelerations dd<letter>1.
        expand: multiply everything out; else the equations are a list of steps, as the recursive
            algorithms take them, of a size that grows no faster than the robot.
        simplify: write each entry in the shortest form found.
        max_terms: largest number of terms of an expression.
        motors: joint → :class:`~robot_dynamics_ros.model.motors.DCMotor`, for the
            electro-mechanical equations; the rotors' inertia is then in ``motors.M`` and not in
            ``M``.
        motor_symbols: whether the motors' constants are symbols, too.

    Raises:
        BackendError: SymPy is not installed.
        ModelError: a floating joint, or no joint at all.
        TooLargeToExpand: a :class:`ModelError`; the robot is too large to multiply out.
        UnknownNameError, ArgumentError: a symbol for an unknown parameter; names that clash or are
            keywords.

    >>> import robot_dynamics_ros as rd
    >>> equations = rd.symbolic(rd.load_robot("two_link"), symbols="auto")
    >>> equations.M[1, 1]
    I2 + lc2**2*m2

    Source: Euler-Lagrange derivation as in Siciliano et al., *Robotics* (2009), section 7.1.
    """
    sympy = optional_package(
        "sympy",
        "equations in symbols need",
        "sympy",
        "'robot_dynamics_ros[symbolic]', or pip install sympy",
    )
    if motors:
        model = without_rotors(model, check_motors(model, motors))
    n = model.nv
    letters = _letters(model, coordinates)
    taken = {d.symbol: d.meaning for d in letters} | motor_names(model, motors)
    geometry = Geometry(model, symbols, taken)
    q, v, a, tau = (
        tuple(sympy.Symbol(d.symbol, real=True) for d in letters[k * n : (k + 1) * n])
        for k in range(4)
    )
    names = {d.symbol: sympy.Symbol(d.symbol, real=True) for d in geometry.definitions}
    symbols_of = {"q": q, "v": v, "a": a}
    recursive = trace_recursions(geometry)
    if expand:
        terms = _expanded(
            geometry,
            recursive,
            lambda ring: FormulaWriter(ring, names, symbols_of, simplify),
            max_terms,
        )
    else:
        terms = unexpanded_terms(geometry, recursive, names, symbols_of)
    equations = Equations(
        model,
        q,
        v,
        a,
        tau,
        **terms,
        definitions=(*letters, *geometry.definitions),
        operations={name: count_operations(values)["total"] for name, values in recursive.items()},
        derivation=Derivation(geometry, letters, taken, coordinates, expand, simplify, max_terms),
    )
    if motors:
        electric = motor_equations(equations, motors, motor_symbols)
        equations = replace(
            equations, motors=electric, definitions=(*equations.definitions, *electric.definitions)
        )
    return equations


def _expanded(
    geometry: Geometry,
    recursive: Recursions,
    writer: Callable[[TrigRing], FormulaWriter],
    max_terms: int,
) -> dict[str, Any]:
    import sympy

    n = geometry.model.nv
    ring = TrigRing(geometry, max_terms)
    try:
        lagrange = euler_lagrange(ring)
        gamma = christoffel(ring, lagrange.M)
        coriolis = coriolis_matrix(ring, gamma)
        proof = prove(ring, lagrange, coriolis, recursive)
    except TooLargeToExpand as error:
        operations = {name: count_operations(recursive[name])["total"] for name in ("tau", "M")}
        raise TooLargeToExpand(
            f"{error.problem}; unexpanded, the same equations take {operations['tau']} "
            "operations for inverse dynamics "
            f"and {operations['M']} for the mass matrix",
            where=error.where,
            got=error.got,
            remedy="Ask for the unexpanded form (expand=False, --unexpanded), leave numbers "
            "instead of symbols, or raise "
            "max_terms.",
        ) from None
    write = writer(ring)
    pairs = list(itertools.combinations(range(n), 2))
    upper = {
        (i, j): write(lagrange.M[i][j])
        for i, j in itertools.combinations_with_replacement(range(n), 2)
    }
    return {
        "K": write(lagrange.K),
        "U": write(lagrange.U),
        "M": sympy.Matrix(n, n, lambda i, j: upper[min(i, j), max(i, j)]),
        "D": sympy.Matrix(n, 1, [write(x) for x in lagrange.D]),
        "G": sympy.Matrix(n, 1, [write(x) for x in lagrange.G]),
        "coriolis": sympy.Matrix(n, n, lambda i, j: write(coriolis[i][j])),
        "B": sympy.Matrix(
            n,
            len(pairs),
            [
                write(gamma[k][i][j] + gamma[k][i][j])
                for k, (i, j) in itertools.product(range(n), pairs)
            ],
        ),
        "C": sympy.Matrix(n, n, lambda i, j: write(gamma[i][j][j])),
        "proof": proof,
    }


def _letters(model: RobotModel, coordinates: str) -> tuple[Definition, ...]:
    """Coordinates, velocities, accelerations, efforts."""
    turning: list[bool] = []
    for name in model.joint_names:
        kind = model.joint(name).type
        if kind is JointType.FLOATING:
            raise ModelError(
                "a floating joint's velocities are no rates of coordinates, so Lagrange's "
                "equations in this form do not "
                "hold for it",
                where=f"joint {name!r}",
                remedy="Fix it (model.lock), replace it by planar, prismatic and revolute "
                "joints, or export code, which "
                "can do floating joints.",
            )
        turning += (
            [False, False, True] if kind is JointType.PLANAR else [kind is not JointType.PRISMATIC]
        )
    letters = tuple(
        Definition(f"{letter}{k}", f"{word} {k}", angular if turns else linear)
        for (letter, word, angular, linear), (k, turns) in itertools.product(
            (
                (coordinates, "coordinate", "rad", "m"),
                (f"d{coordinates}", "velocity", "rad/s", "m/s"),
                (f"dd{coordinates}", "acceleration", "rad/s²", "m/s²"),
                ("tau", "effort", "N m", "N"),
            ),
            enumerate(turning, 1),
        )
    )
    check_identifiers((d.symbol, d.meaning) for d in letters)
    return letters
