"""The picture of the comparison: errors of all robots, law by law, as cumulative shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np

__all__ = ["draw_picture"]

ERROR_BARS = {"goal": (5.0, 15.0), "way": (20.0, 60.0)}
TITLES = {"goal": "error at the goal", "way": "largest error on the way"}


def draw_picture(results: dict[str, list[dict]], path: Path) -> None:
    """Draw which share of the robots stays below which error; grey lines are the bars."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11.0, 4.2), sharey=True, layout="constrained")
    for panel, key in zip(axes, ERROR_BARS, strict=True):
        for name, found in results.items():
            errors = np.sort([min(row[key], 1e4) for row in found])
            share = 100.0 * np.arange(1, len(errors) + 1) / len(errors)
            panel.step(
                errors, share, where="post", label=name, lw=2.4 if name == "default" else 1.2
            )
        for bar in ERROR_BARS[key]:
            panel.axvline(bar, color="0.7", lw=0.8)
        panel.set(xscale="log", xlim=(0.3, 3e3), ylim=(0.0, 100.0), xlabel=f"{TITLES[key]}, mrad")
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("share of the robots, %")
    axes[1].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
