"""A robot's functions by name, in JAX, CasADi, PyTorch and libraries of the array-API standard."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

from robot_dynamics_ros.dynamics.engine.codegen.graph import evaluate
from robot_dynamics_ros.dynamics.engine.registry import TABLE
from robot_dynamics_ros.dynamics.engine.trace import OPTIONAL
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError, check_name, optional_package
from robot_dynamics_ros.frameworks import array_forms
from robot_dynamics_ros.frameworks.traced import Request, make_request, traced
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import casadi

DEFAULTS = {"point": (0.0, 0.0, 0.0)}

FrameworkFunction: TypeAlias = Callable[..., Any]
"""Takes and returns arrays of its framework; several outputs as a tuple."""


class FrameworkFunctions(Mapping[str, FrameworkFunction]):
    """All functions of one robot in one framework: ``f.forward_dynamics(q, v, tau)`` or
    ``f["forward_dynamics"]``.

    A function takes its inputs in the order of the registry, or by name, then options by keyword
    (``f.jacobian(q, link="tool0")``).  ``external`` (..., nb, 6) is a wrench [moment; force] for
    each moving body, about the origin and in the axes of its link; ``base`` (..., 2, 6) is velocity
    and acceleration of the root.  Leading dimensions are a batch.  Several outputs come as a tuple.

    Everything is made on first use and kept; it may be used from several threads.
    """

    def __init__(
        self,
        model: RobotModel,
        framework: str,
        make: Callable[[RobotModel, Request], FrameworkFunction],
    ) -> None:
        self.model = model
        self._framework = framework
        self._make = make
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
        if name not in self._bound:
            check_name("function", name, TABLE, where=self._framework)
            function = self._bound[name] = functools.partial(self._call, name)
            functools.update_wrapper(function, TABLE[name].algorithm, ("__name__", "__doc__"), ())
        return self._bound[name]

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
            if request not in self._made:
                self._made[request] = self._make(self.model, request)
            return self._made[request]

    def _call(self, name: str, /, *arguments: object, **keywords: object) -> Any:
        words = [word for word, _ in TABLE[name].inputs]
        where = f"{self._framework}: {name}"
        if len(arguments) > len(words):
            raise ArgumentError(
                f"takes at most {len(words)} inputs ({', '.join(words)}), got {len(arguments)}",
                where=where,
                remedy="Options go by keyword.",
            )
        values_by_name = dict(zip(words, arguments, strict=False))
        for word in words:
            # else a choice: axes="child"
            if word in keywords and not isinstance(keywords[word], (str, int)):
                if word in values_by_name:
                    raise ArgumentError(
                        f"the input {word!r} is given twice",
                        where=where,
                        remedy="Give it by place or by name.",
                    )
                values_by_name[word] = keywords.pop(word)
        values_by_name = {
            word: value for word, value in values_by_name.items() if value is not None
        }
        present = [word for word in values_by_name if word in OPTIONAL]
        request = make_request(self.model, name, keywords, present, where=self._framework)
        if unknown := [word for word in values_by_name if word not in dict(request.inputs)]:
            raise ArgumentError(
                f"the input {unknown[0]!r} is not used with these options",
                where=where,
                remedy="Leave it out, or choose the option that goes with it, as for rd.kernel.",
            )
        values = []
        for word, shape in request.inputs:
            value = values_by_name.get(word, DEFAULTS.get(word))
            if value is None:
                raise ArgumentError(
                    f"the input {word!r} is missing",
                    where=where,
                    remedy=f"Inputs: {', '.join(words)}.",
                )
            got = tuple(getattr(value, "shape", shape))
            if got[len(got) - len(shape) :] != shape:
                raise ArgumentError(
                    f"expected shape (..., {', '.join(map(str, shape))}), got {got}",
                    where=f"{where}: {word}",
                    got=got,
                    remedy=(
                        "The last dimensions are the robot's; any dimensions before them are a "
                        "batch of states."
                    ),
                )
            values.append(value)
        return self.made(request)(*values)


def jax_functions(model: RobotModel) -> FrameworkFunctions:
    """All functions of the registry on JAX arrays: pure, so ``jit``, ``vmap``, ``grad``,
    ``jacfwd``, ``scan`` apply.

    They compute in the type of their arguments: float32, or float64 where JAX's option
    ``jax_enable_x64`` is on.  They contain no callbacks, so they run where JAX runs.  Numbers are
    not checked: NaN goes through, and a quaternion must be of unit length.  See
    :class:`FrameworkFunctions` for how they are called.

    Small functions are written out for the robot.  For large robots the dynamics are scans over the
    levels of the tree, so that compiling takes as long for fifty joints as for ten.

    Raises:
        BackendError: JAX is not installed.
    """
    optional_package("jax", "functions in JAX need", "jax", "'robot_dynamics_ros[jax]'")
    from robot_dynamics_ros.frameworks.jax_forms import make_function

    return FrameworkFunctions(model, "jax", make_function)


def array_functions(model: RobotModel) -> FrameworkFunctions:
    """All functions of the registry on PyTorch tensors, or on arrays of any library of the
    array-API standard.

    The library is that of the arguments; results are of its type, on the same device, in the
    arguments' precision, and can be differentiated where the library can (PyTorch's autograd).
    Every operation works on a whole batch, so batches should be large.  See
    :class:`FrameworkFunctions`.
    """
    return FrameworkFunctions(model, "array", array_forms.make_function)


def casadi_function(
    model: RobotModel,
    name: str,
    *,
    external: bool = False,
    base: bool = False,
    **options: object,
) -> casadi.Function:
    """A function of the registry as a ``casadi.Function`` of SX, with inputs and outputs named as
    there.

    Vectors are columns; ``external`` is (nb, 6), ``base`` (2, 6).  CasADi differentiates it,
    generates C of it, and takes it into SX and MX graphs.

    Args:
        name: of the function.
        external: with an input for wrenches on the moving bodies, where the function takes them.
        base: with an input for the motion of the root.
        options: of the function, e.g. ``link="tool0"``.

    Raises:
        BackendError: CasADi is not installed.
        UnknownNameError: no such function, link or frame.
        ArgumentError: an option is missing, or not one of this function; the robot is too large for
            it.
    """
    ca = optional_package(
        "casadi", "functions in CasADi need", "casadi", "'robot_dynamics_ros[casadi]'"
    )
    present = [word for word, is_input in (("external", external), ("base", base)) if is_input]
    request = make_request(model, name, options, present, where="casadi")
    trace = traced(model, request, where="casadi")
    # of matrices: a wrench a row
    symbols = [ca.SX.sym(word, *shape) for word, shape in request.inputs]
    xp = SimpleNamespace(sin=ca.sin, cos=ca.cos, sqrt=ca.sqrt, minimum=ca.fmin, maximum=ca.fmax)
    elements = [
        ca.horzsplit(ca.vec(x.T).T) if prod(s) else []
        for x, (_, s) in zip(symbols, request.inputs, strict=True)
    ]
    values = evaluate(trace.all_outputs(), lambda key: elements[key[0]][key[1]], xp, float)
    results = []
    for (_, shape), flat in zip(request.outputs, trace.by_output(values), strict=True):
        column = ca.vertcat(*(ca.SX(x) for x in flat))
        rows, columns = (*shape, 1, 1)[:2] if len(shape) < 3 else (shape[0], len(flat) // shape[0])
        # CasADi keeps columns together
        results.append(ca.reshape(column, columns, rows).T)
    return ca.Function(
        request.name,
        symbols,
        results,
        [word for word, _ in request.inputs],
        [word for word, _ in request.outputs],
    )
