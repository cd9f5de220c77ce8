"""What load_urdf makes of well-formed URDFs: every joint type, defaults, extensions, sources."""

import io
import logging
import math
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    UnknownNameError,
    UrdfError,
)

INERTIAL = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="2"/>
  <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.025"/></inertial>"""
LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="4"/>'


def one_joint(joint: str, kind: str = "revolute", extra: str = "", name: str = "r") -> str:
    return f"""<robot name="{name}"><link name="base"/><link name="arm">{INERTIAL}</link>
      <joint name="j" type="{kind}"><parent link="base"/>
      <child link="arm"/>{joint}</joint>{extra}</robot>"""


def test_every_number_of_a_joint_arrives():
    model = rd.load_urdf(
        one_joint(f"""<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 0.6 -0.8"/>{LIMIT}
        <dynamics damping="0.7" friction="0.8"/>""")
    )
    assert (model.name, model.joint_names, model.nq, model.nv) == ("r", ("j",), 1, 1)
    assert (model.lower[0], model.upper[0], model.effort_limit[0], model.velocity_limit[0]) == (
        -1,
        2,
        30,
        4,
    )
    assert (model.damping[0], model.friction[0], model.armature[0]) == (0.7, 0.8, 0.0)
    np.testing.assert_allclose(model.joint_axis[0], [0, 0.6, -0.8], atol=1e-16)
    np.testing.assert_array_equal(model.joint_position[0], [1, 2, 3])
    cx, sx, cy, sy, cz, sz = (f(a) for a in (0.1, 0.2, 0.3) for f in (math.cos, math.sin))
    Rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    np.testing.assert_allclose(model.joint_rotation[0], Rz @ Ry @ Rx, atol=1e-15)


def test_inertia_in_a_turned_frame_is_turned_into_the_link():
    model = rd.load_urdf(one_joint(LIMIT))
    R = rd.Pose.from_rpy(rpy=(0.4, -0.5, 0.6)).rotation
    inertia = np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]])
    assert model.body_mass[0] == 2
    np.testing.assert_array_equal(model.body_com[0], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(model.body_inertia[0], R @ inertia @ R.T, atol=1e-17)


@pytest.mark.parametrize(
    ("kind", "nq", "nv"),
    [
        ("revolute", 1, 1),
        ("continuous", 1, 1),
        ("prismatic", 1, 1),
        ("planar", 3, 3),
        ("floating", 7, 6),
        ("fixed", 0, 0),
    ],
)
def test_joint_types(kind, nq, nv):
    model = rd.load_urdf(
        one_joint(
            '<axis xyz="0 0 1"/>' + (LIMIT if kind in ("revolute", "prismatic") else ""), kind
        )
    )
    assert (model.nq, model.nv) == (nq, nv)
    assert model.joint("j").type.name.lower() == kind
    if kind == "fixed":
        assert model.root_inertia.mass == 2 and model.fixed_joint_names == ("j",)


def test_defaults_of_urdf():
    model = rd.load_urdf(one_joint("", "continuous"))
    np.testing.assert_array_equal(model.joint_axis[0], [1, 0, 0])
    assert (
        np.isinf(model.effort_limit[0])
        and np.isinf(model.velocity_limit[0])
        and model.upper[0] == np.inf
    )
    half = rd.load_urdf(one_joint('<limit effort="5"/>', "continuous"))
    assert half.effort_limit[0] == 5 and np.isinf(half.velocity_limit[0])


def test_rounded_axis_is_made_unit_length():
    model = rd.load_urdf(one_joint(LIMIT + '<axis xyz="0.5774 0.5774 0.5774"/>'))
    assert abs(np.linalg.norm(model.joint_axis[0]) - 1) < 1e-15


def test_numbers_of_1e300_mean_no_limit():
    model = rd.load_urdf(
        one_joint('<limit lower="-1e308" upper="inf" effort="1e308" velocity="1e300"/>')
    )
    assert (model.lower[0], model.upper[0]) == (-np.inf, np.inf)
    assert np.isinf(model.effort_limit[0]) and np.isinf(model.velocity_limit[0])


def test_fixed_links_are_merged_and_keep_their_place_and_root_inertia_is_kept():
    text = f"""<robot name="m"><link name="base">{INERTIAL}</link><link name="arm">{INERTIAL}</link>
      <link name="tool">{INERTIAL}</link><link name="tip"/>
      <joint name="j" type="revolute"><parent link="base"/><child link="arm"/>{LIMIT}</joint>
      <joint name="f" type="fixed"><parent link="arm"/><child link="tool"/>
      <origin xyz="0 0 1" rpy="0 1.5 0"/></joint>
      <joint name="g" type="fixed"><parent link="tool"/><child link="tip"/><origin xyz="0.5 0 0"/>
      </joint></robot>"""
    model = rd.load_urdf(text)
    assert (
        model.nb == 1
        and model.body_mass[0] == 4
        and model.root_inertia.mass == 2
        and model.total_mass == 6
    )
    assert model.link_names == ("base", "arm", "tool", "tip") and list(model.link_body) == [
        -1,
        0,
        0,
        0,
    ]
    R = rd.Pose.from_rpy(rpy=(0, 1.5, 0)).rotation
    np.testing.assert_allclose(
        model.link_position[3], [0.5 * math.cos(1.5), 0, 1 - 0.5 * math.sin(1.5)], atol=1e-15
    )
    np.testing.assert_allclose(model.link_rotation[3], R, atol=1e-15)
    com = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(model.body_com[0], (com + R @ com + [0, 0, 1]) / 2, atol=1e-15)


def test_mimic_joints_own_no_coordinate_and_weigh_on_their_master():
    def joint(name, parent, child, extra=""):
        return f"""<link name="{child}">{INERTIAL}</link><joint name="{name}" type="revolute">
        <parent link="{parent}"/>
          <child link="{child}"/>{LIMIT}<dynamics damping="1" friction="1"/>{extra}</joint>"""

    model = rd.load_urdf(f"""<robot name="m"><link name="base"/>{joint("a", "base", "la")}
      {joint("b", "la", "lb", '<mimic joint="c" multiplier="-2" offset="0.1"/>')}
      {joint("c", "lb", "lc", '<mimic joint="a" multiplier="3" offset="0.2"/>')}
      {joint("d", "lb", "ld", '<mimic joint="a"/>')}</robot>""")
    assert (
        model.joint_names == ("a",)
        and model.moving_joint_names == ("a", "b", "c", "d")
        and model.has_mimic
    )
    assert list(model.mimic_master) == [-1, 0, 0, 0]
    np.testing.assert_allclose(model.mimic_multiplier[1:], [-6, 3, 1])
    np.testing.assert_allclose(model.mimic_offset[1:], [0.1 - 2 * 0.2, 0.2, 0])
    assert model.damping[0] == 1 + 36 + 9 + 1 and model.friction[0] == 1 + 6 + 3 + 1


def test_armature_from_transmission_and_argument():
    extra = """<transmission name="t"><type>any</type><joint name="j"/><actuator name="m">
      <drake:rotor_inertia value="0.0002"/><drake:gear_ratio value="100"/></actuator>
      </transmission>"""
    assert rd.load_urdf(one_joint(LIMIT, extra=extra)).armature[0] == pytest.approx(2.0)
    assert rd.load_urdf(one_joint(LIMIT, extra=extra), armature={"j": 0.5}).armature[0] == 0.5
    with pytest.raises(UnknownNameError, match=r"Valid moving joint names: j"):
        rd.load_urdf(one_joint(LIMIT), armature={"k": 0.5})
    for bad in (-1, math.nan, "much"):
        with pytest.raises(ArgumentError, match="armature"):
            rd.load_urdf(one_joint(LIMIT), armature={"j": bad})


def test_initial_positions_from_ros2_control():
    extra = """<ros2_control name="c" type="system"><hardware><plugin>p</plugin></hardware>
    <joint name="j">
      <command_interface name="effort"/><state_interface name="position">
      <param name="initial_value"> 0.25 </param>
      </state_interface><state_interface name="velocity"><param name="initial_value">9</param>
      </state_interface>
      </joint></ros2_control>"""
    assert rd.load_urdf(one_joint(LIMIT, extra=extra)).initial_configuration().tolist() == [0.25]


def test_floating_base():
    with pytest.raises(
        ModelError, match=r"'root_joint' and 'j' can move against each other.*'base'"
    ):
        rd.load_urdf(one_joint(LIMIT), floating_base=True)
    heavy = one_joint(LIMIT).replace('<link name="base"/>', f'<link name="base">{INERTIAL}</link>')
    model = rd.load_urdf(heavy, floating_base=True)
    assert (
        model.joint_names == ("root_joint", "j")
        and (model.nq, model.nv) == (8, 7)
        and model.root_link == "world"
    )
    np.testing.assert_array_equal(model.neutral(), [0, 0, 0, 0, 0, 0, 1, 0])
    taken = one_joint(LIMIT).replace('"base"', '"world"').replace('"j"', '"root_joint"')
    model = rd.load_urdf(
        taken.replace('<link name="world"/>', f'<link name="world">{INERTIAL}</link>'),
        floating_base=True,
    )
    assert (
        model.joint_names == ("floating_base_joint", "root_joint")
        and model.root_link == "floating_base_world"
    )


def test_gravity_and_base():
    pose = rd.Pose.from_rpy((1, 2, 3), (0.1, 0.2, 0.3))
    for base in (pose, pose.matrix(), pose.matrix().tolist()):
        model = rd.load_urdf(one_joint(LIMIT), (0, 9.81, 0), base=base)
        np.testing.assert_array_equal(model.gravity, [0, 9.81, 0])
        np.testing.assert_array_equal(model.base.matrix(), pose.matrix())
    for bad in ((0, 0), (0, 0, math.nan), "down", None):
        with pytest.raises(ArgumentError, match="gravity"):
            rd.load_urdf(one_joint(LIMIT), bad)
    for bad in (
        np.eye(3),
        2 * np.eye(4),
        np.diag([1, 1, -1, 1]),
        np.full((4, 4), np.nan),
        "here",
        [[1]],
    ):
        with pytest.raises(ArgumentError, match="Pose"):
            rd.load_urdf(one_joint(LIMIT), base=bad)


def test_text_bytes_path_and_addresses_give_the_same_robot(tmp_path, monkeypatch):
    text = '<?xml version="1.0" encoding="utf-8"?>\n' + one_joint(LIMIT, name="Grüße")
    file = tmp_path / "robot ü.urdf"
    file.write_text(text, encoding="utf-8")
    share = tmp_path / "prefix" / "share" / "pkg" / "urdf"
    share.mkdir(parents=True)
    (share / "r.urdf").write_text(text, encoding="utf-8")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(["/nowhere", str(tmp_path / "prefix")]))
    latin = text.replace("utf-8", "iso-8859-1").encode("latin-1")
    sources = [
        text,
        text.encode(),
        "\ufeff" + text,
        b"\xef\xbb\xbf" + text.encode(),
        "\n  " + text.split("\n", 1)[1],
        latin,
        text.replace("utf-8", "utf-16").encode("utf-16"),
        file,
        str(file),
        file.as_uri(),
        "package://pkg/urdf/r.urdf",
    ]
    for source in sources:
        assert rd.load_urdf(source).name == "Grüße"
    monkeypatch.chdir(tmp_path)
    assert rd.load_urdf(file.name).name == "Grüße"


def test_xacro_file(tmp_path):
    pytest.importorskip("xacro")
    body = one_joint(LIMIT).replace(
        'name="r"', 'name="r" xmlns:xacro="http://ros.org/wiki/xacro"', 1
    )
    body = body.replace(
        "<link", '<xacro:arg name="load" default="4"/><xacro:property name="m" value="2"/><link', 1
    )
    file = tmp_path / "robot.urdf.xacro"
    file.write_text(body.replace('<mass value="2"/>', '<mass value="${m * $(arg load)}"/>'))
    assert rd.load_urdf(file).body_mass[0] == 8
    assert rd.load_urdf(str(file), xacro_arguments={"load": "5"}).body_mass[0] == 10
    file.write_text(body.replace('<mass value="2"/>', '<mass value="${no_such_thing}"/>'))
    with pytest.raises(UrdfError, match="xacro failed"):
        rd.load_urdf(file)
    with pytest.raises(UrdfError, match="xacro, not URDF"):
        rd.load_urdf(body)


def test_lines_of_a_xacro_file_are_those_that_xacro_prints(tmp_path):
    xacro = pytest.importorskip("xacro")
    body = one_joint(LIMIT).replace(
        'name="r"', 'name="r" xmlns:xacro="http://ros.org/wiki/xacro"', 1
    )
    file = tmp_path / "robot.urdf.xacro"
    file.write_text(body.replace("</robot>", '<joint name="odd" type="bent"/></robot>'))
    printed = xacro.process_file(str(file)).toprettyxml(indent="  ").splitlines()
    line = 1 + next(k for k, text in enumerate(printed) if '"odd"' in text)
    with pytest.raises(UrdfError, match=rf"joint 'odd' \(line {line}\)"):
        rd.load_urdf(file)
    file.write_text(body.replace("</robot>", '<link name="$(arg nobody)"/></robot>'))
    with pytest.raises(UrdfError, match="xacro failed: Undefined substitution argument nobody"):
        rd.load_urdf(file)


def test_xacro_file_without_xacro_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    file = tmp_path / "robot.urdf.xacro"
    file.write_text("<robot/>")
    with pytest.raises(UrdfError, match=r"pip install xacro.*xacro robot.urdf.xacro > robot.urdf"):
        rd.load_urdf(file)


def test_what_dynamics_does_not_need_is_left_out_in_silence():
    clutter = """<material name="m"><texture/></material><gazebo reference="arm"><sensor/></gazebo>
      <transmission name="t"><nonsense/></transmission><sensor name="s"/><!-- comment -->
      <?processing instruction?>"""
    text = one_joint(
        LIMIT + '<safety_controller/><calibration rising="x"/>', extra=clutter
    ).replace(
        "</link>",
        '<visual><geometry><box size="nan"/><sphere/></geometry></visual><collision/></link>',
        1,
    )
    out = io.StringIO()
    err = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("error")
        model = rd.load_urdf(text)
    assert (
        model.nq == 1
        and not out.getvalue()
        and not err.getvalue()
        and model.description.findings == ()
    )


def test_what_nobody_knows_is_reported_once_with_all_findings(caplog):
    text = one_joint(
        '<limit lower="0" upper="0" effort="0" velocity="1"/><dynamics dampin="3"/>', name="odd one"
    ).replace('<link name="base"/>', '<link name="base"><intertial/></link><wheel/>')
    with (
        caplog.at_level(logging.WARNING, "robot_dynamics_ros"),
        pytest.warns(ModelWarning) as record,
    ):
        rd.load_urdf(text)
        rd.load_urdf(text)
    assert len(record) == 2 and len(caplog.records) == 1
    assert record[0].filename == __file__
    findings = record[0].message.findings
    assert len(findings) == 5
    for part in (
        "<intertial> is unknown and ignored; is <inertial> meant?",
        "<wheel>",
        "'dampin'",
        "cannot move",
        "driven",
    ):
        assert any(part in finding for finding in findings), part
        assert part in str(record[0].message)


def test_the_policy_is_one_of_three():
    text = one_joint(LIMIT).replace('izz="0.025"', 'izz="0.25"')
    with pytest.raises(UrdfError, match=r"link 'arm' <inertial> \(line 1\).*triangle"):
        rd.load_urdf(text, inertia_check="error")
    with pytest.warns(ModelWarning, match="triangle"):
        model = rd.load_urdf(text)
    assert model.replace(gravity=(0, 0, 0)).nq == 1
    with pytest.raises(ArgumentError, match="inertia_check"):
        rd.load_urdf(text, inertia_check="ignore")


def test_armature_makes_up_for_a_moving_link_without_inertia():
    text = one_joint(LIMIT).replace(INERTIAL, "")
    with pytest.raises(ModelError, match="'j': nothing that it moves has any inertia"):
        rd.load_urdf(text)
    assert rd.load_urdf(text, armature={"j": 0.1}).nv == 1


def test_models_are_read_only_and_pickle():
    import copy
    import pickle

    model = rd.load_robot("two_arm_torso", gravity=(0, 0, -1.62))
    for field in ("body_mass", "body_com", "joint_axis", "lower", "parent", "gravity"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, field)[0] = 0
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert twin.joint_names == model.joint_names
        np.testing.assert_array_equal(twin.body_inertia, model.body_inertia)
        np.testing.assert_array_equal(twin.gravity, model.gravity)
        assert not twin.body_inertia.flags.writeable


def test_importing_the_package_brings_in_no_parser():
    code = (
        "import sys, robot_dynamics_ros as rd; rd.load_urdf; "
        "print(*[m for m in ('urdf_parser_py', 'lxml', 'xacro', 'matplotlib', 'rclpy') if m in "
        "sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert result.stdout.strip() == ""
