"""Base parameters of bodies and joints together: what a robot's efforts can show at best, and their
weighted least squares, with confidence intervals and the parameters that data do not show.

Sources: Gautier and Poignet, Control Engineering Practice 9 (2001): weights from each joint's
residual. Künsch, Annals of Statistics 17 (1989): intervals by leaving out one piece after the
other, the jackknife for observations in succession.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics import inverse_dynamics, random_configuration
from robot_dynamics_ros.dynamics.parameters import BaseParameters, independent_columns
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.samples import Blocks
from robot_dynamics_ros.model.description import Array

# Base parameters are found in a random fast motion: of this share of the velocity limits,
_SPEED_SHARE = 0.5
# with accelerations of so many times its speeds, 1/s.
_ASSUMED_RATE_PER_S = 3.0
# A column is zero if its norm is a smaller share of the largest one.
_SILENT = 1e-12
# A parameter is independent if the others leave this share of its column: angles such as 1.5708
# for a quarter turn make 1e-5.
_ALONE = 1e-4
# rad/s or m/s: speed in that motion of a joint without a velocity limit.
_NO_LIMIT = 2.0
_LAGS = 40
# parameters that are named as what limits the condition number at most, and their least part in it
# compared with the largest
_LIMITING = 4
_LIMITING_PART = 0.3
FOLDS = 12
"""Pieces of a recording: each is predicted from the others, and intervals are from what leaving
one out changes.
"""
# A motion repeats where its velocities differ by less than this share of their mean square.
_REPEATS_SHARE = 0.02
_MOVE_REMEDY = (
    "Move all joints, through all of their range, fast and slow, together: robot_dynamics excite "
    "designs such a motion."
)


@dataclass(frozen=True, eq=False)
class Identifiable:
    """Base parameters of an identification, and how well fast random motion shows them."""

    parameters: EffortParameters
    # which of them are independent, and how the others add to them
    base: BaseParameters
    # (nbase,) one for each, e.g. "forearm_link.Izz + 2 more"
    names: tuple[str, ...]
    # (nv,) root mean square of the efforts of fast motion, N m or N
    effort_scale: Array
    # (nbase, nbase) Y_bᵀ Y_b, efforts in units of ``effort_scale``, on average over fast motion
    information: Array
    # (p,) root mean square share of the efforts that one unit of each of all parameters makes in it
    strength: Array

    def __len__(self) -> int:
        return len(self.names)

    @property
    def prior(self) -> Array:
        """(nbase,) what the model says the parameters are."""
        return self.base.values(self.parameters.values())

    @property
    def sensitivity(self) -> Array:
        """(nbase,) root mean square share of the efforts that one unit of each parameter makes in
        fast motion.
        """
        return np.sqrt(self.information.diagonal())

    def meaning(self, k: int, terms: int = 100) -> str:
        """Base parameter ``k`` in terms of all parameters, e.g. ``"a.hx + 0.4 b.m - 1 b.Iyy"``; the
        largest first.
        """
        row = self.base.combination[k]
        own = int(self.base.independent[k])
        others = [
            i for i in np.argsort(-np.abs(row), kind="stable") if i != own and abs(row[i]) > 1e-9
        ]
        text = self.parameters.names[own]
        for i in others[:terms]:
            text += f" {'-' if row[i] < 0 else '+'} {abs(row[i]):.4g} {self.parameters.names[i]}"
        return text + (" ..." if len(others) > terms else "")


def identifiable_parameters(
    parameters: EffortParameters, *, rows: slice = slice(None)
) -> Identifiable:
    """Find the base parameters from the regressor at random states of fast motion; ``rows`` of the
    efforts are measured.

    Source: Gautier, *Numerical calculation of the base inertial parameters of robots* (1991).
    """
    model = parameters.model
    rng = np.random.default_rng(0)
    count = max(200, 6 * len(parameters))
    q = random_configuration(model, rng, size=count)
    limit = np.where(
        np.isfinite(model.velocity_limit), _SPEED_SHARE * model.velocity_limit, _NO_LIMIT
    )
    limit = np.where(limit > 0.0, limit, 1.0)
    v = rng.uniform(-1.0, 1.0, (count, model.nv)) * limit
    a = rng.uniform(-1.0, 1.0, (count, model.nv)) * limit * _ASSUMED_RATE_PER_S
    effort = inverse_dynamics(model, q, v, a)[:, rows]
    scale = np.sqrt(np.mean(effort**2, axis=0))
    scale = np.where(
        scale > 1e-6 * scale.max(initial=0.0), scale, max(float(scale.max(initial=0.0)), 1e-12)
    )
    W = (parameters.regressor(q, v, a)[:, rows] / scale[:, None]).reshape(effort.size, -1)
    norms = np.sqrt(np.mean(W * W, axis=0))
    # rounding errors
    W[:, norms <= _SILENT * norms.max(initial=0.0)] = 0.0
    base = independent_columns(W, _ALONE, equilibrate=True)
    more = np.count_nonzero(base.combination, axis=1) - 1
    names = [
        parameters.names[i] + (f" + {k} more" if k else "")
        for i, k in zip(base.independent, more, strict=True)
    ]
    Wb = W[:, base.independent]
    return Identifiable(
        parameters, base, tuple(names), scale, Wb.T @ Wb / count, norms * np.sqrt(len(scale))
    )


class PoorExcitation(ArgumentError):
    """The motion does not show some parameters.

    Attributes:
        parameters: names of the base parameters that cannot be seen.
    """

    def __init__(
        self,
        problem: str,
        *,
        parameters: Sequence[str],
        where: str = "",
        remedy: str = "",
    ) -> None:
        self.parameters = tuple(parameters)
        super().__init__(problem, where=where, got=self.parameters, remedy=remedy)


@dataclass(frozen=True, eq=False)
class BaseEstimate:
    """Base parameters by weighted least squares."""

    # (nbase,) of the parameters
    names: tuple[str, ...]
    # (nbase,)
    values: Array
    # (nbase,) infinite where the motion does not show the parameter
    standard_error: Array
    # (nbase,) of the confidence intervals
    half_width: Array
    # of these, e.g. 0.95
    confidence: float
    # (nv,) standard deviation of the residual of one block, N m or N
    noise: Array
    # (nv,) how much more than independent ones successive residuals count, at least 1
    correlation: Array
    # condition number of the weighted regressor, columns in proportion to their sensitivity
    condition: float
    # names of parameters that the motion does not show
    unseen: tuple[str, ...]
    # (m, nv) N m or N; NaN where a block was not used
    residual: Array
    # (nbase, nbase) of the values; infinite on the diagonal, zero elsewhere, where not seen
    covariance: Array
    # names of the parameters that take most part in what the motion shows worst, the most first:
    # they limit the condition number
    limited_by: tuple[str, ...]

    def with_covariance(self, covariance: Array) -> BaseEstimate:
        """The same values with other errors."""
        error = np.sqrt(covariance.diagonal().clip(0.0))
        return dataclasses.replace(
            self,
            covariance=covariance,
            standard_error=error,
            half_width=interval_factor(self.confidence) * error,
        )


def _directions(
    identifiable: Identifiable,
    W: Array,
    count: int,
    tolerance: float,
) -> tuple[Array, Array, Array]:
    """(nbase, nbase) directions in parameter space, columns; (nbase,) share of each that ``count``
    states of motion with the regressor W (rows, nbase) show, compared with fast random motion,
    ascending; and (nbase,) whether each parameter takes part in a direction below ``tolerance``.
    """
    from scipy.linalg import eigh

    strength = identifiable.sensitivity
    reference = identifiable.information / np.outer(strength, strength)
    reference[np.diag_indices_from(reference)] += 1e-12
    Wn = W / strength
    squared, T = eigh(Wn.T @ Wn / max(count, 1), reference)
    share = np.sqrt(np.maximum(squared, 0.0))
    part = np.abs(T[:, share < tolerance])
    return T / strength[:, None], share, (part > 0.3 * part.max(axis=0, initial=0.0)).any(axis=1)


def _unseen(
    names: tuple[str, ...],
    joints: Sequence[str],
    use: NDArray[np.bool_],
) -> PoorExcitation:
    """The error that names hidden parameters, and joints that hardly moved."""
    moved = zip(joints, use.mean(axis=0), strict=True)
    still = [repr(name) for name, share in moved if share < 0.01]
    more = ""
    if still:
        more = f" (joint{'s' if len(still) > 1 else ''} {', '.join(still)} hardly moved)"
    text = f"too little excitation: this motion does not show {', '.join(names)}{more}"
    return PoorExcitation(text, parameters=names, where="recording", remedy=_MOVE_REMEDY)


def _check_count(usable: int, parameters: int, least: int | None) -> None:
    """Refuse fewer usable rows than ``least``, by default two for each parameter."""
    if usable < (2 * parameters if least is None else least):
        problem = f"{usable} usable rows are too few for {parameters} parameters"
        raise ArgumentError(problem, where="recording", remedy=f"Record longer. {_MOVE_REMEDY}")


def _condition(A: Array) -> tuple[float, Array]:
    """Largest over smallest singular value, infinite where that is zero; and the direction that the
    smallest belongs to.
    """
    triangle = np.linalg.qr(A, mode="r")
    _, singular, shown = np.linalg.svd(triangle, full_matrices=False)
    if singular[-1] > 0.0:
        return float(singular[0] / singular[-1]), shown[-1]
    return float("inf"), shown[-1]


def weighted_least_squares(
    identifiable: Identifiable,
    data: Blocks,
    *,
    confidence: float = 0.95,
    tolerance: float = 1e-3,
    unseen: str = "refuse",
    passes: int = 3,
    instruments: Array | None = None,
) -> BaseEstimate:
    """Estimate the base parameters.

    Each joint's rows are weighted with the inverse of the standard deviation of its residual, found
    anew in each pass. Where instruments Z are given, the estimate has Zᵀ(τ − Y x) = 0 instead.

    Args:
        tolerance: share, compared with fast random motion, below which a direction counts as
            unseen.
        unseen: ``"refuse"`` unseen directions, or ``"keep"`` them as the model has them.
        passes: number of times that weights are found.
        instruments: (m, nv, nbase) columns that resemble those of the regressor, without its noise;
            weights included.

    Raises:
        PoorExcitation: parameters that cannot be seen, by name.
        ArgumentError: fewer usable rows than parameters.
    """
    use = data.use
    m, nv = data.effort.shape
    least = 2 * nv if unseen == "keep" else None
    _check_count(int(use.sum()), len(identifiable), least)
    joint = np.broadcast_to(np.arange(nv), (m, nv))[use]
    regressor = identifiable.base.regressor(data.Y)[use]
    scaled = regressor / identifiable.effort_scale[joint, None]
    directions, share, hidden = _directions(identifiable, scaled, m, tolerance)
    hidden_names = tuple(
        name for name, is_hidden in zip(identifiable.names, hidden, strict=True) if is_hidden
    )
    if hidden_names and unseen != "keep":
        raise _unseen(hidden_names, identifiable.parameters.model.joint_names, use)
    # the estimate moves from the model's values along the directions that the motion shows
    shown = directions[:, share >= tolerance]
    prior = identifiable.prior
    problem = _WeightedProblem(
        data=data,
        joint=joint,
        A=regressor @ shown,
        b=data.effort[use] - regressor @ prior,
        instruments=None if instruments is None else instruments[use] @ shown,
    )
    fit = _fit(problem, identifiable.effort_scale, passes)
    covariance = shown @ _covariance(problem, fit) @ shown.T
    covariance[hidden] = 0.0
    covariance[:, hidden] = 0.0
    covariance[hidden, hidden] = np.inf
    error = np.sqrt(covariance.diagonal().clip(0.0))
    # columns by what fast motion shows
    condition, weakest = _condition(scaled / identifiable.sensitivity)
    return BaseEstimate(
        names=identifiable.names,
        values=prior + shown @ fit.x,
        standard_error=error,
        half_width=interval_factor(confidence) * error,
        confidence=confidence,
        noise=fit.noise,
        correlation=fit.correlation,
        condition=condition,
        unseen=hidden_names,
        residual=fit.table,
        covariance=covariance,
        limited_by=_largest_parts(identifiable.names, weakest),
    )


@dataclass(frozen=True, eq=False)
class _WeightedProblem:
    """A x = b, each joint's rows with weights of its own."""

    data: Blocks
    # (rows,) the joint that each row belongs to
    joint: NDArray[np.intp]
    # (rows, p)
    A: Array
    # (rows,)
    b: Array
    # (rows, p) Zᵀ(b − A x) = 0 is solved with these, if they are given
    instruments: Array | None

    def solved(self, noise: Array) -> Array:
        """(p,) x, given (nv,) each joint's standard deviation."""
        A = self.A
        if self.instruments is not None:
            Z = self.instruments
            return np.asarray(np.linalg.solve(Z.T @ A, Z.T @ self.b))
        weight = 1.0 / noise[self.joint]
        return np.asarray(np.linalg.lstsq(A * weight[:, None], self.b * weight, rcond=None)[0])


@dataclass(frozen=True, eq=False)
class _WeightedFit:
    """The solution of a :class:`_WeightedProblem`."""

    # (p,)
    x: Array
    # (rows,) b − A x
    residual: Array
    # (m, nv) the same, NaN where a block was not used
    table: Array
    # (nv,) standard deviation of each joint's residual
    noise: Array
    # (nv,) see BaseEstimate.correlation
    correlation: Array


def _fit(problem: _WeightedProblem, effort_scale: Array, passes: int) -> _WeightedFit:
    """Solve, find each joint's standard deviation from its residual, and solve again."""
    use = problem.data.use
    noise = effort_scale.copy()
    # a residual of zero would be an infinite weight
    least_noise = 1e-9 * effort_scale
    correlation = np.ones(len(noise))
    x = np.zeros(problem.A.shape[1])
    residual = problem.b
    table = np.full(use.shape, np.nan)
    # each row's part of the degrees of freedom that x leaves
    free_share = 1.0 - problem.A.shape[1] / len(problem.b)
    for _ in range(passes):
        x = problem.solved(noise)
        residual = problem.b - problem.A @ x
        table[use] = residual
        for j in range(len(noise)):
            own = residual[problem.joint == j]
            if not len(own):
                continue
            free = max(len(own) * free_share, 1.0)
            noise[j] = max(float(np.sqrt(own @ own / free)), least_noise[j])
            correlation[j] = inflation(table[:, j], problem.data.part)
    return _WeightedFit(x, residual, table, noise, correlation)


def _covariance(problem: _WeightedProblem, fit: _WeightedFit) -> Array:
    """(p, p) covariance of x."""
    A = problem.A
    B = problem.instruments
    if B is None:
        B = A / (fit.noise**2)[problem.joint, None]
    block = np.nonzero(problem.data.use)[0]
    return left_out_covariance(B.T @ A, A, B, fit.residual, pieces(problem.data)[block])


def interval_factor(confidence: float) -> float:
    """Half-width of a confidence interval in standard errors: Student's t distribution. What twelve
    pieces change shows a standard error with eleven degrees of freedom.
    """
    from scipy.special import stdtrit

    return float(stdtrit(FOLDS - 1, 0.5 + 0.5 * confidence))


def _largest_parts(names: tuple[str, ...], direction: Array) -> tuple[str, ...]:
    """Names of the parameters that take most part in a direction, the most first."""
    part = np.abs(direction)
    most = np.argsort(-part, kind="stable")[:_LIMITING]
    return tuple(names[k] for k in most if part[k] > _LIMITING_PART * part[most[0]])


def left_out_covariance(
    normal: Array,
    A: Array,
    B: Array,
    residual: Array,
    piece: NDArray[np.int64],
) -> Array:
    """(p, p) covariance of estimates with Bᵀ(b − A x) = 0, from how they change when the rows of
    one ``piece`` after the other are left out.

    Args:
        normal: (p, p) BᵀA, and what else holds the estimates.
        A, B: (rows, p).
        residual: (rows,) b − A x.
        piece: (rows,) number of each row's piece.

    What a model does not know of a joint's friction is alike over seconds and from joint to joint;
    all of it changes from piece to piece.
    """
    changes = []
    for k in np.unique(piece):
        own = piece == k
        rest = np.linalg.pinv(normal - B[own].T @ A[own], rcond=1e-14)
        changes.append(rest @ (B[own].T @ residual[own]))
    count = len(changes)
    D = np.array(changes)
    return np.asarray((count - 1) / count * (D.T @ D))


def pieces(data: Blocks) -> NDArray[np.int64]:
    """(m,) piece that each block belongs to, from 0 to 11: twelfths of the recording, or of all
    recordings one after the other.

    A motion that repeats makes the same errors in each repetition, and is no news to an estimate
    that knows another repetition. Its pieces are twelfths of the period: each is left out in all
    repetitions.
    """
    m = len(data.v)
    period = _period(data.v)
    if period:
        return np.asarray(np.arange(m) % period * FOLDS // period)
    piece = np.full(m, -1)
    # recordings of several motions, of which some repeat
    for k in np.unique(data.part):
        own = np.flatnonzero(data.part == k)
        period = _period(data.v[own])
        if period:
            piece[own] = np.arange(len(own)) % period * FOLDS // period
    others = np.flatnonzero(piece < 0)
    piece[others] = np.arange(len(others)) * FOLDS // max(len(others), 1)
    return piece


def _period(v: Array) -> int:
    """Blocks after which velocities (m, nv) repeat; 0 if they do not."""
    m = len(v)
    x = v / np.maximum(np.sqrt(np.mean(v**2, axis=0)), 1e-12)
    spectrum = np.fft.rfft(x, 2 * m, axis=0)
    products = np.fft.irfft((np.abs(spectrum) ** 2).sum(axis=1), 2 * m)[: m // 2 + 1]
    powers = np.r_[0.0, np.cumsum((x**2).sum(axis=1))]
    lags = np.arange(len(products))
    pairs = m - lags
    # mean square of the change after so many blocks, as a share of the mean square
    change = (powers[pairs] + powers[m] - powers[lags] - 2.0 * products) / pairs / v.shape[1]
    # a slow motion has changed little after a few blocks
    elsewhere = int(np.argmax(change > 1.0))
    again = np.flatnonzero(change[elsewhere:] < _REPEATS_SHARE)
    if elsewhere == 0 or not len(again):
        return 0
    return elsewhere + int(again[0])


def inflation(residual: Array, part: np.ndarray) -> float:
    """Variance of a sum of residuals over what it would be were they independent; blocks not used
    are gaps.
    """
    r = np.where(np.isnan(residual), 0.0, residual)
    used = ~np.isnan(residual)
    power = float(r @ r) / max(int(used.sum()), 1)
    if power <= 0.0:
        return 1.0
    total = 1.0
    for lag in range(1, min(_LAGS, len(r) - 1) + 1):
        both = used[lag:] & used[:-lag] & (part[lag:] == part[:-lag])
        pairs = int(both.sum())
        if pairs < 10:
            break
        rho = float(r[lag:] @ (r[:-lag] * both)) / pairs / power
        if rho < 2.0 / np.sqrt(pairs):
            break
        total += 2.0 * rho
    return total
