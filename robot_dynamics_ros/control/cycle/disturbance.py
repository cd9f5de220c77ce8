"""Fourth step, second half: feedback that holds up on a robot that is not its description.

The law's feedback is replaced by one whose stiffness does not rest on an inertia that may be wrong;
what the model does not explain is rejected, within bounds.  e = q_d − q; v̂ is the velocity from
positions; ω, k, J, z, h are below; f, b, s and c are in the file ``friction``.

    τ = M (a_d + u) + C q̇ + g + J u + z + (f + b) s + c F(v_d) + h,   u = k ω² e + 2 ω (v_d − v̂)

A joint without a rotor that rings has a share of u, and of its effort.  Any other that rings, one
whose share has become the least, and what else surprises, hands the joints of an arm over to the
plain law: see the files ``ladder`` and ``plain``.  The theory:
docs/explanation/differing_robots.md.

Source: Åström and Hägglund, Advanced PID Control (2006), section 3.5 (conditional integration).
"""

from __future__ import annotations

from math import copysign, exp, floor, inf, log, sqrt

from robot_dynamics_ros.control.cycle.friction import (
    MOST_FRICTION,
    REST_SHARE,
    SLIP,
    SLOW,
    begin_friction,
    break_free,
    compensated_friction,
    described_friction,
    learn_friction,
    turn_side,
    uncompensated_friction,
)
from robot_dynamics_ros.control.cycle.ladder import Level, Surprise, step_down
from robot_dynamics_ros.control.cycle.memory import HOLD, PAST, CycleMemory
from robot_dynamics_ros.control.cycle.plain import choose_dampers, hold_plainly
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.control.cycle.ways import LEAST_WAY, short_way

TURN = 6.283185307179586
# ω times the whole delay: at the crossover, 2 ω, the delay takes 0.56 rad (32°) of the phase
MARGIN = 0.28
# N m/rad: nothing is divided by less
LEAST_STIFFNESS = 1e-9
# Hz, highest corner of v̂, or two fifths of the rate if that is less
LOW_PASS = 100.0
# Integral gain over ω³; below 2 the loop without delay is stable
INTEGRAL = 0.3
# Integral gain in motion over that at rest, where dry friction would make a limit cycle of it
MOVING_INTEGRAL = 2.0
MOVING_STIFFNESS = (
    # Share added to the stiffness in motion: the integral needs it; ω, damping and noise stay
    0.5
)
HIGH_PASS = (
    # Corner times the whole delay, of the signals that the rotor inertia is estimated from
    0.7
)
# (rad/s)² s: how much the assumed rotor inertia counts against what is measured
KNOWN = 2e-5
# rad/s, of high-passed velocity that counts as measured
RINGING = 0.04
# Share of the rotor inertia that counts there, as it may not be
DOUBT = 0.2
# Share of its inertia by which a joint may seem too light; a lighter one is pushed by something
# else
PUSHED = 0.3
# s, in which the feedback for rotors sets in, so that a joint without one begins to ring softly
ENTRY = 0.5
# 1/s, while the joint rings
FORGET = 4.0
# Share of the swing before that a swing shorter than 1/ω has at least, if it does not decay
LASTING = 0.9
# The same of one shorter than 2/ω; the loop itself may swing as slowly
GROWING = 1.1
# Times the swing before, a swing that large has another cause
SUDDEN = 2.0
# That do not decay, one after the other, after which the loop drives them
SWINGS = 3
SOFTER = (
    # Factor on the root of the share of the feedback, for this swing and each one that follows
    0.8
)
# Share of the desired velocity that v̂ may be wrong by where stamps are
JITTERY = 0.15
# Of that root: natural frequency and damping ratio fall to it
LEAST_SHARE = 0.4
# Of the assumed rotor, that a joint without one seems to have at most
LIGHT = 0.1
BAND = 3e-3
"""rad, within which a joint at rest is left alone.  2e-3: a push leaves 2.5 mrad of another side;
1e-3: coarse encoders make light joints swing.
"""
# s within that band, after which the joint stands
CALM = 0.3
MOST_REPEATS = (
    # Periods in which a measurement may be repeated; longer is a position that stands
    10.0
)
# Least pulse, and step of pulses, as a share of the effort limit; less for a joint that is light
PULSE = 0.02
GROWTH = (
    # Share by which a large pulse grows; also the share of the error that one pulse should do
    0.3
)
FREE = 400.0
"""1/rad: times ω and the error, one over the length of a pulse; that moves a joint without friction
by GROWTH of its error.
"""
# Largest pulse, as a share of the effort limit; what it does not move is integrated: no friction
MOST_PULSE = 0.25
# rad/s; a joint that moved as fast had its friction overcome
MOVING = 0.05
# Share of the largest friction by which its friction may grow as it stops
STOPPING = 0.3
DESCRIBED = 1.2
"""Times the described friction; a joint so light that friction stops it within a period was never
seen to overcome it.
"""
OWED = 1e-3
"""rad, or one digit of the position if that is more, that its effort must have moved a joint of
which no digit has changed: its encoder is dead, its brake closed, or its way blocked.
"""
# Share of it after which a joint that says it stands is let go
SUSPECT = 0.3
# s that it then has to show motion: gravity moves a joint whose friction was only larger than
# thought
PATIENCE = 0.05


def scale_rejection(p: CycleMemory, rotor_share: float, rejected_effort: float) -> None:
    """Assume this share of the rotors in ``assumed_rotor``, learn none where it is 0, and reject
    this share of the effort at most.
    """
    for i in range(p.nv):
        p.assumed_rotor[i] = rotor_share * p.assumed_rotor[i]
        if rotor_share == 0.0:
            p.largest_rotor[i] = 0.0
        p.largest_rejected[i] = rejected_effort * p.effort_size[i]


def reject_disturbances(p: CycleMemory) -> int:
    """``effort`` and ``a`` with the feedback and the rejection of this step instead of the law's.
    UNMOVED: ``bad_joint`` shows no motion under an effort that must move it; it is let go until it
    does.  FROZEN: the same, and its velocity says that it moves.
    """
    dt = p.dt[0]
    if p.own_law[0] == 1:
        p.inverse_dynamics(p.q, p.v, p.a, p.motion)
    # what the law compensates of friction
    for i in range(p.nv):
        p.claimed[i] = p.effort[i] - p.motion[i]
    if p.fresh[0] == 1 or dt <= 0.0 or p.steady[0] == 0:
        begin_rejection(p)
    p.mass_matrix(p.q, p.inertia)
    if dt > 0.0:
        for i in range(p.nv):
            if p.commanded[i] == 1 and is_unmoved(p, i, dt):
                p.bad_joint[0] = i
                return Verdict.FROZEN if abs(p.v[i]) > SLOW * p.scale[i] else Verdict.UNMOVED
        choose_gains(p, dt)
        estimate_velocity(p, dt)
        estimate_rotors(p, dt)
    choose_dampers(p)
    for i in range(p.nv):
        p.a[i] = p.reference[2, i] + choose_feedback(p, i, dt)
    p.inverse_dynamics(p.q, p.v, p.a, p.motion)
    gain = INTEGRAL * p.natural[0] * p.natural[0] * p.natural[0] * dt
    for i in range(p.nv):
        modelled = 0.0
        inertial = 0.0
        for j in range(p.nv):
            modelled = modelled + p.inertia[i, j] * p.feedback[j]
            inertial = inertial + p.inertia[i, j] * p.reference[2, j]
        p.nominal[i] = p.motion[i] - modelled
        pulse = 0.0
        if p.level[i] == Level.PRECISE:
            feedback = p.share[i] * (modelled + p.rotor[i] * p.feedback[i])
        else:
            feedback = hold_plainly(p, i, dt)
        if dt > 0.0:
            turn_side(p, i, dt)
            break_free(p, i, dt)
            learn_friction(p, i, dt, feedback)
        if p.level[i] == Level.PRECISE:
            pulse = pulse_of_stuck_joint(p, i, dt)
            integrate_rejection(p, i, gain)
        # the friction of the description is explained
        most = p.largest_rejected[i] + described_friction(p, i)
        unexplained = p.rejected[i] + compensated_friction(p, i) + pulse
        p.unexplained[i] = min(max(unexplained, -most), most)
        # the friction that the law claims is explained
        if abs(p.reference[1, i]) > SLOW * p.scale[i]:
            p.moving[0, i] = p.moving[0, i] + dt
            p.moving[1, i] = p.moving[1, i] + dt * abs(
                p.unexplained[i] - (1.0 - p.trust[i]) * p.claimed[i]
            )
            p.moving[2, i] = p.moving[2, i] + dt * abs(inertial)
        described = p.claimed[i]
        # a joint that stands has its friction against the pulse
        if pulse != 0.0:
            described = described + copysign(p.dry[i], pulse) - p.dry[i] * p.side[i]
        p.effort[i] = p.nominal[i] + feedback + p.unexplained[i] + p.trust[i] * described
        p.drive[0, i] = p.effort[i] - p.motion[i] + p.inertia[i, i] * p.a[i]
        p.drive[1, i] = p.effort[i] - p.nominal[i] + p.inertia[i, i] * p.reference[2, i]
    return Verdict.DONE


def choose_feedback(p: CycleMemory, i: int, dt: float) -> float:
    """``feedback`` of joint ``i``, rad/s² or m/s²; none where the plain law leads it.  With it
    ``held_back``; ``reach``, of the precise law the error at which feedback in motion is the effort
    limit; and ``precise_reach``, the same whichever law leads.
    """
    stiffest = (1.0 + MOVING_STIFFNESS) * stiffness_of(p, i)
    # a joint without effort follows its path as it can
    p.precise_reach[i] = inf
    if p.effort_size[i] > 0.0:
        p.precise_reach[i] = p.effort_size[i] / max(stiffest, LEAST_STIFFNESS)
    if p.level[i] == Level.PLAIN:
        p.feedback[i] = 0.0
        p.held_back[i] = 0.0
        return 0.0
    error = p.error[0, i]
    rate = p.reference[1, i] - p.velocity[i]
    # a joint that stands is damped half as much where noise is most of v̂
    if p.calm[i] > CALM:
        rate = rate + 0.5 * min(max(p.velocity[i], -SLOW * p.scale[i]), SLOW * p.scale[i])
    moves = min(abs(p.reference[1, i]) / (SLOW * p.scale[i]), 1.0)
    stiffness = p.natural[0] * (1.0 + MOVING_STIFFNESS * moves)
    p.feedback[i] = p.share[i] * p.natural[0] * (stiffness * error + 2.0 * rate)
    p.held_back[i] = error_to_integrate(p, i, dt)
    p.reach[i] = p.precise_reach[i]
    return p.feedback[i]


def integrate_rejection(p: CycleMemory, i: int, gain: float) -> None:
    """``rejected`` of joint ``i`` takes over what its error asks for, within ``largest_rejected``;
    it does not grow where a limit cuts the effort, or the joint is held at its reach.
    """
    wound = (p.inertia[i, i] + p.rotor[i]) * p.held_back[i]
    # a joint that is stuck does not wind up others; without those that move, joints in one line
    # would swing
    for j in range(p.nv):
        if j != i and abs(p.velocity[j]) > SLOW * p.scale[j]:
            wound = wound + p.inertia[i, j] * p.held_back[j]
    most = p.largest_rejected[i]
    # where the joint is kept from its path, the integral may only fall
    winds = p.taut[i] * wound > 0.0 and p.rejected[i] * wound >= 0.0
    if not p.saturated[i] * wound > 0.0 and not winds:
        integrated = p.share[i] * p.share[i] * p.share[i] * gain * wound
        p.rejected[i] = min(max(p.rejected[i] + integrated, -most), most)


def is_unmoved(p: CycleMemory, i: int, dt: float) -> bool:
    """Whether the effort since the position of joint ``i`` last changed in any digit must have
    moved it.

    One that says it stands is let go first, and is unmoved if it still shows no motion after
    PATIENCE.  Counted is what exceeds both its balance and the effort of then by more than the
    largest friction, on the largest inertia. The balance is that of joints that accelerate as they
    should, or that of joints that do not: what counts is less.
    """
    # let go: judged by the effort that it would have
    cut = p.asked[i] - p.previous[i] if p.let_go[i] == 0.0 else 0.0
    if p.q[i] != p.position_before[i]:
        p.let_go[i] = 0.0
        p.drive[2, i], p.drive[3, i] = p.drive[0, i] - cut, p.drive[1, i] - cut
        p.owed[0, i] = 0.0
        p.owed[1, i] = 0.0
        p.owed[2, i] = p.velocity[i]
        return False
    if 0.0 < p.let_go[i] < PATIENCE:
        p.let_go[i] = p.let_go[i] + dt
        return p.let_go[i] >= PATIENCE
    friction = max(MOST_FRICTION * p.effort_size[i], 2.0 * p.dry[i])
    if p.drive[0, i] * p.owed[2, i] > 0.0 and abs(p.owed[2, i]) > MOVING * p.scale[i]:
        friction = max(STOPPING * friction, DESCRIBED * p.dry[i])
    own = beyond_friction(p.drive[0, i] - cut, p.drive[2, i], friction)
    whole = beyond_friction(p.drive[1, i] - cut, p.drive[3, i], friction)
    # only a new goal asks again
    known = p.let_go[i] > 0.0 and p.mode[0] == HOLD
    if own * whole <= 0.0 or p.blending[0] != 0 or known:
        p.owed[0, i] = 0.0
        return False
    least_drive = whole if abs(whole) < abs(own) else own
    p.owed[0, i] = p.owed[0, i] + least_drive / (p.inertia[i, i] + p.largest_rotor[i]) * dt
    p.owed[1, i] = p.owed[1, i] + p.owed[0, i] * dt
    stands = abs(p.v[i]) <= SLOW * p.scale[i]
    least = (SUSPECT if stands else 1.0) * OWED * p.scale[i]
    if abs(p.owed[1, i]) <= max(least, 2.0 * p.digit[i]):
        return False
    p.owed[0, i] = 0.0
    p.owed[1, i] = 0.0
    if not stands or p.let_go[i] > 0.0:
        return True
    p.let_go[i] = (
        # it gets no effort until it is seen to move; what had built up meanwhile is forgotten
        dt
    )
    p.drive[0, i], p.drive[1, i] = p.drive[2, i], p.drive[3, i]
    p.rejected[i] = 0.0
    p.side[i] = 0.0
    p.pulse[i] = 0.0
    return False


def beyond_friction(drive: float, then: float, friction: float) -> float:
    """The part of a drive that friction cannot hold, on a joint that stood under the drive ``then``
    and may stand under none.
    """
    return drive - min(max(drive, min(then, 0.0) - friction), max(then, 0.0) + friction)


def error_to_integrate(p: CycleMemory, i: int, dt: float) -> float:
    """At rest what exceeds a band; ``calm``: how long the joint has stood within it."""
    error = p.error[0, i]
    band = BAND * p.scale[i]
    if abs(p.reference[1, i]) >= REST_SHARE * SLOW * p.scale[i]:
        p.calm[i] = 0.0
        return MOVING_INTEGRAL * error
    beyond = error - min(max(error, -band), band)
    # until then friction may hold a joint that is about to sink
    if p.calm[i] <= CALM:
        if p.entered[0] == 1.0:
            p.calm[i] = p.calm[i] + dt
        if beyond != 0.0 or abs(p.velocity[i]) > SLOW * p.scale[i]:
            p.calm[i] = 0.0
    return beyond


def begin_rejection(p: CycleMemory) -> None:
    """Start afresh from the measured state; what was learned of rotors and friction stays."""
    for i in range(p.nv):
        p.position_before[i] = p.q[i]
        p.velocity[i] = p.v[i]
        p.nominal[i] = p.previous[i]
        p.waited[i] = 0.0
        p.told[i] = p.v[i]
        p.last_change[i] = 0.0
        p.repeated[i] = 0
        p.rejected[i] = 0.0
        begin_friction(p, i)
        p.pulse[i] = 0.0
        p.calm[i] = 0.0
        p.stuck[i] = 0.0
        p.let_go[i] = 0.0
        p.swing[i] = 0.0
        p.swings[i] = 0
        p.share[i] = 1.0
        for k in range(4):
            p.drive[k, i] = 0.0
        for k in range(3):
            p.owed[k, i] = 0.0
        for k in range(5):
            p.passed[k, i] = 0.0
        for k in range(PAST):
            p.past[k, i] = 0.0
    p.entered[0] = 0.0
    p.steady[0] = 1


def choose_gains(p: CycleMemory, dt: float) -> None:
    """ω = min(bandwidth, MARGIN / delay); the delay: declared, half a period of holding, the lag of
    v̂.
    """
    p.period[0] = mean_time(p.period[0], dt)
    longest = dt
    for i in range(p.nv):
        if p.repeated[i] == 1:
            longest = max(longest, p.waited[i] + dt)
    p.sampling[0] = mean_time(p.sampling[0], longest)
    share = 1.0 - exp(-TURN * min(LOW_PASS * p.sampling[0], 0.4))
    room = MARGIN / p.bandwidth[0] - p.actuator_delay[0]
    # what the bandwidth leaves of the delay is spent on filtering noise
    if room * share > p.sampling[0]:
        share = p.sampling[0] / room
    p.low_pass[0] = -log(1.0 - share) / p.sampling[0]
    p.whole_delay[0] = p.actuator_delay[0] + p.sampling[0] / share
    p.natural[0] = min(p.bandwidth[0], MARGIN / p.whole_delay[0])


def mean_time(before: float, dt: float) -> float:
    """Mean of times; one that is longer counts at once."""
    return dt if before <= 0.0 else max(dt, before + 0.02 * (dt - before))


def estimate_velocity(p: CycleMemory, dt: float) -> None:
    """v̂ from positions: a difference and a low-pass, so that no filter of the robot's is in the
    loop.

    A measurement that is published again tells nothing: the next one counts for the whole time.  A
    turn back by
    one digit is no motion: noise does that.
    """
    all_stand = True
    for i in range(p.nv):
        all_stand = all_stand and p.q[i] == p.position_before[i]
    ordinary = 1.0 - exp(-p.low_pass[0] * dt)
    for i in range(p.nv):
        way = short_way(p, i, p.q[i] - p.position_before[i])
        p.waited[i] = p.waited[i] + dt
        p.repeated[i] = 1 if way == 0.0 and is_repeated(p, i, all_stand) else 0
        if p.repeated[i] == 0:
            gone = 0.0 if way * p.last_change[i] < 0.0 and abs(way) < 1.5 * p.digit[i] else way
            if way != 0.0:
                p.last_change[i] = way
            share = ordinary
            if p.waited[i] != dt:
                share = 1.0 - exp(-p.low_pass[0] * p.waited[i])
            p.velocity[i] = p.velocity[i] + share * (gone / p.waited[i] - p.velocity[i])
            p.position_before[i] = p.q[i]
            p.told[i] = p.v[i]
            p.waited[i] = 0.0


def is_repeated(p: CycleMemory, i: int, all_stand: bool) -> bool:
    """Whether the position of joint ``i`` is a measurement of before: it stands although the joint
    must have moved by two digits, and its velocity stands too, or, ``all_stand``, every position
    does.  A joint that must have moved far is one whose position stands.
    """
    speed = max(abs(p.v[i]), abs(p.told[i]))
    way = speed * p.waited[i]
    if speed <= SLOW * p.scale[i] or way <= 2.0 * p.digit[i] or way >= 0.5 * LEAST_WAY:
        return False
    # the robot differentiates its positions, or the joint has come to rest
    if p.v[i] == 0.0:
        return all_stand and p.waited[i] < 1.5 * p.period[0]
    return (all_stand or p.v[i] == p.told[i]) and p.waited[i] < MOST_REPEATS * p.period[0]


def estimate_rotors(p: CycleMemory, dt: float) -> None:
    """J from how velocity and effort ring together; a joint that does not ring keeps its rotor.

    The effort is delayed, integrated and filtered as it reaches v̂, and both are high-passed, which
    leaves out weight and
    most of friction: (M + J) v̂ = ∫ effort then.  A loop that is too stiff for its rotor rings, and
        so finds it.  Friction
    disturbs the effort, noise and jitter the velocity.  So two lines are fitted, with the errors in
    one and in the other, and J stays as assumed if it lies between them: what is noise does not
    make a light joint.
    """
    p.entered[0] = min(p.entered[0] + dt / ENTRY, 1.0)
    corner = min(HIGH_PASS / p.whole_delay[0], 250.0)
    high = 1.0 - exp(-corner * dt)
    low = 1.0 - exp(-p.low_pass[0] * dt)
    late = min(floor(p.actuator_delay[0] / p.period[0] + 0.5), PAST - 1)
    for i in range(p.nv):
        for k in range(PAST - 1):
            p.past[PAST - 1 - k, i] = p.past[PAST - 2 - k, i]
        p.past[0, i] = p.previous[i] - p.nominal[i]
        arriving = p.past[late, i]
        p.passed[0, i] = p.passed[0, i] + high * (p.velocity[i] - p.passed[0, i])
        velocity = p.velocity[i] - p.passed[0, i]
        p.passed[1, i] = p.passed[1, i] + high * (velocity - p.passed[1, i])
        p.ringing[i] = velocity - p.passed[1, i]
        p.passed[2, i] = p.passed[2, i] + high * (arriving - p.passed[2, i])
        impulse = p.passed[2, i] / corner
        p.passed[3, i] = p.passed[3, i] + high * (impulse - p.passed[3, i])
        p.passed[4, i] = p.passed[4, i] + low * (impulse - p.passed[3, i] - p.passed[4, i])
    for i in range(p.nv):
        quiet = RINGING * p.scale[i]
        own = p.inertia[i, i]
        v = p.ringing[i]
        beyond = v - min(max(v, -quiet), quiet)
        p.swing[i] = p.swing[i] + copysign(dt, p.swing[i])
        p.peak[0, i] = max(p.peak[0, i], abs(v))
        if beyond != 0.0:
            rest = p.passed[4, i]
            for j in range(p.nv):
                rest = rest - p.inertia[i, j] * p.ringing[j]
            driven = rest * beyond > -PUSHED * (own + DOUBT * p.rotor[i]) * v * beyond
            # what pushes or blocks the arm shows no rotor
            driven = driven and (p.level[i] == Level.PRECISE or p.swung[i] == 1)
            if beyond * p.swing[i] <= 0.0:
                noise = quiet + p.digit[i] * p.low_pass[0] + JITTERY * abs(p.reference[1, i])
                judge_swing(p, i, 2.0 * noise, is_light(p, i) or not driven)
                p.swing[i] = copysign(dt, beyond)
            if driven:
                square = beyond * beyond / (p.scale[i] * p.scale[i])
                kept = 1.0 - FORGET * dt * square / (square + 0.01)
                # a rotor that is hardly compensated does not ring: others push
                weight = p.entered[0] * dt * beyond / v
                whole = rest + own * v
                p.evidence[0, i] = kept * p.evidence[0, i] + weight * v * v
                p.evidence[1, i] = kept * p.evidence[1, i] + weight * v * rest
                p.evidence[2, i] = kept * p.evidence[2, i] + weight * v * whole
                p.evidence[3, i] = kept * p.evidence[3, i] + weight * whole * whole
        squared = p.evidence[0, i]
        known = KNOWN * p.scale[i] * p.scale[i]
        assumed = p.assumed_rotor[i]
        least = (p.evidence[1, i] + known * assumed) / (squared + known)
        most = p.largest_rotor[i]
        if p.evidence[2, i] > 0.0:
            most = p.evidence[3, i] / p.evidence[2, i] - own
        most = (squared * most + known * assumed) / (squared + known)
        p.rotor[i] = p.entered[0] * min(
            max(min(max(assumed, least), most), 0.0), p.largest_rotor[i]
        )


def judge_swing(p: CycleMemory, i: int, quiet: float, counts: bool) -> None:
    """A swing of joint ``i`` is over.  If it rings by itself, its gear is elastic, or the loop is
    later than was declared: the plain law leads its arm from then on.  A light joint is softened
    first; so is one that swings under the plain law, too.

    Args:
        quiet: smaller swings are noise.
        counts: no assumed rotor that is missing explains it.
    """
    growth = p.peak[0, i] / max(p.peak[1, i], quiet)
    time = abs(p.swing[i]) * p.natural[0]
    lasts = (time < 1.0 and growth > LASTING) or (time < 2.0 and growth > GROWING)
    p.swings[i] = p.swings[i] + 1 if lasts and growth < SUDDEN and p.peak[1, i] > quiet else 0
    p.peak[1, i] = p.peak[0, i]
    p.peak[0, i] = 0.0
    if p.swings[i] >= SWINGS and counts:
        # a joint without a rotor has no gear: a share of its feedback is enough, and the plain law
        # would hold it more softly than that
        softens = is_light(p, i) and p.share[i] > LEAST_SHARE
        if softens or p.level[i] == Level.PLAIN:
            soften(p, i)
        else:
            p.swings[i] = 0
            p.swung[i] = 1
            step_down(p, Surprise.SWINGS, i, p.peak[1, i], quiet)
            for j in range(p.nv):
                if p.level[j] == Level.PLAIN:
                    p.share[j] = 1.0


def is_light(p: CycleMemory, i: int) -> bool:
    """Whether joint ``i`` has shown that it has no rotor; true of each for which none is assumed,
    as where the description has its ``armature``.
    """
    return p.rotor[i] <= LIGHT * p.entered[0] * p.assumed_rotor[i]


def soften(p: CycleMemory, i: int) -> None:
    """Less feedback for joint ``i``, and for others by how their inertia is coupled with it."""
    for j in range(p.nv):
        coupling = abs(p.inertia[i, j]) / max(sqrt(p.inertia[i, i] * p.inertia[j, j]), 1e-12)
        p.share[j] = max((1.0 - coupling * (1.0 - SOFTER)) * p.share[j], LEAST_SHARE)


def stiffness_of(p: CycleMemory, i: int) -> float:
    """Stiffness with which joint ``i`` is held, N m/rad or N/m."""
    natural = p.share[i] * p.natural[0]
    return natural * natural * (p.inertia[i, i] + p.rotor[i])


def pulse_of_stuck_joint(p: CycleMemory, i: int, dt: float) -> float:
    """h: pulses move a joint that is stuck at rest beyond the band.

    What breaks a joint free is more than what its friction then takes.  The loop is late, so the
    joint would slip far; a pulse is over before, and the loop then sees what it did.  A joint that
    turns back slowly looks stuck too: if friction F is all that stops it, a step goes on by SLIP
    step / (2 F) after its pulse, and may not pass the band.
    """
    scale = p.scale[i]
    beyond = p.held_back[i]
    if abs(p.reference[1, i]) >= REST_SHARE * SLOW * scale:
        p.pulse[i] = 0.0
        p.stuck[i] = max(p.stuck[i], 0.0)
        return 0.0
    stuck = p.calm[i] <= CALM and beyond != 0.0 and abs(p.velocity[i]) <= SLOW * scale
    if not stuck or p.pulse[i] > MOST_PULSE * p.effort_size[i]:
        p.stuck[i] = 0.0
        # the next time it may take less
        if beyond == 0.0:
            p.pulse[i] = 0.0
        return 0.0
    along = copysign(1.0, beyond)
    p.stuck[i] = p.stuck[i] + dt
    if p.stuck[i] > p.whole_delay[0] + 2.0 * p.period[0]:
        # over time squared: effort that a joint so light can bear
        slip = SLIP * scale * (p.inertia[i, i] + p.rotor[i])
        step = min(PULSE * p.effort_size[i], 0.25 * slip / (p.period[0] * p.period[0]))
        lasting = step
        stiffness = stiffness_of(p, i)
        # in motion, or withstood since
        friction = max(uncompensated_friction(p, i, along), p.pulse[i]) + p.trust[i] * p.dry[i]
        if friction < SLIP / (2.0 * BAND) * step:
            rate = FREE * p.natural[0] * abs(p.error[0, i]) / scale
            step = min(step, slip * rate * rate)
            lasting = min(lasting, stiffness * abs(p.error[0, i]))
        choose_pulse(p, i, along, step, 0.25 * along * lasting)
        # below 0: until the pulse is over
        p.stuck[i] = 0.5 * dt - sqrt(slip / step)
    return along * p.pulse[i] if p.stuck[i] < 0.0 else 0.0


def choose_pulse(p: CycleMemory, i: int, along: float, step: float, lasting: float) -> None:
    """The next pulse by what the last one did: too much, sliding back, or too little; ``lasting``
    stays after it.
    """
    gain = abs(p.struck[i]) - abs(p.error[0, i])
    if p.pulse[i] == 0.0:
        p.pulse[i] = max(0.5 * uncompensated_friction(p, i, along), step)
        # it came to rest here, or slid out of the band
        p.rejected[i] = p.rejected[i] + lasting
    elif p.struck[i] * along < 0.0:
        p.pulse[i] = max(p.pulse[i] - step, step)
    elif gain < -0.1 * BAND * p.scale[i]:
        p.rejected[i] = p.rejected[i] + lasting
    elif gain < GROWTH * (abs(p.error[0, i]) - BAND * p.scale[i]):
        p.pulse[i] = p.pulse[i] + max(step, GROWTH * p.pulse[i])
    p.struck[i] = p.error[0, i]
