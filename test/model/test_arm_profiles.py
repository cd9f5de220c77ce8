"""Profiles of arms: complete, typed, and true to the vendors' descriptions where these are at
hand.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.example_robots import example_urdf

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.arm_profile import FACTS, arm_names, load_arm_profile
from robot_dynamics_ros.model.packages import package_directory
from robot_dynamics_ros.model.urdf_source import with_arguments
from robot_dynamics_ros.resources import share_directory
from robot_dynamics_ros.ros.arm_parameters import (
    controller_manager_parameters,
    controller_parameters,
    simulator_parameters,
    vendor_description,
    write_parameter_files,
)

CHECKOUTS = os.environ.get("ROBOT_DESCRIPTIONS", "")


@pytest.fixture
def entries():
    return yaml.safe_load(
        (share_directory() / "config" / "arms" / "franka_fr3.yaml").read_text("utf-8")
    )


@pytest.fixture
def written(tmp_path):
    def write(entries):
        path = tmp_path / "my_arm.yaml"
        path.write_text(yaml.safe_dump(entries), "utf-8")
        return str(path)

    return write


def test_there_are_twelve_arms_that_take_efforts():
    profiles = [load_arm_profile(name) for name in arm_names()]
    assert sum(profile.commands_efforts for profile in profiles) >= 12
    assert len({profile.vendor for profile in profiles}) >= 8


@pytest.mark.parametrize("name", arm_names())
def test_every_fact_of_an_arm_has_a_source(name):
    profile = load_arm_profile(name)
    assert set(profile.sources) == set(FACTS)
    assert all(len(text) >= 5 for text in profile.sources.values())
    assert profile.driver.repository.startswith("https://")
    assert profile.driver.pendant
    assert not set(profile.joint_names) & set(profile.elsewhere)


def test_a_profile_is_a_value_that_can_be_read_from_any_file(entries, written):
    entries["title"] = "My arm"
    mine = load_arm_profile(written(entries))
    franka = load_arm_profile("franka_fr3")
    assert mine == replace(franka, name="my_arm", title="My arm")
    assert mine.known("effort")["fr3_joint5"] == 12.0
    assert mine.known("coulomb") == {}
    with pytest.raises(AttributeError):
        mine.title = "another"
    with pytest.raises(TypeError):
        mine.sources["gravity"] = "hearsay"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("efforts", "gravity"), "nobody", r"efforts: unknown gravity 'nobody'"),
        (("efforts", "measured"), "torques", r"efforts: unknown measured 'torques'"),
        (("driver", "rate"), "fast", r"driver: rate is 'fast'. Give a finite number"),
        (("driver", "rate"), -1.0, "rate is -1.0"),
        (("driver", "brakes"), "yes please", "brakes is 'yes please'. Give true or false"),
        (("driver", "on_silence"), "zero", "silence_timeout"),
        (("driver", "colour"), "white", "unknown entry 'colour'"),
        (("driver", "controller"), "", "without command_interface or controller"),
        (("driver", "interface"), "vendor_api", "without nearest"),
        (
            ("joints", "fr3_joint1"),
            {"efort": 3},
            "joints, fr3_joint1: unknown entry 'efort'.*effort",
        ),
        (("joints", "fr3_joint1"), {"measured_factor": -1}, "'fr3_joint2' has no measured_factor"),
        (("elsewhere",), ["fr3_joint1"], "in joints and in elsewhere"),
        (("elsewhere",), "fr3_joint1", "no list of names"),
        (("sources", "weather"), "rain", "unknown fact 'weather'"),
        (("sources", "gravity"), None, "gravity is None"),
        (("description",), None, "description: is no table"),
    ],
)
def test_a_wrong_entry_is_named_with_its_place_and_what_would_be_right(
    entries, written, place, value, message
):
    *tables, key = place
    table = entries
    for name in tables:
        table = table[name]
    table[key] = value
    with pytest.raises((ArgumentError, UnknownNameError), match=message):
        load_arm_profile(written(entries))


@pytest.mark.parametrize(
    "place",
    [("title",), ("driver", "rate"), ("efforts", "measured"), ("sources", "gravity"), ("joints",)],
)
def test_a_missing_entry_is_named(entries, written, place):
    *tables, key = place
    table = entries
    for name in tables:
        table = table[name]
    del table[key]
    with pytest.raises(ArgumentError, match=key):
        load_arm_profile(written(entries))


def test_an_arm_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(UnknownNameError, match="franka_fr3"):
        load_arm_profile("franka_fr4")
    with pytest.raises(ArgumentError, match="cannot be read"):
        load_arm_profile(str(tmp_path / "none.yaml"))
    (tmp_path / "list.yaml").write_text("- a\n- b\n")
    with pytest.raises(ArgumentError, match="no profile of an arm"):
        load_arm_profile(str(tmp_path / "list.yaml"))


def test_parameters_of_the_nodes_say_what_the_profile_says():
    profile = load_arm_profile("franka_fr3")
    controller = controller_parameters(profile)
    simulator = simulator_parameters(profile)
    assert controller["gravity_compensated_by"] == "robot"
    assert controller["safe_command"] == "zero"
    assert controller["robot_delay"] == simulator["sensors"]["delay"] == 0.001
    assert controller["limits"]["fr3_joint7"] == {"effort": 12.0, "effort_rate": 1000.0}
    assert simulator["driver"] == {"compensates": "gravity"}
    assert simulator["update_rate"] == 1000.0
    assert simulator["initial_positions"]["fr3_joint4"] == pytest.approx(-2.356, abs=1e-3)
    for table in (controller, simulator):
        assert table["joints"] == [f"fr3_joint{i}" for i in range(1, 8)]
        assert table["locked_joints"] == ["fr3_finger_joint1", "fr3_finger_joint2"]
        assert table["measured_effort"] == "link_torque"
        assert table["armature"]["fr3_joint7"] == 0.074
    manager = controller_manager_parameters(load_arm_profile("trossen_wxai"))
    assert manager["effort_controller"]["ros__parameters"]["interface_name"] == "external_effort"


def test_who_compensates_and_what_silence_does_become_parameters():
    kinova = simulator_parameters(load_arm_profile("kinova_gen3"))
    assert kinova["driver"] == {"compensates": "nothing"}
    assert kinova["command_timeout"] == 0.1
    assert set(kinova["measured_effort_factor"].values()) == {-1.0}
    flexiv = simulator_parameters(load_arm_profile("flexiv_rizon4"))
    assert flexiv["driver"] == {"compensates": "gravity_and_coriolis"}
    assert flexiv["command_timeout"] >= 3600.0
    # no torque constants
    assert controller_parameters(load_arm_profile("ur_ur5e"))["measured_effort"] == "none"


def test_parameter_files_can_be_read_back_and_friction_goes_beside_them(tmp_path):
    files = write_parameter_files(load_arm_profile("kuka_lbr_iiwa7"), tmp_path, simulated=True)
    for node in ("controller", "simulator"):
        table = yaml.safe_load(files[node].read_text("utf-8"))["/**"]["ros__parameters"]
        friction = yaml.safe_load(Path(table["friction_file"]).read_text("utf-8"))["joints"]
        assert friction["lbr_A1"] == {"coulomb": 0.0, "viscous": 0.0}
        # rclpy cannot tell their type
        assert not [name for name, value in table.items() if value == []]
    with pytest.raises(ArgumentError, match=r"takes no efforts.*joint_trajectory_controller"):
        write_parameter_files(load_arm_profile("abb_irb1200"), tmp_path, simulated=True)


def test_the_table_of_the_guide_is_that_of_the_profiles(monkeypatch):
    root = Path(__file__).parents[2]
    if not (root / "mkdocs.yml").is_file():
        pytest.skip("not a source checkout")
    monkeypatch.syspath_prepend(str(root))
    from docs.generate import arms

    assert arms.table() in (root / "docs" / "how_to" / "arms.md").read_text("utf-8")
    (page,) = arms.pages().values()
    assert all(load_arm_profile(name).title in page for name in arm_names())


def test_a_description_that_is_not_installed_is_named_with_its_repository(monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    with pytest.raises(
        rd.UrdfError, match=r"franka_description.*github\.com/frankarobotics/franka_description"
    ):
        vendor_description(load_arm_profile("franka_fr3"))


def test_the_description_with_hardware_asks_for_the_real_hardware(tmp_path, monkeypatch):
    """A vendor's default may be mock hardware, which looks like an arm that does not move."""
    monkeypatch.setattr(
        "robot_dynamics_ros.ros.arm_parameters.package_directory",
        lambda name: tmp_path / "share" / name,
    )
    kuka = load_arm_profile("kuka_lbr_iiwa7")
    assert vendor_description(kuka).endswith("iiwa7.xacro")
    assert vendor_description(kuka, with_hardware=True).endswith("iiwa7.xacro mode:=hardware")
    ur = vendor_description(load_arm_profile("ur_ur5e"), with_hardware=True)
    assert ur.endswith("ur_robot_driver/urdf/ur.urdf.xacro ur_type:=ur5e name:=ur")


def test_the_z1_of_example_robot_data_is_the_one_of_its_profile():
    check_against(load_arm_profile("unitree_z1"), rd.load_urdf(example_urdf("z1.urdf")))


@pytest.mark.parametrize("name", arm_names())
def test_the_vendors_own_description_is_the_one_of_the_profile(name, monkeypatch):
    """The folder named by ROBOT_DESCRIPTIONS holds checkouts of the vendors' repositories."""
    if not CHECKOUTS:
        pytest.skip(
            "the environment variable ROBOT_DESCRIPTIONS names no folder with the vendors' "
            "repositories"
        )
    pytest.importorskip("xacro")
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    profile = load_arm_profile(name)
    vendor = profile.description
    folders = [
        f
        for f in sorted(Path(CHECKOUTS).iterdir())
        if f.name == vendor.repository.rpartition("/")[2]
    ]
    if not folders:
        pytest.skip(f"{CHECKOUTS} has no checkout of {vendor.repository}")
    package = package_directory(vendor.package, folders[0])
    check_against(profile, rd.load_urdf(with_arguments(package / vendor.file, vendor.arguments)))


def check_against(profile, model):
    """Joints, limits and start of a profile lie within those of a description."""
    described = {joint.name: joint for joint in model.description.joints}
    for joint in profile.joints:
        limits = described[joint.name].limits
        assert model.joint(joint.name).type.nv == 1
        assert joint.effort is None or joint.effort <= limits.effort
        assert joint.start is None or limits.lower <= joint.start <= limits.upper
    moving = {name for name in model.joint_names if name in described}
    assert moving <= {*profile.joint_names, *profile.elsewhere}
    for name in profile.elsewhere:
        assert name in described
