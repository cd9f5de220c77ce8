"""Tasks side by side: in this process, in several, or on a cluster, with the same results; a lost
worker costs a retry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from robot_dynamics_ros.errors import BackendError, optional_package

_T = TypeVar("_T")
_R = TypeVar("_R")
Workers = Executor | Callable[[], AbstractContextManager[Executor]] | None
"""An executor; or what opens one, so that another can be opened where all its workers are lost; or
``None``: here.
"""
Tell = Callable[[float, str], None]
"""Called by a long computation with the share that is done, from 0 to 1, and what is done next."""
# A task is begun so many times: its worker may have been lost, for lack of memory for instance.
_TRIES = 3


def silent(share: float, doing: str) -> None:
    """Report no progress."""


def part(tell: Tell, first: float, last: float) -> Tell:
    """For a step of a computation, which is the stretch from ``first`` to ``last`` of the whole."""
    return lambda share, doing: tell(first + share * (last - first), doing)


def run_tasks(
    work: Callable[[_T], _R],
    tasks: Sequence[_T],
    workers: Workers = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    tries: int = _TRIES,
) -> list[_R]:
    """``[work(task) for task in tasks]``, wherever the workers are.

    Args:
        work: can be imported by the workers, and depends on its task alone: a task whose worker is
            lost is done again.
        progress: called with (tasks done, tasks) after every task, of all workers.
        tries: how often workers may be lost without any task being done before it is given up.

    Returns:
        results in the order of the tasks.
    """
    results: dict[int, _R] = {}

    def done(number: int, result: _R) -> None:
        results[number] = result
        if progress is not None:
            progress(len(results), len(tasks))

    if workers is None:
        for number, task in enumerate(tasks):
            done(number, work(task))
    lost = 0
    while workers is not None and len(results) < len(tasks):
        before = len(results)
        with nullcontext(workers) if isinstance(workers, Executor) else workers() as executor:
            why = _round(
                executor, work, {k: t for k, t in enumerate(tasks) if k not in results}, done
            )
        if why is None:
            continue
        lost = lost + 1 if len(results) == before else 1
        if lost >= tries or (isinstance(workers, Executor) and isinstance(why, BrokenExecutor)):
            problem = (
                f"workers were lost {lost} times while {len(tasks) - len(results)} tasks were "
                f"left ({why})"
            )
            remedy = "Find out what ends them: memory, mostly. Fewer processes need less."
            raise BackendError(problem, where="workers", remedy=remedy) from why
    return [results[k] for k in range(len(tasks))]


def _round(
    executor: Executor,
    work: Callable[[_T], _R],
    tasks: dict[int, _T],
    done: Callable[[int, _R], None],
) -> BaseException | None:
    """Give all tasks to an executor; what ended it, if its workers were lost."""
    why: BaseException | None = None
    futures: dict[Future[_R], int] = {}
    try:
        for number, task in tasks.items():
            futures[executor.submit(work, task)] = number
    except BrokenExecutor as error:
        why = error
    try:
        for future in as_completed(futures):
            failure = future.exception()
            if failure is None:
                done(futures[future], future.result())
            # of Dask
            elif isinstance(failure, BrokenExecutor) or type(failure).__name__ == "KilledWorker":
                why = failure
            else:
                raise failure
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return why


def on_processes(count: int) -> Callable[[], AbstractContextManager[Executor]]:
    """Workers that are processes of this machine."""
    return partial(ProcessPoolExecutor, count, mp_context=get_context("spawn"))


def on_cluster(
    scheduler: str, *, timeout: float = 20.0
) -> Callable[[], AbstractContextManager[Executor]]:
    """Workers of a Dask cluster; they need this package, of the same version.

    Args:
        scheduler: its address, for example ``"tcp://10.0.0.5:8786"``.
        timeout: s to wait for it.

    Raises:
        BackendError: the package distributed is not installed, or no scheduler answers.
    """
    remedy = "'robot_dynamics_ros[cluster]', or use processes of this machine"
    distributed = optional_package("distributed", "a cluster needs", "scheduler", remedy)

    @contextmanager
    def opened() -> Iterator[Executor]:
        try:
            client: Any = distributed.Client(scheduler, timeout=timeout, set_as_default=False)
        except (OSError, ValueError) as error:
            problem = f"no scheduler answers: {error}"
            remedy = "Check the address: dask scheduler prints it."
            raise BackendError(problem, where=scheduler, remedy=remedy) from None
        try:
            with client.get_executor(pure=False, retries=_TRIES) as executor:
                yield executor
        finally:
            client.close()

    return opened
