"""The table of everything that can be computed: name, inputs, outputs, and the algorithm as run on a tree.

One entry serves every backend.  Sizes are given as words that a model turns into numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from robot_dynamics_ros.dynamics.energy import kinetic_energy, potential_energy
from robot_dynamics_ros.dynamics.forward import articulated_body
from robot_dynamics_ros.dynamics.inverse import newton_euler
from robot_dynamics_ros.dynamics.kinematics import body_jacobian, body_pose, link_placement
from robot_dynamics_ros.dynamics.linear import solve_symmetric
from robot_dynamics_ros.dynamics.mass_matrix import composite_rigid_body
from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Force, Transform

__all__ = ["FUNCTIONS", "Function", "Options", "sizes"]

Options = tuple[tuple[str, Any], ...]
Dimension = int | str


@dataclass(frozen=True)
class Function:
    """One entry of the table.

    Attributes:
        inputs, outputs: (name, shape) with words for sizes: ``nq``, ``nv``, ``nj`` (joints with coordinates), ``nx``
            (links with external wrenches).
        run: ``run(tree, options, *inputs) -> [flat output, ...]``, inputs as flat lists of scalars.
    """

    name: str
    inputs: tuple[tuple[str, tuple[Dimension, ...]], ...]
    outputs: tuple[tuple[str, tuple[Dimension, ...]], ...]
    run: Callable[..., list[list[Any]]]


FUNCTIONS: dict[str, Function] = {}


def sizes(model: RobotModel, options: Mapping[str, Any]) -> dict[str, int]:
    """The numbers behind the size words, for a model and the options of a call."""
    nl = len(model.link_names)
    return {
        "nq": model.nq,
        "nv": model.nv,
        "nj": len(model.joint_names),
        "nl": nl,
        "nx": len(options.get("external", ())),
    }


def function(name: str, inputs: str, **outputs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter an algorithm in the table; the input names tell their sizes."""
    shapes: dict[str, tuple[Dimension, ...]] = {
        "q": ("nq",), "v": ("nv",), "a": ("nv",), "tau": ("nv",), "w": ("nv",), "external": ("nx", 6), "point": (3,),
        "base_acceleration": (6,), "dt": (1,), "q0": ("nq",), "q1": ("nq",),
    }

    def enter(run: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name] = Function(
            name, tuple((word, shapes[word]) for word in inputs.split()), tuple(outputs.items()), run
        )
        return run

    return enter


def external_forces(tree: Any, links: tuple[int, ...], values: list[Any]) -> Any:
    """Wrenches on links, in link frames, as forces on bodies in body frames; ``None`` if there are none."""
    if not links:
        return None
    forces = tree.external()
    for k, link in enumerate(links):
        body, X = link_placement(tree, link)
        if body is not None:
            forces[body] = forces[body] + X.force_back(Force.of(values[6 * k : 6 * k + 6]))
    return forces


def _zeros(tree: Any) -> list[Any]:
    return [0.0] * tree.nv


def _links(options: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(options.get("external", ()))


@function("inverse_dynamics", "q v a external", tau=("nv",))
def _inverse_dynamics(tree: Any, options: Any, q: Any, v: Any, a: Any, ext: Any) -> Any:
    tau, _ = newton_euler(tree, q, v, a, external_forces(tree, _links(options), ext))
    return [tau]


@function("inverse_dynamics_wrenches", "q v a external", tau=("nv",), wrenches=("nj", 6))
def _inverse_dynamics_wrenches(tree: Any, options: Any, q: Any, v: Any, a: Any, ext: Any) -> Any:
    tau, f = newton_euler(tree, q, v, a, external_forces(tree, _links(options), ext))
    return [tau, tree.per_joint(f)]


@function("bias_forces", "q v external", tau=("nv",))
def _bias_forces(tree: Any, options: Any, q: Any, v: Any, ext: Any) -> Any:
    tau, _ = newton_euler(tree, q, v, _zeros(tree), external_forces(tree, _links(options), ext))
    return [tau]


@function("gravity_forces", "q", tau=("nv",))
def _gravity_forces(tree: Any, options: Any, q: Any) -> Any:
    tau, _ = newton_euler(tree, q, _zeros(tree), _zeros(tree))
    return [tau]


@function("forward_dynamics", "q v tau external", a=("nv",))
def _forward_dynamics(tree: Any, options: Any, q: Any, v: Any, tau: Any, ext: Any) -> Any:
    forces = external_forces(tree, _links(options), ext)
    if not tree.model.has_mimic:
        return [articulated_body(tree, q, v, tau, forces)]
    bias, _ = newton_euler(tree, q, v, _zeros(tree), forces)
    M = composite_rigid_body(tree, q)
    return [solve_symmetric(M.rows, [t - b for t, b in zip(tau, bias, strict=True)])]


@function("mass_matrix", "q", M=("nv", "nv"))
def _mass_matrix(tree: Any, options: Any, q: Any) -> Any:
    return [composite_rigid_body(tree, q).flat()]


@function("kinetic_energy", "q v", energy=())
def _kinetic_energy(tree: Any, options: Any, q: Any, v: Any) -> Any:
    return [[kinetic_energy(tree, q, v)]]


@function("potential_energy", "q", energy=())
def _potential_energy(tree: Any, options: Any, q: Any) -> Any:
    return [[potential_energy(tree, q)]]


@function("link_pose", "q", pose=(4, 4))
def _link_pose(tree: Any, options: Any, q: Any) -> Any:
    body, at = link_placement(tree, options["link"])
    pose = at.compose(body_pose(tree, q, body))
    R, p = pose.E.T, pose.r
    rows = [[*R.a.parts(), p.x], [*R.b.parts(), p.y], [*R.c.parts(), p.z], [0.0, 0.0, 0.0, 1.0]]
    return [[x for row in rows for x in row]]


@function("jacobian", "q", J=(6, "nv"))
def _jacobian(tree: Any, options: Any, q: Any) -> Any:
    body, at = link_placement(tree, options["link"])
    pose = at.compose(body_pose(tree, q, body))
    frame = {"world": Transform(Transform.identity().E, pose.r), "link": pose}.get(options["frame"])
    if frame is None:
        raise UnknownNameError("frame", options["frame"], ("world", "link"))
    columns = [[0.0] * tree.nv for _ in range(6)]
    for dof, motion in body_jacobian(tree, q, body):
        for row, value in zip(columns, frame.motion(motion).parts(), strict=True):
            row[dof] = row[dof] + value
    return [[x for row in columns for x in row]]
