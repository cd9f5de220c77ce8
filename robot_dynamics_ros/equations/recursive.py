"""Equations of motion by tracing the recursive algorithms that also compute the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics_ros.dynamics.algorithms.coriolis import coriolis_matrix
from robot_dynamics_ros.dynamics.algorithms.energy import kinetic_energy, potential_energy
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import newton_euler
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import composite_rigid_body
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, count_operations
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.symbol_tree import SymbolTree, exact_leaves
from robot_dynamics_ros.spatial import Scalar


@dataclass(frozen=True, eq=False)
class RecursiveTerms:
    """Traced expressions, on leaves ("q", i), ("v", i), ("a", i) and those of the geometry.

    Attributes:
        M: rows of the mass matrix, by the composite-rigid-body algorithm.
        tau: inverse dynamics, by the recursive Newton-Euler algorithm.
        bias, G: the same without acceleration, and without any motion.
        coriolis: rows of the Coriolis matrix, by the algorithm of Echeandia and Wensing.
        K, U: energies, by velocity propagation.
    """

    graph: Graph
    M: list[list[Expr]]
    tau: list[Expr]
    bias: list[Expr]
    G: list[Expr]
    coriolis: list[list[Expr]]
    K: Expr
    U: Expr

    def named(self) -> dict[str, list[Expr]]:
        """Flat lists by name."""
        return {
            "K": [self.K],
            "U": [self.U],
            "M": [x for row in self.M for x in row],
            "bias": self.bias,
            "G": self.G,
            "coriolis": [x for row in self.coriolis for x in row],
            "tau": self.tau,
        }

    def operations(self) -> dict[str, int]:
        """Operations of each in unexpanded form."""
        return {name: count_operations(flat)["total"] for name, flat in self.named().items()}


def trace_recursions(geometry: Geometry) -> RecursiveTerms:
    """Run the algorithms once on symbols."""
    graph = Graph()
    tree = SymbolTree(geometry, exact_leaves(graph))
    n = geometry.model.nv
    q, v, a = ([graph.leaf((word, k)) for k in range(n)] for word in ("q", "v", "a"))
    none: list[Scalar] = [0.0] * n

    def lifted(flat: Sequence[Scalar]) -> list[Expr]:
        return [graph.lift(x) for x in flat]

    return RecursiveTerms(
        graph=graph,
        M=[lifted(row) for row in composite_rigid_body(tree, q).rows],
        tau=lifted(newton_euler(tree, q, v, a).tau),
        bias=lifted(newton_euler(tree, q, v, none).tau),
        G=lifted(newton_euler(tree, q, none, none).tau),
        coriolis=[lifted(row) for row in coriolis_matrix(tree, q, v).rows],
        K=graph.lift(kinetic_energy(tree, q, v)),
        U=graph.lift(potential_energy(tree, q)),
    )
