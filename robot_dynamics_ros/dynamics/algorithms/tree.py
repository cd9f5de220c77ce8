"""The vocabulary in which the algorithms of this package are written.

A robot is a tree of *elementary* bodies: each is joined to its parent by one joint that rotates
about or slides along the z axis of the body's frame, or is free.  A planar joint is two slides and
a rotation in series, with massless bodies between.  Fixed joints do not occur: links that they join
are one body.

An algorithm is a function of a :class:`Tree` and of coordinates whose scalars are of one type
``S``: floats, arrays of floats (a batch of states), or symbols of a trace.  It may not branch on
their values.

Transforms and frames: ``i.transform(q)`` is ⁱX_λ, from the frame of the parent λ = ``i.parent`` to
that of body i.  For X = ⁱX_λ, ``X.motion(m)`` brings a motion of the parent's frame into the
body's, ``X.force_back(f)`` and ``X.rigid_back(I)`` bring a force or inertia of the body's frame
into the parent's.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, overload

from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Force, Mat3, Motion, RigidInertia, S, Scalar, Transform, Vec3

__all__ = [
    "Body",
    "Factors",
    "Field",
    "ElementaryKind",
    "TreeMatrix",
    "S",
    "SpatialVector",
    "Square",
    "T",
    "Tree",
    "Vector",
]


S_contra = TypeVar("S_contra", bound=Scalar, contravariant=True)
T = TypeVar("T")
SpatialVector = TypeVar("SpatialVector", Force, Motion)

Vector = Sequence[S]
"""Coordinates, by the indices of :attr:`Body.columns`."""


class ElementaryKind(enum.IntEnum):
    """Elementary joint kinds."""

    REVOLUTE = 0
    PRISMATIC = 1
    FREE = 2


class Body(Protocol[S_contra]):
    """One elementary body."""

    @property
    # the parent body, or the tree's ``root``
    def parent(self) -> Any: ...
    @property
    # of the joint to the parent
    def kind(self) -> ElementaryKind: ...
    @property
    # in the body's frame
    def inertia(self) -> RigidInertia: ...
    @property
    # of S in the body's frame: (coordinate, column)
    def columns(
        self,
    ) -> Sequence[tuple[int, Motion]]: ...

    def __hash__(self) -> int: ...

    # ⁱX_λ at configuration q
    def transform(self, q: Sequence[S_contra]) -> Transform: ...
    # S x, for a vector x of velocities or accelerations
    def along(self, x: Sequence[S_contra]) -> Motion: ...
    # from this body's frame to its joint's child link's
    def to_link(self, f: SpatialVector) -> SpatialVector: ...
    # and back
    def from_link(self, f: Force) -> Force: ...


class Field(Protocol[T]):
    """One value for each body and the root."""

    def __getitem__(self, body: Hashable) -> T: ...
    def __setitem__(self, body: Hashable, value: T) -> None: ...


class Square(Protocol):
    """A matrix over the coordinates, in the making; ``rows``: its entries, where it is written
    out.
    """

    @property
    def rows(self) -> list[list[Any]]: ...

    # to the entry (i, j); where no joint mimics another, each entry is met once
    def add(self, i: int, j: int, value: Scalar) -> None: ...


class TreeMatrix(Square, Protocol):
    """A symmetric one; ``rows``: its lower triangle; ``add``: to the entries (i, j) and (j, i), to
    (i, i) once.
    """

    # the same for two joints, whose coordinate may be the same where one mimics the other
    def add_pair(self, i: int, j: int, value: Scalar) -> None: ...


class Factors(Protocol[S]):
    """A symmetric positive-definite matrix M over the coordinates, ready to divide by."""

    # M⁻¹ (right − minus)
    def solve(self, right: Vector[S], minus: Vector[S]) -> list[S]: ...
    # −M⁻¹ B of each matrix B, and M⁻¹ itself last
    def divide(self, matrices: Sequence[Square]) -> list[Square]: ...


class Tree(Protocol[S]):
    """The robot on scalars ``S``."""

    @property
    # the robot as loaded
    def model(self) -> RobotModel: ...
    @property
    # number of velocity coordinates
    def nv(self) -> int: ...
    @property
    # key of the root body, which does not move, in a :class:`Field`
    def root(self) -> Any: ...

    # -- iteration ---------------------------------------------------------------------------------

    # parents first
    def outward(self) -> Iterator[Body[S]]: ...
    # children first
    def inward(self) -> Iterator[Body[S]]: ...
    # between a body and the root, nearest first
    def ancestors(self, body: Any) -> Iterator[Body[S]]: ...
    # from the root to a body, which is the last; none for the root
    def path(self, body: Any) -> Iterable[Body[S]]: ...
    # indices of the velocity coordinates that have rotor inertia, or of all
    def degrees(
        self,
    ) -> Iterable[int]: ...

    # -- memory ------------------------------------------------------------------------------------

    @overload
    def field(self, kind: type[T]) -> Field[T]: ...
    @overload
    def field(self, kind: list[type[T]]) -> Field[list[T]]: ...
    def field(self, kind: type[T] | list[type[T]]) -> Field[T] | Field[list[T]]:
        """Working memory for one value a body; ``[kind]`` for one value for each column of its
        joint.
        """

    @overload
    def each(self, kind: type[T], value: Callable[[Body[S]], T]) -> Field[T]: ...
    @overload
    def each(self, kind: list[type[T]], value: Callable[[Body[S]], list[T]]) -> Field[list[T]]: ...
    def each(
        self,
        kind: type[T] | list[type[T]],
        value: Callable[[Body[S]], Any],
    ) -> Field[Any]:
        """The same with a value for each body from its inertia and its values in other fields
        alone, so that several bodies go side by side.

        It may be computed as late as it is first asked for: what it is computed from must not
        change until then.
        """

    # for an input: no velocity, no acceleration
    def zeros(self) -> Vector[S]: ...
    # zeros over the velocity coordinates, as the three below: an output
    def vector(
        self,
    ) -> list[S]: ...
    def matrix(self) -> TreeMatrix: ...
    def square(self) -> Square: ...
    # of a matrix that is complete, and not to be used any more
    def factors(self, M: TreeMatrix) -> Factors[S]: ...

    # the result of the form with the fewest operations, where that can be known; ``loops``: which
    # suits large trees
    def cheapest(self, forms: Sequence[Callable[[], T]], loops: int = -1) -> T: ...

    # -- constants ---------------------------------------------------------------------------------

    # reflected rotor inertia of a coordinate, with what was added
    def armature(self, dof: int) -> S: ...
    def add_armature(self, extra: Sequence[S]) -> None: ...
    # acceleration of gravity in world axes
    def gravity(self) -> Vec3: ...
    # acceleration of the root less gravity, in its frame: where forces start from
    def gravity_motion(
        self,
    ) -> Motion: ...
    # spatial velocity of the root, in its frame
    def base_velocity(self) -> Motion: ...
    # spatial acceleration of the root, gravity no part of it, in its frame
    def base_acceleration(
        self,
    ) -> Motion: ...
    # from the world to the root
    def base_transform(self) -> Transform: ...
    # of the links joined to the root, in its frame
    def root_inertia(self) -> RigidInertia: ...
    # of the whole robot, the root included; raises ModelError if it has none
    def total_mass(
        self,
    ) -> S: ...

    # let the root move: velocity and acceleration of its origin, [angular; linear], in its frame
    def move_base(self, v: Sequence[S], a: Sequence[S]) -> None: ...

    # -- links and bodies of the model -------------------------------------------------------------

    # of a body number of the model; ``None`` for the root (−1)
    def model_body(self, body: int) -> Body[S] | None: ...
    # from a link's body to the link
    def link_frame(self, link: int) -> Transform: ...
    # mass, centre of mass, inertia about it; link's frame
    def link_inertia(self, link: int) -> tuple[S, Vec3, Mat3]: ...

    def external_forces(self, rows: Sequence[S]) -> Field[Force]:
        """Forces on bodies, in their frames, from one wrench a body of the model.

        Args:
            rows: flat (nb, 6), each [moment; force] about the origin and in the axes of the body's
                child link.
        """

    # the forces of all joints that have coordinates, in joint order and child-link frames: an
    # output
    def per_joint(self, f: Field[Force]) -> list[S]: ...

    # -- coordinates -------------------------------------------------------------------------------

    # (kind, first position coordinate, first velocity coordinate) of every elementary joint
    def position_indices(self) -> Iterable[tuple[ElementaryKind, int, int]]: ...
