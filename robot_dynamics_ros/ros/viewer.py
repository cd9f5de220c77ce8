"""The viewer as a node: topics of robots in, pages out, and requests of people to controller and
simulator.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Point, WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA, Header, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics_ros.control.cycle.message import FARTHEST, FASTEST, STRONGEST
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import read_looks
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_message
from robot_dynamics_ros.ros.transport.parameters import (
    APPLIES_LATER,
    ParameterSet,
    ParameterValues,
    parameter_table,
)
from robot_dynamics_ros.ros.transport.qos import EVENT, LATCHED, NEWEST, STATE
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.transport.robot import (
    ROBOT_PARAMETERS,
    DescriptionSource,
    load_robot_model,
)
from robot_dynamics_ros.ros.transport.stamps import to_nanoseconds, to_time
from robot_dynamics_ros.ros.transport.topics import spatial_wrench, topic_token
from robot_dynamics_ros.view.arrows import (
    Arrows,
    external_arrows,
    joint_arrows,
    link_arrows,
    noise_of,
    robot_size,
    sensible_scale,
)
from robot_dynamics_ros.view.colours import EXTERNAL, FORCE, MOMENT
from robot_dynamics_ros.view.source import (
    WANTED,
    Adjustable,
    Controls,
    Shown,
    Source,
    smooth_motion,
)
from robot_dynamics_ros.view.viewer import Viewer

# s between velocities whose difference is taken
_LEAST_VELOCITY_STEP_S = 0.02
_KEPT = ("external", "contacts", "estimated", "published", "reference")
# s after which a wrench or a reference that came by topic is no longer shown
_FRESH = 0.5
# s after which a report that should come every second is no longer shown
_REPORTED = 5.0
# a gain's slider ends at this many times the value it had
_MOST_GAIN = 4.0


class LiveState:
    """The newest position, velocity and effort of every joint.

    Unlike a control law a viewer can do with less: joints that a message does not name stay where
    they are, velocities that are missing are differences of positions, efforts may be unknown.

    Attributes:
        t: s, stamp of the newest message, or its arrival where it has none.
        q, v: (nq,), (nv,).
        efforts: (nv,), or ``None`` unless all are known.
    """

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.t = 0.0
        self.q: Array = model.initial_configuration()
        self.v: Array = np.zeros(model.nv)
        self.efforts: Array | None = None
        self._index = {
            name: (model.q_slice(name).start, model.v_slice(name).start)
            for name in model.joint_names
            if model.joint(name).type.nq == 1
        }
        self._before: tuple[float, Array, Array] | None = None

    def take(self, message: JointState, arrival: float) -> None:
        """Take a ``sensor_msgs/JointState``; after an ArgumentError about it the last state
        stays.
        """
        names = list(message.name)
        known = [(row, *self._index[name]) for row, name in enumerate(names) if name in self._index]
        if not known:
            text = "the message has none of the robot's joints"
            remedy = "Check the topic and the namespace."
            raise ArgumentError(text, where="joint_states", got=names[:20], remedy=remedy)
        for field in ("position", "velocity", "effort"):
            size = len(getattr(message, field))
            if size not in (0, len(names)) or (field == "position" and not size):
                text = f"{field} has {size} values for {len(names)} names"
                raise ArgumentError(
                    text, where="joint_states", remedy="Give as many values as names, or none."
                )
        t = to_nanoseconds(message.header.stamp) * 1e-9 or arrival
        q = self.q.copy()
        v = self.v.copy()
        efforts = np.full(self.model.nv, math.nan)
        rows, i, j = np.array(known).T
        q[i] = np.array(message.position)[rows]
        for row, position in zip(rows, q[i], strict=True):
            if not abs(position) <= FARTHEST:
                remedy = (
                    f"Positions have to be numbers up to {FARTHEST:g}; leave out joints that are "
                    "not known."
                )
                text = f"the position of joint {names[row]!r} is {position}"
                raise ArgumentError(text, where="joint_states", remedy=remedy)
        passed = t - self.t
        v[j] = (
            (q[i] - self.q[i]) / passed if self._before is not None and 1e-4 < passed < 1.0 else 0.0
        )
        if len(message.velocity):
            velocity = np.array(message.velocity)[rows]
            v[j] = np.where(np.abs(velocity) <= FASTEST, velocity, v[j])
        if len(message.effort):
            efforts[j] = np.array(message.effort)[rows]
        if self._before is None or passed < 0.0:
            self._before = (t, q, v)
        elif self.t - self._before[0] >= _LEAST_VELOCITY_STEP_S:
            self._before = (self.t, self.q, self.v)
        self.t = t
        self.q = q
        self.v = v
        if (np.abs(efforts) <= STRONGEST).all():
            self.efforts = efforts
        else:
            self.efforts = None

    def message(self, header: Header) -> JointState:
        """The newest state with the joints in the model's order; no efforts unless all are
        known.
        """
        i, j = np.array([*self._index.values()], dtype=int).reshape(-1, 2).T
        q = self.q[i].tolist()
        v = self.v[j].tolist()
        if self.efforts is None:
            efforts = []
        else:
            efforts = self.efforts[j].tolist()
        return JointState(
            header=header, name=tuple(self._index), position=q, velocity=v, effort=efforts
        )

    def acceleration(self) -> Array:
        """(nv,) difference of velocities over the last pictures: right with contacts and stops that
        no model knows of.
        """
        if self._before is None or not 1e-4 < self.t - self._before[0] < 0.5:
            return np.zeros(self.model.nv)
        return (self.v - self._before[2]) / (self.t - self._before[0])


class LiveRobot(Source):
    """States of a robot from its topics, newest first.

    Args:
        namespace: of its topics, ``""`` for the node's own.
        values: parameters of the viewer, of which ``controller``, ``simulator`` and ``wrenches``
            are used.
    """

    def __init__(
        self,
        node: Node,
        model: RobotModel,
        namespace: str,
        values: ParameterValues,
        rejections: Rejections,
    ) -> None:
        self.model = model
        self.name = namespace or model.name
        self.pulled: dict[str, Array] = {}
        self.answer = ""
        self._node = node
        self._rejections = rejections
        self._wrenches = values["wrenches"]
        self._state = LiveState(model)
        self._lock = threading.Lock()
        self._shown: Shown | None = None
        # newer than that, its wrenches not computed yet
        self._unseen: Shown | None = None
        self._heard = 0.0
        self._count = 0
        self._status = (0.0, "waiting for joint states")
        # what came by topic and when: wrenches by link or joint, the reference by itself
        self._kept: dict[str, dict[str, tuple[float, Array]]] = {name: {} for name in _KEPT}
        # of the controller and of commissioning
        self._reports: dict[str, tuple[float, str]] = {}
        controller, simulator = (values[node] for node in ("controller", "simulator"))
        space = namespace.strip("/")
        self.topic_of = topic_of = (lambda name: f"/{space}/{name}") if space else str
        # for plots that know a joint by its place in the message only
        self._ordered = node.create_publisher(
            JointState, own_topic("joint_states", namespace), NEWEST
        )
        subscribe = node.create_subscription

        def wrench(kept: str, topic: str, joint: str = "") -> Subscription:
            return subscribe(
                WrenchStamped, topic_of(topic), partial(self._on_wrench, kept, joint), NEWEST
            )

        reporting = {"controller": topic_of(controller), "commissioning": topic_of("commissioning")}
        self._subscriptions = [
            subscribe(JointState, topic_of("joint_states"), self._on_state, NEWEST),
            subscribe(
                DiagnosticArray, "/diagnostics", partial(self._on_diagnostics, reporting), STATE
            ),
            *(wrench("external", f"{name}/external_wrench") for name in (controller, simulator)),
        ]
        reference = topic_of(f"{controller}/reference")
        # these are published only while somebody listens, and that takes the controller's or the
        # simulator's time
        self._layers_on = dict.fromkeys(WANTED, False)
        self._on_request: dict[str, list[Subscription]] = {}
        self._requests: dict[str, Callable[[], list[Subscription]]] = {
            "reference": lambda: [subscribe(JointState, reference, self._on_reference, NEWEST)],
            "estimated": lambda: [wrench("estimated", f"{controller}/external_wrench_estimate")],
            "contacts": lambda: [
                wrench("contacts", f"{simulator}/contact_wrenches/{topic_token(link)}")
                for link in model.link_names
            ],
        }
        if self._wrenches == "published":
            prefix = f"{controller}/joint_wrenches"
            joints = {name: f"{prefix}/{topic_token(name)}" for name in model.joint_names}
            self._subscriptions += [wrench("published", joints[name], name) for name in joints]

    def _on_diagnostics(self, nodes: Mapping[str, str], message: DiagnosticArray) -> None:
        for word, node in nodes.items():
            if node.startswith("/"):
                name = node
            else:
                name = f"{self._node.get_namespace()}/{node}"
            for status in message.status:
                if status.name == f"{name.strip('/')}: status":
                    lines = [
                        f"{word}: {status.message}"
                        + (" ⚠" if status.level != DiagnosticStatus.OK else "")
                    ]
                    lines += [
                        f"{pair.key}: {pair.value}"
                        for pair in status.values
                        if word == "commissioning"
                    ]
                    self._reports[word] = time.monotonic(), "\n".join(lines)

    def _on_wrench(self, kept: str, joint: str, message: WrenchStamped) -> None:
        """Keep a joint's wrench, or that on the link which the message names."""
        try:
            name = joint or message.header.frame_id
            if not joint:
                self.model.link_index(name)
            self._kept[kept][name] = (time.monotonic(), spatial_wrench(message))
        except RobotDynamicsError as error:
            self._rejections.report("wrench", f"a wrench is not shown: {error}")

    def _fresh(self, kept: str, now: float) -> dict[str, Array]:
        return {name: row for name, (t, row) in tuple(self._kept[kept].items()) if now - t < _FRESH}

    def _on_reference(self, message: JointState) -> None:
        q = self._state.q.copy()
        try:
            for name, position in zip(message.name, message.position, strict=False):
                q[self.model.q_slice(name)] = position
        except RobotDynamicsError:
            # another robot's
            return
        if np.isfinite(q).all():
            self._kept["reference"]["q"] = (time.monotonic(), q)

    def _on_state(self, message: JointState) -> None:
        now = time.monotonic()
        try:
            self._state.take(message, now)
        except RobotDynamicsError as error:
            self._rejections.report("joint_states", f"a joint state is not shown: {error}")
            return
        self._heard = now
        self._count += 1
        if self._ordered.get_subscription_count():
            self._ordered.publish(self._state.message(message.header))
        external, estimated, contacts = (
            {link: wrench for link, wrench in self._fresh(kept, now).items() if wrench.any()}
            for kept in ("external", "estimated", "contacts")
        )
        external |= self.pulled
        for link, wrench in contacts.items():
            external[link] = external.get(link, 0.0) + wrench
        s = self._state
        reference = self._fresh("reference", now).get("q")
        with self._lock:
            self._unseen = Shown(
                s.t, s.q, s.v, s.acceleration(), s.efforts, None, external, estimated, reference
            )

    def _arrows(self, s: Shown) -> Arrows | None:
        m = self.model
        if self._wrenches == "none" or not m.joint_names:
            return None
        if self._wrenches == "computed":
            return joint_arrows(m, s.q, s.v, s.a, s.external or None)
        fresh = self._fresh("published", time.monotonic())
        names = tuple(name for name in m.joint_names if name in fresh)
        rows = np.array([fresh[name] for name in names]).reshape(-1, 6)
        return link_arrows(m, s.q, names, [m.joint(name).child for name in names], rows)

    def state(self) -> Shown | None:
        """See :class:`~robot_dynamics_ros.view.source.Source`; joint wrenches are computed for
        whoever asks first.
        """
        with self._lock:
            if self._unseen is not None:
                self._shown = replace(self._unseen, wrenches=self._arrows(self._unseen))
                self._unseen = None
            return self._shown

    def status(self) -> str:
        now = time.monotonic()
        if now - self._status[0] >= 1.0:
            if self._shown is None and self._unseen is None:
                text = "waiting for joint states"
            elif now - self._heard > 1.0:
                text = f"no joint state for {now - self._heard:.0f} s ⚠"
            else:
                text = f"live, {self._count / (now - self._status[0]):.0f} states a second shown"
            self._count = 0
            reports = [report for t, report in tuple(self._reports.values()) if now - t < _REPORTED]
            self._status = (now, "\n".join([text, *reports]))
        return self._status[1]

    def want(self, what: str, wanted: bool) -> None:
        """See :class:`~robot_dynamics_ros.view.source.Source`; :meth:`tick` does it."""
        self._layers_on[what] = wanted

    def tick(self) -> None:
        """Subscribe to what somebody looks at, in the node's own thread."""
        for layer, is_on in self._layers_on.items():
            if is_on and layer not in self._on_request:
                self._on_request[layer] = self._requests[layer]()
            elif not is_on and layer in self._on_request:
                for subscription in self._on_request.pop(layer):
                    self._node.destroy_subscription(subscription)

    def close(self) -> None:
        self._layers_on = dict.fromkeys(self._layers_on, False)
        self.tick()
        self._node.destroy_publisher(self._ordered)
        while self._subscriptions:
            self._node.destroy_subscription(self._subscriptions.pop())


class LiveControls(Controls):
    """Requests of a page to the controller and the simulator of a :class:`LiveRobot`, which
    receives answers and pulls.

    Methods are called by the page's threads, :meth:`tick` and what follows by the node's.
    """

    def __init__(self, node: Node, robot: LiveRobot, values: ParameterValues) -> None:
        self._node = node
        self._robot = robot
        self._model = robot.model
        controller = robot.topic_of(values["controller"])
        simulator = robot.topic_of(values["simulator"])
        self._lock = threading.Lock()
        self._pull: tuple[str, Array] | None = None
        self._adjustables: tuple[Adjustable, ...] = ()
        self._asked = 0.0
        self._carrier = self._model.link_names[-1]
        topics = {
            "hold": f"{controller}/hold",
            "reset": f"{simulator}/reset_world",
            "step": f"{simulator}/step",
        }
        self._services = {
            name: node.create_client(Trigger, topic) for name, topic in topics.items()
        }
        self._services["pause"] = node.create_client(SetBool, f"{simulator}/set_pause")
        self._parameters = AsyncParameterClient(node, controller)
        self._trajectories = node.create_publisher(
            JointTrajectory, f"{controller}/joint_trajectory", EVENT
        )
        self._pushes = node.create_publisher(WrenchStamped, f"{simulator}/external_wrench", EVENT)

    def _call(
        self,
        service: str,
        request: object,
        sentence_of: Callable[..., str | None] | None = None,
    ) -> str:
        client = self._services[service]
        if not client.service_is_ready():
            return f"{service}: nobody on the network offers {client.srv_name}"
        self._await(service, client.call_async(request), sentence_of or partial(_sentence, service))
        return f"{service} …"

    def _await(
        self,
        service: str,
        answer: Future,
        sentence_of: Callable[..., str | None],
    ) -> None:
        def done(future: Future) -> None:
            try:
                self._robot.answer = sentence_of(future.result()) or self._robot.answer
            # whatever the other side or the middleware raises is shown to the user
            except Exception as error:  # noqa: BLE001
                self._robot.answer = f"{service}: {error}"

        answer.add_done_callback(done)

    def hold(self) -> str:
        return self._call("hold", Trigger.Request())

    def reset(self) -> str:
        return self._call("reset", Trigger.Request())

    def pause(self, paused: bool) -> str:
        def sentence_of(answer: SetBool.Response) -> str:
            if answer.success:
                self.paused = paused
            else:
                self.paused = self.paused
            return _sentence("pause", answer)

        return self._call("pause", SetBool.Request(data=paused), sentence_of)

    def step(self) -> str:
        return self._call("step", Trigger.Request())

    def move_along(self, points: Sequence[tuple[Array, float]]) -> str:
        if not self._trajectories.get_subscription_count():
            return f"nobody on the network listens to {self._trajectories.topic_name}"
        model = self._model
        names = [name for name in model.joint_names if model.joint(name).type.nq == 1]
        shown = self._robot.state()
        if shown is None:
            return "no joint state has arrived yet"
        index = [model.q_slice(name).start for name in names]
        times, positions, velocities = smooth_motion(
            shown.q[index], [(q[index], seconds) for q, seconds in points]
        )
        self._trajectories.publish(trajectory_message(names, times, positions, velocities, None, 0))
        return f"on the way, {times[-1]:g} s"

    def answer(self) -> str:
        return self._robot.answer

    def carry(self, link: str) -> str:
        self._carrier = link
        return f"the payload will be on {link}: set its mass now"

    def pull(self, link: str, wrench: Array | None) -> None:
        with self._lock:
            if wrench is None:
                self._pull = None
            else:
                self._pull = (link, np.asarray(wrench, dtype=float))
            if wrench is None:
                self._push(link, np.zeros(6))
        if wrench is None:
            self._robot.pulled = {}
        else:
            self._robot.pulled = {link: np.asarray(wrench, dtype=float)}

    def adjustables(self) -> Sequence[Adjustable]:
        return self._adjustables

    def adjust(self, name: str, value: float) -> str:
        item = next((a for a in self._adjustables if a.name == name), None)
        if item is None or not item.lower <= value <= item.upper:
            return f"{name}: {value:g} is outside its limits"
        parameters = [Parameter(name, value=float(value))]
        if name == "payload.mass" and value > 0.0:
            parameters.append(Parameter("payload.link", value=self._carrier))

        def adjusted(answer: SetParametersAtomically.Response) -> str:
            if not answer.result.successful:
                return f"{name}: {answer.result.reason}"
            self._adjustables = tuple(
                replace(a, value=value) if a.name == name else a for a in self._adjustables
            )
            return f"{name} = {value:g}"

        self._await("set", self._parameters.set_parameters_atomically(parameters), adjusted)
        return f"{name} …"

    def tick(self) -> None:
        """Keep pulling, and find out what can be adjusted."""
        # nothing may follow the zero of a link that is let go
        with self._lock:
            if self._pull is not None:
                self._push(*self._pull)
        now = time.monotonic()
        if (
            not self._adjustables
            and now - self._asked > 2.0
            and self._parameters.services_are_ready()
        ):
            self._asked = now
            self._await(
                "get", self._parameters.get_parameters(["law", "robustness.enabled"]), self._on_law
            )

    def let_go(self) -> None:
        """The process ends: a link that is pulled is pulled no more."""
        if (pull := self._pull) is not None:
            self.pull(pull[0], None)

    def _push(self, link: str, wrench: Array) -> None:
        message = WrenchStamped()
        message.header.frame_id = link
        message.header.stamp = self._node.get_clock().now().to_msg()
        for vector, numbers in (
            (message.wrench.torque, wrench[:3]),
            (message.wrench.force, wrench[3:]),
        ):
            vector.x, vector.y, vector.z = numbers.tolist()
        self._pushes.publish(message)

    def _on_law(self, answer: GetParameters.Response) -> None:
        # a foreign controller has none
        law, robust = (list(answer.values) + [ParameterValue()] * 2)[:2]
        if law.string_value == "computed_torque" and robust.bool_value:
            used = "robustness"
        else:
            used = "gains"
        self._await("list", self._parameters.list_parameters([used, "payload"], 0), self._on_list)

    def _on_list(self, answer: ListParameters.Response) -> None:
        if answer.result.names:
            described = self._parameters.describe_parameters(sorted(answer.result.names))
            self._await("describe", described, self._on_described)

    def _on_described(self, answer: DescribeParameters.Response) -> None:
        numbers = [
            d
            for d in answer.descriptors
            if d.type == ParameterType.PARAMETER_DOUBLE and d.floating_point_range
        ]
        described = [
            d for d in numbers if not d.read_only and APPLIES_LATER not in d.additional_constraints
        ]
        values = self._parameters.get_parameters([d.name for d in described])
        self._await("get", values, lambda answer: self._on_values(described, answer.values))

    def _on_values(
        self,
        described: Sequence[ParameterDescriptor],
        values: Sequence[ParameterValue],
    ) -> None:
        items = []
        for d, value in zip(described, values, strict=False):
            limits = d.floating_point_range[0]
            now = float(value.double_value)
            least = 5.0 if d.name == "payload.mass" else 1.0
            upper = min(limits.to_value, max(_MOST_GAIN * abs(now), least))
            lower = max(limits.from_value, 0.0 if now >= 0.0 else -upper)
            unit = re.search(r" \[([^\[\]]*)\]$", d.description)
            label = d.name.rpartition(".")[2]
            items.append(Adjustable(d.name, label, lower, upper, now, unit[1] if unit else ""))
        self._adjustables = tuple(sorted(items, key=lambda item: item.name))


def own_topic(name: str, namespace: str) -> str:
    return "/".join(filter(None, ("~", name, namespace.strip("/"))))


def _sentence(service: str, answer: Trigger.Response | SetBool.Response) -> str:
    return f"{service}: {answer.message or ('done' if answer.success else 'refused')}"


VIEWER_PARAMETERS = (*ROBOT_PARAMETERS, *parameter_table("viewer", "viewer"))


def _validate(values: ParameterValues) -> None:
    robots = values["robots"]
    if len(set(robots)) != len(robots):
        raise ArgumentError(
            "names a robot twice", where="parameter 'robots'", got=robots, remedy="Name each once."
        )


class ViewerNode(Node):
    """See ``docs/how_to/viewing.md``.

    It subscribes, and publishes only what a person at the page asks for.
    """

    def __init__(self, **options: object) -> None:
        super().__init__("robot_viewer", **options)
        self.parameters = ParameterSet(self, VIEWER_PARAMETERS, _validate)
        self.rejections = Rejections(self.get_logger())
        values = self.parameters
        self._robots: dict[str, tuple[LiveRobot, LiveControls | None]] = {}
        self._markers: dict[str, Publisher] = {}
        self._marked: dict[str, Shown] = {}
        namespaces = tuple(values["robots"]) or ("",)
        self.get_logger().info("starting the page; from now on every other program goes first")
        self.viewer = Viewer(
            len(namespaces),
            host=values["host"],
            port=values["port"],
            rate=values["rate"],
            title=", ".join(filter(None, namespaces)) or "robot",
            report=lambda cause, text: self.rejections.report(f"browser_{cause}", text),
        )
        alone = namespaces == ("",)
        self._source = DescriptionSource(
            self, values, partial(self._described, "") if alone else lambda text: None
        )
        for namespace in namespaces:
            if self._source.text:
                self._described(namespace, self._source.text)
            elif not alone:
                topic = f"/{namespace.strip('/')}/robot_description"
                self.get_logger().info(f"waiting for a description on the topic {topic}")
                arrived = partial(
                    lambda name, message: self._described(name, message.data), namespace
                )
                self.create_subscription(String, topic, arrived, LATCHED)
            else:
                self.get_logger().info("waiting for a description on the topic robot_description")
        self.create_timer(
            1.0 / values["rate"], self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self.get_logger().info(f"open {self.viewer.address} in a browser")
        if not self.viewer.window.loopback:
            self.get_logger().warning(
                "everybody who can reach this address can see the robot, and move it"
            )
        if values["open_browser"]:
            self.viewer.window.open()

    def _described(self, namespace: str, text: str) -> None:
        if namespace in self._robots:
            if text != self._robots[namespace][0].model.description.source:
                self.rejections.report(
                    "description_changed", "another robot_description has arrived; it is not used"
                )
            return
        values = self.parameters
        try:
            model = load_robot_model(text, values, self.get_logger())
            urdf = values["looks_file"] or None
            folder = values["meshes"] or (None if urdf else self._source.folder)
            looks = read_looks(model, urdf, folder, up_axis=values["mesh_up_axis"])
        except RobotDynamicsError as error:
            self.get_logger().error(
                f"cannot show the robot of {namespace or 'this namespace'}: {error}"
            )
            return
        if not self._robots:
            values.report_unknown(model)
        robot = LiveRobot(self, model, namespace, values, self.rejections)
        if values["controls"]:
            controls = LiveControls(self, robot, values)
        else:
            controls = None
        self._robots[namespace] = (robot, controls)
        topic = own_topic("wrench_markers", namespace)
        self._markers[namespace] = self.create_publisher(MarkerArray, topic, NEWEST)
        self.viewer.add(robot, controls, looks)
        self.get_logger().info(f"showing {model.name!r}: {len(model.joint_names)} joints")

    def _tick(self) -> None:
        for namespace, (robot, controls) in self._robots.items():
            robot.tick()
            if controls is not None:
                controls.tick()
            publisher = self._markers[namespace]
            if not publisher.get_subscription_count():
                # and no wrench is computed, if no page is open either
                continue
            shown = robot.state()
            if shown is None or shown.wrenches is None or shown is self._marked.get(namespace):
                continue
            self._marked[namespace] = shown
            if shown.external:
                outside = external_arrows(robot.model, shown.q, shown.external)
            else:
                outside = None
            stamp = round(shown.t * 1e9)
            publisher.publish(
                wrench_markers(robot.model, shown.wrenches, robot.model.root_link, stamp, outside)
            )

    def finish(self) -> None:
        """The process ends: let go of every link, close the page."""
        for _, controls in self._robots.values():
            if controls is not None:
                controls.let_go()
        if self._robots:
            # the last message has to leave before the middleware ends
            time.sleep(0.05)
        else:
            self.get_logger().warning("no robot has been shown")
        self.viewer.close()


def wrench_markers(
    model: RobotModel,
    arrows: Arrows,
    frame: str,
    stamp: int,
    external: Arrows | None = None,
) -> MarkerArray:
    """Arrows for forces (magenta) and moments (green) in every joint, and for forces from outside
    (dark violet), in a frame (``frame_id``) at a time in ns.
    """
    scale = sensible_scale(model)
    noise = noise_of(model)
    size = robot_size(model)
    time = to_time(stamp)
    markers: list[Marker] = []

    def add(space: str, segments: Array, colour: ColorRGBA) -> None:
        for number, (start, end) in enumerate(segments):
            marker = Marker(ns=space, id=number, type=Marker.ARROW)
            marker.header.frame_id = frame
            marker.header.stamp = time
            if abs(end - start).max() > 1e-4 * size:
                marker.action = Marker.ADD
            else:
                marker.action = Marker.DELETE
            marker.points = [
                Point(x=float(p[0]), y=float(p[1]), z=float(p[2])) for p in (start, end)
            ]
            marker.scale.x = 0.011 * size
            marker.scale.y = 0.028 * size
            marker.scale.z = 0.035 * size
            marker.pose.orientation.w = 1.0
            marker.color = ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=1.0)
            markers.append(marker)

    add("forces", arrows.segments("forces", scale.force, noise[0]), FORCE)
    add("moments", arrows.segments("moments", scale.moment, noise[1]), MOMENT)
    if external is not None:
        add("external", external.segments("forces", scale.force, noise[0]), EXTERNAL)
    return MarkerArray(markers=markers)
