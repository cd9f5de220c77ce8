"""Whether measured efforts are what they are said to be: looked at whenever the arm rests in another pose."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import meaning_at_rest

_POSES = 12
_STILL = 1e-3  # rad or m between two looks
_ELSEWHERE = 0.1  # rad or m between two poses


class EffortWatch:
    """Keeps poses at rest with the efforts measured there.

    Args:
        controller: the controller whose efforts they are.
    """

    def __init__(self, controller: JointController) -> None:
        self._controller = controller
        self._last: Array | None = None
        self._poses: list[tuple[Array, Array, Array]] = []

    def look(self, q: Array, effort: Array) -> str:
        """To be called once a second: a sentence if efforts contradict their meaning, ``""`` if not.

        Args:
            q, effort: (n,) newest position and measured effort.
        """
        last, self._last = self._last, q.copy()
        if last is None or np.abs(q - last).max() > _STILL:
            return ""
        if any(np.abs(q - pose).max() < _ELSEWHERE for pose, _, _ in self._poses):
            return ""
        self._poses = [*self._poses[1 - _POSES :], (q.copy(), effort.copy(), self._controller.command.copy())]
        poses, efforts, commands = (np.array(column) for column in zip(*self._poses, strict=True))
        kind = self._controller.options.measured_effort
        return meaning_at_rest(kind, efforts, gravity_forces(self._controller.model, poses), commands)
