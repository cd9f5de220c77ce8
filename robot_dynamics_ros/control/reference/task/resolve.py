"""From the motion of the tool to that of the joints: in each step one bounded least-squares
problem.

For the joint velocities v and the share s of the tool's twist V, minimize

    |W (J v − s V − K e)|² + w |W V|² (1 − s)² + d |v − v_p|²,   lo ≤ v ≤ hi,   0 ≤ s ≤ 1

J at the positions that the step leads to, e the lag of the joints after the tool's reference, v_p
the velocities that lead to the preferred posture, and the least motion besides.  lo and hi keep the
limits of position, velocity and acceleration.  What they do not allow makes s smaller: the tool is
slower, or stays, on the same path.  Near singular poses s falls in the same way.

This is the complementarity problem of :mod:`~robot_dynamics_ros.dynamics.complementarity` for the
inverse of the matrix of the normal equations: there the bounded quantities are impulses, here
velocities.

Source: Kanoun, Lamiraux, Wieber, IEEE Trans. Robotics 27 (2011) for bounds in inverse kinematics;
Flacco, De Luca, Khatib, IEEE Trans. Robotics 31 (2015) for the scaled task and the bounds.
"""

from __future__ import annotations

from math import sqrt

from robot_dynamics_ros.control.cycle.memory import NANOSECONDS
from robot_dynamics_ros.control.reference.task.approach import approach, find_goal
from robot_dynamics_ros.control.reference.task.exert import exert, forget_wrench
from robot_dynamics_ros.control.reference.task.memory import HOLD_POSE, TaskMemory
from robot_dynamics_ros.control.reference.task.retreat import (
    RETREAT_RATE,
    RETREAT_SPEED,
    RETREAT_WEIGHT,
    begin_retreat,
    find_retreat,
)
from robot_dynamics_ros.control.reference.task.rotations import difference, move, read_tool
from robot_dynamics_ros.dynamics.complementarity import (
    HELD,
    HIGH,
    factor_mass,
    factor_part,
    solve_complementarity,
    solve_mass,
)
from robot_dynamics_ros.dynamics.engine.routines import Integers, Vector, row

# share of the velocity limits that the reference uses: the rest is for the feedback
TASK_SPEED_SHARE = 0.9
# s: the longest step; longer ones are divided
LONGEST_CYCLE_S = 0.005
# at most so many, of a gap in the joint states
MOST_STEPS = 40
# 1/s: with which the joints close a gap to the tool's reference
GAP_RATE = 20.0
# 1/s: the same while joints cannot accelerate as the gap asks, or they would swing about it
LEAST_GAP_RATE = 1.0
# 1/s: with which the first falls to the second,
GAP_RATE_FALLS = 20.0
# 1/s: and rises again, slower, so that the two do not take turns.
GAP_RATE_RISES = 1.0
# weight of the share of the twist, to that of the twist
SHARE_WEIGHT = 1e-2
# m²/s²: the same where there is hardly any twist
LEAST_SHARE_WEIGHT = 1e-8
# m²: weight of the joint velocities
TASK_DAMPING = 1e-6
# m²: the same in a singular pose
LARGEST_TASK_DAMPING = 3e-4
# m: least singular value of the weighted Jacobian below which a pose is near a singular one
NEAR_SINGULAR = 0.06
# share of the velocity limits in a singular pose, where joints could not stop in time
CALMEST = 0.1
# m²: keeps the search for that value finite
LEAST_SQUARE = 1e-12
# 1/s: with which a free motion of the joints changes
FREE_RATE = 10.0
# share of the acceleration limit that the way to a position limit is planned with
BRAKING_SHARE = 0.5
# 1/s: speed per distance, close to a position limit
LIMIT_RATE = 10.0
# what counts as the whole twist: the weights leave this little
WHOLE_SPEED = 1.005
# share of the velocity limits that free motion of the joints may use
FREE_SHARE = 0.3
# 1/s: with which the share of the twist may rise again
SHARE_RISE = 5.0
# a share of the twist below this has a cause that is counted
SLOWED = 0.98
# a share below this is hardly a motion
BLOCKED = 0.5
POSITION_LIMIT = 0
VELOCITY_LIMIT = 1
ACCELERATION_LIMIT = 2
SINGULAR_POSE = 3


def limit_tool(
    p: TaskMemory,
    lower: Vector,
    upper: Vector,
    margin: Vector,
    fastest: Vector,
    sharpest: Vector,
    commanded: Integers,
) -> None:
    """Keep the joints, (n,) each, within these bounds, a margin inside those of the positions, and
    TASK_SPEED_SHARE of the velocities; those that are not ``commanded`` rest.
    """
    for i in range(p.n):
        p.lower[i] = lower[i] + margin[i]
        p.upper[i] = upper[i] - margin[i]
        p.fastest[i] = TASK_SPEED_SHARE * fastest[i]
        p.sharpest[i] = sharpest[i]
        if commanded[i] == 0:
            p.fastest[i] = 0.0


def begin_task(p: TaskMemory, t: int) -> None:
    """Start from the joints' reference in ``position``, ``velocity``, at time ``t``, ns."""
    p.time[0] = t
    p.target_time[0] = t
    p.target_until[0] = t
    p.mean_gap[0] = 0.0
    p.share[0] = 1.0
    p.gap_rate[0] = GAP_RATE
    for i in range(p.n):
        p.predicted[i] = p.position[i]
        p.acceleration[i] = 0.0
    p.link_pose(p.predicted, p.link)
    p.link_jacobian(p.predicted, p.point, p.jacobian)
    read_tool(p)
    for k in range(7):
        p.pose[k] = p.tool[k]
        p.target_pose[k] = p.tool[k]
    for k in range(6):
        p.twist[k] = 0.0
        p.rate[k] = 0.0
        for i in range(p.n):
            p.twist[k] = p.twist[k] + p.jacobian[k, i] * p.velocity[i]
        p.moving[k] = p.twist[k]
    p.kind[0] = HOLD_POSE
    begin_retreat(p)
    forget_wrench(p)
    for i in range(p.nv):
        p.side[i] = HELD
        # no direction of its own, so that none is at right angles to it for long
        p.weakest[i] = 1.0 / float(i + 1)


def follow_task(p: TaskMemory, t: int, segments: Vector) -> None:
    """The joints' reference at ``t``, ns, in ``piece``, with the efforts of the tool's wrench; what
    slowed the tool down is counted.
    """
    duration = (t - p.time[0]) / NANOSECONDS
    if duration > 0.0:
        steps = min(int(duration / LONGEST_CYCLE_S) + 1, MOST_STEPS)
        h = min(duration / float(steps), LONGEST_CYCLE_S)
        for k in range(steps):
            since = (t - p.target_time[0]) / NANOSECONDS - float(steps - 1 - k) * h
            find_goal(p, since, h, segments)
            approach(p, h)
            step_joints(p, h)
        p.time[0] = t
    for i in range(p.n):
        for m in range(3, 8):
            p.piece[m, i] = 0.0
        p.piece[0, i] = p.position[i]
        p.piece[1, i] = p.velocity[i]
        p.piece[2, i] = 0.5 * p.acceleration[i]
    exert(p, t, duration)


def step_joints(p: TaskMemory, h: float) -> None:
    """Joints and tool's reference after ``h`` s, in which the tool takes a share of ``twist``."""
    for i in range(p.n):
        p.predicted[i] = p.position[i] + h * p.velocity[i]
    p.link_pose(p.position, p.link)
    p.link_jacobian(p.predicted, p.point, p.jacobian)
    read_tool(p)
    find_retreat(p, h)
    difference(p, p.pose, p.tool, p.gap)
    for k in range(6):
        p.asked[k] = p.gap_rate[0] * p.gap[k]
    p.damping[0] = TASK_DAMPING
    p.calm[0] = 1.0
    if find_weakest(p) == 1 and p.weakest_value[0] < NEAR_SINGULAR:
        share_left = p.weakest_value[0] / NEAR_SINGULAR
        p.damping[0] = TASK_DAMPING + LARGEST_TASK_DAMPING * (1.0 - share_left) * (1.0 - share_left)
        p.calm[0] = max(share_left, CALMEST)
    p.damping[0] = p.damping[0] + RETREAT_WEIGHT * p.retreat[0] * p.retreat[0]
    p.calm[0] = max(p.calm[0], p.retreat[0])
    bound_velocities(p, h)
    state_problem(p, h)
    solved = invert_matrix(p)
    if solved == 1:
        solved = solve_complementarity(p)
    share = 0.0
    if solved == 1:
        share = min(1.0, WHOLE_SPEED * max(p.x[p.n], 0.0))
        note_causes(p)
    else:
        # no numbers can be had: the joints stop
        for i in range(p.nv):
            p.x[i] = min(max(0.0, p.lo[i]), p.hi[i])
            p.side[i] = HELD
    p.share[0] = share
    adapt_gap_rate(p, h)
    for k in range(6):
        now = share * p.twist[k]
        p.asked[k] = 0.5 * (p.moving[k] + now)
        p.moving[k] = now
    move(p, p.pose, p.asked, h)
    for i in range(p.n):
        p.acceleration[i] = (p.x[i] - p.velocity[i]) / h
        p.position[i] = p.position[i] + 0.5 * h * (p.velocity[i] + p.x[i])
        p.velocity[i] = p.x[i]


def adapt_gap_rate(p: TaskMemory, h: float) -> None:
    """``gap_rate``: less while the tool hardly moves and joints change as fast as they may."""
    swings = False
    for i in range(p.n):
        if p.side[i] != HELD:
            bound = 2 * i
            if p.side[i] == HIGH:
                bound = bound + 1
            swings = swings or p.cause[bound] == ACCELERATION_LIMIT
    if swings and p.share[0] < BLOCKED:
        p.gap_rate[0] = max(LEAST_GAP_RATE, p.gap_rate[0] * max(0.0, 1.0 - GAP_RATE_FALLS * h))
    else:
        rise = GAP_RATE_RISES * p.gap_rate[0] * h
        p.gap_rate[0] = min(GAP_RATE, p.gap_rate[0] + rise)


def room(p: TaskMemory, i: int, distance: float) -> float:
    """Speed with which joint ``i`` may approach a position limit that is so far away."""
    if not distance > 0.0:
        return 0.0
    braking = sqrt(2.0 * BRAKING_SHARE * p.sharpest[i] * distance)
    return min(braking, LIMIT_RATE * distance)


def bound_velocities(p: TaskMemory, h: float) -> None:
    """``lo``, ``hi`` of the velocities at the end of the step, and what each is due to."""
    for i in range(p.n):
        way = h * p.velocity[i]
        up = room(p, i, p.upper[i] - p.position[i] - max(way, 0.0))
        down = room(p, i, p.position[i] + min(way, 0.0) - p.lower[i])
        p.cause[2 * i] = POSITION_LIMIT
        p.cause[2 * i + 1] = POSITION_LIMIT
        change = h * p.sharpest[i]
        # one that is faster than it may be here brakes as hard as it may
        back = max(p.calm[0] * p.fastest[i], -p.velocity[i] - change)
        ahead = max(p.calm[0] * p.fastest[i], p.velocity[i] - change)
        if down > back:
            p.cause[2 * i] = VELOCITY_LIMIT
            down = back
        if up > ahead:
            p.cause[2 * i + 1] = VELOCITY_LIMIT
            up = ahead
        p.lo[i] = -down
        p.hi[i] = up
        if p.velocity[i] - change > p.lo[i]:
            p.lo[i] = p.velocity[i] - change
            p.cause[2 * i] = ACCELERATION_LIMIT
        if p.velocity[i] + change < p.hi[i]:
            p.hi[i] = p.velocity[i] + change
            p.cause[2 * i + 1] = ACCELERATION_LIMIT
        if p.lo[i] > p.hi[i]:
            nearest = p.hi[i]
            if p.velocity[i] < 0.0:
                nearest = p.lo[i]
            p.lo[i] = nearest
            p.hi[i] = nearest
    p.lo[p.n] = 0.0
    p.hi[p.n] = min(1.0, p.share[0] + SHARE_RISE * h)


def find_weakest(p: TaskMemory) -> int:
    """``weakest_value``: least singular value of the weighted Jacobian, without rows that are zero,
    by one step of inverse iteration from the direction of the step before; 0 if there is none.
    """
    rows = 0
    for k in range(6):
        size = 0.0
        for i in range(p.n):
            size = size + p.jacobian[k, i] * p.jacobian[k, i]
        if p.axes[k] * p.axes[k] * size > LEAST_SQUARE:
            p.row_used[rows] = k
            rows = rows + 1
    if rows == 0 or rows > p.n:
        return 0
    for a in range(rows):
        p.part[a] = a
        for b in range(a, rows):
            k = p.row_used[a]
            m = p.row_used[b]
            entry = 0.0
            for i in range(p.n):
                entry = entry + p.jacobian[k, i] * p.jacobian[m, i]
            p.M[a, b] = entry * p.axes[k] * p.axes[m]
        p.M[a, a] = p.M[a, a] + LEAST_SQUARE
    if factor_part(p, rows) == 0:
        return 0
    solve_mass(p, rows, p.weakest)
    square = 0.0
    for a in range(rows):
        square = square + p.weakest[a] * p.weakest[a]
    if not square > 0.0:
        return 0
    length = sqrt(square)
    for a in range(rows):
        p.weakest[a] = p.weakest[a] / length
    p.weakest_value[0] = 1.0 / sqrt(length)
    return 1


def state_problem(p: TaskMemory, h: float) -> None:
    """The normal equations: matrix in ``M``, right-hand side in ``target``."""
    n = p.n
    square = 0.0
    against = 0.0
    for k in range(6):
        weight = p.axes[k] * p.axes[k]
        square = square + weight * p.twist[k] * p.twist[k]
        against = against + weight * p.twist[k] * p.asked[k]
    share_weight = SHARE_WEIGHT * square + LEAST_SHARE_WEIGHT
    rate = p.posture_rate[0]
    speed = FREE_SHARE
    if p.retreat[0] > 0.0:
        rate = max(rate, RETREAT_RATE)
        speed = RETREAT_SPEED
    for i in range(n):
        for j in range(i, n):
            entry = 0.0
            for k in range(6):
                entry = entry + p.axes[k] * p.axes[k] * p.jacobian[k, i] * p.jacobian[k, j]
            p.M[i, j] = entry
            p.M[j, i] = entry
        p.M[i, i] = p.M[i, i] + p.damping[0]
        along = 0.0
        gap = 0.0
        for k in range(6):
            weight = p.axes[k] * p.axes[k] * p.jacobian[k, i]
            along = along + weight * p.twist[k]
            gap = gap + weight * p.asked[k]
        p.M[i, n] = -along
        p.M[n, i] = -along
        preferred = rate * (p.posture[i] - p.position[i])
        preferred = min(max(preferred, -speed * p.fastest[i]), speed * p.fastest[i])
        free = p.velocity[i] + min(1.0, FREE_RATE * h) * (preferred - p.velocity[i])
        p.target[i] = gap + p.damping[0] * free
    p.M[n, n] = square + share_weight
    p.target[n] = share_weight - against
    for i in range(p.nv):
        p.v[i] = 0.0
        p.f[i] = 0.0


def invert_matrix(p: TaskMemory) -> int:
    """The inverse of ``M`` in its place; 0 if it has none."""
    if factor_mass(p) == 0:
        return 0
    for i in range(p.nv):
        for j in range(p.nv):
            p.M[i, j] = 0.0
        p.M[i, i] = 1.0
        solve_mass(p, p.nv, row(p.M, i))
    # the factor is that of another matrix now
    p.whole[0] = 0
    return 1


def note_causes(p: TaskMemory) -> None:
    """Count what makes the tool slower than it was asked to be."""
    if p.x[p.n] >= SLOWED:
        return
    bounded = False
    for i in range(p.n):
        if p.side[i] != HELD:
            bounded = True
            bound = 2 * i
            if p.side[i] == HIGH:
                bound = bound + 1
            p.hits[p.cause[bound]] = p.hits[p.cause[bound]] + 1
    if not bounded:
        p.hits[SINGULAR_POSE] = p.hits[SINGULAR_POSE] + 1
