"""Recorded joint states, row by row, with what is wrong with some of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import gravity_forces, link_poses
from robot_dynamics_ros.dynamics.reference_frame import FrameLike, frame_of
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.checks import LARGEST_NUMBER
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import MeasuredEffort, motor_effort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect
from robot_dynamics_ros.recordings.damage import frozen_positions, held, jumps, spikes
from robot_dynamics_ros.recordings.times import REPAIRS, frozen_rows, repair_times
from robot_dynamics_ros.simulation.model_error import robot_model_error

# what to do with rows that cannot be used
UNUSABLE_ROWS = ("skip", "refuse")
# s between rows: with more, the motion of an arm is not known from its positions.
SLOWEST_STEP_S = 0.5
# A longer step, in an unknown unit, may be slow seconds or quick milliseconds.
_DOUBTFUL_STEP = 0.1
# Units of the times of a table; "auto": known by the step between them, see :func:`in_seconds`.
TIME_UNITS = ("auto", "s", "ms", "us", "ns")
_TIME_UNITS = {
    "s": (1.0, ""),
    "ms": (1e-3, "milliseconds"),
    "us": (1e-6, "microseconds"),
    "ns": (1e-9, "nanoseconds"),
}
# Usual steps of an external wrench: nothing is interpolated across longer gaps.
_LONGEST_WRENCH_GAP_STEPS = 5.0
# Velocities or efforts count as recorded if this share of the rows has them.
_RECORDED_ROWS_SHARE = 0.5
# No time is larger, in any unit: nanoseconds since 1970 are 2e18.
_LATEST_STAMP = 1e20
# s: no step between two rows is shorter.
_SHORTEST_STEP_S = 1e-9
# From so many rows on the step tells the unit of the times.
_FEWEST_ROWS_OF_A_UNIT = 20
# s that are left out before and after a jump: longer polynomials do not reach across.
_BESIDE_A_JUMP_S = 0.15
# rad by which a jump of a wrapped angle may differ from full turns.
_WRAPPED = 0.3
# Where times go back by more than this share of the time so far, another recording begins.
_FAR_BACK = 0.1


_Row: TypeAlias = list[float]


class BadRow(NamedTuple):
    """A row that cannot be used: its number in the source, counted from 1, and why."""

    number: int
    why: str


@dataclass(frozen=True, eq=False)
class ExternalWrench:
    """A wrench that the surroundings exert on a link, over time.

    Attributes:
        link: the link it acts on.
        t: (m,) increasing times, s, by the clock of the joint states.
        wrench: (m, 6) [moment; force], N m and N, about the origin and in the axes of ``frame``.
        frame: a link, ``"world"``, or a :class:`~robot_dynamics_ros.Frame` placed on either (a
            force plate's corner, a sensor's flange); the link itself if not given.
    """

    link: str
    t: Array
    wrench: Array
    frame: FrameLike = None

    def __post_init__(self) -> None:
        t = np.asarray(self.t, dtype=np.float64)
        wrench = np.asarray(self.wrench, dtype=np.float64)
        if t.ndim != 1 or wrench.shape != (len(t), 6) or not len(t):
            raise ArgumentError(
                "expected (m,) times and (m, 6) wrenches",
                where=self.link,
                got=(t.shape, wrench.shape),
            )
        if (
            not (np.diff(t) > 0.0).all()
            or not np.isfinite(t).all()
            or not np.isfinite(wrench).all()
        ):
            where = f"external wrench on {self.link!r}"
            raise ArgumentError("expected increasing times and finite numbers", where=where)
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "wrench", wrench)

    def there(self, t: Array) -> np.ndarray:
        """(n,) bool: whether it was recorded at these times, or so near before and after that it
        can be interpolated.
        """
        if len(self.t) == 1:
            return np.asarray(t == self.t[0])
        longest = _LONGEST_WRENCH_GAP_STEPS * float(np.median(np.diff(self.t)))
        after = np.clip(np.searchsorted(self.t, t), 1, len(self.t) - 1)
        near = self.t[after] - self.t[after - 1] <= longest
        return (
            (t >= self.t[0])
            & (t <= self.t[-1])
            & (near | (t == self.t[after]) | (t == self.t[after - 1]))
        )

    def on_link(self, model: RobotModel, t: Array, q: Array) -> Array:
        """(n, 6) [moment; force] about the link's origin in the link's axes, as ``external`` of the
        dynamics takes it; interpolated linearly.

        Args:
            t: (n,) s.  q: (n, nq).

        Raises:
            UnknownNameError: the robot has no such link or frame.
        """
        number = model.link_index(self.link)
        rows = np.column_stack([np.interp(t, self.t, column) for column in self.wrench.T])
        if self.frame is None or self.frame == self.link:
            return rows
        base, own = frame_of(model, self.frame, "frame")
        poses = link_poses(model, q)
        if base >= 0:
            R = poses[:, base, :3, :3]
            p = poses[:, base, :3, 3]
        else:
            R = np.broadcast_to(np.eye(3), (len(t), 3, 3))
            p = np.zeros((len(t), 3))
        if own is not None:
            p = p + (R @ own.position[..., None])[..., 0]
            R = R @ own.rotation
        moment, force = (np.einsum("nij,nj->ni", R, rows[:, k : k + 3]) for k in (0, 3))
        moment = moment + np.cross(p - poses[:, number, :3, 3], force)
        return np.concatenate(
            [np.einsum("nji,nj->ni", poses[:, number, :3, :3], x) for x in (moment, force)], axis=1
        )


@dataclass(frozen=True, eq=False)
class Recording:
    """Joint states over time, in the order of ``joint_names``.

    Attributes:
        source: where it comes from, for messages.
        joint_names: joints.
        t: (n,) strictly increasing times, s, the first as recorded.
        q: (n, nq) positions.
        v: (n, nv) velocities, or ``None`` where they were not recorded.
        effort: (n, nv) efforts, or ``None``.
        rows: (n,) numbers of the rows in the source.
        bad: rows left out.
        other: rows about other robots' joints, which are no mistakes.
        notes: what was done to the recording, in sentences.
        external: wrenches on links that were recorded beside it.
    """

    source: str
    joint_names: tuple[str, ...]
    t: Array
    q: Array
    v: Array | None
    effort: Array | None
    rows: np.ndarray
    bad: tuple[BadRow, ...] = ()
    other: int = 0
    notes: tuple[str, ...] = ()
    external: tuple[ExternalWrench, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    @classmethod
    def of(
        cls,
        model: RobotModel,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        *,
        source: str = "arrays",
    ) -> Recording:
        """A recording from arrays, its times and repeated rows repaired as those of a file; see
        :meth:`repaired`.

        Args:
            t: (n,) times, s, that do not decrease.  q: (n, nq).  v, effort: (n, nv), or ``None``.

        Raises:
            ArgumentError: wrong shapes, numbers that are not finite, or times that decrease.
        """
        t = np.asarray(t, dtype=np.float64)
        q = np.asarray(q, dtype=np.float64)
        velocities, efforts = (
            None if x is None else np.asarray(x, dtype=np.float64) for x in (v, effort)
        )
        shape = len(t), model.nv
        for name, table in (("q", q), ("v", velocities), ("effort", efforts)):
            if table is not None and (table.shape != shape or not np.isfinite(table).all()):
                raise ArgumentError(
                    f"expected finite numbers of shape {shape}, got {table.shape}", where=name
                )
        if t.ndim != 1 or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
            raise ArgumentError("expected times that do not decrease", where="t")
        return cls(
            source, model.joint_names, t, q, velocities, efforts, np.arange(1, len(t) + 1)
        ).repaired()

    def repaired(self) -> Recording:
        """The same without spikes, without rows in which a position is frozen or that were written
        twice, with values between those of a channel that is slower than the rows, in parts where
        positions jump, and with steady times where those tell better when a row was sampled;
        ``notes`` say what was done.  Rows whose times still do not increase are bad.
        """
        recorded, notes = self._in_one_turn()._with_smooth_channels()
        frozen = frozen_positions(recorded.t, recorded.q)
        keep = np.asarray(~frozen.any(axis=1))
        notes += [
            f"the position of joint {name} is frozen for {share:.0%} of the rows while the joint "
            "moves: these are left out; "
            "check its encoder, or the logger"
            for name, share in zip(self.joint_names, frozen.mean(axis=0), strict=True)
            if share > 0.0
        ]
        rows = np.flatnonzero(keep)
        jump = jumps(recorded.t[rows], recorded.q[rows])
        for k in np.flatnonzero(jump.any(axis=1)):
            notes.append(
                f"the positions of {self._names(jump[k])} jump at {recorded.t[rows[k]]:.3f} s: "
                f"two recordings in one? Rows {_BESIDE_A_JUMP_S:g} s "
                "before and after are left out"
            )
            keep &= np.abs(recorded.t - recorded.t[rows[k]]) > _BESIDE_A_JUMP_S
        return recorded._steady(keep, notes)

    def _names(self, some: ArrayLike) -> str:
        return ", ".join(
            name for name, one in zip(self.joint_names, np.asarray(some), strict=True) if one
        )

    def _in_one_turn(self) -> Recording:
        """Angles that jump by full turns without these."""
        moved = np.diff(self.q, axis=0)
        turns = np.round(moved / (2.0 * np.pi)) * jumps(self.t, self.q)
        turns = np.where(np.abs(moved - 2.0 * np.pi * turns) < _WRAPPED, turns, 0.0)
        if not turns.any():
            return self
        q = self.q.copy()
        q[1:] -= 2.0 * np.pi * np.cumsum(turns, axis=0)
        note = (
            f"full turns by which the positions of {self._names(turns.any(axis=0))} jumped are "
            "removed"
        )
        return dataclasses.replace(self, q=q, notes=(*self.notes, note))

    def _with_smooth_channels(self) -> tuple[Recording, list[str]]:
        """Spikes, and values that are held, replaced by what is between the values before and after
        them.
        """
        notes = list(self.notes)
        changes = {}
        for word, field_name in (("positions", "q"), ("velocities", "v"), ("efforts", "effort")):
            x = getattr(self, field_name)
            if x is None:
                continue
            spike = spikes(self.t, x, noisy=field_name != "q")
            slow = held(self.t, x)
            rows = np.arange(len(x))
            filled = x.copy()
            for j, name in enumerate(self.joint_names):
                bad = spike[:, j] | slow[:, j]
                filled[bad, j] = np.interp(rows[bad], rows[~bad], x[~bad, j])
                if spike[:, j].any():
                    notes.append(
                        f"{int(spike[:, j].sum())} spikes in the {word} of joint {name} removed"
                    )
            if slow.any():
                slower = self._names(slow.any(axis=0))
                notes.append(
                    f"the {word} of {slower} come at a lower rate: interpolated in the other rows"
                )
            if (spike | slow).any():
                changes[field_name] = filled
        return dataclasses.replace(self, **changes), notes

    def _steady(self, keep: np.ndarray, notes: list[str]) -> Recording:
        """The rows to ``keep``, without repeated ones, at steady times where these are better."""
        twice = keep & frozen_rows(self.t, self.q)
        twice[1:] |= (np.diff(self.t) <= 0.0) & (np.diff(self.q, axis=0) == 0.0).all(axis=1)
        if twice.any():
            keep &= ~twice
            notes.append(f"{int(twice.sum())} rows that repeat the one before them left out")
        repaired = repair_times(self.t[keep], self.q[keep])
        if repaired.steady:
            lost = f", {repaired.lost} samples were not recorded" if repaired.lost else ""
            notes.append(
                f"stamps jittered by {1e3 * repaired.jitter:.2g} ms (root mean square) and were "
                "replaced by steady times, "
                f"{1e3 * repaired.step:.4g} ms apart{lost}: positions are "
                f"{repaired.smoother:.3g} times smoother on these"
            )
        t = self.t.copy()
        t[keep] = repaired.t
        last = np.maximum.accumulate(np.concatenate([[-math.inf], repaired.t]))[:-1]
        early = last >= repaired.t
        numbers = self.rows[keep][early].tolist()
        bad = [
            BadRow(n, _not_after(*times))
            for n, *times in zip(numbers, repaired.t[early], last[early], strict=True)
        ]
        keep[np.flatnonzero(keep)[early]] = False
        bad = sorted([*self.bad, *bad], key=lambda row: row.number)
        v, effort = (None if x is None else x[keep] for x in (self.v, self.effort))
        kept = dataclasses.replace(
            self, t=t[keep], q=self.q[keep], v=v, effort=effort, rows=self.rows[keep]
        )
        return dataclasses.replace(kept, bad=tuple(bad), notes=tuple(notes))


def _not_after(t: float, last: float) -> str:
    return f"the time {t:.9f} s does not come after {last:.9f} s"


@dataclass
class RowCollector:
    """Takes rows one after the other and keeps the good ones; joint states hold one number a joint.

    Args:
        on_bad: ``"skip"`` bad rows and remember them, or ``"refuse"`` the recording at the first.
        time_unit: of the times, out of :data:`TIME_UNITS`; see :func:`in_seconds`.
        times: ``"repair"`` times that jitter and rows written twice, see
            :meth:`Recording.repaired`, or ``"keep"`` them.
    """

    model: RobotModel
    source: str
    on_bad: str = "skip"
    time_unit: str = "s"
    times: str = "repair"
    bad: list[BadRow] = field(default_factory=list)
    other: int = 0
    # rows whose time does not come after that of the row before
    _not_increasing: int = 0

    def __post_init__(self) -> None:
        for where, value, choices in (
            ("bad rows", self.on_bad, UNUSABLE_ROWS),
            ("times", self.times, REPAIRS),
            ("time unit", self.time_unit, TIME_UNITS),
        ):
            expect(value in choices, f"one of {', '.join(choices)}", value, where, "")
        for name in self.model.joint_names:
            kind = self.model.joint(name).type
            if kind.nq != 1:
                problem = (
                    f"joint {name!r} is {kind.name.lower()}, and joint states hold one number a "
                    "joint"
                )
                remedy = "Lock the joint, or cut out the subtree."
                raise ArgumentError(problem, where=f"robot {self.model.name!r}", remedy=remedy)
        self._columns: tuple[list[float], list[_Row], list[_Row], list[_Row], list[int]] = (
            [],
            [],
            [],
            [],
            [],
        )

    def add(
        self,
        number: int,
        t: float,
        names: Sequence[str],
        *fields: Sequence[float],
    ) -> None:
        """Take one row of positions, velocities and efforts, the last two empty where there are
        none; a bad one is remembered or refused, see :meth:`reject`.
        """
        if why := self._take(number, t, names, fields):
            self.reject(number, why)

    def reject(self, number: int, why: str) -> None:
        """Remember a bad row, or refuse it by an ArgumentError."""
        if self.on_bad == "refuse":
            remedy = "Correct the recording, or have bad rows skipped."
            raise ArgumentError(f"row {number}: {why}", where=self.source, remedy=remedy)
        self.bad.append(BadRow(number, why))

    def _take(
        self,
        number: int,
        t: float,
        names: Sequence[str],
        fields: tuple[Sequence[float], ...],
    ) -> str:
        """Why a row is bad; empty if it is not, and is kept."""
        joints = self.model.joint_names
        place = {name: i for i, name in enumerate(names)}
        missing = [name for name in joints if name not in place]
        if joints and len(missing) == len(joints):
            self.other += 1
            return ""
        if missing:
            return f"joint {missing[0]!r} is missing"
        if len(place) != len(names):
            return "a joint is named twice"
        for what, values in zip(("position", "velocity", "effort"), fields, strict=True):
            left_out = what != "position" and not len(values)
            if not left_out and len(values) != len(names):
                return f"{len(values)} values of {what} for {len(names)} joints"
        rows = [
            [float(values[place[name]]) for name in joints] if len(values) else []
            for values in fields
        ]
        if not abs(t) <= _LATEST_STAMP:
            return f"the time is {t}"
        for name, value in zip(joints, rows[0], strict=True):
            if not abs(value) <= LARGEST_NUMBER:
                return f"the position of joint {name!r} is {value}"
        missing_velocities = sum(map(math.isnan, rows[1]))
        if 0 < missing_velocities < len(rows[1]):
            return "some of the velocities are missing"
        if any(abs(x) > LARGEST_NUMBER for x in (*rows[1], *rows[2])):
            return f"a velocity or effort is infinite, or beyond {LARGEST_NUMBER:g}"
        times, *columns, numbers = self._columns
        last = times[-1] if times else -math.inf
        if t < last or (t == last and self.times == "keep"):
            self._not_increasing += 1
            far = last - t > _FAR_BACK * (last - times[0])
            return _not_after(t, last) + (": two recordings in one, or rows twice?" if far else "")
        times.append(t)
        for column, row in zip(columns, rows, strict=True):
            column.append(row or [math.nan] * len(joints))
        numbers.append(number)
        return ""

    def _require_rows(self, count: int) -> None:
        """Refuse a source in which no row is usable, or the times of most do not increase."""
        if not count:
            seen = f"{len(self.bad)} bad rows, {self.other} of other joints"
            if self.bad:
                first = f"; the first: row {self.bad[0].number}: {self.bad[0].why}"
            else:
                first = ""
            remedy = f"It has to hold the joints {', '.join(self.model.joint_names)}."
            raise ArgumentError(
                f"there is no usable row ({seen}{first})", where=self.source, remedy=remedy
            )
        if self._not_increasing > count:
            whole = count + self._not_increasing
            raise ArgumentError(
                f"the times of {self._not_increasing} of {whole} rows do not increase",
                where=self.source,
                remedy="Sort the rows by their times, and give each recording a file of its own.",
            )

    def finish(self) -> Recording:
        """The recording.

        Velocities and efforts count as recorded if most rows have them; rows without are then bad.
        Otherwise velocities follow from positions throughout, and there are no efforts.

        Raises:
            ArgumentError: there is no usable row, or the times of most do not increase.
        """
        times, *columns, numbers = self._columns
        self._require_rows(len(times))
        shape = (len(times), len(self.model.joint_names))
        t = np.array(times)
        rows = np.array(numbers)
        q, v, effort = (np.array(x).reshape(shape) for x in columns)
        good = np.ones(len(t), dtype=bool)
        recorded = set[str]()
        for what, table in (("velocity", v), ("effort", effort)):
            finite = np.isfinite(table).all(axis=1)
            if finite.mean() > _RECORDED_ROWS_SHARE and shape[1]:
                recorded.add(what)
                for k in np.flatnonzero(~finite & good):
                    name = self.model.joint_names[int(np.argmax(~np.isfinite(table[k])))]
                    self.reject(int(rows[k]), f"the {what} of joint {name!r} is missing")
                good &= finite
        self.bad.sort(key=lambda row: row.number)
        if self.time_unit == "auto" and len(t) >= _FEWEST_ROWS_OF_A_UNIT:
            step = float(np.median(np.diff(t)))
            if _DOUBTFUL_STEP < step < 1.0:
                remedy = "Name the unit of the times: --time-unit s, or ms if these are no seconds."
                raise ArgumentError(
                    f"its rows are {step:.3g} apart, slow for seconds and fast for milliseconds",
                    where=self.source,
                    remedy=remedy,
                )
        t, unit = in_seconds(t, self.time_unit)
        if len(t) > 1 and (t[-1] - t[0]) < _SHORTEST_STEP_S * len(t):
            remedy = "All stamps are alike: seconds since 1970 need double precision."
            if t[-1] > t[0]:
                remedy = "Times are in seconds; --time-unit names another unit."
            text = f"its {len(t)} rows are {(t[-1] - t[0]) / len(t):.3g} s apart"
            raise ArgumentError(text, where=self.source, remedy=remedy)
        velocity, measured = (
            x[good] if w in recorded else None for w, x in (("velocity", v), ("effort", effort))
        )
        states = t[good], q[good], velocity, measured, rows[good]
        notes = (f"times taken as {unit}",) if unit else ()
        recording = Recording(
            self.source, self.model.joint_names, *states, tuple(self.bad), self.other, notes
        )
        if self.times == "repair":
            before = len(recording.bad)
            recording = recording.repaired()
            if self.on_bad == "refuse" and len(recording.bad) > before:
                self.reject(*recording.bad[-1])
        return recording


def require_fast_enough(t: Array) -> None:
    """Refuse times (n,), s, that are too far apart for velocities and accelerations."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    if step > SLOWEST_STEP_S:
        other_unit = "If these are no seconds: --time-unit ms, us or ns."
        remedy = f"Record ten times a second or more. {other_unit}"
        raise ArgumentError(f"rows are {step:.3g} s apart", where="t", remedy=remedy)


def in_seconds(t: Array, unit: str = "auto") -> tuple[Array, str]:
    """Times in s, and the name of the unit that they had; empty for seconds.

    Args:
        t: (n,) times.
        unit: out of :data:`TIME_UNITS`.  ``"auto"``: seconds, but times a step of 1 or more apart
            are ms, µs or ns: joint states come ten to some thousand times a second, and steps of
            seconds would be too slow for any use of them.
    """
    if unit == "auto":
        unit = "s"
        if len(t) >= _FEWEST_ROWS_OF_A_UNIT:
            step = float(np.median(np.diff(t)))
            # the least steps of each unit: 50 µs in ns, 0.5 ms in µs, 1 ms in ms
            for name, least in (("ms", 1.0), ("us", 500.0), ("ns", 5e4)):
                if step >= least:
                    unit = name
    factor, name = _TIME_UNITS[unit]
    return (t if unit == "s" else t * factor), name


def recorded_wrench(
    rows: list[list[float]],
    link: str,
    frame: FrameLike,
    sign: float,
    where: str,
    time_unit: str = "s",
) -> ExternalWrench:
    """A wrench from rows of time, moment and force; of several rows with one stamp the first."""
    if not rows:
        raise ArgumentError(
            "there is no row with a wrench",
            where=where,
            remedy="Check the names of columns or topic.",
        )
    table = np.array(rows)
    t, _ = in_seconds(table[:, 0], time_unit)
    keep = np.concatenate([[True], np.diff(np.maximum.accumulate(t)) > 0.0])
    return ExternalWrench(link, t[keep], sign * table[keep, 1:], frame)


def robot_of_efforts(model: RobotModel, kind: MeasuredEffort) -> RobotModel:
    """The robot that measured efforts move: a sensor at the link sees neither rotors nor
    friction.
    """
    if kind.meaning != "link_torque":
        return model
    return robot_model_error(model, damping=0.0, friction=0.0, armature=0.0)


def with_motor_efforts(
    recording: Recording,
    model: RobotModel,
    kind: MeasuredEffort,
) -> Recording:
    """The recording with efforts that move ``robot_of_efforts(model, kind)``; without efforts where
    none was measured.

    Gravity that the robot took off before it published is added by the model: what is wrong there
    cannot be seen any more.
    """
    if kind.plain or recording.effort is None:
        return recording
    note = {
        "torque_without_gravity": "recorded efforts lack gravity; that of the model was added",
        "link_torque": (
            "recorded efforts are those at the links: rotors and friction are left out of the robot"
        ),
    }.get(kind.meaning, "")
    if not kind.measured:
        note = f"recorded efforts are {kind.meaning!r} and not used"
        return dataclasses.replace(recording, effort=None, notes=(*recording.notes, note))
    if kind.meaning != "torque_without_gravity":
        gravity = recording.effort
    else:
        gravity = gravity_forces(model, recording.q)
    effort = motor_effort(kind, recording.effort, applied=recording.effort, gravity=gravity)
    return dataclasses.replace(
        recording, effort=effort, notes=(*recording.notes, note) if note else recording.notes
    )
