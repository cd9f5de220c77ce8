"""Joint states in the order of the model, whatever order they arrive in."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.packed_cycle import FARTHEST, FASTEST, STRONGEST, PackedCycle, PackedState
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.cdr import JointStateLayout, plain

__all__ = ["JointStateReader", "StateRejected"]


_largest = np.maximum.reduce  # half the price of the method


class StateRejected(ArgumentError):
    """A joint state that the control law must not see.

    Attributes:
        cause: short name to count by: ``malformed``, ``unrelated``, ``missing_joint``, ``duplicate_joint``,
            ``wrong_length``, ``missing_velocity``, ``not_finite`` or ``absurd``.
    """

    def __init__(self, cause: str, problem: str) -> None:
        super().__init__(problem, where="joint_states")
        self.cause = cause


class _Plan:
    """How one publisher's layout is gathered into the model's order."""

    def __init__(self, layout: JointStateLayout, joints: Sequence[str]) -> None:
        self.layout = layout
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
        rows = np.array([row[name] for name in joints], dtype=np.intp)
        self.has_effort = layout.effort > 0
        fields = (0, 1, 2) if self.has_effort else (0, 1)
        self.index = np.concatenate([layout.places(f) + rows for f in fields])
        self.packed = PackedState(layout.example, layout.fixed, [layout.word(f) + 2 * rows for f in fields])


class JointStateReader:
    """Reads serialized joint states into arrays that are made once.

    Args:
        joints: the joints wanted, in the order wanted.  Others in a message are ignored.

    Attributes:
        stamp: time stamp of the newest good message, ns.
        position, velocity, effort: (n,) of the newest good message, rad or m, rad/s or m/s, N m or N; overwritten by
            the next.
        effort_known: whether the message brought finite efforts for all joints.
    """

    _KEEP = 8  # publishers whose layouts are remembered

    def __init__(self, joints: Sequence[str]) -> None:
        n = len(joints)
        self.joints = tuple(joints)
        self.stamp = 0
        self.effort_known = False
        self._good = np.zeros(3 * n)
        self._next = np.zeros(3 * n)
        self.position: Array = self._good[:n]
        self.velocity: Array = self._good[n : 2 * n]
        self.effort: Array = self._good[2 * n :]
        self._next_motion = self._next[: 2 * n]
        self._next_effort = self._next[2 * n :]
        self._motion_sizes = np.zeros(2 * n)
        self._sizes = self._motion_sizes[:n]
        self._plans: list[_Plan] = []
        self._refused: list[tuple[JointStateLayout, StateRejected]] = []

    def read(self, raw: bytes) -> None:
        """Take over one serialized ``sensor_msgs/JointState``; on error the last good one stays.

        Raises:
            StateRejected: with the cause.
        """
        try:
            raw = plain(raw, JointState)
        except ValueError as error:
            raise StateRejected("malformed", str(error)) from None
        plan = self._plan(raw)
        values = plan.layout.values(raw)
        if plan.has_effort:
            values.take(plan.index, out=self._next, mode="clip")
            self.effort_known = bool(_largest(np.abs(self._next_effort, out=self._sizes)) <= STRONGEST)  # NaN is not
        else:
            values.take(plan.index, out=self._next_motion, mode="clip")
            self._next_effort.fill(math.nan)
            self.effort_known = False
        if not _largest(np.abs(self._next_motion, out=self._motion_sizes)) <= FASTEST:
            self._check_motion(self._next_motion)
        self.stamp = plan.layout.stamp(raw)
        self._good[:] = self._next

    @property
    def packed(self) -> PackedState | None:
        """Where the messages of the publisher that was read last have what, for a cycle that reads them itself."""
        return self._plans[0].packed if self._plans else None

    def take_over(self, state: PackedCycle) -> None:
        """Take over a state that was read elsewhere."""
        self._good[:] = state.arrived.ravel()
        self.stamp, self.effort_known = state.last, state.measured

    def _check_motion(self, motion: Array) -> None:
        n = len(self.joints)
        with np.errstate(invalid="ignore"):
            bad = np.flatnonzero(~(np.abs(motion) <= np.repeat((FARTHEST, FASTEST), n)))
        if len(bad):
            i = int(bad[0])
            field = "position" if i < n else "velocity"
            cause = "absurd" if math.isfinite(motion[i]) else "not_finite"
            raise StateRejected(cause, f"{field} of joint {self.joints[i % n]!r} is {motion[i]:g}")

    def _plan(self, raw: bytes) -> _Plan:
        plans = self._plans
        if plans and plans[0].layout.fits(raw):
            return plans[0]
        for plan in plans[1:]:
            if plan.layout.fits(raw):
                return plan
        for layout, error in self._refused:
            if layout.fits(raw):
                raise StateRejected(error.cause, error.problem)
        try:
            layout = JointStateLayout(raw)
        except ValueError as error:
            raise StateRejected("malformed", str(error)) from None
        try:
            plan = _Plan(layout, self.joints)
        except StateRejected as error:
            self._refused = [(layout, error), *self._refused[: self._KEEP - 1]]
            raise
        self._plans = [*plans[: self._KEEP - 1], plan]
        return plan
