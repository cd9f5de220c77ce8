"""Configurations by name, frames by name, and models that are none, in every public function."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.example_robots import example_urdf

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    UnknownNameError,
    UrdfError,
)

SRDF = """<robot name="two_link">
  <virtual_joint name="world_joint" type="fixed" parent_frame="world" child_link="base"/>
  <group_state name="home" group="upper"><joint name="shoulder" value="0.3"/></group_state>
  <group_state name="home" group="lower"><joint name="elbow" value="-0.4"/></group_state>
  <group_state name="folded" group="lower"><joint name="elbow" value="1.2"/>
  <joint name="world_joint" value="0"/></group_state>
</robot>"""


@pytest.mark.parametrize("name", ["panda", "talos_reduced", "z1"])
@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.ModelWarning")
def test_an_srdf_is_read_as_pinocchio_reads_it(name):
    pin = pytest.importorskip("pinocchio")
    urdf = example_urdf(f"{name}.urdf")
    srdf = urdf.parents[1] / "srdf" / f"{name.removesuffix('_reduced')}.srdf"
    floating = name != "panda"
    model = rd.load_urdf(urdf, floating_base=floating).with_configurations(srdf)
    other = pin.buildModelFromUrdf(str(urdf), *([pin.JointModelFreeFlyer()] if floating else []))
    pin.loadReferenceConfigurations(other, str(srdf))
    names = list(model.description.configurations)
    assert names
    assert set(names) == {entry.key() for entry in other.referenceConfigurations}
    for name in names:
        theirs = other.referenceConfigurations[name]
        ours = model.configuration(name)
        stated = model.description.configurations[name]
        for joint in set(model.joint_names) & set(stated):
            i = other.joints[other.getJointId(joint)]
            assert_allclose(
                ours[model.q_slice(joint)], theirs[i.idx_q : i.idx_q + i.nq], rtol=0, atol=0
            )
        assert_allclose(
            rd.gravity_forces(model, name), rd.gravity_forces(model, ours), rtol=0, atol=0
        )


def test_states_of_groups_with_one_name_are_one_configuration():
    model = rd.load_robot("two_link").with_configurations(SRDF)
    assert_allclose(model.configuration("home"), [0.3, -0.4])
    assert_allclose(model.configuration("folded"), [0.0, 1.2])
    again = pickle.loads(pickle.dumps(model.lock("elbow", at="home")))
    assert_allclose(again.configuration("home"), [0.3])
    assert_allclose(
        rd.link_pose(again, "home", "tip"), rd.link_pose(model, "home", "tip"), atol=1e-15
    )


def test_a_name_is_taken_wherever_a_configuration_is():
    model = rd.load_robot("two_link").with_configurations(
        {"home": {"elbow": 0.5}, "away": [0.1, 0.2]}
    )
    home = model.configuration("home")
    zero = np.zeros(2)
    assert_allclose(home, [0.0, 0.5])
    for backend in ("native", "numpy", "interpreted"):
        robot = model.with_backend(backend)
        assert_allclose(
            rd.inverse_dynamics(robot, "home", zero, zero),
            rd.gravity_forces(model, home),
            atol=1e-12,
        )
    assert_allclose(rd.difference(model, "zero", "away"), [0.1, 0.2])
    assert_allclose(
        rd.inverse_dynamics(model, "home", zero, zero, external={"tip": np.ones(6)}),
        rd.inverse_dynamics(model, home, zero, zero, external={"tip": np.ones(6)}),
    )
    assert_allclose(rd.simulate(model, q0="home", duration=0.01).q[0], home)
    assert_allclose(rd.Plant(model, 1e-3, q0="away").q, [0.1, 0.2])
    assert rd.inverse_kinematics(
        model, "tip", rd.link_pose(model, "home", "tip"), start="away"
    ).reached
    assert_allclose(rd.integrate(model, q="home", dv=zero), home)


def test_what_is_wrong_with_a_configuration_is_said():
    model = rd.load_robot("two_link")
    with pytest.raises(UnknownNameError, match="home"):
        rd.gravity_forces(model, "home")
    with pytest.raises(UnknownNameError, match="elbow"):
        model.configuration({"elbo": 1.0})
    with pytest.raises(ArgumentError, match=r"q\['elbow'\]"):
        model.configuration({"elbow": "x"})
    with pytest.raises(ArgumentError, match="expected 2 finite numbers"):
        model.configuration([1.0])
    with pytest.raises(UrdfError, match=r"'home' \(line 3\): joint 'shoulder' has no finite value"):
        model.with_configurations(SRDF.replace("0.3", "half"))
    with pytest.warns(ModelWarning, match="no joint 'sholder'"):
        model.with_configurations(SRDF.replace('"shoulder"', '"sholder"'))
    with pytest.warns(ModelWarning, match="another group's state"):
        model.with_configurations(
            SRDF.replace('name="elbow" value="-0.4"', 'name="shoulder" value="-0.4"')
        )


def test_keyframes_of_mjcf_are_configurations():
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="base"><freejoint name="free"/><geom size="0.1"/>
      <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="1 0 0"/>
      </body></body></worldbody>
      <keyframe><key name="stand" qpos="1 2 3 0.6 0.8 0 0 0.4"/></keyframe></mujoco>"""
    model = rd.load_urdf(text)
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_kinematics(m, d)
    assert_allclose(rd.link_pose(model, "stand", "arm")[:3, 3], d.body("arm").xpos, atol=1e-12)
    assert_allclose(
        rd.link_pose(model, "stand", "arm")[:3, :3].ravel(), d.body("arm").xmat, atol=1e-12
    )


def test_a_frame_is_a_link_without_mass():
    model = rd.load_robot("six_axis")
    pose = rd.Pose.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    text = model.description.source.replace(
        "</robot>", '<frame name="tcp" link="tool0" xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></robot>'
    )
    q, v = np.random.default_rng(0).normal(size=(2, 6))
    expected = rd.link_pose(model, q, "tool0") @ pose.matrix()
    for framed in (model.with_frame("tcp", "tool0", pose), rd.load_urdf(text)):
        assert_allclose(rd.link_pose(framed, q, "tcp"), expected, atol=1e-14)
        assert_allclose(rd.bias_forces(framed, q, v), rd.bias_forces(model, q, v), rtol=1e-13)
        step = 1e-6
        moved = rd.link_pose(framed, q + step * v, "tcp") - rd.link_pose(
            framed, q - step * v, "tcp"
        )
        assert_allclose(
            (rd.jacobian(framed, q, "tcp") @ v)[3:], moved[:3, 3] / (2 * step), atol=1e-8
        )
        assert rd.inverse_kinematics(framed, "tcp", expected, start=q).reached
    assert model.with_frame("tcp", "tool0").description.source == model.description.source
    with pytest.raises(ModelError, match="already"):
        model.with_frame("tool0", "tool0")
    with pytest.raises(UnknownNameError, match="tool0"):
        model.with_frame("tcp", "tool")


@pytest.mark.parametrize("wrong", ["six_axis", Path("arm.urdf"), None], ids=repr)
def test_every_public_function_says_how_to_load_a_model(wrong):
    seen = 0
    for name in rd.__all__:
        function = getattr(rd, name)
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            continue
        models = [p for p in parameters if "RobotModel" in str(p.annotation)]
        if not models:
            continue
        options = {
            p.name: {} if p.name == "external" else [0.0] * 6
            for p in parameters
            if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
        }
        if name in ("body_wrenches", "link_wrenches", "external_efforts"):
            options["external"] = {"tool0": np.ones(6)}
        options[models[0].name] = wrong
        with pytest.raises(ArgumentError, match=r"expected a RobotModel.*rd\.load_urdf"):
            function(**options)
        seen += 1
    assert seen > 100


def test_names_are_taken_on_the_command_line(tmp_path, capsys):
    srdf = tmp_path / "two_link.srdf"
    srdf.write_text(SRDF)
    arguments = ["two_link", "--srdf", str(srdf), "--frame", "tcp=tip:0.1,0,0", "--json"]
    assert (
        main(
            [
                "simulate",
                *arguments,
                "--start",
                "folded",
                "--to",
                "home",
                "--csv",
                str(tmp_path / "run.csv"),
            ]
        )
        == 0
    )
    rows = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True, deletechars="")
    assert_allclose(
        [rows["shoulder.position"][0], rows["elbow.position"][0]], [0.0, 1.2], atol=1e-9
    )
    assert_allclose(
        [rows["shoulder.position"][-1], rows["elbow.position"][-1]], [0.3, -0.4], atol=0.01
    )
    assert main(["info", *arguments]) == 0
    assert '"tcp"' in capsys.readouterr().out
    assert main(["simulate", *arguments, "--to", "hme"]) == 2
    assert "Did you mean 'home'?" in capsys.readouterr().err
