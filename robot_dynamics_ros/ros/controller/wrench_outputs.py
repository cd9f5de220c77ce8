"""Wrenches beside those of the joints that are controlled: fixed and mimic joints, parts, the tool flange.

Each is computed only while somebody listens, from kernels made when the node is configured.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from rclpy.node import Node

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.flange import FlangeLoad
from robot_dynamics_ros.control.wrench_kernels import BalanceKernel, JointKernel, matching, parent_link
from robot_dynamics_ros.dynamics import all_joint_names
from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import ParameterSet
from robot_dynamics_ros.ros.transport.wrench_publisher import WrenchPublisher
from robot_dynamics_ros.ros.transport.wrench_topics import topic_token

__all__ = ["WrenchOutputs"]


class WrenchOutputs:
    """Everything about wrenches that the controller's cycle does not have already.

    Args:
        node: the node.
        controller: where state, acceleration and known external wrenches are.
        values: the node's parameters.

    Raises:
        UnknownNameError: a parameter names a joint or link that the robot does not have.
    """

    def __init__(self, node: Node, controller: JointController, values: ParameterSet) -> None:
        model = controller.model
        every = all_joint_names(model)
        self.divisor: int = values["joint_wrenches.rate_divisor"]
        self._countdown = 1
        self._controller = controller
        self._node, self._before = node, 0
        own = [name for name in every if name not in model.joint_names]
        mimic = [name for name in own if name in model.moving_joint_names]
        fixed = [name for name in own if name not in mimic]
        self._joints = (
            *mimic,
            *matching(values["joint_wrenches.fixed_joints"], fixed, _where("joint_wrenches.fixed_joints")),
        )
        self._balanced = matching(values["wrench_parts.joints"], every, _where("wrench_parts.joints"))
        self._observers = [values["wrench_parts.observer"] or parent_link(model, name) for name in self._balanced]
        self._from_effort = values["joint_wrenches.acceleration_source"] in ("model", "commanded")
        self._flange: FlangeLoad | None = None
        if values["flange.joint"]:
            if values["flange.joint"] not in every:
                raise UnknownNameError("joint", values["flange.joint"], every, where=_where("flange.joint"))
            self._flange = FlangeLoad(
                model,
                values["flange.joint"],
                frame=values["flange.frame"],
                subtract=values["flange.subtract_gravity_and_inertia"],
                contact=values["flange.contact"],
                gain=values["flange.observer_gain"],
                friction=getattr(controller.law, "friction", None),
            )
        self._model, self._coming, self._made = model, model, self._make(model)
        tokens = [topic_token(name) for name in self._joints]
        self._joint_topics = [
            WrenchPublisher(node, f"~/joint_wrenches/{token}", model.joint(name).child)
            for token, name in zip(tokens, self._joints, strict=True)
        ]
        self._part_topics = [
            [
                WrenchPublisher(node, f"~/wrench_parts/{topic_token(name)}/{part}", observer)
                for part in BalanceKernel.names
            ]
            for name, observer in zip(self._balanced, self._observers, strict=True)
        ]
        self._flange_topic = WrenchPublisher(node, "~/wrench", self._flange.frame) if self._flange is not None else None
        self._reading = self._wanted = False
        self._acting = np.zeros(model.nv)  # what was commanded a cycle ago acts until the state that is just in

    def _make(self, model: RobotModel) -> tuple[Any, ...]:
        joints = JointKernel(model, self._joints) if self._joints else None
        balances = [BalanceKernel(model, *pair) for pair in zip(self._balanced, self._observers, strict=True)]
        return joints, balances

    def _publishers(self) -> list[WrenchPublisher]:
        flange = [] if self._flange_topic is None else [self._flange_topic]
        return [*self._joint_topics, *(topic for row in self._part_topics for topic in row), *flange]

    def look_for_listeners(self) -> None:
        """To be called a few times a second."""
        publishers = self._publishers()
        for publisher in publishers:
            publisher.look()
        self._wanted = any(publisher.wanted for publisher in publishers)

    def publish(self, stamp: int, measured: Array | None) -> None:
        """After a cycle: publish what belongs to the state of time ``stamp``, ns; ``measured`` effort or ``None``."""
        if not self._wanted:
            self._reading = False
            return
        controller = self._controller
        if controller.loaded_model is not self._model:
            self._follow_payload(controller.loaded_model)
            if controller.loaded_model is not self._model:
                return  # kernels for the payload are on their way, and the old ones would tell lies
        load = self._read_flange(stamp, measured)
        np.copyto(self._acting, controller.effort)
        self._countdown -= 1
        if self._countdown > 0:
            return
        self._countdown = self.divisor
        joints, balances = self._made
        given = (*controller.state, controller.wrench_acceleration, controller.external_wrenches)
        heard = [any(topic.wanted for topic in topics) for topics in (self._joint_topics, *self._part_topics)]
        if heard[0]:
            for topic, row in zip(self._joint_topics, joints(*given), strict=True):
                topic.publish(row, stamp)
        for balance, topics, wanted in zip(balances, self._part_topics, heard[1:], strict=True):
            if wanted:
                for topic, row in zip(topics, balance(*given), strict=True):
                    topic.publish(row, stamp)
        if load is not None and self._flange_topic is not None:
            self._flange_topic.publish(load, stamp)

    def _read_flange(self, stamp: int, measured: Array | None) -> Array | None:
        """The flange's load; its estimate needs every joint state, whatever is published."""
        if self._flange is None or self._flange_topic is None or not self._flange_topic.wanted:
            self._reading = False
            return None
        if not self._reading:
            self._flange.reset()
            self._reading, self._before = True, stamp
        controller = self._controller
        q, v = controller.state
        dt = (stamp - self._before) * 1e-9
        self._before = stamp
        effort = self._acting if measured is None else measured
        a = None if self._from_effort else controller.wrench_acceleration
        return self._flange.update(q, v, effort, dt, controller.external_wrenches, a)

    def _follow_payload(self, model: RobotModel) -> None:
        """Have kernels for another model made beside the cycle, and take them over when they are there."""
        if self._coming is model:
            return
        self._coming = model

        def prepare() -> None:
            made = self._make(model)
            if self._flange is not None:
                self._flange.use(model)
            if self._coming is model:
                self._made, self._model = made, model

        threading.Thread(target=prepare, name="wrenches", daemon=True).start()

    def destroy(self) -> None:
        """Take the publishers down."""
        for publisher in self._publishers():
            publisher.destroy()
        self._joint_topics, self._part_topics, self._flange_topic = [], [], None


def _where(parameter: str) -> str:
    return f"parameter {parameter!r}"
