"""Many states forward in time, many steps at once: for Monte-Carlo studies, sampling-based planning
and learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.engine.arguments import as_input, check_quaternions
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator, quaternion_starts
from robot_dynamics_ros.dynamics.engine.parallel import GRAIN, run_pieces, threads
from robot_dynamics_ros.dynamics.engine.routines import (
    Constant,
    Declared,
    Integers,
    Kernel,
    Memory,
    Routine,
    Vector,
    constant,
    integers,
    kernel,
    make_routines,
    numbers,
)
from robot_dynamics_ros.errors import ArgumentError, SimulationError, check_name
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import sqrt

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

METHODS = ("rk4", "semi_implicit")
NO_FRICTION = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class RolloutOptions:
    """Options of :func:`rollout`.

    Attributes:
        friction: apply ``model.damping`` and ``model.friction``, the latter smoothed as v/√(v² +
            s²).
        smoothing_speed: s, rad/s or m/s; the smaller, the shorter a step friction asks for.
        stop_stiffness: of the stops at the position limits, N m/rad or N/m; 0 for no stops.
        stop_dissipation: of the stops, s/rad or s/m; see
            :func:`~robot_dynamics_ros.dynamics.algorithms.motion_rate.applied_efforts`.
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
        tau: efforts held over the whole time (..., nv), or one for each step (..., steps, nv); zero
            if not given.  An array whose second-last dimension is ``steps`` and that has one
            dimension more than ``v`` is read as one for each step.
        dt: step, s.
        steps: how many.
        method: ``"semi_implicit"``, Euler's with the velocity first and linearly implicit in
            friction and stops, of first order and stable however stiff those are; or ``"rk4"``, of
            fourth order and explicit.
        path: return the states of all steps, the first and last included.
        options: fields of :class:`RolloutOptions`, by name.

    Returns:
        (q, v) at the end, of the batch's shape; with ``path`` (..., steps + 1, nq) and (..., steps
        + 1, nv).

    Raises:
        ArgumentError: shapes, a step that is not positive and finite, a number of steps below zero.
        UnknownNameError: no such option.
        SimulationError: states that are no longer finite; names the first and suggests a smaller
            step.
    """
    o = options_of(RolloutOptions, options, "rollout")
    steps = _checked_steps(method, dt, steps)
    q = as_input(q, (model.nq,), "q")
    v = as_input(v, (model.nv,), "v")
    check_quaternions(q, quaternion_starts(model))
    efforts, varying = _efforts(model, tau, v, steps)
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], efforts.shape[: -2 if varying else -1])
    count = int(np.prod(lead))
    if varying:
        shape = (*lead, steps, model.nv)
    else:
        shape = (*lead, model.nv)
    settings = {
        "friction": (1.0, 1.0, float(o.smoothing_speed)) if o.friction else NO_FRICTION,
        "stops": (float(o.stop_stiffness), float(o.stop_dissipation)),
        "implicit": (float(dt) if method == "semi_implicit" else 0.0,),
    }
    run = _Run(
        model,
        method,
        np.array(np.broadcast_to(q, (*lead, model.nq))).reshape(count, model.nq),
        np.array(np.broadcast_to(v, (*lead, model.nv))).reshape(count, model.nv),
        np.ascontiguousarray(np.broadcast_to(efforts, shape)).reshape(
            count, steps if varying else 1, model.nv
        ),
        varying,
        settings,
        _paths(model, count, steps) if path else None,
        float(dt),
        steps,
    )
    rates = evaluator(model, "motion_rate")
    (_compiled if rates.backend in ("native", "loops") else _in_numpy)(run, rates)
    _check_finite(run)
    if run.paths is not None:
        path_q, path_v = run.paths
        return path_q.reshape(*lead, steps + 1, model.nq), path_v.reshape(
            *lead, steps + 1, model.nv
        )
    return run.q.reshape(*lead, model.nq), run.v.reshape(*lead, model.nv)


@dataclass(frozen=True, eq=False)
class _Run:
    """One rollout of N states, which advance in place: (N, nq) and (N, nv), under (N, steps or 1,
    nv) efforts, ``varying`` if some for each step; of paths (N, steps + 1, nq) and (N, steps + 1,
    nv); ``settings``: arrays of the memory by name.
    """

    model: RobotModel
    method: str
    q: np.ndarray
    v: np.ndarray
    efforts: np.ndarray
    varying: bool
    settings: dict[str, tuple[float, ...]]
    paths: tuple[np.ndarray, np.ndarray] | None
    dt: float
    steps: int


def _checked_steps(method: str, dt: float, steps: int) -> int:
    check_name("integration method", method, METHODS)
    if not (isinstance(dt, (int, float)) and np.isfinite(dt) and dt > 0.0):
        raise ArgumentError(f"expected a positive step in seconds, got {dt!r}", where="dt", got=dt)
    if not (isinstance(steps, (int, np.integer)) and steps >= 0):
        raise ArgumentError(
            f"expected a whole number of steps, 0 or more, got {steps!r}", where="steps", got=steps
        )
    return int(steps)


def _efforts(
    model: RobotModel,
    tau: ArrayLike | None,
    v: np.ndarray,
    steps: int,
) -> tuple[np.ndarray, bool]:
    if tau is None:
        return np.zeros(model.nv), False
    efforts = as_input(tau, (model.nv,), "tau")
    return efforts, efforts.ndim == v.ndim + 1 and efforts.shape[-2] == steps


def _paths(model: RobotModel, count: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        return np.empty((count, steps + 1, model.nq)), np.empty((count, steps + 1, model.nv))
    except (MemoryError, ValueError):
        problem = f"the path of {steps} steps of {count} states does not fit into memory"
        raise ArgumentError(
            problem, where="steps", got=steps, remedy="Take fewer steps, or path=False."
        ) from None


def _check_finite(run: _Run) -> None:
    bad = ~(np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1))
    if bad.any():
        first = int(np.argmax(bad))
        raise SimulationError(
            f"{int(bad.sum())} of {len(run.q)} states are no longer finite",
            where=f"state {first}",
            got=first,
            remedy=(
                f"A step of {run.dt:g} s is too long for these efforts or this stiffness; take a "
                "shorter one."
            ),
        )


_Stepper: TypeAlias = "tuple[Memory[RolloutMemory], Routine]"


@once_per_model
def _steppers(model: RobotModel) -> dict[str, list[_Stepper]]:
    """By method: memories, with their routine, that no thread uses now."""
    return {method: [] for method in METHODS}


def _stepper(run: _Run, rates: Evaluator) -> _Stepper:
    memory = Memory(RolloutMemory, _constants(run), {"rates": rates}, compiled=True)
    memory["quaternion"][:] = quaternion_starts(run.model)
    return memory, make_routines(memory, (advance,), compiled=True, loops=True)["advance"]


def _constants(run: _Run) -> dict[str, Constant]:
    starts = quaternion_starts(run.model)
    plain = not starts and run.model.nq == run.model.nv
    sizes = {"nq": run.model.nq, "nv": run.model.nv, "quaternions": len(starts)}
    return {**sizes, "rk4": run.method == "rk4", "plain": plain}


def _compiled(run: _Run, rates: Evaluator) -> None:
    """All steps in machine code."""
    # a call cannot be interrupted, so a long run is several of them where nothing is written on the
    # way
    count = len(run.q)
    unused = _steppers(run.model)[run.method]
    if run.varying or run.paths is not None:
        most = run.steps
    else:
        most = max(1, SLICE // max(1, count))
    steppers: list[_Stepper] = []
    for _ in range(threads() if min(run.steps, most) * count > WORTH else 1):
        try:
            steppers.append(unused.pop())
        except IndexError:
            steppers.append(_stepper(run, rates))
        memory = steppers[-1][0]
        for name, values in run.settings.items():
            memory[name][:] = values
        memory["h"][0] = run.dt
        memory["stride"][0] = run.model.nv * run.varying
        memory["recorded"][0] = run.paths is not None
    q = run.q.reshape(-1)
    v = run.v.reshape(-1)
    efforts = run.efforts.reshape(-1)
    paths = (q, v) if run.paths is None else tuple(path.reshape(-1) for path in run.paths)
    remaining = run.steps
    while True:
        part = min(remaining, most)

        def piece(begin: int, end: int, thread: int, steps: int = part) -> bool:
            memory, move = steppers[thread]
            move(memory, begin, end, steps, q, v, efforts, *paths)
            return True

        run_pieces(piece, count, len(steppers), max(GRAIN, SLICE // max(1, part) // GRAIN * GRAIN))
        remaining -= part
        if remaining <= 0:
            break
    unused += steppers


SLICE = 200_000
"""Steps of all states together that are taken without a look at the keyboard: a fraction of a
second.
"""
WORTH = 200
"""Steps of all states together that take longer than waking a second thread."""


def _in_numpy(run: _Run, rates: Evaluator) -> None:
    """The same steps with an array of all states in the place of each number, for backends without
    machine code.
    """
    p: Any = RolloutMemory()
    p.__dict__ |= _constants(run)
    p.quaternion = quaternion_starts(run.model)
    p.q = run.q.T
    p.v = run.v.T
    for name, like in (("q", p.q), ("v", p.v)):
        for part in ("rate", "sum", "ahead"):
            setattr(p, f"{name}_{part}", np.empty_like(like))
    for name, values in run.settings.items():
        setattr(p, name, np.repeat(np.asarray(values)[:, None], len(run.q), axis=1))
    p.rates = lambda *arrays: rates.engine.block(
        [x.T for x in arrays[:-2]], [x.T for x in arrays[-2:]]
    )
    for k in range(run.steps + 1):
        if run.paths is not None:
            run.paths[0][:, k] = run.q
            run.paths[1][:, k] = run.v
        if k < run.steps:
            p.tau = run.efforts[:, k if run.varying else 0].T
            step(p, run.dt)


# -- steps, as routines: one state after the other, or many at once --------------------------------


class RolloutMemory(Declared):
    """One state, or in each number an array of many states, and what a step needs."""

    nq: int
    nv: int
    quaternions: int = constant(int, "number of quaternions in q")
    rk4: bool = constant(bool, "the method of Runge and Kutta; else semi-implicit Euler")
    plain: bool = constant(bool, "whether rates of positions are the velocities")
    quaternion: Integers = integers("quaternions", meaning="where a quaternion begins in q")
    q: Vector = numbers("nq", unit="rad or m", meaning="position")
    v: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity")
    tau: Vector = numbers("nv", unit="N m or N", meaning="efforts")
    friction: Vector = numbers(3, meaning="shares of damping and dry friction, smoothing speed")
    stops: Vector = numbers(2, meaning="stiffness and dissipation of the stops")
    implicit: Vector = numbers(
        1, unit="s", meaning="the step where friction and stops are implicit in it, else 0"
    )
    q_rate: Vector = numbers("nq", meaning="rate of the position")
    v_rate: Vector = numbers("nv", meaning="acceleration")
    q_sum: Vector = numbers("nq", meaning="weighted sum of rates")
    v_sum: Vector = numbers("nv", meaning="weighted sum of accelerations")
    q_ahead: Vector = numbers("nq", meaning="position within the step")
    v_ahead: Vector = numbers("nv", meaning="velocity within the step")
    h: Vector = numbers(1, unit="s", meaning="a step")
    stride: Integers = integers(1, meaning="from the efforts of a step to those of the next")
    recorded: Integers = integers(1, meaning="1 if the path is asked for")
    rates: Kernel = kernel(
        "q", "v", "tau", "friction", "stops", "implicit", "out q_rate", "out v_rate"
    )


def step(p: RolloutMemory, h: float) -> None:
    """Move ``p.q`` and ``p.v`` on by ``h``.  No branches on numbers: each may be an array."""
    p.rates(p.q, p.v, p.tau, p.friction, p.stops, p.implicit, p.q_rate, p.v_rate)
    if p.rk4:
        for k in range(3):
            reach = h if k == 2 else 0.5 * h
            for i in range(p.nq):
                p.q_sum[i] = p.q_rate[i] if k == 0 else p.q_sum[i] + 2.0 * p.q_rate[i]
                p.q_ahead[i] = p.q[i] + reach * p.q_rate[i]
            for i in range(p.nv):
                p.v_sum[i] = p.v_rate[i] if k == 0 else p.v_sum[i] + 2.0 * p.v_rate[i]
                p.v_ahead[i] = p.v[i] + reach * p.v_rate[i]
            p.rates(
                p.q_ahead, p.v_ahead, p.tau, p.friction, p.stops, p.implicit, p.q_rate, p.v_rate
            )
        for i in range(p.nq):
            p.q[i] = p.q[i] + h / 6.0 * (p.q_sum[i] + p.q_rate[i])
        for i in range(p.nv):
            p.v[i] = p.v[i] + h / 6.0 * (p.v_sum[i] + p.v_rate[i])
    else:
        for i in range(p.nv):
            p.v[i] = p.v[i] + h * p.v_rate[i]
        if p.plain:
            for i in range(p.nv):
                p.q[i] = p.q[i] + h * p.v[i]
        else:
            # rates of the position again, by the new velocity
            p.rates(p.q, p.v, p.tau, p.friction, p.stops, p.implicit, p.q_rate, p.v_rate)
            for i in range(p.nq):
                p.q[i] = p.q[i] + h * p.q_rate[i]
    for k in range(p.quaternions):
        x = p.quaternion[k]
        square = (
            p.q[x] * p.q[x]
            + p.q[x + 1] * p.q[x + 1]
            + p.q[x + 2] * p.q[x + 2]
            + p.q[x + 3] * p.q[x + 3]
        )
        length = sqrt(square)
        for i in range(4):
            p.q[x + i] = p.q[x + i] / length


def advance(
    p: RolloutMemory,
    begin: int,
    end: int,
    steps: int,
    q: Vector,
    v: Vector,
    tau: Vector,
    path_q: Vector,
    path_v: Vector,
) -> None:
    """States begin to end of (N, nq) and (N, nv) arrays, in place, under (N, steps, nv) efforts, or
    (N, 1, nv) with ``p.stride`` 0; paths (N, steps + 1, nq) and (N, steps + 1, nv) are written to
    if ``p.recorded`` is 1.
    """
    for s in range(begin, end):
        for i in range(p.nq):
            p.q[i] = q[p.nq * s + i]
        for i in range(p.nv):
            p.v[i] = v[p.nv * s + i]
        if p.stride[0] == 0:
            first = p.nv * s
        else:
            first = p.nv * steps * s
        for k in range(steps + 1):
            if p.recorded[0] != 0:
                row = (steps + 1) * s + k
                for i in range(p.nq):
                    path_q[p.nq * row + i] = p.q[i]
                for i in range(p.nv):
                    path_v[p.nv * row + i] = p.v[i]
            if k < steps:
                for i in range(p.nv):
                    p.tau[i] = tau[first + p.stride[0] * k + i]
                step(p, p.h[0])
        for i in range(p.nq):
            q[p.nq * s + i] = p.q[i]
        for i in range(p.nv):
            v[p.nv * s + i] = p.v[i]
