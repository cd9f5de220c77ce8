"""One of our robots in Exudyn's ObjectKinematicTree."""

from __future__ import annotations

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType


def _z_to(axis: np.ndarray) -> np.ndarray:
    """A rotation that turns z into ``axis``: Exudyn's joints turn about x, y or z."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def exudyn_motion(
    model: rd.RobotModel,
    q0: np.ndarray,
    v0: np.ndarray,
    p: np.ndarray,
    d: np.ndarray,
    duration: float,
    dt: float,
    every: int,
) -> np.ndarray:
    """(N, n) positions every ``every`` steps of Exudyn's RK44, joints under P (0 − q) + D (0 − q̇).

    For revolute and prismatic joints without mimics and armature; frames are turned so that all
    axes are z.
    """
    import exudyn
    from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree, SensorNode

    kinds = {JointType.PRISMATIC: exudyn.JointType.PrismaticZ}
    types = [kinds.get(JointType(kind), exudyn.JointType.RevoluteZ) for kind in model.joint_type]
    turn = [_z_to(axis) for axis in model.joint_axis]
    before = [np.eye(3) if parent < 0 else turn[parent] for parent in model.parent]
    system = exudyn.SystemContainer().AddSystem()
    node = system.AddNode(
        NodeGenericODE2(
            referenceCoordinates=[0.0] * model.nv,
            initialCoordinates=list(q0),
            initialCoordinates_t=list(v0),
            numberOfODE2Coordinates=model.nv,
        )
    )
    system.AddObject(
        ObjectKinematicTree(
            nodeNumber=node,
            jointTypes=types,
            linkParents=np.array(model.parent, dtype=int),
            jointTransformations=exudyn.Matrix3DList(
                [b.T @ R @ t for b, R, t in zip(before, model.joint_rotation, turn, strict=True)]
            ),
            jointOffsets=exudyn.Vector3DList(
                [b.T @ x for b, x in zip(before, model.joint_position, strict=True)]
            ),
            linkInertiasCOM=exudyn.Matrix3DList(
                [t.T @ inertia @ t for t, inertia in zip(turn, model.body_inertia, strict=True)]
            ),
            linkCOMs=exudyn.Vector3DList(
                [t.T @ c for t, c in zip(turn, model.body_com, strict=True)]
            ),
            linkMasses=list(model.body_mass),
            gravity=list(model.gravity),
            jointPControlVector=list(p),
            jointDControlVector=list(d),
            jointPositionOffsetVector=[0.0] * model.nv,
            jointVelocityOffsetVector=[0.0] * model.nv,
        )
    )
    sensor = system.AddSensor(
        SensorNode(
            nodeNumber=node,
            storeInternal=True,
            writeToFile=False,
            outputVariableType=exudyn.OutputVariableType.Coordinates,
        )
    )
    system.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(duration / dt)
    settings.timeIntegration.endTime = duration
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = every * dt
    system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.RK44)
    stored = np.array(system.GetSensorStoredData(sensor))
    return stored[:, 1:]
