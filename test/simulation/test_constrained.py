"""Closed loops in motion: order, drift, energy, friction, stops, and the loop's wrenches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from support.closed_loops import four_bar, four_bar_angles, gripper_arm

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, ConstraintError, UnknownNameError
from robot_dynamics_ros.model.description import JointLimits, JointType


def start(loop, theta=0.7, rate=4.0):
    coupler, rocker = four_bar_angles(theta)
    return loop.consistent_state(
        [theta, coupler - theta, rocker], [rate, 0, 0], fixed=["crank_joint"]
    )


def run(loop, h, seconds, q, v, **options):
    plant = rd.ConstrainedPlant(loop, h, q0=q, v0=v, **options)
    worst = 0.0
    for _ in range(round(seconds / h)):
        plant.step(np.zeros(loop.model.nv))
        worst = max(
            worst,
            np.abs(loop.residual(plant.q)).max(),
            1e-2 * np.abs(loop.jacobian(plant.q) @ plant.v).max(),
        )
    return plant, worst


def test_second_order_without_drift():
    """Against the one-degree equation of the crank angle, integrated by another library to
    1e-11.
    """
    loop = four_bar()
    q, v = start(loop)

    def rate(t, y):
        angles = four_bar_angles(y[0])
        at = np.array([y[0], angles[0] - y[0], angles[1]])
        _, K, _ = loop.terms(at, np.zeros(3))
        null = np.linalg.svd(K)[2][-1]
        return [y[1], loop.forward_dynamics(at, null / null[0] * y[1], np.zeros(3)).a[0]]

    errors = []
    changes = []
    for h in (8e-3, 4e-3, 2e-3):
        times = h * np.arange(1, round(1.0 / h) + 1)
        exact = solve_ivp(
            rate, (0.0, 1.0), [q[0], v[0]], method="DOP853", rtol=1e-10, atol=1e-10, t_eval=times
        ).y[0]
        plant = rd.ConstrainedPlant(loop, h, q0=q, v0=v)
        before = sum(plant.energy())
        error = 0.0
        change = 0.0
        for angle in exact:
            plant.step(np.zeros(3))
            error = max(error, abs(plant.q[0] - angle))
            change = max(change, abs(sum(plant.energy()) - before))
            assert np.abs(loop.residual(plant.q)).max() < 1e-12
            assert np.abs(loop.jacobian(plant.q) @ plant.v).max() < 1e-10
        errors.append(error)
        changes.append(change)
    for what in (errors, changes):
        order = np.log2(np.array(what[:-1]) / what[1:])
        assert (np.abs(order - 2.0) < 0.1).all(), (what, order)


def test_nothing_drifts_in_a_long_run():
    loop = four_bar()
    q, v = start(loop)
    before = sum(rd.ConstrainedPlant(loop, q0=q, v0=v).energy())
    plant, worst = run(loop, 2e-3, 8.0, q, v)
    assert worst < 1e-11
    assert abs(sum(plant.energy()) - before) < 1e-3 * before


def test_friction_takes_what_it_should_and_brings_the_loop_to_rest():
    loop = four_bar(friction=0.4)
    q, v = start(loop)
    plant = rd.ConstrainedPlant(loop, 1e-3, q0=q, v0=v)
    energy = sum(plant.energy())
    lost = 0.0
    for _ in range(500):
        before = plant.q
        plant.step(np.zeros(3))
        lost += 0.4 * np.abs(plant.q - before).sum()
    assert_allclose(energy - sum(plant.energy()), lost, rtol=5e-3)
    for _ in range(15000):
        plant.step(np.zeros(3))
    assert (plant.v == 0.0).all()
    at = plant.q
    for _ in range(100):
        plant.step(np.zeros(3))
    # it does not creep
    assert_allclose(plant.q, at, atol=1e-12)
    assert_allclose(plant.acceleration(), 0.0, atol=1e-8)


def test_a_stop_in_a_loop_is_not_passed():
    loop = four_bar()
    joints = tuple(
        dataclasses.replace(
            j,
            type=JointType.REVOLUTE,
            limits=JointLimits(lower=-3.0, upper=2.2, effort=1e3, velocity=1e3),
        )
        if j.name == "rocker_joint"
        else j
        for j in loop.model.description.joints
    )
    model = loop.model.replace(
        description=dataclasses.replace(loop.model.description, joints=joints)
    )
    stopped = rd.Constraints(model, loop.constraints)
    q, v = start(stopped, rate=2.0)
    plant = rd.ConstrainedPlant(stopped, 1e-3, q0=q, v0=v)
    reached = []
    for _ in range(2000):
        plant.step([3.0, 0.0, 0.0])
        reached.append(plant.q[2])
        assert np.abs(stopped.residual(plant.q)).max() < 1e-11
    assert max(reached) < 2.2 + 1e-5 and max(reached) > 2.19
    # the crank still pushes it against the stop
    assert abs(plant.v[2]) < 1e-6
    held = stopped.forward_dynamics(plant.q, plant.v, plant.tau + plant.stop_and_friction_effort).a
    assert_allclose(held, 0.0, atol=1e-3)


def test_wrenches_of_the_loop_balance_its_bodies():
    loop = four_bar()
    q, v = start(loop)
    plant = rd.ConstrainedPlant(loop, 1e-3, q0=q, v0=v)
    push = {"coupler": np.array([0, 0, 0.5, 2.0, -1.0, 0])}
    for _ in range(50):
        plant.step([2.0, 0.0, 0.0], push)
    rocker = plant.constraint_wrenches()["closure"][1]
    joint = plant.joint_wrenches()[2]
    motion = rd.motion(
        loop.model, plant.q, plant.v, plant.acceleration(), point_on="rocker", offset=(0.35, 0, 0)
    )
    R = motion.rotation
    force = R @ (rocker[3:] + joint[3:]) + 1.5 * np.array([0, -9.81, 0])
    assert_allclose(force, 1.5 * motion.acceleration, atol=1e-6)
    assert_allclose(plant.joint_effort()[1:], 0.0, atol=1e-8)


def test_states_and_commands_that_are_refused():
    loop = four_bar()
    q, v = start(loop)
    plant = rd.ConstrainedPlant(loop, q0=q, v0=v)
    before = plant.state()
    at = plant.q
    for command, external in (
        ([1.0], None),
        ([np.nan, 0, 0], None),
        ([0, 0, 0], {"nowhere": np.zeros(6)}),
    ):
        with pytest.raises((ArgumentError, UnknownNameError)):
            plant.step(command, external)
    assert (plant.q == at).all() and plant.t == 0.0
    plant.step([1.0, 0, 0])
    after = plant.q
    plant.restore(before)
    plant.step([1.0, 0, 0])
    assert (plant.q == after).all()
    far = four_bar()
    short = rd.Constraints(
        far.model, [rd.point_constraint("far", "coupler", "world", point_b=(9, 9, 9))]
    )
    with pytest.raises(ConstraintError, match="cannot be satisfied"):
        rd.ConstrainedPlant(short)


def test_the_gripper_closes_evenly():
    arm = gripper_arm()
    plant = rd.ConstrainedPlant(arm, 1e-3, friction=False)
    model = arm.model
    for _ in range(100):
        tau = rd.gravity_forces(model, plant.q)
        tau[:6] -= 2.0 * plant.v[:6]
        tau[model.v_slice("left_inner_joint")] += 0.01
        plant.step(tau)
    left, right = (plant.q[model.q_slice(f"{s}_inner_joint")][0] for s in ("left", "right"))
    assert abs(left) > 1e-3 and abs(left + right) < 1e-11
    assert np.abs(arm.residual(plant.q)).max() < 1e-11


def two_feet():
    """A floating body with two legs, whose feet are held to the ground and to each other."""
    model = rd.load_urdf(rd.robot_path("three_link"), floating_base=True)
    q = model.neutral()
    q[-3:] = [0.3, -0.4, 0.6]
    tip = model.link_names[-1]
    return rd.Constraints(
        model,
        [
            rd.point_constraint("foot", tip),
            rd.gear_constraint("belt", *model.joint_names[-2:], ratio=-1.5),
        ],
        reference=q,
    ), q


def options_of(case, loops):
    motor = rd.DCMotor(
        torque_constant=0.1, resistance=0.5, inductance=2e-3, gear_ratio=10.0, rotor_inertia=1e-5
    )
    ground = rd.GroundContact(
        "rocker", offset=(0.7, 0.0, 0.0), plane_normal=(0.0, 1.0, 0.0), plane_point=(0.0, 0.55, 0.0)
    )
    return {
        "friction": {"friction": rd.JointFriction(viscous=0.1, coulomb=0.3)},
        "motor": {"motors": {"crank_joint": motor}, "friction": False},
        "springs": {"springs": rd.JointPD(p=5.0, d=0.5, position=0.2)},
        "contact": {"contacts": [ground], "friction": False},
        "user": {"user_effort": lambda t, q, v: np.array([np.sin(t), 0.0, -v[2]])},
        "brakes": {"brake_effort": 5.0},
    }[case]


@pytest.mark.parametrize("case", ["friction", "motor", "springs", "contact", "user", "brakes"])
def test_machine_code_does_as_python_does(case):
    loop = four_bar()
    q, v = start(loop)
    plants = []
    for compiled in (True, False):
        plant = rd.ConstrainedPlant(
            loop, 1e-3, q0=q, v0=v, compiled=compiled, **options_of(case, loop)
        )
        plant.brakes = case == "brakes"
        for k in range(60):
            plant.step([3.0, -0.2 * k, 0.5], {"coupler": [0, 0, 0.1, 1.0, 0, 0]} if k % 2 else None)
        plants.append(plant)
    fast, slow = plants
    assert not slow.compiled and fast.compiled == (
        case != "user" and rd.backend_of(loop.model) == "native"
    )
    for name in ("q", "v", "tau", "currents"):
        assert_allclose(
            getattr(fast, name), getattr(slow, name), rtol=1e-9, atol=1e-9, err_msg=name
        )
    assert_allclose(
        fast.stop_and_friction_effort, slow.stop_and_friction_effort, rtol=1e-6, atol=1e-6
    )
    assert np.abs(loop.residual(fast.q)).max() < 1e-12
    assert np.abs(loop.jacobian(fast.q) @ fast.v).max() < 1e-10
    assert_allclose(fast.acceleration(), slow.acceleration(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_floating_robot_with_loops_keeps_its_energy(compiled):
    loops, q = two_feet()
    v = loops.project(q, np.r_[0.2, -0.1, 0.3, 0.1, 0.0, 0.2, 0.5, 0.3, -0.2])[1]
    plant = rd.ConstrainedPlant(
        loops, 1e-3, friction=False, stops=None, q0=q, v0=v, compiled=compiled
    )
    before = sum(plant.energy())
    for _ in range(200 if compiled else 40):
        plant.step(np.zeros(loops.model.nv))
    assert np.abs(loops.residual(plant.q)).max() < 1e-11
    assert abs(sum(plant.energy()) - before) < 1e-4 * max(plant.energy()[0], 1.0)


def test_springs_and_motors_act_in_a_loop_as_virtual_work_says():
    """Effort of springs and motors at all joints, along the one motion that the loop allows."""
    loop = four_bar()
    q, v = start(loop)
    motor = rd.DCMotor(torque_constant=0.1, resistance=0.5, gear_ratio=10.0, rotor_inertia=1e-4)
    springs = rd.JointPD(p=5.0, d=0.5, position=0.2)
    plant = rd.ConstrainedPlant(
        loop, 1e-3, q0=q, v0=v, motors={"crank_joint": motor}, springs=springs, friction=False
    )
    plant.hold([6.0, 0.0, 0.0])
    a = plant.acceleration()
    M = rd.mass_matrix(plant.model, q)
    b = rd.bias_forces(plant.model, q, v)
    assert plant.model.armature[0] == pytest.approx(1e-4 * 100.0)
    effort = -5.0 * (q - 0.2) - 0.5 * v
    effort[0] += 10.0 * 0.1 * (6.0 - 10.0 * 0.1 * v[0]) / 0.5
    along = v / v[0]
    assert_allclose(along @ (M @ a + b), along @ effort, rtol=1e-10)
    assert_allclose(loop.jacobian(q) @ a + loop.terms(q, v)[2], 0.0, atol=1e-9)


def test_many_periods_in_one_call_are_the_same():
    loop = four_bar(friction=0.2)
    q, v = start(loop)
    one, many = (rd.ConstrainedPlant(loop, 1e-3, q0=q, v0=v) for _ in range(2))
    path = many.run([2.0, 0.0, 0.0], 100)
    for _ in range(100):
        one.step([2.0, 0.0, 0.0])
    assert_allclose(path.q[-1], one.q, rtol=1e-12)
    kept = one.state()
    one.step([0.0, 0.0, 0.0])
    after = one.q
    many.restore(kept)
    many.step([0.0, 0.0, 0.0])
    assert (many.q == after).all() and many.t == one.t
