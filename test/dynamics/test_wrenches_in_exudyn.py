"""Every output of Exudyn's sensor on a kinematic tree, in world and in link coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import robot_dynamics_ros as rd

exu = pytest.importorskip("exudyn")
from exudyn.itemInterface import SensorKinematicTree  # noqa: E402
from support.exudyn_chain import ExudynChain, about_z  # noqa: E402

N = 4
POINT = (0.2, -0.1, 0.3)
OUTPUTS = (
    "Position",
    "Displacement",
    "Rotation",
    "RotationMatrix",
    "Velocity",
    "VelocityLocal",
    "Acceleration",
    "AccelerationLocal",
    "AngularVelocity",
    "AngularVelocityLocal",
    "AngularAcceleration",
    "AngularAccelerationLocal",
)


def sensors_after_a_while(model, q0, v0, link):
    """Coordinates with two derivatives, and sensor values by name."""
    chain = ExudynChain(model, q0, v0)
    number = {
        name: chain.system.AddSensor(
            SensorKinematicTree(
                objectNumber=chain.tree,
                linkNumber=link,
                localPosition=list(POINT),
                writeToFile=False,
                outputVariableType=getattr(exu.OutputVariableType, name),
            )
        )
        for name in OUTPUTS
    }
    chain.run(0.02, 20)
    values = {name: np.array(chain.system.GetSensorValues(k)) for name, k in number.items()}
    return chain.coordinates("Coordinates", "Coordinates_t", "Coordinates_tt"), values


@pytest.mark.parametrize("link", range(N))
def test_sensor_outputs(link):
    model = about_z(3, N)
    rng = np.random.default_rng(link)
    (q, v, a), theirs = sensors_after_a_while(model, *rng.uniform(-1.0, 1.0, (2, N)), link)
    name = model.joint(model.joint_names[link]).child
    world = rd.motion(model, q, v, a, point_on=name, offset=POINT)
    local = rd.motion(model, q, v, a, point_on=name, offset=POINT, expressed_in=name)
    ours = {
        "Position": world.position,
        "Displacement": world.displacement,
        "Rotation": world.tait_bryan,
        "RotationMatrix": world.rotation.ravel(),
        "Velocity": world.velocity,
        "VelocityLocal": local.velocity,
        "Acceleration": world.acceleration,
        "AccelerationLocal": local.acceleration,
        "AngularVelocity": world.angular_velocity,
        "AngularVelocityLocal": local.angular_velocity,
        "AngularAcceleration": world.angular_acceleration,
        "AngularAccelerationLocal": local.angular_acceleration,
    }
    assert np.abs(a).max() > 0.1
    for output in OUTPUTS:
        np.testing.assert_allclose(
            ours[output], theirs[output], atol=1e-9 * max(1.0, np.abs(a).max()), err_msg=output
        )
