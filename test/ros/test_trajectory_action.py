"""``~/follow_joint_trajectory``: the controller node in this process, an action server that needs
no control_msgs.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from builtin_interfaces.msg import Duration
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.fake_control_msgs import ACTION_TYPE, FakeServer, GoalMessage, JointTolerance
from support.peer import CONTROLLER
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.goal import ResultCode
from robot_dynamics_ros.ros.controller import trajectory_action, trajectory_messages
from robot_dynamics_ros.ros.controller.node import ControllerNode

pytestmark = pytest.mark.middleware

START = np.array([0.3, -0.4])


class Arm:
    """A robot that is always where it is wanted, or stuck; and the controller that moves it."""

    def __init__(self, peer, node) -> None:
        self.peer = peer
        self.node = node
        self.stuck = False
        self._digit = 1e-6
        self.model = node.loop.model
        self._states = peer.publisher(JointState, "joint_states", 1)
        self._timer = peer.node.create_timer(0.01, self._tick)
        peer.wait(lambda: node.loop.running, "the first cycle")

    @property
    def controller(self):
        return self.node.loop.controller

    def _tick(self) -> None:
        loop = self.node.loop
        q = START
        v = np.zeros(2)
        if loop is not None and loop.running and not self.stuck:
            q = loop.controller.reference[0]
            v = loop.controller.reference[1]
        elif self.stuck:
            self._digit = -self._digit
            # its encoder is alive
            q = START + self._digit
        message = JointState(
            name=list(self.model.joint_names), position=q.tolist(), velocity=v.tolist()
        )
        message.header.stamp = self.peer.node.get_clock().now().to_msg()
        self._states.publish(message)

    def goal(
        self, *points: tuple[float, list[float]], names=None, stamp=None, **tolerances
    ) -> GoalMessage:
        message = JointTrajectory(joint_names=list(names or self.model.joint_names))
        for time, positions in points:
            point = JointTrajectoryPoint(positions=positions, velocities=[0.0] * len(positions))
            point.time_from_start = Duration(sec=int(time), nanosec=round(time % 1 * 1e9))
            message.points.append(point)
        if stamp is not None:
            message.header.stamp = stamp
        return GoalMessage(message, **tolerances)

    def end(self, handle):
        self.peer.wait(lambda: handle.result is not None, "the result")
        return handle.state, ResultCode(handle.result.error_code), handle.result.error_string


@pytest.fixture
def arm(peer, monkeypatch):
    monkeypatch.setattr(trajectory_messages, "ActionType", ACTION_TYPE)
    monkeypatch.setattr(
        trajectory_action,
        "apart_action_server",
        lambda kind, read, node, *rest, **options: FakeServer(node, kind, *rest, **options),
    )
    values = {
        "robot_description_file": "two_link",
        "state_timeout": 5.0,
        "executor": "single_threaded",
    }
    node = ControllerNode(
        context=peer.context,
        parameter_overrides=[Parameter(name, value=value) for name, value in values.items()],
    )
    peer.executor.add_node(node)
    try:
        yield Arm(peer, node)
    finally:
        peer.executor.remove_node(node)
        node.finish()
        node.destroy_node()


def test_a_goal_is_followed_with_feedback_and_succeeds(arm):
    assert FakeServer.latest.name == "~/follow_joint_trajectory"
    # s; rclpy's own value is another in each distribution
    assert FakeServer.latest.options["result_timeout"] == 10
    target = [0.5, -0.2]
    handle = FakeServer.latest.send(arm.goal((0.3, [0.4, -0.3]), (0.6, target)))
    state, code, _ = arm.end(handle)
    assert (state, code) == ("succeeded", ResultCode.SUCCESSFUL)
    np.testing.assert_allclose(arm.controller.reference[0], target, atol=1e-9)
    first = handle.feedback[0]
    last = handle.feedback[-1]
    assert first.joint_names == list(arm.model.joint_names)
    np.testing.assert_allclose(
        np.subtract(last.desired.positions, last.actual.positions), last.error.positions, atol=1e-12
    )
    since = [
        m.desired.time_from_start.sec + 1e-9 * m.desired.time_from_start.nanosec
        for m in handle.feedback
    ]
    assert since == sorted(since) and 0.0 <= since[0] < since[-1] <= 0.65
    assert [m.index for m in handle.feedback] == [0 if t <= 0.3 else 1 for t in since]


def test_a_goal_that_cannot_be_followed_ends_with_code_and_reason(arm):
    old = arm.peer.node.get_clock().now().to_msg()
    old.sec -= 100
    for goal, code, words in (
        (arm.goal((1.0, [0.5]), names=["nobody"]), ResultCode.INVALID_JOINTS, "nobody"),
        (arm.goal((1.0, [0.5, 0.5]), (0.5, [0.0, 0.0])), ResultCode.INVALID_GOAL, "increasing"),
        (arm.goal((1.0, [0.5, 0.5]), stamp=old), ResultCode.OLD_HEADER_TIMESTAMP, ""),
    ):
        state, got, text = arm.end(FakeServer.latest.send(goal))
        assert (state, got) == ("aborted", code)
        assert words in text
    np.testing.assert_allclose(arm.controller.reference[0], START, atol=1e-12)


def test_a_trajectory_of_bodies_is_refused_and_said(arm, capfd):
    goal = arm.goal((1.0, [0.5, 0.5]))
    goal.multi_dof_trajectory.joint_names = ["base"]
    assert FakeServer.latest.send(goal) is None
    assert "multi_dof_trajectory is not supported" in capfd.readouterr().err


def test_cancelling_brings_the_arm_to_a_stop_and_holds(arm):
    handle = FakeServer.latest.send(arm.goal((6.0, [1.5, 0.5])))
    arm.peer.wait(lambda: np.abs(arm.controller.reference[1]).max() > 0.1, "motion")
    assert FakeServer.latest.cancel(handle)
    assert arm.end(handle)[:2] == ("canceled", ResultCode.SUCCESSFUL)
    arm.peer.wait(lambda: not arm.controller.reference[1].any(), "rest")
    assert START[0] < arm.controller.reference[0][0] < 1.5
    assert not FakeServer.latest.cancel(handle)


def test_a_goal_that_is_still_being_prepared_can_be_cancelled(arm):
    under_way = threading.Event()
    arm.controller.changes.prepare(
        "something that takes long", lambda: under_way.wait(60.0) and (lambda: None)
    )
    handle = FakeServer.latest.send(arm.goal((6.0, [1.5, 0.5])))
    arm.peer.spin_for(0.2)
    assert FakeServer.latest.cancel(handle)
    under_way.set()
    assert arm.end(handle)[0] == "canceled"
    arm.peer.spin_for(0.3)
    np.testing.assert_allclose(arm.controller.reference[0], START)
    assert arm.controller.goal is None


def test_a_newer_goal_a_topic_and_a_hold_end_the_older_goal(arm):
    first = FakeServer.latest.send(arm.goal((5.0, [0.6, 0.0])))
    arm.peer.wait(lambda: arm.controller.goal is not None, "the first goal")
    second = FakeServer.latest.send(arm.goal((5.0, [0.7, 0.0])))
    state, _, text = arm.end(first)
    assert state == "aborted" and "newer trajectory" in text
    trajectories = arm.peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    arm.peer.subscribed(trajectories)
    trajectories.publish(arm.goal((5.0, [0.8, 0.0])).trajectory)
    assert arm.end(second)[0] == "aborted"
    third = FakeServer.latest.send(arm.goal((5.0, [0.6, 0.0])))
    arm.peer.wait(lambda: third.feedback, "feedback")
    assert arm.peer.call(Trigger, f"{CONTROLLER}/hold", Trigger.Request()).success
    state, code, text = arm.end(third)
    assert (state, code) == ("aborted", ResultCode.INVALID_GOAL) and "hold" in text


def test_tolerances_of_the_goal_count(arm):
    arm.stuck = True
    path = [JointTolerance(arm.model.joint_names[0], position=0.05)]
    state, code, text = arm.end(
        FakeServer.latest.send(arm.goal((1.0, [0.8, -0.4]), path_tolerance=path))
    )
    assert (state, code) == ("aborted", ResultCode.PATH_TOLERANCE_VIOLATED)
    assert arm.model.joint_names[0] in text
    near = [JointTolerance(arm.model.joint_names[0], position=0.01)]
    goal = arm.goal(
        (0.3, [0.34, -0.4]), goal_tolerance=near, goal_time_tolerance=Duration(nanosec=200_000_000)
    )
    assert arm.end(FakeServer.latest.send(goal))[:2] == (
        "aborted",
        ResultCode.GOAL_TOLERANCE_VIOLATED,
    )


def test_impossible_tolerances_leave_the_default_ones(arm):
    goal = arm.goal((0.3, [0.35, -0.4]), path_tolerance=[JointTolerance("nobody", position=0.1)])
    assert arm.end(FakeServer.latest.send(goal))[0] == "succeeded"


def test_deactivation_ends_goals_and_an_inactive_controller_rejects_them(arm):
    handle = FakeServer.latest.send(arm.goal((5.0, [0.6, 0.0])))
    arm.peer.wait(lambda: arm.controller.goal is not None, "the goal")
    arm.node.trigger_deactivate()
    state, _, text = arm.end(handle)
    assert state == "aborted" and "deactivated" in text
    assert FakeServer.latest.send(arm.goal((1.0, [0.6, 0.0]))) is None
    arm.node.trigger_cleanup()
    assert FakeServer.latest.send(arm.goal((1.0, [0.6, 0.0]))) is None


def test_controller_state_is_filled_where_its_type_exists(arm, monkeypatch):
    """The message of control_msgs, as a stand-in: fields by name, order of the model."""
    from types import SimpleNamespace

    from std_msgs.msg import Header

    from robot_dynamics_ros.ros.controller.outputs import ReferenceTopics

    published = []

    def message(joint_names):
        parts = {name: SimpleNamespace() for name in ("reference", "feedback", "error", "output")}
        return SimpleNamespace(header=Header(), joint_names=joint_names, **parts)

    monkeypatch.setattr(trajectory_messages, "JointTrajectoryControllerState", message)
    topics = ReferenceTopics.__new__(ReferenceTopics)
    topics._controller = arm.controller
    topics._reader = arm.node.loop._reader
    topics._publish_state(SimpleNamespace(publish_message=published.append), 1_500_000_000)
    (state,) = published
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (1, 500_000_000)
    assert state.joint_names == list(arm.model.joint_names)
    np.testing.assert_allclose(state.reference.positions, START, atol=1e-12)
    np.testing.assert_allclose(state.feedback.positions, START, atol=1e-12)
    np.testing.assert_allclose(state.error.positions, 0.0, atol=1e-12)
    np.testing.assert_allclose(state.output.effort, rd.gravity_forces(arm.model, START), atol=1e-9)
