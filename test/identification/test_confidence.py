"""Intervals when the residuals are no white noise: drawn again and again, the truth lies in them as
often as they say.
"""

import numpy as np
import pytest
from scipy.signal import lfilter

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.least_squares import (
    identifiable_parameters,
    weighted_least_squares,
)
from robot_dynamics_ros.identification.samples import Blocks

DRAWS = 24
BLOCKS = 400
STEP = 0.05


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


def test_repetitions_of_one_motion_do_not_hide_what_the_model_does_not_know(motion):
    """An effort that no column has is the same in each repetition: the intervals of three
    repetitions are those of one.
    """
    known, Y, v, _ = motion
    period = BLOCKS // 3
    unknown = 0.3 * np.tanh(3.0 * v)[:period] * np.cos(5.0 * v[:period])
    rows = np.tile(np.arange(period), 3)
    clean = Y @ known.parameters.values()

    def found(rows):
        blocks = Blocks(
            Y[rows],
            clean[rows] + unknown[rows],
            np.ones((len(rows), 2), dtype=bool),
            v[rows],
            np.zeros(len(rows), dtype=np.int64),
        )
        return weighted_least_squares(known, blocks)

    thrice = found(rows)
    once = found(rows[:period])
    assert thrice.standard_error == pytest.approx(once.standard_error, rel=0.05)
