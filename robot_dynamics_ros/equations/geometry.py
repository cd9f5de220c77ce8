"""A robot in exact numbers and symbols: what both derivations of its equations start from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from robot_dynamics_ros.dynamics.engine.elementary_tree import z_from
from robot_dynamics_ros.equations.numbers import Entry, Parameter, exact_rotation, fraction_of
from robot_dynamics_ros.equations.parameters import (
    AXES,
    MOMENTS,
    Definition,
    Symbols,
    body_links,
    parameters_of,
    resolve_symbols,
)
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel

Vector = list[Entry]
Matrix = list[list[Entry]]


@dataclass(frozen=True, eq=False)
class GeometryBody:
    """One body, in the frame of its joint's child link.

    Attributes:
        link, joint: names.
        parent: number of the parent body, −1 for the root.
        kind: the joint's type; continuous joints count as revolute.
        rotation, position: placement of the joint frame in the parent body's frame.
        normal: rotation whose third row is the joint's axis.
        mass, com, inertia: mass properties, the inertia about the centre of mass.
        q: number of the (first) coordinate; the joint's own is multiplier · q + offset.
    """

    link: str
    joint: str
    parent: int
    kind: JointType
    rotation: Matrix
    position: Vector
    normal: Matrix
    mass: Entry
    com: Vector
    inertia: Matrix
    q: int
    multiplier: Fraction
    offset: Fraction


class Geometry:
    """All bodies, gravity and the base.

    Args:
        model: the robot.
        symbols: as :func:`~robot_dynamics_ros.equations.parameters.resolve_symbols` takes them.
        taken: names in use for something else → what for.

    Attributes:
        definitions: what each symbol stands for, in the robot's order.
        gravity, base_rotation, base_position: in the world frame.
        root_mass, root_com: of the root link.
        armature: (nv) reflected rotor inertias.

    Raises:
        ModelError: the robot does not move.
        UnknownNameError, ArgumentError: unusable symbols.
    """

    def __init__(self, model: RobotModel, symbols: Symbols = None, taken: dict[str, str] | None = None) -> None:
        if model.nv == 0:
            raise ModelError(
                "the robot has no moving joint, so there is nothing to write equations for",
                where=f"robot {model.name!r}",
                remedy="Check the joint types in its URDF.",
            )
        self.model = model
        self._parameters = parameters_of(model)
        defined = resolve_symbols(model, symbols, taken or {})
        self._symbols = {parameter: definition.symbol for parameter, definition in defined.items()}
        order = list(self._parameters)
        unique = {d.symbol: d for d in sorted(defined.values(), key=lambda d: order.index(d.parameter), reverse=True)}
        self.definitions: list[Definition] = sorted(unique.values(), key=lambda d: order.index(d.parameter))
        self.bodies = [self._body(i, link) for i, link in enumerate(body_links(model))]
        self.gravity = self._gravity()
        self.base_rotation = exact_rotation(model.base.rotation)
        self.base_position: Vector = [fraction_of(x) for x in model.base.position]
        self.root_mass = self._entry(f"mass:{model.root_link}")
        self.root_com = [self._entry(f"com:{model.root_link}.{axis}") for axis in AXES]
        self.armature = [self._armature(dof) for dof in range(model.nv)]

    def _entry(self, parameter: str) -> Entry:
        value = self._parameters[parameter][2]
        symbol = self._symbols.get(parameter)
        return fraction_of(value) if symbol is None else Parameter(symbol, value)

    def _body(self, i: int, link: str) -> GeometryBody:
        model = self.model
        joint = model.moving_joint_names[i]
        kind = JointType(int(model.joint_type[i]))
        if kind is JointType.CONTINUOUS:
            kind = JointType.REVOLUTE
        moments = {m: self._entry(f"inertia:{link}.{m}") for m in MOMENTS}
        normal = np.eye(3) if kind is JointType.FLOATING else z_from(model.joint_axis[i])
        return GeometryBody(
            link=link,
            joint=joint,
            parent=int(model.parent[i]),
            kind=kind,
            rotation=exact_rotation(model.joint_rotation[i]),
            position=[self._entry(f"origin:{joint}.{axis}") for axis in AXES],
            normal=exact_rotation(normal),
            mass=self._entry(f"mass:{link}"),
            com=[self._entry(f"com:{link}.{axis}") for axis in AXES],
            inertia=[[moments["".join(sorted(a + b))] for b in AXES] for a in AXES],
            q=int(model.q_index[i]),
            multiplier=fraction_of(float(model.mimic_multiplier[i])),
            offset=fraction_of(float(model.mimic_offset[i])),
        )

    def _gravity(self) -> Vector:
        if "gravity" in self._symbols:
            value = self._parameters["gravity"][2]
            return [
                Parameter(self._symbols["gravity"], value, 1 if g > 0 else -1) if g else Fraction(0)
                for g in self.model.gravity.tolist()
            ]
        return [self._entry(f"gravity.{axis}") for axis in AXES]

    def _armature(self, dof: int) -> Entry:
        for name in self.model.joint_names:
            block = self.model.v_slice(name)
            if block.start <= dof < block.stop:
                parameter = (
                    f"armature:{name}" if block.stop - block.start == 1 else f"armature:{name}[{dof - block.start}]"
                )
                if parameter in self._parameters:
                    return self._entry(parameter)
        return fraction_of(float(self.model.armature[dof]))
