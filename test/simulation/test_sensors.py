"""What sensors do to the truth, counted."""

import numpy as np
import pytest
from support.simple_robots import free_body

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.simulation import Sensors, SensorSettings

MODEL = rd.limb(2)
TRUTH = (np.array([0.1234567, -0.7654321]), np.array([0.5, -0.25]), np.array([3.0, 4.0]))


def test_perfect_by_default():
    sensors = Sensors(MODEL)
    reading = sensors.sample(0.5, *TRUTH)
    for measured, true in zip((reading.q, reading.v, reading.tau), TRUTH, strict=True):
        np.testing.assert_array_equal(measured, true)
    assert sensors.deliver(0.5) == [reading]
    assert sensors.deliver(0.5) == []


def test_readings_do_not_alias_the_state():
    q = np.zeros(2)
    reading = Sensors(MODEL).sample(0.0, q, q, q)
    q += 1.0
    assert not reading.q.any()


def test_quantisation():
    step = 2 * np.pi / 4096
    reading = Sensors(MODEL, SensorSettings(position_resolution=[step, 0.0])).sample(0.0, *TRUTH)
    assert reading.q[0] / step == pytest.approx(round(reading.q[0] / step), abs=1e-9)
    assert abs(reading.q[0] - TRUTH[0][0]) <= step / 2
    assert reading.q[1] == TRUTH[0][1]


def test_noise_has_the_moments_asked_for_and_repeats():
    settings = SensorSettings(
        position_noise=1e-3, velocity_noise=0.1, effort_bias=0.5, effort_noise=0.2, seed=7
    )
    readings = []
    for _ in range(2):
        sensors = Sensors(MODEL, settings)
        readings.append([sensors.sample(0.001 * k, *TRUTH) for k in range(4000)])
    first, second = readings
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.q, b.q)
        np.testing.assert_array_equal(a.tau, b.tau)
    q, v, tau = (
        np.array([getattr(r, name) for r in first]) - true
        for name, true in zip(("q", "v", "tau"), TRUTH, strict=True)
    )
    for error, mean, spread in ((q, 0.0, 1e-3), (v, 0.0, 0.1), (tau, 0.5, 0.2)):
        np.testing.assert_allclose(error.mean(axis=0), mean, atol=4 * spread / np.sqrt(4000))
        np.testing.assert_allclose(error.std(axis=0), spread, rtol=0.06)


def test_velocity_by_difference_is_quantised_too():
    step = 1e-3
    dt = 1e-2
    sensors = Sensors(MODEL, SensorSettings(position_resolution=step, velocity_from_position=True))
    for k in range(50):
        t = k * dt
        reading = sensors.sample(t, np.array([0.33 * t, 0.0]), np.array([0.33, 0.0]), np.zeros(2))
        if k:
            assert reading.v[0] in (pytest.approx(0.3, abs=1e-9), pytest.approx(0.4, abs=1e-9))


def test_velocity_filter_is_first_order():
    sensors = Sensors(MODEL, SensorSettings(velocity_time_constant=0.1))
    sensors.sample(0.0, *TRUTH[:1], np.zeros(2), np.zeros(2))
    for k in range(1, 101):
        reading = sensors.sample(1e-3 * k, *TRUTH[:1], np.ones(2), np.zeros(2))
    np.testing.assert_allclose(reading.v, 1.0 - np.exp(-1.0), rtol=1e-9)


def test_delay_in_order_with_jitter():
    sensors = Sensors(MODEL, SensorSettings(delay=0.003, jitter=0.004, seed=1))
    arrivals = []
    for k in range(500):
        t = 0.001 * k
        sensors.sample(t, *TRUTH)
        arrivals += [(t, reading.t) for reading in sensors.deliver(t)]
    measured = [m for _, m in arrivals]
    assert measured == sorted(measured)
    ages = np.array([t - m for t, m in arrivals])
    assert ages.min() > 0.003 - 1e-9
    assert ages.max() <= 0.007 + 1e-3
    assert np.ptp(ages) > 0.002


def test_exact_delay():
    sensors = Sensors(MODEL, SensorSettings(delay=0.003))
    for k in range(10):
        sensors.sample(k * 0.001, *TRUTH)
        assert [r.t for r in sensors.deliver(k * 0.001)] == ([(k - 3) * 0.001] if k >= 3 else [])


def test_drops_and_duplicates():
    sensors = Sensors(
        MODEL, SensorSettings(drop_probability=0.2, duplicate_probability=0.1, seed=3)
    )
    counts: dict[float, int] = {}
    for k in range(5000):
        sensors.sample(float(k), *TRUTH)
        for reading in sensors.deliver(float(k)):
            counts[reading.t] = counts.get(reading.t, 0) + 1
    assert len(counts) / 5000 == pytest.approx(0.8, abs=0.03)
    assert sum(n == 2 for n in counts.values()) / len(counts) == pytest.approx(0.1, abs=0.03)


def test_reset_starts_the_same_sequence():
    sensors = Sensors(MODEL, SensorSettings(position_noise=0.1, delay=1.0))
    first = sensors.sample(0.0, *TRUTH).q
    sensors.reset()
    assert sensors.deliver(10.0) == []
    np.testing.assert_array_equal(sensors.sample(0.0, *TRUTH).q, first)


def test_a_floating_base_has_no_encoder():
    body = free_body()
    q = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.6, 0.8])
    sensors = Sensors(body, SensorSettings(position_resolution=0.25, position_noise=0.1))
    np.testing.assert_array_equal(sensors.sample(0.0, q, np.zeros(6), np.zeros(6)).q, q)
    with pytest.raises(ArgumentError, match="floating"):
        Sensors(body, SensorSettings(velocity_from_position=True))


@pytest.mark.parametrize(
    "setting",
    [
        {"delay": -1.0},
        {"jitter": np.nan},
        {"drop_probability": 1.5},
        {"position_noise": -1e-3},
        {"effort_bias": np.inf},
    ],
)
def test_wrong_settings_are_refused(setting):
    with pytest.raises(ArgumentError, match=next(iter(setting))):
        SensorSettings(**setting)


def test_wrong_length_is_refused():
    with pytest.raises(ArgumentError, match="velocity_noise"):
        Sensors(MODEL, SensorSettings(velocity_noise=np.ones(3)))
