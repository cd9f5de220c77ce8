"""The command line outside the demonstration."""

from __future__ import annotations

import io
import json
import math
import os
import shlex
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest
from support.domains import private_domain

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import COMMANDS, main
from robot_dynamics_ros.cli.output import Progress, table
from robot_dynamics_ros.cli.processes import NodeProcess


def test_info_tells_joints_and_masses(capsys):
    assert main(["info", "six_axis"]) == 0
    out = capsys.readouterr().out
    model = rd.load_robot("six_axis")
    assert f"{model.total_mass:.6g} kg" in out
    for name in model.joint_names:
        assert name in out


def test_info_shows_the_offset_of_a_mimic_joint(capsys, tmp_path):
    joint = "<joint name='{0}' type='continuous'><parent link='{1}'/><child link='{2}'/>{3}</joint>"
    links = "".join(
        f"<link name='{n}'><inertial><mass value='1'/></inertial></link>" for n in "abc"
    )
    mimic = "<mimic joint='i' multiplier='-0.5' offset='0.3'/>"
    text = (
        "<robot "
        f"name='r'>{links}{joint.format('i', 'a', 'b', '')}"
        f"{joint.format('j', 'b', 'c', mimic)}</robot>"
    )
    (robot := tmp_path / "robot.urdf").write_text(text)
    assert main(["info", str(robot), "--inertia-check", "repair"]) == 0
    assert "continuous, -0.5 x i +0.3" in capsys.readouterr().out


def test_info_is_the_whole_robot_as_json(capsys):
    assert (
        main(
            [
                "info",
                "six_axis",
                "--json",
                "--base",
                "0",
                "0",
                "1",
                "0",
                "0.5",
                "0",
                "--payload",
                "tool0:2:0,0,0.1",
            ]
        )
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    model = rd.load_robot("six_axis")
    assert data["mass"] == pytest.approx(model.total_mass + 2.0) and data["base"]["rpy"][
        1
    ] == pytest.approx(0.5)
    for found, name in zip(data["joints"], model.moving_joint_names, strict=False):
        joint = model.joint(name)
        assert (found["name"], found["lower"], found["effort"]) == (
            name,
            joint.limits.lower,
            joint.limits.effort,
        )
        assert found["axis"] == joint.axis.tolist()
    link = {link["name"]: link for link in data["links"]}["forearm_link"]
    body = model.link("forearm_link").inertia
    assert (link["mass"], link["com"]) == (body.mass, body.com.tolist())
    assert link["inertia"]["ixy"] == body.rotational[0, 1]


XACRO = """<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">
<xacro:arg name="load" default="1"/>
<link name="base"/><link name="arm"><inertial><mass value="$(arg load)"/><origin xyz="0.5 0 0"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="continuous">
<parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


def test_equations_and_operation_counts_as_json(capsys, tmp_path):
    assert (
        main(
            [
                "equations",
                "two_link",
                "--only",
                "M,G",
                "--json",
                "--output",
                str(tmp_path / "e.tex"),
            ]
        )
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    model = rd.load_robot("two_link")
    q = [0.4, -0.7]
    values = {"sin": math.sin, "cos": math.cos, "q1": q[0], "q2": q[1]}
    found = {
        (line["name"], *line["index"]): eval(line["value"], values)
        for section in data["sections"]
        for line in section["equations"]
    }
    M = rd.mass_matrix(model, q)
    G = rd.gravity_forces(model, q)
    assert found["M", "1", "2"] == pytest.approx(M[0, 1]) and found["G", "2"] == pytest.approx(G[1])
    assert (
        data["file"] == str(tmp_path / "e.tex")
        and "begin{document}" in (tmp_path / "e.tex").read_text()
    )
    assert main(["equations", "two_link", "--list-parameters", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {"parameter": "mass:forearm", "unit": "kg"}.items() <= next(
        r for r in rows if r["parameter"] == "mass:forearm"
    ).items()
    assert main(["export", "two_link", "--functions", "mass_matrix", "--report", "--json"]) == 0
    (count,) = json.loads(capsys.readouterr().out)["functions"]
    assert count["shared"] == sum(count["kinds"].values()) <= count["folded"] <= count["written"]


@pytest.mark.parametrize("as_one", [False, True], ids=["words", "one word"])
def test_a_xacro_file_takes_its_arguments(tmp_path, capsys, as_one):
    pytest.importorskip("xacro")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(XACRO)
    words = [f"{file} load:=7"] if as_one else [str(file), "load:=7"]
    assert main(["info", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mass"] == 7.0
    assert main(["info", "six_axis", "load:=7"]) == 2
    assert "only xacro files take arguments" in capsys.readouterr().err


def test_a_robot_from_standard_input(monkeypatch, capsys):
    text = rd.to_urdf(rd.load_robot("two_link")).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["info", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["joint_names"] == ["shoulder", "elbow"]


THIN = rd.to_urdf(rd.load_robot("two_link")).replace('izz="', 'izz="9')


@pytest.mark.middleware
@pytest.mark.skipif(find_spec("rclpy") is None, reason="ROS 2 is not installed")
def test_the_robot_that_runs(tmp_path):
    """Its description comes from the topic, of a namespace too; a topic that nobody publishes is an
    error.
    """
    words = [
        "--ros-args",
        "-r",
        "__ns:=/left",
        "-p",
        f"robot_description_file:={rd.robot_path('three_link')}",
    ]
    with private_domain() as domain:
        environment = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}

        def info(robot: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "robot_dynamics_ros", "info", robot, "--json"]
            return subprocess.run(
                command,
                env={**os.environ, **environment},
                timeout=120,
                check=False,
                capture_output=True,
                text=True,
            )

        with NodeProcess("simulator", words, tmp_path / "log", environment) as node:
            found = info("/left/robot_description")
            # discovery may take longer than the command waits
            for _ in range(5):
                if found.returncode == 0 or node.exit_code is not None:
                    break
                found = info("/left/robot_description")
        nobody = info("/right/robot_description")
    assert found.returncode == 0, found.stderr + node.output()
    assert json.loads(found.stdout)["joint_names"] == list(rd.load_robot("three_link").joint_names)
    assert (
        nobody.returncode == 2
        and "no description came" in nobody.stderr
        and "Traceback" not in nobody.stderr
    )


def test_warnings_errors_and_the_command_that_goes_on(tmp_path, capsys):
    file = tmp_path / "thin.urdf"
    file.write_text(THIN)
    assert main(["info", str(file)]) == 0
    err = capsys.readouterr().err
    assert (
        err.startswith("warning: robot 'two_link' is usable, but:")
        and "'forearm' <inertial>" in err
    )
    assert main(["info", str(file), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["info", str(file), "--inertia-check", "error"]) == 2
    err = capsys.readouterr().err
    assert f"to go on: robot_dynamics info {file} --inertia-check warn" in err
    file.write_text(THIN.replace('<mass value="', '<mass value="-'))
    assert main(["info", str(file)]) == 2
    command = capsys.readouterr().err.splitlines()[-1].removeprefix("to go on: robot_dynamics ")
    assert main(shlex.split(command)) == 0


def test_version():
    run = [sys.executable, "-m", "robot_dynamics_ros", "--version"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.strip() == f"robot_dynamics {rd.__version__}"


def test_tab_completion_knows_commands_robots_and_options(tmp_path):
    pytest.importorskip("argcomplete")

    def complete(line: str) -> set[str]:
        run = [sys.executable, "-m", "robot_dynamics_ros"]
        environment = {
            "_ARGCOMPLETE": "1",
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "_ARGCOMPLETE_IFS": "\n",
        }
        out = tmp_path / "out"
        environment["_ARGCOMPLETE_STDOUT_FILENAME"] = str(out)
        subprocess.run(
            run, env={**os.environ, **environment}, timeout=120, check=False, capture_output=True
        )
        return {word.strip() for word in out.read_text().splitlines()}

    assert complete("robot_dynamics mon") == {"monte_carlo"}
    assert complete("robot_dynamics info six") == {"six_axis"}
    assert "--inertia-check" in complete("robot_dynamics export two_link --i")


def test_nobody_reads_the_output():
    run = (
        f"{sys.executable} -m robot_dynamics_ros info two_arm_torso --json | head -c 1; echo "
        f"${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", run], capture_output=True, text=True, timeout=120)
    assert done.stderr == "" and done.stdout[0] == "{" and done.stdout.strip()[1:] in ("0", "141")


def test_errors_end_with_code_two_and_a_remedy(capsys):
    assert main(["info", "no_such_robot"]) == 2
    assert "six_axis" in capsys.readouterr().err


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert "usage: robot_dynamics" in capsys.readouterr().out


def test_no_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 2


def test_tables_line_up():
    lines = table(["name", "value"], [["a", "1.0"], ["longer", "10.25"]]).splitlines()
    assert lines == ["name    value", "------  -----", "a         1.0", "longer  10.25"]


def test_progress_in_a_log_takes_a_line_a_quarter():
    stream = io.StringIO()
    with Progress("work", 10.0, stream) as progress:
        for i in range(101):
            progress.update(0.1 * i, "note")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4
    assert "100%" in lines[-1]


def test_progress_on_a_terminal_moves_in_one_line():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with Progress("work", 1.0, stream) as progress:
        progress.update(0.5)
        progress.update(1.0)
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().startswith("\r")


def test_an_interrupt_ends_with_the_shells_code(monkeypatch, capsys):
    def interrupted(_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("robot_dynamics_ros.cli.info.run", interrupted)
    assert main(["info", "six_axis"]) == 128 + signal.SIGINT
