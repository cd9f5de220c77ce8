"""URDF 1.1 and 1.2: orientations as quaternions, capsules, further limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.geometry import read_looks

INERTIA = (
    '<mass value="2"/><inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" '
    'izz="0.025"/>'
)


def arm(turn: str, version: str = 'version="1.1"', shape: str = '<box size="0.1 0.2 0.3"/>') -> str:
    """An arm in which joint, inertia, visual and collision stand the same way in their frames."""
    piece = f'<origin xyz="0 0.1 0" {turn}/><geometry>{shape}</geometry>'
    return f"""<robot name="arm" {version}><link name="base"/>
      <link name="upper"><inertial><origin xyz="0.1 0.2 0.3" {turn}/>{INERTIA}</inertial>
        <visual>{piece}</visual><collision>{piece}</collision></link>
      <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
      <origin xyz="1 2 3" {turn}/>
        <axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="9" velocity="2" acceleration="8" deceleration="5"
        jerk="50"/></joint></robot>"""


def quaternion(x: object) -> str:
    return f'quat_xyzw="{" ".join(map(repr, map(float, x)))}"'


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1.0, 1.0, width=32), min_size=4, max_size=4).filter(
        lambda q: np.linalg.norm(q) > 1e-3
    )
)
def test_a_quaternion_turns_joint_inertia_and_geometry(q):
    model = rd.load_urdf(arm(quaternion(q)))
    R = Rotation.from_quat(q).as_matrix()
    np.testing.assert_allclose(model.joint_rotation[0], R, atol=1e-14)
    local = np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]])
    np.testing.assert_allclose(model.body_inertia[0], R @ local @ R.T, atol=1e-15)
    looks = read_looks(model)
    for shape in (*looks.visuals, *looks.collisions):
        np.testing.assert_allclose(shape.pose.rotation, R, atol=1e-14)
        np.testing.assert_array_equal(shape.pose.position, [0, 0.1, 0])


@pytest.mark.parametrize(
    "q",
    [(0, 0.7071068, 0, 0.7071068), (0.5, 0.5, 0.5, 0.5), (0, -3e-200, 0, 3e-200), (0, 2e200, 0, 0)],
)
def test_where_angles_are_singular_and_whatever_the_length(q):
    R = Rotation.from_quat(np.array(q) / np.abs(q).max()).as_matrix()
    np.testing.assert_allclose(rd.load_urdf(arm(quaternion(q))).joint_rotation[0], R, atol=1e-14)


@pytest.mark.parametrize("version", ["", 'version="1.0"', 'version="one"'])
def test_older_descriptions_have_no_quaternions_and_that_is_said(version):
    with pytest.warns(rd.ModelWarning, match="quat_xyzw is ignored"):
        model = rd.load_urdf(arm(quaternion((0, 0, 1, 0)), version))
    np.testing.assert_array_equal(model.joint_rotation[0], np.eye(3))
    np.testing.assert_array_equal(read_looks(model).visuals[0].pose.rotation, np.eye(3))


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ('rpy="0 0 0" quat_xyzw="0 0 0 1"', "both given"),
        ('quat_xyzw="0 0 0"', "four finite numbers"),
        ('quat_xyzw="0 0 nan 1"', "four finite numbers"),
        ('quat_xyzw="a b c d"', "four finite numbers"),
        ('quat_xyzw="0 0 0 0"', "no rotation"),
    ],
)
def test_what_is_no_orientation_is_an_error_with_its_place(turn, words):
    with pytest.raises(rd.UrdfError, match=words) as caught:
        rd.load_urdf(arm(turn))
    assert "link 'upper'" in str(caught.value) and "line 2" in str(caught.value)


def test_a_newer_version_is_read_with_a_warning():
    with pytest.warns(rd.ModelWarning, match=r"URDF 1\.9"):
        model = rd.load_urdf(arm(quaternion((0, 0, 1, 0)), 'version="1.9"'))
    np.testing.assert_allclose(model.joint_rotation[0], np.diag([-1, -1, 1]), atol=1e-15)


def test_capsules_give_looks_and_mass():
    text = arm(quaternion((0, 1, 0, 1)), 'version="1.2"', '<capsule radius="0.1" length="0.5"/>')
    looks = read_looks(rd.load_urdf(text))
    assert [(s.kind, s.size) for s in looks.collisions] == [
        ("capsule", (0.1, 0.5))
    ] and not looks.findings
    start = text.index("<inertial>")
    end = text.index("</inertial>") + len("</inertial>")
    with pytest.warns(rd.ModelWarning, match="has no <inertial>"):
        model = rd.load_urdf(
            text[:start] + text[end:], missing_inertia="from_geometry", density=1000.0
        )
    volume = np.pi * 0.1**2 * 0.5 + 4 / 3 * np.pi * 0.1**3
    assert model.total_mass == pytest.approx(1000 * volume)
    np.testing.assert_allclose(model.body_com[0], [0, 0.1, 0], atol=1e-12)
    # about the centre of mass; the capsule's axis is the link's x
    ix, iy, iz = np.diag(model.body_inertia[0])
    assert ix < iy == pytest.approx(iz)
