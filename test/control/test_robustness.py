"""Closed loops that are not perfect: slow cycles, late efforts, wrong masses, noise."""

from collections import deque

import numpy as np
import pytest
from support.closed_loop import mid, sampled

import robot_dynamics_ros as rd

ARM = rd.load_robot("seven_axis")
HOME = mid(ARM)


def track(law, model=ARM, plant=None, period=1_000_000, delay=0, noise=0.0, seed=0, duration=1.5):
    """Largest error on the way and error at the end of a one-second move, and the counts."""
    plant = plant or model
    rng = np.random.default_rng(seed)
    control = rd.JointController(model, law)
    waiting = deque([rd.gravity_forces(model, HOME)] * delay)
    worst = 0.0

    def step(t, q, v):
        measured = q + noise * rng.standard_normal(7), v + 10 * noise * rng.standard_normal(7)
        if control.mode is rd.Mode.INACTIVE:
            control.activate(t, *measured)
            control.accept_trajectory(rd.plan_move(model, measured[0], HOME + 0.3, duration=1.0), t)
        waiting.append(control.update(t, *measured).copy())
        return waiting.popleft()

    for _t, q, _v, _ in sampled(
        plant, step, HOME, np.zeros(7), int(duration * 1e9 / period), period=period
    ):
        worst = max(worst, float(np.abs(q - control.reference[0]).max()))
    return worst, float(np.abs(q - HOME - 0.3).max()), control.counts


@pytest.mark.parametrize(
    "period", [5_000_000, 2_000_000, 1_000_000], ids=["200 Hz", "500 Hz", "1 kHz"]
)
def test_computed_torque_is_stable_at_usual_rates(period):
    worst, end, counts = track(rd.ComputedTorque(kp=400.0, kd=40.0), period=period)
    assert worst < 2e-2 and end < 1e-3
    assert not counts


@pytest.mark.parametrize(("period", "delay"), [(1_000_000, 1), (1_000_000, 5), (5_000_000, 1)])
def test_it_bears_efforts_that_come_late(period, delay):
    worst, end, _ = track(rd.ComputedTorque(kp=100.0, kd=20.0), period=period, delay=delay)
    assert worst < 5e-2 and end < 5e-3


@pytest.mark.parametrize(("wrong", "bound"), [(0.0, 1e-3), (0.1, 0.02), (0.3, 0.06)])
def test_wrong_masses_cost_accuracy_not_stability(wrong, bound):
    worst, _, _ = track(rd.ComputedTorque(kp=400.0, kd=40.0), plant=heavier(ARM, 1.0 + wrong))
    assert worst < bound


def test_an_integral_removes_what_wrong_masses_leave():
    plant = heavier(ARM, 1.1)
    _, without, _ = track(rd.ComputedTorque(kp=400.0, kd=40.0), plant=plant, duration=3.0)
    _, with_, _ = track(rd.ComputedTorque(kp=400.0, kd=40.0, ki=1500.0), plant=plant, duration=3.0)
    assert with_ < 0.05 * without


def test_noise_is_not_amplified_beyond_its_gains():
    worst, _, counts = track(rd.ComputedTorque(kp=400.0, kd=40.0), noise=1e-4)
    assert worst < 2e-3
    assert not counts


def heavier(model, factor):
    """The same robot with all masses and inertias larger."""
    import dataclasses

    links = tuple(
        dataclasses.replace(
            link,
            inertia=dataclasses.replace(
                link.inertia,
                mass=link.inertia.mass * factor,
                rotational=link.inertia.rotational * factor,
            ),
        )
        for link in model.description.links
    )
    return model.replace(description=dataclasses.replace(model.description, links=links))
