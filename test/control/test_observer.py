"""The observer against pushes that are known: size, delay, silence without a push."""

import numpy as np
import pytest
from support.closed_loop import mid, sampled

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.kernels import Kernels

START = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("seven_axis")


def observed(arm, push, steps, gain=50.0, move=0.4, friction=None, **kwargs):
    """Yield (s, q, estimate) of an arm on the move, pushed at the flange."""
    observer = rd.MomentumObserver(arm, gain, friction)
    law = rd.ComputedTorque(kp=400.0, kd=40.0, friction=friction)
    control = rd.JointController(arm, law, observer=observer, **kwargs)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    control.accept_trajectory(rd.plan_move(arm, q0, q0 + move, duration=0.8), START)
    friction_effort = friction.effort if friction is not None else None
    last = np.zeros(7)

    def step(t, q, v):
        last[:] = control.update(t, q, v, last.copy())
        return last

    for t, q, _v, _ in sampled(
        arm, step, q0, np.zeros(7), steps, external=push, friction=friction_effort
    ):
        yield (t - START) * 1e-9, q, observer.effort.copy(), control


def test_without_a_push_the_estimate_stays_silent_on_the_move(arm):
    friction = rd.Friction.of(arm, viscous=0.5, coulomb=0.5, smoothing=0.1)
    worst = max(np.abs(r).max() for _, _, r, _ in observed(arm, None, 1200, friction=friction))
    assert worst < 0.05


def by_the_book(p, known, friction, gain, v, tau, dt, state):
    """The observer in NumPy: ``state`` is (estimate, integral, known effort before) or ``None`` at
    first.
    """
    known = known - friction.effort(v)
    if state is None:
        return np.zeros_like(p), p, known
    _, total, before = state
    total = total + dt * (tau + 0.5 * (known + before))
    estimate = gain * (p - total) / (1.0 + gain * dt)
    return estimate, total + dt * estimate, known


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("offset", [None, [0.1, -0.2, 0.3, 0.0, 0.0, 0.5, 0.0]])
@pytest.mark.parametrize("coupled", [False, True])
def test_the_estimate_is_the_formula(arm, backend, offset, coupled):
    if backend not in rd.available_backends():
        pytest.skip("llvmlite is not installed")
    model = arm.with_backend(backend)
    rng = np.random.default_rng(2)
    coulomb = np.array([0.5, 0.0, 0.3, 1.0, 0.2, 0.0, 0.1])
    motor = {"coupled_coulomb": 0.7, "coupled_viscous": 0.3, "coupled_width": 0.05}
    last = [{}, {}, {}, {}, {}, {"coupled_after": -1.0, **motor}, {"coupled_before": 1.0, **motor}]
    friction = rd.Friction.of(
        model,
        viscous=0.4,
        coulomb=coulomb,
        breakaway=coulomb + 0.2,
        offset=offset,
        coupling=last if coupled else (),
    )
    gain = rng.uniform(20.0, 90.0, 7)
    observer = rd.MomentumObserver(model, gain, friction)
    kernels = Kernels(model)
    state = None
    for k in range(60):
        q, v, tau = rng.normal(size=(3, 7))
        dt = [0.001, 0.002, 0.0][k % 3]
        p = np.empty(7)
        known = np.empty(7)
        kernels.generalized_momentum(q, v, p, known)
        if state is None or dt > 0.0:
            state = by_the_book(p, known, friction, gain, v, tau, dt, state)
        else:
            state = (*state[:2], known - friction.effort(v))
        np.testing.assert_allclose(
            observer.update(kernels, q, v, tau, dt), state[0], rtol=1e-9, atol=1e-9
        )
    observer.reset()
    assert not observer.effort.any()
    observer.friction = None
    np.testing.assert_array_equal(observer.update(kernels, q, v, tau, 0.001), 0.0)


def test_a_constant_push_is_found_with_the_delay_of_a_low_pass(arm):
    wrench = np.array([0.4, -0.3, 0.2, 12.0, -7.0, 9.0])
    gain = 40.0
    for x, q, r, _ in observed(arm, {"flange": wrench}, 1200, gain=gain, move=0.05):
        J = rd.jacobian(arm, q, "flange")
        R = rd.link_pose(arm, q, "flange")[:3, :3]
        true = J.T @ np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        np.testing.assert_allclose(
            r, true * (1.0 - np.exp(-gain * x)), atol=0.06 * np.abs(true).max()
        )
    np.testing.assert_allclose(r, true, atol=2e-3 * np.abs(true).max())
    found, left = rd.contact_wrench(arm, q, "flange", r)
    np.testing.assert_allclose(found, wrench, atol=0.15)
    assert left < 0.1


def test_a_pure_force_is_found_with_three_joints():
    arm = rd.load_robot("three_link")
    q = np.array([0.3, 0.5, -0.9])
    force = np.array([3.0, -4.0, 5.0])
    J = rd.jacobian(arm, q, "tool0")
    R = rd.link_pose(arm, q, "tool0")[:3, :3]
    found, left = rd.contact_wrench(arm, q, "tool0", J[3:].T @ R @ force, force_only=True)
    np.testing.assert_allclose(found, [0, 0, 0, *force], atol=1e-9)
    assert left < 1e-9


def test_what_cannot_be_felt_is_returned_as_zero_and_nothing_explodes():
    arm = rd.load_robot("two_link")
    for elbow in (0.0, 1e-9, 1e-5, 1e-3):
        found, _ = rd.contact_wrench(
            arm, np.array([0.0, elbow]), "tip", np.array([1.0, 1.0]), force_only=True
        )
        assert np.abs(found).max() < 100.0
    # stretched, the arm feels forces across it alone: least squares along that one direction
    J = rd.jacobian(arm, [0.0, 0.0], "tip")[3:]
    across = J @ np.array([1.0, 1.0])
    across /= np.linalg.norm(across)
    lever = J.T @ across
    found, left = rd.contact_wrench(arm, np.zeros(2), "tip", np.array([1.0, 1.0]), force_only=True)
    force = lever.sum() / (lever @ lever)
    R = rd.link_pose(arm, np.zeros(2), "tip")[:3, :3]
    np.testing.assert_allclose(R @ found[3:], force * across, atol=1e-9)
    np.testing.assert_allclose(left, np.linalg.norm(1.0 - force * lever), atol=1e-9)


def test_a_collision_raises_the_flag_and_the_arm_gives_way_or_holds(arm):
    for reaction, mode in (
        ("hold", rd.Mode.HOLD),
        ("gravity", rd.Mode.FREE),
        ("none", rd.Mode.TRAJECTORY),
    ):
        flagged = None
        for x, _, _, control in observed(
            arm,
            {"flange": np.array([0, 0, 0, 0, 0, -60.0])},
            600,
            collision=rd.CollisionMonitor(arm, 8.0),
            options=rd.ControllerOptions(collision_reaction=reaction),
        ):
            if control.collision.flag and flagged is None:
                flagged = x
        assert flagged is not None and flagged < 0.1
        assert control.counts["collision"] >= 1
        assert control.mode is mode


def test_the_flag_waits_its_delay_and_falls_at_half_the_threshold(arm):
    flag = rd.CollisionMonitor(arm, 10.0, delay=0.01)
    one = np.eye(7)[2]
    assert not any(flag.update(11.0 * one, 0.002) for _ in range(4))
    assert flag.update(-11.0 * one, 0.002) and flag.flag and flag.joint == 2
    assert not flag.update(6.0 * one, 0.002) and flag.flag
    assert not flag.update(4.0 * one, 0.002) and not flag.flag
    flag.update(11.0 * one, 0.009)
    flag.update(0.0 * one, 0.001)
    assert not flag.update(11.0 * one, 0.009)


def test_the_estimate_goes_on_when_the_payload_changes(arm):
    observer = rd.MomentumObserver(arm)
    kernels = Kernels(arm)
    q = mid(arm)
    v = np.full(7, 0.3)
    loaded = Kernels(rd.carrying(arm, rd.Payload("flange", 3.0)))
    observer.update(kernels, q, v, np.zeros(7), 0.0)
    observer.effort[:] = 5.0
    observer.rebase()
    np.testing.assert_array_equal(observer.update(loaded, q, v, np.zeros(7), 0.001), 5.0)
    tau = rd.bias_forces(loaded.model, q, v)
    np.testing.assert_allclose(observer.update(loaded, q, v, tau, 1e-9), 5.0, atol=1e-5)


@pytest.mark.parametrize("gain", [0.0, -1.0, np.inf, np.nan, [1.0, 2.0], "high"])
def test_nonsense_gains_are_refused(arm, gain):
    with pytest.raises(rd.ArgumentError, match="observer gain"):
        rd.MomentumObserver(arm, gain)
