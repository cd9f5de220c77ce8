"""Mass, centre of mass and inertia of bodies from their shape.

Every function takes ``density`` (kg/m³) or ``mass`` (kg), and returns an :class:`Inertia` in the
shape's own frame, whose origin is the centre of the shape unless said otherwise and whose z axis is
the axis of revolution.

    m = ∫ ρ dV,   c = ∫ p ρ dV / m,   I = ∫ ((rᵀr) 1 − r rᵀ) ρ dV,   r = p − c
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array, real_array_or_nan, real_number
from robot_dynamics_ros.errors import ArgumentError, BackendError, optional_package
from robot_dynamics_ros.model.description import Array, Inertia, Pose


def _positive(**values: object) -> list[float]:
    done = []
    for name, value in values.items():
        try:
            x = real_number(value)
        except TypeError:
            x = math.nan
        if not 0.0 < x < math.inf:
            raise ArgumentError("must be a positive number", where=name, got=value)
        done.append(x)
    return done


def _mass(volume: float, density: float | None, mass: float | None) -> float:
    if (density is None) == (mass is None):
        raise ArgumentError(
            "give either the density (kg/m³) or the mass (kg)", where="density", got=(density, mass)
        )
    if mass is not None:
        return _positive(mass=mass)[0]
    return _positive(density=density)[0] * volume


def _diagonal(
    mass: float,
    x: float,
    y: float,
    z: float,
    com: Sequence[float] = (0.0, 0.0, 0.0),
) -> Inertia:
    return Inertia(mass, np.array(com), mass * np.diag([x, y, z]))


def inertia_of_cuboid(
    size: ArrayLike,
    *,
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A cuboid of edge lengths ``size`` (3,), m.

    Args:
        size: (3,) edge lengths, m.

    >>> import robot_dynamics_ros as rd
    >>> body = rd.inertia_of_cuboid((1.0, 0.1, 0.1), density=1000.0)
    >>> round(body.mass, 12), body.rotational.diagonal().round(6).tolist()
    (10.0, [0.016667, 0.841667, 0.841667])
    """
    edges = np.asarray(size)
    if edges.shape != (3,):
        raise ArgumentError("expected three edge lengths", where="size", got=size)
    x, y, z = _positive(size_x=edges[0], size_y=edges[1], size_z=edges[2])
    m = _mass(x * y * z, density, mass)
    return _diagonal(m, (y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)


def inertia_of_cylinder(
    radius: float,
    length: float,
    *,
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A solid cylinder about z."""
    r, h = _positive(radius=radius, length=length)
    across = (3 * r * r + h * h) / 12
    return _diagonal(_mass(math.pi * r * r * h, density, mass), across, across, r * r / 2)


def inertia_of_sphere(
    radius: float,
    *,
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A solid ball."""
    (r,) = _positive(radius=radius)
    i = 0.4 * r * r
    return _diagonal(_mass(4 / 3 * math.pi * r**3, density, mass), i, i, i)


def inertia_of_ellipsoid(
    semi_axes: ArrayLike,
    *,
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A solid ellipsoid of semi-axes (3,), m.

    Args:
        semi_axes: (3,) m.
    """
    axes = np.asarray(semi_axes)
    if axes.shape != (3,):
        raise ArgumentError("expected three semi-axes", where="semi_axes", got=semi_axes)
    a, b, c = _positive(semi_axis_x=axes[0], semi_axis_y=axes[1], semi_axis_z=axes[2])
    m = _mass(4 / 3 * math.pi * a * b * c, density, mass)
    return _diagonal(m, (b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5)


def inertia_of_capsule(
    radius: float,
    length: float,
    *,
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A cylinder of that length about z with half balls on both ends."""
    r, h = _positive(radius=radius, length=length)
    tube = math.pi * r * r * h
    ball = 4 / 3 * math.pi * r**3
    m = _mass(tube + ball, density, mass)
    m_tube = m * tube / (tube + ball)
    m_ball = m * ball / (tube + ball)
    across = m_tube * (3 * r * r + h * h) / 12 + m_ball * (0.4 * r * r + h * h / 4 + 3 / 8 * r * h)
    return Inertia(
        m, np.zeros(3), np.diag([across, across, m_tube * r * r / 2 + m_ball * 0.4 * r * r])
    )


def inertia_of_cone(
    radius: float,
    height: float,
    *,
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A solid cone: base of that radius in the plane z = 0, tip at z = height; the centre of mass
    is at height/4.
    """
    r, h = _positive(radius=radius, height=height)
    across = 3 / 20 * r * r + 3 / 80 * h * h
    return _diagonal(
        _mass(math.pi * r * r * h / 3, density, mass), across, across, 0.3 * r * r, (0, 0, h / 4)
    )


def _check_surface(p: Array, faces: Array) -> None:
    """Refuse a surface that is open, or whose triangles do not all turn the same way round."""
    _, same = np.unique(p.round(12), axis=0, return_inverse=True)
    edges = np.sort(same.ravel()[faces[:, [[0, 1], [1, 2], [2, 0]]]].reshape(-1, 2), axis=1)
    _, count = np.unique(edges, axis=0, return_counts=True)
    if (count % 2).any():
        problem = (
            f"the surface is not closed: {int((count % 2).sum())} of its {len(count)} edges "
            "belong to one triangle alone"
        )
        raise ArgumentError(
            problem, where="mesh", remedy="Repair the mesh, or use its bounding box or convex hull."
        )
    directed = same.ravel()[faces[:, [[0, 1], [1, 2], [2, 0]]]].reshape(-1, 2)
    _, place = np.unique(edges, axis=0, return_inverse=True)
    turns = np.zeros(len(count), dtype=int)
    np.add.at(turns, place.ravel(), np.sign(directed[:, 1] - directed[:, 0]))
    if turns.any():
        # neighbours that turn the same way pass their edge in opposite directions
        problem = (
            f"its triangles do not all turn the same way round: {int((turns != 0).sum())} of its "
            f"{len(count)} edges are passed twice in one direction"
        )
        raise ArgumentError(
            problem,
            where="mesh",
            remedy="Turn them: trimesh.repair.fix_normals does, and so do editors of meshes.",
        )


def inertia_of_mesh(
    vertices: ArrayLike,
    triangles: ArrayLike,
    *,
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A solid bounded by triangles, exactly, in the frame of the vertices.

    Args:
        vertices: (n, 3), m.
        triangles: (k, 3) numbers of vertices, counter-clockwise seen from outside (or all the other
            way round).

    Raises:
        ArgumentError: the surface is not closed, so that it has no volume, or its triangles do not
            all turn the same way round.

    Source: Mirtich, *Fast and accurate computation of polyhedral mass properties* (1996), by
    tetrahedra.
    """
    try:
        p = real_array(vertices)
        faces = np.asarray(triangles, dtype=int)
    except (TypeError, ValueError, OverflowError):
        p = np.empty(0)
        faces = np.empty(0, dtype=int)
    if (
        p.ndim != 2
        or p.shape[1:] != (3,)
        or faces.ndim != 2
        or faces.shape[1:] != (3,)
        or not np.isfinite(p).all()
    ):
        raise ArgumentError(
            "expected (n, 3) finite vertices and (k, 3) triangles", where="mesh", got=vertices
        )
    if not len(faces) or faces.min() < 0 or faces.max() >= len(p):
        remedy = "Give numbers of vertices from 0 on."
        raise ArgumentError(
            "a triangle names a vertex that does not exist",
            where="mesh",
            got=triangles,
            remedy=remedy,
        )
    _check_surface(p, faces)
    middle = p.mean(axis=0)
    a, b, c = (p[faces[:, k]] - middle for k in range(3))
    six = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = six.sum() / 6
    if not abs(volume) > 1e-15 * max(float(np.ptp(p, axis=0).max()), 1e-300) ** 3:
        remedy = "Give a closed surface whose triangles turn the same way round."
        raise ArgumentError(
            "the surface encloses no volume", where="mesh", got=volume, remedy=remedy
        )
    first = (six[:, None] * (a + b + c)).sum(axis=0) / 24
    s = a + b + c
    second = sum(np.einsum("i,ij,ik->jk", six, x, x) for x in (a, b, c, s)) / 120
    m = _mass(abs(float(volume)), density, mass)
    center = first / volume
    # Euler's matrix per unit of mass
    E = second / volume - np.outer(center, center)
    if np.linalg.eigvalsh(E)[0] < -1e-9 * np.trace(np.abs(E)):
        raise ArgumentError(
            "its parts turn opposite ways round: the moments of inertia would be negative",
            where="mesh",
            remedy="Turn the triangles of the part that is no cavity.",
        )
    return Inertia(m, center + middle, m * (np.trace(E) * np.eye(3) - E))


def metres_per_unit(mesh: Any, path: str) -> float:
    """Of what trimesh has read from a file: COLLADA states its unit, which RViz uses; in other
    formats it is the metre.
    """
    if not (path.lower().endswith(".dae") and mesh.units):
        return 1.0
    from trimesh.units import unit_conversion

    return float(unit_conversion(mesh.units, "meters"))


def inertia_of_mesh_file(
    path: str | Path,
    *,
    scale: ArrayLike = (1.0, 1.0, 1.0),
    density: float | None = None,
    mass: float | None = None,
) -> Inertia:
    """A solid whose surface is in a file that trimesh reads (STL, OBJ, PLY, DAE, …), in the file's
    frame, m.

    Args:
        path: the file.
        scale: (3,) of the coordinates, as ``<mesh scale>`` of a URDF.

    Raises:
        BackendError: trimesh is not installed.
        ArgumentError: the file cannot be read, or its surface is not closed.
    """
    trimesh = optional_package("trimesh", "meshes need", str(path), "trimesh")
    if not Path(path).is_file():
        remedy = "Check the address; folders are separated by '/'."
        raise ArgumentError("cannot be read: there is no such file", where=str(path), remedy=remedy)
    try:
        mesh: Any = trimesh.load(str(path), force="mesh")
        factor = metres_per_unit(mesh, str(path)) * np.asarray(scale, dtype=float)
        vertices = np.asarray(mesh.vertices) * factor
        faces = np.asarray(mesh.faces)
    # trimesh has readers of a dozen formats: a bad file may raise anything
    except Exception as error:  # noqa: BLE001
        problem = f"cannot be read ({type(error).__name__}: {error})"
        remedy = "Check that the file holds a mesh of a format that trimesh reads."
        raise ArgumentError(problem, where=str(path), remedy=remedy) from None
    return inertia_of_mesh(vertices, faces, density=density, mass=mass)


def combined_inertia(
    bodies: Iterable[Inertia | tuple[Inertia, Pose]],
    holes: Iterable[Inertia | tuple[Inertia, Pose]] = (),
) -> Inertia:
    """Mass properties of several bodies as one, minus its holes.

    Args:
        bodies, holes: inertias, each alone or with its pose in the common frame; a hole has the
            density of what was taken out.

    Raises:
        ArgumentError: the holes have more mass than the bodies.

    >>> import robot_dynamics_ros as rd
    >>> outer = rd.inertia_of_cylinder(0.05, 1.0, density=2700)
    >>> inner = rd.inertia_of_cylinder(0.04, 1.0, density=2700)
    >>> tube = rd.combined_inertia([outer], [inner])
    >>> round(tube.mass, 3)
    7.634
    """
    total = sum(map(_placed, bodies), Inertia())
    for hole in map(_placed, holes):
        total = total + Inertia(-hole.mass, hole.com, -hole.rotational)
    if not total.mass > 0.0:
        raise ArgumentError(
            f"{total.mass:.6g} kg are left", where="holes", remedy="Check sizes and densities."
        )
    moments = np.linalg.eigvalsh(total.rotational)
    if moments[0] < -1e-12 * max(moments[-1], 0.0) or moments[-1] < 0.0:
        raise ArgumentError(
            "a negative moment of inertia is left",
            where="holes",
            got=moments.tolist(),
            remedy="Holes must lie within the bodies.",
        )
    return total


def _placed(item: Inertia | tuple[Inertia, Pose]) -> Inertia:
    if isinstance(item, Inertia):
        return item
    try:
        body, pose = item
        return body.in_parent(pose)
    except (TypeError, ValueError, AttributeError):
        raise ArgumentError(
            "expected an Inertia, or a pair of an Inertia and a Pose", where="bodies", got=item
        ) from None


def _moments(
    density: Callable[[Array, Array, Array], ArrayLike],
    middle: Array,
    half: Array,
    u: Array,
) -> Array:
    """(k, 10) ρ times 1, x, y, z and the products of two of them, at points ``u`` (k, 3) of the
    box, whose corners have the coordinates ±1.
    """
    p = middle + half * u
    rho = np.broadcast_to(np.asarray(density(p[:, 0], p[:, 1], p[:, 2]), dtype=float), (len(p),))
    if not (np.isfinite(rho).all() and (rho >= 0.0).all()):
        raise ArgumentError(
            "must be finite and not negative", where="density", got=float(rho.min())
        )
    x, y, z = u.T
    return rho[:, None] * np.stack(
        [np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z, y * z], axis=-1
    )


def inertia_of_density(
    density: Callable[[Array, Array, Array], ArrayLike],
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    tolerance: float = 1e-8,
    max_subdivisions: int = 20000,
) -> Inertia:
    """∫ρ over a box, by adaptive cubature.

    Args:
        max_subdivisions: parts of the box at most.
        density: ``density(x, y, z)`` in kg/m³ on arrays; zero where there is nothing.
        lower, upper: (3,) corners of a box around the body, m.
        tolerance: relative error of mass, first and second moments.  Jumps of the density take many
            subdivisions: 1e-4 is what they allow in a few seconds.

    Raises:
        ArgumentError: nothing there, a density that is negative or not finite, or the tolerance was
            not reached.
        BackendError: SciPy before 1.15, which has no cubature.
    """
    try:
        from scipy.integrate import cubature
    except ImportError:
        raise BackendError(
            "needs SciPy 1.15 or later", where="inertia_of_density", remedy="pip install -U scipy"
        ) from None
    low = real_array_or_nan(lower)
    high = real_array_or_nan(upper)
    if (
        low.shape != (3,)
        or high.shape != (3,)
        or not ((low < high) & np.isfinite(high - low)).all()
    ):
        raise ArgumentError(
            "expected two corners, three finite numbers each, with lower < upper",
            where="lower",
            got=(lower, upper),
        )
    middle = (low + high) / 2
    half = (high - low) / 2

    moments = partial(_moments, density, middle, half)
    total = cubature(
        moments, [-1.0] * 3, [1.0] * 3, rtol=0.0, atol=0.0, max_subdivisions=0
    ).estimate[0]
    scale = abs(float(total)) or 1.0
    moments_of = cubature(
        moments,
        [-1.0] * 3,
        [1.0] * 3,
        rtol=tolerance,
        atol=tolerance * scale,
        max_subdivisions=max_subdivisions,
    )
    if moments_of.status != "converged":
        raise ArgumentError(
            f"the integral is known to {float(np.max(moments_of.error)) / scale:.1g} of the "
            f"mass, not to {tolerance:g}",
            where="tolerance",
            remedy=(
                "Ask for less, allow more subdivisions, or integrate the parts between jumps one "
                "by one."
            ),
        )
    # in coordinates from −1 to 1: mass, first moments x y z, second ones xx yy zz xy xz yz
    s = moments_of.estimate * float(np.prod(half))
    m = float(s[0])
    if not m > 0.0:
        remedy = "Check the density function and the corners of the box."
        raise ArgumentError("there is no mass in the box", where="density", got=m, remedy=remedy)
    c = s[1:4] / m
    second = np.array([[s[4], s[7], s[8]], [s[7], s[5], s[9]], [s[8], s[9], s[6]]])
    # ∫ρ r rᵀ about the centre of mass, in m
    E = m * half[:, None] * (second / m - np.outer(c, c)) * half
    return Inertia(m, middle + half * c, np.trace(E) * np.eye(3) - E)
