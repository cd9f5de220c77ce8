"""Backends: how a function is computed, chosen by the model's size and by what is installed, or by
name.

``native``
    traced for the robot, compiled to machine code through llvmlite; the default where llvmlite is
    present
``loops``
    compiled loops over the tree, for robots too large to unroll; chosen by ``native`` where it is
    better
``numpy``
    traced for the robot, run as straight-line Python and NumPy; the default where llvmlite is not
    present
``interpreted``
    the algorithm as written, for checking the others
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import logging
import os
import re
import sys
import threading
from collections.abc import Callable

from robot_dynamics_ros.dynamics.engine.evaluate import (
    Engine,
    Evaluator,
    Kernel,
    interpreted_engine,
    source_engine,
)
from robot_dynamics_ros.dynamics.engine.function_options import completed_options
from robot_dynamics_ros.dynamics.engine.registry import (
    TABLE,
    Options,
    common_functions,
    estimated_operations,
)
from robot_dynamics_ros.errors import BackendError, check_name
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import BACKENDS, RobotModel

ENVIRONMENT = "ROBOT_DYNAMICS_BACKEND"
OLDEST_LLVMLITE = (0, 39)
REQUIREMENT = f"llvmlite>={'.'.join(map(str, OLDEST_LLVMLITE))}"


@functools.cache
def compiler_missing() -> str | None:
    """Why there is no compiler here, in a few words; ``None`` if there is one, which is then
    loaded.
    """
    if importlib.util.find_spec("llvmlite") is None:
        return "llvmlite is not installed"
    try:
        importlib.import_module("llvmlite.binding")
    # a damaged library, another processor, too little memory: each raises something else
    except Exception as error:  # noqa: BLE001
        return f"llvmlite cannot be loaded ({type(error).__name__}: {error})"
    version = importlib.import_module("llvmlite").__version__
    if tuple(int(x) for x in re.findall(r"\d+", version)[:2]) < OLDEST_LLVMLITE:
        return (
            f"llvmlite {version} is too old, {'.'.join(map(str, OLDEST_LLVMLITE))} or later is "
            "needed"
        )
    return None


def remedy() -> str:
    """How to get llvmlite for the Python that runs this."""
    by_pip = f"{sys.executable or 'python3'} -m pip install '{REQUIREMENT}'"
    if sys.prefix != sys.base_prefix:
        return by_pip
    return (
        "apt install python3-llvmlite (Ubuntu 24.04, Debian 12 and later), or in a virtual "
        f"environment {by_pip}"
    )


class _Made:
    """Everything compiled for one model.

    Kept weakly by model, so it must not refer to that very model: a twin, which shares its arrays,
    stands in for it in everything made here.  Whoever holds a kernel holds the twin with it, so a
    kernel outlives its model.
    """

    def __init__(self, model: RobotModel) -> None:
        self.twin = dataclasses.replace(model)
        self.functions: dict[tuple[str, Options], Evaluator] = {}
        self.kernels: dict[Evaluator, Kernel] = {}
        """Call wrappers, which keep their evaluators alive; an evaluator that kept its wrapper
        would stay for ever.
        """
        self.lock = threading.RLock()
        name = model.backend
        where = "backend"
        if name == "auto":
            name = os.environ.get(ENVIRONMENT, "auto")
            where = ENVIRONMENT
        self.insisted = name != "auto"
        if self.insisted:
            self.backend = _checked(name, where)
        else:
            self.backend = available_backends()[0]


_of = once_per_model(_Made)


def available_backends() -> tuple[str, ...]:
    """Backends that can run here, best first."""
    if compiler_missing() is None:
        return BACKENDS
    return BACKENDS[2:]


def backend_of(model: RobotModel) -> str:
    """The backend a model's functions use: its own, else ``ROBOT_DYNAMICS_BACKEND``, else the best
    there is.

    Raises:
        UnknownNameError: the environment names a backend that does not exist.
        BackendError: the model or the environment names one that cannot run here.
    """
    return _of(model).backend


@dataclasses.dataclass(frozen=True)
class BackendStatus:
    """The backend of a robot's dynamics, and the reason if it is not machine code.

    Attributes:
        backend: as of :func:`backend_of`.
        compiled: whether it is machine code.
        reason: why it is not; empty if it is.
        remedy: the commands that change this; empty if there is nothing to change.
    """

    backend: str
    compiled: bool
    reason: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        if self.compiled:
            return f"machine code ({self.backend})"
        return f"slow backend {self.backend!r}, because {self.reason}" + (
            f"; {self.remedy}" if self.remedy else ""
        )


def backend_status(model: RobotModel) -> BackendStatus:
    """Whether a robot's dynamics run as machine code; if not, why, and what to do about it on this
    machine.

    >>> import robot_dynamics_ros as rd
    >>> print(rd.backend_status(rd.limb(2).with_backend("numpy")))
    slow backend 'numpy', because it was asked for
    """
    functions = _of(model)
    if functions.insisted and functions.backend in ("numpy", "interpreted"):
        return BackendStatus(functions.backend, False, "it was asked for")
    missing = compiler_missing()
    if missing is not None:
        return BackendStatus(functions.backend, False, missing, remedy())
    if _failures:
        return BackendStatus(
            "numpy",
            False,
            f"the compiler failed ({_failures[-1]})",
            f"try another llvmlite: {remedy()}",
        )
    return BackendStatus(functions.backend, True)


def prepared(model: RobotModel) -> frozenset[tuple[str, Options]]:
    """Names and options of the functions that are ready for a model: nothing is compiled when these
    are called.
    """
    return frozenset(_of(model).functions)


def _checked(name: str, where: str) -> str:
    check_name("backend", name, BACKENDS, where=where)
    if name not in BACKENDS[2:] and compiler_missing() is not None:
        raise BackendError(
            f"the backend {name!r} cannot run here: {compiler_missing()}",
            where=where,
            got=name,
            remedy=f"{remedy()}; or choose 'numpy'.",
        )
    return name


def evaluator(model: RobotModel, name: str, options: Options = ()) -> Evaluator:
    """The function ``name`` for this model, made on first use and kept with the model."""
    functions = _of(model)
    key = (name, options)
    function = functions.functions.get(key)
    if function is None:
        check_name("function", name, TABLE)
        with functions.lock:
            function = functions.functions.get(key)
            if function is None:
                engine = _engine(functions, name, options)
                function = functions.functions[key] = Evaluator(
                    functions.twin, name, options, engine
                )
    return function


def in_cache(model: RobotModel, name: str, options: Options = ()) -> bool:
    """Whether a function's machine code is in the cache on disk, so that making it takes a
    millisecond or two.
    """
    from robot_dynamics_ros.dynamics.engine.codegen import cache
    from robot_dynamics_ros.dynamics.engine.native_engine import cache_key

    functions = _of(model)
    form = _suited(functions.twin, name, options, functions.backend)
    return cache.load(cache_key(functions.twin, name, options, form)) is not None


KERNEL_MAKERS: dict[str, Callable[..., Kernel]] = {}
"""Name → what makes a kernel for a model and options, of those that are more than one function of
the table; entered by the files that state them.
"""


def kernel(model: RobotModel, name: str, **options: object) -> Kernel:
    """A callable ``kernel(*inputs, *outputs)`` for one function of one model, for control cycles.

    It takes the function's inputs in the order of its documentation, then the arrays to write to
    (or nothing, and returns new ones).  Contiguous float64 arrays of exact shape go straight to
    machine code and nothing is allocated; anything else is converted or refused with a clear error,
    as by the plain functions.  Unlike them it lets NaN and infinities pass through to the results
    that depend on them.

    Args:
        name: of the function; ``"inverse_kinematics"``, too: ``kernel(pose, start, q, errors)``.
        options: of the function, e.g. ``link="tool0"``.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> model = rd.limb(3)
    >>> inverse = rd.kernel(model, "inverse_dynamics")
    >>> q, v, a, tau = np.zeros(3), np.zeros(3), np.zeros(3), np.empty(3)
    >>> inverse(q, v, a, tau) is tau
    True

    Raises:
        UnknownNameError: no such function, link or frame.
        ArgumentError: an option is missing, or not one of this function.
    """
    if name in KERNEL_MAKERS:
        return KERNEL_MAKERS[name](model, **options)
    chosen = completed_options(model, name, options, where="kernel")
    function = evaluator(model, name, tuple(sorted(chosen.items())))
    made = _of(model)
    with made.lock:
        run = made.kernels.get(function)
        if run is None:
            run = made.kernels[function] = function.engine.wrapper(function)
    return run


def prepare(
    model: RobotModel,
    *names: str,
    background: bool = False,
) -> threading.Thread | None:
    """Compile functions before they are needed.

    Args:
        names: functions as for :func:`kernel`; the common ones if none are given.
        background: do it in a thread and return at once; until it is done, first calls wait for it.

    Returns:
        the thread, if in the background.

    Raises:
        UnknownNameError: no such function (raised at once, in the background too).
    """
    chosen = names or common_functions()
    for name in chosen:
        check_name("function", name, TABLE)

    def work() -> None:
        for name in chosen:
            evaluator(model, name)

    if not background:
        work()
        return None
    thread = threading.Thread(target=work, name="robot_dynamics_prepare", daemon=True)
    thread.start()
    return thread


_failures: list[str] = []
"""Why the compiler has failed in this process."""


@functools.cache
def _warn_once(text: str) -> None:
    logging.getLogger(__name__).warning(text)


def _engine(of: _Made, name: str, options: Options) -> Engine:
    """The engine of a function; where the compiler does not work and no backend was asked for, that
    is said once in the log.
    """
    model = of.twin
    backend = _suited(model, name, options, of.backend)
    if backend in ("native", "loops"):
        try:
            from robot_dynamics_ros.dynamics.engine.native_engine import NativeEngine

            return NativeEngine(model, name, options, loops=backend == "loops")
        except (ImportError, OSError, RuntimeError, AttributeError) as error:
            if of.insisted:
                raise BackendError(
                    f"the compiler does not work on this machine: {error}",
                    where="backend",
                    got=backend,
                    remedy=(
                        f"Install another llvmlite, {'.'.join(map(str, OLDEST_LLVMLITE))} or "
                        "later, or use the backend 'numpy'."
                    ),
                ) from error
            _failures.append(f"{type(error).__name__}: {error}")
            _warn_once(f"no machine code ({_failures[-1]}); using the slower numpy backend")
        backend = _without_compiler(estimated_operations(model, name))
    return (interpreted_engine if backend == "interpreted" else source_engine)(model, name, options)


# Operations up to which a robot is unrolled where loops cannot do it: the compiler's time grows
# faster than the number of operations.
UNROLL_NATIVE = 40_000
# The same for source in Python, which is compiled to byte code alone.
UNROLL_SOURCE = 400_000


def _suited(model: RobotModel, name: str, options: Options, backend: str) -> str:
    """The backend for one function: the model's, unless the robot is too large for it."""
    if backend == "interpreted":
        return backend
    size = estimated_operations(model, name)
    if backend != "numpy":
        from robot_dynamics_ros.dynamics.engine.loops import supported

        if supported(model, name, options) and (backend == "loops" or size > TABLE[name].loops):
            return "loops"
        if size <= UNROLL_NATIVE:
            return "native"
    return _without_compiler(size)


def _without_compiler(size: int) -> str:
    return "numpy" if size <= UNROLL_SOURCE else "interpreted"
