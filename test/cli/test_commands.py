"""The command line outside the demonstration."""

from __future__ import annotations

import io
import signal

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import COMMANDS, main
from robot_dynamics_ros.cli.progress import Progress
from robot_dynamics_ros.cli.table import table


def test_info_tells_joints_and_masses(capsys):
    assert main(["info", "six_axis"]) == 0
    out = capsys.readouterr().out
    model = rd.load_robot("six_axis")
    assert f"{model.total_mass:.6g} kg" in out
    for name in model.joint_names:
        assert name in out


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
