"""What joint wrenches cost beside the efforts they come with: ``python -m benchmarks.wrenches``.

Both are timed in alternation on the same states, so that a busy machine slows both; the figure is
the median of many short rounds.  The bound is 1.3 for all joints that have coordinates, in one pass
with the efforts, called once a control cycle.
In batches of thousands memory decides: seven numbers are written where efforts alone write one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter_ns

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write

BOUND = 1.3


def timed(run: Callable[[], object], calls: int) -> float:
    """ns a call."""
    start = perf_counter_ns()
    for _ in range(calls):
        run()
    return (perf_counter_ns() - start) / calls


def compare(runs: list[Callable[[], object]], rounds: int = 400, calls: int = 200) -> list[float]:
    """Median ns a call of each, timed in turns."""
    for run in runs:
        timed(run, calls)
    table = np.array([[timed(run, calls) for run in runs] for _ in range(rounds)])
    return [float(x) for x in np.median(table, axis=0)]


def measure(model: rd.RobotModel) -> tuple[list[float], list[float]]:
    """ns for (efforts, efforts with wrenches, every joint in world axes), called one by one and in
    batches of 1000.
    """
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, model.nv))
    tau = np.empty(model.nv)
    rows = np.empty((len(model.joint_names), 6))
    links = tuple(range(1, len(model.link_names)))
    every = np.empty((len(links), 6))
    efforts = rd.kernel(model, "inverse_dynamics")
    both = rd.kernel(model, "inverse_dynamics_wrenches")
    world = rd.kernel(model, "joint_wrenches", joints_of=links, axes=-1, about="joint")
    single = compare(
        [
            lambda: efforts(q, v, a, tau),
            lambda: both(q, v, a, tau, rows),
            lambda: world(q, v, a, every),
        ]
    )
    many = [np.ascontiguousarray(x) for x in rng.normal(size=(3, 1000, model.nv))]
    taus = np.empty((1000, *tau.shape))
    tables = np.empty((1000, *rows.shape))
    everies = np.empty((1000, *every.shape))
    batch = compare(
        [
            lambda: efforts(*many, taus),
            lambda: both(*many, taus, tables),
            lambda: world(*many, everies),
        ],
        rounds=60,
        calls=5,
    )
    return single, [x / 1000 for x in batch]


def main() -> int:
    """Print the table; 1 if the bound is broken."""
    worst = 0.0
    found = {}
    ratios = {}
    print(
        f"{'robot':<16}{'':<8}{'efforts':>10}{'+ wrenches':>12}{'ratio':>8}"
        f"{'all joints, world axes':>25}{'ratio':>8}"
    )
    robots = [rd.load_robot(name) for name in ("six_axis", "seven_axis", "two_arm_torso")] + [
        rd.chain(20)
    ]
    for model in robots:
        for what, (efforts, both, world) in zip(("call", "batch"), measure(model), strict=True):
            print(
                f"{model.name:<16}{what:<8}{efforts:>7.0f} ns{both:>9.0f} "
                f"ns{both / efforts:>8.2f}{world:>22.0f} ns"
                f"{world / efforts:>8.2f}"
            )
            found.setdefault(model.name, {})[what] = {
                "efforts, ns": efforts,
                "with wrenches, ns": both,
                "all, world axes, ns": world,
            }
            ratios[
                f"{model.name}, {what}: efforts with wrenches over efforts alone (less is better)"
            ] = both / efforts
            ratios[
                f"{model.name}, {what}: all joints in world axes over efforts alone (less is "
                "better)"
            ] = world / efforts
            worst = max(worst, both / efforts) if what == "call" else worst
    keep("wrenches", ratios)
    write("wrenches", {"robots": found})
    print(f"worst ratio of single calls {worst:.2f}, bound {BOUND}")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
