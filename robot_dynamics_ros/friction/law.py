"""Friction of one joint: every law that compensation, simulation, rollouts, identification and
exported code share.

    F(v) = d v + [F_c + (F_s − F_c) exp(−|v/v_s|^δ)] · direction(v) + offset

is stated on single numbers.  The same functions run on floats, on arrays, on symbols that are
traced, and are read as routines. What friction depends on besides speed is a table of effects,
:data:`EFFECTS`, each linear in its parameters:

    τ = d·[F_c + (F_s − F_c) exp(−(v/v_s)²) + μ |τ_rigid|] + F_a |d|
        + D v + E v (|v| − v_e) + offset
        + Σ_k [A_k sin kq + B_k cos kq]
        + S tanh((v + v_0)/w_s) + R (tanh(v/w_r) − d)
        + J a + G τ_rigid + C_1 m_1 + C_2 m_2

The direction d, between −1 and 1, is tanh(v/w) or a state of presliding friction
(:mod:`~robot_dynamics_ros.friction.effects`).  m_1 and m_2 are the moments across the joint's axis:
a torque sensor in the joint reads a share of them (crosstalk).  G is the error of the joint's
torque constant, compared with those of the others.

Sources: Armstrong-Hélouvry, Dupont and Canudas de Wit, Automatica 30 (1994) (Stribeck); Hamon,
Gautier, Garrec and Janot, IROS 2010 (load); Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca,
IEEE RA-L 4(4), 2019 (sigmoid).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Protocol, TypeAlias

import numpy as np

from robot_dynamics_ros.spatial import S, Scalar, exp, sqrt, tanh

Array: TypeAlias = np.ndarray


class ParameterVector(Protocol):
    """Parameters in order: numbers, arrays or symbols."""

    def __getitem__(self, i: int, /) -> Scalar: ...


# The compiler of routines knows an array by this word.
Vector: TypeAlias = ParameterVector

VISCOUS, COULOMB, RISE, STRIBECK_SPEED, SMOOTHING, FRICTION_OFFSET = range(6)
"""Parameters of :func:`joint_friction`, in order."""
COUPLING = (
    "coupled_before",
    "coupled_after",
    "coupled_width",
    "coupled_coulomb",
    "coupled_viscous",
)
"""Parameters of :func:`coupled_friction`, in order, after those."""
FRICTION_COLUMNS = 11
"""How many there are in all."""


def stribeck(v: S, speed: Scalar, exponent: Scalar) -> S:
    """exp(−|v/v_s|^δ): from 1 at rest to 0."""
    ratio = v / speed
    return exp(-((ratio * ratio) ** (0.5 * exponent)))


def dry_friction(v: S, coulomb: Scalar, rise: Scalar, speed: Scalar, exponent: Scalar) -> S:
    """F_c + (F_s − F_c) exp(−|v/v_s|^δ), N m or N: the size of dry friction while sliding."""
    return coulomb + rise * stribeck(v, speed, exponent)


def joint_friction(v: S, f: Vector) -> S:
    """F(v), N m or N, with the step at rest smoothed to tanh(v/w); ``f`` in the order of
    :data:`VISCOUS` … :data:`FRICTION_OFFSET`.
    """
    size = dry_friction(v, f[COULOMB], f[RISE], f[STRIBECK_SPEED], 2.0)
    return f[VISCOUS] * v + size * tanh(v / f[SMOOTHING]) + f[FRICTION_OFFSET]


def motor_speed(
    own: S,
    before: S,
    after: S,
    share_before: Scalar,
    share_after: Scalar,
) -> S:
    """Speed of a motor that turns with a joint and with shares of its neighbours; accelerations
    alike.
    """
    return own + share_before * before + share_after * after


def coupled_friction(v: S, before: S, after: S, f: Vector) -> S:
    """D u + C tanh(u/w), N m or N: what a joint of speed v feels of a motor of speed u that turns
    with the joints ``before`` and ``after``, too; the parameters :data:`COUPLING` follow those of
    :func:`joint_friction`.
    """
    n = FRICTION_OFFSET + 1
    u = motor_speed(v, before, after, f[n], f[n + 1])
    return f[n + 4] * u + f[n + 3] * tanh(u / f[n + 2])


def secant_slope(v: S, viscous: Scalar, coulomb: Scalar, width: Scalar) -> S:
    """F(v)/v = d + F_c/√(v² + w²): finite at rest, so that an Euler step can be linearly implicit
    in friction.
    """
    return viscous + coulomb / sqrt(v * v + width * width)


# -- effects, as identification has them -----------------------------------------------------------


@dataclass(frozen=True)
class JointMotion:
    """States (...) of one joint: position, velocity, acceleration; direction of friction, between
    −1 and 1.

    Attributes:
        load: (..., 3) effort without friction and the moments across the axis, N m or N.
        beside: (..., 2, 2) velocity and acceleration of the joint before and of the one after, zero
            where there is none.
    """

    q: Array
    v: Array
    a: Array
    d: Array
    load: Array
    beside: Array

    @classmethod
    def of_joints(
        cls,
        q: Array,
        v: Array,
        a: Array,
        d: Array,
        load: Array,
    ) -> list[JointMotion]:
        """Of all joints, in order: (..., nv) each, ``load`` (..., nv, 3)."""
        none = np.zeros((*v.shape[:-1], 1, 2))
        both = np.concatenate([none, np.stack([v, a], axis=-1), none], axis=-2)
        return [
            cls(
                q[..., j],
                v[..., j],
                a[..., j],
                d[..., j],
                load[..., j, :],
                both[..., [j, j + 2], :],
            )
            for j in range(v.shape[-1])
        ]


Numbers: TypeAlias = Mapping[str, float]
Column: TypeAlias = Callable[[JointMotion, Numbers], Array]


@dataclass(frozen=True)
class Effect:
    """An effect of a joint that is kept only where it predicts better.

    Attributes:
        columns: parameter → its regressor column, (...).
        numbers: what the columns depend on nonlinearly, name → value unless known; ``signed`` ones
            may be negative.
        trials: of a joint's smoothing and largest speed, rad/s or m/s: the numbers that
            identification tries.
        needs: without what the effect cannot be recognized: ``"coulomb"``: Coulomb friction is
            identified; ``"far"``: the joint turns by a radian; ``"moments"``: there are some across
            its axis; ``"rotors"``: rotor inertia is not identified anyway.
        not_negative: whether the parameters are at least zero.
        at_most: the largest size of a parameter.
        after: the effect without which this one is not tried.
        automatic: whether it is tried unless effects are named.
        text: how a report states the numbers.
        formula: effort of the effect, with the names of the parameters and of the numbers; d: the
            direction from -1 to 1; q, v, a: position, velocity, acceleration of the joint; τ: the
            effort of the bodies.
    """

    columns: Mapping[str, Column]
    numbers: Numbers = field(default_factory=dict)
    trials: Callable[[float, float], Iterable[Numbers]] = lambda _, __: ({},)
    needs: str = ""
    signed: tuple[str, ...] = ()
    not_negative: bool = False
    at_most: float = inf
    after: str = ""
    automatic: bool = True
    text: str = ""
    formula: str = ""


def _stribeck_speeds(smoothing: float, fastest: float) -> Iterable[Numbers]:
    low = 2.0 * smoothing
    high = 0.5 * fastest
    return [
        {"stribeck_speed": float(x)}
        for x in (np.geomspace(low, high, 14) if high > 1.5 * low else ())
    ]


def _steps(smoothing: float, _: float) -> Iterable[Numbers]:
    return [{"step_width": share * smoothing} for share in (0.1, 0.2, 0.5, 1.0, 2.0)]


def _sigmoids(_: float, fastest: float) -> Iterable[Numbers]:
    if fastest > 0.0:
        widths = (np.geomspace(0.05, 0.7, 6) * fastest).tolist()
    else:
        widths = ()
    shifts = (-1.0, -0.5, 0.0, 0.5, 1.0)
    return [
        {"sigmoid_width": w, "sigmoid_shift": share * w}
        for w, share in itertools.product(widths, shifts)
    ]


def _waves(k: int) -> dict[str, Column]:
    return {f"sin{k}": lambda x, _: np.sin(k * x.q), f"cos{k}": lambda x, _: np.cos(k * x.q)}


def _of_motor(x: JointMotion, n: Numbers) -> Array:
    """(..., 2) velocity and acceleration of the motor of a coupled joint, at the joint."""
    own = np.stack([x.v, x.a], axis=-1)
    before = x.beside[..., 0, :]
    after = x.beside[..., 1, :]
    return motor_speed(own, before, after, n["coupled_before"], n["coupled_after"])


def _couplings(smoothing: float, _: float) -> Iterable[Numbers]:
    rows = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
    return [{"coupled_before": b, "coupled_after": c, "coupled_width": smoothing} for b, c in rows]


OF_SENSORS = ("gain", "crosstalk")
"""Effects that are errors of measured efforts, no friction."""
OF_SPEED = ("stribeck", "step", "asymmetry", "quadratic", "sigmoid")
"""Effects that depend on the joint's speed alone."""
QUADRATIC_SPEED_SHARE = 0.7
"""Of the recording's fastest speed: where the quadratic effect vanishes, so that viscous friction
alone fits on average.
"""
EFFECTS: dict[str, Effect] = {
    "stribeck": Effect(
        {"rise": lambda x, n: x.d * stribeck(x.v, n["stribeck_speed"], 2.0)},
        {"stribeck_speed": 0.1},
        _stribeck_speeds,
        needs="coulomb",
        not_negative=True,
        text="Stribeck speed {stribeck_speed:.3g}",
        formula="rise · d · exp(−(v / stribeck_speed)²)",
    ),
    # a part of dry friction has a step of its own at rest; the column vanishes while the joint
    # slides
    "step": Effect(
        {"step": lambda x, n: np.tanh(x.v / n["step_width"]) - x.d},
        {"step_width": 0.02},
        _steps,
        needs="coulomb",
        not_negative=True,
        text="a part of the step over {step_width:.3g}",
        formula="step · (tanh(v / step_width) − d)",
    ),
    "asymmetry": Effect(
        {"asymmetry": lambda x, _: np.abs(x.d)},
        needs="coulomb",
        formula="asymmetry · |d|",
    ),
    # grease is thinner at speed; the column vanishes near the mean speed, so that viscous friction
    # alone stays about right
    "quadratic": Effect(
        {"quadratic": lambda x, n: x.v * (np.abs(x.v) - n["quadratic_speed"])},
        {"quadratic_speed": 1.0},
        lambda _, fastest: [{"quadratic_speed": QUADRATIC_SPEED_SHARE * fastest}],
        text="quadratic beyond {quadratic_speed:.3g}",
        formula="quadratic · v · (|v| − quadratic_speed)",
    ),
    # a gear that loses more than half of its load would not turn
    "load": Effect(
        {"load": lambda x, _: x.d * np.abs(x.load[..., 0])},
        needs="coulomb",
        not_negative=True,
        at_most=0.5,
        formula="load · d · |τ|",
    ),
    "position": Effect(_waves(1), needs="far", formula="sin1 · sin(q) + cos1 · cos(q)"),
    "position2": Effect(
        _waves(2),
        needs="far",
        after="position",
        formula="sin2 · sin(2 q) + cos2 · cos(2 q)",
    ),
    # friction that grows with speed only up to a limit, and not alike in both directions
    "sigmoid": Effect(
        {
            "sigmoid": lambda x, n: np.tanh(
                (x.v + n["sigmoid_shift"]) / max(n["sigmoid_width"], 1e-6)
            )
        },
        {"sigmoid_width": 0.1, "sigmoid_shift": 0.0},
        _sigmoids,
        signed=("sigmoid_shift",),
        not_negative=True,
        # it can take the place of Stribeck friction, which controllers can compensate
        automatic=False,
        text="sigmoid over {sigmoid_width:.3g}, shifted by {sigmoid_shift:.3g}",
        formula="sigmoid · tanh((v + sigmoid_shift) / sigmoid_width)",
    ),
    # a motor that two joints share by their gears turns with a sum of their speeds, and acts on
    # both
    "coupled": Effect(
        {
            "coupled_coulomb": lambda x, n: np.tanh(
                _of_motor(x, n)[..., 0] / max(n["coupled_width"], 1e-6)
            ),
            "coupled_viscous": lambda x, n: _of_motor(x, n)[..., 0],
            "coupled_rotor": lambda x, n: _of_motor(x, n)[..., 1],
        },
        {"coupled_before": 0.0, "coupled_after": 0.0, "coupled_width": 0.02},
        _couplings,
        needs="coulomb",
        signed=("coupled_before", "coupled_after"),
        not_negative=True,
        text=(
            "motor turns with {coupled_before:+g} of the joint before, {coupled_after:+g} of the "
            "one after"
        ),
        formula=(
            "coupled_coulomb · tanh(u / coupled_width) + coupled_viscous · u + coupled_rotor · u̇, "
            "u = v + coupled_before · v of the joint before + coupled_after · v of the one after"
        ),
    ),
    "rotor": Effect(
        {"rotor": lambda x, _: x.a},
        needs="rotors",
        not_negative=True,
        formula="rotor · a",
    ),
    # a torque constant that is wrong by more than a fifth is no error of calibration
    "gain": Effect({"gain": lambda x, _: x.load[..., 0]}, at_most=0.2, formula="gain · τ"),
    # a sensor that reads more than a fifth of what acts across its axis is broken
    "crosstalk": Effect(
        {"crosstalk1": lambda x, _: x.load[..., 1], "crosstalk2": lambda x, _: x.load[..., 2]},
        needs="moments",
        at_most=0.2,
        formula="crosstalk1 · m₁ + crosstalk2 · m₂, of the moments across the joint's axis",
    ),
}
"""Effects of a joint, by name; an entry more is one that identification tries, friction files hold
and ``wrenches`` computes.
"""
