"""The controller node alone: this process plays the robot, good and bad."""

from __future__ import annotations

import math
import os
import pty
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import State, Transition
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.peer import CONTROLLER
from support.played_robot import ROBOT, Q, Robot, change, set_parameters, state
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

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


def test_it_holds_the_arm_against_gravity_from_the_first_state_on(robot, start, model):
    start("controller", robot_description_file=ROBOT)
    np.testing.assert_allclose(robot.effort(), rd.gravity_forces(model, Q), atol=1e-9)


def test_a_bad_state_is_answered_by_no_command_and_reported(robot, start, model):
    first, second = model.joint_names
    start("controller", robot_description_file=ROBOT)
    robot.effort()
    for cause, changes in (
        ("missing_joint", {"name": [first], "position": [0.3], "velocity": [0.0]}),
        ("wrong_length", {"position": [0.3]}),
        ("not_finite", {"position": [0.3, math.nan]}),
        (
            "duplicate_joint",
            {"name": [first, second, second], "position": [0.3] * 3, "velocity": [0.0] * 3},
        ),
        ("missing_velocity", {"velocity": []}),
        ("not_finite", {"velocity": [0.0, math.inf]}),
    ):
        robot.fall_silent()
        robot.commands.clear()
        before = robot.reported(cause)

        def reported(changes=changes, cause=cause, before=before) -> bool:
            robot.say(robot.state(**changes))
            return robot.reported(cause) > before

        robot.peer.wait(reported, f"a report of {cause}")
        robot.fall_silent()
        assert not robot.commands, (cause, changes)
        robot.talk()
        assert np.isfinite(robot.effort()).all()


@pytest.mark.parametrize("safe", ["zero", "gravity"])
def test_a_robot_that_falls_silent_gets_the_safe_command_until_it_speaks_again(
    robot, start, model, safe
):
    start("controller", robot_description_file=ROBOT, state_timeout=0.5, safe_command=safe)
    holding = rd.gravity_forces(model, Q)
    robot.peer.wait(lambda: np.allclose(robot.effort(), holding, atol=1e-6), "the arm to be held")
    robot.quiet()
    expected = holding if safe == "gravity" else np.zeros(2)
    robot.peer.wait(
        lambda: any(status.level == b"\x02" for m in robot.diagnostics[-1:] for status in m.status),
        "an error report",
    )
    robot.peer.wait(
        lambda: np.allclose(robot.commands[-1].data, expected, atol=1e-9), "the safe command"
    )
    robot.talk()
    robot.peer.wait(lambda: np.allclose(robot.commands[-1].data, holding, atol=1e-6), "recovery")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_last_message_of_a_process_that_ends_is_the_safe_command(robot, start, number):
    controller = start("controller", robot_description_file=ROBOT, state_timeout=30.0)
    assert np.any(robot.effort())
    controller.send(number)
    robot.peer.wait(lambda: controller.exit_code is not None, "the end of the controller")
    assert controller.exit_code == 0
    robot.peer.wait(
        lambda: not np.any(robot.commands[-1].data), "the safe command as the last message"
    )


def test_a_terminal_that_closes_leaves_no_effort(robot, domain):
    """Its processes get SIGHUP, and nothing they write arrives any more."""
    ours, theirs = pty.openpty()
    # a session that opens a terminal has it as its own
    controller = subprocess.Popen(
        [
            *("sh", "-c", f'exec "$@" <>{os.ttyname(theirs)} >&0 2>&0', "sh"),
            *(sys.executable, "-m", "robot_dynamics_ros.ros.main", "controller", "--ros-args"),
            *("-p", f"robot_description_file:={ROBOT}", "-p", "state_timeout:=30.0"),
        ],
        start_new_session=True,
    )
    try:
        assert np.any(robot.effort())
        os.close(theirs)
        os.close(ours)
        robot.peer.wait(lambda: controller.poll() is not None, "the end of the controller")
        robot.peer.wait(
            lambda: not np.any(robot.commands[-1].data), "the safe command as the last message"
        )
        assert controller.returncode == 0
    finally:
        controller.kill()


@pytest.mark.parametrize("node", ["controller", "simulator"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_is_stopped_while_it_starts_ends_cleanly(start, node, number):
    """At any moment after its handlers are in place, which is before anything heavy is imported."""
    process = start(node, cold=True, robot_description_file=ROBOT)
    caught = 1 << (number - 1)

    def handled() -> bool:
        with open(f"/proc/{process.pid}/status") as status:
            mask = next(line for line in status if line.startswith("SigCgt"))
        return bool(
            int(mask.split()[1], 16) & (1 << (signal.SIGTERM - 1))
            and int(mask.split()[1], 16) & caught
        )

    # no pause: the signal is to come as early as possible
    deadline = time.monotonic() + 60.0
    while process.exit_code is None and not handled():
        assert time.monotonic() < deadline, process.output()
    assert process.stop(number, 60.0) == 0, process.output()


def test_lifecycle_by_hand(robot, start, model):
    controller = start("controller", autostart=False)
    assert state(robot.peer) == State.PRIMARY_STATE_UNCONFIGURED
    # it does not know the robot yet
    assert not change(robot.peer, Transition.TRANSITION_CONFIGURE)
    assert controller.wait_for_output("no robot_description has arrived", 30.0)
    latched = robot.peer.publisher(String, "robot_description", LATCHED)
    latched.publish(String(data=robot_path(ROBOT).read_text()))
    robot.peer.wait(
        lambda: change(robot.peer, Transition.TRANSITION_CONFIGURE), "the description to arrive"
    )
    robot.peer.spin_for(0.3)
    assert not robot.commands
    assert change(robot.peer, Transition.TRANSITION_ACTIVATE)
    assert np.any(robot.effort())
    assert change(robot.peer, Transition.TRANSITION_DEACTIVATE)
    robot.peer.wait(lambda: not np.any(robot.commands[-1].data), "the safe command")
    assert change(robot.peer, Transition.TRANSITION_CLEANUP)
    assert change(robot.peer, Transition.TRANSITION_CONFIGURE)
    assert change(robot.peer, Transition.TRANSITION_ACTIVATE)
    np.testing.assert_allclose(robot.effort(), rd.gravity_forces(model, Q), atol=1e-9)
    latched.publish(String(data=robot_path("pendulum").read_text()))
    robot.peer.wait(
        lambda: robot.reported("description_changed"), "a report of the other description"
    )
    assert change(robot.peer, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state(robot.peer) == State.PRIMARY_STATE_FINALIZED
    assert controller.stop() == 0


def test_after_a_cleanup_no_description_starts_the_arm_again(robot, start, model):
    """Somebody has taken the controller down: a robot_state_publisher that starts anew must not
    activate it.
    """
    controller = start("controller")
    latched = robot.peer.publisher(String, "robot_description", LATCHED)
    text = robot_path(ROBOT).read_text()
    latched.publish(String(data=text))
    robot.effort()
    assert change(robot.peer, Transition.TRANSITION_DEACTIVATE) and change(
        robot.peer, Transition.TRANSITION_CLEANUP
    )
    robot.peer.wait(lambda: not np.any(robot.commands[-1].data), "the safe command")
    latched.publish(String(data=text + "<!-- another -->"))
    assert controller.wait_for_output("it is used when the node is configured", 60.0)
    assert state(robot.peer) == State.PRIMARY_STATE_UNCONFIGURED
    assert change(robot.peer, Transition.TRANSITION_CONFIGURE) and change(
        robot.peer, Transition.TRANSITION_ACTIVATE
    )
    np.testing.assert_allclose(robot.effort(), rd.gravity_forces(model, Q), atol=1e-9)


def test_a_configuration_that_has_failed_leaves_no_second_publisher_of_commands(robot, start):
    controller = start("controller", autostart=False, wrench_parts__joints=["nobody"])
    latched = robot.peer.publisher(String, "robot_description", LATCHED)
    latched.publish(String(data=robot_path(ROBOT).read_text()))
    assert controller.wait_for_output("a robot_description has arrived", 60.0)
    assert not change(robot.peer, Transition.TRANSITION_CONFIGURE)
    assert "nobody" in controller.output()
    nothing = ParameterValue(type=ParameterType.PARAMETER_STRING_ARRAY)
    request = SetParameters.Request(
        parameters=[Parameter(name="wrench_parts.joints", value=nothing)]
    )
    assert (
        robot.peer.call(SetParameters, f"{CONTROLLER}/set_parameters", request)
        .results[0]
        .successful
    )
    assert change(robot.peer, Transition.TRANSITION_CONFIGURE) and change(
        robot.peer, Transition.TRANSITION_ACTIVATE
    )
    robot.effort()
    assert len(robot.peer.node.get_publishers_info_by_topic("/effort_controller/commands")) == 1


def test_a_rotor_of_another_description_is_taken_over_and_one_that_was_set_stays(robot, start):
    start("controller", autostart=False, armature__elbow=0.3)
    latched = robot.peer.publisher(String, "robot_description", LATCHED)
    for inertia in (0.1, 0.2):
        described = rd.load_robot(ROBOT).description.with_joints(
            {"shoulder": inertia, "elbow": inertia}
        )
        latched.publish(
            String(data=rd.to_urdf(rd.load_robot(ROBOT).replace(description=described)))
        )
        robot.peer.spin_for(0.5)
        robot.peer.wait(
            lambda: change(robot.peer, Transition.TRANSITION_CONFIGURE), "the description"
        )
        request = GetParameters.Request(names=["armature.shoulder", "armature.elbow"])
        values = robot.peer.call(GetParameters, f"{CONTROLLER}/get_parameters", request).values
        assert [x.double_value for x in values] == [inertia, 0.3]
        assert change(robot.peer, Transition.TRANSITION_CLEANUP)


def test_gains_change_while_running_and_nonsense_is_refused_with_a_reason(robot, start, model):
    controller = start("controller", robot_description_file=ROBOT)
    robot.effort()
    first = model.joint_names[0]
    (good,) = set_parameters(robot.peer, **{f"gains__{first}__p": 50.0})
    assert good.successful
    assert controller.wait_for_output(f"gains.{first}.p not used: with robustness.enabled", 30.0)
    (good,) = set_parameters(robot.peer, robustness__bandwidth=1.0)
    assert good.successful
    robot.peer.wait(
        lambda: (
            robot.effort() is not None
            and "computed torque with 1 rad/s: robustness.bandwidth" in controller.output()
        ),
        "the new bandwidth",
    )
    for name, value, words in (
        (f"gains__{first}__p", -1.0, "0.0"),
        (f"gains__{first}__d", math.nan, "nan"),
        (f"gains__{first}__p", "three", "Give a number"),
        ("payload__mass", 2.0, "payload.link"),
        (f"gains__{first}__i", 1e6, "unstable"),
        ("law", "magic", "computed_torque"),
    ):
        (result,) = set_parameters(robot.peer, **{name: value})
        assert not result.successful
        assert words in result.reason, result.reason


def test_a_payload_is_carried_from_the_next_cycles_on_and_put_down_again(robot, start, model):
    start("controller", robot_description_file=ROBOT, blend_time=0.0)
    bare = robot.effort()
    link = model.link_names[-1]
    request = SetParameters.Request(
        parameters=[
            Parameter(
                name="payload.link",
                value=ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=link),
            )
        ]
    )
    robot.peer.call(SetParameters, f"{CONTROLLER}/set_parameters", request)
    (result,) = set_parameters(robot.peer, payload__mass=0.5)
    assert result.successful, result.reason
    at = rd.link_pose(model, Q, link)[:3, 3]
    jacobian = rd.jacobian(model, Q, link)
    expected = bare - jacobian[3:].T @ (0.5 * model.gravity)
    assert np.linalg.norm(at) > 0.0
    robot.peer.wait(
        lambda: np.allclose(robot.effort(), expected, atol=1e-6), "the payload to be carried"
    )
    set_parameters(robot.peer, payload__mass=0.0)
    robot.peer.wait(
        lambda: np.allclose(robot.effort(), bare, atol=1e-9), "the payload to be put down"
    )


def test_parameters_describe_themselves(robot, start, model):
    start("controller", robot_description_file=ROBOT)
    robot.effort()
    request = DescribeParameters.Request(names=[f"gains.{model.joint_names[0]}.p", "state_timeout"])
    gain, timeout = robot.peer.call(
        DescribeParameters, f"{CONTROLLER}/describe_parameters", request
    ).descriptors
    assert gain.type == ParameterType.PARAMETER_DOUBLE
    assert gain.floating_point_range[0].from_value == 0.0
    assert "[s]" in timeout.description


def test_what_cannot_be_followed_is_refused_and_the_arm_holds_on(robot, start, model):
    controller = start("controller", robot_description_file=ROBOT)
    holding = robot.effort()
    trajectories = robot.peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    robot.peer.subscribed(trajectories)
    point = JointTrajectoryPoint(positions=[0.0, 0.0])
    point.time_from_start.sec = 1
    refusals = (
        (["nobody", model.joint_names[1]], [point], "nobody"),
        (list(model.joint_names), [point, point], "strictly increasing"),
        (list(model.joint_names), [JointTrajectoryPoint(positions=[0.0, math.nan])], "nan"),
        (list(model.joint_names), [JointTrajectoryPoint(positions=[0.0])], "1 values for 2 joints"),
    )
    for count, (names, points, words) in enumerate(refusals, 1):
        trajectories.publish(JointTrajectory(joint_names=names, points=points))
        robot.peer.wait(
            lambda n=count: robot.reported("trajectory") >= n, f"the refusal of {words}"
        )
        np.testing.assert_allclose(robot.effort(), holding, atol=1e-9)
    assert controller.wait_for_output("nobody", 30.0)


def test_an_external_wrench_is_fed_forward_and_forgotten_after_its_timeout(robot, start, model):
    start("controller", robot_description_file=ROBOT, wrench_timeout=0.5, blend_time=0.0)
    holding = robot.effort()
    wrenches = robot.peer.publisher(WrenchStamped, f"{CONTROLLER}/external_wrench")
    robot.peer.subscribed(wrenches)
    message = WrenchStamped()
    message.header.frame_id = link = model.link_names[-1]
    message.wrench.force.x = 3.0
    message.wrench.force.y = -2.0
    message.wrench.torque.z = 0.5
    external = {link: np.array([0.0, 0.0, 0.5, 3.0, -2.0, 0.0])}
    expected = rd.inverse_dynamics(model, Q, np.zeros(2), np.zeros(2), external=external)
    assert np.abs(expected - holding).max() > 0.1

    def pushed() -> bool:
        wrenches.publish(message)
        return np.allclose(robot.effort(), expected, atol=1e-9)

    robot.peer.wait(pushed, "the wrench to be fed forward")
    robot.peer.wait(
        lambda: np.allclose(robot.effort(), holding, atol=1e-9), "the wrench to be forgotten"
    )
    message.header.frame_id = "no link"
    robot.peer.insist(
        wrenches,
        message,
        lambda: robot.reported("external_wrench"),
        "the refusal of an unknown link",
    )


def test_an_impedance_at_a_link_yields_in_the_world_and_is_changed_to_while_running(
    robot, start, model
):
    link = model.link_names[-1]
    start("controller", robot_description_file=ROBOT, blend_time=0.0, cartesian__link=link)
    gravity = robot.effort()
    (result,) = set_parameters(robot.peer, law="cartesian_impedance")
    assert result.successful, result.reason
    # at rest, where it is: nothing but gravity
    np.testing.assert_allclose(robot.effort(), gravity, atol=1e-6)
    (result,) = set_parameters(robot.peer, cartesian__link="nobody")
    assert not result.successful and "nobody" in result.reason
    (result,) = set_parameters(robot.peer, cartesian__link="")
    assert not result.successful and "cartesian_impedance" in result.reason


def test_a_contact_is_estimated_at_the_chosen_link(robot, start, model):
    """The efforts measured hold more than the arm's weight: something presses on the link."""
    link = model.link_names[-1]
    start("controller", robot_description_file=ROBOT, external_wrench_estimate__link=link)
    estimates: list[WrenchStamped] = robot.peer.listen(
        WrenchStamped, f"{CONTROLLER}/external_wrench_estimate"
    )
    robot.quiet()
    load = {link: np.array([0.0, 0.0, 0.0, 5.0, 0.0, 3.0])}
    zero = np.zeros(2)
    measured = rd.inverse_dynamics(model, Q, zero, zero, external=load)
    external = rd.gravity_forces(model, Q) - measured
    expected = rd.contact_wrench(model, Q, link, external)[0]

    def settled() -> bool:
        robot.say(robot.state(effort=measured.tolist()))
        if not estimates:
            return False
        force = estimates[-1].wrench.force
        return estimates[-1].header.frame_id == link and np.allclose(
            [force.x, force.y, force.z], expected[3:], atol=1e-3
        )

    assert np.abs(expected).max() > 1.0
    robot.peer.wait(settled, "the estimate")


def test_hold_is_refused_while_there_is_nothing_to_hold(peer, start):
    start("controller", robot_description_file=ROBOT)
    assert not peer.call(Trigger, f"{CONTROLLER}/hold", Trigger.Request()).success


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robot_description_file": "no_such_robot"}, "no_such_robot"),
        ({"robot_description_file": ROBOT, "state_timeout": "soon"}, "Give a number"),
        ({"robot_description_file": ROBOT, "state_timeout": -1.0}, "state_timeout"),
        ({"robot_description_file": ROBOT, "joints": ["nobody"]}, "nobody"),
        ({"robot_description_file": ROBOT, "command_format": "telepathy"}, "multi_array"),
        ({"robot_description_file": ROBOT, "cpu_affinity": [2**40]}, "cpu_affinity"),
    ],
)
def test_a_start_that_cannot_succeed_says_why_and_fails(start, parameters, words):
    controller = start("controller", **parameters)
    assert controller.wait(60.0) == 1
    assert words in controller.output()
    assert "Traceback" not in controller.output()


@pytest.mark.parametrize("kind", ["controller", "simulator", "effort_gate"])
def test_a_node_whose_start_has_failed_can_be_destroyed(domain, kind):
    """From Kilted on rclpy does that itself at the end."""
    from rclpy.context import Context
    from rclpy.parameter import Parameter as NodeParameter

    from robot_dynamics_ros.errors import RobotDynamicsError
    from robot_dynamics_ros.ros.controller.node import ControllerNode
    from robot_dynamics_ros.ros.effort_gate import EffortGateNode
    from robot_dynamics_ros.ros.simulator.node import SimulatorNode

    cls = {"controller": ControllerNode, "simulator": SimulatorNode, "effort_gate": EffortGateNode}[
        kind
    ]
    context = Context()
    context.init(domain_id=domain)
    try:
        node = cls.__new__(cls)
        with pytest.raises(RobotDynamicsError):
            node.__init__(
                context=context,
                parameter_overrides=[NodeParameter("robot_description_file", value=3)],
            )
        node.destroy_node()
    finally:
        context.try_shutdown()


def change_state(peer, transition: int, label: str = ""):
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    request = ChangeState.Request(transition=Transition(id=transition, label=label))
    return peer.call(ChangeState, f"{CONTROLLER}/change_state", request)


def test_transitions_that_the_state_does_not_have_are_answered_and_do_no_harm(robot, start):
    controller = start("controller", robot_description_file=ROBOT)
    robot.effort()
    for transition, label in ((1, ""), (99, ""), (255, ""), (0, ""), (4, "no_such_label")):
        assert not change_state(robot.peer, transition, label).success
    robot.effort()
    # from Kilted on rclpy says so itself
    texts = ("a request to", "Unable to start transition")
    robot.peer.wait(lambda: any(text in controller.output() for text in texts), "a log line")
    assert "Traceback" not in controller.output()


def test_parameters_that_nobody_could_have_meant_are_answered(robot, start):
    from rcl_interfaces.msg import Parameter as ParameterMessage
    from rcl_interfaces.msg import ParameterValue
    from rcl_interfaces.srv import SetParameters

    start("controller", robot_description_file=ROBOT)
    robot.effort()
    for name, kind in (
        ("law", 77),
        ("", 3),
        ("joints", 2),
        ("gains.shoulder.p", 9),
        ("no such thing", 2),
    ):
        request = SetParameters.Request(
            parameters=[ParameterMessage(name=name, value=ParameterValue(type=kind))]
        )
        response = robot.peer.call(SetParameters, f"{CONTROLLER}/set_parameters", request)
        assert not any(result.successful for result in response.results), (name, kind)
    robot.effort()


def test_every_parameter_can_be_read_and_what_was_read_starts_the_same_node(robot, start, tmp_path):
    """What ``ros2 param dump`` does, lists without entries included."""
    import yaml
    from rcl_interfaces.msg import ParameterType
    from rcl_interfaces.srv import GetParameters, ListParameters
    from rclpy.parameter import parameter_value_to_python

    def read():
        names = robot.peer.call(
            ListParameters, f"{CONTROLLER}/list_parameters", ListParameters.Request()
        ).result.names
        values = robot.peer.call(
            GetParameters, f"{CONTROLLER}/get_parameters", GetParameters.Request(names=names)
        )
        # rclpy's idea of []
        assert not any(v.type == ParameterType.PARAMETER_BYTE_ARRAY for v in values.values)
        found = {n: parameter_value_to_python(v) for n, v in zip(names, values.values, strict=True)}
        return {
            n: list(v) if not isinstance(v, (str, int, float, bool, type(None))) else v
            for n, v in found.items()
        }

    controller = start("controller", robot_description_file=ROBOT, gains__shoulder__p=77)
    robot.effort()
    first = read()
    assert len(first) > 50
    assert None not in first.values()
    assert first["joints"] == [] and first["gains.shoulder.p"] == 77
    controller.stop()
    file = tmp_path / "dump.yaml"
    file.write_text(yaml.safe_dump({CONTROLLER: {"ros__parameters": first}}))
    second = start("controller", params_file=file)
    robot.peer.wait(lambda: "active; holding" in second.output(), "the second controller")
    assert read() == first
    assert "unknown parameter" not in second.output()


def test_unknown_parameters_are_named_with_the_nearest_known_one(robot, start, tmp_path):
    file = tmp_path / "given.yaml"
    file.write_text(
        f"{CONTROLLER}:\n  ros__parameters:\n    gains.sholder.p: 5.0\n    stat_timeout: 0.2\n   "
        " update_rate: 500\n"
    )
    controller = start("controller", robot_description_file=ROBOT, params_file=file)
    robot.effort()
    expected = "unknown parameter 'gains.sholder.p' is ignored; did you mean 'gains.shoulder.p'?"
    assert controller.wait_for_output(expected, 30.0)
    assert controller.wait_for_output("did you mean 'state_timeout'?", 30.0)
    # the simulator's, from a file for both
    assert "update_rate" not in controller.output()


def test_a_broken_parameter_file_gives_its_line(start, tmp_path):
    file = tmp_path / "broken.yaml"
    file.write_text("a:\n  b: 1\n c: 2\n")
    controller = start("controller", robot_description_file=ROBOT, params_file=file)
    assert controller.wait(60.0) == 1
    assert "broken.yaml, line 3" in controller.output()
    assert "Traceback" not in controller.output()


def test_numbers_that_cannot_be_meant_are_refused_on_entry(robot, start, model):
    from geometry_msgs.msg import WrenchStamped
    from trajectory_msgs.msg import JointTrajectoryPoint

    controller = start("controller", robot_description_file=ROBOT)
    robot.effort()
    points = robot.peer.publisher(JointTrajectoryPoint, f"{CONTROLLER}/joint_references")
    wrenches = robot.peer.publisher(WrenchStamped, f"{CONTROLLER}/external_wrench")
    robot.peer.subscribed(points)
    robot.peer.subscribed(wrenches)
    point = JointTrajectoryPoint(positions=[0.0, 0.0], velocities=[1e300, 0.0])
    robot.peer.insist(
        points,
        point,
        lambda: "velocities: 1e+300" in controller.output(),
        "the refusal of a velocity",
    )
    message = WrenchStamped()
    message.header.frame_id = model.link_names[-1]
    message.wrench.force.x = 1e300
    robot.peer.insist(
        wrenches,
        message,
        lambda: "component of 1e+300" in controller.output(),
        "the refusal of a wrench",
    )
    robot.effort()
    assert "fault" not in controller.output()
