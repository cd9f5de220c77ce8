"""Joint states and external wrenches from a bag, without ROS."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.dynamics.reference_frame import WORLD, FrameLike
from robot_dynamics_ros.errors import (
    ArgumentError,
    RobotDynamicsError,
    UnknownNameError,
    optional_package,
)
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import (
    ExternalWrench,
    Recording,
    RowCollector,
    recorded_wrench,
)
from robot_dynamics_ros.recordings.unfinished_bags import whole_bag

if TYPE_CHECKING:
    from rosbags.interfaces import Connection

WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
# the first bytes of data that zstd has compressed
_ZSTD = b"\x28\xb5\x2f\xfd"
JOINT_STATE = "sensor_msgs/msg/JointState"


def need_rosbags() -> ModuleType:
    """The ``rosbags`` package; a BackendError if it is not installed."""
    for module in ("rosbags.highlevel", "rosbags.rosbag2", "rosbags.typesys"):
        optional_package(module, "bags need", "bag", "rosbags, or use CSV")
    return optional_package("rosbags", "bags need", "bag", "rosbags, or use CSV")


def read_bag(
    path: str | Path,
    model: RobotModel,
    *,
    topic: str = "",
    on_bad: str = "skip",
    times: str = "repair",
    progress: Callable[[float], None] | None = None,
) -> Recording:
    """Read joint states from a bag: an ``.mcap`` or ``.db3`` file, the directory of one, or a ROS 1
    ``.bag``.

    A message's time is its stamp, or where that is zero the time it was recorded.

    Args:
        topic: the topic; if not given, the only one of joint states, or else ``/joint_states``.
        on_bad: ``"skip"`` or ``"refuse"`` messages that cannot be used.
        times: ``"repair"`` times that jitter and rows written twice, or ``"keep"`` them; see
            :meth:`~robot_dynamics_ros.recordings.recording.Recording.repaired`.
        progress: called with the share of messages that has been read.

    Raises:
        ArgumentError: not a readable bag, no joint states, no usable message; or a bad one that is
            refused.
        UnknownNameError: the bag has no joint states on that topic.
        BackendError: the package rosbags is not installed.
    """
    collector = RowCollector(model, str(path), on_bad, times=times)

    def take(number: int, received: int, read: Callable[[], Any]) -> None:
        try:
            message = read()
        except Exception as error:  # noqa: BLE001
            return collector.reject(number, f"cannot be deserialized: {error}")
        fields = message.position, message.velocity, message.effort
        return collector.add(number, stamp_of(message, received), list(message.name), *fields)

    missing = read_messages(path, JOINT_STATE, topic, take, progress)
    recording = collector.finish()
    return dataclasses.replace(recording, notes=(*recording.notes, *missing))


def read_bag_wrench(
    path: str | Path,
    model: RobotModel,
    link: str,
    topic: str,
    *,
    frame: FrameLike = None,
    sign: float = 1.0,
) -> ExternalWrench:
    """A wrench from a topic of geometry_msgs/WrenchStamped.

    Args:
        frame: see :class:`ExternalWrench`; the messages' ``frame_id`` if not given.
        sign: −1.0 for a sensor that measures what the robot exerts on the surroundings.

    Raises:
        ArgumentError: not a readable bag, without wrenches, or without one on that topic.
        UnknownNameError: no such topic, or a ``frame_id`` that is no link.
    """
    rows: list[list[float]] = []
    frames: set[str] = set()

    def take(number: int, received: int, read: Callable[[], Any]) -> None:
        message = read()
        f = message.wrench.force
        m = message.wrench.torque
        row = [stamp_of(message, received), m.x, m.y, m.z, f.x, f.y, f.z]
        if np.isfinite(row).all():
            rows.append(row)
            frames.add(message.header.frame_id)

    read_messages(path, WRENCH_STAMPED, topic, take)
    if frame is None and frames and frames != {link}:
        if len(frames) > 1:
            text = f"messages have several frames: {', '.join(sorted(frames))}"
            raise ArgumentError(text, where=f"{path}, {topic}", remedy="Name one.")
        frame = next(iter(frames))
        if frame not in (*model.link_names, WORLD):
            raise UnknownNameError("frame", frame, model.link_names, where=f"{path}, {topic}")
    return recorded_wrench(rows, link, frame, sign, f"{path}, {topic}")


def read_messages(
    path: str | Path,
    kind: str,
    topic: str,
    take: Callable[[int, int, Callable[[], Any]], None],
    progress: Callable[[float], None] | None = None,
) -> tuple[str, ...]:
    """Go through the messages of one topic of a bag; see :func:`read_bag`.  Returns sentences about
    messages that the bag should have and has not.

    Args:
        kind: type of the messages.
        take: called with a message's number from 1, the time it was recorded in ns, and what
            deserializes it.
    """
    rosbags = need_rosbags()
    path = Path(path)
    if not path.exists():
        raise ArgumentError(
            "there is no such file or directory", where=str(path), remedy="Check the path."
        )
    _check_metadata(path)
    number = 0
    try:
        types = rosbags.typesys.get_typestore(rosbags.typesys.Stores.ROS2_HUMBLE)
        with (
            whole_bag(path) as (whole, notes),
            rosbags.highlevel.AnyReader(whole, default_typestore=types) as reader,
        ):
            if notes and not reader.connections:
                raise ArgumentError(
                    "it is unfinished, its recorder was ended, and no whole message is there",
                    where=str(path),
                    remedy="Record again, and end the recorder with Ctrl-C.",
                )
            chosen = _connections(reader.connections, kind, topic, str(path))
            total = max(sum(c.msgcount for c in chosen), 1)
            for number, (connection, received, raw) in enumerate(
                reader.messages(connections=chosen), start=1
            ):
                if progress is not None and not number & 1023:
                    progress(min(number / total, 1.0))
                if bytes(raw[:4]) == _ZSTD:
                    raise ArgumentError(
                        "its messages are compressed one by one",
                        where=str(path),
                        remedy="Name the folder of the bag: its metadata.yaml says how.",
                    )
                take(number, received, partial(reader.deserialize, raw, connection.msgtype))
    except RobotDynamicsError:
        raise
    # a damaged bag fails in as many ways as there are bytes
    except Exception as error:  # noqa: BLE001
        remedy = "Give an mcap file, a rosbag2 directory, or a ROS 1 bag."
        raise ArgumentError(
            f"cannot be read as a bag: {error}", where=str(path), remedy=remedy
        ) from None
    if path.is_dir() and number < total:
        notes.append(
            f"the bag has {number} of the {total} messages that its metadata count: the others are "
            "missing"
        )
    return tuple(notes)


def _check_metadata(path: Path) -> None:
    """Refuse a folder whose metadata do not say what its files are."""
    file = path / "metadata.yaml"
    if not file.is_file():
        return
    text = file.read_text("utf-8", "replace")
    stated = re.search(r"""^\s*storage_identifier:[ \t]*(["']?)([^"'\n]*)\1""", text, re.M)
    if stated is not None and not stated[2].strip():
        kinds = {f.suffix for f in path.iterdir()} & {".mcap", ".db3"}
        word = {".mcap": "mcap", ".db3": "sqlite3"}.get(min(kinds, default=""), "mcap or sqlite3")
        raise ArgumentError(
            "storage_identifier is empty: its recorder was ended before it wrote this file",
            where=str(file),
            remedy=f"Write `storage_identifier: {word}` there, or name the file of the bag itself.",
        )


def stamp_of(message: Any, received: int) -> float:
    """A message's stamp in s, or where that is zero the time it was recorded, ns."""
    stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
    return float((stamp or received) * 1e-9)


def _connections(
    connections: Sequence[Connection],
    kind: str,
    topic: str,
    where: str,
) -> list[Connection]:
    topics = sorted({c.topic for c in connections if c.msgtype == kind})
    if not topics:
        held = (
            ", ".join(sorted({f"{c.topic} ({c.msgtype})" for c in connections})[:20]) or "nothing"
        )
        raise ArgumentError(
            f"holds no {kind.replace('/msg', '')}", where=where, remedy=f"It holds: {held}."
        )
    if not topic:
        if len(topics) == 1:
            topic = topics[0]
        else:
            topic = "/joint_states"
    topic = topic if topic.startswith("/") else f"/{topic}"
    if topic not in topics:
        if kind == JOINT_STATE:
            what = "joint state topic"
        else:
            what = f"{kind} topic"
        raise UnknownNameError(what, topic, topics, where=where)
    return [c for c in connections if c.msgtype == kind and c.topic == topic]
