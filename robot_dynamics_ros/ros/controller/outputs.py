"""The topics about wrenches and external efforts: each publishes what the controller has computed."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.contact import ContactEstimate
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.flange import FlangeLoad
from robot_dynamics_ros.control.kernels import BalanceKernel, matching
from robot_dynamics_ros.dynamics import all_joint_names
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.cdr import Template, marks
from robot_dynamics_ros.ros.transport.parameters import ParameterSet
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE
from robot_dynamics_ros.ros.transport.wrench_publisher import WrenchPublisher
from robot_dynamics_ros.ros.transport.wrench_topics import WrenchTopics, distinct_tokens, topic_token

__all__ = ["ContactTopic", "ExternalEfforts", "FlangeTopic", "FurtherWrenches", "JointWrenches"]

_JOINT_WRENCHES = "~/joint_wrenches/"


def further_joints(model: RobotModel) -> tuple[list[str], list[str]]:
    """Joints without a coordinate of their own: mimic joints, fixed joints."""
    own = [name for name in all_joint_names(model) if name not in model.joint_names]
    mimic = [name for name in own if name in model.moving_joint_names]
    return mimic, [name for name in own if name not in mimic]


class JointWrenches:
    """``~/joint_wrenches/<joint>`` of the joints that are controlled.

    Args:
        node: the node.
        controller: where the wrenches are.
    """

    def __init__(self, node: Node, controller: JointController) -> None:
        self._controller = controller
        model = controller.model
        distinct_tokens((*model.joint_names, *further_joints(model)[0]), _JOINT_WRENCHES)
        self.topics = WrenchTopics(node, model, model.joint_names, _JOINT_WRENCHES)
        self.wanted = False

    def look_for_listeners(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self.topics.look_for_listeners()
        self.wanted = bool(self.topics.wanted)

    def publish(self, stamp: int) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self.topics.publish(self._controller.wrenches, stamp)

    def destroy(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self.topics.destroy()


class FurtherWrenches:
    """``~/joint_wrenches/<joint>`` of mimic and fixed joints, ``~/wrench_parts/<joint>/<part>``.

    Args:
        node: the node.
        controller: where state, acceleration and known external wrenches are.
        values: the node's parameters.

    Raises:
        UnknownNameError: a parameter names a joint or link that the robot does not have.
    """

    def __init__(self, node: Node, controller: JointController, values: ParameterSet) -> None:
        self._controller = controller
        model = controller.model
        mimic, fixed = further_joints(model)
        patterns = values["joint_wrenches.fixed_joints"]
        self._joints = (*mimic, *matching(patterns, fixed, "parameter 'joint_wrenches.fixed_joints'"))
        balanced = matching(values["wrench_parts.joints"], all_joint_names(model), "parameter 'wrench_parts.joints'")
        self._balances = [(name, values["wrench_parts.observer"] or model.joint(name).parent) for name in balanced]
        if self._joints:
            controller.kernels.joints(self._joints)
        for balance in self._balances:
            controller.kernels.balance(*balance)
        self.topics = WrenchTopics(node, model, self._joints, _JOINT_WRENCHES)
        self._parts = [
            [
                WrenchPublisher(node, f"~/wrench_parts/{topic_token(name)}/{part}", observer)
                for part in BalanceKernel.names
            ]
            for name, observer in self._balances
        ]
        self._heard = [False for _ in self._balances]
        self.wanted = False

    def look_for_listeners(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self.topics.look_for_listeners()
        for row in self._parts:
            for publisher in row:
                publisher.look_for_listeners()
        self._heard = [any(publisher.wanted for publisher in row) for row in self._parts]
        self.wanted = bool(self.topics.wanted) or any(self._heard)

    def publish(self, stamp: int) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        controller = self._controller
        kernels = controller.kernels
        given = (*controller.state, controller.wrench_acceleration, controller.external_wrenches)
        if self.topics.wanted:
            self.topics.publish(kernels.joints(self._joints)(*given), stamp)
        for balance, row, heard in zip(self._balances, self._parts, self._heard, strict=True):
            if heard:
                for publisher, part in zip(row, kernels.balance(*balance)(*given), strict=True):
                    publisher.publish(part, stamp)

    def destroy(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self.topics.destroy()
        for row in self._parts:
            for publisher in row:
                publisher.destroy()
        self._parts = []


class FlangeTopic:
    """``~/wrench``: the load at the flange."""

    def __init__(self, node: Node, flange: FlangeLoad) -> None:
        self._flange = flange
        self._publisher = WrenchPublisher(node, "~/wrench", flange.frame)
        self.wanted = flange.enabled = False

    def look_for_listeners(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._publisher.look_for_listeners()
        self.wanted = self._flange.enabled = self._publisher.wanted

    def publish(self, stamp: int) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._publisher.publish(self._flange.load, stamp)

    def destroy(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._publisher.destroy()


class ContactTopic:
    """``~/external_wrench_estimate``: the contact at one link that explains the external efforts best."""

    def __init__(self, node: Node, contact: ContactEstimate) -> None:
        self._contact = contact
        self._publisher = WrenchPublisher(node, "~/external_wrench_estimate", contact.link)
        self.wanted = contact.enabled = False

    def look_for_listeners(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._publisher.look_for_listeners()
        self.wanted = self._contact.enabled = self._publisher.wanted

    def publish(self, stamp: int) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._publisher.publish(self._contact.wrench, stamp)

    def destroy(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._publisher.destroy()


class ExternalEfforts:
    """``~/external_efforts``: what the model does not explain, for each joint.

    Args:
        node: the node.
        controller: with an observer.
    """

    def __init__(self, node: Node, controller: JointController) -> None:
        assert controller.observer is not None
        self._node, self._controller, self._observer = node, controller, controller.observer
        effort = marks(controller.model.nv)
        self._template = Template(JointState(name=list(controller.model.joint_names), effort=effort), effort)
        self._publisher: Any = node.create_publisher(
            JointState, "~/external_efforts", STATE, event_callbacks=QUIET_PUBLISHER
        )
        self.wanted = controller.want_efforts = False

    def look_for_listeners(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        heard = self._controller.estimates_ready and self._publisher.get_subscription_count() > 0
        self.wanted = self._controller.want_efforts = heard

    def publish(self, stamp: int) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._template.blocks[0][:] = self._observer.effort
        self._template.stamp(stamp)
        self._publisher.publish(self._template.bytes())

    def destroy(self) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        self._node.destroy_publisher(self._publisher)
