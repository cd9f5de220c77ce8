"""The picture of a demonstration run: positions, tracking errors, efforts, joint wrenches."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from robot_dynamics_ros.cli.plan import Motion
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["draw"]


def draw(model: RobotModel, motion: Motion, recording, path: Path) -> None:
    """Write the picture.

    Args:
        model: the robot.
        motion: the reference.
        recording: a :class:`~robot_dynamics_ros.ros.demo_client.Recording`.
        path: PNG file to write.
    """
    names = model.joint_names
    kinds = {model.joint(name).type.name == "PRISMATIC" for name in names}
    length = {frozenset({False}): "rad", frozenset({True}): "m"}.get(frozenset(kinds), "rad or m")
    effort_unit = {"rad": "N m", "m": "N"}.get(length, "N m or N")
    t = recording.t
    reference = motion.at(t)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.88, len(names)))
    with plt.rc_context(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
        }
    ):
        figure, axes = plt.subplots(2, 3, figsize=(13.5, 6.6), sharex=True, layout="constrained")
        (position, error, effort), (speed, force, moment) = axes
        for i, (name, colour) in enumerate(zip(names, colours, strict=True)):
            position.plot(t, recording.q[:, i], color=colour, lw=1.6, label=name)
            position.plot(t, reference[:, i], color="black", lw=0.7, ls=(0, (4, 3)))
            error.plot(t, 1e3 * (reference[:, i] - recording.q[:, i]), color=colour, lw=1.0)
            effort.plot(t, recording.effort[:, i], color=colour, lw=1.0)
            speed.plot(t, recording.v[:, i], color=colour, lw=1.2)
            force.plot(
                recording.wrench_t[i], np.linalg.norm(recording.wrenches[i][:, 3:], axis=1), color=colour, lw=1.2
            )
            moment.plot(
                recording.wrench_t[i], np.linalg.norm(recording.wrenches[i][:, :3], axis=1), color=colour, lw=1.2
            )
        position.plot([], [], color="black", lw=0.7, ls=(0, (4, 3)), label="reference")
        position.plot(motion.times, motion.waypoints, "o", color="black", ms=2.5)
        for axis, title, unit in (
            (position, "Position", length),
            (error, "Tracking error", f"m{length}" if length in ("rad", "m") else "10⁻³"),
            (effort, "Effort", effort_unit),
            (speed, "Velocity", f"{length}/s"),
            (force, "Joint wrench: force", "N"),
            (moment, "Joint wrench: moment", "N m"),
        ):
            axis.set_title(title)
            axis.set_ylabel(unit)
        for axis in axes[1]:
            axis.set_xlabel("time after the start of the trajectory [s]")
        figure.legend(
            *position.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=min(len(names) + 1, 7),
            frameon=False,
        )
        figure.suptitle(f"{model.name}: simulator and controller in two processes over ROS 2", fontweight="bold")
        figure.savefig(path, dpi=130)
        plt.close(figure)
