"""Types of command-line arguments: a value that cannot be meant ends in a usage error, not in a traceback."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

__all__ = ["at_least_one", "finite", "input_path", "not_negative", "output_path", "positive", "seed", "share", "whole"]

LONGEST_NAME = 255  # bytes of one component of a path, on the file systems in use


def finite(text: str) -> float:
    """A finite number."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {_shown(text)}")
    return value


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


def output_path(text: str) -> Path:
    """A path that can be written to, as far as its name tells."""
    if not text or "\0" in text or any(len(part.encode()) > LONGEST_NAME for part in Path(text).parts):
        raise argparse.ArgumentTypeError(f"expected a path, got {_shown(text)}")
    return Path(text)


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
