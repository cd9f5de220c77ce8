"""Requests: for motion, and for another law, other gains or a payload, without a step in the effort.

What takes long is prepared aside, and taken over between two cycles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from robot_dynamics_ros.control.contact import FlangeLoad
from robot_dynamics_ros.control.cycle.cycle import start_blend
from robot_dynamics_ros.control.cycle.loading import LawCode, load_law, load_rejection, load_robot
from robot_dynamics_ros.control.cycle.memory import STREAM, TRAJECTORY, Mode
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import GravityCompensation, Law
from robot_dynamics_ros.control.observer import MomentumObserver
from robot_dynamics_ros.control.reference.goal import Goal, GoalStatus, Reason, Tolerances, TrajectoryRejected
from robot_dynamics_ros.control.reference.reference import PreparedMotion
from robot_dynamics_ros.control.reference.tracks import CANCELED
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.engine.backends import prepared
from robot_dynamics_ros.dynamics.engine.compile_process import compile_elsewhere
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array


class Requests(CycleRunner):
    """Part of :class:`~robot_dynamics_ros.control.controller.JointController`, which says what the attributes are."""

    tolerances: Tolerances
    state: tuple[Array, Array]
    observer: MomentumObserver | None
    flange: FlangeLoad | None

    # -- motion --------------------------------------------------------------------------------------------------

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
        the present reference without a jump, with these ``tolerances`` or the default ones.

        Returns the goal, which later cycles keep up to date; that of an empty trajectory, which means hold, is done at once.
        TrajectoryRejected, with ``code`` and text: the arm goes on as before.
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
        meanwhile, by whomever, the trajectory is refused.  ``make`` makes it, in that thread; ``done`` is called between two cycles
        with the goal, or with the exception it was refused with (from ``make`` too), and the trajectory.
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

    # -- law, gains, payload -------------------------------------------------------------------------------------

    def code(self, law: Law) -> LawCode | None:
        """Machine code of a law; that of the one in which the arm gives way is at hand then, if a collision asks for it."""
        if self.options.collision_reaction == "gravity":
            super().code(self._giving_way(law))
        return super().code(law)

    def set_law(self, law: Law, *, background: bool = False) -> None:
        """Use another law, or other gains, from the next cycle on; the effort does not jump.  ArgumentError, UnknownNameError: the
        law does not fit the model; the one before stays.

        From a law without reference to one with, the arm holds where it is.  In the ``background``, what it needs is compiled
        in a thread of its own; a later cycle takes it over.
        """
        self._wanted_law = law.check(self.model)

        def job() -> Callable[[], None]:
            law.prepare(self.work.kernels)
            law.prepare(self._coming)  # a payload that is ready, but not carried yet
            code = self.code(law)
            return lambda: self._use_law(law, code)

        self.changes.prepare("law", job, background=background)

    def _use_law(self, law: Law, code: LawCode | None) -> None:
        before, self.law = self.law, law
        load_law(self.memory, law, code)
        if type(law) is not type(before):
            self.between_cycles("change_law", int(before.tracks))
        start_blend(self.p)

    @staticmethod
    def _giving_way(law: Law) -> Law:
        """The law in which an arm under ``law`` lets itself be pushed away."""
        return GravityCompensation(friction=getattr(law, "friction", None))

    def set_gains(self, **gains: Sequence[float] | Mapping[str, float] | float) -> None:
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …), the others staying.  Nothing is changed by an
        UnknownNameError: no such gain or joint; or an ArgumentError: a value negative, not finite, or of the wrong length."""
        self.set_law(self._wanted_law.with_gains(self.model, **gains))

    def set_robustness(self, robustness: Robustness) -> None:
        """Other settings of the step that makes computed torque hold up, from the next cycle on; the effort does not jump;
        ArgumentError: the controller was made without that step."""
        if self.options.robustness is None:
            remedy = "Make it with ControllerOptions(robustness=Robustness())."
            raise ArgumentError("the controller was made without robustness", where="set_robustness", remedy=remedy)
        self.options = dataclasses.replace(self.options, robustness=robustness)
        load_rejection(self.memory, robustness, self.model)
        start_blend(self.p)

    def set_payload(
        self,
        payload: Payload | None,
        *,
        background: bool = False,
        elsewhere: bool = False,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Carry a payload from the next cycle on, or with ``None`` none; UnknownNameError: the model has no such link.

        Compiling for the loaded robot takes some tenths of a second the first time; it happens here, or with
        ``background`` in a thread of its own, after which a later cycle takes the payload over.

        Args:
            elsewhere: let another process compile, so that the cycle is not held up by the interpreter lock; it takes
                about a second the first time.
            failed: called between two cycles with an error that preparing it in the background ended with; the payload of
                before stays.
        """
        if payload is not None:
            self.model.link(payload.link)

        def job() -> Callable[[], None]:
            present = self.work.kernels
            loaded = self.model if payload is None else carrying(self.model, payload)
            if elsewhere:
                compile_elsewhere(loaded, prepared(present.model))
            kernels = self.base if loaded is self.model else Kernels(loaded)
            kernels.include(present)
            self._wanted_law.prepare(kernels)
            self._coming = kernels
            return lambda: self._carry(payload, kernels)

        self.changes.prepare("payload", job, failed, background=background)

    def _carry(self, payload: Payload | None, kernels: Kernels) -> None:
        load_robot(self.memory, kernels)
        self.work.kernels = kernels
        self.gather_wrenches()
        self.payload = payload
        if self.observer is not None:
            self.observer.rebase()
        if self.flange is not None:
            self.flange.use(kernels)
        start_blend(self.p)
