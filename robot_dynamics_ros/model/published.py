"""The first step of every public function and constructor: refuse a model that is none, look configurations up by name."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.configurations import configuration_of
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["CONFIGURATIONS", "check_model", "publish"]

CONFIGURATIONS = frozenset({"q", "q0", "q1", "start"})
"""Names of parameters that are configurations."""


def check_model(model: object, where: str = "model") -> None:
    """Refuse what is no model.

    Raises:
        ArgumentError: the error says how to load one.
    """
    if not isinstance(model, RobotModel):
        raise ArgumentError(
            f"expected a RobotModel, got {type(model).__name__}",
            where=where,
            got=model,
            remedy="Make one with rd.load_urdf(path) or rd.load_robot(name).",
        )


def publish(package: str) -> None:
    """Check the models that the public names of a package are called with, and look configurations up by name.

    Functions that pass the model straight to compiled ones are left as they are: those check by themselves, at no cost.
    """
    module = sys.modules[package]
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, type):
            if isinstance(constructor := vars(value).get("__init__"), types.FunctionType):
                type.__setattr__(value, "__init__", _checked(constructor))
        elif isinstance(value, types.FunctionType) and (checked := _checked(value)) is not value:
            setattr(module, name, checked)
            setattr(sys.modules[value.__module__], value.__name__, checked)  # where pickle looks for it


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    code, space = function.__code__, function.__globals__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    kinds = {name: str(function.__annotations__.get(name, "")) for name in names}
    model = next((k for k, name in enumerate(names) if "RobotModel" in kinds[name]), None)
    at_once = any(getattr(space.get(name), "checks_its_model", False) for name in code.co_names)
    if model is None or (at_once and RobotModel.__dataclass_fields__.keys().isdisjoint(code.co_names)):
        return function
    alone = kinds[names[model]] == "RobotModel"
    configurations = [(k, name) for k, name in enumerate(names) if name in CONFIGURATIONS and alone]

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        robot = arguments[model] if len(arguments) > model else options.get(names[model], _MISSING)
        if robot is not _MISSING and (alone or robot is None or isinstance(robot, (str, bytes, os.PathLike))):
            check_model(robot, names[model])
        for k, name in configurations:
            value = arguments[k] if k < len(arguments) else options.get(name)
            if isinstance(value, (str, Mapping)) and robot is not _MISSING:
                value = configuration_of(robot, value, name)
                if k < len(arguments):
                    arguments = (*arguments[:k], value, *arguments[k + 1 :])
                else:
                    options[name] = value
        return function(*arguments, **options)

    return checked


_MISSING = object()
