"""Payload at the flange, identified on the arm: from a gentle motion, or from poses at rest, and their efforts.

The efforts that the arm alone does not explain are those of the payload, linear in its mass, first moments and
inertia, and of errors of the friction model, linear in these.  Friction errors are estimated with the payload: the
motion passes every position in both directions, so that they can be distinguished from weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.payload import Payload
from robot_dynamics_ros.control.per_joint import per_joint, vector
from robot_dynamics_ros.dynamics import inverse_dynamics, joint_torque_regressor
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.excitation import Excitation, at_rest
from robot_dynamics_ros.identification.pseudo_inertia import is_consistent
from robot_dynamics_ros.identification.samples import Motion
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["PayloadEstimate", "estimate_payload", "estimate_payload_at_rest", "payload_motion"]

_INERTIA = 0.1  # kg m², of which size inertias may well be
_MOMENT = 2.0  # kg m
_MASS = 20.0  # kg
_FRICTION = 0.3  # share by which friction may well be wrong
_OFFSET = 5e-4  # of the effort limit
_BLOCK = 0.05  # s
_LATEST = 0.02  # s
_SLOW = 3.0  # times the smoothing of friction
_CORRELATED = 4.0  # by which errors alike in successive blocks make variances larger


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload with its uncertainty.

    Attributes:
        payload: mass, centre of mass and inertia in the frame of its link; a point mass where the inertia was not seen.
        mass_error: standard error of the mass, kg.
        com_error: (3,) standard errors of the centre of mass, m.
        inertia_error: (3, 3) standard errors of the inertia about the centre of mass, kg m²; infinite if not asked.
        inertia_seen: whether the data show the inertia, and it is physically possible.
        rms: (nv,) effort that remains unexplained, N m or N.
        delay: s, by which the efforts are late.
    """

    payload: Payload
    mass_error: float
    com_error: Array
    inertia_error: Array
    inertia_seen: bool
    rms: Array
    delay: float

    def __str__(self) -> str:
        p = self.payload
        com = ", ".join(f"{1e3 * c:.1f} ± {2e3 * e:.1f}" for c, e in zip(p.com, self.com_error, strict=True))
        inertia = "inertia " + ("identified" if self.inertia_seen else "not seen, taken as a point mass")
        return f"{p.link}: {p.mass:.3f} ± {2 * self.mass_error:.3f} kg at ({com}) mm (2 standard errors); {inertia}"


def payload_motion(
    model: RobotModel,
    link: str,
    q0: ArrayLike,
    *,
    span: Any = 0.5,
    duration: float = 24.0,
    scale: float = 0.3,
    lower: Any = None,
    upper: Any = None,
    tries: int = 60,
    seed: int = 0,
) -> Excitation:
    """A gentle motion from a pose and back that shows a payload.

    Args:
        link: that carries it.
        q0: (nv,) present configuration of the arm.
        span: (nv,) or one number, rad or m: how far each joint may move to either side.
        duration: s, for two periods.
        scale: share of the velocity limits.
        lower, upper: (nv,) position limits that are narrower than the URDF's.
        tries: number of motions compared; the one with the smallest errors of mass and centre is used.
        seed: of the random numbers.

    Returns:
        A motion of period ``duration`` / 2 that begins and ends at rest at ``q0``: ``.trajectory(2)`` is what
        controllers take.

    Raises:
        ArgumentError: ``q0`` outside the limits, or bounds that allow no motion.
    """
    n = model.nv
    q0 = vector(q0, n, "q0", joints=model.joint_names)
    if not (duration > 1.0 and 0.0 < scale <= 1.0 and tries >= 1):
        raise ArgumentError(
            "needs more than a second, and a share of the limits from 0 to 1",
            where="payload motion",
            remedy="Give a duration above 1 s, a scale above 0 to 1, and at least one try.",
        )
    reach = per_joint(span, n, "span")
    low = np.maximum(np.maximum(model.lower, -np.inf if lower is None else np.asarray(lower, dtype=float)), q0 - reach)
    high = np.minimum(np.minimum(model.upper, np.inf if upper is None else np.asarray(upper, dtype=float)), q0 + reach)
    outside = (q0 < low) | (q0 > high)
    if outside.any():
        i = int(np.argmax(outside))
        raise ArgumentError(
            f"joint {model.joint_names[i]!r} stands at {q0[i]:g}, outside {low[i]:g} to {high[i]:g}",
            where="q0",
            got=float(q0[i]),
            remedy="Move the arm to where it may move.",
        )
    body, _, _ = _carrier(model, link)
    period, harmonics = 0.5 * duration, 4
    speed = scale * np.where(np.isfinite(model.velocity_limit), model.velocity_limit, 2.0)
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, period, 160, endpoint=False)
    fine = np.linspace(0.0, period, 40 * harmonics + 1)
    best, chosen = -math.inf, None
    for _ in range(tries):
        a, b = at_rest(rng.normal(size=(2, n, harmonics)))
        unit = Excitation(model.joint_names, period, np.zeros(n), a, b)
        q = unit.at(fine) - unit.at(0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.minimum(
                np.where(q.max(axis=0) > 0, (high - q0) / q.max(axis=0), np.inf),
                np.where(q.min(axis=0) < 0, (q0 - low) / -q.min(axis=0), np.inf),
            )
        factor = 0.98 * np.minimum(room, speed / np.abs(unit.at(fine, 1)).max(axis=0))
        motion = Excitation(model.joint_names, period, np.zeros(n), a * factor[:, None], b * factor[:, None])
        motion = Excitation(model.joint_names, period, q0 - motion.at(0.0), motion.sine, motion.cosine)
        x, v, acc = (motion.at(times, k) for k in range(3))
        worth = _worth(model, body, x, v, acc)
        if worth > best:
            best, chosen = worth, motion
    if chosen is None or not math.isfinite(best):
        raise ArgumentError(
            "no motion within the bounds shows a payload",
            where="payload motion",
            got=link,
            remedy="Give the joints more room, or another pose: some joint has to feel the payload's weight.",
        )
    return chosen


def _worth(model: RobotModel, body: int, q: Array, v: Array, a: Array) -> float:
    """Minus the logarithm of the uncertainty of mass and first moments."""
    Y = np.asarray(joint_torque_regressor(model, q, v, a))[..., 10 * body : 10 * body + 10]
    weight = 1.0 / _usual(model)
    N, _ = _normal(model, Y, np.zeros(v.shape), v, np.tanh(v / 0.02), weight, 10, np.abs(v) > 0.02)
    covariance = np.linalg.pinv(N, hermitian=True)[:4, :4]
    sizes = np.array([1.0, 0.1, 0.1, 0.1])
    value = float(np.sum(covariance.diagonal() / sizes**2))
    return -math.log(value) if value > 0.0 else -math.inf


def _usual(model: RobotModel) -> Array:
    """(nv,) size of a joint's efforts, for weights."""
    limit = model.effort_limit
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, 50.0)


def _carrier(model: RobotModel, link: str) -> tuple[int, Array, Array]:
    """Body that carries a link, and rotation and position of the link in the body's frame."""
    model.link(link)
    i = model.link_index(link)
    body = int(model.link_body[i])
    if body < 0:
        raise ArgumentError(
            f"link {link!r} does not move", where="link", got=link, remedy="Name a link beyond a moving joint."
        )
    return body, np.asarray(model.link_rotation[i]), np.asarray(model.link_position[i])


def _normal(
    model: RobotModel, Y: Array, effort: Array, v: Array, step: Array, weight: Array, columns: int, use: np.ndarray
) -> tuple[Array, Array]:
    """Normal equations of [payload, friction errors], with what is likely of each as prior; rows (m, nv) in ``use``."""
    nv = model.nv
    size = columns + 3 * nv
    N, b = np.zeros((size, size)), np.zeros(size)
    likely = np.array([_MASS, *[_MOMENT] * 3, *[_INERTIA] * 6])[:columns]
    N[range(columns), range(columns)] = 1.0 / likely**2
    for j in range(nv):
        A = np.column_stack([Y[:, j, :columns], v[:, j], step[:, j], np.ones(len(v))])[use[:, j]]
        own = [*range(columns), *range(columns + 3 * j, columns + 3 * j + 3)]
        N[np.ix_(own, own)] += weight[j] ** 2 * (A.T @ A)
        b[own] += weight[j] ** 2 * (A.T @ effort[use[:, j], j])
        errors = (
            _FRICTION * max(float(model.damping[j]), 1e-3),
            _FRICTION * max(float(model.friction[j]), 1e-3),
            _OFFSET * float(_usual(model)[j]),
        )
        for k, size_of in enumerate(errors):
            N[own[columns + k], own[columns + k]] += 1.0 / size_of**2
    return N, b


def estimate_payload(
    model: RobotModel, link: str, t: ArrayLike, q: ArrayLike, effort: ArrayLike, *, friction: Friction | None = None
) -> PayloadEstimate:
    """Estimate a payload from a recorded motion.

    Args:
        model: the arm without the payload.
        link: that carries it.
        t: (n,) s.  q, effort: (n, nv) recorded positions and motor efforts.
        friction: of the joints, as well as it is known; that of the URDF if not given.

    Raises:
        ArgumentError: data of the wrong shape or too few, a mass that is not positive, or a link that does not move.
        UnknownNameError: no such link.

    Source: Khalil, Gautier and Lemoine, ICRA 2007 (payload identification by least squares).
    """
    body, R, p = _carrier(model, link)
    friction = friction or Friction.of(model)
    motion = Motion.of(model, t, q, effort, window=0.2)
    rms: Array
    x: Array
    covariance: Array
    delay, x, left, rms = 0.0, np.zeros(10), np.zeros((0, model.nv)), np.zeros(model.nv)
    weight = 1.0 / _usual(model)
    covariance = np.zeros((10, 10))
    for _ in range(3):
        m = motion.earlier(delay)
        known = np.asarray(inverse_dynamics(model, m.q, m.v, m.a)) + friction.effort(m.v)
        rest = m.mean(m.effort - known, _BLOCK)
        Y = m.mean_regressor(model, _BLOCK)[..., 10 * body : 10 * body + 10]
        v, step = m.mean(m.v, _BLOCK), m.mean(np.tanh(m.v / friction.smoothing), _BLOCK)
        # while a joint turns back it may stick, and its friction is anything
        slow = m.mean((np.abs(m.v) < _SLOW * friction.smoothing).astype(float), _BLOCK)
        use = (slow == 0.0) & (np.abs(v) > 0.0)
        for _ in range(2):
            N, b = _normal(model, Y, rest, v, step, weight, 10, use)
            inverse = np.asarray(np.linalg.pinv(N, hermitian=True), dtype=np.float64)
            solution = inverse @ b
            x, covariance = solution[:10], inverse[:10, :10]
            wrong = solution[10:].reshape(-1, 3)
            left = np.where(use, rest - Y @ x - v * wrong[:, 0] - step * wrong[:, 1] - wrong[:, 2], 0.0)
            rms = np.asarray(np.sqrt((left**2).sum(axis=0) / np.maximum(use.sum(axis=0), 1)))
            weight = 1.0 / np.maximum(rms, 1e-6 * _usual(model))
        rate = np.where(use, np.gradient(m.mean(m.effort, _BLOCK), _BLOCK, axis=0), 0.0) * weight
        power = float((rate * rate).sum())
        if power > 0.0:
            delay = float(np.clip(delay - float((rate * left * weight).sum()) / power, -_LATEST, _LATEST))
    return _result(link, x, covariance * _CORRELATED, R, p, rms, delay)


def estimate_payload_at_rest(
    model: RobotModel, link: str, q: ArrayLike, effort: ArrayLike, *, friction: Friction | None = None
) -> PayloadEstimate:
    """Estimate mass and centre of mass from poses at rest.

    Dry friction may hold each joint with up to its breakaway effort in either direction; the stated errors include
    that.  Average over poses that were reached from both sides where the errors are too large.

    Args:
        model: the arm without the payload.
        link: that carries it.
        q, effort: (k, nv) or (nv,) positions at rest and mean motor efforts there; three poses with the hand turned
            show the whole centre of mass.
        friction: of the joints, as well as it is known; that of the URDF if not given.

    Raises:
        ArgumentError: data of the wrong shape, a mass that is not positive, or a link that does not move.
        UnknownNameError: no such link.
    """
    body, R, p = _carrier(model, link)
    q, effort = (np.atleast_2d(as_input(x, (), name)) for x, name in ((q, "q"), (effort, "effort")))
    if q.shape != effort.shape or q.shape[1] != model.nv or not (np.isfinite(q).all() and np.isfinite(effort).all()):
        raise ArgumentError(
            f"expected two finite arrays (k, {model.nv}), got {q.shape} and {effort.shape}", where="q, effort", got=q
        )
    friction = friction or Friction.of(model)
    zero = np.zeros(q.shape)
    rest = effort - np.asarray(inverse_dynamics(model, q, zero, zero))
    Y = np.asarray(joint_torque_regressor(model, q, zero, zero))[..., 10 * body : 10 * body + 4]
    noise = np.maximum(friction.breakaway / math.sqrt(3.0), 1e-3 * _usual(model))
    A, b = (Y / noise[:, None]).reshape(-1, 4), (rest / noise).reshape(-1)
    N = A.T @ A + np.diag(1.0 / np.array([_MASS, _MOMENT, _MOMENT, _MOMENT]) ** 2)
    covariance = np.zeros((10, 10))
    covariance[:4, :4] = np.linalg.inv(N)
    x = np.zeros(10)
    x[:4] = covariance[:4, :4] @ (A.T @ b)
    covariance[range(4, 10), range(4, 10)] = np.inf
    return _result(link, x, covariance, R, p, np.sqrt(np.mean((rest - Y @ x[:4]) ** 2, axis=0)), 0.0)


def _result(link: str, x: Array, covariance: Array, R: Array, p: Array, rms: Array, delay: float) -> PayloadEstimate:
    """From parameters in the body's frame to a payload in the link's frame."""
    mass, error = float(x[0]), math.sqrt(max(float(covariance[0, 0]), 0.0))
    if not mass > 2.0 * error:
        raise ArgumentError(
            f"no payload shows: {mass:.3g} ± {2 * error:.2g} kg",
            where="payload",
            got=mass,
            remedy="If there is one: check signs and offsets of efforts, and that the model is the arm without it.",
        )
    com = x[1:4] / mass
    by = np.concatenate([-com[:, None], np.eye(3)], axis=1) / mass  # ∂com/∂(m, h)
    com_covariance = R.T @ by @ covariance[:4, :4] @ by.T @ R
    I = x[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3) - mass * (com @ com * np.eye(3) - np.outer(com, com))  # noqa: E741
    errors = np.sqrt(np.maximum(covariance.diagonal()[4:], 0.0))
    inertia_error = errors[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    own = R.T @ I @ R
    local = np.concatenate([[mass], np.zeros(3), own[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])
    seen = bool(
        np.isfinite(errors).all()
        and is_consistent(local, 1e-9)
        and (2.0 * inertia_error.diagonal() < np.abs(I.diagonal())).all()
    )
    return PayloadEstimate(
        Payload(link, mass, R.T @ (com - p), 0.5 * (own + own.T) if seen else np.zeros((3, 3))),
        error,
        np.sqrt(np.maximum(com_covariance.diagonal(), 0.0)),
        inertia_error,
        seen,
        rms,
        delay,
    )
