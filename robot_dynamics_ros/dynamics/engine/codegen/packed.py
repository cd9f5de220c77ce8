"""Numbers in packed messages: at multiples of four bytes, in this machine's byte order.

Routines (:mod:`~robot_dynamics_ros.dynamics.engine.routines`) may call these functions; compiled,
each is one instruction.  The
message is long enough: whoever hands it in has seen to that.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

Packed: TypeAlias = Any
"""Parameter of routines: the bytes of a message."""

_number = struct.Struct("=d")
_word = struct.Struct("=I")


def number(message: Packed, i: int) -> float:
    """The double that begins at the ``i``-th four bytes."""
    return float(_number.unpack_from(message, 4 * i)[0])


def word(message: Packed, i: int) -> int:
    """The ``i``-th four bytes as a number that is not negative."""
    return int(_word.unpack_from(message, 4 * i)[0])


def put_number(message: Packed, i: int, value: float) -> None:
    """Write a double at the ``i``-th four bytes."""
    _number.pack_into(message, 4 * i, value)


def put_word(message: Packed, i: int, value: int) -> None:
    """Write the ``i``-th four bytes; ``value`` is from 0 to 2³² − 1."""
    _word.pack_into(message, 4 * i, value)
