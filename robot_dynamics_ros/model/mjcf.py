"""MJCF in, a :class:`RobotDescription` out: MuJoCo's own compiler reads the file, what it made is
translated.

MuJoCo (the extra ``mjcf``) resolves defaults, includes, compiler settings, and inertias from
geometry.  A body with several joints becomes a chain of links without mass; so does a joint whose
anchor is not the origin of its body.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.errors import UrdfError, optional_package
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
from robot_dynamics_ros.model.xml_guard import root_element

if TYPE_CHECKING:
    from mujoco import MjModel

# mjtJoint
_MJCF_FREE, _BALL, _MJCF_SLIDE, _MJCF_HINGE = range(4)


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
            m = mujoco.MjModel.from_xml_string(
                data if isinstance(data, str) else data.decode("utf-8", "replace")
            )
    except ValueError as error:
        raise UrdfError(
            f"MuJoCo refuses it: {error}", where=where, remedy="Correct the element named."
        ) from None
    return mujoco, m


def mujoco_name(mujoco: ModuleType, m: MjModel, kind: str, i: int) -> str:
    """Name of element i of a kind (``"body"``, ``"joint"`` …); one made of kind and number if it
    has none.
    """
    own_name = mujoco.mj_id2name(m, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), i)
    return str(own_name or f"{kind}{i}")


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
        if m.ntendon:
            self.findings.append(f"{m.ntendon} tendons are no part of the model")
        if (m.jnt_stiffness != 0.0).any():
            self.findings.append(
                "springs of joints are no part of the model; the simulation takes them as an option"
            )
        if not np.allclose(m.opt.gravity, (0.0, 0.0, -9.81)):
            self.findings.append(
                f"the file's gravity {m.opt.gravity.tolist()} is not used; give it as an option"
            )
        description = RobotDescription(
            bytes(m.names).split(b"\0", 1)[0].decode("utf-8", "replace") or "mjcf",
            tuple(self.links),
            tuple(self.joints),
            findings=tuple(self.findings),
            inertia_check=inertia_check,
            configurations=self.keyframes(),
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
            self.joints.append(Joint(f"{name}_frame", JointType.FIXED, parent, name, offset))
        self.links.append(Link(name, inertia))

    def joint(
        self, j: int, kind: int, parent: str, child: str, origin: Pose, mimic: Mimic | None
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
        limits = JointLimits(low, high, np.inf, self.effort_limit(j))
        losses = float(np.ravel(m.dof_damping[dof])[0]), float(m.dof_frictionloss[dof])
        joint = Joint(name, types[kind], *place, limits, *losses, float(m.dof_armature[dof]), mimic)
        reference = float(m.qpos0[m.jnt_qposadr[j]])
        if reference == 0.0:
            return joint
        return dataclasses.replace(joint, origin=origin @ joint_pose(joint, np.array([-reference])))

    def effort_limit(self, j: int) -> float:
        m = self.m
        limit = np.inf
        if m.jnt_actfrclimited[j]:
            limit = float(np.abs(m.jnt_actfrcrange[j]).max())
        total = 0.0
        driven = False
        for a in range(m.nu):
            if int(m.actuator_trntype[a]) == 0 and int(m.actuator_trnid[a, 0]) == j:
                gear = abs(float(m.actuator_gear[a, 0]))
                driven = True
                if m.actuator_forcelimited[a]:
                    total += gear * float(np.abs(m.actuator_forcerange[a]).max())
                elif m.actuator_ctrllimited[a] and not np.any(m.actuator_biasprm[a]):
                    total += (
                        gear
                        * abs(float(m.actuator_gainprm[a, 0]))
                        * float(np.abs(m.actuator_ctrlrange[a]).max())
                    )
                else:
                    total = np.inf
        return min(limit, total) if driven else limit

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
            named[str(name)] = q
        return named

    def mimics(self) -> dict[int, Mimic]:
        m = self.m
        mimics = {}
        for e in range(m.neq):
            kind = int(m.eq_type[e])
            first = int(m.eq_obj1id[e])
            second = int(m.eq_obj2id[e])
            coefficients: Array = np.array(m.eq_data[e])
            if (
                kind == int(self.mujoco.mjtEq.mjEQ_JOINT)
                and second >= 0
                and not coefficients[2:5].any()
            ):
                x0, y0 = (float(m.qpos0[m.jnt_qposadr[k]]) for k in (second, first))
                slope = float(coefficients[1])
                mimics[first] = Mimic(
                    self.name("joint", second), slope, y0 + float(coefficients[0]) - slope * x0
                )
            else:
                self.findings.append(
                    f"equality constraint {self.name('equality', e)!r} is no part of the model; "
                    "load_constraints reads it"
                )
        return mimics


def mujoco_rotation(quaternion: Array) -> Array:
    """Of MuJoCo's quaternions, whose scalar part is the first."""
    return rotation_of_quaternion(np.roll(np.asarray(quaternion), -1))
