"""From a joint state to an effort: how many files, classes and Python calls one control cycle of
the node passes through.

The node runs in this process, without a peer; one serialized joint state is handed to its callback
under a profiler. Counted is the Python of this package only, once everything optional (wrench
topics, observers) has nobody listening: until the command is handed to the middleware, and until
the callback ends.  The files of the cycle's routines, which run compiled in the node, are seen by
running them as they are written.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any


def _cycle() -> tuple[Counter[str], Counter[str], int, set[str]]:
    import rclpy
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    import robot_dynamics_ros as rd
    from robot_dynamics_ros.ros.controller.node import ControllerNode

    package = str(Path(rd.__file__).parent)
    path = rd.robot_path("six_axis")
    rclpy.init(args=["--ros-args", "-p", f"robot_description_file:={path}"])
    node = ControllerNode()
    subscription: Any = next(s for s in node.subscriptions if s.topic_name.endswith("joint_states"))
    joints = list(rd.load_robot("six_axis").joint_names)
    files: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    calls = 0
    until_sent: set[str] = set()

    def state(stamp: int) -> bytes:
        message = JointState(name=joints, position=[0.1] * 6, velocity=[0.0] * 6, effort=[0.0] * 6)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        return serialize_message(message)

    def seen(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls, until_sent
        if (
            event == "call"
            and frame.f_code.co_name == "publish"
            and "rclpy" in frame.f_code.co_filename
        ):
            until_sent = until_sent or set(files)
        if event == "call" and frame.f_code.co_filename.startswith(package):
            calls += 1
            files[str(Path(frame.f_code.co_filename).relative_to(package))] += 1
            if "self" in frame.f_locals:
                classes[type(frame.f_locals["self"]).__name__] += 1

    try:
        # settle: the first cycles activate and compile
        for k in range(1, 200):
            subscription.callback(state(k * 2_000_000))
        raw = state(200 * 2_000_000)
        sys.setprofile(seen)
        subscription.callback(raw)
        sys.setprofile(None)
    finally:
        sys.setprofile(None)
        node.finish()
        node.destroy_node()
        rclpy.shutdown()
    return files, classes, calls, until_sent


def _routine_files() -> set[str]:
    """Files of the routines that one cycle runs through."""
    import numpy as np

    import robot_dynamics_ros as rd

    model = rd.load_robot("six_axis").with_backend("numpy")
    controller = rd.JointController(model)
    q = model.initial_configuration()
    v = np.zeros(6)
    controller.activate(0, q, v)
    controller.update(1_000_000, q, v)
    package = Path(rd.__file__).parent
    files: set[str] = set()

    def seen(frame: FrameType, event: str, _argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if (
            event == "call"
            and path.parent == package / "control" / "cycle"
            and "p" in frame.f_locals
        ):
            files.add(str(path.relative_to(package)))

    sys.setprofile(seen)
    controller.update(2_000_000, q, v)
    sys.setprofile(None)
    return files | {"control/cycle/message.py"}


def main() -> int:
    """Print the figures."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", "97")
    os.environ.setdefault("ROS_LOG_DIR", tempfile.mkdtemp())
    files, classes, calls, until_sent = _cycle()
    routines = _routine_files()
    print(
        f"one joint state, six_axis: {len(files)} files, {len(classes)} classes, {calls} Python "
        "calls"
    )
    print(
        f"from message to message: {len(until_sent | routines)} files, {len(routines)} of them "
        "routines\n"
    )
    for name in sorted(until_sent | routines):
        print(f"  {name}")
    print("\nPython calls until the callback ends")
    for name, count in sorted(files.items()):
        print(f"  {name:<50}{count:>4} calls")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
