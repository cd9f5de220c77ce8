"""``robot_dynamics simulate`` and the rehearsal behind ``demo --all``."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
from support.closed_loops import four_bar
from support.example_robots import example_urdf

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.cli.output import Figure, rows_as_data
from robot_dynamics_ros.cli.rehearsal import Rehearsal, try_robots
from robot_dynamics_ros.model.robot_model import RobotModel


def test_a_fall_is_the_librarys_own(tmp_path, capsys):
    out = tmp_path / "fall.csv"
    line = [
        "simulate",
        "two_link",
        "--start",
        "0.3",
        "-0.2",
        "--duration",
        "0.5",
        "--dt",
        "1e-3",
        "--integrator",
        "rk4",
    ]
    assert main([*line, "--no-friction", "--csv", str(out), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    run = rd.simulate(
        rd.load_robot("two_link"), q0=[0.3, -0.2], duration=0.5, integrator="rk4", friction=False
    )
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == 501 and data["arrived"] is None
    np.testing.assert_allclose(
        [float(rows[-1][f"{n}.position"]) for n in ("shoulder", "elbow")], run.q[-1], rtol=1e-12
    )
    assert data["energy"] == pytest.approx([run.energy[0], run.energy[-1]])


def test_closed_loops_from_a_file(tmp_path, capsys):
    loop = four_bar()
    robot = tmp_path / "four_bar.urdf"
    loops = tmp_path / "loops.yaml"
    out = tmp_path / "run.csv"
    robot.write_text(rd.to_urdf(loop.model))
    loops.write_text(
        "constraints:\n  - {type: point, name: closure, a: coupler, b: rocker, point_a: [0.9, 0, "
        "0], point_b: [0.7, 0, 0]}"
    )
    line = [
        "simulate",
        str(robot),
        "--constraints",
        str(loops),
        "--duration",
        "0.2",
        "--start",
        "0.7",
        "0.3",
        "1.0",
    ]
    assert main([*line, "--csv", str(out)]) == 0
    assert "1 constraints: 3 rows, 2 independent, 1 degrees" in capsys.readouterr().err
    last = list(csv.DictReader(out.open()))[-1]
    q = [float(last[f"{name}.position"]) for name in loop.model.joint_names]
    assert np.abs(loop.residual(q)).max() < 1e-10
    model = rd.load_urdf(robot)
    run = rd.simulate(
        model, q0=[0.7, 0.3, 1.0], duration=0.2, constraints=rd.load_constraints(model, loops)
    )
    np.testing.assert_allclose(q, run.q[-1], rtol=1e-12)
    assert (
        main([*line, "--to", "0.1", "0.2", "0.3"]) == 2
        and "--constraints" in capsys.readouterr().err
    )
    assert main([*line, "--integrator", "rk4"]) == 2 and "midpoint" in capsys.readouterr().err


def test_a_floating_robot_is_written_with_all_its_coordinates(tmp_path, capsys):
    out = tmp_path / "fall.csv"
    line = [
        "simulate",
        "three_link",
        "--floating-base",
        "--duration",
        "0.1",
        "--dt",
        "1e-3",
        "--no-friction",
    ]
    # before anything is simulated
    assert main([*line, "--csv", str(out), "--bag", str(tmp_path / "bag")]) == 2
    assert "joint states cannot tell" in capsys.readouterr().err and not out.exists()
    assert main([*line, "--csv", str(out)]) == 0
    run = rd.simulate(
        rd.load_robot("three_link", floating_base=True),
        duration=0.1,
        dt=1e-3,
        integrator="moreau",
        friction=False,
    )
    with out.open() as file:
        head, *rows = csv.reader(file)
    base = run.model.joint_names[0]
    np.testing.assert_array_equal(
        np.array(rows, dtype=float),
        np.column_stack([np.arange(101), run.t, run.q, run.v, run.a, run.tau]),
    )
    pose = [*(f"position.{x}" for x in "xyz"), *(f"orientation.{x}" for x in "xyzw")]
    assert head[2:9] == [f"{base}.{word}" for word in pose]
    k = head.index(f"{base}.velocity.linear.z")
    j = head.index(f"{run.model.joint_names[1]}.acceleration")
    # it falls, and the table says so
    assert float(rows[-1][k]) == pytest.approx(-9.81 * 0.1, rel=1e-6)
    assert float(rows[-1][j]) == run.a[-1, 6]


def test_a_table_with_ten_seconds_between_its_rows_is_followed_in_seconds(tmp_path, capsys):
    table = tmp_path / "slow.csv"
    lines = [f"{10 * k},{0.001 * k},{0.002 * k}" for k in range(25)]
    table.write_text("\n".join(["t,shoulder,elbow", *lines]) + "\n")
    line = ["simulate", "two_link", "--trajectory", str(table), "--duration", "0.02", "--json"]
    # a motion that is cut short has not arrived
    assert main([*line, "--time-unit", "s"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["duration"] == pytest.approx(0.02)
    assert data["arrived"] is False
    assert "takes 240 s" in data["reason"]


def test_a_link_is_led_to_a_pose(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "run.png"
    words = ["0.4", "0.1", "0.5", "3.1", "0", "0"]
    assert (
        main(
            [
                "simulate",
                "six_axis",
                "--pose",
                "tool0",
                *words,
                "--json",
                "--picture",
                str(picture),
                "--dt",
                "4e-3",
            ]
        )
        == 0
    )
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    q = [joint["end"] for joint in data["joints"]]
    T = rd.link_pose(rd.load_robot("six_axis"), q, "tool0")
    np.testing.assert_allclose(T[:3, 3], [0.4, 0.1, 0.5], atol=0.02)
    assert (
        data["arrived"] and str(picture) in captured.err and picture.read_bytes()[:4] == b"\x89PNG"
    )


def test_a_motion_that_asks_too_much_ends_with_the_reason(capsys, tmp_path):
    source = tmp_path / "lift.csv"
    rows = [f"{0.1 * k},{0.05 * k},0" for k in range(9)]
    source.write_text("\n".join(["t,shoulder.position,elbow.position", *rows]) + "\n")
    line = [
        "simulate",
        "two_link",
        "--payload",
        "tip:40",
        "--trajectory",
        str(source),
        "--dt",
        "4e-3",
    ]
    assert main(line) == 1
    assert "NOT ARRIVED: " in (out := capsys.readouterr().out) and "the effort limit of" in out


def test_a_controller_that_stopped_says_why_and_not_how_far_the_arm_is_from_its_goal():
    run = rd.simulate(rd.load_robot("two_link"), None, duration=0.01)
    lost = Rehearsal(run, run.q + 1.0, 0.01, Counter(runaway=1, fault=1), "joint 'elbow' runs away")
    assert not lost.arrived and lost.reason() == "joint 'elbow' runs away"
    assert "from the goal" in dataclasses.replace(lost, fault="").reason()


def test_the_demonstration_on_many_robots_says_arrived_or_why(tmp_path):
    weak = tmp_path / "weak.urdf"
    weak.write_text(rd.to_urdf(rd.load_robot("two_link")).replace('effort="60.0"', 'effort="3.0"'))
    lift = tmp_path / "lift.urdf"
    model = rd.load_robot("two_link")
    moving = model.joint_names
    vertical = [
        dataclasses.replace(j, type=rd.JointType.PRISMATIC, axis=[0, 0, 1])
        if j.name in moving
        else j
        for j in model.description.joints
    ]
    lift.write_text(
        rd.to_urdf(
            RobotModel.from_description(dataclasses.replace(model.description, joints=vertical))
        )
    )
    lift.write_text(lift.read_text().replace('effort="60.0"', 'effort="3.0"'))
    rows = try_robots(
        [
            ("two_link", rd.robot_path("two_link")),
            ("weak", weak),
            ("lift", lift),
            ("none", tmp_path / "none.urdf"),
        ],
        inertia_check="warn",
        duration=0.0,
        tolerance=0.01,
        seed=7,
        progress=lambda name: None,
    )
    assert [row["arrived"] for row in rows] == [True, True, False, False]
    assert (
        "starts elsewhere: at its initial configuration joint 'shoulder' needs"
        in rows[1]["outcome"]
    )
    assert "effort limits" in rows[2]["outcome"] and "does not exist" in rows[3]["outcome"]


def test_a_hand_whose_described_friction_is_two_thirds_of_its_effort_limits_arrives():
    """Feedback may overcome 0.4 of the limit; pulses add the friction of the description, which
    motion has confirmed.
    """
    (row,) = try_robots(
        [("allegro", example_urdf("allegro_left_hand.urdf"))],
        inertia_check="warn",
        duration=0.0,
        tolerance=0.003,
        seed=7,
        progress=lambda name: None,
    )
    assert row["arrived"], row["outcome"]


NARROW = """<robot name="narrow">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0.3 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"><inertial><mass value="0.1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/>
    <limit lower="0.5" upper="1.5" effort="20" velocity="2"/></joint>
  <joint name="grip" type="revolute"><parent link="arm"/><child link="hand"/><origin xyz="0 0.5 0"/>
  <axis xyz="0 1 0"/>
    <dynamics friction="3"/><limit lower="-1" upper="1" effort="{effort}" velocity="2"/></joint>
</robot>"""


def test_a_robot_that_zero_is_outside_the_limits_of_starts_at_the_nearest_position(
    tmp_path, capsys
):
    robot = tmp_path / "narrow.urdf"
    robot.write_text(NARROW.format(effort=10))
    model = rd.load_urdf(robot)
    np.testing.assert_array_equal(model.initial_configuration(), [0.5, 0.0])
    np.testing.assert_array_equal(model.neutral(), [0.0, 0.0])
    np.testing.assert_array_equal(rd.Plant(model).q, [0.5, 0.0])
    assert main(["simulate", str(robot), "--to", "1.0", "0.3", "--json"]) == 0
    said = capsys.readouterr()
    assert "zero is outside the limits: starts with lift at 0.5 rad" in said.err
    assert json.loads(said.out)["joints"][0]["start"] == 0.5
    assert main(["simulate", str(robot), "--start", "0", "0", "--to", "1.0", "0.3"]) == 2
    assert (
        "--start: 0 rad is outside the limits 0.5 to 1.5 rad of joint 'lift'"
        in capsys.readouterr().err
    )


def test_a_joint_that_cannot_move_is_named_with_the_reason(tmp_path, capsys):
    robot = tmp_path / "weak.urdf"
    robot.write_text(NARROW.format(effort=2.5))
    assert main(["simulate", str(robot), "--to", "1.0", "0.3", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (
        "joint 'grip' cannot move: friction (3 N m)" in error["message"]
        and "Leave it at 0" in error["remedy"]
    )
    assert main(["simulate", str(robot), "--to", "1.0", "0.0"]) == 0


def test_rows_as_data_have_plain_keys_and_full_numbers():
    rows = rows_as_data(
        ["joint", "largest force [N]", "± force", ""], [["lift", Figure.of(1 / 3, ".2g"), "-", "N"]]
    )
    assert rows == [{"joint": "lift", "largest_force_n": 1 / 3, "error_of_force": None}]
    assert Figure.of(1 / 3, ".2g", 1e3, "mm") == "3.3e+02 mm"


JOINT = """<joint name="j" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
</joint>"""
BODY = """<link name="{name}"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>"""


@pytest.mark.parametrize("command", ["simulate", "monte_carlo", "commission"])
@pytest.mark.parametrize("kind", ["fixed", "planar", "floating"])
def test_a_robot_that_no_law_moves_is_refused(command, kind, tmp_path, capsys):
    robot = tmp_path / "robot.urdf"
    robot.write_text(
        "<robot "
        f"name='r'>{BODY.format(name='a')}{BODY.format(name='b')}{JOINT.format(kind=kind)}</robot>"
    )
    assert main([command, str(robot), *(["--tour"] if command == "simulate" else [])]) == 2
    said = capsys.readouterr().err
    assert ("no moving joint" if kind == "fixed" else f"joint 'j' is {kind}") in said
