"""Long trajectories while the arm is held: how soon one is accepted, what the commands feel of it.

    python -m benchmarks long_trajectory [--points 1000 10000 100000] [--turns 20] [--rate 500]
    [--action]

The simulator and the controller run in processes of their own; this one sends the message,
serialized beforehand, and reads the controller's log.  With ``--action`` (needs control_msgs) it
sends goals of FollowJointTrajectory, and the time until one is accepted counts from when the client
has handed it to the middleware: rclpy takes seconds to serialize 10⁵ points, in the client's
process.

What counts is the longest time between two commands, by the times at which the controller has
published them, in a window that begins with the sending.  A pause of the machine makes it long as
well, so windows in which nothing arrives come in turns with the others, and the times between joint
states, which the controller has no part in, stand beside: the medians of the windows, and what nine
in ten of them keep.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks._ros import DiagnosticsListener, add_parameters, keep_to_this_machine, ros_missing

ROBOT = "six_axis"
SIMULATOR = "robot_simulator"
CONTROLLER = "computed_torque_controller"
#: Bars: s until accepted, periods from one command to the next.
ACCEPTED = 0.5
LATEST = 2.0
#: s that a window lasts, and that the motion takes.
WINDOW = 0.6
MOTION = 1.0


def trajectory(names: list[str], start: np.ndarray, n: int, duration: float) -> Any:
    """A message of n points with positions and velocities, to and fro, at rest at both ends."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    points = []
    for i in range(1, n + 1):
        phase = 2.0 * np.pi * i / n
        swing = 0.1 * (1.0 - np.cos(phase))
        speed = 0.1 * np.sin(phase) * 2.0 * np.pi / duration
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

        self._publisher = node.create_publisher(
            JointTrajectory, f"{CONTROLLER}/joint_trajectory", QoSProfile(depth=1)
        )

    def prepared(self, message: Any) -> tuple[Callable[[], object], int]:
        """What hands the message to the middleware, and its size in bytes."""
        from rclpy.serialization import serialize_message

        raw = serialize_message(message)
        return lambda: self._publisher.publish(raw), len(raw)


class ByAction:
    """Sends trajectories as goals."""

    def __init__(self, node: Any) -> None:
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionClient

        self._goal = FollowJointTrajectory.Goal
        self._client = ActionClient(
            node, FollowJointTrajectory, f"{CONTROLLER}/follow_joint_trajectory"
        )
        if not self._client.wait_for_server(60.0):
            raise SystemExit("no action server")

    def prepared(self, message: Any) -> tuple[Callable[[], object], int]:
        """As :meth:`ByTopic.prepared`."""
        from rclpy.serialization import serialize_message

        goal = self._goal(trajectory=message)
        return lambda: self._client.send_goal_async(goal), len(serialize_message(goal))


class Published:
    """When the messages of a topic were published, by their publisher.

    They stay with the middleware until they are asked for: this process does nothing while it
    waits.
    """

    def __init__(self, node: Any, kind: type, topic: str) -> None:
        from rclpy.qos import QoSProfile, ReliabilityPolicy

        from robot_dynamics_ros.ros.transport.apart import Nobody

        quality = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(
            kind, topic, lambda _: None, quality, raw=True
        )
        self._subscription.callback_group = Nobody()

    def taken(self) -> list[tuple[int, int]]:
        """(number, ns since 1970) of the messages that have come since."""
        subscription = self._subscription
        messages = []
        while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            messages.append((taken[1]["publication_sequence_number"], taken[1]["source_timestamp"]))
        return messages

    def longest(self, begin: float, end: float) -> float:
        """Longest time, ms, between two messages of which the later one came between two times, s
        since 1970.
        """
        messages = self.taken()
        times = [
            later - earlier
            for (first, earlier), (second, later) in itertools.pairwise(messages)
            if begin <= 1e-9 * later <= end
            # one that was lost on the way is no pause
            and second == first + 1
        ]
        return 1e-6 * max(times)


def accepted_after(controller: Any, sent: float, before: int, timeout: float = 30.0) -> float:
    """s from the wall-clock time ``sent`` until the controller says that it follows a trajectory,
    once more than ``before``.
    """
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        told = re.findall(r"\[(\d+\.\d+)\].*following a trajectory", controller.output())
        if len(told) > before:
            return float(told[before]) - sent
        time.sleep(0.05)
    raise SystemExit(f"not accepted within {timeout:g} s:\n{controller.output()}")


def measure(sizes: list[int], rate: float, turns: int, extra: list[str], action: bool) -> bool:
    """Print a row for each size; whether the bars are met."""
    from robot_dynamics_ros.cli.processes import NodeProcess
    from robot_dynamics_ros.resources import share_directory

    keep_to_this_machine()
    config = share_directory() / "config" / f"{ROBOT}.yaml"
    common = [
        "--ros-args",
        "--params-file",
        str(config),
        "-p",
        f"robot_description_file:={ROBOT}",
        *extra,
    ]
    given = [*common, "-p", f"update_rate:={rate}", "-p", "holding_brakes:=true"]
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder)
        with (
            NodeProcess("simulator", given, log / "simulator.log"),
            NodeProcess("controller", common, log / "controller.log") as controller,
        ):
            listener = DiagnosticsListener()
            try:
                for node in (SIMULATOR, CONTROLLER):
                    listener.wait_for(node, "cycles", 60.0)
                print(
                    f"{ROBOT}, {rate:g} Hz, {os.cpu_count()} processors, load "
                    f"{os.getloadavg()[0]:.1f}"
                )
                print(
                    f"{'longest, ms, median and 90 %:':>29}{'between joint states':>25}"
                    f"{'between commands':>32}"
                )
                print(
                    f"{'points':>8}{'MB':>6}{'accepted':>10}"
                    + f"{'nothing':>16}{'arriving':>16}" * 2
                )
                arrivals = Arrivals(
                    listener.node, controller, (ByAction if action else ByTopic)(listener.node)
                )
                for n in sizes:
                    rows[str(n)] = row = arrivals.row(n, turns)
                    told = [
                        (
                            f"{row[f'{topic}, {what}, median, ms']:.2f} "
                            f"{row[f'{topic}, {what}, 90 %, ms']:6.2f}"
                        ).rjust(16)
                        for topic in ("joint states", "commands")
                        for what in ("nothing", "arriving")
                    ]
                    print(
                        f"{n:8}{row['MB']:6.1f}{row['accepted, s']:8.3f} s" + "".join(told),
                        flush=True,
                    )
                newest = listener.newest(CONTROLLER)
                print(
                    ", ".join(
                        f"{key} {value}"
                        for key, value in newest.items()
                        if key.startswith("count ")
                    )
                )
            finally:
                listener.close()
    period = 1e3 / rate
    arriving = {n: row["commands, arriving, median, ms"] / period for n, row in rows.items()}
    met = all(row["accepted, s"] <= ACCEPTED and arriving[n] <= LATEST for n, row in rows.items())
    print("bars met" if met else "bars not met")
    ratios = {
        f"{n} points, time until accepted over {ACCEPTED} s (less is better)": row["accepted, s"]
        / ACCEPTED
        for n, row in rows.items()
    }
    ratios |= {
        f"{n} points, longest time between two commands over the period (less is better)": x
        for n, x in arriving.items()
    }
    name = "long_trajectory_by_action" if action else "long_trajectory"
    keep(name, ratios)
    write(name, {"turns": turns, "period, ms": period, "points": rows})
    return met


class Arrivals:
    """Windows in which a trajectory arrives, in turns with windows in which nothing does.

    Args:
        node: hears joint states and commands.
        controller: the process.
        way: how trajectories are sent.
    """

    def __init__(self, node: Any, controller: Any, way: ByTopic | ByAction) -> None:
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        import robot_dynamics_ros as rd

        self._model = rd.load_robot(ROBOT)
        self._controller = controller
        self._way = way
        self._sent = 0
        self._topics = {
            "joint states": Published(node, JointState, "joint_states"),
            "commands": Published(node, Float64MultiArray, "effort_controller/commands"),
        }
        for published in self._topics.values():
            while not published.taken():
                time.sleep(0.1)

    def row(self, n: int, turns: int) -> dict[str, float]:
        """Medians, and what nine in ten windows keep."""
        message = trajectory(
            list(self._model.joint_names), self._model.initial_configuration(), n, MOTION
        )
        send, size = self._way.prepared(message)
        accepted = []
        found = {(topic, what): [] for topic in self._topics for what in ("nothing", "arriving")}
        for _ in range(turns):
            for what in ("nothing", "arriving"):
                for published in self._topics.values():
                    published.taken()
                time.sleep(0.2)
                begin = time.time()
                if what == "arriving":
                    send()
                time.sleep(max(0.0, begin + WINDOW + 0.1 - time.time()))
                for topic, published in self._topics.items():
                    found[topic, what].append(published.longest(begin, begin + WINDOW))
            accepted.append(accepted_after(self._controller, begin, self._sent))
            self._sent += 1
            self._wait_for_the_end()
        row = {"MB": 1e-6 * size, "accepted, s": float(np.median(accepted))}
        for (topic, what), times in found.items():
            row[f"{topic}, {what}, median, ms"] = float(np.median(times))
            row[f"{topic}, {what}, 90 %, ms"] = float(np.quantile(times, 0.9))
        return row

    def _wait_for_the_end(self) -> None:
        deadline = time.monotonic() + 30.0
        while self._controller.output().count("trajectory done: goal reached") < self._sent:
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"a trajectory has not come to its goal:\n{self._controller.output()}"
                )
            time.sleep(0.1)


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.long_trajectory", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--points", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rate", type=float, default=500.0, help="joint states a second")
    parser.add_argument("--turns", type=int, default=20, help="windows of either kind")
    parser.add_argument(
        "--action",
        action="store_true",
        help="send goals of FollowJointTrajectory: needs control_msgs",
    )
    add_parameters(parser)
    args = parser.parse_args()
    if ros_missing():
        return 0
    measure(
        args.points,
        args.rate,
        args.turns,
        [word for pair in args.set for word in pair],
        args.action,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
