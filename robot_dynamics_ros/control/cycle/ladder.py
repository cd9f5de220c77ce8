"""Surprised, the arm holds: which law leads a joint, and what it follows while it is kept off its
path.

The *precise* law is the step ``disturbance``: feedback by inertia.  What surprises hands the joints
of an arm over to the *plain* law, the step ``plain``: a spring and a damper at each motor.  The
precise law comes back once nothing has surprised for a while; but not to joints that it drove
itself, by a spring in the gear or a delay that nobody declared.

A joint that is blocked or pushed away keeps its error within *reach*: the error at which the
feedback of the precise law is the whole effort limit of the description, and K e of the plain law
half of it.  What the joint follows is its path less a *lag*, and moves with the joint.  Once the
joint is free, the lag gets less at a bounded speed.  So nothing winds up, and nothing springs.
"""

from __future__ import annotations

import enum
from math import copysign, inf

from robot_dynamics_ros.control.cycle.memory import HOLD, CycleMemory


class Level(enum.IntEnum):
    """Which law leads a joint."""

    PRECISE = 0
    PLAIN = 1


ELASTIC_OR_LATE = (
    "gear is elastic (robustness.bandwidth 15), or the delay is longer than robot_delay"
)
"""Why a joint swings by itself, after "a" or "its"."""


class Surprise(enum.IntEnum):
    """A reason for which the plain law takes joints over; ``words`` for people, of joint, value,
    bound and units.
    """

    words: str

    def __new__(cls, words: str) -> Surprise:
        surprise = int.__new__(cls, len(cls.__members__))
        surprise._value_ = len(cls.__members__)
        surprise.words = words
        return surprise

    NONE = ""
    RELOCATED = "{joint} was put elsewhere: it is at {value:.4g} {unit}, and was at {bound:.4g}"
    BLOCKED = (
        "{joint} stands {value:.3g} {unit} from its path, and follows up to {bound:.3g}: is "
        "something in its way, or its brake closed?"
    )
    PUSHED = "{joint} was pushed {value:.3g} {unit} away; it resists {bound:.3g}"
    OVERLOADED = (
        "{joint} is {value:.3g} {unit} from its path, and follows up to {bound:.3g}, at its "
        "effort limit: the motion needs more effort, or the load is too heavy"
    )
    THROWN = (
        "{joint} left its path ever faster, at {value:.3g} {speed_unit}; {bound:.3g} more than the "
        "path's is what it may"
    )
    BRAKED = (
        "{joint} moved at {value:.4g} {speed_unit}, its velocity limit is {bound:.4g}: it brakes"
    )
    STARTED_MOVING = (
        "{joint} moved at {value:.3g} {speed_unit} when the controller started; up to {bound:.3g} "
        "counts as rest"
    )
    SWINGS = (
        "{joint} swings by itself, at {value:.3g} {speed_unit}, and {bound:.3g} is noise: its "
        + ELASTIC_OR_LATE
    )


SURPRISES = tuple(Surprise)
SURPRISE_CAUSES = {
    Surprise.RELOCATED: "relocated",
    Surprise.BLOCKED: "blocked",
    Surprise.PUSHED: "pushed",
    Surprise.OVERLOADED: "overloaded",
    Surprise.THROWN: "thrown",
    Surprise.BRAKED: "braked",
    Surprise.STARTED_MOVING: "started_moving",
    Surprise.SWINGS: "swings",
}
"""Surprise → the cause that it is counted as."""

UNSURPRISED_TIME = 0.5
"""s without a surprise, near the path, after which the precise law leads a joint again.  Half: it
comes back between two surprises of one cause; twice: the arm is imprecise for longer.
"""
TAUT_TIME = 0.1
"""s for which a joint is held at its reach before that is a surprise.  Half: so is a joint that
sticks as it starts; twice: it is named later.
"""
LOOSE = 0.8
"""Share of its reach to which the error falls before a joint is free again.  Nearer to 1, it creeps
back to its reach at once.
"""
# rad or m of lag that are nothing: below each encoder's digit
LEAST_LAG = 5e-7
# Share of the velocity limit, at which a joint comes back to its path at most; the motion of the
# path itself is added
RETURN_SPEED = 0.5
RETURN_RATE = 8.0
"""1/s, at which the rest of the lag gets less.  Half: 1 s after a push 20 mrad are left; twice: the
feedback for heavy rotors is slower than that.
"""
# rad/s, or the same of a joint's scale, below which a joint stands: noise shows as much
BLOCKED_SPEED = 0.02
AT_REST = 0.1
"""Share of its velocity limit up to which a joint is at rest when the controller starts; gravity
makes an arm as fast within some 20 ms.
"""


def begin_precisely(p: CycleMemory) -> None:
    """The precise law leads all joints."""
    for i in range(p.nv):
        p.level[i] = Level.PRECISE
        p.swung[i] = 0
        p.thrown[i] = 0
        p.reach[i] = inf
        p.fast[i] = 0
        p.fast_time[i] = 0.0
        p.vain_time[i] = 0.0


def is_coupled(p: CycleMemory, i: int, j: int) -> bool:
    """Whether joints ``i`` and ``j`` are of one arm: the inertia couples them, or they are one."""
    return i == j or p.inertia[i, j] != 0.0


def step_down(p: CycleMemory, surprise: int, joint: int, value: float, bound: float) -> None:
    """The plain law for ``joint``, and for those that its inertia is coupled with at this pose: the
    joints of its arm, but not the other axes of a gantry.  If the precise law drove ``joint``, it
    drove them, too.
    """
    for j in range(p.nv):
        if is_coupled(p, joint, j):
            p.level[j] = Level.PLAIN
            p.calm_time[j] = 0.0
            p.swung[j] = max(p.swung[j], p.swung[joint])
    note_surprise(p, surprise, joint, value, bound)


def step_down_whole(p: CycleMemory, surprise: int, joint: int, value: float, bound: float) -> None:
    """The plain law for all joints."""
    for j in range(p.nv):
        p.level[j] = Level.PLAIN
        p.calm_time[j] = 0.0
    note_surprise(p, surprise, joint, value, bound)


def note_surprise(p: CycleMemory, surprise: int, joint: int, value: float, bound: float) -> None:
    """Put down what surprised, with its numbers."""
    p.surprise[0] = surprise
    p.surprised_joint[0] = joint
    p.surprise_value[0] = value
    p.surprise_value[1] = bound
    p.surprises[0] = p.surprises[0] + 1


def climb(p: CycleMemory, dt: float) -> None:
    """The precise law for the joints of an arm again; the effort is faded over.

    For UNSURPRISED_TIME nothing has surprised them, and they have been near their path, without a
    lag and not too fast.  Joints that the precise law itself drove stay with the plain one, and
    hold those that their inertia is coupled with there.
    """
    for i in range(p.nv):
        if p.level[i] == Level.PRECISE:
            continue
        p.calm_time[i] = p.calm_time[i] + dt
        kept = p.taut[i] != 0.0 or p.lag[i] != 0.0 or p.fast[i] > 0
        if kept or abs(p.error[0, i]) > LOOSE * p.precise_reach[i] or p.swung[i] == 1:
            p.calm_time[i] = 0.0
    for i in range(p.nv):
        if p.level[i] == Level.PLAIN and is_calm(p, i):
            p.level[i] = Level.PRECISE
            p.thrown[i] = 0
            p.blending[0] = 1 if p.blend_duration[0] > 0 else 0


def is_calm(p: CycleMemory, i: int) -> bool:
    """Whether ``calm_time`` is over for joint ``i``, and for those that its inertia is coupled
    with; joints that the precise law leads do not count.
    """
    for j in range(p.nv):
        if is_coupled(p, i, j) and p.level[j] == Level.PLAIN and p.calm_time[j] <= UNSURPRISED_TIME:
            return False
    return True


def note_start(p: CycleMemory) -> None:
    """The plain law for all joints if one moves as the controller starts, or starts afresh after a
    gap: the arm is braked first, then held.
    """
    worst = AT_REST
    for i in range(p.nv):
        share = abs(p.v[i]) / p.rated_speed[i]
        if share > worst:
            worst = share
            limit = AT_REST * p.rated_speed[i]
            step_down_whole(p, Surprise.STARTED_MOVING, i, abs(p.v[i]), limit)


def forget_lag(p: CycleMemory) -> None:
    """All joints follow their path itself: it begins anew where the arm is."""
    for i in range(p.nv):
        p.lag[i] = 0.0
        p.return_velocity[i] = 0.0


def lead_back(p: CycleMemory, dt: float) -> None:
    """``reference`` and ``error`` of joints that cannot follow their path: no error is larger than
    the joint's ``reach``; and a joint that is free again comes back at a bounded speed.  Tolerances
    are watched before, by the errors from the path.
    """
    if dt <= 0.0 or p.tracks[0] == 0:
        return
    for i in range(p.nv):
        if p.commanded[i] == 1:
            come_back(p, i, dt)
            stay_within_reach(p, i, dt)
            p.error[1, i] = p.reference[1, i] - p.v[i]


def come_back(p: CycleMemory, i: int, dt: float) -> None:
    """Shorten the lag of what joint ``i`` follows, and take it off ``reference`` and ``error``.  It
    begins with ``deceleration``, goes on at RETURN_SPEED at most, and ends with RETURN_RATE.
    """
    if p.lag[i] == 0.0:
        p.return_velocity[i] = 0.0
        return
    lag = abs(p.lag[i])
    fastest = min(RETURN_SPEED * p.velocity_limit[i], RETURN_RATE * lag)
    speed = min(fastest, abs(p.return_velocity[i]) + p.deceleration[i] * dt)
    p.return_velocity[i] = copysign(speed, p.lag[i])
    p.lag[i] = p.lag[i] - p.return_velocity[i] * dt
    # the rest of it at once
    if lag < LEAST_LAG:
        p.lag[i] = 0.0
        p.return_velocity[i] = 0.0
    p.reference[0, i] = p.reference[0, i] - p.lag[i]
    p.reference[1, i] = p.reference[1, i] + p.return_velocity[i]
    p.error[0, i] = p.error[0, i] - p.lag[i]


def stay_within_reach(p: CycleMemory, i: int, dt: float) -> None:
    """Keep the error of joint ``i`` within ``reach``: what is beyond goes into the lag.  The joint
    is *taut* then, until its error has fallen to LOOSE of its reach, or changed its side.  After
    TAUT_TIME that is a surprise: the plain law leads its arm.
    """
    error = p.error[0, i]
    beyond = error - min(max(error, -p.reach[i]), p.reach[i])
    if beyond == 0.0:
        if abs(error) < LOOSE * p.reach[i] or p.taut[i] * error < 0.0:
            p.taut[i] = 0.0
            p.taut_time[i] = 0.0
    else:
        side = copysign(1.0, beyond)
        p.taut[i] = side
        p.lag[i] = p.lag[i] + beyond
        p.return_velocity[i] = 0.0
        p.error[0, i] = error - beyond
        p.reference[0, i] = p.reference[0, i] - beyond
        # the desired velocity is the joint's own, where path and joint go to the side of the path,
        # and the path's at most; else none
        path_speed = max(side * p.reference[1, i], 0.0)
        p.reference[1, i] = side * min(path_speed, max(side * p.v[i], 0.0))
        p.reference[2, i] = 0.0
    if p.taut[i] != 0.0:
        before = p.taut_time[i]
        p.taut_time[i] = before + dt
        if before <= TAUT_TIME < p.taut_time[i]:
            from_path = abs(p.lag[i] + p.error[0, i])
            step_down(p, what_keeps(p, i), i, from_path, p.reach[i])


def what_keeps(p: CycleMemory, i: int) -> int:
    """The cause that keeps joint ``i`` from its path.  PUSHED: the arm holds, whatever moves the
    joint, a load too.  In a motion BLOCKED: the joint stands; OVERLOADED: a limit cuts the effort
    towards the path; else PUSHED.
    """
    if p.mode[0] == HOLD:
        return Surprise.PUSHED
    if abs(p.v[i]) < BLOCKED_SPEED * p.scale[i]:
        return Surprise.BLOCKED
    return Surprise.OVERLOADED if p.saturated[i] * p.taut[i] > 0.0 else Surprise.PUSHED
