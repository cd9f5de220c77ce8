"""The report of a commissioning as one HTML page: a row for each step, and pictures of the motions."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.commissioning.arm import Record
from robot_dynamics_ros.commissioning.findings import StepReport
from robot_dynamics_ros.errors import BackendError
from robot_dynamics_ros.figures import STYLE, as_html, curve, pyplot
from robot_dynamics_ros.identification.page import STYLE as PAGE_STYLE
from robot_dynamics_ros.model.robot_model import RobotModel


def page(
    model: RobotModel,
    reports: Mapping[str, StepReport],
    records: Mapping[str, Record],
    parameters: Mapping[str, object],
) -> str:
    """The report as a page that needs no other file.

    Args:
        model: the robot.
        reports, records: step → what it has found, and its motion.
        parameters: for the controller.
    """
    name = html.escape(model.name)
    lines = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Commissioning of {name}</title>',
        f"<style>{PAGE_STYLE}</style></head><body><h1>Commissioning of {name}</h1>",
        "<table><tr><th>step</th><th>result</th></tr>",
        *(f"<tr><td>{step}</td><td>{report.verdict}</td></tr>" for step, report in reports.items()),
        "</table>",
    ]
    for step, report in reports.items():
        lines.append(f"<h2>{step}</h2>")
        lines += [f'<div class="finding poor">{html.escape(str(finding))}</div>' for finding in report.findings]
        lines += [f'<div class="finding fair">{html.escape(note)}</div>' for note in report.notes]
        lines.append(_numbers(model, report))
        if step in records:
            lines.append(_picture(model, step, records[step]))
    lines.append(f"<h2>Parameters</h2><pre>{html.escape(_text(parameters))}</pre></body></html>")
    return "\n".join(lines)


def _text(table: Mapping[str, object], indent: str = "") -> str:
    return "\n".join(
        f"{indent}{key}:\n{_text(value, indent + '  ')}" if isinstance(value, dict) else f"{indent}{key}: {value}"
        for key, value in table.items()
    )


def _numbers(model: RobotModel, report: StepReport) -> str:
    columns = {key: np.asarray(value) for key, value in report.numbers.items() if np.ndim(value) == 1}
    single = {key: float(value) for key, value in report.numbers.items() if np.ndim(value) == 0}
    out = "".join(f"<p>{html.escape(key)}: {value:.4g}</p>" for key, value in single.items())
    if columns:
        head = "".join(f"<th>{html.escape(key)}</th>" for key in columns)
        rows = "".join(
            f"<tr><td>{html.escape(joint)}</td>" + "".join(f"<td>{c[i]:.4g}</td>" for c in columns.values()) + "</tr>"
            for i, joint in enumerate(model.joint_names)
        )
        out += f"<table><tr><th>joint</th>{head}</tr>{rows}</table>"
    return out


def _picture(model: RobotModel, step: str, record: Record) -> str:
    if len(record.t) < 2:
        return ""
    try:
        plt = pyplot()
    except BackendError as error:
        return f"<p>{html.escape(str(error))}</p>"
    t, q, _, u = record.arrays()
    every = max(1, len(t) // 3000)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 1, sharex=True, figsize=(9.0, 4.5), layout="constrained")
        for i, name in enumerate(model.joint_names):
            axes[0].plot(t[::every] - t[0], (q[::every, i] - q[0, i]) * 1e3, label=name, **curve(i))
            axes[1].plot(t[::every] - t[0], u[::every, i], **curve(i))
        _label(axes)
    return as_html(figure, f"motion of {step}")


def _label(axes: Any) -> None:
    axes[0].set_ylabel("displacement in mrad or mm")
    axes[1].set_ylabel("command in N m or N")
    axes[1].set_xlabel("time in s")
    axes[0].legend(fontsize=7, ncols=4)
