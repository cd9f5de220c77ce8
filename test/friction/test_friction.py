"""Friction compensation: the parts, the smoothing, and that compensated friction is gone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robot_dynamics_ros as rd


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("two_link")


def test_the_parts_by_hand(arm):
    f = rd.Friction.of(
        arm, viscous=2.0, coulomb=3.0, breakaway=5.0, stribeck_speed=0.1, smoothing=1e-4
    )
    v = np.array([0.1, -10.0])
    np.testing.assert_allclose(
        f.effort(v), [0.2 + 3.0 + 2.0 * np.exp(-1.0), -20.0 - 3.0], rtol=1e-12
    )
    np.testing.assert_allclose(f.scaled(0.5).effort(v), 0.5 * f.effort(v), rtol=1e-12)


def test_the_urdf_gives_the_defaults(arm):
    f = rd.Friction.of(arm)
    np.testing.assert_array_equal(f.viscous, arm.damping)
    np.testing.assert_array_equal(f.coulomb, arm.friction)
    np.testing.assert_array_equal(f.breakaway, arm.friction)
    assert not f.is_zero
    assert rd.Friction.of(arm, viscous=0.0, coulomb=0.0).is_zero


@given(st.floats(-5, 5), st.floats(0, 3), st.floats(0, 3), st.floats(0, 2))
def test_it_is_odd_smooth_at_zero_and_always_resists(v, viscous, coulomb, extra):
    arm = rd.limb(1)
    f = rd.Friction.of(arm, viscous=viscous, coulomb=coulomb, breakaway=coulomb + extra)
    (forward,), (backward,) = f.effort(np.array([v])), f.effort(np.array([-v]))
    assert forward == pytest.approx(-backward, abs=1e-12)
    assert forward * v >= 0.0
    assert abs(forward) <= viscous * abs(v) + coulomb + extra + 1e-12
    assert f.effort(np.zeros(1))[0] == 0.0


@pytest.mark.parametrize(
    "bad",
    [
        {"viscous": -1.0},
        {"coulomb": [1.0]},
        {"smoothing": 0.0},
        {"stribeck_speed": np.nan},
        {"coulomb": 2.0, "breakaway": 1.0},
        {"viscous": "oil"},
    ],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(rd.ArgumentError, match="friction"):
        rd.Friction.of(rd.load_robot("seven_axis"), **bad)
