"""Simulator and controller started by hand, in any order, and what a person does next: a motion, a
hold, a payload; and what is refused is said.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from std_msgs.msg import String
from support.peer import CONTROLLER
from trajectory_msgs.msg import JointTrajectory

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_message
from robot_dynamics_ros.ros.main import EXECUTABLES
from robot_dynamics_ros.ros.transport.qos import EVENT, LATCHED

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "two_link"


@pytest.fixture
def arm(peer, start):
    """Simulator, then controller, as they are by default; the states that are heard."""
    from sensor_msgs.msg import JointState

    states = peer.listen(JointState, "joint_states")
    # the node's own default
    start("simulator", robot_description_file=ROBOT, holding_brakes=True)
    peer.wait(lambda: len(states) > 50, "joint states")
    # nobody has commanded it: it stands
    np.testing.assert_allclose(states[-1].position, states[0].position, atol=1e-6)
    controller = start("controller", state_timeout=60.0)
    status = peer.listen(String, f"{CONTROLLER}/trajectory_status", LATCHED)
    peer.wait(lambda: status, "the controller")
    controller.wait_for_output("active; holding", 60.0)
    return states, status, controller


def test_brakes_are_the_default_of_the_simulator():
    from robot_dynamics_ros.ros.simulator.parameters import SIMULATOR_PARAMETERS

    (brakes,) = (p for p in SIMULATOR_PARAMETERS if p.name == "holding_brakes")
    assert brakes.default is True


def test_a_motion_a_payload_and_a_hold_by_hand(arm, peer, capsys):
    states, _, _ = arm
    before = np.array(states[-1].position)
    assert main(["send", "--to", "0.3", "0.2"]) == 0
    assert "arrived" in capsys.readouterr().out
    peer.wait(lambda: np.abs(np.array(states[-1].position) - [0.3, 0.2]).max() < 0.02, "the goal")
    assert np.abs(before - [0.3, 0.2]).max() > 0.1
    assert main(["payload", "tip:0.2"]) == 0
    assert "0.2 kg on 'tip'" in capsys.readouterr().out
    # grams for kilograms
    assert main(["payload", "tip:500"]) == 1
    said = capsys.readouterr().out
    assert "NOT ACCEPTED" in said
    assert "500 kg" in said and "N m" in said
    assert main(["payload", "none"]) == 0
    assert main(["hold"]) == 0
    assert "holding" in capsys.readouterr().out
    # outside the limits: refused before anything is sent
    assert main(["send", "--to", "99", "0.2"]) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_motion_ends_with_the_command_that_has_sent_it(arm, peer, number):
    states, _, _ = arm
    before = np.array(states[-1].position)
    words = ["send", "--to", "1.5", "1.0", "--duration", "30"]
    sending = subprocess.Popen(
        [sys.executable, "-m", "robot_dynamics_ros", *words],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        peer.wait(
            lambda: np.abs(np.array(states[-1].position) - before).max() > 0.05, "the arm to move"
        )
        sending.send_signal(number)
        _, said = sending.communicate(timeout=60)
    finally:
        sending.kill()
    assert sending.returncode == 128 + number
    assert "the arm is held where it is" in said
    peer.spin_for(1.0)
    stopped = np.array(states[-1].position)
    peer.spin_for(1.0)
    np.testing.assert_allclose(states[-1].position, stopped, atol=5e-3)
    assert np.abs(stopped - [1.5, 1.0]).max() > 0.1


def test_every_refusal_is_said_at_once_and_stands_until_a_success(arm, peer):
    _, status, controller = arm
    model = rd.load_robot(ROBOT)
    publisher = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", EVENT)
    peer.subscribed(publisher)

    def send(names, goal):
        rest = np.zeros((1, 2))
        times = np.array([2.0])
        publisher.publish(trajectory_message(names, times, np.array([goal]), rest, rest, 0))

    for name in ("nobody", "somebody"):
        send(("shoulder", name), [0.1, 0.1])
        peer.wait(lambda name=name: f"'{name}'" in status[-1].data, f"the refusal of {name}")
        assert status[-1].data.startswith("refused: ")
        # both within the time between two lines about one cause
        assert controller.wait_for_output(f"'{name}'", 30.0)
    send(model.joint_names, [0.1, 0.1])
    peer.wait(lambda: status[-1].data.startswith("succeeded"), "the end of a good trajectory")


@pytest.mark.parametrize("node", sorted(EXECUTABLES))
@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_of_a_node_explains_it_and_starts_nothing(node, word):
    done = subprocess.run(
        [sys.executable, "-m", "robot_dynamics_ros.ros.main", node, word],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "usage:" in done.stdout and "parameters (name, default, unit)" in done.stdout
    assert "robot_description_file" in done.stdout
    assert done.stderr == ""
