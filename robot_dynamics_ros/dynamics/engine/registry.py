"""The table of functions, as the algorithms declare them.

Every file of :mod:`robot_dynamics_ros.dynamics.algorithms` is imported here, so that a new one is
found without being listed anywhere.  Which functions are common, which divide by the mass matrix,
which can be exported and how many operations each takes follows from the declarations.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from robot_dynamics_ros.dynamics import algorithms
from robot_dynamics_ros.dynamics.algorithms.constraint_rows import ROWS
from robot_dynamics_ros.dynamics.algorithms.function import FUNCTIONS as TABLE
from robot_dynamics_ros.dynamics.algorithms.function import LARGE, SHAPES, Function
from robot_dynamics_ros.dynamics.algorithms.function import Options as NamedOptions
from robot_dynamics_ros.dynamics.algorithms.link_tree import number_of_pairs
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = [
    "LARGE",
    "SHAPES",
    "TABLE",
    "Function",
    "Options",
    "common_functions",
    "estimated_operations",
    "sizes",
]

Options = tuple[tuple[str, Any], ...]

for _found in pkgutil.iter_modules(algorithms.__path__):
    importlib.import_module(f"{algorithms.__name__}.{_found.name}")


def common_functions() -> tuple[str, ...]:
    """Functions that are made ready with every robot that is controlled."""
    return tuple(name for name, function in TABLE.items() if function.common)


def estimated_operations(model: RobotModel, name: str) -> int:
    """About how many operations a function takes when unrolled."""
    function = TABLE[name]
    pairs = number_of_pairs(model) if function.per_pair else 0
    return (
        function.per_body * model.nb + function.per_pair * pairs + function.per_cube * model.nv**3
    )


def sizes(model: RobotModel, options: NamedOptions) -> dict[str, int]:
    """The numbers that the size words stand for, for a model and the options of a call."""
    return {
        "nq": model.nq,
        "nv": model.nv,
        # numbers of a state
        "n2": 2 * model.nv,
        "nj": len(model.joint_names),
        "nb": model.nb,
        "nl": len(model.link_names),
        # inertial parameters
        "np": 10 * model.nb,
        "nx": model.nb if options.get("external") else 0,
        "ny": len(model.link_names) if options.get("external") else 0,
        "nm": 2 if options.get("moving_base") else 0,
        "nw": len(options.get("joints_of", ())),
        "nf": 10 if options.get("own_frame") else 0,
        "no": 8
        if options.get("own_observer")
        # rows of frames and points that are not simply a link's
        else 0,
        "na": 3 if options.get("own_axes") else 0,
        "nt": 1 if options.get("own_point") else 0,
        "nc": sum(ROWS[kind] for kind, *_ in options.get("constraints", ())),
        "nk": len(options.get("constraints", ())),
    }
