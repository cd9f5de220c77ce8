"""Pictures: wrenches over time, the parts of one joint's wrench, and paths through space coloured by speed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics_ros.figures import STYLE, XYZ, legend, pyplot, thinned, without_noise
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.recordings.compute import WrenchHistory
from robot_dynamics_ros.simulation.paths import draw_points

_AXES = "xyz"
_FORCE, _MOMENT = slice(3, 6), slice(0, 3)


def draw_wrenches(history: WrenchHistory, path: str | Path) -> None:
    """Force and moment of every joint over time, a row a joint.

    Raises:
        BackendError: matplotlib is not installed.
    """
    k = thinned(len(history.t))
    forces, moments = (without_noise(history.wrenches[k, :, half]) for half in (_FORCE, _MOMENT))
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
    plt, t = pyplot(), history.t[thinned(len(history.t))] - history.t[0]
    size = (11.0, 1.2 + height * len(rows))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(rows), 2, figsize=size, sharex=True, squeeze=False, layout="constrained", **options
        )
        if title:
            figure.suptitle(title)
        for row, (force_title, moment_title, force, moment) in zip(axes, rows, strict=True):
            for axis, words, vectors in zip(row, (force_title, moment_title), (force, moment), strict=True):
                for c in range(3):
                    axis.plot(t, vectors[:, c], lw=1.2, label=_AXES[c], **XYZ[c])
                axis.set_title(words)
        legend(figure, axes[0])
        for axis in axes[-1]:
            axis.set_xlabel("time [s]")
        figure.savefig(path, dpi=dpi)
        plt.close(figure)


def draw_parts(history: WrenchHistory, path: str | Path) -> None:
    """Each part of the balance of one joint's wrench over time, a row a part.

    Forces share one scale, and so do moments, so that parts can be compared; what is rounding beside the largest is
    drawn as zero, and parts that are zero throughout are named in the title instead of drawn.

    Raises:
        BackendError: matplotlib is not installed.
    """
    k = thinned(len(history.t))
    largest = [max(float(np.abs(p[:, half]).max()) for p in history.parts.values()) for half in (_FORCE, _MOMENT)]
    tables = {
        name: [without_noise(p[k, half], top) for half, top in zip((_FORCE, _MOMENT), largest, strict=True)]
        for name, p in history.parts.items()
    }
    drawn = {name: halves for name, halves in tables.items() if any(x.any() for x in halves)} or tables
    zero = [name for name in tables if name not in drawn]
    title = f"Wrench of {history.balanced} seen from {history.observer}: dynamic is the sum of all others"
    title += f"\n(zero throughout: {', '.join(zero)})" if zero else ""
    rows = [(f"{name}: force [N]", "moment [N m]", force, moment) for name, (force, moment) in drawn.items()]
    _draw_rows(history, rows, path, height=1.5, dpi=110, title=title, sharey="col")


def draw_paths(history: WrenchHistory, path: str | Path) -> None:
    """Paths of the centres of mass (the robot's and each link's), the joints and the tips in the two planes where they are widest, coloured by speed.

    Raises:
        BackendError: matplotlib is not installed.
    """
    pyplot().close(draw_points(history.paths, history.speeds, path))
