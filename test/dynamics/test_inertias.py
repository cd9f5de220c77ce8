"""Inertia about any point in any axes, and subtrees as one body."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_trees import (
    random_description,
    random_model,
    random_pose,
    random_state,
    with_normals_along_z,
)
from support.wrench_oracle import LinkOracle

import robot_dynamics_ros as rd


def about(inertia, mass, r):
    """Parallel axes: the mass centre at ``r`` from the point."""
    return inertia + mass * (r @ r * np.eye(3) - np.outer(r, r))


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_one_link_about_any_point_in_any_axes(seed):
    """xᵀ I x = Σ m |x × r|² over a cloud of point masses that is the body."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, 4, base=random_pose(rng)).with_backend("interpreted")
    q, _, _ = random_state(model, seed)
    link, axes, other = (str(x) for x in rng.choice(model.link_names, 3))
    placed = random_pose(rng)
    body = model.link(link).inertia
    # six masses on the principal axes have the inertia of the body
    moments, directions = np.linalg.eigh(body.rotational)
    squares = np.maximum(moments.sum() / 2 - moments, 0.0)
    arms = np.sqrt(squares * 3 / max(body.mass, 1e-300)) * directions
    cloud = body.com + np.concatenate([arms.T, -arms.T])
    X = rd.link_pose(model, q, link)
    world = cloud @ X[:3, :3].T + X[:3, 3]

    for point, where in (
        (other, rd.link_pose(model, q, other)[:3, 3]),
        ("world", np.zeros(3)),
        ("com", world.mean(axis=0)),
        ((other, (0.1, 0.2, 0.3)), (rd.link_pose(model, q, other) @ [0.1, 0.2, 0.3, 1.0])[:3]),
        (rd.Frame("world", placed), placed.position),
    ):
        for frame, R in (
            (axes, rd.link_pose(model, q, axes)[:3, :3]),
            ("world", np.eye(3)),
            (None, X[:3, :3]),
            (rd.Frame("world", placed), placed.rotation),
        ):
            r = (world - where) @ R
            expected = body.mass / 6.0 * sum(x @ x * np.eye(3) - np.outer(x, x) for x in r)
            found = rd.inertia_about(model, q, link, point=point, frame=frame)
            np.testing.assert_allclose(
                found, expected, atol=1e-10 * max(1.0, np.abs(expected).max())
            )


@pytest.mark.parametrize("seed", range(4))
def test_subtrees_link_by_link(seed):
    """Sums over links whose motion is Pinocchio's."""
    model = rd.RobotModel.from_description(
        with_normals_along_z(random_description(seed, 6, fixed=0.6))
    )
    if seed:
        # each root is a function of its own: not worth compiling again
        model = model.with_backend("interpreted")
    q, v, a = random_state(model, seed)
    oracle = LinkOracle(model, q, v, a)
    pin = oracle.pin
    P = oracle.bridge.model
    D = oracle.data
    for root in model.link_names:
        behind = [root]
        for link in behind:
            behind += [j.child for j in model.description.joints if j.parent == link]
        bodies = [model.link(link).inertia for link in behind]
        mass = sum(b.mass for b in bodies)
        if mass == 0.0:
            with pytest.raises(rd.ModelError, match="mass"):
                rd.subtree_state(model, q, v, a, link=root)
            continue
        com, velocity, acceleration, angular = (np.zeros(3) for _ in range(4))
        for link, body in zip(behind, bodies, strict=True):
            pose = oracle.pose(link)
            k = oracle.ids[link]
            r = pose.rotation @ body.com
            twist = pin.getFrameVelocity(P, D, k, pin.LOCAL_WORLD_ALIGNED)
            rate = pin.getFrameClassicalAcceleration(P, D, k, pin.LOCAL_WORLD_ALIGNED)
            v_c = twist.linear + np.cross(twist.angular, r)
            com += body.mass * pose.act(np.array(body.com)) / mass
            velocity += body.mass * v_c / mass
            acceleration += (
                body.mass
                / mass
                * (
                    rate.linear
                    + np.cross(rate.angular, r)
                    + np.cross(twist.angular, np.cross(twist.angular, r))
                )
            )
            angular += pose.rotation @ body.rotational @ pose.rotation.T @ twist.angular
            # about the world origin
            angular += np.cross(pose.act(np.array(body.com)), body.mass * v_c)
        inertia = sum(
            about(
                oracle.pose(link).rotation @ b.rotational @ oracle.pose(link).rotation.T,
                b.mass,
                oracle.pose(link).act(np.array(b.com)) - com,
            )
            for link, b in zip(behind, bodies, strict=True)
        )
        state = rd.subtree_state(model, q, v, a, link=root)
        assert state.mass == pytest.approx(mass)
        for ours, theirs in (
            (state.com, com),
            (state.com_velocity, velocity),
            (state.com_acceleration, acceleration),
            (state.linear_momentum, mass * velocity),
            (state.angular_momentum_about(np.zeros(3)), angular),
            (state.angular_momentum, angular - np.cross(com, mass * velocity)),
            (state.inertia, inertia),
            (state.inertia_about((1.0, 2.0, 3.0)), about(inertia, mass, com - (1.0, 2.0, 3.0))),
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-9 * max(1.0, np.abs(theirs).max()))


def test_the_rates_of_a_subtrees_momentum_are_the_wrenches_on_it():
    """d/dt of momentum, by differences, is the joint's wrench plus weight."""
    model = random_model(7, 5, fixed=0.5).with_backend("interpreted")
    q, v, a = random_state(model, 7)
    h = 1e-5
    for name in rd.all_joint_names(model):
        link = model.joint(name).child
        wrench = rd.joint_wrenches(
            model, q, v, a, joints=name, expressed_in="world", reduced_at="world"
        )[0]
        try:
            now = rd.subtree_state(model, q, v, a, link=link)
        except rd.ModelError:
            continue
        before, after = (
            rd.subtree_state(model, q + s * h * v + h * h / 2 * a, v + s * h * a, link=link)
            for s in (-1, 1)
        )
        weight = now.mass * model.gravity
        rate = (after.linear_momentum - before.linear_momentum) / (2 * h)
        np.testing.assert_allclose(
            rate, wrench[3:] + weight, atol=1e-5 * max(1.0, np.abs(wrench).max())
        )
        turning = (
            after.angular_momentum_about((0, 0, 0)) - before.angular_momentum_about((0, 0, 0))
        ) / (2 * h)
        moment = wrench[:3] + np.cross(now.com, weight)
        np.testing.assert_allclose(turning, moment, atol=1e-5 * max(1.0, np.abs(wrench).max()))


def test_batches_and_the_whole_robot():
    model = random_model(2, 5)
    q, v, a = random_state(model, 2, (3,))
    state = rd.subtree_state(model, q, v, a)
    p, dp, ddp = rd.center_of_mass_motion(model, q, v, a)
    for ours, theirs in ((state.com, p), (state.com_velocity, dp), (state.com_acceleration, ddp)):
        np.testing.assert_allclose(ours, theirs, atol=1e-10 * max(1.0, np.abs(theirs).max()))
    momentum = np.concatenate([state.angular_momentum, state.linear_momentum], axis=-1)
    np.testing.assert_allclose(momentum, rd.centroidal_momentum(model, q, v), atol=1e-9)
    assert state.inertia_about(np.zeros((3, 3))).shape == (3, 3, 3)
    resting = rd.subtree_state(model, q)
    assert not resting.linear_momentum.any()
