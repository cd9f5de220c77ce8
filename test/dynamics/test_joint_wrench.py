"""Joint wrenches of all joints, in any frame, about any point, against sums over links with
Pinocchio's kinematics.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.random_trees import (
    ALL_TYPES,
    ONE_DOF,
    random_description,
    random_model,
    random_pose,
    random_state,
    with_normals_along_z,
)
from support.wrench_oracle import LinkOracle, spatial

import robot_dynamics_ros as rd

KINDS = {
    "tree": dict(types=ONE_DOF, fixed=0.6),
    "all joint types": dict(types=ALL_TYPES, fixed=0.6),
    "mimic": dict(types=ONE_DOF, fixed=0.5, mimic=0.4),
    "chain with armature": dict(types=ONE_DOF, fixed=0.5, branching=0.0, armature=True),
}
CASES = [(kind, seed) for kind in KINDS for seed in range(2)]


def case(kind, seed):
    description = with_normals_along_z(random_description(seed, 6, **KINDS[kind]))
    model = rd.RobotModel.from_description(description, gravity=(1.0, -2.0, -9.0))
    q, v, a = random_state(model, seed)
    rng = np.random.default_rng(seed)
    external = {name: rng.normal(size=6) * 10.0 for name in rng.permutation(model.link_names)[:4]}
    return model, q, v, a, external, rng


def scale(x):
    return max(1.0, np.abs(x).max())


@pytest.mark.parametrize("kind, seed", CASES)
def test_every_joint_carries_what_is_behind_it(kind, seed):
    model, q, v, a, external, _ = case(kind, seed)
    if seed:
        # each choice of joints is a function of its own: not worth compiling again
        model = model.with_backend("interpreted")
    oracle = LinkOracle(model, q, v, a)
    names = rd.all_joint_names(model)
    assert set(names) == {joint.name for joint in model.description.joints}
    found = rd.joint_wrenches(model, q, v, a, external=external, joints="all")
    expected = np.array(
        [
            spatial(
                oracle.pose(model.joint(name).child).actInv(oracle.joint_wrench(name, external))
            )
            for name in names
        ]
    )
    np.testing.assert_allclose(found, expected, atol=1e-10 * scale(expected))
    some = list(names[::-2])
    rows = [names.index(name) for name in some]
    np.testing.assert_allclose(
        rd.joint_wrenches(model, q, v, a, external=external, joints=some),
        expected[rows],
        atol=1e-10 * scale(expected),
    )


@pytest.mark.parametrize("kind, seed", CASES)
def test_any_axes_and_any_point(kind, seed):
    model, q, v, a, external, rng = case(kind, seed)
    # thirty combinations are not worth compiling
    model = model.with_backend("interpreted")
    oracle = LinkOracle(model, q, v, a)
    pin = oracle.pin
    names = rd.all_joint_names(model)
    link, other = (str(x) for x in rng.choice(model.link_names, 2))
    pose = random_pose(rng)
    placed = oracle.pose(link) * pin.SE3(pose.rotation, pose.position)
    identity = pin.SE3.Identity()
    axes = {
        "world": lambda j: identity,
        link: lambda j: oracle.pose(link),
        "child": lambda j: oracle.pose(j.child),
        "parent": lambda j: oracle.pose(j.parent),
        rd.Frame(link, pose): lambda j: placed,
        rd.Frame("world", pose): lambda j: pin.SE3(pose.rotation, pose.position),
    }
    points = {
        "joint": lambda j: oracle.pose(j.child).translation,
        "world": lambda j: np.zeros(3),
        other: lambda j: oracle.pose(other).translation,
        rd.Frame(link, pose): lambda j: placed.translation,
        (link, (0.1, -0.2, 0.3)): lambda j: oracle.pose(link).act(np.array([0.1, -0.2, 0.3])),
    }
    for expressed_in, axes_of in axes.items():
        for reduced_at, point_of in points.items():
            found = rd.joint_wrenches(
                model,
                q,
                v,
                a,
                external=external,
                joints="all",
                expressed_in=expressed_in,
                reduced_at=reduced_at,
            )
            for row, name in zip(found, names, strict=True):
                joint = model.joint(name)
                frame = pin.SE3(axes_of(joint).rotation, point_of(joint))
                expected = spatial(frame.actInv(oracle.joint_wrench(name, external)))
                np.testing.assert_allclose(row, expected, atol=1e-9 * scale(found))


@pytest.mark.parametrize("backend", ["native", "loops", "numpy", "interpreted"])
def test_batches_are_their_states_on_every_backend(backend):
    model = random_model(3, 5, fixed=0.7, types=ALL_TYPES).with_backend(backend)
    q, v, a = random_state(model, 1, (2, 3))
    link = model.link_names[-1]
    frame = rd.Frame(link, random_pose(np.random.default_rng(1)))
    whole = rd.joint_wrenches(model, q, v, a, joints="all", expressed_in=frame, reduced_at=frame)
    observer = rd.Frame(link, velocity=np.arange(6.0), acceleration=np.ones(6))
    balance = rd.wrench_balance(model, q, v, a, link, observer=observer)
    seen = rd.motion(model, q, v, a, point_on=link, offset=(0.1, 0.2, 0.3), relative_to=observer)
    # these are compared with Pinocchio above
    interpreted = model.with_backend("interpreted")
    for k in np.ndindex(2, 3):
        s = q[k], v[k], a[k]
        one = rd.joint_wrenches(interpreted, *s, joints="all", expressed_in=frame, reduced_at=frame)
        np.testing.assert_allclose(whole[k], one, atol=1e-10 * scale(one))
        np.testing.assert_allclose(
            balance.joint[k],
            rd.wrench_balance(interpreted, *s, link, observer=observer).joint,
            atol=1e-10 * scale(one),
        )
        again = rd.motion(
            interpreted, *s, point_on=link, offset=(0.1, 0.2, 0.3), relative_to=observer
        )
        np.testing.assert_allclose(seen.acceleration[k], again.acceleration, atol=1e-9)
        np.testing.assert_allclose(seen.rotation[k], again.rotation, atol=1e-12)


def test_the_default_is_what_it_was():
    model, q, v, a, external, _ = case("mimic", 1)
    plain = rd.joint_wrenches(model, q, v, a, external=external)
    assert plain.shape == (len(model.joint_names), 6)
    named = rd.joint_wrenches(model, q, v, a, external=external, joints=model.joint_names)
    np.testing.assert_allclose(named, plain, atol=1e-10 * scale(plain))


def test_a_moving_base_is_carried_along():
    """A robot on an accelerating base is the same robot on a floating base that moves so."""
    model = random_model(4, 4, fixed=0.6)
    floating = rd.load_urdf(rd.to_urdf(model), floating_base=True)
    q, v, a = random_state(model, 2)
    rng = np.random.default_rng(0)
    twist = rng.normal(size=6)
    acceleration = rng.normal(size=6)
    qf = np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], q])
    # the free joint's acceleration is that of its coordinates: p̈ = R (v̇ + ω × v)
    vf = np.concatenate([twist, v])
    af = np.concatenate([acceleration[:3], acceleration[3:] - np.cross(twist[:3], twist[3:]), a])
    for expressed_in in ("child", "world"):
        ours = rd.joint_wrenches(
            model, q, v, a, joints="all", base=(twist, acceleration), expressed_in=expressed_in
        )
        theirs = rd.joint_wrenches(
            floating, qf, vf, af, joints=rd.all_joint_names(model), expressed_in=expressed_in
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * scale(theirs))
    link = model.link_names[-1]
    ours = rd.motion(model, q, v, a, point_on=link, base=(twist, acceleration))
    theirs = rd.motion(floating, qf, vf, af, point_on=link)
    for name in ("velocity", "acceleration", "angular_velocity", "angular_acceleration"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-9)


def test_a_wrench_as_a_value_knows_where_it_is():
    model, q, v, a, external, _ = case("tree", 2)
    name = model.fixed_joint_names[0] if model.fixed_joint_names else model.joint_names[-1]
    joint = model.joint(name)
    own = rd.joint_wrench(model, q, v, a, name, external=external)
    assert own.frame == joint.child
    np.testing.assert_allclose(own.point, 0.0, atol=1e-12)
    world = rd.joint_wrench(model, q, v, a, name, external=external, expressed_in="world")
    assert own.express("world", rd.link_pose(model, q, joint.child)).isclose(world, rtol=1e-9)
    parent = rd.joint_wrench(model, q, v, a, name, external=external, expressed_in="parent")
    assert parent.frame == joint.parent
    np.testing.assert_allclose(parent.point, joint.origin.position, atol=1e-12)
