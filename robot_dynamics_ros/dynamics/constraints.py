"""Closed loops and other constraints between the links of a tree.

    M(q) q̈ + b(q, v) = τ + Kᵀ λ,    K(q) v = 0

>>> import robot_dynamics_ros as rd
>>> arm = rd.limb(3, lengths=[1.0, 2.0, 2.5], plane="vertical")
>>> ends = {"point_b": (-2, 0, 0), "axis_a": (0, 0, 1)}
>>> hinge = rd.hinge_constraint("closure", "tip", "world", **ends)
>>> loop = rd.Constraints(arm, [hinge])
>>> q, v = loop.consistent_state([0.1, -0.8, -1.9], fixed=["joint1"])
>>> loop.diagnose(q).mobility
1

Rows of one constraint may depend on each other, as those of a hinge that closes a planar loop do;
the reactions are then the ones of least norm, and accelerations do not depend on the choice.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics.algorithms.constraint_rows import OF_JOINTS, ROWS, Spec
from robot_dynamics_ros.dynamics.algorithms.pfaffian_rows import check_formula
from robot_dynamics_ros.dynamics.call import call
from robot_dynamics_ros.dynamics.configuration import integrate
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.backends import kernel
from robot_dynamics_ros.dynamics.engine.evaluate import Kernel
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches
from robot_dynamics_ros.dynamics.joint_space import inverse_dynamics
from robot_dynamics_ros.dynamics.kinematics import link_pose
from robot_dynamics_ros.dynamics.reference_frame import WORLD, link_number
from robot_dynamics_ros.errors import ArgumentError, ConstraintError, check_name
from robot_dynamics_ros.model.description import Array, JointType, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

__all__ = [
    "Constraints",
    "Constraint",
    "weld_constraint",
    "hinge_constraint",
    "point_constraint",
    "distance_constraint",
    "gear_constraint",
    "rolling_constraint",
    "pfaffian_constraint",
    "ConstrainedMotion",
    "ConstraintReport",
]

RANK_TOLERANCE = 1e-8
"""Rows of K count as dependent where a singular value is smaller than this part of the largest."""
# entries of a constraint's geometry that are one number; the others have three
_SINGLE_NUMBERS = ("length", "ratio", "offset", "radius")
# steps of Gauss and Newton until a configuration satisfies the constraints: some ten are usual
_MOST_NEWTON_STEPS = 100
# how often a step is halved at most
_MOST_HALVINGS = 12
# rad or m to the configurations with which a singular one is compared
_NEARBY = 1e-3


@dataclass(frozen=True)
class Constraint:
    """One constraint between two links, or two joints; made by :func:`point_constraint`,
    :func:`hinge_constraint` and the others.

    Attributes:
        kind: ``"point"``, ``"hinge"``, ``"weld"``, ``"distance"``, ``"gear"``, ``"rolling"`` or
            ``"pfaffian"``.
        name: for reports and topics.
        a, b: names of the two links (``"world"`` for the surroundings), or of the two joints of a
            gear; empty for a Pfaffian row.
        row: (joint, formula of its coefficient) of a Pfaffian row.
        numbers: geometry by name, as given; what is left out is taken from the reference
            configuration.
    """

    kind: str
    name: str
    a: str
    b: str
    numbers: tuple[tuple[str, tuple[float, ...]], ...] = ()
    row: tuple[tuple[str, str], ...] = ()


def _made(kind: str, name: str, a: str, b: str, **given: ArrayLike | None) -> Constraint:
    expect(
        isinstance(name, str) and name != "",
        "a name",
        name,
        f"{kind} constraint",
        "Every constraint needs one.",
    )
    numbers = []
    for word, value in given.items():
        if value is None:
            continue
        x = np.atleast_1d(real_array_or_nan(value))
        size = 3
        expected = "3 finite numbers"
        if word in _SINGLE_NUMBERS:
            size = 1
            expected = "one finite number"
        good = x.shape == (size,) and bool(np.isfinite(x).all())
        remedy = "A constraint is the same in all states."
        expect(good, expected, value, f"{word} of {name!r}", remedy)
        numbers.append((word, tuple(x.tolist())))
    return Constraint(kind, name, a, b, tuple(numbers))


def point_constraint(
    name: str,
    a: str,
    b: str = WORLD,
    *,
    point_a: ArrayLike = (0, 0, 0),
    point_b: ArrayLike | None = None,
) -> Constraint:
    """A point of link a stays at a point of link b (ball joint): three rows, the force on b in
    world axes.

    Args:
        name, a, b: of the constraint, and of the two links.
        point_a, point_b: (3,) in the links' frames, m; ``None``: where the other one is in the
            reference configuration.
    """
    return _made("point", name, a, b, point_a=point_a, point_b=point_b)


def hinge_constraint(
    name: str,
    a: str,
    b: str = WORLD,
    *,
    point_a: ArrayLike = (0, 0, 0),
    point_b: ArrayLike | None = None,
    axis_a: ArrayLike = (0, 0, 1),
    axis_b: ArrayLike | None = None,
) -> Constraint:
    """A revolute joint: a point and an axis of link a stay on those of link b; five rows.

    Args:
        name, a, b: of the constraint, and of the two links.
        point_a, point_b: as :func:`point_constraint`.
        axis_a, axis_b: (3,) in the links' frames; ``None``: as the other one is in the reference
            configuration.
    """
    return _made(
        "hinge", name, a, b, point_a=point_a, point_b=point_b, axis_a=axis_a, axis_b=axis_b
    )


def weld_constraint(
    name: str,
    a: str,
    b: str = WORLD,
    *,
    point_a: ArrayLike = (0, 0, 0),
    rpy_a: ArrayLike = (0, 0, 0),
    point_b: ArrayLike | None = None,
    rpy_b: ArrayLike | None = None,
) -> Constraint:
    """A frame of link a stays on one of link b: six rows.

    Args:
        name, a, b: of the constraint, and of the two links.
        point_a, point_b: as :func:`point_constraint`.
        rpy_a, rpy_b: (3,) roll, pitch, yaw of the frames in the links' frames, rad.
    """
    return _made("weld", name, a, b, point_a=point_a, rpy_a=rpy_a, point_b=point_b, rpy_b=rpy_b)


def distance_constraint(
    name: str,
    a: str,
    b: str = WORLD,
    *,
    point_a: ArrayLike = (0, 0, 0),
    point_b: ArrayLike = (0, 0, 0),
    length: float | None = None,
) -> Constraint:
    """Two points keep their distance (a rod without mass): one row, λ the force in the rod,
    positive if it pushes.

    Args:
        name, a, b: of the constraint, and of the two links.
        point_a, point_b: (3,) in the links' frames, m.
        length: m; ``None``: what it is in the reference configuration.
    """
    return _made("distance", name, a, b, point_a=point_a, point_b=point_b, length=length)


def gear_constraint(
    name: str,
    a: str,
    b: str,
    *,
    ratio: float,
    offset: float = 0.0,
) -> Constraint:
    """Joint b follows joint a: q_b = ratio · q_a + offset; one row, λ the effort on b (−ratio · λ
    on a).

    Args:
        name, a, b: of the constraint, and of the two joints.
        ratio, offset: as in the formula; rad or m.
    """
    return _made("gear", name, a, b, ratio=ratio, offset=offset)


def rolling_constraint(
    name: str,
    plane: str,
    wheel: str,
    *,
    radius: float,
    center: ArrayLike = (0, 0, 0),
    axis: ArrayLike | None = None,
    point_on_plane: ArrayLike = (0, 0, 0),
    normal: ArrayLike = (0, 0, 1),
) -> Constraint:
    """A disc (or a ball, without ``axis``) that rolls on a plane without slip or lift-off: three
    rows.

    λ is the force on the wheel along two tangents and the normal.  Rows along the tangents bind
    velocities alone.

    Args:
        name: of the constraint.
        radius: of the wheel, m.
        plane, wheel: links; ``"world"`` for a plane that stands still.
        center, axis: (3,) in the wheel's frame.
        point_on_plane, normal: (3,) in the plane's frame; the wheel is on the side that the normal
            points to.
    """
    return _made(
        "rolling",
        name,
        plane,
        wheel,
        point_a=point_on_plane,
        point_b=center,
        normal=normal,
        radius=radius,
        axis=axis,
    )


def pfaffian_constraint(name: str, row: Mapping[str, str | float]) -> Constraint:
    """A row of your own, Σ A_i(q) q̇_i = 0: it binds velocities alone, λ multiplies its
    coefficients.

    Args:
        name: of the constraint.
        row: joint → its coefficient A_i, a number or a formula in names of joints, as a text:
            + − * / ** (whole powers), ``pi``, ``sin``, ``cos``, ``tan``, ``sqrt`` and ``exp``.

    Raises:
        ArgumentError: no coefficients, or one that is neither a number nor a text.
    """
    expect(isinstance(name, str) and name != "", "a name", name, "pfaffian constraint")
    where = f"row of {name!r}"
    remedy = "For example {'x': 'sin(yaw)', 'y': '-cos(yaw)'}."
    expect(isinstance(row, Mapping) and len(row) > 0, "joint → coefficient", row, where, remedy)
    terms = []
    for joint, coefficient in row.items():
        number = isinstance(coefficient, (int, float)) and not isinstance(coefficient, bool)
        good = isinstance(coefficient, str) or (number and bool(np.isfinite(coefficient)))
        expect(good, "a finite number or a formula", coefficient, f"{where}, {joint}", remedy)
        terms.append((str(joint), str(coefficient)))
    return Constraint("pfaffian", name, "", "", row=tuple(terms))


class ConstrainedMotion(NamedTuple):
    """Result of constrained forward dynamics.

    Attributes:
        a: (..., nv) accelerations.
        reactions: (..., nc) λ, one for each row: N, or N m for rows that bind an orientation.
    """

    a: Array
    reactions: Array


@dataclass(frozen=True)
class ConstraintReport:
    """Rank, mobility and residual of constraints at one configuration.

    Attributes:
        rows, rank: number of rows, and of independent ones.
        mobility: degrees of freedom left, nv − rank.
        redundant: names of constraints with rows that depend on those of constraints before them or
            of their own.
        singular_values: (rows,) of K, not scaled, largest first.
        singular: the rank is lower here than nearby, so the loop can move in additional directions.
        residual: (rows,) φ.
    """

    rows: int
    rank: int
    mobility: int
    redundant: tuple[str, ...]
    singular_values: Array
    singular: bool
    residual: Array

    def __str__(self) -> str:
        text = f"{self.rows} rows, {self.rank} independent, {self.mobility} degrees of freedom left"
        if self.redundant:
            text += f"; redundant: {', '.join(self.redundant)} (reactions are those of least norm)"
        if self.singular:
            text += "; singular: the rank is larger nearby"
        return f"{text}; largest residual {np.abs(self.residual).max(initial=0.0):.3g}"


class Constraints:
    """Constraints of one robot, compiled for it.

    Args:
        model: the robot.
        constraints: the constraints.
        reference: (nq,) configuration that points, axes and lengths that are left out are taken
            from; neutral if not given.

    Attributes:
        names: of the constraints; ``rows``: how many rows all have together.

    Raises:
        UnknownNameError: no such link or joint.
        ArgumentError: geometry that is impossible; two constraints with the same name.
    """

    def __init__(
        self,
        model: RobotModel,
        constraints: Iterable[Constraint],
        *,
        reference: ArrayLike | None = None,
    ) -> None:
        self.model = model
        self.constraints = tuple(constraints)
        for c in self.constraints:
            remedy = (
                "rd.hinge_constraint, rd.point_constraint and the others make them; "
                "load_constraints reads a file."
            )
            expect(isinstance(c, Constraint), "constraints", c, "constraints", remedy)
        self.names = tuple(c.name for c in self.constraints)
        twice = next((n for n in self.names if self.names.count(n) > 1), None)
        if twice is not None:
            problem = f"two constraints are called {twice!r}"
            remedy = "Give each a name of its own."
            raise ArgumentError(problem, where="constraints", got=self.names, remedy=remedy)
        if reference is None:
            q = model.neutral()
        else:
            q = np.array(as_input(reference, (model.nq,), "reference"))
        self.specs = tuple(_spec(model, c, q) for c in self.constraints)
        self.rows = sum(ROWS[c.kind] for c in self.constraints)
        starts = np.cumsum([0, *(ROWS[c.kind] for c in self.constraints)])
        self.slices = {
            c.name: slice(int(i), int(j))
            for c, i, j in zip(self.constraints, starts, starts[1:], strict=False)
        }

    def of(self, model: RobotModel) -> Constraints:
        """The same constraints of the same robot with other inertias, such as those of its
        rotors.
        """
        other = copy.copy(self)
        other.model = model
        return other

    def __repr__(self) -> str:
        return (
            f"<Constraints {', '.join(f'{c.name} ({c.kind})' for c in self.constraints)} of "
            f"{self.model.name}>"
        )

    def kernel(self, name: str, **options: object) -> Kernel:
        """The compiled function: ``"constrained_forward_dynamics"``, ``"constraint_terms"``,
        ``"constraint_projections"`` or ``"constraint_wrenches"``; see
        :func:`robot_dynamics_ros.kernel`.
        """
        return kernel(self.model, name, constraints=self.specs, **options)

    def _run(self, name: str, *inputs: ArrayLike, external: Wrenches = None) -> Any:
        return call(self.model, name, inputs, external, options=(("constraints", self.specs),))

    def terms(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array, Array]:
        """φ (..., nc), K (..., nc, nv) and K̇ v (..., nc)."""
        return self._run("constraint_terms", q, v)

    def residual(self, q: ArrayLike) -> Array:
        """(..., nc) φ: how far the constraints are from holding, m or (for orientations) about
        rad.
        """
        return self.terms(q, np.zeros(self.model.nv))[0]

    def jacobian(self, q: ArrayLike) -> Array:
        """(..., nc, nv) K."""
        return self.terms(q, np.zeros(self.model.nv))[1]

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: Wrenches = None,
        stabilization: tuple[float, float] | None = None,
    ) -> ConstrainedMotion:
        """Accelerations and reactions under given efforts.

        Args:
            stabilization: (p, d) of Baumgarte's method, 1/s² and 1/s: K q̈ = −K̇ v − d K v − p φ;
                none if not given.

        Source: Featherstone (2008), sections 3.2 and 8.5.
        """
        if stabilization is None:
            gains = (0.0, 0.0)
        else:
            gains = stabilization
        return ConstrainedMotion(
            *self._run("constrained_forward_dynamics", q, v, tau, gains, external=external)
        )

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        actuated: Sequence[str] | None = None,
        external: Wrenches = None,
    ) -> tuple[Array, Array]:
        """Efforts and reactions that go with a motion that the constraints allow.

        Args:
            actuated: joints with a motor; the efforts of all others are zero.  All joints if not
                given.

        Returns:
            τ (..., nv) and λ (..., nc): of all that fit the efforts of least norm, and of these the
            reactions of least norm.

        Raises:
            ConstraintError: ``a`` breaks the constraints, or the actuated joints cannot cause this
                motion.
        """
        model = self.model
        whole = np.asarray(inverse_dynamics(model, q, v, a, external=external))
        _, K, rate = self.terms(q, v)
        a = np.asarray(as_input(a, (model.nv,), "a"))
        broken = _largest(np.einsum("...ij,...j->...i", K, a) + rate)
        # the sizes that rounding errors go with, looked at only where something is left
        if broken > 1e-6 and broken > 1e-6 * (1.0 + _largest(rate) + _largest(a) * _largest(K)):
            raise ConstraintError(
                f"the accelerations break the constraints by {broken:.3g} m/s² or rad/s²",
                where="a",
                got=a,
                remedy="consistent_acceleration gives the nearest that does not.",
            )
        driven = np.full(model.nv, actuated is None)
        for name in actuated or ():
            driven[model.v_slice(name)] = True
        tau, reactions, missing = _shared(whole, K, driven)
        if (
            _largest(missing) > 1e-7
            and (np.abs(missing).max(axis=-1) > 1e-7 * (1.0 + np.abs(whole).max(axis=-1))).any()
        ):
            raise ConstraintError(
                f"the actuated joints cannot cause this motion: {_largest(missing):.3g} N m or N "
                "are missing",
                where="actuated",
                got=actuated,
                remedy="Actuate another joint, or move away from the singular configuration.",
            )
        return tau, reactions

    def consistent_acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """(..., nv) the acceleration that the constraints allow nearest to ``a``, in the metric of
        the mass matrix.
        """
        return self.forward_dynamics(q, v, inverse_dynamics(self.model, q, v, a)).a

    def project(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        iterations: int = 10,
        tolerance: float = 1e-12,
    ) -> tuple[Array, Array]:
        """The nearest configuration and velocity that the constraints allow, in the metric of the
        mass matrix.

        Raises:
            ConstraintError: no such configuration was found.
        """
        q = np.array(as_input(q, (self.model.nq,), "q"), dtype=float)
        v = np.array(as_input(v, (self.model.nv,), "v"), dtype=float)
        for _ in range(iterations):
            dq, _, _ = self._run("constraint_projections", q, v)
            q = np.asarray(integrate(self.model, q, dq))
            if np.abs(dq).max(initial=0.0) < tolerance:
                break
        worst = np.abs(self.residual(q)).max(initial=0.0)
        if not worst < 1e-8:
            raise self._not_closed(q, worst)
        return q, self._run("constraint_projections", q, v)[1]

    def consistent_state(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        *,
        fixed: Sequence[str] = (),
        tolerance: float = 1e-12,
    ) -> tuple[Array, Array]:
        """A configuration and a velocity near those given that satisfy the constraints.

        Args:
            q: (nq,) guess.
            v: (nv,) wish; zero if not given.
            fixed: joints that keep the position and velocity they have.

        Returns:
            q, v.

        Raises:
            ConstraintError: not found from here: the loop cannot be closed with these joints fixed,
                or the guess is too far away.
        """
        model = self.model
        q = np.array(as_input(q, (model.nq,), "q"), dtype=float)
        if v is None:
            v = np.zeros(model.nv)
        else:
            v = np.array(as_input(v, (model.nv,), "v"), dtype=float)
        for where, x in (("q", q), ("v", v)):
            expect(x.ndim == 1, "one state", x.shape, where, "Give one after the other.")
        free = np.ones(model.nv, dtype=bool)
        for name in fixed:
            free[model.v_slice(name)] = False
        columns = np.flatnonzero(free)
        best = np.inf
        for _ in range(_MOST_NEWTON_STEPS):
            residual, K, _ = self.terms(q, v)
            size = float(np.linalg.norm(residual))
            if size <= tolerance and best <= tolerance:
                break
            best = size
            step = np.zeros(model.nv)
            step[columns] = -np.linalg.lstsq(K[:, columns], residual, rcond=RANK_TOLERANCE)[0]
            share = 1.0
            # shorter steps where the whole one leads away: a quarter of what the linear model
            # promises is enough
            for _ in range(_MOST_HALVINGS):
                trial = np.asarray(integrate(model, q, share * step))
                enough = (1.0 - 0.25 * share) * size + tolerance
                if np.linalg.norm(self.residual(trial)) <= enough:
                    break
                share *= 0.5
            q = trial
        worst = float(np.abs(self.residual(q)).max(initial=0.0))
        if not worst < 1e-9:
            raise self._not_closed(q, worst)
        self._check_sides(q)
        _, K, _ = self.terms(q, v)
        v[columns] -= np.linalg.lstsq(K[:, columns], K @ v, rcond=RANK_TOLERANCE)[0]
        largest = np.abs(K @ v).max(initial=0.0)
        if largest > 1e-9 * (1.0 + np.abs(v).max(initial=0.0)):
            raise ConstraintError(
                f"with {', '.join(fixed) or 'nothing'} fixed no velocity satisfies the "
                f"constraints ({largest:.3g} is left)",
                where=f"robot {model.name!r}",
                got=v,
                remedy="Fix fewer joints, or give velocities that go together.",
            )
        return q, v

    def _not_closed(self, q: Array, worst: float) -> ConstraintError:
        residual = np.abs(self.residual(q))
        name = next(
            n
            for n, s in self.slices.items()
            if residual[s].max(initial=0.0) == worst or not np.isfinite(worst)
        )
        return ConstraintError(
            f"constraint {name!r} cannot be satisfied from here: {worst:.3g} is left",
            where=f"robot {self.model.name!r}",
            got=q,
            remedy=(
                "Start from a configuration nearer to one that closes the loop, or fix other "
                "joints."
            ),
        )

    def _check_sides(self, q: Array) -> None:
        """Axes and frames must agree, not be opposite to each other: both satisfy the rows."""
        for c, spec in zip(self.constraints, self.specs, strict=True):
            if c.kind not in ("hinge", "weld"):
                continue
            _, a, b, numbers = spec
            R_a, R_b = (_pose(self.model, q, link)[:3, :3] for link in (a, b))
            rest = np.array(numbers[6:]).reshape(-1, 3)
            if c.kind == "hinge":
                pairs = [(np.cross(rest[0], rest[1]), rest[2])]
            else:
                pairs = list(zip(rest[:3], rest[3:], strict=True))
            if any((R_a @ x) @ (R_b @ y) < 0.0 for x, y in pairs):
                raise ConstraintError(
                    f"constraint {c.name!r} was met with the two sides opposite to each other",
                    where=f"robot {self.model.name!r}",
                    got=q,
                    remedy="Start from a configuration nearer to the wanted one.",
                )

    def diagnose(self, q: ArrayLike) -> ConstraintReport:
        """Rank, redundancy and singularity at a configuration, (nq,)."""
        model = self.model
        q = np.array(as_input(q, (model.nq,), "q"), dtype=float)
        residual, K, _ = self.terms(q, np.zeros(model.nv))
        values = np.asarray(
            np.linalg.svd(K, compute_uv=False) if self.rows else np.empty(0), dtype=np.float64
        )
        limit = RANK_TOLERANCE * values.max(initial=0.0)
        rank = int((values > limit).sum())
        redundant = []
        so_far = 0
        for name, rows in self.slices.items():
            upto = int((np.linalg.svd(K[: rows.stop], compute_uv=False) > limit).sum())
            if upto - so_far < rows.stop - rows.start:
                redundant.append(name)
            so_far = upto
        nearby = rank
        rng = np.random.default_rng(0)
        for _ in range(3):
            shifted = np.asarray(integrate(model, q, _NEARBY * rng.standard_normal(model.nv)))
            try:
                shifted, _ = self.consistent_state(shifted)
            except ConstraintError:
                continue
            if self.rows:
                near = np.linalg.svd(self.jacobian(shifted), compute_uv=False)
            else:
                near = values
            # one that is zero here grows in proportion to the distance
            nearby = max(nearby, int((near > limit / _NEARBY).sum()))
        return ConstraintReport(
            self.rows,
            rank,
            model.nv - rank,
            tuple(redundant),
            values,
            nearby > rank,
            np.asarray(residual),
        )

    def wrenches(
        self,
        q: ArrayLike,
        reactions: ArrayLike,
    ) -> dict[str, tuple[Array, Array]]:
        """Wrenches of each constraint on its two links, [moment; force] about the link's origin in
        its axes.

        Args:
            reactions: (..., nc) as :meth:`forward_dynamics` gives them.

        Returns:
            name → ((..., 6) on a, (..., 6) on b); zeros for gears, which exert efforts.  On the
            world: world axes, about its origin.
        """
        both = self._run("constraint_wrenches", q, reactions)
        return {name: (both[..., k, 0, :], both[..., k, 1, :]) for k, name in enumerate(self.names)}

    def as_external(self, q: ArrayLike, reactions: ArrayLike) -> dict[str, Array]:
        """Link → (..., 6) sum of what the constraints exert on it, as ``external`` of the dynamics
        functions takes it.

        With it the tree moves and carries as the closed loop does (gears: add Kᵀ λ to the efforts).
        """
        total: dict[str, Array] = {}
        for c, (on_a, on_b) in zip(
            self.constraints, self.wrenches(q, reactions).values(), strict=True
        ):
            if c.kind in OF_JOINTS:
                continue
            for link, wrench in ((c.a, on_a), (c.b, on_b)):
                if link in self.model.link_names:
                    total[link] = total[link] + wrench if link in total else wrench
        return total

    def efforts(self, q: ArrayLike, reactions: ArrayLike) -> Array:
        """(..., nv) Kᵀ λ."""
        return np.einsum("...ij,...i->...j", self.jacobian(q), np.asarray(reactions, dtype=float))


def _shared(
    whole: Array,
    K: Array,
    driven: NDArray[np.bool_],
) -> tuple[Array, Array, Array]:
    """τ and λ with τ + Kᵀ λ = ``whole``, and the efforts missing at joints without a motor.

    λ bears first what acts on joints without a motor, then, with what is free of it, what it can of
    the others: so τ is zero where there is no motor and else of least norm, and λ is of least norm.
    """
    tau = whole
    reactions = np.zeros(K.shape[-2])
    passive = ~driven
    # of the reactions: what acts on joints without a motor leaves this part free
    free: Array | None = None
    largest: Array | None = None
    for joints in (passive, driven):
        # without such joints there is nothing to share
        if not joints.any():
            continue
        rows = np.swapaxes(K[..., joints], -1, -2)
        U, s, Vt = np.linalg.svd(rows if free is None else rows @ free, full_matrices=False)
        # they come in descending order
        largest = s[..., :1] if largest is None else np.maximum(largest, s[..., :1])
        kept = s > RANK_TOLERANCE * largest
        share = np.einsum("...ij,...i->...j", U, tau[..., joints]) * kept / np.where(kept, s, 1.0)
        reactions = reactions + np.einsum("...ij,...i->...j", Vt, share)
        tau = whole - np.einsum("...ij,...i->...j", K, reactions)
        if joints is passive:
            free = np.eye(K.shape[-2]) - np.swapaxes(Vt, -1, -2) @ (kept[..., None] * Vt)
    return np.where(driven, tau, 0.0), reactions, tau[..., passive]


def _largest(values: Array) -> float:
    """The largest size of all; 0 of none."""
    return float(np.abs(values).max(initial=0.0))


def _pose(model: RobotModel, q: Array, link: int) -> Array:
    if link < 0:
        return np.eye(4)
    return np.asarray(link_pose(model, q, model.link_names[link]))


def _unit(values: Sequence[float], what: str) -> Array:
    size = float(np.linalg.norm(values))
    expect(size > 1e-12, "a direction, which is not zero", tuple(values), what)
    return np.array(values) / size


def _frame_of(axis: Array) -> tuple[Array, Array]:
    """Two unit vectors that make a right-handed frame with ``axis``; along coordinate axes where
    they can be.
    """
    k = int(np.argmin(np.abs(axis)))
    first = np.eye(3)[k] - axis[k] * axis
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def _clean(*vectors: ArrayLike) -> tuple[float, ...]:
    """All numbers in one row, those next to 0, 1 and −1 made exact: code for them is shorter, and
    equal for constraints that differ in rounding.
    """
    flat = np.concatenate([np.ravel(x) for x in vectors])
    for target in (0.0, 1.0, -1.0):
        flat[np.abs(flat - target) < 1e-13] = target
    return tuple(float(x) for x in flat + 0.0)


def _spec(model: RobotModel, c: Constraint, q: Array) -> Spec:
    check_name("kind of constraint", c.kind, tuple(ROWS), where=f"constraint {c.name!r}")
    numbers = dict(c.numbers)
    where = f"constraint {c.name!r}"
    if c.kind == "gear":
        return _gear_spec(model, c, numbers, where)
    if c.kind == "pfaffian":
        return _pfaffian_spec(model, c, where)
    a, b = (link_number(model, link, where) for link in (c.a, c.b))
    if a == b or (a >= 0 and b >= 0 and model.link_body[a] == model.link_body[b]):
        if a == b:
            problem = f"both ends are on {c.a!r}"
        else:
            problem = f"fixed joints join {c.a!r} to {c.b!r} already"
        remedy = "Name two links that move against each other."
        raise ArgumentError(problem, where=where, got=(c.a, c.b), remedy=remedy)
    A = _pose(model, q, a)
    B = _pose(model, q, b)
    to_b = B[:3, :3].T @ A[:3, :3]
    p_a = np.array(numbers["point_a"])
    seen_from_b = B[:3, :3].T @ (A[:3, :3] @ p_a + A[:3, 3] - B[:3, 3])
    p_b = np.array(numbers.get("point_b", seen_from_b))
    if c.kind == "point":
        return c.kind, a, b, _clean(p_a, p_b)
    if c.kind == "distance":
        if "length" in numbers:
            length = numbers["length"][0]
        else:
            length = float(np.linalg.norm(seen_from_b - p_b))
        expect(
            length > 0.0, "a positive length", length, where, "Use rd.point_constraint for zero."
        )
        return c.kind, a, b, _clean(p_a, p_b, [length])
    if c.kind == "hinge":
        axis = _unit(numbers["axis_a"], f"axis_a of {where}")
        if "axis_b" in numbers:
            other = _unit(numbers["axis_b"], f"axis_b of {where}")
        else:
            other = to_b @ axis
        return c.kind, a, b, _clean(p_a, p_b, *_frame_of(axis), other)
    if c.kind == "weld":
        R_a = Pose.from_rpy((0, 0, 0), numbers["rpy_a"]).rotation
        if "rpy_b" in numbers:
            R_b = Pose.from_rpy((0, 0, 0), numbers["rpy_b"]).rotation
        else:
            R_b = to_b @ R_a
        return c.kind, a, b, _clean(p_a, p_b, R_a.T, R_b.T)
    n = _unit(numbers["normal"], f"normal of {where}")
    expect(numbers["radius"][0] > 0.0, "a positive radius", numbers["radius"][0], where)
    if "axis" in numbers:
        axis = _unit(numbers["axis"], f"axis of {where}")
    else:
        axis = np.zeros(3)
    return c.kind, a, b, _clean(p_a, p_b, n, *_frame_of(n), numbers["radius"], axis)


def _moves_in_one_way(model: RobotModel, body: int) -> bool:
    """Whether the joint of a body has one degree of freedom."""
    return JointType(int(model.joint_type[body])).nv == 1


def _of_joint(model: RobotModel, name: str, where: str) -> tuple[int, int, float, float]:
    """Indices of position and velocity of a joint, and multiplier and offset of what it is of
    them.
    """
    check_name("joint", name, model.moving_joint_names, where=where)
    i = model.body_index(name)
    if not _moves_in_one_way(model, i):
        problem = f"joint {name!r} has more than one degree of freedom"
        remedy = "Name revolute or prismatic joints."
        raise ArgumentError(problem, where=where, got=name, remedy=remedy)
    return (
        int(model.q_index[i]),
        int(model.v_index[i]),
        float(model.mimic_multiplier[i]),
        float(model.mimic_offset[i]),
    )


def _pfaffian_spec(model: RobotModel, c: Constraint, where: str) -> Spec:
    known = frozenset(
        name
        for name in model.moving_joint_names
        if _moves_in_one_way(model, model.body_index(name))
    )
    used: set[str] = set()
    terms = []
    for joint, text in c.row:
        _, velocity, multiplier, _ = _of_joint(model, joint, where)
        used |= check_formula(text, known, f"{where}, coefficient of {joint!r}")
        terms.append((velocity, multiplier, text))
    joints = tuple((name, *_of_joint(model, name, where)) for name in sorted(used))
    return c.kind, -1, -1, (joints, tuple(terms))


def _gear_spec(
    model: RobotModel,
    c: Constraint,
    given: Mapping[str, tuple[float, ...]],
    where: str,
) -> Spec:
    numbers: list[float] = []
    indices = []
    for name in (c.a, c.b):
        position, velocity, multiplier, offset = _of_joint(model, name, where)
        indices.append(velocity)
        numbers += [position, multiplier, offset]
    if indices[0] == indices[1]:
        problem = "both are one degree of freedom"
        remedy = "Name two joints, neither of which mimics the other."
        raise ArgumentError(problem, where=where, got=(c.a, c.b), remedy=remedy)
    return c.kind, indices[0], indices[1], (given["ratio"][0], given["offset"][0], *numbers)
