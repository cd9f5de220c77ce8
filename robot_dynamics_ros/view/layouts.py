"""Files for the viewers that people already have: RViz, Foxglove, PlotJuggler."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import SERIES
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.topic_names import topic_token
from robot_dynamics_ros.view.arrows import robot_size, sensible_scale
from robot_dynamics_ros.view.colours import FORCE, MOMENT, rgb255
from robot_dynamics_ros.whole_files import write_whole_text

_CONTROLLER = "computed_torque_controller"
_VIEWER = "robot_viewer"
# of PlotJuggler's plugins for ROS
_STREAMER = "ROS2 Topic Subscriber"


def _wrench_topics(model: RobotModel, namespace: str) -> dict[str, str]:
    return {
        name: f"{namespace}/{_CONTROLLER}/joint_wrenches/{topic_token(name)}"
        for name in model.joint_names
    }


def _short(number: float) -> float:
    return float(f"{number:.3g}")


def _display(
    kind: str,
    name: str,
    properties: dict[str, object],
    enabled: bool = True,
) -> dict[str, object]:
    return {
        "Class": f"rviz_default_plugins/{kind}",
        "Name": name,
        **properties,
        "Enabled": enabled,
    }


def _best_effort(topic: str) -> dict[str, str]:
    return {"Value": topic, "Durability Policy": "Volatile", "Reliability Policy": "Best Effort"}


def _rviz_view(size: float) -> dict[str, object]:
    """A camera that sees the whole robot."""
    return {
        "Class": "rviz_default_plugins/Orbit",
        "Name": "Current View",
        "Distance": _short(2.5 * size),
        "Focal Point": {"X": 0.0, "Y": 0.0, "Z": _short(0.3 * size)},
        "Pitch": 0.4,
        "Yaw": 0.8,
    }


def _rviz_colour(rgb: tuple[float, float, float]) -> str:
    return "; ".join(map(str, rgb255(rgb)))


def rviz_config(model: RobotModel, namespace: str = "") -> dict[str, object]:
    """An RViz configuration: the robot, its frames, wrench markers, and a Wrench display for every
    joint (off, except
    the first: each one that is on has the controller publish one topic more)."""
    scale = sensible_scale(model)
    size = robot_size(model)

    described = {"Value": f"{namespace}/robot_description", "Durability Policy": "Transient Local"}
    arrows = {
        "Force Arrow Scale": scale.force,
        "Torque Arrow Scale": scale.moment,
        "Arrow Width": _short(0.02 * size),
        "Force Color": _rviz_colour(FORCE),
        "Torque Color": _rviz_colour(MOMENT),
        "History Length": 1,
    }
    displays = [
        _display(
            "Grid",
            "Grid",
            {"Color": "160; 160; 160", "Cell Size": _short(size / 4), "Plane Cell Count": 16},
        ),
        _display(
            "RobotModel", "Robot", {"Description Source": "Topic", "Description Topic": described}
        ),
        _display("TF", "Frames", {}, enabled=False),
        _display(
            "MarkerArray",
            "Wrenches of all joints",
            {"Topic": _best_effort(f"{namespace}/{_VIEWER}/wrench_markers")},
        ),
    ]
    for number, (name, address) in enumerate(_wrench_topics(model, namespace).items()):
        displays.append(
            _display(
                "Wrench",
                f"Wrench of {name}",
                {"Topic": _best_effort(address), **arrows},
                number == 0,
            )
        )
    return {
        "Panels": [{"Class": "rviz_common/Displays", "Name": "Displays"}],
        "Visualization Manager": {
            "Class": "",
            "Global Options": {
                "Background Color": "245; 245; 245",
                "Fixed Frame": model.root_link,
                "Frame Rate": 30,
            },
            "Displays": displays,
            "Tools": [{"Class": "rviz_default_plugins/MoveCamera"}],
            "Views": {"Current": _rviz_view(size)},
        },
    }


def _foxglove_plot(title: str, paths: dict[str, str]) -> dict[str, object]:
    """A panel of curves; ``paths``: label → path of a message's field."""
    curve = {"enabled": True, "timestampMethod": "headerStamp"}
    return {
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
            {"value": path, "label": label, **curve, "color": SERIES[k % len(SERIES)]}
            for k, (label, path) in enumerate(paths.items())
        ],
    }


def _foxglove_scene(model: RobotModel, namespace: str) -> dict[str, object]:
    """The panel with the robot and the markers of its wrenches."""
    size = robot_size(model)
    topics: dict[str, object] = {f"{namespace}/{_VIEWER}/wrench_markers": {"visible": True}}
    layers: dict[str, object] = {
        "grid": {"layerId": "foxglove.Grid", "visible": True, "size": 4.0 * size}
    }
    # Foxglove takes a robot from the topic /robot_description by itself, from any other only by a
    # layer of its own
    described = f"{namespace}/robot_description"
    if namespace:
        layers["robot"] = {
            "layerId": "foxglove.Urdf",
            "instanceId": "robot",
            "label": model.name,
            "sourceType": "topic",
            "topic": described,
            "visible": True,
        }
    else:
        topics[described] = {"visible": True}
    camera = {
        "distance": 2.5 * size,
        "phi": 65.0,
        "thetaOffset": 45.0,
        "perspective": True,
        "near": 0.01 * size,
    }
    return {
        "followTf": model.root_link,
        "followMode": "follow-none",
        "scene": {},
        "cameraState": camera,
        "topics": topics,
        "layers": layers,
    }


def foxglove_layout(model: RobotModel, namespace: str = "") -> dict[str, object]:
    """A Foxglove layout: the robot with wrench markers in 3-D, beside it positions, errors, efforts
    and the size of forces, and the diagnostics.
    """
    panels = {
        "3D!robot": _foxglove_scene(model, namespace),
        "DiagnosticSummary!state": {"topicToRender": "/diagnostics", "minLevel": 0},
    }
    # paths know a joint by its place only: of these two topics that is the model's, whatever the
    # driver's may be
    joints = f"{namespace}/{_VIEWER}/joint_states"
    error = f"{namespace}/{_CONTROLLER}/error"
    names = [name for name in model.joint_names if model.joint(name).type.nq == 1]
    forces = {
        name: f"{topic}.wrench.force.z" for name, topic in _wrench_topics(model, namespace).items()
    }

    def of_joints(field: str) -> dict[str, str]:
        return {name: f"{field}[{k}]" for k, name in enumerate(names)}

    plots = {
        "force": _foxglove_plot("force in the joint, z [N]", forces),
        "effort": _foxglove_plot("effort [N m, N]", of_joints(f"{joints}.effort")),
        "error": _foxglove_plot("tracking error [rad, m]", of_joints(f"{error}.position")),
        "position": _foxglove_plot("position [rad, m]", of_joints(f"{joints}.position")),
    }
    column: object = None
    for count, (key, plot) in enumerate(plots.items(), 1):
        panels[f"Plot!{key}"] = plot
        # the plots above together are as high as count - 1 of them
        if column is None:
            column = f"Plot!{key}"
        else:
            column = _split(f"Plot!{key}", column, 100.0 / count)
    left = _split("3D!robot", "DiagnosticSummary!state", 78)
    return {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": _split(left, column, 55) | {"direction": "row"},
    }


def _split(first: object, second: object, share: float) -> dict[str, object]:
    return {"first": first, "second": second, "direction": "column", "splitPercentage": share}


def _element(
    tag: str,
    *children: ElementTree.Element,
    **attributes: str,
) -> ElementTree.Element:
    made = ElementTree.Element(tag, attributes)
    made.extend(children)
    return made


def _sheet(title: str, plots: dict[str, list[str]]) -> ElementTree.Element:
    areas = []
    for name, curves in plots.items():
        lines = [
            _element("curve", name=curve, color=SERIES[k % len(SERIES)])
            for k, curve in enumerate(curves)
        ]
        plot = _element(
            "plot", *lines, mode="TimeSeries", style="Lines", flip_x="false", flip_y="false"
        )
        areas.append(_element("DockArea", plot, name=name))
    sizes = ";".join([f"{1.0 / len(plots):.6f}"] * len(plots))
    splitter = _element("DockSplitter", *areas, orientation="-", sizes=sizes, count=str(len(plots)))
    return _element("Tab", _element("Container", splitter), tab_name=title, containers="1")


def plotjuggler_layout(model: RobotModel, namespace: str = "") -> str:
    """A PlotJuggler layout (XML): positions, tracking errors, efforts, and the force in every
    joint.

    Opened without data, PlotJuggler drops curves that it does not know.  So the layout names the
    plugin that listens to
    ROS 2 topics, and the topics: PlotJuggler then offers to start it, and keeps the curves.
    """

    joints = f"{namespace}/joint_states"
    error = f"{namespace}/{_CONTROLLER}/error"
    wrenches = _wrench_topics(model, namespace)
    names = model.joint_names
    columns = (
        ("position", joints, "position"),
        ("tracking error", error, "position"),
        ("effort", joints, "effort"),
    )
    motion = {
        title: [f"{topic}/{name}/{field}" for name in names] for title, topic, field in columns
    }
    forces = {
        name: [f"{topic}/wrench/force/{axis}" for axis in "xyz"] for name, topic in wrenches.items()
    }
    listening = {
        "use_header_stamp": "true",
        "discard_large_arrays": "true",
        "max_array_size": "100",
        "boolean_strings_to_number": "false",
        "remove_suffix_from_strings": "false",
        "selected_topics": ";".join([joints, error, *wrenches.values()]),
    }
    tabs = (
        _sheet("motion", motion),
        _sheet("wrenches", forces),
        _element("currentTabIndex", index="0"),
    )
    root = _element(
        "root",
        _element("tabbed_widget", *tabs, name="Main Window", parent="main_window"),
        _element("use_relative_time_offset", enabled="1"),
        _element(
            "Plugins",
            _element("plugin", *(_element(k, value=v) for k, v in listening.items()), ID=_STREAMER),
        ),
        _element("previouslyLoaded_Streamer", name=_STREAMER),
    )
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def write_layouts(
    model: RobotModel,
    directory: str | Path,
    namespace: str = "",
) -> tuple[Path, ...]:
    """Write ``<robot>.rviz``, ``<robot>.foxglove.json`` and ``<robot>.plotjuggler.xml``; their
    paths.
    """
    if namespace.strip("/"):
        prefix = f"/{namespace.strip('/')}"
    else:
        prefix = ""
    folder = Path(directory)
    name = topic_token(model.name)
    texts = {
        f"{name}.rviz": json.dumps(rviz_config(model, prefix), indent=2, ensure_ascii=False)
        # JSON is YAML
        + "\n",
        f"{name}.foxglove.json": json.dumps(foxglove_layout(model, prefix), indent=2) + "\n",
        f"{name}.plotjuggler.xml": plotjuggler_layout(model, prefix),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            write_whole_text(folder / file, text)
    except OSError as error:
        raise ArgumentError(
            f"cannot be written: {error}", where=str(folder), remedy="Choose another place."
        ) from None
    return tuple(folder / file for file in texts)
