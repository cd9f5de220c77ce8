"""``robot_dynamics wrenches``: recorded joint states in, joint efforts and wrenches out."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli import arguments as take
from robot_dynamics_ros.cli import sources as recorded
from robot_dynamics_ros.cli.arguments import option
from robot_dynamics_ros.cli.output import (
    Figure,
    remark,
    result,
    rows_as_data,
    table,
    warning,
    with_count,
    with_progress,
)
from robot_dynamics_ros.cli.robots import add_robot, frame_argument, load_model
from robot_dynamics_ros.errors import ArgumentError, BackendError
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.identification.identify import check_efforts
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.compute import (
    ACCELERATIONS,
    Settings,
    WrenchHistory,
    compute,
    compute_each,
)
from robot_dynamics_ros.recordings.plausible_motion import check_recording
from robot_dynamics_ros.recordings.recording import Recording, robot_of_efforts
from robot_dynamics_ros.recordings.smoothing import POLYNOMIAL_ORDER, VELOCITIES
from robot_dynamics_ros.recordings.write import (
    draw_parts,
    draw_paths,
    draw_wrenches,
    write_bag,
    write_csv,
)
from robot_dynamics_ros.whole_files import whole_files

_FILES = {
    "bag": ("wrenches_bag",),
    "csv": ("wrenches.csv",),
    "picture": ("wrenches.png", "paths.png", "parts.png"),
}
FORMATS = tuple(_FILES)
# Robots of more joints are not compared with recorded efforts: 8 take 9 s, 12 take a minute.
_MOST_JOINTS_COMPARED = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    recorded.add_recordings(
        parser, "t, <joint>.position, and <joint>.velocity and .effort if known"
    )
    recorded.add_workers(parser, "recordings")
    add = partial(option, parser)
    text = "where to write; of several recordings, each into a directory of its name there"
    add("--output", take.output_directory, text, "wrenches", metavar="DIRECTORY")
    add("--overwrite", None, "replace what an earlier run has written there")
    text = f"what to write, of {', '.join(FORMATS)} (default: all that is installed)"
    add("--formats", str, text)
    add(
        "--joints",
        str,
        "joints to write wrenches of, with commas; 'all' with fixed ones; default: the moving ones",
        "",
    )
    add(
        "--expressed-in",
        "FRAME",
        "axes of wrenches: child, parent, world, a link, or LINK:X,Y,Z[,R,P,Y]",
        "child",
    )
    add(
        "--reduced-at",
        "POINT",
        "the point that wrenches are about: joint, world, a link, or LINK:X,Y,Z",
        "joint",
    )
    text = (
        "a recorded wrench on a link: a WrenchStamped topic of the bag, the beginning of column "
        "names of the table, or a table of its own; - where the robot's push on the surroundings "
        "was measured; FRAME as above (default: the messages' frame, the link for columns)"
    )
    add("--external", "LINK=[-]SOURCE[@FRAME]", text, many=True)
    add(
        "--uncertainty", None, "standard errors of efforts and wrenches, from the recording's noise"
    )
    add("--balance", "JOINT", "write the parts of this joint's wrench, too", "")
    text = (
        "link, world or LINK:X,Y,Z[,R,P,Y] from which the parts are seen (default: the link "
        "before the joint)"
    )
    add("--observer", "FRAME", text, "")
    add("--window", take.positive, "s, smoothing of positions (default: chosen from the data)")
    add("--order", take.at_least_one, "order of the local polynomials", POLYNOMIAL_ORDER)
    add(
        "--velocity",
        VELOCITIES,
        "where velocities are from (default: recorded ones, if they are better)",
        "auto",
    )
    text = "differentiated velocity, or by the model from recorded efforts"
    add("--acceleration", ACCELERATIONS, text, "differentiated")
    add("--friction", None, "add the friction of the URDF to efforts")
    add("--friction-file", "FILE", "add the friction of this file, as identify writes it", "")
    text = "for positions that no robot has, a wrong clock, efforts that contradict the robot"
    add("--plausibility", ("refuse", "accept"), text, "refuse")


def run(options: argparse.Namespace) -> int:
    """Read, compute, write, and print the result; 1 if recorded efforts contradict it."""
    formats = _formats(options.formats)
    model = load_model(options)
    model = robot_of_efforts(model, recorded.meaning_of_efforts(model, options))
    if options.observer and not options.balance:
        remedy = "Name the joint whose wrench is split into parts: --balance JOINT."
        raise ArgumentError(
            "an observer needs a balance", where="--observer", got=options.observer, remedy=remedy
        )
    if options.joints == "all":
        joints = options.joints
    else:
        joints = tuple(name for name in options.joints.split(",") if name)
    frames = ("expressed_in", "reduced_at", "observer")
    settings = take.settings_of(
        Settings,
        options,
        joints=joints,
        friction=FrictionFile.read(options.friction_file, model)
        if options.friction_file
        else options.friction,
        **{
            name: frame_argument(model, getattr(options, name), f"--{name.replace('_', '-')}")
            for name in frames
        },
    )
    sources = recorded.given_recordings(options)
    paths = recorded.output_directories(sources, Path(options.output))
    # what is not written anew stays
    files = list(itertools.chain.from_iterable(_FILES[word] for word in formats))
    take.refuse_to_replace(
        [path / name for path, name in itertools.product(paths, files)], options.overwrite
    )
    lines = []
    doubtful = False
    for (recording, history), directory in zip(
        _computed(options, model, settings, sources), paths, strict=True
    ):
        if options.bad_rows == "refuse":
            _refuse_bad_rows(recording, history)
        contradiction, notes = _efforts_judged(options, model, recording)
        if contradiction and options.acceleration != "differentiated":
            remedy = "Differentiate the positions: leave --acceleration out."
            raise ArgumentError(contradiction, where=f"{recording.source}, effort", remedy=remedy)
        if contradiction:
            warning(f"{recording.source}: {contradiction}")
            doubtful = True
        history = dataclasses.replace(history, notes=(*history.notes, *notes))
        with whole_files(directory) as place:
            _write(history, place, formats)
        lines.append(_report(recording, history, directory))
    if len(lines) == 1:
        result(options, *lines[0])
    else:
        result(
            options,
            {"recordings": [data for data, _ in lines]},
            "\n\n".join(text for _, text in lines),
        )
    return 1 if doubtful else 0


def _efforts_judged(
    options: argparse.Namespace,
    model: RobotModel,
    recording: Recording,
) -> tuple[str, list[str]]:
    """How recorded efforts and the robot contradict each other, ``""`` if they do not, and remarks
    for the result.
    """
    if options.plausibility == "accept" or recording.effort is None:
        return "", []
    if not recording.effort.any():
        return "", ["all recorded efforts are zero: they are not compared with the robot"]
    if recording.external:
        return "", ["recorded efforts are not compared with the robot: something else acts on it"]
    few = model.nv <= _MOST_JOINTS_COMPARED
    try:
        with_progress("comparing", partial(check_efforts, model, recording, causes=few))
    except ArgumentError as error:
        if error.where not in ("effort", "recording"):
            return "", [f"recorded efforts are not compared with the robot: {error.problem}"]
        text = (
            f"recorded efforts and robot contradict each other: {error.problem}. {error.remedy} "
            "Wrenches are computed from the positions and the robot's description: they are right "
            "if only the efforts are wrong. --plausibility accept does not compare them"
        )
        return text, [text]
    if few:
        return "", []
    return "", [
        f"recorded efforts are not compared with the robot, which has more than "
        f"{_MOST_JOINTS_COMPARED} joints: identify compares them"
    ]


# format → the package that writes it, and what to install for it
_NEEDED = {
    "bag": ("rosbags", "'robot_dynamics_ros[bags]'"),
    "picture": ("matplotlib", "'robot_dynamics_ros[viz]'"),
}


def _is_installed(package: str) -> bool:
    """Whether Python finds the package."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _formats(words: str | None) -> list[str]:
    """Formats to write, decided before anything is computed: what was asked for, if it can be
    written; without words all that can.
    """
    missing = {word for word, (package, _) in _NEEDED.items() if not _is_installed(package)}
    if words is None:
        for word in sorted(missing):
            package, install = _NEEDED[word]
            remark(f"no {word}: {package} is not installed (pip install {install})")
        return [word for word in FORMATS if word not in missing]
    formats = take.chosen(words, FORMATS, "--formats")
    for word in formats:
        if word in missing:
            package, install = _NEEDED[word]
            raise BackendError(
                f"{word} needs the package {package}, which is not installed",
                where="--formats",
                remedy=f"pip install {install}, or leave {word} out.",
            )
    return formats


def _refuse_bad_rows(recording: Recording, history: WrenchHistory) -> None:
    if history.bad:
        text = "row {0.number}: {0.why}"
        remedy = "Correct the recording, or have bad rows skipped."
        raise ArgumentError(text.format(history.bad[0]), where=recording.source, remedy=remedy)


def _computed(
    options: argparse.Namespace,
    model: RobotModel,
    settings: Settings,
    sources: list[tuple[str, bool]],
) -> Iterator[tuple[Recording, WrenchHistory]]:
    """The recordings, each with its wrenches: one after the other, or all by the workers that are
    asked for.
    """

    def read(path: str, bag: bool) -> Recording:
        recording = recorded.read_recording(path, model, options, bag)
        if options.plausibility == "refuse":
            check_recording(model, recording)
        external = tuple(
            recorded.read_external(text, path, bag, model, options.time_unit)
            for text in options.external
        )
        return dataclasses.replace(recording, external=external)

    if (workers := recorded.workers_of(options)) is None:
        for source in sources:
            recording = read(*source)
            yield (
                recording,
                with_progress("computing", partial(compute, model, recording, settings)),
            )
        return
    many = [read(*source) for source in sources]
    done = with_count(
        "computing", "recordings", partial(compute_each, model, many, settings, workers)
    )
    yield from zip(many, done, strict=True)


def _write(history: WrenchHistory, directory: Path, formats: list[str]) -> None:
    if "csv" in formats:
        with_progress("csv", lambda tell: write_csv(directory / "wrenches.csv", history, tell))
    if "bag" in formats:
        with_progress("bag", lambda tell: write_bag(directory / "wrenches_bag", history, tell))
    if "picture" in formats:
        draw_wrenches(history, directory / "wrenches.png")
        draw_paths(history, directory / "paths.png")
        if history.parts:
            draw_parts(history, directory / "parts.png")


def _report(
    recording: Recording,
    history: WrenchHistory,
    directory: Path,
) -> tuple[dict[str, object], str]:
    """Result, as data and as text."""
    bad = sorted([*recording.bad, *history.bad])
    lines = [
        f"{len(history.t)} rows over {history.t[-1] - history.t[0]:.6g} s from {recording.source}"
    ]
    lines += [*recording.notes, *history.notes]
    if recording.other:
        lines.append(f"{recording.other} rows about joints of other robots")
    lines += recorded.bad_row_lines(bad)
    forces = np.linalg.norm(history.wrenches[:, :, 3:], axis=2)
    moments = np.linalg.norm(history.wrenches[:, :, :3], axis=2)
    own = list(history.model.joint_names)
    errors = history.wrench_errors
    head = [
        "joint",
        "frame",
        "largest force [N]",
        "largest moment [N m]",
        "largest effort [N m or N]",
    ]
    head += [] if errors is None else ["± force", "± moment"]
    rows = []
    for i, (name, frame) in enumerate(zip(history.joints, history.frames, strict=True)):
        row = [
            name,
            frame,
            Figure.of(forces[:, i].max(), ".5g"),
            Figure.of(moments[:, i].max(), ".5g"),
        ]
        if name in own:
            effort = np.abs(history.efforts[:, own.index(name)]).max()
            unit = history.model.joint(name).type.units[2]
            row.append(Figure.of(effort, ".5g", unit=unit))
        else:
            # a fixed joint
            row.append("-")
        if errors is not None:
            moment, force = np.linalg.norm(np.median(errors[:, i], axis=0).reshape(2, 3), axis=1)
            row += [Figure.of(force, ".2g", unit="N"), Figure.of(moment, ".2g", unit="N m")]
        rows.append(row)
    data = {
        "source": str(recording.source),
        "samples": len(history.t),
        "bad_rows": [[row.number, row.why] for row in bad],
        "notes": [*recording.notes, *history.notes],
        "window": history.window,
        "directory": str(directory),
        "rows": rows_as_data(head, rows),
    }
    return data, "\n".join([*lines, "", table(head, rows), "", f"written to {directory}/"])
