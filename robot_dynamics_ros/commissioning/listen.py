"""Listening: rate, clock, names, units, noise, filters and frozen fields of joint states; nothing
is sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.commissioning.arm import ArmState
from robot_dynamics_ros.commissioning.findings import (
    Finding,
    StepReport,
    mistake,
    sorted_by_certainty,
)
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.damage import moves, unusable_efforts

# Fewer messages show nothing.
_FEWEST_MESSAGES = 20
# Share by which the rate may differ from the declared one.
_RATE_DEVIATION_SHARE = 0.1
# Periods between two messages that are a gap: one lost message leaves two.
_GAP_PERIODS = 2.5
# Share of messages after such a gap that is borne: a busy computer has some.
_GAPS = 0.01
# s that a stamp may lie after its arrival: what two readings of one clock differ by.
_EARLY = 0.002
# s that a stamp may lie before its arrival: a slow driver needs that long, another clock more.
_LATE_S = 0.1
# s/s: quartz clocks differ by 1e-4 at most, so a larger drift is another clock.
_DRIFT = 5e-4
# rad or m: somebody moves a joint by hand if it goes farther than this;
_MOVED_RAD = 0.05
# it stands if it goes less far than this: play and noise are less.
_STILL_RAD = 0.02
# rad: no position is farther from zero.
_TURNS = 4.0 * math.pi
# Velocities that are larger or smaller by this factor are in another unit.
_UNIT_FACTOR = 1.25
# s: velocities that are later than this are filtered.
_FILTER = 0.012
# rad or m: more play is named.
_PLAY = 3e-3
# Signs are compared at speeds above this share of the largest one.
_BACKWARDS_SPEED_SHARE = 0.1
# share of the samples in motion whose effort is frozen or clipped: fewer are taken for a coarse
# sensor
_UNUSABLE_EFFORT_SHARE = 0.2
# A number is sure if it is this many standard errors from zero.
_SURE_STANDARD_ERRORS = 4.0
# Errors alike in successive messages make standard errors larger by this factor.
_CORRELATED = 3.0


@dataclass(frozen=True, eq=False)
class _Log:
    """Messages in the order of the model's joints; NaN where nothing is published."""

    model: RobotModel
    arrival: Array
    stamps: Array
    position: Array
    velocity: Array
    effort: Array
    declared_rate: float
    still: bool

    def units(self, j: int | np.integer[Any]) -> tuple[str, str, str]:
        """Of position, velocity and effort of joint j."""
        return self.model.joint(self.model.joint_names[j]).type.units

    @property
    def t(self) -> Array:
        """(n,) s: stamps, where they increase."""
        if (np.diff(self.stamps) > 0.0).all():
            return self.stamps
        return self.arrival

    @property
    def period(self) -> float:
        return float((self.arrival[-1] - self.arrival[0]) / (len(self.arrival) - 1))

    @property
    def moves(self) -> np.ndarray:
        """(nv,) joints that move."""
        return np.asarray(np.nan_to_num(np.ptp(self.position, axis=0)) > _MOVED_RAD)


def listen(
    model: RobotModel,
    arrival: ArrayLike,
    stamps: ArrayLike,
    names: Sequence[str],
    position: ArrayLike,
    velocity: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    *,
    declared_rate: float = math.nan,
    still: bool = False,
    publishers: Sequence[str] = (),
) -> StepReport:
    """Judge joint states as they arrive; nothing is sent.

    Listen twice: while nobody moves the arm, with ``still=True``; and while every joint is moved,
    by hand or by the arm's own planner, some tenths of a radian each.

    Args:
        model: the robot as described.
        arrival: (n,) s, by the clock of this computer.
        stamps: (n,) s, as in the messages.
        names: (m,) of the messages' columns.
        position, velocity, effort: (n, m); NaN, or ``None``, where a field is empty; efforts
            ``False``: the driver measures none.
        declared_rate: Hz, that the driver should publish at; NaN: unknown.
        still: whether the arm should not move.
        publishers: names of the nodes that publish joint states of this arm.

    Returns:
        Findings; ``numbers``: ``rate`` (Hz), ``jitter``, ``age`` (s), and of each joint
        ``position_resolution``, ``position_noise``, ``velocity_noise``, ``effort_noise``,
        ``velocity_delay`` (s).

    Raises:
        ArgumentError: shapes that do not agree, or fewer than 20 messages.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> model, t = rd.limb(2), np.arange(0.0, 2.0, 0.01)
    >>> q = np.column_stack([np.sin(3 * t), np.cos(2 * t)])
    >>> v = np.column_stack([3 * np.cos(3 * t), 2 * np.sin(2 * t)])
    >>> report = rd.commissioning.listen(model, t, t, model.joint_names, q, v)
    >>> [(finding.kind, finding.joints) for finding in report.findings]
    [('velocity_sign', ('joint2',)), ('missing_field', ())]
    """
    measures_effort = effort is not False
    efforts = effort if measures_effort else None
    fields = {"position": position, "velocity": velocity, "effort": efforts}
    log, notes, findings = _read(model, arrival, stamps, names, fields, declared_rate, still)
    if len(publishers) > 1:
        text = f"{len(publishers)} nodes publish joint states of this arm: {', '.join(publishers)}"
        findings.append(mistake("other_publisher", (), text, len(publishers)))
    delay = _delays(log)
    findings += [
        *_times(log),
        *_units(log),
        *_frozen(log),
        *_velocities(log, delay),
        *_missing(log, measures_effort),
    ]
    outside = ((log.position < model.lower - 0.1) | (log.position > model.upper + 0.1)).any(axis=0)
    if outside.any() and not any(f.kind == "position_unit" for f in findings):
        which = ", ".join(np.array(model.joint_names)[outside])
        notes.append(
            f"positions outside the limits of the description: {which}; weighing tells signs and "
            "zeros"
        )
    if not still and not log.moves.all():
        which = ", ".join(np.array(model.joint_names)[~log.moves])
        notes.append(f"these joints did not move, their velocities are not judged: {which}")
    numbers: dict[str, Array | float] = {
        "rate": 1.0 / log.period,
        "jitter": float(np.std(np.diff(log.arrival))),
        "age": float(np.median(log.arrival - log.stamps)),
        "position_resolution": _resolution(log.position),
        "position_noise": _noise(log.position),
        "velocity_noise": _noise(log.velocity),
        "effort_noise": _noise(log.effort),
        "velocity_delay": delay[:, 1],
    }
    enough = bool(still or log.moves.all())
    return StepReport("listen", sorted_by_certainty(findings), numbers, enough, None, tuple(notes))


def listen_to(
    model: RobotModel, states: Sequence[ArmState], measures_effort: bool = True, **options: Any
) -> StepReport:
    """See :func:`listen`, which takes the options; of states in the order of the model's joints.
    ``measures_effort``: whether the efforts in them mean anything.
    """
    arrival, t, q, v = ([getattr(state, x) for state in states] for x in ("arrival", "t", "q", "v"))
    known: ArrayLike | None = False
    if measures_effort:
        efforts = [state.effort for state in states if state.effort is not None]
        known = efforts if len(efforts) == len(states) else None
    return listen(model, arrival, t, model.joint_names, q, v, known, **options)


def _read(
    model: RobotModel,
    arrival: ArrayLike,
    stamps: ArrayLike,
    names: Sequence[str],
    fields: dict[str, ArrayLike | None],
    declared_rate: float,
    still: bool,
) -> tuple[_Log, list[str], list[Finding]]:
    n = np.size(arrival)
    m = len(names)

    def checked(where: str, values: ArrayLike | None, *shape: int) -> Array:
        if values is None:
            x = np.full(shape, np.nan)
        else:
            x = real_array_or_nan(values)
        if (
            x.shape != shape
            or n < _FEWEST_MESSAGES
            or (len(shape) == 1 and not np.isfinite(x).all())
        ):
            text = (
                f"expected at least {_FEWEST_MESSAGES} messages of {m} joints, shape {shape}, "
                f"got {x.shape}"
            )
            raise ArgumentError(
                text, where=where, got=x, remedy="Record some seconds, one row for each message."
            )
        return x

    came = checked("arrival", arrival, n)
    stamped = checked("stamps", stamps, n)
    columns = [checked(where, x, n, m) for where, x in fields.items()]
    if not (np.diff(came) >= 0.0).all() or came[-1] <= came[0]:
        remedy = "Give the messages in the order in which they came, times in s."
        raise ArgumentError(
            "times of arrival decrease", where="arrival", got=arrival, remedy=remedy
        )
    notes = list[str]()
    findings = list[Finding]()
    lost = [name for name in model.joint_names if name not in names]
    other = [name for name in names if name not in model.joint_names]
    if lost:
        text = f"joint states have no joint {', '.join(lost)}" + (
            f"; they have {', '.join(other)}" if other else ""
        )
        findings.append(mistake("names", lost, text, len(lost), tuple(other) or None))
    elif [name for name in names if name in model.joint_names] != list(model.joint_names):
        notes.append("joint states have another order than the description; they are read by name")
    places = [list(names).index(name) if name in names else m for name in model.joint_names]
    q, v, tau = (np.column_stack([x, np.full(n, np.nan)])[:, places] for x in columns)
    return _Log(model, came, stamped, q, v, tau, float(declared_rate), still), notes, findings


def _times(log: _Log) -> Iterator[Finding]:
    """Rate, gaps and clock."""
    rate = 1.0 / log.period
    steps = np.diff(log.arrival)
    if (
        math.isfinite(log.declared_rate)
        and abs(rate / log.declared_rate - 1.0) > _RATE_DEVIATION_SHARE
    ):
        text = f"joint states come at {rate:.0f} Hz, {log.declared_rate:.0f} Hz are declared"
        yield mistake("rate", (), text, rate, log.declared_rate)
    gaps = float(np.mean(steps > _GAP_PERIODS * max(float(np.median(steps)), 1e-9)))
    if gaps > _GAPS:
        text = (
            f"{gaps:.0%} of the joint states come after a gap, the longest of "
            f"{1e3 * steps.max():.0f} ms"
        )
        yield mistake("jitter", (), text, steps.max())
    age = log.arrival - log.stamps
    if np.ptp(age) > 0.0:
        drift = float(np.polyfit(log.arrival - log.arrival[0], age, 1)[0])
    else:
        drift = 0.0
    if (np.diff(log.stamps) < 0.0).any() or not np.ptp(log.stamps) > 0.0:
        yield mistake("clock", (), "stamps do not increase", np.diff(log.stamps).min())
    elif not -_EARLY < np.median(age) < _LATE_S or abs(drift) > _DRIFT:
        late = float(np.median(age))
        text = (
            f"stamps are {abs(late):.3g} s {'older' if late > 0.0 else 'newer'} than this "
            "computer's clock"
        )
        text += f", and drift by {1e3 * drift:.2g} ms each second" if abs(drift) > _DRIFT else ""
        yield mistake("clock", (), f"{text}: they are from another clock", late)


def _units(log: _Log) -> Iterator[Finding]:
    """Positions in degrees."""
    largest = np.nan_to_num(np.abs(log.position).max(axis=0))
    room = np.maximum(np.abs(log.model.lower), np.abs(log.model.upper))
    beyond = (largest > _TURNS) & (largest > 1.5 * np.where(np.isfinite(room), room, _TURNS))
    if beyond.any():
        names = np.array(log.model.joint_names)[beyond].tolist()
        text = f"positions up to {largest.max():.0f} are no radians: they are in degrees or counts"
        yield mistake("position_unit", names, text, largest.max(), "rad")


def _frozen(log: _Log) -> Iterator[Finding]:
    """Fields that repeat one value, and joints that move although nobody moves them."""
    names = log.model.joint_names
    span = np.nan_to_num(np.ptp(log.position, axis=0))
    if log.still:
        for j in np.flatnonzero(span > _STILL_RAD):
            way = f"{span[j]:.2g} {log.units(j)[0]}"
            text = (
                f"joint {names[j]} moves by {way} although nobody moves it: its brake does not hold"
            )
            yield mistake("brake", names[j], text, span[j])
        return
    for j in np.flatnonzero((span == 0.0) & np.isfinite(log.position[0]) & log.moves.any()):
        speed = float(np.nan_to_num(np.abs(log.velocity[:, j])).max())
        unit, unit_of_speed, _ = log.units(j)
        text = f"the position of joint {names[j]} is frozen at {log.position[0, j]:.4g} {unit}"
        text += (
            f", although its velocity reaches {speed:.2g} {unit_of_speed}"
            if speed > 0.0
            else ", or nobody moved it"
        )
        yield mistake("frozen_joint", names[j], text, certainty=0.98 if speed > 0.05 else 0.9)
    measured = np.isfinite(log.effort).all(axis=0)
    if measured.any() and log.effort[:, measured].any():
        joints = np.flatnonzero(measured)
        labels = [names[j] for j in joints]
        bad, _, constant = unusable_efforts(
            log.t, log.position[:, joints], log.effort[:, joints], labels
        )
        for k, name in enumerate(labels):
            # where a joint rests its effort may well be constant
            moving = moves(log.t, log.position[:, joints[k]])
            share = float(bad[moving, k].mean()) if moving.any() else 0.0
            if name in constant or share > _UNUSABLE_EFFORT_SHARE:
                text = (
                    f"the effort of joint {name} is "
                    f"{'constant' if name in constant else 'frozen or clipped'} while it moves"
                )
                yield mistake("frozen_effort", name, text, 1.0 if name in constant else share)


def _missing(log: _Log, measures_effort: bool) -> Iterator[Finding]:
    """Fields that should be filled, and that nobody fills."""
    empty = []
    fields = {"position": log.position, "velocity": log.velocity}
    if measures_effort:
        fields["effort"] = log.effort
    for word, x in fields.items():
        moving = word != "velocity" or log.moves.any()
        if np.isnan(x).all() or (not x.any() and moving and word != "position"):
            empty.append(word)
    if empty:
        text = f"joint states have no {' and no '.join(empty)}"
        line = "fields of joint states, or the parameter measured_effort: none"
        yield mistake(
            "missing_field", (), text, len(empty), line=line if empty == ["effort"] else ""
        )


def _delays(log: _Log) -> Array:
    """(nv, 6) factor of velocities, how late they are, s, play, rad or m, and their standard
    errors; NaN where a joint stands.

    A filter of the first order with factor s and time constant T gives s (q − q₀) = ∫ v dt + T v,
    without differences of positions; they lag by half of the play in either direction.
    """
    out = np.full((log.model.nv, 6), np.nan)
    t = log.t
    for j in np.flatnonzero(log.moves & np.isfinite(log.velocity).all(axis=0)):
        v = log.velocity[:, j]
        q = log.position[:, j]
        if not np.ptp(v) > 0.0:
            continue
        displacement = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))])
        fast = np.abs(v) > _BACKWARDS_SPEED_SHARE * np.abs(v).max()
        last = np.maximum.accumulate(np.where(fast, np.arange(len(v)), -1))
        # of the last motion that is no noise
        side = np.where(last >= 0, np.sign(v[np.maximum(last, 0)]), 0.0)
        A = np.column_stack(
            [displacement, v, side if np.ptp(side) > 0.0 else 0.0 * v, np.ones(len(t))]
        )
        fit = np.linalg.lstsq(A, q, rcond=None)[0]
        a, b, c, _ = fit
        residual = q - A @ fit
        covariance = np.linalg.pinv(A.T @ A) * float(residual @ residual) / len(t) * _CORRELATED**2
        if abs(a) > 1e-9:
            error = np.sqrt(covariance.diagonal())
            out[j] = (
                1.0 / a,
                b / a,
                -2.0 * c * np.sign(a),
                error[0] / a**2,
                error[1] / abs(a),
                2.0 * error[2],
            )
    return out


def _velocities(log: _Log, delay: Array) -> Iterator[Finding]:
    """Sign, unit and filter of velocities."""
    names = np.array(log.model.joint_names)
    factor, late, play, error, late_error, play_error = delay.T
    sure = np.isfinite(factor) & (np.abs(factor) > _SURE_STANDARD_ERRORS * np.nan_to_num(error))
    for j in np.flatnonzero(sure & (factor < 0.0)):
        text = f"the velocity of joint {names[j]} has the opposite sign of its motion"
        yield mistake("velocity_sign", str(names[j]), text, factor[j])
    size = np.abs(np.where(sure, factor, 1.0))
    wrong = sure & ((size > _UNIT_FACTOR) | (size < 1.0 / _UNIT_FACTOR))
    if wrong.any():
        times = float(np.median(size[wrong]))
        if abs(times * math.pi / 180.0 - 1.0) < 0.1:
            unit = " (degrees)"
        else:
            unit = ""
        text = (
            f"velocities are {times:.3g} times the rate of the positions{unit}: "
            f"{', '.join(names[wrong])}"
        )
        yield mistake("velocity_unit", names[wrong].tolist(), text, times, "rad/s")
    slow = sure & (late > _FILTER) & (late - _SURE_STANDARD_ERRORS * late_error > 0.5 * _FILTER)
    if slow.any():
        typical = float(np.median(late[slow]))
        corner = 1.0 / (2.0 * math.pi * typical)
        text = (
            f"velocities are {1e3 * typical:.0f} ms late, as after a filter of {corner:.1f} Hz: "
            f"{', '.join(names[slow])}"
        )
        yield mistake("velocity_filter", names[slow].tolist(), text, corner)
    loose = (
        sure
        & (size > 1.0 / _UNIT_FACTOR)
        & (size < _UNIT_FACTOR)
        & (play > _PLAY)
        & (play - _SURE_STANDARD_ERRORS * play_error > 0.5 * _PLAY)
    )
    for j in np.flatnonzero(loose):
        yield play_of(log.model, str(names[j]), float(play[j]))


def play_of(model: RobotModel, name: str, play: float) -> Finding:
    """The finding of a joint with play, rad or m."""
    unit = model.joint(name).type.units[0]
    sentence = f"{name} has {play * 1e3:.1f} m{unit} of play"
    return mistake(
        "play", name, f"{sentence}: its speed shows a displacement that its position does not", play
    )


def _resolution(x: Array) -> Array:
    """(nv,) smallest step between values; 0 where there is one value."""
    out = np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        steps = np.diff(np.unique(column[np.isfinite(column)]))
        steps = steps[steps > 1e-12]
        out[j] = steps.min() if len(steps) else 0.0
    return out


def _noise(x: Array) -> Array:
    """(nv,) standard deviation of what third differences do not explain as motion."""
    return np.asarray(np.median(np.abs(np.diff(x, 3, axis=0)), axis=0) / (0.6745 * math.sqrt(20.0)))
