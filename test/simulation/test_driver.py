"""The habits of drivers: what the robot adds to commands, how fast these may change, what it
publishes as effort.
"""

import numpy as np
import pinocchio as pin
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.measured_effort import EFFORT_MEANINGS, MeasuredEffort, motor_effort
from robot_dynamics_ros.simulation.driver import Driver
from robot_dynamics_ros.simulation.effects.friction import JointFriction
from robot_dynamics_ros.simulation.plant import Plant

HOME = np.array([0.2, 0.4, -0.3, -1.2, 0.5, 0.7, 0.1])


@pytest.fixture(scope="module")
def model():
    names = rd.load_robot("seven_axis").joint_names
    return rd.load_robot("seven_axis", armature=dict.fromkeys(names, 0.2))


def pinocchio_gravity(q):
    robot = pin.buildModelFromUrdf(str(rd.robot_path("seven_axis")))
    return pin.computeGeneralizedGravity(robot, robot.createData(), q)


def kind_of(meaning, nv):
    return MeasuredEffort(meaning, np.linspace(0.5, 2.0, nv) if meaning == "current" else None)


def test_a_robot_that_compensates_gravity_stays_where_it_is_under_zero_commands(model):
    plant = Plant(model, 1e-3, q0=HOME, friction=False)
    driver = Driver(plant, compensates="gravity")
    for _ in range(300):
        plant.step(driver.motor_effort(np.zeros(7)))
    np.testing.assert_allclose(plant.q, HOME, atol=1e-9)
    np.testing.assert_allclose(plant.tau, pinocchio_gravity(HOME), rtol=1e-9, atol=1e-9)


def test_a_robot_that_compensates_coriolis_too_goes_on_at_its_speed(model):
    v0 = np.array([0.3, -0.2, 0.4, 0.1, -0.3, 0.2, 0.5])
    moved = {}
    for compensates in ("gravity", "gravity_and_coriolis"):
        plant = Plant(model, 1e-4, q0=HOME, v0=v0, friction=False)
        driver = Driver(plant, compensates=compensates)
        for _ in range(1000):
            plant.step(driver.motor_effort(np.zeros(7)))
        moved[compensates] = np.abs(plant.v - v0).max()
    assert moved["gravity_and_coriolis"] < 1e-4 < 1e-2 < moved["gravity"]


def test_commands_change_no_faster_than_the_driver_lets_them(model):
    plant = Plant(model, 1e-3, q0=HOME)
    driver = Driver(plant, effort_rate=1000.0)
    steps = [driver.motor_effort(np.full(7, 2.5)).copy() for _ in range(4)]
    np.testing.assert_allclose([s[0] for s in steps], [1.0, 2.0, 2.5, 2.5])
    driver.reset()
    np.testing.assert_allclose(driver.motor_effort(np.full(7, -9.0)), -1.0)


def test_at_rest_with_stiction_a_sensor_at_the_link_sees_gravity(model):
    plant = Plant(model, 1e-3, q0=HOME, friction=JointFriction(viscous=0.0, coulomb=5.0))
    driver = Driver(plant, compensates="gravity", measured=MeasuredEffort("link_torque"))
    # stiction takes it
    plant.step(driver.motor_effort(np.full(7, 2.0)))
    np.testing.assert_allclose(plant.q, HOME, atol=1e-12)
    np.testing.assert_allclose(driver.reading(), pinocchio_gravity(HOME), rtol=1e-9, atol=1e-9)


def test_on_the_way_a_sensor_at_the_link_sees_the_joint_wrench_along_the_axis(model):
    plant = Plant(model, 1e-4, q0=HOME, friction=JointFriction(viscous=0.5, coulomb=0.0))
    driver = Driver(plant, measured=MeasuredEffort("link_torque"))
    push = {model.link_names[-1]: np.array([0.3, 0.1, -0.2, 4.0, 2.0, -3.0])}
    for _ in range(200):
        plant.step(driver.motor_effort(pinocchio_gravity(plant.q) + 1.0), push)
    wrenches = plant.joint_wrenches()
    along = [model.joint(name).axis @ wrenches[i, :3] for i, name in enumerate(model.joint_names)]
    assert np.abs(plant.v).max() > 0.05
    np.testing.assert_allclose(driver.reading(), along, atol=2e-2)


@pytest.mark.parametrize("meaning", EFFORT_MEANINGS)
def test_what_is_published_leads_back_to_the_motors_effort(model, meaning):
    plant = Plant(model, 1e-3, q0=HOME, friction=JointFriction(viscous=0.5, coulomb=0.0))
    kind = kind_of(meaning, 7)
    driver = Driver(plant, compensates="gravity", measured=kind)
    for k in range(100):
        plant.step(driver.motor_effort(np.full(7, np.sin(0.05 * k))))
    gravity = rd.gravity_forces(model, plant.q)
    acceleration = rd.forward_dynamics(model, plant.q, plant.v, plant.tau - 0.5 * plant.v)
    tau = motor_effort(
        kind,
        driver.reading(),
        applied=plant.tau,
        gravity=gravity,
        friction=0.5 * plant.v,
        rotor=model.armature * acceleration,
    )
    np.testing.assert_allclose(tau, plant.tau, atol=2e-2 if meaning == "link_torque" else 1e-9)


def test_without_habits_commands_and_efforts_pass_as_they_are(model):
    plant = Plant(model, 1e-3, q0=HOME)
    assert Driver(plant).plain
    assert not Driver(plant, measured=MeasuredEffort("torque", -np.ones(7))).plain
    command = np.arange(7.0)
    plant.step(Driver(plant).motor_effort(command))
    np.testing.assert_array_equal(plant.command, command)


def test_another_word_and_limits_of_another_length_are_refused(model):
    plant = Plant(model, 1e-3, q0=HOME)
    with pytest.raises(ArgumentError, match="gravity_and_coriolis"):
        Driver(plant, compensates="all")
    with pytest.raises(ArgumentError, match="effort_rate"):
        Driver(plant, effort_rate=[1.0, 2.0])
