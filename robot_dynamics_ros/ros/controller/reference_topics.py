"""Reference and error of the controller, for plots: ``~/reference``, ``~/error``, ``~/controller_state``."""

from __future__ import annotations

import array

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.joint_state_reader import JointStateReader
from robot_dynamics_ros.ros.transport.outputs import Output
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE

try:
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None


def _array(values: Array) -> array.array[float]:
    return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


class ReferenceTopics(Output):
    """Publishes reference, error and commanded effort at a rate of its own, while somebody listens.

    Args:
        node: the node.
        controller: where the numbers are.
        reader: where the measured state is.
        rate: Hz.
    """

    def __init__(self, node: Node, controller: JointController, reader: JointStateReader, rate: float) -> None:
        super().__init__([])
        self._node = node
        self._reader = reader
        self._controller = controller
        self._period = round(1e9 / rate)
        self._due = 0
        self._names = list(controller.model.joint_names)
        self._reference = node.create_publisher(JointState, "~/reference", STATE, event_callbacks=QUIET_PUBLISHER)
        self._error = node.create_publisher(JointState, "~/error", STATE, event_callbacks=QUIET_PUBLISHER)
        self._state = (
            node.create_publisher(
                JointTrajectoryControllerState, "~/controller_state", STATE, event_callbacks=QUIET_PUBLISHER
            )
            if JointTrajectoryControllerState is not None
            else None
        )

    def look_for_listeners(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self.wanted = any(p.get_subscription_count() for p in self._raw_publishers())

    def publish(self, stamp: int) -> None:
        """Publish what belongs to the joint state of time ``stamp``, ns, if it is time to."""
        if abs(stamp - self._due + self._period) < self._period:
            return
        self._due = stamp + self._period
        controller = self._controller
        reference, error = controller.reference, controller.error
        message = JointState(name=self._names)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        if self._reference.get_subscription_count():
            message.position, message.velocity = _array(reference[0]), _array(reference[1])
            message.effort = _array(controller.effort)
            self._reference.publish(message)
        if self._error.get_subscription_count():
            message.position, message.velocity = _array(error[0]), _array(error[1])
            message.effort = array.array("d")
            self._error.publish(message)
        if self._state is not None and self._state.get_subscription_count():
            self._publish_state(message.header)

    def _publish_state(self, header: Header) -> None:
        assert self._state is not None
        controller, reader = self._controller, self._reader
        state = JointTrajectoryControllerState(header=header, joint_names=self._names)
        state.reference.positions, state.reference.velocities, state.reference.accelerations = (
            _array(row) for row in controller.reference
        )
        state.feedback.positions, state.feedback.velocities = _array(reader.position), _array(reader.velocity)
        if reader.effort_known:
            state.feedback.effort = _array(reader.effort)
        state.error.positions, state.error.velocities = (_array(row) for row in controller.error)
        state.output.effort = _array(controller.command)
        state.speed_scaling_factor = 1.0  # time is never scaled here
        self._state.publish(state)

    def _raw_publishers(self) -> list[Publisher]:
        return [p for p in (self._reference, self._error, self._state) if p is not None]

    def destroy(self) -> None:
        """Take the publishers down."""
        for publisher in self._raw_publishers():
            self._node.destroy_publisher(publisher)
        self.wanted = False
