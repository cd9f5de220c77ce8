"""A sphere on the ground, felt and seen."""

import numpy as np
import pytest
from support.simple_robots import free_body

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.simulation import GroundContact, Plant

BALL = {"mass": 2.0, "moments": (0.02, 0.02, 0.02), "gravity": (0.0, 0.0, -9.81)}


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau", "rk4", "dop853"])
def test_ball_comes_to_rest_at_the_depth_that_carries_it(integrator):
    contact = GroundContact("body", radius=0.1, stiffness=1e4, dissipation=3.0)
    plant = Plant(
        free_body(**BALL),
        1e-3 if integrator != "dop853" else 1e-2,
        integrator=integrator,
        contacts=[contact],
        q0=[0, 0, 0.12, 0, 0, 0, 1],
    )
    while plant.t < 3.0:
        plant.step(np.zeros(6))
    assert plant.q[2] == pytest.approx(0.1 - 2.0 * 9.81 / 1e4, abs=1e-6)
    np.testing.assert_allclose(plant.v, 0.0, atol=1e-5)
    # what is felt: the ground carries the weight
    wrench = plant.system.contact_wrenches(plant.q, plant.v)["body"]
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0, 2.0 * 9.81], atol=2e-2)


def test_elastic_ball_bounces_back_to_its_height():
    contact = GroundContact(
        "body", radius=0.1, stiffness=1e5, exponent=1.5, dissipation=0.0, friction=0.0
    )
    plant = Plant(
        free_body(**BALL), 1e-3, integrator="dop853", contacts=[contact], q0=[0, 0, 0.4, 0, 0, 0, 1]
    )
    energy = sum(plant.energy())
    top = 0.0
    down = False
    while plant.t < 0.6:
        plant.step(np.zeros(6))
        down |= plant.v[5] < 0.0 and plant.q[2] < 0.11
        if down:
            top = max(top, plant.q[2])
    assert down
    assert top == pytest.approx(0.4, abs=1e-4)
    assert sum(plant.energy()) == pytest.approx(energy, rel=1e-6)


def test_sliding_ball_ends_up_rolling():
    """Friction at the bottom keeps the angular momentum about it: v = v0 m r²/(I + m r²), whatever
    the friction.
    """
    r = 0.1
    m = 2.0
    inertia = 0.02
    contact = GroundContact(
        "body", radius=r, stiffness=1e4, dissipation=3.0, friction=0.4, slip_velocity=1e-4
    )
    rest = r - m * 9.81 / 1e4
    plant = Plant(
        free_body(**BALL),
        5e-4,
        contacts=[contact],
        q0=[0, 0, rest, 0, 0, 0, 1],
        v0=[0, 0, 0, 1.0, 0, 0],
    )
    for _ in range(3000):
        plant.step(np.zeros(6))
    R = rd.link_pose(plant.model, plant.q, "body")[:3, :3]
    velocity = R @ plant.v[3:]
    spin = R @ plant.v[:3]
    assert velocity[0] == pytest.approx(m * r * r / (inertia + m * r * r), rel=0.01)
    assert spin[1] * r == pytest.approx(velocity[0], rel=0.01)


def test_tip_force_is_felt_in_the_joint_wrenches():
    model = free_body(**BALL)
    contact = GroundContact("body", radius=0.1, stiffness=1e4, plane_normal=(0.0, 0.0, 2.0))
    plant = Plant(model, 1e-3, contacts=[contact], q0=[0, 0, 0.09, 0, 0, 0, 1])
    plant.hold(np.zeros(6))
    assert plant.acceleration()[5] == pytest.approx(0.01 * 1e4 / 2.0 - 9.81)
    # no joint: everything comes from the ground
    np.testing.assert_allclose(plant.joint_effort(), 0.0, atol=1e-9)


def test_implicit_part_is_the_derivative_of_the_force():
    """Stiffness and damping handed to the implicit step, against differences of the effort (radius
    0: no lever).
    """
    model = free_body(**BALL)
    contact = GroundContact(
        "body", stiffness=1e4, dissipation=2.0, friction=0.0, offset=(0.1, 0.05, -0.1)
    )
    plant = Plant(model, 1e-3, contacts=[contact], stops=None)
    q = np.array([0, 0, 0.09, 0, 0, 0, 1.0])
    v = np.array([0.0, 0, 0, 0, 0, -0.2])
    plant.reset(q, v)
    memory = plant.system.memory
    plant.system.routines["prepare"](memory, 0.0)
    K = memory["K"].copy()
    D = memory["D"].copy()

    def effort(at, speed):
        return plant.system.applied_effort(0.0, at, speed, np.empty(0))

    for j in range(6):
        delta = np.zeros(6)
        delta[j] = 1e-6
        np.testing.assert_allclose(
            D[:, j], (effort(q, v - delta) - effort(q, v + delta)) / 2e-6, atol=1e-4
        )
    down = np.array([0, 0, 0, 0, 0, 1e-7])
    k = (effort(rd.integrate(model, q, -down), v) - effort(rd.integrate(model, q, down), v)) / 2e-7
    np.testing.assert_allclose(K[:, 5], k, rtol=1e-5)


def test_wrong_contacts_are_refused():
    with pytest.raises(ArgumentError, match="normal"):
        GroundContact("body", plane_normal=(0, 0, 0))
    with pytest.raises(ArgumentError, match="stiffness"):
        GroundContact("body", stiffness=0.0)
    with pytest.raises(ArgumentError, match="offset"):
        GroundContact("body", offset=(0.0, 1.0))
