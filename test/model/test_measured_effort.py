"""The meaning of measured efforts: there and back, what is refused, and what efforts at rest
say.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.measured_effort import (
    EFFORT_MEANINGS,
    MeasuredEffort,
    as_measured,
    meaning_at_rest,
    motor_effort,
)

MEASURED = [m for m in EFFORT_MEANINGS if m not in ("commanded", "none")]
numbers = st.floats(-100.0, 100.0)


def kind_of(meaning, factors=None):
    if meaning == "current" and factors is None:
        factors = np.array([0.1, 2.0, -3.0])
    return MeasuredEffort(meaning, factors)


@given(
    meaning=st.sampled_from(MEASURED),
    values=st.lists(st.tuples(numbers, numbers, numbers, numbers), min_size=3, max_size=3),
    reversed_sensor=st.booleans(),
)
def test_as_measured_and_back_is_the_motors_effort(meaning, values, reversed_sensor):
    tau, gravity, friction, rotor = np.array(values).T
    kind = kind_of(meaning, -np.ones(3) if reversed_sensor else None)
    parts = {"gravity": gravity, "friction": friction, "rotor": rotor}
    published = as_measured(kind, tau, command=np.zeros(3), **parts)
    np.testing.assert_allclose(
        motor_effort(kind, published, applied=np.full(3, np.nan), **parts), tau, atol=1e-9
    )


def test_each_meaning_by_hand():
    tau, g, f, b = (np.array([x]) for x in (10.0, 6.0, 1.5, 0.5))
    parts = {"gravity": g, "friction": f, "rotor": b}
    for kind, published in [
        (MeasuredEffort(), 10.0),
        (MeasuredEffort("link_torque"), 8.0),
        (MeasuredEffort("link_torque", [-1.0]), -8.0),
        (MeasuredEffort("torque_without_gravity"), 4.0),
        (MeasuredEffort("current", [2.5]), 4.0),
        (MeasuredEffort("commanded"), 3.0),
        (MeasuredEffort("none"), np.nan),
    ]:
        np.testing.assert_equal(
            as_measured(kind, tau, command=np.array([3.0]), **parts), [published]
        )


def test_nothing_measured_means_what_was_applied():
    for meaning in ("commanded", "none"):
        applied = np.array([1.0, 2.0])
        tau = motor_effort(
            MeasuredEffort(meaning), np.full(2, np.nan), applied=applied, gravity=np.zeros(2)
        )
        np.testing.assert_array_equal(tau, applied)


def test_combinations_that_mean_nothing_are_refused():
    with pytest.raises(UnknownNameError, match="link_torque"):
        MeasuredEffort("link torque")
    with pytest.raises(ArgumentError, match="no torque constants"):
        MeasuredEffort("current")
    with pytest.raises(ArgumentError, match="no factor turns into efforts"):
        MeasuredEffort("none", np.ones(2))
    for bad in ([0.0, 1.0], [np.nan, 1.0]):
        with pytest.raises(ArgumentError, match="zero or not finite"):
            MeasuredEffort("torque", np.array(bad))
    with pytest.raises(ArgumentError, match="payload identification: needs measured efforts"):
        MeasuredEffort("commanded").need("payload identification")
    MeasuredEffort("torque").need("payload identification")


@pytest.fixture(scope="module")
def poses():
    """Gravity in several poses of an arm, and what stiction and noise leave of it."""
    model = rd.load_robot("six_axis")
    rng = np.random.default_rng(3)
    q = rng.uniform(-1.2, 1.2, (6, model.nv))
    gravity = np.array([rd.gravity_forces(model, x) for x in q])
    held = gravity + rng.uniform(-2.0, 2.0, gravity.shape)
    return gravity, held


FACTORS = np.linspace(0.4, 0.6, 6)


@pytest.mark.parametrize("meaning", EFFORT_MEANINGS)
def test_efforts_at_rest_do_not_contradict_the_meaning_that_is_right(poses, meaning):
    gravity, held = poses
    kind = MeasuredEffort(meaning, FACTORS if meaning == "current" else None)
    # the controller supplies gravity, or the robot does
    for command in (
        gravity,
        np.zeros_like(gravity),
    ):
        published = as_measured(kind, held, command=command, gravity=gravity)
        assert meaning_at_rest(kind, published, gravity, command) == ""


@pytest.mark.parametrize(
    ("setting", "truth", "factors", "evidence"),
    [
        (
            "torque",
            "torque_without_gravity",
            None,
            "do not change with gravity: rather torque_without_gravity",
        ),
        ("torque", "torque", -np.ones(6), "their sign is the other one"),
        ("torque", "current", FACTORS, "rather current"),
        ("torque", "commanded", None, "they are the commands: rather commanded"),
        ("torque", "none", None, "no efforts are published: rather none"),
        ("link_torque", "torque_without_gravity", None, "rather torque_without_gravity"),
        ("torque_without_gravity", "torque", None, "one to one: rather torque or link_torque"),
        ("current", "current", FACTORS, "wrong by this factor"),
    ],
)
def test_efforts_at_rest_name_a_meaning_that_is_wrong(poses, setting, truth, factors, evidence):
    gravity, held = poses
    # the robot holds itself
    command = 0.01 * (held - gravity)
    published = as_measured(MeasuredEffort(truth, factors), held, command=command, gravity=gravity)
    kind = MeasuredEffort(setting, 4.0 * FACTORS if setting == "current" else None)
    sentence = meaning_at_rest(kind, published, gravity, command)
    assert evidence in sentence
    assert f"set to {setting!r}" in sentence


def test_too_few_poses_and_poses_that_are_alike_say_nothing(poses):
    gravity, held = poses
    wrong = MeasuredEffort("torque_without_gravity")
    assert meaning_at_rest(wrong, held[:2], gravity[:2], 0 * gravity[:2]) == ""
    alike = np.repeat(gravity[:1], 5, axis=0)
    assert meaning_at_rest(wrong, alike + 0.1, alike, 0 * alike) == ""
