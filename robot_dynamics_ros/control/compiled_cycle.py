"""The ordinary control cycle in machine code: reference, errors, integral, law, and that nothing has to be cut.

It is a shortcut, not another controller: whatever is out of the ordinary (a joint near a limit, an effort to be cut, a
tolerance violated, a number that is not finite) leaves everything as it was, and the statements in
:class:`~robot_dynamics_ros.control.controller.JointController` do that cycle.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robot_dynamics_ros.control.cycle_memory import ROBOT_FUNCTIONS
from robot_dynamics_ros.control.guards import Guards
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.law_code import LawCode
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.reference.path import Path
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.routines import Vector, make_routines

__all__ = ["CompiledCycle"]

PI, TURN = math.pi, 2.0 * math.pi
FAR = 100.0
"""Errors of continuous joints, rad, from which on counting whole turns is left to the statements."""


def ordinary_cycle(p: Any, x: Vector) -> int:
    """One cycle for the state ``p.q``, ``p.v``; ``p.status``, and what is returned, is 0 if it is done, 1 if it was left as it was.

    Args:
        p: the memory, see :func:`~robot_dynamics_ros.control.cycle_memory.cycle_memory`.
        x: s since the start of the reference's piece; s since the cycle before; whether wrenches are wanted.
    """
    p.status[0] = 1
    if p.ready[0] == 0:
        return 1
    for i in range(p.nv):  # Guards.near_limits
        speed = p.v[i] * p.v[i]
        if speed > p.near_speed[i] or speed * p.reach[i] + abs(p.q[i] - p.centre[i]) > p.half[i]:
            return 1
    if p.tracks[0] == 1:
        if not follow(p, x[0]):
            return 1
        for i in range(p.nv):
            if abs(p.error[0, i]) > p.watch_position[i] or abs(p.error[1, i]) > p.watch_velocity[i]:
                return 1
    else:
        for i in range(p.nv):
            p.reference[0, i] = p.q[i]
            p.reference[1, i] = p.v[i]
            p.reference[2, i] = 0.0
            p.error[0, i] = 0.0
            p.error[1, i] = 0.0
    for i in range(p.nv):  # advance_integral, of joints none of which was cut
        p.z_next[i] = p.z[i]
        if p.integrates[0] == 1:
            p.z_next[i] = max(min(p.z[i] + p.error[0, i] * x[1], p.integral_bound[i]), -p.integral_bound[i])
    evaluate_law(p, x[2])
    for i in range(p.nv):
        effort = p.asked[i]
        if not abs(effort) <= p.effort_limit[i] or effort - effort != 0.0:
            return 1
        if abs(effort - p.previous[i]) > p.effort_rate[i] * x[1]:
            return 1
    for i in range(p.nv):
        p.z[i] = p.z_next[i]
        p.effort[i] = p.asked[i]
        p.command[i] = p.asked[i]
    p.status[0] = 0
    return 0


def follow(p: Any, t: float) -> bool:
    """Reference and errors, ``t`` s after the start of the piece; see :class:`Path` and ``Workspace.compute_errors``.

    False if a continuous joint is many turns away.
    """
    for i in range(p.nv):
        if p.moves[0] == 1:
            p.reference[0, i] = p.piece[0, i] + t * (
                p.piece[1, i] + t * (p.piece[2, i] + t * (p.piece[3, i] + t * (p.piece[4, i] + t * p.piece[5, i])))
            )
            p.reference[1, i] = p.piece[1, i] + t * (
                2.0 * p.piece[2, i] + t * (3.0 * p.piece[3, i] + t * (4.0 * p.piece[4, i] + t * 5.0 * p.piece[5, i]))
            )
            p.reference[2, i] = 2.0 * p.piece[2, i] + t * (
                6.0 * p.piece[3, i] + t * (12.0 * p.piece[4, i] + t * 20.0 * p.piece[5, i])
            )
        else:
            p.reference[0, i] = p.piece[0, i]
            p.reference[1, i] = 0.0
            p.reference[2, i] = 0.0
        e = p.reference[0, i] - p.q[i]
        if p.continuous[i] == 1:
            if abs(e) > FAR:
                return False
            while e >= PI:
                e = e - TURN
            while e < -PI:
                e = e + TURN
        p.error[0, i] = e
        p.error[1, i] = p.reference[1, i] - p.v[i]
    return True


def evaluate_law(p: Any, wrenches: float) -> None:
    """``p.asked``: what the law asks for, see :class:`LawCode`; with it the wrenches if the law's own pass gives them."""
    if p.uses_gravity[0] == 1:
        p.gravity_forces(p.q, p.gravity)
    if p.uses_inertia[0] == 1:
        p.mass_matrix(p.q, p.inertia)
    if p.uses_motion_of_reference[0] == 1:
        for i in range(p.nv):
            p.q_reference[i] = p.reference[0, i]
            p.v_reference[i] = p.reference[1, i]
            p.a_reference[i] = p.reference[2, i]
        p.inverse_dynamics(p.q_reference, p.v_reference, p.a_reference, p.motion_of_reference)
    if p.uses_motion[0] == 1:
        p.law_before(
            p.q,
            p.v,
            p.reference,
            p.error,
            p.z_next,
            p.gains,
            p.gravity,
            p.inertia,
            p.motion,
            p.motion_of_reference,
            p.a,
        )
        if wrenches > 0.0:
            p.inverse_dynamics_wrenches(p.q, p.v, p.a, p.motion, p.wrenches)
        else:
            p.inverse_dynamics(p.q, p.v, p.a, p.motion)
    p.law_after(
        p.q,
        p.v,
        p.reference,
        p.error,
        p.z_next,
        p.gains,
        p.gravity,
        p.inertia,
        p.motion,
        p.motion_of_reference,
        p.asked,
    )


class CompiledCycle:
    """:func:`ordinary_cycle` for one controller.

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
        self._numbers, self._block = np.zeros(3), memory.block
        self._given: Any = self._numbers.data
        self._status, self._moves = memory.python.status, memory.python.moves
        routines = make_routines(
            memory, (ordinary_cycle,), compiled=True, entry="ordinary_cycle", entry_size=len(self._numbers)
        )
        self._enter = routines.entry
        if self._enter(self._numbers, self._block) is None:  # this Python's objects are laid out otherwise
            run = routines["ordinary_cycle"]
            self._enter = lambda numbers, _block: run(memory, numbers)
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
