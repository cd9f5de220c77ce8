"""Many states forward in time, many steps at once: for Monte-Carlo studies, sampling-based planning and learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.engine.arguments import as_input, check_quaternions
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Engine, quaternion_starts
from robot_dynamics_ros.dynamics.engine.parallel import GRAIN, run_pieces, threads
from robot_dynamics_ros.errors import ArgumentError, SimulationError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from robot_dynamics_ros.dynamics.engine.native_engine import NativeEngine

METHODS = ("rk4", "semi_implicit")
NO_FRICTION = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class RolloutOptions:
    """Options of :func:`rollout`.

    Attributes:
        friction: apply ``model.damping`` and ``model.friction``, the latter smoothed as v/√(v² + s²).
        smoothing_speed: s, rad/s or m/s; the smaller, the shorter a step friction asks for.
        stop_stiffness: of the stops at the position limits, N m/rad or N/m; 0 for no stops.
        stop_dissipation: of the stops, s/rad or s/m; see :func:`~robot_dynamics_ros.dynamics.algorithms.motion_rate.applied_efforts`.
    """

    friction: bool = True
    smoothing_speed: float = 0.1
    stop_stiffness: float = 0.0
    stop_dissipation: float = 0.5


def rollout(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    method: str = "semi_implicit",
    path: bool = False,
    **options: object,
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
        path: return the states of all steps, the first and last included.
        options: fields of :class:`RolloutOptions`, by name: ``friction``, ``smoothing_speed``, ``stop_stiffness``,
            ``stop_dissipation``.

    Returns:
        (q, v) at the end, of the batch's shape; with ``path`` (..., steps + 1, nq) and (..., steps + 1, nv).

    Raises:
        ArgumentError: shapes, a step that is not positive and finite, a number of steps below zero.
        UnknownNameError: no such option.
        SimulationError: states that are no longer finite; names the first and suggests a smaller step.
    """
    o = options_of(RolloutOptions, options, "rollout")
    steps = _checked_steps(method, dt, steps)
    q, v = as_input(q, (model.nq,), "q"), as_input(v, (model.nv,), "v")
    check_quaternions(q, quaternion_starts(model))
    efforts, varying = _efforts(model, tau, v, steps)
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], efforts.shape[: -2 if varying else -1])
    count = int(np.prod(lead))
    shape = (*lead, steps, model.nv) if varying else (*lead, model.nv)
    scales = (1.0, 1.0, float(o.smoothing_speed)) if o.friction else NO_FRICTION
    implicit = float(dt) if method == "semi_implicit" else 0.0
    run = _Run(
        model,
        method,
        np.array(np.broadcast_to(q, (*lead, model.nq))).reshape(count, model.nq),
        np.array(np.broadcast_to(v, (*lead, model.nv))).reshape(count, model.nv),
        np.ascontiguousarray(np.broadcast_to(efforts, shape)).reshape(count, -1, model.nv),
        varying,
        np.array([*scales, float(o.stop_stiffness), float(o.stop_dissipation), implicit]),
        _paths(model, count, steps) if path else None,
        float(dt),
        steps,
    )
    kernel = evaluator(model, "motion_rate")
    if kernel.backend == "native":
        _native(run, cast("NativeEngine", kernel.engine))
    else:
        _stepwise(run, kernel.engine)
    _check_finite(run)
    if run.paths is not None:
        path_q, path_v = run.paths
        return path_q.reshape(*lead, steps + 1, model.nq), path_v.reshape(*lead, steps + 1, model.nv)
    return run.q.reshape(*lead, model.nq), run.v.reshape(*lead, model.nv)


@dataclass(frozen=True, eq=False)
class _Run:
    """One rollout of N states, which advance in place.

    Attributes:
        q, v: (N, nq), (N, nv).
        efforts: (N, steps or 1, nv); varying: whether there are some for each step.
        constants: friction (3), stops (2), the step where it is implicit or 0.
        paths: (N, steps + 1, nq) and (N, steps + 1, nv), or ``None``.
    """

    model: RobotModel
    method: str
    q: np.ndarray
    v: np.ndarray
    efforts: np.ndarray
    varying: bool
    constants: np.ndarray
    paths: tuple[np.ndarray, np.ndarray] | None
    dt: float
    steps: int


def _checked_steps(method: str, dt: float, steps: int) -> int:
    if method not in METHODS:
        raise UnknownNameError("integration method", method, METHODS)
    if not (isinstance(dt, (int, float)) and np.isfinite(dt) and dt > 0.0):
        raise ArgumentError(f"expected a positive step in seconds, got {dt!r}", where="dt", got=dt)
    if not (isinstance(steps, (int, np.integer)) and steps >= 0):
        raise ArgumentError(f"expected a whole number of steps, 0 or more, got {steps!r}", where="steps", got=steps)
    return int(steps)


def _efforts(model: RobotModel, tau: ArrayLike | None, v: np.ndarray, steps: int) -> tuple[np.ndarray, bool]:
    if tau is None:
        return np.zeros(model.nv), False
    efforts = as_input(tau, (model.nv,), "tau")
    return efforts, efforts.ndim == v.ndim + 1 and efforts.shape[-2] == steps


def _paths(model: RobotModel, count: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        return np.empty((count, steps + 1, model.nq)), np.empty((count, steps + 1, model.nv))
    except (MemoryError, ValueError):
        raise ArgumentError(
            f"the path of {steps} steps of {count} states does not fit into memory",
            where="steps",
            got=steps,
            remedy="Take fewer steps, or path=False.",
        ) from None


def _check_finite(run: _Run) -> None:
    bad = ~(np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1))
    if bad.any():
        first = int(np.argmax(bad))
        raise SimulationError(
            f"{int(bad.sum())} of {len(run.q)} states are no longer finite",
            where=f"state {first}",
            got=first,
            remedy=f"A step of {run.dt:g} s is too long for these efforts or this stiffness; take a shorter one.",
        )


def _native(run: _Run, engine: NativeEngine) -> None:
    """All steps in machine code."""
    piece = engine.address(f"piece_{run.method}")
    path_q, path_v = (0, 0) if run.paths is None else (p.ctypes.data for p in run.paths)
    tau_step = run.model.nv if run.varying else 0
    context = np.zeros(9, dtype=np.int64)
    context[:7] = (run.q.ctypes.data, run.v.ctypes.data, run.efforts.ctypes.data, tau_step, run.constants.ctypes.data,
                   path_q, path_v)  # fmt: skip
    context[7:8].view(float)[0] = run.dt
    # a call cannot be interrupted, so a long run is several of them where nothing is written on the way
    count = len(run.q)
    most = run.steps if run.varying or run.paths is not None else max(1, SLICE // max(1, count))
    remaining = run.steps
    while True:
        context[8] = part = min(remaining, most)
        several = threads() if part * count > WORTH else 1
        longest = max(GRAIN, SLICE // max(1, part) // GRAIN * GRAIN)
        run_pieces(
            piece, context, count, several, longest, (run.q, run.v, run.efforts, run.constants, *(run.paths or ()))
        )
        remaining -= part
        if remaining <= 0:
            return


SLICE = 200_000
"""Steps of all states together that are taken without a look at the keyboard: a fraction of a second."""
WORTH = 200
"""Steps of all states together that take longer than waking a second thread."""


def _stepwise(run: _Run, engine: Engine) -> None:
    """Step by step in NumPy, for backends without machine code."""
    starts, x, u, h = quaternion_starts(run.model), run.q, run.v, run.dt
    shared = [np.tile(part, (len(x), 1)) for part in (run.constants[:3], run.constants[3:5], run.constants[5:])]

    def rate(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rates = np.empty_like(q), np.empty_like(v)
        engine.block([q, v, np.ascontiguousarray(tau), *shared], rates)
        return rates

    for k in range(run.steps + 1):
        if run.paths is not None:
            run.paths[0][:, k], run.paths[1][:, k] = x, u
        if k == run.steps:
            return
        tau = run.efforts[:, k if run.varying else 0]
        kq, kv = rate(x, u)
        if run.method == "semi_implicit":
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
