"""Runs the control cycle, compiled where the robot's functions are, or as it is written, acts on
its verdicts, and changes what it depends on.  What takes long is prepared aside, and taken over
between two cycles.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from robot_dynamics_ros.control.changes import Changes
from robot_dynamics_ros.control.contact import FlangeLoad
from robot_dynamics_ros.control.cycle.cycle import (
    AT_ONCE,
    BETWEEN_CYCLES,
    control_cycle,
    start_blend,
)
from robot_dynamics_ros.control.cycle.limits import LIMITS, Guards, GuardSettings
from robot_dynamics_ros.control.cycle.loading import LawCode, load_law, load_rejection, load_robot
from robot_dynamics_ros.control.cycle.memory import MODES, CycleMemory, Mode, bound
from robot_dynamics_ros.control.cycle.message import AnswerLayout, read_state, reading
from robot_dynamics_ros.control.cycle.reference import take_piece
from robot_dynamics_ros.control.cycle.verdicts import COUNTED, Step, Verdict
from robot_dynamics_ros.control.cycle.wrenches import compute_wrenches
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import GravityCompensation, Law
from robot_dynamics_ros.control.laws.base import Workspace
from robot_dynamics_ros.control.observer import MomentumObserver
from robot_dynamics_ros.control.options import CHOICES, ControllerOptions
from robot_dynamics_ros.control.reference.goal import REASONS, Reason, TrajectoryRejected
from robot_dynamics_ros.control.reference.reference import JointTable, ReferenceGenerator
from robot_dynamics_ros.control.reference.task.tool import ToolReference
from robot_dynamics_ros.control.reference.tracks import ABORTED, NEVER, PREEMPTED
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, nanoseconds
from robot_dynamics_ros.control.rest_efforts import check_payload_at_rest, check_wrench_at_rest
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.engine.backends import prepared
from robot_dynamics_ros.dynamics.engine.compile_process import compile_elsewhere
from robot_dynamics_ros.dynamics.engine.routines import make_routines
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import vector

_WRONG_STATE = "sign or unit of the driver's joint state is wrong, or it belongs to another joint"
# Times its inertia: with so large an assumed rotor a joint that has none may run away at first
LIGHT = 10.0


class CycleRunner:
    """Everything that a cycle depends on, and what its verdicts need beside the memory.

    Attributes:
        base: functions of the robot without payload.
        law: in force.
        guards: in force.
        motion: in force.
        external_wrenches: in force, link → (6,) [moment; force].
        counts: cause → number of times since the controller was made.
        changes: what is being prepared aside; each cycle begins with taking over what is ready.
        memory: what the cycle works on.
        p: the memory as routines see it.
        work: the memory with functions of the robot.
        read: reads a serialized joint state into ``memory``.
        compiled: whether the cycle runs compiled.
        fault: the reason for a permanent stop, or ""; cleared by activating.
        safe_reason: why the ``mode`` is SAFE, or was the last time.
        jump: why the last state was dropped because it cannot follow from the one before, or "".
        current: whether the last state was followed by a cycle (it was not dropped, nor answered by
            a safe command).
        routines: the cycle's steps that are called from outside, by name.
        want_wrenches: whether wrenches are computed.
        tool: moves a tool of the robot, or ``None``.
        want_efforts: whether external efforts are estimated although nothing here needs them;
            switched on, the estimate restarts.
    """

    observer: MomentumObserver | None = None
    flange: FlangeLoad | None = None
    tool: ToolReference | None = None

    def __init__(
        self, model: RobotModel, law: Law, options: ControllerOptions, guards: GuardSettings | None
    ) -> None:
        self.model = model
        self.options = options
        self.law = law
        self._wanted_law = law
        self.work = Workspace(model)
        self.base = self._coming = self.work.kernels
        self.payload: Payload | None = None
        self.counts: Counter[str] = Counter()
        self.changes = Changes()
        self.memory = memory = self.work.memory
        self.p = memory.python
        self.compiled = self.work.compiled
        self.want_wrenches = self.want_efforts = True
        self.effort, self.command, self.previous = (
            memory[x] for x in ("effort", "command", "previous")
        )
        table = JointTable.of(model, options.joints)
        memory["commanded"][:] = table.commanded
        self.guards = Guards(model, guards)
        self.guards.load(memory)
        memory["rated_speed"][:] = np.where(
            model.velocity_limit > 0.0, model.velocity_limit, np.inf
        )
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
        changed = self._reference_changed
        deceleration = memory["deceleration"]
        self.motion = ReferenceGenerator(
            table, options, deceleration, changed, compiled=self.compiled
        )
        self.external_wrenches: dict[str, Array] = {}
        memory["wrench_due"][0] = NEVER
        routines = (control_cycle, read_state, compute_wrenches, *BETWEEN_CYCLES)
        self.routines = make_routines(memory, routines, compiled=self.compiled)
        self.read = reading(memory, self.routines)
        self.answer_into(None)
        self.fault = self.safe_reason = self.jump = self._law_failed = ""
        self.current = False
        self._stops_before_task = -1
        law.prepare(self.base)
        load_rejection(memory, options.robustness, model)
        load_law(memory, law, self.code(law))

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

    # -- what a cycle depends on: a change makes no step in the effort -----------------------------

    @property
    def mode(self) -> Mode:
        """The mode of operation."""
        return MODES[self.p.mode[0]]

    def code(self, law: Law) -> LawCode | None:
        """Machine code of a law, where it can be had; it may take a while.  That of the law in
        which the arm gives way is at hand then, if a collision asks for it.
        """
        if not self.compiled:
            return None
        if self.options.collision_reaction == "gravity":
            LawCode.of(self._giving_way(law), self.model.nv)
        return LawCode.of(law, self.model.nv)

    def set_law(self, law: Law, *, background: bool = False) -> None:
        """Use another law, or other gains, from the next cycle on; the effort does not jump.
        ArgumentError, UnknownNameError: the law does not fit the model; the one before stays.

        From a law without reference to one with, the arm holds where it is.  In the ``background``,
        what it needs is compiled in a thread of its own; a later cycle takes it over.
        """
        self._wanted_law = law.check(self.model)

        def job() -> Callable[[], None]:
            law.prepare(self.work.kernels)
            # a payload that is ready, but not carried yet
            law.prepare(self._coming)
            code = self.code(law)
            return lambda: self._use_law(law, code)

        self.changes.prepare("law", job, background=background)

    def _use_law(self, law: Law, code: LawCode | None) -> None:
        before = self.law
        self.law = law
        load_law(self.memory, law, code)
        if self.tool is not None and self.resists_wrenches:
            self.tool.release()
        if type(law) is not type(before):
            self.between_cycles("change_law", int(before.tracks))
        start_blend(self.p)

    @property
    def resists_wrenches(self) -> bool:
        """Whether the law makes up for what it does not know of: it would take a wrench that the
        tool is to exert for a disturbance.
        """
        return self.p.robust[0] == 1 or self.law.integrates or not self.law.tracks

    @staticmethod
    def _giving_way(law: Law) -> Law:
        """The law in which an arm under ``law`` lets itself be pushed away."""
        return GravityCompensation(friction=getattr(law, "friction", None))

    def set_gains(self, **gains: Sequence[float] | Mapping[str, float] | float) -> None:
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …), the others
        staying.  Nothing is changed by an
        UnknownNameError: no such gain or joint; or an ArgumentError: a value negative, not finite,
            or of the wrong length.
        """
        self.set_law(self._wanted_law.with_gains(self.model, **gains))

    def set_robustness(self, robustness: Robustness) -> None:
        """Other settings of the step that makes computed torque hold up, from the next cycle on;
        the effort does not jump;
        ArgumentError: the controller was made without that step."""
        if self.options.robustness is None:
            remedy = "Make it with ControllerOptions(robustness=Robustness())."
            raise ArgumentError(
                "the controller was made without robustness", where="set_robustness", remedy=remedy
            )
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
        """Carry a payload from the next cycle on, or with ``None`` none; UnknownNameError: the
        model has no such link; ArgumentError: the joints cannot hold it, see
        :func:`~robot_dynamics_ros.control.rest_efforts.check_payload_at_rest`.

        Compiling for the loaded robot takes some tenths of a second the first time; it happens
        here, or with ``background`` in a thread of its own, after which a later cycle takes the
        payload over.

        Args:
            elsewhere: let another process compile, so that the cycle is not held up by the
                interpreter lock; it takes about a second the first time.
            failed: called between two cycles with an error that preparing it in the background
                ended with; the payload of before stays.
        """
        if payload is not None:
            self.model.link(payload.link)
            check_payload_at_rest(self.model, payload, self._known_pose())

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

    def _known_pose(self) -> Array | None:
        """(n,) where the robot is; ``None`` before the first state."""
        return None if self.mode is Mode.INACTIVE else self.work.q.copy()

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

    def set_guards(self, settings: GuardSettings) -> None:
        """Use other limits from the next cycle on, e.g. derated ones; ArgumentError: they do not
        fit the model, nothing changes.
        """
        self.guards = Guards(self.model, settings)
        self.guards.load(self.memory)
        self.motion.memory["deceleration"][:] = self.memory["deceleration"]
        self.limit_tool()

    def use_tool(self, tool: ToolReference) -> None:
        """Have this tool to move."""
        self.tool = tool
        self._take_tool_piece = bound(self.memory, self.routines, take_piece, tool.piece)
        self.limit_tool()

    def limit_tool(self) -> None:
        """Keep the tool's reference within the limits that are in force."""
        if self.tool is None:
            return
        names = ("lower", "upper", "margin", "velocity_limit", "deceleration", "commanded")
        self.tool.limit_within(*(self.memory[name] for name in names))

    def set_external_wrench(self, link: str, wrench: Sequence[float] | None, t: int) -> None:
        """Feed a known wrench [moment; force] on ``link`` (its origin, its frame) forward; ``None``
        forgets it.  UnknownNameError: the model has no such link; ArgumentError: not six finite
        numbers, or more than the joints can resist where the robot is; the one before stays.
        """
        k = self.model.link_index(link)
        until = 0
        known = None
        if wrench is not None:
            remedy = "Use [moment; force], N m and N, in its frame."
            known = vector(wrench, 6, f"external wrench on {link!r}", remedy=remedy)
            self._check_wrench(link, known)
        self.external_wrenches.pop(link, None)
        if known is not None:
            self.external_wrenches[link] = known
            until = t + nanoseconds(self.options.wrench_timeout) + 1
        self.between_cycles("know_wrench", k, until)
        self.gather_wrenches()

    def check_exerted_wrench(self, wrench: Array) -> None:
        """Refuse a wrench on the tool's point, (6,) in world axes, that the joints cannot exert
        where the robot is.
        """
        tool = self.tool
        q = self._known_pose()
        if q is None or tool is None:
            return
        gravity = np.zeros(self.model.nv)
        self.work.kernels.gravity_forces(q, gravity)
        asked = tool.efforts_of(q, wrench)
        check_wrench_at_rest(self.model, gravity, asked, tool.link, wrench, "exerted", "wrench")

    def _check_wrench(self, link: str, wrench: Array) -> None:
        """Refuse a wrench that asks the joints for more than they have, where the robot is."""
        q = self._known_pose()
        if q is None:
            return
        kernels = self.work.kernels
        gravity = np.zeros(self.model.nv)
        kernels.gravity_forces(q, gravity)
        caused = np.zeros(self.model.nv)
        kernels.external_efforts(q, kernels.gather({link: wrench}), caused)
        check_wrench_at_rest(self.model, gravity, -caused, link, wrench)

    def gather_wrenches(self) -> None:
        """Resist the known wrenches as they are now."""
        self.memory["external"][:] = self.work.kernels.gather(self.external_wrenches)

    @property
    def follows_tool(self) -> bool:
        """Whether the joints follow the tool's reference, and nothing has stopped them since."""
        active = self.tool is not None and self.tool.active
        return active and self.motion.memory.python.stops[0] == self._stops_before_task

    def begin_task(self, t: int) -> None:
        """The joints follow the tool's reference from ``t``, ns, on, if they do not yet; open goals
        are preempted.
        """
        tool = self.tool
        assert tool is not None
        stops = self.motion.memory.python.stops
        if not self.follows_tool:
            self.motion.begin(t)
            q, v, _ = self.motion.sample(t)
            # the joints' own reference waits
            self.motion.stop_from(t, q, v, PREEMPTED, Reason.NONE)
            tool.begin(t, q, v)
            self._stops_before_task = stops[0]
        self.p.due[0] = AT_ONCE

    @contextmanager
    def leaving_task(self, t: int) -> Iterator[None]:
        """The joints follow their own reference again, from where the tool's has led them; what is
        refused within leaves them with the tool's.
        """
        tool = self.tool
        stops = self.motion.memory.python.stops
        if tool is None or not self.follows_tool:
            yield
            return
        tool.follow(t)
        q, v = tool.piece[:2]
        self.motion.stop_from(t, q, v, PREEMPTED, Reason.NONE)
        try:
            yield
        except TrajectoryRejected:
            self._stops_before_task = stops[0]
            raise
        self._end_task(tool)

    def _end_task(self, tool: ToolReference) -> None:
        """The joints follow their own reference; a wrench that the tool exerts fades out."""
        tool.end()
        if tool.p.exerts[0] == 1:
            start_blend(self.p)

    def _reference_changed(self) -> None:
        self.p.due[0] = AT_ONCE

    # -- the cycle ---------------------------------------------------------------------------------

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
        if self.changes.pending:
            self.changes.take_over()
        run = self._run
        p = self.p
        p.want_wrenches[0] = self.want_wrenches
        verdict = run(Step.ARRIVE)
        while verdict != Verdict.DONE:
            self._attend_to(Verdict(verdict))
            if p.next[0] == Step.DROPPED:
                self.current = False
                return False
            verdict = run(p.next[0])
        self.current = True
        self.jump = ""
        if p.cut[0]:
            for cause, joints in zip(LIMITS, self.memory["hits"].tolist(), strict=True):
                if joints:
                    self.counts[cause] += joints
        return True

    def _attend_to(self, verdict: Verdict) -> None:
        """Count a verdict, say in words what the cycle has done about it, and do what needs more
        than its memory.
        """
        if verdict in COUNTED:
            self.counts[COUNTED[verdict]] += 1
        if verdict == Verdict.REFERENCE_DUE:
            self._load_reference()
        elif verdict == Verdict.OWN_LAW:
            self._evaluate_own_law()
        elif verdict == Verdict.WRENCH_DUE:
            self.counts["external_wrench_expired"] += self.routines["expire_wrenches"](
                self.memory, self.p.time[0]
            )
            until = dict(
                zip(self.model.link_names, self.memory["wrench_until"].tolist(), strict=True)
            )
            self.external_wrenches = {
                link: w for link, w in self.external_wrenches.items() if until[link] > 0
            }
            self.gather_wrenches()
        else:
            text = _words(self, verdict)
            if verdict >= Verdict.FAULTS:
                self.fault = self.safe_reason = text or REASONS[self.p.fault[0]].words
                self.counts["fault"] += 1
            self.end_goals(text)

    def _load_reference(self) -> None:
        t = self.p.time[0]
        reference = self.motion
        if self.tool is not None and self.tool.active:
            # a stop ends the task, whoever asked for it
            if self.follows_tool:
                exerts = self.tool.p.exerts[0]
                mode = self.tool.follow(t, self.work.q)
                self._take_tool_piece(t + 1, mode, exerts, 0, 0, 0)
                return
            self._end_task(self.tool)
        p = self.motion.memory.python
        reference.begin(t)
        if reference.active_goal is not None:
            tolerances = reference.active_goal.tolerances
            memory = self.memory
            memory["goal_time"][0] = nanoseconds(tolerances.goal_time)
            memory["path_tolerance"][:] = tolerances.path_position, tolerances.path_velocity
            memory["goal_tolerance"][:] = tolerances.goal_position, tolerances.goal_velocity
        with_effort = p.with_effort[0] * self.p.takes_efforts[0]
        goal = with_effort, p.open[0], p.active[0], p.goal_end[0]
        self.routines["take_piece"](self.memory, *reference.load(t), *goal)

    def _evaluate_own_law(self) -> None:
        self._law_failed = ""
        try:
            self.law(self.work, self.effort)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            self._law_failed = f"the control law failed: {error}"
            self.effort[:] = np.nan

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

    def watch(self, t: int) -> Array | None:
        """To be called by a timer: the safe command if the state is stale at time ``t`` or a fault
        stands, else None.  With the next joint state the controller recovers and holds where the
        arm then is; a fault stays until it is activated again.
        """
        safe = self.mode is Mode.SAFE
        reason = self.jump or f"no new joint state for {self.options.state_timeout:g} s"
        if (
            self.between_cycles("watch_state", t, text=f"the joint state is stale: {reason}")
            and not safe
        ):
            self.counts["stale_state"] += 1
            self.safe_reason = reason
        return self.command if self.mode is Mode.SAFE else None

    def process_was_delayed(self, t: int, gap: int) -> None:
        """The next state, of time ``t``, comes late because this process was delayed by ``gap`` ns,
        not the robot: up to twice ``state_timeout`` the motion goes on as if nothing had happened;
        after more the arm is stopped where it is.
        """
        p = self.p
        self.counts["own_delay"] += 1
        if self.mode in (Mode.INACTIVE, Mode.SAFE) or self.fault:
            return
        if gap > 2 * p.timeout[0]:
            text = f"the controller's process was delayed by {gap / NANOSECONDS:.3f} s"
            self.motion.stop_from(p.last[0], self.work.q, self.work.v, ABORTED, Reason.STALE, text)
        elif p.started[0] and t > p.last[0]:
            p.last[0] = max(p.last[0], t - p.timeout[0])

    def begins_to_fall(self) -> bool:
        """Whether by the newest state, and by none before, the arm gets faster under the safe
        command of a fault: it is zero from now on.
        """
        held = self.p.falls[0] == 0
        self.between_cycles("watch_fall")
        return held and self.p.falls[0] == 1

    def safe_command(self) -> Array:
        """(n,) the command that ``options.safe_command`` names, at the last known position."""
        self.between_cycles("find_safe_command")
        return self.memory["safe_effort"].copy()


def _words(c: CycleRunner, verdict: Verdict) -> str:
    """Why goals end, or why the safe command goes out; "" where their reason has the words."""
    p = c.p
    i = p.bad_joint[0]
    field = p.bad_field[0]
    dt = (p.time[0] - p.last[0]) / NANOSECONDS
    joint = f"joint {c.model.joint_names[i]!r}"
    unit, unit_of_speed, unit_of_effort = c.model.joint(c.model.joint_names[i]).type.units
    position = f"{p.arrived[0, i]:.4g} {unit}"
    speed = f"{p.arrived[1, i]:.4g} {unit_of_speed}"
    match verdict:
        case Verdict.JUMP:
            way = f"from {p.q[i]:.4g} to {position} in {dt:.4g} s, at a speed of {speed}"
            c.jump = f"the joint state has jumped: {joint} {way}"
        case Verdict.FIRST | Verdict.BACKWARDS | Verdict.RECOVERED:
            wrong = {Verdict.FIRST: "first", Verdict.BACKWARDS: "backwards"}.get(
                verdict, "recovered"
            )
            return c.jump or f"the joint state's time went wrong: {wrong}"
        case Verdict.GOAL_REACHED:
            return c.motion.remark(c.work.e)
        case Verdict.PATH_VIOLATED | Verdict.GOAL_LATE:
            error, tolerance, late = c.memory["bad_value"].tolist()
            after = f" {late:.3f} s after it was due" if verdict == Verdict.GOAL_LATE else ""
            words = REASONS[p.ended[1]].words
            what = ("position", "velocity")[field]
            of = (unit, unit_of_speed)[field]
            error_of = f"{what} error of {joint}"
            return f"{words}: {error_of} is {error:.6g} {of}, tolerance {tolerance:g} {of}{after}"
        case Verdict.EFFORT_NOT_FINITE:
            return c._law_failed
        case Verdict.CONTRADICTED:
            return f"{joint} moves against its velocity {speed}: {_WRONG_STATE}"
        case Verdict.RUNAWAY:
            cut = (
                "; or the motion needs more effort than the limits allow"
                if any(c.memory["saturated"])
                else ""
            )
            return (
                f"{joint} runs away from its reference at {speed}: "
                f"{_WRONG_STATE}{cut}{_light_joint(p, i)}"
            )
        case Verdict.ELSEWHERE:
            return (
                f"{joint} is at {position}, its limits are {p.lower[i]:.4g} and "
                f"{p.upper[i]:.4g} {unit}: {_WRONG_STATE}"
            )
        case Verdict.TOO_FAST:
            return (
                f"{joint} moves at {speed}, its velocity limit is "
                f"{p.rated_speed[i]:.4g} {unit_of_speed}{_light_joint(p, i)}"
            )
        case Verdict.LOST:
            return (
                f"{c.jump}, in motion, and no state that follows came within "
                f"{c.options.state_timeout:g} s"
            )
        case Verdict.FROZEN | Verdict.UNMOVED:
            # of a joint that was let go: what a new goal asks for
            effort = f"{p.previous[i] or p.asked[i]:.4g} {unit_of_effort}"
            at = f"{position} with a velocity of {speed} and an effort of {effort}"
            return _words_of_a_still_joint(joint, at, verdict)
    return ""


def _words_of_a_still_joint(joint: str, at: str, verdict: int) -> str:
    cause = "is its encoder dead, its brake closed, or its way blocked?"
    text = f"{joint} stands still at {at}: {cause}"
    if verdict == Verdict.UNMOVED:
        text += "; it gets no effort until it is seen to move"
    return text


def _light_joint(p: CycleMemory, i: int) -> str:
    assumed = p.assumed_rotor[i]
    own = p.inertia[i, i]
    if p.robust[0] == 0 or assumed <= LIGHT * own:
        return ""
    return (
        f"; or it has no rotor: robustness.rotor_share assumes one of {assumed:.2g} beside its "
        f"inertia of {own:.2g}"
    )
