"""A chain whose joints all turn about z as Exudyn's kinematic tree."""

from __future__ import annotations

from dataclasses import replace

import exudyn as exu
import numpy as np
from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType
from support.random_trees import random_model


def about_z(seed, n):
    """A chain whose joints all turn about z, the only difference to a random one: Exudyn knows
    coordinate axes only.
    """
    model = random_model(
        seed, n, types=(JointType.REVOLUTE,), branching=0.0, fixed=0.0, limits=False
    )
    joints = tuple(replace(j, axis=np.array([0.0, 0.0, 1.0])) for j in model.description.joints)
    return model.replace(description=replace(model.description, joints=joints))


class ExudynChain:
    """The chain in a ``system`` of Exudyn: its coordinates are of ``node``, its links are in the
    object ``tree``.

    Args:
        settings: further arguments of Exudyn's ObjectKinematicTree.
    """

    def __init__(self, model: rd.RobotModel, q0, v0, **settings):
        n = model.nv
        self.system = exu.SystemContainer().AddSystem()
        self.node = self.system.AddNode(
            NodeGenericODE2(
                referenceCoordinates=[0.0] * n,
                initialCoordinates=list(q0),
                initialCoordinates_t=list(v0),
                numberOfODE2Coordinates=n,
            )
        )
        joints = [model.joint(name) for name in model.joint_names]
        bodies = [model.link(joint.child).inertia for joint in joints]
        self.tree = self.system.AddObject(
            ObjectKinematicTree(
                nodeNumber=self.node,
                jointTypes=[exu.JointType.RevoluteZ] * n,
                linkParents=np.arange(-1, n - 1),
                jointTransformations=exu.Matrix3DList([j.origin.rotation for j in joints]),
                jointOffsets=exu.Vector3DList([j.origin.position for j in joints]),
                linkInertiasCOM=exu.Matrix3DList([b.rotational for b in bodies]),
                linkCOMs=exu.Vector3DList([b.com for b in bodies]),
                linkMasses=[b.mass for b in bodies],
                gravity=list(model.gravity),
                **settings,
            )
        )

    def run(self, duration, steps):
        """Move on by ``duration`` in s."""
        self.system.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = duration
        settings.timeIntegration.verboseMode = 0
        settings.solution.file.write = False
        self.system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)

    def coordinates(self, *kinds):
        """(n,) of each kind: ``"Coordinates"``, ``"Coordinates_t"``, ``"Coordinates_tt"``."""
        return [
            np.array(self.system.GetNodeOutput(self.node, getattr(exu.OutputVariableType, x)))
            for x in kinds
        ]
