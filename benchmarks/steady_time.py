"""What each measure for steady time brings: simulator and controller in two processes, with one
measure more.

    python -m benchmarks steady_time [--seconds 10] [--rate 1000] [--competitors N] [--name
    steady_time|closed_loop_500|middleware]

Beside each run goes a bare C loop on clock_nanosleep with the same period.  A state counts as
answered when the controller has run a cycle for it; both counts come from the nodes' diagnostics.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._results import write
from benchmarks._ros import DiagnosticsListener, keep_to_this_machine, ros_missing
from benchmarks.realtime import ROBOT, start_bare_loop

SIMULATOR = "robot_simulator"
CONTROLLER = "computed_torque_controller"
REGULAR = "cycles within 10 % of the period"
CYCLES = "cycles"
STAMP = "stamp"
FIFO = ["-p", "thread_priority:=20"]
LOCKED = ["-p", "lock_memory:=true"]


@dataclass(frozen=True)
class Row:
    """One way to run the nodes.

    Attributes:
        parameters: of both.
        pinned: whether each node gets a processor of its own.
        environment: added to both nodes' environment.
    """

    parameters: tuple[str, ...] = ()
    pinned: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


ROWS = {
    "as it is": Row(),
    "lock_memory": Row(parameters=(*LOCKED,)),
    "cpu_affinity, a processor each": Row(pinned=True),
    "thread_priority (SCHED_FIFO)": Row(parameters=(*FIFO,)),
    "thread_priority and lock_memory": Row(parameters=(*FIFO, *LOCKED)),
}
#: Settings of Fast DDS.
MIDDLEWARE = {
    f"{name}={value}": Row(environment={name: value})
    for name, value in (
        ("RMW_FASTRTPS_PUBLICATION_MODE", "ASYNCHRONOUS"),
        ("FASTDDS_BUILTIN_TRANSPORTS", "SHM"),
        ("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4"),
    )
}
#: Result file → the rows that it has unless others are asked for.
SETS = {
    "steady_time": list(ROWS),
    "closed_loop_500": ["as it is", "thread_priority (SCHED_FIFO)"],
    "middleware": ["as it is", *MIDDLEWARE],
}


def measure(row: str, seconds: float, rate: float, place: Path) -> dict[str, Any]:
    """Run both nodes and return figures."""
    from robot_dynamics_ros.resources import share_directory

    chosen = {**ROWS, **MIDDLEWARE}[row]
    config = share_directory() / "config" / f"{ROBOT}.yaml"
    common = ["--ros-args", "--params-file", str(config), "-p", f"robot_description_file:={ROBOT}"]
    common += chosen.parameters
    processes = []
    for k, (name, more) in enumerate(
        (
            ("simulator", ["-p", f"update_rate:={rate}", "-p", "holding_brakes:=true"]),
            ("controller", []),
        )
    ):
        own = ["-p", f"cpu_affinity:=[{k}]"] if chosen.pinned else []
        words = [sys.executable, "-m", "robot_dynamics_ros.ros.main", name, *common, *more, *own]
        with open(place / f"{name}.log", "wb") as log:
            processes.append(
                subprocess.Popen(
                    words,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, **chosen.environment},
                )
            )
    listener = DiagnosticsListener()
    try:
        for who in (SIMULATOR, CONTROLLER):
            listener.wait_for(who, CYCLES, 60.0)
        # let it run in
        listener.listen(3.0)
        first = {who: listener.newest(who) for who in (SIMULATOR, CONTROLLER)}
        bare = start_bare_loop(place, seconds, rate)
        listener.listen(seconds)
        last = {who: listener.newest(who) for who in (SIMULATOR, CONTROLLER)}
    finally:
        listener.close()
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20.0)

    def grown(who: str, key: str) -> float:
        return float(last[who][key]) - float(first[who][key])

    states, answered = (grown(who, CYCLES) / grown(who, STAMP) for who in (SIMULATOR, CONTROLLER))
    found = {
        "periods within 10 %": grown(SIMULATOR, REGULAR) / grown(SIMULATOR, CYCLES),
        "C loop, periods within 10 %": None
        if bare is None
        else float(bare.communicate(timeout=60.0)[0]),
        "99th percentile of the simulator's period, ms": float(last[SIMULATOR]["period p99 [ms]"]),
        "99th percentile of the controller's period, ms": float(
            last[CONTROLLER]["period p99 [ms]"]
        ),
        "longest of the controller's last 2048 periods, ms": float(
            last[CONTROLLER]["period max [ms]"]
        ),
        "median of computing, ms": float(last[CONTROLLER]["compute median [ms]"]),
        "states unanswered": max(0.0, 1.0 - answered / states),
        "load": round(os.getloadavg()[0], 1),
    }
    refused = [
        line
        for line in (place / "controller.log").read_text().splitlines()
        if "; continuing with" in line
    ]
    if refused:
        found["refused"] = refused[0].split("]: ", 1)[-1]
    return found


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.steady_time", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each row")
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states a second")
    parser.add_argument(
        "--competitors", type=int, default=0, help="processes that only compute, beside the nodes"
    )
    parser.add_argument("--rows", nargs="+", choices=[*ROWS, *MIDDLEWARE], metavar="NAME")
    parser.add_argument("--name", default="steady_time", choices=SETS, help="of the result file")
    args = parser.parse_args()
    if ros_missing():
        return 0
    keep_to_this_machine()
    competitors = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(args.competitors)
    ]
    rows = {}
    try:
        print(
            f"{ROBOT}, {args.rate:g} Hz, {args.seconds:g} s each, {os.cpu_count()} processors, "
            f"{args.competitors} competitors"
        )
        print(
            f"{'':34}{'regular':>9}{'C loop':>9}{'p99 sim':>9}{'p99 ctl':>9}{'max ctl':>9}"
            f"{'compute':>9}{'unanswered':>12}{'load':>6}"
        )
        for row in args.rows or SETS[args.name]:
            with tempfile.TemporaryDirectory() as folder:
                found = rows[row] = measure(row, args.seconds, args.rate, Path(folder))
            regular, loop, *periods, compute, lost, load = list(found.values())[:8]
            beside = "–" if loop is None else f"{loop:.1%}"
            print(
                f"{row:34}{regular:9.1%}{beside:>9}"
                + "".join(f"{p:9.2f}" for p in periods)
                + f"{compute:9.3f}{lost:12.3%}{load:6.1f}  {found.get('refused', '')}",
                flush=True,
            )
    finally:
        for competitor in competitors:
            competitor.kill()
            competitor.wait()
    write(
        args.name,
        {"seconds": args.seconds, "rate": args.rate, "competitors": args.competitors, "rows": rows},
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
