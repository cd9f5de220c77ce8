"""Findings, changes and reports of the steps of commissioning."""

from __future__ import annotations

import json

import numpy as np
import pytest

from robot_dynamics_ros import commissioning
from robot_dynamics_ros.commissioning import KINDS, Change, Finding, StepReport
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError


def test_every_kind_has_a_title_and_a_line_to_change():
    assert all(kind.title and (kind.line or name == "unexplained") for name, kind in KINDS.items())
    assert {kind.place for kind in KINDS.values()} == {
        "parameters",
        "description",
        "driver",
        "arm",
        "",
    }
    assert len({kind.title for kind in KINDS.values()}) == len(KINDS)


def test_a_change_is_the_line_of_a_file():
    assert (
        str(Change("parameters", "measured_effort_factor.joint2", -1.0))
        == "measured_effort_factor.joint2: -1"
    )
    assert str(Change("parameters", "joints", ("a", "b"))) == "joints: [a, b]"
    assert str(Change("description", "gravity", (0.0, 0.0, 9.81))) == "gravity: [0, 0, 9.81]"
    assert str(Change("arm", "brake of joint2")) == "brake of joint2"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: Finding("elsewhere", (), ""), UnknownNameError),
        (lambda: Finding("brake", (), "", certainty=1.2), ArgumentError),
        (lambda: Change("elsewhere", "key"), UnknownNameError),
        (lambda: StepReport("elsewhere"), UnknownNameError),
    ],
)
def test_closed_tables_are_closed(wrong, error):
    with pytest.raises(error):
        wrong()


def test_a_report_becomes_json():
    finding = Finding(
        "brake", ("a",), "joint a is not held", np.nan, "rad", 0.9, Change("arm", "brake of a")
    )
    report = StepReport(
        "weigh",
        (finding,),
        {"rate": 500.0, "friction": np.array([1.0, np.inf])},
        next_pose=np.zeros(2),
    )
    read = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert (
        read["findings"][0]["number"] is None
        and read["findings"][0]["change"]["line"] == "brake of a"
    )
    assert read["numbers"] == {"rate": 500.0, "friction": [1.0, None]} and read["next_pose"] == [
        0.0,
        0.0,
    ]
    assert not report.healthy and StepReport("listen").healthy
    assert report.of_kind("brake") == (finding,) and commissioning.StepReport is StepReport
