"""The controller as a node would drive it: holding, tracking, replacing, tolerances, changes on the
fly.
"""

import re

import numpy as np
import pytest
from support.closed_loop import mid, sampled

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.trajectory import nanoseconds

START = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("seven_axis")


def s(seconds):
    return START + nanoseconds(seconds)


def controller(arm, law=None, **options):
    return rd.JointController(
        arm, law or rd.ComputedTorque(kp=400.0, kd=40.0), options=rd.ControllerOptions(**options)
    )


def driver(control):
    def step(t, q, v):
        if control.mode is rd.Mode.INACTIVE:
            control.activate(t, q, v)
        return control.update(t, q, v)

    return step


def waypoints(arm, *rows, times=None, stamp=0, names=None, **fields):
    return rd.Trajectory.from_waypoints(
        names or arm.joint_names,
        times or np.arange(1, len(rows) + 1) * 0.5,
        rows,
        stamp=stamp,
        **fields,
    )


def test_it_starts_by_holding_where_the_arm_is(arm):
    control = controller(arm)
    q0 = mid(arm) + 0.1
    for now in sampled(arm, driver(control), q0, np.zeros(7), 300):
        t, q, _, tau = now
        if t == START:
            np.testing.assert_allclose(tau, rd.gravity_forces(arm, q0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(q, q0, atol=1e-12)
    assert control.mode is rd.Mode.HOLD
    assert not control.counts


def test_started_while_moving_it_brakes_within_limits_without_a_jump(arm):
    control = controller(arm)
    v0 = np.linspace(-0.5, 0.5, 7)
    accelerations = []
    for now in sampled(arm, driver(control), mid(arm), v0, 1000):
        _t, q, v, _ = now
        accelerations.append(control.reference[2].copy())
        # two periods' worth
        assert (np.abs(control.error[1]) <= control.memory["deceleration"] * 2e-3).all()
    assert (np.abs(accelerations) <= control.memory["deceleration"] * (1 + 1e-9)).all()
    np.testing.assert_allclose(v, 0.0, atol=1e-6)
    np.testing.assert_allclose(
        q, mid(arm) + 0.75 * v0 * np.abs(v0) / control.memory["deceleration"], atol=1e-4
    )


def test_a_trajectory_is_tracked_and_its_goal_succeeds(arm):
    control = controller(arm)
    q0 = mid(arm)
    goal = None
    for now in sampled(arm, driver(control), q0, np.zeros(7), 2500):
        t, q, _v, _ = now
        if t == s(0.05):
            goal = control.accept_trajectory(
                rd.plan_move(arm, q0, q0 + 0.4),
                t,
                rd.Tolerances.uniform(7, path=0.01, goal=1e-3, goal_time=1.0),
            )
        if goal is not None and goal.status is rd.GoalStatus.ACTIVE:
            assert control.mode is rd.Mode.TRAJECTORY
            assert np.abs(control.error[0]).max() < 1e-3
    assert goal.status is rd.GoalStatus.SUCCEEDED
    assert control.goal is None and control.mode is rd.Mode.HOLD
    np.testing.assert_allclose(q, q0 + 0.4, atol=1e-6)


def test_efforts_and_wrenches_agree_and_belong_to_the_state(arm):
    control = controller(arm)
    q0 = mid(arm)
    for now in sampled(arm, driver(control), q0, np.zeros(7), 400):
        t, q, v, tau = now
        if t == START:
            control.accept_trajectory(rd.plan_move(arm, q0, q0 - 0.3), t)
    a = rd.forward_dynamics(arm, q, v, tau)
    np.testing.assert_allclose(control.wrenches, rd.joint_wrenches(arm, q, v, a), atol=1e-9)
    axes = [arm.joint(name).axis for name in arm.joint_names]
    np.testing.assert_allclose(
        [w[:3] @ n for w, n in zip(control.wrenches, axes, strict=True)], tau, atol=1e-9
    )


@pytest.mark.parametrize(
    "law",
    [
        rd.ComputedTorque(kp=80.0, kd=15.0),
        rd.JointImpedance(stiffness=30.0),
        rd.PDGravity(kp=50.0, kd=5.0),
        rd.CartesianImpedance(link="flange"),
        rd.GravityCompensation(damping=1.0),
    ],
    ids=lambda law: type(law).__name__,
)
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_wrenches_are_those_of_the_commanded_effort_away_from_the_reference(arm, law, backend):
    model = arm if backend == "native" else arm.with_backend("numpy")
    control = rd.JointController(model, law, options=rd.ControllerOptions(blend_time=0.0))
    q0 = mid(arm)
    control.activate(0, q0, np.zeros(7))
    rng = np.random.default_rng(7)
    for k in range(1, 5):
        q = q0 + 0.02 * rng.normal(size=7)
        v = 0.2 * rng.normal(size=7)
        control.update(k * 1_000_000, q, v)
        a = rd.forward_dynamics(arm, q, v, control.effort)
        np.testing.assert_allclose(control.wrenches, rd.joint_wrenches(arm, q, v, a), atol=1e-8)


@pytest.mark.parametrize("source", ["commanded", "reference", "measured_effort", "differentiated"])
def test_every_source_of_the_wrench_acceleration_is_right_in_steady_tracking(arm, source):
    q0 = mid(arm)
    inertia = np.diag(rd.mass_matrix(arm, q0))
    control = controller(
        arm, rd.FeedforwardPD(kp=100.0 * inertia, kd=20.0 * inertia), wrench_acceleration=source
    )
    control.activate(START, q0, np.zeros(7))
    control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.3, duration=2.0), START)

    def step(t, q, v):
        return control.update(t, q, v, control.effort.copy())

    worst = 0.0
    for now in sampled(arm, step, q0, np.zeros(7), 1500):
        t, q, v, tau = now
        true = rd.joint_wrenches(arm, q, v, rd.forward_dynamics(arm, q, v, tau))
        if t > s(0.1):
            worst = max(worst, np.abs(control.wrenches - true).max())
    assert (
        worst
        < {"commanded": 1e-9, "reference": 0.05, "measured_effort": 0.05, "differentiated": 0.3}[
            source
        ]
    )


def test_replacement_while_moving_leaves_no_step_in_the_effort(arm):
    control = controller(arm)
    q0 = mid(arm)
    rest = np.zeros(7)
    efforts = []
    for now in sampled(arm, driver(control), q0, np.zeros(7), 1500):
        t, _q, _v, tau = now
        efforts.append(tau)
        if t == START:
            control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.5, duration=1.0), t)
        if t == s(0.4):
            first = control.goal
            control.accept_trajectory(
                waypoints(arm, q0 - 0.2, times=[0.9], velocities=[rest], accelerations=[rest]), t
            )
            assert first.status is rd.GoalStatus.PREEMPTED
    steps = np.abs(np.diff(efforts[1:], axis=0)).max(axis=0)
    assert (steps < 0.02 * np.ptp(efforts, axis=0) + 0.05).all()
    np.testing.assert_allclose(control.reference[0], q0 - 0.2, atol=1e-12)


def test_a_future_trajectory_waits_and_the_old_one_goes_on(arm):
    control = controller(arm)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    old = control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.2, duration=1.0), START)
    new = control.accept_trajectory(waypoints(arm, q0, times=[1.0], stamp=s(0.6)), s(0.1))
    for t, *_ in sampled(arm, control.update, q0, np.zeros(7), 2000):
        if t < s(0.6):
            assert (old.status, new.status) == (rd.GoalStatus.ACTIVE, rd.GoalStatus.WAITING)
    assert (old.status, new.status) == (rd.GoalStatus.PREEMPTED, rd.GoalStatus.SUCCEEDED)


def test_a_rejected_trajectory_changes_nothing(arm):
    control = controller(arm)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    goal = control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.2), START)
    for bad, text in (
        (waypoints(arm, q0, stamp=5), "ago"),
        (waypoints(arm, [0.0], names=["joint1"]), "missing"),
        (
            waypoints(arm, [0.0] * 7, names=[*arm.joint_names[:6], "jointX"]),
            "none of the controller's",
        ),
        (waypoints(arm, q0 + 9), "limits are"),
        (
            waypoints(arm, q0, velocities=[np.ones(7)], allow_nonzero_end_velocity=True),
            "still moves",
        ),
    ):
        with pytest.raises(rd.TrajectoryRejected, match=text):
            control.accept_trajectory(bad, s(0.01))
        assert control.goal is goal and goal.status is rd.GoalStatus.ACTIVE


def test_an_empty_trajectory_means_hold(arm):
    control = controller(arm, state_timeout=9.0)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    moving = control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.5), START)
    control.update(s(0.1), q0, np.zeros(7))
    done = control.accept_trajectory(rd.Trajectory.from_points(arm.joint_names, []), s(0.1))
    assert moving.status is rd.GoalStatus.CANCELED and done.status is rd.GoalStatus.SUCCEEDED
    before = control.reference[:2].copy()
    control.update(s(0.1) + 1, q0, np.zeros(7))
    # decelerates, no jump
    np.testing.assert_allclose(control.reference[:2], before, atol=1e-6)
    control.update(s(1.0), q0, np.zeros(7))
    assert not control.reference[1].any()


def test_a_partial_trajectory_needs_permission(arm):
    control = controller(arm, allow_partial_joints_goal=True)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    control.accept_trajectory(waypoints(arm, [q0[2] + 0.1], names=["joint3"]), START)
    control.update(s(0.09), q0, np.zeros(7))
    np.testing.assert_allclose(control.reference[0] - q0, [0, 0, 0.018, 0, 0, 0, 0], atol=1e-12)


def test_path_tolerance_aborts_and_holds_where_the_arm_is(arm):
    control = controller(arm)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    goal = control.accept_trajectory(
        rd.plan_move(arm, q0, q0 + 0.5), START, rd.Tolerances.uniform(7, path=0.05)
    )
    # the arm is stuck
    for k in range(1, 300):
        control.update(START + k * MS, q0, np.zeros(7))
        if goal.status.done:
            break
    assert goal.status is rd.GoalStatus.ABORTED
    assert goal.code is rd.ResultCode.PATH_TOLERANCE_VIOLATED
    assert re.search(
        r": position error of joint '\w+' is 0\.\d+ rad, tolerance 0\.05 rad$", goal.text
    )
    np.testing.assert_allclose(control.reference[0], q0)
    assert control.counts["tolerance_violated"] == 1


def test_goal_time_aborts_a_goal_that_is_not_reached(arm):
    control = controller(arm)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    goal = control.accept_trajectory(
        rd.plan_move(arm, q0, q0 + 0.1, duration=0.5),
        START,
        rd.Tolerances.uniform(7, goal=0.01, goal_time=0.25),
    )
    for k in range(1, 1000):
        control.update(START + k * MS, q0, np.zeros(7))
        if goal.status.done:
            break
    assert goal.code is rd.ResultCode.GOAL_TOLERANCE_VIOLATED
    assert s(0.75) < START + k * MS <= s(0.752)


def test_hold_stops_within_the_deceleration_limits(arm):
    control = controller(arm)
    q0 = mid(arm)
    goal = None
    speeds = []
    for now in sampled(arm, driver(control), q0, np.zeros(7), 900):
        t, _, v, _ = now
        if t == START:
            goal = control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.6), t)
        if t == s(0.3):
            control.hold(t)
        speeds.append(control.reference[1].copy())
    assert goal.status is rd.GoalStatus.CANCELED
    assert (
        np.abs(np.diff(speeds[301:], axis=0)) <= control.memory["deceleration"] * 1.001e-3 + 1e-9
    ).all()
    np.testing.assert_allclose(v, 0.0, atol=1e-4)


def test_streamed_points_are_followed_and_their_end_is_a_stop(arm):
    control = controller(arm, stream_timeout=0.05)
    q0 = mid(arm)
    w = 2.0
    for now in sampled(arm, driver(control), q0, np.zeros(7), 3000):
        t, q, v, _ = now
        x = (t - START) * 1e-9
        if (t - START) % (10 * MS) == 0 and x < 1.5:
            point = rd.TrajectoryPoint(
                0,
                q0 + 0.1 * (1 - np.cos(w * x)),
                np.full(7, 0.1 * w * np.sin(w * x)),
                np.full(7, 0.1 * w * w * np.cos(w * x)),
            )
            control.accept_point(arm.joint_names, point, t)
            assert control.mode is rd.Mode.STREAM
        if 0.2 < x < 1.5:
            assert np.abs(q - q0 - 0.1 * (1 - np.cos(w * x))).max() < 2e-3
    assert control.mode is rd.Mode.HOLD
    np.testing.assert_allclose(v, 0.0, atol=1e-6)
    with pytest.raises(rd.TrajectoryRejected, match="jump"):
        control.accept_point(arm.joint_names, rd.TrajectoryPoint(0, q + 0.5), t)


def test_joints_that_are_not_commanded_get_no_effort_and_cost_no_error(arm):
    control = controller(arm, joints=arm.joint_names[:5])
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    command = control.update(START, q0, np.zeros(7))
    assert not command[5:].any() and command[1] != 0.0
    drifted = q0 + np.array([0, 0, 0, 0, 0, 0.3, -0.2])
    control.update(START + MS, drifted, np.zeros(7))
    np.testing.assert_array_equal(control.error[:, 5:], 0.0)
    with pytest.raises(rd.UnknownNameError, match="joint99"):
        controller(arm, joints=("joint99",))
    with pytest.raises(rd.ArgumentError, match="each joint once"):
        controller(arm, joints=("joint1", "joint1"))


def test_gravity_compensated_by_the_robot_takes_off_exactly_g(arm):
    ours = controller(arm)
    theirs = controller(arm, gravity_compensated_by="robot", safe_command="gravity")
    q = mid(arm) + 0.2
    v = np.full(7, 0.1)
    for c in (ours, theirs):
        c.activate(START, q, v)
        c.update(START, q, v)
        c.update(START + MS, q + 1e-4, v)
    np.testing.assert_array_equal(theirs.effort, ours.command)
    np.testing.assert_array_equal(theirs.command, ours.command - rd.gravity_forces(arm, q + 1e-4))
    np.testing.assert_allclose(theirs.safe_command(), 0.0)
    theirs.set_payload(rd.Payload("flange", 2.0))
    theirs.update(START + 2 * MS, q, v)
    np.testing.assert_array_equal(theirs.command, theirs.effort - rd.gravity_forces(arm, q))


def test_trajectory_efforts_are_added_on_request_only(arm):
    q0 = mid(arm)
    push = np.arange(1.0, 8.0) * 0.1
    for mode in ("ignore", "add"):
        control = controller(arm, trajectory_effort=mode, state_timeout=9.0)
        control.activate(START, q0, np.zeros(7))
        control.accept_trajectory(waypoints(arm, q0, effort=[push]), START)
        command = control.update(s(0.25), q0, np.zeros(7)).copy()
        extra = 0.5 * push if mode == "add" else 0.0
        np.testing.assert_allclose(command, rd.gravity_forces(arm, q0) + extra, atol=1e-9)


def test_offline_use_as_a_plain_callable(arm):
    control = controller(arm)
    q = mid(arm)
    v = np.zeros(7)
    for k in range(50):
        v = v + 1e-3 * rd.forward_dynamics(arm, q, v, control.control(k * 1e-3, q, v))
        q = q + 1e-3 * v
    np.testing.assert_allclose(q, mid(arm), atol=1e-9)


def test_a_state_of_the_wrong_size_cannot_activate(arm):
    control = controller(arm)
    for q in (np.zeros(6), np.full(7, np.nan), "abc"):
        with pytest.raises(rd.ArgumentError, match="q: expected 7"):
            control.activate(START, q, np.zeros(7))
    assert control.mode is rd.Mode.INACTIVE
    with pytest.raises(rd.TrajectoryRejected, match="inactive"):
        control.accept_trajectory(waypoints(arm, mid(arm)), START)


@pytest.mark.parametrize(
    "bad",
    [
        {"safe_command": "freeze"},
        {"gravity_compensated_by": "nobody"},
        {"state_timeout": 0.0},
        {"blend_time": -1.0},
        {"max_step": np.nan},
        {"wrench_acceleration": "magic"},
    ],
)
def test_nonsense_options_are_refused(bad):
    with pytest.raises(rd.ArgumentError, match=next(iter(bad))):
        rd.ControllerOptions(**bad)
