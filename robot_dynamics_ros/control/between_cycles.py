"""Requests to a controller between two cycles, and its present settings: each is done by one of its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from robot_dynamics_ros.control.cycle.estimates import Estimates
from robot_dynamics_ros.control.cycle.execution import Read
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.guards import Guards, GuardSettings
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.law_changes import LawChanges
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.mode import Mode
from robot_dynamics_ros.control.payload import Payload
from robot_dynamics_ros.control.reference.requests import MotionRequests
from robot_dynamics_ros.control.reference.result import Goal
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint
from robot_dynamics_ros.control.robustness import description_gaps
from robot_dynamics_ros.control.stale_watch import StaleWatch
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["BetweenCycles"]


class BetweenCycles:
    """Base of :class:`~robot_dynamics_ros.control.controller.JointController`."""

    model: RobotModel
    _runner: CycleRunner
    _motion: MotionRequests
    _changes: LawChanges
    _estimates: Estimates
    _stale_watch: StaleWatch

    # -- motion --------------------------------------------------------------------------------------------------

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
        return self._motion.accept_trajectory(trajectory, t, tolerances)

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
        self._motion.accept_trajectory_later(make, done, tolerances)

    def accept_point(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Follow one streamed set-point until the next, or until ``stream_timeout`` brings the arm to a stop.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
        self._motion.accept_point(joint_names, point, t)

    def hold(self, t: int, *, measured: bool = False) -> None:
        """Come to a stop within the deceleration and position limits, then stay.  Open goals are cancelled.

        Args:
            t: present time, ns.
            measured: start from the measured state instead of the present reference.
        """
        self._motion.hold(t, measured=measured)

    def desired(self, t: int) -> Array:
        """(3, n) desired position, velocity and acceleration at time ``t``, ns, as things stand now."""
        return self._runner.reference.sample(t)

    @property
    def goal(self) -> Goal | None:
        """The trajectory goal that is active, or the next one waiting."""
        return self._runner.reference.goal

    @property
    def tolerances(self) -> Tolerances:
        """Default tolerances for trajectories."""
        return self._motion.tolerances

    def set_tolerances(self, tolerances: Tolerances) -> None:
        """Default tolerances for trajectories accepted from now on."""
        self._motion.tolerances = tolerances

    # -- law, gains, payload, limits, known wrenches -------------------------------------------------------------

    def set_law(self, law: Law, *, background: bool = False) -> None:
        """Use another law, or other gains, from the next cycle on; the effort does not jump.

        From a law without reference to one with, the arm holds where it is.

        Args:
            law: the law.
            background: compile what it needs in a thread of its own; a later cycle takes it over.

        Raises:
            ArgumentError, UnknownNameError: the law does not fit the model; the one before stays.
        """
        self._changes.set_law(law, background=background)

    def set_gains(self, **gains: Sequence[float] | Mapping[str, float] | float) -> None:
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …), the others staying.

        Raises:
            UnknownNameError: the law has no such gain, or the model no such joint.
            ArgumentError: a value negative, not finite, or of the wrong length; nothing is changed then.
        """
        self._changes.set_gains(**gains)

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
        self._changes.set_payload(payload, background=background, elsewhere=elsewhere, failed=failed)

    @property
    def payload(self) -> Payload | None:
        """The payload in force."""
        return self._changes.payload

    def set_guards(self, settings: GuardSettings) -> None:
        """Use other limits from the next cycle on, e.g. derated ones.

        Raises:
            ArgumentError: settings that do not fit the model; the ones of before stay.
        """
        self._runner.use_guards(settings)

    def set_external_wrench(self, link: str, wrench: Sequence[float] | None, t: int) -> None:
        """Feed a known wrench [moment; force] on ``link`` (its origin, its frame) forward; ``None`` forgets it.

        Raises:
            UnknownNameError: the model has no such link.
            ArgumentError: not six finite numbers.
        """
        self.model.link_index(link)
        self._runner.set_external_wrench(link, wrench, t)

    @property
    def external_wrenches(self) -> Mapping[str, Array]:
        """Link → (6,) [moment; force]: the known wrenches that are still in force."""
        return self._runner.wrenches.values

    @property
    def unexplained(self) -> Array:
        """(n,) present effort that makes up for what the model does not explain; zero without ``robustness``."""
        return self._runner.memory["unexplained"]

    def description_gaps(self) -> tuple[str, ...]:
        """One sentence for each joint whose effort in motion, since the start, the description did not explain."""
        moving, unexplained, inertial = self._runner.memory["moving"]
        time = np.maximum(moving, 1e-3)
        return description_gaps(self.model, unexplained / time, inertial / time)

    @property
    def feedback_frequency(self) -> tuple[float, float]:
        """Natural frequency of the error, rad/s, and the delay of the loop, s, that it is chosen for; see ``robustness``."""
        p = self._runner.memory.python
        return p.natural[0], p.whole_delay[0]

    # -- what is prepared beside the cycle -----------------------------------------------------------------------

    def prepare(
        self, topic: str, job: Callable[[], Callable[[], None]], failed: Callable[[Exception], None] | None = None
    ) -> None:
        """Prepare something in a thread of its own, and use it between two cycles.

        See :meth:`~robot_dynamics_ros.control.changes.Changes.prepare`.
        """
        self._changes.queue.prepare(topic, job, failed)

    def prepare_estimates(self, failed: Callable[[Exception], None] | None = None) -> None:
        """Compile the functions of wrenches and external efforts in another process.

        Args:
            failed: called between two cycles with an error that this ended with.
        """
        self._changes.prepare_estimates(failed)

    @property
    def estimates_ready(self) -> bool:
        """Whether wrenches and external efforts can be computed; see :meth:`prepare_estimates`."""
        return self._runner.base.estimates_ready

    def take_over(self) -> None:
        """Use what has been prepared in the background; each cycle begins with it."""
        self._changes.queue.take_over()

    @property
    def preparing(self) -> bool:
        """Whether something asked for is not in force yet."""
        return self._changes.queue.pending

    # -- the watch over the joint states -------------------------------------------------------------------------

    def watch(self, t: int) -> Array | None:
        """To be called by a timer: the safe command if the state is stale at time ``t`` or a fault stands, else None.

        With the next joint state the controller recovers from a stale state by itself and holds where the arm then is;
        a fault stays until it is activated again.
        """
        return self._stale_watch.check(t)

    def process_was_delayed(self, t: int, gap: int) -> None:
        """The next state, of time ``t``, comes late because this process was delayed by ``gap`` ns, not the robot.

        Up to twice ``state_timeout`` the motion goes on as if nothing had happened; after more than that the arm is
        stopped where it is, and goals end with this reason.
        """
        self._stale_watch.process_was_delayed(t, gap)

    def safe_command(self) -> Array:
        """(n,) the command that ``options.safe_command`` names, at the last known position."""
        return self._runner.safe_command()

    # -- what is in force, and what the last cycle was for -------------------------------------------------------

    @property
    def law(self) -> Law:
        """The law in force."""
        return self._runner.law

    @property
    def guards(self) -> Guards:
        """The limits in force."""
        return self._runner.guards

    @property
    def mode(self) -> Mode:
        """The mode of operation."""
        return self._runner.mode

    @property
    def fault(self) -> str:
        """The reason for a permanent stop, or ""; cleared by activating."""
        return self._runner.fault

    @property
    def safe_reason(self) -> str:
        """Why the mode is SAFE, or was the last time."""
        return self._runner.safe_reason

    @property
    def jump(self) -> str:
        """Why the last state was dropped because it cannot follow from the one before, or ""."""
        return self._runner.jump

    @property
    def current(self) -> bool:
        """Whether the last state was followed by a cycle (it was not dropped, nor answered by a safe command)."""
        return self._runner.current

    @property
    def compiled(self) -> bool:
        """Whether the cycle runs compiled, and not as it is written."""
        return self._runner.execution.compiled

    @property
    def loaded_model(self) -> RobotModel:
        """The robot as the cycle knows it, payload included."""
        return self._runner.work.model

    @property
    def kernels(self) -> Kernels:
        """The functions that the cycle works with, payload included."""
        return self._runner.work.kernels

    @property
    def state(self) -> tuple[Array, Array]:
        """(n,) position and velocity that the last cycle was for."""
        return self._runner.work.q, self._runner.work.v

    @property
    def wrench_acceleration(self) -> Array:
        """(n,) acceleration that the wrenches belong to."""
        return self._estimates.wrench_pass.acceleration

    @property
    def memory(self) -> Memory[CycleMemory]:
        """The memory that the cycle works on."""
        return self._runner.memory

    @property
    def read(self) -> Read:
        """Reads a serialized joint state into :attr:`memory`."""
        return self._runner.execution.read

    @property
    def want_wrenches(self) -> bool:
        """Whether wrenches are computed."""
        return self._runner.want_wrenches

    @want_wrenches.setter
    def want_wrenches(self, value: bool) -> None:
        self._runner.want_wrenches = value

    @property
    def want_efforts(self) -> bool:
        """Whether external efforts are estimated although nothing here needs them; switched on, the estimate restarts."""
        return self._estimates.want_efforts

    @want_efforts.setter
    def want_efforts(self, value: bool) -> None:
        self._estimates.want_efforts = value
