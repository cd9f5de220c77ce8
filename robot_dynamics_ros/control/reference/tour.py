"""A motion that shows a robot off and stays inside its limits, planned from the model alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.reference.tracks import SLACK
from robot_dynamics_ros.control.reference.trajectory import Trajectory
from robot_dynamics_ros.dynamics import inverse_dynamics, inverse_kinematics, link_pose
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, JointType, Pose
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

_SPREAD = 0.9  # rad: how far a joint without nearer limits goes from where it is
_SPREAD_PRISMATIC = 0.25  # m
_MARGIN = 0.1  # share of the range kept free at either end
_MOTION = (0.01, 3600.0)  # s that a motion may be asked to take
_LONGEST = 14.0  # s; a slow joint makes smaller movements
_SHARES = (0.5, 0.8)  # of the velocity and effort limits that may be used; the second if the first is too little
_MOST = 0.95  # of the effort limits for a motion that somebody asked for
_DRAWS = 40  # tours of one joint that are tried until one stays within its limits
_BEST_OF = 500  # starts that are tried where gravity is too much at the initial one
_LEAST = 0.01  # of the usual reach: less is no motion
_STILL = 1e-6  # rad/s or m/s: a joint that is no faster stands


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

    def trajectory(self, slower: float = 1.0) -> Trajectory:
        """The same motion for a controller, ``slower`` times as long."""
        t = self.times[1:]
        rates = self.at(t, 1) / slower, self.at(t, 2) / slower**2
        return Trajectory.from_waypoints(self.joint_names, (slower * t).tolist(), self.waypoints[1:], *rates)


def plan_motion(model: RobotModel, start: Array, *, waypoints: int = 4, duration: float = 0.0, seed: int = 7) -> Motion:
    """Waypoints at random well inside the limits, joined by a quintic spline that ends where it began.

    Between two waypoints the spline is one polynomial of degree five, which is what a controller makes of position,
    velocity and acceleration at both.  A joint that starts at a position limit ends inside it, where a controller that
    slows down before limits can arrive.  Joints that are too weak to move stand (:func:`standing_joints`), slow ones make
    smaller movements.

    Args:
        model: a fixed-base robot.
        start: (n,) where the robot stands; must be within its limits.
        waypoints: how many to visit.
        duration: s; 0: the shortest that the velocity and effort limits allow, at least 1 s a waypoint.
        seed: number that the waypoints are drawn from.

    Raises:
        ArgumentError: the robot cannot hold itself against gravity with the efforts it has, or the duration is absurd.
    """
    base, away = _tour(model, start, waypoints, np.random.default_rng(seed))
    if duration > 0.0:
        if not _MOTION[0] <= duration <= _MOTION[1]:
            raise ArgumentError(
                f"a motion of {duration:g} s",
                where="--duration",
                got=duration,
                remedy=f"Give {_MOTION[0]:g} to {_MOTION[1]:g} s, or 0 for a duration that suits the limits.",
            )
        return _motion(model, base + away, duration)
    for share in _SHARES:
        motion = _within_limits(model, base, away, 1.0 * (waypoints + 1), share)
        if motion is not None:
            return motion
    raise _too_weak(model, start)


def motion_through(model: RobotModel, visits: Array, times: Array | None = None) -> Motion:
    """A motion through configurations, at rest at both ends.

    Args:
        model: a robot on a fixed base.
        visits: (k, n) configurations, k ≥ 2.
        times: (k,) s, when; as fast as half of the velocity and effort limits allow, in equal steps, if not given.

    Raises:
        ArgumentError: fewer than two configurations; a joint that nothing moves has to move; no such motion keeps to the limits.
    """
    if len(visits) < 2:
        raise ArgumentError(
            f"{len(visits)} configurations make no motion",
            where="motion",
            got=len(visits),
            remedy="Give two configurations at least: where it starts and where it ends.",
        )
    if times is not None:
        return _motion(model, visits, times)
    stuck = _cannot_move(model, _MOST) & (np.ptp(visits, axis=0) > 0.0)
    if stuck.any():
        i = int(np.argmax(stuck))
        raise ArgumentError(
            f"joint {model.joint_names[i]!r} cannot move: {_weakness(model, i)}",
            where=f"robot {model.name!r}",
            got=visits[-1].tolist(),
            remedy=f"Leave it at {visits[0, i]:g}, or correct its limits in the URDF.",
        )
    way = _motion(model, visits, 1.0).at(np.linspace(0.0, 1.0, 200))
    inside = ((way >= model.lower - 1e-9) & (way <= model.upper + 1e-9)).all()
    for share in (*_SHARES, _MOST) if inside else ():
        motion = _within_limits(model, visits, np.zeros_like(visits), 1.0 * (len(visits) - 1), share, math.inf)
        if motion is not None:
            return motion
    raise _too_weak(model, way[int(np.argmax(_burden(model, way)))], "on the way", _MOST)


def configuration_at(model: RobotModel, link: str, pose: Pose, start: Array, *, where: str = "pose") -> Array:
    """The configuration nearest to ``start`` that was found to put a link at a pose, within the limits.

    Args:
        model, start: as for :func:`plan_motion`.
        link: its name.
        pose: of its frame in the world.
        where: what errors call the pose.

    Raises:
        ArgumentError: it cannot get there.
        UnknownNameError: there is no such link.
    """
    solution = inverse_kinematics(model, link, pose, start=start)
    if solution.reached:
        return solution.q
    now = link_pose(model, start, link)
    raise ArgumentError(
        f"link {link!r} cannot get there: {float(solution.position_error):.3g} m and {float(solution.rotation_error):.3g} rad "
        "are left at best",
        where=where,
        got=pose.matrix().tolist(),
        remedy=f"It is at {np.round([*now[:3, 3], *Pose(now[:3, :3]).rpy()], 4).tolist()} now (x y z roll pitch yaw).",
    )


def check_within_limits(model: RobotModel, q: Array, where: str) -> None:
    """Refuse a configuration outside the position limits.

    Raises:
        ArgumentError: naming ``where`` it was given, and the joint.
    """
    outside = (q < model.lower - SLACK) | (q > model.upper + SLACK)
    if outside.any():
        i = int(np.argmax(outside))
        raise ArgumentError(
            f"{q[i]:g} is outside the limits {model.lower[i]:g} to {model.upper[i]:g} of joint {model.joint_names[i]!r}",
            where=where,
            got=q.tolist(),
            remedy="Give a configuration within the limits; `robot_dynamics info` shows them.",
        )


def standing_joints(model: RobotModel, motion: Motion) -> dict[str, str]:
    """Joints that ``motion`` does not move, for they are too weak or too slow: name → why, in a few words."""
    still = np.ptp(motion.waypoints, axis=0) == 0.0
    return {model.joint_names[i]: _weakness(model, int(i)) for i in np.flatnonzero(still)}


def _weakness(model: RobotModel, i: int) -> str:
    name = model.joint_names[i]
    unit = "N" if model.joint(name).type is JointType.PRISMATIC else "N m"
    if model.lower[i] >= model.upper[i]:
        return "its position limits leave it no room"
    if model.velocity_limit[i] <= _STILL:
        return f"its velocity limit is {model.velocity_limit[i]:g}"
    if model.effort_limit[i] <= 0.0:
        return "its effort limit is 0"
    return (
        f"friction ({model.friction[i]:g} {unit}) and gravity leave too little of its effort limit "
        f"({model.effort_limit[i]:g} {unit})"
    )


def _cannot_move(model: RobotModel, share: float = _SHARES[-1]) -> NDArray[np.bool_]:
    """(n,) joints that nothing moves, wherever the robot is, with that share of their effort."""
    return np.asarray(
        (model.lower >= model.upper)
        | (model.velocity_limit <= _STILL)
        | (model.effort_limit <= 0.0)
        | ((model.friction > 0.0) & (model.friction > 0.99 * share * model.effort_limit))
    )


def bearable_start(model: RobotModel, start: Array) -> tuple[Array, str]:
    """A configuration near ``start`` in which the robot can hold itself, and why it is another one than ``start``
    (``""`` if it is not).

    Where gravity asks for more than the joints have, configurations are drawn at random within the limits; the best of
    them is approached from ``start`` as far as it must be.
    """
    if _burden(model, start[None])[0] < 0.95 * _SHARES[-1]:
        return start, ""
    rng = np.random.default_rng(0)
    lower, upper = _bounds(model, start, np.inf)
    drawn = start + rng.uniform(0.0, 1.0, (_BEST_OF, 1)) * (rng.uniform(lower, upper, (_BEST_OF, model.nq)) - start)
    best = drawn[int(np.argmin(_burden(model, drawn)))]
    path = start + np.linspace(0.0, 1.0, 101)[:, None] * (best - start)
    burden = _burden(model, path)
    enough = burden <= max(0.6 * _SHARES[0], 1.05 * float(burden[-1]))
    bearable = path[int(np.argmax(enough))] if enough.any() else best
    i, need = _most_burdened(model, start)
    return bearable, (
        f"at its initial configuration joint {model.joint_names[i]!r} needs {need}, and has {model.effort_limit[i]:.3g}"
    )


def _tour(model: RobotModel, start: Array, waypoints: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Configurations in two parts (waypoints + 2, n): the way from start to end, and what leads away from it."""
    lower, upper = _bounds(model, start)
    end = np.clip(start, *_inner(model))
    base = np.linspace(start, end, waypoints + 2)
    away = np.zeros_like(base)
    still = _cannot_move(model)
    hump = np.sin(np.linspace(0.0, math.pi, waypoints + 2))
    for i in range(model.nq):
        draws = [rng.uniform(lower[i], upper[i], waypoints) for _ in range(_DRAWS)]
        if still[i]:
            base[:, i] = start[i]
            continue
        room = (min(model.lower[i], start[i]), max(model.upper[i], start[i]))
        goal = upper[i] if upper[i] - end[i] > end[i] - lower[i] else lower[i]
        ways = [np.array([start[i], *draw, end[i]]) for draw in draws] + [base[:, i] + 0.9 * hump * (goal - end[i])]
        chosen = next((way for way in ways if _inside(way, *room)), ways[-1])
        away[:, i] = chosen - base[:, i]
    away[[0, -1]] = 0.0
    return base, away


def _inside(way: Array, low: float, high: float) -> bool:
    """Whether the spline through the values of one joint stays between its limits: it may go beyond the values."""
    x = _spline(np.linspace(0.0, 1.0, len(way)), way[:, None])(np.linspace(0.0, 1.0, 200))
    return bool(x.min() >= low - 1e-9 and x.max() <= high + 1e-9)


def _within_limits(
    model: RobotModel, base: Array, away: Array, duration: float, share: float, longest: float = _LONGEST
) -> Motion | None:
    """The motion with as much of ``away`` as velocity and effort limits allow; None if they allow none.

    It takes ``longest`` s at most; rather than more, it goes less far away.
    """
    reach = np.ones(model.nq)
    for _ in range(80):
        motion = _motion(model, base + reach * away, duration)
        speed, load, held = _limits_used(model, motion)
        if not (held <= share).all():  # no time helps against gravity
            reach *= np.where(held <= share, 0.9, 0.75)
            reach[reach < _LEAST] = 0.0  # it stands, with the help of its friction
            if not reach.any():
                return None
        elif (use := float(max(speed.max(initial=0.0), load.max(initial=0.0))) / share) <= 1.0:
            return motion
        elif duration < longest:
            duration = min(longest, duration * min(1.5, max(1.05, use)))
        else:
            reach *= np.clip(0.95 * share / np.maximum(np.maximum(speed, load), 1e-9), 0.2, 1.0)
    return None


def _too_weak(
    model: RobotModel, q: Array, place: str = "where the robot starts", share: float = _SHARES[-1]
) -> ArgumentError:
    """The error for a robot that is too weak to move, with the joint that needs most for its limit at ``q``."""
    i, need = _most_burdened(model, q)
    name = model.joint_names[i]
    return ArgumentError(
        f"no motion was found that needs less than {share:.0%} of the effort and velocity limits; joint {name!r} "
        f"is nearest to them {place}: it needs {need}, and has {model.effort_limit[i]:.3g}",
        where=f"robot {model.name!r}",
        got=name,
        remedy="Check masses and effort limits of the URDF, or start elsewhere.",
    )


def _gravity(model: RobotModel, q: Array) -> Array:
    """(…, n) efforts against gravity."""
    rest = np.zeros((*q.shape[:-1], model.nv))
    return inverse_dynamics(model, q, rest, rest)


def _share(need: Array, limit: Array) -> Array:
    """``need`` as a share of a limit; 0 where nothing is needed, infinite where there is nothing to give."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(need <= 0.0, 0.0, need / limit)


def _burden(model: RobotModel, q: Array) -> Array:
    """(k,) largest share of an effort limit that gravity and friction take in configurations (k, n)."""
    friction = np.where(_cannot_move(model), -1.0, 1.0) * model.friction  # a joint that stands is held by it
    return np.asarray(_share(np.abs(_gravity(model, q)) + friction, model.effort_limit).max(axis=1, initial=0.0))


def _most_burdened(model: RobotModel, q: Array) -> tuple[int, str]:
    """The joint whose limit gravity and friction take most of, and what they take, in words."""
    gravity = np.abs(_gravity(model, q))
    friction = np.where(_cannot_move(model), -1.0, 1.0) * model.friction
    i = int(np.argmax(_share(gravity + friction, model.effort_limit)))
    also = f" and {model.friction[i]:.3g} against friction" if friction[i] > 0.0 else ""
    return i, f"{gravity[i]:.3g} against gravity{also}"


def _usual_reach(model: RobotModel) -> Array:
    """(n,) rad or m that a joint without nearer limits goes from where it is."""
    prismatic = [model.joint(name).type is JointType.PRISMATIC for name in model.joint_names]
    return np.where(prismatic, _SPREAD_PRISMATIC, _SPREAD)


def _inner(model: RobotModel) -> tuple[Array, Array]:
    """Position limits drawn in by the margin, which is a share of the range, or of two turns (m: 4 π) if that is less."""
    width = np.where(np.isfinite(model.upper - model.lower), model.upper - model.lower, 0.0)
    margin = _MARGIN * np.minimum(width, 4.0 * math.pi)
    return model.lower + margin, model.upper - margin


def _bounds(model: RobotModel, start: Array, reach: float = 1.0) -> tuple[Array, Array]:
    """Where waypoints may lie: inside the limits, and at most ``reach`` times the usual spread from the start."""
    inner = _inner(model)
    end = np.clip(start, *inner)
    bounded = np.isfinite(model.upper - model.lower)
    spread = _usual_reach(model) * np.where(bounded, reach, min(reach, 2.0))
    return np.maximum(inner[0], end - spread), np.minimum(inner[1], end + spread)


def _spline(knots: Array, visits: Array) -> BSpline:
    from scipy.interpolate import make_interp_spline  # takes as long to import as the rest of a controller

    rest = [(1, np.zeros(visits.shape[1])), (2, np.zeros(visits.shape[1]))]
    return make_interp_spline(knots, visits, k=5, bc_type=(rest, rest))


def _motion(model: RobotModel, visits: Array, duration: float | Array) -> Motion:
    knots = np.linspace(0.0, duration, len(visits)) if np.ndim(duration) == 0 else np.asarray(duration)
    return Motion(model.joint_names, knots, visits, _spline(knots, visits))


def _limits_used(model: RobotModel, motion: Motion) -> tuple[Array, Array, Array]:
    """(n,) largest shares of the velocity and effort limits that the motion needs, and of the latter at rest."""
    t = np.linspace(0.0, motion.duration, 200)
    q, v, a = motion.at(t), motion.at(t, 1), motion.at(t, 2)
    moved = np.ptp(motion.waypoints, axis=0) > 0.0
    effort = inverse_dynamics(model, q, v, a) + model.damping * v + model.friction * np.sign(v) * moved
    gravity = np.abs(_gravity(model, q)) + np.where(moved, 1.0, -1.0) * model.friction
    shares = _share(np.abs(v), model.velocity_limit), _share(np.abs(effort), model.effort_limit)
    return shares[0].max(axis=0), shares[1].max(axis=0), _share(gravity, model.effort_limit).max(axis=0)
