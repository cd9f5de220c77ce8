"""From LLVM assembly to callables: compile, load, wrap.

The compiler is llvmlite's; nothing here needs a C compiler.  Object code may come from a cache, so
everything that differs between processes (addresses) is handed to the code at run time and nothing
of it is compiled in.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import hashlib
import operator
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen import cache
from robot_dynamics_ros.dynamics.engine.codegen import llvm_wrapper as layout
from robot_dynamics_ros.errors import BackendError

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

OPTIMIZE_ENVIRONMENT = "ROBOT_DYNAMICS_OPTIMIZE"
"""Environment variable; ``off`` has LLVM translate as fast as it can: functions compile in a third
of the time, routines in a tenth, and both run slower.
"""


class Passes(Enum):
    """How much LLVM improves code before it writes machine code.

    ``NONE`` is for straight lines, and for loops that are written out as wide as they shall be:
    passes find nothing there.  ``FEW`` is for code that branches a lot and loops little, such as
    a control cycle: it is compiled in a quarter of the time that ``ALL`` takes, and is up to 7 %
    slower.  ``ALL`` has the loop and vector passes too, of which loops become up to twice as fast.
    """

    NONE = "none"
    FEW = "few"
    ALL = "all"


_lock = threading.Lock()
MATH_CALLS = (
    "sin",
    "cos",
    "tan",
    "exp",
    "expm1",
    "log",
    "tanh",
    "pow",
    "atan2",
    "fmod",
    "remainder",
    "floor",
    "ceil",
)
PYTHON_SYMBOLS = (
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyFloat_FromDouble",
    "PyObject_VectorcallDict",
)
OPAQUE_POINTERS = 16
"""The first LLVM that knows the pointer type ``ptr`` as llvmlite builds it."""
UNSCHEDULED = range(19, 23)
"""Versions of LLVM that take the option ``enable-misched`` again and again: older ones take it once
(14 was tried), and LLVM ends a process that gives an unknown one.
"""
NEW_FROM_DESCR = 94
"""Where NumPy's table of functions has ``PyArray_NewFromDescr``, in NumPy 1 and 2."""


@functools.cache
def _llvm() -> ModuleType:
    import llvmlite.binding as llvm

    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        library = _mathematics()
        for name in MATH_CALLS:
            llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
        for name in PYTHON_SYMBOLS:
            function = getattr(ctypes.pythonapi, name, None)
            # wrappers_supported() is false without
            if function is not None:
                llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
        llvm.add_symbol("numpy_new_array", _numpy_new_array())
    return llvm


def _mathematics() -> ctypes.CDLL:
    """The library of sin, exp and the like."""
    try:
        # where it is not apart, the process has it
        return ctypes.CDLL(ctypes.util.find_library("m"))
    except TypeError:
        # Windows
        return ctypes.CDLL("ucrtbase")


def _numpy_new_array() -> int:
    """Address of ``PyArray_NewFromDescr``."""
    core = getattr(np, "_core", None) or np.core
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = pointer(core._multiarray_umath._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + 8 * NEW_FROM_DESCR).value or 0)


@functools.cache
def _features() -> str:
    """Of this machine's processor; LLVM takes longer to find them than to make a small function."""
    return _llvm().get_host_cpu_features().flatten()


@functools.cache
def _processor() -> str:
    return _llvm().get_host_cpu_name()


@functools.cache
def vector_width() -> int:
    """Doubles that one vector register of this machine holds."""
    features = set(_features().split(","))
    if "+avx512f" in features:
        return 8
    if "+avx" in features:
        return 4
    return 2


def optimizing() -> bool:
    """Whether LLVM takes its time; see :data:`OPTIMIZE_ENVIRONMENT`."""
    return os.environ.get(OPTIMIZE_ENVIRONMENT) != "off"


def target_key() -> str:
    """The surroundings on which compiled code depends besides its source: processor, its features,
    the compiler's version, and whether it optimizes.
    """
    return f"{_processor_and_compiler()}|{optimizing()}"


@functools.cache
def _processor_and_compiler() -> str:
    llvm = _llvm()
    return "|".join(
        [
            llvm.get_default_triple(),
            _processor(),
            _features(),
            ".".join(map(str, llvm.llvm_version_info)),
            str(wrappers_supported()),
        ]
    )


def _machine(level: int) -> TargetMachine:
    llvm = _llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=_processor(), features=_features(), opt=level, jit=True
    )


def compile_module(
    source: str,
    *,
    passes: Passes = Passes.NONE,
    vectorize: bool = True,
    schedule: bool = False,
) -> bytes:
    """Object code of LLVM assembly, for this machine.

    ``vectorize`` has the vector passes among all passes, not worth their time for loops of a few
    iterations.  ``schedule`` lets LLVM reorder straight lines, as it always does after passes; of
    use for vectors and loops.
    """
    llvm = _llvm()
    if llvm.llvm_version_info[0] < OPAQUE_POINTERS:
        from robot_dynamics_ros.dynamics.engine.codegen.typed_pointers import with_typed_pointers

        source = with_typed_pointers(source)
    if passes is Passes.ALL:
        level = 3
    elif optimizing():
        level = 1
    else:
        level = 0
    machine = _machine(level)
    # a shared context would keep every constant; closed here, as the garbage collector may free a
    # context before its module
    with llvm.create_context() as context, llvm.parse_assembly(source, context=context) as module:
        if passes is Passes.ALL:
            _run_all_passes(module, machine, vectorize)
        elif passes is Passes.FEW:
            _run_few_passes(module, machine)
        scheduled = schedule or passes is not Passes.NONE
        with contextlib.nullcontext() if scheduled else _in_written_order():
            return machine.emit_object(module)


@contextlib.contextmanager
def _in_written_order() -> Iterator[None]:
    """Let LLVM keep straight lines in the order in which they are written, on x86-64, whose
    processors reorder by themselves: in a block of thousands of operations its scheduler spills
    more, and takes as long again as all the rest.
    """
    llvm = _llvm()
    if llvm.llvm_version_info[0] not in UNSCHEDULED or not llvm.get_default_triple().startswith(
        "x86_64"
    ):
        yield
        return
    with _lock:
        llvm.set_option("", "-enable-misched=false")
        try:
            yield
        finally:
            llvm.set_option("", "-enable-misched=true")


def _run_few_passes(module: ModuleRef, machine: TargetMachine) -> None:
    """Short functions into their callers, variables into registers, and what is left over away."""
    llvm = _llvm()
    if hasattr(llvm, "create_new_module_pass_manager"):
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        passes = llvm.create_new_module_pass_manager()
        # before llvmlite 0.45 there is no choice of single passes
        if hasattr(passes, "add_always_inliner_pass"):
            passes.add_always_inliner_pass()
            passes.add_sroa_pass()
            passes.add_instruction_combine_pass()
            passes.add_simplify_cfg_pass()
            passes.add_loop_rotate_pass()
        else:
            passes = builder.getModulePassManager()
        passes.run(module, builder)
        return
    builder = llvm.create_pass_manager_builder()
    builder.opt_level = 1
    builder.disable_unroll_loops = True
    _run_old_passes(builder, module, machine)


def _run_all_passes(module: ModuleRef, machine: TargetMachine, vectorize: bool) -> None:
    """LLVM's loop and vector passes, by its new pass manager or, before llvmlite 0.44, by the old
    one.
    """
    llvm = _llvm()
    if hasattr(llvm, "create_pass_builder"):
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.slp_vectorization = vectorize
        options.loop_vectorization = vectorize
        options.loop_interleaving = vectorize
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return
    builder = llvm.create_pass_manager_builder()
    builder.opt_level = 3
    builder.slp_vectorize = builder.loop_vectorize = vectorize
    _run_old_passes(builder, module, machine)


def _run_old_passes(builder: Any, module: ModuleRef, machine: TargetMachine) -> None:
    """Passes as llvmlite before 0.44 runs them."""
    passes = _llvm().create_module_pass_manager()
    machine.add_analysis_passes(passes)
    builder.populate(passes)
    passes.run(module)


@functools.cache
def wrappers_supported() -> bool:
    """Whether this Python lays out objects and arrays as :func:`~.llvm_kernel.python_wrapper` reads
    them.
    """
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32 or sys.byteorder != "little":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or not all(
        hasattr(ctypes.pythonapi, x) for x in PYTHON_SYMBOLS
    ):
        return False
    probe = np.arange(6.0).reshape(2, 3)
    address = id(probe)

    def word(offset: int, kind: type[ctypes.c_uint64 | ctypes.c_int32] = ctypes.c_uint64) -> int:
        return kind.from_address(address + offset).value

    if word(layout.OB_TYPE) != id(np.ndarray) or word(layout.ARRAY_DATA) != probe.ctypes.data:
        return False
    if word(layout.ARRAY_ND, ctypes.c_int32) != 2 or word(layout.ARRAY_DESCR) != id(probe.dtype):
        return False
    dims = (ctypes.c_int64 * 2).from_address(word(layout.ARRAY_DIMENSIONS))
    flags = word(layout.ARRAY_FLAGS, ctypes.c_int32)
    probe.setflags(write=False)
    closed = word(layout.ARRAY_FLAGS, ctypes.c_int32)
    expected = layout.C_CONTIGUOUS | layout.WRITEABLE
    if tuple(dims) != (2, 3) or flags & expected != expected or closed & layout.WRITEABLE:
        return False
    array = _new_array(dims)
    return (
        type(array) is np.ndarray and array.dtype is np.dtype(np.float64) and array.shape == (2, 3)
    )


def _new_array(dims: ctypes.Array[ctypes.c_int64]) -> np.ndarray:
    """An array made as compiled code makes it."""
    descr = np.dtype(np.float64)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(descr))
    pointer = ctypes.c_void_p
    number = ctypes.c_int
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.py_object,
        ctypes.py_object,
        number,
        pointer,
        pointer,
        pointer,
        number,
        pointer,
    )
    return kind(_numpy_new_array())(
        np.ndarray, descr, len(dims), ctypes.addressof(dims), None, None, 0, None
    )


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("ml_name", ctypes.c_char_p),
        ("ml_meth", ctypes.c_void_p),
        ("ml_flags", ctypes.c_int),
        ("ml_doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x0080


class NativeLibrary:
    """Loaded object code."""

    def __init__(self, code: bytes) -> None:
        llvm = _llvm()
        with _lock:
            # of the context that is never freed: the garbage collector may free another one, and
            # its modules, before the engine
            empty = llvm.parse_assembly("", context=llvm.get_global_context())
            self._engine = llvm.create_mcjit_compiler(empty, _machine(1))
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Address of a function."""
        address = int(self._engine.get_function_address(name))
        if not address:
            raise BackendError(
                f"it has no function {name!r}",
                where="compiled code",
                got=name,
                remedy="Delete the kernel cache.",
            )
        return address

    def batch(self, arrays: int) -> Callable[..., None]:
        """``batch(begin, end, *addresses)`` of ``arrays`` pointers; lets go of the interpreter lock
        while it runs.
        """
        return self._function("batch", None, [ctypes.c_void_p] * arrays)

    def wide(self, arrays: int, inputs: int) -> Callable[..., bool]:
        """The same for whole groups of states side by side: ``wide(begin, end, *addresses,
        *strides, finite)``, two strides for each input, is false if it refused one.
        """
        further = [*[ctypes.c_void_p] * arrays, *[ctypes.c_int64] * (2 * inputs), ctypes.c_bool]
        return self._function("wide", ctypes.c_bool, further)

    def _function(
        self,
        name: str,
        returns: Any,
        further: Sequence[Any],
    ) -> Callable[..., Any]:
        kind = ctypes.CFUNCTYPE(returns, ctypes.c_int64, ctypes.c_int64, *further)
        function = kind(self.address(name))
        function._library = self  # type: ignore[attr-defined]
        return function

    def python_wrapper(
        self,
        name: str,
        slow: Callable[..., object],
        extra: Sequence[np.ndarray] = (),
        *,
        finite: bool = False,
    ) -> BuiltinFunctionType:
        """The compiled call wrapper as a Python builtin that falls back on ``slow``.

        The builtin keeps alive all that it needs.  ``slow`` must not refer to it: the garbage
        collector cannot see through arrays, so such a cycle would stay for ever.  With ``finite``
        it gets inputs that are not finite, too.
        """
        # in the order of WRAPPER_TABLE
        words = [id(np.ndarray), id(np.dtype(np.float64)), id(slow), id(None), int(finite)]
        table = [*words, *[x.ctypes.data for x in extra]]
        return _builtin(name, self.address(layout.PYTHON_WRAPPER), table, (self, slow, extra))


def cached_library(key: str, make: Callable[[], bytes]) -> NativeLibrary:
    """Object code from the cache on disk; where it has none, made, and kept there."""
    code = cache.load(key)
    if code is None:
        code = make()
        cache.store(key, code)
    return NativeLibrary(code)


@functools.lru_cache(maxsize=64)
def library_of(source: str) -> NativeLibrary:
    """LLVM assembly of straight lines as loaded code, from the cache where it can be."""
    return cached_library(content_key(source), lambda: compile_module(source))


def content_key(content: str, passes: Passes = Passes.NONE, vectorize: bool = True) -> str:
    """Digest of all that object code depends on, where ``content`` is the assembly, or determines
    it; see :func:`compile_module`.
    """
    text = f"{target_key()}|{passes.value}|{vectorize}|{content}"
    return hashlib.sha256(text.encode()).hexdigest()


def _builtin(
    name: str,
    code: int,
    words: Sequence[int],
    kept: object,
) -> BuiltinFunctionType:
    """A builtin function that runs compiled code with a table of words, and keeps objects alive."""
    method = _MethodDef(name.encode(), code, _METH_FASTCALL, None)
    table = np.asarray(_Table(np.array(words, dtype=np.int64), code, (method, kept)))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(method), table, None)


class _Table:
    """Words that compiled code reads, and the objects that they point to; an array made of it keeps
    both.
    """

    def __init__(self, words: np.ndarray, code: int, kept: object) -> None:
        self.words = words
        self.code = code
        self.kept = kept
        self.__array_interface__ = words.__array_interface__


@functools.cache
def _router_library() -> NativeLibrary:
    return library_of(layout.router_module())


class Router:
    """The builtin ``call``, which passes calls on to the wrapper for their first argument, or their
    first two (``keys``), compared by identity, or to ``slow`` where there is none.
    """

    def __init__(self, name: str, keys: int, slow: Callable[..., object]) -> None:
        library = _router_library()
        words = [id(slow), *[0] * (4 * layout.ROUTER_SLOTS)]
        self.call = _builtin(name, library.address(f"route{keys}"), words, (library, slow))
        table: Any = self.call.__self__
        self._words = memoryview(table)

    def add(self, keys: Sequence[int], wrapper: BuiltinFunctionType) -> None:
        """Lead calls with arguments of these identities to a wrapper; both must stay alive until
        :meth:`remove`.
        """
        table: Any = wrapper.__self__
        words = self._words
        slot = 1 + 4 * ((functools.reduce(operator.xor, keys) >> 4) % layout.ROUTER_SLOTS)
        # nobody may find a slot half written
        words[slot] = 0
        words[slot + 1] = keys[1] if len(keys) > 1 else 0
        words[slot + 2] = table.base.code
        words[slot + 3] = id(table)
        words[slot] = keys[0]

    def remove(self, first: int, second: int | None = None) -> None:
        """Forget the wrappers of a first argument, or of a pair.

        Safe in the callback of a weak reference: takes no lock.
        """
        words = self._words
        for slot in range(1, len(words), 4):
            if words[slot] == first and second in (None, words[slot + 1]):
                words[slot] = 0
