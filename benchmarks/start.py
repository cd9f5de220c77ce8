"""From the start of the controller's process to its first command: ``python -m benchmarks.start
[--times N]``.

This process publishes joint states a hundred times a second and starts the controller, with an
empty cache of machine code (cold) and with a full one (warm), and takes the time until the first
command is here and the processor's time that the process has used by then.  An empty rclpy node
that answers joint states is started alike, in turns with it: what Python, rclpy and discovery take.
Each is started once beforehand, so that byte code is there as in an installed package, whatever
PYTHONDONTWRITEBYTECODE says.  The bars are 0.8 s warm and 2 s cold for six_axis, and 2 s of
processor for a chain of 20 joints, cold.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks._ros import keep_to_this_machine, ros_missing

PERIOD = 0.01
BARS = {
    "six_axis, warm": ("seconds", 0.8),
    "six_axis, cold": ("seconds", 2.0),
    "chain of 20, cold": ("processor", 2.0),
}
ECHO = [sys.executable, "-c", "from benchmarks.round_trip import echo; echo()"]
EMPTY = "empty rclpy node"


class Robot:
    """Publishes joint states, hears commands."""

    def __init__(self, joints: tuple[str, ...], namespace: str) -> None:
        import rclpy
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self._node = Node(
            "robot",
            namespace=namespace,
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._publisher = self._node.create_publisher(
            JointState, "joint_states", qos_profile_sensor_data
        )
        self._heard = 0.0
        self._node.create_subscription(
            Float64MultiArray,
            "effort_controller/commands",
            self._on_command,
            qos_profile_sensor_data,
        )
        zeros = [0.0] * len(joints)
        self._state = JointState(name=list(joints), position=zeros, velocity=zeros, effort=zeros)

    def _on_command(self, _message: Any) -> None:
        self._heard = self._heard or time.monotonic()

    def first_command(
        self, start: Callable[[], subprocess.Popen[bytes]], timeout: float = 60.0
    ) -> tuple[float, float]:
        """Seconds from the start of a process to its first command, and the processor's seconds
        that it took.
        """
        self._heard = 0.0
        begin = time.monotonic()
        process = start()
        try:
            due = begin
            while not self._heard:
                now = time.monotonic()
                if now > begin + timeout:
                    raise SystemExit(f"no command within {timeout:g} s")
                if now >= due:
                    self._state.header.stamp = self._node.get_clock().now().to_msg()
                    self._publisher.publish(self._state)
                    due = now + PERIOD
                self._executor.spin_once(timeout_sec=max(0.0, due - now))
            return self._heard - begin, processor_time(process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            # a node that ends has a last command, which is not the next one's first
            last = time.monotonic() + 0.5
            while time.monotonic() < last:
                self._executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()


def processor_time(pid: int) -> float:
    """Seconds of processor that a process has used, with those of its children that have ended."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(x) for x in words[11:15]) / os.sysconf("SC_CLK_TCK")


def rows(times: int) -> dict[str, dict[str, float]]:
    """Medians by row: seconds, and seconds of processor."""
    import robot_dynamics_ros as rd

    found: dict[str, list[tuple[float, float]]] = {}
    quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)

    def measure(robot: Robot, command: list[str], cache: Path) -> tuple[float, float]:
        environment = {
            **os.environ,
            "ROBOT_DYNAMICS_CACHE": str(cache),
            "PYTHONPYCACHEPREFIX": str(folder / "python"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return robot.first_command(lambda: subprocess.Popen(command, env=environment, **quiet))

    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        models = {"six_axis": rd.load_robot("six_axis"), "chain of 20": rd.chain(20)}
        empty = Robot(("joint",), "echo")
        measure(empty, ECHO, folder)
        for name, model in models.items():
            robot = Robot(model.joint_names, "")
            urdf = folder / f"{name}.urdf"
            urdf.write_text(rd.to_urdf(model))
            given = ["--ros-args", "-p", f"robot_description_file:={urdf}"]
            command = [sys.executable, "-m", "robot_dynamics_ros.ros.main", "controller", *given]
            measure(robot, command, folder / f"{name} before")
            for k in range(times):
                for state in ("cold", "warm"):
                    found.setdefault(f"{name}, {state}", []).append(
                        measure(robot, command, folder / f"{name} {k}")
                    )
                found.setdefault(EMPTY, []).append(measure(empty, ECHO, folder))
            robot.close()
        empty.close()
    return {
        name: dict(zip(("seconds", "processor"), np.median(pairs, axis=0).tolist(), strict=True))
        for name, pairs in found.items()
    }


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.start", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--times", type=int, default=5, help="how often each is started")
    options = parser.parse_args()
    if ros_missing():
        return 0
    keep_to_this_machine()
    print(f"start to first command, medians of {options.times}; load {os.getloadavg()[0]:.1f}\n")
    table = rows(options.times)
    print(f"{'':20}{'s':>8}{'s of processor':>18}{'÷ empty node':>16}")
    empty = table[EMPTY]
    for name, row in table.items():
        bar = ""
        ratio = row["seconds"] / empty["seconds"]
        if name in BARS:
            of, most = BARS[name]
            bar = f"   {of} at most {most:g}: {'yes' if row[of] <= most else 'missed'}"
        print(f"{name:20}{row['seconds']:8.2f}{row['processor']:18.2f}{ratio:16.2f}{bar}")
    ratios = {
        f"{name}, {of}: over an empty rclpy node": row[of] / empty[of]
        for name, row in table.items()
        for of in row
        if row is not empty
    }
    keep("start", ratios)
    write("start", {"times": options.times, "rows": table})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
