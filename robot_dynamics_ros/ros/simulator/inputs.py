"""Inputs of the simulator: pushes on links, until the message is too old, and states that are set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.qos import NEWEST, QUIET_SUBSCRIPTION
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.transport.wrench_topics import spatial_wrench


class Pushes:
    """Wrenches on links, each ending a while after its last message; ``now`` tells the simulated time, ns."""

    def __init__(self, node: Node, model: RobotModel, now: Callable[[], int], rejections: Rejections) -> None:
        self._model, self._now, self._rejections = model, now, rejections
        self._pushes: dict[str, tuple[int, Array]] = {}
        self.subscription = node.create_subscription(
            WrenchStamped, "~/external_wrench", self._on_wrench, NEWEST, event_callbacks=QUIET_SUBSCRIPTION
        )

    def _on_wrench(self, message: WrenchStamped) -> None:
        link = message.header.frame_id
        try:
            wrench = spatial_wrench(message)
            self._model.link(link)
        except RobotDynamicsError as error:
            self._rejections.report("external_wrench", f"external wrench refused: {error}")
            return
        self._pushes[link] = (self._now(), wrench)

    def now(self, timeout: float) -> dict[str, Array] | None:
        """Link name → (6,) [moment; force] of the messages no older than ``timeout`` seconds; ``None`` without any."""
        if not self._pushes:
            return None
        oldest = self._now() - timeout * 1e9
        self._pushes = {link: push for link, push in self._pushes.items() if push[0] >= oldest}
        return {link: push[1] for link, push in self._pushes.items()} or None

    def clear(self) -> None:
        """Forget them all."""
        self._pushes = {}


_WHERE = "set_joint_state"
_LARGEST = 1e5


def state_from_message(model: RobotModel, message: JointState, q: Array, v: Array) -> tuple[Array, Array]:
    """(nq,) configuration and (nv,) velocity after a message; ``q`` and ``v`` are those before it.

    Joints that are not named stay as they are.  Named ones come to rest where no velocities are given, and keep their
    position where no positions are.
    """
    simple = [name for name in model.joint_names if model.joint(name).type.nq == 1]
    names = list(message.name)

    def refuse(if_so: bool, text: str, remedy: str) -> None:
        if if_so:
            raise ArgumentError(text, where=_WHERE, got=names, remedy=remedy)

    nothing = not names or not (len(message.position) or len(message.velocity))
    refuse(nothing, "the message sets nothing", "Give names and positions, velocities or both.")
    for name in names:
        if name not in simple:
            raise UnknownNameError("joint", name, simple, where=_WHERE)
        count = names.count(name)
        refuse(count > 1, f"joint {name!r} is named {count} times", "Name each joint once.")
    for field in ("position", "velocity"):
        values = getattr(message, field)
        text, remedy = (
            f"{field} has {len(values)} values for {len(names)} names",
            "Give as many values as names, or none.",
        )
        refuse(len(values) not in (0, len(names)), text, remedy)
        for name, value in zip(names, values, strict=False):
            text = f"{field} of joint {name!r} is {value:g}"
            refuse(not np.isfinite(value), text, "Give finite numbers.")
            refuse(abs(value) > _LARGEST, text, f"Give rad or m, rad/s or m/s, up to {_LARGEST:g}.")
    q, v = q.copy(), v.copy()
    for k, name in enumerate(names):
        if len(message.position):
            q[model.q_slice(name)] = message.position[k]
        v[model.v_slice(name)] = message.velocity[k] if len(message.velocity) else 0.0
    return q, v
