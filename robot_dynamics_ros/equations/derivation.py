"""From functions of the table to formulas: run one on symbols, reduce, write."""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.algorithms.function import Options
from robot_dynamics_ros.dynamics.algorithms.kinematics import jacobian_and_rate
from robot_dynamics_ros.dynamics.algorithms.linear_solve import dot
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, reachable
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Function
from robot_dynamics_ros.equations.formulas import Formulas, Rows, Step, symbol_names
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.names import check_identifiers
from robot_dynamics_ros.equations.numbers import Entry, exact_rotation, fraction_of
from robot_dynamics_ros.equations.parameters import Definition
from robot_dynamics_ros.equations.simplify import FormulaWriter
from robot_dynamics_ros.equations.symbol_tree import Lift, SymbolTree, exact_leaves, float_leaves
from robot_dynamics_ros.equations.trig_ring import TrigRing
from robot_dynamics_ros.equations.unexpanded import write_steps
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.spatial import Scalar, Vec3

if TYPE_CHECKING:
    import sympy


Given: TypeAlias = "tuple[Entry | str | sympy.Expr, ...]"
"""A constant input of a function, beside coordinates and rates: flat exact numbers, names of
symbols, or polynomials in them.
"""


@dataclass(frozen=True, eq=False)
class Derivation:
    """How the equations of a robot were asked for, to derive more of the same kind."""

    geometry: Geometry
    # coordinates, rates and efforts
    letters: tuple[Definition, ...]
    # other names in use → what for
    taken: Mapping[str, str]
    coordinates: str
    expand: bool
    simplify: bool
    max_terms: int

    def formulas(
        self,
        entry: str,
        options: Options,
        inputs: Mapping[str, Given],
        outputs: Mapping[str, tuple[int, int]],
        *,
        title: str,
        about: str,
        pick: Callable[[list[list[Scalar]]], list[list[Scalar]]] | None = None,
        variables: tuple[Definition, ...] = (),
        rows: Rows | None = None,
    ) -> Formulas:
        """A function of the table in symbols.

        Args:
            entry: name in the table.
            inputs: constant inputs by name.
            outputs: name and shape of the matrices.
            pick: from the flat outputs to one flat list a matrix; the outputs in order if not
                given.
            variables: definitions of the names among the inputs.
        """
        import sympy

        geometry = self.geometry
        if variables:
            symbols = [*self.taken.items(), *((d.symbol, d.meaning) for d in geometry.definitions)]
            check_identifiers([*symbols, *((d.symbol, d.meaning) for d in variables)])
            geometry = copy.copy(geometry)
            geometry.definitions = [*geometry.definitions, *variables]
        n = geometry.model.nv

        def run(leaves: Callable[[Graph], Lift]) -> list[list[Expr]]:
            graph = Graph()
            flat = self._run(graph, leaves(graph), geometry, entry, options, inputs)
            return [
                [graph.lift(x) for x in part] for part in (flat if pick is None else pick(flat))
            ]

        lifted = run(exact_leaves)
        names = {d.symbol: sympy.Symbol(d.symbol, real=True) for d in geometry.definitions}
        words = [sympy.Symbol(d.symbol, real=True) for d in self.letters]
        letters = {
            word: tuple(words[k * n : (k + 1) * n]) for k, word in enumerate(("q", "v", "a"))
        }
        steps: list[Step] = []
        if self.expand:
            ring = TrigRing(geometry, self.max_terms)
            write = FormulaWriter(ring, names, letters, self.simplify)
            done = [[write(x) for x in ring.evaluate(part)] for part in lifted]
        else:
            steps, values = write_steps(list(itertools.chain.from_iterable(lifted)), letters, names)
            remaining = iter(values)
            done = [list(islice(remaining, len(part))) for part in lifted]
        matrices = {
            name: sympy.Matrix(*shape, part)
            for (name, shape), part in zip(outputs.items(), done, strict=True)
        }
        traced = tuple(map(tuple, run(float_leaves)))
        return self.written(
            matrices,
            variables,
            title=title,
            about=about,
            steps=tuple(steps),
            rows=rows,
            traced=traced,
        )

    def written(
        self,
        matrices: Mapping[str, sympy.Matrix],
        definitions: Sequence[Definition],
        *,
        title: str,
        about: str,
        steps: tuple[Step, ...] = (),
        rows: Rows | None = None,
        traced: tuple[tuple[Expr, ...], ...] = (),
    ) -> Formulas:
        """Formulas from SymPy matrices that are there already; ``definitions`` are of symbols
        beside the robot's own.
        """
        n = self.geometry.model.nv
        used = symbol_names(matrices.values()) | symbol_names(x for _, x in steps)
        leaves = (
            x.a for x in reachable(list(itertools.chain.from_iterable(traced))) if x.op == "leaf"
        )
        # code needs what cancels out in formulas
        used |= {name for kind, name in leaves if kind == "parameter"}
        return Formulas(
            title,
            about,
            MappingProxyType(dict(matrices)),
            (
                *self.letters[: 3 * n],
                *(d for d in self.geometry.definitions if d.symbol in used),
                *definitions,
            ),
            steps,
            rows or {},
            self.coordinates,
            self.geometry.model.name,
            traced,
            (self.geometry.model.nq, n),
        )

    @staticmethod
    def _run(
        graph: Graph,
        lift: Lift,
        geometry: Geometry,
        entry: str,
        options: Options,
        inputs: Mapping[str, Given],
    ) -> list[list[Scalar]]:
        tree = SymbolTree(geometry, lift)
        n = geometry.model.nv
        arguments: dict[str, list[Expr]] = {
            word: [graph.leaf((word, k)) for k in range(n)] for word in ("q", "v", "a")
        }
        for word, constant in inputs.items():
            arguments[word] = [_constant(graph, lift, x) for x in constant]
        if entry in TABLE:
            function = TABLE[entry]
        else:
            function = _FORMULA_FUNCTIONS[entry]
        return function.run(tree, dict(options), arguments)


def _constant(graph: Graph, lift: Lift, x: Entry | str | sympy.Expr) -> Expr:
    """A constant input as part of the graph."""
    import sympy

    if isinstance(x, str):
        return graph.leaf(("parameter", x))
    if not isinstance(x, sympy.Basic):
        return lift(x)
    if x.is_Symbol:
        return graph.leaf(("parameter", str(x)))
    if x.is_Rational:
        return lift(Fraction(x.p, x.q))
    if x.is_Float:
        return lift(fraction_of(float(x)))
    parts = [_constant(graph, lift, part) for part in x.args]
    if x.is_Add:
        return functools.reduce(operator.add, parts)
    if x.is_Mul:
        return functools.reduce(operator.mul, parts)
    if x.is_Pow and x.exp.is_Integer and x.exp > 0:
        return functools.reduce(operator.mul, [parts[0]] * int(x.exp))
    remedy = "Use sums and products of symbols and numbers, such as sympy.Symbol('l1') / 2."
    raise ArgumentError(f"{x} is no polynomial", where="symbols", remedy=remedy)


def _jacobian_and_rate(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    point: Vector[S],
    *,
    options: Options,
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    return jacobian_and_rate(tree, q, v, options["link"], Vec3.of(point), options["frame"])


def _tip_efforts(
    tree: Tree[S],
    q: Vector[S],
    point: Vector[S],
    wrench: Vector[S],
    *,
    options: Options,
) -> list[Scalar]:
    J, _ = jacobian_and_rate(tree, q, None, options["link"], Vec3.of(point), options["frame"])
    return [dot(column, wrench) for column in zip(*J, strict=True)]


_FORMULA_FUNCTIONS = {
    "jacobian_and_rate": Function(
        "jacobian_and_rate",
        (("q", ()), ("v", ()), ("point", ())),
        (("J", ()), ("Jdot", ())),
        _jacobian_and_rate,
        takes_options=True,
    ),
    "tip_efforts": Function(
        "tip_efforts",
        (("q", ()), ("point", ()), ("wrench", ())),
        (("tau", ()),),
        _tip_efforts,
        takes_options=True,
    ),
}
"""Functions that only formulas need."""


def numbers(values: ArrayLike, where: str) -> Given:
    """Numbers as the decimals they are written as."""
    array = np.asarray(values, dtype=float)
    if not np.isfinite(array).all():
        raise ArgumentError("expected finite numbers", where=where, got=values)
    return tuple(fraction_of(x) for x in array.ravel())


def rotation(R: ArrayLike, where: str) -> Given:
    """A rotation matrix, exactly orthogonal."""
    array = np.asarray(R, dtype=float)
    if array.shape != (3, 3):
        raise ArgumentError(
            f"expected one rotation, got shape {array.shape}", where=where, got=array.shape
        )
    return tuple(itertools.chain.from_iterable(exact_rotation(array)))
