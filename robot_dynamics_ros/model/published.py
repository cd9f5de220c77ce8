"""Public functions and classes: check the model, look configurations up by name, complete the
docstring.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.argument_types import explained
from robot_dynamics_ros.model.robot_model import RobotModel

CONFIGURATIONS = frozenset({"q", "q0", "q1", "start"})
"""Names of parameters that are configurations."""

_OF_EACH_CYCLE = frozenset({"step", "update"})
"""Methods that are called in each cycle or step, where a wrapper's 0.1 µs would count.  They look
at their arguments themselves.
"""

ARGUMENTS = {
    "model": "the robot.",
    "q": (
        "(..., nq) configuration, rad and m, or its name; a floating joint has [x, y, z, qx, qy, "
        "qz, qw]."
    ),
    "v": "(..., nv) velocities, rad/s and m/s.",
    "a": "(..., nv) accelerations, rad/s² and m/s².",
    "tau": "(..., nv) efforts, N m and N.",
    "q_d": "(nv,) desired positions, rad and m.",
    "v_d": "(nv,) desired velocities, rad/s and m/s.",
    "a_d": "(nv,) desired accelerations, rad/s² and m/s².",
    "link": "name of the link, or of a frame of :meth:`RobotModel.with_frame`.",
    "external": "link name → (..., 6) wrench [moment; force] that acts on it, N m and N, about "
    "its origin, in its axes, or "
    ":class:`Wrench` values.",
    "base": (
        "(velocity, acceleration) of the root link's origin, (..., 6) each, [angular; linear], "
        "in its axes."
    ),
    "offset": "(..., 3) the point, in the link's frame, m; its origin if not given.",
    "expressed_in": '``"world"`` or ``"link"`` axes.',
    "representation": (
        '``"rpy"``, URDF\'s fixed-axis roll, pitch, yaw, or ``"quaternion"`` (x, y, z, w).'
    ),
    "damping": "makes it exist at singular poses, too; 0: none.",
    "gains": "fields of the law's class, by name.",
    "convention": '``"standard"`` or ``"modified"`` (Craig).',
    "radius": "m.",
    "length": "m.",
    "height": "m.",
    "density": "kg/m³; give it or ``mass``.",
    "mass": "kg; give it or ``density``.",
    "result": "of :func:`identify`.",
    "settings": "the default ones if not given.",
    "workers": (
        "see :func:`~robot_dynamics_ros.workers.run_tasks`; results are the same wherever they are."
    ),
    "block": "s, over which rows are averaged.",
    "recordings": "those that it was identified from.",
    "checks": "comparisons with recordings that it was not identified from.",
    "estimates": "other estimators, side by side.",
    "out": "C-contiguous float64 array of the result's exact shape, which receives it.",
}
"""Meaning of the parameters that many functions share; leading dimensions are a batch."""


def check_model(model: object, where: str = "model") -> None:
    """Refuse what is no model."""
    if not isinstance(model, RobotModel):
        remedy = "Make one with rd.load_urdf(path) or rd.load_robot(name)."
        raise ArgumentError(
            f"expected a RobotModel, got {type(model).__name__}", where=where, remedy=remedy
        )


def publish(package: str) -> None:
    """Check the models that the public names of a package are called with, look configurations up,
    complete docstrings.

    Functions that pass the model straight to compiled ones are left as they are: those check by
    themselves, at no cost.
    """
    module = sys.modules[package]
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, (type, types.FunctionType)) and value.__doc__:
            if isinstance(value, types.FunctionType):
                parameters = _every_parameter(value)
            else:
                parameters = ()
            value.__doc__ = completed(name, value.__doc__, parameters)
        if isinstance(value, type):
            constructor = inspect.getattr_static(value, "__init__")
            # errors are made of anything, and an enumeration has no constructor of its own
            if isinstance(constructor, types.FunctionType) and not issubclass(value, BaseException):
                type.__setattr__(value, "__init__", explained(_checked(constructor)))
                _explain_methods(value)
        elif isinstance(value, types.FunctionType) and not _checks_at_once(value):
            checked = explained(_checked(value))
            setattr(module, name, checked)
            # where pickle looks for it
            setattr(sys.modules[value.__module__], value.__name__, checked)


def _explain_methods(public: type) -> None:
    """The same of a class's public methods, and of those that it inherits from this package."""
    package = __name__.partition(".")[0]
    for owner in public.__mro__:
        if not owner.__module__.startswith(package):
            continue
        for name, method in list(vars(owner).items()):
            if name.startswith("_") or name in _OF_EACH_CYCLE:
                continue
            function = getattr(method, "__func__", method)
            # a descriptor of another kind, or a method that another class has brought here before
            if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
                continue
            guarded: Any = explained(function)
            if isinstance(method, (classmethod, staticmethod)):
                guarded = type(method)(guarded)
            type.__setattr__(owner, name, guarded)


def completed(name: str, text: str, parameters: Iterable[str] = ()) -> str:
    """The docstring of a public name, with the :data:`ARGUMENTS` and the example that it does not
    have itself.
    """
    text = _with_arguments(inspect.cleandoc(text), parameters)
    if ">>>" in text or name not in examples():
        return text
    return f"{text.rstrip()}\n\nExamples:\n" + "".join(
        f"    {line}\n" for line in _whole(examples()[name])
    )


@functools.cache
def examples() -> dict[str, str]:
    """Public name → its example of ``examples.txt``, without what all of them take for granted."""
    return {name: text for name, text in _sections().items() if name != "given"}


@functools.cache
def _sections() -> dict[str, str]:
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    _, *pieces = re.split(r"^\[([A-Za-z]\w*)\]\n", text, flags=re.M)
    return dict(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=True))


@functools.cache
def _given() -> list[tuple[str, list[str]]]:
    """The lines of the section ``given``, each with the names that it defines, the last one
    first.
    """
    lines = _sections()["given"].splitlines()
    return [
        (line, re.findall(r"\w+", re.sub(r">>> (import .* as )?| = .*", "", line)))
        for line in reversed(lines)
    ]


def _whole(example: str) -> list[str]:
    """The lines of an example, after those of ``given`` whose names it uses."""
    names = set(re.findall(r"(?<![.\w])\w+", re.sub(r"  # .*", "", example)))
    lines = example.splitlines()
    for line, defined in _given():
        if names.intersection(defined):
            lines = [line, *lines]
            names = names.union(re.findall(r"\w+", line))
    return lines


def _with_arguments(text: str, names: Iterable[str]) -> str:
    missing = [
        name
        for name in names
        if name in ARGUMENTS and not re.search(rf"^    (.*, )?{name}(, .*)?:", text, re.M)
    ]
    lines = "\n".join(f"    {name}: {ARGUMENTS[name]}" for name in missing)
    if not missing:
        return text
    if "\nArgs:\n" in text:
        return text.replace("\nArgs:\n", f"\nArgs:\n{lines}\n", 1)
    section = re.search(r"^(Returns|Raises|Warns|Source|>>>)", text, re.M)
    end = section.start() if section else len(text)
    return f"{text[:end].rstrip()}\n\nArgs:\n{lines}\n\n{text[end:]}".rstrip()


def _every_parameter(function: types.FunctionType) -> tuple[str, ...]:
    flags = function.__code__.co_flags
    several = bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    return function.__code__.co_varnames[: _parameters(function) + several]


def _parameters(function: types.FunctionType) -> int:
    return function.__code__.co_argcount + function.__code__.co_kwonlyargcount


def _checks_at_once(function: types.FunctionType) -> bool:
    """Whether a function passes its model straight to a compiled one, which checks it."""
    code = function.__code__
    at_once = any(
        getattr(function.__globals__.get(name), "checks_its_model", False) for name in code.co_names
    )
    return at_once and RobotModel.__dataclass_fields__.keys().isdisjoint(code.co_names)


def _checked(function: types.FunctionType) -> Callable[..., Any]:
    code = function.__code__
    names = code.co_varnames[: _parameters(function)]
    kinds = {name: str(function.__annotations__.get(name, "")) for name in names}
    model = next((k for k, name in enumerate(names) if "RobotModel" in kinds[name]), None)
    if model is None or _checks_at_once(function):
        return function
    alone = kinds[names[model]] == "RobotModel"
    keywords = CONFIGURATIONS.difference(names) if code.co_flags & inspect.CO_VARKEYWORDS else ()
    configurations = [
        (k, name) for k, name in enumerate([*names, *keywords]) if name in CONFIGURATIONS and alone
    ]

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        if len(arguments) > model:
            robot = arguments[model]
        else:
            robot = options.get(names[model], _MISSING)
        if robot is not _MISSING and (
            alone or robot is None or isinstance(robot, (str, bytes, os.PathLike))
        ):
            check_model(robot, names[model])
        for k, name in configurations:
            if k < len(arguments):
                value = arguments[k]
            else:
                value = options.get(name)
            if isinstance(value, (str, Mapping)) and robot is not _MISSING:
                value = robot.configuration(value, where=name)
                if k < len(arguments):
                    arguments = (*arguments[:k], value, *arguments[k + 1 :])
                else:
                    options[name] = value
        return function(*arguments, **options)

    return checked


_MISSING = object()
