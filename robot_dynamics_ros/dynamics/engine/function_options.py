"""Options of a function of the registry as a user gives them by name: checked, completed, links by
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robot_dynamics_ros.dynamics.engine.registry import TABLE
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.robot_model import RobotModel

SWITCHES = {"external": "external", "link_external": "external", "base": "moving_base"}
"""Inputs that may be left out, and the option that says they are there."""
FRAMES = ("world", "link")


def completed_options(
    model: RobotModel,
    name: str,
    options: Mapping[str, object],
    *,
    where: str,
) -> dict[str, Any]:
    """The options of a function, those with usual values filled in.

    Raises:
        UnknownNameError: no such function, link or frame.
        ArgumentError: an option is missing, or not one of this function.
    """
    check_name("function", name, TABLE, where=where)
    entry = TABLE[name]
    chosen: dict[str, Any] = dict(options)
    valid = {*entry.options, *(SWITCHES[w] for w, _ in entry.inputs if w in SWITCHES)}
    if not entry.takes_options and (extra := sorted(set(chosen) - valid)):
        raise ArgumentError(
            f"{name} has no option {extra[0]!r}",
            where=where,
            got=extra[0],
            remedy=f"Its options: {', '.join(sorted(valid)) or 'none'}.",
        )
    if "frame" in entry.options:
        check_name("frame", chosen.setdefault("frame", "world"), FRAMES, where=where)
    if "viscous" in entry.options:
        chosen.setdefault("viscous", False)
    if missing := [word for word in entry.options if word not in chosen]:
        raise ArgumentError(
            f"{name} needs the option {missing[0]!r}",
            where=where,
            remedy=f"Call it with {', '.join(f'{w}=…' for w in missing)}, as rd.kernel takes it.",
        )
    link = chosen.get("link")
    if isinstance(link, str):
        chosen["link"] = model.link_index(link)
    elif link is not None and link not in range(len(model.link_names)):
        check_name("link", link, model.link_names, where=where)
    return chosen
