"""Efforts as a linear function of the inertial parameters."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.algorithms.function import function
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Mat3, Motion, Scalar, Transform, Vec3

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Per body: mass, first moment m c, and rotational inertia about the body frame's origin."""


@function("joint_torque_regressor", "q v a", {"Y": ("nv", "np")}, per_pair=110)
def joint_torque_regressor(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
) -> list[list[Scalar]]:
    """Y(q, v, a) with τ = Y π (+ rotor inertia), π the parameters of all bodies of the model in
    order.

    A body's ten columns are the wrenches that it takes with unit parameters; each joint before it
    feels Sᵀ of them.

    Source: Atkeson, An and Hollerbach, *Estimation of inertial parameters of manipulator loads and
    links* (1986).
    """
    count = tree.model.nb
    Y: list[list[Any]] = [[0.0] * (10 * count) for _ in range(tree.nv)]
    number = {tree.model_body(k): k for k in range(count)}
    columns: Any = list[tuple[int, Motion]]
    S0 = tree.field(columns)
    motion = ForwardKinematics(tree, q, v, a, pose_of_root=Transform.identity())
    for i in motion.outward():
        pose = motion.pose[i]
        S0[i] = [(dof, pose.motion_back(column)) for dof, column in i.columns]
        # a massless body inside a planar joint
        if i not in number:
            continue
        first = 10 * number[i]
        for k, wrench in enumerate(_body_regressor(i.to_link(motion.v[i]), i.to_link(motion.a[i]))):
            force = pose.force_back(i.from_link(wrench))
            for j in (i, *tree.ancestors(i)):
                for dof, column in S0[j]:
                    Y[dof][first + k] = Y[dof][first + k] + column.dot(force)
    return Y


def _body_regressor(v: Motion, a: Motion) -> list[Force]:
    """The ten wrenches, about the body's origin, that unit parameters take at a given motion."""
    w = v.ang
    dw = a.ang
    # classical acceleration of the origin
    d = a.lin + w.cross(v.lin)
    zero = Vec3.zero()
    columns = [Force(zero, d)]
    for e in (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)):
        columns.append(Force(e.cross(d), dw.cross(e) + w.cross(w.cross(e))))
    for r in range(3):
        for c in range(r, 3):
            unit = [[0.0] * 3 for _ in range(3)]
            unit[r][c] = unit[c][r] = 1.0
            I = Mat3.of(unit)  # noqa: E741 - the book's name
            columns.append(Force(I.mul(dw) + w.cross(I.mul(w)), zero))
    return columns
