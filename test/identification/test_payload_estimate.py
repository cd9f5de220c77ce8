"""A payload learnt on a simulated arm whose friction is not quite known, with noise and late efforts."""

import numpy as np
import pytest

import robot_dynamics_ros as rd

LINK = "tool0"
HOME = np.array([0.2, -1.2, 1.4, -0.6, 0.9, 0.3])


def loaded(mass):
    arm = rd.load_robot("six_axis")
    r = 0.05
    payload = rd.Payload(LINK, mass, np.array([0.02, -0.03, 0.07]), 0.4 * mass * r**2 * np.diag([1.0, 1.2, 0.9]))
    return arm, payload, rd.carrying(arm, payload)


@pytest.mark.parametrize(("mass", "seed"), [(1.0, 1), (5.0, 2)])
def test_mass_within_two_percent_and_centre_within_five_millimetres(mass, seed):
    arm, payload, truth = loaded(mass)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-0.1, 0.1], (2, arm.nv))
    friction = rd.JointFriction(viscous=arm.damping * (1 + signs[0]), coulomb=arm.friction * (1 + signs[1]))
    motion = rd.payload_motion(arm, LINK, HOME, span=0.6)
    assert 2 * motion.period <= 30.0
    law = rd.bind(arm, rd.ComputedTorque(kp=400.0, kd=40.0, friction=rd.Friction.of(arm)))

    def control(t, q, v):
        return law(q, v, motion.at(t), motion.at(t, 1), motion.at(t, 2)).copy()

    run = rd.simulate(
        truth, control, q0=HOME, duration=2 * motion.period, dt=1e-3, friction=friction, stops=None,
        integrator="semi_implicit_euler",
    )  # fmt: skip
    n = len(run.t) - 1
    q = run.q[:n] + 1e-5 * rng.standard_normal((n, arm.nv))
    effort = run.tau[:n] + 0.005 * arm.effort_limit * rng.standard_normal((n, arm.nv))
    late = np.concatenate([effort[:1], effort[:-1]])  # 1 ms
    found = rd.estimate_payload(arm, LINK, run.t[:n], q, late)
    print(found, found.delay)
    assert found.payload.mass == pytest.approx(mass, rel=0.02)
    np.testing.assert_allclose(found.payload.com, payload.com, atol=5e-3)
    assert abs(found.payload.mass - mass) < 4 * found.mass_error


def test_lost_messages_that_leave_single_samples_between_gaps_do_no_harm():
    arm, payload, truth = loaded(3.0)
    motion = rd.payload_motion(arm, LINK, HOME, span=0.6, duration=12.0, tries=5)
    t = np.arange(0.0, 2 * motion.period, 0.004)
    q, v, a = (motion.at(t, k) for k in range(3))
    friction = rd.Friction.of(arm)
    effort = rd.inverse_dynamics(truth, q, v, a) + np.array([friction.effort(row) for row in v])
    lost = np.zeros(len(t), dtype=bool)
    lost[1:40] = lost[41:80] = lost[500:530] = lost[532:560] = lost[-40:-1] = True
    found = rd.estimate_payload(arm, LINK, t[~lost], q[~lost], effort[~lost])
    assert found.payload.mass == pytest.approx(3.0, rel=0.02)
    np.testing.assert_allclose(found.payload.com, payload.com, atol=5e-3)
    with pytest.raises(rd.RobotDynamicsError, match="stretch without gaps"):
        rd.estimate_payload(arm, LINK, np.cumsum(np.tile([0.001] * 7 + [1.0], 10)), q[:80], effort[:80])


def test_the_motion_stays_within_bounds_and_ends_where_it_began():
    arm = rd.load_robot("six_axis")
    lower, upper = HOME - 0.2, HOME + 0.1
    motion = rd.payload_motion(arm, LINK, HOME, span=0.6, scale=0.2, lower=lower, upper=upper, tries=5)
    t = np.linspace(0.0, 2 * motion.period, 5000)
    q, v = motion.at(t), motion.at(t, 1)
    assert (q >= lower).all() and (q <= upper).all()
    assert (np.abs(v) <= 0.2 * arm.velocity_limit).all()
    np.testing.assert_allclose(q[[0, -1]], [HOME, HOME], atol=1e-9)
    np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-9)


def test_poses_at_rest_show_mass_and_centre():
    arm, payload, truth = loaded(3.0)
    poses = HOME + np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1.5, 0, 0], [0, 0, 0, 0, 1.5, 0], [0, 0, 0, 0.7, 1.2, 1.5]])
    effort = rd.gravity_forces(truth, poses)
    found = rd.estimate_payload_at_rest(arm, LINK, poses, effort)
    assert found.payload.mass == pytest.approx(3.0, rel=0.01)
    np.testing.assert_allclose(found.payload.com, payload.com, atol=2e-3)
    assert not found.inertia_seen
    held = effort + arm.friction * np.array([[1.0], [-1.0], [1.0], [-1.0]])
    worse = rd.estimate_payload_at_rest(arm, LINK, poses, held)
    assert abs(worse.payload.mass - 3.0) < 3 * worse.mass_error


def test_no_payload_and_a_link_that_does_not_move_are_said_so():
    arm = rd.load_robot("six_axis")
    with pytest.raises(rd.ArgumentError, match="no payload shows"):
        rd.estimate_payload_at_rest(arm, LINK, HOME, rd.gravity_forces(arm, HOME))
    with pytest.raises(rd.ArgumentError, match="does not move"):
        rd.payload_motion(arm, "base_link", HOME)
    with pytest.raises(rd.ArgumentError, match="stands at"):
        rd.payload_motion(arm, LINK, HOME + 100.0)
