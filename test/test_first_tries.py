"""What people type first, without reading: taken, or answered with what is meant."""

import importlib.util
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import robot_dynamics_ros as rd


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("two_link")


def test_a_payload_without_its_link_is_answered_with_an_example():
    with pytest.raises(rd.ArgumentError, match=r"name of a link.*Payload\('tool0', 2\.0"):
        rd.Payload(2.0, (0, 0, 0.1))
    with pytest.raises(rd.ArgumentError, match="a mass in kg"):
        rd.Payload("tool0", "2 kg")


def test_a_law_is_simulated_as_it_is(arm):
    start = np.array([0.3, 0.2])
    law = rd.ComputedTorque(kp=100.0, kd=20.0, friction=True)
    run = rd.simulate(arm, law, q0=start, duration=0.5)
    # it holds the robot where it starts
    np.testing.assert_allclose(run.q[-1], start, atol=1e-3)
    controller = rd.JointController(arm, law)
    again = rd.simulate(arm, controller, q0=start, duration=0.5)
    np.testing.assert_allclose(again.q, run.q, atol=1e-9)


def test_friction_true_is_that_of_the_description(arm):
    law = rd.ComputedTorque(kp=1.0, kd=1.0, friction=True).check(arm)
    np.testing.assert_array_equal(law.friction.coulomb, rd.Friction.of(arm).coulomb)
    assert rd.ComputedTorque(kp=1.0, kd=1.0, friction=False).check(arm).friction is None


def test_usual_names_of_arguments_are_answered_with_ours(arm):
    with pytest.raises(rd.UnknownNameError, match=r"'q0'\. It is start here"):
        rd.inverse_kinematics(arm, "tip", np.eye(4), q0=[0.0, 0.0])
    with pytest.raises(rd.UnknownNameError, match=r"'T'\. It is duration here"):
        rd.simulate(arm, T=1.0)


def test_friction_given_to_a_function_is_answered_with_the_law(arm):
    for function in (rd.bind, rd.JointController):
        with pytest.raises(rd.UnknownNameError, match=r"'friction'\. Friction is part of the law"):
            function(arm, friction=True)


def test_an_unknown_argument_is_named_with_those_that_there_are(arm):
    with pytest.raises(rd.UnknownNameError, match=r"plan_move: unknown argument 'scales'.*'scale'"):
        rd.plan_move(arm, [0.0, 0.0], [0.5, 0.3], scales=0.1)


def test_a_missing_argument_is_named(arm):
    with pytest.raises(rd.ArgumentError, match=r"plan_move, q1: is not given.*help\(rd.plan_move"):
        rd.plan_move(arm, [0.0, 0.0])
    with pytest.raises(rd.ArgumentError, match=r"Payload, link: is not given.*Payload\('tool0'"):
        rd.Payload(mass=2.0, com=(0, 0, 0.1))


def test_a_class_of_laws_is_answered_with_a_law(arm):
    with pytest.raises(rd.ArgumentError, match=r"class rd\.ComputedTorque.*rd\.ComputedTorque\(…"):
        rd.simulate(arm, rd.ComputedTorque)


def test_an_assignment_to_a_model_is_answered_with_replace(arm):
    with pytest.raises(FrozenInstanceError, match=r"model\.replace\(gravity="):
        arm.gravity = (0.0, 0.0, 0.0)
    assert arm.replace(gravity=(0.0, 0.0, 0.0)).gravity[2] == 0.0


def test_a_robot_that_does_not_ship_is_answered_with_what_does():
    if importlib.util.find_spec("robot_descriptions") is not None:
        pytest.skip("robot_descriptions is installed, and would be asked")
    with pytest.raises(rd.UnknownNameError, match=r"six_axis.*robot_descriptions"):
        rd.load_robot("panda")


def test_positions_of_locked_joints_may_stand_beside_their_names():
    limb = rd.limb(3, plane="vertical")
    q = [0.1, 0.2]
    there = rd.gravity_forces(limb.lock({"joint2": 0.5}), q)
    np.testing.assert_array_equal(there, rd.gravity_forces(limb.lock("joint2", {"joint2": 0.5}), q))
    assert np.abs(there - rd.gravity_forces(limb.lock("joint2"), q)).max() > 1e-3
    with pytest.raises(rd.ArgumentError, match="twice"):
        limb.lock({"joint2": 0.5}, at={"joint2": 0.4})


def test_a_move_passes_waypoints_within_the_limits(arm):
    waypoints = [[0.5, 0.3], [0.2, -0.6], [0.9, 0.1]]
    move = rd.plan_move(arm, [0.0, 0.0], waypoints)
    np.testing.assert_allclose(move.positions[-3:], waypoints, atol=1e-9)
    assert (np.abs(move.velocities) <= arm.velocity_limit).all()
    np.testing.assert_allclose(move.velocities[-1], 0.0, atol=1e-9)
    run = rd.control.JointController(arm)
    run.activate(0, np.zeros(2), np.zeros(2))
    run.accept_trajectory(move, 0)
    with pytest.raises(rd.ArgumentError, match=r"q1\[1\]"):
        rd.plan_move(arm, [0.0, 0.0], [[0.5, 0.3], [99.0, 0.0]])
    with pytest.raises(rd.TrajectoryError, match="too short"):
        rd.plan_move(arm, [0.0, 0.0], waypoints, duration=0.01)
