"""Joint wrenches, their parts, Jacobians, motion in symbols: a worked example's printed figures,
and our own numbers.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.c_code import compile_c, needs_compiler
from support.random_trees import ONE_DOF, random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError

S = pytest.importorskip("sympy")
t = S.Symbol("t", real=True)
ALONG = {"q1": t, "q2": 2 * t, "q3": 4 * t}


@pytest.fixture(scope="module")
def limb():
    """Three segments of point masses that turn at 1, 2 and 4 rad/s, without gravity."""
    model = rd.limb(
        3, lengths=[0.8, 0.6, 0.4], masses=[0.7, 0.5, 0.3], inertia="point", gravity=(0.0, 0.0, 0.0)
    )
    return rd.symbolic(model, "auto")


def column(fx, fy, mz):
    return S.Matrix(
        [
            0,
            0,
            S.sympify(mz, locals={"t": t}),
            *(S.sympify(x, locals={"t": t}) for x in (fx, fy)),
            0,
        ]
    )


JOINTS = {
    "joint3": (
        "-81/50*sin(4*t) - 6/25*sin(6*t)",
        "-81/50*cos(4*t) - 6/25*cos(6*t) - 147/50",
        "81/250*sin(4*t) + 6/125*sin(6*t)",
    ),
    "joint2": (
        "-16/25*sin(2*t) + 147/50*sin(4*t)",
        "-16/25*cos(2*t) - 147/50*cos(4*t) - 297/100",
        "33/125*sin(2*t) - 36/25*sin(4*t) + 6/125*sin(6*t)",
    ),
    "joint1": (
        "297/100*sin(2*t) + 147/50*sin(6*t)",
        "-297/100*cos(2*t) - 147/50*cos(6*t) - 23/25",
        "-264/125*sin(2*t) - 36/25*sin(4*t) - 288/125*sin(6*t)",
    ),
}
PARTS = {
    "dynamic": ("24/25*sin(4*t)", "-24/25*cos(4*t)", "0"),
    "dalembert": ("6/25*sin(2*t)", "6/25*cos(2*t) + 81/50", "-81/250*sin(4*t) - 6/125*sin(6*t)"),
    "euler": ("0", "0", "0"),
    "centrifugal": ("-27/50*sin(4*t)", "27/50*cos(4*t)", "0"),
    "coriolis": ("-36/25*sin(4*t)", "36/25*cos(4*t)", "0"),
}


@pytest.mark.parametrize("joint", JOINTS)
def test_joint_wrenches_of_the_limb_are_written_as_printed(limb, joint):
    assert limb.joint_wrench(joint).along(ALONG)["joint"] == column(*JOINTS[joint])


@pytest.mark.slow
def test_fictitious_wrenches_of_the_tip_segment_are_written_as_printed(limb):
    balance = limb.wrench_balance("segment3", observer=("segment2", "joint3"))
    found = balance.along(ALONG)
    for part, figures in PARTS.items():
        assert found[part] == column(*figures), part
    total = sum((balance[p] for p in rd.WRENCH_PARTS[1:]), balance["joint"])
    assert (
        (balance["dynamic"] - total)
        .applyfunc(lambda x: S.expand(S.expand_trig(x)))
        .applyfunc(S.simplify)
        .is_zero_matrix
    )
    assert str(balance["coriolis"][4]) == "2*dq3*lc3*m3*(dq1 + dq2)*cos(q3)"


@pytest.mark.slow
def test_the_axial_part_of_a_joint_wrench_is_the_lagrangian_effort(limb):
    """Exactly, for every motion: one derivation goes by energies, the other by forces."""
    tau = limb.inverse_dynamics()
    for k in range(3):
        wrench = limb.joint_wrench(f"joint{k + 1}")["joint"]
        assert S.simplify(S.expand(S.expand_trig(wrench[2] - tau[k]))) == 0


def test_gravity_and_a_tip_force_of_unknown_size():
    arm = rd.limb(1, lengths=2.0, masses=3.0, inertia="point", gravity=(0, -10, 0))
    wrench = rd.symbolic(arm, "auto").joint_wrench("joint1", external={"tip": (0, 0, 0, "F", 0, 0)})
    assert str(wrench["joint"][3]) == "-F + m1*(-ddq1*lc1 + g*sin(q1))"
    assert wrench.function()([0.0], F=7.0)[3, 0] == -7.0
    assert "F" in wrench.c() and [d.unit for d in wrench.definitions if d.symbol == "F"] == ["N"]


MOVING = rd.Frame(
    "link1",
    pose=(0.1, -0.2, 0.3),
    velocity=(0.5, 0, 1, 0, 0.25, 0),
    acceleration=(0, 2, 0, 1, 0, 0),
)


@pytest.mark.slow
@pytest.mark.parametrize("seed, expand", [(0, True), (1, False), (4, True)])
def test_random_robots_against_the_numbers(seed, expand):
    model = random_model(seed, 3, types=ONE_DOF, axis_aligned=0.8, fixed=0.3)
    equations = rd.symbolic(model, expand=expand, simplify=False)
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, 4, model.nv))
    link = model.link_names[-1]
    close = {"rtol": 1e-11, "atol": 1e-11}
    for joint in rd.all_joint_names(model)[-2:]:
        wrench = equations.joint_wrench(
            joint, expressed_in="world", reduced_at=(link, (0.1, 0.2, -0.3))
        )
        theirs = rd.joint_wrenches(
            model,
            q,
            v,
            a,
            joints=[joint],
            expressed_in="world",
            reduced_at=(link, (0.1, 0.2, -0.3)),
        )
        assert_allclose(wrench.function()(q, v, a)[..., 0], theirs[:, 0], **close)
    moving = rd.Frame(model.link_names[1], MOVING.pose, MOVING.velocity, MOVING.acceleration)
    parts = equations.wrench_balance(link, observer=moving).function()(q, v, a)
    theirs = rd.wrench_balance(model, q, v, a, link, observer=moving)
    for part, value in parts.items():
        assert_allclose(value[..., 0], theirs[part], err_msg=part, **close)
    J = equations.jacobian(link, offset=(0.1, 0, 0), expressed_in="link").function()(q, v)
    assert_allclose(
        J["J"], rd.jacobian(model, q, link, offset=(0.1, 0, 0), expressed_in="link"), **close
    )
    assert_allclose(
        J["Jdot"],
        rd.jacobian_derivative(model, q, v, link, offset=(0.1, 0, 0), expressed_in="link"),
        **close,
    )
    push = rng.normal(size=6)
    efforts = equations.external_efforts(link).function()
    ours = efforts(q, **dict(zip(("Nx", "Ny", "Nz", "Fx", "Fy", "Fz"), push, strict=True)))[..., 0]
    assert_allclose(ours, np.einsum("...ij,i->...j", rd.jacobian(model, q, link), push), **close)
    seen = equations.motion(link, offset=(0.1, 0, 0), relative_to=moving).function()(q, v, a)
    theirs = rd.motion(model, q, v, a, point_on=link, offset=(0.1, 0, 0), relative_to=moving)
    for word in (
        "position",
        "velocity",
        "acceleration",
        "angular_velocity",
        "angular_acceleration",
    ):
        assert_allclose(seen[word][..., 0], getattr(theirs, word), err_msg=word, **close)
    assert_allclose(seen["rotation"], theirs.rotation, **close)
    about = equations.inertia_about(link, point=model.root_link, frame="world").function()(q)
    assert_allclose(
        about, rd.inertia_about(model, q, link, point=model.root_link, frame="world"), **close
    )


def test_code_of_a_formula_from_which_a_symbol_cancels_out():
    model = rd.load_robot("two_link")
    joint = model.joint_names[0]
    link = model.link_names[-1]
    J = rd.symbolic(model, {f"origin:{joint}.z": "height"}).jacobian(link)
    assert "height" not in map(str, J["J"].free_symbols) and "height" in J.c()
    assert_allclose(
        J.function()([0.3, 0.4])["J"], rd.jacobian(model, [0.3, 0.4], link), rtol=1e-12, atol=1e-12
    )


@pytest.mark.slow
@needs_compiler
def test_c_code_computes_the_same(tmp_path):
    model = rd.load_robot("two_link")
    wrench = rd.symbolic(model, "auto").joint_wrench("shoulder")
    (tmp_path / "wrench.c").write_text(wrench.c("wrench_of_shoulder"), encoding="ascii")
    library = ctypes.CDLL(
        str(compile_c(tmp_path, ["wrench.c"], "wrench.so", "-O0", "-shared", "-fPIC"))
    )
    q, v, a = np.random.default_rng(3).normal(size=(3, model.nv))
    values = np.array([d.value for d in wrench.parameters])
    out = np.empty(6)
    library.wrench_of_shoulder(*(x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, a, values, out)))
    assert_allclose(
        out, rd.joint_wrenches(model, q, v, a, joints=["shoulder"])[0], rtol=1e-12, atol=1e-12
    )


def test_friction_and_configuration_space_form():
    model = rd.load_robot("two_link")
    equations = rd.symbolic(model)
    assert [str(x) for x in equations.friction()["friction"]] == [
        "Fc1*sign(dq1) + d1*dq1",
        "Fc2*sign(dq2) + d2*dq2",
    ]
    form = equations.configuration_space_form()
    D = form["B"] * form["products"] + form["C"] * S.Matrix([x**2 for x in equations.v])
    assert S.expand(D - equations.D) == S.zeros(2, 1)
    assert "tau = M a + B" in form.text()


def heavy_fixed_link(model):
    return next(
        (n for n in model.link_names if n.endswith("_fixed") and model.link(n).inertia.mass > 0),
        None,
    )


def test_fixed_links_that_share_their_mass_with_a_symbol():
    model = next(
        m
        for m in (random_model(s, 2, types=ONE_DOF, fixed=0.9) for s in range(9))
        if heavy_fixed_link(m)
    )
    shared = heavy_fixed_link(model)
    with pytest.raises(ModelError, match="fixed joints join"):
        rd.symbolic(model, "auto", expand=False).wrench_balance(shared)
    rd.symbolic(model, expand=False).wrench_balance(shared)


def test_what_is_not_there_is_said(limb):
    with pytest.raises(UnknownNameError):
        limb.joint_wrench("elbow")
    with pytest.raises(ArgumentError, match="root"):
        limb.wrench_balance("base")
    with pytest.raises(ArgumentError, match="segment1"):
        limb.wrench_balance("segment3", observer=("segment1", "joint3"))
    with pytest.raises(ArgumentError, match="already taken"):
        limb.joint_wrench("joint1", external={"tip": (0, 0, 0, "m1", 0, 0)})
    with pytest.raises(ArgumentError, match="six"):
        limb.joint_wrench("joint1", external={"tip": ("F",)})
    with pytest.raises(ArgumentError, match="q7"):
        limb.joint_wrench("joint1").along({"q7": t})
    with pytest.raises(ArgumentError, match="which of s, u is the time"):
        limb.joint_wrench("joint1").along({"q1": S.Symbol("s") * S.Symbol("u")})


def test_periods_and_amplitudes_of_a_motion_may_be_symbols():
    arm = rd.limb(1, lengths=1.0, masses=2.0, inertia="point", gravity=(0, 0, 0))
    time = S.Symbol("t", real=True)
    period = S.Symbol("T_1", positive=True)
    formulas = rd.symbolic(arm, "auto").joint_wrench("joint1")
    moment = formulas.along({"q1": S.Symbol("A") * S.sin(2 * S.pi * time / period)})["joint"]
    numbers = {S.Symbol("A"): 0.7, period: 1.3}
    known = formulas.along({"q1": 0.7 * S.sin(2 * S.pi * time / 1.3)})["joint"]
    for now in (0.1, 0.9):
        for ours, theirs in zip(moment, known, strict=True):
            found = complex(S.sympify(ours).subs(numbers).subs(time, now))
            assert found == pytest.approx(complex(S.sympify(theirs).subs(time, now)), abs=1e-9)


def test_the_command(capsys, tmp_path):
    words = ["equations", "two_link", "--symbols", "auto"]
    assert main([*words, "--joint-wrench", "elbow", "--along", "q1=t", "--along", "q2=2*t"]) == 0
    assert "f[x] = 24.525*sin(3*t) - 1.25*cos(2*t) - 4.05" in capsys.readouterr().out
    assert (
        main(
            [
                *words,
                "--balance",
                "forearm",
                "--observer",
                "upper_arm@elbow",
                "--friction",
                "--format",
                "tex",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert r"f_{\mathrm{coriolis},z}" in out and "Zero throughout: distal" in out
    assert main([*words, "--jacobian", "tip", "-o", str(tmp_path / "j.py")]) == 0
    space: dict = {}
    exec((tmp_path / "j.py").read_text(), space)
    assert_allclose(
        space["jacobian_of_tip"]([0.3, 0.4])["J"],
        rd.jacobian(rd.load_robot("two_link"), [0.3, 0.4], "tip"),
    )
    assert main([*words, "--joint-wrench", "elbow", "--along", "q1=__import__('os')"]) == 2
    assert "COORDINATE=EXPRESSION" in capsys.readouterr().err


@pytest.mark.parametrize("expand", [True, False])
def test_a_point_given_in_symbols(expand: bool) -> None:
    limb = rd.limb(3, lengths=(1.0, 0.8, 0.5))
    derived = rd.symbolic(limb, "auto", expand=expand)
    # half way to the next joint, and beside the line by what is called e
    offset = (S.Symbol("e"), S.Symbol("l2") / 2, 0.1)
    number = (0.05, 0.4, 0.1)
    rng = np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, 3))
    motion = derived.motion("segment2", offset=offset).function()(q, v, a, e=0.05)
    expected = rd.motion(limb, q, v, a, point_on="segment2", offset=number)
    for word in ("position", "velocity", "acceleration"):
        np.testing.assert_allclose(motion[word][:, 0], getattr(expected, word), atol=1e-12)
    jacobian = derived.jacobian("segment2", offset=offset).function()(q, v, a, e=0.05)
    np.testing.assert_allclose(
        jacobian["J"], rd.jacobian(limb, q, "segment2", offset=number), atol=1e-12
    )
    force = ("Fx", "Fy", 0)
    efforts = derived.external_efforts("segment2", offset=offset, names=(0, 0, 0, *force))
    six = np.array([0.0, 0.0, 0.0, 2.0, -3.0, 0.0])
    found = efforts.function()(q, e=0.05, Fx=2.0, Fy=-3.0)
    np.testing.assert_allclose(found[:, 0], jacobian["J"].T @ six, atol=1e-12)


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        ((S.sin(S.Symbol("l1")), 0, 0), "no polynomial"),
        ((1 / S.Symbol("l1"), 0, 0), "no polynomial"),
        (("q1", 0, 0), "already taken by coordinate 1"),
        (("a b", 0, 0), "letters, digits"),
        (("l1", 0), "three coordinates"),
        ((None, 0, 0), "real numbers"),
    ],
)
def test_points_that_cannot_be_meant(offset, message: str) -> None:
    derived = rd.symbolic(rd.limb(2), "auto")
    with pytest.raises(rd.ArgumentError, match=message):
        derived.motion("segment2", offset=offset)


def test_closed_loops_and_rows_of_ones_own_in_symbols():
    """The formulas are the compiled rows, and the rate of K is the derivative of K."""
    model = rd.limb(3, lengths=[1.0, 2.0, 2.5], plane="vertical")
    loops = rd.Constraints(
        model,
        [
            rd.hinge_constraint("closure", "tip", point_b=(-2, 0, 0), axis_a=(0, 0, 1)),
            rd.distance_constraint("rod", "segment2", length=1.3),
            rd.gear_constraint("gear", "joint1", "joint3", ratio=-1.7),
            rd.pfaffian_constraint("own", {"joint1": "sin(joint2)**2", "joint3": 0.5}),
        ],
    )
    formulas = rd.symbolic(model, "auto").constraint_terms(loops)
    q, v = np.random.default_rng(4).normal(size=(2, 3))
    in_numbers = formulas.function()(q, v)
    for word, expected in zip(("residual", "K", "rate"), loops.terms(q, v), strict=True):
        assert_allclose(in_numbers[word].reshape(expected.shape), expected, atol=1e-12)
    angles = S.symbols("q1:4", real=True)
    speeds = S.symbols("dq1:4", real=True)
    K = formulas["K"]
    moved = sum((K.diff(x) * u for x, u in zip(angles, speeds, strict=True)), 0 * K)
    difference = moved * S.Matrix(speeds) - formulas["rate"]
    # floats of the geometry leave their rounding
    at = dict(zip((*angles, *speeds), (*q, *v), strict=True)) | {"l1": 1.0, "l2": 2.0}
    left = np.array(difference.subs({S.Symbol(str(k), real=True): x for k, x in at.items()}))
    assert_allclose(left.astype(float), 0.0, atol=1e-12)
    assert "kappa" in formulas.text() and "rod" in formulas.text()


def test_constraints_of_another_robot_are_refused(limb):
    other = rd.Constraints(rd.load_robot("two_link"), [])
    with pytest.raises(ArgumentError, match="two_link"):
        limb.constraint_terms(other)
