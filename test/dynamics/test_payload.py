"""A payload is a body rigidly attached, nothing else."""

import numpy as np
import pytest

import robot_dynamics_ros as rd


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("seven_axis")


def test_it_equals_a_link_welded_on(arm):
    rng = np.random.default_rng(0)
    com = np.array([0.02, -0.05, 0.11])
    moments = np.array([[0.03, 0.002, -0.001], [0.002, 0.02, 0.0], [-0.001, 0.0, 0.025]])
    loaded = rd.carrying(arm, rd.Payload("flange", 2.5, com, moments))
    text = arm.description.source
    body = (
        '<link name="load"><inertial><origin xyz="0.02 -0.05 0.11"/><mass value="2.5"/><inertia '
        'ixx="0.03" ixy="0.002" '
        'ixz="-0.001" iyy="0.02" iyz="0.0" izz="0.025"/></inertial></link><joint name="weld" '
        'type="fixed">'
        '<parent link="flange"/><child link="load"/></joint></robot>'
    )
    attached = rd.load_urdf(text.replace("</robot>", body))
    for _ in range(5):
        q, v, a = rng.uniform(-1, 1, (3, 7))
        np.testing.assert_allclose(
            rd.inverse_dynamics(loaded, q, v, a),
            rd.inverse_dynamics(attached, q, v, a),
            rtol=1e-11,
            atol=1e-11,
        )
    assert loaded.link_names == arm.link_names


@pytest.mark.parametrize(
    "bad",
    [
        {"mass": -1.0},
        {"mass": np.nan},
        {"com": [0, 0]},
        {"com": [0, 0, np.inf]},
        {"inertia": np.eye(2)},
        {"inertia": -np.eye(3)},
        {"inertia": np.diag([1.0, 1.0, 3.0])},
        {"inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]},
    ],
)
def test_bodies_that_do_not_exist_are_refused(bad):
    with pytest.raises(rd.ArgumentError, match="payload"):
        rd.Payload(**{"link": "flange", "mass": 1.0, **bad})


def test_an_unknown_link_is_named(arm):
    with pytest.raises(rd.UnknownNameError, match="flange"):
        rd.carrying(arm, rd.Payload("flnage", 1.0))
