"""Every output of Exudyn's sensor on a kinematic tree, in world and in link coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType

exu = pytest.importorskip("exudyn")
from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree, SensorKinematicTree  # noqa: E402

N = 4
POINT = (0.2, -0.1, 0.3)
OUTPUTS = (
    "Position",
    "Displacement",
    "Rotation",
    "RotationMatrix",
    "Velocity",
    "VelocityLocal",
    "Acceleration",
    "AccelerationLocal",
    "AngularVelocity",
    "AngularVelocityLocal",
    "AngularAcceleration",
    "AngularAccelerationLocal",
)


def about_z(seed):
    """A chain whose joints all turn about z: Exudyn knows coordinate axes only."""
    model = random_model(seed, N, types=(JointType.REVOLUTE,), branching=0.0, fixed=0.0, limits=False)
    joints = tuple(replace(j, axis=np.array([0.0, 0.0, 1.0])) for j in model.description.joints)
    return model.replace(description=replace(model.description, joints=joints))


def sensors_after_a_while(model, q0, v0, link):
    """Coordinates with two derivatives, and sensor values by name."""
    system = exu.SystemContainer().AddSystem()
    node = system.AddNode(
        NodeGenericODE2(
            referenceCoordinates=[0.0] * N,
            initialCoordinates=list(q0),
            initialCoordinates_t=list(v0),
            numberOfODE2Coordinates=N,
        )
    )
    joints = [model.joint(name) for name in model.joint_names]
    bodies = [model.link(joint.child).inertia for joint in joints]
    tree = system.AddObject(
        ObjectKinematicTree(
            nodeNumber=node,
            jointTypes=[exu.JointType.RevoluteZ] * N,
            linkParents=np.arange(-1, N - 1),
            jointTransformations=exu.Matrix3DList([j.origin.rotation for j in joints]),
            jointOffsets=exu.Vector3DList([j.origin.position for j in joints]),
            linkInertiasCOM=exu.Matrix3DList([b.rotational for b in bodies]),
            linkCOMs=exu.Vector3DList([b.com for b in bodies]),
            linkMasses=[b.mass for b in bodies],
            gravity=list(model.gravity),
        )
    )
    number = {
        name: system.AddSensor(
            SensorKinematicTree(
                objectNumber=tree,
                linkNumber=link,
                localPosition=list(POINT),
                writeToFile=False,
                outputVariableType=getattr(exu.OutputVariableType, name),
            )
        )
        for name in OUTPUTS
    }
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = 20
    settings.timeIntegration.endTime = 0.02
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)
    types = exu.OutputVariableType
    state = [
        np.array(system.GetNodeOutput(node, t)) for t in (types.Coordinates, types.Coordinates_t, types.Coordinates_tt)
    ]
    return state, {name: np.array(system.GetSensorValues(k)) for name, k in number.items()}


@pytest.mark.parametrize("link", range(N))
def test_sensor_outputs(link):
    model = about_z(3)
    rng = np.random.default_rng(link)
    (q, v, a), theirs = sensors_after_a_while(model, *rng.uniform(-1.0, 1.0, (2, N)), link)
    name = model.joint(model.joint_names[link]).child
    world = rd.motion(model, q, v, a, point_on=name, offset=POINT)
    local = rd.motion(model, q, v, a, point_on=name, offset=POINT, expressed_in=name)
    ours = {
        "Position": world.position,
        "Displacement": world.displacement,
        "Rotation": world.tait_bryan,
        "RotationMatrix": world.rotation.ravel(),
        "Velocity": world.velocity,
        "VelocityLocal": local.velocity,
        "Acceleration": world.acceleration,
        "AccelerationLocal": local.acceleration,
        "AngularVelocity": world.angular_velocity,
        "AngularVelocityLocal": local.angular_velocity,
        "AngularAcceleration": world.angular_acceleration,
        "AngularAccelerationLocal": local.angular_acceleration,
    }
    assert np.abs(a).max() > 0.1
    for output in OUTPUTS:
        np.testing.assert_allclose(ours[output], theirs[output], atol=1e-9 * max(1.0, np.abs(a).max()), err_msg=output)
