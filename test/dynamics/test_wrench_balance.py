"""The balance of wrenches as set up by moving observers: its parts change, the joint wrench does
not.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_trees import ALL_TYPES, ONE_DOF, random_model, random_pose, random_state

import robot_dynamics_ros as rd


def any_observer(model, rng):
    """A link, the world, or a frame that turns, slides and accelerates relative to one of them."""
    link = str(rng.choice([*model.link_names, "world"]))
    if rng.random() < 0.2:
        return link
    return rd.Frame(link, random_pose(rng), rng.normal(size=6) * 3.0, rng.normal(size=6) * 5.0)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([ONE_DOF, ALL_TYPES]), st.sampled_from([0.0, 0.3]))
def test_every_observer_finds_the_same_joint_wrench(seed, types, mimic):
    rng = np.random.default_rng(seed)
    model = random_model(
        seed,
        int(rng.integers(1, 6)),
        types=types,
        mimic=mimic,
        fixed=0.5,
        floating_base=bool(rng.random() < 0.3),
        gravity=rng.normal(size=3) * 9.0,
        base=random_pose(rng),
    ).with_backend("interpreted")
    q, v, a = random_state(model, seed)
    external = {str(rng.choice(model.link_names)): rng.normal(size=6) * 10.0}
    link = str(rng.choice(model.link_names[1:]))
    joint = next(j.name for j in model.description.joints if j.child == link)
    axes = str(rng.choice([*model.link_names, "child", "parent", "world"]))
    point = str(rng.choice([*model.link_names, "joint", "world"]))
    expected = rd.joint_wrenches(
        model, q, v, a, external=external, joints=joint, expressed_in=axes, reduced_at=point
    )[0]
    balance = rd.wrench_balance(
        model,
        q,
        v,
        a,
        link,
        observer=any_observer(model, rng),
        external=external,
        expressed_in=axes,
        reduced_at=point,
    )
    size = 1.0 + sum(np.abs(part).max() for part in balance.parts.values())
    np.testing.assert_allclose(balance.joint, expected, atol=1e-12 * size)
    others = sum(balance[name] for name in rd.WRENCH_PARTS if name != "dynamic")
    np.testing.assert_allclose(balance["dynamic"], balance.joint + others, atol=1e-12 * size)


@pytest.fixture
def arm():
    model = rd.load_robot("six_axis").attach("tool0", 2.0)
    return model, *random_state(model, 4)


def test_the_world_is_no_fictitious_observer(arm):
    model, q, v, a = arm
    balance = rd.wrench_balance(model, q, v, a, "forearm_link")
    assert not balance.fictitious.any()
    assert set(balance.parts) == set(rd.WRENCH_PARTS)
    com = rd.motion(
        model, q, v, a, point_on="forearm_link", offset=model.link("forearm_link").inertia.com
    )
    np.testing.assert_allclose(
        balance["dynamic"][3:],
        model.link("forearm_link").inertia.mass * com.acceleration,
        atol=1e-10,
    )


def test_riding_on_the_link_nothing_moves(arm):
    """In a link's own frame its mass centre rests: no Coriolis, and what is left of the dynamic
    wrench is a moment.
    """
    model, q, v, a = arm
    balance = rd.wrench_balance(model, q, v, a, "forearm_link", observer="forearm_link")
    np.testing.assert_allclose(balance["dynamic"][3:], 0.0, atol=1e-10)
    np.testing.assert_allclose(balance["coriolis"], 0.0, atol=1e-10)
    mass = model.link("forearm_link").inertia.mass
    felt = rd.motion(
        model, q, v, a, point_on="forearm_link", relative_to="world", expressed_in="forearm_link"
    )
    np.testing.assert_allclose(balance["dalembert"][3:], -mass * felt.acceleration, atol=1e-10)


def test_a_mass_at_rest_seen_from_a_turntable():
    """Turning past a resting mass, one sees it circle backwards: Coriolis less centrifugal force
    keeps it there.
    """
    limb = rd.limb(1, lengths=1.0, masses=2.0, inertia="point", gravity=(0.0, 0.0, 0.0))
    turntable = rd.Frame("world", velocity=(0.0, 0.0, 3.0, 0.0, 0.0, 0.0))
    balance = rd.wrench_balance(limb, [0.0], [0.0], [0.0], "segment1", observer=turntable)
    np.testing.assert_allclose(balance["dynamic"][3:], [0.0, -2.0 * 9.0 * 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(balance["centrifugal"][3:], [0.0, 2.0 * 9.0 * 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        balance["coriolis"][3:], [0.0, -2.0 * 2.0 * 9.0 * 0.5, 0.0], atol=1e-12
    )
    np.testing.assert_allclose(balance.joint, 0.0, atol=1e-12)


def test_an_observer_who_speeds_up_sees_an_euler_force():
    limb = rd.limb(1, lengths=1.0, masses=2.0, inertia="point", gravity=(0.0, 0.0, 0.0))
    stutter = rd.Frame("world", acceleration=(0.0, 0.0, 4.0, 0.0, 0.0, 0.0))
    balance = rd.wrench_balance(limb, [0.0], [0.0], [0.0], "segment1", observer=stutter)
    # −m α × r
    np.testing.assert_allclose(balance["euler"][3:], [2.0 * 4.0 * 0.5, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(balance.joint, 0.0, atol=1e-12)


def test_a_falling_observer_sees_no_weight_carried_twice(arm):
    """In a freely falling lift D'Alembert's force cancels gravity."""
    model, q, v, a = arm
    lift = rd.Frame("world", acceleration=(0, 0, 0, *model.gravity))
    balance = rd.wrench_balance(model, q, v, a, "forearm_link", observer=lift)
    np.testing.assert_allclose(balance["dalembert"] + balance["gravity"], 0.0, atol=1e-10)


def test_distal_is_the_reaction_of_the_next_joints_and_external_is_what_was_given(arm):
    model, q, v, a = arm
    push = np.arange(1.0, 7.0)
    balance = rd.wrench_balance(
        model, q, v, a, "wrist_2_link", external={"wrist_2_link": push}, expressed_in="child"
    )
    np.testing.assert_allclose(balance["external"], push, atol=1e-12)
    next_joint = rd.joint_wrenches(
        model,
        q,
        v,
        a,
        joints="wrist_3_joint",
        expressed_in="wrist_2_link",
        reduced_at="wrist_2_link",
    )[0]
    np.testing.assert_allclose(balance["distal"], -next_joint, atol=1e-10)


def test_a_massless_flange_hands_everything_on(arm):
    model, q, v, a = arm
    balance = rd.wrench_balance(model, q, v, a, "tool0", observer="forearm_link")
    for name in ("dynamic", "gravity", "dalembert", "coriolis", "centrifugal", "euler", "external"):
        assert not balance[name].any()
    np.testing.assert_array_equal(balance.joint, -balance["distal"])
