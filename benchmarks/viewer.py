"""What the viewer costs: ``python -m benchmarks viewer``.

The controller's round trip, from a joint state to efforts, in blocks without and with the viewer attached (a third process
that shows six joints and all their wrenches to one page), in turns in one run: the ratio of the medians, bar 1.05, and of
the 99th percentiles.  Then pictures a second that the viewer makes of a moving arm, bar 24, what one costs, and how its
memory grows over so many.  With ``--minutes 10``, memory of a viewer node that shows a moving robot to one page for so long,
which must not grow by more than 3 MB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._results import write
from benchmarks._ros import keep_to_this_machine
from benchmarks.round_trip import measure
from benchmarks.soak import GROWTH, Use

BAR_ROUND_TRIP, BAR_PICTURES = 1.05, 24.0


def page(address: str) -> None:
    """What a page takes: every message of the viewer, not drawn."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    with connect(
        address.replace("http", "ws", 1), subprotocols=[f"viser-v{viser.__version__}"], max_size=None, proxy=None
    ) as socket:
        camera = {
            "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "fov": 1.0, "near": 0.1, "far": 100.0,
            "image_height": 400, "image_width": 600, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
        }  # fmt: skip
        socket.send(msgspec.msgpack.encode({"type": "ViewerCameraMessage", **camera}))
        print("open", flush=True)
        for _ in socket:
            pass


class Page:
    """A page in a process of its own.  Use as a context manager."""

    def __init__(self, address: str) -> None:
        command = [sys.executable, "-m", "benchmarks.viewer", "--page", address]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"open\n":
            raise SystemExit("the page cannot be opened")

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


class Watching:
    """A viewer of one robot, with a page open.  Use as a context manager."""

    def __init__(self, namespace: str, folder: str) -> None:
        from robot_dynamics_ros.cli.processes import NodeProcess

        arguments = ["--ros-args", "-p", f"robots:=[{namespace}]", "-p", "robot_description_file:=six_axis"]
        self._close = ExitStack()
        self.node = self._close.enter_context(
            NodeProcess("viewer", [*arguments, "-p", "port:=0"], Path(folder) / "viewer.log")
        )
        if not self.node.wait_for_output("in a browser", 60.0):
            raise SystemExit(self.node.output())
        self._close.enter_context(Page("http" + self.node.output().split("open http", 1)[1].split()[0]))

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self._close.close()


def processor_time(pid: int) -> float:
    """User and system time of a process, s: unlike a round trip, it does not depend on what else the machine does."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def round_trip(cycles: int, blocks: int) -> tuple[np.ndarray, np.ndarray, dict[bool, float]]:
    """µs of round trips without and with the viewer, and of the controller's processor time per state."""
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
    found: dict[bool, list[np.ndarray]] = {False: [], True: []}
    spent = {False: 0.0, True: 0.0}
    with (
        tempfile.TemporaryDirectory() as folder,
        NodeProcess("controller", controller, Path(folder) / "controller.log") as robot,
    ):
        measure("six_axis", 200, ("controller",))

        def block(watched: bool) -> None:
            before = processor_time(robot.pid)
            found[watched].append(measure("six_axis", cycles, ("controller",))["controller"])
            spent[watched] += processor_time(robot.pid) - before

        for _ in range(blocks):
            block(False)
            with Watching("controller", folder):
                time.sleep(1.0)
                block(True)
    states = blocks * (cycles + 200)
    return (
        np.concatenate(found[False]),
        np.concatenate(found[True]),
        {watched: 1e6 * seconds / states for watched, seconds in spent.items()},
    )


def resident() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def pictures(count: int) -> dict[str, float]:
    """Pictures a second of a moving arm with all its wrenches; memory.  Printed and returned."""
    import robot_dynamics_ros as rd

    arm = rd.load_robot("six_axis")
    with rd.view(arm, port=0) as viewer:
        source = viewer.robots[0].source
        with Page(viewer.address):  # without one nothing is drawn
            stop = time.monotonic() + 5.0
            shown, k = viewer.pictures, 0
            while time.monotonic() < stop:
                source.set(0.5 * np.sin(0.02 * k + np.arange(6)), 0.5 * np.ones(6), np.ones(6))
                k += 1
                time.sleep(0.005)
        rate = (viewer.pictures - shown) / 5.0
        print(
            f"pictures, paced: {rate:.1f} per s (bar {BAR_PICTURES:g}: {'met' if rate >= BAR_PICTURES else 'missed'})"
        )
        marks = []
        begin = time.perf_counter()
        for k in range(count):
            source.set(0.5 * np.sin(0.02 * k + np.arange(6)), 0.5 * np.ones(6), np.ones(6))
            viewer.update()
            if k % (count // 6) == 0:
                marks.append(resident())
        spent = time.perf_counter() - begin
        print(f"one picture: {1e3 * spent / count:.2f} ms of computing")
        print(f"memory over {count} pictures, MB: {' '.join(f'{m:.0f}' for m in marks)}")
    return {
        "pictures a second": rate,
        "one picture, ms": 1e3 * spent / count,
        "pictures": count,
        "memory before, MB": marks[0],
        "memory after, MB": resident(),
    }


def memory(minutes: float) -> dict[str, Any]:
    """Memory, threads and file handles of a viewer that shows a moving robot to one page.  Printed and returned."""
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
        sample = begin + min(20.0, 6.0 * minutes)  # once everything has been made that is made once
        while (now := time.monotonic()) < begin + 60.0 * minutes:
            t = now - begin
            q, v = 0.5 * np.sin(t + np.arange(6)), 0.5 * np.cos(t + np.arange(6))
            state = JointState(name=names, position=q.tolist(), velocity=v.tolist(), effort=v.tolist())
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
        f"memory over {minutes:g} min with one page, MB: {rows[0]:.1f} first, {rows[-1]:.1f} last, {max(rows):.1f} most; "
        f"grown {grown:+.2f} (bar {GROWTH:g}: {'met' if grown <= GROWTH else 'missed'}), threads {threads:+d}, handles {handles:+d}"
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, default=1500, help="round trips in a block")
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--pictures", type=int, default=1500)
    parser.add_argument("--minutes", type=float, default=0.0, help="of memory, measured alone")
    parser.add_argument("--page", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.page:
        page(args.page)
        return 0
    try:
        import rclpy  # noqa: F401
        import viser  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    if args.minutes:
        write("viewer_memory", memory(args.minutes))
        return 0
    without, watched, spent = round_trip(args.cycles, args.blocks)
    print(
        f"processor time of the controller per state: {spent[False]:.0f} µs without, {spent[True]:.0f} µs with the viewer: "
        f"ratio {spent[True] / spent[False]:.2f}"
    )
    for percent in (50, 99):
        a, b = np.nanpercentile(without, percent), np.nanpercentile(watched, percent)
        bar = f" (bar {BAR_ROUND_TRIP}: {'met' if b / a <= BAR_ROUND_TRIP else 'missed'})" if percent == 50 else ""
        print(f"round trip, {percent} %: {a:.0f} µs without, {b:.0f} µs with the viewer: ratio {b / a:.2f}{bar}")
    trip = {
        f"{label}, µs": {
            way: float(np.nanpercentile(times, percent)) for way, times in (("without", without), ("with", watched))
        }
        for percent, label in ((50, "median"), (99, "99th percentile"))
    }
    trip["processor time of the controller a state, µs"] = {"without": spent[False], "with": spent[True]}
    write("viewer", {"round trip": trip, **pictures(args.pictures)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
