"""Closed loops: derivatives of the rows, dense solutions, Pinocchio, mechanisms in closed form,
rolling, redundancy.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.closed_loops import four_bar, four_bar_angles, gripper_arm, hinge_joint, slider_crank
from support.random_trees import ONE_DOF, random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, ConstraintError, UnknownNameError
from robot_dynamics_ros.model.description import Inertia, Joint, JointType, Link, RobotDescription

AXIS = (0.36, 0.48, 0.8)


def some_constraints(model, q):
    """One of every kind between links of a random tree, as they are at q."""
    a = model.link_names[-1]
    b = model.link_names[1]
    c = model.link_names[-2]
    joints = [n for n in model.joint_names if model.joint(n).type.nv == 1]
    made = [
        rd.point_constraint("point", a, "world", point_a=(0.1, 0.2, -0.1)),
        rd.hinge_constraint("hinge", b, a, point_a=(0.1, 0, 0.3), axis_a=AXIS),
        rd.weld_constraint("weld", c, "world", point_a=(0, 0.1, 0), rpy_a=(0.1, 0.2, 0.3)),
        rd.distance_constraint("distance", a, b, point_a=(0.3, 0, 0), point_b=(0, 1.0, 0)),
        rd.gear_constraint("gear", joints[0], joints[-1], ratio=-1.7),
        rd.rolling_constraint(
            "wheel", b, a, radius=0.3, axis=AXIS, normal=(0.6, 0, 0.8), center=(0.1, 0, 0)
        ),
        rd.rolling_constraint("ball", "world", a, radius=0.2),
    ]
    return rd.Constraints(model, made, reference=q)


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_the_derivatives_they_claim_to_be(seed):
    types = (*ONE_DOF, JointType.FLOATING, JointType.PLANAR) if seed % 2 else ONE_DOF
    model = random_model(seed, 6, types=types, mimic=0.2 if seed % 2 == 0 else 0.0)
    rng = np.random.default_rng(seed)
    q = rd.random_configuration(model, rng)
    loops = some_constraints(model, rd.random_configuration(model, rng))
    v = rng.normal(size=model.nv)
    residual, K, rate = loops.terms(q, v)
    eps = 1e-6
    plus, minus = (loops.terms(rd.integrate(model, q, s * eps * v), v) for s in (1, -1))
    velocity_alone = [
        row for name in ("wheel", "ball") for row in range(*loops.slices[name].indices(99))[:2]
    ]
    holonomic = np.setdiff1d(np.arange(loops.rows), velocity_alone)
    slope = (plus[0] - minus[0]) / (2 * eps)
    assert_allclose(slope[holonomic], (K @ v)[holonomic], atol=1e-7, rtol=1e-7)
    assert_allclose(
        ((plus[1] - minus[1]) / (2 * eps)) @ v, rate, atol=1e-6 * (1 + np.abs(rate).max())
    )
    assert (residual[velocity_alone] == 0.0).all()


@pytest.mark.parametrize("backend", ["native", "numpy", "interpreted"])
def test_forward_dynamics_against_a_dense_solution(backend):
    if backend not in rd.available_backends():
        pytest.skip("no compiler here")
    model = random_model(3, 6, types=ONE_DOF, branching=0.0).with_backend(backend)
    rng = np.random.default_rng(3)
    q, v, tau = rd.random_configuration(model, rng), *rng.normal(size=(2, model.nv))
    a_link = model.link_names[-1]
    loops = rd.Constraints(
        model,
        [
            rd.point_constraint("p", a_link),
            rd.distance_constraint("d", model.link_names[1], point_a=(1, 0, 0)),
        ],
        reference=q,
    )
    push = {a_link: rng.normal(size=6)}
    got = loops.forward_dynamics(q, v, tau, external=push, stabilization=(100.0, 20.0))
    residual, K, rate = loops.terms(q, v)
    M = rd.mass_matrix(model, q)
    b = rd.inverse_dynamics(model, q, v, np.zeros(model.nv), external=push)
    n = loops.rows
    whole = np.block([[M, -K.T], [K, np.zeros((n, n))]])
    x = np.linalg.solve(whole, np.concatenate([tau - b, -rate - 20.0 * (K @ v) - 100.0 * residual]))
    assert_allclose(got.a, x[: model.nv], rtol=1e-9, atol=1e-9)
    assert_allclose(got.reactions, x[model.nv :], rtol=1e-8, atol=1e-8)
    many = loops.forward_dynamics(
        np.tile(q, (5, 1)), v, np.tile(tau, (5, 1)), stabilization=(100.0, 20.0)
    )
    assert many.a.shape == (5, model.nv) and many.reactions.shape == (5, n)


@pytest.mark.parametrize("kind", ["point", "weld"])
def test_against_pinocchio(kind):
    pin = pytest.importorskip("pinocchio")
    from support.pinocchio_bridge import PinocchioBridge

    model = random_model(8, 8, types=(JointType.REVOLUTE, JointType.PRISMATIC), branching=0.0)
    bridge = PinocchioBridge(model, rd.to_urdf(model))
    rng = np.random.default_rng(8)
    q, v, tau = rd.random_configuration(model, rng), *rng.normal(size=(2, model.nv))
    a = model.link_names[-1]
    b = model.link_names[1]
    make = rd.point_constraint if kind == "point" else rd.weld_constraint
    loops = rd.Constraints(model, [make("loop", a, b, point_a=(0.1, -0.2, 0.3))], reference=q)
    # where a weld turns, its rate is a matter of definition
    v = loops.project(q, v)[1]
    poses = rd.link_pose(model, q, a) @ rd.Pose(position=np.array([0.1, -0.2, 0.3])).matrix()
    ends = []
    for link in (a, b):
        frame = bridge.model.frames[bridge.model.getFrameId(link)]
        to_joint = frame.placement.homogeneous @ np.linalg.inv(rd.link_pose(model, q, link))
        ends += [frame.parentJoint, pin.SE3(to_joint @ poses)]
    contact = pin.ContactType.CONTACT_3D if kind == "point" else pin.ContactType.CONTACT_6D
    bound = pin.RigidConstraintModel(contact, bridge.model, *ends, pin.ReferenceFrame.LOCAL)
    data = bridge.model.createData()
    models = pin.StdVec_RigidConstraintModel()
    datas = pin.StdVec_RigidConstraintData()
    models.append(bound)
    datas.append(bound.createData())
    pin.initConstraintDynamics(bridge.model, data, models, datas)
    order = [bridge.model.joints[bridge.model.getJointId(n)].idx_v for n in model.joint_names]
    theirs = [np.empty(model.nv) for _ in range(3)]
    for there, ours in zip(theirs, (q, v, tau), strict=True):
        there[order] = ours
    settings = pin.ProximalSettings(1e-14, 1e-14, 0.0, 10)
    found = pin.constraintDynamics(bridge.model, data, *theirs, models, datas, settings)
    ours = loops.forward_dynamics(q, v, tau)
    assert_allclose(ours.a, found[order], rtol=1e-8, atol=1e-8 * np.abs(ours.a).max())


def test_the_four_bar_in_closed_form():
    """Angles by the cosine rule, rates by differentiating them, effort by virtual work."""
    loop = four_bar()
    theta = 0.7
    rate = 2.0

    def pose(t):
        coupler, rocker = four_bar_angles(t)
        return np.array([t, coupler - t, rocker])

    q, v = loop.consistent_state(
        pose(theta) + np.array([0, 0.1, -0.1]), [rate, 0, 0], fixed=["crank_joint"]
    )
    h = 1e-4
    first = (pose(theta + h) - pose(theta - h)) / (2 * h)
    second = (pose(theta + h) - 2 * pose(theta) + pose(theta - h)) / h**2
    assert_allclose(q, pose(theta), atol=1e-11)
    assert_allclose(v, rate * first, atol=1e-6)
    acceleration = second * rate**2 + first * 3.0
    a = loop.consistent_acceleration(q, v, acceleration)
    assert_allclose(a, acceleration, atol=1e-4)
    tau, reactions = loop.inverse_dynamics(q, v, a, actuated=["crank_joint"])
    # d'Alembert: the loop's forces do none
    work = first @ rd.inverse_dynamics(loop.model, q, v, a)
    assert_allclose(tau, [work, 0.0, 0.0], atol=1e-5)
    again = loop.forward_dynamics(q, v, tau)
    assert_allclose(again.a, a, rtol=1e-9, atol=1e-9)
    assert_allclose(again.reactions, reactions, atol=1e-6)
    report = loop.diagnose(q)
    assert (report.rows, report.rank, report.mobility, report.redundant) == (5, 2, 1, ("closure",))
    assert not report.singular


def test_the_slider_crank_in_closed_form():
    loop = slider_crank()
    theta = 0.9
    rate = 5.0
    x = 0.2 * np.cos(theta) + np.sqrt(0.25 - 0.04 * np.sin(theta) ** 2)
    rod = -theta - np.arcsin(0.4 * np.sin(theta))
    q, v = loop.consistent_state([theta, rod + 0.1, x - 0.05], [rate, 0, 0], fixed=["crank_joint"])
    assert_allclose(q[2], x, atol=1e-12)
    slope = -0.2 * np.sin(theta) - 0.04 * np.sin(theta) * np.cos(theta) / np.sqrt(
        0.25 - 0.04 * np.sin(theta) ** 2
    )
    assert_allclose(v[2], slope * rate, atol=1e-11)
    a, reactions = loop.forward_dynamics(q, v, np.zeros(3))
    _, on_piston = loop.wrenches(q, reactions)["pin"]
    # along the rail nothing else pushes the piston
    assert_allclose(on_piston[3], 2.0 * a[2], rtol=1e-9)


def test_reactions_as_external_wrenches_move_the_open_tree_the_same_way():
    for loops in (four_bar(), slider_crank()):
        model = loops.model
        q, v = loops.consistent_state(np.array([0.7, 0.3, 1.0]), [1.0, 0, 0], fixed=["crank_joint"])
        tau = np.array([3.0, -1.0, 0.5])
        a, reactions = loops.forward_dynamics(q, v, tau)
        open_tree = rd.forward_dynamics(model, q, v, tau, external=loops.as_external(q, reactions))
        assert_allclose(open_tree, a, rtol=1e-9, atol=1e-9)
        assert_allclose(
            rd.forward_dynamics(model, q, v, tau + loops.efforts(q, reactions)),
            a,
            rtol=1e-9,
            atol=1e-9,
        )
        for link, wrench in loops.as_external(q, reactions).items():
            assert link in model.link_names and np.isfinite(wrench).all()
    arm = gripper_arm()
    q, v = arm.consistent_state(np.full(arm.model.nq, 0.2))
    a, reactions = arm.forward_dynamics(q, v, np.ones(arm.model.nv))
    assert_allclose(arm.jacobian(q) @ a + arm.terms(q, v)[2], 0.0, atol=1e-8)
    gear = arm.slices["fingers"]
    only = np.zeros(arm.rows)
    only[gear] = reactions[gear]
    effort = np.ones(arm.model.nv) + arm.efforts(q, only)
    again = rd.forward_dynamics(arm.model, q, v, effort, external=arm.as_external(q, reactions))
    assert_allclose(again, a, rtol=1e-7, atol=1e-7 * np.abs(a).max())
    assert set(arm.diagnose(q).redundant) == {"left_loop", "right_loop"}
    assert arm.diagnose(q).mobility == 7


@pytest.mark.parametrize(
    ("make", "guess", "actuated"),
    [
        (four_bar, [0.7, 0.3, 1.0], ["crank_joint"]),
        (four_bar, [0.7, 0.3, 1.0], ["crank_joint", "rocker_joint"]),
        (four_bar, [0.7, 0.3, 1.0], None),
        (slider_crank, [0.9, -1.3, 0.6], ["piston_joint"]),
        (gripper_arm, np.full(12, 0.2), None),
        (gripper_arm, np.full(12, 0.2), "arm"),
    ],
    ids=["one", "two", "all", "slider", "gripper", "gripper's own"],
)
def test_efforts_and_reactions_are_those_of_least_norm(make, guess, actuated):
    """Beside singular value decompositions of the whole problem."""
    loops = make()
    model = loops.model
    if actuated == "arm":
        actuated = [*model.joint_names[:6], "left_inner_joint", "left_outer_joint"]
    q, v = loops.consistent_state(guess, np.linspace(0.5, 1.5, model.nv))
    a = loops.consistent_acceleration(q, v, np.linspace(-1.0, 2.0, model.nv))
    push = {model.link_names[-1]: np.arange(6.0)}
    tau, reactions = loops.inverse_dynamics(q, v, a, actuated=actuated, external=push)
    K = loops.jacobian(q)
    driven = np.concatenate(
        [np.arange(model.nv)[model.v_slice(n)] for n in actuated or model.joint_names]
    )
    passive = np.setdiff1d(np.arange(model.nv), driven)
    whole = rd.inverse_dynamics(model, q, v, a, external=push)
    assert_allclose(tau + K.T @ reactions, whole, atol=1e-9 * np.abs(whole).max())
    assert (tau[passive] == 0.0).all()
    # [K_Pᵀ; K_Dᵀ] λ = [w_P; w_D − τ]: τ is least where it is across all that λ can do without
    # touching the passive joints
    _, s, vt = np.linalg.svd(K[:, passive].T)
    free = vt[int((s > 1e-8 * s.max(initial=0.0)).sum()) :].T
    assert_allclose(free.T @ K[:, driven] @ tau[driven], 0.0, atol=1e-7 * np.abs(whole).max())
    assert_allclose(
        K @ (np.linalg.pinv(K, rcond=1e-8) @ reactions),
        reactions,
        atol=1e-7 * np.abs(reactions).max(),
    )
    many = loops.inverse_dynamics(
        np.tile(q, (3, 1)), v, np.tile(a, (3, 1)), actuated=actuated, external=push
    )
    assert_allclose(many[0], np.tile(tau, (3, 1)), rtol=1e-9, atol=1e-9)


def by_singular_values(whole, K, driven):
    """τ and λ of least norm by singular value decompositions."""
    A = K[:, ~driven].T
    x = np.linalg.lstsq(A, whole[~driven], rcond=1e-8)[0]
    _, s, vt = np.linalg.svd(A)
    free = vt[int((s > 1e-8 * s.max(initial=0.0)).sum()) :].T
    x = x + free @ np.linalg.lstsq(K[:, driven].T @ free, (whole - K.T @ x)[driven], rcond=1e-8)[0]
    return np.where(driven, whole - K.T @ x, 0.0), x


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6, 1e-7])
@pytest.mark.parametrize(
    "actuated", [["piston_joint"], ["crank_joint"], ["crank_joint", "piston_joint"]]
)
def test_efforts_near_a_dead_centre_are_those_of_singular_values(angle, actuated):
    """There one joint hardly moves the others."""
    loop = slider_crank()
    model = loop.model
    q, v = loop.consistent_state([angle, -1.4 * angle, 0.7], fixed=["crank_joint"])
    a = loop.consistent_acceleration(q, v, [0.0, 0.0, 0.0])
    tau, reactions = loop.inverse_dynamics(q, v, a, actuated=actuated)
    whole = rd.inverse_dynamics(model, q, v, a)
    K = loop.jacobian(q)
    driven = np.isin(model.joint_names, actuated)
    theirs = by_singular_values(whole, K, driven)
    for ours, reference in zip((tau, reactions), theirs, strict=True):
        assert_allclose(ours, reference, atol=1e-14 / angle * (1.0 + np.abs(theirs[1]).max()))
    left = np.abs(tau + K.T @ reactions - whole).max()
    assert left <= 1e-14 * np.abs(K).max() * (1.0 + np.abs(reactions).max())


def test_redundant_constraints_leave_the_motion_alone_and_share_the_load_evenly():
    single = four_bar("point")
    (c,) = single.constraints
    twice = rd.Constraints(single.model, [c, rd.Constraint(c.kind, "again", c.a, c.b, c.numbers)])
    q, v = single.consistent_state([0.7, 0.3, 1.0], [1.0, 0, 0], fixed=["crank_joint"])
    one, two = (x.forward_dynamics(q, v, [1.0, 2.0, 3.0]) for x in (single, twice))
    assert_allclose(two.a, one.a, rtol=1e-9, atol=1e-9)
    assert_allclose(two.reactions, np.tile(one.reactions / 2, 2), atol=1e-6)
    assert twice.diagnose(q).redundant == ("closure", "again")
    assert "least norm" in str(twice.diagnose(q))


def test_a_singular_configuration_is_said_and_survived():
    """A parallelogram laid flat can leave as a parallelogram or crossed: the rank falls from two to
    one.
    """
    bars = [Link("base")] + [
        Link(n, Inertia(1.0, [0.5, 0, 0], 0.1 * np.eye(3))) for n in ("a", "b", "c")
    ]
    joints = (
        hinge_joint("j1", "base", "a"),
        hinge_joint("j2", "a", "b", x=1.0),
        hinge_joint("j3", "base", "c", x=2.0),
    )
    model = rd.RobotModel.from_description(
        RobotDescription("flat", tuple(bars), joints), gravity=(0, 0, 0)
    )
    loop = rd.Constraints(
        model, [rd.point_constraint("end", "b", "c", point_a=(2.0, 0, 0), point_b=(1.0, 0, 0))]
    )
    report = loop.diagnose(np.zeros(3))
    assert report.rank == 1 and report.mobility == 2 and report.singular
    a, reactions = loop.forward_dynamics(np.zeros(3), np.zeros(3), [0.0, 0.0, 1.0])
    assert np.isfinite(a).all() and np.isfinite(reactions).all()


def floating(name, inertia, mass=1.0):
    joints = (Joint("free", JointType.FLOATING, "world_link", name),)
    links = (Link("world_link"), Link(name, Inertia(mass, [0, 0, 0], inertia)))
    return links, joints


def test_a_disc_rolls_down_a_slope():
    r = 0.2
    m = 3.0
    slope = 0.3
    links, joints = floating("disc", np.diag([0.04, 0.5 * m * r * r, 0.04]), m)
    g = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    model = rd.RobotModel.from_description(RobotDescription("disc", links, joints), gravity=g)
    wheel = rd.Constraints(
        model, [rd.rolling_constraint("wheel", "world", "disc", radius=r, axis=(0, 1, 0))]
    )
    q = np.array([0, 0, r, 0, 0, 0, 1.0])
    v = np.array([0, 5.0, 0, 5.0 * r, 0, 0])
    assert_allclose(wheel.jacobian(q) @ v, 0.0, atol=1e-15)
    a, reactions = wheel.forward_dynamics(q, v, np.zeros(6))
    expected = 9.81 * np.sin(slope) / 1.5
    assert_allclose(a[[1, 3]], [expected / r, expected], rtol=1e-9)
    # friction
    assert_allclose(np.linalg.norm(reactions[:2]), m * 9.81 * np.sin(slope) / 3, rtol=1e-7)
    assert_allclose(reactions[2], m * 9.81 * np.cos(slope), rtol=1e-7)


def test_a_ball_on_a_turntable_goes_in_circles():
    """Its centre moves as a charge in a magnetic field does: p̈ = (2/7) Ω × ṗ for a homogeneous
    ball.
    """
    r = 0.1
    m = 2.0
    speed = 1.5
    links, joints = floating("ball", 0.4 * m * r * r * np.eye(3), m)
    table = Link("table", Inertia(50.0, [0, 0, 0], 5.0 * np.eye(3)))
    turn = Joint("turn", JointType.CONTINUOUS, "world_link", "table", axis=np.array([0.0, 0, 1]))
    model = rd.RobotModel.from_description(
        RobotDescription("turntable", (*links, table), (*joints, turn))
    )
    ball = rd.Constraints(model, [rd.rolling_constraint("contact", "table", "ball", radius=r)])
    q = model.neutral()
    q[model.q_slice("free")] = [0.5, 0.2, r, 0, 0, 0, 1]
    v = np.zeros(model.nv)
    v[model.v_slice("turn")] = speed
    q, v = ball.consistent_state(q, v, fixed=["turn"])
    move = model.v_slice("free")
    # rolls at (0.7, 0.3) relative to where it was going
    v[move] += [
        -0.3 / r,
        0.7 / r,
        0,
        0.7,
        0.3,
        0,
    ]
    assert_allclose(ball.jacobian(q) @ v, 0.0, atol=1e-12)
    hold = np.zeros(model.nv)
    a, _ = ball.forward_dynamics(q, v, hold)
    # the effort that keeps the table at constant speed
    push = np.zeros(model.nv)
    push[model.v_slice("turn")] = 1.0
    gain = (ball.forward_dynamics(q, v, push).a - a)[model.v_slice("turn")]
    a, _ = ball.forward_dynamics(q, v, -push * a[model.v_slice("turn")] / gain)
    velocity = v[move][3:]
    # components in axes that turn with the ball
    acceleration = a[move][3:] + np.cross(v[move][:3], velocity)
    assert_allclose(acceleration, 2 / 7 * np.cross([0, 0, speed], velocity), atol=1e-7)


def test_states_that_cannot_be_are_refused():
    loop = four_bar()
    with pytest.raises(ConstraintError, match="cannot be satisfied"):
        loop.consistent_state([0.0, 0.0, 0.0], fixed=loop.model.joint_names)
    with pytest.raises(ConstraintError, match="no velocity"):
        q, _ = loop.consistent_state([0.7, 0.3, 1.0])
        loop.consistent_state(q, [1.0, 0, 0], fixed=loop.model.joint_names)
    with pytest.raises(ConstraintError, match="break the constraints"):
        loop.inverse_dynamics(q, np.zeros(3), [1.0, 0, 0])
    with pytest.raises(ConstraintError, match="cannot cause"):
        a = loop.forward_dynamics(q, np.zeros(3), np.zeros(3)).a
        loop.inverse_dynamics(
            q,
            np.zeros(3),
            a + 0 * q + loop.consistent_acceleration(q, np.zeros(3), [3, 0, 0]) - a,
            actuated=[],
        )
    with pytest.raises(UnknownNameError, match="cupler"):
        rd.Constraints(loop.model, [rd.point_constraint("x", "cupler")])
    with pytest.raises(ArgumentError, match="both ends"):
        rd.Constraints(loop.model, [rd.point_constraint("x", "crank", "crank")])
    with pytest.raises(ArgumentError, match="two constraints"):
        rd.Constraints(loop.model, [*loop.constraints, *loop.constraints])
    with pytest.raises(ArgumentError, match="zero"):
        rd.Constraints(loop.model, [rd.hinge_constraint("x", "crank", axis_a=(0, 0, 0))])


def test_the_file_beside_the_urdf(tmp_path):
    model = four_bar().model
    path = tmp_path / "loops.yaml"
    path.write_text(
        "reference: {crank_joint: 0.0}\n"
        "constraints:\n"
        "  - {type: hinge, name: closure, a: coupler, b: rocker, point_a: [0.9, 0, 0], point_b: "
        "[0.7, 0, 0],\n"
        "     axis_a: [0, 0, 1], axis_b: [0, 0, 1]}\n"
        "  - {type: distance, a: crank, b: rocker, point_a: [0.3, 0, 0], point_b: [0.7, 0, 0], "
        "length: 0.9}\n"
    )
    loops = rd.load_constraints(model, path)
    assert loops.names == ("closure", "distance_2") and loops.rows == 6
    assert loops.specs[0] == four_bar().specs[0]
    for text, message in (
        ("constraints:\n  - {type: hinges}", "hinge"),
        ("constraints:\n  - {type: point, name: p, a: crank, spot: [1, 2, 3]}", "spot"),
        ("constraints:\n  - {type: point, name: p, a: crank, point_a: [1, 2]}", "point_a"),
        ("constraint: []\n", "list under"),
        ("constraints: [\n", "YAML"),
    ):
        with pytest.raises((ArgumentError, UnknownNameError), match=message):
            rd.load_constraints(model, text)


# -- rows of one's own: A(q) q̇ = 0


def skate(gravity=(0.0, 0.0, 0.0)):
    """A body on a plane: joints x, y and yaw, its centre of mass on the axis of yaw."""
    ball = Inertia(2.0, (0.0, 0.0, 0.0), np.diag([0.1, 0.1, 0.3]))
    links = [Link("ground"), Link("slide"), Link("carriage"), Link("skate", ball)]
    joints = [
        Joint("x", JointType.PRISMATIC, "ground", "slide", axis=(1, 0, 0)),
        Joint("y", JointType.PRISMATIC, "slide", "carriage", axis=(0, 1, 0)),
        Joint("yaw", JointType.REVOLUTE, "carriage", "skate", axis=(0, 0, 1)),
    ]
    description = RobotDescription("skate", tuple(links), tuple(joints))
    return rd.RobotModel.from_description(description, gravity=gravity)


BLADE = {"x": "sin(yaw)", "y": "-cos(yaw)"}


def test_a_skate_on_a_slope_follows_its_cycloid():
    """The knife edge: pushed down a slope while it turns with a constant ω, it never gets away."""
    g = 3.0
    omega = 1.7
    model = skate(gravity=(g, 0.0, 0.0))
    blade = rd.Constraints(model, [rd.pfaffian_constraint("blade", BLADE)])
    plant = rd.ConstrainedPlant(blade, 1e-3, v0=[0.0, 0.0, omega])
    for _ in range(2000):
        plant.step(np.zeros(3))
    t = 2.0
    size = g / (2.0 * omega**2)
    x = size * np.sin(omega * t) ** 2
    y = size * (omega * t - 0.5 * np.sin(2.0 * omega * t))
    assert_allclose(plant.q, [x, y, omega * t], atol=2e-6)
    # the blade's force does no work
    assert_allclose(
        rd.kinetic_energy(model, plant.q, plant.v), 2.0 * g * x + 0.15 * omega**2, rtol=1e-5
    )
    # nothing slips sideways
    assert abs(np.sin(plant.q[2]) * plant.v[0] - np.cos(plant.q[2]) * plant.v[1]) < 1e-12


def test_the_rate_of_a_row_is_the_derivative_of_its_coefficients():
    model = skate()
    row = {"x": "tan(yaw)*exp(-x)/(2 + y**3)", "y": "sqrt(1 + x*x) - +y", "yaw": 0.5}
    loops = rd.Constraints(model, [rd.pfaffian_constraint("own", row)])
    q = np.array([0.3, -0.4, 0.7])
    v = np.array([0.5, 1.1, -0.8])
    residual, K, rate = loops.terms(q, v)
    x, y, yaw = q
    expected = [np.tan(yaw) * np.exp(-x) / (2.0 + y**3), np.sqrt(1.0 + x * x) - y, 0.5]
    assert_allclose(K[0], expected, rtol=1e-14)
    step = 1e-6
    slope = (loops.jacobian(q + step * v) - loops.jacobian(q - step * v)) / (2.0 * step)
    assert_allclose(rate, slope @ v, rtol=1e-8)
    assert residual[0] == 0.0
    assert_allclose(loops.efforts(q, [2.0]), 2.0 * K[0])


def test_a_row_of_constants_is_a_gear_without_its_offset():
    model = rd.limb(3)
    q, v, tau = np.random.default_rng(2).normal(size=(3, 3))
    gear = rd.Constraints(model, [rd.gear_constraint("g", "joint1", "joint3", ratio=-1.7)])
    row = rd.Constraints(model, [rd.pfaffian_constraint("p", {"joint1": 1.7, "joint3": 1})])
    for a, b in zip(gear.forward_dynamics(q, v, tau), row.forward_dynamics(q, v, tau), strict=True):
        assert_allclose(a, b, atol=1e-12)


def test_rows_from_a_file():
    model = skate()
    text = "constraints:\n- {type: pfaffian, name: blade, row: {x: sin(yaw), y: -cos(yaw)}}\n"
    assert rd.load_constraints(model, text).constraints == (rd.pfaffian_constraint("blade", BLADE),)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"x": "sin(roll)"}, "'roll' is unknown"),
        ({"x": "sin(yaw"}, "is no formula"),
        ({"x": "__import__('os').getcwd()"}, "has no meaning"),
        ({"x": "yaw**0.5"}, "is no whole number"),
        ({"x": "1/0"}, "is no formula"),
        ({"x": "1e999"}, "has no meaning"),
        ({"roll": 1.0}, "roll"),
    ],
)
def test_rows_that_mean_nothing_are_refused(row, said):
    with pytest.raises((ArgumentError, UnknownNameError), match=re.escape(said)):
        rd.Constraints(skate(), [rd.pfaffian_constraint("own", row)])


@pytest.mark.parametrize("row", [{}, {"x": float("nan")}, {"x": None}, {"x": True}, "x"])
def test_coefficients_are_numbers_or_formulas(row):
    with pytest.raises(ArgumentError, match="own"):
        rd.pfaffian_constraint("own", row)
