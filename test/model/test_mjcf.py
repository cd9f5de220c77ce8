"""MJCF against MuJoCo's own dynamics; SDF is refused with a way out."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelWarning, UrdfError

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco model="arm"><compiler angle="radian"/><option gravity="0 0 -9.81"/>
<default><joint damping="0.3" armature="0.02"/></default><worldbody>
<body name="base" pos="0.1 0 0.5" euler="0.2 0.1 0"><geom type="box" size="0.1 0.1 0.1" mass="3"/>
 <body name="upper" pos="0 0.1 0.2" quat="0.9 0.1 0.3 -0.2">
  <joint name="yaw" type="hinge" axis="0 0 1" pos="0.05 0.02 0" range="-1 2"/>
  <joint name="pitch" type="hinge" axis="0 1 0.2" pos="0 0.03 0.1" ref="0.4" range="-2 2"
   frictionloss="0.1"/>
  <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.05" density="900"/>
  <body name="slider" pos="0.3 0.1 0">
  <joint name="slide" type="slide" axis="1 0.5 0" ref="0.1" range="0 0.5"/>
   <inertial pos="0.02 0.01 0" mass="0.8" fullinertia="0.01 0.012 0.009 0.001 0 0.0005"/>
   <body name="finger" pos="0 0 0.1"><joint name="left" axis="1 0 0" pos="0 0.01 0"/>
   <geom type="sphere" size="0.03" mass="0.2" pos="0 0 0.05"/></body>
   <body name="tool" pos="0.1 0 0"><geom type="sphere" size="0.02" mass="0.1" pos="0 0 0.05"/>
   </body>
  </body></body></body></worldbody>
<actuator><motor joint="yaw" gear="50" ctrllimited="true" ctrlrange="-2 2"/></actuator></mujoco>"""


@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_the_equations_of_motion_are_mujocos(tmp_path, free):
    text = (
        ARM.replace(
            '<body name="base" pos="0.1 0 0.5" euler="0.2 0.1 0">',
            '<body name="base"><freejoint name="free"/>',
        )
        if free
        else ARM
    )
    file = tmp_path / "arm.xml"
    file.write_text(text)
    model = rd.load_urdf(file)
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    assert model.joint_names == (("free",) if free else ()) + ("yaw", "pitch", "slide", "left")
    assert (
        model.effort_limit[model.v_slice("yaw")] == 100.0
        and model.lower[model.q_slice("yaw")] == -1.0
    )
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = rd.integrate(model, model.neutral(), rng.uniform(-1, 1, model.nv))
        v = rng.standard_normal(model.nv)
        a = rng.standard_normal(model.nv)
        theirs_q = q.copy()
        theirs_v = v.copy()
        theirs_a = a.copy()
        back = np.eye(model.nv)
        # MuJoCo: quaternion w first; linear velocity in world axes first, angular in body axes
        # after
        if free:
            T = rd.link_pose(model, q, "base")
            R = T[:3, :3]
            w = v[:3]
            theirs_q[3:7] = q[[6, 3, 4, 5]]
            theirs_v[:6] = [*(R @ v[3:6]), *w]
            theirs_a[:6] = [*(R @ (a[3:6] + np.cross(w, v[3:6]))), *a[:3]]
            back[:6, :6] = 0.0
            back[:3, 3:6] = np.eye(3)
            back[3:6, :3] = R.T
        d.qpos = theirs_q
        d.qvel = theirs_v
        d.qacc = theirs_a
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(
            mujoco.mjtDisableBit.mjDSBL_CONTACT
        )
        mujoco.mj_inverse(m, d)
        ours = rd.inverse_dynamics(model, q, v, a)
        theirs = back @ (d.qfrc_inverse + d.qfrc_passive)
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())
        for body in ("base", "upper", "slider", "finger", "tool"):
            np.testing.assert_allclose(
                rd.link_pose(model, q, body)[:3, 3], d.body(body).xpos, atol=1e-12
            )
            np.testing.assert_allclose(
                rd.link_pose(model, q, body)[:3, :3], d.body(body).xmat.reshape(3, 3), atol=1e-12
            )
    again = rd.load_urdf(rd.to_urdf(model))
    np.testing.assert_allclose(rd.mass_matrix(again, q), rd.mass_matrix(model, q), rtol=1e-12)


def test_coupled_joints_are_mimics_and_the_rest_is_said():
    more = (
        '<equality><joint joint1="left" joint2="slide" polycoef="0.1 2 0 0 0"/><connect '
        'body1="tool" body2="base" anchor="0 0 0"/></equality></mujoco>'
    )
    with pytest.warns(ModelWarning, match="'equality1' is no part of the model"):
        model = rd.load_urdf(ARM.replace("</mujoco>", more))
    mimic = model.joint("left").mimic
    assert (mimic.joint, mimic.multiplier) == ("slide", 2.0) and mimic.offset == pytest.approx(
        0.1 - 2.0 * 0.1
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ARM.replace(
                '<joint name="left" axis="1 0 0" pos="0 0.01 0"/>',
                '<joint name="left" type="ball"/>',
            ),
            "ball joint",
        ),
        (
            ARM.replace("slide", "glide", 1).replace('type="slide"', 'type="glide"'),
            "MuJoCo refuses it",
        ),
        (
            '<?xml version="1.0"?><!-- world --><sdf version="1.9"><model name="m"/></sdf>',
            "sdformat_urdf",
        ),
    ],
    ids=["ball", "broken", "sdf"],
)
def test_what_cannot_be_read_says_what_to_do(text, message):
    with pytest.raises(UrdfError, match=message):
        rd.load_urdf(text)


def test_without_mujoco_it_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(rd.BackendError, match=r"pip install 'robot_dynamics_ros\[mjcf\]'"):
        rd.load_urdf(ARM)
