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
def test_dynamics_are_those_of_mujoco(name):
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


def test_joint_wrenches_are_those_that_mujoco_computes() -> None:
    """``cfrc_int`` is about the centre of mass of the tree, in world axes: moved to the joint's
    origin and turned into the link's axes it is the joint wrench.
    """
    arm = rd.load_robot("six_axis")
    spec = mujoco.MjSpec.from_file(str(rd.robot_path("six_axis")))
    spec.compiler.fusestatic = False
    compiled = spec.compile()
    data = mujoco.MjData(compiled)
    rng = np.random.default_rng(0)
    data.qpos[:], data.qvel[:] = rng.normal(size=(2, 6))
    mujoco.mj_forward(compiled, data)
    mujoco.mj_rnePostConstraint(compiled, data)
    wrenches = rd.joint_wrenches(arm, data.qpos, data.qvel, data.qacc)
    poses = rd.link_poses(arm, data.qpos)
    for name, wrench in zip(arm.joint_names, wrenches, strict=True):
        link = arm.joint(name).child
        body = compiled.body(link).id
        pose = poses[arm.link_index(link)]
        centre = data.subtree_com[compiled.body_rootid[body]]
        theirs = rd.Wrench.from_vector(data.cfrc_int[body], centre).translate(pose[:3, 3])
        turned = theirs.express(link, rotation=pose[:3, :3].T)
        assert_allclose(turned.vector, wrench, atol=1e-11)
