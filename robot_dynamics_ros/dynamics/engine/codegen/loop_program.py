"""Programs of loops over a tree's bodies, as recorded from an algorithm, and the memory they work
on.

A program is a list of sections run in order: straight blocks, loops over bodies (one block for each
class of alike bodies, or one for as many bodies as go side by side), loops over degrees of freedom.
A block computes expressions of loaded values and stores them; a block may hold loops over a body's
ancestors.

Locations say where a value lives:

``("record", k, who)``
    entry k of a body, kept as an array over bodies; who is ``i``, its parent ``p``, an ancestor
    ``j``, or ``root``
``("param", k)``
    constant k of body ``i``
``("armature", c, who)``
    rotor inertia of degree c of ``i``, or of the loop's degree ``dof``
``("arg", n, kind, c, who)``
    argument n at the body's q or v index plus c, or at ``dof``, or at flat index c
``("row", n, c)``
    argument n, entry c of the six that belong to the joint of body ``i``
``("matrix", n, (c, who), (d, who))``
    argument n, a square matrix over degrees
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr

Location: TypeAlias = tuple[Any, ...]
WIDEST = 8
"""Doubles in the largest vector: rows of arrays in working memory are filled up to a multiple of
it.
"""


def round_up(doubles: int) -> int:
    """The next multiple of the largest vector."""
    return -(-doubles // WIDEST) * WIDEST


INT_FIELDS = ("parent", "q_index", "v_index", "class", "run_start", "joint_row", "end")


@dataclass(eq=False)
class LoopStore:
    """``location = value``."""

    location: Location
    value: Expr


@dataclass(eq=False)
class AncestorLoop:
    """Stores made for every ancestor ``j`` of body ``i`` that has ``degrees`` degrees of
    freedom.
    """

    degrees: int
    stores: list[LoopStore] = field(default_factory=list)


@dataclass(eq=False)
class PairLoop:
    """Stores made for every body ``j`` with one degree of freedom and all bodies ``i`` beyond it,
    along rows of matrices.
    """

    stores: list[LoopStore]


@dataclass(eq=False)
class Block:
    """Statements that run once, or once a body: ancestor loops, then stores."""

    stores: list[LoopStore] = field(default_factory=list)
    loops: list[AncestorLoop] = field(default_factory=list)


@dataclass(eq=False)
class BodyLoop:
    """Blocks by class of body, bodies in ascending order or descending."""

    inward: bool
    blocks: dict[int, Block] = field(default_factory=dict)
    # no body needs anything of another in this loop, and all single joints have the same block
    apart: bool = False


@dataclass(eq=False)
class DegreeLoop:
    """A block for every degree of freedom."""

    block: Block = field(default_factory=Block)


@dataclass(frozen=True)
class Linear:
    """A step of linear algebra with a symmetric matrix M over the degrees of freedom: ``factorize``
    M in place; ``solve`` M x = right − x in place; ``divide`` each of ``right`` by M, with opposite
    sign, and invert M.
    """

    what: str
    # numbers of M, and of x or of the quotients and of the inverse
    arrays: tuple[int, ...]
    # numbers of what is on the right
    right: tuple[int, ...] = ()


Section: TypeAlias = Block | BodyLoop | PairLoop | DegreeLoop | Linear


@dataclass(eq=False)
class LoopProgram:
    """A recorded algorithm."""

    n: int
    nv: int
    # what runs, in order
    sections: list[Section]
    # (array, number of doubles) pairs set to zero first
    cleared: list[tuple[int, int]]
    # array beyond the arguments → where in working memory it begins
    scratch: dict[int, int]
    # arguments that hold the lower half of a symmetric matrix, to be mirrored at the end
    symmetric: list[int]
    # doubles of working memory: entries of all bodies and the root, further arrays
    workspace: int
    # (n, 7) integers per body, see ``INT_FIELDS``; the root is body ``root``
    ints: np.ndarray
    # (k, root) constants per body
    params: np.ndarray
    # (nv,)
    armature: np.ndarray
    # numbers of the classes of bodies that have a free joint
    free_classes: tuple[int, ...] = ()

    @property
    def root(self) -> int:
        """Number of the root: beyond what the last vector of bodies writes too much."""
        return round_up(self.n)

    @property
    def stride(self) -> int:
        """Doubles from one entry of the bodies to the next: an odd number of cache lines, so that
        entries do not share places in the cache.
        """
        return self.root + WIDEST * (1 + self.root // WIDEST % 2)

    @property
    def ancestors(self) -> list[int]:
        """(nv,) the degree of freedom before each one on the way to the root, −1 for the first."""
        # by body
        last = {self.root: -1}
        before = [0] * self.nv
        for k, (parent, _, v, kind, *_) in enumerate(self.ints.tolist()):
            degrees = 6 if kind in self.free_classes else 1
            before[v : v + degrees] = [last[parent], *range(v, v + degrees - 1)]
            last[k] = v + degrees - 1
        return before
