"""Output of the commands: results on standard output, as text or JSON; all else on standard
error.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import SupportsFloat, TextIO, TypeVar

from robot_dynamics_ros.cli.arguments import option

_T = TypeVar("_T")
_RED = "\x1b[31m"
_YELLOW = "\x1b[33m"
_BOLD = "\x1b[1m"
# Characters of a progress bar.
_WIDTH = 30
# the true one, while --json keeps it for the document
_stdout: TextIO | None = None
# whether there are no progress and no remarks (--quiet)
_silent = False
# s without a line after which a person wonders whether anything happens
LONGEST_SILENCE = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options ``--json --quiet --verbose``, the same for every command."""
    group = parser.add_argument_group("output", "the same for every command")
    option(group, "--json", None, "print the result as one JSON document, all else on stderr")
    amount = group.add_mutually_exclusive_group()
    option(amount, "--quiet", None, "no progress, remarks and warnings; results and errors only")
    option(amount, "--verbose", None, "say more, and show where an error came from")


@contextmanager
def settings(options: argparse.Namespace) -> Iterator[None]:
    """Print as the options ask for, for as long as the block lasts."""
    global _stdout, _silent
    log = logging.getLogger("robot_dynamics_ros")
    handler = logging.StreamHandler(sys.stderr)
    before = _silent
    _silent = options.quiet
    with ExitStack() as stack:
        stack.callback(log.removeHandler, handler)
        if options.verbose:
            log.addHandler(handler)
        if options.json:
            _stdout = sys.stdout
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(redirect_stdout(nowhere if options.quiet else sys.stderr))
        try:
            yield
        finally:
            _stdout = None
            _silent = before


def result(options: argparse.Namespace, data: Mapping[str, object], text: str) -> None:
    """Print a result: ``text``, or ``data`` with ``--json`` (arrays as lists, what is not finite as
    null).
    """
    if options.json:
        # NumPy must not be imported before Ctrl-C is handled
        from robot_dynamics_ros.arrays import (
            plain,
        )

        print(
            json.dumps(plain(data), indent=2, ensure_ascii=False, default=str),
            file=_stdout or sys.stdout,
        )
    else:
        print(text)


class Progress:
    """Shows the share of a computation that is done; on standard error if not given.

    Use as a context manager.
    """

    def __init__(self, label: str, total: float, stream: TextIO | None = None) -> None:
        self._label = label
        self._total = max(total, 1e-300)
        if stream is not None:
            self._stream = stream
        else:
            self._stream = sys.stderr
        self._silent = _silent
        self._moving = self._stream.isatty() and not _silent
        self._due = 0.0
        self._quarter = 0
        self._printed = time.monotonic()
        self._line = ""

    def update(self, done: float, note: str = "") -> None:
        """Show how much of the total is done."""
        if self._silent:
            return
        share = min(max(done / self._total, 0.0), 1.0)
        filled = int(share * _WIDTH)
        self._line = (
            f"{self._label:<11} [{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%}  {note}"
        )
        if self._moving:
            now = time.monotonic()
            if now >= self._due:
                self._due = now + 0.1
                self._stream.write(f"\r{self._line}\x1b[K")
                self._stream.flush()
            return
        long_silent = time.monotonic() - self._printed > LONGEST_SILENCE
        if int(share * 4) > self._quarter or long_silent:
            self._quarter = int(share * 4)
            self._printed = time.monotonic()
            self._stream.write(self._line + "\n")
            self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._moving:
            self._stream.write(f"\r{self._line}\x1b[K\n")
            self._stream.flush()


def with_progress(label: str, work: Callable[[Callable[[float], None]], _T]) -> _T:
    """Result of a computation that tells the share that is done; see :class:`Progress`."""
    with Progress(label, 1.0) as bar:
        result = work(bar.update)
        bar.update(1.0)
    return result


def with_count(
    label: str,
    things: str,
    work: Callable[[Callable[[int, int], None]], _T],
) -> _T:
    """The same of one that tells how many things are done, and how many there are."""
    with Progress(label, 1.0) as bar:
        return work(lambda done, total: bar.update(done / total, f"{done} of {total} {things}"))


class Figure(str):
    """A number as a table shows it; its ``value`` is what the JSON document holds."""

    __slots__ = ("value",)
    value: float

    @classmethod
    def of(
        cls,
        value: SupportsFloat,
        form: str,
        scale: float = 1.0,
        unit: str = "",
    ) -> Figure:
        """``value`` written in the given format, times ``scale``, and the unit beside it."""
        figure = cls(f"{float(value) * scale:{form}} {unit}".rstrip())
        figure.value = float(value) * scale
        return figure


def rows_as_data(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[dict[str, object]]:
    """A table as a list of objects; keys in snake_case, numbers in full, columns without a heading
    left out.
    """
    keys = [
        re.sub(
            r"[^a-z0-9]+", "_", word.lower().replace("±", "error of").replace("%", "percent")
        ).strip("_")
        for word in head
    ]
    return [
        {key: _number(cell) for key, cell in zip(keys, row, strict=True) if key} for row in rows
    ]


def failure(options: argparse.Namespace, problem: Exception | str) -> None:
    """Print an error; with ``--json`` also as the document on standard output."""
    error(str(problem))
    if getattr(options, "json", False):
        where, remedy = (getattr(problem, word, "") for word in ("where", "remedy"))
        document = {"message": str(problem), "where": where, "remedy": remedy}
        print(json.dumps({"error": document}, indent=2, ensure_ascii=False))


def remark(text: str) -> None:
    """Print something worth knowing; not with ``--quiet``."""
    if not _silent:
        print(text, file=sys.stderr)


def warning(text: str) -> None:
    """Print a warning."""
    print(f"{_coloured('warning:', _YELLOW)} {text}", file=sys.stderr)


def error(text: str) -> None:
    """Print an error."""
    print(f"{_coloured('error:', _RED)} {text}", file=sys.stderr)


def _coloured(text: str, colour: str) -> str:
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"{_BOLD}{colour}{text}\x1b[0m"


def _number(cell: object) -> object:
    if isinstance(cell, Figure):
        return cell.value
    if isinstance(cell, str):
        try:
            return float(cell)
        except ValueError:
            return None if cell == "-" else cell
    return cell


def print_table(
    options: argparse.Namespace,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    **more: object,
) -> None:
    """Print one table as the result; ``more`` goes into the JSON document beside its ``rows``."""
    result(options, {**more, "rows": rows_as_data(head, rows)}, table(head, rows))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be; numbers to the right, words to the left."""
    cells = [list(head), *map(list, rows)]
    columns = range(len(head))
    widths = [max(len(row[i]) for row in cells) for i in columns]
    # columns of numbers, or of several, with or without a unit
    right = [i > 0 and any(row[i].lstrip("+-.")[:1].isdigit() for row in rows) for i in columns]

    def cell(text: str, i: int) -> str:
        return text.rjust(widths[i]) if right[i] else text.ljust(widths[i])

    def line(row: Sequence[str]) -> str:
        return "  ".join(cell(row[i], i) for i in columns).rstrip()

    return "\n".join(
        [line(cells[0]), "  ".join("-" * width for width in widths), *map(line, cells[1:])]
    )
