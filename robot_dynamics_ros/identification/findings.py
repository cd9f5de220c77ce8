"""Arguments for and against the result of an identification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.identification.comparison import Comparison
from robot_dynamics_ros.identification.identify import Identification

_EXPLAINED, _MOSTLY = 0.1, 0.3  # of a joint's efforts that may stay unexplained
_UNSEEN_WORSE = 1.5  # times as much may stay unexplained of a recording for validation
_FAR = 1.5  # Riemannian distance of a body from the URDF's
_CONDITION = 200.0


def findings(result: Identification, checks: Sequence[Comparison] = ()) -> list[tuple[str, str]]:
    """Arguments for and against a result: (``"good"``, ``"fair"`` or ``"poor"``, a sentence), the worst first.

    Args:
        checks: comparisons with recordings that it was not identified from.
    """
    out: list[tuple[str, str]] = []
    names = result.prior.joint_names
    share = result.rms / np.maximum(result.effort_rms, 1e-300)
    for level, low, high in (("good", 0.0, _EXPLAINED), ("fair", _EXPLAINED, _MOSTLY), ("poor", _MOSTLY, np.inf)):
        joints = [f"{n} ({x:.0%})" for n, x in zip(names, share, strict=True) if low <= x < high]
        if joints:
            out.append((level, f"Unexplained share of the recorded efforts (root mean square): {', '.join(joints)}."))
    worse = [n for n, a, b in zip(names, result.rms, result.prior_rms, strict=True) if a > b]
    if worse:
        out.append(("poor", f"The URDF as it was explains more: {', '.join(worse)}."))
    for check in checks:
        before, after = check.check.prior, check.check.identified
        bad = [n for n, a, b in zip(names, after, result.prediction_rms, strict=True) if a > _UNSEEN_WORSE * b]
        gain = float(np.linalg.norm(after) / max(np.linalg.norm(before), 1e-300))
        if bad:
            out.append(
                (
                    "fair" if gain < 1.0 else "poor",
                    f"{check.source}, for validation: the error of {', '.join(bad)} is larger than expected; "
                    f"{gain:.0%} of the URDF's error.",
                )
            )
        else:
            out.append(("good", f"{check.source}, for validation: the error is {gain:.0%} of the URDF's."))
    if not checks:
        out.append(("fair", "There is no recording for validation: --validate names one."))
    if result.base.unseen:
        out.append(("fair", f"The motion does not show, kept from the URDF: {', '.join(result.base.unseen)}."))
    if result.base.condition > _CONDITION:
        out.append(
            ("fair", f"The motion is poor (condition number {result.base.condition:.0f}): see robot_dynamics excite.")
        )
    wide = np.isfinite(result.base.half_width) & (result.base.half_width > np.abs(result.base.values))
    if wide.any():
        out.append(
            (
                "fair" if wide.mean() > 0.2 else "good",
                f"{int(wide.sum())} of {len(wide)} base parameters cannot be distinguished from zero.",
            )
        )
    far = [
        result.prior.joint(j).child
        for j, d in zip(result.prior.moving_joint_names, result.full.distance, strict=True)
        if d > _FAR
    ]
    if far:
        out.append(("fair", f"Far from the URDF: {', '.join(far)}. Look at masses and centres below."))
    if not result.full.converged:
        good_enough = bool((result.rms <= 1.05 * result.base.noise).all())
        more = ", but its last result explains as much as base parameters do" if good_enough else ""
        out.append(("fair" if good_enough else "poor", f"The search for bodies did not converge{more}."))
    out += [("fair", f"{note[0].upper()}{note[1:]}.") for note in result.notes]
    return sorted(out, key=lambda entry: ("poor", "fair", "good").index(entry[0]))
