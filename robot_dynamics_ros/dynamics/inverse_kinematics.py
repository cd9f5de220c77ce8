"""Inverse kinematics within position limits: damped least squares from several starts, in machine
code.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics.algorithms.inverse_kinematics import coordinates_of_rates
from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.engine.arguments import as_input, as_output
from robot_dynamics_ros.dynamics.engine.backends import KERNEL_MAKERS, evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Kernel as RobotKernel
from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Kernel,
    Memory,
    Routines,
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

_POSES_UNINTERRUPTED = 200
"""Poses that are looked for without a look at the keyboard: a tenth of a second."""
JOINT_WITHOUT_LIMIT = 1e9
"""rad or m: the limit of a joint that has none; the compiled step takes finite numbers only."""
GUESS_SPREAD = math.pi
"""rad or m: how far guesses go from the start where there is no limit.  Half a turn to each side
meets every angle once.
"""
FIRST_DAMPING = 1e-2
"""λ of the first step, relative to the diagonal of JᵀWJ.  Ten times as much makes first steps
timid, a tenth of it lets them jump between branches; the search corrects either within two steps.
"""
LEAST_DAMPING = 1e-9
"""Below this a step is Newton's to rounding errors, and at a singular pose still bounded."""
GIVE_UP_DAMPING = 1e6
"""Beyond this a step is so short that the guess cannot come nearer: it ends."""
STALLED_SHARE = 0.99
"""Of the cost: a step that leaves more than this counts as no progress."""
STALLED_STEPS = 10
"""So many of these in turn end a guess.  Twice as many make poses out of reach twice as slow, half
of them give up guesses that creep around a singular pose.
"""
ARRIVED_SHARE = 0.1
"""Of the tolerances: where a guess ends.  One more step divides the error by far more than ten."""
NO_ERROR_YET = 1e300
"""Larger than any squared error of a finite pose."""


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
    u; position] (φ about the axis u). J is the geometric Jacobian in world axes, W has squared
    weights, D is the diagonal of JᵀWJ. λ shrinks if the error fell, and grows if it did not
    (Levenberg and Marquardt). Joints at a limit that would move beyond it are left out of the step.

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
    robot manipulator control*, ASME J. Dyn. Sys. Meas. Control 108 (1986); Levenberg–Marquardt
    damping as in Nocedal and Wright, *Numerical Optimization*, section 10.3.
    """
    number = model.link_index(link)
    o = _options(options)
    target, shape = _targets(pose, orientation)
    search = _search_of(model, number, bool(limits))
    first = search.first_guesses(start, shape)
    q = np.empty(first.shape)
    errors = np.empty((len(first), 2))
    tolerances = _tolerances(o, orientation)
    with search.lock:
        search.set_task(Pose.of(tool) if tool is not None else None, orientation, o)
        taken = search.find(target, first, q, errors, o)
    if orientation:
        angle = _angle(errors[:, 0])
    else:
        angle = np.zeros(len(q))
    q = search.unwound(q, first).reshape(*shape, model.nq)
    reached = (errors[:, 0] <= tolerances[0]) & (errors[:, 1] <= tolerances[1])
    return InverseKinematics(
        q, errors[:, 1].reshape(shape), angle.reshape(shape), reached.reshape(shape), taken
    )


def inverse_kinematics_kernel(
    model: RobotModel,
    *,
    link: str,
    tool: Pose | ArrayLike | None = None,
    orientation: bool = True,
    limits: bool = True,
    **options: object,
) -> RobotKernel:
    """The kernel of ``"inverse_kinematics"``: ``kernel(pose, start, q, errors)``, or
    without the last two, which it then returns new.

    ``pose`` is (4, 4), ``start`` and ``q`` are (nq,), ``errors`` is (2,): rad and m left.  The
    search is that of :func:`inverse_kinematics`, with the same options, on memory of its own.  It
    takes ``starts`` times ``iterations`` steps at most: in a control cycle both are to be small.
    Where ``pose`` or ``start`` is not finite, the errors are infinite.
    """
    number = model.link_index(link)
    o = _options(options)
    search = _PoseSearch(model, number, bool(limits))
    search.set_task(Pose.of(tool) if tool is not None else None, orientation, o)
    nq = model.nq
    name = "inverse_kinematics"

    def find(
        pose: ArrayLike,
        start: ArrayLike,
        q: np.ndarray | None = None,
        errors: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        target = as_input(pose, (4, 4), f"{name}, pose", finite=False)
        first = as_input(start, (nq,), f"{name}, start", finite=False)
        allocates = q is None and errors is None
        if allocates:
            q = np.empty(nq)
            errors = np.empty(2)
        q_out = as_output(q, (nq,), f"{name}, q")
        errors_out = as_output(errors, (2,), f"{name}, errors")
        for values, shape, word in ((target, (4, 4), "pose"), (first, (nq,), "start")):
            expect(values.shape == shape, f"one {word}", values.shape, f"{name}, {word}", "")
        with search.lock:
            search.find_one(target, first, q_out, errors_out, o)
        return (q_out, errors_out) if allocates else None

    return find


KERNEL_MAKERS["inverse_kinematics"] = inverse_kinematics_kernel


class _PoseSearch:
    """The search compiled for one robot and link, and the memory that it works on; who uses it
    holds its lock.

    It keeps arrays of the model, not the model, which can so be freed while this is in use.
    """

    def __init__(self, model: RobotModel, link: int, hold_limits: bool) -> None:
        step = evaluator(model, "inverse_kinematics_step", (("link", link),))
        compiled = step.backend == "native"
        sizes = {"nq": model.nq, "nv": model.nv}
        self.lock = threading.Lock()
        self._nq = model.nq
        self._joint_names = model.joint_names
        self._initial = model.initial_configuration()
        free = _free_coordinates(model)
        lower, upper = _limits(model, free, hold_limits)
        self._least = np.where(free, lower, -np.inf)
        self._largest = np.where(free, upper, np.inf)
        self._turning = _turning(model) & (lower <= -JOINT_WITHOUT_LIMIT)
        self._turning &= upper >= JOINT_WITHOUT_LIMIT
        self._turns = bool(self._turning.any())
        self._memory = Memory(SearchMemory, sizes, {"step": step}, compiled=compiled)
        self._memory["free"][:] = free
        self._memory["lower"][:] = lower
        self._memory["upper"][:] = upper
        routines = make_routines(
            self._memory, (find_configurations,), compiled=compiled, loops=True
        )
        self._run = routines["find_configurations"]
        # one pose takes microseconds: arrays of our own, whose addresses are known, and no release
        # of the interpreter's lock, after which another thread might hold this one up
        self._target = np.empty((3, 4))
        self._first = np.empty(model.nq)
        self._q = np.empty(model.nq)
        self._errors = np.empty(2)
        own = (self._target, self._first, self._q, self._errors)
        self._addresses = (
            (self._memory.block.ctypes.data, 1),
            tuple(x.ctypes.data for x in own),
        )
        self._held = None
        if isinstance(routines, Routines):
            self._held = routines.held("find_configurations")

    def first_guesses(self, start: ArrayLike | None, shape: tuple[int, ...]) -> Array:
        """(k, nq) where the search for each of the poses begins."""
        guess = self._initial if start is None else self._checked(start, shape)
        first = np.empty((*shape, self._nq))
        first[...] = self._within(guess)
        return first.reshape(-1, self._nq)

    def _within(self, guess: Array) -> Array:
        """A guess within the limits; what is not looked for stays as it is."""
        return np.minimum(np.maximum(guess, self._least), self._largest)

    def _checked(self, start: ArrayLike, shape: tuple[int, ...]) -> Array:
        q = real_array_or_nan(start)
        good = q.shape in ((self._nq,), (*shape, self._nq)) and bool(np.isfinite(q).all())
        if not good:
            remedy = f"The joints are {', '.join(self._joint_names[:20])}."
            wanted = f"{self._nq} finite numbers, or as many for each pose"
            expect(good, wanted, start, "inverse kinematics, start", remedy)
        return q

    def set_task(
        self,
        tool: Pose | None,
        orientation: bool,
        o: InverseKinematicsOptions,
    ) -> None:
        """Set the frame that is searched for, and how near."""
        memory = self._memory
        memory["tool"][:] = _NO_TOOL if tool is None else tool.matrix()[:3].ravel()
        memory["weights"][:] = (1.0 if orientation else 0.0, 1.0 / o.length, 0.0)
        memory["tolerances"][:] = _tolerances(o, orientation)

    def find(
        self,
        target: Array,
        first: Array,
        q: Array,
        errors: Array,
        o: InverseKinematicsOptions,
    ) -> int:
        """Configurations and errors of (k, 3, 4) poses; the most steps that one of them took."""
        draws, draws_address = _draws(o.seed, o.starts, self._nq)
        if len(q) == 1 and self._held is not None:
            self._target[:] = target[0]
            self._first[:] = first[0]
            before, after = self._addresses
            taken = self._held(
                *before, o.starts, o.iterations, *after[:2], draws_address, *after[2:]
            )
            q[0] = self._q
            errors[0] = self._errors
            return int(taken)
        taken = 0
        for begin in range(0, len(q), _POSES_UNINTERRUPTED):
            part = slice(begin, begin + _POSES_UNINTERRUPTED)
            count = len(q[part])
            arrays = (target[part], first[part], draws, q[part], errors[part])
            flat = [x.reshape(-1) for x in arrays]
            taken = max(taken, self._run(self._memory, count, o.starts, o.iterations, *flat))
        return taken

    def find_one(
        self,
        pose: Array,
        start: Array,
        q: Array,
        errors: Array,
        o: InverseKinematicsOptions,
    ) -> None:
        """The same for one pose (4, 4); the errors are in rad and m."""
        finite = bool(np.isfinite(pose).all()) and bool(np.isfinite(start).all())
        first = self._within(start)
        if finite:
            self.find(pose[None, :3], first[None], q[None], errors[None], o)
        if not finite or errors[0] >= NO_ERROR_YET:
            q[:] = start
            errors[:] = np.inf
            return
        errors[0] = _angle(errors[0])
        if self._turns:
            q[:] = self.unwound(q, first)

    def unwound(self, q: Array, near: Array) -> Array:
        """Joints without limits by whole turns to where they are nearest to ``near``."""
        if not self._turns:
            return q
        turns = np.round((q - near) / (2.0 * np.pi))
        return np.where(self._turning, q - 2.0 * np.pi * turns, q)


_NO_TOOL = np.eye(4)[:3].ravel()
_DEFAULT_SEARCH = InverseKinematicsOptions()


@once_per_model
def _searches(model: RobotModel) -> dict[tuple[int, bool], _PoseSearch]:
    return {}


def _search_of(model: RobotModel, link: int, hold_limits: bool) -> _PoseSearch:
    """The search that all plain calls for a robot and link share."""
    searches = _searches(model)
    key = (link, hold_limits)
    if key not in searches:
        searches[key] = _PoseSearch(model, link, hold_limits)
    return searches[key]


def _options(options: Mapping[str, object]) -> InverseKinematicsOptions:
    if not options:
        return _DEFAULT_SEARCH
    return options_of(InverseKinematicsOptions, options, "inverse_kinematics")


@functools.lru_cache(maxsize=8)
def _draws(seed: int, starts: int, nq: int) -> tuple[Array, int]:
    """(starts − 1, nq) random numbers from 0 to 1, one row for each guess after the first, and
    their address.
    """
    draws = np.random.default_rng(seed).random((max(starts - 1, 1), nq))
    return draws, draws.ctypes.data


def _tolerances(o: InverseKinematicsOptions, orientation: bool) -> tuple[float, float]:
    return (o.rotation_tolerance if orientation else math.inf, o.position_tolerance)


def _angle(chord: Array) -> Array:
    """The angle φ of 2 sin(φ/2), rad."""
    return 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))


def _free_coordinates(model: RobotModel) -> NDArray[np.bool_]:
    """(nq,) coordinates that are looked for: those of joints with one degree of freedom."""
    free = np.zeros(model.nq, dtype=bool)
    free[list(coordinates_of_rates(model).values())] = True
    return free


def _limits(model: RobotModel, free: NDArray[np.bool_], hold: bool) -> tuple[Array, Array]:
    """(nq,) finite numbers, for the compiled step takes no others."""
    lower = np.full(model.nq, -JOINT_WITHOUT_LIMIT)
    upper = np.full(model.nq, JOINT_WITHOUT_LIMIT)
    if hold:
        lower[free] = np.maximum(model.lower[free], -JOINT_WITHOUT_LIMIT)
        upper[free] = np.minimum(model.upper[free], JOINT_WITHOUT_LIMIT)
    return lower, upper


def _turning(model: RobotModel) -> NDArray[np.bool_]:
    """(nq,) angles that may be turned by whole turns: not those that others mimic, for which a turn
    of theirs is none.
    """
    turning = np.zeros(model.nq, dtype=bool)
    for name in model.joint_names:
        if model.joint(name).type in (JointType.REVOLUTE, JointType.CONTINUOUS):
            turning[model.q_slice(name)] = True
    turning[model.q_index[np.flatnonzero(model.mimic_master >= 0)]] = False
    return turning


def _targets(pose: Pose | ArrayLike, orientation: bool) -> tuple[Array, tuple[int, ...]]:
    """(k, 3, 4) [R | p], and the shape of the batch."""
    R, p = placement(pose, "inverse kinematics, pose", not orientation)
    target = np.empty((*p.shape, 4))
    target[..., :3] = R
    target[..., 3] = p
    return target.reshape(-1, 3, 4), p.shape[:-1]


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
    # what is left of a pose that is not finite: the guess, and no error that would pass for one
    for i in range(p.nq):
        p.q[i] = p.ahead[i]
    for i in range(2):
        p.errors[i] = NO_ERROR_YET
    p.cost[0] = NO_ERROR_YET
    p.weights[2] = FIRST_DAMPING
    slow = 0
    for k in range(iterations + 1):
        p.step(p.ahead, p.target, p.tool, p.lower, p.upper, p.weights, p.following, p.squares)
        value = (
            p.squares[0] * p.weights[0] * p.weights[0] + p.squares[1] * p.weights[1] * p.weights[1]
        )
        slow = 0 if value < STALLED_SHARE * p.cost[0] else slow + 1
        better = value < p.cost[0]
        if better:
            p.cost[0] = value
            for i in range(2):
                p.errors[i] = math.sqrt(p.squares[i])
            for i in range(p.nq):
                p.q[i] = p.ahead[i]
                p.ahead[i] = p.following[i]
            p.weights[2] = max(0.2 * p.weights[2], LEAST_DAMPING)
        else:
            p.weights[2] = 10.0 * p.weights[2]
        arrived = (
            p.errors[0] <= ARRIVED_SHARE * p.tolerances[0]
            and p.errors[1] <= ARRIVED_SHARE * p.tolerances[1]
        )
        if arrived or p.weights[2] > GIVE_UP_DAMPING or slow > STALLED_STEPS:
            return k
        # the step went too far: from where it began, with more damping
        if not better:
            p.step(p.q, p.target, p.tool, p.lower, p.upper, p.weights, p.ahead, p.squares)
    return iterations


def guess(p: SearchMemory, start: float, i: int, draw: float) -> float:
    """A coordinate between its limits, or near the start where it has none; ``draw`` is from 0 to
    1.
    """
    if p.lower[i] > -JOINT_WITHOUT_LIMIT:
        low = p.lower[i]
    else:
        low = start - GUESS_SPREAD
    if p.upper[i] < JOINT_WITHOUT_LIMIT:
        high = p.upper[i]
    else:
        high = start + GUESS_SPREAD
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
        least = NO_ERROR_YET
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
            if tried == 0 or arrived or p.cost[0] < least:
                least = p.cost[0]
                for i in range(p.nq):
                    q[p.nq * k + i] = p.q[i]
                for i in range(2):
                    errors[2 * k + i] = p.errors[i]
            tried += 1
    return most
