"""Moreau's midpoint rule by name; its steps are :mod:`~robot_dynamics_ros.simulation.integrators.timestepping`'s."""

from __future__ import annotations

from robot_dynamics_ros.simulation.integrators.variational import VariationalMidpoint

__all__ = ["MoreauMidpoint"]


class MoreauMidpoint(VariationalMidpoint):
    """The default of a plant, which adds friction and stops as impulses; for a system of your own the variational midpoint rule."""

    name = "moreau"
