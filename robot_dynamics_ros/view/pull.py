"""Dragging a link with the mouse: a spring pulls a robot that moves, inverse kinematics leads one
that stands still.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.dynamics import inverse_kinematics
from robot_dynamics_ros.model.description import Array, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.colours import EXTERNAL
from robot_dynamics_ros.view.nodes import RobotNodes
from robot_dynamics_ros.view.source import Controls, PoseSource

if TYPE_CHECKING:
    from viser import SceneNodeDragEvent


def spring_wrench(
    pose: Array,
    grip: Array,
    hand: Array,
    stiffness: float,
    most: float,
) -> Array:
    """(6,) [moment; force] of a spring about the origin of a link with a pose (4, 4), in its axes.

    The spring goes from ``grip`` (3,) in the link's frame to ``hand`` (3,) in the world, m, and
    pulls with ``stiffness`` in N/m, but not more than ``most`` in N.
    """
    R = pose[:3, :3]
    p = pose[:3, 3]
    force = stiffness * (hand - (R @ grip + p))
    size = float(np.linalg.norm(force))
    if size > most:
        force *= most / size
    own = R.T @ force
    return np.concatenate([np.cross(grip, own), own])


class Grip:
    """Drag handlers on the geometry of a robot: ``may`` says whether this page may drag now,
    ``released`` hears of a link let go.
    """

    def __init__(
        self,
        nodes: RobotNodes,
        may: Callable[[], bool] = lambda: True,
        released: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._nodes = nodes
        self._may = may
        self._released = released
        self._lock = threading.Lock()
        # while somebody drags: the link, where it is gripped in its frame, and where the mouse is
        # in the world, (3,) m
        self.held: tuple[str, Array, Array] | None = None
        for link, handle in nodes.bodies.handles():
            handle.on_drag("left")(self.handler(link))

    def handler(
        self, link: str
    ) -> Callable[[SceneNodeDragEvent[Any]], Coroutine[None, None, None]]:
        """Callback for every event of the mouse that drags a link."""

        # a coroutine: run in the order of the mouse, not by a pool of threads
        async def dragged(event: SceneNodeDragEvent[Any]) -> None:
            hand = np.asarray(event.end_position, dtype=float) - self._nodes.offset
            with self._lock:
                if event.phase == "start":
                    if not self._may():
                        return
                    pose = self._nodes.poses[self._nodes.model.link_index(link)]
                    start = np.asarray(event.start_position, dtype=float) - self._nodes.offset
                    self.held = (link, pose[:3, :3].T @ (start - pose[:3, 3]), hand)
                elif event.phase == "end" and self.held is not None:
                    self.held = None
                    self._released(link)
                elif self.held is not None and self.held[0] == link:
                    self.held = (link, self.held[1], hand)

        return dragged

    def let_go(self) -> None:
        """The page is closed, with or without a link in its hand."""
        with self._lock:
            held, self.held = self.held, None
        if held is not None:
            self._released(held[0])


class Pulling(Grip):
    """A spring between the grip and the mouse: half the robot's size long it pulls with its weight,
    at most with twice that.

    It pulls while ``mine`` says that this page has the controls.
    """

    def __init__(
        self,
        nodes: RobotNodes,
        controls: Controls,
        mine: Callable[[], bool],
    ) -> None:
        self._controls = controls
        weight = max(nodes.model.total_mass * 9.81, 1.0)
        self.stiffness = 2.0 * weight / nodes.size
        self.most = 2.0 * weight
        super().__init__(nodes, mine, lambda link: controls.pull(link, None))

    def update(self, _now: float) -> None:
        """Pull as the spring does with the link where it is now."""
        with self._lock:
            start = end = np.zeros(3)
            if self.held is not None and self._may():
                link, point, hand = self.held
                pose = self._nodes.poses[self._nodes.model.link_index(link)]
                self._controls.pull(
                    link, spring_wrench(pose, point, hand, self.stiffness, self.most)
                )
                start = pose[:3, :3] @ point + pose[:3, 3]
                end = hand
        self._nodes.arrow("pull", start, end, EXTERNAL)


class Posing(Grip):
    """A robot that stands still follows the mouse: inverse kinematics for the point gripped, within
    the limits.
    """

    ITERATIONS = 30

    def __init__(self, nodes: RobotNodes, source: PoseSource) -> None:
        self._source = source
        self._done: Array | None = None
        super().__init__(nodes)

    @staticmethod
    def possible(model: RobotModel) -> bool:
        """Whether inverse kinematics is there for such joints."""
        return model.nv > 0 and all(model.joint(name).type.nq == 1 for name in model.joint_names)

    def update(self, _now: float) -> None:
        """Put the gripped point where the mouse is, or as near as the joints allow."""
        with self._lock:
            held = self.held
        if held is None or held[2] is self._done:
            return
        link, point, hand = held
        solution = inverse_kinematics(
            self._source.model,
            link,
            hand,
            tool=Pose(position=point),
            orientation=False,
            start=self._source.state().q,
            starts=1,
            iterations=self.ITERATIONS,
            position_tolerance=1e-4,
        )
        self._done = hand
        self._source.set(solution.q)
