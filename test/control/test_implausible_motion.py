"""Joint states that contradict themselves, from an arm that MuJoCo moves: a fault before the arm
runs away, and never without reason.
"""

import mujoco
import numpy as np
import pytest
from support.closed_loop import mid

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import Mode
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.cycle.verdicts import COUNTED, Verdict
from robot_dynamics_ros.control.reference.goal import Reason
from robot_dynamics_ros.control.reference.planning import plan_motion

PERIOD = 0.002


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("six_axis")


def moved_by_mujoco(arm, controller, seconds, told):
    """Largest speed, as a share of the limit, while MuJoCo moves the arm; ``told(q, v)`` is what
    the controller is told.
    """
    engine = mujoco.MjModel.from_xml_path(str(rd.robot_path("six_axis")))
    engine.opt.timestep = PERIOD / 4
    data = mujoco.MjData(engine)
    data.qpos[:] = mid(arm)
    controller.activate(0, *told(data.qpos.copy(), data.qvel.copy()))
    goal = mid(arm) + 0.4
    controller.accept_trajectory(rd.plan_move(arm, mid(arm), goal, duration=1.5), 0)
    fastest = 0.0
    for k in range(1, round(seconds / PERIOD)):
        data.qfrc_applied[:] = controller.update(
            round(k * PERIOD * 1e9), *told(data.qpos.copy(), data.qvel.copy())
        )
        if controller.fault:
            break
        for _ in range(4):
            mujoco.mj_step(engine, data)
        fastest = max(fastest, float((np.abs(data.qvel) / arm.velocity_limit).max()))
    return fastest


@pytest.mark.parametrize("joint", range(6))
def test_a_reversed_velocity_is_a_fault_before_the_arm_runs_away(arm, joint):
    signs = np.ones(6)
    signs[joint] = -1.0
    controller = rd.JointController(arm)
    fastest = moved_by_mujoco(arm, controller, 2.0, lambda q, v: (q, signs * v))
    assert fastest < 1.5
    # the wrist's friction holds it: nothing to see, and nothing runs away
    if joint < 3:
        assert controller.mode is Mode.SAFE
        assert controller.counts["velocity_sign"] or controller.counts["overspeed"]
        assert arm.joint_names[joint] in controller.fault


def test_noise_filters_and_coarse_positions_are_no_fault(arm):
    rng = np.random.default_rng(0)
    filtered = np.zeros(6)

    def told(q, v):
        nonlocal filtered
        # some 18 Hz
        filtered = filtered + 0.2 * (v - filtered)
        return np.round(q / 1e-3) * 1e-3, filtered + 0.05 * rng.normal(size=6)

    controller = rd.JointController(arm)
    moved_by_mujoco(arm, controller, 2.5, told)
    assert not controller.fault
    assert controller.mode is Mode.HOLD


def test_a_joint_far_above_its_limit_is_a_fault_and_one_wrong_number_is_not(arm):
    controller = rd.JointController(arm)
    q = mid(arm)
    v = np.zeros(6)
    controller.activate(0, q, v)
    wild = v.copy()
    wild[2] = 3.0 * arm.velocity_limit[2]
    controller.update(2_000_000, q, wild)
    controller.update(4_000_000, q, v)
    assert not controller.fault
    for k in range(3, 8):
        q = q + wild * PERIOD
        controller.update(k * 2_000_000, q, wild)
    assert "velocity limit" in controller.fault and arm.joint_names[2] in controller.fault
    assert controller.mode is Mode.SAFE


@pytest.mark.parametrize("period", [0.02, 0.04, 0.08, 0.095])
def test_states_that_become_rare_in_the_middle_of_a_motion_do_not_make_the_arm_swing(arm, period):
    """From 500 Hz down to some 10 Hz: the gains of the default law fall with the first late
    state.
    """
    engine = mujoco.MjModel.from_xml_path(str(rd.robot_path("six_axis")))
    engine.opt.timestep = 0.0005
    data = mujoco.MjData(engine)
    data.qpos[:] = mid(arm)
    controller = rd.JointController(arm)
    controller.activate(0, mid(arm), np.zeros(6))
    plan = rd.plan_move(arm, mid(arm), mid(arm) + 0.4, duration=2.0)
    controller.accept_trajectory(plan, 0)
    t = 0.0
    fastest = 0.0
    while t < 4.0:
        step = PERIOD if t < 1.0 else period
        t += step
        for _ in range(round(step / engine.opt.timestep)):
            mujoco.mj_step(engine, data)
            fastest = max(fastest, float((np.abs(data.qvel) / arm.velocity_limit).max()))
        data.qfrc_applied[:] = controller.update(round(t * 1e9), data.qpos.copy(), data.qvel.copy())
    # the plan itself needs less than 0.2
    assert fastest < 0.5
    assert not controller.fault


@pytest.mark.parametrize("cycles", [5, 10])
def test_states_that_are_repeated_with_new_stamps_are_no_dead_encoders(arm, cycles):
    """A driver that reads its encoders at 100 or 50 Hz and publishes at 500 Hz; from 42 Hz on down
    the arm swings.
    """
    count = 0
    last = None

    def told(q, v):
        nonlocal count, last
        if count % cycles == 0:
            last = q, v
        count += 1
        return last

    controller = rd.JointController(arm)
    moved_by_mujoco(arm, controller, 2.5, told)
    assert not controller.fault


def read(q, digit):
    """What encoders with a digit, rad, say of positions; all of it with none."""
    return np.round(q / digit) * digit if digit else q.copy()


def controlled(plant, control, t, count, digit, told):
    """Control a plant for some cycles by encoders with a digit, which at first say ``told``; its
    velocity after each.
    """
    for _ in range(count):
        plant.step(control.update(t, told, plant.v))
        t += round(1e9 * plant.dt)
        told = read(plant.q, digit)
        yield plant.v


@pytest.mark.parametrize("quantum", [0.0, 4e-4])
def test_a_joint_that_sticks_is_no_dead_encoder(quantum):
    """Unmentioned friction of 0.12 of the effort limits, in a simulation in which a stuck joint
    does not move in any digit.
    """
    arm = rd.load_robot("six_axis")
    friction = dict(zip(arm.joint_names, 0.12 * arm.effort_limit, strict=True))
    plant = rd.Plant(
        arm.replace(description=arm.description.with_joints(friction=friction)), dt=2e-3
    )
    control = rd.JointController(arm)
    start = mid(arm)
    plant.reset(start)
    t = 1_000_000_000
    stuck = 0
    control.activate(t - 1, start, np.zeros(6))
    told = start
    # friction has to be overcome both ways
    for goal in (start + 0.3, start, start + 0.3):
        control.accept_trajectory(rd.plan_move(arm, told, goal, duration=1.5), t)
        stuck += sum(
            int((v == 0.0).sum()) for v in controlled(plant, control, t, 1000, quantum, told)
        )
        t += 2_000_000_000
        told = read(plant.q, quantum)
    assert not control.fault
    assert stuck > 1000
    assert np.abs(plant.q - goal).max() < 0.01


@pytest.mark.parametrize("seed", [0, 1])
def test_a_joint_that_moves_within_one_digit_of_a_coarse_encoder_is_no_dead_encoder(seed):
    """2048 counts a turn, 250 Hz, unmentioned friction of 0.02 of the effort limits, as fast as the
    limits allow.
    """
    arm = rd.load_robot("six_axis")
    digit = 2.0 * np.pi / 2048
    friction = dict(zip(arm.joint_names, 0.02 * arm.effort_limit, strict=True))
    plant = rd.Plant(
        arm.replace(description=arm.description.with_joints(friction=friction)), dt=4e-3
    )
    motion = plan_motion(arm, arm.initial_configuration(), seed=seed)
    control = rd.JointController(arm)
    plant.reset(motion.waypoints[0])
    t = 1_000_000_000
    told = read(plant.q, digit)
    control.activate(t - 1, told, plant.v)
    control.accept_trajectory(motion.trajectory(), t)
    for _ in controlled(plant, control, t, 1000, digit, told):
        pass
    assert not control.fault
    assert not control.counts.get("unmoved_joint", 0)


@pytest.mark.parametrize("bits", [10, 11, 12])
def test_a_slow_joint_with_a_coarse_encoder_has_no_wrong_unit(arm, bits):
    """At 1 kHz a joint moves a digit in some states alone, and in each state way and velocity
    differ as degrees do.
    """
    digit = 2.0 * np.pi / 2**bits
    plant = rd.Plant(arm, dt=1e-3)
    control = rd.JointController(arm)
    start = mid(arm)
    plant.reset(start)
    t = 1_000_000_000
    told = read(start, digit)
    control.activate(t - 1, told, np.zeros(6))
    control.accept_trajectory(rd.plan_move(arm, told, told + 0.25, duration=4.0), t)
    for _ in controlled(plant, control, t, 4500, digit, told):
        pass
    assert not control.fault, control.fault


def test_a_motion_beyond_the_efforts_is_named_beside_a_wrong_driver():
    """The path leads the first joint faster than its effort can, and meanwhile the second leaves
    its reference as exp(40 t).
    """
    arm = rd.load_robot("two_link")
    control = rd.JointController(arm)
    start = np.array([0.3, 0.5])
    v = np.zeros(2)
    control.activate(0, start, v)
    goal = start + np.array([1.5, 0.0])
    way = rd.Trajectory.from_waypoints(arm.joint_names, [0.6], [goal], [v], [v])
    control.accept_trajectory(way, 0)
    for k in range(1, 300):
        t = k * PERIOD
        away = 1e-3 * np.exp(40.0 * (t - 0.3))
        q = start + np.array([0.1 * t * t, away])
        v = np.array([0.2 * t, 40.0 * away])
        control.update(round(t * 1e9), q, v)
        if control.fault:
            break
    assert (
        "runs away" in control.fault
        and "the motion needs more effort than the limits allow" in control.fault
    )


def touched_wrist(inertia, cycles):
    """A controller and the speed of its joint after so many cycles of 2 ms: efforts three periods
    late, a touch, and less than a twentieth of the inertia that is assumed.
    """
    late = 3
    arm = rd.load_urdf(f"""<robot name="wrist"><link name="base"/><link name="tip"><inertial>
    <mass value="0.1"/>
        <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>
        </inertial></link>
        <joint name="wrist" type="revolute"><parent link="base"/><child link="tip"/>
        <axis xyz="0 0 1"/>
        <limit lower="-3" upper="3" velocity="3" effort="40"/></joint></robot>""")
    control = rd.JointController(arm)
    q = np.zeros(1)
    v = np.zeros(1)
    control.activate(0, q, v)
    efforts = [0.0] * late
    for k in range(1, cycles):
        efforts.append(control.update(round(k * PERIOD * 1e9), q, v)[0])
        if control.fault:
            break
        v = v + (0.02 if k == 100 else 0.0)
        for _ in range(4):
            v = v + efforts[-1 - late] / inertia * PERIOD / 4
            q = q + v * PERIOD / 4
    return control, abs(v[0])


def test_a_joint_without_the_rotor_that_is_assumed_is_named_beside_a_wrong_driver():
    control, _ = touched_wrist(1e-4, 200)
    assert "runs away" in control.fault
    assert "or it has no rotor: robustness.rotor_share assumes" in control.fault


def test_a_joint_without_the_rotor_that_is_assumed_comes_to_rest_if_it_obeys():
    control, speed = touched_wrist(3e-4, 2000)
    assert not control.fault
    assert control.counts["braked"] >= 1
    assert speed < 0.02


def test_faults_are_numbered_like_their_reasons():
    pairs = (
        "EFFORT_NOT_FINITE FAULT",
        "CONTRADICTED VELOCITY_SIGN",
        "TOO_FAST OVERSPEED",
        "RUNAWAY RUNAWAY",
    )
    pairs += ("ELSEWHERE BEYOND_RANGE", "LOST LOST", "FROZEN FROZEN", "CLOCKS CLOCKS")
    for verdict, reason in map(str.split, pairs):
        assert Verdict[verdict] - Verdict.FAULTS == Reason[reason] - Reason.FAULT
    assert len(pairs) == len(Reason) - Reason.FAULT == max(COUNTED) - Verdict.FAULTS + 1


def test_answers_alone_are_judged_and_limited_without_estimates(arm):
    """Whoever needs no wrenches calls ``answer`` alone: the guards are the same."""
    guards = GuardSettings(effort_rate=50.0)
    alone, whole = (rd.JointController(arm, guards=guards) for _ in range(2))
    q = mid(arm)
    still = np.zeros(arm.nv)
    for controller in (alone, whole):
        controller.activate(0, q, still)
    cycle = 2_000_000
    states = [q, q + 1e-4, q + 2e-4, q + 1.0]
    for k, position in enumerate(states, 1):
        alone.runner.set_state(k * cycle, position, still, None)
        alone.runner.answer()
        whole.update(k * cycle, position, still)
        assert np.array_equal(alone.command, whole.command)
    assert alone.counts["state_jump"] == whole.counts["state_jump"] == 1
    assert not alone.current
