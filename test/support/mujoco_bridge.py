"""Our robots in MuJoCo, for trajectories to be compared."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.model.description import Joint, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

_KINDS = {JointType.REVOLUTE: "hinge", JointType.CONTINUOUS: "hinge", JointType.PRISMATIC: "slide"}


def _numbers(values) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def to_mjcf(
    model: RobotModel, *, dt: float, integrator: str = "RK4", stiffness: float = 0.0
) -> str:
    """The robot as MJCF, joints in its own order, limits and collisions off."""
    children: dict[str, list[Joint]] = {}
    for joint in model.description.joints:
        children.setdefault(joint.parent, []).append(joint)

    def body(link_name: str, joint: Joint | None) -> str:
        inertia = model.link(link_name).inertia
        text = ""
        if joint is not None and joint.type is not JointType.FIXED:
            if joint.type is JointType.FLOATING:
                text += f'<freejoint name="{joint.name}"/>'
            else:
                text += (
                    f'<joint name="{joint.name}" type="{_KINDS[joint.type]}" '
                    f'axis="{_numbers(joint.axis)}" limited="false" '
                    f'damping="{joint.damping!r}" frictionloss="{joint.friction!r}" '
                    f'armature="{joint.armature!r}" '
                    f'stiffness="{stiffness!r}"/>'
                )
        if inertia.mass > 0.0:
            moments = inertia.rotational[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            text += (
                f'<inertial mass="{inertia.mass!r}" pos="{_numbers(inertia.com)}" '
                f'fullinertia="{_numbers(moments)}"/>'
            )
        for child in children.get(link_name, []):
            x, y, z, w = Rotation.from_matrix(child.origin.rotation).as_quat()
            text += (
                f'<body name="{child.child}" pos="{_numbers(child.origin.position)}" '
                f'quat="{_numbers([w, x, y, z])}">'
            )
            text += body(child.child, child) + "</body>"
        return text

    inner = body(model.root_link, None)
    start = inner.find("<inertial")
    # what does not move has no inertia in MuJoCo's world
    if start == 0:
        inner = inner[inner.index("/>") + 2 :]
    return (
        f'<mujoco><compiler angle="radian" inertiafromgeom="false" balanceinertia="false"/>'
        f'<option timestep="{dt!r}" integrator="{integrator}" gravity="{_numbers(model.gravity)}">'
        f'<flag contact="disable"/></option><worldbody>{inner}</worldbody></mujoco>'
    )


class MujocoTwin:
    """A MuJoCo simulation of one of our robots (joints of one degree of freedom, or a floating
    base).
    """

    def __init__(self, model: RobotModel, dt: float, **options) -> None:
        self.model = mujoco.MjModel.from_xml_string(to_mjcf(model, dt=dt, **options))
        self.data = mujoco.MjData(self.model)
        names = model.joint_names
        self.q_index = [self.model.joint(name).qposadr[0] for name in names]
        self.v_index = [self.model.joint(name).dofadr[0] for name in names]

    def set(self, q, v) -> None:
        self.data.qpos[self.q_index] = q
        self.data.qvel[self.v_index] = v

    def step(self, tau) -> None:
        self.data.qfrc_applied[self.v_index] = tau
        mujoco.mj_step(self.model, self.data)

    @property
    def q(self) -> np.ndarray:
        return self.data.qpos[self.q_index]

    @property
    def v(self) -> np.ndarray:
        return self.data.qvel[self.v_index]
