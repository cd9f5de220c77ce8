"""The memory of a control cycle: one block that both the statements in Python and the compiled cycle work on."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Kernel,
    Matrix,
    Memory,
    Vector,
    constant,
    integers,
    kernel,
    numbers,
)
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["GAINS", "ROBOT_FUNCTIONS", "CycleMemory", "cycle_memory", "law_inputs"]

ROBOT_FUNCTIONS = ("inverse_dynamics", "inverse_dynamics_wrenches", "gravity_forces", "mass_matrix")
"""The robot's functions that the compiled cycle calls."""

GAINS = 8
"""Most gains that a compiled law may have."""
LAW_INPUTS = (
    "q",
    "v",
    "reference",
    "error",
    "z_next",
    "gains",
    "gravity",
    "inertia",
    "motion",
    "motion_of_reference",
)


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


class CycleMemory(Declared):
    """Memory of the compiled cycle."""

    nv: int
    joints: int = constant(int, "joints of the model, fixed ones included")
    q: Vector = numbers("nv", unit="rad or m", meaning="measured position")
    v: Vector = numbers("nv", unit="rad/s or m/s", meaning="measured velocity")
    reference: Matrix = numbers(3, "nv", meaning="desired position, velocity, acceleration")
    error: Matrix = numbers(2, "nv", meaning="desired minus measured: position, velocity")
    z_next: Vector = numbers("nv", unit="rad s or m s", meaning="integral of the position error after this cycle")
    gains: Matrix = numbers(GAINS, "nv", meaning="the gains of the law")
    gravity: Vector = numbers("nv", unit="N m or N", meaning="gravity forces")
    inertia: Matrix = numbers("nv", "nv", meaning="mass matrix")
    motion: Vector = numbers(
        "nv", unit="N m or N", meaning="inverse dynamics for the acceleration that the law asks for"
    )
    motion_of_reference: Vector = numbers("nv", unit="N m or N", meaning="inverse dynamics of the reference")
    z: Vector = numbers("nv", unit="rad s or m s", meaning="integral of the position error")
    a: Vector = numbers("nv", meaning="acceleration that the law asks for")
    effort: Vector = numbers("nv", unit="N m or N", meaning="effort of this cycle")
    command: Vector = numbers("nv", unit="N m or N", meaning="effort that is sent")
    previous: Vector = numbers("nv", unit="N m or N", meaning="effort of the cycle before")
    asked: Vector = numbers("nv", unit="N m or N", meaning="effort that the law asks for")
    q_reference: Vector = numbers("nv", meaning="desired position")
    v_reference: Vector = numbers("nv", meaning="desired velocity")
    a_reference: Vector = numbers("nv", meaning="desired acceleration")
    integral_bound: Vector = numbers("nv", meaning="largest integral")
    effort_limit: Vector = numbers("nv", unit="N m or N", meaning="largest effort")
    effort_rate: Vector = numbers("nv", meaning="largest change of effort in a second")
    near_speed: Vector = numbers("nv", meaning="square of the speed near the velocity limit")
    reach: Vector = numbers("nv", meaning="braking distance divided by the square of the speed")
    centre: Vector = numbers("nv", meaning="middle between the position limits")
    half: Vector = numbers("nv", meaning="half the distance of the position limits")
    watch_position: Vector = numbers("nv", meaning="tolerated position error")
    watch_velocity: Vector = numbers("nv", meaning="tolerated velocity error")
    q_before: Vector = numbers("nv", meaning="position of the cycle before")
    v_before: Vector = numbers("nv", meaning="velocity of the cycle before")
    applied: Vector = numbers("nv", unit="N m or N", meaning="effort that acted until this cycle")
    wrenches: Matrix = numbers("joints", 6, meaning="moments and forces of the joints")
    piece: Matrix = numbers(6, "nv", meaning="coefficients of the reference's piece")
    arrived: Matrix = numbers(3, "nv", meaning="position, velocity, effort of the state that arrived")
    times: Vector = numbers(3, unit="s", meaning="arguments of the ordinary cycle")
    leap: Vector = numbers(1, meaning="square of the longest way between two states")
    status: Integers = integers(1, meaning="0 if the cycle is done")
    ready: Integers = integers(1, meaning="1 if there is code for law and robot")
    tracks: Integers = integers(1, meaning="1 if the law follows a reference")
    integrates: Integers = integers(1, meaning="1 if the law has an integral")
    moves: Integers = integers(1, meaning="1 if the reference's piece is no rest")
    uses_gravity: Integers = integers(1, meaning="1 if the law asks for gravity forces")
    uses_inertia: Integers = integers(1, meaning="1 if the law asks for the mass matrix")
    uses_motion: Integers = integers(1, meaning="1 if the law asks for inverse dynamics")
    uses_motion_of_reference: Integers = integers(1, meaning="1 if the law asks for those of the reference")
    last: Integers = integers(1, unit="ns", meaning="stamp of the cycle before")
    timeout: Integers = integers(1, unit="ns", meaning="longest time between two states")
    until: Integers = integers(1, unit="ns", meaning="end of the reference's piece")
    knot: Integers = integers(1, unit="ns", meaning="start of the reference's piece")
    continuous: Integers = integers("nv", meaning="1 where the joint has no position limits")
    answer_at: Integers = integers(2, meaning="word of the first command; whether the answer is stamped")
    answer_joints: Integers = integers("nv", meaning="the joint of each command")
    inverse_dynamics: Kernel = kernel("q", "v", "a", "out tau")
    inverse_dynamics_wrenches: Kernel = kernel("q", "v", "a", "out tau", "out wrenches")
    gravity_forces: Kernel = kernel("q", "out tau")
    mass_matrix: Kernel = kernel("q", "out M")
    law_before: Kernel = kernel(*LAW_INPUTS, "out a", meaning="the acceleration that the law asks for")
    law_after: Kernel = kernel(*LAW_INPUTS, "out effort", meaning="the effort that the law asks for")


def cycle_memory(model: RobotModel) -> tuple[Memory[CycleMemory], bool]:
    """The memory for a robot, and whether compiled code can work on it."""
    kernels = {name: evaluator(model, name) for name in ROBOT_FUNCTIONS}
    compiled = all(hasattr(kernel.engine, "callee") for kernel in kernels.values())
    memory = Memory(CycleMemory, {"nv": model.nv, "joints": len(model.joint_names)}, kernels, compiled=compiled)
    memory["continuous"][:] = [model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names]
    for name in ("watch_position", "watch_velocity"):
        memory[name][:] = np.inf
    return memory, compiled
