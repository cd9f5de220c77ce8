"""The world around a robot: an MJCF scene, primitive shapes, and how MuJoCo simulates it."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, BackendError, check_name, optional_package
from robot_dynamics_ros.model.description import Pose
from robot_dynamics_ros.model.urdf_source import UrdfInput
from robot_dynamics_ros.per_joint import expect, vector
from robot_dynamics_ros.simulation.plant_options import CommonOptions

if TYPE_CHECKING:
    import mujoco

PRIMITIVES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "plane": 0}
"""Kind of primitive → how many numbers its size has."""

GeomOptions: TypeAlias = dict[str, Any]
"""Attributes of MuJoCo's elements by name, such as ``pos`` or ``solref``."""

MUJOCO_INTEGRATORS = {
    "implicitfast": "IMPLICITFAST",
    "implicit": "IMPLICIT",
    "euler": "EULER",
    "rk4": "RK4",
}
"""Name → MuJoCo's name.

All but ``"rk4"`` are of first order; ``"rk4"`` is of fourth where nothing touches or sticks.
"""

# major version of MuJoCo; those before leave tendons out of the forces on bodies
OLDEST = 4
_LOG = logging.getLogger("robot_dynamics_ros.mujoco")


def mujoco_or_error() -> ModuleType:
    """The package mujoco, its warnings sent to Python's ``logging`` instead of a file in the
    current directory.

    A handler that the program has set itself stays.
    """
    mujoco = optional_package(
        "mujoco", "it needs", "engine 'mujoco'", "'robot_dynamics_ros[mujoco]'"
    )
    if int(mujoco.__version__.split(".")[0]) < OLDEST:
        remedy = "pip install -U 'robot_dynamics_ros[mujoco]'."
        raise BackendError(
            f"MuJoCo {mujoco.__version__} is too old", where="engine 'mujoco'", remedy=remedy
        )
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_LOG.info)
    return mujoco


@dataclass(frozen=True, slots=True)
class WorldShape:
    """A primitive in the world, or fixed to a link of the robot.

    Attributes:
        name: unique in the world; for reports and topics.
        kind: one of :data:`PRIMITIVES`.
        size: m; box: three edge lengths; sphere: radius; cylinder and capsule: radius, length along
            z (of the capsule between the centres of its ends); ellipsoid: three semi-axes; plane:
            none, it is infinite and its normal is z.
        position, rpy: (3,) m, (3,) rad: where it is in the world, or in the frame of ``link``; of a
            body that moves, where it starts.
        mass: kg, evenly distributed; such a body moves freely.  0: the body is fixed, or part of
            its link.
        friction: Coulomb's coefficient against whatever touches it.
        link: the robot's link that it is fixed to; ``""``: none.

    Raises:
        ArgumentError: an unknown kind, or an impossible size or number.
    """

    name: str
    kind: str
    size: Sequence[float] = ()
    position: Sequence[float] = (0.0, 0.0, 0.0)
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    mass: float = 0.0
    friction: float = 0.8
    link: str = ""

    def __post_init__(self) -> None:
        where = f"shape {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError(
                "a shape needs a name", where="shape", got=self.name, remedy="Give it a name."
            )
        if self.kind not in PRIMITIVES:
            remedy = (
                f"Valid kinds: {', '.join(PRIMITIVES)}; a scene in MJCF may have meshes and more."
            )
            raise ArgumentError(
                f"there is no kind {self.kind!r}", where=where, got=self.kind, remedy=remedy
            )
        for field, length in (("size", PRIMITIVES[self.kind]), ("position", 3), ("rpy", 3)):
            values = vector(
                getattr(self, field),
                length,
                f"{where}, {field}",
                remedy="Lengths in m, angles in rad.",
            )
            object.__setattr__(self, field, tuple(values.tolist()))
        if any(edge <= 0.0 for edge in self.size):
            raise ArgumentError("lengths must be positive", where=f"{where}, size", got=self.size)
        for field in ("mass", "friction"):
            value = getattr(self, field)
            good = isinstance(value, (int, float, np.number)) and 0.0 <= value < math.inf
            expect(bool(good), "a number of at least 0", value, f"{where}, {field}")
        if self.mass and (self.kind == "plane" or self.link):
            raise ArgumentError(
                "a plane does not move"
                if self.kind == "plane"
                else "what is part of a link has no mass of its own",
                where=f"{where}, mass",
                got=self.mass,
                remedy="Leave mass at 0; the mass of a link is in the robot's description.",
            )

    @property
    def pose(self) -> Pose:
        """Where it is, or starts."""
        return Pose.from_rpy(self.position, self.rpy)


@dataclass(frozen=True, eq=False)
class MujocoOptions(CommonOptions):
    """Options of :class:`~robot_dynamics_ros.simulation.mujoco_engine.plant.MujocoPlant`, beside
    those of every engine.

    ``substeps`` are by default so many that none is longer than 1 ms, and with ``"rk4"`` that it
    can follow the joints' damping (at most 100); ``user_effort`` is constant over a substep;
    constraints are of all kinds but rolling and Pfaffian ones.

    Attributes:
        scene: the world: path or text of an MJCF document; ``None``: empty space.  It may name the
            robot's links as bodies or sites with the prefix ``robot/``.
        shapes: further primitives, in the world or on links.
        geometry: the robot's shapes for contact: its ``"collision"`` elements, its ``"visual"``
            ones, or ``"none"``.
        urdf, directory: where to read that geometry from, if the model was made or edited, and
            where relative mesh addresses start; as for
            :func:`~robot_dynamics_ros.model.geometry.read_looks`.
        self_collision: links touch each other; pairs that do so at the start, and neighbours,
            never.
        surface_friction: Coulomb's coefficient of the robot's surface; the larger of two that meet
            counts, or that of a :class:`WorldShape`.
        contact_time: s in which a penetration decays (critically damped): how soft contacts are; at
            least two substeps.
        integrator: one of :data:`MUJOCO_INTEGRATORS`; ``None``: the scene's, else
            ``"implicitfast"``.
    """

    scene: str | os.PathLike[str] | None = None
    shapes: Sequence[WorldShape] = ()
    geometry: str = "collision"
    urdf: UrdfInput | None = None
    directory: str | os.PathLike[str] | None = None
    self_collision: bool = False
    surface_friction: float = 0.8
    contact_time: float = 0.01
    integrator: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.contact_time, (int, float)) and 0.0 < self.contact_time < math.inf):
            raise ArgumentError(
                "must be a positive number of seconds", where="contact_time", got=self.contact_time
            )
        rigid = isinstance(self.stops, str) and self.stops == "rigid"
        if not (rigid or self.stops is None):
            raise ArgumentError("expected 'rigid' or None", where="stops", got=self.stops)
        if self.integrator is not None:
            check_name(
                "integrator of MuJoCo", self.integrator, MUJOCO_INTEGRATORS, where="integrator"
            )
        if not (math.isfinite(self.surface_friction) and self.surface_friction >= 0.0):
            raise ArgumentError(
                "must not be negative", where="surface_friction", got=self.surface_friction
            )


def read_scene(scene: str | os.PathLike[str] | None) -> mujoco.MjSpec:
    """The ``mujoco.MjSpec`` of an MJCF file, or of its text, which begins with ``<``; ``None``:
    empty space.
    """
    mujoco = mujoco_or_error()
    if scene is None:
        return mujoco.MjSpec()
    if isinstance(scene, str) and scene.lstrip().startswith("<"):
        text = scene
    else:
        text = None
    if text is not None:
        where = "MJCF text"
    else:
        where = f"scene {os.fspath(scene)!r}"
    if text is None and not Path(scene).is_file():
        remedy = f"Check the path (the current directory is {os.getcwd()})."
        raise ArgumentError("it does not exist", where=where, got=scene, remedy=remedy)
    try:
        if text is not None:
            return mujoco.MjSpec.from_string(text)
        return mujoco.MjSpec.from_file(os.fspath(scene))
    except (ValueError, UnicodeDecodeError) as error:
        raise unreadable(where, error) from None


def unreadable(where: str, error: Exception) -> ArgumentError:
    """MuJoCo's complaint about a document, in one sentence."""
    complaint = ", ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return ArgumentError(
        f"MuJoCo cannot use it: {complaint}",
        where=where,
        got=None,
        remedy="Correct the element named.",
    )


def add_shapes(
    spec: mujoco.MjSpec,
    shapes: Sequence[WorldShape],
    contact: GeomOptions,
) -> None:
    """Put the shapes that are no part of a link into a scene, under their names."""
    for shape in shapes:
        if shape.link:
            continue
        if shape.mass:
            body = spec.worldbody.add_body(name=shape.name, **placed(shape.pose))
            body.add_freejoint()
            add_primitive(body, shape, Pose(), {**contact, "mass": shape.mass})
        else:
            add_primitive(spec.worldbody, shape, shape.pose, contact)


def add_primitive(
    body: mujoco.MjsBody,
    shape: WorldShape,
    pose: Pose,
    contact: GeomOptions,
) -> None:
    """One geom.

    Its friction is the one that counts: its priority is above that of the robot's links and of
    scenes.
    """
    body.add_geom(
        name=shape.name,
        type=geom_type(shape.kind),
        size=geom_size(shape.kind, shape.size),
        friction=friction(shape.friction),
        priority=1,
        **placed(pose),
        **contact,
    )


def geom_type(kind: str) -> mujoco.mjtGeom:
    """MuJoCo's number of a kind of shape."""
    return getattr(mujoco_or_error().mjtGeom, f"mjGEOM_{kind.upper()}")


def geom_size(kind: str, size: Sequence[float]) -> list[float]:
    """(3,) half lengths and radii, as MuJoCo takes them."""
    if kind == "box":
        return [0.5 * edge for edge in size]
    if kind in ("cylinder", "capsule"):
        return [size[0], 0.5 * size[1], 0.0]
    if kind == "plane":
        return [0.0, 0.0, 1.0]
    return [*size, 0.0, 0.0][:3]


def friction(sliding: float) -> list[float]:
    """(3,) sliding, torsional (m) and rolling (m) friction: that of a contact a few millimetres
    wide.
    """
    return [sliding, 0.005 * sliding, 0.0001 * sliding]


def placed(pose: Pose) -> GeomOptions:
    """``pos`` and ``quat`` (scalar first) of a pose."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(np.array(pose.rotation)).as_quat()
    return {"pos": pose.position.tolist(), "quat": [w, x, y, z]}
