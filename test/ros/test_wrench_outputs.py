"""Wrenches that the controller publishes, against the simulator's true ones."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from support.peer import CONTROLLER, SIMULATOR
from support.random_trees import random_model
from support.wrench_stack import SECOND, Stack, by_stamp, spatial, stamp_of

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.library import robot_path

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "six_axis"
LAST = "wrist_3_joint"


@pytest.fixture(scope="module")
def model():
    return rd.load_urdf(
        str(robot_path(ROBOT)), armature={name: 0.1 for name in rd.load_robot(ROBOT).joint_names}
    )


# case → (source, whether joints rub, median and 90 % bound of the force's error in N; forces go
# up to some 140 N)
SOURCES = {
    "model, without friction": ("model", False, 1e-6, 1e-6),
    # where a joint reverses it sticks for a moment, and then an effort does not tell the
    # acceleration
    "model": ("model", True, 1e-3, 1.0),
    "commanded": ("commanded", True, 0.3, 0.6),
    "differentiated": ("differentiated", True, 0.3, 0.4),
    "reference": ("reference", True, 0.3, 1.5),
}


@pytest.mark.parametrize("case", SOURCES)
def test_acceleration_sources(peer, start, model, case):
    source, rubbing, median, most = SOURCES[case]
    stack = Stack(
        peer,
        start,
        model,
        ROBOT,
        simulator={"friction": rubbing},
        controller={
            "joint_wrenches__acceleration_source": source,
            "friction_compensation": "reference" if rubbing else "none",
            # the model is exact here, and the law its equation
            "robustness__enabled": False,
        },
    )
    joints = ("shoulder_lift_joint", LAST)
    ours = {name: stack.wrenches(f"joint_wrenches/{name}") for name in joints}
    true = {name: stack.true_wrenches(name) for name in joints}
    peer.wait(lambda: all(ours.values()) and all(true.values()), "wrenches")
    begun = stack.follow(3.0)
    for name in joints:
        found = by_stamp(ours[name], begun)
        expected = by_stamp(true[name], begun)
        stamps = sorted(found.keys() & expected.keys())
        assert len(stamps) > 1000
        error = np.array([np.linalg.norm((found[t] - expected[t])[3:]) for t in stamps])
        largest = max(np.linalg.norm(expected[t][3:]) for t in stamps)
        middle, high = np.percentile(error, [50, 90])
        print(
            f"{case}, {name}: median {middle:.2g}, 90 % {high:.2g}, max {error.max():.2g} of "
            f"{largest:.3g} N"
        )
        assert middle < median
        assert high < most
        assert ours[name][0].header.frame_id == model.joint(name).child


def test_fixed_joints_and_parts(peer, start, model):
    """A fixed joint carries what its sibling truth says, and the parts add up to the joint wrench
    for the observer.
    """
    stack = Stack(
        peer,
        start,
        model,
        ROBOT,
        simulator={"friction": False},
        controller={
            "friction_compensation": "none",
            "joint_wrenches__acceleration_source": "model",
            "joint_wrenches__fixed_joints": ["tool*"],
            "wrench_parts__joints": [LAST, "tool0_joint"],
            "wrench_parts__observer": "forearm_link",
        },
    )
    fixed = stack.wrenches("joint_wrenches/tool0_joint")
    own = stack.wrenches(f"joint_wrenches/{LAST}")
    names = ("joint", *rd.WRENCH_PARTS)
    parts = {part: stack.wrenches(f"wrench_parts/{LAST}/{part}") for part in names}
    true = stack.true_wrenches(LAST)
    pushes = peer.publisher(WrenchStamped, f"{SIMULATOR}/external_wrench")
    told = peer.publisher(WrenchStamped, f"{CONTROLLER}/external_wrench")
    peer.wait(lambda: fixed and own and true and all(parts.values()), "wrenches")
    peer.subscribed(pushes)
    peer.subscribed(told)
    push = WrenchStamped()
    push.header.frame_id = "tool0"
    push.wrench.force.x = 8.0
    push.wrench.force.z = -20.0
    push.wrench.torque.y = 1.5
    since = stack.now
    # the tool joint carries nothing: its wrench is the push, turned into its axes
    for _ in range(12):
        pushes.publish(push)
        told.publish(push)
        stack.run(0.05)
    carried = by_stamp(fixed, since + SECOND // 2)
    assert len(carried) > 20
    for wrench in carried.values():
        np.testing.assert_allclose(wrench, -spatial(push), atol=1e-9)
    assert fixed[0].header.frame_id == "tool0"
    assert {m.header.frame_id for m in parts["euler"]} == {"forearm_link"}

    expected = by_stamp(true, since)
    states = stack.state_at()
    at = {part: by_stamp(messages, since) for part, messages in parts.items()}
    stamps = sorted(set.intersection(*(set(x) for x in at.values()), set(expected), set(states)))
    assert len(stamps) > 100
    for t in stamps:
        joint = at["joint"][t]
        np.testing.assert_allclose(
            at["dynamic"][t],
            joint + sum(at[part][t] for part in rd.WRENCH_PARTS if part != "dynamic"),
            atol=1e-9,
        )
    late = [t for t in stamps if t > since + SECOND // 2]
    for t in late:
        q = states[t][0]
        R = (
            rd.link_pose(model, q, "forearm_link")[:3, :3].T
            @ rd.link_pose(model, q, model.joint(LAST).child)[:3, :3]
        )
        np.testing.assert_allclose(at["joint"][t][3:], R @ expected[t][3:], atol=0.05)


def test_the_flange_reads_like_a_sensor(peer, start, model):
    """Against truth: the last joint's wrench turned round, tool's weight included.

    Without friction: joints that stick hide from their motors what the surroundings press on them.
    """
    stack = Stack(
        peer,
        start,
        model,
        ROBOT,
        simulator={"friction": False},
        controller={
            "friction_compensation": "none",
            "joint_wrenches__acceleration_source": "model",
            "flange__joint": LAST,
            "flange__frame": "wrist_3_link",
            "flange__observer_gain": 30.0,
        },
    )
    load = stack.wrenches("wrench")
    true = stack.true_wrenches(LAST)
    pushes = peer.publisher(WrenchStamped, f"{SIMULATOR}/external_wrench")
    peer.wait(lambda: load and true, "wrenches")
    peer.subscribed(pushes)
    push = WrenchStamped()
    push.header.frame_id = "tool0"
    push.wrench.force.x = 8.0
    push.wrench.force.y = 5.0
    push.wrench.force.z = -20.0
    since = stack.now
    for _ in range(30):
        pushes.publish(push)
        stack.run(0.05)
    found = by_stamp(load, since + SECOND)
    expected = by_stamp(true, since + SECOND)
    stamps = sorted(found.keys() & expected.keys())
    assert len(stamps) > 100
    difference = np.array([found[t] + expected[t] for t in stamps])
    print("flange", np.abs(difference).max(axis=0), expected[stamps[-1]])
    assert np.abs(difference[:, 3:]).max() < 1.0
    assert np.abs(difference[:, :3]).max() < 0.3
    assert load[0].header.frame_id == "wrist_3_link"


def test_contact_without_the_weight_of_the_payload(peer, start, model):
    """A payload taken on while running hangs on the flange; with weight and inertia off, only the
    push is read.
    """
    stack = Stack(
        peer,
        start,
        model,
        ROBOT,
        controller={
            "joint_wrenches__acceleration_source": "reference",
            "joint_wrenches__fixed_joints": ["tool0_joint"],
            "flange__joint": "tool0_joint",
            "flange__subtract_gravity_and_inertia": True,
            "flange__contact": "known",
        },
    )
    load = stack.wrenches("wrench")
    fixed = stack.wrenches("joint_wrenches/tool0_joint")
    told = peer.publisher(WrenchStamped, f"{CONTROLLER}/external_wrench")
    peer.wait(lambda: load and fixed, "wrenches")
    peer.subscribed(told)
    request = SetParameters.Request(
        parameters=[
            Parameter("payload.link", value="tool0").to_parameter_msg(),
            Parameter("payload.mass", value=1.5).to_parameter_msg(),
        ]
    )
    assert all(
        r.successful
        for r in peer.call(SetParameters, f"{CONTROLLER}/set_parameters", request).results
    )

    def weighs():
        return fixed and abs(np.linalg.norm(spatial(fixed[-1])[3:]) - 1.5 * 9.81) < 1.0

    peer.wait(weighs, "the payload's weight on the tool's joint", 60.0)
    push = WrenchStamped()
    push.header.frame_id = "tool0"
    push.wrench.force.z = -7.0
    since = stack.now
    for _ in range(10):
        told.publish(push)
        stack.run(0.05)
    read = by_stamp(load, since + SECOND // 4)
    assert len(read) > 20
    for wrench in read.values():
        np.testing.assert_allclose(wrench, spatial(push), atol=1e-9)


def test_unknown_frames_are_refused_counted_and_the_last_good_wrench_expires(peer, start, model):
    stack = Stack(
        peer,
        start,
        model,
        ROBOT,
        controller={"joint_wrenches__fixed_joints": ["tool*_joint"], "wrench_timeout": 0.1},
    )
    fixed = stack.wrenches("joint_wrenches/tool0_joint")
    reports = peer.listen(DiagnosticArray, "/diagnostics", 10)
    told = peer.publisher(WrenchStamped, f"{CONTROLLER}/external_wrench")
    peer.wait(lambda: fixed, "wrenches")
    peer.subscribed(told)
    good = WrenchStamped()
    bad = WrenchStamped()
    good.header.frame_id = "tool0"
    bad.header.frame_id = "somebody_elses_gripper"
    good.wrench.force.z = bad.wrench.force.z = -30.0
    peer.wait(
        lambda: told.publish(good) or spatial(fixed[-1])[5] == pytest.approx(30.0),
        "the push to arrive",
    )
    for _ in range(5):
        told.publish(bad)
        stack.run(0.1)
    peer.wait(lambda: spatial(fixed[-1])[5] == 0.0, "the push to expire")

    def counted():
        values = {
            v.key: v.value
            for r in reports
            for s in r.status
            if CONTROLLER in s.name
            for v in s.values
        }
        return (
            int(values.get("count external_wrench", 0)) >= 5
            and int(values.get("count external_wrench_expired", 0)) >= 1
        )

    peer.wait(counted, "the counts in /diagnostics")
    assert stack.controller.wait_for_output("somebody_elses_gripper", 30.0)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"joint_wrenches__fixed_joints": ["tol*"]}, "joint_wrenches.fixed_joints.*tool0_joint"),
        ({"wrench_parts__joints": ["elbow"]}, "wrench_parts.joints.*elbow_joint"),
        ({"wrench_parts__joints": ["elbow_joint"], "wrench_parts__observer": "moon"}, "moon"),
        ({"flange__joint": "tool"}, "flange.joint.*tool0_joint"),
        ({"flange__joint": "tool0_joint", "flange__frame": "sensor"}, "unknown link 'sensor'"),
    ],
)
def test_wrong_names_stop_the_node_with_the_valid_ones(start, wrong, words):
    node = start("controller", robot_description_file=ROBOT, **wrong)
    assert node.wait(60.0) not in (None, 0)
    assert re.search(words, node.output(), re.DOTALL), node.output()


def test_the_divisor_thins_everything_out(peer, start, model):
    stack = Stack(
        peer,
        start,
        model,
        ROBOT,
        controller={
            "joint_wrenches__rate_divisor": 5,
            "joint_wrenches__fixed_joints": ["tool0_joint"],
        },
    )
    own = stack.wrenches(f"joint_wrenches/{LAST}")
    fixed = stack.wrenches("joint_wrenches/tool0_joint")
    peer.wait(lambda: own and fixed, "wrenches")
    begun = stack.now
    stack.run(0.5)
    states = [t for t in stack.state_at() if t > begun]
    for messages in (own, fixed):
        stamps = sorted(stamp_of(m) for m in messages if stamp_of(m) > begun)
        assert len(stamps) <= len(states) / 5 + 2
        assert set(np.diff(stamps)) == {5 * (states[1] - states[0])}


def test_joints_that_mimic_others_have_wrenches_of_their_own(peer, start, tmp_path):
    """Against the library at the published state, with the acceleration that the measured effort
    gives.
    """
    robot = random_model(
        3, 4, types=(JointType.CONTINUOUS,), mimic=0.5, fixed=0.0, limits=False, branching=0.0
    )
    assert robot.has_mimic
    path = tmp_path / "mimic.urdf"
    path.write_text(rd.to_urdf(robot))
    robot = rd.load_urdf(str(path), armature={name: 0.1 for name in robot.joint_names})
    stack = Stack(
        peer,
        start,
        robot,
        str(path),
        simulator={"friction": False},
        controller={
            "friction_compensation": "none",
            "joint_wrenches__acceleration_source": "model",
        },
    )
    heard = {name: stack.wrenches(f"joint_wrenches/{name}") for name in robot.moving_joint_names}
    peer.wait(lambda: all(heard.values()), "wrenches of all moving joints")
    stack.run(0.3)
    states = stack.state_at()
    found = {name: by_stamp(messages) for name, messages in heard.items()}
    stamps = sorted(set.intersection(*map(set, found.values()), set(states)))
    assert len(stamps) > 50
    for t in stamps:
        q, v, effort = states[t]
        a = rd.forward_dynamics(robot, q, v, effort)
        expected = rd.joint_wrenches(robot, q, v, a, joints=robot.moving_joint_names)
        for name, row in zip(robot.moving_joint_names, expected, strict=True):
            np.testing.assert_allclose(
                found[name][t], row, atol=1e-6 * max(1.0, np.abs(expected).max())
            )
