"""The memory that the plant's routines work on: state, parameters of all that acts on the robot, and working space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.simulation.integrators.momentum import COTH, TANH
from robot_dynamics_ros.simulation.integrators.timestepping import PlantMemory

if TYPE_CHECKING:
    from robot_dynamics_ros.simulation.system import JointSystem

__all__ = ["plant_kernels", "plant_memory"]


def plant_kernels(system: JointSystem, midpoint: bool) -> dict[str, Evaluator | tuple[Evaluator, ...]]:
    """The functions of the robot that the routines call."""
    model = system.model
    kernels: dict[str, Any] = {"mass_matrix": evaluator(model, "mass_matrix")}
    if midpoint and not _rows(system):
        kernels["generalized_momentum"] = evaluator(model, "generalized_momentum")
        kernels["external_efforts"] = evaluator(model, "external_efforts", (("external", True),))
    else:
        kernels["bias_forces"] = evaluator(model, "bias_forces", (("external", True),))
    if system.contacts:
        links = [model.link_index(contact.link) for contact in system.contacts]
        kernels["link_pose"] = tuple(evaluator(model, "link_pose", (("link", k),)) for k in links)
        kernels["link_jacobian"] = tuple(evaluator(model, "jacobian", (("frame", "world"), ("link", k))) for k in links)
    if system.constraints is not None and _rows(system):
        kernels["constraint_terms"] = evaluator(model, "constraint_terms", (("constraints", system.constraints.specs),))
    return kernels


def _rows(system: JointSystem) -> int:
    return 0 if system.constraints is None else system.constraints.rows


def plant_memory(
    system: JointSystem, kernels: dict[str, Any], *, midpoint: bool, compiled: bool
) -> Memory[PlantMemory]:
    """The memory of one plant, filled with its parameters."""
    nq, nv, nz, nc = system.nq, system.nv, system.nz, len(system.contacts)
    floating = system.coordinates.floating
    rows = _rows(system)
    constants = {
        "nq": nq,
        "nv": nv,
        "motors": nz,
        "contacts": nc,
        "floating": len(floating),
        "midpoint": midpoint,
        "in_momenta": midpoint and not rows,
        "limiter": system.limits is not None,
        "has_motors": nz > 0,
        "has_contacts": nc > 0,
        "has_floating": bool(floating),
        "has_springs": system.springs is not None,
        "has_compliant_stops": system.stops is not None,
        "has_rigid_stops": system.rigid_stops.any,
        "has_loops": rows > 0,
        "rows": rows,
        "bodies": system.model.nb,
    }
    memory = Memory(PlantMemory, constants, kernels, compiled=compiled)
    _fill(memory, system)
    return memory


def _fill(memory: Memory[PlantMemory], system: JointSystem) -> None:
    def put(**values: Any) -> None:
        for name, value in values.items():
            memory[name][...] = value

    coordinates = system.coordinates
    put(q_of_v=coordinates.q_of_v, substeps=1, max_speed=np.inf)
    if coordinates.floating:
        put(coth=COTH, tanh=TANH)
        put(floating_q=[iq for iq, _ in coordinates.floating], floating_v=[iv for _, iv in coordinates.floating])
    stops, limits = system.rigid_stops, system.limits
    put(lower=stops.lower, upper=stops.upper, tolerance=stops.tolerance)
    put(restitution=stops.restitution, rest_velocity=stops.rest_velocity)
    if limits is not None:
        put(limit_lower=limits[0], limit_upper=limits[1], velocity_limit=limits[2], effort_limit=limits[3])
    if (s := system.springs) is not None:
        put(spring_p=s.p, spring_d=s.d, spring_rest=s.rest, spring_rate=s.rate, spring_constant=s.constant)
    if (c := system.stops) is not None:
        put(stop_lower=c.lower, stop_upper=c.upper, stop_stiffness=c.stiffness, stop_damping=c.damping)
    if (m := system.motors) is not None:
        put(motor_index=m.index, motor_R=m.R, motor_L=m.L, motor_kt=m.kt, motor_ke=m.ke)
        put(max_voltage=m.max_voltage, max_current=m.max_current)
    for k, g in enumerate(system.contacts):
        memory["contact_offset"][k], memory["contact_normal"][k] = g.offset, g.plane_normal
        memory["contact_plane"][k] = g.plane_point
        for word in ("radius", "stiffness", "exponent", "dissipation", "friction", "slip_velocity"):
            memory[f"contact_{word}"][k] = getattr(g, word)
