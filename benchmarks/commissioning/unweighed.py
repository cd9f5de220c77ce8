"""Arms that cannot be weighed: ``python -m benchmarks.commissioning.unweighed``.

No efforts are measured.  Each arm has one mistake, 20 ms of delay and a tenth of the friction described.  It is pushed, floats and
twitches where its weight acts little; the largest speed is the figure.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.commissioning.arm import ROBOTS, Mistake, described, make_arm
from benchmarks.commissioning.cases import draw

KINDS = {
    "none": None,
    "sign of commands": "effort_sign",
    "positions' sign": "position_sign",
    "joints exchanged": "joints_exchanged",
    "commands act 10 times as strongly": Mistake("effort_unit", -1, 0.1),
    "commands act a tenth as strongly": Mistake("effort_unit", -1, 10.0),
    "commands of one joint in another unit": "effort_unit of one joint",
    "gravity compensated twice": "gravity_compensated_by_driver",
    "another mounting": "mounting",
    "upside down": "upside down",
    "1 kg forgotten": "payload",
    "another robot": "wrong_robot",
}


def run(kind: str, name: str, engine: str, seed: int) -> dict:
    """Push one arm, let it float, and twitch one of its joints."""
    rng, mistake = np.random.default_rng(seed), KINDS[kind]
    chosen = draw(mistake, described(name)[0].nv, rng) if isinstance(mistake, str) else mistake
    mistakes = [*([chosen] if chosen else []), Mistake("friction", -1, 0.1), Mistake("delay", -1, 0.02)]
    arm = make_arm(name, mistakes, engine=engine, seed=seed)
    calm = arm.unseen(rd.commissioning.calm_pose(arm.claim, arm.seen(arm.plant.q)))
    arm.place(np.clip(calm, arm.truth.lower + 0.01, arm.truth.upper - 0.01))
    arm.release()
    runner = rd.commissioning.StepRunner(arm, arm.claim)
    try:
        report, pushes = rd.commissioning.probe(runner)
    except rd.RobotDynamicsError as error:  # it does not stand where it was led to: positions are wrong
        report, pushes = rd.commissioning.StepReport("float", enough=False, notes=(str(error),)), {}
    reports = [report]
    if not report.findings and report.enough:
        reports.append(rd.commissioning.float_arm(runner, 1.0))
    if len(reports) == 2 and all(f.kind == "delay" for f in reports[1].findings):
        reports.append(rd.commissioning.twitch(runner, pushes, arm.claim.joint_names[1:2]))
    return {
        "kind": kind,
        "robot": name,
        "engine": engine,
        "mistake": ""
        if chosen is None
        else f"{chosen.kind} {chosen.joint} {chosen.other} {chosen.what} {chosen.number:.3g}",
        "fastest": arm.fastest,
        "farthest": float(arm.farthest.max()),
        "steps": len(reports),
        "named": [f"{f.kind} {' '.join(f.joints)}" for r in reports for f in r.findings],
        "notes": [note for r in reports for note in r.notes],
    }


def main() -> int:
    """Run all cases, and write the largest speeds of each kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kind", nargs="*", default=list(KINDS), choices=list(KINDS), help="mistakes (default: all)")
    parser.add_argument("--robot", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="arms (default: all)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = []
    for kind in options.kind:
        for k, name in enumerate(options.robot):
            began = time.monotonic()
            case = run(kind, name, ("own", "mujoco")[k % 2], 100 * list(KINDS).index(kind) + ROBOTS.index(name))
            cases.append(case)
            print(f"{time.monotonic() - began:.1f} s", *(f"{k}={v}" for k, v in case.items()), flush=True)
    table = [
        {
            "mistake": kind,
            "arms": len(own),
            "largest share of a speed limit": max(case["fastest"] for case in own),
            "farthest": max(case["farthest"] for case in own),
            "something is named": sum(bool(case["named"]) for case in own),
        }
        for kind in options.kind
        for own in [[case for case in cases if case["kind"] == kind]]
    ]
    for row in table:
        print(row)
    write("commissioning_unweighed", {"table": table, "cases": cases})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
