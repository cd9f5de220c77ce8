"""A robot's functions by name, for a framework: what :func:`jax_functions` and :func:`array_functions` return."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from robot_dynamics_ros.dynamics.engine.registry import TABLE
from robot_dynamics_ros.dynamics.engine.trace import OPTIONAL
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.frameworks.traced import Request, make_request
from robot_dynamics_ros.model.robot_model import RobotModel

DEFAULTS = {"point": (0.0, 0.0, 0.0)}

FrameworkFunction: TypeAlias = Callable[..., Any]
"""Takes and returns arrays of its framework; several outputs as a tuple."""


class FrameworkFunctions(Mapping[str, FrameworkFunction]):
    """All functions of one robot in one framework: ``f.forward_dynamics(q, v, tau)`` or ``f["forward_dynamics"]``.

    A function takes its inputs in the order of the registry, or by name, then options by keyword
    (``f.jacobian(q, link="tool0")``).  ``external`` (..., nb, 6) is a wrench [moment; force] for each moving body, about
    the origin and in the axes of its link; ``base`` (..., 2, 6) is velocity and acceleration of the root.  Leading
    dimensions are a batch.  Several outputs come as a tuple.

    Everything is made on first use and kept; it may be used from several threads.
    """

    def __init__(
        self, model: RobotModel, framework: str, make: Callable[[RobotModel, Request], FrameworkFunction]
    ) -> None:
        self.model = model
        self._framework, self._make = framework, make
        self._made: dict[Request, FrameworkFunction] = {}
        self._bound: dict[str, FrameworkFunction] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<functions of {self.model.name!r} in {self._framework}>"

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)

    def __getitem__(self, name: str) -> FrameworkFunction:
        bound = self._bound.get(name)
        if bound is None:
            if name not in TABLE:
                raise UnknownNameError("function", name, TABLE, where=self._framework)
            bound = self._bound[name] = _Named(self, name)
        return bound

    def __getattr__(self, name: str) -> FrameworkFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except UnknownNameError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *TABLE})

    def made(self, request: Request) -> FrameworkFunction:
        """The function for one request, of arrays alone."""
        with self._lock:
            function = self._made.get(request)
            if function is None:
                function = self._made[request] = self._make(self.model, request)
            return function


class _Named:
    """One function, before its options are known."""

    def __init__(self, of: FrameworkFunctions, name: str) -> None:
        self._of, self.__name__ = of, name
        self.__doc__ = TABLE[name].algorithm.__doc__

    def __repr__(self) -> str:
        return f"<{self.__name__} of {self._of!r}>"

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        name, framework = self.__name__, self._of._framework
        words = [word for word, _ in TABLE[name].inputs]
        where = f"{framework}: {name}"
        if len(arguments) > len(words):
            raise ArgumentError(
                f"takes at most {len(words)} inputs ({', '.join(words)}), got {len(arguments)}",
                where=where,
                remedy="Options go by keyword.",
            )
        values_by_name = dict(zip(words, arguments, strict=False))
        for word in words:
            if word in keywords and not isinstance(keywords[word], (str, int)):  # else a choice: axes="child"
                if word in values_by_name:
                    raise ArgumentError(
                        f"the input {word!r} is given twice", where=where, remedy="Give it by place or by name."
                    )
                values_by_name[word] = keywords.pop(word)
        values_by_name = {word: value for word, value in values_by_name.items() if value is not None}
        present = [word for word in values_by_name if word in OPTIONAL]
        request = make_request(self._of.model, name, keywords, present, where=framework)
        if unknown := [word for word in values_by_name if word not in dict(request.inputs)]:
            raise ArgumentError(
                f"the input {unknown[0]!r} is not used with these options",
                where=where,
                remedy="Leave it out, or choose the option that goes with it, as for rd.kernel.",
            )
        values = []
        for word, shape in request.inputs:
            if word not in values_by_name and word not in DEFAULTS:
                raise ArgumentError(
                    f"the input {word!r} is missing", where=where, remedy=f"Inputs: {', '.join(words)}."
                )
            value = values_by_name.get(word, DEFAULTS.get(word))
            got = getattr(value, "shape", None)
            if got is not None and tuple(got[len(got) - len(shape) :]) != shape:
                raise ArgumentError(
                    f"expected shape (..., {', '.join(map(str, shape))}), got {tuple(got)}",
                    where=f"{where}: {word}",
                    got=tuple(got),
                    remedy="The last dimensions are the robot's; any dimensions before them are a batch of states.",
                )
            values.append(value)
        return self._of.made(request)(*values)
