"""The robot in MuJoCo: as our own plant where nothing touches, and with laws of contact held to
closed forms.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from support.closed_loops import four_bar
from support.random_trees import random_model
from support.simple_robots import slider

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, BackendError, SimulationError, UnknownNameError
from robot_dynamics_ros.model.description import JointType

mujoco = pytest.importorskip("mujoco")

TYPES = tuple(kind for kind in JointType if kind is not JointType.FIXED)
FLOOR = rd.WorldShape("floor", "plane")


def both(model, dt=1e-3, **options):
    """Our plant and MuJoCo's, in the same state of motion."""
    ours = rd.Plant(model, dt, integrator="rk4", stops=None, **options)
    theirs = rd.MujocoPlant(model, dt, integrator="rk4", stops=None, geometry="none", **options)
    v = np.linspace(-0.5, 0.5, model.nv)
    ours.reset(ours.q, v)
    theirs.reset(ours.q, v)
    return ours, theirs


@pytest.mark.parametrize("seed", [1, 7])
def test_trees_with_every_type_of_joint_move_and_carry_alike(seed):
    rough = random_model(
        seed, 6, types=TYPES, limits=False, armature=True, friction=True, mimic=0.0
    )
    # damping stays
    model = rd.robot_model_error(rough, friction=0.0)
    # there is no rotor in the air, and an inertia of its own means one thing in each's coordinates
    joints = [
        dataclasses.replace(j, armature=0.0) if j.type is JointType.FLOATING else j
        for j in model.description.joints
    ]
    model = model.replace(description=dataclasses.replace(model.description, joints=tuple(joints)))
    ours, theirs = both(model, limiter=False)
    link = model.link_names[-1]
    push = {link: np.array([0.3, -0.2, 0.1, 1.0, 2.0, -3.0])}
    effort = np.linspace(0.2, -0.2, model.nv)
    for plant in (ours, theirs):
        plant.hold(effort, push)
    for of in ("acceleration", "joint_effort", "joint_wrenches"):
        expected = getattr(ours, of)()
        found = getattr(theirs, of)()
        np.testing.assert_allclose(
            found, expected, atol=1e-9 * max(1.0, np.abs(expected).max()), err_msg=of
        )
    for _ in range(100):
        ours.step(effort, push)
        theirs.step(effort, push)
    scale = max(1.0, np.abs(ours.v).max())
    # integrators of quaternions differ
    np.testing.assert_allclose(theirs.q, ours.q, atol=1e-5 * scale)
    np.testing.assert_allclose(theirs.energy(), ours.energy(), rtol=1e-4)


def test_a_mimic_joint_follows_and_loads_its_master():
    model = random_model(3, 6, types=(JointType.REVOLUTE,), limits=False, mimic=0.4)
    assert model.has_mimic
    ours, theirs = both(rd.robot_model_error(model, friction=0.0), limiter=False)
    for plant in (ours, theirs):
        plant.hold(np.ones(model.nv))
    expected = ours.acceleration()
    np.testing.assert_allclose(theirs.acceleration(), expected, atol=0.01 * np.abs(expected).max())
    for _ in range(100):
        ours.step(np.ones(model.nv))
        theirs.step(np.ones(model.nv))
    np.testing.assert_allclose(theirs.q, ours.q, atol=0.02 * np.abs(ours.q).max())


def test_moments_of_inertia_that_no_body_has_keep_the_dynamics_of_the_urdf():
    urdf = """<robot name="odd"><link name="base"/><link name="arm"><inertial>
    <origin xyz="0.2 0 0" rpy="0.3 0.2 0.1"/>
      <mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.05" ixy="0" ixz="0" iyz="0"/>
      </inertial></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
      <axis xyz="0 1 0.5"/></joint></robot>"""
    with pytest.warns(rd.ModelWarning):
        model = rd.load_urdf(urdf)
    ours, theirs = both(model)
    for plant in (ours, theirs):
        plant.hold([1.0])
    np.testing.assert_allclose(theirs.acceleration(), ours.acceleration(), rtol=1e-12)


def test_dry_friction_decelerates_as_coulomb_says_and_hardly_creeps():
    model = slider(mass=2.0, friction=3.0)
    sliding = rd.MujocoPlant(model, v0=[1.0])
    for _ in range(300):
        sliding.step([0.0])
    np.testing.assert_allclose(sliding.v, 1.0 - 0.3 * 1.5, atol=2e-3)
    resting = rd.MujocoPlant(model)
    for _ in range(1000):
        resting.step([2.5])
    assert 0.0 <= resting.q[0] < 1e-5
    for _ in range(100):
        resting.step([3.5])
    # 0.5 N are left to accelerate 2 kg
    assert resting.q[0] > 1e-4


def test_breakaway_friction_holds_longer_than_it_brakes():
    model = slider(mass=2.0)
    plant = rd.MujocoPlant(model, friction=rd.JointFriction(0.0, 1.0, 3.0, stribeck_velocity=0.05))
    for _ in range(200):
        plant.step([2.5])
    assert plant.q[0] < 1e-4
    plant.reset(v=[1.0])
    for _ in range(200):
        plant.step([2.5])
    np.testing.assert_allclose(plant.v, 1.0 + 0.2 * 0.75, atol=2e-3)


def test_brakes_hold_and_release():
    plant = rd.MujocoPlant(rd.load_robot("six_axis"), q0=[0.0, 0.5, 0.5, 0.0, 0.0, 0.0])
    plant.brakes = True
    start = plant.q
    for _ in range(300):
        plant.step(np.zeros(6))
    assert np.abs(plant.q - start).max() < 1e-4
    plant.brakes = False
    for _ in range(100):
        plant.step(np.zeros(6))
    assert np.abs(plant.q - start).max() > 1e-3


def test_commands_are_limited_as_ours_are():
    model = rd.load_robot("seven_axis")
    ours = rd.Plant(model)
    theirs = rd.MujocoPlant(model, geometry="none")
    rng = np.random.default_rng(0)
    for _ in range(200):
        q = rng.uniform(model.lower, model.upper)
        at_limit = rng.random(model.nv) < 0.3
        q = np.where(
            at_limit, rng.choice([0, 1], model.nv) * (model.upper - model.lower) + model.lower, q
        )
        v = rng.normal(size=model.nv) * 2.0 * model.velocity_limit
        command = rng.normal(size=model.nv) * 2.0 * model.effort_limit
        for plant in (ours, theirs):
            plant.reset(q, v)
            plant.hold(command)
        np.testing.assert_array_equal(theirs.tau, ours.tau)


def test_a_joint_stops_at_its_limit():
    model = rd.load_robot("six_axis")
    plant = rd.MujocoPlant(model, limiter=False, q0=[0.0, -0.5, 0.0, 0.0, 0.0, 0.0])
    for _ in range(1500):
        plant.step([0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
    assert abs(plant.q[2] - model.upper[2]) < 2e-3
    assert abs(plant.v[2]) < 1e-3


SLIDER = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="j" type="{}"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="100" velocity="10"/></joint></robot>"""


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("dt", [1e-3, 2e-3])
def test_stops_take_the_speed_of_an_impact(kind: str, dt: float) -> None:
    """Wherever within a step the stop is met; a soft constraint that is critically damped gives
    back up to a quarter.
    """
    model = rd.load_urdf(SLIDER.format(kind), gravity=(0.0, 0.0, 0.0))
    plant = rd.MujocoPlant(model, dt=dt)
    for start in np.linspace(0.9, 0.9 + 3.0 * dt, 7).tolist():
        plant.reset([start], [3.0])
        for _ in range(200):
            plant.step([0.0])
        assert abs(plant.v[0]) < 0.003 * 3.0
        assert abs(plant.q[0] - 1.0) < 3.0 * dt


# -- contact ---------------------------------------------------------------------------------------


def tipped(model, radius=0.02, **options):
    return rd.WorldShape("tip", "sphere", size=(radius,), link="tool0", **options)


def pressing(**options):
    """The six-axis arm lowered by a spring at the joints until its tip rests on a table."""
    model = rd.load_robot("six_axis")
    q0 = np.array([0.0, -0.9, 1.4, -2.07, -1.57, 0.0])
    height = rd.link_pose(model, q0, "tool0")[:3, 3]
    table = rd.WorldShape(
        "table", "box", (0.6, 0.6, 0.04), (height[0], height[1], height[2] - 0.05)
    )
    damped = rd.JointFriction(viscous=10.0, coulomb=0.0)
    plant = rd.MujocoPlant(model, shapes=[table, tipped(model)], q0=q0, friction=damped, **options)
    target = height - [0.0, 0.0, 0.06]

    def command():
        q = plant.q
        J = rd.jacobian(model, q, "tool0")
        x = rd.link_pose(model, q, "tool0")[:3, 3]
        force = np.concatenate((np.zeros(3), 1500.0 * (target - x)))
        return J.T @ force + rd.gravity_forces(model, q)

    return model, plant, command


def test_the_wrench_of_a_contact_is_what_the_joints_bear():
    """M a + b − Jᵀ w = motors less friction; and the joint wrenches are those of the motion and the
    contact.
    """
    model, plant, command = pressing()
    for _ in range(800):
        plant.step(command())
    wrench = plant.contact_wrenches()["tool0"]
    q = plant.q
    pose = rd.link_pose(model, q, "tool0")
    J = rd.jacobian(model, q, "tool0", expressed_in="link")
    # the table pushes up
    assert (pose[:3, :3] @ wrench[3:])[2] > 10.0
    moved = rd.inverse_dynamics(model, q, plant.v, plant.acceleration())
    np.testing.assert_allclose(plant.tau - 10.0 * plant.v, moved - J.T @ wrench, atol=1e-6)
    (contact,) = plant.contacts()
    assert {contact.a, contact.b} == {"table", "tool0"}
    sign = 1.0 if contact.b == "tool0" else -1.0
    np.testing.assert_allclose(sign * contact.force, pose[:3, :3] @ wrench[3:], atol=1e-9)
    np.testing.assert_allclose(abs(contact.normal[2]), 1.0, atol=1e-6)
    expected = rd.joint_wrenches(
        model, q, plant.v, plant.acceleration(), external={"tool0": wrench}
    )
    np.testing.assert_allclose(plant.joint_wrenches(), expected, atol=1e-8 * np.abs(expected).max())


def test_a_run_repeats_bit_for_bit_and_asking_changes_nothing():
    rows = []
    for ask in (False, True):
        _, plant, command = pressing()
        for _ in range(150):
            if ask:
                plant.joint_wrenches(), plant.contacts()
            plant.step(command())
        rows.append(np.concatenate((plant.q, plant.v)))
    assert rows[0].tobytes() == rows[1].tobytes()
    saved = plant.state()
    path = []
    for _ in range(2):
        plant.restore(saved)
        for _ in range(50):
            plant.step(command(), {"tool0": [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]})
        path.append(np.concatenate((plant.q, plant.v)))
    assert path[0].tobytes() == path[1].tobytes()


def test_a_ball_falls_as_free_bodies_do_and_comes_to_rest_on_the_floor():
    ball = rd.WorldShape("ball", "sphere", (0.1,), (0.0, 2.0, 1.1), mass=0.5)
    plant = rd.MujocoPlant(rd.load_robot("pendulum"), shapes=[FLOOR, ball], integrator="rk4")
    assert plant.objects == ("ball",)
    for _ in range(400):
        plant.step([0.0])
    np.testing.assert_allclose(
        plant.object_pose("ball")[:3, 3], (0.0, 2.0, 1.1 - 0.5 * 9.81 * 0.16), atol=1e-9
    )
    for _ in range(2000):
        plant.step([0.0])
    np.testing.assert_allclose(plant.object_pose("ball")[2, 3], 0.1, atol=2e-3)
    (contact,) = plant.contacts()
    np.testing.assert_allclose(np.abs(contact.force), (0.0, 0.0, 0.5 * 9.81), atol=0.01)
    # the robot alone
    plant.reset([0.3])
    np.testing.assert_allclose(plant.object_pose("ball")[2, 3], 0.1, atol=2e-3)
    plant.reset()
    np.testing.assert_allclose(plant.object_pose("ball")[2, 3], 1.1)


GRIPPER = """<robot name="gripper"><link name="world"/>
  <link name="palm"><inertial><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lift" type="prismatic"><parent link="world"/><child link="palm"/>
  <origin xyz="0 0 0.05"/><axis xyz="0 0 1"/>
    <limit lower="-0.1" upper="1" effort="500" velocity="5"/></joint>
  {fingers}</robot>"""
FINGER = """<link name="{n}"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.01 0.04 0.06"/></geometry></collision></link>
  <joint name="{n}_joint" type="prismatic"><parent link="palm"/><child link="{n}"/>
  <origin xyz="{x} 0 0"/><axis xyz="{a} 0 0"/>
    <limit lower="0" upper="0.1" effort="100" velocity="1"/>{mimic}</joint>"""


def gripper(mimic: bool) -> str:
    follow = '<mimic joint="left_joint" multiplier="1" offset="0"/>' if mimic else ""
    fingers = FINGER.format(n="left", x=-0.06, a=1, mimic="") + FINGER.format(
        n="right", x=0.06, a=-1, mimic=follow
    )
    return GRIPPER.format(fingers=fingers)


@pytest.mark.parametrize("mimic", [False, True], ids=["two motors", "one motor"])
def test_a_gripper_lifts_a_box_and_drops_it(mimic):
    box = rd.WorldShape(
        "crate", "box", (0.06, 0.04, 0.08), (0.0, 0.0, 0.04), mass=0.4, friction=0.9
    )
    model = rd.load_urdf(gripper(mimic))
    plant = rd.MujocoPlant(model, 2e-3, shapes=[FLOOR, box])
    squeeze = 2.0 * 15.0 if mimic else 15.0

    def hold(height, force, steps):
        for _ in range(steps):
            lift = (
                12.0
                + 600.0 * (height - plant.q[0])
                - 80.0 * plant.v[0]
                + (4.0 if force > 0 else 0.0)
            )
            plant.step([lift, *[force] * (model.nv - 1)])

    hold(0.0, squeeze, 200)
    for height in np.linspace(0.0, 0.3, 300):
        hold(height, squeeze, 1)
    hold(0.3, squeeze, 300)
    top = plant.object_pose("crate")[2, 3]
    assert top > 0.3
    wrenches = plant.contact_wrenches()
    assert wrenches.keys() == {"left", "right"}
    np.testing.assert_allclose(wrenches["left"][3] - wrenches["right"][3], -2.0 * 15.0, rtol=0.05)
    # the box hangs on both
    weight = wrenches["left"][5] + wrenches["right"][5]
    np.testing.assert_allclose(weight, -0.4 * 9.81, rtol=0.05)
    hold(0.3, -squeeze, 400)
    assert plant.object_pose("crate")[2, 3] < 0.06


def test_a_four_bar_moves_and_carries_as_our_own():
    loops = four_bar()
    q, _ = loops.consistent_state([0.7, 0.3, 1.0])
    ours = rd.ConstrainedPlant(loops, 1e-3, q0=q, friction=False, stops=None)
    theirs = rd.MujocoPlant(
        loops.model, 1e-3, q0=q, friction=False, stops=None, constraints=loops, integrator="rk4"
    )
    effort = [2.0, 0.0, 0.0]
    for _ in range(200):
        ours.step(effort)
        theirs.step(effort)
    np.testing.assert_allclose(theirs.q, ours.q, atol=2e-3)
    assert np.abs(loops.residual(theirs.q)).max() < 1e-3
    for side in range(2):
        expected = ours.constraint_wrenches()["closure"][side]
        found = theirs.constraint_wrenches()["closure"][side]
        np.testing.assert_allclose(found, expected, atol=0.03 * np.abs(expected).max())
    expected = ours.joint_wrenches()
    np.testing.assert_allclose(
        theirs.joint_wrenches(), expected, atol=0.03 * np.abs(expected).max()
    )


@pytest.mark.parametrize("kind", ["point", "weld", "distance", "gear"])
def test_other_loops_hold(kind):
    model = rd.limb(3, lengths=[1.0, 2.0, 2.5], plane="vertical")
    q = [0.3, 0.8, 0.9]
    made = {
        "point": lambda: rd.point_constraint("loop", "tip"),
        "weld": lambda: rd.weld_constraint("loop", "tip"),
        "distance": lambda: rd.distance_constraint("loop", "tip", point_b=(0.0, 0.0, 1.0)),
        "gear": lambda: rd.gear_constraint("loop", "joint1", "joint2", ratio=-2.0, offset=1.4),
    }[kind]()
    loops = rd.Constraints(model, [made], reference=q)
    plant = rd.MujocoPlant(model, 1e-3, q0=q, constraints=loops, friction=False, stops=None)
    ours = rd.ConstrainedPlant(loops, 1e-3, q0=q, friction=False, stops=None)
    for _ in range(100):
        plant.step(np.zeros(3))
        ours.step(np.zeros(3))
    assert np.abs(loops.residual(plant.q)).max() < 2e-3
    np.testing.assert_allclose(plant.q, ours.q, atol=1e-2)
    expected = ours.joint_wrenches()
    np.testing.assert_allclose(plant.joint_wrenches(), expected, atol=0.05 * np.abs(expected).max())


def test_a_rolling_constraint_is_refused_by_name():
    model = rd.limb(2)
    loops = rd.Constraints(model, [rd.rolling_constraint("tyre", "world", "tip", radius=0.1)])
    with pytest.raises(ArgumentError, match=r"rolling.*|tyre"):
        rd.MujocoPlant(model, constraints=loops)


# -- scenes and geometry ---------------------------------------------------------------------------

SCENE = """<mujoco><compiler angle="degree"/><default><geom friction="0.3"/></default><worldbody>
  <geom name="ground" type="plane" size="2 2 .1"/>
  <body name="crate" pos="1 1 0.2"><freejoint/><geom size=".2" mass="1"/></body></worldbody>
  <equality>{equality}</equality></mujoco>"""


def test_a_scene_comes_with_its_bodies_and_may_tie_them_to_the_robot(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(
        SCENE.format(equality='<connect body1="crate" body2="robot/tool0" anchor="0 0 0"/>')
    )
    # tool0 is a site: fixed links have no body of their own
    with pytest.raises(ArgumentError, match="scene"):
        rd.MujocoPlant(rd.load_robot("six_axis"), scene=path)
    path.write_text(SCENE.format(equality=""))
    plant = rd.MujocoPlant(rd.load_robot("six_axis"), scene=path)
    assert plant.objects == ("crate",)
    for _ in range(50):
        plant.step(np.zeros(6))
    np.testing.assert_allclose(plant.object_pose("crate")[:3, 3], (1.0, 1.0, 0.2), atol=5e-3)


@pytest.mark.parametrize("ending", ["stl", "dae"])
def test_meshes_of_collision_elements_are_found_and_touch(tmp_path, ending):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box(extents=(0.2, 0.2, 0.4)).export(tmp_path / f"part.{ending}")
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(
        f"""<robot name="post"><link name="world"/><link name="post">
      <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
      </inertial>
      <collision><geometry><mesh filename="part.{ending}" scale="1 1 0.5"/></geometry></collision>
      </link>
      <joint name="free" type="floating"><parent link="world"/><child link="post"/></joint>
      </robot>"""
    )
    model = rd.load_urdf(urdf)
    q0 = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 1.0])
    plant = rd.MujocoPlant(model, shapes=[FLOOR], q0=q0)
    for _ in range(600):
        plant.step(np.zeros(6))
    np.testing.assert_allclose(plant.q[2], 0.1, atol=2e-3)
    np.testing.assert_allclose(plant.contact_wrenches()["post"][5], 9.81, rtol=0.01)
    (tmp_path / f"part.{ending}").unlink()
    with pytest.raises(ArgumentError, match=f"part.{ending}"):
        rd.MujocoPlant(model, shapes=[FLOOR])


def test_links_collide_with_each_other_only_if_asked_for():
    urdf = gripper(False)
    model = rd.load_urdf(urdf)
    for collide in (False, True):
        plant = rd.MujocoPlant(model, 2e-3, self_collision=collide)
        for _ in range(400):
            plant.step([2.0, 0.5, 0.5])
        between = 0.12 - plant.q[1] - plant.q[2]
        assert (abs(between - 0.01) < 2e-3) if collide else between < 0.0


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        ("<mujoco>\n<worldbody>\n<geom sise='1'/>\n</worldbody></mujoco>", "sise.*geom.*line 3"),
        ("<mujoco><wor", "line|Line"),
        ("nowhere.xml", "nowhere.xml.*does not exist"),
        ("<mujoco><worldbody><body name='a'/><body name='a'/></worldbody></mujoco>", "'a'"),
    ],
    ids=["attribute", "not closed", "no file", "twice"],
)
def test_a_scene_that_cannot_be_read_names_file_and_place(tmp_path, scene, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if scene.startswith("<"):
        (tmp_path / "bad.xml").write_text(scene)
        scene = "bad.xml"
        words = f"(?s)bad.xml.*{words}"
    with pytest.raises(ArgumentError, match=words):
        rd.MujocoPlant(rd.load_robot("pendulum"), scene=scene)
    assert not list(tmp_path.glob("*LOG*"))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda m: rd.WorldShape("a", "cone"), ArgumentError, "cone"),
        (lambda m: rd.WorldShape("a", "box", (1.0, 2.0)), ArgumentError, "size"),
        (lambda m: rd.WorldShape("a", "box", (1.0, 2.0, float("nan"))), ArgumentError, "size"),
        (lambda m: rd.WorldShape("a", "sphere", (-1.0,)), ArgumentError, "positive"),
        (lambda m: rd.WorldShape("a", "plane", mass=1.0), ArgumentError, "plane"),
        (lambda m: rd.MujocoPlant(m, shapes=[FLOOR, FLOOR]), ArgumentError, "floor"),
        (
            lambda m: rd.MujocoPlant(
                m, shapes=[rd.WorldShape("a", "sphere", (1.0,), link="nobody")]
            ),
            UnknownNameError,
            "nobody",
        ),
        (lambda m: rd.MujocoPlant(m, geometry="hulls"), UnknownNameError, "hulls"),
        (lambda m: rd.MujocoPlant(m, integrator="moreau"), UnknownNameError, "moreau"),
        (lambda m: rd.MujocoPlant(m, dt=0.0), ArgumentError, "dt"),
        (lambda m: rd.MujocoPlant(m, q0=[100.0]), ArgumentError, "limits|q"),
        (lambda m: rd.MujocoPlant(m).step([float("nan")]), ArgumentError, "command"),
        (
            lambda m: rd.MujocoPlant(m).step([1.0], {"nobody": np.zeros(6)}),
            UnknownNameError,
            "nobody",
        ),
        (lambda m: rd.MujocoPlant(m).object_pose("crate"), UnknownNameError, "crate"),
    ],
)
def test_bad_arguments_are_named(make, error, words):
    model = rd.load_urdf(
        """<robot name="p"><link name="base"/><link name="arm"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="revolute">
        <parent link="base"/><child link="arm"/>
        <limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""
    )
    with pytest.raises(error, match=words):
        make(model)


def test_divergence_is_an_error_and_the_state_stays_at_the_last_good_one():
    model = rd.load_robot("six_axis")
    plant = rd.MujocoPlant(model, limiter=False, stops=None)
    before = None
    with pytest.raises(SimulationError, match="joint '"):
        for k in range(2000):
            before = plant.state()
            plant.step(1e4 * np.sign(np.sin(0.1 * k + np.arange(6))))
    np.testing.assert_array_equal(plant.q, plant.q)
    assert np.isfinite(plant.q).all() and np.isfinite(plant.v).all()
    assert plant.t == before["t0"] + before["steps"] * plant.dt
    assert np.isfinite(plant.joint_wrenches()).all()
    plant.reset()
    plant.step(np.zeros(6))


def test_without_mujoco_it_says_what_to_install():
    code = (
        "import sys; sys.modules['mujoco'] = None\n"
        "import robot_dynamics_ros as rd\n"
        "try:\n    rd.MujocoPlant(rd.load_robot('pendulum'))\n"
        "except rd.BackendError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "robot_dynamics_ros[mujoco]" in done.stdout, done.stderr
    assert BackendError is not None
