"""``trajectory_msgs`` to the values that the controller takes, and back."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.reference.goal import TrajectoryRejected
from robot_dynamics_ros.control.reference.trajectory import (
    NANOSECONDS,
    POINTS_AT_ONCE,
    Trajectory,
    TrajectoryPoint,
    slices,
)
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.cdr import HEADER, CdrReader, plain
from robot_dynamics_ros.ros.transport.stamps import to_nanoseconds, to_time

try:
    from control_msgs.action import FollowJointTrajectory as ActionType
    from control_msgs.msg import JointTrajectoryControllerState
    from control_msgs.srv import QueryTrajectoryState
except ImportError:
    # not every installation has control_msgs
    ActionType = JointTrajectoryControllerState = QueryTrajectoryState = None
if TYPE_CHECKING:
    from unique_identifier_msgs.msg import UUID

# bytes of a trajectory from which on it is prepared beside the cycle: some hundred points
LONG = 20_000

# the goal's identity comes first; a goal begins with its trajectory
_TRAJECTORY_OF_REQUEST = HEADER + 16


def point_from_message(message: JointTrajectoryPoint) -> TrajectoryPoint:
    """One point; empty fields stay empty."""
    return TrajectoryPoint(
        to_nanoseconds(message.time_from_start),
        tuple(message.positions),
        tuple(message.velocities),
        tuple(message.accelerations),
        tuple(message.effort),
    )


def point_message(rows: Iterable[Array], time: int = 0) -> JointTrajectoryPoint:
    """Rows (n,) of positions, velocities and accelerations, or the first of these, at a time in
    ns.
    """
    fields = zip(("positions", "velocities", "accelerations"), rows, strict=False)
    point = JointTrajectoryPoint(**{name: row.tolist() for name, row in fields})
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(time, NANOSECONDS)
    return point


def trajectory_message(
    joint_names: Sequence[str],
    times: Array,
    positions: Array,
    velocities: Array,
    accelerations: Array | None,
    stamp: int,
) -> JointTrajectory:
    """Points (k, n) at times (k,) in s after ``stamp`` in ns (0: at once) as
    ``trajectory_msgs/JointTrajectory``.
    """
    message = JointTrajectory(joint_names=list(joint_names))
    message.header.stamp = to_time(stamp)
    tables = [table for table in (positions, velocities, accelerations) if table is not None]
    message.points = [
        point_message([table[k] for table in tables], round(float(t) * 1e9))
        for k, t in enumerate(times)
    ]
    return message


def trajectory_from_bytes(
    raw: bytes | memoryview, *, allow_nonzero_end_velocity: bool = False
) -> Trajectory:
    """A checked trajectory from a serialized message, without an object for each point: 10⁵ points
    take some 10 ms.
    """
    try:
        read = read_trajectory(plain(raw, JointTrajectory))
    except (struct.error, ValueError, IndexError) as error:
        text = f"the message is no trajectory_msgs/JointTrajectory ({error})"
        raise TrajectoryRejected(text, where="joint_trajectory") from None
    return read.checked(allow_nonzero_end_velocity=allow_nonzero_end_velocity)


@dataclass(frozen=True, slots=True)
class ReadTrajectory:
    """The numbers of a serialized trajectory of n points for k joints, not checked yet.

    Attributes:
        stamp: ns.
        names: the joints.
        times: (n,) ns.
        fields: (4, n, k) positions, velocities, accelerations, efforts.
        present: (4, n) which of them the points have.
        end: offset of the first byte after the trajectory.
        wrong: why the trajectory is refused: a field that is neither empty nor as long as the joint
            names.
    """

    stamp: int
    names: tuple[str, ...]
    times: np.ndarray
    fields: np.ndarray
    present: np.ndarray
    end: int
    wrong: TrajectoryRejected | None

    def checked(self, *, allow_nonzero_end_velocity: bool = False) -> Trajectory:
        """The trajectory; a TrajectoryRejected if it cannot be followed as it is."""
        if self.wrong is not None:
            raise self.wrong
        rows = (self.times, self.fields, self.present)
        allow = allow_nonzero_end_velocity
        return Trajectory.from_arrays(
            self.names, *rows, stamp=self.stamp, allow_nonzero_end_velocity=allow
        )


def read_trajectory(raw: bytes | memoryview, offset: int = HEADER) -> ReadTrajectory:
    """Read a trajectory that begins at ``offset`` of a :func:`plain` message; other bytes are a
    ValueError or struct.error.

    Points nearly always have the same fields all over; their numbers then stand at a constant
    distance and are read together, a slice after the other.  Where the fields vary, one point after
    the other is read.
    """
    reader = CdrReader(raw, offset)
    stamp = reader.int32() * NANOSECONDS + reader.uint32()
    reader.string()
    names = tuple(reader.string() for _ in range(reader.count(5)))
    n = reader.count(24)
    k = len(names)
    times = np.zeros(n, dtype=np.int64)
    wrong: TrajectoryRejected | None = None
    # memory for what is not there could be more than there is
    if 8 * n * k > len(raw):
        text = f"{n} points have fewer positions than their {k} joints need"
        remedy = "Give every point positions, one for each of joint_names."
        wrong = TrajectoryRejected(text, where="points", remedy=remedy)
    room = 0 if wrong else k
    fields = np.empty((4, n, room))
    present = np.zeros((4, n), dtype=bool)
    for rows in slices(n):
        fields[:, rows] = 0.0
    i = 0
    while i < n:
        done = _read_alike(
            raw,
            reader.offset,
            min(n - i, POINTS_AT_ONCE),
            room,
            times[i:],
            fields[:, i:],
            present[:, i:],
        )
        if done:
            i = i + done[0]
            reader.offset = done[1]
            continue
        for f, name in enumerate(("positions", "velocities", "accelerations", "effort")):
            values = reader.doubles()
            if len(values) == room and room:
                fields[f, i] = values
                present[f, i] = True
            elif len(values) and wrong is None:
                remedy = "Give one value for each of joint_names, or leave the field empty."
                wrong = TrajectoryRejected(
                    f"{len(values)} values for {k} joints",
                    where=f"points[{i}].{name}",
                    remedy=remedy,
                )
        times[i] = reader.int32() * NANOSECONDS + reader.uint32()
        i += 1
    return ReadTrajectory(stamp, names, times, fields, present, reader.offset, wrong)


class ActionGoal:
    """A goal of the action: tolerances of the message, the trajectory as it was read, and its size
    in bytes.
    """

    def __init__(
        self,
        message: ActionType.Goal,
        trajectory: ReadTrajectory,
        size: int,
    ) -> None:
        self.path_tolerance = message.path_tolerance
        self.goal_tolerance = message.goal_tolerance
        self.goal_time_tolerance = message.goal_time_tolerance
        # no one follows it
        bodies = getattr(message, "multi_dof_trajectory", None)
        self.multi_dof = bodies is not None and bool(bodies.joint_names or bodies.points)
        self.trajectory = trajectory
        self.size = size

    @classmethod
    def of(cls, message: ActionType.Goal) -> ActionGoal:
        raw = serialize_message(message.trajectory)
        return cls(message, read_trajectory(raw), len(raw))

    @classmethod
    def read(cls, request_type: type, raw: bytes | memoryview) -> tuple[UUID, ActionGoal]:
        """The goal's identity, and the goal, of a serialized request; a ValueError if it is no such
        request.
        """
        try:
            trajectory = read_trajectory(plain(raw, request_type), _TRAJECTORY_OF_REQUEST)
            # the same request with nothing in its trajectory; what follows is aligned to eight
            # bytes as it was
            room = 4 if trajectory.end % 8 else 8
            frame = struct.pack(f"=I{room}s", room - 3, b" " * (room - 4))
            # no stamp, joints, points
            head = bytes(raw[:_TRAJECTORY_OF_REQUEST]) + bytes(8) + frame + bytes(8)
            request = deserialize_message(head + bytes(raw[trajectory.end :]), request_type)
            return request.goal_id, cls(request.goal, trajectory, len(raw))
        except Exception as error:
            # the binding raises whatever the middleware does
            raise ValueError(str(error)) from error


def _read_alike(
    raw: bytes | memoryview,
    offset: int,
    n: int,
    k: int,
    times: np.ndarray,
    fields: np.ndarray,
    present: np.ndarray,
) -> tuple[int, int] | None:
    """Read points that have the fields of the first two; how many there were (even) and where they
    end, if at least 16.
    """
    if n < 16 or k == 0:
        return None
    reader = CdrReader(raw, offset)
    points = []
    # padding differs between even and odd points at most
    for _ in range(2):
        places = []
        for _ in range(4):
            count = reader.aligned(4)
            size = len(reader.doubles())
            if size not in (0, k):
                return None
            places.append((count, size, reader.offset - 8 * size))
        points.append((places, reader.aligned(4)))
        reader.offset += 8
    stride = reader.offset - offset
    pairs = min(n // 2, (len(raw) - offset) // stride)
    table = np.frombuffer(raw, np.uint8, pairs * stride, offset).reshape(pairs, stride)

    def column(place: int, kind: type, size: int = 1) -> np.ndarray:
        """(pairs, size) numbers that begin at this place of the first pair."""
        start = place - offset
        return table[:, start : start + size * np.dtype(kind).itemsize].view(kind)

    alike = np.ones(pairs, dtype=bool)
    for places, _ in points:
        for count, size, _ in places:
            alike &= column(count, np.uint32)[:, 0] == size
    good = pairs if alike.all() else int(np.argmin(alike))
    if good < 8:
        return None
    for first, (places, time) in enumerate(points):
        rows = slice(first, 2 * good, 2)
        seconds = column(time, np.int32)[:good, 0]
        rest = column(time + 4, np.uint32)[:good, 0]
        times[rows] = seconds.astype(np.int64) * NANOSECONDS + rest
        for f, (_, size, data) in enumerate(places):
            if size:
                fields[f, rows] = column(data, np.float64, k)[:good]
                present[f, rows] = True
    return 2 * good, offset + stride * good
