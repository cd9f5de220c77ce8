"""The newest joint state of a robot, also where velocities, efforts or joints are missing from the messages."""

from __future__ import annotations

import math

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from robot_dynamics_ros.control.cycle.message import FARTHEST, FASTEST, STRONGEST
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds

_LEAST = 0.02  # s between velocities whose difference is taken


class LiveState:
    """The newest position, velocity and effort of every joint.

    Unlike a control law a viewer can do with less: joints that a message does not name stay where they are, velocities
    that are missing are differences of positions, efforts may be unknown.

    Attributes:
        t: s, stamp of the newest message, or its arrival where it has none.
        q, v: (nq,), (nv,).
        efforts: (nv,), or ``None`` unless all are known.
    """

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.t = 0.0
        self.q: Array = model.initial_configuration()
        self.v: Array = np.zeros(model.nv)
        self.efforts: Array | None = None
        self._index = {
            name: (model.q_slice(name).start, model.v_slice(name).start)
            for name in model.joint_names
            if model.joint(name).type.nq == 1
        }
        self._before: tuple[float, Array, Array] | None = None

    def take(self, message: JointState, arrival: float) -> None:
        """Take a ``sensor_msgs/JointState``; after an ArgumentError about it the last state stays."""
        names = list(message.name)
        rows = [(row, *self._index[name]) for row, name in enumerate(names) if name in self._index]
        if not rows:
            text, remedy = "the message has none of the robot's joints", "Check the topic and the namespace."
            raise ArgumentError(text, where="joint_states", got=names[:20], remedy=remedy)
        for field in ("position", "velocity", "effort"):
            size = len(getattr(message, field))
            if size not in (0, len(names)) or (field == "position" and not size):
                text = f"{field} has {size} values for {len(names)} names"
                raise ArgumentError(text, where="joint_states", remedy="Give as many values as names, or none.")
        t = to_nanoseconds(message.header.stamp) * 1e-9 or arrival
        q, v = self.q.copy(), self.v.copy()
        efforts = np.full(self.model.nv, math.nan)
        guessed = []
        for row, i, j in rows:
            q[i] = message.position[row]
            if not abs(q[i]) <= FARTHEST:
                remedy = f"Positions have to be numbers up to {FARTHEST:g}; leave out joints that are not known."
                text = f"the position of joint {names[row]!r} is {q[i]}"
                raise ArgumentError(text, where="joint_states", remedy=remedy)
            v[j] = message.velocity[row] if len(message.velocity) else math.nan
            if not abs(v[j]) <= FASTEST:
                guessed.append((i, j))
            if len(message.effort):
                efforts[j] = message.effort[row]
        passed = t - self.t
        for i, j in guessed:
            v[j] = (q[i] - self.q[i]) / passed if self._before is not None and 1e-4 < passed < 1.0 else 0.0
        if self._before is None or passed < 0.0:
            self._before = (t, q, v)
        elif self.t - self._before[0] >= _LEAST:
            self._before = (self.t, self.q, self.v)
        self.t, self.q, self.v = t, q, v
        self.efforts = efforts if (np.abs(efforts) <= STRONGEST).all() else None

    def message(self, header: Header) -> JointState:
        """The newest state with the joints in the model's order; no efforts unless all are known."""
        names = tuple(self._index)
        rows = [self._index[name] for name in names]
        efforts = [] if self.efforts is None else [float(self.efforts[j]) for _, j in rows]
        q, v = [float(self.q[i]) for i, _ in rows], [float(self.v[j]) for _, j in rows]
        return JointState(header=header, name=names, position=q, velocity=v, effort=efforts)

    def acceleration(self) -> Array:
        """(nv,) difference of velocities over the last pictures: right with contacts and stops that no model knows of."""
        if self._before is None or not 1e-4 < self.t - self._before[0] < 0.5:
            return np.zeros(self.model.nv)
        return (self.v - self._before[2]) / (self.t - self._before[0])
