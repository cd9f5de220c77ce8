"""Equations in symbols: textbook forms, an independent derivation, our own numbers, and the proof
itself.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import ONE_DOF, random_model
from support.robots_in_symbols import lagrange, rot

import robot_dynamics_ros as rd
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.lagrange import christoffel, coriolis_matrix, euler_lagrange
from robot_dynamics_ros.equations.proof import ProofError, prove
from robot_dynamics_ros.equations.symbol_tree import trace_recursions
from robot_dynamics_ros.equations.trig_ring import TooLargeToExpand, TrigRing
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError
from robot_dynamics_ros.model.description import JointType

S = pytest.importorskip("sympy")


def symbols(names):
    return S.symbols(names, real=True, seq=True)


def agree(ours, theirs):
    """Whether two lists of expressions agree to thirty digits at random points."""
    import mpmath

    ours = list(ours)
    theirs = list(theirs)
    letters = sorted(set().union(*(S.sympify(x).free_symbols for x in (*ours, *theirs))), key=str)
    evaluate = [S.lambdify([letters], x, modules="mpmath", cse=True) for x in (ours, theirs)]
    rng = np.random.default_rng(0)
    with mpmath.workdps(40):
        for _ in range(3):
            point = [mpmath.mpf(int(k)) / 97 for k in rng.integers(20, 300, len(letters))]
            for x, y in zip(*(f(point) for f in evaluate), strict=True):
                if abs(mpmath.mpf(x) - y) > mpmath.mpf("1e-30") * (1 + abs(y)):
                    return False
    return True


@pytest.fixture(scope="module")
def planar():
    return rd.symbolic(rd.load_robot("two_link"), symbols="auto", coordinates="theta")


def test_the_planar_arm_has_the_textbook_form(planar):
    m1, m2, l1, c1, c2, I1, I2, g = symbols("m1 m2 l1 lc1 lc2 I1 I2 g")
    (t1, t2), (w1, w2) = planar.q, planar.v
    H11 = m1 * c1**2 + I1 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * S.cos(t2)) + I2
    H22 = m2 * c2**2 + I2
    H12 = m2 * (c2**2 + l1 * c2 * S.cos(t2)) + I2
    h = m2 * l1 * c2 * S.sin(t2)
    G1 = m1 * c1 * g * S.cos(t1) + m2 * g * (c2 * S.cos(t1 + t2) + l1 * S.cos(t1))
    G2 = m2 * g * c2 * S.cos(t1 + t2)
    assert S.expand(planar.M - S.Matrix([[H11, H12], [H12, H22]])) == S.zeros(2, 2)
    assert S.expand(planar.D - S.Matrix([-h * w2**2 - 2 * h * w1 * w2, h * w1**2])) == S.zeros(2, 1)
    assert S.expand(planar.G - S.Matrix([G1, G2])) == S.zeros(2, 1)
    assert S.expand(planar.B - S.Matrix([[-2 * h], [0]])) == S.zeros(2, 1)
    assert S.expand(planar.C - S.Matrix([[0, -h], [h, 0]])) == S.zeros(2, 2)


def test_the_planar_arm_is_printed_as_people_write_it(planar):
    assert str(planar.M[0, 0]) == "I1 + I2 + lc1**2*m1 + m2*(l1**2 + 2*l1*lc2*cos(theta2) + lc2**2)"
    assert str(planar.G[1]) == "g*lc2*m2*cos(theta1 + theta2)"
    assert str(planar.D[0]) == "-dtheta2*l1*lc2*m2*(2*dtheta1 + dtheta2)*sin(theta2)"


@pytest.mark.slow
def test_the_three_link_arm_against_an_independent_derivation():
    """Joint 1 about z, joints 2 and 3 about y, the third at the end of the second link along x."""
    model = rd.load_robot("three_link")
    ours = rd.symbolic(model, symbols="auto")
    q = list(ours.q)
    v = list(ours.v)
    value = {d.parameter: S.Symbol(d.symbol, real=True) for d in ours.definitions if d.parameter}

    def vector(parameter):
        return S.Matrix([value.get(f"{parameter}.{axis}", 0) for axis in "xyz"])

    def inertia(link):
        return S.Matrix(
            3,
            3,
            lambda i, j: value.get(f"inertia:{link}.{''.join(sorted('xyz'[i] + 'xyz'[j]))}", 0),
        )

    R1 = rot("z", q[0])
    R2 = R1 * rot("y", q[1])
    R3 = R2 * rot("y", q[2])
    base = vector("origin:joint1")
    elbow = vector("origin:joint3")
    bodies = [
        (value[f"mass:{link}"], origin + R * vector(f"com:{link}"), R, inertia(link))
        for link, origin, R in (
            ("turret", base, R1),
            ("upper_arm", base, R2),
            ("forearm", base + R2 * elbow, R3),
        )
    ]
    M, D, G = lagrange(bodies, S.Matrix([0, 0, -value["gravity"]]), q, v)
    for mine, other in ((ours.M, M), (ours.D, D), (ours.G, G)):
        assert agree(mine, other)
    assert not agree(ours.G, -G)


def robots():
    yield "two_link", rd.load_robot("two_link"), None
    yield "limb", rd.limb(3, gravity=(0.0, -9.81, 0.0)), "auto"
    yield "oblique chain", rd.chain(2, prismatic_every=2), None
    yield "oblique axes", rd.chain(2), {"mass:link1": "m1", "mass:link2": "m2", "gravity": "g"}
    yield (
        "tilted base",
        rd.load_robot("three_link").replace(base=rd.chain(2).description.joints[0].origin),
        None,
    )
    yield "random", random_model(0, 3, types=ONE_DOF, armature=True, axis_aligned=0.8), None
    yield "mimic", random_model(11, 3, types=ONE_DOF, mimic=0.6), None
    yield (
        "planar",
        random_model(5, 2, types=(JointType.PLANAR, JointType.REVOLUTE), axis_aligned=1.0),
        None,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, model, chosen", list(robots()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_every_matrix_against_the_numbers(name, model, chosen):
    for expand in (True, False):
        ours = rd.symbolic(model, chosen, expand=expand, simplify=model.nv < 3)
        assert (ours.proof is not None) is expand
        f = {key: ours.function(key) for key in ours.named()}
        B, C = rd.configuration_space_form(model, np.zeros(model.nq))
        for seed in range(3):
            q, v = np.random.default_rng(seed).normal(size=(2, model.nv))
            M = rd.mass_matrix(model, q)
            scale = np.abs(M).max()
            gravity = rd.gravity_forces(model, q)
            bias = rd.bias_forces(model, q, v)
            B, C = rd.configuration_space_form(model, q)
            close = {"rtol": 1e-11, "atol": 1e-12 * max(1.0, scale, np.abs(bias).max())}
            assert_allclose(f["M"](q), M, **close)
            assert_allclose(f["G"](q), gravity, **close)
            assert_allclose(f["D"](q, v), bias - gravity, **close)
            assert_allclose(f["coriolis"](q, v), rd.coriolis_matrix(model, q, v), **close)
            assert_allclose(f["B"](q), B, **close)
            assert_allclose(f["C"](q), C, **close)
            assert_allclose(f["K"](q, v), rd.kinetic_energy(model, q, v), **close)
            assert_allclose(
                f["U"](q),
                rd.potential_energy(model, q),
                rtol=1e-11,
                atol=1e-11 * max(1.0, scale * 10),
            )


def test_simplification_changes_nothing():
    model = rd.load_robot("two_link")
    plain, short = (rd.symbolic(model, "auto", simplify=s) for s in (False, True))
    for name in ("M", "D", "G"):
        assert agree(plain.named()[name], short.named()[name])
        assert S.count_ops(short.named()[name]) < S.count_ops(plain.named()[name])


def test_the_configuration_space_form_adds_up(planar):
    squares = S.Matrix([w**2 for w in planar.v])
    assert S.expand(
        planar.B * planar.velocity_products() + planar.C * squares - planar.D
    ) == S.zeros(2, 1)
    assert S.expand(planar.coriolis * S.Matrix(planar.v) - planar.D) == S.zeros(2, 1)


def test_forward_dynamics_in_symbols(planar):
    solved = planar.forward_dynamics().subs(planar.values)
    model = planar.model
    rng = np.random.default_rng(3)
    q, v, tau = rng.normal(size=(3, 2))
    point = dict(zip([*planar.q, *planar.v, *planar.tau], [*q, *v, *tau], strict=True))
    got = np.array(solved.subs(point).evalf(), dtype=float)[:, 0]
    assert_allclose(got, rd.forward_dynamics(model, q, v, tau), rtol=1e-10)


def test_exact_arithmetic_keeps_special_angles():
    """A joint turned by 45° and one by 60°: square roots stay, and the proof is exact."""
    link = rd.limb(1, gravity=(0.0, -9.81, 0.0)).description.links[1].inertia
    from robot_dynamics_ros.model.description import Joint, Link, Pose, RobotDescription

    joints = [
        Joint(
            "j1",
            JointType.REVOLUTE,
            "base",
            "a",
            Pose.from_rpy((0, 0, 0), (np.pi / 4, 0, 0)),
            np.array([0, 0, 1.0]),
        ),
        Joint(
            "j2",
            JointType.REVOLUTE,
            "a",
            "b",
            Pose.from_rpy((1, 0, 0), (np.pi / 3, 0, 0)),
            np.array([0, 0, 1.0]),
        ),
    ]
    model = rd.RobotModel.from_description(
        RobotDescription("turned", (Link("base"), Link("a", link), Link("b", link)), tuple(joints))
    )
    ours = rd.symbolic(model)
    assert ours.G.has(S.sqrt(2)) and ours.G.has(S.sqrt(6))
    assert not ours.G.atoms(S.Float)


def test_a_wrong_term_is_found():
    geometry = Geometry(rd.load_robot("three_link"), "auto")
    ring = TrigRing(geometry, 5000)
    terms = euler_lagrange(ring)
    traced = trace_recursions(geometry)
    C = coriolis_matrix(ring, christoffel(ring, terms.M))
    assert len(prove(ring, terms, C, traced).identities) == 9
    for field, wrong in (
        ("K", terms.K + ring.v[0] ** 2),
        ("D", [*terms.D[:2], -terms.D[2]]),
        ("G", [terms.G[0], ring.reduce(terms.G[1] * ring.angles[1].c), terms.G[2]]),
        (
            "M",
            [
                [x + ring.one if i == j == 1 else x for j, x in enumerate(row)]
                for i, row in enumerate(terms.M)
            ],
        ),
    ):
        with pytest.raises(ProofError, match="differ"):
            prove(ring, dataclasses.replace(terms, **{field: wrong}), C, traced)


def test_large_robots_are_refused_and_offered_unexpanded():
    model = rd.load_robot("seven_axis")
    with pytest.raises(
        TooLargeToExpand, match=r"more than 300 terms.*take \d+ operations.*--unexpanded"
    ):
        rd.symbolic(model, max_terms=300)
    steps = rd.symbolic(model, expand=False)
    assert len(steps.steps) > 100
    q, v = np.random.default_rng(0).normal(size=(2, 7))
    bias = steps.function("D")(q, v) + steps.function("G")(q)
    assert_allclose(bias, rd.bias_forces(model, q, v), rtol=1e-11, atol=1e-11)


def test_floating_joints_and_robots_without_joints_are_refused():
    with pytest.raises(ModelError, match="rates of coordinates"):
        rd.symbolic(random_model(0, 1, floating_base=True))
    model = rd.load_robot("two_link").lock(["shoulder", "elbow"])
    with pytest.raises(ModelError, match="no moving joint"):
        rd.symbolic(model)


@pytest.mark.parametrize(
    "chosen, message",
    [
        ({"mass:forearm": "double"}, "keyword or reserved word of C"),
        ({"mass:forearm": "class"}, "keyword of C\\+\\+"),
        ({"mass:forearm": "lambda"}, "keyword of Python"),
        ({"mass:forearm": "sin"}, "function of the C library"),
        ({"mass:forearm": "2m"}, "not a letter followed by"),
        ({"mass:forearm": "m__2"}, "double underscore"),
        ({"mass:forearm": "q1"}, "already taken by coordinate 1"),
        ({"mass:forearm": "tau2"}, "already taken by effort 2"),
        ({"mass:forearm": "m", "mass:upper_arm": "m"}, "already taken by mass:forearm"),
        ({"gravity": "g", "gravity.z": "gz"}, "as a whole and by component"),
        ({"mass:tip": "m"}, "rigidly attached to 'forearm'"),
        ("everything", "'auto'"),
    ],
)
def test_unusable_symbols_are_refused(chosen, message):
    with pytest.raises(ArgumentError, match=message):
        rd.symbolic(rd.load_robot("two_link"), chosen)


def test_unknown_places_and_letters_are_refused():
    model = rd.load_robot("two_link")
    with pytest.raises(UnknownNameError, match="mass:upper_arm"):
        rd.symbolic(model, {"mass:uper_arm": "m"})
    with pytest.raises(ArgumentError, match="not a letter"):
        rd.symbolic(model, coordinates="q̇")


def test_one_symbol_for_equal_numbers():
    model = rd.limb(2, masses=1.5)
    ours = rd.symbolic(model, {"mass:segment1": "m", "mass:segment2": "m"})
    assert [d.symbol for d in ours.definitions if d.parameter] == ["m"]
    assert_allclose(ours.function("M")([0.2, 0.4]), rd.mass_matrix(model, [0.2, 0.4]), rtol=1e-12)
