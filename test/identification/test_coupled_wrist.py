"""Wrists whose last motor turns with the sum of two joints' speeds: its friction and rotor act on both joints."""

import numpy as np
import pytest
from support.identification_data import wrong_robot

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.friction_file import FrictionFile

MOTORS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])  # their speeds for those of the joints
COULOMB, VISCOUS, ROTOR = np.array([1.2, 0.8, 1.5]), np.array([0.3, 0.2, 0.4]), np.array([0.0, 0.0, 0.02])


def motion(t, seed):
    rng = np.random.default_rng(seed)
    w, phase = rng.uniform(0.5, 3.0, (3, 3)), rng.uniform(0.0, 6.0, (3, 3))
    angle = t[:, None, None] * w + phase
    return tuple(0.5 * x.sum(axis=-1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))


def efforts(truth, state, motors):
    """Friction and rotors in motor coordinates, brought to the joints by virtual work."""
    v, a = state[1] @ motors.T, state[2] @ motors.T
    return rd.inverse_dynamics(truth, *state) + (COULOMB * np.tanh(v / 0.02) + VISCOUS * v + ROTOR * a) @ motors


def identified(motors):
    prior = rd.load_robot("six_axis").lock("shoulder_pan_joint").lock("shoulder_lift_joint").lock("elbow_joint")
    truth = wrong_robot(prior, 3)
    t = np.arange(0.0, 24.0, 0.008)
    state = motion(t, 5)
    effort = efforts(truth, state, motors) + 0.05 * np.random.default_rng(1).standard_normal((len(t), 3))
    return truth, rd.identify(prior, t, state[0], effort)


@pytest.fixture(scope="module")
def coupled():
    return identified(MOTORS)


def test_the_coupling_is_found_with_the_motor_s_friction(coupled):
    _, found = coupled
    wrist, last = found.effects[1], found.effects[2]
    assert wrist.numbers["coupled_after"] == 1.0 and last.numbers["coupled_before"] == 1.0
    for joint in (1, 2):
        assert found.value(joint, "coupled_coulomb") == pytest.approx(COULOMB[2], rel=0.1)
        assert found.value(joint, "coupled_viscous") == pytest.approx(VISCOUS[2], rel=0.3)
    assert found.value(1, "coulomb") == pytest.approx(COULOMB[1], rel=0.2)
    assert found.value(2, "coulomb") < 0.1 * COULOMB[2]
    assert "coupled" not in found.effects[0].effects
    assert any("coupled" in note for note in found.notes)


def test_unseen_motion_is_predicted_by_the_file_too(coupled, tmp_path):
    truth, found = coupled
    state = motion(np.arange(0.0, 6.0, 0.004), 11)
    actual, predicted = efforts(truth, state, MOTORS), found.predict(*state)
    assert np.sqrt(np.mean((predicted - actual) ** 2)) < 0.1 * np.sqrt(np.mean((COULOMB[2]) ** 2))
    rd.friction_file(found).write(tmp_path / "friction.json")
    read = FrictionFile.read(tmp_path / "friction.json", found.model)
    whole = rd.inverse_dynamics(found.model, *state) + read.efforts(found.model, *state, (slice(0, len(state[0])),))
    np.testing.assert_allclose(whole, predicted, atol=1e-9)


def test_joints_with_motors_of_their_own_are_not_coupled():
    _, found = identified(np.eye(3))
    assert not any("coupled" in form.effects for form in found.effects)
