"""Motion of any point of any link, relative to any moving frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.call import MovingBase, call, options_of
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.dynamics.kinematics import quaternion_of, rpy_of
from robot_dynamics_ros.dynamics.reference_frame import (
    WORLD,
    Frame,
    FrameLike,
    axes_of,
    frame_of,
    observer_of,
)
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["motion", "MotionOptions", "PointMotion"]


@dataclass(frozen=True, eq=False)
class PointMotion:
    """Position, orientation and motion of a point of a link, as seen from a frame.

    Derivatives are those that an observer riding on the frame measures.  Vectors are in the axes
    asked for.

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
        """(..., 3) angles φ about x, then y, then z of the rotated axes: ``rotation`` = Rx(φ₁)
        Ry(φ₂) Rz(φ₃).
        """
        R = self.rotation
        middle = np.arctan2(R[..., 0, 2], np.hypot(R[..., 0, 0], R[..., 0, 1]))
        return np.stack(
            [
                np.arctan2(-R[..., 1, 2], R[..., 2, 2]),
                middle,
                np.arctan2(-R[..., 0, 1], R[..., 0, 0]),
            ],
            axis=-1,
        )

    @property
    def twist(self) -> Array:
        """(..., 6) [angular velocity; velocity of the point]."""
        return np.concatenate([self.angular_velocity, self.velocity], axis=-1)


@dataclass(frozen=True)
class MotionOptions:
    """Options of :func:`motion`.

    Attributes:
        offset_velocity, offset_acceleration: (..., 3) derivatives of ``offset``, of a point that
            moves within the link (a carriage, a contact point): ᴬv = ᴬv_P + ᴬR ᴮv_Q, ᴬa = ᴬa_P + ᴬR
            ᴮa_Q + 2 ω × ᴬR ᴮv_Q (Craig, section 5.3).
        reference: (nq,) configuration that displacements count from; the zero configuration if not
            given.
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
    """Position, orientation, velocities and accelerations of a point of a link, relative to a
    moving frame.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> limb = rd.limb(2, lengths=1.0)
    >>> seen = rd.motion(limb, np.zeros(2), [1.0, 2.0], point_on="tip", relative_to="segment1")
    >>> seen.velocity.tolist()  # only the second joint moves it there
    [-2.0, 0.0, 0.0]

    Args:
        v, a: (..., nv) velocities and accelerations; zero if not given.
        point_on: the link, ``"world"``, or a :class:`Frame`, which may move relative to its link.
        offset: (..., 3) the point in that frame; its origin if not given.
        relative_to: what it is seen from: a link, ``"world"``, or a :class:`Frame`, which may
            itself move.
        expressed_in: whose axes the vectors are in: those of ``relative_to`` if not given; a link,
            ``"world"`` or a :class:`Frame`, of which only the orientation matters.
        options: fields of :class:`MotionOptions`, by name: ``offset_velocity``,
            ``offset_acceleration``, ``reference``.

    Raises:
        UnknownNameError: no such link, frame or option.
        ArgumentError: wrong shapes.
    """
    number, frame = frame_of(model, point_on, "point_on")
    o = options_of(MotionOptions, options, "motion")
    place = as_input(offset, (3,), "offset")
    rates = [
        as_input(getattr(o, name), (3,), name)
        for name in ("offset_velocity", "offset_acceleration")
    ]
    seen_from, more = observer_of(model, relative_to, "relative_to")
    links: Options = (("link", number), *seen_from)
    if frame is not None or any(x.any() for x in rates):
        rows = (Frame() if frame is None else frame).rows(), *(x[..., None, :] for x in rates)
        lead = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
        carried = np.concatenate(
            [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in rows], axis=-2
        )
        links = (*links, ("own_frame", True))
        more = (carried, *more)
    own_axes: Options = (("axes", "observer"),)
    chosen, axes = (
        (own_axes, ()) if expressed_in is None else axes_of(model, expressed_in, "expressed_in")
    )
    zero = np.zeros(model.nv)
    v, a = (zero if x is None else x for x in (v, a))
    state = (q, v, a, place)
    settings = (*links, *chosen)
    p, R, dp, ddp, w, dw, rotation = call(
        model, "point_motion", state, None, None, base, settings, (*more, *axes)
    )
    if o.reference is None:
        start = model.neutral()
    else:
        start = as_input(o.reference, (model.nq,), "reference")
    before = call(
        model, "point_motion", (start, zero, zero, place), options=(*links, *own_axes), more=more
    )[0]
    displacement = p - np.einsum("...ij,...j->...i", rotation, before)
    return PointMotion(p, displacement, R, dp, ddp, w, dw)
