"""Many states forward in time, many steps at once: for Monte-Carlo studies, sampling-based planning and learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.engine.arguments import as_input, check_quaternions
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator, quaternion_starts
from robot_dynamics_ros.dynamics.engine.parallel import GRAIN, run_pieces, threads
from robot_dynamics_ros.dynamics.engine.routines import Constant, Memory, Routine, make_routines
from robot_dynamics_ros.dynamics.rollout_steps import RolloutMemory, advance, step
from robot_dynamics_ros.errors import ArgumentError, SimulationError, UnknownNameError
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

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
        options: fields of :class:`RolloutOptions`, by name.

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
        np.ascontiguousarray(np.broadcast_to(efforts, shape)).reshape(count, -1, model.nv),
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
        return path_q.reshape(*lead, steps + 1, model.nq), path_v.reshape(*lead, steps + 1, model.nv)
    return run.q.reshape(*lead, model.nq), run.v.reshape(*lead, model.nv)


@dataclass(frozen=True, eq=False)
class _Run:
    """One rollout of N states, which advance in place: (N, nq) and (N, nv), under (N, steps or 1, nv) efforts, ``varying`` if some for
    each step; of paths (N, steps + 1, nq) and (N, steps + 1, nv); ``settings``: arrays of the memory by name."""

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


_Stepper: TypeAlias = "tuple[Memory[RolloutMemory], Routine]"


@once_per_model
def _steppers(model: RobotModel) -> dict[str, list[_Stepper]]:
    """By method: memories, with their routine, that no thread uses now."""
    return {method: [] for method in METHODS}


def _stepper(run: _Run, rates: Evaluator) -> _Stepper:
    memory = Memory(RolloutMemory, _constants(run), {"rates": rates}, compiled=True)
    memory["quaternion"][:] = quaternion_starts(run.model)
    return memory, make_routines(memory, (advance,), compiled=True)["advance"]


def _constants(run: _Run) -> dict[str, Constant]:
    starts = quaternion_starts(run.model)
    plain = not starts and run.model.nq == run.model.nv
    sizes = {"nq": run.model.nq, "nv": run.model.nv, "quaternions": len(starts)}
    return {**sizes, "rk4": run.method == "rk4", "plain": plain}


def _compiled(run: _Run, rates: Evaluator) -> None:
    """All steps in machine code."""
    # a call cannot be interrupted, so a long run is several of them where nothing is written on the way
    count, unused = len(run.q), _steppers(run.model)[run.method]
    most = run.steps if run.varying or run.paths is not None else max(1, SLICE // max(1, count))
    steppers: list[_Stepper] = []
    for _ in range(threads() if min(run.steps, most) * count > WORTH else 1):
        try:
            steppers.append(unused.pop())
        except IndexError:
            steppers.append(_stepper(run, rates))
        memory = steppers[-1][0]
        for name, numbers in run.settings.items():
            memory[name][:] = numbers
        memory["h"][0], memory["stride"][0] = run.dt, run.model.nv * run.varying
        memory["recorded"][0] = run.paths is not None
    q, v, efforts = run.q.reshape(-1), run.v.reshape(-1), run.efforts.reshape(-1)
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
"""Steps of all states together that are taken without a look at the keyboard: a fraction of a second."""
WORTH = 200
"""Steps of all states together that take longer than waking a second thread."""


def _in_numpy(run: _Run, rates: Evaluator) -> None:
    """The same steps with an array of all states in the place of each number, for backends without machine code."""
    p: Any = RolloutMemory()
    p.__dict__ |= _constants(run)
    p.quaternion, p.q, p.v = quaternion_starts(run.model), run.q.T, run.v.T
    for name, like in (("q", p.q), ("v", p.v)):
        for part in ("rate", "sum", "ahead"):
            setattr(p, f"{name}_{part}", np.empty_like(like))
    for name, numbers in run.settings.items():
        setattr(p, name, np.repeat(np.asarray(numbers)[:, None], len(run.q), axis=1))
    p.rates = lambda *arrays: rates.engine.block([x.T for x in arrays[:-2]], [x.T for x in arrays[-2:]])
    for k in range(run.steps + 1):
        if run.paths is not None:
            run.paths[0][:, k], run.paths[1][:, k] = run.q, run.v
        if k < run.steps:
            p.tau = run.efforts[:, k if run.varying else 0].T
            step(p, run.dt)
