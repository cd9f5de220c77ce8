"""The picture of a demonstration run: positions, tracking errors, efforts, joint wrenches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from robot_dynamics_ros.control.reference.tour import Motion
from robot_dynamics_ros.figures import STYLE, curve, joint_kinds, unit_of
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(model: RobotModel, motion: Motion, recording, path: Path) -> None:
    """Write the picture.

    Args:
        motion: the reference.
        recording: a :class:`~robot_dynamics_ros.ros.demo_client.Recording`.
        path: PNG file to write.
    """
    kinds = joint_kinds(model)
    with plt.rc_context(STYLE):
        figure, rows = plt.subplots(
            2 * len(kinds), 3, figsize=(13.5, 6.6 * len(kinds)), sharex=True, squeeze=False, layout="constrained"
        )
        for number, (kind, joints) in enumerate(kinds.items()):
            _draw_kind(rows[2 * number : 2 * number + 2], model, motion, recording, kind, joints)
        for axis in rows[-1]:
            axis.set_xlabel("time after the start of the trajectory [s]")
        handles: dict[str, Any] = {}
        for row in rows[::2]:
            for handle, label in zip(*row[0].get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 7), frameon=False
        )
        figure.suptitle(f"{model.name}: simulator and controller in two processes over ROS 2", fontweight="bold")
        figure.savefig(path, dpi=130)
        plt.close(figure)


def _draw_kind(axes: Axes, model: RobotModel, motion: Motion, recording, kind: str, joints: list[int]) -> None:
    """Six panels about the joints of one kind of motion, which share units."""
    (position, error, effort), (speed, force, moment) = axes
    t, reference = recording.t, motion.at(recording.t)
    dashed = {"color": "black", "lw": 0.7, "ls": (0, (4, 3))}
    length, factor = unit_of("position", kind)
    for i in joints:
        line = curve(i)
        position.plot(t, factor * recording.q[:, i], lw=1.6, label=model.joint_names[i], **line)
        position.plot(t, factor * reference[:, i], **dashed)
        error.plot(t, 1e3 * (reference[:, i] - recording.q[:, i]), lw=1.0, **line)
        effort.plot(t, recording.effort[:, i], lw=1.0, **line)
        speed.plot(t, factor * recording.v[:, i], lw=1.2, **line)
        width = 1.2 + 0.4 * (len(joints) - 1 - joints.index(i))  # two joints on one point bear one load: both are seen
        for axis, half in ((force, slice(3, 6)), (moment, slice(0, 3))):
            axis.plot(recording.wrench_t[i], np.linalg.norm(recording.wrenches[i][:, half], axis=1), lw=width, **line)
    position.plot([], [], label="reference", **dashed)
    position.plot(motion.times, factor * motion.waypoints[:, joints], "o", color="black", ms=2.5)
    for axis, title, unit in (
        (position, "Position", length),
        (error, "Tracking error", "mrad" if kind == "angle" else "mm"),
        (effort, "Effort", unit_of("effort", kind)[0]),
        (speed, "Velocity", unit_of("velocity", kind)[0]),
        (force, "Joint wrench: force", "N"),
        (moment, "Joint wrench: moment", "N m"),
    ):
        axis.set_title(title)
        axis.set_ylabel(unit)
