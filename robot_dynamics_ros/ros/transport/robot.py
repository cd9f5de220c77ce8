"""The robot's description, from a parameter, a file or a topic; and the model that a node works
with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import rclpy
from rclpy.exceptions import InvalidTopicNameException
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, UrdfError, check_name
from robot_dynamics_ros.model.checks import DEFAULT_POLICY, INERTIA_POLICIES
from robot_dynamics_ros.model.library import find_robot
from robot_dynamics_ros.model.measured_effort import EFFORT_MEANINGS, MeasuredEffort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import MAX_BYTES, load_urdf, parse_urdf
from robot_dynamics_ros.model.urdf_source import read_source
from robot_dynamics_ros.ros.transport.parameters import (
    Param,
    ParameterSet,
    ParameterValues,
    check_joints,
    parameter_table,
)
from robot_dynamics_ros.ros.transport.qos import LATCHED

# s: a source that gives no description for so long is an error.
_DESCRIPTION_PATIENCE_S = 5.0
_READ = "when the description is read"
_ARMATURE = "Inertia of rotor and gears as felt at the joint."

ROBOT_PARAMETERS = parameter_table(
    "common", "robot", {"inertia_check": INERTIA_POLICIES}, {"inertia_check": DEFAULT_POLICY}
)


def load_robot_model(
    description: str,
    values: ParameterSet,
    logger: RcutilsLogger,
) -> RobotModel:
    """Load the robot; declares one ``armature.<joint>`` parameter a moving joint, since URDF has no
    element for it.

    Findings about the description go to the log.
    """
    policy = values["inertia_check"]
    robot = parse_urdf(description, inertia_check=policy)
    moving = [joint for joint in robot.joints if joint.type.nv == 1 and joint.mimic is None]
    values.declare(
        Param(
            f"armature.{joint.name}",
            float(joint.armature),
            _ARMATURE,
            unit="kg m^2 or kg",
            lower=0.0,
            applies=_READ,
        )
        for joint in moving
    )
    given = {joint.name: (values[f"armature.{joint.name}"], joint.armature) for joint in moving}
    armature = {name: value for name, (value, described) in given.items() if value != described}
    with warnings.catch_warnings(record=True) as findings:
        warnings.simplefilter("always")
        model = load_urdf(
            description,
            gravity=values["gravity"] or (0.0, 0.0, -9.81),
            inertia_check=policy,
            armature=armature or None,
        )
    for finding in findings:
        logger.warning(str(finding.message))
    # those that mimic a locked joint are locked with it
    locked = [n for n in values["locked_joints"] if n in model.joint_names]
    start = model.initial_configuration()
    if locked:
        return model.lock(locked, {name: start[model.q_slice(name)] for name in locked})
    return model


def commanded_joints(values: ParameterValues, model: RobotModel) -> tuple[str, ...]:
    """The joints that the parameter ``joints`` names, in its order; all of the robot if it names
    none.
    """
    check_joints(values["joints"])
    for name in values["joints"]:
        check_name("joint", name, model.joint_names, where="parameter 'joints'")
    return values["joints"] or model.joint_names


MEASURED_EFFORT, MEASURED_EFFORT_FACTOR = parameter_table(
    "common", "measured_effort", {"measured_effort": EFFORT_MEANINGS}
)


def measured_effort(values: ParameterValues, model: RobotModel) -> MeasuredEffort:
    factors = np.array(
        [values.get(f"measured_effort_factor.{name}", 0.0) for name in model.joint_names]
    )
    listed = factors != 0.0
    return MeasuredEffort(
        values["measured_effort"], np.where(listed, factors, 1.0) if listed.any() else None
    )


def read_description_file(name: str) -> str:
    """Text of a URDF or xacro file, or of a robot that ships with the package."""
    path, arguments = find_robot(name)
    text, where = read_source(path, max_bytes=MAX_BYTES, xacro_arguments=arguments)
    try:
        if isinstance(text, str):
            text = text
        else:
            text = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UrdfError(
            f"it is not UTF-8 text ({error})", where=where, remedy="Save the file as UTF-8."
        ) from None
    if not text.strip():
        raise UrdfError("it is empty", where=where, remedy="Write the robot's description to it.")
    return text


class DescriptionSource:
    """Finds the description; ``changed`` is called with each new text from the topic, not with that
    of parameters.

    Attributes:
        text: the description, or ``""`` while none is known.
        origin: where it came from, for people.
        folder: of its file; ``None`` if it came from no file.
    """

    def __init__(
        self,
        node: Node,
        parameters: ParameterSet,
        changed: Callable[[str], None],
    ) -> None:
        self.text = ""
        self.origin = "topic robot_description"
        self.folder: Path | None = None
        self._changed = changed
        self._log = node.get_logger()
        if parameters["robot_description"]:
            self.text = parameters["robot_description"]
            self.origin = "parameter robot_description"
        elif parameters["robot_description_file"]:
            name = parameters["robot_description_file"]
            self.text = read_description_file(name)
            self.origin = f"file {name}"
            self.folder = find_robot(name)[0].parent
        else:
            node.create_subscription(String, "robot_description", self._on_message, LATCHED)
            if "robot_description" in node._parameter_overrides:
                self._log.warning(
                    "the parameter robot_description is empty; the topic robot_description is used"
                )
            # the description's own parameter may be misspelt
            parameters.report_unknown(None)

    def _on_message(self, message: String) -> None:
        if not message.data.strip():
            self._log.warning("an empty robot_description has arrived; it is not used")
        elif message.data != self.text:
            self.text = message.data
            self._changed(message.data)


class FirstDescription(DescriptionSource):
    """The description of a node that works with the first one that it can ``use``, and reports
    others.
    """

    def __init__(
        self,
        node: Node,
        parameters: ParameterSet,
        use: Callable[[str], None],
        report: Callable[[str, str], None],
    ) -> None:
        super().__init__(node, parameters, self._arrived)
        self._use = use
        self._report = report
        self.in_use = False

    def begin(self, until_then: str = "") -> None:
        """Use the description that parameters give, an error if it cannot be used; without one, say
        that it is waited for.
        """
        if self.text:
            self._use(self.text)
            self.in_use = True
        else:
            self._log.info("waiting for a description on the topic robot_description" + until_then)

    def _arrived(self, text: str) -> None:
        if self.in_use:
            self._report(
                "description_changed", "another robot_description has arrived; it is not used"
            )
            return
        try:
            self._use(text)
            self.in_use = True
        except RobotDynamicsError as error:
            self._log.error(f"cannot use the robot of {self.origin}: {error}")


def wait_for_description(topic: str) -> str:
    """Text of the description latched on ``topic``; an ArgumentError if no topic has such a name,
    or nothing came in 5 s.
    """
    context = rclpy.Context()
    rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node("robot_description_reader", context=context)
        found, message = wait_for_message(
            String, node, topic, qos_profile=LATCHED, time_to_wait=_DESCRIPTION_PATIENCE_S
        )
        node.destroy_node()
    except InvalidTopicNameException as error:
        problem = str(error).splitlines()[0].rstrip(":")
        remedy = (
            "For example /left/robot_description; a file needs a name that does not end in "
            "/robot_description."
        )
        raise ArgumentError(
            problem, where=f"topic {topic[:80]!r}", got=topic, remedy=remedy
        ) from None
    finally:
        rclpy.try_shutdown(context=context)
    if not found:
        problem = f"no description came within {_DESCRIPTION_PATIENCE_S:g} s"
        remedy = (
            "Check that robot_state_publisher or the simulator runs in this ROS_DOMAIN_ID, or "
            "name a file."
        )
        raise ArgumentError(problem, where=f"topic {topic!r}", got=topic, remedy=remedy)
    return str(message.data)
