"""Robots in a browser: one thread looks at the controls and the newest states and brings the scene up to date."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import Looks, read_looks
from robot_dynamics_ros.view.arrows import external_arrows
from robot_dynamics_ros.view.loads import LoadPanel, joint_loads, link_shares, text_block
from robot_dynamics_ros.view.motion import Paths, centre_paths
from robot_dynamics_ros.view.nodes import VIEWS, RobotNodes
from robot_dynamics_ros.view.panels import ControlPanel, JointSliders, LayerPanel, Player, PlotPanel
from robot_dynamics_ros.view.pull import Grip, Posing, Pulling
from robot_dynamics_ros.view.source import Controls, MotionSource, PoseSource, Shown, Source
from robot_dynamics_ros.view.window import DEFAULT_PORT, Window

__all__ = ["RobotView", "Viewer"]

FOLLOW = "follow"
"""The button beside the views that has the camera follow a link."""
_logger = logging.getLogger("robot_dynamics_ros.view")


class RobotView:
    """One robot of a viewer: its nodes and its panels.

    Args:
        window: the page.
        source: its states.
        controls: what can be done to it, or ``None``.
        looks: its geometry; read from its URDF if not given.
        offset: (3,) where its world stands in the scene.
        alone: whether it is the only robot, whose panels then need no folder of their own.
    """

    def __init__(
        self,
        window: Window,
        source: Source,
        controls: Controls | None,
        looks: Looks | None,
        offset: Any,
        alone: bool,
    ) -> None:
        self.source, self.controls = source, controls
        model = source.model
        self.looks = looks if looks is not None else read_looks(model)
        for finding in self.looks.findings:
            _logger.warning("%s: %s", source.name, finding)
        gui, scene = window.server.gui, window.server.scene
        root = "/robot" if alone else f"/robots/{source.name.replace('/', '∕')}"
        self.nodes = RobotNodes(scene, model, self.looks, root, offset)
        self.nodes.ground()
        folder = contextlib.nullcontext() if alone else gui.add_folder(source.name, expand_by_default=False)
        with folder:
            self.status = gui.add_html("")
            self.player = Player(gui, source) if isinstance(source, MotionSource) and len(source.motion) > 1 else None
            self.sliders = JointSliders(gui, model, source) if isinstance(source, PoseSource) else None
            self.panel = ControlPanel(gui, model, controls) if controls is not None else None
            self.loads = LoadPanel(gui, model)
            self.layers = LayerPanel(gui, self.nodes, source)
            self.plots = PlotPanel(gui, model, source)
        self.grip: Grip | None = None
        if controls is not None:
            self.grip = Pulling(self.nodes, controls)
        elif isinstance(source, PoseSource) and self.sliders is not None and Posing.possible(model):
            self.grip = Posing(self.nodes, source, self.sliders.follow)
        self._hear_clicks()
        self._shown: Shown | None = None
        self._told = ""
        self._paths: Paths | None = None

    def _hear_clicks(self) -> None:
        for link, handle in self.nodes.bodies():

            @handle.on_click
            def _(_event: Any, link: str = link) -> None:
                self.loads.select(link)

    def update(self, now: float, watched: bool = True) -> bool:
        """Bring the scene up to date; whether anything was changed.

        While nobody watches, a motion goes on and sliders and the mouse are heard, but no state is fetched or drawn.
        """
        if self.player is not None:
            self.player.advance(now)
        if self.sliders is not None:
            self.sliders.apply()
        if self.grip is not None:
            self.grip.follow()
        for what in ("reference", "estimated"):
            self.source.want(what, watched and self.layers[what])
        if not watched:
            return False
        if self.panel is not None:
            self.panel.hear()
        shown = self.source.state()
        status = self.source.status()
        if status != self._told:
            self._told, self.status.content = status, text_block(status)
        changed = self.layers.apply() | (shown is not self._shown)
        if shown is None or not changed:
            self.plots.refresh(now)
            self.loads.refresh(now)
            return False
        self._shown = shown
        self._draw(shown)
        self.plots.add(shown)
        self.plots.refresh(now)
        self.loads.refresh(now)
        if self.panel is not None:
            self.panel.follow(shown)
        return True

    def _draw(self, shown: Shown) -> None:
        nodes, show = self.nodes, self.layers
        scale = show.scale(shown)
        nodes.legend(scale, show["forces"], show["moments"])
        nodes.place(shown.q)
        loads = joint_loads(nodes.model, shown, nodes.poses)
        self.loads.add(loads)
        nodes.tint(link_shares(nodes.model, loads) if show["tint"] else None)
        nodes.wrenches("joints", shown.wrenches, scale, show["forces"], show["moments"])
        nodes.largest(shown.wrenches, scale, show["forces"], show["moments"])
        for name, wrenches in (("external", shown.external), ("estimated", shown.estimated)):
            arrows = external_arrows(nodes.model, shown.q, wrenches) if wrenches and show[name] else None
            nodes.wrenches(name, arrows, scale, True, show["moments"])
        nodes.balance(*show.balance(shown), show.balanced)
        nodes.centres(show["centres"])
        nodes.ghost(shown.reference if show["reference"] else None)
        if isinstance(self.source, MotionSource) and len(self.source.motion) > 2:
            if show["paths"] and self._paths is None:
                self._paths = centre_paths(self.source.motion)
            nodes.paths(self._paths if show["paths"] else None)


class Viewer:
    """A page that shows one or several robots.  Use as a context manager, or call :meth:`close`.

    Args:
        sources: one per robot.
        controls: one per robot, or ``None`` where nothing can be done to it.
        looks: geometry, one per robot; read from their URDFs if not given.
        host, port: see :class:`~robot_dynamics_ros.view.window.Window`.
        rate: pictures per second at most.
        title: of the page.
        report: called with (cause, sentence) for what a browser sends and is not taken.
        expected: how many robots there will be, where more are going to be added.

    Attributes:
        robots: the robots shown.
        pictures: how often the scene was changed.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        controls: Sequence[Controls | None] | None = None,
        *,
        looks: Sequence[Looks | None] | None = None,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        rate: float = 30.0,
        title: str = "",
        report: Callable[[str, str], None] | None = None,
        expected: int = 0,
    ) -> None:
        self.window = Window(title or ", ".join(source.name for source in sources) or "robots", host, port, report)
        self.pictures = 0
        self._period = 1.0 / rate
        self._stop = threading.Event()
        self._failed: str = ""
        self._alone = max(len(sources), expected) <= 1
        self._lock = threading.RLock()
        self.robots: list[RobotView] = []
        self._followed: dict[int, tuple[RobotView, int, Array]] = {}  # page → robot, row of its link, where that was
        self.window.server.gui.add_button_group("view", (*VIEWS, FOLLOW)).on_click(self._turn)
        try:
            for k, source in enumerate(sources):
                self.add(source, controls[k] if controls is not None else None, looks[k] if looks is not None else None)
            self.update()
            if self.robots:
                self.window.look(*self.view_point())
        except BaseException:
            self.window.close()
            raise
        self._thread = threading.Thread(target=self._run, name="view", daemon=True)
        self._thread.start()

    def add(self, source: Source, controls: Controls | None = None, looks: Looks | None = None) -> RobotView:
        """Show one more robot, beside the others."""
        with self._lock:
            spacing = sum(2.2 * robot.nodes.size for robot in self.robots)
            view = RobotView(self.window, source, controls, looks, (0.0, spacing, 0.0), self._alone)
            self.robots.append(view)
            self.window.look(*self.view_point())
            return view

    def view_point(self, aspect: float = 1.3, view: str = "fit") -> tuple[Any, Any]:
        """Where a camera sees all robots from, and what it looks at, m.

        Args:
            aspect: width of the picture to its height.
            view: one of :data:`~robot_dynamics_ros.view.nodes.VIEWS`.
        """
        first = self.robots[0]
        motion = first.source.motion if isinstance(first.source, MotionSource) else None
        position, target = first.nodes.view_point(None if motion is None else motion.some_poses(), aspect, VIEWS[view])
        last = self.robots[-1].nodes
        sideways = 0.5 * (last.offset - self.robots[0].nodes.offset)
        away = 1.0 + float(np.linalg.norm(sideways)) / last.size
        return target + sideways + away * (position - target), target + sideways

    def _turn(self, event: Any) -> None:
        """Turn the camera of the page that has asked for it, and of no other, or have it follow the link last clicked."""
        client, view = event.client, str(event.target.value)
        camera = client.camera
        with self._lock:
            self._followed.pop(client.client_id, None)
            if view == FOLLOW:
                robot = next((robot for robot in self.robots if robot.loads.link), self.robots[0])
                row = robot.nodes.model.link_index(robot.loads.link) if robot.loads.link else -1
                camera.look_at = at = robot.nodes.offset + robot.nodes.poses[row, :3, 3]
                self._followed[client.client_id] = robot, row, at
                return
        position, target = self.view_point(camera.image_width / max(camera.image_height, 1), view)
        with client.atomic():
            camera.up_direction, camera.position, camera.look_at = (0.0, 0.0, 1.0), position, target

    def _follow(self) -> None:
        """Move the cameras that follow a link by as much as the link has moved."""
        clients = self.window.server.get_clients() if self._followed else {}
        for number, (robot, row, before) in list(self._followed.items()):
            at = robot.nodes.offset + robot.nodes.poses[row, :3, 3]
            if number not in clients:
                del self._followed[number]
            elif np.abs(at - before).max() > 1e-4 * robot.nodes.size:
                camera = clients[number].camera
                camera.position = camera.position + (at - before)  # what it looks at moves with it
                self._followed[number] = robot, row, at

    @property
    def address(self) -> str:
        """Address to open in a browser."""
        return self.window.address

    def update(self, watched: bool = True) -> None:
        """Bring the scene up to date now; if nobody watches, only what goes on without pictures."""
        with self._lock, self.window.server.atomic():
            now = time.monotonic()
            self.pictures += any([robot.update(now, watched) for robot in self.robots])
            self._follow()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self.update(watched=self.window.watched)
            except RobotDynamicsError as error:
                if str(error) != self._failed:  # what cannot be drawn once cannot be drawn thirty times a second
                    self._failed = str(error)
                    _logger.error("the picture cannot be brought up to date: %s", error)
            due = max(due + self._period, time.monotonic() - self._period)
            self._stop.wait(max(due - time.monotonic(), 0.002))

    def show(self, q: Any, v: Any = None, a: Any = None, external: Any = None, robot: int = 0) -> None:
        """Put a robot that stands still somewhere else.

        Raises:
            RobotDynamicsError: this robot follows a motion or a topic.
        """
        source = self.robots[robot].source
        if not isinstance(source, PoseSource):
            raise RobotDynamicsError("this robot follows something else", where="show", remedy="Open a view of a pose.")
        with self._lock:  # sliders that are halfway there would be taken for a person's wish
            source.set(q, v, a, external)
            sliders = self.robots[robot].sliders
            if sliders is not None:
                sliders.follow(np.asarray(q, dtype=float))

    def wait(self, seconds: float | None = None) -> None:
        """Go on until :meth:`close`, Ctrl-C or the time is up."""
        self._stop.wait(seconds)

    def close(self) -> None:
        """Close the page and let go of the sources."""
        self._stop.set()
        self._thread.join(5.0)
        for robot in self.robots:
            robot.source.close()
        self.window.close()

    def picture(self, path: str | Path, width: int = 1280, height: int = 800) -> Path:
        """Write a picture of the scene, drawn by a browser without a screen.

        Raises:
            BackendError: there is no browser.
        """
        from robot_dynamics_ros.view.film import write_picture

        return write_picture(self.window, self.view_point(width / height), path, width, height)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
