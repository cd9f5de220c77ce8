"""What a force/torque sensor in a joint would read, without the sensor.

A sensor between arm and tool reads the load that the tool puts on the arm: its weight and inertia, and what the
surroundings press on it.  That is the joint's wrench with the sign turned.  The joints feel the surroundings as
efforts that the model does not explain (:class:`~robot_dynamics_ros.control.observer.MomentumObserver`); as a wrench
on the flange they follow by least squares.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.observer import MomentumObserver, contact_wrench
from robot_dynamics_ros.control.workspace import Kernels
from robot_dynamics_ros.control.wrench_kernels import JointKernel
from robot_dynamics_ros.dynamics.algorithms.links import link_tree
from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["CONTACTS", "FlangeLoad"]

CONTACTS = ("estimated", "known")


class FlangeLoad:
    """Load on the arm at a joint.

    Attributes:
        joint: where the arm ends and the tool begins; fixed or moving.
        frame: the link about whose origin and in whose axes the load is given.
        subtract: whether weight and inertia of what hangs behind the joint are taken off, so that contact remains.
        contact: ``"estimated"`` from joint efforts, or ``"known"``: what was told as external wrenches on links behind.
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
        self._behind = {model.link_names[k] for k in links.behind(number)}
        self._friction, self._gain = friction, gain
        self._observer = MomentumObserver(model, gain, friction)
        self.use(model)

    def use(self, model: RobotModel) -> None:
        """Compile for another model of the same robot, e.g. with a payload; the estimate goes on."""
        kernels = Kernels.of(model)
        self._observer.prepare(kernels)
        self._observer.rebase()
        joint = JointKernel(model, (self.joint,))
        n = model.nv
        for link in (self.link, self.frame):
            kernels.link(link)
        contact_wrench(model, model.neutral(), self.link, np.zeros(n))
        self._model, self._kernels, self._joint = model, kernels, joint
        self._a, self._net, self._pose = np.zeros(n), np.zeros(n), np.zeros((4, 4))

    def reset(self) -> None:
        """Begin afresh: time has gone by without updates."""
        self._observer.reset()

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
            (6,) [moment; force] that the tool puts on the arm, about the origin and in the axes of ``frame``.
        """
        model, kernels = self._model, self._kernels
        if self.contact == "estimated":
            unexplained = self._observer.update(kernels, q, v, effort, dt)
            found, _ = contact_wrench(model, q, self.link, unexplained)
            contact = {self.link: found}
        else:
            contact = {k: w for k, w in external.items() if k in self._behind}
            unexplained = kernels.efforts_of(q, external)
        if a is None:
            np.add(effort, unexplained, out=self._net)
            if self._friction is not None:
                self._net -= self._friction.effort(v, self._a)
            kernels.forward_dynamics(q, v, self._net, self._a)
            a = self._a
        load = -self._joint(q, v, a, contact)[0]
        if self.subtract:
            load += self._joint(q, v, a, {})[0]
        return self._in_frame(q, load)

    def _in_frame(self, q: Array, load: Array) -> Array:
        if self.frame == self.link:
            return load
        to = np.empty((4, 4))
        self._kernels.link(self.link).pose(q, self._pose)
        self._kernels.link(self.frame).pose(q, to)
        R = to[:3, :3].T @ self._pose[:3, :3]
        r = to[:3, :3].T @ (self._pose[:3, 3] - to[:3, 3])  # from the new point to the old one
        force = R @ load[3:]
        return np.concatenate([R @ load[:3] + np.cross(r, force), force])
