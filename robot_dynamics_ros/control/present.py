"""The settings in force in a controller, and what its last cycle was for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robot_dynamics_ros.control.cycle.estimates import Estimates
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.guards import Guards, GuardSettings
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.mode import Mode
from robot_dynamics_ros.control.robustness import description_gaps
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel


class Present:
    """Part of :class:`~robot_dynamics_ros.control.controller.JointController`.

    Attributes (arrays are overwritten by the next cycle):
        state: (n,) position and (n,) velocity that the last cycle was for.
        wrench_acceleration: (n,) acceleration that the wrenches belong to.
        unexplained: (n,) present effort that makes up for what the model does not explain; zero without ``robustness``.
        external_wrenches: link → (6,) [moment; force]: the known wrenches that are still in force.
        memory: the memory that the cycle works on.
        read: reads a serialized joint state into ``memory``.
        compiled: whether the cycle runs compiled, and not as it is written.
    """

    model: RobotModel
    _runner: CycleRunner
    _estimates: Estimates

    def _show(self) -> None:
        runner = self._runner
        self.state = runner.work.q, runner.work.v
        self.wrench_acceleration = self._estimates.wrench_pass.acceleration
        self.memory, self.unexplained = runner.memory, runner.memory["unexplained"]
        self.external_wrenches: Mapping[str, Array] = runner.wrenches.values
        self.read, self.compiled = runner.execution.read, runner.execution.compiled

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
    def loaded_model(self) -> RobotModel:
        """The robot as the cycle knows it, payload included."""
        return self._runner.work.model

    @property
    def kernels(self) -> Kernels:
        """The functions that the cycle works with, payload included."""
        return self._runner.work.kernels

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
