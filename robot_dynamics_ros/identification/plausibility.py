"""Checks for impossible results: bodies that explain the efforts much worse than base parameters,
which need not belong to any body, and predictions that are worse than none.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.recordings.plausible_motion import Implausible

# Bodies that leave more of a joint's efforts than this many times the noise of the base parameters,
_NO_ROBOT_NOISE_RATIO = 4.0
# and more than this share of the efforts, describe no robot.
_NO_ROBOT_EFFORT_SHARE = 0.15
# A prediction is useless if its error is this many times that of the URDF, or of no model.
_USELESS_ERROR_RATIO = 1.2


def check_result(
    names: tuple[str, ...],
    effort: Array,
    speed: Array,
    noise: Array,
    residual: Array,
    friction_power: Array,
) -> None:
    """Compare bodies that can exist with base parameters, which explain the efforts as well as is
    possible at all.

    Args:
        effort, speed, noise, residual: (nv,) root mean squares, the last two of what base
            parameters and the bodies found leave.
        friction_power: (nv,) mean power that friction takes by the base parameters, W.

    Raises:
        Implausible: no bodies explain the efforts, or friction drives a joint.
    """
    driven = friction_power < -np.maximum(0.05 * effort, 2.0 * noise) * speed
    worse = (residual > _NO_ROBOT_NOISE_RATIO * noise) & (
        residual > _NO_ROBOT_EFFORT_SHARE * effort
    )
    for what, joints in (
        ("friction would drive", driven),
        ("no bodies explain the efforts of", worse),
    ):
        if joints.any():
            own = [name for name, bad in zip(names, joints, strict=True) if bad]
            remedy = (
                "Check signs and units of efforts and positions, the order of the joints, the "
                "kinematics of the URDF and "
            )
            remedy += "gravity's direction."
            text = f"{what} joint{'s' if len(own) > 1 else ''} {', '.join(own)}"
            raise Implausible(text, where="recording", remedy=remedy)


def check_prediction(
    names: tuple[str, ...],
    error: Array,
    prior: Array,
    effort: Array,
    source: str = "recording",
) -> None:
    """Compare errors of prediction with those of the robot as it was known, and with no model at
    all.

    Args:
        error, prior, effort: (nv,) root mean squares of what the identified robot leaves of efforts
            that it was not identified from, of what the robot as it was known leaves, and of the
            efforts; N m or N.

    Raises:
        Implausible: the identified robot is worse than either, for some joint.
    """
    worse = [
        f"{name} ({e:.3g} against {min(p, y):.3g})"
        for name, e, p, y in zip(names, error, prior, effort, strict=True)
        if e > _USELESS_ERROR_RATIO * min(p, y)
    ]
    if worse:
        text = (
            "the identified robot predicts efforts worse than the URDF, or than none at all, N "
            f"m or N: {', '.join(worse)}"
        )
        remedy = (
            "Record a longer or faster motion of these joints, or check whether they are "
            "coupled, touch something, or carry "
        )
        remedy += "a load that the model lacks. --plausibility accept writes it all the same."
        raise Implausible(text, where=source, remedy=remedy)
