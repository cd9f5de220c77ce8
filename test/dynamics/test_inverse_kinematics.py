"""Inverse kinematics against forward kinematics, Pinocchio's too, and against a closed form."""

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import robot_dynamics_ros as rd

RNG = np.random.default_rng(5)


def inside(model, count, rng=RNG):
    lower = np.where(np.isfinite(model.lower), model.lower, -3.0)
    upper = np.where(np.isfinite(model.upper), model.upper, 3.0)
    return rng.uniform(lower, upper, (count, model.nq))


@pytest.mark.parametrize(("name", "link"), [("six_axis", "tool0"), ("seven_axis", "flange")])
def test_every_pose_within_the_limits_is_reached(name, link):
    pin = pytest.importorskip("pinocchio")
    model = rd.load_robot(name)
    theirs = pin.buildModelFromXML(rd.to_urdf(model))
    data = theirs.createData()
    frame = theirs.getFrameId(link)
    targets = []
    for q in inside(model, 60):
        pin.framesForwardKinematics(theirs, data, q)
        targets.append(data.oMf[frame].homogeneous.copy())
    found = rd.inverse_kinematics(model, link, np.array(targets))
    assert found.reached.all() and found.q.shape == (60, model.nq)
    assert (found.q >= model.lower).all() and (found.q <= model.upper).all()
    for q, target in zip(found.q, targets, strict=True):
        pin.framesForwardKinematics(theirs, data, q)
        np.testing.assert_allclose(data.oMf[frame].homogeneous, target, atol=2e-6)


def test_two_links_bend_as_the_law_of_cosines_says():
    model = rd.load_robot("two_link")
    reach = np.linalg.norm(
        rd.link_pose(model, [0.0, 0.0], "tip")[:3, 3]
        - rd.link_pose(model, [0.0, 0.0], "upper_arm")[:3, 3]
    )
    upper = np.linalg.norm(
        rd.link_pose(model, [0.0, 0.0], "forearm")[:3, 3]
        - rd.link_pose(model, [0.0, 0.0], "upper_arm")[:3, 3]
    )
    fore = reach - upper
    base = rd.link_pose(model, [0.0, 0.0], "upper_arm")[:3, 3]
    for d in np.linspace(abs(upper - fore) + 0.25, reach - 0.01, 7):
        found = rd.inverse_kinematics(
            model, "tip", base + np.array([d, 0.0, 0.0]), orientation=False
        )
        assert found.reached and found.rotation_error == 0.0
        elbow = np.arccos((d * d - upper**2 - fore**2) / (2 * upper * fore))
        assert abs(found.q[1]) == pytest.approx(elbow, abs=1e-5)


def test_out_of_reach_is_the_nearest_point_and_no_error():
    model = rd.load_robot("two_link")
    base = rd.link_pose(model, [0.0, 0.0], "upper_arm")[:3, 3]
    reach = np.linalg.norm(rd.link_pose(model, [0.0, 0.0], "tip")[:3, 3] - base)
    found = rd.inverse_kinematics(
        model, "tip", base + np.array([reach + 0.4, 0.0, 0.0]), orientation=False
    )
    assert not found.reached and found.position_error == pytest.approx(0.4, abs=1e-6)


def test_limits_hold_and_can_be_left_out():
    model = rd.load_robot("six_axis")
    joints = tuple(
        dataclasses.replace(j, limits=dataclasses.replace(j.limits, lower=-1.0, upper=1.0))
        for j in model.description.joints
    )
    narrow = model.replace(description=dataclasses.replace(model.description, joints=joints))
    q = inside(model, 20)
    poses = rd.link_pose(model, q, "tool0")
    found = rd.inverse_kinematics(narrow, "tool0", poses, starts=3)
    assert (found.q >= narrow.lower).all() and (found.q <= narrow.upper).all()
    assert rd.inverse_kinematics(narrow, "tool0", poses, limits=False).reached.all()


def test_a_start_is_kept_to_and_turns_are_not_added():
    model = rd.load_robot("seven_axis")
    q = 0.5 * (model.lower + model.upper)
    near = q + 0.05
    found = rd.inverse_kinematics(model, "flange", rd.link_pose(model, near, "flange"), start=q)
    assert found.reached and np.abs(found.q - q).max() < 0.3
    wheel = rd.load_urdf(rd.to_urdf(rd.limb(2)).replace('"revolute"', '"continuous"'))
    found = rd.inverse_kinematics(
        wheel, "tip", rd.link_pose(wheel, [0.3, 0.4], "tip"), start=[40.0, -30.0]
    )
    assert found.reached and (np.abs(found.q - [40.0, -30.0]) <= np.pi + 1e-9).all()


def test_the_tool_is_placed_rather_than_the_link():
    model = rd.load_robot("six_axis")
    tool = rd.Pose.from_rpy((0.1, -0.2, 0.3), (0.4, 0.5, 0.6))
    q = inside(model, 1)[0]
    target = rd.link_pose(model, q, "tool0") @ tool.matrix()
    found = rd.inverse_kinematics(model, "tool0", target, tool=tool)
    assert found.reached
    np.testing.assert_allclose(
        rd.link_pose(model, found.q, "tool0") @ tool.matrix(), target, atol=2e-6
    )


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
# the elbow is nearly straight: most guesses end where it is straight
@example(7908)
def test_half_turns_and_shapes(seed):
    """Orientations half a turn away have no single way back; batches keep their shape."""
    rng = np.random.default_rng(seed)
    model = rd.load_robot("six_axis").with_backend("numpy")
    q = inside(model, 6, rng)
    poses = rd.link_pose(model, q, "tool0").reshape(2, 3, 4, 4)
    start = q.reshape(2, 3, 6).copy()
    start[..., 5] = np.clip(start[..., 5] + np.pi, model.lower[5], model.upper[5])
    found = rd.inverse_kinematics(model, "tool0", poses, start=start)
    assert found.reached.shape == (2, 3) and found.reached.all()


@pytest.mark.parametrize(
    "bad", [np.eye(3), np.zeros((4, 4)), np.full((4, 4), np.nan), "there", -np.eye(4)], ids=range(5)
)
def test_what_is_no_pose_is_refused(bad):
    with pytest.raises(rd.ArgumentError, match="homogeneous"):
        rd.inverse_kinematics(rd.load_robot("six_axis"), "tool0", bad)


def test_wrong_arguments_are_refused():
    model = rd.load_robot("six_axis")
    with pytest.raises(rd.UnknownNameError, match="tool0"):
        rd.inverse_kinematics(model, "tool", np.eye(4))
    with pytest.raises(rd.ArgumentError, match="6 finite numbers"):
        rd.inverse_kinematics(model, "tool0", np.eye(4), start=[0.0])


def test_a_floating_base_stays_where_the_start_has_it():
    model = rd.load_urdf(rd.robot_path("six_axis"), floating_base=True)
    rng = np.random.default_rng(3)
    q = rd.random_configuration(model, 3)
    free = model.q_slice("root_joint")
    start = q.copy()
    start[free.stop :] += rng.uniform(-0.3, 0.3, 6)
    found = rd.inverse_kinematics(model, "tool0", rd.link_pose(model, q, "tool0"), start=start)
    assert found.reached and (found.q[free] == q[free]).all()
    np.testing.assert_allclose(
        rd.link_pose(model, found.q, "tool0"), rd.link_pose(model, q, "tool0"), atol=2e-6
    )


def test_one_step_is_that_of_levenberg_and_marquardt():
    """The compiled 6 x 6 form beside the n x n system solved by NumPy, with rotation and position
    errors near zero.
    """
    model = rd.load_robot("seven_axis")
    rng = np.random.default_rng(8)
    q = inside(model, 1, rng)[0] * 0.5
    tool = rd.Pose.from_rpy((0.1, 0.0, 0.2), (0.3, -0.4, 0.5)).matrix()
    small = rd.Pose.from_rpy(rng.uniform(-1e-4, 1e-4, 3), rng.uniform(-1e-4, 1e-4, 3)).matrix()
    here = rd.link_pose(model, q, "flange") @ tool
    target = np.eye(4)
    target[:3, :3] = small[:3, :3] @ here[:3, :3]
    target[:3, 3] = here[:3, 3] + small[:3, 3]
    weights = np.array([1.0, 2.5, 0.3])
    step = rd.kernel(model, "inverse_kinematics_step", link=model.link_index("flange"))
    wide = np.full(7, 100.0)
    following, squares = step(q, target[:3], tool[:3], -wide, wide, weights)
    J = rd.jacobian(model, q, "flange", offset=tool[:3, 3]) * np.repeat(weights[:2], 3)[:, None]
    turn = Rotation.from_matrix(small[:3, :3]).as_rotvec()
    e = np.concatenate([turn * weights[0], small[:3, 3] * weights[1]])
    d = np.maximum(np.diag(J.T @ J), 1e-3 * np.diag(J.T @ J).max())
    expected = np.linalg.solve(J.T @ J + weights[2] * np.diag(d), J.T @ e)
    np.testing.assert_allclose(following - q, expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(
        np.sqrt(squares), [np.linalg.norm(turn), np.linalg.norm(small[:3, 3])], rtol=1e-6
    )


@pytest.mark.parametrize("backend", ["auto", "numpy"])
@pytest.mark.parametrize("orientation", [True, False])
def test_the_kernel_finds_what_the_function_finds(backend, orientation):
    model = rd.load_robot("seven_axis").with_backend(backend)
    tool = rd.Pose.from_rpy((0.1, -0.2, 0.3), (0.4, 0.5, 0.6))
    choices = {"tool": tool, "orientation": orientation, "starts": 2}
    find = rd.kernel(model, "inverse_kinematics", link="flange", **choices)
    q = np.empty(7)
    errors = np.empty(2)
    start = 0.5 * (model.lower + model.upper)
    for target in rd.link_pose(model, inside(model, 5), "flange"):
        assert find(target, start, q, errors) is None
        wanted = target if orientation else target[:3, 3]
        plain = rd.inverse_kinematics(model, "flange", wanted, start=start, **choices)
        np.testing.assert_array_equal(q, plain.q)
        np.testing.assert_array_equal(errors[1], plain.position_error)
        if orientation:
            np.testing.assert_array_equal(errors[0], plain.rotation_error)
        np.testing.assert_array_equal(find(target, start)[0], q)


@pytest.mark.parametrize("where", ["pose", "start"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_leaves_the_kernel_as_infinite_errors(where, bad):
    """The configuration before must not pass for the answer."""
    model = rd.load_robot("six_axis")
    find = rd.kernel(model, "inverse_kinematics", link="tool0", starts=2)
    start = inside(model, 1)[0]
    target = rd.link_pose(model, start, "tool0")
    assert find(target, start)[1].max() < 1e-6
    if where == "pose":
        target[1, 3] = bad
    else:
        start[2] = bad
    q, errors = find(target, start)
    assert np.isinf(errors).all()
    np.testing.assert_array_equal(q, start)


def test_a_pose_too_far_to_be_squared_is_not_reached():
    """The answer to the pose before must not pass for one."""
    model = rd.load_robot("six_axis")
    pose = rd.link_pose(model, inside(model, 1)[0], "tool0")
    assert rd.inverse_kinematics(model, "tool0", pose).reached
    pose[0, 3] = 1e200
    assert not rd.inverse_kinematics(model, "tool0", pose, starts=2).reached


def test_wrong_arguments_of_the_kernel_are_refused():
    model = rd.load_robot("six_axis")
    with pytest.raises(rd.UnknownNameError, match="tool0"):
        rd.kernel(model, "inverse_kinematics", link="tool")
    with pytest.raises(rd.UnknownNameError, match="starts"):
        rd.kernel(model, "inverse_kinematics", link="tool0", start=3)
    find = rd.kernel(model, "inverse_kinematics", link="tool0")
    with pytest.raises(rd.ArgumentError, match="pose"):
        find(np.eye(3), np.zeros(6))
    with pytest.raises(rd.ArgumentError, match="one pose"):
        find(np.stack([np.eye(4)] * 2), np.zeros(6))
    with pytest.raises(rd.ArgumentError, match="start"):
        find(np.eye(4), np.zeros(5))
    with pytest.raises(rd.ArgumentError, match=", q"):
        find(np.eye(4), np.zeros(6), np.zeros(5), np.zeros(2))
