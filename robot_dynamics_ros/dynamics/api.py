"""The functions people call.

Every function takes a model first, then coordinates.  ``q`` is (..., nq); ``v``, ``a`` and ``tau`` are (..., nv);
leading dimensions are a batch and follow NumPy's broadcasting.  ``external`` maps link names to (..., 6) wrenches
[moment; force] that the surroundings exert on the link, about the link's origin, in the link's axes.  ``out`` receives
the result if given: a C-contiguous float64 array of the exact shape.

Raised by all of them: :class:`ArgumentError` for wrong shapes, types or quaternions, :class:`UnknownNameError` for
names the model does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.arguments import as_input
from robot_dynamics_ros.dynamics.backends import evaluator
from robot_dynamics_ros.dynamics.functions import Options
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = [
    "bias_forces",
    "forward_dynamics",
    "gravity_forces",
    "inverse_dynamics",
    "jacobian",
    "joint_wrenches",
    "kinetic_energy",
    "link_pose",
    "mass_matrix",
    "potential_energy",
]

Wrenches = Mapping[str, Any] | None


def _call(model: RobotModel, name: str, inputs: tuple[Any, ...], external: Wrenches, out: Any) -> Any:
    options: Options = ()
    if external:
        links, wrenches = _stacked(model, external)
        options, inputs = (("external", links),), (*inputs, wrenches)
    run = evaluator(model, name, options)
    return run(*inputs) if out is None else run(*inputs, out)


def _stacked(model: RobotModel, external: Mapping[str, Any]) -> tuple[tuple[int, ...], np.ndarray]:
    if not isinstance(external, Mapping):
        raise ArgumentError(
            f"expected a mapping from link names to wrenches, got {type(external).__name__}", where="external",
            got=external, remedy="For example {'tool0': [0, 0, 0, 0, 0, -10]}: moment, then force, in the link's axes.",
        )
    links = tuple(model.link_index(name) for name in external)
    parts = [as_input(w, (6,), f"external[{name!r}]") for name, w in external.items()]
    return links, np.stack(np.broadcast_arrays(*parts), axis=-2) if len(parts) > 1 else parts[0][..., None, :]


def inverse_dynamics(
    model: RobotModel, q: Any, v: Any, a: Any, *, external: Wrenches = None, out: np.ndarray | None = None
) -> np.ndarray:
    """τ = M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts that make the robot move so.

    Joint friction is no part of it; rotor inertia is.

    Returns:
        (..., nv) efforts, N m or N.

    Source: Featherstone, *Rigid Body Dynamics Algorithms* (2008), table 5.1.
    """
    return _call(model, "inverse_dynamics", (q, v, a), external, out)


def bias_forces(
    model: RobotModel, q: Any, v: Any, *, external: Wrenches = None, out: np.ndarray | None = None
) -> np.ndarray:
    """C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts that leave every joint unaccelerated.

    Returns:
        (..., nv) efforts, N m or N.
    """
    return _call(model, "bias_forces", (q, v), external, out)


def gravity_forces(model: RobotModel, q: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """g(q) = ∂U/∂q: the efforts that hold the robot still against gravity.

    Returns:
        (..., nv) efforts, N m or N.
    """
    return _call(model, "gravity_forces", (q,), None, out)


def forward_dynamics(
    model: RobotModel, q: Any, v: Any, tau: Any, *, external: Wrenches = None, out: np.ndarray | None = None
) -> np.ndarray:
    """q̈ = M(q)⁻¹ (τ − C(q, v) v − g(q) + Σ Jᵀ f_ext): how the robot accelerates under given efforts.

    Returns:
        (..., nv) accelerations, rad/s² or m/s².

    Source: Featherstone (2008), table 7.1; for robots with mimic joints, table 6.2 and a sparse factorization.
    """
    return _call(model, "forward_dynamics", (q, v, tau), external, out)


def mass_matrix(model: RobotModel, q: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """M(q), the joint-space inertia matrix, rotor inertia on its diagonal.

    Returns:
        (..., nv, nv) symmetric positive-definite matrix.

    Source: Featherstone (2008), table 6.2.
    """
    return _call(model, "mass_matrix", (q,), None, out)


def kinetic_energy(model: RobotModel, q: Any, v: Any) -> Any:
    """½ vᵀ M(q) v in joules, rotors included.

    Returns:
        a float, or (...) for a batch.
    """
    return _call(model, "kinetic_energy", (q, v), None, None)


def potential_energy(model: RobotModel, q: Any) -> Any:
    """−Σ m gᵀ c in joules, zero for masses at the world origin; the root link counts.

    Returns:
        a float, or (...) for a batch.
    """
    return _call(model, "potential_energy", (q,), None, None)


def link_pose(model: RobotModel, q: Any, link: str) -> np.ndarray:
    """Placement of a link in the world frame.

    Returns:
        (..., 4, 4) homogeneous matrices.
    """
    return evaluator(model, "link_pose", (("link", model.link_index(link)),))(q)


def jacobian(model: RobotModel, q: Any, link: str, *, expressed_in: str = "world") -> np.ndarray:
    """Geometric Jacobian of a link's origin: J v = [ω; velocity of the link's origin].

    Args:
        expressed_in: ``"world"`` axes (those of the root link unless a base placement is set) or ``"link"`` axes.

    Returns:
        (..., 6, nv), angular rows first.
    """
    if expressed_in not in ("world", "link"):
        raise UnknownNameError("frame", expressed_in, ("world", "link"), where="expressed_in")
    return evaluator(model, "jacobian", (("frame", expressed_in), ("link", model.link_index(link))))(q)


def joint_wrenches(model: RobotModel, q: Any, v: Any, a: Any, *, external: Wrenches = None) -> np.ndarray:
    """What each joint carries: the wrench that the parent side exerts on the child link.

    Reduced to the joint's origin and expressed in the child link's frame.  Its component along the joint axis is the
    joint effort (less the effort that turns the rotor, where the model has one).

    Returns:
        (..., len(model.joint_names), 6), [moment; force] in N m and N, in the order of ``model.joint_names``.
    """
    return _call(model, "inverse_dynamics_wrenches", (q, v, a), external, None)[1]
