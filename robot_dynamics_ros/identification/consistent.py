"""All parameters at once: bodies that can exist, friction that brakes, as near to what was known as the data allow.

Many sets of full parameters give the same base parameters.  Two terms are minimized together: the misfit of the efforts
divided by their noise, and the distances from the prior divided by their expected size.  The expected size, for bodies
and for joints, is found from the data: it is the one with which the recording is most likely (evidence).  With rich
data the prior then has little effect; with poor data the robot stays as it was.

Source: MacKay, Neural Computation 4 (1992), *Bayesian interpolation* (evidence and its fixed-point iteration).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.identification.least_squares import Identifiable
from robot_dynamics_ros.identification.pseudo_inertia import BodyShape
from robot_dynamics_ros.identification.samples import Blocks
from robot_dynamics_ros.model.description import Array

_MASS_SHARE = 1e-4
_SPREAD, _SHARE = 0.5, 0.1  # where the search for the evidence begins
_HOLD = 2.0  # observations that these beginnings are worth
_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class ConsistentEstimate:
    """Full parameters of bodies that exist.

    Attributes:
        values: (p,) in the order of :class:`~robot_dynamics_ros.identification.effort_parameters.EffortParameters`.
        covariance: (p, p) of all parameters: what neither the data nor how far they may well be from the prior tell of
            them.  Masses that efforts do not tell have as wide ones as the prior leaves them.
        distance: (nb,) Riemannian distance of each body from its prior; 0.7 is about a factor of 2 in mass or one
            principal moment.
        converged: whether the optimisation ended by itself.
        spread: how far from the prior bodies may well be, by the evidence or as given.
        share: of the usual efforts that a joint's parameter may well explain beyond its prior, by the evidence.
        free: (p,) the estimate in the coordinates that are searched.
    """

    values: Array
    covariance: Array
    distance: Array
    converged: bool
    spread: float
    share: float
    free: Array

    @property
    def standard_error(self) -> Array:
        """(p,) of all parameters."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))


class _Problem:
    """Misfit and distance from the prior as one nonlinear least-squares problem in free parameters."""

    def __init__(self, identifiable: Identifiable, data: Blocks, noise: Array, prior: Array) -> None:
        parameters = identifiable.parameters
        self.nb, p = parameters.model.nb, len(parameters)
        self.split = 10 * self.nb
        joint = np.broadcast_to(np.arange(data.effort.shape[1]), data.effort.shape)[data.use]
        w = 1.0 / noise[joint]
        stacked = np.column_stack([data.Y[data.use] * w[:, None], data.effort[data.use] * w])
        # the misfit depends on the data through this triangle alone
        R = np.asarray(np.linalg.qr(stacked, mode="r")) if len(stacked) > p else stacked
        self.A, self.b = R[:, :p], R[:, p]
        masses = prior[: self.split : 10]
        least = _MASS_SHARE * max(float(masses.sum()) / max(self.nb, 1), 1e-3)
        self.shapes = [BodyShape(prior[10 * k : 10 * k + 10], least) for k in range(self.nb)]
        self.start = np.concatenate([np.zeros(self.split), prior[self.split :]])
        self.low, self.high = parameters.bounds()
        self.low[: self.split] = -np.inf
        self.start = np.clip(self.start, self.low, self.high)
        # a joint's usual efforts: of fast motion, or those recorded where they are more
        usual = np.array([identifiable.effort_scale[j] for j in parameters.joint_of])
        recorded = np.sqrt(np.mean(data.effort**2, axis=0))[parameters.joint_of]
        bodies = np.tile(BodyShape.distance(np.ones(10)), self.nb)
        self.metric = np.concatenate(
            [bodies, identifiable.strength[self.split :] * usual / np.maximum(usual, recorded)]
        )

    def full(self, x: Array) -> Array:
        """(p,) parameters of free ones."""
        bodies = [shape.parameters(x[part]) for part, shape in self.parts()]
        return np.concatenate([*bodies, x[self.split :]])

    def parts(self) -> Iterator[tuple[slice, BodyShape]]:
        """Each body's parameters, and its shape."""
        return ((slice(10 * k, 10 * k + 10), shape) for k, shape in enumerate(self.shapes))

    def away(self, x: Array) -> Array:
        """(p,) distances from the prior: Riemannian ones of bodies, shares of usual efforts of joints."""
        return np.asarray(self.metric * (x - self.start))

    def slope(self, x: Array, A: Array) -> Array:
        """(rows, p) ∂(A full)/∂x, to first order."""
        out = A.copy()
        for part, shape in self.parts():
            out[:, part] = A[:, part] @ shape.derivative(x[part])
        return out

    def minimise(self, x: Array, hold: Array, evaluations: int, tolerance: float) -> tuple[Array, Array, bool]:
        """Levenberg-Marquardt steps within the bounds, with weights ``hold`` (p,) of the distances: x, JᵀJ of the misfit there, and
        whether it converged."""
        J = self.slope(x, self.A)
        misfit = self.A @ self.full(x) - self.b
        cost = misfit @ misfit + np.sum((hold * self.away(x)) ** 2)
        damping, scale = 1e-3, hold * self.metric
        for _ in range(evaluations):
            H = J.T @ J
            gradient = J.T @ misfit + scale**2 * (x - self.start)
            free = ((x > self.low) | (gradient < 0.0)) & ((x < self.high) | (gradient > 0.0))
            K = (H + np.diag(scale**2))[np.ix_(free, free)]
            K[np.diag_indices_from(K)] *= 1.0 + damping
            K[np.diag_indices_from(K)] += 1e-300
            step = np.zeros_like(x)
            step[free] = -np.linalg.solve(K, gradient[free])
            new = np.clip(x + step, self.low, self.high)
            residual = self.A @ self.full(new) - self.b
            now = residual @ residual + np.sum((hold * self.away(new)) ** 2)
            if now <= cost:
                done = cost - now <= tolerance * (cost + 1e-12) and damping <= 1e-2
                x, misfit, cost = new, residual, now
                J = self.slope(x, self.A)
                damping = max(damping / 5.0, 1e-9)
                if done:
                    return x, J.T @ J, True
            else:
                damping *= 4.0
                if damping > 1e12:
                    return x, J.T @ J, True  # no step makes it less: rounding errors
        return x, J.T @ J, False


def consistent_parameters(
    identifiable: Identifiable,
    data: Blocks,
    noise: Array,
    prior: Array,
    *,
    spread: float | None = None,
    share: float | None = None,
    begin: Array | None = None,
    evaluations: int = 200,
) -> ConsistentEstimate:
    """Maximum a posteriori estimate of all parameters.

    Args:
        noise: (nv,) standard deviation of one block's efforts.  prior: (p,) what was known.
        spread: how far from the prior a body may well be, as a Riemannian distance; by the evidence if not given.
        share: of the usual efforts that a joint's parameter may well explain beyond its prior; by the evidence if not given.
        begin: (p,) ``free`` of an estimate from nearly the same data, where the search begins.
    """
    problem = _Problem(identifiable, data, noise, prior)
    bodies = np.arange(len(prior)) < problem.split
    size, usual = spread or _SPREAD, share or _SHARE
    x, converged = problem.start if begin is None else begin, False
    settled = spread is not None and share is not None
    for k in range(_ROUNDS):
        hold = np.where(bodies, 1.0 / size, 1.0 / usual)
        last = k == _ROUNDS - 1 or settled
        x, H, converged = problem.minimise(x, hold, evaluations if last else 15, 1e-7 if last else 1e-4)
        if last:
            break
        held = (hold * problem.metric) ** 2
        # how much of each parameter the data determine, from 0 to 1
        by_data = 1.0 - held * np.linalg.pinv(H + np.diag(held), hermitian=True).diagonal()
        by_data = np.clip(by_data, 0.0, 1.0)
        away = problem.away(x) ** 2
        before = (size, usual)
        if spread is None:
            size = math.sqrt((away[bodies].sum() + _HOLD * _SPREAD**2) / (by_data[bodies].sum() + _HOLD))
        if share is None and not bodies.all():
            usual = math.sqrt((away[~bodies].sum() + _HOLD * _SHARE**2) / (by_data[~bodies].sum() + _HOLD))
        settled = max(abs(size / before[0] - 1.0), abs(usual / before[1] - 1.0)) < 0.05
    free = x[: problem.split].reshape(problem.nb, 10)
    distance = np.array([np.linalg.norm(BodyShape.distance(row)) for row in free])
    remain = np.asarray(np.linalg.pinv(H + np.diag((hold * problem.metric) ** 2), hermitian=True), np.float64)
    D = problem.slope(x, np.eye(len(x)))
    return ConsistentEstimate(problem.full(x), D @ remain @ D.T, distance, converged, size, usual, x)
