"""Options of the robot simulated in MuJoCo."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.urdf_source import UrdfInput
from robot_dynamics_ros.simulation.mujoco_engine.world import WorldShape
from robot_dynamics_ros.simulation.plant_options import CommonOptions

MUJOCO_INTEGRATORS = {"implicitfast": "IMPLICITFAST", "implicit": "IMPLICIT", "euler": "EULER", "rk4": "RK4"}
"""Name → MuJoCo's name.  All but ``"rk4"`` are of first order; ``"rk4"`` is of fourth where nothing touches or sticks."""


@dataclass(frozen=True, eq=False)
class MujocoOptions(CommonOptions):
    """Options of :class:`~robot_dynamics_ros.simulation.mujoco_engine.plant.MujocoPlant`, beside those of every engine.

    ``substeps`` are by default so many that none is longer than 1 ms, and with ``"rk4"`` that it can follow the joints'
    damping (at most 100); ``user_effort`` is constant over a substep; constraints are of all kinds but rolling ones.

    Attributes:
        scene: the world: path or text of an MJCF document; ``None``: empty space.  It may name the robot's links as
            bodies or sites with the prefix ``robot/``.
        shapes: further primitives, in the world or on links.
        geometry: the robot's shapes for contact: its ``"collision"`` elements, its ``"visual"`` ones, or ``"none"``.
        urdf, directory: where to read that geometry from, if the model was made or edited, and where relative mesh
            addresses start; as for :func:`~robot_dynamics_ros.model.geometry.read_looks`.
        self_collision: links touch each other; pairs that do so at the start, and neighbours, never.
        surface_friction: Coulomb's coefficient of the robot's surface; the larger of two that meet counts, or that of a
            :class:`WorldShape`.
        contact_time: s in which a penetration decays (critically damped): how soft contacts are; at least two substeps.
        integrator: one of :data:`MUJOCO_INTEGRATORS`; ``None``: the scene's, else ``"implicitfast"``.
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
            raise ArgumentError("must be a positive number of seconds", where="contact_time", got=self.contact_time)
        if self.stops not in ("rigid", None):
            raise ArgumentError("expected 'rigid' or None", where="stops", got=self.stops)
        if self.integrator is not None and self.integrator not in MUJOCO_INTEGRATORS:
            raise UnknownNameError("integrator of MuJoCo", self.integrator, MUJOCO_INTEGRATORS, where="integrator")
        if not (math.isfinite(self.surface_friction) and self.surface_friction >= 0.0):
            raise ArgumentError("must not be negative", where="surface_friction", got=self.surface_friction)
