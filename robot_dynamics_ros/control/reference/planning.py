"""Motions that stay inside a robot's limits, planned from the model alone: moves between
configurations, and tours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.control.cycle.limits import default_deceleration
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.reference.tracks import SLACK
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory, TrajectoryPoint
from robot_dynamics_ros.dynamics import (
    gravity_forces,
    inverse_dynamics,
    inverse_kinematics,
    link_pose,
)
from robot_dynamics_ros.errors import ArgumentError, TrajectoryError
from robot_dynamics_ros.model.description import Array, JointType, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint, vector

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

# Largest values of the step s(x) = 10x³ − 15x⁴ + 6x⁵, x from 0 to 1: of ds/dx, at x = ½,
PEAK_SPEED = 15.0 / 8.0
# and of d²s/dx², at x = ½ − 1/√12.
PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)
# rad: how far a joint without nearer limits goes from where it is
_FREE_JOINT_REACH_RAD = 0.9
# m: how far a sliding joint without nearer limits goes from where it is.
_SPREAD_PRISMATIC = 0.25
# Share of the range that is kept free at either end.
_RANGE_MARGIN_SHARE = 0.1
# s: shortest and longest time that a motion may be asked to take.
_MOTION = (0.01, 3600.0)
# s; a slow joint makes smaller movements
_LONGEST_MOTION_S = 14.0
# Shares of the velocity and effort limits that may be used; the second if the first is too little.
_SHARES = (
    0.5,
    0.8,
)
# Share of the effort limits for a motion that somebody asked for.
_MOST_EFFORT_SHARE = 0.95
# tours of one joint that are tried until one stays within its limits
_DRAWS = 40
# starts that are tried where gravity is too much at the initial one
_BEST_OF = 500
# A reach below this share of the usual one is no motion.
_LEAST_MOTION_SHARE = 0.01
# rad/s or m/s: a joint that is no faster stands
_STANDING_SPEED = 1e-6


def plan_move(
    model: RobotModel,
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    scale: float = 0.5,
    acceleration: float | Sequence[float] | None = None,
    effort_scale: float = 0.9,
    duration: float | None = None,
    samples: int = 101,
) -> Trajectory:
    """A straight move in joint space, at rest at both ends, with smooth acceleration; or one
    through several waypoints.

    All joints follow q0 + (q1 − q0) s(t/T), s the quintic with rest at both ends.  T is the
    shortest time for which velocity, acceleration and effort stay within their limits; the effort
    is found from inverse dynamics along the move, friction included.

    Args:
        model: joints of one degree of freedom each.
        q0, q1: (n,) start and goal; continuous joints take the short way round.  ``q1`` may be
            (k, n), waypoints in order: the move passes them at speed, in equal times, as
            ``scale`` of the velocity and effort limits allows.
        scale: factor on velocity limits and accelerations, above 0 to 1.
        acceleration: (n,) or one number, rad/s² or m/s²; not given, what reaches the velocity limit
            in 0.25 s.  Those of the description count where they are smaller.
        effort_scale: share of the effort limits that may be used.
        duration: s, instead of the shortest; refused if that would break a limit.
        samples: number of configurations along the move at which the effort is checked.

    Returns:
        A trajectory of two points (at 0 and T) with zero velocities and accelerations, which every
        quintic interpolation, joint_trajectory_controller's included, turns into this move.

    Raises:
        ArgumentError: arguments out of range, of the wrong length, not finite, or beyond the
            position limits.
        TrajectoryError: the arm cannot hold itself somewhere along the move, or ``duration`` is too
            short.
    """
    check_controllable(model)
    if np.ndim(q1) == 2:
        return _move_through(model, q0, np.asarray(q1, dtype=float), scale, duration)
    q0, q1 = (
        vector(q, model.nq, name, joints=model.joint_names) for q, name in ((q0, "q0"), (q1, "q1"))
    )
    check_within_limits(model, q0, "q0")
    check_within_limits(model, q1, "q1")
    for name, value in (("scale", scale), ("effort_scale", effort_scale)):
        expect(
            0.0 < value <= 1.0,
            "a number above 0, up to 1",
            value,
            name,
            "It is a factor on the limits.",
        )
    continuous = [model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names]
    way = q1 - q0
    way -= np.where(continuous, 2.0 * math.pi * np.round(way / (2.0 * math.pi)), 0.0)
    limit = default_deceleration(model.velocity_limit)
    if acceleration is not None:
        limit = per_joint(
            acceleration, model.nv, "acceleration", positive=True, remedy="Give rad/s² or m/s²."
        )
    limit = np.minimum(limit, model.acceleration_limit)
    distance = np.abs(way)
    velocity = np.where(distance > 0.0, model.velocity_limit, np.inf) * scale
    if (velocity == 0.0).any():
        i = int(np.argmin(velocity))
        problem = f"joint {model.joint_names[i]!r} has to move and its velocity limit is 0"
        raise TrajectoryError(
            problem, where="velocity limit", remedy="Correct the URDF's <limit>, or lock the joint."
        )
    by_speed = float((PEAK_SPEED * distance / velocity).max())
    shortest = max(
        by_speed, math.sqrt(float((PEAK_ACCELERATION * distance / (limit * scale)).max())), 1e-3
    )
    shortest = max(shortest, _time_for_efforts(model, q0, way, effort_scale, shortest, samples))
    if duration is not None:
        if not math.isfinite(duration) or duration < shortest * (1.0 - 1e-9):
            problem = f"{duration!r} s is too short, the limits need {shortest:.4g} s"
            raise TrajectoryError(
                problem, where="duration", got=duration, remedy="Allow more time, or raise scale."
            )
        shortest = float(duration)
    rest = [0.0] * model.nv
    end = math.ceil(shortest * NANOSECONDS)
    points = [TrajectoryPoint(t, q.tolist(), rest, rest) for t, q in ((0, q0), (end, q0 + way))]
    return Trajectory.from_points(model.joint_names, points)


def _move_through(
    model: RobotModel,
    q0: ArrayLike,
    waypoints: Array,
    scale: float,
    duration: float | None,
) -> Trajectory:
    """A move through waypoints (k, n), each within the limits."""
    names = model.joint_names
    visits = np.vstack(
        [vector(q0, model.nq, "q0", joints=names)]
        + [vector(q, model.nq, f"q1[{k}]", joints=names) for k, q in enumerate(waypoints)]
    )
    for k, q in enumerate(visits):
        check_within_limits(model, q, "q0" if k == 0 else f"q1[{k - 1}]")
    remedy = "It is a factor on the limits."
    expect(0.0 < scale <= 1.0, "a number above 0, up to 1", scale, "scale", remedy)
    nothing = np.zeros_like(visits)
    motion = _within_limits(model, visits, nothing, 0.1 * (len(visits) - 1), scale, math.inf)
    if motion is None:
        raise _too_weak(model, visits[0], "on the way", scale)
    if duration is None:
        return motion.trajectory()
    if duration < motion.duration * (1.0 - 1e-9):
        problem = f"{duration!r} s is too short, the limits need {motion.duration:.4g} s"
        remedy = "Allow more time, or raise scale."
        raise TrajectoryError(problem, where="duration", got=duration, remedy=remedy)
    return motion.trajectory(duration / motion.duration)


def rest_to_rest(x: Array) -> tuple[Array, Array, Array]:
    """The polynomial of degree five from 0 to 1, at rest at both ends, and its two derivatives, at
    ``x`` from 0 to 1.
    """
    share = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
    return share, 30.0 * x * x * (1.0 - x) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)


def _time_for_efforts(
    model: RobotModel,
    q0: Array,
    way: Array,
    effort_scale: float,
    start: float,
    samples: int,
) -> float:
    """Shortest T with |static + friction + dynamic/T²| ≤ limit at all samples; friction is taken at
    ``start`` and T raised until it fits with its own.
    """
    limit = model.effort_limit * effort_scale
    if not np.isfinite(limit).any() or not way.any():
        return 0.0
    x = np.linspace(0.0, 1.0, samples)[:, None]
    share, rate, change = rest_to_rest(x)
    q = q0 + way * share
    v = way * rate
    a = way * change
    static = gravity_forces(model, q)
    dynamic = inverse_dynamics(model, q, v, a) - static
    steady = static + model.friction * np.sign(v)
    worst = np.abs(steady) - limit
    if (worst > 0.0).any():
        k, i = (int(j) for j in np.unravel_index(int(np.argmax(worst)), worst.shape))
        name = model.joint_names[i]
        unit = model.joint(name).type.units[2]
        need = f"needs {abs(steady[k, i]):.4g} {unit} to hold against gravity and friction"
        place = f"{float(x[k, 0]):.0%}"
        problem = f"joint {name!r} {need} at {place} of the way, {limit[i]:.4g} {unit} is allowed"
        remedy = "Choose another way, a lighter load, or raise effort_scale."
        raise TrajectoryError(problem, where="effort limit", remedy=remedy)
    T = start
    # viscous friction goes with 1/T and makes T an implicit function; it only grows here
    for _ in range(40):
        viscous = model.damping * v / T
        room = np.where(dynamic > 0.0, limit - steady - viscous, limit + steady + viscous)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(dynamic != 0.0, np.abs(dynamic) / np.maximum(room, 1e-3 * limit), 0.0)
        if (np.abs(steady + viscous + dynamic / (T * T)) <= limit * (1.0 + 1e-9)).all():
            return T
        T = max(math.sqrt(float(np.nan_to_num(needed).max())), T * 1.02)
    return T


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A smooth motion through waypoints (k, n) at times (k,), s; at rest at both ends, passed at
    speed in between.
    """

    joint_names: tuple[str, ...]
    times: Array
    waypoints: Array
    _spline: BSpline

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    def at(self, t: Array, derivative: int = 0) -> Array:
        """(…, n) position (or a derivative) at times ``t``, s; before and after the motion it
        stands still.
        """
        t = np.asarray(t, dtype=np.float64)
        value = self._spline(np.clip(t, 0.0, self.duration), derivative)
        if derivative:
            value[(t < 0.0) | (t > self.duration)] = 0.0
        return value

    def trajectory(self, slower: float = 1.0) -> Trajectory:
        """The same motion for a controller, ``slower`` times as long."""
        t = self.times[1:]
        rates = self.at(t, 1) / slower, self.at(t, 2) / slower**2
        return Trajectory.from_waypoints(
            self.joint_names, (slower * t).tolist(), self.waypoints[1:], *rates
        )


def plan_motion(
    model: RobotModel,
    start: Array,
    *,
    waypoints: int = 4,
    duration: float = 0.0,
    seed: int = 7,
) -> PlannedMotion:
    """Waypoints at random well inside the limits, joined by a quintic spline that begins at
    ``start`` and ends there.

    Between two waypoints the spline is one polynomial of degree five, which is what a controller
    makes of position, velocity and acceleration at both.  A joint that starts at a position limit
    ends inside it, where a controller that slows down before limits can arrive.  Joints that are
    too weak to move stand (:func:`standing_joints`), slow ones make smaller movements.
    ``duration``: s; 0: the shortest that the velocity and effort limits allow, at least 1 s a
    waypoint.
    """
    base, away = _tour(model, start, waypoints, np.random.default_rng(seed))
    if duration > 0.0:
        remedy = "Give 0 for a duration that suits the limits."
        possible = _MOTION[0] <= duration <= _MOTION[1]
        expect(
            possible,
            f"a motion of {_MOTION[0]:g} to {_MOTION[1]:g} s",
            duration,
            "--duration",
            remedy,
        )
        return _motion(model, base + away, duration)
    for share in _SHARES:
        motion = _within_limits(model, base, away, 1.0 * (waypoints + 1), share)
        if motion is not None:
            return motion
    raise _too_weak(model, start)


def motion_through(
    model: RobotModel,
    visits: Array,
    times: Array | None = None,
) -> PlannedMotion:
    """A motion through configurations (k, n), at rest at both ends; without ``times``, (k,) s, in
    equal steps as fast as half of the velocity and effort limits allow.
    """
    remedy = "Give those where it starts and where it ends."
    expect(len(visits) >= 2, "two configurations at least", len(visits), "motion", remedy)
    if times is not None:
        return _motion(model, visits, times)
    stuck = _cannot_move(model, _MOST_EFFORT_SHARE) & (np.ptp(visits, axis=0) > 0.0)
    if stuck.any():
        i = int(np.argmax(stuck))
        name = model.joint_names[i]
        unit = model.joint(name).type.units[0]
        problem = f"joint {name!r} cannot move: {_weakness(model, i)}"
        remedy = f"Leave it at {visits[0, i]:g} {unit}, or correct its limits in the URDF."
        raise ArgumentError(
            problem, where=f"robot {model.name!r}", got=visits[-1].tolist(), remedy=remedy
        )
    way = _motion(model, visits, 1.0).at(np.linspace(0.0, 1.0, 200))
    inside = ((way >= model.lower - 1e-9) & (way <= model.upper + 1e-9)).all()
    for share in (*_SHARES, _MOST_EFFORT_SHARE) if inside else ():
        motion = _within_limits(
            model, visits, np.zeros_like(visits), 1.0 * (len(visits) - 1), share, math.inf
        )
        if motion is not None:
            return motion
    raise _too_weak(
        model, way[int(np.argmax(_burden(model, way)))], "on the way", _MOST_EFFORT_SHARE
    )


def configuration_at(
    model: RobotModel,
    link: str,
    pose: Pose,
    start: Array,
    *,
    where: str = "pose",
) -> Array:
    """The configuration nearest to ``start`` that was found to put a link at a pose in the world,
    within the limits; errors call the pose ``where``.
    """
    solution = inverse_kinematics(model, link, pose, start=start)
    if solution.reached:
        return solution.q
    now = link_pose(model, start, link)
    left = (
        f"{float(solution.position_error):.3g} m and {float(solution.rotation_error):.3g} rad "
        "are left at best"
    )
    problem = f"link {link!r} cannot get there: {left}"
    place = np.round([*now[:3, 3], *Pose(now[:3, :3]).rpy()], 4).tolist()
    remedy = f"It is at {place} now (x y z roll pitch yaw)."
    raise ArgumentError(problem, where=where, got=pose.matrix().tolist(), remedy=remedy)


def check_within_limits(model: RobotModel, q: Array, where: str) -> None:
    """Refuse a configuration outside the position limits, given as ``where``."""
    outside = (q < model.lower - SLACK) | (q > model.upper + SLACK)
    if outside.any():
        i = int(np.argmax(outside))
        name = model.joint_names[i]
        unit = model.joint(name).type.units[0]
        limits = f"{model.lower[i]:g} to {model.upper[i]:g} {unit} of joint {name!r}"
        remedy = "Give a configuration within the limits; `robot_dynamics info` shows them."
        raise ArgumentError(
            f"{q[i]:g} {unit} is outside the limits {limits}",
            where=where,
            got=q.tolist(),
            remedy=remedy,
        )


def standing_joints(model: RobotModel, motion: PlannedMotion) -> dict[str, str]:
    """Joints that ``motion`` does not move, for they are too weak or too slow: name → why, in a few
    words.
    """
    still = np.ptp(motion.waypoints, axis=0) == 0.0
    return {model.joint_names[i]: _weakness(model, int(i)) for i in np.flatnonzero(still)}


def _weakness(model: RobotModel, i: int) -> str:
    name = model.joint_names[i]
    _, speed, unit = model.joint(name).type.units
    if model.lower[i] >= model.upper[i]:
        return "its position limits leave it no room"
    if model.velocity_limit[i] <= _STANDING_SPEED:
        return f"its velocity limit is {model.velocity_limit[i]:g} {speed}"
    if model.effort_limit[i] <= 0.0:
        return "its effort limit is 0"
    own = f"{model.friction[i]:g} {unit}"
    limit = f"{model.effort_limit[i]:g} {unit}"
    return f"friction ({own}) and gravity leave too little of its effort limit ({limit})"


def _cannot_move(model: RobotModel, share: float = _SHARES[-1]) -> NDArray[np.bool_]:
    """(n,) joints that nothing moves, wherever the robot is, with that share of their effort."""
    rough = (model.friction > 0.0) & (model.friction > 0.99 * share * model.effort_limit)
    weak = (model.velocity_limit <= _STANDING_SPEED) | (model.effort_limit <= 0.0)
    return np.asarray((model.lower >= model.upper) | weak | rough)


def bearable_start(model: RobotModel, start: Array) -> tuple[Array, str]:
    """A configuration near ``start`` in which the robot can hold itself, and why it is another one
    than ``start`` (or ``""``): where gravity asks for too much, the best of many within the limits
    is approached from ``start`` as far as it must be.
    """
    check_controllable(model)
    if _burden(model, start[None])[0] < 0.95 * _SHARES[-1]:
        return start, ""
    rng = np.random.default_rng(0)
    lower, upper, _ = _bounds(model, start, np.inf)
    drawn = start + rng.uniform(0.0, 1.0, (_BEST_OF, 1)) * (
        rng.uniform(lower, upper, (_BEST_OF, model.nq)) - start
    )
    best = drawn[int(np.argmin(_burden(model, drawn)))]
    path = start + np.linspace(0.0, 1.0, 101)[:, None] * (best - start)
    burden = _burden(model, path)
    enough = burden <= max(0.6 * _SHARES[0], 1.05 * float(burden[-1]))
    if enough.any():
        bearable = path[int(np.argmax(enough))]
    else:
        bearable = best
    return bearable, f"at its initial configuration {_most_burdened(model, start)[1]}"


def _tour(
    model: RobotModel,
    start: Array,
    waypoints: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Configurations in two parts (waypoints + 2, n): the way from start to end, and what leads
    away from it.
    """
    lower, upper, end = _bounds(model, start)
    base = np.linspace(start, end, waypoints + 2)
    away = np.zeros_like(base)
    still = _cannot_move(model)
    hump = np.sin(np.linspace(0.0, math.pi, waypoints + 2))
    for i in range(model.nq):
        draws = [rng.uniform(lower[i], upper[i], waypoints) for _ in range(_DRAWS)]
        if still[i]:
            base[:, i] = start[i]
            continue
        low = min(model.lower[i], start[i]) - 1e-9
        high = max(model.upper[i], start[i]) + 1e-9
        if upper[i] - end[i] > end[i] - lower[i]:
            goal = upper[i]
        else:
            goal = lower[i]
        ways = [np.array([start[i], *draw, end[i]]) for draw in draws] + [
            base[:, i] + 0.9 * hump * (goal - end[i])
        ]
        # the spline may go beyond the values
        for way in ways:
            x = _spline(np.linspace(0.0, 1.0, len(way)), way[:, None])(np.linspace(0.0, 1.0, 200))
            if x.min() >= low and x.max() <= high:
                break
        away[:, i] = way - base[:, i]
    away[[0, -1]] = 0.0
    return base, away


def _within_limits(
    model: RobotModel,
    base: Array,
    away: Array,
    duration: float,
    share: float,
    longest: float = _LONGEST_MOTION_S,
) -> PlannedMotion | None:
    """The motion with as much of ``away`` as velocity and effort limits allow within ``longest`` s;
    None if they allow none.
    """
    reach = np.ones(model.nq)
    for _ in range(80):
        motion = _motion(model, base + reach * away, duration)
        speed, load, held = _limits_used(model, motion)
        # no time helps against gravity
        if not (held <= share).all():
            reach *= np.where(held <= share, 0.9, 0.75)
            # it stands, with the help of its friction
            reach[reach < _LEAST_MOTION_SHARE] = 0.0
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
    model: RobotModel,
    q: Array,
    place: str = "where the robot starts",
    share: float = _SHARES[-1],
) -> ArgumentError:
    """The error for a robot that is too weak to move, with the joint that needs most for its limit
    at ``q``.
    """
    name, need = _most_burdened(model, q)
    problem = (
        f"no motion was found that needs less than {share:.0%} of the effort and velocity "
        f"limits; {place} {need}"
    )
    remedy = "Check masses (kg), lengths (m) and effort limits of the URDF, or start elsewhere."
    return ArgumentError(problem, where=f"robot {model.name!r}", got=name, remedy=remedy)


def _share(need: Array, limit: Array) -> Array:
    """``need`` as a share of a limit; 0 where nothing is needed, infinite where there is nothing to
    give.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(need <= 0.0, 0.0, need / limit)


def _holding(model: RobotModel, q: Array, stands: NDArray[np.bool_] | None = None) -> Array:
    """(…, n) shares of the effort limits that gravity and friction take in configurations (…,
    n).
    """
    stands = _cannot_move(model) if stands is None else stands
    # a joint that stands is held by it
    friction = np.where(stands, -1.0, 1.0) * model.friction
    return _share(np.abs(gravity_forces(model, q)) + friction, model.effort_limit)


def _burden(model: RobotModel, q: Array) -> Array:
    """(k,) the largest of these shares."""
    return np.asarray(_holding(model, q).max(axis=1, initial=0.0))


def _most_burdened(model: RobotModel, q: Array) -> tuple[str, str]:
    """The joint whose share is largest, and what it needs against gravity and friction, in
    words.
    """
    i = int(np.argmax(_holding(model, q)))
    moves = model.friction[i] > 0.0 and not _cannot_move(model)[i]
    name = model.joint_names[i]
    unit = model.joint(name).type.units[2]
    need = f"{np.abs(gravity_forces(model, q))[i]:.3g} {unit} against gravity"
    need += f" and {model.friction[i]:.3g} {unit} against friction" if moves else ""
    return name, f"joint {name!r} needs {need}, and has {model.effort_limit[i]:.3g} {unit}"


def _bounds(
    model: RobotModel,
    start: Array,
    reach: float = 1.0,
) -> tuple[Array, Array, Array]:
    """Where waypoints may lie: inside the limits, drawn in by a share of the range, or of two turns
    (m: 4 π) if that is less, and at most ``reach`` times the usual spread from the start; and what
    is there next to the start.
    """
    width = model.upper - model.lower
    bounded = np.isfinite(width)
    margin = _RANGE_MARGIN_SHARE * np.minimum(np.where(bounded, width, 0.0), 4.0 * math.pi)
    lower = model.lower + margin
    upper = model.upper - margin
    end = np.clip(start, lower, upper)
    prismatic = [model.joint(name).type is JointType.PRISMATIC for name in model.joint_names]
    spread = np.where(prismatic, _SPREAD_PRISMATIC, _FREE_JOINT_REACH_RAD) * np.where(
        bounded, reach, min(reach, 2.0)
    )
    return np.maximum(lower, end - spread), np.minimum(upper, end + spread), end


def _spline(knots: Array, visits: Array) -> BSpline:
    # takes as long to import as the rest of a controller
    from scipy.interpolate import (
        make_interp_spline,
    )

    rest = [(1, np.zeros(visits.shape[1])), (2, np.zeros(visits.shape[1]))]
    return make_interp_spline(knots, visits, k=5, bc_type=(rest, rest))


def _motion(model: RobotModel, visits: Array, duration: float | Array) -> PlannedMotion:
    if np.ndim(duration) == 0:
        knots = np.linspace(0.0, duration, len(visits))
    else:
        knots = np.asarray(duration)
    return PlannedMotion(model.joint_names, knots, visits, _spline(knots, visits))


def _limits_used(model: RobotModel, motion: PlannedMotion) -> tuple[Array, Array, Array]:
    """(n,) largest shares that the motion needs of the limits of velocity and acceleration, of the
    effort limits, and of the latter at rest.
    """
    t = np.linspace(0.0, motion.duration, 200)
    q = motion.at(t)
    v = motion.at(t, 1)
    a = motion.at(t, 2)
    moved = np.ptp(motion.waypoints, axis=0) > 0.0
    effort = (
        inverse_dynamics(model, q, v, a) + model.damping * v + model.friction * np.sign(v) * moved
    )
    speed = _share(np.abs(v), model.velocity_limit)
    speed = np.maximum(speed, _share(np.abs(a), model.acceleration_limit))
    load = _share(np.abs(effort), model.effort_limit)
    return speed.max(axis=0), load.max(axis=0), _holding(model, q, ~moved).max(axis=0)
