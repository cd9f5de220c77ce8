"""Changes that take long to prepare: made ready in a thread of their own, taken over between two
cycles.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

Use: TypeAlias = Callable[[], None]
# makes something ready and returns what takes it over
Preparation: TypeAlias = Callable[[], Use]


class Changes:
    """One worker thread, which ends with this object, and what it was asked for and nobody has
    taken over: ``pending``.

    Preparations run one after another in the order in which they were asked for.  A newer request
    with the same topic replaces an older one that has not been taken over.
    """

    def __init__(self) -> None:
        self.pending: deque[tuple[str, int, Future[Use], Callable[[Exception], None] | None]] = (
            deque()
        )
        self._newest: Counter[str] = Counter()
        self._worker = ThreadPoolExecutor(1, "controller changes")

    def prepare(
        self,
        topic: str,
        job: Preparation,
        failed: Callable[[Exception], None] | None = None,
        *,
        background: bool = True,
    ) -> None:
        """Have a ``job`` done in the background, or at once; what it returns is called by
        :meth:`take_over`, or ``failed`` with the error that it ended with.  ``topic``: what it is
        about, e.g. ``"payload"``; empty: never replaced.
        """
        self._newest[topic] += 1
        number = self._newest[topic]
        if background:
            made = self._worker.submit(
                lambda: job() if self._is_newest(topic, number) else lambda: None
            )
            self.pending.append((topic, number, made, failed))
        else:
            job()()

    def _is_newest(self, topic: str, number: int) -> bool:
        return not topic or number == self._newest[topic]

    def take_over(self) -> None:
        """Use what is ready; to be called between two cycles."""
        while self.pending and self.pending[0][2].done():
            topic, number, made, failed = self.pending.popleft()
            if self._is_newest(topic, number):
                try:
                    use = made.result()
                except Exception as error:  # noqa: BLE001 (it belongs to the one who asked)
                    if failed is not None:
                        failed(error)
                else:
                    use()
