"""Joint states as joint_state_broadcaster sends them: every field at full length."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.outputs import JointTopic


class JointStatePublisher(JointTopic):
    """Publishes position, velocity and effort of joints with one degree of freedom.

    Args:
        node: the node.
        model: the robot.
        joints: the joints, in the order of the message; empty: all, in the order of the URDF.

    Attributes:
        joints: the joints published.
        q_index, v_index: where they are in configurations and in velocities and efforts.
    """

    def __init__(self, node: Node, model: RobotModel, joints: Sequence[str] = ()) -> None:
        simple = tuple(name for name in model.joint_names if model.joint(name).type.nq == 1)
        for name in joints:
            if name not in simple:
                raise UnknownNameError("joint", name, simple, where="parameter 'joints'")
        self.joints = tuple(joints) or simple
        self.q_index = [model.q_slice(name).start for name in self.joints]
        self.v_index = [model.v_slice(name).start for name in self.joints]
        super().__init__(node, "joint_states", self.joints, "position", "velocity", "effort")
        self._position, self._velocity, self._effort = self.blocks

    def publish(self, stamp: int, q: Array, v: Array, effort: Array) -> None:
        """Send (nq,) positions, (nv,) velocities and (nv,) efforts in model order, of the time ``stamp``, ns."""
        q.take(self.q_index, out=self._position, mode="clip")
        v.take(self.v_index, out=self._velocity, mode="clip")
        effort.take(self.v_index, out=self._effort, mode="clip")
        self.send(stamp)
