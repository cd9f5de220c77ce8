"""A robot's functions in other frameworks: JAX, CasADi, PyTorch and libraries of the array-API
standard.
"""

from robot_dynamics_ros.frameworks.functions import array_functions, casadi_function, jax_functions
from robot_dynamics_ros.model.published import publish

__all__ = ["array_functions", "casadi_function", "jax_functions"]

publish(__name__)
