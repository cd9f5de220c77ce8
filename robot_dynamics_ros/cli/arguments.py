"""Types of command-line arguments; a wrong value ends in a usage error."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from robot_dynamics_ros.errors import ArgumentError, check_name

_N = TypeVar("_N", float, int)
_S = TypeVar("_S")
# Sizes of numbers that can be meant: beyond them products of two leave the range of doubles or lose
# all digits, and a digit was typed twice.
SMALLEST = 1e-15
LARGEST_ARGUMENT = 1e12
# More steps, or waypoints, are refused: they would take hours.
MOST_STEPS = 2_000_000


def option(
    parser: argparse._ActionsContainer,
    names: str,
    takes: Callable[[str], object] | Sequence[str] | None,
    text: str,
    default: object = None,
    *,
    many: bool = False,
    **settings: object,
) -> None:
    """Declare an option of a parser, or of a group of one.

    Args:
        names: ``"--output"``, or several with blanks between.
        takes: type of its value, the values to choose from, or what help calls a text; ``None``: it
            is a flag.
        text: help; its end names the default, unless the text speaks of it, or says that the option
            is repeatable.
        many: it can be repeated.
        settings: of :meth:`argparse.ArgumentParser.add_argument`.
    """
    declared: dict[str, Any] = {"default": default, "help": text, **settings}
    if takes is None:
        declared = {"action": "store_true", "help": text}
    elif isinstance(takes, str):
        declared["metavar"] = takes
    elif callable(takes):
        declared["type"] = takes
    else:
        declared["choices"] = takes
    if many:
        declared |= {"action": "extend" if "nargs" in settings else "append", "default": []}
        declared["help"] = f"{text} (repeatable)"
    elif default not in (None, "") and "default" not in text:
        declared["help"] = f"{text} (default: %(default)s)"
    parser.add_argument(*names.split(), **declared)


def settings_of(kind: Callable[..., _S], options: argparse.Namespace, **more: Any) -> _S:
    """Settings (a dataclass) made of the options of the same names, and of those given by name."""
    names = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    return kind(
        **{
            name: getattr(options, name)
            for name in names
            if hasattr(options, name) and name not in more
        },
        **more,
    )


def chosen(words: str, choices: Sequence[str], where: str) -> list[str]:
    """The words of an option that takes several, with commas; an error if there is none, or one is
    no choice.
    """
    names = [word for word in words.split(",") if word]
    if not names:
        remedy = f"Choose among {', '.join(choices)}, with commas."
        raise ArgumentError("names nothing", where=where, got=words, remedy=remedy)
    for name in names:
        check_name(where.lstrip("-"), name, choices, where=where)
    return names


def pairs(texts: Iterable[str], form: str, where: str, remedy: str) -> dict[str, str]:
    """Name → value, the sides of the last equals sign of each text; an error if one side is empty,
    or a name is there twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if not name or not value or name in found:
            if name in found:
                problem = f"{name} is named twice"
            else:
                problem = f"expected {form}, got {text[:80]!r}"
            raise ArgumentError(problem, where=where, remedy=remedy)
        found[name] = value
    return found


def numbers(text: str, *counts: int) -> list[float]:
    """So many finite numbers with commas between; a ValueError if it is something else."""
    values = [float(word) for word in text.split(",")]
    if len(values) not in counts or not all(map(math.isfinite, values)):
        raise ValueError
    return values


def check_count(count: float, things: str, where: str, least: int = 1) -> None:
    """Refuse too few of something, and more than can be computed."""
    if not least <= count <= MOST_STEPS:
        raise ArgumentError(
            f"{count:.3g} {things}", where=where, remedy=f"Give {least} to {MOST_STEPS} in all."
        )


def refuse_to_replace(paths: Iterable[Path], overwrite: bool) -> None:
    """Refuse what an earlier run has written, unless it may be replaced."""
    for path in paths:
        if path.exists() and not overwrite:
            raise ArgumentError(
                f"{path} exists", where="--output", remedy="Name another, or pass --overwrite."
            )


def finite(text: str) -> float:
    """A finite number of a size that can be computed with."""
    try:
        if text.isascii() and "_" not in text:
            value = float(text)
        else:
            value = math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {_shown(text)}")
    if value != 0.0 and not SMALLEST <= abs(value) <= LARGEST_ARGUMENT:
        raise argparse.ArgumentTypeError(
            f"expected 0 or a size from {SMALLEST:g} to {LARGEST_ARGUMENT:g}, got {_shown(text)}"
        )
    return value


def coordinate_or_name(text: str) -> float | str:
    """One number of a configuration, or the name of one."""
    if text[:1].isalpha() and text.lower().strip() not in ("nan", "inf", "infinity"):
        return text
    return finite(text)


def coordinates_or_name(text: str) -> list[float | str]:
    """A configuration in one word: its numbers, with commas, or its name."""
    return [coordinate_or_name(word) for word in text.split(",")]


def whole(text: str) -> int:
    """A whole number that fits into 63 bits."""
    try:
        if text.isascii() and "_" not in text and len(text) < 20:
            value = int(text)
        else:
            value = None
    except ValueError:
        value = None
    if value is None or abs(value) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {_shown(text)}")
    return value


def _checked(
    read: Callable[[str], _N],
    good: Callable[[_N], bool],
    expected: str,
) -> Callable[[str], _N]:
    """As ``read``, for numbers that are good."""

    def check(text: str) -> _N:
        value = read(text)
        if not good(value):
            raise argparse.ArgumentTypeError(f"expected {expected}, got {_shown(text)}")
        return value

    return check


positive = _checked(finite, lambda x: x > 0.0, "a number above zero")
not_negative = _checked(finite, lambda x: x >= 0.0, "zero or more")
share = _checked(positive, lambda x: x <= 1.0, "a number above 0 and at most 1")
at_least_one = _checked(whole, lambda x: 1 <= x <= 1_000_000, "a whole number from 1 to 1000000")
digits = _checked(whole, lambda x: 1 <= x <= 17, "a whole number from 1 to 17")
seed = _checked(whole, lambda x: x >= 0, "a whole number, zero or more")


def output_file(text: str) -> Path:
    """The path of a file that can be written, as far as can be seen now: before a long
    computation.
    """
    with _writable(text) as path:
        if path.is_dir():
            raise argparse.ArgumentTypeError(f"{_shown(text)} is a directory; name a file")
        if not path.parent.is_dir():
            if path.parent.exists():
                problem = "is no directory"
            else:
                problem = "does not exist; make it first"
            raise argparse.ArgumentTypeError(
                f"{_shown(text)}: {_shown(str(path.parent))} {problem}"
            )
        _check_permission(path if path.exists() else path.parent)
    return path


def output_directory(text: str) -> Path:
    """The path of a directory that can be written, or made; also the first part of the names of
    files in one.
    """
    with _writable(text) as path:
        existing = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not existing.is_dir():
            raise argparse.ArgumentTypeError(
                f"{_shown(text)}: {_shown(str(existing))} is no directory"
            )
        _check_permission(existing)
    return path


def new_directory(text: str) -> Path:
    """As :func:`output_directory`, for one that is not there yet."""
    path = output_directory(text)
    if path.exists():
        raise argparse.ArgumentTypeError(
            f"{_shown(text)} is there already; remove it, or name another"
        )
    return path


@contextmanager
def _writable(text: str) -> Iterator[Path]:
    """The path; what the file system says about it in this block is an error of the argument."""
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"expected a path, got {_shown(text)}")
    try:
        yield Path(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{_shown(text)}: {error.strerror}") from None


def _check_permission(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"{_shown(str(path))} may not be written by this user")


def input_path(text: str) -> str:
    """A file or directory that is there; devices and pipes, which may never end, are not read."""
    with suppress(OSError, ValueError):
        path = Path(text)
        if path.is_file() or path.is_dir():
            return text
        if path.exists():
            raise argparse.ArgumentTypeError(f"{_shown(text)} is no regular file")
    raise argparse.ArgumentTypeError(f"{_shown(text)} does not exist")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
