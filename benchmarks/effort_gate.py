"""What the effort gate costs in the round trip: ``python -m benchmarks.effort_gate [--cycles N]
[--robot NAME]``.

A state goes in turns to a controller, and to a controller with the effort gate after it; taken is
the time until the effort is here.  Both ways share this process and the machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks._ros import keep_to_this_machine, ros_missing
from benchmarks.round_trip import measure

NAMES = ("controller", "gated")


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.effort_gate", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--cycles", type=int, default=2000)
    parser.add_argument("--robot", default="six_axis", help="a robot that ships with the package")
    args = parser.parse_args()
    if ros_missing():
        return 0
    from robot_dynamics_ros.cli.processes import NodeProcess

    keep_to_this_machine()

    def arguments(namespace: str, *more: str) -> list[str]:
        return [
            "--ros-args",
            "-r",
            f"__ns:=/{namespace}",
            "-p",
            f"robot_description_file:={args.robot}",
            *more,
        ]

    slow = ("-p", "state_timeout:=10.0")
    gate_input = ("-r", "effort_controller/commands:=effort_gate/commands")
    with (
        tempfile.TemporaryDirectory() as folder,
        NodeProcess("controller", arguments("controller", *slow), Path(folder) / "plain.log"),
        NodeProcess(
            "controller", arguments("gated", *slow, *gate_input), Path(folder) / "gated.log"
        ),
        NodeProcess(
            "effort_gate",
            arguments("gated", "-p", "command_timeout:=10.0"),
            Path(folder) / "gate.log",
        ),
    ):
        times = measure(args.robot, args.cycles, NAMES)
    print(
        f"{args.robot}, {args.cycles} cycles each in turns, {os.cpu_count()} processors, load "
        f"{os.getloadavg()[0]:.1f}"
    )
    print(f"{'':12}{'controller':>14}{'with the gate':>15}{'added':>10}")
    found = {}
    for percent in (50, 99):
        plain, gated = (float(np.nanpercentile(times[name], percent)) for name in NAMES)
        label = "median" if percent == 50 else f"{percent}th pct."
        found[label] = {"without, ms": 1e-3 * plain, "with, ms": 1e-3 * gated}
        print(f"{label:12}{plain:11.0f} µs{gated:12.0f} µs{gated - plain:7.0f} µs")
    keep(
        "effort_gate",
        {
            f"{label}, with the gate over without (less is better)": x["with, ms"]
            / x["without, ms"]
            for label, x in found.items()
        },
    )
    write("effort_gate", {"round trip": found, "cycles": args.cycles})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
