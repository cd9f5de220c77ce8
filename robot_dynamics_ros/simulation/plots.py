"""Figures of a run: positions, velocities, efforts, energy, joint wrenches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import (
    FIGURE_STYLE,
    curve,
    every_nth,
    joint_kinds,
    legend,
    pyplot,
    save,
    unit_of,
    without_noise,
)
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.simulate import SimulationResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_run(
    run: SimulationResult,
    path: str | Path | None = None,
    reference: ArrayLike | None = None,
) -> Figure:
    """Draw a run: a column for each kind of joint (angles, lengths), a row for each quantity.

    Args:
        run: what :func:`~robot_dynamics_ros.simulation.simulate.simulate` returned.
        path: file to write, too; its ending chooses the format.
        reference: (N, nv) where the joints should have been: the tracking error is then drawn as
            well.

    Returns:
        the ``matplotlib`` figure.

    Raises:
        BackendError: matplotlib is not installed.
        ArgumentError: ``reference`` has the wrong shape, the robot has no joint to draw, or the
            file cannot be written.
    """
    model = run.model
    kinds = joint_kinds(model)
    if not kinds:
        remedy = "There is nothing to draw over time; view it instead."
        raise ArgumentError(
            "has no joint with one coordinate", where=f"robot {model.name!r}", remedy=remedy
        )
    if reference is None:
        rows_of_reference = None
    else:
        rows_of_reference = np.asarray(reference, dtype=float)
    if rows_of_reference is not None and rows_of_reference.shape != run.q.shape:
        raise ArgumentError(
            f"expected {run.q.shape}, got {rows_of_reference.shape}",
            where="reference",
            got=rows_of_reference.shape,
        )
    plt = pyplot()
    k = every_nth(len(run.t))
    rows = [
        "position",
        *(["error"] if rows_of_reference is not None else []),
        "velocity",
        "effort",
        "energy",
    ]
    if run.wrenches is not None:
        rows += ["force", "moment"]
    with plt.rc_context(FIGURE_STYLE):
        figure, axes = plt.subplots(
            len(rows),
            len(kinds),
            figsize=(2.2 + 5.5 * len(kinds), 0.8 + 1.6 * len(rows)),
            sharex=True,
            squeeze=False,
            layout="constrained",
        )
        for column, (kind, joints) in enumerate(kinds.items()):
            for row, quantity in enumerate(rows):
                axis = axes[row, column]
                if quantity == "energy":
                    if column:
                        axis.set_visible(False)
                    else:
                        _energy(axis, run, k)
                    continue
                _joints(axis, run, kind, joints, quantity, rows_of_reference, k)
            axes[-1, column].set_xlabel("time [s]")
        legend(figure, axes.ravel())
        return save(figure, path)


def _energy(axis: Axes, run: SimulationResult, k: slice) -> None:
    for values, name, colour, dashes in (
        (run.kinetic_energy, "kinetic", "#888888", "solid"),
        (run.potential_energy, "potential", "#888888", "dashed"),
        (run.energy, "total energy", "black", "solid"),
    ):
        axis.plot(run.t[k], values[k], color=colour, linestyle=dashes, lw=1.2, label=name)
    axis.set_title("energy [J]")


def _joints(
    axis: Axes,
    run: SimulationResult,
    kind: str,
    joints: list[int],
    quantity: str,
    reference: Array | None,
    k: slice,
) -> None:
    model = run.model
    t = run.t[k]
    unit, factor = unit_of(quantity, kind)
    curves = [
        factor * without_noise(_values(run, quantity, number, reference))[k] for number in joints
    ]
    near = 0.01 * np.ptp(curves)
    for row, (number, values) in enumerate(zip(joints, curves, strict=True)):
        style = curve(number)
        below = sum(bool(np.abs(values - other).max() < near) for other in curves[:row])
        # it lies on others, which are seen through its gaps
        if below:
            style["linestyle"] = (4 * (below - 1), (4, 4 * below))
        axis.plot(t, values, lw=1.4, label=model.joint_names[number], **style)
    title = {
        "error": "tracking error",
        "force": "force in the joint, size",
        "moment": "moment in the joint, size",
    }
    axis.set_title(f"{title.get(quantity, quantity)} [{unit}]")


def _values(
    run: SimulationResult,
    quantity: str,
    number: int,
    reference: Array | None,
) -> Array:
    """(N,) what is drawn of a joint."""
    name = run.model.joint_names[number]
    q = run.model.q_slice(name).start
    v = run.model.v_slice(name).start
    if quantity in ("force", "moment"):
        assert run.wrenches is not None
        if quantity == "force":
            half = slice(3, 6)
        else:
            half = slice(0, 3)
        return np.asarray(np.linalg.norm(run.wrenches[:, number, half], axis=1))
    if quantity == "error":
        assert reference is not None
        return reference[:, q] - run.q[:, q]
    return {"position": run.q[:, q], "velocity": run.v[:, v], "effort": run.tau[:, v]}[quantity]
