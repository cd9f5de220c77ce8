"""Electro-mechanical equations: the robot with direct-current motors, voltages in.

    (M + N² J) q̈ + D + G + d q̇ + F_c sign(q̇) = N k_t i         L di/dt = V − R i − k_e N q̇

for every driven joint; joints without a motor keep their effort τ.  A motor without inductance has
no current of its own: i = (V − k_e N q̇)/R.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.equations.numbers import fraction_of
from robot_dynamics_ros.equations.parameters import Definition
from robot_dynamics_ros.model.motors import check_motors
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import sympy

    from robot_dynamics_ros.model.motors import DCMotor

_MOTOR_CONSTANTS = (
    ("R", "resistance", "Ω", "resistance"),
    ("L", "inductance", "H", "inductance"),
    ("kt", "torque constant", "N m/A", "torque_constant"),
    ("ke", "back-EMF constant", "V s/rad", "emf"),
    ("N", "gear ratio", "", "gear_ratio"),
    ("Jr", "rotor inertia", "kg m²", "rotor_inertia"),
)
"""Letter, meaning, unit, attribute of a motor."""


@dataclass(frozen=True, eq=False)
class MotorEquations:
    """Electro-mechanical equations as SymPy objects.

    Attributes:
        joints: driven joints, in joint order.
        voltages, currents: symbols of the inputs and of the currents, one a motor.
        M: (nv, nv) mass matrix with the rotors' N² J.
        effort: (nv, 1) what motors (or efforts τ), viscous and dry friction add up to, in terms of
            currents and velocities.
        current_rates: (nm, 1) di/dt; zero for motors without inductance.
        state: the state vector [q; q̇; i].
        rates: its rate in terms of q̈, which are the symbols ``equations.a``: [q̇; q̈; di/dt].
        definitions: what the new symbols stand for.
    """

    joints: tuple[str, ...]
    voltages: tuple[sympy.Symbol, ...]
    currents: tuple[sympy.Symbol, ...]
    M: sympy.Matrix
    effort: sympy.Matrix
    current_rates: sympy.Matrix
    state: sympy.Matrix
    rates: sympy.Matrix
    definitions: tuple[Definition, ...]
    _bias: sympy.Matrix

    def accelerations(self) -> sympy.Matrix:
        """(nv, 1) q̈ = (M + N² J)⁻¹ (effort − D − G), solved in symbols; meant for small robots."""
        return self.M.LUsolve(self.effort - self._bias)

    def state_space(self) -> sympy.Matrix:
        """ẋ = f(x, V), solved in symbols; meant for small robots."""
        import sympy

        n = self.M.shape[0]
        solved = self.accelerations()
        return sympy.Matrix([*self.rates[:n], *solved, *self.rates[2 * n :]])


def motor_names(model: RobotModel, motors: Mapping[str, DCMotor] | None) -> dict[str, str]:
    """Names that the motors' equations use → what for."""
    taken: dict[str, str] = {}
    for name in check_motors(model, motors) if motors else ():
        k = model.v_slice(name).start + 1
        taken |= {
            f"V{k}": f"voltage of the motor of {name}",
            f"i{k}": f"current of the motor of {name}",
        }
        taken |= {
            f"{letter}{k}": f"{word} of the motor of {name}"
            for letter, word, *_ in _MOTOR_CONSTANTS
        }
        taken |= {f"d{k}": f"viscous friction of {name}", f"Fc{k}": f"dry friction of {name}"}
    return taken


def motor_equations(
    equations: Any,
    motors: Mapping[str, DCMotor],
    symbols: bool,
) -> MotorEquations:
    """The driven robot's equations from those of the robot alone; ``symbols``: whether motor
    constants are such.
    """
    import sympy as S

    model: RobotModel = equations.model
    joints = check_motors(model, motors)
    definitions: list[Definition] = []
    M = equations.M.copy()
    effort = S.Matrix(equations.tau)
    voltages = []
    currents = []
    current_rates = []

    def constant(d: Definition) -> sympy.Expr:
        if not d.value or not symbols:
            return S.Rational(fraction_of(d.value or 0.0))
        definitions.append(d)
        return S.Symbol(d.symbol, real=True)

    for joint in joints:
        k = model.v_slice(joint).start
        motor = motors[joint]
        number = k + 1
        of = f"of the motor of {joint}"
        V = S.Symbol(f"V{number}", real=True)
        i = S.Symbol(f"i{number}", real=True)
        definitions.append(Definition(str(V), f"voltage {of}", "V"))
        definitions.append(Definition(str(i), f"current {of}", "A"))
        values = {
            letter: constant(
                Definition(f"{letter}{number}", f"{word} {of}", unit, getattr(motor, attribute))
            )
            for letter, word, unit, attribute in _MOTOR_CONSTANTS
        }
        drop = V - values["ke"] * values["N"] * equations.v[k]
        M[k, k] += values["N"] ** 2 * values["Jr"]
        if motor.inductance:
            current = i
            current_rates.append((drop - values["R"] * i) / values["L"])
        else:
            current = drop / values["R"]
            current_rates.append(S.Integer(0))
        effort[k] = values["N"] * values["kt"] * current
        voltages.append(V)
        currents.append(i)
    for k, terms in enumerate(friction_terms(model, equations.v)):
        for definition, factor in terms:
            effort[k] -= constant(definition) * factor
    rates = S.Matrix([*equations.v, *equations.a, *current_rates])
    return MotorEquations(
        tuple(joints),
        tuple(voltages),
        tuple(currents),
        M,
        effort,
        S.Matrix(len(joints), 1, current_rates),
        S.Matrix([*equations.q, *equations.v, *currents]),
        rates,
        tuple(definitions),
        equations.D + equations.G,
    )


def friction_terms(
    model: RobotModel, v: Sequence[sympy.Symbol]
) -> list[list[tuple[Definition, sympy.Expr]]]:
    """For each degree of freedom the coefficients of friction that are not zero, and what each is
    multiplied by.
    """
    import sympy as S

    kinds = (
        ("d", "viscous friction", "N m s/rad or N s/m", model.damping, lambda v: v),
        ("Fc", "dry friction", "N m or N", model.friction, S.sign),
    )
    return [
        [
            (
                Definition(
                    f"{letter}{k}", f"{word} of degree of freedom {k}", unit, float(values[k - 1])
                ),
                factor(rate),
            )
            for letter, word, unit, values, factor in kinds
            if values[k - 1]
        ]
        for k, rate in enumerate(v, 1)
    ]
