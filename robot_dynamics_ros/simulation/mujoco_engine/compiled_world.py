"""A robot put into its world and compiled by MuJoCo."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, ModelWarning, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import Shape
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.mujoco_engine.contacts import ContactReader
from robot_dynamics_ros.simulation.mujoco_engine.convert import (
    PREFIX,
    CoordinateMap,
    finish,
    robot_geometry,
    robot_spec,
)
from robot_dynamics_ros.simulation.mujoco_engine.options import MUJOCO_INTEGRATORS, MujocoOptions
from robot_dynamics_ros.simulation.mujoco_engine.world import (
    GeomOptions,
    WorldShape,
    add_shapes,
    mujoco_or_error,
    read_scene,
    unreadable,
)

if TYPE_CHECKING:
    import mujoco

SOFT = (0.3, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's default begins at 0.9: a tip that slides then bounces at 100 Hz


@dataclass(frozen=True, eq=False)
class CompiledWorld:
    """A model of MuJoCo with the robot in it, and its state at the start.

    Attributes:
        map: where the robot's coordinates are in it.
        objects: names of the bodies of the world that can move → their numbers.
        loop_rows: (number of equality constraints,) whether they are closed loops of the robot.
    """

    m: mujoco.MjModel
    data: mujoco.MjData
    map: CoordinateMap
    reader: ContactReader
    objects: Mapping[str, int]
    loop_rows: np.ndarray


def compile_world(model: RobotModel, o: MujocoOptions, h: float, q: Array, v: Array) -> CompiledWorld:
    """The robot of ``model`` in the world of ``o``, simulated in steps of ``h`` s from ``q``, ``v``.

    Links that touch each other at the start never collide; a warning names them.
    """
    _check_shapes(model, o.shapes)
    pieces = robot_geometry(model, o.geometry, o.urdf, o.directory)
    owners = {shape.name: shape.link for shape in o.shapes if shape.link}
    excluded: set[tuple[str, str]] = set()
    while True:
        m = _compile(model, o, h, pieces, excluded)
        data = mujoco_or_error().MjData(m)
        finish(m, data, model, o.constraints)
        coordinates = CoordinateMap(m, model)
        coordinates.write(data, q, v)
        mujoco_or_error().mj_forward(m, data)
        touching = _links_in_contact(m, data)
        if touching <= excluded:
            break
        excluded |= touching
    if (pieces or owners) and excluded:
        shown = ", ".join(f"{a} and {b}" for a, b in sorted(excluded)[:5])
        warnings.warn(ModelWarning(f"links that touch at the start never collide: {shown}", [shown]), stacklevel=4)
    owners |= {f"{p.link}/{k + 1}": p.link for p in pieces for k in range(m.ngeom)}
    free = [b for b in range(1, m.nbody) if m.body_weldid[b] == b and m.body_dofnum[b]]
    objects = {m.body(b).name or f"body{b}": b for b in free if not m.body(b).name.startswith(PREFIX)}
    loops = [m.equality(e).name.startswith(f"{PREFIX}loop/") for e in range(m.neq)]
    reader = ContactReader(m, model, coordinates, owners)
    return CompiledWorld(m, data, coordinates, reader, objects, np.array(loops, dtype=bool))


def _check_shapes(model: RobotModel, shapes: Sequence[WorldShape]) -> None:
    names = [shape.name for shape in shapes]
    for shape in shapes:
        if names.count(shape.name) > 1:
            remedy = "Give each a name of its own."
            raise ArgumentError(f"two shapes are called {shape.name!r}", where="shapes", got=names, remedy=remedy)
        if shape.link and shape.link not in model.link_names:
            raise UnknownNameError("link", shape.link, model.link_names, where=f"shape {shape.name!r}")


def _compile(
    model: RobotModel, o: MujocoOptions, h: float, pieces: Sequence[Shape], excluded: set[tuple[str, str]]
) -> mujoco.MjModel:
    """The scene with the robot attached; pairs of links that are ``excluded`` never touch each other."""
    mujoco = mujoco_or_error()
    contact: GeomOptions = {"solref": [max(o.contact_time, 2.0 * h), 1.0], "solimp": SOFT}
    world = read_scene(o.scene)
    robot = robot_spec(model, h, o, shapes=pieces, contact=contact)
    for one, other in sorted(excluded):
        robot.add_exclude(bodyname1=one, bodyname2=other)
    option = world.option
    if o.integrator is not None or o.scene is None:
        name = MUJOCO_INTEGRATORS[o.integrator or "implicitfast"]
        option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{name}")
    if o.scene is None:  # what MuJoCo's manual advises for grasping
        option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
    option.timestep, option.gravity = h, model.gravity
    option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    try:
        add_shapes(world, o.shapes, contact)
        world.attach(robot, prefix=PREFIX, frame=world.worldbody.add_frame())
        return world.compile()
    except ValueError as error:
        raise unreadable("shapes" if o.scene is None else f"scene {str(o.scene)[:200]!r}", error) from None


def _links_in_contact(m: mujoco.MjModel, data: mujoco.MjData) -> set[tuple[str, str]]:
    """Pairs of the robot's bodies in contact now, without prefix."""
    pairs: set[tuple[str, str]] = set()
    for k in range(data.ncon):
        names = [m.body(int(m.geom_bodyid[g])).name for g in data.contact[k].geom]
        if all(name.startswith(PREFIX) for name in names):
            one, other = sorted(name.removeprefix(PREFIX) for name in names)
            pairs.add((one, other))
    return pairs
