"""Recordings on the command line: any number of bags and tables, read alike by every command that
takes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli.arguments import at_least_one, input_path, option
from robot_dynamics_ros.cli.output import with_progress
from robot_dynamics_ros.cli.robots import frame_argument
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.arm_profile import load_arm_profile
from robot_dynamics_ros.model.measured_effort import EFFORT_MEANINGS, MeasuredEffort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.read_bag import read_bag, read_bag_wrench
from robot_dynamics_ros.recordings.read_csv import read_csv, read_csv_wrench
from robot_dynamics_ros.recordings.recording import (
    TIME_UNITS,
    UNUSABLE_ROWS,
    BadRow,
    ExternalWrench,
    Recording,
    with_motor_efforts,
)
from robot_dynamics_ros.recordings.times import REPAIRS
from robot_dynamics_ros.workers import Workers, on_cluster, on_processes

# Bad rows that are printed one by one; of the others, their number and the last one.
_SHOWN = 10


def add_recordings(parser: argparse.ArgumentParser, columns: str) -> None:
    """The options ``--bag --csv --topic --measured-effort --arm --bad-rows --times --time-unit``;
    see :func:`given_recordings`.
    """
    add = partial(option, parser)
    text = "mcap files, rosbag2 directories or ROS 1 bags with joint states"
    add("--bag", input_path, text, many=True, nargs="+", metavar="FILE")
    add("--csv", input_path, f"tables with columns {columns}", many=True, nargs="+", metavar="FILE")
    add("--topic", str, "topic of the joint states, where a bag has several", "")
    text = "meaning of the recorded efforts (default: torque of the motors at the joints)"
    add("--measured-effort", [meaning for meaning in EFFORT_MEANINGS if meaning != "current"], text)
    add(
        "--arm",
        str,
        "profile of the arm, such as franka_fr3: it says what recorded efforts mean",
        "",
    )
    add("--bad-rows", UNUSABLE_ROWS, "what to do with rows that cannot be used", "skip")
    add(
        "--times",
        REPAIRS,
        "what to do with time stamps that jitter and rows written twice",
        "repair",
    )
    add_time_unit(parser)


def add_time_unit(parser: argparse.ArgumentParser) -> None:
    """The option ``--time-unit`` of commands that read tables."""
    text = "of the times in tables; auto: s, but steps of 1 or more are ms, us or ns"
    option(parser, "--time-unit", TIME_UNITS, text, "auto")


def given_recordings(options: argparse.Namespace) -> list[tuple[str, bool]]:
    """The paths of ``--bag``, then of ``--csv``, each with whether it is a bag; an error if there
    is none.
    """
    sources = [(path, True) for path in options.bag] + [(path, False) for path in options.csv]
    if not sources:
        raise ArgumentError(
            "there is no recording", where="--bag, --csv", remedy="Give one or several of either."
        )
    return sources


def output_directories(sources: list[tuple[str, bool]], output: Path) -> list[Path]:
    """A directory for each recording: ``output`` for one, directories of their names in it for
    several.
    """
    if len(sources) == 1:
        return [output]
    names: list[str] = []
    for path, _ in sources:
        stem = Path(path).resolve().stem
        name = stem
        number = 2
        while name in names:
            name = f"{stem}_{number}"
            number += 1
        names.append(name)
    return [output / name for name in names]


def is_bag(path: str) -> bool:
    """Whether a path without an option before it is taken for a bag."""
    return Path(path).suffix.lower() not in (".csv", ".txt", ".tsv")


def meaning_of_efforts(model: RobotModel, options: argparse.Namespace) -> MeasuredEffort:
    """Meaning of recorded efforts, by ``--measured-effort`` or ``--arm``."""
    if options.measured_effort or not options.arm:
        return MeasuredEffort(options.measured_effort or "torque")
    profile = load_arm_profile(options.arm)
    factors = profile.known("measured_factor")
    if profile.efforts.measured == "current" and not factors:
        if getattr(options, "currents", None) is None:
            text = "it publishes currents, and its torque constants are not known"
            remedy = "Identify them: robot_dynamics identify with --currents."
            raise ArgumentError(text, where=f"--arm {options.arm}", got=options.arm, remedy=remedy)
        return MeasuredEffort()
    if factors:
        rows = np.array([factors.get(name, 1.0) for name in model.joint_names])
    else:
        rows = None
    return MeasuredEffort(profile.efforts.measured, rows)


def read_recording(
    path: str,
    model: RobotModel,
    options: argparse.Namespace,
    bag: bool | None = None,
) -> Recording:
    """Read one, a bag or a table by its name if not said; efforts are the motors', see
    :func:`meaning_of_efforts`.
    """
    bag = is_bag(path) if bag is None else bag
    given = {"on_bad": options.bad_rows, "times": options.times}

    def read(progress: Callable[[float], None]) -> Recording:
        if bag:
            return read_bag(path, model, topic=options.topic, progress=progress, **given)
        unit = options.time_unit
        return read_csv(path, model, time_unit=unit, progress=progress, **given)

    recording = with_progress("reading", read)
    return with_motor_efforts(recording, model, meaning_of_efforts(model, options))


def bad_row_lines(bad: Sequence[BadRow]) -> list[str]:
    """Lines about rows that were left out."""
    lines = [f"{len(bad)} bad rows left out:"] if bad else []
    lines += [f"  row {row.number}: {row.why}" for row in bad[:_SHOWN]]
    if len(bad) > _SHOWN:
        lines.append(f"  and {len(bad) - _SHOWN} more, the last of them row {bad[-1].number}")
    return lines


def read_external(
    text: str,
    path: str,
    bag: bool,
    model: RobotModel,
    time_unit: str = "auto",
) -> ExternalWrench:
    """A wrench recorded beside a recording, ``LINK=[-]SOURCE[@FRAME]``; the time unit is that of
    tables.
    """
    link, equals, rest = text.partition("=")
    source, _, frame = rest.partition("@")
    sign = 1.0
    if source.startswith("-"):
        sign = -1.0
        source = source[1:]
    if not equals or not source:
        raise ArgumentError(f"expected LINK=SOURCE[@FRAME], got {text!r}", where="--external")
    model.link_index(link)
    placed = frame_argument(model, frame, "--external") if frame else None
    if Path(source).is_file() and not is_bag(source):
        return read_csv_wrench(source, link, frame=placed, sign=sign, time_unit=time_unit)
    if bag:
        return read_bag_wrench(path, model, link, source, frame=placed, sign=sign)
    return read_csv_wrench(path, link, source, frame=placed, sign=sign, time_unit=time_unit)


def add_workers(parser: argparse.ArgumentParser, what: str) -> None:
    """The options ``--processes`` and ``--scheduler``."""
    group = parser.add_mutually_exclusive_group()
    option(
        group,
        "--processes",
        at_least_one,
        f"processes to spread the {what} over (default: one, this one)",
        1,
    )
    option(
        group,
        "--scheduler",
        "ADDRESS",
        f"scheduler of a Dask cluster to spread the {what} over",
        "",
    )


def workers_of(options: argparse.Namespace) -> Workers:
    """The workers asked for."""
    if options.scheduler:
        return on_cluster(options.scheduler)
    if options.processes > 1:
        return on_processes(options.processes)
    return None
