"""The report of an identification as one HTML page: findings, tables, pictures."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import BackendError
from robot_dynamics_ros.figures import pyplot
from robot_dynamics_ros.identification.comparison import Comparison
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.identification.plots import plot_identification, plot_joint
from robot_dynamics_ros.identification.report import report_text
from robot_dynamics_ros.recordings.recording import Recording

__all__ = ["findings", "report_html"]

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:1150px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 1.4em}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}img{max-width:100%}h2{margin-top:2em}
.good{border-left:6px solid #009e73}.fair{border-left:6px solid #e69f00}.poor{border-left:6px solid #d55e00}
.finding{padding:.25em .8em;margin:.25em 0;background:#f7f7f7}@media(prefers-color-scheme:dark){
body{background:#181818;color:#ddd}.finding{background:#262626}td,th{border-color:#444}img{background:#fff}}
"""
_EXPLAINED, _MOSTLY = 0.1, 0.3  # of a joint's efforts that may be left
_UNSEEN_WORSE = 1.5  # times as much may be left of a recording that was not identified from
_FAR = 1.5  # Riemannian distance of a body from the URDF's
_CONDITION = 200.0


def findings(found: Identification, checks: Sequence[Comparison] = ()) -> list[tuple[str, str]]:
    """Arguments for and against a result: (``"good"``, ``"fair"`` or ``"poor"``, a sentence), the worst first.

    Args:
        checks: comparisons with recordings that it was not identified from.
    """
    out: list[tuple[str, str]] = []
    names = found.prior.joint_names
    share = found.rms / np.maximum(found.effort_rms, 1e-300)
    for level, low, high in (("good", 0.0, _EXPLAINED), ("fair", _EXPLAINED, _MOSTLY), ("poor", _MOSTLY, np.inf)):
        joints = [f"{n} ({x:.0%})" for n, x in zip(names, share, strict=True) if low <= x < high]
        if joints:
            out.append((level, f"Left of the recorded efforts (root mean square): {', '.join(joints)}."))
    worse = [n for n, a, b in zip(names, found.rms, found.prior_rms, strict=True) if a > b]
    if worse:
        out.append(("poor", f"The URDF explained more before: {', '.join(worse)}."))
    for check in checks:
        before, after = check.check.prior, check.check.identified
        bad = [n for n, a, b in zip(names, after, found.prediction_rms, strict=True) if a > _UNSEEN_WORSE * b]
        gain = float(np.linalg.norm(after) / max(np.linalg.norm(before), 1e-300))
        if bad:
            out.append(
                (
                    "fair" if gain < 1.0 else "poor",
                    f"{check.source}, not identified from: more is left than was to be expected of {', '.join(bad)}; "
                    f"{gain:.0%} of what the URDF leaves.",
                )
            )
        else:
            out.append(("good", f"{check.source}, not identified from: {gain:.0%} of what the URDF leaves."))
    if not checks:
        out.append(("fair", "No recording was kept apart to validate with: --validate names one."))
    if found.base.unseen:
        out.append(("fair", f"The motion does not show, kept from the URDF: {', '.join(found.base.unseen)}."))
    if found.base.condition > _CONDITION:
        out.append(
            ("fair", f"The motion is poor (condition number {found.base.condition:.0f}): see robot_dynamics excite.")
        )
    wide = np.isfinite(found.base.half_width) & (found.base.half_width > np.abs(found.base.values))
    if wide.any():
        out.append(
            (
                "fair" if wide.mean() > 0.2 else "good",
                f"{int(wide.sum())} of {len(wide)} base parameters cannot be distinguished from zero.",
            )
        )
    far = [
        found.prior.joint(j).child
        for j, d in zip(found.prior.moving_joint_names, found.full.distance, strict=True)
        if d > _FAR
    ]
    if far:
        out.append(("fair", f"Far from what the URDF says: {', '.join(far)}. Look at masses and centres below."))
    if not found.full.converged:
        good_enough = bool((found.rms <= 1.05 * found.base.noise).all())
        more = ", but what it ended with explains as much as base parameters do" if good_enough else ""
        out.append(("fair" if good_enough else "poor", f"The search for bodies did not converge{more}."))
    out += [("fair", f"{note[0].upper()}{note[1:]}.") for note in found.notes]
    return sorted(out, key=lambda entry: ("poor", "fair", "good").index(entry[0]))


def report_html(
    found: Identification,
    comparisons: Sequence[Comparison] = (),
    checks: Sequence[Comparison] = (),
    recordings: Sequence[Recording] = (),
    progress: Callable[[float], None] | None = None,
) -> str:
    """The report as one HTML page that needs no other file.

    Args:
        comparisons: with the recordings that it was identified from; the first is drawn, joint by joint.
        checks: with others; all are drawn.
        recordings: those it was identified from, to report the changes made to them.
        progress: called with the share of the pictures drawn.
    """
    drawn = [*comparisons[:1], *checks]
    total, done = 1 + len(drawn) * found.prior.nv, 0

    def picture(draw: Callable[[], Any], words: str) -> str:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / total)
        try:
            figure = draw()
        except BackendError as error:
            return f"<p>{html.escape(str(error))}</p>" if done == 1 else ""
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=80)
        pyplot().close(figure)
        return (
            f'<img alt="{html.escape(words)}" src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">'
        )

    name = html.escape(found.prior.name)
    lines = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Identification of {name}</title>',
        f"<style>{_STYLE}</style></head><body><h1>Identification of {name}</h1>",
        *(f'<div class="finding {level}">{html.escape(text)}</div>' for level, text in findings(found, checks)),
        "<h2>What it explains, and how sure it is</h2>",
        picture(lambda: plot_identification(found), "root mean squares and base parameters"),
    ]
    for number, c in enumerate(drawn):
        known = "identified from" if number < len(comparisons[:1]) else "not identified from"
        lines.append(f"<h2>{html.escape(c.source)} ({known})</h2>")
        for joint in found.prior.joint_names:
            lines.append(f"<h3>{html.escape(joint)}</h3>")
            lines.append(picture(lambda c=c, joint=joint: plot_joint(found, c, joint), f"{joint}, {c.source}"))  # type: ignore[misc]
    lines += ["<h2>All numbers</h2>", _as_html(report_text(found, recordings)), "</body></html>"]
    return "\n".join(lines) + "\n"


def _as_html(text: str) -> str:
    """The report's own Markdown: headings, tables, lists, paragraphs."""
    out: list[str] = []
    table: list[str] = []
    for line in [*text.splitlines()[1:], ""]:
        if line.startswith("|"):
            table.append(line)
            continue
        if table:
            rows = [[html.escape(cell.strip()) for cell in row.strip("|").split("|")] for row in table]
            head = "".join(f"<th>{cell}</th>" for cell in rows[0])
            body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[2:])
            out.append(f"<table><tr>{head}</tr>{body}</table>")
            table = []
        if line.startswith("## "):
            out.append(f"<h3>{html.escape(line[3:])}</h3>")
        elif line.startswith("- "):
            out.append(f"<p>• {html.escape(line[2:])}</p>")
        elif line:
            out.append(f"<p>{html.escape(line)}</p>")
    return "\n".join(out)
