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
    symbols = [ca.SX.sym(word, flat_size(shape)) for word, shape in request.inputs]
    do = Operations(
        const=lambda value: value,
        unary={"neg": lambda x: -x, "sin": ca.sin, "cos": ca.cos, "sqrt": ca.sqrt},
        binary={
            "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
            "div": lambda x, y: x / y, "min": ca.fmin, "max": ca.fmax,
        },
    )  # fmt: skip
    elements = [ca.vertsplit(x) if flat_size(s) else [] for x, (_, s) in zip(symbols, request.inputs, strict=True)]
    values = evaluate(trace.all_outputs(), lambda key: elements[key[0]][key[1]], do)
    results, first = [], 0
    for (_, shape), flat in zip(request.outputs, trace.outputs, strict=True):
        column = ca.vertcat(*(ca.SX(x) for x in values[first : first + len(flat)]))
        first += len(flat)
        rows, columns = (*shape, 1, 1)[:2] if len(shape) < 3 else (shape[0], len(flat) // shape[0])
        results.append(ca.reshape(column, columns, rows).T)  # CasADi keeps columns together
    # inputs in the shapes of the registry: a wrench a row
    arguments = []
    matrices = []
    for symbol, (word, shape) in zip(symbols, request.inputs, strict=True):
        if len(shape) == 2:
            matrix = ca.SX.sym(word, *shape)
            matrices.append((symbol, ca.reshape(matrix.T, flat_size(shape), 1)))
            arguments.append(matrix)
        else:
            arguments.append(symbol)
    if matrices:
        results = ca.substitute(results, [a for a, _ in matrices], [b for _, b in matrices])
    return ca.Function(
        request.name, arguments, results, [word for word, _ in request.inputs], [word for word, _ in request.outputs]
    )
