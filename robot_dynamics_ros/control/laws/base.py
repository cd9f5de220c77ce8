"""What every control law has in common: gains that are checked and frozen, friction, and how they are changed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.workspace import Kernels, Workspace
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Gain", "Law", "gain"]

#: What a gain may be given as (a number or a sequence); kept as a read-only array.
Gain = Any
FRICTION_AT = ("measured", "reference")


def gain(default: Any = dataclasses.MISSING, *, size: int | None = None, optional: bool = False) -> Any:
    """A field of a law that holds one non-negative number, or one for each joint (or ``size`` of them)."""
    return field(default=default, metadata={"gain": True, "size": size, "optional": optional})


@dataclass(frozen=True, eq=False)
class Law:
    """A frozen value that turns the state and reference in a workspace into efforts.

    Attributes:
        integrates: whether it uses the integral of the error.
        tracks: whether the law drives the arm to its reference; one that does not leaves the arm to be led by hand.
    """

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
        at = getattr(self, "friction_at", "measured")
        if at not in FRICTION_AT:
            raise ArgumentError(
                f"expected one of {FRICTION_AT}, got {at!r}",
                where="friction_at",
                got=at,
                remedy="Choose where the speed comes from.",
            )

    def __call__(self, work: Workspace, out: Array) -> Array:
        """Write the (n,) efforts for the state and reference in ``work`` to ``out`` and return it.

        Depends on ``work``'s inputs alone; changes only its scratch, ``a`` and wrenches.
        """
        raise NotImplementedError

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

    def with_gains(self, model: RobotModel, **gains: Any) -> Law:
        """The same law with other gains.

        Args:
            gains: field → one number, one for each joint, or joint name → number (other joints keep theirs).

        Raises:
            UnknownNameError: the law has no such gain, the model no such joint.
            ArgumentError: a value that is negative or not finite, or too many of them.
        """
        changes: dict[str, Any] = {}
        for name, value in gains.items():
            if name not in self.gain_names:
                raise UnknownNameError("gain", name, self.gain_names, where=type(self).__name__)
            if isinstance(value, Mapping):
                present = getattr(self, name)
                column = np.array(np.broadcast_to(0.0 if present is None else present, (model.nv,)))
                for joint, number in value.items():
                    if joint not in model.joint_names:
                        raise UnknownNameError("joint", joint, model.joint_names, where=f"gain {name!r}")
                    column[model.v_slice(joint)] = number
                value = column
            changes[name] = value
        return dataclasses.replace(self, **changes).check(model)


def _frozen_gain(value: Any, name: str, size: int | None) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full((), math.nan)
    if size is not None and array.shape == ():
        array = np.full(size, float(array))
    shape_ok = array.ndim <= 1 if size is None else array.shape == (size,)
    if not shape_ok or np.isnan(array).any() or (array < 0.0).any() or (np.isinf(array).any() and name != "i_clamp"):
        wanted = "one finite non-negative number or one for each joint" if size is None else f"{size} such numbers"
        raise ArgumentError(
            f"expected {wanted}, got {value!r}",
            where=f"gain {name!r}",
            got=value,
            remedy="Correct the gain; nothing was changed.",
        )
    array.setflags(write=False)
    return array


def add_friction(work: Workspace, friction: Friction | None, at: str, out: Array) -> None:
    """Add the effort that overcomes friction at the measured or the reference speed."""
    if friction is not None:
        out += friction.effort(work.v if at == "measured" else work.v_d, work.s2)


def add_pd(work: Workspace, law: Any, out: Array) -> None:
    """Add Kp e + Kd ė + Ki ∫e with the gains of ``law``."""
    np.multiply(law.kp, work.e, out=work.s0)
    out += work.s0
    np.multiply(law.kd, work.ed, out=work.s0)
    out += work.s0
    if law.integrates:
        np.multiply(law.ki, work.integral, out=work.s0)
        out += work.s0
