"""From recorded motion and efforts to a robot whose efforts are those."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.per_joint import per_joint
from robot_dynamics_ros.dynamics import inverse_dynamics
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.columns import Columns, FrictionTerms
from robot_dynamics_ros.identification.consistent import ConsistentEstimate, consistent_parameters
from robot_dynamics_ros.identification.least_squares import BaseEstimate, weighted_least_squares
from robot_dynamics_ros.identification.robot import urdf_of, with_parameters
from robot_dynamics_ros.identification.samples import Blocks, Motion, blocks
from robot_dynamics_ros.identification.stribeck import Stribeck, fit_stribeck
from robot_dynamics_ros.identification.structure import Structure, structure
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Identification", "IdentificationSettings", "identify"]

_SLOW = 3.0  # times the smoothing speed
_TURNS = 4


@dataclass(frozen=True, slots=True)
class IdentificationSettings:
    """How to identify.

    Attributes:
        terms: which parameters the joints have.
        stribeck: look for the rise of friction towards rest, too.
        window: s, of the local polynomials that smooth and differentiate positions; shorter than half the period of
            the fastest motion.
        block: s, over which rows are averaged.
        slow: (nv,) or one number, rad/s or m/s: joints slower than this are not asked about friction (they may stick);
            ``None``: three times the smoothing speed.
        delay: s, by which recorded efforts are late; ``None``: found from the data.
        confidence: of the intervals.
        tolerance: share of what lively motion would show below which a parameter counts as unseen.
        unseen: "refuse" a motion that does not show every base parameter, or "keep" what it does not show as it was.
        spread: how far a body may well be from its prior, as a Riemannian distance; 0.7 is a factor of 2 in mass.
    """

    terms: FrictionTerms = dataclasses.field(default_factory=FrictionTerms)
    stribeck: bool = False
    window: float = 0.1
    block: float = 0.05
    slow: Any = None
    delay: float | None = None
    confidence: float = 0.95
    tolerance: float = 1e-3
    unseen: str = "refuse"
    spread: float = 0.5

    def __post_init__(self) -> None:
        for name, low, high in (
            ("window", 0.0, 10.0),
            ("block", 0.0, 10.0),
            ("confidence", 0.0, 1.0),
            ("tolerance", 0.0, 1.0),
            ("spread", 0.0, 100.0),
        ):
            value = getattr(self, name)
            if not low < value < high:
                raise ArgumentError(
                    f"expected a number between {low:g} and {high:g}, got {value!r}", where=name, got=value
                )
        if self.unseen not in ("refuse", "keep"):
            raise ArgumentError(f"expected 'refuse' or 'keep', got {self.unseen!r}", where="unseen", got=self.unseen)
        if self.stribeck and not self.terms.coulomb:
            raise ArgumentError(
                "the rise is one of Coulomb friction, which is not looked for", where="stribeck", got=self.terms
            )
        if self.delay is not None and not abs(self.delay) < 1.0:
            raise ArgumentError(f"expected less than a second, got {self.delay!r}", where="delay", got=self.delay)


@dataclass(frozen=True, eq=False)
class Identification:
    """What was found.

    Attributes:
        prior: the robot as it was known.
        model: the robot as it is: bodies that can exist, with viscous and Coulomb friction.
        friction: joint friction, breakaway and Stribeck speed included where they were looked for and found.
        offset: (nv,) constant efforts, N m or N.
        base: base parameters with confidence intervals.
        full: all parameters, in the order of ``columns``.
        columns, structure: what the parameters are.
        stribeck: for each joint the curve, or ``None``.
        delay: s, by which the recorded efforts are late.
        rms: (nv,) root mean square of what ``model``, ``friction`` and ``offset`` leave unexplained of the
            block-averaged efforts, N m or N.
        prior_rms: (nv,) the same of the prior.
        effort_rms: (nv,) root mean square of the efforts themselves.
        used: (nv,) share of the blocks that each joint was fast enough to be used in.
        duration: s of motion.
    """

    prior: RobotModel
    model: RobotModel
    friction: Friction
    offset: Array
    base: BaseEstimate
    full: ConsistentEstimate
    columns: Columns
    structure: Structure
    stribeck: tuple[Stribeck | None, ...]
    delay: float
    rms: Array
    prior_rms: Array
    effort_rms: Array
    used: Array
    duration: float

    def predict(self, q: Any, v: Any, a: Any) -> Array:
        """(..., nv) motor efforts for a motion: inverse dynamics, friction and offset."""
        v = np.asarray(v, dtype=np.float64)
        tau = inverse_dynamics(self.model, q, v, a)
        flat = v.reshape(-1, self.model.nv)
        friction = np.array([self.friction.effort(row) for row in flat]).reshape(v.shape)
        return np.asarray(tau + friction + self.offset)

    def urdf(self) -> str:
        """URDF text of ``model``; visuals, limits and the like are those of the prior's URDF, if it is at hand."""
        return urdf_of(self.model, self.prior.description.source)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw what is explained and how sure the parameters are; see
        :func:`~robot_dynamics_ros.identification.plots.plot_identification`."""
        from robot_dynamics_ros.identification.plots import plot_identification

        return plot_identification(self, path)


def identify(
    model: RobotModel, t: Any, q: Any, effort: Any, settings: IdentificationSettings | None = None
) -> Identification:
    """Identify inertial parameters and friction from recorded motion.

    Args:
        model: the robot as far as it is known: its kinematics are taken for true, its inertias as a start.
        t: (n,) times, s.
        q: (n, nv) recorded positions.
        effort: (n, nv) recorded motor efforts, gravity included, N m or N.
        settings: the default ones if not given.

    Raises:
        PoorExcitation: the motion does not show some base parameters; they are named.
        ArgumentError: data of the wrong shape, not finite, too few; or settings that do not fit.
    """
    s = settings or IdentificationSettings()
    columns = Columns(model, s.terms)
    known = structure(columns)
    motion = Motion.of(model, t, q, effort, window=s.window)
    slow = _SLOW * columns.smoothing if s.slow is None else per_joint(s.slow, model.nv, "slow")
    dry = "coulomb" in columns.kinds or s.stribeck
    slow = slow if dry else np.where(model.friction > 0.0, slow, 0.0)
    prior = columns.values(model)
    base_prior = known.base.values(prior)

    def estimate(data: Blocks) -> BaseEstimate:
        return weighted_least_squares(
            known, data, base_prior, confidence=s.confidence, tolerance=s.tolerance, unseen=s.unseen
        )

    def cut(delay: float) -> Blocks:
        return blocks(columns, motion, length=s.block, slow=slow, delay=delay)

    delay = s.delay if s.delay is not None else 0.0
    data = cut(delay)
    base = estimate(data)
    if s.delay is None:
        for _ in range(2):
            delay += _late(known, base, cut, delay, 2.0 * motion.step)
            data = cut(delay)
            base = estimate(data)
    curves: tuple[Stribeck | None, ...] = (None,) * model.nv
    rest = data
    for _ in range(_TURNS if s.stribeck else 1):  # bodies and curves by turns
        full = consistent_parameters(columns, rest, base.noise * np.sqrt(base.correlation), prior, spread=s.spread)
        values = full.values.copy()
        if s.stribeck:
            curves = _curves(columns, data, values)
            rest = dataclasses.replace(data, effort=data.effort - _beyond(columns, data.v, curves))
            base = estimate(rest)
    found = with_parameters(columns, values)
    friction, offset = _friction(columns, found, values, curves)
    zero = np.zeros(model.nv)
    result = Identification(
        model,
        found,
        friction,
        offset,
        base,
        full,
        columns,
        known,
        curves,
        float(delay),
        zero,
        zero,
        zero,
        data.use.mean(axis=0),
        float(motion.t[-1] - motion.t[0]),
    )
    count = data.use.sum(axis=0)

    def rms(left: Array) -> Array:
        return np.sqrt(np.where(data.use, left**2, 0.0).sum(axis=0) / np.maximum(count, 1))

    explained = data.Y @ values + _beyond(columns, data.v, curves)
    return dataclasses.replace(
        result,
        rms=rms(data.effort - explained),
        prior_rms=rms(data.effort - data.Y @ prior),
        effort_rms=rms(data.effort),
    )


def _late(known: Structure, base: BaseEstimate, cut: Any, delay: float, step: float) -> float:
    """Correction of the delay, to first order: τ(t − δ) ≈ τ(t) − δ τ̇."""
    before, after = cut(delay + step), cut(delay - step)
    use = before.use & after.use & ~np.isnan(base.residual)
    values = base.values
    rate = ((known.base.regressor(after.Y) - known.base.regressor(before.Y)) @ values) / (2.0 * step)
    w = np.broadcast_to(1.0 / base.noise, rate.shape)[use]
    x, r = -rate[use] * w, base.residual[use] * w
    power = float(x @ x)
    return float(np.clip(x @ r / power, -0.05, 0.05)) if power > 0.0 else 0.0


def _curves(columns: Columns, data: Blocks, values: Array) -> tuple[Stribeck | None, ...]:
    """The Stribeck curve of each joint from what the bodies leave; ``values`` is brought into line."""
    rigid = values.copy()
    for kind in ("viscous", "coulomb", "offset"):
        rigid[columns.of(kind)] = 0.0
    left = data.effort - data.Y @ rigid
    out: list[Stribeck | None] = []
    for j in range(columns.model.nv):
        use = data.use[:, j]
        curve = fit_stribeck(
            data.v[use, j],
            left[use, j],
            float(columns.smoothing[j]),
            with_viscous="viscous" in columns.kinds,
            with_offset="offset" in columns.kinds,
        )
        out.append(curve)
        if curve is not None:
            for kind, value in (("viscous", curve.viscous), ("coulomb", curve.coulomb), ("offset", curve.offset)):
                if kind in columns.kinds:
                    values[columns.of(kind).start + j] = value
    return tuple(out)


def _beyond(columns: Columns, v: Array, curves: tuple[Stribeck | None, ...]) -> Array:
    """(m, nv) what the curves add to Coulomb friction."""
    out = np.zeros(v.shape)
    for j, curve in enumerate(curves):
        if curve is not None:
            hump = np.exp(-((v[:, j] / curve.speed) ** 2)) * np.tanh(v[:, j] / columns.smoothing[j])
            out[:, j] = (curve.breakaway - curve.coulomb) * hump
    return out


def _friction(
    columns: Columns, model: RobotModel, values: Array, curves: tuple[Stribeck | None, ...]
) -> tuple[Friction, Array]:
    offset = values[columns.of("offset")].copy() if "offset" in columns.kinds else np.zeros(model.nv)
    breakaway = np.array([c.breakaway if c else f for c, f in zip(curves, model.friction, strict=True)])
    speed = np.array([c.speed if c else 0.1 for c in curves])
    return Friction.of(
        model,
        breakaway=np.maximum(breakaway, model.friction),
        stribeck_speed=speed.tolist(),
        smoothing=columns.smoothing.tolist(),
    ), offset
