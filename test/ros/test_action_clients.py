"""``~/follow_joint_trajectory`` as its clients meet it: the real action, over the middleware,
between processes.

Needs control_msgs, which a ROS distribution has and its wheels have not.
"""

from __future__ import annotations

import signal
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("control_msgs", reason="control_msgs is not installed")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from control_msgs.srv import QueryTrajectoryState
from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient
from rclpy.duration import Duration as RosDuration
from rclpy.serialization import deserialize_message
from support.domains import private_domain
from support.fault_stack import ControllerStack, Q, point
from support.peer import CONTROLLER
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.ros.transport.apart import apart_action_server

pytestmark = pytest.mark.middleware


class Client:
    """Sends goals to a controller in another process."""

    def __init__(self, stack) -> None:
        self.stack = stack
        self.peer = stack.peer
        self._client = ActionClient(
            stack.peer.node, FollowJointTrajectory, f"{CONTROLLER}/follow_joint_trajectory"
        )
        self.peer.wait(self._client.server_is_ready, "the action server")

    def send(self, *points, count=1, feedback=None, **tolerances):
        goal = FollowJointTrajectory.Goal(
            trajectory=JointTrajectory(joint_names=self.stack.joints, points=list(points)),
            **tolerances,
        )
        answers = [self._client.send_goal_async(goal, feedback) for _ in range(count)]
        self.peer.wait(lambda: all(a.done() for a in answers), "answers to all goals")
        return [a.result() for a in answers]

    def results(self, handles):
        waiting = [h.get_result_async() for h in handles]
        self.peer.wait(lambda: all(w.done() for w in waiting), "results of all goals")
        return [
            (w.result().status, w.result().result.error_code, w.result().result.error_string)
            for w in waiting
        ]


class PatientStack(ControllerStack):
    """Bears a test process that is stopped for a while."""

    arguments: ClassVar[dict[str, str]] = {"state_timeout": "60.0"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with private_domain() as domain:
        stack = PatientStack(domain, tmp_path_factory.mktemp("controller"))
        try:
            stack.settle()
            yield Client(stack)
        finally:
            stack.close()


def test_a_goal_without_points_is_rejected(client):
    (handle,) = client.send()
    assert not handle.accepted


def test_a_goal_that_cannot_be_followed_says_why(client):
    ((status, code, text),) = client.results(client.send(point(Q + 0.5, 1e-9)))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, FollowJointTrajectory.Result.INVALID_GOAL)
    assert "time_from_start" in text


def test_of_thirty_goals_at_once_each_is_answered_and_the_last_one_followed(client):
    outcomes = client.results(client.send(point(Q, 2.0), count=30))
    assert Counter(status for status, _, _ in outcomes) == {
        GoalStatus.STATUS_ABORTED: 29,
        GoalStatus.STATUS_SUCCEEDED: 1,
    }
    assert all(
        "newer" in text for status, _, text in outcomes if status == GoalStatus.STATUS_ABORTED
    )


def test_a_long_goal_is_read_beside_the_cycle_and_has_tolerances_feedback_and_cancellation(client):
    """3000 points: the request stays serialized, and what comes after the trajectory in it counts
    all the same.
    """
    n = 3000
    told = []
    points = [point(Q + np.array([0.0, 0.3 * k / n]), 30.0 * k / n) for k in range(1, n + 1)]
    tight = JointTolerance(name=client.stack.joints[1], position=1e-9)
    # the length of a name moves what follows by four bytes or not
    for joint in client.stack.joints:
        ((status, code, text),) = client.results(
            client.send(*points, path_tolerance=[JointTolerance(name=joint, position=0.5), tight])
        )
        assert (status, code) == (
            GoalStatus.STATUS_ABORTED,
            FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED,
        )
        assert tight.name in text
    client.stack.settle()
    (handle,) = client.send(*points, feedback=told.append)
    client.peer.wait(lambda: len(told) > 3, "feedback")
    assert list(told[-1].feedback.joint_names) == client.stack.joints
    cancelled = handle.cancel_goal_async()
    client.peer.wait(cancelled.done, "the cancellation")
    assert len(cancelled.result().goals_canceling) == 1
    ((status, _, text),) = client.results([handle])
    assert status == GoalStatus.STATUS_CANCELED and "canceled" in text

    points[1500] = point(Q[:1], 15.0)
    ((status, code, text),) = client.results(client.send(*points))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, FollowJointTrajectory.Result.INVALID_GOAL)
    assert "points[1500].positions" in text


def test_a_trajectory_can_be_asked_where_it_will_be(client):
    name = f"{CONTROLLER}/query_state"
    stack = client.stack

    def ask(ahead):
        time = stack.peer.node.get_clock().now() + RosDuration(seconds=ahead)
        return stack.peer.call(
            QueryTrajectoryState, name, QueryTrajectoryState.Request(time=time.to_msg())
        )

    assert not ask(0.0).success
    (handle,) = client.send(point(Q + np.array([0.0, 0.4]), 20.0, [0.0, 0.0]))
    stack.peer.wait(lambda: ask(1.0).success, "the trajectory to be followed")
    soon = ask(1.0)
    late = ask(10.0)
    assert list(soon.name) == stack.joints and soon.success and late.success
    assert Q[1] < soon.position[1] < late.position[1] < Q[1] + 0.4
    assert len(soon.velocity) == len(soon.acceleration) == 2
    beyond = ask(60.0)
    assert not beyond.success and "lasts" in beyond.message
    cancelled = handle.cancel_goal_async()
    stack.peer.wait(cancelled.done, "the cancellation")


@pytest.mark.parametrize("problem", [RuntimeError("no reading"), UnicodeError("no text")])
def test_a_request_that_cannot_be_read(peer, problem):
    """It is an error of the executor, and the server goes on; one in no UTF-8 is read as rclpy
    reads it, with other signs.
    """
    readings = []
    goals = []

    def read(kind, raw):
        readings.append(raw)
        if len(readings) == 1:
            raise problem
        request = deserialize_message(bytes(raw), kind)
        return request.goal_id, request.goal

    def execute(handle):
        goals.append(handle.request)
        handle.succeed()
        return FollowJointTrajectory.Result(error_string="done")

    server = apart_action_server(FollowJointTrajectory, read, peer.node, "follow", execute)
    try:
        client = ActionClient(peer.node, FollowJointTrajectory, "follow")
        peer.wait(client.server_is_ready, "the action server")
        first = client.send_goal_async(FollowJointTrajectory.Goal())
        if isinstance(problem, ValueError):
            peer.wait(first.done, "an answer")
        else:
            with pytest.raises(RuntimeError, match="no reading"):
                peer.wait(first.done, "an answer")
        answered = client.send_goal_async(FollowJointTrajectory.Goal())
        peer.wait(answered.done, "an answer")
        result = answered.result().get_result_async()
        peer.wait(result.done, "the result")
        assert result.result().result.error_string == "done" and first.done() == isinstance(
            problem, ValueError
        )
        assert (
            all(isinstance(goal, FollowJointTrajectory.Goal) for goal in goals)
            and len(goals) == 1 + first.done()
        )
    finally:
        server.destroy()
        # a second time does no harm
        server.destroy()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_goal_under_way_gets_a_result_when_the_controller_is_stopped(client, number):
    client.stack.settle()
    handles = Client(client.stack).send(point(Q, 30.0))
    assert handles[0].accepted
    waiting = handles[0].get_result_async()
    # the request for the result comes before these
    for _ in range(2):
        client.peer.call(GetState, f"{CONTROLLER}/get_state", GetState.Request())
    client.stack.signal(number)
    client.peer.wait(waiting.done, "the result")
    answer = waiting.result()
    assert (
        answer.status == GoalStatus.STATUS_ABORTED and "deactivated" in answer.result.error_string
    )
    assert client.stack.process.wait(60.0) == 0
