"""One of our robots in MuJoCo, by way of URDF, which both read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import robot_dynamics_ros as rd

COMPILER = '<mujoco><compiler discardvisual="true" fusestatic="true" boundmass="1e-9" boundinertia="1e-12"/></mujoco>'


def mujoco_robot(model: rd.RobotModel, dt: float) -> tuple[Any, Any]:
    """``(MjModel, MjData)`` with the same inertias, limits, friction, damping and armature, steps of ``dt`` seconds."""
    import mujoco

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "robot.urdf"
        path.write_text(rd.to_urdf(model).replace("</robot>", f"{COMPILER}</robot>"))
        m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.timestep = dt
    for name in model.joint_names:  # URDF has no word for it
        m.dof_armature[m.joint(name).dofadr[0]] = model.armature[model.v_slice(name)][0]
    return m, mujoco.MjData(m)
