"""From polynomials to expressions that people like to read.

For cos(q1) cos(q2) − sin(q1) sin(q2) a person writes cos(q1 + q2); for sin²(q2) they leave it.
Neither form is always the shorter one, so each polynomial in sines and cosines is written in both
and the shorter is kept.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from robot_dynamics_ros.equations.trig_ring import Poly, TrigRing

if TYPE_CHECKING:
    import sympy

Symbols: TypeAlias = "Sequence[sympy.Symbol]"

MANY = 300
"""Polynomials of more terms are left as they are: nobody reads them."""
# Sums of up to so many terms,
FACTOR_TERMS = 12
# with numbers up to so large, are factored; beyond, it takes long and finds nothing.
FACTOR_DIGITS = 1_000_000


class FormulaWriter:
    """Writes elements of a ring in SymPy's symbols of parameters (by name), and of coordinates and
    their rates.

    ``simplify``: look for the shortest form; else the plain polynomial.
    """

    def __init__(
        self,
        ring: TrigRing,
        symbols: Mapping[str, sympy.Symbol],
        letters: Mapping[str, Symbols],
        simplify: bool,
    ) -> None:
        import sympy

        self.ring = ring
        self.simplify = simplify
        self.S = sympy
        roots = [sympy.sqrt(2), sympy.sqrt(3)]
        q, v, a = (letters[word] for word in ("q", "v", "a"))
        self._letters = [*(symbols[name] for name in ring.parameter_names), *roots, *q, *v, *a]
        assert len(self._letters) == ring.first_angle
        self._masses = [
            symbols[d.symbol]
            for d in ring.geometry.definitions
            if d.parameter.split(":")[0] in ("mass", "gravity")
        ]
        self._rates = [*v, *a]
        self._angles = [
            q[angle.q] * sympy.Rational(angle.multiplier.numerator, angle.multiplier.denominator)
            + sympy.Rational(angle.offset.numerator, angle.offset.denominator)
            for angle in ring.angles
        ]
        self._sines = [
            wave(angle) for angle, wave in itertools.product(self._angles, (sympy.sin, sympy.cos))
        ]
        self._fourier = functools.cache(self._waves)

    def __call__(self, x: Poly) -> sympy.Expr:
        """One expression."""
        S = self.S
        groups: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        first = self.ring.first_angle
        for monomial, coefficient in x.items():
            groups.setdefault(monomial[:first], {})[monomial[first:]] = coefficient
        forms = []
        for letters, terms in groups.items():
            factor = S.Mul(*(x**e for x, e in zip(self._letters, letters, strict=True) if e))
            forms.append(factor * self._trigonometric(terms))
        plain = S.Add(*forms)
        if self.simplify:
            return self._settled(self._shortest(plain))
        return plain

    def _number(self, x: Any) -> sympy.Rational:
        return self.S.Rational(int(x.numerator), int(x.denominator))

    def _trigonometric(self, x: Mapping[tuple[int, ...], Any]) -> sympy.Expr:
        """A polynomial in sines and cosines, by powers, Σ number · Π sinᵃ cosᵇ, or as angle sums if
        that is shorter.
        """
        S = self.S
        terms = []
        for monomial, coefficient in x.items():
            powers = zip(self._sines, monomial, strict=True)
            terms.append(
                S.Mul(self._number(coefficient), *(wave**power for wave, power in powers if power))
            )
        plain = S.Add(*terms)
        if not self.simplify or len(x) > MANY or all(sum(monomial) < 2 for monomial in x):
            return plain

        def length(e: sympy.Expr) -> tuple[int, int]:
            # each of which will be multiplied by what stands in front
            terms = len(S.Add.make_args(e))
            return int(S.count_ops(e)) + terms - 1, terms

        return min(plain, self._angle_sums(x), key=length)

    def _angle_sums(self, x: Mapping[tuple[int, ...], Any]) -> sympy.Expr:
        """Σ coefficient · sin or cos of sums of angles."""
        S = self.S
        total: dict[tuple[int, ...], Any] = {}
        for monomial, coefficient in x.items():
            for frequency, z in self._fourier(monomial).items():
                total[frequency] = total.get(frequency, 0) + z * coefficient
        terms = []
        for frequency, z in total.items():
            leading = next((n for n in frequency if n), 0)
            # the negative ones are their conjugates
            if leading > 0:
                angle = S.Add(*(n * a for n, a in zip(frequency, self._angles, strict=True)))
                terms += [
                    2 * self._number(z.x) * S.cos(angle),
                    -2 * self._number(z.y) * S.sin(angle),
                ]
            elif leading == 0:
                terms.append(self._number(z.x))
        return S.Add(*terms)

    def _waves(self, monomial: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
        """The monomial as Σ z exp(i n·θ), by n: cos θ = (e + 1/e)/2, sin θ = −i (e − 1/e)/2."""
        QQ = self.S.QQ
        QQ_I = self.S.QQ_I
        sums = {(0,) * len(self._angles): QQ_I(1, 0)}
        for place, power in enumerate(monomial):
            k = place // 2
            for _ in range(power):
                out: dict[tuple[int, ...], Any] = {}
                for frequency, z in sums.items():
                    for step in (1, -1):
                        key = (*frequency[:k], frequency[k] + step, *frequency[k + 1 :])
                        if place % 2:
                            factor = QQ_I(QQ(1, 2), 0)
                        else:
                            factor = QQ_I(0, QQ(-step, 2))
                        out[key] = out.get(key, 0) + z * factor
                sums = {key: z for key, z in out.items() if z}
        return sums

    def _settled(self, x: sympy.Expr) -> sympy.Expr:
        """Numbers in front of a sum moved into it: 1.08 + 0.45 cos(q2), not (5393 + 2250
        cos(q2))/5000.

        Fractions of hundreds of digits, which factoring leaves in front of sums of equally long
        integers, overflow in print; moved in, every number is of the size that it has in the robot.
        """
        S = self.S
        if not x.args:
            return x
        if isinstance(x, S.Pow) and isinstance(x.base, S.Add) and x.exp.is_Integer:
            scale = max(abs(term.as_coeff_Mul()[0]) for term in x.base.args)
            if _plain(scale) and all(_plain(term.as_coeff_Mul()[0]) for term in x.base.args):
                return x
            base = S.Add(*(self._settled(term / scale) for term in x.base.args))
            return S.Mul(scale**x.exp, base**x.exp, evaluate=False)
        coefficient, rest = x.as_coeff_Mul()
        if not isinstance(x, S.Mul) or _plain(coefficient):
            return x.func(*map(self._settled, x.args))
        rates = set(self._rates)
        factors = list(S.Mul.make_args(rest))
        sums = [k for k, factor in enumerate(factors) if isinstance(factor, S.Add)]
        sums.sort(key=lambda k: factors[k].free_symbols <= rates)
        long = max(len(str(abs(coefficient.p))), len(str(coefficient.q))) > 20
        for k in sums:
            if long or not factors[k].free_symbols <= rates:
                terms = S.Add(*(self._settled(coefficient * term) for term in factors[k].args))
                others = [self._settled(f) for m, f in enumerate(factors) if m != k]
                return S.Mul(*others[:k], terms, *others[k:])
        return S.Mul(coefficient, *map(self._settled, factors))

    def _shortest(self, plain: sympy.Expr) -> sympy.Expr:
        """The shortest of several groupings; the plain sum wins a tie."""
        S = self.S
        if not isinstance(plain, S.Add) or len(plain.args) > MANY:
            return plain
        forms = [plain, S.factor_terms(plain)]
        if self._masses:
            forms.append(S.collect(S.expand_mul(plain), self._masses, S.factor_terms))
        rates = [x for x in self._rates if plain.has(x)]
        if rates:
            forms.append(S.collect(S.expand_mul(plain), _products(plain, rates), S.factor_terms))
        numbers = plain.atoms(S.Rational)
        if len(plain.args) <= FACTOR_TERMS and all(
            max(abs(x.p), x.q) < FACTOR_DIGITS for x in numbers
        ):
            whole = S.factor(plain)
            forms.append(whole)
            if isinstance(whole, S.Mul):
                forms.append(
                    S.Mul(*(self._shortest(f) if isinstance(f, S.Add) else f for f in whole.args))
                )
        return min(forms, key=S.count_ops)


def _plain(x: sympy.Expr) -> bool:
    """A small integer, or a half: it may stand in front of a sum."""
    return bool(x.is_Rational and abs(x.p) < 10**6 and (x.q == 1 or (x.q == 2 and abs(x.p) == 1)))


def _products(plain: sympy.Expr, rates: Symbols) -> list[sympy.Expr]:
    """Products of rates that occur in a sum, so that it can be collected by them."""
    import sympy as S

    candidates: dict[sympy.Expr, None] = {}
    for term in S.Add.make_args(S.expand_mul(plain)):
        product = S.Mul(
            *(
                f
                for f in S.Mul.make_args(term)
                if f.free_symbols and f.free_symbols <= set(rates) and not f.has(S.sin, S.cos)
            )
        )
        if product != 1:
            candidates[product] = None
    return list(candidates)
