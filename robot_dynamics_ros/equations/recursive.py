"""Equations of motion by tracing the recursive algorithms that also compute the numbers."""

from __future__ import annotations

from typing import TypeAlias

from robot_dynamics_ros.dynamics.algorithms.coriolis import coriolis_matrix
from robot_dynamics_ros.dynamics.algorithms.energy import kinetic_energy, potential_energy
from robot_dynamics_ros.dynamics.algorithms.function import flat
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import newton_euler
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import composite_rigid_body
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, count_operations
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.symbol_tree import SymbolTree, exact_leaves
from robot_dynamics_ros.spatial import Scalar

Recursions: TypeAlias = dict[str, list[Expr]]
"""Traced expressions by name, flat, on leaves ("q", i), ("v", i), ("a", i) and those of the geometry."""


def trace_recursions(geometry: Geometry) -> Recursions:
    """Run the algorithms once on symbols.

    Returns:
        energies ``K`` and ``U``; mass matrix ``M``; inverse dynamics ``tau``, the same without acceleration (``bias``) and without
        any motion (``G``); ``coriolis`` matrix.
    """
    graph = Graph()
    tree = SymbolTree(geometry, exact_leaves(graph))
    n = geometry.model.nv
    q, v, a = ([graph.leaf((word, k)) for k in range(n)] for word in ("q", "v", "a"))
    none: list[Scalar] = [0.0] * n
    traced = {
        "M": composite_rigid_body(tree, q).rows,
        "tau": newton_euler(tree, q, v, a).tau,
        "bias": newton_euler(tree, q, v, none).tau,
        "G": newton_euler(tree, q, none, none).tau,
        "coriolis": coriolis_matrix(tree, q, v).rows,
        "K": kinetic_energy(tree, q, v),
        "U": potential_energy(tree, q),
    }
    order = ("K", "U", "M", "bias", "G", "coriolis", "tau")
    return {name: [graph.lift(x) for x in flat(traced[name])] for name in order}


def operations_of(recursive: Recursions) -> dict[str, int]:
    """Operations of each in unexpanded form."""
    return {name: count_operations(values)["total"] for name, values in recursive.items()}
