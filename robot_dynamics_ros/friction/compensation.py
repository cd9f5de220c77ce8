"""Joint friction that a controller compensates: viscous, Coulomb and Stribeck, smooth at zero
speed; offsets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.law import COUPLING, coupled_friction, joint_friction
from robot_dynamics_ros.model.description import Array, frozen_array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint, vector

_OF_EACH_JOINT = ("viscous", "coulomb", "breakaway", "stribeck_speed", "smoothing")


@dataclass(frozen=True, slots=True, eq=False)
class Friction:
    """F(v) = viscous·v + [coulomb + (breakaway −
    coulomb)·exp(−(v/stribeck_speed)²)]·tanh(v/smoothing) + offset.

    Beside it, where a motor turns with a joint and its neighbours, what the joint feels of this
    motor.  Stated in :func:`~robot_dynamics_ros.friction.law.joint_friction` and
    ``coupled_friction``.  F is the motor effort that keeps the joint at speed v; friction itself
    acts with −F on the joint.  The step at zero speed is replaced by a slope over ``smoothing``, so
    that the compensation does not chatter.  F must stay below the true friction at all speeds,
    otherwise it drives the joint; ``scaled`` makes it smaller.

    Attributes:
        viscous: (n,) N m s/rad or N s/m.
        coulomb: (n,) N m or N.
        breakaway: (n,) friction at the onset of motion, not below ``coulomb``.
        stribeck_speed: (n,) rad/s or m/s, over which the breakaway friction decays.
        smoothing: (n,) rad/s or m/s.
        offset: (n,) constant effort, N m or N, or ``None``.
        coupling: (5, n) parameters of :data:`~robot_dynamics_ros.friction.law.COUPLING`, or
            ``None``.
        trust: share that a controller with ``robustness`` believes at the start, 0 to 1, near 1 for
            friction that was measured on this robot; motion corrects it.
        rows: (11, n) all parameters in the order of :mod:`~robot_dynamics_ros.friction.law`.

    Source: Armstrong-Hélouvry, Dupont and Canudas de Wit, Automatica 30 (1994), section 2.
    """

    viscous: Array
    coulomb: Array
    breakaway: Array
    stribeck_speed: Array
    smoothing: Array
    offset: Array | None = None
    coupling: Array | None = None
    trust: float = 0.0
    rows: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        expect(0.0 <= self.trust <= 1.0, "a number from 0 to 1", self.trust, "friction trust")
        sizes = {np.shape(getattr(self, name)) for name in _OF_EACH_JOINT}
        good = len(sizes) == 1 and len(next(iter(sizes))) == 1
        remedy = "rd.Friction.of(model, …) makes them from one number, or one a joint."
        expect(good, "arrays of one number a joint", sizes, "friction", remedy)
        if self.coupling is not None:
            wanted = (len(COUPLING), *next(iter(sizes)))
            given = np.shape(self.coupling)
            expect(given == wanted, f"an array of shape {wanted}", given, "friction coupling")
        if self.offset is None:
            offset = np.zeros_like(self.viscous)
        else:
            offset = self.offset
        rise = self.breakaway - self.coulomb
        coupling = self.coupling
        own = np.stack(
            [self.viscous, self.coulomb, rise, self.stribeck_speed, self.smoothing, offset]
        )
        rows = np.concatenate(
            [own, _uncoupled(len(self.viscous)) if coupling is None else coupling]
        )
        object.__setattr__(self, "rows", rows)

    @classmethod
    def of(
        cls,
        model: RobotModel,
        *,
        viscous: float | Sequence[float] | None = None,
        coulomb: float | Sequence[float] | None = None,
        breakaway: float | Sequence[float] | None = None,
        stribeck_speed: float | Sequence[float] = 0.1,
        smoothing: float | Sequence[float] = 0.02,
        offset: Sequence[float] | None = None,
        coupling: Sequence[Mapping[str, float]] | None = None,
        trust: float = 0.0,
    ) -> Friction:
        """Friction of a model: the URDF's ``<dynamics damping friction>`` and ``<coupling>``, or
        what is given instead.

        Args:
            coupling: for each joint, numbers by the names of
                :data:`~robot_dynamics_ros.friction.law.COUPLING`; other names are passed over.

        Raises:
            ArgumentError: a value negative or not finite, of the wrong length, a breakaway below
                the Coulomb friction, or a speed that is not positive; a coupling of another number
                of joints, or with negative friction; a trust that is not from 0 to 1.
        """
        n = model.nv
        if coulomb is None:
            c = model.friction
        else:
            c = per_joint(coulomb, n, "friction coulomb")
        if breakaway is None:
            b = c
        else:
            b = per_joint(breakaway, n, "friction breakaway")
        if (b < c).any():
            i = int(np.argmax(c - b))
            raise ArgumentError(
                f"breakaway {b[i]:g} of joint {i} lies below its Coulomb friction {c[i]:g}",
                where="friction breakaway",
                got=breakaway,
                remedy="Give a breakaway friction of at least the Coulomb friction.",
            )
        if coupling is None:
            coupling = [dict(zip(COUPLING, x, strict=False)) for x in model.coupling.T]
        constant = None
        if offset is not None and np.any(offset):
            remedy = "Give one value a joint, in model order."
            constant = frozen_array(vector(offset, n, "friction offset", remedy=remedy), (n,))
        if viscous is None:
            d = model.damping
        else:
            d = per_joint(viscous, n, "friction viscous")
        speed = per_joint(stribeck_speed, n, "friction stribeck_speed", positive=True)
        width = per_joint(smoothing, n, "friction smoothing", positive=True)
        return cls(d, c, b, speed, width, constant, _coupling(coupling, n), trust)

    @property
    def is_zero(self) -> bool:
        """Whether there is nothing to compensate."""
        others = (
            self.viscous,
            self.breakaway,
            self.offset,
            None if self.coupling is None else self.coupling[3:],
        )
        return not any(x is not None and x.any() for x in others)

    def scaled(self, factor: float) -> Friction:
        """All of friction times ``factor``; speeds and offset as they are."""
        more = {name: getattr(self, name) * factor for name in ("viscous", "coulomb", "breakaway")}
        if self.coupling is not None:
            more["coupling"] = self.coupling * np.array([[1.0], [1.0], [1.0], [factor], [factor]])
        arrays: dict[str, Any] = {name: frozen_array(x, x.shape) for name, x in more.items()}
        return replace(self, **arrays)

    def effort(self, v: Array) -> Array:
        """(..., n) F(v) for velocities ``v`` (..., n)."""
        n = len(self.viscous)
        fits = np.shape(v)[-1:] == (n,)
        expect(fits, f"(..., {n}) velocities", v, "v", "Give one velocity a joint.")
        own = np.asarray(joint_friction(v, self.rows))
        if self.coupling is None:
            return own
        none = 0.0 * v[..., :1]
        before, after = (
            np.concatenate(x, axis=-1) for x in ((none, v[..., :-1]), (v[..., 1:], none))
        )
        return own + np.asarray(coupled_friction(v, before, after, self.rows))


def _uncoupled(n: int) -> Array:
    """(5, n) coupling of joints that have none."""
    return np.tile([[0.0], [0.0], [1.0], [0.0], [0.0]], n)


def _coupling(joints: Sequence[Mapping[str, float]], n: int) -> Array | None:
    """(5, n) coupling of joints, or ``None`` if no joint has any; ArgumentError: another number of
    joints, not finite, or negative friction.
    """
    out = _uncoupled(n)
    expect(
        len(joints) in (0, n),
        f"numbers of {n} joints",
        joints,
        "friction coupling",
        "Give one mapping a joint.",
    )
    for j, numbers in enumerate(joints):
        if any(numbers.get(name) for name in COUPLING[3:]):
            out[:, j] = [
                max(float(numbers.get(n, 0.0)), 1e-6 if n == "coupled_width" else -np.inf)
                for n in COUPLING
            ]
    good = bool(np.isfinite(out).all() and (out[2:] >= 0.0).all())
    expect(
        good,
        "finite shares, and friction of at least 0",
        joints,
        "friction coupling",
        "A motor's friction brakes.",
    )
    if out[3:].any():
        return frozen_array(out, out.shape)
    return None
