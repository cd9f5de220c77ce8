"""Recordings made for tests."""

from __future__ import annotations

import numpy as np
import pytest


def write_bag(path, model, t, q, effort):
    """Joint states of a robot with two joints, without velocities, the joints in another order than
    the model's.
    """
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(
            "/joint_states", "sensor_msgs/msg/JointState", typestore=store
        )
        for k, time in enumerate(t):
            nanosec = round(time * 1e9) + 10**18
            stamp = types["builtin_interfaces/msg/Time"](
                sec=nanosec // 10**9, nanosec=nanosec % 10**9
            )
            # as any broadcaster may
            order = [1, 0]
            message = types["sensor_msgs/msg/JointState"](
                header=types["std_msgs/msg/Header"](stamp=stamp, frame_id=""),
                name=[model.joint_names[i] for i in order],
                position=q[k, order],
                velocity=np.empty(0),
                effort=effort[k, order],
            )
            writer.write(
                connection, nanosec, store.serialize_cdr(message, "sensor_msgs/msg/JointState")
            )
