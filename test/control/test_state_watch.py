"""States that are too rare, velocities of the wrong sign, and speeds far above the limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.state_watch import NANOSECONDS, StateWatch, gain_scale
from robot_dynamics_ros.errors import ArgumentError

KP, KD, LIMIT = 100.0, 20.0, 2.0


def watch(n: int = 1) -> StateWatch:
    return StateWatch([f"joint{k}" for k in range(n)], np.full(n, LIMIT), np.full(n, KD), np.full(n, KP))


def spectral_radius(period: float, scale: float) -> float:
    """Of one period of a double integrator under a held effort, by the exact matrix exponential."""
    block = np.zeros((3, 3))
    block[0, 1] = block[1, 2] = 1.0
    step = expm(block * period)
    return float(np.abs(np.linalg.eigvals(step[:2, :2] - step[:2, 2:] @ [[scale**2 * KP, scale * KD]])).max())


@pytest.mark.parametrize("period", [0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 2.0])
def test_with_the_lowered_gains_a_sampled_joint_is_stable_and_damped(period):
    scale = gain_scale(period, KD, KP)
    assert spectral_radius(period, scale) < 1.0
    assert scale == 1.0 or spectral_radius(period, scale) < 0.8  # an error is halved within a few states
    if period * KD > 2.0:
        assert spectral_radius(period, 1.0) > 1.0


def test_gains_fall_with_the_first_late_state_and_return_within_a_second():
    w, t = watch(), 0
    for _ in range(100):
        t += NANOSECONDS // 500
        assert w.update(t, np.zeros(1), np.zeros(1)) and w.scale == 1.0
    t += NANOSECONDS // 10
    w.update(t, np.zeros(1), np.zeros(1))
    assert w.scale == pytest.approx(0.5)
    scales = []
    for _ in range(500):
        t += NANOSECONDS // 500
        w.update(t, np.zeros(1), np.zeros(1))
        scales.append(w.scale)
    assert np.all(np.diff(scales) >= 0.0) and scales[100] < 0.8 and scales[-1] == 1.0


def closed_loop(rate: float, sign: float = 1.0, seconds: float = 3.0, guarded: bool = True, kick: float = 0.3):
    """A joint of unit inertia held by the law; the largest speed, and the watch."""
    w, period, x, v, fastest = watch(), 1.0 / rate, kick, 0.0, 0.0
    for k in range(int(seconds * rate)):
        good = w.update(round((k + 1) * period * NANOSECONDS), np.array([x]), np.array([sign * v]))
        scale = w.scale if guarded else 1.0
        u = -(scale**2) * KP * x - scale * KD * sign * v
        if guarded and not good:  # the safe command, and brakes
            return fastest, w
        x, v = x + period * v + 0.5 * period**2 * u, v + period * u
        fastest = max(fastest, abs(v))
        if fastest > 1e6:
            break
    return fastest, w


@pytest.mark.parametrize("rate", [500.0, 100.0, 20.0, 10.0, 5.0])
def test_at_any_rate_the_joint_comes_to_rest_below_the_limit(rate):
    fastest, w = closed_loop(rate, kick=0.1)
    assert fastest < 1.5 * LIMIT and not w.cause
    if rate < 10.0:
        assert closed_loop(rate, guarded=False, kick=0.1, seconds=30.0)[0] > 100.0


@pytest.mark.parametrize("rate", [1000.0, 250.0, 100.0])
def test_reversed_velocities_are_a_fault_before_the_joint_is_fast(rate):
    assert closed_loop(rate, sign=-1.0, guarded=False)[0] > 100.0
    fastest, w = closed_loop(rate, sign=-1.0, kick=0.01)
    assert w.cause == "velocity_sign" and "joint0" in w.reason and fastest < LIMIT


@pytest.mark.parametrize("rate", [1000.0, 100.0, 20.0])
def test_good_states_are_no_fault_whatever_the_sensors(rate):
    """Noise, quantization, a low-pass filter on velocities, turns of a continuous joint."""
    rng = np.random.default_rng(0)
    w, filtered, share = watch(3), np.zeros(3), 1.0 - np.exp(-30.0 / rate)
    t = np.arange(int(20 * rate)) / rate
    for k, time in enumerate(t):
        phase = np.array([1.0, 2.0, 3.0]) * time
        q, v = np.sin(phase), np.array([1.0, 2.0, 3.0]) * np.cos(phase) * (0.3 if k % 7 else 0.31)
        v = v / 0.3
        filtered += share * (v - filtered)
        measured = np.round((q + 1e-4 * rng.standard_normal(3)) / 1e-3) * 1e-3
        if k > len(t) // 2:
            measured[0] += 2.0 * np.pi
        assert w.update(round((time + 1.0) * NANOSECONDS), measured, 0.5 * filtered, commanded=False), w.reason


def test_a_still_joint_with_noisy_velocities_is_no_fault():
    rng = np.random.default_rng(1)
    w = watch(2)
    for k in range(20_000):
        q = 1e-3 * rng.integers(-1, 2, 2)
        assert w.update((k + 1) * 2_000_000, q, 0.1 * rng.standard_normal(2)), w.reason


def test_a_speed_far_above_the_limit_is_a_fault_under_the_own_command_only():
    w = watch()
    fast = np.array([1.6 * LIMIT])
    for k in range(10):
        assert w.update((k + 1) * 2_000_000, 0.002 * k * fast, fast, commanded=False)
    assert w.update(22_000_000, 0.002 * 10 * fast, fast) and w.update(24_000_000, 0.002 * 11 * fast, fast)
    assert not w.update(26_000_000, 0.002 * 12 * fast, fast) and w.cause == "too_fast" and "1.5" in w.reason
    assert not w.update(28_000_000, 0.002 * 12 * fast, 0.0 * fast)  # until it is reset
    w.reset()
    assert w.update(30_000_000, fast, 0.0 * fast)


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="kd"):
        StateWatch(["a"], [1.0], [-1.0], [1.0])
    with pytest.raises(ArgumentError, match="velocity_limit"):
        StateWatch(["a"], [1.0, 2.0], [1.0], [1.0])
    model = rd.load_robot("six_axis")
    assert StateWatch(model.joint_names, model.velocity_limit, np.full(6, KD), np.full(6, KP)).scale == 1.0
