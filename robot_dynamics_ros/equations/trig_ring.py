"""Exact arithmetic for equations of motion: polynomials in sines, cosines, coordinates, rates and
parameters.

Every term of the equations of motion of a tree of revolute and prismatic joints is a polynomial
over the rationals in s_k = sin θ_k and c_k = cos θ_k, one pair for each joint angle, sliding
coordinates, rates, and parameters.  With s_k² replaced by 1 − c_k² (and √2·√2 by 2) everywhere,
each function has exactly one such polynomial: two expressions are equal if and only if they reduce
to the same one.  So equality is decided, not tested.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Key, evaluate
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.numbers import Entry, Parameter, Root
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import JointType

Poly = Any


class TooLargeToExpand(ModelError):
    """An expression grows beyond what was allowed while it is multiplied out."""


class Angle(NamedTuple):
    """An angle θ = multiplier · q + offset that the equations depend on, with its generators in the
    ring.
    """

    q: int
    multiplier: Fraction
    offset: Fraction
    s: Poly
    c: Poly


class TrigRing:
    """The ring that a robot's equations live in.

    ``max_terms``: more terms than this in one product are refused.

    Attributes:
        q, v, a: generators.
        angles: the angles, in the order of their joints; ``angle_of`` gives each body's, or
            ``None``.
        first_angle: number of the generator that is the first angle's sine; all sines and cosines
            follow.
    """

    def __init__(self, geometry: Geometry, max_terms: int) -> None:
        from sympy import QQ
        from sympy.polys.rings import ring

        self.geometry = geometry
        self.max_terms = max_terms
        n = geometry.model.nv
        self.fraction: Callable[[Fraction], Poly] = lambda x: QQ(x.numerator, x.denominator)
        # type → place of the angle among its coordinates
        turns = {
            JointType.REVOLUTE: 0,
            JointType.PLANAR: 2,
        }
        key_of = [
            (b.q_index + turns[b.type], b.multiplier, b.offset) if b.type in turns else None
            for b in geometry.bodies
        ]
        keys = list(dict.fromkeys(key for key in key_of if key))
        self.parameter_names = [d.symbol for d in geometry.definitions]
        names = [f"p_{name}" for name in self.parameter_names] + ["r2", "r3"]
        names += [f"{x}{k}" for x, k in itertools.product(("q", "v", "a"), range(n))]
        self.first_angle = len(names)
        names += [f"{x}{k}" for k, x in itertools.product(range(len(keys)), ("s", "c"))]
        self.ring, *generators = ring(names, QQ)
        remaining = iter(generators)
        self.parameters = {name: next(remaining) for name in self.parameter_names}
        self.roots = {2: next(remaining), 3: next(remaining)}
        self.q, self.v, self.a = ([next(remaining) for _ in range(n)] for _ in range(3))
        angle_of_key = {key: Angle(*key, next(remaining), next(remaining)) for key in keys}
        self.angles = list(angle_of_key.values())
        self.angle_of = [None if key is None else angle_of_key[key] for key in key_of]
        self.zero = self.ring.zero
        self.one = self.ring.one
        # a Gröbner basis: no two leading terms share a generator
        self._relations = [root**2 - k for k, root in self.roots.items()]
        self._relations += [angle.s**2 + angle.c**2 - 1 for angle in self.angles]

    # -- arithmetic --------------------------------------------------------------------------------

    def number(self, x: Fraction) -> Poly:
        """A constant of the ring."""
        return self.one * self.fraction(x)

    def lift(self, entry: Entry) -> Poly:
        """A constant or parameter of the robot."""
        if isinstance(entry, Parameter):
            return self.parameters[entry.symbol] * entry.sign
        if isinstance(entry, Root):
            return self.roots[entry.radicand] * self.fraction(entry.factor)
        return self.number(entry)

    def mul(self, x: Poly, y: Poly) -> Poly:
        """x y, reduced; raises :class:`TooLargeToExpand` where it has more terms than allowed."""
        if len(x) * len(y) > 40 * self.max_terms:
            self._refuse(len(x) * len(y))
        product = self.reduce(x * y)
        if len(product) > self.max_terms:
            self._refuse(len(product))
        return product

    def _refuse(self, terms: int) -> None:
        raise TooLargeToExpand(
            f"multiplied out, one expression takes more than {self.max_terms} terms (one product "
            f"met {terms})",
            where=f"robot {self.geometry.model.name!r}",
            got=terms,
        )

    def dot(self, x: Sequence[Poly], y: Sequence[Poly]) -> Poly:
        """Σ xᵢ yᵢ."""
        total = self.zero
        for a, b in zip(x, y, strict=True):
            if a and b:
                total = total + self.mul(a, b)
        return total

    def matmul(
        self,
        A: Sequence[Sequence[Poly]],
        B: Sequence[Sequence[Poly]],
    ) -> list[list[Poly]]:
        """A B."""
        columns = list(zip(*B, strict=True))
        return [[self.dot(row, column) for column in columns] for row in A]

    def reduce(self, x: Poly) -> Poly:
        """The one polynomial with no squared sine and no squared root that equals ``x``."""
        return x.rem(self._relations)

    def by_q(self, x: Poly, j: int) -> Poly:
        """∂x/∂q_j."""
        total = x.diff(self.q[j])
        for angle in self.angles:
            if angle.q == j:
                rate = x.diff(angle.s) * angle.c - x.diff(angle.c) * angle.s
                total = total + rate * self.fraction(angle.multiplier)
        return self.reduce(total)

    def by_time(self, x: Poly) -> Poly:
        """dx/dt of a function of q: Σ ∂x/∂q_j v_j."""
        total = self.zero
        for j, v in enumerate(self.v):
            rate = self.by_q(x, j)
            if rate:
                total = total + rate * v
        return total

    # -- from traces -------------------------------------------------------------------------------

    def evaluate(self, outputs: Sequence[Expr]) -> list[Poly]:
        """Traced expressions as elements of the ring; leaves as :func:`exact_leaves` makes them,
        and ("q", i) and so on.
        """
        angles = {
            self.q[a.q] * self.fraction(a.multiplier) + self.number(a.offset): a
            for a in self.angles
        }
        of_kind: dict[str, Any] = {
            "parameter": self.parameters,
            "root": self.roots,
            "q": self.q,
            "v": self.v,
            "a": self.a,
        }

        def leaf(key: Key) -> Poly:
            kind, what = key
            if kind == "exact":
                return self.number(what)
            return of_kind[kind][what]

        operations = SimpleNamespace(
            sin=lambda x: angles[x].s if x in angles else -angles[-x].s,
            cos=lambda x: angles[x if x in angles else -x].c,
        )
        return evaluate(outputs, leaf, operations, lambda x: self.number(Fraction(x)), mul=self.mul)
