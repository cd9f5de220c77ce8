"""How well a robot predicts the efforts of a motion, over all of it and row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import inverse_dynamics
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.identification.samples import MotionSamples, blocks
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.recordings.recording import Recording


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
    result: Identification,
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
    return _validation(result, MotionSamples.of(result.prior, t, q, effort, v, window=result.window), block)[0]


def _validation(result: Identification, motion: MotionSamples, block: float) -> tuple[Validation, MotionSamples]:
    """The same of a motion that is smoothed already, and this motion with efforts in time."""
    parameters, motion = result.parameters, result.with_efforts(motion).earlier(result.delay)
    data = blocks(parameters, motion, block)
    # what is no parameter is known, and the same in both
    prior, identified = data.Y @ parameters.values(), np.einsum("mjp,jp->mj", data.Y, result.values_of_joints)
    size, before, after = (data.rms(x) for x in (data.effort, data.effort - prior, data.effort - identified))
    return Validation(size, before, after, result.base.noise), motion


@dataclass(frozen=True, eq=False)
class Comparison:
    """Measured efforts and predictions of them along one recording.

    Attributes:
        source: the recording.
        t: (n,) s, from its start.
        q, v: (n, nv) smoothed motion, earlier by the delay of the efforts.
        measured: (n, nv) recorded efforts, N m or N.
        prior: (n, nv) efforts of the robot before the identification, its friction included.
        identified: (n, nv) efforts of the identified robot.
        rigid: (n, nv) efforts of its bodies alone, without friction, offsets and rotors of the joints.
        parts: stretches without gaps.
        check: root mean squares of these, over blocks in which the joint is not too slow.
    """

    source: str
    t: Array
    q: Array
    v: Array
    measured: Array
    prior: Array
    identified: Array
    rigid: Array
    parts: tuple[slice, ...]
    check: Validation


def compare(result: Identification, recording: Recording, *, block: float = 0.05) -> Comparison:
    """Predict the efforts of a recording.

    Args:
        recording: with efforts.
        result: what was identified, from this recording or another one.
        block: s, over which efforts are averaged for ``check``.

    Raises:
        ArgumentError: a recording without efforts, or with too few rows.
    """
    motion = MotionSamples.of_recordings(result.prior, [recording], window=result.window)
    check, motion = _validation(result, motion, block)
    q, v, a = motion.q, motion.v, motion.a
    # rotors are among the efforts that are no parameters
    before = inverse_dynamics(result.prior, q, v, a) - result.prior.rotor_effort(a)
    parameters = result.parameters
    values = parameters.values(result.prior)[parameters.bodies.stop :]
    prior = before + parameters.fixed_effort(v, a) + parameters.joint_columns(q, v, a, motion.parts) @ values
    identified = np.concatenate([result.predict(q[p], v[p], a[p]) for p in motion.parts])
    rigid = inverse_dynamics(result.model, q, v, a) - result.model.rotor_effort(a)
    return Comparison(
        recording.source, motion.t - recording.t[0], q, v, motion.effort, prior, identified, rigid, motion.parts, check
    )
