"""How an algorithm becomes a function that every backend can run: one declaration, from which all
else is derived.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from robot_dynamics_ros.dynamics.algorithms.tree import Tree
from robot_dynamics_ros.spatial import Scalar

Dimension = int | str
Shape = tuple[Dimension, ...]
Algorithm = TypeVar("Algorithm", bound=Callable[..., object])

SHAPES: dict[str, Shape] = {
    "q": ("nq",),
    "v": ("nv",),
    "a": ("nv",),
    "tau": ("nv",),
    "external": ("nx", 6),
    "link_external": ("ny", 6),
    "base": ("nm", 6),
    "point": (3,),
    "friction": (3,),
    "stops": (2,),
    "step": (1,),
    "carried": ("nf", 3),
    "observer": ("no", 3),
    "axes": ("na", 3),
    "about": ("nt", 3),
    "reactions": ("nc",),
    "stabilization": (2,),
    "target": (3, 4),
    "tool": (3, 4),
    "lower": ("nq",),
    "upper": ("nq",),
    "weights": (3,),
}
"""Inputs by name: coordinates; wrenches on bodies or, where links of one body differ, on links; the
base's [velocity, acceleration]; a point in a link's frame; friction's (viscous scale, Coulomb
scale, smoothing speed) and the stops' (stiffness, dissipation); placement and motion of a frame on
a link, with a point's rates in it; those of an observer; the axes to express results in, the point
to reduce them to; reactions of constraints, and the gains of their stabilization; for a step of
inverse kinematics where the tool's frame shall be, where it is on the link, position limits, and
the weights of radians and metres beside the damping.
"""

Options: TypeAlias = Mapping[str, Any]
"""Choices that a function is compiled for, by name: a link, a frame …"""


@dataclass(frozen=True)
class Export:
    """That a function can be exported as source code, and how."""

    # what it computes, in a sentence
    said: str
    # output → what it is; those not named are left out
    outputs: Mapping[str, str]
    # if not the function's own
    name: str = ""
    # of the function
    options: Options = field(default_factory=dict)
    # whether it is exported if nothing is named
    default: bool = False


@dataclass(frozen=True)
class Function:
    """A declared function."""

    # under which it is called
    name: str
    # (name, shape) with words for sizes
    inputs: tuple[tuple[str, Shape], ...]
    outputs: tuple[tuple[str, Shape], ...]
    # as declared
    algorithm: Callable[..., Any]
    # names of those it needs
    options: tuple[str, ...] = ()
    # about how many operations it takes for each body
    per_body: int = 320
    # for each pair of a joint and an ancestor
    per_pair: int = 0
    # for each of nv³
    per_cube: int = 0
    # operations beyond which it is compiled as loops; 0: it is not stated in whole passes over the
    # tree
    loops: int = 0
    # whether it follows from efforts of motions alone, so that inertias may be regrouped for speed
    joint_space: bool = False
    # whether it is made ready with every robot that is controlled
    common: bool = False
    # as what it can be exported
    exports: tuple[Export, ...] = ()
    # whether the algorithm has a parameter ``options``
    takes_options: bool = False

    def call(
        self,
        tree: Tree[Scalar],
        options: Options,
        values: Mapping[str, Sequence[Scalar]],
    ) -> Any:
        """The result of the algorithm on a tree; of the flat inputs by name those left out or empty
        are not given.
        """
        arguments: list[object] = []
        for word, _ in self.inputs:
            value = values.get(word, ())
            missing = isinstance(value, Sequence) and not len(value)
            if word == "base":
                if not missing:
                    tree.move_base(value[:6], value[6:])
            elif word == "external":
                arguments.append(None if missing else tree.external_forces(value))
            else:
                arguments.append(value)
        if self.takes_options:
            more = {"options": options}
        else:
            more = {}
        return self.algorithm(tree, *arguments, **more)

    def run(
        self,
        tree: Tree[Scalar],
        options: Options,
        values: Mapping[str, Sequence[Scalar]],
    ) -> list[list[Scalar]]:
        """Run the algorithm; returns a flat list for each output."""
        result = self.call(tree, options, values)
        if len(self.outputs) == 1:
            results = [result]
        else:
            results = result
        return [flat(x) for x in results]


LARGE = 13_000
"""Operations beyond which most functions are better compiled as loops."""
FUNCTIONS: dict[str, Function] = {}
"""All declared functions by name."""


def function(
    name: str,
    inputs: str,
    outputs: Mapping[str, Shape],
    **properties: Any,
) -> Callable[[Algorithm], Algorithm]:
    """Decorator that declares an algorithm as a function.

    The algorithm takes a tree, then its inputs in order (without ``base``, which moves the tree
    beforehand; ``external`` as forces by body, or ``None``), and by keyword ``options`` if it has
    such a parameter.  It returns its
    output, or a tuple of several: scalars, spatial quantities, or nested lists of them.

    Args:
        inputs: names of :data:`SHAPES`.
        outputs: name → shape.
        properties: see :class:`Function`.
    """

    def declare(algorithm: Algorithm) -> Algorithm:
        shapes = tuple((word, SHAPES[word]) for word in inputs.split())
        takes_options = "options" in inspect.signature(algorithm).parameters
        FUNCTIONS[name] = Function(
            name,
            shapes,
            tuple(outputs.items()),
            algorithm,
            takes_options=takes_options,
            **properties,
        )
        return algorithm

    return declare


def flat(value: object) -> list[Scalar]:
    """The scalars of an algorithm's result, in order."""
    if isinstance(value, (list, tuple)):
        return list(itertools.chain.from_iterable(flat(item) for item in value))
    parts = getattr(value, "parts", None)
    if parts is None:
        return [cast("Scalar", value)]
    return parts()
