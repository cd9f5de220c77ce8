"""Messages taken by a thread of their own, through the middleware's C function and through
rclpy's.
"""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import UInt8MultiArray

from robot_dynamics_ros.ros.transport import apart

pytestmark = pytest.mark.middleware


@pytest.mark.parametrize("direct", [True, False], ids=["C function", "rclpy"])
def test_large_messages_arrive_whole_in_order_and_in_another_thread(peer, monkeypatch, direct):
    if not direct:
        monkeypatch.setattr(apart, "client_library", lambda: None)
    elif apart.client_library() is None:
        pytest.skip("the client library is not found by its name here")
    arrived: list[tuple[object, threading.Thread]] = []
    subscription = apart.ApartSubscription(
        peer.node,
        UInt8MultiArray,
        "large",
        10,
        lambda raw: arrived.append((raw, threading.current_thread())),
    )
    publisher = peer.publisher(UInt8MultiArray, "large", 10)
    peer.subscribed(publisher)
    sent = [
        UInt8MultiArray(data=bytes([k]) * size) for k, size in enumerate((3, 3_000_000, 0, 200_000))
    ]
    for message in sent:
        publisher.publish(serialize_message(message))
    peer.wait(lambda: len(arrived) == len(sent), "all messages")
    assert [deserialize_message(bytes(raw), UInt8MultiArray) for raw, _ in arrived] == sent
    assert {thread for _, thread in arrived}.isdisjoint({threading.main_thread()})

    subscription.destroy()
    # a second time does no harm
    subscription.destroy()
    assert not any(thread.is_alive() for _, thread in arrived)
    assert peer.node.count_subscribers("large") == 0 or not list(peer.node.subscriptions)
    # their memory outlives the subscription
    assert [bytes(raw)[:2] for raw, _ in arrived]


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
