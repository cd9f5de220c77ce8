"""How control laws hold up on robots that differ from their description: ``python -m
benchmarks.differing_robots``.

Twelve real arms by their vendors' descriptions, each differing at random in masses, rotors,
friction, payload, delay and
sensors, moved by MuJoCo.  One move of 0.4 to 0.8 rad in all joints; then the flange is pushed with
30 N.  The same seed gives the same robots.  The five rows need fr3.urdf, ur10e.urdf and iiwa7.urdf,
made from their vendors' xacro files.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np

from benchmarks._results import write
from benchmarks.differing_robots.arms import BENCH_ARMS, load_arm
from benchmarks.differing_robots.differences import draw
from benchmarks.differing_robots.gears import GEARS
from benchmarks.differing_robots.laws import BENCH_LAWS
from benchmarks.differing_robots.measure import run
from benchmarks.differing_robots.measurements import MEASUREMENTS
from benchmarks.differing_robots.picture import draw_picture
from benchmarks.differing_robots.robot import BenchRobot
from benchmarks.differing_robots.rows import known_rows, rows

TABLE_HEAD = (
    "law",
    "robots",
    "within 5/20 %",
    "within 15/60 %",
    "stable %",
    "goal median/p98 mrad",
    "way median/p98 mrad",
    "speed of limit",
    "chatter of limit²",
    "push mm",
    "built up of limit",
    "overshoot %",
)


def compare(
    name: str, runs: int, seed: int, arms: list[str], kind: type[BenchRobot] | None = None
) -> list[dict]:
    """The figures of one law on every robot; of a ``kind`` of robots without the push."""
    out = []
    for arm_name in arms:
        arm = BENCH_ARMS[arm_name]
        model = load_arm(arm)
        for k in range(runs):
            difference, move = draw(arm, model, seed + 1000 * list(BENCH_ARMS).index(arm_name) + k)
            figures, _, law = run(
                BENCH_LAWS[name],
                difference,
                move,
                arm.flange,
                push=kind is None,
                robot_type=kind or BenchRobot,
            )
            if hasattr(law, "controller"):
                figures["gaps"] = len(law.controller.description_gaps())
                figures["faults"] = sorted(law.controller.counts)
            out.append(
                {"arm": arm_name, "run": k, "rate": difference.rate, "delay": difference.delay}
                | figures
            )
    return out


def summary(name: str, results: list[dict]) -> dict:
    """One row of the table."""
    goal, way = (np.array([r[key] for r in results]) for key in ("goal", "way"))

    def values(key: str) -> np.ndarray:
        return np.array(
            [r[key] for r in results if math.isfinite(r.get(key, math.inf))] or [math.inf]
        )

    def quantile(x: np.ndarray, share: float) -> float:
        return float(np.quantile(x, share, method="higher"))

    return {
        "law": name,
        "robots": len(results),
        "within 5/20 %": 100.0 * float(np.mean((goal <= 5.0) & (way <= 20.0))),
        "within 15/60 %": 100.0 * float(np.mean((goal <= 15.0) & (way <= 60.0))),
        "stable %": 100.0 * float(np.mean([r["stable"] for r in results])),
        "goal median/p98 mrad": (quantile(goal, 0.5), quantile(goal, 0.98)),
        "way median/p98 mrad": (quantile(way, 0.5), quantile(way, 0.98)),
        "speed of limit": float(values("speed").max()),
        "chatter of limit²": float(np.median(values("chatter"))),
        "push mm": float(np.median(values("deflection"))),
        "built up of limit": quantile(values("built_up"), 0.98),
        "overshoot %": 100.0 * quantile(values("overshoot"), 0.9),
    }


def cell(value: object) -> str:
    """A value as the table shows it."""
    if isinstance(value, tuple):
        return "/".join(cell(x) for x in value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def show_rows(folder: Path, names: list[str]) -> list[dict]:
    """The rows that stand for what is commonly left out; their largest errors in mrad."""
    out = []
    for name in names:
        for kind, robots in (("description only", rows), ("known within 30 %", known_rows)):
            for title, difference, move, flange in robots(folder):
                figures, _, _ = run(BENCH_LAWS[name], difference, move, flange, push=False)
                out.append(
                    {
                        "law": name,
                        "robot": title,
                        "told": kind,
                        "goal": figures["goal"],
                        "way": figures["way"],
                    }
                )
                print(
                    f"{name:22}{kind:20}{title:60}{figures['goal']:8.1f}{figures['way']:8.1f}",
                    flush=True,
                )
    return out


def main() -> int:
    """Print the table, draw the picture and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.differing_robots", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--law",
        nargs="*",
        default=list(BENCH_LAWS),
        choices=list(BENCH_LAWS),
        help="laws (default: all)",
    )
    parser.add_argument(
        "--arm",
        nargs="*",
        default=list(BENCH_ARMS),
        choices=list(BENCH_ARMS),
        help="arms (default: all)",
    )
    parser.add_argument(
        "--runs", type=int, default=50, help="differences of each arm (default: 50)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the differences (default: 0)")
    parser.add_argument(
        "--measurements",
        action="store_true",
        help="the first law with measurements that a driver spoils",
    )
    parser.add_argument("--gears", action="store_true", help="the first law with elastic gears")
    parser.add_argument(
        "--rows", type=Path, help="folder with fr3.urdf, ur10e.urdf, iiwa7.urdf, for the five rows"
    )
    parser.add_argument("--picture", type=Path, help="file for the picture")
    options = parser.parse_args()
    if options.measurements or options.gears:
        for name, kind in (MEASUREMENTS if options.measurements else GEARS).items():
            row = summary(
                name, compare(options.law[0], options.runs, options.seed, options.arm, kind)
            )
            print(
                f"{name:44}",
                "  ".join(f"{key}: {cell(row[key])}" for key in TABLE_HEAD[1:9]),
                flush=True,
            )
        return 0
    results: dict[str, list[dict]] = {}
    table = []
    print("  ".join(TABLE_HEAD))
    for name in options.law if options.runs else ():
        began = time.monotonic()
        results[name] = compare(name, options.runs, options.seed, options.arm)
        table.append(summary(name, results[name]))
        print(
            "  ".join(cell(table[-1][key]) for key in TABLE_HEAD),
            f"  ({time.monotonic() - began:.0f} s)",
            flush=True,
        )
    single = show_rows(options.rows, options.law) if options.rows else []
    if options.picture:
        draw_picture(results, options.picture)
    kept = (
        "arm",
        "run",
        "rate",
        "delay",
        "goal",
        "way",
        "stable",
        "overshoot",
        "built_up",
        "chatter",
        "gaps",
        "faults",
    )
    each = {
        name: [{key: row.get(key) for key in kept} for row in found]
        for name, found in results.items()
    }
    write(
        "differing_robots",
        {"runs": options.runs, "seed": options.seed, "laws": table, "rows": single, "each": each},
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
