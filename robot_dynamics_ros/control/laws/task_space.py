"""Cartesian impedance of a link, and joint impedance in its null space."""

from __future__ import annotations

# ruff: noqa: RUF009  gain() is a dataclass field
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from robot_dynamics_ros.control.cycle.task_law import as_matrix, principal_axes
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws.base import Gain, Law, Workspace, gain
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array, Pose, frozen_array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

TASK_AXES = ("world", "tool")


@dataclass(frozen=True, eq=False)
class CartesianImpedance(Law):
    """τ = Jᵀ (K Δx + D Δẋ) + N (K₀ e + D₀ ė) + M(q) q̈_d + C q̇ + g + F.

    Δx = [rotation; translation] from the link's pose to its pose at the reference configuration (or
    to ``target``), in world axes; N = 1 − Jᵀ Λ J M⁻¹ with Λ = (J M⁻¹ Jᵀ)⁻¹ lets the posture springs
    act where they do not accelerate the link.  Jᵀ needs no inverse, so the law is safe in singular
    poses; directions in which the link cannot move are faded out of Λ there (:func:`task_inertia`).

    Attributes:
        link: the link held, by its origin.
        stiffness: (6,) N m/rad, then N/m, about and along world axes (one number: all six), or a
            symmetric matrix (6, 6), of which no eigenvalue is negative.
        damping: (6,) N m s/rad, then N s/m, or such a matrix; ``None``: 2 ζ √(Kᵢ Λᵢᵢ), of a matrix
            along each of its principal axes.
        damping_ratio: ζ, six or one; of a matrix their mean, weighted with the squares of the
            principal axis.
        posture_stiffness: N m/rad or N/m.
        posture_damping: N m s/rad or N s/m.
        axes: "world", or "tool": of stiffness and damping.
        largest_error: rotation in rad and way in m to which errors are shortened, so that a target
            far away pulls no harder; infinite: they are not.
        target: pose in the world, or its (4, 4) matrix, to hold instead of the reference's, or
            ``None``.
        friction, friction_at: as in :class:`ComputedTorque`.

    Source: Khatib, IEEE J. Robotics and Automation 3 (1987); Ott, Cartesian Impedance Control
    (2008), chapter 4.
    """

    name: ClassVar[str] = "cartesian_impedance"

    link: str = ""
    stiffness: Gain = gain((30.0, 30.0, 30.0, 600.0, 600.0, 600.0), size=6, matrix=True)
    damping: Gain = gain(None, size=6, optional=True, matrix=True)
    damping_ratio: Gain = gain(0.7, size=6)
    posture_stiffness: Gain = gain(5.0, parameter="p")
    posture_damping: Gain = gain(2.0, parameter="d")
    axes: str = "world"
    largest_error: tuple[float, float] = (np.inf, np.inf)
    target: Any = None
    friction: Friction | None = None
    friction_at: str = "reference"

    def __post_init__(self) -> None:
        super().__post_init__()
        remedy = "Choose whose axes stiffness and damping are along."
        expect(self.axes in TASK_AXES, f"one of {TASK_AXES}", self.axes, "axes", remedy)
        good = len(self.largest_error) == 2 and all(x > 0.0 for x in self.largest_error)
        kind = "two positive numbers, rad and m"
        expect(good, kind, self.largest_error, "largest_error")
        if self.target is not None:
            try:
                target = frozen_array(Pose.of(self.target).matrix(), (4, 4))
            except ArgumentError as error:
                raise ArgumentError(
                    error.problem, where="target", got=self.target, remedy=error.remedy
                ) from None
            object.__setattr__(self, "target", target)

    def check(self, model: RobotModel) -> Law:
        """See :meth:`Law.check`; also that the link exists."""
        model.link_index(self.link)
        return super().check(model)

    def prepare(self, kernels: Kernels) -> None:
        kernels.link(self.link)
        kernels.task_law(self.link)

    def __call__(self, x: Workspace, out: Array) -> Array:
        """See :meth:`Law.__call__`; in machine code where there is any."""
        routine = x.kernels.task_law(self.link)
        if not routine.compiled:
            return super().__call__(x, out)
        routine(self, x.arrays_with(out))
        return out

    def effort(self, x: Workspace) -> Array:
        link = x.link(self.link)
        J = link.jacobian(x.q)
        X = link.pose(x.q)
        if self.target is None:
            X_d = link.pose(x.q_d)
            twist = link.jacobian(x.q_d) @ x.v_d - J @ x.v
        else:
            X_d = self.target
            twist = -(J @ x.v)
        dx = np.concatenate([rotation_error(X_d[:3, :3], X[:3, :3]), X_d[:3, 3] - X[:3, 3]])

        for part, largest in zip((slice(0, 3), slice(3, 6)), self.largest_error, strict=True):
            length = float(np.linalg.norm(dx[part]))
            if length > largest:
                dx[part] *= largest / length
        Minv_JT = np.linalg.solve(x.mass_matrix(), J.T)
        # Λ
        inertia = task_inertia(J, Minv_JT)
        turn = np.eye(6)
        if self.axes == "tool":
            turn[:3, :3] = turn[3:, 3:] = X[:3, :3]
        k, U = principal_axes(self.stiffness)
        K = U @ np.diag(k) @ U.T
        if self.damping is None:
            axes = turn @ U
            along = (axes.T @ inertia @ axes).diagonal()
            ratio = self.damping_ratio @ (U * U)
            D = U @ np.diag(2.0 * ratio * np.sqrt(k * np.maximum(along, 0.0))) @ U.T
        else:
            D = as_matrix(self.damping)
        force = turn @ (K @ (turn.T @ dx) + D @ (turn.T @ twist))
        posture = self.posture_stiffness * x.e + self.posture_damping * x.ed
        in_null_space = posture - J.T @ (inertia @ (Minv_JT.T @ posture))
        return J.T @ force + in_null_space + x.inverse_dynamics(x.a_d) + self.F(x)


def task_inertia(J: Array, Y: Array, length: float = 0.3, threshold: float = 1e-3) -> Array:
    """(6, 6) inertia that a link shows in the task space, Λ = (J M⁻¹ Jᵀ)⁻¹, without the directions
    it cannot move in.

    Whether it can move is judged by the kinematics alone (a light wrist is no singularity):
    directions whose eigenvalue of the weighted J Jᵀ is below ``threshold`` times the largest fade
    out of Λ smoothly, and are gone from it where the
    eigenvalue is zero.  Elsewhere the inverse is exact.  ``Y``: (n, 6) M⁻¹ Jᵀ; ``length``, m,
    weighs translations against rotations.
    """
    weight = np.array([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length])
    scaled = weight[:, None] * J
    s, U = np.linalg.eigh(scaled @ scaled.T)
    if s[-1] <= 0.0:
        return np.zeros((6, 6))
    x = np.clip(s / (threshold * s[-1]), 0.0, 1.0)
    mobility = scaled @ (Y * weight)
    if x[0] == 1.0:
        inertia = np.linalg.inv(0.5 * (mobility + mobility.T))
    else:
        kept = x * x * (3.0 - 2.0 * x)
        P = (U * kept) @ U.T
        filler = (U * (1.0 - kept * kept)) @ U.T * (np.trace(mobility) / 6.0)
        inertia = P @ np.linalg.solve(P @ mobility @ P + filler, P)
    return 0.5 * (inertia + inertia.T) * np.outer(weight, weight)


def rotation_error(R_d: Array, R: Array) -> Array:
    """(3,) 2 sin(θ/2) u of the rotation by θ about u (in world axes) that takes ``R`` to ``R_d``.

    It equals the rotation vector for small angles and grows steadily up to half a rotation.
    """
    E = R_d @ R.T
    cosine = 0.5 * (E[0, 0] + E[1, 1] + E[2, 2] - 1.0)
    # 2 sinθ u
    twice_sine = np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    if cosine > -0.999:
        # 2 sin(θ/2) u = (2 sinθ u) / (2 cos(θ/2)), and 2 cos(θ/2) = √(2 (1 + cosθ))
        return twice_sine / np.sqrt(2.0 * (1.0 + cosine))
    # near half a rotation the antisymmetric part vanishes and the axis comes from the symmetric
    # one, u uᵀ
    S = 0.5 * (E + E.T)
    k = int(np.argmax(S.diagonal()))
    axis = S[:, k] - cosine * np.eye(3)[:, k]
    axis /= np.linalg.norm(axis)
    if axis @ twice_sine < 0.0:
        axis = -axis
    return np.sqrt(max(0.0, 2.0 * (1.0 - cosine))) * axis
