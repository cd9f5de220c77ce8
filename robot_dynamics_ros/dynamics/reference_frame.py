"""Reference frames: a link, the world, or a frame with a known motion relative to one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

WORLD = "world"
ROTATION_TOLERANCE = 1e-6
"""By which entries of R Rᵀ may differ from those of 1: what six digits in a file leave."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame placed on a link (or in the world), which may move relative to it.

    >>> import robot_dynamics_ros as rd
    >>> sensor = rd.Frame("tool0", pose=(0.0, 0.0, 0.05))
    >>> turntable = rd.Frame("world", velocity=(0, 0, 2.0, 0, 0, 0))

    Attributes:
        link: the link it is placed on, or ``"world"``.
        pose: its placement in the link's frame: a :class:`Pose`, (..., 4, 4) matrices, or an offset
            (3,).
        velocity: (..., 6) [ω; v] of the frame (v of its origin) as seen in the link's frame, in its
            axes.
        acceleration: (..., 6) their derivatives as seen there.

    Velocity and acceleration matter only where the frame is an observer; they are zero if not
    given.
    """

    link: str = WORLD
    pose: Any = None
    velocity: Any = None
    acceleration: Any = None
    rotation: Array = field(init=False, repr=False)
    position: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        offset = real_array_or_nan(self.pose).ndim == 1
        R, p = (
            (np.eye(3), np.zeros(3))
            if self.pose is None
            else placement(self.pose, "frame pose", offset)
        )
        object.__setattr__(self, "rotation", R)
        object.__setattr__(self, "position", p)
        for name in ("velocity", "acceleration"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_input(getattr(self, name), (6,), f"frame {name}"))

    def rows(self) -> Array:
        """(..., 8, 3): rotation, position, ω, v, α, a, as the compiled functions take them."""
        motions = [np.zeros(6) if x is None else x for x in (self.velocity, self.acceleration)]
        parts = (
            self.rotation,
            self.position[..., None, :],
            *(x.reshape(*x.shape[:-1], 2, 3) for x in motions),
        )
        lead = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
        return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in parts], axis=-2)

    @property
    def plain(self) -> bool:
        """Whether it is the link's own frame."""
        return self.pose is None and self.velocity is None and self.acceleration is None


FrameLike = str | Frame | None
PointLike = str | Frame | tuple[str, Sequence[float]] | None


def placement(pose: Any, where: str, offset: bool) -> tuple[Array, Array]:
    """(..., 3, 3) rotations and (..., 3) positions of a :class:`Pose`, of (..., 4, 4) matrices, or,
    with ``offset``, of (..., 3).
    """
    if isinstance(pose, Pose):
        return np.array(pose.rotation), np.array(pose.position)
    array = real_array_or_nan(pose)
    if array.shape[-2:] == (4, 4) and _are_placements(array):
        return array[..., :3, :3], array[..., :3, 3]
    if offset and array.shape[-1:] == (3,) and bool(np.isfinite(array).all()):
        return np.eye(3), array
    raise ArgumentError(
        "expected a Pose, or (..., 4, 4) homogeneous matrices of finite numbers with a rotation "
        "matrix (R Rᵀ = 1, det R = +1); "
        f"got shape {array.shape}",
        where=where,
        got=pose,
        remedy="Pose.from_rpy((x, y, z), (roll, pitch, yaw)) makes one. A frame that is not "
        "rotated can be an offset (3,), a "
        "target with orientation=False (..., 3) positions.",
    )


def _are_placements(array: Array) -> bool:
    """Whether all matrices (..., 4, 4) are of finite numbers and have a rotation, rows of unit
    length at right angles with a positive determinant, and the last row of a placement.

    Written out, for one matrix on Python's own numbers: NumPy takes ten times as long for one.
    """
    single = array.ndim == 2
    if single:
        entries = array.ravel().tolist()
    else:
        entries = np.moveaxis(array.reshape(-1, 16), -1, 0)
    a, b, c, x, d, e, f, y, g, h, i, z, *last = entries
    good = (last[0] == 0.0) & (last[1] == 0.0) & (last[2] == 0.0) & (last[3] == 1.0)
    good = good & (abs(x) < math.inf) & (abs(y) < math.inf) & (abs(z) < math.inf)
    # NaN is at no distance, so it is refused here, too
    good = good & (abs(a * a + b * b + c * c - 1.0) <= ROTATION_TOLERANCE)
    good = good & (abs(d * d + e * e + f * f - 1.0) <= ROTATION_TOLERANCE)
    good = good & (abs(g * g + h * h + i * i - 1.0) <= ROTATION_TOLERANCE)
    good = good & (abs(a * d + b * e + c * f) <= ROTATION_TOLERANCE)
    good = good & (abs(a * g + b * h + c * i) <= ROTATION_TOLERANCE)
    good = good & (abs(d * g + e * h + f * i) <= ROTATION_TOLERANCE)
    good = good & (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) > 0.0)
    return bool(good if single else good.all())


def link_number(
    model: RobotModel,
    name: object,
    where: str,
    words: Sequence[str] = (),
) -> int:
    """Row of a link, −1 for the world; a link that is called "world" goes first."""
    if isinstance(name, str):
        if name in model.link_names:
            return model.link_index(name)
        if name == WORLD:
            return -1
    raise UnknownNameError("frame", name, (*words, WORLD, *model.link_names), where=where)


def frame_of(
    model: RobotModel,
    frame: FrameLike,
    where: str,
    words: Sequence[str] = (),
) -> tuple[int, Frame | None]:
    """The link a frame is placed on (−1: the world), and the frame where it is not the link's
    own.
    """
    if isinstance(frame, Frame):
        return link_number(model, frame.link, where), None if frame.plain else frame
    remedy = (
        "For example 'tool0' or Frame('tool0', pose=(0, 0, 0.05)); for a point also a pair "
        "(link, offset), as ('tool0', (0, 0, 0.1))."
    )
    expect(isinstance(frame, str), "the name of a link, 'world' or a Frame", frame, where, remedy)
    return link_number(model, frame, where, words), None


def axes_of(
    model: RobotModel,
    frame: FrameLike,
    where: str,
    words: Sequence[str] = (),
) -> tuple[Options, tuple[Array, ...]]:
    """Options and inputs of a compiled function for axes; ``words``: its own names for such."""
    if isinstance(frame, str) and frame in words and frame not in model.link_names:
        return (("axes", frame),), ()
    link, placed = frame_of(model, frame, where, words)
    if placed is None:
        return ((("axes", link),), ())
    return ((("axes", link), ("own_axes", True)), (placed.rotation,))


def observer_of(
    model: RobotModel,
    frame: FrameLike,
    where: str,
) -> tuple[Options, tuple[Array, ...]]:
    """The same for an observer."""
    link, own = frame_of(model, frame, where)
    if own is None:
        return ((("observer", link),), ())
    return ((("observer", link), ("own_observer", True)), (own.rows(),))


def point_of(
    model: RobotModel,
    point: PointLike,
    where: str,
    words: Sequence[str] = (),
) -> tuple[int, Array | None]:
    """The link a point is fixed to (−1: the world), and its (..., 3) place in that frame if not the
    origin.
    """
    if isinstance(point, tuple) and len(point) == 2 and isinstance(point[0], str):
        return link_number(model, point[0], where, words), as_input(point[1], (3,), where)
    number, frame = frame_of(model, point, where, words)
    return number, None if frame is None else frame.position
