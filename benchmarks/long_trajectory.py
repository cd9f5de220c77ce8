"""A trajectory of 10⁵ points while the arm is held: how soon it is accepted, what the cycle feels of it.

    python -m benchmarks long_trajectory [--points 1000 10000 100000] [--rate 500] [--action]

The simulator and the controller run in processes of their own; this one sends the message, serialized beforehand, and reads
their diagnostics and the controller's log.  With ``--action`` (needs control_msgs) it sends goals of FollowJointTrajectory,
and the time until one is accepted counts from when the client has handed it to the middleware: rclpy takes seconds to
serialize 10⁵ points, in the client's process.  The longest time between two cycles is the controller's own measurement: of the
time before the trajectory, of that in which it arrives and is accepted, of the motion.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ratios import keep
from benchmarks._ros import DiagnosticsListener, add_parameters, keep_to_this_machine, ros_missing

ROBOT = "six_axis"
SIMULATOR, CONTROLLER = "robot_simulator", "computed_torque_controller"
#: Bars: s until accepted, periods from one cycle to the next.
ACCEPTED, LATEST = 0.5, 2.0
#: Cycles that the diagnostics look back on.
WINDOW = 2048


def trajectory(names: list[str], start: np.ndarray, n: int, duration: float) -> Any:
    """A message of n points with positions and velocities, to and fro, at rest at both ends."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    points = []
    for i in range(1, n + 1):
        phase = 2.0 * np.pi * i / n
        swing, speed = 0.1 * (1.0 - np.cos(phase)), 0.1 * np.sin(phase) * 2.0 * np.pi / duration
        sec, nanosec = divmod(round(1e9 * duration * i / n), 10**9)
        points.append(
            JointTrajectoryPoint(
                positions=(start + swing).tolist(),
                velocities=[0.0 if i == n else speed] * len(names),
                time_from_start=Duration(sec=sec, nanosec=nanosec),
            )
        )
    return JointTrajectory(joint_names=names, points=points)


class ByTopic:
    """Sends trajectories on the controller's topic."""

    def __init__(self, node: Any) -> None:
        from rclpy.qos import QoSProfile
        from trajectory_msgs.msg import JointTrajectory

        self._publisher = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", QoSProfile(depth=1))

    def send(self, message: Any) -> tuple[float, int]:
        """Wall-clock time at which the middleware had the message, and its size in bytes."""
        from rclpy.serialization import serialize_message

        raw = serialize_message(message)
        sent = time.time()
        self._publisher.publish(raw)
        return sent, len(raw)


class ByAction:
    """Sends trajectories as goals."""

    def __init__(self, node: Any) -> None:
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionClient

        self._goal = FollowJointTrajectory.Goal
        self._client = ActionClient(node, FollowJointTrajectory, f"{CONTROLLER}/follow_joint_trajectory")
        if not self._client.wait_for_server(60.0):
            raise SystemExit("no action server")

    def send(self, message: Any) -> tuple[float, int]:
        """As :meth:`ByTopic.send`."""
        from rclpy.serialization import serialize_message

        goal = self._goal(trajectory=message)
        size = len(serialize_message(goal))
        self._client.send_goal_async(goal)
        return time.time(), size


class Longest:
    """The longest time between two cycles of a node, in ms, since it was asked last."""

    def __init__(self, listener: DiagnosticsListener, node: str, rate: float) -> None:
        self._listener, self._node, self._window = listener, node, WINDOW / rate

    def over(self, seconds: float) -> float:
        """Of the next ``seconds``, at least as many as the diagnostics look back on."""
        seconds = max(seconds, 0.0)
        worst, deadline = 0.0, time.monotonic() + seconds + 1.2
        self._listener.listen(min(seconds, self._window) + 1.2)
        while True:
            worst = max(worst, float(self._listener.newest(self._node)["period max [ms]"]))
            left = deadline - time.monotonic()
            if left <= 0.0:
                return worst
            self._listener.listen(min(left, 1.0))


def accepted_after(controller: Any, sent: float, before: int, timeout: float = 30.0) -> float:
    """s from the wall-clock time ``sent`` until the controller says that it follows a trajectory, once more than ``before``."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        told = re.findall(r"\[(\d+\.\d+)\].*following a trajectory", controller.output())
        if len(told) > before:
            return float(told[before]) - sent
        time.sleep(0.05)
    raise SystemExit(f"not accepted within {timeout:g} s:\n{controller.output()}")


def measure(sizes: list[int], rate: float, duration: float, extra: list[str], action: bool) -> bool:
    """Print a row for each size; whether the bars are met."""
    import robot_dynamics_ros as rd
    from robot_dynamics_ros.cli.processes import NodeProcess
    from robot_dynamics_ros.resources import share_directory

    keep_to_this_machine()
    model = rd.load_robot(ROBOT)
    names = list(model.joint_names)
    config = share_directory() / "config" / f"{ROBOT}.yaml"
    common = ["--ros-args", "--params-file", str(config), "-p", f"robot_description_file:={ROBOT}", *extra]
    given = [*common, "-p", f"update_rate:={rate}", "-p", "holding_brakes:=true"]
    met, ratios = True, {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder)
        with (
            NodeProcess("simulator", given, log / "simulator.log"),
            NodeProcess("controller", common, log / "controller.log") as controller,
        ):
            listener = DiagnosticsListener()
            try:
                way = (ByAction if action else ByTopic)(listener.node)
                for node in (SIMULATOR, CONTROLLER):
                    listener.wait_for(node, "cycles", 60.0)
                listener.listen(1.0)
                period = 1e3 / rate
                own = Longest(listener, CONTROLLER, rate)
                print(f"{ROBOT}, {rate:g} Hz, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
                print(
                    f"{'points':>8}{'MB':>7}{'accepted':>11}{'longest period, ms: held':>26}{'accepting':>12}{'moving':>10}{'end':>10}"
                )
                for k, n in enumerate(sizes):
                    message = trajectory(names, model.initial_configuration(), n, duration)
                    time.sleep(1.0)
                    held = own.over(WINDOW / rate)
                    sent, size = way.send(message)
                    took = accepted_after(controller, sent, k)
                    late = own.over(0.5)
                    moving = own.over(duration)
                    end = "reached" if controller.output().count("trajectory done: goal reached") == k + 1 else "MISSED"
                    print(
                        f"{n:8}{size / 1e6:7.1f}{took:9.3f} s{held:26.2f}{late:12.2f}{moving:10.2f}{end:>10}",
                        flush=True,
                    )
                    met = met and took <= ACCEPTED and late <= LATEST * period and end == "reached"
                    ratios[f"{n} points, time until accepted over {ACCEPTED} s (less is better)"] = took / ACCEPTED
                    ratios[f"{n} points, longest time between two cycles over the period (less is better)"] = (
                        late / period
                    )
                told = listener.newest(CONTROLLER)
                print(", ".join(f"{key} {value}" for key, value in told.items() if key.startswith("count ")))
            finally:
                listener.close()
    print("bars met" if met else "bars not met")
    keep("long_trajectory_by_action" if action else "long_trajectory", ratios)
    return met


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_trajectory", description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rate", type=float, default=500.0, help="joint states a second")
    parser.add_argument("--duration", type=float, default=10.0, help="of the motion, s")
    parser.add_argument("--action", action="store_true", help="send goals of FollowJointTrajectory: needs control_msgs")
    add_parameters(parser)
    args = parser.parse_args()
    if ros_missing():
        return 0
    measure(args.points, args.rate, args.duration, [word for pair in args.set for word in pair], args.action)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
