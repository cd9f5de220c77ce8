"""Reports of an identification, for people and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from robot_dynamics_ros.control.friction_file import FrictionFile
from robot_dynamics_ros.control.joint_effects import JointEffects
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.friction_law import EFFECTS
from robot_dynamics_ros.identification.comparison import Comparison
from robot_dynamics_ros.identification.estimators import Estimates
from robot_dynamics_ros.identification.findings import findings
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.recordings.recording import Recording


def report_text(
    found: Identification,
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
    base = found.base
    lines = [
        f"# Identification of {found.prior.name}",
        "",
        f"{found.duration:.1f} s of motion; {len(base.names)} base parameters, {int(np.isfinite(base.standard_error).sum())} of "
        f"them seen; condition number {base.condition:.0f}; efforts are {1e3 * found.delay:.2f} ms late; positions smoothed over "
        f"{found.window:.3g} s; bodies may well be {found.full.spread:.2g} from what was known.",
        "",
        "## Findings",
        "",
        *(f"- {level}: {text}" for level, text in findings(found, checks)),
        "",
        *_recordings(recordings),
        *_unexplained(found),
        *_torque_constants(found),
        *_friction_forms(found),
        *_base_parameters(found),
        *([] if estimates is None else _estimators(found, estimates)),
        *_bodies(found),
    ]
    return "\n".join(lines) + "\n"


def _unexplained(found: Identification) -> list[str]:
    rows = [
        [n, *(f"{x:.4g}" for x in figures), f"{share:.0%}", f"{used:.0%}"]
        for n, share, used, *figures in zip(
            found.prior.joint_names,
            found.least_squares_share,
            found.used,
            found.effort_rms,
            found.prior_rms,
            found.rms,
            found.base.noise,
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


def _torque_constants(found: Identification) -> list[str]:
    constants = found.torque_constants
    if constants is None:
        return []
    rows = [
        [n, f"{k:.5g}", "given" if g else f"{e:.1%}" if known else "unknown"]
        for n, k, e, g, known in zip(
            found.prior.joint_names, constants.values, constants.error, constants.given, constants.known, strict=True
        )
    ]
    text = "N m or N at the joint for one unit of the recorded currents."
    return _section("Torque constants", text, "joint,torque constant,± (standard error)", rows)


def _friction_forms(found: Identification) -> list[str]:
    rows = []
    for j, name in enumerate(found.prior.joint_names):
        form = found.effects[j]
        rest = ", ".join(f"{word} {found.value(j, word):.4g}" for word in form.parameters)
        rows.append(
            [
                name,
                f"{found.value(j, 'viscous'):.4g}",
                f"{found.value(j, 'coulomb'):.4g}",
                f"{form.presliding:.3g}" if form.presliding else "-",
                f"{form.smoothing:.3g}",
                f"{found.offset[j]:.4g}",
                f"{found.model.armature[j]:.4g}",
                rest + _speeds(form) or "-",
                f"{found.prediction_rms[j]:.4g}",
                f"{found.simple_rms[j]:.4g}",
            ]
        )
    return _section(
        "Friction",
        'In each joint\'s form that best predicts each twelfth of the recording from the others; "error": root mean square of the '
        'error of these predictions; "simple": the same with Coulomb and viscous friction alone.',
        "joint,viscous,Coulomb,presliding,smoothing,offset,rotor inertia,more,error,simple",
        rows,
    )


def _base_parameters(found: Identification) -> list[str]:
    base, prior = found.base, found.identifiable.base.values(found.parameters.values())
    rows = [
        [
            base.names[k],
            f"{prior[k]:.5g}",
            f"{base.values[k]:.5g}",
            _number(base.half_width[k]),
            _t_value(base.values[k], base.standard_error[k]),
            found.identifiable.meaning(k, 3),
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


def _estimators(found: Identification, e: Estimates) -> list[str]:
    joints = [*found.prior.joint_names, "all"]

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


def _bodies(found: Identification) -> list[str]:
    before, after = (inertial_parameters(m).reshape(-1, 10) for m in (found.prior, found.model))
    quantile = NormalDist().inv_cdf(0.5 + 0.5 * found.base.confidence)
    rows = [
        [
            found.prior.joint(joint).child,
            f"{before[b, 0]:.4g}",
            f"{after[b, 0]:.4g}",
            f"{quantile * found.full.standard_error[10 * b]:.2g}",
            _vector(before[b]),
            _vector(after[b]),
            f"{found.full.distance[b]:.2f}",
        ]
        for b, joint in enumerate(found.prior.moving_joint_names)
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
    found: Identification,
    recordings: Sequence[Recording] = (),
    checks: Sequence[Comparison] = (),
    estimates: Estimates | None = None,
) -> str:
    """The same as JSON; what is infinite (an interval of something not seen) is null.

    Args:
        recordings, checks, estimates: see :func:`report_text`.
    """
    base, names = found.base, found.prior.joint_names
    friction = friction_file(found).joints
    document: dict[str, Any] = {
        "robot": found.prior.name,
        "duration": found.duration,
        "effort_delay": found.delay,
        "window": found.window,
        "spread": found.full.spread,
        "condition": _finite(base.condition),
        "confidence": base.confidence,
        "joints": {
            name: {
                "effort_rms": float(found.effort_rms[j]),
                "prior_residual_rms": float(found.prior_rms[j]),
                "residual_rms": float(found.rms[j]),
                "noise": float(base.noise[j]),
                "prediction_rms": float(found.prediction_rms[j]),
                "simple_prediction_rms": float(found.simple_rms[j]),
                "least_squares_share": float(found.least_squares_share[j]),
                "correlation": float(base.correlation[j]),
                "used": float(found.used[j]),
            }
            for j, name in enumerate(names)
        },
        "friction": friction,
        "base_parameters": [
            {
                "name": base.names[k],
                "value": float(base.values[k]),
                "standard_error": _finite(base.standard_error[k]),
                "half_width": _finite(base.half_width[k]),
                "stands_for": found.identifiable.meaning(k),
            }
            for k in range(len(base.names))
        ],
        "unseen": list(base.unseen),
        "notes": list(found.notes),
        "findings": [{"level": level, "text": text} for level, text in findings(found, checks)],
        "recordings": [{"source": r.source, "rows": len(r), "notes": list(r.notes)} for r in recordings],
        "parameters": dict(zip(found.parameters.names, found.full.values.tolist(), strict=True)),
        "standard_errors": dict(zip(found.parameters.names, found.full.standard_error.tolist(), strict=True)),
        "torque_constants": None
        if found.torque_constants is None
        else {
            name: {"value": float(k), "relative_error": _finite(e), "given": bool(g), "known": bool(known)}
            for name, k, e, g, known in zip(
                names,
                found.torque_constants.values,
                found.torque_constants.error,
                found.torque_constants.given,
                found.torque_constants.known,
                strict=True,
            )
        },
        "converged": found.full.converged,
        "estimators": None
        if estimates is None
        else {
            name: {
                "values": estimates.values[k].tolist(),
                "standard_errors": [_finite(x) for x in estimates.standard_error[k]],
                "error": estimates.error[k].tolist(),
                "condition": _finite(estimates.condition[k]),
            }
            for k, name in enumerate(estimates.names)
        },
        "without": None if estimates is None else {kind: x.tolist() for kind, x in estimates.without.items()},
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def friction_file(found: Identification) -> FrictionFile:
    """Friction and offsets as controllers, the simulator and ``wrenches`` read them beside the URDF."""
    f = found.friction
    return FrictionFile(
        {
            name: {
                "viscous": float(f.viscous[j]),
                "coulomb": float(f.coulomb[j]),
                "breakaway": float(f.breakaway[j]),
                "stribeck_speed": float(f.stribeck_speed[j]),
                "smoothing": float(f.smoothing[j]),
                "presliding": found.effects[j].presliding,
                "offset": float(found.offset[j]),
                "rotor_inertia": float(found.model.armature[j]),
                **found.effects[j].all_numbers,
                "effects": {word: found.value(j, word) for word in found.effects[j].parameters},
            }
            for j, name in enumerate(found.prior.joint_names)
        }
    )


def _speeds(form: JointEffects) -> str:
    """The numbers of a joint's effects."""
    texts = [EFFECTS[name].text.format(**form.all_numbers) for name in form.effects]
    return "".join(f" ({text})" for text in texts if text)


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


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
