"""One robot on the network: its states, and the requests of people to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue, SetParametersResult
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParametersAtomically
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.dynamics import link_poses
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import APPLIES_LATER
from robot_dynamics_ros.ros.transport.qos import EVENT, NEWEST, STATE
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.transport.wrench_topics import spatial_wrench, topic_token
from robot_dynamics_ros.ros.viewer.live_state import LiveState
from robot_dynamics_ros.view.arrows import Arrows, joint_arrows, world_arrows
from robot_dynamics_ros.view.source import WANTED, Adjustable, Controls, Shown, Source, smooth_motion

_FRESH = 0.5  # s after which a wrench or a reference that came by topic is no longer shown
_REPORTED = 5.0  # s after which a report that should come every second is no longer shown
_MOST_GAIN = 4.0  # a gain's slider ends at this many times the value it had


class LiveRobot(Source):
    """States of a robot from its topics, newest first.

    Args:
        node: the node.
        model: the robot.
        namespace: of its topics, ``""`` for the node's own.
        names: of the nodes ``controller`` and ``simulator``.
        wrenches: ``computed``, ``published`` or ``none``.
        rejections: where unusable messages are reported.
    """

    def __init__(
        self,
        node: Node,
        model: RobotModel,
        namespace: str,
        names: Mapping[str, str],
        wrenches: str,
        rejections: Rejections,
    ) -> None:
        self.model = model
        self.name = namespace or model.name
        self.pulled: dict[str, Array] = {}
        self.answer = ""
        self._node, self._rejections, self._wrenches = node, rejections, wrenches
        self._state = LiveState(model)
        self._lock = threading.Lock()
        self._shown: Shown | None = None
        self._unseen: Shown | None = None  # newer than that, its wrenches not computed yet
        self._heard = 0.0
        self._count = 0
        self._status = (0.0, "waiting for joint states")
        self._tree = link_tree(model)
        self._external: dict[str, tuple[float, Array]] = {}
        self._contacts: dict[str, tuple[float, Array]] = {}
        self._estimated: dict[str, tuple[float, Array]] = {}
        self._published: dict[str, tuple[float, Array]] = {}
        self._reports: dict[str, tuple[float, str]] = {}  # of the controller and of commissioning
        self._reference: tuple[float, Array] | None = None
        topic_of = _topics(namespace)
        controller, simulator = names["controller"], names["simulator"]
        # for plots that know a joint by its place in the message only
        self._ordered = node.create_publisher(JointState, own_topic("joint_states", namespace), NEWEST)
        subscribe = node.create_subscription

        def wrench(topic: str, kept: dict[str, tuple[float, Array]]) -> Subscription:
            return subscribe(WrenchStamped, topic_of(topic), lambda m: self._on_wrench(kept, m), NEWEST)

        self._subscriptions = [
            subscribe(JointState, topic_of("joint_states"), self._on_state, NEWEST),
            subscribe(
                DiagnosticArray,
                "/diagnostics",
                partial(
                    self._on_diagnostics,
                    {"controller": topic_of(controller), "commissioning": topic_of("commissioning")},
                ),
                STATE,
            ),
            *(wrench(f"{node}/external_wrench", self._external) for node in (controller, simulator)),
        ]
        # these are published only while somebody listens, and that takes the controller's or the simulator's time
        self._layers_on = dict.fromkeys(WANTED, False)
        self._on_request: dict[str, list[Subscription]] = {}
        self._requests: dict[str, Callable[[], list[Subscription]]] = {
            "reference": lambda: [
                subscribe(JointState, topic_of(f"{controller}/reference"), self._on_reference, NEWEST)
            ],
            "estimated": lambda: [wrench(f"{controller}/external_wrench_estimate", self._estimated)],
            "contacts": lambda: [
                wrench(f"{simulator}/contact_wrenches/{topic_token(link)}", self._contacts) for link in model.link_names
            ],
        }
        if wrenches == "published":
            for name in model.joint_names:
                topic = topic_of(f"{controller}/joint_wrenches/{topic_token(name)}")
                self._subscriptions.append(subscribe(WrenchStamped, topic, partial(self._keep, name), NEWEST))

    def _keep(self, joint: str, message: WrenchStamped) -> None:
        try:
            self._published[joint] = (time.monotonic(), spatial_wrench(message))
        except RobotDynamicsError as error:
            self._rejections.report("wrench", f"a wrench is not shown: {error}")

    def _on_diagnostics(self, nodes: Mapping[str, str], message: DiagnosticArray) -> None:
        for word, node in nodes.items():
            name = node if node.startswith("/") else f"{self._node.get_namespace()}/{node}"
            for status in message.status:
                if status.name == f"{name.strip('/')}: status":
                    lines = [f"{word}: {status.message}" + (" ⚠" if status.level != DiagnosticStatus.OK else "")]
                    lines += [f"{pair.key}: {pair.value}" for pair in status.values if word == "commissioning"]
                    self._reports[word] = time.monotonic(), "\n".join(lines)

    def _on_wrench(self, kept: dict[str, tuple[float, Array]], message: WrenchStamped) -> None:
        try:
            link = message.header.frame_id
            self.model.link_index(link)
            kept[link] = (time.monotonic(), spatial_wrench(message))
        except RobotDynamicsError as error:
            self._rejections.report("wrench", f"a wrench is not shown: {error}")

    def _on_reference(self, message: JointState) -> None:
        q = self._state.q.copy()
        try:
            for name, position in zip(message.name, message.position, strict=False):
                q[self.model.q_slice(name)] = position
        except RobotDynamicsError:
            return  # another robot's
        if np.isfinite(q).all():
            self._reference = (time.monotonic(), q)

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
        external, estimated = _fresh(self._external, now) | self.pulled, _fresh(self._estimated, now)
        for link, wrench in _fresh(self._contacts, now).items():
            external[link] = external.get(link, 0.0) + wrench
        s, last_reference = self._state, self._reference
        reference = last_reference[1] if last_reference is not None and now - last_reference[0] < _FRESH else None
        with self._lock:
            self._unseen = Shown(s.t, s.q, s.v, s.acceleration(), s.efforts, None, external, estimated, reference)

    def _arrows(self, s: Shown) -> Arrows | None:
        m = self.model
        if self._wrenches == "none" or not m.joint_names:
            return None
        names = m.joint_names
        if self._wrenches == "published":
            fresh = _fresh(self._published, time.monotonic())
            names = tuple(name for name in names if name in fresh)
            rows = np.array([fresh[name] for name in names]).reshape(-1, 6)
        else:
            return joint_arrows(m, s.q, s.v, s.a, s.external or None)
        return world_arrows(names, np.asarray(link_poses(m, s.q))[[self._tree.link_of[n] for n in names]], rows)

    def state(self) -> Shown | None:
        """See :class:`~robot_dynamics_ros.view.source.Source`; joint wrenches are computed for whoever asks first."""
        with self._lock:
            if self._unseen is not None:
                self._shown, self._unseen = replace(self._unseen, wrenches=self._arrows(self._unseen)), None
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
        """Unsubscribe."""
        self._layers_on = dict.fromkeys(self._layers_on, False)
        self.tick()
        self._node.destroy_publisher(self._ordered)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []


class LiveControls(Controls):
    """Requests of a page to the controller and the simulator.

    Methods are called by the page's threads; :meth:`tick` carries the requests out, in the node's own thread.

    Args:
        node: the node.
        robot: whose states are shown; it receives answers and pulls.
        namespace, names: as for :class:`LiveRobot`.
    """

    def __init__(self, node: Node, robot: LiveRobot, namespace: str, names: Mapping[str, str]) -> None:
        self._node, self._robot, self._model = node, robot, robot.model
        topic_of = _topics(namespace)
        controller, simulator = topic_of(names["controller"]), topic_of(names["simulator"])
        self._lock = threading.Lock()
        self._todo: list[Callable[[], None]] = []
        self._pull: tuple[str, Array] | None = None
        self._adjustables: tuple[Adjustable, ...] = ()
        self._asked = 0.0
        self._carrier = self._model.link_names[-1]
        client = node.create_client
        self._services = {
            "hold": client(Trigger, f"{controller}/hold"),
            "reset": client(Trigger, f"{simulator}/reset_world"),
            "pause": client(SetBool, f"{simulator}/set_pause"),
            "step": client(Trigger, f"{simulator}/step"),
            "list": client(ListParameters, f"{controller}/list_parameters"),
            "describe": client(DescribeParameters, f"{controller}/describe_parameters"),
            "get": client(GetParameters, f"{controller}/get_parameters"),
            "set": client(SetParametersAtomically, f"{controller}/set_parameters_atomically"),
        }
        self._trajectories = node.create_publisher(JointTrajectory, f"{controller}/joint_trajectory", EVENT)
        self._pushes = node.create_publisher(WrenchStamped, f"{simulator}/external_wrench", EVENT)

    # -- asked by the page ---------------------------------------------------------------------------------------

    def _later(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._todo.append(work)

    def _call(self, service: str, request: object, sentence_of: Callable[..., str | None] | None = None) -> str:
        if not self._services[service].service_is_ready():
            return f"{service}: nobody on the network offers {self._services[service].srv_name}"
        self._later(lambda: self._send(service, request, sentence_of or partial(_sentence, service)))
        return f"{service} …"

    def _send(self, service: str, request: object, sentence_of: Callable[..., str | None]) -> None:
        def done(future: Future) -> None:
            try:
                self._robot.answer = sentence_of(future.result()) or self._robot.answer
            except Exception as error:  # noqa: BLE001 - whatever the other side or the middleware raises goes to the person
                self._robot.answer = f"{service}: {error}"

        self._services[service].call_async(request).add_done_callback(done)

    def hold(self) -> str:
        return self._call("hold", Trigger.Request())

    def reset(self) -> str:
        return self._call("reset", Trigger.Request())

    def pause(self, paused: bool) -> str:
        def sentence_of(answer: SetBool.Response) -> str:
            self.paused = paused if answer.success else self.paused
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
        times, positions, velocities = smooth_motion(shown.q[index], [(q[index], seconds) for q, seconds in points])
        message = JointTrajectory(joint_names=names)
        for t, x, v in zip(times, positions, velocities, strict=True):
            point = JointTrajectoryPoint(positions=x.tolist(), velocities=v.tolist())
            point.time_from_start = Duration(seconds=float(t)).to_msg()
            message.points.append(point)
        self._later(lambda: self._trajectories.publish(message))
        return f"on the way, {times[-1]:g} s"

    def answer(self) -> str:
        return self._robot.answer

    def carry(self, link: str) -> str:
        self._carrier = link
        return f"the payload will be on {link}: set its mass now"

    def pull(self, link: str, wrench: Array | None) -> None:
        with self._lock:
            if wrench is not None:
                self._pull = (link, np.asarray(wrench, dtype=float))
            else:
                self._pull = None
                self._todo.append(lambda: self._push(link, np.zeros(6)))
        self._robot.pulled = {} if wrench is None else {link: np.asarray(wrench, dtype=float)}

    def adjustables(self) -> Sequence[Adjustable]:
        return self._adjustables

    def adjust(self, name: str, value: float) -> str:
        item = next((a for a in self._adjustables if a.name == name), None)
        if item is None or not item.lower <= value <= item.upper:
            return f"{name}: {value:g} is outside its limits"
        parameters = [Parameter(name, value=float(value))]
        if name == "payload.mass" and value > 0.0:
            parameters.append(Parameter("payload.link", value=self._carrier))
        self._later(
            lambda: self._send(
                "set",
                SetParametersAtomically.Request(parameters=[p.to_parameter_msg() for p in parameters]),
                lambda answer: self._adjusted(name, value, answer.result),
            )
        )
        return f"{name} …"

    def _adjusted(self, name: str, value: float, result: SetParametersResult) -> str:
        if not result.successful:
            return f"{name}: {result.reason}"
        self._adjustables = tuple(replace(a, value=value) if a.name == name else a for a in self._adjustables)
        return f"{name} = {value:g}"

    # -- done by the node ----------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Do what was asked since the last time, and keep pulling."""
        with self._lock:
            todo, self._todo = self._todo, []
            pull = self._pull
        for work in todo:
            work()
        if pull is not None:
            self._push(*pull)
        now = time.monotonic()
        if not self._adjustables and now - self._asked > 2.0 and self._services["list"].service_is_ready():
            self._asked = now
            self._send("get", GetParameters.Request(names=["law", "robustness.enabled"]), self._on_law)

    def let_go(self) -> None:
        """The process ends: a link that is pulled is pulled no more."""
        with self._lock:
            pull, self._pull = self._pull, None
        if pull is not None:
            self._push(pull[0], np.zeros(6))

    def _push(self, link: str, wrench: Array) -> None:
        message = WrenchStamped()
        message.header.frame_id = link
        message.header.stamp = self._node.get_clock().now().to_msg()
        m, f = wrench[:3].tolist(), wrench[3:].tolist()
        message.wrench.torque.x, message.wrench.torque.y, message.wrench.torque.z = m
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = f
        self._pushes.publish(message)

    def _on_law(self, answer: GetParameters.Response) -> None:
        law, robust = (list(answer.values) + [ParameterValue()] * 2)[:2]  # a foreign controller has none
        used = "robustness" if law.string_value == "computed_torque" and robust.bool_value else "gains"
        self._send("list", ListParameters.Request(prefixes=[used, "payload"], depth=0), self._on_list)

    def _on_list(self, answer: ListParameters.Response) -> None:
        names = sorted(answer.result.names)
        if names:
            request = DescribeParameters.Request(names=names)
            self._send("describe", request, lambda answer: self._on_described(answer))

    def _on_described(self, answer: DescribeParameters.Response) -> None:
        adjustable = {
            d.name: d
            for d in answer.descriptors
            if d.type == ParameterType.PARAMETER_DOUBLE
            and not d.read_only
            and d.floating_point_range
            and APPLIES_LATER not in d.additional_constraints
        }
        names = sorted(adjustable)
        self._send(
            "get", GetParameters.Request(names=names), lambda answer: self._on_values(names, adjustable, answer.values)
        )

    def _on_values(
        self, names: Sequence[str], described: Mapping[str, ParameterDescriptor], values: Sequence[ParameterValue]
    ) -> None:
        items = []
        for name, value in zip(names, values, strict=False):
            limits, now = described[name].floating_point_range[0], float(value.double_value)
            least = 5.0 if name == "payload.mass" else 1.0
            upper = min(limits.to_value, max(_MOST_GAIN * abs(now), least))
            lower = max(limits.from_value, 0.0 if now >= 0.0 else -upper)
            _, bracket, unit = described[name].description.rpartition(" [")
            unit = unit.removesuffix("]") if bracket and unit.endswith("]") else ""
            items.append(Adjustable(name, name.rpartition(".")[2], lower, upper, now, unit))
        self._adjustables = tuple(items)


def own_topic(name: str, namespace: str) -> str:
    """A topic of the viewer for one robot."""
    return "/".join(filter(None, ("~", name, namespace.strip("/"))))


def _topics(namespace: str) -> Callable[[str], str]:
    prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else ""
    return lambda name: f"{prefix}{name}"


def _fresh(kept: dict[str, tuple[float, Array]], now: float) -> dict[str, Array]:
    return {name: wrench for name, (t, wrench) in tuple(kept.items()) if now - t < _FRESH and wrench.any()}


def _sentence(service: str, answer: Trigger.Response | SetBool.Response) -> str:
    return f"{service}: {answer.message or ('done' if answer.success else 'refused')}"
