"""The control cycle: the sequence of its steps.

| step | file | what it may say besides "done" |
|---|---|---|
| read the joint state out of its message (``read_state``) | ``message`` | another layout; a number that is no measurement |
| arrival: finite, in order, possible | ``arrival`` | drop the state; start afresh |
| reference, errors, tolerances | ``reference`` | a piece or a goal is due; a tolerance is violated |
| integral of the error, control law | ``law`` | call a law that is written in Python |
| feedback and rejection for a robot that differs from its description | ``disturbance`` | a joint shows no motion |
| efforts of the trajectory and of known wrenches, blending | ``law`` | |
| limits on motion, rate and size | ``limits`` | the effort is not finite |
| what the robot adds itself; the answer | ``message`` | |

A verdict ends the call.  What follows from it is done at once (:mod:`~robot_dynamics_ros.control.cycle.reactions`); the caller
does what needs more than the memory, and calls again, from the step ``next``.  The same statements run compiled, or as they are written (:mod:`~robot_dynamics_ros.control.cycle.execution`).
"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.arrival import arrive, take_state
from robot_dynamics_ros.control.cycle.disturbance import reject_disturbances
from robot_dynamics_ros.control.cycle.law import add_efforts, blend, effort_is_finite, evaluate_law, integrate
from robot_dynamics_ros.control.cycle.limits import limit
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.control.cycle.message import write_command
from robot_dynamics_ros.control.cycle.reactions import react
from robot_dynamics_ros.control.cycle.reference import follow_reference
from robot_dynamics_ros.control.cycle.verdicts import ARRIVE, BLEND, DONE, DROPPED, FOLLOW, OWN_LAW, TAKE, WRENCH_DUE
from robot_dynamics_ros.control.cycle.wrench_pass import COMMANDED
from robot_dynamics_ros.dynamics.engine.codegen.packed import Packed


def control_cycle(p: CycleMemory, answer: Packed, step: int) -> int:
    """From the state that was read to the command in ``answer``, beginning at ``step``; returns a verdict, DONE at the end."""
    verdict = cycle(p, step)
    if verdict == DONE or p.next[0] == DROPPED:
        write_command(p, answer)
    return verdict


def cycle(p: CycleMemory, step: int) -> int:
    """From the state in ``arrived``, ``time`` to ``command``, beginning at ``step``; returns a verdict."""
    verdict = DONE
    if step <= ARRIVE:
        verdict = arrive(p)
    if verdict == DONE and step <= TAKE:
        take_state(p)
    if verdict == DONE and step <= FOLLOW:
        verdict = follow_and_decide(p)
    if verdict == DONE and step <= BLEND:
        if p.robust[0] == 1 and effort_is_finite(p):  # or it would learn of it
            verdict = reject_disturbances(p)
        if verdict == DONE:
            add_efforts(p)
            blend(p)
            verdict = limit(p)
        if verdict == DONE:
            finish(p)
    if verdict != DONE:
        react(p, verdict)
    return verdict


def follow_and_decide(p: CycleMemory) -> int:
    """Reference, errors, integral and law; the law's effort is in ``effort`` then."""
    if p.time[0] >= p.wrench_due[0]:
        return WRENCH_DUE
    verdict = follow_reference(p)
    if verdict != DONE:
        return verdict
    integrate(p)
    p.wrenches_with_law[0] = 0
    if p.inverts[0] == 1 and p.robust[0] == 0 and p.pushed[0] == 0 and p.wrench_source[0] == COMMANDED:
        p.wrenches_with_law[0] = p.want_wrenches[0]
    if p.own_law[0] == 1:
        return OWN_LAW
    evaluate_law(p)
    return DONE


def finish(p: CycleMemory) -> None:
    """The command: the effort without what the robot adds itself; none for joints that are let go."""
    for i in range(p.nv):
        p.command[i] = p.effort[i]
    if p.robot_holds[0] == 1:
        p.gravity_that_the_robot_adds(p.q, p.held)
    elif p.robot_holds[0] == 2:
        p.bias_that_the_robot_adds(p.q, p.v, p.held)
    if p.robot_holds[0] > 0:
        for i in range(p.nv):
            if p.commanded[i] == 1:
                p.command[i] = p.command[i] - p.held[i]
    if p.robust[0] == 1:
        for i in range(p.nv):
            if p.let_go[i] > 0.0:
                p.command[i], p.effort[i] = 0.0, p.held[i]
