"""Parameters that efforts are linear in: inertial parameters of all bodies, then rotor inertia and
friction of all joints, then what single joints have beside these.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import joint_torque_regressor
from robot_dynamics_ros.dynamics.parameters import inertial_parameters, parameter_names
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.effects import JointEffects, direction, joint_loads
from robot_dynamics_ros.friction.law import EFFECTS, Effect, JointMotion
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import per_joint

EFFORT_PARAMETER_KINDS = ("armature", "viscous", "coulomb", "offset")
# Share of the velocity limit over which dry friction changes its side.
_SMOOTHING_SHARE = 0.005
# rad/s or m/s, the same of a joint without a velocity limit.
_ASSUMED_SMOOTHING = 0.02


def _bounds_of(parameter: str) -> tuple[float, float]:
    """Between which a parameter can be: one of a joint; of a body ``(−∞, ∞)``."""
    if parameter in ("armature", "viscous", "coulomb"):
        return 0.0, np.inf
    effect = next(
        (effect for effect in EFFECTS.values() if parameter in effect.columns), Effect({})
    )
    return 0.0 if effect.not_negative else -effect.at_most, effect.at_most


@dataclass(frozen=True, slots=True)
class FrictionTerms:
    """Joint effects that are identified as parameters, in addition to those of the bodies.

    Attributes:
        viscous: d in d·v.
        coulomb: F_c in F_c·tanh(v / smoothing).
        offset: a constant error of a torque sensor or a current measurement.
        armature: rotor inertia in J·a; if not, the model's is assumed to be correct.
        smoothing: (nv,) or one number, rad/s or m/s; ``None``: 0.5 % of the velocity limit (0.02
            where there is none).
    """

    viscous: bool = True
    coulomb: bool = True
    offset: bool = True
    armature: bool = False
    smoothing: ArrayLike | None = None


class EffortParameters:
    """Order and names of all parameters: [bodies (10 each), armature, viscous, coulomb, offset,
    effects of joints].

    Joints of several degrees of freedom have no parameters of their own: robots with such are taken
    with none of these terms.

    Args:
        effects: (nv,) form of each joint's friction; smoothing by ``terms`` and nothing more if not
            given.
        loaded: the model whose inverse dynamics is the load of load-dependent friction and of
            crosstalk; ``model`` if not given.

    Attributes:
        model, terms, effects, loaded: what it was made for.
        names: (p,) e.g. ``"forearm_link.hx"``, ``"elbow.coulomb"``, ``"elbow.load"``.
        kinds: the parameters that all joints have, in order.
        joint_of: index of the joint of each parameter that is not of a body.
        smoothing: (nv,) speed over which Coulomb friction is smoothed.
    """

    def __init__(
        self,
        model: RobotModel,
        terms: FrictionTerms | None = None,
        effects: tuple[JointEffects, ...] = (),
        loaded: RobotModel | None = None,
    ) -> None:
        self.model, self.terms, self.loaded = model, terms or FrictionTerms(), loaded or model
        self.kinds = tuple(kind for kind in EFFORT_PARAMETER_KINDS if getattr(self.terms, kind))
        if not model.nv or (
            self.kinds and any(model.joint(name).type.nv != 1 for name in model.joint_names)
        ):
            problem = "identification needs joints, all of one degree of freedom"
            remedy = "Lock floating and planar joints: model.lock(name)."
            raise ArgumentError(problem, where=f"robot {model.name!r}", remedy=remedy)
        limit = model.velocity_limit
        smoothing = self.terms.smoothing
        usual = np.where(
            np.isfinite(limit) & (limit > 0.0), _SMOOTHING_SHARE * limit, _ASSUMED_SMOOTHING
        )
        if smoothing is None:
            width = usual
        else:
            width = per_joint(smoothing, model.nv, "smoothing", positive=True)
        self.effects = effects or tuple(JointEffects(float(w)) for w in width)
        self.smoothing = np.array([e.smoothing for e in self.effects])
        own = [(j, kind) for kind, j in itertools.product(self.kinds, range(model.nv))]
        own += [(j, name) for j, e in enumerate(self.effects) for name in e.parameters]
        self.names = [
            *parameter_names(model),
            *(f"{model.joint_names[j]}.{name}" for j, name in own),
        ]
        self.joint_of = [j for j, _ in own]
        self._indices = {key: self.bodies.stop + k for k, key in enumerate(own)}

    def __len__(self) -> int:
        return len(self.names)

    def with_effects(
        self,
        effects: tuple[JointEffects, ...],
        loaded: RobotModel | None = None,
    ) -> EffortParameters:
        """The same with other forms of the joints' friction."""
        return EffortParameters(self.model, self.terms, effects, loaded or self.loaded)

    @property
    def bodies(self) -> slice:
        """The inertial parameters."""
        return slice(0, 10 * self.model.nb)

    def of(self, kind: str) -> slice:
        """The parameters of one kind that all joints have; an empty slice if they are not among the
        parameters.
        """
        first = self.index(0, kind)
        if kind in self.kinds:
            return slice(first, first + self.model.nv)
        return slice(0, 0)

    def index(self, joint: int, name: str) -> int:
        """Index of a joint's parameter, or −1 if it has none of this name."""
        return self._indices.get((joint, name), -1)

    def values(self, model: RobotModel | None = None) -> Array:
        """(p,) what a model says the parameters are; those that a model does not have are zero."""
        model = model or self.model
        out = np.zeros(len(self))
        out[self.bodies] = inertial_parameters(model)
        for kind, known in (
            ("armature", model.armature),
            ("viscous", model.damping),
            ("coulomb", model.friction),
        ):
            if kind in self.kinds:
                out[self.of(kind)] = known
        return out

    def bounds(self) -> tuple[Array, Array]:
        """(p,) each, between which parameters of joints can be: friction and rotors are not
        negative, shares are small.
        """
        low, high = np.array([_bounds_of(name.rpartition(".")[2]) for name in self.names]).T
        return low, high

    def joint_columns(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        parts: tuple[slice, ...] = (),
    ) -> np.ndarray:
        """(..., nv, p − 10 nb) the regressor of the joints' parameters; presliding friction is
        followed along ``parts``, stretches in order of time.
        """
        nv = self.model.nv
        lead = np.broadcast_shapes(*(np.shape(x)[:-1] for x in (q, v, a)))
        out = np.zeros((*lead, nv, len(self.joint_of)))
        if not self.joint_of:
            return out
        q, v, a = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (q, v, a)))
        d = direction(self.effects, q, v, parts)
        diagonal = np.arange(nv)
        for k, kind in enumerate(self.kinds):
            values: Array = {"armature": a, "viscous": v, "coulomb": d, "offset": np.ones(())}[kind]
            out[..., diagonal, k * nv + diagonal] = values
        load = joint_loads(
            self.loaded, itertools.chain.from_iterable(e.effects for e in self.effects), q, v, a
        )
        index = nv * len(self.kinds)
        for j, (form, motion) in enumerate(
            zip(self.effects, JointMotion.of_joints(q, v, a, d, load), strict=True)
        ):
            for column in form.columns(motion).values():
                out[..., j, index] = column
                index += 1
        return out

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray:
        """(..., nv, p) see :func:`effort_regressor`."""
        bodies = np.asarray(joint_torque_regressor(self.model, q, v, a))
        return np.concatenate([bodies, self.joint_columns(q, v, a)], axis=-1)

    def fixed_effort(self, v: ArrayLike, a: ArrayLike) -> Array:
        """(..., nv) efforts of the model that are no parameters: of rotors, and of friction that is
        not identified.
        """
        model = self.model
        v = np.asarray(v, dtype=np.float64)
        a = np.asarray(a, dtype=np.float64)
        out = np.zeros(v.shape)
        if "armature" not in self.kinds:
            out += model.rotor_effort(a)
        if "viscous" not in self.kinds:
            out += model.damping * v
        if "coulomb" not in self.kinds:
            out += model.friction * np.tanh(v / self.smoothing)
        return out


def effort_regressor(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    terms: FrictionTerms | None = None,
) -> np.ndarray:
    """Y with motor efforts τ = Y θ, θ the inertial parameters of all bodies, then those of the
    joints' friction.

    Args:
        q: (..., nq).  v, a: (..., nv).
        terms: which parameters the joints have; viscous and Coulomb friction and an offset if not
            given.

    Returns:
        (..., nv, p); the columns are named by :class:`EffortParameters`.  What the terms leave out
        (rotor inertia, mostly) is :meth:`EffortParameters.fixed_effort`.

    Source: Swevers, Verdonck and De Schutter, IEEE Control Systems 27(5), 2007, equations 2 to 5.
    """
    return EffortParameters(model, terms).regressor(q, v, a)
