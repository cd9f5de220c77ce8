"""Estimators side by side: noise of positions biases least squares, and not those that look at
commanded positions.
"""

import json

import numpy as np
import pytest
from support.identification_data import excitation

import robot_dynamics_ros as rd
from robot_dynamics_ros.recordings import Recording

STEP = 1e-3
KP = 400.0
KD = 30.0
NOISE = 2e-3
DRAWS = 6


def closed_loop(prior, truth, motion, duration):
    """Commanded and true positions and motor efforts of a drive that knows ``prior``."""
    t = STEP * np.arange(round(duration / STEP))
    q, v, a = (motion.at(t, k) for k in range(3))
    ahead = rd.inverse_dynamics(prior, q, v, a) + rd.Friction.of(prior).effort(v)
    plant = rd.Plant(
        truth, STEP, springs=rd.JointPD(KP, KD), stops=None, limiter=False, q0=q[0], v0=v[0]
    )
    path = plant.run(ahead + KP * q + KD * v)
    states = np.concatenate([q[:1], path.q])
    speeds = np.concatenate([v[:1], path.v])
    middle, speed = (0.5 * (x[:-1] + x[1:]) for x in (states, speeds))
    return t, q, states[:-1], ahead + KP * (q - middle) + KD * (v - speed)


@pytest.fixture(scope="module")
def case():
    prior = rd.load_robot("two_link")
    truth = rd.robot_model_error(rd.random_model_error(prior, 1, com=0.2), mass=1.3, friction=1.5)
    t, command, q, effort = closed_loop(
        prior, truth, excitation(prior, 1, period=6.0, evaluations=30), 6.0
    )
    settings = rd.IdentificationSettings(friction="simple", window=0.02, delay=0.0)
    found = rd.identify(prior, t, q, effort, settings)
    reference = Recording("command", prior.joint_names, t, command, None, None, np.arange(len(t)))
    runs = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        noisy = (
            q + NOISE * rng.standard_normal(q.shape),
            effort + 0.02 * rng.standard_normal(q.shape),
        )
        recording = Recording(
            "run", prior.joint_names, t, noisy[0], None, noisy[1], np.arange(len(t))
        )
        runs.append(rd.compare_estimators(found, [recording], [reference], rd.JointPD(KP, KD)))
    return found, truth, runs


def test_noise_of_positions_biases_least_squares_and_not_estimators_along_the_command(case):
    found, truth, runs = case
    true = found.identifiable.base.values(found.parameters.values(truth))
    strength = found.identifiable.sensitivity
    error = {n: np.stack([r.values[k] for r in runs]) - true for k, n in enumerate(runs[0].names)}
    bias = {n: np.linalg.norm(e.mean(axis=0) * strength) for n, e in error.items()}
    for name in ("least squares", "weighted least squares"):
        z = error[name].mean(axis=0) / (error[name].std(axis=0, ddof=1) / np.sqrt(DRAWS))
        assert np.abs(z).max() > 20.0
        assert (
            bias["instrumental variables"] < 0.2 * bias[name]
            and bias["output error"] < 0.05 * bias[name]
        )
    k = runs[0].names.index("instrumental variables")
    inside = [
        np.abs(e) < 1.96 * r.standard_error[k]
        for e, r in zip(error[runs[0].names[k]], runs, strict=True)
    ]
    assert np.mean(inside) > 0.9
    # the table shows that something is wrong
    assert (np.array([r.change[k] for r in runs]) > 2.0).all()


def test_without_noise_all_estimators_agree_and_effects_are_worth_what_they_are(case):
    found, truth, _ = case
    prior = found.prior
    t, command, q, effort = closed_loop(
        prior, truth, excitation(prior, 1, period=6.0, evaluations=30), 6.0
    )
    runs = [
        Recording("x", prior.joint_names, t, x, None, e, np.arange(len(t)))
        for x, e in ((q, effort), (command, None))
    ]
    estimates = rd.compare_estimators(found, runs[:1], runs[1:], rd.JointPD(KP, KD))
    true = found.identifiable.base.values(found.parameters.values(truth))
    strength = found.identifiable.sensitivity
    for name, values in zip(estimates.names, estimates.values, strict=True):
        assert np.linalg.norm((values - true) * strength) < 0.005, name
    weighted = estimates.error[estimates.names.index("weighted least squares")]
    assert (estimates.without["coulomb"] > 5.0 * weighted).all()
    # there is none
    assert (estimates.without["offset"] < 2.0 * weighted).all()
    text = rd.report_text(found, estimates=estimates)
    table = rd.report_text(found)
    assert "## Estimators side by side" in text and "## Estimators side by side" not in table
    for word in (*estimates.names, *estimates.without, *estimates.parameters):
        assert f"| {word} " in text
    document = json.loads(rd.report_json(found, estimates=estimates))
    assert document["estimators"]["output error"]["values"] == estimates.values[3].tolist()


def test_references_must_fit_the_recordings(case):
    found, _, _ = case
    prior = found.prior
    t = STEP * np.arange(6000)
    q = np.column_stack([np.sin(3.0 * t), np.sin(4.0 * t)])
    run = Recording("run", prior.joint_names, t, q, None, q**3, np.arange(len(t)))
    other = Recording("other", prior.joint_names, t + 5.0, q, None, None, np.arange(len(t)))
    with pytest.raises(rd.ArgumentError, match=r"one for each of 1 recordings, got 2"):
        rd.compare_estimators(found, [run], [other, other])
    with pytest.raises(rd.ArgumentError, match=r"other: .*same clock"):
        rd.compare_estimators(found, [run], [other])
