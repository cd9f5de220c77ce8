"""Reference values: what the algorithms give on a few states, run as written, on plain floats.

No trace, no compiler and no linear-algebra library takes part, so that the values do not depend on what is installed.
Only the tolerances ask for the condition of the mass matrix.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.joint_space import mass_matrix
from robot_dynamics_ros.export.functions import Request, Run, run_on
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.export.step import Call, Composed, parts_of_step
from robot_dynamics_ros.model.robot_model import RobotModel

COUNT = 3
STEP = 1e-4


@dataclass(frozen=True)
class Case:
    """Inputs of one call, by name, and its flat outputs in order; ``loss`` as :func:`loss_of_digits` says."""

    inputs: dict[str, list[float]]
    outputs: list[list[float]]
    loss: float


def loss_of_digits(model: RobotModel, q: list[float]) -> float:
    """How many times larger errors are after a division by the mass matrix: its condition over 100, at least 1, as a power of ten,
    so that it does not depend on what is installed."""
    condition = float(np.linalg.cond(mass_matrix(model, np.array(q))))
    return 10.0 ** max(0, math.ceil(math.log10(condition) - 2.0))


def cases_of(plan: Plan, request: Request) -> list[Case]:
    """A few calls of one function."""
    draw, (_, run) = random.Random(request.name), _runs(plan)[request.name]
    cases = []
    for _ in range(COUNT):
        q = [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nq)]
        q = [float(x) for x in plan.joints.normalized(q)]  # type: ignore[arg-type]
        v = [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nv)]
        loss = loss_of_digits(plan.model, q)
        # a step is short where efforts would send a light finger past all computing
        given = {"q": q, "v": v, "h": [STEP / loss]}
        inputs = {
            a.name: given.get(a.name) or [round(draw.uniform(-5.0, 5.0), 6) for _ in range(a.size)]
            for a in request.inputs
        }
        outputs = [[float(x) for x in flat] for flat in run(inputs)]
        divides = request.kind in ("state_rates", "mass_matrix_inverse") or "tau" in inputs
        cases.append(Case(inputs, outputs, loss if divides else 1.0))
    return cases


def _runs(plan: Plan) -> dict[str, tuple[Request, Run]]:
    """Functions by name, with what computes each: the traced ones, those of the step, those made of them."""
    tree = NumericTree(plan.model)
    parts = parts_of_step(tree, plan.joints) if plan.composed else []
    runs = {request.name: (request, run) for request, run in parts}
    runs |= {t.request.name: (t.request, partial(run_on, t.request, tree)) for t in plan.traced}
    for composed in plan.composed:
        runs[composed.request.name] = composed.request, partial(_run_composed, composed, dict(runs))
    return runs


def _run_composed(
    composed: Composed, functions: Mapping[str, tuple[Request, Run]], inputs: Mapping[str, Sequence[float]]
) -> list[Sequence[float]]:
    """Its statements one after the other, entry by entry."""
    arrays = dict(inputs)
    for s in composed.statements:
        if isinstance(s, Call):
            request, run = functions[s.function]
            given = {a.name: arrays[x] for a, x in zip(request.inputs, s.inputs, strict=True)}
            arrays.update(zip(s.outputs, run(given), strict=True))
        else:
            rates = [(weight, arrays[rate]) for weight, rate in s.rates]
            h = arrays["h"][0]
            arrays[s.target] = [x + h * sum(w * y[k] for w, y in rates) for k, x in enumerate(arrays[s.start])]
    return [arrays[a.name] for a in composed.request.outputs]
