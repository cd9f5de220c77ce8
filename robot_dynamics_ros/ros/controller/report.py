"""Reports of the controller: once a second to `/diagnostics`, and a log line when something
changes.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque

from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics_ros.control.controller import JointController, Mode
from robot_dynamics_ros.control.cycle.ladder import Level
from robot_dynamics_ros.control.reference.goal import Goal, GoalStatus
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.payload import Payload
from robot_dynamics_ros.ros.transport.qos import LATCHED, QUIET_PUBLISHER
from robot_dynamics_ros.ros.transport.reports import (
    REMEMBERED,
    Background,
    Diagnostics,
    Rejections,
    percentiles,
)

_MILLISECONDS = 1e-6
# share by which the feedback must have changed to be worth a line
FEEDBACK_CHANGE = 0.1
# s that it must have stayed so: lateness of a busy machine comes and goes, and the log would
# alternate between two lines
LASTING_CHANGE_S = 10


class ControllerReport:
    """Collects figures and counts; the background makes and publishes the messages, and writes log
    lines.
    """

    def __init__(self, node: Node, rejections: Rejections, background: Background) -> None:
        self._node = node
        self._background = background
        self._log = node.get_logger()
        self._clock = node.get_clock()
        self.rejections = rejections
        self._diagnostics = Diagnostics(node)
        self._controller: JointController | None = None
        names = ("period", "age", "compute", "sending")
        self._windows: dict[str, deque[float]] = {name: deque(maxlen=REMEMBERED) for name in names}
        self._period, self._age, self._compute, self._sending = self._windows.values()
        self._goal: Goal | None = None
        self._payload: Payload | None = None
        # why a trajectory was refused, until one is accepted
        self._refused = ""
        self._trajectory_status = node.create_publisher(
            String, "~/trajectory_status", LATCHED, event_callbacks=QUIET_PUBLISHER
        )
        self._mode: Mode | None = None
        self._level = Level.PRECISE
        self._surprise = ""
        self._cycles = 0
        self._frequency = 0.0
        self._seconds_changed = 0
        self._fixed_budget = False
        self._budget = math.inf

    def configured(self, controller: JointController | None, budget: float = 0.0) -> None:
        """A robot is known, or none any more; a cycle may take ``budget`` in s, 0: the period of
        the joint states.
        """
        self._controller = controller
        self._fixed_budget = budget > 0.0
        if budget > 0.0:
            self._budget = budget * 1e3
        else:
            self._budget = math.inf
        self._goal = None
        self._payload = None
        self._refused = ""
        self.tell_trajectory("none: no trajectory since the start")
        if controller is not None:
            self._diagnostics.describe(controller.model)
        for window in self._windows.values():
            window.clear()

    def cycle(self, stamp: int, started: int, period: int, sending: int) -> None:
        """A cycle is done, all in ns: stamp of its state, when it began on the steady clock, time
        since the state before (0: not known), and the part in which the middleware published the
        command.
        """
        self._cycles += 1
        if period:
            self._period.append(period * _MILLISECONDS)
        self._sending.append(sending * _MILLISECONDS)
        took = (time.monotonic_ns() - started) * _MILLISECONDS
        self._compute.append(took)
        if took > self._budget:
            self.rejections.report(
                "overrun", f"a cycle took {took:.3f} ms; there are {self._budget:.3f} ms for it"
            )
        # the ROS clock is dear to ask
        if not self._cycles & 7:
            self._age.append((self._clock.now().nanoseconds - stamp) * _MILLISECONDS)

    def goal(self, goal: Goal) -> None:
        """A trajectory was accepted; its end will be logged."""
        self._goal = goal
        self._refused = ""

    def refused(self, what: str, reason: Exception | str) -> None:
        """A trajectory was refused: each reason is said at once, and stands in the diagnostics and
        in ``~/trajectory_status`` until one is accepted.
        """
        self.rejections.report("trajectory", f"{what} refused: {reason}", distinct=True)
        self.tell_refusal(reason)

    def tell_refusal(self, reason: Exception | str) -> None:
        """Show why a trajectory was refused until one is accepted; what counts it also logs it."""
        self._refused = " ".join(str(reason).split())
        self.tell_trajectory(f"refused: {self._refused}")

    def tell_trajectory(self, text: str) -> None:
        """Publish what has become of the last trajectory: a word, a colon, and the reason."""
        self._background.call(self._trajectory_status.publish, String(data=text))

    def say(self, text: str) -> None:
        self._background.call(self._log.info, text)

    def tick(self) -> bool:
        """To be called often; logs changes, and publishes once a second (then ``True``)."""
        self._log_changes()
        if not self._diagnostics.due():
            return False
        self._publish()
        return True

    def _log_changes(self) -> None:
        if self._controller is not None:
            mode = self._controller.mode
        else:
            mode = None
        if mode is not self._mode:
            if mode is Mode.SAFE and self._controller is not None:
                # a robot that comes and goes would fill the log: each reason at once, then every
                # few seconds
                self.rejections.report(
                    "safe_command", f"safe command: {self._controller.safe_reason}", distinct=True
                )
            elif self._mode is Mode.SAFE and mode is not None:
                self.rejections.report(
                    "recovered", f"recovered from the safe command, now: {mode.value}", "info"
                )
            self._mode = mode
        payload = None if self._controller is None else self._controller.payload
        if payload is not self._payload:
            self._payload = payload
            self.say(f"payload in force: {_payload_text(payload)}")
        if self._controller is not None:
            self._log_level(self._controller)
        goal = self._goal
        if goal is not None and goal.status.done:
            self._goal = None
            missed = goal.status is GoalStatus.SUCCEEDED and goal.text.startswith(
                "done by the clock only"
            )
            word = "missed" if missed else goal.status.value
            self.tell_trajectory(f"{word}: {goal.text}".rstrip(": "))
            if missed:
                self.rejections.report("goal_missed", f"trajectory {goal.text}")
            else:
                self._background.call(self._log_end, goal)

    def _log_level(self, controller: JointController) -> None:
        """Each surprise with its numbers, and when the precise law leads all joints again."""
        if controller.surprise != self._surprise:
            self._surprise = controller.surprise
            plain = "; the plain law leads its arm" if controller.level is Level.PLAIN else ""
            self.rejections.say("surprise", f"{self._surprise}{plain}")
        elif controller.level < self._level:
            self.say("nothing has surprised lately: the precise law leads all joints again")
        self._level = controller.level

    def _log_feedback(self, robustness: Robustness, frequency: float, delay: float) -> None:
        """Once, and when it has changed by a tenth for some time: rates fall."""
        if abs(frequency - self._frequency) <= FEEDBACK_CHANGE * frequency:
            self._seconds_changed = 0
            return
        self._seconds_changed += 1
        if self._frequency == 0.0 or self._seconds_changed > LASTING_CHANGE_S:
            self._seconds_changed = 0
            self._frequency = frequency
            if frequency >= 0.999 * robustness.bandwidth:
                reason = "robustness.bandwidth"
            else:
                reason = "the delay allows no more"
            self.say(
                f"computed torque with {frequency:.3g} rad/s: {reason}; the loop is "
                f"{delay * 1e3:.3g} ms late"
            )

    def _log_end(self, goal: Goal) -> None:
        if goal.status is GoalStatus.SUCCEEDED:
            self._log.info("trajectory done: goal reached")
        elif goal.status is GoalStatus.ABORTED:
            self._log.warning(f"trajectory aborted: {goal.text}")
        else:
            self._log.info(f"trajectory {goal.status.value} {goal.text}".rstrip())

    def _publish(self) -> None:
        """Collect the values; percentiles and the message are made in the background."""
        controller = self._controller
        counts = Counter(self.rejections.counts)
        values: dict[str, str | float] = {"mode": "unconfigured"}
        windows: dict[str, list[float]] = {}
        more: dict[str, str | float] = {}
        safe_reason = ""
        if controller is not None:
            counts.update(controller.counts)
            values = {"mode": controller.mode.value, "cycles": self._cycles}
            if controller.options.robustness is not None:
                values["law of the joints"] = controller.level.name.lower()
            if controller.surprise:
                values["last surprise"] = controller.surprise
            windows = {name: list(window) for name, window in self._windows.items()}
            values["payload"] = _payload_text(controller.payload)
            if self._refused:
                values["last trajectory refused"] = self._refused
            if self._mode is Mode.SAFE:
                safe_reason = controller.safe_reason
            else:
                safe_reason = ""
            if controller.options.robustness is not None:
                frequency, delay = controller.feedback_frequency
                more = {"feedback [rad/s]": frequency, "delay of the loop [ms]": delay * 1e3}
                more |= {
                    f"description {number}": gap
                    for number, gap in enumerate(controller.description_gaps(), 1)
                }
                self._log_feedback(controller.options.robustness, frequency, delay)
        self._background.call(self._publish_status, safe_reason, counts, windows, values, more)

    def _publish_status(
        self,
        safe_reason: str,
        counts: Counter[str],
        windows: dict[str, list[float]],
        values: dict[str, str | float],
        more: dict[str, str | float],
    ) -> None:
        for name, window in windows.items():
            values |= percentiles(name, window)
        period = float(values.get("period median [ms]", math.nan))
        if not self._fixed_budget and not math.isnan(period):
            # the shortest seen lately: a cycle that is too slow makes itself a longer period
            self._budget = min(1.1 * self._budget, period)
        harmless = ("unrelated", "recovered")
        grown = self._diagnostics.newly_counted(
            {cause: n for cause, n in counts.items() if cause not in harmless}
        )
        if safe_reason:
            level = 2
            text = f"safe command: {safe_reason}"
        elif grown or not windows:
            level = 1
            text = grown or "not configured"
        else:
            level = 0
            text = str(values["mode"])
        self._diagnostics.publish(level, text, values | more, counts)


def _payload_text(payload: Payload | None) -> str:
    """A payload in words, with its unit."""
    return "none" if payload is None else f"{payload.mass:g} kg on {payload.link!r}"
