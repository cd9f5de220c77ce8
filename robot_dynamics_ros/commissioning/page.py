"""The report of a commissioning as one HTML page: a row for each step, and pictures of the motions."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.commissioning.arm import Record
from robot_dynamics_ros.commissioning.findings import StepReport
from robot_dynamics_ros.figures import STYLE, as_html, curve, html_finding, html_page, html_table, pyplot
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def page(
    model: RobotModel, reports: Mapping[str, StepReport], records: Mapping[str, Record], settings: Mapping[str, object]
) -> str:
    """The report as a page that needs no other file; reports and motions by step, settings: parameters for the controller."""
    lines = [html_table(("step", "result"), [(step, report.verdict) for step, report in reports.items()])]
    for step, report in reports.items():
        lines.append(f"<h2>{step}</h2>")
        lines += [html_finding("poor", str(finding)) for finding in report.findings]
        lines += [html_finding("fair", note) for note in report.notes]
        lines += _numbers(model, report)
        if step in records and len(records[step].t) > 1:
            lines.append(as_html(partial(_picture, model, records[step]), f"motion of {step}"))
    lines.append(f"<h2>Parameters</h2><pre>{html.escape(_text(settings))}</pre>")
    return html_page(f"Commissioning of {model.name}", lines)


def _text(table: Mapping[str, object], indent: str = "") -> str:
    return "\n".join(
        f"{indent}{key}:\n{_text(value, indent + '  ')}" if isinstance(value, dict) else f"{indent}{key}: {value}"
        for key, value in table.items()
    )


def _numbers(model: RobotModel, report: StepReport) -> Iterator[str]:
    """Single numbers, then a table of those of the joints."""
    numbers = {key: np.asarray(value) for key, value in report.numbers.items()}
    yield from (f"<p>{html.escape(key)}: {value:.4g}</p>" for key, value in numbers.items() if not value.ndim)
    columns = {key: value for key, value in numbers.items() if value.ndim}
    if columns:
        rows = zip(model.joint_names, *(map("{:.4g}".format, column) for column in columns.values()), strict=True)
        yield html_table(("joint", *columns), rows)


def _picture(model: RobotModel, record: Record) -> Figure:
    plt = pyplot()
    t, q, _, u = record.arrays()
    every = slice(None, None, max(1, len(t) // 3000))
    with plt.rc_context(STYLE):
        figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(9.0, 4.5), layout="constrained")
        for i, name in enumerate(model.joint_names):
            above.plot(t[every] - t[0], (q[every, i] - q[0, i]) * 1e3, label=name, **curve(i))
            below.plot(t[every] - t[0], u[every, i], **curve(i))
        above.set_ylabel("displacement in mrad or mm")
        below.set_ylabel("command in N m or N")
        below.set_xlabel("time in s")
        above.legend(fontsize=7, ncols=4)
    figure_of_motion: Figure = figure
    return figure_of_motion
