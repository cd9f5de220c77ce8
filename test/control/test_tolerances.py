"""Tolerances: defaults, requests of an action goal, and their check; the cases of
joint_trajectory_controller.
"""

import numpy as np
import pytest
from support.cycle_steps import limited, put

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.cycle.reference import violates

NAMES = ("a", "b", "c")


def defaults():
    return rd.Tolerances.uniform(
        3, path=[0.1, 0.2, 0.3], goal=0.01, stopped_velocity=0.05, goal_time=2.0
    )


def test_defaults_from_the_constraints():
    t = defaults()
    np.testing.assert_allclose(t.path_position, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(t.goal_position, 0.01)
    np.testing.assert_allclose(t.goal_velocity, 0.05)
    assert not t.path_velocity.any() and t.goal_time == 2.0


def test_a_goal_can_set_keep_and_lift_tolerances():
    t = defaults().with_requests(
        NAMES,
        path={
            "b": rd.JointTolerance(position=0.7, velocity=0.4),
            "c": rd.JointTolerance(position=-1.0),
        },
        goal={"a": rd.JointTolerance(position=0.5, velocity=-1.0)},
        goal_time=-1.0,
    )
    np.testing.assert_allclose(t.path_position, [0.1, 0.7, 0.0])
    np.testing.assert_allclose(t.path_velocity, [0.0, 0.4, 0.0])
    np.testing.assert_allclose(t.goal_position, [0.5, 0.01, 0.01])
    np.testing.assert_allclose(t.goal_velocity, [0.0, 0.05, 0.05])
    assert t.goal_time == 0.0


@pytest.mark.parametrize(
    "request_",
    [
        {"path": {"a": rd.JointTolerance(position=-123.0)}},
        {"goal": {"a": rd.JointTolerance(velocity=-2.0)}},
        {"goal": {"a": rd.JointTolerance(acceleration=-5.0)}},
        {"goal_time": -3.0},
        {"path": {"x": rd.JointTolerance()}},
        {"goal": {"": rd.JointTolerance()}},
        {"path": {"a": rd.JointTolerance(position=float("nan"))}},
    ],
)
def test_invalid_requests_are_refused(request_):
    with pytest.raises(rd.ArgumentError):
        defaults().with_requests(NAMES, **request_)


@pytest.mark.parametrize(
    "bad", [{"path": -1.0}, {"goal": [1.0, 2.0]}, {"stopped_velocity": np.nan}, {"goal_time": -1.0}]
)
def test_invalid_defaults_are_refused(bad):
    with pytest.raises(rd.ArgumentError):
        rd.Tolerances.uniform(3, **bad)


def test_the_worst_joint_is_named_and_zero_is_not_watched():
    p = limited(rd.load_robot("three_link"))
    put(
        p,
        path_tolerance=[[0.1, 0.0, 0.1], [0.0, 0.0, 0.0]],
        error=[[0.05, 9.0, -0.1], [0.0, 0.0, 0.0]],
    )
    assert not violates(p, p.path_tolerance)
    assert violates(put(p, error=[[-0.2, 9.0, 0.3]]), p.path_tolerance)
    assert (p.bad_joint[0], p.bad_field[0]) == (2, 0)
    put(p, path_tolerance=[[0.0] * 3, [0.1] * 3], error=[[0.0] * 3, [0.0, 0.3, 0.0]])
    assert violates(p, p.path_tolerance)
    assert (p.bad_joint[0], p.bad_field[0]) == (1, 1)
