"""Read external wrenches that were recorded beside the joint states: from tables and from bags."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Protocol

import numpy as np

from robot_dynamics_ros.dynamics.reference_frame import WORLD, FrameLike
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.external_wrench import ExternalWrench
from robot_dynamics_ros.recordings.read_bag import Stamped, messages_on, stamp_of
from robot_dynamics_ros.recordings.read_csv import column_of, columns_named, delimiter_of
from robot_dynamics_ros.recordings.recording import in_seconds

WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
_FORCE = tuple(tuple(w.format(c) for w in ("force.{}", "force_{}", "f{}", "F{}")) for c in "xyz")
_MOMENT = tuple(
    tuple(w.format(c) for w in ("torque.{}", "torque_{}", "moment.{}", "moment_{}", "t{}", "m{}", "M{}", "T{}"))
    for c in "xyz"
)


def read_csv_wrench(
    path: str | Path,
    link: str,
    columns: str = "",
    *,
    frame: FrameLike = None,
    sign: float = 1.0,
    time_unit: str = "auto",
) -> ExternalWrench:
    """A wrench from a table with a column of times, as in joint states, and ``<columns>.force.x`` … ``<columns>.torque.z``.

    Args:
        columns: what the names of the six columns begin with; ``fx``, ``my`` and the like are known, too, and columns that
            are not there (a plate that measures one force) are zero.  Rows with an empty cell are left out.
        frame: see :class:`ExternalWrench`.
        sign: −1.0 for a sensor that measures what the robot exerts on the surroundings.
        time_unit: see :func:`~robot_dynamics_ros.recordings.recording.in_seconds`.

    Raises:
        ArgumentError: not readable, no such columns, or no row.
    """
    path = Path(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            start = file.read(65536)
            file.seek(0)
            lines = csv.reader(file, delimiter=delimiter_of(start))
            head = [cell.strip() for cell in next(lines, [])]
            time = column_of(head, str(path))
            places = [_component(head, columns, words, str(path)) for words in (*_MOMENT, *_FORCE)]
            if not any(k >= 0 for k in places):
                raise ArgumentError(
                    f"no column holds a wrench {columns!r}",
                    where=str(path),
                    got=head,
                    remedy=f"Call them {columns or 'plate'}.force.x … {columns or 'plate'}.torque.z.",
                )
            rows = [row for cells in lines if (row := _row(cells, time, places)) is not None]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"cannot be read: {error}", where=str(path), remedy="Give a CSV file in UTF-8.") from None
    return _of_rows(rows, link, frame, sign, str(path), time_unit)


def _component(head: list[str], prefix: str, words: tuple[str, ...], where: str) -> int:
    wanted = [f"{prefix}{s}{w}" for w in words for s in "./_"] if prefix else list(words)
    found = columns_named(head, wanted)
    if len(found) > 1:
        raise ArgumentError(
            f"{' and '.join(head[k] for k in found)} both hold {words[0]}",
            where=where,
            remedy="Say what they begin with.",
        )
    return found[0] if found else -1


def _row(cells: list[str], time: int, places: list[int]) -> list[float] | None:
    try:
        row = [float(cells[time]), *(float(cells[k]) if k >= 0 else 0.0 for k in places)]
    except (ValueError, IndexError):
        return None
    return row if np.isfinite(row).all() else None


def _of_rows(
    rows: list[list[float]], link: str, frame: FrameLike, sign: float, where: str, time_unit: str = "s"
) -> ExternalWrench:
    if not rows:
        raise ArgumentError("there is no row with a wrench", where=where, remedy="Check the names of columns or topic.")
    table = np.array(rows)
    t, _ = in_seconds(table[:, 0], time_unit)
    keep = np.concatenate([[True], np.diff(np.maximum.accumulate(t)) > 0.0])  # the first of several with one stamp
    return ExternalWrench(link, t[keep], sign * table[keep, 1:], frame)


class _Vector(Protocol):
    x: float
    y: float
    z: float


class _Wrench(Protocol):
    force: _Vector
    torque: _Vector


class _WrenchStamped(Stamped, Protocol):
    wrench: _Wrench


def read_bag_wrench(
    path: str | Path, model: RobotModel, link: str, topic: str, *, frame: FrameLike = None, sign: float = 1.0
) -> ExternalWrench:
    """A wrench from a topic of geometry_msgs/WrenchStamped.

    Args:
        frame: see :class:`ExternalWrench`; the messages' ``frame_id`` if not given.
        sign: −1.0 for a sensor that measures what the robot exerts on the surroundings.

    Raises:
        ArgumentError: not a readable bag, or no message on that topic.
        UnknownNameError: no such topic, or a ``frame_id`` that is no link.
    """
    rows: list[list[float]] = []
    frames: set[str] = set()

    def take(message: _WrenchStamped, received: int) -> None:
        f, m = message.wrench.force, message.wrench.torque
        row = [stamp_of(message, received), m.x, m.y, m.z, f.x, f.y, f.z]
        if np.isfinite(row).all():
            rows.append(row)
            frames.add(message.header.frame_id)

    messages_on(path, topic, WRENCH_STAMPED, take)
    if frame is None and frames and frames != {link}:
        if len(frames) > 1:
            raise ArgumentError(
                f"messages have several frames: {', '.join(sorted(frames))}",
                where=f"{path}, {topic}",
                remedy="Name one.",
            )
        frame = next(iter(frames))
        if frame not in (*model.link_names, WORLD):
            raise UnknownNameError("frame", frame, model.link_names, where=f"{path}, {topic}")
    return _of_rows(rows, link, frame, sign, f"{path}, {topic}")
