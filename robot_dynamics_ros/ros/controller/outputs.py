"""Topics that the controller publishes after a cycle: wrenches, external efforts, reference and
error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from rclpy.node import Node

from robot_dynamics_ros.control.contact import ContactEstimate, FlangeLoad
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.kernels import BalanceKernel, matching
from robot_dynamics_ros.dynamics import all_joint_names
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.controller import trajectory_messages as messages
from robot_dynamics_ros.ros.controller.task_outputs import ToolTopics
from robot_dynamics_ros.ros.transport import topics
from robot_dynamics_ros.ros.transport.cdr import JointStateReader
from robot_dynamics_ros.ros.transport.parameters import ParameterSet
from robot_dynamics_ros.ros.transport.stamps import to_time


def further_wrenches(
    node: Node,
    controller: JointController,
    values: ParameterSet,
) -> list[topics.Output]:
    """``~/joint_wrenches/<joint>`` of mimic and fixed joints, ``~/wrench_parts/<joint>/<part>``;
    what computes them is compiled.
    """
    model = controller.model
    patterns = values["joint_wrenches.fixed_joints"]
    further = [name for name in all_joint_names(model) if name not in model.joint_names]
    mimic = [name for name in further if name in model.moving_joint_names]
    fixed = [name for name in further if name not in mimic]
    topics.distinct_tokens((*model.joint_names, *mimic), topics.JOINT_WRENCHES)
    joints = (*mimic, *matching(patterns, fixed, "parameter 'joint_wrenches.fixed_joints'"))

    def motion() -> tuple[Array, Array, Array, Mapping[str, Array]]:
        return (*controller.state, controller.wrench_acceleration, controller.external_wrenches)

    def balance(joint: str, observer: str) -> Array:
        # asked for anew: another payload brings other functions
        return controller.kernels.balance(joint, observer)(*motion())

    outputs: list[topics.Output] = []
    if joints:
        controller.kernels.joints(joints)
        outputs.append(
            topics.joint_wrenches(
                node, model, joints, lambda: controller.kernels.joints(joints)(*motion())
            )
        )
    for name in matching(
        values["wrench_parts.joints"], all_joint_names(model), "parameter 'wrench_parts.joints'"
    ):
        observer = values["wrench_parts.observer"] or model.joint(name).parent
        # compiled now, at hand later
        controller.kernels.balance(name, observer)
        prefix = f"~/wrench_parts/{topics.topic_token(name)}/"
        publishers = [
            topics.WrenchPublisher(node, prefix + part, observer) for part in BalanceKernel.names
        ]
        outputs.append(topics.WrenchTopics(publishers, partial(balance, name, observer)))
    return outputs


class EstimatedWrench(topics.WrenchTopics):
    """A topic of a wrench, (6,) [moment; force], that is estimated only while somebody listens."""

    def __init__(
        self,
        node: Node,
        topic: str,
        frame: str,
        estimate: FlangeLoad | ContactEstimate,
        wrench: Callable[[], Array],
    ) -> None:
        super().__init__([topics.WrenchPublisher(node, topic, frame)], lambda: [wrench()])
        self._estimate = estimate
        estimate.enabled = False

    def look_for_listeners(self) -> None:
        super().look_for_listeners()
        self._estimate.enabled = self.has_listeners


class ExternalEfforts(topics.Output):
    """``~/external_efforts``: what the model does not explain, for each joint, by the controller's
    observer.
    """

    def __init__(self, node: Node, controller: JointController) -> None:
        assert controller.observer is not None
        self._controller = controller
        self._observer = controller.observer
        self._publisher = topics.JointTopic(
            node, "~/external_efforts", controller.model.joint_names, "effort"
        )
        super().__init__([self._publisher])
        controller.want_efforts = False

    def look_for_listeners(self) -> None:
        super().look_for_listeners()
        self._controller.want_efforts = self.has_listeners

    def publish(self, stamp: int) -> None:
        self._publisher.send(stamp, self._observer.effort)


# -- more topics: a class each


class ReferenceTopics(topics.Output):
    """Publishes reference, error and commanded effort at a rate of its own in Hz, while somebody
    listens.
    """

    def __init__(
        self,
        node: Node,
        controller: JointController,
        reader: JointStateReader,
        rate: float,
    ) -> None:
        self._reader = reader
        self._controller = controller
        self._period = round(1e9 / rate)
        # stamp of the last state that was published, ns; long ago at first
        self._published = -self._period
        names = controller.model.joint_names
        self._reference = topics.JointTopic(
            node, "~/reference", names, "position", "velocity", "effort"
        )
        self._error = topics.JointTopic(node, "~/error", names, "position", "velocity")
        state = messages.JointTrajectoryControllerState
        if state is not None:
            self._states = [topics.Topic(node, "~/controller_state", state)]
        else:
            self._states = []
        super().__init__([self._reference, self._error, *self._states])

    def publish(self, stamp: int) -> None:
        """Publish what belongs to the joint state of time ``stamp``, ns, if it is time to."""
        # before the last time by a period or more: the clock was set back, and the wait is over
        if abs(stamp - self._published) < self._period:
            return
        self._published = stamp
        controller = self._controller
        if self._reference.has_listeners:
            self._reference.send(stamp, *controller.reference[:2], controller.effort)
        if self._error.has_listeners:
            self._error.send(stamp, *controller.error)
        for topic in self._states:
            if topic.has_listeners:
                self._publish_state(topic, stamp)

    def _publish_state(self, topic: topics.Topic, stamp: int) -> None:
        controller = self._controller
        reader = self._reader
        state = messages.JointTrajectoryControllerState(
            joint_names=list(controller.model.joint_names)
        )
        state.header.stamp = to_time(stamp)
        state.reference = messages.point_message(controller.reference)
        state.feedback = messages.point_message((reader.position, reader.velocity))
        state.error = messages.point_message(controller.error)
        if reader.effort_known:
            state.feedback.effort = reader.effort.tolist()
        state.output.effort = controller.command.tolist()
        # time is never scaled here
        state.speed_scaling_factor = 1.0
        topic.publish_message(state)


def wrench_outputs(
    node: Node,
    controller: JointController,
    values: ParameterSet,
) -> list[topics.Output]:
    """Wrenches, which are published at a rate of their own."""
    further = further_wrenches(node, controller, values)
    model = controller.model
    outputs = [
        topics.joint_wrenches(node, model, model.joint_names, lambda: controller.wrenches),
        *further,
    ]
    flange = controller.flange
    if flange is not None:
        outputs.append(EstimatedWrench(node, "~/wrench", flange.frame, flange, lambda: flange.load))
    return outputs


def other_outputs(
    node: Node,
    controller: JointController,
    reader: JointStateReader,
    values: ParameterSet,
) -> list[topics.Output]:
    """All that is published besides commands and wrenches."""
    outputs: list[topics.Output] = [
        ReferenceTopics(node, controller, reader, values["state_publish_rate"]),
    ]
    contact = controller.contact
    if contact is not None:
        topic = "~/external_wrench_estimate"
        outputs.append(EstimatedWrench(node, topic, contact.link, contact, lambda: contact.wrench))
    if controller.observer is not None:
        outputs.append(ExternalEfforts(node, controller))
    if controller.tool is not None:
        outputs.append(ToolTopics(node, controller, controller.tool))
    return outputs
