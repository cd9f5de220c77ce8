"""No traceback for any user input: command lines that are wrong in every way a person, a script or
a disk can be wrong.
"""

from __future__ import annotations

import io

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import COMMANDS, main

LONG = "x" * 5000
# ``{tmp}`` is an empty directory, ``{file}`` a file with some text in it, ``{urdf}`` a robot,
# ``{csv}`` a recording of it
LINES = [
    # commands and shared options
    "",
    "no_such_command",
    "info",
    "info --json",
    "--nope",
    "info two_link --nope",
    "info two_link extra",
    "info two_link --quiet --verbose",
    "info two_link --gravity",
    "info two_link --gravity 0 0",
    "info two_link --gravity 0 0 nan",
    "info two_link --gravity 0 0 inf",
    "info two_link --gravity a b c",
    "info two_link --gravity 0 0 ９",
    "info two_link --base 1 2 3",
    "info two_link --base 0 0 0 0 0 inf",
    "info two_link --payload",
    "info two_link --payload tip",
    "info two_link --payload tip:x",
    "info two_link --payload tip:-1",
    "info two_link --payload tip:nan",
    "info two_link --payload tip:1:0,0",
    "info two_link --payload tip:1:0,0,inf",
    "info two_link --payload nobody:1",
    "info two_link --payload :",
    "info two_link --payload tip:1:0,0,0:9",
    "info two_link --inertia-check maybe",
    "info two_link --backend abacus",
    "info two_link --floating-base",
    "info pendulum --floating-base --inertia-check error",
    # robots
    "info nope",
    "info nope.urdf",
    f"info {LONG}",
    "info {tmp}",
    "info {file}",
    "info /dev/zero",
    "info /dev/null",
    "info /proc/self/mem",
    "info -",
    "info file:///nope.urdf",
    "info package://nope/robot.urdf",
    "info ~nobody/robot.urdf",
    "info two_link load:=1",
    "info {file}.xacro",
    "info {xacro} load:=abc",
    "info {xacro} load:=",
    "info {xacro} :=3",
    "info {sdf}",
    "info {empty}",
    "info .",
    "info ..",
    "info ''",
    "info ' '",
    "info {binary}",
    # numbers that cannot be
    "monte_carlo two_link --seed -1",
    "monte_carlo two_link --runs 0",
    "monte_carlo two_link --runs -3",
    "monte_carlo two_link --runs 1e3",
    "monte_carlo two_link --runs 99999999999999999999",
    "monte_carlo two_link --dt 0",
    "monte_carlo two_link --dt nan",
    "monte_carlo two_link --dt -1",
    "monte_carlo two_link --dt 1e-12",
    "monte_carlo two_link --duration inf",
    "monte_carlo two_link --duration nan",
    "monte_carlo two_link --duration -1",
    "monte_carlo two_link --duration 1e-9",
    "monte_carlo two_link --duration 1e12",
    "monte_carlo two_link --mass -0.1",
    "monte_carlo two_link --mass inf",
    "monte_carlo two_link --frequency 0",
    "monte_carlo two_link --rotors -1",
    "monte_carlo two_link --processes 0",
    "monte_carlo two_link --law magic",
    "monte_carlo two_link --integrator magic",
    "monte_carlo two_link --csv {tmp}/no/dir/out.csv --runs 1 --duration 0.5",
    "monte_carlo two_link --csv {tmp} --runs 1 --duration 0.5",
    f"monte_carlo two_link --csv {LONG}",
    "monte_carlo two_link --csv /dev/full --runs 1 --duration 0.5",
    "excite two_link --output {tmp}/m --period 0",
    "excite two_link --output {tmp}/m --period inf",
    "excite two_link --output {tmp}/m --period nan",
    "excite two_link --output {tmp}/m --rate inf",
    "excite two_link --output {tmp}/m --rate 0",
    "excite two_link --output {tmp}/m --harmonics 0",
    "excite two_link --output {tmp}/m --harmonics 1000000",
    "excite two_link --output {tmp}/m --scale 0",
    "excite two_link --output {tmp}/m --scale 2",
    "excite two_link --output {tmp}/m --seed -1",
    "excite two_link --output {tmp}/m --periods 0",
    "excite two_link --output {tmp}/m --evaluations 0",
    "excite two_link --output {tmp}/m --range elbow",
    "excite two_link --output {tmp}/m --range elbow:1:nan",
    "excite two_link --output {tmp}/m --range knee:0:1",
    "excite two_link --output {tmp}/m --start 1,nan",
    "excite two_link --output {tmp}/m --start 1",
    "excite two_link --output {tmp}/m --floor nan",
    "excite two_link --output {file}/m --evaluations 1",
    f"excite two_link --output {LONG}",
    "excite two_link --output /proc/m --evaluations 1",
    "excite two_link --output {tmp}/m --floor 50 --evaluations 5",
    "excite two_link --output {tmp}/m --rate 1e9 --evaluations 5",
    # recordings
    "wrenches two_link",
    "wrenches two_link --csv {csv} --bag {csv}",
    "wrenches two_link --csv nope.csv",
    "wrenches two_link --csv /dev/zero",
    "wrenches two_link --csv {tmp}",
    "wrenches two_link --csv {file}",
    "wrenches two_link --csv {binary}",
    "wrenches two_link --csv {empty}",
    "wrenches two_link --bag {file}",
    "wrenches two_link --bag {tmp}",
    "wrenches two_link --bag {binary}",
    "wrenches two_link --bag /dev/zero",
    "wrenches two_link --csv {csv} --output {tmp}/w --window 0",
    "wrenches two_link --csv {csv} --output {tmp}/w --external knee=ft",
    "wrenches two_link --csv {csv} --output {tmp}/w --order 99",
    "wrenches two_link --csv {csv} --output {tmp}/w --formats magic",
    "wrenches two_link --csv {csv} --output {tmp}/w --formats ,",
    "wrenches two_link --csv {csv} --output {tmp}/w --joints knee",
    "wrenches two_link --csv {csv} --output {tmp}/w --balance knee",
    "wrenches two_link --csv {csv} --output {tmp}/w --observer knee",
    "wrenches two_link --csv {csv} --output {tmp}/w --expressed-in knee",
    "wrenches two_link --csv {csv} --output {file}/w --formats csv",
    "wrenches two_link --csv {csv} --output {file} --formats csv",
    "wrenches two_link --csv {csv} --output /proc/w --formats csv",
    f"wrenches two_link --csv {LONG}",
    "wrenches six_axis --csv {csv} --output {tmp}/w",
    "identify two_link",
    "identify two_link --csv /dev/zero",
    "identify two_link --csv {csv} --output {tmp}/i",
    "identify two_link --csv {csv} --output {tmp}/i --block 5",
    "identify two_link --csv {csv} --output {tmp}/i --block nan",
    "identify two_link --csv {csv} --output {tmp}/i --window 1e9",
    "identify two_link --csv {csv} --output {tmp}/i --confidence 7",
    "identify two_link --csv {csv} --output {tmp}/i --lock knee",
    "identify two_link --csv {csv} --output {tmp}/i --lock elbow=x",
    "identify two_link --csv {csv} --output {tmp}/i --terms magic",
    "identify two_link --csv {csv} --output {tmp}/i --validate nope.csv",
    "identify two_link --csv {csv} --output {tmp}/i --effort-delay inf",
    # simulation
    "simulate two_link --start 1",
    "simulate two_link --start nan 0",
    "simulate two_link --duration inf",
    "simulate two_link --duration 1e9",
    "simulate two_link --dt 0",
    "simulate two_link --dt 5",
    "simulate two_link --dt 1e-12",
    "simulate two_link --to 1",
    "simulate two_link --to 99 0",
    "simulate two_link --pose tip 1 2 3",
    "simulate two_link --law magic",
    "simulate two_link --pose tip 9 9 9 0 0 0",
    "simulate two_link --pose nobody 0 0 0 0 0 0",
    "simulate two_link --pose tip x 0 0 0 0 0",
    "simulate two_link --law computed_torque",
    "simulate two_link --tour --law none",
    "simulate two_link --tour --velocity 1 1",
    "simulate two_link --tour --to 0 0",
    "simulate two_link --trajectory {file}",
    "simulate two_link --trajectory /dev/zero",
    "simulate two_link --duration 0.1 --csv {tmp}/no/such/dir.csv",
    "simulate two_link --duration 0.1 --csv /dev/full",
    "simulate two_link --duration 0.1 --bag {tmp}",
    "simulate two_link --duration 0.1 --picture {tmp}/a/b.png",
    "simulate two_link --duration 0.1 --picture {tmp}/a.nope",
    "simulate two_link --duration 0.1 --html {tmp}/no/dir.html",
    "simulate two_link --seed -1",
    "simulate six_axis --floating-base --tour",
    "simulate two_link --integrator magic",
    # symbols, code, pictures
    "equations two_link --only magic",
    "equations two_link --digits 0",
    "equations two_link --digits 99",
    "equations two_link --symbol x",
    "equations two_link --symbol mass:knee=m",
    "equations two_link --max-terms 0",
    "equations two_link --output {tmp}",
    "equations two_link --output {tmp}/a/b.txt",
    "equations two_link --output /dev/full --only G",
    "equations two_link --coordinates 7",
    "equations two_link --motor elbow:R=x",
    f"equations two_link --output {LONG}",
    "export two_link",
    "export two_link --output {file}",
    "export two_link --output /proc/nope",
    "export two_link --report --functions magic",
    "export two_link --report --link knee",
    "export two_link --report --prefix 9",
    "export two_link --report --external knee",
    "export two_link --report --max-operations 0",
    "export two_link --report --smooth-velocity 0",
    "export two_link --report --lang cobol",
    "view two_link --q 1",
    "view two_link --q nan 0",
    "view two_link --run {file} --html {tmp}/x.html",
    "view two_link --port 99999999",
    "view two_link --speed 0",
    "view two_link --csv /dev/zero",
    "view",
    "demo two_link --duration nan",
    "demo two_link --duration -1",
    "demo two_link --tolerance nan",
    "commission nope",
    "commission two_link --floating-base",
    "commission two_link --yes-to dance",
    "commission two_link --only dance",
    "commission two_link --only listen --yes-to listen --output {file}",
    f"commission two_link --output {LONG}",
    "commission two_link --arm nobody",
    "demo two_link --seed -1",
    "demo nope",
    "demo two_link --output {file}",
    f"demo two_link --output {LONG}",
    "demo two_link --floating-base",
    "send nope --tour",
    "send two_link --tour --duration nan",
    "send two_link --to a b --nope",
    "hold --nope",
    "hold extra",
    "payload",
    "payload :",
    "payload tip:x",
    "payload tip:1 --inertia 1",
]


@pytest.fixture
def places(tmp_path):
    """What the names in braces stand for."""
    empty = tmp_path / "empty"
    (tmp_path / "tmp").mkdir()
    contents = {
        "file": "some text\nin two lines\n",
        "file.xacro": "<robot",
        "xacro": '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arg name="load" '
        'default="1"/><link name="a">'
        '<inertial><mass value="$(arg load)"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" '
        'izz="1"/></inertial></link></robot>',
        "sdf": '<sdf version="1.9"><model name="m"/></sdf>',
        "urdf": rd.to_urdf(rd.load_robot("two_link")),
        "csv": "t,shoulder.position,elbow.position,shoulder.effort,elbow.effort\n"
        + "".join(f"{0.01 * k},{0.1 * k % 1},0,1,0\n" for k in range(40)),
    }
    found = {"tmp": tmp_path / "tmp", "empty": empty, "binary": tmp_path / "binary"}
    empty.touch()
    found["binary"].write_bytes(bytes(range(256)) * 8)
    for name, text in contents.items():
        path = tmp_path / (name if name != "xacro" else "robot.urdf.xacro")
        path.write_text(text)
        found[name] = path
    return {name: str(path) for name, path in found.items()}


@pytest.mark.parametrize("line", LINES, ids=[f"{k:03d}" for k in range(len(LINES))])
@pytest.mark.timeout(60)
def test_an_error_and_no_traceback(line, places, capsys, monkeypatch):
    import shlex

    words = [word.format(**places) if len(word) < 1000 else word for word in shlex.split(line)]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"<nothing")))
    monkeypatch.chdir(places["tmp"])
    try:
        code = main(words)
    except SystemExit as end:
        # argparse
        code = end.code
    out, err = capsys.readouterr()
    assert code in (1, 2), (code, out[-300:], err[-600:])
    assert err.strip() and "Traceback" not in err + out
    assert len(err.splitlines()) < 60


def test_there_are_enough_of_them_for_every_command():
    assert len(LINES) >= 100 and all(
        any(line.startswith(name + " ") for line in LINES) for name in COMMANDS
    )
