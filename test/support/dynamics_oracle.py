"""Every dynamics function beside Pinocchio's, in our coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from support.pinocchio_bridge import PinocchioBridge

Pair = tuple[str, Any, Any]

SWAP = [3, 4, 5, 0, 1, 2]
# our parameters in Pinocchio's order (m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)
REGRESSOR_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def skew(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


class Oracle:
    """Yields (what, ours, Pinocchio's) for one robot at one state."""

    def __init__(self, model: RobotModel, urdf: str, *, floating_base: bool = False) -> None:
        self.model = model
        self.bridge = PinocchioBridge(model, urdf, floating_base=floating_base)
        self.pin = self.bridge.pin
        for name, joint in zip(model.moving_joint_names, self.bridge.joints, strict=True):
            for k in range(joint.nv):
                self.bridge.model.armature[joint.idx_v + k] = model.joint(name).armature
        self.planar = bool((model.joint_type == JointType.PLANAR).any())

    def pairs(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, seed: int = 0) -> Iterator[Pair]:
        model = self.model
        bridge = self.bridge
        pin = self.pin
        P = bridge.model
        D = bridge.data
        rng = np.random.default_rng(seed)
        T = bridge.T(q)
        qp = bridge.q(q)
        vp = T @ v
        ap = T @ a + bridge.drift(q, v)

        tau = bridge.inverse_dynamics(q, v, a)
        M = bridge.mass_matrix(q)
        yield "inverse dynamics", rd.inverse_dynamics(model, q, v, a), tau
        yield "mass matrix", rd.mass_matrix(model, q), M
        gravity = T.T @ pin.computeGeneralizedGravity(P, D, qp)
        yield "gravity", rd.gravity_forces(model, q), gravity
        bias = tau - M @ a
        yield "bias", rd.bias_forces(model, q, v) + M @ a, tau
        if model.has_mimic or self.planar:
            expected = np.linalg.solve(M, tau - bias)
        else:
            expected = T.T @ pin.aba(P, D, qp, vp, T @ tau)
        ours = rd.forward_dynamics(model, q, v, tau)
        if model.nv == 0 or np.linalg.cond(M) < 1e4:
            yield "forward dynamics", ours, expected
        else:
            # rounding alone moves the accelerations by more: compare what they take
            yield "forward dynamics, as efforts", M @ ours, M @ expected
        inverse = rd.mass_matrix_inverse(model, q)
        yield "inverse of the mass matrix", M @ inverse @ M, M
        L, d = rd.mass_matrix_factors(model, q)
        yield "factors", L.T @ (d[:, None] * L), M

        C = rd.coriolis_matrix(model, q, v)
        yield "Coriolis efforts", C @ v + gravity + M @ a, tau
        if not self.planar:
            theirs = T.T @ pin.computeCoriolisMatrix(P, D, qp, vp) @ T
            yield "rate of the mass matrix", C + C.T, theirs + theirs.T

        # Pinocchio's frame functions crash on a robot without joints
        if model.nv:
            yield from self._wrenches(q, v, a, T, qp, vp, ap, rng)
            yield from self._frames(q, v, a, T, qp, vp, ap, rng)
        yield from self._totals(q, v, a, T, qp, vp, ap)
        if not self.planar:
            by_q, by_v, _ = pin.computeRNEADerivatives(P, D, qp, vp, ap)
            ours_q, ours_v = rd.inverse_dynamics_derivatives(model, q, v, a)
            yield "∂τ/∂q", ours_q, T.T @ by_q @ T
            yield "∂τ/∂v", ours_v, T.T @ by_v @ T
        theirs = T.T @ pin.computeJointTorqueRegressor(P, D, qp, vp, ap).reshape(
            P.nv, 10 * (P.njoints - 1)
        )
        columns = [
            10 * (P.getJointId(n) - 1) + k
            for n in model.moving_joint_names
            for k in REGRESSOR_ORDER
        ]
        yield "regressor", rd.joint_torque_regressor(model, q, v, a), theirs[:, columns]

    def _wrenches(
        self, q: Any, v: Any, a: Any, T: Any, qp: Any, vp: Any, ap: Any, rng: Any
    ) -> Iterator[Pair]:
        P = self.bridge.model
        pin = self.pin
        model = self.model
        names = [n for n in model.link_names if P.existBodyName(n)]
        external = {name: rng.normal(size=6) for name in rng.permutation(names)[:3]}
        forces = [pin.Force.Zero() for _ in range(P.njoints)]
        data = P.createData()
        pin.forwardKinematics(P, data, qp)
        pin.updateFramePlacements(P, data)
        for name, wrench in external.items():
            frame = P.frames[P.getFrameId(name, pin.BODY)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench[SWAP]))
        effort = T.T @ pin.rnea(P, data, qp, vp, ap, forces)
        yield (
            "efforts with external wrenches",
            rd.inverse_dynamics(model, q, v, a, external=external),
            effort,
        )
        expected = np.array(
            [data.f[P.getJointId(n)].vector[SWAP] for n in model.joint_names]
        ).reshape(-1, 6)
        yield "joint wrenches", rd.joint_wrenches(model, q, v, a, external=external), expected

    def _frames(
        self, q: Any, v: Any, a: Any, T: Any, qp: Any, vp: Any, ap: Any, rng: Any
    ) -> Iterator[Pair]:
        D = self.bridge.data
        P = self.bridge.model
        pin = self.pin
        model = self.model
        pin.forwardKinematics(P, D, qp, vp, ap)
        pin.updateFramePlacements(P, D)
        pin.computeJointJacobiansTimeVariation(P, D, qp, vp)
        aligned = pin.LOCAL_WORLD_ALIGNED
        local = pin.LOCAL
        # it has no "world" link
        names = [n for n in model.link_names if P.existBodyName(n)]
        rows = [model.link_index(n) for n in names]
        ids = [P.getFrameId(name, pin.BODY) for name in names]
        yield (
            "link placements",
            rd.link_poses(model, q)[rows],
            np.array([D.oMf[k].homogeneous for k in ids]),
        )
        velocity = [pin.getFrameVelocity(P, D, k, aligned).vector[SWAP] for k in ids]
        yield "link velocities", rd.link_velocities(model, q, v)[rows], np.array(velocity)
        acceleration = [
            pin.getFrameClassicalAcceleration(P, D, k, aligned).vector[SWAP] for k in ids
        ]
        yield (
            "link accelerations",
            rd.link_accelerations(model, q, v, a)[rows],
            np.array(acceleration),
        )
        link = str(rng.choice(names))
        k = P.getFrameId(link, pin.BODY)
        for axes, frame in (("world", aligned), ("link", local)):
            theirs = pin.getFrameJacobian(P, D, k, frame).reshape(6, -1)[SWAP] @ T
            yield f"Jacobian in {axes} axes", rd.jacobian(model, q, link, expressed_in=axes), theirs
            if not self.planar:
                theirs = pin.getFrameJacobianTimeVariation(P, D, k, frame).reshape(6, -1)[SWAP] @ T
                # Pinocchio moves the axes' origin with the point, as we do
                if axes == "world":
                    ours = rd.jacobian_derivative(model, q, v, link)
                    J = rd.jacobian(model, q, link)
                    yield (
                        "acceleration from Jacobian",
                        J @ a + ours @ v,
                        np.array(acceleration)[names.index(link)],
                    )
                else:
                    # the derivative of the body Jacobian as Pinocchio defines it
                    ours = rd.jacobian_derivative(model, q, v, link, expressed_in="link")
                    yield "Jacobian rate in link axes", ours, theirs

    def _totals(self, q: Any, v: Any, a: Any, T: Any, qp: Any, vp: Any, ap: Any) -> Iterator[Pair]:
        D = self.bridge.data
        P = self.bridge.model
        pin = self.pin
        model = self.model
        M = self.bridge.mass_matrix(q)
        yield "kinetic energy", rd.kinetic_energy(model, q, v), 0.5 * v @ M @ v
        g = np.array(model.gravity)
        root = model.root_inertia
        R = model.base.rotation
        p = model.base.position
        root_com = R @ root.com + p
        potential = pin.computePotentialEnergy(P, D, qp) - root.mass * g @ root_com
        scale = (
            model.total_mass
            * np.linalg.norm(g)
            * (1.0 + np.abs(rd.link_poses(model, q)[:, :3, 3]).max())
        )
        yield (
            "potential energy",
            1.0 + rd.potential_energy(model, q) / scale,
            1.0 + potential / scale,
        )
        if sum(i.mass for i in P.inertias[1:]) == 0.0:
            return
        com = pin.centerOfMass(P, D, qp, vp, ap)
        moving = D.mass[0]
        share = moving / model.total_mass
        c = share * com + (1.0 - share) * root_com
        ours = rd.center_of_mass_motion(model, q, v, a)
        yield "centre of mass", 1.0 + ours[0], 1.0 + c
        yield "its velocity", ours[1], share * D.vcom[0]
        yield "its acceleration", ours[2], share * D.acom[0]
        yield "its Jacobian", rd.center_of_mass_jacobian(model, q) @ v, share * D.vcom[0]
        A = (pin.computeCentroidalMap(P, D, qp).reshape(6, -1) @ T)[SWAP]
        A[:3] += skew(com - c) @ A[3:]
        yield "centroidal momentum", rd.centroidal_momentum_matrix(model, q), A


def relative_error(ours: Any, theirs: Any) -> float:
    """Largest difference over the largest entry."""
    ours = np.asarray(ours)
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    if theirs.size == 0:
        return 0.0
    scale = np.abs(theirs).max()
    worst = np.abs(ours - theirs).max()
    return float(worst / scale) if scale > 1e-9 else float(worst)
