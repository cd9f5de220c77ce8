"""An action server that takes its requests in a thread of its own, not in the control cycle.

rclpy holds the interpreter's lock while it takes a goal and turns it into objects of Python: for a trajectory of 10⁵ points
that is some seconds.  Here a thread of its own waits for the requests, takes goals by the middleware's C functions, which
need no lock, and hands long ones over in serialized form.  Everything else happens in the executor's thread, as with rclpy.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from action_msgs.msg import GoalInfo
from rclpy.action import ActionServer, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.task import Future
from rclpy.type_support import check_for_type_support

from robot_dynamics_ros.ros.transport.apart import MessageType, Nobody, WaitingThread, client_library

if TYPE_CHECKING:
    from control_msgs.action import FollowJointTrajectory
    from unique_identifier_msgs.msg import UUID

_UNSPUN = 0.05  # s between two looks whether the node is spun by now
_PACE = 0.005  # s between two requests: the queue of a client holds ten answers, and more at once would be lost there


ReadGoal: TypeAlias = "Callable[[memoryview], tuple[UUID, object]]"
"""Makes the identity and the goal of a serialized request."""


class RequestHeader(ctypes.Structure):
    """``rmw_request_id_t`` and some room: nobody looks inside."""

    _fields_ = (("words", ctypes.c_uint64 * 8),)


class GoalRequests:
    """Takes and answers requests for goals by C functions; an OSError, AttributeError or ValueError where there are none."""

    def __init__(self, action_type: type[FollowJointTrajectory]) -> None:
        library = client_library()
        if library is None:
            raise OSError("the client library is not found")
        self._library, actions = library, ctypes.CDLL("librcl_action.so")
        service = action_type.Impl.SendGoalService
        self.request, self._response = MessageType(service.Request), MessageType(service.Response)
        self._take, self._answer = actions.rcl_action_take_goal_request, actions.rcl_action_send_goal_response
        for function in (self._take, self._answer):
            function.argtypes = [ctypes.c_void_p, ctypes.POINTER(RequestHeader), ctypes.c_void_p]

    def take(self, server: int, message: int) -> RequestHeader | None:
        """Take the next request of the ``rcl_action_server_t`` at that address, if any: what :meth:`answer` needs."""
        header = RequestHeader()
        if self._take(server, header, message):
            self._library.forget_error()
            return None
        return header

    def serialized(self, message: int) -> memoryview:
        """A request in a C message, serialized; see :meth:`ClientLibrary.serialize`."""
        return self._library.serialize(self.request, message)

    def answer(self, server: int, header: RequestHeader, response: object) -> bool:
        """Answer a request with a message of Python; false if that fails, when the client is gone for instance."""
        with self._response.message(response) as message:
            failed = bool(self._answer(server, header, message))
        if failed:
            self._library.forget_error()
        return not failed


@dataclass(frozen=True, slots=True)
class _Request:
    """A request for a goal: what rclpy's own message of it holds."""

    goal_id: UUID
    goal: object


class ApartActionServer(ActionServer):
    """rclpy's action server with a thread that takes the requests.

    Args:
        requests: takes and answers requests for goals.
        long: bytes from which on a goal stays serialized.
        read: makes ``(goal_id, goal)`` of a serialized request for a long goal, in that thread; ``goal`` is what the callbacks
            get instead of a message.  A ``ValueError`` from it has the request turned into a message after all.
    """

    _is_goal_request_ready: bool  # rclpy's

    def __init__(
        self,
        node: Node,
        action_type: type[FollowJointTrajectory],
        action_name: str,
        execute_callback: Callable[[ServerGoalHandle], Awaitable[object]],
        *,
        requests: GoalRequests,
        long: int,
        read: ReadGoal,
        **options: object,
    ) -> None:
        super().__init__(node, action_type, action_name, execute_callback, callback_group=Nobody(), **options)
        self._requests, self._long, self._read = requests, long, read
        name, count = f"requests of {action_name}", self.get_num_entities()
        self._taker = WaitingThread(node, name, count, self._handle, self.add_to_wait_set, self._take_ready)

    def destroy(self) -> None:
        """End the thread and take the server down."""
        if self._taker.end():
            super().destroy()

    def _take_ready(self, wait_set: _rclpy.WaitSet, closed: Callable[[], bool]) -> None:
        taken: dict[str, Any] = {}
        try:
            if not self.is_ready(wait_set):
                return
            if self._is_goal_request_ready:
                self._is_goal_request_ready = False  # the other requests are small: rclpy's way
                goal = self._take_goal()
                if goal is not None:
                    taken["goal"] = goal
            taken.update(self.take_data())
        except _rclpy.InvalidHandle:
            raise  # the server is being taken down
        except Exception as error:  # noqa: BLE001 (it goes to the executor, as with rclpy's own server)
            taken = {"error": error}
        while taken and not closed():
            executor = self._node.executor
            if executor is not None:
                executor.create_task(self._answer_all, taken)
                time.sleep(_PACE)
                return
            time.sleep(_UNSPUN)

    async def _answer_all(self, taken: dict[str, object]) -> None:
        if "error" in taken:
            raise taken["error"]  # type: ignore[misc]
        try:
            await self.execute(taken)
        except _rclpy.RCLError as error:
            self._logger.warning(f"a request was not answered (the client may have gone away): {error}")

    def _take_goal(self) -> tuple[RequestHeader, object] | None:
        """Header and request, both as rclpy's own method would return them."""
        requests = self._requests
        with requests.request.message() as message:
            header = requests.take(self._handle.pointer, message)
            if header is None:
                return None
            raw = requests.serialized(message)
            if len(raw) >= self._long:
                try:
                    return header, _Request(*self._read(raw))
                except ValueError as error:
                    self._logger.debug(f"a long goal is read as a message: {error}")
            return header, requests.request.to_python(message)

    async def _execute_goal_request(self, request_header_and_message: tuple[RequestHeader, _Request]) -> None:
        # as rclpy's; its own cannot answer to a header that was taken by the C function
        header, request = request_header_and_message
        info = GoalInfo(goal_id=request.goal_id)
        key = bytes(request.goal_id.uuid)
        with self._lock:
            exists = self._handle.goal_exists(info)
        handle = None
        if not exists and self._goal_callback(request.goal) is GoalResponse.ACCEPT:
            info.stamp = self._node.get_clock().now().to_msg()
            try:
                with self._lock:
                    handle = ServerGoalHandle(self, info, request.goal)
            except RuntimeError as error:
                self._logger.error(f"a goal could not be accepted: {error}")
            else:
                self._goal_handles[key] = handle
                self._result_futures[key] = Future()
                self.add_future(self._result_futures[key])
        response = self._action_type.Impl.SendGoalService.Response(accepted=handle is not None, stamp=info.stamp)
        if not self._requests.answer(self._handle.pointer, header, response):
            self._logger.warning("a goal was not answered: the client may have gone away")
        elif handle is not None:
            self._handle.publish_status()
            self._handle_accepted_callback(handle)


def apart_action_server(
    action_type: type[FollowJointTrajectory], long: int, read: ReadGoal
) -> Callable[..., ActionServer]:
    """Makes an :class:`ApartActionServer`; rclpy's own where its C functions are not found."""
    try:
        check_for_type_support(action_type)
        _ = _rclpy.ActionServer.pointer, ActionServer._execute_goal_request
        requests = GoalRequests(action_type)
    except (OSError, AttributeError, ValueError):
        return ActionServer
    return functools.partial(ApartActionServer, requests=requests, long=long, read=read)
