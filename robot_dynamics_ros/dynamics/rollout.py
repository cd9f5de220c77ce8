"""Many states forward in time, many steps at once: for Monte-Carlo studies, sampling-based planning and learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.arguments import as_input, check_quaternions
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import quaternion_starts
from robot_dynamics_ros.dynamics.engine.parallel import GRAIN, run_pieces, threads
from robot_dynamics_ros.errors import ArgumentError, SimulationError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["rollout"]

METHODS = ("rk4", "semi_implicit")
NO_FRICTION = (0.0, 0.0, 1.0)


def rollout(
    model: RobotModel,
    q: Any,
    v: Any,
    tau: Any = None,
    *,
    dt: float,
    steps: int,
    method: str = "semi_implicit",
    friction: bool = True,
    smoothing_speed: float = 0.1,
    stop_stiffness: float = 0.0,
    stop_dissipation: float = 0.5,
    path: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Integrate q̈ = M⁻¹ (τ − bias − friction − stops) over fixed steps, for one state or a batch.

    Compiled robots take all steps in machine code.  Efforts saturate at ``model.effort_limit``.

    Args:
        q, v: (..., nq), (..., nv) initial states.
        tau: efforts held over the whole time (..., nv), or one for each step (..., steps, nv); zero if not given.  An array whose
            second-last dimension is ``steps`` and that has one dimension more than ``v`` is read as one for each step.
        dt: step, s.
        steps: how many.
        method: ``"semi_implicit"``, Euler's with the velocity first and linearly implicit in friction and stops, of first order
            and stable however stiff those are; or ``"rk4"``, of fourth order and explicit.
        friction: apply ``model.damping`` and ``model.friction``, the latter smoothed as v/√(v² + s²).
        smoothing_speed: s, rad/s or m/s; the smaller, the shorter a step friction asks for.
        stop_stiffness: of the stops at the position limits, N m/rad or N/m; 0 for no stops.
        stop_dissipation: of the stops, s/rad or s/m; see :func:`~robot_dynamics_ros.dynamics.algorithms.motion_rate.applied_efforts`.
        path: return the states of all steps, the first and last included.

    Returns:
        (q, v) at the end, of the batch's shape; with ``path`` (..., steps + 1, nq) and (..., steps + 1, nv).

    Raises:
        ArgumentError: shapes, a step that is not positive and finite, a number of steps below zero.
        SimulationError: states that are no longer finite; names the first and suggests a smaller step.
    """
    q, v = as_input(q, (model.nq,), "q"), as_input(v, (model.nv,), "v")
    check_quaternions(q, quaternion_starts(model))
    if method not in METHODS:
        raise UnknownNameError("integration method", method, METHODS)
    if not (isinstance(dt, (int, float)) and np.isfinite(dt) and dt > 0.0):
        raise ArgumentError(f"expected a positive step in seconds, got {dt!r}", where="dt", got=dt)
    if not (isinstance(steps, (int, np.integer)) and steps >= 0):
        raise ArgumentError(f"expected a whole number of steps, 0 or more, got {steps!r}", where="steps", got=steps)
    steps = int(steps)
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    efforts, varying = _efforts(model, tau, v, steps)
    lead = np.broadcast_shapes(lead, efforts.shape[: -2 if varying else -1])
    count = int(np.prod(lead))
    x = np.array(np.broadcast_to(q, (*lead, model.nq))).reshape(count, model.nq)
    u = np.array(np.broadcast_to(v, (*lead, model.nv))).reshape(count, model.nv)
    shape = (*lead, steps, model.nv) if varying else (*lead, model.nv)
    efforts = np.ascontiguousarray(np.broadcast_to(efforts, shape)).reshape(count, -1, model.nv)
    scales = (1.0, 1.0, float(smoothing_speed)) if friction else NO_FRICTION
    implicit = float(dt) if method == "semi_implicit" else 0.0
    constants = np.array([*scales, float(stop_stiffness), float(stop_dissipation), implicit])
    try:
        paths = tuple(np.empty((count, steps + 1, n)) for n in (model.nq, model.nv)) if path else None
    except (MemoryError, ValueError):
        raise ArgumentError(
            f"the path of {steps} steps of {count} states does not fit into memory",
            where="steps",
            got=steps,
            remedy="Take fewer steps, or path=False.",
        ) from None
    run = evaluator(model, "motion_rate")
    if run.backend == "native":
        _native(model, run, method, x, u, efforts, varying, constants, paths, float(dt), steps)
    else:
        _stepwise(model, run, method, x, u, efforts, varying, constants, paths, float(dt), steps)
    bad = ~(np.isfinite(x).all(axis=1) & np.isfinite(u).all(axis=1))
    if bad.any():
        first = int(np.argmax(bad))
        raise SimulationError(
            f"{int(bad.sum())} of {count} states are no longer finite",
            where=f"state {first}",
            got=first,
            remedy=f"A step of {dt:g} s is too long for these efforts or this stiffness; take a shorter one.",
        )
    if paths is not None:
        return paths[0].reshape(*lead, steps + 1, model.nq), paths[1].reshape(*lead, steps + 1, model.nv)
    return x.reshape(*lead, model.nq), u.reshape(*lead, model.nv)


def _efforts(model: RobotModel, tau: Any, v: np.ndarray, steps: int) -> tuple[np.ndarray, bool]:
    if tau is None:
        return np.zeros(model.nv), False
    efforts = as_input(tau, (model.nv,), "tau")
    return efforts, efforts.ndim == v.ndim + 1 and efforts.shape[-2] == steps


def _native(
    model: RobotModel, run: Any, method: str, x: np.ndarray, u: np.ndarray, efforts: np.ndarray, varying: bool,
    constants: np.ndarray, paths: Any, dt: float, steps: int,
) -> None:  # fmt: skip
    piece = run.engine.address(f"piece_{method}")
    path_q, path_v = (0, 0) if paths is None else (p.ctypes.data for p in paths)
    context = np.zeros(9, dtype=np.int64)
    context[:7] = (x.ctypes.data, u.ctypes.data, efforts.ctypes.data, model.nv if varying else 0, constants.ctypes.data,
                   path_q, path_v)  # fmt: skip
    context[7:8].view(float)[0] = dt
    # a call cannot be interrupted, so a long run is several of them where nothing is written on the way
    most = steps if varying or paths is not None else max(1, SLICE // max(1, len(x)))
    left = steps
    while True:
        context[8] = part = min(left, most)
        several = threads() if part * len(x) > WORTH else 1
        run_pieces(piece, context, len(x), several, max(GRAIN, several * SLICE // max(1, part) // GRAIN * GRAIN))
        left -= part
        if left <= 0:
            return


SLICE = 200_000
"""Steps of all states together that are taken without a look at the keyboard: a fraction of a second."""
WORTH = 200
"""Steps of all states together that take longer than waking a second thread."""


def _stepwise(
    model: RobotModel, run: Any, method: str, x: np.ndarray, u: np.ndarray, efforts: np.ndarray, varying: bool,
    constants: np.ndarray, paths: Any, h: float, steps: int,
) -> None:  # fmt: skip
    starts = quaternion_starts(model)
    shared = [np.tile(part, (len(x), 1)) for part in (constants[:3], constants[3:5], constants[5:])]

    def rate(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rates = np.empty_like(q), np.empty_like(v)
        run.engine.block([q, v, np.ascontiguousarray(tau), *shared], rates)
        return rates

    for k in range(steps + 1):
        if paths is not None:
            paths[0][:, k], paths[1][:, k] = x, u
        if k == steps:
            return
        tau = efforts[:, k if varying else 0]
        kq, kv = rate(x, u)
        if method == "semi_implicit":
            u += h * kv
            x += h * (rate(x, u)[0] if starts else u)
        else:
            sq, sv = kq.copy(), kv.copy()
            for step in (h / 2.0, h / 2.0, h):
                kq, kv = rate(x + step * kq, u + step * kv)
                weight = 1.0 if step == h else 2.0
                sq += weight * kq
                sv += weight * kv
            x += h / 6.0 * sq
            u += h / 6.0 * sv
        _normalize(x, starts)


def _normalize(q: np.ndarray, starts: list[int]) -> None:
    for start in starts:
        part = q[:, start : start + 4]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
