"""The simulator behind what ros2_control documents, beside another of its kind, and coming back
under a controller.
"""

from __future__ import annotations

import math
import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.ros2_control_peers import ForwardCommandController, TopicSystem
from support.simulator_bench import Bench, stamp

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.transport.qos import COMMAND, NEWEST

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "two_link"


@pytest.fixture(scope="module")
def model():
    return rd.load_urdf(robot_path(ROBOT))


def test_behind_topic_based_hardware(peer, start, model):
    """NaN until a controller takes over; then gravity is held by name, in the hardware's own order,
    on topics of its own.
    """
    start(
        "simulator",
        remap={"joint_states": "/arm/states", "robot_joint_commands": "/arm/commands"},
        robot_description_file=ROBOT,
        command_format="joint_state",
        initial_positions__shoulder=-1.0,
        friction=False,
        holding_brakes=True,
        command_timeout=5.0,
    )
    hardware = TopicSystem(peer, ["elbow", "shoulder"], "/arm/commands", "/arm/states")
    # for the diagnostics
    bench = Bench(peer)
    peer.wait(lambda: hardware.states, "joint states")
    peer.subscribed(hardware.publisher)

    def nan_refused() -> bool:
        hardware.read()
        hardware.write()
        return bench.reported("command_not_finite") > 0

    peer.wait(nan_refused, "the refusal of commands that are NaN")
    # on its brakes all the while
    assert hardware.position == [0.0, -1.0]
    assert all(map(math.isfinite, hardware.velocity + hardware.effort))

    def cycle() -> None:
        hardware.read()
        q, v = (np.array([x[1], x[0]]) for x in (hardware.position, hardware.velocity))
        tau = rd.gravity_forces(model, q) + 40.0 * (np.array([-0.5, 0.5]) - q) - 12.0 * v
        hardware.command = [float(tau[1]), float(tau[0])]
        hardware.write()

    def arrived() -> bool:
        cycle()
        return np.abs(np.array(hardware.position) - [0.5, -0.5]).max() < 0.02

    peer.wait(arrived, "the arm to arrive")


def test_our_controller_drives_a_forward_command_controller(peer, start, model):
    """What the controller sends on the array topic is what forward_command_controller accepts, one
    value a joint.
    """
    start("simulator", robot_description_file=ROBOT, holding_brakes=True)
    start("controller", robot_description_file=ROBOT)
    forward = ForwardCommandController(model.joint_names)
    messages: list[Float64MultiArray] = []

    def on_message(message: Float64MultiArray) -> None:
        messages.append(message)
        forward.on_message(message)

    peer.node.create_subscription(
        Float64MultiArray, "effort_controller/commands", on_message, COMMAND
    )
    peer.wait(lambda: len(messages) > 50, "commands")
    assert all(len(m.data) == 2 and all(map(math.isfinite, m.data)) for m in messages)
    assert forward.effort == list(messages[-1].data)


def test_our_controller_on_the_topics_of_another_simulator(peer, start, model):
    """The configuration that the page on hardware gives for a simulator with ``joint_command`` and
    names of its own.
    """
    names = {"robot_joint_commands": "joint_command", "joint_states": "isaac_joint_states"}
    start(
        "simulator",
        remap=names,
        robot_description_file=ROBOT,
        command_format="joint_state",
        initial_positions__shoulder=-1.0,
        holding_brakes=True,
    )
    start("controller", remap=names, robot_description_file=ROBOT, command_format="joint_state")
    commands: list[JointState] = []
    states: list[JointState] = []
    peer.node.create_subscription(JointState, "joint_command", commands.append, COMMAND)
    peer.node.create_subscription(JointState, "isaac_joint_states", states.append, NEWEST)
    peer.wait(lambda: len(commands) > 50 and len(states) > 50, "commands and states")
    assert all(sorted(m.name) == sorted(model.joint_names) for m in commands)
    assert all(len(m.effort) == 2 and all(map(math.isfinite, m.effort)) for m in commands)
    last = states[-1]
    assert last.position[list(last.name).index("shoulder")] == pytest.approx(-1.0, abs=0.01)


def test_two_robots_side_by_side(peer, start):
    start(
        "simulator",
        remap={"__ns": "/left"},
        robot_description_file=ROBOT,
        command_timeout=60.0,
        gravity=[0.0, 0.0, 0.0],
    )
    start(
        "simulator",
        remap={"__ns": "/right"},
        robot_description_file=ROBOT,
        command_timeout=60.0,
        gravity=[0.0, 0.0, 0.0],
    )
    left = Bench(peer, namespace="/left/")
    right = Bench(peer, namespace="/right/")
    left.ready()
    right.ready()
    left.apply(Float64MultiArray(data=[2.0, 1.0]), [2.0, 1.0])
    peer.wait(lambda: left.states[-1].position[0] > 0.05, "the left arm to move")
    assert list(right.next_state().position) == [0.0, 0.0]
    names = {status.name for message in left.diagnostics for status in message.status}
    peer.wait(
        lambda: (
            {s.name for m in left.diagnostics for s in m.status}
            >= {"left/robot_simulator: status", "right/robot_simulator: status"}
        ),
        f"diagnostics of both, not {names}",
    )


def test_the_robot_may_be_restarted_under_a_running_controller(peer, start, model):
    controller = start("controller", robot_description_file=ROBOT, state_timeout=0.5)
    settings = {
        "robot_description_file": ROBOT,
        "initial_positions__shoulder": -0.5,
        "holding_brakes": True,
        "command_timeout": 0.5,
    }
    simulator = start("simulator", **settings)
    bench = Bench(peer)
    bench.ready()

    def held() -> bool:
        state = bench.states[-1]
        weight = rd.gravity_forces(model, np.array(state.position))
        return bool(np.any(state.effort)) and np.abs(np.array(state.effort) - weight).max() < 2.0

    peer.wait(held, "the arm to be held by the controller")
    simulator.send(signal.SIGKILL)
    simulator.wait(60.0)
    last = stamp(bench.states[-1])
    bench.states.clear()
    start("simulator", **{**settings, "initial_positions__shoulder": 0.25})
    peer.wait(lambda: bench.states, "joint states of the new robot")
    assert stamp(bench.states[0]) > last
    peer.wait(held, "the new arm to be held by the same controller")
    mark = stamp(bench.states[-1])
    peer.wait(lambda: stamp(bench.states[-1]) - mark > 500_000_000, "half a second")
    assert abs(bench.states[-1].position[0] - 0.25) < 0.05
    assert controller.exit_code is None


def test_joint_states_suit_listeners_of_either_reliability(peer, start):
    start("simulator", robot_description_file=ROBOT)
    reliable = peer.listen(JointState, "joint_states", 10)
    best_effort = peer.listen(JointState, "joint_states")
    peer.wait(lambda: reliable and best_effort, "both to hear")
