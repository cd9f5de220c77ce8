"""The functions people call.

Every function takes a model first, then coordinates.  ``q`` is (..., nq); ``v``, ``a`` and ``tau`` are (..., nv);
leading dimensions are a batch and follow NumPy's broadcasting.  ``external`` maps link names to (..., 6) wrenches
[moment; force] that the surroundings exert on the link, about the link's origin, in the link's axes, or to
:class:`Wrench` values (one or a list for each link) in any frame, about any point.  ``base`` says
how the root link moves: a pair of (..., 6) arrays, velocity and acceleration [angular; linear] of its origin, in its axes.
``out`` receives the result if given: a C-contiguous float64 array of the exact shape.

Raised by all of them: :class:`ArgumentError` for wrong shapes, types or quaternions, :class:`UnknownNameError` for
names the model does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.arguments import as_input, check_finite
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches, body_wrenches, link_wrenches
from robot_dynamics_ros.dynamics.reference_frame import FrameLike, PointLike
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.wrench import Wrench

__all__ = [
    "bias_forces",
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_motion",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "coriolis_matrix",
    "external_efforts",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "gravity_forces",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "joint_torque_regressor",
    "joint_wrenches",
    "kinetic_energy",
    "mass_matrix",
    "mass_matrix_factors",
    "mass_matrix_inverse",
    "potential_energy",
]


def _call(
    model: RobotModel,
    name: str,
    inputs: tuple[Any, ...],
    external: Wrenches = None,
    out: Any = None,
    base: Any = None,
    options: Options = (),
    more: tuple[Any, ...] = (),
) -> Any:
    if external:
        by_link = any(word == "link_external" for word, _ in TABLE[name].inputs)
        wrenches = (link_wrenches if by_link else body_wrenches)(model, external, inputs[0])
        if wrenches.shape[-2]:
            options, inputs = (*options, ("external", True)), (*inputs, wrenches)
    if base is not None:
        options, inputs = (*options, ("moving_base", True)), (*inputs, _base_motion(base))
    inputs = (*inputs, *more)
    run = evaluator(model, name, tuple(sorted(options)))
    return run(*inputs) if out is None else run(*inputs, out)


def _finite(result: Any, **inputs: Any) -> Any:
    """``result``, if it is finite; else say which input was not.

    Raises:
        ArgumentError: naming the input and the place.
    """
    if not np.isfinite(result).all():
        check_finite(**inputs)
    return result


def _base_motion(base: Any) -> np.ndarray:
    try:
        velocity, acceleration = base
    except (TypeError, ValueError):
        raise ArgumentError(
            "expected a pair (velocity, acceleration)",
            where="base",
            got=base,
            remedy="Each is (6,): angular, then linear, of the root link's origin, in its axes.",
        ) from None
    parts = as_input(velocity, (6,), "base velocity"), as_input(acceleration, (6,), "base acceleration")
    return np.stack(np.broadcast_arrays(*parts), axis=-2)


def _named(external: Wrenches) -> dict[str, Any]:
    return {
        f"external[{link!r}]": value for link, value in (external or {}).items() if not isinstance(value, Wrench | list)
    }


def inverse_dynamics(
    model: RobotModel,
    q: Any,
    v: Any,
    a: Any,
    *,
    external: Wrenches = None,
    base: Any = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """τ = M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts that make the robot move so.

    Joint friction is no part of it; rotor inertia is.

    Returns:
        (..., nv) efforts, N m or N.

    Source: Featherstone, *Rigid Body Dynamics Algorithms* (2008), table 5.1.
    """
    return _call(model, "inverse_dynamics", (q, v, a), external, out, base)


def bias_forces(
    model: RobotModel, q: Any, v: Any, *, external: Wrenches = None, base: Any = None, out: np.ndarray | None = None
) -> np.ndarray:
    """C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts that leave every joint unaccelerated.

    Returns:
        (..., nv) efforts, N m or N.
    """
    return _call(model, "bias_forces", (q, v), external, out, base)


def external_efforts(model: RobotModel, q: Any, external: Wrenches, *, out: np.ndarray | None = None) -> np.ndarray:
    """Σ Jᵀ f_ext: what wrenches from the surroundings do at the joints.

    Returns:
        (..., nv) efforts, N m or N.
    """
    return _call(model, "external_efforts", (q,), external, out)


def gravity_forces(model: RobotModel, q: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """g(q) = ∂U/∂q: the efforts that hold the robot still against gravity.

    Returns:
        (..., nv) efforts, N m or N.
    """
    return _call(model, "gravity_forces", (q,), None, out)


def forward_dynamics(
    model: RobotModel,
    q: Any,
    v: Any,
    tau: Any,
    *,
    external: Wrenches = None,
    base: Any = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """q̈ = M(q)⁻¹ (τ − C(q, v) v − g(q) + Σ Jᵀ f_ext): how the robot accelerates under given efforts.

    Returns:
        (..., nv) accelerations, rad/s² or m/s².

    Source: Featherstone (2008), table 7.1; for robots with mimic joints, table 6.2 and a sparse factorization.
    """
    return _call(model, "forward_dynamics", (q, v, tau), external, out, base)


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


def joint_wrenches(
    model: RobotModel,
    q: Any,
    v: Any,
    a: Any,
    *,
    external: Wrenches = None,
    base: Any = None,
    joints: str | Sequence[str] | None = None,
    expressed_in: FrameLike = "child",
    reduced_at: PointLike = "joint",
) -> np.ndarray:
    """What each joint carries: the wrench that the parent side exerts on the child link.

    Reduced to the joint's origin and expressed in the child link's frame unless asked otherwise.  The component along
    the joint axis is the joint effort (less the effort that turns the rotor, where the model has one).  A fixed joint
    carries everything behind it.

    Args:
        joints: which ones, by name, fixed and mimic joints too; ``"all"``: every joint, in the order of
            :func:`all_joint_names`; not given: ``model.joint_names``.
        expressed_in: whose axes: ``"child"`` or ``"parent"`` link of each joint, the name of a link, ``"world"``, or a
            :class:`Frame`.
        reduced_at: about which point: ``"joint"``, each joint's own origin; the origin of a link by name, of the
            ``"world"`` or of a :class:`Frame`; or a pair (link, offset in its frame).

    Returns:
        (..., number of joints, 6), [moment; force] in N m and N.

    Raises:
        ArgumentError: also for states that are not finite.
    """
    if joints is None and expressed_in == "child" and reduced_at == "joint":
        rows = _call(model, "inverse_dynamics_wrenches", (q, v, a), external, None, base)[1]
    else:
        from robot_dynamics_ros.dynamics.wrenches import wrenches_of_joints

        rows = wrenches_of_joints(model, (q, v, a), external, base, joints, expressed_in, reduced_at)
    return _finite(rows, q=q, v=v, a=a, **_named(external))


def mass_matrix_inverse(model: RobotModel, q: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """M(q)⁻¹, from the sparse factors.

    Returns:
        (..., nv, nv).
    """
    return _call(model, "mass_matrix_inverse", (q,), out=out)


def mass_matrix_factors(model: RobotModel, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """M(q) = Lᵀ diag(D) L, with L unit lower triangular and as sparse as the tree: no entry is filled in.

    Returns:
        (L, D) of shapes (..., nv, nv) and (..., nv).

    Source: Featherstone (2008), section 6.5.
    """
    return _call(model, "mass_matrix_factors", (q,))


def coriolis_matrix(model: RobotModel, q: Any, v: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """C(q, v) with C v = velocity-dependent efforts and Ṁ − 2C skew-symmetric: the one of the Christoffel symbols.

    Returns:
        (..., nv, nv).

    Source: Echeandia and Wensing (2021).
    """
    return _call(model, "coriolis_matrix", (q, v), out=out)


def inverse_dynamics_derivatives(
    model: RobotModel, q: Any, v: Any, a: Any, *, external: Wrenches = None
) -> tuple[np.ndarray, np.ndarray]:
    """∂τ/∂q and ∂τ/∂v of :func:`inverse_dynamics`; ∂τ/∂a is :func:`mass_matrix`.

    External wrenches keep their components in the link's axes.  For a floating joint the derivative by q is along the
    tangent q ⊕ δ of :func:`integrate`.

    Returns:
        (∂τ/∂q, ∂τ/∂v), each (..., nv, nv).

    Source: Singh, Russo and Wensing (2022).
    """
    return _call(model, "inverse_dynamics_derivatives", (q, v, a), external)


def forward_dynamics_derivatives(
    model: RobotModel, q: Any, v: Any, tau: Any, *, external: Wrenches = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂q̈/∂q, ∂q̈/∂v and ∂q̈/∂τ = M⁻¹ of :func:`forward_dynamics`.

    Returns:
        three (..., nv, nv) arrays.

    Source: ∂q̈/∂x = −M⁻¹ ∂τ/∂x at the resulting acceleration (Carpentier and Mansard 2018).
    """
    a = forward_dynamics(model, q, v, tau, external=external)
    by_q, by_v = inverse_dynamics_derivatives(model, q, v, a, external=external)
    inverse = mass_matrix_inverse(model, q)
    return -inverse @ by_q, -inverse @ by_v, inverse


def joint_torque_regressor(model: RobotModel, q: Any, v: Any, a: Any) -> np.ndarray:
    """Y(q, v, a) with τ = Y π + rotor inertia · a, for π of :func:`inertial_parameters`.

    Returns:
        (..., nv, 10 nb).

    Source: Atkeson, An and Hollerbach (1986).
    """
    return _call(model, "joint_torque_regressor", (q, v, a))


def center_of_mass(model: RobotModel, q: Any) -> np.ndarray:
    """Centre of mass of the whole robot, the root link included, in the world frame.

    Returns:
        (..., 3) metres.
    """
    return _call(model, "center_of_mass", (q,))


def center_of_mass_motion(model: RobotModel, q: Any, v: Any, a: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the centre of mass in the world frame.

    Returns:
        three (..., 3) arrays.
    """
    return _call(model, "center_of_mass_motion", (q, v, a))


def center_of_mass_jacobian(model: RobotModel, q: Any) -> np.ndarray:
    """J with J v = velocity of the centre of mass in the world frame.

    Returns:
        (..., 3, nv).
    """
    return centroidal_momentum_matrix(model, q)[..., 3:, :] / model.total_mass


def centroidal_momentum_matrix(model: RobotModel, q: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """A(q) with A v = [angular momentum about the centre of mass; linear momentum] in world axes.

    Returns:
        (..., 6, nv).

    Source: Orin, Goswami and Lee (2013).
    """
    return _call(model, "centroidal_momentum_matrix", (q,), out=out)


def centroidal_momentum(model: RobotModel, q: Any, v: Any) -> np.ndarray:
    """[angular momentum about the centre of mass; linear momentum] in world axes, N m s and N s.

    Returns:
        (..., 6).
    """
    return np.einsum("...ij,...j->...i", centroidal_momentum_matrix(model, q), as_input(v, (model.nv,), "v"))
