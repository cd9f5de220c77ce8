"""Trajectories of a chain with joint controllers beside Exudyn's kinematic tree."""

from dataclasses import replace

import numpy as np
import pytest
from support.random_trees import random_model

from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.simulation import JointPD, Plant

exu = pytest.importorskip("exudyn")
from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree  # noqa: E402

N = 4


def about_z(seed):
    """A chain whose joints all turn about z, the only difference to a random one: Exudyn knows no other axes."""
    model = random_model(seed, N, types=(JointType.REVOLUTE,), branching=0.0, fixed=0.0, limits=False)
    joints = tuple(replace(j, axis=np.array([0.0, 0.0, 1.0])) for j in model.description.joints)
    return model.replace(description=replace(model.description, joints=joints), gravity=(0.5, -1.0, -9.81))


def exudyn_run(model, q0, v0, p, d, u, w, constant, duration, steps):
    system = exu.SystemContainer().AddSystem()
    node = system.AddNode(
        NodeGenericODE2(
            referenceCoordinates=[0.0] * N,
            initialCoordinates=list(q0),
            initialCoordinates_t=list(v0),
            numberOfODE2Coordinates=N,
        )
    )
    inertias, coms, masses, rotations, offsets = [], [], [], [], []
    for name in model.joint_names:
        joint = model.joint(name)
        inertia = model.link(joint.child).inertia
        inertias.append(inertia.rotational)
        coms.append(inertia.com)
        masses.append(inertia.mass)
        rotations.append(joint.origin.rotation)
        offsets.append(joint.origin.position)
    system.AddObject(
        ObjectKinematicTree(
            nodeNumber=node,
            jointTypes=[exu.JointType.RevoluteZ] * N,
            linkParents=np.arange(-1, N - 1),
            jointTransformations=exu.Matrix3DList(rotations),
            jointOffsets=exu.Vector3DList(offsets),
            linkInertiasCOM=exu.Matrix3DList(inertias),
            linkCOMs=exu.Vector3DList(coms),
            linkMasses=masses,
            gravity=list(model.gravity),
            jointForceVector=list(constant),
            jointPControlVector=list(p),
            jointDControlVector=list(d),
            jointPositionOffsetVector=list(u),
            jointVelocityOffsetVector=list(w),
        )
    )
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = duration
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)
    return system.GetNodeOutput(node, exu.OutputVariableType.Coordinates)


@pytest.mark.parametrize("seed", [1, 2])
def test_kinematic_tree_with_joint_control(seed):
    model = about_z(seed)
    rng = np.random.default_rng(seed)
    q0, v0, u, w, constant = (rng.uniform(-1.0, 1.0, N) for _ in range(5))
    p, d = rng.uniform(1.0, 20.0, N), rng.uniform(0.1, 1.0, N)
    duration, steps = 0.5, 500
    theirs = exudyn_run(model, q0, v0, p, d, u, w, constant, duration, steps)
    plant = Plant(
        model,
        duration / steps,
        integrator="rk4",
        q0=q0,
        v0=v0,
        stops=None,
        springs=JointPD(p=p, d=d, position=u, velocity=w, effort=constant),
    )
    for _ in range(steps):
        plant.step(np.zeros(N))
    assert np.abs(plant.q - q0).max() > 0.1
    np.testing.assert_allclose(plant.q, theirs, atol=1e-10)
