"""Centre of mass and momentum of the robot and of its parts; inertia of a link about any point in
any axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.call import MovingBase, call
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.dynamics.reference_frame import FrameLike, PointLike
from robot_dynamics_ros.dynamics.wrenches import axes_and_point
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = [
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_motion",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "inertia_about",
    "euler_matrix",
    "subtree_state",
    "SubtreeState",
]

_center_of_mass = Public("center_of_mass")
_center_of_mass_motion = Public("center_of_mass_motion")
_centroidal_momentum_matrix = Public("centroidal_momentum_matrix")


def center_of_mass(model: RobotModel, q: ArrayLike) -> np.ndarray:
    """(..., 3) centre of mass of the whole robot, the root link included, in the world frame, m."""
    run = _center_of_mass.run
    return run(model, q)


def center_of_mass_motion(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the centre of mass in the world frame, three (..., 3)
    arrays.
    """
    run = _center_of_mass_motion.run
    return run(model, q, v, a)


def center_of_mass_jacobian(model: RobotModel, q: ArrayLike) -> np.ndarray:
    """(..., 3, nv) J with J v = velocity of the centre of mass in the world frame."""
    return centroidal_momentum_matrix(model, q)[..., 3:, :] / model.total_mass


def centroidal_momentum_matrix(
    model: RobotModel,
    q: ArrayLike,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., 6, nv) A(q): A v = [angular momentum about the mass centre; linear], world axes (Orin
    and others 2013).
    """
    run = _centroidal_momentum_matrix.run
    return run(model, q, out)


def centroidal_momentum(model: RobotModel, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """(..., 6) [angular momentum about the centre of mass; linear momentum] in world axes, N m s
    and N s.
    """
    return np.einsum(
        "...ij,...j->...i", centroidal_momentum_matrix(model, q), as_input(v, (model.nv,), "v")
    )


def euler_matrix(inertia: ArrayLike) -> np.ndarray:
    """(..., 3, 3) Euler matrix of a body, ∫ r rᵀ dm = ½ tr(I) 1 − I, kg m², about the same point
    and in the same axes as its inertia.

    With S(ω) r = ω × r, the energy of rotation ½ ωᵀ I ω is ½ tr(S E Sᵀ).  A body with this inertia
    can exist if E has no negative eigenvalue.

    Args:
        inertia: (..., 3, 3) rotational inertia, kg m², as :func:`inertia_about` gives it.

    Raises:
        ArgumentError: another shape, not finite.

    >>> import robot_dynamics_ros as rd
    >>> rd.euler_matrix([[2, 0, 0], [0, 2, 0], [0, 0, 1]]).diagonal().tolist()
    [0.5, 0.5, 1.5]

    Source: König's theorem.
    """
    moments = as_input(inertia, (3, 3), "inertia")
    half_trace = 0.5 * np.trace(moments, axis1=-2, axis2=-1)
    return np.asarray(half_trace[..., None, None] * np.eye(3) - moments)


def inertia_about(
    model: RobotModel,
    q: ArrayLike,
    link: str,
    *,
    point: PointLike = "com",
    frame: FrameLike | None = None,
) -> np.ndarray:
    """(..., 3, 3) rotational inertia of one link about any point, in any axes, kg m²: R (I_C + m
    (rᵀr 1 − r rᵀ)) Rᵀ.

    Args:
        point: ``"com"``, the link's centre of mass; a link (its origin), ``"world"``, a pair (link,
            offset) or a :class:`Frame`.
        frame: whose axes: the link's own if not given, another link's, ``"world"``, or a
            :class:`Frame`.

    Raises:
        UnknownNameError: no such link or frame.
    """
    axes = link if frame is None else frame
    where = ("frame", "point")
    options, more = axes_and_point(model, axes, point, (), own="com", where=where)
    options = (("link", model.link_index(link)), *options)
    return call(model, "link_inertia", (q,), options=options, more=more)


@dataclass(frozen=True, eq=False)
class SubtreeState:
    """A link and everything beyond it, as one: world axes, seen from the world.

    Attributes:
        mass: kg.
        com, com_velocity, com_acceleration: (..., 3) of the centre of mass, m, m/s, m/s².
        inertia: (..., 3, 3) composite rotational inertia about the centre of mass, kg m².
        linear_momentum: (..., 3) N s.
        angular_momentum: (..., 3) about the centre of mass, N m s.
    """

    mass: float
    com: Array
    com_velocity: Array
    com_acceleration: Array
    inertia: Array
    linear_momentum: Array
    angular_momentum: Array

    def inertia_about(self, point: ArrayLike) -> Array:
        """(..., 3, 3) composite inertia about a point (..., 3) of the world."""
        r = self.com - np.asarray(point, dtype=np.float64)
        square = (
            np.einsum("...i,...i->...", r, r)[..., None, None] * np.eye(3)
            - r[..., :, None] * r[..., None, :]
        )
        return self.inertia + self.mass * square

    def angular_momentum_about(self, point: ArrayLike) -> Array:
        """(..., 3) angular momentum about a fixed point (..., 3) of the world."""
        return self.angular_momentum + np.cross(
            self.com - np.asarray(point, dtype=np.float64), self.linear_momentum
        )


def subtree_state(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    link: str | None = None,
    base: MovingBase | None = None,
) -> SubtreeState:
    """Composite mass, centre of mass, inertia and momentum of a link and everything beyond it.

    Args:
        v, a: (..., nv); zero if not given.
        link: the root link, that is the whole robot, if not given.

    Raises:
        UnknownNameError: no such link.
        ModelError: the subtree has no mass.
    """
    name = model.root_link if link is None else link
    number = model.link_index(name)
    mass = float(
        sum(model.link(model.link_names[k]).inertia.mass for k in link_tree(model).subtree(number))
    )
    if mass <= 0.0:
        raise ModelError(
            "neither it nor anything beyond it has mass, so there is no centre of mass",
            where=f"link {name!r}",
            remedy="Choose a link nearer to the root.",
        )
    zero = np.zeros(model.nv)
    state = (q, zero if v is None else v, zero if a is None else a)
    values = call(model, "subtree_state", state, base=base, options=(("link", number),))
    return SubtreeState(mass, *values)
