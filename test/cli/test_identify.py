"""Excite, record, identify, from the command line."""

import csv
import json

import numpy as np
import pytest
from support.bags import write_bag
from support.identification_data import record, wrong_robot

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of a two-link arm along the motion that the command designs."""
    folder = tmp_path_factory.mktemp("identify")
    assert (
        main(
            [
                "excite",
                "two_link",
                "--output",
                str(folder / "motion"),
                "--period",
                "10",
                "--periods",
                "1",
                "--evaluations",
                "60",
                "--start",
                "0.2,0.1",
            ]
        )
        == 0
    )
    prior = rd.load_robot("two_link")
    motion = rd.design_excitation(prior, rd.DesignSettings(period=10.0, evaluations=60))
    truth = wrong_robot(prior, 4)
    t, q, effort, _ = record(truth, prior, motion, effort_noise=0.05)
    head = [
        "t",
        *(f"{n}.position" for n in prior.joint_names),
        *(f"{n}.effort" for n in prior.joint_names),
    ]
    with open(folder / "run.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(head)
        out.writerows(np.column_stack([t, q, effort]).tolist())
    write_bag(folder / "run", prior, t, q, effort)
    with open(folder / "command.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(head[: 1 + prior.nv])
        out.writerows(np.column_stack([t, motion.at(t)]).tolist())
    return folder, prior, truth


def test_the_motion_comes_as_csv_and_as_a_message(recorded):
    folder, prior, _ = recorded
    table = np.genfromtxt(folder / "motion.csv", delimiter=",", names=True)
    message = json.loads((folder / "motion.yaml").read_text())
    assert message["joint_names"] == list(prior.joint_names)
    assert message["points"][0]["positions"] == [0.2, 0.1]
    assert len(message["points"]) == len(table["t"])


def test_identification_tells_how_far_it_is(recorded):
    from robot_dynamics_ros.recordings import read_csv

    folder, prior, _ = recorded
    told = []
    settings = rd.IdentificationSettings(friction="auto")
    rd.identify_recordings(
        prior, read_csv(folder / "run.csv", prior), settings, progress=lambda *x: told.append(x)
    )
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] <= 1.0
    assert max(b - a for a, b in zip([*shares, 1.0], [*shares[1:], 1.0], strict=False)) < 0.3
    assert len({doing for _, doing in told}) > 5


@pytest.mark.parametrize("source", ["csv", "bag"])
def test_a_recording_becomes_a_urdf_and_a_report(recorded, source, capsys):
    folder, prior, truth = recorded
    out = folder / f"from_{source}"
    path = folder / ("run.csv" if source == "csv" else "run")
    arguments = [
        "identify",
        "two_link",
        f"--{source}",
        str(path),
        "--output",
        str(out),
        "--friction",
        "simple",
    ]
    arguments += ["--no-page"] if source == "bag" else ["--estimators", str(folder / "command.csv")]
    assert main([*arguments, "--validate", str(folder / "run.csv")]) == 0
    text = capsys.readouterr().out
    assert "shoulder" in text and "files leave" in text and "Prediction" in text
    model = rd.load_urdf(str(out / "identified.urdf"))
    q = rd.random_configuration(model, np.random.default_rng(0), size=100)
    error, wrong = (
        np.abs(rd.gravity_forces(m, q) - rd.gravity_forces(truth, q)).max() for m in (model, prior)
    )
    assert error < 0.05 * wrong
    report = (out / "report.md").read_text()
    assert "Validation" in report
    for word in (
        f"robot_dynamics_ros {rd.__version__}",
        "gravity: 0, 0, -9.8",
        "identify two_link",
    ):
        assert word in report
    table = (out / "covariance.csv").read_text().splitlines()
    names = table[0].split(",")[1:]
    covariance = np.array([row.split(",")[1:] for row in table[1:]], dtype=float)
    written = {
        x["name"]: x for x in json.loads((out / "report.json").read_text())["base_parameters"]
    }
    assert [row.split(",")[0] for row in table[1:]] == names and names == list(written)
    np.testing.assert_allclose(
        np.sqrt(covariance.diagonal()), [x["standard_error"] for x in written.values()], rtol=1e-6
    )
    assert all(("instrumental variables" in x) == (source == "csv") for x in (text, report))
    assert (out / "report.html").exists() == (source == "csv")
    assert json.loads((out / "report.json").read_text())["robot"] == prior.name
    assert main(arguments) == 2
    assert "exists" in capsys.readouterr().err


def test_errors_say_what_to_do(recorded, capsys, tmp_path):
    folder, _, _ = recorded
    assert (
        main(
            [
                "identify",
                "two_link",
                "--csv",
                str(folder / "motion.csv"),
                "--output",
                str(tmp_path / "x"),
            ]
        )
        == 2
    )
    assert "efforts" in capsys.readouterr().err
    assert main(["identify", "two_link", "--csv", str(folder / "run.csv"), "--terms", "magic"]) == 2
    assert "viscous" in capsys.readouterr().err
    assert main(["excite", "two_link", "--output", str(folder / "motion")]) == 2
    assert "exists" in capsys.readouterr().err
    for given in ("knee:0:1", "elbow:a:b", "elbow"):
        assert main(["excite", "two_link", "--output", str(tmp_path / "m"), "--range", given]) == 2
    assert main(["excite", "two_link", "--output", str(tmp_path / "m"), "--start", "a,b"]) == 2
    assert not (tmp_path / "x").exists() and not list(tmp_path.glob("m*"))


def test_a_locked_joint_stays_a_joint_in_the_urdf(recorded, tmp_path):
    _, prior, truth = recorded
    at = {"elbow": 0.3}
    motion = rd.design_excitation(
        prior.lock("elbow", at), rd.DesignSettings(period=10.0, evaluations=20)
    )
    t, q, effort, _ = record(truth.lock("elbow", at), prior.lock("elbow", at), motion)
    with open(tmp_path / "run.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["t", "shoulder.position", "shoulder.effort"])
        out.writerows(np.column_stack([t, q, effort]).tolist())
    assert (
        main(
            [
                "identify",
                "two_link",
                "--csv",
                str(tmp_path / "run.csv"),
                "--lock",
                "elbow=0.3",
                "--output",
                str(tmp_path / "out"),
                "--no-page",
            ]
        )
        == 0
    )
    model = rd.load_urdf(str(tmp_path / "out" / "identified.urdf"))
    assert model.joint_names == prior.joint_names
    poses = np.column_stack([np.linspace(-2, 2, 20), np.full(20, 0.3)])
    error, wrong = (
        np.abs(rd.gravity_forces(m, poses) - rd.gravity_forces(truth, poses))[:, 0].max()
        for m in (model, prior)
    )
    assert error < 0.05 * wrong
