"""Changes between two cycles: law, gains, payload, known wrenches; the effort never steps, all can
be undone.
"""

import dataclasses
import gc
import threading
import time
from functools import partial

import numpy as np
import pytest
from support.closed_loop import mid, sampled

import robot_dynamics_ros as rd

START = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("seven_axis")


def make(arm, law=None, **options):
    return rd.JointController(
        arm, law or rd.ComputedTorque(kp=400.0, kd=40.0), options=rd.ControllerOptions(**options)
    )


def run(control, arm, events, steps=1100, offset=0.05, external=None):
    """Efforts of a run that starts with a move, with ``events`` at step numbers."""
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.3, duration=0.8), START)
    efforts = []
    cycles = sampled(arm, control.update, q0 + offset, np.zeros(7), steps, external=external)
    for k, now in enumerate(cycles):
        t, q, v, tau = now
        efforts.append(tau)
        if k in events:
            events[k](t)
    return np.array(efforts), q, v


LAWS = {
    "pd_gravity": rd.PDGravity(kp=60.0, kd=(3, 3, 3, 3, 0.3, 0.3, 0.03)),
    "gravity_compensation": rd.GravityCompensation(damping=0.5),
    "feedforward_pd": rd.FeedforwardPD(kp=60.0, kd=(3, 3, 3, 3, 0.3, 0.3, 0.03)),
    "joint_impedance": rd.JointImpedance(stiffness=30.0),
    "cartesian_impedance": rd.CartesianImpedance(link="flange"),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_switched_without_a_step_in_the_effort(arm, name):
    """Switched under way and out of the reference's way, the change at the switch is no larger than
    a usual one.
    """
    control = make(arm)
    efforts, *_ = run(
        control,
        arm,
        {
            200: lambda t: control.set_law(LAWS[name]),
            700: lambda t: control.set_law(rd.ComputedTorque(kp=400.0, kd=40.0)),
        },
    )
    steps = np.abs(np.diff(efforts, axis=0))
    usual = np.abs(np.diff(efforts[50:200], axis=0)).max(axis=0)
    for k in (200, 700):
        # the first effort of the new law
        assert (steps[k] <= 2 * usual + 0.02).all()
        # the arm is caught, but not with a blow
        assert (steps[k + 1 : k + 20] <= 0.03 * arm.effort_limit).all()
    assert not control.counts

    abrupt = make(arm, blend_time=0.0)
    efforts, *_ = run(abrupt, arm, {60: lambda t: abrupt.set_law(LAWS[name])}, steps=70)
    # there is something to blend
    assert np.abs(efforts[61] - efforts[60]).max() > 0.5


def test_gains_change_without_a_step_and_nonsense_changes_nothing(arm):
    control = make(arm, rd.ComputedTorque(kp=400.0, kd=40.0, ki=100.0))
    efforts, *_ = run(
        control, arm, {60: lambda t: control.set_gains(kp={"joint2": 100.0}, ki=50.0)}
    )
    assert control.law.kp.tolist() == [400, 100, 400, 400, 400, 400, 400]
    assert np.abs(efforts[61] - efforts[60]).max() < 0.5
    law = control.law
    for bad in (
        {"kp": -1.0},
        {"kp": [1.0, 2.0]},
        {"kd": np.nan},
        {"kx": 1.0},
        {"kp": {"elbow": 1.0}},
    ):
        with pytest.raises(rd.RobotDynamicsError):
            control.set_gains(**bad)
        assert control.law is law


def test_the_bandwidth_changes_without_a_step_in_the_effort(arm):
    control = rd.JointController(arm, options=rd.ControllerOptions(blend_time=0.2))
    lower = dataclasses.replace(control.options.robustness, bandwidth=20.0)
    efforts, q, _ = run(
        control, arm, {200: lambda t: control.set_robustness(lower)}, steps=1600, offset=0.0
    )
    steps = np.abs(np.diff(efforts, axis=0))
    assert (steps[200] <= 2 * steps[150:200].max(axis=0) + 0.02).all()
    # no joint is stiffer, with the rotor that is assumed, and some are as stiff
    stiffest = np.sqrt(
        control.memory["stiffness"]
        / (np.diagonal(control.memory["inertia"]) + control.memory["assumed_rotor"])
    )
    assert stiffest.max() == pytest.approx(20.0)
    assert control.feedback_frequency[0] <= 20.0
    assert control.options.robustness is lower
    np.testing.assert_allclose(q, mid(arm) + 0.3, atol=5e-3)

    exact = make(arm)
    with pytest.raises(rd.ArgumentError, match="made without robustness"):
        exact.set_robustness(lower)


def test_a_change_of_the_integral_gain_keeps_what_it_holds(arm):
    control = make(arm, rd.ComputedTorque(kp=400.0, kd=40.0, ki=200.0), blend_time=0.0)
    efforts, *_ = run(control, arm, {950: lambda t: control.set_gains(ki=50.0)}, offset=0.0)
    np.testing.assert_allclose(efforts[951], efforts[950], atol=1e-3)


def test_from_hand_guiding_the_arm_holds_where_it_was_left(arm):
    control = make(arm, rd.GravityCompensation(damping=1.0))
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    assert control.mode is rd.Mode.FREE
    with pytest.raises(rd.TrajectoryRejected, match="follows no reference"):
        control.accept_trajectory(rd.plan_move(arm, q0, q0 + 0.1), START)
    push = {"flange": np.array([0, 0, 0, 3.0, 0, 0])}
    *_, (_t, q, _v, _) = sampled(arm, control.update, q0, np.zeros(7), 300, external=push)
    assert np.abs(q - q0).max() > 0.01
    control.set_law(rd.ComputedTorque(kp=400.0, kd=40.0))
    left = q.copy()
    *_, (_t, q, v, _) = sampled(arm, control.update, q, np.zeros(7), 600, start=START + 300 * MS)
    assert control.mode is rd.Mode.HOLD
    np.testing.assert_allclose(q, left, atol=0.02)
    np.testing.assert_allclose(v, 0.0, atol=1e-3)


def test_a_payload_is_carried_and_clearing_it_restores_the_same_bits(arm):
    control = make(arm, blend_time=0.0)
    q = mid(arm) + 0.1
    v = np.full(7, 0.2)
    control.activate(START, q, v)
    before = control.update(START, q, v).copy()
    control.set_payload(rd.Payload("flange", 2.0, np.array([0.0, 0.0, 0.1])))
    loaded = control.update(START + 1, q, v).copy()
    model = rd.carrying(arm, rd.Payload("flange", 2.0, np.array([0.0, 0.0, 0.1])))
    a = control.reference[2] + 400.0 * control.error[0] + 40.0 * control.error[1]
    np.testing.assert_allclose(loaded, rd.inverse_dynamics(model, q, v, a), rtol=1e-9, atol=1e-9)
    assert np.abs(loaded - before).max() > 1.0
    with pytest.raises(rd.UnknownNameError):
        control.set_payload(rd.Payload("hand", 1.0))
    assert control.payload.mass == 2.0
    control.set_payload(None)
    control.activate(START, q, v)
    np.testing.assert_array_equal(control.update(START, q, v), before)


@pytest.mark.parametrize("period", [10, 20, 100])
def test_a_payload_that_changes_all_the_time_does_not_step_the_effort(period):
    """Every ``period`` cycles of 1 ms another one, each far from what the arm carries."""
    model = rd.load_robot("two_link")
    plant = rd.Plant(model, dt=1e-3, q0=[0.4, 0.3])
    control = rd.JointController(model)
    control.activate(START, plant.q, plant.v)
    loads = [rd.Payload("tip", 4.0), None]
    weight = rd.gravity_forces(rd.carrying(model, loads[0]), plant.q)
    changed_by = np.abs(weight - rd.gravity_forces(model, plant.q)).max()
    before = None
    for k in range(1500):
        if k >= 500 and k % period == 0:
            control.set_payload(loads[k // period % 2])
        effort = control.update(START + k * MS, plant.q, plant.v)
        # the first pulse is over
        if k >= 400:
            assert np.abs(effort - before).max() < 0.03 * changed_by
        before = effort.copy()
        plant.step(effort)


def test_a_payload_can_be_prepared_while_the_cycle_goes_on(arm):
    control = make(arm)
    q = mid(arm)
    v = np.zeros(7)
    control.activate(START, q, v)
    control.set_payload(rd.Payload("flange", 1.7), background=True)
    # the newest request counts
    control.set_payload(rd.Payload("flange", 2.7), background=True)
    deadline = time.monotonic() + 60.0
    t = START
    while control.payload is None and time.monotonic() < deadline:
        t += MS
        control.update(t, q, v)
        time.sleep(0.001)
    assert control.payload.mass == 2.7
    for _ in range(300):
        t += MS
        control.update(t, q, v)
    np.testing.assert_allclose(
        control.command,
        rd.gravity_forces(rd.carrying(arm, rd.Payload("flange", 2.7)), q),
        rtol=1e-9,
        atol=1e-9,
    )
    with pytest.raises(rd.UnknownNameError):
        control.set_payload(rd.Payload("hand", 1.0), background=True)
    control.set_payload(rd.Payload("flange", 1.7), background=True)
    control.set_payload(None)
    for thread in threading.enumerate():
        if thread.name == "payload":
            thread.join(60.0)
    control.update(t + MS, q, v)
    assert control.payload is None


@pytest.mark.parametrize("how", ["hold", "deactivate", "stale"])
def test_a_trajectory_that_is_being_prepared_while_the_arm_is_stopped_is_refused(arm, how):
    """Somebody has stopped the arm: what was sent before must not move it a second later."""
    control = make(arm)
    told = []
    q = mid(arm)
    v = np.zeros(7)
    control.activate(START, q, v)
    control.update(START, q, v)
    under_way = threading.Event()
    control.changes.prepare(
        "something that takes long", lambda: under_way.wait(60.0) and (lambda: None)
    )
    control.accept_trajectory_later(
        lambda: rd.plan_move(arm, q, q + 0.3), lambda outcome, _: told.append(outcome)
    )
    t = START + MS
    if how == "hold":
        control.hold(t)
    elif how == "deactivate":
        control.deactivate()
        control.activate(t, q, v)
    else:
        t += 200 * MS
        assert control.watch(t) is not None
    under_way.set()
    deadline = time.monotonic() + 60.0
    while not told and time.monotonic() < deadline:
        t += MS
        control.update(t, q, v)
        time.sleep(0.001)
    assert isinstance(told[0], rd.TrajectoryRejected) and "stopped while" in str(told[0])
    for _ in range(300):
        t += MS
        control.update(t, q, v)
    np.testing.assert_allclose(control.reference[0], q)
    assert control.mode is rd.Mode.HOLD
    control.accept_trajectory_later(
        lambda: rd.plan_move(arm, q, q + 0.3), lambda outcome, _: told.append(outcome)
    )
    while len(told) < 2 and time.monotonic() < deadline:
        t += MS
        control.update(t, q, v)
        time.sleep(0.001)
    # one that is sent afterwards is followed
    assert control.mode is rd.Mode.TRAJECTORY


def test_picking_up_and_putting_down_a_known_load_does_not_disturb_the_arm(arm):
    """Controller told: the effort fades over; and in the end it holds the load exactly."""
    control = make(arm, rd.ComputedTorque(kp=400.0, kd=40.0))
    load = rd.Payload("flange", 2.0)
    loaded = rd.carrying(arm, load)
    q0 = mid(arm)
    control.activate(START, q0, np.zeros(7))
    control.set_payload(load)
    *_, (_t, q, _v, tau) = sampled(loaded, control.update, q0, np.zeros(7), 1500)
    np.testing.assert_allclose(tau, rd.gravity_forces(loaded, q), atol=1e-6)
    np.testing.assert_allclose(q, q0, atol=1e-6)


def test_a_known_wrench_is_fed_forward_until_it_is_too_old(arm):
    control = make(arm, wrench_timeout=0.05)
    q0 = mid(arm)
    wrench = np.array([0.5, -0.2, 0.1, 10.0, -5.0, 8.0])
    control.activate(START, q0, np.zeros(7))
    for now in sampled(arm, control.update, q0, np.zeros(7), 1200, external={"flange": wrench}):
        t, q, v, tau = now
        if t - START < 1000 * MS and (t - START) % (10 * MS) == 0:
            control.set_external_wrench("flange", wrench, t)
        if t == START + 1000 * MS:
            np.testing.assert_allclose(q, q0, atol=1e-6)
            J = rd.jacobian(arm, q, "flange")
            R = rd.link_pose(arm, q, "flange")[:3, :3]
            world = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
            np.testing.assert_allclose(tau, rd.gravity_forces(arm, q) - J.T @ world, atol=1e-4)
            np.testing.assert_allclose(
                control.wrenches,
                rd.joint_wrenches(arm, q, v, np.zeros(7), external={"flange": wrench}),
                atol=1e-2,
            )
    assert control.counts["external_wrench_expired"] == 1
    assert np.abs(q - q0).max() > 1e-3
    with pytest.raises(rd.ArgumentError, match="6 finite numbers"):
        control.set_external_wrench("flange", [1, 2, 3], t)
    with pytest.raises(rd.UnknownNameError):
        control.set_external_wrench("world", wrench, t)


@pytest.mark.parametrize("waits", [False, True], ids=["nothing waits", "a result waits"])
def test_the_thread_that_prepares_changes_ends_with_its_controller(arm, waits):
    before = set(threading.enumerate())
    control = make(arm)
    control.activate(START, mid(arm), np.zeros(7))
    control.changes.prepare("payload", lambda: lambda: None)
    (thread,) = set(threading.enumerate()) - before
    if waits:
        # it refers to the controller
        result = partial(control.update, START, mid(arm), np.zeros(7))
        control.changes.prepare("payload", partial(dict(update=result).pop, "update"))
        del result
        next_one = threading.Event()
        # by now the one before waits
        control.changes.prepare("", next_one.set)
        assert next_one.wait(60.0)
    del control
    gc.collect()
    thread.join(60.0)
    assert not thread.is_alive()


def test_led_by_hand_then_held_the_effort_has_no_step(arm):
    """The arm moves when the law changes: it is brought to rest without a step, at the end too."""
    control = rd.JointController(arm, rd.GravityCompensation())
    q = np.array([-0.87, -0.47, -0.39, -1.57, -0.24, 2.06, 0.58])
    v = np.array([0.3, -1.0, 0.4, 0.8, 0.5, -0.5, 1.0])
    control.activate(0, q, v)
    efforts = []
    for k in range(800):
        if k == 20:
            control.set_law(rd.ComputedTorque(kp=400.0, kd=40.0))
        efforts.append(control.update((k + 1) * 1_000_000, q, v).copy())
        v = v + 1e-3 * rd.forward_dynamics(arm, q, v, efforts[-1])
        q = q + 1e-3 * v
    assert np.abs(v).max() < 1e-3
    assert np.abs(np.diff(efforts, axis=0)).max() < 1.0
