"""Damaged recordings of arms in MuJoCo: the damage is named; healthy ones are not accused."""

import dataclasses
import json
import os
import re

import numpy as np
import pytest
from scipy.signal import savgol_filter
from support.example_robots import example_urdf
from support.mujoco_recordings import DAMAGES, Log, mujoco_recording

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.causes import diagnose
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.samples import MotionSamples
from robot_dynamics_ros.recordings import Recording
from robot_dynamics_ros.recordings.times import repair_times

ARMS = ("six_axis", "seven_axis", "ur10_robot.urdf")
ALL = os.environ.get("DAMAGES") == "all"
"""Every kind of damage on every arm, and more healthy recordings: some ten minutes."""
NOT_NAMED = {
    # other bodies have nearly the same efforts
    ("ur10_robot.urdf", "zero of joint 2 off by 0.1 rad"),
    ("ur10_robot.urdf", "zero of joint 3 off by -0.1 rad"),
    ("six_axis", "zero of joint 2 off by 0.1 rad"),
    ("six_axis", "zero of joint 3 off by -0.1 rad"),
    # both joints explain the other's efforts
    ("ur10_robot.urdf", "the last two joints exchanged"),
    # only stretches are said to be far from the rest, or nothing
    ("ur10_robot.urdf", "efforts of joints 2 and 3 exchanged for a while"),
    ("six_axis", "efforts of joints 2 and 3 exchanged for a while"),
    ("seven_axis", "absolute values of the effort of joint 3"),
}
"""Arm and damage."""
FIRST_OF_EACH_CAUSE = {
    damage.cause: damage
    for k, damage in reversed(list(enumerate(DAMAGES)))
    if (ARMS[k % len(ARMS)], damage.name) not in NOT_NAMED
}.values()


@pytest.fixture(scope="module")
def logs():
    """(arm, seed) → recording, made once."""
    made = {}

    def log(arm, seed):
        if (arm, seed) not in made:
            model = rd.load_urdf(example_urdf(arm)) if arm.endswith(".urdf") else rd.load_robot(arm)
            made[arm, seed] = mujoco_recording(model, seed)
        return made[arm, seed]

    return log


def remarks(*logs):
    """What is said of logs of one arm before anything is estimated, or the error that refuses
    them.
    """
    model = logs[0].model
    try:
        recordings = [Recording.of(model, log.t, log.q, None, log.effort) for log in logs]
        motion = MotionSamples.of_recordings(model, recordings, check=True)
        result = diagnose(model, motion, 0.2 * EffortParameters(model).smoothing)
    except rd.ArgumentError as error:
        return [str(error)]
    cause = [] if result.cause is None else [result.cause.text]
    return [
        *(note for recording in recordings for note in recording.notes),
        *motion.notes,
        *result.notes,
        *cause,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(len(ARMS)) if ALL else (0,))
@pytest.mark.parametrize(
    "damage", DAMAGES if ALL else FIRST_OF_EACH_CAUSE, ids=lambda damage: damage.name
)
def test_damage_is_named(logs, damage, turn):
    """On one arm after the other in turn."""
    k = DAMAGES.index(damage)
    arm = ARMS[(k + turn) % len(ARMS)]
    if (arm, damage.name) in NOT_NAMED:
        pytest.xfail("known not to be named, see the how-to")
    damaged = damage.do(logs(arm, 1), np.random.default_rng(k))
    assert re.search(damage.cause, " | ".join(remarks(damaged)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5) if ALL else (1,))
@pytest.mark.parametrize("arm", ARMS)
def test_healthy_recordings_are_not_accused(arm, seed, logs):
    assert not remarks(logs(arm, seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5) if ALL else (1,))
@pytest.mark.parametrize("arm", ("six_axis", "ur10_robot.urdf"))
def test_friction_that_rises_towards_rest_is_not_taken_for_a_clock_or_a_unit(arm, seed):
    """From point to point with rests, where such friction is most of what a joint's effort is."""
    model = rd.load_urdf(example_urdf(arm)) if arm.endswith(".urdf") else rd.load_robot(arm)
    assert not remarks(mujoco_recording(model, seed, stribeck=0.5, point_to_point=True))


def test_ends_of_stretches_are_not_taken_for_damage():
    """Accelerations beside a gap are wrong by far."""
    log = mujoco_recording(rd.load_robot("six_axis"), 1, stribeck=0.5)
    kept = (log.t < 7.0) | (log.t > 10.0)
    said = remarks(Log(log.model, log.t[kept], log.q[kept], log.effort[kept]))
    assert said == ["longer gaps left open: 1"]


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_two_healthy_recordings_together_are_not_accused(arm, logs):
    log = logs(arm, 1)
    pieces = [log.t < 0.6 * log.t[-1], log.t > 0.4 * log.t[-1]]
    assert not remarks(
        *(Log(log.model, log.t[own] - log.t[own][0], log.q[own], log.effort[own]) for own in pieces)
    )


@pytest.mark.slow
def test_two_arms_are_not_taken_for_one(logs):
    """Recordings of two arms of one description: the body that the last link of one has more is
    named as a load.
    """
    said = " | ".join(remarks(logs("six_axis", 2), logs("six_axis", 3)))
    assert re.search(r"after 50% .* kg less beyond joint wrist_3_joint", said)


def test_a_load_beyond_a_joint_that_mimics_is_named():
    model = rd.load_urdf(example_urdf("panda.urdf"))
    motion = np.random.default_rng(0).uniform(-1.0, 1.0, (2, model.nv, 3))
    t = np.arange(0.0, 20.0, 0.01)
    angle = t[:, None, None] * np.array([0.7, 1.3, 2.1]) + 3.0 * motion[1]
    middle = 0.5 * (model.lower + model.upper)
    width = 0.2 * (model.upper - model.lower)
    q = middle + width * (motion[0] * np.sin(angle)).sum(axis=-1)
    v = np.gradient(q, t, axis=0)
    a = np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    effort = rd.inverse_dynamics(model, q, v, a)
    mimic = model.joint("panda_finger_joint2")
    loaded = rd.carrying(model, rd.Payload(mimic.child, 1.0, [0.0, 0.0, 0.1]))
    effort[1000:] = rd.inverse_dynamics(loaded, q, v, a)[1000:]
    noise = (
        1e-3 * np.random.default_rng(1).standard_normal(effort.shape) * np.abs(effort).max(axis=0)
    )
    said = diagnose(model, MotionSamples.of(model, t, q, effort + noise), np.zeros(model.nv)).cause
    assert said is not None and re.search(
        "after 50% .* kg more beyond joint panda_finger_joint[12] ", said.text
    )


@pytest.fixture(scope="module")
def small():
    """A log of an arm with three joints, and a recording of it."""
    return mujoco_recording(rd.load_robot("three_link"), 1, period=10.0)


def test_velocities_as_efforts_are_noticed_beside_gaps(small):
    """A few rows between two gaps have no velocity."""
    velocity = np.gradient(small.q, small.t, axis=0)
    few = np.abs(small.t - 3.5) < 0.02
    kept = (small.t < 3.0) | few | (small.t > 4.0)
    gap = dataclasses.replace(small, t=small.t[kept], q=small.q[kept], effort=velocity[kept])
    assert re.search("another quantity: .* holds the velocity of", " | ".join(remarks(gap)))


def test_damage_stands_in_terminal_and_files(small, tmp_path, capsys):
    from robot_dynamics_ros.cli.main import main

    model = small.model
    effort = small.effort.copy()
    a = len(effort) // 3
    b = len(effort) // 2
    effort[a:b, 1] = effort[a, 1]
    (tmp_path / "arm.urdf").write_text(model.description.source)
    names = model.joint_names
    head = ["t", *(f"{n}.position" for n in names), *(f"{n}.effort" for n in names)]
    table = np.column_stack([small.t, small.q, effort])
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=",".join(head), comments="")
    output = tmp_path / "out"
    command = [
        "identify",
        str(tmp_path / "arm.urdf"),
        "--csv",
        str(tmp_path / "run.csv"),
        "--no-page",
    ]
    assert main([*command, "--output", str(output), "--friction", "simple"]) == 0
    pattern = f"effort of joint {names[1]} is frozen"
    assert pattern in capsys.readouterr().out
    assert pattern in (output / "report.md").read_text()
    assert any(
        pattern in entry["text"]
        for entry in json.loads((output / "report.json").read_text())["findings"]
    )


def test_exact_times_are_kept_whatever_the_noise_of_the_positions():
    rng = np.random.default_rng(0)
    t = 0.01 * np.arange(2000)
    for noise in (1e-5, 1e-3, 1e-2):
        q = np.sin(np.outer(t, [0.7, 1.3, 2.1])) + noise * rng.standard_normal((2000, 3))
        q = np.round(q / 1e-3) * 1e-3
        assert not repair_times(t, q).steady


def test_times_are_repaired_where_both_halves_of_the_joints_say_so():
    rng = np.random.default_rng(1)
    true = np.cumsum(0.002 * (1 + (rng.random(3000) < 0.1)))
    q = np.sin(np.outer(true, [0.7, 1.3, 2.1, 0.4])) + 1e-6 * rng.standard_normal((3000, 4))
    found = repair_times(np.sort(true + 3e-4 * rng.standard_normal(3000)), q)
    assert found.steady and found.smoother > 3.0
    assert np.std(found.t - true) < 5e-5


@pytest.fixture(scope="module")
def standing(small):
    """A log in which the last joint stands."""
    q = small.q.copy()
    q[:, 2] = 0.4
    v, a = (savgol_filter(q, 31, 4, deriv=k, delta=small.t[1] - small.t[0], axis=0) for k in (1, 2))
    effort = rd.inverse_dynamics(small.model, q, v, a) + 0.3 * np.tanh(v / 0.01) + 0.2 * v
    noise = 0.01 * np.random.default_rng(1).standard_normal(effort.shape)
    return dataclasses.replace(small, q=q, effort=effort + noise)


def test_a_joint_that_stands_keeps_its_values(standing):
    """Its friction has no column that is not zero."""
    settings = rd.IdentificationSettings(unseen="keep", friction="simple")
    result = rd.identify(standing.model, standing.t, standing.q, standing.effort, settings)
    assert result.base.unseen
    assert (result.rms < 0.1).all()


def test_damage_is_named_beside_a_joint_that_stands(standing):
    assert not remarks(standing)
    signs = np.array([1.0, -1.0, 1.0])
    said = " | ".join(remarks(dataclasses.replace(standing, effort=standing.effort * signs)))
    assert f"efforts of joint {standing.model.joint_names[1]} have the opposite sign" in said


def test_friction_that_drives_and_absolute_values_are_named(small):
    v = savgol_filter(small.q, 31, 4, deriv=1, delta=small.t[1] - small.t[0], axis=0)
    limit = np.abs(small.effort).max(axis=0)
    said = remarks(
        dataclasses.replace(small, effort=small.effort - 0.5 * limit * np.tanh(v / 0.02))
    )
    assert any("drives instead of braking" in text for text in said)
    said = remarks(dataclasses.replace(small, effort=np.abs(small.effort)))
    assert any("they are absolute values" in text for text in said)


def test_a_cause_that_the_motion_does_not_show_is_not_named():
    """All joints swing together, and the efforts of three joints stand in each other's columns: no
    cause that is tried is the true one, and several explain it.
    """
    model = rd.load_robot("three_link")
    truth = rd.robot_model_error(rd.random_model_error(model, 1, com=0.1), mass=1.1)
    rate = 1.7
    t = np.arange(0.0, 12.0, 0.005)
    swing = 0.6 * np.ones(model.nv)
    q, v, a = (
        x[:, None] * swing
        for x in (np.sin(rate * t), rate * np.cos(rate * t), -(rate**2) * np.sin(rate * t))
    )
    effort = rd.inverse_dynamics(truth, q, v, a) + model.damping * v
    largest = np.abs(effort).max(axis=0)
    effort += 0.02 * largest * np.tanh(v / 0.02)
    effort += 0.003 * largest * np.random.default_rng(0).standard_normal(effort.shape)
    assert not remarks(Log(model, t, q, effort))
    motion = MotionSamples.of(model, t, q, effort[:, [1, 2, 0]])
    result = diagnose(model, motion, 0.2 * EffortParameters(model).smoothing)
    assert result.cause is None
    said = " | ".join(result.notes)
    assert "the cause is not known: this motion does not show which of these it is" in said
    assert "Record another motion" in said


@pytest.mark.parametrize("pace", [3.0, 5.0])
def test_efforts_of_the_other_sign_are_not_taken_for_late_ones(pace):
    """In a motion with nearly one frequency, half a period later is nearly the other sign."""
    model = rd.load_robot("three_link")
    truth = rd.robot_model_error(rd.random_model_error(model, 1, com=0.1), mass=1.1)
    rate = pace * np.array([1.0, 1.03, 0.97])
    t = np.arange(0.0, 12.0, 0.005)
    x = t[:, None] * rate + np.array([0.0, 0.7, 1.4])
    q, v, a = 0.1 * np.sin(x), 0.1 * rate * np.cos(x), -0.1 * rate**2 * np.sin(x)
    effort = rd.inverse_dynamics(truth, q, v, a) + model.damping * v
    largest = np.abs(effort).max(axis=0)
    effort += 0.02 * largest * np.tanh(v / 0.02)
    effort += 0.02 * largest * np.random.default_rng(0).standard_normal(effort.shape)
    assert not remarks(Log(model, t, q, effort))
    assert "efforts of all joints have the opposite sign" in " | ".join(
        remarks(Log(model, t, q, -effort))
    )


def test_a_recording_for_validation_is_not_asked_for_where_there_is_one(small, tmp_path, capsys):
    from robot_dynamics_ros.cli.main import main

    (tmp_path / "arm.urdf").write_text(small.model.description.source)
    names = small.model.joint_names
    head = ",".join(["t", *(f"{n}.position" for n in names), *(f"{n}.effort" for n in names)])
    table = np.column_stack([small.t, small.q, small.effort])
    for name, rows in (("run", table[:1700]), ("other", table[1700:])):
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header=head, comments="")
    command = [
        "identify",
        str(tmp_path / "arm.urdf"),
        "--csv",
        str(tmp_path / "run.csv"),
        "--friction",
        "simple",
    ]
    command += [
        "--validate",
        str(tmp_path / "other.csv"),
        "--no-page",
        "--output",
        str(tmp_path / "out"),
    ]
    assert main([*command, "--plausibility", "accept", "--unseen", "keep"]) == 0
    said = capsys.readouterr().out
    assert "no recording for validation" not in said
