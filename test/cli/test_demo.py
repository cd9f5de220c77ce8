"""The demonstration as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.domains import private_domain

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

pytestmark = pytest.mark.middleware

FREE_AXES = """
<robot name="two free axes">
  <link name="base"/>
  <joint name="turn table-1" type="continuous">
    <parent link="base"/><child link="column"/><axis xyz="0 0 1"/>
    <limit effort="50" velocity="2"/>
  </joint>
  <link name="column">
    <inertial><mass value="4"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
    </inertial>
  </link>
  <joint name="lift" type="prismatic">
    <parent link="column"/><child link="fork"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.5" effort="200" velocity="0.5"/>
  </joint>
  <link name="fork">
    <inertial><mass value="3"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/>
    </inertial>
  </link>
</robot>
"""


def demo(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with private_domain() as domain:
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "robot_dynamics_ros.cli.main",
                "demo",
                "--output",
                str(tmp_path / "out"),
                *arguments,
            ],
            capture_output=True,
            text=True,
            timeout=200,
            env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
        )


class Slow:
    """A viewer that comes up when it is told to, or ends."""

    def __init__(self, name, arguments, log):
        self.log = log
        self.arguments = arguments
        self.text = ""
        self.exit_code = None

    def wait_for_output(self, text, timeout):
        return text in self.text

    def output(self):
        return self.text

    def stop(self, timeout=10.0):
        return 0

    def kill(self):
        self.exit_code = -9


@pytest.mark.parametrize("fate", ["late", "never", "ended"])
def test_a_late_viewer_is_announced_when_it_is_there(fate, tmp_path, monkeypatch, capsys):
    from robot_dynamics_ros.cli import demo

    monkeypatch.setattr(demo, "NodeProcess", Slow)
    with demo.LiveView("robot.urdf", tmp_path / "log", False, "arm.urdf") as view:
        process = view.process
        assert "looks_file:=arm.urdf" in process.arguments
        view.announce()
        assert "the address is printed later" in capsys.readouterr().out
        view.look()
        assert capsys.readouterr().out == ""
        if fate == "late":
            process.text = "open http://127.0.0.1:8080 in a browser"
        process.exit_code = 1 if fate == "ended" else None
    said = capsys.readouterr().out
    words = {
        "late": "http://127.0.0.1:8080",
        "never": "has not come up in time",
        "ended": "has ended",
    }
    assert words[fate] in said and said.count("view  ") == 1


@pytest.mark.parametrize("fate", ["late", "ended"])
def test_a_person_sees_the_view_however_long_it_loads(fate, tmp_path, monkeypatch, capsys):
    """A view that comes up after the motion stays open; it was closed as soon as it was there."""
    from robot_dynamics_ros.cli import demo

    class Loads(Slow):
        def wait_for_output(self, text, timeout):
            if fate == "ended":
                self.exit_code = 1
            else:
                self.text = "open http://127.0.0.1:8080 in a browser"

    monkeypatch.setattr(demo, "NodeProcess", Loads)
    view = demo.LiveView("robot.urdf", tmp_path / "log", False)
    # until the page is closed
    monkeypatch.setattr(demo.time, "sleep", lambda _: view.process.kill())
    demo._stay_open(view, ())
    said = capsys.readouterr().out
    assert said.startswith("view        the viewer still loads")
    assert ("Ctrl-C ends the demonstration" in said) == (fate == "late")


def test_it_shows_any_urdf_arriving_and_draws_it(tmp_path):
    """Names that are no topic names, a root without inertia, a joint that starts on its limit, one
    that slides.  Slower than by itself: efforts that a busy machine holds for a moment lead the
    arm less astray, and its page is up before it arrives.  The next test keeps the shortest
    duration.
    """
    robot = tmp_path / "robot.urdf"
    robot.write_text(FREE_AXES)
    done = demo(tmp_path, str(robot), "--duration", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "arrived",
        "rms error",
        "rms effort",
        "largest force",
        "largest moment",
        "turn table-1",
        "lift",
        " mm ",
        "100%",
    ):
        assert words in done.stdout
    picture = tmp_path / "out" / "demo.png"
    assert str(picture) in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    if find_spec("viser") is not None:
        assert "http://127.0.0.1:" in done.stdout
        assert "__VISER_EMBED_DATA__" in (tmp_path / "out" / "replay.html").read_text(
            encoding="utf-8"
        )
    assert "Traceback" not in (tmp_path / "out" / "controller.log").read_text()


def test_a_tolerance_that_cannot_be_met_fails(tmp_path):
    done = demo(tmp_path, "pendulum", "--no-picture", "--no-view", "--tolerance", "0")
    assert done.returncode == 1
    assert "NOT ARRIVED" in done.stdout


def test_a_robot_that_is_not_there_is_an_error_with_a_remedy(tmp_path):
    done = demo(tmp_path, "no_such_robot")
    assert done.returncode == 2
    assert "six_axis" in done.stderr
    assert "Traceback" not in done.stderr
