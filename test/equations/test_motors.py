"""Electro-mechanical equations, integrated on their own and held to the simulator's plant."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model import DCMotor
from robot_dynamics_ros.simulation import JointFriction

S = pytest.importorskip("sympy")

MOTORS = {
    "shoulder": DCMotor(2.0, 0.12, 0.11, inductance=4e-3, gear_ratio=30, rotor_inertia=2e-5),
    "elbow": DCMotor(3.0, 0.08, gear_ratio=20, rotor_inertia=1e-5),
}


@pytest.mark.parametrize("as_symbols", [True, False])
def test_state_space_moves_as_the_plant(as_symbols):
    model = rd.load_robot("two_link")
    ours = rd.symbolic(
        model, "auto" if as_symbols else None, motors=MOTORS, motor_symbols=as_symbols
    )
    motors = ours.motors
    values = [
        (S.Symbol(d.symbol, real=True), d.value) for d in ours.definitions if d.value is not None
    ]
    rhs = motors.state_space().subs(values)
    dry = {S.Symbol(f"Fc{k}", real=True): 0 for k in (1, 2)}
    rate = S.lambdify(
        [list(motors.state), list(motors.voltages)], list(rhs.subs(dry)), modules="math", cse=True
    )
    # the equations below have both kinds, the joints never stop in this run
    friction = JointFriction()

    voltage = np.array([9.0, 4.0])
    x0 = np.array([0.1, 0.2, 1.0, 1.5, 0.5, 0.0])
    run = solve_ivp(lambda t, x: rate(list(x), voltage), (0, 0.4), x0, rtol=1e-10, atol=1e-12)
    plant = rd.Plant(
        model,
        4e-4,
        integrator="rk4",
        motors=MOTORS,
        friction=friction,
        stops=None,
        limiter=False,
        q0=x0[:2],
        v0=x0[2:4],
    )
    state = plant.state()
    state["y"][4] = x0[4]
    plant.restore(state)
    for _ in range(1000):
        plant.step(voltage)
    moved = np.concatenate([plant.q, plant.v, plant.currents[:1]])
    assert min(np.abs(run.y[2]).min(), np.abs(run.y[3]).min()) > 0.0
    assert_allclose(moved, run.y[:5, -1], rtol=1e-6, atol=1e-7)


def test_the_equations_are_those_of_the_motors():
    ours = rd.symbolic(rd.load_robot("two_link"), "auto", motors=MOTORS)
    motors = ours.motors
    R1, L1, kt1, ke1, N1, J1 = S.symbols("R1 L1 kt1 ke1 N1 Jr1", real=True)
    d1, F1, V1, i1, v1 = S.symbols("d1 Fc1 V1 i1 dq1", real=True)
    assert S.expand(motors.M[0, 0] - ours.M[0, 0] - N1**2 * J1) == 0
    assert motors.M[0, 1] == ours.M[0, 1]
    assert S.expand(motors.effort[0] - (N1 * kt1 * i1 - d1 * v1 - F1 * S.sign(v1))) == 0
    assert S.expand(motors.current_rates[0] - (V1 - R1 * i1 - ke1 * N1 * v1) / L1) == 0
    # no inductance: the current follows at once
    assert motors.current_rates[1] == 0
    assert S.Symbol("i2", real=True) not in motors.effort.free_symbols


def test_motors_that_fit_nothing_are_refused():
    model = rd.load_robot("two_link")
    with pytest.raises(UnknownNameError, match="wrist"):
        rd.symbolic(model, motors={"wrist": MOTORS["elbow"]})
    with pytest.raises(ArgumentError, match="already taken by resistance"):
        rd.symbolic(model, {"mass:forearm": "R1"}, motors=MOTORS)


def test_the_page_says_where_rotors_count():
    model = rd.load_robot("two_link")
    assert "rotor inertia is part of M.\n" in rd.symbolic(model).text()
    with_motors = rd.symbolic(model, motors=MOTORS, motor_symbols=False)
    assert "part of M, but for that of the motors given, which is part of A." in with_motors.text()
    rotors = np.array([[30**2 * 2e-5, 0.0], [0.0, 20**2 * 1e-5]])
    found = np.array(with_motors.motors.M.subs(dict.fromkeys(with_motors.q, 0.3)), dtype=float)
    assert_allclose(found - rd.mass_matrix(model, [0.3, 0.3]), rotors, atol=1e-12)
