"""Equations as a list of steps, in the order in which the recursive algorithms take them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

from robot_dynamics_ros.dynamics.algorithms.derivatives import coriolis_matrix
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Key, evaluate, reachable
from robot_dynamics_ros.equations.formulas import Step
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.simplify import Symbols
from robot_dynamics_ros.equations.symbol_tree import Recursions, SymbolTree, exact_leaves
from robot_dynamics_ros.spatial import Scalar

if TYPE_CHECKING:
    import sympy

Names: TypeAlias = "Mapping[str, sympy.Symbol]"


def unexpanded_terms(
    geometry: Geometry,
    traced: Recursions,
    names: Names,
    letters: Mapping[str, Symbols],
) -> dict[str, Any]:
    """Fields of :class:`~robot_dynamics_ros.equations.equations.Equations`; values used twice
    become steps.
    """
    import sympy

    n = geometry.model.nv
    graph = traced["K"][0].graph
    tree = SymbolTree(geometry, exact_leaves(graph))
    leaves = [graph.leaf(("q", k)) for k in range(n)]
    # gamma[k][i][j]: the Coriolis matrix is linear in the velocity, unit velocities read it off
    gamma = []
    for k in range(n):
        unit: list[Scalar] = [1.0 if j == k else 0.0 for j in range(n)]
        gamma.append(
            [[graph.lift(x) for x in row] for row in coriolis_matrix(tree, leaves, unit).rows]
        )
    pairs = list(itertools.combinations(range(n), 2))
    flat = {
        **{name: traced[name] for name in ("K", "U", "M", "G", "coriolis")},
        "D": [b - g for b, g in zip(traced["bias"], traced["G"], strict=True)],
        "B": [2.0 * gamma[j][k][i] for k, (i, j) in itertools.product(range(n), pairs)],
        "C": [gamma[j][i][j] for i, j in itertools.product(range(n), range(n))],
    }
    shapes = {
        "M": (n, n),
        "D": (n, 1),
        "G": (n, 1),
        "coriolis": (n, n),
        "B": (n, len(pairs)),
        "C": (n, n),
    }
    outputs = [x for x in itertools.chain.from_iterable(flat.values())]
    steps, done = write_steps(outputs, letters, names)
    remaining = iter(done)
    terms: dict[str, Any] = {"steps": tuple(steps)}
    for name, values in flat.items():
        entries = list(islice(remaining, len(values)))
        terms[name] = sympy.Matrix(*shapes[name], entries) if name in shapes else entries[0]
    return terms


def write_steps(
    outputs: list[Expr],
    letters: Mapping[str, Symbols],
    names: Names,
) -> tuple[list[Step], list[sympy.Expr]]:
    """Traced expressions as steps (symbol, expression), for values used twice, and the outputs'
    values.
    """
    import sympy

    uses = Counter(x.id for node in reachable(outputs) for x in node.operands)
    uses.update(x.id for x in outputs)
    steps: list[Step] = []
    taken = {str(x) for x in itertools.chain.from_iterable(letters.values())} | set(names)
    letter = next(
        x
        for x in ("t", "w", "z", "tmp")
        if not any(name.startswith(x) and name[len(x) :].isdigit() for name in taken)
    )

    def leaf(key: Key) -> sympy.Expr:
        kind, what = key
        if kind in ("parameter", "exact", "root"):
            if kind == "parameter":
                return names[what]
            if kind == "exact":
                return sympy.Rational(what)
            return sympy.sqrt(what)
        return letters[kind][what]

    def kept(node: Expr, expression: sympy.Expr) -> sympy.Expr:
        if uses[node.id] < 2 or node.op in ("leaf", "const", "neg"):
            return expression
        symbol = sympy.Symbol(f"{letter}{len(steps) + 1}", real=True)
        steps.append((symbol, expression))
        return symbol

    operations = SimpleNamespace(sin=sympy.sin, cos=sympy.cos)
    return steps, evaluate(outputs, leaf, operations, lambda x: sympy.Rational(Fraction(x)), kept)
