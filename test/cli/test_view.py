"""``robot_dynamics view`` as a person types it."""

from __future__ import annotations

import csv

import numpy as np
import pytest

pytest.importorskip("viser")

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.view.source import ShownMotion


@pytest.fixture
def table(tmp_path):
    arm = rd.load_robot("two_link")
    run = rd.simulate(arm, duration=0.5)
    path = tmp_path / "table.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["t", *(f"{name}.position" for name in arm.joint_names)])
        out.writerows(np.column_stack([run.t, run.q])[::5].tolist())
    return path


def test_it_shows_a_robot_and_prints_the_address(capsys):
    assert main(["view", "two_link", "--port", "0", "--seconds", "0.2"]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out


def test_a_recording_becomes_a_page(table, tmp_path, capsys):
    assert (
        main(["view", "two_link", "--csv", str(table), "--html", str(tmp_path / "replay.html")])
        == 0
    )
    text = (tmp_path / "replay.html").read_text(encoding="utf-8")
    assert "__VISER_EMBED_DATA__" in text
    assert "default-src 'none'" in text
    assert "<title>two_link: replay</title>" in text


def test_a_saved_run_is_shown(tmp_path, capsys):
    arm = rd.load_robot("two_link")
    ShownMotion.of(arm, rd.simulate(arm, duration=0.2)).save(tmp_path / "run.npz")
    assert (
        main(
            [
                "view",
                "two_link",
                "--run",
                str(tmp_path / "run.npz"),
                "--port",
                "0",
                "--seconds",
                "0.3",
            ]
        )
        == 0
    )


def test_layouts_are_written(tmp_path, capsys):
    assert main(["view", "two_link", "--layouts", str(tmp_path)]) == 0
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["view"], "no robot is named"),
        (["view", "two_link", "--q", "1"], "two_link"),
        (["view", "two_link", "--csv", "/gone.csv"], "gone.csv"),
        (["view", "two_link", "--run", "/gone.npz"], "gone.npz"),
        (["view", "two_link", "--host", "203.0.113.1"], "cannot listen"),
        (["view", "two_link", "--video", "film.avi"], ".mp4"),
        (["view", "--live", "--picture", "robot.png"], "writes no files"),
        (["view", "--live", "--html", "robot.html"], "writes no files"),
        (["view", "--live", "--q", "0", "0"], "takes its configuration from the robot"),
    ],
    ids=["nothing", "short", "no table", "no run", "host", "ending", "live", "page", "live q"],
)
def test_what_cannot_be_shown_is_said(words, told, capsys):
    try:
        code = main(words)
    except SystemExit as end:
        # a usage error
        code = end.code
    assert code == 2
    error = capsys.readouterr().err
    assert told in error or "expected 2 numbers" in error
    assert "Traceback" not in error
