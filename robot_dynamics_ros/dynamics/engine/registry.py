"""The table of everything that can be computed: name, inputs, outputs, and the algorithm as run on a tree.

One entry serves every backend.  Sizes are given as words that a model turns into numbers.  The entries themselves are
in :mod:`robot_dynamics_ros.dynamics.engine.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["TABLE", "Function", "Options", "enter", "sizes"]

Options = tuple[tuple[str, Any], ...]
Dimension = int | str

SHAPES: dict[str, tuple[Dimension, ...]] = {
    "q": ("nq",),
    "v": ("nv",),
    "a": ("nv",),
    "tau": ("nv",),
    "external": ("nx", 6),
    "link_external": ("ny", 6),
    "base": ("nm", 6),
    "point": (3,),
    "damping": ("nv",),
    "friction": (3,),
    "stops": (2,),
    "step": (1,),
    "observer": ("no", 3),
    "axes": ("na", 3),
    "about": ("nt", 3),
}
"""Inputs by name: coordinates, wrenches on bodies or (where links of one body differ) on links, the base's [velocity, acceleration], a point in a link's frame;
friction's (viscous scale, Coulomb scale, smoothing speed) and the stops' (stiffness, dissipation); placement and motion
of an observer relative to a link, the axes to express results in, the point to reduce them to."""


@dataclass(frozen=True)
class Function:
    """One entry of the table.

    Attributes:
        inputs, outputs: (name, shape) with words for sizes.
        run: ``run(tree, options, *inputs) -> [flat output, ...]``, inputs as flat lists of scalars.
    """

    name: str
    inputs: tuple[tuple[str, tuple[Dimension, ...]], ...]
    outputs: tuple[tuple[str, tuple[Dimension, ...]], ...]
    run: Callable[..., list[list[Any]]]


TABLE: dict[str, Function] = {}


def sizes(model: RobotModel, options: Mapping[str, Any]) -> dict[str, int]:
    """The numbers behind the size words, for a model and the options of a call.

    ``nj`` joints with coordinates, ``nb`` moving bodies, ``nl`` links, ``np`` inertial parameters, ``nx`` and ``ny``
    bodies and links if there are external wrenches, else 0; ``nm`` 2 if the base moves, else 0; ``nw`` joints whose wrenches are asked for; ``no``, ``na``, ``nt``
    rows of an observer that is not simply a link, of axes and of a point that are not simply a link's, else 0.
    """
    return {
        "nq": model.nq,
        "nv": model.nv,
        "nj": len(model.joint_names),
        "nb": model.nb,
        "nl": len(model.link_names),
        "np": 10 * model.nb,
        "nx": model.nb if options.get("external") else 0,
        "ny": len(model.link_names) if options.get("external") else 0,
        "nm": 2 if options.get("moving_base") else 0,
        "nw": len(options.get("joints_of", ())),
        "no": 8 if options.get("own_observer") else 0,
        "na": 3 if options.get("own_axes") else 0,
        "nt": 1 if options.get("own_point") else 0,
    }


def enter(
    name: str, inputs: str, **outputs: tuple[Dimension, ...]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that enters an algorithm in the table; the names of its inputs tell their sizes."""

    def add(run: Callable[..., Any]) -> Callable[..., Any]:
        TABLE[name] = Function(name, tuple((w, SHAPES[w]) for w in inputs.split()), tuple(outputs.items()), run)
        return run

    return add
