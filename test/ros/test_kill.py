"""One of the two nodes is killed while the arm moves, and started again."""

from __future__ import annotations

import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.peer import CONTROLLER
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics_ros as rd

pytestmark = pytest.mark.middleware

ROBOT = "two_link"
RATE = 250
MODEL = rd.load_robot(ROBOT)
GIVEN = {
    "simulator": {"update_rate": float(RATE), "holding_brakes": True, "command_timeout": 0.2},
    # longer than a busy machine stops a process: a safe command in between would be right, and is
    # not the subject
    "controller": {"state_timeout": 2.0},
}


class Watch:
    """Everything that both nodes send, and whether the arm is held."""

    def __init__(self, peer) -> None:
        self.peer = peer
        self.states = peer.listen(JointState, "joint_states", 1000)
        self.commands = peer.listen(Float64MultiArray, "effort_controller/commands", 1000)
        self._trajectories = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")

    def held(self) -> bool:
        """At rest, by efforts of the controller that carry the weight."""
        if not self.states or not np.any(self.states[-1].effort):
            return False
        state = self.states[-1]
        weight = rd.gravity_forces(MODEL, np.array(state.position))
        return bool(
            np.abs(np.array(state.effort) - weight).max() < 0.5
            and np.abs(state.velocity).max() < 0.02
        )

    def set_in_motion(self) -> None:
        self.peer.wait(self.held, "the arm to be held")
        self.peer.subscribed(self._trajectories)
        goal = np.array(self.states[-1].position) + np.array([0.8, -0.8])
        point = JointTrajectoryPoint(
            positions=goal.tolist(), velocities=[0.0, 0.0], time_from_start=Duration(sec=4)
        )
        self._trajectories.publish(
            JointTrajectory(joint_names=list(MODEL.joint_names), points=[point])
        )
        self.peer.wait(lambda: np.abs(self.states[-1].velocity).max() > 0.15, "the arm to move")

    def bounded(self) -> None:
        """All efforts so far were finite and within the limits."""
        for message in self.commands:
            assert (
                np.isfinite(message.data).all()
                and (np.abs(message.data) <= MODEL.effort_limit + 1e-9).all()
            )
        for message in self.states:
            assert np.isfinite([*message.position, *message.velocity, *message.effort]).all()


@pytest.mark.parametrize("victim", ["controller", "simulator"])
def test_the_other_one_goes_on_when_it_is_back(peer, start, victim):
    watch = Watch(peer)
    nodes = {
        name: start(name, robot_description_file=ROBOT, **given) for name, given in GIVEN.items()
    }
    other = next(node for name, node in nodes.items() if name != victim)
    watch.set_in_motion()
    nodes[victim].send(signal.SIGKILL)
    assert nodes[victim].wait(10.0) == -signal.SIGKILL
    if victim == "controller":
        # nobody commands: no effort, and the brakes hold the arm
        peer.wait(
            lambda: not np.any(watch.states[-1].effort), "the robot to let go of the last effort"
        )
        peer.wait(lambda: not np.any(watch.states[-1].velocity), "the brakes to stop the arm")
    else:
        peer.wait(
            lambda: watch.commands and not np.any(watch.commands[-1].data), "the safe command"
        )
    watch.bounded()
    watch.states.clear()
    watch.commands.clear()
    start(victim, robot_description_file=ROBOT, **GIVEN[victim])
    peer.wait(
        lambda: any(np.any(m.data) for m in watch.commands), "commands after the restart", 60.0
    )
    peer.wait(watch.held, "the arm to be held again")
    watch.bounded()
    weight = rd.gravity_forces(MODEL, np.array(watch.states[-1].position))
    first = next(i for i, m in enumerate(watch.commands) if np.any(m.data))
    off = np.abs(np.array([m.data for m in watch.commands[first:]]) - weight).max(axis=1)
    # counted in cycles, so that a slow machine changes nothing: within a second of them its weight
    # is carried, no more
    assert (off[RATE:] < 0.5).all()
    # an arm that the brakes have held is taken over without a jerk
    if victim == "controller":
        assert off.max() < 0.5
    assert other.exit_code is None
