"""The functions of a robot as CasADi functions of scalar symbols, for optimal control."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING

from robot_dynamics_ros.dynamics.engine.codegen.graph import evaluate
from robot_dynamics_ros.errors import optional_package
from robot_dynamics_ros.frameworks.traced import make_request, traced
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import casadi


def casadi_function(
    model: RobotModel, name: str, *, external: bool = False, base: bool = False, **options: object
) -> casadi.Function:
    """A function of the registry as a ``casadi.Function`` of SX, with inputs and outputs named as there.

    Vectors are columns; ``external`` is (nb, 6), ``base`` (2, 6).  CasADi differentiates it, generates C of it, and takes
    it into SX and MX graphs.

    Args:
        name: of the function.
        external: with an input for wrenches on the moving bodies, where the function takes them.
        base: with an input for the motion of the root.
        options: of the function, e.g. ``link="tool0"``.

    Raises:
        BackendError: CasADi is not installed.
        UnknownNameError: no such function, link or frame.
        ArgumentError: an option is missing, or not one of this function; the robot is too large for it.
    """
    ca = optional_package("casadi", "functions in CasADi need", "casadi", "'robot_dynamics_ros[casadi]'")
    present = [word for word, is_input in (("external", external), ("base", base)) if is_input]
    request = make_request(model, name, options, present, where="casadi")
    trace = traced(model, request, where="casadi")
    symbols = [ca.SX.sym(word, *shape) for word, shape in request.inputs]  # of matrices: a wrench a row
    xp = SimpleNamespace(sin=ca.sin, cos=ca.cos, sqrt=ca.sqrt, minimum=ca.fmin, maximum=ca.fmax)
    elements = [
        ca.horzsplit(ca.vec(x.T).T) if prod(s) else [] for x, (_, s) in zip(symbols, request.inputs, strict=True)
    ]
    values = evaluate(trace.all_outputs(), lambda key: elements[key[0]][key[1]], xp, float)
    results = []
    for (_, shape), flat in zip(request.outputs, trace.by_output(values), strict=True):
        column = ca.vertcat(*(ca.SX(x) for x in flat))
        rows, columns = (*shape, 1, 1)[:2] if len(shape) < 3 else (shape[0], len(flat) // shape[0])
        results.append(ca.reshape(column, columns, rows).T)  # CasADi keeps columns together
    return ca.Function(
        request.name, symbols, results, [word for word, _ in request.inputs], [word for word, _ in request.outputs]
    )
