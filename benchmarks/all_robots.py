"""The demonstration's motion on every robot that is installed: ``python -m benchmarks.all_robots``.

The same as ``robot_dynamics demo --all``, with its table as a result file.  The figures come from a
simulation in lockstep: they do not depend on the speed of the machine.
"""

from __future__ import annotations

import argparse

from benchmarks._results import write
from robot_dynamics_ros.cli.rehearsal import REHEARSAL_HEAD, all_robots, try_robots

SEED = 7
TOLERANCE = 0.01


def main() -> int:
    """Print how it went and write every row."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all_robots", description=(__doc__ or "").splitlines()[0]
    )
    parser.parse_args()
    robots = all_robots()
    rows = try_robots(
        robots,
        inertia_check="warn",
        duration=0.0,
        tolerance=TOLERANCE,
        seed=SEED,
        progress=lambda name: print(name, flush=True),
    )
    for row in rows:
        print(f"{row['robot']:36}{row['outcome']}")
    write(
        "all_robots",
        {
            "tolerance": TOLERANCE,
            "robots": [{key: row[key] for key in (*REHEARSAL_HEAD, "arrived")} for row in rows],
        },
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
