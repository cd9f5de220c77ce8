"""Bring up the controller with a robot: simulated, in ros2_control, topic-based, or one that is
already there.

ros2 launch robot_dynamics_ros bringup.launch.py robot:=sim description:=six_axis
"""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from robot_dynamics_ros.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics_ros.model.arm_profile import ArmProfile, load_arm_profile
from robot_dynamics_ros.model.checks import DEFAULT_POLICY, INERTIA_POLICIES
from robot_dynamics_ros.model.library import find_robot
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf
from robot_dynamics_ros.model.urdf_source import with_arguments
from robot_dynamics_ros.resources import share_directory
from robot_dynamics_ros.ros import arm_parameters
from robot_dynamics_ros.view.layouts import write_layouts

PACKAGE = "robot_dynamics_ros"
CONTROLLER = "computed_torque_controller"
ROBOTS = ("sim", "none", "ros2_control", "topic_based")
COMMAND_TOPICS = ("effort_controller/commands", "robot_joint_commands")
VIEWERS = ("none", "browser", "rviz", "foxglove_bridge")


class _Stack:
    """Namespace, clock and temporary files that all nodes of one launch share.

    Attributes:
        namespace: of the nodes.
        sim_time: whether time comes from /clock.
        folder: for files that are needed as long as the stack runs; only for this user.
    """

    def __init__(self, namespace: str, sim_time: bool) -> None:
        self.namespace = namespace
        self.sim_time = sim_time
        self.folder = Path(tempfile.mkdtemp(prefix="robot_dynamics_ros_"))
        # a slow node may read its file late
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self._files = 0

    def file(self, values: Mapping[str, object], *, of_all_nodes: bool = True) -> str:
        """A parameter file with ``values``; launch_ros never deletes those that it makes itself."""
        path = self.folder / f"{self._files}.yaml"
        self._files += 1
        tree = {"/**": {"ros__parameters": dict(values)}} if of_all_nodes else dict(values)
        # JSON is YAML, and quotes every string: a joint may be called y, on or 1e3, which ROS's
        # parser takes for true and 1000 where they are bare
        path.write_text(json.dumps(tree, indent=1, ensure_ascii=False), "utf-8")
        return str(path)

    def node(
        self, package: str, executable: str, *files: str, output: str = "screen", **more: Any
    ) -> Node:
        """A node with parameter files."""
        where: dict[str, Any] = {
            "namespace": self.namespace,
            "output": output,
            "parameters": list(files) or None,
        }
        return Node(package=package, executable=executable, **where, **more)


def generate_launch_description() -> LaunchDescription:
    """The arguments, and one function that decides what to start."""
    _refuse_unknown_arguments(sys.argv)
    return LaunchDescription([*_arguments(), OpaqueFunction(function=_bring_up)])


def _refuse_unknown_arguments(command_line: Sequence[str]) -> None:
    """Launch passes over arguments that it does not know: a gate that is not started protects
    nobody.

    Only where this file is launched by itself: the arguments of a file that includes it are that
    file's.

    Raises:
        UnknownNameError: naming the argument and the nearest one.
    """
    if any(Path(word).name == Path(__file__).name for word in command_line):
        for name, assigned, _ in (word.partition(":=") for word in command_line):
            if assigned and name not in _ARGUMENTS:
                raise UnknownNameError(
                    "launch argument", name, list(_ARGUMENTS), where=Path(__file__).name
                )


_SWITCH = ("true", "false")
_AUTO = ("auto", "true", "false")
_ARGUMENTS: dict[str, tuple[str, Sequence[str], str]] = {
    "robot": (
        "sim",
        ROBOTS,
        "sim: the simulator; none: hardware that is brought up elsewhere and speaks "
        "effort_controller/commands; ros2_control: "
        "controller_manager with an effort controller; topic_based: hardware that takes a "
        "JointState of efforts on "
        "robot_joint_commands",
    ),
    "description": (
        "",
        (),
        "URDF or xacro file (xacro arguments may follow: 'arm.xacro tool:=gripper'), or the name "
        "of a robot that ships with the "
        "package; empty: six_axis with robot:=sim, else the topic robot_description; with an "
        "arm, xacro arguments alone go to its "
        "vendor's description: 'robot_ip:=172.16.0.2'",
    ),
    "arm": (
        "",
        (),
        "profile of an arm, such as franka_fr3 or the path of a file: its vendor's description, "
        "its controllers and its "
        "parameters; with robot:=sim the simulator behaves as its driver",
    ),
    "controller_params": ("", (), "parameter file of the controller"),
    "simulator_params": ("", (), "parameter file of the simulator"),
    "gate": (
        "auto",
        _AUTO,
        "put the effort gate between controller and robot: only fresh, finite, bounded efforts "
        "pass; auto: where the driver may "
        "hold the last effort for ever, that is not with robot:=sim",
    ),
    "gate_params": ("", (), "parameter file of the effort gate"),
    "inertia_check": (
        DEFAULT_POLICY,
        INERTIA_POLICIES,
        "physically impossible inertias of links: error: refused; warn: used as they are, with a "
        "warning; repair: given the "
        "nearest possible inertia",
    ),
    "namespace": ("", (), "namespace of all nodes"),
    "state_publisher": (
        "auto",
        _AUTO,
        "start robot_state_publisher; auto: with a viewer, or where ros2_control needs it",
    ),
    "viewer": (
        "none",
        VIEWERS,
        "start a viewer, if it is installed: browser (this package's own, at "
        "http://127.0.0.1:8080), rviz (as rviz:=true), or "
        "foxglove_bridge, to which Foxglove connects at ws://localhost:8765",
    ),
    "rviz": ("false", _SWITCH, "start RViz"),
    "use_sim_time": (
        "false",
        _SWITCH,
        "time from /clock; with robot:=sim the simulator publishes it",
    ),
}
"""Name → default, choices, description."""


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument(
            name, default_value=default, choices=choices or None, description=text
        )
        for name, (default, choices, text) in _ARGUMENTS.items()
    ]


def _bring_up(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    def argument(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    return _entities(_Stack(argument("namespace"), argument("use_sim_time") == "true"), argument)


def _entities(stack: _Stack, argument: Callable[[str], str]) -> list[LaunchDescriptionEntity]:
    robot = argument("robot")
    arm = load_arm_profile(argument("arm")) if argument("arm") else None
    arm_files = (
        arm_parameters.write_parameter_files(arm, stack.folder, simulated=robot == "sim")
        if arm is not None
        else {}
    )
    description = argument("description")
    arguments_alone = not description or ":=" in description.split(maxsplit=1)[0]
    if arm is not None and arguments_alone and robot in ("sim", "ros2_control"):
        description = (
            f"{arm_parameters.vendor_description(arm, with_hardware=robot == 'ros2_control')} "
            f"{description}"
        )
    path, named = _description(description, robot, arm)
    policy = argument("inertia_check")
    model = load_urdf(named, inertia_check=policy) if path is not None else None
    text = model.description.source if model is not None else ""
    entities: list[LaunchDescriptionEntity] = []

    viewer = argument("viewer")
    rviz = argument("rviz") == "true" or viewer == "rviz"
    watched = rviz or viewer == "foxglove_bridge"
    wanted = {"true": True, "false": False, "auto": watched or robot == "ros2_control"}[
        argument("state_publisher")
    ]
    publisher = wanted and path is not None and _installed("robot_state_publisher")
    if robot == "ros2_control" and path is not None and wanted and not publisher:
        raise RobotDynamicsError(
            "robot_state_publisher is not installed",
            where="launch argument robot:=ros2_control",
            remedy="Install it: controller_manager waits for the topic robot_description for "
            "ever. If another node publishes "
            "that topic, say state_publisher:=false.",
        )
    if wanted and not publisher:
        reason = "there is no description" if path is None else "it is not installed"
        entities.append(LogInfo(msg=f"robot_state_publisher is not started: {reason}"))
    if publisher:
        described = stack.file({"robot_description": text, "use_sim_time": stack.sim_time})
        entities += _needed(stack.node("robot_state_publisher", "robot_state_publisher", described))
    if rviz:
        entities += _rviz(model, stack)
    if viewer == "browser":
        entities += _browser(path, stack)
    if viewer == "foxglove_bridge":
        entities += _foxglove(stack)
    if robot == "sim":
        files = _files("simulator", path, arm_files, argument("simulator_params"))
        values = {
            "robot_description_file": named,
            "inertia_check": policy,
            "publish_description": not publisher,
        }
        entities += _needed(
            _ours("simulator", stack, files, {**values, "publish_clock": stack.sim_time})
        )
    elif robot == "ros2_control":
        entities += _ros2_control(model, text, arm, stack)
    common: dict[str, object] = {"inertia_check": policy}
    if robot != "none":
        common["command_format"] = "joint_state" if robot == "topic_based" else "multi_array"
    if path is not None:
        common["robot_description_file"] = named
    gated = {"true": True, "false": False, "auto": robot != "sim"}[argument("gate")]
    gate_files = _files("gate", None, {}, argument("gate_params"))
    controller_files = _files("controller", path, arm_files, argument("controller_params"))
    if gated:
        entities.append(
            LogInfo(msg="effort_gate is between controller and robot; gate:=false leaves it out")
        )
        joints = stack.file({"joints": joints}) if (joints := _joints(controller_files)) else None
        entities += _needed(
            _ours("effort_gate", stack, [joints, *gate_files] if joints else gate_files, common)
        )
    elsewhere = [(topic, "effort_gate/commands") for topic in COMMAND_TOPICS] if gated else []
    return entities + _needed(_ours("controller", stack, controller_files, common, elsewhere))


def _description(description: str, robot: str, arm: ArmProfile | None) -> tuple[Path | None, str]:
    """The file, and the text that names it together with its xacro arguments, those of the arm
    included.
    """
    if not description and robot != "sim":
        return None, ""
    path, arguments = find_robot(description or "six_axis")
    if arm is not None and path.suffix == ".xacro":
        arguments = {
            **arm.description.xacro_arguments(with_hardware=robot == "ros2_control"),
            **arguments,
        }
    return path, with_arguments(path, arguments)


def _installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except (PackageNotFoundError, LookupError):
        return False
    return True


def _files(node: str, path: Path | None, arm: Mapping[str, Path], given: str) -> list[str]:
    """Parameter files; the user's wins over the others."""
    if given and not Path(given).is_file():
        where = f"launch argument {node}_params"
        remedy = "Give the path of a parameter file."
        raise RobotDynamicsError(f"there is no file {given!r}", where=where, remedy=remedy)
    return [*map(str, arm_parameters.parameter_files(node, path, arm)), *filter(None, [given])]


def _joints(files: Sequence[str]) -> list[str]:
    """The ``joints`` in the controller's parameter files: the gate's array has the same order."""
    joints: list[str] = []

    def look(tree: object, name: str) -> None:
        if not isinstance(tree, dict):
            return
        if isinstance(parameters := tree.get("ros__parameters"), dict) and name in (
            "**",
            CONTROLLER,
        ):
            joints[:] = parameters.get("joints") or joints
        for key, value in tree.items():
            look(value, str(key).rpartition("/")[2])

    for file in files:
        look(yaml.safe_load(Path(file).read_text("utf-8")), "")
    return joints


def _ours(
    executable: str,
    stack: _Stack,
    files: Sequence[str],
    values: Mapping[str, object],
    remappings: Sequence[tuple[str, str]] = (),
) -> Node:
    """A node of this package; ``values`` win over the files."""
    own = stack.file({"use_sim_time": stack.sim_time, **values})
    patience = {"sigterm_timeout": "5", "sigkill_timeout": "5"}
    return stack.node(PACKAGE, executable, *files, own, remappings=list(remappings), **patience)


def _needed(node: Node, *, may_finish: bool = False) -> list[LaunchDescriptionEntity]:
    """A node without which the stack is of no use: its end ends the launch, with a sentence and an
    exit code that is not 0.

    Args:
        may_finish: exit code 0 is no end: the node has done its work.
    """

    def ended(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if context.is_shutdown or (may_finish and event.returncode == 0):
            return []
        # an error, for launch returns 0 after any Shutdown that an action asks for
        problem = (
            f"{node.node_executable} has ended with exit code {event.returncode}, and the stack "
            "needs it"
        )
        raise RobotDynamicsError(problem, where="launch", remedy="See its last lines above.")

    return [node, RegisterEventHandler(OnProcessExit(target_action=node, on_exit=ended))]


def _rviz(model: RobotModel | None, stack: _Stack) -> list[LaunchDescriptionEntity]:
    if not _installed("rviz2"):
        return [LogInfo(msg="RViz is not started: it is not installed")]
    config = share_directory() / "config" / "robot.rviz"
    # one with a display for the wrench of every joint
    if model is not None:
        config = next(
            path
            for path in write_layouts(model, stack.folder, stack.namespace)
            if path.suffix == ".rviz"
        )
    clock = stack.file({"use_sim_time": stack.sim_time})
    return [stack.node("rviz2", "rviz2", clock, output="log", arguments=["-d", str(config)])]


def _browser(path: Path | None, stack: _Stack) -> list[LaunchDescriptionEntity]:
    if find_spec("viser") is None:
        text = (
            "the viewer is not started: viser is not installed (pip install "
            "'robot_dynamics_ros[view]')"
        )
        return [LogInfo(msg=text)]
    given = {"robot_description_file": str(path)} if path is not None else {}
    return [_ours("viewer", stack, [], given)]


def _foxglove(stack: _Stack) -> list[LaunchDescriptionEntity]:
    if not _installed("foxglove_bridge"):
        return [LogInfo(msg="foxglove_bridge is not started: it is not installed")]
    clock = stack.file({"use_sim_time": stack.sim_time})
    return [stack.node("foxglove_bridge", "foxglove_bridge", clock, output="log")]


def _ros2_control(
    model: RobotModel | None, text: str, arm: ArmProfile | None, stack: _Stack
) -> list[LaunchDescriptionEntity]:
    """controller_manager with a joint state broadcaster and an effort controller for all joints, or
    those of the arm.
    """
    where = "launch argument robot:=ros2_control"
    if arm is not None and arm.driver.interface != "ros2_control":
        text = "its driver takes no efforts by ros2_control"
        remedy = f"{arm.driver.nearest} Then use robot:=none."
        raise RobotDynamicsError(text, where=f"arm {arm.name!r}", remedy=remedy)
    forwarding = (
        "forward_command_controller" if arm is None else arm.driver.controller.partition("/")[0]
    )
    for package in ("controller_manager", "joint_state_broadcaster", forwarding):
        if not _installed(package):
            remedy = "Install ros2_control and ros2_controllers, or choose another robot."
            raise RobotDynamicsError(f"{package} is not installed", where=where, remedy=remedy)
    if model is None:
        remedy = "robot:=ros2_control needs a description with a <ros2_control> element."
        raise RobotDynamicsError("is empty", where="launch argument description", remedy=remedy)
    if "<ros2_control" not in text:
        remedy = "Add one, or use robot:=sim or robot:=none."
        raise RobotDynamicsError(
            "has no <ros2_control> element", where=f"robot {model.name!r}", remedy=remedy
        )
    settings = arm_parameters.controller_manager_parameters(arm, model.joint_names)
    file = stack.file({"/**": settings} if stack.namespace else settings, of_all_nodes=False)
    described = stack.file({"robot_description": text, "use_sim_time": stack.sim_time})
    spawned = ["joint_state_broadcaster", "effort_controller", "--param-file", file]
    return [
        *_needed(stack.node("controller_manager", "ros2_control_node", file, described)),
        *_needed(stack.node("controller_manager", "spawner", arguments=spawned), may_finish=True),
    ]
