"""The files of the controller package: kernels and ``robot.hpp`` made for the robot, the rest from
templates.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from robot_dynamics_ros.control.cycle.ladder import SURPRISE_CAUSES, Surprise
from robot_dynamics_ros.control.cycle.limits import LIMITS
from robot_dynamics_ros.control.cycle.memory import Mode
from robot_dynamics_ros.control.cycle.verdicts import COUNTED, Verdict
from robot_dynamics_ros.control.cycle.wrenches import DIFFERENTIATED
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.laws import CartesianImpedance
from robot_dynamics_ros.control.options import CHOICES
from robot_dynamics_ros.control.reference.goal import STATUSES, Reason, ResultCode
from robot_dynamics_ros.control.reference.task.memory import SEGMENT, TARGET_REFUSALS, TASK_CAUSES
from robot_dynamics_ros.control.reference.task.settings import (
    FARTHEST_TARGET_M,
    FASTEST_TWIST,
    MOST_PATH_POINTS,
    QUATERNION_SLACK,
    TaskSettings,
)
from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_number
from robot_dynamics_ros.equations.parameters import AXIS_NAMES, INERTIA_ENTRIES
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.export.c99 import filled
from robot_dynamics_ros.export.package import ExportedCode, export_code
from robot_dynamics_ros.export.plan import MAX_OPERATIONS, Plan
from robot_dynamics_ros.export.ros2_control.cycle_in_c import (
    FRICTION_COMPENSATIONS,
    LAW_NAMES,
    words_of_cycle,
)
from robot_dynamics_ros.export.ros2_control.cycles import example_cycles
from robot_dynamics_ros.export.ros2_control.task_in_c import TASK_FUNCTIONS, ExportedTask
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.topic_names import topic_token

PLUGIN_TEMPLATES = Path(__file__).parent / "templates"
SOLVER = "inverse_dynamics_solver"
CONTROLLER_FUNCTIONS = (
    "inverse_dynamics",
    "forward_dynamics",
    "bias_forces",
    "gravity_forces",
    "mass_matrix",
    "generalized_momentum",
    "joint_wrenches",
)
"""The robot's functions that the controller calls."""


def export_controller(
    model: RobotModel,
    *,
    prefix: str | None = None,
    external: Iterable[str] | None = None,
    payload: Iterable[str] | None = None,
    friction: Friction | None = None,
    rename: Mapping[str, str] | None = None,
    max_operations: int = MAX_OPERATIONS,
    inverse_dynamics_solver: bool = False,
    task: TaskSettings | None = None,
    cartesian: CartesianImpedance | None = None,
) -> ExportedCode:
    """An ament_cmake package with a ros2_control controller for this robot.

    Its dynamics are exported C, its law, references and guards are those of
    :class:`~robot_dynamics_ros.control.controller.JointController`, its parameters those of the
    controller node.

    Args:
        model: the robot, joints of one degree of freedom each.
        prefix: of the C functions; the package is ``<prefix>_controller``.  The robot's name if not
            given.
        external: links on which known wrenches may act; the last links of the tree if not given.
        payload: links that may carry a payload, and with each all links rigidly attached to it; the
            last bodies of the tree if not given.  Their mass properties stay numbers that can be
            changed while the controller runs.
        friction: what the law compensates; the URDF's if not given.
        rename: joint or link → identifier, where the one made of its name clashes.
        max_operations: refuse functions that take more.
        inverse_dynamics_solver: add a plugin of the package of that name, with the robot's
            dynamics.
        task: the tool that the controller moves; not given, it moves none until the parameter
            ``task.link`` names the last link of the longest chain, which is then the only one.
        cartesian: the impedance of that link with the law ``cartesian_impedance``.

    Raises:
        ArgumentError: a joint of several degrees of freedom, a payload on the root body, names that
            clash, an impedance of another link than the tool's.
        UnknownNameError: a link that does not exist.
        ModelError: a function that is too large.

    >>> import robot_dynamics_ros as rd
    >>> code = rd.export_controller(rd.load_robot("two_link"), prefix="arm")
    >>> [name for name in code.files if name.startswith("src/c")]
    ['src/controller.cpp']
    """
    check_controllable(model)
    if payload is None:
        bodies = leaf_bodies(model)
    else:
        bodies = _bodies(model, payload)
    if external is not None:
        loaded = tuple(external)
    else:
        loaded = tuple(dict.fromkeys(_tips(model)))
    if not loaded:
        raise ArgumentError(
            "is empty", where="external", remedy="Name at least one link, or leave it out."
        )
    for link in loaded:
        model.link_index(link)
    if friction is None:
        friction = Friction.of(model)
    tool = ExportedTask.of(model, task, cartesian, friction)
    kernels = export_code(
        model,
        (*CONTROLLER_FUNCTIONS, *TASK_FUNCTIONS),
        prefix=prefix,
        links=(tool.law.link,),
        symbols=body_symbols(model, bodies),
        external=loaded,
        rename=rename,
        max_operations=max_operations,
    )
    return ExportedCode(
        _files(kernels, friction, bodies, tool, solver=inverse_dynamics_solver), kernels.plan
    )


def _files(
    kernels: ExportedCode,
    friction: Friction,
    bodies: Sequence[int],
    task: ExportedTask,
    *,
    solver: bool,
) -> dict[str, str]:
    """Path → text, generated and from templates."""
    prefix = kernels.plan.prefix
    model = kernels.plan.model
    plan = kernels.plan
    package = f"{prefix}_controller"
    words = {
        "package": package,
        "prefix": prefix,
        "PREFIX": prefix.upper(),
        "robot": escape(model.name),
        "joints": json.dumps(list(model.joint_names), ensure_ascii=False),
        "joint": model.joint_names[0],
        "payload_links": ", ".join(links_on(model, bodies)),
        "external_links": ", ".join(plan.external),
        "differentiated": str(DIFFERENTIATED),
        "solver_depend": f"  <depend>{SOLVER}</depend>\n" if solver else "",
        **words_of_cycle(plan, friction, task),
    }
    own = {
        name: text.replace(f'"{prefix}.h"', f'"{package}/{prefix}.h"')
        for name, text in kernels.files.items()
    }
    files = {
        f"include/{package}/{prefix}.h": own[f"{prefix}.h"],
        f"src/{prefix}.c": own[f"{prefix}.c"],
        f"test/{prefix}_test.c": own[f"{prefix}_test.c"],
        f"include/{package}/robot.hpp": robot_header(plan, package, bodies, task.law.link),
        "test/recorded_cycles.txt": example_cycles(
            model, friction, plan.external, links_on(model, bodies)[-1]
        ),
    }
    for path in sorted(PLUGIN_TEMPLATES.rglob("*")):
        if path.is_file() and (solver or path.stem != SOLVER):
            name = (
                path.relative_to(PLUGIN_TEMPLATES)
                .as_posix()
                .replace("include/", f"include/{package}/")
            )
            name = name.replace("/cycle.", f"/{prefix}_cycle.")
            files[name] = filled(path, words)
    return dict(sorted(files.items()))


def _tips(model: RobotModel) -> list[str]:
    """The link furthest out on each last body: the one whose children are none."""
    parents = {joint.parent for joint in model.description.joints}
    return [name for name in links_on(model, leaf_bodies(model)) if name not in parents]


def _bodies(model: RobotModel, links: Iterable[str]) -> list[int]:
    bodies: list[int] = []
    for link in links:
        check_name("link", link, model.link_names, where="payload")
        body = int(model.link_body[model.link_index(link)])
        if body < 0:
            problem = f"link {link!r} does not move, a payload on it changes nothing"
            raise ArgumentError(
                problem, where="payload", got=link, remedy="Name a link that a joint moves."
            )
        if body not in bodies:
            bodies.append(body)
    if not bodies:
        raise ArgumentError(
            "is empty", where="payload", remedy="Name at least one link, or leave it out."
        )
    return bodies


# -- robot.hpp: one robot's names, and what its controller counts, says and answers, numbered and
# worded as in Python ---

_FURTHER_EVENTS = (
    "stale_state fault external_wrench_expired collision reference_refused state_not_read "
    "command_not_written"
)
# a tool is slowed down by what counts for joints, too
TOOL_CAUSES = [f"tool_{cause}" for cause in TASK_CAUSES]
WRENCH_SOURCES = [
    word.replace("measured_effort", "model") for word in CHOICES["wrench_acceleration"]
]
TARGET_WORDS = {
    "target_late": "its stamp is too old: check that the clocks agree, or set it to zero",
    "target_early": "its stamp is in the future: check that the clocks agree, or set it to zero",
    "target_repeated": "there was one with its stamp, or a newer one: stamps must increase",
    "path_turns_too_far": "the tool would turn too far between two poses: give poses in between",
    "target_not_followed": "nothing is followed now: no state, or a law without reference",
    "wrench_resisted": "the law takes it for a disturbance: use cartesian_impedance, or another "
    "law without integral and robustness",
}
"""Why a target of the tool is refused, for people."""
CAUSES = (
    *LIMITS,
    *dict.fromkeys([*COUNTED.values(), *SURPRISE_CAUSES.values()]),
    *_FURTHER_EVENTS.split(),
    *TARGET_REFUSALS,
    *TOOL_CAUSES,
)
"""What is counted, under the names that ``JointController.counts`` has; the last ones are of
interfaces and of the tool.
"""
_ENUMERATIONS = {
    "Mode": ("What the controller does.", [mode.value for mode in Mode]),
    "Status": ("What became of a goal.", STATUSES),
    "Cause": ("Causes that are counted.", CAUSES),
    "Law": ("Control laws.", [row[0] for row in LAW_NAMES.values()]),
    "FrictionAt": ("The speed at which friction is compensated.", FRICTION_COMPENSATIONS),
    "Reaction": ("Reactions to a collision.", CHOICES["collision_reaction"]),
}

_PLUGIN_CHOICES = {
    "GRAVITY_COMPENSATORS": (
        "Who supplies the effort against gravity.",
        CHOICES["gravity_compensated_by"],
    ),
    "SAFE_COMMANDS": ("What the safe command is.", CHOICES["safe_command"]),
    "TRAJECTORY_EFFORTS": (
        "What becomes of the efforts of trajectories.",
        CHOICES["trajectory_effort"],
    ),
    "WRENCH_SOURCES": ("Where the acceleration for joint wrenches comes from.", WRENCH_SOURCES),
}


def leaf_bodies(model: RobotModel) -> list[int]:
    """Bodies that carry no other body."""
    parents = {int(p) for p in model.parent}
    return [k for k in range(model.nb) if k not in parents]


def links_on(model: RobotModel, bodies: Iterable[int]) -> list[str]:
    """Links that are part of these bodies."""
    chosen = set(bodies)
    return [
        name
        for name, body in zip(model.link_names, model.link_body, strict=True)
        if int(body) in chosen
    ]


def body_symbols(model: RobotModel, bodies: Sequence[int]) -> dict[str, str]:
    """Place → symbol of the mass properties of bodies, which a payload changes while the controller
    runs.
    """
    symbols = {}
    for k, body in enumerate(bodies):
        link = model.joint(model.moving_joint_names[body]).child
        symbols[f"mass:{link}"] = f"body{k}_mass"
        symbols |= {f"com:{link}.{axis}": f"body{k}_com_{axis}" for axis in AXIS_NAMES}
        symbols |= {
            f"inertia:{link}.{moment}": f"body{k}_inertia_{moment}" for moment in INERTIA_ENTRIES
        }
    return symbols


def _array(kind: str, name: str, rows: Sequence[str], about: str) -> list[str]:
    rows = [f"  {row}," for row in rows]
    return [
        f"/// {about}",
        f"constexpr std::array<{kind}, {len(rows)}> {name} = {{{{",
        *rows,
        "}};",
    ]


def _names(name: str, words: Iterable[str], about: str) -> list[str]:
    return _array(
        "const char *", name, [json.dumps(word, ensure_ascii=False) for word in words], about
    )


def root_frame(model: RobotModel) -> str:
    """The name of a frame that is that of the world: the root link, if it stands there."""
    moved = bool(np.any(model.base.matrix() != np.eye(4)))
    return "world" if moved else model.link_names[0]


def robot_header(plan: Plan, package: str, bodies: Sequence[int], tool_link: str) -> str:
    """The header of a ``package``, whose tool belongs to ``tool_link``; ``plan``: with symbols by
    :func:`body_symbols` of the ``bodies`` that can carry a payload, and at least one external link.
    """
    model = plan.model
    carriers = links_on(model, bodies)
    children = [model.joint(name).child for name in model.joint_names]
    links = [model.link_index(name) for name in carriers]
    first = [
        f"offsetof(Parameters, body{bodies.index(int(model.link_body[k]))}_mass) / sizeof(double)"
        for k in links
    ]
    placements = [(*model.link_rotation[k].ravel(), *model.link_position[k]) for k in links]
    placed = "The placement of its frame in the body's: rotation by rows, position."
    frames = [
        f"{{{{{', '.join(c_number(x, 'double') for x in placement)}}}}}" for placement in placements
    ]
    out = [
        *_header_lines(plan, package, tool_link),
        *_names("joint_names", model.joint_names, "In the order of the coordinates."),
        *_names("child_links", children, "The link in whose frame each joint's wrench is."),
        *_names(
            "TOPIC_NAMES",
            map(topic_token, model.joint_names),
            "Each joint's name as a part of a topic name.",
        ),
        *_names(
            "TARGET_WORDS",
            (TARGET_WORDS[x] for x in TARGET_REFUSALS),
            "Why a target is refused, from Cause::target_late on.",
        ),
        *_names("external_links", plan.external, "Links on which an external wrench may act."),
        *itertools.chain.from_iterable(
            _names(name, words, about) for name, (about, words) in _PLUGIN_CHOICES.items()
        ),
        *_names("PAYLOAD_LINKS", carriers, "Links that can carry a payload."),
        *_array(
            "std::size_t",
            "PAYLOAD_PLACES",
            first,
            "The first of the ten numbers of each one's body.",
        ),
        *_array("std::array<double, 12>", "PAYLOAD_FRAMES", frames, placed),
        "",
    ]
    out += _enumeration_lines()
    return "\n".join([*out, f"}}  // namespace {package}"]) + "\n"


def _header_lines(plan: Plan, package: str, tool_link: str) -> list[str]:
    """The start of the header: includes, sizes and types."""
    root = json.dumps(root_frame(plan.model), ensure_ascii=False)
    return [
        f"// The robot {json.dumps(plan.model.name)[1:-1]}: names and words. Generated by "
        "robot_dynamics_ros.",
        "",
        "#pragma once",
        "",
        "#include <array>",
        "#include <cstddef>",
        "#include <limits>",
        "",
        f'#include "{package}/{plan.prefix}.h"',
        "",
        f"namespace {package}",
        "{",
        "",
        f"constexpr std::size_t N = {plan.model.nv};  ///< joints",
        f"constexpr std::size_t SEGMENT = {SEGMENT};  ///< numbers of a segment of a tool's path",
        f"constexpr std::size_t TOOL_CAUSES = {len(TOOL_CAUSES)};  ///< what slows the tool down",
        f"constexpr std::size_t MOST_PATH_POINTS = {MOST_PATH_POINTS};",
        f"constexpr double QUATERNION_SLACK = {QUATERNION_SLACK};  ///< of a quaternion's length",
        f"constexpr double FARTHEST_TARGET = {FARTHEST_TARGET_M};  ///< m",
        f"constexpr double FASTEST_TWIST = {FASTEST_TWIST};  ///< rad/s or m/s",
        f"constexpr const char * ROOT_LINK = {root};  ///< its axes are those of the world",
        f"constexpr const char * TOOL_LINK = {json.dumps(tool_link, ensure_ascii=False)};",
        f"constexpr std::size_t LOADED = {len(plan.external)};  ///< links that may carry a "
        "known external wrench",
        "constexpr double INFINITE = std::numeric_limits<double>::infinity();",
        "",
        "using Vector = std::array<double, N>;",
        f"using Parameters = {plan.prefix}_parameters;",
        "",
    ]


def _enumeration_lines() -> list[str]:
    """The words of the controller that have numbers, with their names for people."""
    numbers = range(1 + max(Verdict))
    out: list[str] = []
    for kind, (about, words) in _ENUMERATIONS.items():
        out += [
            f"enum class {kind} : int {{ {', '.join(words)} }};",
            *_names(f"{kind.upper()}_NAMES", words, about),
            "",
        ]
    counted = [str(CAUSES.index(COUNTED[k]) if k in COUNTED else -1) for k in numbers]
    surprised = [
        str(CAUSES.index(SURPRISE_CAUSES[x]) if x in SURPRISE_CAUSES else -1) for x in Surprise
    ]
    codes = ", ".join(f"{code.name.lower()} = {int(code)}" for code in ResultCode)
    out += [
        *_array(
            "int",
            "COUNTED",
            counted,
            "The cause that a verdict of the cycle is counted as, -1: none.",
        ),
        *_array("int", "SURPRISED", surprised, "The cause that a surprise is counted as."),
        "",
        "/// error_code of control_msgs/action/FollowJointTrajectory.",
        f"enum class Code : int {{ {codes} }};",
        "",
        "/// Why a goal ended, or was refused.",
        f"enum class Reason : int {{ {', '.join(x.name.lower() for x in Reason)} }};",
        *_array(
            "Code", "REASON_CODES", [f"Code::{x.code.name.lower()}" for x in Reason], "Its code."
        ),
        *_names("REASON_WORDS", (x.words for x in Reason), "The same for people."),
        "constexpr const char * name_of(Mode x) { return "
        "MODE_NAMES[static_cast<std::size_t>(x)]; }",
        "constexpr Code code_of(Reason x) { return REASON_CODES[static_cast<std::size_t>(x)]; }",
        "constexpr const char * text_of(Reason x) { return "
        "REASON_WORDS[static_cast<std::size_t>(x)]; }",
        "",
    ]
    return out
