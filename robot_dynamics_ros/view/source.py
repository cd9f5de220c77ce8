"""Sources of the states that a viewer shows, and actions on the robot that they belong to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import Arrows, joint_arrows
from robot_dynamics_ros.view.motion import ShownMotion

WANTED = ("reference", "estimated", "contacts")
"""What a source may have to ask for, and then only while somebody looks at it."""


@dataclass(frozen=True, eq=False)
class Shown:
    """One state, as a viewer shows it.

    Attributes:
        t: s; q, v, a: (nq,), (nv,), (nv,).
        efforts: (nv,) or ``None``.
        wrenches: in every joint, ready to draw; ``None`` where they are not known.
        external: wrenches on links, link name → (6,) [moment; force] in link axes.
        estimated: likewise, estimated ones.
        reference: (nq,) where the robot should be, or ``None``.
    """

    t: float
    q: Array
    v: Array
    a: Array
    efforts: Array | None = None
    wrenches: Arrows | None = None
    external: Mapping[str, Array] = field(default_factory=dict)
    estimated: Mapping[str, Array] = field(default_factory=dict)
    reference: Array | None = None


class Source:
    """States of one robot, newest first; its name, for titles and nodes, is unique in one viewer."""

    model: RobotModel
    name: str = "robot"

    def state(self) -> Shown | None:
        """The newest state; the same object as before if nothing has changed; ``None`` if there is none yet."""
        raise NotImplementedError

    def status(self) -> str:
        """One line about where the states come from and how fresh they are."""
        return ""

    def want(self, what: str, wanted: bool) -> None:
        """Whether somebody looks at one of :data:`WANTED`."""

    def for_page(self) -> Source:
        """The source of one page: itself, unless each page has its own, as of the time of a motion."""
        return self

    def close(self) -> None:
        """Let go of what the states come from."""


@dataclass(frozen=True)
class Adjustable:
    """A number that can be changed while the robot moves, e.g.  the parameter ``gains.elbow.p``: what stands between
    the first and the last dot of its name is its group."""

    name: str
    label: str
    lower: float
    upper: float
    value: float
    unit: str = ""


class Controls:
    """Actions of a person on a robot that moves.  Every method returns at once with a sentence for the person; what
    cannot be done says so, nothing is raised."""

    paused: bool = False  # whether the time stands still, by the newest answer

    def hold(self) -> str:
        """Stop and stay."""
        return _NOT_HERE

    def reset(self) -> str:
        """Back to the start."""
        return _NOT_HERE

    def pause(self, paused: bool) -> str:
        """Stop the time, or let it go on."""
        return _NOT_HERE

    def step(self) -> str:
        """One step while paused."""
        return _NOT_HERE

    def move_along(self, points: Sequence[tuple[Array, float]]) -> str:
        """Go through configurations (nq,) one after the other, each so many seconds after the one before."""
        return _NOT_HERE

    def pull(self, link: str, wrench: Array | None) -> None:
        """Exert a wrench (6,) [moment; force] in link axes on a link until another call; ``None``: release."""

    def answer(self) -> str:
        """The newest answer to one of these requests, when it has come; the same until another has."""
        return ""

    def carry(self, link: str) -> str:
        """Choose the link that a payload is going to be on."""
        return _NOT_HERE

    def adjustables(self) -> Sequence[Adjustable]:
        """Gains, payload and the like; empty while they are not known."""
        return ()

    def adjust(self, name: str, value: float) -> str:
        """Change one of :meth:`adjustables`."""
        return _NOT_HERE


_NOT_HERE = "this robot cannot do that"


def smooth_motion(start: Array, points: Sequence[tuple[Array, float]]) -> tuple[Array, Array, Array]:
    """(k,) s since the start, (k, n) positions and (k, n) velocities for cubics through points, from rest to rest.

    A point is a position (n,) and the seconds since the one before.  The motion is smooth, and no joint goes beyond a
    point.

    Source: Fritsch and Carlson, SIAM J. Numerical Analysis 17 (1980), as SciPy's PchipInterpolator.
    """
    from scipy.interpolate import PchipInterpolator

    seconds = np.array([duration for _, duration in points], dtype=float)
    if not len(seconds) or not (np.isfinite(seconds) & (seconds > 0.0)).all():
        remedy = "Give one or more points, each with its duration in s."
        text = "every point needs a positive time since the one before"
        raise ArgumentError(text, where="points", got=seconds.tolist(), remedy=remedy)
    times, rows = np.append(0.0, np.cumsum(seconds)), np.array([start, *(q for q, _ in points)], dtype=float)
    velocities = PchipInterpolator(times, rows).derivative()(times)
    velocities[-1] = 0.0
    return times[1:], rows[1:], velocities[1:]


class PoseSource(Source):
    """A robot that stands still where it is put: for sliders."""

    def __init__(
        self, model: RobotModel, q: Any = None, v: Any = None, a: Any = None, external: Mapping[str, Any] | None = None
    ) -> None:
        self.model, self.name = model, model.name
        self.set(model.initial_configuration() if q is None else q, v, a, external)

    def set(self, q: Any, v: Any = None, a: Any = None, external: Mapping[str, Any] | None = None) -> None:
        """Put it somewhere else."""
        m, state = self.model, []
        for name, values, size in (("q", q, m.nq), ("v", v, m.nv), ("a", a, m.nv)):
            row = np.zeros(size) if values is None else np.array(values, dtype=float)
            if row.shape != (size,) or not np.isfinite(row).all():
                raise ArgumentError(f"expected {size} finite numbers, got {values!r}", where=name, got=values)
            state.append(row)
        pushed = {link: np.asarray(w, dtype=float) for link, w in (external or {}).items()}
        if any(w.shape != (6,) or not np.isfinite(w).all() for w in pushed.values()):
            raise ArgumentError("expected six finite numbers for every link", where="external", got=external)
        q, v, a = state
        self._shown = Shown(time.monotonic(), q, v, a, None, joint_arrows(m, q, v, a, pushed or None), pushed)

    def state(self) -> Shown:
        return self._shown


class MotionSource(Source):
    """A motion, at the :attr:`time` in s after its start."""

    def __init__(self, motion: ShownMotion) -> None:
        self.motion, self.model, self.name = motion, motion.model, motion.model.name
        self.time = 0.0
        self._row = -1
        self._shown: Shown | None = None

    def state(self) -> Shown | None:
        k = self.motion.index(self.time)
        if k != self._row:
            self._row, self._shown = k, self.row(k)
        return self._shown

    def row(self, k: int) -> Shown:
        """The state of row k of the motion."""
        m = self.motion
        efforts, reference = (None if table is None else table[k] for table in (m.efforts, m.reference))
        t = float(m.t[k] - m.t[0])
        external = {link: rows[k] for link, rows in m.external.items()}
        return Shown(t, m.q[k], m.v[k], m.a[k], efforts, m.arrows(k), external, {}, reference)

    def for_page(self) -> MotionSource:
        return MotionSource(self.motion)

    def status(self) -> str:
        return f"{self.motion.source}, {len(self.motion)} states, {self.motion.duration:.3g} s"
