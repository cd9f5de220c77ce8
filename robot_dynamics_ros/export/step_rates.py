"""The exported step beside the dynamics: rates of positions, friction and motors, traced for the ordinary emitters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.motion_rate import configuration_rate
from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.export.functions import Argument, Request, Traced
from robot_dynamics_ros.friction_law import secant_slope
from robot_dynamics_ros.model.motors import DCMotor, current_rate
from robot_dynamics_ros.spatial import S, Scalar, maximum, minimum, sqrt

Numbers = Sequence[Scalar]


def normalized(starts: Sequence[int], q: Numbers) -> list[Scalar]:
    """q with unit quaternions; ``starts``: first numbers of the floating joints."""
    unit = list(q)
    for k in (start + 3 for start in starts):
        length = sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
        unit[k : k + 4] = [x / length for x in q[k : k + 4]]
    return unit


class Drives:
    """Friction and motors at the joints.

    Args:
        viscous, dry: (nv) N m s/rad or N s/m, and N m or N.
        width: rad/s or m/s, over which dry friction is smoothed.
        motors: (number in v, motor).
    """

    def __init__(
        self, viscous: Sequence[float], dry: Sequence[float], width: float, motors: Sequence[tuple[int, DCMotor]]
    ) -> None:
        self.viscous, self.dry, self.width, self.motors = viscous, dry, width, motors

    def efforts(self, v: Sequence[S], i: Sequence[S], command: Sequence[S]) -> tuple[list[S], list[S]]:
        """(nv) efforts at the joints and (motors) rates of the currents, for currents ``i`` and efforts or voltages."""
        tau: list[Any] = list(command)
        rates: list[Any] = []
        for current, (k, motor) in zip(i, self.motors, strict=True):
            voltage, ke = _clamped(command[k], motor.max_voltage), motor.emf * motor.gear_ratio
            if motor.inductance:
                rates.append(
                    current_rate(voltage, current, v[k], motor.resistance, motor.inductance, ke, motor.max_current)
                )
            else:
                current = (voltage - ke * v[k]) / motor.resistance
                rates.append(0.0)
            tau[k] = motor.torque_constant * motor.gear_ratio * _clamped(current, motor.max_current)
        for k, x in enumerate(v):
            if self.viscous[k] or self.dry[k]:
                tau[k] = tau[k] - x * secant_slope(x, self.viscous[k], self.dry[k], self.width)
        return tau, rates


def _clamped(x: Scalar, limit: float) -> Scalar:
    return x if math.isinf(limit) else minimum(maximum(x, -limit), limit)


def step_functions(tree: NumericTree, starts: Sequence[int], drives: Drives, graph: Graph) -> tuple[Traced, ...]:
    """Functions for the step alone: ``normalized`` (where joints float), ``position_rates``, ``applied_efforts``."""
    nq, nv, nm = tree.model.nq, tree.model.nv, len(drives.motors)

    def traced(
        name: str, inputs: dict[str, int], outputs: dict[str, int], run: Callable[..., Sequence[Numbers]]
    ) -> Traced:
        leaves = [[graph.leaf((word, k)) for k in range(size)] for word, size in inputs.items()]
        arguments, outcomes = (
            tuple(Argument(word, (size,), "") for word, size in x.items()) for x in (inputs, outputs)
        )
        results = tuple(tuple(graph.lift(x) for x in flat) for flat in run(*leaves))
        return Traced(Request(name, name, "", arguments, outcomes, ()), results)

    currents, rates = ({"i": nm}, {"di": nm}) if nm else ({}, {})

    def efforts(v: Numbers, *rest: Numbers) -> Sequence[Numbers]:
        return drives.efforts(v, rest[0] if nm else (), rest[-1])[: 1 + bool(nm)]

    unit = traced("normalized", {"q": nq}, {"unit": nq}, lambda q: (normalized(starts, q),))
    return (
        *([unit] if starts else []),
        traced("position_rates", {"q": nq, "v": nv}, {"dq": nq}, lambda q, v: (configuration_rate(tree, q, v),)),
        traced("applied_efforts", {"v": nv, **currents, "command": nv}, {"tau": nv, **rates}, efforts),
    )
