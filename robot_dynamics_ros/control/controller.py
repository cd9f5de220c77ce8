"""The whole controller without ROS: a node only translates messages into these calls, a script calls them in a loop.

All arrays are in model order (``model.joint_names``), all times integers in nanoseconds of one clock, the clock of the
joint states' stamps.  Nothing here locks: calls belong to one thread, or to callbacks that exclude each other.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from robot_dynamics_ros.control.contact import ContactEstimate
from robot_dynamics_ros.control.cycle.estimates import Estimates
from robot_dynamics_ros.control.cycle.message import AnswerLayout
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.flange import FlangeLoad
from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.guards import GuardSettings
from robot_dynamics_ros.control.law_changes import LawChanges
from robot_dynamics_ros.control.laws import ComputedTorque, Law
from robot_dynamics_ros.control.mode import Mode
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.present import Present
from robot_dynamics_ros.control.reference.requests import MotionRequests
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.control.stale_watch import StaleWatch
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import vector

__all__ = ["ControllerOptions", "JointController", "Mode"]


class JointController(MotionRequests, LawChanges, StaleWatch, Present):
    """Model, law, reference, limits and estimates of one robot, and its control cycle.

    Attributes (arrays belong to the controller and are overwritten by the next cycle):
        model: the robot, payload excluded.
        reference: (3, n) desired position, velocity, acceleration.
        error: (2, n) desired minus measured position (the short way round for continuous joints) and velocity.
        effort: (n,) total effort of the joints after the limits, gravity included even if the robot compensates it.
        command: (n,) the command to send: ``effort``, minus g(q) if the robot adds it.
        wrenches: (joints, 6) [moment; force] that the parent side exerts on each child link, about the joint's origin,
            in the child link's frame; see ``ControllerOptions.wrench_acceleration``.
        counts: cause → number of times since the controller was made.
        observer: estimate of external efforts, or ``None``; see :class:`MomentumObserver`.
        collision: collision flag on top of it, or ``None``.
        contact: the wrench on a link that explains them, or ``None``; see :class:`ContactEstimate`.
        flange: load that the tool exerts on the arm, or ``None``; see :class:`FlangeLoad`.
    """

    def __init__(
        self,
        model: RobotModel,
        law: Law | None = None,
        *,
        options: ControllerOptions | None = None,
        guards: GuardSettings | None = None,
        tolerances: Tolerances | None = None,
        observer: MomentumObserver | None = None,
        collision: CollisionMonitor | None = None,
        contact: ContactEstimate | None = None,
        flange: FlangeLoad | None = None,
        estimates_later: bool = False,
    ) -> None:
        """Check that everything fits together, and compile what the cycle needs.

        Args:
            model: the robot, joints of one degree of freedom each.
            law: if not given, computed torque that holds up on a robot that differs from its description: with the
                friction of the description and ``options.robustness``.
            options, guards, tolerances: the defaults if not given.
            observer, collision, contact, flange: estimates to keep up to date.
            estimates_later: leave what no command needs to :meth:`prepare_estimates`, if there is neither ``collision``
                nor ``contact`` nor ``flange``; ``want_wrenches`` and ``want_efforts`` must stay False until
                ``estimates_ready``.

        Raises:
            ArgumentError: settings that do not fit the model, or a model with joints of several degrees of freedom.
            UnknownNameError: a joint or link that the model does not have.
        """
        options = options or ControllerOptions()
        if law is None:
            law = ComputedTorque(friction=Friction.of(model))
            options = dataclasses.replace(options, robustness=options.robustness or Robustness())
        options = options.check(model)
        self.model = model
        law = law.check(model)
        later = estimates_later and collision is None and contact is None and flange is None
        runner = CycleRunner(model, law, options, guards, estimates=not later)
        super().__init__(runner)
        self._estimates = Estimates(runner, observer, collision, contact, flange, self._collided)
        runner.want_wrenches = self._estimates.want_efforts = not later
        runner.restarted = self._estimates.reset
        self._show()
        if options.collision_reaction == "gravity":
            runner.code(self._giving_way(law))  # at hand
        self.tolerances = tolerances or Tolerances.uniform(model.nv, stopped_velocity=0.0)
        self.counts: Counter[str] = runner.counts
        self.observer, self.collision, self.contact, self.flange = observer, collision, contact, flange
        self.reference, self.error, self.wrenches = runner.work.reference, runner.work.error, runner.work.wrenches
        self.effort, self.command = runner.effort, runner.command

    # -- life cycle ----------------------------------------------------------------------------------------------

    def activate(self, t: int, q: Array, v: Array) -> None:
        """Start (or start afresh) by holding where the arm is; a moving arm is brought to a stop within its limits.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.

        Raises:
            ArgumentError: a state of the wrong length or not finite, a time that is no integer; nothing is changed then.
        """
        names, runner = self.model.joint_names, self._runner
        q, v = (vector(x, self.model.nv, name, joints=names) for x, name in ((q, "q"), (v, "v")))
        runner.set_state(t, q, v, None)
        runner.begin(t)
        runner.restart("the controller was started afresh")

    def update(self, t: int, q: Array, v: Array, effort: Array | None = None) -> Array:
        """One control cycle.

        A state that is not finite, that has jumped, or whose stamp repeats or is a little late, is counted and leaves the
        command as it was; one that is much older, or that comes after a gap, makes the controller hold where the arm is.
        A jump that lasts is a gap: see ``ControllerOptions.max_state_jump``.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.
            effort: (n,) measured effort, for the observer and ``wrench_acceleration="measured_effort"``; without it the
                commanded effort of the cycle before takes its place.

        Returns:
            (n,) efforts to command: always finite, within the effort limits; ``command`` itself.

        Raises:
            ArgumentError: a time that is no integer.
        """
        runner = self._runner
        runner.set_state(t, q, v, effort)
        if runner.mode is Mode.INACTIVE:
            return runner.safe_command()
        if self.answer():
            self.estimate(measured=effort is not None)
        return self.command

    def answer(self) -> bool:
        """The cycle for the state that has been read into ``memory``, up to the command, which is written into the answer.

        Returns:
            Whether the state was followed by a cycle; if not, it was dropped, or the answer is the safe command.
        """
        if self._queue.ready:
            self.take_over()
        return self._runner.advance()

    def estimate(self, *, measured: bool) -> None:
        """The rest of that cycle: external efforts, contact, wrenches.

        Args:
            measured: whether the state has efforts.
        """
        self._estimates.after_cycle(measured=measured)

    def answer_into(self, answer: AnswerLayout | None) -> None:
        """Write the commands into this message; ``None``: into none."""
        self._runner.execution.answer_into(answer)

    def deactivate(self) -> Array:
        """Stop; returns the safe command to send as the last message.  Goals still open are aborted."""
        if self.mode is not Mode.INACTIVE:
            self._runner.abort_goals("the controller was deactivated")
            self._runner.mode, self._runner.current = Mode.INACTIVE, False
        return self.safe_command()

    def control(self, t: float, q: Array, v: Array) -> Array:
        """:meth:`update` as a callable of time in seconds, for offline simulation; activates itself at the first call."""
        stamp = nanoseconds(t)
        if self.mode is Mode.INACTIVE:
            self.activate(stamp, q, v)
        return self.update(stamp, q, v)

    def _collided(self) -> None:
        reaction, runner = self.options.collision_reaction, self._runner
        if reaction == "none" or not runner.law.tracks:
            return
        why = "collision: holding" if reaction == "hold" else "collision: giving way"
        runner.abort_goals(why)
        runner.start_blend()
        if reaction == "gravity":
            self.set_law(self._giving_way(runner.law))
