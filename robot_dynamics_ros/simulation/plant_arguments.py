"""Arguments of the plant: states, commands and wrenches, checked and copied."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates

Wrenches = Mapping[str, ArrayLike] | None

_SLACK = 1e-6  # rad or m that a given position may lie outside its limits, as decimals in files do


class PlantArguments:
    """Checks for one robot.

    Args:
        model, coordinates: the robot.
        bounds: (nv,), (nv,) position limits to insist on; ``None`` for none.
    """

    def __init__(self, model: RobotModel, coordinates: Coordinates, bounds: tuple[Array, Array] | None) -> None:
        self.model, self.coordinates, self.bounds = model, coordinates, bounds

    def velocity(self, name: str, values: ArrayLike) -> Array:
        """(nv,) a copy, or an :class:`ArgumentError` naming the argument."""
        remedy = f"One for each of {', '.join(self.coordinates.names[:20])}."
        return _vector(name, values, self.model.nv, remedy)

    def configuration(self, values: ArrayLike) -> Array:
        """(nq,) a copy with unit quaternions, within the limits; or an :class:`ArgumentError`."""
        q = _vector("q", values, self.model.nq)
        for iq, _ in self.coordinates.floating:
            if np.linalg.norm(q[iq + 3 : iq + 7]) < 1e-6:
                raise ArgumentError(
                    "the quaternion has no length",
                    where=f"q[{iq + 3}:{iq + 7}]",
                    got=values,
                    remedy="No rotation is (0, 0, 0, 1).",
                )
        self.coordinates.normalize(q)
        if self.bounds is not None:
            position = self.coordinates.positions(q)
            lower, upper = self.bounds
            for i in np.flatnonzero((position < lower - _SLACK) | (position > upper + _SLACK)):
                raise ArgumentError(
                    f"position {position[i]:g} is outside its limits {lower[i]:g} … {upper[i]:g}",
                    where=f"joint {self.coordinates.names[i]!r}",
                    got=values,
                    remedy="Start within the limits, or make the plant with stops=None.",
                )
            self._clip(q)
        return q

    def default_start(self) -> Array:
        """(nq,) the model's initial configuration, brought within the limits: zero is outside those of many an arm."""
        q = self.model.initial_configuration()
        if self.bounds is not None:
            self._clip(q)
        return q

    def commands(self, values: ArrayLike, steps: int | None) -> tuple[Array, int]:
        """((1 or steps, nv) contiguous commands, steps) of :meth:`Plant.run`'s arguments."""
        nv = self.model.nv
        array = real_array_or_nan(values)
        if steps is not None and not (isinstance(steps, (int, np.integer)) and steps >= 0):
            raise ArgumentError("expected a whole number of at least 0", where="steps", got=steps)
        if array.shape == (nv,) and steps is not None:
            return _finite("commands", array[None]), int(steps)
        if array.ndim != 2 or array.shape[1] != nv or steps not in (None, len(array)):
            raise ArgumentError(
                f"expected ({'steps' if steps is None else steps}, {nv}) numbers, or {nv} together with steps",
                where="commands",
                got=np.shape(values),
            )
        return _finite("commands", array), len(array)

    def wrenches(self, name: str, wrenches: Wrenches) -> dict[str, Array]:
        """Link → (6,) wrench of a mapping, copied; errors name argument and link."""
        if not wrenches and not isinstance(wrenches, (list, tuple, np.ndarray)):
            return {}
        if not isinstance(wrenches, Mapping):
            raise ArgumentError("expected a mapping of link names to wrenches", where=name, got=wrenches)
        out = {}
        for link, wrench in wrenches.items():
            if link not in self.model.link_names:
                raise UnknownNameError("link", link, self.model.link_names, where=name)
            out[link] = _vector(f"{name}[{link!r}]", wrench, 6)
        return out

    def _clip(self, q: Array) -> None:
        assert self.bounds is not None
        lower, upper = self.bounds
        where, has = self.coordinates.q_of_v, self.coordinates.has_position
        q[where[has]] = np.minimum(np.maximum(q[where[has]], lower[has]), upper[has])


def _vector(name: str, values: ArrayLike, n: int, remedy: str = "") -> Array:
    array = real_array_or_nan(values)
    if array.shape != (n,):
        raise ArgumentError(f"expected {n} numbers, got {values!r:.200}", where=name, got=values, remedy=remedy)
    return _finite(name, array)


def _finite(name: str, array: Array) -> Array:
    if not np.isfinite(array).all():
        bad = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        place = bad[0] if len(bad) == 1 else bad
        raise ArgumentError(f"entry {place} is {array[bad]}; every value must be finite", where=name, got=array)
    return array
