"""No command says success where the goal was not reached: cut short, refused, blocked."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli import commission, excite
from robot_dynamics_ros.cli.main import main, make_parser
from robot_dynamics_ros.cli.rehearsal import Rehearsal, path_bound
from robot_dynamics_ros.commissioning import StepReport
from robot_dynamics_ros.errors import ArgumentError


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "two_link", "--to", "1.5", "0.3", "--duration", "1"],
        ["simulate", "two_link", "--tour", "--duration", "3"],
        ["simulate", "two_link", "--tour", "--law", "pd_gravity", "--duration", "1"],
    ],
)
def test_a_motion_that_is_cut_short_has_not_arrived(words, capsys):
    assert main([*words, "--dt", "4e-3"]) == 1
    out = capsys.readouterr().out
    assert "NOT ARRIVED: cut short" in out
    assert main([*words, "--dt", "4e-3", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["arrived"] is False


def test_a_motion_that_is_refused_is_an_error(capsys):
    words = ["simulate", "two_link", "--to", "9", "0", "--dt", "4e-3"]
    robot = rd.load_robot("two_link")
    assert robot.upper[0] < 9.0 or not np.isfinite(robot.upper[0])
    outcome = main(words)
    captured = capsys.readouterr()
    assert outcome in (0, 2)
    assert ("arrived" in captured.out) == (outcome == 0)


def run_along(path, reference):
    """A run of the robot two_link along given positions (k, 2), one row a millisecond."""
    model = rd.load_robot("two_link")
    t = np.arange(len(path)) * 1e-3
    v = np.zeros_like(path)
    run = rd.simulate(model, q0=path[0], duration=1e-3, dt=1e-3)
    still = np.zeros_like(path)
    made = type(run)(t, path, v, still, still, t * 0.0, t * 0.0, None, run.plant)
    return Rehearsal(made, reference, 0.01, Counter(), "", "", float(t[-1]))


def tour(steps=200):
    """A motion that ends where it begins, of one radian and of a tenth."""
    hump = np.sin(np.linspace(0.0, np.pi, steps))[:, None]
    return hump * np.array([1.0, 0.1])


def test_a_robot_that_stood_still_during_a_tour_has_not_arrived():
    reference = tour()
    stood = run_along(np.zeros_like(reference), reference)
    assert stood.goal_error.max() < 1e-9
    assert not stood.arrived
    assert "has left its path" in stood.reason()


def test_a_joint_that_is_blocked_half_way_of_a_tour_has_not_arrived():
    reference = tour()
    blocked = reference.copy()
    blocked[:, 0] = np.minimum(blocked[:, 0], 0.5)
    outcome = run_along(blocked, reference)
    assert not outcome.arrived
    assert "shoulder" in outcome.reason()


def test_a_robot_that_follows_a_little_late_has_arrived():
    reference = tour()
    late = np.vstack([reference[:1].repeat(5, axis=0), reference[:-5]])
    late[-5:] = reference[-5:]
    assert run_along(late, reference).arrived
    assert (path_bound(reference, 0.01) >= 0.1 - 1e-12).all()


# -- commission: a step that was left out, refused or cut short is not done


class CommissioningDouble:
    """Commissioning of which each step ends as told: a report, or the error that refuses it."""

    def __init__(self, outcomes, stop_after=99):
        self.outcomes = outcomes
        self.reports = {}
        self.stop_after = stop_after

    def run(self, step):
        outcome = self.outcomes.get(step, StepReport(step))
        if isinstance(outcome, Exception):
            raise outcome
        self.reports[step] = outcome
        return outcome

    def stop(self):
        return len(self.reports) >= self.stop_after

    def write(self, folder):
        return {"commissioning.html": folder / "page", "controller.yaml": folder / "parameters"}


def commissioned(monkeypatch, tmp_path, capsys, double, *words):
    monkeypatch.setattr(commission, "Commissioning", lambda *_: double)
    code = main(["commission", "two_link", "--json", "--output", str(tmp_path / "new"), *words])
    return code, json.loads(capsys.readouterr().out)["not_done"]


REFUSED = ArgumentError("the arm is not to move", where="step float")


@pytest.mark.parametrize(
    ("double", "not_done"),
    [
        (CommissioningDouble({}), []),
        (CommissioningDouble({"float": REFUSED}), ["float", "twitch", "tune", "move"]),
        (CommissioningDouble({}, stop_after=2), ["float", "twitch", "tune", "move"]),
        (CommissioningDouble({"weigh": StepReport("weigh", enough=False)}), []),
    ],
    ids=["done", "refused", "cut short", "not finished"],
)
def test_commissioning_succeeds_only_if_every_step_is_done(
    double, not_done, monkeypatch, tmp_path, capsys
):
    code, said = commissioned(monkeypatch, tmp_path, capsys, double)
    assert list(said) == not_done
    healthy = all(report.healthy for report in double.reports.values())
    assert code == int(bool(not_done) or not healthy)


def test_steps_that_a_person_does_not_permit_are_not_done(monkeypatch):
    monkeypatch.setattr(commission, "_permitted", lambda step: False)
    options = argparse.Namespace(only=["listen", "weigh"], live=True, yes_to=["listen"])
    not_done = commission._steps(options, CommissioningDouble({}), None)
    assert not_done == {"weigh": "not done: not permitted"}


# -- excite


@pytest.mark.parametrize(
    ("words", "code"),
    [
        # a joint that hardly moves shows nothing
        (["--range", "elbow:0:0.01"], 1),
        # no motion at all: the joint is beyond its limits, or there is no room
        (["--range", "elbow:0.1:0.1"], 2),
        (["--floor", "9"], 2),
        (["--start", "99,0"], 2),
    ],
)
def test_excite_fails_where_its_motion_shows_nothing(words, code, tmp_path, capsys):
    name = tmp_path / "motion"
    quick = ["--evaluations", "3", "--output", str(name), "--quiet"]
    assert main(["excite", "two_link", *quick, *words]) == code
    if code == 1:
        assert "NOT ENOUGH" in capsys.readouterr().out
    else:
        assert not list(tmp_path.iterdir())


def test_excite_that_is_interrupted_leaves_no_files(monkeypatch, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(excite, "design_excitation", interrupted)
    words = ["excite", "two_link", "--output", str(tmp_path / "motion")]
    options = make_parser(["excite"]).parse_args(words)
    with pytest.raises(KeyboardInterrupt):
        excite.run(options)
    assert not list(tmp_path.iterdir())


# -- monte_carlo

FEW_RUNS = ["monte_carlo", "two_link", "--runs", "2", "--dt", "4e-3", "--processes", "1"]


def test_robots_of_a_batch_that_are_not_at_the_goal_are_counted(capsys):
    words = [*FEW_RUNS, "--json", "--quiet", "--law", "pd_gravity", "--duration", "1"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["arrived"] == 0
    assert min(said["figures"]["error at the end [mrad, mm]"]) > 10.0
    assert main([*words, "--tolerance", "0.01"]) == 1
    assert main([*words, "--tolerance", "10"]) == 0


def test_a_run_whose_controller_gives_up_has_failed(monkeypatch, capsys):
    from robot_dynamics_ros.simulation import tracking

    follow = tracking.follow

    def blocked(*arguments, **options):
        run, controller = follow(*arguments, **options)
        controller.runner.fault = "runaway: 'elbow' accelerates against its effort"
        return run, controller

    monkeypatch.setattr(tracking, "follow", blocked)
    assert main([*FEW_RUNS, "--json", "--quiet", "--duration", "1"]) == 1
    assert "runaway" in json.loads(capsys.readouterr().out)["failures"]["0"]


# -- identify


@pytest.fixture(scope="module")
def recording():
    """Rows t, q, effort of the robot two_link with masses of its own."""
    model = rd.load_robot("two_link")
    t = np.arange(0.0, 6.0, 0.01)
    phase = np.stack([1.3 * t, 2.1 * t + 0.4 * np.sin(t)], axis=1)
    rates = np.stack([np.full_like(t, 1.3), 2.1 + 0.4 * np.cos(t)], axis=1)
    bends = np.stack([np.zeros_like(t), -0.4 * np.sin(t)], axis=1)
    q = np.sin(phase)
    v = rates * np.cos(phase)
    a = bends * np.cos(phase) - rates**2 * q
    effort = rd.inverse_dynamics(rd.robot_model_error(model, mass=1.2), q, v, a)
    return t, q, effort + 0.3 * v


def write_table(path, t, q, effort):
    names = ("shoulder", "elbow")
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["t", *(f"{n}.position" for n in names), *(f"{n}.effort" for n in names)])
        rows.writerows(np.column_stack([t, q, effort]).tolist())


def identified(path, t, q, effort, *words):
    write_table(path, t, q, effort)
    output = path.parent / "identified"
    options = ["--no-page", "--overwrite", "--quiet", "--friction", "simple", "--processes", "1"]
    words = ["identify", "two_link", "--csv", str(path), "--output", str(output), *options, *words]
    return main(words), output


def test_identify_succeeds_with_a_whole_recording(recording, tmp_path):
    code, output = identified(tmp_path / "motion.csv", *recording)
    assert code == 0
    assert (output / "identified.urdf").exists()


def test_identify_refuses_a_recording_that_is_cut_short(recording, tmp_path, capsys):
    t, q, effort = recording
    code, output = identified(tmp_path / "motion.csv", t[:20], q[:20], effort[:20])
    assert code == 2
    assert not output.exists()
    assert "too" in capsys.readouterr().err


def test_identify_refuses_a_joint_that_was_blocked(recording, tmp_path, capsys):
    t, q, effort = recording
    stood = np.zeros_like(q)
    code, output = identified(tmp_path / "motion.csv", t, stood, effort)
    assert code == 2
    assert not output.exists()
    assert capsys.readouterr().err


def in_degrees(t, q, effort):
    return t, np.degrees(q), effort


def with_a_clock_25_times_too_slow(t, q, effort):
    return 0.04 * t, q, effort


def with_rows_in_disorder(t, q, effort):
    order = np.random.default_rng(0).permutation(len(t))
    return t[order], q[order], effort[order]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (in_degrees, "They look like degrees"),
        (with_a_clock_25_times_too_slow, "more than five times its velocity limit"),
        (with_rows_in_disorder, "rows do not increase"),
    ],
)
def test_wrenches_and_identify_refuse_the_same_motions(recording, tmp_path, capsys, damage, said):
    table = tmp_path / "motion.csv"
    assert identified(table, *damage(*recording))[0] == 2
    assert said in capsys.readouterr().err
    output = tmp_path / "wrenches"
    words = ["wrenches", "two_link", "--csv", str(table), "--output", str(output)]
    words += ["--formats", "csv", "--quiet"]
    assert main(words) == 2
    assert said in capsys.readouterr().err
    assert not output.exists()


def test_wrenches_of_an_implausible_motion_are_written_if_it_is_accepted(recording, tmp_path):
    table = tmp_path / "motion.csv"
    write_table(table, *in_degrees(*recording))
    words = ["wrenches", "two_link", "--csv", str(table), "--output", str(tmp_path / "wrenches")]
    words += ["--formats", "csv", "--quiet", "--plausibility", "accept"]
    assert main(words) == 0


def wrenches(table, output, *words):
    options = ["--output", str(output), "--formats", "csv", "--quiet", *words]
    return main(["wrenches", "two_link", "--csv", str(table), *options])


def in_newton_millimetres(t, q, effort):
    return t, q, 1e3 * effort


def with_one_sign_changed(t, q, effort):
    return t, q, effort * [-1.0, 1.0]


def with_joints_exchanged(t, q, effort):
    return t, q, effort[:, ::-1]


def with_one_effort_that_is_not_measured(t, q, effort):
    return t, q, np.column_stack([np.full(len(t), 2.0), effort[:, 1]])


def with_positions_as_efforts(t, q, effort):
    return t, q, q


@pytest.mark.parametrize(
    "damage",
    [
        in_newton_millimetres,
        with_one_sign_changed,
        with_joints_exchanged,
        with_one_effort_that_is_not_measured,
        with_positions_as_efforts,
    ],
)
def test_wrenches_are_no_success_where_identify_refuses_the_efforts(
    recording, tmp_path, capsys, damage
):
    """They do not need the efforts, so they are written, with what identify says."""
    table = tmp_path / "motion.csv"
    assert identified(table, *damage(*recording))[0] == 2
    refusal = capsys.readouterr().err
    output = tmp_path / "wrenches"
    assert wrenches(table, output) == 1
    said = capsys.readouterr()
    assert (output / "wrenches.csv").exists()
    assert "recorded efforts and robot contradict each other" in said.err
    assert "recorded efforts and robot contradict each other" in said.out
    cause = said.err.split("contradict each other: ")[1].split(". ")[0]
    assert cause in refusal
    assert wrenches(table, output, "--overwrite", "--plausibility", "accept") == 0
    assert "contradict" not in capsys.readouterr().err


def test_accelerations_from_efforts_that_are_wrong_are_refused(recording, tmp_path, capsys):
    table = tmp_path / "motion.csv"
    write_table(table, *with_one_sign_changed(*recording))
    output = tmp_path / "wrenches"
    assert wrenches(table, output, "--acceleration", "model") == 2
    assert "leave --acceleration out" in capsys.readouterr().err
    assert not output.exists()


def test_efforts_of_a_robot_of_many_joints_are_said_not_to_be_compared(
    recording, tmp_path, monkeypatch, capsys
):
    from robot_dynamics_ros.cli import wrenches as command

    monkeypatch.setattr(command, "_MOST_JOINTS_COMPARED", 1)
    table = tmp_path / "motion.csv"
    write_table(table, *with_one_sign_changed(*recording))
    assert wrenches(table, tmp_path / "wrenches") == 0
    assert "not compared with the robot, which has more than 1 joints" in capsys.readouterr().out
    write_table(table, *with_one_effort_that_is_not_measured(*recording))
    assert wrenches(table, tmp_path / "wrenches", "--overwrite") == 1


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_wrenches_of_a_healthy_recording_and_of_one_without_efforts_succeed(
    recording, tmp_path, capsys, share
):
    t, q, effort = recording
    write_table(tmp_path / "motion.csv", t, q, share * effort)
    assert wrenches(tmp_path / "motion.csv", tmp_path / "wrenches") == 0
    said = capsys.readouterr()
    assert "contradict" not in said.out + said.err
    assert ("they are not compared with the robot" in said.out) == (share == 0.0)


def test_a_poor_result_is_no_success(recording, tmp_path, monkeypatch, capsys):
    from robot_dynamics_ros import identification

    monkeypatch.setattr(identification, "findings", lambda *_: [("poor", "Nothing fits.")])
    code, _ = identified(tmp_path / "motion.csv", *recording)
    assert code == 1
    assert "POOR: Nothing fits." in capsys.readouterr().out
    assert identified(tmp_path / "motion.csv", *recording, "--plausibility", "accept")[0] == 0


# -- hold and payload, which speak to a running controller


@dataclasses.dataclass
class ClientDouble:
    """A controller's answers."""

    holds: bool = True
    moves: str = ""
    refusal: str = ""
    force: str = ""

    def __call__(self, *_, **__):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def hold(self):
        return self.holds, "holding" if self.holds else "the controller is not active"

    def comes_to_rest(self):
        return self.moves

    def set_parameters(self, values):
        return self.refusal

    def wait_for_payload(self, text):
        return self.force


@pytest.mark.parametrize(
    ("words", "answers", "said"),
    [
        (["hold"], ClientDouble(), "holding"),
        (["hold"], ClientDouble(holds=False), "NOT HOLDING: the controller is not active"),
        (["hold"], ClientDouble(moves="the arm still moves"), "NOT HOLDING: the arm still moves"),
        (["payload", "tip:1"], ClientDouble(), "1 kg on 'tip'"),
        (["payload", "tip:1"], ClientDouble(refusal="too heavy"), "NOT ACCEPTED: too heavy"),
        (["payload", "none"], ClientDouble(force="in force: 1 kg"), "NOT IN FORCE: in force: 1 kg"),
    ],
)
def test_hold_and_payload_say_what_is_so(words, answers, said, monkeypatch, capsys):
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from robot_dynamics_ros.ros import controller_client

    monkeypatch.setattr(controller_client, "ControllerClient", answers)
    assert main(words) == int("NOT" in said)
    assert said in capsys.readouterr().out
    assert main([*words, "--json"]) == int("NOT" in said)
    data = json.loads(capsys.readouterr().out)
    assert (data.get("holding", data.get("in_force"))) is ("NOT" not in said)
