"""Trajectories of chains and trees beside MuJoCo's."""

from dataclasses import replace

import numpy as np
import pytest
from support.random_trees import random_model
from support.simple_robots import slider

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.simulation import JointFriction, JointPD, Plant

mujoco = pytest.importorskip("mujoco")
from support.mujoco_bridge import MujocoTwin  # noqa: E402

HINGES = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)


def compare(model, dt, steps, effort, twin_options=None, v0=None, **options):
    twin = MujocoTwin(model, dt, **(twin_options or {}))
    plant = Plant(model, dt, stops=None, limiter=False, v0=v0, **options)
    twin.set(plant.q, plant.v)
    gap = 0.0
    for k in range(steps):
        tau = effort(k * dt)
        plant.step(tau)
        twin.step(tau)
        gap = max(gap, float(np.abs(plant.q - twin.q).max()))
    return gap, plant, twin


@pytest.mark.parametrize("branching", [0.0, 0.6], ids=["chain", "tree"])
@pytest.mark.parametrize("seed", [1, 2])
def test_damped_sprung_arms_move_alike(seed, branching):
    """The same method at the same step on both sides: what is left is rounding."""
    rough = random_model(
        seed,
        5,
        types=HINGES,
        branching=branching,
        fixed=0.2,
        limits=False,
        armature=True,
        friction=True,
    )
    stiffness = 3.0
    # damping only
    smooth = rd.robot_model_error(rough, friction=0.0)
    gap, plant, _ = compare(
        smooth,
        2e-3,
        500,
        lambda t: 2.0 * np.sin(3.0 * t + np.arange(5)),
        {"stiffness": stiffness},
        v0=np.linspace(-1.0, 1.0, 5),
        integrator="rk4",
        springs=JointPD(p=stiffness),
    )
    assert np.abs(plant.q).max() > 0.1
    assert gap < 1e-9


@pytest.mark.parametrize("seed", [4, 5])
def test_frictionless_arms_by_both_semi_implicit_methods(seed):
    """MuJoCo's default integrator is the same first-order scheme with implicit damping."""
    damped = random_model(
        seed, 4, types=HINGES, branching=0.0, fixed=0.0, limits=False, friction=True
    )
    gap, _, _ = compare(
        rd.robot_model_error(damped, friction=0.0),
        1e-3,
        500,
        lambda t: np.ones(4),
        {"integrator": "Euler"},
        integrator="semi_implicit_euler",
    )
    assert gap < 1e-9


def test_dry_friction_while_sliding():
    """MuJoCo's dry friction is a soft constraint that converges to Coulomb's law while sliding."""
    model = slider(mass=2.0, friction=3.0, damping=0.2)
    gap, plant, _ = compare(
        model,
        1e-3,
        1000,
        lambda t: np.array([8.0 + 2.0 * np.sin(5.0 * t)]),
        integrator="rk4",
        v0=[0.5],
    )
    assert plant.q[0] > 1.0
    assert gap < 1e-3


def test_sticking_is_stricter_here_than_there():
    """Below breakaway MuJoCo's soft friction creeps; ours does not move at all, and theirs not
    much.
    """
    model = slider(mass=2.0, friction=3.0)
    _, plant, twin = compare(model, 1e-3, 1000, lambda t: np.array([2.5]), integrator="rk4")
    assert plant.q[0] == 0.0
    assert 0.0 < abs(twin.q[0]) < 1e-2


def test_arm_with_dry_friction():
    model = random_model(7, 3, types=HINGES, branching=0.0, fixed=0.0, limits=False)
    effort = np.array([30.0, -20.0, 10.0])
    joints = tuple(replace(j, friction=0.5, damping=0.5) for j in model.description.joints)
    rough = model.replace(description=replace(model.description, joints=joints))
    gap, plant, _ = compare(
        rough,
        5e-4,
        600,
        lambda t: effort * np.cos(2.0 * t),
        integrator="rk4",
        friction=JointFriction(),
    )
    assert np.abs(plant.q).max() > 0.3
    assert gap < 2e-2
