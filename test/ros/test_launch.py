"""The launch file: what it decides to start, and one real start."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip(
    "launch_ros", reason="launch_ros comes with a ROS 2 installation only, not as a wheel"
)

from launch import LaunchContext, LaunchDescription
from launch.actions import LogInfo
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.launching import LAUNCH_FILE, launched, press_ctrl_c

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.arm_profile import load_arm_profile
from robot_dynamics_ros.model.library import robot_path


def decide(**arguments: str) -> tuple[list[Node], list[LogInfo]]:
    """Nodes and messages for these arguments; nothing is started."""
    context = LaunchContext()
    description: LaunchDescription = PythonLaunchDescriptionSource(
        str(LAUNCH_FILE)
    ).get_launch_description(context)
    context.launch_configurations.update(arguments)
    entities = []
    for entity in description.entities:
        entities += entity.visit(context) or []
    return [e for e in entities if isinstance(e, Node)], [
        e for e in entities if isinstance(e, LogInfo)
    ]


def plain(words) -> str:
    """The text of a piece of a command line."""
    return "".join(getattr(word, "text", "") for word in words)


def given_to(node: Node) -> str:
    """The text of all parameter files of a node."""
    return "".join(Path(file).read_text() for file in files_of(node))


def files_of(node: Node) -> list[str]:
    """The parameter files of a node, later ones on top."""
    return [plain(file.param_file) for file in node._Node__parameters]


def executables(nodes: list[Node]) -> list[str]:
    return [node.node_executable for node in nodes]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Choose the packages that count as installed, whatever this machine has; at first none."""
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))

    def pretend(*packages: str) -> None:
        for package in packages:
            (index / package).touch()

    return pretend


def test_a_simulated_robot_is_a_simulator_and_a_controller(installed):
    nodes, _ = decide(robot="sim")
    assert executables(nodes) == ["simulator", "controller"]


def test_the_gate_stands_between_controller_and_robot(installed):
    nodes, _ = decide(robot="sim", gate="true")
    assert executables(nodes) == ["simulator", "effort_gate", "controller"]


@pytest.mark.parametrize("robot", ["none", "topic_based"])
def test_a_driver_that_may_hold_the_last_effort_gets_the_gate(installed, robot):
    nodes, _ = decide(robot=robot)
    assert executables(nodes) == ["effort_gate", "controller"]
    nodes, _ = decide(robot=robot, gate="false")
    assert executables(nodes) == ["controller"]


@pytest.mark.parametrize(
    "name", ["/**", "/**/computed_torque_controller", "/arm/computed_torque_controller"]
)
def test_the_gate_has_the_joints_of_the_controller_in_the_same_order(installed, tmp_path, name):
    params = tmp_path / "controller.yaml"
    params.write_text(
        yaml.safe_dump({name: {"ros__parameters": {"joints": ["elbow", "shoulder"]}}})
    )
    nodes, _ = decide(robot="none", description="two_link", controller_params=str(params))
    assert "elbow" in given_to(nodes[0]) and given_to(nodes[0]).index("elbow") < given_to(
        nodes[0]
    ).index("shoulder")
    params.write_text(yaml.safe_dump({"other_node": {"ros__parameters": {"joints": ["elbow"]}}}))
    nodes, _ = decide(robot="none", description="two_link", controller_params=str(params))
    assert "elbow" not in given_to(nodes[0])


def test_what_is_asked_for_and_not_installed_is_said_and_left_out(installed):
    nodes, messages = decide(robot="sim", rviz="true")
    assert executables(nodes) == ["simulator", "controller"]
    assert len(messages) == 2


def test_what_is_asked_for_and_installed_is_started(installed):
    installed("robot_state_publisher", "rviz2")
    nodes, messages = decide(robot="sim", rviz="true")
    assert executables(nodes) == ["robot_state_publisher", "rviz2", "simulator", "controller"]
    assert not messages


def test_the_browser_viewer_is_a_process_of_its_own():
    pytest.importorskip("viser")
    nodes, messages = decide(robot="sim", viewer="browser")
    assert executables(nodes) == ["viewer", "simulator", "controller"]
    assert not messages


def test_a_viewer_is_started_where_it_is_installed_and_politely_refused_where_not(installed):
    nodes, messages = decide(robot="sim", viewer="foxglove_bridge")
    assert executables(nodes) == ["simulator", "controller"]
    # no bridge, and no robot_state_publisher to go with it
    assert len(messages) == 2
    installed("foxglove_bridge", "robot_state_publisher", "rviz2")
    nodes, messages = decide(robot="sim", viewer="foxglove_bridge")
    assert executables(nodes) == [
        "robot_state_publisher",
        "foxglove_bridge",
        "simulator",
        "controller",
    ]
    nodes, messages = decide(robot="sim", viewer="rviz", description="seven_axis")
    (config,) = [word for word in map(plain, nodes[1].cmd) if word.endswith(".rviz")]
    displays = yaml.safe_load(Path(config).read_text())["Visualization Manager"]["Displays"]
    # one for every joint
    assert len([d for d in displays if d["Class"].endswith("/Wrench")]) == 7
    assert executables(nodes) == ["robot_state_publisher", "rviz2", "simulator", "controller"]
    assert not messages


def test_ros2_control_needs_its_packages_and_its_element(installed, tmp_path):
    with pytest.raises(RobotDynamicsError, match="robot_state_publisher is not installed"):
        decide(robot="ros2_control", description="six_axis")
    installed("robot_state_publisher")
    with pytest.raises(RobotDynamicsError, match="controller_manager"):
        decide(robot="ros2_control", description="six_axis")
    installed("controller_manager", "joint_state_broadcaster", "forward_command_controller")
    with pytest.raises(RobotDynamicsError, match="ros2_control"):
        decide(robot="ros2_control", description="two_link")
    urdf = (
        robot_path("two_link")
        .read_text()
        .replace(
            "</robot>",
            '<ros2_control name="hardware" type="system"><hardware/></ros2_control></robot>',
        )
    )
    path = tmp_path / "with_hardware.urdf"
    path.write_text(urdf)
    nodes, _ = decide(robot="ros2_control", description=str(path))
    assert executables(nodes) == [
        "robot_state_publisher",
        "ros2_control_node",
        "spawner",
        "effort_gate",
        "controller",
    ]


def vendors_package(prefix: Path, arm: str) -> None:
    """The vendor's packages: a robot whose joints have the arm's names, and the same with
    hardware.
    """
    profile = load_arm_profile(arm)
    vendor = profile.description
    bare = robot_path("seven_axis").read_text()
    for k, name in enumerate(profile.joint_names, 1):
        bare = bare.replace(f'"joint{k}"', f'"{name}"')
    hardware = '<ros2_control name="hardware" type="system"><hardware/></ros2_control></robot>'
    for file, text in (
        (f"{vendor.package}/{vendor.file}", bare),
        (vendor.hardware, bare.replace("</robot>", hardware)),
    ):
        path = prefix / "share" / file
        path.parent.mkdir(parents=True)
        path.write_text(text)


def parameters_of(node: Node) -> dict:
    """All values of a node's parameter files, later ones on top."""
    values: dict = {}
    for file in files_of(node):
        for table in yaml.safe_load(Path(file).read_text()).values():
            values |= table["ros__parameters"]
    return values


def test_an_arm_brings_its_vendors_description_its_parameters_and_its_controllers(
    installed, tmp_path
):
    pytest.importorskip("xacro")
    vendors_package(tmp_path, "franka_fr3")
    simulator, controller = decide(robot="sim", arm="franka_fr3")[0]
    assert parameters_of(simulator)["driver"] == {"compensates": "gravity"}
    assert parameters_of(simulator)["update_rate"] == 1000.0
    assert parameters_of(controller)["gravity_compensated_by"] == "robot"
    assert parameters_of(controller)["measured_effort"] == "link_torque"
    file = load_arm_profile("franka_fr3").description.file
    for node in (simulator, controller):
        assert file in parameters_of(node)["robot_description_file"]
        assert parameters_of(node)["robot_description_file"].endswith("hand:=true")

    installed("robot_state_publisher", "controller_manager", "joint_state_broadcaster")
    with pytest.raises(RobotDynamicsError, match="effort_controllers is not installed"):
        decide(robot="ros2_control", arm="franka_fr3")
    installed("effort_controllers")
    nodes, _ = decide(robot="ros2_control", arm="franka_fr3")
    manager = nodes[executables(nodes).index("ros2_control_node")]
    table = yaml.safe_load(Path(files_of(manager)[0]).read_text())
    assert table["controller_manager"]["ros__parameters"]["update_rate"] == 1000
    assert table["effort_controller"]["ros__parameters"]["joints"] == list(
        load_arm_profile("franka_fr3").joint_names
    )

    nodes, _ = decide(
        robot="ros2_control", arm="franka_fr3", description="robot_ip:=172.16.0.2 hand:=false"
    )
    named = parameters_of(nodes[executables(nodes).index("controller")])["robot_description_file"]
    assert load_arm_profile("franka_fr3").description.hardware in named
    assert named.endswith("hand:=false robot_type:=fr3 robot_ip:=172.16.0.2")


def test_an_arm_that_cannot_be_brought_up_this_way_is_refused_with_the_nearest(installed):
    with pytest.raises(RobotDynamicsError, match=r"franka_description.*github\.com"):
        decide(robot="sim", arm="franka_fr3")
    with pytest.raises(RobotDynamicsError, match=r"takes no efforts.*joint_trajectory_controller"):
        decide(robot="sim", arm="abb_irb1200", description="six_axis")
    installed("robot_state_publisher")
    with pytest.raises(RobotDynamicsError, match=r"no efforts by ros2_control.*robot:=none"):
        decide(robot="ros2_control", arm="kinova_gen3", description="seven_axis")


@pytest.mark.parametrize(
    "argument", ["description", "controller_params", "simulator_params", "gate_params"]
)
def test_wrong_arguments_are_refused(installed, argument):
    with pytest.raises(RobotDynamicsError, match="no_such_file"):
        decide(robot="sim", **{argument: "/no_such_file"})


def test_a_misspelt_argument_is_refused_with_the_nearest(installed, monkeypatch):
    """``ros2 launch`` passes over it: the gate would not be there, and nobody would know."""
    monkeypatch.setattr(
        "sys.argv",
        ["ros2", "launch", "robot_dynamics_ros", LAUNCH_FILE.name, "robot:=none", "gaet:=true"],
    )
    with pytest.raises(RobotDynamicsError, match=r"gaet.*'gate'"):
        decide(robot="none")
    monkeypatch.setattr("sys.argv", ["ros2", "launch", "mine", "mine.launch.py", "gaet:=true"])
    # an argument of the file that includes this one
    assert decide(robot="none")


@pytest.mark.middleware
def test_a_real_launch_holds_the_arm_and_ends_cleanly(peer, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with launched(tmp_path, robot="sim", description="two_link", gate="true") as (process, log):
        states = peer.listen(JointState, "joint_states")
        commands = peer.listen(Float64MultiArray, "effort_controller/commands")
        peer.wait(lambda: states and commands, "joint states and commands", 120.0)
        # nothing for others to read
        assert all(not path.stat().st_mode & 0o077 for path in temporary.iterdir())
        press_ctrl_c(process)
        peer.wait(lambda: process.poll() is not None, "the end of the launch", 120.0)
        text = log.read_text()
        assert text.count("process has finished cleanly") == 3, text
        assert not list(temporary.iterdir())
        assert "the stack needs it" not in text


@pytest.mark.middleware
def test_a_real_launch_with_the_viewer_serves_a_page(peer, tmp_path):
    pytest.importorskip("viser")
    with launched(tmp_path, robot="sim", description="two_link", viewer="browser") as (
        process,
        log,
    ):

        def address() -> str:
            found = re.search(r"open (http://127.0.0.1:\d+) in a browser", log.read_text())
            return found[1] if found else ""

        peer.wait(address, "the address of the page", 120.0)
        peer.wait(lambda: "showing 'two_link'" in log.read_text(), "the robot")
        with urlopen(address(), timeout=20.0) as answer:
            assert b"<html" in answer.read(10_000).lower()
        press_ctrl_c(process)
        peer.wait(lambda: process.poll() is not None, "the end of the launch", 120.0)
        assert log.read_text().count("process has finished cleanly") == 3, log.read_text()


@pytest.mark.middleware
@pytest.mark.parametrize("victim", ["simulator", "controller"])
def test_the_death_of_a_part_ends_the_stack_and_says_so(peer, tmp_path, victim):
    with launched(tmp_path, robot="sim", description="two_link") as (process, log):
        commands = peer.listen(Float64MultiArray, "effort_controller/commands")
        peer.wait(lambda: commands, "commands", 120.0)
        pid = int(
            re.search(rf"{victim}-\d+\]: process started with pid \[(\d+)\]", log.read_text())[1]
        )
        os.kill(pid, signal.SIGKILL)
        peer.wait(lambda: process.poll() is not None, "the end of the launch", 120.0)
        assert f"{victim} has ended with exit code -9, and the stack needs it" in log.read_text()
        assert process.returncode != 0


@pytest.mark.middleware
def test_a_part_that_cannot_start_ends_the_launch_with_an_exit_code(peer, tmp_path):
    params = tmp_path / "bad.yaml"
    params.write_text(yaml.safe_dump({"/**": {"ros__parameters": {"joints": ["nobody"]}}}))
    with launched(tmp_path, robot="sim", description="two_link", controller_params=str(params)) as (
        process,
        log,
    ):
        peer.wait(lambda: process.poll() is not None, "the end of the launch", 120.0)
        assert "controller has ended with exit code 1, and the stack needs it" in log.read_text()
        assert process.returncode != 0
