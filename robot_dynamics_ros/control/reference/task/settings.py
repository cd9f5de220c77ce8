"""Settings of the tool's reference, and checks of what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.reference.goal import TrajectoryRejected
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

# m: weighs rotations against translations, about half the reach of a forearm
TASK_LENGTH_M = 0.3
# how far the length of a quaternion may be from 1: rounding in single precision is far below
QUATERNION_SLACK = 0.01
# points of a path: more are refused, because it is made between two cycles
MOST_PATH_POINTS = 500
# m: no tool is further from its robot
FARTHEST_TARGET_M = 100.0
# rad/s or m/s: nobody means a faster tool
FASTEST_TWIST = 100.0


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """How the tool is moved.

    Attributes:
        link: the link that the tool belongs to; ``""``: the last one of the longest chain.
        offset: the tool's frame in that of the link: pose, (4, 4) matrix, or ``None``.
        axes: which of [angular; linear] of the twist in world axes are controlled; ``None``: all,
            of a robot with fewer than six joints the linear ones.
        posture: (n,) positions that free joints prefer, or ``None``: those where the task begins.
        posture_rate: 1/s, with which they are approached; 0: they are not.
        speed: largest angular and linear speed of the tool, rad/s and m/s.
        acceleration: rad/s² and m/s².
        jerk: rad/s³ and m/s³.
        wrench: largest moment and force that the tool exerts, N m and N.
        twist_timeout: s after which a twist is forgotten, and a pose counts as one that rests.
        wrench_timeout: s after which a commanded wrench is forgotten.
        largest_age: s; an older target is refused.
    """

    link: str = ""
    offset: Pose | ArrayLike | None = None
    axes: tuple[bool, ...] | None = None
    posture: ArrayLike | None = None
    posture_rate: float = 1.0
    speed: tuple[float, float] = (1.5, 0.5)
    acceleration: tuple[float, float] = (9.0, 3.0)
    jerk: tuple[float, float] = (180.0, 60.0)
    wrench: tuple[float, float] = (10.0, 50.0)
    twist_timeout: float = 0.1
    wrench_timeout: float = 0.2
    largest_age: float = 0.5
    pose: Pose = field(init=False, default_factory=Pose)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "pose", Pose.of(self.offset))
        except ArgumentError as error:
            raise ArgumentError(
                error.problem, where="offset", got=self.offset, remedy=error.remedy
            ) from None
        for name in ("speed", "acceleration", "jerk", "wrench"):
            value = getattr(self, name)
            good = len(value) == 2 and all(0.0 < x < np.inf for x in value)
            expect(good, "two finite positive numbers, angular and linear", value, name)
        for name in ("twist_timeout", "wrench_timeout", "largest_age"):
            value = getattr(self, name)
            expect(0.0 < value < np.inf, "a finite positive number", value, name)
        expect(
            0.0 <= self.posture_rate <= 10.0,
            "a number from 0 to 10",
            self.posture_rate,
            "posture_rate",
        )
        if self.axes is not None:
            good = len(self.axes) == 6 and any(self.axes)
            expect(good, "six truth values, not all of them false", self.axes, "axes")

    def link_of(self, model: RobotModel) -> str:
        """The link that the tool belongs to; UnknownNameError: the model has no such link."""
        if self.link:
            model.link_index(self.link)
            return self.link
        return farthest_link(model)

    def weights(self, nv: int) -> Array:
        """(6,) weight of each row of the twist, m/rad and 1."""
        axes = self.axes
        if axes is None:
            axes = (nv >= 6,) * 3 + (True,) * 3
        return np.where(axes, [TASK_LENGTH_M] * 3 + [1.0] * 3, 0.0)


def farthest_link(model: RobotModel) -> str:
    """The link with the most moving joints before it; of several the last one."""
    depth = [0] * (len(model.parent) + 1)
    for body, parent in enumerate(model.parent.tolist()):
        depth[body + 1] = depth[parent + 1] + 1
    depths = [depth[body + 1] for body in model.link_body.tolist()]
    deepest = max(depths)
    last = max(k for k, x in enumerate(depths) if x == deepest)
    return model.link_names[last]


def checked_pose(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """(7,) pose from a position, m, and a quaternion x, y, z, w; TrajectoryRejected: it is none."""
    pose = np.concatenate(
        [numbers_of(position, 3, "position"), numbers_of(quaternion, 4, "orientation")]
    )
    length = float(np.linalg.norm(pose[3:]))
    if abs(length - 1.0) > QUATERNION_SLACK:
        raise TrajectoryRejected(
            f"the quaternion has the length {length:.4g}",
            where="orientation",
            got=tuple(pose[3:]),
            remedy="Give a unit quaternion x, y, z, w; (0, 0, 0, 1) turns nothing.",
        )
    pose[3:] /= length
    farthest = float(np.abs(pose[:3]).max())
    if farthest > FARTHEST_TARGET_M:
        raise TrajectoryRejected(
            f"the target is {farthest:.4g} m away",
            where="position",
            got=tuple(pose[:3]),
            remedy="Give positions in m.",
        )
    return pose


def checked_twist(angular: ArrayLike, linear: ArrayLike) -> Array:
    """(6,) [angular; linear]; TrajectoryRejected: not finite, or too large to be meant."""
    twist = np.concatenate([numbers_of(angular, 3, "angular"), numbers_of(linear, 3, "linear")])
    largest = float(np.abs(twist).max())
    if largest > FASTEST_TWIST:
        raise TrajectoryRejected(
            f"{largest:.4g} cannot be meant",
            where="twist",
            got=tuple(twist),
            remedy="Give rad/s and m/s.",
        )
    return twist


def checked_wrench(
    moment: ArrayLike,
    force: ArrayLike,
    largest: tuple[float, float],
) -> Array:
    """(6,) [moment; force]; TrajectoryRejected: not finite, or beyond the largest, N m and N."""
    wrench = np.concatenate([numbers_of(moment, 3, "torque"), numbers_of(force, 3, "force")])
    parts = ((wrench[:3], "moment", "N m"), (wrench[3:], "force", "N"))
    for (part, name, unit), most in zip(parts, largest, strict=True):
        size = float(np.linalg.norm(part))
        if size > most:
            raise TrajectoryRejected(
                f"a {name} of {size:.4g} {unit} is asked for, {most:g} {unit} is the largest",
                where="wrench",
                got=tuple(wrench),
                remedy="Ask for less, or set task.wrench higher; moments are in N m, forces in N.",
            )
    return wrench


def numbers_of(values: ArrayLike, n: int, where: str) -> Array:
    """(n,) finite numbers; TrajectoryRejected: they are not."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise TrajectoryRejected(
            f"expected {n} finite numbers, got {values!r}",
            where=where,
            got=values,
            remedy="Check who sends them; nothing was changed.",
        )
    return array
