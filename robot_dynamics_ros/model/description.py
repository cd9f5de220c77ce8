"""A robot description: links and joints, before any dynamics, and where a joint's coordinates put
its child link.

These are small immutable values.  :mod:`robot_dynamics_ros.model.urdf` makes them from a URDF,
:mod:`robot_dynamics_ros.model.generate` from a number, and
:class:`~robot_dynamics_ros.model.robot_model.RobotModel` turns them into the arrays that the
algorithms read.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros import spatial
from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError

Array = NDArray[np.float64]
Configurations = Mapping[str, Mapping[str, tuple[float, ...]]]
"""Name of a configuration → joint → its coordinates."""


def frozen_array(values: object, shape: tuple[int, ...]) -> Array:
    """A read-only float64 copy of ``values`` in ``shape``.

    Raises:
        ArgumentError: ``values`` are not numbers, or not as many as ``shape`` holds.
    """
    try:
        array = np.array(values, dtype=np.float64).reshape(shape)
    except (TypeError, ValueError):
        problem = f"expected numbers of shape {shape}, got {values!r}"
        remedy = (
            "Positions, axes and centres of mass have three entries, rotations and inertias "
            "three by three."
        )
        raise ArgumentError(problem, where="array", remedy=remedy) from None
    array.setflags(write=False)
    return array


class Rebuilt:
    """A dataclass whose copies and pickles are built anew: their arrays and mappings are read-only
    again.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        values = [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)


class JointType(enum.IntEnum):
    """The joint types of URDF."""

    FIXED = 0
    REVOLUTE = 1
    CONTINUOUS = 2
    PRISMATIC = 3
    FLOATING = 4
    PLANAR = 5

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return {0: 0, 1: 1, 2: 1, 3: 1, 4: 7, 5: 3}[int(self)]

    @property
    def nv(self) -> int:
        """Number of velocity coordinates (degrees of freedom)."""
        return {0: 0, 1: 1, 2: 1, 3: 1, 4: 6, 5: 3}[int(self)]

    @property
    def units(self) -> tuple[str, str, str]:
        """Units of position, velocity and effort; empty where coordinates differ in unit."""
        if self is JointType.PRISMATIC:
            return "m", "m/s", "N"
        if self.nv == 1:
            return "rad", "rad/s", "N m"
        return "", "rad/s or m/s", "N m or N"


@dataclass(frozen=True, slots=True, eq=False)
class Pose(Rebuilt):
    """A rigid placement of a child frame in a parent frame.

    Attributes:
        rotation: (3, 3) rotation matrix; columns are the child axes expressed in the parent frame.
        position: (3,) child origin in the parent frame, metres.
    """

    rotation: Array = field(default_factory=lambda: frozen_array(np.eye(3), (3, 3)))
    position: Array = field(default_factory=lambda: frozen_array(np.zeros(3), (3,)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen_array(self.rotation, (3, 3)))
        object.__setattr__(self, "position", frozen_array(self.position, (3,)))

    @classmethod
    def from_rpy(
        cls,
        xyz: Sequence[float] = (0.0, 0.0, 0.0),
        rpy: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> Pose:
        """The ``<origin>`` of URDF: R = Rz(yaw) Ry(pitch) Rx(roll), fixed axes, radians."""
        angles = real_array_or_nan(rpy)
        if angles.shape != (3,):
            raise ArgumentError("expected three angles, rad", where="rpy", got=rpy)
        roll, pitch, yaw = angles.tolist()
        cr = math.cos(roll)
        sr = math.sin(roll)
        cp = math.cos(pitch)
        sp = math.sin(pitch)
        cy = math.cos(yaw)
        sy = math.sin(yaw)
        rotation = [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
        return cls(frozen_array(rotation, (3, 3)), frozen_array(xyz, (3,)))

    @classmethod
    def of(cls, value: object) -> Pose:
        """A pose from a pose, a (4, 4) homogeneous matrix, or None (identity).

        Raises:
            ArgumentError: not one of these, not finite, or the rotation is none.
        """
        if value is None:
            return cls()
        if isinstance(value, Pose):
            rotation = value.rotation
            position = value.position
        else:
            try:
                matrix = np.array(value, dtype=np.float64)
            except (TypeError, ValueError):
                matrix = np.empty(0)
            if matrix.shape != (4, 4) or not np.array_equal(matrix[3], (0.0, 0.0, 0.0, 1.0)):
                problem = "expected a Pose or a (4, 4) homogeneous matrix"
                remedy = "Pose.from_rpy((x, y, z), (roll, pitch, yaw)) makes one."
                raise ArgumentError(problem, where="pose", got=value, remedy=remedy)
            rotation = matrix[:3, :3]
            position = matrix[:3, 3]
        off = np.abs(rotation @ rotation.T - np.eye(3)).max()
        if not (np.isfinite(position).all() and off < 1e-6 and np.linalg.det(rotation) > 0.0):
            problem = (
                "the position is not finite or the rotation matrix is not one (R Rᵀ = 1, det R = "
                "+1)"
            )
            remedy = "Pose.from_rpy((x, y, z), (roll, pitch, yaw)) makes a right one."
            raise ArgumentError(problem, where="pose", got=value, remedy=remedy)
        if isinstance(value, Pose):
            return value
        return cls(frozen_array(rotation, (3, 3)), frozen_array(position, (3,)))

    def rpy(self) -> tuple[float, float, float]:
        """Roll, pitch and yaw of :meth:`from_rpy`; at a pitch of ±90° one of the many solutions."""
        R = self.rotation
        yaw = math.atan2(R[1, 0], R[0, 0])
        pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
        # Roll is read off Rz(-yaw) R, so that it makes up for the arbitrary yaw where cos(pitch)
        # vanishes.
        s = math.sin(yaw)
        c = math.cos(yaw)
        roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
        return roll, pitch, yaw

    def __matmul__(self, other: Pose) -> Pose:
        """Placement of ``other``'s child frame in this pose's parent frame."""
        return Pose(self.rotation @ other.rotation, self.position + self.rotation @ other.position)

    def inverse(self) -> Pose:
        """The parent frame seen from the child frame."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)

    def matrix(self) -> Array:
        """(4, 4) homogeneous matrix."""
        out = np.eye(4)
        out[:3, :3] = self.rotation
        out[:3, 3] = self.position
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Inertia(Rebuilt):
    """Mass properties of one rigid body, in the frame of its link.

    Attributes:
        mass: kg.
        com: (3,) centre of mass in the link frame, m.
        rotational: (3, 3) rotational inertia about the centre of mass, link-frame axes, kg m².
    """

    mass: float = 0.0
    com: Array = field(default_factory=lambda: frozen_array(np.zeros(3), (3,)))
    rotational: Array = field(default_factory=lambda: frozen_array(np.zeros((3, 3)), (3, 3)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "com", frozen_array(self.com, (3,)))
        object.__setattr__(self, "rotational", frozen_array(self.rotational, (3, 3)))

    def in_parent(self, pose: Pose) -> Inertia:
        """The same body described in the parent frame of ``pose`` (I → R I Rᵀ, c → R c + p)."""
        R = pose.rotation
        return Inertia(self.mass, R @ self.com + pose.position, R @ self.rotational @ R.T)

    def about_origin(self) -> Array:
        """(3, 3) rotational inertia about the frame's origin: I_C + m (cᵀc 1 − c cᵀ), kg m²."""
        c = self.com
        return self.rotational + self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies rigidly joined, both described in the same frame."""
        for one, rest in ((self, other), (other, self)):
            if one.mass == 0.0 and not one.rotational.any():
                # exactly: nothing is added, so nothing may be rounded
                return rest
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia(0.0, np.zeros(3), self.rotational + other.rotational)
        com = (self.mass * self.com + other.mass * other.com) / mass

        def shifted(body: Inertia) -> Array:
            d = body.com - com
            return body.rotational + body.mass * (d @ d * np.eye(3) - np.outer(d, d))

        return Inertia(mass, com, shifted(self) + shifted(other))


@dataclass(frozen=True, slots=True)
class JointLimits:
    """Limits of one joint; infinite where none are given.

    Attributes:
        lower, upper: position limits, rad or m.
        velocity: largest speed, rad/s or m/s.
        effort: largest effort, N m or N.
        acceleration, deceleration: largest acceleration away from rest and towards it, rad/s² or
            m/s²; URDF has them from 1.2 on.
        soft_lower, soft_upper: positions at which a driver with a safety controller begins to act
            against the motion, rad or m.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    deceleration: float = math.inf
    soft_lower: float = -math.inf
    soft_upper: float = math.inf


@dataclass(frozen=True, slots=True)
class Mimic:
    """The constraint ``q = multiplier * q_of(joint) + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Coupling:
    """A motor that turns with two joints: its speed is u = v + ``ratio`` · v of ``joint``, v that
    of the joint that has it.

    Attributes:
        joint: the neighbour, the joint just before or just after.
        ratio: not zero.
        damping, friction, armature: viscous and Coulomb friction and reflected rotor inertia at u,
            beside the joint's own.
        width: rad/s or m/s, over which controllers smooth the step of its dry friction.
    """

    joint: str
    ratio: float = 1.0
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    width: float = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One link; ``inertia`` is zero mass where the source gives none."""

    name: str
    inertia: Inertia = field(default_factory=Inertia)


@dataclass(frozen=True, slots=True, eq=False)
class Joint(Rebuilt):
    """One joint.

    Attributes:
        origin: placement of the joint frame (= child link frame at zero position) in the parent
            link frame.
        axis: (3,) unit axis in the joint frame; for a planar joint the plane's normal.
        damping: viscous friction, N m s/rad or N s/m.
        friction: Coulomb friction, N m or N.
        armature: reflected rotor inertia, kg m² or kg.
        rotor_inertia: N² J of a motor that :func:`~robot_dynamics_ros.model.motors.add_rotors` put
            on the joint, kg m² or kg; adds to ``armature``.
        coupling: a motor that turns with this joint and a neighbour.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: frozen_array([1.0, 0.0, 0.0], (3,)))
    limits: JointLimits = field(default_factory=JointLimits)
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    rotor_inertia: float = 0.0
    coupling: Coupling | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", frozen_array(self.axis, (3,)))


@dataclass(frozen=True, slots=True, eq=False)
class RobotDescription(Rebuilt):
    """The content of a robot description.

    Attributes:
        name: robot name.
        links, joints: in the order of the source.
        initial_positions: joint name → position, from ``<ros2_control>`` ``initial_value`` where
            given.
        configurations: name → joint → coordinates, from an SRDF or keyframes of an MJCF file.
        source: the URDF the description was read from (visuals and all), ``""`` if it was made or
            edited.
        findings: unusual but usable things in the source, one sentence each.
        inertia_check: treatment of physically impossible inertias, ``"error"``, ``"warn"`` or
            ``"repair"`` (:mod:`robot_dynamics_ros.model.checks`).
        path: the file it was read from, where relative mesh addresses start; ``""`` if it was no
            file.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    initial_positions: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    findings: tuple[str, ...] = ()
    inertia_check: str = "warn"
    path: str = ""
    configurations: Configurations = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "configurations", MappingProxyType(dict(self.configurations)))
        object.__setattr__(self, "links", tuple(self.links))
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(
            self, "initial_positions", MappingProxyType(dict(self.initial_positions))
        )
        object.__setattr__(self, "findings", tuple(self.findings))

    def with_joints(
        self,
        armature: Mapping[str, float] = MappingProxyType({}),
        friction: Mapping[str, float] = MappingProxyType({}),
        damping: Mapping[str, float] = MappingProxyType({}),
    ) -> RobotDescription:
        """The description with other rotors (kg m² or kg), friction (N m or N) and damping (N m
        s/rad or N s/m) of the joints with these names.
        """
        given: dict[str, Mapping[str, Any]] = {
            "armature": armature,
            "friction": friction,
            "damping": damping,
        }
        joints = [
            replace(j, **{w: x[j.name] for w, x in given.items() if j.name in x})
            for j in self.joints
        ]
        return replace(self, joints=tuple(joints), source="")


def plane_axes(normal: Array) -> tuple[Array, Array]:
    """The unit vectors along which the x and y of a planar joint count, in the joint frame.

    With the normal they form a right-handed frame.  For a normal along a coordinate axis they are
    the next two axes in cyclic order (the second one reversed for a negative normal); in general,
    the first lies in the plane of the normal and the axis that follows the normal's largest
    component.
    """
    k = int(np.argmax(np.abs(normal)))
    following = np.zeros(3)
    following[(k + 1) % 3] = 1.0
    y = np.cross(normal, following)
    y /= np.linalg.norm(y)
    return np.cross(y, normal), y


def joint_pose(joint: Joint, q: Array) -> Pose:
    """Placement of the child link in the joint frame; ``q``, (nq,), is a mimic joint's own
    coordinate, not its master's.
    """
    kind = joint.type
    if kind is JointType.FIXED:
        return Pose()
    if kind is JointType.PRISMATIC:
        return Pose(position=joint.axis * q[0])
    if kind is JointType.PLANAR:
        x, y = plane_axes(joint.axis)
        return Pose(_rotation_about(joint.axis, float(q[2])), x * q[0] + y * q[1])
    if kind is JointType.FLOATING:
        return Pose(rotation_of_quaternion(q[3:7]), frozen_array(q[:3], (3,)))
    return Pose(_rotation_about(joint.axis, float(q[0])))


def _rotation_about(axis: Array, angle: float) -> Array:
    """Rodrigues: R = 1 + sin φ [a]× + (1 − cos φ) [a]×²."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)


def rotation_of_quaternion(quaternion: Array) -> Array:
    """(3, 3) rotation matrix of a quaternion [x, y, z, w] of any length but zero."""
    return np.array(
        spatial.rotation_of_quaternion(*(quaternion / np.linalg.norm(quaternion))).parts()
    ).reshape(3, 3)
