"""Pages about the Python library: one for each part of it, every public name with signature,
docstring and example.
"""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType

import robot_dynamics_ros as rd

TITLES = rd.PARTS | {"recordings": "Recordings", "commissioning": "Commissioning"}
PARTS = tuple(TITLES)


def first_sentence(module: ModuleType) -> str:
    """Of its docstring, as a heading."""
    return (inspect.getdoc(module) or module.__name__).partition("\n")[0].rstrip(".:")


def public_names(part: str) -> dict[str, str]:
    """Public name → module that defines it, in the order in which the part lists them."""
    module = importlib.import_module(f"robot_dynamics_ros.{part}")
    return {
        name: getattr(getattr(module, name), "__module__", None) or module.__name__
        for name in getattr(module, "__all__", ())
    }


def page(part: str) -> str:
    """Markdown with directives for mkdocstrings, the names that one file defines together."""
    module = importlib.import_module(f"robot_dynamics_ros.{part}")
    groups: dict[str, list[str]] = {}
    for name, home in public_names(part).items():
        known = home if home.startswith("robot_dynamics_ros.") else module.__name__
        groups.setdefault(known, []).append(name)
    prefix = {
        "recordings": "robot_dynamics_ros.recordings",
        "commissioning": "rd.commissioning",
    }.get(part, "rd")
    lines = [f"# {TITLES[part]}", "", f"`robot_dynamics_ros.{part}`; in code `{prefix}.NAME`.", ""]
    lines += [
        f"::: robot_dynamics_ros.{part}",
        "    options:",
        "      members: false",
        "      show_root_heading: false",
        "",
    ]
    for home, names in groups.items():
        if home != module.__name__:
            lines += [f"## {first_sentence(importlib.import_module(home))}", ""]
        for name in names:
            lines += [f"::: robot_dynamics_ros.{part}.{name}", ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Path in the site → text."""
    return {f"reference/library/{part}.md": page(part) for part in PARTS}
