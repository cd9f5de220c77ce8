"""The robot of a command: its first argument, and the options that go with it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli.arguments import finite, input_path, numbers, option, pairs
from robot_dynamics_ros.dynamics import Frame
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.arm_profile import ArmProfile
from robot_dynamics_ros.model.checks import DEFAULT_POLICY, INERTIA_POLICIES
from robot_dynamics_ros.model.description import Array, Inertia, Pose
from robot_dynamics_ros.model.library import find_robot, robot_names
from robot_dynamics_ros.model.robot_model import BACKENDS, DEFAULT_GRAVITY, RobotModel
from robot_dynamics_ros.model.to_urdf import to_urdf
from robot_dynamics_ros.model.urdf import MAX_BYTES, load_urdf
from robot_dynamics_ros.model.urdf_source import with_arguments

TOPIC = "robot_description"


def add_robot(
    parser: argparse.ArgumentParser,
    default: str | None = None,
    *,
    required: bool = True,
) -> None:
    """The argument ``robot``, to be given if it is ``required`` and has no default; and the options
    about it.
    """
    robot = parser.add_argument(
        "robot",
        metavar="ROBOT",
        nargs=None if required and default is None else "?",
        default=default,
        help="a file (URDF, xacro, MJCF), the name of a robot that ships with the package, - for "
        "standard input, or "
        "robot_description (/NAMESPACE/robot_description) for the one that runs; xacro arguments "
        "may follow: "
        "arm.xacro tool:=gripper" + (f" (default: {default})" if default else ""),
    )
    robot.completer = complete_robot  # type: ignore[attr-defined]
    group = parser.add_argument_group("the robot", "the same for every command")
    add = partial(option, group)
    add(
        "--gravity",
        finite,
        "m/s^2, in the world frame (default: 0 0 -9.81)",
        nargs=3,
        metavar=("X", "Y", "Z"),
    )
    text = (
        "where the root link is mounted in the world, m and rad (default: at its origin, upright)"
    )
    add("--base", finite, text, nargs=6, metavar=("X", "Y", "Z", "ROLL", "PITCH", "YAW"))
    add("--floating-base", None, "let the root link move freely")
    add(
        "--payload",
        "LINK:MASS[:X,Y,Z]",
        "a mass in kg fixed to a link, at a point of its frame in m",
        many=True,
    )
    text = (
        "a frame such as a tool centre point, named wherever a link is, m and rad in the link's "
        "frame"
    )
    add("--frame", "NAME=LINK:X,Y,Z[,R,P,Y]", text, many=True)
    add(
        "--srdf",
        input_path,
        "named configurations: --start, --to and --q take their names",
        metavar="FILE",
    )
    text = (
        "physically impossible inertias of links: refused, taken as they are with a warning, or "
        "given the nearest possible "
        "inertia"
    )
    add("--inertia-check", INERTIA_POLICIES, text, DEFAULT_POLICY)
    add("--backend", BACKENDS, "what computes the dynamics (default: the fastest there is)")


def complete_robot(prefix: str, **_context: object) -> Iterable[str]:
    """Names and files that begin with ``prefix``, for tab completion."""
    names = [name for name in (*robot_names(), TOPIC) if name.startswith(prefix)]
    # it is what asks
    from argcomplete.completers import FilesCompleter

    return [*names, *FilesCompleter(("urdf", "xacro", "xml"))(prefix)]


@dataclass(frozen=True)
class NamedRobot:
    """A robot that was asked for."""

    # with everything that was asked for
    model: RobotModel
    # its file; None if it came from standard input or a topic
    path: Path | None
    # words that name it again, xacro arguments included; "" if there are none
    named: str
    # whether the file alone gives the model (gravity and inertia check aside)
    plain: bool

    def file_for_nodes(self, directory: Path) -> str:
        """A file from which a node can load the same robot: its own, or a URDF written to
        ``directory``.
        """
        if self.plain and self.named:
            return self.named
        path = directory / "robot.urdf"
        path.write_text(to_urdf(self.model), encoding="utf-8")
        return str(path.resolve())


def load_model(options: argparse.Namespace) -> RobotModel:
    """The robot of the options of :func:`add_robot`."""
    return load_named(options).model


def load_named(options: argparse.Namespace) -> NamedRobot:
    """The robot of the options of :func:`add_robot`, and where it came from."""
    text = options.robot
    words = getattr(options, "xacro_arguments", {})
    path: Path | None = None
    source: str | bytes
    named = ""
    if text == "-":
        source = _standard_input()
    elif (text == TOPIC or text.endswith("/" + TOPIC)) and not Path(text).exists():
        from robot_dynamics_ros.ros.installation import need_ros

        need_ros(f"robot {text!r}")
        from robot_dynamics_ros.ros.transport.robot import wait_for_description

        source = wait_for_description(text)
    else:
        path, own_arguments = find_robot(text)
        named = source = with_arguments(path, {**own_arguments, **words})
        words = {}
    model = load_urdf(
        source,
        DEFAULT_GRAVITY if options.gravity is None else options.gravity,
        base=None if options.base is None else Pose.from_rpy(options.base[:3], options.base[3:]),
        floating_base=options.floating_base,
        inertia_check=options.inertia_check,
        xacro_arguments=words or None,
    )
    for payload in options.payload:
        model = _with_payload(model, payload)
    form = "NAME=LINK or NAME=LINK:X,Y,Z[,R,P,Y]"
    remedy = f"For example tcp={model.link_names[-1]}:0,0,0.1."
    for name, place in pairs(options.frame, form, "--frame", remedy).items():
        frame = frame_argument(model, place, "--frame")
        link, pose = (frame, None) if isinstance(frame, str) else (frame.link, frame.pose)
        model = model.with_frame(name, link, pose)
    if options.srdf:
        model = model.with_configurations(Path(options.srdf))
    if options.backend:
        model = model.with_backend(options.backend)
    edited = options.payload or options.frame or options.floating_base
    return NamedRobot(model, path, named, path is not None and path.suffix != ".xml" and not edited)


def without_other_joints(model: RobotModel, profile: ArmProfile) -> RobotModel:
    """The robot with the joints locked, where they are at first, that something else than the arm's
    driver commands.
    """
    positions = dict(zip(model.joint_names, model.initial_configuration(), strict=True))
    locked = {name: positions[name] for name in profile.elsewhere if name in positions}
    if locked:
        return model.lock(list(locked), locked)
    return model


def configuration_argument(
    model: RobotModel,
    words: Sequence[float | str],
    where: str,
) -> Array:
    """(nq,) a configuration as typed: a name, or all coordinates."""
    if len(words) == 1 and isinstance(words[0], str):
        return model.configuration(words[0], where=where)
    if len(words) != model.nq or any(isinstance(word, str) for word in words):
        problem = f"expected {model.nq} numbers, or the name of a configuration, got {len(words)}"
        remedy = (
            f"The joints are {', '.join(model.joint_names[:20])}; names are those of --srdf, "
            "initial and zero."
        )
        raise ArgumentError(problem, where=where, remedy=remedy)
    return np.array(words, dtype=float)


def frame_argument(model: RobotModel, text: str, where: str) -> str | Frame:
    """A frame as typed: a name, or ``LINK:X,Y,Z[,ROLL,PITCH,YAW]``."""
    name, colon, place = text.rpartition(":")
    if not colon or text in model.link_names:
        return text
    try:
        values = numbers(place, 3, 6)
    except ValueError:
        raise ArgumentError(
            f"expected LINK:X,Y,Z or LINK:X,Y,Z,ROLL,PITCH,YAW, got {text!r}", where=where
        ) from None
    return Frame(name, pose=Pose.from_rpy(values[:3], values[3:] or (0.0, 0.0, 0.0)))


def _standard_input() -> bytes:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        remedy = "Pipe a URDF in: xacro arm.xacro | robot_dynamics info -"
        raise ArgumentError("nothing is piped in", where="robot -", remedy=remedy)
    return stream.read(MAX_BYTES + 1)


def parse_payload(text: str) -> tuple[str, float, list[float]]:
    """Link, mass in kg and centre of mass in m of ``LINK:MASS[:X,Y,Z]``; a ValueError if it is
    something else.
    """
    # names may hold colons
    form = re.fullmatch(r"(.+):([^:,]+)(?::([^:,]+,[^:,]+,[^:,]+))?", text)
    if form is None:
        raise ValueError
    link, *rest = form.groups("0,0,0")
    mass, *centre = numbers(",".join(rest), 4)
    if mass < 0.0:
        raise ValueError
    return link, mass, centre


def _with_payload(model: RobotModel, text: str) -> RobotModel:
    try:
        link, mass, centre = parse_payload(text)
    except ValueError:
        problem = f"expected LINK:MASS or LINK:MASS:X,Y,Z, got {text[:80]!r}"
        remedy = (
            f"For example {model.link_names[-1]}:2.5:0,0,0.1, with the mass in kg and the point "
            "in m."
        )
        raise ArgumentError(problem, where="--payload", remedy=remedy) from None
    names = chain(["payload"], (f"payload_{i}" for i in count(2)))
    return model.attach(
        link,
        Inertia(mass, np.array(centre)),
        name=next(name for name in names if name not in model.link_names),
    )
