"""The controller's guards, each provoked over the middleware."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from lifecycle_msgs.msg import State, Transition
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from support.peer import CONTROLLER
from support.played_robot import ROBOT, Q, Robot, change, set_parameters, state
from trajectory_msgs.msg import JointTrajectoryPoint

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.transport.qos import LATCHED

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]


@pytest.fixture(scope="module")
def model():
    return rd.load_urdf(robot_path(ROBOT))


@pytest.fixture
def robot(peer, model):
    return Robot(peer, model)


@pytest.fixture
def rival(peer):
    """Another node that publishes commands, when it is asked to be there."""
    nodes = []

    def appear() -> None:
        node = Node(
            "rival", context=peer.context, enable_rosout=False, start_parameter_services=False
        )
        node.create_publisher(Float64MultiArray, "effort_controller/commands", 1)
        nodes.append(node)

    yield appear
    for node in nodes:
        node.destroy_node()


def active(robot) -> bool:
    return state(robot.peer) == State.PRIMARY_STATE_ACTIVE


def test_a_second_publisher_of_commands_is_reported_by_name(robot, start, rival):
    controller = start("controller", robot_description_file=ROBOT)
    robot.effort()
    rival()
    robot.peer.wait(lambda: robot.reported("second_publisher"), "the report of the rival")
    assert controller.wait_for_output("/rival", 30.0)
    assert np.any(robot.effort()) and active(robot)


def test_a_second_publisher_is_not_put_up_with_if_so_configured(robot, start, rival):
    start("controller", robot_description_file=ROBOT, second_publisher="refuse")
    assert np.any(robot.effort())
    rival()
    robot.peer.wait(lambda: not active(robot), "deactivation")
    robot.peer.wait(lambda: not np.any(robot.commands[-1].data), "the safe command")
    robot.peer.wait(
        lambda: not change(robot.peer, Transition.TRANSITION_ACTIVATE), "the refusal to activate"
    )
    (result,) = set_parameters(robot.peer, second_publisher="ignore")
    assert result.successful
    assert change(robot.peer, Transition.TRANSITION_ACTIVATE)
    assert np.any(robot.effort())


def test_another_description_is_not_taken_while_active(robot, start, model):
    controller = start("controller")
    latched = robot.peer.publisher(String, "robot_description", LATCHED)
    latched.publish(String(data=robot_path(ROBOT).read_text()))
    holding = robot.effort()
    latched.publish(String(data=robot_path("pendulum").read_text()))
    robot.peer.wait(lambda: robot.reported("description_changed"), "the report")
    np.testing.assert_allclose(robot.effort(), holding, atol=1e-9)
    assert controller.wait_for_output("cleanup and configure", 30.0)


def test_time_that_stands_still_makes_the_state_stale(robot, start):
    start("controller", robot_description_file=ROBOT, state_timeout=0.4)
    robot.peer.wait(lambda: np.any(robot.effort()), "the arm to be held")
    robot.quiet()
    frozen = robot.state()

    def safe() -> bool:
        robot.say(frozen)
        return not np.any(robot.commands[-1].data)

    robot.peer.wait(safe, "the safe command although messages arrive")
    robot.peer.wait(
        lambda: robot.reported("time_still") and robot.reported("stale_state"), "the report"
    )
    robot.talk()
    robot.peer.wait(lambda: np.any(robot.commands[-1].data), "recovery")


def test_time_that_jumps_back_is_a_new_beginning(robot, start, model):
    start("controller", robot_description_file=ROBOT, state_timeout=0.5)
    holding = rd.gravity_forces(model, Q)
    robot.peer.wait(lambda: np.allclose(robot.effort(), holding, atol=1e-6), "the arm to be held")
    robot.quiet()

    def reset() -> bool:
        message = robot.state()
        message.header.stamp.sec -= 1000
        robot.say(message)
        return bool(robot.reported("time_backwards"))

    robot.peer.wait(reset, "the report")
    robot.peer.wait(
        lambda: reset() and np.allclose(robot.commands[-1].data, holding, atol=1e-6),
        "commands in the new time",
    )
    assert active(robot)


def test_slow_cycles_are_counted(robot, start):
    controller = start("controller", robot_description_file=ROBOT, cycle_budget=1e-6)
    begin = time.monotonic()
    robot.peer.wait(lambda: robot.reported("overrun") > 60, "overruns")
    assert controller.wait_for_output("for it [overrun", 30.0)
    lines = controller.output().count("for it [overrun")
    # one at once, then one in five seconds
    assert lines <= 1 + (time.monotonic() - begin) / 5.0


def test_efforts_are_cut_at_the_derated_limit(robot, start, model):
    gravity = rd.gravity_forces(model, Q)
    scale = 0.5 * np.max(np.abs(gravity) / model.effort_limit)
    start("controller", robot_description_file=ROBOT, effort_scale=float(scale))
    limit = scale * model.effort_limit
    np.testing.assert_allclose(robot.effort(), np.clip(gravity, -limit, limit), atol=1e-9)
    robot.peer.wait(lambda: robot.reported("effort_limit"), "the report")


def test_efforts_change_no_faster_than_allowed(robot, start, model):
    first = model.joint_names[0]
    rate = 5.0
    start(
        "controller",
        robot_description_file=ROBOT,
        max_step=1.0,
        cmd_timeout=5.0,
        blend_time=0.0,
        **{f"limits__{first}__effort_rate": rate},
    )
    holding = robot.effort()
    stamped: list[JointState] = robot.peer.listen(JointState, f"{CONTROLLER}/reference", 100)
    references = robot.peer.publisher(JointTrajectoryPoint, f"{CONTROLLER}/joint_references")
    robot.peer.subscribed(references)

    def reported() -> bool:
        references.publish(JointTrajectoryPoint(positions=[Q[0] + 0.3, Q[1]]))
        return bool(robot.reported("effort_rate"))

    robot.peer.wait(reported, "the report")
    robot.peer.wait(
        lambda: reported() and len(stamped) > 5 and stamped[-1].effort[0] > holding[0],
        "efforts with stamps that grow",
    )
    times = [m.header.stamp.sec * 1_000_000_000 + m.header.stamp.nanosec for m in stamped]
    efforts = [m.effort[0] for m in stamped]
    for i in range(1, len(times)):
        assert abs(efforts[i] - efforts[i - 1]) <= rate * 1e-9 * (times[i] - times[i - 1]) + 1e-9


@pytest.mark.parametrize(
    ("cause", "position", "velocity"),
    [("velocity_limit", [0.3, -0.4], [7.0, 0.0]), ("position_zone", [0.3, 2.79], [0.0, 2.0])],
)
def test_a_joint_too_fast_or_too_near_its_limit_is_braked(
    robot, start, model, cause, position, velocity
):
    gains = {f"gains__{name}__d": 0.0 for name in model.joint_names}
    start("controller", robot_description_file=ROBOT, law="gravity_compensation", **gains)
    robot.effort()
    robot.quiet()
    joint = int(np.argmax(np.abs(velocity)))
    bias = rd.bias_forces(model, np.array(position), np.array(velocity))

    # an encoder that is alive
    last_digits = itertools.count(1e-7, 1e-7)

    def reported() -> bool:
        digits = next(last_digits)
        robot.say(robot.state(position=[x + digits for x in position], velocity=velocity))
        return bool(robot.reported(cause))

    robot.peer.wait(reported, "the report")
    robot.peer.wait(
        lambda: reported() and robot.commands[-1].data[joint] < bias[joint], "the brake"
    )


def every_thread(pid, ask):
    """What the system says of the threads of a process, each answer once; those of the middleware
    are among them.
    """
    answers = []
    for name in os.listdir(f"/proc/{pid}/task"):
        # ended meanwhile
        with contextlib.suppress(ProcessLookupError):
            answer = ask(int(name))
            if answer not in answers:
                answers.append(answer)
    return answers


def test_processors_are_chosen_and_impossible_ones_refused_politely(robot, start):
    controller = start(
        "controller", robot_description_file=ROBOT, cpu_affinity=[min(os.sched_getaffinity(0))]
    )
    robot.effort()
    assert every_thread(controller.pid, os.sched_getaffinity) == [{min(os.sched_getaffinity(0))}]
    controller.stop()
    controller = start("controller", cold=True, robot_description_file=ROBOT, cpu_affinity=[4000])
    robot.peer.wait(
        lambda: "cpu_affinity [4000] cannot be set" in controller.output(), "the refusal in the log"
    )
    robot.peer.wait(lambda: np.any(robot.effort()), "efforts of the second controller")


def test_a_priority_is_taken_or_refused_politely(robot, start):
    controller = start("controller", cold=True, robot_description_file=ROBOT, thread_priority=1)
    assert np.any(robot.effort())
    if os.sched_getscheduler(controller.pid) != os.SCHED_FIFO:
        assert controller.wait_for_output("thread_priority 1 cannot be set", 30.0)
    else:
        assert every_thread(controller.pid, os.sched_getscheduler) == [os.SCHED_FIFO]


def test_without_the_right_scheduling_is_left_as_it_is(monkeypatch):
    from robot_dynamics_ros.ros.transport import realtime

    lines = []

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(realtime.os, "sched_setscheduler", refuse)
    logger = type("Logger", (), {"warning": lambda self, text: lines.append(text)})()
    monkeypatch.setattr(realtime, "_lock_memory", lambda: "no more than 64 kB may be locked")
    realtime.apply_scheduling(
        {"cpu_affinity": (), "thread_priority": 50, "lock_memory": True}, logger
    )
    priority, memory = lines
    assert "CAP_SYS_NICE" in priority and "not permitted" in priority
    assert "CAP_IPC_LOCK" in memory and "64 kB" in memory


def test_the_viewer_yields_in_its_own_session_and_in_that_of_others():
    code = (
        "import os, pathlib\n"
        "from robot_dynamics_ros.ros.transport.realtime import yield_to_others\n"
        "group = pathlib.Path('/proc/self/autogroup')\n"
        "def read():\n"
        # empty where this kernel groups by something else, a control group for instance
        "    return (group.read_text().split() if group.exists() else [])[-1:] or ['-']\n"
        "before = read()\n"
        "yield_to_others()\n"
        "print(os.nice(0), *before, *read())\n"
    )
    for own in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=own,
        )
        assert done.returncode == 0, done.stderr
        nice, before, after = done.stdout.split()
        assert int(nice) >= 10
        assert after == ("10" if own and before != "-" else before)


def test_short_slices_leave_policy_and_niceness_as_they_are():
    code = (
        "import ctypes, os, struct, threading\n"
        "from robot_dynamics_ros.ros.transport import realtime\n"
        "os.nice(3)\n"
        "go = threading.Event()\n"
        "thread = threading.Thread(target=go.wait, daemon=True)\n"
        "thread.start()\n"
        "threads = [int(name) for name in os.listdir('/proc/self/task')]\n"
        "before = {t: (os.sched_getscheduler(t), os.getpriority(os.PRIO_PROCESS, t)) for t in "
        "threads}\n"
        "realtime.wake_sooner()\n"
        "for t in threads:\n"
        "    number = {'x86_64': 315, 'aarch64': 275}[os.uname().machine]\n"
        "    found = ctypes.create_string_buffer(48)\n"
        "    ctypes.CDLL(None).syscall(number, t, found, 48, 0)\n"
        "    _, policy, _, nice, _, runtime, _, _ = struct.unpack('=IIQiIQQQ', found.raw)\n"
        "    print(*before[t], policy, nice, runtime)\n"
        "go.set()\n"
    )
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("another processor: nothing is asked of the system there")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) >= 2
    kernel = tuple(int(x) for x in os.uname().release.split("-")[0].split(".")[:2])
    for *before, policy, nice, runtime in rows:
        assert [policy, nice] == before
        assert kernel < (6, 12) or policy != "0" or int(runtime) == 100_000


def test_the_collector_passes_over_what_was_there_before():
    import gc

    from robot_dynamics_ros.ros.transport.realtime import keep_collections_short

    before = [[] for _ in range(1000)]
    try:
        keep_collections_short()
        assert gc.get_freeze_count() > len(before) and not any(
            x is before for x in gc.get_objects()
        )
        assert gc.isenabled()
    finally:
        gc.unfreeze()
