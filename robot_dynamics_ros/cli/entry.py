# PYTHON_ARGCOMPLETE_OK
"""Where the ``robot_dynamics`` program begins: Ctrl-C ends it quietly from the first import on."""

from __future__ import annotations

# built in, as os is loaded already: there is no file to read while a signal comes
import _signal  # type: ignore[import-not-found]
import os
from types import FrameType

# what a shell expects of a program that SIGINT has ended
_INTERRUPTED = 130


def _end(_number: int, _frame: FrameType | None) -> None:
    """Nothing is open yet, and nothing is running."""
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


def main() -> int:
    """Run one command and return its exit code."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)
    from robot_dynamics_ros.cli.main import main as run_command

    return run_command()
