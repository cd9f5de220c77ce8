"""Converters held to Pinocchio's and MuJoCo's own motion, and the names of other libraries."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.other_libraries import USUAL_NAMES
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.library import robot_path


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return rd.random_configuration(model, rng), rng.uniform(-1.0, 1.0, model.nv)


def test_pinocchio_has_the_same_energy_and_jacobian():
    pin = pytest.importorskip("pinocchio")
    model = rd.load_robot("three_link", floating_base=True)
    q, v = state(model)
    theirs = pin.buildModelFromUrdf(str(robot_path("three_link")), pin.JointModelFreeFlyer())
    data = theirs.createData()
    q_base, v_base = rd.floating_base_to("pinocchio", q[:7], v[:6])
    q_p = np.concatenate((q_base, q[7:]))
    v_p = np.concatenate((v_base, v[6:]))
    assert pin.computeKineticEnergy(theirs, data, q_p, v_p) == pytest.approx(
        rd.kinetic_energy(model, q, v), rel=1e-12
    )
    frame = theirs.getFrameId(model.link_names[-1])
    J = pin.computeFrameJacobian(theirs, data, q_p, frame, pin.LOCAL_WORLD_ALIGNED)
    np.testing.assert_allclose(
        rd.swap_halves(J @ v_p), rd.jacobian(model, q, model.link_names[-1]) @ v, atol=1e-12
    )
    for given, back in zip(
        (q[:7], v[:6]), rd.floating_base_from("pinocchio", q_base, v_base), strict=True
    ):
        np.testing.assert_allclose(back, given, atol=1e-15)


def test_mujoco_moves_the_same_way():
    mujoco = pytest.importorskip("mujoco")
    body = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    free = rd.load_robot("three_link", floating_base=True)
    h = 1e-6
    for seed in range(5):
        q, v = state(free, seed)
        q_m, v_m = rd.floating_base_to("mujoco", q[:7], v[:6])
        mujoco.mj_integratePos(body, q_m, v_m, h)
        moved = rd.floating_base_to("mujoco", rd.integrate(free, q, h * v)[:7], v[:6])[0]
        np.testing.assert_allclose(
            moved, q_m * np.sign(q_m[3] * moved[3]) ** np.array([2, 2, 2, 1, 1, 1, 1]), atol=1e-11
        )
        for given, back in zip(
            state(free, seed),
            rd.floating_base_from("mujoco", *rd.floating_base_to("mujoco", q[:7], v[:6])),
            strict=True,
        ):
            np.testing.assert_allclose(back, given[: len(back)], atol=1e-15)


def test_drake_has_velocities_in_world_axes():
    """No Drake here: the rates of position and rotation by differences."""
    model = rd.load_robot("three_link", floating_base=True)
    q, v = state(model, 3)
    q_d, v_d = rd.floating_base_to("drake", q[:7], v[:6])
    h = 1e-6
    base = model.joint(model.joint_names[0]).child
    before, after = (
        rd.link_pose(model, rd.integrate(model, q, s * h * v), base) for s in (-1.0, 1.0)
    )
    np.testing.assert_allclose(v_d[3:], (after - before)[:3, 3] / (2.0 * h), atol=1e-8)
    spin = (after - before)[:3, :3] @ rd.link_pose(model, q, base)[:3, :3].T / (2.0 * h)
    np.testing.assert_allclose(v_d[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)
    np.testing.assert_array_equal(q_d, [q[6], *q[3:6], *q[:3]])
    for given, back in zip((q[:7], v[:6]), rd.floating_base_from("drake", q_d, v_d), strict=True):
        np.testing.assert_allclose(back, given, atol=1e-15)


def test_batches_and_refusals():
    q = np.tile([0, 0, 0, 0, 0, 0, 1.0], (4, 3, 1))
    v = np.ones((4, 3, 6))
    assert [x.shape for x in rd.floating_base_to("drake", q, v)] == [(4, 3, 7), (4, 3, 6)]
    with pytest.raises(UnknownNameError, match="pinocchio"):
        rd.floating_base_to("pinochio", q, v)
    with pytest.raises(ArgumentError, match="v: expected shape"):
        rd.floating_base_from("drake", q, v[..., :5])


def test_usual_names_say_which_one_is_ours():
    for name, ours in USUAL_NAMES.items():
        assert ours in dir(rd)
        with pytest.raises(AttributeError, match=f"it is rd.{ours} here"):
            getattr(rd, name)
