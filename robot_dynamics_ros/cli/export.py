"""``robot_dynamics export``: a robot's dynamics as source code."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from robot_dynamics_ros.cli.arguments import (
    at_least_one,
    chosen,
    option,
    output_directory,
    pairs,
    positive,
)
from robot_dynamics_ros.cli.equations import given_symbols, parse_motors
from robot_dynamics_ros.cli.output import result
from robot_dynamics_ros.cli.robots import add_robot, load_model
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.export.package import LANGUAGES, ExportedCode, export_code, report_text
from robot_dynamics_ros.export.plan import (
    DEFAULT_FUNCTIONS,
    EXPORTED_FUNCTIONS,
    EXPORTED_INTEGRATORS,
    FRICTIONS,
    MAX_OPERATIONS,
)
from robot_dynamics_ros.export.ros2_control import export_controller
from robot_dynamics_ros.friction.file import FrictionFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add = partial(option, parser)
    add(
        "--lang",
        (*LANGUAGES, "ros2_control"),
        "language (default: c99); ros2_control: a controller package",
        "c99",
    )
    add(
        "--output -o",
        output_directory,
        "where the files go; needed unless --report alone",
        metavar="DIRECTORY",
    )
    text = (
        f"comma-separated, or 'all'; of {', '.join(sorted(EXPORTED_FUNCTIONS))}, step (default: "
        f"{','.join(DEFAULT_FUNCTIONS)})"
    )
    add("--functions", "NAMES", text)
    add("--prefix", str, "of all names, and the files' name (default: the robot's name)")
    add("--scalar", ("double", "float"), "number type in C", "double")
    add("--link", "NAME", "a link for jacobian and link_pose", many=True)
    add("--external", "LINK", "a link on which a known wrench acts", many=True)
    add("--symbols", ("auto",), "auto: every mass, length and inertia can be changed at run time")
    add(
        "--symbol",
        "PARAMETER=NAME",
        "one number to be changed at run time, e.g. mass:forearm=m2",
        many=True,
    )
    add(
        "--motor",
        "JOINT:R=..,kt=..",
        "a DC motor: R, kt, and optionally ke, L, N, J, Vmax, Imax",
        many=True,
    )
    add("--integrator", EXPORTED_INTEGRATORS, "of the step", "rk4")
    add("--friction", FRICTIONS, "at the joints, in the step", "viscous")
    add(
        "--smooth-velocity",
        positive,
        "over which --friction smooth rounds dry friction",
        1e-3,
        metavar="SPEED",
    )
    add(
        "--rename", "NAME=IDENTIFIER", "identifier of a joint or link whose name clashes", many=True
    )
    add("--max-operations", at_least_one, "refuse functions that take more", MAX_OPERATIONS)
    add("--report", None, "print operation counts of each function")
    _add_arguments_of_package(add)


def _add_arguments_of_package(add: Callable[..., None]) -> None:
    """Options of ``--lang ros2_control`` alone."""
    text = "with ros2_control: a link that may carry a payload; default: the last links"
    add("--payload-link", "NAME", text, many=True)
    add(
        "--friction-file",
        "FILE",
        "with ros2_control: friction that is compensated (default: the URDF's)",
    )
    add(
        "--inverse-dynamics-solver",
        None,
        "with ros2_control: add a plugin of the package inverse_dynamics_solver",
    )
    text = (
        "with ros2_control: the link of the tool that the controller moves (default: none; the "
        "parameter task.link can name the last link of the longest chain)"
    )
    add("--tool", "LINK", text)


def run(options: argparse.Namespace) -> int:
    """Emit the files, print the report."""
    if not options.output and not options.report:
        raise ArgumentError(
            "no directory is given",
            where="--output",
            remedy="Give --output DIRECTORY, or --report.",
        )
    for name in ("payload_link", "friction_file", "inverse_dynamics_solver", "tool"):
        if options.lang != "ros2_control" and getattr(options, name):
            which = f"--{name.replace('_', '-')}"
            raise ArgumentError(
                "is about the controller package", where=which, remedy="Add --lang ros2_control."
            )
    if options.lang == "ros2_control":
        code = _controller(options)
    else:
        code = _functions(options)
    files: list[str] = []
    if options.output:
        files = [str(path) for path in code.write(options.output)]
    lines = list(files)
    data = {"name": code.plan.model.name, "language": options.lang, "files": files}
    if options.report:
        counts = code.operations()
        if files:
            lines.append("")
        lines.append(report_text(counts).rstrip())
        data["functions"] = [dataclasses.asdict(count) for count in counts]
    result(options, data, "\n".join(lines))
    return 0


def _controller(options: argparse.Namespace) -> ExportedCode:
    """The package of a ros2_control controller."""
    for name in ("functions", "link", "symbols", "symbol", "motor"):
        if getattr(options, name):
            why = (
                "cannot be combined with --lang ros2_control, which chooses the functions of its "
                "controller"
            )
            raise ArgumentError(why, where=f"--{name}", remedy="Leave it out.")
    if options.scalar != "double":
        why = "must be double for a controller"
        raise ArgumentError(why, where="--scalar", got=options.scalar, remedy="Leave it out.")
    model = load_model(options)
    friction = None
    if options.friction_file:
        friction = FrictionFile.read(options.friction_file, model).friction(model)
    task = None
    if options.tool:
        task = TaskSettings(link=options.tool)
    return export_controller(
        model,
        task=task,
        prefix=options.prefix,
        external=options.external or None,
        payload=options.payload_link or None,
        friction=friction,
        rename=_renamed(options.rename),
        max_operations=options.max_operations,
        inverse_dynamics_solver=options.inverse_dynamics_solver,
    )


def _renamed(texts: Sequence[str]) -> dict[str, str]:
    return pairs(
        texts, "NAME=IDENTIFIER", "--rename", "For example --rename 'left-hand=left_hand'."
    )


def _functions(options: argparse.Namespace) -> ExportedCode:
    """Functions of the robot."""
    every = (*EXPORTED_FUNCTIONS, "step")
    names = DEFAULT_FUNCTIONS if options.functions is None else every
    if options.functions not in (None, "all"):
        names = tuple(chosen(options.functions, every, "--functions"))
    return export_code(
        load_model(options),
        names,
        language=options.lang,
        real=options.scalar,
        prefix=options.prefix,
        links=options.link or None,
        symbols=given_symbols(options),
        external=options.external,
        motors=parse_motors(options.motor),
        integrator=options.integrator,
        friction=options.friction,
        smooth_velocity=options.smooth_velocity,
        rename=_renamed(options.rename),
        max_operations=options.max_operations,
    )
