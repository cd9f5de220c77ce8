"""Joint wrenches as markers, for RViz and Foxglove."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import Arrows, noise_of, robot_size, sensible_scale
from robot_dynamics_ros.view.colours import EXTERNAL, FORCE, MOMENT


def wrench_markers(
    model: RobotModel, arrows: Arrows, frame: str, stamp: int, external: Arrows | None = None
) -> MarkerArray:
    """Arrows for forces (magenta) and moments (green) in every joint, and for forces from outside (dark violet), in a frame
    (``frame_id``) at a time in ns."""
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
