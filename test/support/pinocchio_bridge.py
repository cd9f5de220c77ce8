"""Our coordinates and Pinocchio's, for the same robot.

Pinocchio orders joints by the alphabet, writes a continuous joint as (cos, sin), a planar one as
(x, y, cos, sin) with velocities in the moving frame, and a free joint's velocity as [linear;
angular].  With v_pin = T(q) v the quantities compare as τ = Tᵀ τ_pin, M = Tᵀ M_pin T, a_pin = T a +
Ṫ v.  Mimic joints are free in the Pinocchio model and bound by T.  Pinocchio takes every planar
joint's normal for z: see ``random_trees.with_normals_along_z``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel


class PinocchioBridge:
    """Pinocchio's model of a URDF beside ours.

    Attributes:
        pin: the module.
        model, data: Pinocchio's.
        ours: the model it is compared with; every moving joint of one must be in the other.
    """

    def __init__(self, ours: RobotModel, urdf: str, *, floating_base: bool = False) -> None:
        import pinocchio as pin

        planar = ours.joint_axis[ours.joint_type == JointType.PLANAR]
        assert (planar == [0.0, 0.0, 1.0]).all(), "Pinocchio knows planar joints about z only"
        self.pin: Any = pin
        self.ours = ours
        root = (pin.JointModelFreeFlyer(),) if floating_base else ()
        self.model = pin.buildModelFromXML(urdf, *root)
        self.model.gravity.linear = np.array(ours.gravity)
        self.data = self.model.createData()
        names = [name for name in self.model.names if name != "universe"]
        assert set(names) == set(ours.moving_joint_names), set(names) ^ set(ours.moving_joint_names)
        self.joints = [
            self.model.joints[self.model.getJointId(name)] for name in ours.moving_joint_names
        ]

    def q(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's configuration for ours."""
        out = self.pin.neutral(self.model)
        for i, joint in enumerate(self.joints):
            kind = self.ours.joint_type[i]
            value = self._own(q, i)
            at = joint.idx_q
            if kind == JointType.FLOATING:
                out[at : at + 7] = value
            elif kind == JointType.PLANAR:
                out[at : at + 4] = value[0], value[1], np.cos(value[2]), np.sin(value[2])
            elif joint.nq == 2:
                out[at : at + 2] = np.cos(value[0]), np.sin(value[0])
            else:
                out[at] = value[0]
        return out

    def T(self, q: np.ndarray) -> np.ndarray:
        """(nv_pin, nv) with v_pin = T v."""
        out = np.zeros((self.model.nv, self.ours.nv))
        for i, joint in enumerate(self.joints):
            kind = self.ours.joint_type[i]
            row = joint.idx_v
            column = int(self.ours.v_index[i])
            if kind == JointType.FLOATING:
                out[row : row + 3, column + 3 : column + 6] = np.eye(3)
                out[row + 3 : row + 6, column : column + 3] = np.eye(3)
            elif kind == JointType.PLANAR:
                c = np.cos(self._own(q, i)[2])
                s = np.sin(self._own(q, i)[2])
                out[row : row + 3, column : column + 3] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
            else:
                out[row, column] = (
                    self.ours.mimic_multiplier[i] if self.ours.mimic_master[i] >= 0 else 1.0
                )
        return out

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(nv_pin,) Ṫ v, which only planar joints have."""
        out = np.zeros(self.model.nv)
        for i, joint in enumerate(self.joints):
            if self.ours.joint_type[i] == JointType.PLANAR:
                c = np.cos(self._own(q, i)[2])
                s = np.sin(self._own(q, i)[2])
                x, y, w = v[self.ours.v_index[i] : self.ours.v_index[i] + 3]
                out[joint.idx_v : joint.idx_v + 2] = w * (-s * x + c * y), w * (-c * x - s * y)
        return out

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(nv,) efforts, in our coordinates; armature not included."""
        T = self.T(q)
        return T.T @ self.pin.rnea(
            self.model, self.data, self.q(q), T @ v, T @ a + self.drift(q, v)
        )

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """(nv, nv), in our coordinates; armature not included."""
        upper = np.triu(self.pin.crba(self.model, self.data, self.q(q)))
        full = upper + np.triu(upper, 1).T
        T = self.T(q)
        return T.T @ full @ T

    def _own(self, q: np.ndarray, i: int) -> np.ndarray:
        at = int(self.ours.q_index[i])
        value = q[at : at + JointType(self.ours.joint_type[i]).nq]
        if self.ours.mimic_master[i] >= 0:
            value = self.ours.mimic_multiplier[i] * value + self.ours.mimic_offset[i]
        return value
