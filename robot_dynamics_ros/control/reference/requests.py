"""Requests for motion: trajectories, streamed set-points, hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics_ros.control.cycle.memory import STREAM, TRAJECTORY, Mode
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.reference.goal import Goal, GoalStatus, Reason, Tolerances, TrajectoryRejected
from robot_dynamics_ros.control.reference.reference import PreparedMotion
from robot_dynamics_ros.control.reference.tracks import CANCELED
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint
from robot_dynamics_ros.model.description import Array


class MotionRequests(CycleRunner):
    """Part of :class:`~robot_dynamics_ros.control.controller.JointController`, which says what the attributes are."""

    tolerances: Tolerances
    state: tuple[Array, Array]

    def _require_tracking(self) -> None:
        if self.mode in (Mode.INACTIVE, Mode.SAFE):
            problem, remedy = f"the controller is {self.mode.value}", "Activate it, and see that joint states arrive."
            raise TrajectoryRejected(problem, where="controller", got=self.mode, remedy=self.fault or remedy)
        if not self.law.tracks:
            problem = f"the law {type(self.law).__name__} follows no reference"
            remedy = "Switch to a law that tracks first."
            raise TrajectoryRejected(problem, where="controller", got=self.law, remedy=remedy)

    def accept_trajectory(self, trajectory: Trajectory, t: int, tolerances: Tolerances | None = None) -> Goal:
        """Follow a trajectory of the commanded joints, in any order, from its stamp on (0: from ``t``, the present time, ns), leaving
        the present reference without a jump.  An empty trajectory means hold; its goal is done at once.

        Returns:
            The goal, which later cycles keep up to date.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
        self._require_tracking()
        return self._follow(self._prepared(trajectory, t), t, tolerances or self.tolerances)

    def _prepared(self, trajectory: Trajectory, t: int) -> PreparedMotion | None:
        return self.motion.prepare(trajectory, t) if len(trajectory) else None

    def _follow(self, motion: PreparedMotion | None, t: int, tolerances: Tolerances) -> Goal:
        self._require_tracking()
        if motion is not None:
            goal = self.motion.adopt(motion, t, tolerances)
            self.p.mode[0] = TRAJECTORY
            return goal
        self.hold(t)
        goal = Goal(t, t, tolerances)
        goal.finish(GoalStatus.SUCCEEDED, text="an empty trajectory: holding")
        return goal

    def accept_trajectory_later(
        self,
        make: Callable[[], Trajectory],
        done: Callable[[Goal | Exception, Trajectory | None], None],
        tolerances: Tolerances | None = None,
    ) -> None:
        """The same for long trajectories: read, checked and spliced in a thread of its own, followed when it is ready.

        A trajectory with a stamp of zero starts then.  Several are taken in the order of the calls.  If the arm is stopped
        meanwhile, by whomever, the trajectory is refused.

        Args:
            make: makes the trajectory, in that thread.
            done: called between two cycles with the goal, or with the exception it was refused with (from ``make``
                too), and the trajectory.
            tolerances: instead of the default ones.
        """
        chosen, stopped = tolerances or self.tolerances, self.motion.memory["stops"]
        stops = int(stopped[0])

        def job() -> Callable[[], None]:
            trajectory = make()
            motion = self._prepared(trajectory, self.p.last[0])
            return lambda: take_over(trajectory, motion)

        def take_over(trajectory: Trajectory, motion: PreparedMotion | None) -> None:
            outcome: Goal | Exception
            try:
                if stopped[0] != stops:
                    problem = "the arm was stopped while it was being prepared"
                    raise TrajectoryRejected(problem, where="trajectory", remedy="Send it again.")
                outcome = self._follow(motion, self.p.last[0], chosen)
            except TrajectoryRejected as error:
                outcome = error
            done(outcome, trajectory)

        self.changes.prepare("", job, lambda error: done(error, None))

    def accept_point(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Follow one streamed set-point until the next, or until ``stream_timeout`` brings the arm to a stop;
        TrajectoryRejected, with ``code`` and text: the arm goes on as before."""
        self._require_tracking()
        self.motion.stream(joint_names, point, t)
        self.p.mode[0] = STREAM

    def hold(self, t: int) -> None:
        """Come to a stop within the deceleration and position limits from ``t``, ns, on.  Open goals are cancelled."""
        q, v = self.state
        if self.law.tracks:
            self.motion.begin(t)
            q, v, _ = self.motion.sample(t)
        self.motion.stop_from(t, q, v, CANCELED, Reason.HELD)

    def desired(self, t: int) -> Array:
        """(3, n) desired position, velocity and acceleration at time ``t``, ns, as things stand now."""
        return self.motion.sample(t)

    @property
    def goal(self) -> Goal | None:
        """The trajectory goal that is active, or the next one waiting."""
        return self.motion.goal

    def set_tolerances(self, tolerances: Tolerances) -> None:
        """Default tolerances for trajectories accepted from now on."""
        self.tolerances = tolerances
