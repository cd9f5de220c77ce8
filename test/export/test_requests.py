"""What is asked for: the command, names, sizes, reports, and the same bytes every time."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_comment, c_number
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError
from robot_dynamics_ros.model import DCMotor
from robot_dynamics_ros.model.description import Inertia, Joint, JointType, Link, RobotDescription


def renamed(**names):
    """The two-link arm with joints of other names."""
    model = rd.load_robot("two_link")
    d = model.description
    joints = tuple(dataclasses.replace(j, name=names.get(j.name, j.name)) for j in d.joints)
    return rd.RobotModel.from_description(dataclasses.replace(d, joints=joints))


@pytest.mark.slow
def test_the_same_bytes_on_every_run(tmp_path):
    runs = []
    for k, backend in enumerate(("numpy", "interpreted")):
        where = tmp_path / str(k)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "robot_dynamics_ros.cli.main",
                "export",
                "three_link",
                "--functions",
                "all",
                "--symbols",
                "auto",
                "-o",
                str(where),
            ],
            env={
                **os.environ,
                "PYTHONHASHSEED": str(k),
                "ROBOT_DYNAMICS_BACKEND": backend,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            check=True,
            timeout=120,
            capture_output=True,
        )
        runs.append({path.name: path.read_bytes() for path in sorted(where.iterdir())})
    assert runs[0] == runs[1]
    assert sorted(runs[0]) == [
        "CMakeLists.txt",
        "three_link.c",
        "three_link.h",
        "three_link_test.c",
    ]


def test_numbers_survive_printing():
    for x in (0.1, 1.0, 1e-5, 1e22, 123456789.123456789, np.pi, 5e-324):
        assert float(c_number(x, "double")) == x
        assert np.float32(c_number(x, "float").rstrip("f")) == np.float32(x)
        assert re.search(r"[.e]", c_number(x, "double"))


def test_names_cannot_break_out_of_comments():
    model = renamed(shoulder="a */ int x; /* ??/ \\ \n b", elbow="Ä-Ö")
    code = rd.export_code(model, ["mass_matrix"], prefix="arm", rename={"Ä-Ö": "AOE"})
    header = code.files["arm.h"]
    assert header.isascii() and "int x; /*" not in header and "ARM_JOINT_AOE = 1" in header
    assert "*/" not in c_comment("*/*/ **//")
    compile(
        rd.export_code(
            model, ["mass_matrix"], prefix="arm", rename={"Ä-Ö": "AOE"}, language="python"
        ).files["arm.py"],
        "arm.py",
        "exec",
    )


def test_operation_counts_before_and_after():
    text = rd.operation_report(rd.load_robot("six_axis"), ["inverse_dynamics", "mass_matrix"])
    rows = {line.split()[0]: [int(x) for x in line.split()[1:]] for line in text.splitlines()[2:]}
    for written, folded, shared, *kinds in rows.values():
        assert written > folded >= shared == sum(kinds)
        assert shared < written / 3


def test_the_command(tmp_path, capsys):
    where = tmp_path / "out"
    assert (
        main(
            [
                "export",
                "two_link",
                "--lang",
                "python",
                "-o",
                str(where),
                "--report",
                "--prefix",
                "arm",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert (where / "arm.py").is_file() and "as written" in out and "shared" in out
    assert main(["export", "two_link", "--report", "--functions", "mass_matrix"]) == 0
    arguments = [
        "export",
        "two_link",
        "-o",
        str(where),
        "--motor",
        "elbow:R=1,kt=0.1,L=1e-3,N=50",
        "--functions",
        "step,jacobian",
        "--link",
        "tip",
        "--link",
        "forearm",
        "--external",
        "tip",
    ]
    assert main(arguments) == 0
    header = (where / "two_link.h").read_text()
    assert "jacobian_tip(" in header and "jacobian_forearm(" in header and "TWO_LINK_NM 1" in header


@pytest.mark.parametrize(
    "options, message",
    [
        ({"prefix": "double"}, "keyword or reserved word of C"),
        ({"prefix": "sin"}, "function of the C library"),
        ({"prefix": "2arm"}, "not a letter"),
        ({"prefix": "test"}, "CMake"),
        ({"symbols": {"mass:forearm": "for"}}, "keyword or reserved word of C"),
        ({"symbols": {"mass:forearm": "m", "mass:upper_arm": "m"}}, "already taken"),
        ({"smooth_velocity": 0.0}, "positive"),
        (
            {
                "motors": {"elbow": DCMotor(1, 1)},
                "functions": ["mass_matrix"],
                "rename": {"elbow": "shoulder"},
            },
            "both become",
        ),
    ],
)
def test_unusable_names_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        rd.export_code(rd.load_robot("two_link"), **options)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"functions": ["mass_matrx"]}, "mass_matrix"),
        ({"language": "fortran"}, "c99"),
        ({"real": "half"}, "double"),
        ({"integrator": "rk5o"}, "rk5"),
        ({"friction": "sticky"}, "viscous"),
        ({"links": ["hand"]}, "tip"),
        ({"external": ["hand"]}, "tip"),
        ({"motors": {"wrist": DCMotor(1, 1)}}, "elbow"),
        ({"rename": {"wrist": "w"}}, "elbow"),
        ({"symbols": {"mass:forarm": "m"}}, "mass:forearm"),
    ],
)
def test_unknown_names_are_answered_with_the_valid_ones(options, message):
    with pytest.raises(UnknownNameError, match=message):
        rd.export_code(rd.load_robot("two_link"), **options)


def test_joint_names_that_clash_or_vanish_are_refused():
    with pytest.raises(ArgumentError, match="'joint-1' and 'joint_1' both become"):
        rd.export_code(renamed(shoulder="joint-1", elbow="joint_1"), ["mass_matrix"])
    code = rd.export_code(
        renamed(shoulder="joint-1", elbow="joint_1"),
        ["mass_matrix"],
        rename={"joint-1": "joint_1a"},
    )
    assert "JOINT_JOINT_1A = 0" in code.files["two_link.h"]
    with pytest.raises(ArgumentError, match="no C identifier"):
        rd.export_code(renamed(shoulder="関節"), ["mass_matrix"])


def test_robots_that_cannot_be_exported_are_refused():
    with pytest.raises(ModelError, match="no moving joint"):
        rd.export_code(rd.load_robot("two_link").lock(["shoulder", "elbow"]))
    with pytest.raises(ModelError, match=r"about \d+ operations written out, more than 500"):
        rd.export_code(rd.load_robot("six_axis"), ["forward_dynamics"], max_operations=500)
    with pytest.raises(ArgumentError, match="one degree of freedom"):
        floating = RobotDescription(
            "free",
            (Link("w"), Link("b", Inertia(1.0, np.zeros(3), np.eye(3)))),
            (Joint("j", JointType.FLOATING, "w", "b"),),
        )
        rd.export_code(rd.RobotModel.from_description(floating), motors={"j": DCMotor(1, 1)})


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["two_link"], "--output"),
        (["two_link", "--report", "--functions", ""], "names nothing"),
        (["two_link", "--report", "--rename", "elbow"], "NAME=IDENTIFIER"),
        (["two_link", "--report", "--functions", "torque"], "unknown function"),
    ],
)
def test_the_command_explains_what_is_wrong(arguments, message, capsys):
    assert main(["export", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_sharing_never_adds_operations_where_numbers_are_parameters():
    for symbols in (None, "auto"):
        code = rd.export_code(
            rd.load_robot("two_link"), ["inverse_dynamics", "mass_matrix"], symbols=symbols
        )
        for line in code.report().splitlines()[2:]:
            written, folded, shared, *kinds = map(int, line.split()[1:])
            assert written > folded >= shared == sum(kinds)


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="'colour'"):
        rd.export_code(rd.load_robot("two_link"), colour="red")
