"""Arrows, paths and motions as plain data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.view.arrows import (
    Arrows,
    balance_arrows,
    external_arrows,
    joint_arrows,
    nice_scale,
    robot_size,
    sensible_scale,
)
from robot_dynamics_ros.view.colours import by_speed
from robot_dynamics_ros.view.pull import spring_wrench
from robot_dynamics_ros.view.source import ShownMotion, centre_paths


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("six_axis")


@pytest.fixture(scope="module")
def fall(arm):
    return rd.simulate(arm, duration=0.3, record_wrenches=True, q0=[0.2, -1.0, 0.8, 0.1, 0.3, 0.0])


def test_forces_at_rest_carry_what_is_beyond_the_joint(arm):
    q = [0.3, -1.0, 0.7, 0.2, 0.5, 0.1]
    arrows = joint_arrows(arm, q, np.zeros(6), np.zeros(6))
    behind = np.cumsum(arm.body_mass[::-1])[::-1]
    np.testing.assert_allclose(arrows.forces, np.outer(9.81 * behind, (0.0, 0.0, 1.0)), atol=1e-9)
    for name, point in zip(arrows.names, arrows.points, strict=True):
        np.testing.assert_allclose(
            point, rd.link_pose(arm, q, arm.joint(name).child)[:3, 3], atol=1e-12
        )


def test_true_and_computed_wrenches_are_drawn_alike(arm, fall):
    motion = ShownMotion.of(arm, fall)
    for k in (0, 150, 300):
        computed = joint_arrows(arm, motion.q[k], motion.v[k], motion.a[k])
        np.testing.assert_allclose(motion.arrows(k).forces, computed.forces, atol=1e-6)
        np.testing.assert_allclose(motion.arrows(k).moments, computed.moments, atol=1e-6)


def test_parts_of_a_balance_add_up_from_any_observer(arm, fall):
    for observer in ("world", "forearm_link", "tool0"):
        arrows = balance_arrows(arm, fall.q[200], fall.v[200], fall.a[200], "elbow_joint", observer)
        rows = dict(zip(arrows.names, arrows.forces, strict=True))
        dynamic = rows.pop("dynamic")
        np.testing.assert_allclose(sum(rows.values()), dynamic, atol=1e-8)


def test_an_external_wrench_is_drawn_on_its_link_in_world_axes(arm):
    q = [0.3, -1.0, 0.7, 0.2, 0.5, 0.1]
    push = rd.wrench_on_link(arm, q, "tool0", force=(5.0, 0.0, -20.0), expressed_in="world")
    arrows = external_arrows(arm, q, {"tool0": push})
    np.testing.assert_allclose(arrows.forces, [[5.0, 0.0, -20.0]], atol=1e-12)
    np.testing.assert_allclose(arrows.points[0], rd.link_pose(arm, q, "tool0")[:3, 3])
    assert len(external_arrows(arm, q, {}).points) == 0


def test_rounding_noise_has_no_length():
    nothing = np.zeros((2, 3))
    arrows = Arrows(("a", "b"), nothing, np.array([[0, 0, 1e-14], [0, 0, 3.0]]), nothing)
    lengths = np.linalg.norm(
        np.diff(arrows.segments("forces", 0.1, noise=1e-9), axis=1), axis=2
    ).ravel()
    np.testing.assert_allclose(lengths, [0.0, 0.3])


@given(st.floats(1e-3, 1e3), st.floats(1e-6, 1e6))
def test_a_scale_is_round_and_uses_at_least_40_percent_of_the_room(longest, largest):
    scale = nice_scale(longest, largest)
    mantissa = scale / 10.0 ** np.floor(np.log10(scale * (1 + 1e-9)))
    assert min(abs(mantissa - x) for x in (1.0, 2.0, 5.0)) < 1e-6
    assert 0.39 * longest < scale * largest <= longest * (1 + 1e-6)


def test_scales_without_forces_or_weight_are_finite(arm):
    for model in (arm, rd.limb(1), rd.limb(2, masses=[1e-9, 1e-9]), arm.replace(gravity=(0, 0, 0))):
        scale = sensible_scale(model)
        assert 0.0 < scale.force < np.inf
        assert 0.0 < scale.moment < np.inf
        assert robot_size(model) > 0.0
    assert "0.1 m =" in sensible_scale(arm).text()


def test_paths_of_centres_end_where_the_dynamics_says(arm, fall):
    paths = centre_paths(ShownMotion.of(arm, fall))
    assert paths.links[-1] == "robot"
    np.testing.assert_allclose(
        paths.position[-1][-1], rd.center_of_mass(arm, fall.q[-1]), atol=1e-12
    )
    velocity = np.gradient(paths.position[0], fall.t, axis=0)
    np.testing.assert_allclose(
        np.linalg.norm(velocity, axis=1)[5:-5], paths.speed[0][5:-5], atol=1e-4
    )
    limb = rd.limb(2, lengths=[0.8, 0.6])
    turning = ShownMotion.of(
        limb, (np.linspace(0, 1, 50), np.outer(np.linspace(0, 1, 50), (2.0, 0.0)))
    )
    radii = np.linalg.norm(centre_paths(turning).position, axis=2)
    np.testing.assert_allclose(radii[0], 0.4, atol=1e-9)
    np.testing.assert_allclose(centre_paths(turning).speed[0], 0.8, atol=1e-9)


def test_colours_of_speeds_are_colours():
    colours = by_speed([-1.0, 0.0, 0.5, 1.0, 9.0], 1.0)
    assert colours.shape == (5, 3)
    assert ((colours >= 0.0) & (colours <= 1.0)).all()
    # brighter is faster
    assert np.diff(colours @ (0.2126, 0.7152, 0.0722))[1:3].min() > 0.0


def test_motions_come_from_runs_tables_and_files(arm, fall, tmp_path):
    motion = ShownMotion.of(arm, fall)
    assert motion.duration == pytest.approx(0.3)
    assert motion.index(0.1001) == 100
    assert motion.index(99.0) == 300
    assert motion.frames(30.0)[-1] == 300
    motion.save(tmp_path / "run.npz")
    again = ShownMotion.load(arm, tmp_path / "run.npz")
    np.testing.assert_array_equal(again.a, motion.a)
    table = ShownMotion.of(arm, (fall.t, fall.q))
    np.testing.assert_allclose(table.v[5:-5], fall.v[5:-5], atol=1e-3)
    assert len(ShownMotion.of(arm, fall.q[0])) == 1


@pytest.mark.parametrize(
    "what",
    [
        [1.0, 2.0],
        "nothing",
        (np.array([0.0, 0.0]), np.zeros((2, 6))),
        (np.arange(2.0), np.full((2, 6), np.nan)),
    ],
    ids=["short", "text", "time stands", "nan"],
)
def test_what_is_no_motion_is_refused(arm, what):
    with pytest.raises(ArgumentError):
        ShownMotion.of(arm, what)


def test_files_that_are_no_motion_are_refused(arm, tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    np.savez(tmp_path / "half.npz", t=np.arange(3.0))
    for name in ("bad.npz", "half.npz", "gone.npz"):
        with pytest.raises(ArgumentError, match=name):
            ShownMotion.load(arm, tmp_path / name)


def test_a_spring_pulls_where_it_is_gripped(arm):
    q = np.array([0.3, -1.0, 0.7, 0.2, 0.5, 0.1])
    pose = rd.link_pose(arm, q, "forearm_link")
    grip = np.array([-0.2, 0.05, 0.0])
    hand = np.array([0.4, 0.4, 0.4])
    at = pose[:3, :3] @ grip + pose[:3, 3]
    wrench = spring_wrench(pose, grip, hand, 50.0, 1e9)
    np.testing.assert_allclose(pose[:3, :3] @ wrench[3:], 50.0 * (hand - at), atol=1e-9)
    np.testing.assert_allclose(wrench[:3], np.cross(grip, wrench[3:]), atol=1e-12)
    assert np.linalg.norm(spring_wrench(pose, grip, hand, 1e6, 30.0)[3:]) == pytest.approx(30.0)


def test_a_camera_sees_arrows_whole_and_an_inertia_that_fits_no_body_is_not_drawn():
    """A pole that carries a heavy head: its arrow ends above it.

    An inertia as large as that of a house hides nothing.
    """
    pytest.importorskip("viser")
    from robot_dynamics_ros.model.geometry import read_looks
    from robot_dynamics_ros.view.camera import FIELD_OF_VIEW
    from robot_dynamics_ros.view.nodes import RobotNodes
    from robot_dynamics_ros.view.window import Window

    urdf = """<robot name="pole"><link name="foot"/><link name="head"><inertial><mass value="5"/>
        <inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="revolute"><parent link="foot"/><child link="head"/>
        <origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    with Window(port=0) as window:
        model = rd.load_urdf(urdf.format(0.01))
        nodes = RobotNodes(window.server.scene, model, read_looks(model))
        assert nodes.bodies.default_layers == ("skeleton", "ellipsoids")
        arrows = joint_arrows(model, [0.0], [0.0], [0.0])
        scale = sensible_scale(model)
        nodes.wrenches("joints", arrows, scale)
        position, target = nodes.view_point()
        tip = arrows.points[0] + scale.force * arrows.forces[0] - position
        away = (target - position) / np.linalg.norm(target - position)
        up = np.array([0.0, 0.0, 1.0]) - away[2] * away
        assert tip @ up / np.linalg.norm(up) / (tip @ away) < np.tan(0.5 * FIELD_OF_VIEW)
        model = rd.load_urdf(urdf.format(9.0))
        house = RobotNodes(window.server.scene, model, read_looks(model), "/house")
        assert house.bodies.default_layers == ("skeleton",)


def test_texts_beside_a_robot_do_not_cover_each_other_as_the_first_camera_sees_them():
    """Feet of arrows at one height, one behind the other: in the picture the nearer is lower."""
    pytest.importorskip("viser")
    from robot_dynamics_ros.model.geometry import read_looks
    from robot_dynamics_ros.view.camera import VIEWS
    from robot_dynamics_ros.view.nodes import RobotNodes
    from robot_dynamics_ros.view.window import Window

    model = rd.load_robot("six_axis")
    away = np.array(VIEWS["fit"]) / np.linalg.norm(VIEWS["fit"])
    right = np.cross((0.0, 0.0, 1.0), away)
    up = np.cross(away, right / np.linalg.norm(right))
    with Window(port=0) as window:
        nodes = RobotNodes(window.server.scene, model, read_looks(model))
        for deep in np.linspace(-0.5, 0.5, 21):
            # higher by 5 cm, and nearer or farther
            points = np.array([[0.3, 0.3, 0.5], [0.3, 0.3, 0.55] + deep * away * [1.0, 1.0, 0.0]])
            arrows = Arrows(("a", "b"), points, np.zeros((2, 3)), np.zeros((2, 3)))
            (_, one, side), (_, other, other_side) = nodes._outside(arrows, [0, 1], 0.0)
            assert side == other_side
            assert abs(float((one - other) @ up)) >= 2.0 * nodes._text_height() - 1e-9


def test_a_robot_on_legs_stands_on_the_ground_and_a_phone_gets_larger_texts():
    """The root of a legged robot is its trunk; the plane through it cuts the robot.  A phone's
    camera stands farther away: the same texts were 7 pixels high there.
    """
    pytest.importorskip("viser")
    from robot_dynamics_ros.model.geometry import read_looks
    from robot_dynamics_ros.view.nodes import RobotNodes
    from robot_dynamics_ros.view.window import Window

    urdf = """<robot name="dog"><link name="trunk"/><link name="leg">
        <inertial><origin xyz="0 0 {0}"/><mass value="5"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
        <visual><origin xyz="0 0 {0}"/><geometry><box size="0.1 0.1 0.4"/></geometry></visual>
        </link>
        <joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/>
        <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    with Window(port=0) as window:
        for height, ground in ((-0.2, -0.4), (0.2, 0.0)):
            model = rd.load_urdf(urdf.format(height))
            root = f"/robot{ground:g}"
            nodes = RobotNodes(window.server.scene, model, read_looks(model), root)
            assert nodes.ground.position[2] == pytest.approx(ground)
        nodes.largest(joint_arrows(model, [0.2], [0.0], [0.0]), sensible_scale(model))
        label, _ = nodes._labels["largest_first"]
        wide = label.font_scene_height
        assert "hip: " in label.text
        far = np.ptp(nodes.view_point(aspect=0.5), axis=0)
        assert label.text.startswith("hip\n") and label.font_scene_height > 1.5 * wide
        near = np.ptp(nodes.view_point(aspect=1.5), axis=0)
        assert "hip: " in label.text and label.font_scene_height == wide
        assert np.linalg.norm(far) > np.linalg.norm(near)
