"""Proving that two derivations give the same equations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics_ros.equations.lagrange import LagrangeTerms
from robot_dynamics_ros.equations.symbol_tree import Recursions
from robot_dynamics_ros.equations.trig_ring import Poly, TrigRing
from robot_dynamics_ros.errors import RobotDynamicsError


class ProofError(RobotDynamicsError, ArithmeticError):
    """Two derivations of the same equations disagree."""


@dataclass(frozen=True)
class Proof:
    """Identities that were shown to hold, exactly and for every configuration, velocity and
    parameter value.
    """

    # statement, how many scalar ones, terms in the polynomials compared
    identities: tuple[tuple[str, int, int], ...]

    def __str__(self) -> str:
        return "\n".join(
            f"{statement}: {count} identities, {terms} terms"
            for statement, count, terms in self.identities
        )


def prove(
    ring: TrigRing,
    lagrange: LagrangeTerms,
    C: list[list[Poly]],
    recursive: Recursions,
) -> Proof:
    """Reduce both sides of every identity to normal form and compare; ``C``: Coriolis matrix of the
    Christoffel symbols of M.

    Raises :class:`ProofError`, with the difference, where one does not vanish.
    """
    n = len(lagrange.D)
    done: list[tuple[str, int, int]] = []

    def show(statement: str, ours: list[Poly], theirs: list[Poly]) -> None:
        for k, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            difference = ring.reduce(x - y)
            if difference:
                problem = (
                    f"the two sides differ by {len(difference)} terms, the first of which is "
                    f"{difference.leading_term()}"
                )
                remedy = "This is a fault of the package: please report it with the robot."
                raise ProofError(
                    problem, where=f"{statement}, entry {k}", got=difference, remedy=remedy
                )
        done.append((statement, len(ours), sum(len(x) for x in ours)))

    flat = {name: ring.evaluate(values) for name, values in recursive.items()}
    M = lagrange.M
    v = ring.v
    a = ring.a
    show("kinetic energy: Lagrange = velocity propagation", [lagrange.K], flat["K"])
    show("potential energy: Lagrange = centres of mass", [lagrange.U], flat["U"])
    show(
        "M: second derivative of K = composite-rigid-body algorithm",
        list(itertools.chain.from_iterable(M)),
        flat["M"],
    )
    show(
        "D + G: Euler-Lagrange = recursive Newton-Euler without acceleration",
        [d + g for d, g in zip(lagrange.D, lagrange.G, strict=True)],
        flat["bias"],
    )
    show("G: derivative of U = recursive Newton-Euler at rest", lagrange.G, flat["G"])

    def times(matrix: Sequence[Sequence[Poly]], vector: Sequence[Poly], i: int) -> Poly:
        """Entry i of a product."""
        return sum((ring.mul(matrix[i][j], vector[j]) for j in range(n)), ring.zero)

    whole = [times(M, a, i) + lagrange.D[i] + lagrange.G[i] for i in range(n)]
    show("M a + D + G = recursive Newton-Euler", whole, flat["tau"])

    show(
        "Coriolis matrix: Christoffel symbols of M = recursive algorithm",
        list(itertools.chain.from_iterable(C)),
        flat["coriolis"],
    )
    show(
        "Coriolis matrix times velocity = D",
        [times(C, v, i) for i in range(n)],
        lagrange.D,
    )
    skew = [
        ring.by_time(M[i][j]) - C[i][j] - C[i][j] + ring.by_time(M[j][i]) - C[j][i] - C[j][i]
        for i in range(n)
        for j in range(i + 1)
    ]
    show("dM/dt - 2 N is skew-symmetric (N: Coriolis matrix)", skew, [ring.zero] * len(skew))
    return Proof(tuple(done))
