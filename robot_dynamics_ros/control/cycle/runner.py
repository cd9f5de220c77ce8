"""Runs the control cycle, compiled where the robot's functions are, or as it is written, and acts
on its verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from robot_dynamics_ros.control.changes import Changes
from robot_dynamics_ros.control.cycle.cycle import AT_ONCE, BETWEEN_CYCLES, control_cycle
from robot_dynamics_ros.control.cycle.followed_reference import FollowedReference
from robot_dynamics_ros.control.cycle.ladder import SURPRISE_CAUSES, SURPRISES, Level
from robot_dynamics_ros.control.cycle.limits import LIMITS, Guards
from robot_dynamics_ros.control.cycle.memory import MODES, Mode, bound
from robot_dynamics_ros.control.cycle.message import AnswerLayout, read_state, reading
from robot_dynamics_ros.control.cycle.verdict_words import (
    words_of_jump,
    words_of_surprise,
    words_of_verdict,
)
from robot_dynamics_ros.control.cycle.verdicts import COUNTED, Step, Verdict
from robot_dynamics_ros.control.cycle.wrenches import compute_wrenches
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.laws.base import Workspace
from robot_dynamics_ros.control.options import CHOICES, ControllerOptions
from robot_dynamics_ros.control.reference.goal import REASONS
from robot_dynamics_ros.control.reference.reference import JointTable, ReferenceGenerator
from robot_dynamics_ros.control.reference.tracks import NEVER
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.dynamics.engine.routines import make_routines
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel


class CycleRunner:
    """The control cycle of one robot: its memory, the code that works on it, and what its verdicts
    need beside the memory.

    Attributes:
        law: in force.
        motion: the joints' own reference.
        followed: what the joints follow: that reference, or the tool's.
        external_wrenches: in force, link → (6,) [moment; force].
        counts: cause → number of times since the controller was made.
        memory: what the cycle works on.
        p: the memory as routines see it.
        work: the memory with functions of the robot.
        read: reads a serialized joint state into ``memory``.
        compiled: whether the cycle runs compiled.
        fault: the reason for a permanent stop, or ""; cleared by activating.
        safe_reason: why the ``mode`` is SAFE, or was the last time.
        jump: why the last state was dropped because it cannot follow from the one before, or "".
        surprise: what handed joints over to the plain law last, or "".
        current: whether the last state was followed by a cycle (it was not dropped, nor answered by
            a safe command).
        routines: the cycle's steps that are called from outside, by name.
    """

    def __init__(
        self,
        model: RobotModel,
        law: Law,
        options: ControllerOptions,
        guards: Guards,
        changes: Changes,
    ) -> None:
        """``changes``: what is being prepared aside; each cycle begins with taking over what is
        ready.
        """
        self.law = law
        self.work = Workspace(model)
        self.counts: Counter[str] = Counter()
        self.memory = self.work.memory
        self.p = self.memory.python
        self.compiled = self.work.compiled
        self.external_wrenches: dict[str, Array] = {}
        self._model = model
        self._changes = changes
        self._state_timeout = options.state_timeout
        table = JointTable.of(model, options.joints)
        self._load_options(options, table)
        guards.load(self.memory)
        self.motion = ReferenceGenerator(
            table,
            options,
            self.memory["deceleration"],
            self._reference_changed,
            compiled=self.compiled,
        )
        routines = (control_cycle, read_state, compute_wrenches, *BETWEEN_CYCLES)
        self.routines = make_routines(self.memory, routines, compiled=self.compiled)
        self.followed = FollowedReference(self.memory, self.routines, self.motion)
        self.read = reading(self.memory, self.routines)
        self.answer_into(None)
        self.safe_reason = ""
        self.jump = ""
        self.surprise = ""
        # surprises that are counted
        self._surprises = 0
        self.clear_fault()
        self.current = False

    def _load_options(self, options: ControllerOptions, table: JointTable) -> None:
        memory = self.memory
        memory["commanded"][:] = table.commanded
        limit = self._model.velocity_limit
        memory["rated_speed"][:] = np.where(limit > 0.0, limit, np.inf)
        memory["timeout"][0] = nanoseconds(options.state_timeout)
        memory["largest_jump"][0] = options.max_state_jump or np.inf
        memory["blend_duration"][0] = nanoseconds(options.blend_time)
        memory["takes_efforts"][0] = options.trajectory_effort == "add"
        memory["safe_holds"][0] = options.safe_command == "gravity"
        memory["wrench_source"][0] = CHOICES["wrench_acceleration"].index(
            options.wrench_acceleration
        )
        memory["wrench_cutoff"][0] = options.differentiation_cutoff
        memory["robot_holds"][0] = CHOICES["gravity_compensated_by"].index(
            options.gravity_compensated_by
        )
        memory["want_wrenches"][0] = 1
        memory["wrench_due"][0] = NEVER

    def answer_into(self, answer: AnswerLayout | None) -> None:
        """Write the commands into this message from now on; ``None``: into none."""
        memory = self.memory
        answer = answer or AnswerLayout(bytearray(16), 0, (), False)
        memory["answer_count"][0] = len(answer.joints)
        memory["answer_at"][:] = (answer.first, answer.stamped)
        memory["answer_joints"][: len(answer.joints)] = answer.joints
        # a buffer in use cannot be resized
        self._buffer = np.frombuffer(answer.buffer, np.uint8)
        self._run: Callable[[int], int] = bound(memory, self.routines, control_cycle, self._buffer)

    @property
    def mode(self) -> Mode:
        """The mode of operation."""
        return MODES[self.p.mode[0]]

    def clear_fault(self) -> None:
        """Forget why the arm was stopped."""
        self.fault = ""
        self._law_failed = ""

    def gather_wrenches(self) -> None:
        """Resist the known wrenches as they are now."""
        self.memory["external"][:] = self.work.kernels.gather(self.external_wrenches)

    def _reference_changed(self) -> None:
        self.p.due[0] = AT_ONCE

    def set_state(self, t: int, q: Array, v: Array, effort: Array | None) -> None:
        """A state arrives as arrays; see ``JointController.update``."""
        try:
            self.p.time[0] = t
        except (TypeError, ValueError):
            problem = f"expected an integer number of nanoseconds, got {t!r}"
            remedy = (
                "Seconds become nanoseconds with nanoseconds(seconds), in "
                "robot_dynamics_ros.control."
            )
            raise ArgumentError(problem, where="t", got=t, remedy=remedy) from None
        arrived = self.memory["arrived"]
        arrived[0] = q
        arrived[1] = v
        if effort is not None:
            arrived[2] = effort

    def answer(self) -> bool:
        """The cycle for the state in ``memory``, up to the command, which is written into the
        answer; False: the state was dropped, or the answer is the safe command.
        """
        if self._changes.pending:
            self._changes.take_over()
        run = self._run
        p = self.p
        verdict = run(Step.ARRIVE)
        while verdict != Verdict.DONE:
            self._attend_to(Verdict(verdict))
            if p.next[0] == Step.DROPPED:
                self._note_surprise()
                self.current = False
                return False
            verdict = run(p.next[0])
        self.current = True
        self.jump = ""
        self._note_surprise()
        if p.cut[0]:
            for cause, joints in zip(LIMITS, self.memory["hits"].tolist(), strict=True):
                if joints:
                    self.counts[cause] += joints
        return True

    @property
    def level(self) -> Level:
        """The law that leads the joints: the plain one if it leads any."""
        return Level(int(self.memory["level"].max()))

    def _note_surprise(self) -> None:
        """Count the newest surprise, if it is a new one, and put it in words."""
        if self.p.surprises[0] == self._surprises:
            return
        self._surprises = self.p.surprises[0]
        self.counts[SURPRISE_CAUSES[SURPRISES[self.p.surprise[0]]]] += 1
        self.surprise = words_of_surprise(self.p, self._model)

    def _attend_to(self, verdict: Verdict) -> None:
        """Count a verdict, and do what needs more than the cycle's memory."""
        if verdict in COUNTED:
            self.counts[COUNTED[verdict]] += 1
        match verdict:
            case Verdict.REFERENCE_DUE:
                self.followed.load(self.p.time[0], self.work.q)
            case Verdict.OWN_LAW:
                self._evaluate_own_law()
            case Verdict.WRENCH_DUE:
                self._expire_wrenches()
            case _:
                self._say_what_ends(verdict)

    def _expire_wrenches(self) -> None:
        """Forget known wrenches that are too old."""
        expired = self.routines["expire_wrenches"](self.memory, self.p.time[0])
        self.counts["external_wrench_expired"] += expired
        until = self.memory["wrench_until"].tolist()
        for link in list(self.external_wrenches):
            if until[self._model.link_index(link)] <= 0:
                del self.external_wrenches[link]
        self.gather_wrenches()

    def _say_what_ends(self, verdict: Verdict) -> None:
        """Name the fault, if it is one, and end goals that the cycle has ended, in words."""
        text = self._words(verdict)
        if verdict >= Verdict.FAULTS:
            self.fault = text or REASONS[self.p.fault[0]].words
            self.safe_reason = self.fault
            self.counts["fault"] += 1
        self.end_goals(text)

    def _words(self, verdict: Verdict) -> str:
        match verdict:
            case Verdict.JUMP:
                self.jump = words_of_jump(self.p, self._model)
                return ""
            case Verdict.GOAL_REACHED:
                return self.motion.remark(self.work.e)
            case Verdict.EFFORT_NOT_FINITE:
                return self._law_failed
        return words_of_verdict(verdict, self.p, self._model, self.jump, self._state_timeout)

    def _evaluate_own_law(self) -> None:
        self._law_failed = ""
        try:
            self.law(self.work, self.memory["effort"])
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            self._law_failed = f"the control law failed: {error}"
            self.memory["effort"][:] = np.nan

    def end_goals(self, text: str) -> None:
        """End goals as the cycle's memory says, with this text; if it is "", the reason has the
        words.
        """
        if self.p.ended[0] or self.p.stopped[0]:
            self.motion.end_goals(self.memory, text)

    def between_cycles(self, name: str, *arguments: int, text: str = "") -> object:
        """Run a routine of :mod:`~robot_dynamics_ros.control.cycle.cycle`; goals that it ends do so
        with this text.
        """
        result: object = self.routines[name](self.memory, *arguments)
        self.end_goals(text)
        return result
