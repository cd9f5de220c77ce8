"""What every control law has in common."""

from __future__ import annotations

from typing import Protocol

from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.model.description import Array

__all__ = ["Law"]


class Law(Protocol):
    """A frozen value that turns the state and reference in a workspace into efforts."""

    def __call__(self, work: Workspace, out: Array) -> Array:
        """Write the (nv,) efforts into ``out`` and return it; reads only ``work``, changes only its scratch arrays."""
        ...
