"""What three mechanisms of our own are worth, each against the ordinary way: ``python -m
benchmarks.mechanisms``.

- Serialized messages read and written in place (``ros/transport/cdr.py``), against message objects
  of rclpy.
- The focused executor, against rclpy's ``SingleThreadedExecutor``: processor time of the
  controller's process a state.
- Compiled loops over the tree, against straight lines, for chains of links: time to compile, and a
  call.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ros import keep_to_this_machine


def _least(call: Callable[[], Any], number: int, repeat: int = 15) -> float:
    """Least µs a call over some repetitions."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter_ns()
        for _ in range(number):
            call()
        best = min(best, (time.perf_counter_ns() - start) / number)
    return best * 1e-3


def messages() -> None:
    """Joint state in, efforts out: bytes in place against message objects."""
    from rclpy.serialization import deserialize_message, serialize_message
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from robot_dynamics_ros.ros.transport.cdr import JointStateReader, Template, marks

    names = [f"joint_{k}" for k in range(6)]
    message = JointState(name=names, position=[0.1] * 6, velocity=[0.2] * 6, effort=[0.3] * 6)
    message.header.stamp.sec = 1
    raw = serialize_message(message)
    reader = JointStateReader(names)
    order = {name: k for k, name in enumerate(names)}
    state = np.zeros((3, 6))

    def by_object() -> None:
        found = deserialize_message(raw, JointState)
        rows = [order[name] for name in found.name]
        state[0][rows] = found.position
        state[1][rows] = found.velocity
        state[2][rows] = found.effort
        if not np.isfinite(state).all():
            raise ValueError

    mark = marks(6)
    template = Template(Float64MultiArray(data=mark), mark)
    (block,) = template.blocks
    efforts = np.linspace(0.0, 1.0, 6)

    def write_in_place() -> bytes:
        block[:] = efforts
        return template.bytes()

    rows = (
        ("joint state in", _least(lambda: reader.read(raw), 2000), _least(by_object, 2000)),
        (
            "efforts out",
            _least(write_in_place, 2000),
            _least(lambda: serialize_message(Float64MultiArray(data=efforts.tolist())), 2000),
        ),
    )
    print(f"{'six joints, µs':24}{'in place':>10}{'message objects':>18}{'saved':>10}")
    for name, own, other in rows:
        print(f"{name:24}{own:10.1f}{other:18.1f}{other - own:10.1f}")


def executors(seconds: float) -> None:
    """Processor time of the controller's process for each joint state, with either executor."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    import robot_dynamics_ros as rd
    from robot_dynamics_ros.cli.processes import NodeProcess

    model = rd.load_robot("six_axis")
    names = ("focused", "single_threaded")
    context = Context()
    rclpy.init(args=[], context=context)
    node = Node("robot", context=context, enable_rosout=False, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    publishers = {
        name: node.create_publisher(JointState, f"/{name}/joint_states", QoSProfile(depth=1))
        for name in names
    }
    state = JointState(
        name=list(model.joint_names),
        position=model.initial_configuration().tolist(),
        velocity=[0.0] * model.nv,
        effort=[0.0] * model.nv,
    )

    def used(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    with tempfile.TemporaryDirectory() as folder:
        processes = {
            name: NodeProcess(
                "controller",
                [
                    "--ros-args",
                    "-r",
                    f"__ns:=/{name}",
                    "-p",
                    "robot_description_file:=six_axis",
                    "-p",
                    f"executor:={name}",
                ],
                Path(folder) / f"{name}.log",
            )
            for name in names
        }
        try:
            answered = dict.fromkeys(names, 0)
            for name in names:

                def count(_raw: bytes, name: str = name) -> None:
                    answered[name] += 1

                node.create_subscription(
                    Float64MultiArray,
                    f"/{name}/effort_controller/commands",
                    count,
                    QoSProfile(depth=50),
                    raw=True,
                )

            def play(duration: float) -> int:
                sent = 0
                due = time.monotonic()
                end = time.monotonic() + duration
                while time.monotonic() < end:
                    state.header.stamp = node.get_clock().now().to_msg()
                    for name in names:
                        publishers[name].publish(state)
                    sent = sent + 1
                    due = due + 0.002
                    executor.spin_once(timeout_sec=0.0)
                    time.sleep(max(0.0, due - time.monotonic()))
                return sent

            deadline = time.monotonic() + 60.0
            while not all(answered.values()) and time.monotonic() < deadline:
                play(0.2)
            if not all(answered.values()):
                raise SystemExit("a controller does not answer")
            before = {name: used(processes[name].pid) for name in names}
            sent = play(seconds)
            figures = {
                name: (used(processes[name].pid) - before[name]) / sent * 1e6 for name in names
            }
        finally:
            for process in processes.values():
                process.stop()
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    print(
        f"\n{'µs of processor a state at 500 Hz':36}{'focused':>10}{'single-threaded':>18}"
        f"{'saved':>10}"
    )
    own = figures["focused"]
    other = figures["single_threaded"]
    print(f"{'controller, six axes':36}{own:10.0f}{other:18.0f}{other - own:10.0f}")


def loops() -> None:
    """Forward dynamics of chains, as loops and as straight lines."""
    import robot_dynamics_ros as rd

    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    print(
        f"\n{'forward dynamics':20}{'loops: compile':>16}{'a call':>10}{'straight: compile':>20}"
        f"{'a call':>10}"
    )
    for n in (5, 10, 20, 40):
        cells = []
        for backend in ("loops", "native"):
            model = rd.chain(n).with_backend(backend)
            rng = np.random.default_rng(n)
            q, v, tau, out = (rng.uniform(-1.0, 1.0, model.nv) for _ in range(4))
            start = time.perf_counter()
            run = rd.kernel(model, "forward_dynamics")
            run(q, v, tau, out)
            cells += [
                f"{time.perf_counter() - start:.2f} s",
                f"{_least(lambda: run(q, v, tau, out), 500):.2f} µs",  # noqa: B023
            ]
        print(
            f"{f'chain of {n}':20}{cells[0]:>16}{cells[1]:>10}{cells[2]:>20}{cells[3]:>10}",
            flush=True,
        )


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mechanisms", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="length of the executor's run")
    args = parser.parse_args()
    keep_to_this_machine()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print("messages and executors skipped: ROS 2 is not installed")
    else:
        messages()
        executors(args.seconds)
    loops()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
