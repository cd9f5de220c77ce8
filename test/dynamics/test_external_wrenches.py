"""External wrenches on any link, at any offset, in any frame; their work, and what it becomes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.memory import least_memory
from support.random_trees import random_model, random_pose, random_state

import robot_dynamics_ros as rd


@pytest.fixture
def tree():
    model = random_model(11, 5, fixed=0.5, base=random_pose(np.random.default_rng(11)))
    return model, *random_state(model, 11)


@pytest.mark.parametrize("axes", [None, "world", "other", "frame"])
def test_the_efforts_that_hold_a_force_at_a_point(tree, axes):
    """−Jᵀ f with the Jacobian of the very point."""
    model, q, v, a = tree
    rng = np.random.default_rng(0)
    link = model.link_names[-1]
    other = model.link_names[1]
    frame = rd.Frame(other, random_pose(rng))
    chosen = {None: None, "world": "world", "other": other, "frame": frame}[axes]
    F, M, r = rng.normal(size=(3, 3)) * 10.0
    R = {
        None: rd.link_pose(model, q, link)[:3, :3],
        "world": np.eye(3),
        "other": rd.link_pose(model, q, other)[:3, :3],
        "frame": rd.link_pose(model, q, other)[:3, :3] @ frame.rotation,
    }[axes]
    J = rd.jacobian(model, q, link, offset=r)
    expected = rd.inverse_dynamics(model, q, v, a) - J.T @ np.concatenate([R @ M, R @ F])
    push = rd.wrench_on_link(model, q, link, force=F, moment=M, offset=r, expressed_in=chosen)
    np.testing.assert_allclose(
        rd.inverse_dynamics(model, q, v, a, external={link: push}), expected, atol=1e-9
    )


def test_wrench_values_are_taken_as_they_are(tree):
    model, q, v, a = tree
    link = model.link_names[-1]
    other = model.link_names[1]
    F = np.array([1.0, -2.0, 3.0])
    M = np.array([0.4, 0.5, -0.6])
    at = rd.Wrench(F, M, point=(0.1, 0.2, 0.3), frame=link)
    expected = rd.inverse_dynamics(
        model,
        q,
        v,
        a,
        external={
            link: rd.wrench_on_link(model, q, link, force=F, moment=M, offset=(0.1, 0.2, 0.3))
        },
    )
    for value in (
        at,
        at.express("world", rd.link_pose(model, q, link)),
        at.express(
            other, np.linalg.inv(rd.link_pose(model, q, other)) @ rd.link_pose(model, q, link)
        ),
        [at * 0.25, at.translate((1.0, 0.0, 0.0)) * 0.75],
    ):
        np.testing.assert_allclose(
            rd.inverse_dynamics(model, q, v, a, external={link: value}), expected, atol=1e-9
        )
    # a batch of states, one wrench in world axes: another one in the link's axes for each
    many = q + np.linspace(0.0, 1.0, 4)[:, None]
    world = rd.Wrench(F, M, point=(0.5, 0.0, 0.0))
    batch = rd.inverse_dynamics(model, many, v, a, external={link: world})
    for k in range(4):
        np.testing.assert_allclose(
            batch[k], rd.inverse_dynamics(model, many[k], v, a, external={link: world}), atol=1e-9
        )


def test_a_wrench_passes_through_every_joint_before_its_link(tree):
    """About one point in world axes, all joints between root and link carry the same reaction more,
    others none.
    """
    model, q, v, a = tree
    link = model.link_names[-1]
    push = rd.Wrench((3.0, -1.0, 2.0), (0.1, 0.2, 0.3), (0.3, 0.2, 0.1))
    kwargs = dict(joints="all", expressed_in="world", reduced_at=("world", push.point))
    change = rd.joint_wrenches(model, q, v, a, external={link: push}, **kwargs) - rd.joint_wrenches(
        model, q, v, a, **kwargs
    )
    above = set()
    at = link
    while at != model.root_link:
        joint = next(j for j in model.description.joints if j.child == at)
        above.add(joint.name)
        at = joint.parent
    for name, row in zip(rd.all_joint_names(model), change, strict=True):
        np.testing.assert_allclose(row, -push.vector if name in above else np.zeros(6), atol=1e-9)


def test_work_done_by_external_wrenches_becomes_energy():
    """A force that follows the link and another fixed in the world, at offsets, while the robot
    swings freely.
    """
    model = random_model(21, 4, fixed=0.5)
    q0, v0, _ = random_state(model, 21)
    v0 = v0 / 3.0
    links = model.link_names[-1], model.link_names[len(model.link_names) // 2]
    follower = rd.Wrench((4.0, 5.0, -6.0), (1.0, 0.5, -0.4), (0.2, -0.1, 0.3), links[0])
    constant = np.array([3.0, -7.0, 2.0])
    at = (0.1, 0.4, -0.2)

    def external(q):
        return {
            links[0]: follower,
            links[1]: rd.wrench_on_link(
                model, q, links[1], force=constant, offset=at, expressed_in="world"
            ),
        }

    def power(q, v):
        first = rd.motion(
            model, q, v, point_on=links[0], offset=follower.point, expressed_in=links[0]
        )
        second = rd.motion(model, q, v, point_on=links[1], offset=at)
        return follower.power(first.twist) + constant @ second.velocity

    n = model.nv

    def rate(_, x):
        q = x[:n]
        v = x[n : 2 * n]
        a = rd.forward_dynamics(model, q, v, np.zeros(n), external=external(q))
        return np.concatenate([v, a, [power(q, v)]])

    end = solve_ivp(rate, (0.0, 0.6), np.concatenate([q0, v0, [0.0]]), rtol=1e-10, atol=1e-11).y[
        :, -1
    ]
    q = end[:n]
    v = end[n : 2 * n]
    work = end[-1]

    def energy(q, v):
        return rd.kinetic_energy(model, q, v) + rd.potential_energy(model, q)

    assert abs(work) > 1.0
    assert energy(q, v) - energy(q0, v0) == pytest.approx(work, rel=1e-7)


def test_a_contact_force_is_read_off_the_flange():
    """At rest under a push on the tool, the flange carries the tool's weight less the push."""
    arm = rd.load_robot("six_axis").attach("tool0", 1.5, name="tool")
    q = np.linspace(0.3, -0.9, 6)
    rest = np.zeros(6)
    push = rd.Wrench((5.0, -3.0, 12.0), frame="tool").translate((0.0, 0.0, 0.0))
    carried = rd.joint_wrench(
        arm, q, rest, rest, "tool_joint", external={"tool": push}, expressed_in="world"
    )
    R = rd.link_pose(arm, q, "tool")[:3, :3]
    np.testing.assert_allclose(carried.force, -1.5 * arm.gravity - R @ push.force, atol=1e-10)


def random_wrenches(rng, model, batch=()):
    """Wrenches on a few links, moving, merged or on the base, as arrays or as values in any
    frame.
    """
    links = rng.choice(model.link_names, size=rng.integers(1, 6), replace=False)
    found = {}
    for link in links:
        if rng.random() < 0.3:
            frame = str(rng.choice([*model.link_names, "world"]))
            found[str(link)] = rd.Wrench(*rng.normal(size=(3, 3)), frame=frame)
        else:
            found[str(link)] = rng.normal(size=(*batch, 6))
    return found


@pytest.mark.parametrize("backend", ["native", "interpreted"])
def test_any_set_of_links_is_one_compiled_function(backend):
    model = random_model(21, 6, branching=0.5, fixed=0.6, mimic=0.2).with_backend(backend)
    q, v, a = random_state(model, 21)
    joints = rd.all_joint_names(model)
    rng = np.random.default_rng(21)

    def everything(external):
        return [
            rd.inverse_dynamics(model, q, v, a, external=external),
            rd.bias_forces(model, q, v, external=external),
            rd.forward_dynamics(model, q, v, a, external=external),
            rd.external_efforts(model, q, external),
            *rd.inverse_dynamics_derivatives(model, q, v, a, external=external),
            rd.joint_wrenches(model, q, v, a, external=external),
            rd.joint_wrenches(
                model, q, v, a, external=external, joints="all", expressed_in="world"
            ),
            rd.wrench_balance(
                model, q, v, a, model.joint(joints[-1]).child, external=external
            ).joint,
        ]

    everything({model.link_names[-1]: rd.Wrench((1.0, 0.0, 0.0))})
    before = rd.prepared(model)
    assert len(before) >= 8
    for _ in range(12 if backend == "native" else 2):
        everything(random_wrenches(rng, model))
        rd.inverse_dynamics(
            model, np.stack([q, q]), v, a, external=random_wrenches(rng, model, (2,))
        )
    assert rd.prepared(model) == before


def test_efforts_of_external_wrenches_are_jacobians_transposed(tree):
    model, q, v, a = tree
    rng = np.random.default_rng(1)
    for _ in range(5):
        external = {
            link: rng.normal(size=6) for link in rng.choice(model.link_names, size=4, replace=False)
        }
        expected = np.zeros(model.nv)
        for link, wrench in external.items():
            expected += rd.jacobian(model, q, link, expressed_in="link").T @ wrench
        np.testing.assert_allclose(rd.external_efforts(model, q, external), expected, atol=1e-9)
        np.testing.assert_allclose(
            rd.inverse_dynamics(model, q, v, a, external=external),
            rd.inverse_dynamics(model, q, v, a) - expected,
            atol=1e-9,
        )
        # in a control cycle
        gatherer = rd.WrenchGatherer(model)
        rows = np.full((model.nb, 6), np.nan)
        run = rd.kernel(model, "external_efforts", external=True)
        np.testing.assert_allclose(run(q, gatherer.gather(external, rows)), expected, atol=1e-9)
    assert rd.external_efforts(model, q, {}).tolist() == [0.0] * model.nv
    assert rd.external_efforts(model, q, {model.root_link: np.ones(6)}).tolist() == [0.0] * model.nv
    with pytest.raises(rd.UnknownNameError, match="hand"):
        gatherer.gather({"hand": np.ones(6)}, rows)


def test_wrenches_on_a_robot_without_joints():
    model = rd.limb(1).lock("joint1")
    assert rd.inverse_dynamics(
        model, [], [], [], external={model.link_names[-1]: np.ones(6)}
    ).shape == (0,)
    held = rd.joint_wrenches(
        model, [], [], [], external={model.link_names[-1]: np.ones(6)}, joints="all"
    )
    free = rd.joint_wrenches(model, [], [], [], joints="all")
    assert not np.allclose(held, free)


def test_batches_that_do_not_fit_are_named(tree):
    model, q, v, a = tree
    external = {model.link_names[1]: np.ones((2, 6)), model.link_names[2]: np.ones((3, 6))}
    with pytest.raises(rd.ArgumentError, match="batch dimensions"):
        rd.inverse_dynamics(model, q, v, a, external=external)


def test_gathering_in_a_cycle_allocates_nothing_that_stays(tree):
    model, *_ = tree
    gatherer = rd.WrenchGatherer(model)
    rows = np.empty((model.nb, 6))
    held = {link: np.ones(6) for link in model.link_names}

    def cycles():
        for _ in range(200):
            gatherer.gather(held, rows)

    cycles()
    tracemalloc.start()
    try:
        left, peak = least_memory(cycles)
    finally:
        tracemalloc.stop()
    assert left < 500
    assert peak < 2000
