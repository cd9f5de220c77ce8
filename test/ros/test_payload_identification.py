"""The payload of a simulated arm, learnt over the middleware beside the running controller, and set
there.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rcl_interfaces.srv import GetParameters
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from support.peer import CONTROLLER

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.transport.qos import LATCHED

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "six_axis"
NODE = "payload_identification"


def test_another_description_is_not_mixed_with_the_one_in_use(peer, start):
    node = start(NODE)
    descriptions = peer.publisher(String, "robot_description", LATCHED)
    descriptions.publish(String(data=robot_path("two_link").read_text()))
    peer.subscribed(descriptions)
    names = ["armature.shoulder", "measured_effort_factor.shoulder"]
    request = GetParameters.Request(names=names)

    def known():
        values = peer.call(GetParameters, f"{NODE}/get_parameters", request).values
        # none at all: not declared yet
        return values and all(v.type for v in values)

    peer.wait(known, "the first description to be used")
    other = String(data=robot_path("three_link").read_text())
    words = "another robot_description has arrived; it is not used"
    peer.insist(
        descriptions, other, lambda: words in node.output(), "a report of the other description"
    )


@pytest.mark.parametrize("method", ["motion", "rest"])
def test_a_payload_is_found_and_set_at_the_controller(peer, start, tmp_path, method):
    arm = rd.load_urdf(robot_path(ROBOT))
    payload = rd.Payload("tool0", 3.0, np.array([0.02, -0.03, 0.1]), 0.004 * np.eye(3))
    (tmp_path / "loaded.urdf").write_text(rd.to_urdf(rd.carrying(arm, payload)))
    armature = {f"armature__{name}": 0.1 for name in arm.joint_names}
    gains = {
        f"gains__{name}__{g}": x for name in arm.joint_names for g, x in (("p", 900.0), ("d", 60.0))
    }
    home = {
        f"initial_positions__{n}": x
        for n, x in zip(arm.joint_names, (0.2, -1.2, 1.4, -0.6, 0.9, 0.3), strict=True)
    }
    start(
        "simulator",
        robot_description_file=tmp_path / "loaded.urdf",
        time_mode="lockstep",
        update_rate=250.0,
        holding_brakes=True,
        **armature,
        **home,
    )
    start("controller", robot_description_file=ROBOT, state_timeout=60.0, **armature, **gains)
    commands = peer.listen(Float64MultiArray, "effort_controller/commands")
    peer.wait(lambda: len(commands) > 10, "the controller to hold the arm")
    start(
        NODE,
        robot_description_file=ROBOT,
        link="tool0",
        apply=True,
        method=method,
        duration=12.0,
        **armature,
    )

    def answer():
        # a second request meanwhile would be refused: the arm moves for twelve seconds of its own
        # time
        return peer.call(
            Trigger, f"{NODE}/identify_payload", Trigger.Request(), timeout=200.0, patience=90.0
        )

    found = answer()
    # until the three have found each other
    for _ in range(20):
        if found.success or not (
            "joint states" in found.message or "nobody listens" in found.message
        ):
            break
        peer.spin_for(0.5)
        found = answer()
    assert found.success and "applied" in found.message and "not applied" not in found.message, (
        found.message
    )
    names = ["payload.link", "payload.mass", "payload.com"]
    values = peer.call(
        GetParameters, f"{CONTROLLER}/get_parameters", GetParameters.Request(names=names)
    ).values
    assert values[0].string_value == "tool0"
    if method == "motion":
        assert values[1].double_value == pytest.approx(3.0, rel=0.02)
        np.testing.assert_allclose(values[2].double_array_value, payload.com, atol=5e-3)
    else:
        # one pose, held by friction
        assert values[1].double_value == pytest.approx(3.0, rel=0.3)
