"""A second oracle for a handful of robots: MuJoCo."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel

mujoco = pytest.importorskip("mujoco")

HINGES = (JointType.REVOLUTE, JointType.PRISMATIC, JointType.CONTINUOUS)
ROBOTS = {
    "six_axis": lambda: rd.load_robot("six_axis"),
    "seven_axis": lambda: rd.load_robot("seven_axis"),
    "two_arm_torso": lambda: rd.load_robot("two_arm_torso"),
    "chain30": lambda: rd.chain(30),
    "tree": lambda: random_model(3, 12, types=HINGES, armature=True),
    "prismatic chain": lambda: rd.chain(9, prismatic_every=3),
}


def frictionless(model: RobotModel) -> RobotModel:
    joints = [dataclasses.replace(j, damping=0.0, friction=0.0) for j in model.description.joints]
    return model.replace(description=dataclasses.replace(model.description, joints=tuple(joints)))


@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics(name):
    from support.mujoco_bridge import to_mjcf

    model = frictionless(ROBOTS[name]()).with_backend("interpreted")
    m = mujoco.MjModel.from_xml_string(to_mjcf(model, dt=1e-3))
    d = mujoco.MjData(m)
    at = [int(mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_JOINT, j)) for j in model.joint_names]
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, model.nq)
    v = rng.normal(size=model.nv)
    a = rng.normal(size=model.nv)
    d.qpos[m.jnt_qposadr[at]] = q
    d.qvel[m.jnt_dofadr[at]] = v
    d.qacc[m.jnt_dofadr[at]] = a
    mujoco.mj_inverse(m, d)
    dof = m.jnt_dofadr[at]
    tau = d.qfrc_inverse[dof].copy()
    ours = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(ours, tau, atol=1e-11 * np.abs(tau).max())

    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M) if _new_signature() else mujoco.mj_fullM(m, M, d.qM)
    M = M[np.ix_(dof, dof)]
    assert_allclose(rd.mass_matrix(model, q), M, atol=1e-12 * np.abs(M).max())

    d.qfrc_applied[dof] = tau
    mujoco.mj_forward(m, d)
    theirs = d.qacc[dof]
    found = rd.forward_dynamics(model, q, v, tau)
    assert_allclose(M @ found, M @ theirs, atol=1e-10 * np.abs(tau).max())
    assert rd.kinetic_energy(model, q, v) == pytest.approx(0.5 * v @ M @ v, rel=1e-11)


def _new_signature() -> bool:
    """MuJoCo 4 takes (model, data, matrix), earlier ones (model, matrix, qM)."""
    return int(mujoco.__version__.split(".")[0]) >= 4
