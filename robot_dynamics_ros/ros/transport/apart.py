"""An action server that takes large goals in a thread of its own, not in the control cycle.

rclpy holds the interpreter's lock while it turns a message into objects of Python: 0.15 s for a
goal of 10⁴ points, in which the cycle stands still.  Here a thread of its own waits for goals,
takes them by the C functions of the client library that rclpy has loaded, without the lock, and
hands them over serialized.  Everything else happens in the executor's thread, as with rclpy.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalInfo
from rclpy.action import ActionServer, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.task import Future
from rclpy.type_support import check_for_type_support
from rclpy.waitable import NumberOfEntities, Waitable

from robot_dynamics_ros.ros.transport.realtime import step_back

if TYPE_CHECKING:
    from control_msgs.action import FollowJointTrajectory
    from unique_identifier_msgs.msg import UUID

    _Execute = Callable[[ServerGoalHandle], Awaitable[object]]
    _Read = Callable[[type, memoryview], tuple[UUID, object]]

# ns between two looks whether the thread is to end, should a wake-up be lost
_RETRY = 500_000_000
# s between two looks whether the node is spun by now
_UNSPUN = 0.05
# s between two requests: the queue of a client holds ten answers, and more at once would be lost
# there
_PACE = 0.005


class Allocator(ctypes.Structure):
    """``rcutils_allocator_t``: four functions and a state."""

    _fields_ = (("pointers", ctypes.c_void_p * 5),)


class SerializedMessage(ctypes.Structure):
    """``rcutils_uint8_array_t``."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", Allocator),
    )


class ClientLibrary:
    """The C functions of the client library that rclpy has loaded; an OSError or AttributeError
    where they are not found.
    """

    def __init__(self) -> None:
        rcl = ctypes.CDLL("librcl.so")
        rcutils = ctypes.CDLL("librcutils.so")
        pointer = ctypes.POINTER(SerializedMessage)
        self._allocator = rcutils.rcutils_get_default_allocator
        self._allocator.restype = Allocator
        self._allocator.argtypes = []
        # of the middleware that the client library is linked with, whichever that is
        self._serialize = rcl.rmw_serialize
        self._serialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, pointer]
        self._free = rcutils.rcutils_uint8_array_fini
        self._free.argtypes = [pointer]
        # after a C function that has failed, so that the next failure of this thread is not taken
        # for a second one
        self.forget_error = rcutils.rcutils_reset_error
        self.forget_error.restype = None
        self.forget_error.argtypes = []

    def serialize(self, message_type: MessageType, message: int) -> memoryview:
        """The C message at that address, serialized: a view, which keeps the memory."""
        serialized = SerializedMessage(allocator=self._allocator())
        if self._serialize(message, message_type.support, serialized):
            self.forget_error()
            self._free(serialized)
            raise ValueError("the middleware cannot serialize this message")
        data = (ctypes.c_ubyte * serialized.length).from_address(serialized.buffer)
        weakref.finalize(data, self._free, serialized).atexit = False
        return memoryview(data).cast("B")


class MessageType:
    """The C functions that belong to a message class of Python, which rclpy uses too; here they run
    without the interpreter's lock.

    The class, its type support loaded, without such functions is an AttributeError or ValueError.
    ``support`` is the address of its ``rosidl_message_type_support_t``.
    """

    def __init__(self, message_type: type) -> None:
        pointer = ctypes.c_void_p
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype = pointer
        pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]

        def address(name: str) -> int:
            return int(pointer_of(getattr(message_type, name), None))

        self.support = address("_TYPE_SUPPORT")
        self._create = ctypes.CFUNCTYPE(pointer)(address("_CREATE_ROS_MESSAGE"))
        self._destroy = ctypes.CFUNCTYPE(None, pointer)(address("_DESTROY_ROS_MESSAGE"))
        # these two make and read objects of Python, so they keep the lock
        from_python = (ctypes.c_bool, ctypes.py_object, pointer)
        to_python = (ctypes.py_object, pointer)
        self._from_python = ctypes.PYFUNCTYPE(*from_python)(address("_CONVERT_FROM_PY"))
        # the object of Python for a C message
        self.to_python = ctypes.PYFUNCTYPE(*to_python)(address("_CONVERT_TO_PY"))

    @contextlib.contextmanager
    def message(self, content: object = None) -> Iterator[int]:
        """Address of a C message with that content, as long as the context lasts."""
        message = self._create()
        if not message:
            raise MemoryError
        try:
            if content is not None and not self._from_python(content, message):
                raise ValueError("no message of this type")
            yield message
        finally:
            self._destroy(message)


@functools.cache
def client_library() -> ClientLibrary | None:
    """``None`` where the C functions are not found; rclpy's own are used then."""
    try:
        return ClientLibrary()
    except (OSError, AttributeError):
        return None


class Nobody(CallbackGroup):
    """Keeps an entity from executors."""

    def can_execute(self, entity: Waitable) -> bool:
        return False

    beginning_execution = ending_execution = can_execute


class WaitingThread:
    """A thread that waits for entities of one node, which the node's executor leaves alone.

    Args:
        count: how many entities of each kind are waited for.
        entity: their handle, which nobody may destroy while it is waited for.
        add: puts them into the wait set.
        look: called in that thread after every wait with the wait set, and with whether the thread
            is to end.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        count: NumberOfEntities,
        entity: Waitable,
        add: Callable[[Waitable], None],
        look: Callable[[_rclpy.WaitSet, Callable[[], bool]], None],
    ) -> None:
        self._entity = entity
        self._add = add
        self._look = look
        self._closed = False
        context = node.context.handle
        with context:
            self._wake = _rclpy.GuardCondition(context)
            kinds = ("subscriptions", "guard_conditions", "timers", "clients", "services", "events")
            counts = [
                getattr(count, f"num_{kind}") + (kind == "guard_conditions") for kind in kinds
            ]
            self._set = _rclpy.WaitSet(*counts, context)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()
        # a thread inside the middleware when the interpreter goes would end with a crash
        atexit.register(self._end)

    def _end(self) -> None:
        self._closed = True
        with contextlib.suppress(_rclpy.InvalidHandle, _rclpy.RCLError):
            self._wake.trigger_guard_condition()
        self._thread.join()

    def end(self) -> bool:
        """End the thread; false if it has been ended before."""
        if self._closed:
            return False
        atexit.unregister(self._end)
        self._end()
        return True

    def _work(self) -> None:
        step_back()
        with contextlib.suppress(_rclpy.InvalidHandle, _rclpy.RCLError), self._entity, self._wake:
            while not self._closed:
                self._set.clear_entities()
                self._add(self._set)
                self._set.add_guard_condition(self._wake)
                self._set.wait(_RETRY)
                self._look(self._set, lambda: self._closed)


class RequestHeader(ctypes.Structure):
    """``rmw_request_id_t`` and some room: nobody looks inside."""

    _fields_ = (("words", ctypes.c_uint64 * 8),)


class GoalRequests:
    """C functions that take and answer requests for goals, and the types of both; an OSError,
    AttributeError or ValueError where there are none.
    """

    def __init__(self, action_type: type[FollowJointTrajectory]) -> None:
        library = client_library()
        if library is None:
            raise OSError("the client library is not found")
        self.library, actions = library, ctypes.CDLL("librcl_action.so")
        self.action_type = action_type
        self.service = action_type.Impl.SendGoalService
        self.request, self.response = (
            MessageType(self.service.Request),
            MessageType(self.service.Response),
        )
        self.take = actions.rcl_action_take_goal_request
        self.answer = actions.rcl_action_send_goal_response
        for function in (self.take, self.answer):
            function.argtypes = [ctypes.c_void_p, ctypes.POINTER(RequestHeader), ctypes.c_void_p]


class ApartActionServer(ActionServer):
    """rclpy's action server with a thread that takes the requests.

    Args:
        read: makes ``(goal_id, goal)`` of the type of requests and a serialized one, in that
            thread; ``goal`` is what the callbacks get instead of a message.  A ``ValueError`` from
            it has the request turned into a message after all.
    """

    # rclpy's
    _is_goal_request_ready: bool

    def __init__(
        self,
        requests: GoalRequests,
        read: _Read,
        node: Node,
        name: str,
        execute: _Execute,
        **options: object,
    ) -> None:
        super().__init__(
            node, requests.action_type, name, execute, callback_group=Nobody(), **options
        )
        self._requests = requests
        self._read = read
        thread = f"requests of {name}"
        count = self.get_num_entities()
        self._taker = WaitingThread(
            node, thread, count, self._handle, self.add_to_wait_set, self._take_ready
        )

    def destroy(self) -> None:
        if self._taker.end():
            super().destroy()

    def _take_ready(self, wait_set: _rclpy.WaitSet, closed: Callable[[], bool]) -> None:
        taken: dict[str, Any] = {}
        try:
            if not self.is_ready(wait_set):
                return
            if self._is_goal_request_ready:
                # the other requests are small: rclpy's way
                self._is_goal_request_ready = False
                goal = self._take_goal()
                if goal is not None:
                    taken["goal"] = goal
            taken.update(self.take_data())
        except _rclpy.InvalidHandle:
            # the server is being taken down
            raise
        # it goes to the executor, as with rclpy's own server
        except Exception as error:  # noqa: BLE001
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
            self._logger.warning(
                f"a request was not answered (the client may have gone away): {error}"
            )

    def _take_goal(self) -> tuple[RequestHeader, object] | None:
        """Header and request, both as rclpy's own method would return them."""
        c = self._requests
        header = RequestHeader()
        with c.request.message() as message:
            if c.take(self._handle.pointer, header, message):
                c.library.forget_error()
                return None
            try:
                goal_id, goal = self._read(
                    c.service.Request, c.library.serialize(c.request, message)
                )
            except ValueError as error:
                # a name that is no UTF-8, for instance, which the message class of Python replaces
                self._logger.debug(f"a goal is read as a message: {error}")
                return header, c.request.to_python(message)
            return header, SimpleNamespace(goal_id=goal_id, goal=goal)

    async def _execute_goal_request(
        self, request_header_and_message: tuple[RequestHeader, SimpleNamespace]
    ) -> None:
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
        c = self._requests
        with c.response.message(
            c.service.Response(accepted=handle is not None, stamp=info.stamp)
        ) as response:
            failed = c.answer(self._handle.pointer, header, response)
        if failed:
            c.library.forget_error()
            self._logger.warning("a goal was not answered: the client may have gone away")
        elif handle is not None:
            self._handle.publish_status()
            self._handle_accepted_callback(handle)


def apart_action_server(
    action_type: type[FollowJointTrajectory],
    read: _Read,
    node: Node,
    name: str,
    execute: _Execute,
    **options: object,
) -> ActionServer:
    """An :class:`ApartActionServer`; rclpy's own where its C functions are not found."""
    try:
        check_for_type_support(action_type)
        # private names of rclpy that the server needs: an AttributeError where they have gone
        _ = _rclpy.ActionServer.pointer, ActionServer._execute_goal_request
        requests = GoalRequests(action_type)
    except (OSError, AttributeError, ValueError):
        return ActionServer(node, action_type, name, execute, **options)
    return ApartActionServer(requests, read, node, name, execute, **options)
