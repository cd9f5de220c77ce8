"""The observer beside drivers that publish different things as effort: each runs the same motion
and feels the same push.
"""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import (
    ControllerOptions,
    Friction,
    JointController,
    MomentumObserver,
)
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.measured_effort import EFFORT_MEANINGS, MeasuredEffort
from robot_dynamics_ros.simulation.driver import Driver
from robot_dynamics_ros.simulation.plant import Plant

HOME = np.array([0.2, 0.4, -0.3, -1.2, 0.5, 0.7, 0.1])
GOAL = HOME + np.array([0.5, -0.3, 0.4, 0.3, -0.4, 0.3, 0.6])
DT = 1e-3
FACTORS = {"current": np.linspace(0.05, 3.0, 7), "link_torque": -np.ones(7)}


@pytest.fixture(scope="module")
def model():
    names = rd.load_robot("seven_axis").joint_names
    arm = rd.load_robot("seven_axis", armature=dict.fromkeys(names, 0.2))
    # viscous friction only: stiction has no sign at rest
    return rd.robot_model_error(arm, friction=0.0, damping=100.0)


def run(model, meaning, *, setting=None, push=None, gravity_by="robot", seconds=2.5):
    """Move, then rest; returns the observer's estimates on the way and at the end, the position
    error, and τ_ext.
    """
    kind = MeasuredEffort(meaning, FACTORS.get(meaning))
    friction = Friction.of(model)
    plant = Plant(model, DT, q0=HOME)
    driver = Driver(
        plant, compensates="gravity" if gravity_by == "robot" else "nothing", measured=kind
    )
    observer = MomentumObserver(model, gain=50.0, friction=friction)
    controller = JointController(
        model,
        rd.ComputedTorque(kp=200.0, kd=28.0, friction=friction),
        options=ControllerOptions(
            gravity_compensated_by=gravity_by, measured_effort=setting or kind
        ),
        observer=observer,
    )
    controller.activate(0, plant.q, plant.v)
    controller.accept_trajectory(rd.plan_move(model, HOME, GOAL, duration=1.5), 0)
    external = np.zeros(7)
    largest = 0.0
    for k in range(round(seconds / DT)):
        pushed = push if push is not None and k * DT > 1.8 else None
        command = controller.update(round(k * DT * 1e9), plant.q, plant.v, driver.reading())
        plant.step(
            driver.motor_effort(command),
            {model.link_names[-1]: pushed} if pushed is not None else None,
        )
        if k * DT < 1.5:
            largest = max(largest, np.abs(observer.effort).max())
        if pushed is not None:
            still = np.zeros(7)
            wrenches = {model.link_names[-1]: pushed}
            external = -rd.inverse_dynamics(model, plant.q, still, still, external=wrenches)
            external += rd.gravity_forces(model, plant.q)
    return largest, observer.effort.copy(), np.abs(plant.q - GOAL).max(), external


@pytest.mark.parametrize("gravity_by", ["robot", "controller"])
@pytest.mark.parametrize("meaning", EFFORT_MEANINGS)
def test_the_observer_reads_zero_at_rest_and_little_on_the_way(model, meaning, gravity_by):
    on_the_way, at_rest, error, _ = run(model, meaning, gravity_by=gravity_by)
    assert error < 1e-3
    assert np.abs(at_rest).max() < 1e-3
    # of up to 60 N m: efforts are those of the period before
    assert on_the_way < 0.15


@pytest.mark.parametrize("meaning", ["torque", "link_torque", "torque_without_gravity", "current"])
def test_a_push_is_seen_as_what_it_is(model, meaning):
    _, seen, _, external = run(model, meaning, push=np.array([0.5, -0.3, 0.2, 6.0, -4.0, 8.0]))
    assert np.abs(external).max() > 3.0
    np.testing.assert_allclose(seen, external, atol=0.02)


def test_a_meaning_that_is_wrong_is_an_estimate_that_is_wrong(model):
    """What the parameter is for: gravity would be taken for a push."""
    _, seen, _, _ = run(model, "torque_without_gravity", setting=MeasuredEffort("torque"))
    assert np.abs(seen).max() > 10.0


def test_a_robot_that_compensates_coriolis_too_is_led_as_well_as_one_that_does_not(model):
    friction = Friction.of(model)
    worst = {}
    for compensates, gravity_by in (
        ("nothing", "controller"),
        ("gravity", "robot"),
        ("gravity_and_coriolis", "robot_with_coriolis"),
        # Coriolis effects twice
        ("gravity_and_coriolis", "robot"),
    ):
        plant = Plant(model, DT, q0=HOME)
        driver = Driver(plant, compensates=compensates)
        controller = JointController(
            model,
            rd.ComputedTorque(kp=200.0, kd=28.0, friction=friction),
            options=ControllerOptions(gravity_compensated_by=gravity_by),
        )
        controller.activate(0, plant.q, plant.v)
        motion = rd.plan_move(model, HOME, HOME + 2.0 * (GOAL - HOME))
        controller.accept_trajectory(motion, 0)
        errors = []
        for k in range(round(motion.times[-1] * 1e-9 / DT)):
            command = controller.update(round(k * DT * 1e9), plant.q, plant.v)
            errors.append(np.abs(controller.error[0]).max())
            plant.step(driver.motor_effort(command))
        worst[compensates, gravity_by] = max(errors)
    by_controller, by_robot, with_coriolis, twice = worst.values()
    np.testing.assert_allclose([by_robot, with_coriolis], by_controller, rtol=0.2)
    assert twice > 3.0 * by_controller


def test_what_needs_measured_efforts_is_refused_where_there_are_none():
    with pytest.raises(
        ArgumentError,
        match=r"wrench_acceleration 'measured_effort': needs measured efforts.*'none'",
    ):
        ControllerOptions(
            wrench_acceleration="measured_effort", measured_effort=MeasuredEffort("none")
        )
