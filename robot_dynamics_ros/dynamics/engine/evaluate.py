"""Kernels: one function of the table, for one model, ready to be called on numbers.

A kernel checks arguments, handles batches and hands blocks of states to its engine.  Each backend
has an engine of its own; :mod:`robot_dynamics_ros.dynamics.engine.codegen` makes them.
"""

from __future__ import annotations

import abc
import copy
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import ModuleType
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import (
    as_input,
    as_output,
    check_finite,
    check_quaternions,
    common_batch,
)
from robot_dynamics_ros.dynamics.engine.codegen.python_source import python_source
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options
from robot_dynamics_ros.dynamics.engine.trace import Signature, signature, trace
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.published import CONFIGURATIONS
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Scalar, maximum, minimum

Kernel: TypeAlias = Callable[..., Any]
"""A function of a robot: inputs, then nothing or the outputs.

What it returns depends on its name and on the batch.
"""
Argument: TypeAlias = ArrayLike | Mapping[str, ArrayLike] | None
"""Numbers, or a configuration's name, or positions by joint; ``None`` where an output is not given.
"""
Flat: TypeAlias = Callable[..., Sequence[Scalar]]


class Engine(abc.ABC):
    """Runs a function on one state or on a block of states, by the backend of that name."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    @abc.abstractmethod
    def single(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """One state: arrays of exactly the signature's shapes, contiguous."""

    def checks(self, count: int) -> bool:
        """Whether :meth:`block` can itself refuse what is not finite among so many states."""
        return False

    @abc.abstractmethod
    def block(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        finite: bool = False,
    ) -> bool:
        """N states: (N, size) arrays, flat in the robot's dimensions, the outputs contiguous; False
        if it stopped at inputs that shall be ``finite`` and are not, where :meth:`checks` says so.
        """

    def wrapper(self, evaluator: Evaluator, *, finite: bool = False) -> Kernel:
        """A callable equal to the evaluator with this choice, as fast as the engine can."""
        if finite:
            return functools.partial(evaluator, finite=True)
        return evaluator


class Evaluator:
    """A function bound to a model; call it with inputs, or with inputs and outputs."""

    def __init__(
        self,
        model: RobotModel,
        name: str,
        options: Options,
        engine: Engine,
    ) -> None:
        self.signature: Signature = signature(model, name, options)
        self.engine = engine
        self.backend = engine.backend
        self._sizes_in = [math.prod(shape) for _, shape in self.signature.inputs]
        self._sizes_out = [math.prod(shape) for _, shape in self.signature.outputs]
        self._quaternions = quaternion_starts(model)
        self._model = model

    def __repr__(self) -> str:
        words = ", ".join(
            f"{n}{list(s)}" for n, s in (*self.signature.inputs, *self.signature.outputs)
        )
        return f"<{self.signature.name}({words}) on {self.backend}>"

    def _check(self, inputs: Sequence[np.ndarray], finite: bool) -> None:
        """Refuse inputs that mean nothing."""
        if finite and not all(bool(np.isfinite(x).all()) for x in inputs):
            check_finite(
                **{word: x for (word, _), x in zip(self.signature.inputs, inputs, strict=True)}
            )
        for (word, _), array in zip(self.signature.inputs, inputs, strict=True):
            if self._quaternions and word in ("q", "q0", "q1"):
                check_quaternions(array, self._quaternions)

    def _numbers(self, value: Argument, word: str) -> ArrayLike:
        """An input; a configuration may be named, or given by joint."""
        if isinstance(value, (str, Mapping)) and word in CONFIGURATIONS:
            return self._model.configuration(value, where=word)
        return cast("ArrayLike", value)

    def __call__(self, *arguments: Argument, finite: bool = False) -> Any:
        """Of inputs, then nothing or all the outputs: the output, a float for a scalar of a single
        state; of several a tuple, or ``None`` where they were given.  ``finite``: refuse inputs
        that are not finite; else they pass through.
        """
        n = len(self._sizes_in)
        m = len(self._sizes_out)
        if len(arguments) == n + m == n + 1 and arguments[n] is None:
            arguments = arguments[:n]
        if len(arguments) not in (n, n + m):
            raise ArgumentError(
                f"takes {n} inputs ({', '.join(w for w, _ in self.signature.inputs)}), and then "
                f"nothing or {m} "
                f"outputs; got {len(arguments)} arguments",
                where=self.signature.name,
                got=len(arguments),
                remedy="See the function's documentation for its arguments.",
            )
        inputs = [
            as_input(self._numbers(value, word), shape, word, finite=False, contiguous=False)
            for value, (word, shape) in zip(arguments, self.signature.inputs, strict=False)
        ]
        leads = [
            x.shape[: x.ndim - len(s)]
            for x, (_, s) in zip(inputs, self.signature.inputs, strict=True)
        ]
        batch = leads[0]
        if any(lead != batch for lead in leads):
            words = (word for word, _ in self.signature.inputs)
            batch = common_batch(dict(zip(words, leads, strict=True)), self.signature.name)
        out = arguments[n:]
        outputs = [
            as_output(out[k], batch + shape, "out" if m == 1 else f"output {word}")
            if out
            else np.empty(batch + shape)
            for k, (word, shape) in enumerate(self.signature.outputs)
        ]
        if out and any(np.may_share_memory(o, x) for o, x in itertools.product(outputs, inputs)):
            inputs = [x.copy() for x in inputs]
        count = math.prod(batch)
        if batch == ():
            inputs = [x if x.flags.c_contiguous else np.ascontiguousarray(x) for x in inputs]
            self._check(inputs, finite)
            self.engine.single(inputs, outputs)
            if not out:
                outputs = [float(o) if o.ndim == 0 else o for o in outputs]  # type: ignore[misc]
        elif count == 0:
            self._check(inputs, finite)
        else:
            blocks = [
                _rows(x, lead, batch, count, size)
                for x, lead, size in zip(inputs, leads, self._sizes_in, strict=True)
            ]
            results = [
                o.reshape(count, size) for o, size in zip(outputs, self._sizes_out, strict=True)
            ]
            checked = finite and self.engine.checks(count)
            self._check(inputs, finite and not checked)
            if not self.engine.block(blocks, results, checked):
                self._check(inputs, finite)
        if m == 1:
            return outputs[0]
        return None if out else tuple(outputs)


def _rows(
    x: np.ndarray,
    lead: tuple[int, ...],
    batch: tuple[int, ...],
    count: int,
    size: int,
) -> np.ndarray:
    """An input as (count, size), without a copy where strides can say it."""
    if lead == ():
        return np.broadcast_to(x.reshape(size), (count, size))
    if lead != batch:
        x = np.broadcast_to(x, (*batch, *x.shape[len(lead) :]))
    x = x.reshape(count, size)
    return x if x.flags.aligned else x.copy()


def quaternion_starts(model: RobotModel) -> list[int]:
    """Where in q the quaternions begin."""
    return [
        int(model.q_index[i]) + 3 for i in np.flatnonzero(model.joint_type == JointType.FLOATING)
    ]


STATES_AT_ONCE_UNCOMPILED = 2048
"""States evaluated at once without a compiler: enough to hide Python, few enough to stay in cache
and memory.
"""


class PythonEngine(Engine):
    """Runs a function without a compiler: ``scalar`` takes a list of numbers for each input,
    ``vector`` lists of arrays that hold a number of each state; both return all outputs in one flat
    sequence.
    """

    def __init__(self, backend: str, scalar: Flat, vector: Flat) -> None:
        super().__init__(backend)
        self._scalar = scalar
        self._vector = vector

    def single(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        results = iter(self._scalar(*[x.ravel().tolist() for x in inputs]))
        for out in outputs:
            out.reshape(-1)[:] = list(islice(results, out.size))

    def block(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        finite: bool = False,
    ) -> bool:
        for start in range(0, len(outputs[0]), STATES_AT_ONCE_UNCOMPILED):
            stop = start + STATES_AT_ONCE_UNCOMPILED
            results = iter(
                self._vector(*[list(np.ascontiguousarray(x[start:stop].T)) for x in inputs])
            )
            for out in outputs:
                for k in range(out.shape[1]):
                    out[start:stop, k] = next(results)
        return True


def interpreted_engine(model: RobotModel, name: str, options: Options) -> PythonEngine:
    """The algorithm as written, on floats or on arrays of states: no trace, no compiler, slow and
    plain.
    """
    tree = NumericTree(model)
    words = [word for word, _ in signature(model, name, options).inputs]

    def run(*inputs: Sequence[Scalar]) -> list[Scalar]:
        # an algorithm may move its base or add to its rotors; others share the tree
        own = copy.copy(tree)
        outputs = TABLE[name].run(own, dict(options), dict(zip(words, inputs, strict=True)))
        return list(itertools.chain.from_iterable(outputs))

    return PythonEngine("interpreted", run, run)


def source_engine(model: RobotModel, name: str, options: Options) -> PythonEngine:
    """Straight-line Python made from a trace; on batches, NumPy does the arithmetic."""
    traced = trace(model, name, options)
    words = [f"x{k}" for k in range(len(traced.signature.inputs))]
    source = python_source(
        "evaluate", words, traced.all_outputs(), lambda key: f"x{key[0]}[{key[1]}]"
    )
    code = compile(source, f"<{name} of {model.name}>", "exec")

    def bound(module: ModuleType) -> Flat:
        space = {name: getattr(module, name) for name in ("sin", "cos", "sqrt", "exp", "tanh")}
        space |= {"minimum": minimum, "maximum": maximum}
        exec(code, space)
        evaluate: Flat = space["evaluate"]
        return evaluate

    return PythonEngine("numpy", bound(math), bound(np))
