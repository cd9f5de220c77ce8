"""Requests for motion: trajectories, streamed set-points, hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics_ros.control.changes import Changes
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.mode import Mode
from robot_dynamics_ros.control.reference.motion import Motion
from robot_dynamics_ros.control.reference.result import Goal, GoalStatus, TrajectoryRejected
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint

__all__ = ["MotionRequests"]


class MotionRequests:
    """See the methods of ``JointController`` with the same names.

    Args:
        runner: the cycle.
        queue: prepares long trajectories.
        tolerances: for trajectories that bring none.
    """

    def __init__(self, runner: CycleRunner, queue: Changes, tolerances: Tolerances) -> None:
        self._runner, self._queue, self.tolerances = runner, queue, tolerances

    def _require_tracking(self) -> None:
        runner = self._runner
        if runner.mode in (Mode.INACTIVE, Mode.SAFE):
            raise TrajectoryRejected(
                f"the controller is {runner.mode.value}",
                where="controller",
                got=runner.mode,
                remedy=runner.fault or "Activate it, and see that joint states arrive.",
            )
        if not runner.law.tracks:
            raise TrajectoryRejected(
                f"the law {type(runner.law).__name__} follows no reference",
                where="controller",
                got=runner.law,
                remedy="Switch to a law that tracks first.",
            )

    def accept_trajectory(self, trajectory: Trajectory, t: int, tolerances: Tolerances | None = None) -> Goal:
        """Follow a trajectory from its stamp on."""
        self._require_tracking()
        tolerances = tolerances if tolerances is not None else self.tolerances
        if not len(trajectory):
            self.hold(t)
            goal = Goal(t, t, tolerances)
            goal.finish(GoalStatus.SUCCEEDED, text="an empty trajectory: holding")
            return goal
        goal = self._runner.reference.accept(trajectory, t, tolerances)
        self._runner.mode = Mode.TRAJECTORY
        return goal

    def accept_trajectory_later(
        self,
        make: Callable[[], Trajectory],
        done: Callable[[Goal | Exception, Trajectory | None], None],
        tolerances: Tolerances | None = None,
    ) -> None:
        """The same, prepared in a thread of its own."""
        chosen = tolerances if tolerances is not None else self.tolerances
        runner, reference = self._runner, self._runner.reference

        def refused(error: Exception) -> None:
            done(error, None)

        def job() -> Callable[[], None]:
            trajectory = make()
            motion = reference.prepare(trajectory, runner.last[0]) if len(trajectory) else None
            return lambda: take_over(trajectory, motion)

        def take_over(trajectory: Trajectory, motion: Motion | None) -> None:
            try:
                if motion is None:
                    done(self.accept_trajectory(trajectory, runner.last[0], chosen), trajectory)
                    return
                self._require_tracking()
                goal = reference.adopt(motion, runner.last[0], chosen)
            except TrajectoryRejected as error:
                done(error, trajectory)
                return
            runner.mode = Mode.TRAJECTORY
            done(goal, trajectory)

        self._queue.prepare("", job, refused)

    def accept_point(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Follow one streamed set-point."""
        self._require_tracking()
        self._runner.reference.stream(joint_names, point, t)
        self._runner.mode = Mode.STREAM

    def hold(self, t: int, *, measured: bool = False) -> None:
        """Come to a stop, then stay."""
        runner, work = self._runner, self._runner.work
        if measured or not runner.law.tracks:
            q, v = work.q, work.v
        else:
            q, v, _ = runner.reference.sample(t)
        runner.reference.stop_from(t, q, v, GoalStatus.CANCELED, text="hold was asked for")
        if measured:
            runner.start_blend()
