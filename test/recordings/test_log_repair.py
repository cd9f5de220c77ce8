"""Logs as people have them: late stamps, rows written twice, gaps, velocities that are none."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings import Recording, Settings, compute
from robot_dynamics_ros.recordings.smoothing import smooth_motion
from robot_dynamics_ros.recordings.times import frozen_rows, repair_times

MODEL = rd.load_robot("two_link")
STEP = 2e-3


def motion_at(t):
    """Known position, velocity and acceleration."""
    A = np.array([0.8, 0.6])
    w = np.array([2.1, 3.3])
    x = np.asarray(t)[:, None] * w
    return A * np.sin(x), A * w * np.cos(x), -A * w * w * np.sin(x)


def positions(t, seed=0):
    return motion_at(t)[0] + 1e-6 * np.random.default_rng(seed).standard_normal((len(t), 2))


def sampled(count=6000, lost=0.0, drift=5e-5, seed=1):
    """Times at which the robot was sampled, by the logger's clock, some lost."""
    rng = np.random.default_rng(seed)
    there = np.flatnonzero(rng.random(count) >= lost)
    return 7.0 + STEP * (1.0 + drift) * there, rng


def offset_free(error):
    return np.sqrt(np.mean((error - error.mean()) ** 2))


def late(true, rng):
    return true + rng.uniform(0.0, 0.9 * STEP, len(true))


def bursts(true, rng):
    return np.maximum.accumulate(
        true + np.where(rng.random(len(true)) < 0.02, rng.exponential(4 * STEP, len(true)), 0)
    )


def coarse(true, rng):
    return np.floor(true / 0.01) * 0.01


@pytest.mark.parametrize("stamped, share", [(late, 0.1), (bursts, 0.15), (coarse, 0.2)])
def test_late_stamps_become_the_times_of_sampling(stamped, share):
    true, rng = sampled(lost=0.01)
    stamps = stamped(true, rng)
    found = repair_times(stamps, positions(true))
    assert found.steady and found.step == pytest.approx(STEP, rel=1e-3)
    assert offset_free(found.t - true) < share * offset_free(stamps - true)
    assert (np.diff(found.t) > 0.0).all()


def test_a_logger_with_a_rate_of_its_own_repeats_some_states_and_misses_others():
    rng = np.random.default_rng(2)
    polled = 3.0 + np.cumsum(rng.choice([0.85, 1.0, 1.2, 2.4], 5000, p=[0.4, 0.3, 0.2, 0.1]) * STEP)
    number = np.floor((polled - 3.0) / STEP).astype(int)
    state = 3.0 + STEP * number
    recording = Recording.of(
        MODEL, polled, positions(3.0 + STEP * np.arange(number[-1] + 1))[number]
    )
    fresh = np.flatnonzero(np.diff(number, prepend=-1) > 0)
    # where a joint hardly moves a repeated row cannot be seen, and does no harm
    missed = np.setdiff1d(recording.rows - 1, fresh)
    assert len(missed) < 0.1 * (len(polled) - len(fresh))
    assert np.isin(fresh, recording.rows - 1).all()
    speed = np.abs(motion_at(recording.t)[1]).max(axis=1)
    error = recording.t - state[recording.rows - 1]
    assert offset_free(error[speed > 0.3]) < 0.1 * STEP
    assert any("repeat" in note for note in recording.notes) and any(
        "steady" in note for note in recording.notes
    )


def test_times_that_are_right_stay():
    rng = np.random.default_rng(3)
    # a robot that is really sampled so
    uneven = 1.0 + np.cumsum(rng.uniform(0.5, 1.5, 3000)) * STEP
    assert repair_times(uneven, positions(uneven)).t is uneven
    even = sampled(3000)[0]
    np.testing.assert_array_equal(repair_times(even, positions(even)).t, even)
    # it stands: nothing tells
    assert not repair_times(late(even, rng), np.ones((3000, 2))).steady
    assert not frozen_rows(even, np.ones((3000, 2))).any()
    few = np.array([0.0, 0.1, 0.25])
    np.testing.assert_array_equal(repair_times(few, np.zeros((3, 2))).t, few)


def test_a_robot_that_stops_and_goes_on_repeats_nothing():
    t = STEP * np.arange(4000)
    # it stands from 2 s to 3 s
    way = np.where(t < 2.0, np.minimum(t, 2.0), np.maximum(t - 1.0, 2.0))
    q = motion_at(way)[0]
    assert not frozen_rows(t, q).any()


def test_rows_beside_a_jump_of_the_positions_are_left_out():
    t = sampled(4000)[0]
    keep = (t < t[1500]) | (t > t[2200])
    recording = Recording.of(MODEL, t[: keep.sum()], positions(t)[keep])
    assert "two recordings in one" in " ".join(recording.notes)
    assert (np.abs(recording.rows - 1500) > 50).all() and len(recording) > keep.sum() - 200
    found = smooth_motion(MODEL, recording.t, recording.q, window=0.1)
    expected = motion_at(t[keep][recording.rows - 1])[2]
    assert len(found.parts) == 2 and np.abs(found.a - expected)[found.good].max() < 0.02


def test_angles_that_are_wrapped_are_taken_as_one_motion():
    t = sampled(2000)[0]
    whole = positions(t) + np.array([3.0, 0.0])
    recording = Recording.of(MODEL, t, np.where(whole > np.pi, whole - 2.0 * np.pi, whole))
    turns = np.unique(np.round((recording.q - whole) / (2.0 * np.pi), 9), axis=0)
    assert len(turns) == 1 and len(recording) == 2000 and "full turns" in recording.notes[0]


def test_an_encoder_that_flickers_at_rest_has_no_spikes():
    t, rng = sampled(3000)
    q = positions(t)
    # one level
    q[:, 1] = 0.7 + 1e-4 * (rng.random(3000) < 0.03)
    recording = Recording.of(MODEL, t, q)
    assert not recording.notes and (recording.q == q).all()


def test_channels_at_a_lower_rate_are_interpolated():
    t, rng = sampled(3000)
    effort = np.sin(t[:, None] * [3.0, 4.0]) + 1e-3 * rng.standard_normal((3000, 2))
    for every in (2, 5, 12):
        held = effort[np.arange(3000) // every * every]
        recording = Recording.of(MODEL, t, positions(t), None, held)
        assert "lower rate" in recording.notes[0] and recording.effort is not None
        error, before = (np.sqrt(np.mean((x - effort) ** 2)) for x in (recording.effort, held))
        assert error < 0.5 * before
    # it changes by single levels
    coarse = np.round(effort / 0.05) * 0.05
    recording = Recording.of(MODEL, t, positions(t), None, coarse)
    assert not recording.notes and (recording.effort == coarse).all()


def test_short_gaps_are_bridged_and_edges_of_long_ones_are_not_used():
    t = 1e-3 * np.arange(6000)
    keep = np.ones(6000, dtype=bool)
    for start in range(500, 3000, 250):
        # 9 ms
        keep[start : start + 8] = False
    keep[4000:4400] = False
    t = t[keep]
    rng = np.random.default_rng(4)
    q = motion_at(t)[0] + 2e-5 * rng.standard_normal((len(t), 2))
    found = smooth_motion(MODEL, t, q, window=0.1)
    assert (len(found.parts), found.bridged) == (2, 10)
    error = np.abs(found.a - motion_at(t)[2]).max(axis=1)
    usual = np.quantile(error[found.good], 0.99)
    near = np.abs(t[:, None] - 1e-3 * np.arange(500, 3000, 250)).min(axis=1) < 0.02
    assert found.good[near].all() and error[near].max() < 2.0 * usual
    # those would have been used
    assert error[~found.good].max() > 3.0 * usual
    assert (~found.good).sum() == 4 * (found.samples // 4)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda t, v: 0.0 * v, "0 times as fast"),
        (lambda t, v: np.rad2deg(v), "57.3 times as fast"),
        (lambda t, v: motion_at(t - 0.04)[1], "40 ms late"),
        (lambda t, v: v + 0.1 * np.random.default_rng(0).standard_normal(v.shape), "the noise"),
    ],
    ids=["zeros", "degrees", "late", "noisy"],
)
def test_recorded_velocities_that_are_worse_are_not_used(change, words):
    t = sampled(2000)[0]
    v = change(t, motion_at(t)[1])
    found = smooth_motion(MODEL, t, positions(t), v, window=0.1)
    assert found.velocity == "positions" and words in " ".join(found.notes)
    assert (
        smooth_motion(MODEL, t, positions(t), v, window=0.1, velocity="recorded").velocity
        == "recorded"
    )


def test_recorded_velocities_that_are_better_are_used():
    t = sampled(2000)[0]
    q, v, a = motion_at(t)
    # a coarse encoder, and a tachometer
    rough = np.round(q / 1e-3) * 1e-3
    found = smooth_motion(MODEL, t, rough, v, window=0.1)
    other = smooth_motion(MODEL, t, rough, window=0.1)
    assert found.velocity == "recorded"
    error, without = (np.abs(x.a - a)[x.good].max() for x in (found, other))
    assert error < 0.1 * without


def test_recorded_velocities_that_are_late_as_after_a_filter_are_taken_earlier():
    t = sampled(2000)[0]
    q, v, a = motion_at(t)
    # rad/s; 8 ms of a filter of first order, in closed form
    rates = np.array([2.1, 3.3])
    lag = np.arctan(0.008 * rates)
    rough = np.round(q / 1e-3) * 1e-3
    filtered = np.array([0.8, 0.6]) * rates * np.cos(t[:, None] * rates - lag) * np.cos(lag)
    found = smooth_motion(MODEL, t, rough, filtered, window=0.1)
    positions_alone = smooth_motion(MODEL, t, rough, window=0.1)
    assert found.velocity == "recorded" and re.search(
        r"velocities are (7\.\d+|8(\.\d+)?) ms late", found.notes[0]
    )
    error, without = (np.abs(x.a - a)[x.good].max() for x in (found, positions_alone))
    assert error < 0.1 * without
    assert np.abs(found.v - v)[found.good].max() < 0.05 * np.abs(filtered - v).max()


def test_the_window_is_chosen_from_the_data_and_given_in_seconds():
    t = 1e-3 * np.arange(5000)
    q, _, a = motion_at(t)
    measured = q + 1e-5 * np.random.default_rng(5).standard_normal(q.shape)
    recording = Recording("test", MODEL.joint_names, t, measured, None, None, np.arange(5000))
    chosen, short = (compute(MODEL, recording, Settings(window=w)) for w in (None, 0.021))
    error, before = (np.sqrt(np.mean((h.a - a[h.rows]) ** 2)) for h in (chosen, short))
    assert error < 0.05 * before and error < 0.02 * np.abs(a).max()


def table(path, t, q, v=None, effort=None):
    names = ["t"]
    columns = [t[:, None]]
    for word, x in (("position", q), ("velocity", v), ("effort", effort)):
        if x is not None:
            names += [f"{n}.{word}" for n in MODEL.joint_names]
            columns.append(x)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(names)
        out.writerows(np.concatenate(columns, axis=1).tolist())
    return str(path)


def test_several_recordings_at_once_and_what_was_done_to_them(tmp_path, capsys):
    true, rng = sampled(3000, lost=0.01)
    stamps = late(true, rng)
    folder = tmp_path / "other"
    folder.mkdir()
    paths = [
        table(tmp_path / "run.csv", stamps, positions(true)),
        table(folder / "run.csv", true, positions(true)),
    ]
    command = [
        "wrenches",
        "two_link",
        "--csv",
        *paths,
        "--output",
        str(tmp_path / "out"),
        "--formats",
        "csv",
        "--json",
    ]
    assert main(command) == 0
    first, second = json.loads(capsys.readouterr().out)["recordings"]
    assert any("steady times, 2 ms apart" in note for note in first["notes"])
    assert all("beside gaps" in note or "without friction" in note for note in second["notes"])
    a, b = (
        np.genfromtxt(tmp_path / "out" / n / "wrenches.csv", delimiter=",", names=True)
        for n in ("run", "run_2")
    )
    assert offset_free(a["t"] - true[a["row"].astype(int) - 2]) < 0.05 * STEP
    np.testing.assert_allclose(b["t"], true[b["row"].astype(int) - 2])
    assert main([*command[:3], paths[0], *command[5:], "--times", "keep", "--overwrite"]) == 0
    kept = json.loads(capsys.readouterr().out)
    assert not any("steady" in note for note in kept["notes"])
    assert main(["wrenches", "two_link"]) == 2
    assert "--csv" in capsys.readouterr().err
