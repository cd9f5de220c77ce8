"""Descriptions from checkouts: packages named by them are looked for around the file, without a
workspace.
"""

import re

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import UrdfError
from robot_dynamics_ros.model.geometry import read_looks
from robot_dynamics_ros.model.packages import package_directory

pytest.importorskip("xacro")

XMLNS = 'xmlns:xacro="http://ros.org/wiki/xacro"'
LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="package://arm_meshes/part.stl"/></geometry></visual></link>"""
TIP_MASS = "${xacro.load_yaml('$(find arm_macros)/config/masses.yaml')['tip'] + $(arg load)}"
ARM = f"""<robot name="arm" {XMLNS}>
  <xacro:arg name="load" default="3"/>
  <xacro:include filename="$(find arm_macros)/urdf/link.xacro"/>
  <xacro:include filename="../parts/base.xacro"/>
  <xacro:arm_link name="tip" mass="{TIP_MASS}"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>
  </joint></robot>"""


def package(folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.xml").write_text(
        f'<?xml version="1.0"?>\n<package format="3">\n  <name> {name} </name>\n</package>'
    )
    return folder


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Two repositories side by side; folders are not called as their packages."""
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    arm = package(tmp_path / "src" / "vendor_ros2" / "description", "arm_description")
    macros = package(tmp_path / "src" / "vendor_common" / "deep" / "macros_of_arms", "arm_macros")
    meshes = package(tmp_path / "src" / "vendor_ros2" / "meshes_of_arm", "arm_meshes")
    for folder in (arm / "urdf", arm / "parts", macros / "urdf", macros / "config"):
        folder.mkdir()
    (arm / "urdf" / "arm.urdf.xacro").write_text(ARM)
    (arm / "parts" / "base.xacro").write_text(f'<robot {XMLNS}><link name="base"/></robot>')
    (macros / "urdf" / "link.xacro").write_text(
        f'<robot {XMLNS}>\n<xacro:macro name="arm_link" params="name mass">\n'
        + LINK.format(name="${name}", mass="${mass}")
        + "</xacro:macro></robot>"
    )
    (macros / "config" / "masses.yaml").write_text("tip: 2.5")
    (meshes / "part.stl").write_bytes(b"")
    return tmp_path / "src"


def test_packages_around_the_file_are_used_without_a_workspace(checkout):
    file = checkout / "vendor_ros2" / "description" / "urdf" / "arm.urdf.xacro"
    model = rd.load_urdf(f"{file} load:=4")
    assert model.body_mass[0] == 6.5
    (mesh,) = read_looks(model).visuals
    assert mesh.file == checkout / "vendor_ros2" / "meshes_of_arm" / "part.stl"


def test_an_installed_package_comes_first(checkout, tmp_path, monkeypatch):
    installed = package(tmp_path / "install" / "share" / "arm_macros", "arm_macros")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert package_directory("arm_macros", checkout / "vendor_ros2") == installed
    assert package_directory("arm_meshes", checkout / "vendor_ros2").name == "meshes_of_arm"


def test_the_nearest_package_wins_and_ignored_folders_are_passed_over(checkout):
    urdf = checkout / "vendor_ros2" / "description" / "urdf"
    nearest = package(checkout / "vendor_ros2" / "macros_too", "arm_macros")
    assert package_directory("arm_macros", urdf.parent) == nearest
    far = package(checkout / "another" / "arm_tools", "arm_tools")
    (package(checkout / "vendor_ros2" / "tools_too", "arm_tools") / "COLCON_IGNORE").touch()
    assert package_directory("arm_tools", urdf) == far
    with pytest.raises(UrdfError, match="arm_hidden"):
        package_directory("arm_hidden", urdf)


def test_a_package_that_is_nowhere_is_named_with_its_file_and_line(checkout):
    file = checkout / "vendor_ros2" / "description" / "urdf" / "arm.urdf.xacro"
    file.write_text(ARM.replace("arm_macros)/urdf", "nowhere_macros)/urdf"))
    with pytest.raises(UrdfError) as error:
        rd.load_urdf(file)
    assert re.search(rf"no ROS package 'nowhere_macros'.*, in {file}, line 3\.", str(error.value))
    assert "checkout of its repository" in error.value.remedy


@pytest.mark.parametrize(
    ("wrong", "message", "line"),
    [
        ("${masses['elbow']}", "KeyError: 'elbow'.*masses", 5),
        ("${1 / 0}", "division by zero", 5),
        ("${unknown_name}", "unknown_name", 5),
        ("$(arg missing)", "Undefined substitution argument missing", 5),
    ],
)
def test_an_error_of_xacro_names_the_file_and_the_line(checkout, wrong, message, line):
    file = checkout / "vendor_ros2" / "description" / "urdf" / "arm.urdf.xacro"
    text = ARM.replace(
        '<xacro:arg name="load"',
        '<xacro:property name="masses" value="${dict(tip=2)}"/><xacro:arg name="load"',
    )
    file.write_text(re.sub(r'mass="[^"]*"', f'mass="{wrong}"', text))
    with pytest.raises(UrdfError) as error:
        rd.load_urdf(file)
    assert re.search(rf"xacro failed: .*{message}.*, in {file}, line {line}", str(error.value))


def test_an_error_inside_a_macro_of_another_file_names_that_file(checkout):
    macros = checkout / "vendor_common" / "deep" / "macros_of_arms" / "urdf" / "link.xacro"
    macros.write_text(macros.read_text().replace('"${mass}"', '"${mass * scale}"'))
    with pytest.raises(UrdfError, match=rf"scale.*, in {macros}, line 3 \(macro arm_link\)"):
        rd.load_urdf(checkout / "vendor_ros2" / "description" / "urdf" / "arm.urdf.xacro")


def test_a_missing_argument_is_shown_as_it_is_typed(checkout):
    file = checkout / "vendor_ros2" / "description" / "urdf" / "arm.urdf.xacro"
    file.write_text(ARM.replace('default="3"', "").replace('  <xacro:arg name="load" />\n', ""))
    with pytest.raises(UrdfError, match=r"arm.urdf.xacro load:=VALUE"):
        rd.load_urdf(file)
