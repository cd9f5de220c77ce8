"""Denavit-Hartenberg tables, standard and modified (Craig), as input and as output.

    standard:  T_i = Rz(θ_i) Tz(d_i) Tx(a_i) Rx(α_i)             joint i turns about, or slides
    along, z of frame i − 1 modified:  T_i = Rx(α_i) Tx(a_i) Rz(θ_i) Tz(d_i)             about or
    along z of frame i; α_i, a_i lead there from i − 1

q adds to θ of revolute joints and to d of prismatic ones.  Sources: Siciliano et al., *Robotics*
(2009), section 2.8.2; Craig, *Introduction to Robotics*, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics_ros.arrays import real_number
from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.description import (
    Array,
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Pose,
    RobotDescription,
)
from robot_dynamics_ros.model.robot_model import DEFAULT_GRAVITY, RobotModel

CONVENTIONS = ("standard", "modified")
COINCIDENT_AXES = 1e-9
"""Angles between axes and distances below this count as zero."""


@dataclass(frozen=True)
class DHRow:
    """One row.

    Attributes:
        theta, d, a, alpha: rad, m, m, rad; at q = 0.
        prismatic: whether q adds to ``d`` instead of ``theta``.
        joint: name of the joint.
    """

    theta: float
    d: float
    a: float
    alpha: float
    prismatic: bool = False
    joint: str = ""


@dataclass(frozen=True, eq=False)
class DHTable:
    """The table of a serial chain, and the placements before its first and after its last frame.

    Attributes:
        rows: one for each joint.
        convention: ``"standard"`` or ``"modified"``.
        base: frame 0 in the root link's frame; tool: the tip in frame n.
    """

    rows: tuple[DHRow, ...]
    convention: str
    base: Pose = field(default_factory=Pose)
    tool: Pose = field(default_factory=Pose)

    def __str__(self) -> str:
        head = f"{'joint':>16} {'theta':>11} {'d':>11} {'a':>11} {'alpha':>11}"
        lines = [
            f"{r.joint or k + 1!s:>16} {r.theta:11.6g}{'' if r.prismatic else '+'} "
            f"{r.d:10.6g}{'+' if r.prismatic else ' '}"
            f"{r.a:11.6g} {r.alpha:11.6g}"
            for k, r in enumerate(self.rows)
        ]
        return "\n".join(
            [
                f"{self.convention} Denavit-Hartenberg table; q adds to what is marked +",
                head,
                *lines,
            ]
        )

    def pose(self, q: Sequence[float]) -> Array:
        """(4, 4) of the tip in the root link's frame, by the table."""
        T = self.base.matrix()
        for row, x in zip(self.rows, q, strict=True):
            theta = row.theta + (0.0 if row.prismatic else x)
            d = row.d + (x if row.prismatic else 0.0)
            turn = _screw("z", theta, d)
            across = _screw("x", row.alpha, row.a)
            if self.convention == "standard":
                T = T @ turn @ across
            else:
                T = T @ across @ turn
        return np.asarray(T @ self.tool.matrix())


def from_denavit_hartenberg(
    rows: Iterable[DHRow | Sequence[float]] | DHTable,
    *,
    convention: str = "standard",
    inertias: Sequence[Inertia] | None = None,
    limits: Sequence[JointLimits] | None = None,
    base: Pose | None = None,
    tool: Pose | None = None,
    gravity: Sequence[float] = DEFAULT_GRAVITY,
    name: str = "robot",
) -> RobotModel:
    """A robot from a Denavit-Hartenberg table.

    >>> import numpy as np
    >>> import robot_dynamics_ros as rd
    >>> arm = rd.from_denavit_hartenberg([(0, 0.4, 0, np.pi / 2), (0, 0, 0.5, 0), (0, 0, 0.3, 0)])
    >>> arm.joint_names, arm.link_names[-1]
    (('joint1', 'joint2', 'joint3'), 'tip')

    Args:
        gravity: (3,) gravitational acceleration in the base frame, m/s².
        name: of the robot.
        rows: :class:`DHRow` or (θ, d, a, α) of revolute joints; or a whole table, which brings
            convention, base, tool.
        inertias: of the links 1 … n in *their frame of the table* (frame i).  A table says nothing
            of mass: if not given, every link is a ball of 1 kg and 0.01 kg m² there, which is good
            for kinematics alone.
        limits: of the joints; none if not given.
        base, tool: see :class:`DHTable`.

    Returns:
        links ``base``, ``link1`` … (whose frames are at the joints, z their axes) and ``tip``;
        joints ``joint1`` … or as the rows name them.

    Raises:
        ArgumentError: rows that are none, or as many inertias or limits as there are rows were not
            given.
    """
    if isinstance(rows, DHTable):
        convention = rows.convention
        base = base or rows.base
        tool = tool or rows.tool
        rows = rows.rows
    if convention not in CONVENTIONS:
        raise ArgumentError(
            f"expected one of {', '.join(CONVENTIONS)}", where="convention", got=convention
        )
    table = [_row(row, k) for k, row in enumerate(rows)]
    n = len(table)
    if not n:
        raise ArgumentError(
            "the table has no rows", where="rows", remedy="Give one row for each joint."
        )
    for where, given in (("inertias", inertias), ("limits", limits)):
        if given is not None and len(given) != n:
            raise ArgumentError(f"expected {n}, one for each row, got {len(given)}", where=where)
    bodies = [Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))] * n if inertias is None else inertias
    bounds = [JointLimits()] * n if limits is None else limits
    links = [Link("base")]
    joints = []
    before = (base or Pose()).matrix()
    for k, row in enumerate(table):
        across = _screw("x", row.alpha, row.a)
        turn = _screw("z", row.theta, row.d)
        if convention == "standard":
            fixed = np.eye(4)
        else:
            fixed = across
        # the joint's frame: after the constant part of what stands before q on the left
        origin = before @ fixed @ (turn if row.prismatic else _screw("z", row.theta, 0.0))
        # d and θ commute
        if row.prismatic:
            after_joint = np.eye(4)
        else:
            after_joint = _screw("z", 0.0, row.d)
        if convention == "standard":
            to_frame = after_joint @ across
        else:
            to_frame = after_joint
        links.append(Link(f"link{k + 1}", bodies[k].in_parent(Pose.of(to_frame))))
        if row.prismatic:
            kind = JointType.PRISMATIC
        else:
            kind = JointType.CONTINUOUS
        place = links[k].name, links[k + 1].name, Pose.of(origin), np.array([0.0, 0.0, 1.0])
        joints.append(Joint(row.joint or f"joint{k + 1}", kind, *place, bounds[k]))
        before = to_frame
    links.append(Link("tip"))
    end = Pose.of(before @ (tool or Pose()).matrix())
    joints.append(Joint("tip_joint", JointType.FIXED, links[n].name, "tip", end))
    return RobotModel.from_description(
        RobotDescription(name, tuple(links), tuple(joints)), gravity=gravity
    )


def denavit_hartenberg(
    model: RobotModel,
    tip: str,
    *,
    convention: str = "standard",
) -> DHTable:
    """The table of the joints between the root link and ``tip``.

    Joints are revolute or prismatic; where axes are parallel or the same, so that there is a
    choice, the frame lies where d is zero.

    Args:
        tip: the last link.

    Raises:
        UnknownNameError: no such link.
        ModelError: a joint on the way that a table cannot hold (planar, floating, mimic), or none
            at all.
    """
    if convention not in CONVENTIONS:
        raise ArgumentError(
            f"expected one of {', '.join(CONVENTIONS)}", where="convention", got=convention
        )
    axes, points, path, tip_pose = _axes_at_zero(model, tip)
    frames = [_frame(axes, points, 0, points[0], np.eye(3)[int(np.argmin(np.abs(axes[0])))])]
    for k in range(1, len(path)):
        before = frames[-1]
        foot, n = _normal(axes, points, k - 1, before[:3, 3])
        # where the normal from the joint before meets this axis
        near = foot + ((points[k] - foot) @ n) * n
        frames.append(_frame(axes, points, k, near, before[:3, 0]))
    rows = []
    for k, name in enumerate(path):
        previous = frames[k - 1] if k else frames[0]
        x0 = previous[:3, 0]
        z0 = previous[:3, 2]
        o0 = previous[:3, 3]
        x1 = frames[k][:3, 0]
        z1 = frames[k][:3, 2]
        o1 = frames[k][:3, 3]
        alpha = np.arctan2(np.cross(z0, z1) @ x0, z0 @ z1)
        a = (o1 - o0) @ x0
        theta = np.arctan2(np.cross(x0, x1) @ z1, x0 @ x1)
        d = (o1 - o0 - a * x0) @ z1
        prismatic = model.joint(name).type is JointType.PRISMATIC
        rows.append(DHRow(_clean(theta), _clean(d), _clean(a), _clean(alpha), prismatic, name))
    base = Pose.of(frames[0])
    tool = Pose.of(np.linalg.inv(frames[-1]) @ tip_pose)
    # the α and a that lead to the next joint belong to the row of the one before
    if convention == "standard":
        ahead = [*((r.a, r.alpha) for r in rows[1:]), (0.0, 0.0)]
        rows = [
            DHRow(r.theta, r.d, a, alpha, r.prismatic, r.joint)
            for r, (a, alpha) in zip(rows, ahead, strict=True)
        ]
    return DHTable(tuple(rows), convention, base, tool)


def _axes_at_zero(model: RobotModel, tip: str) -> tuple[list[Array], list[Array], list[str], Array]:
    """Directions of and points on the joint axes on the way to a link, the joints, and the link's
    pose; root axes, q = 0.
    """
    model.link_index(tip)
    above = {j.child: j for j in model.description.joints}
    way = []
    link = tip
    while link in above:
        way.append(above[link])
        link = above[link].parent
    T = np.eye(4)
    axes = []
    points = []
    path = []
    for joint in reversed(way):
        T = T @ joint.origin.matrix()
        if joint.type is JointType.FIXED:
            continue
        if (
            joint.type not in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
            or joint.mimic is not None
        ):
            if joint.mimic is not None:
                kind = "a mimic joint"
            else:
                kind = joint.type.name.lower()
            problem = f"joint {joint.name!r} is {kind}: a table has no row for it"
            remedy = (
                "Name a link that revolute and prismatic joints alone carry, or lock the joint."
            )
            raise ModelError(problem, where=f"link {tip!r}", remedy=remedy)
        axes.append(T[:3, :3] @ joint.axis)
        points.append(T[:3, 3].copy())
        path.append(joint.name)
    if not path:
        raise ModelError(
            "no joint moves it", where=f"link {tip!r}", remedy="Name a link beyond a moving joint."
        )
    return axes, points, path, T


def _normal(
    axes: list[Array],
    points: list[Array],
    k: int,
    near: Array,
) -> tuple[Array, Array]:
    """Where the common normal of axes k and k + 1 begins on axis k, and its direction; for parallel
    axes through ``near``.
    """
    z0 = axes[k]
    z1 = axes[k + 1]
    p0 = points[k]
    p1 = points[k + 1]
    across = np.cross(z0, z1)
    size = float(np.linalg.norm(across))
    if size < COINCIDENT_AXES:
        foot = p0 + ((near - p0) @ z0) * z0
        between = p1 - foot - ((p1 - foot) @ z0) * z0
        if np.linalg.norm(between) < COINCIDENT_AXES:
            return foot, np.zeros(3)
        return foot, between / np.linalg.norm(between)
    n = across / size
    s = np.cross(p1 - p0, z1) @ across / size**2
    foot = p0 + s * z0
    gap = (p1 - p0) @ n
    return foot, n if gap > -COINCIDENT_AXES else -n


def _frame(
    axes: list[Array],
    points: list[Array],
    k: int,
    near: Array,
    wish: Array,
) -> Array:
    z = axes[k]
    origin = near
    x = np.zeros(3)
    if k + 1 < len(axes):
        origin, x = _normal(axes, points, k, near)
    if not x.any():
        x = wish - (wish @ z) * z
        if np.linalg.norm(x) < COINCIDENT_AXES:
            x = np.eye(3)[int(np.argmin(np.abs(z)))]
            x = x - (x @ z) * z
        x = x / np.linalg.norm(x)
    T = np.eye(4)
    T[:3, 0] = x
    T[:3, 1] = np.cross(z, x)
    T[:3, 2] = z
    T[:3, 3] = origin
    return T


def _row(row: DHRow | Sequence[float], k: int) -> DHRow:
    try:
        given = (row.theta, row.d, row.a, row.alpha) if isinstance(row, DHRow) else row
        theta, d, a, alpha = numbers = [real_number(x) for x in given]
        if isinstance(row, DHRow):
            done = row
        else:
            done = DHRow(theta, d, a, alpha)
    except (TypeError, ValueError):
        numbers = [np.nan]
    if not np.isfinite(numbers).all():
        raise ArgumentError(
            "expected theta, d, a, alpha: four finite numbers", where=f"row {k + 1}", got=row
        )
    return done


def _screw(axis: str, angle: float, shift: float) -> Array:
    """Turn about and shift along x or z."""
    T = np.eye(4)
    c = np.cos(angle)
    s = np.sin(angle)
    i, j = (0, 1) if axis == "z" else (1, 2)
    T[i, i] = c
    T[i, j] = -s
    T[j, i] = s
    T[j, j] = c
    T[2 if axis == "z" else 0, 3] = shift
    return T


def _clean(x: np.ndarray) -> float:
    return 0.0 if abs(x) < 1e-12 else float(x)
