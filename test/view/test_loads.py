"""Loads of joints, and the shapes of forces and moments."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.view import colours
from robot_dynamics_ros.view.arrows import joint_arrows, sensible_scale
from robot_dynamics_ros.view.loads import JointLoads, LoadPanel, link_shares, number, text_block
from robot_dynamics_ros.view.source import PoseSource
from robot_dynamics_ros.view.vectors import ARC, ARROW, Vectors, arc_bones, arrow_bones

rng = np.random.default_rng(5)


def shown(model, q, v=None, a=None):
    return PoseSource(model, q, v, a).state()


def test_a_horizontal_limb_loads_its_joint_with_its_weight_and_with_no_moment_across_the_axis():
    """Two rods of 1 kg that turn about horizontal axes: efforts of rods at rest by hand, forces
    their weights.
    """
    limb = rd.limb(2, lengths=[0.8, 0.6], masses=[1.0, 1.0], gravity=(0.0, 0.0, -9.81))
    axis = limb.joint(limb.joint_names[0]).axis
    loads = JointLoads(limb, shown(limb, [0.0, 0.0]), rd.link_poses(limb, [0.0, 0.0]))
    along_gravity = abs(axis[2]) > 0.5
    # axes are vertical: the joint's bearing carries the moment, its motor nothing
    if along_gravity:
        np.testing.assert_allclose(loads.effort, 0.0, atol=1e-9)
        np.testing.assert_allclose(loads.moment, [9.81 * (0.4 + 1.1), 9.81 * 0.3], rtol=1e-9)
    else:
        np.testing.assert_allclose(
            np.abs(loads.effort), [9.81 * (0.4 + 1.1), 9.81 * 0.3], rtol=1e-9
        )
        np.testing.assert_allclose(loads.moment, 0.0, atol=1e-9)
    np.testing.assert_allclose(loads.force, [2 * 9.81, 9.81], rtol=1e-9)


def test_wrenches_of_the_table_are_those_of_the_dynamics_in_the_joints_axes():
    arm = rd.load_robot("six_axis")
    q, v, a = rng.normal(size=(3, 6))
    loads = JointLoads(arm, shown(arm, q, v, a), rd.link_poses(arm, q))
    np.testing.assert_allclose(loads.wrench, rd.joint_wrenches(arm, q, v, a), atol=1e-9)
    np.testing.assert_allclose(loads.effort, rd.inverse_dynamics(arm, q, v, a), atol=1e-9)
    np.testing.assert_allclose(loads.position, np.degrees(q), atol=1e-12)
    limits = [arm.joint(name).limits.effort for name in arm.joint_names]
    np.testing.assert_allclose(loads.share, np.abs(loads.effort) / limits, atol=1e-12)
    # across and along the axis
    size = np.hypot(loads.moment, loads.effort)
    np.testing.assert_allclose(size, np.linalg.norm(loads.wrench[:, :3], axis=1), atol=1e-9)
    shares = link_shares(arm, loads)
    assert (
        shares[arm.joint("elbow_joint").child] == loads.share[arm.joint_names.index("elbow_joint")]
    )


class Handle:
    """Stands for a control: keeps what is written to it."""

    def __init__(self, content: str = "") -> None:
        self.content = content

    def on_click(self, work) -> None:
        self.click = work


class Gui:
    def __init__(self) -> None:
        self.handles: list[Handle] = []

    def add_html(self, content: str) -> Handle:
        self.handles.append(Handle(content))
        return self.handles[-1]

    def add_button(self, _label: str) -> Handle:
        return self.add_html("")

    def add_folder(self, _label: str, **_options):
        import contextlib

        return contextlib.nullcontext()


def test_the_table_keeps_the_largest_until_they_are_forgotten():
    arm = rd.load_robot("two_link")
    gui = Gui()
    panel = LoadPanel(gui, arm)
    table, forget, *_ = gui.handles
    seen = []
    for k, q in enumerate(([0.3, 0.2], [1.4, 0.1], [0.3, 0.2])):
        loads = JointLoads(arm, shown(arm, q, [3.0 * (k == 1), 0.0]), rd.link_poses(arm, q))
        panel.add(loads, shown(arm, q))
        panel.refresh(float(k))
        seen.append(loads.force)
    assert f"<b>{number(np.max(seen))}</b>" in table.content
    # of a robot that stands still
    forget.click(None)
    panel.refresh(9.0)
    assert f"<b>{number(loads.force.max())}</b>" in table.content


def test_a_link_that_is_clicked_shows_its_components():
    arm = rd.load_robot("six_axis")
    gui = Gui()
    panel = LoadPanel(gui, arm)
    loads = JointLoads(arm, shown(arm, np.zeros(6)), rd.link_poses(arm, np.zeros(6)))
    pushed = {"tool0": np.arange(1.0, 7.0)}
    panel.add(
        loads,
        dataclasses.replace(
            shown(arm, np.zeros(6)), external=pushed, estimated={"tool0": 0.9 * pushed["tool0"]}
        ),
    )
    panel.refresh(0.0)
    outside = gui.handles[2].content
    assert outside.index("tool0, known") < outside.index("tool0, estimated")
    assert all(number(x) in outside for x in (6.0, 5.4))
    # of a robot that stands still
    panel.select("forearm_link")
    panel.refresh(0.01)
    wrench = loads.wrench[arm.joint_names.index("elbow_joint")]
    text = gui.handles[-1].content
    assert all(number(x) in text for x in wrench)
    assert number(arm.link("forearm_link").inertia.mass, "kg") in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-90.000210549, "−90.0"),
        (0.0, "0.0"),
        (-0.0, "0.0"),
        (1234.56, "1235"),
        (0.4567, "0.46"),
        (math.nan, "–"),
        (-1e-9, "0.0"),
    ],
)
def test_numbers_are_for_people(value, text):
    assert number(value) == text


def test_texts_from_anywhere_are_text():
    assert "<script" not in text_block("<script>throw 1</script>{throw 1}")


def vertices(template, bones):
    """The page's sum: of each vertex the bones' positions times its weights."""
    return template.weights @ bones


def test_weights_are_such_that_a_page_can_use_them():
    """None negative and at most four of a vertex: the page takes the four largest."""
    for template in (ARROW, ARC):
        assert template.weights.min() >= 0.0
        assert (template.weights > 0.0).sum(axis=1).max() <= 4
        assert template.faces.max() < len(template.weights)


def test_an_arrow_reaches_from_its_point_to_the_end_of_its_vector():
    points, vectors = rng.normal(size=(2, 20, 3))
    for point, vector, bones in zip(
        points, vectors, arrow_bones(points, vectors, 0.01), strict=True
    ):
        along = (vertices(ARROW, bones) - point) @ vector / (vector @ vector)
        assert along.min() == pytest.approx(0.0, abs=1e-9)
        assert along.max() == pytest.approx(1.0)
        tip = vertices(ARROW, bones)[along.argmax()]
        np.testing.assert_allclose(tip, point + vector, atol=1e-9)
        off = vertices(ARROW, bones) - point - np.outer(along, vector)
        assert np.linalg.norm(off, axis=1).max() == pytest.approx(0.026)


def test_heads_of_short_arrows_are_smaller():
    def widest(length: float) -> float:
        bones = arrow_bones(np.zeros((1, 3)), np.array([[0.0, 0.0, length]]), 0.01)[0]
        return float(np.linalg.norm(vertices(ARROW, bones)[:, :2], axis=1).max())

    assert widest(0.04) < 0.3 * widest(0.18)


def test_an_arc_turns_by_the_right_hand_rule_about_its_vector_with_its_length_for_diameter():
    points, vectors = rng.normal(size=(2, 20, 3))
    for point, vector, bones in zip(points, vectors, arc_bones(points, vectors, 0.01), strict=True):
        length = np.linalg.norm(vector)
        out = vertices(ARC, bones) - point
        # flat
        assert np.abs(out @ vector / length).max() < 0.03
        rings = out.reshape(-1, 10, 3).mean(axis=1)
        np.testing.assert_allclose(np.linalg.norm(rings, axis=1), 0.5 * length, rtol=1e-6)
        turns = np.cross(rings[:-1], rings[1:]) @ vector
        assert (turns > -1e-9).all()


class Scene:
    def __init__(self) -> None:
        self.made = 0

    def add_mesh_skinned(self, name, vertices, _faces, *, skin_weights, **_options):
        self.made += 1
        assert not vertices.any()
        self.weights = skin_weights
        self.sent = []
        return SimpleNamespace(name=name)

    def _queue_scene_message(self, message) -> None:
        self.sent.append((message.bone_index, message.position))


def test_vectors_that_do_not_move_are_not_sent_again_and_those_left_out_vanish():
    scene = Scene()
    arrows = Vectors(scene, "a", ARROW, (1.0, 0.0, 0.0))
    points, vectors = rng.normal(size=(2, 3, 3))
    arrows.show(arrow_bones(points, vectors, 0.01))
    positions = np.zeros((18, 3))
    for k, position in scene.sent:
        positions[k] = position
    expected = [vertices(ARROW, bones) for bones in arrow_bones(points, vectors, 0.01)]
    np.testing.assert_allclose(scene.weights @ positions, np.concatenate(expected), atol=1e-12)
    scene.sent.clear()
    arrows.show(arrow_bones(points, vectors, 0.01))
    assert not scene.sent
    arrows.show(arrow_bones(points[:2], vectors[:2], 0.01))
    assert {k for k, _ in scene.sent} == set(range(12, 18))
    assert not np.any([position for _, position in scene.sent])
    assert scene.made == 1


# Machado, Oliveira, Fernandes 2009: what people without one kind of cones see, in linear red,
# green, blue.
VISION = {
    "all cones": np.eye(3),
    "no long": [
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ],
    "no middle": [
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ],
    "no short": [
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ],
}


def lab(colour, vision="all cones") -> np.ndarray:
    """CIE L*a*b* (D65) of an sRGB colour."""
    c = np.asarray(colour, dtype=float)
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(VISION[vision]) @ linear, 0.0, 1.0)
    to_xyz = np.array(
        [(0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)]
    )
    x, y, z = to_xyz @ linear / (0.9505, 1.0, 1.089)
    fx, fy, fz = (np.cbrt(s) if s > 0.008856 else 7.787 * s + 16.0 / 116.0 for s in (x, y, z))
    return np.array([116.0 * fy - 16.0, 500.0 * (fx - fy), 200.0 * (fy - fz)])


@pytest.mark.parametrize("vision", VISION)
def test_everybody_tells_forces_moments_and_external_wrenches_apart(vision):
    kinds = [colours.FORCE, colours.MOMENT, colours.EXTERNAL, colours.ESTIMATED, (1.0, 1.0, 1.0)]
    for one, other in itertools.combinations(kinds, 2):
        assert np.linalg.norm(lab(one, vision) - lab(other, vision)) > 25.0


def test_no_robot_is_painted_like_a_force_or_a_moment():
    from support.example_robots import example_urdfs

    paints = {(0.7, 0.72, 0.75), (0.2, 0.4, 0.8)}
    for path in example_urdfs():
        for text in re.findall(r'rgba="([^"]*)"', path.read_text()):
            paints.add(tuple(float(x) for x in text.split()[:3]))
    for paint, kind in itertools.product(paints, (colours.FORCE, colours.MOMENT)):
        assert np.linalg.norm(lab(paint) - lab(kind)) > 30.0, paint


def test_arrows_of_a_robot_at_rest_are_seen_whatever_share_of_its_weight_they_carry():
    """ANYmal's legs hang on its trunk: the largest of their forces is drawn as long as that of an
    arm.
    """
    from support.example_robots import example_urdf

    for model in (rd.load_robot("six_axis"), rd.load_urdf(example_urdf("anymal.urdf"))):
        q = model.initial_configuration()
        arrows = joint_arrows(model, q, np.zeros(model.nv), np.zeros(model.nv))
        longest = np.linalg.norm(arrows.forces, axis=1).max() * sensible_scale(model).force
        assert 0.1 < longest / rd.view.arrows.robot_size(model) < 0.5
