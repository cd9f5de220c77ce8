"""Nonsense is an error that names the likely cause."""

import numpy as np
import pytest
from support.identification_data import excitation, record, wrong_robot

import robot_dynamics_ros as rd
from robot_dynamics_ros.recordings.plausible_motion import check_clock


@pytest.fixture(scope="module")
def arm():
    prior = rd.load_robot("three_link")
    truth = wrong_robot(prior, 3, 0.2)
    return prior, record(
        truth, prior, excitation(prior, 2, period=8.0, evaluations=60), effort_noise=0.02
    )


@pytest.mark.slow
def test_what_is_right_is_accepted(arm):
    prior, (t, q, effort, _) = arm
    assert not rd.identify(prior, t, q, effort).notes


@pytest.mark.parametrize("joints", [[0, 1, 2], [1]], ids=["all", "one"])
def test_negated_efforts(arm, joints):
    prior, (t, q, effort, _) = arm
    effort = effort.copy()
    effort[:, joints] *= -1.0
    with pytest.raises(rd.Implausible, match="opposite sign") as error:
        rd.identify(prior, t, q, effort)
    assert prior.joint_names[1] in error.value.got


@pytest.mark.parametrize(
    "change", [lambda t, q, e: (t, np.rad2deg(q), e), lambda t, q, e: (t * 1e-2, q, e)]
)
def test_degrees_and_wrong_times(arm, change):
    prior, (t, q, effort, _) = arm
    with pytest.raises(rd.Implausible, match=r"degrees|velocity limit|outside its limits"):
        rd.identify(prior, *change(t, q, effort))


def test_a_clock_is_wrong_if_all_velocities_are_as_many_times_the_derivative():
    t = np.arange(0.0, 10.0, 0.01)
    rates = np.array([1.1, 1.7, 2.3])
    names = ("a", "b", "c")
    noise = 1e-3 * np.random.default_rng(0).standard_normal((2, len(t), 3))
    q = np.sin(t[:, None] * rates) + noise[0]
    v = rates * np.cos(t[:, None] * rates) + noise[1]
    # right, in degrees per second, one joint alone, and velocities of nothing
    for fine in (v, np.rad2deg(v), v * [20.0, 1.0, 1.0], noise[0], 0.0 * v):
        check_clock(names, t, q, fine)
    for times in (20.0, 1.2, 0.05):
        with pytest.raises(rd.Implausible, match=f"clock is wrong: .* {times:g} times as fast"):
            check_clock(names, times * t, q, v)
    # the drift of an offset is no motion
    with pytest.raises(rd.Implausible, match="divide the times by 20"):
        check_clock(names, 20.0 * t, q, v + 0.1)


def test_a_recording_by_a_wrong_clock_is_refused_by_identify(arm):
    prior, (t, q, effort, _) = arm
    velocity = np.gradient(q, t, axis=0)
    with pytest.raises(rd.Implausible, match="the clock is wrong"):
        rd.identify(prior, 20.0 * t, q, effort, v=velocity)
    # a clock so fast that every joint is far beyond its velocity limit
    with pytest.raises(rd.Implausible, match=r"the clock is wrong: .* 0.05 times as fast"):
        rd.identify(prior, 0.05 * t, q, effort, v=velocity)


def test_exchanged_columns_that_could_be_degrees():
    """A joint that turns by more than 2π, in the column of one that cannot."""
    prior = rd.load_robot("six_axis")
    t = np.arange(0.0, 8.0, 2e-3)
    # joint_3's limits are ±π
    q = np.outer(np.sin(t), [0.5, 0.5, 4.5, 1.0, 0.5, 0.5])
    with pytest.raises(rd.Implausible, match="exchanged"):
        rd.identify(prior, t, q, np.ones_like(q) * np.cos(t)[:, None])


@pytest.mark.parametrize("factor", [1e3, 0.02], ids=["millimetres", "currents"])
def test_efforts_in_other_units(arm, factor):
    prior, (t, q, effort, _) = arm
    with pytest.raises(rd.Implausible, match="another scale"):
        rd.identify(prior, t, q, effort * factor)


@pytest.mark.slow
def test_it_may_be_accepted(arm):
    prior, (t, q, effort, _) = arm
    found = rd.identify(prior, t, q, effort * 6.0, rd.IdentificationSettings(plausibility="accept"))
    assert (found.rms < 0.2 * found.effort_rms).all()


def test_a_joint_moved_one_way_only_is_named(arm):
    prior = rd.load_robot("two_link")
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 8.0, 2e-3)
    # the elbow never comes back
    q = np.column_stack([0.8 * np.sin(2.1 * t), 0.15 * t + 0.08 * np.sin(1.6 * t)])
    v = np.gradient(q, t, axis=0)
    a = np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    effort = rd.inverse_dynamics(prior, q, v, a) + prior.friction * np.sign(v) + prior.damping * v
    settings = rd.IdentificationSettings(unseen="keep", friction="simple")
    found = rd.identify(prior, t, q, effort + 0.01 * rng.standard_normal(effort.shape), settings)
    assert any("elbow" in note and "one way" in note for note in found.notes)
