"""Pacing against a clock that the test owns."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.simulation import RealTimePacer
from robot_dynamics_ros.simulation.pacing import StampOrigin

MS = 1_000_000


def run_until(pacer, now, end, late=lambda now: 0):
    """Sleep as told, wake as late as ``late`` says, until ``end``."""
    while now < end:
        due = pacer.poll(now)
        now += max(1, due.wait_ns or 0) + late(now)
    pacer.poll(end)
    return now


def test_no_drift_over_an_hour_of_late_wake_ups():
    pacer = RealTimePacer(0.01)
    pacer.start(0)
    run_until(pacer, 0, 3600 * 1000 * MS, late=lambda now: 600_000 + now % 70_001)
    assert pacer.steps == 360_000
    assert pacer.lost_ns == 0


@pytest.mark.parametrize(
    ("period", "factor"), [(0.001, 1.0), (1 / 3, 1.0), (0.007, 0.3), (0.0005, 2.5)]
)
def test_step_n_is_due_at_n_periods(period, factor):
    pacer = RealTimePacer(period, real_time_factor=factor, max_catch_up=1e6, max_burst=10**9)
    pacer.start(12345)
    for seconds in (1, 10, 1000):
        pacer.poll(12345 + seconds * 1000 * MS)
        assert pacer.steps == pytest.approx(seconds * factor / period, abs=1.0)


def test_waits_exactly_until_the_next_step():
    pacer = RealTimePacer(0.001)
    pacer.start(0)
    assert pacer.poll(0).steps == 0
    assert pacer.poll(0).wait_ns == MS
    assert pacer.poll(400_000).wait_ns == 600_000
    due = pacer.poll(1_100_000)
    assert (due.steps, due.wait_ns) == (1, 900_000)


def test_short_delays_are_made_up_for_long_ones_given_up():
    pacer = RealTimePacer(0.001, max_catch_up=0.05, max_burst=100)
    pacer.start(0)
    assert pacer.poll(30 * MS).steps == 30
    assert pacer.late_steps == 29
    assert pacer.lost_ns == 0
    assert pacer.poll(1030 * MS).steps == 50
    assert pacer.lost_ns == 950 * MS
    assert pacer.poll(1031 * MS).steps == 1


def test_bursts_are_limited():
    pacer = RealTimePacer(0.001, max_burst=20)
    pacer.start(0)
    due = pacer.poll(50 * MS)
    assert (due.steps, due.wait_ns) == (20, 0)
    assert pacer.poll(50 * MS).steps == 20
    due = pacer.poll(50 * MS)
    assert (due.steps, due.wait_ns) == (10, MS)


def test_pause_and_single_steps():
    pacer = RealTimePacer(0.001)
    pacer.start(0)
    assert pacer.poll(5 * MS).steps == 5
    pacer.pause(5_300_000)
    assert pacer.paused
    assert pacer.poll(900 * MS).wait_ns is None
    pacer.single_step(3)
    assert pacer.poll(901 * MS).steps == 3
    assert pacer.poll(902 * MS).steps == 0
    pacer.resume(1_000_300_000)
    assert pacer.poll(1_000_300_000).steps == 0
    # 0.3 ms of the period had passed before the pause
    assert pacer.poll(1_001_000_000).steps == 1
    assert pacer.steps == 9


def test_as_fast_as_possible():
    pacer = RealTimePacer(0.001, real_time_factor=float("inf"))
    pacer.start(0)
    assert [pacer.poll(0) for _ in range(3)] == [type(pacer.poll(0))(1, 0)] * 3
    pacer.pause(0)
    assert pacer.poll(0).steps == 0


@pytest.mark.parametrize("jump", [-500, -3, 4000])
def test_a_clock_that_jumps_stops_nothing(jump):
    pacer = RealTimePacer(0.001)
    pacer.start(10_000 * MS)
    pacer.poll(10_100 * MS)
    pacer.poll(10_200 * MS)
    before = pacer.steps
    now = 10_200 * MS + jump * MS
    steps = sum(pacer.poll(now + k * 200_000).steps for k in range(100))
    assert 18 <= steps <= 20 + 101
    assert pacer.steps == before + steps


@given(
    st.lists(st.integers(1, 300 * MS), min_size=1, max_size=60),
    st.sampled_from([0.001, 0.004, 1 / 120]),
)
@settings(max_examples=100, deadline=None)
def test_never_ahead_and_never_further_behind_than_allowed(waits, period):
    pacer = RealTimePacer(period, max_catch_up=0.05, max_burst=10**6)
    pacer.start(0)
    now = 0
    for wait in waits:
        now += wait
        due = pacer.poll(now)
        simulated = pacer.steps * period * 1e9
        assert simulated <= now + 1
        assert simulated + pacer.lost_ns >= now - period * 1e9 - 2
        assert due.steps <= 0.05 / period + 1


@pytest.mark.parametrize(
    "options",
    [
        {"period": 0.0},
        {"period": -1.0},
        {"period": float("nan")},
        {"period": 0.1, "real_time_factor": 0.0},
        {"period": 0.1, "max_catch_up": -1.0},
        {"period": 0.1, "max_burst": 0},
    ],
)
def test_wrong_settings_are_refused(options):
    with pytest.raises(ArgumentError):
        RealTimePacer(**options)


def test_lag_is_what_is_still_to_be_made_up_for():
    """So that stamps neither jump to the present and back nor stay behind: they grow with the
    steps.
    """
    pacer = RealTimePacer(0.002, max_catch_up=0.1, max_burst=20)
    pacer.start(0)
    assert pacer.lag(1_000_000) == 1_000_000
    stamps = []
    steps = 0
    now = 70_000_000
    for _ in range(4):
        steps += pacer.poll(now).steps
        stamps.append(now - pacer.lag(now))
        assert stamps[-1] == steps * 2_000_000
        now += 100_000
    assert steps == 35
    pacer.poll(now + 10_000_000_000)
    assert pacer.lag(now + 10_000_000_000) <= 100_000_000
    pacer.pause(now + 10_000_000_000)
    assert pacer.lag(now + 20_000_000_000) == 0


def test_stamps_do_not_go_back_when_the_process_stands_still_between_two_clocks():
    """Whatever moment it stands still in, and for how long; a clock that is set is followed."""
    pacer = RealTimePacer(0.002, max_catch_up=0.1, max_burst=20)
    origin = StampOrigin()
    rng = random.Random(3)
    now = 0
    offset = 1_700_000_000_000_000_000
    steps = 0
    stamps = []

    def steady() -> int:
        nonlocal now
        # the process stood still before it read
        now += 100 if rng.random() < 0.9 else rng.randrange(400_000_000)
        return now

    def clock() -> int:
        return steady() + offset

    pacer.start(now)
    for cycle in range(3000):
        now += 2_000_000
        steps += pacer.poll(steady()).steps
        if cycle == 1500:
            offset -= 3_600_000_000_000
            before = stamps
            stamps = []
            assert before == sorted(before)
        stamp = steps * 2_000_000 + origin.follow(steps * 2_000_000, pacer, steady, clock)
        if cycle < 1500 or abs(stamp - now - offset) < 1_000_000_000:
            stamps.append(stamp)
    assert stamps == sorted(stamps) and len(stamps) > 1000
