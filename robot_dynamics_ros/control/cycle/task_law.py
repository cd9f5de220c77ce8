"""Cartesian impedance as a routine: what :mod:`~robot_dynamics_ros.control.laws.task_space` states
on arrays, in machine code.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from robot_dynamics_ros.control.cycle.halves import halves_in_frame, halves_in_world
from robot_dynamics_ros.control.cycle.law import friction_of
from robot_dynamics_ros.control.cycle.memory import FrictionMemory, bound
from robot_dynamics_ros.dynamics.complementarity import (
    ComplementarityMemory,
    factor_mass,
    solve_mass,
)
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.routines import (
    Integers,
    Kernel,
    Matrix,
    Memory,
    Vector,
    integers,
    kernel,
    make_routines,
    numbers,
    row,
)
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# m: weighs translations against rotations
SINGULAR_LENGTH = 0.3
# directions below this share of the largest eigenvalue fade out
SINGULAR_SHARE = 1e-3
# sweeps over the pairs of rows: six rows need four or five
MOST_SWEEPS = 12
# share of the diagonal that is rounding
NEGLIGIBLE = 1e-30
# share of the largest stiffness below which one along another axis is rounding
NO_STIFFNESS = 1e-12


class TaskLawMemory(ComplementarityMemory, FrictionMemory):
    """One link's impedance: settings, and what one evaluation works on."""

    nv: int
    stiffness: Vector = numbers(36, unit="N m/rad, N/m", meaning="matrix, row after row")
    damped: Vector = numbers(36, unit="N m s/rad, N s/m", meaning="damping where it is given")
    ratio: Vector = numbers(6, meaning="damping ratio about and along the six axes")
    damping_given: Integers = integers(1, meaning="1 if damping is given, else the ratio counts")
    principal: Matrix = numbers(6, 6, meaning="principal axes of the stiffness, a row each")
    principal_stiffness: Vector = numbers(6, unit="N m/rad, N/m", meaning="along these axes")
    principal_ratio: Vector = numbers(6, meaning="damping ratio along these axes")
    posture_stiffness: Vector = numbers("nv", unit="N m/rad or N/m", meaning="in the null space")
    posture_damping: Vector = numbers("nv", unit="N m s/rad or N s/m", meaning="in the null space")
    held: Matrix = numbers(4, 4, meaning="pose to be held, where one is given")
    holds: Integers = integers(1, meaning="1 if a pose is given, else the reference's counts")
    in_tool_axes: Integers = integers(1, meaning="1 if stiffness and damping are in tool axes")
    largest_gap: Vector = numbers(2, unit="rad, m", meaning="errors are shortened to this")
    friction_at_reference: Integers = integers(1, meaning="1 if friction is for desired speeds")
    origin: Vector = numbers(3, unit="m", meaning="the link's own point")
    pose: Matrix = numbers(4, 4, meaning="of the link")
    pose_desired: Matrix = numbers(4, 4, meaning="of the link at the reference")
    J: Matrix = numbers(6, "nv", meaning="Jacobian of the link")
    J_desired: Matrix = numbers(6, "nv", meaning="the same at the reference")
    Y: Matrix = numbers(6, "nv", meaning="inverse mass matrix times the rows of J, transposed")
    gap: Vector = numbers(6, unit="rad, m", meaning="error of the pose")
    gap_rate: Vector = numbers(6, unit="rad/s, m/s", meaning="error of the twist")
    stretch: Vector = numbers(6, unit="rad, m", meaning="the same error in axes of the stiffness")
    stretch_rate: Vector = numbers(6, unit="rad/s, m/s", meaning="its rate there")
    pull: Vector = numbers(6, unit="N m, N", meaning="wrench in axes of the stiffness")
    force: Vector = numbers(6, unit="N m, N", meaning="wrench of springs and dampers")
    posture: Vector = numbers("nv", unit="N m or N", meaning="efforts of the posture")
    weight: Vector = numbers(6, meaning="of the rows of J: rotations 1, translations 1 / length")
    S: Vector = numbers(36, meaning="weighted J Jᵀ, row after row, diagonal in the end")
    V: Vector = numbers(36, meaning="its eigenvectors, a column each")
    mobility: Vector = numbers(36, meaning="weighted J M⁻¹ Jᵀ")
    inertia: Vector = numbers(36, meaning="Λ")
    P: Vector = numbers(36, meaning="projection on directions that the link can move in")
    B: Vector = numbers(36, meaning="matrix to be inverted")
    kept: Vector = numbers(6, meaning="share of each eigenvector that is kept")
    column: Vector = numbers(6, meaning="work of a solution")
    motion: Vector = numbers("nv", unit="N m or N", meaning="inverse dynamics of the reference")
    link_pose: Kernel = kernel("q", "out pose")
    link_jacobian: Kernel = kernel("q", "origin", "out J")
    mass_matrix: Kernel = kernel("q", "out M")
    inverse_dynamics: Kernel = kernel("q", "v", "a", "out motion")


def evaluate_task_law(
    p: TaskLawMemory, q: Vector, v: Vector, reference: Matrix, error: Matrix, effort: Vector
) -> None:
    """``effort`` of the impedance for a state, a reference (3, n) and its error (2, n)."""
    p.link_pose(q, p.pose)
    p.link_jacobian(q, p.origin, p.J)
    find_gap(p, v, reference)
    p.mass_matrix(q, p.M)
    find_task_inertia(p)
    find_force(p)
    for i in range(p.nv):
        p.posture[i] = p.posture_stiffness[i] * error[0, i] + p.posture_damping[i] * error[1, i]
    # what of the posture would accelerate the link
    for k in range(6):
        p.column[k] = 0.0
        for i in range(p.nv):
            p.column[k] = p.column[k] + p.Y[k, i] * p.posture[i]
    for k in range(6):
        for m in range(6):
            p.force[k] = p.force[k] - p.inertia[6 * k + m] * p.column[m]
    p.inverse_dynamics(q, v, row(reference, 2), p.motion)
    for i in range(p.nv):
        p.v[i] = v[i]
        if p.friction_at_reference[0] == 1:
            p.v[i] = reference[1, i]
    for i in range(p.nv):
        total = p.posture[i] + p.motion[i]
        for k in range(6):
            total = total + p.J[k, i] * p.force[k]
        if p.rubs[0] == 1:
            total = total + friction_of(p, i)
        effort[i] = total


def find_gap(p: TaskLawMemory, v: Vector, reference: Matrix) -> None:
    """``gap``, ``gap_rate``: from the link's pose and twist to the desired ones."""
    for k in range(6):
        p.gap_rate[k] = 0.0
        for i in range(p.nv):
            p.gap_rate[k] = p.gap_rate[k] - p.J[k, i] * v[i]
    if p.holds[0] == 1:
        for k in range(3):
            for m in range(4):
                p.pose_desired[k, m] = p.held[k, m]
    else:
        p.link_pose(row(reference, 0), p.pose_desired)
        p.link_jacobian(row(reference, 0), p.origin, p.J_desired)
        for k in range(6):
            for i in range(p.nv):
                p.gap_rate[k] = p.gap_rate[k] + p.J_desired[k, i] * reference[1, i]
    find_rotation(p)
    for k in range(3):
        p.gap[3 + k] = p.pose_desired[k, 3] - p.pose[k, 3]
    for part in range(2):
        first = 3 * part
        square = 0.0
        for k in range(first, first + 3):
            square = square + p.gap[k] * p.gap[k]
        length = sqrt(square)
        if length > p.largest_gap[part]:
            for k in range(first, first + 3):
                p.gap[k] = p.gap[k] * (p.largest_gap[part] / length)


def turned(p: TaskLawMemory, i: int, j: int) -> float:
    """Entry of the rotation from the link to its desired pose, in world axes."""
    return (
        p.pose_desired[i, 0] * p.pose[j, 0]
        + p.pose_desired[i, 1] * p.pose[j, 1]
        + p.pose_desired[i, 2] * p.pose[j, 2]
    )


def find_rotation(p: TaskLawMemory) -> None:
    """2 sin(θ/2) u of the rotation, in the first three of ``gap``."""
    cosine = 0.5 * (turned(p, 0, 0) + turned(p, 1, 1) + turned(p, 2, 2) - 1.0)
    p.gap[0] = turned(p, 2, 1) - turned(p, 1, 2)
    p.gap[1] = turned(p, 0, 2) - turned(p, 2, 0)
    p.gap[2] = turned(p, 1, 0) - turned(p, 0, 1)
    if cosine > -0.999:
        for k in range(3):
            p.gap[k] = p.gap[k] / sqrt(2.0 * (1.0 + cosine))
        return
    # near half a turn the axis comes from the symmetric part
    best = 0
    for k in range(1, 3):
        if turned(p, k, k) > turned(p, best, best):
            best = k
    square = 0.0
    along = 0.0
    for k in range(3):
        p.column[k] = 0.5 * (turned(p, k, best) + turned(p, best, k))
        if k == best:
            p.column[k] = p.column[k] - cosine
        square = square + p.column[k] * p.column[k]
        along = along + p.column[k] * p.gap[k]
    size = sqrt(max(0.0, 2.0 * (1.0 - cosine))) / sqrt(square)
    if along < 0.0:
        size = -size
    for k in range(3):
        p.gap[k] = size * p.column[k]


def find_force(p: TaskLawMemory) -> None:
    """``force`` of springs and dampers, in world axes."""
    in_tool = p.in_tool_axes[0]
    halves_in_frame(in_tool, row(p.pose, 0), row(p.pose, 1), row(p.pose, 2), p.gap, p.stretch)
    halves_in_frame(
        in_tool, row(p.pose, 0), row(p.pose, 1), row(p.pose, 2), p.gap_rate, p.stretch_rate
    )
    for k in range(6):
        p.pull[k] = 0.0
        for m in range(6):
            p.pull[k] = (
                p.pull[k]
                + p.stiffness[6 * k + m] * p.stretch[m]
                + p.damped[6 * k + m] * p.stretch_rate[m]
            )
    if p.damping_given[0] == 0:
        for i in range(6):
            damp_along(p, row(p.principal, i), p.principal_stiffness[i], p.principal_ratio[i])
    halves_in_world(in_tool, row(p.pose, 0), row(p.pose, 1), row(p.pose, 2), p.pull, p.force)


def damp_along(p: TaskLawMemory, axis: Vector, stiffness: float, ratio: float) -> None:
    """Add the damper along one principal axis of the stiffness to ``pull``."""
    halves_in_world(
        p.in_tool_axes[0], row(p.pose, 0), row(p.pose, 1), row(p.pose, 2), axis, p.column
    )
    inertia = 0.0
    rate = 0.0
    for k in range(6):
        rate = rate + axis[k] * p.stretch_rate[k]
        for m in range(6):
            inertia = inertia + p.column[k] * p.inertia[6 * k + m] * p.column[m]
    size = 2.0 * ratio * sqrt(stiffness * max(inertia, 0.0)) * rate
    for k in range(6):
        p.pull[k] = p.pull[k] + size * axis[k]


def find_task_inertia(p: TaskLawMemory) -> None:
    """``inertia``: (J M⁻¹ Jᵀ)⁻¹ without the directions that the link cannot move in, which fade
    out; ``M`` is the mass matrix.
    """
    solved = factor_mass(p)
    for k in range(6):
        for i in range(p.nv):
            p.Y[k, i] = p.J[k, i]
        if solved == 1:
            solve_mass(p, p.nv, row(p.Y, k))
    for k in range(6):
        for m in range(6):
            square = 0.0
            mobile = 0.0
            for i in range(p.nv):
                square = square + p.J[k, i] * p.J[m, i]
                mobile = mobile + 0.5 * (p.J[k, i] * p.Y[m, i] + p.J[m, i] * p.Y[k, i])
            weight = p.weight[k] * p.weight[m]
            p.S[6 * k + m] = weight * square
            p.mobility[6 * k + m] = weight * mobile
            p.inertia[6 * k + m] = 0.0
    find_eigenvectors(p)
    largest = 0.0
    for k in range(6):
        largest = max(largest, p.S[6 * k + k])
    if not largest > 0.0:
        return
    whole = True
    for k in range(6):
        x = min(max(p.S[6 * k + k] / (SINGULAR_SHARE * largest), 0.0), 1.0)
        p.kept[k] = x * x * (3.0 - 2.0 * x)
        whole = whole and x == 1.0
    trace = 0.0
    for k in range(6):
        trace = trace + p.mobility[6 * k + k] / 6.0
    for k in range(6):
        for m in range(6):
            p.B[6 * k + m] = p.mobility[6 * k + m]
    if not whole:
        project(p, trace)
    invert_part(p)
    if not whole:
        # P B⁻¹ P
        multiply(p, p.P, p.inertia, p.B)
        multiply(p, p.B, p.P, p.inertia)
    for k in range(6):
        for m in range(6):
            p.inertia[6 * k + m] = p.inertia[6 * k + m] * p.weight[k] * p.weight[m]


def multiply(p: TaskLawMemory, a: Vector, b: Vector, out: Vector) -> None:
    """The product of two (6, 6) matrices, row after row."""
    for k in range(6):
        for m in range(6):
            total = 0.0
            for j in range(6):
                total = total + a[6 * k + j] * b[6 * j + m]
            out[6 * k + m] = total


def project(p: TaskLawMemory, filler: float) -> None:
    """``P`` on the kept directions, and ``B`` = P B P, with a filler in the others."""
    for k in range(6):
        for m in range(6):
            total = 0.0
            for j in range(6):
                total = total + p.V[6 * k + j] * p.kept[j] * p.V[6 * m + j]
            p.P[6 * k + m] = total
    multiply(p, p.P, p.B, p.inertia)
    multiply(p, p.inertia, p.P, p.B)
    for k in range(6):
        for m in range(6):
            total = 0.0
            for j in range(6):
                total = total + p.V[6 * k + j] * (1.0 - p.kept[j] * p.kept[j]) * p.V[6 * m + j]
            p.B[6 * k + m] = p.B[6 * k + m] + filler * total


def invert_part(p: TaskLawMemory) -> None:
    """``inertia``: the inverse of ``B``, which is symmetric and positive definite, by Gauss and
    Jordan.
    """
    for k in range(6):
        for m in range(6):
            p.inertia[6 * k + m] = 0.0
        p.inertia[6 * k + k] = 1.0
    for k in range(6):
        if not p.B[6 * k + k] > 0.0:
            return
        scale = 1.0 / p.B[6 * k + k]
        for m in range(6):
            p.B[6 * k + m] = p.B[6 * k + m] * scale
            p.inertia[6 * k + m] = p.inertia[6 * k + m] * scale
        for j in range(6):
            if j != k:
                factor = p.B[6 * j + k]
                for m in range(6):
                    p.B[6 * j + m] = p.B[6 * j + m] - factor * p.B[6 * k + m]
                    p.inertia[6 * j + m] = p.inertia[6 * j + m] - factor * p.inertia[6 * k + m]


def find_eigenvectors(p: TaskLawMemory) -> None:
    """Eigenvalues of ``S`` on its diagonal, eigenvectors in ``V``: Jacobi's rotations.

    Source: Golub and Van Loan, Matrix Computations, section 8.5 (cyclic Jacobi).
    """
    for k in range(6):
        for m in range(6):
            p.V[6 * k + m] = 0.0
        p.V[6 * k + k] = 1.0
    for _ in range(MOST_SWEEPS):
        off = 0.0
        size = 0.0
        for k in range(6):
            size = size + p.S[6 * k + k] * p.S[6 * k + k]
            for m in range(k):
                off = off + p.S[6 * k + m] * p.S[6 * k + m]
        if off <= NEGLIGIBLE * size:
            break
        for k in range(5):
            for m in range(k + 1, 6):
                rotate_pair(p, k, m)


def rotate_pair(p: TaskLawMemory, k: int, m: int) -> None:
    """Make one entry of ``S`` zero."""
    entry = p.S[6 * k + m]
    if entry == 0.0:
        return
    theta = 0.5 * (p.S[6 * m + m] - p.S[6 * k + k]) / entry
    t = 1.0 / (abs(theta) + sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / sqrt(t * t + 1.0)
    s = t * c
    for j in range(6):
        a = p.S[6 * j + k]
        b = p.S[6 * j + m]
        p.S[6 * j + k] = c * a - s * b
        p.S[6 * j + m] = s * a + c * b
    for j in range(6):
        a = p.S[6 * k + j]
        b = p.S[6 * m + j]
        p.S[6 * k + j] = c * a - s * b
        p.S[6 * m + j] = s * a + c * b
    for j in range(6):
        a = p.V[6 * j + k]
        b = p.V[6 * j + m]
        p.V[6 * j + k] = c * a - s * b
        p.V[6 * j + m] = s * a + c * b


def take_stiffness(p: TaskLawMemory) -> None:
    """Principal axes of ``stiffness``, and the damping ratio along them: the mean of ``ratio``,
    weighted with the squares of the axis.
    """
    for k in range(36):
        p.S[k] = p.stiffness[k]
    find_eigenvectors(p)
    largest = 0.0
    for k in range(6):
        largest = max(largest, p.S[6 * k + k])
    for k in range(6):
        p.principal_stiffness[k] = 0.0
        if p.S[6 * k + k] > NO_STIFFNESS * largest:
            p.principal_stiffness[k] = p.S[6 * k + k]
        p.principal_ratio[k] = 0.0
        for m in range(6):
            along = p.V[6 * m + k]
            p.principal[k, m] = along
            p.principal_ratio[k] = p.principal_ratio[k] + p.ratio[m] * along * along


TASK_LAW_ROUTINES = (evaluate_task_law, take_stiffness)


def as_matrix(gains: Array) -> Array:
    """(6, 6) from the diagonal (6,) or the matrix itself."""
    return gains if gains.ndim == 2 else np.diag(gains)


def principal_axes(stiffness: Array) -> tuple[Array, Array]:
    """(6,) stiffness along each principal axis, and (6, 6) these axes, a column each."""
    if stiffness.ndim == 1:
        return stiffness, np.eye(6)
    k, axes = np.linalg.eigh(stiffness)
    return np.where(k > NO_STIFFNESS * k.max(), k, 0.0), axes


# -- the routine of one link -----------------------------------------------------------------------


class TaskLawRoutine:
    """Evaluates the impedance of one link of a robot, payload included; ``compiled``: whether in
    machine code, as far as the robot's functions are.
    """

    def __init__(self, model: RobotModel, link: str, *, compiled: bool = True) -> None:
        number = model.link_index(link)
        functions = {
            "link_pose": evaluator(model, "link_pose", (("link", number),)),
            "link_jacobian": evaluator(model, "jacobian", (("frame", "world"), ("link", number))),
            "mass_matrix": evaluator(model, "mass_matrix"),
            "inverse_dynamics": evaluator(model, "inverse_dynamics"),
        }
        able = all(hasattr(x.engine, "callee") for x in functions.values())
        self.compiled = compiled and able
        sizes = {"nv": model.nv, "rows": 0, "couples": 0, "by_impulse": False}
        self.memory = Memory(TaskLawMemory, sizes, functions, compiled=self.compiled)
        self.memory["weight"][:] = [1.0] * 3 + [1.0 / SINGULAR_LENGTH] * 3
        self.routines = make_routines(self.memory, TASK_LAW_ROUTINES, compiled=self.compiled)
        self._law: object = None
        self._arrays: tuple[Array, ...] = ()
        self._run: Any = None

    def load(self, law: Any) -> None:
        """Take the settings of a law over, if they are not in force."""
        if law is self._law:
            return
        self._law = law
        memory = self.memory
        memory["stiffness"][:] = as_matrix(law.stiffness).ravel()
        memory["damping_given"][0] = law.damping is not None
        memory["damped"][:] = 0.0 if law.damping is None else as_matrix(law.damping).ravel()
        memory["ratio"][:] = law.damping_ratio
        self.routines["take_stiffness"](memory)
        memory["posture_stiffness"][:] = law.posture_stiffness
        memory["posture_damping"][:] = law.posture_damping
        memory["holds"][0] = law.target is not None
        memory["held"][:] = np.eye(4) if law.target is None else law.target
        memory["in_tool_axes"][0] = law.axes == "tool"
        memory["largest_gap"][:] = law.largest_error
        memory["friction_at_reference"][0] = law.friction_at == "reference"
        friction: Friction | None = law.friction
        memory["rubs"][0] = friction is not None
        if friction is not None:
            memory["coupled"][0] = friction.coupling is not None
            memory["friction"].T[:] = friction.rows

    def __call__(self, law: Any, arrays: tuple[Array, ...]) -> None:
        """Evaluate a law: ``arrays`` are q, v, reference, error, and the efforts to be written."""
        self.load(law)
        if arrays is not self._arrays:
            self._arrays = arrays
            self._run = bound(self.memory, self.routines, evaluate_task_law, *arrays)
        self._run()
