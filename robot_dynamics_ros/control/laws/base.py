"""The parts all control laws share: gains that are checked and frozen, friction, and how they are changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, non_negative

#: What a gain may be given as (a number or a sequence); kept as a read-only array.
Gain = Any
FRICTION_AT = ("measured", "reference")


def gain(
    default: Gain = dataclasses.MISSING, *, size: int | None = None, optional: bool = False, parameter: str = ""
) -> Gain:
    """A field of a law that holds one non-negative number, or one for each joint (or ``size`` of them).

    Args:
        parameter: "p", "i" or "d": the last word of the node's parameter that sets it, ``gains.<joint>.<parameter>``.
    """
    metadata = {"gain": True, "size": size, "optional": optional, "parameter": parameter}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, eq=False)
class Law:
    """A control law: constant settings, and a pure function from state and reference to efforts, :meth:`effort`.

    A law of your own is a subclass with that one method; see :class:`~robot_dynamics_ros.control.workspace.Workspace`
    for what it is given.

    Attributes:
        name: set in a class that :data:`~robot_dynamics_ros.control.laws.registry.LAWS` lists: its name in parameters.
        integrates: whether it uses the integral of the error.
        inverts_dynamics: set in a class whose effort is ``inverse_dynamics(a)`` and friction, and nothing else: the arm
            then gets the acceleration ``a``, and the same pass gives the joint wrenches.
        straight_line: set in a class whose :meth:`effort` has no branches on numbers, no memory, and uses no more of
            NumPy than arithmetic, ``sqrt``, ``exp`` and ``tanh``, and of the workspace no links: it is then run once on
            symbols and compiled.  A subclass must set it again.
        tracks: whether the law drives the arm to its reference; if not, the arm can be moved by hand.
    """

    name: ClassVar[str] = ""
    inverts_dynamics: ClassVar[bool] = False
    straight_line: ClassVar[bool] = False
    tracks: ClassVar[bool] = True
    integrates: ClassVar[bool]  # set by each instance

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            if f.metadata.get("gain"):
                value = getattr(self, f.name)
                if value is None and f.metadata["optional"]:
                    continue
                object.__setattr__(self, f.name, _frozen_gain(value, f.name, f.metadata["size"]))
        object.__setattr__(self, "integrates", bool(np.any(getattr(self, "ki", 0.0))))
        friction_at = getattr(self, "friction_at", "reference")
        expect(
            friction_at in FRICTION_AT,
            f"one of {FRICTION_AT}",
            friction_at,
            "friction_at",
            "Choose where the speed comes from.",
        )

    def effort(self, x: Workspace) -> Array:
        """(n,) efforts for the state and reference in ``x``; depends on nothing else and changes nothing."""
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
        return friction.effort(x.v if getattr(self, "friction_at", "reference") == "measured" else x.v_d)

    @property
    def gain_names(self) -> tuple[str, ...]:
        """The fields that are gains."""
        return tuple(f.name for f in dataclasses.fields(self) if f.metadata.get("gain"))

    def check(self, model: RobotModel) -> Law:
        """The law, if it fits the model.

        Raises:
            ArgumentError: a gain has neither one value nor one for each joint.
        """
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if (
                f.metadata.get("gain")
                and value is not None
                and f.metadata["size"] is None
                and value.shape not in ((), (model.nv,))
            ):
                raise ArgumentError(
                    f"{len(value)} values for {model.nv} joints",
                    where=f"gain {f.name!r}",
                    got=value,
                    remedy=f"Give one number, or one for each of {', '.join(model.joint_names)}.",
                )
        friction = getattr(self, "friction", None)
        if isinstance(friction, Friction) and friction.viscous.shape != (model.nv,):
            raise ArgumentError(
                f"friction of {len(friction.viscous)} joints for a robot with {model.nv}",
                where="friction",
                remedy="Make it with Friction.of(model).",
            )
        return self

    def prepare(self, kernels: Kernels) -> None:
        """Have everything compiled that the law calls; not for the control cycle."""

    def with_gains(self, model: RobotModel, **gains: Gain) -> Law:
        """The same law with other gains.

        Args:
            gains: field → one number, one for each joint, or joint name → number (other joints keep theirs).

        Raises:
            UnknownNameError: the law has no such gain, the model no such joint.
            ArgumentError: a value that is negative or not finite, or too many of them.
        """
        changes: dict[str, Gain] = {}
        for name, value in gains.items():
            if name not in self.gain_names:
                raise UnknownNameError("gain", name, self.gain_names, where=type(self).__name__)
            if isinstance(value, Mapping):
                present = getattr(self, name)
                values = np.array(np.broadcast_to(0.0 if present is None else present, (model.nv,)))
                for joint, number in value.items():
                    if joint not in model.joint_names:
                        raise UnknownNameError("joint", joint, model.joint_names, where=f"gain {name!r}")
                    values[model.v_slice(joint)] = number
                value = values
            changes[name] = value
        return dataclasses.replace(self, **changes).check(model)


def _frozen_gain(value: Gain, name: str, size: int | None) -> Array:
    array = non_negative(
        value, f"gain {name!r}", size=size, infinite=name == "i_clamp", remedy="Correct the gain; nothing was changed."
    )
    if size is not None and array.shape == ():
        array = np.full(size, float(array))
        array.setflags(write=False)
    return array
