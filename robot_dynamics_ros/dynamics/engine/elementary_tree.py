"""The robot as a tree of elementary joints about or along z, in numbers.

Every moving joint is brought to one of three elementary kinds.  A revolute (or continuous) joint
rotates about the z axis of an internal body frame, a prismatic one slides along it, and a floating
joint is free; a planar joint is two slides and a rotation in series with massless bodies between.
Rotating each body frame once, when the tree is made, so that its joint axis becomes z costs nothing
later, and leaves joint transforms and motion subspaces full of zeros and ones.

:class:`NumericTree` is the :class:`~robot_dynamics_ros.dynamics.algorithms.tree.Tree` that runs an
algorithm body by body
on whatever scalars it is given: floats, arrays, or symbols.
:class:`~robot_dynamics_ros.dynamics.engine.loops.LoopTree` is the one that records an algorithm as
loops.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.function import flat
from robot_dynamics_ros.dynamics.algorithms.linear_solve import (
    back_substitute,
    dot,
    factorize,
    inverse_of_factors,
)
from robot_dynamics_ros.dynamics.algorithms.plane_rotations import PlaneRotation, StagedTransform
from robot_dynamics_ros.dynamics.algorithms.tree import (
    ElementaryKind,
    Field,
    SpatialVector,
    Square,
    T,
    TreeMatrix,
)
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, count_operations
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import (
    Force,
    Mat3,
    Motion,
    RigidInertia,
    Scalar,
    Transform,
    Vec3,
    cos,
    rotation_about_z,
    rotation_of_quaternion,
    sin,
)

SNAP = 1e-13
"""Rotation entries and offsets this near to 0 or ±1 are taken as exact; larger snaps would cost
accuracy.
"""


SUBSPACE: dict[ElementaryKind, tuple[tuple[float, ...], ...]] = {
    ElementaryKind.REVOLUTE: ((0.0, 0.0, 1.0, 0.0, 0.0, 0.0),),
    ElementaryKind.PRISMATIC: ((0.0, 0.0, 0.0, 0.0, 0.0, 1.0),),
    ElementaryKind.FREE: tuple(tuple(1.0 if i == j else 0.0 for j in range(6)) for i in range(6)),
}
"""Columns of the motion subspace S in the body frame (table 4.1)."""


def _snapped(values: np.ndarray) -> np.ndarray:
    # symbols
    if values.dtype == object:
        return values
    out = np.array(values, dtype=float)
    for target in (0.0, 1.0, -1.0):
        out[np.abs(out - target) <= SNAP] = target
    return out


def z_from(axis: np.ndarray) -> np.ndarray:
    """(3, 3) rotation N with N axis = e_z; a signed permutation where the axis is a coordinate
    axis.
    """
    axis = _snapped(axis)
    k = int(np.argmax(np.abs(axis)))
    if np.count_nonzero(axis) == 1:
        n = np.zeros((3, 3))
        n[2, k] = np.sign(axis[k])
        n[0, (k + 1) % 3] = 1.0
        n[1, (k + 2) % 3] = np.sign(axis[k])
        return n
    x = np.zeros(3)
    x[(k + 1) % 3] = 1.0
    y = np.cross(axis, x)
    y /= np.linalg.norm(y)
    return np.stack([np.cross(y, axis), y, axis])


def _main_successors(model: RobotModel) -> list[int]:
    """For each body the child with the largest subtree, −1 for leaves."""
    size = np.ones(model.nb, dtype=int)
    best = [-1] * model.nb
    for i in range(model.nb - 1, -1, -1):
        p = int(model.parent[i])
        if p >= 0:
            size[p] += size[i]
            if best[p] < 0 or size[i] >= size[best[p]]:
                best[p] = i
    return best


def _spin_towards(axis: np.ndarray) -> np.ndarray:
    """Rotation about z that brings the next joint's axis into the y-z plane, which spares one of
    its three rotations.
    """
    across = np.hypot(axis[0], axis[1])
    # parallel, or spared already
    if across <= SNAP or min(abs(axis[0]), abs(axis[1])) <= SNAP * 10:
        return np.eye(3)
    # of the first rotation a
    s = axis[0] / across
    c = -axis[1] / across
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


Euler = tuple[tuple[float, float], tuple[float, float], tuple[float, float, float]]


def _euler(R: np.ndarray) -> Euler:
    """((cos a, sin a), (cos b, sin b), (c, cos c, sin c)) with R = Rz(a) Rx(b) Rz(c)."""
    sine = float(np.hypot(R[0, 2], R[1, 2]))
    if sine <= SNAP:
        ca = 1.0
        sa = 0.0
        cb = float(np.sign(R[2, 2]))
        sb = 0.0
        cc = float(R[0, 0])
        sc = float(R[1, 0] * cb)
    else:
        ca = float(-R[1, 2] / sine)
        sa = float(R[0, 2] / sine)
        cb = float(R[2, 2])
        sb = sine
        # from Rz(a)' R, not from the last row: for small b the last row tells a and c to eps / b
        # only, their sum to eps
        cc = float(ca * R[0, 0] + sa * R[1, 0])
        sc = float(-ca * R[0, 1] - sa * R[1, 1])
    ca, sa, cb, sb, cc, sc = _snapped(np.array([ca, sa, cb, sb, cc, sc])).tolist()
    return (ca, sa), (cb, sb), (math.atan2(sc, cc), cc, sc)


class BodyConstants(NamedTuple):
    """One body of a model, in the frame of its joint's child link: floats, or symbols and exact
    numbers (arrays of objects).

    ``rotation`` and ``position`` place the joint frame in the parent's frame, the third row of the
    rotation ``normal`` is the joint's axis, ``inertia`` is about the centre of mass.  q of the
    joint = multiplier · q[q_index] + offset.
    """

    parent: int
    type: JointType
    rotation: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    mass: Any
    com: np.ndarray
    inertia: np.ndarray
    q_index: int
    v_index: int
    multiplier: Any
    offset: Any


class ElementaryBody(NamedTuple):
    """One body of the elementary tree, in its internal frame: placed in the parent's, inertia about
    the frame's origin.

    Parents (−1: the root) have smaller numbers.  ``normal`` is the (3, 3) rotation from the child
    link's frame to the internal one, ``euler`` that of the joint, where it is numbers, as rotations
    about z, x, z.
    """

    parent: int
    kind: ElementaryKind
    rotation: np.ndarray
    position: np.ndarray
    mass: Scalar
    first_moment: np.ndarray
    inertia: np.ndarray
    q_index: int
    v_index: int
    multiplier: Scalar
    offset: Scalar
    normal: np.ndarray
    euler: Euler | None = None


class Layout:
    """The elementary tree of a robot, in numbers or symbols.  Constant.

    Attributes:
        bodies: the elementary bodies.
        body: elementary body of each body of the model.
        gravity, base_rotation, base_position: in the world; armature: rotor inertias.
        root: mass, first moment m c, and inertia about the origin of the root link, in its frame.
    """

    def __init__(
        self,
        bodies: Iterable[BodyConstants],
        gravity: np.ndarray,
        base: tuple[np.ndarray, np.ndarray],
        armature: np.ndarray,
        root: tuple[Scalar, np.ndarray, np.ndarray],
    ) -> None:
        self.bodies: list[ElementaryBody] = []
        self.body: list[int] = []
        eye = np.eye(3)
        zero = np.zeros(3)
        for b in bodies:
            if b.parent < 0:
                parent = -1
            else:
                parent = self.body[b.parent]
            if parent < 0:
                n_parent = eye
            else:
                n_parent = self.bodies[parent].normal
            R = n_parent @ b.rotation
            r = n_parent @ b.position
            N = b.normal
            q = b.q_index
            v = b.v_index
            if b.type is JointType.PLANAR:
                # internal z slides along the plane's x, then y; both brought into place by cyclic
                # permutations
                to_x = z_from(np.array([1.0, 0, 0]))
                to_y = z_from(np.array([0, 1.0, 0]))
                slides = ElementaryKind.PRISMATIC
                nothing = (0.0, zero, np.zeros((3, 3)))
                R = R @ N.T @ to_x.T
                parent = self._add(
                    ElementaryBody(parent, slides, R, r, *nothing, q, v, 1.0, 0.0, to_x @ N)
                )
                R = to_x @ to_y.T
                parent = self._add(
                    ElementaryBody(
                        parent, slides, R, zero, *nothing, q + 1, v + 1, 1.0, 0.0, to_y @ N
                    )
                )
                R = to_y
                r = zero
                q = q + 2
                v = v + 2
                kind = ElementaryKind.REVOLUTE
            else:
                R = R @ N.T
                kind = {
                    JointType.PRISMATIC: ElementaryKind.PRISMATIC,
                    JointType.FLOATING: ElementaryKind.FREE,
                }.get(b.type, ElementaryKind.REVOLUTE)
            c = N @ b.com
            about_origin = N @ b.inertia @ N.T + (eye * (c @ c) - np.outer(c, c)) * b.mass
            motion = (q, v, b.multiplier, b.offset)
            own = ElementaryBody(parent, kind, R, r, b.mass, c * b.mass, about_origin, *motion, N)
            self.body.append(self._add(own))
        self.n = len(self.bodies)
        self.nv = len(armature)
        self.gravity = gravity
        self.armature = armature
        self.root = root
        self.base_rotation = _snapped(base[0])
        self.base_position = base[1]

    def _add(self, b: ElementaryBody) -> int:
        R = _snapped(b.rotation)
        euler = None if R.dtype == object else _euler(R)
        b = b._replace(
            rotation=R, position=_snapped(b.position), normal=_snapped(b.normal), euler=euler
        )
        self.bodies.append(b)
        return len(self.bodies) - 1

    def regrouped(self) -> Layout:
        """The same tree with base inertial parameters: efforts, mass matrix and accelerations stay,
        many inertias vanish.

        A part of a body's inertia that its joint's motion leaves as it is may as well belong to the
        parent.  For a joint that rotates about z that is the mass, the first moment along z and an
        inertia I_yy (1 - e_z e_z'), so that m, h_z and I_yy become zero; for one that slides along
        z it is the whole rotational inertia.  Forces through joints, energies and momenta of single
        bodies are no longer theirs.  (Gautier and Khalil, "Direct calculation of minimum set of
        inertial parameters of serial robots", IEEE Trans. Robotics and Automation 6(3), 1990.)
        """
        mass = [b.mass for b in self.bodies]
        first_moment = [b.first_moment for b in self.bodies]
        inertia = [b.inertia for b in self.bodies]
        for i, b in reversed(list(enumerate(self.bodies))):
            m: Scalar
            m = 0.0
            h = np.zeros(3)
            I = inertia[i]  # noqa: E741 - the book's name
            if b.kind is ElementaryKind.FREE:
                continue
            if b.kind is ElementaryKind.REVOLUTE:
                m = mass[i]
                h[2] = first_moment[i][2]
                moved = np.diag([I[1, 1], I[1, 1], 0.0])
            else:
                moved = I
            mass[i] = mass[i] - m
            first_moment[i] = first_moment[i] - h
            inertia[i] = I - moved
            p = b.parent
            if p < 0:
                continue
            R = b.rotation
            r = b.position
            h = R @ h
            g = h + m * r
            mass[p] = mass[p] + m
            first_moment[p] = first_moment[p] + g
            shift = (r @ h + g @ r) * np.eye(3) - np.outer(h, r) - np.outer(r, g)
            inertia[p] = inertia[p] + R @ moved @ R.T + shift
        tree = copy.copy(self)
        own = zip(self.bodies, mass, first_moment, inertia, strict=True)
        tree.bodies = [b._replace(mass=m, first_moment=h, inertia=x) for b, m, h, x in own]
        return tree


def _body_constants(model: RobotModel) -> Iterator[BodyConstants]:
    successor = _main_successors(model)
    kinds = [JointType(kind) for kind in model.joint_type.tolist()]
    normals = []
    for i, kind in enumerate(kinds):
        if kind is JointType.FLOATING:
            N = np.eye(3)
        else:
            N = z_from(model.joint_axis[i])
        if kind not in (JointType.FLOATING, JointType.PLANAR) and successor[i] >= 0:
            ahead = model.joint_rotation[successor[i]] @ model.joint_axis[successor[i]]
            N = _spin_towards(N @ ahead) @ N
        normals.append(N)
    joints = model.parent.tolist(), kinds, model.joint_rotation, model.joint_position, normals
    bodies = model.body_mass.tolist(), model.body_com, model.body_inertia
    indices = model.q_index.tolist(), model.v_index.tolist()
    mimics = model.mimic_multiplier.tolist(), model.mimic_offset.tolist()
    return itertools.starmap(BodyConstants, zip(*joints, *bodies, *indices, *mimics, strict=True))


@once_per_model
def layout_of(model: RobotModel) -> Layout:
    """The model's elementary tree, made on first use."""
    root = model.root_inertia
    return Layout(
        _body_constants(model),
        np.array(model.gravity),
        (model.base.rotation, np.array(model.base.position)),
        np.array(model.armature),
        (root.mass, root.mass * root.com, root.about_origin()),
    )


@once_per_model
def regrouped_layout_of(model: RobotModel) -> Layout:
    """The same with base inertial parameters, see :meth:`Layout.regrouped`."""
    return layout_of(model).regrouped()


class NumericBody:
    """One elementary body of a :class:`NumericTree`: constants, and what its joint does to
    coordinates.

    Attributes:
        parent: the parent body, or ``None`` for bodies on the root.
        inertia: rigid-body inertia in the body frame.
        columns: the motion subspace, as (index into v, Motion) pairs; a mimic's multiplier is in
            the column.
    """

    __slots__ = (
        "columns",
        "constants",
        "euler",
        "inertia",
        "joint",
        "kind",
        "normal",
        "number",
        "parent",
        "tree",
    )

    def __init__(self, tree: NumericTree, number: int, parent: NumericBody | None) -> None:
        self.tree = tree
        self.number = number
        self.parent = parent
        self.constants = own = tree.layout.bodies[number]
        self.kind = own.kind
        self.euler = own.euler
        self.normal = Mat3.of(own.normal.tolist())
        h = Vec3.of(own.first_moment.tolist())
        I = Mat3.of(own.inertia.tolist())  # noqa: E741 - the book's names
        self.inertia = RigidInertia(own.mass, h, I)
        k = own.multiplier
        self.columns = [
            (own.v_index + c, Motion.of([k * s for s in column]))
            for c, column in enumerate(SUBSPACE[self.kind])
        ]
        self.joint = (Mat3.of(own.rotation.tolist()), Vec3.of(own.position.tolist()))

    def coordinates(self, q: Sequence[Scalar]) -> Sequence[Scalar]:
        """The joint's own position coordinates: one, or seven of a free joint."""
        first = self.constants.q_index
        if self.kind is ElementaryKind.FREE:
            return q[first : first + 7]
        k = self.constants.multiplier
        d = self.constants.offset
        return [q[first] if k == 1.0 and d == 0.0 else q[first] * k + d]

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Parent-to-body Plücker transform X_J X_T at the joint's position."""
        R0, p = self.joint
        x = self.coordinates(q)
        if self.kind is ElementaryKind.FREE:
            return Transform(
                R0.matmul(rotation_of_quaternion(*x[3:])).T, p + R0.mul(Vec3.of(x[:3]))
            )
        if self.kind is ElementaryKind.PRISMATIC:
            p = p + Vec3(R0.a.z, R0.b.z, R0.c.z) * x[0]
        return self.placed(p, x[0])

    def placed(self, p: Vec3, x: Scalar) -> Transform:
        """The transform to a body at ``p``, rotated by the joint if it rotates."""
        # the exact angles of constant rotations in symbols have no closed form
        if self.euler is None:
            R = self.joint[0]
            return Transform(
                (R if self.kind is ElementaryKind.PRISMATIC else R.matmul(rotation_about_z(x))).T, p
            )
        (ca, sa), (cb, sb), (angle, cc, sc) = self.euler
        first = PlaneRotation(False, ca, sa)
        second = PlaneRotation(True, cb, sb)
        if self.kind is ElementaryKind.PRISMATIC:
            last = PlaneRotation(False, cc, sc)
        elif cc == 0.0 or sc == 0.0:
            s = sin(x)
            c = cos(x)
            last = PlaneRotation(False, c * cc - s * sc, s * cc + c * sc)
        else:
            last = PlaneRotation(False, cos(x + angle), sin(x + angle))
        return StagedTransform([first, second, last], p)

    def along(self, x: Sequence[Scalar]) -> Motion:
        """S x for a vector of velocities or accelerations."""
        total: Motion | None = None
        for dof, column in self.columns:
            term = column * x[dof]
            total = term if total is None else total + term
        assert total is not None
        return total

    def from_link(self, f: Force) -> Force:
        """A force in the child link's axes, in this body's."""
        return Force(self.normal.mul(f.ang), self.normal.mul(f.lin))

    def to_link(self, f: SpatialVector) -> SpatialVector:
        """A force or motion of this body, in its child link's axes."""
        return type(f)(self.normal.tmul(f.ang), self.normal.tmul(f.lin))


class _Each(dict[Hashable, T]):
    """A value for each body, computed when it is first asked for."""

    def __init__(self, value: Callable[[Any], T]) -> None:
        self.value = value

    def __missing__(self, body: Hashable) -> T:
        value = self[body] = self.value(body)
        return value


class SquareMatrix:
    """A matrix in the making: pairs of joints add to it."""

    def __init__(self, n: int) -> None:
        self.rows: list[list[Scalar]] = [[0.0] * n for _ in range(n)]

    def add(self, i: int, j: int, value: Scalar) -> None:
        """Add to the entry (i, j)."""
        self.rows[i][j] = self.rows[i][j] + value

    def parts(self) -> list[Scalar]:
        """All entries, row by row."""
        return list(itertools.chain.from_iterable(self.rows))


class SymmetricMatrix(SquareMatrix):
    """The same, each pair once for both halves."""

    def add(self, i: int, j: int, value: Scalar) -> None:
        """Add to entries (i, j) and (j, i) when i ≠ j, to (i, i) once."""
        super().add(i, j, value)
        if i != j:
            self.rows[j][i] = self.rows[i][j]

    def add_pair(self, i: int, j: int, value: Scalar) -> None:
        """The same for two different joints, which add twice where one mimics the other."""
        self.add(i, j, value + value if i == j else value)


class NumericFactors:
    """A symmetric positive-definite matrix M = Lᵀ D L, ready to divide by."""

    def __init__(self, M: TreeMatrix) -> None:
        self.L, self.D_inverse = factorize(M.rows)

    def solve(self, right: Sequence[Scalar], minus: Sequence[Scalar]) -> list[Scalar]:
        return back_substitute(
            self.L, self.D_inverse, [b - x for b, x in zip(right, minus, strict=True)]
        )

    def divide(self, matrices: Sequence[Square]) -> list[Square]:
        results: list[Square] = [SquareMatrix(len(self.L)) for _ in range(len(matrices) + 1)]
        results[-1].rows[:] = inverse = inverse_of_factors(self.L, self.D_inverse)
        for result, B in zip(results, matrices, strict=False):
            columns = list(zip(*B.rows, strict=True))
            result.rows[:] = [[-dot(row, column) for column in columns] for row in inverse]
        return results


class NumericTree:
    """The tree on given scalars; its methods are those of
    :class:`~robot_dynamics_ros.dynamics.algorithms.tree.Tree`.

    ``root`` is the key of the root body in working memory; it is what ``body.parent`` is for bodies
    on the root.
    """

    def __init__(self, model: RobotModel, layout: Layout | None = None) -> None:
        self.model = model
        if layout is None:
            self.layout = layout_of(model)
        else:
            self.layout = layout
        self.root = None
        self.bodies: list[NumericBody] = []
        for number, (parent, *_) in enumerate(self.layout.bodies):
            self.bodies.append(
                NumericBody(self, number, None if parent < 0 else self.bodies[parent])
            )
        self.nv = model.nv
        self.base_motion = Motion.zero(), Motion.zero()
        self.added: list[Scalar] | None = None

    def outward(self) -> Iterator[NumericBody]:
        return iter(self.bodies)

    def inward(self) -> Iterator[NumericBody]:
        return reversed(self.bodies)

    def ancestors(self, body: NumericBody) -> Iterator[NumericBody]:
        ancestor = body.parent
        while ancestor is not None:
            yield ancestor
            ancestor = ancestor.parent

    def path(self, body: NumericBody | None) -> list[NumericBody]:
        if body is None:
            return []
        return [*reversed(list(self.ancestors(body))), body]

    def field(self, kind: object = None) -> dict[Hashable, Any]:
        return {}

    def each(self, kind: object, value: Callable[[Any], T]) -> dict[Hashable, T]:
        return _Each(value)

    def external_forces(self, rows: Sequence[Scalar]) -> dict[Hashable, Force]:
        # of the bodies within a planar joint
        forces: dict[Hashable, Force] = defaultdict(Force.zero)
        for k in range(self.model.nb):
            body = self.model_body(k)
            assert body is not None
            forces[body] = body.from_link(Force.of(rows[6 * k : 6 * k + 6]))
        return forces

    def per_joint(self, f: Field[Force]) -> list[Scalar]:
        model = self.model
        out: list[Scalar] = []
        for name in model.joint_names:
            body = self.model_body(model.body_index(name))
            assert body is not None
            out += body.to_link(f[body]).parts()
        return out

    def vector(self) -> list[Scalar]:
        return [0.0] * self.nv

    zeros = vector

    def matrix(self) -> SymmetricMatrix:
        return SymmetricMatrix(self.nv)

    @staticmethod
    def factors(M: TreeMatrix) -> NumericFactors:
        return NumericFactors(M)

    def degrees(self) -> range:
        return range(self.nv)

    def square(self) -> SquareMatrix:
        return SquareMatrix(self.nv)

    @staticmethod
    def cheapest(forms: Sequence[Callable[[], T]], loops: int = -1) -> T:
        first = forms[0]()
        if not any(isinstance(x, Expr) for x in flat(first)):
            return first
        results = (first, *(form() for form in forms[1:]))
        return min(results, key=lambda result: count_operations(flat(result))["total"])

    def gravity(self) -> Vec3:
        return Vec3.of(self.layout.gravity.tolist())

    def gravity_motion(self) -> Motion:
        """Acceleration of the root less gravity, in root-link axes (page 94 of the book)."""
        up = -(self.layout.base_rotation.T @ self.layout.gravity)
        return Motion(Vec3.zero(), Vec3.of(_snapped(up).tolist())) + self.base_motion[1]

    def base_acceleration(self) -> Motion:
        return self.base_motion[1]

    def base_velocity(self) -> Motion:
        return self.base_motion[0]

    def move_base(self, v: Sequence[Scalar], a: Sequence[Scalar]) -> None:
        velocity = Motion.of(v)
        acceleration = Motion.of(a)
        spatial = Motion(acceleration.ang, acceleration.lin - velocity.ang.cross(velocity.lin))
        self.base_motion = (velocity, spatial)

    def armature(self, dof: int) -> Scalar:
        if self.added is None:
            return self.layout.armature.item(dof)
        return self.added[dof]

    def add_armature(self, extra: Sequence[Scalar]) -> None:
        self.added = [a + x for a, x in zip(self.layout.armature.tolist(), extra, strict=True)]

    def root_inertia(self) -> RigidInertia:
        m, h, I = self.layout.root  # noqa: E741 - the book's name
        return RigidInertia(m, Vec3.of(h.tolist()), Mat3.of(I.tolist()))

    def total_mass(self) -> Scalar:
        total = self.layout.root[0] + sum(b.mass for b in self.layout.bodies)
        # masses that are symbols: their sum has no sign yet
        if isinstance(total, Expr):
            return total
        if total <= 0.0:
            raise ModelError(
                "the robot has no mass, so it has no centre of mass",
                where=f"robot {self.model.name!r}",
                remedy="Give at least one link an <inertial>.",
            )
        return float(total)

    def position_indices(self) -> Iterator[tuple[ElementaryKind, int, int]]:
        return ((b.kind, b.q_index, b.v_index) for b in self.layout.bodies)

    def base_transform(self) -> Transform:
        lay = self.layout
        return Transform(Mat3.of(lay.base_rotation.T.tolist()), Vec3.of(lay.base_position.tolist()))

    def link_frame(self, link: int) -> Transform:
        body = int(self.model.link_body[link])
        R = self.model.link_rotation[link]
        p = self.model.link_position[link]
        if body >= 0:
            N = self.layout.bodies[self.layout.body[body]].normal
            R = N @ R
            p = N @ p
        return Transform(Mat3.of(_snapped(R.T).tolist()), Vec3.of(_snapped(p).tolist()))

    def link_inertia(self, link: int) -> tuple[Scalar, Vec3, Mat3]:
        own = self.model.link(self.model.link_names[link]).inertia
        return float(own.mass), Vec3.of(own.com.tolist()), Mat3.of(own.rotational.tolist())

    def model_body(self, body: int) -> NumericBody | None:
        if body < 0:
            return None
        return self.bodies[self.layout.body[body]]
