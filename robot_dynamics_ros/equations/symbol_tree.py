"""The robot as the recursions see it, with constants that are symbols of a trace.

The algorithms of :mod:`robot_dynamics_ros.dynamics` run on this tree as they do on numbers; what they leave behind in
the graph has a leaf for every parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.tree import Kind
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import Body, Layout, NumericTree, _z_from
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.numbers import Entry, Parameter, Root, exact_rotation, fraction_of, value_of
from robot_dynamics_ros.equations.places import clean_inertia, clean_vector
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.spatial import Mat3, Motion, Transform, Vec3, rotation_about_z

__all__ = ["SymbolTree", "exact_leaves", "float_leaves"]

Lift = Callable[[Entry], Any]


def exact_leaves(graph: Graph) -> Lift:
    """Constants as leaves: ("exact", fraction), ("root", radicand), ("parameter", name); 0 and ±1 as constants."""

    def lift(entry: Entry) -> Expr:
        if isinstance(entry, Parameter):
            leaf = graph.leaf(("parameter", entry.symbol))
            return leaf if entry.sign > 0 else -leaf
        if isinstance(entry, Root):
            return lift(entry.factor) * graph.leaf(("root", entry.radicand))
        if entry < 0:
            return -lift(-entry)
        return graph.const(float(entry)) if entry in (0, 1) else graph.leaf(("exact", entry))

    return lift


def float_leaves(graph: Graph) -> Lift:
    """Constants as floats, parameters as leaves ("parameter", name)."""

    def lift(entry: Entry) -> Expr:
        if isinstance(entry, Parameter):
            leaf = graph.leaf(("parameter", entry.symbol))
            return leaf if entry.sign > 0 else -leaf
        return graph.const(value_of(entry))

    return lift


class _SymbolLayout(Layout):
    """A :class:`~robot_dynamics_ros.dynamics.engine.elementary_tree.Layout` whose numbers are symbols (arrays of objects)."""

    def __init__(self, geometry: Geometry, lift: Lift) -> None:
        model = geometry.model
        for name in (
            "parent",
            "kind",
            "rotation",
            "position",
            "mass",
            "first_moment",
            "inertia",
            "q_index",
            "v_index",
            "multiplier",
            "offset",
            "normal",
            "body",
        ):
            setattr(self, name, [])

        def array(entries: Any) -> np.ndarray:
            return _lifted(entries, lift)

        zero = array([Fraction(0)] * 3)
        nothing = (lift(Fraction(0)), zero, array([[Fraction(0)] * 3] * 3))
        eye = array([[Fraction(int(i == j)) for j in range(3)] for i in range(3)])
        for i, b in enumerate(geometry.bodies):
            parent = -1 if b.parent < 0 else self.body[b.parent]
            n_parent = eye if parent < 0 else self.normal[parent]
            R, r, N = n_parent @ array(b.rotation), n_parent @ array(b.position), array(b.normal)
            v = int(model.v_index[i])
            k: Any = 1.0 if b.multiplier == 1 else lift(b.multiplier)
            d: Any = 0.0 if b.offset == 0 else lift(b.offset)
            q = b.q
            if b.kind is JointType.PLANAR:
                to_x, to_y = (_permutation(_z_from(np.eye(3)[c]), lift) for c in (0, 1))
                parent = self._put(parent, Kind.PRISMATIC, R @ N.T @ to_x.T, r, nothing, q, v, 1.0, 0.0, to_x @ N)
                parent = self._put(
                    parent, Kind.PRISMATIC, to_x @ to_y.T, zero, nothing, q + 1, v + 1, 1.0, 0.0, to_y @ N
                )
                R, r, q, v, kind = to_y, zero, q + 2, v + 2, Kind.REVOLUTE
            else:
                R = R @ N.T
                kind = {JointType.PRISMATIC: Kind.PRISMATIC, JointType.FLOATING: Kind.FREE}.get(b.kind, Kind.REVOLUTE)
            m, c = lift(b.mass), N @ array(b.com)
            square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
            steiner = np.array(
                [[(square if x == y else 0.0) - c[x] * c[y] for y in range(3)] for x in range(3)], dtype=object
            )
            about_origin = N @ array(b.inertia) @ N.T + steiner * m
            self.body.append(self._put(parent, kind, R, r, (m, c * m, about_origin), q, v, k, d, N))
        self.n = len(self.parent)
        self.nq, self.nv = model.nq, model.nv
        self.gravity = array(geometry.gravity)
        self.base_rotation = array(geometry.base_rotation)
        self.base_position = array(geometry.base_position)
        self.armature = array(geometry.armature)
        mass = lift(geometry.root_mass)
        self.root = (mass, array(geometry.root_com) * mass, nothing[2])

    def _put(
        self, parent: int, kind: Kind, R: Any, r: Any, inertia: Any, q: int, v: int, k: Any, d: Any, N: Any
    ) -> int:
        values = (parent, kind, R, r, *inertia, q, v, k, d, N)
        names = (
            "parent",
            "kind",
            "rotation",
            "position",
            "mass",
            "first_moment",
            "inertia",
            "q_index",
            "v_index",
            "multiplier",
            "offset",
            "normal",
        )
        for name, value in zip(names, values, strict=True):
            getattr(self, name).append(value)
        return len(self.parent) - 1


def _lifted(entries: Any, lift: Lift) -> np.ndarray:
    out = np.empty(np.shape(np.array(entries, dtype=object)), dtype=object)
    for index in np.ndindex(out.shape):
        entry: Any = entries
        for k in index:
            entry = entry[k]
        out[index] = lift(entry)
    return out


def _decimal(x: float) -> Fraction:
    """The shortest decimal that is ``x`` within rounding: sums along fixed joints leave their last digit behind."""
    return fraction_of(float(f"{float(x):.15g}"))


def _permutation(matrix: np.ndarray, lift: Lift) -> np.ndarray:
    return np.array([[lift(Fraction(int(x))) for x in row] for row in matrix], dtype=object)


class _SymbolBody(Body):
    """A body whose joint turns by a matrix: the exact angles of constant turns have no closed form."""

    def placed(self, p: Vec3, x: Any) -> Transform:
        R = self.joint[0]
        return Transform((R if self.kind is Kind.PRISMATIC else R.matmul(rotation_about_z(x))).T, p)


class SymbolTree(NumericTree):
    """A :class:`~robot_dynamics_ros.dynamics.engine.elementary_tree.NumericTree` whose constants are symbols.

    Args:
        geometry: the robot.
        lift: turns its constants into symbols of one graph.
    """

    def __init__(self, geometry: Geometry, lift: Lift) -> None:
        self.model, self.geometry, self.lift = geometry.model, geometry, lift
        self.layout = _SymbolLayout(geometry, lift)
        self.root = None
        self.bodies = []
        for number, parent in enumerate(self.layout.parent):
            self.bodies.append(_SymbolBody(self, number, None if parent < 0 else self.bodies[parent]))
        self.nv = self.model.nv
        self.base_motion = None

    def standing_gravity(self) -> Motion:
        g = self.layout.base_rotation.T @ self.layout.gravity
        return Motion(Vec3.zero(), Vec3.of([-x for x in g.tolist()]))

    def link_frame(self, link: int) -> Transform:
        model, body = self.model, int(self.model.link_body[link])
        R = self.lifted(exact_rotation(model.link_rotation[link]))
        p = self.lifted([_decimal(x) for x in clean_vector(model.link_position[link])])
        if body >= 0:
            N = self.layout.normal[self.layout.body[body]]
            R, p = N @ R, N @ p
        return Transform(Mat3.of(R.T.tolist()), Vec3.of(p.tolist()))

    def link_inertia(self, link: int) -> tuple[Any, Vec3, Mat3]:
        """In the body's symbols where the link is all that the body consists of.

        Raises:
            ModelError: fixed joints join the link to others with mass, and symbols stand for what they are together.
        """
        model, geometry = self.model, self.geometry
        body = int(model.link_body[link])
        own = model.link(model.link_names[link]).inertia
        if body >= 0:
            b = geometry.bodies[body]
            massive = [
                name
                for name, k in zip(model.link_names, model.link_body, strict=True)
                if int(k) == body and model.link(name).inertia.mass > 0.0
            ]
            entries = [b.mass, *b.com, *(x for row in b.inertia for x in row)]
            if model.link_names[link] == b.link and massive in ([], [b.link]):
                return (
                    self.lift(b.mass),
                    Vec3.of(self.lifted(b.com).tolist()),
                    Mat3.of(self.lifted(b.inertia).tolist()),
                )
            symbols = sorted({x.symbol for x in entries if isinstance(x, Parameter)})
            if symbols and own.mass > 0.0:
                raise ModelError(
                    f"fixed joints join {', '.join(map(repr, massive))}, and the symbols {', '.join(symbols)} stand for "
                    f"all of them together, so that the share of {model.link_names[link]!r} is not known",
                    where=f"link {model.link_names[link]!r}",
                    remedy="Leave numbers for the mass properties of this body, or ask about the moving joint above it.",
                )
        com = [_decimal(x) for x in clean_vector(own.com)]
        I = [[_decimal(x) for x in row] for row in clean_inertia(own.rotational)]  # noqa: E741 - the book's name
        return self.lift(_decimal(own.mass)), Vec3.of(self.lifted(com).tolist()), Mat3.of(self.lifted(I).tolist())

    def lifted(self, entries: Any) -> np.ndarray:
        """Nested lists of constants as an array of symbols."""
        return _lifted(entries, self.lift)

    def armature(self, dof: int) -> Any:
        return self.layout.armature[dof]
