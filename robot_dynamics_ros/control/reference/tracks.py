"""Routines of the reference, joint by joint: polynomials, trajectories that wait, goals, and events
that end them.

A joint follows pieces of its own, four at most; before the last of them the segments of a
trajectory, if it has one.  A trajectory lies in a *slot*; its arrays belong to the caller, who
hands them over.  Routines that lead from the present reference to something else take it from
``now``, which :func:`read_joint` fills joint by joint.

The polynomials are the unique Hermite interpolants; see e.g. Biagiotti and Melchiorri, Trajectory
Planning for Automatic Machines and Robots (2008), chapter 2.
"""

from __future__ import annotations

from math import floor, isfinite

from robot_dynamics_ros.control.cycle.memory import HOLD, NANOSECONDS, STREAM, TRAJECTORY
from robot_dynamics_ros.control.cycle.ways import whole_turns
from robot_dynamics_ros.control.reference.goal import Reason
from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Matrix,
    Vector,
    integers,
    numbers,
    row,
)

# A time that does not come, ns
NEVER = 2**62
# Trajectories whose time has not come, at most
WAITING = 16
# Events that are kept until somebody takes them
EVENTS = 64
# The slot of streamed set-points
SET_POINT = 0
# Set-points of a stream that are remembered
STREAM_POINTS = 4
# Largest acceleration of a stop, to its mean
STOP_TIME_SHARE = 1.5
# How much harder than asked a joint may brake in order to stop before its position limit
HARDEST_BRAKE = 10.0
# s; no stop is planned to take longer: it keeps absurd velocities within the range of integer times
LONGEST_MOTION = 1e6
# The largest numbers in a trajectory that somebody can mean; more would overflow in the law, which
# is a fault. A velocity: as a multiple of the joint's limit; rad/s or m/s, where it has none
FASTEST_SHARE = 10.0
FASTEST_REFERENCE = 1e4
# an acceleration, rad/s² or m/s²
SHARPEST_REFERENCE = 1e7
# an effort, N m or N
STRONGEST_REFERENCE = 1e7
# rad or m beyond a position limit that is rounding
SLACK = 1e-6
# States of a slot: a released one is free once the caller has taken its arrays back
FREE_SLOT = 0
USED_SLOT = 1
RELEASED_SLOT = 2
# Rows of the fields of a trajectory: (4, points, width), width the number of its joints
POSITION_ROW, VELOCITY_ROW, ACCELERATION_ROW, EFFORT_ROW = range(4)
# Status of a goal
ACTIVE, SUCCEEDED, ABORTED, PREEMPTED, CANCELED = range(5)
_SLOTS = f"(nv + {WAITING + 3})"


class TracksMemory(Declared):
    """Polynomials that the joints of one robot follow, trajectories that wait, and their goals."""

    nv: int
    # the joints
    continuous: Integers = integers("nv", meaning="1 where a joint turns without limits")
    lower: Vector = numbers("nv", unit="rad or m", meaning="lower position limit")
    upper: Vector = numbers("nv", unit="rad or m", meaning="upper position limit")
    velocity_limit: Vector = numbers("nv", unit="rad/s or m/s", meaning="of the description")
    deceleration: Vector = numbers("nv", unit="rad/s² or m/s²", meaning="of a stop")
    max_step: Vector = numbers(1, unit="rad or m", meaning="way that needs no time")
    stream_timeout: Integers = integers(
        1, unit="ns", meaning="how long a set-point is gone on from"
    )
    # the last set-points of a stream, the newest one first
    stream_points: Integers = integers(1, meaning="number of them")
    stream_time: Integers = integers(STREAM_POINTS, unit="ns", meaning="when each of them came")
    stream_joint: Integers = integers("nv", meaning="1 for the joints that they are for")
    stream_position: Matrix = numbers(STREAM_POINTS, "nv", unit="rad or m", meaning="positions")
    # what each of them follows
    count: Integers = integers("nv", meaning="number of its own pieces")
    begin: Integers = integers("4 * nv", unit="ns", meaning="when each of them begins")
    piece: Matrix = numbers(
        "4 * nv", 8, meaning="coefficients of 1, τ … τ⁵, then those of 1, τ of the effort"
    )
    slot: Integers = integers("nv", meaning="the trajectory that it follows, or −1")
    turns: Vector = numbers("nv", unit="rad", meaning="whole turns to be added to it")
    streaming: Integers = integers(1, meaning="1 while set-points are followed")
    with_effort: Integers = integers(
        1, meaning="1 once anything with efforts is followed, until the next stop"
    )
    now: Matrix = numbers(
        8, "nv", meaning="polynomials of the joints at one time, counted from then"
    )
    # trajectories
    state: Integers = integers(_SLOTS, meaning="of a slot: 0 free, 1 in use, 2 to be taken back")
    uses: Integers = integers(_SLOTS, meaning="joints that follow it, and 1 while it waits")
    goal: Integers = integers(_SLOTS, meaning="number of its goal")
    goal_waits: Integers = integers(_SLOTS, meaning="1 until its goal begins or is replaced")
    points: Integers = integers(_SLOTS, meaning="number of its points")
    width: Integers = integers(_SLOTS, meaning="number of its joints")
    efforts_given: Integers = integers(_SLOTS, meaning="1 if it has efforts")
    column: Integers = integers(
        f"{_SLOTS} * nv", meaning="its column for each joint that is to follow it, or −1"
    )
    origin: Integers = integers(_SLOTS, unit="ns", meaning="when its times count from")
    start: Integers = integers(_SLOTS, unit="ns", meaning="when it is to be followed")
    first: Integers = integers(_SLOTS, meaning="first point that is not over then")
    stops: Integers = integers(1, meaning="how often everything has been stopped")
    waiting: Integers = integers(1, meaning="number of those that wait")
    queue: Integers = integers(WAITING, meaning="their slots, the next one first")
    # the active goal
    open: Integers = integers(1, meaning="1 while a goal is active")
    active: Integers = integers(1, meaning="its number")
    active_slot: Integers = integers(1, meaning="its trajectory")
    goal_end: Integers = integers(1, unit="ns", meaning="when it is due")
    travel: Vector = numbers(
        "nv", unit="rad or m", meaning="way of each of its joints; of others, infinite"
    )
    # events, and what is wrong
    bad_point: Integers = integers(1, meaning="point that is refused")
    bad_joint: Integers = integers(1, meaning="joint, of what is refused or violated")
    bad_field: Integers = integers(1, meaning="0 position, 1 velocity")
    bad_value: Vector = numbers(3, meaning="the value, the largest allowed, s after it was due")
    events: Integers = integers(1, meaning="number of events")
    event: Integers = integers(5 * EVENTS, meaning="goal, status, reason, joint, field")
    event_value: Matrix = numbers(EVENTS, 3, meaning="as bad_value")


# -- polynomials -----------------------------------------------------------------------------------


def fit(
    out: Vector,
    first: int,
    degree: int,
    q0: float,
    v0: float,
    a0: float,
    q1: float,
    v1: float,
    a1: float,
    T: float,
) -> None:
    """Coefficients of 1, τ … τ⁵ of a polynomial of degree 1, 3 or 5 through both ends, T s apart;
    ``first``: where they begin in ``out``.
    """
    d = (q1 - q0) / T
    for k in range(2, 6):
        out[first + k] = 0.0
    out[first] = q0
    if degree == 1:
        out[first + 1] = d
        return
    out[first + 1] = v0
    if degree == 3:
        out[first + 2] = (3.0 * d - 2.0 * v0 - v1) / T
        out[first + 3] = (v0 + v1 - 2.0 * d) / (T * T)
        return
    out[first + 2] = 0.5 * a0
    out[first + 3] = (20.0 * d - 12.0 * v0 - 8.0 * v1 + T * (a1 - 3.0 * a0)) / (2.0 * T * T)
    out[first + 4] = (-30.0 * d + 16.0 * v0 + 14.0 * v1 + T * (3.0 * a0 - 2.0 * a1)) / (
        2.0 * T * T * T
    )
    out[first + 5] = (12.0 * d - 6.0 * (v0 + v1) + T * (a1 - a0)) / (2.0 * T * T * T * T)


def shift(p: TracksMemory, i: int, x: float) -> None:
    """Count the polynomials of joint ``i`` in ``now`` from ``x`` s later: Horner's scheme, again
    and again.
    """
    for k in range(5):
        for m in range(4, k - 1, -1):
            p.now[m, i] = p.now[m, i] + x * p.now[m + 1, i]
    p.now[6, i] = p.now[6, i] + x * p.now[7, i]


def begin_piece(
    p: TracksMemory,
    i: int,
    t: int,
    q: float,
    v: float,
    a: float,
    effort: float,
) -> None:
    """Another piece of joint ``i``, from ``t`` on: with constant acceleration and effort."""
    k = 4 * i + p.count[i]
    p.count[i] = p.count[i] + 1
    p.begin[k] = t
    for m in range(8):
        p.piece[k, m] = 0.0
    p.piece[k, 0] = q
    p.piece[k, 1] = v
    p.piece[k, 2] = 0.5 * a
    p.piece[k, 6] = effort


def brake(p: TracksMemory, i: int, t: int, q: float, v: float, effort: float) -> None:
    """Decelerate joint ``i`` from (q, v) at ``t`` and hold where that ends, after 1.5 |v| / a and
    0.75 v²/a.  The acceleration begins and ends with zero: its largest, a, is reached in between.

    One that would run over a position limit brakes harder, just enough to stop there, but not more
    than ten times as hard.  One that is faster than its velocity limit takes no longer a way than
    from that limit.
    """
    a = p.deceleration[i]
    if abs(v) > p.velocity_limit[i] and p.velocity_limit[i] > 0.0:
        faster = v / p.velocity_limit[i]
        a = min(faster * faster, HARDEST_BRAKE) * a
    room = p.upper[i] - q if v > 0.0 else q - p.lower[i]
    way = 0.5 * STOP_TIME_SHARE * v * v
    if way > a * room:
        if room > 0.0:
            a = min(way / room, HARDEST_BRAKE * a)
        else:
            a = HARDEST_BRAKE * a
    duration = min(STOP_TIME_SHARE * abs(v) / a, LONGEST_MOTION)
    rest = t + floor(duration * NANOSECONDS + 0.5)
    if rest > t:
        # v (1 - 3 s² + 2 s³), s = τ / duration
        k = 4 * i + p.count[i]
        begin_piece(p, i, t, q, v, 0.0, effort)
        p.piece[k, 3] = -v / (duration * duration)
        p.piece[k, 4] = 0.5 * v / (duration * duration * duration)
    begin_piece(p, i, rest, q + 0.5 * v * duration, 0.0, 0.0, effort)


# -- what is followed at one time ------------------------------------------------------------------


def read_joint(p: TracksMemory, i: int, t: int, times: Integers, segments: Vector) -> int:
    """``now`` of joint ``i`` at ``t``; returns when that polynomial is over, or a trajectory that
    waits begins.
    ``times``, ``segments``: of the trajectory in its slot; anything if it has none."""
    last = 4 * i + p.count[i] - 1
    end = p.start[p.queue[0]] if p.waiting[0] > 0 else NEVER
    slot = p.slot[i]
    if t < p.begin[last] and slot >= 0 and p.count[i] > 1:
        since = t - p.origin[slot]
        low = p.first[slot]
        if since >= times[low]:
            high = p.points[slot] - 1
            while high - low > 1:
                middle = (low + high) // 2
                if times[middle] <= since:
                    low = middle
                else:
                    high = middle
            first = 8 * (low * p.width[slot] + p.column[slot * p.nv + i])
            for m in range(8):
                p.now[m, i] = segments[first + m]
            p.now[0, i] = p.now[0, i] + p.turns[i]
            shift(p, i, (since - times[low]) / NANOSECONDS)
            return min(end, p.origin[slot] + times[low + 1])
        end = min(end, p.origin[slot] + times[low])
    k = last
    while k > 4 * i and t < p.begin[k]:
        k = k - 1
    if k < last:
        end = min(end, p.begin[k + 1])
    for m in range(8):
        p.now[m, i] = p.piece[k, m]
    shift(p, i, max(0.0, (t - p.begin[k]) / NANOSECONDS))
    return end


def mode_at(p: TracksMemory, t: int) -> int:
    """Mode of the reference at ``t``, ns: HOLD, TRAJECTORY or STREAM."""
    busy = p.open[0] == 1 or p.waiting[0] > 0
    moves = busy
    for i in range(p.nv):
        moves = moves or t < p.begin[4 * i + p.count[i] - 1]
    if p.streaming[0] == 1 and moves:
        return STREAM
    return TRAJECTORY if busy else HOLD


# -- goals and events ------------------------------------------------------------------------------


def add_event(p: TracksMemory, goal: int, status: int, reason: int) -> None:
    """Keep an event for whoever takes them, with what ``bad_…`` say; one too many is lost."""
    k = p.events[0]
    if k >= EVENTS:
        return
    p.events[0] = k + 1
    first = 5 * k
    p.event[first] = goal
    p.event[first + 1] = status
    p.event[first + 2] = reason
    p.event[first + 3] = p.bad_joint[0]
    p.event[first + 4] = p.bad_field[0]
    for m in range(3):
        p.event_value[k, m] = p.bad_value[m]


def end_goal(p: TracksMemory, status: int, reason: int) -> None:
    """The active goal ends."""
    add_event(p, p.active[0], status, reason)
    p.open[0] = 0


def replace_waiting(p: TracksMemory, slot: int, status: int, reason: int) -> None:
    """The goal of a trajectory that waits ends, if it has not ended before."""
    if p.goal_waits[slot] == 1:
        add_event(p, p.goal[slot], status, reason)
        p.goal_waits[slot] = 0


def close_goals(p: TracksMemory, status: int, reason: int) -> None:
    """All goals end, waiting ones too."""
    if p.open[0] == 1:
        end_goal(p, status, reason)
    for k in range(p.waiting[0]):
        replace_waiting(p, p.queue[k], status, reason)
    p.streaming[0] = 0


def release(p: TracksMemory, slot: int) -> None:
    """One use of a trajectory less."""
    p.uses[slot] = p.uses[slot] - 1
    if p.uses[slot] == 0:
        p.state[slot] = RELEASED_SLOT


def leave(p: TracksMemory, i: int) -> None:
    """Joint ``i`` follows nothing, until it gets pieces."""
    if p.slot[i] >= 0:
        release(p, p.slot[i])
    p.slot[i] = -1
    p.count[i] = 0


def drop_waiting(p: TracksMemory, k: int) -> None:
    """The one in place ``k`` waits no more."""
    release(p, p.queue[k])
    p.waiting[0] = p.waiting[0] - 1
    for j in range(k, p.waiting[0]):
        p.queue[j] = p.queue[j + 1]


def take_joints(p: TracksMemory, k: int, slot: int) -> None:
    """The trajectory in place ``k`` loses the joints that another has; it waits no more if it had
    no others.
    """
    others = False
    for i in range(p.nv):
        mine = p.queue[k] * p.nv + i
        if p.column[slot * p.nv + i] >= 0:
            p.column[mine] = -1
        elif p.column[mine] >= 0:
            others = True
    if not others:
        drop_waiting(p, k)


def stop_all(p: TracksMemory, t: int, status: int, reason: int) -> None:
    """All joints brake from the positions and velocities in ``now``, and hold; open goals end with
    ``status``.
    """
    p.stops[0] = p.stops[0] + 1
    close_goals(p, status, reason)
    while p.waiting[0] > 0:
        drop_waiting(p, p.waiting[0] - 1)
    for i in range(p.nv):
        leave(p, i)
        brake(p, i, t, p.now[0, i], p.now[1, i], 0.0)
    p.with_effort[0] = 0


def end_goals(
    p: TracksMemory,
    ended: Integers,
    stopped: Integers,
    joint: Integers,
    field: Integers,
    value: Vector,
    t: int,
    q: Vector,
    v: Vector,
) -> None:
    """End goals as a cycle has put down: the active one with status and reason ``ended``, then all
    with ``stopped``, where the arm brakes from (``q``, ``v``) at ``t``.  ``joint``, ``field``,
    ``value``: see ``bad_…``.
    """
    if ended[0] != 0 or stopped[0] != 0:
        p.bad_joint[0] = joint[0]
        p.bad_field[0] = field[0]
        for m in range(3):
            p.bad_value[m] = value[m]
    if ended[0] != 0:
        end_goal(p, ended[0], ended[1])
    if stopped[0] != 0:
        for i in range(p.nv):
            p.now[0, i] = q[i]
            p.now[1, i] = v[i]
        stop_all(p, t, stopped[0], stopped[1])
    ended[0] = 0
    stopped[0] = 0


# -- trajectories and set-points -------------------------------------------------------------------


def field_at(p: TracksMemory, slot: int, kind: int, entry: int, fields: Vector) -> float:
    """Entry ``entry``, a point's number times ``width`` plus a column, of the positions,
    velocities, accelerations or efforts of a trajectory.
    """
    return fields[kind * p.points[slot] * p.width[slot] + entry]


def fastest_meant(p: TracksMemory, i: int) -> float:
    """The largest velocity of a joint that is taken for meant."""
    if isfinite(p.velocity_limit[i]):
        return FASTEST_SHARE * p.velocity_limit[i]
    return FASTEST_REFERENCE


def refuse(p: TracksMemory, point: int, joint: int, value: float, largest: float) -> None:
    """Note what is wrong with a trajectory."""
    p.bad_point[0] = point
    p.bad_joint[0] = joint
    p.bad_field[0] = 0
    p.bad_value[0] = value
    p.bad_value[1] = largest
    p.bad_value[2] = 0.0


def check_points(
    p: TracksMemory,
    slot: int,
    begin: int,
    start: int,
    times: Integers,
    fields: Vector,
) -> int:
    """0, or what is wrong in ``bad_…``: 1 a position, 2 velocity, 3 acceleration, 4 effort, 5 a
    time that is too short.

    Positions and times of points that are over at ``start`` are not looked at.  ``begin``: ns, what
    the times (points,) count from; ``fields``: (4, points, width).
    """
    k = p.width[slot]
    last = p.points[slot] - 1
    for m in range(last + 1):
        due = begin + times[m] > start or m == last
        for i in range(p.nv):
            column = p.column[slot * p.nv + i]
            if column < 0:
                continue
            entry = m * k + column
            fastest = fastest_meant(p, i)
            for kind in range(VELOCITY_ROW, EFFORT_ROW + 1):
                largest = fastest
                if kind == ACCELERATION_ROW:
                    largest = SHARPEST_REFERENCE
                elif kind == EFFORT_ROW:
                    largest = STRONGEST_REFERENCE
                value = field_at(p, slot, kind, entry, fields)
                if abs(value) > largest:
                    refuse(p, m, i, value, largest)
                    return kind + 1
            q = fields[entry]
            nearest = min(max(q, p.lower[i]), p.upper[i])
            if not isfinite(q) or (p.continuous[i] == 0 and due and abs(q - nearest) > SLACK):
                refuse(p, m, i, q, nearest)
                return 1
            if m > 0 and begin + times[m - 1] > start:
                way = abs(q - fields[entry - k])
                T = (times[m] - times[m - 1]) / NANOSECONDS
                if way > p.max_step[0] and way > fastest * T:
                    refuse(p, m, i, way, T)
                    return 5
    return 0


def make_segments(
    p: TracksMemory,
    slot: int,
    times: Integers,
    degree: Integers,
    fields: Vector,
    segments: Vector,
) -> None:
    """Polynomials (points − 1, width, 8) between the points; a segment has the smaller degree of
    its two ends.
    """
    k = p.width[slot]
    for m in range(p.points[slot] - 1):
        T = (times[m + 1] - times[m]) / NANOSECONDS
        least = min(degree[m], degree[m + 1])
        for x in range(m * k, m * k + k):
            # the same joint, a point later
            y = x + k
            q0 = fields[x]
            q1 = fields[y]
            v0 = field_at(p, slot, VELOCITY_ROW, x, fields)
            v1 = field_at(p, slot, VELOCITY_ROW, y, fields)
            a0 = field_at(p, slot, ACCELERATION_ROW, x, fields)
            a1 = field_at(p, slot, ACCELERATION_ROW, y, fields)
            effort0 = field_at(p, slot, EFFORT_ROW, x, fields)
            effort1 = field_at(p, slot, EFFORT_ROW, y, fields)
            fit(segments, 8 * x, least, q0, v0, a0, q1, v1, a1, T)
            segments[8 * x + 6] = effort0
            segments[8 * x + 7] = (effort1 - effort0) / T


def free_slot(p: TracksMemory) -> int:
    """A slot for a trajectory, or −1."""
    for slot in range(1, p.nv + WAITING + 3):
        if p.state[slot] == FREE_SLOT and p.waiting[0] < WAITING:
            return slot
    return -1


def offer(p: TracksMemory, slot: int, now: int, stamp: int, times: Integers) -> int:
    """When and from which point on a trajectory would be followed; 0, or the reason not to."""
    begin = stamp if stamp > 0 else now
    start = max(now, begin)
    first = 0
    last = p.points[slot] - 1
    while first < last and begin + times[first] <= start:
        first = first + 1
    # not those that are due at once
    if begin + times[last] < start:
        refuse(p, last, 0, (start - begin - times[last]) / NANOSECONDS, 0.0)
        return Reason.TOO_LATE
    p.origin[slot] = begin
    p.start[slot] = start
    p.first[slot] = first
    return 0


def turns_to_first_point(p: TracksMemory, i: int, first_position: float) -> float:
    """Whole turns, rad, between joint ``i``, at ``now``, and the first point of a message.

    Its first one, even where it is over already: what the message says between its points is no
    matter of turns.
    """
    if p.continuous[i] == 1:
        return whole_turns(p.now[0, i] - first_position)
    return 0.0


def near_enough(
    p: TracksMemory,
    slot: int,
    point: int,
    within: int,
    fields: Vector,
) -> bool:
    """Whether the joints, at ``now``, can be sent to a point within a time, ns."""
    for i in range(p.nv):
        column = p.column[slot * p.nv + i]
        if column >= 0:
            way = p.now[0, i] - fields[point * p.width[slot] + column]
            way = way - turns_to_first_point(p, i, fields[column])
            reach = max(p.max_step[0], fastest_meant(p, i) * (within / NANOSECONDS))
            if abs(way) > reach:
                refuse(p, point, i, abs(way), reach)
                return False
    return True


def accept(p: TracksMemory, slot: int, times: Integers, fields: Vector) -> int:
    """Put the trajectory that :func:`offer` has looked at into the queue, by its start, at which
    ``now`` is; 0, or the reason not to.  Those that were to start then or later lose the joints
    that it has.
    """
    start = p.start[slot]
    first = p.first[slot]
    if not near_enough(p, slot, first, p.origin[slot] + times[first] - start, fields):
        return Reason.STEP
    p.with_effort[0] = max(p.with_effort[0], p.efforts_given[slot])
    for k in range(p.waiting[0] - 1, -1, -1):
        if p.start[p.queue[k]] >= start:
            replace_waiting(p, p.queue[k], PREEMPTED, Reason.REPLACED)
            take_joints(p, k, slot)
    k = p.waiting[0]
    p.waiting[0] = k + 1
    while k > 0 and p.start[p.queue[max(k - 1, 0)]] > start:
        p.queue[k] = p.queue[k - 1]
        k = k - 1
    p.queue[k] = slot
    p.state[slot] = USED_SLOT
    p.uses[slot] = 1
    p.goal_waits[slot] = 1
    return 0


def approach(
    p: TracksMemory,
    i: int,
    slot: int,
    entry: int,
    t: int,
    due: int,
    degree: int,
    fields: Vector,
) -> None:
    """Joint ``i`` goes from ``now``, at ``t``, to the point with this entry of ``fields``, where it
    is at ``due``, or at once.
    """
    k = 4 * i
    # the short way round to the first point of the message, not to the first one that is left
    turns = turns_to_first_point(p, i, fields[entry % p.width[slot]])
    q = fields[entry] + turns
    v = field_at(p, slot, VELOCITY_ROW, entry, fields)
    a = field_at(p, slot, ACCELERATION_ROW, entry, fields)
    effort = field_at(p, slot, EFFORT_ROW, entry, fields)
    leave(p, i)
    p.turns[i] = turns
    begin_piece(p, i, t, q, 0.0, 0.0, effort)
    if due > t:
        T = (due - t) / NANOSECONDS
        v0 = p.now[1, i]
        # its velocity would jump at the start of a straight line
        if degree == 1 and v0 != 0.0:
            fit(row(p.piece, k), 0, 3, p.now[0, i], v0, 0.0, q, (q - p.now[0, i]) / T, 0.0, T)
        else:
            fit(row(p.piece, k), 0, degree, p.now[0, i], v0, 2.0 * p.now[2, i], q, v, a, T)
        if p.efforts_given[slot] == 1:
            p.piece[k, 6] = p.now[6, i]
            p.piece[k, 7] = (effort - p.now[6, i]) / T


def begin_next(p: TracksMemory, times: Integers, degree: Integers, fields: Vector) -> None:
    """Follow the trajectory that waits first, whose arrays these are, from its start, at which
    ``now`` is.
    """
    slot = p.queue[0]
    start = p.start[slot]
    first = p.first[slot]
    last = p.points[slot] - 1
    due = p.origin[slot] + times[first]
    end = p.origin[slot] + times[last]
    if p.goal_waits[slot] == 1:
        if p.open[0] == 1:
            end_goal(p, PREEMPTED, Reason.REPLACED)
        p.open[0] = 1
        p.active[0] = p.goal[slot]
        p.active_slot[0] = slot
        p.goal_end[0] = max(start, end)
        p.streaming[0] = 0
        add_event(p, p.active[0], ACTIVE, 0)
    for i in range(p.nv):
        p.travel[i] = 1e300
        column = p.column[slot * p.nv + i]
        if column < 0:
            continue
        final = last * p.width[slot] + column
        approach(p, i, slot, first * p.width[slot] + column, start, due, degree[first], fields)
        goal = fields[final] + p.turns[i]
        if due > start:
            effort = field_at(p, slot, EFFORT_ROW, final, fields)
            begin_piece(p, i, end, goal, 0.0, 0.0, effort)
        p.slot[i] = slot
        p.uses[slot] = p.uses[slot] + 1
        p.travel[i] = abs(goal - p.now[0, i])
    drop_waiting(p, 0)


def stream(p: TracksMemory, t: int, after: int, degree: int, fields: Vector) -> int:
    """Follow the set-point in slot 0, due ``after`` ns, go on with its velocity, and stop if no
    other comes in time; 0, or the reason not to. ``now`` is at ``t``.
    """
    if not near_enough(p, SET_POINT, 0, after, fields):
        return Reason.STEP
    close_goals(p, PREEMPTED, Reason.STREAMED)
    for k in range(p.waiting[0] - 1, -1, -1):
        take_joints(p, k, SET_POINT)
    due = t + after
    halt = max(due, t + p.stream_timeout[0])
    for i in range(p.nv):
        j = p.column[i]
        if j < 0:
            continue
        approach(p, i, SET_POINT, j, t, due, degree, fields)
        q = fields[j] + p.turns[i]
        v = field_at(p, SET_POINT, VELOCITY_ROW, j, fields)
        a = field_at(p, SET_POINT, ACCELERATION_ROW, j, fields)
        effort = field_at(p, SET_POINT, EFFORT_ROW, j, fields)
        if halt > due:
            begin_piece(p, i, due, q, v, a, effort)
        x = (halt - due) / NANOSECONDS
        brake(p, i, halt, q + x * (v + 0.5 * x * a), v + x * a, effort)
    p.with_effort[0] = max(p.with_effort[0], p.efforts_given[SET_POINT])
    p.streaming[0] = 1
    return 0


ROUTINES = (
    read_joint,
    mode_at,
    check_points,
    make_segments,
    free_slot,
    offer,
    accept,
    begin_next,
    stream,
    stop_all,
    end_goals,
    add_event,
)
"""Those that are called from outside."""
