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
from robot_dynamics_ros.model.description import Array


class MotionRequests:
    """Part of :class:`~robot_dynamics_ros.control.controller.JointController`.

    Attributes:
        tolerances: for trajectories that bring none.
    """

    _runner: CycleRunner
    _queue: Changes
    tolerances: Tolerances

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
        """Follow a trajectory from its stamp on (0: from ``t``), leaving the present reference without a jump.

        An empty trajectory means hold; its goal is done at once.

        Args:
            trajectory: of the commanded joints, in any order.
            t: present time, ns.
            tolerances: instead of the default ones.

        Returns:
            The goal, which later cycles keep up to date.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
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
        """The same for long trajectories: read, checked and spliced in a thread of its own, followed when it is ready.

        A trajectory with a stamp of zero starts then.  Several are taken in the order of the calls.

        Args:
            make: makes the trajectory, in that thread.
            done: called between two cycles with the goal, or with the exception it was refused with (from ``make``
                too), and the trajectory.
            tolerances: instead of the default ones.
        """
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
        """Follow one streamed set-point until the next, or until ``stream_timeout`` brings the arm to a stop.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
        self._require_tracking()
        self._runner.reference.stream(joint_names, point, t)
        self._runner.mode = Mode.STREAM

    def hold(self, t: int, *, measured: bool = False) -> None:
        """Come to a stop within the deceleration and position limits, then stay.  Open goals are cancelled.

        Args:
            t: present time, ns.
            measured: start from the measured state instead of the present reference.
        """
        runner, work = self._runner, self._runner.work
        if measured or not runner.law.tracks:
            q, v = work.q, work.v
        else:
            runner.reference.begin(t)
            q, v, _ = runner.reference.sample(t)
        runner.reference.stop_from(t, q, v, GoalStatus.CANCELED, text="hold was asked for")
        if measured:
            runner.start_blend()

    def desired(self, t: int) -> Array:
        """(3, n) desired position, velocity and acceleration at time ``t``, ns, as things stand now."""
        return self._runner.reference.sample(t)

    @property
    def goal(self) -> Goal | None:
        """The trajectory goal that is active, or the next one waiting."""
        return self._runner.reference.goal

    def set_tolerances(self, tolerances: Tolerances) -> None:
        """Default tolerances for trajectories accepted from now on."""
        self.tolerances = tolerances
