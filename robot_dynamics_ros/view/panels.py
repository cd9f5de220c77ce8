"""The controls beside a robot: joint sliders, what is shown, time, and what can be done to it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.dynamics import WRENCH_PARTS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.figures import unit_of
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import Arrows, ArrowScale, balance_arrows, nice_scale
from robot_dynamics_ros.view.bodies import LAYERS
from robot_dynamics_ros.view.colours import PART_COLOURS, rgb255
from robot_dynamics_ros.view.loads import text_block
from robot_dynamics_ros.view.nodes import RobotNodes
from robot_dynamics_ros.view.plots import other_than
from robot_dynamics_ros.view.source import (
    Adjustable,
    Controls,
    MotionSource,
    PoseSource,
    Shown,
    Source,
)

if TYPE_CHECKING:
    from viser import GuiApi, GuiCheckboxHandle, GuiEvent, GuiFolderHandle, GuiSliderHandle


# of a swatch, so that a dark one is seen on dark paper
_EDGE = "text-shadow: 0 0 1px var(--rd-ink)"


class Turn:
    """Who controls a robot that several people look at: the page (a number) that touches a control
    first has the controls, until it gives them back or has been idle.
    """

    # s
    IDLE = 10.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._page = -1
        self._last = -self.IDLE

    def take(self, page: int) -> bool:
        """A page touches a control; whether it may."""
        with self._lock:
            if self.page not in (-1, page):
                return False
            self._page, self._last = page, time.monotonic()
            return True

    def release(self, page: int) -> None:
        """A page gives the controls back, or is closed."""
        with self._lock:
            if self._page == page:
                self._page = -1

    @property
    def page(self) -> int:
        """The page that has the controls, -1 while none has."""
        if time.monotonic() - self._last < self.IDLE:
            return self._page
        return -1


class _Sliders:
    """A slider for every joint with one coordinate, degrees or mm; floating and planar ones have
    none.
    """

    def __init__(self, gui: GuiApi, model: RobotModel, q: Array) -> None:
        # coordinate, factor from SI, unit
        self._axes: list[tuple[int, float, str]] = []
        self.handles: list[GuiSliderHandle[float]] = []
        for name in model.joint_names:
            if (kind := model.joint(name).type).nq == 1:
                i = model.q_slice(name).start
                slides = kind is JointType.PRISMATIC
                unit, factor = unit_of("position", "length" if slides else "angle")
                limits = np.array([model.lower[i], model.upper[i]])
                widest = 1.0 if slides else math.pi
                low, high = 10.0 * factor * np.where(np.isfinite(limits), limits, (-widest, widest))
                # tenths of a degree or mm, within the limits
                lowest = math.ceil(low - 1e-6)
                most = max(math.floor(high + 1e-6), lowest + 1) / 10.0
                self._axes.append((i, factor, unit))
                self.handles.append(
                    gui.add_slider(f"{name} [{unit}]", lowest / 10.0, most, 0.1, lowest / 10.0)
                )
        self.show(q)

    def values(self) -> list[float]:
        return [handle.value for handle in self.handles]

    def show(self, q: Array) -> None:
        for (i, factor, _), handle in zip(self._axes, self.handles, strict=True):
            handle.value = min(max(round(q[i] * factor, 1) + 0.0, handle.min), handle.max)

    def configuration(self, q: Array, before: Sequence[float] = ()) -> Array:
        """(nq,) where they are; those that are where they were ``before`` leave q as it is, to the
        last digit.
        """
        q = q.copy()
        for k, ((i, factor, _), value) in enumerate(zip(self._axes, self.values(), strict=True)):
            if not before or value != before[k]:
                q[i] = value / factor
        return q

    def text(self, q: Array) -> str:
        """A configuration in their units."""
        return ", ".join(f"{q[i] * factor:.1f} {unit}" for i, factor, unit in self._axes)


class JointSliders:
    """Sliders of a robot that stands still.  Pages share the robot: the sliders follow it."""

    def __init__(self, gui: GuiApi, model: RobotModel, source: PoseSource) -> None:
        self._source = source
        self._followed = source.state()
        single = sum(model.joint(name).type.nq == 1 for name in model.joint_names)
        with gui.add_folder("Joints", expand_by_default=single <= 12):
            self._sliders = _Sliders(gui, model, self._followed.q)
            home = gui.add_button("initial position")
        home.on_click(lambda _event: source.set(model.initial_configuration()))
        self._handles, self._seen = self._sliders.handles, self._sliders.values()

    def update(self, _now: float) -> None:
        """Put the robot where somebody has moved the sliders, or the sliders where the robot has
        gone.
        """
        shown = self._source.state()
        values = self._sliders.values()
        if values != self._seen:
            self._source.set(self._sliders.configuration(shown.q, self._seen))
            self._seen, self._followed = values, self._source.state()
        elif shown is not self._followed:
            self._sliders.show(shown.q)
            self._followed, self._seen = shown, self._sliders.values()


class LayerPanel:
    """Choice of what is shown, and of the length of arrows."""

    def __init__(
        self,
        gui: GuiApi,
        nodes: RobotNodes,
        source: Source,
        scale: ArrowScale,
    ) -> None:
        self._nodes = nodes
        self._model = source.model
        # a live robot's controller publishes these only while somebody listens: a page that is left
        # open costs nothing
        self._known = isinstance(source, MotionSource | PoseSource)
        self._automatic = scale
        self._boxes: dict[str, GuiCheckboxHandle] = {}
        with gui.add_folder("Wrenches"):
            for name, label, on in (
                ("forces", "forces", True),
                ("moments", "moments", True),
                ("external", "external", True),
                ("estimated", "estimated", self._known),
                *(() if self._known else (("contacts", "contacts (MuJoCo)", False),)),
                ("clear", "see-through", False),
                ("tint", "colour by load", False),
            ):
                self._boxes[name] = gui.add_checkbox(label, on)
            self._force = gui.add_slider("forces ×", 0.1, 10.0, 0.1, 1.0)
            self._moment = gui.add_slider("moments ×", 0.1, 10.0, 0.1, 1.0)
            self._scale_text = gui.add_markdown("")
        with gui.add_folder("Balance of one joint's wrench", expand_by_default=False):
            joints = source.model.moving_joint_names
            self._nobody = other_than(joints, "none")
            self._joint = gui.add_dropdown(
                "joint", (self._nobody, *joints), initial_value=self._nobody
            )
            # many robots have a link called so
            observers = tuple(dict.fromkeys(("world", *source.model.link_names)))
            self._observer = gui.add_dropdown("observer", observers, initial_value="world")
            self._what = gui.add_dropdown("show", ("forces", "moments"), initial_value="forces")
            parts = ("joint", *WRENCH_PARTS)
            swatches = (
                f'<span style="color: rgb{rgb255(PART_COLOURS[name])}; {_EDGE}">■</span> {name}'
                for name in parts
            )
            gui.add_html(
                f'<div style="padding: 0 0.8em; font-size: 0.8em">{" ".join(swatches)}</div>'
            )
            self._parts_text = gui.add_markdown("")
        self._add_layers(gui, source)
        self._seen: dict[str, object] = {}

    def _add_layers(self, gui: GuiApi, source: Source) -> None:
        """Check boxes of what is drawn."""
        nodes = self._nodes
        with gui.add_folder("Show", expand_by_default=False):
            labels = (
                "visuals",
                "collision shapes",
                "skeleton",
                "inertia ellipsoids",
                "inertia boxes",
            )
            for layer, label in zip(LAYERS, labels, strict=True):
                if layer not in ("visuals", "collisions") or nodes.bodies.shapes(layer):
                    self._boxes[layer] = gui.add_checkbox(
                        label, layer in nodes.bodies.default_layers
                    )
            for name, label, on in (
                ("frames", "link frames", False),
                ("axes", "joint axes and limits", False),
                ("centres", "centres of mass", True),
                ("reference", "reference (ghost)", self._known),
                ("paths", "paths of centres of mass", isinstance(source, MotionSource)),
            ):
                self._boxes[name] = gui.add_checkbox(label, on)

    def __getitem__(self, name: str) -> bool:
        return name in self._boxes and bool(self._boxes[name].value)

    def apply(self) -> bool:
        """Show and hide; whether anything has been changed since the last time."""
        now = {name: box.value for name, box in self._boxes.items()}
        now |= {"force": self._force.value, "moment": self._moment.value}
        now |= {
            "joint": self._joint.value,
            "observer": self._observer.value,
            "what": self._what.value,
        }
        if now == self._seen:
            return False
        self._seen = now
        for layer in LAYERS:
            self._nodes.bodies.layer(layer, self[layer])
        self._nodes.bodies.clear(
            self["clear"] and (self["forces"] or self["moments"] or now["joint"] != self._nobody)
        )
        self._nodes.frames(self["frames"])
        self._nodes.axes(self["axes"])
        self._scale_text.content = self.scale().text()
        return True

    def scale(self) -> ArrowScale:
        """The scale of the arrows."""
        force, moment = self._automatic
        return ArrowScale(force * self._force.value, moment * self._moment.value)

    def balance(self, shown: Shown) -> tuple[Arrows | None, ArrowScale, str]:
        """The parts of the balance that is asked for, their own scale, as often they are small
        beside the weight, and which half.
        """
        half, unit = ("forces", "N") if self._what.value == "forces" else ("moments", "N m")
        if self._joint.value == self._nobody:
            return None, self.scale(), half
        state = (shown.q, shown.v, shown.a)
        external = shown.external or None
        arrows = balance_arrows(
            self._model, *state, self._joint.value, self._observer.value, external
        )
        length = nice_scale(
            0.4 * self._nodes.size, float(np.linalg.norm(getattr(arrows, half), axis=1).max())
        )
        self._parts_text.content = f"0.1 m = {0.1 / length:.3g} {unit}"
        return arrows, ArrowScale(length, length), half


class Player:
    """Time of a motion: play, pause, speed, loop."""

    SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4", "8")

    def __init__(self, gui: GuiApi, source: MotionSource) -> None:
        self._source = source
        self.duration = max(source.motion.duration, 1e-6)
        with gui.add_folder("Time"):
            self._time = gui.add_slider("time [s]", 0.0, self.duration, self.duration / 1e4, 0.0)
            self._play = gui.add_checkbox("play", True)
            self._loop = gui.add_checkbox("loop", True)
            self._speed = gui.add_dropdown("speed ×", self.SPEEDS, initial_value="1")
        # the name that a page has for it
        self.slider: str = self._time._impl.uuid
        self._shown = 0.0
        self._last: float | None = None

    def pause(self) -> None:
        """Go back to the beginning, and stay there."""
        self._play.value = False
        self._time.value = 0.0

    def update(self, now: float) -> None:
        """Let the time go on."""
        if self._last is None:
            passed = 0.0
        else:
            passed = now - self._last
        self._last = now
        t = float(self._time.value)
        # else somebody has moved the slider
        if self._play.value and t == self._shown:
            t += passed * float(self._speed.value)
            if t > self.duration:
                if self._loop.value:
                    t = math.fmod(t, self.duration)
                else:
                    t = self.duration
            self._time.value = t
            t = float(self._time.value)
        self._shown = self._source.time = t


@dataclass
class AdjustedSlider:
    """The slider of a parameter.  A value that :meth:`show` did not write is a person's request."""

    handle: GuiSliderHandle[float]
    # written here last
    shown: float
    requested: float
    # s, monotonic: when the request was first seen
    moved: float = -math.inf

    def show(self, value: float, patience: float) -> None:
        """Show the value that holds; for `patience` in s after a person has moved the slider leave
        it, the answer may be late.
        """
        now = time.monotonic()
        at = self.handle.value
        if at not in (self.shown, self.requested):
            self.requested = at
            self.moved = now
        if value == at:
            self.shown = self.requested = value
        elif at == self.shown or now - self.moved > patience:
            self.handle.value = self.shown = self.requested = value


class ControlPanel:
    """Hold, reset, pause, step; set-points and motions through several; gains and payload.

    One page (a number) at a time has the controls, the others watch; everybody may stop the robot
    at any time.
    """

    MOST_POINTS = 100
    # s after a person has moved a slider until it shows again what holds: the request may be
    # refused
    PATIENCE = 2.0

    def __init__(
        self,
        gui: GuiApi,
        model: RobotModel,
        controls: Controls,
        turn: Turn,
        page: int,
    ) -> None:
        self._gui = gui
        self._model = model
        self._controls = controls
        self._turn = turn
        self._page = page
        self._heard = controls.answer()
        self._adjusted: dict[str, AdjustedSlider] = {}
        self._groups: dict[str, GuiFolderHandle] = {}
        self._followed = False
        self._points: list[tuple[Array, float]] = []
        with gui.add_folder("Robot"):
            self._answer = gui.add_html("")
            self._tell("drag a link with the mouse to pull it")
            self._who = gui.add_html("")
            gui.add_button("hold").on_click(self._asked(controls.hold, anybody=True))
            gui.add_button("reset").on_click(self._asked(controls.reset))
            self._pause_button = gui.add_button("pause")
            self._pause_button.on_click(self._asked(lambda: controls.pause(not controls.paused)))
            gui.add_button("step").on_click(self._asked(controls.step))
            self._release = gui.add_button("let others control", visible=False)
            self._release.on_click(lambda _event: self._turn.release(self._page))
        with gui.add_folder("Set-points", expand_by_default=False):
            self._sliders = _Sliders(gui, model, np.zeros(model.nq))
            self._handles = self._sliders.handles
            self._duration = gui.add_slider("duration [s]", 0.5, 20.0, 0.1, 3.0)
            gui.add_button("go there").on_click(
                self._asked(lambda: controls.move_along([self._point()]))
            )
            gui.add_button("sliders to where the robot is").on_click(
                self._asked(self._where, anybody=True)
            )
            self._list = gui.add_html("")
            gui.add_button("add the sliders as a point").on_click(
                self._asked(self._add_point, anybody=True)
            )
            gui.add_button("go through the points").on_click(self._asked(self._go_along))
            gui.add_button("forget the points").on_click(self._asked(self._forget, anybody=True))
        self._folder = gui.add_folder("Gains and payload", expand_by_default=False)
        self._q = model.initial_configuration()

    def _asked(
        self,
        work: Callable[[], str],
        anybody: bool = False,
    ) -> Callable[[GuiEvent[Any]], None]:
        def clicked(_event: GuiEvent[Any]) -> None:
            if anybody or self.mine():
                try:
                    self._tell(work())
                except RobotDynamicsError as error:
                    self._tell(str(error))

        return clicked

    def mine(self) -> bool:
        """This page touches a control: whether it has the controls now; if another has them, say
        so.
        """
        if self._turn.take(self._page):
            return True
        until = f"they are free when it lets go or does nothing for {Turn.IDLE:g} s"
        self._tell(f"page {self._turn.page} has the controls; {until}")
        return False

    def leave(self) -> None:
        self._turn.release(self._page)

    def _tell(self, text: str) -> None:
        self._answer.content = text_block(text)

    def update(self, _now: float) -> None:
        """Show the answer to a request, once it has come, who has the controls, and what can be
        adjusted.
        """
        whose = self._turn.page
        if whose == self._page:
            who = "you have"
        else:
            who = f"page {whose} has"
        if whose < 0:
            self._who.content = ""
        else:
            self._who.content = text_block(f"{who} the controls (this is page {self._page})")
        self._release.visible = whose == self._page
        if self._controls.paused:
            self._pause_button.label = "go on (paused)"
        else:
            self._pause_button.label = "pause"
        answer = self._controls.answer()
        if answer != self._heard:
            self._heard = answer
            self._tell(answer)
        for item in self._controls.adjustables():
            if item.name not in self._adjusted:
                self._adjusted[item.name] = self._add(item)
            self._adjusted[item.name].show(
                min(max(item.value, item.lower), item.upper), self.PATIENCE
            )

    def _point(self) -> tuple[Array, float]:
        return self._sliders.configuration(self._q), float(self._duration.value)

    def _add_point(self) -> str:
        if len(self._points) >= self.MOST_POINTS:
            return f"{self.MOST_POINTS} points are the most"
        self._points.append(self._point())
        return self._tell_points(f"point {len(self._points)} is added")

    def _go_along(self) -> str:
        if not self._points:
            return "there are no points yet: move the sliders and add them"
        return self._controls.move_along(tuple(self._points))

    def _forget(self) -> str:
        self._points.clear()
        return self._tell_points("the points are forgotten")

    def _tell_points(self, answer: str) -> str:
        total = sum(seconds for _, seconds in self._points)
        rows = (
            f"{k}. after {s:g} s: {self._sliders.text(q)}"
            for k, (q, s) in enumerate(self._points, start=1)
        )
        if self._points:
            self._list.content = text_block("\n".join([*rows, f"{total:g} s in all"]))
        else:
            self._list.content = ""
        return answer

    def _where(self) -> str:
        self._sliders.show(self._q)
        return "the sliders are where the robot is"

    def follow(self, shown: Shown) -> None:
        """Take note of where the robot is."""
        self._q = shown.q
        if not self._followed:
            self._followed = True
            self._where()

    def _group(self, name: str) -> GuiFolderHandle:
        """The folder of a parameter: gains have one for each joint."""
        group = name.partition(".")[2].rpartition(".")[0]
        if group not in self._groups:
            with self._folder:
                self._groups[group] = (
                    self._gui.add_folder(group, expand_by_default=False) if group else self._folder
                )
        return self._groups[group]

    def _add(self, item: Adjustable) -> AdjustedSlider:
        if item.name == "payload.mass":
            with self._folder:
                names = self._model.link_names
                link = self._gui.add_dropdown("payload on", names, initial_value=names[-1])
                link.on_update(self._asked(lambda: self._controls.carry(link.value)))
        with self._group(item.name):
            step = 10.0 ** math.floor(math.log10(max(item.upper - item.lower, 1e-9) / 500.0))
            unit = f" [{item.unit}]" if item.unit else ""
            value = min(max(item.value, item.lower), item.upper)
            handle = self._gui.add_slider(
                f"{item.label}{unit}", item.lower, item.upper, step, value
            )

            change = self._asked(lambda: self._controls.adjust(item.name, float(handle.value)))

            def moved(event: GuiEvent[Any]) -> None:
                if event.client is not None:
                    change(event)

            handle.on_update(moved)
        return AdjustedSlider(handle, value, value)
