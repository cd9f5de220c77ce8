"""Signals end a command and everything that it has started, at any moment, without a traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
from support.domains import private_domain


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
@pytest.mark.parametrize("after", [0.0, 0.4, 2.0])
def test_a_long_computation_ends(tmp_path, number, code, after):
    words = ["excite", "six_axis", "--output", str(tmp_path / "m"), "--evaluations", "1000000"]
    command = (
        "import sys; from robot_dynamics_ros.cli import main as cli; run = cli._run; "
        "cli._run = lambda given: print('at work', flush=True) or run(given); "
        f"sys.exit(cli.main({words!r}))"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert run.stdout.readline() == "at work\n"
        # imports, compilation, the search: wherever it is by then
        time.sleep(after)
        run.send_signal(number)
        _, err = run.communicate(timeout=120)
    finally:
        run.kill()
    assert run.returncode == code and "Traceback" not in err, err


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["int", "term", "hup"]
)
def test_of_many_signals_the_first_one_counts(number):
    """The program's own frame around a command that takes long."""
    command = (
        "import sys, time; from robot_dynamics_ros.cli import main as cli; "
        "cli._run = lambda given: print('at work', flush=True) or time.sleep(60); "
        "sys.exit(cli.main([]))"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout.readline() == "at work\n"
    while run.poll() is None:
        run.send_signal(number)
        time.sleep(0.002)
    _, told = run.communicate()
    assert run.returncode == 128 + number and "Traceback" not in told


def test_a_signal_that_meets_a_finalizer_is_not_lost():
    """Python drops exceptions there, and imports run some of them."""
    command = """
import os, signal, sys, time
from robot_dynamics_ros.cli import main as cli
class Met:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
def run(given):
    Met()
    time.sleep(60)
cli._run = run
sys.exit(cli.main([]))
"""
    run = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 143 and run.stderr == "terminated\n"


@pytest.mark.parametrize("place", ["add_arguments", "run"])
def test_a_signal_that_an_import_turns_into_an_error_is_not_lost(place):
    """The imports of libraries written in C answer any exception with an ImportError."""
    command = f"""
import os, signal, sys, time
from robot_dynamics_ros.cli import main as cli
class Command:
    add_arguments = run = staticmethod(lambda given: 0)
def broken(given):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    except KeyboardInterrupt:
        raise ImportError("multiarray failed to import") from None
Command.{place} = staticmethod(broken)
cli._module = lambda name: Command
sys.exit(cli.main(["info"]))
"""
    run = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 143 and run.stderr == "terminated\n"


def test_nothing_heavy_is_imported_before_signals_are_handled():
    check = (
        "import sys, robot_dynamics_ros.cli.main; print({'numpy', 'scipy', 'rclpy'} & "
        "set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.middleware
@pytest.mark.skipif(find_spec("rclpy") is None, reason="ROS 2 is not installed")
def test_the_nodes_of_the_demonstration_end_with_it(tmp_path):
    with private_domain() as domain:
        run = subprocess.Popen(
            [
                sys.executable,
                "-u",
                "-m",
                "robot_dynamics_ros",
                "demo",
                "two_link",
                "--output",
                str(tmp_path),
                "--no-view",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
        )
        line = next(line for line in run.stdout if line.startswith("processes"))
        children = [int(pid) for pid in re.findall(r"(?:simulator|controller) (\d+)", line)]
        assert len(children) == 2 and all(alive(pid) for pid in children)
        run.send_signal(signal.SIGTERM)
        # an impatient one
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=120)
    assert run.returncode == 143 and "Traceback" not in err
    assert not any(alive(pid) for pid in children)
