"""``robot_dynamics simulate``: a robot, a start, a law and a motion, a duration; a table, a
picture, data, a replay.
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli import arguments as take
from robot_dynamics_ros.cli.arguments import coordinate_or_name, input_path, option, output_file
from robot_dynamics_ros.cli.output import (
    Figure,
    remark,
    result,
    rows_as_data,
    table,
    with_progress,
)
from robot_dynamics_ros.cli.rehearsal import SETTLING, rehearse
from robot_dynamics_ros.cli.robots import add_robot, configuration_argument, load_model
from robot_dynamics_ros.cli.sources import add_time_unit
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.reference import planning
from robot_dynamics_ros.dynamics import load_constraints
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.methods import (
    DEFAULT_INTEGRATOR,
    DEFAULT_STEP,
    INTEGRATORS,
)
from robot_dynamics_ros.simulation.plots import plot_run
from robot_dynamics_ros.simulation.simulate import SimulationResult, simulate
from robot_dynamics_ros.simulation.tracking import TRACKING_LAWS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add = partial(option, parser)
    text = "configuration at the start: all coordinates, or its name (default: initial)"
    add("--start", coordinate_or_name, text, nargs="+", metavar="Q")
    text = "velocities at the start (default: rest)"
    add("--velocity", take.finite, text, nargs="+", metavar="V")
    goal = parser.add_mutually_exclusive_group()
    go = partial(option, goal)
    go("--to", coordinate_or_name, "move there: all coordinates, or a name", nargs="+", metavar="Q")
    text = "move a link or named frame there, by inverse kinematics within the limits"
    go("--pose", str, text, nargs=7, metavar=("LINK", "X", "Y", "Z", "ROLL", "PITCH", "YAW"))
    go("--tour", None, "visit waypoints at random within the limits, as the demo does")
    go("--trajectory", input_path, "follow a table: t, <joint>.position", metavar="CSV")
    add_time_unit(parser)
    text = (
        "control law (default with a motion: computed_torque as the node has it; without: none, "
        "the robot falls)"
    )
    add("--law", ("none", *TRACKING_LAWS), text)
    add("--duration", take.positive, "s (default: the motion and a second; 2 without a motion)")
    add("--dt", take.positive, "control period and step, s", DEFAULT_STEP)
    add("--integrator", tuple(INTEGRATORS), "integration method", DEFAULT_INTEGRATOR)
    add(
        "--constraints",
        input_path,
        "closed loops: YAML, or MJCF with <equality>; without a motion",
        metavar="FILE",
    )
    add("--no-friction", None, "without a law: leave out the friction of the URDF")
    add("--tolerance", take.not_negative, "rad or m that count as arrived", 0.01)
    add("--seed", take.seed, "of the tour", 7)
    add(
        "--csv",
        output_file,
        "write t, positions, velocities, accelerations, efforts",
        metavar="FILE",
    )
    add(
        "--bag",
        take.new_directory,
        "write a rosbag2 directory (mcap) of joint states",
        metavar="DIRECTORY",
    )
    add("--picture", output_file, "draw the run", metavar="FILE")
    add(
        "--html",
        output_file,
        "write a page that replays it in 3-D, without a server",
        metavar="FILE",
    )


def _check_law(
    options: argparse.Namespace,
    law: str,
    motion: planning.PlannedMotion | None,
    v0: Array,
) -> None:
    """Refuse a law without a motion, and a motion that no law can follow."""
    if (law == "none") != (motion is None):
        remedy = "Give --to, --pose, --tour or --trajectory with a law, and none without."
        raise ArgumentError(
            "a law needs a motion to follow, and a motion a law",
            where="--law",
            got=law,
            remedy=remedy,
        )
    if motion is None:
        return
    if v0.any():
        raise ArgumentError(
            "a motion starts at rest", where="--velocity", got=v0.tolist(), remedy="Leave it out."
        )
    if options.constraints is not None:
        text = "laws that follow a motion do not support closed loops"
        remedy = (
            "Leave the motion out, or simulate with rd.simulate(model, your_law, constraints=…)."
        )
        raise ArgumentError(
            text, where="--constraints", got=str(options.constraints), remedy=remedy
        )


def run(options: argparse.Namespace) -> int:
    """Simulate, print, write; 1 if the robot has not arrived where a motion should have led it."""
    model = load_model(options)
    if options.bag and model.nq != model.nv:
        text = "joint states cannot tell of floating joints"
        remedy = "Use --csv or --html."
        raise ArgumentError(text, where="--bag", got=options.bag, remedy=remedy)
    q0 = _start(model, options)
    v0 = np.array(options.velocity or [0.0] * model.nv)
    if len(v0) != model.nv:
        raise ArgumentError(
            f"expected {model.nv} numbers, got {len(v0)}", where="--velocity", got=options.velocity
        )
    motion = _motion(model, options, q0)
    law = options.law or ("none" if motion is None else "computed_torque")
    _check_law(options, law, motion, v0)
    length = options.duration or (2.0 if motion is None else motion.duration + SETTLING)
    take.check_count(length / options.dt, "steps", "--duration, --dt")
    arrived = True
    reason = ""
    reference = None
    how = {"duration": length, "dt": options.dt, "integrator": options.integrator}
    if motion is None:
        if options.constraints is None:
            loops = None
        else:
            loops = load_constraints(model, options.constraints)
        how |= {"friction": not options.no_friction, "constraints": loops}
        done = with_progress(
            "simulating", lambda tell: simulate(model, q0=q0, v0=v0, progress=tell, **how)
        )
        if loops is not None:
            remark(f"{len(loops.names)} constraints: {loops.diagnose(done.q[-1])}")
    else:
        how |= {"law": law, "tolerance": options.tolerance}
        rehearsed = with_progress(
            "simulating", lambda tell: rehearse(model, motion, progress=tell, **how)
        )
        done = rehearsed.run
        reference = rehearsed.reference
        if rehearsed.remark:
            remark(rehearsed.remark)
        arrived = rehearsed.arrived
        reason = rehearsed.reason()
    _report(options, done, reference, arrived, reason)
    _write(options, done, reference)
    return 0 if arrived else 1


def _start(model: RobotModel, options: argparse.Namespace) -> Array:
    """Where it starts: --start, else the initial configuration; with a motion, where the robot can
    bear its weight.
    """
    start = configuration_argument(model, options.start or ["initial"], "--start")
    if options.start is None:
        unset = [
            name for name in model.joint_names if name not in model.description.initial_positions
        ]
        places = {
            name: start[model.q_slice(name)] for name in unset if model.joint(name).type.nq == 1
        }
        away = [
            f"{name} at {q:.4g} {model.joint(name).type.units[0]}"
            for name, (q,) in places.items()
            if q != 0.0
        ]
        if away:
            remark(f"zero is outside the limits: starts with {', '.join(away)}")
        if options.tour or options.to or options.pose:
            start, elsewhere = planning.bearable_start(model, start)
            if elsewhere:
                remark(f"starts elsewhere: {elsewhere}")
    return start


def _motion(
    model: RobotModel,
    options: argparse.Namespace,
    start: Array,
) -> planning.PlannedMotion | None:
    if not (options.tour or options.to or options.pose or options.trajectory):
        return None
    check_controllable(model)
    if options.tour:
        return planning.plan_motion(model, start, seed=options.seed)
    if options.trajectory:
        from robot_dynamics_ros.recordings.read_csv import read_csv

        table_ = read_csv(options.trajectory, model, time_unit=options.time_unit)
        return planning.motion_through(model, table_.q, times=table_.t - table_.t[0])
    if options.to:
        goal = configuration_argument(model, options.to, "--to")
    else:
        goal = _goal(model, options.pose, start)
    for q, where in ((start, "--start"), (goal, "--to")):
        planning.check_within_limits(model, q, where)
    return planning.motion_through(model, np.vstack([start, goal]))


def _goal(model: RobotModel, pose: list[str], start: Array) -> Array:
    link, *words = pose
    try:
        numbers = [take.finite(word) for word in words]
    except argparse.ArgumentTypeError as error:
        remedy = "Give LINK X Y Z ROLL PITCH YAW, in m and rad."
        raise ArgumentError(str(error), where="--pose", got=pose, remedy=remedy) from None
    return planning.configuration_at(
        model, link, Pose.from_rpy(numbers[:3], numbers[3:]), start, where="--pose"
    )


def _report(
    options: argparse.Namespace,
    done: SimulationResult,
    reference: Array | None,
    arrived: bool,
    reason: str,
) -> None:
    model = done.model
    head = ["joint", "start", "end", "largest speed", "largest effort"]
    if reference is not None:
        head += ["rms error", "largest error"]
    rows = []
    for name in model.joint_names:
        kind = model.joint(name).type
        i = model.q_slice(name).start
        k = model.v_slice(name)
        position, speed, effort = kind.units
        row = [
            name,
            *(
                Figure.of(x, ".4f", unit=position) if kind.nq == 1 else "-"
                for x in (done.q[0, i], done.q[-1, i])
            ),
        ]
        row.append(Figure.of(np.abs(done.v[:, k]).max(), ".4g", unit=speed))
        row.append(Figure.of(np.abs(done.tau[:, k]).max(), ".4g", unit=effort))
        if reference is not None:
            error = reference[:, i] - done.q[:, i]
            row += [
                Figure.of(math.sqrt((error**2).mean()), ".3g", unit=position),
                Figure.of(np.abs(error).max(), ".3g", unit=position),
            ]
        rows.append(row)
    span, (before, *_, after) = float(done.t[-1] - done.t[0]), done.energy
    text = (
        f"{model.name}: {span:g} s in {len(done.t) - 1} steps, energy {before:.6g} J to "
        f"{after:.6g} J"
    )
    if reference is not None:
        text += "\narrived" if arrived else f"\nNOT ARRIVED: {reason}"
    data = {"name": model.name, "duration": span, "energy": [before, after]}
    data |= {
        "arrived": None if reference is None else arrived,
        "reason": reason,
        "joints": rows_as_data(head, rows),
    }
    result(options, data, f"{text}\n\n{table(head, rows)}")


def _write(
    options: argparse.Namespace,
    done: SimulationResult,
    reference: Array | None,
) -> None:
    if options.csv or options.bag:
        from robot_dynamics_ros.recordings import of_run, write_bag, write_csv, write_run_csv

        if done.model.nq != done.model.nv:
            write_run_csv(options.csv, done)
            _announce_file(options.csv)
        else:
            history = of_run(done)
            for path, write in ((options.csv, write_csv), (options.bag, write_bag)):
                if path:
                    write(path, history)
                    _announce_file(path)
    if options.picture:
        plot_run(done, options.picture, reference)
        _announce_file(options.picture)
    if options.html:
        from robot_dynamics_ros.view.film import write_replay
        from robot_dynamics_ros.view.source import ShownMotion

        _announce_file(
            write_replay(ShownMotion.of(done.model, done, reference=reference), options.html)
        )


def _announce_file(path: Path) -> None:
    print(f"written     {Path(path).resolve()}")
