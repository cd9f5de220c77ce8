"""Inverse kinematics within position limits: damped least squares from several starts, in machine
code.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics.algorithms.inverse_kinematics import coordinates_of_rates
from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Kernel,
    Memory,
    Routine,
    Vector,
    kernel,
    make_routines,
    numbers,
)
from robot_dynamics_ros.dynamics.reference_frame import placement
from robot_dynamics_ros.model.description import Array, JointType, Pose
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_UNINTERRUPTED = 200
"""Poses that are looked for without a look at the keyboard."""
# rad or m
NO_LIMIT = 1e9
# rad or m: how far guesses go from the start where there is no limit
SPREAD = math.pi
FIRST_DAMPING = 1e-2
SMALLEST = 1e-9
LARGEST = 1e6
# a guess ends that has not come nearer by a hundredth in so many steps
PROGRESS = 0.99
PATIENCE = 10
# of the tolerances: where a guess ends
CLOSE = 0.1
UNKNOWN = 1e300


@dataclass(frozen=True)
class InverseKinematicsOptions:
    """Options of :func:`inverse_kinematics`.

    Attributes:
        starts: how many guesses to try at most; the later ones only where no earlier one has
            reached the pose.
        iterations: steps from each guess at most.
        position_tolerance, rotation_tolerance: m and rad.
        length: m that weigh as much as one radian in the error.
        seed: of the random guesses.
    """

    starts: int = 81
    iterations: int = 200
    position_tolerance: float = 1e-6
    rotation_tolerance: float = 1e-6
    length: float = 1.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Result of :func:`inverse_kinematics`; the leading dimensions are those of the poses asked
    for.

    Attributes:
        q: (..., nq) the configuration nearest to the pose, within the limits.
        position_error: (...) distance left, m.
        rotation_error: (...) angle left, rad; 0 where the orientation was free.
        reached: (...) whether both errors are within the tolerances.
        iterations: steps taken by the slowest of all.
    """

    q: Array
    position_error: Array
    rotation_error: Array
    reached: NDArray[np.bool_]
    iterations: int


def inverse_kinematics(
    model: RobotModel,
    link: str,
    pose: Pose | ArrayLike,
    *,
    start: ArrayLike | None = None,
    tool: Pose | ArrayLike | None = None,
    orientation: bool = True,
    limits: bool = True,
    **options: object,
) -> InverseKinematics:
    """Configurations in which a link, or a tool on it, has a given pose.

    Each iteration makes the step Δq = (JᵀWJ + λ D)⁻¹ JᵀW e with the remaining error e = [2 sin(φ/2)
    u; position] (φ about
    the axis u).  J is the geometric Jacobian in world axes, W has squared weights, D is the
    diagonal of JᵀWJ.  λ shrinks if the error fell, and grows if it did not (Levenberg and
    Marquardt).  Joints at a limit that would move beyond it are left out of the step.

    If ``start`` converges, the result is from ``start``, otherwise from the first random guess that
    converges.  If none does, the result is the configuration nearest to the pose.

    The search is compiled for the robot and the link on first use.

    Args:
        model: joints with several degrees of freedom stay where ``start`` has them; mimic joints
            follow.
        link: its name.
        pose: (..., 4, 4) where its frame (times ``tool``) shall be in the world, a :class:`Pose`,
            or, with ``orientation=False``, (..., 3) positions.
        start: (nq,) or (..., nq) first guess; the initial configuration if not given.  The other
            starts are drawn at random within the limits.
        tool: placement of the tool's frame in the link's, a :class:`Pose` or (4, 4) matrix.
        orientation: whether the orientation matters.
        limits: whether to respect position limits.
        options: fields of :class:`InverseKinematicsOptions`, by name.

    Returns:
        :class:`InverseKinematics`; a pose out of reach is no error, it has ``reached`` false and
        the errors left.

    Raises:
        ArgumentError: not a pose; a guess of the wrong shape.
        UnknownNameError: there is no such link, or no such option.

    Source: Nakamura and Hanafusa, *Inverse kinematic solutions with singularity robustness for
        robot manipulator control*,
    ASME J. Dyn. Sys. Meas. Control 108 (1986); Levenberg–Marquardt damping as in Nocedal and
    Wright, *Numerical Optimization*, section 10.3.
    """
    model.link_index(link)
    o = options_of(InverseKinematicsOptions, options, "inverse_kinematics")
    free = _free_coordinates(model)
    target, shape = _targets(pose, orientation)
    lower, upper = _limits(model, free, limits)
    if start is None:
        guess = model.initial_configuration()
    else:
        guess = _guess(model, start, shape)
    start_q = np.broadcast_to(
        np.where(free, np.clip(guess, lower, upper), guess), (*shape, model.nq)
    )
    start_q = np.array(start_q.reshape(-1, model.nq), order="C")
    tolerances = (o.rotation_tolerance if orientation else np.inf, o.position_tolerance)
    draws = np.random.default_rng(o.seed).random((max(o.starts - 1, 1), model.nq))
    q = np.empty(start_q.shape)
    errors = np.empty((len(start_q), 2))
    taken = 0
    memory, find, lock = _search_of(model, link)
    with lock:
        for name, values in (
            ("free", free),
            ("lower", lower),
            ("upper", upper),
            ("tool", Pose.of(tool).matrix()[:3].ravel()),
            ("weights", (1.0 if orientation else 0.0, 1.0 / o.length, 0.0)),
            ("tolerances", tolerances),
        ):
            memory[name][:] = values
        for first in range(0, len(q), _UNINTERRUPTED):
            part = slice(first, first + _UNINTERRUPTED)
            arrays = (
                target[part].ravel(),
                start_q[part].ravel(),
                draws.ravel(),
                q[part].ravel(),
                errors[part].ravel(),
            )
            count = len(q[part])
            taken = max(taken, find(memory, count, o.starts, o.iterations, *arrays))
    if orientation:
        angle = 2.0 * np.arcsin(np.minimum(0.5 * errors[:, 0], 1.0))
    else:
        angle = np.zeros(len(q))
    q = _unwound(model, q, start_q, lower, upper).reshape(*shape, model.nq)
    reached = np.asarray((errors <= tolerances).all(axis=1)).reshape(shape)
    return InverseKinematics(q, errors[:, 1].reshape(shape), angle.reshape(shape), reached, taken)


_Search: TypeAlias = "tuple[Memory[SearchMemory], Routine, threading.Lock]"


@once_per_model
def _searches(model: RobotModel) -> dict[str, _Search]:
    return {}


def _search_of(model: RobotModel, link: str) -> _Search:
    """The search compiled for one robot and link, and the memory that it works on, for one caller
    at a time.
    """
    searches = _searches(model)
    if link not in searches:
        step = evaluator(model, "inverse_kinematics_step", (("link", model.link_index(link)),))
        compiled = step.backend == "native"
        memory = Memory(
            SearchMemory, {"nq": model.nq, "nv": model.nv}, {"step": step}, compiled=compiled
        )
        find = make_routines(memory, (find_configurations,), compiled=compiled)[
            "find_configurations"
        ]
        searches[link] = memory, find, threading.Lock()
    return searches[link]


def _free_coordinates(model: RobotModel) -> NDArray[np.bool_]:
    """(nq,) coordinates that are looked for: those of joints with one degree of freedom."""
    free = np.zeros(model.nq, dtype=bool)
    free[list(coordinates_of_rates(model).values())] = True
    return free


def _limits(model: RobotModel, free: NDArray[np.bool_], hold: bool) -> tuple[Array, Array]:
    """(nq,) finite numbers, for the compiled step takes no others."""
    lower = np.full(model.nq, -NO_LIMIT)
    upper = np.full(model.nq, NO_LIMIT)
    if hold:
        lower[free] = np.maximum(model.lower[free], -NO_LIMIT)
        upper[free] = np.minimum(model.upper[free], NO_LIMIT)
    return lower, upper


def _unwound(model: RobotModel, q: Array, near: Array, lower: Array, upper: Array) -> Array:
    """Joints without limits by whole turns to where they are nearest to ``near``; not those that
    others mimic, for which a turn of theirs is none.
    """
    free = np.zeros(model.nq, dtype=bool)
    for name in model.joint_names:
        if model.joint(name).type in (JointType.REVOLUTE, JointType.CONTINUOUS):
            free[model.q_slice(name)] = True
    free &= (lower <= -NO_LIMIT) & (upper >= NO_LIMIT)
    free[model.q_index[np.flatnonzero(model.mimic_master >= 0)]] = False
    return np.where(free, q - 2.0 * np.pi * np.round((q - near) / (2.0 * np.pi)), q)


def _targets(pose: Pose | ArrayLike, orientation: bool) -> tuple[Array, tuple[int, ...]]:
    """(k, 3, 4) [R | p], and the shape of the batch."""
    R, p = placement(pose, "inverse kinematics, pose", not orientation)
    target = np.empty((*p.shape, 4))
    target[..., :3] = R
    target[..., 3] = p
    return target.reshape(-1, 3, 4), p.shape[:-1]


def _guess(model: RobotModel, start: ArrayLike, shape: tuple[int, ...]) -> Array:
    q = real_array_or_nan(start)
    remedy = f"The joints are {', '.join(model.joint_names[:20])}."
    good = q.shape in ((model.nq,), (*shape, model.nq)) and bool(np.isfinite(q).all())
    expect(
        good,
        f"{model.nq} finite numbers, or as many for each pose",
        start,
        "inverse kinematics, start",
        remedy,
    )
    return q


# -- the search, as routines: damped least squares from one guess after the other ------------------


class SearchMemory(Declared):
    """The search for one pose."""

    nq: int
    nv: int
    q: Vector = numbers("nq", unit="rad or m", meaning="nearest configuration from the guess")
    ahead: Vector = numbers("nq", unit="rad or m", meaning="where a step leads from there")
    following: Vector = numbers(
        "nq", unit="rad or m", meaning="where the next step leads from there"
    )
    free: Vector = numbers("nq", meaning="1 for coordinates that are looked for")
    lower: Vector = numbers("nq", unit="rad or m", meaning="position limits")
    upper: Vector = numbers("nq", unit="rad or m", meaning="position limits")
    target: Vector = numbers(12, meaning="pose of the tool, [R | p]")
    tool: Vector = numbers(12, meaning="the tool in the link's frame, [R | p]")
    weights: Vector = numbers(3, meaning="of radians, of metres, and the damping")
    squares: Vector = numbers(2, meaning="squared errors of a step's start")
    errors: Vector = numbers(2, meaning="errors of q: 2 sin(φ/2), m")
    tolerances: Vector = numbers(2, meaning="of these")
    cost: Vector = numbers(1, meaning="weighted square of the errors")
    step: Kernel = kernel(
        "q", "target", "tool", "lower", "upper", "weights", "out q_next", "out squares"
    )


def descend(p: SearchMemory, iterations: int) -> int:
    """Steps from ``ahead`` to the nearest configuration ``q``; returns how many were taken."""
    p.cost[0] = UNKNOWN
    p.weights[2] = FIRST_DAMPING
    slow = 0
    for k in range(iterations + 1):
        p.step(p.ahead, p.target, p.tool, p.lower, p.upper, p.weights, p.following, p.squares)
        value = (
            p.squares[0] * p.weights[0] * p.weights[0] + p.squares[1] * p.weights[1] * p.weights[1]
        )
        slow = 0 if value < PROGRESS * p.cost[0] else slow + 1
        better = value < p.cost[0]
        if better:
            p.cost[0] = value
            for i in range(2):
                p.errors[i] = math.sqrt(p.squares[i])
            for i in range(p.nq):
                p.q[i] = p.ahead[i]
                p.ahead[i] = p.following[i]
            p.weights[2] = max(0.2 * p.weights[2], SMALLEST)
        else:
            p.weights[2] = 10.0 * p.weights[2]
        arrived = p.errors[0] <= CLOSE * p.tolerances[0] and p.errors[1] <= CLOSE * p.tolerances[1]
        if arrived or p.weights[2] > LARGEST or slow > PATIENCE:
            return k
        # the step went too far: from where it began, with more damping
        if not better:
            p.step(p.q, p.target, p.tool, p.lower, p.upper, p.weights, p.ahead, p.squares)
    return iterations


def guess(p: SearchMemory, start: float, i: int, draw: float) -> float:
    """A coordinate between its limits, or near the start where it has none; ``draw`` is from 0 to
    1.
    """
    if p.lower[i] > -NO_LIMIT:
        low = p.lower[i]
    else:
        low = start - SPREAD
    if p.upper[i] < NO_LIMIT:
        high = p.upper[i]
    else:
        high = start + SPREAD
    return min(max(low + draw * max(high - low, 0.0), p.lower[i]), p.upper[i])


def find_configurations(
    p: SearchMemory,
    count: int,
    starts: int,
    iterations: int,
    targets: Vector,
    first: Vector,
    draws: Vector,
    q: Vector,
    errors: Vector,
) -> int:
    """The configuration of each pose from the first guess that arrives, else the nearest of all;
    returns the most steps taken.

    Args:
        targets, first: (count, 12) poses and (count, nq) first guesses.
        draws: (starts - 1, nq) random numbers from 0 to 1 for the other guesses.
        q, errors: (count, nq) and (count, 2) results.
    """
    most = 0
    for k in range(count):
        for i in range(12):
            p.target[i] = targets[12 * k + i]
        least = UNKNOWN
        tried = 0
        arrived = False
        while tried < starts and not arrived:
            for i in range(p.nq):
                start = first[p.nq * k + i]
                if tried > 0 and p.free[i] > 0.0:
                    p.ahead[i] = guess(p, start, i, draws[p.nq * (tried - 1) + i])
                else:
                    p.ahead[i] = start
            most = max(most, descend(p, iterations))
            arrived = p.errors[0] <= p.tolerances[0] and p.errors[1] <= p.tolerances[1]
            if arrived or p.cost[0] < least:
                least = p.cost[0]
                for i in range(p.nq):
                    q[p.nq * k + i] = p.q[i]
                for i in range(2):
                    errors[2 * k + i] = p.errors[i]
            tried += 1
    return most
