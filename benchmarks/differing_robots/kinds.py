"""Kinds of robots, drivers and surprises, and how laws hold up: ``python -m
benchmarks.differing_robots.kinds``.

Each kind (``kinds_cases.py``) changes a few things of one usual robot.  MuJoCo moves real arms by
their vendors' descriptions; the laws are told the description and nothing else.  The same seed
gives the same robots for each law.  ``--compare BEFORE AFTER`` lists the rows of two result files
that got better or worse.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.differing_robots.kinds_cases import KINDS, kinds_of
from benchmarks.differing_robots.kinds_laws import KINDS_LAWS
from benchmarks.differing_robots.kinds_robot import HELD_OUT, MAIN_ARMS, make_scene
from benchmarks.differing_robots.kinds_run import run_kind

__all__ = ["kinds_table", "run_kinds", "summarize"]

COLUMNS = ("goal", "way", "swing", "force", "rough", "step", "speed")
WORSE = 1.1
"""A median that has grown by this factor is worse; smaller by it, better."""
TINY = {
    "goal": 0.2,
    "way": 0.3,
    "swing": 0.3,
    "force": 5.0,
    "rough": 0.1,
    "step": 1.0,
    "speed": 0.1,
}
"""Differences that are not told apart: mrad, N, % of the limit, share of the speed limit."""


def law_of(name: str) -> Callable[..., object]:
    """A law by its name here, or as ``module:object``.

    Raises:
        ValueError: no such law.
    """
    if name in KINDS_LAWS:
        return KINDS_LAWS[name]
    module, _, thing = name.partition(":")
    if not thing:
        raise ValueError(f"no law {name!r}: one of {list(KINDS_LAWS)}, or module:object")
    return getattr(importlib.import_module(module), thing)  # type: ignore[no-any-return]


def _group(task: tuple[str, list[str], list[int], Mapping[str, object]]) -> list[dict]:
    """All runs of one arm."""
    arm_name, names, seeds, laws = task
    out = []
    for name in names:
        kind = KINDS[name]
        for seed in seeds:
            for law, make in laws.items():
                began = time.perf_counter()
                where = {"kind": name, "arm": arm_name, "seed": seed, "law": law}
                try:
                    scene = make_scene(kind, arm_name, seed)
                    figures = run_kind(make if callable(make) else law_of(law), scene)
                except Exception as error:
                    if os.environ.get("KINDS_RAISE"):
                        raise
                    figures = {"lost": True, "fault": f"{type(error).__name__}: {error}"}
                out.append(where | figures | {"seconds": time.perf_counter() - began})
    return out


def run_kinds(
    laws: Mapping[str, Callable[..., object] | None],
    kinds: Iterable[str] = tuple(KINDS),
    arms: Sequence[str] = MAIN_ARMS[:3],
    seeds: Sequence[int] = (0,),
    jobs: int = 1,
) -> list[dict]:
    """Every law on every robot: a row of figures each.

    Args:
        laws: name → what makes the law of a model and a period, as in ``KINDS_LAWS``; None: the one
            of that name.
        kinds: their names.
        arms: their names; kinds that are for one arm alone take that.
        jobs: processes at the same time.
    """
    kinds = list(kinds)
    for_all = [name for name in kinds if not KINDS[name].arms]
    tasks = [(arm, [name], list(seeds), dict(laws)) for arm in arms for name in for_all]
    for name in kinds:
        tasks += [(arm, [name], list(seeds), dict(laws)) for arm in KINDS[name].arms]
    out: list[dict] = []
    if jobs == 1:
        for task in tasks:
            out += _group(task)
            _tell(out)
        return out
    # an arm stays with one process as far as possible: each compiles what it needs
    size = max(1, len(for_all) // 3)
    with multiprocessing.get_context("forkserver").Pool(jobs) as pool:
        for rows in pool.imap_unordered(_group, tasks, chunksize=size):
            out += rows
            _tell(out)
    return out


def _tell(rows: list[dict]) -> None:
    """How far it is, and what was lost last."""
    new = [row for row in rows if (row["arm"], row["kind"]) == (rows[-1]["arm"], rows[-1]["kind"])]
    cells = "  ".join(
        f"{row['law']} {'LOST' if row['lost'] else format(row['way'], '.1f')}" for row in new
    )
    print(
        f"{len(rows)} runs: {rows[-1]['arm']} {rows[-1]['kind']}: {cells}",
        file=sys.stderr,
        flush=True,
    )


def summarize(rows: list[dict]) -> dict[str, dict[str, dict]]:
    """Kind → law → lost, swings, runs, faults, and (median, least, most) of each figure."""
    out: dict[str, dict[str, dict]] = {}
    for row in rows:
        cell = out.setdefault(row["kind"], {}).setdefault(row["law"], {"rows": []})
        cell["rows"].append(row)
    for laws in out.values():
        for cell in laws.values():
            found = cell.pop("rows")
            cell["runs"] = len(found)
            cell["lost"] = sum(bool(row["lost"]) for row in found)
            cell["swings"] = sum(bool(row.get("swings")) for row in found)
            cell["faults"] = dict(Counter(_short(row["fault"]) for row in found if row["fault"]))
            for key in COLUMNS:
                values = [row[key] for row in found if row.get(key) is not None]
                if values:
                    cell[key] = (float(np.median(values)), min(values), max(values))
    return out


def _short(fault: str) -> str:
    """What a fault is called, without its numbers."""
    words = [word for word in fault.split() if not any(c.isdigit() for c in word)]
    return " ".join(words)[:60]


def _figure(values: tuple[float, float, float] | None) -> str:
    if values is None:
        return "–"
    median, least, most = values
    if most - least <= 0.01 * most:
        return f"{median:.2g}"
    return f"{median:.2g} [{least:.2g} {most:.2g}]"


def kinds_table(summary: Mapping[str, Mapping[str, dict]]) -> str:
    """The table kinds × laws as text."""
    head = ("kind", "law", "lost", "swing.", *COLUMNS, "faults")
    lines = [head]
    for kind, laws in summary.items():
        for law, cell in laws.items():
            lines.append(
                (
                    kind,
                    law,
                    f"{cell['lost']}/{cell['runs']}",
                    str(cell["swings"]),
                    *(_figure(cell.get(key)) for key in COLUMNS),
                    "; ".join(f"{n}x {name}" for name, n in cell["faults"].items()),
                )
            )
    widths = [max(len(line[k]) for line in lines) for k in range(len(head) - 1)]
    return "\n".join(
        "  ".join([*(x.ljust(w) for x, w in zip(line, widths, strict=False)), line[-1]])
        for line in lines
    )


def compare(before: Sequence[dict], after: Sequence[dict]) -> str:
    """Which rows of kinds × laws got better or worse, from one list of runs to another, on the runs
    that both have.
    """

    def key(row: dict) -> tuple:
        return row["kind"], row["arm"], row["seed"], row["law"]

    both = {key(row) for row in before} & {key(row) for row in after}
    old = summarize([row for row in before if key(row) in both])
    new = summarize([row for row in after if key(row) in both])
    lines = []
    for kind, laws in old.items():
        for law, was in laws.items():
            now = new[kind][law]
            for name in ("lost", "swings"):
                if was[name] != now[name]:
                    verdict = "worse" if now[name] > was[name] else "better"
                    change = f"{was[name]} -> {now[name]} of {now['runs']}"
                    lines.append(f"{verdict}: {kind} {law} {name}: {change}")
            for name in ("goal", "way", "swing", "rough", "step", "speed"):
                if name in was and name in now:
                    a = was[name][0]
                    b = now[name][0]
                    if abs(a - b) > TINY[name] and not a / WORSE < b < a * WORSE:
                        verdict = "worse" if b > a else "better"
                        lines.append(f"{verdict}: {kind} {law} {name}: {a:.3g} -> {b:.3g}")
    return "\n".join([f"{len(both)} runs in both", *sorted(lines, reverse=True)])


def main() -> int:
    """Print the table and write the runs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.differing_robots.kinds",
        description=(__doc__ or "").split("\n")[0],
    )
    parser.add_argument("--kinds", default="all", help="names or groups by commas (default: all)")
    parser.add_argument(
        "--laws",
        default=",".join(KINDS_LAWS),
        help="names by commas, or module:object (default: all)",
    )
    parser.add_argument("--arms", default="3", help="how many, or names by commas (default: 3)")
    parser.add_argument("--seeds", type=int, default=1, help="robots of each kind and arm")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--held-out", type=int, metavar="SEED", help="other arms, seeds from there on"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--out", type=Path, help="file for the runs, JSON")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--show", type=Path, help="print the table of a file of runs")
    options = parser.parse_args()
    if options.compare:
        print(compare(*(json.loads(path.read_text())["runs"] for path in options.compare)))
        return 0
    if options.show:
        print(kinds_table(summarize(json.loads(options.show.read_text())["runs"])))
        return 0
    held_out = options.held_out is not None
    pool = HELD_OUT if held_out else MAIN_ARMS
    arms = pool[: int(options.arms)] if options.arms.isdigit() else options.arms.split(",")
    first = options.held_out if held_out else options.seed
    began = time.monotonic()
    rows = run_kinds(
        dict.fromkeys(options.laws.split(",")),
        list(kinds_of(options.kinds)),
        list(arms),
        range(first, first + options.seeds),
        options.jobs,
    )
    summary = summarize(rows)
    print(kinds_table(summary))
    print(f"{len(rows)} runs in {time.monotonic() - began:.0f} s")
    if options.out:
        options.out.write_text(json.dumps({"runs": rows}, indent=0, default=float))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
