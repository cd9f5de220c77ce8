"""Things in a description that would pass in silence are named, with their cause."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.equations.document import number_text
from robot_dynamics_ros.equations.names import check_identifier
from robot_dynamics_ros.errors import ArgumentError, ModelError, ModelWarning
from robot_dynamics_ros.model.arm_profile import load_arm_profile
from robot_dynamics_ros.recordings.smoothing import HIGHEST_ORDER, derivatives
from robot_dynamics_ros.resources import share_directory

JOINT = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="j" type="{}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="{}" velocity="{}"/></joint></robot>"""


def findings(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return "\n".join(rd.load_urdf(text).description.findings)


@pytest.mark.parametrize("kind", ["continuous", "revolute", "prismatic"])
def test_limits_of_zero_are_named(kind: str) -> None:
    assert "effort limit 0" in findings(JOINT.format(kind, "0", "5"))
    assert "velocity limit 0" in findings(JOINT.format(kind, "5", "0"))
    assert "driven" not in findings(JOINT.format(kind, "5", "5"))


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.ModelWarning")
def test_a_mesh_that_is_not_there_is_the_cause() -> None:
    text = """<robot name="r"><link name="a"/><link name="b"><collision><geometry>
<mesh filename="nowhere/box.stl"/></geometry></collision></link><joint name="j" type="continuous">
<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""
    cause = r"joint 'j': link 'b' keeps no mass.*box\.stl: cannot be read: there is no such file"
    with pytest.raises(ModelError, match=cause):
        rd.load_urdf(text, missing_inertia="from_geometry", density=1000.0)


@pytest.mark.parametrize("number", ["1e-3", "1E-3", "1.0e-3", "+1e-3", ".1e-2", "0.001"])
def test_numbers_of_yaml(number: str, tmp_path) -> None:
    model = rd.load_robot("two_arm_torso")
    text = f"constraints:\n- {{type: gear, name: g, a: head_pan, b: head_tilt, ratio: {number}}}\n"
    (constraint,) = rd.load_constraints(model, text).constraints
    assert dict(constraint.numbers)["ratio"] == (0.001,)
    profile = share_directory() / "config" / "arms" / "franka_fr3.yaml"
    assert "delay:" in profile.read_text()
    file = tmp_path / "my_arm.yaml"
    lines = profile.read_text().splitlines()
    delays = [f"{k.partition('delay:')[0]}delay: {number}" if "delay:" in k else k for k in lines]
    file.write_text("\n".join(delays))
    assert load_arm_profile(str(file)).driver.delay == 0.001


@pytest.mark.parametrize("name", ["M_PI", "INFINITY", "I", "NULL", "isnan", "linux", "DBL_MAX"])
def test_macros_are_no_names_of_symbols(name: str) -> None:
    with pytest.raises(ArgumentError, match="macro of C"):
        check_identifier(name, "symbol")


def test_values_of_symbols_have_all_their_digits() -> None:
    for value in np.random.default_rng(0).normal(size=50).tolist():
        assert float(number_text(value)) == value
    assert number_text(2.0) == "2"


def test_orders_without_a_solution_are_refused() -> None:
    t = np.arange(0.0, 1.0, 0.01)
    for order in range(2, HIGHEST_ORDER + 1):
        assert np.isfinite(derivatives(t, np.sin(t)[:, None], order=order)).all()
    for order in (0, 1, HIGHEST_ORDER + 1, 15):
        with pytest.raises(ArgumentError, match="order"):
            derivatives(t, np.sin(t)[:, None], order=order)


def test_quaternions_and_damping_that_are_none() -> None:
    body = JOINT.format("continuous", "1", "1")
    inertial = body[body.index("<inertial>") : body.index("</inertial>")] + "</inertial>"
    body = body.replace('<link name="a"/>', f'<link name="a">{inertial}</link>')
    model = rd.load_urdf(body, floating_base=True)
    for length in (0.0, 2.0, np.nan):
        q = model.neutral()
        q[3:7] *= length
        with pytest.raises(ArgumentError, match=r"quaternion|finite"):
            rd.integrate(model, q, np.zeros(model.nv))
    arm = rd.load_robot("six_axis")
    for damping in (np.nan, np.inf, -1.0):
        with pytest.raises(ArgumentError, match="damping"):
            rd.operational_space_inertia(arm, np.zeros(6), arm.link_names[-1], damping=damping)


def test_a_batch_gives_what_its_states_give_one_by_one() -> None:
    arm = rd.load_robot("six_axis")
    link = arm.link_names[-1]
    rng = np.random.default_rng(0)
    q = rng.normal(size=(3, 6))
    v = rng.normal(size=6)
    together = rd.analytical_jacobian_derivative(arm, q, v, link)
    wrenches, left = rd.contact_wrench(arm, q, link, v)
    for k in range(3):
        alone = rd.analytical_jacobian_derivative(arm, q[k], v, link)
        np.testing.assert_allclose(together[k], alone, atol=1e-12)
        wrench, rest = rd.contact_wrench(arm, q[k], link, v)
        np.testing.assert_array_equal(wrenches[k], wrench)
        assert left[k] == rest
    empty = np.zeros((0, 6))
    for path in (False, True):
        end, _ = rd.rollout(arm, empty, empty, dt=0.01, steps=3, path=path)
        assert end.shape == ((0, 4, 6) if path else (0, 6))


def test_kernels_take_links_and_name_what_is_missing() -> None:
    arm = rd.load_robot("six_axis")
    link = arm.link_names[-1]
    q = np.zeros(6)
    J = rd.kernel(arm, "jacobian", link=link)(q, np.zeros(3))
    np.testing.assert_allclose(J, rd.jacobian(arm, q, link), atol=1e-12)
    with pytest.raises(ArgumentError, match="needs the option 'link'"):
        rd.kernel(arm, "jacobian")
