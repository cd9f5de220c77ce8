"""``robot_dynamics export``: a robot's dynamics as code to take away."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from robot_dynamics_ros.cli.arguments import at_least_one, output_directory, positive
from robot_dynamics_ros.cli.equations import given_symbols, parse_motors
from robot_dynamics_ros.cli.output import result
from robot_dynamics_ros.cli.robots import add_robot, load_model
from robot_dynamics_ros.control.friction_file import FrictionFile
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.export.functions import DEFAULT, FUNCTIONS
from robot_dynamics_ros.export.package import LANGUAGES, ExportedCode, export_code
from robot_dynamics_ros.export.plan import FRICTIONS, INTEGRATORS, MAX_OPERATIONS
from robot_dynamics_ros.export.report import report_text
from robot_dynamics_ros.export.ros2_control import export_controller


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    parser.add_argument(
        "--lang",
        choices=(*LANGUAGES, "ros2_control"),
        default="c99",
        help="language (default: c99); ros2_control: a controller package",
    )
    parser.add_argument(
        "--output",
        "-o",
        type=output_directory,
        metavar="DIRECTORY",
        help="where the files go; needed unless --report alone",
    )
    parser.add_argument(
        "--functions",
        metavar="NAMES",
        help=f"comma-separated, or 'all'; of {', '.join(sorted(FUNCTIONS))}, step (default: {','.join(DEFAULT)})",
    )
    parser.add_argument("--prefix", help="of all names, and the files' name (default: the robot's name)")
    parser.add_argument("--scalar", choices=("double", "float"), default="double", help="number type in C")
    parser.add_argument(
        "--link", action="append", metavar="NAME", help="a link for jacobian and link_pose (repeatable)"
    )
    parser.add_argument(
        "--external",
        action="append",
        default=[],
        metavar="LINK",
        help="a link on which a known wrench acts (repeatable)",
    )
    parser.add_argument(
        "--symbols", choices=("auto",), help="auto: every mass, length and inertia can be changed at run time"
    )
    parser.add_argument(
        "--symbol",
        action="append",
        default=[],
        metavar="PARAMETER=NAME",
        help="one number to be changed at run time, e.g. mass:forearm=m2 (repeatable)",
    )
    parser.add_argument(
        "--motor",
        action="append",
        default=[],
        metavar="JOINT:R=..,kt=..",
        help="a DC motor: R, kt, and optionally ke, L, N, J, Vmax, Imax (repeatable)",
    )
    parser.add_argument("--integrator", choices=INTEGRATORS, default="rk4", help="of the step (default: rk4)")
    parser.add_argument("--friction", choices=FRICTIONS, default="viscous", help="at the joints, in the step")
    parser.add_argument(
        "--smooth-velocity",
        type=positive,
        default=1e-3,
        metavar="SPEED",
        help="over which --friction smooth rounds dry friction",
    )
    parser.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="NAME=IDENTIFIER",
        help="identifier of a joint or link whose name clashes (repeatable)",
    )
    parser.add_argument(
        "--max-operations", type=at_least_one, default=MAX_OPERATIONS, help="refuse functions that take more"
    )
    parser.add_argument(
        "--payload-link",
        action="append",
        metavar="NAME",
        help="with ros2_control: a link that may carry a payload (repeatable; default: the last links)",
    )
    parser.add_argument(
        "--friction-file", metavar="FILE", help="with ros2_control: friction that is compensated (default: the URDF's)"
    )
    parser.add_argument("--report", action="store_true", help="print operation counts of each function")


def run(options: argparse.Namespace) -> int:
    """Emit the files, print the report."""
    if not options.output and not options.report:
        raise ArgumentError("no directory is given", where="--output", remedy="Give --output DIRECTORY, or --report.")
    if options.lang != "ros2_control" and (options.payload_link or options.friction_file):
        which = "--payload-link" if options.payload_link else "--friction-file"
        raise ArgumentError("is about the controller package", where=which, remedy="Add --lang ros2_control.")
    code = _controller(options) if options.lang == "ros2_control" else _functions(options)
    files = [str(path) for path in code.write(options.output)] if options.output else []
    lines, data = list(files), {"name": code.plan.model.name, "language": options.lang, "files": files}
    if options.report:
        counts = code.operations()
        lines += [*([""] if files else []), report_text(counts).rstrip()]
        data["functions"] = [dataclasses.asdict(count) for count in counts]
    result(options, data, "\n".join(lines))
    return 0


def _controller(options: argparse.Namespace) -> ExportedCode:
    """The package of a ros2_control controller."""
    for name in ("functions", "link", "symbols", "symbol", "motor"):
        if getattr(options, name):
            raise ArgumentError(
                "cannot be combined with --lang ros2_control, which chooses the functions of its controller",
                where=f"--{name}",
                remedy="Leave it out.",
            )
    if options.scalar != "double":
        raise ArgumentError(
            "must be double for a controller", where="--scalar", got=options.scalar, remedy="Leave it out."
        )
    model = load_model(options)
    friction = FrictionFile.read(options.friction_file, model).friction(model) if options.friction_file else None
    return export_controller(
        model,
        prefix=options.prefix,
        external=options.external or None,
        payload=options.payload_link,
        friction=friction,
        rename=_renamed(options.rename),
        max_operations=options.max_operations,
    )


def _renamed(texts: Sequence[str]) -> dict[str, str]:
    renamed = {}
    for text in texts:
        name, equals, word = text.rpartition("=")
        if not equals or not name or not word:
            raise ArgumentError(
                f"expected NAME=IDENTIFIER, got {text!r}",
                where="--rename",
                got=text,
                remedy="For example --rename 'left-hand=left_hand'.",
            )
        renamed[name] = word
    return renamed


def _functions(options: argparse.Namespace) -> ExportedCode:
    """Functions of the robot."""
    functions = ",".join(DEFAULT) if options.functions is None else options.functions
    names = [*FUNCTIONS, "step"] if functions == "all" else [x for x in functions.split(",") if x]
    if not names:
        raise ArgumentError(
            "names no function",
            where="--functions",
            got=functions,
            remedy=f"Choose among {', '.join(sorted(FUNCTIONS))} and step, with commas, or say 'all'.",
        )
    symbols = given_symbols(options)
    return export_code(
        load_model(options),
        names,
        language=options.lang,
        real=options.scalar,
        prefix=options.prefix,
        links=options.link,
        symbols=symbols,
        external=options.external,
        motors=parse_motors(options.motor),
        integrator=options.integrator,
        friction=options.friction,
        smooth_velocity=options.smooth_velocity,
        rename=_renamed(options.rename),
        max_operations=options.max_operations,
    )
