"""Surprised, the arm holds: robots that MuJoCo moves, of kinds that throw the precise law."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

import robot_dynamics_ros as rd
from benchmarks.differing_robots.kinds_cases import KINDS
from benchmarks.differing_robots.kinds_laws import Ours
from benchmarks.differing_robots.kinds_robot import make_scene
from benchmarks.differing_robots.kinds_run import run_kind
from robot_dynamics_ros.control.cycle.ladder import Level
from robot_dynamics_ros.control.reference.goal import Tolerances


def surprised(kind, arm):
    """Figures of a run, and the controller at its end."""
    kept = []

    class Kept(Ours):
        def start(self, t, q, v):
            kept.append(self.controller)
            super().start(t, q, v)

    return run_kind(Kept, make_scene(KINDS[kind], arm, 0)), kept[0]


@pytest.mark.parametrize("kind", ["spring_motor", "lag_20ms"])
def test_an_arm_that_the_precise_law_drives_is_led_by_the_plain_one_to_its_goal(kind):
    figures, controller = surprised(kind, "panda")
    assert not figures["lost"], figures["fault"]
    assert not figures["swings"]
    assert figures["goal"] < 10.0
    assert controller.level is Level.PLAIN
    assert controller.counts["swings"] + controller.counts["braked"] >= 1
    assert any("by itself" in gap for gap in controller.description_gaps())


def test_commands_that_are_late_without_a_word_do_not_drive_the_arm():
    figures, _ = surprised("late_commands_10ms", "panda")
    assert not figures["lost"], figures["fault"]
    assert not figures["swings"]
    assert figures["goal"] < 10.0


@pytest.mark.parametrize("kind", ["push_100_rest", "vanishing_wall", "late_brake"])
def test_an_arm_that_was_kept_from_its_path_comes_back(kind):
    figures, controller = surprised(kind, "panda")
    assert not figures["lost"], figures["fault"]
    assert figures["goal"] < 10.0
    assert figures["speed"] < 1.4
    assert controller.counts["blocked"] + controller.counts["pushed"] >= 1


def test_an_arm_that_is_put_elsewhere_is_held_there():
    figures, controller = surprised("reset", "ur10")
    assert not figures["lost"], figures["fault"]
    assert controller.counts["relocated"] == 1
    assert "was put elsewhere" in controller.surprise


def test_an_arm_that_falls_as_the_controller_starts_is_caught():
    figures, controller = surprised("falling", "j2s6s200")
    assert not figures["lost"], figures["fault"]
    assert controller.counts["started_moving"] == 1
    assert figures["goal"] < 1.0
    assert controller.level is Level.PRECISE


def test_the_usual_robot_does_not_surprise():
    figures, controller = surprised("usual", "panda")
    assert not figures["lost"]
    assert controller.surprise == "" and controller.level is Level.PRECISE
    assert not np.any(controller.memory["lag"])


def test_a_blocked_arm_whose_goal_is_aborted_is_held_where_it_is():
    """Not pushed to the other side by what it had lagged on the path."""
    arm = rd.load_robot("two_link")
    tolerances = Tolerances.uniform(2, path=0.5)
    control = rd.JointController(arm, tolerances=tolerances)
    start = np.array([0.3, 0.5])
    still = np.zeros(2)
    control.activate(0, start, still)
    goal = control.accept_trajectory(rd.plan_move(arm, start, start + 1.0), 0)
    longest_lag = 0.0
    for k in range(1, 2000):
        # an encoder's noise: the joints are not dead
        control.update(k * 2_000_000, start + 1e-5 * (k % 2), still)
        lag = np.abs(control.memory["lag"]).max()
        longest_lag = max(longest_lag, lag)
        if goal.status.done:
            break
    assert goal.status is rd.GoalStatus.ABORTED and longest_lag > 0.2
    assert not control.fault
    ended = k
    for later in range(ended + 1, ended + 300):
        control.update(later * 2_000_000, start + 1e-5 * (later % 2), still)
        assert np.abs(control.memory["lag"]).max() == 0.0
        assert np.abs(control.memory["error"][0]).max() < 1e-3


def wheel():
    """A joint that turns without limits: 1 kg m², 20 N m, 2 rad/s."""
    return rd.load_urdf("""<robot name="wheel"><link name="base"/><link name="disc"><inertial>
    <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="axle" type="continuous"><parent link="base"/><child link="disc"/>
    <axis xyz="0 0 1"/><limit velocity="2" effort="20"/></joint></robot>""")


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_a_drive_that_no_longer_obeys_is_a_fault(noise):
    """It has obeyed before, and then gives 10 N m whatever is asked: 4 rad/s against 2.5 N m s."""
    rng = np.random.default_rng(0)
    control = rd.JointController(wheel())
    q = np.zeros(1)
    v = np.zeros(1)
    control.activate(0, q, v)
    control.accept_trajectory(rd.plan_move(wheel(), q, q + 1.0), 0)
    for k in range(1, 4000):
        effort = control.update(k * 1_000_000, q, v + rng.normal(0.0, noise, 1))
        if control.fault:
            break
        acting = np.full(1, 10.0) if k > 1500 else effort
        v = v + (acting - 2.5 * v) * 1e-3
        q = q + v * 1e-3
    assert 1500 < k < 3000, "no fault, or before the drive failed"
    assert "its velocity limit is 2" in control.fault or "runs away" in control.fault


def test_a_change_of_law_forgets_that_a_joint_was_too_fast():
    control = rd.JointController(wheel())
    still = np.zeros(1)
    control.activate(0, still, still)
    control.memory["fast"][:] = 6
    control.memory["level"][:] = Level.PLAIN
    control.set_law(rd.PDGravity(kp=100.0, kd=20.0))
    for k in range(1, 20):
        control.update(k * 1_000_000, still, still)
    assert not control.fault and control.level is Level.PRECISE


def test_joints_that_are_not_commanded_surprise_nobody():
    """A person turns the wrist, whose effort is somebody else's matter."""
    arm = rd.load_robot("six_axis")
    options = rd.ControllerOptions(joints=arm.joint_names[:5])
    control = rd.JointController(arm, options=options)
    q = 0.5 * (arm.lower + arm.upper)
    v = np.zeros(6)
    control.activate(0, q, v)
    for k in range(1, 400):
        v[5] = 0.9 * arm.velocity_limit[5] * np.sin(0.02 * k)
        q = q + 2e-3 * v
        control.update(k * 2_000_000, q, v)
    assert not control.fault
    assert control.surprise == "" and control.level is Level.PRECISE
