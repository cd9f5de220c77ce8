"""The values a robot is written down in, and models made from them by hand."""

import math

import numpy as np
import pytest
from support.random_trees import random_inertia, random_model, random_pose

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError


def cloud(rng, n=50):
    """Masses and places of many points: what an inertia is the sum of."""
    return rng.uniform(0.1, 1.0, n), rng.uniform(-1.0, 1.0, (n, 3))


def inertia_of(masses, places):
    com = masses @ places / masses.sum()
    r = places - com
    return rd.Inertia(
        masses.sum(),
        com,
        sum(m * (d @ d * np.eye(3) - np.outer(d, d)) for m, d in zip(masses, r, strict=True)),
    )


def same_inertia(one, other):
    assert one.mass == pytest.approx(other.mass, rel=1e-14)
    np.testing.assert_allclose(one.com, other.com, atol=1e-13)
    np.testing.assert_allclose(one.rotational, other.rotational, atol=1e-12)


def test_inertias_add_and_move_as_clouds_of_points_do():
    rng = np.random.default_rng(0)
    (m1, p1), (m2, p2), pose = cloud(rng), cloud(rng), random_pose(rng)
    same_inertia(inertia_of(m1, p1) + inertia_of(m2, p2), inertia_of(np.r_[m1, m2], np.r_[p1, p2]))
    same_inertia(
        inertia_of(m1, p1).in_parent(pose), inertia_of(m1, p1 @ pose.rotation.T + pose.position)
    )
    about_origin = sum(
        m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(m1, p1, strict=True)
    )
    np.testing.assert_allclose(inertia_of(m1, p1).about_origin(), about_origin, atol=1e-12)
    body = random_inertia(rng)
    for total in (body + rd.Inertia(), rd.Inertia() + body):
        assert total is body
    assert (rd.Inertia() + rd.Inertia()).mass == 0.0


def test_poses_multiply_like_matrices():
    rng = np.random.default_rng(1)
    a = random_pose(rng)
    b = random_pose(rng)
    np.testing.assert_allclose((a @ b).matrix(), a.matrix() @ b.matrix(), atol=1e-15)
    np.testing.assert_allclose((a @ a.inverse()).matrix(), np.eye(4), atol=1e-15)
    np.testing.assert_array_equal(rd.Pose.of(a.matrix()).matrix(), a.matrix())
    assert rd.Pose.of(a) is a


def test_roll_pitch_yaw_turn_about_fixed_axes_one_after_the_other():
    quarter = math.pi / 2
    np.testing.assert_allclose(
        rd.Pose.from_rpy(rpy=(quarter, 0, 0)).rotation @ [0, 1, 0], [0, 0, 1], atol=1e-15
    )
    np.testing.assert_allclose(
        rd.Pose.from_rpy(rpy=(0, quarter, 0)).rotation @ [0, 0, 1], [1, 0, 0], atol=1e-15
    )
    np.testing.assert_allclose(
        rd.Pose.from_rpy(rpy=(0, 0, quarter)).rotation @ [1, 0, 0], [0, 1, 0], atol=1e-15
    )
    np.testing.assert_allclose(
        rd.Pose.from_rpy(rpy=(quarter, 0, quarter)).rotation @ [0, 1, 0], [0, 0, 1], atol=1e-15
    )


def one_joint(**changes):
    joint = dict(name="j", type=rd.JointType.REVOLUTE, parent="a", child="b", axis=[0, 0, 1])
    return rd.RobotDescription(
        "r",
        (rd.Link("a"), rd.Link("b", rd.Inertia(1, [1, 0, 0]))),
        (rd.Joint(**{**joint, **changes}),),
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"axis": [0, 0, 0]}, "axis is zero"),
        ({"axis": [0, 0, 2]}, "length 2, not 1"),
        ({"axis": [0, math.nan, 1]}, "not finite"),
        ({"type": "revolute"}, "JointType.REVOLUTE"),
        ({"origin": rd.Pose(2 * np.eye(3))}, "rotation is none"),
        ({"origin": rd.Pose(position=[0, 0, math.inf])}, "not finite"),
        ({"damping": -1}, "damping is -1"),
        ({"armature": math.nan}, "armature is nan"),
        ({"friction": -0.1}, "friction is -0.1"),
        ({"limits": rd.JointLimits(lower=1, upper=0)}, "exceeds"),
        ({"limits": rd.JointLimits(lower=math.nan)}, "not a number"),
        ({"limits": rd.JointLimits(effort=-1)}, "effort limit is -1"),
        ({"mimic": rd.Mimic("j")}, "circle"),
        ({"mimic": rd.Mimic("k")}, "'k', which is not a moving joint"),
        ({"mimic": rd.Mimic("k", multiplier=math.inf)}, "not finite"),
        ({"parent": "c"}, "'c' does not exist"),
    ],
)
def test_joints_made_by_hand_are_checked_too(changes, message):
    with pytest.raises(ModelError, match=message):
        rd.RobotModel.from_description(one_joint(**changes))


def test_links_made_by_hand_are_checked_too():
    for inertia, message in (
        (rd.Inertia(math.nan), "not finite"),
        (rd.Inertia(1, [0, 0, math.inf]), "not finite"),
        (rd.Inertia(1, [0, 0, 0], [[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
    ):
        with pytest.raises(ModelError, match=f"link 'a': its .*{message}"):
            rd.RobotModel.from_description(rd.RobotDescription("r", (rd.Link("a", inertia),), ()))
    with pytest.raises(ArgumentError, match=r"shape \(3,\)"):
        rd.Inertia(1, [0, 0])


def test_axis_is_normalised():
    model = rd.RobotModel.from_description(one_joint(axis=[0, 0, 1.0005]))
    assert model.joint_axis[0, 2] == 1.0 and model.joint("j").axis[2] == 1.0


def test_questions_about_names_that_are_not_there_are_answered_with_those_that_are():
    model = rd.load_robot("two_link")
    for ask in (
        model.joint,
        model.link,
        model.link_index,
        model.body_index,
        model.q_slice,
        model.v_slice,
    ):
        with pytest.raises(UnknownNameError, match=r"elbow|forearm"):
            ask("elbo" if "joint" in ask.__name__ or "slice" in ask.__name__ else "forarm")
        with pytest.raises(UnknownNameError):
            ask(["unhashable"])
    with pytest.raises(UnknownNameError, match="gravity"):
        model.replace(gravty=(0, 0, 0))


def test_coordinates_of_joints():
    model = random_model(
        5, 6, types=(rd.JointType.FLOATING, rd.JointType.PLANAR, rd.JointType.REVOLUTE)
    )
    q = np.arange(model.nq)
    v = np.arange(model.nv)
    assert (
        np.concatenate([q[model.q_slice(name)] for name in model.joint_names]).tolist()
        == q.tolist()
    )
    assert (
        np.concatenate([v[model.v_slice(name)] for name in model.joint_names]).tolist()
        == v.tolist()
    )
    assert model.nq - model.nv == sum(
        model.joint(n).type is rd.JointType.FLOATING for n in model.joint_names
    )
    for name in model.joint_names:
        if model.joint(name).type is rd.JointType.FLOATING:
            assert model.neutral()[model.q_slice(name)].tolist() == [0, 0, 0, 0, 0, 0, 1]


def test_a_single_link_is_a_robot():
    model = rd.RobotModel.from_description(
        rd.RobotDescription("stone", (rd.Link("stone", rd.Inertia(3)),), ())
    )
    assert (model.nq, model.nv, model.nb, model.total_mass) == (0, 0, 0, 3)


def test_massless_links_inside_a_chain_are_fine_and_so_are_massless_followers():
    links = (rd.Link("a"), rd.Link("b"), rd.Link("c", rd.Inertia(1, [1, 0, 0])), rd.Link("d"))
    hinge = dict(type=rd.JointType.CONTINUOUS, axis=[0, 0, 1])
    away = rd.Pose.from_rpy((0, 1, 0))
    joints = [
        rd.Joint("ab", parent="a", child="b", **hinge),
        rd.Joint("bc", parent="b", child="c", origin=away, **hinge),
    ]
    assert rd.RobotModel.from_description(rd.RobotDescription("r", links[:3], joints)).nq == 2
    follower = rd.Joint("cd", parent="c", child="d", mimic=rd.Mimic("bc"), **hinge)
    assert (
        rd.RobotModel.from_description(rd.RobotDescription("r", links, [*joints, follower])).nq == 2
    )
    with pytest.raises(ModelError, match="'cd'"):
        free = rd.Joint("cd", parent="c", child="d", **hinge)
        rd.RobotModel.from_description(rd.RobotDescription("r", links, [*joints, free]))
