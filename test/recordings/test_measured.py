"""Recordings of arms whose drivers publish other things than the motors' efforts."""

import json

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.model.measured_effort import EFFORT_MEANINGS, MeasuredEffort
from robot_dynamics_ros.recordings.recording import Recording, robot_of_efforts, with_motor_efforts
from robot_dynamics_ros.simulation.driver import Driver
from robot_dynamics_ros.simulation.plant import Plant

NAMES = rd.load_robot("seven_axis").joint_names
HOME = np.array([0.2, 0.4, -0.3, -1.2, 0.5, 0.7, 0.1])
DT = 1e-3


@pytest.fixture(scope="module")
def model():
    arm = rd.load_robot("seven_axis", armature=dict.fromkeys(NAMES, 0.2))
    return rd.robot_model_error(arm, friction=0.0, damping=100.0)


def record(model, kind):
    """A swing of all joints, as a driver that compensates gravity publishes it, and the true
    accelerations.
    """
    plant = Plant(model, DT, q0=HOME)
    driver = Driver(plant, compensates="gravity", measured=kind)
    rows = []
    for k in range(400):
        before = plant.v
        plant.step(driver.motor_effort(5.0 * np.sin(0.02 * k + np.arange(7))))
        rows.append((k * DT, plant.q, plant.v, driver.reading(), (plant.v - before) / DT))
    t, q, v, effort, a = (np.array(column) for column in zip(*rows, strict=True))
    return Recording("driver", NAMES, t, q, v, effort, np.arange(len(t))), a


@pytest.mark.parametrize("meaning", [m for m in EFFORT_MEANINGS if m not in ("commanded", "none")])
def test_efforts_fit_the_robot_that_they_move(model, meaning):
    kind = MeasuredEffort(meaning, np.linspace(0.5, 2.0, 7) if meaning == "current" else None)
    recording, a = record(model, kind)
    moved = robot_of_efforts(model, kind)
    told = with_motor_efforts(recording, model, kind)
    expected = rd.inverse_dynamics(moved, told.q, told.v, a) + moved.damping * told.v
    # a is the mean of a period of 1 ms
    np.testing.assert_allclose(told.effort, expected, atol=0.05)
    assert np.abs(expected).max() > 30.0
    assert bool(told.notes) == (meaning in ("link_torque", "torque_without_gravity"))


@pytest.mark.parametrize("meaning", ["commanded", "none"])
def test_efforts_that_were_not_measured_are_not_used(model, meaning):
    recording, _ = record(model, MeasuredEffort(meaning))
    told = with_motor_efforts(recording, model, MeasuredEffort(meaning))
    assert told.effort is None
    assert meaning in told.notes[-1]


def test_the_command_line_takes_the_meaning_from_the_arm(model, tmp_path, capsys):
    """The wrenches of a swing, computed from the efforts at the links, are those from the
    motion.
    """
    recording, _ = record(model, MeasuredEffort("link_torque"))
    table = tmp_path / "swing.csv"
    head = [
        "t",
        *(f"{name}.{field}" for field in ("position", "velocity", "effort") for name in NAMES),
    ]
    rows = np.hstack((recording.t[:, None], recording.q, recording.v, recording.effort))
    np.savetxt(table, rows, delimiter=",", header=",".join(head), comments="")
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(rd.to_urdf(model))

    def wrenches(*words):
        out = tmp_path / "_".join(["out", *words]).replace("-", "")
        command = ["wrenches", str(urdf), "--csv", str(table), "--output", str(out)]
        assert main([*command, "--formats", "csv", "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)

    by_efforts = wrenches("--arm", "franka_fr3", "--acceleration", "model")
    by_motion = wrenches()
    assert any("rotors and friction are left out" in note for note in by_efforts["notes"])
    largest = "largest_force_n"
    forces = [[row[largest] for row in data["rows"]] for data in (by_efforts, by_motion)]
    # the motion is smoothed over 0.1 s, the efforts are not
    np.testing.assert_allclose(*forces, rtol=0.1)
    misread = wrenches("--acceleration", "model", "--measured-effort", "torque_without_gravity")
    assert misread["rows"][0][largest] > 1.2 * forces[0][0]
    assert (
        main(
            [
                "wrenches",
                str(urdf),
                "--csv",
                str(table),
                "--output",
                str(tmp_path / "x"),
                "--arm",
                "ur_ur5e",
            ]
        )
        != 0
    )
    assert "torque constants are not known" in capsys.readouterr().err
