"""A motion that shows a robot off and stays inside its limits, planned from the model alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from robot_dynamics_ros.dynamics import inverse_dynamics
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Motion", "motion_through", "plan_motion"]

_SPREAD = 0.9  # rad: how far a joint without nearer limits goes from where it is
_SPREAD_PRISMATIC = 0.25  # m
_MARGIN = 0.1  # share of the range kept free at either end
_LONGEST = 14.0  # s; a slow robot makes smaller movements
_SHARES = (0.5, 0.8)  # of the velocity and effort limits that may be used; the second if the first is too little


@dataclass(frozen=True, eq=False)
class Motion:
    """A smooth motion through waypoints.

    Attributes:
        joint_names: the joints.
        times: (k,) s, when the waypoints are passed; the first is 0, where the robot stands.
        waypoints: (k, n) configurations; at rest at both ends, passed at speed in between.
    """

    joint_names: tuple[str, ...]
    times: Array
    waypoints: Array
    _spline: BSpline

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    def at(self, t: Array, derivative: int = 0) -> Array:
        """(…, n) position (or a derivative) at times ``t``, s; before and after the motion it stands still."""
        t = np.asarray(t, dtype=np.float64)
        value = self._spline(np.clip(t, 0.0, self.duration), derivative)
        if derivative:
            value[(t < 0.0) | (t > self.duration)] = 0.0
        return value


def plan_motion(model: RobotModel, start: Array, *, waypoints: int = 4, duration: float = 0.0, seed: int = 7) -> Motion:
    """Waypoints at random well inside the limits, joined by a quintic spline that ends where it began.

    Between two waypoints the spline is one polynomial of degree five, which is what a controller makes of position,
    velocity and acceleration at both.

    Args:
        model: a fixed-base robot.
        start: (n,) where the robot stands; must be within its limits.
        waypoints: how many to visit.
        duration: s; 0: as long as the velocity and effort limits ask for, at least 1 s a waypoint.
        seed: of the waypoints.

    Raises:
        ArgumentError: the robot cannot hold itself against gravity with the efforts it has.
    """
    for share in _SHARES:
        rng = np.random.default_rng(seed)
        lower, upper = _bounds(model, start)
        for _ in range(40):
            visits = np.vstack([start, rng.uniform(lower, upper, (waypoints, model.nq)), start])
            if duration > 0.0:
                return _motion(model, visits, duration)
            motion = _slow_enough(model, visits, 1.0 * (waypoints + 1), share)
            if motion is not None and motion.duration <= _LONGEST:
                return motion
            lower, upper = start + 0.9 * (lower - start), start + 0.9 * (upper - start)  # gravity: stay nearer
    raise _too_weak(model, start)


def motion_through(model: RobotModel, visits: Array, times: Array | None = None) -> Motion:
    """A motion through configurations, at rest at both ends.

    Args:
        model: a robot on a fixed base.
        visits: (k, n) configurations, k ≥ 2.
        times: (k,) s, when; as fast as half of the velocity and effort limits allow, in equal steps, if not given.

    Raises:
        ArgumentError: fewer than two configurations; no such motion keeps to the limits.
    """
    if len(visits) < 2:
        raise ArgumentError("fewer than two configurations make no motion", where="motion", got=len(visits))
    if times is not None:
        return _motion(model, visits, times)
    for share in _SHARES:
        motion = _slow_enough(model, visits, 1.0 * (len(visits) - 1), share)
        if motion is not None:
            return motion
    raise _too_weak(model, visits[0])


def _too_weak(model: RobotModel, start: Array) -> ArgumentError:
    """The error for a robot that is too weak to move, with the joint that needs most for its limit."""
    rest = np.zeros(model.nv)
    gravity = np.abs(inverse_dynamics(model, start, rest, rest))
    with np.errstate(invalid="ignore", divide="ignore"):
        used = np.nan_to_num((gravity + model.friction) / model.effort_limit)
    i = int(np.argmax(used))
    name = model.joint_names[i]
    return ArgumentError(
        f"no motion was found that needs less than {_SHARES[-1]:.0%} of the effort and velocity limits; joint {name!r} alone "
        f"needs {gravity[i]:.3g} against gravity and {model.friction[i]:.3g} against friction where the robot starts, and has "
        f"{model.effort_limit[i]:.3g}",
        where=f"robot {model.name!r}",
        got=name,
        remedy="Check masses, friction and effort limits of the URDF, or start elsewhere.",
    )


def _slow_enough(model: RobotModel, visits: Array, duration: float, share: float) -> Motion | None:
    for _ in range(12):
        motion = _motion(model, visits, duration)
        use = _limits_used(model, motion) / share
        if use <= 1.0:
            return motion
        duration *= min(1.5, max(1.05, use))
    return None


def _bounds(model: RobotModel, start: Array) -> tuple[Array, Array]:
    lower, upper = np.empty(model.nq), np.empty(model.nq)
    for name in model.joint_names:
        i = model.q_slice(name).start
        spread = _SPREAD_PRISMATIC if model.joint(name).type.name == "PRISMATIC" else _SPREAD
        low, high = model.lower[i], model.upper[i]
        if math.isfinite(low) and math.isfinite(high):
            margin = _MARGIN * (high - low)
            low, high = low + margin, high - margin
        lower[i] = min(max(low, start[i] - spread), start[i])
        upper[i] = max(min(high, start[i] + spread), start[i])
    return lower, upper


def _motion(model: RobotModel, visits: Array, duration: float | Array) -> Motion:
    knots = np.linspace(0.0, duration, len(visits)) if np.ndim(duration) == 0 else np.asarray(duration)
    rest = [(1, np.zeros(model.nq)), (2, np.zeros(model.nq))]
    return Motion(model.joint_names, knots, visits, make_interp_spline(knots, visits, k=5, bc_type=(rest, rest)))


def _limits_used(model: RobotModel, motion: Motion) -> float:
    """The largest share of a velocity or effort limit that the motion needs; infinite beyond the position limits."""
    t = np.linspace(0.0, motion.duration, 200)
    q, v, a = motion.at(t), motion.at(t, 1), motion.at(t, 2)
    if (q < model.lower).any() or (q > model.upper).any():
        return math.inf
    effort = inverse_dynamics(model, q, v, a) + model.damping * v + model.friction * np.sign(v)
    with np.errstate(invalid="ignore", divide="ignore"):
        speed = np.abs(v) / model.velocity_limit
        load = np.abs(effort) / model.effort_limit
    return float(max(np.nanmax(speed, initial=0.0), np.nanmax(load, initial=0.0)))
