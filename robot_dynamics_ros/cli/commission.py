"""``robot_dynamics commission``: from a new arm to a tuned one, step by step, each with its own
permission.
"""

from __future__ import annotations

import argparse
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from robot_dynamics_ros.cli.arguments import option, output_directory
from robot_dynamics_ros.cli.output import remark, result, table
from robot_dynamics_ros.cli.robots import add_robot, load_named, without_other_joints
from robot_dynamics_ros.cli.signals import handled
from robot_dynamics_ros.commissioning import (
    ANNOUNCED,
    STEPS,
    Arm,
    ArmSettings,
    Commissioning,
    StandIn,
)
from robot_dynamics_ros.commissioning.release import with_rotors
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.reference.planning import bearable_start
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.arm_profile import ArmProfile, arm_names, load_arm_profile
from robot_dynamics_ros.model.measured_effort import EFFORT_MEANINGS, MeasuredEffort
from robot_dynamics_ros.model.robot_model import RobotModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add = partial(option, parser)
    add(
        "--arm",
        str,
        "profile of the arm, such as franka_fr3 or a file; or give its name as ROBOT",
        "",
    )
    add(
        "--measured-effort",
        [meaning for meaning in EFFORT_MEANINGS if meaning != "current"],
        "meaning of the efforts in joint states; none also where brakes carry the arm, so that "
        "they show no weight (default: that of the profile, or torque of the motors at the joints)",
    )
    add(
        "--live",
        None,
        "drive the arm over the middleware; without it the steps are rehearsed in simulation",
    )
    add(
        "--yes-to",
        STEPS,
        f"permit a step ({', '.join(STEPS)}) without being asked",
        many=True,
        metavar="STEP",
    )
    add("--only", STEPS, "do this step only", many=True, metavar="STEP")
    add(
        "--output",
        output_directory,
        "folder for report and parameter file",
        Path("commissioning"),
        metavar="FOLDER",
    )
    add(
        "--command-format",
        ("multi_array", "joint_state"),
        "with --live: type of commands",
        "multi_array",
    )


def run(options: argparse.Namespace) -> int:
    """Do the steps; 1 if a mistake was found, or a step was left out, refused or not finished."""
    model, profile = _robot(options)
    settings = ArmSettings()
    measured = MeasuredEffort()
    rate = math.nan
    if profile is not None:
        settings = ArmSettings.of(profile)
        rate = profile.driver.rate
        measured = profile.measured_effort(model.joint_names)
    if options.measured_effort:
        measured = MeasuredEffort(options.measured_effort)
    interrupted = threading.Event()
    with _arm(options, model, profile) as (arm, asked, show):

        def stop() -> bool:
            return asked() or interrupted.is_set()

        session = Commissioning(model, arm, settings, measured, rate, stop, remark)
        show(session)
        not_done = _steps(options, session, interrupted)
    files = session.write(options.output)
    if interrupted.is_set():
        raise KeyboardInterrupt
    rows = [[name, report.verdict] for name, report in session.reports.items()]
    rows += [[name, why] for name, why in not_done.items()]
    text = (
        f"{table(['step', 'result'], rows)}\n\nreport      "
        f"{files['commissioning.html']}\nparameters  {files['controller.yaml']}"
    )
    steps = [report.to_json() for report in session.reports.values()]
    places = {kind: str(path) for kind, path in files.items()}
    result(options, {"steps": steps, "not_done": not_done, "files": places}, text)
    healthy = all(report.healthy for report in session.reports.values())
    return 0 if healthy and not not_done else 1


def _robot(options: argparse.Namespace) -> tuple[RobotModel, ArmProfile | None]:
    """The robot, its grippers locked, and its profile."""
    name = options.arm or (options.robot if options.robot in arm_names() else "")
    profile = load_arm_profile(name) if name else None
    if profile is not None and options.robot in (name, profile.name):
        from robot_dynamics_ros.ros.arm_parameters import vendor_description

        options.robot = vendor_description(profile)
    model = load_named(options).model
    return check_controllable(
        model if profile is None else without_other_joints(model, profile)
    ), profile


@contextmanager
def _arm(
    options: argparse.Namespace,
    model: RobotModel,
    profile: ArmProfile | None,
) -> Iterator[tuple[Arm, Callable[[], bool], Callable[[Commissioning], None]]]:
    """The arm, whether somebody has asked to stop, and what shows a session on the network."""
    if options.live:
        from robot_dynamics_ros.ros.installation import need_ros

        need_ros("commission --live")
        from robot_dynamics_ros.ros.commissioning import spinning_arm

        with spinning_arm(model, options.command_format) as (live, stop, status):
            yield live, stop, partial(setattr, status, "session")
        return
    start, elsewhere = bearable_start(model, model.initial_configuration())
    if elsewhere:
        remark(f"starts elsewhere: {elsewhere}")
    remark(
        "rehearsal: a simulated arm, which also does what a person is asked to do; "
        "--live drives the real one"
    )
    if profile is None:
        described = model
    else:
        described = ArmSettings.of(profile).model(model)
    yield StandIn(with_rotors(described), profile, start), lambda: False, lambda session: None


def _steps(
    options: argparse.Namespace,
    session: Commissioning,
    interrupted: threading.Event,
) -> dict[str, str]:
    """Do the chosen steps; those that were not done, and why."""
    chosen = [step for step in STEPS if not options.only or step in options.only]
    not_done = dict.fromkeys(chosen, "not done: ended before")
    for step in chosen:
        print(f"{step}: {ANNOUNCED[step]}", file=sys.stderr)
        if options.live and step not in options.yes_to and not _permitted(step):
            not_done[step] = "not done: not permitted"
            remark(f"{step}: left out")
            continue
        try:
            # the arm comes to a stop before the process ends
            with handled(lambda *_: interrupted.set()):
                report = session.run(step)
        except ArgumentError as error:
            if not session.reports:
                raise
            not_done[step] = "not done: refused"
            remark(f"{step}: {error}")
            break
        del not_done[step]
        for line in (*map(str, report.findings), *report.notes):
            print(f"  {line}")
        print(f"{step}: {report.verdict}")
        if session.stop():
            break
    return not_done


def _permitted(step: str) -> bool:
    """Whether a person types yes."""
    if not sys.stdin.isatty():
        why = "there is no terminal on which to ask for permission"
        raise ArgumentError(why, where=f"step {step}", remedy=f"Add --yes-to {step}.")
    return input(
        f"{step}: go on? Keep a hand on the emergency stop. [yes/no] "
    ).strip().lower() in ("y", "yes")
