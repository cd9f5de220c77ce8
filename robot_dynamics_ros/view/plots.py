"""Curves of joints beside a robot, and their table."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.figures import SERIES, unit_of
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.source import MotionSource, Shown, Source

if TYPE_CHECKING:
    from viser import GuiApi, GuiButtonHandle, GuiEvent

PLOT_KINDS = ("position", "error", "velocity", "effort", "force", "moment")
"""What can be plotted of a joint; forces and moments have three components, in world axes."""
_VECTORS = ("force", "moment")
_NOW = "now"

# A click or a drag in the plot sets the slider of the time.  The page has no such event of its own:
# its field beside the slider takes the number, as if somebody had typed it.
_SEEK = """<img src="data:," alt="" style="display: none" data-slider="{slider}" onerror="
const mark = this, last = {last};
if (!window.robotSeek) {{
  window.robotSeek = true;
  const seek = (event) => {{
    const over = event.target.closest &amp;&amp; event.target.closest('.u-over');
    if (!over || !(event.buttons &amp; 1)) return;
    let near = over, found = null;
    while (near &amp;&amp; !found) {{
      near = near.parentElement;
      found = near &amp;&amp; near.querySelector('[data-slider]');
    }}
    const track = found &amp;&amp; document.getElementById(found.dataset.slider);
    const field = track &amp;&amp; track.parentElement.querySelector('input:not([type=hidden])');
    if (!field) return;
    const box = over.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
    set.call(field, (share * Number(found.dataset.last)).toFixed(4));
    field.dispatchEvent(new Event('input', {{bubbles: true}}));
  }};
  for (const kind of ['mousedown', 'mousemove', 'pointerdown'])
    document.addEventListener(kind, seek, true);
}}
mark.dataset.last = last;">"""


def other_than(names: tuple[str, ...], word: str) -> str:
    """A word, changed until no name is the same: choices of a list have to differ."""
    while word in names:
        word = f"({word})"
    return word


class PlotPanel:
    """Curves of joints over the last seconds, or over the whole motion; then a click in the plot
    sets the slider of the time that the page knows by the name ``slider``.
    """

    # s
    LIVE = 10.0
    # points
    MOST = 600
    # s between two drawings of curves that grow; a page needs longer for one than for the robot
    PAUSE = 0.1

    def __init__(
        self,
        gui: GuiApi,
        model: RobotModel,
        source: Source,
        slider: str = "",
    ) -> None:
        self._model = model
        self._motion = source if isinstance(source, MotionSource) else None
        self._new = False
        self._drawn = -math.inf
        self._names = names = tuple(
            name for name in model.joint_names if model.joint(name).type.nq == 1
        )
        self._q, self._v = (
            [of(name).start for name in names] for of in (model.q_slice, model.v_slice)
        )
        self._rows: deque[tuple[float, Array]] = deque(maxlen=int(self.LIVE * 30))
        self._kept: list[tuple[str, str]] = []
        self._seen: tuple[Any, ...] = ()
        self._cursor: float | None = None
        if not names:
            return
        self._all = other_than(names, "all")
        if slider:
            scrub = {"cursor": {"drag": {"x": False, "y": False}}}
        else:
            scrub = {}
        with gui.add_folder("Plot", expand_by_default=False):
            self._joint = gui.add_dropdown("joint ", (*names, self._all), initial_value=names[0])
            self._kind = gui.add_dropdown("quantity", PLOT_KINDS, initial_value=PLOT_KINDS[0])
            self._keep = gui.add_button_group("curves", ("keep these", "forget kept"))
            self._keep.on_click(lambda event: self._choose(event.target.value == "keep these"))
            self._plot = gui.add_uplot(
                (np.array([0.0, 1.0]), np.zeros(2)),
                ({"label": "t [s]"}, {"label": ""}),
                scales={"x": {"time": False}},
                legend={"show": True},
                aspect=1.4,
                **scrub,
            )
            if self._motion is not None and slider:
                gui.add_html(_SEEK.format(slider=slider, last=self._motion.motion.duration))
            gui.add_button("save all as CSV").on_click(self._save)

    def _choose(self, keep: bool) -> None:
        chosen = (self._joint.value, self._kind.value)
        if keep:
            self._kept = [*(c for c in self._kept if c != chosen), chosen]
        else:
            self._kept = []

    def add(self, shown: Shown) -> None:
        if not self._names or self._motion is not None:
            return
        wrenches = np.full((1, len(self._names), 6), np.nan)
        if (known := shown.wrenches) is not None:
            for name, moment, force in zip(known.names, known.moments, known.forces, strict=True):
                if name in self._names:
                    wrenches[0, self._names.index(name)] = *moment, *force
        reference, efforts = (
            None if x is None else x[None] for x in (shown.reference, shown.efforts)
        )
        self._rows.append(
            (shown.t, self._values(shown.q[None], shown.v[None], reference, efforts, wrenches)[0])
        )
        self._new = True

    def refresh(self, now: float) -> None:
        """Draw the curves, if something else is chosen, or there are new states and some time has
        passed.
        """
        if not self._names:
            return
        choice = tuple(dict.fromkeys([*self._kept, (self._joint.value, self._kind.value)]))
        if self._motion is None:
            cursor = None
        else:
            cursor = float(self._motion.time)
        other = choice != self._seen
        if not other and not (
            (self._new or cursor != self._cursor) and now - self._drawn >= self.PAUSE
        ):
            return
        t, table = self._table()
        if len(t) < 2:
            return
        curves = list(
            itertools.chain.from_iterable(
                self._curves(table, joint, kind, len(choice) > 1) for joint, kind in choice
            )
        )
        columns = [column for _, _, column in curves]
        if cursor is not None:
            t, columns = _with_cursor(t, columns, cursor)
        if other:
            self._describe([(label, unit) for label, unit, _ in curves])
        self._plot.data = (t, *(np.ascontiguousarray(column) for column in columns))
        self._seen = choice
        self._new = False
        self._drawn = now
        self._cursor = cursor

    def _describe(self, curves: list[tuple[str, str]]) -> None:
        """Names and colours of the curves; an axis for each of the first two units, each unit with
        a scale of its own.
        """
        units = list(dict.fromkeys(unit for _, unit in curves))
        axes = [
            {"scale": unit, "label": unit, "side": side}
            for unit, side in zip(units, (3, 1), strict=False)
        ]
        self._plot.scales = {
            "x": {"time": False},
            **{unit: {} for unit in units},
            _NOW: {"range": (0.0, 1.0)},
        }
        self._plot.axes = ({}, *axes)
        series = [
            {"label": f"{label} [{unit}]", "stroke": SERIES[k % len(SERIES)], "scale": unit}
            for k, (label, unit) in enumerate(curves)
        ]
        if self._motion is not None:
            series.append({"label": _NOW, "stroke": "#888888", "scale": _NOW})
        self._plot.series = ({"label": "t [s]"}, *series)

    def _curves(
        self,
        table: Array,
        chosen: str,
        kind: str,
        several: bool,
    ) -> list[tuple[str, str, Array]]:
        """Label, unit and values for people of what is chosen: components of one joint's vector,
        sizes of all joints'.
        """
        curves = []
        for i, joint in enumerate(self._names):
            if chosen not in (joint, self._all):
                continue
            slides = self._model.joint(joint).type is JointType.PRISMATIC
            unit, factor = unit_of(kind, "length" if slides else "angle")
            rows = factor * table[:, i, PLOT_KINDS.index(kind)]
            if several:
                name = f"{joint} {kind}"
            elif chosen == self._all:
                name = joint
            else:
                name = kind
            if kind not in _VECTORS:
                curves.append((name, unit, rows[:, 0]))
            elif chosen == self._all:
                curves.append((name, unit, np.linalg.norm(rows, axis=1)))
            else:
                curves += [(f"{name} {axis}", unit, rows[:, k]) for k, axis in enumerate("xyz")]
        return curves

    def _save(self, event: GuiEvent[GuiButtonHandle]) -> None:
        """Send the table to the page: SI units, columns as in other tables of this package."""
        t, table = self._table()
        head = ["t"]
        columns = [t]
        for i, joint in enumerate(self._names):
            for k, part in enumerate(PLOT_KINDS):
                if part in _VECTORS:
                    head += [f"{joint}.{part}.{axis}" for axis in "xyz"]
                    columns += list(table[:, i, k].T)
                elif part != "error" and np.isfinite(table[:, i, k, 0]).all():
                    head.append(f"{joint}.{part}")
                    columns.append(table[:, i, k, 0])
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([f"{x:.9g}" for x in row] for row in np.column_stack(columns))
        if event.client is not None:
            event.client.send_file_download(
                "joints.csv", file.getvalue().encode(), save_immediately=True
            )

    def _table(self) -> tuple[Array, Array]:
        """(n,) s and (n, joints, kinds, 3)."""
        if self._motion is not None:
            return self._whole
        if not self._rows:
            return np.empty(0), np.empty(0)
        t = np.array([row[0] for row in self._rows])
        # a clock that was set back
        good = np.concatenate([[True], np.diff(t) > 0.0])
        return t[good] - t[-1], np.stack([row[1] for row in self._rows])[good]

    @cached_property
    def _whole(self) -> tuple[Array, Array]:
        assert self._motion is not None
        m = self._motion.motion
        k = m.some_rows(self.MOST)
        reference, efforts = (None if x is None else x[k] for x in (m.reference, m.efforts))
        columns = [m.model.joint_names.index(name) for name in self._names]
        return m.t[k] - m.t[0], self._values(
            m.q[k], m.v[k], reference, efforts, m.wrench_table(k)[:, columns]
        )

    def _values(
        self,
        q: Array,
        v: Array,
        reference: Array | None,
        efforts: Array | None,
        wrenches: Array,
    ) -> Array:
        """(n, joints, kinds, 3) of n states; NaN where nothing is known."""
        out = np.full((len(q), len(self._names), len(PLOT_KINDS), 3), np.nan)
        out[:, :, 0, 0] = q[:, self._q]
        out[:, :, 2, 0] = v[:, self._v]
        if reference is not None:
            out[:, :, 1, 0] = reference[:, self._q] - q[:, self._q]
        if efforts is not None:
            out[:, :, 3, 0] = efforts[:, self._v]
        out[:, :, 4] = wrenches[..., 3:]
        out[:, :, 5] = wrenches[..., :3]
        return out


def _with_cursor(t: Array, columns: list[Array], now: float) -> tuple[Array, list[Array]]:
    """Curves with two more points at one instant, and a curve that goes from 0 to 1 there: an
    upright line.
    """
    k = int(np.searchsorted(t, now))
    line = np.full(len(t) + 2, np.nan)
    line[k : k + 2] = 0.0, 1.0
    wide = [np.insert(column, k, [np.interp(now, t, column)] * 2) for column in columns]
    return np.insert(t, k, [now, now]), [*wide, line]
