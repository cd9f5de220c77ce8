"""Operations on the configuration space: neutral, random, integrate, difference, clamp.

For most joints these are plain arithmetic.  A floating joint's configuration is a placement, its
velocity a body twist [ω; v]; a motion with a constant twist for unit time is the exponential of
SE(3), and ``difference`` is its inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import (
    as_input,
    as_output,
    check_quaternions,
    common_batch,
)
from robot_dynamics_ros.dynamics.engine.codegen.declared import Vector
from robot_dynamics_ros.dynamics.engine.evaluate import quaternion_starts
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, generator
from robot_dynamics_ros.spatial import cos, maximum, minimum, sin, sqrt

__all__ = ["neutral", "random_configuration", "integrate", "difference", "clamp_to_limits"]


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
    """(*size, nq) random configurations, uniform within the position limits; quaternions are
    uniform over rotations.

    Args:
        seed: seed or generator, for repeatable draws.
        size: leading dimensions of the result.
        reach: where a joint has no limits, draw from ±``reach`` rad or m.
    """
    rng = generator(seed)
    lead = (size,) if isinstance(size, int) else tuple(size)
    whole = all(isinstance(n, (int, np.integer)) and n >= 0 for n in lead)
    expect(whole, "whole numbers of at least 0", size, "size", "Give the leading dimensions.")
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


def integrate(
    model: RobotModel,
    q: ArrayLike,
    dv: ArrayLike,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """q ⊕ dv: the configuration after one second at constant velocity ``dv``.

    Args:
        q: (..., nq).
        dv: (..., nv), usually v · Δt.

    Returns:
        (..., nq), quaternions of unit length.
    """
    q = as_input(q, (model.nq,), "q")
    dv = as_input(dv, (model.nv,), "dv")
    starts = quaternion_starts(model)
    if starts:
        check_quaternions(q, starts)
    if model.nq == model.nv and not starts:
        if out is None:
            return q + dv
        return np.add(q, dv, out=as_output(out, np.broadcast_shapes(q.shape, dv.shape), "out"))
    lead = common_batch({"q": q.shape[:-1], "dv": dv.shape[:-1]}, "integrate")
    result = np.empty((*lead, model.nq))
    for qs, vs, kind in _blocks(model):
        if kind is JointType.FLOATING and lead:
            # a batch: each number of the routine is an array
            moved = _columns(result)
            move_free_joint(_columns(q), _columns(dv), 1.0, moved, qs.start, vs.start)
        elif kind is JointType.FLOATING:
            # Python's own numbers: several times as fast as NumPy's
            one = [0.0] * 7
            move_free_joint(q[qs].tolist(), dv[vs].tolist(), 1.0, one, 0, 0)
            result[qs] = one
        else:
            result[..., qs] = q[..., qs] + dv[..., vs]
    if out is None:
        return result
    as_output(out, result.shape, "out")[...] = result
    return out


def difference(model: RobotModel, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
    """The velocity that leads from ``q0`` to ``q1`` in one second: integrate(q0, difference(q0,
    q1)) = q1.

    Continuous joints are not wrapped; see the control package for the short way round.

    Args:
        q0, q1: (..., nq) configurations, rad and m.

    Returns:
        (..., nv).
    """
    q0 = as_input(q0, (model.nq,), "q0")
    q1 = as_input(q1, (model.nq,), "q1")
    if model.nq == model.nv and not quaternion_starts(model):
        return q1 - q0
    for q in (q0, q1):
        check_quaternions(q, quaternion_starts(model))
    lead = common_batch({"q0": q0.shape[:-1], "q1": q1.shape[:-1]}, "difference")
    result = np.empty((*lead, model.nv))
    for qs, vs, kind in _blocks(model):
        if kind is JointType.FLOATING:
            result[..., vs] = _twist(
                np.broadcast_to(q0[..., qs], (*lead, 7)), np.broadcast_to(q1[..., qs], (*lead, 7))
            )
        else:
            result[..., vs] = q1[..., qs] - q0[..., qs]
    return result


@once_per_model
def _blocks(model: RobotModel) -> list[tuple[slice, slice, JointType]]:
    """Where each joint's coordinates are in q and in v, and its type."""
    return [(model.q_slice(n), model.v_slice(n), model.joint(n).type) for n in model.joint_names]


def _columns(rows: np.ndarray) -> Any:
    """(n, ...) of (..., n), as what a routine takes for a vector."""
    return np.moveaxis(rows, -1, 0)


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., 4) Hamilton product of quaternions (x, y, z, w)."""
    u = a[..., :3]
    s = a[..., 3:]
    w = b[..., :3]
    t = b[..., 3:]
    return np.concatenate(
        [s * w + t * u + np.cross(u, w), s * t - np.sum(u * w, axis=-1, keepdims=True)], axis=-1
    )


def rotate(quaternion: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(..., 3) vectors rotated by unit quaternions (x, y, z, w)."""
    u = quaternion[..., :3]
    s = quaternion[..., 3:]
    t = 2.0 * np.cross(u, x)
    return x + s * t + np.cross(u, t)


def move_free_joint(q: Vector, v: Vector, h: float, out: Vector, k: int, i: int) -> None:
    """q ⊕ h v of a free joint, whose q begins at ``k`` and whose v at ``i``: the exponential of a
    rigid motion.

    A routine without branches: its numbers may be arrays.
    """
    a = h * v[i]
    b = h * v[i + 1]
    c = h * v[i + 2]
    x = h * v[i + 3]
    y = h * v[i + 4]
    z = h * v[i + 5]
    square = a * a + b * b + c * c
    # half = sin(θ/2)/θ and third = (θ − sin θ)/θ³, by their series below 0.1 rad, where differences
    # would cancel
    s = minimum(square, 0.01)
    half = 0.5 - s * (1.0 - s * (1.0 - s / 168.0) / 80.0) / 48.0
    third = (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0)))) / 6.0
    angle = sqrt(maximum(square, 0.01))
    # 0 up to 0.1 rad, 1 beyond: it chooses without a branch
    beyond = minimum(maximum((square - 0.01) * 1e300, 0.0), 1.0)
    half = half + beyond * (sin(0.5 * angle) / angle - half)
    third = third + beyond * ((angle - sin(angle)) / (angle * angle * angle) - third)
    w = cos(0.5 * sqrt(square))
    # shift = ρ + (1 − cos θ)/θ² φ × ρ + (θ − sin θ)/θ³ φ × (φ × ρ)
    first = 2.0 * half * half
    lx = b * z - c * y
    ly = c * x - a * z
    lz = a * y - b * x
    sx = x + first * lx + third * (b * lz - c * ly)
    sy = y + first * ly + third * (c * lx - a * lz)
    sz = z + first * lz + third * (a * ly - b * lx)
    qx = q[k + 3]
    qy = q[k + 4]
    qz = q[k + 5]
    qw = q[k + 6]
    # rotated by the quaternion: s + 2 w (u × s) + 2 u × (u × s)
    rx = 2.0 * (qy * sz - qz * sy)
    ry = 2.0 * (qz * sx - qx * sz)
    rz = 2.0 * (qx * sy - qy * sx)
    out[k] = q[k] + sx + qw * rx + qy * rz - qz * ry
    out[k + 1] = q[k + 1] + sy + qw * ry + qz * rx - qx * rz
    out[k + 2] = q[k + 2] + sz + qw * rz + qx * ry - qy * rx
    a = half * a
    b = half * b
    c = half * c
    nx = qx * w + qw * a + qy * c - qz * b
    ny = qy * w + qw * b + qz * a - qx * c
    nz = qz * w + qw * c + qx * b - qy * a
    nw = qw * w - qx * a - qy * b - qz * c
    scale = 1.0 / sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    out[k + 3] = nx * scale
    out[k + 4] = ny * scale
    out[k + 5] = nz * scale
    out[k + 6] = nw * scale


def _twist(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """(..., 6) [φ; ρ] that leads a free joint from ``q0`` to ``q1``, (..., 7): the logarithm of
    SE(3).
    """
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
