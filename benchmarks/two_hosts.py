"""Controller and robot on two hosts with a bad network between them: ``python -m
benchmarks.two_hosts [--loss 0.1] …``.

Two network namespaces stand for the hosts, each with one network interface (TUN).  This process
carries every packet
between the two: it loses some, delays each by a random time, so that they also overtake one
    another, and for a while
lets nothing through.  That is what ``tc qdisc … netem loss 10% delay 5ms 5ms`` does, but needs no
kernel module.  The simulator runs on one host, the controller on the other; they find each other by
``ROS_STATIC_PEERS``.

Told is, for a network without faults, with loss and delay, and with a cut besides: how far the arm
is from its reference, how old the states are, how long the arm goes on with the last effort once
the network is cut, and how soon it is held again.  Needs Linux, root (or user namespaces) and
/dev/net/tun; without them it is skipped with the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import heapq
import itertools
import json
import os
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ros import ros_missing

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
ADDRESSES = {"robot": "10.213.77.1", "controller": "10.213.77.2"}
ROBOT = "six_axis"
#: Larger differences between reference and arm count as not held, rad.
HELD = 0.02


class Unavailable(Exception):
    """This machine does not let us make network namespaces."""


class Host:
    """A network namespace with one interface; what is started by :meth:`run` lives in it."""

    def __init__(self, name: str, peer: str) -> None:
        self.name = name
        self._thread = ThreadPoolExecutor(1)
        self.tun: int = self._thread.submit(self._set_up).result()
        self.environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "ROS_DOMAIN_ID": "7",
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_STATIC_PEERS": ADDRESSES[peer],
            # the hosts are one machine: shared memory would go past the network
            "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
        }

    def _set_up(self) -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET):
            raise Unavailable(f"no network namespace: {os.strerror(ctypes.get_errno())}")
        try:
            tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"net0", IFF_TUN | IFF_NO_PI))
        except OSError as error:
            raise Unavailable(f"no TUN interface: {error}") from None
        try:
            for command in (
                "ip link set lo up",
                f"ip addr add {ADDRESSES[self.name]}/24 dev net0",
                "ip link set net0 up",
            ):
                subprocess.run(command.split(), check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Unavailable(f"the interface cannot be set up: {error}") from None
        return tun

    def run(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a process on this host."""

        def start() -> subprocess.Popen[bytes]:
            with open(log, "wb") as output:
                return subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self.environment,
                )

        return self._thread.submit(start).result()

    def close(self) -> None:
        os.close(self.tun)
        self._thread.shutdown()


class Network(threading.Thread):
    """Carries packets between two TUN interfaces.

    Args:
        a, b: the interfaces.
        seed: of losses and delays.

    Attributes:
        loss: share of the packets that are lost.
        delay: shortest and longest time that a packet takes, s.
        cut: whether nothing gets through.
    """

    def __init__(self, a: int, b: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._ends = {a: b, b: a}
        self._random = random.Random(seed)
        self.loss = 0.0
        self.delay = (0.0, 0.0)
        self.cut = False
        self._over = False
        self.carried = self.lost = 0

    def run(self) -> None:
        waiting: list[tuple[float, int, int, bytes]] = []
        count = 0
        while not self._over:
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, end, packet = heapq.heappop(waiting)
                self._write(end, packet)
            timeout = min(0.05, waiting[0][0] - now) if waiting else 0.05
            for end in select.select(list(self._ends), [], [], max(timeout, 0.0))[0]:
                packet = os.read(end, 65536)
                if self.cut or self._random.random() < self.loss:
                    self.lost += 1
                    continue
                self.carried += 1
                count += 1
                heapq.heappush(
                    waiting,
                    (
                        time.monotonic() + self._random.uniform(*self.delay),
                        count,
                        self._ends[end],
                        packet,
                    ),
                )

    @staticmethod
    def _write(end: int, packet: bytes) -> None:
        # the interface's queue is full: as on any network, the packet is lost
        with contextlib.suppress(OSError):
            os.write(end, packet)

    def end(self) -> None:
        self._over = True
        self.join()


# -- what runs on the hosts beside the nodes -------------------------------------------------------


def watch(kind: str, seconds: float, out: str) -> None:
    """Write down what this host sees: ``states`` at the robot, or errors and goals at the
    controller; moves the arm.
    """
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = Node(f"watch_{kind}")
    rows: list[tuple[float, float, list[float]]] = []

    def stamp(message: Any) -> float:
        return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)

    def note(message: JointState) -> None:
        values = message.effort if kind == "robot" else message.position
        rows.append((time.time(), stamp(message), list(values)))

    topic = "joint_states" if kind == "robot" else "computed_torque_controller/error"
    node.create_subscription(JointState, topic, note, qos_profile_sensor_data)
    if kind == "controller":
        move(node, seconds)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    Path(out).write_text(json.dumps(rows))
    node.destroy_node()
    rclpy.shutdown()


def move(node: Any, seconds: float) -> None:
    """Send trajectories to and fro, one after the other."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    import robot_dynamics_ros as rd

    model = rd.load_robot(ROBOT)
    home = model.initial_configuration()
    publisher = node.create_publisher(
        JointTrajectory, "computed_torque_controller/joint_trajectory", 1
    )
    target = [0.0]

    def go() -> None:
        target[0] = 0.4 if target[0] <= 0.0 else 0.0
        zeros = [0.0] * model.nv
        point = JointTrajectoryPoint(
            positions=(home + target[0]).tolist(),
            velocities=zeros,
            accelerations=zeros,
            time_from_start=Duration(sec=2),
        )
        publisher.publish(JointTrajectory(joint_names=list(model.joint_names), points=[point]))

    node.create_timer(2.5, go)


# -- the measurement -------------------------------------------------------------------------------


def measure(
    hosts: dict[str, Host], network: Network, args: argparse.Namespace, folder: Path, cut: bool
) -> None:
    """Run both nodes for a while and print what came of it."""
    python = [sys.executable, "-m"]
    node = [*python, "robot_dynamics_ros.ros.main"]
    given = ["--ros-args", "-p", f"robot_description_file:={ROBOT}"]
    robot = hosts["robot"]
    other = hosts["controller"]
    simulator = [
        *node,
        "simulator",
        *given,
        "-p",
        f"update_rate:={args.rate}",
        "-p",
        "holding_brakes:=true",
    ]
    nodes = [
        robot.run(simulator, folder / "simulator.log"),
        other.run([*node, "controller", *given], folder / "controller.log"),
    ]
    watchers = []
    began = ended = 0.0
    try:
        time.sleep(args.settle)
        for host in (robot, other):
            command = [
                *python,
                "benchmarks.two_hosts",
                "--watch",
                host.name,
                "--seconds",
                str(args.seconds),
            ]
            watchers.append(
                host.run(
                    [*command, "--out", str(folder / host.name)], folder / f"watch_{host.name}.log"
                )
            )
        time.sleep(args.seconds / 2)
        if cut:
            began = time.time()
            network.cut = True
            time.sleep(args.cut)
            ended = time.time()
            network.cut = False
        for process in watchers:
            process.wait(args.seconds + 30.0)
    finally:
        for process in (*watchers, *nodes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in (*watchers, *nodes):
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    report(folder, began, ended)


def report(folder: Path, began: float, ended: float) -> None:
    """Print the figures of one run."""
    efforts, errors = (json.loads((folder / name).read_text()) for name in ("robot", "controller"))
    if not errors or not efforts:
        for log in sorted(folder.glob("*.log")):
            print(f"{log.name}: {log.read_text(errors='replace')[-800:]}")
        raise SystemExit("the nodes did not find each other")
    size = np.array([np.abs(e).max() for _, _, e in errors])
    when = np.array([t for t, _, _ in errors])
    age = np.array([t - s for t, s, _ in errors]) * 1e3
    steady = np.ones(len(when), bool) if not ended else (when < began) | (when > ended + 3.0)
    print(
        f"  tracking error: root mean square {np.sqrt((size[steady] ** 2).mean()):.5f} rad, "
        "largest "
        f"{size[steady].max():.5f} rad ({steady.sum()} samples)"
    )
    print(
        f"  state to reference topic: median {np.median(age):.1f} ms, 99 % "
        f"{np.percentile(age, 99):.1f} ms"
    )
    acting = np.array([t for t, _, e in efforts if np.abs(e).max() > 1e-9])
    idle = np.array([t for t, _, e in efforts if np.abs(e).max() <= 1e-9])
    stopped = idle[idle > began][:1] if ended else idle
    meanwhile = np.array(
        [np.abs(e).max() <= 1e-9 for t, _, e in efforts if len(acting) and t > acting[0]]
    )
    gaps = [sum(1 for _ in run) for no_effort, run in itertools.groupby(meanwhile) if no_effort]
    print(
        f"  once held, states without effort: {meanwhile.sum()} of {len(meanwhile)}, at most "
        f"{max(gaps, default=0)} in a row"
    )
    print(f"  largest effort: {max(np.abs(e).max() for _, _, e in efforts):.1f} N m")
    if ended:
        back = acting[acting > ended]
        after = when > ended
        held = when[after & (size < HELD)]
        print(
            f"  effort zero {(stopped[0] - began) * 1e3:.0f} ms after the cut began"
            if len(stopped)
            else "  never zero"
        )
        print(
            f"  first effort {(back[0] - ended) * 1e3:.0f} ms after it ended"
            if len(back)
            else "  no effort any more"
        )
        print(
            f"  held within {HELD} rad {(held[0] - ended) * 1e3:.0f} ms after"
            if len(held)
            else "  not held any more"
        )
        print(f"  largest error after it {size[after].max():.4f} rad" if after.any() else "")


def main() -> int:
    """Print the figures of three runs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.two_hosts", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--loss", type=float, default=0.1, help="share of the packets that are lost"
    )
    parser.add_argument(
        "--delay", type=float, nargs=2, default=(0.0, 0.01), help="shortest and longest delay, s"
    )
    parser.add_argument("--cut", type=float, default=2.0, help="how long nothing gets through, s")
    parser.add_argument("--rate", type=float, default=250.0, help="joint states a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each run")
    parser.add_argument(
        "--settle",
        type=float,
        default=10.0,
        help="before each run, for the nodes to find each other, s",
    )
    parser.add_argument("--watch", choices=tuple(ADDRESSES), help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if ros_missing():
        return 0
    if args.watch:
        watch(args.watch, args.seconds, args.out)
        return 0
    try:
        hosts = {"robot": Host("robot", "controller"), "controller": Host("controller", "robot")}
    except Unavailable as error:
        print(f"skipped: {error}; run it as root, or within: unshare --user --map-root-user")
        return 0
    network = Network(hosts["robot"].tun, hosts["controller"].tun, seed=1)
    network.start()
    try:
        low, high = args.delay
        for title, loss, delay, cut in (
            ("a good network", 0.0, (0.0, 0.0), False),
            (
                f"{args.loss:.0%} lost, {low * 1e3:g} to {high * 1e3:g} ms delay",
                args.loss,
                args.delay,
                False,
            ),
            (f"the same, and nothing at all for {args.cut:g} s", args.loss, args.delay, True),
        ):
            network.loss = loss
            network.delay = tuple(delay)
            network.carried = 0
            network.lost = 0
            print(f"{title}: {ROBOT}, {args.rate:g} states a second, {args.seconds:g} s")
            with tempfile.TemporaryDirectory() as folder:
                measure(hosts, network, args, Path(folder), cut)
            print(f"  packets carried {network.carried}, lost {network.lost}", flush=True)
    finally:
        network.end()
        for host in hosts.values():
            host.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
