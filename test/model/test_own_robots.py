"""The robots in urdf/: found wherever they were installed, with figures a body can have, read alike
by Pinocchio.
"""

import math
import shutil
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from support.pinocchio_bridge import PinocchioBridge

import robot_dynamics_ros as rd
from robot_dynamics_ros import resources
from robot_dynamics_ros.errors import RobotDynamicsError, UnknownNameError

NAMES = ("pendulum", "seven_axis", "six_axis", "three_link", "two_arm_torso", "two_link")
SIZES = {
    "pendulum": 1,
    "two_link": 2,
    "three_link": 3,
    "six_axis": 6,
    "seven_axis": 7,
    "two_arm_torso": 11,
}


def test_all_are_there():
    assert set(NAMES) <= set(rd.robot_names())


@pytest.mark.parametrize("name", NAMES)
def test_loads_without_a_word(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rd.load_robot(name)
    assert model.name == name and model.nq == model.nv == SIZES[name]
    assert np.isfinite(model.effort_limit).all() and np.isfinite(model.velocity_limit).all()
    q = model.initial_configuration()
    assert (model.lower <= q).all() and (q <= model.upper).all()
    if name != "pendulum":
        assert (model.damping > 0).all() and (model.friction > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_has_something_to_look_at_and_says_where_its_figures_are_from(name):
    text = rd.robot_path(name).read_text()
    robot = ET.fromstring(text)
    for link in robot.findall("link"):
        if link.find("inertial") is not None:
            assert link.find("visual/geometry") is not None, link.get("name")
    materials = {material.get("name") for material in robot.findall("material")}
    assert {m.get("name") for m in robot.findall("link/visual/material")} <= materials
    assert any(phrase in text for phrase in ("made up", "figures of the", "density"))


@pytest.mark.parametrize("name", NAMES)
def test_pinocchio_reads_the_same(name):
    pytest.importorskip("pinocchio")
    model = rd.load_robot(name)
    bridge = PinocchioBridge(model, rd.robot_path(name).read_text())
    for i, joint in enumerate(model.moving_joint_names):
        j = bridge.model.getJointId(joint)
        body = bridge.model.inertias[j]
        assert model.body_mass[i] == pytest.approx(body.mass, rel=1e-14)
        np.testing.assert_allclose(model.body_com[i], body.lever, atol=1e-14)
        np.testing.assert_allclose(model.body_inertia[i], body.inertia, atol=1e-14)
        np.testing.assert_allclose(
            model.joint_position[i], bridge.model.jointPlacements[j].translation, atol=1e-14
        )


def test_published_figures():
    """Spot checks against the sources named in the files."""
    ur = rd.load_robot("six_axis")
    assert list(ur.body_mass) == [3.761, 8.058, 2.846, 1.37, 1.3, 0.365]
    assert list(ur.effort_limit) == [150, 150, 150, 28, 28, 28] and ur.velocity_limit[0] == math.pi
    # the reach at zero: a2 + a3 and d4 + d6 of the Denavit-Hartenberg table
    into = {joint.child: joint for joint in ur.description.joints}
    pose = rd.Pose()
    link = "tool0"
    while link in into:
        pose = into[link].origin @ pose
        link = into[link].parent
    np.testing.assert_allclose(
        pose.position, [-0.425 - 0.3922, -0.1333 - 0.0996, 0.1625 - 0.0997], atol=1e-12
    )
    panda = rd.load_robot("seven_axis")
    assert panda.total_mass == pytest.approx(
        0.629769 + 4.970684 + 0.646926 + 3.228604 + 3.587895 + 1.225946 + 1.666555 + 0.735522
    )
    assert list(panda.effort_limit) == [87] * 4 + [12] * 3


def test_two_arms_mirror_each_other():
    model = rd.load_robot("two_arm_torso")
    mirror = np.diag([1.0, -1.0, 1.0])
    for part in ("shoulder_link", "upper_arm", "forearm", "wrist", "hand"):
        left, right = (model.link(f"{side}_{part}").inertia for side in ("left", "right"))
        np.testing.assert_allclose(mirror @ left.com, right.com, atol=1e-15)
        np.testing.assert_allclose(mirror @ left.rotational @ mirror, right.rotational, atol=1e-15)
    # head and two arms branch off the torso
    assert model.parent.tolist().count(0) == 3


def test_unknown_robot_is_told_the_known_ones():
    with pytest.raises(UnknownNameError, match="Did you mean 'six_axis'"):
        rd.robot_path("six_axes")
    for bad in ("../urdf/six_axis", "", None, 3, "six_axis.urdf"):
        with pytest.raises(UnknownNameError):
            rd.robot_path(bad)


@pytest.mark.parametrize(
    "place", ["checkout", "venv", "debian", "target", "ament", "ament elsewhere", "nowhere"]
)
def test_robots_are_found_wherever_they_were_installed(place, tmp_path, monkeypatch, request):
    source = rd.robot_path("pendulum").parent
    package = {
        "checkout": tmp_path / "src",
        "venv": tmp_path / "lib/python3.11/site-packages",
        "debian": tmp_path / "lib/python3/dist-packages",
        "target": tmp_path,
        "ament": tmp_path / "lib/python3.11/site-packages",
        "ament elsewhere": tmp_path / "build",
        "nowhere": tmp_path / "a/b/c",
    }[place] / "robot_dynamics_ros"
    package.mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(package / "resources.py"))
    for prefix in ("prefix", "base_prefix"):
        monkeypatch.setattr(resources.sys, prefix, "/nowhere")
    monkeypatch.setattr(resources.site, "getuserbase", lambda: "/nowhere")
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    resources.share_directory.cache_clear()
    request.addfinalizer(resources.share_directory.cache_clear)
    target = tmp_path / "share/robot_dynamics_ros/urdf"
    if place == "checkout":
        target = package.parent / "urdf"
    elif place == "ament elsewhere":
        target = tmp_path / "install/share/robot_dynamics_ros/urdf"
        monkeypatch.setenv("AMENT_PREFIX_PATH", f"/opt/ros/none:{tmp_path / 'install'}")
    if place == "nowhere":
        with pytest.raises(RobotDynamicsError, match="Reinstall the package"):
            rd.robot_names()
        return
    shutil.copytree(source, target)
    (target.parent / "package.xml").touch()
    assert rd.robot_path("pendulum") == Path(target) / "pendulum.urdf"
    assert rd.load_robot("pendulum").nq == 1
