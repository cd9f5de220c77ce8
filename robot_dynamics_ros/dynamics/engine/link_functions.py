"""The table's entries about single links: wrenches of all joints, motion seen from moving frames, subtrees.

Options that choose frames: a link's number, −1 for the world; ``own_…`` says that the frame is placed on that link by
an input of the function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.links import BodyPass, link_forces, link_tree, on_bodies, point_mass
from robot_dynamics_ros.dynamics.algorithms.placement import Placement, placement_of
from robot_dynamics_ros.dynamics.algorithms.point_motion import balance, seen_from
from robot_dynamics_ros.dynamics.algorithms.subtree import subtree_state
from robot_dynamics_ros.dynamics.engine.registry import enter
from robot_dynamics_ros.spatial import Force, Mat3, Vec3

__all__: list[str] = []


class _Frames:
    """The frames that the options and inputs of a call name."""

    def __init__(self, tree: Any, options: Mapping[str, Any], q: Any, v: Any, a: Any) -> None:
        self.tree, self.options, self.q, self.v, self.a = tree, options, q, v, a
        self._known: dict[int, Placement] = {}

    def link(self, number: int) -> Placement:
        """Placement and motion of a link (−1: the world)."""
        if number not in self._known:
            self._known[number] = placement_of(self.tree, self.q, self.v, self.a, number)
        return self._known[number]

    def observer(self, rows: list[Any]) -> Placement:
        """The observer's frame."""
        carrier = self.link(self.options["observer"])
        return carrier.carrying(rows) if rows else carrier

    def axes(self, choice: Any, rows: list[Any]) -> Mat3:
        """Rotation to world axes of the frame to express results in."""
        R = self.link(choice).R
        return R.matmul(Mat3.of([rows[0:3], rows[3:6], rows[6:9]])) if rows else R

    def point(self, choice: Any, rows: list[Any]) -> Vec3:
        """Where the point to reduce to is in the world."""
        carrier = self.link(choice)
        return carrier.p + carrier.R.mul(Vec3.of(rows)) if rows else carrier.p


def _reduced(f: Force, moved: Vec3 | None, turn: Mat3 | None) -> list[Any]:
    """Moment and force in other axes, about a point from which ``moved`` leads to the old one (old axes)."""
    moment = f.ang if moved is None else f.ang + moved.cross(f.lin)
    if turn is None:
        return [*moment.parts(), *f.lin.parts()]
    return [*turn.mul(moment).parts(), *turn.mul(f.lin).parts()]


def _rebased(frames: _Frames, link: int, f: Force, axes: list[Any], about: list[Any]) -> list[Any]:
    """A wrench in a link's frame about its origin, as the options want it."""
    options = frames.options
    own, moved, turn = None, None, None
    if options["about"] != "joint":
        own = frames.link(link)
        moved = own.R.tmul(own.p - frames.point(options["about"], about))
    if options["axes"] != "child":
        own = frames.link(link)
        parent = link_tree(frames.tree.model).parent[link]
        chosen = parent if options["axes"] == "parent" else options["axes"]
        turn = frames.axes(chosen, axes).T.matmul(own.R)
    return _reduced(f, moved, turn)


@enter("joint_wrenches", "q v a link_external base axes about", wrenches=("nw", 6))
def _joint_wrenches(tree: Any, options: Any, q: Any, v: Any, a: Any, ext: Any, base: Any, axes: Any, about: Any) -> Any:
    if base:
        tree.move_base(base[:6], base[6:])
    forces = link_forces(tree, ext)
    done = BodyPass(tree, q, v, a, on_bodies(tree, forces))
    frames = _Frames(tree, options, q, None, None)
    flat: list[Any] = []
    for link in options["joints_of"]:
        flat += _rebased(frames, link, done.through(link, forces), axes, about)
    return [flat]


@enter("wrench_balance", "q v a link_external base observer axes about", parts=(9, 6))
def _wrench_balance(
    tree: Any, options: Any, q: Any, v: Any, a: Any, ext: Any, base: Any, observer: Any, axes: Any, about: Any
) -> Any:
    if base:
        tree.move_base(base[:6], base[6:])
    frames = _Frames(tree, options, q, v, a)
    A, own = frames.observer(observer), frames.link(options["link"])
    moved = None if options["about"] == "joint" else A.R.tmul(own.p - frames.point(options["about"], about))
    turn = None if options["axes"] == "observer" else frames.axes(options["axes"], axes).T.matmul(A.R)
    flat: list[Any] = []
    for f in balance(tree, q, v, a, ext, options["link"], own, A):
        flat += _reduced(f, moved, turn)
    return [flat]


@enter(
    "point_motion",
    "q v a point base observer axes",
    position=(3,),
    rotation=(3, 3),
    velocity=(3,),
    acceleration=(3,),
    angular_velocity=(3,),
    angular_acceleration=(3,),
    turn=(3, 3),
)
def _point_motion(
    tree: Any, options: Any, q: Any, v: Any, a: Any, point: Any, base: Any, observer: Any, axes: Any
) -> Any:
    if base:
        tree.move_base(base[:6], base[6:])
    frames = _Frames(tree, options, q, v, a)
    A = frames.observer(observer)
    seen = seen_from(A, frames.link(options["link"]), Vec3.of(point))
    turn = Mat3.identity() if options["axes"] == "observer" else frames.axes(options["axes"], axes).T.matmul(A.R)
    vectors = [turn.mul(x).parts() for x in (seen.position, *seen[2:])]
    return [vectors[0], seen.rotation.parts(), *vectors[1:], turn.parts()]


@enter("link_inertia", "q axes about", inertia=(3, 3))
def _link_inertia(tree: Any, options: Any, q: Any, axes: Any, about: Any) -> Any:
    frames = _Frames(tree, options, q, None, None)
    link = options["link"]
    m, c, I = tree.link_inertia(link)  # noqa: E741 - the book's name
    own = frames.link(link)
    turn = frames.axes(options["axes"], axes).T.matmul(own.R)
    if options["about"] != "com":
        point = own.R.tmul(frames.point(options["about"], about) - own.p)
        I = I + point_mass(m, c - point)  # noqa: E741
    return [turn.T.congruence(I).parts()]


@enter(
    "subtree_state",
    "q v a base",
    position=(3,),
    velocity=(3,),
    acceleration=(3,),
    inertia=(3, 3),
    linear_momentum=(3,),
    angular_momentum=(3,),
)
def _subtree_state(tree: Any, options: Any, q: Any, v: Any, a: Any, base: Any) -> Any:
    if base:
        tree.move_base(base[:6], base[6:])
    return [x.parts() for x in subtree_state(tree, q, v, a, options["link"])]
