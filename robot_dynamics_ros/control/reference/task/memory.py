"""The memory of the tool's reference: every number declared once.

Poses are seven numbers, position in m and unit quaternion x, y, z, w, of the tool in the world.
Twists and their rates are [angular; linear], in world axes, of the tool's own point.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.complementarity import ComplementarityMemory
from robot_dynamics_ros.dynamics.engine.routines import (
    Integers,
    Kernel,
    Matrix,
    Vector,
    constant,
    integers,
    kernel,
    numbers,
)

# what the tool is to do
HOLD_POSE = 0
TO_POSE = 1
BY_TWIST = 2
ON_PATH = 3

# numbers of one segment of a path: start and length in s, the pose at its start, then six
# coefficients each of rotation and way from there
SEGMENT = 45

TASK_CAUSES = ("position_limit", "velocity_limit", "acceleration_limit", "singular_pose")
"""What slowed the tool down, as it is counted."""


TARGET_REFUSALS = (
    "target_late",
    "target_early",
    "target_repeated",
    "path_turns_too_far",
    "target_not_followed",
    "wrench_resisted",
)
"""Why a target is not taken over, counted from 1; 0: it is."""
TARGET_LATE, TARGET_EARLY, TARGET_REPEATED, PATH_TURNS, NOT_FOLLOWED, WRENCH_RESISTED = range(1, 7)


class TaskMemory(ComplementarityMemory):
    """Target, reference and joint motion of one tool.

    The bounded problem has ``nv`` unknowns: the velocities of ``n`` joints, and the share of the
    tool's twist that is followed.
    """

    n: int = constant(int, "joints")
    # the tool
    point: Vector = numbers(3, unit="m", meaning="the tool's point in the frame of its link")
    turn: Vector = numbers(4, meaning="quaternion of the tool in the frame of its link")
    axes: Vector = numbers(
        6, meaning="weight of each row of the twist, 0: free; rotations in m per rad"
    )
    # limits
    lower: Vector = numbers("n", unit="rad or m", meaning="lower bound of the positions")
    upper: Vector = numbers("n", unit="rad or m", meaning="upper bound of the positions")
    fastest: Vector = numbers("n", unit="rad/s or m/s", meaning="bound of the velocities")
    sharpest: Vector = numbers("n", unit="rad/s² or m/s²", meaning="bound of the accelerations")
    largest_speed: Vector = numbers(2, unit="rad/s, m/s", meaning="of the tool")
    largest_acceleration: Vector = numbers(2, unit="rad/s², m/s²", meaning="of the tool")
    largest_jerk: Vector = numbers(2, unit="rad/s³, m/s³", meaning="of the tool")
    largest_age: Integers = integers(1, unit="ns", meaning="an older target is refused")
    # what is given, checked and in world axes, before it is taken over
    given_pose: Vector = numbers(7, meaning="a pose")
    given_twist: Vector = numbers(6, unit="rad/s, m/s", meaning="a twist")
    given_wrench: Vector = numbers(6, unit="N m, N", meaning="a wrench, or in the link's axes")
    twist_timeout: Integers = integers(1, unit="ns", meaning="after it a twist is forgotten")
    wrench_timeout: Integers = integers(1, unit="ns", meaning="after it a wrench is forgotten")
    # the target
    kind: Integers = integers(1, meaning="HOLD_POSE, TO_POSE, BY_TWIST or ON_PATH")
    target_pose: Vector = numbers(7, meaning="pose that was asked for last")
    target_twist: Vector = numbers(6, meaning="twist that was asked for, or of the moving target")
    target_time: Integers = integers(1, unit="ns", meaning="stamp of the target")
    target_until: Integers = integers(1, unit="ns", meaning="when its twist is forgotten")
    mean_gap: Vector = numbers(1, unit="s", meaning="mean interval of a stream of poses, 0: none")
    goal: Vector = numbers(7, meaning="pose to be reached now")
    goal_twist: Vector = numbers(6, meaning="twist to be reached now")
    goal_rate: Vector = numbers(6, meaning="rate of the twist to be reached now")
    clock: Vector = numbers(1, unit="s", meaning="time on the path; slower where the arm is")
    segments: Integers = integers(1, meaning="segments of the path")
    # the wrench that the tool is to exert, [moment; force] about the tool's point
    exerts: Integers = integers(1, meaning="1 while a wrench is exerted, or fades out")
    wrench_in_link: Integers = integers(1, meaning="1 if it is asked for in the link's axes")
    wrench_until: Integers = integers(1, unit="ns", meaning="when it is forgotten")
    wrench_asked: Vector = numbers(6, unit="N m, N", meaning="asked for, in those or world axes")
    wrench_between: Vector = numbers(6, unit="N m, N", meaning="after the first of two lags")
    wrench: Vector = numbers(6, unit="N m, N", meaning="exerted now, in the same axes")
    wrench_in_world: Vector = numbers(6, unit="N m, N", meaning="exerted now, world axes")
    measured: Vector = numbers("n", unit="rad or m", meaning="positions, while a wrench is exerted")
    # the reference of the tool
    pose: Vector = numbers(7, meaning="where the tool should be now")
    twist: Vector = numbers(6, meaning="how it should move if the joints can follow")
    moving: Vector = numbers(6, meaning="how it moves: a share of that twist")
    rate: Vector = numbers(6, meaning="rate of that twist")
    share: Vector = numbers(1, meaning="share of the twist that the joints follow, 0 to 1")
    hits: Integers = integers(4, meaning="cycles in which each of TASK_CAUSES slowed the tool down")
    # the tool as it is
    seen_pose: Vector = numbers(7, meaning="pose of the tool at the measured positions")
    seen_twist: Vector = numbers(6, unit="rad/s, m/s", meaning="its twist")
    seen_error: Vector = numbers(6, unit="rad, m", meaning="from there to the desired pose")
    desired_pose: Vector = numbers(7, meaning="pose of the tool at the joints' reference")
    # the joints
    time: Integers = integers(1, unit="ns", meaning="that the reference is for")
    position: Vector = numbers("n", unit="rad or m", meaning="desired positions")
    velocity: Vector = numbers("n", unit="rad/s or m/s", meaning="desired velocities")
    acceleration: Vector = numbers("n", unit="rad/s² or m/s²", meaning="desired accelerations")
    posture: Vector = numbers("n", unit="rad or m", meaning="preferred positions")
    posture_rate: Vector = numbers(1, unit="1/s", meaning="with which they are approached")
    piece: Matrix = numbers(8, "n", meaning="the same as polynomials, as a cycle takes them")
    # work
    predicted: Vector = numbers("n", unit="rad or m", meaning="positions at the end of the step")
    link: Matrix = numbers(4, 4, meaning="pose of the link there")
    link_turn: Vector = numbers(4, meaning="its quaternion")
    placed: Vector = numbers(3, unit="m", meaning="a position in the world, from one in the link")
    tool: Vector = numbers(7, meaning="pose of the tool there")
    jacobian: Matrix = numbers(6, "n", meaning="Jacobian of the tool there")
    asked: Vector = numbers(6, meaning="twist that closes the gap to the tool's reference")
    gap: Vector = numbers(6, meaning="rotation and way from one pose to another")
    cause: Integers = integers("2 * n", meaning="which of TASK_CAUSES each bound is due to")
    gap_rate: Vector = numbers(1, unit="1/s", meaning="with which the gap is closed")
    blocked: Vector = numbers(1, unit="s", meaning="how long the straight way has been blocked")
    retreat: Vector = numbers(1, meaning="share of the motion that is the way back, 0 to 1")
    posture_pose: Vector = numbers(7, meaning="pose of the tool in the preferred posture")
    calm: Vector = numbers(1, meaning="share of the velocity limits that holds in this pose")
    damping: Vector = numbers(1, unit="m²", meaning="weight of the joint velocities")
    weakest: Vector = numbers("nv", meaning="direction in which the tool moves least")
    weakest_value: Vector = numbers(1, unit="m", meaning="singular value of that direction")
    row_used: Integers = integers(6, meaning="rows of the Jacobian that are not zero")
    wanted: Vector = numbers(6, meaning="twist, rate or jerk that the reference heads for")
    link_pose: Kernel = kernel("position", "out link")
    link_jacobian: Kernel = kernel("predicted", "point", "out jacobian")
