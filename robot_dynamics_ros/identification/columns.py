"""The columns of an identification: inertial parameters of all bodies, then rotor inertia and friction of all
joints."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics_ros.control.per_joint import per_joint
from robot_dynamics_ros.dynamics import joint_torque_regressor
from robot_dynamics_ros.dynamics.parameters import inertial_parameters, parameter_names
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Columns", "FrictionTerms", "effort_regressor"]

SMOOTHING_SHARE, SMOOTHING = 0.005, 0.02


@dataclass(frozen=True, slots=True)
class FrictionTerms:
    """Which effects of the joints are parameters beside those of the bodies.

    Attributes:
        viscous: d in d·v.
        coulomb: F_c in F_c·tanh(v / smoothing).
        offset: a constant, of a torque sensor or a current measurement that is off.
        armature: rotor inertia in J·a; if not, the model's is taken for known.
        smoothing: (nv,) or one number, rad/s or m/s; ``None``: 0.5 % of the velocity limit (0.02 where there is none).
    """

    viscous: bool = True
    coulomb: bool = True
    offset: bool = True
    armature: bool = False
    smoothing: Any = None


class Columns:
    """The order and the names of all parameters: [bodies (10 each), armature, viscous, coulomb, offset].

    Attributes:
        model, terms: what it was made for.
        names: (p,) e.g. ``"forearm_link.hx"``, ``"elbow.coulomb"``.
        kinds: the joints' parameters that there are, in order.
        smoothing: (nv,) speed over which Coulomb friction is smoothed.

    Raises:
        ArgumentError: no joint, joints of several degrees of freedom, or a bad ``smoothing``.
    """

    def __init__(self, model: RobotModel, terms: FrictionTerms | None = None) -> None:
        self.model, self.terms = model, terms or FrictionTerms()
        if not model.nv or any(model.joint(name).type.nv != 1 for name in model.joint_names):
            raise ArgumentError(
                "identification needs joints, all of one degree of freedom",
                where=f"robot {model.name!r}",
                got=model.joint_names,
                remedy="Lock floating and planar joints: model.lock(name).",
            )
        self.kinds = tuple(
            f.name for f in dataclasses.fields(FrictionTerms) if f.name != "smoothing" and getattr(self.terms, f.name)
        )
        self.kinds = tuple(k for k in ("armature", "viscous", "coulomb", "offset") if k in self.kinds)
        joints = [f"{joint}.{kind}" for kind in self.kinds for joint in model.joint_names]
        self.names = [*parameter_names(model), *joints]
        limit = model.velocity_limit
        usual = np.full(model.nv, SMOOTHING)
        limited = np.isfinite(limit) & (limit > 0.0)
        usual[limited] = SMOOTHING_SHARE * limit[limited]
        given = self.terms.smoothing
        self.smoothing = usual if given is None else per_joint(given, model.nv, "smoothing", positive=True)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def bodies(self) -> slice:
        """The inertial parameters."""
        return slice(0, 10 * self.model.nb)

    def of(self, kind: str) -> slice:
        """The joints' parameters of one kind; an empty slice if they are not among the columns."""
        if kind not in self.kinds:
            return slice(0, 0)
        n, start = self.model.nv, 10 * self.model.nb
        at = start + n * self.kinds.index(kind)
        return slice(at, at + n)

    def values(self, model: RobotModel | None = None) -> Array:
        """(p,) what a model says the parameters are; offsets are zero."""
        model = model or self.model
        out = np.zeros(len(self))
        out[self.bodies] = inertial_parameters(model)
        out[self.of("armature")] = model.armature if "armature" in self.kinds else 0.0
        out[self.of("viscous")] = model.damping if "viscous" in self.kinds else 0.0
        out[self.of("coulomb")] = model.friction if "coulomb" in self.kinds else 0.0
        return out

    def regressor(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """See :func:`effort_regressor`."""
        Y = np.asarray(joint_torque_regressor(self.model, q, v, a))
        v, a = np.broadcast_to(v, Y.shape[:-1]), np.broadcast_to(a, Y.shape[:-1])
        out = np.zeros((*Y.shape[:-1], len(self)))
        out[..., self.bodies] = Y
        diagonal = np.arange(self.model.nv)
        for kind in self.kinds:
            values: Any = 1.0
            if kind == "armature":
                values = a
            elif kind == "viscous":
                values = v
            elif kind == "coulomb":
                values = np.tanh(v / self.smoothing)
            out[..., diagonal, self.of(kind).start + diagonal] = values
        return out

    def known(self, v: Any, a: Any) -> Array:
        """(..., nv) efforts of the model that are no parameters: of rotors, and of friction that is not identified."""
        model = self.model
        v, a = np.asarray(v, dtype=np.float64), np.asarray(a, dtype=np.float64)
        out = np.zeros(v.shape)
        if "armature" not in self.kinds:
            out += model.armature * a
        if "viscous" not in self.kinds:
            out += model.damping * v
        if "coulomb" not in self.kinds:
            out += model.friction * np.tanh(v / self.smoothing)
        return out


def effort_regressor(model: RobotModel, q: Any, v: Any, a: Any, terms: FrictionTerms | None = None) -> np.ndarray:
    """Y with motor efforts τ = Y θ, θ the inertial parameters of all bodies, then those of the joints' friction.

    Args:
        q: (..., nq).  v, a: (..., nv).
        terms: which columns there are for the joints; viscous and Coulomb friction and an offset if not given.

    Returns:
        (..., nv, p); the columns are named by :class:`Columns`.  What the terms leave out (rotor inertia, mostly) is
        :meth:`Columns.known`.

    Source: Swevers, Verdonck and De Schutter, IEEE Control Systems 27(5), 2007, equations 2 to 5.
    """
    return Columns(model, terms).regressor(q, v, a)
