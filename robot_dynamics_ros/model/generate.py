"""Robots made from a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.arrays import real_array
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import (
    Array,
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Pose,
    RobotDescription,
    frozen_array,
)
from robot_dynamics_ros.model.robot_model import DEFAULT_GRAVITY, RobotModel


def limb(
    n_segments: int,
    *,
    lengths: float | Sequence[float] = 0.3,
    masses: float | Sequence[float] = 1.0,
    inertia: str = "rod",
    radius: float = 0.03,
    damping: float | Sequence[float] = 0.0,
    friction: float | Sequence[float] = 0.0,
    gravity: Sequence[float] = DEFAULT_GRAVITY,
    plane: str = "horizontal",
) -> RobotModel:
    """A planar limb of ``n_segments`` hinged segments.

    Each segment lies along +y of its own frame, which sits at the segment's joint; all joints turn
    about +z, are unlimited and zero when the limb is straight; the mass centre is at half length.
    Joints are ``joint1`` …, links ``base``, ``segment1`` … and the massless ``tip`` at the far end.

    Args:
        n_segments: number of segments, at least 1.
        lengths: segment lengths, m; one number for all, or one each.
        masses: segment masses, kg; likewise.
        inertia: ``"rod"`` for solid cylinders of ``radius``, ``"point"`` for point masses.
        radius: of the rods, m.
        damping, friction: viscous (N m s/rad) and Coulomb (N m) friction of the joints; one number
            or one each.
        gravity: (3,) m/s² in the world.
        plane: ``"horizontal"``: the joints' axes are vertical, so that gravity moves nothing;
            ``"vertical"``: the limb stands upright from its base (+y of the base is up), and
            gravity acts in the plane of motion.

    Raises:
        ArgumentError: a number is missing, not finite, or not positive where it has to be.

    >>> import robot_dynamics_ros as rd
    >>> rd.limb(3, masses=[0.7, 0.5, 0.3], lengths=[0.8, 0.6, 0.4]).joint_names
    ('joint1', 'joint2', 'joint3')
    """
    if plane not in ("horizontal", "vertical"):
        raise ArgumentError(f"expected 'horizontal' or 'vertical', got {plane!r}", where="plane")
    n = _count(n_segments, "n_segments")
    length = _per_segment(lengths, n, "lengths")
    m = _per_segment(masses, n, "masses")
    d = _per_segment(damping, n, "damping", zero=True)
    f = _per_segment(friction, n, "friction", zero=True)
    if inertia not in ("rod", "point"):
        raise ArgumentError(f"expected 'rod' or 'point', got {inertia!r}", where="inertia")
    if inertia == "rod":
        r = float(_per_segment(radius, 1, "radius")[0])
    else:
        r = 0.0
    links = [Link("base")]
    joints = []
    z = frozen_array((0.0, 0.0, 1.0), (3,))
    for i in range(n):
        across = m[i] * (3.0 * r * r + length[i] ** 2) / 12.0
        if inertia == "rod":
            moments = (across, m[i] * r * r / 2.0, across)
        else:
            moments = (0.0, 0.0, 0.0)
        links.append(
            Link(
                f"segment{i + 1}",
                Inertia(m[i], np.array([0.0, length[i] / 2.0, 0.0]), np.diag(moments)),
            )
        )
        place = links[i].name, links[i + 1].name, _ahead(length[i - 1] if i else 0.0), z
        joints.append(
            Joint(
                f"joint{i + 1}",
                JointType.CONTINUOUS,
                *place,
                damping=float(d[i]),
                friction=float(f[i]),
            )
        )
    links.append(Link("tip"))
    joints.append(Joint("tip_joint", JointType.FIXED, links[-2].name, "tip", _ahead(length[-1])))
    if plane == "vertical":
        base = Pose.from_rpy((0.0, 0.0, 0.0), (math.pi / 2.0, 0.0, 0.0))
    else:
        base = None
    description = RobotDescription(f"limb_{n}", tuple(links), tuple(joints))
    return RobotModel.from_description(description, gravity=gravity, base=base)


def chain(
    n_joints: int,
    *,
    length: float = 0.2,
    mass: float = 1.0,
    prismatic_every: int = 0,
    seed: int = 0,
    gravity: Sequence[float] = DEFAULT_GRAVITY,
) -> RobotModel:
    """A spatial chain of ``n_joints`` links with turned frames, oblique axes and full inertias.

    The same arguments give the same robot, on every machine.  Meant for benchmarks: no term of the
    equations of motion vanishes by symmetry.

    Args:
        n_joints: number of moving joints, at least 1.
        length: distance between neighbouring joints, m.
        mass: mass of each link, kg.
        prismatic_every: make every so-manieth joint prismatic; 0 for none.
        seed: of the random numbers.
        gravity: (3,) m/s².

    Raises:
        ArgumentError: a number is not finite, or not positive where it has to be.
    """
    n = _count(n_joints, "n_joints")
    step = float(_per_segment(length, 1, "length")[0])
    m = float(_per_segment(mass, 1, "mass")[0])
    rng = np.random.default_rng(seed)
    links = [Link("base")]
    joints = []
    for i in range(n):
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        turn = rng.uniform(-math.pi, math.pi, 3)
        # a cuboid, turned in its link
        sides = step * rng.uniform(0.2, 1.0, 3)
        moments = m / 12.0 * (sides @ sides - sides**2)
        R = Pose.from_rpy(rpy=rng.uniform(-math.pi, math.pi, 3).tolist()).rotation
        com = step * rng.uniform(-0.5, 0.5, 3)
        links.append(Link(f"link{i + 1}", Inertia(m, com, R @ np.diag(moments) @ R.T)))
        sliding = prismatic_every > 0 and (i + 1) % prismatic_every == 0
        direction = rng.standard_normal(3)
        direction *= step / np.linalg.norm(direction)
        origin = Pose.from_rpy(direction.tolist() if i else (0.0, 0.0, 0.0), turn.tolist())
        kind, reach = (
            (JointType.PRISMATIC, 0.5 * step) if sliding else (JointType.REVOLUTE, math.pi)
        )
        limits = JointLimits(-reach, reach)
        joints.append(
            Joint(f"joint{i + 1}", kind, links[i].name, links[i + 1].name, origin, axis, limits)
        )
    return RobotModel.from_description(
        RobotDescription(f"chain_{n}", tuple(links), tuple(joints)), gravity=gravity
    )


def _ahead(y: float) -> Pose:
    return Pose(position=frozen_array((0.0, y, 0.0), (3,)))


def _count(value: int, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ArgumentError(f"expected a whole number of at least 1, got {value!r}", where=where)
    return int(value)


def _per_segment(
    values: float | Sequence[float],
    n: int,
    where: str,
    *,
    zero: bool = False,
) -> Array:
    """(n,) finite positive numbers (or zero, if allowed) from one number or ``n``."""
    try:
        array = real_array(values)
    except TypeError:
        array = np.empty((0, 0))
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ArgumentError(f"expected one number or {n} of them, got {values!r}", where=where)
    bad = ~np.isfinite(array) | (array < 0.0 if zero else array <= 0.0)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        if zero:
            kind = "finite and not negative"
        else:
            kind = "finite and positive"
        problem = f"entry {first} is {array[first]!r}, but has to be {kind}"
        raise ArgumentError(problem, where=where, got=values, remedy=f"Correct entry {first}.")
    return array
