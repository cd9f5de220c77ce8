"""Figures of an identification: what it explains, and how sure it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.figures import SERIES, STYLE, joint_kinds, legend, pyplot, save, unit_of

if TYPE_CHECKING:
    from robot_dynamics_ros.identification.identify import Identification

__all__ = ["plot_identification"]

_MOST_ROWS = 40


def plot_identification(found: Identification, path: str | Path | None = None) -> Any:
    """Draw what was identified: for each joint the root mean square of the efforts and of what the prior and the
    identified robot leave unexplained; for each base parameter its value with the confidence interval.

    Args:
        path: file to write, too; its ending chooses the format.

    Returns:
        the ``matplotlib`` figure.

    Raises:
        BackendError: matplotlib is not installed.
        ArgumentError: the file cannot be written.
    """
    plt = pyplot()
    model = found.prior
    kinds = joint_kinds(model)
    base = found.base
    shown = np.argsort(-np.abs(base.values))[:_MOST_ROWS]
    shown = shown[np.isfinite(base.half_width[shown])]
    tall = max(2.0 + 0.33 * max(model.nv, 3), 1.0 + 0.19 * len(shown))
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(13.0, tall), layout="constrained")
        grid = figure.add_gridspec(len(kinds), 2, width_ratios=(1.0, 1.1))
        axes = []
        for row, (kind, joints) in enumerate(kinds.items()):
            axis = figure.add_subplot(grid[row, 0])
            _bars(axis, found, joints, unit_of("effort", kind)[0])
            axes.append(axis)
        axis = figure.add_subplot(grid[:, 1])
        _parameters(axis, found, shown)
        axes.append(axis)
        legend(figure, axes)
        return save(figure, path)


def _bars(axis: Any, found: Identification, joints: list[int], unit: str) -> None:
    names = [found.prior.joint_names[j] for j in joints]
    columns = [found.prior.v_slice(name).start for name in names]
    for k, (values, label) in enumerate(
        ((found.effort_rms, "recorded effort"), (found.prior_rms, "prior leaves"), (found.rms, "identified leaves"))
    ):
        axis.barh(np.arange(len(names)) + 0.27 * (k - 1), values[columns], 0.25, color=SERIES[k], label=label)
    axis.set_yticks(np.arange(len(names)), names)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_title(f"effort, root mean square [{unit}]")


def _parameters(axis: Any, found: Identification, shown: Any) -> None:
    base = found.base
    y = np.arange(len(shown))
    axis.axvline(0.0, color="#bbbbbb", lw=0.8)
    axis.errorbar(
        base.values[shown], y, xerr=base.half_width[shown], fmt="o", ms=3, lw=1.2, color=SERIES[0],
        label=f"base parameter, {100 * base.confidence:g} % interval",
    )  # fmt: skip
    axis.set_yticks(y, [_short(base.names[k]) for k in shown], fontsize=7)
    axis.invert_yaxis()
    largest = float(np.abs(base.values[shown]).max(initial=1e-6))
    axis.set_xscale("symlog", linthresh=10.0 ** np.floor(np.log10(0.02 * largest)))
    axis.margins(x=0.06)
    left = f", the {len(shown)} largest of {len(base.values)}" if len(shown) < len(base.values) else ""
    axis.set_title(f"base parameters [kg, kg m, kg m² and of friction]{left}")


def _short(name: str) -> str:
    return name if len(name) <= 48 else name[:47] + "…"
