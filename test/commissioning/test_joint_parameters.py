"""Rotors and friction from a motion and its commands: MuJoCo moves the arm, and has other numbers
than the description.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo moves the stand-ins")

from support.wrong_arm import HOME, PERIOD, WrongArm, described

import robot_dynamics_ros as rd
from robot_dynamics_ros.commissioning import ArmSettings, joint_parameters
from robot_dynamics_ros.errors import ArgumentError

CLAIM = described(friction=(1.0, 1.0, 1.0), armature=(0.4, 0.4, 0.0))
ARMATURE, DAMPING, FRICTION = (
    np.array(x) for x in ((0.15, 0.2, 0.08), (4.0, 5.0, 2.0), (5.0, 6.0, 2.5))
)


def truth_of(mass=1.0):
    """The arm as it is: other rotors and friction, and other masses."""
    numbers = (
        dict(zip(CLAIM.joint_names, x.tolist(), strict=True)) for x in (ARMATURE, FRICTION, DAMPING)
    )
    model = CLAIM.replace(description=CLAIM.description.with_joints(*numbers))
    return model if mass == 1.0 else rd.robot_model_error(model, mass=mass)


def driven(truth, *, moves=(1.0, 1.0, 1.0), delay=2, lifts=False, seconds=8.0):
    """Times, positions and commands of an arm that follows two sines a joint: of one alone, gravity
    goes with the acceleration.
    """
    arm = WrongArm(truth, delay=delay, lifts=lifts)
    rows = []
    state = arm.read()
    size = 0.25 * np.array(moves)
    rate = 2.0 * np.pi * np.array([[0.45, 0.7, 1.1], [1.03, 1.6, 2.3]])
    share = np.array([[1.0], [0.4]])
    inertia = np.diagonal(rd.mass_matrix(truth, HOME))
    while state.t < seconds:
        goal = HOME + size * (share * np.sin(rate * state.t)).sum(axis=0)
        speed = size * (share * rate * np.cos(rate * state.t)).sum(axis=0)
        weight = 0.0 if lifts else rd.gravity_forces(CLAIM, state.q)
        command = weight + inertia * (400.0 * (goal - state.q) + 40.0 * (speed - state.v))
        arm.send(command)
        rows.append((state.t, state.q, command))
        state = arm.read()
    t, q, u = (np.array(x) for x in zip(*rows, strict=True))
    return t, q, u, (delay + 0.5) * PERIOD


@pytest.mark.parametrize("mass", [1.0, 1.04, 0.96])
@pytest.mark.parametrize("lifts", [False, True])
def test_rotors_and_friction_are_found_beside_masses_that_are_not_exact(mass, lifts):
    who = "robot" if lifts else "controller"
    truth = truth_of(mass)
    joints = joint_parameters(CLAIM, *driven(truth, lifts=lifts), gravity_compensated_by=who)
    bodies = np.diagonal(rd.mass_matrix(truth, HOME)) - ARMATURE
    # a rotor may take the place of the inertia that masses miss, and of no more
    assert (np.abs(joints.armature - ARMATURE) < 0.01 + abs(1.0 - mass) * bodies).all()
    assert (joints.friction < 1.02 * FRICTION).all() and (joints.friction > 0.85 * FRICTION).all()
    assert (joints.damping < 1.05 * DAMPING).all() and (joints.damping > 0.75 * DAMPING).all()
    before, after = joints.unexplained
    assert after < 0.3 * before


def test_a_joint_that_stands_keeps_its_numbers():
    joints = joint_parameters(CLAIM, *driven(truth_of(), moves=(1.0, 0.0, 1.0)))
    for seen in (joints.armature, joints.damping, joints.friction):
        assert np.isnan(seen).tolist() == [False, True, False]
    numbers = {"rotor": joints.armature, "friction": joints.friction, "damping": joints.damping}
    settings = ArmSettings(armature={"joint2": 0.3}).learned(CLAIM.joint_names, numbers)
    assert settings.armature["joint2"] == 0.3 and sorted(settings.friction) == ["joint1", "joint3"]
    model = settings.model(CLAIM)
    assert model.damping[1] == CLAIM.damping[1] and model.friction[1] == CLAIM.friction[1]
    assert model.damping[0] == pytest.approx(joints.damping[0], rel=1e-3)


def test_too_few_states_are_an_error():
    t, q, command, delay = driven(truth_of(), seconds=0.02)
    with pytest.raises(ArgumentError, match="too few"):
        joint_parameters(CLAIM, t, q, command, delay)
