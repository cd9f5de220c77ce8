"""Inverse kinematics within position limits: damped least squares from several starts, whole batches at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.dynamics.kinematics import jacobian, link_pose
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, Pose
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["InverseKinematics", "inverse_kinematics"]

_SPREAD = np.pi  # rad or m: how far starts go from the given one where there is no limit
_SMALLEST, _LARGEST = 1e-12, 1e6  # damping


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Result of :func:`inverse_kinematics`; the leading dimensions are those of the poses asked for.

    Attributes:
        q: (..., nq) the configuration that comes nearest, within the limits.
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
    pose: Any,
    *,
    start: Any = None,
    tool: Any = None,
    orientation: bool = True,
    limits: bool = True,
    starts: int = 20,
    iterations: int = 200,
    position_tolerance: float = 1e-6,
    rotation_tolerance: float = 1e-6,
    length: float = 1.0,
    seed: int = 0,
) -> InverseKinematics:
    """Configurations that put a link, or a tool on it, where it is wanted.

    Each start is led by Δq = (JᵀW²J + λ D)⁻¹ JᵀW² e with e = [rotation vector; position] still missing, J the geometric
    Jacobian in world axes, D the diagonal of JᵀW²J; λ shrinks where the error fell and grows where it did not (Levenberg
    and Marquardt).  Joints at a limit that would go on beyond it are left out of the step.  The first guess that arrives
    counts, and ``start`` is the first of all; where none arrives, the one that comes nearest.

    Args:
        model: joints of one degree of freedom each; mimic joints follow.
        link: its name.
        pose: (..., 4, 4) where its frame (times ``tool``) shall be in the world, a :class:`Pose`, or, with
            ``orientation=False``, (..., 3) positions.
        start: (nq,) or (..., nq) first guess; the initial configuration if not given.  The other starts are drawn at
            random within the limits.
        tool: placement of the tool's frame in the link's, a :class:`Pose` or (4, 4) matrix.
        orientation: whether the orientation matters.
        limits: whether position limits hold.
        starts: how many guesses to try at most; the later ones only for poses that no earlier one has reached.
        iterations: steps from each guess at most.
        position_tolerance, rotation_tolerance: m and rad.
        length: m that weigh as much as one radian in the error.
        seed: of the random guesses.

    Returns:
        :class:`InverseKinematics`; a pose out of reach is no error, it has ``reached`` false and the errors left.

    Raises:
        ArgumentError: a pose that is none, a guess of the wrong shape, a joint of several degrees of freedom.
        UnknownNameError: there is no such link.

    Source: Nakamura and Hanafusa, *Inverse kinematic solutions with singularity robustness for robot manipulator control*,
    ASME J. Dyn. Sys. Meas. Control 108 (1986); Levenberg–Marquardt damping as in Nocedal and Wright, *Numerical
    Optimization*, section 10.3.
    """
    model.link_index(link)
    _check_joints(model)
    position, rotation, shape = _targets(pose, orientation)
    offset = Pose.of(tool)
    problem = _Problem(model, link, offset, position, rotation, 1.0 / length, limits)
    count = len(position)
    guess = model.initial_configuration() if start is None else _guess(model, start, shape)
    first = np.broadcast_to(problem.clip(guess), (*shape, model.nq)).reshape(count, model.nq)
    rng = np.random.default_rng(seed)
    best = np.array(first)
    errors = np.full((2, count), np.inf)
    left = np.arange(count)
    taken = 0
    for k in range(max(starts, 1)):
        q = first[left] if k == 0 else problem.draw(rng, first[left])
        q, steps = problem.solve(left, q, iterations, position_tolerance, rotation_tolerance)
        taken = max(taken, steps)
        found = np.array(problem.errors(left, q))
        better = _cost(found, length) < _cost(errors[:, left], length)
        better |= _reached(found, position_tolerance, rotation_tolerance)
        errors[:, left[better]], best[left[better]] = found[:, better], q[better]
        left = left[~_reached(errors[:, left], position_tolerance, rotation_tolerance)]
        if not len(left):
            break
    return InverseKinematics(
        problem.unwound(best, first).reshape(*shape, model.nq),
        errors[1].reshape(shape),
        errors[0].reshape(shape),
        _reached(errors, position_tolerance, rotation_tolerance).reshape(shape),
        taken,
    )


def _cost(errors: Array, length: float) -> Array:
    return errors[0] ** 2 + (errors[1] / length) ** 2


def _reached(errors: Array, position_tolerance: float, rotation_tolerance: float) -> NDArray[np.bool_]:
    return np.asarray((errors[1] <= position_tolerance) & (errors[0] <= rotation_tolerance))


class _Problem:
    """The poses asked for, as arrays; rows of a batch are named by their numbers."""

    def __init__(
        self,
        model: RobotModel,
        link: str,
        tool: Pose,
        position: Array,
        rotation: Array | None,
        weight: float,
        limits: bool,
    ) -> None:
        self.model, self.link, self.tool = model, link, tool
        self.position, self.rotation = position, rotation
        self.weight = np.array([1.0] * 3 + [weight] * 3) if rotation is not None else np.array([weight] * 3)
        unbounded = np.full(model.nq, np.inf)
        self.lower = model.lower if limits else -unbounded
        self.upper = model.upper if limits else unbounded

    def clip(self, q: Array) -> Array:
        return np.clip(q, self.lower, self.upper)

    def draw(self, rng: np.random.Generator, near: Array) -> Array:
        low = np.where(np.isfinite(self.lower), self.lower, near - _SPREAD)
        high = np.where(np.isfinite(self.upper), self.upper, near + _SPREAD)
        return self.clip(rng.uniform(low, np.maximum(low, high)))

    def missing(self, rows: NDArray[np.intp], q: Array) -> Array:
        """(k, 6) [rotation vector; position] from the tool to where it shall be, world axes; (k, 3) without rotation."""
        T = link_pose(self.model, q, self.link)
        p = T[:, :3, 3] + T[:, :3, :3] @ self.tool.position
        linear = self.position[rows] - p
        if self.rotation is None:
            return linear
        R = T[:, :3, :3] @ self.tool.rotation
        return np.concatenate([_rotation_vector(self.rotation[rows] @ R.transpose(0, 2, 1)), linear], axis=1)

    def errors(self, rows: NDArray[np.intp], q: Array) -> tuple[Array, Array]:
        e = self.missing(rows, q)
        angle = np.linalg.norm(e[:, :3], axis=1) if self.rotation is not None else np.zeros(len(e))
        return angle, np.linalg.norm(e[:, -3:], axis=1)

    def solve(self, rows: NDArray[np.intp], q: Array, iterations: int, dp: float, dr: float) -> tuple[Array, int]:
        q = q.copy()
        damping = np.full(len(rows), 1e-2)
        e = self.missing(rows, q) * self.weight
        active = np.arange(len(rows))
        steps = 0
        for _ in range(iterations):
            angle, distance = self.errors(rows[active], q[active])
            active = active[~((distance <= 0.1 * dp) & (angle <= 0.1 * dr)) & (damping[active] < _LARGEST)]
            if not len(active):
                break
            steps += 1
            at = q[active]
            J = jacobian(self.model, at, self.link, offset=self.tool.position)
            J = (J if self.rotation is not None else J[:, 3:]) * self.weight[:, None]
            gradient = np.einsum("kij,ki->kj", J, e[active])
            stuck = ((at <= self.lower) & (gradient < 0.0)) | ((at >= self.upper) & (gradient > 0.0))
            J = np.where(stuck[:, None, :], 0.0, J)
            gradient = np.where(stuck, 0.0, gradient)
            H = np.einsum("kij,kil->kjl", J, J)
            d = np.einsum("kjj->kj", H)
            n = self.model.nv
            H[:, range(n), range(n)] += damping[active, None] * np.maximum(
                d, 1e-3 * d.max(axis=1, keepdims=True) + 1e-12
            )
            new = self.clip(at + np.clip(np.linalg.solve(H, gradient[..., None])[..., 0], -1.0, 1.0))
            error = self.missing(rows[active], new) * self.weight
            better = (error**2).sum(1) < (e[active] ** 2).sum(1)
            q[active[better]], e[active[better]] = new[better], error[better]
            damping[active] = np.where(better, np.maximum(0.2 * damping[active], _SMALLEST), 10.0 * damping[active])
        return q, steps

    def unwound(self, q: Array, near: Array) -> Array:
        """Joints without limits by whole turns to where they are nearest to ``near``."""
        free = np.zeros(self.model.nq, dtype=bool)
        for name in self.model.joint_names:
            if self.model.joint(name).type.name in ("REVOLUTE", "CONTINUOUS"):
                free[self.model.q_slice(name)] = True
        free &= ~np.isfinite(self.lower) & ~np.isfinite(self.upper)
        free &= np.array([not self._drives(i) for i in range(self.model.nq)])
        return np.where(free, q - 2.0 * np.pi * np.round((q - near) / (2.0 * np.pi)), q)

    def _drives(self, i: int) -> bool:
        """Whether mimic joints follow coordinate ``i``: a whole turn of it is none of theirs."""
        m = self.model
        return any(int(m.q_index[b]) == i for b in np.flatnonzero(m.mimic_master >= 0))


def _rotation_vector(R: Array) -> Array:
    """(k, 3) axis times angle of rotation matrices (k, 3, 3), angles up to π."""
    w = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    sine = 0.5 * np.linalg.norm(w, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0))
    # sin φ / φ is lost near π: the axis is then the largest column of R + 1
    near_pi = sine < 1e-6
    columns = R + np.eye(3)
    best = columns[np.arange(len(R)), :, np.argmax(np.linalg.norm(columns, axis=1), axis=1)]
    other = best / np.maximum(np.linalg.norm(best, axis=1, keepdims=True), 1e-300)
    ordinary = 0.5 * w * (angle / np.maximum(sine, 1e-300))[:, None]
    small = 0.5 * w
    return np.where(near_pi[:, None], np.where((angle > 1.0)[:, None], other * angle[:, None], small), ordinary)


def _check_joints(model: RobotModel) -> None:
    for name in model.joint_names:
        if model.joint(name).type.nv != 1:
            raise ArgumentError(
                f"joint {name!r} has {model.joint(name).type.nv} degrees of freedom",
                where=f"inverse kinematics of robot {model.name!r}",
                got=name,
                remedy="Lock it (model.lock), or load the robot on a fixed base.",
            )


def _targets(pose: Any, orientation: bool) -> tuple[Array, Array | None, tuple[int, ...]]:
    if isinstance(pose, Pose):
        pose = pose.matrix()
    try:
        target = np.array(pose, dtype=np.float64)
    except (TypeError, ValueError):
        target = np.empty(0)
    if not orientation and target.shape[-1:] == (3,) and np.isfinite(target).all():
        return target.reshape(-1, 3), None, target.shape[:-1]
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
    shape = target.shape[:-2]
    flat = target.reshape(-1, 4, 4)
    return flat[:, :3, 3], flat[:, :3, :3] if orientation else None, shape


def _guess(model: RobotModel, start: Any, shape: tuple[int, ...]) -> Array:
    try:
        q = np.array(start, dtype=np.float64)
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
