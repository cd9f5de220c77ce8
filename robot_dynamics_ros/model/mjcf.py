"""MJCF in, a :class:`RobotDescription` out: MuJoCo's own compiler reads the file, what it made is
translated.

MuJoCo (the extra ``mjcf``) resolves defaults, includes, compiler settings, and inertias from
geometry.  A body with several joints becomes a chain of links without mass; so does a joint whose
anchor is not the origin of its body.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from robot_dynamics_ros.errors import UrdfError, optional_package
from robot_dynamics_ros.model.checks import beyond_limits
from robot_dynamics_ros.model.description import (
    Array,
    Configurations,
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    Pose,
    RobotDescription,
    joint_pose,
    rotation_of_quaternion,
)
from robot_dynamics_ros.model.to_urdf import to_urdf
from robot_dynamics_ros.model.xml_guard import decoded, root_element

if TYPE_CHECKING:
    from mujoco import MjModel

# mjtJoint
_MJCF_FREE, _BALL, _MJCF_SLIDE, _MJCF_HINGE = range(4)
# mjtTrn: joint, and joint in the parent's frame, which for a hinge or slide is the same
_JOINT_TRANSMISSIONS = (0, 1)
# mjtDyn: none, filter, exact filter: the force follows the command and stays within its range
_BOUNDED_DYNAMICS = (0, 2, 3)


def is_mjcf(data: bytes | str) -> bool:
    """Whether the document is MJCF."""
    return root_element(data) == "mujoco"


def parse_mjcf(data: bytes | str, path: str, inertia_check: str) -> RobotDescription:
    """The robot of an MJCF document; includes and meshes are found from the file ``path``, ``""``
    if there is none.
    """
    mujoco, m = compile_mjcf(data, path)
    return _Translator(mujoco, m, path or "MJCF text").run(inertia_check)


def compile_mjcf(data: bytes | str, path: str) -> tuple[ModuleType, MjModel]:
    """The package ``mujoco``, and the document as its compiler has read it; arguments as for
    :func:`parse_mjcf`.
    """
    where = path or "MJCF text"
    mujoco = optional_package(
        "mujoco", "MJCF is read by", where, "'robot_dynamics_ros[mjcf]', or give a URDF"
    )
    try:
        if path:
            m = mujoco.MjModel.from_xml_path(path)
        else:
            m = mujoco.MjModel.from_xml_string(text_of(data))
    except ValueError as error:
        raise UrdfError(
            f"MuJoCo refuses it: {error}", where=where, remedy="Correct the element named."
        ) from None
    return mujoco, m


def text_of(data: bytes | str) -> str:
    """The document as text; characters that its encoding does not have are replaced."""
    text = decoded(data)
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def mujoco_name(mujoco: ModuleType, m: MjModel, kind: str, i: int) -> str:
    """Name of element i of a kind (``"body"``, ``"joint"`` …); one made of kind and number if it
    has none.
    """
    kind_number = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
    own_name = mujoco.mj_id2name(m, kind_number, i)
    if own_name:
        return str(own_name)
    made = f"{kind}{i}"
    # another element may have been given just this name
    while mujoco.mj_name2id(m, kind_number, made) >= 0:
        made += "_"
    return made


class _Translator:
    def __init__(self, mujoco: ModuleType, m: MjModel, label: str) -> None:
        self.mujoco = mujoco
        self.m = m
        self.label = label
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.findings: list[str] = []

    def name(self, kind: str, i: int) -> str:
        return mujoco_name(self.mujoco, self.m, kind, i)

    def run(self, inertia_check: str) -> RobotDescription:
        m = self.m
        mimics = self.mimics()
        self.links.append(Link(self.name("body", 0)))
        for b in range(1, m.nbody):
            self.body(b, mimics)
        self.findings += left_out(self.mujoco, m)
        if not np.allclose(m.opt.gravity, (0.0, 0.0, -9.81)):
            self.findings.append(
                f"the file's gravity {m.opt.gravity.tolist()} is not used; give it as an option"
            )
        configurations = self.keyframes()
        description = RobotDescription(
            bytes(m.names).split(b"\0", 1)[0].decode("utf-8", "replace") or "mjcf",
            tuple(self.links),
            tuple(self.joints),
            findings=tuple(self.findings),
            inertia_check=inertia_check,
            configurations=configurations,
        )
        return dataclasses.replace(description, source=to_urdf(description))

    def body(self, b: int, mimics: dict[int, Mimic]) -> None:
        m = self.m
        name = self.name("body", b)
        inertial = Pose(mujoco_rotation(m.body_iquat[b]), m.body_ipos[b])
        moments = np.diag(m.body_inertia[b])
        inertia = Inertia(float(m.body_mass[b]), np.zeros(3), moments).in_parent(inertial)
        parent = self.name("body", int(m.body_parentid[b]))
        offset = Pose(mujoco_rotation(m.body_quat[b]), m.body_pos[b])
        numbers = range(int(m.body_jntadr[b]), int(m.body_jntadr[b]) + int(m.body_jntnum[b]))
        for j in numbers:
            last = j == numbers[-1]
            anchor = np.array(m.jnt_pos[j])
            kind = int(m.jnt_type[j])
            if kind == _MJCF_FREE:
                offset = Pose()
                anchor = np.zeros(3)
            if last and not anchor.any():
                child = name
            else:
                child = f"{name}/{self.name('joint', j)}"
            self.joints.append(
                self.joint(j, kind, parent, child, offset @ Pose(position=anchor), mimics.get(j))
            )
            if child != name:
                self.links.append(Link(child))
            parent = child
            offset = Pose(position=-anchor)
        if parent != name:
            frame = f"{name}_frame"
            while self.mujoco.mj_name2id(m, self.mujoco.mjtObj.mjOBJ_JOINT, frame) >= 0:
                frame += "_"
            self.joints.append(Joint(frame, JointType.FIXED, parent, name, offset))
        self.links.append(Link(name, inertia))

    def joint(
        self,
        j: int,
        kind: int,
        parent: str,
        child: str,
        origin: Pose,
        mimic: Mimic | None,
    ) -> Joint:
        m = self.m
        name = self.name("joint", j)
        if kind == _BALL:
            problem = "it is a ball joint, which no model here has"
            remedy = "Write three hinges with axes x, y and z in its place."
            raise UrdfError(problem, where=f"{self.label}, joint {name!r}", remedy=remedy)
        if kind == _MJCF_FREE:
            return Joint(name, JointType.FLOATING, parent, child, origin)
        axis = np.array(m.jnt_axis[j])
        limited = bool(m.jnt_limited[j])
        types = {
            _MJCF_SLIDE: JointType.PRISMATIC,
            _MJCF_HINGE: JointType.REVOLUTE if limited else JointType.CONTINUOUS,
        }
        dof = int(m.jnt_dofadr[j])
        low, high = (float(x) for x in m.jnt_range[j]) if limited else (-np.inf, np.inf)
        place = parent, child, origin, axis / np.linalg.norm(axis)
        limits = JointLimits(low, high, np.inf, self.effort_limit(j, name))
        damping = float(np.ravel(m.dof_damping[dof])[0])
        armature = float(m.dof_armature[dof])
        for a in self.actuators_of(j):
            # an actuator's own coordinate is the joint's times its gear
            squared = float(m.actuator_gear[a, 0]) ** 2
            damping += squared * first_number(m, "actuator_damping", a)
            armature += squared * first_number(m, "actuator_armature", a)
        friction = float(m.dof_frictionloss[dof])
        joint = Joint(name, types[kind], *place, limits, damping, friction, armature, mimic)
        reference = float(m.qpos0[m.jnt_qposadr[j]])
        if reference == 0.0:
            return joint
        return dataclasses.replace(joint, origin=origin @ joint_pose(joint, np.array([-reference])))

    def actuators_of(self, j: int) -> list[int]:
        """Numbers of the actuators on joint j, in its own frame or its parent's."""
        m = self.m
        return [
            a
            for a in range(m.nu)
            if int(m.actuator_trntype[a]) in _JOINT_TRANSMISSIONS
            and int(m.actuator_trnid[a, 0]) == j
        ]

    def effort_limit(self, j: int, name: str) -> float:
        """The largest effort that joint j can be given in both directions."""
        m = self.m
        low = -np.inf
        high = np.inf
        actuators = self.actuators_of(j)
        if actuators:
            ranges = np.array([self.efforts_of(a) for a in actuators])
            low = float(ranges[:, 0].sum())
            high = float(ranges[:, 1].sum())
        if m.jnt_actfrclimited[j]:
            low = max(low, float(m.jnt_actfrcrange[j, 0]))
            high = min(high, float(m.jnt_actfrcrange[j, 1]))
        if low == -high:
            return high
        least = min(-low, high)
        limit = least if least > 0.0 else max(-low, high)
        self.findings.append(
            f"joint {name!r} can be given efforts from {low:g} to {high:g}; the limit of the model "
            f"is {limit:g} in both directions"
        )
        return limit

    def efforts_of(self, a: int) -> tuple[float, float]:
        """Least and largest effort of actuator a on its joint."""
        m = self.m
        low = -np.inf
        high = np.inf
        if m.actuator_forcelimited[a]:
            low = float(m.actuator_forcerange[a, 0])
            high = float(m.actuator_forcerange[a, 1])
        # a servo adds what its joint does, an integrator what was before: they bound no effort
        plain = (
            not np.any(m.actuator_biasprm[a]) and int(m.actuator_dyntype[a]) in _BOUNDED_DYNAMICS
        )
        if m.actuator_ctrllimited[a] and plain:
            ends = float(m.actuator_gainprm[a, 0]) * np.array(m.actuator_ctrlrange[a])
            low = max(low, float(ends.min()))
            high = min(high, float(ends.max()))
        gear = float(m.actuator_gear[a, 0])
        if gear == 0.0:
            return 0.0, 0.0
        return (gear * low, gear * high) if gear > 0.0 else (gear * high, gear * low)

    def keyframes(self) -> Configurations:
        """Configurations of the named keyframes."""
        m = self.m
        named = {}
        for k in range(m.nkey):
            if (name := self.mujoco.mj_id2name(m, self.mujoco.mjtObj.mjOBJ_KEY, k)) is None:
                continue
            q = {}
            for j in range(m.njnt):
                first = int(m.jnt_qposadr[j])
                free = int(m.jnt_type[j]) == _MJCF_FREE
                part = m.key_qpos[k, first : first + (7 if free else 1)].tolist()
                q[self.name("joint", j)] = tuple([*part[:3], *part[4:], part[3]] if free else part)
            for joint in self.joints:
                beyond = beyond_limits(joint.limits, q.get(joint.name, ()))
                if beyond and joint.mimic is None:
                    self.findings.append(f"keyframe {name!r}: joint {joint.name!r} is at {beyond}")
            named[str(name)] = q
        return named

    def mimics(self) -> dict[int, Mimic]:
        """Joint → what it follows, of the active linear equalities of two joints."""
        m = self.m
        followed: dict[int, tuple[int, float, float]] = {}
        for e in range(m.neq):
            kind = int(m.eq_type[e])
            first = int(m.eq_obj1id[e])
            second = int(m.eq_obj2id[e])
            coefficients: Array = np.array(m.eq_data[e])
            name = self.name("equality", e)
            if not m.eq_active0[e]:
                self.findings.append(
                    f"equality constraint {name!r} is not active in the file and is left out"
                )
            elif (
                kind != int(self.mujoco.mjtEq.mjEQ_JOINT)
                or second < 0
                or coefficients[2:5].any()
                or not _follow(followed, first, second, *self.line(first, second, coefficients))
            ):
                self.findings.append(
                    f"equality constraint {name!r} is no part of the model; load_constraints reads "
                    "it"
                )
        return {
            j: Mimic(self.name("joint", master), slope, offset)
            for j, (master, slope, offset) in followed.items()
        }

    def line(self, first: int, second: int, coefficients: Array) -> tuple[float, float]:
        """Slope and offset of the position of one joint over that of another: MuJoCo counts both
        from the file's reference positions.
        """
        m = self.m
        first_reference = float(m.qpos0[m.jnt_qposadr[first]])
        second_reference = float(m.qpos0[m.jnt_qposadr[second]])
        slope = float(coefficients[1])
        return slope, first_reference + float(coefficients[0]) - slope * second_reference


def _follow(
    followed: dict[int, tuple[int, float, float]],
    first: int,
    second: int,
    slope: float,
    offset: float,
) -> bool:
    """Note that joint ``first`` is slope · ``second`` + offset; False where it cannot be noted.

    A joint follows one other.  Where ``first`` follows one already, the chain of ``second`` is
    turned round, so that ``second`` follows ``first``.
    """
    if _leader(followed, first) == _leader(followed, second):
        # a loop of equalities: it says the same once more, or locks the joints
        return False
    if first not in followed:
        followed[first] = (second, slope, offset)
        return True
    chain = [second]
    while chain[-1] in followed:
        chain.append(followed[chain[-1]][0])
    if slope == 0.0 or any(followed[j][1] == 0.0 for j in chain[:-1]):
        return False
    turned = {second: (first, 1.0 / slope, -offset / slope)}
    for j in chain[:-1]:
        master, chain_slope, chain_offset = followed[j]
        turned[master] = (j, 1.0 / chain_slope, -chain_offset / chain_slope)
    followed.update(turned)
    return True


def _leader(followed: dict[int, tuple[int, float, float]], j: int) -> int:
    """The joint that joint j follows in the end."""
    while j in followed:
        j = followed[j][0]
    return j


def first_number(m: MjModel, array: str, i: int) -> float:
    """Element i of an array of the compiled model that older versions of MuJoCo do not have."""
    values = getattr(m, array, None)
    return float(np.ravel(values[i])[0]) if values is not None else 0.0


def _differs(m: MjModel, array: str) -> np.ndarray:
    """Whether elements of an array, which older versions do not have, are not zero."""
    values = np.asarray(getattr(m, array, np.zeros(0)), dtype=np.float64)
    if not values.size:
        return np.zeros(0, dtype=bool)
    return np.asarray(values.reshape(len(values), -1).any(axis=1))


_Tell: TypeAlias = Callable[[str, object, str], None]
"""Kind of element, which of them, and what is to be said of them if there are any."""


def _joints_left_out(m: MjModel, tell: _Tell) -> None:
    differs = partial(_differs, m)
    free = np.asarray(m.jnt_type) == _MJCF_FREE
    dofs = np.zeros(m.njnt, dtype=bool)
    for array in ("dof_armature", "dof_damping", "dof_frictionloss", "dof_dampingpoly"):
        lossy = differs(array)
        for i in np.flatnonzero(lossy):
            dofs[int(m.dof_jntid[i])] = True
    tell(
        "joint",
        free & dofs,
        "armature, damping and friction of free joints are no part of the model (often they come "
        "from the file's defaults; write 0 at the joint)",
    )
    curved = np.zeros(m.njnt, dtype=bool)
    for i in np.flatnonzero(differs("dof_dampingpoly")):
        curved[int(m.dof_jntid[i])] = not free[int(m.dof_jntid[i])]
    tell(
        "joint",
        curved,
        "of a damping with several numbers the first one is kept, the part that grows with speed "
        "is no part of the model",
    )
    springs = differs("jnt_stiffness")
    if differs("jnt_stiffnesspoly").size:
        springs = np.logical_or(springs, differs("jnt_stiffnesspoly"))
    tell(
        "joint",
        springs,
        "springs of joints are no part of the model; the simulation takes them as an option",
    )
    tell("body", differs("body_gravcomp"), "gravity compensation of bodies is no part of the model")
    mocap = np.asarray(m.body_mocapid) >= 0
    tell("body", mocap, "bodies that a motion capture moves stand still in the model")


def _actuators_left_out(m: MjModel, tell: _Tell) -> None:
    differs = partial(_differs, m)
    free = np.asarray(m.jnt_type) == _MJCF_FREE
    elsewhere = ~np.isin(np.asarray(m.actuator_trntype), _JOINT_TRANSMISSIONS)
    tell("actuator", elsewhere, "actuators that drive no joint directly are no part of the model")
    on_free = [not elsewhere[a] and bool(free[int(m.actuator_trnid[a, 0])]) for a in range(m.nu)]
    tell("actuator", on_free, "actuators of free joints are no part of the model")
    tell(
        "actuator",
        differs("actuator_dampingpoly"),
        "of an actuator's damping with several numbers the first one is kept, the part that grows "
        "with speed is no part of the model",
    )
    tell("actuator", differs("actuator_delay"), "delays of actuators are no part of the model")


def left_out(mujoco: ModuleType, m: MjModel) -> list[str]:
    """Sentences on what the compiled file has and a model has no place for."""
    sentences = []

    def tell(kind: str, flags: object, what: str) -> None:
        chosen = np.flatnonzero(np.asarray(flags))
        if chosen.size:
            names = (mujoco_name(mujoco, m, kind, int(i)) for i in chosen)
            sentences.append(f"{what}: {', '.join(names)}")

    _joints_left_out(m, tell)
    if m.ntendon:
        sentences.append(f"{m.ntendon} tendons are no part of the model")
    _actuators_left_out(m, tell)
    medium = (m.opt.density, m.opt.viscosity)
    if any(medium):
        sentences.append(
            f"the medium (density {medium[0]:g}, viscosity {medium[1]:g}) is no part of the model"
        )
    return sentences


def mujoco_rotation(quaternion: Array) -> Array:
    """Of MuJoCo's quaternions, whose scalar part is the first."""
    return rotation_of_quaternion(np.roll(np.asarray(quaternion), -1))
