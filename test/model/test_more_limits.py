"""Limits beside those of effort and velocity: acceleration (URDF 1.2), soft limits, those of joints
that mimic; and positions beyond limits.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelWarning, UrdfError
from robot_dynamics_ros.identification.excitation import position_bounds
from robot_dynamics_ros.simulation.coordinates import position_bounds as bounds_of_plant

LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="90" velocity="3" {more}/>{inside}</joint>"""


def robot(more: str = "", inside: str = "", kind: str = "revolute", after: str = "") -> str:
    joint = JOINT.format(name="j", kind=kind, parent="a", child="b", more=more, inside=inside)
    return f'<robot name="r">{LINK.format("a")}{LINK.format("b")}{joint}{after}</robot>'


def load(text: str, *, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> rd.RobotModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return rd.load_urdf(text, gravity=gravity)


@pytest.mark.parametrize(
    ("kind", "more"),
    [("revolute", 'acceleration="0.7"'), ("prismatic", 'acceleration="2" deceleration="0.7"')],
)
def test_planned_motions_keep_the_limits_of_acceleration(kind: str, more: str) -> None:
    model = load(robot(more, kind=kind))
    assert model.acceleration_limit.tolist() == [0.7]
    # to_urdf keeps them
    assert load(rd.to_urdf(model)).acceleration_limit.tolist() == [0.7]
    through = rd.plan_move(model, [0.0], [[0.5], [-0.4], [1.0]], scale=1.0)
    asked = rd.plan_move(model, [0.0], [1.0], scale=1.0, acceleration=50.0)
    for trajectory in (asked, rd.plan_move(model, [0.0], [1.0], scale=1.0), through):
        controller = rd.JointController(model)
        controller.activate(0, np.zeros(1), np.zeros(1))
        controller.accept_trajectory(trajectory, 0)
        times = np.linspace(0.0, trajectory.duration, 201).tolist()
        rows = [controller.desired(round(1e9 * t)) for t in times]
        assert np.abs([row[2, 0] for row in rows]).max() < 0.7 * 1.01
    # the limit decides: the quintic from rest to rest over 1 rad has its peak there
    np.testing.assert_allclose(asked.duration, np.sqrt(10.0 / np.sqrt(3.0) / 0.7), rtol=1e-3)


def test_excitation_keeps_limits_of_acceleration_and_soft_limits() -> None:
    soft = '<safety_controller soft_lower_limit="-0.5" soft_upper_limit="0.4" k_velocity="1"/>'
    model = load(robot('acceleration="0.7"', soft))
    motion = rd.design_excitation(model, rd.DesignSettings(period=10.0, evaluations=20, scale=1.0))
    t = np.linspace(0.0, 10.0, 4001)
    assert np.abs(motion.at(t, 2)).max() <= 0.7
    assert motion.at(t).min() >= -0.5 and motion.at(t).max() <= 0.4
    assert motion.at(t).max() > 0.0
    assert [x.tolist() for x in position_bounds(model, None, None)] == [[-0.5], [0.4]]


def test_what_limits_do_not_do_is_said_once() -> None:
    soft = '<safety_controller soft_lower_limit="{}" soft_upper_limit="{}" k_velocity="1"/>'
    (said,) = load(robot('jerk="5"', soft.format(-9, 9))).description.findings
    assert said == "limits of jerk are not used: j"
    (said,) = load(robot("", soft.format(-1, 1))).description.findings
    assert said.startswith("soft limits of <safety_controller> are narrower")
    assert said.endswith(": j")
    # none given, as urdfdom takes them
    assert load(robot("", '<safety_controller k_velocity="1"/>')).description.findings == ()
    assert load(robot("", soft.format(0, 0))).description.findings == ()
    for lower, upper, word in ((1, -1, "no interval"), ("x", 1, "ignored")):
        (said,) = load(robot("", soft.format(lower, upper))).description.findings
        assert word in said and "safety_controller" in said
    assert "as if not known" in load(robot('acceleration="0"')).description.findings[0]
    with pytest.raises(UrdfError, match="acceleration limit is -1"):
        load(robot('acceleration="-1"'))


def test_positions_beyond_limits_are_said() -> None:
    model = load(robot())
    state = """<robot name="r"><group_state name="s" group="g"><joint name="j" value="{}"/>
    </group_state></robot>"""
    with pytest.warns(ModelWarning, match="'j' is at 2.5, beyond its limits -2 to 2"):
        model.with_configurations(state.format(2.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.with_configurations(state.format(2.0000001))
    started = """<ros2_control name="c" type="system"><joint name="j"><state_interface
    name="position"><param name="initial_value">-7</param></state_interface></joint>
    </ros2_control>"""
    (said,) = load(robot(after=started)).description.findings
    assert "'j' start at -7, beyond its limits -2 to 2" in said


@pytest.mark.parametrize("multiplier", [0.5, -3.0])
def test_plant_and_controller_have_the_same_limits_of_mimic_joints(multiplier: float) -> None:
    follower = JOINT.format(
        name="f",
        kind="revolute",
        parent="b",
        child="c",
        more="",
        inside=f'<mimic joint="j" multiplier="{multiplier}" offset="0.5"/>',
    ).replace('lower="-2" upper="2"', 'lower="-1" upper="0.9"')
    model = load(robot(after=LINK.format("c") + follower))
    ends = sorted([(-1.0 - 0.5) / multiplier, (0.9 - 0.5) / multiplier])
    np.testing.assert_allclose(model.lower, max(-2.0, ends[0]))
    np.testing.assert_allclose(model.upper, min(2.0, ends[1]))
    for ours, theirs in zip(bounds_of_plant(model), (model.lower, model.upper), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    plant = rd.Plant(model, dt=1e-3, limiter=False, q0=[0.0])
    for _ in range(600):
        plant.step([20.0])
    np.testing.assert_allclose(plant.q, model.upper, atol=1e-6)
