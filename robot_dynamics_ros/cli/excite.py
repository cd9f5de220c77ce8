"""``robot_dynamics excite``: a motion for identification, within the limits of a robot."""

from __future__ import annotations

import argparse
import math
from functools import partial
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli import arguments as take
from robot_dynamics_ros.cli.arguments import option
from robot_dynamics_ros.cli.output import Figure, Progress, print_table
from robot_dynamics_ros.cli.robots import add_robot, configuration_argument, load_model
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.identification import DesignSettings, Excitation, design_excitation
from robot_dynamics_ros.identification.report import LARGEST_GOOD_CONDITION
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.whole_files import whole_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add = partial(option, parser)
    add(
        "--output",
        take.output_directory,
        "writes NAME.csv and NAME.yaml",
        "excitation",
        metavar="NAME",
    )
    add("--overwrite", None, "replace what an earlier run has written there")
    add("--period", take.positive, "s", 20.0)
    add("--periods", take.at_least_one, "how often it is repeated", 3)
    add("--harmonics", take.at_least_one, "of the Fourier series", 5)
    add("--rate", take.positive, "waypoints a second", 20.0)
    add("--scale", take.share, "share of position ranges, velocities, accelerations", 0.8)
    add("--effort-scale", take.share, "share of effort limits", 0.8)
    add("--acceleration", take.positive, "rad/s^2 or m/s^2 (default: the velocity limit in 0.25 s)")
    add("--range", "JOINT:LOWER:UPPER", "narrower position limits of a joint", many=True)
    add("--floor", take.finite, "m: link origins stay above this height")
    text = "configuration of the arm before: the trajectory begins with a move from there"
    add("--start", take.coordinates_or_name, text, metavar="Q,Q,...|NAME")
    add("--evaluations", take.at_least_one, "motions tried", 1500)
    add("--seed", take.seed, "of the random numbers", 0)


def _rows(motion: Excitation, model: RobotModel) -> list[list[str | Figure]]:
    """Range, speeds and efforts of each joint in one period, and where it starts."""
    t = np.linspace(0.0, motion.period, 2000)
    q, v, a = (motion.at(t, k) for k in range(3))
    if motion.effort is not None:
        effort = motion.effort
    else:
        effort = np.zeros(model.nv)
    columns = (
        q.min(axis=0),
        q.max(axis=0),
        np.abs(v).max(axis=0),
        np.abs(a).max(axis=0),
        effort,
        q[0],
    )
    forms = (".3f", ".3f", ".3f", ".3f", ".1f", ".4f")
    rows: list[list[str | Figure]] = []
    for name, *figures in zip(model.joint_names, *columns, strict=True):
        position, speed, torque = model.joint(name).type.units
        units = (position, position, speed, f"{position}/s^2", torque, position)
        cells = zip(figures, forms, units, strict=True)
        rows.append([name, *(Figure.of(x, form, unit=unit) for x, form, unit in cells)])
    return rows


def run(options: argparse.Namespace) -> int:
    """Design and write the motion, and print its figures; 1 if it does not show the parameters."""
    base = Path(options.output)
    paths = [base.with_name(base.name + suffix) for suffix in (".csv", ".yaml")]
    take.refuse_to_replace(paths, options.overwrite)
    model = load_model(options)
    lower, upper = _ranges(model, options.range)
    settings = take.settings_of(DesignSettings, options, lower=lower, upper=upper)
    if options.start:
        start = configuration_argument(model, options.start, "--start")
    else:
        start = None
    count = options.period * options.rate * options.periods
    take.check_count(count, "waypoints", "--period, --periods, --rate", least=2)
    with Progress("designing", 1.0) as bar:

        def tell(share: float, best: float) -> None:
            bar.update(share, f"condition {best:.1f}" if math.isfinite(best) else "")

        motion = design_excitation(model, settings, tell)
    trajectory = motion.trajectory(options.periods, rate=options.rate, start=start, model=model)
    with whole_files(base.parent) as place:
        motion.write_csv(trajectory, place / paths[0].name)
        motion.write_message(trajectory, place / paths[1].name)
    rows = _rows(motion, model)
    head = ["joint", "lowest", "highest", "speed", "acceleration", "effort", "start"]
    shows = motion.condition <= LARGEST_GOOD_CONDITION
    print_table(
        options,
        head,
        rows,
        condition=motion.condition,
        shows_parameters=shows,
        period=motion.period,
        files=[str(p) for p in paths],
    )
    print(
        f"\ncondition number {motion.condition:.1f}; {options.periods} x {motion.period:g} s; no "
        "collision was checked: "
        "look at it in simulation, and run it slowly first"
    )
    print(f"written: {', '.join(map(str, paths))}")
    if shows:
        return 0
    print(
        f"\nNOT ENOUGH: beyond {LARGEST_GOOD_CONDITION:g} the motion does not show all parameters: "
        "give it more --range, --period or --evaluations, or lock the joint that hardly moves"
    )
    return 1


def _ranges(model: RobotModel, texts: list[str]) -> tuple[Array, Array]:
    lower = np.full(model.nv, -np.inf)
    upper = np.full(model.nv, np.inf)
    for text in texts:
        name, *numbers = text.rsplit(":", 2)
        check_name("joint", name, model.joint_names, where="--range")
        try:
            low, high = map(float, numbers)
        except ValueError:
            raise ArgumentError(
                f"expected JOINT:LOWER:UPPER, got {text!r}", where="--range"
            ) from None
        lower[model.v_slice(name)] = low
        upper[model.v_slice(name)] = high
    return lower, upper
