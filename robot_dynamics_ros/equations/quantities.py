"""Joint wrenches, their parts, Jacobians, motion and friction in symbols."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.joint_wrench import BALANCE_PARTS
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.constraints import Constraints
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.reference_frame import (
    WORLD,
    FrameLike,
    PointLike,
    axes_of,
    frame_of,
)
from robot_dynamics_ros.dynamics.wrenches import axes_and_point, balanced_link, chosen_links
from robot_dynamics_ros.equations.derivation import Derivation, Given, numbers, rotation
from robot_dynamics_ros.equations.equations_document import EquationTerms
from robot_dynamics_ros.equations.formulas import External, Formulas, names_of_wrench, wrench_rows
from robot_dynamics_ros.equations.motors import friction_terms
from robot_dynamics_ros.equations.names import check_identifier
from robot_dynamics_ros.equations.numbers import Entry, fraction_of
from robot_dynamics_ros.equations.parameters import AXIS_NAMES, Definition, body_links
from robot_dynamics_ros.errors import ArgumentError

if TYPE_CHECKING:
    import sympy

Inputs: TypeAlias = dict[str, Given]
Choices: TypeAlias = dict[str, Any]
"""Options of a function of the table."""
Observer = FrameLike | tuple[str, str]
Point: TypeAlias = "Sequence[float | str | sympy.Expr]"
"""Three coordinates: numbers, names of symbols, or polynomials in symbols."""
LINK_ORIGIN = (0.0, 0.0, 0.0)
_SQUARE = tuple((i, j) for i, j in itertools.product(AXIS_NAMES, AXIS_NAMES))


@dataclass(frozen=True, eq=False)
class SymbolicQuantities(EquationTerms):
    """Quantities of :class:`~robot_dynamics_ros.equations.Equations` beside the equations of
    motion.
    """

    derivation: Derivation = field(default=None, repr=False)  # type: ignore[assignment]

    def joint_wrench(
        self,
        joint: str,
        *,
        expressed_in: FrameLike = "child",
        reduced_at: PointLike = "joint",
        external: External = (),
    ) -> Formulas:
        """``"joint"``, (6, 1) [moment; force] that the parent side of a joint exerts on its child
        link.

        >>> import robot_dynamics_ros as rd
        >>> arm = rd.limb(1, inertia="point", gravity=(0, -9.81, 0))
        >>> rd.symbolic(arm, "auto").joint_wrench("joint1")["joint"][3]
        m1*(-ddq1*lc1 + g*sin(q1))

        Args:
            joint: any joint, fixed and mimic ones too.
            expressed_in: ``"child"``, ``"parent"``, a link, ``"world"`` or a :class:`Frame`.
            reduced_at: ``"joint"``, a link, ``"world"``, (link, offset) or a :class:`Frame`.
            external: links on which the surroundings press with an unknown wrench (symbols Nx …
                Fz); or link → six names, numbers or polynomials, [moment; force] about the link's
                origin in its axes; or link → :class:`Wrench` in its frame, about any point.

        Raises:
            UnknownNameError: no such joint, link or frame.
            TooLargeToExpand: too many terms; derive the equations with ``expand=False``.
        """
        options, inputs, convention = self._axes_and_point(
            expressed_in, reduced_at, ("child", "parent")
        )
        loads, variables = self._external(external, options, inputs)
        options["joints_of"] = chosen_links(self.model, (joint,))
        return self.derivation.formulas(
            "joint_wrenches",
            options,
            inputs,
            {"joint": (6, 1)},
            title=f"Wrench of joint {joint}",
            about=(
                "Moment n and force f that the parent side exerts on the child "
                f"link{convention}{loads}."
            ),
            variables=variables,
            rows={"joint": wrench_rows()},
        )

    def wrench_balance(
        self,
        link: str,
        *,
        observer: Observer = WORLD,
        expressed_in: FrameLike = "observer",
        reduced_at: PointLike = "joint",
        external: External = (),
    ) -> Formulas:
        """The balance of wrenches of a link as a moving observer sets it up, each (6, 1) [moment;
        force].

        dynamic = joint + dalembert + euler + centrifugal + coriolis + gravity + distal + external

        Args:
            observer: a link, ``"world"``, a :class:`Frame` (which may move), or a pair (link,
                joint): the axes of the link with their origin where that joint is.
            expressed_in: ``"observer"``, ``"child"``, ``"parent"``, a link, ``"world"`` or a
                :class:`Frame`.
            reduced_at, external: as for :meth:`joint_wrench`.

        Returns:
            matrices ``"joint"`` and those of :data:`robot_dynamics_ros.WRENCH_PARTS`; see
            :func:`robot_dynamics_ros.wrench_balance`.

        Raises:
            ArgumentError: the root link, which no joint carries.
            ModelError: the mass properties of the link are part of those that symbols stand for.
        """
        number, expressed_in = balanced_link(self.model, link, expressed_in)
        options, inputs, convention = self._axes_and_point(expressed_in, reduced_at, ("observer",))
        loads, variables = self._external(external, options, inputs)
        options |= {"link": number} | self._observer(observer, inputs)
        if isinstance(observer, str):
            seen = observer
        elif isinstance(observer, tuple):
            seen = " at ".join(observer)
        else:
            seen = "it"
        return self.derivation.formulas(
            "wrench_balance",
            options,
            inputs,
            dict.fromkeys(BALANCE_PARTS, (6, 1)),
            title=f"Balance of wrenches of link {link}",
            about="dynamic = joint + dalembert + euler + centrifugal + coriolis + gravity + "
            "distal + external: moments n "
            f"and forces f as an observer sees them who rides on {seen}{convention}{loads}.",
            pick=lambda flat: [flat[0][6 * k : 6 * k + 6] for k in range(len(BALANCE_PARTS))],
            variables=variables,
            rows={part: wrench_rows(part) for part in BALANCE_PARTS},
        )

    def jacobian(
        self,
        link: str,
        *,
        offset: Point = LINK_ORIGIN,
        expressed_in: str = "world",
    ) -> Formulas:
        """``"J"`` and ``"Jdot"``, (6, nv): Jacobian of a point of a link, J v = [angular velocity;
        velocity], and its rate.

        Args:
            offset: (3,) the point in the link's frame, numbers or symbols as for :meth:`motion`;
                its origin if not given.
            expressed_in: ``"world"`` or ``"link"`` axes.
        """
        point, variables = self._point_input(offset, link)
        options = {"link": self.model.link_index(link), "frame": _axes_word(expressed_in)}
        n = self.model.nv
        index = tuple((str(i + 1), str(j + 1)) for i, j in itertools.product(range(6), range(n)))
        return self.derivation.formulas(
            "jacobian_and_rate",
            options,
            point,
            {"J": (6, n), "Jdot": (6, n)},
            title=f"Jacobian of {link}",
            about=(
                f"J v = [angular velocity; velocity of the point {_point(offset)} of {link}] in "
                f"{expressed_in} axes, and dJ/dt."
            ),
            variables=variables,
            rows={"J": ("J", index), "Jdot": ("Jdot", index)},
        )

    def external_efforts(
        self,
        link: str,
        *,
        offset: Point = LINK_ORIGIN,
        expressed_in: str = "world",
        names: Sequence[str | float | sympy.Expr] = (),
    ) -> Formulas:
        """``"efforts"``, (nv, 1): Jᵀ F, added by a wrench on a point of a link; τ = M q̈ + D + G −
        Jᵀ F.

        Args:
            offset: (3,) the point in the link's frame, which the moment is about, numbers or
                symbols as for :meth:`motion`.
            expressed_in: axes of the wrench, ``"world"`` or ``"link"``.
            names: six names or numbers, [moment; force]; Nx … Fz if not given.
        """
        ((_, six),) = names_of_wrench({link: list(names)} if len(names) else link)
        point, own = self._point_input(offset, link)
        variables = (*own, *_variables(((link, six),), f"in {expressed_in} axes"))
        wrench = {"wrench": tuple(constant_of(x) for x in six)}
        n = self.model.nv
        return self.derivation.formulas(
            "tip_efforts",
            {"link": self.model.link_index(link), "frame": _axes_word(expressed_in)},
            {**point, **wrench},
            {"efforts": (n, 1)},
            title=f"Efforts of a wrench on {link}",
            about=f"J' F for a wrench [moment; force] on the point {_point(offset)} of {link}, "
            f"in {expressed_in} axes; "
            "tau = M a + D + G - J' F.",
            variables=variables,
            rows={"efforts": ("Q", tuple((str(k + 1),) for k in range(n)))},
        )

    def constraint_terms(self, constraints: Constraints) -> Formulas:
        """Closed loops, and rows of your own: K q̇ = 0 and K q̈ = −K̇ q̇.

        Args:
            constraints: of the same robot, of kinds without a root of the coordinates in their
                rows: all but discs that roll, and Pfaffian rows with ``sqrt``, ``exp`` or a
                quotient of coordinates.

        Returns:
            ``"residual"``, (nc, 1): what is zero where the loops are closed; ``"K"``, (nc, nv);
            ``"rate"``, (nc, 1): K̇ q̇.

        Raises:
            ArgumentError: constraints of another robot.
        """
        n = self.model.nv
        count = constraints.rows
        if constraints.model.joint_names != self.model.joint_names:
            remedy = "Make them with rd.Constraints(model, …) for this robot."
            problem = f"are those of robot {constraints.model.name!r}"
            raise ArgumentError(problem, where="constraints", got=constraints, remedy=remedy)
        numbers = tuple(str(k + 1) for k in range(count))
        column = tuple((k,) for k in numbers)
        return self.derivation.formulas(
            "constraint_terms",
            {"constraints": constraints.specs},
            {},
            {"residual": (count, 1), "K": (count, n), "rate": (count, 1)},
            title=f"Constraints {', '.join(constraints.names)}",
            about="K v = 0 and K a = -rate; the efforts of reactions are K' lambda.",
            rows={
                "residual": ("phi", column),
                "K": ("K", tuple((k, str(j + 1)) for k in numbers for j in range(n))),
                "rate": ("kappa", column),
            },
        )

    def motion(
        self,
        point_on: str,
        *,
        offset: Point = LINK_ORIGIN,
        relative_to: Observer = WORLD,
        expressed_in: FrameLike | None = None,
    ) -> Formulas:
        """Motion of a point of a link relative to a moving frame; see
        :func:`robot_dynamics_ros.motion`.

        Args:
            offset: (3,) the point in the link's frame, m: numbers, names of symbols, or SymPy
                polynomials in the robot's symbols and new ones, such as
                ``(sympy.Symbol("l1") / 2, 0, 0)``.

        Raises:
            ArgumentError: not three coordinates, or one that is no polynomial, or has the name of a
                coordinate.

        >>> import sympy, robot_dynamics_ros as rd
        >>> arm = rd.symbolic(rd.limb(2), "auto")
        >>> half = (0, sympy.Symbol("l1") / 2, 0)
        >>> arm.motion("segment1", offset=half)["velocity"][0]
        -dq1*l1*cos(q1)/2

        Returns:
            ``"position"``, ``"velocity"``, ``"acceleration"``, ``"angular_velocity"``,
            ``"angular_acceleration"``, all (3, 1), and ``"rotation"`` (3, 3) from the link's axes
            to those of ``relative_to``.
        """
        inputs, variables = self._point_input(offset, point_on)
        options: Choices = {"link": self.model.link_index(point_on), "axes": "observer"}
        if expressed_in is not None:
            chosen, own = axes_of(self.model, expressed_in, "expressed_in")
            options |= dict(chosen)
            if own:
                inputs["axes"] = rotation(own[0], "expressed_in")
        options |= self._observer(relative_to, inputs)
        words = (
            "position",
            "rotation",
            "velocity",
            "acceleration",
            "angular_velocity",
            "angular_acceleration",
        )
        letters = ("p", "R", "v", "a", "omega", "alpha")
        if isinstance(relative_to, str):
            seen = relative_to
        else:
            seen = "the frame given"
        return self.derivation.formulas(
            "point_motion",
            options,
            inputs,
            {word: (3, 3) if word == "rotation" else (3, 1) for word in words},
            title=f"Motion of {point_on}",
            about=(
                f"Of the point {_point(offset)} of {point_on}, as an observer sees it who rides "
                f"on {seen}."
            ),
            pick=lambda flat: flat[:6],
            variables=variables,
            rows={
                word: (
                    letter,
                    _SQUARE if word == "rotation" else tuple((axis,) for axis in AXIS_NAMES),
                )
                for word, letter in zip(words, letters, strict=True)
            },
        )

    def inertia_about(
        self,
        link: str,
        *,
        point: PointLike = "com",
        frame: FrameLike | None = None,
    ) -> Formulas:
        """``"I"``, (3, 3): inertia of a link about any point in any axes, R (I + m (rᵀr 1 − r rᵀ))
        Rᵀ.

        Args:
            point: ``"com"``, or a point as for :meth:`joint_wrench`.
            frame: whose axes; the link's own if not given.
        """
        options, inputs, _ = self._axes_and_point(
            link if frame is None else frame, point, (), own="com"
        )
        options["link"] = self.model.link_index(link)
        return self.derivation.formulas(
            "link_inertia",
            options,
            inputs,
            {"I": (3, 3)},
            title=f"Inertia of {link}",
            about=f"About {point if isinstance(point, str) else 'the point given'}.",
            rows={"I": ("I", _SQUARE)},
        )

    def friction(self) -> Formulas:
        """Joint friction as the simulator has it: what it takes off the efforts, d q̇ + F_c
        sign(q̇), (nv, 1).

        The symbols are d1 …, Fc1 … where friction is not zero.  τ = M q̈ + D + G + friction.
        """
        import sympy as S

        model = self.model
        base = self.derivation
        rows = []
        definitions = []
        for terms in friction_terms(model, self.v):
            rows.append(S.Add(*(S.Symbol(d.symbol, real=True) * factor for d, factor in terms)))
            definitions += [d for d, _ in terms]
        return base.written(
            {"friction": S.Matrix(model.nv, 1, rows)},
            definitions,
            title="Joint friction",
            about="What friction takes off the efforts: tau = M a + D + G + friction.",
            rows={"friction": ("F", tuple((str(k + 1),) for k in range(model.nv)))},
        )

    def configuration_space_form(self) -> Formulas:
        """τ = M(q) q̈ + B(q) [q̇ᵢ q̇ⱼ] + C(q) [q̇²] + G(q): the four matrices, and the products
        that B multiplies.
        """
        return self.derivation.written(
            {
                "M": self.M,
                "B": self.B,
                "C": self.C,
                "G": self.G,
                "products": self.velocity_products(),
            },
            [],
            title="Configuration-space form",
            about="tau = M a + B [products of two velocities] + C [squares of the velocities] + G.",
            steps=self.steps,
        )

    # -- frames ------------------------------------------------------------------------------------

    def _axes_and_point(
        self,
        expressed_in: FrameLike,
        reduced_at: PointLike,
        words: Sequence[str],
        own: str = "joint",
    ) -> tuple[Choices, Inputs, str]:
        chosen, more = axes_and_point(self.model, expressed_in, reduced_at, words, own=own)
        options = dict(chosen)
        rest = list(more)
        inputs: Inputs = {}
        if options.get("own_axes"):
            inputs["axes"] = rotation(rest.pop(0), "expressed_in")
        if options.get("own_point"):
            point = np.asarray(rest.pop(0))
            if point.shape != (1, 3):
                raise ArgumentError(
                    f"expected one point, got shape {point.shape}",
                    where="reduced_at",
                    got=point.shape,
                )
            inputs["about"] = numbers(point, "reduced_at")
        if isinstance(expressed_in, str):
            axes = expressed_in
        else:
            axes = "the given"
        if isinstance(reduced_at, str):
            point_name = reduced_at
        else:
            point_name = "the given point"
        if point_name == "joint":
            where = "the joint's origin"
        else:
            where = point_name
        return options, inputs, f", about {where}, in {axes} axes"

    def _point_input(
        self,
        offset: Point,
        link: str,
    ) -> tuple[Inputs, tuple[Definition, ...]]:
        """The input ``point`` of a function, and its symbols that are not the robot's."""
        import sympy

        if not isinstance(offset, (list, tuple)) or not any(
            isinstance(x, (str, sympy.Basic)) for x in offset
        ):
            done = as_input(np.asarray(offset), (3,), "offset")
            if done.shape != (3,):
                raise ArgumentError(
                    f"expected three numbers, got shape {done.shape}", where="offset", got=offset
                )
            return {"point": numbers(done, "offset")}, ()
        if len(offset) != 3:
            raise ArgumentError(
                f"expected three coordinates, got {len(offset)}", where="offset", got=offset
            )
        known = {d.symbol for d in self.derivation.geometry.definitions}
        point: list[Entry | str | sympy.Expr] = []
        new: dict[str, Definition] = {}
        for axis, x in zip(AXIS_NAMES, offset, strict=True):
            if isinstance(x, str):
                names = {check_identifier(x, "offset")}
                point.append(x)
            elif isinstance(x, sympy.Basic):
                names = {str(symbol) for symbol in x.free_symbols}
                point.append(sympy.expand(x))
            else:
                names = set()
                point += numbers([x], "offset")
            for name in sorted(names - known):
                meaning = f"in the coordinate {axis} of the point on {link}"
                new.setdefault(name, Definition(name, meaning, "m"))
        return {"point": tuple(point)}, tuple(new.values())

    def _observer(self, observer: Observer, inputs: Inputs) -> Choices:
        if isinstance(observer, tuple):
            return self._observer_at_joint(observer, inputs)
        link_number, frame = frame_of(self.model, observer, "observer")
        if frame is not None:
            rows = frame.rows()
            if rows.shape != (8, 3):
                raise ArgumentError(
                    f"expected one frame, got shape {rows.shape[:-2]}", where="observer"
                )
            inputs["observer"] = (*rotation(rows[:3], "observer"), *numbers(rows[3:], "observer"))
            return {"observer": link_number, "own_observer": True}
        return {"observer": link_number}

    def _observer_at_joint(self, observer: tuple[str, str], inputs: Inputs) -> Choices:
        if len(observer) != 2 or not all(isinstance(x, str) for x in observer):
            problem = "expected a pair (link, joint) of names"
            raise ArgumentError(problem, where="observer", got=observer, remedy="Or a Frame.")
        link, joint = observer
        model = self.model
        geometry = self.derivation.geometry
        (child,) = chosen_links(model, (joint,))
        link_number = frame_of(model, link, "observer")[0]
        parent = model.link_names[link_tree(model).parent[child]]
        if parent != link:
            problem = f"joint {joint!r} begins at link {parent!r}, not at {link!r}"
            remedy = "Name the link that carries the joint, or use a Frame."
            raise ArgumentError(problem, where="observer", remedy=remedy)
        moving = model.moving_joint_names
        if joint in moving:
            body = geometry.bodies[moving.index(joint)]
        else:
            body = None
        if body is None or body.parent < 0:
            owner = ""
        else:
            owner = body_links(model)[body.parent]
        if body is not None and link == (owner or model.root_link):
            position = tuple(body.position)
        else:
            origin = next(j for j in model.description.joints if j.name == joint).origin.position
            position = tuple(fraction_of(x) for x in origin)
        unit = tuple(fraction_of(float(i == j)) for i, j in itertools.product(range(3), range(3)))
        inputs["observer"] = (*unit, *position, *(fraction_of(0.0) for _ in range(12)))
        return {"observer": link_number, "own_observer": True}

    def _external(
        self,
        external: External,
        options: Choices,
        inputs: Inputs,
    ) -> tuple[str, tuple[Definition, ...]]:
        """Words about external wrenches for a quantity's title, and their variables; their values,
        and the choice to have them, are added to ``inputs`` and ``options``.
        """
        loads = names_of_wrench(external)
        if not loads:
            return "", ()
        flat: list[Entry | str | sympy.Expr] = [fraction_of(0.0)] * (6 * len(self.model.link_names))
        for link, six in loads:
            first = 6 * self.model.link_index(link)
            flat[first : first + 6] = [constant_of(x) for x in six]
        options["external"] = True
        inputs["link_external"] = tuple(flat)
        links = ", ".join(link for link, _ in loads)
        known = {d.symbol for d in self.derivation.geometry.definitions}
        variables = _variables(loads, "about its origin, in its axes", known)
        return f"; external wrenches on {links}", variables


def constant_of(x: str | float | sympy.Expr) -> Entry | str | sympy.Expr:
    """A name or a polynomial as it is, a number exactly."""
    if isinstance(x, str):
        return x
    if isinstance(x, (int, float, np.number)):
        return fraction_of(float(x))
    if not hasattr(x, "free_symbols"):
        problem = f"expected a name, a number or an expression, got {x!r}"
        raise ArgumentError(problem, where="wrench", remedy="For example (0, 0, 0, 'Fx', 0, 0).")
    return x.expand()


def _variables(
    loads: Sequence[tuple[str, tuple[str | float | sympy.Expr, ...]]],
    how: str,
    known: Collection[str] = (),
) -> tuple[Definition, ...]:
    """Definitions of the names that are not ``known``, and of the symbols within polynomials."""
    definitions: dict[str, Definition] = {}
    for link, six in loads:
        for k, x in enumerate(six):
            word, unit = ("moment", "N m") if k < 3 else ("force", "N")
            meaning = f"{AXIS_NAMES[k % 3]} of the {word} on {link}, {how}"
            if isinstance(x, str):
                definitions[x] = Definition(x, meaning, unit)
            elif hasattr(x, "free_symbols"):
                for name in sorted({str(symbol) for symbol in x.free_symbols}.difference(known)):
                    # alone it is the component itself, else its unit is not known
                    alone = str(x) == name
                    within = Definition(name, f"in the {meaning}", "")
                    new = Definition(name, meaning, unit) if alone else within
                    definitions.setdefault(name, new)
    return tuple(definitions.values())


def _axes_word(frame: object) -> str:
    if frame not in ("world", "link"):
        raise ArgumentError("expected 'world' or 'link'", where="expressed_in", got=frame)
    return str(frame)


def _point(offset: Point) -> str:
    words = (f"{x:g}" if isinstance(x, (int, float, np.number)) else str(x) for x in offset)
    return f"({', '.join(words)})"
