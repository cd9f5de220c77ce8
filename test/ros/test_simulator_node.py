"""The simulator node alone: this process plays the controller, good and bad."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from support.closed_loops import four_bar
from support.peer import SIMULATOR
from support.simulator_bench import Bench, bits

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds
from robot_dynamics_ros.ros.transport.qos import LATCHED

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "two_link"
LIMP = {"friction": False, "position_stops": False, "limiter": False}


@pytest.fixture(scope="module")
def model():
    return rd.load_urdf(robot_path(ROBOT))


def test_lockstep_runs_repeat_bit_for_bit_and_agree_with_the_offline_plant(peer, start, model):
    efforts = np.random.default_rng(1).uniform(-5.0, 5.0, (200, 2))
    settings = {
        "robot_description_file": ROBOT,
        "time_mode": "lockstep",
        "update_rate": 1000.0,
        "substeps": 1,
    }
    runs = []
    for _ in range(2):
        simulator = start("simulator", **settings)
        bench = Bench(peer)
        bench.ready()
        runs.append(bench.lockstep(efforts))
        assert simulator.stop() == 0
    assert bits(runs[0]) == bits(runs[1])
    stamps = [to_nanoseconds(m.header.stamp) for m in runs[0]]
    assert set(np.diff(stamps)) == {1_000_000}

    plant = rd.Plant(model, 1e-3, substeps=1)
    for effort, message in zip(efforts, runs[0][1:], strict=True):
        plant.step(effort)
        np.testing.assert_allclose(message.position, plant.q, atol=1e-12)
        np.testing.assert_allclose(message.velocity, plant.v, atol=1e-12)


def test_it_tells_its_description_its_initial_state_and_the_time(peer, start, model):
    first, second = model.joint_names
    start(
        "simulator",
        robot_description_file=ROBOT,
        publish_clock=True,
        holding_brakes=True,
        **{f"initial_positions__{first}": 0.5, f"initial_positions__{second}": -0.25},
    )
    bench = Bench(peer)
    clock = peer.listen(Clock, "/clock", 1000)
    descriptions = peer.listen(String, "robot_description", LATCHED)
    bench.ready()
    state = bench.next_state()
    assert list(state.name) == list(model.joint_names)
    np.testing.assert_allclose(state.position, [0.5, -0.25], atol=1e-6)
    assert len(state.velocity) == len(state.effort) == 2
    peer.wait(lambda: len(clock) > 20, "the clock")
    times = [to_nanoseconds(message.clock) for message in clock]
    assert np.all(np.diff(times) > 0)
    peer.wait(lambda: descriptions, "the description")
    assert descriptions[0].data == robot_path(ROBOT).read_text()


def test_bad_arrays_are_refused_and_reported(peer, start):
    start("simulator", robot_description_file=ROBOT, command_timeout=60.0)
    bench = Bench(peer)
    bench.ready()
    bench.apply(Float64MultiArray(data=[0.5, 0.25]), [0.5, 0.25])
    # by turns, so that a count that grows is that of the last message
    for cause, data in (
        ("wrong_length", [1.0]),
        ("not_finite", [1.0, math.nan]),
        ("wrong_length", [1.0, 2.0, 3.0]),
        ("not_finite", [-math.inf, 1.0]),
        ("wrong_length", []),
    ):
        bench.send_until_reported(Float64MultiArray(data=data), f"command_{cause}")
        assert list(bench.next_state().effort) == [0.5, 0.25], data


def test_joint_state_commands_are_taken_by_name(peer, start, model):
    start(
        "simulator",
        robot_description_file=ROBOT,
        command_timeout=60.0,
        command_format="joint_state",
    )
    bench = Bench(peer, "joint_state")
    bench.ready()
    first, second = model.joint_names
    bench.apply(JointState(name=[second, first], effort=[0.25, 0.5]), [0.5, 0.25])
    for cause, names, effort in (
        ("unknown_joint", [first, "nobody"], [1.0, 1.0]),
        ("missing_joint", [first], [1.0]),
        ("duplicate_joint", [first, second, first], [1.0, 1.0, 1.0]),
        ("wrong_length", [first, second], [1.0]),
        ("not_finite", [first, second], [1.0, math.inf]),
    ):
        bench.send_until_reported(JointState(name=names, effort=effort), f"command_{cause}")
        assert list(bench.next_state().effort) == [0.5, 0.25]


def test_commands_in_the_other_format_are_noticed(peer, start):
    start("simulator", robot_description_file=ROBOT, command_format="multi_array")
    bench = Bench(peer, command_format="joint_state")
    peer.wait(lambda: bench.reported("no_sender"), "the hint at the other format")


def test_without_commands_the_effort_goes_to_zero(peer, start):
    start("simulator", robot_description_file=ROBOT, command_timeout=0.2)
    bench = Bench(peer)
    bench.ready()
    bench.apply(Float64MultiArray(data=[0.5, 0.25]), [0.5, 0.25])
    peer.wait(lambda: list(bench.states[-1].effort) == [0.0, 0.0], "the effort to go to zero")
    peer.wait(lambda: bench.reported("command_timeout"), "a report")


def test_pause_and_reset(peer, start):
    # nobody holds it: it falls
    start("simulator", robot_description_file=ROBOT, **LIMP)
    bench = Bench(peer)
    bench.ready()
    home = np.zeros(2)
    peer.wait(lambda: np.abs(np.array(bench.states[-1].position) - home).max() > 0.1, "a fall")
    assert peer.call(SetBool, f"{SIMULATOR}/set_pause", SetBool.Request(data=True)).success
    peer.spin_for(0.3)
    bench.states.clear()
    peer.spin_for(0.3)
    assert not bench.states
    assert peer.call(Trigger, f"{SIMULATOR}/reset_world", Trigger.Request()).success
    peer.wait(lambda: bench.states, "the state after the reset")
    np.testing.assert_allclose(bench.states[-1].position, home, atol=0.02)
    assert peer.call(SetBool, f"{SIMULATOR}/set_pause", SetBool.Request(data=False)).success
    peer.wait(
        lambda: np.abs(np.array(bench.states[-1].position) - home).max() > 0.1, "another fall"
    )


def test_a_push_moves_the_arm_until_it_times_out(peer, start, model):
    start("simulator", robot_description_file=ROBOT, gravity=[0.0, 0.0, 0.0], wrench_timeout=0.3)
    bench = Bench(peer)
    pushes = peer.publisher(WrenchStamped, f"{SIMULATOR}/external_wrench")
    felt = peer.listen(WrenchStamped, f"{SIMULATOR}/joint_wrenches/{model.joint_names[0]}", 10)
    bench.ready()
    peer.subscribed(pushes)
    peer.wait(lambda: felt, "true wrenches")
    home = np.array(bench.states[-1].position)
    message = WrenchStamped()
    message.header.frame_id = "no link"
    peer.insist(
        pushes, message, lambda: bench.reported("external_wrench"), "the refusal of an unknown link"
    )
    message.header.frame_id = model.joint(model.joint_names[-1]).child
    axis = model.joint(model.joint_names[-1]).axis
    message.wrench.torque.x, message.wrench.torque.y, message.wrench.torque.z = (
        20.0 * axis
    ).tolist()

    def pushed() -> bool:
        pushes.publish(message)
        return np.abs(np.array(bench.states[-1].position) - home).max() > 0.05

    peer.wait(pushed, "motion")
    assert felt[-1].header.frame_id == model.joint(model.joint_names[0]).child


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robot_description_file": "/no/such/file.urdf"}, "/no/such/file.urdf"),
        ({"robot_description_file": ROBOT, "joints": ["nobody"]}, "nobody"),
        (
            {"robot_description_file": ROBOT, "time_mode": "lockstep", "real_time_factor": 2.0},
            "real_time_factor",
        ),
        ({"robot_description_file": ROBOT, "initial_positions__shoulder": math.nan}, "shoulder"),
        ({"robot_description_file": ROBOT, "initial_positions__nobody": 0.5}, "nobody"),
        (
            {"robot_description_file": ROBOT, "initial_positions__shoulder": 100.0},
            "outside its limits",
        ),
        (
            {
                "robot_description_file": ROBOT,
                "time_mode": "lockstep",
                "sensors__duplicate_probability": 0.1,
            },
            "lockstep",
        ),
        ({"robot_description_file": ROBOT, "state_interfaces": ["temperature"]}, "temperature"),
        ({"robot_description_file": ROBOT, "update_rate": 0.0}, "update_rate"),
    ],
)
def test_a_start_that_cannot_succeed_says_why_and_fails(start, parameters, words):
    simulator = start("simulator", **parameters)
    assert simulator.wait(60.0) == 1
    assert words in simulator.output()
    assert "Traceback" not in simulator.output()


FOUR_BAR_LOOP = """constraints:
  - {type: hinge, name: closure, a: coupler, b: rocker, point_a: [0.9, 0, 0], point_b: [0.7, 0, 0],
     axis_a: [0, 0, 1], axis_b: [0, 0, 1]}
"""


def test_closed_loops_from_a_file_with_their_wrenches(peer, start, tmp_path):
    loops = four_bar()
    q, _ = loops.consistent_state([0.7, 0.3, 1.0])
    (tmp_path / "robot.urdf").write_text(rd.to_urdf(loops.model))
    (tmp_path / "loops.yaml").write_text(FOUR_BAR_LOOP)
    start(
        "simulator",
        robot_description_file=str(tmp_path / "robot.urdf"),
        constraints_file=str(tmp_path / "loops.yaml"),
        time_mode="lockstep",
        update_rate=500.0,
        **{
            f"initial_positions__{n}": float(x)
            for n, x in zip(loops.model.joint_names, q, strict=True)
        },
    )
    on_a, on_b = (
        peer.listen(WrenchStamped, f"{SIMULATOR}/constraint_wrenches/closure/{x}", 100)
        for x in "ab"
    )
    bench = Bench(peer)
    bench.ready()
    peer.wait(lambda: on_a and on_b, "the wrenches of the loop")
    efforts = np.tile([0.5, 0.0, 0.0], (60, 1))
    answers = bench.lockstep(efforts)
    # with the gravity of a URDF, along -z
    model = rd.load_urdf(rd.to_urdf(loops.model))
    again = rd.Constraints(model, loops.constraints)
    plant = rd.ConstrainedPlant(again, 1 / 500, q0=q)
    wrenches = {}
    for k, (effort, message) in enumerate(zip(efforts, answers[1:], strict=True)):
        plant.step(effort)
        np.testing.assert_allclose(message.position, plant.q, atol=1e-9)
        wrenches[to_nanoseconds(message.header.stamp)] = plant.constraint_wrenches()["closure"]
        assert np.abs(again.residual(np.array(message.position))).max() < 1e-9, k
    last = max(wrenches)

    def by_stamp(messages):
        return {to_nanoseconds(message.header.stamp): message for message in messages}

    for messages, side, frame in ((on_a, 0, "coupler"), (on_b, 1, "rocker")):
        peer.wait(lambda m=messages: last in by_stamp(m), "the last wrenches")
        heard = by_stamp(messages)
        for stamp in heard.keys() & wrenches.keys():
            force = heard[stamp].wrench.force
            assert heard[stamp].header.frame_id == frame
            np.testing.assert_allclose(
                [force.x, force.y, force.z], wrenches[stamp][side][3:], atol=1e-6
            )
