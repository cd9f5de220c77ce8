"""``robot_dynamics identify``: recorded joint states in, an identified robot and a report out."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from robot_dynamics_ros import identification
from robot_dynamics_ros.cli import arguments as take
from robot_dynamics_ros.cli import sources as recorded
from robot_dynamics_ros.cli.arguments import input_path, option
from robot_dynamics_ros.cli.output import Figure, print_table, table, with_count, with_progress
from robot_dynamics_ros.cli.robots import add_robot, load_model
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.friction.law import EFFECTS
from robot_dynamics_ros.identification.comparison import Comparison
from robot_dynamics_ros.identification.plausibility import check_prediction
from robot_dynamics_ros.identification.report import covariance_csv
from robot_dynamics_ros.identification.robot import released, urdf_of
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.read_csv import read_csv_positions
from robot_dynamics_ros.recordings.recording import Recording, robot_of_efforts
from robot_dynamics_ros.whole_files import whole_files, write_whole_text

TERMS = ("viscous", "coulomb", "offset", "armature")
IDENTIFIED_FILES = (
    "identified.urdf",
    "report.md",
    "report.json",
    "covariance.csv",
    "friction.json",
    "report.html",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = partial(option, parser)
    add_robot(parser)
    recorded.add_recordings(
        parser, "t, <joint>.position, <joint>.effort, and <joint>.velocity if known"
    )
    text = "other bags or tables, whose efforts are to be predicted"
    add("--validate", input_path, text, many=True, nargs="+", metavar="FILE")
    add("--output", take.output_directory, "where to write", "identified", metavar="DIRECTORY")
    add("--each", None, "identify from each recording by itself, into a directory of its name")
    recorded.add_workers(parser, "recordings")
    pages = "write report.html, with pictures of every joint"
    parser.add_argument("--page", action=argparse.BooleanOptionalAction, default=True, help=pages)
    add("--overwrite", None, "replace what an earlier run has written there")
    text = (
        "with --floating-base: segments by the wrenches of force plates, as of wrenches "
        "--external, and no efforts; the table has "
        "the base's pose in root_joint.position.x … root_joint.orientation.w"
    )
    add("--external", "LINK=[-]SOURCE[@FRAME]", text, many=True)
    add("--lock", "JOINT[=POSITION]", "a joint that stood still, or is not recorded", many=True)
    add("--terms", str, f"what joints have, among {', '.join(TERMS)}", "viscous,coulomb,offset")
    text = (
        "forms tried for each joint and kept where they predict better, with commas, among "
        f"presliding, {', '.join(EFFECTS)}; 'auto': all but sigmoid, 'simple': none"
    )
    add("--friction", str, text, "auto")
    _add_arguments_of_data(add)


def _add_arguments_of_data(add: Callable[..., None]) -> None:
    """How the recordings are read, weighted and judged."""
    add("--window", take.positive, "s, smoothing of positions (default: chosen from the data)")
    add("--block", take.positive, "s, averaging", 0.05)
    add(
        "--slow",
        take.not_negative,
        "rad/s or m/s: slower joints stand (default: 0.1 %% of the velocity limit)",
    )
    add("--effort-delay", take.finite, "s by which efforts are late (default: found from the data)")
    add("--confidence", take.positive, "of the intervals", 0.95)
    text = (
        "expected deviation of the bodies from the URDF; 0.7: a factor of 2 in mass (default: "
        "found from the data)"
    )
    add("--spread", take.positive, text)
    text = (
        "efforts are motor currents, in any unit and sign; torque constants (N m or N at the "
        "joint for one unit) are "
        "found from the URDF's masses, but for the joints whose constant is given"
    )
    add("--currents", "JOINT=CONSTANT", text, nargs="*")
    text = (
        "with --currents: a load of known mass (kg) on a link, and tables or bags recorded with "
        "it, which show the size of "
        "all torque constants"
    )
    add("--known-load", "LINK=MASS FILE", text, nargs="+")
    text = (
        "print other estimators beside the result, and the error without each effect; with the "
        "commanded positions of each recording "
        "(tables or bags) also instrumental variables and closed-loop output error"
    )
    add("--estimators", input_path, text, nargs="*", metavar="REFERENCE")
    add(
        "--unseen",
        ("refuse", "keep"),
        "what to do with parameters the motion does not show",
        "refuse",
    )
    text = "what to do with a recording that does not fit the robot, or a result that no robot has"
    add("--plausibility", ("refuse", "accept"), text, "refuse")


def run(options: argparse.Namespace) -> int:
    """Read, identify, write, and print the result; 1 if it is poor, unless that is accepted."""
    words = take.chosen(options.terms, TERMS, "--terms")
    settings = take.settings_of(
        identification.IdentificationSettings,
        options,
        terms=identification.FrictionTerms(**{term: term in words for term in TERMS}),
        friction=options.friction
        if "," not in options.friction
        else tuple(options.friction.split(",")),
        delay=options.effort_delay,
        currents=None
        if options.currents is None
        else _numbers(options.currents, "--currents", "JOINT=CONSTANT"),
        known_load=None,
    )
    sources = recorded.given_recordings(options)
    if options.each:
        places = recorded.output_directories(sources, Path(options.output))
    else:
        places = [Path(options.output)]
    take.refuse_to_replace(
        [place / name for place, name in itertools.product(places, IDENTIFIED_FILES)],
        options.overwrite,
    )
    whole = load_model(options)
    if options.external:
        return _segments(options, whole)
    whole = robot_of_efforts(whole, recorded.meaning_of_efforts(whole, options))
    lock = _numbers(options.lock, "--lock", "JOINT or JOINT=POSITION", "0")
    model = whole.lock(list(lock), lock) if lock else whole
    if options.known_load is not None:
        settings = dataclasses.replace(settings, known_load=_known_load(options, model))
    recordings = [recorded.read_recording(path, model, options, bag) for path, bag in sources]
    _check_block(options.block, recordings)
    unseen = [recorded.read_recording(path, model, options) for path in options.validate]
    if options.each:
        return _each(options, (whole, model), recordings, unseen, settings, places)
    work = partial(
        identification.identify_recordings,
        model,
        recordings,
        settings,
        recorded.workers_of(options),
    )
    results = with_progress("identifying", work)
    files, checks = _write(options, (whole, model), results, recordings, unseen, places[0])
    errors = (results.prediction_rms, results.prior_rms, results.effort_rms, results.rms)
    rows = _effort_rows(model, *errors)
    # the first is of what is written: each twelfth of the recording predicted from the others
    head = ["joint", "files leave, held out", "URDF leaves", "effort", "files leave"]
    findings = identification.findings(results, checks)
    poor = [text for level, text in findings if level == "poor"]
    print_table(options, head, rows, files=files, unseen=results.base.unseen, poor=poor)
    _print_remarks([*recordings, *unseen], findings)
    print(f"\nwritten: {', '.join(files)}")
    return _outcome(options, bool(poor))


def _check_block(block: float, recordings: Sequence[Recording]) -> None:
    """Refuse averages over so long that a recording has fewer than four of them."""
    for recording in recordings:
        length = recording.t[-1] - recording.t[0]
        if 4.0 * block > length:
            raise ArgumentError(
                f"{block:g} s is too long for a recording of {length:.3g} s",
                where="--block",
                remedy="Give a fraction of a second; 0.05 is the default.",
            )


def _print_remarks(recordings: Sequence[Recording], findings: list[tuple[str, str]]) -> None:
    """Print repairs of the recordings, and findings against the result."""
    for recording in recordings:
        remarks = [*recording.notes, *recorded.bad_row_lines(recording.bad)]
        if remarks:
            print("\n" + "\n".join([f"{recording.source}:", *remarks]))
    for level, text in findings:
        if level == "poor":
            print(f"\nPOOR: {text}")
        elif level == "fair":
            print(f"\n{text}")


def _outcome(options: argparse.Namespace, poor: bool) -> int:
    """Exit code: a poor result is none, unless a person accepts it."""
    return 1 if poor and options.plausibility == "refuse" else 0


def _segments(options: argparse.Namespace, body: RobotModel) -> int:
    """Identify a floating base's segments from one table and external wrenches."""
    if len(options.csv) != 1 or options.bag:
        text = "segments are identified from one table"
        raise ArgumentError(text, where="--external", remedy="Give one file by --csv.")
    path = options.csv[0]
    unit = options.time_unit
    file = Path(options.output) / IDENTIFIED_FILES[0]
    take.refuse_to_replace([file], options.overwrite)
    t, q = read_csv_positions(path, body, time_unit=unit)
    wrenches = [recorded.read_external(text, path, False, body, unit) for text in options.external]
    settings = {name: getattr(options, name) for name in ("block", "spread", "confidence")}
    if options.window is not None:
        settings["window"] = options.window
    results = identification.identify_segments(body, t, q, wrenches, **settings)
    rows = [
        [link, *(Figure.of(x, ".4g", unit="kg") for x in (before, mass, error))]
        for before, (link, (mass, error)) in zip(
            inertial_parameters(body)[::10], results.masses.items(), strict=True
        )
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole_text(file, results.urdf())
    left = {
        "before": results.prior_rms,
        "identified": results.rms,
        "predicted": results.prediction_rms,
    }
    residuals = {name: np.round(x, 4).tolist() for name, x in left.items()}
    head = ["segment", "mass before", "mass", "standard error"]
    print_table(options, head, rows, file=str(file), left=residuals, unseen=results.base.unseen)
    print(
        "\nremaining moments and forces of the base (N m, N; predicted: of each twelfth from the "
        "others):"
    )
    for name, values in residuals.items():
        print(f"  {name}: {values}")
    print(f"\nwritten: {file}")
    return 0


def _each(
    options: argparse.Namespace,
    models: tuple[RobotModel, RobotModel],
    recordings: list[Recording],
    unseen: list[Recording],
    settings: identification.IdentificationSettings,
    places: list[Path],
) -> int:
    """Every recording by itself; 1 if one was refused."""
    work = partial(
        identification.identify_each, models[1], recordings, settings, recorded.workers_of(options)
    )
    results = with_count("identifying", "recordings", work)
    rows = []
    failures = {}
    poor: list[str] = []
    units = {models[1].joint(name).type.units[2] for name in models[1].joint_names}
    unit = " or ".join(sorted(units, reverse=True))
    for recording, result, place in zip(recordings, results, places, strict=True):
        if isinstance(result, RobotDynamicsError):
            failures[recording.source] = str(result)
            rows.append([recording.source, "-", "-", "refused"])
            continue
        _, checks = _write(options, models, result, [recording], unseen, place)
        levels = [level for level, _ in identification.findings(result, checks)]
        if "poor" in levels:
            poor.append(recording.source)
        errors = (result.prior_rms, result.prediction_rms)
        before, after = (float(np.sqrt(np.mean(x**2))) for x in errors)
        left = [Figure.of(x, ".4g", unit=unit) for x in (before, after)]
        rows.append([recording.source, *left, str(place)])
    print_table(
        options,
        ["recording", "URDF leaves", "files leave, held out", "written to"],
        rows,
        failures=failures,
        poor=poor,
    )
    for source, why in failures.items():
        print(f"\n{source}: {why}")
    for source in poor:
        print(f"\nPOOR: {source}; its report says why")
    return 1 if failures else _outcome(options, bool(poor))


def _estimates(
    options: argparse.Namespace,
    model: RobotModel,
    result: identification.Identification,
    recordings: list[Recording],
) -> identification.Estimates:
    """Other estimators beside the result, compared and printed."""
    references = [recorded.read_recording(path, model, options) for path in options.estimators]
    estimates = identification.compare_estimators(
        result, recordings, references, block=options.block
    )
    names = [*model.joint_names, "all"]
    rows = [
        [n, *(f"{x:.4g}" for x in (*e, np.sqrt(np.mean(e**2)))), f"{c:.2f}"]
        for n, e, c in zip(estimates.names, estimates.error, estimates.change, strict=True)
    ]
    text = table(["estimator", *names, "change"], rows)
    print(f"Errors of prediction (N m or N), change of the parameters:\n\n{text}\n")
    return estimates


def _write(
    options: argparse.Namespace,
    models: tuple[RobotModel, RobotModel],
    result: identification.Identification,
    recordings: list[Recording],
    unseen: list[Recording],
    directory: Path,
) -> tuple[list[str], list[Comparison]]:
    """Write all files of a result; their paths, and comparisons with the recordings that it is not
    made from.
    """
    # as given, and with joints locked
    whole, model = models
    checks = [identification.compare(result, other, block=options.block) for other in unseen]
    estimates = None
    if options.estimators is not None:
        estimates = _estimates(options, model, result, recordings)
    text = identification.report_text(result, recordings, checks, estimates, options.typed)
    if unseen:
        text += "\n## Validation\n"
    for other, comparison in zip(unseen, checks, strict=True):
        check = comparison.check
        columns = (check.identified, check.controllers, check.prior, check.effort, check.noise)
        rows = _effort_rows(model, *columns)
        head = ["joint", "files leave", "controllers leave", "URDF leaves", "effort", "noise"]
        checked = (
            f"Prediction of {other.source} (root mean squares) by identified.urdf and "
            "friction.json: by all of them, and by what controllers read of them:\n\n"
            f"{table(head, rows)}"
        )
        text += f"\n```\n{checked}\n```\n"
        print(checked + "\n")
        if options.plausibility == "refuse":
            check_prediction(
                model.joint_names, check.identified, check.prior, check.effort, other.source
            )
    if model is whole:
        robot = result.model
    else:
        robot = released(result.model, whole)
    urdf = urdf_of(robot, whole.description.source)
    document = identification.report_json(result, recordings, checks, estimates, options.typed)
    with whole_files(directory) as place:
        for name, content in zip(
            IDENTIFIED_FILES[:4],
            (urdf, text, document, covariance_csv(result)),
            strict=True,
        ):
            (place / name).write_text(content, encoding="utf-8")
        identification.friction_file(result).write(place / "friction.json")
        if options.page:
            drawn = [identification.compare(result, recordings[0], block=options.block)]
            about = partial(
                identification.report_html,
                result,
                drawn,
                checks,
                recordings,
                estimates=estimates,
                command=options.typed,
            )
            page = with_progress("pictures", about)
            (place / "report.html").write_text(page, encoding="utf-8")
    if not options.page:
        # one of an earlier run would tell of other figures
        (directory / "report.html").unlink(missing_ok=True)
    return [
        str(directory / name) for name in IDENTIFIED_FILES if (directory / name).exists()
    ], checks


def _effort_rows(model: RobotModel, *columns: Array) -> list[list[str]]:
    """The rows of a table: each joint, and (nv,) efforts in its unit."""
    rows: list[list[str]] = []
    for name, *efforts in zip(model.joint_names, *columns, strict=True):
        unit = model.joint(name).type.units[2]
        rows.append([name, *(Figure.of(x, ".4g", unit=unit) for x in efforts)])
    return rows


def _numbers(
    words: list[str],
    where: str,
    form: str,
    default: str = "",
) -> dict[str, float]:
    """Name → number, of words NAME=NUMBER."""
    out: dict[str, float] = {}
    for text in words:
        name, _, number = text.partition("=")
        try:
            out[name] = float(number or default)
        except ValueError:
            raise ArgumentError(f"expected {form}, got {text!r}", where=where) from None
    return out


def _known_load(options: argparse.Namespace, model: RobotModel) -> identification.KnownLoad:
    ((link, mass),) = _numbers(
        options.known_load[:1], "--known-load", "LINK=MASS and files"
    ).items()
    files = [input_path(path) for path in options.known_load[1:]]
    return identification.KnownLoad(
        link, mass, tuple(recorded.read_recording(path, model, options) for path in files)
    )
