"""The effort gate between processes: what passes, what does not, and that nothing outlives its
sender.
"""

from __future__ import annotations

import signal

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import robot_dynamics_ros as rd

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

COMMANDS = "effort_gate/commands"
OUT = "effort_controller/commands"


@pytest.fixture
def gate(start, peer):
    """A gate for six_axis with this process as controller and driver: (process, publisher, what the
    driver hears).
    """
    # reliable, as a driver's: nothing is lost
    heard = peer.listen(Float64MultiArray, OUT, 100)
    process = start(
        "effort_gate",
        robot_description_file="six_axis",
        command_timeout=0.2,
        limits__shoulder_pan_joint__effort=20.0,
    )
    publisher = peer.publisher(Float64MultiArray, COMMANDS, 1)
    peer.subscribed(publisher)
    return process, publisher, heard


def last(heard):
    return list(heard[-1].data) if heard else None


def keep_sending(peer, publisher, values, until, what, timeout=60.0):
    def tick():
        publisher.publish(Float64MultiArray(data=values))
        peer.spin_for(0.01)
        return until()

    peer.wait(tick, what, timeout)


def test_before_the_first_command_the_driver_gets_zeros(gate, peer):
    _, _, heard = gate
    peer.wait(lambda: len(heard) > 3, "commands of the gate")
    assert all(not any(m.data) for m in heard)


def test_commands_pass_are_cut_to_the_limit_and_end_with_their_sender(gate, peer):
    _, publisher, heard = gate
    keep_sending(
        peer,
        publisher,
        [99.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        lambda: last(heard) == [20.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        "it",
    )
    peer.wait(lambda: last(heard) == [0.0] * 6, "zero effort once nobody commands")
    keep_sending(
        peer,
        publisher,
        [1.0] * 6,
        lambda: last(heard) == [1.0] * 6,
        "recovery with the next command",
    )


def test_garbage_never_reaches_the_driver(gate, peer):
    _, publisher, heard = gate
    keep_sending(peer, publisher, [1.0] * 6, lambda: last(heard) == [1.0] * 6, "an open gate")
    for bad in (
        [float("nan")] * 6,
        [float("inf"), 0, 0, 0, 0, 0],
        [1.0] * 5,
        [1.0] * 7,
        [],
        [1e308] * 6,
        [-1e308] * 6,
    ):
        for _ in range(5):
            publisher.publish(Float64MultiArray(data=[float(x) for x in bad]))
            peer.spin_for(0.01)
    peer.spin_for(0.3)
    limits = rd.load_robot("six_axis").effort_limit.copy()
    limits[0] = 20.0
    for message in heard:
        assert (
            len(message.data) == 6
            and np.isfinite(message.data).all()
            and (np.abs(message.data) <= limits).all()
        )


def test_a_joint_that_runs_away_stops_it_until_reset(gate, peer):
    process, publisher, heard = gate
    states = peer.publisher(JointState, "joint_states", 1)
    keep_sending(peer, publisher, [1.0] * 6, lambda: last(heard) == [1.0] * 6, "an open gate")
    names = list(rd.load_robot("six_axis").joint_names)
    peer.subscribed(states)
    runaway = JointState(
        name=names, position=[0.0] * 6, velocity=[1e3, 0.0, 0.0, 0.0, 0.0, 0.0], effort=[0.0] * 6
    )
    peer.insist(
        states, runaway, lambda: "stopped until ~/reset" in process.output(), "a stopped gate"
    )
    # what was sent before is here
    peer.call(GetParameters, "effort_gate/get_parameters", GetParameters.Request())
    peer.drain()
    heard.clear()
    keep_sending(peer, publisher, [1.0] * 6, lambda: len(heard) > 20, "a gate that stays stopped")
    assert all(list(m.data) == [0.0] * 6 for m in heard)
    assert peer.call(Trigger, "effort_gate/reset", Trigger.Request()).success
    keep_sending(
        peer, publisher, [1.0] * 6, lambda: last(heard) == [1.0] * 6, "an open gate after reset"
    )


def test_two_controllers_are_one_too_many(gate, peer):
    _, publisher, heard = gate
    keep_sending(peer, publisher, [1.0] * 6, lambda: last(heard) == [1.0] * 6, "an open gate")
    rival = peer.publisher(Float64MultiArray, COMMANDS, 1)
    keep_sending(peer, publisher, [1.0] * 6, lambda: last(heard) == [0.0] * 6, "a stopped gate")
    peer.node.destroy_publisher(rival)


def said(reports, words, cause):
    """Whether a status says these words and counts the cause, and is no good news."""
    return any(
        words in status.message
        and status.level != b"\0"
        and any(v.key == f"count {cause}" for v in status.values)
        for array in reports
        for status in array.status
        if "effort_gate" in status.name
    )


def test_commands_of_another_type_are_reported_with_the_remedy(gate, peer):
    process, publisher, heard = gate
    peer.node.destroy_publisher(publisher)
    reports = peer.listen(DiagnosticArray, "/diagnostics", 10)
    stranger = peer.publisher(JointState, COMMANDS, 1)
    stranger.publish(JointState(effort=[1.0] * 6))
    peer.wait(
        lambda: said(reports, "set command_format to 'joint_state'", "wrong_type"),
        "a report of the wrong type",
    )
    assert "/peer on /effort_gate/commands" in process.log.read_text()
    assert not any(any(m.data) for m in heard)


def test_commands_past_the_gate_are_reported(gate, peer):
    process, _publisher, _ = gate
    reports = peer.listen(DiagnosticArray, "/diagnostics", 10)
    peer.publisher(Float64MultiArray, OUT, 1)
    peer.wait(lambda: said(reports, "past the gate", "bypassed"), "a report of the bypass")
    assert "remap them to /effort_gate/commands" in process.log.read_text()


def test_a_gate_that_sees_no_speed_says_so(gate, peer):
    _, publisher, heard = gate
    reports = peer.listen(DiagnosticArray, "/diagnostics", 10)
    keep_sending(
        peer,
        publisher,
        [1.0] * 6,
        lambda: said(reports, "no speed is watched", "speed_unknown"),
        "a report of it",
    )
    assert last(heard) == [1.0] * 6


def test_it_does_not_brake_for_ever_by_a_state_that_is_repeated(start, peer):
    """A driver whose sensor has died says the same again and again."""
    heard = peer.listen(Float64MultiArray, OUT, 100)
    start(
        "effort_gate",
        robot_description_file="two_link",
        state_timeout=0.2,
        limits__shoulder__braking=5.0,
    )
    states = peer.publisher(JointState, "joint_states", 1)
    peer.subscribed(states)
    message = JointState(
        name=["shoulder", "elbow"], position=[0.0] * 2, velocity=[0.4, 0.0], effort=[0.0] * 2
    )
    message.header.stamp.sec = 5
    timer = peer.node.create_timer(0.01, lambda: states.publish(message))
    peer.wait(lambda: last(heard) == [-2.0, 0.0], "braking")
    peer.wait(lambda: last(heard) == [0.0, 0.0], "the end of braking", timeout=20.0)
    peer.spin_for(0.5)
    assert last(heard) == [0.0, 0.0]
    peer.node.destroy_timer(timer)


def test_it_ends_with_zero_effort_and_exit_code_zero(gate, peer):
    process, publisher, heard = gate
    keep_sending(peer, publisher, [1.0] * 6, lambda: last(heard) == [1.0] * 6, "an open gate")
    process.send(signal.SIGTERM)
    peer.wait(lambda: process.exit_code is not None, "the end")
    assert process.exit_code == 0
    peer.wait(lambda: last(heard) == [0.0] * 6, "zero effort as the last message")


def test_a_controller_killed_under_way_leaves_the_arm_without_effort(start, peer):
    """The simulator here is a driver of the bad kind: it holds the last effort for ever
    (almost).
    """
    start("simulator", robot_description_file="six_axis", command_timeout=60.0)
    heard = peer.listen(Float64MultiArray, OUT)
    start("effort_gate", robot_description_file="six_axis")
    controller = start("controller", remap={OUT: COMMANDS}, robot_description_file="six_axis")
    peer.wait(lambda: heard and any(heard[-1].data), "an arm that is held", 60.0)
    controller.send(signal.SIGKILL)
    peer.wait(lambda: last(heard) == [0.0] * 6, "zero effort")
