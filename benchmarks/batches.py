"""Batches: a second thread beside one, and beside what two processes can do here: ``python -m
benchmarks.batches [--quick]``.

A six-axis arm of the UR5's size.  One and two threads are timed in turns; the figure is the median
of many calls with ``out=`` given, and of calls that return new arrays.  The machine's own ceiling
is measured between them: two processes that know nothing of each other, each with half the states,
over one of them alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write
from robot_dynamics_ros.dynamics.engine.parallel import set_threads

Call = Callable[[], object]
SIZES = (4_000, 16_000, 64_000, 100_000, 256_000, 1_000_000)
FUNCTIONS = {
    "efforts": "inverse_dynamics",
    "forward dynamics": "forward_dynamics",
    "mass matrix": "mass_matrix",
    "wrenches": "joint_wrenches",
    "rollout of 20 steps": "rollout",
}
BOUND = 1.8
WINDOW = 0.02
"""Seconds that a process of the ceiling's measurement works for at a time."""


def calls(what: str, states: int) -> dict[str, Call]:
    """A batch with outputs given and without."""
    model = rd.load_robot("six_axis")
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, (states, model.nv)) for _ in range(3))
    if FUNCTIONS[what] == "rollout":
        return {"new": lambda: rd.rollout(model, q, v, a, dt=1e-3, steps=20)}
    function = getattr(rd, FUNCTIONS[what])
    inputs = (q,) if what == "mass matrix" else (q, v, a)
    result = function(model, *inputs)
    # a table with names
    if what == "wrenches":
        return {"new": lambda: function(model, *inputs)}
    return {
        "out": lambda: function(model, *inputs, out=result),
        "new": lambda: function(model, *inputs),
    }


def measure(given: dict[str, Call], seconds: float) -> dict[str, tuple[float, float]]:
    """Median seconds of a call with one thread and with two, timed in turns."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in given}
    end = perf_counter() + seconds
    while perf_counter() < end or min(len(x[0]) for x in times.values()) < 5:
        for name, call in given.items():
            for count, row in zip((1, 2), times[name], strict=True):
                set_threads(count)
                # as in a loop of calls: threads and caches warm
                call()
                begin = perf_counter()
                call()
                row.append(perf_counter() - begin)
    set_threads(None)
    return {
        name: (float(np.median(one)), float(np.median(two))) for name, (one, two) in times.items()
    }


def rate(call: Call) -> float:
    """Calls a second over a short while."""
    begin = perf_counter()
    count = 0
    while (past := perf_counter() - begin) < WINDOW:
        call()
        count += 1
    return count / past


class Twin:
    """A process of its own that works at the same time when it is asked to."""

    def __init__(self) -> None:
        code = "from benchmarks.batches import obey; obey()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def answer(self) -> float:
        assert self.process.stdout is not None
        return float(self.process.stdout.readline())

    def ceiling(self, what: str, states: int, rounds: int) -> float:
        """Both processes' calls a second over those of one alone, each of half the states."""
        set_threads(1)
        call = next(iter(calls(what, states // 2).values()))
        call()
        self.ask(f"{what},{states // 2}")
        self.answer()
        shares = []
        for _ in range(rounds):
            alone = rate(call)
            self.ask("go")
            both = rate(call)
            shares.append((both + self.answer()) / alone)
        set_threads(None)
        return float(np.median(shares))

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=10)


def obey() -> None:
    """The twin's side."""
    set_threads(1)
    call: Call = lambda: None  # noqa: E731
    for line in sys.stdin:
        if line.strip() == "go":
            print(rate(call), flush=True)
        else:
            what, states = line.split(",")
            call = next(iter(calls(what, int(states)).values()))
            call()
            print(0.0, flush=True)


def main() -> int:
    """Print the table; 1 if two threads bring less than they should at 64,000 states or more."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.batches", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes, shorter")
    parser.add_argument("--only", help="functions, by a part of their names")
    options = parser.parse_args()
    sizes = (16_000, 100_000) if options.quick else SIZES
    seconds, rounds = (0.3, 5) if options.quick else (0.6, 9)
    load = os.getloadavg()[0]
    print(f"load average {load:.2f}, {os.cpu_count()} processors")
    print(
        f"{'':20}{'states':>10}{'':>6}{'one, M/s':>10}{'two, M/s':>10}{'two/one':>9}"
        f"{'two processes/one':>20}"
    )
    figures: dict[str, dict[str, dict[str, float]]] = {}
    ratios = {}
    low = []
    twin = Twin()
    try:
        for what in FUNCTIONS:
            if options.only and options.only not in what:
                continue
            for states in sizes:
                found = measure(calls(what, states), seconds)
                ceiling = twin.ceiling(what, states, rounds)
                for way, (one, two) in found.items():
                    print(
                        f"{what:20}{states:>10,}{way:>6}{states / one / 1e6:>10.2f}"
                        f"{states / two / 1e6:>10.2f}"
                        f"{one / two:>9.2f}{ceiling:>20.2f}",
                        flush=True,
                    )
                    figures.setdefault(what, {})[f"{states:,}, {way}"] = {
                        "one thread, M/s": states / one / 1e6,
                        "two threads, M/s": states / two / 1e6,
                        "two processes over one": ceiling,
                    }
                    ratios[f"{what}, {states:,} states, {way}: two threads over one"] = one / two
                    if states >= 64_000 and one / two < BOUND:
                        low.append(
                            f"{what}, {states:,} states, {way}: {one / two:.2f} (processes "
                            f"{ceiling:.2f})"
                        )
    finally:
        twin.end()
    print("\nnot reached:" if low else f"\nall at {BOUND} or more")
    for line in low:
        print(f"  {line}")
    keep("batches", ratios)
    write("batches", {"batches": figures})
    return int(bool(low))


if __name__ == "__main__":
    raise SystemExit(main())
