"""Base parameters of bodies and joints together: what a robot's efforts can show at best, and how strongly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.dynamics import inverse_dynamics, random_configuration
from robot_dynamics_ros.dynamics.parameters import BaseParameters, independent_columns
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.model.description import Array

_SPEED_SHARE = 0.5  # of the velocity limits, in a fast motion
_RATE = 3.0  # 1/s: its accelerations over its speeds
_SILENT = 1e-12  # of the largest column
_ALONE = 1e-4  # of a column, that others must leave of it: angles such as 1.5708 for a quarter turn make 1e-5
_NO_LIMIT = 2.0  # rad/s or m/s


@dataclass(frozen=True, eq=False)
class Identifiable:
    """Base parameters of an identification.

    Attributes:
        parameters: all parameters.
        base: which of them are independent, and how the others add to them.
        names: (nbase,) one for each, e.g. ``"forearm_link.Izz + 2 more"``.
        effort_scale: (nv,) root mean square of the efforts of fast random motion, N m or N.
        information: (nbase, nbase) Y_bᵀ Y_b, efforts in units of ``effort_scale``, on average over fast random
            motion: what can be seen at best.
        strength: (p,) root mean square share of the efforts that one unit of each of all parameters makes in fast
            motion.
    """

    parameters: EffortParameters
    base: BaseParameters
    names: tuple[str, ...]
    effort_scale: Array
    information: Array
    strength: Array

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sensitivity(self) -> Array:
        """(nbase,) root mean square share of the efforts that one unit of each parameter makes in fast motion."""
        return np.sqrt(self.information.diagonal())

    def meaning(self, k: int, terms: int = 100) -> str:
        """Base parameter ``k`` in terms of all parameters, e.g. ``"a.hx + 0.4 b.m - 1 b.Iyy"``; the largest first."""
        row = self.base.combination[k]
        own = int(self.base.independent[k])
        others = [i for i in np.argsort(-np.abs(row), kind="stable") if i != own and abs(row[i]) > 1e-9]
        text = self.parameters.names[own]
        for i in others[:terms]:
            text += f" {'-' if row[i] < 0 else '+'} {abs(row[i]):.4g} {self.parameters.names[i]}"
        return text + (" ..." if len(others) > terms else "")


def identifiable_parameters(parameters: EffortParameters, *, rows: slice = slice(None)) -> Identifiable:
    """Find the base parameters from the regressor at random states of fast motion; ``rows`` of the efforts are measured.

    Source: Gautier, *Numerical calculation of the base inertial parameters of robots* (1991).
    """
    model, rng = parameters.model, np.random.default_rng(0)
    count = max(200, 6 * len(parameters))
    q = random_configuration(model, rng, size=count)
    limit = np.where(np.isfinite(model.velocity_limit), _SPEED_SHARE * model.velocity_limit, _NO_LIMIT)
    limit = np.where(limit > 0.0, limit, 1.0)
    v = rng.uniform(-1.0, 1.0, (count, model.nv)) * limit
    a = rng.uniform(-1.0, 1.0, (count, model.nv)) * limit * _RATE
    effort = inverse_dynamics(model, q, v, a)[:, rows]
    scale = np.sqrt(np.mean(effort**2, axis=0))
    scale = np.where(scale > 1e-6 * scale.max(initial=0.0), scale, max(float(scale.max(initial=0.0)), 1e-12))
    W = (parameters.regressor(q, v, a)[:, rows] / scale[:, None]).reshape(effort.size, -1)
    norms = np.sqrt(np.mean(W * W, axis=0))
    W[:, norms <= _SILENT * norms.max(initial=0.0)] = 0.0  # rounding errors
    base = independent_columns(W, _ALONE, equilibrate=True)
    more = np.count_nonzero(base.combination, axis=1) - 1
    names = [parameters.names[i] + (f" + {k} more" if k else "") for i, k in zip(base.independent, more, strict=True)]
    Wb = W[:, base.independent]
    return Identifiable(parameters, base, tuple(names), scale, Wb.T @ Wb / count, norms * np.sqrt(len(scale)))
