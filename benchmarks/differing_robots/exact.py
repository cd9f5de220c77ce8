"""The default law on arms that are their descriptions: ``python -m
benchmarks.differing_robots.exact``.

Twelve arms, two moves each, with the rotors described or without any, without friction, at three
rates and delays.
"""

from __future__ import annotations

import numpy as np

from benchmarks.differing_robots.arms import BENCH_ARMS, load_arm
from benchmarks.differing_robots.differences import claiming, draw, exact, rotor_size
from benchmarks.differing_robots.laws import Default
from benchmarks.differing_robots.measure import run

RATES_AND_DELAYS = (500, 0), (1000, 0), (250, 3)
"""Hz, and periods from a command to its effort."""


def main() -> int:
    """Print a line for each kind of robot: errors in mrad, median and largest, and how many are at
    rest at the end.
    """
    for share, rotors in ((0.4, "rotors described"), (0.0, "no rotors")):
        for rate, delay in RATES_AND_DELAYS:
            rows = []
            for number, arm in enumerate(BENCH_ARMS.values()):
                model = load_arm(arm)
                zero = np.zeros(model.nv)
                for k in range(2):
                    _, move = draw(arm, model, 1000 * number + k)
                    robot = exact(
                        claiming(model, zero, zero, share * rotor_size(model)),
                        rate=rate,
                        delay=delay,
                        seed=k,
                    )
                    rows.append(run(Default, robot, move, arm.flange, push=False)[0])
            goal, way = (np.array([row[name] for row in rows]) for name in ("goal", "way"))
            errors = (
                f"goal {np.median(goal):.3g}/{goal.max():.3g}, way "
                f"{np.median(way):.3g}/{way.max():.3g}"
            )
            good = sum(row["stable"] for row in rows)
            print(
                f"{rotors:18}{rate:5} Hz, delay {delay}: {errors}, at rest {good} of {len(rows)}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
