"""What a locked joint carries stays in the URDF, and so does all that only the URDF holds."""

import warnings

import numpy as np
import pytest
from support.example_robots import example_urdf

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.robot import released, urdf_of, with_parameters


@pytest.mark.parametrize("factor", [0.1, 0.8, 1.3])
def test_locked_fingers_keep_their_mass_meshes_limits_and_mimic(factor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = rd.load_urdf(str(example_urdf("panda.urdf")))
    locked = whole.lock(["panda_finger_joint1"], {"panda_finger_joint1": 0.01})
    parameters = EffortParameters(locked)
    values = parameters.values()
    values[parameters.bodies].reshape(-1, 10)[-1] *= (
        # at 0.1 less than the hand and the fingers as known
        factor
    )
    found = with_parameters(parameters, values)
    source = whole.description.source
    with warnings.catch_warnings():
        warnings.simplefilter("error", rd.ModelWarning)
        text = urdf_of(released(found, whole), source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = rd.load_urdf(text)
    assert again.joint_names == whole.joint_names and again.link_names == whole.link_names
    for tag in ("<mesh", "<mimic", "<limit", "<safety_controller"):
        assert text.count(tag) == source.count(tag)
    assert (
        again.link("panda_hand").inertia.mass > 0.0
        and again.link("panda_leftfinger").inertia.mass > 0.0
    )
    again = again.lock(["panda_finger_joint1"], {"panda_finger_joint1": 0.01})
    np.testing.assert_allclose(
        rd.inertial_parameters(again),
        values[parameters.bodies],
        rtol=1e-9,
        atol=1e-9 * again.total_mass,
    )
