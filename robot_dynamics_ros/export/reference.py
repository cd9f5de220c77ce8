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


def _step(plan: Plan, tree: NumericTree, state: State, command: list[float], external: list[float], h: float) -> State:
    """The state after ``h`` seconds, entry by entry, in the order of the emitted steps."""
    request = next(t.request for t in plan.traced if t.request.kind == "forward_dynamics")

    def position_rates(q: Array, v: Array) -> Array:
        return np.array(configuration_rate(cast("Tree[float]", tree), q.tolist(), v.tolist()))

    def rates(q: Array, v: Array, i: Array) -> list[Array]:
        tau, di = plan.drives.efforts(v.tolist(), i.tolist(), command)
        inputs = {"q": normalized(plan.floating, q.tolist()), "v": v.tolist(), "tau": tau, "external": external}
        (dv,) = run_on(request, tree, inputs)
        return [position_rates(q, v), np.array(dv), np.array(di)]

    parts = [np.array(x) for x in state]
    if plan.integrator == "semi_implicit_euler":
        _, *others = rates(*parts)
        v, i = (x + h * rate for x, rate in zip(parts[1:], others, strict=True))
        q = parts[0] + h * position_rates(parts[0], v)
    else:
        tableau = TABLEAUS[plan.integrator]
        stages: list[list[Array]] = []
        for row in tableau.A:
            stages.append(rates(*_moved(parts, h, row, stages)))
        q, v, i = _moved(parts, h, tableau.b, stages)
    return cast("list[float]", normalized(plan.floating, q.tolist())), v.tolist(), i.tolist()


def _moved(parts: list[Array], h: float, weights: Array, stages: list[list[Array]]) -> list[Array]:
    """State moved for ``h`` seconds at a weighted sum of rates."""
    return [
        x + h * sum((w * stage[k] for w, stage in zip(weights, stages, strict=False)), np.zeros_like(x))
        for k, x in enumerate(parts)
    ]


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
