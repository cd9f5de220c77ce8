"""A move from one configuration to another, as fast as the limits allow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.guards import default_deceleration
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.reference.tour import check_within_limits
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory, TrajectoryPoint
from robot_dynamics_ros.dynamics import inverse_dynamics
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint, vector

#: Largest speed and acceleration of s(x) = 10x³ − 15x⁴ + 6x⁵, x from 0 to 1.
PEAK_SPEED, PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / math.sqrt(3.0)


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
    """A straight move in joint space, at rest at both ends, with smooth acceleration.

    All joints follow q0 + (q1 − q0) s(t/T), s the quintic with rest at both ends.  T is the shortest time for which
    velocity, acceleration and effort stay within their limits; the effort is found from inverse dynamics along
    the move, friction included.

    Args:
        model: joints of one degree of freedom each.
        q0, q1: (n,) start and goal; continuous joints take the short way round.
        scale: factor on velocity limits and accelerations, above 0 to 1.
        acceleration: (n,) or one number, rad/s² or m/s²; not given, what reaches the velocity limit in 0.25 s.
        effort_scale: share of the effort limits that may be used.
        duration: s, instead of the shortest; refused if that would break a limit.
        samples: number of configurations along the move at which the effort is checked.

    Returns:
        A trajectory of two points (at 0 and T) with zero velocities and accelerations, which every quintic
        interpolation, joint_trajectory_controller's included, turns into this move.

    Raises:
        ArgumentError: arguments out of range, of the wrong length, not finite, or beyond the position limits.
        TrajectoryError: the arm cannot hold itself somewhere along the move, or ``duration`` is too short.
    """
    check_controllable(model)
    q0, q1 = (vector(q, model.nq, name, joints=model.joint_names) for q, name in ((q0, "q0"), (q1, "q1")))
    check_within_limits(model, q0, "q0")
    check_within_limits(model, q1, "q1")
    for name, value in (("scale", scale), ("effort_scale", effort_scale)):
        expect(0.0 < value <= 1.0, "a number above 0, up to 1", value, name, "It is a factor on the limits.")
    way = q1 - q0
    for i, name in enumerate(model.joint_names):
        if model.joint(name).type is JointType.CONTINUOUS:
            way[i] -= 2.0 * math.pi * round(way[i] / (2.0 * math.pi))
    limit = (
        default_deceleration(model.velocity_limit)
        if acceleration is None
        else per_joint(acceleration, model.nv, "acceleration", positive=True, remedy="Give rad/s² or m/s².")
    )
    distance = np.abs(way)
    velocity = np.where(distance > 0.0, model.velocity_limit, np.inf) * scale
    if (velocity == 0.0).any():
        i = int(np.argmin(velocity))
        raise TrajectoryError(
            f"joint {model.joint_names[i]!r} has to move and its velocity limit is 0",
            where="velocity limit",
            remedy="Correct the URDF's <limit>, or lock the joint.",
        )
    shortest = max(
        float((PEAK_SPEED * distance / velocity).max()),
        math.sqrt(float((PEAK_ACCELERATION * distance / (limit * scale)).max())),
        1e-3,
    )
    shortest = max(shortest, _time_for_efforts(model, q0, way, effort_scale, shortest, samples))
    if duration is not None:
        if not math.isfinite(duration) or duration < shortest * (1.0 - 1e-9):
            raise TrajectoryError(
                f"{duration!r} s is too short, the limits need {shortest:.4g} s",
                where="duration",
                got=duration,
                remedy="Allow more time, or raise scale.",
            )
        shortest = float(duration)
    rest, end = [0.0] * model.nv, math.ceil(shortest * NANOSECONDS)
    points = [TrajectoryPoint(t, q.tolist(), rest, rest) for t, q in ((0, q0), (end, q0 + way))]
    return Trajectory.from_points(model.joint_names, points)


def rest_to_rest(x: Array) -> tuple[Array, Array, Array]:
    """The polynomial of degree five from 0 to 1, at rest at both ends, and its two derivatives, at ``x`` from 0 to 1."""
    return (
        x**3 * (10.0 - 15.0 * x + 6.0 * x * x),
        30.0 * x * x * (1.0 - x) ** 2,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x),
    )


def _time_for_efforts(
    model: RobotModel, q0: Array, way: Array, effort_scale: float, start: float, samples: int
) -> float:
    """Shortest T with |static + friction + dynamic/T²| ≤ limit at all samples; friction is taken at ``start`` and T
    raised until it fits with its own."""
    limit = model.effort_limit * effort_scale
    if not np.isfinite(limit).any() or not way.any():
        return 0.0
    x = np.linspace(0.0, 1.0, samples)[:, None]
    share, rate, change = rest_to_rest(x)
    q, v, a = q0 + way * share, way * rate, way * change
    zero = np.zeros_like(q)
    static = inverse_dynamics(model, q, zero, zero)
    dynamic = inverse_dynamics(model, q, v, a) - static
    steady = static + model.friction * np.sign(v)
    worst = np.abs(steady) - limit
    if (worst > 0.0).any():
        k, i = (int(j) for j in np.unravel_index(int(np.argmax(worst)), worst.shape))
        raise TrajectoryError(
            f"joint {model.joint_names[i]!r} needs {abs(steady[k, i]):.4g} to hold against gravity and friction at "
            f"{100.0 * float(x[k, 0]):.0f} % of the way, {limit[i]:.4g} is allowed",
            where="effort limit",
            remedy="Choose another way, a lighter load, or raise effort_scale.",
        )
    T = start
    for _ in range(40):  # viscous friction goes with 1/T and makes T an implicit function; it only grows here
        viscous = model.damping * v / T
        room = np.where(dynamic > 0.0, limit - steady - viscous, limit + steady + viscous)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(dynamic != 0.0, np.abs(dynamic) / np.maximum(room, 1e-3 * limit), 0.0)
        grown = math.sqrt(float(np.nan_to_num(needed).max()))
        over = bool((np.abs(steady + viscous + dynamic / (T * T)) > limit * (1.0 + 1e-9)).any())
        if not over:
            return T
        T = max(grown, T * 1.02)
    return T
