"""The native backend: functions traced for one robot and compiled, from the cache where
possible.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from robot_dynamics_ros.arrays import aligned_zeros
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr
from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import (
    callee_module,
    kernel_module,
    wide_module,
)
from robot_dynamics_ros.dynamics.engine.codegen.llvm_loops import loop_module
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument
from robot_dynamics_ros.dynamics.engine.codegen.native import (
    cached_library,
    compile_module,
    library_of,
    target_key,
    vector_width,
    wrappers_supported,
)
from robot_dynamics_ros.dynamics.engine.evaluate import Engine, Evaluator, Kernel, quaternion_starts
from robot_dynamics_ros.dynamics.engine.parallel import GRAIN, PARALLEL_BYTES, run_pieces, threads
from robot_dynamics_ros.dynamics.engine.registry import LARGE, Options, estimated_operations
from robot_dynamics_ros.dynamics.engine.trace import Shape, Signature, signature, trace
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel

WIDE_FROM = 64
"""Batches of so many states are computed side by side."""
PART = 1 << 27
"""Bytes of a batch that are computed without a look at the keyboard: a fraction of a second."""


class NativeEngine(Engine):
    """Machine code for one function of one robot: straight lines, or loops where the robot is too
    large for those.
    """

    def __init__(
        self,
        model: RobotModel,
        name: str,
        options: Options,
        *,
        loops: bool = False,
    ) -> None:
        super().__init__("loops" if loops else "native")
        shapes = signature(model, name, options)
        self._arguments = array_arguments(model, shapes)
        self._name = name
        self._tables: list[np.ndarray] = []
        self._workspace = 0
        if loops:
            from robot_dynamics_ros.dynamics.engine.loops import record_loops

            _, program = record_loops(model, name, options)
            self._tables = [program.ints, program.params, program.armature]
            self._workspace = program.workspace

        def make() -> bytes:
            if loops:
                source = loop_module(self._arguments, program, vector_width())
                return compile_module(source, schedule=True)
            return compile_module(
                kernel_module(self._arguments, trace(model, name, options).outputs, vector_width())
            )

        self._library = cached_library(cache_key(model, name, options, self.backend), make)
        self._batch = self._library.batch(len(self._arguments) + (4 if loops else 0))
        self._bytes = 8 * sum(a.size for a in self._arguments)
        self._loops = loops
        self._traced_from = model, name, options
        self._wide: Callable[..., bool] | None = None
        self._straight: NativeEngine | None = None
        self._wide_lock = threading.Lock()

    def _side_by_side(self) -> Callable[..., bool]:
        """The function for many states side by side, compiled when the first large batch comes."""

        def make() -> bytes:
            outputs = trace(*self._traced_from).outputs
            return compile_module(
                wide_module(self._arguments, outputs, vector_width()), schedule=True
            )

        with self._wide_lock:
            if self._wide is None:
                library = cached_library(cache_key(*self._traced_from, "wide"), make)
                inputs = sum(not a.output for a in self._arguments)
                self._wide = library.wide(len(self._arguments), inputs)
            return self._wide

    def _unrolled(self) -> NativeEngine | None:
        """For many states side by side where the robot is small enough for straight lines, though
        one state is faster as loops.
        """
        model, name, options = self._traced_from
        if not self._loops or model.backend == "loops" or estimated_operations(model, name) > LARGE:
            return None
        with self._wide_lock:
            if self._straight is None:
                self._straight = NativeEngine(model, name, options)
            return self._straight

    def _further(self) -> list[np.ndarray]:
        """Arguments of loops besides the function's own: their tables, and working memory of the
        caller's own.
        """
        if self._workspace:
            return [*self._tables, aligned_zeros(self._workspace)]
        return []

    def single(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        further = self._further()
        self._batch(0, 1, *[x.ctypes.data for x in (*inputs, *outputs, *further)])

    def checks(self, count: int) -> bool:
        return not self._loops and count >= WIDE_FROM

    def block(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        finite: bool = False,
    ) -> bool:
        count = len(outputs[0])
        if count >= WIDE_FROM and (unrolled := self._unrolled()) is not None:
            return unrolled.block(inputs, outputs, finite)
        if self.checks(count):
            wide = self._side_by_side()
        else:
            wide = None
        if count * self._bytes > PARALLEL_BYTES:
            several = threads()
        else:
            several = 1
        memories = [self._further() for _ in range(several)]
        arrays = [np.ascontiguousarray(x) if wide is None else x for x in inputs]
        strides = list(itertools.chain.from_iterable(x.strides for x in arrays))
        # the arrays live until the code has run
        addresses = [x.ctypes.data for x in (*arrays, *outputs)]
        further = [[x.ctypes.data for x in memory] for memory in memories]

        def run(begin: int, end: int, thread: int) -> bool:
            if wide is None:
                self._batch(begin, end, *addresses, *further[thread])
                return True
            width = vector_width()
            rest = end - (end - begin) % width
            # a whole group again: some of its states are computed twice
            last = max(end - width, 0)
            return wide(begin, rest, *addresses, *strides, finite) and (
                rest == end or wide(last, last + width, *addresses, *strides, finite)
            )

        return run_pieces(run, count, several, max(GRAIN, PART // self._bytes // GRAIN * GRAIN))

    def callee(self) -> tuple[int, list[np.ndarray]]:
        """Address of ``@batch``, for compiled code that calls this function, and arrays to hand on
        after its arguments.
        """
        return self._library.address("batch"), self._further()

    def wrapper(self, evaluator: Evaluator, *, finite: bool = False) -> Kernel:
        """A fast call wrapper, which leaves what it does not expect to the evaluator, or that alone
        where this Python's objects are laid out otherwise.  All callers share its working memory:
        it runs under the interpreter lock from end to end.
        """
        slow = super().wrapper(evaluator, finite=finite)
        if not wrappers_supported():
            return slow
        return self._library.python_wrapper(self._name, slow, self._further(), finite=finite)


class TracedFunction:
    """A function without branches that belongs to no robot: machine code for expressions of
    :func:`~robot_dynamics_ros.dynamics.engine.trace.symbols`, a list for each output array."""

    def __init__(
        self,
        inputs: Mapping[str, Shape],
        outputs: Sequence[Sequence[Expr]],
    ) -> None:
        arguments = [ArrayArgument(shape) for shape in inputs.values()]
        arguments += [ArrayArgument((len(output),), output=True) for output in outputs]
        self._library = library_of(callee_module(arguments, outputs, vector_width()))

    def callee(self) -> tuple[int, list[np.ndarray]]:
        """See :meth:`NativeEngine.callee`."""
        return self._library.address("batch"), []


def array_arguments(model: RobotModel, shapes: Signature) -> list[ArrayArgument]:
    """Properties of the given arrays that the compiled code needs."""
    starts = tuple(quaternion_starts(model))
    return [
        ArrayArgument(shape, quaternions=starts if word in ("q", "q0", "q1") else ())
        for word, shape in shapes.inputs
    ] + [ArrayArgument(shape, output=True) for _, shape in shapes.outputs]


@functools.cache
def _generator_version() -> str:
    """Digest of the sources that code depends on, so that no stale kernel survives an upgrade."""
    package = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted([package / "spatial.py", *(package / "dynamics").rglob("*.py")]):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_key(model: RobotModel, name: str, options: Options, form: str) -> str:
    """Digest of everything the compiled code depends on."""
    text = "|".join(
        [
            _digest(model),
            name,
            form,
            repr(options),
            _generator_version(),
            target_key(),
            np.__version__.split(".")[0],
        ]
    )
    return hashlib.sha256(text.encode()).hexdigest()


@once_per_model
def _digest(model: RobotModel) -> str:
    h = hashlib.sha256()
    _absorb(h, model)
    return h.hexdigest()


_NO_INFLUENCE = {
    "source",
    "findings",
    "initial_positions",
    "configurations",
    "inertia_check",
    "backend",
}


def _absorb(h: hashlib._Hash, value: object) -> None:
    """Feed a value into a digest, whole: a field forgotten here would let one robot run another's
    code.
    """
    if isinstance(value, np.ndarray):
        h.update(repr((value.dtype.str, value.shape)).encode())
        h.update(np.ascontiguousarray(value).tobytes())
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if not field.name.startswith("_") and field.name not in _NO_INFLUENCE:
                h.update(field.name.encode())
                _absorb(h, getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        h.update(str(len(value)).encode())
        for item in value:
            _absorb(h, item)
    else:
        h.update(repr(value).encode() + b";")
