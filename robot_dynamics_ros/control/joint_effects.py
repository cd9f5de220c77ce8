"""Friction and other effects of one joint beside its bodies: which there are, and their regressor columns.

Friction is Coulomb friction times a *direction* d between −1 and 1, plus what depends on speed, load and position:

    τ = d·[F_c + (F_s − F_c) exp(−(v/v_s)²) + μ |τ_rigid| ] + F_a |d| + D v + offset + Σ_k [ A_k sin kq + B_k cos kq ]
        + S tanh((v + v_0)/w_s) + C_1 m_1 + C_2 m_2

The direction is tanh(v/w), or, where gears wind up before they slide, the state of presliding friction

    dd/dq = (1 − d sign v) / x₀,

which depends on the way gone since the last reversal, not on time.  m_1 and m_2 are the moments across the joint's axis: a
torque sensor in the joint reads a share of them (crosstalk).

Sources: Dahl, *A solid friction model* (1968) (presliding); Armstrong-Hélouvry, Dupont and Canudas de Wit, Automatica
30 (1994) (Stribeck); Hamon, Gautier, Garrec and Janot, IROS 2010 (load); Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca,
IEEE RA-L 4(4), 2019 (sigmoid).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robot_dynamics_ros.dynamics import inverse_dynamics, joint_wrenches
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["EFFECTS", "JointEffects", "direction", "joint_loads", "presliding"]

#: effects of a joint that are only kept where they predict better, and the parameters of each; crosstalk is tried last
EFFECTS = {
    "stribeck": ("rise",),
    "asymmetry": ("asymmetry",),
    "load": ("load",),
    "position": ("sin1", "cos1"),
    "position2": ("sin2", "cos2"),
    "sigmoid": ("sigmoid",),
    "rotor": ("rotor",),
    "crosstalk": ("crosstalk1", "crosstalk2"),
}
_ROUNDING = 1e-10  # of a state's largest moment or force; a smaller moment is zero


@dataclass(frozen=True, slots=True)
class JointEffects:
    """The form of one joint's friction.

    Attributes:
        smoothing: w, rad/s or m/s, over which the step of Coulomb friction at rest is smoothed.
        presliding: x₀, rad or m, the way over which friction builds up after a reversal; 0: the direction is a
            function of speed.
        stribeck_speed: v_s, rad/s or m/s, of the effect ``"stribeck"``.
        sigmoid_width, sigmoid_shift: w_s and v_0, rad/s or m/s, of the effect ``"sigmoid"``: friction that grows with speed
            only up to a limit, and not alike in both directions.
        effects: names out of :data:`EFFECTS`.
    """

    smoothing: float
    presliding: float = 0.0
    stribeck_speed: float = 0.1
    effects: tuple[str, ...] = ()
    sigmoid_width: float = 0.1
    sigmoid_shift: float = 0.0

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters beyond viscous and Coulomb friction and offset."""
        return tuple(name for effect in self.effects for name in EFFECTS[effect])

    def column(self, name: str, q: Array, v: Array, a: Array, d: Array, load: Array) -> Array:
        """(...) regressor column of a parameter, of states (...) of this joint.

        Args:
            d: direction.
            load: (..., 3) what the joint carries, as :func:`joint_loads` has it.
        """
        if name == "rise":
            return np.asarray(d * np.exp(-((v / self.stribeck_speed) ** 2)))
        if name == "asymmetry":
            return np.abs(d)
        if name == "load":
            return np.asarray(d * np.abs(load[..., 0]))
        if name.startswith("crosstalk"):
            return np.asarray(load[..., int(name[-1])])
        if name == "rotor":
            return a
        if name == "sigmoid":
            return np.asarray(np.tanh((v + self.sigmoid_shift) / self.sigmoid_width))
        wave = np.sin if name.startswith("sin") else np.cos
        return np.asarray(wave(int(name[3:]) * q))


def joint_loads(model: RobotModel, effects: Iterable[str], q: Array, v: Array, a: Array) -> Array:
    """Efforts of joints without friction and moments across their axes, as far as the effects need them.

    Args:
        effects: names out of :data:`EFFECTS`.
        q, v, a: (..., nv).

    Returns:
        (..., nv, 3): the effort, N m or N, and the moments that the parent link exerts about two directions across the
        joint's axis, N m.  Both directions are fixed in the parent link: the first is x, y or z of its frame, the one
        nearest to a right angle with the axis, made perpendicular to it; axis, first and second are right-handed.  What
        no effect needs is zero, and so are moments within rounding.
    """
    names, out = set(effects), np.zeros((*v.shape, 3))
    if "load" in names:
        out[..., 0] = inverse_dynamics(model, q, v, a)
    if "crosstalk" in names:
        wrenches = joint_wrenches(model, q, v, a, expressed_in="parent")
        moments = np.einsum("jki,...ji->...jk", _across(model), wrenches[..., :3])
        least = _ROUNDING * np.abs(wrenches).max(axis=(-2, -1), initial=0.0)[..., None, None]
        out[..., 1:] = np.where(np.abs(moments) > least, moments, 0.0)
    return out


def _across(model: RobotModel) -> Array:
    """(nv, 2, 3) the directions across the joints' axes, in the parents' frames."""
    out = np.empty((model.nv, 2, 3))
    for j, joint in enumerate(map(model.joint, model.joint_names)):
        axis = joint.origin.rotation @ joint.axis
        # rounded: the same direction for a robot that was written and read again
        first = np.eye(3)[np.argmin(np.round(np.abs(axis), 6))]
        first = first - (first @ axis) * axis
        out[j, 0] = first / np.linalg.norm(first)
        out[j, 1] = np.cross(axis, out[j, 0])
    return out


def presliding(q: Array, way: Array, start: Array) -> Array:
    """State of presliding friction along a motion.

    Args:
        q: (n,) positions in order of time.
        way: (k,) x₀ for each of k states, rad or m.
        start: (k,) states at the first position.

    Returns:
        (n, k).
    """
    n, k = len(q), len(way)
    out = np.empty((n, k))
    step = np.sign(np.diff(q))
    for i in np.flatnonzero(step == 0.0):  # a pause changes nothing: no reversal there
        step[i] = step[i - 1] if i else 0.0
    turns = np.flatnonzero(np.diff(step) != 0.0) + 1
    ends = [0, *turns.tolist(), n - 1]
    state = np.array(start, dtype=np.float64)
    out[0] = state
    for first, last in pairwise(ends):
        if last > first:
            sign = step[first]
            gone = np.abs(q[first + 1 : last + 1] - q[first])[:, None]
            out[first + 1 : last + 1] = sign + (state - sign) * np.exp(-gone / way)
            state = out[last]
    return out


def direction(effects: tuple[JointEffects, ...], q: Array, v: Array, parts: tuple[slice, ...] = ()) -> Array:
    """(n, nv) directions of friction between −1 and 1.

    Args:
        effects: one for each joint.
        q, v: (n, nv) a motion, or states in any order if there are no ``parts``.
        parts: stretches of ``q`` in order of time; without them presliding is not followed, and all is a function of
            speed.
    """
    width = np.array([e.smoothing for e in effects])
    out = np.tanh(np.asarray(v) / width)
    for j, e in enumerate(effects):
        if e.presliding > 0.0:
            for part in parts:
                out[part, j] = presliding(q[part, j], np.array([e.presliding]), out[part, j][:1])[:, 0]
    return out
