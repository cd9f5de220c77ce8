"""Messages through the middleware's C functions."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.serialization import deserialize_message
from std_msgs.msg import UInt8MultiArray

pytestmark = pytest.mark.middleware


def test_a_message_of_python_goes_through_c_and_back():
    from rclpy.type_support import check_for_type_support

    from robot_dynamics_ros.ros.transport.client_library import ClientLibrary, MessageType

    try:
        library = ClientLibrary()
    except OSError:
        pytest.skip("the client library is not found by its name here")
    check_for_type_support(UInt8MultiArray)
    kind, sent = MessageType(UInt8MultiArray), UInt8MultiArray(data=bytes(range(200)))
    with kind.message(sent) as message:
        assert kind.to_python(message) == sent
        raw = library.serialize(kind, message)
    assert deserialize_message(bytes(raw), UInt8MultiArray) == sent  # outlives the C message
