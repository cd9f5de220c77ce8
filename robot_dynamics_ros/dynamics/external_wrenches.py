"""Wrenches from the surroundings, on any links, as the compiled functions take them.

A function made with the option ``external`` has one more input: for each moving body a wrench
[moment; force] about the origin of the body's frame (the frame of its joint's child link), in its
axes.  It is the same function for every set of loaded links, so a wrench on another link needs no
further compilation.  A few functions must distinguish the links of one body (the wrench of a fixed
joint depends on which of them is loaded).  They take one wrench for each link instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input, common_batch
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.reference_frame import WORLD
from robot_dynamics_ros.errors import UnknownNameError, check_name
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect
from robot_dynamics_ros.wrench import Wrench

OnLink: TypeAlias = ArrayLike | Wrench | Sequence[Wrench]
Wrenches: TypeAlias = Mapping[str, OnLink] | None
"""Link name → (..., 6) wrench [moment; force] about the link's origin in its axes, or
:class:`Wrench` values.
"""


@once_per_model
def _table(model: RobotModel) -> dict[str, tuple[int, Array | None]]:
    """Link name → (its body, −1 for the base; the (6, 6) matrix that brings a wrench on it to the
    body's frame).
    """
    placements: dict[str, tuple[int, Array | None]] = {}
    for k, link in enumerate(model.link_names):
        R = model.link_rotation[k]
        p = model.link_position[k]
        X = np.zeros((6, 6))
        X[:3, :3] = X[3:, 3:] = R
        X[:3, 3:] = np.cross(p, R, axisb=0, axisc=0)
        placements[link] = int(model.link_body[k]), None if np.array_equal(X, np.eye(6)) else X
    return placements


class WrenchGatherer:
    """Converts wrenches on links to the arrays of compiled functions, without allocating memory:
    for a control cycle.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> model = rd.load_robot("six_axis")
    >>> efforts = rd.kernel(model, "external_efforts", external=True)
    >>> gatherer = rd.WrenchGatherer(model)
    >>> wrenches = np.empty((model.nb, 6))
    >>> tau = np.empty(model.nv)
    >>> held = {"tool0": np.array([0.0, 0.0, 0.0, 0.0, 0.0, -10.0])}
    >>> efforts(np.zeros(6), gatherer.gather(held, wrenches), tau) is tau
    True

    An object serves one thread; each thread makes its own.
    """

    __slots__ = ("_moved", "_table", "model")

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self._table = _table(model)
        self._moved = np.empty(6)

    def gather(self, wrenches: Mapping[str, Array], out: Array) -> Array:
        """Sum the wrenches on each body.  What acts on links of the fixed base the base bears.

        Args:
            wrenches: link → (6,) [moment; force] about its origin, in its axes.
            out: (nb, 6), overwritten.

        Returns:
            ``out``: about the origins and in the axes of the bodies, in body order.

        Raises:
            UnknownNameError: no such link.
        """
        out.fill(0.0)
        for link, wrench in wrenches.items():
            if link not in self._table:
                raise UnknownNameError("link", link, self.model.link_names)
            body, X = self._table[link]
            if body < 0:
                continue
            out[body] += wrench if X is None else np.dot(X, wrench, out=self._moved)
        return out

    def scatter(self, wrenches: Mapping[str, Array], out: Array) -> Array:
        """The wrenches as they are, in the order of ``model.link_names``, zero where there is none.

        Arguments and errors as for :meth:`gather`, but ``out`` is (nl, 6).
        """
        out.fill(0.0)
        for link, wrench in wrenches.items():
            out[self.model.link_index(link)] = wrench
        return out


def body_wrenches(model: RobotModel, external: Mapping[str, OnLink], q: ArrayLike) -> Array:
    """(..., nb, 6) sums of wrenches on links by body, for batches and :class:`Wrench` values too.

    Args:
        external: see :data:`Wrenches`.
        q: (..., nq), where :class:`Wrench` values in other frames need it.

    Raises:
        ArgumentError: not a mapping, wrong shapes; UnknownNameError: no such link or frame.
    """
    values = _checked(model, external, q)
    table = _table(model)
    out = np.zeros((*_lead(values), model.nb, 6))
    for link, wrench in values.items():
        body, X = table[link]
        if body >= 0:
            out[..., body, :] += wrench if X is None else wrench @ X.T
    return out


def link_wrenches(model: RobotModel, external: Mapping[str, OnLink], q: ArrayLike) -> Array:
    """(..., nl, 6) wrenches in the order of ``model.link_names``; arguments as for
    :func:`body_wrenches`.
    """
    values = _checked(model, external, q)
    out = np.zeros((*_lead(values), len(model.link_names), 6))
    for link, wrench in values.items():
        out[..., model.link_index(link), :] = wrench
    return out


def _lead(values: Mapping[str, Array]) -> tuple[int, ...]:
    return common_batch(
        {f"external[{link!r}]": wrench.shape[:-1] for link, wrench in values.items()}, "external"
    )


def _checked(
    model: RobotModel,
    external: Mapping[str, OnLink],
    q: ArrayLike,
) -> dict[str, Array]:
    remedy = "For example {'tool0': [0, 0, 0, 0, 0, -10]}: moment, then force, in the link's axes."
    expect(
        isinstance(external, Mapping),
        "a mapping from link names to wrenches",
        external,
        "external",
        remedy,
    )
    for link in external:
        model.link_index(link)
    q = as_input(q, (model.nq,), "q")
    return {
        link: as_input(_numbers(model, q, link, w), (6,), f"external[{link!r}]")
        for link, w in external.items()
    }


def _numbers(model: RobotModel, q: ArrayLike, link: str, value: OnLink) -> ArrayLike:
    if isinstance(value, Wrench):
        return _sum_on_link(model, q, link, [value])
    if isinstance(value, list | tuple) and any(isinstance(w, Wrench) for w in value):
        return _sum_on_link(model, q, link, value)
    return cast("ArrayLike", value)


def _sum_on_link(
    model: RobotModel,
    q: ArrayLike,
    link: str,
    values: Sequence[Wrench],
) -> Array:
    """(..., 6) [moment; force] about a link's origin, in its axes, of :class:`Wrench` values in any
    frame.
    """
    where = f"external[{link!r}]"
    poses: Array | None = None
    total: Array | float = 0.0
    for w in values:
        expect(
            isinstance(w, Wrench),
            "Wrench values throughout",
            w,
            where,
            "Use Wrench.from_vector for arrays.",
        )
        remedy = "Put numbers in for the symbols."
        expect(not w.in_symbols, "a wrench of numbers", w.vector.tolist(), where, remedy)
        if w.frame == link:
            total = total + w.translate((0.0, 0.0, 0.0)).vector
            continue
        check_name("frame", w.frame, (WORLD, *model.link_names), where=where)
        if poses is None:
            poses = evaluator(model, "link_poses")(q, finite=True)
        own = poses[..., model.link_index(link), :, :]
        if w.frame not in model.link_names:
            other = np.eye(4)
        else:
            other = poses[..., model.link_index(w.frame), :, :]
        to_link = np.swapaxes(own[..., :3, :3], -1, -2)
        R = to_link @ other[..., :3, :3]
        r = np.einsum("...ij,...j->...i", to_link, other[..., :3, 3] - own[..., :3, 3])
        force = np.einsum("...ij,...j->...i", R, w.force)
        moment = np.einsum("...ij,...j->...i", R, w.moment + np.cross(w.point, w.force)) + np.cross(
            r, force
        )
        total = total + np.concatenate([moment, force], axis=-1)
    return np.asarray(total)
