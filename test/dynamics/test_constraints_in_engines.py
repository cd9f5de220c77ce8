"""Closed loops beside two other engines: MuJoCo's equality constraints, read from MJCF, and free
bodies in Exudyn.

MuJoCo's constraints are soft: their compliance is a part R of K M⁻¹ Kᵀ that the impedance sets.
Results at four impedances, extrapolated to R = 0, are those of rigid ones to about R⁴.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.closed_loops import four_bar, gripper_arm, slider_crank
from support.random_trees import ONE_DOF, random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, BackendError, UnknownNameError

# the first is the largest that MuJoCo takes
IMPEDANCES = (0.9999, 0.9998, 0.9997, 0.9996)


def numbers(values):
    return " ".join(repr(float(x)) for x in np.ravel(values))


def with_sites(text, places):
    """MJCF with sites: (name, body, position)."""
    for name, body, at in places:
        tag = f'<body name="{body}"'
        head = text.index(">", text.index(tag)) + 1
        text = f'{text[:head]}<site name="{name}" pos="{numbers(at)}"/>{text[head:]}'
    return text


def with_equality(model, elements, places=(), tendons="", impedance=0.9999):
    """The robot as MJCF with equality constraints of this impedance."""
    from support.mujoco_bridge import to_mjcf

    text = re.sub(
        r'(damping|frictionloss)="[^"]*"', r'\1="0"', with_sites(to_mjcf(model, dt=1e-3), places)
    )
    stiff = f'solref="0.02 1" solimp="{impedance} {impedance} 0.001 0.5 2"'
    elements = elements.replace("/>", f" {stiff}/>")
    return text.replace(
        "</mujoco>", f"<tendon>{tendons}</tendon><equality>{elements}</equality></mujoco>"
    )


def rigid(text_of, model, q, v, tau):
    """MuJoCo's accelerations, generalised forces of the constraints, and their multipliers,
    extrapolated to rigid ones.
    """
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the oracle")
    found = []
    compliance = []
    for impedance in IMPEDANCES:
        m = mujoco.MjModel.from_xml_string(text_of(impedance))
        data = mujoco.MjData(m)
        at = [m.joint(name).id for name in model.joint_names if name in model.moving_joint_names]
        data.qpos[m.jnt_qposadr[at]] = q
        data.qvel[m.jnt_dofadr[at]] = v
        data.qfrc_applied[m.jnt_dofadr[at]] = tau
        mujoco.mj_forward(m, data)
        dofs = m.jnt_dofadr[at]
        found.append(
            [data.qacc[dofs].copy(), data.qfrc_constraint[dofs].copy(), data.efc_force.copy()]
        )
        compliance.append((1.0 - impedance) / impedance)
    # Lagrange's polynomials at 0
    share = [np.prod([s / (s - r) for s in compliance if s != r]) for r in compliance]
    return [
        sum(w * x for w, x in zip(share, part, strict=True)) for part in zip(*found, strict=True)
    ]


def four_bar_case():
    loop = four_bar("point")
    places = [("end", "coupler", (0.9, 0, 0)), ("other", "rocker", (0.7, 0, 0))]
    return loop, [0.7, 0.3, 1.0], '<connect name="closure" site1="end" site2="other"/>', places, ""


def slider_crank_case():
    loop = slider_crank()
    places = [("end", "rod", (0.5, 0, 0)), ("pin", "piston", (0, 0, 0))]
    return loop, [0.9, -1.3, 0.6], '<connect name="pin" site1="end" site2="pin"/>', places, ""


def gripper_case():
    arm = gripper_arm()
    elements = ""
    places = []
    for c in arm.constraints:
        if c.kind == "hinge":
            given = dict(c.numbers)
            places += [
                (f"{c.name}_a", c.a, given["point_a"]),
                (f"{c.name}_b", c.b, given["point_b"]),
            ]
            elements += f'<connect name="{c.name}" site1="{c.name}_a" site2="{c.name}_b"/>'
    elements += (
        '<joint name="fingers" joint1="right_inner_joint" joint2="left_inner_joint" polycoef="0 '
        '-1 0 0 0"/>'
    )
    return arm, np.full(arm.model.nq, 0.2), elements, places, ""


def rod_case():
    """A four-bar whose coupler is a rod without mass, a tendon of MuJoCo's; another holds two
    joints together.
    """
    model = four_bar().model
    places = [("crank_end", "crank", (0.3, 0.1, 0)), ("rocker_end", "rocker", (0.7, 0.2, 0))]
    tendons = (
        '<spatial name="rod"><site site="crank_end"/><site site="rocker_end"/></spatial>'
        '<fixed name="belt"><joint joint="crank_joint" coef="2"/><joint joint="coupler_joint" '
        'coef="-0.5"/></fixed>'
    )
    elements = (
        f'<tendon name="rod" tendon1="rod" polycoef="{0.9 - float(np.hypot(1.2, 0.1))!r} 0 0 0 '
        '0"/><tendon name="belt" tendon1="belt"/>'
    )
    loops = rd.Constraints(
        model,
        [
            rd.distance_constraint(
                "rod", "crank", "rocker", point_a=(0.3, 0.1, 0), point_b=(0.7, 0.2, 0), length=0.9
            ),
            rd.gear_constraint("belt", "crank_joint", "coupler_joint", ratio=4.0),
        ],
    )
    return loops, [0.7, 0.3, 1.0], elements, places, tendons


CASES = {
    "four-bar": four_bar_case,
    "slider-crank": slider_crank_case,
    "gripper": gripper_case,
    "rod": rod_case,
}


@pytest.mark.parametrize("case", CASES)
def test_read_from_mjcf_they_accelerate_and_carry_as_in_mujoco(case):
    pytest.importorskip("mujoco", reason="MuJoCo reads MJCF")
    made, guess, elements, places, tendons = CASES[case]()
    model = made.model
    loops = rd.load_constraints(model, with_equality(model, elements, places, tendons))
    assert loops.names == made.names
    q, v = loops.consistent_state(guess, np.linspace(0.5, 1.5, model.nv))
    assert_allclose(made.residual(q), 0.0, atol=1e-9)
    assert_allclose(made.jacobian(q) @ v, 0.0, atol=1e-9)
    tau = np.linspace(-1.0, 2.0, model.nv)
    if case == "rod":
        # MuJoCo leaves out the rate of a tendon's Jacobian
        v = np.zeros(model.nv)
    a, forces, multipliers = rigid(
        lambda x: with_equality(model, elements, places, tendons, x), model, q, v, tau
    )
    for ours in (loops, made):
        got = ours.forward_dynamics(q, v, tau)
        assert_allclose(got.a, a, atol=3e-6 * np.abs(a).max())
        assert_allclose(ours.efforts(q, got.reactions), forces, atol=3e-6 * np.abs(forces).max())
    got = loops.forward_dynamics(q, v, tau).reactions
    K = loops.jacobian(q)
    signs = np.concatenate(
        [
            [-1.0 if c.kind == "point" else 1.0] * (3 if c.kind == "point" else 1)
            for c in loops.constraints
        ]
    )
    # a tendon's force is counted along its length, not along ours
    if case != "rod":
        # of redundant rows only this part is determined
        carried = K @ np.linalg.pinv(K, rcond=1e-8)
        assert_allclose(got, carried @ (signs * multipliers), atol=1e-5 * np.abs(got).max())


def test_a_weld_read_from_mjcf():
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo reads MJCF")
    from support.mujoco_bridge import to_mjcf

    # well conditioned, for the extrapolation
    model = random_model(1, 8, types=ONE_DOF, branching=0.0)
    rng = np.random.default_rng(1)
    q, v, tau = rng.normal(size=(3, model.nv))
    a = model.link_names[-1]
    b = model.link_names[1]
    v = np.zeros(model.nv)
    m = mujoco.MjModel.from_xml_string(to_mjcf(model, dt=1e-3))
    data = mujoco.MjData(m)
    data.qpos[[m.joint(n).qposadr[0] for n in model.moving_joint_names]] = q
    mujoco.mj_kinematics(m, data)
    seen = np.linalg.inv(rd.link_pose(model, q, a)) @ rd.link_pose(model, q, b)
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, seen[:3, :3].ravel())
    anchor = np.array([0.1, -0.2, 0.3])
    # with an anchor, relpose says where that is
    place = seen[:3, :3] @ anchor + seen[:3, 3]
    element = (
        f'<weld name="loop" body1="{a}" body2="{b}" anchor="{numbers(anchor)}" '
        f'relpose="{numbers(place)} {numbers(quaternion)}"/>'
    )
    loops = rd.load_constraints(model, with_equality(model, element))
    assert_allclose(loops.residual(q), 0.0, atol=1e-12)
    acceleration, forces, _ = rigid(
        lambda x: with_equality(model, element, impedance=x), model, q, v, tau
    )
    got = loops.forward_dynamics(q, v, tau)
    assert_allclose(got.a, acceleration, atol=5e-5 * np.abs(acceleration).max())
    assert_allclose(loops.efforts(q, got.reactions), forces, atol=5e-5 * np.abs(forces).max())


def test_elements_of_mjcf_without_a_counterpart_are_named():
    pytest.importorskip("mujoco", reason="MuJoCo reads MJCF")
    model = four_bar().model

    def read(element, places=(), tendons=""):
        return rd.load_constraints(model, with_equality(model, element, places, tendons))

    with pytest.raises(ArgumentError, match=r"equality 'curve'.*polynomial.*polycoef"):
        read(
            '<joint name="curve" joint1="crank_joint" joint2="rocker_joint" polycoef="0 1 2 0 0"/>'
        )
    three = "".join(f'<joint joint="{name}" coef="1"/>' for name in model.joint_names)
    with pytest.raises(ArgumentError, match=r"equality 'sum'.*tendon 'three'"):
        read('<tendon name="sum" tendon1="three"/>', tendons=f'<fixed name="three">{three}</fixed>')
    with pytest.raises(rd.UrdfError, match="MuJoCo refuses it"):
        read('<distance name="old" geom1="a" geom2="b"/>')
    assert read('<connect body1="crank" anchor="0 0 0" active="false"/>').constraints == ()
    held = read('<joint name="brake" joint1="rocker_joint" polycoef="0.3 0 0 0 0"/>')
    q, _ = held.consistent_state([0.1, 0.2, 0.9])
    assert_allclose(q[2], 0.3, atol=1e-12)
    fewer = rd.limb(2)
    text = with_equality(
        model, '<connect name="closure" body1="coupler" body2="rocker" anchor="0.9 0 0"/>'
    )
    with pytest.raises(UnknownNameError, match="coupler"):
        rd.load_constraints(fewer, text)


def test_a_body_whose_frame_is_not_that_of_the_link_is_refused():
    pytest.importorskip("mujoco", reason="MuJoCo reads MJCF")
    model = four_bar().model
    text = with_equality(
        model, '<connect name="closure" body1="coupler" body2="rocker" anchor="0.9 0 0"/>'
    )
    rd.load_constraints(model, text)
    with pytest.raises(
        ArgumentError, match=r"'closure'.*body 'rocker' is not where the link 'rocker' is.*0\.1 m"
    ):
        rd.load_constraints(model, text.replace('name="rocker" pos="0.8', 'name="rocker" pos="0.9'))


def test_a_robot_and_its_loops_from_one_mjcf_file(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo reads MJCF")
    made, _, elements, places, _ = four_bar_case()
    coupled = (
        '<joint name="mimic" joint1="rocker_joint" joint2="crank_joint" polycoef="0.1 2 0 0 0"/>'
    )
    path = tmp_path / "four_bar.xml"
    path.write_text(with_equality(made.model, elements + coupled, places))
    with pytest.warns(
        rd.ModelWarning, match="'closure' is no part of the model; load_constraints reads it"
    ):
        model = rd.load_urdf(path)
    assert model.joint("rocker_joint").mimic.multiplier == 2.0
    assert rd.load_constraints(model, path).names == ("closure",)
    assert rd.load_constraints(made.model, path).names == ("closure", "mimic")


def test_without_mujoco_it_is_said(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(BackendError, match=r"robot_dynamics_ros\[mjcf\]"):
        rd.load_constraints(four_bar().model, "<mujoco/>")


def gripper_without_gear():
    arm = gripper_arm()
    return rd.Constraints(arm.model, [c for c in arm.constraints if c.kind == "hinge"])


@pytest.mark.filterwarnings("ignore:the argument MainSystem:DeprecationWarning")
@pytest.mark.parametrize(
    ("make", "guess"),
    [
        (four_bar, [0.7, 0.3, 1.0]),
        (slider_crank, [0.9, -1.3, 0.6]),
        (gripper_without_gear, np.full(12, 0.2)),
    ],
    ids=["four-bar", "slider-crank", "gripper"],
)
def test_free_bodies_in_exudyn_accelerate_and_carry_the_same(make, guess):
    pytest.importorskip("exudyn", reason="Exudyn is the oracle")
    from support.exudyn_loops import FreeBodies

    loops = make()
    model = loops.model
    q, v = loops.consistent_state(guess, np.linspace(0.5, 1.5, model.nv))
    tau = np.linspace(-1.0, 2.0, model.nv)
    palm = (
        rd.link_pose(model, q, "palm")[:3, 0]
        if "palm" in model.link_names
        else np.array([0.0, 0.0, 1.0])
    )
    theirs = FreeBodies(loops, q, v, tau, dict.fromkeys(loops.names, palm))
    a, reactions = loops.forward_dynamics(q, v, tau)
    ours = rd.link_accelerations(model, q, v, a)
    scale = np.abs(ours).max()
    for i, link in enumerate(model.link_names):
        if i and link in theirs.bodies:
            assert_allclose(theirs.link_acceleration(link), ours[i], atol=1e-6 * scale)
    for name, rows in loops.slices.items():
        force = reactions[rows][:3]
        across = force - palm * (palm @ force)
        assert_allclose(-theirs.closure_force(name), across, atol=1e-5 * np.abs(reactions).max())
