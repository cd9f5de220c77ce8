"""The simulator at 1 kHz with the controller in a second process: how regular, how exact, at what
cost.

    python -m benchmarks realtime [--seconds 600]

Measured by the nodes themselves and told in their diagnostics; this process only listens to those,
once a second.  Beside them runs a bare C loop on clock_nanosleep with the same period, compiled
here: what the machine itself can do in that minute.  Then a third process subscribes to all joint
wrenches, and the controller's computing time is asked for again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks._ros import DiagnosticsListener, add_parameters, keep_to_this_machine, ros_missing

RATE = 1000.0
ROBOT = "six_axis"

BARE_LOOP = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sys/prctl.h>
int main(int argc, char **argv) {
    const long period = atol(argv[1]), cycles = atol(argv[2]);
    long regular = 0;
    struct timespec due, now, last;
    (void)argc;
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &due);
    last = due;
    for (long k = 0; k < cycles; k++) {
        due.tv_nsec += period;
        while (due.tv_nsec >= 1000000000L) { due.tv_nsec -= 1000000000L; due.tv_sec++; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        long between = (now.tv_sec - last.tv_sec) * 1000000000L + now.tv_nsec - last.tv_nsec;
        if (labs(between - period) <= period / 10) regular++;
        last = now;
    }
    printf("%.6f\n", (double)regular / cycles);
    return 0;
}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="how long to look (default: 20)"
    )
    parser.add_argument("--listen", action="store_true", help=argparse.SUPPRESS)
    add_parameters(parser)
    options = parser.parse_args()
    if ros_missing():
        return 0
    if options.listen:
        return listen_to_wrenches()
    keep_to_this_machine()
    with tempfile.TemporaryDirectory() as place:
        return _measure(
            options.seconds, Path(place), [word for pair in options.set for word in pair]
        )


def _measure(seconds: float, place: Path, parameters: list[str]) -> int:
    from robot_dynamics_ros.cli.processes import NodeProcess
    from robot_dynamics_ros.resources import share_directory

    files = [share_directory() / "config" / f"{ROBOT}.yaml"]
    common = [
        "--ros-args",
        *(word for file in files for word in ("--params-file", str(file))),
        "-p",
        f"robot_description_file:={ROBOT}",
        *parameters,
    ]
    simulator = NodeProcess(
        "simulator",
        [*common, "-p", f"update_rate:={RATE}", "-p", "holding_brakes:=true"],
        place / "simulator.log",
    )
    with simulator, NodeProcess("controller", common, place / "controller.log") as controller:
        listener = DiagnosticsListener()
        try:
            listener.wait_for("robot_simulator", "cycles", 60.0)
            listener.wait_for("computed_torque_controller", "cycles", 60.0)
            # let it run in
            listener.listen(3.0)
            first = listener.newest("robot_simulator")
            began = time.monotonic()
            ticks = {node.name: _cpu(node.pid) for node in (simulator, controller)}
            bare = start_bare_loop(place, seconds)
            listener.listen(seconds)
            last = listener.newest("robot_simulator")
            took = time.monotonic() - began
            shares = {
                node.name: (_cpu(node.pid) - ticks[node.name]) / took
                for node in (simulator, controller)
            }
            follower = listener.newest("computed_torque_controller")
            with subprocess.Popen(
                [sys.executable, "-m", "benchmarks.realtime", "--listen"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            ) as reader:
                assert reader.stdout is not None
                # it has subscribed
                reader.stdout.readline()
                # the newest 2048 cycles count
                listener.listen(5.0)
                heard = listener.newest("computed_torque_controller")
                reader.communicate(b"", timeout=10.0)
        finally:
            listener.close()
    found = _report(first, last, follower, shares)
    for key, what in (
        ("compute", "computing"),
        ("sending", "publishing the command, a part of it"),
    ):
        found[f"controller: median of {what}, ms"] = float(follower[f"{key} median [ms]"])
        found[f"controller: median of {what}, all wrenches published, ms"] = float(
            heard[f"{key} median [ms]"]
        )
    print(
        f"             of it the middleware      {follower['sending median [ms]']}; all wrenches "
        "published: compute "
        f"{heard['compute median [ms]']}, p99 {heard['compute p99 [ms]']}, of it the middleware "
        f"{heard['sending median [ms]']}"
    )
    if bare is None:
        print("C loop       none: there is no C compiler here")
    else:
        share = found["C loop: share of regular periods"] = float(bare.communicate(timeout=30.0)[0])
        print(
            f"C loop       cycles within 1 ± 0.1 ms  {share:7.2%}, beside the others in the same "
            "time"
        )
        regular = float(last["cycles within 10 % of the period"]) - float(
            first["cycles within 10 % of the period"]
        )
        regular /= float(last["cycles"]) - float(first["cycles"])
        compute = float(follower["compute median [ms]"]) / float(follower["period median [ms]"])
        keep(
            "realtime",
            {
                "regular cycles over those of a C loop (more is better)": regular / share,
                "median computing time over the period (less is better)": compute,
            },
        )
    write("realtime", found)
    return 0


def listen_to_wrenches() -> int:
    """Subscribe to all joint wrenches until the input ends; messages are not looked at, so that
    only publishing is measured.
    """
    import rclpy
    from geometry_msgs.msg import WrenchStamped
    from rclpy.qos import qos_profile_sensor_data

    import robot_dynamics_ros as rd

    rclpy.init()
    node = rclpy.create_node("wrench_listener")
    subscriptions = [
        node.create_subscription(
            WrenchStamped,
            f"/computed_torque_controller/joint_wrenches/{joint}",
            lambda _message: None,
            qos_profile_sensor_data,
        )
        for joint in rd.load_robot(ROBOT).joint_names
    ]
    while not all(node.count_publishers(subscription.topic_name) for subscription in subscriptions):
        time.sleep(0.1)
    print("subscribed", flush=True)
    sys.stdin.read()
    rclpy.shutdown()
    return 0


def start_bare_loop(
    place: Path, seconds: float, rate: float = RATE
) -> subprocess.Popen[str] | None:
    """The loop in C, running beside the nodes; ``None`` without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    source = place / "bare_loop.c"
    program = place / "bare_loop"
    source.write_text(BARE_LOOP)
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    command = [str(program), str(round(1e9 / rate)), str(round(seconds * rate))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _cpu(pid: int) -> float:
    """Processor time that a process has used, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _report(
    first: dict[str, str], last: dict[str, str], follower: dict[str, str], shares: dict[str, float]
) -> dict[str, float]:
    """Print the figures and return them."""

    def grown(key: str) -> float:
        return float(last[key]) - float(first[key])

    cycles = grown("cycles")
    elapsed = float(last["stamp"]) - float(first["stamp"])
    lost = grown("time given up [s]")
    drift = grown("simulated time [s]") + lost - elapsed
    print(
        f"{ROBOT}, {RATE:g} Hz, controller in a second process, {elapsed:.0f} s, "
        f"{os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    print(
        "simulator    cycles within 1 ± 0.1 ms  "
        f"{grown('cycles within 10 % of the period') / cycles:7.2%} of {cycles:.0f}"
    )
    for who, values in (("simulator", last), ("controller", follower)):
        shown = ", ".join(
            f"{label} {values[f'period {label} [ms]']}" for label in ("median", "p99", "max")
        )
        print(f"{who:12} period, last 2048 [ms]    {shown}; processor {shares[who]:.0%} of one")
    print(
        f"drift        simulated less real time  {1e3 * drift:.1f} ms (resolution 1 ms); given "
        f"up after halts {1e3 * lost:.1f} ms"
    )
    print(
        f"controller   compute [ms]              median {follower['compute median [ms]']}, p99 "
        f"{follower['compute p99 [ms]']}"
    )
    return {
        "seconds": elapsed,
        "cycles": cycles,
        "simulator: share of regular periods": grown("cycles within 10 % of the period") / cycles,
        "simulator: median period, ms": float(last["period median [ms]"]),
        "simulator: 99th percentile of the period, ms": float(last["period p99 [ms]"]),
        "simulated less real time, ms": 1e3 * drift,
        "given up after halts, ms": 1e3 * lost,
        "simulator: share of a processor": shares["simulator"],
        "controller: share of a processor": shares["controller"],
    }


if __name__ == "__main__":
    raise SystemExit(main())
