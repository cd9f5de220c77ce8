"""Light joints with friction beside heavy ones: the guards may not keep them from moving."""

import dataclasses
import warnings

import numpy as np
import pytest
from support.cycle_steps import limited, put
from support.example_robots import example_urdf

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.rehearsal import rehearse, try_robots
from robot_dynamics_ros.control.cycle.limits import limit, motion_bound
from robot_dynamics_ros.control.reference.planning import (
    bearable_start,
    motion_through,
    plan_motion,
)
from robot_dynamics_ros.simulation import Plant

PERIOD = 0.002


@pytest.fixture(scope="module")
def z1():
    """Unitree Z1: 0.0003 to 0.3 kg m² at the joints, dry friction of 1 N m at each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rd.load_urdf(example_urdf("z1.urdf"))


def quintic(x):
    x = np.clip(x, 0.0, 1.0)
    return (
        10 * x**3 - 15 * x**4 + 6 * x**5,
        30 * x**2 - 60 * x**3 + 30 * x**4,
        60 * x - 180 * x**2 + 120 * x**3,
    )


def wrist_starts_while_the_base_is_at_its_limit(model):
    """The base moves through 4 rad at 99 % of its speed limit; in the middle of it wrist and
    gripper start.
    """
    T = 4.0 * 15 / 8 / (0.99 * model.velocity_limit[0])
    t = np.linspace(0.0, T, 41)
    q = np.zeros((41, 7))
    v = np.zeros((41, 7))
    a = np.zeros((41, 7))
    q += np.array([-2.0, 1.5, -1.0, 0.0, 0.0, 0.0, -0.8])
    for joint, distance, begin, span in (
        (0, 4.0, 0.0, T),
        (5, 0.5, 0.45 * T, 0.3 * T),
        (6, 0.5, 0.45 * T, 0.3 * T),
    ):
        s = quintic((t - begin) / span)
        for k, row in enumerate((q, v, a)):
            row[:, joint] += distance * s[k] / span**k
    v[-1] = 0.0
    return rd.Trajectory.from_waypoints(model.joint_names, t, q, v, a)


def follow(model, plant, trajectory, controller):
    controller.activate(0, plant.q, plant.v)
    goal = controller.accept_trajectory(trajectory, 0)
    worst = np.zeros(model.nv)
    for k in range(1, round((trajectory.duration + 0.3) / PERIOD)):
        plant.step(controller.update(round(k * PERIOD * 1e9), plant.q.copy(), plant.v.copy()))
        worst = np.maximum(worst, np.abs(controller.error[0]))
    return goal, worst


def test_a_light_joint_with_friction_starts_while_another_is_at_its_speed_limit(z1):
    trajectory = wrist_starts_while_the_base_is_at_its_limit(z1)
    plant = Plant(z1, PERIOD, q0=trajectory.positions[0])
    controller = rd.JointController(
        z1, rd.ComputedTorque(kp=400.0, kd=40.0, friction=rd.Friction.of(z1))
    )
    goal, worst = follow(z1, plant, trajectory, controller)
    assert worst.max() < 0.005
    assert not controller.counts
    assert goal.status is rd.GoalStatus.SUCCEEDED and not goal.text


def test_a_joint_at_rest_may_always_have_the_effort_that_starts_it(z1):
    p = limited(z1)
    q = 0.5 * (z1.lower + z1.upper)
    v = np.zeros(7)
    v[0] = 0.99 * z1.velocity_limit[0]
    limit(put(p, q=q, v=v))
    assert list(p.near) == [1] + [0] * 6
    # at rest, in the soft zone of every joint
    zone = z1.upper - 0.5 * np.array(p.margin)
    bias = rd.bias_forces(z1, zone, np.zeros(7))
    for sign in (1.0, -1.0):
        asked = bias + sign * 1.001 * z1.friction
        limit(put(p, q=zone, v=np.zeros(7), effort=asked))
        assert list(p.near) == [1] * 7
        np.testing.assert_array_equal(p.effort, asked)


def test_friction_that_is_not_there_does_not_carry_a_joint_far_beyond_its_speed_limit():
    """The model's friction is 1 N m, the plant has none, the law asks for all the effort there
    is.
    """
    p = limited(rd.load_robot("pendulum"))
    put(p, inertia=[[3e-4]], braking_rate=[50.0], dry=[1.0], viscous=[1.0], creep=[0.005])
    v = 0.0
    for _ in range(2000):
        low = -motion_bound(p, 0, -v, 3.0)
        high = motion_bound(p, 0, v, 3.0)
        v = v + 1e-5 * min(max(10.0, low), high) / 3e-4
    assert 3.0 < v < 1.1 * 3.0


def test_a_joint_that_never_moved_is_no_silent_success(z1):
    """Without goal tolerances a goal succeeds when its time is over, as with
    joint_trajectory_controller; it says so.
    """
    q0 = 0.5 * (z1.lower + z1.upper)
    controller = rd.JointController(z1)
    controller.activate(0, q0, np.zeros(7))
    controller.update(0, q0, np.zeros(7))
    step = np.zeros(7)
    step[5] = 0.5
    goal = controller.accept_trajectory(rd.plan_move(z1, q0, q0 + step, duration=1.0), 0)
    for k in range(1, 600):
        q = q0 + (controller.reference[0] - q0) * (np.arange(7) != 5)
        # its encoder is alive
        q[5] += 1e-6 * (k % 2)
        controller.update(k * 2_000_000, q, np.zeros(7))
    assert goal.status is rd.GoalStatus.SUCCEEDED
    assert "'joint6' is 0.5 from its goal" in goal.text and "constraints.joint6.goal" in goal.text


def test_fingers_with_friction_are_not_thrown_when_they_break_free():
    """Joints of 4e-6 to 1e-3 kg m². No rotors are described."""
    (row,) = try_robots(
        [("alex_psyonic_hands", example_urdf("alex_psyonic_hands.urdf"))],
        inertia_check="warn",
        duration=0.0,
        tolerance=3e-3,
        seed=7,
        progress=lambda _: None,
    )
    assert row["arrived"], row["outcome"]


@pytest.mark.parametrize("seed", [4, 7])
def test_sensors_with_much_friction_are_not_thrown_if_their_rotors_are_described(seed):
    """10 N m on 0.2 and 1.2 g m².

    Without rotors in the description half of the motions end in a fault.
    """
    rotors = {"d435_head_joint": 0.02, "velodyne_joint": 0.02}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rd.load_urdf(example_urdf("centauro.urdf"), inertia_check="warn")
    joints = tuple(
        dataclasses.replace(joint, armature=rotors.get(joint.name, joint.armature))
        for joint in model.description.joints
    )
    model = model.replace(
        description=dataclasses.replace(model.description, joints=joints, source="")
    )
    start, _ = bearable_start(model, model.initial_configuration())
    done = rehearse(
        model, plan_motion(model, start, duration=0.0, seed=seed), dt=0.004, tolerance=3e-3
    )
    assert done.arrived, done.reason()


def test_a_light_joint_does_not_swing_by_its_own_pulses():
    """The gripper's yaw: 0.0015 kg m², 0.05 N m s/rad, 20 N m.

    What stayed after pulses made it swing by 35 mrad, without end.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rd.load_urdf(example_urdf("alex_psyonic_hands.urdf"))
    middle = 0.5 * (model.lower + model.upper)
    motion = motion_through(model, np.vstack([model.initial_configuration(), middle]))
    done = rehearse(model, motion, tolerance=3e-3, duration=3.0)
    assert "no rotors" in done.remark
    assert done.complete and not done.fault
    # not `arrived`, which judges the path, too: the left wrist, which should stay where it is, is
    # 32 mrad off on the way; this test is about what remains afterwards
    assert done.goal_error.max() <= done.tolerance, done.reason()
    assert np.abs(done.run.v[-1]).max() < 0.05
    assert np.ptp(done.run.q[done.run.t > 2.8], axis=0).max() < 1e-4
