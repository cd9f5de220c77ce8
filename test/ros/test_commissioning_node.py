"""The node that commissions, beside a simulated arm, each in a process of its own."""

import dataclasses
import itertools
import json
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.peer import CONTROLLER, SIMULATOR, Peer

import robot_dynamics_ros as rd
from robot_dynamics_ros.commissioning import session
from robot_dynamics_ros.commissioning.listen import listen_to
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.commissioning import LiveArm
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.viewer import LiveRobot

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

NODE = "commissioning"


def test_steps_are_done_shown_and_stopped_over_the_middleware(peer, start, tmp_path):
    home = {"initial_positions__shoulder": 1.57, "initial_positions__elbow": 0.02}
    start(
        "simulator",
        robot_description_file="two_link",
        update_rate=250.0,
        holding_brakes=True,
        **home,
    )
    states = peer.listen(JointState, "joint_states")
    told = peer.listen(DiagnosticArray, "/diagnostics")
    peer.wait(lambda: len(states) > 50, "joint states")
    start(
        NODE,
        robot_description_file="two_link",
        output=tmp_path / "out",
        measured_effort="torque_without_gravity",
        state_timeout=5.0,
    )
    model = rd.load_robot("two_link")
    values = {"controller": CONTROLLER, "simulator": SIMULATOR, "wrenches": "none"}
    viewer = LiveRobot(peer.node, model, "", values, Rejections(peer.node.get_logger()))
    peer.wait(
        lambda: "commissioning: ready for listen" in viewer.status(), "the viewer to show the node"
    )
    refused = peer.call(Trigger, f"{NODE}/tune", Trigger.Request())
    assert not refused.success and "Do twitch first" in refused.message
    weigh = peer.node.create_client(Trigger, f"{NODE}/weigh")
    peer.wait(weigh.service_is_ready, "the service")
    weighing = weigh.call_async(Trigger.Request())
    hand = peer.publisher(JointState, f"{SIMULATOR}/set_joint_state")
    shown = set()
    # one that was not noticed comes again
    for pose in itertools.cycle(rd.commissioning.weighing_poses(model, 12)):
        if weighing.done():
            break
        hand.publish(JointState(name=list(model.joint_names), position=list(map(float, pose))))
        peer.spin_for(0.8)
        shown |= set(viewer.status().splitlines())
    assert weighing.result().success, weighing.result().message
    assert "step: weigh" in shown and any(
        line.startswith("commissioning: weigh: pose ") for line in shown
    )
    peer.wait(lambda: "step: none" in viewer.status(), "the end of the step to be shown")
    assert f"weigh: {weighing.result().message}" in viewer.status().splitlines()
    peer.insist(
        hand,
        JointState(name=list(model.joint_names), position=list(home.values())),
        lambda: np.allclose(states[-1].position, list(home.values()), atol=1e-3),
        "the arm to be led back",
    )
    client = peer.node.create_client(Trigger, f"{NODE}/float")
    peer.wait(client.service_is_ready, "the service")
    # once: a second request would find the step under way
    floating = client.call_async(Trigger.Request())
    peer.wait(floating.done, "the end of the step", timeout=180.0)
    written = json.loads((tmp_path / "out" / "commissioning.json").read_text())
    assert [step["step"] for step in written["steps"]] == ["weigh", "float"]
    mistakes = [finding["kind"] for step in written["steps"] for finding in step["findings"]]
    # on a busy machine commands are late
    assert set(mistakes) <= {"delay"}, floating.result().message
    assert (tmp_path / "out" / "controller.yaml").is_file() and (
        tmp_path / "out" / "commissioning.html"
    ).is_file()
    floating = client.call_async(Trigger.Request())
    told.clear()
    peer.wait(
        lambda: any(s.message.startswith("float: Where") for m in told for s in m.status),
        "the step to be reported",
    )
    assert peer.call(Trigger, f"{NODE}/stop", Trigger.Request()).success
    peer.wait(floating.done, "the end of the step")
    assert not floating.result().success and "stopped by a person" in floating.result().message
    peer.spin_for(0.5)
    states.clear()
    peer.wait(lambda: len(states) > 20, "joint states")
    assert np.abs([list(m.velocity) for m in states]).max() < 1e-3


def test_states_that_nobody_reads_do_not_fill_the_memory(peer):
    arm = LiveArm(peer.node, rd.load_robot("two_link"), "multi_array")
    message = JointState(name=["shoulder", "elbow"], position=[0.0] * 2, velocity=[0.0] * 2)
    for k in range(5000):
        message.header.stamp.sec = k
        arm._on_state(serialize_message(message))
    kept = []
    while (state := arm.read()) is not None:
        kept.append(round(state.t))
    assert kept == list(range(5000 - len(kept), 5000)) and 1000 < len(kept) <= 2000


def test_a_report_that_cannot_be_written_is_said_in_the_answer(peer, start):
    start(NODE, robot_description_file="two_link", output="/proc/nowhere", measured_effort="none")
    answer = peer.call(Trigger, f"{NODE}/weigh", Trigger.Request())
    assert "nothing is written to /proc/nowhere" in answer.message


def test_an_arm_that_another_node_commands_gets_no_command_and_no_publisher(peer, domain):
    """A second publisher, even a silent one, makes a gate stop the arm, and a controller let go of
    it.
    """
    arm = LiveArm(peer.node, rd.load_robot("two_link"), "multi_array")
    with Peer(domain) as controller:
        controller.publisher(Float64MultiArray, "effort_controller/commands")
        peer.wait(
            lambda: peer.node.count_publishers("effort_controller/commands"), "the other node"
        )
        peer.spin_for(0.5)
        for _ in range(2):
            with pytest.raises(ArgumentError, match="only one node may command"):
                arm.send(np.ones(2))
        assert peer.node.count_publishers("effort_controller/commands") == 1


def test_a_driver_that_does_not_stamp_gets_times_of_arrival_and_repeated_states_are_none(peer):
    arm = LiveArm(peer.node, rd.load_robot("two_link"), "multi_array", state_timeout=0.05)
    message = JointState(name=["shoulder", "elbow"], position=[0.0] * 2, velocity=[0.0] * 2)
    for _ in range(3):
        arm._on_state(serialize_message(message))
    times = [arm.read().t for _ in range(3)]
    assert times == sorted(set(times)) and times[0] > 1e9
    message.header.stamp.sec = 5
    for _ in range(3):
        arm._on_state(serialize_message(message))
    assert arm.read().t == 5.0 and arm.read() is None and "stamp" in arm.refused
    with pytest.raises(ArgumentError, match="stamp is not newer"):
        rd.commissioning.Commissioning(rd.load_robot("two_link"), arm).run("listen")


def test_stamps_of_a_real_clock_are_no_mistake(peer):
    """A driver stamps with the system's clock; the arm moves in closed form."""
    model = rd.load_robot("two_link")
    arm = LiveArm(peer.node, model, "multi_array", state_timeout=0.05)
    arm.begin()
    states = []
    for _ in range(200):
        now = peer.node.get_clock().now()
        t = now.nanoseconds * 1e-9
        angle = 3.0 * t % (2.0 * np.pi)
        message = JointState(name=["shoulder", "elbow"])
        message.header.stamp = now.to_msg()
        message.position = [0.4 * np.sin(angle), 0.3 * np.cos(angle)]
        message.velocity = [1.2 * np.cos(angle), -0.9 * np.sin(angle)]
        message.effort = [5.0 * np.cos(angle), 2.0 * np.sin(2.0 * angle)]
        arm._on_state(serialize_message(message))
        states.append(arm.read())
        time.sleep(0.004)
    report = listen_to(model, states)
    assert not report.of_kind("clock"), report
    assert 0.0 <= report.numbers["age"] < 0.1
    # one from another clock is named
    late = [dataclasses.replace(state, t=state.t - 5.0) for state in states]
    (finding,) = listen_to(model, late).of_kind("clock")
    assert "5 s older" in finding.sentence


def test_the_first_joint_state_may_come_late(peer, monkeypatch):
    monkeypatch.setattr(session, "SILENCE_BORNE_S", 0.4)
    told = []
    arm = LiveArm(peer.node, rd.load_robot("two_link"), "multi_array", state_timeout=0.05)
    commissioning = rd.commissioning.Commissioning(
        rd.load_robot("two_link"), arm, announce=told.append
    )
    with pytest.raises(ArgumentError, match="no joint states have arrived"):
        commissioning.run("listen")
    assert any("waiting for joint states" in sentence for sentence in told)
