"""Errors that are printed are those of the files that are written, and least squares know no more
than bodies.
"""

import warnings

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.identification.held_out import FOLDS, better
from robot_dynamics_ros.recordings import Recording

# rad/s
SMOOTHING = 0.03


def motion(seed, duration):
    """Positions, velocities and accelerations of two joints at 500 Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 2e-3)
    w = rng.uniform(0.7, 6.0, (5, 2))
    size = rng.uniform(0.1, 0.35, (5, 2))
    phase = rng.uniform(0.0, 6.3, (5, 2))
    x = t[:, None, None] * w + phase
    return t, *(
        np.sum(size * w**k * f, axis=1) for k, f in enumerate((np.sin(x), np.cos(x), -np.sin(x)))
    )


@pytest.fixture(scope="module")
def found():
    """An arm with springs in its gears, which no body explains."""
    prior = rd.load_robot("two_link")
    truth = rd.random_model_error(prior, 1, mass=0.3, com=0.2, inertia=0.3)
    t, q, v, a = motion(1, 16.0)
    effort = rd.inverse_dynamics(truth, q, v, a) + 0.3 * v + 0.5 * np.tanh(v / SMOOTHING) + q
    effort += 0.05 * np.random.default_rng(1).standard_normal(effort.shape)
    settings = rd.IdentificationSettings(
        rd.FrictionTerms(smoothing=SMOOTHING), "simple", delay=0.0, plausibility="accept"
    )
    return rd.identify(prior, t, q, effort, settings), Recording.of(prior, t, q, None, effort)


def test_predictions_are_those_of_the_two_files(found, tmp_path):
    result, _ = found
    (tmp_path / "identified.urdf").write_text(result.urdf())
    rd.friction_file(result).write(tmp_path / "friction.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rd.load_urdf((tmp_path / "identified.urdf").read_text())
    file = FrictionFile.read(tmp_path / "friction.json", model)
    t, q, v, a = motion(2, 4.0)
    by_files = rd.inverse_dynamics(model, q, v, a) + file.efforts(
        model, q, v, a, (slice(0, len(t)),)
    )
    np.testing.assert_allclose(by_files, result.predict(q, v, a), atol=1e-9)


def test_the_error_that_is_printed_for_controllers_is_theirs(found):
    result, recording = found
    check = rd.compare(result, recording).check
    np.testing.assert_allclose(check.controllers, result.controller_rms, rtol=1e-9)
    np.testing.assert_allclose(check.identified, result.rms, rtol=1e-9)
    text = rd.report_text(result)
    assert f"{result.controller_rms[0]:.4g}" in text
    assert f"{result.prediction_rms[0]:.4g}" in text


def test_the_baseline_is_weighted_least_squares_with_the_same_friction(found):
    result, recording = found
    estimates = rd.compare_estimators(result, [recording], [])
    theirs = estimates.error[estimates.names.index("weighted least squares")]
    np.testing.assert_allclose(result.least_squares_rms, theirs, rtol=0.02)
    assert f"{result.least_squares_rms[0]:.4g}" in rd.report_text(result)


def test_fewer_than_seven_stretches_that_gain_are_no_gain():
    old = np.ones(FOLDS)
    new = np.where(np.arange(FOLDS) < 6, 0.0, 1.0)
    assert not better(new, old, 0.01, 0.0)
    assert better(np.where(np.arange(FOLDS) < 7, 0.0, 1.0), old, 0.01, 0.0)
