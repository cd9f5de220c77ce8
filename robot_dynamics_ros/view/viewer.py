"""Robots in a browser: one thread looks at the controls and the newest states and brings every page
up to date.

Robots are shared.  Every page has its own camera, panels and drawings of them, made when it is
opened: a person's ticks are that person's, and while no page is open nothing is computed.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import link_poses
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import Looks, read_looks
from robot_dynamics_ros.simulation.paths import CenterOfMassPaths
from robot_dynamics_ros.view.arrows import ArrowScale, robot_size, sensible_scale
from robot_dynamics_ros.view.bodies import readable
from robot_dynamics_ros.view.camera import VIEWS
from robot_dynamics_ros.view.legend import (
    LegendEntry,
    draw_legend,
    legend_entries,
    page_legend,
)
from robot_dynamics_ros.view.loads import JointLoads, LoadPanel, link_shares, text_block
from robot_dynamics_ros.view.nodes import RobotNodes
from robot_dynamics_ros.view.panels import ControlPanel, JointSliders, LayerPanel, Player, Turn
from robot_dynamics_ros.view.plots import PlotPanel
from robot_dynamics_ros.view.pull import Posing, Pulling
from robot_dynamics_ros.view.source import (
    WANTED,
    Controls,
    MotionSource,
    PoseSource,
    Shown,
    Source,
    centre_paths,
)
from robot_dynamics_ros.view.window import DEFAULT_PORT, Window, in_one_piece

if TYPE_CHECKING:
    from viser import ClientHandle, GuiButtonGroupHandle, GuiEvent

# buttons: have the camera follow the link that was clicked, hide it
FOLLOW_BUTTON = "follow"
HIDE = "hide"
# pixels: on pages that are narrower the panels are folded at first
_SMALL = 700
# The panel at the bottom of a phone begins unfolded, and no message folds it: its head is clicked.
_FOLD = """<img src="data:," alt="" style="display: none" onerror="
let panel = matchMedia('(max-width: 36em)').matches ? this : null;
while (panel &amp;&amp; getComputedStyle(panel).position !== 'fixed') panel = panel.parentElement;
const head = panel &amp;&amp; panel.querySelector('[style*=&quot;cursor: pointer&quot;]');
if (head &amp;&amp; !window.robotFolded) { window.robotFolded = true; head.click(); }">"""
_logger = logging.getLogger("robot_dynamics_ros.view")


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot that pages show, as the node ``root`` of their scenes; its world stands at ``offset``
    (3,) m.
    """

    source: Source
    controls: Controls | None
    looks: Looks
    root: str
    offset: Array
    # of wrenches at first
    scale: ArrowScale
    turn: Turn = field(default_factory=Turn)


class RobotView:
    """One robot on one page: its nodes and its panels; one that is alone needs no folder for
    them.
    """

    def __init__(self, client: ClientHandle, robot: Robot, alone: bool) -> None:
        self.robot, self.source = robot, robot.source.for_page()
        gui = client.gui
        model = self.source.model
        source = self.source
        self.nodes = RobotNodes(client.scene, model, robot.looks, robot.root, robot.offset)
        if alone:
            folder = contextlib.nullcontext()
        else:
            folder = gui.add_folder(source.name, expand_by_default=False)
        with folder:
            self.status = gui.add_html("")
            self.player = (
                Player(gui, source)
                if isinstance(source, MotionSource) and len(source.motion) > 1
                else None
            )
            self.sliders = (
                JointSliders(gui, model, source) if isinstance(source, PoseSource) else None
            )
            self.panel = None
            if robot.controls is not None:
                self.panel = ControlPanel(
                    gui, model, robot.controls, robot.turn, client.client_id + 1
                )
            self.loads = LoadPanel(gui, model)
            gui.add_button_group("this link", (HIDE, "show all")).on_click(self._hide)
            self.layers = LayerPanel(gui, self.nodes, source, robot.scale)
            self.plots = PlotPanel(
                gui, model, source, "" if self.player is None else self.player.slider
            )
        self.grip: Pulling | Posing | None = None
        if self.panel is not None and robot.controls is not None:
            self.grip = Pulling(self.nodes, robot.controls, self.panel.mine)
        elif isinstance(source, PoseSource) and Posing.possible(model):
            self.grip = Posing(self.nodes, source)
        self._parts = [
            x for x in (self.player, self.sliders, self.grip, self.panel) if x is not None
        ]
        for link, handle in self.nodes.bodies.handles():
            handle.on_click(lambda _event, link=link: self.loads.select(link))
        self._shown: Shown | None = None
        self._paths: CenterOfMassPaths | None = None

    def _hide(self, event: GuiEvent[GuiButtonGroupHandle[str]]) -> None:
        """Hide the link that was clicked last, or show all again."""
        if event.target.value != HIDE:
            self.nodes.hide("")
        elif self.loads.link:
            self.nodes.hide(self.loads.link)

    def update(self, now: float) -> bool:
        """Bring the page up to date; whether anything was changed."""
        for part in self._parts:
            part.update(now)
        shown = self.source.state()
        self.status.content = text_block(self.source.status())
        changed = self.layers.apply() | (shown is not self._shown)
        if shown is not None and changed:
            self._shown = shown
            self._draw(shown)
            self.plots.add(shown)
            if self.panel is not None:
                self.panel.follow(shown)
        self.plots.refresh(now)
        self.loads.refresh(now)
        return shown is not None and changed

    def _draw(self, shown: Shown) -> None:
        nodes = self.nodes
        show = self.layers
        scale = show.scale()
        nodes.draw(shown, scale, show.__getitem__)
        loads = JointLoads(nodes.model, shown, nodes.poses)
        self.loads.add(loads, shown)
        nodes.bodies.tint(link_shares(nodes.model, loads) if show["tint"] else None)
        nodes.balance(*show.balance(shown))
        if isinstance(self.source, MotionSource) and len(self.source.motion) > 2:
            if show["paths"] and self._paths is None:
                self._paths = centre_paths(self.source.motion)
            nodes.paths(self._paths if show["paths"] else None)

    def legend(self) -> tuple[LegendEntry, ...]:
        """The legend: names of the things that are shown."""
        source = self.source
        moves = isinstance(source, MotionSource) and len(source.motion) > 2
        return legend_entries(
            self.layers.scale(),
            self.layers.__getitem__,
            source.model,
            self._shown,
            has_paths=moves,
        )

    def close(self) -> None:
        """The page is closed: nobody drags a link or has the controls any more."""
        if self.grip is not None:
            self.grip.let_go()
        if self.panel is not None:
            self.panel.leave()


class Page:
    """A page that somebody has open; the lock is held while anything is drawn."""

    def __init__(self, client: ClientHandle, lock: threading.RLock) -> None:
        self.client = client
        self._lock = lock
        self._in_one_piece = in_one_piece(client)
        self.views: list[RobotView] = []
        self._followed: tuple[RobotView, int, Array] | None = (
            # row of a link, and where that was
            None
        )
        # a view, the aspect that it was for, and where the camera was
        self._fitted: tuple[str, float, Array] | None = None
        client.gui.add_button_group("view", (*VIEWS, FOLLOW_BUTTON)).on_click(self._turn)
        client.gui.add_html(_FOLD)
        self._legend = client.gui.add_html("")
        if client.camera.image_width < _SMALL:
            client.gui.main_panel.minimize()

    def view_point(self, aspect: float = 1.3, view: str = "fit") -> tuple[Array, Array]:
        """Where a camera sees all robots from, and what it looks at, (3,) and (3,) m; the aspect is
        width to height.
        """
        first = self.views[0]
        last = self.views[-1].nodes
        if isinstance(first.source, MotionSource):
            motion = first.source.motion
        else:
            motion = None
        position, target = first.nodes.view_point(motion, aspect, VIEWS[view])
        sideways = 0.5 * (last.offset - first.nodes.offset)
        away = 1.0 + float(np.linalg.norm(sideways)) / last.size
        return target + sideways + away * (position - target), target + sideways

    def look(self, view: str = "fit") -> tuple[Array, Array]:
        """Turn the camera; where it is now, and what it looks at."""
        camera = self.client.camera
        aspect = self._aspect()
        position, target = self.view_point(aspect, view)
        self._fitted = view, aspect, position
        with self._in_one_piece():
            camera.up_direction = (0.0, 0.0, 1.0)
            camera.position = position
            camera.look_at = target
        return position, target

    def _aspect(self) -> float:
        return self.client.camera.image_width / max(self.client.camera.image_height, 1)

    def _fit_again(self) -> None:
        """Turn the camera again, if the page has another shape now and nobody has moved the
        camera.
        """
        if self._fitted is None or abs(self._aspect() - self._fitted[1]) < 0.01:
            return
        view, _, position = self._fitted
        if np.abs(self.client.camera.position - position).max() < 1e-3 * self.views[0].nodes.size:
            self.look(view)

    def _turn(self, event: GuiEvent[GuiButtonGroupHandle[str]]) -> None:
        """Turn the camera, or have it follow the link last clicked."""
        view = str(event.target.value)
        with self._lock:
            self._followed = self._fitted = None
            if not self.views:
                return
            if view != FOLLOW_BUTTON:
                self.look(view)
                return
            chosen = next((one for one in self.views if one.loads.link), self.views[0])
            if chosen.loads.link:
                row = chosen.nodes.model.link_index(chosen.loads.link)
            else:
                row = -1
            self.client.camera.look_at = point = (
                chosen.nodes.offset + chosen.nodes.poses[row, :3, 3]
            )
            self._followed = chosen, row, point

    def _follow(self) -> None:
        """Move a camera that follows a link by as much as the link has moved."""
        if self._followed is None:
            return
        view, row, before = self._followed
        point = view.nodes.offset + view.nodes.poses[row, :3, 3]
        if np.abs(point - before).max() > 1e-4 * view.nodes.size:
            camera = self.client.camera
            # what it looks at moves with it
            camera.position = camera.position + (point - before)
            self._followed = view, row, point

    def update(self, now: float) -> bool:
        """Bring it up to date; whether anything was changed."""
        with self._in_one_piece():
            changed = any([view.update(now) for view in self.views])
            self._follow()
            self._fit_again()
            if changed and self.views:
                self._legend.content = page_legend(self.legend())
        return changed

    def legend(self) -> tuple[LegendEntry, ...]:
        """The legend of the first robot."""
        return self.views[0].legend()


class Viewer(contextlib.AbstractContextManager["Viewer"]):
    """Pages that show one or several robots.  Use as a context manager, or call :meth:`close`.

    Args:
        robots: how many there will be: each is shown by :meth:`add`.
        rate: pictures per second at most.
        host, port, title, report: see :class:`~robot_dynamics_ros.view.window.Window`.

    Attributes:
        pages: number of a page → the page, of those that are open and drawn.
        pictures: how often a page was changed.
    """

    def __init__(
        self,
        robots: int = 1,
        *,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        rate: float = 30.0,
        title: str = "robots",
        report: Callable[[str, str], None] | None = None,
    ) -> None:
        self.window = Window(title, host, port, report)
        self.pictures = 0
        self._period = 1.0 / rate
        self._stop = threading.Event()
        self._failed: str = ""
        self._alone = robots == 1
        self._lock = threading.RLock()
        self.robots: list[Robot] = []
        self.pages: dict[int, Page] = {}
        # in a thread for which the end of the process does not wait: on a busy machine a page takes
        # long
        self.window.server.on_client_connect(
            lambda client: threading.Thread(
                target=self._opened, args=(client,), name="page", daemon=True
            ).start()
        )
        self.window.server.on_client_disconnect(self._closed)
        self._thread = threading.Thread(target=self._run, name="view", daemon=True)
        self._thread.start()

    def add(
        self,
        source: Source,
        controls: Controls | None = None,
        looks: Looks | None = None,
    ) -> Robot:
        """Show one more robot, beside the others; its geometry is read from its URDF if not
        given.
        """
        if looks is not None:
            looks = looks
        else:
            looks = read_looks(source.model)
        for finding in looks.findings:
            _logger.warning("%s: %s", source.name, finding)
        looks = replace(looks, visuals=tuple(shape for _, shape, _ in readable(looks.visuals)))
        with self._lock:
            spacing = sum(2.2 * robot_size(robot.source.model) for robot in self.robots)
            if self._alone:
                root = "/robot"
            else:
                root = f"/robots/{source.name.replace('/', '∕')}"
            if isinstance(source, MotionSource):
                scale = source.motion.scale
            else:
                scale = sensible_scale(source.model)
            # compiled before a page waits for it
            link_poses(source.model, source.model.initial_configuration())
            robot = Robot(source, controls, looks, root, np.array([0.0, spacing, 0.0]), scale)
            self.robots.append(robot)
            for page in self.pages.values():
                page.views.append(RobotView(page.client, robot, self._alone))
                page.look()
            return robot

    def _opened(self, client: ClientHandle) -> None:
        """Somebody has opened a page: it is drawn beside the lock, as large meshes take seconds."""
        page = Page(client, self._lock)
        while not self._stop.is_set():
            for robot in self.robots[len(page.views) :]:
                page.views.append(RobotView(page.client, robot, self._alone))
            with self._lock:
                if len(page.views) < len(self.robots):
                    # one more has been added
                    continue
                page.update(time.monotonic())
                if page.views:
                    # where the page's own button leads; a page that has just been opened goes
                    # there, too, by itself
                    self.window.look(*page.look())
                if client.client_id in self.window.server.get_clients():
                    self.pages[client.client_id] = page
                return

    def _closed(self, client: ClientHandle) -> None:
        with self._lock:
            page = self.pages.pop(client.client_id, None)
            for view in page.views if page is not None else ():
                view.close()

    @property
    def address(self) -> str:
        """Address to open in a browser."""
        return self.window.address

    def update(self) -> None:
        """Bring every page up to date now."""
        with self._lock:
            now = time.monotonic()
            self.pictures += sum([page.update(now) for page in self.pages.values()])
            views = list(itertools.chain.from_iterable(page.views for page in self.pages.values()))
            for robot in self.robots:
                for what in WANTED:
                    robot.source.want(
                        what, any(view.layers[what] for view in views if view.robot is robot)
                    )

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self.update()
            except RobotDynamicsError as error:
                # what cannot be drawn once cannot be drawn thirty times a second
                if str(error) != self._failed:
                    self._failed = str(error)
                    _logger.error("the picture cannot be brought up to date: %s", error)
            due = max(due + self._period, time.monotonic() - self._period)
            self._stop.wait(max(due - time.monotonic(), 0.002))

    def show(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        external: Mapping[str, ArrayLike] | None = None,
        robot: int = 0,
    ) -> None:
        """Put a robot that stands still somewhere else; a RobotDynamicsError if it follows a motion
        or a topic.
        """
        source = self.robots[robot].source
        if not isinstance(source, PoseSource):
            raise RobotDynamicsError(
                "this robot follows something else", where="show", remedy="Open a view of a pose."
            )
        source.set(q, v, a, external)

    def wait(self, seconds: float | None = None) -> None:
        """Go on until :meth:`close`, Ctrl-C or the time is up."""
        self._stop.wait(seconds)

    def close(self) -> None:
        """Close the pages and let go of the sources."""
        self._stop.set()
        self._thread.join(5.0)
        for robot in self.robots:
            robot.source.close()
        self.window.close()

    def picture(self, path: str | Path, width: int = 1280, height: int = 800) -> Path:
        """Write a picture of the scene (of a motion: its beginning), drawn by a browser without a
        screen.

        Raises:
            BackendError: there is no browser, or Pillow is not installed.
            ArgumentError: the file cannot be written.
        """
        from robot_dynamics_ros.view.film import (
            need_pillow,
            open_page,
            painter,
            settled,
            write_whole,
        )
        from robot_dynamics_ros.view.headless import Browser

        pillow = need_pillow()
        with Browser(240, 160) as browser:
            page = open_page(self.address, browser, lambda: self.pages)
            for view in page.views:
                if view.player is not None:
                    view.player.pause()
            image = settled(
                painter(page.client, width, height, page.view_point(width / height)), browser
            )
            image = draw_legend(image, page.legend())
        return write_whole(path, lambda target: pillow.fromarray(image).save(target))

    def __exit__(self, *_: object) -> None:
        self.close()
