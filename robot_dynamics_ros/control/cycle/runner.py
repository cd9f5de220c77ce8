"""Runs the control cycle, and acts on its verdicts."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics_ros.control.cycle import verdicts as verdict_of
from robot_dynamics_ros.control.cycle.arrival import begin_afresh
from robot_dynamics_ros.control.cycle.execution import Execution
from robot_dynamics_ros.control.cycle.external import ExternalWrenches
from robot_dynamics_ros.control.cycle.law_code import LawCode
from robot_dynamics_ros.control.cycle.limits import LIMITS
from robot_dynamics_ros.control.cycle.loading import load_law, load_reference, load_rejection, load_robot, load_wrenches
from robot_dynamics_ros.control.guards import Guards, GuardSettings
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.mode import Mode
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.motion import JointTable
from robot_dynamics_ros.control.reference.reference import ReferenceGenerator
from robot_dynamics_ros.control.reference.result import GoalStatus, ResultCode
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, nanoseconds
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

_DROPPED = -1
_QUANTITIES = ("position", "velocity")
_WRONG_STATE = "sign or unit of the driver's joint state is wrong, or it belongs to another joint"
_ARRIVALS = {
    verdict_of.FIRST: "first",
    verdict_of.BACKWARDS: "backwards",
    verdict_of.RECOVERED: "recovered",
}


class CycleRunner:
    """Everything that a cycle depends on, and the reactions to its verdicts.

    Attributes:
        model: the robot, payload excluded.
        options: settings that do not change.
        work: memory, state and functions of the robot, payload included.
        base: functions of the robot without payload.
        law, guards, reference, wrenches: in force.
        counts: cause → number of times since the controller was made.
        mode: a :class:`Mode`; ``fault``, ``safe_reason``, ``jump``: see ``JointController``.
        current: whether the last state was followed by a cycle.
        want_wrenches: whether the law's own inverse dynamics are to give the wrenches, where they can.
        restarted: called when the motion is a new one.
        idle: (k,) indices of the joints that are not commanded, or ``None``.
    """

    def __init__(
        self, model: RobotModel, law: Law, options: ControllerOptions, guards: GuardSettings | None, *, estimates: bool
    ) -> None:
        self.model, self.options, self.law = model, options, law
        self.work = Workspace(model, estimates=estimates)
        self.base = self.work.kernels
        self.counts: Counter[str] = Counter()
        self.memory = memory = self.work.memory
        p = memory.python
        self.time, self.last, self.fresh, self.blending = p.time, p.last, p.fresh, p.blending
        self._wrenches_with_law, self._robust, self.want_wrenches = p.wrenches_with_law, p.robust, True
        self._safe, self._due, self._cut, self._started, self._stale = p.safe, p.due, p.cut, p.started, p.stale
        self.effort, self.command, self.previous = (memory[x] for x in ("effort", "command", "previous"))
        table = JointTable.of(model, options.joints)
        self.idle = None if table.commanded.all() else np.flatnonzero(~table.commanded)
        self.guards = Guards(model, guards, self.idle)
        self.guards.load(memory)
        memory["commanded"][:] = table.commanded
        memory["rated_speed"][:] = np.where(model.velocity_limit > 0.0, model.velocity_limit, np.inf)
        memory["timeout"][0] = nanoseconds(options.state_timeout)
        memory["largest_jump"][0] = options.max_state_jump or np.inf
        memory["blend_duration"][0] = nanoseconds(options.blend_time)
        memory["safe_holds"][0] = options.safe_command == "gravity"
        memory["robot_holds"][0] = ("controller", "robot", "robot_with_coriolis").index(options.gravity_compensated_by)
        self.reference = ReferenceGenerator(
            table, options, self.guards.deceleration, self._reference_changed, compiled=self.work.compiled
        )
        self.wrenches = ExternalWrenches(nanoseconds(options.wrench_timeout))
        self.wrenches_changed()
        self.execution = Execution(memory, self.work.compiled)
        self._mode = Mode.INACTIVE
        self.fault = self.safe_reason = self.jump = ""
        self.current = False
        self.restarted: Callable[[], None] = lambda: None
        law.prepare(self.base)
        load_law(memory, law, self.code(law))
        load_rejection(memory, options.robustness, law, self.model)

    # -- what a cycle depends on; each change is loaded at once --------------------------------------------------

    @property
    def mode(self) -> Mode:
        """The mode of operation."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._mode = mode
        self._safe[0] = mode is Mode.SAFE

    def code(self, law: Law) -> LawCode | None:
        """Machine code of a law, where it can be had; it may take a while."""
        return LawCode.of(law, self.model.nv) if self.execution.compiled else None

    def use_law(self, law: Law, code: LawCode | None) -> None:
        """Evaluate this law from now on."""
        self.law = law
        load_law(self.memory, law, code)
        load_rejection(self.memory, self.options.robustness, law, self.model)
        self._reference_changed()

    def use_robustness(self, robustness: Robustness | None) -> None:
        """Reject disturbances in this way from now on."""
        self.options = dataclasses.replace(self.options, robustness=robustness)
        load_rejection(self.memory, robustness, self.law, self.model)

    def use_robot(self, kernels: Kernels) -> None:
        """Call the functions of this robot from now on."""
        load_robot(self.memory, kernels)
        self.work.kernels = kernels
        self.wrenches_changed()

    def use_guards(self, settings: GuardSettings) -> None:
        """Keep these limits from now on."""
        self.guards = Guards(self.model, settings, self.idle)
        self.guards.load(self.memory)
        self.reference.deceleration = self.guards.deceleration

    def set_external_wrench(self, link: str, wrench: Sequence[float] | None, t: int) -> None:
        """Resist a known wrench [moment; force] on a link; ``None`` forgets it."""
        if self.wrenches.set(link, wrench, t):
            self.start_blend()
        self.wrenches_changed()

    def wrenches_changed(self) -> None:
        """Resist the known wrenches as they are now."""
        load_wrenches(self.memory, self.wrenches, self.work.kernels)

    def _reference_changed(self) -> None:
        self._due[0] = -(2**62)

    def start_blend(self) -> None:
        """The next effort comes from something else than the last."""
        self.blending[0] = self.options.blend_time > 0.0

    # -- the cycle -----------------------------------------------------------------------------------------------

    def set_state(self, t: int, q: Array, v: Array, effort: Array | None) -> None:
        """A state arrives as arrays; see ``JointController.update``."""
        try:
            self.time[0] = t
        except (TypeError, ValueError):
            raise ArgumentError(
                f"expected an integer number of nanoseconds, got {t!r}",
                where="t",
                got=t,
                remedy="Seconds become nanoseconds with nanoseconds(seconds), in robot_dynamics_ros.control.",
            ) from None
        arrived = self.memory["arrived"]
        arrived[0], arrived[1] = q, v
        if effort is not None:
            arrived[2] = effort

    def advance(self) -> bool:
        """One cycle for the state in the memory.  True: done; False: the state was dropped, or the safe command is out."""
        run = self.execution.run
        self.work.wrenches_current = False
        self._wrenches_with_law[0] = (
            self.want_wrenches
            and self.options.wrench_acceleration == "commanded"
            and self.law.inverts_dynamics
            and not self._robust[0]
            and not self.wrenches.values
        )
        verdict = run(verdict_of.ARRIVE)
        while verdict != verdict_of.DONE:
            step = self._act(verdict)
            if step == _DROPPED:
                self.current = False
                run(verdict_of.WRITE)
                return False
            verdict = run(step)
        self.current, self.jump = True, ""
        if self._cut[0]:
            for cause, joints in zip(LIMITS, self.memory["hits"].tolist(), strict=True):
                if joints:
                    self.counts[cause] += joints
        return True

    def _act(self, verdict: int) -> int:
        """Do what a verdict asks for; the step at which the cycle goes on, or _DROPPED."""
        if verdict in verdict_of.COUNTED:
            self.counts[verdict_of.COUNTED[verdict]] += 1
        if verdict == verdict_of.REFERENCE_DUE:
            return self._load_reference()
        if verdict == verdict_of.OWN_LAW:
            return self._evaluate_own_law()
        if verdict in (verdict_of.NOT_FINITE, verdict_of.STILL, verdict_of.LATE):
            return _DROPPED
        if verdict == verdict_of.JUMP:
            return self._describe_jump()
        if verdict in _ARRIVALS or verdict == verdict_of.RESUMED:
            return self._begin_afresh(verdict)
        if verdict == verdict_of.WRENCH_DUE:
            expired = self.wrenches.expire(self.time[0])
            self.counts["external_wrench_expired"] += len(expired)
            self.wrenches_changed()
            self.start_blend()
            return verdict_of.FOLLOW
        if verdict in verdict_of.IMPLAUSIBLE:
            return self._stop_implausible_motion(verdict)
        if verdict == verdict_of.LOST:
            return self._fail(
                f"{self.jump}, in motion, and no state that follows came within {self.options.state_timeout:g} s"
            )
        if verdict == verdict_of.EFFORT_NOT_FINITE:
            return self._fail("the control law gave an effort that is not finite")
        return self._close_goal(verdict)

    def _load_reference(self) -> int:
        t, reference = self.time[0], self.reference
        reference.begin(t)
        load_reference(self.memory, reference, t, add_efforts=self.options.trajectory_effort == "add")
        if not self.law.tracks:
            self.mode = Mode.FREE
        elif reference.streaming and reference.moving(t):
            self.mode = Mode.STREAM
        else:
            self.mode = Mode.TRAJECTORY if reference.goal is not None else Mode.HOLD
        return verdict_of.FOLLOW

    def _close_goal(self, verdict: int) -> int:
        t, work = self.time[0], self.work
        if verdict == verdict_of.GOAL_REACHED:
            self.reference.reached(work.e)
            return verdict_of.FOLLOW
        p, late = self.memory.python, verdict == verdict_of.GOAL_LATE
        joint, field = p.bad_joint[0], p.bad_field[0]
        tolerance = p.goal_tolerance if late else p.path_tolerance
        text = (
            f"{_QUANTITIES[field]} error of joint {self.model.joint_names[joint]!r} is {p.error[field, joint]:.6g}, "
            f"tolerance {tolerance[field, joint]:g}"
        )
        self.reference.violated(text, t, late=late)
        self.reference.stop_from(t, work.q, work.v, GoalStatus.CANCELED)
        self.start_blend()
        return verdict_of.FOLLOW

    def _evaluate_own_law(self) -> int:
        self.work.want_wrenches = bool(self.memory.python.wrenches_with_law[0])
        try:
            self.law(self.work, self.effort)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            return self._fail(f"the control law failed: {error}")
        return verdict_of.BLEND

    def _describe_jump(self) -> int:
        p = self.memory.python
        i, dt = p.bad_joint[0], (p.time[0] - p.last[0]) / NANOSECONDS
        self.jump = (
            f"the joint state has jumped: joint {self.model.joint_names[i]!r} from {p.q[i]:.4g} to {p.arrived[0, i]:.4g} "
            f"in {dt:.4g} s, at a speed of {p.arrived[1, i]:.4g}"
        )
        return _DROPPED

    def _stop_implausible_motion(self, verdict: int) -> int:
        p = self.memory.python
        i = p.bad_joint[0]
        position, speed = p.arrived[0, i], p.arrived[1, i]
        return self._fail(
            f"joint {self.model.joint_names[i]!r} "
            + {
                verdict_of.CONTRADICTED: f"moves against its velocity {speed:.4g}: {_WRONG_STATE}",
                verdict_of.RUNAWAY: f"runs away from its reference at {speed:.4g}: {_WRONG_STATE}",
                verdict_of.ELSEWHERE: f"is at {position:.4g}, its limits are {p.lower[i]:.4g} and {p.upper[i]:.4g}: {_WRONG_STATE}",
                verdict_of.TOO_FAST: f"moves at {speed:.4g}, its velocity limit is {p.rated_speed[i]:.4g}",
            }[verdict]
        )

    def _begin_afresh(self, verdict: int) -> int:
        """A state that does not follow on the one before: hold where the arm is, unless a fault stands."""
        if self.fault:
            self.send_safe()
            return _DROPPED
        if verdict == verdict_of.RESUMED:
            reason = "the joint state was stale"
        else:
            reason = self.jump or f"the joint state's time went wrong: {_ARRIVALS[verdict]}"
        self.restart(reason)
        return verdict_of.TAKE

    def begin(self, t: int) -> None:
        """Forget faults, known wrenches and all stamps before ``t``, ns."""
        self.fault = ""
        self.last[0], self._started[0], self._stale[0] = t - 1, 1, 0
        self.wrenches.clear()
        self.wrenches_changed()

    def restart(self, reason: str) -> None:
        """Hold where the newest state is; goals end with this reason."""
        begin_afresh(self.memory.python)
        work = self.work
        self.reference.stop_from(self.time[0], work.q, work.v, GoalStatus.ABORTED, ResultCode.INVALID_GOAL, reason)
        self.restarted()
        self.mode = Mode.HOLD if self.law.tracks else Mode.FREE

    def abort_goals(self, reason: str) -> None:
        """End all goals, and stop where the arm was last seen."""
        self.reference.stop_from(
            self.last[0], self.work.q, self.work.v, GoalStatus.ABORTED, ResultCode.INVALID_GOAL, reason
        )

    # -- the safe command ----------------------------------------------------------------------------------------

    def _fail(self, reason: str) -> int:
        self.fault = self.safe_reason = reason
        self.counts["fault"] += 1
        self.abort_goals(reason)
        self.send_safe()
        return _DROPPED

    def send_safe(self) -> Array:
        """Make the safe command the one that is sent."""
        self.mode = Mode.SAFE
        np.copyto(self.command, self.safe_command())
        np.copyto(self.effort, self.command)
        return self.command

    def safe_command(self) -> Array:
        """(n,) the command that ``options.safe_command`` names, at the last known position."""
        return self.execution.safe_command().copy()
