"""Wrenches and motion link by link from Pinocchio's frames: no recursion over joints, no merging of
links.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.robot_model import RobotModel
from support.pinocchio_bridge import PinocchioBridge

SWAP = [3, 4, 5, 0, 1, 2]


class LinkOracle:
    """Pinocchio's kinematics of every link at one state (base placement must be the identity).

    Attributes:
        ids: Pinocchio's frame number by link name.
    """

    def __init__(self, model: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        pytest.importorskip("pinocchio")
        self.model = model
        self.bridge = PinocchioBridge(model, rd.to_urdf(model))
        self.pin: Any = self.bridge.pin
        self.data = self.bridge.model.createData()
        T = self.bridge.T(q)
        self.v, self.a = T @ v, T @ a + self.bridge.drift(q, v)
        self.pin.forwardKinematics(self.bridge.model, self.data, self.bridge.q(q), self.v, self.a)
        self.pin.updateFramePlacements(self.bridge.model, self.data)
        self.ids = {
            name: self.bridge.model.getFrameId(name, self.pin.BODY) for name in model.link_names
        }

    def pose(self, link: str) -> Any:
        """pin.SE3 of a link in the world."""
        return self.data.oMf[self.ids[link]]

    def needed(self, link: str) -> Any:
        """pin.Force about the world origin, world axes, that moves one link so, its weight
        included.
        """
        pin = self.pin
        P = self.bridge.model
        D = self.data
        body = self.model.link(link).inertia
        inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.rotational))
        velocity = pin.getFrameVelocity(P, D, self.ids[link], pin.LOCAL)
        acceleration = pin.getFrameAcceleration(P, D, self.ids[link], pin.LOCAL)
        force = inertia * acceleration + velocity.cross(inertia * velocity)
        weight = self.pose(link).rotation.T @ (body.mass * np.array(self.model.gravity))
        force -= pin.Force(weight, np.cross(body.com, weight))
        return self.pose(link).act(force)

    def joint_wrench(self, joint: str, external: dict[str, np.ndarray] | None = None) -> Any:
        """pin.Force about the world origin, world axes: the sum over the links behind the joint."""
        total = self.pin.Force.Zero()
        behind = [self.model.joint(joint).child]
        for link in behind:
            behind += [j.child for j in self.model.description.joints if j.parent == link]
            total += self.needed(link)
            if external and link in external:
                total -= self.pose(link).act(self.pin.Force(external[link][SWAP]))
        return total


def spatial(force: Any) -> np.ndarray:
    """(6,) [moment; force] of a pin.Force, or [ω; v] of a pin.Motion."""
    return np.array(force.vector[SWAP])
