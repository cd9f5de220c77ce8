"""Kinematics: placements, motions and Jacobians of named links.

Conventions as in :mod:`robot_dynamics_ros.dynamics`.  World axes are those of the root link unless
the model has a base placement.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input, common_batch
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.dynamics.joint_space import mass_matrix_inverse
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

__all__ = [
    "link_pose",
    "link_poses",
    "link_velocities",
    "link_accelerations",
    "jacobian",
    "jacobian_derivative",
    "analytical_jacobian",
    "analytical_jacobian_derivative",
    "operational_space_inertia",
]

WORLD_AXES = "world"
JACOBIAN_AXES = (WORLD_AXES, "link")
REPRESENTATIONS = ("rpy", "quaternion")
ORIGIN = (0.0, 0.0, 0.0)
_ZEROS = np.zeros(3)

_link_pose = Public("link_pose", of_link=True)
_link_poses = Public("link_poses")
_link_velocities = Public("link_velocities")
_link_accelerations = Public("link_accelerations")
_jacobian_in_world = Public("jacobian", (("frame", "world"),), of_link=True)
_jacobian_in_link = Public("jacobian", (("frame", "link"),), of_link=True)
_jacobian = {"world": _jacobian_in_world, "link": _jacobian_in_link}
_jacobian_rate_in_world = Public("jacobian_rate", (("frame", "world"),), of_link=True)
_jacobian_rate_in_link = Public("jacobian_rate", (("frame", "link"),), of_link=True)
_jacobian_rate = {"world": _jacobian_rate_in_world, "link": _jacobian_rate_in_link}


def link_pose(model: RobotModel, q: ArrayLike, link: str) -> np.ndarray:
    """(..., 4, 4) placement of a link in the world frame, homogeneous matrices.

    >>> import robot_dynamics_ros as rd
    >>> rd.link_pose(rd.load_robot("two_link"), [0.0, 0.0], "tip")[:3, 3].round(6).tolist()
    [0.9, 0.0, 0.0]
    """
    run = _link_pose.run
    return run(model, link, q)


def link_poses(model: RobotModel, q: ArrayLike) -> np.ndarray:
    """(..., nl, 4, 4) placements of all links, in the order of ``model.link_names``, homogeneous
    matrices.
    """
    run = _link_poses.run
    return run(model, q)


def link_velocities(model: RobotModel, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """(..., nl, 6) [ω; velocity of the origin], rad/s and m/s, world axes, of all
    ``model.link_names``.
    """
    run = _link_velocities.run
    return run(model, q, v)


def link_accelerations(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
) -> np.ndarray:
    """(..., nl, 6) [ω̇; acceleration of the origin] of all links, without gravity, world axes,
    rad/s² and m/s².
    """
    run = _link_accelerations.run
    return run(model, q, v, a)


def jacobian(
    model: RobotModel,
    q: ArrayLike,
    link: str,
    *,
    offset: ArrayLike = ORIGIN,
    expressed_in: str = "world",
) -> np.ndarray:
    """(..., 6, nv) geometric Jacobian of a point of a link: J v = [ω; velocity of the point].

    >>> import robot_dynamics_ros as rd
    >>> arm, v = rd.load_robot("two_link"), [0.1, -0.2]
    >>> (rd.jacobian(arm, [0.3, 0.5], "tip") @ v)[:3].shape  # angular velocity, world axes
    (3,)
    """
    # the usual call goes straight to the router, by a name of the module: `publish` then leaves
    # this function without its own check of the model, which would take longer than the Jacobian
    # ("is": an array is equal to a text in no sense, and any other text "world" gets there, too)
    if offset is ORIGIN and expressed_in is WORLD_AXES:
        run = _jacobian_in_world.run
        return run(model, link, q, _ZEROS)
    run = _in_axes(_jacobian, expressed_in).run
    return run(model, link, q, _point(offset))


def jacobian_derivative(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    link: str,
    *,
    offset: ArrayLike = ORIGIN,
    expressed_in: str = "world",
) -> np.ndarray:
    """(..., 6, nv) time derivative of :func:`jacobian` along the motion ``v``; the point stays
    fixed to the link.

    In world axes J q̈ + J̇ v is the acceleration [ω̇; p̈] of the point.
    """
    if offset is ORIGIN and expressed_in is WORLD_AXES:
        run = _jacobian_rate_in_world.run
        return run(model, link, q, v, _ZEROS)
    run = _in_axes(_jacobian_rate, expressed_in).run
    return run(model, link, q, v, _point(offset))


def analytical_jacobian(
    model: RobotModel,
    q: ArrayLike,
    link: str,
    *,
    representation: str = "rpy",
) -> np.ndarray:
    """Jacobian to the rates of an orientation's coordinates: J v = [φ̇; velocity of the link's
    origin], world axes.

    (..., 6, nv) for ``rpy``, (..., 7, nv) for ``quaternion``.

    Raises:
        ArgumentError: at a pitch of ±90°, where roll-pitch-yaw rates do not exist.
    """
    J = jacobian(model, q, link)
    T = _rates(link_pose(model, q, link)[..., :3, :3], representation)
    return np.concatenate([T @ J[..., :3, :], J[..., 3:, :]], axis=-2)


def analytical_jacobian_derivative(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    link: str,
    *,
    representation: str = "rpy",
) -> np.ndarray:
    """(..., 6 or 7, nv) time derivative of :func:`analytical_jacobian`: Ṫ J + T J̇.

    Raises:
        ArgumentError: at a pitch of ±90° in ``rpy``.
    """
    q, v = _one_batch(model, q, v)
    J = jacobian(model, q, link)
    J_rate = jacobian_derivative(model, q, v, link)
    R = link_pose(model, q, link)[..., :3, :3]
    omega = np.einsum("...ij,...j->...i", J[..., :3, :], as_input(v, (model.nv,), "v"))
    T = _rates(R, representation)
    T_rate = _rates_derivative(R, omega, representation)
    return np.concatenate(
        [T_rate @ J[..., :3, :] + T @ J_rate[..., :3, :], J_rate[..., 3:, :]], axis=-2
    )


def _one_batch(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
) -> tuple[np.ndarray, np.ndarray]:
    """Configurations and velocities with the same leading dimensions."""
    positions = as_input(q, (model.nq,), "q")
    speeds = as_input(v, (model.nv,), "v")
    lead = common_batch({"q": positions.shape[:-1], "v": speeds.shape[:-1]}, "q and v")
    positions = np.broadcast_to(positions, (*lead, model.nq))
    return positions, np.broadcast_to(speeds, (*lead, model.nv))


def operational_space_inertia(
    model: RobotModel,
    q: ArrayLike,
    link: str,
    *,
    offset: ArrayLike = ORIGIN,
    expressed_in: str = "world",
    damping: float = 0.0,
) -> np.ndarray:
    """(..., 6, 6) Λ = (J M⁻¹ Jᵀ + damping² 1)⁻¹: the inertia felt when pushing on a point of a
    link.

    Raises:
        ArgumentError: the Jacobian has not full row rank and there is no damping, or the damping is
            no finite number.

    Source: Khatib, *A unified approach for motion and force control of robot manipulators* (1987).
    """
    expect(
        isinstance(damping, (int, float, np.number)) and 0.0 <= damping < np.inf,
        "a finite number, not negative",
        damping,
        "damping",
        "0 is none; 0.01 is usual.",
    )
    J = jacobian(model, q, link, offset=offset, expressed_in=expressed_in)
    mobility = J @ mass_matrix_inverse(model, q) @ np.swapaxes(J, -1, -2)
    if damping:
        mobility = mobility + damping**2 * np.eye(6)
    else:
        values = np.linalg.eigvalsh(mobility)
        if np.any(values[..., 0] <= 1e-13 * values[..., -1]):
            raise ArgumentError(
                "the link cannot move in all six directions here, so its operational-space "
                "inertia is infinite in some",
                where=f"link {link!r}",
                remedy="Pass damping (0.01, say), or stay away from the singularity.",
            )
    return np.linalg.inv(mobility)


def _point(offset: ArrayLike) -> np.ndarray:
    if offset is ORIGIN:
        return _ZEROS
    return as_input(offset, (3,), "offset")


def _in_axes(functions: dict[str, Public], axes: str) -> Public:
    # an array cannot be looked up: a TypeError
    try:
        return functions[axes]
    except (KeyError, TypeError):
        raise UnknownNameError("frame", axes, JACOBIAN_AXES, where="expressed_in") from None


def _matrix(rows: list[list[np.ndarray]]) -> np.ndarray:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rpy_of(R: np.ndarray) -> np.ndarray:
    """(..., 3) roll, pitch, yaw about fixed x, y, z of rotation matrices (..., 3, 3): R = Rz(y)
    Ry(p) Rx(r).
    """
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
    return np.stack(
        [np.arctan2(R[..., 2, 1], R[..., 2, 2]), pitch, np.arctan2(R[..., 1, 0], R[..., 0, 0])],
        axis=-1,
    )


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """(..., 4) unit quaternions (x, y, z, w), w ≥ 0, of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    quaternions = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat()
    return np.where(quaternions[:, 3:] < 0.0, -quaternions, quaternions).reshape(*R.shape[:-2], 4)


def _rates(R: np.ndarray, representation: str) -> np.ndarray:
    """T with T ω = rates of the orientation's coordinates, ω in world axes."""
    if representation == "quaternion":
        return _quaternion_rates(quaternion_of(R))
    if representation != "rpy":
        raise UnknownNameError("representation", representation, REPRESENTATIONS)
    _, p, y = np.moveaxis(rpy_of(R), -1, 0)
    if np.any(np.abs(np.cos(p)) < 1e-9):
        raise ArgumentError(
            "roll-pitch-yaw rates do not exist at a pitch of ±90°",
            where="representation",
            got="rpy",
            remedy="Use representation='quaternion', or the geometric Jacobian.",
        )
    zero = np.zeros_like(p)
    one = np.ones_like(p)
    sy = np.sin(y)
    cy = np.cos(y)
    tp = np.tan(p)
    cp = np.cos(p)
    rows = [[cy / cp, sy / cp, zero], [-sy, cy, zero], [cy * tp, sy * tp, one]]
    return _matrix(rows)


def _rates_derivative(R: np.ndarray, omega: np.ndarray, representation: str) -> np.ndarray:
    rate = np.einsum("...ij,...j->...i", _rates(R, representation), omega)
    if representation == "quaternion":
        # T is linear in the quaternion
        return _quaternion_rates(rate)
    _, p, y = np.moveaxis(rpy_of(R), -1, 0)
    _, dp, dy = np.moveaxis(rate, -1, 0)
    zero = np.zeros_like(p)
    sy = np.sin(y)
    cy = np.cos(y)
    sp = np.sin(p)
    cp = np.cos(p)
    c2 = cp * cp
    rows = [
        [-sy / cp * dy + cy * sp / c2 * dp, cy / cp * dy + sy * sp / c2 * dp, zero],
        [-cy * dy, -sy * dy, zero],
        [-sy * sp / cp * dy + cy / c2 * dp, cy * sp / cp * dy + sy / c2 * dp, zero],
    ]
    return _matrix(rows)


def _quaternion_rates(quaternion: np.ndarray) -> np.ndarray:
    """(..., 4, 3) with q̇ = ½ [ω, 0] ⊗ q for ω in world axes."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rows = [[w, z, -y], [-z, w, x], [y, -x, w], [-x, -y, -z]]
    return 0.5 * _matrix(rows)
