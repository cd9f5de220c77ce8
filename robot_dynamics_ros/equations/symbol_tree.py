"""The robot as the recursions see it, with constants that are symbols of a trace.

The algorithms of :mod:`robot_dynamics_ros.dynamics` run on this tree as they do on numbers; what
they record in the graph has a leaf for every parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.centroidal import kinetic_energy, potential_energy
from robot_dynamics_ros.dynamics.algorithms.derivatives import coriolis_matrix
from robot_dynamics_ros.dynamics.algorithms.function import flat
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import newton_euler
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import composite_rigid_body
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import Layout, NumericTree
from robot_dynamics_ros.equations.geometry import Geometry, array
from robot_dynamics_ros.equations.numbers import (
    Entry,
    Parameter,
    Root,
    exact_rotation,
    fraction_of,
    value_of,
)
from robot_dynamics_ros.equations.parameters import body_links, clean_inertia, clean_vector
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.spatial import Mat3, Scalar, Transform, Vec3

Lift = Callable[[Entry], Expr]
Recursions: TypeAlias = dict[str, list[Expr]]
"""Traced expressions by name, flat, on leaves ("q", i), ("v", i), ("a", i) and those of the
geometry.
"""


def exact_leaves(graph: Graph) -> Lift:
    """Constants as leaves: ("exact", fraction), ("root", radicand), ("parameter", name); 0 and ±1
    as constants.
    """

    def lift(entry: Entry) -> Expr:
        if isinstance(entry, Parameter):
            leaf = graph.leaf(("parameter", entry.symbol))
            return leaf if entry.sign > 0 else -leaf
        if isinstance(entry, Root):
            return lift(entry.factor) * graph.leaf(("root", entry.radicand))
        if entry < 0:
            return -lift(-entry)
        if entry in (0, 1):
            return graph.const(float(entry))
        return graph.leaf(("exact", entry))

    return lift


def float_leaves(graph: Graph) -> Lift:
    """Constants as floats, parameters as leaves ("parameter", name)."""
    exact = exact_leaves(graph)
    return lambda entry: (
        exact(entry) if isinstance(entry, Parameter) else graph.const(value_of(entry))
    )


def _lifted(lift: Lift, entries: Any) -> np.ndarray:
    """Nested lists of constants as an array of symbols."""
    return np.asarray(np.frompyfunc(lift, 1, 1)(array(entries)))


def _layout(geometry: Geometry, lift: Lift) -> Layout:
    """The elementary tree with symbols for numbers."""
    lifted = partial(_lifted, lift)
    bodies = [
        b._replace(
            rotation=lifted(b.rotation),
            position=lifted(b.position),
            normal=lifted(b.normal),
            mass=lift(b.mass),
            com=lifted(b.com),
            inertia=lifted(b.inertia),
            multiplier=1.0 if b.multiplier == 1 else lift(b.multiplier),
            offset=0.0 if b.offset == 0 else lift(b.offset),
        )
        for b in geometry.bodies
    ]
    mass = lift(geometry.root_mass)
    base = lifted(geometry.base_rotation), lifted(geometry.base_position)
    root = mass, lifted(geometry.root_com) * mass, np.zeros((3, 3))
    return Layout(bodies, lifted(geometry.gravity), base, lifted(geometry.armature), root)


def _decimal(x: float) -> Fraction:
    """The shortest decimal that is ``x`` within rounding: sums along fixed joints lose their last
    digit.
    """
    return fraction_of(float(f"{float(x):.15g}"))


class SymbolTree(NumericTree):
    """A :class:`NumericTree` of ``dynamics.engine`` whose constants are symbols of one graph, made
    by ``lift``.
    """

    def __init__(self, geometry: Geometry, lift: Lift) -> None:
        super().__init__(geometry.model, _layout(geometry, lift))
        self.geometry, self.lift, self.lifted = geometry, lift, partial(_lifted, lift)

    def link_frame(self, link: int) -> Transform:
        body = int(self.model.link_body[link])
        model = self.model
        R = self.lifted(exact_rotation(model.link_rotation[link]))
        p = self.lifted([_decimal(x) for x in clean_vector(model.link_position[link])])
        if body >= 0:
            N = self.layout.bodies[self.layout.body[body]].normal
            R = N @ R
            p = N @ p
        return Transform(Mat3.of(R.T.tolist()), Vec3.of(p.tolist()))

    def link_inertia(self, link: int) -> tuple[Scalar, Vec3, Mat3]:
        """In the body's symbols where the link is all that the body consists of.

        Raises:
            ModelError: fixed joints join the link to others with mass, and symbols stand for what
                they are together.
        """
        model = self.model
        geometry = self.geometry
        body = int(model.link_body[link])
        own = model.link(model.link_names[link]).inertia
        mass: Entry = _decimal(own.mass)
        com: Any = [_decimal(x) for x in clean_vector(own.com)]
        moments: Any = [[_decimal(x) for x in row] for row in clean_inertia(own.rotational)]
        if body >= 0:
            b = geometry.bodies[body]
            massive = [
                name
                for name, k in zip(model.link_names, model.link_body, strict=True)
                if int(k) == body and model.link(name).inertia.mass > 0.0
            ]
            name = body_links(model)[body]
            entries = [b.mass, *b.com, *b.inertia.ravel()]
            symbols = sorted({x.symbol for x in entries if isinstance(x, Parameter)})
            if model.link_names[link] == name and massive in ([], [name]):
                mass = b.mass
                com = b.com
                moments = b.inertia
            elif symbols and own.mass > 0.0:
                raise ModelError(
                    f"fixed joints join {', '.join(map(repr, massive))}, and the symbols "
                    f"{', '.join(symbols)} stand for "
                    f"all of them together, so that the share of {model.link_names[link]!r} is "
                    "not known",
                    where=f"link {model.link_names[link]!r}",
                    remedy=(
                        "Leave numbers for the mass properties of this body, or ask about the "
                        "moving joint above it."
                    ),
                )
        return (
            self.lift(mass),
            Vec3.of(self.lifted(com).tolist()),
            Mat3.of(self.lifted(moments).tolist()),
        )


def trace_recursions(geometry: Geometry) -> Recursions:
    """Run the algorithms once on symbols: energies ``K`` and ``U``; mass matrix ``M``; inverse
    dynamics ``tau``, the same without acceleration (``bias``) and without any motion (``G``);
    ``coriolis`` matrix.
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
