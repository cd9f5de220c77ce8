"""The controls beside a robot: joint sliders, what is shown, time, plots, and what can be done to it."""

from __future__ import annotations

import csv
import io
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics import WRENCH_PARTS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import Arrows, ArrowScale, balance_arrows, nice_scale, sensible_scale
from robot_dynamics_ros.view.colours import PARTS, SERIES, rgb255
from robot_dynamics_ros.view.loads import text_block
from robot_dynamics_ros.view.nodes import LAYERS, RobotNodes
from robot_dynamics_ros.view.source import Controls, MotionSource, PoseSource, Shown, Source

__all__ = ["ControlPanel", "JointSliders", "LayerPanel", "Player", "PlotPanel"]


class _Axis:
    """One coordinate with a slider: degrees for angles, mm for lengths."""

    def __init__(self, model: RobotModel, name: str) -> None:
        self.name = name
        self.index = model.q_slice(name).start
        angle = model.joint(name).type is not JointType.PRISMATIC
        self.factor, self.unit = (math.degrees(1.0), "°") if angle else (1e3, "mm")
        lower, upper = float(model.lower[self.index]), float(model.upper[self.index])
        widest = math.pi if angle else 1.0
        lower = lower if math.isfinite(lower) else -widest
        upper = upper if math.isfinite(upper) else widest
        # tenths of a degree or mm, within the limits
        lowest = math.ceil(10.0 * lower * self.factor - 1e-6)
        self.low, self.high = lowest / 10.0, max(math.floor(10.0 * upper * self.factor + 1e-6), lowest + 1) / 10.0

    def slider(self, gui: Any, value: float) -> Any:
        return gui.add_slider(f"{self.name} [{self.unit}]", self.low, self.high, 0.1, self._shown(value))

    def _shown(self, value: float) -> float:
        return min(max(round(value * self.factor, 1) + 0.0, self.low), self.high)

    def show(self, handle: Any, value: float) -> None:
        handle.value = self._shown(value)


def _axes(model: RobotModel) -> list[_Axis]:
    """Joints with one coordinate; floating and planar ones have no slider."""
    return [_Axis(model, name) for name in model.joint_names if model.joint(name).type.nq == 1]


def _other_than(names: tuple[str, ...], word: str) -> str:
    """A word, changed until no name is the same: choices of a list have to differ."""
    while word in names:
        word = f"({word})"
    return word


class JointSliders:
    """A slider for every joint of a robot that stands still."""

    def __init__(self, gui: Any, model: RobotModel, source: PoseSource) -> None:
        self._source = source
        self._axes = _axes(model)
        shown = source.state()
        assert shown is not None
        self._q = shown.q.copy()
        with gui.add_folder("Joints", expand_by_default=len(self._axes) <= 12):
            self._handles = [axis.slider(gui, self._q[axis.index]) for axis in self._axes]
            self._home = gui.add_button("initial position")
        self._asked = False

        @self._home.on_click
        def _(_event: Any) -> None:
            self._asked = True

        self._seen = [handle.value for handle in self._handles]

    def apply(self) -> None:
        """Put the robot where the sliders are."""
        if self._asked:
            self._asked = False
            self._source.set(self._source.model.initial_configuration())
            self.follow(self._source.model.initial_configuration())
            return
        values = [handle.value for handle in self._handles]
        if values == self._seen:
            return
        for axis, value, before in zip(self._axes, values, self._seen, strict=True):
            if value != before:  # the others stay where they are, to the last digit
                self._q[axis.index] = value / axis.factor
        self._seen = values
        self._source.set(self._q)

    def follow(self, q: Array) -> None:
        """Put the sliders where the robot is."""
        self._q = q.copy()
        for axis, handle in zip(self._axes, self._handles, strict=True):
            axis.show(handle, q[axis.index])
        self._seen = [handle.value for handle in self._handles]


class LayerPanel:
    """Choice of what is shown, and of the length of arrows."""

    def __init__(self, gui: Any, nodes: RobotNodes, source: Source) -> None:
        self._nodes, self._model = nodes, source.model
        # a live robot's controller publishes these only while somebody listens: a page that is left open costs nothing
        self._known = isinstance(source, MotionSource | PoseSource)
        self._automatic = sensible_scale(source.model)
        if isinstance(source, MotionSource):
            m = source.motion
            some = np.unique(np.linspace(0, len(m) - 1, min(len(m), 60)).astype(int))
            found = [m.arrows(int(k)) for k in some]
            self._automatic = sensible_scale(
                source.model, np.stack([x.forces for x in found]), np.stack([x.moments for x in found])
            )
        self._boxes: dict[str, Any] = {}
        with gui.add_folder("Wrenches"):
            for name, label, on in (
                ("forces", "forces", True),
                ("moments", "moments", True),
                ("external", "external", True),
                ("estimated", "estimated", self._known),
                ("clear", "see-through", True),
                ("tint", "colour by load", False),
            ):
                self._boxes[name] = gui.add_checkbox(label, on)
            self._force = gui.add_slider("forces ×", 0.1, 10.0, 0.1, 1.0)
            self._moment = gui.add_slider("moments ×", 0.1, 10.0, 0.1, 1.0)
            self._scale_text = gui.add_markdown("")
        with gui.add_folder("Balance of one joint's wrench", expand_by_default=False):
            joints = source.model.moving_joint_names
            self._nobody = _other_than(joints, "none")
            self._joint = gui.add_dropdown("joint", (self._nobody, *joints), initial_value=self._nobody)
            observers = tuple(dict.fromkeys(("world", *source.model.link_names)))  # many robots have a link called so
            self._observer = gui.add_dropdown("observer", observers, initial_value="world")
            self._what = gui.add_dropdown("show", ("forces", "moments"), initial_value="forces")
            swatches = (
                f'<span style="color: rgb{rgb255(PARTS[name])}">■ {name}</span>' for name in ("joint", *WRENCH_PARTS)
            )
            gui.add_html(f'<div style="padding: 0 0.8em; font-size: 0.8em">{" ".join(swatches)}</div>')
            self._parts_text = gui.add_markdown("")
        with gui.add_folder("Show", expand_by_default=False):
            for layer, label in zip(
                LAYERS, ("visuals", "collision shapes", "skeleton", "inertia ellipsoids", "inertia boxes"), strict=True
            ):
                if layer not in ("visuals", "collisions") or nodes.shapes(layer):
                    self._boxes[layer] = gui.add_checkbox(label, layer in nodes.default_layers)
            for name, label, on in (
                ("frames", "link frames", False),
                ("axes", "joint axes and limits", False),
                ("centres", "centres of mass", True),
                ("reference", "reference (ghost)", self._known),
                ("paths", "paths of centres of mass", isinstance(source, MotionSource)),
            ):
                self._boxes[name] = gui.add_checkbox(label, on)
        self._seen: dict[str, Any] = {}

    def __getitem__(self, name: str) -> bool:
        return bool(self._boxes[name].value)

    @property
    def balanced(self) -> str:
        """Which half of the balance is shown, ``"forces"`` or ``"moments"``."""
        return str(self._what.value)

    def apply(self) -> bool:
        """Show and hide; whether anything has been changed since the last time."""
        now = {name: box.value for name, box in self._boxes.items()}
        now |= {"force": self._force.value, "moment": self._moment.value}
        now |= {"joint": self._joint.value, "observer": self._observer.value, "what": self._what.value}
        if now == self._seen:
            return False
        for layer in LAYERS:
            if layer in now and now[layer] != self._seen.get(layer, layer in self._nodes.default_layers):
                self._nodes.layer(layer, now[layer])
        self._nodes.clear(now["clear"] and (now["forces"] or now["moments"] or now["joint"] != self._nobody))
        if now["frames"] != self._seen.get("frames", False):
            self._nodes.frames(now["frames"])
        if now["axes"] != self._seen.get("axes", False):
            self._nodes.axes(now["axes"])
        self._seen = now
        self._scale_text.content = self._scale().text()
        return True

    def _scale(self) -> ArrowScale:
        return self._automatic.times(self._force.value, self._moment.value)

    def scale(self, _shown: Shown) -> ArrowScale:
        """The scale of the arrows."""
        return self._scale()

    def balance(self, shown: Shown) -> tuple[Arrows | None, ArrowScale]:
        """The parts of the balance that is asked for, and their own scale: often they are small beside the weight."""
        if self._joint.value == self._nobody:
            return None, self._scale()
        arrows = balance_arrows(
            self._model, shown.q, shown.v, shown.a, self._joint.value, self._observer.value, shown.external or None
        )
        half = getattr(arrows, self.balanced)
        length = nice_scale(0.4 * self._nodes.size, float(np.linalg.norm(half, axis=1).max()))
        unit = "N" if self.balanced == "forces" else "N m"
        text = f"0.1 m = {0.1 / length:.3g} {unit}"
        if text != self._parts_text.content:
            self._parts_text.content = text
        return arrows, ArrowScale(length, length)


class Player:
    """Time of a motion: play, pause, speed, loop."""

    SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4", "8")

    def __init__(self, gui: Any, source: MotionSource) -> None:
        self._source = source
        self._duration = max(source.motion.duration, 1e-6)
        with gui.add_folder("Time"):
            self._time = gui.add_slider("time [s]", 0.0, self._duration, self._duration / 1e4, 0.0)
            self._play = gui.add_checkbox("play", True)
            self._loop = gui.add_checkbox("loop", True)
            self._speed = gui.add_dropdown("speed ×", self.SPEEDS, initial_value="1")
        self._shown = 0.0
        self._last: float | None = None

    def advance(self, now: float) -> None:
        """Let the time go on."""
        passed = 0.0 if self._last is None else now - self._last
        self._last = now
        t = float(self._time.value)
        if self._play.value and t == self._shown:  # else somebody has moved the slider
            t += passed * float(self._speed.value)
            if t > self._duration:
                t = math.fmod(t, self._duration) if self._loop.value else self._duration
            self._time.value = t
            t = float(self._time.value)
        self._shown = self._source.time = t


class PlotPanel:
    """Curves of one joint over the last seconds, or over the whole motion."""

    KINDS = ("position", "error", "velocity", "effort", "wrench: force", "wrench: moment")
    LIVE = 10.0  # s
    MOST = 600  # points
    PAUSE = 0.1  # s between two drawings of curves that grow; a page needs longer for one than for the robot

    def __init__(self, gui: Any, model: RobotModel, source: Source) -> None:
        self._model, self._source = model, source
        self._live = not isinstance(source, MotionSource)
        self._new = False
        self._drawn = -math.inf
        names = tuple(name for name in model.joint_names if model.joint(name).type.nq == 1)
        self._names = names
        self._rows: deque[tuple[float, Array]] = deque(maxlen=int(self.LIVE * 30))
        self._seen: tuple[Any, ...] = ()
        self._cursor: float | None = None
        self._tables: dict[str, Array] = {}
        if not names:
            return
        self._all = _other_than(names, "all")
        with gui.add_folder("Plot", expand_by_default=False):
            self._joint = gui.add_dropdown("joint ", (*names, self._all), initial_value=names[0])
            self._kind = gui.add_dropdown("quantity", self.KINDS, initial_value=self.KINDS[0])
            self._plot = gui.add_uplot(
                (np.array([0.0, 1.0]), np.zeros(2)),
                ({"label": "t [s]"}, {"label": ""}),
                scales={"x": {"time": False}},
                legend={"show": True},
                aspect=1.4,
            )
            gui.add_button("save all as CSV").on_click(self._save)

    def add(self, shown: Shown) -> None:
        """Take a state in."""
        if self._names and self._live:
            self._rows.append((shown.t, self._values(shown)))
            self._new = True

    def refresh(self, now: float) -> None:
        """Draw the curves, if something else is chosen, or there are new states and some time has passed."""
        if not self._names:
            return
        choice = (self._joint.value, self._kind.value)
        cursor = None if self._live else float(self._source.time)  # type: ignore[attr-defined]
        other = choice != self._seen
        if not other and not ((self._new or cursor != self._cursor) and now - self._drawn >= self.PAUSE):
            return
        t, table = self._table()
        if len(t) < 2:
            return
        labels, columns = self._curves(table, self.KINDS.index(choice[1]))
        if cursor is not None:
            t, columns = _with_cursor(t, columns, cursor)
            labels = [*labels, "now"]
        if other:
            strokes = ("#888888" if label == "now" else SERIES[k % len(SERIES)] for k, label in enumerate(labels))
            self._plot.series = (
                {"label": "t [s]"},
                *({"label": label, "stroke": stroke} for label, stroke in zip(labels, strokes, strict=True)),
            )
        self._plot.data = (t, *(np.ascontiguousarray(column) for column in columns))
        self._seen, self._new, self._drawn, self._cursor = choice, False, now, cursor

    def _curves(self, table: Array, kind: int) -> tuple[list[str], list[Array]]:
        """Labels with units, and values for people, of the joint that is chosen, or of all."""
        name, vector = self.KINDS[kind], self.KINDS[kind].startswith("wrench")
        labels, columns = [], []
        for i, joint in enumerate(self._names):
            if self._joint.value not in (joint, self._all):
                continue
            unit, factor = _unit(name, self._model.joint(joint).type is not JointType.PRISMATIC)
            rows = factor * table[:, i, kind]
            if self._joint.value == self._all:
                labels.append(f"{joint} [{unit}]")
                columns.append(np.linalg.norm(rows, axis=1) if vector else rows[:, 0])
            else:
                labels += [f"{axis} [{unit}]" for axis in ("xyz" if vector else (name,))]
                columns += list(rows.T if vector else rows.T[:1])
        return labels, columns

    def _save(self, event: Any) -> None:
        """Send the table to the page that has asked for it: SI units, columns as in other tables of this package."""
        t, table = self._table()
        parts = ("position", None, "velocity", "effort", "force", "moment")
        head, columns = ["t"], [t]
        for i, joint in enumerate(self._names):
            for k, part in enumerate(parts):
                if part in ("force", "moment"):
                    head += [f"{joint}.{part}.{axis}" for axis in "xyz"]
                    columns += list(table[:, i, k].T)
                elif part is not None and np.isfinite(table[:, i, k, 0]).all():
                    head.append(f"{joint}.{part}")
                    columns.append(table[:, i, k, 0])
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([f"{x:.9g}" for x in row] for row in np.column_stack(columns))
        event.client.send_file_download("joints.csv", file.getvalue().encode(), save_immediately=True)

    def _table(self) -> tuple[Array, Array]:
        return self._last() if self._live else self._whole(self._source.motion)  # type: ignore[attr-defined]

    def _last(self) -> tuple[Array, Array]:
        if not self._rows:
            return np.empty(0), np.empty(0)
        t = np.array([row[0] for row in self._rows])
        good = np.concatenate([[True], np.diff(t) > 0.0])  # a clock that was set back
        return t[good] - t[-1], np.stack([row[1] for row in self._rows])[good]

    def _values(self, shown: Shown) -> Array:
        """(joints, kinds, 3)."""
        out = np.full((len(self._names), len(self.KINDS), 3), np.nan)
        for i, name in enumerate(self._names):
            q, v = self._model.q_slice(name).start, self._model.v_slice(name).start
            out[i, 0, 0], out[i, 2, 0] = shown.q[q], shown.v[v]
            if shown.reference is not None:
                out[i, 1, 0] = shown.reference[q] - shown.q[q]
            if shown.efforts is not None:
                out[i, 3, 0] = shown.efforts[v]
            if shown.wrenches is not None and name in shown.wrenches.names:
                k = shown.wrenches.names.index(name)
                out[i, 4], out[i, 5] = shown.wrenches.forces[k], shown.wrenches.moments[k]
        return out

    def _whole(self, motion: Any) -> tuple[Array, Array]:
        k = np.unique(np.linspace(0, len(motion) - 1, min(len(motion), self.MOST)).astype(int))
        if "all" not in self._tables:
            rows = []
            for row in k:
                state = Shown(
                    0.0, motion.q[row], motion.v[row], motion.a[row],
                    None if motion.efforts is None else motion.efforts[row], motion.arrows(int(row)), {}, {},
                    None if motion.reference is None else motion.reference[row],
                )  # fmt: skip
                rows.append(self._values(state))
            self._tables["all"] = np.stack(rows)
        return motion.t[k] - motion.t[0], self._tables["all"]


def _with_cursor(t: Array, columns: list[Array], now: float) -> tuple[Array, list[Array]]:
    """Curves with two more points at one instant, and a curve that is an upright line there."""
    k = int(np.searchsorted(t, now))
    values = np.concatenate([column[np.isfinite(column)] for column in columns])
    line = np.full(len(t) + 2, np.nan)
    line[k : k + 2] = (values.min(), values.max()) if values.size else (0.0, 1.0)
    wide = [np.insert(column, k, [np.interp(now, t, column)] * 2) for column in columns]
    return np.insert(t, k, [now, now]), [*wide, line]


def _unit(kind: str, angle: bool) -> tuple[str, float]:
    if kind in ("position", "error"):
        return ("°", math.degrees(1.0)) if angle else ("mm", 1e3)
    if kind == "velocity":
        return ("°/s", math.degrees(1.0)) if angle else ("mm/s", 1e3)
    if kind == "wrench: force" or (kind == "effort" and not angle):
        return "N", 1.0
    return "N m", 1.0


class ControlPanel:
    """Hold, reset, pause, step; set-points and motions through several; gains and payload."""

    MOST_POINTS = 100

    def __init__(self, gui: Any, model: RobotModel, controls: Controls) -> None:
        self._gui, self._model, self._controls = gui, model, controls
        self._axes = _axes(model)
        self._paused = False
        self._heard = controls.answer()
        self._adjusted: dict[str, Any] = {}
        self._groups: dict[str, Any] = {}
        self._followed = False
        self._points: list[tuple[Array, float]] = []
        with gui.add_folder("Robot"):
            self._answer = gui.add_html("")
            self._tell("drag a link with the mouse to pull it")
            for label, work in (
                ("hold", controls.hold),
                ("reset", controls.reset),
                ("pause", self._pause),
                ("step", controls.step),
            ):
                button = gui.add_button(label)
                button.on_click(self._asked(work))
                if label == "pause":
                    self._pause_button = button
        with gui.add_folder("Set-points", expand_by_default=False):
            self._handles = [axis.slider(gui, 0.0) for axis in self._axes]
            self._duration = gui.add_slider("duration [s]", 0.5, 20.0, 0.1, 3.0)
            gui.add_button("go there").on_click(self._asked(self._go))
            gui.add_button("sliders to where the robot is").on_click(self._asked(self._where))
            self._list = gui.add_html("")
            gui.add_button("add the sliders as a point").on_click(self._asked(self._add_point))
            gui.add_button("go through the points").on_click(self._asked(self._go_along))
            gui.add_button("forget the points").on_click(self._asked(self._forget))
        self._folder = gui.add_folder("Gains and payload", expand_by_default=False)
        self._q = model.initial_configuration()

    def _asked(self, work: Callable[[], str]) -> Callable[[Any], None]:
        def clicked(_event: Any) -> None:
            try:
                self._tell(work())
            except RobotDynamicsError as error:
                self._tell(str(error))

        return clicked

    def _tell(self, text: str) -> None:
        self._answer.content = text_block(text)

    def _pause(self) -> str:
        self._paused = not self._paused
        self._pause_button.label = "go on (paused)" if self._paused else "pause"
        return self._controls.pause(self._paused)

    def hear(self) -> None:
        """Show the answer to a request, once it has come."""
        answer = self._controls.answer()
        if answer != self._heard:
            self._heard = answer
            self._tell(answer)

    def _go(self) -> str:
        return self._controls.move_to(*self._asked_point())

    def _asked_point(self) -> tuple[Array, float]:
        """Where the sliders are, and the seconds to get there."""
        q = self._q.copy()
        for axis, handle in zip(self._axes, self._handles, strict=True):
            q[axis.index] = handle.value / axis.factor
        return q, float(self._duration.value)

    def _add_point(self) -> str:
        if len(self._points) >= self.MOST_POINTS:
            return f"{self.MOST_POINTS} points are the most"
        self._points.append(self._asked_point())
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
            f"{k}. after {seconds:g} s: "
            + ", ".join(f"{q[axis.index] * axis.factor:.1f} {axis.unit}" for axis in self._axes)
            for k, (q, seconds) in enumerate(self._points, start=1)
        )
        self._list.content = text_block("\n".join([*rows, f"{total:g} s in all"])) if self._points else ""
        return answer

    def _where(self) -> str:
        for axis, handle in zip(self._axes, self._handles, strict=True):
            axis.show(handle, self._q[axis.index])
        return "the sliders are where the robot is"

    def follow(self, shown: Shown) -> None:
        """Take note of where the robot is, and of what can be adjusted."""
        self._q = shown.q
        if not self._followed:
            self._followed = True
            self._where()
        for item in self._controls.adjustables():
            if item.name not in self._adjusted:
                self._adjusted[item.name] = self._add(item)

    def _group(self, name: str) -> Any:
        """The folder of a parameter: gains have one for each joint."""
        group = name.partition(".")[2].rpartition(".")[0]
        if group not in self._groups:
            with self._folder:
                self._groups[group] = self._gui.add_folder(group, expand_by_default=False) if group else self._folder
        return self._groups[group]

    def _add(self, item: Any) -> Any:
        if item.name == "payload.mass":
            with self._folder:
                names = self._model.link_names
                link = self._gui.add_dropdown("payload on", names, initial_value=names[-1])
                link.on_update(lambda _event: self._tell(self._controls.carry(link.value)))
        with self._group(item.name):
            step = 10.0 ** math.floor(math.log10(max(item.upper - item.lower, 1e-9) / 500.0))
            unit = f" [{item.unit}]" if item.unit else ""
            value = min(max(item.value, item.lower), item.upper)
            handle = self._gui.add_slider(f"{item.label}{unit}", item.lower, item.upper, step, value)

            @handle.on_update
            def _(_event: Any) -> None:
                self._tell(self._controls.adjust(item.name, float(handle.value)))

        return handle
