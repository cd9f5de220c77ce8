"""Is the joint state fresh?  A watch beside the cycle, called by a timer."""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.mode import Mode
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.model.description import Array

__all__ = ["StaleWatch"]


class StaleWatch:
    """Sends the safe command where no joint state comes.

    Args:
        runner: the cycle; it follows the stamps.
    """

    def __init__(self, runner: CycleRunner) -> None:
        self._runner = runner
        p = runner.memory.python
        self._last, self._started, self._stale, self._timeout = p.last, p.started, p.stale, p.timeout

    def check(self, t: int) -> Array | None:
        """See ``JointController.watch``."""
        runner = self._runner
        if runner.mode is Mode.INACTIVE:
            return None
        if self._started[0] and t - self._last[0] > self._timeout[0]:
            self._stale[0] = 1
        if self._stale[0]:
            if runner.mode is not Mode.SAFE:
                runner.counts["stale_state"] += 1
                timeout = runner.options.state_timeout
                runner.safe_reason = runner.jump or f"no new joint state for {timeout:g} s"
                runner.abort_goals(f"the joint state is stale: {runner.safe_reason}")
            return runner.send_safe()
        return runner.command if runner.mode is Mode.SAFE else None

    def process_was_delayed(self, t: int, gap: int) -> None:
        """See ``JointController.process_was_delayed``."""
        runner = self._runner
        runner.counts["own_delay"] += 1
        if runner.mode in (Mode.INACTIVE, Mode.SAFE) or runner.fault:
            return
        if gap > 2 * self._timeout[0]:
            runner.abort_goals(f"the controller's process was delayed by {gap / NANOSECONDS:.3f} s")
        elif self._started[0] and t > self._last[0]:
            self._last[0] = max(self._last[0], t - self._timeout[0])
