"""Parameters as a contract: declared once, with type, unit, bounds and a description; checked
together.

A node declares :class:`Param` tables through a :class:`ParameterSet` and reads plain Python values
from it.  A change at run time is accepted or refused as a whole, with a reason that says what would
be right.
"""

from __future__ import annotations

import array
import difflib
import functools
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.model.robot_model import RobotModel

APPLIES_LATER = "a change applies"
"""Begins a sentence among the constraints of a parameter whose change takes no effect at once."""
ParameterValues: TypeAlias = Mapping[str, Any]
"""Parameters of a node by name; each has the type of its :class:`Param`."""

_OF_RCLPY = ("use_sim_time", "qos_overrides.", "start_type_description_service")
# parameters of the simulator's shapes, which it checks itself
_OF_SHAPE = re.compile(r"mujoco\..+\.")
# the simulator's, whose default is the robot's own
_START = "initial_positions.<joint>"
_TABLES = Path(__file__).parents[1] / "tables"
_TYPES = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}
_ARRAY_TYPES = {
    int: Parameter.Type.INTEGER_ARRAY,
    float: Parameter.Type.DOUBLE_ARRAY,
    str: Parameter.Type.STRING_ARRAY,
}
# the ends of a range that has no bound there
_EXTREMES = {
    int: (-(2**63), 2**63 - 1),
    float: (-sys.float_info.max, sys.float_info.max),
}
_ARRAYS = {
    int: "a list of integers",
    float: "a list of numbers, such as [0.0, 0.0, -9.81]",
    str: "a list of strings",
}


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter.

    Attributes:
        name: full name, dots included.
        default: its default; the type of the parameter is the default's.  A tuple makes an array.
        description: what it does, in one sentence.
        unit: SI unit, if it has one.
        lower, upper: inclusive bounds of a number.
        choices: the strings allowed.
        length: required length of a non-empty array.
        element: element type of an array (needed where the default is empty).
        read_only: cannot be changed while the node runs.
        applies: when a change takes effect, if not at once.
    """

    name: str
    default: Any
    description: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    length: int | None = None
    element: type = str
    read_only: bool = False
    applies: str = ""

    @property
    def is_array(self) -> bool:
        return isinstance(self.default, tuple)

    @property
    def type_text(self) -> str:
        if self.is_array:
            return _ARRAYS[self.element]
        return _TYPES[type(self.default)]

    def descriptor(self) -> ParameterDescriptor:
        """The declaration that ``ros2 param describe`` shows."""
        text = self.description + (f" [{self.unit}]" if self.unit else "")
        constraints = []
        if self.choices:
            constraints.append("one of: " + ", ".join(self.choices))
        if self.applies:
            constraints.append(f"{APPLIES_LATER} {self.applies}")
        descriptor = ParameterDescriptor(
            name=self.name,
            description=text,
            additional_constraints="; ".join(constraints),
            read_only=self.read_only,
            # rclpy would take [] for a list of bytes and refuse 5 for 5.0; the type is checked here
            # instead
            dynamic_typing=self.is_array or isinstance(self.default, float),
        )
        kind = type(self.default)
        if kind in (int, float) and (self.lower is not None or self.upper is not None):
            least, most = _EXTREMES[kind]
            bounds = {
                "from_value": kind(least if self.lower is None else self.lower),
                "to_value": kind(most if self.upper is None else self.upper),
            }
            if kind is float:
                descriptor.floating_point_range = [FloatingPointRange(**bounds)]
            else:
                descriptor.integer_range = [IntegerRange(**bounds, step=1)]
        return descriptor

    def check(self, value: object) -> object:
        """The value as a plain Python object; whole numbers become floats where those are meant.

        Raises:
            ArgumentError: another type, outside the bounds or choices, not finite, wrong length.
        """
        where = f"parameter {self.name!r}"
        if not self.is_array:
            return self._check_one(where, value, type(self.default))
        items = () if value is None else value
        if not isinstance(items, (list, tuple, array.array)):
            raise ArgumentError(f"is {value!r}", where=where, remedy=f"Give {self.type_text}.")
        if self.length is not None and items and len(items) != self.length:
            raise ArgumentError(
                f"has {len(items)} values", where=where, remedy=f"Give {self.length}."
            )
        return tuple(self._check_one(where, item, self.element) for item in items)

    def _check_one(self, where: str, value: object, kind: type) -> object:
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise ArgumentError(f"is {value!r}", where=where, remedy=f"Give {self.type_text}.")
        if self.choices and value not in self.choices:
            remedy = f"Valid values: {', '.join(map(repr, self.choices))}."
            raise ArgumentError(f"is {value!r}", where=where, remedy=remedy)
        if isinstance(value, float) and not math.isfinite(value):
            raise ArgumentError(f"is {value}", where=where, remedy="Give a finite number.")
        if isinstance(value, int | float):
            self._check_bounds(where, value)
        return value

    def _check_bounds(self, where: str, value: float) -> None:
        if self.lower is not None and value < self.lower:
            remedy = f"Give at least {self.lower} {self.unit}".rstrip() + "."
            raise ArgumentError(f"is {value}, less than {self.lower}", where=where, remedy=remedy)
        if self.upper is not None and value > self.upper:
            remedy = f"Give at most {self.upper} {self.unit}".rstrip() + "."
            raise ArgumentError(f"is {value}, more than {self.upper}", where=where, remedy=remedy)


def parameter_table(
    file: str,
    section: str,
    choices: Mapping[str, Iterable[str]] | None = None,
    defaults: Mapping[str, object] | None = None,
) -> tuple[Param, ...]:
    """The parameters of one section of ``ros/tables/<file>.yaml``, with choices and defaults that
    the core defines.
    """
    params = []
    for name, fields in _tables(file)[section].items():
        default = fields.get("default", (defaults or {}).get(name))
        fields = {**fields, "default": tuple(default) if isinstance(default, list) else default}
        fields["choices"] = tuple((choices or {}).get(name, fields.get("choices", ())))
        fields["element"] = {"float": float, "int": int}.get(fields.get("element", ""), str)
        params.append(Param(name, **fields))
    return tuple(params)


@functools.cache
def _tables(file: str) -> Mapping[str, Mapping[str, dict[str, Any]]]:
    text = (_TABLES / f"{file}.yaml").read_text("utf-8")
    tables: Mapping[str, Mapping[str, dict[str, Any]]] = yaml.load(
        text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return tables


def _names_in_tables(*joints: str) -> Iterator[str]:
    """Names of the parameters of all nodes, with each of these names for ``<joint>``."""
    tables = [_tables(path.stem) for path in _TABLES.glob("*.yaml")]
    sections = [section for table in tables for section in table.values()]
    for name in (*itertools.chain.from_iterable(sections), _START):
        for joint in joints:
            yield name.replace("<joint>", joint)


def of_joints(joints: Iterable[str], *templates: Param) -> list[Param]:
    """The parameters of each joint: those given, with its name for ``<joint>``."""
    return [
        replace(param, name=param.name.replace("<joint>", joint))
        for joint, param in itertools.product(joints, templates)
    ]


def check_joints(joints: Sequence[str]) -> None:
    """Refuse a parameter ``joints`` that names one twice."""
    if repeated := sorted({name for name in joints if joints.count(name) > 1}):
        text = f"names {repeated[0]!r} more than once"
        raise ArgumentError(
            text, where="parameter 'joints'", got=joints, remedy="Name each joint once."
        )


class ParameterSet(Mapping[str, Any]):
    """The declared parameters of a node, by name, as plain Python values.

    Args:
        node, params: what to declare, and the node to declare it on.
        validate: called with a mapping of all values before any of them changes; raises to refuse.
        apply: called with (changed names, all values) once a change at run time is accepted; may
            raise to refuse.
    """

    def __init__(
        self,
        node: Node,
        params: Iterable[Param],
        validate: Callable[[ParameterValues], None] = lambda values: None,
        apply: Callable[[frozenset[str], ParameterValues], None] = lambda changed, values: None,
    ) -> None:
        self._node = node
        self._validate = validate
        self._apply = apply
        self._params: dict[str, Param] = {}
        self._values: dict[str, Any] = {}
        node.add_on_set_parameters_callback(self._on_set)
        self.declare(params)
        self.validate()

    def declare(self, params: Iterable[Param]) -> None:
        """Declare parameters not declared yet; values given at start-up override the defaults.

        Of those declared before, for another robot, the ones that still have their default get the
        new one.

        Raises:
            ArgumentError: a given value has the wrong type or is outside the bounds.
        """
        for param in params:
            if (declared := self._params.get(param.name)) is not None:
                # nobody has chosen it
                if self._values[param.name] == declared.default != param.default:
                    self._params[param.name] = param
                    self._node.set_parameters([Parameter(param.name, value=param.default)])
                continue
            if param.is_array:
                default = list(param.default)
            else:
                default = param.default
            # a YAML file's [] arrives as nothing at all; unset, nobody could read the parameter
            # back
            override = self._node._parameter_overrides.get(param.name)
            ignored = override is not None and override.value is None
            if override is not None and not ignored:
                # first: rclpy does not say what would be right
                param.check(override.value)
            try:
                if param.is_array:
                    value = self._declare_array(param, default, ignored)
                else:
                    value = self._node.declare_parameter(
                        param.name, default, param.descriptor(), ignored
                    ).value
            except ValueError as error:
                where = f"parameter {param.name!r}"
                raise ArgumentError(
                    str(error), where=where, remedy="The name is not allowed in ROS."
                ) from None
            self._values[param.name] = param.check(value)
            self._params[param.name] = param

    def _declare_array(
        self,
        param: Param,
        default: list[object],
        ignore_override: bool,
    ) -> object:
        """The same for a list.

        rclpy takes an empty one for bytes, and tools would show it so: it is set with its type.
        """
        open_to_change = param.descriptor()
        open_to_change.read_only = False
        value = self._node.declare_parameter(
            param.name, default, open_to_change, ignore_override
        ).value
        if value == []:
            self._node.set_parameters([Parameter(param.name, _ARRAY_TYPES[param.element], [])])
        self._node.set_descriptor(param.name, param.descriptor())
        return value

    def validate(self) -> None:
        """Check the values against each other; an error if they do not fit together."""
        self._validate(self)

    def unknown(self, model: RobotModel | None) -> list[str]:
        """Names of values given at the start that no node of this package has; one file may serve
        several nodes.

        Before the robot is known (``None``) names with a dot, as those of joints have, are left
        out.
        """
        names = [
            name
            for name in self._node._parameter_overrides
            if not self._node.has_parameter(name)
            and not name.startswith(_OF_RCLPY)
            and not _OF_SHAPE.match(name)
            and (model is not None or "." not in name)
        ]
        # most often there are none, and the tables of other nodes need not be read
        if not names:
            return []
        joints = () if model is None else model.joint_names
        elsewhere = set(_names_in_tables("<joint>", *joints))
        return sorted(name for name in names if name not in elsewhere)

    def report_unknown(self, model: RobotModel | None) -> None:
        """Log the names of :meth:`unknown`, each with the nearest of the node's own names."""
        for name in self.unknown(model):
            near = difflib.get_close_matches(name, self, 1, 0.5)
            self._node.get_logger().warning(
                f"unknown parameter {name!r} is ignored"
                + (f"; did you mean {near[0]!r}?" if near else "")
            )

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        proposed = dict(self._values)
        changed = []
        try:
            for parameter in parameters:
                # rclpy takes it for declared
                if not parameter.name:
                    raise ArgumentError(
                        "it has no name", where="parameter", remedy="Name a parameter of this node."
                    )
                param = self._params.get(parameter.name)
                if param is None:
                    # use_sim_time and the like; or being declared just now, and checked there
                    continue
                proposed[param.name] = param.check(parameter.value)
                changed.append(param.name)
            if changed:
                self._validate(proposed)
                self._apply(frozenset(changed), proposed)
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._values.update(proposed)
        return SetParametersResult(successful=True)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
