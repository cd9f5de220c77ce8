"""Ways to write one trigonometric polynomial: powers of joint angles' sines and cosines, angle sums, link angles.

For cos(q1) cos(q2) − sin(q1) sin(q2) a person writes cos(q1 + q2); for sin²(q2) they leave it.  Neither form is always the
shorter one, so each polynomial is written in all of them and the shortest is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy

    from robot_dynamics_ros.equations.trig_ring import TrigRing

Monomial = tuple[tuple[int, int], ...]
"""(power of sine, power of cosine) of every angle."""
Polynomial = dict[Monomial, Fraction]

MANY = 300
"""Polynomials of more terms are left as they are: nobody reads them."""


def parallel_parents(ring: TrigRing) -> dict[int, tuple[int, int]]:
    """Angle → (angle of the body before it, ±1) where the two axes are parallel (or opposed)."""
    import numpy as np

    from robot_dynamics_ros.equations.numbers import value_of

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
        angles: the angles, as SymPy expressions.
        parallel: as :func:`parallel_parents` finds.
        number: turns a coefficient of a polynomial into a SymPy number.
    """

    def __init__(
        self,
        angles: list[sympy.Expr],
        parallel: Mapping[int, tuple[int, int]],
        number: Callable[[Fraction], sympy.Rational],
    ) -> None:
        import sympy

        self.sympy, self.angles, self.parallel, self.number = sympy, angles, dict(parallel), number
        self._cumulative = list(angles)
        for k in sorted(self.parallel):
            before, sign = self.parallel[k]
            self._cumulative[k] = angles[k] + sign * self._cumulative[before]
        self._sums: dict[Monomial, dict[tuple[int, ...], tuple[Fraction, Fraction]]] = {}
        self._links: dict[Monomial, Polynomial] = {}

    def shortest(self, polynomial: Polynomial) -> sympy.Expr:
        """The shortest of all forms, as a SymPy expression."""
        forms = [self.powers(polynomial, self.angles)]
        if len(polynomial) <= MANY and any(sum(s + c for s, c in monomial) > 1 for monomial in polynomial):
            forms += [self.powers(_without_squares(1, polynomial), self.angles), self.angle_sums(polynomial)]
            if self.parallel:
                links = self._in_link_angles(polynomial)
                forms.append(self.powers(links, self._cumulative))
                forms.append(self.powers(_without_squares(1, links), self._cumulative))

        def length(e: sympy.Expr) -> tuple[int, int]:
            terms = len(self.sympy.Add.make_args(e))  # each of which will be multiplied by what stands in front
            return int(self.sympy.count_ops(e)) + terms - 1, terms

        return min(forms, key=length)

    def powers(self, polynomial: Polynomial, angles: list[sympy.Expr]) -> sympy.Expr:
        """Σ coefficient · Π sinᵃ cosᵇ."""
        S = self.sympy
        terms = []
        for monomial, coefficient in polynomial.items():
            factors = [self.number(coefficient)]
            for (s, c), angle in zip(monomial, angles, strict=True):
                factors += [S.sin(angle) ** s] if s else []
                factors += [S.cos(angle) ** c] if c else []
            terms.append(S.Mul(*factors))
        return S.Add(*terms)

    def angle_sums(self, polynomial: Polynomial) -> sympy.Expr:
        """Σ coefficient · sin or cos of sums of angles."""
        S = self.sympy
        total: dict[tuple[int, ...], tuple[sympy.Expr, sympy.Expr]] = {}
        for monomial, coefficient in polynomial.items():
            for frequency, (real, imaginary) in self._fourier(monomial).items():
                x, y = total.get(frequency, (S.Integer(0), S.Integer(0)))
                value = self.number(coefficient)
                total[frequency] = x + value * S.Rational(real), y + value * S.Rational(imaginary)
        terms = []
        for frequency, (real, imaginary) in total.items():
            leading = next((n for n in frequency if n), 0)
            if leading < 0:
                continue  # the conjugate of another term
            angle = S.Add(*(n * a for n, a in zip(frequency, self.angles, strict=True)))
            if leading == 0:
                terms.append(real)
            else:
                terms += [2 * real * S.cos(angle), -2 * imaginary * S.sin(angle)]
        return S.Add(*terms)

    def _fourier(self, monomial: Monomial) -> dict[tuple[int, ...], tuple[Fraction, Fraction]]:
        """The monomial as Σ (x + i y) exp(i n·θ)."""
        sums = self._sums.get(monomial)
        if sums is None:
            sums = {(0,) * len(monomial): (Fraction(1), Fraction(0))}
            half = Fraction(1, 2)
            for k, (s, c) in enumerate(monomial):
                for kind in "s" * s + "c" * c:
                    # cos θ = (e + 1/e)/2, sin θ = −i (e − 1/e)/2
                    out: dict[tuple[int, ...], tuple[Fraction, Fraction]] = {}
                    for frequency, (x, y) in sums.items():
                        for step in (1, -1):
                            key = (*frequency[:k], frequency[k] + step, *frequency[k + 1 :])
                            add = (x * half, y * half) if kind == "c" else (step * y * half, -step * x * half)
                            old = out.get(key, (Fraction(0), Fraction(0)))
                            out[key] = (old[0] + add[0], old[1] + add[1])
                    sums = {key: value for key, value in out.items() if any(value)}
            self._sums[monomial] = sums
        return sums

    def _in_link_angles(self, polynomial: Polynomial) -> Polynomial:
        """The polynomial in sines and cosines of the angles of links against the first of their parallel chain."""
        out: Polynomial = {}
        for monomial, coefficient in polynomial.items():
            for other, factor in self._link_monomial(monomial).items():
                _accumulate(out, other, coefficient * factor.numerator / factor.denominator)
        return out

    def _link_monomial(self, monomial: Monomial) -> Polynomial:
        products = self._links.get(monomial)
        if products is not None:
            return products
        empty = tuple((0, 0) for _ in monomial)
        products = {empty: Fraction(1)}
        for k, (s, c) in enumerate(monomial):
            for kind in "s" * s + "c" * c:
                if k not in self.parallel:
                    factor = {_raise(empty, k, kind): Fraction(1)}
                else:  # θ_k = φ_k − sign φ_before
                    before, sign = self.parallel[k]
                    cc, ss = (_raise(_raise(empty, k, w), before, w) for w in "cs")
                    sc, cs = _raise(_raise(empty, k, "s"), before, "c"), _raise(_raise(empty, k, "c"), before, "s")
                    one = Fraction(sign)
                    factor = {cc: Fraction(1), ss: one} if kind == "c" else {sc: Fraction(1), cs: -one}
                product: Polynomial = {}
                for a, x in products.items():
                    for b, y in factor.items():
                        _accumulate(
                            product, tuple((m[0] + n[0], m[1] + n[1]) for m, n in zip(a, b, strict=True)), x * y
                        )
                products = _without_squares(0, product)
        self._links[monomial] = products
        return products


def _accumulate(polynomial: Polynomial, monomial: Monomial, value: Fraction) -> None:
    total = value + polynomial.get(monomial, 0)
    if total:
        polynomial[monomial] = total
    else:
        polynomial.pop(monomial, None)


def _raise(monomial: Monomial, k: int, kind: str) -> Monomial:
    s, c = monomial[k]
    return (*monomial[:k], (s + 1, c) if kind == "s" else (s, c + 1), *monomial[k + 1 :])


def _without_squares(which: int, polynomial: Polynomial) -> Polynomial:
    """With sin² (``which`` 0) written as 1 − cos², or cos² (1) as 1 − sin²."""
    out: Polynomial = {}
    todo = list(polynomial.items())
    while todo:
        monomial, value = todo.pop()
        k = next((k for k, powers in enumerate(monomial) if powers[which] > 1), None)
        if k is None:
            _accumulate(out, monomial, value)
            continue
        for more, sign in ((0, 1), (2, -1)):
            own, other = monomial[k][which] - 2, monomial[k][1 - which] + more
            pair = (own, other) if which == 0 else (other, own)
            todo.append(((*monomial[:k], pair, *monomial[k + 1 :]), sign * value))
    return out
