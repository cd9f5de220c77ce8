"""The command in rehearsal: steps of one's choice, report and parameter file."""

import json
import re

from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.commissioning import STEPS


def test_steps_are_rehearsed_and_written(tmp_path, capsys):
    code = main(
        [
            "commission",
            "two_link",
            "--only",
            "listen",
            "--only",
            "weigh",
            "--only",
            "float",
            "--json",
            "--quiet",
            "--output",
            str(tmp_path),
        ]
    )
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [(step["step"], step["findings"]) for step in document["steps"]] == [
        ("listen", []),
        ("weigh", []),
        ("float", []),
    ]
    parameters = json.loads((tmp_path / "controller.yaml").read_text())["/**"]["ros__parameters"]
    assert parameters["robustness"]["bandwidth"] > 0.0
    page = (tmp_path / "commissioning.html").read_text()
    assert "<img" in page and "float" in page
    # every number has its unit
    for words in ("rate: [0-9]+ Hz", "age: .* s", "<td>[^<]* N m</td>", "<td>[^<]* rad</td>"):
        assert re.search(words, page), words
    bare = re.findall(r"<td>-?\d[\d.e-]*</td>", page)
    assert bare == []


def test_a_step_that_moves_needs_those_before_it(tmp_path, capsys):
    assert main(["commission", "two_link", "--only", "twitch", "--output", str(tmp_path)]) == 2
    assert "Do float first" in capsys.readouterr().err
    assert STEPS.index("float") < STEPS.index("twitch")
