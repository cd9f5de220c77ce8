"""Robots whose mass matrix is singular are errors that name the joint; all others have one that can
be inverted.
"""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelError, RobotDynamicsError
from robot_dynamics_ros.model.description import (
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    Pose,
    RobotDescription,
)

pin = pytest.importorskip("pinocchio")

SOLID = Inertia(2.0, (0.1, 0.2, -0.1), np.diag([0.02, 0.03, 0.025]))
POINT = Inertia(1.0, (0.0, 0.0, 0.3))
ROD = Inertia(1.0, (0.0, 0.0, 0.3), np.diag([0.1, 0.1, 0.0]))
NOTHING = Inertia()


def chain(*parts, root=NOTHING):
    """Links l1, l2, … on joints j1, j2, …; each part is (type, axis, inertia)."""
    links = [Link("l0", root)]
    joints = []
    for k, (kind, axis, inertia) in enumerate(parts, 1):
        links.append(Link(f"l{k}", inertia))
        joints.append(Joint(f"j{k}", kind, f"l{k - 1}", f"l{k}", axis=axis))
    return RobotDescription("r", tuple(links), tuple(joints))


R = JointType.CONTINUOUS
P = JointType.PRISMATIC
F = JointType.FLOATING
X = (1, 0, 0)
Y = (0, 1, 0)
Z = (0, 0, 1)

SINGULAR = {
    "massless end": (chain((R, Z, SOLID), (R, X, NOTHING)), "j2", "'l2'"),
    "massless slide": (chain((R, Z, SOLID), (P, X, NOTHING)), "j2", "'l2'"),
    "rod about itself": (chain((R, X, SOLID), (R, Z, ROD)), "j2", "inertia about its axis .*'l2'"),
    "point on the axis": (chain((R, Z, POINT)), "j1", "'l1'"),
    "coaxial, nothing between": (
        chain((R, Z, NOTHING), (R, Z, SOLID)),
        "j1",
        "'j1' and 'j2' can move against",
    ),
    "two slides in line": (
        chain((P, X, NOTHING), (P, X, SOLID)),
        "j1",
        "'j1' and 'j2' can move against",
    ),
    "floating on a massless root": (
        chain((F, X, NOTHING), (R, Z, SOLID)),
        "j1",
        "'j1' and 'j2'.*'l1'",
    ),
    "floating with nothing": (chain((F, X, NOTHING)), "j1", "'l1'"),
    "floating point": (chain((F, X, Inertia(1.0))), "j1", "'l1'"),
    "nothing at all": (chain((R, Z, NOTHING), (R, X, NOTHING)), "j2", "'l2'"),
}

REGULAR = {
    "universal joint": chain((R, Z, NOTHING), (R, X, SOLID)),
    "wrist of massless links": chain((R, Z, NOTHING), (R, X, NOTHING), (R, Y, SOLID)),
    "rod across": chain((R, Z, SOLID), (R, X, ROD)),
    "planar mount": chain((P, X, NOTHING), (P, Y, NOTHING), (R, Z, SOLID)),
    "floating on two arms": RobotDescription(
        "r",
        (Link("w"), Link("b"), Link("l", SOLID), Link("k", SOLID)),
        (
            Joint("f", F, "w", "b"),
            Joint("j", R, "b", "l", axis=X),
            Joint("i", R, "b", "k", Pose.from_rpy((0, 0, 1)), axis=Z),
        ),
    ),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_a_singular_robot_is_an_error_that_names_the_joint(case):
    description, joint, text = SINGULAR[case]
    with pytest.raises(ModelError, match=f"(?s)joint '{joint}': .*{text}|{text}") as caught:
        rd.RobotModel.from_description(description)
    assert "mass matrix is singular" in str(caught.value) and joint in caught.value.got
    assert caught.value.setting == ("inertia_check", "repair")
    repaired = rd.RobotModel.from_description(
        dataclasses.replace(description, inertia_check="repair")
    )
    assert any("repaired" in finding for finding in repaired.description.findings)
    assert consistent(repaired) < 1e-6
    driven = tuple(
        dataclasses.replace(j, armature=0.1) if j.type is not F else j for j in description.joints
    )
    if all(j.type is not F for j in driven):
        assert (
            consistent(
                rd.RobotModel.from_description(dataclasses.replace(description, joints=driven))
            )
            < 1e-9
        )


@pytest.mark.parametrize("case", REGULAR)
def test_massless_links_inside_are_fine(case):
    assert consistent(rd.RobotModel.from_description(REGULAR[case])) < 1e-9


def test_a_massless_mimic_finger_is_moved_by_its_master():
    hand = chain((R, Z, NOTHING), (R, X, NOTHING))
    fingers = (
        hand.joints[0],
        dataclasses.replace(hand.joints[1], parent="l0", mimic=Mimic("j1", 2.0)),
    )
    links = (hand.links[0], hand.links[1], Link("l2", SOLID))
    assert (
        consistent(
            rd.RobotModel.from_description(dataclasses.replace(hand, links=links, joints=fingers))
        )
        < 1e-9
    )
    with pytest.raises(ModelError, match="joint 'j1'"):
        rd.RobotModel.from_description(dataclasses.replace(hand, joints=fingers))


def consistent(model, seed=3):
    """Largest error of forward after inverse dynamics, relative, in poses at random."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(3):
        q = rd.integrate(model, model.neutral(), rng.uniform(-1.0, 1.0, model.nv))
        v = rng.standard_normal(model.nv)
        a = rng.standard_normal(model.nv)
        back = rd.forward_dynamics(model, q, v, rd.inverse_dynamics(model, q, v, a))
        worst = max(worst, float(np.abs(back - a).max()))
    return worst


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_what_loads_has_the_rank_that_pinocchio_finds(seed):
    """Trees at random with many massless, thin and coaxial parts: refused exactly if Pinocchio's M
    has no full rank.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    links = [Link("l0")]
    joints = []
    for k in range(1, n + 1):
        axis = np.eye(3)[rng.integers(3)]
        kind = (R, R, P)[rng.integers(3)]
        inertia = (NOTHING, SOLID, ROD, POINT, NOTHING)[rng.integers(5)]
        links.append(Link(f"l{k}", inertia))
        parent = f"l{rng.integers(k)}"
        origin = Pose.from_rpy(rng.choice([0.0, 0.3], 3), rng.choice([0.0, np.pi / 2], 3))
        limits = JointLimits(-1, 1, 1, 1)
        joints.append(
            Joint(
                f"j{k}",
                JointType.REVOLUTE if kind is R else P,
                parent,
                f"l{k}",
                origin,
                axis,
                limits,
            )
        )
    description = RobotDescription("r", tuple(links), tuple(joints))
    theirs = pin.buildModelFromXML(rd.to_urdf(description))
    M = pin.crba(theirs, theirs.createData(), rng.uniform(-1.0, 1.0, n))
    M = np.triu(M) + np.triu(M, 1).T
    d = np.sqrt(np.diag(M))
    scaled = M / np.outer(d, d) if (d > 0).all() else np.zeros((n, n))
    least = np.linalg.eigvalsh(scaled)[0] if d.min() > 1e-7 else 0.0
    if 1e-13 < least < 1e-8:
        return
    if least >= 1e-8:
        assert consistent(rd.RobotModel.from_description(description)) < 1e-4
    else:
        with pytest.raises(ModelError, match="singular"):
            rd.RobotModel.from_description(description)


URDF = rd.to_urdf(rd.load_robot("three_link"))
WORDS = [
    "0",
    "-1",
    "1e-9",
    "1e9",
    "nan",
    "1e400",
    "0 0 0",
    "0 0 1",
    "",
    "revolute",
    "fixed",
    "prismatic",
    "base_link",
    "7",
]


@settings(deadline=None, max_examples=400)
@given(st.integers(0, 2**32 - 1))
def test_a_mutated_robot_is_refused_by_name_or_can_be_computed_with(seed):
    rng = np.random.default_rng(seed)
    text = URDF
    for _ in range(rng.integers(1, 4)):
        marks = [i for i, c in enumerate(text) if c == '"'][2:]
        k = 2 * int(rng.integers(len(marks) // 2))
        text = text[: marks[k] + 1] + WORDS[rng.integers(len(WORDS))] + text[marks[k + 1] :]
    floating = bool(rng.integers(2))
    policy = ("warn", "repair", "error")[rng.integers(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = rd.load_urdf(text, floating_base=floating, inertia_check=policy).with_backend(
                "interpreted"
            )
        except RobotDynamicsError as error:
            assert error.where and error.remedy and len(str(error).splitlines()) <= 11
            return
    q = rd.integrate(model, model.neutral(), rng.uniform(-1.0, 1.0, model.nv))
    v = rng.standard_normal(model.nv)
    a = rng.standard_normal(model.nv)
    M = rd.mass_matrix(model, q)
    tau = rd.inverse_dynamics(model, q, v, a)
    assert np.isfinite(tau).all() and (np.diag(M) > 0.0).all()
    back = rd.forward_dynamics(model, q, v, tau)
    # as near as the condition of the mass matrix lets it come
    scale = np.linalg.norm(np.linalg.solve(M, np.diag(np.diag(M))), np.inf)
    sizes = np.abs(rd.bias_forces(model, q, v)) / np.diag(M)
    assert np.abs(back - a).max() <= 1e-11 * scale * (sizes.max() + np.linalg.cond(M) * 1e-2 + 1.0)
