"""Surprised, the arm holds: the ladder of levels, and the path that waits for an arm that is kept
from it.

    precise → plain → soft → safe

A surprise leads down; once nothing has surprised for a while, one step up again.  Precise: all that
the law can.  Plain: the usual stiffness, nothing is learned.  Soft: little stiffness, well damped,
gravity held.  Safe: the safe command; only a fault leads there, or states that do not come.

A joint that is blocked or pushed away keeps its path within *reach*, the error at which the
feedback gives as much as it may.  What it follows then is the path less the way that it is behind;
once it is free, it comes back at a bounded speed.  So nothing winds up, and nothing springs.
"""

from __future__ import annotations

import enum
from math import copysign

from robot_dynamics_ros.control.cycle.memory import HOLD, CycleMemory


class Level(enum.IntEnum):
    """How much the law may do."""

    PRECISE = 0
    PLAIN = 1
    SOFT = 2
    SAFE = 3


class Surprise(enum.IntEnum):
    """What leads down the ladder; ``words`` for people, of joint, value and bound."""

    words: str

    def __new__(cls, words: str) -> Surprise:
        surprise = int.__new__(cls, len(cls.__members__))
        surprise._value_ = len(cls.__members__)
        surprise.words = words
        return surprise

    NONE = ""
    GAP = "no joint state came for {value:.3g} s, where {bound:.3g} s were usual"
    RELOCATED = "{joint} was put elsewhere: {value:.4g} now, {bound:.4g} before"
    BLOCKED = (
        "{joint} stands with an error of {value:.3g} rad or m, the largest that it follows is"
        " {bound:.3g}: something blocks it, or its brake is closed"
    )
    PUSHED = "{joint} was pushed away by {value:.3g} rad or m, the largest that it resists is {bound:.3g}"
    TOO_FAST = "{joint} moves at {value:.4g}, its velocity limit is {bound:.4g}: the arm brakes"
    STARTED_MOVING = (
        "{joint} moved at {value:.3g} when the controller started; {bound:.3g} counts as rest"
    )
    SWINGS = "{joint} swings by itself, {value:.3g} rad/s or m/s; {bound:.3g} counts as rest"


CAUSES = {
    Surprise.GAP: "gap",
    Surprise.RELOCATED: "relocated",
    Surprise.BLOCKED: "blocked",
    Surprise.PUSHED: "pushed",
    Surprise.TOO_FAST: "overspeed",
    Surprise.STARTED_MOVING: "started_moving",
    Surprise.SWINGS: "swings",
}
"""Surprise → the cause that it is counted as."""

GAP = 0.03
"""s without a state, and three times what is usual, that make the arm softer.  Half: an ordinary
scheduler does it; twice: the last effort stands so long that a light joint passes its limit.
"""
CALM = 0.5
"""s without a surprise after which the arm is one level better again.  Half: between two surprises
of one cause it is stiff; twice: it is imprecise for longer.
"""
PATIENCE = 0.1
"""s for which a joint is held at its reach before it counts as blocked or pushed.  Half: a joint
that sticks as it starts counts; twice: it is named later, it follows its path as before.
"""
RETURN_RATE = 8.0
"""1/s, at which the rest of the way back to the path is gone.  Half: 1 s after a push 20 mrad are
left; twice: the feedback for heavy rotors is slower than that.
"""
AT_REST = 0.1
"""Share of its velocity limit up to which a joint is at rest when the controller starts; gravity
makes an arm as fast within some 20 ms.
"""


def step_down(
    p: CycleMemory, level: int, surprise: int, joint: int, value: float, bound: float
) -> None:
    """Go down to ``level``, or stay where that is lower; note the surprise with its numbers."""
    p.calm_time[0] = 0.0
    if p.robust[0] == 1:
        p.level[0] = max(p.level[0], level)
    p.surprise[0] = surprise
    p.surprised_joint[0] = joint
    p.surprise_value[0] = value
    p.surprise_value[1] = bound
    p.surprises[0] = p.surprises[0] + 1


def climb(p: CycleMemory, dt: float) -> None:
    """One level better, once nothing has surprised for CALM; the effort is faded over."""
    for i in range(p.nv):
        if p.taut[i] != 0.0:
            p.calm_time[0] = 0.0
    if p.braking_time[0] > 0.0:
        p.calm_time[0] = 0.0
    if p.level[0] == Level.PRECISE:
        return
    p.calm_time[0] = p.calm_time[0] + dt
    if p.calm_time[0] > CALM:
        p.level[0] = p.level[0] - 1
        p.calm_time[0] = 0.0
        p.blending[0] = 1 if p.blend_duration[0] > 0 else 0


def note_gap(p: CycleMemory, dt: float) -> None:
    """Softer after a gap between two states that is much longer than usual: the last effort stood
    meanwhile, and whatever changed is seen late.
    """
    usual = p.usual_period[0]
    if usual > 0.0 and dt > max(GAP, 3.0 * usual):
        step_down(p, Level.SOFT, Surprise.GAP, 0, dt, usual)
    p.usual_period[0] = dt if usual <= 0.0 else usual + min(dt, 1.0) * (dt - usual)


def note_start(p: CycleMemory) -> None:
    """Softer if the arm moves as the controller starts: it is braked first, then held."""
    worst = AT_REST
    for i in range(p.nv):
        share = abs(p.v[i]) / p.rated_speed[i]
        if share > worst:
            worst = share
            limit = AT_REST * p.rated_speed[i]
            step_down(p, Level.SOFT, Surprise.STARTED_MOVING, i, p.v[i], limit)


def lead_back(p: CycleMemory, dt: float) -> None:
    """``reference`` and ``error`` of joints that cannot follow the path: within ``reach`` of where
    they are, and back to the path at a bounded speed.

    The way that a joint is ``behind`` is taken off the path.  It grows while the error is at
    ``reach``; then the joint is ``taut``, and what it follows moves with it.
    """
    if dt <= 0.0:
        return
    for i in range(p.nv):
        if p.commanded[i] == 1:
            come_back(p, i, dt)
            stay_within_reach(p, i, dt)
            p.error[1, i] = p.reference[1, i] - p.v[i]


def come_back(p: CycleMemory, i: int, dt: float) -> None:
    """Shorten the way that joint ``i`` is behind: as fast as ``return_speed`` allows, gently at
    both ends.
    """
    behind = p.behind[i]
    if behind == 0.0:
        p.return_velocity[i] = 0.0
        return
    fastest = min(p.return_speed[0] * p.velocity_limit[i], RETURN_RATE * abs(behind))
    speed = min(fastest, abs(p.return_velocity[i]) + p.deceleration[i] * dt)
    # the last of it at once: half a microradian, or micrometre
    if abs(behind) < 5e-7:
        p.behind[i] = 0.0
        p.return_velocity[i] = 0.0
    else:
        p.return_velocity[i] = copysign(speed, behind)
        p.behind[i] = behind - p.return_velocity[i] * dt
    p.reference[0, i] = p.reference[0, i] - p.behind[i]
    p.reference[1, i] = p.reference[1, i] + p.return_velocity[i]
    p.error[0, i] = p.error[0, i] - p.behind[i]


def stay_within_reach(p: CycleMemory, i: int, dt: float) -> None:
    """Keep the error of joint ``i`` within ``reach``, and note a joint that has been kept there for
    PATIENCE.
    """
    beyond = p.error[0, i] - min(max(p.error[0, i], -p.reach[i]), p.reach[i])
    if beyond == 0.0:
        p.taut[i] = 0.0
        p.taut_time[i] = 0.0
        return
    side = copysign(1.0, beyond)
    p.taut[i] = side
    p.behind[i] = p.behind[i] + beyond
    p.return_velocity[i] = 0.0
    p.error[0, i] = p.error[0, i] - beyond
    p.reference[0, i] = p.reference[0, i] - beyond
    # it moves with the joint, as far as the path goes that way
    away = max(side * p.reference[1, i], 0.0)
    p.reference[1, i] = side * min(away, max(side * p.v[i], 0.0))
    p.reference[2, i] = 0.0
    before = p.taut_time[i]
    p.taut_time[i] = before + dt
    if before <= PATIENCE < p.taut_time[i]:
        stands = abs(p.v[i]) < 0.02 * p.scale[i]
        blocked = p.mode[0] != HOLD and stands
        surprise = Surprise.BLOCKED if blocked else Surprise.PUSHED
        step_down(p, Level.PLAIN, surprise, i, side * abs(p.behind[i]) + p.error[0, i], p.reach[i])
