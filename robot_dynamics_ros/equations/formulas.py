"""Quantities of one robot in symbols: joint wrenches and their parts, Jacobians, motion of points,
friction.

Each is the function of the same name of :mod:`robot_dynamics_ros.dynamics`, run once on symbols and
brought to normal form; so whatever holds for the numbers holds for the formulas.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_comment, c_function_body
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Key, reachable
from robot_dynamics_ros.dynamics.engine.codegen.python_source import python_source
from robot_dynamics_ros.equations.document import Document, Line, Section, rounded
from robot_dynamics_ros.equations.names import check_identifier
from robot_dynamics_ros.equations.numbers import fraction_of
from robot_dynamics_ros.equations.parameters import Definition
from robot_dynamics_ros.equations.render_html import render_html
from robot_dynamics_ros.equations.render_latex import render_latex
from robot_dynamics_ros.equations.render_text import render_text
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.wrench import Wrench

if TYPE_CHECKING:
    import sympy

Step: TypeAlias = "tuple[sympy.Symbol, sympy.Expr]"
Rows: TypeAlias = Mapping[str, tuple[str, tuple[tuple[str, ...], ...]]]
External: TypeAlias = (
    "Mapping[str, Sequence[str | float | sympy.Expr] | Wrench] | Sequence[str] | str"
)
"""Links, or for each link a :class:`Wrench` in its frame, or six names, numbers or polynomials:
moment, then force.
"""
NumpyFunction: TypeAlias = Callable[..., Any]
"""Takes q, v, a and values by name; returns an array, or a dict of arrays where there are several
matrices.
"""


@dataclass(frozen=True, eq=False)
class Formulas(Mapping[str, "sympy.Matrix"]):
    """Named SymPy matrices, with what is needed to print them and to make code of them.

    Attributes:
        title: what they are, in words.
        about: conventions: axes, point, order.
        matrices: name → SymPy matrix.
        definitions: what every symbol stands for.
        steps: intermediate variables (symbol, expression), if the equations are not multiplied out.
    """

    title: str
    about: str
    matrices: Mapping[str, sympy.Matrix]
    definitions: tuple[Definition, ...]
    steps: tuple[Step, ...] = ()
    rows: Rows = field(default_factory=dict, repr=False)
    """Name → (letter, index of every entry), for print."""
    coordinates: str = field(default="q", repr=False)
    model_name: str = field(default="", repr=False)
    traced: tuple[tuple[Expr, ...], ...] = field(default=(), repr=False)
    """The matrices' entries as a graph in floating-point constants, for code."""
    sizes: tuple[int, int] = field(default=(0, 0), repr=False)

    def __getitem__(self, name: str) -> sympy.Matrix:
        """A matrix by name; raises :class:`UnknownNameError` if there is none of that name."""
        check_name("matrix", name, self.matrices, where=self.title)
        return self.matrices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.matrices)

    def __len__(self) -> int:
        return len(self.matrices)

    @property
    def matrix(self) -> sympy.Matrix:
        """The matrix, where there is just one; raises :class:`ArgumentError` where there are
        several.
        """
        if len(self.matrices) != 1:
            problem = f"there are {len(self.matrices)} matrices: {', '.join(self.matrices)}"
            raise ArgumentError(
                problem, where=self.title, remedy="Choose one by name: formulas['joint'], say."
            )
        return next(iter(self.matrices.values()))

    def along(
        self,
        motion: Mapping[str | sympy.Symbol, sympy.Expr | float],
        *,
        values: bool = True,
    ) -> dict[str, sympy.Matrix]:
        """The matrices along a motion given in symbols, products of sines and cosines written as
        sums.

        >>> import sympy, robot_dynamics_ros as rd
        >>> t = sympy.Symbol("t", real=True)
        >>> arm = rd.limb(1, lengths=1.0, masses=2.0, inertia="point", gravity=(0, 0, 0))
        >>> wrench = rd.symbolic(arm, "auto").joint_wrench("joint1")
        >>> wrench.along({"q1": 3 * t})["joint"][4]
        -9

        Args:
            motion: coordinate (by name or symbol) → expression in the time; velocities and
                accelerations are its derivatives.  The time is the only symbol, or the one called
                ``t``; all others, amplitudes and periods, are constants.  Coordinates that are left
                out stay at zero.
            values: put in the robot's numbers for its symbols, as fractions.

        Raises:
            ArgumentError: no such coordinate, or several symbols of which none is called ``t``.
        """
        import sympy
        from sympy.simplify.fu import TR8

        letter, (n, _) = self.coordinates, self.sizes
        words = [f"{letter}{k + 1}" for k in range(n)]
        expressions = {str(k): sympy.sympify(x) for k, x in motion.items()}
        for word in expressions:
            if word not in words:
                problem = f"there is no coordinate {word!r}"
                raise ArgumentError(problem, where="motion", remedy=f"One of {', '.join(words)}.")
        t = _time_of(expressions.values())
        put: dict[sympy.Symbol, sympy.Expr] = {}
        for word in words:
            x = expressions.get(word, sympy.Integer(0))
            for dots in ("", "d", "dd"):
                put[sympy.Symbol(f"{dots}{word}", real=True)] = x
                x = x.diff(t)
        if values:
            for d in self.definitions:
                if d.value is not None:
                    number = fraction_of(d.value)
                    put[sympy.Symbol(d.symbol, real=True)] = sympy.Rational(
                        number.numerator, number.denominator
                    )
        steps: dict[sympy.Symbol, sympy.Expr] = {}
        for symbol, value in self.steps:
            steps[symbol] = value.xreplace(put | steps)
        put |= steps

        def done(x: sympy.Expr) -> sympy.Expr:
            x = sympy.expand(sympy.sympify(x).xreplace(put))
            if x.has(sympy.sin, sympy.cos):
                return sympy.expand(TR8(x))
            return x

        return {name: matrix.applyfunc(done) for name, matrix in self.matrices.items()}

    # -- print -------------------------------------------------------------------------------------

    def text(self, digits: int | None = None) -> str:
        """Plain text that SymPy and NumPy read; ``digits`` rounds decimals, which else are exact to
        the last bit.
        """
        return render_text(document_of_formulas([self], digits))

    def latex(self, digits: int | None = None) -> str:
        """LaTeX to be included in a paper (needs amsmath and longtable)."""
        return render_latex(document_of_formulas([self], digits))

    def html(self, digits: int | None = None) -> str:
        """One page of HTML that needs nothing else."""
        return render_html(document_of_formulas([self], digits))

    # -- code --------------------------------------------------------------------------------------

    @property
    def parameters(self) -> list[Definition]:
        """Symbols beside coordinates and their rates, in order."""
        letter = self.coordinates
        own = {
            f"{d}{letter}{k + 1}"
            for d, k in itertools.product(("", "d", "dd"), range(self.sizes[1]))
        }
        own |= {f"tau{k + 1}" for k in range(self.sizes[1])}
        return [d for d in self.definitions if d.symbol not in own]

    def python(self, name: str = "f") -> str:
        """Source of a NumPy function ``name(q, v=None, a=None, **values)`` on batches of states.

        ``values`` are the robot's symbols by name; those that have a value need not be given.
        """
        check_identifier(name, "name")
        flat = list(itertools.chain.from_iterable(self.traced))
        raw = python_source(f"_{name}", ["q", "v", "a", "p"], flat, _python_leaf)
        defaults = "".join(
            f"{d.symbol!r}: {float(d.value)!r}, " for d in self.parameters if d.value is not None
        )
        first = 0
        results = []
        for word, matrix in self.matrices.items():
            size = len(matrix)
            results.append(
                f"{word!r}: out[..., {first}:{first + size}].reshape(lead + "
                f"{tuple(matrix.shape)!r})"
            )
            first += size
        one = len(results) == 1
        if one:
            returned = results[0].split(": ", 1)[1]
        else:
            returned = "{" + ", ".join(results) + "}"
        nq, nv = self.sizes
        return (
            "import numpy as np\nfrom numpy import cos, sin, sqrt\n\n\n"
            + raw
            + (
                f'\n\ndef {name}(q, v=None, a=None, **values):\n    """{_plain(self.title)}: '
                f'{_plain(self.about)}"""\n'
            )
            + f"    p = {{**{{{defaults}}}, **values}}\n"
            + (
                f"    q = np.moveaxis(np.asarray(q, float).reshape(np.shape(q)[:-1] + ({nq},)), "
                "-1, 0)\n"
            )
            + (
                f"    v, a = (np.zeros({nv}) if x is None else np.moveaxis(np.asarray(x, float), "
                "-1, 0) for x in (v, a))\n"
            )
            + f"    t = _{name}(q, v, a, p)\n"
            + "    lead = np.broadcast_shapes(*(np.shape(x) for x in (*q, *v, *a, *p.values())))\n"
            + "    out = np.stack([np.broadcast_to(x, lead) for x in t], axis=-1)\n"
            + f"    return {returned}\n"
        )

    def function(self) -> NumpyFunction:
        """The NumPy function that :meth:`python` writes."""
        space: dict[str, Any] = {}
        exec(compile(self.python("f"), f"<{self.title}>", "exec"), space)
        return space["f"]

    def c(self, name: str = "f") -> str:
        """Source of a C99 function ``void name(q, v, a, p, out…)``; ``p`` holds the symbols in the
        order of its comment.
        """
        check_identifier(name, "name")
        number = {d.symbol: k for k, d in enumerate(self.parameters)}

        def leaf(key: Key) -> str:
            kind, what = key
            if kind == "parameter":
                return f"p[{number[what]}]"
            return f"{kind}[{what}]"

        if len(self.matrices) > 1:
            words = [f"out_{word}" for word in self.matrices]
        else:
            words = ["out"]
        body = c_function_body(list(zip(words, self.traced, strict=True)), leaf, "double")
        used = {
            x.a[0]
            for x in reachable(list(itertools.chain.from_iterable(self.traced)))
            if x.op == "leaf"
        }
        body += [
            f"(void){w};"
            for w, k in (("q", "q"), ("v", "v"), ("a", "a"), ("p", "parameter"))
            if k not in used
        ]
        outputs = ", ".join(
            f"double {w}[{len(e)}]" for w, e in zip(words, self.traced, strict=True)
        )
        nq, nv = self.sizes
        sizes = f"q: {nq}, v: {nv}, a: {nv} coordinates, velocities, accelerations (SI units)"
        comment = [self.title, self.about, sizes]
        comment += [
            (
                f"p[{k}]: {d.symbol}, {d.meaning}, "
                f"{d.unit}{'' if d.value is None else f' (here {d.value!r})'}"
            )
            for k, d in enumerate(self.parameters)
        ]
        head = "\n".join(["/*", *(f" * {c_comment(x)}" for x in comment), " */"])
        if number:
            p = f"const double p[{len(number)}]"
        else:
            p = "const double *p"
        parameters = f"const double q[{nq}], const double v[{nv}], const double a[{nv}], {p}"
        lines = "\n".join(f"    {x}" for x in body)
        declared = f"void {name}({parameters}, {outputs})"
        return f"{head}\n#include <math.h>\n\n{declared};\n\n{declared}\n{{\n{lines}\n}}\n"


def _python_leaf(key: Key) -> str:
    kind, what = key
    if kind == "parameter":
        return f"p[{what!r}]"
    return f"{kind}[{what}]"


def symbol_names(expressions: Iterable[object]) -> set[str]:
    """Names of the symbols in expressions or matrices; plain numbers have none."""
    free = (getattr(x, "free_symbols", ()) for x in expressions)
    return {str(symbol) for symbol in itertools.chain.from_iterable(free)}


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "'")


def _time_of(expressions: Iterable[sympy.Expr]) -> sympy.Symbol:
    """The symbol that is the time: the only one, or of several the one called t."""
    import sympy

    found = sorted({symbol for x in expressions for symbol in x.free_symbols}, key=str)
    named = [symbol for symbol in found if str(symbol) == "t"]
    if not found:
        return sympy.Symbol("t", real=True)
    if len(found) == 1:
        return found[0]
    if len(named) != 1:
        problem = f"which of {', '.join(map(str, found))} is the time?"
        raise ArgumentError(problem, where="motion", remedy="Call the time t: sympy.Symbol('t').")
    return named[0]


def wrench_rows(part: str = "") -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Print indices of a [moment; force] column."""
    of = (part,) if part else ()
    return "", tuple((letter, *of, axis) for letter, axis in itertools.product("nf", "xyz"))


def names_of_wrench(
    external: External,
) -> tuple[tuple[str, tuple[str | float | sympy.Expr, ...]], ...]:
    """(link, six names, numbers or polynomials) of the wrenches on links, [moment; force] about the
    link's origin; raises ArgumentError if not six, or in another frame.
    """
    if isinstance(external, Mapping):
        loads: dict[str, tuple[Any, ...]] = {}
        for link, parts in external.items():
            if isinstance(parts, Wrench):
                if parts.frame != link:
                    problem = f"the wrench is expressed in {parts.frame!r}"
                    remedy = f"Bring it into the frame of {link!r} with express()."
                    raise ArgumentError(problem, where=f"external[{link!r}]", remedy=remedy)
                loads[link] = tuple(parts.translate((0.0, 0.0, 0.0)).vector)
                continue
            if isinstance(parts, str) or len(parts) != 6:
                problem = "expected six names or numbers: moment x, y, z, then force x, y, z"
                remedy = "For example {'tip': (0, 0, 0, 'Fx', 'Fy', 0)}."
                raise ArgumentError(problem, where=f"external[{link!r}]", got=parts, remedy=remedy)
            loads[link] = tuple(parts)
        return tuple(loads.items())
    links = (external,) if isinstance(external, str) else tuple(external)
    if len(links) == 1:
        suffix = [""]
    else:
        suffix = [f"_{k + 1}" for k in range(len(links))]
    return tuple(
        (link, tuple(f"{letter}{axis}{end}" for letter, axis in itertools.product("NF", "xyz")))
        for link, end in zip(links, suffix, strict=True)
    )


def section_of(formulas: Formulas, digits: int | None = None) -> list[Section]:
    """Formulas as sections: intermediate steps, if there are any, then the matrices."""
    sections = []
    if formulas.steps:
        steps = [Line(str(s), (), rounded(x, digits)) for s, x in formulas.steps]
        sections.append(
            Section(f"{formulas.title}: steps", "Each is used by the ones after it.", tuple(steps))
        )
    lines = []
    zero = []
    for name, matrix in formulas.matrices.items():
        if len(formulas) > 1 and matrix.is_zero_matrix:
            zero.append(name)
            continue
        letter, index = formulas.rows.get(name, (name, ()))
        columns = matrix.shape[1]
        for k, x in enumerate(matrix):
            if index:
                indices = index[k]
            else:
                if columns > 1:
                    indices = (str(k // columns + 1), str(k % columns + 1))
                else:
                    indices = (str(k + 1),)
            word = letter or indices[0]
            dots = int(word.endswith("dot"))
            lines.append(
                Line(
                    word[:-3] if dots else word,
                    indices if letter else indices[1:],
                    rounded(x, digits),
                    dots,
                )
            )
    if zero:
        about = f"{formulas.about} Zero throughout: {', '.join(zero)}."
    else:
        about = formulas.about
    return [*sections, Section(formulas.title, about, tuple(lines))]


def document_of_formulas(formulas: Sequence[Formulas], digits: int | None = None) -> Document:
    """A document of formulas alone, with the symbols that they use."""
    sections = list(itertools.chain.from_iterable(section_of(f, digits) for f in formulas))
    used: set[str] = set()
    for f in formulas:
        used |= symbol_names(f.matrices.values()) | symbol_names(x for _, x in f.steps)
    every = itertools.chain.from_iterable(f.definitions for f in formulas)
    definitions = {d.symbol: d for d in every if d.symbol in used}
    if definitions:
        sections.append(
            Section("Symbols", "SI units throughout.", definitions=tuple(definitions.values()))
        )
    if formulas:
        title = f"Formulas of {formulas[0].model_name}"
    else:
        title = "Formulas"
    return Document(title, "", tuple(sections), formulas[0].coordinates if formulas else "q")
