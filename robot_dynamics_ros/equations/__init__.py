"""Equations of motion in symbols: derived twice, proved equal, printed for people.

SymPy is needed, and imported on first use.
"""

from robot_dynamics_ros.equations.equations import Equations, symbolic
from robot_dynamics_ros.model.published import publish

__all__ = ["Equations", "symbolic"]

publish(__name__)
