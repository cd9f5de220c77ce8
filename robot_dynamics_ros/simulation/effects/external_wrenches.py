"""Wrenches from outside on any link, by one function made beforehand.

A wrench on a link is moved to the body the link belongs to, and all bodies' wrenches go into one pass of inverse
dynamics.  A push on a link that nobody has pushed before therefore costs no more than one on any other: nothing is
traced or compiled for it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.dynamics import kernel
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["OutsideWrenches"]


class OutsideWrenches:
    """The robot's inverse dynamics under wrenches on its links."""

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        links = tuple(model.link_index(model.joint(name).child) for name in model.moving_joint_names)
        self._row = {int(model.link_body[link]): row for row, link in enumerate(links)}
        self._run = kernel(model, "inverse_dynamics_wrenches", external=links)
        self._forces, self._none = np.zeros((len(links), 6)), np.zeros((len(links), 6))
        self._rest = np.zeros(model.nv)
        self._pushed, self._free = np.empty(model.nv), np.empty(model.nv)
        self._wrenches = np.empty((len(model.joint_names), 6))

    def _gather(self, wrenches: Mapping[str, Array]) -> Array:
        """(moving joints, 6) wrenches about the bodies' origins, in the bodies' axes."""
        if not wrenches:
            return self._none
        model, forces = self.model, self._forces
        forces.fill(0.0)
        for name, wrench in wrenches.items():
            link = model.link_index(name)
            row = self._row.get(int(model.link_body[link]))
            if row is None:  # the fixed base bears it
                continue
            R, p = model.link_rotation[link], model.link_position[link]
            force = R @ wrench[3:]
            forces[row, :3] += R @ wrench[:3] + np.cross(p, force)
            forces[row, 3:] += force
        return forces

    def inverse_dynamics(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Array]) -> tuple[Array, Array]:
        """(nv,) M a + b − Σ Jᵀ w and (joints, 6) joint wrenches [moment; force].

        Args:
            wrenches: link name → (6,) [moment; force] about the link's origin, in its axes.
        """
        tau, out = np.empty(self.model.nv), np.empty((len(self.model.joint_names), 6))
        self._run(q, v, a, self._gather(wrenches), tau, out)
        return tau, out

    def effort(self, q: Array, wrenches: Mapping[str, Array]) -> Array:
        """(nv,) Σ Jᵀ w; arguments as above."""
        self._run(q, self._rest, self._rest, self._none, self._free, self._wrenches)
        self._run(q, self._rest, self._rest, self._gather(wrenches), self._pushed, self._wrenches)
        out: Array = self._free - self._pushed
        return out
