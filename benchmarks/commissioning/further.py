"""What else commissioning promises: ``python -m benchmarks.commissioning.further PART``.

- ``unweighed``: arms whose driver measures no efforts.  Each has one mistake, 20 ms of delay and a
  tenth of the friction described. It is pushed, floats and twitches where its weight acts little.
- ``links``: each link of twelve arms with 0.7 or 1.3 times its mass, and as many healthy arms, by
  their efforts in twelve poses.
- ``tours``: arms with friction and rotors that their description lacks, and 4 ms of delay: the tour
  before and after; without what the slow tour shows; and at the bandwidth chosen if the arm were
  known exactly.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
import warnings

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.commissioning.arm import ROBOTS, Mistake, described, make_arm, robot
from benchmarks.commissioning.cases import distance, draw
from benchmarks.commissioning.steps import reachable_poses
from robot_dynamics_ros.commissioning import ArmSettings
from robot_dynamics_ros.control.reference.planning import plan_motion

SEEN = 12.0
"""Squared distance from healthy arms at which a mistake can show that is looked for alone: three
and a half standard deviations.
"""
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
    "commands act 100 times as strongly": Mistake("effort_unit", -1, 0.01),
}


def run(kind: str, name: str, engine: str, seed: int) -> dict:
    """Push one arm, let it float, and twitch one of its joints."""
    rng = np.random.default_rng(seed)
    mistake = KINDS[kind]
    chosen = draw(mistake, described(name)[0].nv, rng) if isinstance(mistake, str) else mistake
    mistakes = [
        *([chosen] if chosen else []),
        Mistake("friction", -1, 0.1),
        Mistake("delay", -1, 0.02),
    ]
    arm = make_arm(name, mistakes, engine=engine, seed=seed)
    calm = arm.unseen(rd.commissioning.calm_pose(arm.claim, arm.seen(arm.plant.q)))
    arm.place(np.clip(calm, arm.truth.lower + 0.01, arm.truth.upper - 0.01))
    arm.release()
    runner = rd.commissioning.StepRunner(arm, arm.claim)
    try:
        report, pushes = rd.commissioning.probe(runner)
    # it does not stand where it was led to: positions are wrong
    except rd.RobotDynamicsError as error:
        report = rd.commissioning.StepReport("float", enough=False, notes=(str(error),))
        pushes = {}
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


def links(name: str) -> list[dict]:
    """Weigh one arm with each of its links too light and too heavy, and as often with none, by
    exact readings and their noise.
    """
    cases = []
    for body in range(described(name)[0].nv):
        for factor in (0.7, 1.3, 1.0):
            arm = make_arm(
                name, [Mistake("link_mass", body, factor)] if factor != 1.0 else [], seed=100 * body
            )
            poses = reachable_poses(arm)
            noise = np.random.default_rng(body)
            tau = arm.read_exactly(np.array([arm.unseen(pose) for pose in poses]))
            rub = arm.truth.friction * noise.uniform(0.95, 1.05, tau.shape)
            efforts = np.stack([tau + rub, tau - rub], axis=1) + 3e-4 * arm.limit * noise.normal(
                size=(len(tau), 2, 1)
            )
            report = rd.commissioning.weigh(arm.claim, poses, efforts)
            link = f"link {arm.claim.joint(arm.claim.moving_joint_names[body]).child} "
            hints = [note for note in report.notes if note.startswith("perhaps link")]
            cases.append(
                {
                    "robot": name,
                    "link": link if factor != 1.0 else "",
                    "factor": factor,
                    "shows": factor != 1.0 and distance(arm, poses) > SEEN,
                    "named": any(
                        f.kind == "link_mass" and link in f.sentence for f in report.findings
                    ),
                    "wrongly named": any(
                        f.kind != "link_mass" or link not in f.sentence for f in report.findings
                    ),
                    "mentioned": any(link in note for note in hints),
                    "another is mentioned": bool(hints) and not any(link in note for note in hints),
                }
            )
    return cases


def tour(name: str, engine: str) -> dict:
    """The tour with the default settings and after commissioning, of an arm whose description lacks
    friction and rotors.
    """
    bare, home = robot(name)

    def standing(
        model: rd.RobotModel, settings: ArmSettings, q: np.ndarray
    ) -> rd.commissioning.StepRunner:
        arm = make_arm(
            name, [Mistake("delay", -1, 0.004), Mistake("rate", -1, 250.0)], engine=engine, seed=7
        )
        arm.place(q)
        arm.release()
        return rd.commissioning.StepRunner(arm, settings.model(model), settings.options)

    runner = standing(bare, ArmSettings(), rd.commissioning.calm_pose(bare, home))
    pushed, pushes = rd.commissioning.probe(runner)
    twitched = rd.commissioning.twitch(runner, pushes)
    known = ArmSettings().learned(bare.joint_names, twitched.numbers)
    runner = rd.commissioning.StepRunner(runner.arm, known.model(bare), known.options)
    tuned, chosen = rd.commissioning.tune(runner, known)
    truth = runner.arm.truth
    exact = dataclasses.replace(chosen, delay=0.004, friction={}, armature={}, damping={})
    exact.friction.update(zip(bare.joint_names, truth.friction.tolist(), strict=True))
    plan = plan_motion(bare, home)
    errors = {}
    moved, final = rd.commissioning.move(standing(bare, chosen, home), chosen, plan)
    # from the same place, with a new controller each
    for label, model, settings in (
        ("default", bare, ArmSettings()),
        ("commissioned", bare, final),
        ("without the slow tour", bare, chosen),
        ("known exactly, chosen bandwidth", truth, exact),
    ):
        report, _ = rd.commissioning.move(
            standing(model, settings, home), settings, plan, slowly=1.0
        )
        errors[label] = (
            float(np.linalg.norm(report.numbers["rms error, full speed"]))
            if report.enough
            else math.nan
        )
    return {
        "robot": name,
        "engine": engine,
        "ratio": errors["commissioned"] / errors["default"],
        **errors,
        "bandwidth": chosen.bandwidth,
        "margin": tuned.numbers["margin"],
        "whole delay": tuned.numbers["whole delay"],
        "named": [str(f) for r in (pushed, twitched, tuned, moved) for f in r.findings],
        "notes": [note for r in (pushed, twitched, tuned, moved) for note in r.notes],
    }


def of_kinds(cases: list[dict]) -> list[dict]:
    """A row of each mistake."""
    return [
        {
            "mistake": kind,
            "arms": len(own),
            "largest share of a speed limit": max(case["fastest"] for case in own),
            "farthest": max(case["farthest"] for case in own),
            "something is named": sum(
                any(word != "delay " for word in case["named"]) for case in own
            ),
            "not released": sum(case["fastest"] < 1e-5 for case in own),
        }
        for kind in dict.fromkeys(case["kind"] for case in cases)
        for own in [[case for case in cases if case["kind"] == kind]]
    ]


def of_links(cases: list[dict]) -> list[dict]:
    """A row of links that can show, of those that cannot, and of healthy arms."""
    groups = {
        "30 % off, can show": [c for c in cases if c["shows"]],
        "30 % off, cannot": [c for c in cases if c["factor"] != 1.0 and not c["shows"]],
        "healthy": [c for c in cases if c["factor"] == 1.0],
    }
    keys = ("named", "wrongly named", "mentioned", "another is mentioned")
    return [
        {"link": name, "cases": len(own), **{k: sum(c[k] for c in own) for k in keys}}
        for name, own in groups.items()
    ]


def main() -> int:
    """Run one part, and write its table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("unweighed", "links", "tours"))
    parser.add_argument(
        "--kind",
        nargs="*",
        default=list(KINDS),
        choices=list(KINDS),
        help="mistakes (default: all)",
    )
    parser.add_argument(
        "--robot", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="arms (default: all)"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases: list[dict] = []
    for k, name in enumerate(options.robot):
        engine = ("own", "mujoco")[k % 2]
        began = time.monotonic()
        if options.part == "tours":
            cases.append(tour(name, engine))
        elif options.part == "links":
            cases += links(name)
        else:
            for kind in options.kind:
                cases.append(
                    run(kind, name, engine, 100 * list(KINDS).index(kind) + ROBOTS.index(name))
                )
                print(*(f"{key}={value}" for key, value in cases[-1].items()), flush=True)
        print(f"{name}: {time.monotonic() - began:.0f} s", cases[-1], flush=True)
    table = (
        of_kinds(cases)
        if options.part == "unweighed"
        else of_links(cases)
        if options.part == "links"
        else cases
    )
    print(*table, sep="\n")
    write(f"commissioning_{options.part}", {"table": table, "cases": cases})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
