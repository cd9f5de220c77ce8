"""The share of plain least squares in predictions: never worse than bodies, nor than least
squares.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.held_out import FOLDS, GAIN, LEAST_EFFORT_SHARE, share_of

# rad/s
SMOOTHING = 0.03


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10.0), st.floats(-1.0, 1.0))
def test_a_mixture_is_never_worse_than_either(seed, size, alike):
    rng = np.random.default_rng(seed)
    one = rng.standard_normal((10 * FOLDS, 3))
    two = size * (alike * one + (1.0 - abs(alike)) * rng.standard_normal(one.shape))
    one[rng.random(one.shape) < 0.1] = np.nan
    two = np.where(np.isnan(one), np.nan, two)
    share = share_of(one, two, np.ones(3))
    mixed, a, b = (np.nansum(x**2, axis=0) for x in (one + share * (two - one), one, two))
    assert ((share >= 0.0) & (share <= 1.0)).all()
    assert (mixed <= a).all()
    assert (np.sqrt((a - mixed)[share > 0.0] / len(one)) > LEAST_EFFORT_SHARE).all()
    # unless fewer than seven of the twelve stretches gain
    used = share > 0.0
    assert (mixed[used] <= b[used] * (1.0 + 1e-9)).all() and (
        mixed[used] <= (1.0 - GAIN) * a[used]
    ).all()


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


def efforts(model, q, v, a):
    """With springs, as gears have that wind up: no body is like that, but negative rotor inertias
    are at one frequency.
    """
    return rd.inverse_dynamics(model, q, v, a) + 0.3 * v + 0.5 * np.tanh(v / SMOOTHING) + q


def columns(model, q, v, a):
    """Of plain least squares: base parameters, friction, offset and a rotor of every joint."""
    Y = rd.joint_torque_regressor(model, q, v, a)[..., rd.base_parameters(model).independent]
    own = np.stack([np.tanh(v / SMOOTHING), v, np.ones_like(v), a], axis=-1)
    return np.concatenate([Y, *(own * (np.arange(2) == j)[:, None] for j in range(2))], axis=-1)


def test_simple_friction_predicts_no_worse_than_plain_least_squares():
    prior = rd.load_robot("two_link")
    terms = rd.FrictionTerms(smoothing=SMOOTHING)
    settings = rd.IdentificationSettings(terms, "simple", delay=0.0, plausibility="accept")
    ratios = []
    for seed in range(1, 5):
        truth = rd.random_model_error(prior, seed, mass=0.3, com=0.2, inertia=0.3)
        t, *states = motion(seed, 24.0)
        known, unseen = ([x[part] for x in states] for part in (slice(8000), slice(8000, None)))
        effort = efforts(truth, *known) + 0.05 * np.random.default_rng(seed).standard_normal(
            (8000, 2)
        )
        found = rd.identify(prior, t[:8000], known[0], effort, settings)
        W = columns(prior, *known)
        plain = np.linalg.lstsq(W.reshape(-1, W.shape[-1]), effort.ravel(), rcond=1e-10)[0]
        q, v, a = unseen
        bodies = rd.inverse_dynamics(found.model, q, v, a) + found.friction.effort(v) + found.offset
        left = (
            x - efforts(truth, q, v, a)
            for x in (found.predict(q, v, a), columns(prior, q, v, a) @ plain, bodies)
        )
        error, of_plain, of_bodies = (np.sqrt(np.mean(x**2)) for x in left)
        assert found.least_squares_share.any() and any(
            "base parameters predict" in note for note in found.notes
        )
        ratios.append((error / of_plain, error / of_bodies))
    # cross-validation chooses from 16 s: one recording can be unlucky, several are not
    of_plain, of_bodies = np.exp(np.mean(np.log(ratios), axis=0))
    assert of_plain < 1.0 and of_bodies < 0.6 and np.max(ratios) < 1.1, ratios
