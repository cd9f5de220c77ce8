"""The whole stack in separate processes: simulator, controller, and this process as the third.

The runs are in lockstep, one simulated period for each command, so that their numbers do not depend
on how busy the machine is.
"""

from __future__ import annotations

import random
import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.peer import CONTROLLER, SIMULATOR
from trajectory_msgs.msg import JointTrajectory

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.planning import plan_motion
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds, trajectory_message
from robot_dynamics_ros.ros.transport.qos import LATCHED

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "six_axis"
#: neither the model's order nor its reverse
SHUFFLED = [
    "wrist_2_joint",
    "elbow_joint",
    "shoulder_pan_joint",
    "wrist_3_joint",
    "shoulder_lift_joint",
    "wrist_1_joint",
]


@pytest.fixture(scope="module")
def model():
    return rd.load_urdf(str(robot_path(ROBOT)))


def stamp_of(message) -> int:
    return to_nanoseconds(message.header.stamp)


def in_model_order(model, message: JointState, field: str) -> np.ndarray:
    values = dict(zip(message.name, getattr(message, field), strict=True))
    return np.array([values[name] for name in model.joint_names])


class Relay:
    """Hands every joint state on to the controller, so that time goes on only as fast as this
    process listens.

    Args:
        peer: this process.
        shuffle: put every message in another order, with a stranger's joint in it.
    """

    def __init__(self, peer, shuffle: bool = False) -> None:
        self.peer = peer
        self.states: list[JointState] = []
        self._dice = random.Random(3) if shuffle else None
        self._publisher = peer.publisher(JointState, "joint_states")
        peer.node.create_subscription(JointState, "true_joint_states", self._on_state, 10)
        peer.subscribed(self._publisher)

    def _on_state(self, message: JointState) -> None:
        self.states.append(message)
        self._publisher.publish(message if self._dice is None else self._shuffled(message))

    def _shuffled(self, message: JointState) -> JointState:
        order = list(range(len(message.name) + 1))
        self._dice.shuffle(order)
        fields = (
            [*message.name, "gripper_of_somebody_else"],
            [*message.position, float("nan")],
            [*message.velocity, float("nan")],
            [*message.effort, float("nan")],
        )
        name, position, velocity, effort = ([values[i] for i in order] for values in fields)
        return JointState(
            header=message.header, name=name, position=position, velocity=velocity, effort=effort
        )

    @property
    def now(self) -> int:
        """Simulated time, ns."""
        return stamp_of(self.states[-1]) if self.states else 0

    def until(self, time: int, what: str) -> None:
        self.peer.wait(lambda: self.now >= time, what, 120.0)


def begin(start, model, *, joints=None, robot=None, controller=None):
    """Both nodes, in lockstep; the wrist of the robot has the inertia of its gears, or it would
    weigh nothing.
    """
    armature = {f"armature__{name}": 0.1 for name in model.joint_names}
    gains = {
        f"gains__{name}__{gain}": value
        for name in model.joint_names
        for gain, value in (("p", 400.0), ("d", 40.0))
    }
    shared = {**armature, **({"joints": joints} if joints else {})}
    return (
        start(
            "simulator",
            remap={"joint_states": "true_joint_states"},
            robot_description_file=ROBOT,
            time_mode="lockstep",
            holding_brakes=True,
            **shared,
            **(robot or {}),
        ),
        # every command is a step, so the watchdog must not send any of its own
        start("controller", state_timeout=60.0, **shared, **gains, **(controller or {})),
    )


def to_controller(peer):
    """A publisher of trajectories that the controller listens to; time goes on while the two find
    each other.
    """
    trajectories = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    peer.subscribed(trajectories)
    return trajectories


def follow(peer, model, relay, duration=3.0):
    """Send a motion and wait for its end; returns the motion and its start."""
    second = 10**9
    relay.until(relay.now + second // 10, "the controller to hold")
    trajectories = to_controller(peer)
    motion = plan_motion(
        model, in_model_order(model, relay.states[-1], "position"), waypoints=2, duration=duration
    )
    start = relay.now + second
    times = motion.times
    trajectories.publish(
        trajectory_message(
            motion.joint_names,
            times,
            motion.waypoints,
            motion.at(times, 1),
            motion.at(times, 2),
            start,
        )
    )
    relay.until(start + round((motion.duration + 0.3) * second), "the end of the trajectory")
    return motion, start


def errors(model, motion, start, states) -> np.ndarray:
    t = np.array([(stamp_of(m) - start) * 1e-9 for m in states])
    q = np.array([in_model_order(model, m, "position") for m in states])
    return (motion.at(t) - q)[t >= 0.0]


def test_a_robot_with_joints_in_another_order_follows_and_both_nodes_end_cleanly(
    peer, start, model
):
    # the controller's description comes by topic
    simulator, controller = begin(start, model, joints=SHUFFLED)
    relay = Relay(peer)
    descriptions = peer.listen(String, "robot_description", LATCHED)
    motion, begun = follow(peer, model, relay)

    assert all(list(m.name) == SHUFFLED for m in relay.states)
    assert all(len(m.position) == len(m.velocity) == len(m.effort) == 6 for m in relay.states)
    peer.wait(lambda: descriptions, "the description")
    assert descriptions[0].data == robot_path(ROBOT).read_text()
    error = errors(model, motion, begun, relay.states)
    # the model is exact, friction included: what remains is the delay of one period and the
    # breakaway from rest
    assert np.abs(error).max() < 5e-3
    assert np.abs(error[-1]).max() < 2e-3

    state = peer.call(GetState, f"{CONTROLLER}/get_state", GetState.Request())
    assert state.current_state.id == State.PRIMARY_STATE_ACTIVE
    assert controller.stop(signal.SIGINT) == 0
    assert simulator.stop(signal.SIGTERM) == 0


def test_the_order_of_joint_states_may_change_from_message_to_message(peer, start, model):
    begin(start, model, robot={"update_rate": 200.0})
    relay = Relay(peer, shuffle=True)
    motion, begun = follow(peer, model, relay, duration=2.5)
    error = errors(model, motion, begun, relay.states)
    assert np.abs(error).max() < 0.01
    assert np.abs(error[-1]).max() < 5e-3


def test_joint_wrenches_belong_to_their_state_and_carry_the_effort_along_the_axis(
    peer, start, model
):
    begin(
        start,
        model,
        robot={"friction": False, "command_format": "joint_state", "update_rate": 400.0},
        # the law alone: efforts against friction do not reach the links
        controller={
            "friction_compensation": "none",
            "robustness.enabled": False,
            "command_format": "joint_state",
        },
    )
    commands = peer.listen(JointState, "robot_joint_commands", 10)
    wrenches = {
        name: peer.listen(WrenchStamped, f"{CONTROLLER}/joint_wrenches/{name}", 10)
        for name in model.joint_names
    }
    true_wrenches = {
        name: peer.listen(WrenchStamped, f"{SIMULATOR}/joint_wrenches/{name}", 10)
        for name in model.joint_names
    }
    relay = Relay(peer)
    peer.wait(lambda: all(wrenches.values()) and all(true_wrenches.values()), "joint wrenches")
    _, begun = follow(peer, model, relay, duration=2.5)

    robot = rd.load_urdf(robot_path(ROBOT), armature={name: 0.1 for name in model.joint_names})
    states = {
        stamp_of(m): [in_model_order(model, m, f) for f in ("position", "velocity", "effort")]
        for m in relay.states
    }
    command_at = {stamp_of(m): in_model_order(model, m, "effort") for m in commands}
    effort_at = {stamp: effort for stamp, (_, _, effort) in states.items()}
    for messages_of, efforts in ((wrenches, command_at), (true_wrenches, effort_at)):
        for i, name in enumerate(model.joint_names):
            joint = model.joint(name)
            compared = 0
            for message in messages_of[name][::7]:
                assert message.header.frame_id == joint.child
                stamp = stamp_of(message)
                if stamp < begun or stamp not in efforts or stamp not in states:
                    # the brakes were on, or the newest message is ahead of the others
                    continue
                q, v, _ = states[stamp]
                a = rd.forward_dynamics(robot, q, v, efforts[stamp])
                t = message.wrench.torque
                f = message.wrench.force
                # what accelerates the rotors does not pass through the links
                along_axis = efforts[stamp][i] - robot.armature[i] * a[i]
                assert np.dot(joint.axis, (t.x, t.y, t.z)) == pytest.approx(along_axis, abs=1e-7)
                expected = rd.joint_wrenches(robot, q, v, a)[i]
                np.testing.assert_allclose([t.x, t.y, t.z, f.x, f.y, f.z], expected, atol=1e-7)
                compared += 1
            assert compared > 100


def test_hold_stops_the_arm_on_its_way(peer, start, model):
    begin(start, model)
    relay = Relay(peer)
    second = 10**9
    relay.until(second // 10, "the controller to hold")
    home = in_model_order(model, relay.states[-1], "position")
    goal = home + 1.0
    at_rest = np.zeros((1, 6))
    to_controller(peer).publish(
        trajectory_message(model.joint_names, np.array([8.0]), goal[None], at_rest, at_rest, 0)
    )
    peer.wait(
        lambda: np.abs(in_model_order(model, relay.states[-1], "position") - home).max() > 0.05,
        "motion",
    )
    response = peer.call(Trigger, f"{CONTROLLER}/hold", Trigger.Request())
    assert response.success, response.message
    relay.until(relay.now + second, "standstill")
    where = in_model_order(model, relay.states[-1], "position")
    assert np.abs(where - goal).min() > 0.1
    relay.until(relay.now + second, "a second of holding")
    assert np.abs(in_model_order(model, relay.states[-1], "position") - where).max() < 1e-3


def test_a_push_is_seen_in_the_external_efforts(peer, start, model):
    begin(
        start,
        model,
        robot={"friction": False, "wrench_timeout": 60.0},
        controller={"friction_compensation": "none"},
    )
    relay = Relay(peer)
    estimates = peer.listen(JointState, f"{CONTROLLER}/external_efforts", 10)
    pushes = peer.publisher(WrenchStamped, f"{SIMULATOR}/external_wrench")
    peer.subscribed(pushes)
    peer.wait(lambda: estimates, "estimates")
    before = {name: estimates[-1].effort[i] for i, name in enumerate(estimates[-1].name)}
    assert max(abs(effort) for effort in before.values()) < 1e-6
    message = WrenchStamped()
    message.header.frame_id = link = model.joint("wrist_1_joint").child
    message.wrench.force.z = 4.0
    # one may be lost
    for _ in range(8):
        pushes.publish(message)
        relay.until(relay.now + 10**8, "the estimate to settle")
    seen = stamp_of(estimates[-1])
    state = next(m for m in reversed(relay.states) if stamp_of(m) <= seen)
    q = in_model_order(model, state, "position")
    jacobian = rd.jacobian(model, q, link)
    force = rd.link_pose(model, q, link)[:3, :3] @ [0.0, 0.0, 4.0]
    np.testing.assert_allclose(
        in_model_order(model, estimates[-1], "effort"), jacobian[3:].T @ force, atol=0.02
    )
