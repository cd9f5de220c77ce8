"""The legend of a scene: what its arrows, arcs, balls and lines mean.  It stands in a corner of the
page or the picture, never in the scene, where it could be taken for a load.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.errors import optional_package
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import ArrowScale
from robot_dynamics_ros.view.colours import (
    ESTIMATED,
    EXTERNAL,
    FORCE,
    GHOST,
    MOMENT,
    by_speed,
    rgb255,
)
from robot_dynamics_ros.view.source import Shown

LINK_CENTRE = (0.08, 0.08, 0.08)
"""Colour of the balls at the centres of mass of links."""
ROBOT_CENTRE = (0.98, 0.78, 0.0)
"""Colour of the ball at the centre of mass of the robot."""
_INK = (60, 64, 70)
# of the page: above the scene, below menus; it takes no clicks
_CORNER = (
    "position: fixed; left: 12px; bottom: 10px; z-index: 5; pointer-events: none; "
    "font: 12px/1.5 system-ui, sans-serif; color: var(--rd-ink); "
    "background: var(--rd-paper); border-radius: 6px; padding: 4px 8px"
)
# on a phone the folded panel lies in that corner
_ABOVE_THE_PANEL = (
    "<style>@media (max-width: 36em) { .robot-legend { bottom: 58px !important } }</style>"
)
_SIGNS = {
    "arrow": '<path d="M1 6H14" stroke="{0}" stroke-width="3"/><path d="M13 1L22 6L13 11Z" '
    'fill="{0}"/>',
    "arc": '<path d="M6 9A5 5 0 1 1 15 9" stroke="{0}" stroke-width="2.5" fill="none"/>'
    '<path d="M17 5L14 12L11 7Z" fill="{0}"/>',
    "ball": '<circle cx="11" cy="6" r="4" fill="{0}"/>',
    "line": '<path d="M1 6H22" stroke="{0}" stroke-width="3"/>',
    "body": '<rect x="4" y="2" width="14" height="8" rx="3" fill="{0}"/>',
}


class LegendEntry(NamedTuple):
    """One line: a sign (arrow, arc, ball, line, body), its colour in 0 … 1, what it means."""

    sign: str
    colour: Sequence[float] | Array
    text: str


def legend_entries(
    scale: ArrowScale,
    on: Callable[[str], bool],
    model: RobotModel,
    shown: Shown | None,
    *,
    has_paths: bool,
) -> tuple[LegendEntry, ...]:
    """The lines for what is ``on`` (forces, moments, external, estimated, centres, clear,
    reference, paths) and there to be seen of a robot in the state ``shown``.
    """
    has_mass = model.total_mass > 0.0
    has_external = shown is not None and bool(shown.external)
    has_estimated = shown is not None and bool(shown.estimated)
    has_reference = shown is not None and shown.reference is not None
    force = f"0.1 m = {0.1 / scale.force:.3g} N"
    moment = f"0.1 m = {0.1 / scale.moment:.3g} N m"
    slow = by_speed(0.3, 1.0)
    rows = (
        ("forces", True, "arrow", FORCE, f"force in a joint, {force}"),
        ("moments", True, "arc", MOMENT, f"moment in a joint, {moment}"),
        ("external", has_external, "arrow", EXTERNAL, "wrench on a link"),
        ("estimated", has_estimated, "arrow", ESTIMATED, "estimated wrench on a link"),
        ("centres", has_mass, "ball", ROBOT_CENTRE, "centre of mass of the robot"),
        ("centres", has_mass and on("clear"), "ball", LINK_CENTRE, "centre of mass of a link"),
        ("paths", has_paths, "line", slow, "path of a centre of mass; bright: fast"),
        ("reference", has_reference, "body", GHOST, "where it should be"),
    )
    return tuple(
        LegendEntry(sign, colour, text)
        for layer, there, sign, colour, text in rows
        if there and on(layer)
    )


def legend_html(entries: Sequence[LegendEntry], style: str = "") -> str:
    """The legend as HTML that stays in the lower left corner of a page."""
    lines = []
    for sign, colour, text in entries:
        paint = f"rgb{rgb255(colour)}"
        lines.append(
            '<div><svg width="24" height="12" style="vertical-align: middle">'
            f"{_SIGNS[sign].format(paint)}</svg> {html.escape(text)}</div>"
        )
    return f'<div class="robot-legend" style="{_CORNER}; {style}">{"".join(lines)}</div>'


def page_legend(entries: Sequence[LegendEntry]) -> str:
    """The same for a page of viser: whatever its panel does, the legend stands in the page's own
    corner.
    """
    text = html.escape(_ABOVE_THE_PANEL + legend_html(entries), quote=True)
    return (
        f'<img src="data:," alt="" style="display: none" data-legend="{text}" onerror="'
        "let corner = document.getElementById('robot-legend');"
        "if (!corner) { corner = document.createElement('div'); corner.id = 'robot-legend';"
        'document.body.append(corner); } corner.innerHTML = this.dataset.legend;">'
    )


def draw_legend(picture: np.ndarray, entries: Sequence[LegendEntry]) -> np.ndarray:
    """A picture (height, width, 3) with the legend in its lower left corner."""
    pillow = [
        optional_package(f"PIL.{part}", "pictures need", "picture", "'robot_dynamics_ros[view]'")
        for part in ("Image", "ImageDraw", "ImageFont")
    ]
    image = pillow[0].fromarray(picture)
    pen = pillow[1].Draw(image, "RGBA")
    # pixels
    letter = max(9.0, image.height / 50.0)
    font = pillow[2].load_default(letter)
    row = 1.6 * letter
    top = image.height - row * len(entries) - letter
    widest = max((pen.textlength(entry.text, font=font) for entry in entries), default=0.0)
    pen.rounded_rectangle(
        (0.6 * letter, top - 0.5 * letter, widest + 4.6 * letter, image.height - 0.6 * letter),
        radius=0.5 * letter,
        fill=(255, 255, 255, 185),
    )
    for k, (sign, colour, text) in enumerate(entries):
        middle = top + row * (k + 0.5)
        _draw_sign(pen, sign, (letter, middle), letter, rgb255(colour))
        pen.text((3.6 * letter, middle), text, font=font, fill=_INK, anchor="lm")
    return np.asarray(image)


def _draw_sign(
    pen: Any,
    sign: str,
    place: tuple[float, float],
    size: float,
    paint: tuple[int, int, int],
) -> None:
    """Draw a sign of about two sizes to the right of a place, in pixels."""
    x, y = place
    thick = max(1, round(0.2 * size))
    if sign == "arrow":
        pen.line((x, y, x + 1.4 * size, y), fill=paint, width=thick)
        head = [(x + 1.2 * size, y - 0.4 * size), (x + 1.2 * size, y + 0.4 * size)]
        pen.polygon([*head, (x + 2.0 * size, y)], fill=paint)
    elif sign == "arc":
        ring = (x + 0.5 * size, y - 0.5 * size, x + 1.5 * size, y + 0.5 * size)
        pen.arc(ring, 120, 400, fill=paint, width=thick)
        head = [(x + 1.0 * size, y + 0.1 * size), (x + 1.7 * size, y + 0.1 * size)]
        pen.polygon([*head, (x + 1.3 * size, y + 0.7 * size)], fill=paint)
    elif sign == "ball":
        pen.ellipse((x + 0.7 * size, y - 0.3 * size, x + 1.3 * size, y + 0.3 * size), fill=paint)
    elif sign == "line":
        pen.line((x, y, x + 2.0 * size, y), fill=paint, width=thick)
    else:
        box = (x + 0.2 * size, y - 0.4 * size, x + 1.8 * size, y + 0.4 * size)
        pen.rounded_rectangle(box, radius=0.3 * size, fill=paint)
