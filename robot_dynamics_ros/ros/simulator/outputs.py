"""Outputs of the simulated robot: measured joint states, true wrenches, time."""

from __future__ import annotations

import math

import numpy as np
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from robot_dynamics_ros.ros.simulator.parameters import sensors
from robot_dynamics_ros.ros.simulator.plant_topics import ConstraintTopics, ContactTopics, JointStatePublisher
from robot_dynamics_ros.ros.transport.outputs import Output, Outputs, TemplatePublisher
from robot_dynamics_ros.ros.transport.parameters import ParameterValues
from robot_dynamics_ros.ros.transport.wrench_topics import WrenchTopics
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.driver import Driver
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant
from robot_dynamics_ros.simulation.sensors import JointReading, Sensors
from robot_dynamics_ros.simulation.simulated_robot import SimulatedRobot


class SimulatorOutputs:
    """Publishes the state of a plant.

    Args:
        plant: the robot.
        values: the simulator's parameters.
        driver: gives the measured efforts of joint states.

    Attributes:
        joints: the joints of ``joint_states``, in order.
        v_index: (n,) where they are in velocities and efforts.
        published: whether a joint state has gone out since the start or the last :meth:`forget`.
    """

    def __init__(self, node: Node, plant: SimulatedRobot, values: ParameterValues, driver: Driver) -> None:
        model = plant.model
        self._plant = plant
        self._driver = None if driver.plain else driver
        self._states = JointStatePublisher(node, model, values["joints"])
        self.joints = self._states.joints
        self.v_index = np.array(self._states.v_index, dtype=np.intp)
        wrenches: list[Output] = [WrenchTopics(node, model, model.joint_names, plant.joint_wrenches)]
        if isinstance(plant, ConstrainedPlant | MujocoPlant) and plant.constraints is not None:
            wrenches.append(ConstraintTopics(node, plant))
        if isinstance(plant, MujocoPlant):
            wrenches.append(ContactTopics(node, plant))
        self._wrenches = Outputs(wrenches, values["joint_wrenches.rate_divisor"])
        settings = sensors(values)
        self._sensors = None if settings is None else Sensors(model, settings)
        self._last: JointReading | None = None
        on = values["state_interfaces"]
        # joint_state_broadcaster's way: an interface that is not there is NaN, at full length
        self._q_off = np.full(model.nq, math.nan) if "position" not in on else None
        self._v_off = np.full(model.nv, math.nan) if "velocity" not in on else None
        self._tau_off = np.full(model.nv, math.nan) if "effort" not in on else None
        self._clock = TemplatePublisher(node, "/clock", ClockMessage()) if values["publish_clock"] else None
        self.published = False

    def measure(self, ns: int) -> None:
        """Let the sensors look at the state of simulated time ``ns``; to be called after every step."""
        if self._sensors is not None:
            self._sensors.sample(ns * 1e-9, self._plant.q, self._plant.v, self._effort())

    def publish(self, ns: int, origin: int) -> bool:
        """Publish the state of simulated time ``ns``, stamped ``origin + ns``; whether a joint state went out."""
        plant, stamp = self._plant, origin + ns
        if self._clock is not None:
            self._clock.send(stamp)
        self._wrenches.publish(stamp)
        if self._sensors is None:
            self._send(stamp, plant.q, plant.v, self._effort())
            return True
        arrived = self._sensors.deliver(ns * 1e-9)
        for reading in arrived:
            self._send_reading(reading, origin)
        return bool(arrived)

    def _effort(self) -> np.ndarray:
        return self._plant.tau if self._driver is None else self._driver.reading()

    def repeat(self, ns: int, origin: int) -> bool:
        """Publish the last values again."""
        if self._sensors is None:
            return self.publish(ns, origin)
        if self._last is not None:
            self._send_reading(self._last, origin)
        return self._last is not None

    def forget(self, ns: int) -> None:
        """The state has been set: drop measurements that the sensors have delayed, and measure anew at ``ns``."""
        self._last = None
        self.published = False
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
        self.published = True
        self._states.publish(
            stamp,
            q if self._q_off is None else self._q_off,
            v if self._v_off is None else self._v_off,
            tau if self._tau_off is None else self._tau_off,
        )
