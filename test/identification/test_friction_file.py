"""What URDF cannot hold of friction goes beside it, and comes back the same."""

import dataclasses
import json

import numpy as np
import pytest
from support.identification_data import excitation, record

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.recordings import Recording, compute, write_csv


@pytest.fixture(scope="module")
def found():
    prior = rd.load_robot("two_link")
    friction = rd.JointFriction(viscous=0.3, coulomb=0.6, static=1.5, stribeck_velocity=0.15)
    t, q, effort, _ = record(
        prior, prior, excitation(prior, 2, period=12.0, harmonics=3), friction=friction, offset=0.2
    )
    return rd.identify(prior, t, q, effort)


@pytest.mark.slow
def test_efforts_of_the_file_are_those_of_the_identification(found, tmp_path):
    rd.friction_file(found).write(tmp_path / "friction.json")
    read = FrictionFile.read(tmp_path / "friction.json", found.model)
    t = np.linspace(0.0, 6.0, 3000)
    q = np.column_stack([np.sin(1.3 * t), 0.7 * np.sin(2.0 * t)])
    v = np.gradient(q, t, axis=0)
    a = np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    whole = rd.inverse_dynamics(found.model, q, v, a) + read.efforts(
        found.model, q, v, a, (slice(0, len(t)),)
    )
    np.testing.assert_allclose(whole, found.predict(q, v, a), atol=1e-9)
    law = read.friction(found.model)
    np.testing.assert_allclose(
        law.effort(v[100]), found.friction.effort(v[100]) + found.offset, atol=1e-12
    )


@pytest.mark.slow
def test_a_sigmoid_is_found_and_kept_in_the_file(tmp_path):
    """Friction that grows with speed up to a limit, not alike in both directions, as published for
    a real arm.
    """
    model = rd.load_robot("two_link")
    t = np.arange(0.0, 24.0, 0.004)
    w = np.array([[1.1, 2.3], [1.7, 0.6]])
    phase = np.array([[0.0, 1.0], [2.0, 0.5]])
    angle = t[:, None, None] * w + phase
    q, v, a = (
        0.8 * x.sum(axis=-1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle))
    )
    sigmoid = np.array([2.0, 0.0]) * np.tanh((v + 0.25) / 0.5)
    effort = rd.inverse_dynamics(model, q, v, a) + 0.4 * np.tanh(v / 0.02) + 0.2 * v + sigmoid
    effort += 0.05 * np.random.default_rng(0).standard_normal(effort.shape)
    found = rd.identify(
        model,
        t,
        q,
        effort,
        rd.IdentificationSettings(friction=("presliding", "stribeck", "sigmoid")),
    )
    assert "sigmoid" in found.effects[0].effects and "sigmoid" not in found.effects[1].effects
    assert found.effects[0].numbers["sigmoid_shift"] > 0.0
    assert found.prediction_rms[0] < 0.5 * found.simple_rms[0]
    rd.friction_file(found).write(tmp_path / "friction.json")
    read = FrictionFile.read(tmp_path / "friction.json", found.model)
    k = slice(100, 600)
    whole = rd.inverse_dynamics(found.model, q[k], v[k], a[k]) + read.efforts(
        found.model, q[k], v[k], a[k], (slice(0, 500),)
    )
    np.testing.assert_allclose(whole, found.predict(q[k], v[k], a[k]), atol=1e-9)
    assert "sigmoid over" in rd.report_text(found)


def test_a_file_of_one_joint_leaves_the_others_to_the_urdf(tmp_path):
    model = rd.load_robot("two_link")
    (tmp_path / "f.json").write_text(
        json.dumps({"joints": {"elbow": {"coulomb": 3.0, "offset": -1.0}}})
    )
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
        (
            '{"joints": {"elbow": {"presliding": 0.01, "presliding_ratio": 0.0}}}',
            "presliding_ratio is 0.0",
        ),
        ('{"joints": {"elbow": {"colour": 1.0}}}', "colour"),
        ('{"joints": {"elbow": {"effects": {"magic": 1.0}}}}', "magic"),
    ],
)
def test_bad_files_are_refused_by_name(text, match, tmp_path):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(rd.RobotDynamicsError, match=match):
        FrictionFile.read(tmp_path / "f.json", rd.load_robot("two_link"))


def test_wrenches_of_a_recording_take_all_of_the_file_along_the_motion(found, tmp_path):
    rd.friction_file(found).write(tmp_path / "friction.json")
    t = np.arange(0.0, 1.5, 0.004)
    model = rd.load_robot("two_link")
    recording = Recording.of(model, t, np.column_stack([np.sin(2.0 * t), 0.7 * np.sin(3.0 * t)]))
    write_csv(tmp_path / "run.csv", compute(model, recording))
    tables = []
    for name, more in (
        ("without", []),
        ("with", ["--friction-file", str(tmp_path / "friction.json")]),
    ):
        line = [
            "wrenches",
            "two_link",
            "--csv",
            str(tmp_path / "run.csv"),
            "--formats",
            "csv",
            "--velocity",
            "positions",
        ]
        assert main([*line, "--output", str(tmp_path / name), *more]) == 0
        tables.append(
            np.genfromtxt(
                tmp_path / name / "wrenches.csv", delimiter=",", names=True, deletechars=""
            )
        )
    q, v, a, before, after = (
        np.column_stack([table[f"{joint}.{what}"] for joint in model.joint_names])
        for table, what in (
            *((tables[0], x) for x in ("position", "velocity", "acceleration", "effort")),
            (tables[1], "effort"),
        )
    )
    read = FrictionFile.read(tmp_path / "friction.json", model)
    np.testing.assert_allclose(
        after - before, read.efforts(model, q, v, a, (slice(0, len(q)),)), atol=1e-9
    )
    assert np.abs(after - before).max() > 0.5
