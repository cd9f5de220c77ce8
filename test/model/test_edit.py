"""Locking, cutting out and attaching give the robots that the laws of mechanics say they are."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.random_trees import ALL_TYPES, random_inertia, random_model, random_pose, random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    """Each robot is used once or twice only: compiling it would take far longer than it saves."""
    monkeypatch.setenv("ROBOT_DYNAMICS_BACKEND", "interpreted")


SEEDS = st.integers(0, 2**32 - 1)
QUIET = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def close(one, other, tolerance=1e-11):
    np.testing.assert_allclose(
        one, other, rtol=tolerance, atol=tolerance * (1 + np.abs(other).max(initial=0))
    )


def coordinates(model, names, which):
    slices = [(model.q_slice if which == "q" else model.v_slice)(name) for name in names]
    return (
        np.concatenate([np.arange(s.start, s.stop) for s in slices]) if slices else np.zeros(0, int)
    )


# -- lock ------------------------------------------------------------------------------------------


@QUIET
@given(SEEDS)
def test_locked_robot_is_the_full_one_with_some_joints_at_rest(seed):
    rng = np.random.default_rng(seed)
    model = random_model(seed, 7, types=ALL_TYPES, mimic=0.3, friction=True, armature=True)
    q, v, a = random_state(model, rng)
    names = [name for name in model.joint_names if rng.random() < 0.4]
    locked = model.lock(names, at=q)
    left = [name for name in model.joint_names if name not in names]
    assert locked.joint_names == tuple(left) and locked.link_names == model.link_names
    iq = coordinates(model, left, "q")
    iv = coordinates(model, left, "v")
    rest = np.isin(np.arange(model.nv), iv)
    if not left:
        assert locked.nq == 0 and locked.total_mass == pytest.approx(model.total_mass)
        return
    close(rd.mass_matrix(locked, q[iq]), rd.mass_matrix(model, q)[np.ix_(iv, iv)])
    full = rd.inverse_dynamics(model, q, v * rest, a * rest)
    close(rd.inverse_dynamics(locked, q[iq], v[iv], a[iv]), full[iv])
    for link in model.link_names:
        close(rd.link_pose(locked, q[iq], link), rd.link_pose(model, q, link))
    for field in ("damping", "friction", "armature", "effort_limit", "velocity_limit"):
        np.testing.assert_array_equal(getattr(locked, field), getattr(model, field)[iv])


def test_positions_can_be_given_by_name():
    model = rd.load_robot("six_axis")
    q = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])
    by_array = model.lock(["elbow_joint", "wrist_1_joint"], at=q)
    by_name = model.lock(
        ["elbow_joint", "wrist_1_joint"], at={"elbow_joint": 0.3, "wrist_1_joint": [-0.4]}
    )
    np.testing.assert_array_equal(by_array.body_inertia, by_name.body_inertia)
    at_zero = model.lock("elbow_joint")
    np.testing.assert_array_equal(at_zero.joint("elbow_joint").origin.rotation, np.eye(3))
    assert at_zero.fixed_joint_names == ("elbow_joint", "tool0_joint")
    assert "elbow_joint" not in at_zero.description.initial_positions
    assert (
        len(at_zero.initial_configuration()) == 5 and at_zero.initial_configuration()[1] == -1.5708
    )
    assert model.nq == 6, "the old model is as it was"


def test_what_mimics_a_locked_joint_is_locked_with_it():
    model = random_model(3, 8, mimic=0.6)
    master = model.moving_joint_names[model.mimic_master[model.mimic_master >= 0][0]]
    follower = next(
        n
        for i, n in enumerate(model.moving_joint_names)
        if model.mimic_master[i] == model.body_index(master)
    )
    locked = model.lock(master, at={master: 0.4})
    assert {master, follower} <= set(locked.fixed_joint_names)
    with pytest.raises(ArgumentError, match=f"Lock '{master}'"):
        model.lock(follower)


def test_bad_locks():
    model = rd.load_robot("six_axis")
    with pytest.raises(UnknownNameError, match="Did you mean 'elbow_joint'"):
        model.lock("elbow")
    with pytest.raises(UnknownNameError):
        model.lock("elbow_joint", at={"elbow": 1})
    with pytest.raises(ArgumentError, match="no position for joint 'elbow_joint'"):
        model.lock("elbow_joint", at={"wrist_1_joint": 1})
    for bad in (np.zeros(5), 1.0, np.full(6, np.nan), np.zeros((2, 6))):
        with pytest.raises(ArgumentError, match="6 finite numbers"):
            model.lock("elbow_joint", at=bad)
    with pytest.raises(UnknownNameError, match="initial, zero"):
        model.lock("elbow_joint", at="here")
    free = rd.load_urdf(rd.robot_path("six_axis"), floating_base=True)
    with pytest.raises(ArgumentError, match="quaternion"):
        free.lock("root_joint", at={"root_joint": np.zeros(7)})


# -- subtree ---------------------------------------------------------------------------------------


@QUIET
@given(SEEDS)
def test_subtree_needs_the_efforts_it_needs_on_the_robot_at_rest(seed):
    rng = np.random.default_rng(seed)
    model = random_model(seed, 8, types=ALL_TYPES, armature=True)
    q, v, a = random_state(model, rng)
    link = str(rng.choice(model.link_names))
    part = model.subtree(link, base=rd.link_pose(model, q, link))
    assert part.root_link == link and set(part.joint_names) <= set(model.joint_names)
    if not part.joint_names:
        return
    iq = coordinates(model, part.joint_names, "q")
    iv = coordinates(model, part.joint_names, "v")
    inside = np.isin(np.arange(model.nv), iv)
    full = rd.inverse_dynamics(model, q, v * inside, a * inside)
    close(rd.inverse_dynamics(part, q[iq], v[iv], a[iv]), full[iv])
    close(rd.mass_matrix(part, q[iq]), rd.mass_matrix(model, q)[np.ix_(iv, iv)])
    for name in part.link_names:
        close(rd.link_pose(part, q[iq], name), rd.link_pose(model, q, name))


def test_subtree_of_a_branched_robot():
    model = rd.load_robot("two_arm_torso", gravity=(0, 0, -1.62))
    arm = model.subtree("left_shoulder_link")
    assert arm.joint_names == ("left_shoulder_roll", "left_elbow", "left_wrist_yaw")
    assert arm.gravity.tolist() == [0, 0, -1.62] and arm.root_inertia.mass == 3.2
    assert model.subtree(model.root_link).joint_names == model.joint_names
    with pytest.raises(UnknownNameError, match="link"):
        model.subtree("third_arm")


def test_subtree_with_a_foreign_master():
    model = random_model(3, 8, mimic=0.6, branching=0.0)
    i = next(i for i in range(model.nb) if 0 <= model.mimic_master[i] < i)
    follower = model.joint(model.moving_joint_names[i])
    if follower.mimic is not None and model.body_index(follower.mimic.joint) < i:
        with pytest.raises(
            ModelError, match=f"'{follower.name}' mimics '{follower.mimic.joint}'.*Lock"
        ):
            model.subtree(follower.parent)


# -- attach ----------------------------------------------------------------------------------------


def test_attached_payload_is_the_urdf_with_the_payload_written_in():
    model = rd.load_robot("six_axis")
    body = rd.Inertia(
        2.5,
        [0.01, -0.02, 0.06],
        [[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]],
    )
    loaded = model.attach(
        "tool0", body, rd.Pose.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), name="box"
    )
    text = (
        rd.robot_path("six_axis")
        .read_text()
        .replace(
            "</robot>",
            """
      <link name="box"><inertial><origin xyz="0.01 -0.02 0.06"/><mass value="2.5"/>
      <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.025"/></inertial>
      </link>
      <joint name="box_joint" type="fixed"><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>
      <parent link="tool0"/>
      <child link="box"/></joint></robot>""",
        )
    )
    written = rd.load_urdf(text)
    assert loaded.link_names == written.link_names and loaded.link_names[-1] == "box"
    for field in ("body_mass", "body_com", "body_inertia", "link_position", "link_rotation"):
        close(getattr(loaded, field), getattr(written, field), 1e-15)
    assert loaded.total_mass == pytest.approx(24.2) and model.total_mass == pytest.approx(21.7)


@QUIET
@given(SEEDS)
def test_payload_adds_its_own_kinetic_and_potential_energy(seed):
    rng = np.random.default_rng(seed)
    model = random_model(seed, 6, types=ALL_TYPES, mimic=0.2)
    q, v, _ = random_state(model, rng)
    link = str(rng.choice(model.link_names))
    pose = random_pose(rng)
    body = random_inertia(rng)
    loaded = model.attach(link, body, pose)
    if model.nv == 0:
        return
    at = rd.link_pose(model, q, link) @ pose.matrix()
    # of the link's origin, world axes
    twist = rd.jacobian(model, q, link) @ v
    R = at[:3, :3]
    c = at[:3, :3] @ body.com + at[:3, 3]
    omega = twist[:3]
    velocity = twist[3:] + np.cross(omega, c - rd.link_pose(model, q, link)[:3, 3])
    kinetic = (
        0.5 * body.mass * velocity @ velocity + 0.5 * omega @ R @ body.rotational @ R.T @ omega
    )
    close(rd.kinetic_energy(loaded, q, v), rd.kinetic_energy(model, q, v) + kinetic)
    close(
        rd.potential_energy(loaded, q),
        rd.potential_energy(model, q) - body.mass * model.gravity @ c,
    )
    close(rd.link_pose(loaded, q, "payload"), at)


def test_point_mass_costs_its_weight():
    model = rd.load_robot("seven_axis")
    q = model.initial_configuration()
    loaded = model.attach("flange", 3.0)
    weight = rd.jacobian(model, q, "flange")[3:].T @ (3.0 * np.array([0, 0, -9.81]))
    close(rd.gravity_forces(loaded, q), rd.gravity_forces(model, q) - weight)


@QUIET
@given(SEEDS)
def test_attached_robot_and_its_carrier_can_be_cut_apart_again(seed):
    rng = np.random.default_rng(seed)
    arm = random_model(seed, 4, types=ALL_TYPES)
    tool = random_model(seed + 1, 3, mimic=0.3, armature=True)
    link = str(rng.choice(arm.link_names))
    pose = random_pose(rng)
    both = arm.attach(link, tool, pose, prefix="tool_")
    assert set(both.joint_names) == set(arm.joint_names) | {
        "tool_" + name for name in tool.joint_names
    }
    assert both.total_mass == pytest.approx(arm.total_mass + tool.total_mass)
    again = both.subtree("tool_root")
    q, v, a = random_state(tool, rng)
    assert again.joint_names == tuple("tool_" + name for name in tool.joint_names)
    close(rd.inverse_dynamics(again, q, v, a), rd.inverse_dynamics(tool, q, v, a))
    held = both.lock(
        ["tool_" + name for name in tool.joint_names],
        at={"tool_" + name: q[tool.q_slice(name)] for name in tool.joint_names},
    )
    qa, va, aa = random_state(arm, rng)
    poses = [rd.link_pose(held, qa, "tool_" + name) for name in tool.link_names]
    for name, pose_of_link in zip(tool.link_names, poses, strict=True):
        close(
            pose_of_link, rd.link_pose(arm, qa, link) @ pose.matrix() @ rd.link_pose(tool, q, name)
        )
    assert held.nv == arm.nv
    assert np.isfinite(rd.inverse_dynamics(held, qa, va, aa)).all()


def test_initial_positions_come_along():
    both = rd.load_robot("six_axis").attach("tool0", rd.load_robot("seven_axis"), prefix="second_")
    assert both.initial_configuration()[-1] == 0.785398 and both.nq == 13


def test_bad_attachments():
    model = rd.load_robot("six_axis")
    with pytest.raises(UnknownNameError, match="link"):
        model.attach("tool9", 1.0)
    with pytest.raises(ModelError, match=r"link 'tool0' already.*prefix"):
        model.attach("tool0", 1.0, name="tool0")
    with pytest.raises(ModelError, match="already"):
        model.attach("tool0", model)
    with pytest.raises(ModelError, match="negative"):
        model.attach("tool0", -1.0)
    with pytest.raises(ModelError, match="triangle"):
        model.attach("tool0", rd.Inertia(1, [0, 0, 0], np.diag([1, 1, 3])))
    for bad in (
        "brick",
        None,
        True,
        rd.Inertia(float("nan")),
        rd.Inertia(1, [0, 0, 0], [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
    ):
        with pytest.raises(ArgumentError):
            model.attach("tool0", bad)
    with pytest.raises(ArgumentError, match="Pose"):
        model.attach("tool0", 1.0, pose=(0, 0, 1))


def test_the_chosen_backend_stays():
    model = rd.load_robot("six_axis").with_backend("numpy")
    edited = (
        model.lock("elbow_joint")
        .attach("tool0", 1.0)
        .subtree("shoulder_link")
        .replace(gravity=(0, 0, 0))
    )
    assert model.backend == edited.backend == rd.backend_of(edited) == "numpy"
    assert rd.backend_of(rd.load_robot("six_axis")) == "interpreted"


def test_edited_robots_can_be_written_and_read():
    model = (
        rd.load_robot("two_arm_torso")
        .lock("torso_yaw", at={"torso_yaw": 0.5})
        .attach("left_hand", 1.0)
    )
    again = rd.load_urdf(rd.to_urdf(model))
    q, v, a = random_state(model, 1)
    close(rd.inverse_dynamics(again, q, v, a), rd.inverse_dynamics(model, q, v, a))
