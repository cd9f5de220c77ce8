"""Designed motions keep the limits they are given, and show what they are for."""

import json
import math

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.effort_parameters import EffortParameters, FrictionTerms
from robot_dynamics_ros.identification.least_squares import identifiable_parameters


def design(model, **settings):
    return rd.design_excitation(
        model, rd.DesignSettings(**{"evaluations": 120, "period": 10.0, **settings})
    )


@pytest.mark.parametrize("name", ["six_axis", "seven_axis", "two_link"])
def test_all_limits_hold_between_samples_too(name):
    model = rd.load_robot(name)
    motion = design(model, scale=0.9, acceleration=6.0)
    t = np.linspace(0.0, motion.period, 20001)
    q, v, a = (motion.at(t, k) for k in range(3))
    middle = 0.5 * (model.lower + model.upper)
    half = 0.45 * (model.upper - model.lower)
    finite = np.isfinite(half)
    assert (np.abs(q - middle)[:, finite] <= half[finite]).all()
    assert (np.abs(v) <= 0.9 * model.velocity_limit).all()
    assert (np.abs(a) <= 0.9 * 6.0).all()
    assert (np.abs(rd.inverse_dynamics(model, q, v, a)) <= model.effort_limit).all()
    np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-10)
    np.testing.assert_allclose(a[[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(q[0], q[-1], atol=1e-12)


def test_velocity_and_acceleration_are_derivatives():
    motion = design(rd.load_robot("three_link"))
    t = np.linspace(0.5, 9.0, 50)
    h = 1e-5
    for k in (0, 1):
        np.testing.assert_allclose(
            (motion.at(t + h, k) - motion.at(t - h, k)) / (2 * h), motion.at(t, k + 1), atol=1e-6
        )


def test_more_work_makes_better_motions_and_a_seed_repeats_them():
    model = rd.load_robot("six_axis")
    few = design(model, evaluations=10)
    many = design(model, evaluations=600)
    assert many.condition < few.condition
    again = design(model, evaluations=10)
    np.testing.assert_array_equal(few.sine, again.sine)


def test_the_condition_number_is_that_of_the_regressor():
    model = rd.load_robot("six_axis")
    motion = design(model)
    known = identifiable_parameters(EffortParameters(model))
    t = np.arange(2000) * motion.period / 2000
    Y = known.base.regressor(
        known.parameters.regressor(motion.at(t), motion.at(t, 1), motion.at(t, 2))
    )
    s = np.linalg.svd(
        (Y / known.effort_scale[:, None] / known.sensitivity).reshape(-1, len(known)),
        compute_uv=False,
    )
    assert s[0] / s[-1] == pytest.approx(motion.condition, rel=0.1)


def test_narrower_ranges_and_a_floor_are_kept():
    model = rd.load_robot("six_axis")
    lower = np.full(6, -np.inf)
    upper = np.full(6, np.inf)
    lower[1] = -2.0
    upper[1] = -0.8
    motion = design(model, lower=lower, upper=upper, floor=0.1, evaluations=200)
    t = np.linspace(0.0, motion.period, 2000)
    q = motion.at(t)
    assert q[:, 1].min() >= -2.0 and q[:, 1].max() <= -0.8
    moving = [i for i, body in enumerate(model.link_body) if body >= 0]
    assert rd.link_poses(model, q)[:, moving, 2, 3].min() > 0.1 - 2e-3


def test_the_trajectory_is_the_motion_to_anyone_who_interpolates_quintics():
    model = rd.load_robot("six_axis")
    motion = design(model)
    q0 = motion.at(0.0) + 0.3
    trajectory = motion.trajectory(2, rate=20.0, start=q0, model=model)
    controller = rd.JointController(model, rd.ComputedTorque())
    controller.activate(0, q0, np.zeros(6))
    goal = controller.accept_trajectory(trajectory, 0)
    begin = int(trajectory.times[-1]) - round(2 * motion.period * 1e9)
    for x in np.linspace(0.0, 2 * motion.period, 200):
        q, v, _ = controller.desired(begin + round(x * 1e9))
        np.testing.assert_allclose(q, motion.at(x), atol=2e-6)
        np.testing.assert_allclose(v, motion.at(x, 1), atol=2e-4)
    assert goal.status is not rd.GoalStatus.ABORTED
    np.testing.assert_array_equal(trajectory.velocities[-1], 0.0)


def test_files_hold_the_waypoints(tmp_path):
    model = rd.load_robot("two_link")
    trajectory = design(model).trajectory(rate=10.0)
    rd.Excitation.write_csv(trajectory, tmp_path / "a.csv")
    table = np.genfromtxt(tmp_path / "a.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(table["t"], trajectory.times / 1e9)
    head = (tmp_path / "a.csv").read_text().splitlines()[0].split(",")
    assert head[1:3] == ["shoulder.position", "elbow.position"]
    rd.Excitation.write_message(trajectory, tmp_path / "a.yaml")
    message = json.loads((tmp_path / "a.yaml").read_text())
    assert message["joint_names"] == ["shoulder", "elbow"]
    assert message["points"][-1]["time_from_start"] == {"sec": 10, "nanosec": 0}
    np.testing.assert_array_equal(message["points"][7]["positions"], trajectory.positions[7])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"period": 0.0}, "period"),
        ({"harmonics": 2}, "harmonics"),
        ({"scale": 1.5}, "scale"),
        ({"evaluations": 0}, "evaluations"),
        ({"lower": [1.0] * 6, "upper": [0.0] * 6}, "no room"),
        ({"lower": [1.0]}, "lower"),
        ({"acceleration": -1.0}, "acceleration"),
        ({"floor": float("nan")}, "floor"),
        ({"floor": 5.0, "evaluations": 20}, "floor"),
    ],
)
def test_nonsense_is_refused(settings, match):
    with pytest.raises(rd.ArgumentError, match=match):
        design(rd.load_robot("six_axis"), **settings)


def test_a_rounded_quarter_turn_adds_no_parameter():
    """1.5708 in a URDF is 4e-6 rad from a quarter turn; what only this tilt shows is not
    identifiable.
    """
    names = [
        identifiable_parameters(EffortParameters(_elbow(angle), FrictionTerms(armature=True))).names
        for angle in (math.pi / 2.0, 1.5708)
    ]
    assert len(names[0]) == len(names[1])


def _elbow(angle: float) -> rd.RobotModel:
    body = (
        "<link name='{}'><inertial><origin xyz='0.1 0.2 0.3'/><mass value='1'/><inertia ixx='.1' "
        "iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    )
    joint = (
        "<joint name='{0}' type='continuous'><parent link='{1}'/><child link='{2}'/><origin "
        "xyz='0 0 0.2' rpy='{3} 0 0'/><axis xyz='0 0 1'/></joint>"
    )
    links = "".join(body.format(name) for name in "abcd")
    joints = [
        joint.format("i", "a", "b", 0.0),
        joint.format("j", "b", "c", angle),
        joint.format("k", "c", "d", angle),
    ]
    return rd.load_urdf(f"<robot name='r'>{links}{''.join(joints)}</robot>")
