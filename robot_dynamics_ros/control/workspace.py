"""The memory of a control cycle, allocated once, and the compiled functions of the robot that laws call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics import WrenchGatherer, kernel
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Kernels", "LinkKernels", "Workspace", "check_controllable"]


def check_controllable(model: RobotModel) -> RobotModel:
    """The model, if every joint has one coordinate.

    Raises:
        ArgumentError: it has no moving joint, or a floating or planar one.
    """
    for name in model.joint_names:
        kind = model.joint(name).type
        if kind.nv != 1:
            raise ArgumentError(
                f"joint {name!r} is {JointType(kind).name.lower()} and has {kind.nv} degrees of freedom",
                where=f"robot {model.name!r}",
                got=name,
                remedy="A joint controller needs joints of one degree of freedom each; lock this joint.",
            )
    if model.nv == 0:
        raise ArgumentError(
            "it has no moving joint to control", where=f"robot {model.name!r}", remedy="Check the URDF."
        )
    return model


@dataclass(frozen=True, slots=True)
class LinkKernels:
    """Allocation-free functions of one link: ``jacobian`` (q, out (6, n)) in world axes, ``pose`` (q, out (4, 4))."""

    link: str
    jacobian: Callable[..., Any]
    pose: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Kernels:
    """Allocation-free functions of one robot; arguments are contiguous float64 arrays, the last ones are written.

    Attributes:
        model: the robot.
        inverse_dynamics: (q, v, a, out_tau).
        inverse_dynamics_wrenches: (q, v, a, out_tau, out_wrenches).
        bias_forces: (q, v, out); C q̇ + g.
        gravity_forces: (q, out).
        mass_matrix: (q, out).
        forward_dynamics: (q, v, tau, out).
        external_efforts: (q, external, out); Σ Jᵀ f.
        loaded_inverse_dynamics: (q, v, a, external, out_tau, out_wrenches); ``inverse_dynamics_wrenches`` under
            external wrenches, (nb, 6) as :attr:`gatherer` makes them.
        gatherer, external: brings wrenches on links into the array ``external``.
        links: link name → its kernels, for the links asked for.
    """

    model: RobotModel
    inverse_dynamics: Callable[..., Any]
    inverse_dynamics_wrenches: Callable[..., Any]
    bias_forces: Callable[..., Any]
    gravity_forces: Callable[..., Any]
    mass_matrix: Callable[..., Any]
    forward_dynamics: Callable[..., Any]
    external_efforts: Callable[..., Any]
    loaded_inverse_dynamics: Callable[..., Any]
    links: dict[str, LinkKernels] = field(default_factory=dict)
    gatherer: WrenchGatherer = field(init=False)
    external: Array = field(init=False)
    _efforts: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gatherer", WrenchGatherer(self.model))
        object.__setattr__(self, "external", np.zeros((self.model.nb, 6)))
        object.__setattr__(self, "_efforts", np.zeros(self.model.nv))

    @classmethod
    def of(cls, model: RobotModel) -> Kernels:
        """Get (and, the first time, compile) the kernels of a model.  Not for the control cycle."""
        plain = (
            "inverse_dynamics",
            "inverse_dynamics_wrenches",
            "bias_forces",
            "gravity_forces",
            "mass_matrix",
            "forward_dynamics",
        )
        made = {name: kernel(model, name) for name in plain}
        made["external_efforts"] = kernel(model, "external_efforts", external=True)
        made["loaded_inverse_dynamics"] = kernel(model, "inverse_dynamics_wrenches", external=True)
        return cls(model, **made)

    def efforts_of(self, q: Array, wrenches: Mapping[str, Array]) -> Array:
        """(n,) Σ Jᵀ f of wrenches (6,) [moment; force] on links, valid until the next call."""
        self.external_efforts(q, self.gatherer.gather(wrenches, self.external), self._efforts)
        return self._efforts

    def link(self, name: str) -> LinkKernels:
        """The kernels of a link, compiled on first use.

        Raises:
            UnknownNameError: the model has no such link.
        """
        found = self.links.get(name)
        if found is None:
            number = self.model.link_index(name)
            origin = np.zeros(3)
            at_point = kernel(self.model, "jacobian", frame="world", link=number)
            found = self.links[name] = LinkKernels(
                name, lambda q, out: at_point(q, origin, out), kernel(self.model, "link_pose", link=number)
            )
        return found


class Workspace:
    """What a law reads (state, reference, errors), and where it may write in between.

    Attributes:
        kernels: of the robot as it is now, payload included.
        q, v: (n,) measured position and velocity.
        reference: (3, n), with the rows ``q_d``, ``v_d``, ``a_d``: desired position, velocity, acceleration.
        error: (2, n), with the rows ``e`` = q_d − q the short way round, ``ed`` = v_d − v.
        integral: (n,) ∫ e dt, kept within limits by its owner.
        a: (n,) the acceleration that the law asked the robot for.
        wrenches: (joints, 6) of the pass that a law made for ``a``.
        wrenches_current: whether that happened in the present evaluation.
        want_wrenches: whether laws should have wrenches computed on their way.
        s0, s1, s2: (n,) scratch; m: (n, n) scratch.
    """

    __slots__ = (
        "J",
        "J_d",
        "X",
        "X_d",
        "_wraps",
        "a",
        "a_d",
        "continuous",
        "e",
        "ed",
        "error",
        "integral",
        "kernels",
        "m",
        "n",
        "q",
        "q_d",
        "reference",
        "s0",
        "s1",
        "s2",
        "v",
        "v_d",
        "want_wrenches",
        "wrenches",
        "wrenches_current",
    )

    def __init__(self, model: RobotModel) -> None:
        check_controllable(model)
        n = self.n = model.nv
        self.kernels = Kernels.of(model)
        self.q, self.v, self.integral, self.a, self.s0, self.s1, self.s2 = (np.zeros(n) for _ in range(7))
        self.reference = np.zeros((3, n))
        self.q_d, self.v_d, self.a_d = self.reference
        self.error = np.zeros((2, n))
        self.e, self.ed = self.error
        self.wrenches = np.zeros((len(model.joint_names), 6))
        self.m = np.zeros((n, n))
        self.J, self.J_d = np.zeros((6, n)), np.zeros((6, n))
        self.X, self.X_d = np.zeros((4, 4)), np.zeros((4, 4))
        self.continuous = np.array([model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names])
        self._wraps = bool(self.continuous.any())
        self.want_wrenches = False
        self.wrenches_current = False

    @property
    def model(self) -> RobotModel:
        """The robot as it is now, payload included."""
        return self.kernels.model

    def set(self, q: Array, v: Array, q_d: Array, v_d: Array, a_d: Array) -> Workspace:
        """Load a state and a reference, each (n,), and compute the errors."""
        self.q[:], self.v[:] = q, v
        self.q_d[:], self.v_d[:], self.a_d[:] = q_d, v_d, a_d
        self.compute_errors()
        return self

    def compute_errors(self) -> None:
        """Fill ``error`` from the state and the reference."""
        np.subtract(self.q_d, self.q, out=self.e)
        np.subtract(self.v_d, self.v, out=self.ed)
        if self._wraps:
            wrapped = np.remainder(self.e + np.pi, 2.0 * np.pi) - np.pi
            self.e[self.continuous] = wrapped[self.continuous]
        self.wrenches_current = False

    def inverse_dynamics(self, out: Array) -> Array:
        """Efforts for the acceleration ``a`` at the measured state, the wrenches with them where wanted."""
        if self.want_wrenches:
            self.kernels.inverse_dynamics_wrenches(self.q, self.v, self.a, out, self.wrenches)
            self.wrenches_current = True
        else:
            self.kernels.inverse_dynamics(self.q, self.v, self.a, out)
        return out
