"""What a controller is made of, and how it is changed between two cycles."""

from __future__ import annotations

import enum
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from robot_dynamics_ros.control.bumpless import Blend
from robot_dynamics_ros.control.external import ExternalWrenches
from robot_dynamics_ros.control.guards import Guards, GuardSettings
from robot_dynamics_ros.control.laws import ComputedTorque, Law
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.payload import Payload, carrying
from robot_dynamics_ros.control.reference.reference import ReferenceGenerator
from robot_dynamics_ros.control.reference.result import GoalStatus
from robot_dynamics_ros.control.reference.splice import JointTable
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.control.watchdog import Watchdog
from robot_dynamics_ros.control.workspace import Kernels, Workspace
from robot_dynamics_ros.control.wrench_pass import WrenchPass
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["ControllerParts", "Mode"]


class Mode(enum.Enum):
    """What the controller is doing."""

    INACTIVE = "inactive"
    HOLD = "hold"
    TRAJECTORY = "trajectory"
    STREAM = "stream"
    FREE = "free"  # a law without reference, e.g. gravity compensation
    SAFE = "safe"  # the safe command is out: state stale, or a fault


class ControllerParts:
    """The parts of a :class:`~robot_dynamics_ros.control.controller.JointController`, and what changes them."""

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
    ) -> None:
        """Check that everything fits together, and compile what the cycle needs.

        Raises:
            ArgumentError: settings that do not fit the model, or a model with joints of several degrees of freedom.
            UnknownNameError: a joint or link that the model does not have.
        """
        self.options = (options or ControllerOptions()).check(model)
        self._work = Workspace(model)
        self._base = self._work.kernels
        self.model = model
        n = model.nv
        self.law: Law = (law if law is not None else ComputedTorque()).check(model)
        self.law.prepare(self._base)
        self.counts: Counter[str] = Counter()
        table = JointTable.of(model, self.options.joints)
        self._idle = None if table.commanded.all() else np.flatnonzero(~table.commanded)
        self.guards = Guards(model, guards, self.counts, self._idle)
        self._reference = ReferenceGenerator(table, self.options, self.guards.deceleration)
        self._tolerances = tolerances if tolerances is not None else Tolerances.uniform(n, stopped_velocity=0.0)
        self._watchdog = Watchdog(nanoseconds(self.options.state_timeout))
        self._blend = Blend(n, nanoseconds(self.options.blend_time))
        self._external = ExternalWrenches(nanoseconds(self.options.wrench_timeout))
        self._wrench_pass = WrenchPass(n, self.options.wrench_acceleration, self.options.differentiation_cutoff)
        self.observer = observer
        if observer is not None:
            observer.prepare(self._base)
        self.collision = collision
        self.payload: Payload | None = None
        self._requests = 0
        self._prepared: tuple[int, Payload | None, Kernels] | None = None
        self.mode = Mode.INACTIVE
        self.fault = ""
        self.want_wrenches = True
        self.reference = self._work.reference
        self.error = self._work.error
        self.wrenches = self._work.wrenches
        self.effort, self.command = np.zeros(n), np.zeros(n)
        self._previous, self._gravity, self._bias = np.zeros(n), np.zeros(n), np.zeros(n)
        self._inertia = np.zeros((n, n))
        self._fresh_start = True
        self._robot_gravity = self.options.gravity_compensated_by == "robot"
        self._integrates = self.law.integrates

    # -- what the last cycle worked with -------------------------------------------------------------------------

    @property
    def loaded_model(self) -> RobotModel:
        """The robot as the cycle knows it, payload included."""
        return self._work.model

    @property
    def state(self) -> tuple[Array, Array]:
        """(n,) position and velocity that the last cycle was for."""
        return self._work.q, self._work.v

    @property
    def wrench_acceleration(self) -> Array:
        """(n,) acceleration that ``wrenches`` belong to."""
        return self._wrench_pass.acceleration

    @property
    def external_wrenches(self) -> Mapping[str, Array]:
        """Link → (6,) [moment; force]: the known wrenches that are still in force."""
        return self._external.values

    # -- changes between two cycles ------------------------------------------------------------------------------

    def set_law(self, law: Law) -> None:
        """Use another law, or other gains, from the next cycle on; the effort does not jump.

        From a law without reference to one with, the arm holds where it is.

        Raises:
            ArgumentError, UnknownNameError: the law does not fit the model; the one before stays.
        """
        law.check(self.model).prepare(self._work.kernels)
        if type(law) is not type(self.law):
            self._work.integral[:] = 0.0
            if law.tracks is not self.law.tracks and self.mode not in (Mode.INACTIVE, Mode.SAFE):
                self._reference.stop_from(
                    self._watchdog.last or 0,
                    self._work.q,
                    self._work.v,
                    GoalStatus.CANCELED,
                    text="the law was changed",
                )
                self.mode = Mode.HOLD if law.tracks else Mode.FREE
        elif self._integrates:  # Ki z goes on where it was
            with np.errstate(divide="ignore", invalid="ignore"):
                old, new = self.law.ki, law.ki  # type: ignore[attr-defined]
                self._work.integral *= np.where(new > 0.0, old / new, 0.0)
        self.law = law
        self._integrates = self.law.integrates
        self._blend.start()

    def set_gains(self, **gains: Sequence[float] | Mapping[str, float] | float) -> None:
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …), the others staying.

        Raises:
            UnknownNameError: the law has no such gain, or the model no such joint.
            ArgumentError: a value negative, not finite, or of the wrong length; nothing is changed then.
        """
        self.set_law(self.law.with_gains(self.model, **gains))

    def set_payload(self, payload: Payload | None, *, background: bool = False) -> None:
        """Carry a payload from the next cycle on, or with ``None`` none: the very functions of before are used again.

        Compiling for the loaded robot takes some tenths of a second the first time; it happens here, or with
        ``background`` in a thread of its own, after which the next cycle takes the payload over.

        Raises:
            UnknownNameError: the model has no such link; the payload of before stays.
        """
        self._requests += 1
        request = self._requests
        if payload is None:
            self._carry(None, self._base)
            return
        loaded = carrying(self.model, payload)
        links = list(self._work.kernels.links)

        def prepare() -> None:
            kernels = Kernels.of(loaded)
            self.law.prepare(kernels)
            for link in links:
                kernels.link(link)
            if self.observer is not None:
                self.observer.compile(kernels)
            if background:
                self._prepared = (request, payload, kernels)  # one assignment: nothing to lock
            else:
                self._carry(payload, kernels)

        if background:
            threading.Thread(target=prepare, name="payload", daemon=True).start()
        else:
            prepare()

    def _take_over(self) -> None:
        """Use a payload that has been prepared in the background, unless another was asked for since."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared[0] == self._requests:
            self._carry(prepared[1], prepared[2])

    def _carry(self, payload: Payload | None, kernels: Kernels) -> None:
        self._work.kernels = kernels
        self.law.prepare(kernels)
        self.payload = payload
        if self.observer is not None:
            self.observer.rebase()
            self.observer.prepare(kernels)
        self._blend.start()

    def set_external_wrench(self, link: str, wrench: Sequence[float] | None, t: int) -> None:
        """Feed a known wrench [moment; force] on ``link`` (its origin, its frame) forward; ``None`` forgets it.

        Raises:
            UnknownNameError: the model has no such link.
            ArgumentError: not six finite numbers.
        """
        self.model.link_index(link)
        if self._external.set(link, wrench, t):
            self._blend.start()

    def set_guards(self, settings: GuardSettings) -> None:
        """Use other limits from the next cycle on, e.g. derated ones.

        Raises:
            ArgumentError: settings that do not fit the model; the ones of before stay.
        """
        self.guards = Guards(self.model, settings, self.counts, self._idle)
        self._reference.deceleration = self.guards.deceleration

    @property
    def tolerances(self) -> Tolerances:
        """Default tolerances for trajectories."""
        return self._tolerances

    def set_tolerances(self, tolerances: Tolerances) -> None:
        """Default tolerances for trajectories accepted from now on."""
        self._tolerances = tolerances
