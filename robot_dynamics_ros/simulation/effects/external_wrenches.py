"""Inverse dynamics of the plant under wrenches from outside; see :mod:`robot_dynamics_ros.dynamics.external_wrenches`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.dynamics import WrenchGatherer, kernel
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["OutsideWrenches"]


class OutsideWrenches:
    """The robot's inverse dynamics under wrenches on its links."""

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self._gatherer, self._forces = WrenchGatherer(model), np.zeros((model.nb, 6))
        self._run = kernel(model, "inverse_dynamics_wrenches", external=True)
        self._efforts = kernel(model, "external_efforts", external=True)

    def inverse_dynamics(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Array]) -> tuple[Array, Array]:
        """(nv,) M a + b − Σ Jᵀ w and (joints, 6) joint wrenches [moment; force].

        Args:
            wrenches: link name → (6,) [moment; force] about the link's origin, in its axes.
        """
        tau, out = np.empty(self.model.nv), np.empty((len(self.model.joint_names), 6))
        self._run(q, v, a, self._gatherer.gather(wrenches, self._forces), tau, out)
        return tau, out

    def effort(self, q: Array, wrenches: Mapping[str, Array]) -> Array:
        """(nv,) Σ Jᵀ w; arguments as above."""
        out = np.empty(self.model.nv)
        self._efforts(q, self._gatherer.gather(wrenches, self._forces), out)
        return out
