"""Is the joint state fresh?  A watch beside the cycle, called by a timer."""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.mode import Mode
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.model.description import Array


class StaleWatch:
    """Part of :class:`~robot_dynamics_ros.control.controller.JointController`: the safe command where no joint state comes."""

    _runner: CycleRunner

    def watch(self, t: int) -> Array | None:
        """To be called by a timer: the safe command if the state is stale at time ``t`` or a fault stands, else None.

        With the next joint state the controller recovers from a stale state by itself and holds where the arm then is;
        a fault stays until it is activated again.
        """
        runner, p = self._runner, self._runner.memory.python
        if runner.mode is Mode.INACTIVE:
            return None
        if p.started[0] and t - p.last[0] > p.timeout[0]:
            p.stale[0] = 1
        if p.stale[0]:
            if runner.mode is not Mode.SAFE:
                runner.counts["stale_state"] += 1
                timeout = runner.options.state_timeout
                runner.safe_reason = runner.jump or f"no new joint state for {timeout:g} s"
                runner.abort_goals(f"the joint state is stale: {runner.safe_reason}")
            return runner.send_safe()
        return runner.command if runner.mode is Mode.SAFE else None

    def process_was_delayed(self, t: int, gap: int) -> None:
        """The next state, of time ``t``, comes late because this process was delayed by ``gap`` ns, not the robot.

        Up to twice ``state_timeout`` the motion goes on as if nothing had happened; after more than that the arm is
        stopped where it is, and goals end with this reason.
        """
        runner, p = self._runner, self._runner.memory.python
        runner.counts["own_delay"] += 1
        if runner.mode in (Mode.INACTIVE, Mode.SAFE) or runner.fault:
            return
        if gap > 2 * p.timeout[0]:
            runner.abort_goals(f"the controller's process was delayed by {gap / NANOSECONDS:.3f} s")
        elif p.started[0] and t > p.last[0]:
            p.last[0] = max(p.last[0], t - p.timeout[0])
