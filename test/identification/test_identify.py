"""Robots that are not as drawn, found out from what their simulated sensors say."""

import gc
import json
import tracemalloc

import numpy as np
import pytest
from support.identification_data import excitation, record, wrong_robot

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.consistent import is_consistent

# each robot is identified once, for all of them
pytestmark = pytest.mark.slow

# of the effort limits
NOISE = 0.01
CASES = {"two_link": 3, "seven_axis": 2}


@pytest.fixture(scope="module", params=sorted(CASES))
def case(request):
    """Prior, truth, and identifications from 20 s of noisy motion: forms of friction chosen, and as
    they are.
    """
    prior = rd.load_robot(request.param)
    seed = CASES[request.param]
    truth = wrong_robot(prior, seed)
    limit = np.where(np.isfinite(prior.effort_limit), prior.effort_limit, 20.0)
    offset = np.linspace(-1.0, 1.0, prior.nv) * 0.01 * limit
    t, q, effort, _ = record(
        truth,
        prior,
        excitation(prior, seed),
        offset=offset,
        effort_noise=NOISE * limit,
        position_noise=2e-5,
        seed=seed,
        dt=2e-3 if prior.nv == 2 else 4e-3,
    )
    known = rd.identify(prior, t, q, effort, rd.IdentificationSettings(friction="simple"))
    return prior, truth, offset, rd.identify(prior, t, q, effort), limit, known


def true_base(found, truth, offset):
    values = found.parameters.values(truth)
    values[found.parameters.of("offset")] = offset
    return found.identifiable.base.values(values)


def test_base_parameters_lie_within_their_stated_confidence(case):
    # the intervals are for the form of friction that the result has: here the simulation's
    _, truth, offset, _, _, found = case
    base = found.base
    error = base.values - true_base(found, truth, offset)
    n = len(error)
    # 95 % intervals: that fewer than 85 % of some tens cover the truth has a probability below one
    # in a thousand
    assert np.mean(np.abs(error) <= base.half_width) > (0.85 if n > 30 else 0.7)
    z = error / base.standard_error
    assert np.sqrt(np.mean(z**2)) < 1.5
    assert np.abs(z).max() < 5.0
    assert not base.unseen and base.confidence == 0.95


def test_intervals_are_narrow_where_it_matters(case):
    prior, truth, offset, _, _, found = case
    wrong = np.abs(true_base(found, prior, 0.0 * offset) - true_base(found, truth, offset))
    before, after = (
        np.linalg.norm(x * found.identifiable.sensitivity) for x in (wrong, found.base.half_width)
    )
    assert after < 0.1 * before


def test_it_predicts_the_efforts_of_motions_it_has_not_seen(case):
    prior, truth, offset, found, limit, _ = case
    t, q, effort, _ = record(
        truth, prior, excitation(prior, 77, period=10.0, evaluations=30), offset=offset, seed=5
    )
    check = rd.validate(found, t, q, effort)
    # noise-free efforts: what is left is error of the parameters, less than one block's noise
    assert (check.identified < np.maximum(0.5 * NOISE * limit, 0.02 * check.effort)).all()
    assert np.linalg.norm(check.identified / limit) < 0.1 * np.linalg.norm(check.prior / limit)
    k = slice(1000, 1050)
    v = np.gradient(q, t, axis=0)
    a = np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    moving = (np.abs(v[k]) > 0.1).all(axis=0)
    assert (
        np.abs(found.predict(q[k], v[k], a[k]) - effort[k])[:, moving] < 0.02 * limit[moving]
    ).all()


def test_masses_lie_within_what_the_report_says_of_them(case):
    # masses are not known by efforts alone: the interval holds how far bodies may well be from what
    # was known, too
    _, truth, _, _, _, found = case
    bodies = found.parameters.bodies
    error = found.full.standard_error
    wrong = (found.full.values - found.parameters.values(truth))[bodies][::10]
    z = wrong / error[bodies][::10]
    assert (np.abs(z) < 3.5).all() and np.sqrt(np.mean(z**2)) < 1.6, z
    # and it says something
    assert (error[bodies][::10] < found.full.values[bodies][::10]).all()
    shown = found.base.standard_error < np.inf
    assert shown.all() and (error > 0.0).any()


def test_bodies_can_exist_and_explain_as_much_as_the_base_parameters(case):
    _, _, _, found, _, _ = case
    assert is_consistent(rd.inertial_parameters(found.model).reshape(-1, 10)).all()
    assert is_consistent(found.full.values[found.parameters.bodies].reshape(-1, 10)).all()
    assert (found.rms < 1.03 * found.base.noise).all()
    assert (found.model.damping >= 0.0).all() and (found.model.friction >= 0.0).all()
    assert found.full.converged


def test_the_urdf_is_the_robot_found_with_everything_else_as_it_was(case):
    prior, _, _, found, _, _ = case
    text = found.urdf()
    again = rd.load_urdf(text)
    np.testing.assert_allclose(
        rd.inertial_parameters(again), rd.inertial_parameters(found.model), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(again.damping, found.model.damping)
    np.testing.assert_allclose(again.friction, found.model.friction)
    assert again.joint_names == prior.joint_names and again.link_names == prior.link_names
    np.testing.assert_array_equal(again.upper, prior.upper)
    for tag in ("<visual", "<collision", "<ros2_control"):
        assert text.count(tag) == prior.description.source.count(tag)


def test_the_report_names_everything(case):
    prior, _, _, found, _, _ = case
    text = rd.report_text(found)
    data = json.loads(rd.report_json(found))
    for name in (*prior.joint_names, *found.base.names):
        assert name in text
    assert len(data["base_parameters"]) == len(found.base.names)
    assert data["parameters"] == dict(
        zip(found.parameters.names, found.full.values.tolist(), strict=True)
    )


@pytest.fixture(scope="module")
def clean():
    """Noise-free motion of a two-link arm, its drives 12 ms late, with a hump of friction."""
    prior = rd.load_robot("two_link")
    truth = wrong_robot(prior, 8, 0.15)
    friction = rd.JointFriction(viscous=0.3, coulomb=0.6, static=1.5, stribeck_velocity=0.15)
    motion = excitation(prior, 2, period=30.0, harmonics=3)
    return prior, truth, friction, record(truth, prior, motion, friction=friction)


def test_late_efforts_are_noticed(clean):
    prior, _, _, (t, q, effort, _) = clean
    # of 2 ms
    late = np.concatenate([np.repeat(effort[:1], 6, axis=0), effort[:-6]])
    found = rd.identify(prior, t, q, late)
    assert found.delay == pytest.approx(0.012, abs=0.002)
    fixed = rd.identify(prior, t, q, late, rd.IdentificationSettings(delay=0.0))
    assert (found.base.noise <= fixed.base.noise).all() and found.base.noise[
        0
    ] < 0.9 * fixed.base.noise[0]


def test_the_rise_of_friction_towards_rest_is_found(clean):
    prior, _, _, (t, q, effort, _) = clean
    found = rd.identify(prior, t, q, effort, rd.IdentificationSettings(delay=0.0, block=0.02))
    plain = rd.identify(
        prior, t, q, effort, rd.IdentificationSettings(delay=0.0, block=0.02, friction="simple")
    )
    for j in range(2):
        assert "stribeck" in found.effects[j].effects
        assert found.friction.breakaway[j] == pytest.approx(1.5, rel=0.15)
        assert found.friction.coulomb[j] == pytest.approx(0.6, abs=0.1)
        assert found.effects[j].numbers["stribeck_speed"] == pytest.approx(0.15, rel=0.25)
    assert (found.rms < 0.6 * plain.rms).all()
    assert (found.prediction_rms < 0.6 * found.simple_rms).all()
    # well above the speed over which the step at zero is smoothed
    v = np.full(2, 0.2)
    np.testing.assert_allclose(
        found.friction.effort(v), 0.3 * v + 0.6 + 0.9 * np.exp(-((v / 0.15) ** 2)), rtol=0.05
    )


def test_a_joint_that_stands_still_is_named(clean):
    prior, _, _, (t, q, effort, _) = clean
    still = q.copy()
    still[:, 1] = q[0, 1]
    with pytest.raises(rd.PoorExcitation, match=r"elbow\.viscous.*'elbow' hardly moved") as error:
        rd.identify(prior, t, still, effort)
    assert {"elbow.viscous", "elbow.coulomb"} <= set(error.value.parameters)
    assert isinstance(error.value, rd.ArgumentError)


def test_what_is_not_shown_may_stay_as_it_was(clean):
    prior, truth, _, _ = clean
    locked = truth.lock("elbow", at={"elbow": 0.4})
    motion = excitation(locked, 1, period=10.0, harmonics=3)
    t, q, effort, _ = record(locked, prior.lock("elbow", at={"elbow": 0.4}), motion)
    both = np.column_stack([q, np.full(len(q), 0.4)])
    found = rd.identify(
        prior,
        t,
        both,
        np.column_stack([effort, np.zeros(len(q))]),
        rd.IdentificationSettings(unseen="keep"),
    )
    assert "elbow.viscous" in found.base.unseen
    assert np.isinf(found.base.half_width[found.base.names.index("elbow.viscous")])
    assert found.model.damping[1] == pytest.approx(prior.damping[1])
    assert found.rms[0] < 0.05 * found.prior_rms[0]
    assert "kept as before" in rd.report_text(found)
    assert json.loads(rd.report_json(found))["unseen"]


def test_slow_motion_alone_shows_no_inertia():
    prior = rd.load_robot("three_link")
    motion = excitation(prior, 1, period=400.0, harmonics=3, evaluations=50)
    t = np.arange(0.0, motion.period, 0.05)
    q = motion.at(t)
    with pytest.raises(rd.PoorExcitation, match=r"does not show .*I[xyz]{2}"):
        rd.identify(
            prior, t, q, rd.gravity_forces(prior, q) + prior.friction * np.sign(motion.at(t, 1))
        )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t, q, e: (t, q[:, :1], e), r"q: expected shape \(\.\.\., 2\), got"),
        (lambda t, q, e: (t, q, e[:-1]), "effort: expected"),
        (
            lambda t, q, e: (t, q, np.where(np.arange(len(t))[:, None] == 5, np.nan, e)),
            r"effort: expected finite numbers, got nan at index \[5, 0\]",
        ),
        (lambda t, q, e: (t[::-1], q, e), "do not increase"),
        (lambda t, q, e: (t[:10], q[:10], e[:10]), "too few"),
        (lambda t, q, e: (t[:200], q[:200], e[:200]), "usable rows are too few"),
    ],
)
def test_bad_data_are_refused_by_name(clean, change, match):
    prior, _, _, (t, q, effort, _) = clean
    with pytest.raises(rd.ArgumentError, match=match):
        rd.identify(prior, *change(t, q, effort))


@pytest.mark.parametrize(
    "settings",
    [
        {"window": 0.0},
        {"confidence": 1.0},
        {"unseen": "guess"},
        {"delay": 2.0},
        {"spread": -1.0},
        {"friction": ("stribeck", "magic")},
    ],
)
def test_nonsense_settings_are_refused(settings):
    with pytest.raises(rd.RobotDynamicsError):
        rd.IdentificationSettings(**settings)


def test_nothing_of_an_identification_stays_when_its_result_is_gone(clean):
    prior, _, _, (t, q, effort, _) = clean
    rows = slice(0, 4000)
    settings = rd.IdentificationSettings(friction="simple")
    # it fills caches (compiled functions)
    rd.identify(prior, t[rows], q[rows], effort[rows], settings)
    tracemalloc.start()
    try:
        rd.identify(prior, t[rows], q[rows], effort[rows], settings)
        gc.collect()
        alive, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # a motion of these rows has 200 kB in every table
    assert alive < 50_000
