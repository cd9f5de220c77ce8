"""How the public functions reach the compiled ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches, body_wrenches, link_wrenches
from robot_dynamics_ros.errors import UnknownNameError, check_name
from robot_dynamics_ros.model.argument_types import USUAL_ARGUMENTS
from robot_dynamics_ros.model.published import check_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

_O = TypeVar("_O")

MovingBase = tuple[ArrayLike, ArrayLike]
"""Velocity and acceleration of the root link's origin, (..., 6) each, [angular; linear] in its
axes.
"""


def call(
    model: RobotModel,
    name: str,
    inputs: tuple[ArrayLike, ...],
    external: Wrenches = None,
    out: np.ndarray | None = None,
    base: MovingBase | None = None,
    options: Options = (),
    more: tuple[ArrayLike, ...] = (),
) -> Any:
    """Evaluate a function of the registry; ``inputs`` stand before external wrenches and the base's
    motion, ``more`` after them.
    """
    check_model(model)
    if isinstance(inputs[0], (str, Mapping)):
        inputs = (model.configuration(inputs[0]), *inputs[1:])
    if external is not None and not isinstance(external, Mapping):
        remedy = "Give a mapping: link name -> (6,) wrench [moment; force]."
        expect(False, "a mapping from link names to wrenches", external, "external", remedy)
    if external:
        by_link = any(word == "link_external" for word, _ in TABLE[name].inputs)
        wrenches = (link_wrenches if by_link else body_wrenches)(model, external, inputs[0])
        if wrenches.shape[-2]:
            options = (*options, ("external", True))
            inputs = (*inputs, wrenches)
    if base is not None:
        options = (*options, ("moving_base", True))
        inputs = (*inputs, _base_motion(base))
    inputs = (*inputs, *more)
    run = evaluator(model, name, tuple(sorted(options)))
    if out is None:
        return run(*inputs, finite=True)
    return run(*inputs, out, finite=True)


def _base_motion(base: MovingBase) -> np.ndarray:
    remedy = "Each is (6,): angular, then linear, of the root link's origin, in its axes."
    if isinstance(base, np.ndarray):
        pair = base.shape[:1] == (2,)
    else:
        pair = isinstance(base, tuple | list) and len(base) == 2
    expect(pair, "a pair (velocity, acceleration)", base, "base", remedy)
    parts = as_input(base[0], (6,), "base velocity"), as_input(base[1], (6,), "base acceleration")
    return np.stack(np.broadcast_arrays(*parts), axis=-2)


def options_of(kind: type[_O], options: Mapping[str, object], where: str) -> _O:
    """Options by name."""
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for name in options:
        usual = USUAL_ARGUMENTS.get(where, {}).get(name)
        if usual is not None and name not in names:
            raise UnknownNameError("option", name, names, where=where, remedy=usual)
        check_name("option", name, names, where=where)
    return kind(**options)
