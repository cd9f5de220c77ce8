"""The constant model that every algorithm reads: flat arrays, one row a moving body.

Joints are numbered depth first from the root, children in the order of the source.  Links joined by
fixed joints are merged into one *body*; body ``i`` is what joint ``i`` moves, its frame is the
frame of that joint's child link, and its parent is body ``parent[i]`` (−1: the root body, which
does not move).  Merged links keep their names, placements and mass properties, so that poses and
wrenches can still be asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError, check_name
from robot_dynamics_ros.model import edit
from robot_dynamics_ros.model.assemble import assemble
from robot_dynamics_ros.model.description import (
    Array,
    Configurations,
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    RobotDescription,
)
from robot_dynamics_ros.model.srdf import read_srdf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_T = TypeVar("_T")
DEFAULT_GRAVITY = (0.0, 0.0, -9.81)
BACKENDS = ("native", "loops", "numpy", "interpreted")
"""Ways to compute the dynamics: machine code, compiled loops over the tree, NumPy, the algorithms
as written.
"""


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A robot, frozen.  Make one with :func:`load_urdf`, or from a :class:`RobotDescription` with
    :meth:`from_description`.

    Positions ``q`` have ``nq`` entries, velocities, accelerations and efforts ``nv``. They differ
    only for floating joints: ``q`` = [x, y, z, qx, qy, qz, qw] (placement of the child in the joint
    frame), ``v`` = [ω; v], the angular and linear velocity of the child expressed in the child
    frame. Planar joints have q = [x, y, θ] and v = q̇ (x and y along
    :func:`~robot_dynamics_ros.model.description.plane_axes`). A mimic joint owns no entry: it reads
    its master's.

    Attributes:
        name: robot name.
        description: the description that the model was made from.
        gravity: (3,) gravitational acceleration in the world frame, m/s².
        base: placement of the root link in the world frame (identity unless set).
        joint_names: moving joints with coordinates of their own, in the order of ``q``.
        moving_joint_names: one per body, in body order; ``joint_names`` and the mimic joints.
        fixed_joint_names: fixed joints; their links are merged into one body.
        link_names: all links, root first, in tree order.
        nq, nv: number of position and velocity coordinates.
        parent: (nb,) parent body of each body, −1 for the root body; always smaller than the body's
            own number.
        joint_type: (nb,) :class:`JointType` values.
        joint_axis: (nb, 3) unit axis in the joint frame.
        joint_rotation, joint_position: (nb, 3, 3), (nb, 3) placement of the joint frame in the
            parent body frame.
        body_mass, body_com, body_inertia: (nb,), (nb, 3), (nb, 3, 3) of the merged body, in the
            body frame, the rotational inertia about the body's centre of mass.
        root_inertia: mass properties of all links fixed to the root, in the root link frame.
        q_index, v_index: (nb,) first coordinate of each body's joint (its master's for a mimic
            joint).
        mimic_master, mimic_multiplier, mimic_offset: (nb,) master body or −1; q = multiplier ·
            q_master + offset.
        lower, upper: (nq,) position limits, ±inf where there are none.
        velocity_limit, effort_limit: (nv,) inf where there are none.
        damping, friction, armature: (nv,) viscous and Coulomb friction and reflected rotor inertia;
            those of mimic joints are added to their master's, times the multiplier (twice for
            damping and armature).
        coupling: (6, nv) motors that turn with a joint and a neighbour, as each of the two feels
            them: the parameters of :data:`~robot_dynamics_ros.friction.law.COUPLING`, and the
            rotor's inertia, which ``armature`` has, too.
        link_body: (nl,) body each link belongs to, −1 for the root body.
        link_rotation, link_position: (nl, 3, 3), (nl, 3) placement of the link frame in its body's
            frame.
        backend: how the dynamics is to be computed, one of :data:`BACKENDS`; ``"auto"`` leaves it
            to the environment variable ``ROBOT_DYNAMICS_BACKEND`` and to what is installed.
            :func:`robot_dynamics_ros.backend_of` returns what is used.
    """

    name: str
    description: RobotDescription = field(repr=False)
    gravity: Array
    base: Pose = field(repr=False)
    joint_names: tuple[str, ...]
    moving_joint_names: tuple[str, ...] = field(repr=False)
    fixed_joint_names: tuple[str, ...] = field(repr=False)
    link_names: tuple[str, ...] = field(repr=False)
    nq: int
    nv: int
    parent: np.ndarray = field(repr=False)
    joint_type: np.ndarray = field(repr=False)
    joint_axis: Array = field(repr=False)
    joint_rotation: Array = field(repr=False)
    joint_position: Array = field(repr=False)
    body_mass: Array = field(repr=False)
    body_com: Array = field(repr=False)
    body_inertia: Array = field(repr=False)
    root_inertia: Inertia = field(repr=False)
    q_index: np.ndarray = field(repr=False)
    v_index: np.ndarray = field(repr=False)
    mimic_master: np.ndarray = field(repr=False)
    mimic_multiplier: Array = field(repr=False)
    mimic_offset: Array = field(repr=False)
    lower: Array = field(repr=False)
    upper: Array = field(repr=False)
    velocity_limit: Array = field(repr=False)
    effort_limit: Array = field(repr=False)
    damping: Array = field(repr=False)
    friction: Array = field(repr=False)
    armature: Array = field(repr=False)
    coupling: Array = field(repr=False)
    link_body: np.ndarray = field(repr=False)
    link_rotation: Array = field(repr=False)
    link_position: Array = field(repr=False)
    _joints: Mapping[str, Joint] = field(repr=False)
    _links: Mapping[str, Link] = field(repr=False)
    _link_index: Mapping[str, int] = field(repr=False)
    _body_index: Mapping[str, int] = field(repr=False)
    backend: str = field(repr=False, default="auto")

    # -- construction ------------------------------------------------------------------------------

    @classmethod
    def from_description(
        cls,
        description: RobotDescription,
        gravity: Sequence[float] = DEFAULT_GRAVITY,
        base: Pose | ArrayLike | None = None,
    ) -> RobotModel:
        """Build the model.

        Args:
            description: links and joints forming one tree.
            gravity: (3,) gravitational acceleration in the world frame, m/s².
            base: placement of the root link in the world frame, a :class:`Pose` or (4, 4) matrix;
                identity if not given.

        Raises:
            ModelError: the joints do not form one tree, a mimic joint cannot be resolved, a number
                in the description cannot be used, a mass or a moving body's moment of inertia is
                negative, the mass matrix is singular, or (with ``description.inertia_check``
                ``"error"``) the links of a body add up to a physically impossible inertia.
            ArgumentError: gravity is not three finite numbers, or base is no placement.
        """
        return cls(**assemble(description, gravity, base))

    # copies and pickles are built anew: their arrays are read-only too
    def __reduce__(
        self,
    ) -> tuple[object, ...]:
        return _rebuilt, (self.description, tuple(self.gravity.tolist()), self.base, self.backend)

    def replace(self, **changes: Any) -> RobotModel:
        """The same robot with another ``gravity``, ``base`` or ``description``.

        >>> import robot_dynamics_ros as rd
        >>> rd.limb(2).replace(gravity=(0, 0, 0)).gravity.tolist()
        [0.0, 0.0, 0.0]
        """
        own = {name: getattr(self, name) for name in ("description", "gravity", "base")}
        for name in changes:
            check_name("model field", name, own)
        return _rebuilt(**{**own, **changes}, backend=self.backend)

    def with_backend(self, backend: str) -> RobotModel:
        """The same robot, computed by the named backend; robots made from it by editing keep it.

        A backend that cannot run on this machine is refused when the first function is computed.

        Args:
            backend: one of :data:`BACKENDS`, or ``"auto"``.

        Raises:
            UnknownNameError: there is no such backend.
        """
        check_name("backend", backend, (*BACKENDS, "auto"), where="backend")
        return dataclasses.replace(self, backend=backend)

    # -- other robots made from this one -----------------------------------------------------------

    def lock(
        self,
        names: str | Iterable[str] | Mapping[str, ArrayLike],
        at: str | ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> RobotModel:
        """The robot with some joints fixed; whatever mimics them is fixed with them.

        Args:
            names: joints to lock, by name, or joint → position; not mimic joints, which follow
                their masters.
            at: where: a configuration of this robot, (nq,) or a name, or joint → position for all
                of ``names`` (a number, or as many as the joint has coordinates); the zero
                configuration if not given.

        Raises:
            UnknownNameError: there is no such moving joint.
            ArgumentError: a mimic joint is named, or positions are missing, not finite, of the
                wrong number, or given twice.

        >>> import robot_dynamics_ros as rd
        >>> rd.limb(3).lock("joint2", at={"joint2": 0.5}).joint_names
        ('joint1', 'joint3')
        """
        if isinstance(names, Mapping):
            if at is not None:
                problem = "positions are given twice, in names and in at"
                raise ArgumentError(problem, where="lock", remedy="Leave at out.")
            at = names
        positions = _locked_positions(self, [names] if isinstance(names, str) else list(names), at)
        return self.replace(description=edit.lock(self.description, positions))

    def subtree(self, link: str, base: Pose | ArrayLike | None = None) -> RobotModel:
        """A link and everything beyond it, as a robot of its own.

        Args:
            link: becomes the root.
            base: its placement in the world, a :class:`Pose` or (4, 4) matrix; identity if not
                given.

        Raises:
            UnknownNameError: there is no such link.
            ModelError: a mimic joint in the subtree follows one outside of it, or what is cut off
                at the root is no body that can exist.
        """
        self.link_index(link)
        return self.replace(description=edit.subtree(self.description, link), base=Pose.of(base))

    def attach(
        self,
        link: str,
        body: Inertia | RobotModel | RobotDescription | float,
        pose: Pose | ArrayLike | None = None,
        *,
        name: str = "payload",
        prefix: str = "",
    ) -> RobotModel:
        """The robot with a payload or a tool rigidly attached to a link.

        Args:
            link: what it is attached to.
            body: mass properties in the frame of the new body, a point mass in kg, or another robot
                (a gripper, say; its gravity and base do not matter).
            pose: placement of the new body's frame (the other robot's root link) in the link's
                frame, a :class:`Pose` or (4, 4) matrix; identity if not given.
            name: name of the new link, for mass properties; the fixed joint is called
                ``<name>_joint``.
            prefix: put before every name that is added.

        Raises:
            UnknownNameError: there is no such link.
            ModelError: a name is taken, or no rigid body has these mass properties.
            ArgumentError: ``body`` or ``pose`` is none of the above.

        >>> import robot_dynamics_ros as rd
        >>> rd.load_robot("six_axis").attach("tool0", 2.0).total_mass
        23.7
        """
        self.link_index(link)
        added = body.description if isinstance(body, RobotModel) else body
        description = edit.attach(
            self.description, link, added, Pose.of(pose), name=name, prefix=prefix
        )
        return self.replace(description=description)

    # -- questions ---------------------------------------------------------------------------------

    @property
    def nb(self) -> int:
        """Number of moving bodies (= moving joints, mimic joints included)."""
        return len(self.parent)

    @property
    def root_link(self) -> str:
        """Name of the root link."""
        return self.link_names[0]

    @property
    def has_mimic(self) -> bool:
        """Whether any joint mimics another."""
        return bool((self.mimic_master >= 0).any())

    @functools.cached_property
    def coupled_rotors(self) -> list[tuple[int, int, float]]:
        """(i, j, M_ij) of the rotors that turn with two joints: what they add to the mass matrix
        beside its diagonal.
        """
        before = self.coupling[0]
        rotor = self.coupling[5]
        return [
            (j, j - 1, float(before[j] * rotor[j])) for j in np.flatnonzero(before * rotor).tolist()
        ]

    @functools.cached_property
    def acceleration_limit(self) -> Array:
        """(nv,) the smaller of the limits of acceleration and deceleration, rad/s² and m/s²; inf
        where there are none.
        """
        limits = np.full(self.nv, np.inf)
        for name in self.joint_names:
            own = self.joint(name).limits
            limits[self.v_slice(name)] = min(own.acceleration, own.deceleration)
        limits.flags.writeable = False
        return limits

    def rotor_effort(self, a: Array) -> Array:
        """(..., nv) what accelerates the rotors alone, N m or N, for accelerations ``a`` (...,
        nv).
        """
        rates = real_array_or_nan(a)
        remedy = "Give one acceleration a degree of freedom."
        if rates.shape[-1:] != (self.nv,):
            raise ArgumentError(
                f"expected (..., {self.nv}) numbers", where="a", got=a, remedy=remedy
            )
        out: Array = self.armature * rates
        for i, j, inertia in self.coupled_rotors:
            out[..., i] += inertia * a[..., j]
            out[..., j] += inertia * a[..., i]
        return out

    def joint(self, name: str) -> Joint:
        """The joint as described; fixed and mimic joints included."""
        return _named(self._joints, name, "joint")

    def link(self, name: str) -> Link:
        """The link as described."""
        return _named(self._links, name, "link")

    def link_index(self, name: str) -> int:
        """Row of a link in the link arrays."""
        return _named(self._link_index, name, "link")

    def body_index(self, joint: str) -> int:
        """The body that a moving joint moves."""
        return _named(self._body_index, joint, "moving joint")

    def q_slice(self, joint: str) -> slice:
        """Where in ``q`` the coordinates of a joint are (its master's for a mimic joint)."""
        i = self.body_index(joint)
        return slice(int(self.q_index[i]), int(self.q_index[i]) + JointType(self.joint_type[i]).nq)

    def v_slice(self, joint: str) -> slice:
        """Where in ``v`` the coordinates of a joint are (its master's for a mimic joint)."""
        i = self.body_index(joint)
        return slice(int(self.v_index[i]), int(self.v_index[i]) + JointType(self.joint_type[i]).nv)

    @property
    def total_mass(self) -> float:
        """Mass of the whole robot, the root link included, kg."""
        return math.fsum(link.inertia.mass for link in self.description.links)

    def neutral(self) -> Array:
        """(nq,) the zero configuration, whether or not within the limits; identity quaternion for
        floating joints.
        """
        q = np.zeros(self.nq)
        for i in np.flatnonzero(self.joint_type == JointType.FLOATING):
            q[self.q_index[i] + 6] = 1.0
        return q

    def initial_configuration(self) -> Array:
        """(nq,) where a robot starts: ``<ros2_control>`` ``initial_value`` where given, else
        :meth:`neutral`, and of that the point nearest to it within the position limits.
        """
        q = self.neutral()
        for name, value in self.description.initial_positions.items():
            if name in self.joint_names and self.joint(name).type.nq == 1:
                q[self.q_slice(name)] = value
        return np.clip(q, self.lower, self.upper)

    def configuration(
        self,
        value: str | Mapping[str, ArrayLike] | ArrayLike,
        *,
        where: str = "q",
    ) -> Array:
        """(nq,) a configuration: by name, as joint → position (other joints at the initial
        configuration), or numbers.

        Names are those of :meth:`with_configurations`, and ``"zero"`` and ``"initial"``.  Public
        functions take names and mappings for ``q``, ``q0``, ``q1`` and ``start``, too.

        Args:
            where: what errors call the value.

        Raises:
            UnknownNameError: there is no such configuration or joint.
            ArgumentError: the wrong number of numbers, or not finite.

        >>> import robot_dynamics_ros as rd
        >>> rd.limb(2).configuration({"joint2": 0.5}).tolist()
        [0.0, 0.5]
        """
        return _configuration(self, value, where)

    def with_configurations(
        self, source: str | os.PathLike[str] | Mapping[str, ArrayLike]
    ) -> RobotModel:
        """The same robot with named configurations, besides those that it has.

        Args:
            source: text or path of an SRDF (states of several groups with one name are one
                configuration), or name → configuration, each as for :meth:`configuration`.

        Raises:
            UrdfError: the SRDF cannot be read.
            ArgumentError: a configuration does not fit.

        Warns:
            ModelWarning: the SRDF names joints that the robot does not have, or contradicts itself.

        >>> import robot_dynamics_ros as rd
        >>> robot = rd.limb(2).with_configurations({"home": [0.3, 0.4]})
        >>> rd.link_pose(robot, "home", "tip").shape
        (4, 4)
        """
        named = {**self.description.configurations, **_configurations(self, source)}
        return self.replace(description=dataclasses.replace(self.description, configurations=named))

    def with_frame(
        self,
        name: str,
        link: str,
        pose: Pose | ArrayLike | None = None,
    ) -> RobotModel:
        """The same robot with a frame of a name (a tool centre point, a sensor, a site), which is a
        link without mass.

        Functions take its name wherever they take a link.  In a URDF, ``<frame name="tcp"
        link="tool0" xyz="0 0 0.1"/>`` under ``<robot>`` does the same.

        Args:
            name: of the frame; the fixed joint is called ``<name>_joint``.
            link: what it is fixed to.
            pose: placement in the link's frame, a :class:`Pose` or (4, 4) matrix; identity if not
                given.

        Raises:
            UnknownNameError: there is no such link.
            ModelError: the name is taken.

        >>> import robot_dynamics_ros as rd
        >>> offset = rd.Pose.from_rpy((0, 0, 0.1))
        >>> robot = rd.load_robot("six_axis").with_frame("tcp", "tool0", offset)
        >>> rd.jacobian(robot, "zero", "tcp").shape
        (6, 6)
        """
        robot = self.attach(link, Inertia(), pose, name=name)
        # looks are as before
        description = dataclasses.replace(robot.description, source=self.description.source)
        return robot.replace(description=description)


def _refuse_assignment(model: RobotModel, name: str, _value: object) -> None:
    """Say how another robot is made of this one, which stays as it is."""
    remedy = f"Make another one: model = model.replace({name}=…)"
    if name not in {f.name for f in fields(RobotModel)}:
        remedy = "It has no such attribute"
    raise FrozenInstanceError(f"{name}: a RobotModel is constant. {remedy}.")


# a frozen dataclass refuses to have this method written in its body
RobotModel.__setattr__ = _refuse_assignment  # type: ignore[method-assign,assignment]


def _named(table: Mapping[str, _T], name: str, kind: str) -> _T:
    try:
        return table[name]
    except (KeyError, TypeError):
        raise UnknownNameError(kind, name, table) from None


def _configuration(
    model: RobotModel,
    value: str | Mapping[str, ArrayLike] | ArrayLike,
    where: str,
) -> Array:
    if isinstance(value, Mapping):
        q = model.initial_configuration()
        for joint, position in value.items():
            part = q[model.q_slice(joint)]
            numbers = real_array_or_nan(position).reshape(-1)
            if numbers.shape != part.shape or not np.isfinite(numbers).all():
                count = f"{part.size} finite number{'s' * (part.size != 1)}"
                problem = f"expected {count}, got {position!r}"
                remedy = "Give rad or m; a floating joint has [x, y, z, qx, qy, qz, qw]."
                raise ArgumentError(problem, where=f"{where}[{joint!r}]", remedy=remedy)
            part[:] = numbers
        return q
    named = model.description.configurations
    if isinstance(value, str):
        if value in named:
            own = {j: p for j, p in named[value].items() if j in model.joint_names}
            return model.configuration(own, where=where)
        if value == "zero":
            return model.neutral()
        if value == "initial":
            return model.initial_configuration()
        raise UnknownNameError("configuration", value, (*named, "initial", "zero"), where=where)
    numbers = real_array_or_nan(value)
    if numbers.shape != (model.nq,) or not np.isfinite(numbers).all():
        problem = f"expected {model.nq} finite numbers, joint → position, or a name"
        remedy = f"Names are {', '.join((*named, 'initial', 'zero'))}."
        raise ArgumentError(problem, where=where, got=value, remedy=remedy)
    return numbers


def _configurations(
    model: RobotModel, source: str | os.PathLike[str] | Mapping[str, ArrayLike]
) -> Configurations:
    if not isinstance(source, Mapping):
        return read_srdf(model.description, source)
    given = {
        name: model.configuration(x, where=f"configuration {name!r}") for name, x in source.items()
    }
    joints = model.joint_names
    return {
        name: {j: tuple(q[model.q_slice(j)].tolist()) for j in joints} for name, q in given.items()
    }


def _rebuilt(
    description: RobotDescription,
    gravity: Sequence[float],
    base: Pose,
    backend: str,
) -> RobotModel:
    model = RobotModel.from_description(description, gravity=gravity, base=base)
    if backend == "auto":
        return model
    return model.with_backend(backend)


def _locked_positions(
    model: RobotModel,
    names: list[str],
    at: str | ArrayLike | Mapping[str, ArrayLike] | None,
) -> dict[str, Array]:
    """Joint → position, for joints that are locked and for those that mimic them; see
    :meth:`RobotModel.lock`.
    """
    for name in names:
        if (i := model.mimic_master[model.body_index(name)]) >= 0:
            master = model.moving_joint_names[i]
            remedy = f"Lock {master!r}; what follows it is locked with it."
            raise ArgumentError(f"joint {name!r} mimics {master!r}", where="lock", remedy=remedy)
    if isinstance(at, Mapping):
        for name in (*at, *names):
            model.body_index(name)
            if name not in at:
                remedy = "Give one for every joint that is locked."
                raise ArgumentError(
                    f"no position for joint {name!r}",
                    where="lock, at",
                    got=sorted(at),
                    remedy=remedy,
                )
        at = {name: at[name] for name in names}
    if at is None:
        q = model.neutral()
    else:
        q = model.configuration(at, where="lock, at")
    for name in names:
        values = q[model.q_slice(name)]
        if (
            model.joint(name).type is JointType.FLOATING
            and abs(np.linalg.norm(values[3:]) - 1.0) > 1e-6
        ):
            problem = "the quaternion is not of unit length"
            remedy = "The position of a floating joint is [x, y, z, qx, qy, qz, qw]."
            raise ArgumentError(
                problem, where=f"lock, joint {name!r}", got=values.tolist(), remedy=remedy
            )
    positions = {}
    for name, i, k, d in zip(
        model.moving_joint_names,
        model.mimic_master,
        model.mimic_multiplier,
        model.mimic_offset,
        strict=True,
    ):
        if (name if i < 0 else model.moving_joint_names[i]) in names:
            position = q[model.q_slice(name)]
            positions[name] = position if i < 0 else k * position + d
    return positions
