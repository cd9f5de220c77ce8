"""A robot played by the test process, good and bad, and the services of the controller that faces
it.
"""

from __future__ import annotations

import array

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from support.peer import CONTROLLER

__all__ = ["ROBOT", "Q", "Robot", "change", "set_parameters", "state"]

ROBOT = "two_link"
Q = np.array([0.3, -0.4])


class Robot:
    """A robot that stands still at ``Q`` and says so at 50 Hz, or says what a test wants it to."""

    def __init__(self, peer, model) -> None:
        self.peer = peer
        self.model = model
        self.commands: list[Float64MultiArray] = peer.listen(
            Float64MultiArray, "effort_controller/commands", 100
        )
        self.diagnostics: list[DiagnosticArray] = peer.listen(DiagnosticArray, "/diagnostics", 10)
        self._states = peer.publisher(JointState, "joint_states", 1)
        self._timer = peer.node.create_timer(0.02, self._tick)

    def state(self, **changes) -> JointState:
        message = JointState(
            name=list(self.model.joint_names), position=Q.tolist(), velocity=[0.0, 0.0]
        )
        message.header.stamp = self.peer.node.get_clock().now().to_msg()
        for field, value in changes.items():
            setattr(message, field, array.array("d", value) if field != "name" else value)
        return message

    def _tick(self) -> None:
        self._states.publish(self.state())

    def say(self, message: JointState) -> None:
        self._states.publish(message)

    def quiet(self) -> None:
        self._timer.cancel()

    def fall_silent(self) -> None:
        """Say no more, and hear every answer to what was said: two rounds of a service come after
        them.
        """
        self.quiet()
        for _ in range(2):
            state(self.peer)
        self.peer.drain()

    def talk(self) -> None:
        self._timer.reset()

    def effort(self) -> np.ndarray:
        """The next command."""
        self.commands.clear()
        self.peer.wait(lambda: self.commands, "a command")
        return np.array(self.commands[-1].data)

    def reported(self, cause: str) -> int:
        """How often the controller says it has met something."""
        for message in reversed(self.diagnostics):
            for status in message.status:
                for value in status.values:
                    if value.key == f"count {cause}":
                        return int(value.value)
        return 0


def change(peer, transition: int) -> bool:
    request = ChangeState.Request(transition=Transition(id=transition))
    return peer.call(ChangeState, f"{CONTROLLER}/change_state", request).success


def state(peer) -> int:
    return peer.call(GetState, f"{CONTROLLER}/get_state", GetState.Request()).current_state.id


def set_parameters(peer, **values):
    parameters = []
    for name, value in values.items():
        kind = {
            float: ("double_value", ParameterType.PARAMETER_DOUBLE),
            int: ("integer_value", ParameterType.PARAMETER_INTEGER),
            str: ("string_value", ParameterType.PARAMETER_STRING),
        }[type(value)]
        parameters.append(
            Parameter(
                name=name.replace("__", "."), value=ParameterValue(type=kind[1], **{kind[0]: value})
            )
        )
    return peer.call(
        SetParameters, f"{CONTROLLER}/set_parameters", SetParameters.Request(parameters=parameters)
    ).results
