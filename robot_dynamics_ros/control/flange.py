"""The reading of a force/torque sensor in a joint, without the sensor.

A sensor between arm and tool reads the load that the tool exerts on the arm: its weight and inertia, and what the
surroundings press on it.  That is the negative joint wrench.  The observer
(:class:`~robot_dynamics_ros.control.observer.MomentumObserver`) finds the efforts that the model does not explain.
Least squares give their wrench on the flange.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.control.contact import ContactEstimate
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.observer import MomentumObserver
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

CONTACTS = ("estimated", "known")


class FlangeLoad:
    """Load on the arm at a joint.

    Attributes:
        joint: the joint between arm and tool; fixed or moving.
        frame: the link about whose origin and in whose axes the load is given.
        subtract: whether weight and inertia of everything that the joint carries are subtracted; contact then remains.
        contact: ``"estimated"`` from joint efforts, or ``"known"``: the known external wrenches on the links that the
            joint carries.
        load: (6,) [moment; force] that the tool exerts on the arm, about the origin and in the axes of ``frame``.
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
        """Compile what the cycle needs.

        Args:
            gain: of the momentum observer, 1/s: a contact is followed with a time constant of 1/gain.
            friction: what the motors spend in the joints.

        Raises:
            UnknownNameError: no such joint or link.
        """
        links = link_tree(model)
        if joint not in links.link_of:
            raise UnknownNameError("joint", joint, links.joint_names, where="flange joint")
        if contact not in CONTACTS:
            raise UnknownNameError("contact source", contact, CONTACTS)
        self.joint, self.subtract, self.contact = joint, subtract, contact
        number = links.link_of[joint]
        self.link = model.link_names[number]
        self.frame = frame or self.link
        model.link(self.frame)
        self.load = np.zeros(6)
        self.enabled = True
        self.observer = MomentumObserver(model, gain, friction)
        self._estimate = ContactEstimate(model, self.link)
        self._beyond = {model.link_names[k] for k in links.subtree(number)}
        self._friction = friction
        n = model.nv
        self._a, self._net = np.zeros(n), np.zeros(n)
        self._pose, self._to = np.zeros((4, 4)), np.zeros((4, 4))
        self.use(Kernels(model))

    def prepare(self, kernels: Kernels) -> None:
        """Have everything compiled that :meth:`update` calls."""
        kernels.joints((self.joint,))
        for link in (self.link, self.frame):
            kernels.link(link)

    def use(self, kernels: Kernels) -> None:
        """Go on with another model of the same robot, e.g. with a payload; the estimate stays as it is."""
        self.prepare(kernels)
        self.observer.rebase()
        self._kernels = kernels

    def reset(self) -> None:
        """Begin afresh: time has gone by without updates."""
        self.observer.reset()

    def update(
        self, q: Array, v: Array, effort: Array, dt: float, external: Mapping[str, Array], a: Array | None = None
    ) -> Array:
        """Take the next state.

        Args:
            q, v: (n,) measured position and velocity.
            effort: (n,) motor effort that acts, measured if possible.
            dt: s since the state before.
            external: known wrenches [moment; force] on links.
            a: (n,) acceleration; if not given it follows from the effort, contact included.

        Returns:
            (6,) ``load``.
        """
        kernels = self._kernels
        if self.contact == "estimated":
            unexplained = self.observer.update(kernels, q, v, effort, dt)
            contact = {self.link: self._estimate.update(kernels, q, unexplained)}
        else:
            contact = {k: w for k, w in external.items() if k in self._beyond}
            unexplained = kernels.efforts_of(q, external)
        if a is None:
            np.add(effort, unexplained, out=self._net)
            if self._friction is not None:
                self._net -= self._friction.effort(v)
            kernels.forward_dynamics(q, v, self._net, self._a)
            a = self._a
        joint = kernels.joints((self.joint,))
        load = -joint(q, v, a, contact)[0]
        if self.subtract:
            load += joint(q, v, a, {})[0]
        self.load[:] = self._in_frame(q, load)
        return self.load

    def _in_frame(self, q: Array, load: Array) -> Array:
        if self.frame == self.link:
            return load
        self._kernels.link(self.link).pose(q, self._pose)
        self._kernels.link(self.frame).pose(q, self._to)
        to = self._to
        R = to[:3, :3].T @ self._pose[:3, :3]
        r = to[:3, :3].T @ (self._pose[:3, 3] - to[:3, 3])  # from the new point to the old one
        force = R @ load[3:]
        return np.concatenate([R @ load[:3] + np.cross(r, force), force])
