"""How soon the arm is held again after a node was killed: ``python -m benchmarks.restart [--times
N] [--robot NAME]``.

Simulator (with brakes) and controller run in processes of their own and the arm moves; one of the
two is killed with SIGKILL and started again.  Told is, in wall time: from the start of the new
process to its first message, which is Python's imports for the most; from there until the arm is at
rest, carried by the controller; and the largest effort meanwhile. The bar is 1 s for the second of
these.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ros import keep_to_this_machine, ros_missing

BAR = 1.0
GIVEN = {
    "simulator": [
        "-p",
        "update_rate:=500.0",
        "-p",
        "holding_brakes:=true",
        "-p",
        "command_timeout:=0.1",
    ],
    "controller": ["-p", "state_timeout:=0.1"],
}


class Watch:
    """Hears both nodes; knows whether the arm is held."""

    def __init__(self, robot: str) -> None:
        import rclpy
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        import robot_dynamics_ros as rd

        self.model = rd.load_robot(robot)
        self._gravity = rd.gravity_forces
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self.node = Node(
            "watch", context=self._context, enable_rosout=False, start_parameter_services=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.state: Any = None
        self.first_state = self.first_command = self.largest = 0.0
        self.node.create_subscription(
            JointState, "joint_states", self._on_state, qos_profile_sensor_data
        )
        self.node.create_subscription(
            Float64MultiArray,
            "effort_controller/commands",
            self._on_command,
            qos_profile_sensor_data,
        )
        self._trajectories = self.node.create_publisher(
            JointTrajectory, "computed_torque_controller/joint_trajectory", 1
        )

    def _on_state(self, message: Any) -> None:
        self.state = message
        self.first_state = self.first_state or time.monotonic()

    def _on_command(self, message: Any) -> None:
        if np.any(message.data):
            self.first_command = self.first_command or time.monotonic()
        self.largest = max(
            self.largest, float(np.max(np.abs(np.array(message.data) / self.model.effort_limit)))
        )

    def forget(self) -> None:
        """What was heard so far."""
        self.state = None
        self.first_state = 0.0
        self.first_command = 0.0
        self.largest = 0.0

    def wait(self, condition: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
        """Listen until something is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(f"waited {seconds:g} s in vain for {what}")
            self._executor.spin_once(timeout_sec=0.02)

    def held(self) -> bool:
        """At rest, by efforts that carry the weight."""
        if self.state is None or not np.any(self.state.effort):
            return False
        weight = self._gravity(self.model, np.array(self.state.position))
        near = 0.02 * self.model.effort_limit
        return bool(
            (np.abs(np.array(self.state.effort) - weight) < near).all()
            and np.abs(self.state.velocity).max() < 0.02
        )

    def move(self) -> None:
        """Set the arm in motion."""
        from builtin_interfaces.msg import Duration
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        self.wait(self.held, "the arm to be held")
        self.wait(self._trajectories.get_subscription_count, "the controller to listen")
        q = np.array(self.state.position)
        goal = np.where(q > 0.0, q - 0.5, q + 0.5)
        point = JointTrajectoryPoint(
            positions=goal.tolist(), velocities=[0.0] * len(goal), time_from_start=Duration(sec=3)
        )
        self._trajectories.publish(
            JointTrajectory(joint_names=list(self.model.joint_names), points=[point])
        )
        self.wait(lambda: np.abs(self.state.velocity).max() > 0.15, "the arm to move")

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.restart", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--times", type=int, default=5, help="how often each node is killed")
    parser.add_argument("--robot", default="two_link", help="a robot that ships with the package")
    args = parser.parse_args()
    if ros_missing():
        return 0
    from robot_dynamics_ros.cli.processes import NodeProcess

    keep_to_this_machine()
    print(
        f"{args.robot}, {args.times} times each, {os.cpu_count()} processors, load "
        f"{os.getloadavg()[0]:.1f}"
    )
    print(f"{'killed':12}{'start to first message':>26}{'then held':>22}{'largest effort':>18}")
    late = False
    with tempfile.TemporaryDirectory() as folder:

        def start(name: str) -> NodeProcess:
            given = ["--ros-args", "-p", f"robot_description_file:={args.robot}", *GIVEN[name]]
            return NodeProcess(name, given, Path(folder) / f"{name}.log")

        nodes = {name: start(name) for name in GIVEN}
        watch = Watch(args.robot)
        try:
            for victim in nodes:
                rows = []
                for _ in range(args.times):
                    watch.move()
                    nodes[victim].send(signal.SIGKILL)
                    nodes[victim].wait(10.0)
                    quiet = time.monotonic() + 1.0
                    watch.wait(lambda quiet=quiet: time.monotonic() > quiet, "a second")
                    watch.forget()
                    began = time.monotonic()
                    nodes[victim] = start(victim)
                    heard = "first_command" if victim == "controller" else "first_state"
                    watch.wait(lambda heard=heard: getattr(watch, heard), f"the {victim}")
                    watch.wait(watch.held, "the arm to be held")
                    first = getattr(watch, heard)
                    rows.append((first - began, time.monotonic() - first, watch.largest))
                started, held, effort = np.median(rows, axis=0)
                worst = max(row[1] for row in rows)
                late = late or worst > BAR
                print(
                    f"{victim:12}{started:18.2f} s median{held:8.2f} s median, {worst:.2f} s worst"
                    f"{effort:8.0%} of the limit"
                )
        finally:
            watch.close()
            for node in nodes.values():
                node.stop(signal.SIGTERM, 5.0)
    print(f"held within {BAR:g} s: {'missed' if late else 'yes'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
