"""Figures of an identification: explained efforts, and confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.figures import SERIES, STYLE, joint_kinds, legend, pyplot, save, thinned, unit_of
from robot_dynamics_ros.identification.comparison import Comparison
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.model.description import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_MOST_ROWS = 40
_MOST_POINTS = 4000
_BEFORE, _AFTER = SERIES[1], SERIES[0]


def plot_identification(result: Identification, path: str | Path | None = None) -> Figure:
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
    model, base = result.prior, result.base
    kinds = joint_kinds(model)
    shown = np.argsort(-np.abs(base.values))[:_MOST_ROWS]
    shown = shown[np.isfinite(base.half_width[shown])]
    tall = max(2.0 + 0.33 * max(model.nv, 3), 1.0 + 0.19 * len(shown))
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(13.0, tall), layout="constrained")
        grid = figure.add_gridspec(len(kinds), 2, width_ratios=(1.0, 1.1))
        axes = [figure.add_subplot(grid[row, 0]) for row in range(len(kinds))]
        for axis, (kind, joints) in zip(axes, kinds.items(), strict=True):
            _bars(axis, result, joints, unit_of("effort", kind)[0])
        axes.append(figure.add_subplot(grid[:, 1]))
        _parameters(axes[-1], result, shown)
        legend(figure, axes, below=True)  # long titles would run into it beside them
        return save(figure, path)


def plot_joint(result: Identification, comparison: Comparison, joint: str, path: str | Path | None = None) -> Figure:
    """Draw one joint of a recording: measured and predicted efforts, their difference and its spectrum, the motion, and
    friction, all before and after the identification.

    Args:
        joint: its name.
        comparison: see :func:`~robot_dynamics_ros.identification.comparison.compare`.
        path: file to write, too; its ending chooses the format.

    Returns:
        the ``matplotlib`` figure.

    Raises:
        UnknownNameError: the robot has no such joint.
        BackendError: matplotlib is not installed.
        ArgumentError: the file cannot be written.
    """
    plt = pyplot()
    model = result.prior
    if joint not in model.joint_names:
        raise UnknownNameError("joint", joint, model.joint_names)
    j, c = model.joint_names.index(joint), comparison
    kind = next(kind for kind, joints in joint_kinds(model).items() if j in joints)
    unit = unit_of("effort", kind)[0]
    left = (c.measured - c.prior, _BEFORE, "before"), (c.measured - c.identified, _AFTER, "identified")
    measured = c.measured, "#999999", "measured"
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(13.0, 7.6))
        grid = figure.add_gridspec(3, 3, left=0.05, right=0.9, top=0.96, bottom=0.07, hspace=0.35, wspace=0.22)
        over, residual = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
        residual.sharex(over)
        spectrum, seen, friction = (figure.add_subplot(grid[2, k]) for k in range(3))
        _over_time(over, c, j, (measured, (c.prior, _BEFORE, "before"), (c.identified, _AFTER, "identified")))
        over.set_title(f"effort, measured and predicted [{unit}]")
        _over_time(residual, c, j, left)
        residual.set_title(f"residual: measured less predicted effort [{unit}]")
        residual.set_xlabel("time [s]")
        _spectrum(spectrum, c, j, (measured, *left))
        spectrum.set_title(f"its spectrum [{unit}/√Hz]")
        _excitation(seen, result, c, j, kind)
        _friction(friction, c, j, kind)
        over.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return save(figure, path)


_Curves: TypeAlias = "Iterable[tuple[Array, str, str]]"
"""(n, nv) values, a colour and a name."""


def _over_time(axis: Axes, c: Comparison, j: int, curves: _Curves) -> None:
    for part in c.parts:
        k = slice(part.start, part.stop, max(1, len(c.t) // _MOST_POINTS))
        for values, colour, label in curves:
            axis.plot(c.t[k], values[k, j], color=colour, lw=0.9, label=label if part is c.parts[0] else None)


def _spectrum(axis: Axes, c: Comparison, j: int, curves: _Curves) -> None:
    from scipy.signal import welch

    part = max(c.parts, key=lambda p: p.stop - p.start)
    t = c.t[part]
    step = float(np.median(np.diff(t)))
    grid = np.arange(t[0], t[-1], step)
    for values, colour, _ in curves:
        x = np.interp(grid, t, values[part, j])
        frequency, power = welch(x, 1.0 / step, nperseg=min(len(x), max(64, round(2.0 / step))))
        axis.loglog(frequency[1:], np.sqrt(power[1:]) + 1e-300, color=colour, lw=1.0)
    axis.set_xlabel("frequency [Hz]")


def _excitation(axis: Axes, result: Identification, c: Comparison, j: int, kind: str) -> None:
    k = thinned(len(c.t))
    (unit, factor), (rate, _) = unit_of("position", kind), unit_of("velocity", kind)
    axis.plot(factor * c.q[k, j], factor * c.v[k, j], ".", ms=1.5, color=SERIES[2], alpha=0.6)
    for limit in (result.prior.lower[j], result.prior.upper[j]):
        if np.isfinite(limit):
            axis.axvline(factor * limit, color="#bbbbbb", lw=0.8)
    for sign in (-1.0, 1.0):
        if 0.0 < result.prior.velocity_limit[j] < np.inf:
            axis.axhline(sign * factor * result.prior.velocity_limit[j], color="#bbbbbb", lw=0.8)
    axis.set_title(f"motion: speed [{rate}] over position")
    axis.set_xlabel(f"position [{unit}]")


def _friction(axis: Axes, c: Comparison, j: int, kind: str) -> None:
    k = thinned(len(c.t))
    rate, factor = unit_of("velocity", kind)
    axis.plot(factor * c.v[k, j], (c.measured - c.rigid)[k, j], ".", ms=1.5, color="#999999", alpha=0.6)
    axis.plot(factor * c.v[k, j], (c.identified - c.rigid)[k, j], ".", ms=1.5, color=_AFTER, alpha=0.6)
    axis.set_title(f"friction and offset [{unit_of('effort', kind)[0]}] over speed")
    axis.set_xlabel(f"speed [{rate}]")


def _bars(axis: Axes, result: Identification, joints: list[int], unit: str) -> None:
    names = [result.prior.joint_names[j] for j in joints]
    columns = [result.prior.v_slice(name).start for name in names]
    for k, (values, label) in enumerate(
        ((result.effort_rms, "recorded effort"), (result.prior_rms, "prior leaves"), (result.rms, "identified leaves"))
    ):
        axis.barh(np.arange(len(names)) + 0.27 * (k - 1), values[columns], 0.25, color=SERIES[k], label=label)
    axis.set_yticks(np.arange(len(names)), names)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_title(f"effort, root mean square [{unit}]")


def _parameters(axis: Axes, result: Identification, shown: NDArray[np.intp]) -> None:
    base = result.base
    y = np.arange(len(shown))
    axis.axvline(0.0, color="#bbbbbb", lw=0.8)
    axis.errorbar(
        base.values[shown], y, xerr=base.half_width[shown], fmt="o", ms=3, lw=1.2, color=SERIES[0],
        label=f"base parameter, {100 * base.confidence:g} % interval",
    )  # fmt: skip
    names = [base.names[k] for k in shown]
    axis.set_yticks(y, [name if len(name) <= 48 else name[:47] + "…" for name in names], fontsize=7)
    axis.invert_yaxis()
    largest = float(np.abs(base.values[shown]).max(initial=1e-6))
    axis.set_xscale("symlog", linthresh=10.0 ** np.floor(np.log10(0.02 * largest)))
    axis.margins(x=0.06)
    low = f", the {len(shown)} largest of {len(base.values)}" if len(shown) < len(base.values) else ""
    axis.set_title(f"base parameters [kg, kg m, kg m² and of friction]{low}")
