"""The whole stack in separate processes: simulator, controller, and this process as the third.

The runs are in lockstep, one simulated period for each command, so that their numbers do not depend on how busy the
machine is.
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
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from support.peer import CONTROLLER, SIMULATOR
from trajectory_msgs.msg import JointTrajectory

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.plan import plan_motion
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.demo_client import trajectory_message
from robot_dynamics_ros.ros.qos import LATCHED
from robot_dynamics_ros.ros.trajectory_messages import to_nanoseconds

pytestmark = pytest.mark.middleware

ROBOT = "six_axis"
#: neither the model's order nor its reverse
SHUFFLED = ["wrist_2_joint", "elbow_joint", "shoulder_pan_joint", "wrist_3_joint", "shoulder_lift_joint", "wrist_1_joint"]


@pytest.fixture(scope="module")
def model():
    return rd.load_urdf(str(robot_path(ROBOT)))


def stamp_of(message) -> int:
    return to_nanoseconds(message.header.stamp)


def in_model_order(model, message: JointState, field: str) -> np.ndarray:
    values = dict(zip(message.name, getattr(message, field), strict=True))
    return np.array([values[name] for name in model.joint_names])


LOCKSTEP = {"time_mode": "lockstep", "holding_brakes": True}
#: in lockstep every command is a step, so the watchdog must not send any of its own
PATIENT = {"state_timeout": 30.0}


def follow(peer, model, states, duration=3.0, lead=2_000_000_000):
    """Send a motion and wait for its end; returns the motion, its start and the states heard on the way."""
    peer.wait(lambda: states, "joint states")
    trajectories = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    peer.subscribed(trajectories)
    motion = plan_motion(model, in_model_order(model, states[-1], "position"), waypoints=2, duration=duration)
    states.clear()
    peer.wait(lambda: states, "joint states")
    start = stamp_of(states[-1]) + lead
    times = motion.times
    trajectories.publish(
        trajectory_message(motion.joint_names, times, motion.waypoints, motion.at(times, 1), motion.at(times, 2), start)
    )
    end = start + round(motion.duration * 1e9) + 300_000_000
    peer.wait(lambda: stamp_of(states[-1]) > end, "the end of the trajectory", 60.0)
    return motion, start


def controlling(peer) -> None:
    """Wait until commands flow."""
    commands = peer.listen(Float64MultiArray, "effort_controller/commands")
    peer.wait(lambda: commands, "commands")


def errors(model, motion, start, states) -> np.ndarray:
    t = np.array([(stamp_of(m) - start) * 1e-9 for m in states])
    q = np.array([in_model_order(model, m, "position") for m in states])
    return (motion.at(t) - q)[t >= 0.0]


def stiff(model, p=400.0, d=40.0) -> dict[str, float]:
    return {f"gains__{name}__{gain}": value for name in model.joint_names for gain, value in (("p", p), ("d", d))}


def geared(model) -> dict[str, float]:
    """Inertia of gears; without it the wrist would weigh nothing beside its friction."""
    return {f"armature__{name}": 0.1 for name in model.joint_names}


def test_a_shuffled_robot_follows_a_trajectory_and_both_nodes_end_cleanly(peer, start, model):
    simulator = start("simulator", robot_description_file=ROBOT, joints=SHUFFLED, **LOCKSTEP, **geared(model))
    controller = start("controller", joints=SHUFFLED, **PATIENT, **stiff(model), **geared(model))  # its description comes by topic
    states = peer.listen(JointState, "joint_states")
    descriptions = peer.listen(String, "robot_description", LATCHED)
    controlling(peer)
    motion, begun = follow(peer, model, states)

    assert list(states[0].name) == SHUFFLED
    assert all(len(m.position) == len(m.velocity) == len(m.effort) == 6 for m in states)
    assert descriptions[0].data == robot_path(ROBOT).read_text()
    error = errors(model, motion, begun, states)
    # the model is exact, friction included: what remains is the delay of one period and the breakaway from rest
    assert np.abs(error).max() < 5e-3
    assert np.abs(error[-1]).max() < 2e-3

    state = peer.call(GetState, f"{CONTROLLER}/get_state", GetState.Request())
    assert state.current_state.id == State.PRIMARY_STATE_ACTIVE
    assert controller.stop(signal.SIGINT) == 0
    assert simulator.stop(signal.SIGTERM) == 0


def test_the_order_of_joint_states_may_change_from_message_to_message(peer, start, model):
    """This process stands between the nodes and shuffles every message, with a stranger's joint among them."""
    start("simulator", robot_description_file=ROBOT, update_rate=200.0,
          remap={"joint_states": "true_joint_states"}, **LOCKSTEP, **geared(model))
    start("controller", robot_description_file=ROBOT, **PATIENT, **stiff(model), **geared(model))
    relayed = peer.publisher(JointState, "joint_states", qos_profile_sensor_data)
    states: list[JointState] = []
    dice = random.Random(3)

    def relay(message: JointState) -> None:
        states.append(message)
        order = list(range(7))
        dice.shuffle(order)
        fields = (
            [*message.name, "gripper_of_somebody_else"], [*message.position, float("nan")],
            [*message.velocity, float("nan")], [*message.effort, float("nan")],
        )
        name, position, velocity, effort = ([values[i] for i in order] for values in fields)
        relayed.publish(
            JointState(header=message.header, name=name, position=position, velocity=velocity, effort=effort)
        )

    peer.node.create_subscription(JointState, "true_joint_states", relay, 10)
    controlling(peer)
    motion, begun = follow(peer, model, states, duration=2.5)
    error = errors(model, motion, begun, states)
    assert np.abs(error).max() < 0.01
    assert np.abs(error[-1]).max() < 5e-3


def test_joint_wrenches_belong_to_their_state_and_carry_the_effort_along_the_axis(peer, start, model):
    start("simulator", robot_description_file=ROBOT, friction=False, command_format="joint_state", **LOCKSTEP)
    start("controller", **PATIENT, friction_compensation="none", command_format="joint_state", **stiff(model))
    states = peer.listen(JointState, "joint_states")
    commands = peer.listen(JointState, "robot_joint_commands")
    wrenches = {name: peer.listen(WrenchStamped, f"{CONTROLLER}/joint_wrenches/{name}") for name in model.joint_names}
    true_wrenches = {name: peer.listen(WrenchStamped, f"{SIMULATOR}/joint_wrenches/{name}") for name in model.joint_names}
    peer.wait(lambda: commands, "commands")
    peer.wait(lambda: all(wrenches.values()), "joint wrenches")
    _, begun = follow(peer, model, states, duration=2.0)

    command_at = {stamp_of(m): in_model_order(model, m, "effort") for m in commands}
    effort_at = {stamp_of(m): in_model_order(model, m, "effort") for m in states}
    for i, name in enumerate(model.joint_names):
        joint = model.joint(name)
        for messages, effort in ((wrenches[name], command_at), (true_wrenches[name], effort_at)):
            compared = 0
            for message in messages:
                assert message.header.frame_id == joint.child
                if stamp_of(message) < begun or stamp_of(message) not in effort:
                    continue  # the brakes were on, or a message was lost
                t = message.wrench.torque
                assert np.dot(joint.axis, (t.x, t.y, t.z)) == pytest.approx(effort[stamp_of(message)][i], abs=1e-9)
                compared += 1
            assert compared > 100


def test_hold_stops_the_arm_where_it_is(peer, start, model):
    start("simulator", robot_description_file=ROBOT, **LOCKSTEP, **geared(model))
    start("controller", **PATIENT, **stiff(model), **geared(model))
    states = peer.listen(JointState, "joint_states")
    controlling(peer)
    peer.wait(lambda: states, "joint states")
    trajectories = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    peer.subscribed(trajectories)
    start_position = in_model_order(model, states[-1], "position")
    goal = start_position + 1.5
    trajectories.publish(
        trajectory_message(model.joint_names, np.array([20.0]), goal[None], np.zeros((1, 6)), np.zeros((1, 6)), 0)
    )
    peer.wait(lambda: np.abs(in_model_order(model, states[-1], "position") - start_position).max() > 0.05, "motion")
    response = peer.call(Trigger, f"{CONTROLLER}/hold", Trigger.Request())
    assert response.success, response.message
    peer.wait(lambda: np.abs(in_model_order(model, states[-1], "velocity")).max() < 1e-4, "standstill")
    where = in_model_order(model, states[-1], "position")
    assert np.abs(where - goal).min() > 0.1
    stopped = stamp_of(states[-1])
    peer.wait(lambda: stamp_of(states[-1]) > stopped + 10**9, "a second of holding")
    assert np.abs(in_model_order(model, states[-1], "position") - where).max() < 5e-3
