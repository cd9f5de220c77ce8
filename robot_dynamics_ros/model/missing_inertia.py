"""Mass properties of links that a URDF gives a shape and no ``<inertial>``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from robot_dynamics_ros.errors import ArgumentError, BackendError, RobotDynamicsError
from robot_dynamics_ros.model.description import Inertia, Pose, RobotDescription
from robot_dynamics_ros.model.geometry import SCHEMA, size_of
from robot_dynamics_ros.model.packages import path_of_address
from robot_dynamics_ros.model.shapes import (
    combined_inertia,
    inertia_of_capsule,
    inertia_of_cuboid,
    inertia_of_cylinder,
    inertia_of_mesh_file,
    inertia_of_sphere,
)
from robot_dynamics_ros.model.urdf_origin import pose_of_origin, urdf_version
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, Node, parse_xml

_SOLIDS: dict[str, Callable[..., Inertia]] = {
    "box": lambda *size, density: inertia_of_cuboid(size, density=density),
    "sphere": inertia_of_sphere,
    "cylinder": inertia_of_cylinder,
    "capsule": inertia_of_capsule,
}


def check_missing_inertia(policy: object, density: object) -> None:
    """Refuse what is no policy."""
    if policy not in ("keep", "from_geometry"):
        raise ArgumentError("expected 'keep' or 'from_geometry'", where="missing_inertia", got=policy)
    number = isinstance(density, (int, float)) and not isinstance(density, bool)
    if policy == "from_geometry" and not (number and 0.0 < float(density) < float("inf")):  # type: ignore[arg-type]
        remedy = "2700 is solid aluminium; arms are hollow: about 1000 often comes close."
        raise ArgumentError("expected a positive density in kg/m³", where="density", got=density, remedy=remedy)


def with_inertia_from_geometry(description: RobotDescription, density: float) -> tuple[RobotDescription, list[str]]:
    """The description with mass for every link that has a shape and no ``<inertial>``, and a sentence for each, given mass or not.

    Collision geometry is taken, visual geometry where there is none.
    """
    where = description.path or "URDF text"
    robot = parse_xml(description.source, SCHEMA, source=where, max_bytes=MAX_BYTES)
    directory = Path(description.path).parent if description.path and Path(description.path).is_file() else None
    version = urdf_version(robot)
    inertias: dict[str, Inertia] = {}
    findings = []
    for link in (node for node in robot.children if node.tag == "link"):
        name = link.attributes.get("name", "")
        if any(node.tag == "inertial" for node in link.children):
            continue
        pieces = [n for n in link.children if n.tag == "collision"] or [n for n in link.children if n.tag == "visual"]
        if not pieces:
            continue
        try:
            inertias[name] = combined_inertia([_body(piece, density, directory, version) for piece in pieces])
        except (RobotDynamicsError, KeyError, ValueError) as error:
            if isinstance(error, BackendError):
                raise
            problem = f"{type(error).__name__} {error}" if isinstance(error, KeyError) else str(error)
            findings.append(f"link {name!r} keeps no mass: its geometry (line {link.line}) gives none: {problem}")
            continue
        kind = pieces[0].tag
        findings.append(
            f"link {name!r} has no <inertial>: {inertias[name].mass:.4g} kg from its {kind} geometry at {density:g} kg/m³"
        )
    links = tuple(
        dataclasses.replace(link, inertia=inertias[link.name]) if link.name in inertias else link
        for link in description.links
    )
    return dataclasses.replace(description, links=links), findings


def _body(piece: Node, density: float, directory: Path | None, version: tuple[int, int]) -> tuple[Inertia, Pose]:
    pose = Pose()
    body: Inertia | None = None
    for node in piece.children:
        if node.tag == "origin":
            pose = pose_of_origin(node, version)
        elif node.tag == "geometry":
            for shape in node.children:
                body = _shape(shape, density, directory)
    if body is None:
        raise ValueError(f"line {piece.line}: no shape that is known")
    return body, pose


def _shape(node: Node, density: float, directory: Path | None) -> Inertia:
    if node.tag == "mesh":
        path = path_of_address(node.attributes["filename"], directory)
        return inertia_of_mesh_file(path, scale=size_of(node), density=density)
    return _SOLIDS[node.tag](*size_of(node), density=density)
