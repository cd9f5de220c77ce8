"""The simulator node with MuJoCo as its engine, in a process of its own; this process plays the
controller.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("mujoco")

from geometry_msgs.msg import PoseStamped, WrenchStamped
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.peer import SIMULATOR
from support.simulator_bench import Bench, bits

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds
from robot_dynamics_ros.ros.simulator.parameters import SIMULATOR_PARAMETERS, validate

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

Q0 = np.array([0.0, -0.9, 1.4, -2.07, -1.57, 0.0])
RATE = 500.0


def pressing_world():
    """A table just below the tip of the six-axis arm, and a ball beside it."""
    model = rd.load_robot("six_axis")
    x, y, z = rd.link_pose(model, Q0, "tool0")[:3, 3]
    return model, [
        rd.WorldShape("table", "box", (0.6, 0.6, 0.04), (x, y, z - 0.045)),
        rd.WorldShape("tip", "sphere", (0.02,), link="tool0"),
        rd.WorldShape("ball", "sphere", (0.05,), (x + 0.2, y, z + 0.1), mass=0.2),
    ]


def parameters(model, shapes):
    given = {
        "robot_description_file": str(robot_path("six_axis")),
        "engine": "mujoco",
        "time_mode": "lockstep",
        "update_rate": RATE,
        "mujoco__shapes": [shape.name for shape in shapes],
    }
    for name, value in zip(model.joint_names, Q0, strict=True):
        given[f"initial_positions__{name}"] = float(value)
    for shape in shapes:
        for word in ("kind", "position", "mass", "link"):
            value = getattr(shape, word)
            # rcl cannot parse an empty string on the command line
            if value:
                given[f"mujoco__{shape.name}__{word}"] = (
                    list(value) if isinstance(value, tuple) else value
                )
        given[f"mujoco__{shape.name}__size"] = list(shape.size)
    return given


def test_lockstep_with_contact_repeats_bit_for_bit_and_is_the_plant(peer, start):
    model, shapes = pressing_world()
    down = rd.jacobian(model, Q0, "tool0")[3:].T @ [3.0, 0.0, -60.0]
    efforts = rd.gravity_forces(model, Q0) + down * (
        1.0 + 0.3 * np.sin(0.1 * np.arange(120)[:, None])
    )
    runs = []
    for k in range(2):
        simulator = start("simulator", **parameters(model, shapes))
        # whoever listens changes nothing
        if k:
            wrenches = peer.listen(WrenchStamped, f"{SIMULATOR}/contact_wrenches/tool0", 1000)
            poses = peer.listen(PoseStamped, f"{SIMULATOR}/object_poses/ball", 1000)
        bench = Bench(peer)
        bench.ready()
        runs.append(bench.lockstep(efforts))
        if k:
            peer.wait(lambda: poses and wrenches, "contact wrenches and poses")  # noqa: B023
        else:
            assert simulator.stop() == 0
    assert bits(runs[0]) == bits(runs[1])

    plant = rd.MujocoPlant(model, 1.0 / RATE, shapes=shapes, q0=Q0)
    felt = {}
    ball = {}
    for effort, message in zip(efforts, runs[1][1:], strict=True):
        plant.step(effort)
        np.testing.assert_allclose(message.position, plant.q, atol=1e-12)
        stamp = to_nanoseconds(message.header.stamp)
        felt[stamp] = plant.contact_wrenches()["tool0"]
        ball[stamp] = plant.object_pose("ball")
    compared = [m for m in wrenches if to_nanoseconds(m.header.stamp) in felt]
    assert compared
    for message in compared:
        force = message.wrench.force
        torque = message.wrench.torque
        found = [torque.x, torque.y, torque.z, force.x, force.y, force.z]
        np.testing.assert_allclose(found, felt[to_nanoseconds(message.header.stamp)], atol=1e-9)
        assert message.header.frame_id == "tool0"
    for message in poses:
        if (stamp := to_nanoseconds(message.header.stamp)) in ball:
            at = message.pose.position
            np.testing.assert_allclose([at.x, at.y, at.z], ball[stamp][:3, 3], atol=1e-12)
    # the tip has met the table
    assert any(np.linalg.norm(w) > 1.0 for w in felt.values())


def test_divergence_stops_the_robot_at_its_last_good_state_until_a_reset(peer, start):
    start(
        "simulator",
        robot_description_file=str(robot_path("six_axis")),
        engine="mujoco",
        time_mode="lockstep",
        limiter=False,
        position_stops=False,
    )
    bench = Bench(peer)
    bench.ready()
    efforts = 1e8 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    answers = [bench.states[-1]]
    bench.commands.publish(_message(efforts))
    due = 0

    def stands() -> bool:
        nonlocal due
        due += 1
        if due % 50 == 0:
            bench.commands.publish(_message(efforts))
        return any(
            "diverges" in status.message
            for message in bench.diagnostics
            for status in message.status
        )

    peer.wait(stands, "a report of the divergence")
    for message in (*answers, *bench.states):
        assert np.isfinite(message.position).all() and np.isfinite(message.velocity).all()
    assert peer.call(Trigger, f"{SIMULATOR}/reset_world", Trigger.Request()).success
    bench.states.clear()
    peer.wait(lambda: bench.states, "a state after the reset")
    np.testing.assert_allclose(bench.states[-1].velocity, 0.0, atol=1e-12)


def _message(effort):
    return Float64MultiArray(data=list(map(float, effort)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"engine": "mujoco", "mujoco__scene": "nowhere.xml"}, "nowhere.xml"),
        (
            {"engine": "mujoco", "mujoco__tabel__kind": "box", "mujoco__shapes": ["table"]},
            "Did you mean 'table'",
        ),
    ],
    ids=["scene", "misspelt shape"],
)
def test_a_start_that_cannot_succeed_says_why_and_fails(start, given, words):
    simulator = start("simulator", robot_description_file="two_link", **given)
    assert simulator.wait(60.0) == 1
    assert words in simulator.output()
    assert "Traceback" not in simulator.output()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"engine": "mujoco", "integrator": "rk4"}, "mujoco.integrator"),
        ({"engine": "mujoco", "stop_restitution": 0.5}, "stop_restitution"),
        ({"mujoco.shapes": ("table",)}, "set engine to 'mujoco'"),
        ({"mujoco.scene": "scene.xml"}, "set engine to 'mujoco'"),
    ],
    ids=lambda value: "",
)
def test_parameters_that_the_engine_does_not_know_are_refused(given, words):
    values = {param.name: param.default for param in SIMULATOR_PARAMETERS} | given
    with pytest.raises(ArgumentError, match=words):
        validate(values)
