"""The page about the command line says what the parsers say."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros.cli.main import COMMANDS, EXIT_CODES, make_parser

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command_line.md"
ROBOT, OUTPUT = SHARED = ("the robot", "output")


def options_of(
    parser: argparse.ArgumentParser, titles: tuple[str, ...], inside: bool
) -> list[argparse.Action]:
    return [
        action
        for group in parser._action_groups
        for action in group._group_actions
        if (group.title in titles) == inside and action.dest not in ("help", "version", "command")
    ]


def row(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """One line of a table, from the declaration of an argument."""
    formatter = parser._get_formatter()
    name = (
        ", ".join(f"`{word}`" for word in action.option_strings)
        or f"`{action.metavar or action.dest}`"
    )
    values = (
        formatter._format_args(action, action.dest.upper())
        if action.nargs != 0 and action.option_strings
        else ""
    )
    text = " ".join(formatter._expand_help(action).split()) if action.help else ""
    return f"| {name} | {f'`{values}`' if values else ''} | {text} |".replace("  ", " ")


def page() -> str:
    """The page, made from the parsers."""
    parser = make_parser(list(COMMANDS))
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    first = next(iter(commands.values()))
    no_robot = [
        f"`{name}`"
        for name, sub in commands.items()
        if not any(action.dest == "robot" for action in sub._actions)
    ]
    head = "| option | values | meaning |\n|---|---|---|\n"
    lines = [OPENING, "| code | meaning |\n|---|---|"]
    lines += [f"| {code} | {text} |" for code, text in EXIT_CODES.items()]
    lines += [
        "\n## Options of every command\n",
        head + "\n".join(row(a, first) for a in options_of(first, (OUTPUT,), True)),
        f"\n## Options of the robot\n\nOf every command but {' and '.join(no_robot)}.\n",
        head + "\n".join(row(a, first) for a in options_of(first, (ROBOT,), True)),
    ]
    for name, sub in commands.items():
        own = [action for action in options_of(sub, SHARED, False) if action.dest != "robot"]
        lines += [
            f"\n## {name}\n",
            f"{sub.description}\n",
            head + "\n".join(row(a, sub) for a in own) if own else "No options of its own.",
        ]
    return "\n".join(lines) + "\n"


OPENING = """# Command line

```sh
robot_dynamics COMMAND ROBOT [options]        # also: python -m robot_dynamics_ros COMMAND ROBOT
robot_dynamics info six_axis                  # a robot that ships with the package
robot_dynamics info my_arm.urdf               # URDF, or MJCF with the extra mjcf
robot_dynamics info my_arm.xacro tool:=gripper side:=left
xacro my_arm.xacro | robot_dynamics info -    # standard input
robot_dynamics info robot_description         # the robot that runs; or /NAMESPACE/robot_description
eval "$(register-python-argcomplete robot_dynamics)"   # tab completion, with the extra completion
```

The robot is the first argument, in any of these forms. `hold` and `payload` have none: they ask
the controller that runs. Results go to standard output; progress, remarks, warnings and errors to
standard error, in colour on terminals only (never with `NO_COLOR` set). Ctrl-C, SIGTERM and SIGHUP
end a command and everything it has started. Where another setting avoids an error, the message ends
with the command to run.

This page is made from the program: `python test/cli/test_command_line_page.py` writes it anew.

## Exit codes
"""


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="argparse words its arguments in another way"
)
def test_the_page_is_what_the_parsers_say():
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "python test/cli/test_command_line_page.py writes it anew"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
