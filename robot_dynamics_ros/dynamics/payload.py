"""A body held by the robot: mass properties added to one link."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics_ros.dynamics.engine.routines import Vector
from robot_dynamics_ros.model.description import Array, Inertia, frozen_array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect


@dataclass(frozen=True, slots=True, eq=False)
class Payload:
    """A rigid body attached to a link.

    Attributes:
        link: name of the link that carries it.
        mass: kg.
        com: (3,) its centre of mass in the link's frame, m.
        inertia: (3, 3) rotational inertia about its centre of mass, link-frame axes, kg m²; zero: a
            point mass.

    Raises:
        ArgumentError: a mass that is negative or not finite; an inertia that is physically
            impossible.
    """

    link: str
    mass: float
    com: Array = field(default_factory=lambda: frozen_array(np.zeros(3), (3,)))
    inertia: Array = field(default_factory=lambda: frozen_array(np.zeros((3, 3)), (3, 3)))

    def __post_init__(self) -> None:
        mass = self.mass
        expect(
            isinstance(self.link, str),
            "the name of a link first",
            self.link,
            "payload link",
            "For example Payload('tool0', 2.0, com=(0, 0, 0.1)), with mass in kg and com in m.",
        )
        expect(
            isinstance(mass, (int, float, np.number)),
            "a mass in kg",
            mass,
            "payload mass",
            "For example Payload('tool0', 2.0).",
        )
        expect(
            0.0 <= mass < math.inf,
            "a non-negative mass in kg",
            mass,
            "payload mass",
            "Set 0 for no payload.",
        )
        for name, shape in (("com", (3,)), ("inertia", (3, 3))):
            try:
                array = frozen_array(getattr(self, name), shape)
            except (TypeError, ValueError):
                array = frozen_array(np.full(shape, np.nan), shape)
            kind = f"finite numbers of shape {shape}"
            value = getattr(self, name)
            expect(
                bool(np.isfinite(array).all()), kind, value, f"payload {name}", "Correct the value."
            )
            object.__setattr__(self, name, array)
        tensor = self.inertia
        where = "payload inertia"
        symmetric = np.allclose(
            tensor, tensor.T, rtol=0.0, atol=1e-9 * (1.0 + np.abs(tensor).max())
        )
        expect(
            symmetric,
            "a symmetric tensor",
            tensor.tolist(),
            where,
            "Give ixx, ixy, ixz, iyy, iyz, izz of one body.",
        )
        moments = np.linalg.eigvalsh(tensor)
        remedy = "They must be non-negative, none larger than the sum of the other two."
        possible = possible_inertia(tensor[np.triu_indices(3)])
        expect(bool(possible), "principal moments of a rigid body", moments.tolist(), where, remedy)


def possible_inertia(m: Vector) -> bool:
    """Whether a rigid body can have the inertia m = xx, xy, xz, yy, yz, zz: no principal moment is
    negative or above the sum of the others.  With s half the trace, s 1 − I is the second moment of
    mass, which must be positive semi-definite.
    """
    s = 0.5 * (m[0] + m[3] + m[5])
    slack = 1e-9 * (1e-12 + s)
    wide = s + slack
    a = s - m[0]
    b = -m[1]
    c = -m[2]
    d = s - m[3]
    e = -m[4]
    f = s - m[5]
    if min(a, d, f) < -slack or min(a * d - b * b, a * f - c * c, d * f - e * e) < -slack * wide:
        return False
    return a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d) >= -slack * wide * wide


def carrying(model: RobotModel, payload: Payload) -> RobotModel:
    """``model`` with ``payload`` attached to its link.

    Args:
        payload: the load and its link.

    Raises:
        UnknownNameError: the model has no such link.
    """
    target = model.link(payload.link)
    body = Inertia(payload.mass, payload.com, payload.inertia)
    links = tuple(
        dataclasses.replace(link, inertia=link.inertia + body) if link is target else link
        for link in model.description.links
    )
    return model.replace(description=dataclasses.replace(model.description, links=links))
