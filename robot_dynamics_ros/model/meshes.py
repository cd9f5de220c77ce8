"""Triangles of shapes, by trimesh: the basic ones made, meshes read from STL, OBJ, DAE, GLB and whatever else it reads."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import BackendError, RobotDynamicsError
from robot_dynamics_ros.model.geometry import Shape

__all__ = ["LARGEST_MESH", "MeshError", "read_mesh", "triangles"]

LARGEST_MESH = 200_000_000
"""Bytes of a mesh file that is still read."""


class MeshError(RobotDynamicsError):
    """A mesh that cannot be read; the rest of the robot can be drawn without it."""


def need_trimesh() -> Any:
    """The package trimesh.

    Raises:
        BackendError: it is not installed.
    """
    try:
        import trimesh
    except ImportError:
        raise BackendError(
            "meshes and their triangles need the package trimesh, which is not installed",
            where="geometry",
            remedy="pip install 'robot_dynamics_ros[view]'.",
        ) from None
    return trimesh


def triangles(shape: Shape) -> list[Any]:
    """Meshes (``trimesh.Trimesh``) of a shape in the link's frame, m.  One, but for mesh files with several parts.

    Raises:
        MeshError: the mesh file cannot be read.
    """
    trimesh = need_trimesh()
    size = shape.size
    if shape.kind == "mesh":
        assert shape.file is not None
        parts = [part.copy() for part in read_mesh(shape.file)]
        for part in parts:
            part.apply_scale(size)
    elif shape.kind == "box":
        parts = [trimesh.creation.box(extents=size)]
    elif shape.kind == "sphere":
        parts = [trimesh.creation.icosphere(subdivisions=3, radius=size[0])]
    elif shape.kind == "ellipsoid":
        ball = trimesh.creation.icosphere(subdivisions=2, radius=1.0)
        ball.apply_scale(size)
        parts = [ball]
    elif shape.kind == "capsule":
        capsule = trimesh.creation.capsule(radius=size[0], height=size[1], count=[16, 16])
        capsule.apply_translation([0.0, 0.0, -float(capsule.bounds[:, 2].mean())])
        parts = [capsule]
    else:
        parts = [trimesh.creation.cylinder(radius=size[0], height=size[1], sections=32)]
    for part in parts:
        part.apply_transform(shape.pose.matrix())
    return parts


@lru_cache(maxsize=64)
def _read(path: str, _size: int, _changed: int) -> tuple[Any, ...]:
    trimesh = need_trimesh()
    try:
        loaded = trimesh.load_scene(path)
    except Exception as error:  # noqa: BLE001 - readers of a dozen formats: anything may come out of a bad file
        raise MeshError(
            f"it cannot be read ({type(error).__name__}: {error})", where=f"mesh {path}", remedy="Check the file."
        ) from None
    # COLLADA states its unit; RViz uses it and ignores the up axis, and so does this
    unit = trimesh.units.unit_conversion(loaded.units, "meters") if path.endswith(".dae") and loaded.units else 1.0
    parts = []
    for name in loaded.graph.nodes_geometry:
        transform, geometry = loaded.graph[name]
        part = loaded.geometry[geometry]
        if isinstance(part, trimesh.Trimesh) and len(part.faces):
            part = part.copy()
            part.apply_transform(transform)
            part.apply_scale(unit)
            parts.append(part)
    if not parts or not all(np.isfinite(part.vertices).all() for part in parts):
        raise MeshError("it holds no triangles", where=f"mesh {path}", remedy="Check the file.")
    return tuple(parts)


def read_mesh(path: Path) -> tuple[Any, ...]:
    """The parts of a mesh file, m; kept, so that a mesh used twice is read once.

    Raises:
        MeshError: missing, too large, or nothing that trimesh can read.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise MeshError(f"it cannot be read ({error.strerror})", where=f"mesh {path}") from None
    if status.st_size > LARGEST_MESH:
        raise MeshError(f"{status.st_size} bytes are more than {LARGEST_MESH}", where=f"mesh {path}")
    return _read(str(path), status.st_size, status.st_mtime_ns)
