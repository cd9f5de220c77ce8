"""Real arms by the descriptions that their vendors publish: twelve of example-robot-data, others by
file.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd

__all__ = ["BENCH_ARMS", "VendorArm", "load_arm"]


@dataclass(frozen=True)
class VendorArm:
    """One arm.

    Attributes:
        file: the end of its path in example-robot-data, or the path of a URDF.
        flange: link that carries the payload, and that is pushed.
        payload: nominal, kg.
        joints: what the names of its joints begin with; the other joints are locked.
        home: configuration amid its workspace, rad; the middle of the joint ranges where it is
            empty.
    """

    file: str
    flange: str
    payload: float
    joints: tuple[str, ...] = ("",)
    home: tuple[float, ...] = ()


_UR = (0.0, -1.3, 1.5, -0.4, 0.8, 0.3)
BENCH_ARMS = {
    "panda": VendorArm(
        "urdf/panda.urdf",
        "panda_link8",
        3.0,
        ("panda_joint",),
        (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8),
    ),
    "ur5": VendorArm("urdf/ur5_robot.urdf", "tool0", 5.0, home=_UR),
    "ur10": VendorArm("urdf/ur10_robot.urdf", "tool0", 10.0, home=_UR),
    "j2s6s200": VendorArm(
        "robots/kinova.urdf", "j2s6s200_end_effector", 1.3, home=(0.0, 2.6, 1.8, 0.5, 2.2, 0.5)
    ),
    "xarm7": VendorArm("urdf/xarm7.urdf", "link7", 3.5, home=(0.0, -0.5, 0.0, 1.2, 0.0, 0.8, 0.0)),
    "z1": VendorArm(
        "z1_description/urdf/z1.urdf",
        "link06",
        2.0,
        ("joint1", "joint2", "joint3", "joint4", "joint5", "joint6"),
    ),
    "tiago": VendorArm(
        "robots/tiago_no_hand.urdf",
        "arm_7_link",
        2.0,
        ("arm_",),
        (1.0, 0.1, -0.8, 1.4, 0.3, 0.2, 0.2),
    ),
    "tiago_pro": VendorArm("robots/tiago_pro.urdf", "arm_left_7_link", 3.0, ("arm_left_",)),
    "baxter": VendorArm(
        "urdf/baxter.urdf", "left_wrist", 2.2, ("left_",), (0.0, 0.1, 0.0, 1.4, 0.0, 0.6, 0.0)
    ),
    "talos": VendorArm(
        "robots/talos_left_arm.urdf",
        "arm_left_7_link",
        2.0,
        ("arm_left_",),
        (0.4, 0.0, -1.0, 0.0, 0.0, 0.0),
    ),
    "g1_arm": VendorArm(
        "urdf/g1_29dof_rev_1_0.urdf",
        "left_rubber_hand",
        2.0,
        ("left_shoulder", "left_elbow", "left_wrist"),
    ),
    "so101": VendorArm("urdf/so101.urdf", "gripper_link", 0.3, ("shoulder", "elbow", "wrist")),
}


@cache
def load_arm(arm: VendorArm) -> rd.RobotModel:
    """The arm on a fixed base, other joints locked at their initial configuration.

    Raises:
        FileNotFoundError: example-robot-data is not installed, or has no such file.
    """
    path = Path(arm.file)
    if not path.is_file():
        for file in metadata.files("example-robot-data") or ():
            if str(file).endswith("/" + arm.file):
                path = Path(str(file.locate())).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"{arm.file}: install example-robot-data, or name a file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rd.load_urdf(path, inertia_check="warn")
        others = [name for name in model.joint_names if not name.startswith(arm.joints)]
        model = model.lock(others) if others else model
        if len(model.root_link) and model.nv > 7:
            raise ValueError(f"{arm.file}: {model.joint_names} are more joints than an arm has")
    return model


def home(arm: VendorArm, model: rd.RobotModel) -> np.ndarray:
    """(n,) configuration amid the workspace, at least 0.9 rad from the limits where the range
    allows it.
    """
    bounded = np.isfinite(model.lower) & np.isfinite(model.upper)
    middle = np.where(
        bounded,
        0.5 * (np.where(bounded, model.lower, 0.0) + np.where(bounded, model.upper, 0.0)),
        0.0,
    )
    q = np.array(arm.home) if arm.home else middle
    room = np.minimum(0.9, 0.45 * np.where(bounded, model.upper - model.lower, 10.0))
    return np.where(bounded, np.clip(q, model.lower + room, model.upper - room), q)
