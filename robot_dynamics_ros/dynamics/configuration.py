"""Operations on the configuration space: neutral, random, integrate, difference, clamp.

For most joints these are plain arithmetic.  A floating joint's configuration is a placement, its velocity a body twist
[ω; v]; a motion with a constant twist for unit time is the exponential of SE(3), and ``difference`` is its inverse.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input, as_output, check_quaternions
from robot_dynamics_ros.dynamics.engine.evaluate import quaternion_starts
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["clamp_to_limits", "difference", "integrate", "neutral", "random_configuration"]


def neutral(model: RobotModel) -> Array:
    """(nq,) the zero configuration, floating joints at the identity."""
    return model.neutral()


def random_configuration(
    model: RobotModel,
    seed: int | np.random.Generator | None = None,
    *,
    size: tuple[int, ...] | int = (),
    reach: float = np.pi,
) -> Array:
    """Random configurations, uniform within the position limits.

    Args:
        seed: seed or generator, for repeatable draws.
        size: leading dimensions of the result.
        reach: where a joint has no limits, draw from ±``reach`` rad or m.

    Returns:
        (*size, nq); quaternions are uniform over rotations.
    """
    rng = np.random.default_rng(seed)
    lead = (size,) if isinstance(size, int) else tuple(size)
    lower = np.where(np.isfinite(model.lower), model.lower, np.minimum(-reach, model.upper - reach))
    upper = np.where(np.isfinite(model.upper), model.upper, np.maximum(reach, model.lower + reach))
    lower, upper = (np.nan_to_num(x, posinf=reach, neginf=-reach) for x in (lower, upper))
    q = rng.uniform(lower, upper, (*lead, model.nq))
    for start in quaternion_starts(model):
        part = rng.normal(size=(*lead, 4))
        q[..., start : start + 4] = part / np.linalg.norm(part, axis=-1, keepdims=True)
    return q


def clamp_to_limits(model: RobotModel, q: ArrayLike) -> Array:
    """(..., nq) the configuration with every coordinate brought within its position limits."""
    q = as_input(q, (model.nq,), "q")
    out = np.clip(q, model.lower, model.upper)
    for start in quaternion_starts(model):
        out[..., start : start + 4] = q[..., start : start + 4]
    return out


def integrate(model: RobotModel, q: ArrayLike, dv: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
    """q ⊕ dv: the configuration after one second at constant velocity ``dv``.

    Args:
        q: (..., nq).
        dv: (..., nv), usually v · Δt.

    Returns:
        (..., nq), quaternions of unit length.
    """
    q, dv = as_input(q, (model.nq,), "q"), as_input(dv, (model.nv,), "dv")
    if model.nq == model.nv and not quaternion_starts(model):
        if out is None:
            return q + dv
        return np.add(q, dv, out=as_output(out, np.broadcast_shapes(q.shape, dv.shape), "out"))
    lead = _lead(q, dv)
    result = np.empty((*lead, model.nq))
    for qs, vs, kind in _blocks(model):
        if kind is JointType.FLOATING:
            result[..., qs] = _step(np.broadcast_to(q[..., qs], (*lead, 7)), np.broadcast_to(dv[..., vs], (*lead, 6)))
        else:
            result[..., qs] = q[..., qs] + dv[..., vs]
    if out is None:
        return result
    as_output(out, result.shape, "out")[...] = result
    return out


def difference(model: RobotModel, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
    """The velocity that leads from ``q0`` to ``q1`` in one second: integrate(q0, difference(q0, q1)) = q1.

    Continuous joints are not wrapped; see the control package for the short way round.

    Args:
        q0, q1: (..., nq) configurations, rad and m.

    Returns:
        (..., nv).
    """
    q0, q1 = as_input(q0, (model.nq,), "q0"), as_input(q1, (model.nq,), "q1")
    if model.nq == model.nv and not quaternion_starts(model):
        return q1 - q0
    for q in (q0, q1):
        check_quaternions(q, quaternion_starts(model))
    lead = _lead(q0, q1)
    result = np.empty((*lead, model.nv))
    for qs, vs, kind in _blocks(model):
        if kind is JointType.FLOATING:
            result[..., vs] = _twist(np.broadcast_to(q0[..., qs], (*lead, 7)), np.broadcast_to(q1[..., qs], (*lead, 7)))
        else:
            result[..., vs] = q1[..., qs] - q0[..., qs]
    return result


def _lead(a: np.ndarray, b: np.ndarray) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ArgumentError(
            f"the batch dimensions {a.shape[:-1]} and {b.shape[:-1]} do not fit together",
            where="configurations",
            got=(a.shape, b.shape),
            remedy="Leading dimensions follow numpy's broadcasting.",
        ) from None


def _blocks(model: RobotModel) -> list[tuple[slice, slice, JointType]]:
    return [(model.q_slice(n), model.v_slice(n), model.joint(n).type) for n in model.joint_names]


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., 4) Hamilton product of quaternions (x, y, z, w)."""
    u, s = a[..., :3], a[..., 3:]
    w, t = b[..., :3], b[..., 3:]
    return np.concatenate([s * w + t * u + np.cross(u, w), s * t - np.sum(u * w, axis=-1, keepdims=True)], axis=-1)


def rotate(quaternion: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(..., 3) vectors rotated by unit quaternions (x, y, z, w)."""
    u, s = quaternion[..., :3], quaternion[..., 3:]
    t = 2.0 * np.cross(u, x)
    return x + s * t + np.cross(u, t)


def _step(q: np.ndarray, twist: np.ndarray) -> np.ndarray:
    phi, rho = twist[..., :3], twist[..., 3:]
    angle = np.linalg.norm(phi, axis=-1, keepdims=True)
    half = np.sinc(angle / (2.0 * np.pi)) / 2.0  # sin(θ/2) / θ
    step = np.concatenate([half * phi, np.cos(angle / 2.0)], axis=-1)
    # V(φ) ρ = ρ + (1 − cos θ)/θ² φ × ρ + (θ − sin θ)/θ³ φ × (φ × ρ)
    b = 2.0 * half * half
    c = _third(angle)
    shift = rho + b * np.cross(phi, rho) + c * np.cross(phi, np.cross(phi, rho))
    quaternion = quaternion_product(q[..., 3:], step)
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return np.concatenate([q[..., :3] + rotate(q[..., 3:], shift), quaternion], axis=-1)


def _third(angle: np.ndarray) -> np.ndarray:
    """(θ − sin θ)/θ³, by its series where the difference would cancel."""
    small = angle < 0.1
    safe = np.where(small, 1.0, angle)
    x = angle * angle
    series = (1.0 - x / 20.0 * (1.0 - x / 42.0 * (1.0 - x / 72.0 * (1.0 - x / 110.0)))) / 6.0
    return np.where(small, series, (safe - np.sin(safe)) / safe**3)


def _twist(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    inverse = q0[..., 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
    step = quaternion_product(inverse, q1[..., 3:])
    step = np.where(step[..., 3:] < 0.0, -step, step)
    sine = np.linalg.norm(step[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, step[..., 3:])
    small = sine < 1e-9
    phi = step[..., :3] * np.where(small, 2.0, angle / np.where(small, 1.0, sine))
    p = rotate(inverse, q1[..., :3] - q0[..., :3])
    # V⁻¹ p = p − ½ φ × p + (1/θ²)(1 − (θ/2) cot(θ/2)) φ × (φ × p)
    half = angle / 2.0
    x = angle * angle
    near = x / 720.0 * (1.0 + x / 42.0) + 1.0 / 12.0
    tiny = angle < 1e-2
    safe = np.where(tiny, 1.0, half)
    far = (1.0 - safe / np.tan(np.where(tiny, 1.0, safe))) / np.where(tiny, 1.0, x)
    k = np.where(tiny, near, far)
    rho = p - 0.5 * np.cross(phi, p) + k * np.cross(phi, np.cross(phi, p))
    return np.concatenate([phi, rho], axis=-1)
