"""Changes of law, gains and payload: prepared aside, taken over between two cycles, without a step in the effort."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from robot_dynamics_ros.control.contact import FlangeLoad
from robot_dynamics_ros.control.cycle.cycle import start_blend
from robot_dynamics_ros.control.cycle.law_code import LawCode
from robot_dynamics_ros.control.cycle.loading import load_law, load_rejection, load_robot
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.kernels import ESTIMATES, Kernels
from robot_dynamics_ros.control.laws import GravityCompensation, Law
from robot_dynamics_ros.control.observer import MomentumObserver
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.engine.backends import prepared
from robot_dynamics_ros.dynamics.engine.compile_process import compile_elsewhere
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError


class LawChanges(CycleRunner):
    """Part of :class:`~robot_dynamics_ros.control.controller.JointController`, which says what the attributes are."""

    observer: MomentumObserver | None
    flange: FlangeLoad | None

    def code(self, law: Law) -> LawCode | None:
        """Machine code of a law; that of the one in which the arm gives way is at hand then, if a collision asks for it."""
        if self.options.collision_reaction == "gravity":
            super().code(self._giving_way(law))
        return super().code(law)

    def set_law(self, law: Law, *, background: bool = False) -> None:
        """Use another law, or other gains, from the next cycle on; the effort does not jump.

        From a law without reference to one with, the arm holds where it is.  In the ``background``, what it needs is compiled
        in a thread of its own; a later cycle takes it over.

        Raises:
            ArgumentError, UnknownNameError: the law does not fit the model; the one before stays.
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
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …), the others staying.

        Raises:
            UnknownNameError: the law has no such gain, or the model no such joint.
            ArgumentError: a value negative, not finite, or of the wrong length; nothing is changed then.
        """
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
        """Carry a payload from the next cycle on, or with ``None`` none.

        Compiling for the loaded robot takes some tenths of a second the first time; it happens here, or with
        ``background`` in a thread of its own, after which a later cycle takes the payload over.

        Args:
            elsewhere: let another process compile, so that the cycle is not held up by the interpreter lock; it takes
                about a second the first time.
            failed: called between two cycles with an error that preparing it in the background ended with; the payload of
                before stays.

        Raises:
            UnknownNameError: the model has no such link; the payload of before stays.
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

    def prepare_estimates(self, failed: Callable[[Exception], None] | None = None) -> None:
        """Compile the functions of wrenches and external efforts in another process; ``failed`` is called between two
        cycles with an error that this ended with."""

        def job() -> Callable[[], None]:
            compile_elsewhere(self.model, ESTIMATES)
            self.base.prepare_estimates()
            return take_over

        def take_over() -> None:
            load_robot(self.memory, self.work.kernels)
            self.estimates_ready = True

        if not self.estimates_ready:
            self.changes.prepare("estimates", job, failed)
