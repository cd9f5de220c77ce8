"""Linear models of a robot about a state, by analytic derivatives: d/dt [δq; δv] = A [δq; δv] + B
δτ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input, check_finite
from robot_dynamics_ros.dynamics.joint_space import bias_forces, forward_dynamics_derivatives
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.motors import DCMotor, MotorTable, add_rotors
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["linearize", "LinearModel"]


class LinearModel(NamedTuple):
    """dx/dt = A x + B u, or x₊ = A x + B u if discretized; A (..., nx, nx), B (..., nx, nu)."""

    A: Array
    B: Array


def linearize(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    external: Mapping[str, ArrayLike] | None = None,
    viscous: bool = False,
    inputs: Sequence[str] | None = None,
    motors: Mapping[str, DCMotor] | None = None,
) -> LinearModel:
    """A and B of the forward dynamics about (q, v, τ), with x = [δq; δv] and u = δτ.

    The nominal point need not be an equilibrium: the model is then that of deviations from the
    motion through it.  For a floating joint δq is the twist that leads from the nominal placement
    to the actual one (as ``rd.difference``), in the body's axes, which turn with the nominal
    motion.

    Args:
        q: (..., nq) configuration.
        v: (..., nv) velocity; rest if not given.
        tau: (..., nv) efforts; if not given, those at which the robot does not accelerate, without
            friction.
        external: link name → (..., 6) wrench, as everywhere; it keeps its components in the link's
            axes.
        viscous: include the joints' viscous friction ``model.damping``, which the simulator has.
        inputs: joints that are driven, in the order of u; all if not given.
        motors: joint → DC motor.  u is then the voltage there; x gets the currents of motors with
            inductance in joint order, x = [δq; δv; δi]; rotor inertia is added; the nominal
            currents are those that give ``tau``.

    Returns:
        (A, B), A (..., 2 nv + ni, 2 nv + ni), B (..., 2 nv + ni, nu).

    Raises:
        ArgumentError: wrong shapes, numbers that are not finite, a joint named twice.
        UnknownNameError: the robot has no such joint or link.

    >>> import robot_dynamics_ros as rd
    >>> A, B = rd.linearize(rd.limb(2), [0.0, 0.0])
    >>> A.shape, B.shape
    ((4, 4), (4, 2))

    Source: Carpentier and Mansard (2018).
    """
    columns = _columns(model, inputs)
    q = as_input(q, (model.nq,), "q")
    v = as_input(np.zeros(model.nv) if v is None else v, (model.nv,), "v")
    if motors:
        table = MotorTable(model, motors)
        model = add_rotors(model, motors)
    n = model.nv
    damping = model.damping if viscous else np.zeros(model.nv)
    if tau is None:
        free = bias_forces(model, q, v, external=external)
    else:
        free = as_input(tau, (n,), "tau") - damping * v
    check_finite(q=q, v=v, tau=free)
    by_q, by_v, inverse = forward_dynamics_derivatives(model, q, v, free, external=external)
    lead = np.broadcast_shapes(inverse.shape[:-2], by_q.shape[:-2], v.shape[:-1])
    A = np.zeros((*lead, 2 * n, 2 * n))
    B = np.zeros((*lead, 2 * n, n))
    A[..., :n, n:] = np.eye(n)
    for name in model.joint_names:
        if model.joint(name).type is JointType.FLOATING:
            block = model.v_slice(name)
            A[..., block, block] = -_twist_matrix(v[..., block])
    A[..., n:, :n] = by_q
    A[..., n:, n:] = by_v - inverse * damping
    B[..., n:, :] = inverse
    if motors:
        A, B = _with_motors(A, B, table)
    return LinearModel(A, np.ascontiguousarray(B[..., columns]))


def _columns(model: RobotModel, inputs: Sequence[str] | None) -> list[int]:
    columns: list[int] = []
    if inputs is None:
        inputs = model.joint_names
    elif isinstance(inputs, str):
        inputs = (inputs,)
    else:
        inputs = inputs
    for name in inputs:
        check_name("joint", name, model.joint_names, where="inputs")
        block = model.v_slice(name)
        if block.start in columns:
            where = f"inputs, joint {name!r}"
            remedy = "Name each place once."
            raise ArgumentError("is named twice", where=where, got=list(inputs), remedy=remedy)
        columns += range(block.start, block.stop)
    return columns


def _twist_matrix(v: Array) -> Array:
    """(..., 6, 6) v × for twists v = [ω; u]."""
    out = np.zeros((*v.shape[:-1], 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = np.cross(np.eye(3), v[..., None, :3])
    out[..., 3:, :3] = np.cross(np.eye(3), v[..., None, 3:])
    return out


def _with_motors(A: Array, B: Array, table: MotorTable) -> tuple[Array, Array]:
    """Voltages in place of efforts, and currents among the states."""
    n = B.shape[-1]
    slow = np.flatnonzero(~table.instant)
    size = 2 * n + len(slow)
    bigger = np.zeros((*A.shape[:-2], size, size))
    driven = np.zeros((*B.shape[:-2], size, n))
    bigger[..., : 2 * n, : 2 * n] = A
    driven[..., : 2 * n, :] = B
    for k, dof in enumerate(table.index):
        effort = B[..., :, dof]
        if table.instant[k]:
            gain = table.kt[k] / table.R[k]
            bigger[..., : 2 * n, n + dof] -= effort * gain * table.ke[k]
            driven[..., : 2 * n, dof] = effort * gain
            continue
        row = 2 * n + int(np.flatnonzero(slow == k)[0])
        bigger[..., : 2 * n, row] = effort * table.kt[k]
        bigger[..., row, row] = -table.R[k] / table.L[k]
        bigger[..., row, n + dof] = -table.ke[k] / table.L[k]
        driven[..., :, dof] = 0.0
        driven[..., row, dof] = 1.0 / table.L[k]
    return bigger, driven
