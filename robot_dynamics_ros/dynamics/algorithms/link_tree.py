"""The links of a robot as a tree, fixed joints included: which link is joined to which."""

from __future__ import annotations

from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel


class LinkTree:
    """The links of a model as a tree.  Constant; made once per model.

    Attributes:
        joint_names: every joint, fixed and mimic ones included, in the order of
            ``model.link_names[1:]``.
        joint_of: by link number, the name of the joint above it; ``""`` for the root.
        link_of: joint name → number of its child link.
        children: by link number, the numbers of the child links.
        parent: by link number, the parent link; −1 for the root.
        fixed: by link number, whether the joint above it is fixed.
    """

    def __init__(self, model: RobotModel) -> None:
        n = len(model.link_names)
        self.parent = [-1] * n
        self.children: list[list[int]] = [[] for _ in range(n)]
        self.joint_of = [""] * n
        self.fixed = [True] * n
        for joint in model.description.joints:
            child = model.link_index(joint.child)
            parent = model.link_index(joint.parent)
            self.parent[child] = parent
            self.joint_of[child] = joint.name
            self.fixed[child] = joint.name in model.fixed_joint_names
        for child in range(1, n):
            self.children[self.parent[child]].append(child)
        self.joint_names = tuple(self.joint_of[1:])
        self.link_of = {name: k for k, name in enumerate(self.joint_of) if name}

    def fixed_group(self, link: int) -> list[int]:
        """The link and what fixed joints join to it on the side of the tips: part of one body."""
        links = [link]
        for k in links:
            links += [c for c in self.children[k] if self.fixed[c]]
        return links

    def moving_children(self, link: int) -> list[int]:
        """Child links of the moving joints attached to the :meth:`fixed_group` of a link."""
        return [c for k in self.fixed_group(link) for c in self.children[k] if not self.fixed[c]]

    def subtree(self, link: int) -> list[int]:
        """The link and all links beyond it."""
        links = [link]
        for k in links:
            links += self.children[k]
        return links


@once_per_model
def link_tree(model: RobotModel) -> LinkTree:
    """The model's link tree, made on first use."""
    return LinkTree(model)


def number_of_pairs(model: RobotModel) -> int:
    """Pairs of a body and one that carries it, or itself: the sum of the bodies' distances from the
    root.
    """
    depth = [0] * model.nb
    for i, parent in enumerate(model.parent.tolist()):
        depth[i] = 1 + (depth[parent] if parent >= 0 else 0)
    return sum(depth)


def tied(model: RobotModel) -> bool:
    """Whether coordinates depend on each other in a way that no recursion over bodies can see: by
    mimic joints, by rotors that turn with two joints, or by rotors or friction of a free joint's
    coordinates.
    """
    own = model.armature + model.damping + model.friction
    free = (
        model.v_slice(name)
        for name in model.joint_names
        if model.joint(name).type is JointType.FLOATING
    )
    return (
        model.has_mimic
        or bool(model.coupled_rotors)
        or any(own[coordinates].any() for coordinates in free)
    )
