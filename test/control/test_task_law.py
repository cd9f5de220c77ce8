"""Cartesian impedance in machine code is the one that is written on arrays."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.laws.base import Workspace

# a spring from a point beside the link's origin: rotations and translations are coupled
ARM = np.hstack([np.array([[0.0, 0.1, 0.0], [-0.1, 0.0, 0.2], [0.0, -0.2, 0.0]]), np.eye(3)])
WHOLE = ARM.T @ np.diag([300.0, 500.0, 800.0]) @ ARM
CASES = {
    "world axes": {},
    "tool axes": {"axes": "tool"},
    "damping given": {"damping": (3.0, 4.0, 5.0, 60.0, 70.0, 80.0), "axes": "tool"},
    "error shortened": {"largest_error": (0.2, 0.05)},
    "a pose held": {"target": np.eye(4)},
    "no stiffness": {"stiffness": 0.0},
    "a whole matrix": {"stiffness": WHOLE, "damping_ratio": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)},
    "a matrix, in tool axes": {"stiffness": WHOLE, "axes": "tool"},
    "both matrices": {"stiffness": WHOLE, "damping": 0.1 * WHOLE, "axes": "tool"},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["three_link", "six_axis", "seven_axis"])
def test_routine_and_arrays_agree(name, case):
    arm = rd.load_robot(name)
    law = rd.CartesianImpedance(
        link=arm.link_names[-1], friction=rd.Friction.of(arm), **CASES[case]
    ).check(arm)
    x = Workspace(arm)
    if not x.compiled:
        pytest.skip("nothing is compiled here")
    law.prepare(x.kernels)
    rng = np.random.default_rng(1)
    out = np.zeros(arm.nv)
    for k in range(12):
        # every fourth pose is singular, every third error is large
        q = rng.normal(size=arm.nv) * (k % 4 > 0)
        away = rng.normal(size=arm.nv) * (2.0 if k % 3 == 0 else 0.1)
        x.set(q, rng.normal(size=arm.nv), q + away, rng.normal(size=arm.nv), 0.5)
        expected = law.effort(x)
        np.testing.assert_allclose(law(x, out), expected, rtol=1e-9, atol=1e-9)


def test_stiffness_in_tool_axes_acts_along_the_tool():
    arm = rd.load_robot("seven_axis")
    q = np.array([-0.87, -0.47, -0.39, -1.57, -0.24, 2.06, 0.58])
    X = rd.link_pose(arm, q, "flange")
    target = X.copy()
    target[:3, 3] += X[:3, :3] @ [0.01, 0.02, 0.03]
    stiffness = (0.0, 0.0, 0.0, 100.0, 200.0, 300.0)
    law = rd.CartesianImpedance(
        link="flange",
        stiffness=stiffness,
        damping=0.0,
        axes="tool",
        target=target,
        posture_stiffness=0.0,
    )
    effort = rd.bind(arm, law)(q, np.zeros(7), q) - rd.gravity_forces(arm, q)
    force = X[:3, :3] @ [1.0, 4.0, 9.0]
    expected = rd.jacobian(arm, q, "flange")[3:].T @ force
    np.testing.assert_allclose(effort, expected, atol=1e-9)


def test_an_arm_that_is_pushed_and_let_go_gains_no_energy():
    """Pushes at the tool: what the arm and its springs have afterwards is not more than was put
    in, in every moment, and in the end it rests at its target.
    """
    arm = rd.load_robot("seven_axis")
    q = np.array([-0.87, -0.47, -0.39, -1.57, -0.24, 2.06, 0.58])
    v = np.zeros(7)
    X = rd.link_pose(arm, q, "flange")
    law = rd.CartesianImpedance(link="flange", posture_stiffness=0.0, target=X)
    effort = rd.bind(arm, law)
    K = np.array([30.0] * 3 + [600.0] * 3)
    h = 1e-3
    given = 0.0
    stored = []
    for k in range(3000):
        push = np.zeros(6)
        if k < 400:
            push = np.array([0.0, 1.0, 0.0, 20.0, -10.0, 15.0])
        elif 800 < k < 1000:
            push = np.array([1.0, 0.0, 0.0, -30.0, 0.0, 0.0])
        J = rd.jacobian(arm, q, "flange")
        tau = effort(q, v, q) + J.T @ push
        a = rd.forward_dynamics(arm, q, v, tau)
        v_next = v + h * a
        given += h * push @ J @ (0.5 * (v + v_next))
        v = v_next
        q = q + h * v
        now = rd.link_pose(arm, q, "flange")
        x = now[:3, 3] - X[:3, 3]
        E = X[:3, :3] @ now[:3, :3].T
        # 2 sin(θ/2) u has the potential 4 K (1 − cos(θ/2)) where all K are the same
        angle = np.arccos(np.clip(0.5 * (np.trace(E) - 1.0), -1.0, 1.0))
        spring = 0.5 * K[3] * x @ x + 4.0 * K[0] * (1.0 - np.cos(0.5 * angle))
        kinetic = 0.5 * v @ rd.mass_matrix(arm, q) @ v
        stored.append(spring + kinetic - given)
    # the explicit step's own error is some mJ
    assert max(stored) < 0.02
    assert np.abs(rd.link_pose(arm, q, "flange")[:3, 3] - X[:3, 3]).max() < 2e-3
