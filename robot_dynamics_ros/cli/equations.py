"""``robot_dynamics equations``: the equations of motion of a robot, in symbols."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.cli.arguments import (
    at_least_one,
    chosen,
    digits,
    option,
    output_file,
    pairs,
)
from robot_dynamics_ros.cli.output import print_table, result
from robot_dynamics_ros.cli.robots import add_robot, load_model
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.whole_files import write_whole_text

if TYPE_CHECKING:
    from robot_dynamics_ros.equations import Equations
    from robot_dynamics_ros.equations.formulas import Formulas
    from robot_dynamics_ros.model import DCMotor

DOCUMENT_FORMATS = {
    ".txt": "text",
    ".tex": "tex",
    ".html": "html",
    ".htm": "html",
    ".c": "c",
    ".py": "python",
}
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
    add_robot(parser)
    add = partial(option, parser)
    add("--symbols", ("auto",), "auto: name every mass, length, inertia and gravity")
    text = "make one number a symbol, e.g. mass:forearm=m2, com:forearm.x=lc2, gravity=g"
    add("--symbol", "PARAMETER=NAME", text, many=True)
    add("--list-parameters", None, "print every parameter that --symbol can name, and stop")
    add("--coordinates", "LETTER", "letter of the coordinates (theta, say)", "q")
    add("--motor", "JOINT:R=..,kt=..", "a DC motor: R, kt, and optionally ke, L, N, J", many=True)
    add(
        "--only",
        "DOCUMENT_PARTS",
        "comma-separated: M,D,G,coriolis,B,C,K,U,motors,definitions,proof",
    )
    more = parser.add_argument_group(
        "more quantities in symbols", "each is printed after the equations of motion"
    )
    ask = partial(option, more)
    ask("--joint-wrench", "JOINT", "the wrench of a joint", many=True)
    ask("--balance", "LINK", "a link's wrenches as the observer sees them", many=True)
    text = (
        "of --balance and --motion: a link, world, or LINK@JOINT for a link's axes at a joint's "
        "origin"
    )
    ask("--observer", "FRAME", text, "world")
    ask("--expressed-in", "FRAME", "axes: a link, world, child, parent or observer")
    ask("--reduced-at", "POINT", "joint, world or a link's origin", "joint")
    ask("--motion", "LINK", "position, velocity, acceleration …", many=True)
    ask("--jacobian", "LINK", "Jacobian and its rate", many=True)
    ask("--tip-force", "LINK", "J' F of a wrench on a link", many=True)
    ask("--friction", None, "joint friction")
    text = "print these quantities along a motion instead, e.g. q1=t, q2=2*t+pi/3"
    add("--along", "COORDINATE=EXPRESSION", text, many=True)
    add("--unexpanded", None, "steps instead of multiplied-out formulas")
    add("--no-simplify", None, "plain sums of products: faster, longer")
    add("--max-terms", at_least_one, "how many terms one expression may have")
    add("--digits", digits, "figures that printed decimals are rounded to; exact if not given")
    add(
        "--format",
        ("text", "latex", "tex", "html", "c", "python"),
        "text; latex: to be included; tex: a document that compiles; html: a page; "
        "c, python: functions for the quantities below the equations of motion; "
        "default by the ending of --output, else text",
    )
    add("--output -o", output_file, "write there instead of to the terminal", metavar="FILE")
    add("--report", None, "print operation counts too")


def _print_parameters(options: argparse.Namespace, model: RobotModel) -> None:
    from robot_dynamics_ros.equations.parameters import parameters_of

    known = parameters_of(model).items()
    rows = [
        [parameter, f"{value:.6g}", unit, meaning] for parameter, (meaning, unit, value) in known
    ]
    print_table(options, ["parameter", "value", "unit", "meaning"], rows, name=model.name)


def run(options: argparse.Namespace) -> int:
    """Derive, prove and print."""
    model = load_model(options)
    if options.list_parameters:
        _print_parameters(options, model)
        return 0
    from robot_dynamics_ros.equations import symbolic
    from robot_dynamics_ros.equations.document import DOCUMENT_PARTS
    from robot_dynamics_ros.equations.equations import MAX_TERMS
    from robot_dynamics_ros.equations.equations_document import document_of
    from robot_dynamics_ros.equations.formulas import document_of_formulas
    from robot_dynamics_ros.equations.render_html import render_html
    from robot_dynamics_ros.equations.render_latex import render_latex, render_tex
    from robot_dynamics_ros.equations.render_text import render_data, render_text

    symbols = given_symbols(options)
    # before anything is derived
    if options.only:
        only = chosen(options.only, DOCUMENT_PARTS, "--only")
    else:
        only = []
    equations = symbolic(
        model,
        symbols,
        coordinates=options.coordinates,
        expand=not options.unexpanded,
        simplify=not options.no_simplify,
        max_terms=MAX_TERMS if options.max_terms is None else options.max_terms,
        motors=parse_motors(options.motor),
    )
    parts = only or [p for p in DOCUMENT_PARTS if p != "operations"]
    if options.report:
        parts.append("operations")
    if equations.steps and "steps" not in parts:
        parts.insert(0, "steps")
    formulas = _formulas(equations, options)
    kind = options.format or DOCUMENT_FORMATS.get(Path(options.output or "").suffix, "text")
    if kind in ("c", "python"):
        text = _code(formulas, kind)
        data: dict[str, Any] = {"language": kind, "code": text}
    else:
        if formulas and not only:
            document = document_of_formulas(formulas, options.digits)
        else:
            document = document_of(equations, parts, options.digits, formulas)
        render = {
            "text": render_text,
            "latex": render_latex,
            "tex": render_tex,
            "html": render_html,
        }[kind]
        text = render(document)
        data = render_data(document)
    if options.output:
        write_whole_text(options.output, text)
    if options.json or not options.output:
        file = str(options.output) if options.output else None
        result(options, {"name": model.name, "file": file, **data}, text.removesuffix("\n"))
    return 0


def _formulas(equations: Equations, options: argparse.Namespace) -> list[Formulas]:
    """The quantities asked for beside the equations of motion."""
    link, separator, joint = options.observer.partition("@")
    observer: Any = (link, joint) if separator else link
    axes = options.expressed_in
    point = options.reduced_at
    seen = {"observer": observer, "expressed_in": axes or "observer", "reduced_at": point}
    formulas = [
        equations.joint_wrench(n, expressed_in=axes or "child", reduced_at=point)
        for n in options.joint_wrench
    ]
    formulas += [equations.wrench_balance(name, **seen) for name in options.balance]
    formulas += [
        equations.motion(name, relative_to=observer, expressed_in=axes) for name in options.motion
    ]
    formulas += [equations.jacobian(name) for name in options.jacobian]
    formulas += [equations.external_efforts(name) for name in options.tip_force]
    if options.friction:
        formulas.append(equations.friction())
    if options.along:
        motion = _motion(options.along)
        formulas = [replace(f, matrices=f.along(motion), steps=(), traced=()) for f in formulas]
    return formulas


def _motion(pairs: Iterable[str]) -> dict[str, Any]:
    """``COORDINATE=EXPRESSION`` pairs; expressions of numbers, t, pi, + - * / ( ) and a few
    functions alone.
    """
    import sympy

    coordinates: dict[str, Any] = {}
    names = {
        "t": sympy.Symbol("t", real=True),
        "pi": sympy.pi,
        "sin": sympy.sin,
        "cos": sympy.cos,
        "exp": sympy.exp,
    }
    for text in pairs:
        name, equals, expression = text.partition("=")
        words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\d+\.?\d*[eE][+-]?\d+", "0", expression)))
        legal = re.fullmatch(r"[\w\s.+\-*/()]+", expression) and words <= set(names)
        try:
            if not equals or not legal:
                raise ValueError
            coordinates[name.strip()] = sympy.parse_expr(expression, local_dict=names)
        except (ValueError, SyntaxError, TypeError):
            remedy = f"For example q2=2*t+0.5; known: {', '.join(names)}."
            why = f"expected COORDINATE=EXPRESSION, got {text!r}"
            raise ArgumentError(why, where="--along", remedy=remedy) from None
    return coordinates


def _code(formulas: list[Formulas], kind: str) -> str:
    """Functions named after what they compute."""
    from robot_dynamics_ros.equations.names import identifier_of

    functions = []
    for f in formulas:
        if not f.traced:
            remedy = "Leave out --along and --friction."
            raise ArgumentError(
                f"there is no code for {f.title.lower()}", where=f"--format {kind}", remedy=remedy
            )
        name = identifier_of(f.title.lower())
        functions.append(f.c(name) if kind == "c" else f.python(name))
    if not functions:
        other = "the equations of motion are exported by 'robot_dynamics export'."
        remedy = f"Name quantities (--joint-wrench, --jacobian, …); {other}"
        raise ArgumentError("nothing to make code of", where=f"--format {kind}", remedy=remedy)
    return "\n\n".join(functions)


def given_symbols(options: argparse.Namespace) -> str | dict[str, str]:
    """Names of parameters by ``--symbols`` and ``--symbol PARAMETER=NAME``."""
    if options.symbols and options.symbol:
        text = "--symbols auto names everything already"
        remedy = "Give one or the other."
        raise ArgumentError(text, where="--symbol", got=options.symbol, remedy=remedy)
    if options.symbols:
        return options.symbols
    remedy = "For example mass:forearm=m2; --list-parameters shows all parameters."
    return pairs(options.symbol, "PARAMETER=NAME", "--symbol", remedy)


def parse_motors(pairs: Iterable[str]) -> dict[str, DCMotor] | None:
    """``JOINT:R=1.2,kt=0.05,…`` descriptions as motors by joint; ``None`` if there are none."""
    from robot_dynamics_ros.model.motors import DCMotor

    motors: dict[str, DCMotor] = {}
    for text in pairs:
        joint, _, rest = text.rpartition(":")
        values: dict[str, float] = {}
        for item in rest.split(","):
            key, _, number = item.partition("=")
            try:
                values[_MOTOR_WORDS[key]] = float(number)
            except (KeyError, ValueError):
                why = f"expected JOINT:R=...,kt=..., got {text!r} ({item!r} is not understood)"
                remedy = f"Known constants: {', '.join(_MOTOR_WORDS)}."
                raise ArgumentError(why, where="--motor", remedy=remedy) from None
        for key in ("R", "kt"):
            if _MOTOR_WORDS[key] not in values:
                remedy = f"Add {key}=VALUE."
                raise ArgumentError(
                    f"the motor of {joint!r} needs {key}", where="--motor", got=text, remedy=remedy
                )
        if joint in motors:
            remedy = "Give each joint one motor."
            raise ArgumentError(
                f"joint {joint!r} has two motors", where="--motor", got=text, remedy=remedy
            )
        motors[joint] = DCMotor(**values)
    return motors or None
