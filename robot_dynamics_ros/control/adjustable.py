"""Law, gains, payload, limits and known wrenches of a controller, which change while the robot
moves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from robot_dynamics_ros.control.changes import Changes
from robot_dynamics_ros.control.contact import FlangeLoad
from robot_dynamics_ros.control.cycle.cycle import start_blend
from robot_dynamics_ros.control.cycle.ladder import Level
from robot_dynamics_ros.control.cycle.limits import Guards, GuardSettings
from robot_dynamics_ros.control.cycle.loading import LawCode, load_law, load_rejection, load_robot
from robot_dynamics_ros.control.cycle.memory import Mode
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import GravityCompensation, Law
from robot_dynamics_ros.control.observer import MomentumObserver
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.task.tool import ToolReference
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.control.rest_efforts import check_payload_at_rest, check_wrench_at_rest
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.engine.backends import prepared
from robot_dynamics_ros.dynamics.engine.compile_process import compile_elsewhere
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import vector


class AdjustableController:
    """Settings of a controller that can be changed between two cycles. A change makes no step in
    the effort. What takes long is prepared aside.

    Attributes:
        base: functions of the robot without payload.
        options: in force.
        guards: in force.
        payload: in force, or ``None``.
        motion: the joints' own reference.
        external_wrenches: in force, link → (6,) [moment; force].
        counts: cause → number of times since the controller was made.
        changes: what is being prepared aside; each cycle begins with taking over what is ready.
        compiled: whether the cycle runs compiled.
        runner: runs the cycle.
        memory: what the cycle works on.
        p: the memory as routines see it.
        work: the memory with functions of the robot.
        want_efforts: whether external efforts are estimated although nothing here needs them;
            switched on, the estimate restarts.
    """

    observer: MomentumObserver | None = None
    flange: FlangeLoad | None = None

    def __init__(
        self,
        model: RobotModel,
        law: Law,
        options: ControllerOptions,
        guards: GuardSettings | None = None,
    ) -> None:
        self.model = model
        self.options = options
        self.guards = Guards(model, guards)
        self.payload: Payload | None = None
        self.changes = Changes()
        self.runner = CycleRunner(model, law, options, self.guards, self.changes)
        self.motion = self.runner.motion
        self.external_wrenches = self.runner.external_wrenches
        self.counts = self.runner.counts
        self.compiled = self.runner.compiled
        self.memory = self.runner.memory
        self.p = self.runner.p
        self.work = self.runner.work
        self.effort = self.memory["effort"]
        self.command = self.memory["command"]
        self.previous = self.memory["previous"]
        self.want_efforts = True
        self.base = self.work.kernels
        # of the robot with the payload that is prepared, but not carried yet
        self._coming = self.base
        # the law that was asked for last: in force, or being prepared
        self._wanted_law = law
        law.prepare(self.base)
        load_rejection(self.memory, options.robustness, model)
        load_law(self.memory, law, self._code(law))

    # -- what the runner knows ---------------------------------------------------------------------

    @property
    def law(self) -> Law:
        """In force."""
        return self.runner.law

    @property
    def mode(self) -> Mode:
        """The mode of operation."""
        return self.runner.mode

    @property
    def tool(self) -> ToolReference | None:
        """Moves a tool of the robot; ``None``: there is none."""
        return self.runner.followed.tool

    @property
    def fault(self) -> str:
        """The reason for a permanent stop, or ""; cleared by activating."""
        return self.runner.fault

    @property
    def safe_reason(self) -> str:
        """Why the ``mode`` is SAFE, or was the last time."""
        return self.runner.safe_reason

    @property
    def surprise(self) -> str:
        """The last reason for which the plain law has taken joints over, or ""; see ``level``."""
        return self.runner.surprise

    @property
    def level(self) -> Level:
        """The law that leads the joints, where ``robustness`` is on: precise, or plain after a
        surprise.
        """
        return self.runner.level

    @property
    def jump(self) -> str:
        """Why the last state was dropped because it cannot follow from the one before, or ""."""
        return self.runner.jump

    @property
    def current(self) -> bool:
        """Whether the last state was followed by a cycle: it was not dropped, nor answered by a
        safe command.
        """
        return self.runner.current

    @property
    def want_wrenches(self) -> bool:
        """Whether wrenches are computed; can be set."""
        return bool(self.p.want_wrenches[0])

    @want_wrenches.setter
    def want_wrenches(self, wanted: bool) -> None:
        self.p.want_wrenches[0] = int(wanted)

    # -- changes -----------------------------------------------------------------------------------

    def _code(self, law: Law) -> LawCode | None:
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
            code = self._code(law)
            return lambda: self._use_law(law, code)

        self.changes.prepare("law", job, background=background)

    def _use_law(self, law: Law, code: LawCode | None) -> None:
        before = self.law
        self.runner.law = law
        load_law(self.memory, law, code)
        if self.tool is not None and self.resists_wrenches:
            self.tool.release()
        if type(law) is not type(before):
            self.runner.between_cycles("change_law", int(before.tracks))
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
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …); the others stay.

        Raises (nothing is changed then):
            UnknownNameError: no such gain or joint.
            ArgumentError: a value negative, not finite, or of the wrong length.
        """
        self.set_law(self._wanted_law.with_gains(self.model, **gains))

    def set_robustness(self, robustness: Robustness) -> None:
        """Other settings of the step that makes computed torque hold up, from the next cycle on;
        the effort does not jump.

        Raises:
            ArgumentError: the controller was made without that step.
        """
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
        self.runner.gather_wrenches()
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
        self.runner.followed.limit_tool()

    def set_external_wrench(
        self,
        link: str,
        wrench: Sequence[float] | None,
        t: int,
    ) -> None:
        """Feed a known wrench [moment; force] on ``link`` (its origin, its frame) forward; ``None``
        forgets it.  UnknownNameError: the model has no such link; ArgumentError: not six finite
        numbers, or more than the joints can resist where the robot is; the one before stays.
        """
        k = self.model.link_index(link)
        until = 0
        known = None
        if wrench is not None:
            known = self._resistible_wrench(link, wrench)
        self.external_wrenches.pop(link, None)
        if known is not None:
            self.external_wrenches[link] = known
            until = t + nanoseconds(self.options.wrench_timeout) + 1
        self.runner.between_cycles("know_wrench", k, until)
        self.runner.gather_wrenches()

    def _resistible_wrench(self, link: str, wrench: Sequence[float]) -> Array:
        """(6,) the external wrench, after checks."""
        remedy = "Use [moment; force], N m and N, in its frame."
        known = vector(wrench, 6, f"external wrench on {link!r}", remedy=remedy)
        self._check_wrench(
            link,
            known,
            lambda q: -self._external_efforts(link, known, q),
            verb="resisted",
            where="external_wrench",
        )
        return known

    def _external_efforts(self, link: str, wrench: Array, q: Array) -> Array:
        """(n,) efforts that an external wrench (6,) on a link causes at (n,) positions ``q``."""
        kernels = self.work.kernels
        caused = np.zeros(self.model.nv)
        kernels.external_efforts(q, kernels.gather({link: wrench}), caused)
        return caused

    def _check_wrench(
        self,
        link: str,
        wrench: Array,
        efforts: Callable[[Array], Array],
        *,
        verb: str,
        where: str,
    ) -> None:
        """Refuse a wrench (6,) that asks the joints for more than they have, where the robot is.

        Args:
            efforts: (n,) what the wrench asks of the joints, as a function of their positions.
            link, wrench, verb, where: of the message, see
                :func:`~robot_dynamics_ros.control.rest_efforts.check_wrench_at_rest`.
        """
        q = self._known_pose()
        if q is None:
            return
        gravity = np.zeros(self.model.nv)
        self.work.kernels.gravity_forces(q, gravity)
        check_wrench_at_rest(self.model, gravity, efforts(q), link, wrench, verb, where)
