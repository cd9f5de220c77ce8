"""Wrists whose last motor turns with the sum of two joints' speeds: its friction and rotor act on
both joints.
"""

import json

import numpy as np
import pytest
from support.identification_data import wrong_robot

import robot_dynamics_ros as rd
from robot_dynamics_ros.friction.file import FrictionFile

# their speeds for those of the joints
MOTORS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
COULOMB = np.array([1.2, 0.8, 1.5])
VISCOUS = np.array([0.3, 0.2, 0.4])
ROTOR = np.array([0.0, 0.0, 0.02])


def motion(t, seed):
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 3.0, (3, 3))
    phase = rng.uniform(0.0, 6.0, (3, 3))
    angle = t[:, None, None] * w + phase
    return tuple(
        0.5 * x.sum(axis=-1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle))
    )


def efforts(truth, state, motors):
    """Friction and rotors in motor coordinates, brought to the joints by virtual work."""
    v = state[1] @ motors.T
    a = state[2] @ motors.T
    return (
        rd.inverse_dynamics(truth, *state)
        + (COULOMB * np.tanh(v / 0.02) + VISCOUS * v + ROTOR * a) @ motors
    )


def identified(motors):
    prior = (
        rd.load_robot("six_axis")
        .lock("shoulder_pan_joint")
        .lock("shoulder_lift_joint")
        .lock("elbow_joint")
    )
    truth = wrong_robot(prior, 3)
    t = np.arange(0.0, 24.0, 0.008)
    state = motion(t, 5)
    effort = efforts(truth, state, motors) + 0.05 * np.random.default_rng(1).standard_normal(
        (len(t), 3)
    )
    return truth, rd.identify(prior, t, state[0], effort)


@pytest.fixture(scope="module")
def coupled():
    return identified(MOTORS)


def test_the_coupling_is_found_with_the_motor_s_friction(coupled):
    _, found = coupled
    wrist = found.effects[1]
    last = found.effects[2]
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
    actual = efforts(truth, state, MOTORS)
    predicted = found.predict(*state)
    assert np.sqrt(np.mean((predicted - actual) ** 2)) < 0.1 * np.sqrt(np.mean((COULOMB[2]) ** 2))
    rd.friction_file(found).write(tmp_path / "friction.json")
    read = FrictionFile.read(tmp_path / "friction.json", found.model)
    whole = rd.inverse_dynamics(found.model, *state) + read.efforts(
        found.model, *state, (slice(0, len(state[0])),)
    )
    np.testing.assert_allclose(whole, predicted, atol=1e-9)


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_controllers_compensate_the_motor_s_friction(coupled, backend, tmp_path):
    """By virtual work: friction in motor coordinates, brought to the joints."""
    _, found = coupled
    model = found.model.with_backend(backend)
    joint = {"coulomb": 0.4, "viscous": 0.1, "smoothing": 0.02}
    motor = {"coupled_coulomb": 1.5, "coupled_viscous": 0.4}
    rows = [
        joint,
        {
            **joint,
            "coupled_after": 1.0,
            "coupled_width": 0.05,
            "effects": {**motor, "coupled_rotor": 0.02},
        },
        {**joint, "coupled_before": 1.0, "coupled_width": 0.05, "effects": motor},
    ]
    (tmp_path / "f.json").write_text(
        json.dumps({"joints": dict(zip(model.joint_names, rows, strict=True))})
    )
    file = FrictionFile.read(tmp_path / "f.json", model)
    with pytest.warns(
        rd.ModelWarning, match="controllers do not compensate coupled_rotor of wrist_2_joint$"
    ):
        friction = file.friction(model)
    v = np.array([0.3, -0.02, 0.05])
    u = MOTORS[2] @ v
    by_hand = 0.4 * np.tanh(v / 0.02) + 0.1 * v + (1.5 * np.tanh(u / 0.05) + 0.4 * u) * MOTORS[2]
    q = np.full(3, 0.2)
    law = rd.bind(
        model, rd.ComputedTorque(kp=100.0, kd=20.0, friction=friction, friction_at="measured")
    )
    np.testing.assert_allclose(
        law(q, v, q, v, 0.0 * q) - rd.inverse_dynamics(model, q, v, 0.0 * q), by_hand, atol=1e-12
    )
    np.testing.assert_allclose(
        friction.effort(np.tile(v, (4, 1))), np.tile(by_hand, (4, 1)), atol=1e-12
    )
    np.testing.assert_allclose(friction.scaled(0.5).effort(v), 0.5 * by_hand, atol=1e-12)


def test_a_coupling_that_no_robot_has_is_refused():
    model = rd.load_robot("two_link")
    for coupling in (
        [{}],
        [{}, {"coupled_before": 1.0, "coupled_coulomb": -1.0}],
        [{}, {"coupled_viscous": np.inf}],
    ):
        with pytest.raises(rd.ArgumentError, match="friction coupling"):
            rd.Friction.of(model, coupling=coupling)


def test_the_friction_for_control_is_that_of_the_motors(coupled):
    _, found = coupled
    v = np.random.default_rng(3).uniform(-1.5, 1.5, (200, 3))
    u = v @ MOTORS.T
    actual = (COULOMB * np.tanh(u / 0.02) + VISCOUS * u) @ MOTORS
    # of single joints alone
    own = rd.Friction.of(found.model).effort(v)
    error, without = (np.sqrt(np.mean((x - actual) ** 2)) for x in (found.friction.effort(v), own))
    assert error < 0.15 * np.sqrt(np.mean(actual**2)) and error < 0.3 * without


def test_joints_with_motors_of_their_own_are_not_coupled():
    _, found = identified(np.eye(3))
    assert not any("coupled" in form.effects for form in found.effects)
