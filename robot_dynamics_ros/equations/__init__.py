"""Equations of motion in symbols: derived twice, proved equal, printed for people.

SymPy is needed, and imported on first use.
"""

from robot_dynamics_ros.equations.equations import Equations, symbolic

__all__ = ["Equations", "symbolic"]
