"""What a robot's efforts can tell at best: base parameters of bodies and joints together, and how loud each one is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.dynamics import inverse_dynamics, random_configuration
from robot_dynamics_ros.dynamics.parameters import BaseParameters
from robot_dynamics_ros.identification.columns import Columns
from robot_dynamics_ros.model.description import Array

__all__ = ["Structure", "structure"]

_SPEED_SHARE = 0.5  # of the velocity limits, in a lively motion
_RATE = 3.0  # 1/s: its accelerations over its speeds
_SILENT = 1e-12  # of the loudest column
_NO_LIMIT = 2.0  # rad/s or m/s


@dataclass(frozen=True, eq=False)
class Structure:
    """Base parameters of an identification.

    Attributes:
        columns: all parameters.
        base: which of them are independent, and how the others add to them.
        names: (nbase,) one for each, e.g. ``"forearm_link.Izz + 2 more"``.
        effort_scale: (nv,) root mean square of the efforts of lively random motion, N m or N.
        information: (nbase, nbase) Y_bᵀ Y_b, efforts in units of ``effort_scale``, on average over lively random
            motion: what can be seen at best.
    """

    columns: Columns
    base: BaseParameters
    names: tuple[str, ...]
    effort_scale: Array
    information: Array

    def __len__(self) -> int:
        return len(self.names)

    @property
    def loudness(self) -> Array:
        """(nbase,) root mean square share of the efforts that one unit of each parameter makes in lively motion."""
        return np.sqrt(self.information.diagonal())

    def meaning(self, k: int, terms: int = 100) -> str:
        """Base parameter ``k`` in terms of the columns, e.g. ``"a.hx + 0.4 b.m - 1 b.Iyy"``; the largest terms
        first."""
        row = self.base.combination[k]
        own = int(self.base.independent[k])
        others = [i for i in np.argsort(-np.abs(row), kind="stable") if i != own and abs(row[i]) > 1e-9]
        text = self.columns.names[own]
        for i in others[:terms]:
            text += f" {'-' if row[i] < 0 else '+'} {abs(row[i]):.4g} {self.columns.names[i]}"
        return text + (" ..." if len(others) > terms else "")


def structure(columns: Columns, *, samples: int | None = None, seed: int = 0, tolerance: float = 1e-8) -> Structure:
    """Find the base parameters by pivoted QR decomposition of the regressor at random states of lively motion.

    Source: Gautier, *Numerical calculation of the base inertial parameters of robots* (1991).
    """
    from scipy.linalg import qr, solve_triangular

    model, rng = columns.model, np.random.default_rng(seed)
    count = samples or max(200, 6 * len(columns))
    q = random_configuration(model, rng, size=count)
    limit = np.where(np.isfinite(model.velocity_limit), _SPEED_SHARE * model.velocity_limit, _NO_LIMIT)
    limit = np.where(limit > 0.0, limit, 1.0)
    v = rng.uniform(-1.0, 1.0, (count, model.nv)) * limit
    a = rng.uniform(-1.0, 1.0, (count, model.nv)) * limit * _RATE
    effort = inverse_dynamics(model, q, v, a)
    scale = np.sqrt(np.mean(effort**2, axis=0))
    scale = np.where(scale > 1e-6 * scale.max(initial=0.0), scale, max(float(scale.max(initial=0.0)), 1e-12))
    Y = columns.regressor(q, v, a)
    W = (Y / scale[:, None]).reshape(count * model.nv, -1)
    norms = np.sqrt(np.mean(W * W, axis=0))
    W[:, norms <= _SILENT * norms.max(initial=0.0)] = 0.0  # rounding errors
    loud = np.where(norms > _SILENT * norms.max(initial=0.0), norms, 1.0)
    # equilibrated, so that a light wrist's parameters are not mistaken for rounding errors
    _, R, order = qr(W / loud, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.sum(pivots > tolerance * pivots[0])) if pivots.size and pivots[0] > 0.0 else 0
    keep = np.sort(order[:rank])
    rows = np.searchsorted(keep, order[:rank])
    K = np.zeros((rank, len(columns)))
    K[rows, order[:rank]] = 1.0
    if rank < len(columns):
        dependent = order[rank:]
        share = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        K[np.ix_(rows, dependent)] = share * loud[dependent] / loud[order[:rank], None]
        K[np.abs(K) < 1e-9 * np.abs(K).max(axis=1, keepdims=True)] = 0.0
    names = []
    for k, own in enumerate(keep):
        more = int(np.count_nonzero(K[k])) - 1
        names.append(columns.names[own] + (f" + {more} more" if more else ""))
    Wb = W[:, keep]
    return Structure(columns, BaseParameters(keep, K), tuple(names), scale, Wb.T @ Wb / count)
