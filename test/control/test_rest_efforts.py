"""A setting that the joints cannot bear at rest is refused, with both numbers and the unit."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.rest_efforts import (
    check_friction_at_rest,
    check_payload_at_rest,
    sampled_poses,
)

START = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("six_axis")


def holding(arm, q=None, **options):
    """A controller that holds the arm at ``q``."""
    control = rd.JointController(arm, options=rd.ControllerOptions(**options))
    where = arm.initial_configuration() if q is None else q
    control.activate(START, where, np.zeros(arm.nv))
    control.update(START + 2 * MS, where, np.zeros(arm.nv))
    return control


def test_grams_for_kilograms_are_refused_with_both_numbers_and_the_unit(arm):
    control = holding(arm)
    with pytest.raises(rd.ArgumentError, match=r"500 kg on 'tool0'.* N m .*at most .* N m.* kg"):
        control.set_payload(rd.Payload("tool0", 500.0))
    assert control.payload is None
    assert not control.changes.pending


@pytest.mark.parametrize("robot", ["six_axis", "seven_axis"])
def test_a_payload_is_refused_where_gravity_of_the_loaded_robot_is_beyond_the_limits(robot):
    model = rd.load_robot(robot)
    link = model.link_names[-1]
    outcomes = set()
    for q in sampled_poses(model)[:8]:
        for mass in (1.0, 5.0, 20.0, 60.0):
            payload = rd.Payload(link, mass, np.array([0.02, -0.03, 0.1]))
            needed = rd.gravity_forces(rd.carrying(model, payload), q)
            beyond = (np.abs(needed) > model.effort_limit).any()
            # poses in general: a payload that no pose bears is refused in every one
            if mass < 60.0 or beyond:
                outcomes.add(bool(beyond))
                if beyond:
                    with pytest.raises(rd.ArgumentError, match="at most"):
                        check_payload_at_rest(model, payload, q)
                else:
                    check_payload_at_rest(model, payload, q)
    assert outcomes == {True, False}


def test_without_a_pose_a_payload_is_refused_that_no_pose_bears(arm):
    with pytest.raises(rd.ArgumentError, match="in none of"):
        check_payload_at_rest(arm, rd.Payload("tool0", 500.0))
    check_payload_at_rest(arm, rd.Payload("tool0", 3.0))


def test_a_mounting_is_taken_into_account():
    hung = rd.load_robot("six_axis", gravity=(0.0, 0.0, 9.81))
    payload = rd.Payload("tool0", 4.0, np.array([0.0, 0.1, 0.0]))
    q = sampled_poses(hung)[0]
    needed = rd.gravity_forces(rd.carrying(hung, payload), q)
    assert (np.abs(needed) < hung.effort_limit).all()
    check_payload_at_rest(hung, payload, q)


def test_gravity_in_millimetres_is_refused():
    heavy = rd.load_robot("six_axis", gravity=(0.0, 0.0, -9810.0))
    with pytest.raises(rd.ArgumentError, match=r"gravity.*9810 m/s².*at most"):
        rd.JointController(heavy)


def test_friction_above_the_effort_limit_is_refused(arm):
    friction = rd.Friction.of(arm, coulomb=arm.effort_limit * 2.0)
    with pytest.raises(rd.ArgumentError, match=r"arm\.json.*300 N m and gives at most 150 N m"):
        check_friction_at_rest(arm, friction, "arm.json")
    check_friction_at_rest(arm, rd.Friction.of(arm), "arm.json")


def test_a_wrench_that_cannot_be_resisted_is_refused_and_the_one_before_stays(arm):
    control = holding(arm)
    known = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -20.0])
    control.set_external_wrench("tool0", known, START + 2 * MS)
    with pytest.raises(rd.ArgumentError, match=r"2e\+04 N .*'tool0'.*at most"):
        control.set_external_wrench("tool0", 1000.0 * known, START + 2 * MS)
    np.testing.assert_array_equal(control.external_wrenches["tool0"], known)


def test_feed_forward_above_the_effort_limit_is_refused(arm):
    control = holding(arm, trajectory_effort="add")
    q = arm.initial_configuration()
    effort = np.zeros(arm.nv)
    effort[2] = 1471.0
    trajectory = rd.Trajectory.from_waypoints(arm.joint_names, [1.0], [q], effort=[effort])
    with pytest.raises(rd.TrajectoryRejected, match=r"needs 1471 N m and gives at most 150 N m"):
        control.accept_trajectory(trajectory, START + 2 * MS)
    point = rd.TrajectoryPoint(0, q.tolist(), effort=effort.tolist())
    with pytest.raises(rd.TrajectoryRejected, match=r"needs 1471 N m"):
        control.accept_point(arm.joint_names, point, START + 2 * MS)
    assert control.mode is rd.Mode.HOLD
