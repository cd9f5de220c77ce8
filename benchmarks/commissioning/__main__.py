"""Mistakes found before anything is sent: ``python -m benchmarks.commissioning``.

Twelve arms by their descriptions, each differing from it as arms do: masses, centres, friction,
scale and offset of efforts,
noise.  Each has no mistake, one, or two.  Our plant or MuJoCo moves it.  It is listened to at rest
and in motion, and weighed in twelve poses.  A case counts if every mistake is named with its joints
and nothing else is.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks._results import WRITE_TO, write
from benchmarks.commissioning.arm import ROBOTS, Mistake, MistakenArm, make_arm, robot
from benchmarks.commissioning.cases import KINDS, draw, expected, shows
from benchmarks.commissioning.steps import look, reachable_poses


def single(name: str, kind: str, engine: str, seed: int) -> tuple[MistakenArm, np.ndarray, bool]:
    """An arm with one mistake, its poses, and whether it can show there."""
    mistake = draw(kind, robot(name)[0].nv, np.random.default_rng(seed))
    arm = make_arm(name, [mistake], engine=engine, seed=seed)
    poses = reachable_poses(arm)
    return arm, poses, shows(arm, poses)


def judge(arm: MistakenArm, poses: np.ndarray) -> dict:
    """What is named rightly and wrongly of an arm's mistakes."""
    right_names = [expected(arm, mistake) for mistake in arm.mistakes]
    named = set()
    wrong = []
    for finding in look(arm, poses):
        fits = [
            k
            for k, (kind, joints) in enumerate(right_names)
            if finding.kind == kind and joints <= set(finding.joints)
        ]
        fits = [
            k for k in fits if not right_names[k][1] or right_names[k][1] == set(finding.joints)
        ]
        named.update(fits)
        if not fits:
            wrong.append(f"{finding.kind} {' '.join(finding.joints)}".strip())
    return {
        "named": len(named),
        "right": len(named) == len(right_names) and not wrong,
        "wrong": wrong,
        "which": sorted(named),
    }


def judge_twice(arm: MistakenArm, poses: np.ndarray, seed: int, name: str, engine: str) -> dict:
    """The same, and again after the mistakes that were named are repaired."""
    first = judge(arm, poses)
    result = {**first, "at once": first["right"]}
    if not first["right"] and first["which"] and not first["wrong"]:
        rest = [mistake for k, mistake in enumerate(arm.mistakes) if k not in first["which"]]
        second = judge(make_arm(name, rest, engine=engine, seed=seed), poses)
        result["right"] = second["right"]
        result["wrong"] = second["wrong"]
    return result


def bounds(arm: MistakenArm) -> dict:
    """How far and how fast an arm that floated went: rad or m, and share of a speed limit."""
    return {"farthest": float(arm.farthest.max()), "fastest": arm.fastest} if arm.floated else {}


def run(kind: str, name: str, engine: str, seed: int) -> dict:
    """One case: ``kind`` is one of the kinds, ``"healthy"`` or ``"pair"``."""
    can = True
    if kind == "healthy":
        arm = make_arm(name, engine=engine, seed=seed)
        result = judge(arm, reachable_poses(arm))
    elif kind == "pair":
        rng = np.random.default_rng(seed)
        mistakes: list[Mistake] = []
        while len(mistakes) < 2:
            arm, _, can = single(name, str(rng.choice(KINDS)), "own", int(rng.integers(1 << 30)))
            if can and all(_apart(arm.mistakes[0], other) for other in mistakes):
                mistakes += arm.mistakes
        arm = make_arm(name, mistakes, engine=engine, seed=seed)
        result = judge_twice(arm, reachable_poses(arm), seed, name, engine)
    else:
        arm, poses, can = single(name, kind, engine, seed)
        result = judge(arm, poses)
    text = [f"{m.kind} {m.joint} {m.other} {m.what} {m.number:.3g}" for m in arm.mistakes]
    return {
        "kind": kind,
        "robot": name,
        "engine": engine,
        "seed": seed,
        "shows": can,
        "mistakes": text,
        **result,
        **bounds(arm),
    }


def _apart(one: Mistake, other: Mistake) -> bool:
    """Whether two mistakes are two: not the same kind, and no other robot with mistakes in its
    bodies.
    """
    bodies = {"wrong_robot", "link_mass", "payload", "gravity_compensated_by_driver"}
    return one.kind != other.kind and not (
        "wrong_robot" in (one.kind, other.kind)
        and {one.kind, other.kind} & bodies != {"wrong_robot"}
    )


def table(cases: list[dict]) -> list[dict]:
    """One row for each kind."""
    rows = []
    for kind in dict.fromkeys(case["kind"] for case in cases):
        own = [case for case in cases if case["kind"] == kind]
        shown = [case for case in own if case["shows"]]
        rows.append(
            {
                "kind": kind,
                "cases": len(own),
                "can show": len(shown),
                "rightly named": sum(case["right"] for case in own),
                "accused wrongly": sum(bool(case["wrong"]) for case in own),
            }
        )
    return rows


def main() -> int:
    """Run cases, write the results after each, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.commissioning", description=(__doc__ or "").splitlines()[0]
    )
    every = ["healthy", *KINDS, "pair"]
    parser.add_argument(
        "--kind", nargs="*", default=every, choices=every, help="kinds of cases (default: all)"
    )
    parser.add_argument(
        "--robot", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="arms (default: all)"
    )
    parser.add_argument("--healthy", type=int, default=100, help="healthy arms (default: 100)")
    parser.add_argument("--pairs", type=int, default=60, help="pairs (default: 60)")
    parser.add_argument(
        "--each",
        type=int,
        default=0,
        help="cases of each single mistake (default: one for each arm)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of everything (default: 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default: 1)")
    options = parser.parse_args()
    every_case = []
    turns = []
    for kind in options.kind:
        count = {"healthy": options.healthy, "pair": options.pairs}.get(
            kind, options.each or len(options.robot)
        )
        for k in range(count):
            engine = ("own", "mujoco")[(k + k // len(options.robot) + every.index(kind)) % 2]
            seed = 10_000 * options.seed + 100 * every.index(kind) + k + 1
            # fewer cases than arms begin with another arm in each kind
            first = 5 * every.index(kind)
            every_case.append((kind, options.robot[(first + k) % len(options.robot)], engine, seed))
            turns.append((k + 0.5) / count)
    # a part of them has some of every kind
    every_case = [every_case[k] for k in np.argsort(turns, kind="stable")]
    cases = [case for case in _cases_before(options.seed) if case["kind"] not in options.kind]
    began = time.monotonic()
    with ProcessPoolExecutor(
        options.workers, initializer=warnings.simplefilter, initargs=("ignore",)
    ) as pool:
        for case in pool.map(run, *zip(*every_case, strict=True)):
            cases.append(case)
            if not case["right"] or case["wrong"]:
                print(*(f"{key}={value}" for key, value in case.items()), flush=True)
            _write(sorted(cases, key=lambda case: every.index(case["kind"])), options.seed)
    print(*table(cases), f"{time.monotonic() - began:.0f} s", sep="\n")
    return 0


def _cases_before(seed: int) -> list[dict]:
    """Cases in the result file that is about to be renewed: those of kinds that are not run now
    stay.
    """
    path = Path(os.environ.get(WRITE_TO, "")) / "commissioning.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return before.get("cases", []) if before.get("seed") == seed else []


def _write(cases: list[dict], seed: int) -> None:
    singles = [case for case in cases if case["kind"] in KINDS]
    pairs = [case for case in cases if case["kind"] == "pair"]
    healthy = [case for case in cases if case["kind"] == "healthy"]
    floated = [case for case in cases if "fastest" in case]
    summary = {
        "single": [sum(c["right"] for c in singles), len(singles)],
        "single that can show": [
            sum(c["right"] for c in singles if c["shows"]),
            sum(c["shows"] for c in singles),
        ],
        "pairs": [sum(c["right"] for c in pairs), len(pairs)],
        "pairs at once": [sum(c["at once"] for c in pairs), len(pairs)],
        "healthy accused": [sum(bool(c["wrong"]) for c in healthy), len(healthy)],
        "too fast": [
            sum(c["fastest"] > 0.1 or c["farthest"] > 0.16 for c in floated),
            len(floated),
        ],
    }
    print(summary)
    write(
        "commissioning", {"seed": seed, "summary": summary, "table": table(cases), "cases": cases}
    )


if __name__ == "__main__":
    raise SystemExit(main())
