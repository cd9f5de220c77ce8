"""Evidence of efforts at rest for an explanation: readings corrected, gravity, bodies that may
differ, and noise.

    e = g(q) + Z z + ε,   z ~ N(0, P),   ε ~ N(0, D)

Z are columns of what no description knows exactly.  An explanation adds columns with wide priors (a
payload), or changes the readings. The score is the logarithm of their marginal likelihood.  Half
the difference of the efforts after approaching from both sides is friction: it brakes, so its sign
tells whether efforts and positions are counted the same way.
Source: MacKay, Neural Computation 4 (1992) (comparison of hypotheses by evidence).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics import backend_of, joint_torque_regressor
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.damage import ReadingMistake

# Usual errors of descriptions: what lies within them is no mistake. With twice of them mistakes of
# that size are taken for usual; with half of them, usual descriptions are accused.
# Of a body's mass.
MASS = 0.035
# Error of a centre of mass, m, and
CENTRE = 0.004
# the part of it that grows with the distance of the centre from the joint.
CENTRE_SHARE = 0.02
# Usual errors of measured efforts, judged in the same way: a share of the effort itself, and
SCALE = 0.035
# a share of the effort limit, the same in all poses.
USUAL_OFFSET_SHARE = 0.01
# Friction adds this share of the effort limit to the efforts of an arm that holds still.
_USUAL_FRICTION_SHARE = 0.05
# Efforts below this share of the effort limit are lost in the sensor's resolution.
RESOLVED_LIMIT_SHARE = 0.002
# Share of a joint's usual efforts that no model of rigid bodies explains.
_MODEL = 0.01
# Friction may repeat better than its spread says, down to this share of it.
_CALMEST = 0.1
# Probability that the friction band of a joint tells nothing.
_USELESS_BAND_PROBABILITY = 1e-7
# A brake may carry this share of the effort limit.
_BRAKE_LIMIT_SHARE = 0.3
PARAMETERS_OF = {"link_mass": 1, "payload": 4}
"""Of a body with a mass of its own, by kind."""
# Bodies of another robot may differ by this share of the mass, since any is possible, and by
_WIDE_MASS = 1.0
# so many metres in the centre of mass, a good part of a link's length.
_WIDE_ARM = 0.2


@dataclass(frozen=True, eq=False)
class Readings:
    """Efforts at rest as published.

    Attributes:
        q, effort: (k, nv) positions, and mean efforts after approaching from both sides.
        band: (nv,) mean of half their difference, positive where friction brakes; ``None``: one
            approach only.
        spread: (nv,) standard deviation of one entry of ``effort``.
    """

    q: Array
    effort: Array
    band: Array | None
    spread: Array


@dataclass(frozen=True, eq=False)
class Explanation:
    """Assumptions about readings and robot; the defaults: all is as described.

    Attributes:
        q_order, q_factor, q_shift: (nv,) column, factor and offset that correct positions: q =
            factor · q[order] + shift.
        e_order, e_factor: (nv,) the same of efforts.
        gravity: (3,) m/s².
        compensated: efforts lack gravity.
        held: joints that something else holds.
        bodies: (kind, number) of bodies with a mass of their own: ``"link_mass"`` or ``"payload"``.
        other_robot: bodies may be any.
    """

    q_order: NDArray[np.int64]
    q_factor: Array
    q_shift: Array
    e_order: NDArray[np.int64]
    e_factor: Array
    gravity: Array
    compensated: bool = False
    held: tuple[int, ...] = ()
    bodies: tuple[tuple[str, int], ...] = ()
    other_robot: bool = False

    @classmethod
    def as_described(cls, model: RobotModel) -> Explanation:
        """Nothing is wrong."""
        n = model.nv
        order = np.arange(n, dtype=np.int64)
        return cls(order, np.ones(n), np.zeros(n), order, np.ones(n), np.asarray(model.gravity))

    def without(self, mistake: ReadingMistake) -> Explanation:
        """The same, with a further mistake of readings corrected."""
        n = len(self.q_shift)
        order = mistake.order(n)
        factor = mistake.factor(n)
        x = self
        if "positions" in mistake.columns:
            x = dataclasses.replace(
                x,
                q_order=x.q_order[order],
                q_factor=factor * x.q_factor[order],
                q_shift=factor * x.q_shift[order],
            )
        if "efforts" in mistake.columns:
            x = dataclasses.replace(
                x, e_order=x.e_order[order], e_factor=factor * x.e_factor[order]
            )
        return x

    def positions(self, q: Array) -> Array:
        """(..., nv) true positions of those that are read."""
        return np.asarray(self.q_factor * q[..., self.q_order] + self.q_shift)

    def efforts(self, effort: Array) -> Array:
        """(..., nv) true efforts of those that are read, gravity not added."""
        return np.asarray(self.e_factor * effort[..., self.e_order])

    def read_efforts(self, tau: Array) -> Array:
        """(..., nv) efforts as they are read, of true ones: the inverse of :meth:`efforts`."""
        effort = np.empty_like(tau)
        effort[..., self.e_order] = tau / self.e_factor
        return effort


@dataclass(frozen=True, eq=False)
class Fit:
    """An explanation's evidence.

    Attributes:
        score: logarithm of the marginal likelihood, up to a constant of the readings.
        extra, error: (m,) estimates and standard errors of the extra parameters: of ``bodies``,
            then of ``columns``.
        misfit: mean square of what is unexplained, divided by its variance; about 1 if the
            explanation is right.
        noise: root mean square of what estimates leave, divided by the noise.
    """

    score: float
    extra: Array
    error: Array
    misfit: float
    noise: float


class Weighing:
    """Readings of one arm in k poses, and how well explanations explain them."""

    def __init__(self, model: RobotModel, readings: Readings) -> None:
        self.model = without_compiling(model)
        self.readings = readings
        self.parameters = inertial_parameters(model).reshape(-1, 10)[:, :4]
        self.total_mass = max(float(self.parameters[:, 0].sum()), 1e-6)
        self.g = float(np.linalg.norm(model.gravity)) or 9.81
        self.limit = effort_scale(model)
        # 1 m/s² each
        self._along_axes = [self.model.replace(gravity=tuple(axis)) for axis in np.eye(3).tolist()]

    def columns(self, q: Array, gravity: Array) -> tuple[Array, Array]:
        """(k, nv, nb, 4) efforts against gravity of each body's mass and first moments, and (k, nv,
        nb) as described.
        """
        still = np.zeros(q.shape)
        along = (
            g * joint_torque_regressor(m, q, still, still)
            for g, m in zip(gravity, self._along_axes, strict=True)
        )
        Y = np.asarray(sum(along, np.zeros(1))).reshape(*q.shape, -1, 10)[..., :4]
        return Y, np.einsum("kjbp,bp->kjb", Y, self.parameters)

    def gravity(self, x: Explanation, q: Array) -> Array:
        """(k, nv) efforts against gravity of the bodies as described, at true positions."""
        return np.asarray(self.columns(q, x.gravity)[1].sum(axis=2))

    def expected_and_read(self, x: Explanation) -> tuple[Array, Array]:
        """(k, nv) efforts against gravity of the bodies as described, and true efforts, at the
        readings.
        """
        return self.gravity(x, x.positions(self.readings.q)), x.efforts(self.readings.effort)

    def extra_columns(
        self,
        x: Explanation,
        Y: Array,
        bodies: Array,
    ) -> tuple[list[Array], list[float]]:
        """(k, nv) columns of ``bodies``, and how large their parameters may be: one of a link, four
        of a payload.
        """
        columns = []
        sizes = []
        for kind, body in x.bodies:
            if kind == "link_mass":
                columns.append(bodies[:, :, body])
                sizes.append(0.5)
            else:
                mass = max(0.5, 0.1 * self.total_mass)
                columns += list(np.moveaxis(Y[:, :, body], -1, 0))
                sizes += [mass, *[0.15 * mass] * 3]
        return columns, sizes

    def tolerances(
        self,
        x: Explanation,
        Y: Array,
        bodies: Array,
        band: Array,
    ) -> tuple[Array, Array]:
        """(k, nv, c) columns of what is usually not known exactly, and (c,) how large these
        parameters are.
        """
        k, nv, nb, _ = Y.shape
        m = np.maximum(self.parameters[:, 0], 0.0)
        h = self.parameters[:, 1:]
        centre = CENTRE * m + CENTRE_SHARE * np.linalg.norm(h, axis=1)
        moments = Y[..., 1:].reshape(k, nv, 3 * nb)
        own = np.zeros((k, nv, 2 * nv))
        own[:, range(nv), range(nv)] = bodies.sum(axis=2)
        own[:, range(nv), range(nv, 2 * nv)] = 1.0
        offset = USUAL_OFFSET_SHARE * self.limit + 0.3 * band
        offset = np.where(np.isin(np.arange(nv), x.held), _BRAKE_LIMIT_SHARE * self.limit, offset)
        blocks = [bodies, moments, own]
        sizes = [np.full(nb, MASS), np.repeat(centre, 3), np.full(nv, SCALE), offset]
        if x.other_robot:
            size = np.maximum(m, 0.02 * self.total_mass)
            blocks += [Y[..., 0], moments]
            sizes += [_WIDE_MASS * size, np.repeat(_WIDE_ARM * size, 3)]
        return np.concatenate(blocks, axis=2), np.concatenate(sizes)

    def fit(
        self,
        x: Explanation,
        columns: Array | None = None,
        sizes: Array | None = None,
    ) -> Fit:
        """The evidence of an explanation; ``columns`` (m, k, nv) of further parameters, of
        ``sizes`` (m,), are estimated beside.
        """
        r = self.readings
        q = x.positions(r.q)
        effort = x.efforts(r.effort)
        Y, bodies = self.columns(q, x.gravity)
        if x.held:
            follows = ~np.isin(np.arange(len(self.limit)), x.held)[:, None]
            Y = Y * follows[..., None]
            bodies = bodies * follows
        mean = bodies.sum(axis=2)
        factor = np.abs(x.e_factor)
        if r.band is None:
            band = np.zeros_like(factor)
        else:
            band = np.abs(factor * r.band[x.e_order])
        usual = np.sqrt(np.mean(mean**2, axis=0))
        floor = (RESOLVED_LIMIT_SHARE * self.limit) ** 2 + (_MODEL * usual) ** 2
        spread = (factor * r.spread[x.e_order]) ** 2
        Z, size = self.tolerances(x, Y, bodies, band)
        extra, likely = self.extra_columns(x, Y, bodies)
        if columns is not None and sizes is not None:
            extra = [*extra, *columns]
            likely = [*likely, *sizes]
        if extra:
            Z = np.concatenate([np.stack(extra, axis=-1), Z], axis=2)
            size = np.concatenate([likely, size])
        residual = effort - (0.0 if x.compensated else 1.0) * mean
        fit = regress(residual, Z, size, np.sqrt(spread + floor), len(extra))
        # friction of both sides may cancel better than it repeats
        calm = float(np.clip(fit.noise, _CALMEST, 1.0))
        fit = regress(residual, Z, size, np.sqrt(calm**2 * spread + floor), len(extra))
        return dataclasses.replace(
            fit, score=fit.score + len(r.q) * float(np.log(factor).sum()) + self._braking(x)
        )

    def _braking(self, x: Explanation) -> float:
        """Logarithm of the likelihood of the friction band, given that friction brakes."""
        r = self.readings
        if r.band is None:
            return 0.0
        from scipy.special import log_ndtr

        factor = x.e_factor
        band = factor * r.band[x.e_order] * np.sign(x.q_factor)
        noise = (
            np.abs(factor) * r.spread[x.e_order] / math.sqrt(len(r.q))
            + RESOLVED_LIMIT_SHARE * self.limit
        )
        usual = _USUAL_FRICTION_SHARE * self.limit
        total = np.hypot(usual, noise)
        density = -0.5 * (band / total) ** 2 - np.log(total / np.abs(factor))
        return float(
            np.sum(
                density
                + np.logaddexp(
                    log_ndtr(band * usual / (noise * total)), math.log(_USELESS_BAND_PROBABILITY)
                )
            )
        )


def regress(residual: Array, Z: Array, size: Array, noise: Array, m: int) -> Fit:
    """Fit of columns (k, nv, c) of likely sizes (c,) to residuals (k, nv) with noise (nv,); the
    first ``m`` are the extra ones.
    """
    A = ((Z / noise[:, None]) * size).reshape(-1, len(size))
    b = (residual / noise).ravel()
    L = np.linalg.cholesky(np.eye(len(size)) + A.T @ A)
    inverse = np.linalg.inv(L)
    half = inverse @ (A.T @ b)
    square = float(b @ b - half @ half)
    z = inverse.T @ half
    variance = np.sum(inverse**2, axis=0)
    rest = b - A @ z
    free = max(len(b) - float(np.sum(1.0 - variance)), 0.2 * len(b))
    score = (
        -0.5 * square - float(np.log(np.diag(L)).sum()) - len(residual) * float(np.log(noise).sum())
    )
    error = np.sqrt(variance) * size
    return Fit(
        score, (z * size)[:m], error[:m], square / len(b), math.sqrt(float(rest @ rest) / free)
    )


def without_compiling(model: RobotModel) -> RobotModel:
    """The robot computed by compiled loops where it would be compiled itself: that takes longer
    than weighing.
    """
    if backend_of(model) == "native":
        return model.with_backend("loops")
    return model


def effort_scale(model: RobotModel) -> Array:
    """(nv,) effort limits; where there are none, the largest effort that the weight of the arm may
    take.
    """
    limit = np.asarray(model.effort_limit, dtype=np.float64)
    weight = 9.81 * float(np.sum(model.body_mass)) * 0.5
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, max(weight, 1.0))
