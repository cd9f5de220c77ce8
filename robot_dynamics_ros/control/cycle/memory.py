"""The memory of a control cycle: every number declared once, with its shape, unit and meaning.
Times are in ns of the clock of the joint states' stamps; sizes: ``nv`` joints, ``nb`` moving
bodies, ``nl`` links on which known wrenches may act.
"""

from __future__ import annotations

import enum
from functools import partial

import numpy as np

from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.codegen.declared import fields, shape_of
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options
from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    InterpretedRoutines,
    Kernel,
    Matrix,
    Memory,
    Routine,
    Routines,
    Vector,
    integers,
    kernel,
    numbers,
)
from robot_dynamics_ros.friction.law import FRICTION_COLUMNS
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel

NANOSECONDS = 1e9
# Control periods that a command may be late
PAST = 32
# Most gains that a compiled law may have
GAINS = 8
_LAW_INPUTS = (
    "q",
    "v",
    "reference",
    "error",
    "z",
    "gains",
    "gravity",
    "inertia",
    "motion",
    "motion_of_reference",
)


class Mode(enum.Enum):
    """Mode of operation of the controller."""

    INACTIVE = "inactive"
    HOLD = "hold"
    TRAJECTORY = "trajectory"
    STREAM = "stream"
    # a law without reference, e.g. gravity compensation
    FREE = "free"
    # the safe command is out: state stale, or a fault
    SAFE = "safe"


MODES = tuple(Mode)
# in the memory of a cycle
INACTIVE, HOLD, TRAJECTORY, STREAM, FREE, SAFE = range(len(MODES))


class ArrivedState(Declared):
    """A joint state as it arrived."""

    nv: int
    arrived: Matrix = numbers(
        3, "nv", unit="rad or m, rad/s or m/s, N m or N", meaning="position, velocity, effort"
    )
    time: Integers = integers(1, unit="ns", meaning="stamp of the state")
    measured: Integers = integers(1, meaning="1 if the efforts of all joints are known")
    bad_joint: Integers = integers(1, meaning="the joint that a verdict is about")
    bad_field: Integers = integers(1, meaning="0 position, 1 velocity, of that verdict")
    bad_value: Vector = numbers(
        3, meaning="what was refused; of a goal: error, tolerance, s after it was due"
    )


class RejectionMemory(Declared):
    """Rejection of what a robot has and its description does not say; see the step
    ``disturbance``.
    """

    nv: int
    rejects: Integers = integers(1, meaning="1 if disturbances are to be rejected")
    robust: Integers = integers(1, meaning="1 if disturbances of this law are rejected")
    first_trust: Vector = numbers(
        1, meaning="share of the law's friction that is compensated at first"
    )
    steady: Integers = integers(1, meaning="1 once the step has begun")
    entered: Vector = numbers(1, meaning="share of the rotors that the feedback is for already")
    bandwidth: Vector = numbers(1, unit="rad/s", meaning="largest natural frequency of the error")
    actuator_delay: Vector = numbers(
        1, unit="s", meaning="from a command to its effort, holding excluded"
    )
    assumed_rotor: Vector = numbers(
        "nv", unit="kg m² or kg", meaning="rotor inertia of a joint that has not rung"
    )
    largest_rotor: Vector = numbers("nv", unit="kg m² or kg", meaning="bound of the rotor inertia")
    largest_rejected: Vector = numbers(
        "nv", unit="N m or N", meaning="bound of what is unexplained"
    )
    effort_size: Vector = numbers(
        "nv", unit="N m or N", meaning="effort limit, or a size where there is none"
    )
    scale: Vector = numbers(
        "nv", unit="1 or m/rad", meaning="what a radian's worth is: 1, prismatic joints 0.3 m"
    )
    sampling: Vector = numbers(
        1, unit="s", meaning="between two measurements, by those that differ"
    )
    period: Vector = numbers(1, unit="s", meaning="mean control period")
    whole_delay: Vector = numbers(1, unit="s", meaning="of the loop: actuator, holding, velocity")
    natural: Vector = numbers(1, unit="rad/s", meaning="natural frequency of the error")
    low_pass: Vector = numbers(1, unit="rad/s", meaning="corner of the velocity from positions")
    velocity: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity from positions")
    repeated: Integers = integers(
        "nv", meaning="1 if the position is a measurement that was published before"
    )
    waited: Vector = numbers("nv", unit="s", meaning="time since the last one that was not")
    told: Vector = numbers("nv", unit="rad/s or m/s", meaning="measured velocity of that one")
    last_change: Vector = numbers("nv", unit="rad or m", meaning="of the position, other than 0")
    position_before: Vector = numbers(
        "nv", unit="rad or m", meaning="position of the last new measurement"
    )
    feedback: Vector = numbers("nv", unit="rad/s² or m/s²", meaning="ω² e + 2 ω ė")
    held_back: Vector = numbers("nv", unit="rad or m", meaning="error that is integrated")
    calm: Vector = numbers("nv", unit="s", meaning="time that a joint has been standing")
    nominal: Vector = numbers(
        "nv", unit="N m or N", meaning="inverse dynamics for the reference's acceleration"
    )
    past: Matrix = numbers(
        PAST, "nv", unit="N m or N", meaning="efforts less the nominal ones, the newest first"
    )
    passed: Matrix = numbers(
        5, "nv", meaning="states of the filters of velocity (2) and effort (3)"
    )
    ringing: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity, high-passed")
    swing: Vector = numbers(
        "nv", unit="s", meaning="time since the ringing changed its side, with the sign of it"
    )
    peak: Matrix = numbers(
        2, "nv", unit="rad/s or m/s", meaning="largest ringing of this swing, and of the one before"
    )
    swings: Integers = integers(
        "nv", meaning="quick swings, one after the other, that did not decay"
    )
    share: Vector = numbers(
        "nv", meaning="root of the share of its feedback that a joint has, less once it has rung"
    )
    evidence: Matrix = numbers(
        4, "nv", meaning="Σ v², v ∫τ − M v², v ∫τ, (∫τ)² of what rang, less what was forgotten"
    )
    rotor: Vector = numbers(
        "nv", unit="kg m² or kg", meaning="rotor inertia that the feedback is for"
    )
    rejected: Vector = numbers(
        "nv", unit="N m or N", meaning="integral part of what is unexplained"
    )
    learned_friction: Vector = numbers(
        "nv", unit="N m or N", meaning="dry friction, beside what the law compensates"
    )
    model_offset: Vector = numbers(
        "nv", unit="N m or N", meaning="effort that the model lacks whichever way the joint moves"
    )
    spread: Matrix = numbers(
        3,
        "nv",
        unit="(N m)² or N²",
        meaning="variance of model_offset, covariance, variance of learned_friction",
    )
    nominal_before: Vector = numbers("nv", unit="N m or N", meaning="nominal a cycle before")
    side: Vector = numbers("nv", meaning="side that friction is compensated on, −1 to 1")
    breaking: Vector = numbers(
        "nv", unit="N m or N", meaning="effort beyond that friction, to break the joint free"
    )
    stuck: Vector = numbers(
        "nv", unit="s", meaning="time that a joint is stuck; below 0: a pulse acts"
    )
    pulse: Vector = numbers(
        "nv", unit="N m or N", meaning="pulse that moves a joint that is stuck at rest"
    )
    struck: Vector = numbers("nv", unit="rad or m", meaning="error before the last pulse")
    trust: Vector = numbers("nv", meaning="share of the law's friction that is compensated, 0 to 1")
    claimed: Vector = numbers(
        "nv", unit="N m or N", meaning="friction that the law would compensate"
    )
    unexplained: Vector = numbers(
        "nv", unit="N m or N", meaning="effort that the model does not explain"
    )
    drive: Matrix = numbers(
        4, "nv", unit="N m or N", meaning="effort beyond two balances; as the joint last moved"
    )
    let_go: Vector = numbers(
        "nv", unit="s", meaning="time without effort; a joint gets none until it is seen to move"
    )
    owed: Matrix = numbers(
        3, "nv", meaning="speed and way that it owes a joint that shows none; velocity before"
    )
    moving: Matrix = numbers(
        3, "nv", unit="s, N m s or N s", meaning="∫ of 1, |unexplained|, |M a_d| over motion"
    )


class LadderMemory(Declared):
    """How much the law may do, and what has surprised; see the files ``ladder`` and ``plain``."""

    nv: int
    level: Integers = integers("nv", meaning="0: the precise law leads the joint, 1: the plain one")
    swung: Integers = integers("nv", meaning="1 if the precise law itself drove it")
    calm_time: Vector = numbers("nv", unit="s", meaning="since something surprised it last")
    surprises: Integers = integers(1, meaning="how often something surprised")
    surprise: Integers = integers(1, meaning="number of the last one")
    surprised_joint: Integers = integers(1, meaning="the joint that it is about")
    surprise_value: Vector = numbers(2, meaning="what was seen, and its bound")
    fast_time: Vector = numbers(
        "nv", unit="s", meaning="for which a joint has been far too fast without a break"
    )
    vain_time: Vector = numbers(
        "nv", unit="s", meaning="for which a joint far too fast got faster against its effort"
    )
    thrown: Integers = integers("nv", meaning="1 once it left its reference ever faster")
    followed_way: Matrix = numbers(
        2, "nv", unit="rad or m", meaning="way of the reference near which a joint stayed; its own"
    )
    obeying_states: Integers = integers(
        "nv", meaning="in a row, in which its effort made a joint faster towards its reference"
    )
    obeys: Integers = integers("nv", meaning="1 once its signs have been shown to be right")
    reach: Vector = numbers(
        "nv", unit="rad or m", meaning="largest error that a joint follows; infinite: any"
    )
    precise_reach: Vector = numbers("nv", unit="rad or m", meaning="the same with the precise law")
    lag: Vector = numbers(
        "nv", unit="rad or m", meaning="way from what a joint follows to its path"
    )
    return_velocity: Vector = numbers("nv", unit="rad/s or m/s", meaning="at which it gets less")
    taut: Vector = numbers("nv", meaning="sign of the error where it is held at reach, or 0")
    taut_time: Vector = numbers("nv", unit="s", meaning="for which it has been held there")
    # states that jumped
    jump_states: Integers = integers(1, meaning="that agree with each other")
    jump_oldest: Integers = integers(1, unit="ns", meaning="stamp of the first of them")
    jump_newest: Integers = integers(1, unit="ns", meaning="stamp of the last of them")
    jump_position: Vector = numbers("nv", unit="rad or m", meaning="position of the first of them")
    jump_way: Vector = numbers("nv", unit="rad or m", meaning="way since then, by the velocities")
    # the plain law
    stiffness: Vector = numbers("nv", unit="N m/rad or N/m", meaning="of each joint's spring")
    damping: Vector = numbers("nv", unit="N m s/rad or N s/m", meaning="of each joint's damper")
    answers: Matrix = numbers("nv", "nv", unit="1/(kg m²)", meaning="(M + diag J)⁻¹")
    free_inertia: Vector = numbers(
        "nv", unit="kg m² or kg", meaning="of a joint while all others yield"
    )
    bearable_inertia: Vector = numbers(
        "nv", unit="kg m² or kg", meaning="the same while all others are damped as much"
    )
    direction: Vector = numbers("nv", meaning="in which the joints together are the lightest")
    next_direction: Vector = numbers("nv", meaning="the same, a round later")


class FrictionMemory(Declared):
    """Friction that is known."""

    nv: int
    v: Vector = numbers("nv", unit="rad/s or m/s", meaning="measured velocity")
    friction: Matrix = numbers(
        "nv", FRICTION_COLUMNS, meaning="parameters of joint_friction, a row a joint"
    )
    rubs: Integers = integers(1, meaning="1 where friction is known")
    coupled: Integers = integers(1, meaning="1 where a motor turns with several joints")


class CycleMemory(ArrivedState, RejectionMemory, LadderMemory, FrictionMemory):
    """State, reference, law, limits and command of one controller."""

    nv: int
    nb: int
    nl: int
    # reactions
    mode: Integers = integers(1, meaning="number of the mode of operation")
    fault: Integers = integers(1, meaning="reason of a fault that stands, or 0")
    next: Integers = integers(
        1, meaning="step at which the cycle goes on after a verdict, −1: not at all"
    )
    ended: Integers = integers(2, meaning="status with which the active goal is to end, or 0; why")
    stopped: Integers = integers(
        2, meaning="status with which all goals are to end in a stop, or 0; why"
    )
    # arrival
    q: Vector = numbers("nv", unit="rad or m", meaning="measured position that the cycle is for")
    v: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="measured velocity that the cycle is for"
    )
    last: Integers = integers(1, unit="ns", meaning="newest stamp")
    started: Integers = integers(1, meaning="1 once a state has arrived")
    stale: Integers = integers(1, meaning="1 after a gap that the watch has seen")
    returns: Vector = numbers(1, meaning="times that the stamps ran back, less one for each second")
    timeout: Integers = integers(1, unit="ns", meaning="longest gap between two states")
    largest_jump: Vector = numbers(
        1, unit="rad or m", meaning="jump that is accepted; infinite: any"
    )
    adrift: Integers = integers(
        1, meaning="1 after a jump of a moving arm, until a state follows on the last good one"
    )
    agreement: Vector = numbers(
        "nv", unit="rad² or m²", meaning="Σ of way gone times way said, over some 0.2 s"
    )
    travel: Vector = numbers(
        "nv", unit="rad² or m²", meaning="mean of both squared, over the same time"
    )
    ways: Matrix = numbers(
        2, "nv", unit="rad or m", meaning="way gone and way said, over the same time"
    )
    digit: Vector = numbers(
        "nv", unit="rad or m", meaning="smallest change of the position seen; 0 before any"
    )
    rated_speed: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="velocity limit of the description"
    )
    fast: Integers = integers(
        "nv", meaning="2 for each state far above it, less 1 for each other one"
    )
    change: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="of the velocity from the state before"
    )
    astray: Vector = numbers(
        "nv", meaning="logarithm of its growth, away from the reference, since it began to grow"
    )
    hidden: Vector = numbers(
        "nv", unit="rad or m", meaning="way said since the position has changed, over some 0.2 s"
    )
    fresh: Integers = integers(1, meaning="1 in the first cycle after a start")
    dt: Vector = numbers(1, unit="s", meaning="time since the cycle before; 0 in a fresh one")
    # reference
    tracks: Integers = integers(1, meaning="1 if the law drives the arm to its reference")
    continuous: Integers = integers("nv", meaning="1 where a joint turns without limits")
    commanded: Integers = integers("nv", meaning="1 where a joint is commanded")
    knot: Integers = integers(1, unit="ns", meaning="start of the piece")
    piece: Matrix = numbers(
        8, "nv", meaning="coefficients of 1, τ … τ⁵ of the path, of 1, τ of its effort; τ in s"
    )
    due: Integers = integers(1, unit="ns", meaning="when the piece is over, or a goal begins")
    reference: Matrix = numbers(
        3, "nv", unit="rad, rad/s, rad/s²", meaning="desired position, velocity, acceleration"
    )
    error: Matrix = numbers(
        2, "nv", unit="rad, rad/s", meaning="desired minus measured position and velocity"
    )
    goal_open: Integers = integers(1, meaning="1 while a trajectory's goal is active")
    goal: Integers = integers(1, meaning="its number")
    goal_end: Integers = integers(1, unit="ns", meaning="when the goal is due")
    turns_behind: Vector = numbers(
        "nv", unit="rad", meaning="whole turns lost on the reference since the goal began"
    )
    goal_time: Integers = integers(
        1, unit="ns", meaning="by which the goal may be late; 0: no limit"
    )
    path_tolerance: Matrix = numbers(
        2, "nv", unit="rad, rad/s", meaning="largest errors on the way; 0: not watched"
    )
    goal_tolerance: Matrix = numbers(
        2, "nv", unit="rad, rad/s", meaning="largest errors at the goal; 0: not watched"
    )
    # law
    integrates: Integers = integers(1, meaning="1 if the law uses z")
    z: Vector = numbers("nv", unit="rad s or m s", meaning="integral of the position error")
    integral_gain: Vector = numbers("nv", meaning="Ki, or 0")
    integral_clamp: Vector = numbers("nv", meaning="largest |Ki z|")
    integral_bound: Vector = numbers("nv", unit="rad s or m s", meaning="largest |z|")
    own_law: Integers = integers(1, meaning="1 if the law is called in Python")
    gains: Matrix = numbers(GAINS, "nv", meaning="the law's gains, in the order of its fields")
    uses_gravity: Integers = integers(1, meaning="1 if the law asks for g(q)")
    uses_inertia: Integers = integers(1, meaning="1 if the law asks for M(q)")
    uses_motion: Integers = integers(
        1, meaning="1 if the law asks for inverse dynamics at the state"
    )
    uses_motion_of_reference: Integers = integers(
        1, meaning="1 if it asks for them at the reference"
    )
    gravity: Vector = numbers("nv", unit="N m or N", meaning="g(q)")
    inertia: Matrix = numbers("nv", "nv", unit="kg m²", meaning="M(q)")
    a: Vector = numbers(
        "nv", unit="rad/s²", meaning="acceleration that the law asked the robot for"
    )
    motion: Vector = numbers("nv", unit="N m or N", meaning="inverse dynamics for a")
    motion_of_reference: Vector = numbers(
        "nv", unit="N m or N", meaning="inverse dynamics at the reference"
    )
    wrenches: Matrix = numbers(
        "nv", 6, unit="N m, N", meaning="[moment; force] of the joints, child link's frame"
    )
    # joint wrenches
    inverts: Integers = integers(
        1, meaning="1 if the law is inverse dynamics and friction, and nothing else"
    )
    want_wrenches: Integers = integers(1, meaning="1 if wrenches are to be known in this cycle")
    wrench_source: Integers = integers(
        1, meaning="where their acceleration comes from, see the step law"
    )
    wrench_cutoff: Vector = numbers(
        1, unit="Hz", meaning="of the low-pass for the velocity's derivative"
    )
    wrench_acceleration: Vector = numbers(
        "nv", unit="rad/s² or m/s²", meaning="acceleration that they belong to"
    )
    net: Vector = numbers("nv", unit="N m or N", meaning="efforts that reach the links")
    velocity_before: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="velocity that was differentiated last"
    )
    differentiates: Integers = integers(1, meaning="1 if that was in the cycle before")
    # added efforts
    takes_efforts: Integers = integers(1, meaning="1 if efforts of a path are to be added")
    adds_feedforward: Integers = integers(1, meaning="1 if the path has efforts to add")
    pushed: Integers = integers(1, meaning="1 if there are known external wrenches")
    wrench_until: Integers = integers(
        "nl", unit="ns", meaning="when each of them is forgotten; 0: there is none"
    )
    wrench_due: Integers = integers(1, unit="ns", meaning="when the oldest of them is forgotten")
    external: Matrix = numbers(
        "nb", 6, unit="N m, N", meaning="known external wrenches on the bodies, or 0"
    )
    external_efforts: Vector = numbers("nv", unit="N m or N", meaning="Σ Jᵀ f of them")
    # blending
    blending: Integers = integers(1, meaning="0 no, 1 begins with the next effort, 2 fades")
    blend_start: Integers = integers(1, unit="ns", meaning="when fading began")
    blend_duration: Integers = integers(1, unit="ns", meaning="how long it lasts")
    offset: Vector = numbers(
        "nv", unit="N m or N", meaning="old effort minus new one when fading began"
    )
    # limits
    lower: Vector = numbers("nv", unit="rad or m", meaning="lower position limit")
    upper: Vector = numbers("nv", unit="rad or m", meaning="upper position limit")
    velocity_limit: Vector = numbers("nv", unit="rad/s or m/s", meaning="largest speed")
    deceleration: Vector = numbers(
        "nv", unit="rad/s² or m/s²", meaning="with which a joint brakes for a limit"
    )
    margin: Vector = numbers(
        "nv", unit="rad or m", meaning="width of the soft zone inside a position limit"
    )
    zone_rate: Vector = numbers(
        1, unit="1/s", meaning="speed allowed in the zone, per distance to the limit"
    )
    braking_rate: Vector = numbers(
        1, unit="1/s", meaning="deceleration of a joint that is too fast, per excess"
    )
    dry: Vector = numbers("nv", unit="N m or N", meaning="dry friction in the description")
    viscous: Vector = numbers(
        "nv", unit="N m s/rad or N s/m", meaning="viscous friction in the description"
    )
    creep: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="allowed speed below which friction is not allowed for"
    )
    near: Integers = integers("nv", meaning="1 where a joint is near a limit of its motion")
    bias: Vector = numbers("nv", unit="N m or N", meaning="C q̇ + g")
    effort_limit: Vector = numbers("nv", unit="N m or N", meaning="largest effort")
    effort_rate: Vector = numbers("nv", unit="N m/s or N/s", meaning="largest change of the effort")
    asked: Vector = numbers("nv", unit="N m or N", meaning="effort before the limits")
    saturated: Vector = numbers("nv", meaning="sign of what the limits took away")
    cut: Integers = integers(1, meaning="1 if a limit took anything away in this cycle")
    hits: Integers = integers(4, meaning="joints cut in this cycle, by cause: see LIMITS")
    # command
    effort: Vector = numbers(
        "nv", unit="N m or N", meaning="effort of the joints, gravity included"
    )
    previous: Vector = numbers("nv", unit="N m or N", meaning="effort of the cycle before")
    robot_holds: Integers = integers(
        1, meaning="1 if the robot adds g(q) without payload itself, 2: C q̇ + g"
    )
    held: Vector = numbers("nv", unit="N m or N", meaning="what it adds")
    command: Vector = numbers(
        "nv", unit="N m or N", meaning="what is sent: effort minus what the robot adds"
    )
    safe_holds: Integers = integers(
        1, meaning="1 if the safe command holds the arm against gravity, 0: no effort"
    )
    falls: Integers = integers(
        1, meaning="1 once the arm gets faster under a safe command that should hold it"
    )
    safe_effort: Vector = numbers("nv", unit="N m or N", meaning="the safe command")
    answer_at: Integers = integers(
        2, meaning="word at which the commands begin; 1 if the answer has a stamp"
    )
    answer_count: Integers = integers(1, meaning="commands in an answer")
    answer_joints: Integers = integers("nv", meaning="which joint's command each of them is")
    # the robot, payload included, and the law
    inverse_dynamics: Kernel = kernel("q", "v", "a", "out efforts")
    gravity_forces: Kernel = kernel("q", "out efforts")
    bias_forces: Kernel = kernel("q", "v", "out efforts")
    mass_matrix: Kernel = kernel("q", "out inertia")
    efforts_of_wrenches: Kernel = kernel("q", "external", "out efforts")
    forward_dynamics: Kernel = kernel("q", "v", "net", "out wrench_acceleration")
    wrenches_under_load: Kernel = kernel(
        "q", "v", "wrench_acceleration", "external", "out efforts", "out wrenches"
    )
    gravity_that_the_robot_adds: Kernel = kernel("q", "out efforts")
    bias_that_the_robot_adds: Kernel = kernel("q", "v", "out efforts")
    law_before: Kernel = kernel(*_LAW_INPUTS, "out a")
    law_after: Kernel = kernel(*_LAW_INPUTS, "out efforts")


_LOADED: Options = (("external", True),)
_LAW_FUNCTIONS: dict[str, tuple[str, Options]] = {
    **{
        name: (name, ())
        for name, x in fields(CycleMemory).items()
        if x.kind == "kernel" and name in TABLE
    },
    "efforts_of_wrenches": ("external_efforts", _LOADED),
    "wrenches_under_load": ("inverse_dynamics_wrenches", _LOADED),
}


def robot_functions(model: RobotModel) -> dict[str, Evaluator]:
    """Kernel → function of the robot."""
    return {name: evaluator(model, *entry) for name, entry in _LAW_FUNCTIONS.items()}


def law_input_shapes(n: int) -> dict[str, tuple[int, ...]]:
    """Name → shape of all that a law of ``n`` joints may depend on, in the order in which its
    compiled form takes it.
    """
    declared = fields(CycleMemory)
    return {name: shape_of(declared[name], {"nv": n}) for name in _LAW_INPUTS}


def cycle_memory(model: RobotModel) -> tuple[Memory[CycleMemory], bool]:
    """The memory for a robot, and whether compiled code can work on it."""
    functions = robot_functions(model)
    functions["gravity_that_the_robot_adds"] = functions["gravity_forces"]
    functions["bias_that_the_robot_adds"] = functions["bias_forces"]
    compiled = all(hasattr(function.engine, "callee") for function in functions.values())
    sizes = {"nv": model.nv, "nb": model.nb, "nl": len(model.link_names)}
    memory = Memory(CycleMemory, sizes, functions, compiled=compiled)
    memory["continuous"][:] = [
        model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names
    ]
    memory["commanded"][:] = memory["share"][:] = 1
    memory["reach"][:] = np.inf
    return memory, compiled


def bound(
    memory: Memory[Declared],
    routines: Routines | InterpretedRoutines,
    routine: Routine,
    *arrays: np.ndarray,
) -> Routine:
    """A routine with its first arguments, the memory and arrays, for calls that take
    microseconds.
    """
    if isinstance(routines, Routines):
        return partial(
            routines.held(routine.__name__), *(x.ctypes.data for x in (memory.block, *arrays))
        )
    return partial(routine, memory.python, *(x.data for x in arrays))
