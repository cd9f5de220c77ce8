"""Motion of a point of a link as a moving observer sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from robot_dynamics_ros.dynamics.algorithms.frames import FrameChoice, Placement
from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Mat3, Vec3


class Seen(NamedTuple):
    """A frame B at a point P, as seen from a frame A; vectors in A's axes, derivatives as seen in A."""

    position: Vec3
    rotation: Mat3
    velocity: Vec3
    acceleration: Vec3
    angular_velocity: Vec3
    angular_acceleration: Vec3


def seen_from(A: Placement, B: Placement, r: Vec3) -> Seen:
    """B and the point ``r`` of B (its coordinates), seen from A.

    An observer who rotates with ω and α sees ṙ = v − v_A − ω × d and r̈ = a − a_A − α × d − ω × (ω × d) − 2 ω × ṙ.
    """
    p, v, a = B.point(r)
    d = p - A.p
    dot = v - A.v - A.omega.cross(d)
    ddot = a - A.a - A.alpha.cross(d) - A.omega.cross(A.omega.cross(d)) - A.omega.cross(dot) * 2.0
    omega = B.omega - A.omega
    alpha = B.alpha - A.alpha - A.omega.cross(omega)
    R = A.R
    return Seen(R.tmul(d), R.T.matmul(B.R), *(R.tmul(x) for x in (dot, ddot, omega, alpha)))


@function(
    "point_motion",
    "q v a point base observer axes",
    {
        "position": (3,),
        "rotation": (3, 3),
        "velocity": (3,),
        "acceleration": (3,),
        "angular_velocity": (3,),
        "angular_acceleration": (3,),
        "turn": (3, 3),
    },
)
def _point_motion(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    point: Sequence[S],
    observer: Sequence[S],
    axes: Sequence[S],
    *,
    options: Options,
) -> tuple[Vec3 | Mat3, ...]:
    frames = FrameChoice(tree, options, q, v, a)
    A = frames.observer(observer)
    seen = seen_from(A, frames.link(options["link"]), Vec3.of(point))
    rotation = Mat3.identity() if options["axes"] == "observer" else frames.axes(options["axes"], axes).T.matmul(A.R)
    position, *rates = (rotation.mul(x) for x in (seen.position, *seen[2:]))
    return position, seen.rotation, *rates, rotation
