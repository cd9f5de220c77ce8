"""Efforts of a recording beside those that a robot predicts, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.dynamics import inverse_dynamics
from robot_dynamics_ros.identification.identify import Identification
from robot_dynamics_ros.identification.samples import Motion
from robot_dynamics_ros.identification.validate import Validation, validation_of
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.recordings.recording import Recording

__all__ = ["Comparison", "compare"]


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


def compare(found: Identification, recording: Recording, *, block: float = 0.05) -> Comparison:
    """Predict the efforts of a recording.

    Args:
        recording: with efforts.
        found: what was identified, from this recording or another one.
        block: s, over which efforts are averaged for ``check``.

    Raises:
        ArgumentError: a recording without efforts, or with too few rows.
    """
    motion = Motion.of_recordings(found.prior, [recording], window=found.window)
    check, motion = validation_of(found, motion, block), found.with_efforts(motion).earlier(found.delay)
    q, v, a = motion.q, motion.v, motion.a
    before = inverse_dynamics(found.prior, q, v, a) - found.prior.armature * a  # rotors are among those that are known
    parameters = found.parameters
    values = parameters.values(found.prior)[parameters.bodies.stop :]
    prior = before + parameters.known(v, a) + parameters.joint_columns(q, v, a, motion.parts) @ values
    identified = np.concatenate([found.predict(q[p], v[p], a[p]) for p in motion.parts])
    rigid = inverse_dynamics(found.model, q, v, a) - found.model.armature * a
    return Comparison(
        recording.source, motion.t - recording.t[0], q, v, motion.effort, prior, identified, rigid, motion.parts, check
    )
