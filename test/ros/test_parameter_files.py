"""What is written as parameter files is read back by ROS's own parser as it was meant: a joint may
bear any name.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy

import robot_dynamics_ros as rd
from robot_dynamics_ros.ros.arm_parameters import write_parameters

pytestmark = pytest.mark.middleware

# words that a reader of YAML 1.1 or 1.2 takes for something else where they are bare
NAMES = ["x", "y", "n", "on", "off", "yes", "No", "1e3", "1_000", "0x10", "010", "12:30:00"]
NAMES += ["null", "~", "true", ".inf", ".nan", "1.5", "-", "a: b", "# no", "", " blank ", "ä 😀"]


def read_back(file: Path | str) -> dict[str, object]:
    """The parameters of a file, as a node has them."""
    context = rclpy.Context()
    rclpy.init(args=["--ros-args", "--params-file", str(file)], context=context)
    try:
        node = rclpy.create_node(
            "reader",
            context=context,
            automatically_declare_parameters_from_overrides=True,
            enable_rosout=False,
            start_parameter_services=False,
        )
        values = {name: p.value for name, p in node.get_parameters_by_prefix("").items()}
        node.destroy_node()
        return values
    finally:
        rclpy.shutdown(context=context)


@pytest.fixture
def bringup(monkeypatch):
    """The launch file; where launch is not installed, with stand-ins for its classes."""

    class StandIn:
        def __init__(self, *args, **words) -> None:
            self.__dict__.update(words)

    classes = {
        "launch": ["LaunchContext", "LaunchDescription", "LaunchDescriptionEntity"],
        "launch.actions": [
            "DeclareLaunchArgument",
            "LogInfo",
            "OpaqueFunction",
            "RegisterEventHandler",
        ],
        "launch.event_handlers": ["OnProcessExit"],
        "launch.events": [],
        "launch.events.process": ["ProcessExited"],
        "launch.substitutions": ["LaunchConfiguration"],
        "launch_ros": [],
        "launch_ros.actions": ["Node"],
    }
    for module, names in classes.items():
        made = types.ModuleType(module)
        for name in names:
            setattr(made, name, type(name, (StandIn,), {}))
        monkeypatch.setitem(sys.modules, module, made)
    path = Path(__file__).parents[2] / "launch" / "bringup.launch.py"
    spec = importlib.util.spec_from_file_location("bringup_with_stand_ins", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_of_the_launch_file(bringup) -> None:
    values = {"joints": NAMES, "name": "y", "use_sim_time": False, "rate": 500.0}
    read = read_back(bringup._Stack("", False).file(values))
    assert read["joints"] == NAMES
    assert read["name"] == "y" and read["rate"] == 500.0 and read["use_sim_time"] is False


@pytest.mark.parametrize("name", NAMES)
def test_each_name_alone(tmp_path, name) -> None:
    write_parameters(tmp_path / "a.yaml", {"joints": [name], "word": name})
    read = read_back(tmp_path / "a.yaml")
    assert read["joints"] == [name] and read["word"] == name


def test_what_commissioning_leaves(tmp_path) -> None:
    model = rd.limb(2)
    stand_in = rd.commissioning.StandIn(model)
    session = rd.commissioning.Commissioning(model, stand_in)
    files = session.write(tmp_path)
    assert read_back(files["controller.yaml"])["safe_command"] == session.settings.safe_command
