"""Files for the viewers that people already have: RViz, Foxglove, PlotJuggler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import SERIES
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.topic_names import topic_token
from robot_dynamics_ros.view.arrows import robot_size, sensible_scale
from robot_dynamics_ros.view.colours import FORCE, MOMENT, rgb255

_CONTROLLER, _VIEWER = "computed_torque_controller", "robot_viewer"
_STREAMER = "ROS2 Topic Subscriber"  # of PlotJuggler's plugins for ROS


def _wrench_topics(model: RobotModel, namespace: str) -> dict[str, str]:
    return {name: f"{namespace}/{_CONTROLLER}/joint_wrenches/{topic_token(name)}" for name in model.joint_names}


def rviz_config(model: RobotModel, namespace: str = "") -> str:
    """An RViz configuration: the robot, its frames, wrench markers, and a Wrench display for every joint (off, except
    the first: each one that is on has the controller publish one topic more)."""
    scale, size = sensible_scale(model), robot_size(model)
    displays: list[str] = []

    def display(kind: str, name: str, enabled: bool, *lines: str) -> None:
        head = (f"    - Class: rviz_default_plugins/{kind}", f"      Name: {json.dumps(name)}")
        displays.append(
            "\n".join([*head, *(f"      {line}" for line in lines), f"      Enabled: {str(enabled).lower()}"])
        )

    def topic(name: str, durability: str = "Volatile", reliability: str = "Best Effort") -> list[str]:
        return [
            "Topic:",
            f"  Value: {name}",
            f"  Durability Policy: {durability}",
            f"  Reliability Policy: {reliability}",
        ]

    display("Grid", "Grid", True, "Color: 160; 160; 160", f"Cell Size: {size / 4:.3g}", "Plane Cell Count: 16")
    display(
        "RobotModel", "Robot", True, "Description Source: Topic", "Description Topic:",
        f"  Value: {namespace}/robot_description", "  Durability Policy: Transient Local",
    )  # fmt: skip
    display("TF", "Frames", False)
    display("MarkerArray", "Wrenches of all joints", True, *topic(f"{namespace}/{_VIEWER}/wrench_markers"))
    for number, (name, address) in enumerate(_wrench_topics(model, namespace).items()):
        display(
            "Wrench", f"Wrench of {name}", number == 0, *topic(address), f"Force Arrow Scale: {scale.force:g}",
            f"Torque Arrow Scale: {scale.moment:g}", f"Arrow Width: {0.02 * size:.3g}", f"Force Color: {_rviz(FORCE)}",
            f"Torque Color: {_rviz(MOMENT)}", "History Length: 1",
        )  # fmt: skip
    return (
        "Panels:\n  - Class: rviz_common/Displays\n    Name: Displays\n"
        "Visualization Manager:\n"
        '  Class: ""\n'
        "  Global Options:\n"
        "    Background Color: 245; 245; 245\n"
        f"    Fixed Frame: {model.root_link}\n"
        "    Frame Rate: 30\n"
        "  Displays:\n" + "\n".join(displays) + "\n"
        "  Tools:\n    - Class: rviz_default_plugins/MoveCamera\n"
        "  Views:\n    Current:\n      Class: rviz_default_plugins/Orbit\n      Name: Current View\n"
        f"      Distance: {2.5 * size:.3g}\n      Focal Point: {{X: 0.0, Y: 0.0, Z: {0.3 * size:.3g}}}\n"
        "      Pitch: 0.4\n      Yaw: 0.8\n"
    )


def foxglove_layout(model: RobotModel, namespace: str = "") -> dict[str, Any]:
    """A Foxglove layout: the robot with wrench markers in 3-D, beside it positions, errors, efforts and the size of
    forces, and the diagnostics."""
    # Foxglove takes a robot from the topic /robot_description by itself, from any other only by a layer of its own
    described = f"{namespace}/robot_description"
    layer = {
        "layerId": "foxglove.Urdf",
        "instanceId": "robot",
        "label": model.name,
        "sourceType": "topic",
        "topic": described,
        "visible": True,
    }
    panels: dict[str, Any] = {
        "3D!robot": {
            "followTf": model.root_link,
            "followMode": "follow-none",
            "scene": {},
            "cameraState": {
                "distance": 2.5 * robot_size(model),
                "phi": 65.0,
                "thetaOffset": 45.0,
                "perspective": True,
                "near": 0.01 * robot_size(model),
            },
            "topics": {
                f"{namespace}/{_VIEWER}/wrench_markers": {"visible": True},
                **({} if namespace else {described: {"visible": True}}),
            },
            "layers": {
                "grid": {"layerId": "foxglove.Grid", "visible": True, "size": 4.0 * robot_size(model)},
                **({"robot": layer} if namespace else {}),
            },
        },
        "DiagnosticSummary!state": {"topicToRender": "/diagnostics", "minLevel": 0},
    }

    def plot(key: str, title: str, paths: list[tuple[str, str]]) -> None:
        panels[f"Plot!{key}"] = {
            "foxglovePanelTitle": title,
            "lichtblickPanelTitle": title,
            "isSynced": True,
            "xAxisVal": "timestamp",
            "showXAxisLabels": True,
            "showYAxisLabels": True,
            "showLegend": True,
            "legendDisplay": "left",
            "followingViewWidth": 10.0,
            "paths": [
                {
                    "value": path,
                    "label": label,
                    "enabled": True,
                    "timestampMethod": "headerStamp",
                    "color": SERIES[k % len(SERIES)],
                }
                for k, (label, path) in enumerate(paths)
            ],
        }

    # paths know a joint by its place only: of these two topics that is the model's, whatever the driver's may be
    names = tuple(name for name in model.joint_names if model.joint(name).type.nq == 1)
    joints, error = f"{namespace}/{_VIEWER}/joint_states", f"{namespace}/{_CONTROLLER}/error"
    plot("position", "position [rad, m]", _by_row(joints, "position", names))
    plot("error", "tracking error [rad, m]", _by_row(error, "position", names))
    plot("effort", "effort [N m, N]", _by_row(joints, "effort", names))
    plot(
        "force",
        "force in the joint, z [N]",
        [(n, f"{a}.wrench.force.z") for n, a in _wrench_topics(model, namespace).items()],
    )
    right = _column([f"Plot!{key}" for key in ("position", "error", "effort", "force")])
    left = {"first": "3D!robot", "second": "DiagnosticSummary!state", "direction": "column", "splitPercentage": 78}
    return {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {"first": left, "second": right, "direction": "row", "splitPercentage": 55},
    }


def _rviz(colour: tuple[float, float, float]) -> str:
    return "; ".join(map(str, rgb255(colour)))


def _by_row(topic: str, field: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, f"{topic}.{field}[{k}]") for k, name in enumerate(names)]


def _column(panels: list[str]) -> str | dict[str, object]:
    if len(panels) == 1:
        return panels[0]
    return {
        "first": panels[0],
        "second": _column(panels[1:]),
        "direction": "column",
        "splitPercentage": 100.0 / len(panels),
    }


def plotjuggler_layout(model: RobotModel, namespace: str = "") -> str:
    """A PlotJuggler layout (XML): positions, tracking errors, efforts, and the force in every joint.

    Opened without data, PlotJuggler drops curves that it does not know.  So the layout names the plugin that listens to
    ROS 2 topics, and the topics: PlotJuggler then offers to start it, and keeps the curves.
    """
    root = ElementTree.Element("root")
    tabs = ElementTree.SubElement(root, "tabbed_widget", {"name": "Main Window", "parent": "main_window"})
    names = model.joint_names
    joints, error = f"{namespace}/joint_states", f"{namespace}/{_CONTROLLER}/error"
    sheets = {
        "motion": {
            "position": [f"{joints}/{name}/position" for name in names],
            "tracking error": [f"{error}/{name}/position" for name in names],
            "effort": [f"{joints}/{name}/effort" for name in names],
        },
        "wrenches": {
            name: [f"{address}/wrench/force/{axis}" for axis in "xyz"]
            for name, address in _wrench_topics(model, namespace).items()
        },
    }
    for sheet, plots in sheets.items():
        tab = ElementTree.SubElement(tabs, "Tab", tab_name=sheet, containers="1")
        container = ElementTree.SubElement(tab, "Container")
        sizes = ";".join([f"{1.0 / len(plots):.6f}"] * len(plots))
        splitter = ElementTree.SubElement(
            container, "DockSplitter", orientation="-", sizes=sizes, count=str(len(plots))
        )
        for title, curves in plots.items():
            area = ElementTree.SubElement(splitter, "DockArea", name=title)
            plot = ElementTree.SubElement(
                area, "plot", mode="TimeSeries", style="Lines", flip_x="false", flip_y="false"
            )
            for k, curve in enumerate(curves):
                ElementTree.SubElement(plot, "curve", name=curve, color=SERIES[k % len(SERIES)])
    ElementTree.SubElement(tabs, "currentTabIndex", index="0")
    ElementTree.SubElement(root, "use_relative_time_offset", enabled="1")
    plugin = ElementTree.SubElement(ElementTree.SubElement(root, "Plugins"), "plugin", ID=_STREAMER)
    for name, value in {
        "use_header_stamp": "true",
        "discard_large_arrays": "true",
        "max_array_size": "100",
        "boolean_strings_to_number": "false",
        "remove_suffix_from_strings": "false",
        "selected_topics": ";".join([joints, error, *_wrench_topics(model, namespace).values()]),
    }.items():
        ElementTree.SubElement(plugin, name, value=value)
    ElementTree.SubElement(root, "previouslyLoaded_Streamer", name=_STREAMER)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def write_layouts(model: RobotModel, directory: str | Path, namespace: str = "") -> tuple[Path, ...]:
    """Write ``<robot>.rviz``, ``<robot>.foxglove.json`` and ``<robot>.plotjuggler.xml``; their paths.

    Raises:
        ArgumentError: they cannot be written.
    """
    prefix = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
    folder, name = Path(directory), topic_token(model.name)
    texts = {
        f"{name}.rviz": rviz_config(model, prefix),
        f"{name}.foxglove.json": json.dumps(foxglove_layout(model, prefix), indent=2) + "\n",
        f"{name}.plotjuggler.xml": plotjuggler_layout(model, prefix),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"cannot be written: {error}", where=str(folder), remedy="Choose another place.") from None
    return tuple(folder / file for file in texts)
