"""Bad states and bad times: nothing that is not finite leaves, and recovery is by itself where that
is safe.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.closed_loop import mid

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.laws.base import Law

ARM = rd.load_robot("seven_axis")
START = 1_700_000_000_000_000_000
MS = 1_000_000
Q = mid(ARM)
V = np.zeros(7)


def active(law=None, **options):
    control = rd.JointController(
        ARM, law or rd.ComputedTorque(), options=rd.ControllerOptions(**options)
    )
    control.activate(START, Q, V)
    control.update(START, Q, V)
    return control


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_state_that_is_not_finite_is_rejected_and_the_last_command_stands(value):
    control = active()
    before = control.command.copy()
    for q, v in (
        (np.where(np.arange(7) == 3, value, Q), V),
        (Q, np.where(np.arange(7) == 6, value, V)),
    ):
        np.testing.assert_array_equal(control.update(START + MS, q, v), before)
    assert control.counts["non_finite_state"] == 2
    assert control.mode is rd.Mode.HOLD
    # it does not count as a sign of life
    assert control.watch(START + 101 * MS) is not None


def test_a_stale_state_brings_the_safe_command_and_the_next_state_recovers():
    control = active(safe_command="gravity")
    goal = control.accept_trajectory(rd.plan_move(ARM, Q, Q + 0.5), START)
    assert control.watch(START + 100 * MS) is None
    safe = control.watch(START + 101 * MS)
    np.testing.assert_allclose(safe, rd.gravity_forces(ARM, Q))
    assert control.mode is rd.Mode.SAFE
    assert goal.status is rd.GoalStatus.ABORTED and "stale" in goal.text
    assert control.watch(START + 500 * MS) is not None
    assert control.counts["stale_state"] == 1
    with pytest.raises(rd.TrajectoryRejected, match="safe"):
        control.accept_trajectory(rd.plan_move(ARM, Q, Q + 0.5), START + 500 * MS)
    sagged = Q + 0.1
    control.update(START + 600 * MS, sagged, V)
    assert control.mode is rd.Mode.HOLD
    np.testing.assert_allclose(control.reference[0], sagged)
    assert control.watch(START + 650 * MS) is None


def test_zero_is_the_safe_command_unless_asked_otherwise():
    control = active()
    assert not control.watch(START + 200 * MS).any()
    assert not control.deactivate().any()


def test_a_gap_that_nobody_watched_is_noticed_too():
    control = active()
    goal = control.accept_trajectory(rd.plan_move(ARM, Q, Q + 0.5), START)
    control.update(START + 300 * MS, Q + 0.2, V)
    assert goal.status is rd.GoalStatus.ABORTED
    np.testing.assert_allclose(control.reference[0], Q + 0.2)


def test_time_that_stands_still_or_is_a_little_late_is_ignored():
    control = active()
    control.update(START + 5 * MS, Q, V)
    before = control.command.copy()
    np.testing.assert_array_equal(control.update(START + 5 * MS, Q + 0.01, V), before)
    np.testing.assert_array_equal(control.update(START + 4 * MS, Q + 0.01, V), before)
    assert (control.counts["time_still"], control.counts["time_late"]) == (1, 1)
    # a clock that stands is a dead state
    assert control.watch(START + 200 * MS) is not None


def test_time_that_jumps_back_starts_afresh_where_the_arm_is():
    control = active()
    goal = control.accept_trajectory(rd.plan_move(ARM, Q, Q + 0.5), START)
    control.update(50 * MS, Q - 0.2, V)
    assert goal.status is rd.GoalStatus.ABORTED and "backwards" in goal.text
    assert control.counts["time_backwards"] == 1
    np.testing.assert_allclose(control.reference[0], Q - 0.2)
    control.update(51 * MS, Q - 0.2, V)
    assert control.mode is rd.Mode.HOLD


def test_a_simulation_may_be_reset_again_and_again():
    control = active()
    for second in range(1, 60):
        for k in range(second, 1100, 4):
            control.update(k * MS, Q, V)
    assert not control.fault and control.mode is rd.Mode.HOLD
    assert control.counts["time_backwards"] == 59


def test_a_state_that_no_motion_explains_is_dropped_and_a_robot_that_moves_is_not():
    control = active()
    goal = control.accept_trajectory(rd.plan_move(ARM, Q, Q + 0.5), START)
    before = control.command.copy()
    np.testing.assert_array_equal(control.update(START + MS, Q + 0.2, V), before)
    assert control.counts["state_jump"] == 1 and "jumped" in control.jump and not control.current
    # one bad reading is not worth a stop
    control.update(START + 2 * MS, Q, V)
    assert control.current and not control.jump and not goal.status.done
    # 50 ms of lost messages at a speed that the robot tells
    control.update(START + 52 * MS, Q + 0.15, V + 4.0)
    assert control.current and control.counts["state_jump"] == 1


def test_two_robots_that_speak_at_once_do_not_shake_the_arm():
    control = active()
    for k in range(1, 400):
        control.update(START + k * MS, Q if k % 2 else Q + 0.5, V)
        np.testing.assert_allclose(control.reference[0], Q)
    assert control.counts["state_jump"] == 199 and control.mode is rd.Mode.HOLD
    np.testing.assert_allclose(control.command, rd.gravity_forces(ARM, Q), rtol=0, atol=1e-12)


def test_after_a_jump_that_lasts_the_arm_is_held_where_it_is_without_a_safe_command():
    """A simulator's reset, ``set_joint_state``, a re-homed encoder: 20 ms of states that agree."""
    control = active()
    goal = control.accept_trajectory(rd.plan_move(ARM, Q, Q + 0.5), START)
    for k in range(1, 150):
        t = START + k * MS
        assert control.watch(t) is None
        control.update(t, Q + 1.0, V)
        if k == 22:
            np.testing.assert_allclose(control.command, rd.gravity_forces(ARM, Q + 1.0), atol=1e-9)
    assert goal.status is rd.GoalStatus.ABORTED and "jumped" in goal.text
    assert control.counts["state_jump"] == 20 and control.counts["relocated"] == 1
    assert control.mode is rd.Mode.HOLD and not control.fault
    assert "was put elsewhere" in control.surprise
    np.testing.assert_allclose(control.reference[0], Q + 1.0)


def test_a_jump_of_which_the_states_contradict_each_other_brings_the_safe_command():
    control = active()
    for k in range(1, 150):
        t = START + k * MS
        safe = control.watch(t)
        assert (safe is not None) == (k == 101)
        if control.mode is rd.Mode.SAFE:
            break
        control.update(t, Q + (1.0 if k % 2 else -1.0), V)
    assert control.counts["state_jump"] == 100 and not control.counts["relocated"]


def test_an_angle_that_starts_again_at_minus_pi_has_not_jumped():
    control = rd.JointController(rd.load_robot("pendulum"))
    control.activate(START, np.array([3.14]), np.array([1.0]))
    control.update(START + 10 * MS, np.array([-3.13]), np.array([1.0]))
    assert control.current and not control.counts["state_jump"]


@dataclass(frozen=True, eq=False)
class Broken(Law):
    """Fails on demand."""

    how: str = "nan"

    def __call__(self, work, out):
        if self.how == "raise":
            raise np.linalg.LinAlgError("singular")
        out[:] = np.nan if work.q[0] > Q[0] + 0.05 else 0.0
        return out


@pytest.mark.parametrize("how", ["nan", "raise"])
def test_a_law_that_fails_is_a_fault_until_activated_again(how):
    control = rd.JointController(ARM, Broken(how))
    control.activate(START, Q, V)
    command = control.update(START + MS, Q + 0.09, V)
    assert not command.any()
    assert control.mode is rd.Mode.SAFE and control.fault and control.counts["fault"] == 1
    assert not control.update(START + 2 * MS, Q, V).any()
    assert control.mode is rd.Mode.SAFE
    assert not control.watch(START + 3 * MS).any()
    control.activate(START + 4 * MS, Q, V)
    assert control.mode is rd.Mode.HOLD and not control.fault


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_arrives_the_command_is_finite_and_within_limits(data):
    control = rd.JointController(
        ARM,
        rd.ComputedTorque(kp=900.0, kd=60.0, ki=100.0),
        guards=rd.GuardSettings(effort_rate=500.0),
    )
    control.activate(START, Q, V)
    number = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([np.nan, np.inf, -np.inf, 1e300, 0.0]))
    t = START
    for _ in range(data.draw(st.integers(1, 8))):
        t += data.draw(st.sampled_from([0, MS, -MS, 5 * MS, 10**9, -(10**9), 10**17]))
        q = np.array(data.draw(st.lists(number, min_size=7, max_size=7)))
        v = np.array(data.draw(st.lists(number, min_size=7, max_size=7)))
        with np.errstate(all="ignore"):
            command = control.update(t, q, v)
        assert np.isfinite(command).all()
        assert (np.abs(command) <= ARM.effort_limit + 1e-9).all()


def test_deactivated_it_sends_the_safe_command_and_ends_goals():
    control = active(safe_command="gravity")
    goal = control.accept_trajectory(rd.plan_move(ARM, Q, Q + 0.5), START)
    np.testing.assert_allclose(control.deactivate(), rd.gravity_forces(ARM, Q))
    assert goal.status is rd.GoalStatus.ABORTED and control.mode is rd.Mode.INACTIVE
    np.testing.assert_allclose(control.update(START + MS, Q, V), rd.gravity_forces(ARM, Q))
    assert control.watch(START + 10**10) is None


def test_limits_can_be_derated_while_running():
    control = active(rd.ComputedTorque(kp=1000.0, kd=60.0), max_state_jump=0.0)
    control.set_guards(rd.GuardSettings(effort_scale=0.1))
    command = control.update(START + MS, Q + 1.0, V)
    assert (np.abs(command) <= 0.1 * ARM.effort_limit + 1e-12).all()
    guards = control.guards
    with pytest.raises(rd.ArgumentError):
        control.set_guards(rd.GuardSettings(effort_scale=2.0))
    assert control.guards is guards


def test_efforts_are_limited_through_the_controller_and_counted():
    control = rd.JointController(
        ARM,
        rd.ComputedTorque(kp=1000.0, kd=60.0),
        options=rd.ControllerOptions(max_state_jump=0.0),
        guards=rd.GuardSettings(effort_scale=0.5, effort_rate=2000.0),
    )
    control.activate(START, Q, V)
    control.update(START, Q, V)
    previous = control.command.copy()
    for k in range(1, 200):
        command = control.update(START + k * MS, Q + 0.5 * np.sin(k), V)
        assert (np.abs(command) <= 0.5 * ARM.effort_limit + 1e-12).all()
        assert (np.abs(command - previous) <= 2.0 + 1e-9).all()
        previous = command.copy()
    assert control.counts["effort_rate"] > 0
