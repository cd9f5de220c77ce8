"""Where it is chosen how the control cycle runs: compiled, or the same statements as they are written.

Compiled needs llvmlite and a robot whose functions are compiled.  A law in Python is called between two calls of the cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from robot_dynamics_ros.control.cycle.cycle import control_cycle
from robot_dynamics_ros.control.cycle.memory import ArrivedState, CycleMemory
from robot_dynamics_ros.control.cycle.message import AnswerLayout, StateLayout, read_state
from robot_dynamics_ros.control.cycle.reactions import BETWEEN_CYCLES
from robot_dynamics_ros.control.cycle.wrench_pass import compute_wrenches
from robot_dynamics_ros.dynamics.engine.routines import InterpretedRoutines, Memory, Routines, make_routines
from robot_dynamics_ros.model.description import Array


class Execution:
    """The control cycle on one controller's memory.

    Args:
        memory: the memory.
        compiled: whether compiled code can work on it.

    Attributes:
        compiled: whether it does.
        run: runs the cycle from a step on; returns a verdict.
        routines: the cycle's others, by name.
        read: reads a message, given its bytes, their number and a :class:`StateLayout`'s table; returns a verdict.
    """

    def __init__(self, memory: Memory[CycleMemory], compiled: bool) -> None:
        self._memory, self.compiled = memory, compiled
        self.routines = make_routines(
            memory, (control_cycle, read_state, compute_wrenches, *BETWEEN_CYCLES), compiled=compiled
        )
        self.read = reading(memory, self.routines)
        self.answer_into(None)

    def wrenches_for(self, measured: Array) -> Callable[[bool], None]:
        """:func:`compute_wrenches` for the measured efforts that will be in this array, if the argument says so."""
        if isinstance(self.routines, Routines):
            routine = self.routines.held("compute_wrenches")
            return partial(routine, self._memory.block.ctypes.data, measured.ctypes.data)
        return partial(compute_wrenches, self._memory.python, measured.data)  # type: ignore[arg-type]

    def answer_into(self, answer: AnswerLayout | None) -> None:
        """Write the commands into this message from now on; ``None``: into none."""
        memory = self._memory
        memory["answer_count"][0] = 0 if answer is None else len(answer.joints)
        if answer is None:
            memory["answer_at"][:] = 0
        else:
            memory["answer_joints"][: len(answer.joints)] = answer.joints
            memory["answer_at"][:] = answer.first, answer.stamped
        self._buffer = np.zeros(16, np.uint8) if answer is None else answer.buffer
        self.run: Callable[[int], int]
        if isinstance(self.routines, Routines):
            routine = self.routines.held("control_cycle")
            self.run = partial(routine, memory.block.ctypes.data, self._buffer.ctypes.data)
        else:
            self.run = partial(control_cycle, memory.python, self._buffer.data)


Read: TypeAlias = Callable[[bytes | memoryview, int, StateLayout], int]
"""Reads a message of so many bytes; returns a verdict."""


def reading(
    memory: Memory[ArrivedState] | Memory[CycleMemory], routines: Routines | InterpretedRoutines | None = None
) -> Read:
    """:func:`~robot_dynamics_ros.control.cycle.message.read_state` into one memory, compiled if the routines for it are."""
    if isinstance(routines, Routines):
        return partial(routines.held("read_state"), memory.block.ctypes.data)
    return lambda message, size, layout: read_state(memory.python, message, size, layout.table.data)
