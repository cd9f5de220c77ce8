"""Wrenches for a control cycle: kernels and memory made beforehand, nothing compiled in the cycle."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

import numpy as np

from robot_dynamics_ros.dynamics import WrenchGatherer, kernel
from robot_dynamics_ros.dynamics.algorithms.links import link_tree
from robot_dynamics_ros.dynamics.algorithms.point_motion import PARTS
from robot_dynamics_ros.dynamics.reference_frame import WORLD
from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["BalanceKernel", "JointKernel", "matching", "parent_link"]


def matching(patterns: Sequence[str], names: Sequence[str], where: str) -> tuple[str, ...]:
    """Those of ``names`` that match one of the shell-style patterns, in the order of ``names``.

    Raises:
        UnknownNameError: a pattern that matches nothing.
    """
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise UnknownNameError("joint or pattern", pattern, names, where=where)
    return tuple(name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))


def parent_link(model: RobotModel, joint: str) -> str:
    """The link before a joint."""
    return model.joint(joint).parent


class JointKernel:
    """Wrenches of some joints, fixed and mimic ones too, each about its origin in its child link's frame.

    Attributes:
        joints: their names.
        wrenches: (joints, 6) [moment; force] of the last call.
    """

    def __init__(self, model: RobotModel, joints: Sequence[str]) -> None:
        links = link_tree(model)
        self.joints = tuple(joints)
        self.wrenches = np.zeros((len(self.joints), 6))
        self._gatherer, self._external = WrenchGatherer(model), np.zeros((len(model.link_names), 6))
        self._run = kernel(
            model,
            "joint_wrenches",
            about="joint",
            axes="child",
            external=True,
            joints_of=tuple(links.link_of[name] for name in self.joints),
        )

    def __call__(self, q: Array, v: Array, a: Array, external: Mapping[str, Array]) -> Array:
        """``wrenches`` for a state, under wrenches (6,) [moment; force] on links, about their origins, in their frames."""
        self._run(q, v, a, self._gatherer.scatter(external, self._external), self.wrenches)
        return self.wrenches


class BalanceKernel:
    """The balance of wrenches of one joint's child link, as seen by an observer that is a link or the world.

    Attributes:
        joint, frame: the joint; the observer's name, whose axes the parts are in.
        parts: (9, 6) [moment; force] of the last call, rows :data:`~robot_dynamics_ros.dynamics.algorithms.point_motion.PARTS`,
            about the joint's origin.
    """

    names = PARTS

    def __init__(self, model: RobotModel, joint: str, observer: str) -> None:
        if observer not in (*model.link_names, WORLD):
            raise UnknownNameError("frame", observer, (*model.link_names, WORLD), where="observer")
        self.joint, self.frame = joint, observer
        self.parts = np.zeros((len(PARTS), 6))
        at = model.link_index(observer) if observer in model.link_names else -1
        self._gatherer, self._external = WrenchGatherer(model), np.zeros((len(model.link_names), 6))
        self._run = kernel(
            model,
            "wrench_balance",
            about="joint",
            axes="observer",
            external=True,
            link=link_tree(model).link_of[joint],
            observer=at,
        )

    def __call__(self, q: Array, v: Array, a: Array, external: Mapping[str, Array]) -> Array:
        """``parts`` for a state, under wrenches (6,) [moment; force] on links, about their origins, in their frames."""
        self._run(q, v, a, self._gatherer.scatter(external, self._external), self.parts)
        return self.parts
