"""Paths of the segments' centres of mass, with their speeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import motion
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import STYLE, pyplot, save
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.simulate import SimulationResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class CenterOfMassPaths:
    """Paths of the links' centres of mass in the world.

    Attributes:
        links: names.
        position: (links, N, 3), m; speed: (links, N), m/s.
    """

    links: tuple[str, ...]
    position: Array
    speed: Array

    def plot(self, path: str | Path | None = None) -> Figure:
        """A figure of the paths, coloured by speed, in the plane in which they move most; written to ``path`` if given.

        Raises:
            BackendError: matplotlib is not installed.
            ArgumentError: the file cannot be written.
        """
        plt = pyplot()
        from matplotlib.collections import LineCollection

        spread = np.ptp(self.position.reshape(-1, 3), axis=0)
        i, j = sorted(np.argsort(spread)[1:])
        with plt.rc_context(STYLE):
            figure, axis = plt.subplots(figsize=(6.5, 6.0), layout="constrained")
            drawn = None
            low, high = float(self.speed.min(initial=0.0)), float(self.speed.max(initial=0.0))
            for name, p, speed in zip(self.links, self.position, self.speed, strict=True):
                points = p[:, [i, j]]
                lines = LineCollection(np.stack([points[:-1], points[1:]], axis=1).tolist(), cmap="viridis", lw=2.0)
                lines.set_array((speed[:-1] + speed[1:]) / 2)
                lines.set_clim(low, high or 1.0)
                drawn = axis.add_collection(lines)
                axis.annotate(name, points[-1], fontsize=8)
            axis.set_aspect("equal", adjustable="datalim")
            axis.autoscale_view()
            axis.set_xlabel(f"{'xyz'[i]} [m]")
            axis.set_ylabel(f"{'xyz'[j]} [m]")
            if drawn is not None:
                figure.colorbar(drawn, label="speed [m/s]", shrink=0.8)
        return save(figure, path)


def center_of_mass_paths(
    run: SimulationResult | RobotModel, q: ArrayLike = (), v: ArrayLike = (), *, links: Sequence[str] | None = None
) -> CenterOfMassPaths:
    """Paths of the centres of mass of links through the world.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> limb = rd.limb(2)
    >>> t = np.linspace(0, 1, 50)[:, None]
    >>> rd.center_of_mass_paths(limb, np.hstack([t, 2 * t]), np.hstack([1 + 0 * t, 2 + 0 * t])).links
    ('segment1', 'segment2')

    Args:
        run: what a simulation returned, or a robot with ``q`` (N, nq) and ``v`` (N, nv).
        links: all that have mass if not given.
    """
    if isinstance(run, RobotModel):
        model, rows, rates = run, as_input(q, (run.nq,), "q"), as_input(v, (run.nv,), "v")
    else:
        model, rows, rates = run.model, run.q, run.v
    if rows.ndim != 2 or rates.shape[:-1] != rows.shape[:-1]:
        raise ArgumentError("expected one row for each instant", where="q", got=(rows.shape, rates.shape))
    names = [n for n in model.link_names if model.link(n).inertia.mass > 0.0] if links is None else list(links)
    seen = [motion(model, rows, rates, point_on=n, offset=model.link(n).inertia.com) for n in names]
    return CenterOfMassPaths(
        tuple(names),
        np.array([s.position for s in seen]).reshape(len(names), -1, 3),
        np.array([np.linalg.norm(s.velocity, axis=-1) for s in seen]).reshape(len(names), -1),
    )
