"""Types of command-line arguments: a value that cannot be meant ends in a usage error, not in a traceback."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

SMALLEST, LARGEST = 1e-15, 1e12  # sizes of numbers that can be meant
LONGEST_NAME = 255  # bytes of one component of a path, on the file systems in use


def finite(text: str) -> float:
    """A finite number of a size that can be computed with."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {_shown(text)}")
    if value != 0.0 and not SMALLEST <= abs(value) <= LARGEST:
        raise argparse.ArgumentTypeError(f"expected 0 or a size from {SMALLEST:g} to {LARGEST:g}, got {_shown(text)}")
    return value


def coordinate_or_name(text: str) -> float | str:
    """One number of a configuration, or the name of one."""
    return text if text[:1].isalpha() and text.lower().strip() not in ("nan", "inf", "infinity") else finite(text)


def positive(text: str) -> float:
    """A finite number above zero."""
    value = finite(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"expected a number above zero, got {_shown(text)}")
    return value


def not_negative(text: str) -> float:
    """A finite number that is zero or more."""
    value = finite(text)
    if value < 0.0:
        raise argparse.ArgumentTypeError(f"expected zero or more, got {_shown(text)}")
    return value


def share(text: str) -> float:
    """A number above 0, at most 1."""
    value = positive(text)
    if value > 1.0:
        raise argparse.ArgumentTypeError(f"expected a number above 0 and at most 1, got {_shown(text)}")
    return value


def whole(text: str) -> int:
    """A whole number that fits into 63 bits."""
    try:
        value = int(text) if text.isascii() and "_" not in text and len(text) < 20 else None
    except ValueError:
        value = None
    if value is None or abs(value) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {_shown(text)}")
    return value


def at_least_one(text: str) -> int:
    """A whole number from 1 to a million."""
    value = whole(text)
    if not 1 <= value <= 1_000_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 1000000, got {_shown(text)}")
    return value


def seed(text: str) -> int:
    """A whole number that a random number generator starts from: zero or more."""
    value = whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number, zero or more, got {_shown(text)}")
    return value


def output_file(text: str) -> Path:
    """The path of a file that can be written, as far as can be seen now: long computations must not end with nowhere to
    write to."""
    path = _named(text)
    try:
        if path.is_dir():
            raise argparse.ArgumentTypeError(f"{_shown(text)} is a directory; name a file")
        if not path.parent.is_dir():
            there = "is no directory" if path.parent.exists() else "does not exist; make it first"
            raise argparse.ArgumentTypeError(f"{_shown(text)}: {_shown(str(path.parent))} {there}")
        _check_permission(path if path.exists() else path.parent)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{_shown(text)}: {error.strerror}") from None
    return path


def output_directory(text: str) -> Path:
    """The path of a directory that is there or can be made, as far as can be seen now; also the first part of the names
    of files in one."""
    path = _named(text)
    try:
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not there.is_dir():
            raise argparse.ArgumentTypeError(f"{_shown(text)}: {_shown(str(there))} is no directory")
        _check_permission(there)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{_shown(text)}: {error.strerror}") from None
    return path


def new_directory(text: str) -> Path:
    """As :func:`output_directory`, for one that is not there yet."""
    path = output_directory(text)
    if path.exists():
        raise argparse.ArgumentTypeError(f"{_shown(text)} is there already; remove it, or name another")
    return path


def _named(text: str) -> Path:
    if not text.strip() or "\0" in text or any(len(part.encode()) > LONGEST_NAME for part in Path(text).parts):
        raise argparse.ArgumentTypeError(f"expected a path, got {_shown(text)}")
    return Path(text)


def _check_permission(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"{_shown(str(path))} may not be written by this user")


def input_path(text: str) -> str:
    """A file or directory that is there; devices and pipes, which may never end, are not read."""
    try:
        path = Path(text)
        if path.is_file() or path.is_dir():
            return text
        there = path.exists()
    except (OSError, ValueError):
        there = False
    raise argparse.ArgumentTypeError(f"{_shown(text)} {'is no regular file' if there else 'does not exist'}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
