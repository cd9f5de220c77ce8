"""The simulator's parameters about its engine and, where that is MuJoCo, the world around the robot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues, parameter_table
from robot_dynamics_ros.simulation.mujoco_engine.convert import GEOMETRIES
from robot_dynamics_ros.simulation.mujoco_engine.options import MUJOCO_INTEGRATORS
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant
from robot_dynamics_ros.simulation.mujoco_engine.world import PRIMITIVES, WorldShape

ENGINE_PARAMETERS = parameter_table(
    "simulator", "engine", {"mujoco.geometry": GEOMETRIES, "mujoco.integrator": ("", *MUJOCO_INTEGRATORS)}
)
SHAPE_PARAMETERS = parameter_table("simulator", "shape", {"mujoco.<shape>.kind": PRIMITIVES})


def shape_parameters(name: str) -> list[Param]:
    """The parameters of one shape."""
    return [replace(param, name=param.name.replace("<shape>", name)) for param in SHAPE_PARAMETERS]


def check_shapes(parameters: Iterable[str], names: Iterable[str]) -> None:
    """Refuse parameters of shapes that are not listed.

    Raises:
        UnknownNameError: a name among the parameters given at the start.
    """
    own = {param.name for param in ENGINE_PARAMETERS}
    for parameter in parameters:
        head, _, rest = parameter.partition(".")
        shape, dot, _ = rest.rpartition(".")
        if head == "mujoco" and dot and parameter not in own and shape not in names:
            raise UnknownNameError("shape", shape, tuple(names), where=f"parameter {parameter!r}")


def check_engine(values: ParameterValues) -> None:
    """Refuse parameters that the chosen engine does not know.

    Raises:
        ArgumentError: naming the parameter.
    """
    if values["engine"] == "mujoco":
        foreign: tuple[tuple[str, Any], ...] = (("integrator", "moreau"), ("stop_restitution", 0.0))
        remedy = "With engine 'mujoco' leave it at {!r}; mujoco.integrator chooses MuJoCo's method."
    else:
        foreign = tuple((param.name, param.default) for param in ENGINE_PARAMETERS[1:])
        remedy = "Leave it at {!r}, or set engine to 'mujoco'."
    for name, plain in foreign:
        if values[name] != plain:
            raise ArgumentError(
                f"has no meaning with engine {values['engine']!r}",
                where=f"parameter {name!r}",
                got=values[name],
                remedy=remedy.format(plain),
            )


def make_mujoco_plant(values: ParameterValues, model: RobotModel, urdf: str, **common: object) -> MujocoPlant:
    """The robot and its world in MuJoCo.

    Args:
        urdf: the text of the description, for geometry.
        common: what every plant takes.

    Raises:
        BackendError: MuJoCo is not installed.
        RobotDynamicsError: a scene, a shape or a mesh that cannot be used.
    """
    file = values["robot_description_file"]
    words = [param.name.rpartition(".")[2] for param in SHAPE_PARAMETERS]
    return MujocoPlant(
        model,
        1.0 / values["update_rate"],
        scene=values["mujoco.scene"] or None,
        shapes=[
            WorldShape(name, **{word: values[f"mujoco.{name}.{word}"] for word in words})
            for name in values["mujoco.shapes"]
        ],
        geometry=values["mujoco.geometry"],
        urdf=urdf,
        directory=values["mujoco.meshes"] or (Path(file).parent if file and Path(file).is_file() else None),
        self_collision=values["mujoco.self_collision"],
        surface_friction=values["mujoco.surface_friction"],
        contact_time=values["mujoco.contact_time"],
        integrator=values["mujoco.integrator"] or None,
        **common,
    )
