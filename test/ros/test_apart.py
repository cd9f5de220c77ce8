"""Messages serialized by the middleware's C function."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.serialization import deserialize_message
from std_msgs.msg import UInt8MultiArray

pytestmark = pytest.mark.middleware


def test_a_message_of_python_is_serialized_in_c():
    from rclpy.type_support import check_for_type_support

    from robot_dynamics_ros.ros.transport.apart import MessageType, client_library

    library = client_library()
    if library is None:
        pytest.skip("the client library is not found by its name here")
    check_for_type_support(UInt8MultiArray)
    kind = MessageType(UInt8MultiArray)
    sent = UInt8MultiArray(data=bytes(range(200)))
    with kind.message(sent) as message:
        raw = library.serialize(kind, message)
    # outlives the C message
    assert deserialize_message(bytes(raw), UInt8MultiArray) == sent
