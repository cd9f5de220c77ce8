"""Numbers on the command line and in recordings that nobody can mean: an error that says so, and
never a traceback.
"""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics_ros.cli.main import main

JOINTS = ("shoulder", "elbow")
HEAD = ",".join(
    ["t", *(f"{joint}.{what}" for what in ("position", "velocity", "effort") for joint in JOINTS)]
)
LINES = [
    ["simulate", "two_link", "--to", "0.1", "0.1", "--duration", "1e-300"],
    ["simulate", "two_link", "--to", "1e300", "0.1"],
    ["info", "two_link", "--gravity", "0", "0", "1e308"],
    ["info", "two_link", "--payload", "forearm:1e300"],
    ["excite", "two_link", "--rate", "99999999999999999999"],
    ["excite", "two_link", "--period", "1e9"],
    ["excite", "two_link", "--effort-scale", "5e-324"],
    ["monte_carlo", "pendulum", "--duration", "1e-300"],
    ["monte_carlo", "pendulum", "--duration", "1e9"],
    ["demo", "two_link", "--no-view", "--duration", "1e9"],
    ["identify", "two_link", "--csv", "good.csv", "--terms", ""],
    ["wrenches", "two_link", "--csv", "good.csv", "--window", "1e308"],
]
CHANGES = {
    "efforts of 1e308": lambda rows: rows[:, 5:].fill(1e308),
    "efforts of 1e160": lambda rows: rows[:, 5:].fill(1e160),
    "positions of 1e100": lambda rows: rows[:, 1:3].fill(1e100),
    "denormal times": lambda rows: np.copyto(rows[:, 0], np.arange(len(rows)) * 5e-324),
    "times of 1e300": lambda rows: np.copyto(rows[:, 0], np.arange(len(rows)) * 1e300),
}


def table(path, change=lambda rows: None):
    t = 0.01 * np.arange(300)
    q = np.sin(np.outer(t, [1.0, 2.0]))
    rows = np.column_stack([t, q, np.cos(np.outer(t, [1.0, 2.0])) * [1.0, 2.0], 10.0 * q])
    change(rows)
    np.savetxt(path, rows, delimiter=",", header=HEAD, comments="")


def refused(words, capfd) -> None:
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    err = capfd.readouterr().err
    assert code == 2 and "error" in err and "should not have happened" not in err, err


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_an_absurd_number_is_refused(words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    table("good.csv")
    refused(words, capfd)


@pytest.mark.parametrize(
    "words",
    [["wrenches"], ["identify", "--no-page"], ["view", "--html", "page.html"]],
    ids="_".join,
)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_absurd_recording_is_refused(words, change, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    table("absurd.csv", change)
    refused([words[0], "two_link", "--csv", "absurd.csv", *words[1:]], capfd)
