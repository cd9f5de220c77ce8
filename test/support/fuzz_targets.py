"""Everything of ours that reads what strangers wrote, as functions of bytes.

A target takes bytes and a folder to work in.  Errors of the package are what it should raise for
nonsense, and end quietly; whatever else it raises is a finding.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import os
import shlex
import struct
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import EXIT_CODES, main
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.recordings.read_bag import read_bag
from robot_dynamics_ros.recordings.read_csv import read_csv

__all__ = ["REFUSALS", "TARGETS", "Target"]

MODEL = rd.load_robot("two_link")
JOINTS = MODEL.joint_names


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Attributes:
        run: takes bytes and a folder; raises if something is wrong with us.
        seeds: makes good inputs, from which bad ones are made.
        tokens: pieces that are worth putting somewhere.
        needs: package without which it cannot run.
    """

    run: Callable[[bytes, Path], None]
    seeds: Callable[[], list[bytes]]
    tokens: tuple[bytes, ...] = ()
    needs: str = ""


NUMBERS = (
    b"nan",
    b"-inf",
    b"1e999",
    b"1e308",
    b"-1e308",
    b"1e-320",
    b"0",
    b"-0.0",
    b"-1",
    b"1e300",
    b"1e30",
    b"1e11",
    b"0x10",
    b"1_0",
    b"",
    b" ",
)
DOUBLES = tuple(
    struct.pack("<d", x)
    for x in (math.nan, math.inf, -math.inf, 1e308, -1e300, 1e160, 1e10, 5e-324, 0.0, -1.0, 0.3)
)
LENGTHS = tuple(struct.pack("<I", n) for n in (0, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**32 - 1))


REFUSALS: set[tuple[str, int]] = set()
"""Files and lines that have raised an error of ours so far."""


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """Errors of the package are answers, and so are its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            yield
        except RobotDynamicsError as error:
            at = error.__traceback__
            while at is not None and at.tb_next is not None:
                at = at.tb_next
            if at is not None:
                REFUSALS.add((at.tb_frame.f_code.co_filename, at.tb_lineno))


# -- files -----------------------------------------------------------------------------------------


def urdf(data: bytes, _folder: Path) -> None:
    """A robot's description: finite efforts, and a model that can be written and read again; or an
    error of ours.
    """
    with ours():
        model = rd.load_urdf(data)
        ones = np.ones(model.nv)
        plain = model.with_backend("interpreted")
        assert np.isfinite(
            rd.inverse_dynamics(plain, model.initial_configuration(), ones, ones)
        ).all()
        assert np.isfinite(
            rd.forward_dynamics(plain, model.initial_configuration(), ones, ones)
        ).all()
        assert math.isfinite(model.total_mass)
        assert not np.isnan(
            np.concatenate([model.lower, model.upper, model.effort_limit, model.velocity_limit])
        ).any()
        again = rd.load_urdf(rd.to_urdf(model))
        assert (again.joint_names, again.nv, again.nq) == (model.joint_names, model.nv, model.nq)


def csv(data: bytes, folder: Path) -> None:
    """A recording in a table."""
    path = folder / "rows.csv"
    path.write_bytes(data)
    with ours():
        _sound(read_csv(path, MODEL))


def bag(data: bytes, folder: Path) -> None:
    """A recording in a bag."""
    path = folder / "rows.mcap"
    path.write_bytes(data)
    with ours():
        _sound(read_bag(path, MODEL))


def _sound(recording: Any) -> None:
    n = len(recording.t)
    assert n and np.isfinite(recording.t).all() and np.isfinite(recording.q).all()
    assert (np.diff(recording.t) > 0).all() and recording.q.shape == (n, MODEL.nq)


def friction(data: bytes, folder: Path) -> None:
    """A file of joint friction."""
    path = folder / "friction.json"
    path.write_bytes(data)
    with ours():
        FrictionFile.read(path, MODEL).friction(MODEL)


TRANSMISSION = b"""<transmission name="t" xmlns:drake="d"><type>x</type><joint name="shoulder"/>
<actuator name="a">
<mechanicalReduction>50</mechanicalReduction><drake:rotor_inertia value="0.0001"/>
<drake:gear_ratio value="100"/></actuator></transmission>
<ros2_control name="h" type="system"><joint name="elbow"><state_interface name="position">
<param name="initial_value">0.1</param>
</state_interface></joint></ros2_control></robot>"""


def _urdf_seeds() -> list[bytes]:
    whole = rd.robot_path("two_link").read_bytes().replace(b"</robot>", TRANSMISSION)
    return [whole, *(rd.robot_path(name).read_bytes() for name in ("pendulum", "three_link"))]


def _csv_seeds() -> list[bytes]:
    head = "t,shoulder,elbow,shoulder.velocity,elbow.velocity,shoulder.effort,elbow.effort\n"
    rows = "".join(f"{0.01 * k:.2f},{0.1 * k:g},{-0.2 * k:g},10,-20,1.5,-0.5\n" for k in range(12))
    return [
        (head + rows).encode(),
        ("﻿stamp;elbow/position;shoulder/position\n" + "1700000000000;1;2\n").encode(),
    ]


@functools.cache
def _bag_seeds() -> list[bytes]:
    import tempfile

    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_HUMBLE)
    State, Header, Time = (
        types.types[n]
        for n in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bag"
        with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as writer:
            connection = writer.add_connection("/joint_states", State.__msgtype__, typestore=types)
            for k in range(6):
                two = np.array([0.1 * k, -0.1 * k])
                message = State(Header(Time(1 + k, 0), ""), list(JOINTS), two, two, two)
                writer.write(
                    connection, (1 + k) * 10**9, types.serialize_cdr(message, State.__msgtype__)
                )
        return [next(path.glob("*.mcap")).read_bytes()]


# -- a command line --------------------------------------------------------------------------------


def command_line(data: bytes, folder: Path) -> None:
    """What a person types: an exit code that is documented, and not the one for errors of the
    program.
    """
    try:
        words = shlex.split(data.decode("utf-8", "replace"))
    except ValueError:
        return
    # what takes no time, opens no window and no port
    if not words or words[0] not in (
        "info",
        "wrenches",
        "plan",
    ):
        words = ["info", *words]
    (folder / "in.csv").write_bytes(_csv_seeds()[0])
    # nothing is written but into the folder
    words = [
        str(folder / "in.csv") if w == "IN" else str(folder / "out") if w == "OUT" else w
        for w in words
    ]
    words = [w for w in words if w.startswith(str(folder)) or "/" not in w]
    if words[0] == "wrenches" and "--output" not in words:
        words += ["--output", str(folder / "out")]
    told = io.StringIO()
    failed = io.StringIO()
    here = os.getcwd()
    os.chdir(folder)
    try:
        # argparse looks for a translation on the disk for every word that it may say
        with (
            mock.patch("gettext.find", lambda *_, **__: None),
            contextlib.redirect_stdout(told),
            contextlib.redirect_stderr(failed),
        ):
            code: Any = main(words)
    except SystemExit as end:
        code = end.code or 0
    finally:
        os.chdir(here)
    assert code in EXIT_CODES and code != 70, (words, failed.getvalue())
    assert "Traceback" not in failed.getvalue()


def _command_lines() -> list[bytes]:
    return [
        b"info two_link --json",
        b"info two_link --gravity 0 0 -9.81 --payload tip:1:0,0,0.1",
        b"wrenches two_link --csv IN --output OUT --formats csv --joints all --window 5 --order 3",
        b"plan two_link --start 0,0 --goal 0.5,0.5",
    ]


# -- messages --------------------------------------------------------------------------------------


def joint_state(data: bytes, _folder: Path) -> None:
    """A serialized joint state: what is believed is finite and within bounds."""
    from robot_dynamics_ros.control.cycle import message
    from robot_dynamics_ros.ros.transport.cdr import JointStateReader

    reader = JointStateReader(JOINTS)
    # the second time its layout is known, if it has one
    for _ in range(2):
        with ours():
            reader.read(data)
            assert np.abs(reader.position).max() <= message.FARTHEST
            assert np.abs(reader.velocity).max() <= message.FASTEST
            assert not reader.effort_known or np.abs(reader.effort).max() <= message.STRONGEST


def trajectory(data: bytes, _folder: Path) -> None:
    """A serialized trajectory: followed by finite references and efforts within the limits, or
    refused.
    """
    from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_from_bytes

    with ours():
        given = trajectory_from_bytes(data)
        control = _controller()
        control.accept_trajectory(given, BEGIN)
        for ahead in (1, 1_000_000, 80_000_000):
            _finite(control, control.update(BEGIN + ahead, Q, V))


def _joint_states() -> list[bytes]:
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    two = [0.3, -0.4]
    full = JointState(name=list(JOINTS), position=two, velocity=two, effort=two)
    more = JointState(name=["gripper", *JOINTS[::-1]], position=[1.0, *two], velocity=[1.0, *two])
    return [bytes(serialize_message(m)) for m in (full, more)]


def _trajectories() -> list[bytes]:
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    def make(n: int, fields: int) -> bytes:
        message = JointTrajectory(joint_names=list(JOINTS))
        for k in range(n):
            values = ([0.3 + 0.001 * k, -0.4], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])[:fields]
            point = JointTrajectoryPoint(
                **dict(
                    zip(
                        ("positions", "velocities", "accelerations", "effort"), values, strict=False
                    )
                )
            )
            point.time_from_start.nanosec = 50_000_000 * (k + 1) % 1_000_000_000
            point.time_from_start.sec = (k + 1) // 20
            message.points.append(point)
        return bytes(serialize_message(message))

    return [make(1, 1), make(3, 2), make(2, 4), make(20, 3)]


# -- the controller as a whole ---------------------------------------------------------------------

BEGIN = 1_700_000_000_000_000_000
Q = np.array([0.3, -0.4])
V = np.zeros(2)
VALUES = (
    0.0,
    0.3,
    -0.4,
    1e-9,
    0.05,
    1.0,
    -1.0,
    30.0,
    1e4,
    1e6,
    1e9,
    1e100,
    -1e300,
    math.nan,
    math.inf,
    -math.inf,
)
STEPS = (0, 1, 1_000_000, 2_000_000, 50_000_000, -1_000_000, 200_000_000, -(10**9), 10**9, 10**17)


def _controller() -> rd.JointController:
    control = rd.JointController(MODEL, rd.ComputedTorque(kp=400.0, kd=40.0, ki=50.0))
    control.activate(BEGIN, Q, V)
    return control


def _finite(control: rd.JointController, command: Any) -> None:
    assert np.isfinite(command).all() and (np.abs(command) <= MODEL.effort_limit + 1e-9).all(), (
        command
    )
    assert np.isfinite(control.reference).all(), control.reference


class _Draw:
    """Choices from bytes; zeros when there are none left."""

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)

    def byte(self) -> int:
        return next(self._bytes, 0)

    def number(self) -> float:
        return VALUES[self.byte() % len(VALUES)]

    def pair(self) -> np.ndarray:
        return np.array([self.number(), self.number()])

    def point(self, time: int) -> TrajectoryPoint:
        which = self.byte()
        fields = [tuple(self.pair().tolist()) if which & (1 << i) else () for i in range(4)]
        return TrajectoryPoint(time, *fields)


def controller(data: bytes, _folder: Path) -> None:
    """States, trajectories, set-points, wrenches and gains in any order: every command is finite
    and within the limits.
    """
    draw = _Draw(data[1:])
    control = _controller()
    t = BEGIN
    for _ in range(min(len(data), 40)):
        with ours(), np.errstate(all="ignore"):
            match draw.byte() % 8:
                case 0 | 1 | 2:
                    t += STEPS[draw.byte() % len(STEPS)]
                    _finite(control, control.update(t, draw.pair(), draw.pair(), draw.pair()))
                case 3:
                    points = [
                        draw.point(STEPS[draw.byte() % len(STEPS)] * (k + 1))
                        for k in range(1 + draw.byte() % 3)
                    ]
                    stamp = (0, t, t - 10**9, t + 10**9)[draw.byte() % 4]
                    control.accept_trajectory(
                        Trajectory.from_points(JOINTS, points, stamp=stamp), t
                    )
                case 4:
                    control.accept_point(JOINTS, draw.point(STEPS[draw.byte() % len(STEPS)]), t)
                case 5:
                    control.set_external_wrench(
                        MODEL.link_names[-1], [draw.number() for _ in range(6)], t
                    )
                case 6:
                    command = control.watch(t + STEPS[draw.byte() % len(STEPS)])
                    assert command is None or np.isfinite(command).all()
                case 7:
                    control.hold(t) if draw.byte() % 2 else control.set_gains(kp=draw.number())
    _finite(control, control.command)


def _controller_runs() -> list[bytes]:
    steady = bytes([0, 0, 2, 1, 2, 0, 0, 0, 0])
    return [
        steady * 3,
        steady + bytes([3, 0, 1, 1, 2, 4, 0]) + steady[1:] * 3,
        steady + bytes(range(60)),
    ]


# -- parameters ------------------------------------------------------------------------------------


def parameters(data: bytes, _folder: Path) -> None:
    """A parameter file: every value is of its type and within its bounds, or refused; settings
    follow from what is left.
    """
    import yaml

    from robot_dynamics_ros.ros import effort_gate as gate_parameters
    from robot_dynamics_ros.ros.controller import parameters as controller_settings
    from robot_dynamics_ros.ros.simulator import parameters as simulator_settings
    from robot_dynamics_ros.ros.transport.parameters import of_joints

    try:
        document = yaml.safe_load(data)
        given = dict(document) if isinstance(document, dict) else {}
    except (
        yaml.YAMLError,
        UnicodeDecodeError,
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        RecursionError,
    ):
        # rcl's own reader is first in line
        return
    tables: tuple[tuple[Any, Callable[[dict[str, Any]], Any]], ...] = (
        (
            (
                *controller_settings.CONTROLLER_PARAMETERS,
                *of_joints(JOINTS, *controller_settings.JOINT_PARAMETERS),
            ),
            lambda values: (
                controller_settings.validate(values),
                controller_settings.options(values, MODEL),
                controller_settings.guards(values, MODEL),
                controller_settings.tolerances(values, MODEL),
            ),
        ),
        (simulator_settings.SIMULATOR_PARAMETERS, simulator_settings.validate),
        (
            (*gate_parameters.GATE_PARAMETERS, *gate_parameters.limit_parameters(MODEL, JOINTS)),
            lambda values: gate_parameters.gate_settings(values, MODEL, JOINTS),
        ),
    )
    for table, use in tables:
        values = {}
        for param in table:
            values[param.name] = param.check(
                list(param.default) if param.is_array else param.default
            )
            if param.name in given:
                with ours():
                    values[param.name] = value = param.check(given[param.name])
                    for x in value if isinstance(value, tuple) else (value,):
                        assert not isinstance(x, float) or math.isfinite(x)
        with ours():
            use(values)


def _parameter_files() -> list[bytes]:
    return [
        b"law: computed_torque\nstate_timeout: 0.1\njoints: [shoulder, elbow]\ngravity: [0, 0, "
        b"-9.81]\nmax_step: 0.05\n"
        b"gains.shoulder.p: 100.0\ngains.shoulder.i: 1\nlimits.elbow.effort: 5\npayload.link: "
        b"tip\npayload.mass: 1.0\n"
        b"payload.com: [0, 0, 0.1]\nautostart: true\n",
        b"update_rate: 500.0\ntime_mode: real_time\nintegrator: rk4\ncommand_timeout: "
        b"0.1\nsensors.noise.position: [0.1]\n",
        b"limits.shoulder.velocity: 2.0\neffort_rate: 100.0\non_limit: stop\nsecond_publisher: "
        b"report\n",
    ]


TARGETS = {
    "urdf": Target(
        urdf,
        _urdf_seeds,
        (
            *NUMBERS,
            b"<link name='x'/>",
            b"continuous",
            b"floating",
            b"planar",
            b"<mimic joint='elbow'/>",
            b"&amp;",
            b"\xff",
        ),
    ),
    "csv": Target(
        csv,
        _csv_seeds,
        (
            *NUMBERS,
            b",",
            b";",
            b"\t",
            b"\n",
            b'"',
            b"\0",
            b"\xff\xfe",
            b"shoulder.position",
            b"time",
        ),
    ),
    "bag": Target(bag, _bag_seeds, (*DOUBLES, *LENGTHS), "rosbags"),
    "friction": Target(
        friction,
        lambda: [
            b'{"joints": {"elbow": {"viscous": 0.1, "coulomb": 0.2, "breakaway": 0.3, '
            b'"stribeck_speed": 0.1}}}'
        ],
        (*NUMBERS, b"NaN", b"Infinity", b"null", b"[]", b"{}", b'"effects"', b'"offset"', b"true"),
    ),
    "command_line": Target(
        command_line,
        _command_lines,
        (
            *NUMBERS,
            b" --gravity ",
            b" --base ",
            b" --payload ",
            b" --json",
            b" ,",
            b":",
            b" --joints ",
            b" --balance ",
            b" --help",
        ),
    ),
    "joint_state": Target(joint_state, _joint_states, (*DOUBLES, *LENGTHS, b"elbow\0"), "rclpy"),
    "trajectory": Target(trajectory, _trajectories, (*DOUBLES, *LENGTHS, b"elbow\0"), "rclpy"),
    "controller": Target(controller, _controller_runs),
    "parameters": Target(
        parameters,
        _parameter_files,
        (
            *NUMBERS,
            b".nan",
            b".inf",
            b"null",
            b"[]",
            b"[1, two]",
            b"{a: 1}",
            b"true",
            b"'",
            b"!!binary x",
            b"2001-01-01",
            b"&a [*a]",
        ),
        "rclpy",
    ),
}
