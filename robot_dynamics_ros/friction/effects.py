"""The form of a joint's friction beyond its speed: chosen effects, load, and presliding.

The direction of friction is tanh(v/w), or, where gears wind up before they slide, the state of
presliding friction

    dd/dq = (1 − d sign v) / x₀,

which depends on the way gone since the last reversal, not on time (Dahl, *A solid friction model*,
1968); or the mean of two such states, over a short way and a long one (Al-Bender, Lampaert and
Swevers, *The generalized Maxwell-slip model*, IEEE TAC 50, 2005).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics import inverse_dynamics, joint_wrenches
from robot_dynamics_ros.friction.law import EFFECTS, JointMotion
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# A moment below this share of a state's largest moment or force is zero.
_WRENCH_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class JointEffects:
    """The form of one joint's friction.

    Attributes:
        smoothing: w, rad/s or m/s, over which the step of Coulomb friction at rest is smoothed.
        presliding: x₀, rad or m, the way over which friction builds up after a reversal; 0: the
            direction is a function of speed.
        presliding_ratio: r; 1: all friction builds up over x₀; otherwise one half over x₀/√r, the
            other over x₀ √r.
        effects: names out of :data:`~robot_dynamics_ros.friction.law.EFFECTS`.
        numbers: those of the effects, e.g. ``"stribeck_speed"``; what is not given is the effect's
            own.
    """

    smoothing: float
    presliding: float = 0.0
    effects: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    presliding_ratio: float = 1.0

    @property
    def ways(self) -> Array:
        """(1,) or (2,) over which equal parts of friction build up, rad or m."""
        half = self.presliding_ratio**0.5
        return np.array(
            [self.presliding] if half == 1.0 else [self.presliding / half, self.presliding * half]
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters beyond viscous and Coulomb friction and offset."""
        return tuple(
            itertools.chain.from_iterable(EFFECTS[effect].columns for effect in self.effects)
        )

    @property
    def all_numbers(self) -> dict[str, float]:
        """The numbers of all its effects."""
        defaults: dict[str, float] = {}
        for effect in self.effects:
            defaults |= EFFECTS[effect].numbers
        return defaults | {
            name: float(self.numbers[name]) for name in defaults if name in self.numbers
        }

    def columns(self, motion: JointMotion) -> dict[str, Array]:
        """Parameter → regressor column (...)."""
        numbers = self.all_numbers
        columns: dict[str, Any] = {}
        for effect in self.effects:
            columns |= EFFECTS[effect].columns
        return {name: np.asarray(column(motion, numbers)) for name, column in columns.items()}


def joint_loads(
    model: RobotModel,
    effects: Iterable[str],
    q: Array,
    v: Array,
    a: Array,
) -> Array:
    """Efforts of joints without friction and rotors, and moments across their axes, as far as the
    effects need them.

    Args:
        effects: names out of :data:`~robot_dynamics_ros.friction.law.EFFECTS`.
        q, v, a: (..., nv).

    Returns:
        (..., nv, 3): the effort, N m or N, and the moments that the parent link exerts about two
        directions across the joint's axis, N m.  Both directions are fixed in the parent link: the
        first is x, y or z of its frame, the one nearest to a right angle with the axis, made
        perpendicular to it; axis, first and second are right-handed.  What no effect needs is zero,
        and so are moments within rounding.
    """
    names = set(effects)
    out = np.zeros((*v.shape, 3))
    if names & {"load", "gain"}:
        out[..., 0] = inverse_dynamics(model, q, v, a) - model.rotor_effort(a)
    if "crosstalk" in names:
        wrenches = joint_wrenches(model, q, v, a, expressed_in="parent")
        moments = np.einsum("jki,...ji->...jk", _across(model), wrenches[..., :3])
        least = _WRENCH_ROUNDING * np.abs(wrenches).max(axis=(-2, -1), initial=0.0)[..., None, None]
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
    """(n, k) states of presliding friction along positions (n,) in order of time, over ways (k,)
    x₀, rad or m, from states ``start`` (k,) on.
    """
    n = len(q)
    k = len(way)
    out = np.empty((n, k))
    step = np.sign(np.diff(q))
    # a pause changes nothing: no reversal there
    for i in np.flatnonzero(step == 0.0):
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


def direction(
    effects: tuple[JointEffects, ...],
    q: Array,
    v: Array,
    parts: tuple[slice, ...] = (),
) -> Array:
    """(n, nv) directions of friction between −1 and 1, of a motion (n, nv), or of states in any
    order if there are no ``parts``: stretches in order of time, along which presliding is followed.
    Elsewhere all is a function of speed.
    """
    width = np.array([e.smoothing for e in effects])
    out = np.tanh(np.asarray(v) / width)
    for j, e in enumerate(effects):
        if e.presliding > 0.0:
            for part in parts:
                start = np.full(len(e.ways), out[part.start, j])
                out[part, j] = presliding(q[part, j], e.ways, start).mean(axis=1)
    return out
