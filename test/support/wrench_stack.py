"""Simulator and controller in processes of their own, in lockstep, with this process between
them.
"""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds, trajectory_message
from support.peer import CONTROLLER, SIMULATOR, Peer

SECOND = 10**9
DEEP = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)


def stamp_of(message) -> int:
    return to_nanoseconds(message.header.stamp)


def spatial(message: WrenchStamped) -> np.ndarray:
    """(6,) [moment; force]."""
    f = message.wrench.force
    m = message.wrench.torque
    return np.array([m.x, m.y, m.z, f.x, f.y, f.z])


# of a motion of the six axes through two points in 3 s, from where the arm is and back; every
# joint reverses once or twice
POSITIONS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.225, 0.715, 0.496, -0.495, -0.360, 0.672],
        [-0.891, 0.578, 0.535, -0.058, -0.355, -0.399],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ]
)
VELOCITIES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-0.659, 0.941, 0.772, -0.346, -0.530, 0.046],
        [0.330, -0.981, -0.761, 0.475, 0.532, -0.361],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ]
)
ACCELERATIONS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-4.055, -1.612, -0.677, 2.247, 0.600, -4.633],
        [5.134, -0.485, -0.994, -1.351, 0.558, 4.189],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ]
)


class Stack:
    """Both nodes, and the joint states on their way from one to the other."""

    def __init__(
        self, peer: Peer, start, model, robot: str, *, simulator=None, controller=None
    ) -> None:
        self.peer = peer
        self.model = model
        self.states: list[JointState] = []
        gains = {
            f"gains__{name}__{gain}": value
            for name in model.joint_names
            for gain, value in (("p", 400.0), ("d", 40.0))
        }
        armature = {f"armature__{name}": 0.1 for name in model.joint_names}
        self.simulator = start(
            "simulator",
            remap={"joint_states": "true_joint_states"},
            robot_description_file=robot,
            time_mode="lockstep",
            holding_brakes=True,
            **armature,
            **(simulator or {}),
        )
        self.controller = start(
            "controller",
            robot_description_file=robot,
            state_timeout=60.0,
            **armature,
            **gains,
            **(controller or {}),
        )
        self._publisher = peer.publisher(JointState, "joint_states")
        peer.node.create_subscription(JointState, "true_joint_states", self._on_state, 10)
        peer.subscribed(self._publisher)

    def _on_state(self, message: JointState) -> None:
        self.states.append(message)
        self._publisher.publish(message)

    @property
    def now(self) -> int:
        """Simulated time, ns."""
        return stamp_of(self.states[-1]) if self.states else 0

    def until(self, time: int, what: str = "simulated time to pass") -> None:
        self.peer.wait(lambda: self.now >= time, what, 120.0)

    def run(self, seconds: float) -> None:
        self.until(self.now + round(seconds * SECOND))

    def wrenches(self, topic: str, node: str = CONTROLLER) -> list[WrenchStamped]:
        """A list that fills with the messages of a topic of the controller."""
        return self.peer.listen(WrenchStamped, f"{node}/{topic}", DEEP)

    def true_wrenches(self, joint: str) -> list[WrenchStamped]:
        return self.wrenches(f"joint_wrenches/{joint}", SIMULATOR)

    def state_at(self) -> dict[int, np.ndarray]:
        """Stamp → (3, n) position, velocity and effort in model order."""
        found = {}
        for m in self.states:
            columns = [m.name.index(name) for name in self.model.joint_names]
            found[stamp_of(m)] = np.array([m.position, m.velocity, m.effort])[:, columns]
        return found

    def follow(self, duration: float = 1.5) -> int:
        """Send a motion and wait for its end; returns its start, ns."""
        self.run(0.1)
        trajectories = self.peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
        self.peer.subscribed(trajectories)
        q = next(reversed(self.state_at().values()))[0]
        begun = self.now + SECOND // 2
        times = np.linspace(0.0, duration, 4)
        pace = 3.0 / duration
        trajectories.publish(
            trajectory_message(
                self.model.joint_names,
                times,
                q + POSITIONS,
                pace * VELOCITIES,
                pace**2 * ACCELERATIONS,
                begun,
            )
        )
        self.until(begun + round(duration * SECOND), "the end of the motion")
        return begun


def by_stamp(messages: list[WrenchStamped], since: int = 0) -> dict[int, np.ndarray]:
    """Stamp → (6,) wrench."""
    return {stamp_of(m): spatial(m) for m in messages if stamp_of(m) >= since}
