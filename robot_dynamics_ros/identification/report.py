"""Reports of an identification, for people and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.friction.effects import JointEffects
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.friction.law import EFFECTS
from robot_dynamics_ros.identification.comparison import Comparison
from robot_dynamics_ros.identification.estimators import Estimates
from robot_dynamics_ros.identification.findings import findings
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.recordings.recording import Recording


def report_text(
    result: Identification,
    recordings: Sequence[Recording] = (),
    checks: Sequence[Comparison] = (),
    estimates: Estimates | None = None,
) -> str:
    """A report in plain text (Markdown tables): findings, fit, friction, base parameters with intervals, bodies.

    Args:
        recordings: those it was identified from, to report the changes made to them.
        checks: comparisons with recordings that it was not identified from.
        estimates: other estimators, side by side.
    """
    base = result.base
    lines = [
        f"# Identification of {result.prior.name}",
        "",
        f"{result.duration:.1f} s of motion; {len(base.names)} base parameters, {int(np.isfinite(base.standard_error).sum())} of "
        f"them seen; condition number {base.condition:.0f}; efforts are {1e3 * result.delay:.2f} ms late; positions smoothed over "
        f"{result.window:.3g} s; bodies may well be {result.full.spread:.2g} from what was known.",
        "",
        "## Findings",
        "",
        *(f"- {level}: {text}" for level, text in findings(result, checks)),
        "",
        *_recordings(recordings),
        *_unexplained(result),
        *_torque_constants(result),
        *_friction_forms(result),
        *_base_parameters(result),
        *([] if estimates is None else _estimators(result, estimates)),
        *_bodies(result),
    ]
    return "\n".join(lines) + "\n"


def _unexplained(result: Identification) -> list[str]:
    rows = [
        [n, *(f"{x:.4g}" for x in figures), f"{share:.0%}", f"{used:.0%}"]
        for n, share, used, *figures in zip(
            result.prior.joint_names,
            result.least_squares_share,
            result.used,
            result.effort_rms,
            result.prior_rms,
            result.rms,
            result.base.noise,
            strict=True,
        )
    ]
    return _section(
        "What remains unexplained",
        'Root mean squares over blocks, N m or N; "share": of base parameters in predictions, where bodies predict worse; '
        '"used": share of the time in which the joint was fast enough.',
        "joint,effort,before,identified,base parameters,share,used",
        rows,
    )


def _torque_constants(result: Identification) -> list[str]:
    constants = result.torque_constants
    if constants is None:
        return []
    rows = [
        [n, f"{k:.5g}", "given" if g else f"{e:.1%}" if seen else "unknown"]
        for n, k, e, g, seen in zip(
            result.prior.joint_names, constants.values, constants.error, constants.given, constants.known, strict=True
        )
    ]
    text = "N m or N at the joint for one unit of the recorded currents."
    return _section("Torque constants", text, "joint,torque constant,± (standard error)", rows)


def _friction_forms(result: Identification) -> list[str]:
    rows = []
    for j, name in enumerate(result.prior.joint_names):
        form = result.effects[j]
        rest = ", ".join(f"{word} {result.value(j, word):.4g}" for word in form.parameters)
        rows.append(
            [
                name,
                f"{result.value(j, 'viscous'):.4g}",
                f"{result.value(j, 'coulomb'):.4g}",
                " and ".join(f"{way:.3g}" for way in form.ways) if form.presliding else "-",
                f"{form.smoothing:.3g}",
                f"{result.offset[j]:.4g}",
                f"{result.model.armature[j]:.4g}",
                rest + _speeds(form) or "-",
                f"{result.prediction_rms[j]:.4g}",
                f"{result.simple_rms[j]:.4g}",
            ]
        )
    return _section(
        "Friction",
        'In each joint\'s form that best predicts each twelfth of the recording from the others; "error": root mean square of the '
        'error of these predictions; "simple": the same with Coulomb and viscous friction alone.',
        "joint,viscous,Coulomb,presliding,smoothing,offset,rotor inertia,more,error,simple",
        rows,
    )


def _base_parameters(result: Identification) -> list[str]:
    base, prior = result.base, result.identifiable.base.values(result.parameters.values())
    rows = [
        [
            base.names[k],
            f"{prior[k]:.5g}",
            f"{base.values[k]:.5g}",
            _number(base.half_width[k]),
            _t_value(base.values[k], base.standard_error[k]),
            result.identifiable.meaning(k, 3),
        ]
        for k in range(len(base.names))
    ]
    unseen = [f"Not shown by this motion and kept as before: {', '.join(base.unseen)}.", ""] if base.unseen else []
    section = _section(
        f"Base parameters with {base.confidence:.0%} confidence intervals",
        "t-value: size of the parameter divided by its standard error; below 2 it cannot be distinguished from zero.",
        "parameter,before,identified,±,t-value,stands for",
        rows,
    )
    return section + unseen


def _estimators(result: Identification, e: Estimates) -> list[str]:
    joints = [*result.prior.joint_names, "all"]

    def errors(x: np.ndarray) -> list[str]:
        return [f"{y:.4g}" for y in (*x, np.sqrt(np.mean(x**2)))]

    by_estimator = [
        [name, *errors(error), f"{change:.2f}", f"{condition:.0f}"]
        for name, error, change, condition in zip(e.names, e.error, e.change, e.condition, strict=True)
    ]
    weighted = e.error[e.names.index("weighted least squares")]
    by_parameter = [
        [name, *(f"{x:.4g} ({_t_value(x, y)})" for x, y in zip(e.values[:, k], e.standard_error[:, k], strict=True))]
        for k, name in enumerate(e.parameters)
    ]
    return [
        *_section(
            "Estimators side by side",
            "Root mean square error of prediction of each twelfth of the recording from the others, N m or N. Output error predicts along "
            'its simulated motion, the others along the recorded one. "change": root mean square difference of the base parameters '
            "from weighted least squares, in their standard errors.",
            ["estimator", *joints, "change", "condition"],
            by_estimator,
        ),
        "Weighted least squares without one kind of parameters:",
        "",
        *_table(
            ["without", *joints], [["nothing", *errors(weighted)], *([k, *errors(x)] for k, x in e.without.items())]
        ),
        "",
        "Base parameters, with t-values in brackets:",
        "",
        *_table(["parameter", *e.names], by_parameter),
        "",
    ]


def _bodies(result: Identification) -> list[str]:
    before, after = (inertial_parameters(m).reshape(-1, 10) for m in (result.prior, result.model))
    quantile = NormalDist().inv_cdf(0.5 + 0.5 * result.base.confidence)
    rows = [
        [
            result.prior.joint(joint).child,
            f"{before[b, 0]:.4g}",
            f"{after[b, 0]:.4g}",
            f"{quantile * result.full.standard_error[10 * b]:.2g}",
            _vector(before[b]),
            _vector(after[b]),
            f"{result.full.distance[b]:.2f}",
        ]
        for b, joint in enumerate(result.prior.moving_joint_names)
    ]
    text = 'Physically consistent; "moved" is the Riemannian distance from what was known.'
    return [
        *_section("Bodies", text, "link,mass before,mass,±,centre before,centre,moved", rows),
        "Single masses and centres are as likely as what was known; what the efforts tell are the base parameters. The intervals "
        "of masses include what the efforts do not tell, as far as bodies may well be from what was known.",
    ]


def _recordings(recordings: Sequence[Recording]) -> list[str]:
    if not recordings:
        return []
    lines = ["## Recordings", ""]
    for r in recordings:
        rows = f"{len(r)} rows over {r.t[-1] - r.t[0]:.4g} s" + (f", {len(r.bad)} bad ones left out" if r.bad else "")
        lines.append(f"- {'; '.join([f'{r.source}: {rows}', *r.notes])}.")
    return [*lines, ""]


def report_json(
    result: Identification,
    recordings: Sequence[Recording] = (),
    checks: Sequence[Comparison] = (),
    estimates: Estimates | None = None,
) -> str:
    """The same as JSON; what is infinite (an interval of something not seen) is null.

    Args:
        recordings, checks, estimates: see :func:`report_text`.
    """
    base, names, constants = result.base, result.prior.joint_names, result.torque_constants
    by_joint = {
        "effort_rms": result.effort_rms,
        "prior_residual_rms": result.prior_rms,
        "residual_rms": result.rms,
        "noise": base.noise,
        "prediction_rms": result.prediction_rms,
        "simple_prediction_rms": result.simple_rms,
        "least_squares_share": result.least_squares_share,
        "correlation": base.correlation,
        "used": result.used,
    }
    by_parameter = {
        "name": base.names,
        "value": base.values,
        "standard_error": base.standard_error,
        "half_width": base.half_width,
        "stands_for": [result.identifiable.meaning(k) for k in range(len(base.names))],
    }
    document: dict[str, Any] = {
        "robot": result.prior.name,
        "duration": result.duration,
        "effort_delay": result.delay,
        "window": result.window,
        "spread": result.full.spread,
        "condition": base.condition,
        "confidence": base.confidence,
        "joints": dict(zip(names, _objects(by_joint), strict=True)),
        "friction": friction_file(result).joints,
        "base_parameters": _objects(by_parameter),
        "unseen": base.unseen,
        "notes": result.notes,
        "findings": [{"level": level, "text": text} for level, text in findings(result, checks)],
        "recordings": [{"source": r.source, "rows": len(r), "notes": r.notes} for r in recordings],
        "parameters": dict(zip(result.parameters.names, result.full.values, strict=True)),
        "standard_errors": dict(zip(result.parameters.names, result.full.standard_error, strict=True)),
        "torque_constants": None,
        "converged": result.full.converged,
        "estimators": None,
        "without": None,
    }
    if constants is not None:
        figures = {
            "value": constants.values,
            "relative_error": constants.error,
            "given": constants.given,
            "known": constants.known,
        }
        document["torque_constants"] = dict(zip(names, _objects(figures), strict=True))
    if estimates is not None:
        e = estimates
        figures = {"values": e.values, "standard_errors": e.standard_error, "error": e.error, "condition": e.condition}
        document |= {"estimators": dict(zip(e.names, _objects(figures), strict=True)), "without": e.without}
    return json.dumps(_plain(document), indent=2, allow_nan=False) + "\n"


def _objects(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of a table with these columns."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(x: Any) -> Any:
    """Values as JSON has them: lists for arrays, null for numbers that are not finite."""
    if isinstance(x, Mapping):
        return {key: _plain(value) for key, value in x.items()}
    if isinstance(x, np.ndarray | np.generic):
        return _plain(x.tolist())
    if isinstance(x, list | tuple):
        return [_plain(value) for value in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x


def friction_file(result: Identification) -> FrictionFile:
    """Friction and offsets as controllers, the simulator and ``wrenches`` read them beside the URDF."""
    f = result.friction
    return FrictionFile(
        {
            name: {
                "viscous": float(f.viscous[j]),
                "coulomb": float(f.coulomb[j]),
                "breakaway": float(f.breakaway[j]),
                "stribeck_speed": float(f.stribeck_speed[j]),
                "smoothing": float(f.smoothing[j]),
                "presliding": result.effects[j].presliding,
                "presliding_ratio": result.effects[j].presliding_ratio,
                "offset": float(result.offset[j]),
                "rotor_inertia": float(result.model.armature[j]),
                **result.effects[j].all_numbers,
                "effects": {word: result.value(j, word) for word in result.effects[j].parameters},
            }
            for j, name in enumerate(result.prior.joint_names)
        }
    )


def _speeds(form: JointEffects) -> str:
    """The numbers of a joint's effects."""
    texts = [EFFECTS[name].text.format(**form.all_numbers) for name in form.effects]
    return "".join(f" ({text})" for text in texts if text)


def _number(x: float) -> str:
    return f"{x:.2g}" if math.isfinite(x) else "unseen"


def _t_value(x: float, error: float) -> str:
    return f"{abs(x) / error:.3g}" if error > 0.0 else "-"


def _vector(p: np.ndarray) -> str:
    return " ".join(f"{x:.3f}" for x in p[1:4] / p[0]) if p[0] > 0.0 else "-"


def _section(title: str, text: str, head: str | Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    words = head.split(",") if isinstance(head, str) else head
    return [f"## {title}", "", text, "", *_table(words, rows), ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [list(head), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"

    return [line(head), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *map(line, rows)]
