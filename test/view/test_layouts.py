"""Layouts for RViz, Foxglove and PlotJuggler: well-formed, and the topics in them are those of the
nodes.
"""

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
    return {
        path.suffix: path.read_text()
        for path in write_layouts(rd.load_robot("six_axis"), tmp_path, "left")
    }


def test_rviz_shows_robot_markers_and_every_joint(files):
    displays = yaml.safe_load(files[".rviz"])["Visualization Manager"]["Displays"]
    topics = {d["Name"]: d.get("Topic", {}).get("Value") for d in displays}
    assert topics["Wrenches of all joints"] == "/left/robot_viewer/wrench_markers"
    wrenches = [d for d in displays if d["Class"].endswith("/Wrench")]
    assert [d["Topic"]["Value"] for d in wrenches] == [
        f"/left/computed_torque_controller/joint_wrenches/{name}"
        for name in rd.load_robot("six_axis").joint_names
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


def test_plotjuggler_has_the_elements_that_it_reads(files):
    """Of PlotJuggler's plot_docker.cpp: tabs of containers of splitters with as many sizes as
    plots.  Of mainwindow.cpp and parser_configuration.cpp: a streamer and its topics, without which
    curves are dropped that have no data yet.
    """
    root = ElementTree.fromstring(files[".xml"])
    assert root.tag == "root"
    (tabs,) = root.findall("tabbed_widget")
    assert [tab.get("tab_name") for tab in tabs.findall("Tab")] == ["motion", "wrenches"]
    for tab in tabs.findall("Tab"):
        assert int(tab.get("containers")) == len(tab.findall("Container"))
        for splitter in tab.iter("DockSplitter"):
            assert splitter.get("orientation") in "|-"
            sizes = [float(size) for size in splitter.get("sizes").split(";")]
            assert len(sizes) == int(splitter.get("count")) == len(splitter.findall("DockArea"))
            assert sum(sizes) == pytest.approx(1.0, abs=1e-4)
            assert all(area.get("name") and len(area.findall("plot")) == 1 for area in splitter)
        assert all(plot.get("mode") == "TimeSeries" for plot in tab.iter("plot"))
        assert all(curve.get("name").startswith("/left/") for curve in tab.iter("curve"))
    streamer = root.find("previouslyLoaded_Streamer").get("name")
    (plugin,) = root.find("Plugins").findall("plugin")
    assert plugin.get("ID") == streamer == "ROS2 Topic Subscriber"
    topics = plugin.find("selected_topics").get("value").split(";")
    assert all(
        any(curve.get("name").startswith(f"{t}/") for t in topics) for curve in root.iter("curve")
    )
    assert int(plugin.find("max_array_size").get("value")) > 6


def test_foxglove_has_the_keys_that_a_layout_has(files):
    """Of Foxglove Studio's LayoutData: panels are called kind!name, paths are topic and message
    path.
    """
    layout = json.loads(files[".json"])
    assert {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"} == set(layout)
    for name, panel in layout["configById"].items():
        kind = name.partition("!")[0]
        assert kind in ("3D", "Plot", "DiagnosticSummary")
        for path in panel.get("paths", ()):
            assert path["value"].startswith("/left/")
            assert path["timestampMethod"] in ("headerStamp", "receiveTime")
    (layer,) = (
        x
        for x in layout["configById"]["3D!robot"]["layers"].values()
        if x["layerId"] == "foxglove.Urdf"
    )
    assert (layer["sourceType"], layer["topic"]) == ("topic", "/left/robot_description")
    plots = layout["configById"]["Plot!position"]["paths"]
    assert plots[0]["value"] == "/left/robot_viewer/joint_states.position[0]"


def test_a_place_that_cannot_be_written_is_refused():
    with pytest.raises(ArgumentError, match="cannot be written"):
        write_layouts(rd.limb(1), "/proc/nowhere")
