"""Inverse kinematics within position limits: damped least squares from several starts, whole batches at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.arrays import real_array
from robot_dynamics_ros.dynamics.algorithms.inverse_kinematics import coordinates_of_rates
from robot_dynamics_ros.dynamics.engine.public import PublicOfLink
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, JointType, Pose
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Rows = NDArray[np.intp]

__all__ = ["InverseKinematics", "inverse_kinematics"]

_SPREAD = np.pi  # rad or m: how far starts go from the given one where there is no limit
_AT_ONCE = 8  # random starts that are tried side by side
_FIRST_DAMPING, _SMALLEST, _LARGEST = 1e-2, 1e-9, 1e6
_PROGRESS, _PATIENCE = 0.99, 10  # a guess ends that has not come nearer by a hundredth in so many steps
_NO_LIMIT = 1e9  # rad or m

_step = PublicOfLink("inverse_kinematics_step")


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Result of :func:`inverse_kinematics`; the leading dimensions are those of the poses asked for.

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
    starts: int = 81,
    iterations: int = 200,
    position_tolerance: float = 1e-6,
    rotation_tolerance: float = 1e-6,
    length: float = 1.0,
    seed: int = 0,
) -> InverseKinematics:
    """Configurations in which a link, or a tool on it, has a given pose.

    Each iteration makes the step Δq = (JᵀWJ + λ D)⁻¹ JᵀW e with the remaining error e = [2 sin(φ/2) u; position] (φ about
    the axis u).  J is the geometric Jacobian in world axes, W has squared weights, D is the diagonal of JᵀWJ.  λ shrinks
    if the error fell, and grows if it did not (Levenberg and Marquardt).  Joints at a limit that would move beyond it are
    left out of the step.

    If ``start`` converges, the result is from ``start``.  Otherwise it is from the first of several random guesses that
    converges; if several converge at the same time, from the one nearest to ``start``.  If none converges, the
    result is the configuration nearest to the pose.

    A step is compiled for the robot and the link on first use.

    Args:
        model: joints with several degrees of freedom stay where ``start`` has them; mimic joints follow.
        link: its name.
        pose: (..., 4, 4) where its frame (times ``tool``) shall be in the world, a :class:`Pose`, or, with
            ``orientation=False``, (..., 3) positions.
        start: (nq,) or (..., nq) first guess; the initial configuration if not given.  The other starts are drawn at
            random within the limits.
        tool: placement of the tool's frame in the link's, a :class:`Pose` or (4, 4) matrix.
        orientation: whether the orientation matters.
        limits: whether to respect position limits.
        starts: how many guesses to try at most; the later ones only for poses that no earlier one has reached.
        iterations: steps from each guess at most.
        position_tolerance, rotation_tolerance: m and rad.
        length: m that weigh as much as one radian in the error.
        seed: of the random guesses.

    Returns:
        :class:`InverseKinematics`; a pose out of reach is no error, it has ``reached`` false and the errors left.

    Raises:
        ArgumentError: not a pose; a guess of the wrong shape.
        UnknownNameError: there is no such link.

    Source: Nakamura and Hanafusa, *Inverse kinematic solutions with singularity robustness for robot manipulator control*,
    ASME J. Dyn. Sys. Meas. Control 108 (1986); Levenberg–Marquardt damping as in Nocedal and Wright, *Numerical
    Optimization*, section 10.3.
    """
    model.link_index(link)
    free = _free_coordinates(model)
    target, shape, orientation = _targets(pose, orientation)
    lower, upper = _limits(model, free, limits)
    guess = model.initial_configuration() if start is None else _guess(model, start, shape)
    start_q = np.broadcast_to(np.where(free, np.clip(guess, lower, upper), guess), (*shape, model.nq))
    start_q = np.array(start_q.reshape(-1, model.nq))
    weights = (1.0 if orientation else 0.0, 1.0 / length)
    tolerances = (rotation_tolerance if orientation else np.inf, position_tolerance)
    tool_rows = Pose.of(tool).matrix()[:3]

    def step(q: Array, rows: Rows, damping: Array) -> tuple[Array, Array]:
        settings = np.stack([np.full(len(rows), weights[0]), np.full(len(rows), weights[1]), damping], axis=1)
        return _step.run(model, link, q, target[rows], tool_rows, lower, upper, settings)

    search = _Search(step, weights, tolerances, iterations)
    rng = np.random.default_rng(seed)
    q, errors, taken = _from_all_starts(search, lambda near: _draw(rng, near, free, lower, upper), start_q, starts)
    angle = 2.0 * np.arcsin(np.minimum(0.5 * errors[:, 0], 1.0)) if orientation else np.zeros(len(q))
    q = _unwound(model, q, start_q, lower, upper).reshape(*shape, model.nq)
    reached = search.reached(errors).reshape(shape)
    return InverseKinematics(q, errors[:, 1].reshape(shape), angle.reshape(shape), reached, taken)


def _from_all_starts(
    search: _Search, draw: Callable[[Array], Array], start: Array, starts: int
) -> tuple[Array, Array, int]:
    """Search from ``start`` (k, nq), then from random guesses for the poses that are not reached, at most ``starts``.

    Args:
        draw: random configurations beside given ones.

    Returns:
        (k, nq) configurations, of guesses that arrive together the nearest to ``start``; (k, 2) errors; steps of the
        slowest guess.
    """
    q = start.copy()
    errors, taken = search.run(q, np.arange(len(q)))
    tried = 1
    while tried < starts and len(open_rows := np.flatnonzero(~search.reached(errors))):
        several = min(starts - tried, _AT_ONCE)
        tried += several
        near = np.repeat(start[open_rows], several, axis=0)
        guesses = draw(near)
        new_errors, steps = search.run(guesses, np.repeat(open_rows, several), siblings=several)
        taken = max(taken, steps)
        cost = np.where(search.reached(new_errors), -1.0, search.cost(new_errors)).reshape(-1, several)
        distance = np.abs(guesses - near).max(axis=1).reshape(-1, several)
        best = np.lexsort((distance, cost), axis=1)[:, 0] + several * np.arange(len(open_rows))
        better = search.reached(new_errors[best]) | (search.cost(new_errors[best]) < search.cost(errors[open_rows]))
        q[open_rows[better]], errors[open_rows[better]] = guesses[best][better], new_errors[best][better]
    return q, errors, taken


class _Search:
    """Damped least squares on many guesses at once.

    Args:
        step: (q, rows, damping) → next q and squared errors of q.
        weights: of rotation and position errors.
        tolerances: rad and m.
        iterations: at most.
    """

    def __init__(
        self,
        step: Callable[[Array, Rows, Array], tuple[Array, Array]],
        weights: tuple[float, float],
        tolerances: tuple[float, float],
        iterations: int,
    ) -> None:
        self.step, self.iterations = step, iterations
        self.weights, self.tolerances = np.array(weights), np.array(tolerances)

    def cost(self, errors: Array) -> Array:
        return np.asarray(((errors * self.weights) ** 2).sum(axis=1))

    def reached(self, errors: Array) -> NDArray[np.bool_]:
        return np.asarray((errors <= self.tolerances).all(axis=1))

    def run(self, q: Array, rows: Rows, siblings: int = 1) -> tuple[Array, int]:
        """Improve the guesses ``q`` (k, nq) in place, each for one of the poses ``rows``; returns errors [2 sin(φ/2), m]
        (k, 2) and the steps taken.

        Args:
            siblings: as many in a row are guesses for the same pose, and all end with the first that arrives.
        """
        count = len(q)
        errors = np.full((count, 2), np.inf)
        cost = np.full(count, np.inf)
        damping = np.full(count, _FIRST_DAMPING)
        ahead = q.copy()  # where a step was last taken from a guess, and not yet judged
        slow = np.zeros(count, dtype=int)
        active = np.arange(count)
        steps = 0
        while len(active):
            tested = ahead[active]
            following, squares = self.step(tested, rows[active], damping[active])
            new_errors = np.sqrt(squares)
            value = self.cost(new_errors)
            better = value < cost[active]
            slow[active] = np.where(value < _PROGRESS * cost[active], 0, slow[active] + 1)
            kept = active[better]
            q[kept], errors[kept], cost[kept] = tested[better], new_errors[better], value[better]
            damping[active] = np.where(better, np.maximum(0.2 * damping[active], _SMALLEST), 10.0 * damping[active])
            done = (errors[active] <= 0.1 * self.tolerances).all(axis=1)
            done |= (damping[active] > _LARGEST) | (slow[active] > _PATIENCE)
            if siblings > 1 and done.any():
                arrived = np.any(self.reached(errors).reshape(-1, siblings), axis=1)
                done |= arrived[active // siblings]
            ahead[kept] = following[better]
            worse = active[~better]
            if len(worse):  # the step went too far: from where it began, with more damping
                ahead[worse] = self.step(q[worse], rows[worse], damping[worse])[0]
            active = active[~done]
            steps += 1
            if steps > self.iterations:
                break
        return errors, steps - 1


def _free_coordinates(model: RobotModel) -> NDArray[np.bool_]:
    """(nq,) coordinates that are looked for: those of joints with one degree of freedom."""
    free = np.zeros(model.nq, dtype=bool)
    free[list(coordinates_of_rates(model).values())] = True
    return free


def _limits(model: RobotModel, free: NDArray[np.bool_], hold: bool) -> tuple[Array, Array]:
    """(nq,) finite numbers, for the compiled step takes no others."""
    lower, upper = np.full(model.nq, -_NO_LIMIT), np.full(model.nq, _NO_LIMIT)
    if hold:
        lower[free], upper[free] = np.maximum(model.lower[free], -_NO_LIMIT), np.minimum(model.upper[free], _NO_LIMIT)
    return lower, upper


def _draw(rng: np.random.Generator, near: Array, free: NDArray[np.bool_], lower: Array, upper: Array) -> Array:
    low = np.where(lower > -_NO_LIMIT, lower, near - _SPREAD)
    high = np.where(upper < _NO_LIMIT, upper, near + _SPREAD)
    return np.where(free, np.clip(rng.uniform(low, np.maximum(low, high)), lower, upper), near)


def _unwound(model: RobotModel, q: Array, near: Array, lower: Array, upper: Array) -> Array:
    """Joints without limits by whole turns to where they are nearest to ``near``; not those that others mimic, for which
    a turn of theirs is none."""
    free = np.zeros(model.nq, dtype=bool)
    for name in model.joint_names:
        if model.joint(name).type in (JointType.REVOLUTE, JointType.CONTINUOUS):
            free[model.q_slice(name)] = True
    free &= (lower <= -_NO_LIMIT) & (upper >= _NO_LIMIT)
    free[model.q_index[np.flatnonzero(model.mimic_master >= 0)]] = False
    return np.where(free, q - 2.0 * np.pi * np.round((q - near) / (2.0 * np.pi)), q)


def _targets(pose: Pose | ArrayLike, orientation: bool) -> tuple[Array, tuple[int, ...], bool]:
    """(k, 3, 4) [R | p], the shape of the batch, and whether the rotations count."""
    if isinstance(pose, Pose):
        pose = pose.matrix()
    try:
        target = real_array(pose)
    except TypeError:
        target = np.empty(0)
    if not orientation and target.shape[-1:] == (3,) and np.isfinite(target).all():
        flat = np.zeros((target.size // 3, 3, 4))
        flat[:, :, :3], flat[:, :, 3] = np.eye(3), target.reshape(-1, 3)
        return flat, target.shape[:-1], False
    good = target.shape[-2:] == (4, 4) and bool(np.isfinite(target).all())
    if good:
        R = target[..., :3, :3]
        good = bool(
            np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0) < 1e-6
            and (np.linalg.det(R) > 0.0).all()
            and (target[..., 3, :] == (0.0, 0.0, 0.0, 1.0)).all()
        )
    if not good:
        raise ArgumentError(
            f"expected a Pose or (..., 4, 4) homogeneous matrices, got shape {target.shape}",
            where="inverse kinematics, pose",
            got=pose,
            remedy="Pose.from_rpy((x, y, z), (roll, pitch, yaw)) makes one; with orientation=False, (..., 3) positions do.",
        )
    return np.ascontiguousarray(target.reshape(-1, 4, 4)[:, :3]), target.shape[:-2], orientation


def _guess(model: RobotModel, start: ArrayLike, shape: tuple[int, ...]) -> Array:
    try:
        q = real_array(start)
        np.broadcast_to(q, (*shape, model.nq))
        good = q.shape[-1:] == (model.nq,) and bool(np.isfinite(q).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ArgumentError(
            f"expected {model.nq} finite numbers, or as many for each pose",
            where="inverse kinematics, start",
            got=start,
            remedy=f"The joints are {', '.join(model.joint_names[:20])}.",
        )
    return q
