"""Recorded efforts that are not the motors': the robot and the recording whose equations hold again."""

from __future__ import annotations

import dataclasses

from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.model.measured_effort import MeasuredEffort, motor_effort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.simulation.model_error import robot_model_error


def robot_of_efforts(model: RobotModel, kind: MeasuredEffort) -> RobotModel:
    """The robot that measured efforts move: a sensor at the link sees neither rotors nor friction."""
    if kind.meaning != "link_torque":
        return model
    return robot_model_error(model, damping=0.0, friction=0.0, armature=0.0)


def with_motor_efforts(recording: Recording, model: RobotModel, kind: MeasuredEffort) -> Recording:
    """The recording with efforts that move ``robot_of_efforts(model, kind)``; without efforts where none was measured.

    Gravity that the robot took off before it published is added by the model: what is wrong there cannot be seen any more.
    """
    if kind.plain or recording.effort is None:
        return recording
    note = {
        "torque_without_gravity": "the model's gravity was added to the recorded efforts, which are without",
        "link_torque": "recorded efforts are those at the links: rotors and friction are left out of the robot",
    }.get(kind.meaning, "")
    if not kind.measured:
        note = f"recorded efforts are {kind.meaning!r} and not used"
        return dataclasses.replace(recording, effort=None, notes=(*recording.notes, note))
    gravity = recording.effort if kind.meaning != "torque_without_gravity" else gravity_forces(model, recording.q)
    effort = motor_effort(kind, recording.effort, applied=recording.effort, gravity=gravity)
    return dataclasses.replace(recording, effort=effort, notes=(*recording.notes, note) if note else recording.notes)
