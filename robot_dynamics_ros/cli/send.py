"""``robot_dynamics send``: the running controller moves the arm; the exit code tells whether it
arrived.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.cli import arguments as take
from robot_dynamics_ros.cli.arguments import coordinate_or_name, option
from robot_dynamics_ros.cli.hold import add_namespace
from robot_dynamics_ros.cli.output import LONGEST_SILENCE, Progress, remark, result
from robot_dynamics_ros.cli.robots import (
    TOPIC,
    add_robot,
    configuration_argument,
    load_model,
)
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.reference import planning
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.installation import need_ros

if TYPE_CHECKING:
    from robot_dynamics_ros.ros.controller_client import ControllerClient

# s from sending a trajectory to its start
SEND_LEAD = 0.3
# s in which the newest joint state is heard
STATES_HEARD_S = 0.1
# s that controller and joint states may take to appear
APPEARANCE_PATIENCE = 15.0
# s that the controller may take to accept or refuse
ANSWER_PATIENCE = 5.0
# s after its end within which the controller must have said what became of the motion
END_PATIENCE = 5.0
# rad/s or m/s: a joint that is no faster stands
HOLDING_SPEED = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, default=TOPIC)
    add = partial(option, parser)
    add(
        "--to", coordinate_or_name, "move there: all coordinates, or a name", nargs="+", metavar="Q"
    )
    add("--tour", None, "visit waypoints at random within the limits, and come back")
    add("--seed", take.seed, "of the tour", 7)
    add("--duration", take.positive, "s (default: the shortest that half of the limits allow)")
    add("--tolerance", take.not_negative, "rad or m that count as arrived", 0.01)
    add_namespace(parser)


def run(options: argparse.Namespace) -> int:
    """Plan from where the arm is, send, wait; 1 if it has not arrived."""
    if bool(options.to) == bool(options.tour):
        raise RobotDynamicsError(
            "no motion is named, or two", where="send", remedy="Give --to Q …, or --tour."
        )
    need_ros("send")
    if options.namespace and options.robot == TOPIC:
        options.robot = f"/{options.namespace.strip('/')}/{TOPIC}"
    model = check_controllable(load_model(options))
    from robot_dynamics_ros.ros.controller_client import ControllerClient

    with ControllerClient(model.joint_names, namespace=options.namespace) as client:
        _wait_for_controller(client)
        motion = _planned(model, options, client.state.position.copy())
        try:
            failure = _sent(client, model, motion, options.tolerance)
        except KeyboardInterrupt:
            _end_motion(client)
            raise
    left = np.abs(client.state.position - motion.waypoints[-1])
    i = int(np.argmax(left))
    unit = model.joint(model.joint_names[i]).type.units[0]
    where = f"{model.joint_names[i]} is {left[i]:.3g} {unit} from the goal"
    if not failure and left[i] > options.tolerance:
        failure = where
    text = f"NOT ARRIVED {failure}" if failure else f"arrived     {where}"
    data = {"arrived": not failure, "reason": failure, "duration": motion.duration}
    result(options, {**data, "goal_error": left}, text)
    return 1 if failure else 0


def _end_motion(client: ControllerClient) -> None:
    """The command is ended by a signal: the motion that it may have sent ends, too."""
    try:
        done, text = client.hold()
    except RobotDynamicsError as error:
        done = False
        text = str(error)
    said = "the arm is held where it is" if done else f"THE ARM MAY STILL MOVE: {text}"
    print(said, file=sys.stderr)


def _wait_for_controller(client: ControllerClient) -> None:
    """Until joint states and the controller are there; an error if they are not in time."""
    started = time.monotonic()
    while not client.spin_until(client.ready, LONGEST_SILENCE):
        seconds = time.monotonic() - started
        if seconds > APPEARANCE_PATIENCE:
            missing = "joint states" if not client.state.stamp else "controller"
            raise RobotDynamicsError(
                f"no {missing} within {seconds:.0f} s",
                where="send",
                remedy="Start robot and controller, in the same ROS_DOMAIN_ID and namespace.",
            )
        remark(f"waiting for joint states and the controller, {seconds:.0f} s")


def _planned(
    model: RobotModel,
    options: argparse.Namespace,
    start: Array,
) -> planning.PlannedMotion:
    """The motion that was asked for, from where the arm is."""
    if options.tour:
        return planning.plan_motion(
            model, start, duration=options.duration or 0.0, seed=options.seed
        )
    goal = configuration_argument(model, options.to, "--to")
    planning.check_within_limits(model, goal, "--to")
    motion = planning.motion_through(model, np.vstack([start, goal]))
    if options.duration is None:
        return motion
    if options.duration < motion.duration:
        remark(f"the limits ask for {motion.duration:.3g} s: it takes that long")
        return motion
    times = np.array([0.0, options.duration])
    return planning.motion_through(model, np.vstack([start, goal]), times=times)


def _sent(
    client: ControllerClient,
    model: RobotModel,
    motion: planning.PlannedMotion,
    tolerance: float,
) -> str:
    """Send the motion and wait for its end; why it has not been followed, or ``""``."""
    from robot_dynamics_ros.cli.rehearsal import path_bound
    from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_message
    from robot_dynamics_ros.ros.controller_client import SENT

    times = motion.times
    speeds = motion.at(times, 1)
    accelerations = motion.at(times, 2)
    # planning may have taken seconds: the motion begins after the newest state, not the last heard
    client.spin_until(lambda: False, STATES_HEARD_S)
    start = client.state.stamp + round(SEND_LEAD * 1e9)
    message = trajectory_message(
        motion.joint_names, times, motion.waypoints, speeds, accelerations, start
    )
    client.send(message)
    if not client.spin_until(lambda: client.trajectory_status != SENT, ANSWER_PATIENCE):
        return "the controller does not answer"
    worst = np.zeros(model.nv)
    with Progress("moving", motion.duration) as progress:

        def over() -> bool:
            t = (client.state.stamp - start) * 1e-9
            off = np.abs(motion.at(np.array(t)) - client.state.position)
            np.maximum(worst, off, out=worst)
            progress.update(t)
            word = client.trajectory_status.partition(":")[0]
            standing = np.abs(client.state.velocity).max() < HOLDING_SPEED
            return bool(client.refused) or (word == "succeeded" and standing)

        done = client.spin_until(over, SEND_LEAD + 2.0 * motion.duration + END_PATIENCE)
    if client.refused:
        return str(client.refused)
    if not done:
        return "the controller has not said that the motion is done"
    bound = path_bound(motion.at(np.linspace(0.0, motion.duration, 200)), tolerance)
    k = int(np.argmax(worst / bound))
    if worst[k] > bound[k]:
        unit = model.joint(model.joint_names[k]).type.units[0]
        return f"{model.joint_names[k]} has left its path by {worst[k]:.3g} {unit}"
    return ""
