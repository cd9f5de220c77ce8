"""``robot_dynamics view``: a robot in a browser, standing, from a recording, or live; pictures,
films and pages.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import threading
from functools import partial
from typing import Any

from robot_dynamics_ros.cli import arguments as take
from robot_dynamics_ros.cli.arguments import (
    input_path,
    option,
    output_directory,
    output_file,
    positive,
)
from robot_dynamics_ros.cli.output import result, with_progress
from robot_dynamics_ros.cli.robots import add_robot, configuration_argument, load_model, load_named
from robot_dynamics_ros.cli.sources import add_time_unit
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.geometry import Looks, read_looks
from robot_dynamics_ros.model.robot_model import RobotModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, required=False)
    source = parser.add_mutually_exclusive_group()
    of = partial(option, source)
    of(
        "--bag",
        input_path,
        "replay joint states from an mcap file or a rosbag2 directory",
        metavar="FILE",
    )
    of(
        "--csv",
        input_path,
        "replay a table: t, <joint>.position, and .velocity and .effort if known",
        metavar="FILE",
    )
    of(
        "--run",
        input_path,
        "replay a run saved as .npz with the arrays t and q (and v, a, tau)",
        metavar="FILE",
    )
    of("--live", None, "show the robot whose joint_states are on the network now")
    add = partial(option, parser)
    add("--namespace", str, "with --live: namespaces of the robots (default: none)", [], nargs="*")
    add("--topic", str, "topic of the joint states, where a bag has several", "")
    add_time_unit(parser)
    text = "show this configuration: all coordinates, rad and m, or a name"
    add("--q", take.coordinate_or_name, text, nargs="+", metavar="X")
    add("--host", str, "address to listen on (default: this machine only)", "127.0.0.1")
    add("--port", take.whole, "TCP port; the next free one if taken", 8080)
    add("--open", None, "open the page in this machine's browser")
    add("--picture", output_file, "write a picture and end", metavar="OUT.png")
    add(
        "--video", output_file, "write a film (mp4 or gif) of the motion and end", metavar="OUT.mp4"
    )
    add(
        "--layouts",
        output_directory,
        "write layouts for RViz, Foxglove and PlotJuggler and end",
        metavar="DIRECTORY",
    )
    add(
        "--html",
        output_file,
        "write a page that replays the motion offline and end",
        metavar="OUT.html",
    )
    add("--speed", positive, "of the film (default: 1)", 1.0)
    add(
        "--mesh-up-axis",
        None,
        "turn COLLADA meshes so that their own up axis is z, as Gazebo does; RViz ignores it",
    )
    add("--seconds", positive, "end after this time, s")


def run(options: argparse.Namespace) -> int:
    """Show, or write, what was asked for."""
    if options.live:
        return _live(options)
    if options.robot is None:
        raise ArgumentError(
            "no robot is named", where="view", remedy="robot_dynamics view six_axis, or use --live."
        )
    model = load_model(options)
    what = _what(model, options)
    looks = read_looks(model, up_axis=options.mesh_up_axis)
    if _write(model, what, looks, options):
        return 0
    from robot_dynamics_ros.view import open_view

    with open_view(
        model, what, urdf=looks, host=options.host, port=options.port, open_browser=options.open
    ) as viewer:
        print(f"view        {viewer.address}   (Ctrl-C ends it)", flush=True)
        if not viewer.window.loopback:
            text = "everybody who can reach this address can see the robot, and move a live one"
            print(f"            {text}", file=sys.stderr)
        viewer.wait(options.seconds)
    return 0


def _what(model: RobotModel, options: argparse.Namespace) -> Any:
    """A motion, a configuration, or ``None`` for the initial one."""
    from robot_dynamics_ros.view.source import ShownMotion

    if options.bag:
        from robot_dynamics_ros.recordings.read_bag import read_bag

        read = partial(read_bag, options.bag, model, topic=options.topic)
        return ShownMotion.of(model, with_progress("reading", lambda tell: read(progress=tell)))
    if options.csv:
        from robot_dynamics_ros.recordings.read_csv import read_csv

        return ShownMotion.of(model, read_csv(options.csv, model, time_unit=options.time_unit))
    if options.run:
        return ShownMotion.load(model, options.run)
    if options.q:
        return configuration_argument(model, options.q, "--q")
    return None


def _write(model: RobotModel, what: Any, looks: Looks, options: argparse.Namespace) -> bool:
    """Write the files asked for; whether there were any."""
    from robot_dynamics_ros.view.source import ShownMotion

    files: list[tuple[str, str]] = []
    if options.video or options.html:
        from robot_dynamics_ros.view.film import write_replay, write_video

        motion = ShownMotion.of(model, model.initial_configuration() if what is None else what)
        if options.html:
            files.append(("page", str(write_replay(motion, options.html, looks=looks).resolve())))
        if options.video:
            write = partial(write_video, motion, options.video, speed=options.speed, looks=looks)
            path = with_progress("drawing", lambda tell: write(progress=tell))
            files.append(("film", str(path.resolve())))
    if options.layouts:
        from robot_dynamics_ros.view.layouts import write_layouts

        paths = write_layouts(model, options.layouts, *options.namespace[:1])
        files += [("layout", str(path.resolve())) for path in paths]
    if options.picture:
        from robot_dynamics_ros.view import open_view

        with open_view(model, what, urdf=looks, port=0) as viewer:
            files.append(("picture", str(viewer.picture(options.picture).resolve())))
    if files:
        data = {"files": [{"kind": kind, "path": path} for kind, path in files]}
        result(options, data, "\n".join(f"{kind:11} {path}" for kind, path in files))
    return bool(files)


def _live(options: argparse.Namespace) -> int:
    elsewhere = ("picture", "video", "html", "layouts", "q")
    if given := [name for name in elsewhere if getattr(options, name) is not None]:
        raise ArgumentError(
            "the live view writes no files, and takes its configuration from the robot",
            where=f"--{given[0]} with --live",
            remedy="Leave it out, or record the joint states and use --bag.",
        )
    from robot_dynamics_ros.ros.installation import need_ros

    need_ros("view --live")
    from robot_dynamics_ros.ros.main import viewer

    if options.namespace:
        parameters = [f"robots:={options.namespace}"]
    else:
        parameters = []
    parameters += [f"host:={options.host}", f"port:={options.port}"]
    parameters += [
        f"open_browser:={options.open}".lower(),
        f"mesh_up_axis:={options.mesh_up_axis}".lower(),
    ]
    if options.robot is not None:
        parameters.append(f"robot_description_file:={load_named(options).named}")
    # the node ends in order on SIGINT, and on nothing else
    if options.seconds is not None:
        end = threading.Timer(options.seconds, os.kill, (os.getpid(), signal.SIGINT))
        end.daemon = True
        end.start()
    return viewer(
        ["--ros-args", *itertools.chain.from_iterable(("-p", text) for text in parameters)]
    )
