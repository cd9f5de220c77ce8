"""Where it is chosen how the control cycle runs: compiled, or the same statements as they are written.

Compiled needs llvmlite and a robot whose functions are compiled.  A law in Python is called between two calls of the cycle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics_ros.control.cycle.cycle import control_cycle
from robot_dynamics_ros.control.cycle.memory import ArrivedState, CycleMemory
from robot_dynamics_ros.control.cycle.message import AnswerLayout, StateLayout, read_state
from robot_dynamics_ros.dynamics.engine.routines import InterpretedRoutines, Memory, Routines, make_routines

__all__ = ["Execution", "Reading"]


class Execution:
    """The control cycle on one controller's memory.

    Args:
        memory: the memory.
        compiled: whether compiled code can work on it.

    Attributes:
        compiled: whether it does.
        run: runs the cycle from a step on; returns a verdict.
        read: reads a message; returns a verdict.
    """

    def __init__(self, memory: Memory[CycleMemory], compiled: bool) -> None:
        self._memory, self.compiled = memory, compiled
        self._routines = make_routines(memory, (control_cycle, read_state), compiled=compiled)
        self.answer_into(None)
        self.read = Reading(memory, self._routines)

    def answer_into(self, answer: AnswerLayout | None) -> None:
        """Write the commands into this message from now on; ``None``: into none."""
        memory = self._memory
        memory["answer_count"][0] = 0 if answer is None else len(answer.joints)
        if answer is None:
            memory["answer_at"][:] = 0
        else:
            memory["answer_joints"][: len(answer.joints)] = answer.joints
            memory["answer_at"][:] = answer.first, answer.stamped
        self.run = self._runner(np.zeros(16, np.uint8) if answer is None else answer.buffer)

    def _runner(self, buffer: np.ndarray) -> Callable[[int], int]:
        memory = self._memory
        if not isinstance(self._routines, Routines):
            return lambda step: control_cycle(memory.python, buffer.data, step)
        routine = self._routines.held("control_cycle")
        block, address = memory.block.ctypes.data, buffer.ctypes.data

        def run(step: int, _kept: np.ndarray = buffer) -> int:
            verdict: int = routine(block, address, step)
            return verdict

        return run


class Reading:
    """:func:`~robot_dynamics_ros.control.cycle.message.read_state` into one memory.

    Args:
        memory: the memory.
        routines: compiled ones for it; otherwise it runs as written.
    """

    def __init__(
        self, memory: Memory[ArrivedState] | Memory[CycleMemory], routines: Routines | InterpretedRoutines | None = None
    ) -> None:
        self._memory = memory
        self._routine = routines.held("read_state") if isinstance(routines, Routines) else None
        self._block = memory.block.ctypes.data

    def __call__(self, message: bytes, layout: StateLayout) -> int:
        """Read a message; returns a verdict."""
        if self._routine is None:
            return read_state(self._memory.python, message, len(message), layout.table.data)
        verdict: int = self._routine(self._block, message, len(message), layout.address)
        return verdict
