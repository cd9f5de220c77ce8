"""Wrenches for a control cycle: kernels for chosen joints, the flange that reads like a sensor,
stated delays.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.cycle_steps import limited, put
from support.random_trees import random_model, random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.contact import FlangeLoad
from robot_dynamics_ros.control.cycle.wrenches import differentiate
from robot_dynamics_ros.control.kernels import BalanceKernel, JointKernel, matching
from robot_dynamics_ros.simulation import Plant

DT = 0.002


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("six_axis").attach(
        "tool0", rd.Inertia(1.5, (0.02, -0.03, 0.08), 0.01 * np.eye(3)), name="tool"
    )


def swing(arm, load, push, duration=1.5, *, told=None):
    """The arm follows a sine under a push on the tool; yields (time, load read, true wrench of the
    flange).
    """
    home = np.array([0.3, -1.2, 1.4, -0.6, 0.9, 0.2])
    plant = Plant(arm, DT, friction=None, q0=home, stops=None, substeps=4)
    for k in range(round(duration / DT)):
        t = k * DT
        w = 1.5 + 0.3 * np.arange(6)
        q_d = home + 0.2 * (1 - np.cos(w * t))
        v_d = 0.2 * w * np.sin(w * t)
        a_d = 0.2 * w * w * np.cos(w * t)
        tau = rd.inverse_dynamics(
            arm, plant.q, plant.v, a_d + 100.0 * (q_d - plant.q) + 20.0 * (v_d - plant.v)
        )
        outside = {"tool": push(t)}
        plant.step(tau, outside)
        read = load.update(plant.q, plant.v, tau, DT, (told or {}) and outside)
        a = plant.acceleration()
        true = rd.joint_wrenches(arm, plant.q, plant.v, a, external=outside, joints=load.joint)[0]
        yield t, read.copy(), true


# about the tool's origin, which is tool0's
PUSH = np.array([0.3, -0.2, 0.4, 8.0, -5.0, -20.0])


def test_the_flange_reads_the_tool_and_the_contact_while_the_arm_moves(arm):
    # what the push is to the joints changes as they turn, and the estimate follows 1 / gain later
    load = FlangeLoad(arm, "tool0_joint", gain=200.0)
    found = [(read, true) for t, read, true in swing(arm, load, lambda t: PUSH) if t > 0.3]
    error = np.array([read + true for read, true in found])
    assert np.abs([true[3:] for _, true in found]).max() > 15.0
    assert np.abs(error[:, 3:]).max() < 0.2
    assert np.abs(error[:, :3]).max() < 0.05


def test_without_weight_and_inertia_the_contact_remains(arm):
    load = FlangeLoad(arm, "tool0_joint", subtract=True, gain=200.0)
    read = np.array([read for t, read, _ in swing(arm, load, lambda t: PUSH) if t > 0.3])
    np.testing.assert_allclose(read, np.broadcast_to(PUSH, read.shape), atol=0.2)


def test_nothing_touches_and_nothing_is_read(arm):
    load = FlangeLoad(arm, "tool0_joint", subtract=True)
    read = np.array([read for _, read, _ in swing(arm, load, lambda t: np.zeros(6))])
    assert np.abs(read[:, 3:]).max() < 0.2
    assert np.abs(read[:, :3]).max() < 0.05


def test_a_contact_is_followed_with_the_delay_of_the_observer(arm):
    """63 % of a step after 1 / gain."""
    load = FlangeLoad(arm, "tool0_joint", subtract=True, gain=20.0)
    read = {round(t, 4): read for t, read, _ in swing(arm, load, lambda t: PUSH * (t >= 0.5), 0.8)}
    share = read[round(0.5 + 1 / 20.0, 4)][5] / PUSH[5]
    assert share == pytest.approx(1 - math.exp(-1.0), abs=0.03)


def test_known_contact_needs_no_estimate(arm):
    load = FlangeLoad(arm, "tool0_joint", contact="known")
    for _, read, true in swing(arm, load, lambda t: PUSH * math.sin(20 * t), 0.3, told=True):
        np.testing.assert_allclose(read, -true, atol=1e-8)


def test_in_another_links_frame(arm):
    own = FlangeLoad(arm, "tool0_joint", contact="known")
    other = FlangeLoad(arm, "tool0_joint", contact="known", frame="forearm_link")
    q, v, a = random_state(arm, 3)
    here, there = (load.update(q, v, np.zeros(6), DT, {}, a).copy() for load in (own, other))
    expected = rd.joint_wrenches(
        arm, q, v, a, joints="tool0_joint", expressed_in="forearm_link", reduced_at="forearm_link"
    )[0]
    np.testing.assert_allclose(there, -expected, atol=1e-9)
    np.testing.assert_allclose(
        here, -rd.joint_wrenches(arm, q, v, a, joints="tool0_joint")[0], atol=1e-9
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"joint": "tool1"},
        {"joint": "tool0_joint", "frame": "sensor"},
        {"joint": "tool0_joint", "contact": "guessed"},
    ],
)
def test_unknown_names(arm, arguments):
    with pytest.raises(rd.UnknownNameError):
        FlangeLoad(arm, **arguments)


def test_kernels_are_the_library():
    model = random_model(8, 5, fixed=0.6, mimic=0.3)
    q, v, a = random_state(model, 8)
    external = {model.link_names[-1]: np.arange(1.0, 7.0)}
    names = rd.all_joint_names(model)
    np.testing.assert_allclose(
        JointKernel(model, names)(q, v, a, external),
        rd.joint_wrenches(model, q, v, a, external=external, joints="all"),
        atol=1e-9,
    )
    for observer in (model.link_names[2], "world"):
        balance = BalanceKernel(model, names[-1], observer)
        expected = rd.wrench_balance(
            model, q, v, a, model.joint(names[-1]).child, observer=observer, external=external
        )
        for name, row in zip(balance.names, balance(q, v, a, external), strict=True):
            np.testing.assert_allclose(row, expected[name], atol=1e-9)
    with pytest.raises(rd.UnknownNameError, match="moon"):
        BalanceKernel(model, names[-1], "moon")


def test_joints_are_chosen_by_patterns():
    names = ("tool0_joint", "tool1_joint", "camera_joint")
    assert matching(["tool*"], names, "p") == names[:2]
    assert matching(["*joint", "tool0_joint"], names, "p") == names
    assert matching([], names, "p") == ()
    with pytest.raises(rd.UnknownNameError, match=r"p: .*'gripper\*'.*camera_joint"):
        matching(["gripper*"], names, "p")


@pytest.mark.parametrize("cutoff", [10.0, 30.0])
def test_the_delay_of_the_differentiated_velocity_is_the_stated_one(cutoff):
    """1 / (2 π cutoff) and half a period, for motions slower than the filter."""
    dt = 0.001
    w = 2.0
    p = limited(rd.load_robot("pendulum"))
    t = np.arange(5000) * dt
    out = []
    for x in t:
        differentiate(put(p, dt=[dt], wrench_cutoff=[cutoff], v=[math.sin(w * x)]))
        out.append(p.wrench_acceleration[0])
    out = np.array(out)
    late = slice(2000, None)
    basis = np.stack([np.cos(w * t[late]), np.sin(w * t[late])], axis=-1)
    (c, s), *_ = np.linalg.lstsq(basis, out[late], rcond=None)
    delay = math.atan2(s, c) / w
    assert delay == pytest.approx(1 / (2 * math.pi * cutoff) + dt / 2, rel=0.05)
