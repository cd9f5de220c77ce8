"""Joint states from a CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import Recording, RowCollector

TIMES = ("t", "time", "stamp", "timestamp", "__time")
FIELDS = ("position", "velocity", "effort")
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

    The time is in a column ``t``, ``time``, ``stamp`` or ``timestamp``, in s, or as whole numbers of ms, µs or ns, which
    the step tells apart unless ``time_unit`` does (``notes`` of the recording says so); a joint's numbers in ``<joint>``
    (its position) or ``<joint>.position``, ``<joint>.velocity``, ``<joint>.effort``; ``/`` or ``_`` may stand for the
    dot, anything before it, and the field may come first.  Other columns are ignored, empty cells count as missing.
    Decimal commas are read where they do not part cells.

    Args:
        on_bad: ``"skip"`` or ``"refuse"`` rows that cannot be used.
        times: ``"repair"`` times that jitter and rows written twice, or ``"keep"`` them; see
            :meth:`~robot_dynamics_ros.recordings.recording.Recording.repaired`.
        time_unit: ``"s"``, ``"ms"``, ``"us"``, ``"ns"``, or ``"auto"``: by the step, see
            :func:`~robot_dynamics_ros.recordings.recording.in_seconds`.
        progress: called with the share of the file that has been read.

    Raises:
        ArgumentError: not readable, no head, a column missing or there twice, no usable row, or a refused bad row.
    """
    collector = RowCollector(model, str(path), on_bad, times=times, time_unit=time_unit)
    with open_table(path, progress) as (head, lines):
        columns = _columns(head, model, str(path))
        for number, cells in enumerate(lines, start=2):
            if any(cell.strip() for cell in cells):
                if any(cell.strip() for cell in cells[len(head) :]):
                    collector.reject(number, f"it has {len(cells)} cells, and the head {len(head)}: decimal commas?")
                else:
                    _row(collector, number, cells, columns, model)
    return collector.finish()


@contextmanager
def open_table(
    path: str | Path, progress: Callable[[float], None] | None = None
) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """Names of the columns of a table, and its rows; the delimiter is the one of ``,``, ``;`` and tab that the head has most of."""
    path = Path(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            start = file.readline()
            file.seek(0)
            lines = csv.reader(_counted(file, path.stat().st_size, progress), delimiter=max(",;\t", key=start.count))
            head = [cell.strip().strip('"') for cell in next(lines, [])]
            if not head:
                raise ArgumentError("the file is empty", where=str(path), remedy="It needs a head line.")
            yield head, lines
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"cannot be read: {error}", where=str(path), remedy="Give a CSV file in UTF-8.") from None


def _counted(file: Iterable[str], size: int, progress: Callable[[float], None] | None) -> Iterator[str]:
    done = 0
    for k, line in enumerate(file):
        done += len(line)
        if progress is not None and not k & 1023:
            progress(min(done / size, 1.0))
        yield line


def column_of(names: list[str], where: str) -> int:
    """The one column that holds the time."""
    times = [i for i, name in enumerate(names) if name.lower() in TIMES]
    if len(times) != 1:
        problem = "no column holds the time" if not times else "several columns hold the time"
        raise ArgumentError(
            problem,
            where=where,
            remedy=f"Call it one of {', '.join(TIMES[:4])}; the head line has: {', '.join(names[:20])}.",
        )
    return times[0]


def _columns(names: list[str], model: RobotModel, where: str) -> dict[str, list[int]]:
    columns = {"t": [column_of(names, where)]}
    for field in FIELDS:
        row = [_column(names, joint, field, where) for joint in model.joint_names]
        missing = [joint for joint, i in zip(model.joint_names, row, strict=True) if i < 0]
        if missing and field == "position":
            remedy = f"Call it {missing[0]!r} or '{missing[0]}.position'; it has: {', '.join(names[:20])}."
            raise ArgumentError(f"no column for the position of joint {missing[0]!r}", where=where, remedy=remedy)
        if not missing:
            columns[field] = row
    return columns


def columns_named(names: list[str], accepted: Collection[str]) -> list[int]:
    """Columns with one of these names; if there is none, those whose names end with one after a ``.`` or ``/``."""
    exact = [i for i, name in enumerate(names) if name in accepted]
    return exact or [i for i, name in enumerate(names) if any(name.endswith(f"{s}{w}") for w in accepted for s in "./")]


def _column(names: list[str], joint: str, field: str, where: str) -> int:
    words = (field, *SHORT[field])
    joints = (joint,) if field == "position" else ()
    exact = {*joints, *(f"{a}{s}{b}" for s in "./_" for w in words for a, b in ((joint, w), (w, joint)))}
    return one_column(names, exact, f"the {field} of {joint!r}", "Leave one of them.", where)


def one_column(names: list[str], accepted: Collection[str], what: str, remedy: str, where: str) -> int:
    """The column with one of these names, see :func:`columns_named`, or −1; several are an error."""
    hits = columns_named(names, accepted)
    if len(hits) > 1:
        both = " and ".join(repr(names[i]) for i in hits)
        raise ArgumentError(f"{both} both hold {what}", where=where, remedy=remedy)
    return hits[0] if hits else -1


def number_in(text: str) -> float:
    """The number in a cell, with a decimal point or comma; NaN in an empty one, a ValueError if it is none."""
    text = text.strip()
    if "." not in text:
        text = text.replace(",", ".", 1)  # a decimal comma
    return float(text) if text else math.nan


def _row(
    collector: RowCollector, number: int, cells: list[str], columns: dict[str, list[int]], model: RobotModel
) -> None:
    try:
        values = {field: [number_in(cells[i]) for i in places] for field, places in columns.items()}
    except IndexError:
        return collector.reject(number, f"it has only {len(cells)} cells")
    except ValueError as error:
        return collector.reject(number, str(error))
    fields = (values.get(field, ()) for field in FIELDS)
    return collector.add(number, values["t"][0], model.joint_names, *fields)
