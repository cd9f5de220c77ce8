"""Motor currents in place of efforts: each joint's torque constant, with its sign, from the weight
of what it moves.

The model of a joint's current is i = c·(τ + friction), with the torque constant k = 1/c at the
joint, gear included. The constants of all joints and the bodies are estimated together: first from
gravity alone, then from all of the motion. Joints that move the same bodies show the ratios of the
constants.  The masses of the prior show their absolute size, or, much better, a second recording
with a load whose mass is known.

Source: Gautier and Briot, ASME J. Dynamic Systems, Measurement and Control 136(5), 2014 (drive
gains by a known load).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.identification.samples import MotionSamples
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.plausible_motion import Implausible
from robot_dynamics_ros.recordings.recording import Recording

EFFORT_SCALE_ERROR_SHARE = 0.05
"""Share by which all measured efforts may well be too large or too small together: torque constants
of data sheets, and torque sensors.  An arm whose bodies came from these efforts does not show it.
"""
# A mass may well differ from the prior by this share, and
_SPREAD = 0.25
# a centre of mass by so many metres.
_OFFSET = 0.05
# Steps of the search: constants and masses are found in turns, and that ends in a dozen of them.
_CONSTANT_STEPS = 30
# The search has ended if constants change by a smaller share in a step.
_SETTLED = 1e-8
_STEADY = 1e-2
# A constant whose relative standard error is larger is not known.
_MOST_CONSTANT_ERROR = 0.5
# Relative standard error of the best known constant, below which the masses are known as well.
_SURE = 0.02
# Nothing holds a constant that grows to this many times its first value.
_RUNAWAY_CONSTANT = 100.0
# s: blocks that are closer together tell nothing new.
_BLOCKS_APART_S = 0.5
# Share of a joint's currents that every model leaves unexplained: none is better.
_CURRENT_FLOOR_SHARE = 0.02
# m: a load's centre of mass may well be so far from its link; so large is its radius of gyration.
_REACH = 0.15


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """Recordings of the same arm with a load.

    Attributes:
        mass: kg; its centre of mass and inertia are estimated.
        recordings: with currents as efforts, in the units of the others.
    """

    link: str
    mass: float
    recordings: tuple[Recording, ...]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mass) and self.mass > 0.0) or not len(self.recordings):
            text = (
                f"expected a mass and at least one recording, got {self.mass!r} kg, "
                f"{len(self.recordings)} recordings"
            )
            remedy = "Give the load's mass in kg, and what was recorded with it."
            raise ArgumentError(text, where="known load", remedy=remedy)


@dataclass(frozen=True, eq=False)
class TorqueConstants:
    """Torque constants of a robot's joints.

    Attributes:
        values: (nv,) N m or N at the joint for one unit of the recorded currents; negative where
            these have the other sign.
        error: (nv,) relative standard errors, 0 where given; most of it is that of the prior's
            masses, which all joints share.
        given: (nv,) bool: the constant was given, not estimated.
        known: (nv,) bool: False where the recording does not show it, and ``values`` holds a usual
            size.
        joint_names: (nv,).
        loaded: whether a known load showed their size.
    """

    values: Array
    error: Array
    given: np.ndarray
    known: np.ndarray
    joint_names: tuple[str, ...]
    loaded: bool

    def applied(self, motion: MotionSamples) -> MotionSamples:
        """The motion with efforts, N m or N, in place of currents."""
        return dataclasses.replace(motion, effort=motion.effort * self.values)

    @property
    def notes(self) -> tuple[str, ...]:
        """For the reader of the result, in sentences."""
        out = []
        unknown = [
            name for name, shown in zip(self.joint_names, self.known, strict=True) if not shown
        ]
        if unknown:
            text = (
                f"the torque constants of {', '.join(unknown)} are not known: nothing in this "
                "recording that they move has weight "
            )
            text += (
                "enough; their efforts and friction have an arbitrary scale. Give these "
                "constants, or move the joints under load"
            )
            out.append(text)
        errors = self.error[~self.given & self.known]
        if len(errors) and errors.min() >= _SURE and not self.loaded:
            text = (
                "torque constants were found from the masses of the URDF: all masses and efforts "
                "may be off together, by "
            )
            text += (
                f"{errors.min():.0%} (standard error); one torque constant or mass that is known "
                "removes this error, see --known-load"
            )
            out.append(text)
        return tuple(out)


def find_torque_constants(
    model: RobotModel,
    motion: MotionSamples,
    constants: Mapping[str, float] | None = None,
    *,
    block: float = 0.05,
    load: KnownLoad | None = None,
) -> TorqueConstants:
    """Find torque constants.

    Args:
        model: the robot; each of its masses must be right within a quarter, unless there is a load.
        motion: a motion with currents as efforts, in any unit.
        constants: joint → constant, where it is known.
        load: recordings with a load of known mass.

    Raises:
        UnknownNameError: no such joint or link.
        ArgumentError: a given constant that is zero or not finite, or a load on a link that does
            not move.
        Implausible: no joint's constant can be identified from this motion.
    """
    names = model.joint_names
    fixed = _fixed(names, constants or {})
    prior = inertial_parameters(model)
    shape = _deviations(prior)
    extra = 0 if load is None else 9
    rows, first, braking = _rows_of(model, motion, block, prior, shape, extra)
    if load is not None:
        body = int(model.link_body[model.link_index(load.link)])
        if body < 0:
            remedy = "Name the link that carried the load, such as the flange."
            raise ArgumentError(
                f"link {load.link!r} does not move", where="known load", remedy=remedy
            )
        loaded = MotionSamples.of_recordings(model, load.recordings)
        more, first, braking = _rows_of(model, loaded, block, prior, shape, extra, body, load.mass)
        rows = [
            tuple(map(np.concatenate, zip(*both, strict=True)))
            for both in zip(rows, more, strict=True)
        ]
    c = np.where(fixed == 0.0, first, fixed)
    search = _search(rows, c, fixed == 0.0, min(1.0, block / _BLOCKS_APART_S))
    c = search.c
    error = search.error
    # friction takes power: a constant under which it would give power is none
    brakes = c * braking > 0.0
    shown = (fixed != 0.0) | ((error < _MOST_CONSTANT_ERROR) & search.settled & brakes)
    if not shown.any():
        text = f"the torque constants of {', '.join(names)} cannot be identified from this motion"
        remedy = (
            "Give them, N m at the joint for one unit of current, or move these joints faster "
            "and farther, under load."
        )
        raise Implausible(text, where="currents", remedy=remedy)
    usual = float(np.exp(np.mean(np.log(np.abs(c[shown])))))
    c = np.where(shown, c, np.where(braking < 0.0, -usual, usual))
    return TorqueConstants(1.0 / c, error, fixed != 0.0, shown, names, load is not None)


@dataclass(frozen=True, eq=False)
class _Found:
    """Result of a search: inverse constants, their relative errors, and which of them came to rest,
    (nv,) each.
    """

    c: Array
    error: Array
    settled: NDArray[np.bool_]


def _search(
    rows: list[tuple[Array, ...]],
    first: Array,
    sought: NDArray[np.bool_],
    worth: float,
) -> _Found:
    """Constants and bodies that explain the currents best, near the prior.

    A constant that nothing holds runs away, and the others follow it about. Its joint is then left
    out, and the search begins anew.

    Args:
        rows: see :func:`_rows_of`.
        first: (nv,) inverse constants to begin with.
        sought: (nv,) which of them are not given.
        worth: share of independent rows.
    """
    nv = len(first)
    size = rows[0][1].shape[1]
    left_out = np.zeros(nv, dtype=bool)
    while True:
        free = np.flatnonzero(sought & ~left_out)
        used = [
            tuple(x[:0] for x in own) if out else own
            for own, out in zip(rows, left_out, strict=True)
        ]
        c = first.copy()
        x = np.zeros(size)
        error = np.where(sought, np.inf, 0.0)
        before = c
        for _ in range(_CONSTANT_STEPS):
            N, right = _normal(used, c, x, worth)
            kept = np.concatenate([free, np.arange(nv, len(N))])
            information = N[np.ix_(kept, kept)]
            # in the parameters' own sizes: what is small in others' units is not zero
            unit = 1.0 / np.sqrt(information.diagonal())
            inverse = np.linalg.pinv(information * np.outer(unit, unit), hermitian=True)
            inverse *= np.outer(unit, unit)
            change = inverse @ right[kept]
            before = c.copy()
            c[free] += np.clip(change[: len(free)], -0.5 * np.abs(c[free]), 0.5 * np.abs(c[free]))
            x = x + change[len(free) :]
            if np.abs(c - before).max() <= _SETTLED * np.abs(c).max():
                break
        with np.errstate(divide="ignore", invalid="ignore"):
            error[free] = np.sqrt(inverse.diagonal()[: len(free)]) / np.abs(c[free])
            grown = np.abs(
                np.log(np.maximum(np.abs(c), 1e-300) / np.maximum(np.abs(first), 1e-300))
            )
        far = grown > math.log(_RUNAWAY_CONSTANT)
        moves = np.where(left_out, 0.0, np.abs(c - before) / np.maximum(np.abs(c), 1e-300))
        settled = (moves <= _STEADY) & ~far & ~left_out
        restless = sought & ~left_out & ~settled
        if not restless.any():
            return _Found(c, error, settled)
        # the worst first: others may follow it about
        left_out[np.argmax(np.where(restless, moves + far, -1.0))] = True


def _deviations(prior: Array) -> Array:
    """(10 nb, 10 nb) usual deviations of the bodies' parameters from the prior, a column each."""
    shape = np.zeros((len(prior), len(prior)))
    for start in range(0, len(prior), 10):
        part = slice(start, start + 10)
        lever = np.r_[0.0, np.full(3, _OFFSET), np.full(6, _OFFSET**2)]
        shape[part, part] = np.diag(prior[start] * lever)
        shape[part, start] = _SPREAD * prior[part]
    return shape


def _fixed(names: tuple[str, ...], constants: Mapping[str, float]) -> Array:
    """(nv,) inverse of the constants that are given, 0 for the others."""
    fixed = np.zeros(len(names))
    for name, value in constants.items():
        check_name("joint", name, names, where="currents")
        constant = float(as_input(value, (), f"currents, joint {name!r}"))
        if constant == 0.0:
            unit = "N m or N at the joint for one unit of current"
            remedy = f"Give a finite number other than 0, {unit}."
            raise ArgumentError(
                f"{value!r} is no torque constant", where=f"currents, joint {name!r}", remedy=remedy
            )
        fixed[names.index(name)] = 1.0 / constant
    return fixed


def _rows_of(
    model: RobotModel,
    motion: MotionSamples,
    block: float,
    start: Array,
    shape: Array,
    extra: int,
    body: int = -1,
    mass: float = 0.0,
) -> tuple[list[tuple[Array, ...]], Array, Array]:
    """Of each joint, without what friction, rotor and offset explain of them: efforts of the prior
    ``start`` (p,), their changes by ``shape`` (p, p) and by ``extra`` parameters (0 or 9) of a
    load's moments on a body, and currents; (nv,) currents for one N m, from gravity alone where it
    shows; and (nv,) mean power of friction, in units of current times speed.
    """
    Y = motion.mean_regressor(model, block)
    still = dataclasses.replace(motion, v=0.0 * motion.v, a=0.0 * motion.a)
    Y_gravity = still.mean_regressor(model, block)
    v, a, current = (motion.mean(x, block) for x in (motion.v, motion.a, motion.effort))
    use = motion.mean(motion.unusable.astype(np.float64), block) == 0.0
    width = 0.02 * np.maximum(np.abs(v).max(axis=0), 1e-9)
    efforts = Y @ start
    gravity = Y_gravity @ start
    columns = np.concatenate([Y @ shape, np.zeros((*Y.shape[:2], extra))], axis=-1)
    if body >= 0:
        own = slice(10 * body, 10 * body + 10)
        efforts = efforts + mass * Y[..., own.start]
        gravity = gravity + mass * Y_gravity[..., own.start]
        columns[..., -extra:] = (
            Y[..., own][..., 1:] * mass * np.r_[np.full(3, _REACH), np.full(6, _REACH**2)]
        )
    rows = list[tuple[Array, ...]]()
    first = np.zeros(model.nv)
    braking = np.zeros(model.nv)
    for j in range(model.nv):
        friction = np.column_stack(
            [v[:, j], np.tanh(v[:, j] / width[j]), np.ones(len(v)), a[:, j]]
        )[use[:, j]]
        Q, _ = np.linalg.qr(friction)
        r, k, y, g = (
            x - Q @ (Q.T @ x)
            for x in (z[use[:, j], j] for z in (efforts, columns, current, gravity))
        )
        shown = g if g @ g > 0.1 * float(r @ r) else r
        first[j] = float(shown @ y) / max(float(shown @ shown), 1e-300)
        rows.append((r, k, y))
        known = np.column_stack([friction, efforts[use[:, j], j]])
        found = np.linalg.lstsq(known, current[use[:, j], j], rcond=None)[0]
        braking[j] = float(np.mean(friction[:, :2] @ found[:2] * v[use[:, j], j]))
    return rows, first, braking


def _normal(
    rows: list[tuple[Array, ...]],
    c: Array,
    x: Array,
    worth: float,
) -> tuple[Array, Array]:
    """Normal equations of changes of c (nv,) and of the bodies and load x, at these values;
    ``worth``: share of independent rows.
    """
    nv = len(c)
    N = np.eye(nv + len(x))
    b = np.concatenate([np.zeros(nv), -x])
    N[range(nv), range(nv)] = 1e-12
    for j, (rigid, columns, target) in enumerate(rows):
        moved = rigid + columns @ x
        residual = target - c[j] * moved
        count = max(len(target), 1)
        weight = worth / max(
            float(residual @ residual + _CURRENT_FLOOR_SHARE**2 * target @ target) / count, 1e-300
        )
        J = np.column_stack([moved, c[j] * columns])
        own = [j, *range(nv, nv + len(x))]
        N[np.ix_(own, own)] += weight * (J.T @ J)
        b[own] += weight * (J.T @ residual)
    return N, b
