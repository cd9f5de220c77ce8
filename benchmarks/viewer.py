"""What the viewer costs: ``python -m benchmarks viewer``.

The controller's round trip, from a joint state to efforts, in blocks without and with the viewer attached (a third process
that shows six joints and all their wrenches to one page), in turns in one run: the ratio of the medians, bar 1.05, and of
the 99th percentiles.  Then pictures a second that the viewer makes of a moving arm, bar 24, what one costs, and how its
memory grows over as many pictures as ten minutes have (18 000 at 30 Hz, as fast as they can be made).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._results import write
from benchmarks._ros import keep_to_this_machine
from benchmarks.round_trip import measure

BAR_ROUND_TRIP, BAR_PICTURES = 1.05, 24.0


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
    viewer = ["--ros-args", "-p", "robots:=[controller]", "-p", "robot_description_file:=six_axis", "-p", "port:=0"]
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
            with NodeProcess("viewer", viewer, Path(folder) / "viewer.log") as process:
                if not process.wait_for_output("in a browser", 60.0):
                    raise SystemExit(process.output())
                time.sleep(1.0)
                block(True)
    states = blocks * (cycles + 200)
    return (
        np.concatenate(found[False]),
        np.concatenate(found[True]),
        {watched: 1e6 * seconds / states for watched, seconds in spent.items()},
    )


def memory() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def pictures(count: int) -> dict[str, float]:
    """Pictures a second of a moving arm with all its wrenches; memory.  Printed and returned."""
    import robot_dynamics_ros as rd

    arm = rd.load_robot("six_axis")
    with rd.view(arm, port=0) as viewer:
        source = viewer.robots[0].source
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
                marks.append(memory())
        spent = time.perf_counter() - begin
        print(f"one picture: {1e3 * spent / count:.2f} ms of computing")
        print(f"memory over {count} pictures, MB: {' '.join(f'{m:.0f}' for m in marks)}")
    return {
        "pictures a second": rate,
        "one picture, ms": 1e3 * spent / count,
        "pictures": count,
        "memory before, MB": marks[0],
        "memory after, MB": memory(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, default=1500, help="round trips in a block")
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--pictures", type=int, default=18000)
    args = parser.parse_args()
    try:
        import rclpy  # noqa: F401
        import viser  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
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
