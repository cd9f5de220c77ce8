"""Read external wrenches that were recorded beside the joint states: from tables and from bags."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.reference_frame import WORLD, FrameLike
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.external_wrench import ExternalWrench
from robot_dynamics_ros.recordings.read_bag import read_messages, stamp_of
from robot_dynamics_ros.recordings.read_csv import column_of, columns_named, number_in, one_column, open_table
from robot_dynamics_ros.recordings.recording import in_seconds
from robot_dynamics_ros.recordings.write import coordinate_names

WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
_FORCE = ("force.{}", "force_{}", "f{}", "F{}")
_MOMENT = ("torque.{}", "torque_{}", "moment.{}", "moment_{}", "t{}", "m{}", "M{}", "T{}")


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
    with open_table(path) as (head, lines):
        places = [_component(head, columns, words, c, str(path)) for words in (_MOMENT, _FORCE) for c in "xyz"]
        if not any(k >= 0 for k in places):
            remedy = f"Call them {columns or 'plate'}.force.x … {columns or 'plate'}.torque.z."
            raise ArgumentError(f"no column holds a wrench {columns!r}", where=str(path), remedy=remedy)
        rows = _numbers(lines, [column_of(head, str(path)), *places])
    return _of_rows(rows, link, frame, sign, str(path), time_unit)


def read_csv_positions(path: str | Path, model: RobotModel, *, time_unit: str = "auto") -> tuple[Array, Array]:
    """Motion of a robot with any joints, from a table as :func:`~robot_dynamics_ros.recordings.write_run_csv` writes it.

    A floating joint has the columns ``<joint>.position.x`` to ``z`` and ``<joint>.orientation.x`` to ``w``, a joint of one degree
    of freedom ``<joint>.position``.  Rows with an empty cell are left out; other columns are ignored.

    Args:
        time_unit: see :func:`~robot_dynamics_ros.recordings.recording.in_seconds`.

    Returns:
        (n,) times, s, and (n, nq) positions.

    Raises:
        ArgumentError: not readable, a column missing or there twice, or no row.
    """
    names = [
        f"{j}.{word}" for j in model.moving_joint_names for word in coordinate_names(model.joint(j).type, "position")
    ]
    with open_table(path) as (head, lines):
        places = [columns_named(head, [name]) for name in names]
        for name, columns in zip(names, places, strict=True):
            if len(columns) != 1:
                problem = "several columns" if columns else "no column"
                raise ArgumentError(f"{problem} {name!r}", where=str(path), remedy=f"It needs {', '.join(names)}.")
        rows = _numbers(lines, [column_of(head, str(path)), *(k for (k,) in places)])
    if not rows:
        raise ArgumentError("there is no row with all positions", where=str(path), remedy="Fill its empty cells.")
    table = np.array(rows)
    return in_seconds(table[:, 0], time_unit)[0], table[:, 1:]


def _component(head: list[str], prefix: str, forms: tuple[str, ...], axis: str, where: str) -> int:
    words = [form.format(axis) for form in forms]
    names = [f"{prefix}{s}{w}" for w in words for s in "./_"] if prefix else words
    return one_column(head, names, words[0], "Say what they begin with.", where)


def _numbers(lines: Iterable[list[str]], places: list[int]) -> list[list[float]]:
    """The cells at ``places`` (−1: zero) of rows in which all are finite numbers."""
    rows = []
    for cells in lines:
        try:
            row = [number_in(cells[k]) if k >= 0 else 0.0 for k in places]
        except (ValueError, IndexError):
            continue
        if np.isfinite(row).all():
            rows.append(row)
    return rows


def _of_rows(
    rows: list[list[float]], link: str, frame: FrameLike, sign: float, where: str, time_unit: str = "s"
) -> ExternalWrench:
    if not rows:
        raise ArgumentError("there is no row with a wrench", where=where, remedy="Check the names of columns or topic.")
    table = np.array(rows)
    t, _ = in_seconds(table[:, 0], time_unit)
    keep = np.concatenate([[True], np.diff(np.maximum.accumulate(t)) > 0.0])  # the first of several with one stamp
    return ExternalWrench(link, t[keep], sign * table[keep, 1:], frame)


def read_bag_wrench(
    path: str | Path, model: RobotModel, link: str, topic: str, *, frame: FrameLike = None, sign: float = 1.0
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
        f, m = message.wrench.force, message.wrench.torque
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
    return _of_rows(rows, link, frame, sign, f"{path}, {topic}")
