"""From a heap of joints to one tree: order, merging of fixed links, mimic joints, and what makes a
tree unusable.
"""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import Joint, JointType, Pose, RobotDescription


def _connections(
    description: RobotDescription,
) -> tuple[set[str], dict[str, Joint], dict[str, list[Joint]]]:
    """Names of the links; link → the joint that carries it, and those that it carries.

    Raises:
        ModelError: two of one name, a link that does not exist, or a link with two parents.
    """
    names: set[str] = set()
    for link in description.links:
        if link.name in names:
            raise ModelError(
                "two links have this name",
                where=f"link {link.name!r}",
                remedy="Rename one of them.",
            )
        names.add(link.name)
    if not names:
        raise ModelError(
            "the robot has no links",
            where=f"robot {description.name!r}",
            remedy="Add at least one <link>.",
        )
    parent_joint: dict[str, Joint] = {}
    children: dict[str, list[Joint]] = {name: [] for name in names}
    seen: set[str] = set()
    for joint in description.joints:
        where = f"joint {joint.name!r}"
        if joint.name in seen:
            raise ModelError("two joints have this name", where=where, remedy="Rename one of them.")
        seen.add(joint.name)
        for role, link_name in (("parent", joint.parent), ("child", joint.child)):
            if link_name not in names:
                remedy = (
                    f"Add <link name={link_name!r}> or correct the name; the links are "
                    f"{', '.join(sorted(names)[:20])}."
                )
                raise ModelError(
                    f"its {role} link {link_name!r} does not exist", where=where, remedy=remedy
                )
        if joint.child in parent_joint:
            problem = (
                f"link {joint.child!r} already hangs on joint {parent_joint[joint.child].name!r}"
            )
            remedy = (
                "A link has one parent joint; kinematic loops are not supported, so cut the loop "
                "at one joint."
            )
            raise ModelError(problem, where=where, remedy=remedy)
        parent_joint[joint.child] = joint
        children[joint.parent].append(joint)
    return names, parent_joint, children


def walk(
    description: RobotDescription,
) -> tuple[list[Joint], list[Joint], dict[str, tuple[str | None, Pose]]]:
    """Moving joints, fixed joints, and each link's (moving joint, placement in its body), all depth
    first.
    """
    names, parent_joint, children = _connections(description)
    root = _root(description, parent_joint)

    order: list[Joint] = []
    fixed: list[Joint] = []
    placement: dict[str, tuple[str | None, Pose]] = {root: (None, Pose())}
    stack = [root]
    # a stack, not recursion: chains of a thousand links are ordinary here
    while stack:
        link_name = stack.pop()
        joint_in = parent_joint.get(link_name)
        if joint_in is not None:
            if joint_in.type is JointType.FIXED:
                fixed.append(joint_in)
                body, pose = placement[joint_in.parent]
                placement[link_name] = (body, pose @ joint_in.origin)
            else:
                order.append(joint_in)
                placement[link_name] = (joint_in.name, Pose())
        stack.extend(joint.child for joint in reversed(children[link_name]))
    if lost := sorted(names - placement.keys()):
        problem = (
            f"link {lost[0]!r} cannot be reached from the root {root!r}: its joints form a cycle"
        )
        raise ModelError(
            problem,
            where=f"robot {description.name!r}",
            remedy="Remove the joint that closes the cycle.",
        )
    return order, fixed, placement


def _root(description: RobotDescription, parent_joint: Mapping[str, Joint]) -> str:
    """The only link without a parent joint."""
    roots = [link.name for link in description.links if link.name not in parent_joint]
    if not roots:
        problem = "every link is the child of some joint: the joints form a cycle"
        raise ModelError(
            problem,
            where=f"robot {description.name!r}",
            remedy="Remove the joint that closes the cycle.",
        )
    if len(roots) > 1:
        problem = f"there are {len(roots)} root links: {', '.join(roots[:10])}"
        remedy = (
            "Join them into one tree with joints (fixed ones will do), or load them as separate "
            "robots."
        )
        raise ModelError(problem, where=f"robot {description.name!r}", remedy=remedy)
    return roots[0]


def resolve_mimics(
    order: list[Joint], number: Mapping[str, int]
) -> tuple[list[int], list[float], list[float]]:
    """Master body, multiplier and offset of each body, chains of mimics followed to the end."""
    masters = []
    multipliers = []
    offsets = []
    for i, joint in enumerate(order):
        k = 1.0
        d = 0.0
        last = i
        visited = {i}
        while (mimic := order[last].mimic) is not None:
            where = f"joint {order[last].name!r} <mimic>"
            if mimic.joint not in number:
                remedy = (
                    "Name one of: " + ", ".join(n for n in number if n != order[last].name) + "."
                )
                raise ModelError(
                    f"it mimics {mimic.joint!r}, which is not a moving joint",
                    where=where,
                    remedy=remedy,
                )
            d += k * mimic.offset
            k *= mimic.multiplier
            last = number[mimic.joint]
            if last in visited:
                problem = "the mimic joints follow each other in a circle"
                raise ModelError(
                    problem,
                    where=where,
                    got=mimic.joint,
                    remedy="Let one of them stand on its own.",
                )
            visited.add(last)
        if last != i and (joint.type.nq != 1 or order[last].type.nq != 1):
            problem = (
                f"a {joint.type.name.lower()} joint cannot mimic a "
                f"{order[last].type.name.lower()} joint"
            )
            remedy = "Both joints of a mimic pair must have one degree of freedom."
            raise ModelError(problem, where=f"joint {joint.name!r} <mimic>", remedy=remedy)
        masters.append(-1 if last == i else last)
        multipliers.append(k)
        offsets.append(d)
    return masters, multipliers, offsets
