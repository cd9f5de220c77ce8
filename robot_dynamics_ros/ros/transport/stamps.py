"""Times of messages as integers: nanoseconds of the clock that they are of."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time

from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS


def to_nanoseconds(time: Time | Duration) -> int:
    """``builtin_interfaces/Time`` or ``Duration`` as ns."""
    return int(time.sec) * NANOSECONDS + int(time.nanosec)


def to_time(stamp: int) -> Time:
    """ns as ``builtin_interfaces/Time``."""
    return Time(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)
