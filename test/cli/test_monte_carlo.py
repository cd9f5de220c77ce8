"""Many robots that are not quite as drawn, from the command line."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.simulation.tracking import LAWS, TrackingExperiment

QUICK = ["monte_carlo", "two_link", "--duration", "0.6", "--dt", "0.004"]


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


@pytest.mark.parametrize("wrong", [["--runs", "0"], ["--dt", "0"], ["--processes", "0"], ["--mass", "-1"]])
def test_wrong_arguments_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as ended:  # as argparse ends on usage errors
        main([*QUICK, "--runs", "1", *wrong])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("error:") == 1


def test_a_law_that_knows_the_robot_tracks_better_than_one_that_does_not():
    model = rd.load_robot("two_link")

    def at(t, derivative):
        phase = [np.sin, np.cos, lambda x: -np.sin(x)][derivative](3.0 * t)
        offset = 0.4 if derivative == 0 else 0.0
        return offset + 0.5 * 3.0**derivative * np.stack([phase, phase], axis=-1)

    errors = {}
    for law in LAWS:
        experiment = TrackingExperiment.of_motion(model, at, 1.0, dt=2e-3, law=law, frequency=15.0, integrator="moreau")
        for name, robot in (("right", model), ("wrong", rd.robot_model_error(model, mass=1.3))):
            errors[law, name] = experiment(robot, 0)["rms error [mrad, mm]"]
    assert errors["computed_torque", "right"] < 0.2 * errors["computed_torque", "wrong"]
    assert errors["computed_torque", "right"] < 0.2 * errors["pd_gravity", "right"]
