"""The wrench on a link that explains external joint efforts."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.control.kernels import Kernels, LinkKernels
from robot_dynamics_ros.control.laws.damped import damped_inverse
from robot_dynamics_ros.dynamics import jacobian, link_pose
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, vector

LENGTH, THRESHOLD = 0.3, 1e-2


def explain(
    J: Array, effort: Array, *, force_only: bool = False, length: float = LENGTH, threshold: float = THRESHOLD
) -> Array:
    """(6,) f in world axes that solves Jᵀ f = ``effort`` by damped least squares.

    Args:
        J: (6, n) Jacobian [angular; linear] in world axes.
        effort: (n,).
        force_only, length, threshold: as for :func:`contact_wrench`.
    """
    scale = np.array([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length])
    rows = slice(3, 6) if force_only else slice(0, 6)
    A = J[rows] * scale[rows, None]
    f = np.zeros(6)
    f[rows] = scale[rows] * (damped_inverse(A @ A.T, threshold) @ (A @ effort))
    return f


def contact_wrench(
    model: RobotModel,
    q: Array,
    link: str,
    effort: Array,
    *,
    force_only: bool = False,
    length: float = LENGTH,
    threshold: float = THRESHOLD,
) -> tuple[Array, float]:
    """The wrench on a link that fits external joint efforts best, by damped least squares.

    It solves Jᵀ f = ``effort``.  Components that the joints cannot feel in this pose (directions in which the
    link cannot move) are returned as zero; near such a pose they are damped.

    Args:
        q: (n,) configuration.
        link: the link in contact; the contact is assumed at its origin.
        effort: (n,) external joint efforts, e.g. ``MomentumObserver.effort``.
        force_only: a pure force, without moment; three unknowns instead of six.
        length: m, converts moments to forces for the fit.
        threshold: ratio of eigenvalues of the weighted J Jᵀ below which damping sets in.

    Returns:
        (6,) wrench [moment; force] that the surroundings exert, about the link's origin, in the link's frame, and the
        norm of the efforts that it leaves unexplained, N m or N.

    Raises:
        UnknownNameError: no such link.
        ArgumentError: arrays of the wrong length, a length or threshold that is not positive.
    """
    for name, value in (("length", length), ("threshold", threshold)):
        expect(0.0 < value < math.inf, "a positive number", value, name, "Correct the argument.")
    J = jacobian(model, q, link)
    effort = vector(effort, model.nv, "effort", remedy="Give one effort a joint.")
    f = explain(J, effort, force_only=force_only, length=length, threshold=threshold)
    left = float(np.linalg.norm(effort - J.T @ f))
    return in_link_axes(link_pose(model, q, link), f), left


def in_link_axes(pose: Array, f: Array) -> Array:
    """(6,) a wrench in world axes, in the axes of the link whose (4, 4) pose is given."""
    return (f.reshape(2, 3) @ pose[:3, :3]).reshape(6)


class ContactEstimate:
    """Estimate of the contact wrench on one link, from the controller's observer, in every control cycle.

    Attributes:
        link: the link in contact; the contact is assumed at its origin.
        wrench: (6,) [moment; force] that the surroundings exert, about the link's origin, in the link's frame.
        enabled: whether the controller updates it.
    """

    def __init__(self, model: RobotModel, link: str) -> None:
        """Raises UnknownNameError where the model has no such link."""
        model.link_index(link)
        self.link = link
        self.wrench = np.zeros(6)
        self.enabled = True
        self._J, self._pose = np.zeros((6, model.nv)), np.zeros((4, 4))

    def prepare(self, kernels: Kernels) -> None:
        """Have everything compiled that :meth:`update` calls."""
        kernels.link(self.link)

    def update(self, kernels: Kernels, q: Array, effort: Array) -> Array:
        """(6,) ``wrench`` for (n,) external efforts at the configuration ``q`` (n,)."""
        link: LinkKernels = kernels.link(self.link)
        link.jacobian(q, self._J)
        link.pose(q, self._pose)
        self.wrench[:] = in_link_axes(self._pose, explain(self._J, effort))
        return self.wrench
