"""Where a symbol can stand for a number of the robot.

``mass:<link>``
    mass of a body, kg
``com:<link>.x``
    its centre of mass in the link's frame, m; also ``.y``, ``.z``
``inertia:<link>.xx``
    its rotational inertia about the centre of mass in the link's axes, kg m²; also ``.xy`` …
``origin:<joint>.x``
    a joint's origin in the frame of the parent body, m; also ``.y``, ``.z``
``armature:<joint>``
    reflected inertia of the joint's rotor, kg m²
``gravity``
    strength of gravity, m/s², where it points along a coordinate axis
``gravity.x``
    a component of the gravitational acceleration, m/s²; also ``.y``, ``.z``

A body is the child link of a moving joint with everything rigidly attached to it; it is called by
that link.  ``mass`` and ``com`` of the root link are known, too: they matter for the potential
energy alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from robot_dynamics_ros.equations.names import check_identifiers
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel

AXIS_NAMES = "xyz"
INERTIA_ENTRIES = ("xx", "xy", "xz", "yy", "yz", "zz")
Symbols = Mapping[str, str] | str | None


@dataclass(frozen=True)
class Definition:
    """Meaning of one symbol."""

    symbol: str
    meaning: str
    # of the SI, ``""`` for none
    unit: str
    # in this robot, ``None`` for variables
    value: float | None = None
    # the number of the robot that it stands for, such as ``"mass:forearm"``; ``""`` for variables
    parameter: str = ""


def clean_vector(values: np.ndarray) -> np.ndarray:
    """Offsets with rounding errors around zero taken away."""
    return np.where(np.abs(values) <= 1e-13, 0.0, values)


def clean_inertia(values: np.ndarray) -> np.ndarray:
    """A symmetric matrix with rounding errors around zero taken away."""
    return np.where(np.abs(values) <= 1e-15 * np.abs(values).max(initial=0.0), 0.0, values)


def body_links(model: RobotModel) -> list[str]:
    """The link that names each body."""
    return [model.joint(joint).child for joint in model.moving_joint_names]


def parameters_of(model: RobotModel) -> dict[str, tuple[str, str, float]]:
    """Parameter → (meaning, unit, value) of every number of the robot that a symbol can stand
    for.
    """
    return {
        parameter: (meaning, unit, float(value))
        for parameter, meaning, unit, value, _ in _parameters(model)
    }


def automatic_symbols(model: RobotModel) -> dict[str, str]:
    """A symbol for every number of the robot that is not zero, as textbooks name them.

    m1, lc1 (or c1_x …), I1_xx …, l1 (or l1_x …; the offset that joint 2 has from joint 1 is l1), g.
    In a planar robot, whose joints all turn about one direction, the moment of inertia that counts
    is I1.
    """
    return {
        parameter: symbol
        for parameter, _, _, value, symbol in _parameters(model)
        if value and symbol
    }


_Parameter: TypeAlias = tuple[str, str, str, float, str]
"""Parameter, meaning, unit, value, symbol in textbooks."""


def _vector(
    parameter: str,
    meaning: str,
    unit: str,
    values: np.ndarray,
    single: str,
    several: str,
) -> Iterator[_Parameter]:
    """Three components; ``meaning`` has an asterisk for the axis, ``single`` is the symbol where
    one alone is not zero.
    """
    alone = np.count_nonzero(values) == 1
    for axis, value in zip(AXIS_NAMES, values, strict=True):
        if alone:
            symbol = single
        else:
            symbol = several and f"{several}_{axis}"
        yield f"{parameter}.{axis}", meaning.replace("*", axis), unit, value, symbol


def _parameters(model: RobotModel) -> Iterator[_Parameter]:
    root = model.root_link
    own = model.root_inertia
    yield f"mass:{root}", f"mass of the root link {root}", "kg", own.mass, "m0"
    symbols = ("lc0", "c0") if own.mass else ("", "")
    meaning = f"centre of mass of the root link {root}, *"
    yield from _vector(f"com:{root}", meaning, "m", clean_vector(own.com), *symbols)
    normal = _common_axis(model)
    for i, (joint, link) in enumerate(
        zip(model.moving_joint_names, body_links(model), strict=True)
    ):
        k = i + 1
        attached = any(
            int(b) == i and name != link and model.link(name).inertia.mass > 0.0
            for name, b in zip(model.link_names, model.link_body, strict=True)
        )
        if attached:
            body = f"{link} with all that is rigidly attached to it"
        else:
            body = link
        yield f"mass:{link}", f"mass of {body}", "kg", model.body_mass[i], f"m{k}"
        com = clean_vector(model.body_com[i])
        inertia = clean_inertia(model.body_inertia[i])
        if model.body_mass[i]:
            symbols = (f"lc{k}", f"c{k}")
        else:
            symbols = ("", "")
        yield from _vector(
            f"com:{link}", f"centre of mass of {body} along * of its frame", "m", com, *symbols
        )
        for moment in INERTIA_ENTRIES:
            meaning = f"{moment} of the inertia of {body} about its centre of mass"
            value = inertia[AXIS_NAMES.index(moment[0])][AXIS_NAMES.index(moment[1])]
            short = normal is not None and moment == normal[i]
            yield (
                f"inertia:{link}.{moment}",
                meaning,
                "kg m²",
                value,
                f"I{k}" if short else f"I{k}_{moment}",
            )
        origin = clean_vector(model.joint_position[i])
        meaning = f"origin of {joint} along * of the frame before it"
        yield from _vector(f"origin:{joint}", meaning, "m", origin, f"l{i}", f"l{i}")
        kind = JointType(int(model.joint_type[i]))
        if model.mimic_master[i] < 0 and kind is not JointType.FLOATING:
            for c in range(kind.nv):
                name, symbol = (joint, f"J{k}") if kind.nv == 1 else (f"{joint}[{c}]", "")
                rotor = model.armature[int(model.v_index[i]) + c]
                yield (
                    f"armature:{name}",
                    f"reflected rotor inertia of {name}",
                    "kg m²",
                    rotor,
                    symbol,
                )
    if np.count_nonzero(model.gravity) == 1:
        yield "gravity", "strength of gravity", "m/s²", float(np.abs(model.gravity).sum()), "g"
    yield from _vector(
        "gravity", "gravitational acceleration along *", "m/s²", model.gravity, "", "g"
    )


def _common_axis(model: RobotModel) -> list[str] | None:
    """For each body the moment about the joints' common direction, if there is one along an axis of
    its frame.
    """
    moments: list[str] = []
    to_root: list[np.ndarray] = []
    direction: np.ndarray | None = None
    for i in range(model.nb):
        parent = int(model.parent[i])
        R = (to_root[parent] if parent >= 0 else np.eye(3)) @ model.joint_rotation[i]
        to_root.append(R)
        if model.joint_type[i] not in (JointType.REVOLUTE, JointType.CONTINUOUS):
            return None
        axis = R @ model.joint_axis[i]
        direction = axis if direction is None else direction
        k = int(np.argmax(np.abs(model.joint_axis[i])))
        if (
            abs(abs(float(axis @ direction)) - 1.0) > 1e-12
            or abs(abs(model.joint_axis[i][k]) - 1.0) > 1e-12
        ):
            return None
        moments.append(AXIS_NAMES[k] * 2)
    return moments


def resolve_symbols(
    model: RobotModel,
    symbols: Symbols,
    taken: Mapping[str, str],
) -> dict[str, Definition]:
    """Parameter → definition for the chosen symbols.

    Args:
        symbols: parameter → name; ``"auto"`` for :func:`automatic_symbols`; ``None`` for none.  One
            name may stand for several parameters of one kind that hold the same number.
        taken: names that are in use already → what for.
    """
    if symbols is None:
        symbols = {}
    if isinstance(symbols, str):
        if symbols != "auto":
            raise ArgumentError(
                "expected a mapping from parameters to names, 'auto' or None",
                where="symbols",
                got=symbols,
            )
        symbols = {p: f"{s}_" if s in taken else s for p, s in automatic_symbols(model).items()}
    parameters = parameters_of(model)
    defined: dict[str, Definition] = {}
    first: dict[str, str] = {}
    for parameter, name in symbols.items():
        if parameter not in parameters:
            raise _unknown(model, parameter, parameters)
        meaning, unit, value = parameters[parameter]
        other = first.get(str(name))
        if other is not None:
            same_kind = other.split(":")[0] == parameter.split(":")[0]
            if not same_kind or parameters[other][2] != value:
                known = f"{other} = {parameters[other][2]:g} {parameters[other][1]}"
                problem = (
                    f"the name {name!r} is already taken by {known}, which is not the same as "
                    f"{parameter} = {value:g} {unit}"
                )
                raise ArgumentError(problem, where="symbols", remedy="Give each its own name.")
        first.setdefault(str(name), parameter)
        defined[parameter] = Definition(str(name), meaning, unit, value, parameter)
    check_identifiers(
        [*taken.items(), *((name, f"symbol of {parameter}") for name, parameter in first.items())]
    )
    if "gravity" in defined and any(f"gravity.{axis}" in defined for axis in AXIS_NAMES):
        problem = "gravity is named both as a whole and by component"
        raise ArgumentError(problem, where="symbols", remedy="Choose one of the two.")
    return defined


def _unknown(
    model: RobotModel,
    parameter: str,
    parameters: Mapping[str, object],
) -> Exception:
    kind, _, rest = str(parameter).partition(":")
    link, _, component = rest.partition(".")
    if (
        kind in ("mass", "com", "inertia")
        and link in model.link_names
        and link not in body_links(model)
    ):
        body = int(model.link_body[model.link_index(link)])
        if body < 0:
            owner = model.root_link
        else:
            owner = body_links(model)[body]
        if owner != link:
            problem = (
                f"link {link!r} is rigidly attached to {owner!r} and has no mass properties of "
                "its own here"
            )
            remedy = (
                "Name those of the whole body: "
                f"{kind}:{owner}{'.' if component else ''}{component}."
            )
            return ArgumentError(problem, where=f"symbol {parameter}", remedy=remedy)
    return UnknownNameError("parameter", parameter, parameters, where="symbols")
