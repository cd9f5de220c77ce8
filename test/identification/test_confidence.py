"""Intervals when the residuals are no white noise: drawn again and again, the truth lies in them as
often as they say.
"""

import numpy as np
import pytest
from scipy.signal import lfilter

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.held_out import held_out_least_squares, root_mean_square
from robot_dynamics_ros.identification.least_squares import (
    FOLDS,
    identifiable_parameters,
    interval_factor,
    pieces,
    weighted_least_squares,
)
from robot_dynamics_ros.identification.samples import Blocks

DRAWS = 24
BLOCKS = 400
STEP = 0.05
# rad/s, over which dry friction changes its direction
SMOOTHING = 0.03


@pytest.fixture(scope="module")
def motion():
    """Columns of a two-link arm along a motion, and its true base parameters."""
    model = rd.load_robot("two_link")
    known = identifiable_parameters(EffortParameters(model))
    t = STEP * np.arange(BLOCKS)
    w = np.array([[0.9, 1.7, 3.1], [1.3, 2.3, 4.3]])
    phase = np.array([[0.1, 1.0, 2.0], [0.5, 1.5, 0.2]])
    angle = t[:, None, None] * w + phase
    q = np.sin(angle).sum(-1)
    v = (w * np.cos(angle)).sum(-1)
    a = -(w**2 * np.sin(angle)).sum(-1)
    return (
        known,
        known.parameters.regressor(q, v, a),
        v,
        known.base.values(known.parameters.values()),
    )


@pytest.mark.parametrize(
    ("alike", "shared"),
    [(0.0, 0.0), (0.9, 0.0), (0.7, 0.95)],
    ids=["white", "slow", "slow_and_shared"],
)
def test_standard_errors_are_those_of_repeated_draws(motion, alike, shared):
    known, Y, v, truth = motion
    rng = np.random.default_rng(1)
    use = np.ones(v.shape, dtype=bool)
    part = np.zeros(BLOCKS, dtype=np.int64)
    clean = Y @ known.parameters.values()
    z = []
    for _ in range(DRAWS):
        white = rng.standard_normal((BLOCKS + 100, 2))
        # what shakes both joints
        white = np.sqrt(1.0 - shared) * white + np.sqrt(shared) * white[:, :1]
        noise = lfilter([np.sqrt(1.0 - alike**2)], [1.0, -alike], white, axis=0)[100:]
        found = weighted_least_squares(known, Blocks(Y, clean + 0.3 * noise, use, v, part))
        z.append((found.values - truth) / found.standard_error)
    size = np.sqrt(np.mean(np.square(z), axis=0))
    # a mean of 24 squares of standard deviation 1 lies below 1.5 squared with great certainty
    assert (size < 1.5).all() and np.sqrt(np.mean(size**2)) < 1.2
    # honest, and not boundless
    assert np.sqrt(np.mean(size**2)) > (0.8 if alike == 0.0 else 0.4)
    assert np.mean(np.abs(z) < 2.0) > 0.9


def repeated(motion, times):
    """Blocks of a third of the motion, so many times, with an effort that no column has."""
    known, Y, v, _ = motion
    period = BLOCKS // 3
    unknown = 0.3 * np.tanh(3.0 * v)[:period] * np.cos(5.0 * v[:period])
    rows = np.tile(np.arange(period), times)
    return Blocks(
        Y[rows],
        Y[rows] @ known.parameters.values() + unknown[rows],
        np.ones((len(rows), 2), dtype=bool),
        v[rows],
        np.zeros(len(rows), dtype=np.int64),
    )


def test_repetitions_of_one_motion_do_not_hide_what_the_model_does_not_know(motion):
    """The effort that no column has is the same in each repetition: intervals and errors of
    prediction of three repetitions are those of one.
    """
    known = motion[0]
    blocks = [repeated(motion, times) for times in (3, 1)]
    thrice, once = (weighted_least_squares(known, b) for b in blocks)
    assert thrice.standard_error == pytest.approx(once.standard_error, rel=0.05)
    errors = [
        root_mean_square(held_out_least_squares(known, b, found))
        for b, found in zip(blocks, (thrice, once), strict=True)
    ]
    assert errors[0] == pytest.approx(errors[1], rel=0.02)
    assert (errors[0] > thrice.noise).all()


def test_pieces_are_twelfths_of_what_is_new(motion):
    thrice = repeated(motion, 3)
    period = BLOCKS // 3
    piece = pieces(thrice)
    twelfths = np.arange(period) * FOLDS // period
    assert piece.tolist() == np.tile(twelfths, 3).tolist()
    # beside a recording of another motion that does not repeat
    other = np.cumsum(np.random.default_rng(0).standard_normal((90, 2)), axis=0)
    both = Blocks(
        np.zeros((3 * period + 90, 2, 1)),
        np.zeros((3 * period + 90, 2)),
        np.ones((3 * period + 90, 2), dtype=bool),
        np.concatenate([thrice.v, other]),
        np.repeat([0, 1], [3 * period, 90]),
    )
    assert pieces(both).tolist() == [*piece.tolist(), *(np.arange(90) * FOLDS // 90).tolist()]


def test_intervals_know_that_twelve_pieces_are_few():
    # Student's t with 11 degrees of freedom, from a table
    assert interval_factor(0.95) == pytest.approx(2.201, abs=1e-3)
    assert interval_factor(0.99) == pytest.approx(3.106, abs=1e-3)


def sliding(seed, warmth=1.0, rise=0.0):
    """Times, positions and efforts (n, 2) of a two-link arm with friction, which may be less in a
    warm gear.
    """
    model = rd.load_robot("two_link")
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 30.0, 0.005)
    w = rng.uniform(0.5, 4.0, (4, 2))
    x = t[:, None, None] * w + rng.uniform(0.0, 6.3, (4, 2))
    size = 0.25
    q, v, a = (
        np.sum(size * w**k * f, axis=1) for k, f in enumerate((np.sin(x), np.cos(x), -np.sin(x)))
    )
    friction = 0.4 * v + np.tanh(v / SMOOTHING) * (0.8 + rise * np.exp(-((v / 0.2) ** 2)))
    effort = rd.inverse_dynamics(model, q, v, a) + warmth * friction
    return model, t, q, effort + 0.02 * rng.standard_normal(effort.shape)


def friction_of(found):
    """Names, values and half-widths of the joints' viscous and Coulomb friction."""
    base = found.base
    own = [k for k, n in enumerate(base.names) if n.endswith((".viscous", ".coulomb"))]
    return [base.names[k] for k in own], base.values[own], base.half_width[own]


def test_intervals_hold_on_another_day():
    """Warm gears have 4 % less friction: that is no other arm."""
    terms = rd.FrictionTerms(smoothing=SMOOTHING)
    settings = rd.IdentificationSettings(terms, "simple", delay=0.0)
    cold, warm = (
        rd.identify(*sliding(seed, warmth), settings) for seed, warmth in ((2, 1.0), (4, 0.96))
    )
    names, values, width = friction_of(cold)
    other, there, width_there = friction_of(warm)
    assert names == other and len(names) == 4
    assert (np.abs(values - there) < np.hypot(width, width_there)).all()
    # what controllers get is for the day of the recording
    assert (cold.friction_certain > 0.95).all()


def test_intervals_hold_the_choice_among_forms_of_friction():
    """A rise of friction towards rest that is hardly there may be found or not: the interval holds
    both. One that is plainly there is in no doubt.
    """
    doubtful, plain = (
        rd.identify(*sliding(3, rise=rise), rd.IdentificationSettings(delay=0.0))
        for rise in (0.01, 0.6)
    )
    simple = rd.identify(
        *sliding(3, rise=0.01), rd.IdentificationSettings(delay=0.0, friction="simple")
    )
    coulomb = doubtful.parameters.of("coulomb")
    simply = simple.full.values[simple.parameters.of("coulomb")]
    error = doubtful.full.standard_error[coulomb]
    assert (np.abs(doubtful.full.values[coulomb] - simply) < 3.0 * error).all()
    for j, effects in enumerate(plain.effects):
        assert "stribeck" in effects.effects
        rise = plain.parameters.index(j, "rise")
        assert plain.full.standard_error[rise] < 0.15 * plain.full.values[rise]
