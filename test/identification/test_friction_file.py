"""What URDF cannot hold of friction goes beside it, and comes back the same."""

import dataclasses
import json

import numpy as np
import pytest
from support.identification_data import excitation, record

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.friction_file import FrictionFile


@pytest.fixture(scope="module")
def found():
    prior = rd.load_robot("two_link")
    friction = rd.JointFriction(viscous=0.3, coulomb=0.6, static=1.5, stribeck_velocity=0.15)
    t, q, effort, _ = record(
        prior, prior, excitation(prior, 2, period=12.0, harmonics=3), friction=friction, offset=0.2
    )
    return rd.identify(prior, t, q, effort)


def test_efforts_of_the_file_are_those_of_the_identification(found, tmp_path):
    rd.friction_file(found).write(tmp_path / "friction.json")
    read = FrictionFile.read(tmp_path / "friction.json", found.model)
    t = np.linspace(0.0, 6.0, 3000)
    q = np.column_stack([np.sin(1.3 * t), 0.7 * np.sin(2.0 * t)])
    v, a = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    whole = rd.inverse_dynamics(found.model, q, v, a) + read.efforts(found.model, q, v, a, (slice(0, len(t)),))
    np.testing.assert_allclose(whole, found.predict(q, v, a), atol=1e-9)
    law = read.friction(found.model)
    np.testing.assert_allclose(law.effort(v[100]), found.friction.effort(v[100]) + found.offset, atol=1e-12)


def test_a_file_of_one_joint_leaves_the_others_to_the_urdf(tmp_path):
    model = rd.load_robot("two_link")
    (tmp_path / "f.json").write_text(json.dumps({"joints": {"elbow": {"coulomb": 3.0, "offset": -1.0}}}))
    friction = FrictionFile.read(tmp_path / "f.json", model).friction(model)
    np.testing.assert_array_equal(friction.coulomb, [model.friction[0], 3.0])
    np.testing.assert_array_equal(friction.viscous, model.damping)
    np.testing.assert_array_equal(friction.offset, [0.0, -1.0])
    assert not dataclasses.replace(friction).is_zero


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("nonsense", "no friction file"),
        ('{"joints": {"knee": {}}}', "knee"),
        ('{"joints": {"elbow": {"coulomb": -1.0}}}', "coulomb is -1.0"),
        ('{"joints": {"elbow": {"offset": NaN}}}', "offset is nan"),
        ('{"joints": {"elbow": {"colour": 1.0}}}', "colour"),
        ('{"joints": {"elbow": {"effects": {"magic": 1.0}}}}', "magic"),
    ],
)
def test_bad_files_are_refused_by_name(text, match, tmp_path):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(rd.RobotDynamicsError, match=match):
        FrictionFile.read(tmp_path / "f.json", rd.load_robot("two_link"))
