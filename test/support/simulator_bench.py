"""A test bench for the simulator node: hears the simulated robot and commands it."""

from __future__ import annotations

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds

__all__ = ["Bench", "bits", "stamp"]


def stamp(message: JointState) -> int:
    """ns."""
    return to_nanoseconds(message.header.stamp)


class Bench:
    """Hears one simulated robot and commands it.

    Args:
        peer: this process.
        command_format: as the simulator's parameter.
        namespace: of the simulator, with a slash at its end.
    """

    def __init__(self, peer, command_format: str = "multi_array", namespace: str = "") -> None:
        self.peer = peer
        self.states: list[JointState] = peer.listen(JointState, f"{namespace}joint_states", 1000)
        self.diagnostics: list[DiagnosticArray] = peer.listen(DiagnosticArray, "/diagnostics", 10)
        if command_format == "multi_array":
            self.commands = peer.publisher(
                Float64MultiArray, f"{namespace}effort_controller/commands"
            )
        else:
            self.commands = peer.publisher(JointState, f"{namespace}robot_joint_commands")

    def ready(self) -> None:
        self.peer.wait(lambda: self.states, "joint states")
        self.peer.subscribed(self.commands)

    def next_state(self) -> JointState:
        self.states.clear()
        self.peer.wait(lambda: self.states, "a joint state")
        return self.states[-1]

    def apply(self, message, effort: list[float]) -> None:
        """Send a command, again and again (a best-effort listener may miss one), until the robot
        shows its effort.
        """
        due = 0.0

        def applied() -> bool:
            nonlocal due
            if time.monotonic() > due:
                due = time.monotonic() + 0.2
                self.commands.publish(message)
            return list(self.states[-1].effort) == effort

        self.peer.wait(applied, f"the effort {effort}")

    def reported(self, cause: str) -> int:
        """How often the diagnostics say that something has happened."""
        return int(float(self.diagnostic(f"count {cause}") or 0))

    def diagnostic(self, key: str) -> str:
        """The newest value of a key in the diagnostics, empty if there is none."""
        found = [
            value.value
            for message in self.diagnostics
            for status in message.status
            for value in status.values
            if value.key == key
        ]
        return found[-1] if found else ""

    def send_until_reported(self, message, cause: str) -> None:
        """Send something bad until the diagnostics report it."""
        before = self.reported(cause)
        due = 0.0

        def reported() -> bool:
            nonlocal due
            if time.monotonic() > due:
                due = time.monotonic() + 0.2
                self.commands.publish(message)
            return self.reported(cause) > before

        self.peer.wait(reported, f"a report of {cause}")

    def lockstep(self, efforts: np.ndarray) -> list[JointState]:
        """One command after the other, each answered by one state."""
        answers = [self.states[-1]]
        for effort in efforts:
            self.turn(effort, answers)
        return answers

    def turn(self, effort: np.ndarray, answers: list[JointState]) -> None:
        last = stamp(answers[-1])
        self.commands.publish(Float64MultiArray(data=list(map(float, effort))))
        self.peer.wait(lambda: stamp(self.states[-1]) != last, "the answer to a command")
        answers.append(self.states[-1])


def bits(answers: list[JointState]) -> list[tuple[bytes, bytes, bytes]]:
    """Positions, velocities and efforts to the last bit."""
    return [(bytes(m.position), bytes(m.velocity), bytes(m.effort)) for m in answers]
