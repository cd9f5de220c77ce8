"""Loads of the joints: a table beside the robot, a link's own numbers, and the largest loads in the
scene.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.source import Shown

if TYPE_CHECKING:
    from viser import GuiApi


def text_block(text: str) -> str:
    """HTML of a text from anywhere, as it is: nothing in it is taken for markup or for code."""
    lines = "<br>".join(html.escape(line) for line in text.splitlines())
    return (
        f'<div style="padding: 0 0.8em; font-size: 0.85em; overflow-wrap: anywhere">{lines}</div>'
    )


def number(value: float, unit: str = "") -> str:
    """A number for people: three digits, a true minus sign, ``–`` where it is not known."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 99.95:
        digits = 0
    elif size >= 9.995 or size < 0.005:
        digits = 1
    else:
        digits = 2
    rounded = round(value, digits) + 0.0
    return f"{rounded:.{digits}f}{' ' if unit else ''}{unit}".replace("-", "−")


class JointLoads:
    """Loads of n joints with one coordinate in one state, in which the links' poses are (links, 4,
    4).

    Attributes:
        position: (n,) degrees, or mm of prismatic joints.
        effort: (n,) N m or N: measured where known, else what the wrench does along the axis.
        share: (n,) of the effort's limit, 0 … 1 and more; NaN without a limit.
        wrench: (n, 6) [moment; force] in the joint's axes (those of the child link), at the joint's
            origin.
        force: (n,) N that the bearing carries: of a prismatic joint only what is across its axis.
        moment: (n,) N m that the bearing carries: of a revolute joint only what is across its axis.
    """

    def __init__(self, model: RobotModel, shown: Shown, poses: Array) -> None:
        self.names = names = tuple(
            name for name in model.joint_names if model.joint(name).type.nq == 1
        )
        n = len(names)
        self.position = np.full(n, np.nan)
        self.effort = np.full(n, np.nan)
        self.share = np.full(n, np.nan)
        self.wrench = np.full((n, 6), np.nan)
        self.force = np.full(n, np.nan)
        self.moment = np.full(n, np.nan)
        known = shown.wrenches
        halves = () if known is None else zip(known.names, known.moments, known.forces, strict=True)
        wrenches = {name: (moment, force) for name, moment, force in halves}
        for i, name in enumerate(names):
            joint = model.joint(name)
            slides = joint.type is JointType.PRISMATIC
            unit = 1e3 if slides else math.degrees(1.0)
            self.position[i] = shown.q[model.q_slice(name).start] * unit
            if name in wrenches:
                moment, force = (
                    half @ poses[model.link_index(joint.child), :3, :3] for half in wrenches[name]
                )
                self.wrench[i] = *moment, *force
                own = force if slides else moment
                along = float(own @ joint.axis)
                self.effort[i] = along
                across = float(np.linalg.norm(own - along * joint.axis))
                self.force[i] = across if slides else np.linalg.norm(force)
                self.moment[i] = np.linalg.norm(moment) if slides else across
            if shown.efforts is not None:
                self.effort[i] = shown.efforts[model.v_slice(name).start]
            limit = joint.limits.effort
            if 0.0 < limit < math.inf:
                self.share[i] = abs(self.effort[i]) / limit


class LoadPanel:
    """The table of loads, the largest since the start, and the link that somebody has clicked."""

    # s between two tables: numbers that change faster cannot be read
    PAUSE = 0.2
    # joints in the table
    MOST = 40

    def __init__(self, gui: GuiApi, model: RobotModel) -> None:
        self._model = model
        self._drawn = -math.inf
        self._newest: tuple[JointLoads, Shown] | None = None
        self._changed = False
        self._largest: dict[str, Array] = {}
        # "" before the first click
        self.link: str = ""
        with gui.add_folder("Loads"):
            self._table = gui.add_html("")
            gui.add_button("forget the largest").on_click(lambda _event: self._forget())
            self._outside = gui.add_html("")
        self._detail = gui.add_html(
            text_block("click a link: its mass, and the wrench in its joint")
        )

    def _forget(self) -> None:
        self._largest = {}
        if self._newest is not None:
            self.add(*self._newest)

    def select(self, link: str) -> None:
        self.link = link
        self._drawn = -math.inf
        self._changed = True

    def add(self, loads: JointLoads, shown: Shown) -> None:
        for name, row in (("force", loads.force), ("moment", loads.moment)):
            self._largest[name] = np.fmax(self._largest.get(name, row), row)
        self._newest = (loads, shown)
        self._changed = True

    def refresh(self, now: float) -> None:
        """Write the tables, if something has changed and some time has passed."""
        if self._newest is None or not self._changed or now - self._drawn < self.PAUSE:
            return
        self._drawn = now
        self._changed = False
        loads, shown = self._newest
        self._table.content = self._rows(loads)
        self._outside.content = _outside_rows(shown)
        if self.link:
            self._detail.content = self._link_text(loads)

    def _rows(self, loads: JointLoads) -> str:
        head = ("", "position", "effort", "of limit", "force, N", "most", "moment, N m", "most")
        most = {
            name: rows == np.nanmax(rows)
            for name, rows in self._largest.items()
            if np.isfinite(rows).any()
        }
        lines = []
        for i, name in enumerate(loads.names[: self.MOST]):
            slides = self._model.joint(name).type is JointType.PRISMATIC
            share = loads.share[i]
            cells = [
                number(loads.position[i], "mm" if slides else "°").replace(" °", "°"),
                number(loads.effort[i]),
                f"{100.0 * share:.0f} %" if math.isfinite(share) else "–",
            ]
            for half, row in (("force", loads.force), ("moment", loads.moment)):
                value = number(self._largest[half][i])
                cells += [
                    number(row[i]),
                    f"<b>{value}</b>" if half in most and most[half][i] else value,
                ]
            lines.append(_row(name, cells, {2: _share_colour(share)}))
        if len(loads.names) > self.MOST:
            lines.append(
                f'<tr><td colspan="{len(head)}">and {len(loads.names) - self.MOST} more</td></tr>'
            )
        return _html_table(head, lines)

    def _link_text(self, loads: JointLoads) -> str:
        model = self._model
        link = self.link
        lines = [f"link {link}: {number(model.link(link).inertia.mass, 'kg')}"]
        joint = next((joint.name for joint in model.description.joints if joint.child == link), "")
        if joint in loads.names:
            wrench = loads.wrench[loads.names.index(joint)]
            lines.append(f"joint {joint}, in its axes x, y, z:")
            for what, unit, row in (("force", "N", wrench[3:]), ("moment", "N m", wrench[:3])):
                lines.append(
                    f"{what} {', '.join(map(number, row))} {unit}; |{what}| "
                    f"{number(float(np.linalg.norm(row)), unit)}"
                )
        elif joint:
            lines.append(f"joint {joint} ({model.joint(joint).type.name.lower()})")
        return text_block("\n".join(lines))


def _outside_rows(shown: Shown) -> str:
    """Wrenches on links, the known ones above the estimated ones."""
    lines = [
        _row(f"{link}, {what}", [number(x) for x in (*wrenches[link][3:], *wrenches[link][:3])])
        for link, (what, wrenches) in itertools.product(
            dict.fromkeys((*shown.external, *shown.estimated)),
            (("known", shown.external), ("estimated", shown.estimated)),
        )
        if link in wrenches
    ]
    head = ("on links, in their axes", "Fx, N", "Fy", "Fz", "Mx, N m", "My", "Mz")
    return _html_table(head, lines) if lines else ""


def _row(
    name: str,
    cells: Sequence[str],
    backgrounds: Mapping[int, str] = MappingProxyType({}),
) -> str:
    styles = (
        f"; background: {backgrounds[k]}" if k in backgrounds else "" for k in range(len(cells))
    )
    texts = (
        f'<td style="text-align: right{style}">{cell}</td>'
        for style, cell in zip(styles, cells, strict=True)
    )
    # a name that is too long breaks beside a word of it
    words = html.escape(name).replace("_", "_<wbr>")
    return f'<tr><td style="overflow-wrap: anywhere">{words}</td>{"".join(texts)}</tr>'


def _html_table(head: Sequence[str], lines: Sequence[str]) -> str:
    # a unit stays in one line
    titles = "".join(
        f'<th style="font-weight: 500; text-align: right">{title.replace("N m", "N&nbsp;m")}</th>'
        for title in head
    )
    style = (
        "width: 100%; font-size: 0.68em; border-collapse: collapse; font-variant-numeric: "
        "tabular-nums"
    )
    return (
        '<div style="padding: 0 0.3em"><table '
        f'style="{style}"><tr>{titles}</tr>{"".join(lines)}</table></div>'
    )


def _share_colour(share: float) -> str:
    """Background of a cell, from clear to amber at the limit and red beyond."""
    if not math.isfinite(share):
        return "transparent"
    if share > 1.0:
        return "rgb(214, 39, 40, 0.55)"
    return f"rgb(240, 170, 0, {0.7 * share:.2f})"


def link_shares(model: RobotModel, loads: JointLoads) -> Mapping[str, float]:
    """Link → share of the limit of the effort in the joint that carries it."""
    return {
        model.joint(name).child: share
        for name, share in zip(loads.names, loads.share.tolist(), strict=True)
    }
