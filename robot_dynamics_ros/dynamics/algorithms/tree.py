"""The vocabulary in which the algorithms of this package are written.

A robot is a tree of *elementary* bodies: each is joined to its parent by one joint that rotates about or slides along
the z axis of the body's frame, or is free.  A planar joint is two slides and a rotation in series, with massless bodies
between.  Fixed joints do not occur: links that they join are one body.

An algorithm is a function of a :class:`Tree` and of coordinates whose scalars are of one type ``S``: floats, arrays of
floats (a batch of states), or symbols of a trace.  It may not branch on their values.

Transforms and frames: ``i.transform(q)`` is ⁱX_λ, from the frame of the parent λ = ``i.parent`` to that of body i.  For
X = ⁱX_λ, ``X.motion(m)`` brings a motion of the parent's frame into the body's, ``X.force_back(f)`` and
``X.rigid_back(I)`` bring a force or inertia of the body's frame into the parent's.
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
    "Kind",
    "Matrix",
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


class Kind(enum.IntEnum):
    """Elementary joint kinds."""

    REVOLUTE = 0
    PRISMATIC = 1
    FREE = 2


class Body(Protocol[S_contra]):
    """One elementary body."""

    @property
    def parent(self) -> Any: ...  # the parent body, or the tree's ``root``
    @property
    def kind(self) -> Kind: ...  # of the joint to the parent
    @property
    def inertia(self) -> RigidInertia: ...  # in the body's frame
    @property
    def columns(
        self,
    ) -> Sequence[tuple[int, Motion]]: ...  # of S in the body's frame: (coordinate, column)

    def __hash__(self) -> int: ...

    def transform(self, q: Sequence[S_contra]) -> Transform: ...  # ⁱX_λ at configuration q
    def along(
        self, x: Sequence[S_contra]
    ) -> Motion: ...  # S x, for a vector x of velocities or accelerations
    def to_link(
        self, f: SpatialVector
    ) -> SpatialVector: ...  # from this body's frame to its joint's child link's
    def from_link(self, f: Force) -> Force: ...  # and back


class Field(Protocol[T]):
    """One value for each body and the root."""

    def __getitem__(self, body: Hashable) -> T: ...
    def __setitem__(self, body: Hashable, value: T) -> None: ...


class Square(Protocol):
    """A matrix over the coordinates, in the making; ``rows``: its entries, where it is written out."""

    @property
    def rows(self) -> list[list[Any]]: ...

    # to the entry (i, j); where no joint mimics another, each entry is met once
    def add(self, i: int, j: int, value: Scalar) -> None: ...


class Matrix(Square, Protocol):
    """A symmetric one; ``rows``: its lower triangle; ``add``: to the entries (i, j) and (j, i), to (i, i) once."""

    # the same for two joints, whose coordinate may be the same where one mimics the other
    def add_pair(self, i: int, j: int, value: Scalar) -> None: ...


class Factors(Protocol[S]):
    """A symmetric positive-definite matrix M over the coordinates, ready to divide by."""

    def solve(self, right: Vector[S], minus: Vector[S]) -> list[S]: ...  # M⁻¹ (right − minus)
    def divide(
        self, matrices: Sequence[Square]
    ) -> list[Square]: ...  # −M⁻¹ B of each matrix B, and M⁻¹ itself last


class Tree(Protocol[S]):
    """The robot on scalars ``S``."""

    @property
    def model(self) -> RobotModel: ...  # the robot as loaded
    @property
    def nv(self) -> int: ...  # number of velocity coordinates
    @property
    def root(self) -> Any: ...  # key of the root body, which does not move, in a :class:`Field`

    # -- iteration ---------------------------------------------------------------------------------------------------

    def outward(self) -> Iterator[Body[S]]: ...  # parents first
    def inward(self) -> Iterator[Body[S]]: ...  # children first
    def ancestors(
        self, body: Any
    ) -> Iterator[Body[S]]: ...  # between a body and the root, nearest first
    def path(
        self, body: Any
    ) -> Iterable[Body[S]]: ...  # from the root to a body, which is the last; none for the root
    def degrees(
        self,
    ) -> Iterable[
        int
    ]: ...  # indices of the velocity coordinates that have rotor inertia, or of all

    # -- memory ------------------------------------------------------------------------------------------------------

    @overload
    def field(self, kind: type[T]) -> Field[T]: ...
    @overload
    def field(self, kind: list[type[T]]) -> Field[list[T]]: ...
    def field(self, kind: type[T] | list[type[T]]) -> Field[T] | Field[list[T]]:
        """Working memory for one value a body; ``[kind]`` for one value for each column of its joint."""

    @overload
    def each(self, kind: type[T], value: Callable[[Body[S]], T]) -> Field[T]: ...
    @overload
    def each(self, kind: list[type[T]], value: Callable[[Body[S]], list[T]]) -> Field[list[T]]: ...
    def each(self, kind: type[T] | list[type[T]], value: Callable[[Body[S]], Any]) -> Field[Any]:
        """The same with a value for each body from its inertia and its values in other fields alone, so that several bodies go side by
        side.

        It may be computed as late as it is first asked for: what it is computed from must not change until then.
        """

    def zeros(self) -> Vector[S]: ...  # for an input: no velocity, no acceleration
    def vector(
        self,
    ) -> list[S]: ...  # zeros over the velocity coordinates, as the three below: an output
    def matrix(self) -> Matrix: ...
    def square(self) -> Square: ...
    def factors(
        self, M: Matrix
    ) -> Factors[S]: ...  # of a matrix that is complete, and not to be used any more

    # the result of the form with the fewest operations, where that can be known; ``loops``: which suits large trees
    def cheapest(self, forms: Sequence[Callable[[], T]], loops: int = -1) -> T: ...

    # -- constants ---------------------------------------------------------------------------------------------------

    def armature(
        self, dof: int
    ) -> S: ...  # reflected rotor inertia of a coordinate, with what was added
    def add_armature(self, extra: Sequence[S]) -> None: ...
    def gravity(self) -> Vec3: ...  # acceleration of gravity in world axes
    def gravity_motion(
        self,
    ) -> Motion: ...  # acceleration of the root less gravity, in its frame: where forces start from
    def base_velocity(self) -> Motion: ...  # spatial velocity of the root, in its frame
    def base_acceleration(
        self,
    ) -> Motion: ...  # spatial acceleration of the root, gravity no part of it, in its frame
    def base_transform(self) -> Transform: ...  # from the world to the root
    def root_inertia(self) -> RigidInertia: ...  # of the links joined to the root, in its frame
    def total_mass(
        self,
    ) -> S: ...  # of the whole robot, the root included; raises ModelError if it has none

    # let the root move: velocity and acceleration of its origin, [angular; linear], in its frame
    def move_base(self, v: Sequence[S], a: Sequence[S]) -> None: ...

    # -- links and bodies of the model -------------------------------------------------------------------------------

    def model_body(
        self, body: int
    ) -> Body[S] | None: ...  # of a body number of the model; ``None`` for the root (−1)
    def link_frame(self, link: int) -> Transform: ...  # from a link's body to the link
    def link_inertia(
        self, link: int
    ) -> tuple[S, Vec3, Mat3]: ...  # mass, centre of mass, inertia about it; link's frame

    def external_forces(self, rows: Sequence[S]) -> Field[Force]:
        """Forces on bodies, in their frames, from one wrench a body of the model.

        Args:
            rows: flat (nb, 6), each [moment; force] about the origin and in the axes of the body's child link.
        """

    # the forces of all joints that have coordinates, in joint order and child-link frames: an output
    def per_joint(self, f: Field[Force]) -> list[S]: ...

    # -- coordinates -------------------------------------------------------------------------------------------------

    # (kind, first position coordinate, first velocity coordinate) of every elementary joint
    def position_indices(self) -> Iterable[tuple[Kind, int, int]]: ...
