"""The ordinary control cycle in machine code: reference, errors, integral, law, and that nothing has to be cut.

It is a shortcut, not another controller: whatever is out of the ordinary (a joint near a limit, an effort to be cut, a
tolerance violated, a number that is not finite) leaves everything as it was, and the statements in
:class:`~robot_dynamics_ros.control.controller.JointController` do that cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.control.cycle_memory import ROBOT_FUNCTIONS
from robot_dynamics_ros.control.guards import Guards
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.law_code import LawCode
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.packed_cycle import ORDINARY_NUMBERS, cycle_routines
from robot_dynamics_ros.control.reference.path import Path
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.routines import entry_of

__all__ = ["CompiledCycle"]


class CompiledCycle:
    """:func:`~robot_dynamics_ros.control.ordinary_cycle.ordinary_cycle` for one controller.

    Args:
        work: the controller's arrays.
    """

    def __init__(self, work: Workspace) -> None:
        self._memory = memory = work.memory
        self._flags = {name: getattr(memory.python, name) for name in ("ready", "tracks", "integrates", "moves")}
        self._uses = {
            name: getattr(memory.python, f"uses_{name}")
            for name in ("gravity", "inertia", "motion", "motion_of_reference")
        }
        self._numbers, self._block = np.zeros(ORDINARY_NUMBERS), memory.block
        self._given: Any = self._numbers.data
        self._status, self._moves = memory.python.status, memory.python.moves
        self._enter = entry_of(cycle_routines(memory), memory, "ordinary_cycle", self._numbers)
        self._path: Path | None = None
        self._piece = -1
        self._tolerances: Tolerances | None = None
        self._law_fits = self._robot_fits = self._unguarded = False

    def use_law(self, law: Law, code: LawCode | None) -> None:
        """Evaluate this law, with its gains, from now on; without code for it all cycles are left as they were."""
        memory = self._memory
        self._law_fits = code is not None
        if code is not None:
            memory.exchange("law_after", code.after)
            if code.before is not None:
                memory.exchange("law_before", code.before)
            for name, flag in self._uses.items():
                flag[0] = name in code.used
            for name, row in zip(law.gain_names, memory["gains"], strict=False):
                row[:] = 0.0 if (value := getattr(law, name)) is None else value
            self._flags["tracks"][0], self._flags["integrates"][0] = law.tracks, law.integrates
            if law.integrates:
                ki, clamp = law.ki, law.i_clamp  # type: ignore[attr-defined]
                with np.errstate(divide="ignore", invalid="ignore"):
                    memory["integral_bound"][:] = np.where(ki > 0.0, clamp / ki, 0.0)
        self._settle()

    def use_kernels(self, kernels: Kernels) -> None:
        """Call the functions of this robot, which differs from the one before by a payload."""
        fits = [self._memory.exchange(name, evaluator(kernels.model, name)) for name in ROBOT_FUNCTIONS]
        self._robot_fits = all(fits)
        self._settle()

    def use_guards(self, guards: Guards) -> None:
        """Leave cycles to the statements in which these guards might have to cut something."""
        for name, values in guards.thresholds().items():
            self._memory[name][:] = values

    def _settle(self) -> None:
        self._flags["ready"][0] = self._law_fits and self._robot_fits

    @property
    def ready(self) -> bool:
        """Whether there is code for the law and the robot in force."""
        return self._law_fits and self._robot_fits

    def watch(self, tolerances: Tolerances | None) -> None:
        """Leave cycles to the statements in which the errors exceed these tolerances for the path; ``None``: none."""
        if tolerances is not self._tolerances:
            self._tolerances = tolerances
            for name in ("position", "velocity"):
                limit = np.zeros(1) if tolerances is None else getattr(tolerances, f"path_{name}")
                self._memory[f"watch_{name}"][:] = np.where(limit > 0.0, limit, np.inf)

    def run(self, t: int, path: Path, dt: float, wrenches: bool) -> bool:
        """One cycle; False if it was left as it was.

        Args:
            t: present time, ns.
            path: the reference.
            dt: s since the cycle before.
            wrenches: whether the law's own pass of the inverse dynamics is to give the wrenches too.
        """
        piece, elapsed = path.piece(t)
        if path is not self._path or piece != self._piece:
            self._path, self._piece = path, piece
            self._memory["piece"][:] = path.coefficients[piece]
            self._moves[0] = bool(path.coefficients[piece][1:].any())
        given = self._given
        given[0], given[1], given[2] = elapsed, dt, wrenches
        self._enter(self._numbers, self._block)
        return self._status[0] == 0
