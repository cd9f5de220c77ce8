"""Masses of segments from the motion of a floating base and measured external wrenches: no joint
efforts are needed.

The six equations of a floating joint have no motor: what inertia and gravity ask for is what the
surroundings exert,

    Y_base(q, v, a) π = Σ (Jᵀ f)_base,

with wrenches f from force plates or force/torque sensors.  These six rows show the same base
parameters as the efforts of all joints together would.

Source: Ayusawa, Venture and Nakamura, *Identifiability and identification of inertial parameters
using the underactuated base-link dynamics for legged multibody systems*, International Journal of
Robotics Research 33(3), 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import difference, external_efforts
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.consistent import ConsistentEstimate, consistent_parameters
from robot_dynamics_ros.identification.effort_parameters import EffortParameters, FrictionTerms
from robot_dynamics_ros.identification.held_out import held_out_bodies, root_mean_square
from robot_dynamics_ros.identification.least_squares import (
    BaseEstimate,
    Identifiable,
    identifiable_parameters,
    weighted_least_squares,
)
from robot_dynamics_ros.identification.robot import urdf_of, with_parameters
from robot_dynamics_ros.identification.samples import Blocks, MotionSamples
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import ExternalWrench
from robot_dynamics_ros.recordings.smoothing import derivatives, require_increasing, segments

# of the local polynomials
_ORDER = 4


@dataclass(frozen=True, eq=False)
class SegmentIdentification:
    """Result of :func:`identify_segments`.

    Attributes:
        prior: the robot or body as it was known.
        model: the identified one: physically possible segments.
        base: base parameters with confidence intervals.
        full: all inertial parameters, in the order of
            :func:`~robot_dynamics_ros.inertial_parameters`.
        identifiable: the part of them that the base's equations can show.
        rms, prior_rms: (6,) root mean square of what the identified and the prior segments leave of
            the base's equations: force or moment by the floating joint's coordinates, N and N m.
        prediction_rms: (6,) the same of each twelfth of the recordings, predicted from the others.
    """

    prior: RobotModel
    model: RobotModel
    base: BaseEstimate
    full: ConsistentEstimate
    identifiable: Identifiable
    rms: Array
    prior_rms: Array
    prediction_rms: Array

    @property
    def masses(self) -> dict[str, tuple[float, float]]:
        """First link of a segment → its mass and the standard error, kg; the latter holds what the
        equations do not show.
        """
        values = self.full.values[::10]
        error = self.full.standard_error[::10]
        links = [self.prior.joint(joint).child for joint in self.prior.moving_joint_names]
        return {link: (float(m), float(e)) for link, m, e in zip(links, values, error, strict=True)}

    def urdf(self) -> str:
        """URDF text of ``model``."""
        return urdf_of(self.model, self.prior.description.source)


def identify_segments(
    model: RobotModel,
    t: ArrayLike,
    q: ArrayLike,
    external: Sequence[ExternalWrench],
    *,
    window: float = 0.1,
    block: float = 0.05,
    spread: float | None = None,
    confidence: float = 0.95,
) -> SegmentIdentification:
    """Identify masses, centres of mass and inertias from the six equations of a floating base.

    Args:
        model: on a floating base (``load_urdf(..., floating_base=True)``); its kinematics must be
            right, its inertias are the start values.
        t: (n,) times, s; several recordings follow one another with gaps.
        q: (n, nq) positions, the base's [x, y, z, qx, qy, qz, qw] first.
        external: every wrench that the surroundings exert, by the same clock.  Where one is
            missing, the block is not used.
        window: s, of the local polynomials that smooth and differentiate.
        spread: see :class:`~robot_dynamics_ros.IdentificationSettings`.
        confidence: of the intervals of base parameters.

    Raises:
        ArgumentError: no floating base, wrong shapes, no external wrench, or too few rows.
    """
    root = next(iter(model.moving_joint_names), "")
    if not root or model.joint(root).type is not JointType.FLOATING:
        where = f"robot {model.name!r}"
        remedy = "Load it with floating_base=True."
        raise ArgumentError("the first joint is not floating", where=where, remedy=remedy)
    terms = FrictionTerms(viscous=False, coulomb=False, offset=False)
    parameters = EffortParameters(model, terms)
    rows = model.v_slice(root)
    t = as_input(t, (), "t")
    q = as_input(q, (model.nq,), "q")
    if t.shape != q.shape[:1]:
        raise ArgumentError(
            f"expected ({len(q)},), got {t.shape}", where="t", remedy="One time a row of q."
        )
    if not external:
        remedy = "Give the wrenches of force plates or sensors."
        raise ArgumentError("no external wrench was recorded", where="external", remedy=remedy)
    require_increasing(t)
    data = _blocks(model, t, q, external, rows, window, block)
    identifiable = identifiable_parameters(parameters, rows=rows)
    base = weighted_least_squares(identifiable, data, confidence=confidence, unseen="keep")
    noise = base.noise * np.sqrt(base.correlation)
    full = consistent_parameters(identifiable, data, noise, spread=spread)
    error = root_mean_square(held_out_bodies(identifiable, data, noise, full))
    left, left_before = (
        data.rms(data.effort - data.Y @ x) for x in (full.values, parameters.values())
    )
    identified = with_parameters(parameters, full.values)
    return SegmentIdentification(
        model, identified, base, full, identifiable, left, left_before, error
    )


def _blocks(
    model: RobotModel,
    t: Array,
    q: Array,
    external: Sequence[ExternalWrench],
    rows: slice,
    window: float,
    block: float,
) -> Blocks:
    """Block averages of the base's six rows: regressor, and efforts of the external wrenches.

    Args:
        t, q: (n,) s and (n, nq) of the recording.
        external: wrenches that were measured.
        rows: the base's six, of the nv.
        window: of the polynomials that smooth the motion, s.
        block: length of the blocks, s.
    """
    # each quaternion with the sign that is nearer to the one before, so that they can be smoothed
    q = q.copy()
    alike = np.einsum("ni,ni->n", q[1:, 3:7], q[:-1, 3:7])
    signs = np.cumprod(np.sign(np.r_[1.0, alike]))
    q[:, 3:7] *= np.sign(signs)[:, None]
    step = float(np.median(np.diff(t)))
    samples = max(round(window / step), _ORDER + 2) | 1
    # velocities by central differences on the configuration space, then the polynomials
    raw = difference(model, q[:-2], q[2:]) / (t[2:] - t[:-2])[:, None]
    t = t[1:-1]
    bridge = 0.25 * window
    parts = segments(t, bridge)
    v, a = derivatives(t, raw, window=samples, order=_ORDER, up_to=1, bridge=bridge)
    q = derivatives(t, q[1:-1], window=samples, order=_ORDER, up_to=0, bridge=bridge)[0]
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    edge = samples // 4
    parts = [slice(p.start + edge, p.stop - edge) for p in parts if p.stop - p.start > 2 * samples]
    if not parts:
        raise ArgumentError(
            "there is no stretch without gaps", where="t", remedy="Record at a steady rate."
        )
    on_links: dict[str, Array] = {}
    covered = np.ones(len(t), dtype=bool)
    for wrench in external:
        covered &= wrench.there(t)
        on_links[wrench.link] = on_links.get(wrench.link, 0.0) + wrench.on_link(model, t, q)
    effort = external_efforts(model, q, on_links)[:, rows]
    motion = MotionSamples(
        t, q, v, a, effort, tuple(parts), window, (), np.zeros(effort.shape, dtype=bool)
    )
    mean = motion.mean(effort, block)
    use = motion.mean(covered.astype(np.float64), block) == 1.0
    Y = motion.mean_regressor(model, block)[:, rows]
    return Blocks(
        Y, mean, np.repeat(use[:, None], 6, axis=1), 0.0 * mean, motion.block_parts(block)
    )
