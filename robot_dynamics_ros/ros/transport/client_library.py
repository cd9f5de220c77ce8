"""The C functions of the ROS client library that rclpy has loaded: called without the interpreter's lock.

rclpy holds the lock while it takes or publishes a message, so that no other thread of Python runs meanwhile.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from typing import Any

__all__ = ["ClientLibrary", "SerializedMessage", "client_library"]


class Allocator(ctypes.Structure):
    """``rcutils_allocator_t``."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero_allocate", "state")
    )


class SerializedMessage(ctypes.Structure):
    """``rcutils_uint8_array_t``."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", Allocator),
    )


class ClientLibrary:
    """The C functions of the client library that rclpy has loaded.

    Raises:
        OSError, AttributeError: the libraries or functions are not found.
    """

    def __init__(self) -> None:
        rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")
        pointer = ctypes.POINTER(SerializedMessage)
        self._allocator = rcutils.rcutils_get_default_allocator
        self._allocator.restype, self._allocator.argtypes = Allocator, []
        self._take = rcl.rcl_take_serialized_message
        self._take.argtypes = [ctypes.c_void_p, pointer, ctypes.c_void_p, ctypes.c_void_p]
        self._publish = rcl.rcl_publish_serialized_message
        self._publish.argtypes = [ctypes.c_void_p, pointer, ctypes.c_void_p]
        self._free = rcutils.rcutils_uint8_array_fini
        self._free.argtypes = [pointer]
        self._forget_error = rcutils.rcutils_reset_error
        self._forget_error.restype, self._forget_error.argtypes = None, []

    def take(self, subscription: int) -> Any:
        """A view of the next serialized message of the ``rcl_subscription_t`` at that address, or ``None``.  Its memory is
        given back with the last view of it."""
        message = SerializedMessage(allocator=self._allocator())
        if self._take(subscription, message, None, None) or not message.length:
            self._forget_error()
            self._free(message)
            return None
        data = (ctypes.c_ubyte * message.length).from_address(message.buffer)
        weakref.finalize(data, self._free, message).atexit = False
        return memoryview(data).cast("B")

    def message(self, buffer: bytearray) -> SerializedMessage:
        """A serialized message in a buffer of Python's, which must outlive it and stay where it is."""
        address = ctypes.addressof(ctypes.c_ubyte.from_buffer(buffer))
        return SerializedMessage(address, len(buffer), len(buffer), self._allocator())

    def publish(self, publisher: int, message: SerializedMessage) -> None:
        """Publish with the ``rcl_publisher_t`` at that address; what cannot be published is lost, as it is in the middleware."""
        if self._publish(publisher, message, None):
            self._forget_error()


@functools.cache
def client_library() -> ClientLibrary | None:
    """``None`` where the C functions are not found; rclpy's own are used then."""
    try:
        return ClientLibrary()
    except (OSError, AttributeError):
        return None
