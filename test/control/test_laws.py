"""The laws do what their equations promise, in closed loop with the package-independent
integration.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from support.closed_loop import continuous, mid
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.contact import damped_inverse
from robot_dynamics_ros.control.laws.base import gain, registered
from robot_dynamics_ros.control.laws.task_space import rotation_error, task_inertia


@pytest.fixture(scope="module", params=["two_link", "seven_axis", "two_arm_torso"])
def model(request):
    return rd.load_robot(request.param)


@pytest.fixture(scope="module")
def seven():
    return rd.load_robot("seven_axis")


def wave(model, t):
    """A reference that moves every joint, with its derivatives."""
    k = np.arange(model.nv)
    w = 1.0 + 0.3 * k
    return (
        mid(model) + 0.3 * np.sin(w * t + k),
        0.3 * w * np.cos(w * t + k),
        -0.3 * w * w * np.sin(w * t + k),
    )


def test_computed_torque_makes_the_error_dynamics_linear_and_decoupled(model):
    n = model.nv
    kp = np.linspace(20, 90, n)
    kd = np.linspace(6, 25, n)
    friction = rd.Friction.of(model, viscous=0.7, coulomb=0.4, breakaway=0.6, smoothing=0.3)
    law = rd.bind(model, rd.ComputedTorque(kp=kp, kd=kd, friction=friction, friction_at="measured"))
    rng = np.random.default_rng(3)
    e0 = rng.uniform(-0.2, 0.2, n)
    ed0 = rng.uniform(-0.5, 0.5, n)
    q_d, v_d, _ = wave(model, 0.0)
    times = np.linspace(0, 1.0, 6)
    q, v = continuous(
        model,
        lambda t, q, v: law(q, v, *wave(model, t)),
        q_d - e0,
        v_d - ed0,
        times,
        friction=friction.effort,
    )
    for k, t in enumerate(times):
        q_d, v_d, _ = wave(model, t)
        for i in range(n):
            exact = expm(t * np.array([[0, 1], [-kp[i], -kd[i]]])) @ [e0[i], ed0[i]]
            np.testing.assert_allclose([q_d[i] - q[k, i], v_d[i] - v[k, i]], exact, atol=1e-8)


def test_computed_torque_integral_removes_a_constant_disturbance():
    """With Ki the error under a constant effort goes to zero: e‴ + Kd e″ + Kp e′ + Ki e = 0 for a
    constant load.
    """
    model = rd.load_robot("two_link")
    law = rd.ComputedTorque(kp=100.0, kd=20.0, ki=300.0)
    work = rd.control.laws.base.Workspace(model)
    tau = np.empty(2)
    q = np.zeros(2)
    v = np.zeros(2)
    z = np.zeros(2)
    dt = 1e-3
    push = np.array([3.0, -1.0])
    for _ in range(6000):
        work.set(q, v, np.zeros(2), 0.0, 0.0)
        work.z[:] = z
        a = rd.forward_dynamics(model, q, v, law(work, tau) + push)
        v = v + dt * a
        q = q + dt * v
        z = z - dt * q
    np.testing.assert_allclose(q, 0.0, atol=1e-6)


def test_inverse_and_law_agree_on_the_acceleration_asked_for(seven):
    rng = np.random.default_rng(1)
    q, v, q_d, v_d, a_d = mid(seven) + rng.uniform(-0.4, 0.4, (5, 7)) * [[1], [1], [1], [2], [3]]
    tau = rd.computed_torque(seven, q, v, q_d, v_d, a_d, kp=30.0, kd=4.0)
    wanted = a_d + 4.0 * (v_d - v) + 30.0 * (q_d - q)
    np.testing.assert_allclose(rd.forward_dynamics(seven, q, v, tau), wanted, rtol=1e-9, atol=1e-9)


def test_gravity_compensation_keeps_kinetic_energy_and_damping_takes_it(model):
    rng = np.random.default_rng(5)
    q0 = mid(model)
    v0 = rng.uniform(-0.6, 0.6, model.nv)
    times = np.linspace(0, 1.0, 21)
    floating = rd.bind(model, rd.GravityCompensation())
    q, v = continuous(model, lambda t, q, v: floating(q, v, q), q0, v0, times)
    energy = rd.kinetic_energy(model, q, v)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)

    damped = rd.bind(model, rd.GravityCompensation(damping=0.8))
    q, v = continuous(model, lambda t, q, v: damped(q, v, q), q0, v0, np.linspace(0, 1.0, 2001))
    energy = rd.kinetic_energy(model, q, v)
    power = -0.8 * (v * v).sum(axis=1)
    spent = (
        np.trapezoid(power, dx=1.0 / 2000)
        if hasattr(np, "trapezoid")
        else np.trapz(power, dx=1.0 / 2000)
    )
    assert (np.diff(energy) <= 1e-9).all()
    assert energy[-1] - energy[0] == pytest.approx(spent, rel=2e-3)


def test_pd_gravity_loses_energy_until_it_stands_at_the_reference():
    model = rd.load_robot("two_link")
    kp = np.array([80.0, 30.0])
    kd = np.array([12.0, 4.0])
    law = rd.bind(model, rd.PDGravity(kp=kp, kd=kd))
    goal = np.array([0.7, -1.0])
    q, v = continuous(
        model, lambda t, q, v: law(q, v, goal), np.zeros(2), np.zeros(2), np.linspace(0, 8, 801)
    )
    lyapunov = rd.kinetic_energy(model, q, v) + 0.5 * (kp * (goal - q) ** 2).sum(axis=1)
    assert (np.diff(lyapunov) <= 1e-7).all()
    np.testing.assert_allclose(q[-1], goal, atol=1e-4)


def test_feedforward_pd_tracks_an_exact_model_without_error(seven):
    law = rd.bind(seven, rd.FeedforwardPD(kp=20.0, kd=5.0))
    q_d, v_d, _ = wave(seven, 0.0)
    q, _ = continuous(
        seven, lambda t, q, v: law(q, v, *wave(seven, t)), q_d, v_d, np.linspace(0, 1, 5)
    )
    np.testing.assert_allclose(q[-1], wave(seven, 1.0)[0], atol=1e-7)


def test_joint_impedance_is_a_spring_at_rest_and_keeps_the_arms_inertia(seven):
    rng = np.random.default_rng(2)
    q_d = mid(seven)
    push = rng.uniform(-5, 5, 7)
    K = np.linspace(50, 20, 7)
    q = q_d + push / K
    tau = rd.joint_impedance(seven, q, np.zeros(7), q_d, stiffness=K, damping=3.0)
    np.testing.assert_allclose(
        rd.forward_dynamics(seven, q, np.zeros(7), tau + push), 0.0, atol=1e-9
    )

    v, v_d, a_d = rng.uniform(-1, 1, (3, 7))
    tau = rd.joint_impedance(seven, q, v, q_d, v_d, a_d, stiffness=K, damping=3.0)
    left = (
        rd.mass_matrix(seven, q) @ (a_d - rd.forward_dynamics(seven, q, v, tau))
        + 3.0 * (v_d - v)
        + K * (q_d - q)
    )
    np.testing.assert_allclose(left, 0.0, atol=1e-9)

    ratio = rd.joint_impedance(seven, q, v, q, stiffness=K, damping_ratio=1.0) - rd.bias_forces(
        seven, q, v
    )
    np.testing.assert_allclose(
        ratio, -2.0 * np.sqrt(K * np.diag(rd.mass_matrix(seven, q))) * v, rtol=1e-10
    )


def test_cartesian_stiffness_is_the_slope_of_its_potential(seven):
    """With springs along the axes only, τ − g = −∂/∂q ½ Σ k (p_d − p)²."""
    rng = np.random.default_rng(4)
    q_d = mid(seven)
    k = np.array([300.0, 500.0, 800.0])
    zero = np.zeros(7)
    q = q_d + rng.uniform(-0.2, 0.2, 7)
    goal = rd.link_pose(seven, q_d, "flange")[:3, 3]

    def potential(x):
        return 0.5 * (k * (goal - rd.link_pose(seven, x, "flange")[:3, 3]) ** 2).sum()

    h = 1e-6
    slope = np.array([(potential(q + h * e) - potential(q - h * e)) / (2 * h) for e in np.eye(7)])
    tau = rd.cartesian_impedance(
        seven,
        q,
        zero,
        q_d,
        link="flange",
        stiffness=[0, 0, 0, *k],
        posture_stiffness=0.0,
        posture_damping=0.0,
    )
    np.testing.assert_allclose(tau - rd.gravity_forces(seven, q), -slope, rtol=1e-6, atol=1e-6)
    fixed = rd.cartesian_impedance(
        seven,
        q,
        zero,
        q,
        link="flange",
        stiffness=[0, 0, 0, *k],
        posture_stiffness=0.0,
        posture_damping=0.0,
        target=rd.link_pose(seven, q_d, "flange"),
    )
    np.testing.assert_allclose(fixed, tau, atol=1e-12)


def test_the_posture_does_not_move_the_link(seven):
    rng = np.random.default_rng(6)
    q = mid(seven) + rng.uniform(-0.2, 0.2, 7)
    zero = np.zeros(7)
    at_goal = {"link": "flange", "target": rd.link_pose(seven, q, "flange")}
    tau = rd.cartesian_impedance(seven, q, zero, q + 0.4, posture_stiffness=30.0, **at_goal)
    a = rd.forward_dynamics(seven, q, zero, tau)
    # the elbow moves
    assert np.abs(a).max() > 1.0
    np.testing.assert_allclose(rd.jacobian(seven, q, "flange") @ a, 0.0, atol=1e-8)


def test_cartesian_impedance_settles_at_its_target(seven):
    law = rd.bind(
        seven, rd.CartesianImpedance(link="flange", stiffness=(40, 40, 40, 800, 800, 800))
    )
    q_d = mid(seven)
    q, _ = continuous(
        seven,
        lambda t, q, v: law(q, v, q_d),
        q_d + 0.15,
        np.zeros(7),
        np.linspace(0, 6, 4),
        rtol=1e-6,
        atol=1e-8,
    )
    np.testing.assert_allclose(
        rd.link_pose(seven, q[-1], "flange"), rd.link_pose(seven, q_d, "flange"), atol=2e-3
    )


@pytest.mark.parametrize(
    "q", [np.zeros(2), np.array([0.3, 0.0]), np.array([0.3, 1e-9]), np.array([0.3, 1e-4])]
)
def test_cartesian_impedance_stays_bounded_in_singular_poses(q):
    model = rd.load_robot("two_link")
    tau = rd.cartesian_impedance(model, q, np.array([1.0, -1.0]), q + 0.2, link="tip")
    assert np.isfinite(tau).all()
    assert np.abs(tau).max() < 500.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-3.1, 3.1), min_size=6, max_size=6))
def test_rotation_error_is_the_rotation_vector_with_a_sine(angles):
    a = Rotation.from_euler("xyz", angles[:3])
    b = Rotation.from_euler("xyz", angles[3:])
    vector = (b * a.inv()).as_rotvec()
    theta = np.linalg.norm(vector)
    got = rotation_error(b.as_matrix(), a.as_matrix())
    if theta < 1e-6:
        np.testing.assert_allclose(got, vector, atol=1e-9)
        return
    wanted = 2.0 * np.sin(theta / 2) * vector / theta
    # either way round
    if theta > np.pi - 1e-6:
        wanted = wanted * np.sign(wanted @ got)
    np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_damped_inverse_is_the_inverse_where_that_is_safe_and_zero_where_nothing_is():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    np.testing.assert_allclose(damped_inverse(A), np.linalg.inv(A), rtol=1e-9)
    assert not damped_inverse(np.zeros((6, 6))).any()
    for small in (0.0, 1e-12, 1e-6, 1e-4, 9.99e-4, 1e-3, 1e-2):
        inverse = damped_inverse(np.diag([1.0, small]), 1e-3)
        assert 0.0 <= inverse[1, 1] <= 1e3 * (1 + 1e-9)
    assert damped_inverse(np.diag([1.0, 0.0]))[1, 1] == 0.0


def test_task_inertia_is_exact_away_from_singularities_and_bounded_in_them(seven):
    rng = np.random.default_rng(7)
    for _ in range(20):
        q = rng.uniform(seven.lower, seven.upper)
        J = rd.jacobian(seven, q, "flange")
        M = rd.mass_matrix(seven, q)
        got = task_inertia(J, np.linalg.solve(M, J.T), threshold=1e-9)
        np.testing.assert_allclose(got @ (J @ np.linalg.solve(M, J.T)), np.eye(6), atol=1e-6)
    two = rd.load_robot("two_link")
    sizes = []
    for elbow in (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-6, 0.0):
        J = rd.jacobian(two, [0.0, elbow], "tip")
        M = rd.mass_matrix(two, [0.0, elbow])
        inertia = task_inertia(J, np.linalg.solve(M, J.T))
        assert np.linalg.eigvalsh(inertia).min() > -1e-9
        sizes.append(np.abs(inertia).max())
    assert max(sizes) < 1e3


def test_continuous_joints_take_the_short_way_round():
    model = rd.load_robot("pendulum").replace(gravity=(0, 0, 0))
    tau = rd.pd_gravity(model, [3.0], [0.0], [-3.0], kp=1.0, kd=0.0)
    np.testing.assert_allclose(tau, 2 * np.pi - 6.0)
    np.testing.assert_allclose(
        rd.pd_gravity(model, [0.1], [0.0], [0.1 + 8 * np.pi], kp=1.0, kd=0.0), 0.0, atol=1e-12
    )


def test_laws_run_on_branches_and_rotated_inertias():
    for seed in range(3):
        model = random_model(seed, 6, types=_one_dof())
        rng = np.random.default_rng(seed)
        q, v, a = rng.uniform(-0.5, 0.5, (3, model.nv))
        tau = rd.computed_torque(model, q, v, q, v, a)
        np.testing.assert_allclose(rd.forward_dynamics(model, q, v, tau), a, rtol=1e-8, atol=1e-8)


def _one_dof():
    from robot_dynamics_ros.model.description import JointType

    return (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: rd.ComputedTorque(kp=-1.0), "gain 'kp'"),
        (lambda: rd.ComputedTorque(kp=np.nan), "gain 'kp'"),
        (lambda: rd.ComputedTorque(kd="fast"), "gain 'kd'"),
        (lambda: rd.ComputedTorque(kp=np.inf), "gain 'kp'"),
        (lambda: rd.ComputedTorque(kp=[[1.0]]), "gain 'kp'"),
        (lambda: rd.ComputedTorque(friction_at="guess"), "friction_at"),
        (lambda: rd.CartesianImpedance(link="tip", stiffness=[1.0, 2.0]), "gain 'stiffness'"),
        (lambda: rd.CartesianImpedance(link="tip", target=np.zeros((4, 4))), "target"),
    ],
)
def test_nonsense_gains_are_refused(make, text):
    with pytest.raises(rd.ArgumentError, match=text):
        make()


def test_gains_that_do_not_fit_the_robot_are_refused(seven):
    with pytest.raises(rd.ArgumentError, match="3 values for 7 joints"):
        rd.ComputedTorque(kp=[1.0, 2.0, 3.0]).check(seven)
    with pytest.raises(rd.UnknownNameError, match="flange"):
        rd.CartesianImpedance(link="flnge").check(seven)
    law = rd.ComputedTorque(kp=5.0)
    with pytest.raises(rd.UnknownNameError, match="kq"):
        law.with_gains(seven, kq=1.0)
    with pytest.raises(rd.UnknownNameError, match="joint9"):
        law.with_gains(seven, kp={"joint9": 1.0})
    assert law.with_gains(seven, kp={"joint2": 7.0}).kp.tolist() == [5, 7, 5, 5, 5, 5, 5]
    assert law.kp == 5.0
    with pytest.raises(rd.ArgumentError, match="in the order of joint_names"):
        rd.computed_torque(seven, np.zeros(6), np.zeros(7), np.zeros(7))


def test_a_floating_base_is_refused_with_a_way_out():
    from support.simple_robots import free_body

    with pytest.raises(rd.ArgumentError, match="degrees of freedom"):
        rd.bind(free_body(), rd.ComputedTorque())


P = gain(1.0, parameter="p")


@dataclass(frozen=True, eq=False)
class Springs(rd.Law):
    """τ = Kp e + g(q) + F"""

    name: ClassVar[str] = "springs"
    kp: object = gain(50.0, parameter="p")
    friction: object = None

    def effort(self, x):
        return self.kp * x.e + x.gravity_forces() + self.F(x)


def frozen(title, **fields):
    """A law like Springs with other fields."""
    body = {"__annotations__": {"name": ClassVar[str]}, "name": "springs", "effort": Springs.effort}
    body |= fields
    body["__annotations__"] |= {key: object for key in fields if key not in ("name", "effort")}
    return dataclass(frozen=True, eq=False)(type(title, (rd.Law,), body))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: frozen("NoFriction", kp=P), "no field 'friction'"),
        (lambda: type("Plain", (Springs,), {}), "no frozen dataclass"),
        (lambda: frozen("Nameless", name="", friction=None), "has the name ''"),
        (lambda: frozen("Idle", effort=rd.Law.effort, friction=None), "no method 'effort'"),
        (lambda: frozen("Wide", width=gain(), friction=None), "'width' without a default"),
        (
            lambda: frozen(
                "Twice", friction=None, a=gain(1.0, parameter="p"), b=gain(1.0, parameter="p")
            ),
            "parameter 'p', 2 times",
        ),
        (lambda: frozen("Odd", friction=None, a=gain(1.0, parameter="q")), "parameter 'q'"),
    ],
)
def test_a_law_that_breaks_the_contract_is_refused_where_it_is_listed(make, text):
    law = make()
    with pytest.raises(rd.RobotDynamicsError, match=f"law {law.__name__}: .*{text}"):
        registered(law)


def test_laws_with_one_name_are_refused_and_one_that_keeps_the_contract_is_taken():
    assert registered(rd.PDGravity, Springs)["springs"] is Springs
    with pytest.raises(rd.RobotDynamicsError, match="law Springs: has the name 'springs'"):
        registered(Springs, Springs)


def test_an_integral_without_a_limit_is_refused():
    @dataclass(frozen=True, eq=False)
    class Unclamped(Springs):
        ki: object = gain(1.0)

    with pytest.raises(
        rd.RobotDynamicsError, match=r"law Unclamped: .*'ki' and no field 'i_clamp'"
    ):
        Unclamped()
