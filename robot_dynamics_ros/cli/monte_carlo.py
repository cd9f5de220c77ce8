"""``robot_dynamics monte_carlo``: a motion under a law, on many robots that differ at random from
their description.
"""

from __future__ import annotations

import argparse
import csv
from functools import partial
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli import arguments as take
from robot_dynamics_ros.cli import output
from robot_dynamics_ros.cli.arguments import option, output_file
from robot_dynamics_ros.cli.output import with_count
from robot_dynamics_ros.cli.robots import add_robot, load_model
from robot_dynamics_ros.cli.sources import add_workers, workers_of
from robot_dynamics_ros.control.reference.planning import bearable_start, plan_motion
from robot_dynamics_ros.simulation.batch import BatchResult, monte_carlo
from robot_dynamics_ros.simulation.integrators.methods import (
    DEFAULT_INTEGRATOR,
    DEFAULT_STEP,
    INTEGRATORS,
)
from robot_dynamics_ros.simulation.tracking import (
    END_ERROR,
    TRACKING_LAWS,
    tracking_figures,
    tracking_law,
)
from robot_dynamics_ros.whole_files import whole_file

# rad or m: robots that are nearer to the goal count as arrived.
COUNTED_AS_ARRIVED = 0.01
FIGURES = ("mass", "com", "inertia", "damping", "friction", "armature")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add = partial(option, parser)
    add("--runs", take.at_least_one, "robots to draw", 50)
    add("--seed", take.seed, "of the random errors", 0)
    for name in FIGURES:
        add(
            f"--{name}",
            take.not_negative,
            f"spread of {name}, as a share of the value",
            0.1,
            metavar="SPREAD",
        )
    add(
        "--law",
        TRACKING_LAWS,
        "control law (default: %(default)s as the node has it)",
        "computed_torque",
    )
    add(
        "--frequency",
        take.positive,
        "natural frequency of the law's error, rad/s; computed_torque is then its equation alone "
        "(default of the other laws: 15)",
    )
    add(
        "--rotors",
        take.not_negative,
        "inertia of rotors and gears added at every joint, kg m^2 or kg",
        0.0,
    )
    add(
        "--duration",
        take.not_negative,
        "of the motion, s; 0: the shortest that the limits allow",
        0.0,
    )
    add("--dt", take.positive, "control period, s", DEFAULT_STEP)
    add("--integrator", tuple(INTEGRATORS), "integration method", DEFAULT_INTEGRATOR)
    add(
        "--tolerance",
        take.not_negative,
        "rad or m that a robot may be off when the motion ends; more ends with exit code 1 "
        "(default: robots within 0.01 are counted)",
    )
    add_workers(parser, "robots")
    add("--csv", output_file, "write the figures of every run there")


def run(options: argparse.Namespace) -> int:
    """Run the batch and print the table; 1 if a run failed, or is beyond the tolerance given."""
    model = load_model(options)
    if options.rotors:
        rotors = {
            j.name: options.rotors
            for j in model.description.joints
            if j.type.nv == 1 and j.mimic is None
        }
        model = model.replace(description=model.description.with_joints(rotors))
    start, elsewhere = bearable_start(model, model.initial_configuration())
    if elsewhere:
        output.remark(f"starts elsewhere: {elsewhere}")
    motion = plan_motion(model, start, duration=options.duration, seed=options.seed)
    take.check_count(motion.duration / options.dt, "control periods", "--duration, --dt")
    how = {
        "law": tracking_law(model, options.law, start, options.frequency),
        "dt": options.dt,
        "integrator": options.integrator,
    }
    experiment = partial(tracking_figures, model, motion, how)
    spread = {name: getattr(options, name) for name in FIGURES}
    shares = ", ".join(f"{name} {value:g}" for name, value in spread.items())
    print(
        f"{model.name}: {options.runs} robots, {motion.duration:.3g} s each under {options.law}, "
        f"spreads {shares}"
    )
    batch = partial(
        monte_carlo, model, experiment, runs=options.runs, seed=options.seed, spread=spread
    )
    result = with_count(
        "robots", "robots", lambda tell: batch(executor=workers_of(options), progress=tell)
    )
    print()
    if options.tolerance is None:
        tolerance = COUNTED_AS_ARRIVED
    else:
        tolerance = options.tolerance
    # a run that failed has NaN here
    arrived = int((result.figures.get(END_ERROR, np.zeros(0)) <= 1e3 * tolerance).sum())
    data = {
        "runs": len(result),
        "arrived": arrived,
        "tolerance": tolerance,
        "figures": result.figures,
        "failures": result.failures,
    }
    text = (
        f"{result.table()}\n\nwithin {tolerance:g} rad or m of the goal when the motion ends: "
        f"{arrived} of {len(result)} robots"
    )
    output.result(options, data, text)
    if options.csv is not None:
        _write(result, options.csv)
        print(f"\nwritten to {options.csv}")
    if result.failures or (options.tolerance is not None and arrived < len(result)):
        return 1
    return 0


def _write(result: BatchResult, path: Path) -> None:
    names = list(result.figures)
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["run", *names, "failure"])
        for k in range(len(result)):
            rows.writerow(
                [
                    k,
                    *(f"{result.figures[name][k]:.9g}" for name in names),
                    result.failures.get(k, ""),
                ]
            )
