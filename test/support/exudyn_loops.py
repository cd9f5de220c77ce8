"""Mechanisms as free rigid bodies in Exudyn, every joint a constraint between two of them."""

from __future__ import annotations

import exudyn as exu
import exudyn.utilities as eu
import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType


def _frame(axis):
    """(3, 3) rotation whose z is ``axis``."""
    k = int(np.argmin(np.abs(axis)))
    x = np.cross(np.eye(3)[k], axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


class FreeBodies:
    """Our tree in maximal coordinates at one state, its loops closed by joints that bind nothing
    twice.

    Args:
        loops: hinge and point constraints.
        axis: name of loop → (3,) world axis along which and about which its closure is left free,
            since the tree holds that already.
    """

    def __init__(self, loops, q, v, tau, axis):
        model = loops.model
        self.model, self.system = model, exu.SystemContainer().AddSystem()
        ground = self.system.CreateGround()
        self.bodies = {model.root_link: ground}
        self.poses = {model.root_link: np.eye(4)}
        velocity = rd.link_velocities(model, q, v)
        for i, link in enumerate(model.link_names):
            pose = np.asarray(rd.link_pose(model, q, link))
            self.poses[link] = pose
            inertia = model.link(link).inertia
            if link == model.root_link:
                continue
            # a frame: it goes with its parent
            if inertia.mass == 0.0:
                continue
            R = pose[:3, :3]
            w = velocity[i][:3]
            u = velocity[i][3:]
            self.bodies[link] = self.system.CreateRigidBody(
                inertia=eu.RigidBodyInertia(inertia.mass, inertia.rotational, [0, 0, 0]).Translated(
                    inertia.com
                )
                if inertia.com.any()
                else eu.RigidBodyInertia(inertia.mass, inertia.rotational, [0, 0, 0]),
                referencePosition=pose[:3, 3],
                referenceRotationMatrix=R,
                initialVelocity=u,
                initialAngularVelocity=w,
                gravity=list(model.gravity),
            )
        for joint in model.description.joints:
            if joint.child not in self.bodies:
                continue
            parent = joint.parent
            while parent not in self.bodies:
                parent = next(j.parent for j in model.description.joints if j.child == parent)
            R = self.poses[joint.child][:3, :3]
            p = self.poses[joint.child][:3, 3]
            bound = [1] * 6
            world = R @ joint.axis
            if joint.type is not JointType.FIXED:
                sliding = joint.type is JointType.PRISMATIC
                bound[2 if sliding else 5] = 0
                effort = tau[model.v_slice(joint.name)][0]
                for body, sign in ((joint.child, 1.0), (parent, -1.0)):
                    if self.bodies[body] == ground:
                        continue
                    if sliding:
                        self.system.CreateForce(
                            bodyNumber=self.bodies[body],
                            loadVector=list(sign * effort * world),
                            localPosition=list(self._local(body, p)),
                        )
                    else:
                        self.system.CreateTorque(
                            bodyNumber=self.bodies[body], loadVector=list(sign * effort * world)
                        )
            self._join(parent, joint.child, p, _frame(world), bound)
        self.closures = {}
        for c in loops.constraints:
            given = dict(c.numbers)
            X = self.poses[c.a]
            p = X[:3, :3] @ np.array(given["point_a"]) + X[:3, 3]
            self.closures[c.name] = self._join(
                c.a, c.b, p, _frame(np.array(axis[c.name], dtype=float)), [1, 1, 0, 0, 0, 0]
            )
        self.system.Assemble()
        self._solve()

    def _local(self, body, p):
        X = self.poses[body]
        return X[:3, :3].T @ (p - X[:3, 3])

    def _join(self, parent, child, p, R, bound):
        return self.system.CreateGenericJoint(
            bodyNumbers=[self.bodies[parent], self.bodies[child]],
            position=p,
            rotationMatrixAxes=R,
            constrainedAxes=bound,
            useGlobalFrame=True,
        ), R

    def _solve(self):
        settings = exu.SimulationSettings()
        time = settings.timeIntegration
        time.numberOfSteps = 1
        time.endTime = 1e-7
        time.verboseMode = 0
        time.generalizedAlpha.computeInitialAccelerations = True
        time.newton.useModifiedNewton = False
        settings.solution.file.write = False
        self.system.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2)

    def link_acceleration(self, link):
        """(6,) [angular; linear] of the link's origin, world axes."""
        out = [
            self.system.GetObjectOutputBody(
                self.bodies[link], getattr(exu.OutputVariableType, word), [0, 0, 0]
            )
            for word in ("AngularAcceleration", "Acceleration")
        ]
        return np.concatenate(out)

    def closure_force(self, name):
        """(3,) force of the closure, world axes."""
        joint, R = self.closures[name]
        return R @ np.array(self.system.GetObjectOutput(joint, exu.OutputVariableType.ForceLocal))
