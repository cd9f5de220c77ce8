"""Arrival, integral, blending and limits: every step of the cycle that changes or drops something,
provoked.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cycle_steps import limited, put

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.cycle.arrival import arrive
from robot_dynamics_ros.control.cycle.law import blend, integrate, take_integral_gain
from robot_dynamics_ros.control.cycle.limits import (
    LIMITS,
    Guards,
    allowed_speed,
    limit,
    motion_bound,
)
from robot_dynamics_ros.control.cycle.memory import HOLD, SAFE
from robot_dynamics_ros.control.cycle.verdicts import Verdict


@pytest.fixture(scope="module")
def arm():
    # 60 and 25 N m, 6 and 8 rad/s, ± 3.14 and ± 2.8 rad
    return rd.load_robot("two_link")


def test_the_smaller_effort_limit_counts_and_is_derated(arm):
    for settings, expected in (
        (rd.GuardSettings(), [60, 25]),
        (rd.GuardSettings(effort_limit=[40, 100]), [40, 25]),
        (rd.GuardSettings(effort_limit=30.0, effort_scale=0.5), [15, 12.5]),
    ):
        p = limited(arm, settings)
        np.testing.assert_allclose(p.effort_limit, expected)


def test_limits_of_motion_are_narrowed_for_the_joints_that_are_commanded(arm):
    settings = rd.GuardSettings(velocity_scale=0.5, position_margin=10.0, zone_rate=4.0)
    p = limited(arm, settings, idle=np.array([0]))
    # half of 8 rad/s
    np.testing.assert_allclose(p.velocity_limit, [np.inf, 4.0])
    # from 3 and 4 rad/s to rest in 0.25 s
    np.testing.assert_allclose(p.deceleration, [12.0, 16.0])
    np.testing.assert_allclose([p.lower, p.upper], [[-np.inf, -2.8], [np.inf, 2.8]])
    # a quarter of the range, where there is one
    np.testing.assert_allclose(p.margin, [10.0, 1.4])
    np.testing.assert_allclose(p.creep, [0.4, 0.056])
    p = limited(arm, rd.GuardSettings(max_deceleration=[3.0, 7.0]))
    np.testing.assert_allclose(p.deceleration, [3.0, 7.0])


def test_effort_is_limited_by_rate_and_size_and_counted(arm):
    p = limited(arm, rd.GuardSettings(effort_rate=[1000.0, np.inf]))
    put(p, effort=[50.0, 99.0], dt=[0.001])
    assert limit(p) == Verdict.DONE
    np.testing.assert_allclose(p.effort, [1.0, 25.0])
    assert dict(zip(LIMITS, p.hits, strict=True)) == {
        "position_zone": 0,
        "velocity_limit": 0,
        "effort_rate": 1,
        "effort_limit": 1,
    }
    assert list(p.saturated) == [1, 1] and p.cut[0]
    put(p, effort=[-1.5, -30.0], previous=[-1.0, 0.0])
    assert limit(p) == Verdict.DONE
    np.testing.assert_allclose(p.effort, [-1.5, -25.0])
    assert list(p.saturated) == [0, -1]
    put(p, effort=[0.0, 0.0])
    assert limit(p) == Verdict.DONE and not p.cut[0] and list(p.saturated) == [0, 0]


def test_a_fresh_start_has_no_rate(arm):
    p = limited(arm, rd.GuardSettings(effort_rate=1.0))
    put(p, effort=[50.0, 20.0], dt=[0.0], fresh=[1])
    assert limit(p) == Verdict.DONE
    np.testing.assert_array_equal(p.effort, [50.0, 20.0])


@pytest.mark.parametrize(
    "effort", [[np.nan, 0.0], [0.0, np.inf], [-np.inf, np.inf], [1e300, 1e300]]
)
def test_an_effort_that_is_not_finite_is_a_verdict(arm, effort):
    p = limited(arm)
    assert limit(put(p, effort=effort)) == Verdict.EFFORT_NOT_FINITE


def test_the_allowed_velocity_shrinks_in_the_zone_and_turns_back_beyond(arm):
    p = limited(arm)
    put(
        p, velocity_limit=[2.0, 2.0], margin=[0.05, 0.05], zone_rate=[10.0], deceleration=[8.0, 8.0]
    )
    for q, low, high in (
        (0.0, -2, 2),
        (0.96, -2, 0.4),
        (1.0, -2, 0.0),
        (1.1, -2, -1.0),
        (-0.98, -0.2, 2),
        (-9, 2, 2),
        (0.95, -2, 0.5),
        (0.85, -2, np.sqrt(0.25 + 2 * 8 * 0.1)),
        (0.5, -2, 2),
    ):
        slowest = -allowed_speed(p, 0, q + 1.0)
        fastest = allowed_speed(p, 0, 1.0 - q)
        np.testing.assert_allclose([slowest, fastest], [low, high], atol=1e-12)


@given(st.floats(-3, 3), st.floats(0.1, 5))
def test_motion_bounds_let_gravity_be_held_and_brake_an_excess(v, inertia):
    p = limited(rd.load_robot("two_link"))
    put(p, inertia=[[inertia, 0.0], [0.0, 1.0]], dry=[0.0, 0.0], viscous=[0.0, 0.0])
    low = -motion_bound(p, 0, -v, 1.0)
    high = motion_bound(p, 0, v, 1.0)
    assert low <= high
    if abs(v) <= 1.0:
        assert low <= 0.0 <= high
    if v > 1.0:
        assert high < 0.0
    if v < -1.0:
        assert low > 0.0


def test_limits_that_do_not_exist_bound_nothing():
    p = limited(rd.load_robot("pendulum"))
    p.effort_limit[0] = np.inf
    assert limit(put(p, q=[1e3], v=[0.0], effort=[1e3])) == Verdict.DONE
    # far below 20 rad/s × 50 / s
    assert p.effort[0] == 1e3


def test_holding_at_a_limit_is_no_violation_and_idle_joints_are_not_limited(arm):
    q = np.array([0.3, 2.8])
    v = np.zeros(2)
    bias = rd.bias_forces(arm, q, v)
    p = limited(arm)
    assert limit(put(p, q=q, v=v, effort=bias * (1 + 1e-12))) == Verdict.DONE
    assert list(p.near) == [0, 1] and not p.cut[0]
    p = limited(arm, idle=np.array([1]))
    assert limit(put(p, q=q, v=v, effort=bias + 9.0)) == Verdict.DONE
    assert not any(p.near)
    np.testing.assert_array_equal(p.effort, bias + 9.0)


def test_driving_into_a_position_limit_is_stopped(arm):
    """A law that pushes the elbow with full effort against its limit: the limits bring it to rest
    inside.
    """
    p = limited(arm)
    q = np.array([0.0, 2.0])
    v = np.zeros(2)
    dt = 1e-3
    hits = 0
    for _ in range(2000):
        assert limit(put(p, q=q, v=v, effort=[rd.bias_forces(arm, q, v)[0], 25.0])) == Verdict.DONE
        hits += p.hits[LIMITS.index("position_zone")]
        v = v + dt * rd.forward_dynamics(arm, q, v, np.array(p.effort))
        q = q + dt * v
        assert q[1] < 2.8
    assert abs(v[1]) < 0.02
    assert hits > 0


def test_a_speed_above_the_limit_is_braked(arm):
    p = limited(arm, rd.GuardSettings(velocity_scale=0.25))
    q = np.zeros(2)
    v = np.array([0.0, 1.0])
    dt = 1e-3
    top = 0.0
    hits = 0
    for _ in range(600):
        assert (
            limit(put(p, q=q, v=v, effort=rd.bias_forces(arm, q, v) + np.array([0.0, 1.0])))
            == Verdict.DONE
        )
        hits += p.hits[LIMITS.index("velocity_limit")]
        v = v + dt * rd.forward_dynamics(arm, q, v, np.array(p.effort))
        q = q + dt * v
        top = max(top, v[1])
    assert 1.9 < top < 2.1
    assert hits > 0


@pytest.mark.parametrize(
    "bad",
    [
        {"effort_limit": -1.0},
        {"effort_limit": [1.0]},
        {"effort_scale": 1.5},
        {"effort_scale": np.nan},
        {"velocity_scale": -0.1},
        {"effort_rate": "x"},
        {"position_margin": -1.0},
        {"max_deceleration": 0.0},
        {"max_deceleration": np.inf},
        {"braking_rate": np.inf},
    ],
)
def test_nonsense_settings_are_refused(arm, bad):
    with pytest.raises(rd.ArgumentError, match=next(iter(bad))):
        Guards(arm, rd.GuardSettings(**bad))


def arrivals(p, *stamps):
    """What the cycle says of states with these stamps; it takes them as they come."""
    verdicts = []
    for t in stamps:
        p.time[0] = t
        verdicts.append(arrive(p))
    return verdicts


def test_arrivals_tell_what_a_stamp_means(arm):
    p = limited(arm)
    put(p, timeout=[100], largest_jump=[np.inf])
    assert arrivals(p, 1000, 1050, 1050, 1049, 1100) == [
        Verdict.FIRST,
        Verdict.DONE,
        Verdict.STILL,
        Verdict.LATE,
        Verdict.DONE,
    ]
    assert arrivals(p, 1200) == [Verdict.DONE]
    # a gap that nobody watched
    assert arrivals(p, 1301) == [Verdict.RECOVERED]
    # a gap that the watch has seen
    p.stale[0] = 1
    assert arrivals(p, 1310, 1320) == [Verdict.RECOVERED, Verdict.DONE]
    p.mode[0] = SAFE
    assert arrivals(p, 1330) == [Verdict.RESUMED]
    p.mode[0] = HOLD
    assert arrivals(p, 500, 550) == [Verdict.BACKWARDS, Verdict.DONE]
    put(p, arrived=[[0.0, np.nan], [0.0, 0.0]])
    assert arrivals(p, 560) == [Verdict.NOT_FINITE]
    put(p, arrived=[[0.0, 0.0], [np.inf, 0.0]])
    assert arrivals(p, 560) == [Verdict.NOT_FINITE]


def test_a_time_out_must_be_positive(arm):
    with pytest.raises(rd.ArgumentError, match="state_timeout"):
        rd.ControllerOptions(state_timeout=0.0)


def test_the_integral_stops_at_its_clamp_and_does_not_wind_up():
    p = limited(rd.load_robot("three_link"))
    # 4 and ∞ over a gain of 2; no gain
    put(p, integrates=[1], integral_bound=[2.0, np.inf, 0.0], dt=[0.1])
    for _ in range(100):
        integrate(put(p, error=[[1.0, 1.0, 1.0]], saturated=[0.0, 1.0, 0.0]))
    np.testing.assert_allclose(p.z, [2.0, 0.0, 0.0])
    integrate(put(p, error=[[-1.0, -1.0, 0.0]], saturated=[1.0, 1.0, 0.0]))
    # unwinding is always allowed
    np.testing.assert_allclose(p.z, [1.9, -0.1, 0.0])


def test_the_integral_effort_goes_on_where_it_was_with_other_gains():
    p = limited(rd.load_robot("three_link"))
    put(p, z=[2.0, 3.0, 4.0], integral_gain=[5.0, 5.0, 5.0], integral_clamp=[np.inf, 6.0, np.inf])
    take_integral_gain(p, np.array([10.0, 2.0, 0.0]))
    np.testing.assert_array_equal(p.z, [1.0, 7.5, 0.0])
    np.testing.assert_array_equal(p.integral_bound, [np.inf, 3.0, 0.0])
    assert p.integrates[0] == 1
    take_integral_gain(p, np.zeros(3))
    assert p.integrates[0] == 0 and list(p.z) == [0.0, 0.0, 0.0]


def test_a_blend_starts_at_the_old_effort_and_ends_at_the_new():
    p = limited(rd.load_robot("pendulum"))
    put(p, blending=[1], blend_duration=[1000], previous=[3.0])
    seen = []
    for t in range(500, 1700, 100):
        blend(put(p, effort=[7.0], time=[t]))
        seen.append(p.effort[0])
    assert seen[0] == 3.0
    assert seen[5] == pytest.approx(5.0)
    assert seen[10] == seen[11] == 7.0
    assert (np.diff(seen) >= 0).all()
    assert not p.blending[0]
    blend(put(p, effort=[7.0], time=[0]))
    assert p.effort[0] == 7.0
