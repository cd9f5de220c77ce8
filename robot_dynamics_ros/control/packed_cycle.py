"""The ordinary cycle for a state that arrives as a packed message: reading, checks, the law, and the packed answer, in one call.

Like :func:`~robot_dynamics_ros.control.ordinary_cycle.ordinary_cycle` it is a shortcut.  A message that is not just like the
one before but for its numbers, a stamp that is not the next one, a number that cannot be a measurement, a joint that has
jumped: each leaves everything as it was, and the statements do that cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.control.cycle_memory import CycleMemory
from robot_dynamics_ros.control.ordinary_cycle import ordinary_cycle
from robot_dynamics_ros.control.reference.path import Path
from robot_dynamics_ros.dynamics.engine.codegen.packed import Packed, number, put_number, put_word, word
from robot_dynamics_ros.dynamics.engine.routines import Integers, Memory, make_routines
from robot_dynamics_ros.model.description import Array

__all__ = ["FARTHEST", "FASTEST", "STRONGEST", "PackedAnswer", "PackedCycle", "PackedState", "cycle_routines"]

FARTHEST, FASTEST, STRONGEST = 1e6, 1e4, 1e9
"""Larger positions, rad or m, velocities, rad/s or m/s, and efforts, N m or N, are no measurements."""

SECOND = 1_000_000_000
LAST_SECOND = 2**31 - 1
STAMP = 1  # the word of the seconds, which that of the nanoseconds follows
HEAD = 2
NEVER = 2**62


def packed_cycle(p: CycleMemory, message: Packed, plan: Integers, answer: Packed) -> int:
    """One cycle for the state in ``message``; 0 if everything was left as it was, else 1, or 2 if efforts of all joints came too.

    Args:
        p: the memory, see :func:`~robot_dynamics_ros.control.cycle_memory.cycle_memory`.
        message: a stamp (seconds, nanoseconds) and numbers, among words that do not change.
        plan: see :class:`PackedState`.
        answer: see :class:`PackedAnswer`.
    """
    checks = HEAD + 3 * p.nv
    for k in range(plan[0]):
        if word(message, plan[checks + 3 * k]) & plan[checks + 3 * k + 1] != plan[checks + 3 * k + 2]:
            return 0
    seconds = word(message, STAMP)
    nanoseconds = word(message, STAMP + 1)
    t = seconds * SECOND + nanoseconds
    since = t - p.last[0]
    if seconds > LAST_SECOND or since <= 0 or since > p.timeout[0] or t >= p.until[0]:
        return 0
    way = 0.0
    for i in range(p.nv):
        for row in range(2):
            x = number(message, plan[HEAD + row * p.nv + i])
            if not abs(x) <= FASTEST:
                return 0
            p.arrived[row, i] = x
        way = way + (p.arrived[0, i] - p.q[i]) * (p.arrived[0, i] - p.q[i])
    if way > p.leap[0]:
        return 0
    for i in range(p.nv):
        p.q_before[i] = p.q[i]
        p.v_before[i] = p.v[i]
        p.q[i] = p.arrived[0, i]
        p.v[i] = p.arrived[1, i]
    p.times[0] = (t - p.knot[0]) / SECOND
    p.times[1] = since / SECOND
    if ordinary_cycle(p, p.times) != 0:
        for i in range(p.nv):
            p.q[i] = p.q_before[i]
            p.v[i] = p.v_before[i]
        return 0
    p.last[0] = t
    measured = 1 + plan[1]
    for i in range(p.nv):
        p.applied[i] = p.previous[i]
        p.previous[i] = p.effort[i]
        if plan[1] == 1:
            p.arrived[2, i] = number(message, plan[HEAD + 2 * p.nv + i])
            if not abs(p.arrived[2, i]) <= STRONGEST:
                measured = 1
        put_number(answer, p.answer_at[0] + 2 * i, p.command[p.answer_joints[i]])
    if p.answer_at[1] == 1:
        put_word(answer, STAMP, seconds)
        put_word(answer, STAMP + 1, nanoseconds)
    return measured


ORDINARY_NUMBERS = 3
"""How many numbers ``ordinary_cycle`` takes besides the memory."""


def cycle_routines(memory: Memory[CycleMemory]) -> Any:
    """Both cycles, compiled in one piece: the packed one has the ordinary one in it."""
    functions = (ordinary_cycle, packed_cycle)
    return make_routines(memory, functions, compiled=True, entry="ordinary_cycle", entry_size=ORDINARY_NUMBERS)


class PackedState:
    """Where a message has what, in words of four bytes from its beginning; words 1 and 2 are the stamp, s and ns.

    Args:
        example: a message.
        fixed: of each of its bytes: whether it is the same in all messages that are read with this.
        places: (2, n) or (3, n) the words at which positions, velocities and efforts begin, in model order.

    Attributes:
        size: of the shortest message, bytes.
        plan: integers for :func:`packed_cycle`: number of words to compare; whether there are efforts; (3, n) places; for each word to
            compare its place, the bits that count, and what they are.
    """

    __slots__ = ("address", "plan", "size")

    def __init__(self, example: bytes, fixed: bytes, places: Sequence[Any]) -> None:
        places = [[int(x) for x in row] for row in places]
        n, words = len(places[0]), len(fixed) // 4
        bits = np.frombuffer(bytes(255 * (x != 0) for x in fixed[: 4 * words]), np.uint32).astype(np.int64)
        values = np.frombuffer(bytes(example[: 4 * words]), np.uint32).astype(np.int64)
        compared = [k for k in range(words) if bits[k]]
        head = [len(compared), int(len(places) == 3)]
        whole = [x for row in (*places, [0] * n)[:3] for x in row]
        triples = [int(x) for k in compared for x in (k, bits[k], values[k] & bits[k])]
        self.plan: np.ndarray = np.array([*head, *whole, *triples], dtype=np.int64)
        self.address = self.plan.ctypes.data
        self.size = max(len(fixed), 4 * (2 + max(x for row in places for x in row)))


class PackedAnswer:
    """A packed message that each command is written into.

    Args:
        buffer: its bytes; they stay where they are.
        numbers: the word at which the commands begin.
        joints: (n,) which joint's command each of them is.
        stamped: whether words 1 and 2 are the stamp of the state that it answers.
    """

    __slots__ = ("address", "buffer", "joints", "numbers", "stamped")

    def __init__(self, buffer: bytearray, numbers: int, joints: Sequence[int], stamped: bool) -> None:
        self.buffer = np.frombuffer(buffer, np.uint8)  # a buffer in use cannot be resized
        self.address = self.buffer.ctypes.data
        self.numbers, self.joints, self.stamped = numbers, [int(k) for k in joints], stamped


def _compiled_call(memory: Memory[CycleMemory], answer: PackedAnswer) -> Callable[[bytes, PackedState], int]:
    routine = cycle_routines(memory).held("packed_cycle")
    block, out = memory.block.ctypes.data, answer.address

    def call(message: bytes, state: PackedState) -> int:
        return int(routine(block, message, state.address, out))

    return call


def _interpreted_call(memory: Memory[CycleMemory], answer: PackedAnswer) -> Callable[[bytes, PackedState], int]:
    def call(message: bytes, state: PackedState) -> int:
        return packed_cycle(memory.python, message, state.plan.data, answer.buffer.data)

    return call


class PackedCycle:
    """:func:`packed_cycle` for one controller.

    Args:
        memory: the controller's, which its compiled cycle works on.
        answer: where the command goes.
        compiled: False: run the statements of :func:`packed_cycle` in Python, to check them.

    Attributes:
        last: stamp of the newest state that was taken, ns.
        arrived: (3, n) position, velocity and effort in that state.
        measured: whether the efforts are known.
        applied: (n,) the effort of the cycle before.
    """

    def __init__(self, memory: Memory[CycleMemory], answer: PackedAnswer, *, compiled: bool = True) -> None:
        m = memory.python
        self._last, self._timeout, self._until, self._knot = m.last, m.timeout, m.until, m.knot
        self._leap, self._times = m.leap, m.times
        memory["answer_at"][:] = answer.numbers, answer.stamped
        memory["answer_joints"][:] = answer.joints
        self._call = _compiled_call(memory, answer) if compiled else _interpreted_call(memory, answer)
        self.arrived: Array = memory["arrived"]
        self.applied: Array = memory["applied"]
        self.last = 0
        self.measured = False

    def arm(self, t: int, path: Path, until: int, timeout: int, leap: float, wrenches: bool) -> None:
        """Be ready for the states that follow on a cycle of the compiled cycle at ``t``.

        Args:
            t: stamp of that cycle, ns.
            path: the reference.
            until: for states before this time, ns.
            timeout: the longest gap between two states, ns.
            leap: square of the longest way between two states.
            wrenches: as for :meth:`CompiledCycle.run`.
        """
        piece, _ = path.piece(t)
        knots = path.knots
        self.last = self._last[0] = t
        self._timeout[0], self._leap[0], self._times[2] = timeout, leap, wrenches
        self._knot[0] = knots[piece]
        if piece + 1 < len(knots):
            until = min(until, knots[piece + 1])
        self._until[0] = until if t >= knots[piece] else t

    def run(self, message: bytes, state: PackedState) -> bool:
        """One cycle; False if everything was left as it was."""
        if len(message) < state.size:
            return False
        done = self._call(message, state)
        if not done:
            return False
        self.last = self._last[0]
        self.measured = done == 2
        return True
