"""Springs in gears as parameters of the simulator node."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.simulator.parameters import SIMULATOR_PARAMETERS, make_plant

ARM = rd.load_robot("two_link")
WINDUP = 0.01


def made(**given):
    values = {param.name: param.default for param in SIMULATOR_PARAMETERS}
    return make_plant(values | given, ARM, rd.to_urdf(ARM))


@pytest.mark.parametrize("engine", ["robot_dynamics", "mujoco"])
def test_every_joint_winds_up_by_the_parameter_at_its_effort_limit(engine):
    named = {"gears.windup": WINDUP, "gears.rotor": 0.1, "gears.encoder": "motor"}
    geometry = {"mujoco.geometry": "none"} if engine == "mujoco" else {}
    plant = made(engine=engine, **named, **geometry)
    np.testing.assert_allclose(plant.gears.stiffness, ARM.effort_limit / WINDUP)
    np.testing.assert_array_equal(plant.gears.rotors, 0.1)
    weight = rd.gravity_forces(plant.model, plant.q)
    wound = weight / plant.gears.stiffness
    np.testing.assert_allclose(plant.encoders()[0], plant.q + wound, rtol=1e-6, atol=1e-9)


def test_gears_are_rigid_without_the_parameter():
    assert made().gears is None


def test_play_without_a_spring_is_refused():
    with pytest.raises(ArgumentError, match=r"gears\.backlash.*gears\.windup"):
        made(**{"gears.backlash": 0.01})
