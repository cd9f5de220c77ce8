"""Spatial vectors and floating bases as Pinocchio, MuJoCo and Drake write them, and the names of
their functions here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.configuration import rotate
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.per_joint import expect

__all__ = ["floating_base_from", "floating_base_to", "swap_halves"]

_NAMES_ELSEWHERE = {
    "inverse_dynamics": "rnea mj_inverse mj_rne CalcInverseDynamics",
    "forward_dynamics": "aba mj_forward CalcTimeDerivatives",
    "mass_matrix": "crba mj_fullM CalcMassMatrix",
    "bias_forces": "nonLinearEffects nle qfrc_bias CalcBiasTerm",
    "gravity_forces": "computeGeneralizedGravity CalcGravityGeneralizedForces",
    "coriolis_matrix": "computeCoriolisMatrix",
    "link_poses": "framesForwardKinematics forwardKinematics forward_kinematics mj_kinematics",
    "jacobian": "computeFrameJacobian mj_jac CalcJacobianSpatialVelocity",
    "center_of_mass": "centerOfMass CalcCenterOfMassPositionInWorld",
    "centroidal_momentum_matrix": "ccrba computeCentroidalMap",
    "kinetic_energy": "computeKineticEnergy CalcKineticEnergy",
    "potential_energy": "computePotentialEnergy CalcPotentialEnergy",
    "effort_regressor": "computeJointTorqueRegressor",
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
    "random_configuration": "randomConfiguration",
    "integrate": "mj_integratePos",
    "difference": "mj_differentiatePos",
    "load_urdf": "buildModelFromUrdf buildModelFromURDF from_xml_path",
    "Plant": "mj_step",
}
USUAL_NAMES = {name: ours for ours, names in _NAMES_ELSEWHERE.items() for name in names.split()}
"""Functions of Pinocchio, MuJoCo and Drake → the one here."""
_LIBRARIES = ("pinocchio", "mujoco", "drake")


def swap_halves(x: ArrayLike, axis: int = -1) -> Array:
    """[angular; linear] from [linear; angular] or the other way round: the two halves of an axis of
    length 6 exchanged.

    Args:
        axis: the one of length 6.
        x: twists or wrenches (..., 6); Jacobians (..., 6, nv) with ``axis=-2``.

    Raises:
        ArgumentError: another length, not numbers, not finite.

    >>> import robot_dynamics_ros as rd
    >>> rd.swap_halves([1, 2, 3, 4, 5, 6]).tolist()
    [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    """
    array = as_input(x, (), "x")
    good = -array.ndim <= axis < array.ndim and array.shape[axis] == 6
    remedy = "Give twists or wrenches (..., 6), or Jacobians (..., 6, nv) with axis=-2."
    expect(good, f"an axis {axis} of length 6", array.shape, "x", remedy)
    return np.roll(array, 3, axis=axis)


def floating_base_to(library: str, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Configuration and velocity of a floating base as another library has them.

    Args:
        library: ``"pinocchio"``: [x y z, qx qy qz qw] and [linear; angular] in the base's axes;
            ``"mujoco"``: [x y z, qw qx qy qz] and [linear in world axes; angular in the base's];
            ``"drake"``: [qw qx qy qz, x y z] and [angular; linear] in world axes.
        q: (..., 7) position, m, in the world and quaternion [x y z w].
        v: (..., 6) [angular; linear], rad/s and m/s, of the base's origin in the base's axes.

    Returns:
        (..., 7) and (..., 6).

    Raises:
        UnknownNameError: no such library.
        ArgumentError: a wrong shape.

    >>> import robot_dynamics_ros as rd
    >>> q, v = rd.floating_base_to("mujoco", [0, 0, 1, 0, 0, 0, 1], [0, 0, 2, 3, 0, 0])
    >>> q.tolist(), v.tolist()
    ([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    """
    _check(library)
    q = as_input(q, (7,), "q")
    v = as_input(v, (6,), "v")
    place = q[..., :3]
    turn = q[..., 3:]
    if library == "pinocchio":
        return q.copy(), swap_halves(v)
    first = np.roll(turn, 1, axis=-1)
    linear = rotate(turn, v[..., 3:])
    if library == "mujoco":
        return np.concatenate((place, first), axis=-1), np.concatenate(
            (linear, v[..., :3]), axis=-1
        )
    return np.concatenate((first, place), axis=-1), np.concatenate(
        (rotate(turn, v[..., :3]), linear), axis=-1
    )


def floating_base_from(library: str, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """The inverse of :func:`floating_base_to`: from another library's convention to that of this
    package.

    Args:
        library, q, v: see there; (..., 7) and (..., 6) as the library has them.

    Raises:
        UnknownNameError: no such library.
        ArgumentError: a wrong shape.

    >>> import robot_dynamics_ros as rd
    >>> rd.floating_base_from("drake", [1, 0, 0, 0, 0, 0, 1], [0, 0, 2, 3, 0, 0])[0].tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    """
    _check(library)
    q = as_input(q, (7,), "q")
    v = as_input(v, (6,), "v")
    if library == "pinocchio":
        return q.copy(), swap_halves(v)
    if library == "drake":
        q = np.concatenate((q[..., 4:], q[..., :4]), axis=-1)
        v = swap_halves(v)
    turn = np.roll(q[..., 3:], -1, axis=-1)
    back = turn * [-1.0, -1.0, -1.0, 1.0]
    linear = rotate(back, v[..., :3])
    angular = v[..., 3:]
    if library == "drake":
        angular = rotate(back, angular)
    return np.concatenate((q[..., :3], turn), axis=-1), np.concatenate((angular, linear), axis=-1)


def _check(library: str) -> None:
    check_name("library", library, _LIBRARIES)
