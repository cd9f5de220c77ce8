"""The help of a node, printed for ``--help``: how it is started, examples, and its parameters.

It needs neither the middleware nor NumPy, so that it answers where ROS 2 is not installed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

# columns of the text
_HELP_WIDTH = 100
# where descriptions begin
_HELP_INDENT = 6

# node → what it does, its sections of the tables, lines of examples
_NODES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "simulator": (
        "Takes the place of the robot: efforts in, joint states out.",
        ("common:robot", "common:realtime", "simulator:"),
        (
            "-p robot_description_file:=six_axis",
            "-p robot_description_file:=my_arm.urdf -p update_rate:=1000.0",
        ),
    ),
    "controller": (
        "Joint states in, efforts out: holds, and follows trajectories.",
        ("common:robot", "common:realtime", "controller:"),
        (
            "  (with the description that the simulator publishes)",
            "-p robot_description_file:=my_arm.urdf -p payload.link:=tool0 -p payload.mass:=2.0",
        ),
    ),
    "effort_gate": (
        "Passes efforts on to the robot while they are plausible and fresh.",
        ("common:robot", "gate:"),
        ("-p robot_description_file:=six_axis",),
    ),
    "commissioning": (
        "Drives a new arm through the steps of commissioning.",
        ("common:robot", "commissioning:"),
        ("-p robot_description_file:=my_arm.urdf",),
    ),
    "payload_identification": (
        "Finds mass and centre of mass of what the robot holds.",
        ("common:robot", "payload_identification:"),
        ("-p robot_description_file:=six_axis",),
    ),
    "viewer": (
        "Shows the robot and the loads in its joints in a browser.",
        ("common:robot", "viewer:"),
        ("-p robot_description_file:=six_axis -p open_browser:=true",),
    ),
}


def node_help(node: str, program: str) -> str:
    """The text for a node that is started as ``program``."""
    purpose, sections, examples = _NODES[node]
    lines = [
        f"usage: {program} [--ros-args -p NAME:=VALUE … --params-file FILE -r OLD:=NEW]",
        "",
        purpose,
        "",
        "examples:",
        *(f"  {_example(program, words)}" for words in examples),
    ]
    if node in ("simulator", "controller"):
        lines += [
            "",
            "With simulator and controller running, in another terminal:",
            "  robot_dynamics send --to 0.3 -1.2 1.2 0 0.5 0   # a motion; the exit code tells",
            "  robot_dynamics hold                              # stop here, under control",
            "  robot_dynamics payload tool0:2.0                 # carry 2 kg",
        ]
    lines += ["", "parameters (name, default, unit):"]
    for name, fields in _parameters(sections):
        lines += _parameter_lines(name, fields)
    return "\n".join(lines)


def _example(program: str, words: str) -> str:
    if words.startswith(" "):
        return f"{program}{words}"
    return f"{program} --ros-args {words}"


def _parameters(sections: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and fields of each parameter of the sections; ``file:`` names all of a file."""
    found = []
    for section in sections:
        file, _, name = section.partition(":")
        path = Path(__file__).parent / "tables" / f"{file}.yaml"
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
        for key, entries in table.items():
            if name in ("", key):
                found += list(entries.items())
    return found


def _parameter_lines(name: str, fields: Mapping[str, Any]) -> list[str]:
    head = f"  {name}"
    if "default" in fields:
        head += f"  {_plain(fields['default'])}"
    if fields.get("unit"):
        head += f"  [{fields['unit']}]"
    text = str(fields.get("description", ""))
    if fields.get("choices"):
        text += f" One of: {', '.join(map(str, fields['choices']))}."
    margin = " " * _HELP_INDENT
    return [
        head,
        *textwrap.wrap(text, _HELP_WIDTH, initial_indent=margin, subsequent_indent=margin),
    ]


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return '""' if value == "" else str(value)
