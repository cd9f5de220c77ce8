"""Reference values: what the algorithms give on a few states, run as written, on plain floats.

No trace, no compiler and no linear-algebra library takes part, so that the values do not depend on what is installed.
Only the tolerances ask for the condition of the mass matrix.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.motion_rate import configuration_rate
from robot_dynamics_ros.dynamics.algorithms.tree import Tree
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.joint_space import mass_matrix
from robot_dynamics_ros.export.functions import Request, run_on
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.export.step_rates import normalized
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.tableaus import TABLEAUS

COUNT = 3
STEP = 1e-4
State: TypeAlias = tuple[list[float], list[float], list[float]]
"""Configuration, velocities, currents."""


@dataclass(frozen=True)
class Case:
    """Inputs of one call, by name, and its flat outputs in order; ``loss`` as :func:`loss_of_digits` says."""

    inputs: dict[str, list[float]]
    outputs: list[list[float]]
    loss: float


@dataclass(frozen=True)
class StepCase:
    """State and command before a step of ``h`` seconds, and the state after it."""

    before: State
    command: list[float]
    external: list[float]
    h: float
    after: State


def _state(plan: Plan, draw: random.Random) -> tuple[list[float], list[float]]:
    """A configuration within ±2 (rad or m) with unit quaternions, and velocities within ±2."""
    q = [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nq)]
    for first in plan.floating:
        norm = math.sqrt(math.fsum(x * x for x in q[first + 3 : first + 7]))
        q[first + 3 : first + 7] = [x / norm for x in q[first + 3 : first + 7]]
    return q, [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nv)]


def loss_of_digits(model: RobotModel, q: list[float]) -> float:
    """How many times larger errors are after a division by the mass matrix: its condition over 100, at least 1.

    As a power of ten, so that it does not depend on what is installed.
    """
    condition = float(np.linalg.cond(mass_matrix(model, np.array(q))))
    return 10.0 ** max(0, math.ceil(math.log10(condition) - 2.0))


def cases_of(plan: Plan, request: Request) -> list[Case]:
    """A few calls of one function."""
    draw = random.Random(request.name)
    tree = NumericTree(plan.model)
    cases = []
    for _ in range(COUNT):
        q, v = _state(plan, draw)
        inputs = {"q": q, "v": v}
        for argument in request.inputs:
            if argument.name not in inputs:
                inputs[argument.name] = [round(draw.uniform(-5.0, 5.0), 6) for _ in range(argument.size)]
        arrays = {a.name: inputs[a.name] for a in request.inputs}
        outputs = [[float(x) for x in flat] for flat in run_on(request, tree, arrays)]
        divides = "tau" in arrays or request.kind == "mass_matrix_inverse"
        cases.append(Case(arrays, outputs, loss_of_digits(plan.model, q) if divides else 1.0))
    return cases


def _unit(plan: Plan, q: list[float]) -> list[float]:
    return cast("list[float]", normalized(plan.floating, q))


def state_rates(
    plan: Plan,
    tree: NumericTree,
    q: list[float],
    v: list[float],
    i: list[float],
    command: list[float],
    external: list[float],
) -> State:
    """(q̇, v̇, di/dt) of the robot with its friction and motors."""
    request = next(t.request for t in plan.traced if t.request.kind == "forward_dynamics")
    tau, di = plan.drives.efforts(v, i, command)
    inputs = {"q": _unit(plan, q), "v": v, "tau": tau, "external": external}
    (dv,) = run_on(request, tree, inputs)
    return configuration_rate(cast("Tree[float]", tree), q, v), [float(x) for x in dv], di


def _step(plan: Plan, tree: NumericTree, state: State, command: list[float], external: list[float], h: float) -> State:
    q, v, i = state
    if plan.integrator == "semi_implicit_euler":
        _, dv, di = state_rates(plan, tree, q, v, i, command, external)
        v = [x + h * y for x, y in zip(v, dv, strict=True)]
        i = [x + h * y for x, y in zip(i, di, strict=True)]
        q = [x + h * y for x, y in zip(q, configuration_rate(cast("Tree[float]", tree), q, v), strict=True)]
        return _unit(plan, q), v, i
    tableau = TABLEAUS[plan.integrator]
    stages: list[State] = []

    def moved(weights: Array) -> State:
        q, v, i = (
            [
                x + h * sum(float(w) * stage[k][n] for w, stage in zip(weights, stages, strict=False))
                for n, x in enumerate(part)
            ]
            for k, part in enumerate(state)
        )
        return q, v, i

    for row in tableau.A:
        stages.append(state_rates(plan, tree, *moved(row), command, external))
    q, v, i = moved(tableau.b)
    return _unit(plan, q), v, i


def step_cases(plan: Plan) -> list[StepCase]:
    """A few steps."""
    draw = random.Random("step")
    tree = NumericTree(plan.model)
    cases = []
    for _ in range(COUNT):
        q, v = _state(plan, draw)
        i = [round(draw.uniform(-1.0, 1.0), 6) for _ in plan.motors]
        command = [round(draw.uniform(-5.0, 5.0), 6) for _ in range(plan.model.nv)]
        external = [round(draw.uniform(-5.0, 5.0), 6) for _ in range(6 * len(plan.external))]
        h = STEP / loss_of_digits(plan.model, q)  # else efforts would send a light finger past all computing
        cases.append(StepCase((q, v, i), command, external, h, _step(plan, tree, (q, v, i), command, external, h)))
    return cases
