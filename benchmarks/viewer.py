"""What the viewer costs: ``python -m benchmarks viewer``.

The controller's round trip, from a joint state to efforts, in blocks, in turns in one run:

- alone;
- beside a subscriber that takes every joint state and does nothing with it (any second reader costs
  the middleware);
- with the viewer (a process that shows six joints and all their wrenches), no page open;
- with the viewer and one page, whose messages are taken and not drawn: the viewer's own work;
- with the viewer and a real browser that draws the page, where one is installed.

The bars: medians 1.05 of those alone; 99th percentiles 1.15 of those beside the subscriber, or of
    those alone.  A browser
without a graphics processor draws on the same processors; its row has no bar.

Then pictures a second that the viewer makes of a moving arm, bar 24, the processor time that a
state costs with nobody, one and two watching, and how its memory grows over so many (``--blocks
0``: this alone).  With ``--minutes 10``, memory of a viewer node that shows a moving robot to one
page for so long, which must not grow by more than 3 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks._ros import keep_to_this_machine
from benchmarks.round_trip import measure
from benchmarks.soak import GROWTH, Use

BAR_MEDIAN = 1.05
BAR_99 = 1.15
BAR_PICTURES = 24.0
SECOND = "a second subscriber"
VIEWER = "the viewer"
PAGE = "the viewer, one page"
BROWSER = "the viewer, a browser"
WAYS = ("alone", SECOND, VIEWER, PAGE, BROWSER)
KEPT = ("median, µs", "99th percentile, µs", "processor time of the controller a state, µs")
SETTLE = 2.0
"""s from the last start of a process to the first round trip: discovery, first pictures."""


def page(address: str) -> None:
    """What a page takes: every message of the viewer, not drawn."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    with connect(
        address.replace("http", "ws", 1),
        subprotocols=[f"viser-v{viser.__version__}"],
        max_size=None,
        proxy=None,
    ) as socket:
        camera = {
            "wxyz": (1.0, 0.0, 0.0, 0.0),
            "position": (1.0, 1.0, 1.0),
            "fov": 1.0,
            "near": 0.1,
            "far": 100.0,
            "image_height": 400,
            "image_width": 600,
            "look_at": (0.0, 0.0, 0.0),
            "up_direction": (0.0, 0.0, 1.0),
        }
        socket.send(msgspec.msgpack.encode({"type": "ViewerCameraMessage", **camera}))
        print("open", flush=True)
        for _ in socket:
            pass


def second_subscriber(topic: str) -> None:
    """Take every joint state, and do nothing with it."""
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    rclpy.init()
    node = Node("second_subscriber")
    node.create_subscription(JointState, topic, lambda state: None, qos_profile_sensor_data)
    print("open", flush=True)
    rclpy.spin(node)


def browser(address: str) -> None:
    """A browser that draws the page, as fast as it can."""
    from robot_dynamics_ros.view.headless import Browser

    with Browser(1280, 800) as drawing:
        drawing.go(address)
        if drawing.wait("document.querySelector('canvas') !== null", 60.0):
            print("open", flush=True)
        while True:
            drawing.rest(60.0)


class Beside:
    """Something beside, in a process of its own: one of the functions above.

    Use as a context manager.
    """

    def __init__(self, what: str, argument: str) -> None:
        command = [sys.executable, "-m", "benchmarks.viewer", f"--{what}", argument]
        # as with programs of different terminals, the scheduler shares between it and the others,
        # not among its threads
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"open\n":
            self.close()
            raise SystemExit(f"{what} does not start")

    def close(self) -> None:
        """End it, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> Beside:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Watching:
    """A viewer of one robot, with a page open, a browser, or neither.  Use as a context manager."""

    def __init__(self, namespace: str, folder: str, by: str = "page") -> None:
        from robot_dynamics_ros.cli.processes import NodeProcess

        arguments = [
            "--ros-args",
            "-p",
            f"robots:=[{namespace}]",
            "-p",
            "robot_description_file:=six_axis",
        ]
        with ExitStack() as begun:
            self.node = begun.enter_context(
                NodeProcess("viewer", [*arguments, "-p", "port:=0"], Path(folder) / "viewer.log")
            )
            if not self.node.wait_for_output("in a browser", 60.0):
                raise SystemExit(self.node.output())
            if by:
                begun.enter_context(
                    Beside(by, "http" + self.node.output().split("open http", 1)[1].split()[0])
                )
            self._close = begun.pop_all()

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self._close.close()


@contextlib.contextmanager
def beside(way: str, folder: str) -> Iterator[None]:
    """One of :data:`WAYS`, beside a controller in the namespace ``controller``."""
    with ExitStack() as begun:
        if way == SECOND:
            begun.enter_context(Beside("subscriber", "/controller/joint_states"))
        elif way != "alone":
            by = {VIEWER: "", PAGE: "page", BROWSER: "browser"}[way]
            begun.enter_context(Watching("controller", folder, by))
        time.sleep(SETTLE)
        yield


def processor_time(pid: int) -> float:
    """User and system time of a process, s: unlike a round trip, it does not depend on what else
    the machine does.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def round_trip(
    cycles: int, blocks: int, ways: Sequence[str]
) -> dict[str, tuple[np.ndarray, float]]:
    """Way → µs of round trips, and µs of the controller's processor time per state."""
    from robot_dynamics_ros.cli.processes import NodeProcess

    keep_to_this_machine()
    controller = [
        "--ros-args",
        "-r",
        "__ns:=/controller",
        "-p",
        "robot_description_file:=six_axis",
        "-p",
        "state_timeout:=30.0",
    ]
    found: dict[str, list[np.ndarray]] = {way: [] for way in ways}
    spent = dict.fromkeys(ways, 0.0)
    with (
        tempfile.TemporaryDirectory() as folder,
        NodeProcess("controller", controller, Path(folder) / "controller.log") as robot,
    ):
        measure("six_axis", 200, ("controller",))
        for number in range(blocks):
            for way in ways if number % 2 == 0 else ways[::-1]:
                with beside(way, folder):
                    before = processor_time(robot.pid)
                    found[way].append(measure("six_axis", cycles, ("controller",))["controller"])
                    spent[way] += processor_time(robot.pid) - before
    states = blocks * (cycles + 200)
    return {way: (np.concatenate(found[way]), 1e6 * spent[way] / states) for way in ways}


def report(trips: dict[str, tuple[np.ndarray, float]]) -> dict[str, dict[str, float]]:
    """Print what was measured beside the bars; way → figures."""
    rows = {
        way: {
            "median, µs": float(np.nanpercentile(times, 50)),
            "99th percentile, µs": float(np.nanpercentile(times, 99)),
            "unanswered": float(np.isnan(times).sum()),
            "processor time of the controller a state, µs": spent,
        }
        for way, (times, spent) in trips.items()
    }
    alone = rows["alone"]
    second = rows.get(SECOND, rows["alone"])
    print(
        f"round trip, {next(iter(trips.values()))[0].size} each, {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"{'':24}{'median':>10}{'to alone':>10}{'99 %':>10}{'to alone':>10}{'to second':>11}"
        f"{'controller':>12}"
    )
    for way, row in rows.items():
        median = row["median, µs"]
        late = row["99th percentile, µs"]
        ratios = (
            median / alone["median, µs"],
            late / alone["99th percentile, µs"],
            late / second["99th percentile, µs"],
        )
        met = ratios[0] <= BAR_MEDIAN and min(ratios[1:]) <= BAR_99
        verdict = (
            "" if way in ("alone", SECOND, BROWSER) else "  bars met" if met else "  bars missed"
        )
        print(
            f"{way:24}{median:7.0f} µs{ratios[0]:10.2f}{late:7.0f} "
            f"µs{ratios[1]:10.2f}{ratios[2]:11.2f}"
            f"{row['processor time of the controller a state, µs']:9.0f} µs{verdict}"
        )
    return rows


def resident() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def pictures(count: int) -> dict[str, Any]:
    """Pictures a second of a moving arm with all its wrenches, what one costs with nobody, one and
    two watching, and memory.  Printed and returned.
    """
    import robot_dynamics_ros as rd

    spent: dict[str, float] = {}
    marks = []
    with rd.view(rd.load_robot("six_axis"), port=0) as viewer, ExitStack() as watching:
        source = viewer.robots[0].source
        turn = np.arange(6)
        for number, who in enumerate(("nobody", "one page", "two pages")):
            if number:
                watching.enter_context(Beside("page", viewer.address))
                while len(viewer.pages) < number:
                    time.sleep(0.05)
            before = time.process_time()
            for k in range(count):
                source.set(0.5 * np.sin(0.02 * k + turn), 0.5 * np.ones(6), np.ones(6))
                viewer.update()
                if k % (count // 6) == 0:
                    marks.append(resident())
            spent[who] = 1e3 * (time.process_time() - before) / count
            print(f"a state, {who:9}: {spent[who]:.2f} ms of processor; memory {resident():.0f} MB")
            if number == 1:
                stop = time.monotonic() + 5.0
                shown = viewer.pictures
                k = 0
                while time.monotonic() < stop:
                    source.set(0.5 * np.sin(0.02 * k + turn), 0.5 * np.ones(6), np.ones(6))
                    k += 1
                    time.sleep(0.005)
                rate = (viewer.pictures - shown) / 5.0
                met = "met" if rate >= BAR_PICTURES else "missed"
                print(f"pictures, paced: {rate:.1f} per s (bar {BAR_PICTURES:g}: {met})")
    return {
        "pictures a second": rate,
        "a state, ms of processor": spent,
        "pictures": 3 * count,
        "memory before, MB": marks[0],
        "memory after, MB": resident(),
    }


def memory(minutes: float) -> dict[str, Any]:
    """Memory, threads and file handles of a viewer that shows a moving robot to one page.

    Printed and returned.
    """
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState

    import robot_dynamics_ros as rd

    keep_to_this_machine()
    names = list(rd.load_robot("six_axis").joint_names)
    rclpy.init(args=[])
    node = Node("robot", enable_rosout=False, start_parameter_services=False)
    publisher = node.create_publisher(JointState, "/one/joint_states", QoSProfile(depth=1))
    with tempfile.TemporaryDirectory() as folder, Watching("one", folder) as viewer:
        use = Use(viewer.node.pid)
        begin = due = time.monotonic()
        # once everything has been made that is made once
        sample = begin + min(20.0, 6.0 * minutes)
        while (now := time.monotonic()) < begin + 60.0 * minutes:
            t = now - begin
            q = 0.5 * np.sin(t + np.arange(6))
            v = 0.5 * np.cos(t + np.arange(6))
            state = JointState(
                name=names, position=q.tolist(), velocity=v.tolist(), effort=v.tolist()
            )
            state.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(state)
            if now >= sample:
                use.read(t)
                sample += max(0.1 * minutes, 0.5)
            due = max(due + 0.01, now)
            time.sleep(due - now)
    node.destroy_node()
    rclpy.try_shutdown()
    grown, threads, handles = use.grown()
    rows = [row[1] for row in use.rows]
    print(
        f"memory over {minutes:g} min with one page, MB: {rows[0]:.1f} first, {rows[-1]:.1f} "
        f"last, {max(rows):.1f} most; "
        f"grown {grown:+.2f} (bar {GROWTH:g}: {'met' if grown <= GROWTH else 'missed'}), threads "
        f"{threads:+d}, handles {handles:+d}"
    )
    return {
        "minutes": minutes,
        "memory after the first seconds, MB": rows[0],
        "memory at the end, MB": rows[-1],
        "memory at most, MB": max(rows),
        "grown, MB": grown,
        "threads grown": threads,
        "file handles grown": handles,
        "samples, MB": rows,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.viewer", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--cycles", type=int, default=1500, help="round trips in a block")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument(
        "--pictures", type=int, default=1500, help="0: round trips only, nothing written"
    )
    parser.add_argument("--minutes", type=float, default=0.0, help="of memory, measured alone")
    parser.add_argument(
        "--ways",
        help="parts of the names of what is measured beside 'alone', with commas; all if not given",
    )
    jobs = {"page": page, "browser": browser, "subscriber": second_subscriber}
    for job in jobs:
        parser.add_argument(f"--{job}", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for job, work in jobs.items():
        if (argument := getattr(args, job)) is not None:
            work(argument)
            return 0
    try:
        import rclpy  # noqa: F401
        import viser  # noqa: F401

        from robot_dynamics_ros.view.headless import find_browser
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    if args.minutes:
        write("viewer_memory", memory(args.minutes))
        return 0
    wanted = args.ways.split(",") if args.ways else [""]
    ways = [way for way in WAYS if way == "alone" or any(part in way for part in wanted)]
    if find_browser() is None and BROWSER in ways:
        ways.remove(BROWSER)
        print("no browser is installed; the page is not drawn")
    rows = report(round_trip(args.cycles, args.blocks, ways)) if args.blocks else {}
    if PAGE in rows:
        keep(
            "viewer",
            {
                f"{what} with the viewer over {way} (less is better)": rows[PAGE][what]
                / rows[base][what]
                for way, base in (("without", "alone"), ("with a second subscriber", SECOND))
                if base in rows
                for what in KEPT
            },
        )
    if args.pictures:
        trips = {"cycles": args.cycles * args.blocks, "round trip": rows} if rows else {}
        write("viewer", trips | pictures(args.pictures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
