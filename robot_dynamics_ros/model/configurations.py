"""Named configurations: from an SRDF, MJCF keyframes or a table, and wherever a configuration is expected, by name."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError, ModelWarning, UnknownNameError, UrdfError
from robot_dynamics_ros.model.description import Array, Configurations, Joint, RobotDescription
from robot_dynamics_ros.model.urdf_source import read_source
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, parse_xml

_SCHEMA: dict[str, Any] = {"robot": {"group_state": {"joint": {}}, "virtual_joint": {}}}


class _Robot(Protocol):
    """The part of a robot model that configurations need."""

    @property
    def description(self) -> RobotDescription: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def nq(self) -> int: ...
    @property
    def lower(self) -> Array: ...
    @property
    def upper(self) -> Array: ...
    def joint(self, name: str) -> Joint: ...
    def q_slice(self, joint: str) -> slice: ...
    def neutral(self) -> Array: ...


def initial_configuration(model: _Robot) -> Array:
    """See :meth:`RobotModel.initial_configuration`."""
    q = model.neutral()
    for name, value in model.description.initial_positions.items():
        if name in model.joint_names and model.joint(name).type.nq == 1:
            q[model.q_slice(name)] = value
    return np.clip(q, model.lower, model.upper)


def configuration_of(model: _Robot, value: object, where: str = "q") -> Array:
    """(nq,) see :meth:`RobotModel.configuration`; ``where`` is what errors call the value."""
    if isinstance(value, Mapping):
        q = initial_configuration(model)
        for joint, position in value.items():
            part = q[model.q_slice(joint)]
            numbers = real_array_or_nan(position).reshape(-1)
            if numbers.shape != part.shape or not np.isfinite(numbers).all():
                raise ArgumentError(
                    f"expected {part.size} finite number{'s' * (part.size != 1)}, got {position!r}",
                    where=f"{where}[{joint!r}]",
                    remedy="Give rad or m; a floating joint has [x, y, z, qx, qy, qz, qw].",
                )
            part[:] = numbers
        return q
    if isinstance(value, str):
        named = model.description.configurations
        if value in named:
            return configuration_of(model, {j: p for j, p in named[value].items() if j in model.joint_names}, where)
        if value == "zero":
            return model.neutral()
        if value == "initial":
            return initial_configuration(model)
        raise UnknownNameError("configuration", value, (*named, "initial", "zero"), where=where)
    numbers = real_array_or_nan(value)
    if numbers.shape != (model.nq,) or not np.isfinite(numbers).all():
        raise ArgumentError(
            f"expected {model.nq} finite numbers, joint → position, or a name",
            where=where,
            got=value,
            remedy=f"Names are {', '.join((*model.description.configurations, 'initial', 'zero'))}.",
        )
    return numbers


def configurations_of(model: _Robot, source: str | os.PathLike[str] | Mapping[str, ArrayLike]) -> Configurations:
    """Configurations of an SRDF (text or path), or of a mapping of names; see :meth:`RobotModel.with_configurations`."""
    if not isinstance(source, Mapping):
        return _read_srdf(model, source)
    named = {name: configuration_of(model, value, f"configuration {name!r}") for name, value in source.items()}
    return {
        name: {joint: tuple(q[model.q_slice(joint)].tolist()) for joint in model.joint_names}
        for name, q in named.items()
    }


def _read_srdf(model: _Robot, source: str | os.PathLike[str]) -> Configurations:
    data, label = read_source(source, max_bytes=MAX_BYTES)
    label = "SRDF text" if label == "URDF text" else label
    root = parse_xml(data, _SCHEMA, source=label)
    virtual = {node.attributes.get("name") for node in root.all("virtual_joint")}
    named: dict[str, dict[str, tuple[float, ...]]] = {}
    findings = []
    for state in root.all("group_state"):
        name = state.attributes.get("name", "")
        positions = named.setdefault(name, {})
        for node in state.all("joint"):
            joint, where = node.attributes.get("name", ""), f"{label}, group_state {name!r} (line {node.line})"
            try:
                values = tuple(float(word) for word in node.attributes["value"].split())
            except (KeyError, ValueError):
                values = ()
            if not values or not all(map(math.isfinite, values)):
                raise UrdfError(
                    f"joint {joint!r} has no finite value",
                    where=where,
                    got=node.attributes.get("value"),
                    remedy='Write it like <joint name="NAME" value="0.5"/>, in rad or m.',
                )
            if joint not in model.joint_names:
                if joint not in virtual and joint not in (j.name for j in model.description.joints):
                    findings.append(f"{where}: the robot has no joint {joint!r}; it is ignored")
            elif len(values) != model.joint(joint).type.nq:
                findings.append(f"{where}: joint {joint!r} has {model.joint(joint).type.nq} coordinates; it is ignored")
            elif positions.setdefault(joint, values) != values:
                findings.append(
                    f"{where}: joint {joint!r} is at {positions[joint]} in another group's state; that counts"
                )
    if findings:
        warnings.warn(ModelWarning("\n  - ".join(["the SRDF is usable, but:", *findings]), findings), stacklevel=4)
    return named
