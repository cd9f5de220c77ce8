"""Relations between positions and velocities: numbers of coordinates, rates of quaternions, motion
along a tangent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.dynamics.configuration import integrate
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import non_negative
from robot_dynamics_ros.spatial import free_joint_rate

Values = float | Array | Mapping[str, float]
"""One number, (nv,) numbers, or joint name → number."""


class Coordinates:
    """The coordinates of one model.

    Attributes:
        q_of_v: (nv,) number in ``q`` of the coordinate whose rate is that entry of ``v``; −1 within
            floating joints.
        floating: (first number in ``q``, first number in ``v``) of every floating joint.
        names: (nv,) a name for every entry of ``v``, for messages: the joint's, with the axis where
            it has several.
    """

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.q_of_v = np.full(model.nv, -1, dtype=np.intp)
        self.floating: list[tuple[int, int]] = []
        self.names = [""] * model.nv
        for name in model.joint_names:
            kind = model.joint(name).type
            q = model.q_slice(name)
            v = model.v_slice(name)
            if kind is JointType.FLOATING:
                self.floating.append((q.start, v.start))
            else:
                self.q_of_v[v] = np.arange(q.start, q.stop)
            self.names[v] = [name] if kind.nv == 1 else [f"{name}[{k}]" for k in range(kind.nv)]
        self.vector = not self.floating
        self.has_position = self.q_of_v >= 0

    def rates(self, q: Array, v: Array, out: Array) -> None:
        """Write q̇ = N(q) v to ``out``: plain velocities, R v for positions, ½ q ⊗ ω for
        quaternions.
        """
        if self.vector:
            out[:] = v
            return
        out[self.q_of_v[self.has_position]] = v[self.has_position]
        for iq, iv in self.floating:
            out[iq : iq + 7] = np.array(
                free_joint_rate(q[iq : iq + 7].tolist(), v[iv : iv + 6].tolist())
            )

    def normalize(self, q: Array) -> None:
        """Give the quaternions in ``q`` unit length, in place; ``q`` may be a whole state."""
        for iq, _ in self.floating:
            x, y, z, w = q[iq + 3 : iq + 7]
            q[iq + 3 : iq + 7] /= math.sqrt(x * x + y * y + z * z + w * w)

    def integrate(self, q: Array, dq: Array, out: Array) -> None:
        """Write q ⊕ dq to ``out``: a sum, and the rigid motion's exponential for floating
        joints.
        """
        integrate(self.model, q, dq, out)

    def positions(self, q: Array) -> Array:
        """(nv,) positions in the order of ``v``; zero within floating joints."""
        if self.vector:
            return q
        return np.where(self.has_position, q[self.q_of_v], 0.0)


def per_joint(
    value: Values,
    model: RobotModel,
    where: str,
    *,
    signed: bool = False,
    default: float | Array = 0.0,
) -> Array:
    """(nv,) numbers from one, from as many, or from a mapping of joint names (the rest get
    ``default``); not negative unless ``signed``.
    """
    out: Array = np.array(np.broadcast_to(default, (model.nv,)))

    def fill(block: slice, entry: float | Array, place: str) -> None:
        remedy = "Give a number, one for each coordinate, or a mapping of joint names."
        size = block.stop - block.start
        out[block] = non_negative(
            entry, place, size=size, infinite=True, signed=signed, remedy=remedy
        )

    if not isinstance(value, Mapping):
        fill(slice(0, model.nv), value, where)
        return out
    for name, entry in value.items():
        check_name("joint", name, model.joint_names, where=where)
        fill(model.v_slice(name), entry, f"{where} of joint {name!r}")
    return out


def position_bounds(model: RobotModel) -> tuple[Array, Array]:
    """(nv,), (nv,) position limits of the model in the order of ``v``; infinite for joints of more
    than one degree of freedom.
    """
    lower = np.full(model.nv, -math.inf)
    upper = np.full(model.nv, math.inf)
    for name in model.joint_names:
        if model.joint(name).type.nq == 1:
            lower[model.v_slice(name)] = model.lower[model.q_slice(name)]
            upper[model.v_slice(name)] = model.upper[model.q_slice(name)]
    return lower, upper
