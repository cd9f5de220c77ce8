"""External wrenches that were recorded beside the joint states: force plates, force/torque sensors, known loads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.dynamics import Frame, link_poses
from robot_dynamics_ros.dynamics.reference_frame import FrameLike, frame_of
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

_LONGEST = 5.0  # usual steps: nothing is interpolated across longer gaps


@dataclass(frozen=True, eq=False)
class ExternalWrench:
    """A wrench that the surroundings exert on a link, over time.

    Attributes:
        link: the link it acts on.
        t: (m,) increasing times, s, by the clock of the joint states.
        wrench: (m, 6) [moment; force], N m and N, about the origin and in the axes of ``frame``.
        frame: a link, ``"world"``, or a :class:`~robot_dynamics_ros.Frame` placed on either (a force plate's corner, a
            sensor's flange); the link itself if not given.
    """

    link: str
    t: Array
    wrench: Array
    frame: FrameLike = None

    def __post_init__(self) -> None:
        t, wrench = np.asarray(self.t, dtype=np.float64), np.asarray(self.wrench, dtype=np.float64)
        if t.ndim != 1 or wrench.shape != (len(t), 6) or not len(t):
            raise ArgumentError("expected (m,) times and (m, 6) wrenches", where=self.link, got=(t.shape, wrench.shape))
        if not (np.diff(t) > 0.0).all() or not np.isfinite(t).all() or not np.isfinite(wrench).all():
            where = f"external wrench on {self.link!r}"
            raise ArgumentError("expected increasing times and finite numbers", where=where)
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "wrench", wrench)

    def there(self, t: Array) -> np.ndarray:
        """(n,) bool: whether it was recorded at these times, or so near before and after that it can be interpolated."""
        if len(self.t) == 1:
            return np.asarray(t == self.t[0])
        longest = _LONGEST * float(np.median(np.diff(self.t)))
        after = np.clip(np.searchsorted(self.t, t), 1, len(self.t) - 1)
        near = self.t[after] - self.t[after - 1] <= longest
        return (t >= self.t[0]) & (t <= self.t[-1]) & (near | (t == self.t[after]) | (t == self.t[after - 1]))

    def on_link(self, model: RobotModel, t: Array, q: Array) -> Array:
        """(n, 6) [moment; force] about the link's origin in the link's axes, as ``external`` of the dynamics takes it;
        interpolated linearly.

        Args:
            t: (n,) s.  q: (n, nq).

        Raises:
            UnknownNameError: the robot has no such link or frame.
        """
        number = model.link_index(self.link)
        rows = np.column_stack([np.interp(t, self.t, column) for column in self.wrench.T])
        if self.frame is None or self.frame == self.link:
            return rows
        base, own = frame_of(model, self.frame, "frame")
        poses = link_poses(model, q)
        R = poses[:, base, :3, :3] if base >= 0 else np.broadcast_to(np.eye(3), (len(t), 3, 3))
        p = poses[:, base, :3, 3] if base >= 0 else np.zeros((len(t), 3))
        if own is not None:
            p, R = p + (R @ own.position[..., None])[..., 0], R @ own.rotation
        moment, force = (np.einsum("nij,nj->ni", R, rows[:, k : k + 3]) for k in (0, 3))
        moment = moment + np.cross(p - poses[:, number, :3, 3], force)
        return np.concatenate([np.einsum("nji,nj->ni", poses[:, number, :3, :3], x) for x in (moment, force)], axis=1)


def frame_name(frame: object) -> str:
    """How a frame or point is written in tables: ``"tool0"``, ``"tool0:0,0,0.1"``."""
    if isinstance(frame, Frame):
        place = ",".join(f"{x:g}" for x in np.ravel(frame.position))
        turned = not np.array_equal(frame.rotation, np.eye(3))
        return frame.link if frame.plain else f"{frame.link}:{place}{' (turned)' if turned else ''}"
    return str(frame)
