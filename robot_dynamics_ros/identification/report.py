"""Reports of an identification, for people and for programs: findings, text, JSON, one HTML
page.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from robot_dynamics_ros.arrays import plain
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.figures import (
    FIGURE_STYLE,
    SERIES,
    as_html,
    every_nth,
    html_finding,
    html_page,
    html_table,
    joint_kinds,
    legend,
    pyplot,
    save,
    unit_of,
)
from robot_dynamics_ros.friction.bounded import COMPENSATION_NUMBERS
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.friction.law import EFFECTS
from robot_dynamics_ros.identification.comparison import Comparison, Estimates
from robot_dynamics_ros.identification.consistent import pseudo_inertia
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.identification.least_squares import BaseEstimate, interval_factor
from robot_dynamics_ros.identification.torque_constants import TorqueConstants
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


# A good result leaves at most this share of a joint's efforts unexplained.
_GOOD_SHARE_LEFT = 0.1
# A result that leaves more than this share is poor.
_POOR_SHARE_LEFT = 0.3
# Of a recording for validation this many times as much may stay unexplained as is expected.
_VALIDATION_ERROR_RATIO = 1.5
# No usual sensor tells less than this share of a joint's efforts.
_CLOSE_EFFORT_SHARE = 0.01
# A body whose Riemannian distance from the URDF's is larger is far from it.
_FAR_BODY_DISTANCE = 1.5
LARGEST_GOOD_CONDITION = 200.0
"""Condition number of the regressor beyond which a motion shows the parameters poorly."""
# Rows of a table, and
_MOST_ROWS = 40
# points of a curve: a page with more loads slowly and shows no more.
_MOST_PLOT_POINTS = 4000
# Colours of what the URDF predicts, and of what the result does.
_BEFORE = SERIES[1]
_AFTER = SERIES[0]


_Finding: TypeAlias = tuple[str, str]


def _validated(names: Sequence[str], expected: Array, check: Comparison) -> _Finding:
    """How well a recording that the result is not made from is predicted."""
    before = check.check.prior
    after = check.check.identified
    bad = [
        n for n, a, b in zip(names, after, expected, strict=True) if a > _VALIDATION_ERROR_RATIO * b
    ]
    gain = float(np.linalg.norm(after) / max(np.linalg.norm(before), 1e-300))
    where = f"{check.source}, for validation:"
    if not bad:
        return "good", f"{where} the error is {gain:.0%} of the URDF's."
    level = "fair" if gain < 1.0 else "poor"
    whose = ", ".join(bad)
    return level, (
        f"{where} the error of {whose} is larger than expected; {gain:.0%} of the URDF's error."
    )


def _uncertain(base: BaseEstimate) -> list[_Finding]:
    """Base parameters whose interval holds zero."""
    wide = np.isfinite(base.half_width) & (base.half_width > np.abs(base.values))
    if not wide.any():
        return []
    level = "fair" if wide.mean() > 0.2 else "good"
    count = f"{int(wide.sum())} of {len(wide)}"
    return [(level, f"{count} base parameters cannot be distinguished from zero.")]


def _not_converged(result: Identification) -> _Finding:
    """A search for bodies that ended early: how good its last result is all the same."""
    if (result.rms <= 1.05 * result.base.noise).all():
        level = "fair"
        more = ", but its last result explains as much as base parameters do"
    elif (result.rms <= _CLOSE_EFFORT_SHARE * result.effort_rms).all():
        level = "fair"
        more = ", but its last result explains all but a hundredth of each joint's efforts"
    else:
        level = "poor"
        more = ""
    return level, f"The search for bodies did not converge{more}."


def findings(result: Identification, checks: Sequence[Comparison] = ()) -> list[tuple[str, str]]:
    """Arguments for and against a result: (``"good"``, ``"fair"`` or ``"poor"``, a sentence), the
    worst first.
    """
    out: list[tuple[str, str]] = []
    names = result.prior.joint_names
    share = result.rms / np.maximum(result.effort_rms, 1e-300)
    for level, low, high in (
        ("good", 0.0, _GOOD_SHARE_LEFT),
        ("fair", _GOOD_SHARE_LEFT, _POOR_SHARE_LEFT),
        ("poor", _POOR_SHARE_LEFT, np.inf),
    ):
        joints = [f"{n} ({x:.0%})" for n, x in zip(names, share, strict=True) if low <= x < high]
        if joints:
            out.append(
                (
                    level,
                    "Unexplained share of the recorded efforts (root mean square): "
                    f"{', '.join(joints)}.",
                )
            )
    worse = [n for n, a, b in zip(names, result.rms, result.prior_rms, strict=True) if a > b]
    if worse:
        out.append(("poor", f"The URDF as it was explains more: {', '.join(worse)}."))
    out += [_validated(names, result.prediction_rms, check) for check in checks]
    if not checks:
        out.append(("fair", "There is no recording for validation: --validate names one."))
    if result.base.unseen:
        out.append(
            (
                "fair",
                f"The motion does not show, kept from the URDF: {', '.join(result.base.unseen)}.",
            )
        )
    if result.base.condition > LARGEST_GOOD_CONDITION:
        text = (
            f"The motion is poor (condition number {result.base.condition:.0f}): it shows worst "
            f"{', '.join(result.base.limited_by)}. See robot_dynamics excite."
        )
        out.append(("fair", text))
    out += _uncertain(result.base)
    moved = zip(result.prior.moving_joint_names, result.full.distance, strict=True)
    far = [
        result.prior.joint(joint).child
        for joint, distance in moved
        if distance > _FAR_BODY_DISTANCE
    ]
    if far:
        out.append(
            ("fair", f"Far from the URDF: {', '.join(far)}. Look at masses and centres below.")
        )
    hidden = [link for link, _, seen in _masses(result) if not seen]
    if hidden:
        text = f"The efforts do not show the masses of: {', '.join(hidden)}."
        out.append(("good", f"{text} Their intervals contain zero; base parameters are shown."))
    if not result.full.converged:
        out.append(_not_converged(result))
    out += [("fair", f"{note[0].upper()}{note[1:]}.") for note in result.notes]
    return sorted(out, key=lambda entry: ("poor", "fair", "good").index(entry[0]))


def report_text(
    result: Identification,
    recordings: Sequence[Recording] = (),
    checks: Sequence[Comparison] = (),
    estimates: Estimates | None = None,
    command: str = "",
) -> str:
    """A report in plain text (Markdown tables): findings, fit, friction, base parameters with
    intervals, bodies.

    Args:
        command: the command line that it was made with.
    """
    lines = [
        f"# Identification of {result.prior.name}",
        "",
        *_summary(result),
        "",
        "## Findings",
        "",
        *(f"- {level}: {text}" for level, text in findings(result, checks)),
        "",
        *_origin(result, command),
        *_recordings(recordings),
        *_unexplained(result),
        *_torque_constants(result),
        *_friction_forms(result),
        *_base_parameters(result),
        *([] if estimates is None else _estimators(result, estimates)),
        *_bodies(result),
    ]
    return "\n".join(lines) + "\n"


def _summary(result: Identification) -> list[str]:
    base = result.base
    seen = int(np.isfinite(base.standard_error).sum())
    if result.delay < 0.0:
        late = f"{-1e3 * result.delay:.2f} ms early"
    else:
        late = f"{1e3 * result.delay:.2f} ms late"
    lines = [
        f"{result.duration:.1f} s of motion; {len(base.names)} base parameters, {seen} of them "
        f"seen; condition number {base.condition:.0f}; efforts are {late}; positions smoothed over "
        f"{result.window:.3g} s.",
        "",
        f"This motion shows worst: {', '.join(base.limited_by)}. They limit the condition number.",
        "",
        "By this recording, masses and principal moments may well differ from the URDF's by a "
        f"factor of {math.exp(result.full.spread):.2g}.",
    ]
    return lines


def _origin(result: Identification, command: str) -> list[str]:
    gravity = ", ".join(f"{g:.6g}" for g in result.prior.gravity)
    lines = [
        "## Origin",
        "",
        f"- robot_dynamics_ros {__version__}",
        f"- gravity: {gravity} m/s² in the base's axes",
    ]
    if command:
        lines.append(f"- command: `{command}`")
    return [*lines, ""]


def _effort_units(result: Identification) -> list[str]:
    """Unit of each joint's effort."""
    sliding = joint_kinds(result.prior).get("length", [])
    return ["N" if j in sliding else "N m" for j in range(len(result.prior.joint_names))]


def _unit_of_column(result: Identification, turning: str, sliding: str) -> str:
    """Unit of a column with a row for each joint: of turning joints, of sliding ones, or both."""
    units = {"angle": turning, "length": sliding}
    return " or ".join(units[kind] for kind in joint_kinds(result.prior)) or turning


def _unexplained(result: Identification) -> list[str]:
    figures = (
        result.prediction_rms,
        result.least_squares_rms,
        result.simple_rms,
        result.controller_rms,
        result.prior_rms,
        result.effort_rms,
        result.rms,
        result.base.noise,
    )
    units = _effort_units(result)
    rows = [
        [n, units[j], *(f"{x:.4g}" for x in row), f"{result.used[j]:.0%}"]
        for j, (n, *row) in enumerate(zip(result.prior.joint_names, *figures, strict=True))
    ]
    return _section(
        "What remains unexplained",
        'Root mean squares over blocks, of efforts. "held out": identified.urdf with all of '
        "friction.json; each twelfth of the recording is predicted from the others. "
        '"least squares": the same of weighted least squares for the base parameters, with this '
        'friction; "simple": with Coulomb and viscous friction. '
        '"controllers": what controllers read of these files, bodies and compensated friction, no '
        "rotors. "
        '"before": the URDF as it was. "files" and "base parameters": on the recording itself; '
        "base parameters need not belong to bodies that can exist. "
        '"used": share of the time in which the joint was fast enough.',
        "joint,unit,held out,least squares,simple,controllers,before,effort,files,base parameters,"
        "used",
        rows,
    )


def _torque_constants(result: Identification) -> list[str]:
    c = result.torque_constants
    if c is None:
        return []
    rows = []
    for name, value, error, given, known in zip(
        c.joint_names, c.values, c.error, c.given, c.known, strict=True
    ):
        if given:
            certainty = "given"
        elif known:
            certainty = f"{error:.1%}"
        else:
            certainty = "unknown"
        rows.append([name, f"{value:.5g}", certainty])
    text = "N m or N at the joint for one unit of the recorded currents."
    return _section("Torque constants", text, "joint,torque constant,± (standard error)", rows)


def _friction_forms(result: Identification) -> list[str]:
    rows = []
    for j, name in enumerate(result.prior.joint_names):
        form = result.effects[j]
        rest = ", ".join(f"{word} {result.value(j, word):.4g}" for word in form.parameters)
        texts = [EFFECTS[effect].text.format(**form.all_numbers) for effect in form.effects]
        rest += "".join(f" ({text})" for text in texts if text)
        numbers = (
            result.value(j, "viscous"),
            result.value(j, "coulomb"),
            result.offset[j],
            result.model.armature[j],
        )
        viscous, coulomb, offset, rotor = (f"{x:.4g}" for x in numbers)
        if form.presliding:
            ways = " and ".join(f"{way:.3g}" for way in form.ways)
        else:
            ways = "-"
        certain = f"{result.friction_certain[j]:.0%}"
        rows.append(
            [
                name,
                viscous,
                coulomb,
                ways,
                f"{form.smoothing:.3g}",
                offset,
                rotor,
                rest or "-",
                certain,
            ]
        )
    units = {
        "viscous": ("N m s/rad", "N s/m"),
        "Coulomb": ("N m", "N"),
        "presliding": ("rad", "m"),
        "smoothing": ("rad/s", "m/s"),
        "offset": ("N m", "N"),
        "rotor inertia": ("kg m²", "kg"),
    }
    columns = [f"{word} [{_unit_of_column(result, *both)}]" for word, both in units.items()]
    table = _section(
        "Friction",
        "In each joint's form that best predicts each twelfth of the recording from the others. "
        '"certain": the share that is left at the lower end of the interval, on average over the '
        "motion; controllers compensate no more.",
        ["joint", *columns, "more", "certain"],
        rows,
    )
    return [*table, *_formulas(result)]


def _formulas(result: Identification) -> list[str]:
    """Formulas of the terms that the joints' friction has."""
    used = {name for form in result.effects for name in form.effects}
    lines = [
        "Effort of a joint beside that of the bodies τ, with its position q, velocity v, "
        "acceleration a:",
        "",
        "- viscous · v + Coulomb · d + offset + rotor inertia · a",
        "- d = tanh(v / smoothing), the direction of the motion; with presliding d changes from "
        "-1 to 1 over that distance after a reversal",
    ]
    lines += [f"- {name}: {EFFECTS[name].formula}" for name in EFFECTS if name in used]
    return [*lines, ""]


_PARAMETER_UNITS = {
    "m": ("kg", "kg"),
    **dict.fromkeys(("hx", "hy", "hz"), ("kg m", "kg m")),
    **dict.fromkeys(("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"), ("kg m²", "kg m²")),
    **dict.fromkeys(("armature", "rotor", "coupled_rotor"), ("kg m²", "kg")),
    **dict.fromkeys(("viscous", "coupled_viscous"), ("N m s/rad", "N s/m")),
    "quadratic": ("N m s²/rad²", "N s²/m²"),
    **dict.fromkeys(("load", "gain", "crosstalk1", "crosstalk2"), ("1", "1")),
}
"""Units of parameters of turning joints and bodies, and of sliding joints; of all others N m, N."""


def _units(result: Identification) -> list[str]:
    """Unit of each base parameter."""
    parameters = result.parameters
    first = parameters.bodies.stop
    sliding = joint_kinds(result.prior).get("length", [])
    units = []
    for k in result.identifiable.base.independent.tolist():
        word = parameters.names[k].rpartition(".")[2]
        turning, straight = _PARAMETER_UNITS.get(word, ("N m", "N"))
        slides = k >= first and parameters.joint_of[k - first] in sliding
        units.append(straight if slides else turning)
    return units


def _base_parameters(result: Identification) -> list[str]:
    base = result.base
    prior = result.identifiable.base.values(result.parameters.values())
    units = _units(result)
    rows = []
    for k, name in enumerate(base.names):
        if math.isfinite(base.half_width[k]):
            width = f"{base.half_width[k]:.2g}"
        else:
            width = "unseen"
        t_value = _t_value(base.values[k], base.standard_error[k])
        numbers = f"{prior[k]:.5g}", f"{base.values[k]:.5g}", width
        rows.append([name, units[k], *numbers, t_value])
    if base.unseen:
        unseen = [f"Not shown by this motion and kept as before: {', '.join(base.unseen)}.", ""]
    else:
        unseen = []
    section = _section(
        f"Base parameters with {base.confidence:.0%} confidence intervals",
        "t-value: size of the parameter divided by its standard error; below "
        f"{interval_factor(base.confidence):.1f} it cannot be distinguished from zero. Their "
        "covariance is in covariance.csv.",
        "parameter,unit,before,identified,±,t-value",
        rows,
    )
    meanings = [result.identifiable.meaning(k) for k in range(len(base.names))]
    grouped = [
        f"- {name}: {meaning}"
        for name, meaning in zip(base.names, meanings, strict=True)
        if meaning != name
    ]
    more = ["Parameters that stand for sums (factors in SI units):", "", *grouped, ""]
    return section + unseen + (more if grouped else [])


def _estimators(result: Identification, e: Estimates) -> list[str]:
    names_and_units = zip(result.prior.joint_names, _effort_units(result), strict=True)
    joints = [f"{name} [{unit}]" for name, unit in names_and_units]
    joints.append(f"all [{_unit_of_column(result, 'N m', 'N')}]")

    def errors(x: np.ndarray) -> list[str]:
        return [f"{y:.4g}" for y in (*x, np.sqrt(np.mean(x**2)))]

    figures = zip(e.names, e.error, e.change, e.condition, strict=True)
    by_estimator = [
        [name, *errors(error), f"{x:.2f}", f"{condition:.0f}"]
        for name, error, x, condition in figures
    ]
    without = {"nothing": e.error[e.names.index("weighted least squares")], **e.without}
    units = _units(result)
    by_parameter = [
        [
            name,
            units[k],
            *(
                f"{x:.4g} ({_t_value(x, y)})"
                for x, y in zip(e.values[:, k], e.standard_error[:, k], strict=True)
            ),
        ]
        for k, name in enumerate(e.parameters)
    ]
    return [
        *_section(
            "Estimators side by side",
            "Root mean square error of prediction of each twelfth of the recording from the "
            "others. Output error predicts along "
            'its simulated motion, the others along the recorded one. "change": root mean square '
            "difference of the base parameters "
            "from weighted least squares, in their standard errors.",
            ["estimator", *joints, "change", "condition"],
            by_estimator,
        ),
        "Weighted least squares without one kind of parameters:",
        "",
        *_table(["without", *joints], [[kind, *errors(x)] for kind, x in without.items()]),
        "",
        "Base parameters, with t-values in brackets:",
        "",
        *_table(["parameter", "unit", *e.names], by_parameter),
        "",
    ]


def _bodies(result: Identification) -> list[str]:
    before, after = (inertial_parameters(m).reshape(-1, 10) for m in (result.prior, result.model))
    rows = []
    for k, (link, error, seen) in enumerate(_masses(result)):
        width = f"{error:.2g}"
        if not seen:
            width += " (not seen)"
        J = pseudo_inertia(after[k])
        least = float(np.linalg.eigvalsh(J)[0] / np.trace(J))
        masses = f"{before[k, 0]:.4g}", f"{after[k, 0]:.4g}", width
        moved = f"{result.full.distance[k]:.2f}"
        rows.append([link, *masses, _vector(before[k]), _vector(after[k]), moved, f"{least:.2g}"])
    text = (
        "Centres are in the frame of the link. "
        '"moved": Riemannian distance from the body in the URDF; 0.7 is a factor of 2 in mass or '
        'in one principal moment. "consistency": the least eigenvalue of the pseudo-inertia over '
        "its trace; a rigid body can have these parameters if it is above zero."
    )
    head = "link,mass before [kg],mass [kg],± [kg],centre before [m],centre [m],moved,consistency"
    return [
        *_section("Bodies", text, head, rows),
        "Many sets of bodies have the same base parameters, and so the same efforts. These are the "
        "ones nearest to the URDF. The intervals of masses include what the efforts do not show. "
        "Where an interval contains zero, the efforts do not show this mass.",
    ]


def _masses(result: Identification) -> list[tuple[str, float, bool]]:
    """Link, half-width of the mass's interval, kg, and whether it is less than the mass, of each
    body.
    """
    masses = inertial_parameters(result.model)[::10]
    quantile = interval_factor(result.base.confidence)
    errors = quantile * result.full.standard_error[: 10 * len(masses) : 10]
    links = [result.prior.joint(name).child for name in result.prior.moving_joint_names]
    return [
        (link, float(error), bool(error < mass))
        for link, mass, error in zip(links, masses, errors, strict=True)
    ]


def covariance_csv(result: Identification) -> str:
    """The covariance of the base parameters as a table: their names, then a row for each. Infinite
    on the diagonal where the motion does not show a parameter.
    """
    base = result.base
    lines = [",".join(["parameter", *base.names])]
    for name, row in zip(base.names, base.covariance, strict=True):
        lines.append(",".join([name, *(f"{x:.9g}" for x in row)]))
    return "\n".join(lines) + "\n"


def _recordings(recordings: Sequence[Recording]) -> list[str]:
    if not recordings:
        return []
    lines = ["## Recordings", ""]
    for r in recordings:
        rows = f"{len(r)} rows over {r.t[-1] - r.t[0]:.4g} s" + (
            f", {len(r.bad)} bad ones left out" if r.bad else ""
        )
        lines.append(f"- {'; '.join([f'{r.source}: {rows}', *r.notes])}.")
    return [*lines, ""]


def report_json(
    result: Identification,
    recordings: Sequence[Recording] = (),
    checks: Sequence[Comparison] = (),
    estimates: Estimates | None = None,
    command: str = "",
) -> str:
    """The same as JSON; what is infinite (an interval of something not seen) is null.

    Args:
        command: the command line that it was made with.
    """
    base = result.base
    every = result.parameters.names
    document: dict[str, object] = {
        "robot": result.prior.name,
        "version": __version__,
        "command": command,
        "gravity": result.prior.gravity,
        "duration": result.duration,
        "effort_delay": result.delay,
        "window": result.window,
        "spread": result.full.spread,
        "condition": base.condition,
        "condition_limited_by": base.limited_by,
        "confidence": base.confidence,
        "joints": _joints_json(result),
        "friction": friction_file(result).joints,
        "base_parameters": _base_parameters_json(result),
        "masses": [
            {"link": link, "half_width": error, "seen": seen}
            for link, error, seen in _masses(result)
        ],
        "unseen": base.unseen,
        "notes": result.notes,
        "findings": [{"level": level, "text": text} for level, text in findings(result, checks)],
        "recordings": [{"source": r.source, "rows": len(r), "notes": r.notes} for r in recordings],
        "parameters": dict(zip(every, result.full.values, strict=True)),
        "standard_errors": dict(zip(every, result.full.standard_error, strict=True)),
        "torque_constants": _torque_constants_json(result.torque_constants),
        "converged": result.full.converged,
        "estimators": _estimates_json(estimates),
        "without": None if estimates is None else estimates.without,
    }
    return json.dumps(plain(document), indent=2, allow_nan=False) + "\n"


def _joints_json(result: Identification) -> dict[str, dict[str, object]]:
    return _named(
        result.prior.joint_names,
        effort_rms=result.effort_rms,
        prior_residual_rms=result.prior_rms,
        residual_rms=result.rms,
        noise=result.base.noise,
        prediction_rms=result.prediction_rms,
        least_squares_prediction_rms=result.least_squares_rms,
        simple_prediction_rms=result.simple_rms,
        controller_residual_rms=result.controller_rms,
        friction_certain=result.friction_certain,
        correlation=result.base.correlation,
        used=result.used,
    )


def _base_parameters_json(result: Identification) -> list[dict[str, object]]:
    base = result.base
    return _objects(
        name=base.names,
        value=base.values,
        standard_error=base.standard_error,
        half_width=base.half_width,
        unit=_units(result),
        stands_for=[result.identifiable.meaning(k) for k in range(len(base.names))],
    )


def _torque_constants_json(
    constants: TorqueConstants | None,
) -> dict[str, dict[str, object]] | None:
    if constants is None:
        return None
    return _named(
        constants.joint_names,
        value=constants.values,
        relative_error=constants.error,
        given=constants.given,
        known=constants.known,
    )


def _estimates_json(estimates: Estimates | None) -> dict[str, dict[str, object]] | None:
    if estimates is None:
        return None
    return _named(
        estimates.names,
        values=estimates.values,
        standard_errors=estimates.standard_error,
        error=estimates.error,
        condition=estimates.condition,
    )


def _objects(**columns: Sequence[object] | np.ndarray) -> list[dict[str, object]]:
    """Rows of a table with these columns."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _named(names: Sequence[str], **columns: np.ndarray) -> dict[str, dict[str, object]]:
    return dict(zip(names, _objects(**columns), strict=True))


def report_html(
    result: Identification,
    comparisons: Sequence[Comparison] = (),
    checks: Sequence[Comparison] = (),
    recordings: Sequence[Recording] = (),
    progress: Callable[[float], None] | None = None,
    estimates: Estimates | None = None,
    command: str = "",
) -> str:
    """The report as one HTML page that needs no other file.

    Args:
        comparisons: with the recordings that it was identified from; the first is drawn, joint by
            joint.
        checks: with others; all are drawn.
        progress: called with the share of the pictures drawn.
        command: the command line that it was made with.
    """
    drawn = [*comparisons[:1], *checks]
    total = 1 + len(drawn) * result.prior.nv
    done = 0
    lines = [
        *(html_finding(level, text) for level, text in findings(result, checks)),
        "<h2>Errors and confidence</h2>",
    ]

    def add_picture(draw: Callable[[], Figure], words: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / total)
        picture = as_html(draw, words)
        # why there is none, which is said once
        said = picture.startswith("<p>") and picture in lines
        lines.append("" if said else picture)

    add_picture(lambda: plot_identification(result), "root mean squares and base parameters")
    for number, c in enumerate(drawn):
        if number < len(comparisons[:1]):
            role = "identified from"
        else:
            role = "not identified from"
        lines.append(f"<h2>{html.escape(c.source)} ({role})</h2>")
        for joint in result.prior.joint_names:
            lines.append(f"<h3>{html.escape(joint)}</h3>")
            add_picture(partial(plot_joint, result, c, joint), f"{joint}, {c.source}")
    text = report_text(result, recordings, checks, estimates, command)
    lines += ["<h2>All numbers</h2>", *_as_html(text)]
    return html_page(f"Identification of {result.prior.name}", lines)


def _as_html(text: str) -> list[str]:
    """The report's own Markdown: headings, tables, lists, paragraphs."""
    out: list[str] = []
    table: list[list[str]] = []
    for line in [*text.splitlines()[1:], ""]:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if table:
            out.append(html_table(table[0], table[2:]))
            table = []
        if line.startswith("## "):
            out.append(f"<h3>{html.escape(line[3:])}</h3>")
        elif line:
            out.append(
                "<p>"
                f"{html.escape(line.replace('- ', '• ', 1) if line.startswith('- ') else line)}</p>"
            )
    return out


def friction_file(result: Identification) -> FrictionFile:
    """Friction and offsets as controllers, the simulator and ``wrenches`` read them beside the
    URDF.
    """
    joints = {}
    friction = result.friction
    for j, (name, form) in enumerate(zip(result.prior.joint_names, result.effects, strict=True)):
        known = {"viscous": result.prior.damping[j], "coulomb": result.prior.friction[j]}
        viscous, coulomb = (
            result.value(j, word) if result.parameters.index(j, word) >= 0 else float(known[word])
            for word in known
        )
        joints[name] = {
            "viscous": viscous,
            "coulomb": coulomb,
            "breakaway": coulomb + result.value(j, "rise"),
            "stribeck_speed": form.all_numbers.get("stribeck_speed", friction.stribeck_speed[j]),
            "smoothing": form.smoothing,
            "presliding": form.presliding,
            "presliding_ratio": form.presliding_ratio,
            "offset": float(result.offset[j]),
            "rotor_inertia": float(result.model.armature[j]),
            **form.all_numbers,
            "effects": {word: result.value(j, word) for word in form.parameters},
            "compensation": {
                word: float(getattr(friction, word)[j]) for word in COMPENSATION_NUMBERS
            },
        }
    return FrictionFile(joints)


def _t_value(x: float, error: float) -> str:
    return f"{abs(x) / error:.3g}" if error > 0.0 else "-"


def _vector(p: np.ndarray) -> str:
    if p[0] > 0.0:
        return " ".join(f"{x:.3f}" for x in p[1:4] / p[0])
    return "-"


def _section(
    title: str,
    text: str,
    head: str | Sequence[str],
    rows: Sequence[Sequence[str]],
) -> list[str]:
    words = head.split(",") if isinstance(head, str) else head
    return [f"## {title}", "", text, "", *_table(words, rows), ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [list(head), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"

    return [line(head), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *map(line, rows)]


def plot_identification(result: Identification, path: str | Path | None = None) -> Figure:
    """Draw what was identified: for each joint the root mean square of the efforts and of what the
    prior and the identified robot leave unexplained; for each base parameter its value with the
    confidence interval.

    Args:
        path: file to write, too; its ending chooses the format.

    Returns:
        the ``matplotlib`` figure.

    Raises:
        BackendError: matplotlib is not installed.
        ArgumentError: the file cannot be written.
    """
    plt = pyplot()
    model = result.prior
    base = result.base
    kinds = joint_kinds(model)
    shown = np.argsort(-np.abs(base.values))[:_MOST_ROWS]
    shown = shown[np.isfinite(base.half_width[shown])]
    tall = max(2.0 + 0.33 * max(model.nv, 3), 1.0 + 0.19 * len(shown))
    with plt.rc_context(FIGURE_STYLE):
        figure = plt.figure(figsize=(13.0, tall), layout="constrained")
        grid = figure.add_gridspec(len(kinds), 2, width_ratios=(1.0, 1.1))
        axes = [figure.add_subplot(grid[row, 0]) for row in range(len(kinds))]
        for axis, (kind, joints) in zip(axes, kinds.items(), strict=True):
            _bars(axis, result, joints, unit_of("effort", kind)[0])
        axes.append(figure.add_subplot(grid[:, 1]))
        _parameters(axes[-1], result, shown)
        # long titles would run into it beside them
        legend(figure, axes, below=True)
        return save(figure, path)


def plot_joint(
    result: Identification,
    comparison: Comparison,
    joint: str,
    path: str | Path | None = None,
) -> Figure:
    """Draw one joint of a recording: measured and predicted efforts, their difference and its
    spectrum, the motion, and friction, all before and after the identification.

    Args:
        joint: its name.
        comparison: see :func:`~robot_dynamics_ros.identification.comparison.compare`.
        path: file to write, too; its ending chooses the format.

    Returns:
        the ``matplotlib`` figure.

    Raises:
        UnknownNameError: the robot has no such joint.
        BackendError: matplotlib is not installed.
        ArgumentError: the file cannot be written.
    """
    plt = pyplot()
    model = result.prior
    check_name("joint", joint, model.joint_names)
    j = model.joint_names.index(joint)
    c = comparison
    kind = next(kind for kind, joints in joint_kinds(model).items() if j in joints)
    unit = unit_of("effort", kind)[0]
    left = (
        (c.measured - c.prior, _BEFORE, "before"),
        (c.measured - c.identified, _AFTER, "identified"),
    )
    measured = c.measured, "#999999", "measured"
    with plt.rc_context(FIGURE_STYLE):
        figure = plt.figure(figsize=(13.0, 7.6))
        grid = figure.add_gridspec(
            3, 4, left=0.05, right=0.9, top=0.96, bottom=0.07, hspace=0.35, wspace=0.22
        )
        over = figure.add_subplot(grid[0, :])
        residual = figure.add_subplot(grid[1, :])
        residual.sharex(over)
        spectrum, seen, friction, by_speed = (figure.add_subplot(grid[2, k]) for k in range(4))
        _over_time(
            over,
            c,
            j,
            (measured, (c.prior, _BEFORE, "before"), (c.identified, _AFTER, "identified")),
        )
        over.set_title(f"effort, measured and predicted [{unit}]")
        _over_time(residual, c, j, left)
        residual.set_title(f"residual: measured less predicted effort [{unit}]")
        residual.set_xlabel("time [s]")
        _spectrum(spectrum, c, j, (measured, *left))
        spectrum.set_title(f"its spectrum [{unit}/√Hz]")
        _excitation(seen, result, c, j, kind)
        _friction(friction, c, j, kind)
        _residual_by_speed(by_speed, c, j, kind)
        over.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return save(figure, path)


def _over_time(
    axis: Axes,
    c: Comparison,
    j: int,
    curves: Iterable[tuple[Array, str, str]],
) -> None:
    """Curves: (n, nv) values, a colour and a name."""
    for part in c.parts:
        k = slice(part.start, part.stop, max(1, len(c.t) // _MOST_PLOT_POINTS))
        for values, colour, label in curves:
            axis.plot(
                c.t[k],
                values[k, j],
                color=colour,
                lw=0.9,
                label=label if part is c.parts[0] else None,
            )


def _spectrum(
    axis: Axes,
    c: Comparison,
    j: int,
    curves: Iterable[tuple[Array, str, str]],
) -> None:
    from scipy.signal import welch

    part = max(c.parts, key=lambda p: p.stop - p.start)
    t = c.t[part]
    step = float(np.median(np.diff(t)))
    grid = np.arange(t[0], t[-1], step)
    for values, colour, _ in curves:
        x = np.interp(grid, t, values[part, j])
        frequency, power = welch(x, 1.0 / step, nperseg=min(len(x), max(64, round(2.0 / step))))
        axis.loglog(frequency[1:], np.sqrt(power[1:]) + 1e-300, color=colour, lw=1.0)
    axis.set_xlabel("frequency [Hz]")


def _excitation(
    axis: Axes,
    result: Identification,
    c: Comparison,
    j: int,
    kind: str,
) -> None:
    k = every_nth(len(c.t))
    (unit, factor), (rate, _) = unit_of("position", kind), unit_of("velocity", kind)
    axis.plot(factor * c.q[k, j], factor * c.v[k, j], ".", ms=1.5, color=SERIES[2], alpha=0.6)
    for limit in (result.prior.lower[j], result.prior.upper[j]):
        if np.isfinite(limit):
            axis.axvline(factor * limit, color="#bbbbbb", lw=0.8)
    for sign in (-1.0, 1.0):
        if 0.0 < result.prior.velocity_limit[j] < np.inf:
            axis.axhline(sign * factor * result.prior.velocity_limit[j], color="#bbbbbb", lw=0.8)
    axis.set_title(f"motion: speed [{rate}] over position")
    axis.set_xlabel(f"position [{unit}]")


def _friction(axis: Axes, c: Comparison, j: int, kind: str) -> None:
    k = every_nth(len(c.t))
    rate, factor = unit_of("velocity", kind)
    axis.plot(
        factor * c.v[k, j], (c.measured - c.rigid)[k, j], ".", ms=1.5, color="#999999", alpha=0.6
    )
    axis.plot(
        factor * c.v[k, j], (c.identified - c.rigid)[k, j], ".", ms=1.5, color=_AFTER, alpha=0.6
    )
    axis.set_title(f"friction and offset [{unit_of('effort', kind)[0]}] over speed")
    axis.set_xlabel(f"speed [{rate}]")


def _residual_by_speed(axis: Axes, c: Comparison, j: int, kind: str) -> None:
    k = every_nth(len(c.t))
    rate, factor = unit_of("velocity", kind)
    left = c.measured - c.identified
    axis.plot(factor * c.v[k, j], left[k, j], ".", ms=1.5, color=_AFTER, alpha=0.6)
    axis.axhline(0.0, color="#bbbbbb", lw=0.8)
    axis.set_title(f"residual [{unit_of('effort', kind)[0]}] over speed")
    axis.set_xlabel(f"speed [{rate}]")


def _bars(axis: Axes, result: Identification, joints: list[int], unit: str) -> None:
    names = [result.prior.joint_names[j] for j in joints]
    for k, (values, label) in enumerate(
        (
            (result.effort_rms, "recorded effort"),
            (result.prior_rms, "prior leaves"),
            (result.rms, "identified leaves"),
        )
    ):
        axis.barh(
            np.arange(len(names)) + 0.27 * (k - 1),
            values[joints],
            0.25,
            color=SERIES[k],
            label=label,
        )
    axis.set_yticks(np.arange(len(names)), names)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_title(f"effort, root mean square [{unit}]")


def _parameters(axis: Axes, result: Identification, shown: NDArray[np.intp]) -> None:
    base = result.base
    y = np.arange(len(shown))
    axis.axvline(0.0, color="#bbbbbb", lw=0.8)
    axis.errorbar(
        base.values[shown],
        y,
        xerr=base.half_width[shown],
        fmt="o",
        ms=3,
        lw=1.2,
        color=SERIES[0],
        label=f"base parameter, {100 * base.confidence:g} % interval",
    )
    names = [base.names[k] for k in shown]
    axis.set_yticks(y, [name if len(name) <= 48 else name[:47] + "…" for name in names], fontsize=7)
    axis.invert_yaxis()
    largest = float(np.abs(base.values[shown]).max(initial=1e-6))
    axis.set_xscale("symlog", linthresh=10.0 ** np.floor(np.log10(0.02 * largest)))
    axis.margins(x=0.06)
    if len(shown) < len(base.values):
        low = f", the {len(shown)} largest of {len(base.values)}"
    else:
        low = ""
    axis.set_title(f"base parameters [kg, kg m, kg m² and of friction]{low}")
