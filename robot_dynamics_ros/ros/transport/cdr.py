"""Joint states in and fixed-layout messages out, without building a message object each time.

A node that runs at a kilohertz spends more time in turning messages into Python objects and back
than in dynamics. The middleware hands out and takes serialized messages too; in those (Common Data
Representation, OMG DDSI-RTPS 10.2, plain encapsulation, alignment counted from the end of the
four-byte header) numbers stand at places that depend on nothing but the names, so the names are
worked out once and the numbers are copied.  Whatever does not look as expected goes the slow way,
through a message object.
"""

from __future__ import annotations

import array
import math
import struct
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.cycle.memory import ArrivedState, CycleMemory
from robot_dynamics_ros.control.cycle.message import Read, StateLayout, reading
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array

# bytes before the first value of a message: its encapsulation
HEADER = 4
_NATIVE = b"\x00\x01" if sys.byteorder == "little" else b"\x00\x00"
_uint32 = struct.Struct("=I")
_stamp = struct.Struct("=II")
_T = TypeVar("_T")


def plain(raw: bytes | memoryview, message_type: type) -> bytes | memoryview:
    """The same message in plain encapsulation and this machine's byte order; a ValueError if the
    bytes are no such message.
    """
    if raw[:2] == _NATIVE:
        return raw
    try:
        return serialize_message(deserialize_message(bytes(raw), message_type))
    except Exception as error:
        # the binding raises whatever the middleware does
        raise ValueError(f"not a {message_type.__name__}: {error}") from error


class CdrReader:
    """Reads values one after the other, from ``offset`` on, from a message in plain encapsulation
    and this machine's byte order.

    Every method raises ``struct.error`` or ``ValueError`` where the message ends too early.
    """

    def __init__(self, raw: bytes | memoryview, offset: int = HEADER) -> None:
        self._raw = raw
        self.offset = offset

    def aligned(self, size: int) -> int:
        """Go on to the next multiple of ``size`` and return it."""
        self.offset += (HEADER - self.offset) % size
        return self.offset

    def uint32(self) -> int:
        start = self.aligned(4)
        self.offset += 4
        return int(_uint32.unpack_from(self._raw, start)[0])

    def int32(self) -> int:
        value = self.uint32()
        return value - (1 << 32) if value >> 31 else value

    def count(self, smallest: int) -> int:
        """Length of a sequence whose items take at least so many bytes; what cannot fit is an error
        at once.
        """
        n = self.uint32()
        if n * smallest > len(self._raw) - self.offset:
            raise ValueError(f"a sequence of {n} does not fit")
        return n

    def string(self) -> str:
        n = self.count(1)
        text = self._raw[self.offset : self.offset + max(n - 1, 0)]
        self.offset += n
        return bytes(text).decode()

    def doubles(self) -> Array:
        """A sequence of doubles, as a read-only view."""
        n = self.count(8)
        start = self.aligned(8) if n else self.offset
        self.offset = start + 8 * n
        return np.frombuffer(self._raw, np.float64, n, start)


class StateRejected(ArgumentError):
    """A joint state that the control law must not see; ``cause`` is a short name to count by."""

    def __init__(self, cause: str, problem: str) -> None:
        super().__init__(problem, where="joint_states")
        self.cause = cause


class JointStateLayout:
    """Where the numbers stand in the joint states of one publisher, by one serialized
    ``sensor_msgs/JointState`` (see :func:`plain`).

    Attributes:
        names: joint names in the order of the message.
        example, fixed: a message; and for each of its bytes whether all messages of this layout
            have the same there: not in stamp and numbers, nor in the padding between strings, which
            may hold anything.

    Raises:
        ValueError: the bytes are no such message.
    """

    def __init__(self, raw: bytes | memoryview) -> None:
        reader = CdrReader(raw, HEADER + 8)
        same = np.zeros(len(raw), np.uint8)
        # byte order; then options and the stamp
        same[:2] = 1

        def fixed(read: Callable[[], _T]) -> _T:
            start = reader.aligned(4)
            value = read()
            same[start : reader.offset] = 1
            return value

        try:
            fixed(reader.string)
            self.names = tuple(fixed(reader.string) for _ in range(fixed(reader.uint32)))
            # position, velocity, effort: how many values, and the word of the first
            self._fields: list[tuple[int, int]] = []
            for _ in range(3):
                start = reader.aligned(4)
                same[start : start + 4] = 1
                count = len(reader.doubles())
                self._fields.append((count, reader.offset // 4 - 2 * count))
        except (struct.error, ValueError) as error:
            raise ValueError(f"not a sensor_msgs/JointState: {error}") from error
        self.example, self.fixed = bytes(raw[: reader.offset]), same[: reader.offset].tobytes()
        self._same = np.flatnonzero(same[: reader.offset])

    def fits(self, raw: bytes | memoryview) -> bool:
        """Whether a message has this very layout."""
        if len(raw) < len(self.fixed):
            return False
        own, other = (np.frombuffer(x, np.uint8, len(self.fixed)) for x in (self.example, raw))
        return bool((own[self._same] == other[self._same]).all())

    def table(self, joints: Sequence[str]) -> StateLayout:
        """Where the messages have these joints, in this order; a :class:`StateRejected` if they
        lack what the law needs.
        """
        names = self.names
        row = {name: i for i, name in enumerate(names)}
        missing = [name for name in joints if name not in row]
        if len(missing) == len(joints):
            raise StateRejected("unrelated", "the message has none of the robot's joints")
        if missing:
            raise StateRejected(
                "missing_joint", f"joint {missing[0]!r} is missing; the message has {list(names)}"
            )
        for name in joints:
            if names.count(name) > 1:
                raise StateRejected(
                    "duplicate_joint", f"joint {name!r} is named {names.count(name)} times"
                )
        for field, (count, _) in zip(("position", "velocity", "effort"), self._fields, strict=True):
            if count not in (0, len(names)):
                raise StateRejected(
                    "wrong_length", f"{field} has {count} values for {len(names)} names"
                )
        position, velocity, _ = (count for count, _ in self._fields)
        if not position:
            raise StateRejected("wrong_length", f"position has no values for {len(names)} names")
        if not velocity:
            raise StateRejected("missing_velocity", "velocity has no values; the law needs them")
        places = [
            [word + 2 * row[name] for name in joints] for count, word in self._fields if count
        ]
        return StateLayout(self.example, self.fixed, places)


class JointStateReader:
    """Reads serialized joint states into a cycle's memory.

    Args:
        joints: the joints to read, in the order of the memory.  Others in a message are ignored.
        memory, read: of a controller; without them it reads into memory of its own.

    Attributes:
        position, velocity, effort: (n,) of the newest good message, rad or m, rad/s or m/s, N m or
            N; overwritten by the next.
    """

    # publishers whose layouts are remembered
    _KEEP = 8

    def __init__(
        self,
        joints: Sequence[str],
        memory: Memory[CycleMemory] | None = None,
        read: Read | None = None,
    ) -> None:
        self.joints = tuple(joints)
        arrived: Memory[ArrivedState] | Memory[CycleMemory]
        arrived = memory or Memory(ArrivedState, {"nv": len(joints)}, compiled=False)
        self._memory, self._read = arrived, read or reading(arrived)
        self.position: Array
        self.velocity: Array
        self.effort: Array
        self.position, self.velocity, self.effort = arrived["arrived"]
        self._time = arrived.python.time
        self._measured = arrived.python.measured
        self._tables: list[StateLayout] = []
        self._refused: list[tuple[JointStateLayout, StateRejected]] = []

    @property
    def stamp(self) -> int:
        """Time stamp of the newest good message, ns."""
        return self._time[0]

    @stamp.setter
    def stamp(self, stamp: int) -> None:
        self._time[0] = stamp

    @property
    def effort_known(self) -> bool:
        """Whether the message brought finite efforts for all joints."""
        return self._measured[0] == 1

    def read(self, raw: bytes | memoryview) -> None:
        """Take over one serialized ``sensor_msgs/JointState``; after a :class:`StateRejected` the
        last good one stays.
        """
        verdict: int = Verdict.LAYOUT
        size = len(raw)
        for table in self._tables:
            verdict = self._read(raw, size, table)
            if verdict != Verdict.LAYOUT:
                break
        if verdict == Verdict.LAYOUT:
            raw, table = self._find_table(raw)
            verdict = self._read(raw, len(raw), table)
        if verdict == Verdict.ABSURD:
            p = self._memory.python
            value = p.bad_value[0]
            field = ("position", "velocity")[p.bad_field[0]]
            if math.isfinite(value):
                cause = "absurd"
            else:
                cause = "not_finite"
            raise StateRejected(
                cause, f"{field} of joint {self.joints[p.bad_joint[0]]!r} is {value:g}"
            )

    def _find_table(self, raw: bytes | memoryview) -> tuple[bytes | memoryview, StateLayout]:
        """A message of another layout, in this machine's byte order, and the table to read it
        with.
        """
        try:
            raw = plain(raw, JointState)
            for layout, refusal in self._refused:
                if layout.fits(raw):
                    raise StateRejected(refusal.cause, refusal.problem)
            layout = JointStateLayout(raw)
        except StateRejected:
            raise
        except ValueError as error:
            raise StateRejected("malformed", str(error)) from None
        try:
            table = layout.table(self.joints)
        except StateRejected as error:
            self._refused = [(layout, error), *self._refused[: self._KEEP - 1]]
            raise
        self._tables = [*self._tables[: self._KEEP - 1], table]
        return raw, table


def marks(n: int, first: int = 1) -> array.array[float]:
    """``n`` numbers that occur nowhere else, to be put where the changing numbers of a
    :class:`Template` are.
    """
    return array.array("d", [(first + i) * 1.0123456789e-200 for i in range(n)])


class Template:
    """A serialized message in which only the stamp and some blocks of doubles change.

    Args:
        message: the message, :func:`marks` where the numbers change.
        blocks: these marks, one array a block of consecutive numbers.

    Attributes:
        buffer: the message itself; it stays where it is.
        blocks: writable views of the blocks in it.
        words: at which four bytes of it each block begins.
    """

    def __init__(self, message: object, *blocks: array.array[float]) -> None:
        self.buffer = bytearray(serialize_message(message))
        if bytes(self.buffer[:2]) != _NATIVE:
            raise RuntimeError("the middleware serializes in a foreign byte order")
        # looked for, not computed: the buffer may be longer than what the message fills
        places = [self.buffer.index(block.tobytes()) for block in blocks]
        self.words = tuple(place // 4 for place in places)
        places_of = zip(blocks, places, strict=True)
        self.blocks = tuple(
            np.frombuffer(self.buffer, np.float64, len(block), at) for block, at in places_of
        )

    def stamp(self, nanoseconds: int) -> None:
        """Set the stamp of a message that starts with a header (or is a bare time)."""
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        # beyond 2038 it wraps, as it does in the cycle
        _stamp.pack_into(self.buffer, HEADER, seconds % (1 << 32), rest)

    def bytes(self) -> bytes:
        return bytes(self.buffer)
