"""The functions of a robot on PyTorch tensors and on arrays of any library that follows the
array-API standard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from types import CodeType, ModuleType
from typing import Any, TypeAlias

from robot_dynamics_ros.dynamics.engine.arguments import common_batch
from robot_dynamics_ros.dynamics.engine.codegen.python_source import python_source
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.frameworks.traced import Request, traced
from robot_dynamics_ros.model.robot_model import RobotModel

Tensor: TypeAlias = Any
"""An array of any library; it has a shape, which numbers have not."""


def make_function(
    model: RobotModel, request: Request
) -> Callable[..., Tensor | tuple[Tensor, ...]]:
    """A function of arrays of one library, with batch dimensions in front."""
    trace = traced(model, request, where="array")
    names = [f"x{k}" for k in range(len(request.inputs))]
    source = python_source(
        "evaluate", names, trace.all_outputs(), lambda key: f"x{key[0]}[{key[1]}]"
    )
    code = compile(source, f"<{request.name} of {model.name}>", "exec")
    bound: dict[ModuleType, Callable[..., tuple[Tensor, ...]]] = {}

    def function(*arguments: Tensor | float) -> Tensor | tuple[Tensor, ...]:
        xp = _namespace(arguments, request.name)
        if xp not in bound:
            bound[xp] = _bind(code, xp)
        like = next(x for x in arguments if _is_array(x))
        arrays: list[Tensor] = [x if _is_array(x) else _full(xp, x, like) for x in arguments]
        shapes = [shape for _, shape in request.inputs]
        leads = [
            tuple(x.shape[: len(x.shape) - len(s)]) for x, s in zip(arrays, shapes, strict=True)
        ]
        words = (word for word, _ in request.inputs)
        batch = common_batch(dict(zip(words, leads, strict=True)), f"array: {request.name}")
        columns = []
        for x, lead, shape in zip(arrays, leads, shapes, strict=True):
            flat = xp.broadcast_to(
                xp.reshape(x, (*lead, math.prod(shape))), (*batch, math.prod(shape))
            )
            columns.append([flat[..., k] for k in range(math.prod(shape))])
        results = []
        for (_, shape), values in zip(
            request.outputs, trace.by_output(bound[xp](*columns)), strict=True
        ):
            part = [_wide(xp, x, batch, like) for x in values]
            results.append(
                xp.reshape(_stack(xp, part) if part else _full(xp, [], like), (*batch, *shape))
            )
        if len(results) == 1:
            return results[0]
        return tuple(results)

    function.__name__ = request.name
    return function


def _namespace(arguments: Sequence[object], name: str) -> ModuleType:
    """The library whose arrays these are."""
    libraries: list[ModuleType] = []
    for x in arguments:
        if type(x).__module__.split(".")[0] == "torch":
            xp = import_module("torch")
        elif hasattr(x, "__array_namespace__"):
            xp = x.__array_namespace__()
        else:
            continue
        if xp not in libraries:
            libraries.append(xp)
    if len(libraries) != 1:
        kinds = ", ".join(sorted({type(x).__name__ for x in arguments}))
        raise ArgumentError(
            f"expected arrays of one library, got {kinds}",
            where=f"array: {name}",
            got=kinds,
            remedy=(
                "Pass PyTorch tensors, or arrays of a library that follows the array-API "
                "standard (NumPy 2, CuPy, JAX)."
            ),
        )
    return libraries[0]


def _bind(code: CodeType, xp: ModuleType) -> Callable[..., tuple[Tensor, ...]]:
    """The traced function on one library's operations; constants stay Python numbers."""

    def on_arrays(word: str) -> Callable[[Tensor | float], Tensor | float]:
        array = getattr(xp, word)
        number = getattr(math, word)
        return lambda x: array(x) if _is_array(x) else number(x)

    def extremum(word: str) -> Callable[[Tensor | float, Tensor | float], Tensor]:
        run = getattr(xp, word)

        def of(x: Tensor | float, y: Tensor | float) -> Tensor:
            like = next(v for v in (x, y) if _is_array(v))
            return run(*(v if _is_array(v) else _full(xp, v, like) for v in (x, y)))

        return of

    space: dict[str, Any] = {word: on_arrays(word) for word in ("sin", "cos", "sqrt")}
    space |= {word: extremum(word) for word in ("minimum", "maximum")}
    exec(code, space)
    return space["evaluate"]


def _is_array(x: object) -> bool:
    return hasattr(x, "shape")


def _full(xp: ModuleType, values: float | list[float], like: Tensor) -> Tensor:
    return xp.asarray(values, dtype=like.dtype, device=like.device)


def _wide(
    xp: ModuleType,
    x: Tensor | float,
    batch: tuple[int, ...],
    like: Tensor,
) -> Tensor:
    return xp.broadcast_to(x if _is_array(x) else _full(xp, x, like), batch)


def _stack(xp: ModuleType, parts: list[Tensor]) -> Tensor:
    if xp.__name__ == "torch":
        return xp.stack(parts, -1)
    return xp.stack(parts, axis=-1)
