"""The viewer as a node: topics in, a page out."""

from __future__ import annotations

import time
from functools import partial

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import ColorRGBA, String
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import read_looks
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, ParameterValues, parameter_table
from robot_dynamics_ros.ros.transport.qos import LATCHED, NEWEST
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.transport.robot import ROBOT_PARAMETERS, DescriptionSource, load_robot_model
from robot_dynamics_ros.ros.viewer.live_robot import LiveControls, LiveRobot, own_topic
from robot_dynamics_ros.view.arrows import Arrows, external_arrows, noise_of, robot_size, sensible_scale
from robot_dynamics_ros.view.colours import EXTERNAL, FORCE, MOMENT
from robot_dynamics_ros.view.source import Shown
from robot_dynamics_ros.view.viewer import Viewer

VIEWER_PARAMETERS = (*ROBOT_PARAMETERS, *parameter_table("viewer", "viewer"))


def _validate(values: ParameterValues) -> None:
    robots = values["robots"]
    if len(set(robots)) != len(robots):
        raise ArgumentError("names a robot twice", where="parameter 'robots'", got=robots, remedy="Name each once.")


class ViewerNode(Node):
    """See ``docs/how_to/viewing.md``.  It subscribes, and publishes only what a person at the page asks for."""

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
        self._source = DescriptionSource(self, values, partial(self._described, "") if alone else lambda text: None)
        for namespace in namespaces:
            if self._source.text:
                self._described(namespace, self._source.text)
            elif not alone:
                topic = f"/{namespace.strip('/')}/robot_description"
                arrived = partial(lambda name, message: self._described(name, message.data), namespace)
                self.create_subscription(String, topic, arrived, LATCHED)
        self.create_timer(1.0 / values["rate"], self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f"open {self.viewer.address} in a browser")
        if not self.viewer.window.loopback:
            self.get_logger().warning("everybody who can reach this address can see the robot, and move it")
        if values["open_browser"]:
            self.viewer.window.open()

    def _described(self, namespace: str, text: str) -> None:
        if namespace in self._robots:
            if text != self._robots[namespace][0].model.description.source:
                self.rejections.report("description_changed", "another robot_description has arrived; it is not used")
            return
        values = self.parameters
        try:
            model = load_robot_model(text, values, self.get_logger())
            urdf = values["looks_file"] or None
            folder = values["meshes"] or (None if urdf else self._source.folder)
            looks = read_looks(model, urdf, folder, up_axis=values["mesh_up_axis"])
        except RobotDynamicsError as error:
            self.get_logger().error(f"cannot show the robot of {namespace or 'this namespace'}: {error}")
            return
        if not self._robots:
            values.report_unknown(model)
        names = {"controller": values["controller"], "simulator": values["simulator"]}
        robot = LiveRobot(self, model, namespace, names, values["wrenches"], self.rejections)
        controls = LiveControls(self, robot, namespace, names) if values["controls"] else None
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
                continue  # and no wrench is computed, if no page is open either
            shown = robot.state()
            if shown is None or shown.wrenches is None or shown is self._marked.get(namespace):
                continue
            self._marked[namespace] = shown
            outside = external_arrows(robot.model, shown.q, shown.external) if shown.external else None
            stamp = round(shown.t * 1e9)
            publisher.publish(wrench_markers(robot.model, shown.wrenches, robot.model.root_link, stamp, outside))

    def finish(self) -> None:
        """The process ends: let go of every link, close the page."""
        for _, controls in self._robots.values():
            if controls is not None:
                controls.let_go()
        if self._robots:
            time.sleep(0.05)  # the last message has to leave before the middleware ends
        self.viewer.close()


def wrench_markers(
    model: RobotModel, arrows: Arrows, frame: str, stamp: int, external: Arrows | None = None
) -> MarkerArray:
    """Arrows for forces (magenta) and moments (green) in every joint, and for forces from outside (dark violet), in a
    frame (``frame_id``) at a time in ns."""
    scale, noise, size = sensible_scale(model), noise_of(model), robot_size(model)
    time = Time(sec=stamp // 1_000_000_000, nanosec=stamp % 1_000_000_000)
    markers: list[Marker] = []

    def add(space: str, segments: Array, colour: ColorRGBA) -> None:
        for number, (start, end) in enumerate(segments):
            marker = Marker(ns=space, id=number, type=Marker.ARROW)
            marker.header.frame_id, marker.header.stamp = frame, time
            marker.action = Marker.ADD if abs(end - start).max() > 1e-4 * size else Marker.DELETE
            marker.points = [Point(x=float(p[0]), y=float(p[1]), z=float(p[2])) for p in (start, end)]
            marker.scale.x, marker.scale.y, marker.scale.z = 0.011 * size, 0.028 * size, 0.035 * size
            marker.pose.orientation.w = 1.0
            marker.color = ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=1.0)
            markers.append(marker)

    add("forces", arrows.segments("forces", scale.force, noise[0]), FORCE)
    add("moments", arrows.segments("moments", scale.moment, noise[1]), MOMENT)
    if external is not None:
        add("external", external.segments("forces", scale.force, noise[0]), EXTERNAL)
    return MarkerArray(markers=markers)
