"""The first step of every public function and constructor: refuse a model that is none, look configurations up by name."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.configurations import configuration_of
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["ARGUMENTS", "CONFIGURATIONS", "check_model", "publish", "with_arguments"]

CONFIGURATIONS = frozenset({"q", "q0", "q1", "start"})
"""Names of parameters that are configurations."""

ARGUMENTS = {
    "model": "the robot.",
    "q": "(..., nq) configuration, rad and m, or its name; a floating joint has [x, y, z, qx, qy, qz, qw].",
    "v": "(..., nv) velocities, rad/s and m/s.",
    "a": "(..., nv) accelerations, rad/s² and m/s².",
    "tau": "(..., nv) efforts, N m and N.",
    "q_d": "(nv,) desired positions, rad and m.",
    "v_d": "(nv,) desired velocities, rad/s and m/s.",
    "a_d": "(nv,) desired accelerations, rad/s² and m/s².",
    "link": "name of the link, or of a frame of :meth:`RobotModel.with_frame`.",
    "external": "link name → (..., 6) wrench [moment; force] that acts on it, N m and N, about its origin, in its axes, or "
    ":class:`Wrench` values.",
    "base": "(velocity, acceleration) of the root link's origin, (..., 6) each, [angular; linear], in its axes.",
    "out": "C-contiguous float64 array of the result's exact shape, which receives it.",
}
"""Meaning of the parameters that many functions share; leading dimensions are a batch."""


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
    """Check the models that the public names of a package are called with, look configurations up, document arguments.

    Functions that pass the model straight to compiled ones are left as they are: those check by themselves, at no cost.
    """
    module = sys.modules[package]
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.FunctionType) and value.__doc__:
            value.__doc__ = with_arguments(value.__doc__, value.__code__.co_varnames[: _parameters(value)])
        if isinstance(value, type):
            constructor = inspect.getattr_static(value, "__init__")
            if isinstance(constructor, types.FunctionType) and (checked := _checked(constructor)) is not constructor:
                type.__setattr__(value, "__init__", checked)
        elif isinstance(value, types.FunctionType) and (checked := _checked(value)) is not value:
            setattr(module, name, checked)
            setattr(sys.modules[value.__module__], value.__name__, checked)  # where pickle looks for it


def with_arguments(text: str, names: Iterable[str]) -> str:
    """A docstring, and in it the :data:`ARGUMENTS` of these names that it does not describe itself."""
    text = inspect.cleandoc(text)
    missing = [
        name for name in names if name in ARGUMENTS and not re.search(rf"^    (.*, )?{name}(, .*)?:", text, re.M)
    ]
    lines = "\n".join(f"    {name}: {ARGUMENTS[name]}" for name in missing)
    if not missing:
        return text
    if "\nArgs:\n" in text:
        return text.replace("\nArgs:\n", f"\nArgs:\n{lines}\n", 1)
    section = re.search(r"^(Returns|Raises|Warns|Source|>>>)", text, re.M)
    end = section.start() if section else len(text)
    return f"{text[:end].rstrip()}\n\nArgs:\n{lines}\n\n{text[end:]}".rstrip()


def _parameters(function: types.FunctionType) -> int:
    return function.__code__.co_argcount + function.__code__.co_kwonlyargcount


def _checked(function: types.FunctionType) -> Callable[..., Any]:
    code, space = function.__code__, function.__globals__
    names = code.co_varnames[: _parameters(function)]
    kinds = {name: str(function.__annotations__.get(name, "")) for name in names}
    model = next((k for k, name in enumerate(names) if "RobotModel" in kinds[name]), None)
    at_once = any(getattr(space.get(name), "checks_its_model", False) for name in code.co_names)
    if model is None or (at_once and RobotModel.__dataclass_fields__.keys().isdisjoint(code.co_names)):
        return function
    alone = kinds[names[model]] == "RobotModel"
    keywords = CONFIGURATIONS.difference(names) if code.co_flags & inspect.CO_VARKEYWORDS else ()
    configurations = [(k, name) for k, name in enumerate([*names, *keywords]) if name in CONFIGURATIONS and alone]

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
