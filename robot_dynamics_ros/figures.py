"""One style for all figures: colours for many joints and for colour-blind readers, units that
people use, no noise.

Colours: Okabe and Ito (2008), "Color universal design"; black and yellow, which vanish on one
ground or the other, are left out. From the seventh curve on dashes tell curves apart.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, BackendError, optional_package
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""Colours of curves that belong to joints."""

XYZ = (
    {"color": "#c1272d", "ls": "-"},
    {"color": "#4e9a06", "ls": (0, (5, 2))},
    {"color": "#2b5fad", "ls": (0, (1, 1.2))},
)
"""Colours of components: x red, y green, z blue, as everywhere in robotics."""

FIGURE_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}

_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_MOST_POINTS = 4000
_PAGE_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:1150px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 1.4em}
td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}img{max-width:100%}h2{margin-top:2em}
.good{border-left:6px solid #009e73}.fair{border-left:6px solid #e69f00}
.poor{border-left:6px solid #d55e00}
.finding{padding:.25em .8em;margin:.25em 0;background:#f7f7f7}@media(prefers-color-scheme:dark){
body{background:#181818;color:#ddd}.finding{background:#262626}
td,th{border-color:#444}img{background:#fff}}
"""


def pyplot() -> ModuleType:
    """``matplotlib.pyplot``."""
    remedy = "'robot_dynamics_ros[viz]', or leave figures out"
    return optional_package("matplotlib.pyplot", "figures need", "figure", remedy)


def curve(number: int) -> dict[str, object]:
    """Colour and dashes of the curve of the joint with this number; twenty-four are all
    different.
    """
    return {
        "color": SERIES[number % len(SERIES)],
        "linestyle": _DASHES[number // len(SERIES) % len(_DASHES)],
    }


def joint_kinds(model: RobotModel) -> dict[str, list[int]]:
    """Kind of motion, ``"angle"`` or ``"length"`` → the joints of that kind, as numbers in
    ``model.joint_names``; only those with one coordinate.
    """
    kinds: dict[str, list[int]] = {}
    for number, name in enumerate(model.joint_names):
        joint = model.joint(name)
        if joint.type.nq == 1:
            kinds.setdefault("length" if joint.type is JointType.PRISMATIC else "angle", []).append(
                number
            )
    return dict(sorted(kinds.items()))


def unit_of(quantity: str, kind: str) -> tuple[str, float]:
    """The unit people read, and the factor from SI: degrees and mm for positions and their errors,
    N m and N for efforts.
    """
    angle = kind == "angle"
    if quantity in ("effort", "force", "moment"):
        return "N m" if quantity == "moment" or (quantity == "effort" and angle) else "N", 1.0
    unit, factor = ("°", math.degrees(1.0)) if angle else ("mm", 1e3)
    return {"position": unit, "error": unit, "velocity": f"{unit}/s", "acceleration": f"{unit}/s²"}[
        quantity
    ], factor


def without_noise(table: Array, largest: float | None = None) -> Array:
    """The numbers with what is below 1e-9 of the ``largest`` (of the table, if not given) set to
    zero: rounding is no signal.
    """
    table = np.asarray(table, dtype=float)
    if largest is None:
        top = float(np.fmax.reduce(np.abs(table).ravel(), initial=0.0))
    else:
        top = largest
    # what is not known stays so
    return np.where(np.abs(table) <= 1e-9 * top, 0.0, table)


def every_nth(n: int) -> slice:
    """Rows of n that are drawn."""
    return slice(None, None, max(1, n // _MOST_POINTS))


def legend(figure: Figure, axes: Sequence[Axes], below: bool = False) -> None:
    """One legend for all axes, beside or ``below`` them, where it covers no curve."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        if below:
            where = {"loc": "outside lower center", "ncols": len(handles)}
        else:
            where = {"loc": "outside right upper"}
        figure.legend(handles.values(), handles.keys(), frameon=False, **where)


def html_page(title: str, body: Iterable[str]) -> str:
    """A report as a page that needs no other file; classes ``good``, ``fair`` and ``poor`` colour
    its findings.
    """
    head = (
        "<head><meta "
        f'charset="utf-8"><title>{html.escape(title)}</title><style>{_PAGE_STYLE}</style></head>'
    )
    lines = (
        f'<!doctype html><html lang="en">{head}<body><h1>{html.escape(title)}</h1>',
        *body,
        "</body></html>",
    )
    return "\n".join(lines) + "\n"


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of a page."""
    lines = [f"<th>{'</th><th>'.join(map(html.escape, head))}</th>"]
    lines += [f"<td>{'</td><td>'.join(map(html.escape, row))}</td>" for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def html_finding(level: str, text: str) -> str:
    """A sentence of a page; ``level``: ``"good"``, ``"fair"`` or ``"poor"``."""
    return f'<div class="finding {level}">{html.escape(text)}</div>'


def as_html(draw: Callable[[], Figure], words: str) -> str:
    """A figure as an image of an HTML page that needs no file, or why it cannot be drawn; the
    figure is closed.
    """
    try:
        figure = draw()
    except BackendError as error:
        return f"<p>{html.escape(str(error))}</p>"
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=80)
    pyplot().close(figure)
    return (
        f'<img alt="{html.escape(words)}" '
        f'src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">'
    )


def save(figure: Figure, path: str | Path | None, dpi: int = 120) -> Figure:
    """Write a figure where a path is given; returns it."""
    if path is not None:
        try:
            figure.savefig(path, dpi=dpi)
        except (OSError, ValueError) as error:
            problem = f"cannot be written: {error}"
            remedy = "Choose another place."
            raise ArgumentError(problem, where=str(path), remedy=remedy) from None
    return figure
