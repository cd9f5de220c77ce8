"""Kinetic and potential energy of the whole robot."""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import Export, function
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import RigidInertia, Scalar, Transform, Vec3


@function(
    "kinetic_energy",
    "q v",
    {"energy": ()},
    per_body=90,
    exports=(Export("Kinetic energy, rotors included.", {"energy": "energy"}, default=True),),
)
def kinetic_energy(tree: Tree[S], q: Vector[S], v: Vector[S]) -> S:
    """½ Σ v_iᵀ I_i v_i over all bodies, rotors included."""
    motion = ForwardKinematics(tree, q, v)
    twice: S = 0.0  # type: ignore[assignment]
    for i in motion.outward():
        twice = twice + motion.v[i].dot(i.inertia.mul(motion.v[i]))
    for dof in tree.degrees():
        twice = twice + (tree.armature(dof) * v[dof]) * v[dof]
    for j, k, inertia in tree.model.coupled_rotors:
        twice = twice + (2.0 * inertia * v[j]) * v[k]
    return 0.5 * twice


def mass_moment(tree: Tree[S], q: Vector[S]) -> Vec3:
    """Σ m c in the world frame, the root body included."""
    placed = ForwardKinematics(tree, q, pose_of_root=tree.base_transform())
    moment = _in_world(placed.pose[tree.root], tree.root_inertia())
    for i in placed.outward():
        moment = moment + _in_world(placed.pose[i], i.inertia)
    return moment


def _in_world(pose: Transform, inertia: RigidInertia) -> Vec3:
    return pose.r * inertia.m + pose.E.tmul(inertia.h)


@function(
    "potential_energy",
    "q",
    {"energy": ()},
    per_body=35,
    exports=(Export("Potential energy, zero for masses at the world's origin.", {"energy": "energy"}, default=True),),
)
def potential_energy(tree: Tree[S], q: Vector[S]) -> Scalar:
    """−Σ m gᵀ c, zero where the world origin is; the root body included."""
    return (-tree.gravity()).dot(mass_moment(tree, q))
