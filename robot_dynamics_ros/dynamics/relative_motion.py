"""Motion of any point of any link, relative to any moving frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.call import MovingBase, call, options_of
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.dynamics.kinematics import quaternion_of, rpy_of
from robot_dynamics_ros.dynamics.reference_frame import WORLD, Frame, FrameLike, axes_of, frame_of, observer_of
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["motion", "MotionOptions", "PointMotion"]


@dataclass(frozen=True, eq=False)
class PointMotion:
    """Position, orientation and motion of a point of a link, as seen from a frame.

    Derivatives are those that an observer riding on the frame measures.  Vectors are in the axes asked for.

    Attributes:
        position: (..., 3) from the frame's origin to the point, m.
        displacement: (..., 3) position less that in the reference configuration, m.
        rotation: (..., 3, 3) from the link's axes to the frame's.
        velocity, acceleration: (..., 3) of the point, m/s and m/s².
        angular_velocity, angular_acceleration: (..., 3) of the link, rad/s and rad/s².
    """

    position: Array
    displacement: Array
    rotation: Array
    velocity: Array
    acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array

    @property
    def quaternion(self) -> Array:
        """(..., 4) x, y, z, w of ``rotation``, w ≥ 0."""
        return quaternion_of(self.rotation)

    @property
    def rpy(self) -> Array:
        """(..., 3) roll, pitch, yaw as in URDF: ``rotation`` = Rz(yaw) Ry(pitch) Rx(roll)."""
        return rpy_of(self.rotation)

    @property
    def tait_bryan(self) -> Array:
        """(..., 3) angles φ about x, then y, then z of the rotated axes: ``rotation`` = Rx(φ₁) Ry(φ₂) Rz(φ₃)."""
        R = self.rotation
        middle = np.arctan2(R[..., 0, 2], np.hypot(R[..., 0, 0], R[..., 0, 1]))
        return np.stack(
            [np.arctan2(-R[..., 1, 2], R[..., 2, 2]), middle, np.arctan2(-R[..., 0, 1], R[..., 0, 0])], axis=-1
        )

    @property
    def twist(self) -> Array:
        """(..., 6) [angular velocity; velocity of the point]."""
        return np.concatenate([self.angular_velocity, self.velocity], axis=-1)


@dataclass(frozen=True)
class MotionOptions:
    """Options of :func:`motion`.

    Attributes:
        offset_velocity, offset_acceleration: (..., 3) derivatives of ``offset``, of a point that moves within the link (a
            carriage, a contact point): ᴬv = ᴬv_P + ᴬR ᴮv_Q, ᴬa = ᴬa_P + ᴬR ᴮa_Q + 2 ω × ᴬR ᴮv_Q (Craig, section 5.3).
        reference: (nq,) configuration that displacements count from; the zero configuration if not given.
    """

    offset_velocity: ArrayLike = (0.0, 0.0, 0.0)
    offset_acceleration: ArrayLike = (0.0, 0.0, 0.0)
    reference: ArrayLike | None = None


def motion(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    point_on: FrameLike,
    offset: ArrayLike = (0.0, 0.0, 0.0),
    relative_to: FrameLike = WORLD,
    expressed_in: FrameLike | None = None,
    base: MovingBase | None = None,
    **options: object,
) -> PointMotion:
    """Position, orientation, velocities and accelerations of a point of a link, relative to a moving frame.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> limb = rd.limb(2, lengths=1.0)
    >>> seen = rd.motion(limb, np.zeros(2), [1.0, 2.0], point_on="tip", relative_to="segment1")
    >>> seen.velocity.tolist()  # only the second joint moves it there
    [-2.0, 0.0, 0.0]

    Args:
        v, a: (..., nv) velocities and accelerations; zero if not given.
        point_on: the link, ``"world"``, or a :class:`Frame`, which may move relative to its link.
        offset: (..., 3) the point in that frame; its origin if not given.
        relative_to: what it is seen from: a link, ``"world"``, or a :class:`Frame`, which may itself move.
        expressed_in: whose axes the vectors are in: those of ``relative_to`` if not given; a link, ``"world"`` or a
            :class:`Frame`, of which only the orientation matters.
        options: fields of :class:`MotionOptions`, by name: ``offset_velocity``, ``offset_acceleration``, ``reference``.

    Raises:
        UnknownNameError: no such link, frame or option.
        ArgumentError: wrong shapes.
    """
    on, carried = frame_of(model, point_on, "point_on")
    number = model.link_index(point_on) if isinstance(point_on, str) and point_on != WORLD else on
    o = options_of(MotionOptions, options, "motion")
    own_point = _PointOnLink(carried, offset, o.offset_velocity, o.offset_acceleration)
    seen_from, rows = observer_of(model, relative_to, "relative_to")
    links: Options = (("link", number), *seen_from)
    own_axes: Options = (("axes", "observer"),)
    chosen, axes = (own_axes, ()) if expressed_in is None else axes_of(model, expressed_in, "expressed_in")
    r = own_point.position
    zero = np.zeros(model.nv)
    v, a = (zero if x is None else x for x in (v, a))
    settings, more = (*links, *chosen), (*rows, *axes)
    p, R, dp, ddp, w, dw, rotation = call(model, "point_motion", (q, v, a, r), None, None, base, settings, more)
    start = model.neutral() if o.reference is None else as_input(o.reference, (model.nq,), "reference")
    before = call(model, "point_motion", (start, zero, zero, r), options=(*links, *own_axes), more=rows)[0]
    displacement = p - np.einsum("...ij,...j->...i", rotation, before)
    return own_point.added(PointMotion(p, displacement, R, dp, ddp, w, dw), rotation)


class _PointOnLink:
    """A point, and the frame that goes with it, as they move within a link."""

    def __init__(self, frame: Frame | None, offset: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike) -> None:
        r, dr, ddr = (
            as_input(x, (3,), word)
            for x, word in ((offset, "offset"), (velocity, "offset_velocity"), (acceleration, "offset_acceleration"))
        )
        self.rotation: Array | None = None
        self.omega = self.alpha = np.zeros(3)
        if frame is not None:
            rows = frame.rows()
            self.rotation = rows[..., :3, :]
            place, self.omega, linear, self.alpha, a = (rows[..., k, :] for k in range(3, 8))
            d, u, b = (np.einsum("...ij,...j->...i", self.rotation, x) for x in (r, dr, ddr))
            turning = np.cross(self.omega, d)
            r, dr = place + d, linear + turning + u
            ddr = a + np.cross(self.alpha, d) + np.cross(self.omega, turning) + 2.0 * np.cross(self.omega, u) + b
        self.position, self.velocity, self.acceleration = r, dr, ddr

    def added(self, seen: PointMotion, rotation: Array) -> PointMotion:
        """``seen``, of a point and axes fixed to the link, with their own motion; ``rotation``: observer's axes to the result's."""
        own = (self.velocity, self.acceleration, self.omega, self.alpha)
        if self.rotation is None and not any(x.any() for x in own):
            return seen
        to_result = rotation @ seen.rotation
        u, b, w, dw = (np.einsum("...ij,...j->...i", to_result, x) for x in own)
        return PointMotion(
            seen.position,
            seen.displacement,
            seen.rotation if self.rotation is None else seen.rotation @ self.rotation,
            seen.velocity + u,
            seen.acceleration + b + 2.0 * np.cross(seen.angular_velocity, u),
            seen.angular_velocity + w,
            seen.angular_acceleration + dw + np.cross(seen.angular_velocity, w),
        )
