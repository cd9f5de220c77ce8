"""Times in any unit, whole or not, give the same loads, or are refused and the option is named."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.samples import MotionSamples
from robot_dynamics_ros.recordings import Settings, compute, read_csv

MODEL = rd.load_robot("three_link")
SPEEDS = np.array([1.7, 2.3, 3.1])


def table(path, rate: float, factor: float, jitter: float) -> None:
    """A motion of 4 s, its times in another unit; ``jitter``: s."""
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 4.0, 1.0 / rate)
    q = 0.4 * np.sin(np.outer(t, SPEEDS))
    stamps = (t + jitter * rng.uniform(-1.0, 1.0, len(t))) * factor
    head = ",".join(["t", *(f"{name}.position" for name in MODEL.joint_names)])
    rows = np.column_stack([stamps, q])
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%.12g")


def largest_effort(path, **options) -> float:
    recording = read_csv(path, MODEL, **options)
    return float(np.abs(compute(MODEL, recording, Settings()).efforts).max())


@pytest.mark.parametrize("factor", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("rate", [100.0, 333.3, 250.0])
@pytest.mark.parametrize("jitter", [0.0, 3.3e-6])
def test_fractional_times_in_other_units(tmp_path, factor, rate, jitter) -> None:
    table(tmp_path / "s.csv", rate, 1.0, 0.0)
    table(tmp_path / "other.csv", rate, factor, jitter)
    expected = largest_effort(tmp_path / "s.csv")
    assert largest_effort(tmp_path / "other.csv") == pytest.approx(expected, rel=2e-2)


def test_a_step_that_may_be_seconds_or_milliseconds_is_refused(tmp_path) -> None:
    table(tmp_path / "a.csv", 2000.0, 1e3, 1e-7)
    with pytest.raises(ArgumentError, match="--time-unit"):
        read_csv(tmp_path / "a.csv", MODEL)
    assert len(read_csv(tmp_path / "a.csv", MODEL, time_unit="ms")) == 8000


def test_what_identification_refuses_gives_no_loads(tmp_path) -> None:
    table(tmp_path / "a.csv", 250.0, 1e3, 0.0)
    recording = read_csv(tmp_path / "a.csv", MODEL, time_unit="s")
    recording = dataclasses.replace(recording, effort=np.sin(recording.q))
    with pytest.raises(ArgumentError, match="4 s apart"):
        compute(MODEL, recording)
    with pytest.raises(ArgumentError, match="4 s apart"):
        MotionSamples.of_recordings(MODEL, [recording])
