"""Changes that take long to prepare: made ready in a thread of their own, taken over between two cycles."""

from __future__ import annotations

import queue
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

Use: TypeAlias = Callable[[], None]
Preparation: TypeAlias = Callable[[], Use]  # makes something ready and returns what takes it over
_Job: TypeAlias = "tuple[str, int, Preparation, Callable[[Exception], None]]"


class Changes:
    """One worker thread, which ends with this object, and the results it has ``ready``: topic, number, function.

    Preparations run one after another in the order in which they were asked for.  A newer request with the same topic
    replaces an older one that has not been taken over.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.ready: deque[tuple[str, int, Use]] = deque()
        self._newest: Counter[str] = Counter()
        self._asked = self._done = 0
        self._thread: threading.Thread | None = None

    @property
    def pending(self) -> bool:
        """Whether something is being prepared, or waits to be taken over."""
        return self._asked > self._done

    def prepare(
        self,
        topic: str,
        job: Preparation,
        failed: Callable[[Exception], None] | None = None,
        *,
        background: bool = True,
    ) -> None:
        """Have a ``job`` done in the background, or at once; what it returns is called by :meth:`take_over`, or ``failed``
        with the error that it ended with.  ``topic``: what it is about, e.g. ``"payload"``; empty: never replaced."""
        self._newest[topic] += 1
        if not background:
            job()()
            return
        if self._thread is None:
            arguments = self._jobs, weakref.ref(self)
            self._thread = threading.Thread(target=_work, args=arguments, name="controller changes", daemon=True)
            self._thread.start()
            weakref.finalize(self, self._jobs.put, None).atexit = False
        self._asked += 1
        self._jobs.put((topic, self._newest[topic], job, failed or _nothing))

    def is_newest(self, topic: str, number: int) -> bool:
        """Whether no newer request with this topic has replaced this one."""
        return not topic or number == self._newest[topic]

    def take_over(self) -> None:
        """Use what is ready; to be called between two cycles, costs next to nothing if there is nothing."""
        while self.ready:
            topic, number, use = self.ready.popleft()
            self._done += 1
            if self.is_newest(topic, number):
                use()


def _work(jobs: queue.SimpleQueue[_Job | None], changes: weakref.ref[Changes]) -> None:
    """The thread.  It holds neither :class:`Changes` nor a result, which refers to the robot: both would live as long as it does."""
    while (request := jobs.get()) is not None:
        topic, number, job, failed = request
        use: Use = _nothing
        owner = changes()
        wanted = owner is not None and owner.is_newest(topic, number)
        del owner
        if wanted:
            try:
                use = job()
            except Exception as error:  # noqa: BLE001 (it belongs to the one who asked, not to this thread)
                use = partial(failed, error)
        if (owner := changes()) is not None:
            owner.ready.append((topic, number, use))
        del request, job, failed, use, owner  # or the last robot would live as long as this thread waits


def _nothing(*_: object) -> None:
    """Take over nothing."""
