"""Many robots that are not quite as drawn, from the command line."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.control import laws
from robot_dynamics_ros.control.reference.planning import motion_through
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.simulation.tracking import TRACKING_LAWS, tracking_figures, tracking_law

QUICK = ["monte_carlo", "two_link", "--duration", "1.2", "--dt", "0.004"]


def test_table_progress_and_csv(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    assert main([*QUICK, "--runs", "4", "--csv", str(path)]) == 0
    said = capsys.readouterr()
    assert re.search(r"rms error.*\d", said.out)
    assert "100%" in said.err
    rows = list(csv.DictReader(path.open()))
    assert len(rows) == 4
    errors = [float(row["rms error [mrad, mm]"]) for row in rows]
    assert len(set(errors)) == 4
    # the same seed draws the same robots, however many run beside them
    assert main([*QUICK, "--runs", "2", "--csv", str(path)]) == 0
    assert [float(row["rms error [mrad, mm]"]) for row in csv.DictReader(path.open())] == errors[:2]


def test_processes_change_nothing(tmp_path):
    paths = [tmp_path / name for name in ("one.csv", "two.csv")]
    for path, processes in zip(paths, ("1", "2"), strict=True):
        assert main([*QUICK, "--runs", "2", "--processes", processes, "--csv", str(path)]) == 0
    assert paths[0].read_text() == paths[1].read_text()


@pytest.mark.parametrize(
    "wrong", [["--runs", "0"], ["--dt", "0"], ["--processes", "0"], ["--mass", "-1"]]
)
def test_wrong_arguments_are_refused(wrong, capsys):
    # as argparse ends on usage errors
    with pytest.raises(SystemExit) as ended:
        main([*QUICK, "--runs", "1", *wrong])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("error:") == 1


def test_what_the_law_knows_and_what_the_default_makes_good():
    """Computed torque alone needs the right robot; the node's default, which this command has,
    holds up on the wrong one.
    """
    model = rd.load_robot("two_link")
    wrong = rd.robot_model_error(model, mass=1.3)
    motion = motion_through(model, np.array([[0.4, 0.4], [0.9, -0.3], [0.1, 0.5]]))
    errors = {}
    for law, frequency in [(law, 15.0) for law in TRACKING_LAWS] + [("computed_torque", None)]:
        how = {"law": tracking_law(model, law, motion.waypoints[0], frequency), "dt": 2e-3}
        for robot in (model, wrong):
            found = tracking_figures(model, motion, how, robot, 0)
            errors[law, frequency, robot is model] = found["rms error [mrad, mm]"]
    alone = {name: errors[name, 15.0, True] for name in TRACKING_LAWS}
    assert alone["computed_torque"] < 0.2 * errors["computed_torque", 15.0, False]
    assert alone["computed_torque"] < 0.2 * alone["pd_gravity"]
    assert errors["computed_torque", None, False] < 0.2 * errors["computed_torque", 15.0, False]


def test_the_laws_are_those_of_the_registry():
    assert set(TRACKING_LAWS) == {name for name, law in laws.LAWS.items() if law.tracks} - {
        "cartesian_impedance"
    }
    for name in TRACKING_LAWS:
        law = tracking_law(rd.load_robot("two_link"), name, np.zeros(2), 10.0)
        assert isinstance(law, laws.LAWS[name])
    with pytest.raises(ArgumentError, match="expected one of computed_torque"):
        tracking_law(rd.load_robot("two_link"), "feed_forward", np.zeros(2))
