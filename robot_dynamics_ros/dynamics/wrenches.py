"""Joint wrenches in any frame, and their balance in the frame of a moving observer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.algorithms.joint_wrench import BALANCE_PARTS
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.call import MovingBase, call
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches
from robot_dynamics_ros.dynamics.kinematics import link_pose, link_poses
from robot_dynamics_ros.dynamics.reference_frame import (
    WORLD,
    FrameLike,
    PointLike,
    axes_of,
    frame_of,
    observer_of,
    point_of,
)
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError, check_name
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect
from robot_dynamics_ros.wrench import Wrench

__all__ = [
    "joint_wrenches",
    "joint_wrench",
    "wrench_on_link",
    "wrench_balance",
    "WrenchBalance",
    "all_joint_names",
    "WRENCH_PARTS",
]

_joint_wrenches = Public("own_joint_wrenches")
CHILD_AXES = "child"
JOINT_ORIGIN = "joint"

WRENCH_PARTS = BALANCE_PARTS[1:]
"""Names of the parts of a :class:`WrenchBalance`: ``dynamic``, then everything it is the sum of
beside the joint wrench.
"""


def all_joint_names(model: RobotModel) -> tuple[str, ...]:
    """Every joint, moving, mimic and fixed, in the order of their child links
    ``model.link_names[1:]``.
    """
    return link_tree(model).joint_names


def joint_wrenches(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    external: Wrenches = None,
    base: MovingBase | None = None,
    joints: str | Sequence[str] | None = None,
    expressed_in: FrameLike = "child",
    reduced_at: PointLike = "joint",
) -> np.ndarray:
    """(..., joints, 6) joint wrenches: [moment; force] that the parent side exerts on the child
    link, N m and N.

    Reduced to the joint's origin and expressed in the child link's frame unless asked otherwise.
    The component along the joint axis is the joint effort (less the effort that turns the rotor,
    where the model has one).  A fixed joint carries everything beyond it.

    Args:
        joints: which ones, by name, fixed and mimic joints too; ``"all"``: every joint, in the
            order of :func:`all_joint_names`; not given: ``model.joint_names``.
        expressed_in: whose axes: ``"child"`` or ``"parent"`` link of each joint, the name of a
            link, ``"world"``, or a :class:`Frame`.
        reduced_at: about which point: ``"joint"``, each joint's own origin; the origin of a link by
            name, of the ``"world"`` or of a :class:`Frame`; or a pair (link, offset in its frame).

    >>> import robot_dynamics_ros as rd
    >>> two_link = rd.load_robot("two_link")
    >>> rd.joint_wrenches(two_link, "zero", [0.0, 0.0], [0.0, 0.0]).shape  # [moment; force] each
    (2, 6)
    """
    # "is" comes first because it costs nothing where nothing is chosen
    own_axes = expressed_in is CHILD_AXES or _is_text(expressed_in, CHILD_AXES)
    own_point = reduced_at is JOINT_ORIGIN or _is_text(reduced_at, JOINT_ORIGIN)
    if joints is None and own_axes and own_point:
        if external is None and base is None:
            run = _joint_wrenches.run
            return run(model, q, v, a)
        return call(model, "own_joint_wrenches", (q, v, a), external, None, base)
    options, more = axes_and_point(model, expressed_in, reduced_at)
    options = (*options, ("joints_of", chosen_links(model, joints)))
    return call(model, "joint_wrenches", (q, v, a), external, None, base, options, more)


def _is_text(value: FrameLike | PointLike, text: str) -> bool:
    """Whether a value is this text; an array that is given by mistake cannot be compared with
    it.
    """
    return isinstance(value, str) and value == text


def chosen_links(model: RobotModel, joints: str | Sequence[str] | None) -> tuple[int, ...]:
    """Numbers of the child links of the joints named."""
    links = link_tree(model)
    if joints is None:
        names: Sequence[str] = model.joint_names
    elif isinstance(joints, str):
        if joints == "all" and "all" not in links.link_of:
            names = links.joint_names
        else:
            names = (joints,)
    else:
        remedy = "Name them in a list, or write 'all'."
        expect(bool(np.iterable(joints)), "names of joints", joints, "joints", remedy)
        names = tuple(joints)
    for name in names:
        check_name("joint", name, links.joint_names, where="joints")
    return tuple(links.link_of[name] for name in names)


def axes_and_point(
    model: RobotModel,
    expressed_in: FrameLike,
    reduced_at: PointLike,
    words: Sequence[str] = ("child", "parent"),
    *,
    own: str = "joint",
    where: tuple[str, str] = ("expressed_in", "reduced_at"),
) -> tuple[Options, tuple[Array, ...]]:
    """Options and inputs of a compiled function for axes and a point; ``words`` and ``own`` are its
    own names for such.
    """
    options, more = axes_of(model, expressed_in, where[0], words)
    if isinstance(reduced_at, str) and reduced_at == own and own not in model.link_names:
        return (*options, ("about", own)), more
    link, offset = point_of(model, reduced_at, where[1], (own,))
    options = (*options, ("about", link))
    if offset is None:
        return (options, more)
    return ((*options, ("own_point", True)), (*more, offset[..., None, :]))


def joint_wrench(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    joint: str,
    *,
    external: Wrenches = None,
    base: MovingBase | None = None,
    expressed_in: str = "child",
) -> Wrench:
    """The wrench of one joint at one state, as a :class:`Wrench` with its point and frame.

    Args:
        joint: by name; fixed and mimic joints too.
        expressed_in: ``"child"``, ``"parent"``, the name of a link, or ``"world"``.

    Returns:
        about the joint's origin.

    Raises:
        UnknownNameError: no such joint or frame.
    """
    (link,) = chosen_links(model, (joint,))
    rows = joint_wrenches(
        model, q, v, a, external=external, base=base, joints=(joint,), expressed_in=expressed_in
    )
    expect(
        rows.ndim == 2,
        "one state",
        f"batch {rows.shape[:-2]}",
        "joint_wrench",
        "Use joint_wrenches for batches.",
    )
    names = model.link_names
    frame = {"child": names[link], "parent": names[link_tree(model).parent[link]]}.get(
        expressed_in, expressed_in
    )
    origin = link_pose(model, q, names[link])[:3, 3]
    if frame == WORLD and WORLD not in names:
        pose = np.eye(4)
    else:
        pose = link_pose(model, q, frame)
    return Wrench.from_vector(rows[0], pose[:3, :3].T @ (origin - pose[:3, 3]), frame)


@dataclass(frozen=True, eq=False)
class WrenchBalance:
    """The balance of wrenches on one link, in the frame of a moving observer.

    dynamic = joint + dalembert + euler + centrifugal + coriolis + gravity + distal + external

    Each is (..., 6), [moment; force]: ``dynamic`` is what the motion *as the observer sees it*
    needs; the four fictitious wrenches come from the observer's own motion; ``distal`` is what the
    joints beyond the link exert on it. ``joint``, what the parent exerts on the link, is the same
    for every observer.

    Attributes:
        link, joint_name: the link, and the joint above it.
        parts: :data:`WRENCH_PARTS` by name.
        joint: the joint wrench, ``dynamic`` minus all other parts.
    """

    link: str
    joint_name: str
    joint: Array
    parts: Mapping[str, Array] = field(repr=False)

    def __getitem__(self, name: str) -> Array:
        """A part by name, or ``"joint"``; raises :class:`UnknownNameError` if there is none of that
        name.
        """
        if name == "joint":
            return self.joint
        if name not in self.parts:
            raise UnknownNameError("wrench part", name, BALANCE_PARTS)
        return self.parts[name]

    @property
    def fictitious(self) -> Array:
        """(..., 6) D'Alembert, Euler, centrifugal and Coriolis wrench together."""
        return self["dalembert"] + self["euler"] + self["centrifugal"] + self["coriolis"]


def wrench_balance(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    link: str,
    *,
    observer: FrameLike = WORLD,
    external: Wrenches = None,
    base: MovingBase | None = None,
    expressed_in: FrameLike = "observer",
    reduced_at: PointLike = "joint",
) -> WrenchBalance:
    """The wrench of the joint above a link, computed in a moving observer's frame, with its parts.

    Args:
        link: the link whose balance it is; all joints beyond it, fixed ones too, make up
            ``distal``.
        observer: a link by name, ``"world"``, or a :class:`Frame` that may move relative to either.
        expressed_in: ``"observer"``, ``"child"`` (the link itself), ``"parent"``, a link,
            ``"world"`` or a :class:`Frame`.
        reduced_at: ``"joint"``, the origin of the joint above the link, or another point as for
            :func:`joint_wrenches`.

    Raises:
        ArgumentError: the root link, which no joint carries.
        UnknownNameError: no such link or frame.

    Source: for point masses in the plane, the balance of wrenches in any frame of biomechanics'
    inverse dynamics (Dumas, Aissaoui and de Guise 2004); fictitious forces as in any text on
    relative motion.
    """
    number, expressed_in = balanced_link(model, link, expressed_in)
    options, more = axes_and_point(model, expressed_in, reduced_at, ("observer",))
    seen_from, rows = observer_of(model, observer, "observer")
    options = (*options, ("link", number), *seen_from)
    more = (*rows, *more)
    rows = call(model, "wrench_balance", (q, v, a), external, None, base, options, more)
    parts = {name: rows[..., k, :] for k, name in enumerate(BALANCE_PARTS)}
    joint = link_tree(model).joint_of[number]
    return WrenchBalance(link, joint, parts.pop("joint"), MappingProxyType(parts))


def balanced_link(
    model: RobotModel,
    link: str,
    expressed_in: FrameLike,
) -> tuple[int, FrameLike]:
    """Number of a link whose balance is asked for, and whose axes, ``"child"`` and ``"parent"`` by
    the link's name.
    """
    number = model.link_index(link)
    if number == 0:
        raise ArgumentError(
            f"link {link!r} is the root: no joint carries it",
            where="link",
            got=link,
            remedy=f"Choose one of {', '.join(model.link_names[1:21])}.",
        )
    own = {"child": link, "parent": model.link_names[link_tree(model).parent[number]]}
    if isinstance(expressed_in, str) and expressed_in not in model.link_names:
        expressed_in = own.get(expressed_in, expressed_in)
    return number, expressed_in


def wrench_on_link(
    model: RobotModel,
    q: ArrayLike,
    link: str,
    *,
    force: ArrayLike = (0.0, 0.0, 0.0),
    moment: ArrayLike = (0.0, 0.0, 0.0),
    offset: ArrayLike = (0.0, 0.0, 0.0),
    expressed_in: FrameLike | None = None,
) -> np.ndarray:
    """(..., 6) wrench of a force and moment at a point of a link, in any axes, as the ``external``
    argument takes it:

    [moment; force] about the link's origin, in the link's axes.

    >>> import robot_dynamics_ros as rd
    >>> model = rd.limb(2)
    >>> push = rd.wrench_on_link(model, [0.3, 0.2], "tip", force=(0, -10, 0), expressed_in="world")
    >>> rd.inverse_dynamics(model, [0.3, 0.2], [0, 0], [0, 0], external={"tip": push}).shape
    (2,)

    Args:
        force, moment: (..., 3) that the surroundings exert, the moment about the point.
        offset: (..., 3) the point, in the link's frame.
        expressed_in: whose axes force and moment are in: the link's own if not given, another
            link's, ``"world"``, or a :class:`Frame`.
    """
    model.link_index(link)
    q = as_input(q, (model.nq,), "q")
    F, M, r = (
        as_input(x, (3,), n) for x, n in ((force, "force"), (moment, "moment"), (offset, "offset"))
    )
    if expressed_in is not None and expressed_in != link:
        number, frame = frame_of(model, expressed_in, "expressed_in")
        poses = link_poses(model, q)[..., :3, :3]
        R = np.swapaxes(poses[..., model.link_index(link), :, :], -1, -2)
        if number >= 0:
            R = R @ poses[..., number, :, :]
        if frame is not None:
            R = R @ frame.rotation
        F, M = (np.einsum("...ij,...j->...i", R, x) for x in (F, M))
    parts = np.broadcast_arrays(M + np.cross(r, F), F)
    return np.concatenate(parts, axis=-1)
