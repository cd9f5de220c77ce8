"""First and last step: the joint state out of the message, the command into the answer, both in
Common Data Representation.

Numbers stand at multiples of four bytes, *words*.  Words 1 and 2 are the stamp, s and ns.  Where a
message has what is a table, made anew when another layout arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from robot_dynamics_ros.control.cycle.memory import ArrivedState, CycleMemory, bound
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.dynamics.engine.codegen.packed import (
    Packed,
    number,
    put_number,
    put_word,
    word,
)
from robot_dynamics_ros.dynamics.engine.routines import (
    Integers,
    InterpretedRoutines,
    Memory,
    Routines,
)

FARTHEST = 1e6
FASTEST = 1e4
STRONGEST = 1e9
"""Larger positions, rad or m, velocities, rad/s or m/s, and efforts, N m or N, are no measurements.
"""

# the word of a message in which the stamp's seconds are; its nanoseconds are in the next
STAMP = 1
# a word from here on stands for a negative number
SIGN = 2**31
# entries of the table before those that say where the numbers of the joints are
HEAD = 3


def read_state(p: ArrivedState, message: Packed, size: int, table: Integers) -> int:
    """Read position, velocity, effort and stamp out of a serialized ``sensor_msgs/JointState`` of
    ``size`` bytes; Verdict.LAYOUT or Verdict.ABSURD if that cannot be.
    """
    if size < table[2]:
        return Verdict.LAYOUT
    compared = HEAD + 3 * p.nv
    for k in range(table[0]):
        if (
            word(message, table[compared + 3 * k]) & table[compared + 3 * k + 1]
            != table[compared + 3 * k + 2]
        ):
            return Verdict.LAYOUT
    for i in range(p.nv):
        for row in range(2):
            x = number(message, table[HEAD + row * p.nv + i])
            if not abs(x) <= (FARTHEST if row == 0 else FASTEST):
                p.bad_joint[0] = i
                p.bad_field[0] = row
                p.bad_value[0] = x
                return Verdict.ABSURD
    measured = table[1]
    for i in range(p.nv):
        p.arrived[0, i] = number(message, table[HEAD + i])
        p.arrived[1, i] = number(message, table[HEAD + p.nv + i])
        if table[1] == 1:
            p.arrived[2, i] = number(message, table[HEAD + 2 * p.nv + i])
            if not abs(p.arrived[2, i]) <= STRONGEST:
                measured = 0
    p.measured[0] = measured
    seconds = word(message, STAMP)
    if seconds >= SIGN:
        seconds = seconds - 2 * SIGN
    p.time[0] = seconds * NANOSECONDS + word(message, STAMP + 1)
    return Verdict.DONE


def write_command(p: CycleMemory, answer: Packed) -> None:
    """Write the command, and the stamp of the state that it answers if the answer has one; see
    :class:`AnswerLayout`.
    """
    for k in range(p.answer_count[0]):
        put_number(answer, p.answer_at[0] + 2 * k, p.command[p.answer_joints[k]])
    if p.answer_at[1] == 1:
        # positive: division rounds down then
        shifted = p.time[0] + 2 * SIGN * NANOSECONDS
        seconds = shifted // NANOSECONDS
        put_word(answer, STAMP + 1, shifted - seconds * NANOSECONDS)
        if seconds >= 2 * SIGN:
            seconds = seconds - 2 * SIGN
        put_word(answer, STAMP, seconds)


class StateLayout:
    """Where a message has what: of each byte of an ``example``, whether it is ``fixed``, the same
    in all messages that are read with this; and the ``places``, (2, n) or (3, n), the words at
    which positions, velocities and efforts begin, in model order.  ``table``: integers for
    :func:`read_state`: number of words to compare; whether there are efforts; bytes of the shortest
    message; (3, n) places; for each word to compare its place, the bits that count, and what they
    are.
    """

    __slots__ = ("_as_parameter_", "table")

    def __init__(self, example: bytes, fixed: bytes, places: Sequence[Sequence[int]]) -> None:
        rows = [[int(x) for x in row] for row in places]
        n = len(rows[0])
        words = len(fixed) // 4
        bits = np.frombuffer(bytes(255 * (x != 0) for x in fixed[: 4 * words]), np.uint32).astype(
            np.int64
        )
        values = np.frombuffer(bytes(example[: 4 * words]), np.uint32).astype(np.int64)
        compared = [k for k in range(words) if bits[k]]
        shortest = max(len(fixed), 4 * (2 + max(x for row in rows for x in row)))
        head = [len(compared), int(len(rows) == 3), shortest]
        all_places = [x for row in (*rows, [0] * n)[:3] for x in row]
        triples = [int(x) for k in compared for x in (k, bits[k], values[k] & bits[k])]
        self.table: np.ndarray = np.array([*head, *all_places, *triples], dtype=np.int64)
        # compiled code is handed the table's address
        self._as_parameter_ = self.table.ctypes.data


# a message of so many bytes → a verdict
Read: TypeAlias = Callable[[bytes | memoryview, int, StateLayout], int]


def reading(
    memory: Memory[ArrivedState], routines: Routines | InterpretedRoutines | None = None
) -> Read:
    """:func:`read_state` into one memory, compiled if the routines for it are."""
    if isinstance(routines, Routines):
        return bound(memory, routines, read_state)
    return lambda message, size, layout: read_state(memory.python, message, size, layout.table.data)


@dataclass(frozen=True)
class AnswerLayout:
    """A serialized message that each command is written into: its bytes, which stay where they are,
    the ``first`` word of the commands, which joint's command each of them is, and whether words 1
    and 2 are the stamp of the state that it answers.
    """

    buffer: bytearray
    first: int
    joints: Sequence[int]
    stamped: bool
