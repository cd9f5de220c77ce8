"""States and motions that a viewer shows, their sources, and actions on the robot that they belong
to.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics import joint_wrenches, link_poses, subtree_state
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.compute import WrenchHistory, compute
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.simulation.paths import CenterOfMassPaths, center_of_mass_paths
from robot_dynamics_ros.simulation.simulate import SimulationResult
from robot_dynamics_ros.view.arrows import (
    Arrows,
    ArrowScale,
    arrows_at_joints,
    joint_arrows,
    sensible_scale,
)

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
    """States of one robot, newest first; its name, for titles and nodes, is unique in one
    viewer.
    """

    model: RobotModel
    name: str = "robot"

    def state(self) -> Shown | None:
        """The newest state; the same object as before if nothing has changed; ``None`` if there is
        none yet.
        """
        raise NotImplementedError

    def status(self) -> str:
        """One line about where the states come from and how fresh they are."""
        return ""

    def want(self, what: str, wanted: bool) -> None:
        """Whether somebody looks at one of :data:`WANTED`."""

    def for_page(self) -> Source:
        """The source of one page: itself, unless each page has its own, as of the time of a
        motion.
        """
        return self

    def close(self) -> None:
        """Let go of what the states come from."""


@dataclass(frozen=True)
class Adjustable:
    """A number that can be changed while the robot moves, e.g.  the parameter ``gains.elbow.p``:
    what stands between the first and the last dot of its name is its group.
    """

    name: str
    label: str
    lower: float
    upper: float
    value: float
    unit: str = ""


class Controls:
    """Actions of a person on a robot that moves.  Every method returns at once with a sentence for
    the person; what cannot be done says so, nothing is raised.
    """

    # whether the time stands still, by the newest answer
    paused: bool = False

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
        """Go through configurations (nq,) one after the other, each so many seconds after the one
        before.
        """
        return _NOT_HERE

    def pull(self, link: str, wrench: Array | None) -> None:
        """Exert a wrench (6,) [moment; force] in link axes on a link until another call; ``None``:
        release.
        """

    def answer(self) -> str:
        """The newest answer to one of these requests, when it has come; the same until another
        has.
        """
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


def smooth_motion(
    start: Array, points: Sequence[tuple[Array, float]]
) -> tuple[Array, Array, Array]:
    """(k,) s since the start, (k, n) positions and (k, n) velocities for cubics through points,
    from rest to rest.

    A point is a position (n,) and the seconds since the one before.  The motion is smooth, and no
    joint goes beyond a point.

    Source: Fritsch and Carlson, SIAM J. Numerical Analysis 17 (1980), as SciPy's PchipInterpolator.
    """
    from scipy.interpolate import PchipInterpolator

    seconds = np.array([duration for _, duration in points], dtype=float)
    if not len(seconds) or not (np.isfinite(seconds) & (seconds > 0.0)).all():
        remedy = "Give one or more points, each with its duration in s."
        text = "every point needs a positive time since the one before"
        raise ArgumentError(text, where="points", got=seconds.tolist(), remedy=remedy)
    times = np.append(0.0, np.cumsum(seconds))
    rows = np.array([start, *(q for q, _ in points)], dtype=float)
    velocities = PchipInterpolator(times, rows).derivative()(times)
    velocities[-1] = 0.0
    return times[1:], rows[1:], velocities[1:]


class PoseSource(Source):
    """A robot that stands still where it is put: for sliders."""

    def __init__(
        self,
        model: RobotModel,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        external: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.model = model
        self.name = model.name
        self.set(model.initial_configuration() if q is None else q, v, a, external)

    def set(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        external: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Put it somewhere else."""
        m = self.model
        state = []
        for name, values, size in (("q", q, m.nq), ("v", v, m.nv), ("a", a, m.nv)):
            if values is None:
                row = np.zeros(size)
            else:
                row = np.array(values, dtype=float)
            if row.shape != (size,) or not np.isfinite(row).all():
                raise ArgumentError(
                    f"expected {size} finite numbers, got {values!r}", where=name, got=values
                )
            state.append(row)
        pushed = {link: real_array_or_nan(w) for link, w in (external or {}).items()}
        if any(w.shape != (6,) or not np.isfinite(w).all() for w in pushed.values()):
            raise ArgumentError(
                "expected six finite numbers for every link", where="external", got=external
            )
        q, v, a = state
        self._shown = Shown(
            time.monotonic(), q, v, a, None, joint_arrows(m, q, v, a, pushed or None), pushed
        )

    def state(self) -> Shown:
        return self._shown


@dataclass(frozen=True, eq=False)
class ShownMotion:
    """States over time.

    Attributes:
        t: (n,) s, increasing.
        q: (n, nq).
        v, a: (n, nv).
        efforts: (n, nv) N m or N, or ``None``.
        reference: (n, nq) where the robot should have been, or ``None``.
        wrenches: (n, moving joints, 6) true joint wrenches in child axes, [moment; force];
            ``None``: they are computed from the motion.
        external: link name → (n, 6) wrenches on links in link axes.
        source: what it was made from, for titles.
    """

    model: RobotModel
    t: Array
    q: Array
    v: Array
    a: Array
    efforts: Array | None = None
    reference: Array | None = None
    wrenches: Array | None = None
    external: Mapping[str, Array] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        n = len(self.t)
        m = self.model
        for name, size in (("q", m.nq), ("v", m.nv), ("a", m.nv), ("reference", m.nq)):
            table = getattr(self, name)
            if table is not None and table.shape != (n, size):
                raise ArgumentError(
                    f"expected {(n, size)}, got {table.shape}",
                    where=f"motion {name}",
                    remedy=_REMEDY,
                )
        if n == 0 or not all(np.isfinite(x).all() for x in (self.t, self.q, self.v, self.a)):
            raise ArgumentError(
                "it is empty, or not every number is finite", where="motion", remedy=_REMEDY
            )
        if (np.diff(self.t) <= 0.0).any():
            raise ArgumentError("times do not increase", where="motion t", remedy=_REMEDY)
        for link, rows in self.external.items():
            m.link_index(link)
            if np.shape(rows) != (n, 6):
                raise ArgumentError(
                    f"expected {(n, 6)}, got {np.shape(rows)}", where=f"motion external[{link!r}]"
                )

    def __len__(self) -> int:
        return len(self.t)

    @property
    def duration(self) -> float:
        """s from the first state to the last."""
        return float(self.t[-1] - self.t[0])

    @classmethod
    def of(
        cls,
        model: RobotModel,
        what: Any,
        *,
        reference: ArrayLike | None = None,
        external: Mapping[str, ArrayLike] | None = None,
    ) -> ShownMotion:
        """A motion from a run, a recording, a :class:`WrenchHistory`, a pair ``(t, q)`` of arrays
        (n,) and (n, nq), or one configuration (nq,); ``reference`` and ``external`` as the
        attributes.
        """
        if isinstance(what, ShownMotion):
            return what
        more: dict[str, Any] = {
            "reference": None if reference is None else np.asarray(reference, dtype=float),
            "external": {
                name: np.asarray(rows, dtype=float) for name, rows in (external or {}).items()
            },
        }
        if isinstance(what, SimulationResult):
            more["wrenches"] = None if model.has_mimic else what.wrenches
            return cls(model, what.t, what.q, what.v, what.a, what.tau, source="simulation", **more)
        if isinstance(what, Recording | WrenchHistory):
            if isinstance(what, Recording):
                history = compute(model, what)
            else:
                history = what
            efforts = history.efforts
            if isinstance(what, Recording) and what.effort is not None:
                efforts = what.effort[np.isin(what.rows, history.rows)]
            return cls(
                model,
                history.t,
                history.q,
                history.v,
                history.a,
                efforts,
                source="recording",
                **more,
            )
        if (
            isinstance(what, tuple | list)
            and len(what) == 2
            and np.ndim(what[0]) == 1
            and np.ndim(what[1]) == 2
        ):
            t, q = (np.asarray(x, dtype=float) for x in what)
            v = a = np.zeros((len(q), model.nv))
            if len(t) == len(q) >= 3 and model.nq == model.nv:
                v = np.gradient(q, t, axis=0, edge_order=2)
                a = np.gradient(v, t, axis=0, edge_order=2)
            return cls(model, t, q, v, a, source="positions", **more)
        try:
            q = np.asarray(what, dtype=float)
        except (TypeError, ValueError):
            q = np.empty(0)
        if q.shape != (model.nq,):
            text = (
                f"expected a configuration of {model.nq} numbers or a motion, got "
                f"{type(what).__name__}"
            )
            raise ArgumentError(text, where="what to show", got=what, remedy=_REMEDY)
        zero = np.zeros((1, model.nv))
        return cls(model, np.zeros(1), q[None], zero, zero, source="pose", **more)

    @classmethod
    def load(cls, model: RobotModel, path: str | Path) -> ShownMotion:
        """A motion from a NumPy ``.npz`` file with the arrays ``t``, ``q`` and, where known, ``v``,
        ``a``, ``tau`` and
        ``reference``: what :meth:`save` writes."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: np.asarray(file[name], dtype=float) for name in file.files}
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            remedy = "Give a file of ShownMotion.save."
            raise ArgumentError(
                f"cannot be read: {error}", where=str(path), remedy=remedy
            ) from None
        for name in ("t", "q"):
            if name not in arrays:
                raise ArgumentError(
                    f"has no array {name!r}", where=str(path), remedy="t and q are the least."
                )
        reference = arrays.get("reference")
        if "v" not in arrays or "a" not in arrays:
            return cls.of(model, (arrays["t"], arrays["q"]), reference=reference)
        t, q, v, a = (arrays[name] for name in ("t", "q", "v", "a"))
        return cls(model, t, q, v, a, arrays.get("tau"), reference, source=Path(path).name)

    def save(self, path: str | Path) -> None:
        """Write the arrays of the motion as ``.npz``."""
        arrays = {
            "t": self.t,
            "q": self.q,
            "v": self.v,
            "a": self.a,
            "tau": self.efforts,
            "reference": self.reference,
        }
        known: dict[str, Any] = {name: x for name, x in arrays.items() if x is not None}
        np.savez(path, **known)

    def index(self, t: float) -> int:
        """Row of the newest state at ``t`` seconds after the start."""
        return int(
            np.clip(
                np.searchsorted(self.t, self.t[0] + t + 1e-12, side="right") - 1, 0, len(self.t) - 1
            )
        )

    def some_rows(self, most: int) -> np.ndarray:
        """At most ``most`` rows, evenly spread, the first and the last among them."""
        return np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).round().astype(int))

    def arrows(self, k: int) -> Arrows:
        """Joint wrenches in row k: the true ones where they are known, else computed from the
        motion.
        """
        return arrows_at_joints(self.model, self.q[k], self.wrench_table(np.array([k]))[0])

    def wrench_table(self, k: np.ndarray) -> Array:
        """(n, moving joints, 6) wrenches [moment; force] in world axes in n rows k."""
        names = self.model.joint_names
        model = self.model
        if self.wrenches is None:
            external = {link: table[k] for link, table in self.external.items()} or None
            q = self.q[k]
            v = self.v[k]
            a = self.a[k]
            return np.asarray(
                joint_wrenches(
                    model, q, v, a, external=external, joints=names, expressed_in="world"
                )
            )
        links = link_tree(model)
        R = np.asarray(link_poses(model, self.q[k]))[
            :, [links.link_of[name] for name in names], :3, :3
        ]
        halves = self.wrenches[k].reshape(len(k), len(names), 2, 3)
        return np.einsum("njab,njhb->njha", R, halves).reshape(len(k), len(names), 6)

    @cached_property
    def scale(self) -> ArrowScale:
        """How long its wrenches are drawn."""
        if self.model.joint_names:
            rows = self.wrench_table(self.some_rows(60))
        else:
            rows = np.empty((0, 6))
        return sensible_scale(self.model, rows[..., 3:], rows[..., :3])

    def frames(self, rate: float, speed: float = 1.0) -> np.ndarray:
        """Rows to show at ``rate`` pictures per second."""
        count = max(int(np.ceil(self.duration * rate / speed)) + 1, 1)
        return np.array([self.index(k * speed / rate) for k in range(count)])


_REMEDY = "Give a run of simulate(), a recording, a pair (t, q), or one configuration."


def centre_paths(motion: ShownMotion, most: int = 1000) -> CenterOfMassPaths:
    """Where the centres of mass of all links, and last that of the ``"robot"``, go, and how fast,
    in at most ``most`` points.
    """
    model = motion.model
    k = motion.some_rows(most)
    paths = center_of_mass_paths(model, motion.q[k], motion.v[k])
    if not paths.links:
        return paths
    whole = subtree_state(model, motion.q[k], motion.v[k])
    return CenterOfMassPaths(
        (*paths.links, "robot"),
        np.concatenate([paths.position, whole.com[None]]),
        np.concatenate([paths.speed, np.linalg.norm(whole.com_velocity, axis=1)[None]]),
    )


class MotionSource(Source):
    """A motion, at the :attr:`time` in s after its start."""

    def __init__(self, motion: ShownMotion) -> None:
        self.motion = motion
        self.model = motion.model
        self.name = motion.model.name
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
        efforts, reference = (
            None if table is None else table[k] for table in (m.efforts, m.reference)
        )
        t = float(m.t[k] - m.t[0])
        external = {link: rows[k] for link, rows in m.external.items()}
        return Shown(t, m.q[k], m.v[k], m.a[k], efforts, m.arrows(k), external, {}, reference)

    def for_page(self) -> MotionSource:
        return MotionSource(self.motion)

    def status(self) -> str:
        return f"{self.motion.source}, {len(self.motion)} states, {self.motion.duration:.3g} s"
