"""Dry friction that builds up over one way or two after a reversal."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.friction.effects import JointEffects, direction
from robot_dynamics_ros.friction.file import FrictionFile

WAY = 0.0032
RATIO = 16.0


def built_up(gone, ways):
    """After a long slide and a reversal: half of the friction over each way."""
    return np.mean([1.0 - 2.0 * np.exp(-gone / way) for way in ways], axis=0)


def test_half_of_the_friction_over_each_way():
    gone = np.linspace(0.0, 0.05, 200)
    q = np.concatenate([np.linspace(1.0, 0.0, 500), gone[1:]])[:, None]
    v = np.concatenate([np.full(499, -1.0), np.ones(200)])[:, None]
    form = JointEffects(1e-3, WAY, presliding_ratio=RATIO)
    d = direction((form,), q, v, (slice(0, len(q)),))
    np.testing.assert_allclose(d[499:, 0], built_up(gone, (WAY / 4.0, WAY * 4.0)), atol=1e-12)
    one = direction((JointEffects(1e-3, WAY),), q, v, (slice(0, len(q)),))
    np.testing.assert_allclose(one[499:, 0], built_up(gone, (WAY,)), atol=1e-12)


@pytest.fixture(scope="module")
def found():
    """Of an arm whose elbow alone has two ways, friction integrated with small steps."""
    model = rd.load_robot("two_link")
    t = np.arange(0.0, 24.0, 0.001)
    w = np.array([[1.1, 2.3], [1.7, 0.6]])
    phase = np.array([[0.0, 1.0], [2.0, 0.5]])
    angle = t[:, None, None] * w + phase
    q, v, a = (
        0.5 * x.sum(axis=-1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle))
    )
    states = np.zeros((len(t), 3))
    states[0] = 1.0
    for k, way in enumerate((WAY, WAY / 4.0, WAY * 4.0)):
        dq = np.diff(q[:, min(k, 1)])
        for i, step in enumerate(dq):
            states[i + 1, k] = states[i, k] + (step - abs(step) * states[i, k]) / way
    friction = 1.5 * np.column_stack([states[:, 0], states[:, 1:].mean(axis=1)])
    effort = rd.inverse_dynamics(model, q, v, a) + friction + 0.2 * v
    effort += 0.05 * np.random.default_rng(0).standard_normal(effort.shape)
    rows = slice(0, None, 4)
    settings = rd.IdentificationSettings(delay=0.0)
    return rd.identify(model, t[rows], q[rows], effort[rows], settings), (q[rows], v[rows], a[rows])


def test_the_ways_are_found(found):
    one, two = found[0].effects
    assert (one.presliding_ratio, two.presliding_ratio) == (1.0, RATIO)
    assert [form.presliding for form in (one, two)] == pytest.approx([WAY, WAY])
    assert "and" in rd.report_text(found[0])


def test_the_file_holds_both_ways(found, tmp_path):
    result, state = found
    rd.friction_file(result).write(tmp_path / "friction.json")
    read = FrictionFile.read(tmp_path / "friction.json", result.model)
    whole = rd.inverse_dynamics(result.model, *state) + read.efforts(
        result.model, *state, (slice(0, len(state[0])),)
    )
    np.testing.assert_allclose(whole, result.predict(*state), atol=1e-9)
