"""A robot in exact numbers and symbols: what both derivations of its equations start from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.elementary_tree import BodyConstants, z_from
from robot_dynamics_ros.equations.numbers import Entry, Parameter, exact_rotation, fraction_of
from robot_dynamics_ros.equations.parameters import (
    AXIS_NAMES,
    INERTIA_ENTRIES,
    Definition,
    Symbols,
    body_links,
    parameters_of,
    resolve_symbols,
)
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel


class Geometry:
    """All bodies, gravity and the base; takes what :func:`resolve_symbols` of
    ``equations.parameters`` takes.

    Attributes:
        bodies: in entries, continuous joints as revolute; definitions: what each symbol stands for,
            in the robot's order.
        gravity, base_rotation, base_position: in the world frame.
        root_mass, root_com: of the root link; armature: (nv) reflected rotor inertias.
    """

    def __init__(
        self,
        model: RobotModel,
        symbols: Symbols = None,
        taken: dict[str, str] | None = None,
    ) -> None:
        if model.nv == 0:
            problem = "the robot has no moving joint, so there is nothing to write equations for"
            raise ModelError(
                problem, where=f"robot {model.name!r}", remedy="Check the joint types in its URDF."
            )
        self.model = model
        self._parameters = parameters_of(model)
        defined = resolve_symbols(model, symbols, taken or {})
        self._symbols = {parameter: definition.symbol for parameter, definition in defined.items()}
        order = list(self._parameters)
        unique = {
            d.symbol: d
            for d in sorted(defined.values(), key=lambda d: order.index(d.parameter), reverse=True)
        }
        self.definitions: list[Definition] = sorted(
            unique.values(), key=lambda d: order.index(d.parameter)
        )
        self.bodies = [self._body(i, link) for i, link in enumerate(body_links(model))]
        self.gravity = self._gravity()
        self.base_rotation = exact_rotation(model.base.rotation)
        self.base_position: list[Entry] = [fraction_of(x) for x in model.base.position]
        self.root_mass = self._entry(f"mass:{model.root_link}")
        self.root_com = self._vector(f"com:{model.root_link}")
        self.armature = [self._armature(dof) for dof in range(model.nv)]

    def _entry(self, parameter: str) -> Entry:
        value = self._parameters[parameter][2]
        symbol = self._symbols.get(parameter)
        if symbol is None:
            return fraction_of(value)
        return Parameter(symbol, value)

    def _body(self, i: int, link: str) -> BodyConstants:
        joint = self.model.moving_joint_names[i]
        model = self.model
        kind = JointType(int(model.joint_type[i]))
        moments = {m: self._entry(f"inertia:{link}.{m}") for m in INERTIA_ENTRIES}
        # symmetric: the entry yx is xy
        inertia = [[moments["".join(sorted(a + b))] for b in AXIS_NAMES] for a in AXIS_NAMES]
        if kind is JointType.CONTINUOUS:
            kind = JointType.REVOLUTE
        if kind is JointType.FLOATING:
            axis_rotation = np.eye(3)
        else:
            axis_rotation = z_from(model.joint_axis[i])
        return BodyConstants(
            int(model.parent[i]),
            kind,
            array(exact_rotation(model.joint_rotation[i])),
            array(self._vector(f"origin:{joint}")),
            array(exact_rotation(axis_rotation)),
            self._entry(f"mass:{link}"),
            array(self._vector(f"com:{link}")),
            array(inertia),
            int(model.q_index[i]),
            int(model.v_index[i]),
            fraction_of(float(model.mimic_multiplier[i])),
            fraction_of(float(model.mimic_offset[i])),
        )

    def _vector(self, parameter: str) -> list[Entry]:
        return [self._entry(f"{parameter}.{axis}") for axis in AXIS_NAMES]

    def _gravity(self) -> list[Entry]:
        if "gravity" in self._symbols:
            value = self._parameters["gravity"][2]
            return [
                Parameter(self._symbols["gravity"], value, 1 if g > 0 else -1) if g else Fraction(0)
                for g in self.model.gravity.tolist()
            ]
        return self._vector("gravity")

    def _armature(self, dof: int) -> Entry:
        for name in self.model.joint_names:
            block = self.model.v_slice(name)
            if block.start <= dof < block.stop:
                if block.stop - block.start == 1:
                    component = ""
                else:
                    component = f"[{dof - block.start}]"
                if f"armature:{name}{component}" in self._parameters:
                    return self._entry(f"armature:{name}{component}")
        return fraction_of(float(self.model.armature[dof]))


def array(entries: Any) -> np.ndarray:
    """Nested lists of entries as an array of objects."""
    return np.array(entries, dtype=object)
