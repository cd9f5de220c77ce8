"""What is refused before nodes start: a ROS 2 that is missing, broken or mixed from two
installations.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros import installation

MAKEFILE = Path(__file__).parents[2] / "Makefile"
WHEELS = installation._wheel("rclpy") is not None


def need_ros(**environment: str) -> str:
    """The error of ``need_ros`` in a process of its own; empty: none."""
    code = (
        "from robot_dynamics_ros.ros.installation import need_ros\n"
        "from robot_dynamics_ros.errors import RobotDynamicsError\n"
        "try:\n    need_ros('demo')\nexcept RobotDynamicsError as error:\n    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def package(folder: Path, code: str) -> Path:
    """A folder with an rclpy of its own, as a sourced installation has it."""
    (folder / "rclpy").mkdir()
    (folder / "rclpy" / "__init__.py").write_text(code, encoding="utf-8")
    return folder


@pytest.mark.skipif(not WHEELS, reason="ROS 2 is not installed as wheels")
def test_a_sourced_installation_beside_wheels_is_refused(tmp_path: Path) -> None:
    said = need_ros(PYTHONPATH=str(package(tmp_path, "")))
    assert "two installations of ROS 2 mix" in said
    assert str(tmp_path / "rclpy") in said
    assert "unset PYTHONPATH LD_LIBRARY_PATH" in said


@pytest.mark.skipif(not WHEELS, reason="ROS 2 is not installed as wheels")
def test_a_middleware_that_the_wheels_lack_is_named() -> None:
    assert "RMW_IMPLEMENTATION is rmw_cyclonedds_cpp" in need_ros(
        RMW_IMPLEMENTATION="rmw_cyclonedds_cpp"
    )
    assert need_ros(RMW_IMPLEMENTATION="rmw_fastrtps_cpp") == ""


def test_an_installation_for_another_python_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(package(tmp_path, "raise ImportError('no _rclpy_pybind11')")))
    monkeypatch.delitem(sys.modules, "rclpy", raising=False)
    monkeypatch.setattr(installation, "_wheel", lambda _: None)
    with pytest.raises(
        RobotDynamicsError, match=f"does not load in Python {platform.python_version()}.*_pybind11"
    ):
        installation.need_ros("demo")


@pytest.mark.parametrize(
    ("machine", "remedy"),
    [("x86_64", "pip install"), ("aarch64", "There are no wheels of it for Linux on aarch64")],
)
def test_the_remedy_is_one_that_this_machine_has(
    machine: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    with pytest.raises(RobotDynamicsError, match=remedy):
        installation.need_ros("demo")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="there are no wheels of ROS 2",
)
def test_make_leaves_a_sourced_installation_aside() -> None:
    sourced = {
        "PYTHONPATH": "/opt/ros",
        "LD_LIBRARY_PATH": "/opt/ros",
        "RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp",
    }
    ran = subprocess.run(
        ["make", "--silent", "--makefile", str(MAKEFILE), "--eval", "shown:\n\t@env", "shown"],
        env={**os.environ, **sourced},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "PATH=" in ran.stdout
    assert not [line for line in ran.stdout.splitlines() if line.split("=")[0] in sourced]


@pytest.mark.skipif(find_spec("rclpy") is None, reason="ROS 2 is not installed")
def test_what_is_installed_here_is_accepted() -> None:
    assert need_ros() == ""
