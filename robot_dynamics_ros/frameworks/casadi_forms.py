"""The functions of a robot as CasADi functions of scalar symbols, for optimal control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics_ros.frameworks.traced import Operations, Request, evaluate, flat_size, required, traced
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import casadi


def make_function(model: RobotModel, request: Request) -> casadi.Function:
    """A ``casadi.Function`` of column vectors and matrices, on SX."""
    ca = required("casadi", "casadi")
    trace = traced(model, request, where="casadi")
    symbols = [ca.SX.sym(word, *shape) for word, shape in request.inputs]  # of matrices: a wrench a row
    do = Operations(
        const=lambda value: value,
        unary={"neg": lambda x: -x, "sin": ca.sin, "cos": ca.cos, "sqrt": ca.sqrt},
        binary={
            "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
            "div": lambda x, y: x / y, "min": ca.fmin, "max": ca.fmax,
        },
    )  # fmt: skip
    elements = [
        ca.horzsplit(ca.vec(x.T).T) if flat_size(s) else [] for x, (_, s) in zip(symbols, request.inputs, strict=True)
    ]
    values = evaluate(trace.all_outputs(), lambda key: elements[key[0]][key[1]], do)
    results, first = [], 0
    for (_, shape), flat in zip(request.outputs, trace.outputs, strict=True):
        column = ca.vertcat(*(ca.SX(x) for x in values[first : first + len(flat)]))
        first += len(flat)
        rows, columns = (*shape, 1, 1)[:2] if len(shape) < 3 else (shape[0], len(flat) // shape[0])
        results.append(ca.reshape(column, columns, rows).T)  # CasADi keeps columns together
    return ca.Function(
        request.name, symbols, results, [word for word, _ in request.inputs], [word for word, _ in request.outputs]
    )
