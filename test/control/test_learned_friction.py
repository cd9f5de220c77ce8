"""Friction that the default law learns, on robots that MuJoCo moves: MuJoCo's friction is known."""

import collections
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.differing_twin import ARM, HOME, PERIOD, STEP, Twin, differing

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import Robustness
from robot_dynamics_ros.control.cycle.friction import compensated_friction, take_over
from robot_dynamics_ros.control.cycle.memory import (
    CycleMemory,
    FrictionMemory,
    LadderMemory,
    RejectionMemory,
)
from robot_dynamics_ros.control.cycle.message import ArrivedState
from robot_dynamics_ros.dynamics.engine.codegen.declared import DeclaredField

# N m: 1 to 5 % of the effort limits
DRY = np.array([0.05, 0.04, 0.03, 0.03, 0.02, 0.01]) * ARM.effort_limit
# s, of one way; ways to and fro
WAY_S = 1.0
WAYS = 6


def to_and_fro(truth, claim=ARM, delay=0):
    """Move between two poses; errors row by row, the controller."""
    robustness = Robustness(delay=delay * PERIOD * 1e-9)
    controller = rd.JointController(claim, options=rd.ControllerOptions(robustness=robustness))
    controller.want_wrenches = controller.want_efforts = False
    twin = Twin(truth, delay)
    t = 10**9
    controller.activate(t, twin.robot.q, twin.robot.v)
    rest = np.zeros(ARM.nv)
    ways = range(1, WAYS + 1)
    path = rd.Trajectory.from_waypoints(
        ARM.joint_names,
        [WAY_S * k for k in ways],
        [HOME + STEP * (k % 2) for k in ways],
        [rest] * WAYS,
        [rest] * WAYS,
    )
    errors = []
    for k in range(int((WAYS * WAY_S + 0.6) * 1e9) // PERIOD):
        t += PERIOD
        if k == 250:
            controller.accept_trajectory(path, t)
        command = controller.update(t, twin.robot.q, twin.robot.v)
        errors.append(controller.reference[0] - twin.robot.q)
        twin.step(command)
    return np.abs(errors), controller


def test_friction_is_found_beside_wrong_masses_and_rotors():
    errors, controller = to_and_fro(differing(dry=DRY, rotors=0.05, mass=1.2), delay=3)
    described = controller.memory["trust"] * ARM.friction
    found = controller.memory["learned_friction"] + described
    assert (found > 0.5 * DRY).all() and (found < 1.2 * DRY).all()
    # a joint turns back better once its friction is learned
    turns = [errors[turn - 50 : turn + 150].max(0).sum() for turn in (750, 2750)]
    assert turns[1] < 0.8 * turns[0]


@pytest.mark.parametrize("mass", [0.8, 1.25])
def test_masses_that_are_wrong_are_not_taken_for_friction(mass):
    _, controller = to_and_fro(differing(mass=mass))
    assert (controller.memory["learned_friction"] < 0.005 * ARM.effort_limit).all()


def test_described_friction_is_trusted_as_far_as_it_is_there():
    """The description says twice what there is."""
    _, controller = to_and_fro(differing(dry=DRY), differing(dry=2.0 * DRY))
    np.testing.assert_allclose(controller.memory["trust"], 0.5, atol=0.15)
    assert (controller.memory["learned_friction"] < 0.1 * DRY).all()


def test_rest_makes_friction_no_less_certain():
    controller = rd.JointController(ARM)
    t = 10**9
    still = np.zeros(ARM.nv)
    controller.activate(t, HOME, still)
    for k in range(200):
        controller.update(t + (k + 1) * PERIOD, HOME, still)
    before = controller.memory["spread"][2].copy()
    assert (before > 0.0).all()
    for k in range(200, 30_000):
        controller.update(t + (k + 1) * PERIOD, HOME, still)
    np.testing.assert_array_equal(controller.memory["spread"][2], before)


SHARES = st.floats(0.0, 1.0)
EFFORTS = st.floats(0.0, 5.0)


@given(
    side=st.sampled_from([-1.0, -0.95, 0.95, 1.0]),
    trust=SHARES,
    learned=EFFORTS,
    breaking=EFFORTS,
    rejected=st.floats(-5.0, 5.0),
    dry=EFFORTS,
    claimed=EFFORTS,
    more=st.floats(-20.0, 20.0),
)
def test_what_friction_takes_over_makes_no_step(
    side, trust, learned, breaking, rejected, dry, claimed, more
):
    p = types.SimpleNamespace(
        side=[side],
        trust=[trust],
        learned_friction=[learned],
        breaking=[breaking],
        rejected=[rejected],
        dry=[dry],
        claimed=[np.sign(side) * claimed],
        effort_size=[100.0],
    )

    def effort():
        law = p.trust[0] * p.claimed[0] * abs(side)
        return p.rejected[0] + law + compensated_friction(p, 0)

    before = effort()
    take_over(p, 0, more)
    # the law's own friction is not scaled by the side; all else is
    tolerance = 1e-9 + 0.06 * abs(p.trust[0] - trust) * max(claimed, dry)
    assert abs(effort() - before) <= tolerance
    assert 0.0 <= p.trust[0] <= 1.0
    assert p.learned_friction[0] >= 0.0 and p.breaking[0] >= 0.0


def test_the_cycle_declares_each_name_once():
    """A second declaration of a name would take the place of the first without a word."""
    parts = (ArrivedState, RejectionMemory, LadderMemory, FrictionMemory, CycleMemory)
    names = [
        name
        for part in parts
        for name, value in vars(part).items()
        if isinstance(value, DeclaredField)
    ]
    twice = {name for name, number in collections.Counter(names).items() if number > 1}
    # the velocity that friction is for is that of the cycle
    assert twice == {"v"}
