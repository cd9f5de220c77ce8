"""The whole robot, or a link and everything beyond it: energies, centre of mass, momentum, inertia,
seen from the world.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.frames import FrameChoice
from robot_dynamics_ros.dynamics.algorithms.function import Export, Options, function
from robot_dynamics_ros.dynamics.algorithms.joint_wrench import group_inertia, point_mass
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.algorithms.passes import (
    ForwardKinematics,
    composite_inertia,
    net_force,
    transmit,
)
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Mat3, RigidInertia, Scalar, Transform, Vec3


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
    """m c of a body in the world frame, where ``pose`` places its frame."""
    return pose.r * inertia.m + pose.E.tmul(inertia.h)


@function(
    "potential_energy",
    "q",
    {"energy": ()},
    per_body=35,
    exports=(
        Export(
            "Potential energy, zero for masses at the world's origin.",
            {"energy": "energy"},
            default=True,
        ),
    ),
)
def potential_energy(tree: Tree[S], q: Vector[S]) -> Scalar:
    """−Σ m gᵀ c, zero where the world origin is; the root body included."""
    return (-tree.gravity()).dot(mass_moment(tree, q))


@function(
    "center_of_mass",
    "q",
    {"position": (3,)},
    per_body=85,
    exports=(Export("Centre of mass of the whole robot in the world.", {"position": "position"}),),
)
def mass_center(tree: Tree[S], q: Vector[S]) -> Vec3:
    """Centre of mass in the world frame, the root link included."""
    return mass_moment(tree, q) * (1.0 / tree.total_mass())


@function("centroidal_momentum_matrix", "q", {"A": (6, "nv")})
def centroidal_momentum_matrix(tree: Tree[S], q: Vector[S]) -> list[list[Scalar]]:
    """A with A v = [angular momentum about the centre of mass; linear momentum] in world axes.

    Source: Orin, Goswami and Lee, *Centroidal dynamics of a humanoid robot* (2013); in the root
    frame each column is composite inertia times subspace.
    """
    frame = RootFrame(tree, q)
    c = mass_center(tree, q)
    base = tree.base_transform()
    rows: list[list[Any]] = [[0.0] * tree.nv for _ in range(6)]
    for i in tree.outward():
        for (dof, _), column in zip(i.columns, frame.S[i], strict=True):
            h = base.force_back(frame.inertia[i].mul(column))
            about_c = Force(h.ang - c.cross(h.lin), h.lin)
            for row, value in zip(rows, about_c.parts(), strict=True):
                row[dof] = row[dof] + value
    return rows


@function(
    "center_of_mass_motion", "q v a", {"position": (3,), "velocity": (3,), "acceleration": (3,)}
)
def mass_center_motion(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
) -> tuple[Vec3, Vec3, Vec3]:
    """Position, velocity and acceleration of the centre of mass in the world frame."""
    momentum = tree.field(Force)
    rate = tree.field(Force)
    momentum[tree.root] = rate[tree.root] = Force.zero()
    motion = ForwardKinematics(tree, q, v, a, gravity=False)
    for i in motion.outward():
        momentum[i] = i.inertia.mul(motion.v[i])
        rate[i] = net_force(i.inertia, motion.v[i], motion.a[i])
    # the sums arrive at the root as the pass goes on
    for _ in transmit(tree, motion.X, momentum, rate):
        pass
    to_root = tree.base_transform().E
    scale = 1.0 / tree.total_mass()
    velocity = to_root.tmul(momentum[tree.root].lin) * scale
    acceleration = to_root.tmul(rate[tree.root].lin) * scale
    return mass_center(tree, q), velocity, acceleration


@function(
    "subtree_state",
    "q v a base",
    {
        "position": (3,),
        "velocity": (3,),
        "acceleration": (3,),
        "inertia": (3, 3),
        "linear_momentum": (3,),
        "angular_momentum": (3,),
    },
)
def subtree_state(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    *,
    options: Options,
) -> tuple[Vec3, Vec3, Vec3, Mat3, Vec3, Vec3]:
    """Position, velocity, acceleration of the subtree's centre of mass; inertia about it; linear
    and angular momentum.

    All in world axes; the angular momentum is about the centre of mass.
    """
    link = options["link"]
    links = link_tree(tree.model)
    top, _ = link_placement(tree, link)
    inside = {link_placement(tree, k)[0] for k in links.subtree(link)}
    total = tree.field(RigidInertia)
    momentum = tree.field(Force)
    rate = tree.field(Force)
    motion = ForwardKinematics(tree, q, v, a, gravity=False, pose_of_root=tree.base_transform())

    def start(i: Hashable, inertia: RigidInertia) -> None:
        total[i] = inertia
        momentum[i] = inertia.mul(motion.v[i])
        rate[i] = net_force(inertia, motion.v[i], motion.a[i])

    start(tree.root, RigidInertia.zero())
    for i in motion.outward():
        start(i, i.inertia if i in inside and i is not top else RigidInertia.zero())
    # of this body only what is rigidly attached to the link
    start(top, group_inertia(tree, links.fixed_group(link)))
    for _ in zip(
        composite_inertia(tree, motion.X, total),
        transmit(tree, motion.X, momentum, rate),
        strict=True,
    ):
        pass
    m = total[top].m
    R = motion.pose[top].E.T
    c = total[top].h * (1.0 / m)
    # in a frame whose origin is at c
    about_center = Transform(Mat3.identity(), c * -1.0).rigid_back(total[top]).I
    linear = R.mul(momentum[top].lin)
    angular = R.mul(momentum[top].ang - c.cross(momentum[top].lin))
    center = motion.pose[top].r + R.mul(c)
    acceleration = R.mul(rate[top].lin) * (1.0 / m)
    return center, linear * (1.0 / m), acceleration, R.T.congruence(about_center), linear, angular


@function("link_inertia", "q axes about", {"inertia": (3, 3)})
def _link_inertia(
    tree: Tree[S],
    q: Vector[S],
    axes: Sequence[S],
    about: Sequence[S],
    *,
    options: Options,
) -> Mat3:
    """Rotational inertia of one link, about the point and in the axes that the options choose."""
    frames = FrameChoice(tree, options, q)
    link = options["link"]
    m, c, I = tree.link_inertia(link)  # noqa: E741 - the book's name
    own = frames.link(link)
    turn = frames.axes(options["axes"], axes).T.matmul(own.R)
    if options["about"] != "com":
        point = own.R.tmul(frames.point(options["about"], about) - own.p)
        I = I + point_mass(m, c - point)  # noqa: E741
    return turn.T.congruence(I)
