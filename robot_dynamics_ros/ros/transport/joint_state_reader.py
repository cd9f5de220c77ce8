"""Joint states in the order of the model, whatever order they arrive in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.cycle.memory import ArrivedState, CycleMemory
from robot_dynamics_ros.control.cycle.message import Read, StateLayout, reading
from robot_dynamics_ros.control.cycle.verdicts import ABSURD, LAYOUT
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.cdr import JointStateLayout, plain


class StateRejected(ArgumentError):
    """A joint state that the control law must not see; ``cause`` is a short name to count by."""

    def __init__(self, cause: str, problem: str) -> None:
        super().__init__(problem, where="joint_states")
        self.cause = cause


def _table(layout: JointStateLayout, joints: Sequence[str]) -> StateLayout:
    """Where the messages of one publisher have the model's joints, in the model's order."""
    names = layout.names
    row = {name: i for i, name in enumerate(names)}
    missing = [name for name in joints if name not in row]
    if len(missing) == len(joints):
        raise StateRejected("unrelated", "the message has none of the robot's joints")
    if missing:
        raise StateRejected("missing_joint", f"joint {missing[0]!r} is missing; the message has {list(names)}")
    for name in joints:
        if names.count(name) > 1:
            raise StateRejected("duplicate_joint", f"joint {name!r} is named {names.count(name)} times")
    for field, count in (("position", layout.position), ("velocity", layout.velocity), ("effort", layout.effort)):
        if count not in (0, len(names)):
            raise StateRejected("wrong_length", f"{field} has {count} values for {len(names)} names")
    if not layout.position:
        raise StateRejected("wrong_length", f"position has no values for {len(names)} names")
    if not layout.velocity:
        raise StateRejected("missing_velocity", "velocity has no values; the law needs them")
    fields = (0, 1, 2) if layout.effort > 0 else (0, 1)
    places = [[layout.word(field) + 2 * row[name] for name in joints] for field in fields]
    return StateLayout(layout.example, layout.fixed, places)


class JointStateReader:
    """Reads serialized joint states into a cycle's memory.

    Args:
        joints: the joints to read, in the order of the memory.  Others in a message are ignored.
        memory, read: of a controller; without them it reads into memory of its own.

    Attributes:
        position, velocity, effort: (n,) of the newest good message, rad or m, rad/s or m/s, N m or N; overwritten by
            the next.
    """

    _KEEP = 8  # publishers whose layouts are remembered

    def __init__(
        self, joints: Sequence[str], memory: Memory[CycleMemory] | None = None, read: Read | None = None
    ) -> None:
        self.joints = tuple(joints)
        arrived: Memory[ArrivedState] | Memory[CycleMemory]
        arrived = memory or Memory(ArrivedState, {"nv": len(joints)}, compiled=False)
        self._memory, self._read = arrived, read or reading(arrived)
        self.position: Array
        self.velocity: Array
        self.effort: Array
        self.position, self.velocity, self.effort = arrived["arrived"]
        self._time, self._measured = arrived.python.time, arrived.python.measured
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
        """Take over one serialized ``sensor_msgs/JointState``; after a :class:`StateRejected` the last good one stays."""
        verdict, size = LAYOUT, len(raw)
        for table in self._tables:
            verdict = self._read(raw, size, table)
            if verdict != LAYOUT:
                break
        if verdict == LAYOUT:
            raw, table = self._find_table(raw)
            verdict = self._read(raw, len(raw), table)
        if verdict == ABSURD:
            p = self._memory.python
            value, field = p.bad_value[0], ("position", "velocity")[p.bad_field[0]]
            cause = "absurd" if math.isfinite(value) else "not_finite"
            raise StateRejected(cause, f"{field} of joint {self.joints[p.bad_joint[0]]!r} is {value:g}")

    def _find_table(self, raw: bytes | memoryview) -> tuple[bytes | memoryview, StateLayout]:
        """A message of another layout, in this machine's byte order, and the table to read it with."""
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
            table = _table(layout, self.joints)
        except StateRejected as error:
            self._refused = [(layout, error), *self._refused[: self._KEEP - 1]]
            raise
        self._tables = [*self._tables[: self._KEEP - 1], table]
        return raw, table
