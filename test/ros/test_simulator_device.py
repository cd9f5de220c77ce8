"""The simulator node as a device: what its sensors, brakes and switches do, and how its state is
set.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from support.peer import SIMULATOR
from support.simulator_bench import Bench, bits, stamp

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.simulation import Sensors, SensorSettings

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "two_link"
LOCKSTEP = {"robot_description_file": ROBOT, "time_mode": "lockstep", "update_rate": 1000.0}
STEP = 0.001


@pytest.fixture(scope="module")
def model():
    return rd.load_urdf(robot_path(ROBOT))


def test_sensors_err_as_asked_and_alike_in_every_run(peer, start, model):
    """Quantised, noisy, late by three periods, one in ten lost: as the sensors alone tell it, bit
    for bit.
    """
    settings = {
        "position_resolution": 1e-3,
        "velocity_noise": 0.05,
        "effort_bias": 0.25,
        "delay": 0.003,
        "drop_probability": 0.1,
        "seed": 5,
    }
    efforts = np.random.default_rng(2).uniform(-5.0, 5.0, (60, 2))
    runs = []
    for _ in range(2):
        simulator = start(
            "simulator", **LOCKSTEP, **{f"sensors__{key}": value for key, value in settings.items()}
        )
        bench = Bench(peer)
        bench.ready()
        runs.append(bench.lockstep(efforts))
        assert simulator.stop() == 0
    assert bits(runs[0]) == bits(runs[1])

    # offline: the plant under each command until the next reading arrives
    plant = rd.Plant(model, STEP)
    sensors = Sensors(model, SensorSettings(**settings))
    ticks = 1
    sensors.sample(ticks * STEP, plant.q, plant.v, plant.tau)

    def until_told(effort):
        nonlocal ticks
        while True:
            plant.step(effort)
            ticks += 1
            sensors.sample(ticks * 1_000_000 * 1e-9, plant.q, plant.v, plant.tau)
            if arrived := sensors.deliver(ticks * 1_000_000 * 1e-9):
                return arrived[-1]

    expected = [until_told(np.zeros(2)), *(until_told(effort) for effort in efforts)]
    for message, reading in zip(runs[0], expected, strict=True):
        np.testing.assert_array_equal(message.position, reading.q)
        np.testing.assert_allclose(message.velocity, reading.v, atol=1e-12)
        np.testing.assert_allclose(message.effort, reading.tau, atol=1e-12)
        assert stamp(message) == round(reading.t * 1e9)
    # some were lost
    assert len({stamp(b) - stamp(a) for a, b in zip(runs[0], runs[0][1:], strict=False)}) > 1


def test_duplicates_arrive_twice(peer, start):
    start("simulator", robot_description_file=ROBOT, sensors__duplicate_probability=1.0)
    bench = Bench(peer)
    bench.ready()
    bench.states.clear()
    peer.wait(lambda: len(bench.states) > 40, "joint states")
    stamps = [stamp(m) for m in bench.states[1:39]]
    assert np.mean(np.diff(stamps) == 0) == pytest.approx(0.5, abs=0.1)


def test_the_robot_errs_and_the_description_does_not(peer, start, model):
    start(
        "simulator",
        **LOCKSTEP,
        robot_model_error__mass=1.5,
        robot_model_error__friction=0.5,
        robot_model_error__spread=0.1,
        robot_model_error__seed=3,
    )
    bench = Bench(peer)
    bench.ready()
    efforts = np.full((30, 2), 3.0)
    answers = bench.lockstep(efforts)
    spread = dict.fromkeys(("mass", "com", "inertia", "damping", "friction", "armature"), 0.1)
    true = rd.random_model_error(rd.robot_model_error(model, mass=1.5, friction=0.5), 3, **spread)
    plant = rd.Plant(true, STEP)
    drawn = rd.Plant(model, STEP)
    for effort in efforts:
        plant.step(effort)
        drawn.step(effort)
    np.testing.assert_allclose(answers[-1].position, plant.q, atol=1e-12)
    assert np.abs(plant.q - drawn.q).max() > 1e-4


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "rosenbrock"])
def test_any_integrator_can_be_chosen(peer, start, model, integrator):
    start("simulator", **LOCKSTEP, integrator=integrator, substeps=2)
    bench = Bench(peer)
    bench.ready()
    efforts = np.random.default_rng(3).uniform(-5.0, 5.0, (20, 2))
    answers = bench.lockstep(efforts)
    plant = rd.Plant(model, STEP, integrator=integrator, substeps=2)
    for effort in efforts:
        plant.step(effort)
    np.testing.assert_allclose(answers[-1].position, plant.q, atol=1e-12)


def test_what_is_switched_off_is_nan_at_full_length_and_in_the_order_asked_for(peer, start):
    start(
        "simulator",
        robot_description_file=ROBOT,
        joints=["elbow", "shoulder"],
        state_interfaces=["position"],
        initial_positions__elbow=0.5,
        holding_brakes=True,
    )
    bench = Bench(peer)
    bench.ready()
    state = bench.next_state()
    assert list(state.name) == ["elbow", "shoulder"]
    np.testing.assert_allclose(state.position, [0.5, 0.0], atol=1e-9)
    for field in (state.velocity, state.effort):
        assert len(field) == 2
        assert all(map(math.isnan, field))


def test_disabled_it_stands_on_its_brakes_and_takes_no_commands(peer, start):
    start(
        "simulator",
        robot_description_file=ROBOT,
        holding_brakes=True,
        start_enabled=False,
        command_timeout=60.0,
    )
    bench = Bench(peer)
    bench.ready()
    bench.send_until_reported(Float64MultiArray(data=[30.0, 10.0]), "disabled")
    held = bench.next_state()
    assert list(held.velocity) == [0.0, 0.0]
    assert peer.call(SetBool, f"{SIMULATOR}/set_enabled", SetBool.Request(data=True)).success
    bench.apply(Float64MultiArray(data=[30.0, 10.0]), [30.0, 10.0])
    peer.wait(
        lambda: np.abs(np.subtract(bench.states[-1].position, held.position)).max() > 0.02, "motion"
    )
    assert peer.call(SetBool, f"{SIMULATOR}/set_enabled", SetBool.Request(data=False)).success
    peer.wait(lambda: list(bench.states[-1].velocity) == [0.0, 0.0], "the brakes to close")
    first = bench.next_state()
    peer.wait(lambda: stamp(bench.states[-1]) - stamp(first) > 200_000_000, "a while")
    assert list(bench.states[-1].position) == list(first.position)
    assert list(bench.states[-1].effort) == [0.0, 0.0]


def test_weak_brakes_slip(peer, start):
    start("simulator", robot_description_file=ROBOT, holding_brakes=True, brake_effort=1.0)
    bench = Bench(peer)
    bench.ready()
    peer.wait(lambda: abs(bench.states[-1].position[0]) > 0.05, "the arm to sink")


def test_single_steps_while_paused(peer, start):
    start(
        "simulator",
        robot_description_file=ROBOT,
        start_paused=True,
        publish_clock=True,
        position_stops=False,
        friction=False,
    )
    bench = Bench(peer)

    def step() -> bool:
        return peer.call(Trigger, f"{SIMULATOR}/step", Trigger.Request()).success

    peer.wait(lambda: step() and bench.states, "the state after a step")
    peer.drain()
    del bench.states[:-1]
    for k in range(2):
        assert step()
        peer.wait(lambda k=k: len(bench.states) > k + 1, "the state after the step")
    peer.spin_for(0.2)
    assert np.diff([stamp(m) for m in bench.states]).tolist() == [2_000_000, 2_000_000]
    assert peer.call(SetBool, f"{SIMULATOR}/set_pause", SetBool.Request(data=False)).success
    peer.wait(lambda: len(bench.states) > 20, "the run to go on")
    answer = peer.call(Trigger, f"{SIMULATOR}/step", Trigger.Request())
    assert not answer.success
    assert "paused" in answer.message


def test_the_state_is_set_by_a_joint_state(peer, start):
    start("simulator", robot_description_file=ROBOT, holding_brakes=True)
    bench = Bench(peer)
    setter = peer.publisher(JointState, f"{SIMULATOR}/set_joint_state")
    bench.ready()
    peer.subscribed(setter)
    setter.publish(JointState(name=["elbow"], position=[0.75]))
    peer.wait(lambda: bench.states[-1].position[1] == 0.75, "the elbow to be set")
    assert bench.states[-1].position[0] == 0.0
    bad = [
        JointState(name=["nobody"], position=[0.0]),
        JointState(name=["elbow"], position=[math.nan]),
        JointState(name=["elbow"], position=[100.0]),
        JointState(name=["elbow"], position=[0.1, 0.2]),
        JointState(name=["elbow", "elbow"], position=[0.1, 0.2]),
        JointState(),
        JointState(name=["elbow"]),
    ]
    for message in bad:
        setter.publish(message)
    peer.wait(lambda: bench.reported("set_joint_state") == len(bad), "all refusals")
    assert bench.next_state().position[1] == 0.75


def test_a_moving_state_is_set_while_paused(peer, start):
    start("simulator", robot_description_file=ROBOT, start_paused=True)
    bench = Bench(peer)
    setter = peer.publisher(JointState, f"{SIMULATOR}/set_joint_state")
    peer.subscribed(setter)
    moving = JointState(name=["elbow", "shoulder"], position=[0.25, -0.5], velocity=[1.0, -1.5])
    peer.insist(setter, moving, lambda: bench.states, "the state")
    assert list(bench.states[-1].position) == [-0.5, 0.25]
    assert list(bench.states[-1].velocity) == [-1.5, 1.0]


def test_a_push_on_any_link_acts_as_in_the_plant_and_ends_with_its_timeout(peer, start, model):
    """In lockstep, so that every step can be compared with a step with the push and one without."""
    start("simulator", **LOCKSTEP, wrench_timeout=0.0105)
    bench = Bench(peer)
    pushes = peer.publisher(WrenchStamped, f"{SIMULATOR}/external_wrench")
    bench.ready()
    peer.subscribed(pushes)
    plant = rd.Plant(model, STEP)
    answers = [bench.states[-1]]
    wrench = [0.0, 4.0, 1.0, 2.0, 3.0, -30.0]

    def pushed(link: str) -> bool:
        """Do a step on both sides; whether the push was in it."""
        bench.turn(np.zeros(2), answers)
        before = plant.state()
        for push in ({link: wrench}, None):
            plant.restore(before)
            plant.step(np.zeros(2), push)
            if np.allclose(answers[-1].velocity, plant.v, rtol=0, atol=1e-9):
                return push is not None
        raise AssertionError(
            "neither with nor without the push does the plant move as the simulator"
        )

    for link in (model.link_names[-1], model.link_names[1]):
        message = WrenchStamped()
        message.header.frame_id = link
        t = message.wrench.torque
        f = message.wrench.force
        t.x, t.y, t.z, f.x, f.y, f.z = wrench
        # the push and the command travel on different topics: until it is felt
        for _ in range(200):
            pushes.publish(message)
            if pushed(link):
                break
        else:
            raise AssertionError("the push was never felt")
        count = 1
        while pushed(link):
            count += 1
        # a message still under way may have renewed it
        assert 11 <= count <= 15
