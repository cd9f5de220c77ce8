"""Checks that the step is small enough: before the first step where that is possible, otherwise during the run."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.effects.limits import CompliantStops
from robot_dynamics_ros.simulation.integrators.methods import TIME_STEPPING, Integrator
from robot_dynamics_ros.simulation.system import JointSystem


def check_step(system: JointSystem, integrator: Integrator, y: Array, h: float) -> None:
    """Refuse a step outside the integrator's region of stability."""
    largest, joint = stable_step(system, integrator, y)
    if h >= largest:
        raise SimulationError(
            f"a step of {h:g} s is too large for the stiffness: there is a motion of rate "
            f"{integrator.stability_limit / largest:.4g} rad/s, which {integrator.name!r} can follow only with steps below "
            f"{largest:.3g} s",
            where=f"joint {joint!r}",
            got=h,
            remedy=f"Use at least {math.ceil(2.0 * h / largest)} times as many substeps, or an implicit integrator "
            "('semi_implicit_euler', 'moreau', 'rosenbrock' or 'radau').",
        )


def stable_step(system: JointSystem, integrator: Integrator, y: Array) -> tuple[float, str]:
    """The largest step within the integrator's region of stability, s, and the joint that sets it.

    The eigenvalues λ of ∂f/∂y at ``y`` (by differences) that are damped or oscillating must satisfy
    h |λ| < ``integrator.stability_limit``; compliant stops are assessed as if engaged.  Time stepping is assessed
    only for the user's own effort: springs, stops and damping it takes implicitly.
    """
    if math.isinf(integrator.stability_limit) or not system.nv:
        return math.inf, ""
    implicit = getattr(integrator, "name", "") in TIME_STEPPING
    if implicit and system.user_effort is None:
        return math.inf, ""
    system.set_modes()
    M = system.mass_matrix(np.ascontiguousarray(y[: system.nq]))
    if np.linalg.eigvalsh(M)[0] <= 0.0:
        problem = "the mass matrix is not positive definite"
        remedy = "Check masses, inertias and armatures for negative or missing values."
        raise SimulationError(problem, where=f"robot {system.model.name!r}", remedy=remedy)
    inverse = np.linalg.inv(M)
    stiffness, damping = _jacobians(system, y, implicit)
    matrices = [(stiffness, damping)]
    if isinstance(system.options.stops, CompliantStops) and not implicit:
        stops = system.memory
        guarded = np.isfinite(stops["stop_lower"]) | np.isfinite(stops["stop_upper"])
        matrices.append(
            (stiffness + np.diag(guarded * stops["stop_stiffness"]), damping + np.diag(guarded * stops["stop_damping"]))
        )
    nv, fastest, joint = system.nv, 0.0, ""
    for K, D in matrices:
        A = np.block([[np.zeros((nv, nv)), np.eye(nv)], [-inverse @ K, -inverse @ D]])
        values, vectors = np.linalg.eig(A)
        size = np.abs(values)
        size[values.real > 0.1 * size] = 0.0  # unstable by nature, as a pendulum upside down
        worst = int(np.argmax(size))
        if size[worst] > fastest:
            fastest = float(size[worst])
            # not where the motion is largest, but where the stiffness does its work: a light link follows a stiff one
            speed = vectors[nv:, worst]
            power = np.abs((K @ vectors[:nv, worst] + D @ speed) * speed)
            joint = system.coordinates.names[int(np.argmax(power))]
    return (integrator.stability_limit / fastest if fastest > 0.0 else math.inf), joint


def _jacobians(system: JointSystem, y: Array, only_user: bool) -> tuple[Array, Array]:
    """−∂τ/∂q and −∂τ/∂v of the applied effort, (nv, nv) each, by differences along tangents."""
    nv = system.nv
    q, v, z = (np.ascontiguousarray(part) for part in system.split(y))

    def effort(position: Array, speed: Array) -> Array:
        if only_user:
            return system.given_effort(0.0, position, speed)
        return system.applied_effort(0.0, position, speed, z)

    tau = effort(q, v)
    K, D = np.empty((nv, nv)), np.empty((nv, nv))
    moved = np.empty(system.nq)
    for j in range(nv):
        delta = np.zeros(nv)
        delta[j] = 1e-7
        system.integrate(q, delta, moved)
        K[:, j] = (tau - effort(moved, v)) / 1e-7
        D[:, j] = (tau - effort(q, v + delta)) / 1e-7
    return K, D
