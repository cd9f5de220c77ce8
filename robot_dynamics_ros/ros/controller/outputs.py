"""The topics about wrenches and external efforts: each publishes what the controller has computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rclpy.node import Node

from robot_dynamics_ros.control.contact import ContactEstimate, FlangeLoad
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.kernels import BalanceKernel, matching
from robot_dynamics_ros.dynamics import all_joint_names
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.outputs import JointTopic, Output
from robot_dynamics_ros.ros.transport.parameters import ParameterSet
from robot_dynamics_ros.ros.transport.wrench_topics import WrenchPublisher, WrenchTopics, distinct_tokens, topic_token

_JOINT_WRENCHES = "~/joint_wrenches/"


def further_joints(model: RobotModel) -> tuple[list[str], list[str]]:
    """Joints without a coordinate of their own: mimic joints, fixed joints."""
    own = [name for name in all_joint_names(model) if name not in model.joint_names]
    mimic = [name for name in own if name in model.moving_joint_names]
    return mimic, [name for name in own if name not in mimic]


def joint_wrenches(node: Node, controller: JointController) -> WrenchTopics:
    """``~/joint_wrenches/<joint>`` of the joints that are controlled.

    Raises:
        ArgumentError: two joints would share a topic.
    """
    model = controller.model
    distinct_tokens((*model.joint_names, *further_joints(model)[0]), _JOINT_WRENCHES)
    return WrenchTopics(node, model, model.joint_names, lambda: controller.wrenches, _JOINT_WRENCHES)


class FurtherWrenches(Output):
    """``~/joint_wrenches/<joint>`` of mimic and fixed joints, ``~/wrench_parts/<joint>/<part>``.

    Args:
        controller: where state, acceleration and known external wrenches are.

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
        self._topics = WrenchTopics(node, model, self._joints, self._wrenches, _JOINT_WRENCHES)
        self._parts = [
            [
                WrenchPublisher(node, f"~/wrench_parts/{topic_token(name)}/{part}", observer)
                for part in BalanceKernel.names
            ]
            for name, observer in self._balances
        ]
        super().__init__([self._topics, *(publisher for row in self._parts for publisher in row)])

    def _motion(self) -> tuple[Array, Array, Array, Mapping[str, Array]]:
        """Configuration, velocity, acceleration and external wrenches, which the wrenches follow from."""
        controller = self._controller
        return (*controller.state, controller.wrench_acceleration, controller.external_wrenches)

    def _wrenches(self) -> Array:
        return self._controller.kernels.joints(self._joints)(*self._motion())

    def publish(self, stamp: int) -> None:
        if self._topics.has_listeners:
            self._topics.publish(stamp)
        for balance, row in zip(self._balances, self._parts, strict=True):
            if any(publisher.has_listeners for publisher in row):
                parts = self._controller.kernels.balance(*balance)(*self._motion())
                for publisher, part in zip(row, parts, strict=True):
                    publisher.publish(part, stamp)


class EstimatedWrench(Output):
    """One topic of a wrench that is estimated only while somebody listens.

    Args:
        node, topic, frame: see :class:`~robot_dynamics_ros.ros.transport.wrench_topics.WrenchPublisher`.
        estimate: of the wrench.
        wrench: gives (6,) the newest one [moment; force].
    """

    def __init__(
        self, node: Node, topic: str, frame: str, estimate: FlangeLoad | ContactEstimate, wrench: Callable[[], Array]
    ) -> None:
        self._publisher = WrenchPublisher(node, topic, frame)
        super().__init__([self._publisher])
        self._estimate, self._wrench = estimate, wrench
        estimate.enabled = False

    def look_for_listeners(self) -> None:
        super().look_for_listeners()
        self._estimate.enabled = self.has_listeners

    def publish(self, stamp: int) -> None:
        self._publisher.publish(self._wrench(), stamp)


class ExternalEfforts(Output):
    """``~/external_efforts``: what the model does not explain, for each joint.

    Args:
        controller: with an observer.
    """

    def __init__(self, node: Node, controller: JointController) -> None:
        assert controller.observer is not None
        self._controller, self._observer = controller, controller.observer
        self._publisher = JointTopic(node, "~/external_efforts", controller.model.joint_names, "effort")
        super().__init__([self._publisher])
        controller.want_efforts = False

    def look_for_listeners(self) -> None:
        super().look_for_listeners()
        self.has_listeners = self._controller.want_efforts = self.has_listeners and self._controller.estimates_ready

    def publish(self, stamp: int) -> None:
        self._publisher.blocks[0][:] = self._observer.effort
        self._publisher.send(stamp)
