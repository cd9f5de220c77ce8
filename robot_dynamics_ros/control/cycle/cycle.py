"""The control cycle: the sequence of its steps, and the reactions to their verdicts and to what
happens between two cycles.

docs/explanation/architecture.md has a table of the steps.  A verdict ends the call.  What follows
from it is done at once: mode, safe command, where the cycle goes on.  The caller does what needs
more than the memory, and calls again, from the step ``next``.  The same statements run compiled, or
as they are written.

Goals belong to the reference, which has a memory of its own.  So what becomes of them is put down
in ``ended`` and ``stopped``, and whoever calls the cycle ends them: first the active goal with the
status and reason in ``ended``, then all of them with those in ``stopped``, where the arm brakes
from ``q`` and ``v`` at the time ``last``.
"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.arrival import arrive, begin_afresh, take_state
from robot_dynamics_ros.control.cycle.disturbance import reject_disturbances
from robot_dynamics_ros.control.cycle.ladder import (
    Surprise,
    begin_precisely,
    climb,
    forget_lag,
    lead_back,
    note_start,
    note_surprise,
    step_down_whole,
)
from robot_dynamics_ros.control.cycle.law import (
    add_efforts,
    blend,
    effort_is_finite,
    evaluate_law,
    integrate,
    take_integral_gain,
)
from robot_dynamics_ros.control.cycle.limits import find_safe_command, limit
from robot_dynamics_ros.control.cycle.memory import (
    FREE,
    HOLD,
    INACTIVE,
    NANOSECONDS,
    SAFE,
    CycleMemory,
)
from robot_dynamics_ros.control.cycle.message import write_command
from robot_dynamics_ros.control.cycle.motion import forget_obedience
from robot_dynamics_ros.control.cycle.reference import follow_reference, take_piece
from robot_dynamics_ros.control.cycle.verdicts import Step, Verdict
from robot_dynamics_ros.control.reference.goal import Reason
from robot_dynamics_ros.control.reference.tracks import ABORTED, CANCELED, NEVER, SUCCEEDED
from robot_dynamics_ros.dynamics.engine.codegen.packed import Packed
from robot_dynamics_ros.dynamics.engine.routines import Vector

# ns; a piece of the path that was due then is read anew in the next cycle
AT_ONCE = -(2**62)
# Share of its velocity limit up to which a joint may get faster after a fault
FAST = 0.3
# Share of it by which a joint that was as fast already may get faster
FASTER = 0.1

# ``fresh`` after the command of a first cycle: estimates that follow it begin anew as well, and the
# next state is judged by the motion since.
PASSED = 2


def control_cycle(p: CycleMemory, answer: Packed, step: int) -> int:
    """From the state that was read to the command in ``answer``, beginning at ``step``; returns a
    verdict, Verdict.DONE at the end.
    """
    verdict = cycle(p, step)
    if verdict == Verdict.DONE or p.next[0] == Step.DROPPED:
        write_command(p, answer)
    return verdict


def cycle(p: CycleMemory, step: int) -> int:
    """From the state in ``arrived``, ``time`` to ``command``, beginning at ``step``; returns a
    verdict.
    """
    verdict: int = Verdict.DONE
    if step <= Step.ARRIVE:
        if p.fresh[0] == PASSED:
            p.fresh[0] = 0
        verdict = arrive(p)
    if verdict == Verdict.DONE and step <= Step.TAKE:
        take_state(p)
    if verdict == Verdict.DONE and step <= Step.FOLLOW:
        verdict = follow_and_decide(p)
    if verdict == Verdict.DONE and step <= Step.BLEND:
        # or it would learn of it
        if p.robust[0] == 1 and effort_is_finite(p):
            verdict = reject_disturbances(p)
        if verdict == Verdict.DONE:
            add_efforts(p)
            blend(p)
            verdict = limit(p)
        if verdict == Verdict.DONE:
            finish(p)
    if verdict != Verdict.DONE:
        react(p, verdict)
    return verdict


def follow_and_decide(p: CycleMemory) -> int:
    """Reference, errors, which law leads the joints, integral and law; the law's effort is in
    ``effort`` then.
    """
    if p.time[0] >= p.wrench_due[0]:
        return Verdict.WRENCH_DUE
    verdict = follow_reference(p)
    if verdict != Verdict.DONE:
        return verdict
    if p.robust[0] == 1:
        climb(p, p.dt[0])
        lead_back(p, p.dt[0])
    integrate(p)
    if p.own_law[0] == 1:
        return Verdict.OWN_LAW
    evaluate_law(p)
    return Verdict.DONE


def finish(p: CycleMemory) -> None:
    """The command: the effort without what the robot adds itself; none for joints that are let
    go.
    """
    if p.robot_holds[0] == 1:
        p.gravity_that_the_robot_adds(p.q, p.held)
    elif p.robot_holds[0] == 2:
        p.bias_that_the_robot_adds(p.q, p.v, p.held)
    for i in range(p.nv):
        p.command[i] = p.effort[i] - p.held[i] if p.commanded[i] == 1 else p.effort[i]
        if p.robust[0] == 1 and p.let_go[i] > 0.0:
            p.command[i] = 0.0
            p.effort[i] = p.held[i]
    if p.fresh[0] == 1:
        p.fresh[0] = PASSED


# -- reactions -------------------------------------------------------------------------------------


def react(p: CycleMemory, verdict: int) -> None:
    """Do what follows from a verdict; ``next`` is the step at which the cycle goes on, or
    ``Step.DROPPED``: the command of before stays. What is not named here needs the caller: to load
    the reference, to forget wrenches.
    """
    p.next[0] = Step.FOLLOW
    if verdict >= Verdict.FAULTS:
        p.fault[0] = Reason.FAULT + (verdict - Verdict.FAULTS)
        stop(p, ABORTED, p.fault[0])
        send_safe(p)
    elif verdict == Verdict.OWN_LAW:
        p.next[0] = Step.BLEND
    elif verdict == Verdict.GOAL_REACHED:
        p.ended[0] = SUCCEEDED
        p.ended[1] = Reason.NONE
        p.due[0] = AT_ONCE
    elif verdict == Verdict.PATH_VIOLATED or verdict == Verdict.GOAL_LATE:
        give_up(p, verdict == Verdict.GOAL_LATE)
    elif verdict == Verdict.UNMOVED:
        stop(p, ABORTED, Reason.UNMOVED)
    elif Verdict.NOT_FINITE <= verdict <= Verdict.LATE:
        p.next[0] = Step.DROPPED
    elif Verdict.FIRST <= verdict <= Verdict.RESUMED:
        if p.fault[0] != Reason.NONE:
            watch_fall(p)
            send_safe(p)
        elif verdict == Verdict.RELOCATED:
            before = p.q[p.bad_joint[0]]
            # by another encoder, perhaps with another sign
            forget_obedience(p)
            restart(p, Reason.RELOCATED)
            i = p.bad_joint[0]
            if p.robust[0] == 1:
                step_down_whole(p, Surprise.RELOCATED, i, p.q[i], before)
            else:
                note_surprise(p, Surprise.RELOCATED, i, p.q[i], before)
        else:
            restart(p, Reason.STALE if verdict == Verdict.RESUMED else Reason.RESTARTED)


def stop(p: CycleMemory, status: int, reason: int) -> None:
    """All goals end, and the arm brakes from where it is."""
    forget_lag(p)
    p.stopped[0] = status
    p.stopped[1] = reason
    p.due[0] = AT_ONCE


def start_blend(p: CycleMemory) -> None:
    """The next effort comes from something else than the last."""
    p.blending[0] = 1 if p.blend_duration[0] > 0 else 0


def rest(p: CycleMemory) -> None:
    """The mode of an arm that follows no motion."""
    p.mode[0] = HOLD if p.tracks[0] == 1 else FREE


def restart(p: CycleMemory, reason: int) -> None:
    """Hold where the newest state is; where disturbances are rejected and the arm moves, by the
    plain law.
    """
    begin_afresh(p)
    stop(p, ABORTED, reason)
    rest(p)
    if p.robust[0] == 1:
        note_start(p)
    p.next[0] = Step.TAKE


def give_up(p: CycleMemory, late: bool) -> None:
    """A tolerance of the path is violated, or, ``late``, one of the goal; ``bad_value``: error,
    tolerance, delay in s.
    """
    field = p.bad_field[0]
    i = p.bad_joint[0]
    p.bad_value[0] = p.error[field, i]
    if field == 0:
        p.bad_value[0] = p.bad_value[0] + p.turns_behind[i]
    p.bad_value[1] = p.goal_tolerance[field, i] if late else p.path_tolerance[field, i]
    p.bad_value[2] = (p.time[0] - p.goal_end[0]) / NANOSECONDS if late else 0.0
    p.ended[0] = ABORTED
    p.ended[1] = Reason.GOAL_TOLERANCE if late else Reason.PATH_TOLERANCE
    stop(p, CANCELED, Reason.NONE)
    start_blend(p)


def watch_fall(p: CycleMemory) -> None:
    """Under the gravity of its position an arm gets slower: one that gets faster has another
    position, or another sign.
    """
    for i in range(p.nv):
        if abs(p.arrived[1, i]) > max(
            FAST * p.rated_speed[i], abs(p.v[i]) + FASTER * p.rated_speed[i]
        ):
            p.falls[0] = 1


def send_safe(p: CycleMemory) -> None:
    """The safe command is the one that is sent."""
    p.mode[0] = SAFE
    p.next[0] = Step.DROPPED
    find_safe_command(p)
    for i in range(p.nv):
        p.command[i] = p.safe_effort[i]
        p.effort[i] = p.safe_effort[i]


# -- between two cycles ----------------------------------------------------------------------------


def activate(p: CycleMemory) -> None:
    """Start, or start afresh, from the state in ``arrived``, ``time``."""
    p.fault[0] = Reason.NONE
    p.started[0] = 1
    p.stale[0] = 0
    p.returns[0] = 0.0
    p.falls[0] = 0
    p.last[0] = p.time[0] - 1
    for link in range(p.nl):
        p.wrench_until[link] = 0
    for body in range(p.nb):
        for k in range(6):
            p.external[body, k] = 0.0
    find_wrench_due(p)
    begin_precisely(p)
    forget_obedience(p)
    restart(p, Reason.RESTARTED)


def deactivate(p: CycleMemory) -> None:
    """Stop, goals too; ``safe_effort`` is what is to be sent last."""
    if p.mode[0] != INACTIVE:
        stop(p, ABORTED, Reason.DEACTIVATED)
        p.mode[0] = INACTIVE
    find_safe_command(p)


def watch_state(p: CycleMemory, t: int) -> bool:
    """Whether the state is stale at ``t``, ns: then the safe command is in ``command``."""
    if p.mode[0] == INACTIVE:
        return False
    if p.started[0] == 1 and t - p.last[0] > p.timeout[0]:
        p.stale[0] = 1
    if p.stale[0] == 0:
        return False
    if p.mode[0] != SAFE:
        stop(p, ABORTED, Reason.STALE)
    send_safe(p)
    return True


def begin_law(p: CycleMemory, integral_gain: Vector) -> None:
    """Another law is in the memory, or other gains; with one that inverts the dynamics disturbances
    may be rejected.
    """
    take_integral_gain(p, integral_gain)
    robust = 1 if p.rejects[0] == 1 and p.inverts[0] == 1 else 0
    if p.robust[0] != robust:
        forget_lag(p)
        begin_precisely(p)
        forget_obedience(p)
        p.robust[0] = robust
        p.steady[0] = 0
        for i in range(p.nv):
            p.trust[i] = p.first_trust[0]
    p.due[0] = AT_ONCE


def change_law(p: CycleMemory, tracked: int) -> None:
    """Another kind of law is in force; ``tracked``: whether the one before followed the
    reference.
    """
    for i in range(p.nv):
        p.z[i] = 0.0
    if p.tracks[0] != tracked and p.mode[0] != INACTIVE and p.mode[0] != SAFE:
        stop(p, CANCELED, Reason.LAW_CHANGED)
        rest(p)


def know_wrench(p: CycleMemory, link: int, until: int) -> None:
    """The wrench on ``link`` that is in ``external`` is in force up to that time, ns; 0: there is
    none any more.
    """
    if (p.wrench_until[link] == 0) != (until == 0):
        start_blend(p)
    p.wrench_until[link] = until
    find_wrench_due(p)


def expire_wrenches(p: CycleMemory, t: int) -> int:
    """Forget the known wrenches that are too old at ``t``, ns, all but their values; returns how
    many there are.
    """
    expired = 0
    for link in range(p.nl):
        if 0 < p.wrench_until[link] <= t:
            p.wrench_until[link] = 0
            expired += 1
    find_wrench_due(p)
    start_blend(p)
    return expired


def find_wrench_due(p: CycleMemory) -> None:
    """When the next known wrench is too old."""
    p.pushed[0] = 0
    p.wrench_due[0] = NEVER
    for link in range(p.nl):
        if p.wrench_until[link] > 0:
            p.pushed[0] = 1
            p.wrench_due[0] = min(p.wrench_due[0], p.wrench_until[link])


def collide(p: CycleMemory) -> None:
    """The arm has hit something, and is to stop."""
    stop(p, ABORTED, Reason.COLLISION)
    start_blend(p)


BETWEEN_CYCLES = (
    activate,
    deactivate,
    watch_state,
    watch_fall,
    change_law,
    know_wrench,
    expire_wrenches,
    collide,
    take_piece,
    start_blend,
    forget_lag,
    find_safe_command,
)
"""Those that are called from outside."""
