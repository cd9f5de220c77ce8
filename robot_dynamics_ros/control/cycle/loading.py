"""Changes between two cycles are put into the cycle's memory: law, robot."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.cycle.cycle import begin_law
from robot_dynamics_ros.control.cycle.disturbance import scale_rejection
from robot_dynamics_ros.control.cycle.law_code import LawCode
from robot_dynamics_ros.control.cycle.memory import CycleMemory, FrictionMemory, robot_functions
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

LARGEST_ROTOR, LARGEST_SLIDER = 0.2, 2.0
"""kg m², kg: reflected inertia of the largest rotors of arms; it grows with the root of the effort limit."""
UNLIMITED = 100.0  # N m or N, from which on rotors are largest; also the size of a joint without effort limit


def load_law(memory: Memory[CycleMemory], law: Law, code: LawCode | None) -> None:
    """Evaluate this law, with its gains; without code it is called in Python."""
    memory["own_law"][0], memory["inverts"][0], memory["tracks"][0] = code is None, law.inverts_dynamics, law.tracks
    ki, memory["integral_clamp"][:] = (law.ki, law.i_clamp) if law.integrates else (0.0, np.inf)  # type: ignore[attr-defined]
    friction = getattr(law, "friction", None)
    memory["first_trust"][0] = 0.0 if friction is None else friction.trust
    begin_law(memory.python, np.broadcast_to(ki, memory["z"].shape))
    load_friction(memory, friction)
    if code is None:
        return
    memory.exchange("law_after", code.after)
    if code.before is not None:
        memory.exchange("law_before", code.before)
    for name in ("gravity", "inertia", "motion", "motion_of_reference"):
        memory[f"uses_{name}"][0] = name in code.used
    for name, row in zip(law.gain_names, memory["gains"], strict=False):
        row[:] = 0.0 if (value := getattr(law, name)) is None else value


def load_friction(memory: Memory[FrictionMemory], friction: Friction | None) -> None:
    """Know this friction."""
    memory["rubs"][0] = friction is not None
    if friction is not None:
        memory["coupled"][0] = friction.coupling is not None
        memory["friction"].T[:] = friction.rows


def load_rejection(memory: Memory[CycleMemory], robustness: Robustness | None, model: RobotModel) -> None:
    """Reject disturbances as ``robustness`` says."""
    memory["rejects"][0] = robustness is not None
    if robustness is None:
        return
    for name, size in joint_sizes(model).items():
        memory[name][:] = size
    scale_rejection(memory.python, robustness.rotor_share, robustness.rejected_effort)
    memory["bandwidth"][0], memory["actuator_delay"][0] = robustness.bandwidth, robustness.delay


def joint_sizes(model: RobotModel) -> dict[str, Array]:
    """Properties of the joints that rejection needs, (n,) each; ``assumed_rotor``: the largest where none is described."""
    turns = np.array([model.joint(name).type is not JointType.PRISMATIC for name in model.joint_names])
    size = np.where(np.isfinite(model.effort_limit), model.effort_limit, UNLIMITED)
    rotor = np.where(turns, LARGEST_ROTOR, LARGEST_SLIDER) * np.sqrt(np.minimum(size, UNLIMITED) / UNLIMITED)
    unknown = np.where(model.armature > 0.0, 0.0, rotor)
    scale = np.where(turns, 1.0, 0.3)
    return {"effort_size": size, "scale": scale, "largest_rotor": rotor, "assumed_rotor": unknown}


def load_robot(memory: Memory[CycleMemory], kernels: Kernels) -> None:
    """Call the functions of this robot, which differs from the one before at most by a payload; as many as there are.
    RobotDynamicsError: they run in another way than those before; nothing is changed then."""
    functions = robot_functions(kernels.model, estimates=kernels.estimates_ready)
    if not all(memory.fits(name, function) for name, function in functions.items()):
        problem = "the functions of the robot with this payload run in another way than those before"
        remedy = "Make a new controller for the robot with its payload."
        raise RobotDynamicsError(problem, where=f"robot {kernels.model.name!r}", remedy=remedy)
    for name, function in functions.items():
        memory.exchange(name, function)
