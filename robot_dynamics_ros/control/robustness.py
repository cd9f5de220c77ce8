"""Settings of the step that makes computed torque hold up on robots that differ from their
description.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.ladder import ELASTIC_OR_LATE
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

GAPS_PAGE = "docs/explanation/differing_robots.md"

# Beyond these, options are mistakes of unit: the delay is in s, the bandwidth in rad/s.
_LARGEST_SHARES = {"rotor_share": 1.0, "rejected_effort": 1.0, "bandwidth": 1000.0, "delay": 0.1}


@dataclass(frozen=True, slots=True)
class Robustness:
    """Feedback that does not rest on an inertia that may be wrong, and rejection of what the model
    does not explain.

    The natural frequency of the error is ``bandwidth``, or less where delay and rate ask for it.

    Attributes:
        rotor_share: rotor inertia assumed of a joint that has not shown another, as a share of the
            largest that joints of its effort limit have, 0.2 kg m² √(limit / 100 N m); with 0 none
            is learned either.
        bandwidth: rad/s.
        rejected_effort: bound of the effort that makes up for what the model does not explain, as a
            share of the effort limit; a person or an obstacle is pushed no harder than with this
            and the stiffness.
        delay: s from a command to its effort and from a state to its message together: a property
            of the robot.

    ArgumentError: a number that is negative, too large or not finite.
    """

    rotor_share: float = 0.4
    bandwidth: float = 35.0
    rejected_effort: float = 0.4
    delay: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            largest = _LARGEST_SHARES[field.name]
            good = 0.0 <= value <= largest and (field.name != "bandwidth" or value > 0.0)
            expect(good, f"a number from 0 to {largest:g}", value, f"robustness {field.name}")


def description_gaps(
    model: RobotModel,
    unexplained: Array,
    inertial: Array,
    share: ArrayLike = 1.0,
    swung: ArrayLike = False,
) -> tuple[str, ...]:
    """One sentence a joint whose mean effort in motion, N m or N, the description did not explain
    by more than 1 % of the effort limit, and than what the desired acceleration took by the model:
    (n,) ``unexplained`` and ``inertial``; and one for the joint that was softened most for its
    ringing: ``share``, root of that of its stiffness which is left.  ``swung``: (n,) joints that
    the precise law itself drove, which the plain one leads since; one sentence for all.
    """
    sentences = []
    for i in np.flatnonzero(
        (unexplained > inertial) & (unexplained > 0.01 * np.minimum(model.effort_limit, 100.0))
    ):
        name = model.joint_names[i]
        ratio = inertial[i] / unexplained[i]
        if model.joint(name).type is JointType.PRISMATIC:
            unit = "N"
        else:
            unit = "N m"
        if ratio > 0.01:
            times = f"{1.0 / ratio:.1f} times what"
        else:
            times = "and more than"
        needs = f"{unexplained[i]:.2g} {unit} unexplained, {times} its inertia needs"
        wrong = f"friction, rotor or payload is not as described; see {GAPS_PAGE}"
        sentences.append(f"joint {name}: {needs}: {wrong}")
    left = np.square(np.broadcast_to(share, model.nv))
    softest = int(np.argmin(left))
    if left[softest] < 0.9:
        held = f"it rang by itself and is held with {left[softest]:.0%} of its stiffness"
        cause = f"its {ELASTIC_OR_LATE}"
        sentences.append(f"joint {model.joint_names[softest]}: {held}: {cause}; see {GAPS_PAGE}")
    driven = [
        name
        for name, swings in zip(model.joint_names, np.broadcast_to(swung, model.nv), strict=True)
        if swings
    ]
    if driven:
        held = "swung by itself; a plain law leads it until the controller is activated again"
        cause = f"a {ELASTIC_OR_LATE}"
        sentences.append(f"the arm of {', '.join(driven)} {held}: {cause}; see {GAPS_PAGE}")
    return tuple(sentences)
