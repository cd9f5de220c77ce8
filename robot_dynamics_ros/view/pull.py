"""Pulling on a link with the mouse: a spring between where it was gripped and where the mouse is."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.view.colours import EXTERNAL
from robot_dynamics_ros.view.nodes import RobotNodes
from robot_dynamics_ros.view.source import Controls

__all__ = ["Pulling", "spring_wrench"]


def spring_wrench(pose: Array, grip: Array, hand: Array, stiffness: float, most: float) -> Array:
    """The wrench of a spring on a link.

    Args:
        pose: (4, 4) of the link in the world.
        grip: (3,) where it is gripped, in the link's frame, m.
        hand: (3,) where the other end is, in the world, m.
        stiffness: N/m.
        most: N; the spring pulls no harder.

    Returns:
        (6,) [moment; force] about the link's origin, in the link's axes.
    """
    R, p = pose[:3, :3], pose[:3, 3]
    force = stiffness * (hand - (R @ grip + p))
    size = float(np.linalg.norm(force))
    if size > most:
        force *= most / size
    own = R.T @ force
    return np.concatenate([np.cross(grip, own), own])


class Pulling:
    """Drag handlers on the geometry of a robot.

    A spring that is pulled half the robot's size pulls with its weight; twice that is the most.

    Args:
        nodes: the robot in the scene.
        controls: where the wrench goes.
    """

    def __init__(self, nodes: RobotNodes, controls: Controls) -> None:
        self._nodes, self._controls = nodes, controls
        weight = max(nodes.model.total_mass * 9.81, 1.0)
        self.stiffness = 2.0 * weight / nodes.size
        self.most = 2.0 * weight
        self._lock = threading.Lock()
        self._grip: tuple[str, Array, Array] | None = None
        self._drawn = False
        for link, handle in nodes.bodies():
            handle.on_drag("left")(self._handler(link))

    def _handler(self, link: str) -> Any:
        async def dragged(event: Any) -> None:  # a coroutine: run in the order of the mouse, not by a pool of threads
            hand = np.asarray(event.end_position, dtype=float) - self._nodes.offset
            with self._lock:
                if event.phase == "start":
                    pose = self._nodes.poses[self._nodes.model.link_index(link)]
                    start = np.asarray(event.start_position, dtype=float) - self._nodes.offset
                    self._grip = (link, pose[:3, :3].T @ (start - pose[:3, 3]), hand)
                elif event.phase == "end":
                    self._grip = None
                    self._controls.pull(link, None)
                elif self._grip is not None and self._grip[0] == link:
                    self._grip = (link, self._grip[1], hand)

        return dragged

    def follow(self) -> None:
        """Pull as the spring does with the link where it is now."""
        with self._lock:
            grip = self._grip
            segments = np.empty((0, 2, 3))
            if grip is not None:
                link, at, hand = grip
                pose = self._nodes.poses[self._nodes.model.link_index(link)]
                self._controls.pull(link, spring_wrench(pose, at, hand, self.stiffness, self.most))
                segments = np.array([[pose[:3, :3] @ at + pose[:3, 3], hand]])
        if len(segments) or self._drawn:
            self._nodes.arrows("pull", segments, EXTERNAL)
        self._drawn = bool(len(segments))
