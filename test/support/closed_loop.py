"""Closed loops without the package's own simulator: an arm under a law, integrated independently of
both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

import robot_dynamics_ros as rd

__all__ = ["continuous", "mid", "sampled"]


def mid(model: rd.RobotModel) -> np.ndarray:
    """The middle of the position limits, zero where there are none."""
    return np.where(np.isfinite(model.upper), 0.5 * (model.lower + model.upper), 0.0)


def continuous(
    model: rd.RobotModel,
    law: Callable[[float, np.ndarray, np.ndarray], np.ndarray],
    q,
    v,
    times,
    friction=None,
    **tolerances: float,
) -> tuple[np.ndarray, np.ndarray]:
    """(N, n) positions and velocities at ``times`` with the law evaluated at every instant."""
    n = model.nv

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        position = x[:n].copy()
        velocity = x[n:].copy()
        tau = np.array(law(t, position, velocity))
        if friction is not None:
            tau = tau - friction(velocity)
        return np.concatenate([velocity, rd.forward_dynamics(model, position, velocity, tau)])

    run = solve_ivp(
        rate,
        (times[0], times[-1]),
        np.concatenate([q, v]),
        method="DOP853",
        t_eval=times,
        **{"rtol": 1e-10, "atol": 1e-12, **tolerances},
    )
    assert run.success, run.message
    return run.y[:n].T, run.y[n:].T


def sampled(
    model: rd.RobotModel,
    control: Callable[[int, np.ndarray, np.ndarray], np.ndarray],
    q,
    v,
    steps: int,
    *,
    period: int = 1_000_000,
    start: int = 1_700_000_000_000_000_000,
    external=None,
    friction=None,
):
    """Yield (t in ns, q, v, tau) once a period; the effort is held in between, two RK4 steps a
    period.
    """
    q = np.array(q, dtype=float)
    v = np.array(v, dtype=float)
    h = period * 1e-9 / 2

    def acceleration(x, y, tau):
        net = tau if friction is None else tau - friction(y)
        return rd.forward_dynamics(model, x, y, net, external=external)

    for k in range(steps):
        t = start + k * period
        tau = np.array(control(t, q, v))
        yield t, q.copy(), v.copy(), tau
        for _ in range(2):
            k1v = v
            k1a = acceleration(q, v, tau)
            k2v = v + h / 2 * k1a
            k2a = acceleration(q + h / 2 * k1v, v + h / 2 * k1a, tau)
            k3v = v + h / 2 * k2a
            k3a = acceleration(q + h / 2 * k2v, v + h / 2 * k2a, tau)
            k4v = v + h * k3a
            k4a = acceleration(q + h * k3v, v + h * k3a, tau)
            q = q + h / 6 * (k1v + 2 * k2v + 2 * k3v + k4v)
            v = v + h / 6 * (k1a + 2 * k2a + 2 * k3a + k4a)
