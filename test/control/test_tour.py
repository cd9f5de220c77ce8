"""Motions for the demonstration stay inside the limits of any robot."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.planning import (
    bearable_start,
    plan_motion,
    standing_joints,
)
from robot_dynamics_ros.errors import ArgumentError


@pytest.mark.parametrize("name", rd.robot_names())
def test_motions_stay_within_the_limits_and_start_and_end_at_rest(name):
    model = rd.load_robot(name)
    start = np.clip(model.initial_configuration(), model.lower, model.upper)
    motion = plan_motion(model, start)
    t = np.linspace(0.0, motion.duration, 1001)
    q = motion.at(t)
    v = motion.at(t, 1)
    a = motion.at(t, 2)
    assert (q >= model.lower - 1e-9).all() and (q <= model.upper + 1e-9).all()
    assert (np.abs(v) <= model.velocity_limit).all()
    assert (np.abs(rd.inverse_dynamics(model, q, v, a)) <= model.effort_limit).all()
    np.testing.assert_allclose(q[0], start, atol=1e-9)
    margin = 0.1 * np.minimum(model.upper - model.lower, 4.0 * np.pi)
    inside = np.minimum(start - model.lower, model.upper - start) > margin - 1e-12
    free = inside | ~np.isfinite(model.upper - model.lower)
    # joints at a limit end inside it
    np.testing.assert_allclose(q[-1][free], start[free], atol=1e-9)
    assert (np.minimum(q[-1] - model.lower, model.upper - q[-1]) > 0.0).all()
    for end in (0, -1):
        np.testing.assert_allclose(v[end], 0.0, atol=1e-9)
        np.testing.assert_allclose(a[end], 0.0, atol=1e-6)
    assert np.abs(q - start).max() > 0.1


def test_before_and_after_it_stands_still():
    model = rd.load_robot("two_link")
    motion = plan_motion(model, model.neutral())
    np.testing.assert_allclose(
        motion.at(np.array([-1.0, motion.duration + 1.0])), np.vstack([model.neutral()] * 2)
    )
    assert not motion.at(np.array([-1.0, motion.duration + 1.0]), 1).any()


def test_derivatives_are_derivatives():
    model = rd.load_robot("three_link")
    motion = plan_motion(model, model.neutral())
    t = np.linspace(0.5, motion.duration - 0.5, 20)
    h = 1e-5
    for k in (0, 1):
        difference = (motion.at(t + h, k) - motion.at(t - h, k)) / (2 * h)
        np.testing.assert_allclose(difference, motion.at(t, k + 1), atol=1e-6)


def test_joints_that_cannot_move_stand_and_the_others_do_not():
    model = rd.load_robot("three_link")
    limit = model.joint("joint3").limits.effort
    joints = [
        dataclasses.replace(joint, friction=limit) if joint.name == "joint3" else joint
        for joint in model.description.joints
    ]
    model = model.replace(
        description=dataclasses.replace(model.description, joints=tuple(joints), source="")
    )
    motion = plan_motion(model, model.neutral())
    assert list(standing_joints(model, motion)) == ["joint3"]
    assert "friction" in standing_joints(model, motion)["joint3"]
    moved = np.ptp(motion.waypoints, axis=0)
    i = model.joint_names.index("joint3")
    assert moved[i] == 0.0 and (np.delete(moved, i) > 0.1).all()


def test_limits_that_are_far_away_do_not_make_a_motion_long():
    """A vendor's hand has 1774 for 1.774."""
    model = rd.load_urdf(rd.to_urdf(rd.limb(2)).replace('"revolute"', '"continuous"'))
    joints = [
        dataclasses.replace(
            j,
            type=rd.JointType.REVOLUTE,
            limits=dataclasses.replace(j.limits, lower=0.0, upper=1774.0),
        )
        if j.name in model.joint_names
        else j
        for j in model.description.joints
    ]
    model = model.replace(
        description=dataclasses.replace(model.description, joints=tuple(joints), source="")
    )
    assert np.abs(plan_motion(model, np.zeros(2)).waypoints).max() < 2.5


def test_a_robot_that_cannot_bear_its_weight_starts_where_it_can():
    model = rd.load_urdf(
        rd.to_urdf(rd.load_robot("two_link")).replace('effort="60.0"', 'effort="3.0"')
    )
    start, why = bearable_start(model, np.zeros(2))
    gravity = rd.gravity_forces(model, start)
    assert (
        "against gravity" in why
        and np.abs(rd.gravity_forces(model, np.zeros(2)))[0] > model.effort_limit[0]
    )
    assert (np.abs(gravity) < 0.5 * model.effort_limit).all()
    assert (start >= model.lower).all() and (start <= model.upper).all()
    assert bearable_start(rd.load_robot("two_link"), np.zeros(2)) == (
        pytest.approx(np.zeros(2)),
        "",
    )


def test_a_robot_too_weak_to_hold_itself_is_refused():
    urdf = rd.to_urdf(rd.load_robot("pendulum"))
    model = rd.load_urdf(urdf)
    limits = model.joint(model.joint_names[0]).limits
    weak = rd.load_urdf(urdf.replace(f'effort="{limits.effort!r}"', 'effort="0.001"'))
    with pytest.raises(ArgumentError, match="effort limits"):
        plan_motion(weak, np.array([1.0]))
