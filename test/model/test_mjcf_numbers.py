"""Every number that MuJoCo's compiled model has for joints, bodies, equalities and actuators is in
ours, or a finding names it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelWarning

mujoco = pytest.importorskip("mujoco")

INERTIAL = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>'


def body(name: str, joint: str = 'axis="0 1 0"', inside: str = "") -> str:
    return f'<body name="{name}"><joint name="{name}" {joint}/>{INERTIAL}{inside}</body>'


def document(bodies: str, rest: str = "", before: str = "") -> str:
    return f"<mujoco>{before}<worldbody><body name='p'>{bodies}</body></worldbody>{rest}</mujoco>"


def loaded(text: str) -> tuple[rd.RobotModel, str]:
    """The model, and its findings as one text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = rd.load_urdf(text)
    return model, "\n".join(model.description.findings)


def theirs(text: str) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's (nv, nv) mass matrix and (nv,) passive efforts at a speed of 1 of all joints."""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    d.qvel[:] = 1.0
    m.opt.gravity[:] = 0.0
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    for i in range(m.nv):
        mujoco.mj_mulM(m, d, M[i], np.eye(m.nv)[i])
    return M, np.array(d.qfrc_passive)


ACTUATORS = [
    '<motor joint="a" armature="0.2" damping="5"/>',
    '<motor joint="a" armature="0.2" damping="5" gear="3"/>',
    '<position jointinparent="b" kp="10" kv="2" armature="0.1" damping="0.7" gear="-2"/>',
    '<motor joint="a" armature="0.2"/><motor joint="a" armature="0.1" gear="2" damping="1"/>',
]


@pytest.mark.parametrize("actuators", ACTUATORS)
def test_rotors_and_damping_of_actuators_are_reflected(actuators: str) -> None:
    bodies = body("a", 'axis="0 1 0" armature="0.05" damping="0.3"', body("b", 'type="slide"'))
    text = document(bodies, f"<actuator>{actuators}</actuator>")
    model, findings = loaded(text)
    M, passive = theirs(text)
    np.testing.assert_allclose(rd.mass_matrix(model, model.neutral()), M, atol=1e-12)
    np.testing.assert_allclose(-model.damping, passive, atol=1e-12)
    assert not findings


@pytest.mark.parametrize(
    ("actuators", "joint", "limit", "named"),
    [
        ('<motor joint="a" forcerange="-20 20"/>', "", 20.0, False),
        ('<motor joint="a" forcerange="-20 5"/>', "", 5.0, True),
        ('<motor joint="a" forcerange="-20 5" gear="-2"/>', "", 10.0, True),
        ('<motor joint="a" forcerange="0 8"/>', "", 8.0, True),
        ('<motor jointinparent="a" ctrllimited="true" ctrlrange="-1 1" gear="4"/>', "", 4.0, False),
        ('<general joint="a" gainprm="3" ctrlrange="-2 1"/>', "", 3.0, True),
        ('<motor joint="a" ctrlrange="-9 9" forcerange="-4 4"/>', "", 4.0, False),
        ('<motor joint="a" ctrlrange="-9 9"/>', 'actuatorfrcrange="-6 7"', 6.0, True),
        (
            '<motor joint="a" forcerange="-1 3"/><motor joint="a" forcerange="-3 1"/>',
            "",
            4.0,
            False,
        ),
        ('<position joint="a" kp="10" ctrlrange="-1 1"/>', "", np.inf, False),
    ],
)
def test_limits_of_efforts(actuators: str, joint: str, limit: float, named: bool) -> None:
    text = document(body("a", f'axis="0 1 0" {joint}'), f"<actuator>{actuators}</actuator>")
    model, findings = loaded(text)
    assert model.effort_limit == limit
    assert ("in both directions" in findings) is named


EQUALITIES = [
    '<joint joint1="b" joint2="a" polycoef="0.1 -2 0 0 0"/>',
    '<joint joint1="b" joint2="a"/><joint joint1="b" joint2="c" polycoef="0.3 2 0 0 0"/>',
    '<joint joint1="b" joint2="a"/><joint joint1="c" joint2="a" polycoef="0.2 3 0 0 0"/>',
    '<joint joint1="a" joint2="b"/><joint joint1="c" joint2="d"/>'
    '<joint joint1="a" joint2="c" polycoef="-0.4 0.5 0 0 0"/>',
]


@pytest.mark.parametrize("equalities", EQUALITIES)
def test_all_active_linear_equalities_hold(equalities: str) -> None:
    bodies = "".join(body(name) for name in "abcd")
    text = document(bodies, f"<equality>{equalities}</equality>")
    m = mujoco.MjModel.from_xml_string(text)
    model, findings = loaded(text)
    assert model.nv == m.nv - m.neq and not findings
    q = np.random.default_rng(1).uniform(-0.3, 0.3, model.nv)
    positions = {}
    for name in "abcd":
        rotation = rd.link_pose(model, q, name)[:3, :3]
        positions[name] = float(np.arctan2(rotation[0, 2], rotation[0, 0]))
    for e in range(m.neq):
        first, second = (
            mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_JOINT, int(i))
            for i in (m.eq_obj1id[e], m.eq_obj2id[e])
        )
        expected = m.eq_data[e, 0] + m.eq_data[e, 1] * positions[second]
        assert positions[first] == pytest.approx(expected, abs=1e-9)


def test_equalities_that_cannot_be_kept_are_named() -> None:
    bodies = "".join(body(name) for name in "abc")
    loop = (
        '<equality><joint name="one" joint1="b" joint2="a"/><joint name="two" joint1="c" '
        'joint2="b"/><joint name="three" joint1="a" joint2="c" polycoef="0 2 0 0 0"/></equality>'
    )
    model, findings = loaded(document(bodies, loop))
    assert model.nv == 1 and "'three'" in findings and "'one'" not in findings
    off = '<equality><joint name="off" joint1="b" joint2="a" active="false"/></equality>'
    model, findings = loaded(document(bodies, off))
    assert model.nv == 3 and "'off' is not active" in findings


CURVED = '<motor joint="a" damping="1 2"/>'
DELAYED = '<motor joint="a" delay="0.02" nsample="20"/>'


@pytest.mark.parametrize(
    ("bodies", "rest", "before", "sentence"),
    [
        (body("a", 'damping="1 2 3"'), "", "", "grows with speed is no part of the model: a"),
        (body("a", 'stiffness="3"'), "", "", "springs of joints"),
        (
            body("a"),
            '<actuator><motor joint="a" damping="1 2"/></actuator>',
            "",
            "grows with speed",
        ),
        (
            body("a"),
            '<actuator><motor joint="a" delay="0.02" nsample="20"/></actuator>',
            "",
            "delay",
        ),
        (body("a").replace('name="a">', 'name="a" gravcomp="1">', 1), "", "", "compensation"),
        (body("a"), "", '<option density="1.2"/>', "medium"),
        (
            body("a", 'axis="0 1 0"', '<site name="s"/>'),
            '<actuator><general site="s" gear="1 0 0 0 0 0"/></actuator>',
            "",
            "drive no joint directly",
        ),
    ],
)
def test_what_has_no_place_is_named(bodies: str, rest: str, before: str, sentence: str) -> None:
    _, findings = loaded(document(bodies, rest, before))
    assert sentence in findings


def test_losses_of_free_joints_are_named() -> None:
    default = '<default><joint armature="0.1" damping="0.3" frictionloss="0.2"/></default>'
    free = f'<body name="b"><joint type="free" name="root"/>{INERTIAL}</body>'
    text = f"<mujoco>{default}<worldbody>{free}</worldbody></mujoco>"
    _, findings = loaded(text)
    assert "free joints" in findings and "root" in findings
    _, findings = loaded(
        text.replace(
            'type="free" name', 'type="free" armature="0" damping="0" frictionloss="0" name'
        )
    )
    assert not findings


def test_names_of_unnamed_bodies_are_their_own() -> None:
    unnamed = f'<body><joint axis="0 1 0"/>{INERTIAL}</body>'
    nested = f'<body name="body2"><joint name="joint1"/>{INERTIAL}{unnamed}</body>'
    model, _ = loaded(f"<mujoco><worldbody>{nested}</worldbody></mujoco>")
    assert model.nv == 2
    assert len(set(model.link_names)) == len(model.link_names)
