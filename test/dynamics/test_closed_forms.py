"""Robots whose equations fit on a page, and printed figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from support.simple_robots import cuboid_pendulum, free_body, wheel

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import (
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    RobotDescription,
)
from robot_dynamics_ros.model.robot_model import RobotModel

angle = st.floats(-3.0, 3.0)
rate = st.floats(-5.0, 5.0)


def two_link(m1=1.3, m2=0.8, l1=0.7, lc1=0.3, lc2=0.25, i1=0.05, i2=0.02, g=9.81) -> RobotModel:
    """Planar arm in the vertical x-y plane, joints about z."""

    def bar(mass: float, com: float, moment: float) -> Inertia:
        return Inertia(mass, [com, 0.0, 0.0], np.diag([moment / 2, moment / 2, moment]))

    z = [0.0, 0.0, 1.0]
    return RobotModel.from_description(
        RobotDescription(
            "two_link",
            (Link("base"), Link("upper", bar(m1, lc1, i1)), Link("fore", bar(m2, lc2, i2))),
            (
                Joint("shoulder", JointType.REVOLUTE, "base", "upper", axis=z),
                Joint(
                    "elbow", JointType.REVOLUTE, "upper", "fore", Pose(position=[l1, 0.0, 0.0]), z
                ),
            ),
        ),
        gravity=(0.0, -g, 0.0),
    )


TWO_LINK = two_link().with_backend("numpy")


@given(t1=angle, t2=angle, w1=rate, w2=rate, a1=rate, a2=rate)
def test_planar_two_link_arm(t1, t2, w1, w2, a1, a2):
    m1 = 1.3
    m2 = 0.8
    l1 = 0.7
    lc1 = 0.3
    lc2 = 0.25
    i1 = 0.05
    i2 = 0.02
    g = 9.81
    model = TWO_LINK
    c2 = np.cos(t2)
    s2 = np.sin(t2)
    h11 = m1 * lc1**2 + i1 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * c2) + i2
    h22 = m2 * lc2**2 + i2
    h12 = m2 * (lc2**2 + l1 * lc2 * c2) + i2
    h = m2 * l1 * lc2 * s2
    g1 = m1 * lc1 * g * np.cos(t1) + m2 * g * (lc2 * np.cos(t1 + t2) + l1 * np.cos(t1))
    g2 = m2 * g * lc2 * np.cos(t1 + t2)
    tau1 = h11 * a1 + h12 * a2 - h * w2**2 - 2 * h * w1 * w2 + g1
    tau2 = h22 * a2 + h12 * a1 + h * w1**2 + g2
    q = [t1, t2]
    v = [w1, w2]
    a = [a1, a2]
    assert_allclose(rd.inverse_dynamics(model, q, v, a), [tau1, tau2], rtol=1e-12, atol=1e-11)
    H = [[h11, h12], [h12, h22]]
    # h12 passes through zero
    assert_allclose(rd.mass_matrix(model, q), H, rtol=1e-12, atol=1e-15)
    assert_allclose(rd.gravity_forces(model, q), [g1, g2], rtol=1e-12, atol=1e-12)
    assert_allclose(rd.forward_dynamics(model, q, v, [tau1, tau2]), a, rtol=1e-9, atol=1e-9)
    B, C = rd.configuration_space_form(model, q)
    assert_allclose(B, [[-2 * h], [0.0]], atol=1e-13)
    assert_allclose(C, [[0.0, -h], [h, 0.0]], atol=1e-13)


THREE_SEGMENTS = rd.limb(
    3, lengths=[0.8, 0.6, 0.4], masses=[0.7, 0.5, 0.3], inertia="point", gravity=(0, 0, 0)
).with_backend("numpy")


@given(t=st.floats(0.0, 10.0))
def test_printed_wrenches_of_the_three_segment_limb(t):
    """Point masses at mid-segment, no gravity, θᵢ = ωᵢ t: the figures of the limb document, checked
    elsewhere too.
    """
    model = THREE_SEGMENTS
    w = np.array([1.0, 2.0, 4.0])
    wrenches = rd.joint_wrenches(model, w * t, w, np.zeros(3))

    def s(k):
        return np.sin(k * t)

    def c(k):
        return np.cos(k * t)

    tip = [
        -81 / 50 * s(4) - 6 / 25 * s(6),
        -81 / 50 * c(4) - 6 / 25 * c(6) - 147 / 50,
        81 / 250 * s(4) + 6 / 125 * s(6),
    ]
    middle = [
        -16 / 25 * s(2) + 147 / 50 * s(4),
        -16 / 25 * c(2) - 147 / 50 * c(4) - 297 / 100,
        33 / 125 * s(2) - 36 / 25 * s(4) + 6 / 125 * s(6),
    ]
    base = [
        297 / 100 * s(2) + 147 / 50 * s(6),
        -297 / 100 * c(2) - 147 / 50 * c(6) - 23 / 25,
        -264 / 125 * s(2) - 36 / 25 * s(4) - 288 / 125 * s(6),
    ]
    expected = np.zeros((3, 6))
    for row, (fx, fy, mz) in zip(expected, (base, middle, tip), strict=True):
        row[[3, 4, 2]] = fx, fy, mz
    assert_allclose(wrenches, expected, atol=1e-12)


@pytest.mark.parametrize("backend", rd.available_backends())
def test_exudyn_pendulum(backend):
    model = cuboid_pendulum().with_backend(backend)
    assert rd.backend_of(model) == backend

    def rates(_t, x):
        return [x[1], rd.forward_dynamics(model, x[:1], x[1:], [0.0])[0]]

    solution = solve_ivp(rates, (0.0, 1.0), [0.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-13)
    assert solution.y[0, -1] == pytest.approx(-3.134018551808591, abs=1e-11)


def test_wheel_turns_as_its_inertia_says():
    assert rd.forward_dynamics(wheel(0.5), [0.3], [2.0], [1.0]) == pytest.approx(2.0)


def test_torque_free_body_obeys_euler():
    moments = np.array([0.2, 0.35, 0.5])
    model = free_body(3.0, tuple(moments)).with_backend("numpy")
    w = np.array([0.3, -1.2, 2.0])
    a = rd.forward_dynamics(model, rd.neutral(model), [*w, 0, 0, 0], np.zeros(6))
    assert_allclose(a[:3], np.cross(moments * w, w) / moments, rtol=1e-13)
    assert_allclose(a[3:], 0.0, atol=1e-14)


def test_free_body_falls_in_body_axes():
    model = free_body(3.0, gravity=(0.0, 0.0, -9.81)).with_backend("numpy")
    # turned by 0.8 rad about x
    q = np.array([1.0, 2.0, 3.0, np.sin(0.4), 0.0, 0.0, np.cos(0.4)])
    a = rd.forward_dynamics(model, q, np.zeros(6), np.zeros(6))
    assert_allclose(a, [0, 0, 0, 0, -9.81 * np.sin(0.8), -9.81 * np.cos(0.8)], atol=1e-12)


def test_wrench_along_the_axis_is_the_effort():
    model = rd.load_robot("seven_axis").with_backend("numpy")
    rng = np.random.default_rng(0)
    q = rd.random_configuration(model, 1)
    v = rng.normal(size=model.nv)
    a = rng.normal(size=model.nv)
    wrenches = rd.joint_wrenches(model, q, v, a)
    tau = rd.inverse_dynamics(model, q, v, a)
    for name, wrench in zip(model.joint_names, wrenches, strict=True):
        joint = model.joint(name)
        part = wrench[3:] if joint.type is JointType.PRISMATIC else wrench[:3]
        effort = (
            tau[model.v_slice(name)][0]
            - model.armature[model.v_slice(name)][0] * a[model.v_slice(name)][0]
        )
        assert joint.axis @ part == pytest.approx(effort, rel=1e-12, abs=1e-12)
