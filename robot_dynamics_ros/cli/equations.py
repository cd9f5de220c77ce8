"""``robot_dynamics equations``: the equations of motion of a robot, in symbols."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.cli.arguments import at_least_one, output_file, whole
from robot_dynamics_ros.cli.output import print_table, result
from robot_dynamics_ros.cli.robots import add_robot, load_model
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError

if TYPE_CHECKING:
    from robot_dynamics_ros.equations import Equations
    from robot_dynamics_ros.equations.formulas import Formulas
    from robot_dynamics_ros.model import DCMotor

FORMATS = {".txt": "text", ".tex": "tex", ".html": "html", ".htm": "html", ".c": "c", ".py": "python"}
_MOTOR_WORDS = {
    "R": "resistance",
    "L": "inductance",
    "kt": "torque_constant",
    "ke": "back_emf_constant",
    "N": "gear_ratio",
    "J": "rotor_inertia",
    "Vmax": "max_voltage",
    "Imax": "max_current",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    parser.add_argument("--symbols", choices=("auto",), help="auto: name every mass, length, inertia and gravity")
    parser.add_argument(
        "--symbol",
        action="append",
        default=[],
        metavar="PARAMETER=NAME",
        help="make one number a symbol, e.g. mass:forearm=m2, com:forearm.x=lc2, gravity=g (repeatable)",
    )
    parser.add_argument(
        "--list-parameters", action="store_true", help="print every parameter that --symbol can name, and stop"
    )
    parser.add_argument("--coordinates", default="q", metavar="LETTER", help="letter of the coordinates (theta, say)")
    parser.add_argument(
        "--motor",
        action="append",
        default=[],
        metavar="JOINT:R=..,kt=..",
        help="a DC motor: R, kt, and optionally ke, L, N, J (repeatable)",
    )
    parser.add_argument(
        "--only", metavar="PARTS", help="comma-separated: M,D,G,coriolis,B,C,K,U,motors,definitions,proof"
    )
    more = parser.add_argument_group("more quantities in symbols", "each is printed after the equations of motion")
    more.add_argument("--joint-wrench", action="append", default=[], metavar="JOINT", help="what a joint carries")
    more.add_argument(
        "--balance", action="append", default=[], metavar="LINK", help="a link's wrenches as the observer sees them"
    )
    more.add_argument(
        "--observer",
        default="world",
        metavar="FRAME",
        help="of --balance and --motion: a link, world, or LINK@JOINT for a link's axes at a joint's origin",
    )
    more.add_argument("--expressed-in", metavar="FRAME", help="axes: a link, world, child, parent or observer")
    more.add_argument("--reduced-at", default="joint", metavar="POINT", help="joint, world or a link's origin")
    more.add_argument(
        "--motion", action="append", default=[], metavar="LINK", help="position, velocity, acceleration …"
    )
    more.add_argument("--jacobian", action="append", default=[], metavar="LINK", help="Jacobian and its rate")
    more.add_argument("--tip-force", action="append", default=[], metavar="LINK", help="J' F of a wrench on a link")
    more.add_argument("--friction", action="store_true", help="joint friction")
    parser.add_argument(
        "--along",
        action="append",
        default=[],
        metavar="COORDINATE=EXPRESSION",
        help="print these quantities along a motion instead, e.g. q1=t, q2=2*t+pi/3 (repeatable)",
    )
    parser.add_argument("--unexpanded", action="store_true", help="steps instead of multiplied-out formulas")
    parser.add_argument("--no-simplify", action="store_true", help="plain sums of products: faster, longer")
    parser.add_argument("--max-terms", type=at_least_one, default=None, help="how many terms one expression may have")
    parser.add_argument("--digits", type=whole, help="figures that printed decimals are rounded to; exact if not given")
    parser.add_argument(
        "--format",
        choices=("text", "latex", "tex", "html", "c", "python"),
        help="text; latex: to be included; tex: a document that compiles; html: a page; "
        "c, python: functions for the quantities below the equations of motion; "
        "default by the ending of --output, else text",
    )
    parser.add_argument(
        "--output", "-o", type=output_file, metavar="FILE", help="write there instead of to the terminal"
    )
    parser.add_argument("--report", action="store_true", help="print operation counts too")


def run(options: argparse.Namespace) -> int:
    """Derive, prove and print."""
    model = load_model(options)
    if options.list_parameters:
        from robot_dynamics_ros.equations.parameters import parameters_of

        rows = [
            [parameter, f"{value:.6g}", unit, meaning]
            for parameter, (meaning, unit, value) in parameters_of(model).items()
        ]
        print_table(options, ["parameter", "value", "unit", "meaning"], rows, name=model.name)
        return 0
    from robot_dynamics_ros.equations import symbolic
    from robot_dynamics_ros.equations.document import PARTS
    from robot_dynamics_ros.equations.equations import MAX_TERMS
    from robot_dynamics_ros.equations.equations_document import document_of
    from robot_dynamics_ros.equations.formulas import document_of_formulas
    from robot_dynamics_ros.equations.render_data import render_data
    from robot_dynamics_ros.equations.render_html import render_html
    from robot_dynamics_ros.equations.render_latex import render_latex, render_tex
    from robot_dynamics_ros.equations.render_text import render_text

    if options.digits is not None and not 1 <= options.digits <= 17:
        raise ArgumentError("must be between 1 and 17", where="--digits", got=options.digits)
    symbols = given_symbols(options)
    for part in options.only.split(",") if options.only else ():
        if part not in PARTS:  # before anything is derived
            raise UnknownNameError("part", part, PARTS, where="--only")
    equations = symbolic(
        model,
        symbols,
        coordinates=options.coordinates,
        expand=not options.unexpanded,
        simplify=not options.no_simplify,
        max_terms=MAX_TERMS if options.max_terms is None else options.max_terms,
        motors=parse_motors(options.motor),
    )
    parts = options.only.split(",") if options.only else [p for p in PARTS if p != "operations"]
    if options.report:
        parts.append("operations")
    if equations.steps and "steps" not in parts:
        parts.insert(0, "steps")
    formulas = _formulas(equations, options)
    kind = options.format or FORMATS.get(Path(options.output or "").suffix, "text")
    data: dict[str, Any]
    if kind in ("c", "python"):
        text = _code(formulas, kind)
        data = {"language": kind, "code": text}
    else:
        if formulas and not options.only:
            document = document_of_formulas(formulas, options.digits)
        else:
            document = document_of(equations, parts, options.digits, formulas)
        render = {"text": render_text, "latex": render_latex, "tex": render_tex, "html": render_html}[kind]
        text = render(document)
        data = render_data(document)
    if options.output:
        Path(options.output).write_text(text, encoding="utf-8")
    if options.json or not options.output:
        file = str(options.output) if options.output else None
        result(options, {"name": model.name, "file": file, **data}, text.removesuffix("\n"))
    return 0


def _formulas(equations: Equations, options: argparse.Namespace) -> list[Formulas]:
    """The quantities asked for beside the equations of motion."""
    link, at, joint = options.observer.partition("@")
    observer: Any = (link, joint) if at else link
    axes, point = options.expressed_in, options.reduced_at
    formulas = [
        equations.joint_wrench(name, expressed_in=axes or "child", reduced_at=point) for name in options.joint_wrench
    ]
    for name in options.balance:
        formulas.append(
            equations.wrench_balance(name, observer=observer, expressed_in=axes or "observer", reduced_at=point)
        )
    formulas += [equations.motion(name, relative_to=observer, expressed_in=axes) for name in options.motion]
    formulas += [equations.jacobian(name) for name in options.jacobian]
    formulas += [equations.external_efforts(name) for name in options.tip_force]
    if options.friction:
        formulas.append(equations.friction())
    if options.along:
        from dataclasses import replace

        motion = _motion(options.along)
        formulas = [replace(f, matrices=f.along(motion), steps=(), traced=()) for f in formulas]
    return formulas


def _motion(pairs: Iterable[str]) -> dict[str, Any]:
    """``COORDINATE=EXPRESSION`` pairs; expressions of numbers, t, pi, + - * / ( ) and a few functions alone."""
    import re

    import sympy

    coordinates: dict[str, Any] = {}
    known = {"t": sympy.Symbol("t", real=True), "pi": sympy.pi, "sin": sympy.sin, "cos": sympy.cos, "exp": sympy.exp}
    for text in pairs:
        name, equals, expression = text.partition("=")
        words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\d+\.?\d*[eE][+-]?\d+", "0", expression)))
        legal = re.fullmatch(r"[\w\s.+\-*/()]+", expression) and words <= set(known)
        try:
            if not equals or not legal:
                raise ValueError
            coordinates[name.strip()] = sympy.parse_expr(expression, local_dict=known)
        except (ValueError, SyntaxError, TypeError):
            raise ArgumentError(
                f"expected COORDINATE=EXPRESSION, got {text!r}",
                where="--along",
                got=text,
                remedy=f"For example q2=2*t+0.5; known: {', '.join(known)}.",
            ) from None
    return coordinates


def _code(formulas: list[Formulas], kind: str) -> str:
    """Functions named after what they compute."""
    from robot_dynamics_ros.equations.names import identifier_of

    functions = []
    for f in formulas:
        if not f.traced:
            raise ArgumentError(
                f"there is no code for {f.title.lower()}",
                where=f"--format {kind}",
                got=f.title,
                remedy="Leave out --along and --friction.",
            )
        name = identifier_of(f.title.lower())
        functions.append(f.c(name) if kind == "c" else f.python(name))
    if not functions:
        raise ArgumentError(
            "nothing to make code of",
            where=f"--format {kind}",
            remedy="Name quantities (--joint-wrench, --jacobian, …); the equations of motion are exported by "
            "'robot_dynamics export'.",
        )
    return "\n\n".join(functions)


def given_symbols(options: argparse.Namespace) -> str | dict[str, str]:
    """Names of parameters by ``--symbols`` and ``--symbol PARAMETER=NAME``.

    Raises:
        ArgumentError: both are given, a pair is not of that form, or one parameter is named twice.
    """
    if options.symbols and options.symbol:
        raise ArgumentError(
            "--symbols auto names everything already",
            where="--symbol",
            got=options.symbol,
            remedy="Give one or the other.",
        )
    if options.symbols:
        return options.symbols
    names: dict[str, str] = {}
    for text in options.symbol:
        parameter, equals, name = text.partition("=")
        if not equals or not parameter or not name:
            raise ArgumentError(
                f"expected PARAMETER=NAME, got {text!r}",
                where="--symbol",
                got=text,
                remedy="For example mass:forearm=m2; --list-parameters shows all parameters.",
            )
        if parameter in names:
            raise ArgumentError(
                f"{parameter} is named twice", where="--symbol", got=text, remedy="Name each parameter once."
            )
        names[parameter] = name
    return names


def parse_motors(pairs: Iterable[str]) -> dict[str, DCMotor] | None:
    """``JOINT:R=1.2,kt=0.05,…`` descriptions as motors by joint; ``None`` if there are none.

    Raises:
        ArgumentError: not of that form, or numbers that no motor has.
    """
    from robot_dynamics_ros.model.motors import DCMotor

    motors: dict[str, DCMotor] = {}
    for text in pairs:
        joint, colon, rest = text.rpartition(":")
        values: dict[str, float] = {}
        for item in rest.split(","):
            key, equals, number = item.partition("=")
            try:
                if not colon or not equals or key not in _MOTOR_WORDS:
                    raise ValueError
                values[_MOTOR_WORDS[key]] = float(number)
            except ValueError:
                raise ArgumentError(
                    f"expected JOINT:R=...,kt=..., got {text!r} ({item!r} is not understood)",
                    where="--motor",
                    got=text,
                    remedy=f"Known constants: {', '.join(_MOTOR_WORDS)}.",
                ) from None
        for key, word in (("R", "resistance"), ("kt", "torque_constant")):
            if word not in values:
                raise ArgumentError(
                    f"the motor of {joint!r} needs {key}", where="--motor", got=text, remedy=f"Add {key}=VALUE."
                )
        if joint in motors:
            raise ArgumentError(
                f"joint {joint!r} has two motors", where="--motor", got=text, remedy="Give each joint one motor."
            )
        motors[joint] = DCMotor(**values)
    return motors or None
