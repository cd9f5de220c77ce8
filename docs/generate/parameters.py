"""The page about parameters: made from the tables with which the nodes declare them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import robot_dynamics_ros as rd
from robot_dynamics_ros.ros.commissioning import COMMISSIONING_PARAMETERS
from robot_dynamics_ros.ros.controller.parameters import CONTROLLER_PARAMETERS
from robot_dynamics_ros.ros.controller.parameters import (
    JOINT_PARAMETERS as CONTROLLER_JOINT_PARAMETERS,
)
from robot_dynamics_ros.ros.effort_gate import GATE_PARAMETERS, limit_parameters
from robot_dynamics_ros.ros.payload_identification import (
    PAYLOAD_IDENTIFICATION_PARAMETERS as PAYLOAD_PARAMETERS,
)
from robot_dynamics_ros.ros.simulator.parameters import (
    SIMULATED_JOINT_PARAMETERS,
    SIMULATOR_PARAMETERS,
    initial_position_parameters,
    shape_parameters,
)
from robot_dynamics_ros.ros.transport.parameters import Param
from robot_dynamics_ros.ros.transport.robot import MEASURED_EFFORT_FACTOR
from robot_dynamics_ros.ros.viewer import VIEWER_PARAMETERS

MODEL = rd.limb(1)
JOINT = MODEL.joint_names[0]
ARMATURE = Param(
    "armature.<joint>",
    0.0,
    "Inertia of rotor and gears as felt at the joint; by default that of the description.",
    unit="kg m^2 or kg",
    lower=0.0,
    applies="when the description is read",
)
NODES: dict[str, tuple[str, tuple[Param, ...], tuple[Param, ...]]] = {
    "controller": ("Controller", CONTROLLER_PARAMETERS, (*CONTROLLER_JOINT_PARAMETERS, ARMATURE)),
    "simulator": (
        "Simulator",
        SIMULATOR_PARAMETERS,
        (*initial_position_parameters(MODEL), *SIMULATED_JOINT_PARAMETERS, ARMATURE),
    ),
    "effort_gate": (
        "Effort gate",
        GATE_PARAMETERS,
        (*limit_parameters(MODEL, MODEL.joint_names), ARMATURE),
    ),
    "viewer": ("Viewer", VIEWER_PARAMETERS, ()),
    "commissioning": ("Commissioning", COMMISSIONING_PARAMETERS, (MEASURED_EFFORT_FACTOR,)),
    "payload_identification": (
        "Payload identification",
        PAYLOAD_PARAMETERS,
        (MEASURED_EFFORT_FACTOR,),
    ),
}
"""Executable → title, parameters of the node, parameters of each joint."""

HEAD = """# Parameters

Made from the declarations in the code. `ros2 param describe` shows the same on a running node.

- Whole numbers are accepted for real parameters (`kp: 500`), and `[]` is an empty list.
- A file that `ros2 param dump` writes starts the same node.
- An unknown name is ignored with a warning that names the nearest known one. A file that cannot be
  read ends the node; the message names the line.
- A change is checked as a whole and accepted or refused as a whole, with a reason.
- "Fixed": the value can only be set at start. All others change at once, or when their line says.
"""


def value(given: Any) -> str:
    """As it stands in a parameter file."""
    if isinstance(given, tuple):
        return "[" + ", ".join(value(item) for item in given) + "]"
    if isinstance(given, bool):
        return str(given).lower()
    return f'"{given}"' if given == "" else str(given)


def allowed(param: Param) -> str:
    """Values that are accepted."""
    if param.choices:
        return ", ".join(f"`{choice}`" for choice in param.choices)
    parts = []
    if param.lower is not None:
        parts.append(f"≥ {param.lower:g}")
    if param.upper is not None:
        parts.append(f"≤ {param.upper:g}")
    if param.length is not None:
        parts.append(f"{param.length} values")
    return ", ".join(parts)


def row(param: Param) -> str:
    """One line of a table."""
    kind = {bool: "bool", int: "int", float: "double", str: "string"}
    of = f"{kind[param.element]}[]" if param.is_array else kind[type(param.default)]
    name = param.name.replace(JOINT, "<joint>")
    text = param.description.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    if param.read_only:
        text += " *Fixed.*"
    elif param.applies:
        text += f" *A change applies {param.applies}.*"
    values = ": ".join(filter(None, (of, allowed(param))))
    default = f"`{value(param.default)}` {param.unit}".rstrip()
    return f"| `{name}` | {text} | {default} | {values} |"


def table(params: Iterable[Param]) -> list[str]:
    """The lines of a table; four columns fit beside both tables of contents of the site."""
    head = "| parameter | meaning | default | type, allowed |"
    return [head, "|---" * 4 + "|", *(row(param) for param in params), ""]


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for executable, (title, params, per_joint) in NODES.items():
        lines += [f"## {title}", "", f"Executable `{executable}`.", "", *table(params)]
        if per_joint:
            lines += ["For each joint:", "", *table(per_joint)]
        if executable == "simulator":
            lines += ["For each name in `mujoco.shapes`:", "", *table(shape_parameters("<shape>"))]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Path in the site → text."""
    return {"reference/parameters.md": page()}
