"""The entries of the table: each brings an algorithm's inputs and outputs into flat form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.centroidal import centroidal_matrix, mass_center, mass_center_motion
from robot_dynamics_ros.dynamics.algorithms.coriolis import coriolis_matrix
from robot_dynamics_ros.dynamics.algorithms.derivatives import inverse_dynamics_derivatives
from robot_dynamics_ros.dynamics.algorithms.energy import kinetic_energy, potential_energy
from robot_dynamics_ros.dynamics.algorithms.forward_dynamics import articulated_body
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import external_efforts, newton_euler
from robot_dynamics_ros.dynamics.algorithms.kinematics import (
    jacobian_and_rate,
    motion_of_point,
    placements,
)
from robot_dynamics_ros.dynamics.algorithms.linear_solve import (
    back_substitute,
    factorize,
    inverse_of_factors,
    solve_symmetric,
)
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import composite_rigid_body_best
from robot_dynamics_ros.dynamics.algorithms.motion_rate import applied_efforts, configuration_rate
from robot_dynamics_ros.dynamics.algorithms.regressor import joint_torque_regressor
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options, enter, sizes
from robot_dynamics_ros.spatial import Transform, Vec3

__all__ = ["TABLE", "Options", "sizes"]


def _base(tree: Any, values: list[Any]) -> None:
    if values:
        tree.move_base(values[:6], values[6:])


def _zeros(tree: Any) -> list[Any]:
    return [0.0] * tree.nv


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [x for row in rows for x in row]


def _homogeneous(pose: Transform) -> list[Any]:
    R, p = pose.E.T, pose.r
    return [*R.a.parts(), p.x, *R.b.parts(), p.y, *R.c.parts(), p.z, 0.0, 0.0, 0.0, 1.0]


@enter("inverse_dynamics", "q v a external base", tau=("nv",))
def _inverse_dynamics(tree: Any, options: Any, q: Any, v: Any, a: Any, ext: Any, base: Any) -> Any:
    _base(tree, base)
    tau, _ = newton_euler(tree, q, v, a, tree.external_forces(ext))
    return [tau]


@enter("inverse_dynamics_wrenches", "q v a external base", tau=("nv",), wrenches=("nj", 6))
def _inverse_dynamics_wrenches(tree: Any, options: Any, q: Any, v: Any, a: Any, ext: Any, base: Any) -> Any:
    _base(tree, base)
    tau, f = newton_euler(tree, q, v, a, tree.external_forces(ext))
    return [tau, tree.per_joint(f)]


@enter("external_efforts", "q external", tau=("nv",))
def _external_efforts(tree: Any, options: Any, q: Any, ext: Any) -> Any:
    return [external_efforts(tree, q, tree.external_forces(ext))]


@enter("bias_forces", "q v external base", tau=("nv",))
def _bias_forces(tree: Any, options: Any, q: Any, v: Any, ext: Any, base: Any) -> Any:
    return _inverse_dynamics(tree, options, q, v, _zeros(tree), ext, base)


@enter("gravity_forces", "q", tau=("nv",))
def _gravity_forces(tree: Any, options: Any, q: Any) -> Any:
    tau, _ = newton_euler(tree, q, _zeros(tree), _zeros(tree))
    return [tau]


@enter("forward_dynamics", "q v tau external base", a=("nv",))
def _forward_dynamics(tree: Any, options: Any, q: Any, v: Any, tau: Any, ext: Any, base: Any) -> Any:
    _base(tree, base)
    forces = tree.external_forces(ext)
    if not tree.model.has_mimic:
        return [articulated_body(tree, q, v, tau, forces)]
    bias, _ = newton_euler(tree, q, v, _zeros(tree), forces)
    M = composite_rigid_body_best(tree, q)
    return [solve_symmetric(M.rows, [t - b for t, b in zip(tau, bias, strict=True)])]


@enter("mass_matrix", "q", M=("nv", "nv"))
def _mass_matrix(tree: Any, options: Any, q: Any) -> Any:
    return [composite_rigid_body_best(tree, q).flat()]


@enter("mass_matrix_factors", "q", L=("nv", "nv"), D=("nv",))
def _mass_matrix_factors(tree: Any, options: Any, q: Any) -> Any:
    L, inverse = factorize(composite_rigid_body_best(tree, q).rows)
    n = tree.nv
    full = [[L[i][j] if j < i else (1.0 if i == j else 0.0) for j in range(n)] for i in range(n)]
    return [_flat(full), [1.0 / d for d in inverse]]


@enter("mass_matrix_inverse", "q", Minv=("nv", "nv"))
def _mass_matrix_inverse(tree: Any, options: Any, q: Any) -> Any:
    return [_flat(inverse_of_factors(*factorize(composite_rigid_body_best(tree, q).rows)))]


@enter("mass_matrix_solve", "q tau", x=("nv",))
def _mass_matrix_solve(tree: Any, options: Any, q: Any, tau: Any) -> Any:
    return [back_substitute(*factorize(composite_rigid_body_best(tree, q).rows), tau)]


@enter("coriolis_matrix", "q v", C=("nv", "nv"))
def _coriolis_matrix(tree: Any, options: Any, q: Any, v: Any) -> Any:
    return [_flat(coriolis_matrix(tree, q, v))]


@enter("inverse_dynamics_derivatives", "q v a external", dtau_dq=("nv", "nv"), dtau_dv=("nv", "nv"))
def _inverse_dynamics_derivatives(tree: Any, options: Any, q: Any, v: Any, a: Any, ext: Any) -> Any:
    by_q, by_v = inverse_dynamics_derivatives(tree, q, v, a, tree.external_forces(ext))
    return [_flat(by_q), _flat(by_v)]


@enter("joint_torque_regressor", "q v a", Y=("nv", "np"))
def _joint_torque_regressor(tree: Any, options: Any, q: Any, v: Any, a: Any) -> Any:
    return [_flat(joint_torque_regressor(tree, q, v, a))]


@enter("kinetic_energy", "q v", energy=())
def _kinetic_energy(tree: Any, options: Any, q: Any, v: Any) -> Any:
    return [[kinetic_energy(tree, q, v)]]


@enter("potential_energy", "q", energy=())
def _potential_energy(tree: Any, options: Any, q: Any) -> Any:
    return [[potential_energy(tree, q)]]


@enter("center_of_mass", "q", position=(3,))
def _center_of_mass(tree: Any, options: Any, q: Any) -> Any:
    return [mass_center(tree, q).parts()]


@enter("center_of_mass_motion", "q v a", position=(3,), velocity=(3,), acceleration=(3,))
def _center_of_mass_motion(tree: Any, options: Any, q: Any, v: Any, a: Any) -> Any:
    return [x.parts() for x in mass_center_motion(tree, q, v, a)]


@enter("centroidal_momentum_matrix", "q", A=(6, "nv"))
def _centroidal_momentum_matrix(tree: Any, options: Any, q: Any) -> Any:
    rows, _ = centroidal_matrix(tree, q)
    return [_flat(rows)]


@enter("link_pose", "q", pose=(4, 4))
def _link_pose(tree: Any, options: Any, q: Any) -> Any:
    (pose,) = placements(tree, q, [options["link"]])
    return [_homogeneous(pose)]


@enter("link_poses", "q", poses=("nl", 4, 4))
def _link_poses(tree: Any, options: Any, q: Any) -> Any:
    return [_flat(_homogeneous(pose) for pose in placements(tree, q, range(len(tree.model.link_names))))]


@enter("link_motions", "q v a", velocities=("nl", 6), accelerations=("nl", 6))
def _link_motions(tree: Any, options: Any, q: Any, v: Any, a: Any) -> Any:
    velocities, accelerations = [], []
    for velocity, acceleration in motion_of_point(tree, q, v, a, range(len(tree.model.link_names)), Vec3.zero()):
        velocities += velocity.parts()
        accelerations += acceleration.parts()
    return [velocities, accelerations]


@enter("jacobian", "q point", J=(6, "nv"))
def _jacobian(tree: Any, options: Any, q: Any, point: Any) -> Any:
    J, _ = jacobian_and_rate(tree, q, None, options["link"], Vec3.of(point), options["frame"])
    return [_flat(J)]


@enter("jacobian_rate", "q v point", Jdot=(6, "nv"))
def _jacobian_rate(tree: Any, options: Any, q: Any, v: Any, point: Any) -> Any:
    _, rate = jacobian_and_rate(tree, q, v, options["link"], Vec3.of(point), options["frame"])
    return [_flat(rate)]


@enter("motion_rate", "q v tau friction stops step", q_rate=("nq",), v_rate=("nv",))
def _motion_rate(tree: Any, options: Any, q: Any, v: Any, tau: Any, friction: Any, stops: Any, step: Any) -> Any:
    efforts, inertia = applied_efforts(tree, q, v, tau, friction, stops, step[0])
    tree.add_armature(inertia)
    (acceleration,) = _forward_dynamics(tree, options, q, v, efforts, [], [])
    return [configuration_rate(tree, q, v), acceleration]
