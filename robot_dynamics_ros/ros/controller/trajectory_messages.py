"""``trajectory_msgs`` to the values that the controller takes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.reference.result import TrajectoryRejected
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, SLICE, Trajectory, TrajectoryPoint, slices
from robot_dynamics_ros.ros.transport.cdr import CdrReader, plain

__all__ = [
    "point_from_message",
    "read_trajectory",
    "to_nanoseconds",
    "trajectory_from_bytes",
    "trajectory_from_message",
]


def to_nanoseconds(time: Any) -> int:
    """``builtin_interfaces/Time`` or ``Duration`` as ns."""
    return int(time.sec) * 1_000_000_000 + int(time.nanosec)


def point_from_message(message: JointTrajectoryPoint) -> TrajectoryPoint:
    """One point; empty fields stay empty."""
    return TrajectoryPoint(
        to_nanoseconds(message.time_from_start),
        tuple(message.positions),
        tuple(message.velocities),
        tuple(message.accelerations),
        tuple(message.effort),
    )


def trajectory_from_message(message: JointTrajectory, *, allow_nonzero_end_velocity: bool = False) -> Trajectory:
    """A checked trajectory.

    Raises:
        TrajectoryRejected: the message cannot be followed as it is.
    """
    return Trajectory.from_points(
        tuple(message.joint_names),
        [point_from_message(point) for point in message.points],
        stamp=to_nanoseconds(message.header.stamp),
        allow_nonzero_end_velocity=allow_nonzero_end_velocity,
    )


def trajectory_from_bytes(raw: bytes, *, allow_nonzero_end_velocity: bool = False) -> Trajectory:
    """The same from a serialized message, without an object for each point: 10⁵ points take some 10 ms.

    Raises:
        TrajectoryRejected: the message cannot be followed as it is, or is none.
    """
    try:
        stamp, names, times, fields, given = read_trajectory(raw)
    except (struct.error, UnicodeDecodeError, ValueError, IndexError) as error:
        raise TrajectoryRejected(
            f"the message is no trajectory_msgs/JointTrajectory ({error})", where="joint_trajectory"
        ) from None
    return Trajectory.from_arrays(
        names, times, fields, given, stamp=stamp, allow_nonzero_end_velocity=allow_nonzero_end_velocity
    )


def read_trajectory(raw: bytes) -> tuple[int, tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Stamp in ns, joint names, times (n,) in ns, fields (4, n, k) and which of them are given (4, n).

    Points nearly always have the same fields all over; their numbers then stand at a constant distance and are read
    together, a slice after the other.  Where the fields vary, one point after the other is read.

    Raises:
        ValueError, struct.error: the bytes are no such message.
        TrajectoryRejected: a field that is neither empty nor as long as the joint names.
    """
    raw = plain(raw, JointTrajectory)
    reader = CdrReader(raw)
    stamp = reader.int32() * NANOSECONDS + reader.uint32()
    reader.string()
    names = tuple(reader.string() for _ in range(reader.count(5)))
    n, k = reader.count(24), len(names)
    times = np.zeros(n, dtype=np.int64)
    fields, given = np.empty((4, n, k)), np.zeros((4, n), dtype=bool)
    for rows in slices(n):
        fields[:, rows] = 0.0
    i = 0
    while i < n:
        done = _read_alike(raw, reader.offset, min(n - i, SLICE), k, times[i:], fields[:, i:], given[:, i:])
        if done:
            i, reader.offset = i + done[0], done[1]
            continue
        for f, name in enumerate(("positions", "velocities", "accelerations", "effort")):
            values = reader.doubles()
            if len(values) not in (0, k):
                raise TrajectoryRejected(
                    f"{len(values)} values for {k} joints",
                    where=f"points[{i}].{name}",
                    got=len(values),
                    remedy="Give one value for each of joint_names, or leave the field empty.",
                )
            if len(values):
                fields[f, i], given[f, i] = values, True
        times[i] = reader.int32() * NANOSECONDS + reader.uint32()
        i += 1
    return stamp, names, times, fields, given


def _read_alike(
    raw: bytes, offset: int, n: int, k: int, times: np.ndarray, fields: np.ndarray, given: np.ndarray
) -> tuple[int, int] | None:
    """Read points that have the fields of the first one; how many there were (even) and where they end, if at least 16."""
    if n < 16 or k == 0:
        return None
    reader = CdrReader(raw, offset)
    starts, layout = [offset], []
    for _ in range(2):  # padding differs between even and odd points at most
        here: list[tuple[int, int]] = []
        for _ in range(4):
            at = reader.aligned(4)
            count = len(reader.doubles())
            if count not in (0, k):
                return None
            here.append((at, reader.offset - 8 * count if count else -1))
        at = reader.aligned(4)
        reader.offset = at + 8
        here.append((at, at))
        layout.append(here)
        starts.append(reader.offset)
    stride = starts[2] - starts[0]
    pairs = min(n // 2, (len(raw) - offset) // stride)
    if [at >= 0 for _, at in layout[0]] != [at >= 0 for _, at in layout[1]]:
        return None
    alike = np.ones(pairs, dtype=bool)
    columns = []
    for here in layout:
        names, formats, offsets = [], [], []
        for f, (at, data) in enumerate(here[:4]):
            names.append(f"count{f}")
            formats.append("=u4")
            offsets.append(at - offset)
            if data >= 0:
                names.append(f"data{f}")
                formats.append(f"({k},)=f8")
                offsets.append(data - offset)
        for name, kind, at in (("sec", "=i4", here[4][0]), ("nanosec", "=u4", here[4][0] + 4)):
            names.append(name)
            formats.append(kind)
            offsets.append(at - offset)
        dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": stride})
        table = np.frombuffer(raw, dtype, pairs, offset)
        for f, (_, data) in enumerate(here[:4]):
            alike &= table[f"count{f}"] == (k if data >= 0 else 0)
        columns.append(table)
    good = pairs if alike.all() else int(np.argmin(alike))
    if good < 8:
        return None
    for first, table in enumerate(columns):
        rows = slice(first, 2 * good, 2)
        times[rows] = table["sec"][:good].astype(np.int64) * NANOSECONDS + table["nanosec"][:good]
        for f in range(4):
            if f"data{f}" in (table.dtype.names or ()):
                fields[f, rows], given[f, rows] = table[f"data{f}"][:good], True
    return 2 * good, offset + stride * good
