"""Parts that all control laws share: their arguments, gains that are checked and frozen, friction,
and how they are changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.control.cycle.memory import cycle_memory
from robot_dynamics_ros.control.cycle.reference import compute_errors
from robot_dynamics_ros.control.kernels import Kernels, LinkKernels, check_controllable
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array, frozen_array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, non_negative, per_joint


class Workspace:
    """State and reference of the present cycle, and the robot's dynamics there.

    Attributes:
        kernels: of the robot as it is now, payload included.
        q, v: (n,) measured position and velocity.
        reference: (3, n), with the rows ``q_d``, ``v_d``, ``a_d``: desired position, velocity,
            acceleration.
        error: (2, n), with the rows ``e`` = q_d − q the short way round, ``ed`` = v_d − v.
        z: (n,) ∫ e dt, kept within limits by its owner.
        a: (n,) the acceleration that the law asked the robot for.
        memory: of the cycle, in which all these arrays lie; ``compiled``: whether compiled code can
            work on it.
    """

    def __init__(self, model: RobotModel) -> None:
        check_controllable(model)
        self.n = model.nv
        self.kernels = Kernels(model)
        self.memory, self.compiled = memory, _ = cycle_memory(model)
        self.q, self.v, self.z, self.a = (memory[name] for name in ("q", "v", "z", "a"))
        self.reference = memory["reference"]
        self.error = memory["error"]
        self.q_d, self.v_d, self.a_d = self.reference
        self.e, self.ed = self.error
        self._tau = np.zeros(self.n)
        self._arrays = self.q, self.v, self.reference, self.error, self._tau

    def arrays_with(self, out: Array) -> tuple[Array, ...]:
        """State, reference, error and an array for efforts, the same tuple as long as that is the
        same.
        """
        if out is not self._arrays[-1]:
            self._arrays = (*self._arrays[:-1], out)
        return self._arrays

    @property
    def model(self) -> RobotModel:
        """The robot as it is now, payload included."""
        return self.kernels.model

    def set(
        self,
        q: ArrayLike,
        v: ArrayLike,
        q_d: ArrayLike,
        v_d: ArrayLike,
        a_d: ArrayLike,
    ) -> Workspace:
        """Load a state and a reference, each (n,), and compute the errors."""
        self.q[:] = q
        self.v[:] = v
        self.q_d[:] = q_d
        self.v_d[:] = v_d
        self.a_d[:] = a_d
        compute_errors(self.memory.python)
        return self

    # -- the robot at the present state; results are overwritten by the next call ------------------

    def inverse_dynamics(self, a: Array) -> Array:
        """(n,) M(q) a + C(q, q̇) q̇ + g(q) at the measured state."""
        np.copyto(self.a, a)
        return self.kernels.inverse_dynamics(self.q, self.v, self.a, self._tau)

    def inverse_dynamics_of_reference(self) -> Array:
        """(n,) M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + g(q_d)."""
        return self.kernels.inverse_dynamics(self.q_d, self.v_d, self.a_d)

    def gravity_forces(self) -> Array:
        """(n,) g(q) at the measured position."""
        return self.kernels.gravity_forces(self.q)

    def mass_matrix(self) -> Array:
        """(n, n) M(q) at the measured position."""
        return self.kernels.mass_matrix(self.q)

    def link(self, name: str) -> LinkKernels:
        """Jacobian and pose of a link."""
        return self.kernels.link(name)


# a number or a sequence; kept as a read-only array
Gain = Any
# share of the largest entry by which a matrix may miss symmetry, or an eigenvalue zero: rounding
MATRIX_ROUNDING = 1e-9
FRICTION_AT = ("measured", "reference")


def gain(
    default: Gain = dataclasses.MISSING,
    *,
    size: int | None = None,
    optional: bool = False,
    matrix: bool = False,
    parameter: str = "",
) -> Gain:
    """A field of a law that holds one non-negative number, or one for each joint (or ``size`` of
    them).

    ``matrix``: or a symmetric matrix without negative eigenvalues; ``parameter``: "p", "i" or "d",
    the last word of the node's parameter that sets it, ``gains.<joint>.<parameter>``.
    """
    metadata = {
        "gain": True,
        "size": size,
        "optional": optional,
        "matrix": matrix,
        "parameter": parameter,
    }
    return field(default=default, metadata=metadata)


def semidefinite(value: ArrayLike, size: int, where: str, remedy: str) -> Array:
    """(size, size) read-only symmetric matrix without negative eigenvalues; ArgumentError: it is
    none.
    """
    matrix = real_array_or_nan(value)
    kind = f"a symmetric matrix, {size} × {size}, without negative eigenvalues"
    expect(matrix.shape == (size, size) and bool(np.isfinite(matrix).all()), kind, value, where)
    rounding = MATRIX_ROUNDING * float(np.abs(matrix).max())
    symmetric = float(np.abs(matrix - matrix.T).max()) <= rounding
    expect(symmetric, kind, value, where, remedy)
    matrix = 0.5 * (matrix + matrix.T)
    expect(float(np.linalg.eigvalsh(matrix)[0]) >= -size * rounding, kind, value, where, remedy)
    return frozen_array(matrix, (size, size))


@dataclass(frozen=True, eq=False)
class Law:
    """A control law: constant settings, and a pure function from state and reference to efforts,
    :meth:`effort`.

    A law of your own is a subclass with that one method; see :class:`Workspace` for what it is
    given.  A law with the gain ``ki`` has ``i_clamp`` too, in units of ki z: integrals need a
    limit.

    A law that ships is listed in :data:`~robot_dynamics_ros.control.laws.LAWS`.  Node, command line
    and exported controllers make it from their parameters, so :func:`registered` asks for more: a
    frozen dataclass with a ``name``, a field ``friction``, and defaults for every field that no
    parameter ``gains.<joint>.p``, ``.i`` or ``.d`` sets.

    Attributes:
        name: set in a class that :data:`~robot_dynamics_ros.control.laws.LAWS` lists: its name in
            parameters.
        integrates: whether it uses the integral of the error.
        inverts_dynamics: set in a class whose effort is ``inverse_dynamics(a)`` and friction, and
            nothing else: the arm then gets the acceleration ``a``, to which joint wrenches belong,
            and ``ControllerOptions.robustness`` applies.
        straight_line: set in a class whose :meth:`effort` has no branches on numbers, no memory,
            and uses no more of NumPy than arithmetic, ``sqrt``, ``exp`` and ``tanh``, and of the
            workspace no links: it is then run once on symbols and compiled.  A subclass must set it
            again.
        tracks: whether the law drives the arm to its reference; if not, the arm can be moved by
            hand.
    """

    name: ClassVar[str] = ""
    inverts_dynamics: ClassVar[bool] = False
    straight_line: ClassVar[bool] = False
    tracks: ClassVar[bool] = True
    # set by each instance
    integrates: ClassVar[bool]

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            if f.metadata.get("gain"):
                value = getattr(self, f.name)
                size = f.metadata["size"]
                infinite = f.name == "i_clamp"
                if value is None and f.metadata["optional"]:
                    continue
                where = f"gain {f.name!r}"
                remedy = "Correct the gain; nothing was changed."
                if f.metadata["matrix"] and np.ndim(value) == 2:
                    array = semidefinite(value, size, where, remedy)
                elif size is None:
                    array = non_negative(value, where, infinite=infinite, remedy=remedy)
                else:
                    array = per_joint(value, size, where, infinite=infinite, remedy=remedy)
                object.__setattr__(self, f.name, array)
        object.__setattr__(self, "integrates", bool(np.any(getattr(self, "ki", 0.0))))
        if self.integrates and not hasattr(self, "i_clamp"):
            raise ArgumentError(
                "has the gain 'ki' and no field 'i_clamp'",
                where=f"law {type(self).__name__}",
                remedy="Add  i_clamp: Gain = gain(float('inf'))  beside it.",
            )
        at = getattr(self, "friction_at", "reference")
        remedy = "Choose where the speed comes from."
        expect(at in FRICTION_AT, f"one of {FRICTION_AT}", at, "friction_at", remedy)

    def effort(self, x: Workspace) -> Array:
        """(n,) efforts for the state and reference in ``x``; depends on nothing else and changes
        nothing.
        """
        raise NotImplementedError

    def __call__(self, x: Workspace, out: Array) -> Array:
        """Write :meth:`effort` to ``out`` (n,) and return it."""
        out[:] = self.effort(x)
        return out

    def F(self, x: Workspace) -> Array | float:
        """(n,) effort that overcomes the friction the law compensates, 0 if there is none."""
        friction: Friction | None = getattr(self, "friction", None)
        if friction is None:
            return 0.0
        return friction.effort(
            x.v if getattr(self, "friction_at", "reference") == "measured" else x.v_d
        )

    @property
    def gain_names(self) -> tuple[str, ...]:
        """The fields that are gains."""
        return tuple(f.name for f in dataclasses.fields(self) if f.metadata.get("gain"))

    def check(self, model: RobotModel) -> Law:
        """The law, if it fits the model, with the friction of the model for ``friction=True``;
        ArgumentError: a gain has neither one value nor one for each joint.
        """
        for f in dataclasses.fields(self):
            one_a_joint = f.metadata.get("gain") and f.metadata["size"] is None
            value = getattr(self, f.name)
            if one_a_joint and value is not None and value.shape not in ((), (model.nv,)):
                problem = f"{len(value)} values for {model.nv} joints"
                remedy = f"Give one number, or one for each of {', '.join(model.joint_names)}."
                raise ArgumentError(problem, where=f"gain {f.name!r}", got=value, remedy=remedy)
        friction = getattr(self, "friction", None)
        if isinstance(friction, bool):
            known = Friction.of(model) if friction else None
            changed: Law = dataclasses.replace(self, friction=known)  # type: ignore[call-arg]
            return changed
        if isinstance(friction, Friction):
            n = len(friction.viscous)
            expect(
                n == model.nv,
                f"that of {model.nv} joints",
                n,
                "friction",
                "Make it with Friction.of(model).",
            )
        return self

    def prepare(self, kernels: Kernels) -> None:
        """Have everything compiled that the law calls; not for the control cycle."""

    def with_gains(self, model: RobotModel, **gains: Gain) -> Law:
        """The same law with other gains: field → one number, one for each joint, or joint name →
        number (other joints keep theirs).

        UnknownNameError: the law has no such gain, the model no such joint; ArgumentError: values
        negative, not finite, too many.
        """
        changes: dict[str, Gain] = {}
        for name, value in gains.items():
            check_name("gain", name, self.gain_names, where=type(self).__name__)
            if isinstance(value, Mapping):
                present = getattr(self, name)
                values = np.array(np.broadcast_to(0.0 if present is None else present, (model.nv,)))
                for joint, number in value.items():
                    check_name("joint", joint, model.joint_names, where=f"gain {name!r}")
                    values[model.v_slice(joint)] = number
                value = values
            changes[name] = value
        return dataclasses.replace(self, **changes).check(model)


def registered(*laws: type[Law]) -> Mapping[str, type[Law]]:
    """Name → law, of laws that keep the contract of those that ship; see :class:`Law`.

    Raises:
        ArgumentError: one of them does not; it names the law, the field and what to add.
    """
    table: dict[str, type[Law]] = {}
    for law in laws:
        where = f"law {law.__name__}"
        for broken, problem, remedy in _contract(law):
            if broken:
                raise ArgumentError(problem, where=where, remedy=remedy)
        if law.name in table:
            problem = f"has the name {law.name!r} of {table[law.name].__name__}"
            raise ArgumentError(problem, where=where, remedy="Give it another name.")
        table[law.name] = law
    return MappingProxyType(table)


def _contract(law: type[Law]) -> Iterator[tuple[bool, str, str]]:
    """Whether a rule is broken, the problem, and the remedy; the first broken one counts."""
    own = {f.name: f for f in dataclasses.fields(law)} if dataclasses.is_dataclass(law) else {}
    yield (
        not getattr(vars(law).get("__dataclass_params__"), "frozen", False),
        "is no frozen dataclass",
        "Decorate it with @dataclass(frozen=True, eq=False).",
    )
    yield (
        "name" not in vars(law) or not law.name.isidentifier(),
        f"has the name {law.name!r}",
        'Add  name: ClassVar[str] = "…"  with a word for parameters.',
    )
    yield (
        law.effort is Law.effort,
        "has no method 'effort'",
        "Write  def effort(self, x: Workspace) -> Array.",
    )
    yield (
        "friction" not in own or own["friction"].default is not None,
        "has no field 'friction' that is None by default",
        "Add  friction: Friction | None = None  and add  self.F(x)  to the efforts.",
    )
    for name, f in own.items():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        yield (
            required and not f.metadata.get("parameter"),
            f"has the field {name!r} without a default, which no parameter sets",
            "Give it a default, or make it a gain(parameter='p'), 'i' or 'd'.",
        )
    words = [f.metadata["parameter"] for f in own.values() if f.metadata.get("parameter")]
    for word in words:
        yield (
            word not in ("p", "i", "d") or words.count(word) > 1,
            f"has the parameter {word!r}, {words.count(word)} times",
            "Parameters of gains are p, i and d, once each.",
        )
