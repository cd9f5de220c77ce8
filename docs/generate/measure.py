"""Measure the figures of the documentation anew and fill its tables: ``make figures``, in less than
ten minutes.

    python -m docs.generate.measure [PART OF A NAME ...] [--all] [--panda FOLDER]

Every command writes one file into ``benchmarks/results``, with date, machine and load average.  Let
the machine be idle. ``--panda`` names a clone of github.com/marcocognetti/FrankaEmikaPandaDynModel,
for the identification of a real arm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks._results import WRITE_TO
from docs.generate import figures

COMMANDS = {
    "dynamics": "-m benchmarks.dynamics",
    "derivatives": "-m benchmarks.derivatives",
    "simulation": "-m benchmarks.simulation",
    "engines": "-m benchmarks.engines",
    "cycle": "-m benchmarks.cycle",
    "wrenches": "-m benchmarks.wrenches",
    "constraints": "-m benchmarks.constraints",
    "batches": "-m benchmarks.batches",
    "start": "-m benchmarks.start --times 9",
    "round_trip": "-m benchmarks.round_trip --runs 3",
    "long_trajectory": "-m benchmarks.long_trajectory",
    "effort_gate": "-m benchmarks.effort_gate",
    "viewer": "-m benchmarks.viewer --pictures 1500",
    "viewer_memory": "-m benchmarks.viewer --minutes 10",
    "realtime": "-m benchmarks.realtime --seconds 60",
    "steady_time": "-m benchmarks.steady_time --seconds 10",
    "middleware": "-m benchmarks.steady_time --name middleware --seconds 10",
    "closed_loop_500": (
        "-m benchmarks.steady_time --name closed_loop_500 --rate 500 --seconds 180 --competitors 1"
    ),
    "control_laws": "-m benchmarks.control_laws",
    "observer": "-m benchmarks.observer 5",
    "all_robots": "-m benchmarks.all_robots",
    "energy_drift": "-m docs.images.simulation_figures",
    "energy": "-m benchmarks.energy",
    "comparison": "-m docs.images.comparison_figures",
    "identification": "-m benchmarks.identification",
    "payload_intervals": "-m benchmarks.payload_intervals --draws 12",
    "tool_motion": "-m benchmarks.tool_motion",
}
"""Result file → the command that writes it."""
SLOW = {
    "all_robots",
    "closed_loop_500",
    "control_laws",
    "observer",
    "identification",
    "payload_intervals",
    "tool_motion",
    "viewer_memory",
}
"""Measured if they are named or with ``--all``: minutes each, and their figures do not depend on
the speed of the machine.
"""


def main() -> int:
    """Measure all, or what is named; 1 if a command failed."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.generate.measure", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "names",
        nargs="*",
        help="parts of the names of result files (default: all but the slow ones)",
    )
    parser.add_argument("--all", action="store_true", help=f"also {', '.join(sorted(SLOW))}")
    parser.add_argument(
        "--panda", type=Path, help="recording of a real arm; without it identification is left out"
    )
    options = parser.parse_args()
    environment = {**os.environ, WRITE_TO: str(figures.RESULTS)}
    failed = []
    for name, command in COMMANDS.items():
        words = command.split()
        wanted = _names(name, options.names) if options.names else options.all or name not in SLOW
        if not wanted:
            continue
        if name == "identification":
            if options.panda is None:
                print("identification: left out, it needs --panda FOLDER")
                continue
            words.append(str(options.panda.resolve()))
        print("python", command, flush=True)
        begin = time.monotonic()
        written = figures.RESULTS / f"{name}.json"
        before = written.stat().st_mtime_ns if written.exists() else 0
        subprocess.run([sys.executable, *words], cwd=figures.ROOT, env=environment, check=False)
        if not written.exists() or written.stat().st_mtime_ns == before:
            failed.append(name)
        print(f"{name}: {time.monotonic() - begin:.0f} s\n", flush=True)
    figures.main()
    print(f"nothing written by {', '.join(failed)}" if failed else "all measured")
    return int(bool(failed))


def _names(name: str, given: list[str]) -> bool:
    """Whether one of the words given is this name, or, where it is no name, part of it."""
    return any(word == name if word in COMMANDS else word in name for word in given)


if __name__ == "__main__":
    raise SystemExit(main())
