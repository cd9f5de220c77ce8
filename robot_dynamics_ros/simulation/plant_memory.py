"""The memory that the plant's routines work on: state, parameters of all that acts on the robot, and working space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.constraints import Constraints
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import MotorTable
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates
from robot_dynamics_ros.simulation.effects.contact import GroundContact
from robot_dynamics_ros.simulation.effects.friction import FrictionTable
from robot_dynamics_ros.simulation.effects.limits import RigidStopTable
from robot_dynamics_ros.simulation.integrators.momentum import COTH, TANH
from robot_dynamics_ros.simulation.integrators.timestepping import PlantMemory


@dataclass(frozen=True, eq=False)
class Effects:
    """Everything that acts on a robot.

    Attributes:
        friction, motors: at its joints; springs: the same, by name in the memory.
        rigid_stops, stops: at its position limits; the latter compliant ones, by name in the memory.
        contacts: with the ground.
        user_effort: ``callable(t, q, v) -> (nv,)``.
        constraints: closed loops; only time stepping by the midpoint rule keeps them.
        limits: (lower, upper, velocity, effort), (nv,) each, of the command limiter; ``None`` for no limiter.
    """

    friction: FrictionTable
    rigid_stops: RigidStopTable
    motors: MotorTable | None = None
    springs: Mapping[str, Array] | None = None
    stops: Mapping[str, Array] | None = None
    contacts: Sequence[GroundContact] = ()
    user_effort: Callable[[float, Array, Array], Array] | None = None
    constraints: Constraints | None = None
    limits: tuple[Array, Array, Array, Array] | None = None

    @property
    def rows(self) -> int:
        """Of the constraints."""
        return 0 if self.constraints is None else self.constraints.rows


def plant_kernels(model: RobotModel, effects: Effects, midpoint: bool) -> dict[str, Evaluator | tuple[Evaluator, ...]]:
    """The functions of the robot that the routines call."""
    kernels: dict[str, Evaluator | tuple[Evaluator, ...]] = {"mass_matrix": evaluator(model, "mass_matrix")}
    if midpoint and not effects.rows:
        kernels["generalized_momentum"] = evaluator(model, "generalized_momentum")
        kernels["external_efforts"] = evaluator(model, "external_efforts", (("external", True),))
    else:
        kernels["bias_forces"] = evaluator(model, "bias_forces", (("external", True),))
    if effects.contacts:
        links = [model.link_index(contact.link) for contact in effects.contacts]
        kernels["link_pose"] = tuple(evaluator(model, "link_pose", (("link", k),)) for k in links)
        kernels["link_jacobian"] = tuple(evaluator(model, "jacobian", (("frame", "world"), ("link", k))) for k in links)
    if effects.constraints is not None and effects.rows:
        kernels["constraint_terms"] = evaluator(
            model, "constraint_terms", (("constraints", effects.constraints.specs),)
        )
    return kernels


def plant_memory(
    coordinates: Coordinates,
    effects: Effects,
    kernels: dict[str, Evaluator | tuple[Evaluator, ...]],
    *,
    midpoint: bool,
    compiled: bool,
) -> Memory[PlantMemory]:
    """The memory of one plant, filled with its parameters."""
    model, floating, rows = coordinates.model, coordinates.floating, effects.rows
    nz, nc = 0 if effects.motors is None else len(effects.motors), len(effects.contacts)
    constants = {
        "nq": model.nq,
        "nv": model.nv,
        "motors": nz,
        "contacts": nc,
        "floating": len(floating),
        "midpoint": midpoint,
        "in_momenta": midpoint and not rows,
        "limiter": effects.limits is not None,
        "has_motors": nz > 0,
        "has_contacts": nc > 0,
        "has_floating": bool(floating),
        "has_springs": effects.springs is not None,
        "has_compliant_stops": effects.stops is not None,
        "has_rigid_stops": effects.rigid_stops.any,
        "couples": (couples := len(effects.friction.turns)),
        "by_impulse": rows + couples > 0,
        "has_loops": rows > 0,
        "rows": rows,
        "bodies": model.nb,
    }
    memory = Memory(PlantMemory, constants, kernels, compiled=compiled)
    _fill(memory, coordinates, effects)
    return memory


def _fill(memory: Memory[PlantMemory], coordinates: Coordinates, effects: Effects) -> None:
    def put(**values: ArrayLike) -> None:
        for name, value in values.items():
            memory[name][...] = value

    put(q_of_v=coordinates.q_of_v, substeps=1, max_speed=np.inf, couple=effects.friction.turns)
    if coordinates.floating:
        put(coth=COTH, tanh=TANH)
        put(floating_q=[iq for iq, _ in coordinates.floating], floating_v=[iv for _, iv in coordinates.floating])
    stops, limits = effects.rigid_stops, effects.limits
    put(lower=stops.lower, upper=stops.upper, tolerance=stops.tolerance)
    put(restitution=stops.restitution, rest_velocity=stops.rest_velocity)
    if limits is not None:
        put(limit_lower=limits[0], limit_upper=limits[1], velocity_limit=limits[2], effort_limit=limits[3])
    put(**(effects.springs or {}), **(effects.stops or {}))
    if (m := effects.motors) is not None:
        put(motor_index=m.index, motor_R=m.R, motor_L=m.L, motor_kt=m.kt, motor_ke=m.ke)
        put(max_voltage=m.max_voltage, max_current=m.max_current)
    for k, g in enumerate(effects.contacts):
        memory["contact_offset"][k], memory["contact_normal"][k] = g.offset, g.plane_normal
        memory["contact_plane"][k] = g.plane_point
        for word in ("radius", "stiffness", "exponent", "dissipation", "friction", "slip_velocity"):
            memory[f"contact_{word}"][k] = getattr(g, word)
