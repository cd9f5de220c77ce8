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

__all__ = ["Body", "Factors", "Field", "Kind", "Matrix", "S", "SpatialVector", "Square", "T", "Tree", "Vector"]


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
    """One elementary body.

    Attributes:
        parent: the parent body, or the tree's ``root``.
        kind: of the joint to the parent.
        inertia: rigid-body inertia in the body's frame.
        columns: the motion subspace S in the body's frame: pairs (index of the coordinate, column).
    """

    @property
    def parent(self) -> Any: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def inertia(self) -> RigidInertia: ...
    @property
    def columns(self) -> Sequence[tuple[int, Motion]]: ...

    def __hash__(self) -> int: ...

    def transform(self, q: Sequence[S_contra]) -> Transform:
        """ⁱX_λ at configuration q."""

    def along(self, x: Sequence[S_contra]) -> Motion:
        """S x, for a vector x of velocities or accelerations."""

    def to_link(self, f: SpatialVector) -> SpatialVector:
        """A force or motion of this body's frame, in the frame of its joint's child link."""

    def from_link(self, f: Force) -> Force:
        """A force of the child link's frame, in this body's."""


class Field(Protocol[T]):
    """One value for each body and the root."""

    def __getitem__(self, body: Hashable) -> T: ...
    def __setitem__(self, body: Hashable, value: T) -> None: ...


class Matrix(Protocol):
    """A symmetric matrix over the coordinates, in the making; ``rows``: its lower triangle, where it is written out."""

    @property
    def rows(self) -> list[list[Scalar]]: ...

    def add(self, i: int, j: int, value: Scalar) -> None:
        """Add to the entries (i, j) and (j, i), to (i, i) once."""

    def add_pair(self, i: int, j: int, value: Scalar) -> None:
        """The same for two joints, whose coordinate may be the same where one mimics the other."""


class Square(Protocol):
    """A matrix over the coordinates, in the making; ``rows``: its entries, where it is written out."""

    @property
    def rows(self) -> list[list[Any]]: ...

    def add(self, i: int, j: int, value: Scalar) -> None:
        """Add to the entry (i, j); where no joint mimics another, each entry is met once."""


class Factors(Protocol[S]):
    """A symmetric positive-definite matrix M over the coordinates, ready to divide by."""

    def solve(self, right: Vector[S], minus: Vector[S]) -> list[S]:
        """M⁻¹ (right − minus)."""

    def divide(self, matrices: Sequence[Square]) -> list[Square]:
        """−M⁻¹ B of each matrix B, and M⁻¹ itself last."""


class Tree(Protocol[S]):
    """The robot on scalars ``S``.

    Attributes:
        model: the robot as loaded.
        nv: number of velocity coordinates.
        root: key of the root body, which does not move, in a :class:`Field`.
    """

    @property
    def model(self) -> RobotModel: ...
    @property
    def nv(self) -> int: ...
    @property
    def root(self) -> Any: ...

    # -- iteration ---------------------------------------------------------------------------------------------------

    def outward(self) -> Iterator[Body[S]]:
        """Bodies, parents first."""

    def inward(self) -> Iterator[Body[S]]:
        """Bodies, children first."""

    def ancestors(self, body: Any) -> Iterator[Body[S]]:
        """The bodies between ``body`` and the root, nearest first, without ``body``."""

    def path(self, body: Any) -> Iterable[Body[S]]:
        """The bodies from the root to ``body``, which is the last; none for the root."""

    def degrees(self) -> Iterable[int]:
        """Indices of the velocity coordinates that have rotor inertia, or of all."""

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

    def vector(self) -> list[S]:
        """A zero vector over the velocity coordinates: an output."""

    def zeros(self) -> Vector[S]:
        """Zeros for an input: no velocity, no acceleration."""

    def matrix(self) -> Matrix:
        """A zero symmetric matrix over the velocity coordinates: an output."""

    def square(self) -> Square:
        """A zero matrix over the velocity coordinates: an output."""

    def factors(self, M: Matrix) -> Factors[S]:
        """The factors of a matrix that is complete; it is not to be used any more."""

    def cheapest(self, forms: Sequence[Callable[[], T]], loops: int = -1) -> T:
        """The result of the form that takes the fewest operations, where that can be known.

        Args:
            loops: number of the form for large trees.
        """

    # -- constants ---------------------------------------------------------------------------------------------------

    def armature(self, dof: int) -> S:
        """Reflected rotor inertia of a coordinate, and what :meth:`add_armature` put there."""

    def add_armature(self, extra: Sequence[S]) -> None:
        """Add to the rotor inertias."""

    def gravity(self) -> Vec3:
        """Acceleration of gravity in world axes."""

    def gravity_motion(self) -> Motion:
        """Acceleration of the root less gravity, in the root frame: the start of an outward pass for forces."""

    def base_velocity(self) -> Motion:
        """Spatial velocity of the root, in the root frame."""

    def base_acceleration(self) -> Motion:
        """Spatial acceleration of the root, in the root frame, gravity no part of it."""

    def move_base(self, v: Sequence[S], a: Sequence[S]) -> None:
        """Let the root move: velocity and acceleration of its origin, [angular; linear], in the root frame."""

    def base_transform(self) -> Transform:
        """World-to-root transform."""

    def root_inertia(self) -> RigidInertia:
        """Inertia of the links joined to the root, in the root frame."""

    def total_mass(self) -> S:
        """Mass of the whole robot, the root included.

        Raises:
            ModelError: it has none.
        """

    # -- links and bodies of the model -------------------------------------------------------------------------------

    def model_body(self, body: int) -> Body[S] | None:
        """The elementary body of a body number of the model; ``None`` for the root (−1)."""

    def link_frame(self, link: int) -> Transform:
        """Body-to-link transform: a link's frame in that of its body."""

    def link_inertia(self, link: int) -> tuple[S, Vec3, Mat3]:
        """Mass, centre of mass, and inertia about it of one link, in its frame."""

    def external_forces(self, rows: Sequence[S]) -> Field[Force]:
        """Forces on bodies, in their frames, from one wrench a body of the model.

        Args:
            rows: flat (nb, 6), each [moment; force] about the origin and in the axes of the body's child link.
        """

    def per_joint(self, f: Field[Force]) -> list[S]:
        """The forces of all joints that have coordinates, in joint order and child-link frames: an output."""

    # -- coordinates -------------------------------------------------------------------------------------------------

    def position_indices(self) -> Iterable[tuple[Kind, int, int]]:
        """(kind, first position coordinate, first velocity coordinate) of every elementary joint."""
