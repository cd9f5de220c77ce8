"""The wrench on a link that explains external joint efforts, and the reading of a force/torque
sensor without the sensor.

A sensor between arm and tool reads the load that the tool exerts on the arm, the negative joint
wrench.  The observer finds the efforts that the model does not explain; least squares give their
wrench on the flange.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.observer import MomentumObserver
from robot_dynamics_ros.dynamics import jacobian, link_pose
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.engine.arguments import as_input, common_batch
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, vector

# m, lever that weighs moments against forces: the size of a link of an arm.
ASSUMED_LEVER_M = 0.3
# Singular value over the largest, below which a direction counts as one that efforts do not show.
THRESHOLD = 1e-2
CONTACTS = ("estimated", "known")


def damped_inverse(A: Array, threshold: float = 1e-3) -> Array:
    """Inverse of a symmetric positive semi-definite matrix, bounded by half the inverse of a small
    eigenvalue.

    Eigenvalues s above ``threshold`` times the largest are inverted exactly; below, 1/s becomes
    s/(s² + λ²), with λ² growing to (threshold·s_max)² as s falls to zero: the result is continuous,
    and directions that cannot be moved get nothing.

    Source: Nakamura and Hanafusa, J. Dyn. Syst. Meas. Control 108 (1986); Chiaverini, IEEE T-RA 13
    (1997).
    """
    s, U = np.linalg.eigh(A)
    if s[-1] <= 0.0:
        return np.zeros_like(A)
    small = threshold * s[-1]
    s = np.maximum(s, 0.0)
    squared = np.maximum(small * small - s * s, 0.0)
    return (U * (s / (s * s + squared))) @ U.T


def explain(
    J: Array,
    effort: Array,
    *,
    force_only: bool = False,
    length: float = ASSUMED_LEVER_M,
    threshold: float = THRESHOLD,
) -> Array:
    """(6,) f in world axes that solves Jᵀ f = ``effort`` (n,); the rest as for
    :func:`contact_wrench`.
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
    length: float = ASSUMED_LEVER_M,
    threshold: float = THRESHOLD,
) -> tuple[Array, Array | float]:
    """The wrench on a link that fits external joint efforts best, by damped least squares.

    It solves Jᵀ f = ``effort``.  Components that the joints cannot feel in this pose (directions in
    which the link cannot move) are returned as zero; near such a pose they are damped.

    Args:
        link: the link in contact; the contact is assumed at its origin.
        effort: (..., n) external joint efforts, e.g. ``MomentumObserver.effort``.
        force_only: a pure force, without moment; three unknowns instead of six.
        length: m, converts moments to forces for the fit.
        threshold: ratio of eigenvalues of the weighted J Jᵀ below which damping sets in.

    Returns:
        (..., 6) wrench [moment; force] that the surroundings exert, about the link's origin, in the
        link's frame, and the norm (...) of the efforts that it leaves unexplained, N m or N.

    Raises:
        UnknownNameError: no such link.
        ArgumentError: arrays of the wrong length, a length or threshold that is not positive.
    """
    for name, value in (("length", length), ("threshold", threshold)):
        expect(0.0 < value < math.inf, "a positive number", value, name, "Correct the argument.")
    q = as_input(q, (model.nq,), "q")
    many = as_input(effort, (model.nv,), "effort")
    if q.ndim > 1 or many.ndim > 1:
        lead = common_batch({"q": q.shape[:-1], "effort": many.shape[:-1]}, "q and effort")
        wrenches = np.empty((*lead, 6))
        unexplained = np.empty(lead)
        positions = np.broadcast_to(q, (*lead, model.nq))
        efforts = np.broadcast_to(many, (*lead, model.nv))
        for k in np.ndindex(*lead):
            wrenches[k], unexplained[k] = contact_wrench(
                model,
                positions[k],
                link,
                efforts[k],
                force_only=force_only,
                length=length,
                threshold=threshold,
            )
        return wrenches, unexplained
    J = jacobian(model, q, link)
    effort = vector(effort, model.nv, "effort", remedy="Give one effort a joint.")
    f = explain(J, effort, force_only=force_only, length=length, threshold=threshold)
    left = float(np.linalg.norm(effort - J.T @ f))
    return in_link_axes(link_pose(model, q, link), f), left


def in_link_axes(pose: Array, f: Array) -> Array:
    """(6,) a wrench in world axes, in the axes of the link whose (4, 4) pose is given."""
    return (f.reshape(2, 3) @ pose[:3, :3]).reshape(6)


class ContactEstimate:
    """Estimate of the contact ``wrench`` on one ``link``, from the controller's observer, in every
    control cycle while ``enabled``.

    It is (6,) [moment; force] that the surroundings exert, about the link's origin, where the
    contact is assumed, in its frame.
    """

    def __init__(self, model: RobotModel, link: str) -> None:
        """Raises UnknownNameError where the model has no such link."""
        model.link_index(link)
        self.link = link
        self.wrench = np.zeros(6)
        self.enabled = True

    def update(self, kernels: Kernels, q: Array, effort: Array) -> Array:
        """(6,) ``wrench`` for (n,) external efforts at the configuration ``q`` (n,)."""
        link = kernels.link(self.link)
        self.wrench[:] = in_link_axes(link.pose(q), explain(link.jacobian(q), effort))
        return self.wrench


class FlangeLoad:
    """Load on the arm at a joint.

    Attributes:
        joint: the joint between arm and tool; fixed or moving.
        load: (6,) [moment; force] that the tool exerts on the arm, about the origin and in the axes
            of the link ``frame``.
        subtract: whether weight and inertia of everything that the joint carries are subtracted;
            contact then remains.
        contact: ``"estimated"`` from joint efforts, or ``"known"``: the known wrenches on the links
            that the joint carries.
        enabled: whether a controller updates it.
    """

    def __init__(
        self,
        model: RobotModel,
        joint: str,
        *,
        frame: str = "",
        subtract: bool = False,
        contact: str = "estimated",
        gain: float = 50.0,
        friction: Friction | None = None,
    ) -> None:
        """Compile what the cycle needs; UnknownNameError: no such joint or link.

        ``gain``: of the momentum observer, 1/s: a contact is followed with a time constant of
        1/gain; ``friction``: what the motors spend in the joints.
        """
        links = link_tree(model)
        check_name("joint", joint, links.joint_names, where="flange joint")
        check_name("contact source", contact, CONTACTS)
        self.joint = joint
        self.subtract = subtract
        self.contact = contact
        number = links.link_of[joint]
        self.link = model.link_names[number]
        self.frame = frame or self.link
        model.link(self.frame)
        self.load = np.zeros(6)
        self.enabled = True
        self.observer = MomentumObserver(model, gain, friction)
        self._estimate = ContactEstimate(model, self.link)
        self._beyond = {model.link_names[k] for k in links.subtree(number)}
        self.use(Kernels(model))

    def use(self, kernels: Kernels) -> None:
        """Go on with another model of the same robot, e.g. with a payload; the estimate stays as it
        is.
        """
        # what `update` calls is compiled now
        kernels.joints((self.joint,))
        for link in (self.link, self.frame):
            kernels.link(link)
        self.observer.rebase()
        self._kernels = kernels

    def update(
        self,
        q: Array,
        v: Array,
        effort: Array,
        dt: float,
        external: Mapping[str, Array],
        a: Array | None = None,
    ) -> Array:
        """(6,) ``load`` at the next state, ``dt`` s after the one before: (n,) measured position
        ``q`` and velocity ``v``, motor ``effort`` that acts, measured if possible; ``external``:
        known wrenches [moment; force] on links; ``a``: (n,) acceleration; if not given it follows
        from the effort, contact included.
        """
        kernels = self._kernels
        if self.contact == "estimated":
            unexplained = self.observer.update(kernels, q, v, effort, dt)
            contact = {self.link: self._estimate.update(kernels, q, unexplained)}
        else:
            contact = {k: w for k, w in external.items() if k in self._beyond}
            unexplained = kernels.external_efforts(q, kernels.gather(external))
        if a is None:
            friction = 0.0 if self.observer.friction is None else self.observer.friction.effort(v)
            a = kernels.forward_dynamics(q, v, effort + unexplained - friction)
        joint = kernels.joints((self.joint,))
        load = -joint(q, v, a, contact)[0]
        if self.subtract:
            load += joint(q, v, a, {})[0]
        if self.frame != self.link:
            pose, to = kernels.link(self.link).pose(q), kernels.link(self.frame).pose(q)
            # in world axes
            moment, force = load.reshape(2, 3) @ pose[:3, :3].T
            moment = moment + np.cross(pose[:3, 3] - to[:3, 3], force)
            load = in_link_axes(to, np.concatenate([moment, force]))
        self.load[:] = load
        return self.load
