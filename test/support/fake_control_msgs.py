"""What control_msgs and rclpy's action server look like to the controller, where control_msgs is
not installed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.action import CancelResponse, GoalResponse
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

__all__ = ["ACTION_TYPE", "FakeServer", "GoalMessage", "JointTolerance"]


@dataclass
class JointTolerance:
    name: str
    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass
class GoalMessage:
    trajectory: JointTrajectory
    path_tolerance: list[JointTolerance] = field(default_factory=list)
    goal_tolerance: list[JointTolerance] = field(default_factory=list)
    goal_time_tolerance: Duration = field(default_factory=Duration)
    multi_dof_trajectory: MultiDOFJointTrajectory = field(default_factory=MultiDOFJointTrajectory)


@dataclass
class _Result:
    error_code: int = 0
    error_string: str = ""


@dataclass
class _Feedback:
    joint_names: list[str]
    desired: Any
    actual: Any
    error: Any
    header: Header = field(default_factory=Header)
    # from control_msgs 6.3 on
    index: int = -1


ACTION_TYPE = SimpleNamespace(Result=_Result, Feedback=_Feedback)


class _Handle:
    """A goal handle that allows the transitions that ROS 2 actions allow, and no others."""

    def __init__(self, request: GoalMessage) -> None:
        self.request = request
        self.state = "executing"
        self.feedback: list[Any] = []
        self.result: Any = None

    @property
    def is_cancel_requested(self) -> bool:
        return self.state == "canceling"

    def publish_feedback(self, message: Any) -> None:
        self.feedback.append(message)

    def _go(self, target: str, *origins: str) -> None:
        assert self.state in origins, f"{self.state} to {target}"
        self.state = target

    def succeed(self) -> None:
        self._go("succeeded", "executing", "canceling")

    def abort(self) -> None:
        self._go("aborted", "executing", "canceling")

    def canceled(self) -> None:
        self._go("canceled", "canceling")


class FakeServer:
    """rclpy's ActionServer without the middleware: its calls, in its order, on the node's own
    executor.
    """

    latest: FakeServer

    def __init__(
        self,
        node,
        action_type,
        name,
        execute_callback,
        *,
        goal_callback,
        cancel_callback,
        **options,
    ) -> None:
        self.node = node
        self.name = name
        self.options = options
        self._execute = execute_callback
        self._goal = goal_callback
        self._cancel = cancel_callback
        FakeServer.latest = self

    def send(self, request: GoalMessage) -> _Handle | None:
        """What happens when a client sends a goal; ``None`` if it is rejected."""
        if self._goal(request) is not GoalResponse.ACCEPT:
            return None
        handle = _Handle(request)

        async def run() -> None:
            handle.result = await self._execute(handle)
            assert handle.state in ("succeeded", "aborted", "canceled")

        self.node.executor.create_task(run)
        return handle

    def cancel(self, handle: _Handle) -> bool:
        """What happens when a client cancels; whether it may."""
        if self._cancel(handle) is not CancelResponse.ACCEPT:
            return False
        handle._go("canceling", "executing")
        return True

    def destroy(self) -> None:
        """Nothing to take down."""
