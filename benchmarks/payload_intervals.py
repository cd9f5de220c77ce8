"""Payload intervals on arms that are not as their URDF says: ``python -m
benchmarks.payload_intervals [--draws N] [--seed N]``.

Four arms of example-robot-data carry a payload of random mass, centre and inertia along a gentle
motion of 24 s.  This package's plant and MuJoCo simulate them, in turns, under a
proportional-derivative controller.  Friction is wrong by 10 %, positions have noise of 1e-5 rad,
efforts noise of 0.5 % of their limits, and are 1 ms late.  Arms:

- ``exact``: the bodies are those of the URDF;
- ``3 % off``: masses, centres and inertias of the links times exp(0.03 z), z standard normal;
- ``identified``: 15 % off, and identified from a recording of 15 s without payload.

``arm_error`` is what :func:`robot_dynamics_ros.estimate_payload` is given: the share, the
covariance of the identification, or nothing, so that it finds the share from the recording.

Printed: the share of 95 % intervals that hold the true mass, and those that hold a true coordinate
    of the centre; the median
error divided by its standard error (0.67 for a normal distribution); the median half widths.
"""

from __future__ import annotations

import argparse
import dataclasses
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.differing_robots.arms import ARMS, Arm, home, load_arm

NAMES = ("ur5", "panda", "xarm7", "z1")
ENGINES = ("plant", "MuJoCo")
CASES = {"exact": 0.0, "3 % off": 0.03, "identified": 0.15}
GIVEN: dict[str, tuple[float | None, ...]] = {
    "exact": (0.0, None),
    "3 % off": (0.03, None),
    "identified": (None,),
}
"""``arm_error`` of each case; nothing stands for the covariance where the arm was identified."""
# s, and steps of a row of the recording
STEP = 1e-3
EVERY = 4
# of the effort limit, at any speed and at the largest speed
COULOMB = 0.02
VISCOUS = 0.01
# kg m² for N m of effort limit
ROTOR = 2e-3
NORMAL = 1.96


@cache
def described(name: str) -> rd.RobotModel:
    """An arm as its URDF says, with friction in every joint."""
    model = load_arm(ARMS[name])
    limit = dict(zip(model.joint_names, model.effort_limit, strict=True))
    speed = dict(zip(model.joint_names, model.velocity_limit, strict=True))
    joints = tuple(
        dataclasses.replace(
            j,
            friction=COULOMB * limit[j.name],
            damping=VISCOUS * limit[j.name] / speed[j.name],
            armature=ROTOR * limit[j.name],
        )
        if j.name in limit
        else j
        for j in model.description.joints
    )
    return model.replace(
        description=dataclasses.replace(model.description, joints=joints, source="")
    )


@cache
def gentle_motion(name: str) -> rd.Excitation:
    """Two periods of 12 s from home and back."""
    arm: Arm = ARMS[name]
    model = described(name)
    return rd.payload_motion(model, arm.flange, home(arm, model), span=0.6, tries=8)


def drawn_payload(arm: Arm, rng: np.random.Generator) -> rd.Payload:
    """A solid ellipsoid of a third of the nominal payload to all of it."""
    mass = arm.payload * rng.uniform(1 / 3, 1.0)
    radii = rng.uniform(0.03, 0.08, 3)
    inertia = 0.2 * mass * np.diag(np.sum(radii**2) - radii**2)
    return rd.Payload(
        arm.flange, mass, np.r_[rng.uniform(-0.05, 0.05, 2), rng.uniform(0.03, 0.12)], inertia
    )


def record(
    prior: rd.RobotModel,
    truth: rd.RobotModel,
    motion: rd.Excitation,
    engine: str,
    rng: np.random.Generator,
    periods: int = 2,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Periods of ``motion`` by a controller that knows ``prior``: times, positions and efforts as
    recorded.
    """
    t = STEP * np.arange(round(periods * motion.period / STEP))
    q, v, a = (motion.at(t, k) for k in range(3))
    gain = np.diagonal(rd.mass_matrix(prior, q[0]))
    kp = 2500.0 * gain
    kd = 100.0 * gain
    ahead = rd.inverse_dynamics(prior, q, v, a) + rd.Friction.of(prior).effort(v)
    if engine == "plant":
        plant = rd.Plant(
            truth, STEP, springs=rd.JointPD(kp, kd), stops=None, limiter=False, q0=q[0], v0=v[0]
        )
        path = plant.run(ahead + kp * q + kd * v)
        states = np.concatenate([q[:1], path.q])
        speeds = np.concatenate([v[:1], path.v])
        # springs act during the step: these are their mean efforts
        middle = 0.5 * (states[:-1] + states[1:])
        speed = 0.5 * (speeds[:-1] + speeds[1:])
        states = states[:-1]
        effort = ahead + kp * (q - middle) + kd * (v - speed)
    else:
        twin = rd.MujocoPlant(
            truth, STEP, geometry="none", stops=None, limiter=False, q0=q[0], v0=v[0]
        )
        states = np.empty(q.shape)
        effort = np.empty(q.shape)
        for k in range(len(t)):
            states[k] = twin.q
            effort[k] = ahead[k] + kp * (q[k] - states[k]) + kd * (v[k] - twin.v)
            twin.step(effort[k])
    late = np.concatenate([effort[:1], effort[:-1]])[::EVERY]
    states = states[::EVERY]
    return (
        t[::EVERY],
        states + 1e-5 * rng.standard_normal(states.shape),
        late + 0.005 * prior.effort_limit * rng.standard_normal(states.shape),
    )


@cache
def fast_motion(name: str) -> rd.Excitation:
    """One period of 15 s that shows the arm's own parameters."""
    return rd.design_excitation(described(name), rd.DesignSettings(period=15.0, evaluations=60))


def one(task: tuple[str, str, int]) -> list[tuple[str, str, list[float], list[float]]]:
    """Of one arm, case and draw: case, ``arm_error``, errors divided by their standard errors, and
    standard errors (share of the mass, m of the centre), for each ``arm_error``.
    """
    name, case, seed = task
    rng = np.random.default_rng([seed, NAMES.index(name), list(CASES).index(case)])
    prior = described(name)
    arm = ARMS[name]
    off = CASES[case]
    engine = ENGINES[seed % 2]
    truth = rd.random_model_error(
        prior, rng, mass=off, com=off, inertia=off, damping=0.1, friction=0.1
    )
    known = prior
    covariance = None
    if case == "identified":
        t, q, effort = record(prior, truth, fast_motion(name), engine, rng, 1)
        settings = rd.IdentificationSettings(
            friction="simple", unseen="keep", plausibility="accept"
        )
        found = rd.identify(prior, t, q, effort, settings)
        known = found.model
        covariance = found.body_covariance
    payload = drawn_payload(arm, rng)
    t, q, effort = record(known, rd.carrying(truth, payload), gentle_motion(name), engine, rng)
    out = []
    for given in GIVEN[case]:
        estimate = rd.estimate_payload(
            known,
            arm.flange,
            t,
            q,
            effort,
            arm_error=covariance if given is None else given,
            # simulated efforts have the right scale
            effort_error=0.0,
        )
        z = [(estimate.payload.mass - payload.mass) / estimate.mass_error]
        z += ((estimate.payload.com - payload.com) / estimate.com_error).tolist()
        width = [estimate.mass_error / payload.mass, *estimate.com_error.tolist()]
        words = (
            "covariance"
            if covariance is not None
            else "from the data"
            if given is None
            else f"{given:g}"
        )
        out.append((case, words, z, width))
    return out


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=16, help="arms and payloads drawn for each arm and case"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first draw")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    tasks = [
        (name, case, seed)
        for name in NAMES
        for case in CASES
        for seed in range(options.seed, options.seed + options.draws)
    ]
    with ProcessPoolExecutor(options.processes) as pool:
        results = list(pool.map(one, tasks))
    rows: dict[str, dict[str, float]] = {}
    print(
        f"{'arm':<14}{'case':<12}{'arm_error':<15}{'mass':>7}{'centre':>8}{'error':>7}"
        f"{'± kg/kg':>9}{'± mm':>7}"
    )
    for name in (*NAMES, "all"):
        some = [
            r
            for task, result in zip(tasks, results, strict=True)
            if name in (task[0], "all")
            for r in result
        ]
        for case, words in dict.fromkeys((case, words) for case, words, _, _ in some):
            z, width = (np.array([r[k] for r in some if r[:2] == (case, words)]) for k in (2, 3))
            held = np.abs(z) < NORMAL
            figures = {
                "mass held": float(held[:, 0].mean()),
                "centre held": float(held[:, 1:].mean()),
                "median error over standard error": float(np.median(np.abs(z))),
                "half width of the mass": NORMAL * float(np.median(width[:, 0])),
                "half width of the centre, mm": 1e3 * NORMAL * float(np.median(width[:, 1:])),
            }
            rows[f"{name}, {case}, {words}"] = figures
            mass, centre, error, *widths = figures.values()
            print(
                f"{name:<14}{case:<12}{words:<15}{mass:7.0%}{centre:8.0%}{error:7.2f}"
                f"{widths[0]:9.4f}{widths[1]:7.2f}",
                flush=True,
            )
    write("payload_intervals", {"draws": options.draws, "seed": options.seed, "rows": rows})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
