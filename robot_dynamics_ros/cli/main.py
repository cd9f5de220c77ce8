# PYTHON_ARGCOMPLETE_OK
"""The ``robot_dynamics`` command: one subcommand a module, imported only when it is used; it ends
with :data:`EXIT_CODES`.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from robot_dynamics_ros import __version__
from robot_dynamics_ros.cli import output
from robot_dynamics_ros.cli.signals import Terminated, ending, ending_signals
from robot_dynamics_ros.errors import RobotDynamicsError

# Name → one line of help.  The module of that name has ``add_arguments(parser)`` and
# ``run(arguments) -> exit code``.
COMMANDS = {
    "commission": "from a new arm to a tuned one: finds mistakes before motion, then chooses gains",
    "demo": "simulator and controller in two processes follow a trajectory",
    "equations": "equations of motion in symbols, as text, LaTeX or a page",
    "excite": "a motion that shows a robot's inertias and friction, within its limits",
    "export": "dynamics as C99 or NumPy code that needs no library of this package",
    "hold": "have the running controller stop the arm where it is, under control",
    "identify": "inertias and friction from recorded motion: a URDF and a report",
    "info": "links, masses, inertias, joints, axes and limits of a robot",
    "monte_carlo": "a motion on many robots that differ at random from their description",
    "payload": "tell the running controller what the arm carries",
    "send": "have the running controller move the arm, within its limits, and wait for the end",
    "simulate": "a robot falling or led along a motion, as fast as it can be computed",
    "view": "a robot in a browser: standing, from a recording, or live; pictures and films",
    "wrenches": "joint efforts and wrenches of recorded joint states",
}

EXIT_CODES = {
    0: "done, and the goal was reached",
    1: "the goal was not reached: not arrived, a step not done, a run failed, a poor result",
    2: "the input or the command line is wrong; the message says what and how to go on",
    70: "an error of this program",
    129: "ended by SIGHUP (a closed terminal)",
    130: "ended by SIGINT (Ctrl-C)",
    141: "nobody reads the output any more",
    143: "ended by SIGTERM",
}

_XACRO_ARGUMENT = re.compile(r"[A-Za-z_][\w.-]*:=")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and where to read on."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        # also -1e-3, which argparse takes for an option before Python 3.14
        self._negative_number_matcher = re.compile(r"-(\d|\.\d|inf$|nan$)")

    def error(self, message: str) -> NoReturn:
        output.error(message)
        output.remark(f"{self.prog} --help lists the options")
        sys.exit(2)


def _module(command: str) -> ModuleType:
    return import_module(f"robot_dynamics_ros.cli.{command}")


def make_parser(load: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser; ``load`` names the commands whose arguments are needed (their modules are
    imported).
    """
    parser = _Parser(
        prog="robot_dynamics",
        description="Dynamics, control and simulation of any robot with a URDF. The robot is the "
        "first argument: robot_dynamics COMMAND ROBOT [options]. hold and payload have none: "
        "they ask the controller that runs.",
        epilog="exit codes: "
        + "; ".join(f"{code} {text}" for code, text in EXIT_CODES.items())
        + ".",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"robot_dynamics {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for name, text in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False
        )
        if name in load:
            _module(name).add_arguments(subparser)
            output.add_arguments(subparser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # NumPy is not loaded yet; the threads of its BLAS would spend more on waiting for each other
    # than small matrices take
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with ending_signals():
            return _run(words)
    except Terminated as end:
        output.remark("terminated")
        return end.code
    except KeyboardInterrupt:
        output.remark("interrupted")
        return 130
    except BrokenPipeError:
        # what Python still holds back for the closed pipe must not raise again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _run(arguments: list[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    words = [word for word in arguments if _XACRO_ARGUMENT.match(word)]
    rest = [word for word in arguments if word not in words]
    with _said_if_long("loading libraries", silent="--quiet" in rest):
        parser = make_parser([word for word in rest if word in COMMANDS][:1])
    options = _parsed(parser, rest)
    options.xacro_arguments = dict(word.split(":=", 1) for word in words)
    options.typed = shlex.join(["robot_dynamics", *arguments])
    try:
        with output.settings(options), _findings(options):
            code = int(_module(options.command).run(options))
            sys.stdout.flush()
            return code
    except RobotDynamicsError as error:
        output.failure(options, error)
        setting, value = error.setting or ("", "")
        if (option := f"--{setting.replace('_', '-')}") in parser_options(options):
            again = ["robot_dynamics", *_without(arguments, option), option, value]
            output.remark(f"to go on: {shlex.join(again)}")
        return 2
    except (BrokenPipeError, RecursionError):
        raise
    except (OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.filename:
            place = f"{error.filename!r}: "
        else:
            place = ""
        output.failure(options, f"{place}{getattr(error, 'strerror', None) or error}")
        return 2
    except MemoryError:
        output.failure(options, "there is not enough memory for what was asked for")
        return 2
    except Exception as error:
        if options.verbose or ending():
            raise
        output.failure(options, f"this should not have happened: {type(error).__name__}: {error}")
        output.remark("--verbose shows where; please report it with the command line")
        return 70


@contextmanager
def _said_if_long(doing: str, *, silent: bool) -> Iterator[None]:
    """Say every few seconds that something is still being done: imports tell no progress."""
    over = threading.Event()

    def say() -> None:
        seconds = output.LONGEST_SILENCE
        while not over.wait(output.LONGEST_SILENCE):
            output.remark(f"{doing}, {seconds:.0f} s")
            seconds += output.LONGEST_SILENCE

    if not silent:
        threading.Thread(target=say, name="progress", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _parsed(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The options; what is wrong with the words ends the process."""
    later = next((word for word in words if word in COMMANDS), None)
    if later and words[0] not in COMMANDS and not words[0].startswith("-"):
        again = ["robot_dynamics", later, *(word for word in words if word != later)]
        parser.error(f"the command goes before the robot: {shlex.join(again)}")
    options, unknown = parser.parse_known_args(words)
    if unknown:
        accepted = parser_options(options)
        hints = [
            near[0]
            for word in unknown
            if (near := difflib.get_close_matches(word.split("=")[0], accepted, n=1))
        ]
        parser.prog = f"robot_dynamics {options.command}"
        parser.error(
            f"unknown to {options.command}: {shlex.join(unknown)}"
            + (f"; is {' '.join(dict.fromkeys(hints))} meant?" if hints else "")
        )
    return options


def parser_options(options: argparse.Namespace) -> set[str]:
    """The options that the command of ``options`` has, as typed."""
    return {f"--{name.replace('_', '-')}" for name in vars(options)}


def _without(words: list[str], option: str) -> list[str]:
    """``words`` without ``option`` and its value."""
    rest = [word for word in words if not word.startswith(option + "=")]
    k = rest.index(option) if option in rest else len(rest)
    return rest[:k] + rest[k + 2 :]


@contextmanager
def _findings(options: argparse.Namespace) -> Iterator[None]:
    """Warnings as remarks on standard error, each once; none with ``--quiet``."""
    seen: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        *_: object,
        **__: object,
    ) -> None:
        if not options.quiet and str(message) not in seen:
            seen.add(str(message))
            output.warning(str(message))

    with warnings.catch_warnings():
        if not options.verbose:
            warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


def _complete() -> None:
    """Tab completion (``eval "$(register-python-argcomplete robot_dynamics)"``); ends the
    process.
    """
    try:
        import argcomplete
    except ImportError:
        sys.exit(1)
    line = os.environ.get("COMP_LINE", "").split()
    argcomplete.autocomplete(make_parser([word for word in line if word in COMMANDS][:1]))


if __name__ == "__main__":
    sys.exit(main())
