"""DC motors against their closed forms."""

import dataclasses

import numpy as np
import pytest
from scipy.linalg import expm
from support.simple_robots import slider, wheel

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model import DCMotor, add_rotors
from robot_dynamics_ros.simulation import Plant

MOTOR = DCMotor(
    resistance=2.0, torque_constant=0.05, inductance=4e-3, gear_ratio=20.0, rotor_inertia=1e-4
)


def closed_form(motor, J, d, V, t):
    """[ω, i] of J ω̇ = k_t N i − d ω, L i̇ = V − R i − k_e N ω from rest, by the matrix
    exponential.
    """
    k = motor.torque_constant * motor.gear_ratio
    A = np.array(
        [
            [-d / J, k / J, 0.0],
            [-k / motor.inductance, -motor.resistance / motor.inductance, V / motor.inductance],
            [0.0, 0.0, 0.0],
        ]
    )
    return (expm(A * t) @ [0.0, 0.0, 1.0])[:2]


@pytest.mark.parametrize(
    ("integrator", "dt", "tolerance"),
    [
        ("rk4", 2e-4, 1e-9),
        ("dop853", 1e-2, 1e-8),
        ("radau", 1e-2, 1e-8),
        ("rosenbrock", 2e-4, 1e-4),
        ("variational", 2e-4, 1e-4),
        ("moreau", 2e-4, 2e-3),
        ("semi_implicit_euler", 1e-4, 2e-2),
    ],
)
def test_motor_runs_up_as_the_closed_form(integrator, dt, tolerance):
    model = wheel(inertia=0.5, damping=0.3)
    plant = Plant(model, dt, integrator=integrator, motors={"axle": MOTOR})
    for _ in range(round(0.1 / dt)):
        plant.step([12.0])
    speed, current = closed_form(MOTOR, 0.5 + 400.0 * 1e-4, 0.3, 12.0, 0.1)
    assert plant.v[0] == pytest.approx(speed, rel=tolerance)
    assert plant.currents[0] == pytest.approx(current, rel=tolerance)
    assert plant.tau[0] == pytest.approx(20.0 * 0.05 * current, rel=tolerance)


def test_motor_without_inductance():
    """J ω̇ = k V/R − (d + k²/R) ω."""
    motor = DCMotor(resistance=2.0, torque_constant=0.05, gear_ratio=20.0)
    plant = Plant(wheel(inertia=0.5, damping=0.3), 1e-3, integrator="rk8", motors={"axle": motor})
    for _ in range(500):
        plant.step([12.0])
    rate = (0.3 + 1.0 / 2.0) / 0.5
    final = 12.0 / 2.0 / (0.3 + 0.5)
    assert plant.v[0] == pytest.approx(final * (1.0 - np.exp(-rate * 0.5)), rel=1e-12)


def test_no_load_speed_is_set_by_the_back_emf():
    plant = Plant(wheel(inertia=0.01), 1e-3, motors={"axle": MOTOR})
    for _ in range(3000):
        plant.step([12.0])
    assert plant.v[0] == pytest.approx(12.0 / (0.05 * 20.0), rel=1e-9)
    assert plant.currents[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau", "rk4"])
def test_voltage_and_current_limits(integrator):
    motor = DCMotor(
        resistance=2.0,
        torque_constant=0.05,
        inductance=4e-3,
        gear_ratio=20.0,
        max_voltage=24.0,
        max_current=3.0,
    )
    plant = Plant(wheel(inertia=50.0), 2e-4, integrator=integrator, motors={"axle": motor})
    most = 0.0
    for _ in range(500):
        plant.step([1000.0])
        most = max(most, abs(plant.currents[0]))
    assert most == pytest.approx(3.0, rel=1e-9)
    assert plant.tau[0] == pytest.approx(3.0, rel=1e-9)
    free = DCMotor(resistance=2.0, torque_constant=0.05, gear_ratio=20.0, max_voltage=24.0)
    plant = Plant(wheel(inertia=50.0), 2e-4, integrator=integrator, motors={"axle": free})
    plant.step([1000.0])
    assert plant.currents[0] == pytest.approx(12.0, rel=1e-3)


def test_rotor_inertia_goes_through_the_gear_squared():
    model = add_rotors(wheel(inertia=0.5, armature=0.1), {"axle": MOTOR})
    assert rd.mass_matrix(model, [0.0])[0, 0] == pytest.approx(0.5 + 0.1 + 400.0 * 1e-4)


def test_a_rotor_counts_once_wherever_it_is_given():
    """Plant, linearization and symbols put a motor's rotor on the joint, on a robot that has it
    already as on one that has not.
    """
    bare = wheel(inertia=0.5, armature=0.1)
    for model in (
        bare,
        add_rotors(bare, {"axle": MOTOR}),
        add_rotors(add_rotors(bare, {"axle": MOTOR}), {"axle": MOTOR}),
    ):
        plant = Plant(model, motors={"axle": MOTOR})
        assert rd.mass_matrix(plant.model, [0.0])[0, 0] == pytest.approx(0.64, rel=1e-14)
        _, B = rd.linearize(
            model, [0.0], motors={"axle": dataclasses.replace(MOTOR, inductance=0.0)}
        )
        assert B[1, 0] == pytest.approx(
            MOTOR.torque_constant * 20.0 / MOTOR.resistance / 0.64, rel=1e-12
        )
        symbolic = rd.symbolic(model, motors={"axle": MOTOR}, motor_symbols=False)
        assert float(symbolic.motors.M[0, 0]) == pytest.approx(0.64, rel=1e-14)
        assert float(symbolic.M[0, 0]) == pytest.approx(0.6, rel=1e-14)


def test_only_motored_joints_take_voltages():
    model = rd.limb(2)
    name = model.joint_names[1]
    plant = Plant(model, motors={name: MOTOR}, q0=[0.0, 0.0])
    plant.hold([1.5, 12.0])
    assert plant.tau[0] == 1.5
    # no current yet
    assert plant.tau[1] == 0.0


def test_wrong_motors_are_refused():
    with pytest.raises(ArgumentError, match="resistance"):
        DCMotor(resistance=0.0, torque_constant=0.1)
    with pytest.raises(ArgumentError, match="gear_ratio"):
        DCMotor(resistance=1.0, torque_constant=0.1, gear_ratio=0.0)
    with pytest.raises(ArgumentError, match="inductance"):
        DCMotor(resistance=1.0, torque_constant=0.1, inductance=-1.0)
    with pytest.raises(UnknownNameError, match="rail"):
        Plant(slider(), motors={"rial": MOTOR})
