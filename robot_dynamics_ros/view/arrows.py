"""Forces and moments as arrows in the world: where they act, how long they are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import WRENCH_PARTS, joint_wrenches, link_poses, wrench_balance
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.configuration import random_configuration
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# Configurations at rest whose wrenches give the length of arrows: more change it by little.
_RESTS = 32
_NOISE = 1e-9
"""Share of the weight (times the size, for moments) below which an arrow is rounding noise and has
no length.
"""


@dataclass(frozen=True, eq=False)
class Arrows:
    """Wrenches in the world: points (n, 3) m where they act, forces and moments about these, (n, 3)
    in world axes.
    """

    names: tuple[str, ...]
    points: Array
    forces: Array
    moments: Array

    def segments(self, what: str, scale: float, noise: float = 0.0) -> Array:
        """(n, 2, 3) m, start and end of the ``"forces"`` or ``"moments"``; those up to the noise
        have no length.
        """
        vectors = getattr(self, what)
        vectors = np.where(np.linalg.norm(vectors, axis=1, keepdims=True) > noise, vectors, 0.0)
        return np.stack([self.points, self.points + scale * vectors], axis=1)


class ArrowScale(NamedTuple):
    """How long wrenches are drawn: m per N, and m per N m."""

    force: float
    moment: float

    def text(self) -> str:
        """The scale in words, e.g. ``0.1 m = 50 N, 20 N m``."""
        return f"0.1 m = {0.1 / self.force:.3g} N, {0.1 / self.moment:.3g} N m"


def link_ends(model: RobotModel) -> list[list[Array]]:
    """Of each link (3,) m in its frame: the origins of the joints that it carries, or its centre of
    mass at the tree's ends.
    """
    links = link_tree(model)
    ends = [
        [model.joint(links.joint_of[c]).origin.position for c in children]
        for children in links.children
    ]
    bodies = [model.link(name).inertia for name in model.link_names]
    return [own or [body.com] * (body.mass > 0.0) for own, body in zip(ends, bodies, strict=True)]


def robot_size(model: RobotModel) -> float:
    """How large the robot is, m: the length of the longest chain from the root to a link or its
    centre of mass.
    """
    links = link_tree(model)
    reach = [0.0] * len(model.link_names)
    longest = 0.0
    for k, name in enumerate(model.link_names):
        if k:
            step = model.joint(links.joint_of[k]).origin.position
            reach[k] = reach[links.parent[k]] + float(np.linalg.norm(step))
        longest = max(
            longest, reach[k], reach[k] + float(np.linalg.norm(model.link(name).inertia.com))
        )
    return longest if longest > 1e-6 else 1.0


def centres_of_mass(model: RobotModel, poses: Array) -> tuple[Array, Array]:
    """(n, 3) and (3,) m: centres of the links that have mass, and of the robot, by the poses of all
    links.
    """
    bodies = [model.link(name).inertia for name in model.link_names]
    masses = np.array([body.mass for body in bodies])
    coms = np.array([body.com for body in bodies])
    heavy = masses > 0.0
    points = np.einsum("nij,nj->ni", poses[heavy, :3, :3], coms[heavy]) + poses[heavy, :3, 3]
    return points, masses[heavy] @ points / masses[heavy].sum() if heavy.any() else np.zeros(3)


def nice_scale(longest: float, largest: float) -> float:
    """A length per unit of 1, 2 or 5 times a power of ten, so that ``largest`` is drawn no longer
    than ``longest``.
    """
    if not (largest > 0.0 and math.isfinite(largest)):
        largest = 1.0
    exact = longest / largest
    power = 10.0 ** math.floor(math.log10(exact))
    return next(step * power for step in (5.0, 2.0, 1.0) if step * power <= exact * (1.0 + 1e-9))


def sensible_scale(
    model: RobotModel,
    forces: Array | None = None,
    moments: Array | None = None,
) -> ArrowScale:
    """A scale by which the largest of the forces and moments, (..., 3), is some 40 % of the robot's
    size.

    Without any, they are those in the moving joints of the robot at rest, initially and in some
    configurations within its limits.
    """
    if forces is None and moments is None and model.joint_names:
        some = np.vstack(
            [model.initial_configuration(), random_configuration(model, 1, size=_RESTS)]
        )
        zero = np.zeros((len(some), model.nv))
        rows = np.asarray(joint_wrenches(model, some, zero, zero, joints=model.joint_names))
        forces = rows[..., 3:]
        moments = rows[..., :3]
    size = robot_size(model)
    weight = model.total_mass * float(np.linalg.norm(model.gravity)) or model.total_mass * 9.81

    def largest(vectors: Array | None, least: float) -> float:
        if vectors is None or not np.size(vectors):
            return least
        lengths = np.linalg.norm(np.asarray(vectors), axis=-1)
        return max(float(lengths[np.isfinite(lengths)].max(initial=0.0)), 0.05 * least)

    return ArrowScale(
        nice_scale(0.4 * size, largest(forces, weight)),
        nice_scale(0.4 * size, largest(moments, 0.15 * weight * size)),
    )


def link_arrows(
    model: RobotModel,
    q: ArrayLike,
    names: tuple[str, ...],
    links: list[str],
    wrenches: Array,
) -> Arrows:
    """Named arrows of wrenches (n, 6) in link axes about the origins of n links."""
    poses = link_poses(model, q)[[model.link_index(link) for link in links]].reshape(-1, 4, 4)
    moments, forces = (
        np.einsum("nij,nj->ni", poses[:, :3, :3], half) for half in np.split(wrenches, 2, axis=1)
    )
    return Arrows(names, poses[:, :3, 3], forces, moments)


def arrows_at_joints(model: RobotModel, q: ArrayLike, wrenches: Array) -> Arrows:
    """Arrows of the moving joints' wrenches (n, 6) in world axes, at the joints' origins."""
    link_of = link_tree(model).link_of
    points = link_poses(model, q)[[link_of[name] for name in model.joint_names]].reshape(-1, 4, 4)[
        :, :3, 3
    ]
    return Arrows(model.joint_names, points, wrenches[:, 3:], wrenches[:, :3])


def joint_arrows(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external: Mapping[str, ArrayLike] | None = None,
) -> Arrows:
    """The wrench in every moving joint, as the parent side exerts it on the child link, at the
    joint's origin.
    """
    if not model.joint_names:
        return arrows_at_joints(model, q, np.empty((0, 6)))
    rows = joint_wrenches(
        model, q, v, a, external=external, joints=model.joint_names, expressed_in="world"
    )
    return arrows_at_joints(model, q, rows)


def balance_arrows(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    joint: str,
    observer: str = "world",
    external: Mapping[str, ArrayLike] | None = None,
) -> Arrows:
    """The joint wrench and the parts of its balance as an observer sees it, all at the joint's
    origin.
    """
    link = model.joint(joint).child
    balance = wrench_balance(
        model, q, v, a, link, observer=observer, external=external, expressed_in="world"
    )
    names = ("joint", *WRENCH_PARTS)
    rows = np.stack([balance[name] for name in names])
    point = link_poses(model, q)[model.link_index(link), :3, 3]
    return Arrows(names, np.broadcast_to(point, (len(names), 3)), rows[:, 3:], rows[:, :3])


def external_arrows(
    model: RobotModel,
    q: ArrayLike,
    external: Mapping[str, ArrayLike],
) -> Arrows:
    """Wrenches on links (link name → (6,) [moment; force] in link axes about the link's origin)."""
    rows = np.array([*external.values()], dtype=float).reshape(-1, 6)
    return link_arrows(model, q, tuple(external), [*external], rows)


def noise_of(model: RobotModel) -> tuple[float, float]:
    """Force in N and moment in N m below which what was computed for this robot is rounding."""
    weight = model.total_mass * max(float(np.linalg.norm(model.gravity)), 1.0)
    return _NOISE * weight, _NOISE * weight * robot_size(model)
