"""Efforts and wrenches written to CSV and to a bag, and drawn: over time, and paths through space
coloured by speed.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import FIGURE_STYLE, XYZ, every_nth, legend, pyplot, without_noise
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.recordings.compute import WrenchHistory
from robot_dynamics_ros.recordings.read_bag import need_rosbags
from robot_dynamics_ros.simulation.paths import draw_points
from robot_dynamics_ros.simulation.simulate import SimulationResult
from robot_dynamics_ros.whole_files import whole_file

if TYPE_CHECKING:
    from rosbags.rosbag2 import Writer
    from rosbags.typesys.store import Typestore


COMPONENTS = ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")
# [moment; force] to the messages' [force; torque]
_SWAP = [3, 4, 5, 0, 1, 2]
_AXIS_LETTERS = "xyz"
_FORCE_ROWS = slice(3, 6)
_MOMENT_ROWS = slice(0, 3)


def write_csv(
    path: str | Path,
    history: WrenchHistory,
    progress: Callable[[float], None] | None = None,
) -> None:
    """One line a row: its number in the source, time, then each joint's position, velocity,
    acceleration and effort, the motors' currents, then each wrench's force and torque, the parts of
    one, the external wrenches, and standard errors if there are any.

    Raises:
        ArgumentError: the file cannot be written.
    """
    own = history.model.joint_names
    head = ["row", "t"]
    head += [
        f"{name}.{what}"
        for what, name in itertools.product(("position", "velocity", "acceleration", "effort"), own)
    ]
    head += [f"{name}.current" for name in history.currents]
    head += [f"{name}.wrench.{c}" for name, c in itertools.product(history.joints, COMPONENTS)]
    head += [
        f"{history.balanced}.{part}.{c}" for part, c in itertools.product(history.parts, COMPONENTS)
    ]
    head += [f"external.{link}.{c}" for link, c in itertools.product(history.external, COMPONENTS)]
    errors = []
    if history.effort_errors is not None and history.wrench_errors is not None:
        head += [f"{name}.effort.error" for name in own]
        head += [
            f"{name}.wrench.error.{c}" for name, c in itertools.product(history.joints, COMPONENTS)
        ]
        errors = [
            history.effort_errors,
            history.wrench_errors[:, :, _SWAP].reshape(len(history.t), -1),
        ]
    columns = [
        history.t,
        history.q,
        history.v,
        history.a,
        history.efforts,
        *history.currents.values(),
    ]
    columns.append(history.wrenches[:, :, _SWAP].reshape(len(history.t), -1))
    columns += [p[:, _SWAP] for p in (*history.parts.values(), *history.external.values())]
    table = np.column_stack([*columns, *errors])
    _write_table(path, head, history.rows.tolist(), table, progress)


def write_run_csv(path: str | Path, run: SimulationResult) -> None:
    """A simulated run of a robot with any joints: one line a row, its number, time, and each
    joint's coordinates.

    Joints of one degree of freedom have ``<joint>.position``, ``.velocity``, ``.acceleration``,
    ``.effort`` as in :func:`write_csv`.  A floating joint has ``.position.x`` to ``z`` and
    ``.orientation.x`` to ``w`` (a unit quaternion) in the parent frame; ``.velocity.angular.x`` to
    ``.velocity.linear.z``, their rates in the same way, and ``.effort.torque.x`` to
    ``.effort.force.z`` in the child frame; a planar one ``.position.x``, ``.y``, ``.theta``, the
    rest alike.

    Raises:
        ArgumentError: the file cannot be written.
    """
    head = ["row", "t"]
    tables = (run.q, run.v, run.a, run.tau)
    for field in ("position", "velocity", "acceleration", "effort"):
        for joint in run.model.joint_names:
            head += [
                f"{joint}.{word}" for word in coordinate_names(run.model.joint(joint).type, field)
            ]
    table = np.concatenate([run.t[:, None], *tables], axis=1)
    _write_table(path, head, list(range(len(run.t))), table)


def coordinate_names(kind: JointType, field: str) -> list[str]:
    """Names of a joint's coordinates in the order of the model; ``field``: position, velocity,
    acceleration or effort.
    """
    if kind is JointType.PLANAR:
        return [f"{field}.{axis}" for axis in ("x", "y", "theta")]
    if kind is not JointType.FLOATING:
        return [field]
    if field == "position":
        return [
            *(f"position.{axis}" for axis in "xyz"),
            *(f"orientation.{axis}" for axis in "xyzw"),
        ]
    if field == "effort":
        parts = ("torque", "force")
    else:
        parts = ("angular", "linear")
    return [f"{field}.{part}.{axis}" for part, axis in itertools.product(parts, "xyz")]


def _write_table(
    path: str | Path,
    head: list[str],
    numbers: list[int],
    table: Array,
    progress: Callable[[float], None] | None = None,
) -> None:
    try:
        with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(head)
            for k, (number, row) in enumerate(zip(numbers, table.tolist(), strict=True)):
                out.writerow([number, *map(repr, row)])
                if progress is not None and not k & 1023:
                    progress(k / len(table))
    except OSError as error:
        raise ArgumentError(
            f"cannot be written: {error}", where=str(path), remedy="Choose another place."
        ) from None


def write_bag(
    path: str | Path,
    history: WrenchHistory,
    progress: Callable[[float], None] | None = None,
) -> None:
    """A rosbag2 directory with one mcap file: ``/joint_efforts`` (sensor_msgs/JointState),
    ``/motor_currents/<joint>`` of joints with motors (std_msgs/Float64, A),
    ``/joint_wrenches/<joint>`` and, if there are parts, ``/wrench_parts/<joint>/<part>`` and
    ``/external_wrenches/<link>`` (geometry_msgs/WrenchStamped, ``frame_id`` the frame of the axes).

    Raises:
        ArgumentError: the directory is there already, or cannot be written.
        BackendError: the package rosbags is not installed.
    """
    rosbags = need_rosbags()
    types = rosbags.typesys.get_typestore(rosbags.typesys.Stores.ROS2_HUMBLE)
    path = Path(path)
    if path.exists():
        raise ArgumentError(
            "is there already", where=str(path), remedy="Remove it, or choose another place."
        )
    try:
        with rosbags.rosbag2.Writer(
            path, version=8, storage_plugin=rosbags.rosbag2.StoragePlugin.MCAP
        ) as writer:
            _write_messages(writer, types, history, progress)
    except (OSError, rosbags.rosbag2.WriterError) as error:
        raise ArgumentError(
            f"cannot be written: {error}", where=str(path), remedy="Choose another place."
        ) from None


def _write_messages(
    writer: Writer,
    types: Typestore,
    history: WrenchHistory,
    progress: Callable[[float], None] | None,
) -> None:
    Time = types.types["builtin_interfaces/msg/Time"]
    Header = types.types["std_msgs/msg/Header"]
    Wrench = types.types["geometry_msgs/msg/Wrench"]
    Vector = types.types["geometry_msgs/msg/Vector3"]
    State = types.types["sensor_msgs/msg/JointState"]
    Stamped = types.types["geometry_msgs/msg/WrenchStamped"]
    Float = types.types["std_msgs/msg/Float64"]

    def added(topic: str, kind: Any) -> Callable[[int, Any], None]:
        """Writer of messages of a type on a topic."""
        connection = writer.add_connection(topic, kind.__msgtype__, typestore=types)
        return lambda stamp, message: writer.write(
            connection, stamp, types.serialize_cdr(message, kind.__msgtype__)
        )

    state = added("/joint_efforts", State)
    names = list(history.model.joint_names)
    motors = [
        (added(f"/motor_currents/{name}", Float), x.tolist())
        for name, x in history.currents.items()
    ]
    series = [(added(topic, Stamped), frame, table) for topic, frame, table in _series(history)]
    stamps = np.round(history.t * 1e9).astype(np.int64).tolist()
    for k, stamp in enumerate(stamps):
        time = Time(*divmod(stamp, 1_000_000_000))
        state(stamp, State(Header(time, ""), names, history.q[k], history.v[k], history.efforts[k]))
        for write, current in motors:
            write(stamp, Float(current[k]))
        for write, frame, table in series:
            m = table[k, :3].tolist()
            f = table[k, 3:].tolist()
            write(stamp, Stamped(Header(time, frame), Wrench(Vector(*f), Vector(*m))))
        if progress is not None and not k & 255:
            progress(k / len(stamps))


def _series(history: WrenchHistory) -> Iterator[tuple[str, str, Array]]:
    for i, (name, frame) in enumerate(zip(history.joints, history.frames, strict=True)):
        yield f"/joint_wrenches/{name}", frame, history.wrenches[:, i]
    for part, table in history.parts.items():
        yield f"/wrench_parts/{history.balanced}/{part}", history.observer, table
    for link, table in history.external.items():
        yield f"/external_wrenches/{link}", link, table


def draw_wrenches(history: WrenchHistory, path: str | Path) -> None:
    """Force and moment of every joint over time, a row a joint.

    Raises:
        BackendError: matplotlib is not installed.
    """
    k = every_nth(len(history.t))
    forces, moments = (
        without_noise(history.wrenches[k, :, half]) for half in (_FORCE_ROWS, _MOMENT_ROWS)
    )
    rows = [
        (f"{name}: force [N]", f"moment [N m], axes of {frame}", forces[:, i], moments[:, i])
        for i, (name, frame) in enumerate(zip(history.joints, history.frames, strict=True))
    ]
    _draw_rows(history, rows, path, height=1.7, dpi=120)


def _draw_rows(
    history: WrenchHistory,
    rows: Sequence[tuple[str, str, Array, Array]],
    path: str | Path,
    *,
    height: float,
    dpi: int,
    title: str = "",
    **options: str,
) -> None:
    """Titles of force and moment, and both (n, 3) over time, a row each."""
    plt = pyplot()
    t = history.t[every_nth(len(history.t))] - history.t[0]
    size = (11.0, 1.2 + height * len(rows))
    with plt.rc_context(FIGURE_STYLE):
        figure, axes = plt.subplots(
            len(rows), 2, figsize=size, sharex=True, squeeze=False, layout="constrained", **options
        )
        if title:
            figure.suptitle(title)
        for row, (force_title, moment_title, force, moment) in zip(axes, rows, strict=True):
            for axis, words, vectors in zip(
                row, (force_title, moment_title), (force, moment), strict=True
            ):
                for c in range(3):
                    axis.plot(t, vectors[:, c], lw=1.2, label=_AXIS_LETTERS[c], **XYZ[c])
                axis.set_title(words)
        legend(figure, axes[0])
        for axis in axes[-1]:
            axis.set_xlabel("time [s]")
        figure.savefig(path, dpi=dpi)
        plt.close(figure)


def draw_parts(history: WrenchHistory, path: str | Path) -> None:
    """Each part of the balance of one joint's wrench over time, a row a part.

    Forces share one scale, and so do moments, so that parts can be compared; what is rounding
    beside the largest is drawn as zero, and parts that are zero throughout are named in the title
    instead of drawn.

    Raises:
        BackendError: matplotlib is not installed.
    """
    k = every_nth(len(history.t))
    largest = [
        max(float(np.abs(p[:, half]).max()) for p in history.parts.values())
        for half in (_FORCE_ROWS, _MOMENT_ROWS)
    ]
    tables = {
        name: [
            without_noise(p[k, half], top)
            for half, top in zip((_FORCE_ROWS, _MOMENT_ROWS), largest, strict=True)
        ]
        for name, p in history.parts.items()
    }
    drawn = {
        name: halves for name, halves in tables.items() if any(x.any() for x in halves)
    } or tables
    zero = [name for name in tables if name not in drawn]
    title = (
        f"Wrench of {history.balanced} seen from {history.observer}: dynamic is the sum of all "
        "others"
    )
    title += f"\n(zero throughout: {', '.join(zero)})" if zero else ""
    rows = [
        (f"{name}: force [N]", "moment [N m]", force, moment)
        for name, (force, moment) in drawn.items()
    ]
    _draw_rows(history, rows, path, height=1.5, dpi=110, title=title, sharey="col")


def draw_paths(history: WrenchHistory, path: str | Path) -> None:
    """Paths of the centres of mass (the robot's and each link's), the joints and the tips in the
    two planes where they are widest, coloured by speed.

    Raises:
        BackendError: matplotlib is not installed.
    """
    pyplot().close(draw_points(history.paths, history.speeds, path))
