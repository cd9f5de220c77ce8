"""Paths of links' centres of mass, with their speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import motion
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import FIGURE_STYLE, every_nth, pyplot, save
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
        """A figure of the paths, see :func:`draw_points`; written to ``path`` if given.

        Raises:
            BackendError: matplotlib is not installed.
            ArgumentError: the file cannot be written.
        """
        paths, speeds = (dict(zip(self.links, x, strict=True)) for x in (self.position, self.speed))
        return draw_points(paths, speeds, path)


def draw_points(
    paths: Mapping[str, Array],
    speeds: Mapping[str, Array],
    path: str | Path | None = None,
) -> Figure:
    """A figure of paths in the two planes where they are widest, coloured by speed; the robot's
    centre of mass is drawn larger.

    Args:
        paths: name → (n, 3) positions in the world, m; those of links' centres of mass are drawn
            without names.
        speeds: likewise (n,) m/s.
        path: file to write.
    """
    plt = pyplot()
    k = every_nth(len(next(iter(speeds.values()))))
    spread = np.ptp(np.concatenate([p[k] for p in paths.values()]), axis=0)
    planes = _widest_planes(spread)
    fastest = max(max(float(s[k].max()) for s in speeds.values()), 1e-12)
    with plt.rc_context(FIGURE_STYLE):
        size = (1.5 + 5.0 * len(planes), 5.4)
        figure, (axes,) = plt.subplots(
            1, len(planes), figsize=size, squeeze=False, layout="constrained"
        )
        shades = plt.cm.ScalarMappable(plt.Normalize(0.0, fastest), "viridis")
        colours = {"linewidths": 0.0, "cmap": shades.cmap, "norm": shades.norm}
        for axis, (a, b) in zip(axes, planes, strict=True):
            for name, points in paths.items():
                p = points[k]
                # area of a dot, in square points
                dot = 16.0 if name == "centre of mass" else 3.0
                axis.scatter(*p[:, [a, b]].T, c=speeds[name][k], s=dot, **colours)
                if np.ptp(p, axis=0).max() < 1e-9:
                    axis.plot(p[0, a], p[0, b], "+", color="black", ms=5)
            ends = {
                n: p[k][-1, [a, b]]
                for n, p in paths.items()
                if not n.startswith("centre of mass of ")
            }
            for names, place in near_each_other(ends, 0.1 * spread.max()):
                axis.annotate(
                    "\n".join(names), place, textcoords="offset points", xytext=(4, 3), fontsize=7
                )
            axis.set_aspect("equal", adjustable="datalim")
            axis.set_xlabel(f"{'xyz'[a]} [m]")
            axis.set_ylabel(f"{'xyz'[b]} [m]")
        axes[0].set_title("Paths in the world")
        figure.colorbar(shades, ax=axes, label="speed [m/s]", shrink=0.85)
        return save(figure, path)


def _widest_planes(spread: Array) -> list[tuple[int, int]]:
    """Pairs of axes whose plane shows most of paths with this extent (3,), the widest first: two,
    or one for what moves in a plane.
    """
    planes = [(0, 1), (0, 2), (1, 2)]
    planes.sort(key=lambda plane: -spread[plane[0]] * spread[plane[1]])
    is_plane = spread.min() <= 1e-6 * spread.max()
    return planes[:1] if is_plane else planes[:2]


def near_each_other(ends: Mapping[str, Array], distance: float) -> list[tuple[list[str], Array]]:
    """Names with the places they end at; those nearer to each other than a distance share the first
    one's.
    """
    groups: list[tuple[list[str], Array]] = []
    for name, end in ends.items():
        near = next(
            (names for names, place in groups if np.linalg.norm(place - end) < distance), None
        )
        if near is None:
            groups.append(([name], end))
        else:
            near.append(name)
    return groups


def center_of_mass_paths(
    run: SimulationResult | RobotModel,
    q: ArrayLike = (),
    v: ArrayLike = (),
    *,
    links: Sequence[str] | None = None,
) -> CenterOfMassPaths:
    """Paths of the centres of mass of links through the world.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> limb = rd.limb(2)
    >>> t = np.linspace(0, 1, 50)[:, None]
    >>> q = np.hstack([t, 2 * t])
    >>> v = np.hstack([1 + 0 * t, 2 + 0 * t])
    >>> rd.center_of_mass_paths(limb, q, v).links
    ('segment1', 'segment2')

    Args:
        run: what a simulation returned, or a robot with ``q`` (N, nq) and ``v`` (N, nv).
        links: all that have mass if not given.
    """
    if isinstance(run, RobotModel):
        model = run
        rows = as_input(q, (run.nq,), "q")
        rates = as_input(v, (run.nv,), "v")
    else:
        model = run.model
        rows = run.q
        rates = run.v
    if rows.ndim != 2 or rates.shape[:-1] != rows.shape[:-1]:
        raise ArgumentError(
            "expected one row for each instant", where="q", got=(rows.shape, rates.shape)
        )
    if links is None:
        names = [n for n in model.link_names if model.link(n).inertia.mass > 0.0]
    else:
        names = list(links)
    seen = [motion(model, rows, rates, point_on=n, offset=model.link(n).inertia.com) for n in names]
    return CenterOfMassPaths(
        tuple(names),
        np.array([s.position for s in seen]).reshape(len(names), -1, 3),
        np.array([np.linalg.norm(s.velocity, axis=-1) for s in seen]).reshape(len(names), -1),
    )
