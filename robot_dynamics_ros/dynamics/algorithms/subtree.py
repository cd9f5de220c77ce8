"""A link and everything beyond it, taken together: mass, centre of mass, inertia, momentum; and one link's inertia."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from robot_dynamics_ros.dynamics.algorithms.frames import FrameChoice
from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.joint_wrench import group_inertia, point_mass
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics, composite_inertia, net_force, transmit
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Force, Mat3, RigidInertia, Transform, Vec3


def subtree_mass(model: RobotModel, link: int) -> float:
    """Mass of a link and everything beyond it, kg."""
    return float(sum(model.link(model.link_names[k]).inertia.mass for k in link_tree(model).subtree(link)))


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
    tree: Tree[S], q: Vector[S], v: Vector[S], a: Vector[S], *, options: Options
) -> tuple[Vec3, Vec3, Vec3, Mat3, Vec3, Vec3]:
    """Position, velocity, acceleration of the subtree's centre of mass; inertia about it; linear and angular momentum.

    All in world axes; the angular momentum is about the centre of mass.
    """
    link, links = options["link"], link_tree(tree.model)
    top, _ = link_placement(tree, link)
    inside = {link_placement(tree, k)[0] for k in links.subtree(link)}
    total, momentum, rate = tree.field(RigidInertia), tree.field(Force), tree.field(Force)
    motion = ForwardKinematics(tree, q, v, a, gravity=False, pose_of_root=tree.base_transform())

    def start(i: Hashable, inertia: RigidInertia) -> None:
        total[i], momentum[i] = inertia, inertia.mul(motion.v[i])
        rate[i] = net_force(inertia, motion.v[i], motion.a[i])

    start(tree.root, RigidInertia.zero())
    for i in motion.outward():
        start(i, i.inertia if i in inside and i is not top else RigidInertia.zero())
    start(top, group_inertia(tree, links.fixed_group(link)))  # of this body only what is fixed beyond the link
    for _ in zip(composite_inertia(tree, motion.X, total), transmit(tree, motion.X, momentum, rate), strict=True):
        pass
    return _about_center(motion.pose[top], total[top], momentum[top], rate[top])


def _about_center(
    pose: Transform, inertia: RigidInertia, momentum: Force, rate: Force
) -> tuple[Vec3, Vec3, Vec3, Mat3, Vec3, Vec3]:
    m = inertia.m
    c = inertia.h * (1.0 / m)
    about_center = Transform(Mat3.identity(), c * -1.0).rigid_back(inertia).I  # in a frame whose origin is at c
    angular = momentum.ang - c.cross(momentum.lin)
    R = pose.E.T
    center, linear = pose.r + R.mul(c), R.mul(momentum.lin)
    velocity, acceleration = linear * (1.0 / m), R.mul(rate.lin) * (1.0 / m)
    return center, velocity, acceleration, R.T.congruence(about_center), linear, R.mul(angular)


@function("link_inertia", "q axes about", {"inertia": (3, 3)})
def _link_inertia(tree: Tree[S], q: Vector[S], axes: Sequence[S], about: Sequence[S], *, options: Options) -> Mat3:
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
