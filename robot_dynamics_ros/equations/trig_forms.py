"""Ways to write one trigonometric polynomial: powers of joint angles' sines and cosines, angle sums, link angles.

For cos(q1) cos(q2) − sin(q1) sin(q2) a person writes cos(q1 + q2); for sin²(q2) they leave it.  Neither form is always the
shorter one, so each polynomial is written in all of them and the shortest is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.equations.numbers import value_of
from robot_dynamics_ros.equations.trig_ring import Poly, TrigRing, without_squares

if TYPE_CHECKING:
    import sympy

MANY = 300
"""Polynomials of more terms are left as they are: nobody reads them."""


def parallel_parents(ring: TrigRing) -> dict[int, tuple[int, int]]:
    """Angle → (angle of the body before it, ±1) where the two axes are parallel (or opposed)."""
    parents: dict[int, tuple[int, int]] = {}
    bodies = ring.geometry.bodies
    for i, body in enumerate(bodies):
        mine = ring.angle_of[i]
        before = ring.angle_of[body.parent] if body.parent >= 0 else None
        if mine is None or before is None or mine == before or mine in parents:
            continue
        R = np.array([[value_of(x) for x in row] for row in body.rotation])
        axis = R @ [value_of(x) for x in body.normal[2]]
        cosine = float(axis @ [value_of(x) for x in bodies[body.parent].normal[2]])
        if abs(abs(cosine) - 1.0) < 1e-14:
            parents[mine] = (before, 1 if cosine > 0.0 else -1)
    return parents


class TrigForms:
    """Writes polynomials in sines and cosines.

    Args:
        ring: where the polynomials are from.
        angles: its angles, as SymPy expressions.
        parallel: as :func:`parallel_parents` finds.
    """

    def __init__(self, ring: TrigRing, angles: list[sympy.Expr], parallel: Mapping[int, tuple[int, int]]) -> None:
        import sympy

        self.sympy, self.ring, self.angles = sympy, ring, angles
        self._fourier = functools.cache(self._waves)
        self._cumulative = list(angles)
        self._links: list[tuple[Poly, Poly]] = []
        for k, (before, sign) in sorted(parallel.items()):  # θ_k = φ_k − sign φ_before
            self._cumulative[k] = angles[k] + sign * self._cumulative[before]
            own, other = ring.angles[k], ring.angles[before]
            self._links.append((own.s, own.s * other.c - sign * own.c * other.s))
            self._links.append((own.c, own.c * other.c + sign * own.s * other.s))

    def number(self, x: Any) -> sympy.Rational:
        """A coefficient as a SymPy number."""
        return self.sympy.Rational(int(x.numerator), int(x.denominator))

    def shortest(self, x: Poly) -> sympy.Expr:
        """The shortest of all forms, as a SymPy expression."""
        forms, cosines = [self.powers(x, self.angles)], self.ring.cosine_squares
        if len(x) <= MANY and any(sum(monomial) > 1 for monomial in x):
            forms += [self.powers(without_squares(x, cosines), self.angles), self.angle_sums(x)]
            if self._links:
                links = self.ring.reduce(x.compose(self._links))
                forms.append(self.powers(links, self._cumulative))
                forms.append(self.powers(without_squares(links, cosines), self._cumulative))

        def length(e: sympy.Expr) -> tuple[int, int]:
            terms = len(self.sympy.Add.make_args(e))  # each of which will be multiplied by what stands in front
            return int(self.sympy.count_ops(e)) + terms - 1, terms

        return min(forms, key=length)

    def powers(self, x: Poly, angles: list[sympy.Expr]) -> sympy.Expr:
        """Σ coefficient · Π sinᵃ cosᵇ."""
        S = self.sympy
        waves = [wave(angle) for angle in angles for wave in (S.sin, S.cos)]
        terms = []
        for monomial, coefficient in x.items():
            powers = zip(waves, monomial[self.ring.first_angle :], strict=True)
            terms.append(S.Mul(self.number(coefficient), *(wave**power for wave, power in powers if power)))
        return S.Add(*terms)

    def angle_sums(self, x: Poly) -> sympy.Expr:
        """Σ coefficient · sin or cos of sums of angles."""
        S = self.sympy
        total: dict[tuple[int, ...], Any] = {}
        for monomial, coefficient in x.items():
            for frequency, z in self._fourier(monomial[self.ring.first_angle :]).items():
                total[frequency] = total.get(frequency, 0) + z * coefficient
        terms = []
        for frequency, z in total.items():
            leading = next((n for n in frequency if n), 0)
            if leading > 0:  # the negative ones are their conjugates
                angle = S.Add(*(n * a for n, a in zip(frequency, self.angles, strict=True)))
                terms += [2 * self.number(z.x) * S.cos(angle), -2 * self.number(z.y) * S.sin(angle)]
            elif leading == 0:
                terms.append(self.number(z.x))
        return S.Add(*terms)

    def _waves(self, monomial: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
        """The monomial as Σ z exp(i n·θ), by n: cos θ = (e + 1/e)/2, sin θ = −i (e − 1/e)/2."""
        QQ, QQ_I = self.sympy.QQ, self.sympy.QQ_I
        sums = {(0,) * len(self.angles): QQ_I(1, 0)}
        for place, power in enumerate(monomial):
            k = place // 2
            for _ in range(power):
                out: dict[tuple[int, ...], Any] = {}
                for frequency, z in sums.items():
                    for step in (1, -1):
                        key = (*frequency[:k], frequency[k] + step, *frequency[k + 1 :])
                        factor = QQ_I(QQ(1, 2), 0) if place % 2 else QQ_I(0, QQ(-step, 2))
                        out[key] = out.get(key, 0) + z * factor
                sums = {key: z for key, z in out.items() if z}
        return sums
