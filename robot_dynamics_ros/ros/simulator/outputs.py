"""Outputs of the simulated robot: joint states, true wrenches of joints, constraints and contacts,
poses of bodies, time.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from robot_dynamics_ros.dynamics.algorithms.constraint_rows import OF_JOINTS
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.simulator.parameters import sensors
from robot_dynamics_ros.ros.transport import topics
from robot_dynamics_ros.ros.transport.cdr import marks
from robot_dynamics_ros.ros.transport.parameters import ParameterValues
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.driver import Driver
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant
from robot_dynamics_ros.simulation.sensors import JointReading, Sensors
from robot_dynamics_ros.simulation.simulated_robot import SimulatedRobot


def constraint_wrenches(node: Node, plant: ConstrainedPlant | MujocoPlant) -> topics.WrenchTopics:
    """``~/constraint_wrenches/<constraint>/a`` and ``…/b``: on each link, about its origin, in its
    frame; not of gears and Pfaffian rows.
    """
    assert plant.constraints is not None
    constraints = [c for c in plant.constraints.constraints if c.kind not in OF_JOINTS]
    publishers = [
        topics.wrench_publishers(
            node,
            "~/constraint_wrenches/",
            {c.name: getattr(c, side) for c in constraints},
            f"/{side}",
        )
        for side in "ab"
    ]

    def wrenches() -> list[Array]:
        found = plant.constraint_wrenches()
        return [found[name][side] for side in (0, 1) for name in publishers[side]]

    return topics.WrenchTopics(
        list(itertools.chain.from_iterable(side.values() for side in publishers)), wrenches
    )


def contact_wrenches(node: Node, plant: MujocoPlant) -> topics.WrenchTopics:
    """``~/contact_wrenches/<link>``: the sum of all that touches a link, about its origin, in its
    frame, zero if nothing does.
    """
    publishers = topics.wrench_publishers(
        node, "~/contact_wrenches/", {link: link for link in plant.links}
    )
    return topics.WrenchTopics(
        publishers.values(), lambda: map(plant.contact_wrenches().__getitem__, publishers)
    )


class ObjectPoses(topics.Output):
    """``~/object_poses/<body>``: bodies of the world that can move, in the frame ``world``."""

    def __init__(self, node: Node, plant: MujocoPlant) -> None:
        tokens = topics.distinct_tokens(plant.objects, "~/object_poses/")
        self._plant, self._each = (
            plant,
            [_PosePublisher(node, f"~/object_poses/{token}") for token in tokens],
        )
        super().__init__(self._each)

    def publish(self, stamp: int) -> None:
        for name, publisher in zip(self._plant.objects, self._each, strict=True):
            if publisher.has_listeners:
                publisher.publish(self._plant.object_pose(name), stamp)


class _PosePublisher(topics.TemplatePublisher):
    def __init__(self, node: Node, topic: str) -> None:
        message = PoseStamped()
        message.header.frame_id = "world"
        numbers = marks(7)
        position = message.pose.position
        orientation = message.pose.orientation
        position.x, position.y, position.z = numbers[:3]
        orientation.x, orientation.y, orientation.z, orientation.w = numbers[3:]
        super().__init__(node, topic, message, numbers)
        # takes long to import, and few simulators need it
        from scipy.spatial.transform import (
            Rotation,
        )

        self._rotation = Rotation

    def publish(self, pose: Array, stamp: int) -> None:
        numbers = np.concatenate([pose[:3, 3], self._rotation.from_matrix(pose[:3, :3]).as_quat()])
        if math.isfinite(numbers.dot(numbers)):
            self.send(stamp, numbers)


class SimulatorOutputs:
    """Publishes the state of a plant; the driver gives the measured efforts of joint states.

    Attributes:
        joints: those of ``joint_states``, in order: with one degree of freedom, all in the order of
            the URDF if none are named.
        v_index: (n,) where they are in velocities and efforts.
    """

    def __init__(
        self,
        node: Node,
        plant: SimulatedRobot,
        values: ParameterValues,
        driver: Driver,
    ) -> None:
        model = plant.model
        self._plant = plant
        self._driver = None if driver.plain else driver
        simple = tuple(name for name in model.joint_names if model.joint(name).type.nq == 1)
        for name in values["joints"]:
            check_name("joint", name, simple, where="parameter 'joints'")
        self.joints = values["joints"] or simple
        q_index = np.array([model.q_slice(name).start for name in self.joints], dtype=np.intp)
        self.v_index = np.array([model.v_slice(name).start for name in self.joints], dtype=np.intp)
        self._indices = (q_index, self.v_index, self.v_index)
        self._states = topics.JointTopic(
            node, "joint_states", self.joints, "position", "velocity", "effort"
        )
        wrenches: list[topics.Output] = [
            topics.joint_wrenches(node, model, model.joint_names, plant.joint_wrenches)
        ]
        if isinstance(plant, ConstrainedPlant | MujocoPlant) and plant.constraints is not None:
            wrenches.append(constraint_wrenches(node, plant))
        if isinstance(plant, MujocoPlant):
            wrenches += [contact_wrenches(node, plant), ObjectPoses(node, plant)]
        self._wrenches = topics.Outputs(wrenches, values["joint_wrenches.rate_divisor"])
        settings = sensors(values)
        if settings is None:
            self._sensors = None
        else:
            self._sensors = Sensors(model, settings)
        self._last: JointReading | None = None
        # joint_state_broadcaster's way: an interface that is not there is NaN, at full length
        sizes = {"position": model.nq, "velocity": model.nv, "effort": model.nv}
        on = values["state_interfaces"]
        self._off = [
            None if name in on else np.full(size, math.nan) for name, size in sizes.items()
        ]
        self._clock = (
            topics.TemplatePublisher(node, "/clock", ClockMessage())
            if values["publish_clock"]
            else None
        )

    def measure(self, ns: int) -> None:
        """Let the sensors look at the state of simulated time ``ns``; to be called after every
        step.
        """
        if self._sensors is not None:
            self._sensors.sample(ns * 1e-9, *self._plant.encoders(), self._effort())

    def publish(self, ns: int, origin: int) -> bool:
        """Publish the state of simulated time ``ns``, stamped ``origin + ns``; whether a joint
        state went out.
        """
        plant = self._plant
        stamp = origin + ns
        if self._clock is not None:
            self._clock.send(stamp)
        self._wrenches.publish(stamp)
        if self._sensors is None:
            self._send(stamp, *plant.encoders(), self._effort())
            return True
        arrived = self._sensors.deliver(ns * 1e-9)
        for reading in arrived:
            self._send_reading(reading, origin)
        return bool(arrived)

    def _effort(self) -> np.ndarray:
        if self._driver is None:
            return self._plant.tau
        return self._driver.reading()

    def repeat(self, ns: int, origin: int) -> bool:
        """Publish the last values again."""
        if self._sensors is None:
            return self.publish(ns, origin)
        if self._last is not None:
            self._send_reading(self._last, origin)
        return self._last is not None

    def forget(self, ns: int) -> None:
        """The state has been set: drop measurements that the sensors have delayed, and measure anew
        at ``ns``.
        """
        self._last = None
        if self._sensors is not None:
            self._sensors.reset()
            self.measure(ns)

    def look_for_listeners(self) -> None:
        """To be called a few times a second."""
        self._wrenches.look_for_listeners()

    def _send_reading(self, reading: JointReading, origin: int) -> None:
        self._last = reading
        self._send(origin + round(reading.t * 1e9), reading.q, reading.v, reading.tau)

    def _send(self, stamp: int, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        for x, off, index, block in zip(
            (q, v, tau), self._off, self._indices, self._states.blocks, strict=True
        ):
            (x if off is None else off).take(index, out=block, mode="clip")
        self._states.send(stamp)
