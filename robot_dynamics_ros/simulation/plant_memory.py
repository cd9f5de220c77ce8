"""The memory that the plant's routines work on: state, parameters of all that acts on the robot, and working space."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import MotorTable
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates
from robot_dynamics_ros.simulation.effects.friction import FrictionTable
from robot_dynamics_ros.simulation.effects.limits import CompliantStops, stop_parameters
from robot_dynamics_ros.simulation.integrators.momentum import COTH, TANH
from robot_dynamics_ros.simulation.integrators.timestepping import PlantMemory
from robot_dynamics_ros.simulation.plant_options import PlantOptions

PlantKernels = dict[str, Evaluator | tuple[Evaluator, ...]]


def plant_kernels(model: RobotModel, o: PlantOptions, midpoint: bool) -> PlantKernels:
    """The functions of the robot that the routines call."""
    kernels: PlantKernels = {"mass_matrix": evaluator(model, "mass_matrix")}
    loops = o.constraints is not None and o.constraints.rows > 0
    if midpoint and not loops:
        kernels["generalized_momentum"] = evaluator(model, "generalized_momentum")
        kernels["external_efforts"] = evaluator(model, "external_efforts", (("external", True),))
    else:
        kernels["bias_forces"] = evaluator(model, "bias_forces", (("external", True),))
    if o.contacts:
        links = [model.link_index(contact.link) for contact in o.contacts]
        kernels["link_pose"] = tuple(evaluator(model, "link_pose", (("link", k),)) for k in links)
        kernels["link_jacobian"] = tuple(evaluator(model, "jacobian", (("frame", "world"), ("link", k))) for k in links)
    if loops:
        assert o.constraints is not None
        kernels["constraint_terms"] = evaluator(model, "constraint_terms", (("constraints", o.constraints.specs),))
    return kernels


def plant_memory(
    coordinates: Coordinates,
    o: PlantOptions,
    kernels: PlantKernels,
    friction: FrictionTable,
    motors: MotorTable | None,
    bounds: tuple[Array, Array],
    drives: tuple[Array, Array, Array, Array] | None,
    *,
    midpoint: bool,
    compiled: bool,
) -> Memory[PlantMemory]:
    """The memory of one plant, filled with its parameters.

    Args:
        bounds: (nv,), (nv,) position limits.
        drives: lower, upper, velocity and effort limits, (nv,) each, of the command limiter; ``None`` for no limiter.
    """
    model, floating = coordinates.model, coordinates.floating
    rows = 0 if o.constraints is None else o.constraints.rows
    couples = len(friction.couple)
    values: dict[str, Any] = dict(stop_parameters(o.stops, model, *bounds))
    constants = {"nq": model.nq, "nv": model.nv, "bodies": model.nb, "rows": rows, "couples": couples}
    counts = {"motors": 0 if motors is None else len(motors), "contacts": len(o.contacts), "floating": len(floating)}
    constants |= counts | {f"has_{word}": count > 0 for word, count in counts.items()}
    constants |= {"midpoint": midpoint, "in_momenta": midpoint and not rows, "limiter": drives is not None}
    constants |= {"has_springs": o.springs is not None, "has_compliant_stops": isinstance(o.stops, CompliantStops)}
    constants |= {"has_rigid_stops": bool(np.isfinite([values["lower"], values["upper"]]).any())}
    constants |= {"by_impulse": rows + couples > 0, "has_loops": rows > 0}
    memory = Memory(PlantMemory, constants, kernels, compiled=compiled)
    values |= {"q_of_v": coordinates.q_of_v, "substeps": 1, "max_speed": np.inf, "couple": friction.couple}
    if floating:
        values |= {"coth": COTH, "tanh": TANH}
        values |= {"floating_q": [iq for iq, _ in floating], "floating_v": [iv for _, iv in floating]}
    if drives is not None:
        values |= dict(zip(("limit_lower", "limit_upper", "velocity_limit", "effort_limit"), drives, strict=True))
    if o.springs is not None:
        values |= o.springs.parameters(model, coordinates)
    if motors is not None:
        values |= {"motor_index": motors.index, "motor_R": motors.R, "motor_L": motors.L, "motor_kt": motors.kt}
        values |= {"motor_ke": motors.ke, "max_voltage": motors.max_voltage, "max_current": motors.max_current}
    if o.contacts:
        for word in ("offset", "radius", "stiffness", "exponent", "dissipation", "friction", "slip_velocity"):
            values[f"contact_{word}"] = [getattr(contact, word) for contact in o.contacts]
        values["contact_normal"] = [contact.plane_normal for contact in o.contacts]
        values["contact_plane"] = [contact.plane_point for contact in o.contacts]
    for name, value in values.items():
        memory[name][...] = value
    return memory
