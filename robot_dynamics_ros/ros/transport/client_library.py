"""The C functions of the ROS client library that rclpy has loaded: called without the interpreter's lock.

rclpy holds the lock while it takes a message, so that no other thread of Python runs meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from control_msgs.action import FollowJointTrajectory


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
    """The C functions of the client library that rclpy has loaded; an OSError or AttributeError where they are not found."""

    def __init__(self) -> None:
        rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")
        pointer = ctypes.POINTER(SerializedMessage)
        self._allocator = rcutils.rcutils_get_default_allocator
        self._allocator.restype, self._allocator.argtypes = Allocator, []
        self._take = rcl.rcl_take_serialized_message
        self._take.argtypes = [ctypes.c_void_p, pointer, ctypes.c_void_p, ctypes.c_void_p]
        # of the middleware that the client library is linked with, whichever that is
        self._serialize = rcl.rmw_serialize
        self._serialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, pointer]
        self._free = rcutils.rcutils_uint8_array_fini
        self._free.argtypes = [pointer]
        #: after a C function that has failed, so that the next failure of this thread is not taken for a second one
        self.forget_error = rcutils.rcutils_reset_error
        self.forget_error.restype, self.forget_error.argtypes = None, []

    def take(self, subscription: int) -> memoryview | None:
        """A view of the next serialized message of the ``rcl_subscription_t`` at that address, or ``None``.  Its memory is
        given back with the last view of it."""
        message = SerializedMessage(allocator=self._allocator())
        if self._take(subscription, message, None, None) or not message.length:
            self.forget_error()
            self._free(message)
            return None
        return self._view(message)

    def _view(self, message: SerializedMessage) -> memoryview:
        data = (ctypes.c_ubyte * message.length).from_address(message.buffer)
        weakref.finalize(data, self._free, message).atexit = False
        return memoryview(data).cast("B")

    def serialize(self, message_type: MessageType, message: int) -> memoryview:
        """The C message at that address, serialized; as a view as of :meth:`take`."""
        serialized = SerializedMessage(allocator=self._allocator())
        if self._serialize(message, message_type.support, serialized):
            self.forget_error()
            self._free(serialized)
            raise ValueError("the middleware cannot serialize this message")
        return self._view(serialized)


class MessageType:
    """The C functions that belong to a message class of Python, which rclpy uses too; here they run without the interpreter's lock.

    The class, its type support loaded, without such functions is an AttributeError or ValueError.  ``support`` is the address of
    its ``rosidl_message_type_support_t``.
    """

    def __init__(self, message_type: type) -> None:
        pointer, pointer_of = ctypes.c_void_p, ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = pointer, [ctypes.py_object, ctypes.c_char_p]

        def address(name: str) -> int:
            return int(pointer_of(getattr(message_type, name), None))

        self.support = address("_TYPE_SUPPORT")
        self._create = ctypes.CFUNCTYPE(pointer)(address("_CREATE_ROS_MESSAGE"))
        self._destroy = ctypes.CFUNCTYPE(None, pointer)(address("_DESTROY_ROS_MESSAGE"))
        # these two make and read objects of Python, so they keep the lock
        from_python, to_python = (ctypes.c_bool, ctypes.py_object, pointer), (ctypes.py_object, pointer)
        self._from_python = ctypes.PYFUNCTYPE(*from_python)(address("_CONVERT_FROM_PY"))
        #: the object of Python for a C message
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


class RequestHeader(ctypes.Structure):
    """``rmw_request_id_t`` and some room: nobody looks inside."""

    _fields_ = (("words", ctypes.c_uint64 * 8),)


class GoalRequests:
    """The requests for goals that an action server has, taken and answered by C functions; an OSError, AttributeError or
    ValueError where these are not found, or the action has no type support loaded."""

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
        """Take the next request of the ``rcl_action_server_t`` at that address into a C message: what :meth:`answer` needs, or
        ``None`` if there is no request."""
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


@functools.cache
def client_library() -> ClientLibrary | None:
    """``None`` where the C functions are not found; rclpy's own are used then."""
    try:
        return ClientLibrary()
    except (OSError, AttributeError):
        return None
