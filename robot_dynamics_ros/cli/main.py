"""The ``robot_dynamics`` command: one subcommand a module, imported only when it is used."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from robot_dynamics_ros.errors import RobotDynamicsError

__all__ = ["main"]

#: name → (module, one line of help).  A module has ``add_arguments(parser)`` and ``run(arguments) -> exit code``.
COMMANDS = {
    "demo": ("robot_dynamics_ros.cli.demo", "simulator and controller in two processes follow a trajectory"),
    "equations": ("robot_dynamics_ros.cli.equations", "equations of motion in symbols, as text, LaTeX or a page"),
    "excite": (
        "robot_dynamics_ros.cli.excite",
        "a motion that shows a robot's inertias and friction, within its limits",
    ),
    "export": ("robot_dynamics_ros.cli.export", "dynamics as C99 or NumPy code that depends on nothing of ours"),
    "identify": ("robot_dynamics_ros.cli.identify", "inertias and friction from recorded motion: a URDF and a report"),
    "info": ("robot_dynamics_ros.cli.info", "what a URDF amounts to: joints, limits, masses"),
    "monte_carlo": ("robot_dynamics_ros.cli.monte_carlo", "a motion on many robots that are not quite as drawn"),
    "view": (
        "robot_dynamics_ros.cli.view",
        "a robot in a browser: standing, from a recording, or live; pictures and films",
    ),
    "wrenches": ("robot_dynamics_ros.cli.wrenches", "joint efforts and wrenches of recorded joint states"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="robot_dynamics", description="Dynamics, control and simulation of any robot with a URDF."
    )
    subparsers = parser.add_subparsers(title="commands", dest="command", required=True)
    for name, (module, text) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if given[:1] == [name]:
            import_module(module).add_arguments(subparser)
    options = parser.parse_args(given)
    try:
        return int(import_module(COMMANDS[options.command][0]).run(options))
    except RobotDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
