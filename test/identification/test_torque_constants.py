"""Currents of unknown unit and sign in place of efforts."""

import numpy as np
import pytest
from support.identification_data import wrong_robot

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.payload import carrying
from robot_dynamics_ros.identification import KnownLoad, find_torque_constants
from robot_dynamics_ros.identification.samples import MotionSamples
from robot_dynamics_ros.recordings import Recording

CONSTANTS = np.array([12.0, -7.5, 0.004, 2.0, -1.0, 30.0])


@pytest.fixture(scope="module")
def recorded():
    """A six-axis arm that weighs other than its URDF says, along sines, and its currents with
    noise.
    """
    prior = rd.load_robot("six_axis")
    truth = wrong_robot(prior, 5, 0.15)
    rng = np.random.default_rng(3)
    t = np.arange(0.0, 24.0, 0.005)
    w = rng.uniform(0.8, 3.0, (2, 6))
    phase = rng.uniform(0.0, 6.0, (2, 6))
    size = 0.5 * np.minimum(np.minimum(-prior.lower, prior.upper), 1.5)
    angle = t[:, None, None] * w + phase
    q, v, a = (
        size * x.mean(axis=1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle))
    )
    effort = (
        rd.inverse_dynamics(truth, q, v, a) + truth.damping * v + truth.friction * np.tanh(v / 0.02)
    )
    effort += 0.003 * np.abs(effort).max(axis=0) * rng.standard_normal(effort.shape)
    return prior, truth, t, q, effort


@pytest.mark.slow
def test_each_joints_constant_is_found_with_its_sign(recorded):
    prior, _, t, q, effort = recorded
    # it weighs nothing, see below
    wrist = {prior.joint_names[5]: CONSTANTS[5]}
    settings = rd.IdentificationSettings(friction="simple", currents=wrist)
    found = rd.identify(prior, t, q, effort / CONSTANTS, settings)
    constants = found.torque_constants
    share = constants.values / CONSTANTS
    assert (np.abs(share - 1.0) <= 3.0 * constants.error).all(), (share, constants.error)
    assert (constants.error < 0.3).all() and constants.given.tolist() == [False] * 5 + [True]
    assert any("one torque constant or mass" in note for note in found.notes)
    # how the constants compare is known better than how large they are
    assert np.ptp(share[:5]) < 0.15, share
    check = rd.validate(found, t, q, effort / CONSTANTS)
    assert (check.identified < 0.2 * check.effort).all()
    assert "Torque constants" in rd.report_text(found) and '"torque_constants"' in rd.report_json(
        found
    )


@pytest.mark.slow
def test_one_constant_that_is_known_tells_the_masses_of_all(recorded):
    prior, truth, t, q, effort = recorded
    name = prior.joint_names[1]
    settings = rd.IdentificationSettings(
        friction="simple", currents={name: CONSTANTS[1], prior.joint_names[5]: CONSTANTS[5]}
    )
    found = rd.identify(prior, t, q, effort / CONSTANTS, settings)
    assert found.torque_constants.values[1] == CONSTANTS[1] and found.torque_constants.given[1]
    np.testing.assert_allclose(found.torque_constants.values / CONSTANTS, 1.0, atol=0.05)
    poses = rd.random_configuration(prior, np.random.default_rng(0), size=50)
    error, wrong = (
        np.sqrt(np.mean((rd.gravity_forces(m, poses) - rd.gravity_forces(truth, poses)) ** 2))
        for m in (found.model, prior)
    )
    assert error < 0.4 * wrong


def test_a_joint_that_weighs_nothing_is_said_to_be_unknown(recorded):
    prior, _, t, q, effort = recorded
    found = rd.identify(
        prior, t, q, effort / CONSTANTS, rd.IdentificationSettings(friction="simple", currents={})
    )
    constants = found.torque_constants
    assert constants.known.tolist() == [True] * 5 + [False]
    assert np.isinf(constants.error[5]) and (constants.error[:5] < 0.3).all()
    assert any(f"constants of {prior.joint_names[5]} are not known" in note for note in found.notes)
    assert "unknown" in rd.report_text(found)
    for bad in (
        {"knee": 1.0},
        {prior.joint_names[0]: 0.0},
        {prior.joint_names[0]: "a"},
        {prior.joint_names[0]: np.nan},
    ):
        with pytest.raises(rd.RobotDynamicsError):
            rd.identify(prior, t, q, effort, rd.IdentificationSettings(currents=bad))


def test_a_known_load_tells_the_size_of_all_constants(recorded):
    # the prior's masses are 40 % too small: alone, they would make all constants too small
    prior, truth, t, q, effort = recorded
    light = rd.robot_model_error(prior, mass=1 / 1.4)
    v = np.gradient(q, t, axis=0)
    a = np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    payload = rd.Payload(prior.joint(prior.moving_joint_names[-1]).child, 4.0, (0.02, 0.0, 0.08))
    carried = rd.inverse_dynamics(carrying(truth, payload), q, v, a) - rd.inverse_dynamics(
        truth, q, v, a
    )
    loaded = Recording.of(prior, t, q, None, (effort + carried) / CONSTANTS)
    motion = MotionSamples.of(light, t, q, effort / CONSTANTS)
    wrist = {prior.joint_names[5]: CONSTANTS[5]}
    without = find_torque_constants(light, motion, wrist)
    found = find_torque_constants(
        light, motion, wrist, load=KnownLoad(payload.link, 4.0, (loaded,))
    )
    share = found.values / CONSTANTS
    assert (np.abs(share[1:4] - 1.0) < 0.1).all(), share
    assert (without.values / CONSTANTS)[1:4].max() < 0.85
    assert found.error[1] < 0.5 * without.error[1]
    with pytest.raises(rd.ArgumentError, match="known load"):
        KnownLoad(payload.link, -1.0, (loaded,))


def test_friction_shows_the_sign_of_a_constant_that_gravity_does_not(recorded):
    """The last body weighs next to nothing."""
    prior, _, t, q, effort = recorded
    for sign in (1.0, -1.0):
        constants = np.array([*CONSTANTS[:5], sign * CONSTANTS[5]])
        motion = MotionSamples.of(prior, t, q, effort / constants)
        found = find_torque_constants(prior, motion)
        assert not found.known[5]
        assert np.sign(found.values).tolist() == np.sign(constants).tolist()
