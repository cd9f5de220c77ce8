"""Joint states, external wrenches and motion of a floating base from CSV files."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from robot_dynamics_ros.dynamics.reference_frame import FrameLike
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import (
    ExternalWrench,
    Recording,
    RowCollector,
    in_seconds,
    recorded_wrench,
)
from robot_dynamics_ros.recordings.write import coordinate_names

TIME_COLUMNS = ("t", "time", "stamp", "timestamp", "__time")
COLUMN_FIELDS = ("position", "velocity", "effort")
_FORCE_COLUMNS = ("force.{}", "force_{}", "f{}", "F{}")
_MOMENT_COLUMNS = ("torque.{}", "torque_{}", "moment.{}", "moment_{}", "t{}", "m{}", "M{}", "T{}")
SHORT = {"position": ("q", "pos"), "velocity": ("v", "vel", "qd"), "effort": ("tau", "eff")}


def read_csv(
    path: str | Path,
    model: RobotModel,
    *,
    on_bad: str = "skip",
    times: str = "repair",
    time_unit: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> Recording:
    """Read joint states from a CSV file with a head line.

    The time is in a column ``t``, ``time``, ``stamp`` or ``timestamp``, in s, or as whole numbers
    of ms, µs or ns, which the step tells apart unless ``time_unit`` does (``notes`` of the
    recording says so); a joint's numbers in ``<joint>`` (its position) or ``<joint>.position``,
    ``<joint>.velocity``, ``<joint>.effort``; ``/`` or ``_`` may stand for the dot, anything before
    it, and the field may come first.  Other columns are ignored, empty cells count as missing.
    Decimal commas are read where they do not part cells.

    Args:
        on_bad: ``"skip"`` or ``"refuse"`` rows that cannot be used.
        times: ``"repair"`` times that jitter and rows written twice, or ``"keep"`` them; see
            :meth:`~robot_dynamics_ros.recordings.recording.Recording.repaired`.
        time_unit: ``"s"``, ``"ms"``, ``"us"``, ``"ns"``, or ``"auto"``: by the step, see
            :func:`~robot_dynamics_ros.recordings.recording.in_seconds`.
        progress: called with the share of the file that has been read.

    Raises:
        ArgumentError: not readable, no head, a column missing or there twice, no usable row, or a
            refused bad row.
    """
    collector = RowCollector(model, str(path), on_bad, times=times, time_unit=time_unit)
    with open_table(path, progress) as (head, lines):
        columns = _columns(head, model, str(path))
        for number, cells in enumerate(lines, start=2):
            if not any(cell.strip() for cell in cells):
                continue
            try:
                if any(cell.strip() for cell in cells[len(head) :]):
                    raise ValueError(
                        f"it has {len(cells)} cells, and the head {len(head)}: decimal commas?"
                    )
                values = {
                    field: [number_in(cells[i]) for i in places]
                    for field, places in columns.items()
                }
            except IndexError:
                collector.reject(number, f"it has only {len(cells)} cells")
            except ValueError as error:
                collector.reject(number, str(error))
            else:
                fields = (values.get(field, ()) for field in COLUMN_FIELDS)
                collector.add(number, values["t"][0], model.joint_names, *fields)
    return collector.finish()


@contextmanager
def open_table(
    path: str | Path, progress: Callable[[float], None] | None = None
) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """Names of the columns of a table, and its rows; the delimiter is the one of ``,``, ``;`` and
    tab that the head has most of.
    """
    path = Path(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            start = file.readline()
            file.seek(0)
            lines = csv.reader(
                _counted(file, path.stat().st_size, progress),
                delimiter=max(",;\t", key=start.count),
            )
            head = [cell.strip().strip('"') for cell in next(lines, [])]
            if not head:
                raise ArgumentError(
                    "the file is empty", where=str(path), remedy="It needs a head line."
                )
            yield head, lines
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(
            f"cannot be read: {error}", where=str(path), remedy="Give a CSV file in UTF-8."
        ) from None


def _counted(
    file: Iterable[str],
    size: int,
    progress: Callable[[float], None] | None,
) -> Iterator[str]:
    done = 0
    for k, line in enumerate(file):
        done += len(line)
        if progress is not None and not k & 1023:
            progress(min(done / size, 1.0))
        yield line


def column_of(names: list[str], where: str) -> int:
    """The one column that holds the time."""
    times = [i for i, name in enumerate(names) if name.lower() in TIME_COLUMNS]
    if len(times) != 1:
        if not times:
            problem = "no column holds the time"
        else:
            problem = "several columns hold the time"
        remedy = (
            f"Call it one of {', '.join(TIME_COLUMNS[:4])}; the head line has: "
            f"{', '.join(names[:20])}."
        )
        raise ArgumentError(problem, where=where, remedy=remedy)
    return times[0]


def _columns(names: list[str], model: RobotModel, where: str) -> dict[str, list[int]]:
    columns = {"t": [column_of(names, where)]}
    for field in COLUMN_FIELDS:
        row = [_column(names, joint, field, where) for joint in model.joint_names]
        missing = [joint for joint, i in zip(model.joint_names, row, strict=True) if i < 0]
        if missing and field == "position":
            remedy = (
                f"Call it {missing[0]!r} or '{missing[0]}.position'; it has: "
                f"{', '.join(names[:20])}."
            )
            raise ArgumentError(
                f"no column for the position of joint {missing[0]!r}", where=where, remedy=remedy
            )
        if not missing:
            columns[field] = row
    return columns


def columns_named(names: list[str], accepted: Collection[str]) -> list[int]:
    """Columns with one of these names; if there is none, those whose names end with one after a
    ``.`` or ``/``.
    """
    exact = [i for i, name in enumerate(names) if name in accepted]
    return exact or [
        i
        for i, name in enumerate(names)
        if any(name.endswith(f"{s}{w}") for w, s in itertools.product(accepted, "./"))
    ]


def _column(names: list[str], joint: str, field: str, where: str) -> int:
    words = (field, *SHORT[field])
    joints = (joint,) if field == "position" else ()
    exact = {*joints}
    for separator, word in itertools.product("./_", words):
        exact |= {f"{joint}{separator}{word}", f"{word}{separator}{joint}"}
    return one_column(names, exact, f"the {field} of {joint!r}", "Leave one of them.", where)


def one_column(
    names: list[str],
    accepted: Collection[str],
    what: str,
    remedy: str,
    where: str,
) -> int:
    """The column with one of these names, see :func:`columns_named`, or −1; several are an
    error.
    """
    hits = columns_named(names, accepted)
    if len(hits) > 1:
        both = " and ".join(repr(names[i]) for i in hits)
        raise ArgumentError(f"{both} both hold {what}", where=where, remedy=remedy)
    return hits[0] if hits else -1


def number_in(text: str) -> float:
    """The number in a cell, with a decimal point or comma; NaN in an empty one, a ValueError if it
    is none.
    """
    text = text.strip()
    if "." not in text:
        # a decimal comma
        text = text.replace(",", ".", 1)
    return float(text) if text else math.nan


def read_csv_wrench(
    path: str | Path,
    link: str,
    columns: str = "",
    *,
    frame: FrameLike = None,
    sign: float = 1.0,
    time_unit: str = "auto",
) -> ExternalWrench:
    """A wrench from a table with a column of times, as in joint states, and ``<columns>.force.x`` …
    ``<columns>.torque.z``.

    Args:
        columns: what the names of the six columns begin with; ``fx``, ``my`` and the like are
            known, too, and columns that are not there (a plate that measures one force) are zero.
            Rows with an empty cell are left out.
        frame: see :class:`ExternalWrench`.
        sign: −1.0 for a sensor that measures what the robot exerts on the surroundings.
        time_unit: see :func:`~robot_dynamics_ros.recordings.recording.in_seconds`.

    Raises:
        ArgumentError: not readable, no such columns, or no row.
    """
    with open_table(path) as (head, lines):
        places = [
            _component(head, columns, words, c, str(path))
            for words, c in itertools.product((_MOMENT_COLUMNS, _FORCE_COLUMNS), "xyz")
        ]
        if not any(k >= 0 for k in places):
            remedy = f"Call them {columns or 'plate'}.force.x … {columns or 'plate'}.torque.z."
            raise ArgumentError(
                f"no column holds a wrench {columns!r}", where=str(path), remedy=remedy
            )
        rows = _numbers(lines, [column_of(head, str(path)), *places])
    return recorded_wrench(rows, link, frame, sign, str(path), time_unit)


def read_csv_positions(
    path: str | Path,
    model: RobotModel,
    *,
    time_unit: str = "auto",
) -> tuple[Array, Array]:
    """Motion of a robot with any joints, from a table as
    :func:`~robot_dynamics_ros.recordings.write_run_csv` writes it.

    A floating joint has the columns ``<joint>.position.x`` to ``z`` and ``<joint>.orientation.x``
    to ``w``, a joint of one degree of freedom ``<joint>.position``.  Rows with an empty cell are
    left out; other columns are ignored.

    Args:
        time_unit: see :func:`~robot_dynamics_ros.recordings.recording.in_seconds`.

    Returns:
        (n,) times, s, and (n, nq) positions.

    Raises:
        ArgumentError: not readable, a column missing or there twice, or no row.
    """
    names = [
        f"{j}.{word}"
        for j in model.moving_joint_names
        for word in coordinate_names(model.joint(j).type, "position")
    ]
    with open_table(path) as (head, lines):
        places = [columns_named(head, [name]) for name in names]
        for name, columns in zip(names, places, strict=True):
            if len(columns) != 1:
                if columns:
                    problem = "several columns"
                else:
                    problem = "no column"
                raise ArgumentError(
                    f"{problem} {name!r}", where=str(path), remedy=f"It needs {', '.join(names)}."
                )
        rows = _numbers(lines, [column_of(head, str(path)), *(k for (k,) in places)])
    if not rows:
        raise ArgumentError(
            "there is no row with all positions", where=str(path), remedy="Fill its empty cells."
        )
    table = np.array(rows)
    return in_seconds(table[:, 0], time_unit)[0], table[:, 1:]


def _component(
    head: list[str],
    prefix: str,
    forms: tuple[str, ...],
    axis: str,
    where: str,
) -> int:
    words = [form.format(axis) for form in forms]
    if prefix:
        names = [f"{prefix}{s}{w}" for w, s in itertools.product(words, "./_")]
    else:
        names = words
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
