"""Integrators, the simulated robot, its sensors, and when to step it.  Needs no ROS."""

from robot_dynamics_ros.model.published import publish
from robot_dynamics_ros.simulation.batch import BatchResult, monte_carlo, run_plants
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.effects.contact import GroundContact
from robot_dynamics_ros.simulation.effects.friction import JointFriction
from robot_dynamics_ros.simulation.effects.gears import GearSprings
from robot_dynamics_ros.simulation.effects.limits import CompliantStops, RigidStops
from robot_dynamics_ros.simulation.effects.springs import JointPD
from robot_dynamics_ros.simulation.integrators.methods import INTEGRATORS, make_integrator
from robot_dynamics_ros.simulation.model_error import random_model_error, robot_model_error
from robot_dynamics_ros.simulation.mujoco_engine.plant import Contact, MujocoPlant
from robot_dynamics_ros.simulation.mujoco_engine.world import (
    MUJOCO_INTEGRATORS,
    MujocoOptions,
    WorldShape,
)
from robot_dynamics_ros.simulation.pacing import Due, RealTimePacer
from robot_dynamics_ros.simulation.paths import CenterOfMassPaths, center_of_mass_paths
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plant_options import PlantOptions
from robot_dynamics_ros.simulation.plots import plot_run
from robot_dynamics_ros.simulation.sensors import JointReading, Sensors, SensorSettings
from robot_dynamics_ros.simulation.simulate import SimulationOptions, SimulationResult, simulate
from robot_dynamics_ros.simulation.simulated_robot import PlantPath

__all__ = [
    "simulate",
    "SimulationOptions",
    "SimulationResult",
    "plot_run",
    "Plant",
    "PlantOptions",
    "PlantPath",
    "RigidStops",
    "CompliantStops",
    "JointFriction",
    "JointPD",
    "GearSprings",
    "GroundContact",
    "Sensors",
    "SensorSettings",
    "JointReading",
    "MujocoPlant",
    "MujocoOptions",
    "Contact",
    "WorldShape",
    "ConstrainedPlant",
    "monte_carlo",
    "BatchResult",
    "robot_model_error",
    "random_model_error",
    "run_plants",
    "make_integrator",
    "INTEGRATORS",
    "MUJOCO_INTEGRATORS",
    "RealTimePacer",
    "Due",
    "center_of_mass_paths",
    "CenterOfMassPaths",
]

publish(__name__)
