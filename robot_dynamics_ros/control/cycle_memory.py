"""The memory of a control cycle: one block that both the statements in Python and the compiled cycle work on."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["GAINS", "ROBOT_FUNCTIONS", "cycle_memory", "law_inputs"]

ROBOT_FUNCTIONS = ("inverse_dynamics", "inverse_dynamics_wrenches", "gravity_forces", "mass_matrix")
"""The robot's functions that the compiled cycle calls."""

_VECTORS = (
    "z a effort command previous asked "
    "q_reference v_reference a_reference integral_bound effort_limit effort_rate near_speed reach centre half "
    "watch_position watch_velocity q_before v_before applied"
)
_FLAGS = "status ready tracks integrates moves uses_gravity uses_inertia uses_motion uses_motion_of_reference"


_PACKED = "last timeout until knot"
"""Times of the packed cycle, ns."""

GAINS = 8
"""Most gains that a compiled law may have."""


def law_inputs(n: int) -> dict[str, tuple[int, ...]]:
    """Name → shape of all that a law may depend on; names of :func:`cycle_memory`."""
    return {
        "q": (n,),
        "v": (n,),
        "reference": (3, n),
        "error": (2, n),
        "z_next": (n,),
        "gains": (GAINS, n),
        "gravity": (n,),
        "inertia": (n, n),
        "motion": (n,),
        "motion_of_reference": (n,),
    }


def cycle_memory(model: RobotModel) -> tuple[Memory, bool]:
    """The memory for a robot, and whether compiled code can work on it."""
    n = model.nv
    kernels: dict[str, Evaluator | None] = {name: evaluator(model, name) for name in ROBOT_FUNCTIONS}
    compiled = all(hasattr(kernel.engine, "callee") for kernel in kernels.values() if kernel is not None)
    kernels |= {"law_before": None, "law_after": None}
    memory = Memory(
        {"nv": n},
        {
            **law_inputs(n),
            **dict.fromkeys(_VECTORS.split(), (n,)),
            "wrenches": (len(model.joint_names), 6),
            "piece": (6, n),
            "arrived": (3, n),
            "times": (3,),
            "leap": (1,),
        },
        {
            **dict.fromkeys((*_FLAGS.split(), *_PACKED.split()), (1,)),
            "continuous": (n,),
            "answer_at": (2,),
            "answer_joints": (n,),
        },
        kernels,
        compiled=compiled,
    )
    memory["continuous"][:] = [model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names]
    for name in ("watch_position", "watch_velocity"):
        memory[name][:] = np.inf
    return memory, compiled
