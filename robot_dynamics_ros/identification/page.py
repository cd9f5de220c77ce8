"""The report of an identification as one HTML page: findings, tables, pictures."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from robot_dynamics_ros.errors import BackendError
from robot_dynamics_ros.figures import as_html
from robot_dynamics_ros.identification.comparison import Comparison
from robot_dynamics_ros.identification.estimators import Estimates
from robot_dynamics_ros.identification.findings import findings
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.identification.plots import plot_identification, plot_joint
from robot_dynamics_ros.identification.report import report_text
from robot_dynamics_ros.recordings.recording import Recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:1150px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 1.4em}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}img{max-width:100%}h2{margin-top:2em}
.good{border-left:6px solid #009e73}.fair{border-left:6px solid #e69f00}.poor{border-left:6px solid #d55e00}
.finding{padding:.25em .8em;margin:.25em 0;background:#f7f7f7}@media(prefers-color-scheme:dark){
body{background:#181818;color:#ddd}.finding{background:#262626}td,th{border-color:#444}img{background:#fff}}
"""


def report_html(
    result: Identification,
    comparisons: Sequence[Comparison] = (),
    checks: Sequence[Comparison] = (),
    recordings: Sequence[Recording] = (),
    progress: Callable[[float], None] | None = None,
    estimates: Estimates | None = None,
) -> str:
    """The report as one HTML page that needs no other file.

    Args:
        comparisons: with the recordings that it was identified from; the first is drawn, joint by joint.
        checks: with others; all are drawn.
        recordings: those it was identified from, to report the changes made to them.
        progress: called with the share of the pictures drawn.
        estimates: other estimators, side by side.
    """
    drawn = [*comparisons[:1], *checks]
    total, done = 1 + len(drawn) * result.prior.nv, 0

    def picture(draw: Callable[[], Figure], words: str) -> str:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / total)
        try:
            figure = draw()
        except BackendError as error:
            return f"<p>{html.escape(str(error))}</p>" if done == 1 else ""
        return as_html(figure, words)

    name = html.escape(result.prior.name)
    lines = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Identification of {name}</title>',
        f"<style>{STYLE}</style></head><body><h1>Identification of {name}</h1>",
        *(f'<div class="finding {level}">{html.escape(text)}</div>' for level, text in findings(result, checks)),
        "<h2>Errors and confidence</h2>",
        picture(lambda: plot_identification(result), "root mean squares and base parameters"),
    ]
    for number, c in enumerate(drawn):
        role = "identified from" if number < len(comparisons[:1]) else "not identified from"
        lines.append(f"<h2>{html.escape(c.source)} ({role})</h2>")
        for joint in result.prior.joint_names:
            lines.append(f"<h3>{html.escape(joint)}</h3>")
            lines.append(picture(lambda c=c, joint=joint: plot_joint(result, c, joint), f"{joint}, {c.source}"))  # type: ignore[misc]
    lines += ["<h2>All numbers</h2>", _as_html(report_text(result, recordings, checks, estimates)), "</body></html>"]
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
