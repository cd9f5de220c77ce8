"""One function of the registry, traced for one robot, for a framework that brings its own arrays or
symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics_ros.dynamics.engine.function_options import SWITCHES, completed_options
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options, estimated_operations
from robot_dynamics_ros.dynamics.engine.trace import Trace, signature, trace
from robot_dynamics_ros.dynamics.wrenches import axes_and_point, chosen_links
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError, check_name
from robot_dynamics_ros.model.robot_model import RobotModel

LARGEST = 400_000
"""Estimated operations beyond which a function is not written out."""


@dataclass(frozen=True)
class Request:
    """A function with its options, links by number, checked; inputs and outputs that are there,
    (name, shape).
    """

    name: str
    options: Options
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]


def make_request(
    model: RobotModel,
    name: str,
    options: Mapping[str, object],
    present: Sequence[str] = (),
    *,
    where: str,
) -> Request:
    """Check a function's name and options, links by name or number; ``present``: optional inputs
    that are given.
    """
    check_name("function", name, TABLE, where=where)
    chosen: dict[str, Any] = dict(options)
    # as the public function takes them
    if name == "joint_wrenches" and "joints_of" not in chosen:
        links = chosen_links(model, chosen.pop("joints", None))
        axes = chosen.pop("expressed_in", "child"), chosen.pop("reduced_at", "joint")
        settings, numbers = axes_and_point(model, *axes)
        if numbers:
            raise ArgumentError(
                "expected names of links, 'world', 'child', 'parent' or 'joint'",
                where=f"{where}: {name}, expressed_in and reduced_at",
                got=axes,
                remedy="Give a frame of your own a name: model.with_frame(name, link, pose).",
            )
        chosen |= {**dict(settings), "joints_of": links}
    chosen = completed_options(model, name, chosen, where=where)
    chosen |= {SWITCHES[word]: True for word in present if word in SWITCHES}
    sorted_options = tuple(sorted(chosen.items()))
    shapes = signature(model, name, sorted_options)
    return Request(name, sorted_options, shapes.inputs, shapes.outputs)


def traced(
    model: RobotModel,
    request: Request,
    *,
    where: str,
    largest: int = LARGEST,
) -> Trace:
    """The request's operations; leaves are keyed (input number, flat index).

    Raises:
        ArgumentError: too many of them for this robot, an option is missing, or the function
            divides by a constant zero.
    """
    size = estimated_operations(model, request.name)
    if size <= LARGEST:
        result = _trace(model, request, where)
        size = result.operations()["total"]
        if size <= largest:
            return result
    raise ArgumentError(
        f"{request.name} is not available for {model.name!r}: written out it would take some "
        f"{size} operations",
        where=where,
        got=request.name,
        remedy="Use the function of the same name of robot_dynamics_ros itself, on NumPy arrays.",
    )


def _trace(model: RobotModel, request: Request, where: str) -> Trace:
    try:
        return trace(model, request.name, request.options)
    except ZeroDivisionError:
        raise ArgumentError(
            "it divides by zero in every configuration of this robot",
            where=f"{where}: {request.name}",
            remedy="Give every moving link mass and inertia; a link asked about must have mass.",
        ) from None
    except KeyError as error:
        if isinstance(error, UnknownNameError):
            raise
        raise ArgumentError(
            f"{request.name} needs the option {error.args[0]!r}",
            where=where,
            remedy="It takes the options that rd.kernel takes for the function of this name.",
        ) from None
