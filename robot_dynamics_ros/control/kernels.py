"""The compiled functions of one robot that a control cycle calls."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.control.cycle.task_law import TaskLawRoutine
from robot_dynamics_ros.dynamics import WrenchGatherer, kernel
from robot_dynamics_ros.dynamics.algorithms.joint_wrench import BALANCE_PARTS
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.reference_frame import WORLD
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError, check_name
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel


def check_controllable(model: RobotModel) -> RobotModel:
    """The model, if every joint has one coordinate; ArgumentError: it has no moving joint, or a
    floating or planar one.
    """
    where = f"robot {model.name!r}"
    remedy = (
        "A joint controller needs joints of one degree of freedom each; lock this joint, or "
        "write it fixed."
    )
    for name in model.joint_names:
        kind = model.joint(name).type
        if kind.nv != 1:
            problem = (
                f"joint {name!r} is {JointType(kind).name.lower()} and has {kind.nv} degrees of "
                "freedom"
            )
            raise ArgumentError(problem, where=where, got=name, remedy=remedy)
    if model.nv == 0:
        raise ArgumentError(
            "it has no moving joint to control", where=where, remedy="Check the URDF."
        )
    return model


def matching(patterns: Sequence[str], names: Sequence[str], where: str) -> tuple[str, ...]:
    """Those of ``names`` that match one of the shell-style patterns, in their order;
    UnknownNameError: a pattern that matches nothing.
    """
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise UnknownNameError("joint or pattern", pattern, names, where=where)
    return tuple(
        name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    )


class LinkKernels:
    """Functions of one link; ``pose``: (4, 4), of q, in the root frame."""

    def __init__(self, model: RobotModel, link: str) -> None:
        number = model.link_index(link)
        self._origin = np.zeros(3)
        self._at_point = kernel(model, "jacobian", frame="world", link=number)
        self.pose: Callable[..., Any] = kernel(model, "link_pose", link=number)

    def jacobian(self, q: Array) -> Array:
        """(6, n) Jacobian [angular; linear] of the link's origin in world axes."""
        return self._at_point(q, self._origin)


class _WrenchKernel:
    """Wrenches about joints' origins; ``wrenches``: (rows, 6) [moment; force] of the last call."""

    def __init__(self, model: RobotModel, name: str, rows: int, **options: Any) -> None:
        self.wrenches = np.zeros((rows, 6))
        self._gatherer = WrenchGatherer(model)
        self._external = np.zeros((len(model.link_names), 6))
        self._run = kernel(model, name, about="joint", external=True, **options)

    def __call__(
        self,
        q: Array,
        v: Array,
        a: Array,
        external: Mapping[str, Array],
    ) -> Array:
        """``wrenches`` for a state, under wrenches (6,) [moment; force] on links, about their
        origins, in their frames.
        """
        self._run(q, v, a, self._gatherer.scatter(external, self._external), self.wrenches)
        return self.wrenches


class JointKernel(_WrenchKernel):
    """Wrenches of some joints, fixed and mimic ones too, a row each, in its child link's frame."""

    def __init__(self, model: RobotModel, joints: Sequence[str]) -> None:
        links = tuple(link_tree(model).link_of[name] for name in joints)
        super().__init__(model, "joint_wrenches", len(links), axes="child", joints_of=links)


class BalanceKernel(_WrenchKernel):
    """The balance of wrenches of one joint's child link, as seen by an observer that is a link or
    the world, in its axes; rows :data:`~robot_dynamics_ros.dynamics.algorithms.joint_wrench.PARTS`.
    """

    names = BALANCE_PARTS

    def __init__(self, model: RobotModel, joint: str, observer: str) -> None:
        check_name("frame", observer, (*model.link_names, WORLD), where="observer")
        if observer in model.link_names:
            number = model.link_index(observer)
        else:
            number = -1
        link = link_tree(model).link_of[joint]
        super().__init__(
            model, "wrench_balance", len(BALANCE_PARTS), axes="observer", link=link, observer=number
        )


class Kernels:
    """Functions of one robot; arguments are contiguous float64 arrays, the last ones are written.

    Functions of a link or of some joints are compiled at their first use: call them once before the
    cycle starts.

    Attributes:
        inverse_dynamics: (q, v, a, out_tau).
        bias_forces: (q, v, out); C q̇ + g.
        gravity_forces, mass_matrix: (q, out); forward_dynamics: (q, v, tau, out).
        generalized_momentum: (q, v, out_p, out_rate); M q̇ and Cᵀ q̇ − g.
        external_efforts: (q, external, out); Σ Jᵀ f.
    """

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.inverse_dynamics = kernel(model, "inverse_dynamics")
        self.bias_forces = kernel(model, "bias_forces")
        self.gravity_forces = kernel(model, "gravity_forces")
        self.mass_matrix = kernel(model, "mass_matrix")
        self.forward_dynamics = kernel(model, "forward_dynamics")
        self.generalized_momentum = kernel(model, "generalized_momentum")
        self.external_efforts = kernel(model, "external_efforts", external=True)
        # the cycle's routines find it compiled
        kernel(model, "inverse_dynamics_wrenches", external=True)
        self._gatherer = WrenchGatherer(model)
        self._external = np.zeros((model.nb, 6))
        self._made: dict[tuple[Any, ...], Any] = {}

    def gather(self, wrenches: Mapping[str, Array]) -> Array:
        """(nb, 6) sums on the bodies of wrenches (6,) [moment; force] on links, valid until the
        next call.
        """
        return self._gatherer.gather(wrenches, self._external)

    def _get(self, make: Callable[..., Any], *arguments: Any) -> Any:
        if (key := (make, *arguments)) not in self._made:
            self._made[key] = make(self.model, *arguments)
        return self._made[key]

    def link(self, name: str) -> LinkKernels:
        """The functions of a link; UnknownNameError: the model has no such link."""
        return self._get(LinkKernels, name)

    def task_law(self, name: str) -> TaskLawRoutine:
        """The impedance of a link as a routine; UnknownNameError: the model has no such link."""
        return self._get(TaskLawRoutine, name)

    def joints(self, names: Sequence[str]) -> JointKernel:
        """The wrenches of some joints."""
        return self._get(JointKernel, tuple(names))

    def balance(self, joint: str, observer: str) -> BalanceKernel:
        """The balance of wrenches of a joint's child link; UnknownNameError: the model has no such
        observer.
        """
        return self._get(BalanceKernel, joint, observer)

    def include(self, other: Kernels) -> None:
        """Make whatever ``other``, of the same robot with another payload, has and these do not.
        Not for the cycle.
        """
        for make, *key in list(other._made):
            self._get(make, *key)
