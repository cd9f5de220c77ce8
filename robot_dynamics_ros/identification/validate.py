"""How well a robot predicts the efforts of a motion that it was not identified from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.identification.samples import Motion, blocks
from robot_dynamics_ros.model.description import Array

__all__ = ["Validation", "validate", "validation_of"]


@dataclass(frozen=True, eq=False)
class Validation:
    """Root mean squares over blocks in which the joint was not too slow, N m or N.

    Attributes:
        effort: (nv,) of the recorded efforts.
        prior: (nv,) of the efforts that the prior does not explain.
        identified: (nv,) of the efforts that the identified robot does not explain.
        noise: (nv,) noise that the identification found, for comparison.
    """

    effort: Array
    prior: Array
    identified: Array
    noise: Array


def validate(
    found: Identification,
    t: ArrayLike,
    q: ArrayLike,
    effort: ArrayLike,
    *,
    v: ArrayLike | None = None,
    block: float = 0.05,
) -> Validation:
    """Compare predicted with recorded efforts.

    Args:
        t: (n,) s.
        q, effort: (n, nv) recorded positions and motor efforts.
        v: (n, nv) velocities, if recorded.
        block: s, over which efforts are averaged.

    Raises:
        ArgumentError: data of the wrong shape, not finite, or too few.
    """
    return validation_of(found, Motion.of(found.prior, t, q, effort, v, window=found.window), block)


def validation_of(found: Identification, motion: Motion, block: float = 0.05) -> Validation:
    """The same of a motion that is smoothed already."""
    parameters, motion = found.parameters, found.with_efforts(motion).earlier(found.delay)
    slow = 0.2 * EffortParameters(found.prior, parameters.terms).smoothing
    data = blocks(parameters, motion, length=block, slow=slow)
    # what is no parameter is known, and the same in both
    return Validation(
        data.rms(data.effort),
        data.rms(data.effort - data.Y @ parameters.values()),
        data.rms(data.effort - np.einsum("mjp,jp->mj", data.Y, found.values_of_joints)),
        found.base.noise,
    )
