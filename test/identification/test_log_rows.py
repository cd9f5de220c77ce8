"""Logs as people have them: a missing cell costs its row, and whole numbers of milliseconds are no
seconds.
"""

import dataclasses

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.recordings import Recording, read_csv


def log(path, times, hole="", row=20):
    lines = ["t,shoulder.position,elbow.position,shoulder.effort,elbow.effort"]
    for k, t in enumerate(times):
        lines.append(f"{t},{0.01 * k},{0.02 * k},1.5,{hole if k == row else 2.5}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("hole", ["", "nan"])
def test_a_missing_effort_drops_its_row_by_number(tmp_path, hole):
    model = rd.load_robot("two_link")
    path = log(tmp_path / "log.csv", [0.01 * k for k in range(50)], hole)
    found = read_csv(path, model)
    assert len(found) == 49 and found.effort is not None and np.isfinite(found.effort).all()
    assert [row.number for row in found.bad] == [22] and "effort of joint 'elbow'" in found.bad[
        0
    ].why
    with pytest.raises(rd.ArgumentError, match="row 22"):
        read_csv(path, model, on_bad="refuse")


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)],
    ids=["ms", "us", "ns"],
)
def test_whole_numbers_are_taken_in_the_unit_that_their_step_shows(tmp_path, unit, factor):
    model = rd.load_robot("two_link")
    seconds = 1000.0 + 0.004 * np.arange(50)
    found = read_csv(log(tmp_path / "log.csv", [round(t * factor) for t in seconds], "3"), model)
    np.testing.assert_allclose(found.t, seconds, rtol=1e-12)
    assert any(unit in note for note in found.notes)
    plain = read_csv(log(tmp_path / "plain.csv", seconds.tolist(), "3"), model)
    assert not plain.notes


@pytest.mark.parametrize(("unit", "factor"), [("s", 1.0), ("us", 1e-6)])
def test_a_unit_that_is_given_decides(tmp_path, unit, factor):
    model = rd.load_robot("two_link")
    # 10 s apart: by their step they would be milliseconds
    rows = [10 * k for k in range(50)]
    found = read_csv(log(tmp_path / "slow.csv", rows, "3"), model, time_unit=unit)
    np.testing.assert_allclose(found.t, np.array(rows) * factor, rtol=1e-12)
    with pytest.raises(rd.ArgumentError, match="time unit"):
        read_csv(tmp_path / "slow.csv", model, time_unit="fortnights")


def test_times_that_are_no_seconds_are_named():
    model = rd.load_robot("two_link")
    t = 4.0 * np.arange(100) + 0.25
    with pytest.raises(rd.ArgumentError, match=r"4 s apart.*--time-unit"):
        rd.identify(model, t, np.zeros((100, 2)), np.zeros((100, 2)))


def test_a_decimal_comma_is_read_and_never_taken_for_two_cells(tmp_path):
    model = rd.load_robot("two_link")
    plain = log(tmp_path / "plain.csv", [0.01 * k for k in range(50)], "3.5")
    rows = [line.split(",") for line in plain.read_text().splitlines()]
    expected = read_csv(plain, model)
    for name, delimiter, quote in (
        ("semicolons", ";", ""),
        ("tabs", "\t", ""),
        ("quoted", ",", '"'),
    ):
        lines = [
            delimiter.join(quote + cell.replace(".", ",") + quote for cell in row)
            for row in rows[1:]
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join([delimiter.join(rows[0]), *lines]))
        found = read_csv(path, model)
        np.testing.assert_array_equal(found.q, expected.q)
        np.testing.assert_array_equal(found.effort, expected.effort)
    lines = [",".join(cell.replace(".", ",") for cell in row) for row in rows[1:]]
    (tmp_path / "bare.csv").write_text("\n".join([",".join(rows[0]), *lines]))
    with pytest.raises(rd.ArgumentError, match="decimal commas"):
        read_csv(tmp_path / "bare.csv", model)


def test_a_second_recording_in_the_file_is_named(tmp_path):
    times = [0.01 * k for k in range(50)]
    found = read_csv(
        log(tmp_path / "log.csv", [*times, *times[:-1]], "3.5"), rd.load_robot("two_link")
    )
    assert len(found) == 50 and len(found.bad) == 49 and "two recordings in one" in found.bad[0].why


@pytest.mark.slow
def test_several_recordings_each_at_its_own_rate():
    prior = rd.load_robot("two_link")
    truth = rd.random_model_error(prior, 3, mass=0.3, com=0.2)
    rng = np.random.default_rng(0)

    def run(rate, duration, w, start):
        t = start + np.arange(0.0, duration, 1.0 / rate)
        x = t[:, None] * np.array(w)
        q = np.sin(x)
        v = np.array(w) * np.cos(x)
        a = -(np.array(w) ** 2) * np.sin(x)
        effort = (
            rd.inverse_dynamics(truth, q, v, a)
            + truth.damping * v
            + truth.friction * np.tanh(v / 0.01)
        )
        return Recording.of(truth, t, q, None, effort + 0.02 * rng.standard_normal(q.shape))

    runs = [
        run(1000.0, 3.0, (2.3, 3.1), 5.0),
        run(200.0, 8.0, (1.1, 2.9), 0.0),
        run(500.0, 4.0, (3.7, 1.3), 2.0),
    ]
    settings = rd.IdentificationSettings(friction="simple")
    found = rd.identify_recordings(prior, runs, settings)
    assert found.duration == pytest.approx(15.0, rel=0.1)
    q = rd.random_configuration(prior, rng, size=100)
    error, wrong = (
        np.abs(rd.gravity_forces(m, q) - rd.gravity_forces(truth, q)).max()
        for m in (found.model, prior)
    )
    assert error < 0.05 * wrong
    one = rd.identify_recordings(prior, runs[0], settings)
    assert np.nanmean(found.base.half_width) < np.nanmean(one.base.half_width)
    with pytest.raises(rd.ArgumentError, match="efforts"):
        rd.identify_recordings(prior, [runs[0], dataclasses.replace(runs[1], effort=None)])


def test_a_head_line_without_a_time_is_shown(tmp_path):
    """A comment before the head, say."""
    path = tmp_path / "run.csv"
    path.write_text("# recorded on a Friday\nt,shoulder,elbow\n0,0,0\n")
    with pytest.raises(
        rd.ArgumentError,
        match=r"no column holds the time.*the head line has: # recorded on a Friday",
    ):
        read_csv(path, rd.load_robot("two_link"))
