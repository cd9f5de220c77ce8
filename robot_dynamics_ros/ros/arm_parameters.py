"""Parameters of controller, simulator and controller_manager for the profile of an arm."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from robot_dynamics_ros.errors import ArgumentError, UrdfError
from robot_dynamics_ros.model.arm_profile import ArmProfile, JointFacts
from robot_dynamics_ros.model.packages import package_directory
from robot_dynamics_ros.model.urdf_source import with_arguments
from robot_dynamics_ros.resources import share_directory

# s; the longest time-out that the simulator has
FOR_EVER = 3600.0
# kg m², of a joint of 100 N m; others by the root of their effort limit
ASSUMED_ARMATURE = 0.08
# N m, where no limit is published
SMALL_JOINT = 10.0


def vendor_description(profile: ArmProfile, *, with_hardware: bool = False) -> str:
    """Path and xacro arguments of the vendor's description, or of that with a ``<ros2_control>``
    element for hardware.
    """
    description = profile.description
    package = description.package
    file = description.file
    repository = description.repository
    if with_hardware and description.hardware:
        package, _, file = description.hardware.partition("/")
        repository = profile.driver.repository
    try:
        folder = package_directory(package)
    except UrdfError as error:
        remedy = (
            f"Source the workspace that holds it, or name {file} in a checkout of {repository} "
            "as the description."
        )
        raise UrdfError(
            error.problem, where=f"arm {profile.name!r}", got=package, remedy=remedy
        ) from None
    return with_arguments(folder / file, description.xacro_arguments(with_hardware=with_hardware))


def write_parameter_files(
    profile: ArmProfile,
    folder: Path,
    *,
    simulated: bool,
) -> dict[str, Path]:
    """Node name → file with its parameters, written to a folder; an ArgumentError if the arm takes
    no efforts.
    """
    if not profile.commands_efforts:
        where = f"arm {profile.name!r}"
        driver = profile.driver
        raise ArgumentError(
            "it takes no efforts", where=where, got=driver.interface, remedy=driver.nearest
        )
    tables = {"controller": controller_parameters(profile)}
    if simulated:
        tables["simulator"] = simulator_parameters(profile)
    friction = _per_joint(profile, "coulomb", "viscous")
    if friction:
        path = folder / "friction.json"
        path.write_text(json.dumps({"joints": friction}), encoding="utf-8")
        for table in tables.values():
            table["friction_file"] = str(path)
    files = {node: folder / f"{profile.name}_{node}.yaml" for node in tables}
    for node, table in tables.items():
        write_parameters(
            files[node], {name: value for name, value in table.items() if value not in ({}, [])}
        )
    return files


def write_parameters(path: Path, values: Mapping[str, object]) -> None:
    """Write a parameter file for any node."""
    # JSON is YAML
    text = json.dumps({"/**": {"ros__parameters": values}}, indent=1, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")


def parameter_files(
    node: str,
    robot: Path | None,
    arm_files: Mapping[str, Path],
) -> list[Path]:
    """Parameter files, later ones win: the node's, the robot's where the package has some, the
    arm's.
    """
    share = share_directory()
    files = [share / "config" / f"{node}.yaml"]
    if robot is not None and robot.parent == share / "urdf":
        files.append(share / "config" / f"{robot.stem}.yaml")
    files += [arm_files[node]] if node in arm_files else []
    return [file for file in files if file.is_file()]


def controller_parameters(profile: ArmProfile) -> dict[str, object]:
    """Parameters of the controller beside an arm, or beside its simulation."""
    return {
        **_robot(profile),
        "gravity_compensated_by": profile.efforts.gravity_compensated_by,
        "robot_delay": profile.driver.delay,
        "safe_command": profile.efforts.safe_command,
        "limits": _per_joint(profile, "effort", "effort_rate"),
    }


def simulator_parameters(profile: ArmProfile) -> dict[str, object]:
    """Parameters with which the simulator behaves as the arm's driver."""
    driver = profile.driver
    return {
        **_robot(profile),
        "armature": {joint.name: _simulated_armature(joint) for joint in profile.joints},
        "update_rate": driver.rate,
        "sensors": {"delay": driver.delay, "velocity_time_constant": driver.velocity_time_constant},
        "driver": {"compensates": profile.efforts.robot_compensates},
        "command_timeout": FOR_EVER if driver.silence_timeout is None else driver.silence_timeout,
        "holding_brakes": driver.brakes
        # until the first command it is held
        or driver.on_silence != "zero",
        "limits": _per_joint(profile, "effort_rate"),
        "initial_positions": profile.known("start"),
    }


def controller_manager_parameters(
    profile: ArmProfile | None, joint_names: Sequence[str] = ()
) -> dict[str, object]:
    """Parameters of controller_manager and of ``effort_controller``: of an arm, or of joints
    without one at 500 Hz.
    """
    rate = 500
    kind = "forward_command_controller/ForwardCommandController"
    interface = "effort"
    if profile is not None:
        driver = profile.driver
        joint_names = profile.joint_names
        rate = round(driver.rate)
        kind = driver.controller
        interface = driver.command_interface
    joints: dict[str, object] = {"joints": list(joint_names)}
    if "forward_command_controller" in kind:
        joints["interface_name"] = interface
    broadcaster = "joint_state_broadcaster/JointStateBroadcaster"
    types = {"joint_state_broadcaster": {"type": broadcaster}, "effort_controller": {"type": kind}}
    return {
        "controller_manager": {"ros__parameters": {"update_rate": rate, **types}},
        "effort_controller": {"ros__parameters": joints},
    }


def _robot(profile: ArmProfile) -> dict[str, object]:
    return {
        "joints": list(profile.joint_names),
        "locked_joints": list(profile.elsewhere),
        "command_format": "multi_array",
        "armature": profile.known("armature"),
        "measured_effort": profile.measured,
        "measured_effort_factor": profile.known("measured_factor"),
    }


def _simulated_armature(joint: JointFacts) -> float:
    """kg m² or kg; where none is published, of the size that such gears have: the controller does
    not know it then.
    """
    if joint.armature is not None:
        return joint.armature
    return ASSUMED_ARMATURE * math.sqrt(min(joint.effort or SMALL_JOINT, 100.0) / 100.0)


def _per_joint(profile: ArmProfile, *facts: str) -> dict[str, dict[str, float]]:
    """Joint name → fact → value, for what is known."""
    entries = {
        joint.name: {fact: value for fact in facts if (value := getattr(joint, fact)) is not None}
        for joint in profile.joints
    }
    return {joint: values for joint, values in entries.items() if values}
