"""All parameters at once: bodies that can exist, friction that brakes, as near to what was known as
the data allow.

Many sets of full parameters give the same base parameters.  Two terms are minimized together: the
misfit of the efforts divided by their noise, and the distances from the prior divided by their
expected size.  The expected size, for bodies and for joints, is found from the data: it is the one
with which the recording is most likely (evidence).  With rich data the prior then has little
effect; with poor data the robot stays as it was.

The pseudo-inertia of a body, J = [[Σ, h], [hᵀ, m]] with Σ = ½ tr(I) 1 − I, is positive definite
exactly when there is a distribution of mass of which m, h and I are the moments.  With J₀ = L₀ L₀ᵀ
of a body known to exist and U upper triangular with a positive diagonal, J = L₀ U Uᵀ L₀ᵀ is
positive definite for all U, and reaches all bodies; log-diagonal and off-diagonal entries of U are
free parameters, all zero at the body known.

Sources: MacKay, Neural Computation 4 (1992), *Bayesian interpolation* (evidence and its fixed-point
iteration); Wensing, Kim and Slotine, IEEE RA-L 3 (2018) (consistency as J > 0); Rucker and Wensing,
IEEE RA-L 7 (2022) (triangular factors as parameters); Lee and Park, IEEE RA-L 3 (2018) (Riemannian
distance between bodies).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.identification.least_squares import (
    Identifiable,
    left_out_covariance,
    pieces,
)
from robot_dynamics_ros.identification.samples import Blocks
from robot_dynamics_ros.model.description import Array

# Share of the robot's mass that a body has at least: lighter ones have no second moments to scale.
_MASS_SHARE = 1e-4
# where the search for the evidence begins
_EVIDENCE_SEARCH_START = 0.5
_PRIOR_SHARE = 0.1
# observations that these beginnings are worth
_PRIOR_OBSERVATIONS = 2.0
_ROUNDS = 6
# m, least radius of gyration
_RADIUS = 2e-3
_UPPER = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
# of the free entries of U
_ENTRY_ROWS, _COLUMNS = np.array([(k, k) for k in range(4)] + list(_UPPER)).T


def pseudo_inertia(parameters: Array) -> Array:
    """(..., 4, 4) pseudo-inertia of [m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the body
    frame's origin.
    """
    p = np.asarray(parameters, dtype=np.float64)
    I = np.empty((*p.shape[:-1], 3, 3))  # noqa: E741 - the book's name
    for k, (r, c) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        I[..., r, c] = I[..., c, r] = p[..., 4 + k]
    J = np.empty((*p.shape[:-1], 4, 4))
    J[..., :3, :3] = 0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I
    J[..., :3, 3] = J[..., 3, :3] = p[..., 1:4]
    J[..., 3, 3] = p[..., 0]
    return J


def from_pseudo_inertia(J: Array) -> Array:
    """(..., 10) the inverse of :func:`pseudo_inertia`; linear."""
    S = J[..., :3, :3]
    I = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S  # noqa: E741
    return np.concatenate(
        [J[..., 3:, 3], J[..., :3, 3], I[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]], axis=-1
    )


def is_consistent(parameters: Array, tolerance: float = 0.0) -> np.ndarray:
    """(...) whether a rigid body has these parameters: the least eigenvalue of J exceeds
    ``tolerance`` times its trace.
    """
    J = pseudo_inertia(parameters)
    low = np.linalg.eigvalsh(J)[..., 0]
    return np.asarray(low > tolerance * np.trace(J, axis1=-2, axis2=-1))


class BodyShape:
    """Free parameters of one body around one that is known.

    Args:
        parameters: (10,) of the body known; one that does not exist, or is a point, is replaced by
            the nearest with a radius of gyration of at least 2 mm.
        least_mass: kg.
    """

    def __init__(self, parameters: Array, least_mass: float = 1e-6) -> None:
        p = np.array(parameters, dtype=np.float64)
        mass = max(float(p[0]), least_mass)
        com = p[1:4] / p[0] if p[0] > 0.0 else np.zeros(3)
        about_origin = pseudo_inertia(p)[:3, :3] * (mass / p[0] if p[0] > 0.0 else 0.0)
        # about the centre of mass
        s, V = np.linalg.eigh(about_origin - mass * np.outer(com, com))
        second = (V * np.maximum(s, mass * _RADIUS**2)) @ V.T
        J = np.empty((4, 4))
        J[:3, :3] = second + mass * np.outer(com, com)
        J[:3, 3] = J[3, :3] = mass * com
        J[3, 3] = mass
        self.start = from_pseudo_inertia(J)
        self._L = np.linalg.cholesky(J)

    @staticmethod
    def _factor(x: Array) -> Array:
        U = np.diag(np.exp(np.clip(x[:4], -40.0, 40.0)))
        for k, (r, c) in enumerate(_UPPER):
            U[r, c] = x[4 + k]
        return U

    def parameters(self, x: Array) -> Array:
        """(10,) inertial parameters of free ones (10,); always those of a body."""
        LU = self._L @ self._factor(x)
        return from_pseudo_inertia(LU @ LU.T)

    def derivative(self, x: Array) -> Array:
        """(10, 10) ∂parameters/∂x."""
        U = self._factor(x)
        LU = self._L @ U
        d = self._L[:, _ENTRY_ROWS].T[:, :, None] * LU[:, _COLUMNS].T[:, None, :]
        d[:4] *= U.diagonal()[:, None, None]
        return from_pseudo_inertia(d + d.transpose(0, 2, 1)).T

    @staticmethod
    def distance(x: Array) -> Array:
        """(10,) whose norm is the Riemannian distance from the body known, to first order:
        √tr((J₀⁻¹ dJ)²).
        """
        return np.concatenate([2.0 * x[:4], np.sqrt(2.0) * x[4:]])


@dataclass(frozen=True, eq=False)
class ConsistentEstimate:
    """Full parameters of bodies that exist.  The covariance is what neither the data nor how far
    parameters may well be from the prior
    tell of them: masses that efforts do not tell have as wide ones as the prior leaves them."""

    # (p,) in the order of ``EffortParameters``
    values: Array
    # (p, p)
    covariance: Array
    # (nb,) Riemannian, of each body from its prior; 0.7 is about a factor of 2 in mass or one
    # principal moment
    distance: Array
    # whether the optimisation ended by itself
    converged: bool
    # how far from the prior bodies may well be, by the evidence or as given
    spread: float
    # of the usual efforts that a joint's parameter may well explain beyond its prior, by the
    # evidence
    share: float
    # (p,) the estimate in the coordinates that are searched
    free: Array

    @property
    def standard_error(self) -> Array:
        """(p,) of all parameters."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))


class _ConsistencyProblem:
    """Misfit and distance from the prior as one nonlinear least-squares problem in free
    parameters.
    """

    def __init__(self, identifiable: Identifiable, data: Blocks, noise: Array) -> None:
        parameters = identifiable.parameters
        self.nb, p, prior = parameters.model.nb, len(parameters), parameters.values()
        self.split = 10 * self.nb
        joint = np.broadcast_to(np.arange(data.effort.shape[1]), data.effort.shape)[data.use]
        w = 1.0 / noise[joint]
        stacked = np.column_stack([data.Y[data.use] * w[:, None], data.effort[data.use] * w])
        # the misfit depends on the data through this triangle alone
        if len(stacked) > p:
            R = np.asarray(np.linalg.qr(stacked, mode="r"))
        else:
            R = stacked
        self.A = R[:, :p]
        self.b = R[:, p]
        masses = prior[: self.split : 10]
        least = _MASS_SHARE * max(float(masses.sum()) / max(self.nb, 1), 1e-3)
        parts = [slice(10 * k, 10 * k + 10) for k in range(self.nb)]
        self.shapes = [(part, BodyShape(prior[part], least)) for part in parts]
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
        bodies = [shape.parameters(x[part]) for part, shape in self.shapes]
        return np.concatenate([*bodies, x[self.split :]])

    def away(self, x: Array) -> Array:
        """(p,) distances from the prior: Riemannian ones of bodies, shares of usual efforts of
        joints.
        """
        return np.asarray(self.metric * (x - self.start))

    def slope(self, x: Array, A: Array) -> Array:
        """(rows, p) ∂(A full)/∂x, to first order."""
        out = A.copy()
        for part, shape in self.shapes:
            out[:, part] = A[:, part] @ shape.derivative(x[part])
        return out

    def minimise(
        self,
        x: Array,
        hold: Array,
        evaluations: int,
        tolerance: float,
    ) -> tuple[Array, Array, bool]:
        """Levenberg-Marquardt steps within the bounds, with weights ``hold`` (p,) of the distances:
        x, JᵀJ of the misfit there, and whether it converged.
        """
        J = self.slope(x, self.A)
        misfit = self.A @ self.full(x) - self.b
        cost = misfit @ misfit + np.sum((hold * self.away(x)) ** 2)
        damping = 1e-3
        scale = hold * self.metric
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
                x = new
                misfit = residual
                cost = now
                J = self.slope(x, self.A)
                damping = max(damping / 5.0, 1e-9)
                if done:
                    return x, J.T @ J, True
            else:
                damping *= 4.0
                if damping > 1e12:
                    # no step makes it less: rounding errors
                    return x, J.T @ J, True
        return x, J.T @ J, False


def consistent_parameters(
    identifiable: Identifiable,
    data: Blocks,
    noise: Array,
    *,
    spread: float | None = None,
    share: float | None = None,
    begin: Array | None = None,
    evaluations: int = 200,
) -> ConsistentEstimate:
    """Maximum a posteriori estimate of all parameters.

    Args:
        noise: (nv,) standard deviation of one block's efforts.
        spread: how far from the prior a body may well be, as a Riemannian distance; by the evidence
            if not given.
        share: of the usual efforts that a joint's parameter may well explain beyond its prior; by
            the evidence if not given.
        begin: (p,) ``free`` of an estimate from nearly the same data, where the search begins.
    """
    problem = _ConsistencyProblem(identifiable, data, noise)
    bodies = np.arange(len(problem.start)) < problem.split
    size = spread or _EVIDENCE_SEARCH_START
    usual = share or _PRIOR_SHARE
    x = problem.start if begin is None else begin
    converged = False
    settled = spread is not None and share is not None
    for k in range(_ROUNDS):
        hold = np.where(bodies, 1.0 / size, 1.0 / usual)
        last = k == _ROUNDS - 1 or settled
        x, H, converged = problem.minimise(
            x, hold, evaluations if last else 15, 1e-7 if last else 1e-4
        )
        if last:
            break
        held = (hold * problem.metric) ** 2
        # how much of each parameter the data determine, from 0 to 1
        by_data = 1.0 - held * np.linalg.pinv(H + np.diag(held), hermitian=True).diagonal()
        by_data = np.clip(by_data, 0.0, 1.0)
        away = problem.away(x) ** 2
        before = (size, usual)
        if spread is None:
            size = math.sqrt(
                (away[bodies].sum() + _PRIOR_OBSERVATIONS * _EVIDENCE_SEARCH_START**2)
                / (by_data[bodies].sum() + _PRIOR_OBSERVATIONS)
            )
        if share is None and not bodies.all():
            usual = math.sqrt(
                (away[~bodies].sum() + _PRIOR_OBSERVATIONS * _PRIOR_SHARE**2)
                / (by_data[~bodies].sum() + _PRIOR_OBSERVATIONS)
            )
        settled = max(abs(size / before[0] - 1.0), abs(usual / before[1] - 1.0)) < 0.05
    free = x[: problem.split].reshape(problem.nb, 10)
    distance = np.array([np.linalg.norm(BodyShape.distance(row)) for row in free])
    remain = np.asarray(
        np.linalg.pinv(H + np.diag((hold * problem.metric) ** 2), hermitian=True), np.float64
    )
    D = problem.slope(x, np.eye(len(x)))
    return ConsistentEstimate(
        problem.full(x), D @ remain @ D.T, distance, converged, size, usual, x
    )


def with_left_out(
    identifiable: Identifiable,
    data: Blocks,
    noise: Array,
    estimate: ConsistentEstimate,
) -> ConsistentEstimate:
    """The estimate with the covariance of what changes, to first order, when one piece of the
    recording after the other is left out, and of what the prior adds: its spread where the efforts
    do not show a parameter.
    """
    problem = _ConsistencyProblem(identifiable, data, noise)
    block, joint = np.nonzero(data.use)
    w = 1.0 / noise[joint]
    rows = data.Y[data.use] * w[:, None]
    residual = data.effort[data.use] * w - rows @ estimate.values
    J = problem.slope(estimate.free, rows)
    bodies = np.arange(len(problem.start)) < problem.split
    hold = np.where(bodies, 1.0 / estimate.spread, 1.0 / estimate.share) * problem.metric
    normal = J.T @ J + np.diag(hold**2)
    changes = left_out_covariance(normal, J, J, residual, pieces(data)[block])
    by_prior = np.linalg.pinv(normal, hermitian=True) * hold
    D = problem.slope(estimate.free, np.eye(len(normal)))
    covariance = D @ (changes + by_prior @ by_prior.T) @ D.T
    return dataclasses.replace(estimate, covariance=covariance)
