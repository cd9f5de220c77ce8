"""What pushes the arm, without a sensor: generalized-momentum observer, contact wrench, collision flag.

With p = M(q) v and M v̇ + C v + g + F = τ + τ_ext, momentum changes as ṗ = τ + τ_ext − F + Cᵀ v − g.  The observer
integrates what the model knows of that, and what is missing is the estimate.

Source: De Luca, Albu-Schäffer, Haddadin, Hirzinger, IROS 2006; Haddadin, De Luca, Albu-Schäffer, IEEE T-RO 33 (2017).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robot_dynamics_ros.control.columns import column
from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.laws.damped import damped_inverse
from robot_dynamics_ros.control.workspace import Kernels
from robot_dynamics_ros.dynamics import jacobian, kernel, link_pose
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["CollisionMonitor", "MomentumObserver", "contact_wrench"]


class MomentumObserver:
    """Estimate of the efforts at the joints that the model does not explain.

    The estimate follows the true external effort through a first-order low-pass per joint, r + ṙ/K = τ_ext: 63 % of a
    step after 1/K s.  No acceleration and no inverse of the mass matrix is needed.

    Attributes:
        gain: (n,) K, 1/s.
        friction: taken for known if given.
        effort: (n,) the estimate, positive along the joint's positive direction, N m or N.
    """

    def __init__(self, model: RobotModel, gain: Any = 50.0, friction: Friction | None = None) -> None:
        """Allocate.

        Raises:
            ArgumentError: a gain that is not positive and finite, or of the wrong length.
        """
        n = model.nv
        self.gain = column(gain, n, "observer gain", positive=True)
        self.friction = friction
        self.effort = np.zeros(n)
        self._p, self._sum, self._known, self._before = (np.zeros(n) for _ in range(4))
        self._scratch = np.zeros(n)
        self._m = np.zeros((n, n))
        self._started = False
        self._kernels: Kernels | None = None
        self._coriolis: Any = None

    def reset(self) -> None:
        """Start afresh with a zero estimate."""
        self.effort[:] = 0.0
        self._started = False

    @staticmethod
    def compile(kernels: Kernels) -> Any:
        """The function that the observer needs beside the kernels; not for the control cycle."""
        return kernel(kernels.model, "coriolis_matrix")

    def prepare(self, kernels: Kernels) -> None:
        """Use these kernels from now on."""
        self._kernels, self._coriolis = kernels, self.compile(kernels)

    def rebase(self) -> None:
        """Go on with the estimate as it is although the robot's model changes."""
        self._started = False

    def update(self, kernels: Kernels, q: Array, v: Array, tau: Array, dt: float) -> Array:
        """Take the next state.

        Args:
            kernels: of the robot.
            q, v: (n,) measured position and velocity.
            tau: (n,) motor effort that acted since the state before.
            dt: s since then; at the first call it plays no part.

        Returns:
            (n,) ``effort``.
        """
        if kernels is not self._kernels:
            self.prepare(kernels)
        kernels.mass_matrix(q, self._m)
        np.dot(self._m, v, out=self._p)
        # Cᵀ v − g − F
        self._coriolis(q, v, self._m)
        np.dot(v, self._m, out=self._known)
        kernels.gravity_forces(q, self._scratch)
        self._known -= self._scratch
        if self.friction is not None:
            self._known -= self.friction.effort(v, self._scratch)
        if not self._started:
            np.subtract(self._p, self.effort / self.gain, out=self._sum)
            self._started = True
        elif dt > 0.0:
            self._sum += dt * (tau + 0.5 * (self._known + self._before))
            # r = K (p − sum − ∫r), the newest r included: stable for any dt
            np.subtract(self._p, self._sum, out=self.effort)
            self.effort *= self.gain / (1.0 + self.gain * dt)
            self._sum += dt * self.effort
        np.copyto(self._before, self._known)
        return self.effort


def contact_wrench(
    model: RobotModel,
    q: Array,
    link: str,
    effort: Array,
    *,
    force_only: bool = False,
    length: float = 0.3,
    threshold: float = 1e-2,
) -> tuple[Array, float]:
    """The wrench on a link that explains external joint efforts best.

    Damped least squares of Jᵀ f = ``effort``.  What the joints cannot feel in this pose (directions in which the
    link cannot move) is returned as zero; close to that it is damped.

    Args:
        q: (n,) configuration.
        link: where the contact is taken to be: at this link's origin.
        effort: (n,) external joint efforts, e.g. ``MomentumObserver.effort``.
        force_only: a pure force, without moment; three unknowns instead of six.
        length: m, weighs moments against forces.
        threshold: ratio of eigenvalues of the weighted J Jᵀ below which damping sets in.

    Returns:
        (6,) wrench [moment; force] that the surroundings exert, about the link's origin, in the link's frame, and the
        norm of the efforts that it leaves unexplained, N m or N.

    Raises:
        UnknownNameError: no such link.
        ArgumentError: arrays of the wrong length, a length or threshold that is not positive.
    """
    for name, value in (("length", length), ("threshold", threshold)):
        if not (math.isfinite(value) and value > 0.0):
            raise ArgumentError(
                f"expected a positive number, got {value!r}", where=name, got=value, remedy="Correct the argument."
            )
    J = jacobian(model, q, link)
    effort = np.asarray(effort, dtype=np.float64)
    if effort.shape != (model.nv,):
        raise ArgumentError(
            f"expected ({model.nv},), got {effort.shape}",
            where="effort",
            got=effort.shape,
            remedy="Give one effort a joint.",
        )
    scale = np.array([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length])
    rows = slice(3, 6) if force_only else slice(0, 6)
    A = J[rows] * scale[rows, None]
    world = np.zeros(6)
    world[rows] = scale[rows] * (damped_inverse(A @ A.T, threshold) @ (A @ effort))
    left = float(np.linalg.norm(effort - J.T @ world))
    R = link_pose(model, q, link)[:3, :3]
    return np.concatenate([R.T @ world[:3], R.T @ world[3:]]), left


class CollisionMonitor:
    """A flag that rises when an external effort stays above its threshold, and falls below half of it.

    Attributes:
        threshold: (n,) N m or N; infinite: the joint is not watched.
        delay: s that an effort must stay above.
        flag: whether a collision is seen.
        joint: index of the joint that raised the flag last, or −1.
    """

    __slots__ = ("_above", "delay", "flag", "joint", "threshold")

    def __init__(self, model: RobotModel, threshold: Any, delay: float = 0.0) -> None:
        """Raises ArgumentError for a threshold that is not positive, or of the wrong length."""
        self.threshold = column(threshold, model.nv, "collision threshold", positive=True, infinite=True)
        self.delay = float(delay)
        self._above = 0.0
        self.flag = False
        self.joint = -1

    def reset(self) -> None:
        """Lower the flag."""
        self.flag, self._above, self.joint = False, 0.0, -1

    def update(self, effort: Array, dt: float) -> bool:
        """Take the next estimate, ``dt`` s after the one before; True in the cycle in which the flag rises."""
        ratio = np.abs(effort) / self.threshold
        worst = int(np.argmax(ratio))
        if self.flag:
            self.flag = bool(ratio[worst] > 0.5)
            self._above = 0.0
            return False
        self._above = self._above + dt if ratio[worst] > 1.0 else 0.0
        if ratio[worst] > 1.0 and self._above >= self.delay:
            self.flag, self.joint = True, worst
            return True
        return False
