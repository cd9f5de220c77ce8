"""Words and plots around the scene of a replay: name of the robot, legend, and beneath it plots of
efforts and loads over time, with a line at the moment that is shown.  Plain SVG: it needs nothing.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.dynamics import link_poses
from robot_dynamics_ros.figures import SERIES
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.view.arrows import nice_scale
from robot_dynamics_ros.view.legend import LegendEntry, legend_html
from robot_dynamics_ros.view.source import ShownMotion

# share of the page's height
PLOTS_HEIGHT_PERCENT = 26
# Points of a curve: more than a page has columns of pixels cannot be seen.
MOST_CURVE_POINTS = 600
# Joints in one plot: more cannot be distinguished.
MOST_CURVES = 8
# of the drawing, stretched to the page's width
_WIDTH = 1000.0
_HEIGHT = 100.0
_STYLE = f"""<style>
html, body {{ height: 100%; overflow: hidden; }}
#root {{ position: relative; transform: translateZ(0); overflow: hidden;
  height: {100 - PLOTS_HEIGHT_PERCENT}vh !important; }}
#root > div {{ height: 100% !important; }}
.replay-name {{ position: fixed; left: 0; right: 0; top: 10px; text-align: center;
  z-index: 5; pointer-events: none;
  font: 600 17px system-ui, sans-serif; color: var(--rd-ink); }}
.replay-plots {{ position: fixed; left: 0; right: 0; bottom: 0; display: flex; gap: 10px;
  height: {PLOTS_HEIGHT_PERCENT}vh; box-sizing: border-box; padding: 4px 10px;
  background: var(--rd-sheet); color: var(--rd-ink);
  border-top: 1px solid var(--rd-line); font: 11px/1.3 system-ui, sans-serif; }}
.replay-plots > div {{ flex: 1; min-width: 0; display: flex; flex-direction: column; }}
.replay-plots svg {{ flex: 1; min-height: 0; width: 100%; background: var(--rd-plot); }}
.replay-plots .keys {{ overflow: hidden; max-height: 2.6em; }}
@media (max-width: 700px) {{ .replay-plots > div:nth-child(n+2) {{ display: none; }} }}
</style>"""
# the player's own slider tells the time that is shown
_CURSOR = """<script>
(function follow() {
  const sliders = [...document.querySelectorAll('#root [role=slider]')];
  const player = sliders.find((s) => Number(s.ariaValueMax || s.getAttribute('aria-valuemax')) > 0);
  if (player) {
    const share = Number(player.getAttribute('aria-valuenow'))
      / Number(player.getAttribute('aria-valuemax'));
    for (const line of document.querySelectorAll('.replay-plots .now'))
      line.setAttribute('transform', `translate(${1000 * share} 0)`);
  }
  setTimeout(follow, 60);
})();
</script>"""


def replay_frame(motion: ShownMotion, name: str, entries: Sequence[LegendEntry]) -> str:
    """HTML for the end of a replay's body: name, legend and plots.

    Args:
        motion: what is replayed.
        name: of the robot.
        entries: of the legend.
    """
    rows = motion.some_rows(MOST_CURVE_POINTS)
    t = motion.t[rows] - motion.t[0]
    wrenches = motion.wrench_table(rows)
    model = motion.model
    single = [i for i, joint in enumerate(model.joint_names) if model.joint(joint).type.nq == 1]
    names = [model.joint_names[i] for i in single]
    force = np.linalg.norm(wrenches[:, single, 3:], axis=2)
    moment = np.linalg.norm(wrenches[:, single, :3], axis=2)
    efforts = _efforts(motion, rows, single, wrenches)
    plots = [
        _plot("effort in each joint", _effort_unit(motion, single), names, t, efforts),
        _plot("force that each joint carries", "N", names, t, force),
        _plot("moment that each joint carries", "N m", names, t, moment),
    ]
    # above the player
    corner = legend_html(entries, f"bottom: calc({PLOTS_HEIGHT_PERCENT}vh + 52px)")
    return (
        f'{_STYLE}<div class="replay-name">{html.escape(name)}</div>{corner}'
        f'<div class="replay-plots">{"".join(plots)}</div>{_CURSOR}'
    )


def _efforts(motion: ShownMotion, rows: Array, single: list[int], wrenches: Array) -> Array:
    """(n, joints) efforts: recorded, or what the wrench does along the axis."""
    model = motion.model
    if motion.efforts is not None:
        columns = [model.v_slice(model.joint_names[i]).start for i in single]
        return np.asarray(motion.efforts[rows][:, columns])
    poses = np.asarray(link_poses(model, motion.q[rows]))
    out = np.empty((len(rows), len(single)))
    for column, i in enumerate(single):
        joint = model.joint(model.joint_names[i])
        if joint.type is JointType.PRISMATIC:
            half = slice(3, 6)
        else:
            half = slice(0, 3)
        axis_world = poses[:, model.link_index(joint.child), :3, :3] @ joint.axis
        out[:, column] = np.einsum("nk,nk->n", wrenches[:, i, half], axis_world)
    return out


def _effort_unit(motion: ShownMotion, single: list[int]) -> str:
    model = motion.model
    slides = [model.joint(model.joint_names[i]).type is JointType.PRISMATIC for i in single]
    if all(slides):
        return "N"
    return "N m or N" if any(slides) else "N m"


def _plot(title: str, unit: str, names: Sequence[str], t: Array, table: Array) -> str:
    """A plot of the largest curves of a table (n, joints), with its scale and the names."""
    if not len(names):
        return ""
    largest = np.abs(table).max(axis=0)
    chosen = sorted(np.argsort(-largest, kind="stable")[:MOST_CURVES].tolist())
    high = float(np.max(table, initial=0.0))
    low = float(np.min(table, initial=0.0))
    span = max(high - low, 1e-12)
    x = _WIDTH * (t - t[0]) / max(float(t[-1] - t[0]), 1e-12)
    curves = []
    keys = []
    for number, k in enumerate(chosen):
        colour = SERIES[number % len(SERIES)]
        if number < len(SERIES):
            dash = ""
        else:
            dash = ' stroke-dasharray="5 3"'
        y = _HEIGHT * (0.96 - 0.92 * (table[:, k] - low) / span)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        curves.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.4"{dash} '
            'vector-effect="non-scaling-stroke"/>'
        )
        keys.append(f'<span style="color: {colour}">{html.escape(names[k])}</span>')
    step = nice_scale(0.5 * span, 1.0)
    lines = []
    texts = []
    for level in np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) * step:
        height = float(_HEIGHT * (0.96 - 0.92 * (level - low) / span))
        lines.append(
            f'<path d="M0 {height:.1f}H{_WIDTH:g}" style="stroke: var(--rd-line)" '
            'vector-effect="non-scaling-stroke"/>'
        )
        texts.append(f"{level + 0.0:g}")
    scale = f"lines at {', '.join(texts)} {unit}; {t[-1] - t[0]:.3g} s"
    fixed_width = 'style="stroke: var(--rd-strong)" vector-effect="non-scaling-stroke"'
    now = f'<path class="now" d="M0 0V{_HEIGHT:g}" {fixed_width}/>'
    drawing = (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" preserveAspectRatio="none">'
        f"{''.join(lines)}{''.join(curves)}{now}</svg>"
    )
    return (
        f"<div><b>{title} [{unit}]</b> {drawing}"
        f'<span class="keys">{scale}</span><span class="keys">{" ".join(keys)}</span></div>'
    )
