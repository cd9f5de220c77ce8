"""Reports of a node: causes counted and logged without flooding the log, the `/diagnostics`
message, answers to bad requests.
"""

from __future__ import annotations

import inspect
import math
import queue
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from robot_dynamics_ros.dynamics.engine.backends import backend_status
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import ParameterValues
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE

# times, the newest ones, of which there are percentiles
REMEMBERED = 2048
# Share of a period by which a cycle may come late without being counted as late.
_TOLERANCE = 0.1
# Different texts that are logged at once; later new ones are held back as repeated ones are, so
# that a stream of bad messages does not fill the disk.
_MOST_TEXTS = 100
# s between two log lines about the same cause
_INTERVAL = 5.0


class Rejections:
    """Counts events by cause and logs each cause at once, then at most every few seconds.

    The background writes the lines; without it whoever reports does.  ``counts``: cause → how often
    since the start.
    """

    def __init__(self, logger: RcutilsLogger, background: Background | None = None) -> None:
        self._logger = logger
        self._background = background
        self._next: dict[str, float] = {}
        self._silent: Counter[str] = Counter()
        self._logged_texts: set[str] = set()
        self.counts: Counter[str] = Counter()

    def report(
        self,
        cause: str,
        text: str,
        severity: str = "warning",
        *,
        distinct: bool = False,
    ) -> None:
        """Count one event and say so, as ``"info"``, ``"warning"`` or ``"error"``, if it is time
        to.

        ``distinct``: say a text that has not been said yet at once, whenever the cause was reported
        last; only for texts of which there are few.
        """
        self.counts[cause] += 1
        self.say(cause, text, severity, distinct=distinct)

    def say(
        self,
        cause: str,
        text: str | Callable[[], str],
        severity: str = "warning",
        *,
        distinct: bool = False,
    ) -> None:
        """The same for an event that is counted elsewhere; a text that takes time to make may be a
        function.
        """
        now = time.monotonic()
        if now < self._next.get(cause, 0.0) and not (distinct and text not in self._logged_texts):
            self._silent[cause] += 1
            return
        text = text if isinstance(text, str) else text()
        if distinct and len(self._logged_texts) < _MOST_TEXTS:
            self._logged_texts.add(text)
        more = self._silent.pop(cause, 0)
        self._next[cause] = now + _INTERVAL
        line = f"{text} [{cause}" + (f", {more} more since the last report]" if more else "]")
        if self._background is not None:
            self._background.call(self._write, severity, line)
        else:
            self._write(severity, line)

    def _write(self, severity: str, line: str) -> None:
        # rclpy allows one severity for each place in the source
        if severity == "info":
            self._logger.info(line)
        elif severity == "error":
            self._logger.error(line)
        else:
            self._logger.warning(line)


# s that closing waits for what is still to be done
_CLOSING_PATIENCE_S = 2.0


class Background:
    """A thread that makes calls one after the other, in the order in which they were handed
    over.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[..., object], tuple[object, ...]] | None] = (
            queue.SimpleQueue()
        )
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="reports", daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Have ``function`` called soon; at once when this is closed."""
        if self._closed:
            function(*arguments)
        else:
            self._calls.put((function, arguments))

    def close(self) -> None:
        """Do what is left, and every further call in the caller's thread.

        Before the node is destroyed.
        """
        if not self._closed:
            self._closed = True
            self._calls.put(None)
            self._thread.join(_CLOSING_PATIENCE_S)

    def _work(self) -> None:
        while (job := self._calls.get()) is not None:
            function, arguments = job
            try:
                function(*arguments)
            except Exception:  # noqa: BLE001 (a report that fails must not end the reports)
                traceback.print_exc(file=sys.stderr)


def percentiles(name: str, values: list[float]) -> dict[str, float]:
    """Median, 99 % and maximum of times in ms, for the diagnostics; NaN without any values."""
    if values:
        shown = np.percentile(values, (50, 99, 100)).tolist()
    else:
        shown = [math.nan] * 3
    return {
        f"{name} {label} [ms]": value
        for label, value in zip(("median", "p99", "max"), shown, strict=True)
    }


class CycleTimes:
    """Counts cycles, and those that came a period (ns of the steady clock) after the one before,
    give or take a tenth.
    """

    def __init__(self, period: int) -> None:
        self._period = period
        self._slack = round(_TOLERANCE * period)
        self._last = 0
        self._window: deque[float] = deque(maxlen=REMEMBERED)
        self.count = self.regular = 0

    def add(self, now: int) -> None:
        """A cycle has run at time ``now``, ns."""
        if self._last:
            between = now - self._last
            self.count += 1
            self.regular += abs(between - self._period) <= self._slack
            self._window.append(between * 1e-6)
        self._last = now

    def interrupt(self) -> None:
        """The next cycle does not follow on the last one."""
        self._last = 0

    def values(self) -> dict[str, float | int]:
        counts: dict[str, float | int] = {
            "cycles": self.count,
            "cycles within 10 % of the period": self.regular,
        }
        return {**counts, **percentiles("period", list(self._window))}


class Diagnostics:
    """Publishes one status under the node's name; ``hardware_id`` is what the status is about, the
    robot's name.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.hardware_id = ""
        self._publisher = node.create_publisher(
            DiagnosticArray, "/diagnostics", STATE, event_callbacks=QUIET_PUBLISHER
        )
        self._due = time.monotonic()
        self._last_counts: dict[str, int] = {}
        self._dynamics: dict[str, str] = {}

    def due(self) -> bool:
        """True once a second, the first time too."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = max(self._due + 1.0, now)
        return True

    def describe(self, model: RobotModel) -> None:
        """From now on the status is about this robot; what computes its dynamics is logged and
        shown in every status.
        """
        status = backend_status(model)
        self.hardware_id = model.name
        self._dynamics = {"dynamics": str(status)}
        log = self._node.get_logger()
        (log.info if status.compiled else log.warning)(f"dynamics of {model.name!r}: {status}")

    def publish(
        self,
        level: int,
        message: str,
        values: ParameterValues,
        counts: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Publish one status: the level (0 good, 1 warning, 2 error), one sentence, and what to
        show, in order, then counts.
        """
        shown = {
            **values,
            **{f"count {cause}": n for cause, n in sorted(counts.items())},
            **self._dynamics,
        }
        status = DiagnosticStatus(
            level=bytes([level]),
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: status",
            message=message,
            hardware_id=self.hardware_id,
            values=[KeyValue(key=key, value=_text_of(value)) for key, value in shown.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def newly_counted(self, counts: Mapping[str, int]) -> str:
        """A sentence about counts that have grown since the last call, and by how much; ``""`` if
        none has.
        """
        grown = {
            k: n - self._last_counts.get(k, 0)
            for k, n in counts.items()
            if n > self._last_counts.get(k, 0)
        }
        self._last_counts = dict(counts)
        if grown:
            return "in the last second: " + ", ".join(f"{k} {n}" for k, n in sorted(grown.items()))
        return ""


# a request or a response of any service
Message: TypeAlias = object


def guard_services(node: Node, report: Callable[[str, str], None]) -> None:
    """Wrap the callbacks of a node's services, rclpy's own included; those wrapped already stay as
    they are.

    rclpy lets exceptions through that a request can provoke: a lifecycle transition that the
    present state does not have, a parameter of a type that does not exist.  Uncaught they end the
    process, and the caller waits in vain. A request that fails is answered with the response as it
    then is, for services that have ``success`` with false.
    """
    for service in node.services:
        if not hasattr(service.callback, "guarded"):
            service.callback = _guarded(service.callback, service.srv_name, report)


def _text_of(value: object) -> str:
    """A value of the diagnostics as text, numbers with six digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _guarded(
    callback: Callable[[Message, Message], Message | Awaitable[Message]],
    name: str,
    report: Callable[[str, str], None],
) -> Callable[[Message, Message], Awaitable[Message]]:
    """A service's callback whose exceptions are reported and answered by ``success = False``."""

    async def guarded(request: Message, response: Message) -> Message:
        try:
            answer = callback(request, response)
            if inspect.isawaitable(answer):
                return await answer
            return answer
        except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to the request)
            report("bad_request", f"a request to {name} failed: {type(error).__name__}: {error}")
            if hasattr(response, "success"):
                response.success = False
            return response

    guarded.guarded = True  # type: ignore[attr-defined]
    return guarded
