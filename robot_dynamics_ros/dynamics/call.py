"""How the public functions reach the compiled ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.arguments import as_input, check_finite
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches, body_wrenches, link_wrenches
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.wrench import Wrench

__all__ = ["call", "finite", "named"]


def call(
    model: RobotModel,
    name: str,
    inputs: tuple[Any, ...],
    external: Wrenches = None,
    out: Any = None,
    base: Any = None,
    options: Options = (),
    more: tuple[Any, ...] = (),
) -> Any:
    """Evaluate a function of the registry.

    Args:
        inputs: those before external wrenches and the base's motion; ``more``: those after.
        external, base, out: as the public functions take them.
        options: further options of the function.
    """
    if external:
        by_link = any(word == "link_external" for word, _ in TABLE[name].inputs)
        wrenches = (link_wrenches if by_link else body_wrenches)(model, external, inputs[0])
        if wrenches.shape[-2]:
            options, inputs = (*options, ("external", True)), (*inputs, wrenches)
    if base is not None:
        options, inputs = (*options, ("moving_base", True)), (*inputs, _base_motion(base))
    inputs = (*inputs, *more)
    run = evaluator(model, name, tuple(sorted(options)))
    return run(*inputs) if out is None else run(*inputs, out)


def finite(result: Any, **inputs: Any) -> Any:
    """``result``, if it is finite; else say which input was not.

    Raises:
        ArgumentError: naming the input and the place.
    """
    if not np.isfinite(result).all():
        check_finite(**inputs)
    return result


def named(external: Wrenches) -> dict[str, Any]:
    """External wrenches that are plain numbers, by what to call them in an error."""
    return {
        f"external[{link!r}]": value for link, value in (external or {}).items() if not isinstance(value, Wrench | list)
    }


def _base_motion(base: Any) -> np.ndarray:
    try:
        velocity, acceleration = base
    except (TypeError, ValueError):
        raise ArgumentError(
            "expected a pair (velocity, acceleration)",
            where="base",
            got=base,
            remedy="Each is (6,): angular, then linear, of the root link's origin, in its axes.",
        ) from None
    parts = as_input(velocity, (6,), "base velocity"), as_input(acceleration, (6,), "base acceleration")
    return np.stack(np.broadcast_arrays(*parts), axis=-2)
