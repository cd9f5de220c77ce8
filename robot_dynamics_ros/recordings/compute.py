"""From recorded joint states to efforts and wrenches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics import (
    WRENCH_PARTS,
    Frame,
    all_joint_names,
    forward_dynamics,
    inverse_dynamics,
    joint_wrenches,
    link_poses,
    link_velocities,
    subtree_state,
    wrench_balance,
)
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.reference_frame import FrameLike, PointLike
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import settings_or_default
from robot_dynamics_ros.recordings.recording import BadRow, Recording, require_fast_enough
from robot_dynamics_ros.recordings.smoothing import (
    POLYNOMIAL_ORDER,
    VELOCITIES,
    SmoothMotion,
    segments,
    smooth_motion,
)
from robot_dynamics_ros.simulation.paths import center_of_mass_paths
from robot_dynamics_ros.simulation.simulate import SimulationResult
from robot_dynamics_ros.workers import Workers, run_tasks

ACCELERATIONS = ("differentiated", "model")
_COMPUTED_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Settings:
    """Settings of :func:`compute`.

    Attributes:
        joints: ``"all"``, or names of joints, fixed ones too; the moving ones if empty.
        expressed_in: ``"child"``, ``"parent"``, a link, ``"world"`` or a
            :class:`~robot_dynamics_ros.Frame`.
        reduced_at: the point that wrenches are about: ``"joint"``, a link's origin, ``"world"``, a
            pair (link, offset) or a frame's origin.
        window: s, length of the local polynomials; ``None``: chosen from the data.
        order: of the polynomials.
        velocity: ``"recorded"``, from ``"positions"``, or ``"auto"``: recorded where they are
            better.
        acceleration: ``"differentiated"`` velocity (or twice differentiated position), or what the
            recorded effort gives by the ``"model"``.
        friction: whether efforts hold the friction of the URDF as well, or the friction file that
            they hold.
        balance: joint whose parts of the balance of wrenches are wanted; none if empty.
        observer: from where: a link, ``"world"`` or a frame; the link before the joint if empty.
        uncertainty: whether standard errors of efforts and wrenches are wanted, from the noise of
            the positions.
    """

    joints: str | Sequence[str] = ()
    expressed_in: FrameLike = "child"
    reduced_at: PointLike = "joint"
    window: float | None = None
    order: int = POLYNOMIAL_ORDER
    velocity: str = "auto"
    acceleration: str = "differentiated"
    friction: bool | FrictionFile = False
    balance: str = ""
    observer: FrameLike = ""
    uncertainty: bool = False

    def __post_init__(self) -> None:
        for name, choices in (("velocity", VELOCITIES), ("acceleration", ACCELERATIONS)):
            check_name(name, getattr(self, name), choices)


@dataclass(frozen=True, eq=False)
class WrenchHistory:
    """Efforts and wrenches over time.

    Attributes:
        model, joints: the robot, and the joints whose wrenches these are.
        frames: frame of each joint's wrench.
        t: (n,) s.
        q, v, a: (n, nv).
        efforts: (n, nv) N m or N.
        wrenches: (n, joints, 6) [moment; force] about each joint's origin.
        parts: name → (n, 6) of one joint's balance, or empty; ``balanced``, ``observer`` say whose
            and from where.
        bad: rows left out because no derivative could be had there.
        rows: (n,) numbers of the rows in the source.
        external: link → (n, 6) recorded wrenches on links, [moment; force], link's axes and origin.
        currents: name of each joint with a motor → (n,) A, of a simulated run.
        effort_errors, wrench_errors: standard errors of ``efforts`` and ``wrenches``, of the same
            shapes, or ``None``.
        window: s, of the local polynomials.
        notes: what was done to the recording, in sentences.
    """

    model: RobotModel
    joints: tuple[str, ...]
    frames: tuple[str, ...]
    t: Array
    q: Array
    v: Array
    a: Array
    efforts: Array
    wrenches: Array
    rows: np.ndarray
    parts: Mapping[str, Array] = field(default_factory=dict)
    balanced: str = ""
    observer: str = ""
    bad: tuple[BadRow, ...] = ()
    window: float = 0.0
    notes: tuple[str, ...] = ()
    external: Mapping[str, Array] = field(default_factory=dict)
    effort_errors: Array | None = None
    wrench_errors: Array | None = None
    currents: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def _points(self) -> dict[str, Array]:
        return _in_pieces(lambda k: _points(self.model, self.q[k], self.v[k]), len(self.t))

    @property
    def paths(self) -> dict[str, Array]:
        """Name → (n, 3) positions in the world of the centre of mass, the joints, and the links at
        the tree's ends.
        """
        return {name: point[:, :3] for name, point in self._points.items()}

    @property
    def speeds(self) -> dict[str, Array]:
        """Likewise (n,) their speeds."""
        return {name: point[:, 3] for name, point in self._points.items()}


def _on_links(
    recording: Recording,
    model: RobotModel,
    t: Array,
    q: Array,
) -> dict[str, Array]:
    """Link → (n, 6) sum of the wrenches on it that were recorded."""
    on_links: dict[str, Array] = {}
    for wrench in recording.external:
        on_links[wrench.link] = on_links.get(wrench.link, 0.0) + wrench.on_link(model, t, q)
    return on_links


def _efforts_and_wrenches(
    model: RobotModel,
    joints: Sequence[str],
    s: Settings,
    q: Array,
    v: Array,
    a: Array,
    external: Mapping[str, Array] | None = None,
) -> Array:
    """(n, nv + 6 joints), side by side."""
    efforts = inverse_dynamics(model, q, v, a, external=external)
    wrenches = joint_wrenches(
        model,
        q,
        v,
        a,
        joints=joints,
        external=external,
        expressed_in=s.expressed_in,
        reduced_at=s.reduced_at,
    )
    return np.concatenate([efforts, wrenches.reshape(len(q), -1)], axis=1)


def _observer(model: RobotModel, s: Settings, every: Sequence[str]) -> FrameLike:
    """The frame that a balance is seen from; by default that of the joint's parent."""
    if s.balance:
        check_name("joint", s.balance, every, where="balance")
    if s.balance and not s.observer:
        return model.joint(s.balance).parent
    return s.observer or ""


def _split(nv: int, joints: int, x: Array) -> tuple[Array, Array]:
    """(n, nv) efforts and (n, joints, 6) wrenches that stood side by side."""
    return x[:, :nv].copy(), x[:, nv:].reshape(len(x), joints, 6)


def compute(
    model: RobotModel,
    recording: Recording,
    settings: Settings | None = None,
    progress: Callable[[float], None] | None = None,
) -> WrenchHistory:
    """Joint efforts and wrenches of a recording.

    Args:
        progress: called with the share done.

    Raises:
        UnknownNameError: a joint, link or frame that the robot does not have.
        ArgumentError: settings that ask for what was not recorded, or a recording too short for
            derivatives.
    """
    s = settings_or_default(Settings, settings, "settings")
    every = all_joint_names(model)
    joints = _joints(model, s.joints, every)
    observer = _observer(model, s, every)
    turns = [model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names]
    unwrapped = np.where(turns, np.unwrap(recording.q, axis=0), recording.q)
    require_fast_enough(recording.t)
    motion = _motion(model, recording, unwrapped, s)
    good, bad, notes = _usable(recording, motion)
    t = recording.t[good]
    q = unwrapped[good]
    v = motion.v[good]
    a = motion.a[good]
    on_links = _on_links(recording, model, t, q)

    efforts_and_wrenches = partial(_efforts_and_wrenches, model, joints, s)

    def rows(k: slice) -> dict[str, Array]:
        state = (q[k], v[k], a[k])
        external = {link: table[k] for link, table in on_links.items()} or None
        tables = {"values": efforts_and_wrenches(*state, external)}
        if s.uncertainty:
            tables["errors"] = _errors(efforts_and_wrenches, motion, *state)
        if s.balance:
            link = model.joint(s.balance).child
            about = s.reduced_at
            balance = wrench_balance(
                model, *state, link, observer=observer, external=external, reduced_at=about
            )
            tables |= {name: balance[name] for name in ("joint", *WRENCH_PARTS)}
        return tables

    split = partial(_split, model.nv, len(joints))
    parts = _in_pieces(rows, len(t), progress)
    efforts, wrenches = split(parts.pop("values"))
    effort_errors, wrench_errors = split(parts.pop("errors")) if s.uncertainty else (None, None)
    if isinstance(s.friction, FrictionFile):
        efforts += s.friction.efforts(model, q, v, a, tuple(segments(t)))
    elif s.friction:
        efforts += model.damping * v + model.friction * np.sign(v)
    else:
        recorded = None if recording.effort is None else recording.effort[good]
        notes += _friction_left_out(model, efforts, recorded)
    found = (t, q, v, a, efforts, wrenches)
    return WrenchHistory(
        model,
        joints,
        _frames(model, joints, s.expressed_in),
        *found,
        recording.rows[good],
        parts,
        s.balance,
        _frame_name(observer),
        bad,
        motion.window,
        notes,
        on_links,
        effort_errors,
        wrench_errors,
    )


def _frames(model: RobotModel, joints: Sequence[str], axes: FrameLike) -> tuple[str, ...]:
    """The frame of each joint's wrench."""
    if isinstance(axes, str):
        name = axes
    else:
        name = _frame_name(axes)
    links = [
        {"child": model.joint(joint).child, "parent": model.joint(joint).parent} for joint in joints
    ]
    return tuple(own.get(name, name) for own in links)


def _frame_name(frame: object) -> str:
    """How a frame or point is written in tables: ``"tool0"``, ``"tool0:0,0,0.1"``."""
    if isinstance(frame, Frame):
        place = ",".join(f"{x:g}" for x in np.ravel(frame.position))
        turned = not np.array_equal(frame.rotation, np.eye(3))
        if frame.plain:
            return frame.link
        return f"{frame.link}:{place}{' (turned)' if turned else ''}"
    return str(frame)


def _in_pieces(
    rows: Callable[[slice], dict[str, Array]],
    n: int,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Array]:
    """Tables of ``n`` rows, computed some thousands at a time."""
    pieces = []
    for start in range(0, n, _COMPUTED_ROWS_AT_ONCE):
        pieces.append(rows(slice(start, start + _COMPUTED_ROWS_AT_ONCE)))
        if progress is not None:
            progress(min((start + _COMPUTED_ROWS_AT_ONCE) / n, 1.0))
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _usable(
    recording: Recording, motion: SmoothMotion
) -> tuple[NDArray[np.bool_], tuple[BadRow, ...], tuple[str, ...]]:
    """(n,) which rows have derivatives and external wrenches; the others, with their reasons;
    sentences about them.
    """
    t = recording.t
    good = motion.good
    none = ~(np.isfinite(motion.v).all(axis=1) & np.isfinite(motion.a).all(axis=1))
    why = "the stretch between two gaps is too short for derivatives"
    bad = tuple(BadRow(int(n), why) for n in recording.rows[none])
    edges = int((~good & ~none).sum())
    notes = motion.notes
    if edges:
        notes += (
            f"{edges} rows at the ends and beside gaps left out: no acceleration can be computed "
            "there",
        )
    if not good.any():
        remedy = "Three rows without a gap between them are the least."
        raise ArgumentError(
            f"{len(t)} rows are too few for derivatives", where=recording.source, remedy=remedy
        )
    beside = np.ones(len(t), dtype=bool)
    for wrench in recording.external:
        beside &= wrench.there(t)
    bad += tuple(
        BadRow(int(n), "no external wrench was recorded then")
        for n in recording.rows[~beside & good]
    )
    if not (good & beside).any():
        problem = "external wrenches were recorded at other times than joint states"
        raise ArgumentError(problem, where=recording.source, remedy="Give both by the same clock.")
    return good & beside, bad, notes


def _friction_left_out(
    model: RobotModel,
    efforts: Array,
    recorded: Array | None,
) -> tuple[str, ...]:
    """A note, where the description has friction and the efforts are without."""
    rubs = (model.friction > 0.0) | (model.damping > 0.0)
    if not rubs.any():
        return ()
    note = (
        "efforts are without friction, of which the description has some: friction=True or "
        "--friction adds it"
    )
    if recorded is not None and np.isfinite(recorded[:, rubs]).any():
        ours, theirs = (np.nan_to_num(np.abs(x)).max(axis=0) * rubs for x in (efforts, recorded))
        i = int(np.argmax(theirs - ours))
        if theirs[i] > 1.05 * ours[i]:
            name = model.joint_names[i]
            unit = model.joint(name).type.units[2]
            note += (
                f"; recorded efforts of {name!r} reach {theirs[i]:.4g} {unit}, computed ones "
                f"{ours[i]:.4g} {unit}"
            )
    return (note,)


def of_run(run: SimulationResult) -> WrenchHistory:
    """A simulated run as what :func:`compute` makes of a recorded one, ready to be written and
    drawn.

    Nothing is differentiated: motion, efforts and, where ``record_wrenches`` was set, joint
    wrenches are the simulated ones.

    Args:
        run: what :func:`~robot_dynamics_ros.simulation.simulate.simulate` returned.

    Raises:
        ArgumentError: the robot has a floating joint, of which joint states cannot tell.
    """
    model = run.model
    n = len(run.t)
    if model.nq != model.nv:
        remedy = "Show it with rd.view(model, run)."
        raise ArgumentError(
            "joint states cannot tell of floating joints", where="run", remedy=remedy
        )
    joints = () if run.wrenches is None else model.joint_names
    if run.wrenches is None:
        wrenches = np.zeros((n, 0, 6))
    else:
        wrenches = run.wrenches
    frames = tuple(model.joint(name).child for name in joints)
    motion = run.t, run.q, run.v, run.a, run.tau
    return WrenchHistory(
        model, joints, frames, *motion, wrenches, np.arange(n), currents=run.currents
    )


def compute_each(
    model: RobotModel,
    recordings: Sequence[Recording],
    settings: Settings | None = None,
    workers: Workers = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[WrenchHistory]:
    """:func:`compute` for many recordings, side by side where there are workers.

    Args:
        workers: see :func:`~robot_dynamics_ros.workers.run_tasks`; results are the same wherever
            they are.
        progress: called with (recordings done, recordings).
    """
    return run_tasks(
        partial(compute, model, settings=settings), recordings, workers, progress=progress
    )


def _errors(
    results: Callable[[Array, Array, Array], Array],
    motion: SmoothMotion,
    q: Array,
    v: Array,
    a: Array,
) -> Array:
    """Standard errors of ``results``, to first order, from what noise of the recording does to
    velocities and accelerations; results are linear in accelerations.
    """
    plain = results(q, v, a)
    squares = 0.0 * results(q, v, 0.0 * a)
    for by_v, by_a in zip(np.diag(motion.v_error), np.diag(motion.a_error), strict=True):
        of_v = 0.5 * (results(q, v + by_v, 0.0 * a) - results(q, v - by_v, 0.0 * a))
        squares = squares + (results(q, v, a + by_a) - plain) ** 2 + of_v**2
    return np.sqrt(squares)


def _joints(
    model: RobotModel,
    joints: str | Sequence[str],
    every: tuple[str, ...],
) -> tuple[str, ...]:
    if joints == "all":
        return every
    names = (joints,) if isinstance(joints, str) and joints else tuple(joints) or model.joint_names
    for name in names:
        check_name("joint", name, every, where="joints")
    return names


def _motion(model: RobotModel, recording: Recording, q: Array, s: Settings) -> SmoothMotion:
    """Smooth motion of a recording; with ``s.acceleration`` of ``"model"`` its accelerations are
    those that the recorded efforts cause.
    """
    if s.acceleration == "model" and recording.effort is None:
        remedy = "Use differentiated velocities."
        raise ArgumentError("not every row holds efforts", where=recording.source, remedy=remedy)
    velocity = s.velocity
    signals = (recording.v, recording.effort)
    if s.acceleration == "model" and recording.v is not None:
        velocity = "recorded"
    motion = smooth_motion(
        model, recording.t, q, *signals, window=s.window, order=s.order, velocity=velocity
    )
    if motion.velocity == "recorded" and recording.v is not None:
        motion = dataclasses.replace(motion, v=recording.v)
    if s.acceleration == "model" and recording.effort is not None:
        friction = np.nan_to_num(model.damping * motion.v + model.friction * np.sign(motion.v))
        net = recording.effort - friction
        a = forward_dynamics(model, q, np.nan_to_num(motion.v), net)
        # NaN where the velocity is
        a = a + 0.0 * motion.v
        good = motion.good
        if motion.velocity == "recorded":
            # nothing is differentiated: rows at the ends are as good as those between
            good = np.asarray(np.isfinite(motion.v).all(axis=1))
        motion = dataclasses.replace(motion, a=a, good=good)
    return motion


def _points(model: RobotModel, q: Array, v: Array) -> dict[str, Array]:
    """(n, 4) positions and speeds of the centre of mass, of moving joints and ends of the tree
    beyond fixed ones, and of the links' centres of mass.
    """
    poses = link_poses(model, q)
    twists = link_velocities(model, q, v)
    centres = center_of_mass_paths(model, q, v)
    links = link_tree(model)
    points = dict[str, tuple[Array, Array]]()
    tracked = {name: links.link_of[name] for name in model.moving_joint_names}
    ends = (k for k in range(1, len(model.link_names)) if not links.children[k] and links.fixed[k])
    if centres.links:
        whole = subtree_state(model, q, v)
        points["centre of mass"] = whole.com, np.linalg.norm(whole.com_velocity, axis=1)
    for name, number in (tracked | {model.link_names[k]: k for k in ends}).items():
        points[name] = poses[:, number, :3, 3], np.linalg.norm(twists[:, number, 3:], axis=1)
    for link, position, speed in zip(centres.links, centres.position, centres.speed, strict=True):
        points[f"centre of mass of {link}"] = position, speed
    return {name: np.column_stack(both) for name, both in points.items()}
