"""The effort gate: fresh, finite and bounded efforts pass; everything else becomes the safe
command.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.effort_gate import EffortGate, GateSettings, GateState
from robot_dynamics_ros.errors import ArgumentError

MS = 1_000_000
INF = np.inf


def gate(**changes) -> EffortGate:
    values = {
        "effort_limit": [10.0, 5.0],
        "effort_rate": [INF, INF],
        "velocity_limit": [2.0, 2.0],
        "braking": [3.0, 0.0],
        "command_timeout": 0.05,
    }
    return EffortGate(GateSettings(**{**values, **changes}), ("shoulder", "elbow"))


def test_a_good_command_passes_unchanged():
    g = gate()
    assert g.command(0, np.array([1.0, -2.0]))
    assert g.output.tolist() == [1.0, -2.0] and g.state is GateState.OPEN and not g.check(10 * MS)


def test_without_a_command_the_effort_is_zero():
    g = gate()
    assert g.check(0) and g.output.tolist() == [0.0, 0.0] and g.state is GateState.WAITING


def test_silence_brakes_where_the_velocity_is_known_and_drops_to_zero_where_it_is_not():
    g = gate()
    g.command(0, np.array([9.0, 4.0]))
    g.measured(40 * MS, np.array([1.5, -1.0]))
    assert g.check(60 * MS) and g.output.tolist() == [-4.5, 0.0] and g.state is GateState.STALE
    assert g.check(200 * MS) and g.output.tolist() == [0.0, 0.0]
    # recovers by itself
    assert g.command(201 * MS, np.array([9.0, 4.0])) and g.state is GateState.OPEN


def test_what_waited_while_the_gate_was_halted_is_old():
    """Its process was stopped for a second, and the driver has held the last effort for as long."""
    g = gate()
    for k in range(10):
        g.command(10 * k * MS, np.array([9.0, 4.0]))
        g.measured(10 * k * MS, np.array([1.0, 1.0]))
    assert g.state is GateState.OPEN
    # of unknown age
    assert not g.command(1090 * MS, np.array([9.0, 4.0]))
    assert (
        g.state is GateState.STALE
        and "held up for 1 s" in g.reason
        and g.output.tolist() == [0.0, 0.0]
    )
    assert (
        g.measured(1091 * MS, np.array([1.5, 0.0]))
        and g.check(1092 * MS)
        and g.output.tolist() == [-4.5, 0.0]
    )
    assert g.command(1093 * MS, np.array([9.0, 4.0])) and g.state is GateState.OPEN
    g.measured(1093 * MS, np.array([1.0, 1.0]))
    # it was accelerated meanwhile: stopped, and braked
    assert not g.measured(2200 * MS, np.array([2.5, 0.0]))
    assert g.state is GateState.STOPPED and g.output.tolist() == [-7.5, 0.0]


def test_without_measured_velocities_a_gate_that_was_halted_opens_after_a_while():
    g = gate(state_timeout=0.02)
    g.command(0, np.array([9.0, 4.0]))
    assert not g.command(1000 * MS, np.array([9.0, 4.0])) and not g.command(
        1010 * MS, np.array([9.0, 4.0])
    )
    assert g.counts["held_up"] == 2 and g.command(1021 * MS, np.array([9.0, 4.0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_dropped_and_the_one_before_goes_stale(bad):
    g = gate()
    g.command(0, np.array([1.0, 1.0]))
    assert not g.command(30 * MS, np.array([bad, 1.0]))
    assert g.output.tolist() == [1.0, 1.0] and g.counts["not_finite"] == 1
    assert g.check(51 * MS)


def test_infinities_of_opposite_sign_are_seen():
    g = gate()
    assert not g.command(0, np.array([np.inf, -np.inf]))


def test_efforts_beyond_the_limit_are_cut_or_stop_the_gate():
    g = gate()
    assert g.command(0, np.array([99.0, -99.0])) and g.output.tolist() == [10.0, -5.0]
    assert g.counts["effort_limit"] == 1
    g = gate(clip=False)
    assert (
        not g.command(0, np.array([1.0, -99.0]))
        and g.state is GateState.STOPPED
        and "elbow" in g.reason
    )
    assert (
        not g.command(MS, np.array([1.0, 1.0])) and g.check(MS) and g.output.tolist() == [0.0, 0.0]
    )
    g.reset()
    assert g.command(2 * MS, np.array([1.0, 1.0]))


def test_the_rate_holds_across_a_gap_and_after_a_reset():
    g = gate(effort_rate=[100.0, 100.0])
    g.command(0, np.array([0.0, 0.0]))
    g.command(10 * MS, np.array([9.0, 0.5]))
    assert g.output.tolist() == pytest.approx([1.0, 0.5]) and g.counts["effort_rate"] == 1
    for t in range(20, 10_000, 20):
        g.check(t * MS)
    assert g.output.tolist() == [0.0, 0.0]
    # a long gap allows no more than the timeout's worth
    g.command(10_000 * MS, np.array([9.0, 0.5]))
    assert g.output.tolist() == pytest.approx([5.0, 0.5])


def test_a_joint_that_moves_too_fast_stops_the_gate_and_is_braked():
    g = gate()
    g.command(0, np.array([1.0, 1.0]))
    assert (
        not g.measured(MS, np.array([2.5, 0.0]))
        and g.state is GateState.STOPPED
        and "shoulder" in g.reason
    )
    assert g.output.tolist() == [-7.5, 0.0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_velocity_with_the_wrong_sign_does_not_make_a_motor_of_the_brake(sign):
    g = gate(velocity_limit=[INF, INF])
    q = np.array([0.3, 0.2])
    v = np.array([1.0, 0.0])
    speeds = []
    # a wheel of 0.1 kg m²; nobody commands it any more
    for k in range(1, 1000):
        g.measured(k * MS, sign * v, q)
        assert g.check(k * MS)
        v = v + 1e-3 * g.output / 0.1
        q = q + 1e-3 * v
        speeds.append(abs(v[0]))
    assert speeds[-1] < 1e-3 if sign > 0.0 else max(speeds) < 1.1


def test_bad_settings_are_named():
    with pytest.raises(ArgumentError, match="effort_limit"):
        gate(effort_limit=[1.0, -1.0])
    with pytest.raises(ArgumentError, match="braking"):
        gate(braking=[np.inf, 0.0])
    with pytest.raises(ArgumentError, match="command_timeout"):
        gate(command_timeout=0.0)


FLOATS = st.floats(allow_nan=True, allow_infinity=True)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["command", "measured", "check", "reset", "stop"]),
        st.integers(0, 10**8),
        FLOATS,
        FLOATS,
    ),
    max_size=40,
)


@given(EVENTS, st.booleans())
def test_whatever_happens_the_output_is_finite_and_within_the_limits(events, clip):
    g = gate(clip=clip, effort_rate=[1000.0, INF])
    t = 0
    for kind, dt, a, b in events:
        t += dt
        if kind == "command":
            g.command(t, np.array([a, b]))
        elif kind == "measured":
            g.measured(t, np.array([a, b]))
        elif kind == "check":
            g.check(t)
        elif kind == "reset":
            g.reset()
        else:
            g.stop(t, "test", "asked for")
        assert np.isfinite(g.output).all()
        assert (np.abs(g.output) <= g.settings.effort_limit).all()


def test_an_arm_behind_the_gate_comes_to_rest_when_its_controller_dies():
    model = rd.load_robot("six_axis").replace(gravity=(0, 0, 0))
    n = model.nv
    # 1/s; well below one over the period
    braking = 20.0 * np.diag(rd.mass_matrix(model, np.zeros(n)))
    settings = GateSettings(
        model.effort_limit, np.full(n, INF), model.velocity_limit, braking, 0.02
    )
    g = EffortGate(settings, model.joint_names)
    plant = rd.Plant(model, dt=1e-3, friction=False)
    plant.reset(np.zeros(n), np.full(n, 0.5))
    for k in range(1500):
        t = k * MS
        g.measured(t, plant.v)
        if k < 50:
            g.command(t, 0.1 * braking)
        g.check(t)
        plant.step(g.output)
    assert g.state is GateState.STALE and np.abs(plant.v).max() < 0.02
