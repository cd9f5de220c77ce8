"""Reference and error of the controller, for plots: ``~/reference``, ``~/error``, ``~/controller_state``."""

from __future__ import annotations

import array

import numpy as np
from rclpy.node import Node

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.joint_state_reader import JointStateReader
from robot_dynamics_ros.ros.transport.outputs import JointTopic, Output, Topic

try:
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None


def _array(values: Array) -> array.array[float]:
    return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


class ReferenceTopics(Output):
    """Publishes reference, error and commanded effort at a rate of its own, while somebody listens.

    Args:
        controller: where the numbers are.
        reader: where the measured state is.
        rate: Hz.
    """

    def __init__(self, node: Node, controller: JointController, reader: JointStateReader, rate: float) -> None:
        self._reader, self._controller = reader, controller
        self._period = round(1e9 / rate)
        self._due = 0
        names = controller.model.joint_names
        self._reference = JointTopic(node, "~/reference", names, "position", "velocity", "effort")
        self._error = JointTopic(node, "~/error", names, "position", "velocity")
        state = JointTrajectoryControllerState
        self._states = [Topic(node, "~/controller_state", state)] if state is not None else []
        super().__init__([self._reference, self._error, *self._states])

    def publish(self, stamp: int) -> None:
        """Publish what belongs to the joint state of time ``stamp``, ns, if it is time to."""
        if abs(stamp - self._due + self._period) < self._period:
            return
        self._due = stamp + self._period
        controller = self._controller
        if self._reference.has_listeners:
            rows = (*controller.reference[:2], controller.effort)
            for block, row in zip(self._reference.blocks, rows, strict=True):
                block[:] = row
            self._reference.send(stamp)
        if self._error.has_listeners:
            for block, row in zip(self._error.blocks, controller.error, strict=True):
                block[:] = row
            self._error.send(stamp)
        for topic in self._states:
            if topic.has_listeners:
                self._publish_state(topic, stamp)

    def _publish_state(self, topic: Topic, stamp: int) -> None:
        controller, reader = self._controller, self._reader
        state = JointTrajectoryControllerState(joint_names=list(controller.model.joint_names))
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        state.reference.positions, state.reference.velocities, state.reference.accelerations = (
            _array(row) for row in controller.reference
        )
        state.feedback.positions, state.feedback.velocities = _array(reader.position), _array(reader.velocity)
        if reader.effort_known:
            state.feedback.effort = _array(reader.effort)
        state.error.positions, state.error.velocities = (_array(row) for row in controller.error)
        state.output.effort = _array(controller.command)
        state.speed_scaling_factor = 1.0  # time is never scaled here
        topic.publish_message(state)
