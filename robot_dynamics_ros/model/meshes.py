"""Triangles of shapes, by trimesh: the basic ones made, meshes read from STL, OBJ, DAE, GLB and
whatever else it reads.
"""

from __future__ import annotations

import io
import re
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError, optional_package
from robot_dynamics_ros.model.geometry import Shape
from robot_dynamics_ros.model.shapes import metres_per_unit

if TYPE_CHECKING:
    from trimesh import Scene, Trimesh

LARGEST_MESH = 200_000_000
"""Bytes of a mesh file that is still read."""


# A statement of the up axis in a COLLADA file, and the rows of the rotation that takes this axis to
# z; Y_UP without one.
_UP_AXIS = re.compile(rb"<up_axis>\s*(\w+)")
_UPRIGHT = {
    b"X_UP": [(0, -1, 0), (0, 0, -1), (1, 0, 0)],
    b"Y_UP": [(1, 0, 0), (0, 0, -1), (0, 1, 0)],
}


class MeshError(RobotDynamicsError):
    """A mesh that cannot be read; the rest of the robot can be drawn without it."""


def need_trimesh() -> ModuleType:
    """The package trimesh; a BackendError where it is not installed."""
    return optional_package(
        "trimesh", "meshes and their triangles need", "geometry", "'robot_dynamics_ros[view]'"
    )


def triangles(shape: Shape) -> list[Trimesh]:
    """Meshes (``trimesh.Trimesh``) of a shape in the link's frame, m.

    One, but for mesh files with several parts.
    """
    trimesh = need_trimesh()
    size = shape.size
    if shape.kind == "mesh":
        assert shape.file is not None
        parts = [part.copy() for part in read_mesh(shape.file, shape.up_axis)]
        for part in parts:
            part.apply_scale(size)
    elif shape.kind == "box":
        parts = [trimesh.creation.box(extents=size)]
    elif shape.kind == "sphere":
        parts = [trimesh.creation.icosphere(subdivisions=3, radius=size[0])]
    elif shape.kind == "ellipsoid":
        parts = [trimesh.creation.icosphere(subdivisions=2, radius=1.0).apply_scale(size)]
    elif shape.kind == "capsule":
        parts = [trimesh.creation.capsule(radius=size[0], height=size[1], count=[16, 16])]
        parts[0].apply_translation([0.0, 0.0, -float(parts[0].bounds[:, 2].mean())])
    else:
        parts = [trimesh.creation.cylinder(radius=size[0], height=size[1], sections=32)]
    for part in parts:
        part.apply_transform(shape.pose.matrix())
    return parts


def own_colour(part: Trimesh) -> tuple[float, float, float, float] | Literal["image"] | None:
    """The colour that a part of a mesh file brings with it: (red, green, blue, 1) in 0 … 1, or
    ``None``.

    ``"image"`` where it has a texture or a colour for each vertex or face.
    """
    if part.visual.kind in ("vertex", "face"):
        return "image"
    if part.visual.kind != "texture":
        return None
    material = part.visual.material
    if (
        getattr(material, "image", None) is not None
        or getattr(material, "baseColorTexture", None) is not None
    ):
        return "image"
    if not material.name and type(material).__name__ == "SimpleMaterial":
        # the reader's own, for a file without materials
        return None
    r, g, b = (float(c) / 255.0 for c in material.main_color[:3])
    return r, g, b, 1.0


def _without_textures(path: str) -> tuple[Scene, str]:
    """A COLLADA file read without its textures, and the first fault of the file."""
    import collada

    data = Path(path).read_bytes()
    faults = collada.Collada(io.BytesIO(data), ignore=[collada.common.DaeError]).errors
    data = re.sub(rb"<newparam\b.*?</newparam>", b"", data, flags=re.DOTALL)
    data = re.sub(
        rb"<texture\b[^>]*?(/>|>.*?</texture>)",
        b"<color>0.7 0.7 0.7 1</color>",
        data,
        flags=re.DOTALL,
    )
    loaded = need_trimesh().load_scene(io.BytesIO(data), file_type="dae")
    return (
        loaded,
        f"{type(faults[0]).__name__}: {faults[0].msg}" if faults else "it holds no triangles",
    )


@lru_cache(maxsize=64)
def _read(path: str, _size: int, _changed: int, up_axis: bool) -> tuple[Trimesh, ...]:
    trimesh = need_trimesh()
    collada = path.lower().endswith(".dae")
    cause = "it holds no triangles"
    try:
        loaded = trimesh.load_scene(path)
        # one wrong reference of a texture costs the reader the whole mesh
        if collada and not loaded.geometry:
            loaded, cause = _without_textures(path)
    # trimesh has readers of a dozen formats: a bad file may raise anything
    except Exception as error:  # noqa: BLE001
        raise MeshError(
            f"it cannot be read ({type(error).__name__}: {error})",
            where=f"mesh {path}",
            remedy="Check the file.",
        ) from None
    unit = metres_per_unit(loaded, path)
    upright = np.eye(4)
    # RViz ignores it
    if up_axis and collada:
        stated = _UP_AXIS.search(Path(path).read_bytes())
        upright[:3, :3] = _UPRIGHT.get(stated[1] if stated else b"Y_UP", np.eye(3))
    parts = []
    for name in loaded.graph.nodes_geometry:
        transform, geometry = loaded.graph[name]
        part = loaded.geometry[geometry]
        if isinstance(part, trimesh.Trimesh) and len(part.faces):
            part = part.copy()
            part.apply_transform(upright @ transform)
            part.apply_scale(unit)
            parts.append(part)
    if not parts or not all(np.isfinite(part.vertices).all() for part in parts):
        raise MeshError(cause, where=f"mesh {path}", remedy="Check the file.")
    return tuple(parts)


def read_mesh(path: Path, up_axis: bool = False) -> tuple[Trimesh, ...]:
    """The parts of a mesh file, m; kept, so that a mesh used twice is read once.

    ``up_axis`` turns a COLLADA file so that the up axis which it states is z.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise MeshError(f"it cannot be read ({error.strerror})", where=f"mesh {path}") from None
    if status.st_size > LARGEST_MESH:
        raise MeshError(
            f"{status.st_size} bytes are more than {LARGEST_MESH}", where=f"mesh {path}"
        )
    return _read(str(path), status.st_size, status.st_mtime_ns, up_axis)
