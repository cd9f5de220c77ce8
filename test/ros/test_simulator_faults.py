"""Faults and jumps: clocks, halts, garbage, laws that are too stiff, descriptions of what cannot
be.
"""

from __future__ import annotations

import random
import re
import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from support.peer import SIMULATOR, Peer
from support.simulator_bench import Bench, bits, stamp

from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.transport.qos import LATCHED

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "two_link"
LOCKSTEP = {"robot_description_file": ROBOT, "time_mode": "lockstep", "update_rate": 1000.0}


def test_pause_in_lockstep_changes_nothing_in_the_end(peer, start):
    """A pause, a single step, and going on: the same bits as without."""
    efforts = np.random.default_rng(4).uniform(-5.0, 5.0, (40, 2))
    simulator = start("simulator", **LOCKSTEP)
    bench = Bench(peer)
    bench.ready()
    plain = bench.lockstep(efforts)
    assert simulator.stop() == 0

    start("simulator", **LOCKSTEP)
    bench = Bench(peer)
    bench.ready()
    answers = bench.lockstep(efforts[:20])
    assert peer.call(SetBool, f"{SIMULATOR}/set_pause", SetBool.Request(data=True)).success
    before = stamp(answers[-1])
    bench.commands.publish(Float64MultiArray(data=efforts[20].tolist()))
    peer.spin_for(0.3)
    # taken, not done
    assert stamp(bench.states[-1]) == before
    assert peer.call(Trigger, f"{SIMULATOR}/step", Trigger.Request()).success
    peer.wait(lambda: stamp(bench.states[-1]) == before + 1_000_000, "the single step")
    answers.append(bench.states[-1])
    assert peer.call(SetBool, f"{SIMULATOR}/set_pause", SetBool.Request(data=False)).success
    for effort in efforts[21:]:
        bench.turn(effort, answers)
    assert bits(answers) == bits(plain)


def test_a_clock_that_jumps_moves_the_stamps_and_not_the_robot(peer, start):
    """Time from elsewhere, set forward and back: stamps follow, and the motion stays smooth."""
    clock = peer.publisher(Clock, "/clock")
    start(
        "simulator",
        robot_description_file=ROBOT,
        use_sim_time=True,
        position_stops=False,
        friction=False,
        limiter=False,
    )
    bench = Bench(peer)
    now = 100.0

    def tell(seconds: float) -> None:
        message = Clock()
        message.clock.sec = int(seconds)
        message.clock.nanosec = int(seconds % 1.0 * 1e9)
        clock.publish(message)

    def near(target: float) -> bool:
        tell(target)
        return bool(bench.states) and abs(stamp(bench.states[-1]) * 1e-9 - target) < 0.2

    for target in (now, now + 1000.0, now - 50.0):
        peer.wait(lambda t=target: near(t), f"stamps near {target}")
    q = np.array([m.position for m in bench.states])
    v = np.array([m.velocity for m in bench.states])
    steps = np.abs(np.diff(q, axis=0)).max(axis=1)
    assert np.isfinite(q).all()
    # no step but those whose neighbours were lost on the way is longer than its speed allows
    assert np.mean(steps <= 0.0045 * np.abs(v[1:]).max(axis=1).clip(1.0)) > 0.8
    assert np.abs(v).max() < 50.0


def test_without_the_clock_that_it_is_to_have_its_stamps_go_on(peer, start):
    """use_sim_time on this node only: stamps that begin again every 50 ms would be states that are
    too late.
    """
    simulator = start("simulator", robot_description_file=ROBOT, use_sim_time=True)
    states = peer.listen(JointState, "joint_states", 1000)
    peer.wait(lambda: len(states) > 300, "joint states")
    stamps = [stamp(m) for m in states]
    assert stamps == sorted(stamps) and len(set(stamps)) == len(stamps)
    assert simulator.wait_for_output("no /clock arrives", 20.0)


def test_a_halted_simulator_gives_up_the_lost_time_and_goes_on(peer, start):
    simulator = start("simulator", robot_description_file=ROBOT, holding_brakes=True)
    bench = Bench(peer)
    bench.ready()
    simulator.send(signal.SIGSTOP)
    peer.spin_for(1.0)
    simulator.send(signal.SIGCONT)
    bench.states.clear()
    peer.wait(lambda: len(bench.states) > 20, "joint states after the halt")
    peer.wait(
        lambda: float(bench.diagnostic("time given up [s]") or 0.0) > 0.5,
        "the loss in the diagnostics",
    )
    assert (np.diff([stamp(m) for m in bench.states]) >= 0).all()


def test_garbage_of_every_kind_does_no_harm(peer, start, domain):
    """Wrong types on the topics' names do not match; wrong contents are refused; the node lives and
    the robot stands.
    """
    simulator = start("simulator", robot_description_file=ROBOT, holding_brakes=True)
    bench = Bench(peer)
    bench.ready()
    dice = random.Random(5)
    values = [0.0, 1e308, -1e308, float("nan"), float("inf"), 5e-324]
    with Peer(domain) as stranger:
        other = stranger.publisher(String, "effort_controller/commands")
        for _ in range(300):
            other.publish(String(data="not an effort"))
            data = [dice.choice(values) for _ in range(dice.choice([0, 1, 3, 50]))]
            bench.commands.publish(Float64MultiArray(data=data))
    bench.send_until_reported(Float64MultiArray(data=[float("nan"), 0.0]), "command_not_finite")
    bench.send_until_reported(Float64MultiArray(data=[0.0]), "command_wrong_length")
    state = bench.next_state()
    assert simulator.exit_code is None
    assert list(state.velocity) == [0.0, 0.0]
    bench.send_until_reported(Float64MultiArray(data=[1e308, -1e308]), "command_absurd")
    # the drives saturate
    bench.apply(Float64MultiArray(data=[1e8, -1e8]), [60.0, -25.0])
    assert np.isfinite(bench.next_state().position).all()


def test_a_law_too_stiff_for_its_period_is_named_and_nothing_becomes_nan(peer, start):
    start("simulator", **LOCKSTEP, limiter=False, friction=False, position_stops=False)
    bench = Bench(peer)
    bench.ready()
    answers = [bench.states[-1]]
    for _ in range(400):
        q = np.array(answers[-1].position)
        bench.commands.publish(Float64MultiArray(data=(-1e7 * (q - 1e-5)).tolist()))
        last = stamp(answers[-1])
        stuck = False

        def answered(last=last) -> bool:
            nonlocal stuck
            stuck = any(s.level == b"\x02" for m in bench.diagnostics for s in m.status)
            return stuck or stamp(bench.states[-1]) != last

        peer.wait(answered, "an answer or an error")
        if stuck:
            break
        answers.append(bench.states[-1])
    assert stuck
    text = next(s.message for m in bench.diagnostics for s in m.status if s.level == b"\x02")
    assert re.search("shoulder|elbow", text)
    assert "stiff" in text
    assert all(
        np.isfinite(m.position).all() and np.isfinite(m.velocity).all() for m in bench.states
    )
    # and it can be brought back
    assert peer.call(Trigger, f"{SIMULATOR}/reset_world", Trigger.Request()).success
    peer.wait(
        lambda: list(bench.states[-1].position) == list(bench.states[0].position), "the start"
    )
    bench.turn(np.zeros(2), [bench.states[-1]])


def test_reset_while_moving(peer, start):
    start("simulator", **LOCKSTEP)
    bench = Bench(peer)
    bench.ready()
    efforts = np.full((50, 2), 4.0)
    first = bench.lockstep(efforts)
    assert np.abs(first[-1].velocity).max() > 0.1
    before = stamp(first[-1])
    assert peer.call(Trigger, f"{SIMULATOR}/reset_world", Trigger.Request()).success
    peer.wait(lambda: list(bench.states[-1].velocity) == [0.0, 0.0], "the start")
    # stamps increase, and none comes twice
    assert stamp(bench.states[-1]) > before
    # repeats count once
    told = set(zip((stamp(state) for state in bench.states), bits(bench.states), strict=True))
    assert len({when for when, _ in told}) == len(told)
    again = bench.lockstep(efforts)
    np.testing.assert_array_equal(again[-1].position, first[-1].position)


@pytest.mark.parametrize(
    ("old", "new", "parameters", "words"),
    [
        (r'<mass value="[^"]*"', '<mass value="-1.0"', {}, "mass"),
        (r'damping="0.2"', 'damping="1e6"', {"integrator": "rk4", "substeps": 1}, "shoulder"),
        (r'damping="0.2"', 'damping="-0.2"', {}, "damping"),
    ],
    ids=["negative mass", "step too large for the damping", "negative damping"],
)
def test_a_robot_that_cannot_be_is_refused_by_name(start, tmp_path, old, new, parameters, words):
    path = tmp_path / "robot.urdf"
    path.write_text(re.sub(old, new, robot_path(ROBOT).read_text()))
    simulator = start("simulator", robot_description_file=path, **parameters)
    assert simulator.wait(60.0) == 1
    assert words in simulator.output()
    assert "Traceback" not in simulator.output()


def test_a_bad_description_on_the_topic_is_reported_and_a_good_one_still_taken(peer, start):
    simulator = start("simulator")
    descriptions = peer.publisher(String, "robot_description", LATCHED)
    states = peer.listen(JointState, "joint_states")
    peer.subscribed(descriptions)
    good = robot_path(ROBOT).read_text()
    descriptions.publish(String(data=re.sub(r'<mass value="[^"]*"', '<mass value="-1.0"', good)))
    assert simulator.wait_for_output("cannot use the robot", 30.0)
    assert not states
    descriptions.publish(String(data=good))
    peer.wait(lambda: states, "joint states")
