"""The controller's round trip beside an empty node: ``python -m benchmarks.round_trip [--cycles N]
[--runs N] [--robot NAME]``.

Three processes: the controller; an rclpy node that answers every ``sensor_msgs/JointState`` with a
``std_msgs/Float64MultiArray`` and does nothing else; and this one, which sends a state to each of
the two in turn and
takes the time until the answer is here.  What this process and the middleware need is in both
figures.  The bars are 1.15 for the medians and 1.25 for the 99th percentiles.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks._ros import keep_to_this_machine, ros_missing

BARS = {50: 1.15, 99: 1.25}
NAMES = ("controller", "echo")


def echo() -> None:
    """The empty node."""
    import contextlib

    import rclpy
    from rclpy.executors import ExternalShutdownException
    from rclpy.node import Node
    from rclpy.qos import QoSProfile, qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    rclpy.init()
    node = Node("echo", namespace="echo")
    publisher = node.create_publisher(
        Float64MultiArray, "effort_controller/commands", QoSProfile(depth=1)
    )
    node.create_subscription(
        JointState,
        "joint_states",
        lambda state: publisher.publish(Float64MultiArray(data=state.effort)),
        qos_profile_sensor_data,
    )
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)


def measure(robot: str, cycles: int, names: Sequence[str] = NAMES) -> dict[str, np.ndarray]:
    """µs from state to answer, of whatever answers in the namespaces ``names``, taken in turns."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.qos import QoSProfile, qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    import robot_dynamics_ros as rd

    model = rd.load_robot(robot)
    context = Context()
    rclpy.init(args=[], context=context)
    node = Node("robot", context=context, enable_rosout=False, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    arrived = dict.fromkeys(names, 0)
    publishers = {}
    for name in names:

        def note(_raw: bytes, name: str = name) -> None:
            arrived[name] = time.perf_counter_ns()

        publishers[name] = node.create_publisher(
            JointState, f"/{name}/joint_states", QoSProfile(depth=1)
        )
        node.create_subscription(
            Float64MultiArray,
            f"/{name}/effort_controller/commands",
            note,
            qos_profile_sensor_data,
            raw=True,
        )
    state = JointState(
        name=list(model.joint_names),
        position=model.initial_configuration().tolist(),
        velocity=[0.0] * model.nv,
        effort=[0.0] * model.nv,
    )

    def trip(name: str, timeout: float) -> float:
        state.header.stamp = node.get_clock().now().to_msg()
        arrived[name] = 0
        start = time.perf_counter_ns()
        publishers[name].publish(state)
        deadline = start + round(timeout * 1e9)
        while not arrived[name]:
            left = deadline - time.perf_counter_ns()
            if left <= 0:
                return float("nan")
            executor.spin_once(timeout_sec=left * 1e-9)
        return (arrived[name] - start) * 1e-3

    for name in names:
        begin = time.monotonic()
        good = 0
        while good < 200:
            good += not np.isnan(trip(name, 0.2))
            if time.monotonic() - begin > 60.0:
                raise SystemExit(f"no answers from {name}")
    times: dict[str, list[float]] = {name: [] for name in names}
    for i in range(cycles):
        for name in names if i % 2 else names[::-1]:
            times[name].append(trip(name, 1.0))
            time.sleep(0.002)
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    return {name: np.array(values) for name, values in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.round_trip", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--cycles", type=int, default=3000)
    parser.add_argument(
        "--runs", type=int, default=1, help="each with new processes; their mean is written"
    )
    parser.add_argument("--robot", default="six_axis", help="a robot that ships with the package")
    parser.add_argument("--echo", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.echo:
        echo()
        return 0
    if ros_missing():
        return 0
    keep_to_this_machine()
    runs = [one_run(args.robot, args.cycles) for _ in range(args.runs)]
    table = {label: [run[label] for run in runs] for label in runs[0]}
    write(
        "round_trip",
        {
            "cycles": args.cycles,
            "runs": args.runs,
            "percentiles": {
                label: {
                    "controller, µs": float(np.mean([own for own, _ in pairs])),
                    "empty node, µs": float(np.mean([other for _, other in pairs])),
                    "ratio, least": min(own / other for own, other in pairs),
                    "ratio, largest": max(own / other for own, other in pairs),
                }
                for label, pairs in table.items()
            },
        },
    )
    own = {
        label: float(np.median([own / other for own, other in pairs]))
        for label, pairs in table.items()
    }
    keep(
        "round_trip",
        {
            f"{args.robot}, controller over an empty node, {what} (less is better)": x
            for what, x in own.items()
        },
    )
    return 0


def one_run(robot: str, cycles: int) -> dict[str, tuple[float, float]]:
    """Percentile → µs of the controller and of the empty node, in new processes; printed beside the
    bars.
    """
    from robot_dynamics_ros.cli.processes import NodeProcess

    arguments = [
        "--ros-args",
        "-r",
        "__ns:=/controller",
        "-p",
        f"robot_description_file:={robot}",
        "-p",
        "state_timeout:=30.0",
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        NodeProcess("controller", arguments, Path(folder) / "controller.log"),
    ):
        empty = subprocess.Popen([sys.executable, "-m", "benchmarks.round_trip", "--echo"])
        try:
            times = measure(robot, cycles)
        finally:
            empty.terminate()
            empty.wait(10)
    lost = {name: int(np.isnan(t).sum()) for name, t in times.items()}
    print(
        f"{robot}, {cycles} cycles each in turns, {os.cpu_count()} processors, load "
        f"{os.getloadavg()[0]:.1f}; "
        f"unanswered: {lost}"
    )
    print(f"{'':16}{'controller':>14}{'empty node':>14}{'ratio':>8}{'bar':>7}")
    met = True
    found = {}
    for percent, bar in BARS.items():
        own, other = (float(np.nanpercentile(times[name], percent)) for name in NAMES)
        met = met and own / other <= bar
        label = "median" if percent == 50 else f"{percent}th percentile"
        found[label] = own, other
        print(f"{label:16}{own:11.0f} µs{other:11.0f} µs{own / other:8.2f}{bar:7.2f}")
    print("bars met" if met else "bars not met")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
