"""The simulator's parameters about its engine and, where that is MuJoCo, the world around the robot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues
from robot_dynamics_ros.simulation.mujoco_engine.convert import GEOMETRIES
from robot_dynamics_ros.simulation.mujoco_engine.options import MUJOCO_INTEGRATORS
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant
from robot_dynamics_ros.simulation.mujoco_engine.world import PRIMITIVES, WorldShape

ENGINES = ("robot_dynamics", "mujoco")

# fmt: off
ENGINE_PARAMETERS = (
    Param("engine", "robot_dynamics",
        "What simulates the robot: this package, or MuJoCo, which adds contact with a world (extra mujoco).",
        choices=ENGINES, read_only=True),
    Param("mujoco.scene", "", "MJCF file of the world around the robot; empty: no file.", read_only=True),
    Param("mujoco.shapes", (), "Names of primitive shapes in the world or on links; each has parameters of its own.",
        read_only=True),
    Param("mujoco.geometry", "collision", "By which elements of the URDF the robot touches things.", choices=GEOMETRIES,
        read_only=True),
    Param("mujoco.meshes", "", "Folder where relative mesh addresses start; empty: that of robot_description_file.",
        read_only=True),
    Param("mujoco.self_collision", False, "Links of the robot touch each other.", read_only=True),
    Param("mujoco.surface_friction", 0.8,
        "Coulomb's coefficient of the robot's surface; of two surfaces the larger one counts.", lower=0.0, upper=100.0,
        read_only=True),
    Param("mujoco.contact_time", 0.01, "Time in which a penetration decays; at least two substeps.", unit="s",
        lower=1e-5, upper=1.0, read_only=True),
    Param("mujoco.integrator", "", "Integration method of MuJoCo; empty: the scene's, else implicitfast.",
        choices=("", *MUJOCO_INTEGRATORS), read_only=True),
)
# fmt: on


def shape_parameters(name: str) -> list[Param]:
    """The parameters of one shape."""
    prefix = f"mujoco.{name}"

    def numbers(word: str, default: tuple[float, ...], text: str, unit: str) -> Param:
        return Param(f"{prefix}.{word}", default, text, unit=unit, element=float, read_only=True)

    return [
        Param(f"{prefix}.kind", "box", "What it is.", choices=tuple(PRIMITIVES), read_only=True),
        numbers("size", (), "Box: edges; sphere: radius; cylinder, capsule: radius, length; plane: none.", "m"),
        numbers("position", (0.0, 0.0, 0.0), "Where it is, or starts: in the world, or in the link's frame.", "m"),
        numbers("rpy", (0.0, 0.0, 0.0), "Roll, pitch, yaw.", "rad"),
        Param(f"{prefix}.mass", 0.0, "Such a body moves freely; 0: it stands still.", unit="kg", lower=0.0, read_only=True),
        Param(f"{prefix}.friction", 0.8, "Coulomb's coefficient.", lower=0.0, upper=100.0, read_only=True),
        Param(f"{prefix}.link", "", "The robot's link that it is fixed to; empty: none.", read_only=True),
    ]  # fmt: skip


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
    words = [param.name.rpartition(".")[2] for param in shape_parameters("")]
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
