"""Layouts for RViz, Foxglove and PlotJuggler: well-formed, and the topics in them are those of the nodes."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.view.layouts import write_layouts

yaml = pytest.importorskip("yaml")


@pytest.fixture
def files(tmp_path):
    return {path.suffix: path.read_text() for path in write_layouts(rd.load_robot("six_axis"), tmp_path, "left")}


def test_rviz_shows_robot_markers_and_every_joint(files):
    displays = yaml.safe_load(files[".rviz"])["Visualization Manager"]["Displays"]
    topics = {d["Name"]: d.get("Topic", {}).get("Value") for d in displays}
    assert topics["Wrenches of all joints"] == "/left/robot_viewer/wrench_markers"
    wrenches = [d for d in displays if d["Class"].endswith("/Wrench")]
    assert [d["Topic"]["Value"] for d in wrenches] == [
        f"/left/computed_torque_controller/joint_wrenches/{name}" for name in rd.load_robot("six_axis").joint_names
    ]
    assert [d["Enabled"] for d in wrenches] == [True] + 5 * [False]


def test_foxglove_places_every_panel_it_configures(files):
    layout = json.loads(files[".json"])

    def leaves(node):
        return [node] if isinstance(node, str) else leaves(node["first"]) + leaves(node["second"])

    assert sorted(leaves(layout["layout"])) == sorted(layout["configById"])
    assert len(layout["configById"]["Plot!effort"]["paths"]) == 6


def test_plotjuggler_has_a_curve_for_every_joint(files):
    curves = [c.get("name") for c in ElementTree.fromstring(files[".xml"]).iter("curve")]
    for name in rd.load_robot("six_axis").joint_names:
        assert f"/left/joint_states/{name}/position" in curves
        assert f"/left/computed_torque_controller/joint_wrenches/{name}/wrench/force/z" in curves


def test_a_place_that_cannot_be_written_is_refused():
    with pytest.raises(ArgumentError, match="cannot be written"):
        write_layouts(rd.limb(1), "/proc/nowhere")
