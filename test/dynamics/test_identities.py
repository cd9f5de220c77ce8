"""What must hold of any robot, held on random ones: rotated full inertias, branches, every joint type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support.random_trees import ALL_TYPES, ONE_DOF, random_model, random_state

import robot_dynamics_ros as rd

seeds = st.integers(0, 10_000)
few = settings(max_examples=25)


def draw(seed: int, **options):
    options.setdefault("types", ALL_TYPES)
    model = random_model(seed, 1 + seed % 7, **options).with_backend("numpy")
    return model, *random_state(model, seed + 1)


def scaled(x):
    return 1.0 + np.abs(x).max(initial=0.0)


@few
@given(seeds)
def test_mass_matrix_is_the_slope_of_inverse_dynamics(seed):
    model, q, v, _ = draw(seed, armature=True, mimic=0.3)
    bias = rd.bias_forces(model, q, v)
    columns = rd.inverse_dynamics(model, q, v, np.eye(model.nv)) - bias
    M = rd.mass_matrix(model, q)
    assert_allclose(columns.T, M, atol=1e-11 * (scaled(M) + scaled(bias)))
    assert_allclose(M, M.T, atol=0)
    assert np.linalg.eigvalsh(M)[0] > 0


@few
@given(seeds)
def test_forward_undoes_inverse(seed):
    model, q, v, a = draw(seed, armature=True, mimic=0.3)
    tau = rd.inverse_dynamics(model, q, v, a)
    again = rd.inverse_dynamics(model, q, v, rd.forward_dynamics(model, q, v, tau))
    assert_allclose(again, tau, atol=1e-10 * scaled(tau))


@few
@given(seeds)
def test_gravity_is_the_slope_of_potential_energy(seed):
    model, q, _, _ = draw(seed, mimic=0.3)
    h = 1e-5
    steps = h * np.eye(model.nv)
    up, down = rd.integrate(model, q, steps), rd.integrate(model, q, -steps)
    slope = (rd.potential_energy(model, up) - rd.potential_energy(model, down)) / (2 * h)
    g = rd.gravity_forces(model, q)
    assert_allclose(slope, g, atol=1e-7 * scaled(g))


@few
@given(seeds)
def test_power_is_the_rate_of_energy(seed):
    model, q, v, tau = draw(seed, armature=True, mimic=0.3)
    a = rd.forward_dynamics(model, q, v, tau)
    h = 1e-6

    def energy(t):
        at = rd.integrate(model, q, v * t + 0.5 * a * t * t)
        return rd.kinetic_energy(model, at, v + a * t) + rd.potential_energy(model, at)

    rate = (energy(h) - energy(-h)) / (2 * h)
    scale = scaled(tau) * scaled(v) * model.nv + abs(energy(0.0))
    assert rate == pytest.approx(tau @ v, abs=1e-6 * scale)


@few
@given(seeds)
def test_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(seed):
    model, q, v, _ = draw(seed, mimic=0.3)
    h = 1e-5
    rate = (
        rd.mass_matrix(model, rd.integrate(model, q, v * h)) - rd.mass_matrix(model, rd.integrate(model, q, -v * h))
    ) / (2 * h)
    C = rd.coriolis_matrix(model, q, v)
    N = rate - 2 * C
    assert_allclose(N, -N.T, atol=2e-6 * scaled(C))
    assert_allclose(
        C @ v, rd.bias_forces(model, q, v) - rd.gravity_forces(model, q), atol=1e-10 * scaled(C) * scaled(v)
    )


@few
@given(seeds)
def test_configuration_space_form_adds_up(seed):
    model, q, v, a = draw(seed, types=ONE_DOF, mimic=0.3)
    B, C = rd.configuration_space_form(model, q)
    tau = rd.mass_matrix(model, q) @ a + B @ rd.velocity_products(v) + C @ v**2 + rd.gravity_forces(model, q)
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(tau, expected, atol=1e-10 * scaled(expected))
    symbols = rd.christoffel_symbols(model, q)
    assert_allclose(symbols, np.swapaxes(symbols, -1, -2), atol=1e-10 * scaled(symbols))
    assert_allclose(symbols @ v, rd.coriolis_matrix(model, q, v), atol=1e-10 * scaled(symbols) * scaled(v))


@few
@given(seeds)
def test_jacobian_is_a_difference_quotient(seed):
    model, q, v, _ = draw(seed, mimic=0.3)
    link = model.link_names[-1]
    point = np.array([0.1, -0.2, 0.3])
    h = 1e-6

    def place(t):
        return rd.link_pose(model, rd.integrate(model, q, v * t), link)

    ahead, behind = place(h), place(-h)
    J = rd.jacobian(model, q, link, offset=point)
    twist = J @ v
    spin = (ahead[:3, :3] - behind[:3, :3]) / (2 * h) @ place(0.0)[:3, :3].T
    assert_allclose(twist[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-7 * scaled(twist))
    velocity = ((ahead - behind) @ [*point, 1.0])[:3] / (2 * h)
    assert_allclose(twist[3:], velocity, atol=1e-7 * scaled(twist))
    for axes in ("world", "link"):
        now = [
            rd.jacobian(model, rd.integrate(model, q, v * t), link, offset=point, expressed_in=axes) for t in (-h, h)
        ]
        rate = rd.jacobian_derivative(model, q, v, link, offset=point, expressed_in=axes)
        assert_allclose((now[1] - now[0]) / (2 * h), rate, atol=1e-6 * scaled(rate))


@few
@given(seeds, st.sampled_from(["rpy", "quaternion"]))
def test_analytical_jacobian_gives_rates_of_orientation(seed, representation):
    from robot_dynamics_ros.dynamics.kinematics import quaternion_of, rpy_of

    model, q, v, _ = draw(seed)
    link = model.link_names[-1]
    h = 1e-6

    def orientation(t):
        R = rd.link_pose(model, rd.integrate(model, q, v * t), link)[:3, :3]
        return rpy_of(R) if representation == "rpy" else quaternion_of(R)

    before, here, after = orientation(-h), orientation(0.0), orientation(h)
    if representation == "rpy" and abs(np.cos(here[1])) < 0.05:
        return
    if np.abs(after - before).max() > 1.0:  # the branch of the coordinates changes here
        return
    J = rd.analytical_jacobian(model, q, link, representation=representation)
    rates = (after - before) / (2 * h)
    assert_allclose((J @ v)[:-3], rates, atol=1e-6 * scaled(rates) ** 2)
    J0, J1 = (
        rd.analytical_jacobian(model, rd.integrate(model, q, v * t), link, representation=representation)
        for t in (-h, h)
    )
    rate = rd.analytical_jacobian_derivative(model, q, v, link, representation=representation)
    assert_allclose((J1 - J0) / (2 * h), rate, atol=1e-5 * scaled(rate))


@few
@given(seeds)
def test_derivatives_are_difference_quotients(seed):
    model, q, v, a = draw(seed, armature=True, mimic=0.3)
    link = model.link_names[-1]
    external = {link: np.arange(1.0, 7.0)}
    by_q, by_v = rd.inverse_dynamics_derivatives(model, q, v, a, external=external)
    h = 1e-6
    steps = h * np.eye(model.nv)

    def tau(q, v):
        return rd.inverse_dynamics(model, q, v, a, external=external)

    expected_q = (tau(rd.integrate(model, q, steps), v) - tau(rd.integrate(model, q, -steps), v)).T / (2 * h)
    expected_v = (tau(q, v + steps) - tau(q, v - steps)).T / (2 * h)
    assert_allclose(by_q, expected_q, atol=2e-7 * scaled(expected_q))
    assert_allclose(by_v, expected_v, atol=2e-7 * scaled(expected_v))


@few
@given(seeds)
def test_forward_derivatives_are_difference_quotients(seed):
    model, q, v, tau = draw(seed, types=ONE_DOF, armature=True)
    by_q, by_v, by_tau = rd.forward_dynamics_derivatives(model, q, v, tau)
    h = 1e-6
    steps = h * np.eye(model.nv)

    def a(q, v, tau):
        return rd.forward_dynamics(model, q, v, tau)

    for ours, up, down in (
        (by_q, (q + steps, v, tau), (q - steps, v, tau)),
        (by_v, (q, v + steps, tau), (q, v - steps, tau)),
        (by_tau, (q, v, tau + steps), (q, v, tau - steps)),
    ):
        expected = (a(*up) - a(*down)).T / (2 * h)
        assert_allclose(ours, expected, atol=1e-6 * scaled(expected))


@few
@given(seeds)
def test_regressor_times_parameters_is_the_effort(seed):
    model, q, v, a = draw(seed, armature=True, mimic=0.3)
    tau = rd.joint_torque_regressor(model, q, v, a) @ rd.inertial_parameters(model) + model.armature * a
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(tau, expected, atol=1e-11 * scaled(expected))
    assert len(rd.parameter_names(model)) == 10 * model.nb


@settings(max_examples=8)
@given(seeds)
def test_base_parameters_give_all_efforts(seed):
    model = random_model(seed, 3 + seed % 3).with_backend("numpy")
    base = rd.base_parameters(model)
    q, v, a = random_state(model, seed, (20,))
    Y = rd.joint_torque_regressor(model, q, v, a)
    values = base.values(rd.inertial_parameters(model))
    tau = base.regressor(Y) @ values
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(tau, expected, atol=1e-8 * scaled(expected))
    stacked = base.regressor(Y).reshape(-1, len(values))
    assert np.linalg.matrix_rank(stacked) == min(len(values), stacked.shape[0])


def test_six_axis_arm_has_as_many_base_parameters_as_the_books_say():
    """A general six-revolute arm standing upright has 36 to 40 base parameters; ours is of the UR's shape."""
    model = rd.load_robot("six_axis").with_backend("numpy")
    base = rd.base_parameters(model)
    assert 30 <= len(base.independent) <= 40 < 60


@few
@given(seeds)
def test_factors_and_inverse(seed):
    model, q, _, _ = draw(seed, mimic=0.3, armature=True)
    M = rd.mass_matrix(model, q)
    L, D = rd.mass_matrix_factors(model, q)
    assert_allclose(L.T @ np.diag(D) @ L, M, atol=1e-12 * scaled(M))
    assert_allclose(np.diag(L), 1.0)
    assert_allclose(np.triu(L, 1), 0.0)
    assert_allclose(M @ rd.mass_matrix_inverse(model, q) @ M, M, atol=1e-9 * scaled(M))


def test_factors_keep_the_zeros_of_a_branched_tree():
    model = rd.load_robot("two_arm_torso").with_backend("numpy")
    q = rd.random_configuration(model, 0)
    M = rd.mass_matrix(model, q)
    L, _ = rd.mass_matrix_factors(model, q)
    zeros = np.tril(M == 0.0)
    assert zeros.any()
    assert np.all(L[zeros] == 0.0)


@few
@given(seeds)
def test_momentum_and_centre_of_mass_belong_together(seed):
    model, q, v, a = draw(seed)
    A = rd.centroidal_momentum_matrix(model, q)
    position, velocity, acceleration = rd.center_of_mass_motion(model, q, v, a)
    momentum = rd.centroidal_momentum(model, q, v)
    assert_allclose(momentum, A @ v, atol=1e-12 * scaled(momentum))
    assert_allclose(momentum[3:], model.total_mass * velocity, atol=1e-11 * scaled(momentum))
    assert_allclose(rd.center_of_mass_jacobian(model, q) @ v, velocity, atol=1e-11 * scaled(velocity))
    assert_allclose(rd.center_of_mass(model, q), position, atol=1e-13 * scaled(position))
    h = 1e-5
    at = [rd.center_of_mass(model, rd.integrate(model, q, v * t + a * t * t / 2)) for t in (-h, 0.0, h)]
    assert_allclose((at[2] - 2 * at[1] + at[0]) / h**2, acceleration, atol=1e-4 * scaled(acceleration))


@few
@given(seeds)
def test_operational_space_inertia_inverts_mobility(seed):
    model, q, _, _ = draw(seed, types=ONE_DOF)
    link = model.link_names[-1]
    inertia = rd.operational_space_inertia(model, q, link, damping=0.1)
    J = rd.jacobian(model, q, link)
    mobility = J @ np.linalg.solve(rd.mass_matrix(model, q), J.T) + 0.01 * np.eye(6)
    assert_allclose(inertia @ mobility, np.eye(6), atol=1e-8)


@few
@given(seeds)
def test_external_wrench_acts_as_its_jacobian_says(seed):
    model, q, v, a = draw(seed, mimic=0.3)
    rng = np.random.default_rng(seed)
    link = model.link_names[int(rng.integers(len(model.link_names)))]
    wrench = rng.normal(size=6)
    J = rd.jacobian(model, q, link, expressed_in="link")
    with_it = rd.inverse_dynamics(model, q, v, a, external={link: wrench})
    without = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(without - with_it, J.T @ wrench, atol=1e-10 * scaled(without))


@few
@given(seeds)
def test_moving_base_is_a_floating_base_whose_motion_is_given(seed):
    fixed = random_model(seed, 4)
    floating = rd.load_urdf(rd.to_urdf(fixed), floating_base=True).with_backend("numpy")
    fixed = fixed.with_backend("numpy")
    q, v, a = random_state(floating, seed)
    k = floating.v_slice("root_joint").stop
    assert floating.joint_names[0] == "root_joint"
    q[:7] = rd.neutral(floating)[:7]  # the root's axes are the world's: gravity keeps its components
    w, lin = v[:3], v[3:6]
    classical = np.concatenate([a[:3], a[3:6] + np.cross(w, lin)])
    tau = rd.inverse_dynamics(fixed, q[7:], v[k:], a[k:], base=(v[:6], classical))
    expected = rd.inverse_dynamics(floating, q, v, a)[k:]
    assert_allclose(tau, expected, atol=1e-10 * scaled(expected))
    again = rd.forward_dynamics(fixed, q[7:], v[k:], tau, base=(v[:6], classical))
    assert_allclose(again, a[k:], atol=1e-6 * scaled(a))


@few
@given(seeds, st.floats(-3.0, 3.0))
def test_turning_base_and_gravity_together_changes_nothing(seed, roll):
    from robot_dynamics_ros.model.description import Pose

    model = random_model(seed, 4, types=ONE_DOF)
    pose = Pose.from_rpy([0.3, -0.2, 0.5], [roll, 0.4, -1.0])
    turned = model.replace(base=pose, gravity=pose.rotation @ model.gravity).with_backend("numpy")
    model = model.with_backend("numpy")
    q, v, a = random_state(model, seed)
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(rd.inverse_dynamics(turned, q, v, a), expected, atol=1e-11 * scaled(expected))
    link = model.link_names[-1]
    assert_allclose(rd.link_pose(turned, q, link), pose.matrix() @ rd.link_pose(model, q, link), atol=1e-12)


@pytest.mark.parametrize("masses", [(1e-6, 1e-6), (1e4, 1e4), (1e-6, 1e4)])
@pytest.mark.parametrize("seed", range(5))
def test_ill_conditioned_robots(masses, seed):
    model = random_model(seed, 8, masses=masses).with_backend("numpy")
    q, v, a = random_state(model, seed)
    tau = rd.inverse_dynamics(model, q, v, a)
    again = rd.inverse_dynamics(model, q, v, rd.forward_dynamics(model, q, v, tau))
    assert_allclose(again, tau, atol=1e-9 * np.abs(tau).max())


def test_nearly_singular_pose():
    model = rd.load_robot("six_axis").with_backend("numpy")
    q = np.array([0.0, -1.2, 1e-9, 0.0, 1e-9, 0.0])  # stretched elbow, aligned wrist
    v, a = np.ones(6), np.ones(6)
    tau = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(rd.forward_dynamics(model, q, v, tau), a, rtol=1e-9)
    with pytest.raises(rd.ArgumentError, match="cannot move in all six directions"):
        rd.operational_space_inertia(model, np.zeros(6), model.link_names[-1])


@pytest.mark.parametrize("backend", rd.available_backends())
def test_five_hundred_links(backend):
    model = rd.chain(500).with_backend(backend)
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, 500), rng.normal(size=500), rng.normal(size=500)
    tau = rd.inverse_dynamics(model, q, v, a)
    again = rd.inverse_dynamics(model, q, v, rd.forward_dynamics(model, q, v, tau))
    assert_allclose(again, tau, atol=1e-8 * np.abs(tau).max())
    if backend in ("native", "loops"):
        M = rd.mass_matrix(model, q)
        assert_allclose(M @ a + rd.bias_forces(model, q, v), tau, atol=1e-11 * np.abs(tau).max())
