"""Motions that a robot cannot have: other units, positions beyond the limits, a wrong clock."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import Recording

# A position is outside if it is beyond a limit by more than this share of the joint's range.
_BEYOND_RANGE_SHARE = 0.1
# rad or m: a position is outside if it is farther from zero, of a joint without limits.
_BEYOND_POSITION = 50.0
# More outside than this share of a joint's positions is no outlier, but a mistake.
_OUTSIDE_ROWS_SHARE = 0.05
# Speeds are taken over so many rows: less noise than over one.
_SPEED_ROWS = 10
# A joint is too fast if the fastest tenth of its speeds is above this many velocity limits.
_LARGEST_SPEED_LIMITS = 5.0
# Share by which recorded speeds of all joints may differ from those of the positions with a right
# clock: drivers that filter velocities stay within 3 %.
_WRONG_CLOCK_SHARE = 0.1
# Share by which the joints may differ in this: one clock is wrong for all of them alike.
_ONE_CLOCK_SHARE = 0.03
# Share of a joint's motion that its recorded velocities may leave.
_LEFT_OF_MOTION_SHARE = 0.05


class Implausible(ArgumentError):
    """A recording that does not fit the robot, or a result that is physically impossible."""


def check_positions(model: RobotModel, q: Array) -> None:
    """Compare the positions (n, nv) of a recording with the limits of the robot as it is known.

    Raises:
        Implausible: positions far outside the limits (degrees?).
    """
    width = model.upper - model.lower
    for j, name in enumerate(model.joint_names):
        own = q[:, j]
        if np.isfinite(width[j]):
            slack = _BEYOND_RANGE_SHARE * width[j]
            outside = (own < model.lower[j] - slack) | (own > model.upper[j] + slack)
        else:
            outside = np.abs(own) > _BEYOND_POSITION
        if outside.mean() <= _OUTSIDE_ROWS_SHARE:
            continue
        fits = [
            min(_within(model, k, own), _within(model, j, q[:, k])) > 1.0 - _OUTSIDE_ROWS_SHARE
            for k in range(model.nv)
        ]
        others = [other for k, other in enumerate(model.joint_names) if k != j and fits[k]]
        cause = ""
        radians = np.deg2rad(own)
        if others:
            cause = f"They fit the limits of {' and '.join(others)}: are the columns exchanged?"
            cause += " Check also units and zeros."
        elif np.ptp(own) > 2.0 * math.pi and (
            not np.isfinite(width[j])
            or ((radians >= model.lower[j] - 0.1) & (radians <= model.upper[j] + 0.1)).all()
        ):
            cause = "They look like degrees: convert them to radians."
        elif np.isfinite(width[j]) and 5.0 * np.ptp(own) > 500.0 * width[j]:
            cause = "They look like mm: convert them to m."
        text = (
            f"{outside.mean():.0%} of the positions of joint {name!r} lie outside its limits, "
            f"{own.min():.4g} to {own.max():.4g}"
        )
        remedy = (
            cause or "Check units, signs and zero positions, and whether this is the robot's URDF."
        )
        raise Implausible(text, where="q", remedy=remedy)


def check_speeds(model: RobotModel, t: Array, q: Array) -> None:
    """Compare how fast the positions (n, nv) change with the velocity limits.

    Raises:
        Implausible: a joint is much too fast.
    """
    if len(t) < 2:
        return
    limit = model.velocity_limit
    over = min(_SPEED_ROWS, len(t) - 1)
    speed = np.abs(q[over:] - q[:-over]) / np.maximum(t[over:] - t[:-over], 1e-300)[:, None]
    allowed = _LARGEST_SPEED_LIMITS * np.where(limit > 0.0, limit, np.inf)
    fast = np.quantile(speed, 0.9, axis=0) > allowed
    if fast.any():
        j = int(np.argmax(fast))
        problem = f"joint {model.joint_names[j]!r} moves at more than five times its velocity limit"
        raise Implausible(
            problem, where="t, q", remedy="Check the units of positions (rad, m) and times (s)."
        )


def check_motion(model: RobotModel, t: Array, q: Array, v: Array | None) -> None:
    """:func:`check_positions`, :func:`check_clock` where there are velocities, and
    :func:`check_speeds`.

    Raises:
        Implausible: the robot cannot have moved like this.
    """
    check_positions(model, q)
    # a clock that is too fast makes joints too fast, too: velocities tell by how much
    if v is not None:
        check_clock(model.joint_names, t, q, v)
    check_speeds(model, t, q)


def check_recording(model: RobotModel, recording: Recording) -> None:
    """:func:`check_motion` of a recording, which the error names.

    Raises:
        Implausible: the robot cannot have moved like this.
    """
    try:
        check_motion(model, recording.t, recording.q, recording.v)
    except Implausible as error:
        raise Implausible(
            error.problem,
            where=f"{recording.source}, {error.where}",
            remedy=error.remedy,
            setting=("plausibility", "accept"),
        ) from None


def check_clock(names: tuple[str, ...], t: Array, q: Array, v: Array) -> None:
    """Compare the recorded velocities (n, nv) with how the positions (n, nv) change.

    Raises:
        Implausible: every joint moves as many times as fast by its velocities as by its positions.
    """
    steps = 0.5 * np.diff(t)[:, None] * (v[1:] + v[:-1])
    travelled = np.concatenate([np.zeros((1, v.shape[1])), np.cumsum(steps, axis=0)])
    line = np.column_stack([np.ones(len(t)), t - t[0]])
    # a velocity with an offset drifts
    by_velocity, moved = (
        x - line @ np.linalg.lstsq(line, x, rcond=None)[0] for x in (travelled, q)
    )
    size = np.sqrt((moved**2).sum(axis=0))
    moves = size > _LEFT_OF_MOTION_SHARE * size.max(initial=0.0)
    if moves.sum() < min(2, len(names)) or not moves.any():
        return
    by_velocity = by_velocity[:, moves]
    moved = moved[:, moves]
    ratio = (by_velocity * moved).sum(axis=0) / (moved**2).sum(axis=0)
    left = by_velocity - ratio * moved
    share = np.sqrt((left**2).sum(axis=0) / np.maximum((by_velocity**2).sum(axis=0), 1e-300))
    times = float(np.median(ratio))
    other_unit = abs(times / math.degrees(1.0) - 1.0) < _ONE_CLOCK_SHARE
    if (
        (share > _LEFT_OF_MOTION_SHARE).any()
        or times <= 0.0
        or (np.abs(ratio / times - 1.0) > _ONE_CLOCK_SHARE).any()
        or abs(times - 1.0) < _WRONG_CLOCK_SHARE
        or other_unit
    ):
        return
    text = (
        f"the clock is wrong: every joint moves {times:.3g} times as fast by its recorded "
        "velocities as by its positions and times"
    )
    remedy = (
        f"Check the rate and the unit of the stamps: divide the times by {times:.3g}. If the "
        "times are right, leave the velocities out."
    )
    raise Implausible(text, where="t", remedy=remedy)


def _within(model: RobotModel, j: int, q: Array) -> float:
    """Share of positions (n,) that joint ``j`` can have."""
    return float(((q >= model.lower[j]) & (q <= model.upper[j])).mean())
