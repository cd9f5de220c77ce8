"""Third step: where the arm should be, how far it is from there, and whether that is tolerated.

The tolerances' rules are those of joint_trajectory_controller: a tolerance of zero means that the
quantity is not watched.
"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.memory import FREE, NANOSECONDS, CycleMemory
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.control.cycle.ways import short_way, whole_turns
from robot_dynamics_ros.dynamics.engine.routines import Matrix


def take_piece(
    p: CycleMemory,
    polynomials: Matrix,
    due: int,
    mode: int,
    with_effort: int,
    goal_open: int,
    goal: int,
    goal_end: int,
) -> None:
    """Follow these polynomials, (8, n) coefficients of 1, τ … τ⁵ of position, then of 1, τ of
    effort, from ``time`` until ``due``, in this mode; and watch over the goal if one is open.
    """
    p.knot[0] = p.time[0]
    p.due[0] = due
    if goal_open == 0 or goal != p.goal[0]:
        # what was lost on another goal's way is no matter of this one
        for i in range(p.nv):
            p.turns_behind[i] = 0.0
    p.goal_open[0] = goal_open
    p.goal[0] = goal
    p.goal_end[0] = goal_end
    p.adds_feedforward[0] = with_effort
    p.mode[0] = mode if p.tracks[0] == 1 else FREE
    for i in range(p.nv):
        for k in range(8):
            p.piece[k, i] = polynomials[k, i]


def follow_reference(p: CycleMemory) -> int:
    """Fill ``reference`` and ``error``; what is due, or violated, is returned."""
    if p.time[0] >= p.due[0]:
        return Verdict.REFERENCE_DUE
    sample(p)
    for i in range(p.nv):
        # the reference of a joint that is not driven is its measured state
        if p.tracks[0] == 0 or p.commanded[i] == 0:
            p.reference[0, i] = p.q[i]
            p.reference[1, i] = p.v[i]
            p.reference[2, i] = 0.0
    compute_errors(p)
    return watch_tolerances(p) if p.tracks[0] == 1 else Verdict.DONE


def sample(p: CycleMemory) -> None:
    """Position, velocity and acceleration of the path's piece at ``time``; before its knot, those
    at the knot.
    """
    t = max(0.0, (p.time[0] - p.knot[0]) / NANOSECONDS)
    for i in range(p.nv):
        p.reference[0, i] = p.piece[0, i] + t * (
            p.piece[1, i]
            + t * (p.piece[2, i] + t * (p.piece[3, i] + t * (p.piece[4, i] + t * p.piece[5, i])))
        )
        p.reference[1, i] = p.piece[1, i] + t * (
            2.0 * p.piece[2, i]
            + t * (3.0 * p.piece[3, i] + t * (4.0 * p.piece[4, i] + t * 5.0 * p.piece[5, i]))
        )
        p.reference[2, i] = 2.0 * p.piece[2, i] + t * (
            6.0 * p.piece[3, i] + t * (12.0 * p.piece[4, i] + t * 20.0 * p.piece[5, i])
        )


def compute_errors(p: CycleMemory) -> None:
    """Reference minus state; positions of continuous joints the short way round, the whole turns
    that are lost in this way are counted.
    """
    for i in range(p.nv):
        before = p.error[0, i]
        p.error[0, i] = short_way(p, i, p.reference[0, i] - p.q[i])
        if p.continuous[i] == 1 and p.fresh[0] == 0:
            # an error beyond half a turn appears on the other side: a turn is lost, or regained
            p.turns_behind[i] = p.turns_behind[i] - whole_turns(p.error[0, i] - before)
        p.error[1, i] = p.reference[1, i] - p.v[i]


def watch_tolerances(p: CycleMemory) -> int:
    """Compare the errors with the tolerances of the active goal, those of the path until it is
    due.
    """
    if p.goal_open[0] == 0:
        return Verdict.DONE
    if p.time[0] < p.goal_end[0]:
        return Verdict.PATH_VIOLATED if violates(p, p.path_tolerance) else Verdict.DONE
    if not violates(p, p.goal_tolerance):
        return Verdict.GOAL_LATE if has_lost_turns(p) else Verdict.GOAL_REACHED
    if p.goal_time[0] > 0 and p.time[0] - p.goal_end[0] > p.goal_time[0]:
        return Verdict.GOAL_LATE
    return Verdict.DONE


def has_lost_turns(p: CycleMemory) -> bool:
    """Whether a continuous joint stands at its goal's angle, but whole turns short of it;
    ``bad_joint`` is that joint.  The law takes the short way round: it will not make them good.
    """
    for i in range(p.nv):
        if p.goal_tolerance[0, i] > 0.0 and abs(p.turns_behind[i]) > 1.0:
            p.bad_joint[0] = i
            p.bad_field[0] = 0
            return True
    return False


def violates(p: CycleMemory, tolerance: Matrix) -> bool:
    """Whether an error exceeds its tolerance, velocities only where no position does;
    ``bad_joint``, ``bad_field`` is the one that does by the largest factor.
    """
    for field in range(2):
        worst = 1.0
        for i in range(p.nv):
            if tolerance[field, i] > 0.0 and abs(p.error[field, i]) > worst * tolerance[field, i]:
                worst = abs(p.error[field, i]) / tolerance[field, i]
                p.bad_joint[0] = i
                p.bad_field[0] = field
        if worst > 1.0:
            return True
    return False
