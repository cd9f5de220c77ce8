"""The `/diagnostics` message, once a second: how the loop runs and what was refused."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robot_dynamics_ros.dynamics.engine.backends import backend_status
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import ParameterValues
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE

REMEMBERED = 2048  # times, the newest ones, of which there are percentiles
_TOLERANCE = 0.1


def percentiles(name: str, values: list[float]) -> dict[str, float]:
    """Median, 99 % and maximum of times in ms, for the diagnostics; NaN without any values."""
    shown = np.percentile(values, (50, 99, 100)).tolist() if values else [math.nan] * 3
    return {f"{name} {label} [ms]": value for label, value in zip(("median", "p99", "max"), shown, strict=True)}


class CycleTimes:
    """Counts cycles, and those that came a period (ns of the steady clock) after the one before, give or take a tenth."""

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
        """Values for the diagnostics."""
        counts: dict[str, float | int] = {"cycles": self.count, "cycles within 10 % of the period": self.regular}
        return {**counts, **percentiles("period", list(self._window))}


class Diagnostics:
    """Publishes one status under the node's name; ``hardware_id`` is what the status is about, the robot's name."""

    def __init__(self, node: Node) -> None:
        self._node, self.hardware_id = node, ""
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", STATE, event_callbacks=QUIET_PUBLISHER)
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
        """From now on the status is about this robot; what computes its dynamics is logged and shown in every status."""
        status = backend_status(model)
        self.hardware_id, self._dynamics = model.name, {"dynamics": str(status)}
        log = self._node.get_logger()
        (log.info if status.compiled else log.warning)(f"dynamics of {model.name!r}: {status}")

    def publish(self, level: int, message: str, values: ParameterValues) -> None:
        """Publish one status: the level (0 good, 1 warning, 2 error), one sentence, and what to show, in order."""
        status = DiagnosticStatus(
            level=bytes([level]),
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: status",
            message=message,
            hardware_id=self.hardware_id,
            values=[KeyValue(key=key, value=_text(value)) for key, value in {**values, **self._dynamics}.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def newly_counted(self, counts: Mapping[str, int]) -> str:
        """A sentence about counts that have grown since the last call, and by how much; ``""`` if none has."""
        grown = {k: n - self._last_counts.get(k, 0) for k, n in counts.items() if n > self._last_counts.get(k, 0)}
        self._last_counts = dict(counts)
        return "in the last second: " + ", ".join(f"{k} {n}" for k, n in sorted(grown.items())) if grown else ""


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
