"""Fourth step, second half: feedback that holds up on a robot that is not its description.

The model leads along the *reference*; the feedback is a spring and a damper at each
motor, each joint for itself:

    τ = M(q) a_d + C q̇_d + g(q) + J a_d + c s + K e + D (v_d − v̂) + z

e = q_d − q; v̂ is the velocity from positions; the others are explained where they are chosen.
A spring and a damper at the motor take energy out whatever gear, link and load stand behind it, as
long as sampling and delay leave the damper one: that is the bound on D, and K follows D.  The
theory: docs/explanation/default_law.md.

Sources: Tomei, *A simple PD controller for robots with elastic joints* (1991); Albu-Schäffer, Ott,
Hirzinger, *A unified passivity-based control framework* (2007); Dahl, *Solid friction damping of
mechanical vibrations* (1976); Åström and Hägglund, *Advanced PID Control* (2006), section 3.5.
"""

from __future__ import annotations

from math import copysign, cos, exp, log, pi, sqrt

from robot_dynamics_ros.control.cycle.arrival import LEAST_WAY, short_way
from robot_dynamics_ros.control.cycle.memory import (
    HOLD,
    LATEST_ANSWER,
    NANOSECONDS,
    CycleMemory,
)
from robot_dynamics_ros.control.cycle.reference import path_acceleration, path_velocity
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.dynamics.engine.routines import row

# levels of the ladder
PRECISE = 0
PLAIN = 1
SOFT = 2

STIFFNESS_AT_LEVEL_PRECISE = 14.0
"""1/rad: stiffness over effort limit, N m/rad for each N m.  Robots are sold with 7.  Half: twice
the error on the way; twice: drives that lag by 5 ms swing.
"""
STIFFNESS_AT_LEVEL_PLAIN = 7.0
"""1/rad.  Half: errors of 1 % of the effort limit are 3 mrad; twice: a lag of 20 ms swings."""
STIFFNESS_AT_LEVEL_SOFT = 1.5
"""1/rad.  Half: it sags; twice: what made it soft is still driven."""
STIFFNESS_AT_FIRST = 0.1
"""1/rad, as another law has led the arm.  Twice: twice the step."""
STIFFNESS_TIME = 0.2
"""s, in which stiffness goes over to another level.  Half: the effort steps; twice: a swing grows.
"""
DAMPING_RISE = 0.02
"""s, in which the damper rises to what is borne.  Half: a joint with a wrong sign is faster before
it is found; twice: a load is held softly for longer.
"""
UNSEEN_RISE = 0.2
"""s, the same of a joint that has shown no motion yet.  Half: behind a dead encoder it is fast
before that is found; twice: friction holds it for longer.
"""
CONTRADICTING = 0.1
"""Of the velocity limit, by which v̂ and the velocity that the robot tells go different ways: one
of them is wrong, so neither is damped.
"""
CLOSING_SPEED = 0.5
"""Of the velocity limit, with which spring and damper close an error.  Half: a soft joint lags;
twice: it is as fast as its limit when a wall, a brake or friction lets it go.
"""
DAMPING_FACTOR = 1.4
"""2 ζ, ζ = 0.7: the error decays fastest.  Half: it swings; twice: it creeps."""
LATENESS_MARGIN = 0.8
"""Damping × lateness over inertia, all joints together; at about 1.57 it drives.  Half: light
joints have a quarter of the stiffness; twice: they swing.
"""
SHARED = 0.4
"""Of 1/lateness, damping over mass matrix, in slow loops: it damps the motions of all joints
together as well as those of one.  Half: joints in one line swing for seconds; twice: nothing is
left for rotors that nobody described.
"""
SHARED_OF_LIGHT = 0.1
"""The same, of joints that have shown that they have no rotor.  0: many of them swing together for
seconds; twice: without friction, they swing with the loop.
"""
SHARED_FROM = 0.01
"""s of lateness, from which on there is some: quicker loops have dampers enough."""
UNTOLD_LATENESS = 2e-3
"""s, that every robot is late beside what is told: a bus, a drive.  Half: one period of
500 Hz that nobody told swings; twice: light joints are half as stiff.
"""
VISCOUS_SHARE = 0.25
"""Of viscous friction over lateness, stiffness that it damps beside the damper."""
INTEGRAL_RATE = 2.0
"""1/s: the integral takes over the feedback's effort.  Half: a load is seen for 2 s; twice: joints
that friction holds creep to and fro.
"""
MOVING_INTEGRAL = 0.25
"""Of stiffness over damping, in motion, if that is more.  Half: friction makes light and late
joints lag; twice: half the phase that the damper leaves is gone.
"""
BEARABLE_INTEGRAL = 0.2
"""Of damping over inertia; from 1 on it swings.  Half: slow rates have no integral; twice:
joints in one line swing together.
"""
STUCK = 0.2
"""Of the desired velocity; a joint that is slower stands, held by its friction.  Half: noise moves
it; 1: a joint that lags stands.
"""
STUCK_INTEGRAL = 30.0
"""1/s, of a joint that its friction holds while its reference moves.  Half: it lags by half as much
again; twice: so does one that breaks free late.
"""
STUCK_MARGIN = 0.25
"""Of the lateness after which such a joint is seen to move, that the integral needs to double."""
STUCK_SPEED = 0.025
"""rad/s, that such a joint gets by the integral before it is seen to move.  Half: light wrists lag
longer; six times: they are thrown.
"""
STANDING = 1e-3
"""rad/s, below which a joint at rest is held by its friction."""
STOOD_LATENESSES = 3.0
"""Times the lateness, that it has stood: a swing turns back sooner."""
BESIDE = 1e-3
"""rad beside its place, from which on such a joint gets the quick integral, too."""
FREED_PASSES = 3.0
"""Times the way that it goes before it is seen to move; nearer, it would go to and fro."""
FREED_SPEED = 0.2
"""Of the velocity limit, that it gets so at most."""
RELEASE_WAY = 1e-3
"""rad beyond its place, over which a joint that the integral drives away makes it let go.  Half:
a knock takes away what holds a load; twice: after a push the joint swings as far.
"""
RELEASE_BEYOND = 5e-4
"""rad beyond its place, from which on it does: noise moves a joint as far."""
SIDE_WAY = 1e-3
"""rad of way over which friction changes its side (Dahl): gears wind up by as much.  Half:
a step in the effort as a motion begins; twice: a lag as it does.
"""
LARGEST_FRICTION = 0.12
"""Of the effort limit, that friction is learned to be at most.  Half: worn gears lag; twice: a load
that is carried one way only is taken for friction.
"""
FRICTION_UNKNOWN = 0.05
"""Of the effort limit: standard deviation of friction before it is learned."""
FRICTION_NOISE = 0.02
"""Of the effort limit: what else the feedback gives, over 0.1 s."""
FRICTION_DRIFT = 0.01
"""Of the effort limit, over a second of motion: warm gears have less friction."""
SLOW_FORCES_TIME = 0.4
"""s; what the feedback gives for as long is no friction."""
LEARNING_SPEED = 0.02
"""rad/s, from which on friction is learned.  Half: friction that rises at rest is learned; twice:
slow motions teach nothing.
"""
ASKING_TIME = 0.01
"""s, that the first pulse lasts.  Half: the effort is four times as large; twice: a load is
held softly for longer.
"""
ASKING_PERIODS = 5.0
"""Least control periods of it: it has two turns."""
ASKING_WAY = 1e-3
"""rad, by which it moves a joint that is as described, and free."""
ASKING_EFFORT = 0.02
"""Of the effort limit, that it takes at most: on heavy joints a rotor counts for little."""
ASKING_AGAIN = 0.05
"""Of the effort limit, up to which a light joint that does not answer is asked again.  Half:
friction hides it; twice: the arm is heard and felt.
"""
ASKING_GROWTH = 1.15
"""By which the effort grows from one time to the next.  1.07: twice as many times; 1.3: a light
joint that breaks free is twice as fast.
"""
LEFT_BY_FRICTION = 0.15
"""Of the effort, as a joint breaks free.  Half: small rotors are not seen; twice: a light joint is
taken for a heavier one, and swings.
"""
PROVEN = 0.5
"""Of the assumed inertia, than which a joint must be lighter for certain.  Half: a joint of a third
of it swings; 1: joints that friction holds seem lighter than they are.
"""
PUSHED_BEYOND = 1.5
"""Times the fastest answer that the description allows; a faster joint is pushed."""
TWO_SIDED = 0.3
"""Speed to one side over that to the other, of a free joint that answers the first pulse."""
ANSWERED_SPEED = 0.02
"""rad/s, from which on a joint answers.  Half: noise does; twice: it is faster before."""
TOSSED_SPEED = 0.3
"""rad/s by which the speed of a light joint changes in a period.  Half: outliers do; twice: it is
twice as fast before it is found.
"""
TOSSED_BY_STAMPS = 1.2
"""Of the desired velocity, that stamps add to it which are wrong by up to 0.3 periods: twice a way
that is too long, then twice one that is too short.
"""
TOSSED_BEFORE = 0.2
"""Of that, by which it changed the other way before."""
TOSSED = 3.0
"""Times what the assumed inertia lets it.  2: gears in play are light; 6: joints of a fifth of it
swing.
"""
TOSSED_GROWTH = 1.5
"""By which its effort grows; what does not grow friction holds."""
TOSSED_SOFTER = 0.15
"""Of the rotor inertia, that is left each time.  Half: too soft for friction; twice: it grows."""
COARSE_DIGIT = 2e-3
"""rad, of an encoder that does not show a light joint swing before it is thrown.  Half: joints with
12 bits are soft; twice: joints with 11 bits, and friction but no rotor, are thrown.
"""
ANSWERING_PERIODS = 4.0
"""Control periods after the pulse, beside the declared delay, until which it may answer.  Half:
what nobody told is too late; twice: an unknown load is held softly for longer.
"""
LISTENING_CORNER = 20.0
"""rad/s, above which efforts and speeds are compared, and v̂ swings.  Half: a motion that starts
quickly swings; twice: slow swings of heavy links are not seen.
"""
LISTENING_TIME = 0.05
"""s, over which they are.  Half: noise agrees with itself; twice: a light joint is thrown first."""
PUSHED_SHARE = 0.4
"""Of its inertia, by which a joint may seem too light; a lighter one is pushed by something else.
Half: descriptions that are a third too heavy; twice: a load that nobody mentioned answers.
"""
ANSWER_AGREES = 0.975
"""Correlation of effort and speed, from which on a joint answers.  0.9: positions in degrees do;
0.99: joints that rub a little do not.
"""
ANSWER_DISAGREES = 0.8
"""Correlation at another lateness, two periods away or more, above which the lateness is not told.
1: slow answers seem 6 periods late; 0.5: few joints tell.
"""
SWING_SPEED = 0.04
"""rad/s of v̂ that are no swing.  Half: encoders of 14 bits swing; twice: a spring is thrown."""
SWING_LASTING = 0.9
"""Of the swing before; a swing that has at least that lasts.  Half: a damped one counts."""
SWING_SUDDEN = 2.0
"""Times the swing before: one as large has another cause, such as a push."""
SWINGS_TO_SOFTEN = 3
"""That do not decay, one after the other.  2: friction that lets go softens; 6: a spring is thrown.
"""
SWING_SOFTER = 0.8
"""Root of the share of the stiffness that is left after each further one."""
SWING_LEAST = 0.2
"""The least of that root: 1/25 of the stiffness."""
SWING_RETURN = 20.0
"""s, in which stiffness comes back, so that a swing that was a person's is forgotten."""
JITTERY = 0.15
"""Of the desired velocity, that v̂ may be wrong by where stamps are."""
POSE_CHANGE = 0.01
"""rad, by which the reference moves until the bounds are found anew: 1 % of the inertia."""

# times that a joint has answered: once to each side, or once without friction
ANSWERED = 2

# s, the time since the first pulse once all is asked: no period is as long
ASKED = 1e9

# Hz, highest corner of v̂, or two fifths of the rate if that is less
LOW_PASS = 100.0
MOST_REPEATS = (
    # Periods in which a measurement may be repeated; longer is a position that stands
    10.0
)
# rad/s, below which a joint may be stuck
SLOW = 0.02
# rad/s; a joint that moved as fast had its friction overcome
MOVING = 0.05
# Largest friction by evidence, as a share of the effort limit
MOST_FRICTION = 0.15
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
    p.asked_for[0] = -1.0


def reject_disturbances(p: CycleMemory) -> int:
    """``effort``: the plain law's for this cycle's reference and state, instead of the law's.

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
        measure_lateness(p, dt)
        estimate_velocity(p, dt)
        listen(p, dt)
        # what the first pulse moves does not swing by itself
        if p.asked_for[0] >= ASKED:
            watch_swings(p, dt)
    choose_gains(p, dt)
    look_ahead(p)
    # gravity where the arm is: a soft or pushed joint would have that of another pose
    p.inverse_dynamics(p.q, row(p.ahead, 0), row(p.ahead, 1), p.nominal)
    for i in range(p.nv):
        lead_joint(p, i, dt)
    return Verdict.DONE


def look_ahead(p: CycleMemory) -> None:
    """``ahead``: velocity and acceleration that the reference has when the effort of this cycle
    acts: after the lateness, in the middle of the period for which it is held.  An effort for now
    would move the arm behind its reference.

    A piece of the path is not followed beyond its end, where polynomials of short pieces grow
    without bound: its end stays in force, and the last piece of a goal rests.
    """
    late = p.actuator_delay[0] + max(p.untold_lateness[0], 0.0) + 0.5 * p.period[0]
    then = p.time[0] + late * NANOSECONDS
    rests = then >= p.due[0] and p.due[0] == p.goal_end[0]
    t = max(0.0, (min(then, p.due[0]) - p.knot[0]) / NANOSECONDS)
    for i in range(p.nv):
        if p.tracks[0] == 0 or p.commanded[i] == 0:
            p.ahead[0, i] = p.reference[1, i]
            p.ahead[1, i] = p.reference[2, i]
        elif rests:
            p.ahead[0, i] = 0.0
            p.ahead[1, i] = 0.0
        else:
            p.ahead[0, i] = path_velocity(p, i, t)
            p.ahead[1, i] = path_acceleration(p, i, t)


def lead_joint(p: CycleMemory, i: int, dt: float) -> None:
    """The effort of joint ``i`` from its reference and its error: model, friction, spring, damper,
    integral; and what is learned of it.
    """
    turn_friction(p, i, dt)
    most = p.largest_rejected[i]
    damper = p.damping[i] * (p.desired_velocity[i] - p.velocity[i])
    spring = p.stiffness[i] * p.error[0, i]
    if spring * damper < 0.0:
        # it comes back: where spring and damper are equal, at CLOSING_SPEED
        back = CLOSING_SPEED * p.rated_speed[i] * p.damping[i]
        most = min(most, back * back / abs(damper))
    spring = min(max(spring, -most), most)
    learn_friction(p, i, dt, spring + damper)
    integrate_error(p, i, dt, spring)
    friction = known_effort(p, i)
    learned = p.friction_seen[i] * p.side[i]
    learned = learned + p.viscous_seen[i] * moving_shape(p, i, p.ahead[0, i])
    inertial = 0.0
    for j in range(p.nv):
        inertial = inertial + p.inertia[i, j] * p.ahead[1, j]
    most = p.largest_rejected[i]
    p.unexplained[i] = min(max(p.integral[i] + learned + spring, -most), most)
    p.lead[i] = p.nominal[i] + p.rotor[i] * p.ahead[1, i] + (friction + learned) + p.integral[i]
    p.effort[i] = p.lead[i] + (spring + damper) + question(p, i) + shared_feedback(p, i)
    p.drive[0, i] = p.effort[i] - p.nominal[i] + inertial
    p.drive[1, i] = p.effort[i] - p.nominal[i] + p.inertia[i, i] * p.ahead[1, i]
    # the friction that the law claims is explained
    if abs(p.reference[1, i]) > SLOW * p.scale[i]:
        p.moving[0, i] = p.moving[0, i] + dt
        p.moving[1, i] = p.moving[1, i] + dt * abs(
            p.unexplained[i] + damper - (1.0 - p.trust[i]) * p.claimed[i]
        )
        p.moving[2, i] = p.moving[2, i] + dt * abs(inertial)


def known_effort(p: CycleMemory, i: int) -> float:
    """N m, against friction that the law knows: as it claims in motion, and at least what was left
    as the reference came to rest.
    """
    kept = p.known_friction[i] * p.side[i]
    claimed = p.trust[i] * p.claimed[i]
    if p.ahead[0, i] == 0.0:
        return kept
    sense = copysign(1.0, p.ahead[0, i])
    return max(claimed * sense, kept * sense) * sense


def is_light(p: CycleMemory, i: int) -> bool:
    """Whether joint ``i`` has shown that it has no rotor: there is no spring of a gear either; or
    is asked, and held as if it had none.
    """
    return p.rotor[i] < PROVEN * p.assumed_rotor[i]


def shared_damping(p: CycleMemory, i: int, j: int) -> float:
    """1/s, damping over mass matrix, for joints ``i`` and ``j`` together."""
    if is_light(p, i) and is_light(p, j):
        return max(p.shared_damping[0], p.shared_damping[1])
    return p.shared_damping[0]


def shared_feedback(p: CycleMemory, i: int) -> float:
    """N m: spring and damper of all joints together, α M ė + α²/2 M e."""
    total = 0.0
    for j in range(p.nv):
        alpha = shared_damping(p, i, j)
        inertia = p.inertia[i, j] + (p.rotor[i] if i == j else 0.0)
        closing = p.desired_velocity[j] - p.velocity[j] + 0.5 * alpha * p.error[0, j]
        total = total + alpha * inertia * closing
    most = p.largest_rejected[i]
    return min(max(total, -most), most)


def forget_feedback(p: CycleMemory) -> None:
    """A state was refused: what spring and damper answered to the one before is not given on, and
    they come back in time only.
    """
    for i in range(p.nv):
        p.damping[i] = 0.0
        p.effort[i] = min(max(p.lead[i], -p.effort_limit[i]), p.effort_limit[i])
        p.command[i] = p.effort[i] - p.held[i] if p.commanded[i] == 1 else p.effort[i]


def turn_friction(p: CycleMemory, i: int, dt: float) -> None:
    """The side of the friction of joint ``i``, from the way of its reference: it turns over
    SIDE_WAY, and stays at rest, so that nothing springs when a motion ends.  Friction that the law
    knows is kept as it was in slow motion.
    """
    desired = p.ahead[0, i]
    if desired == 0.0 or dt <= 0.0:
        return
    sense = copysign(1.0, desired)
    kept = exp(-abs(desired) * dt / (SIDE_WAY * p.scale[i]))
    turn = (1.0 - kept) * (sense - p.side[i])
    p.side[i] = p.side[i] + turn
    # what the integral has given against friction at rest is that friction: both together would
    # throw a soft joint
    taken = p.friction_seen[i] * turn
    if taken * p.integral[i] > 0.0:
        whole = p.stiffness_wish[0] * p.effort_size[i]
        softness = max(1.0 - p.stiffness[i] / max(whole, 1e-9), 0.0)
        p.integral[i] = p.integral[i] - softness * copysign(
            min(abs(taken), abs(p.integral[i])), taken
        )
    # laws round their friction off at rest
    known = p.trust[i] * max(p.claimed[i] * sense, 0.0)
    if abs(desired) > LEARNING_SPEED * p.scale[i] or known > p.known_friction[i]:
        p.known_friction[i] = known


def learn_friction(p: CycleMemory, i: int, dt: float, feedback: float) -> None:
    """Friction of joint ``i`` by least squares of what the feedback gives while it moves: dry
    friction × side + friction in motion × its shape + what is slow.  What friction takes the
    integral gives: no step.
    """
    moves = abs(p.side[i]) > 0.9 and is_moving(p, i, LEARNING_SPEED)
    if not moves or dt <= 0.0 or p.level[0] != PRECISE or p.saturated[i] != 0.0:
        return
    size = p.effort_size[i]
    noise = FRICTION_NOISE * size
    shape = moving_shape(p, i, p.reference[1, i])
    # covariance times the regressors
    dry_part = p.friction_variance[i] * p.side[i] + p.friction_covariance[i] * shape
    viscous_part = p.friction_covariance[i] * p.side[i] + p.viscous_variance[i] * shape
    uncertain = dry_part * p.side[i] + viscous_part * shape
    spread = uncertain + noise * noise * 0.1 / dt
    surprise = feedback + p.integral[i] - p.slow_forces[i]
    most = largest_friction(p, i)
    dry_before = p.friction_seen[i]
    viscous_before = p.viscous_seen[i]
    dry = dry_before + dry_part / spread * surprise
    viscous = viscous_before + viscous_part / spread * surprise
    p.friction_seen[i] = min(max(dry, -p.known_friction[i]), most)
    described = described_friction(p, i)
    p.viscous_seen[i] = min(max(viscous, 0.0), described if described > 0.0 else most)
    taken = (p.friction_seen[i] - dry_before) * p.side[i]
    p.integral[i] = p.integral[i] - taken - (p.viscous_seen[i] - viscous_before) * shape
    drift = FRICTION_DRIFT * size
    p.friction_variance[i] = (
        p.friction_variance[i] - dry_part * dry_part / spread + drift * drift * dt
    )
    p.friction_covariance[i] = p.friction_covariance[i] - dry_part * viscous_part / spread
    p.viscous_variance[i] = p.viscous_variance[i] - viscous_part * viscous_part / spread
    p.slow_forces[i] = p.slow_forces[i] + dt / SLOW_FORCES_TIME * surprise


def described_friction(p: CycleMemory, i: int) -> float:
    """N m, at 1 rad/s; 0, where the law's friction is compensated without learning."""
    return p.dry[i] + p.viscous[i] * p.scale[i] if p.trust[i] == 0.0 else 0.0


def viscous_damping(p: CycleMemory, i: int) -> float:
    """N m s/rad, of the friction that joint ``i`` was seen to have."""
    described = described_friction(p, i)
    if described > 0.0:
        return max(p.viscous_seen[i], 0.0) / described * p.viscous[i]
    return max(p.viscous_seen[i], 0.0) / p.rated_speed[i]


def moving_shape(p: CycleMemory, i: int, speed: float) -> float:
    """How friction in motion goes with a desired speed: as described, if it is, 1 at 1 rad/s; else
    in proportion, 1 at the velocity limit.
    """
    described = described_friction(p, i)
    if described > 0.0:
        return (p.dry[i] * p.side[i] + p.viscous[i] * speed) / described
    return speed / p.rated_speed[i]


def largest_friction(p: CycleMemory, i: int) -> float:
    """N m, that dry friction of joint ``i`` may be."""
    return max(LARGEST_FRICTION * p.effort_size[i], DESCRIBED * p.dry[i])


def is_moving(p: CycleMemory, i: int, speed: float) -> bool:
    """Whether joint ``i`` moves with its reference, each faster than ``speed``; what a brake or an
    obstacle holds does not.
    """
    least = speed * p.scale[i]
    desired = p.reference[1, i]
    return abs(desired) > least and p.velocity[i] * copysign(1.0, desired) > 0.5 * least


def integral_rate(p: CycleMemory, i: int, spring: float) -> float:
    """1/s: at rest as usual, faster in motion, and never more than the damper of joint ``i`` bears
    on the whole inertia.  What holds a joint with more than friction is no friction.
    """
    damping = max(p.damping[i], 1e-9)
    # as fast as with the whole stiffness: a soft joint would need seconds against its friction
    whole = p.stiffness_wish[0] * p.effort_size[i] * p.share[i] * p.share[i]
    rate = INTEGRAL_RATE * max(whole / max(p.stiffness[i], 1e-9), 1.0)
    held = abs(p.integral[i] + p.friction_seen[i] * p.side[i] + spring)
    breaking = held < largest_friction(p, i) and abs(p.reference[1, i]) > SLOW * p.scale[i]
    if breaking or is_moving(p, i, SLOW):
        rate = max(rate, MOVING_INTEGRAL * p.stiffness[i] / damping)
    # a coarse encoder shows no motion between two digits
    stands = abs(p.velocity[i]) < STUCK * abs(p.reference[1, i])
    stands = stands and abs(p.error[0, i]) > 2.0 * p.digit[i]
    behind = breaking and stands and spring * p.reference[1, i] > 0.0
    # at rest, beside its place, and not only where a swing turns back
    lateness = p.whole_delay[0] + max(UNTOLD_LATENESS, p.untold_lateness[0])
    beside = p.stood[i] > STOOD_LATENESSES * lateness and abs(p.reference[1, i]) == 0.0
    least = max(BESIDE, FREED_PASSES * STUCK_SPEED * lateness)
    beside = beside and abs(p.error[0, i]) > least * p.scale[i] + 2.0 * p.digit[i]
    decay = damping / (p.inertia[i, i] + p.rotor[i]) + shared_damping(p, i, i)
    bearable = BEARABLE_INTEGRAL * decay
    if not behind and not (beside and held < largest_friction(p, i)):
        return min(rate, bearable)
    # nothing swings while it stands; what is too much once it is seen to move must be little.
    # N m/s for each rad/s that it may get before
    per_speed = p.free_inertia[i] / (lateness * lateness * max(abs(spring), 1e-9))
    quick = min(STUCK_INTEGRAL, STUCK_MARGIN / lateness)
    quick = quick * max(whole / max(p.stiffness[i], 1e-9), 1.0)
    quick = min(quick, STUCK_SPEED * p.scale[i] * per_speed)
    if behind:
        return min(max(rate, quick), FREED_SPEED * p.rated_speed[i] * per_speed)
    return max(min(rate, bearable), quick)


def integrate_error(p: CycleMemory, i: int, dt: float, spring: float) -> None:
    """The integral of joint ``i`` takes over what its spring gives, within ``largest_rejected`` and
    not beyond a limit of the effort.
    """
    if p.saturated[i] * spring > 0.0 or p.level[0] > PLAIN:
        return
    most = p.largest_rejected[i]
    # friction that the description names is no push
    if abs(p.reference[1, i]) > SLOW * p.scale[i]:
        most = most + p.dry[i]
    most = max(most, abs(p.integral[i]))
    rate = integral_rate(p, i, spring)
    rests = abs(p.reference[1, i]) <= SLOW * p.scale[i]
    integral = min(max(p.integral[i] + rate * dt * spring, -most), most)
    # at rest it lets go over the way that it drives the joint beyond its place
    beyond = RELEASE_BEYOND * p.scale[i] + 2.0 * p.digit[i]
    away = p.velocity[i] * integral > 0.0 and p.error[0, i] * integral < 0.0
    if rests and away and abs(p.error[0, i]) > beyond:
        integral = integral * exp(-abs(p.velocity[i]) * dt / (RELEASE_WAY * p.scale[i]))
    p.integral[i] = integral


def begin_rejection(p: CycleMemory) -> None:
    """Start afresh from the measured state; what was learned of rotors and friction stays."""
    for i in range(p.nv):
        p.position_before[i] = p.q[i]
        p.velocity[i] = p.v[i]
        p.desired_velocity[i] = p.reference[1, i]
        p.desired_before[i] = p.reference[0, i]
        p.raw_speed[0, i] = p.v[i]
        p.raw_speed[1, i] = p.v[i]
        p.waited[i] = 0.0
        p.told[i] = p.v[i]
        p.last_change[i] = 0.0
        p.repeated[i] = 0
        p.integral[i] = 0.0
        p.side[i] = 0.0
        p.slow_forces[i] = 0.0
        p.let_go[i] = 0.0
        p.stood[i] = 0.0
        p.share[i] = 1.0
        p.swing[i] = 0.0
        p.swings[i] = 0
        for k in range(4):
            p.passed[k, i] = 0.0
            p.drive[k, i] = 0.0
        for k in range(3):
            p.owed[k, i] = 0.0
        if p.friction_variance[i] == 0.0:
            unknown = FRICTION_UNKNOWN * p.effort_size[i]
            # less of it where it was measured
            dry = (1.0 - p.trust[i]) * unknown
            p.friction_variance[i] = dry * dry
            moving = max(unknown, described_friction(p, i))
            p.viscous_variance[i] = moving * moving
    if p.asked_for[0] < answering_time(p):
        begin_to_ask(p)
    # another law led the arm: its error is not met with the whole stiffness at once
    if p.fresh[0] == 0 and p.steady[0] == 0:
        p.stiffness_wish[0] = STIFFNESS_AT_FIRST
    p.steady[0] = 1
    p.bounds_known[0] = 0


# -- lateness, inertia, and what gains they bear ---------------------------------------------------


def measure_lateness(p: CycleMemory, dt: float) -> None:
    """``whole_delay``: declared, half a period of holding, the lag of v̂."""
    p.period[0] = mean_time(p.period[0], dt)
    longest = dt
    for i in range(p.nv):
        if p.repeated[i] == 1:
            longest = max(longest, p.waited[i] + dt)
    p.sampling[0] = mean_time(p.sampling[0], longest)
    share = 1.0 - exp(-2.0 * pi * min(LOW_PASS * p.sampling[0], 0.4))
    p.low_pass[0] = -log(1.0 - share) / p.sampling[0]
    p.whole_delay[0] = p.actuator_delay[0] + p.sampling[0] / share


def choose_gains(p: CycleMemory, dt: float) -> None:
    """``stiffness`` and ``damping`` of all joints: as the level asks, or what inertia and lateness
    bear at this pose.
    """
    moved = 0.0
    for i in range(p.nv):
        moved = max(moved, abs(p.reference[0, i] - p.bounded_at[i]))
    if moved > POSE_CHANGE or p.bounds_known[0] == 0:
        find_bounds(p)
    wanted = STIFFNESS_AT_LEVEL_PRECISE
    if p.level[0] == PLAIN:
        wanted = STIFFNESS_AT_LEVEL_PLAIN
    elif p.level[0] >= SOFT:
        wanted = STIFFNESS_AT_LEVEL_SOFT
    if p.stiffness_wish[0] <= 0.0:
        p.stiffness_wish[0] = STIFFNESS_AT_LEVEL_PLAIN
    share = 1.0 - exp(-max(dt, 0.0) / STIFFNESS_TIME)
    p.stiffness_wish[0] = p.stiffness_wish[0] + share * (wanted - p.stiffness_wish[0])
    lateness = p.whole_delay[0] + max(UNTOLD_LATENESS, p.untold_lateness[0])
    slow = max(1.0 - SHARED_FROM / lateness, 0.0)
    p.shared_damping[0] = SHARED * slow / lateness
    # in time, where another law has led the arm
    taken_over = min(p.stiffness_wish[0] / STIFFNESS_AT_LEVEL_SOFT, 1.0)
    p.shared_damping[1] = taken_over * SHARED_OF_LIGHT / lateness
    slowest = p.bandwidth[0]
    for i in range(p.nv):
        inertia = p.inertia[i, i] + p.assumed_rotor[i]
        most = p.bandwidth[0] * p.bandwidth[0] * inertia
        left = p.share[i] * p.share[i]
        asked = min(left * p.stiffness_wish[0] * p.effort_size[i], most)
        shared = SHARED * slow
        if is_light(p, i):
            shared = max(shared, SHARED_OF_LIGHT)
        bearable = (LATENESS_MARGIN - shared) * p.bearable_inertia[i] / lateness
        damping = min(DAMPING_FACTOR * sqrt(asked * inertia), bearable)
        told = -p.v[i] * copysign(1.0, p.velocity[i])
        apart = CONTRADICTING * p.rated_speed[i] + p.digit[i] * p.low_pass[0]
        if min(told, abs(p.velocity[i])) > apart:
            damping = 0.0
        # at once where less is borne, in time where more is
        rise = 1.0 - exp(-max(dt, 0.0) / (DAMPING_RISE if p.digit[i] > 0.0 else UNSEEN_RISE))
        p.damping[i] = min(damping, p.damping[i] + rise * (damping - p.damping[i]))
        damped = 0.5 * p.damping[i] * p.damping[i] / p.free_inertia[i]
        p.stiffness[i] = min(asked, damped + VISCOUS_SHARE * viscous_damping(p, i) / lateness)
        if p.commanded[i] == 1:
            slowest = min(slowest, sqrt(p.stiffness[i] / (p.inertia[i, i] + p.rotor[i])))
    p.natural[0] = slowest


def find_bounds(p: CycleMemory) -> None:
    """What each joint's damper meets at this pose: ``free_inertia`` m, while the other joints
    yield, and ``bearable_inertia``, m/κ, when all joints are damped at once.

    A = (M + diag J)⁻¹ answers efforts with accelerations; m = 1/Aᵢᵢ; κ is the largest eigenvalue of
    A scaled to ones on its diagonal, from above: of the matrix of its absolute values, by the
    quotients of Collatz and Wielandt.
    """
    for i in range(p.nv):
        for j in range(p.nv):
            p.answers[i, j] = p.inertia[i, j]
        p.answers[i, i] = p.inertia[i, i] + p.rotor[i]
        p.bounded_at[i] = p.reference[0, i]
    invert(p)
    for i in range(p.nv):
        p.free_inertia[i] = 1.0 / max(p.answers[i, i], 1e-12)
        p.direction[i] = max(p.direction[i], 0.1)
    # twice: the bound is that of the second round
    coupling = 1.0
    for _ in range(2):
        coupling = 1.0
        largest = 0.0
        for i in range(p.nv):
            total = 0.0
            for j in range(p.nv):
                scale = sqrt(p.free_inertia[i] * p.free_inertia[j])
                total = total + abs(p.answers[i, j]) * scale * p.direction[j]
            p.next_direction[i] = total
            coupling = max(coupling, total / p.direction[i])
            largest = max(largest, total)
        for i in range(p.nv):
            p.direction[i] = max(p.next_direction[i] / largest, 0.01)
    for i in range(p.nv):
        p.bearable_inertia[i] = p.free_inertia[i] / coupling
    p.bounds_known[0] = 1


def invert(p: CycleMemory) -> None:
    """``answers`` becomes its inverse, by Gauss and Jordan in place; it is symmetric and positive
    definite, so no pivot is searched for.
    """
    for k in range(p.nv):
        pivot = 1.0 / max(p.answers[k, k], 1e-12)
        p.answers[k, k] = 1.0
        for j in range(p.nv):
            p.answers[k, j] = p.answers[k, j] * pivot
        for i in range(p.nv):
            if i != k:
                factor = p.answers[i, k]
                p.answers[i, k] = 0.0
                for j in range(p.nv):
                    p.answers[i, j] = p.answers[i, j] - factor * p.answers[k, j]


# -- is a joint as light as described?  -----------------------------------------------------------


def begin_to_ask(p: CycleMemory) -> None:
    """Ask anew; until it is answered, each joint may be as light as described."""
    p.asked_for[0] = 0.0
    p.times_asked[0] = 0
    p.untold_lateness[0] = 0.0
    for i in range(p.nv):
        p.rotor[i] = 0.0
        p.rotor_seen[i] = p.assumed_rotor[i]
        p.answered[i] = 0
        p.held_by_friction[i] = 0.0


def await_answers(p: CycleMemory) -> None:
    """Begin to listen to the answers to one pulse."""
    for i in range(p.nv):
        p.impulse[i] = 0.0
        for k in range(4):
            p.passed[k, i] = 0.0
        for k in range(LATEST_ANSWER):
            p.late_impulse[k, i] = 0.0
            p.sums[k, i] = 0.0
            p.sums[k + LATEST_ANSWER, i] = 0.0
        p.squared_speed[i] = 0.0
        p.asked_most[i] = 0.0
        p.fastest[0, i] = 0.0
        p.fastest[1, i] = 0.0


def asking_time(p: CycleMemory) -> float:
    """How long the first pulse lasts, s."""
    return max(ASKING_TIME, ASKING_PERIODS * p.period[0])


def answering_time(p: CycleMemory) -> float:
    """When the answer to it is complete, s after its beginning; to the next ones their
    successors listen too.
    """
    if p.times_asked[0] > 0:
        return asking_time(p)
    return asking_time(p) + ANSWERING_PERIODS * p.period[0] + p.actuator_delay[0]


def question(p: CycleMemory, i: int) -> float:
    """The effort that asks joint ``i``, N m: a (cos ωt − cos 2ωt) over one turn leaves no speed
    nor way behind.
    """
    t = p.asked_for[0]
    whole = asking_time(p)
    if t < 0.0 or t >= whole or p.assumed_rotor[i] <= 0.0 or p.commanded[i] == 0:
        return 0.0
    turn = 2.0 * pi / whole
    return p.asking_effort[i] * (cos(turn * t) - cos(2.0 * turn * t))


def choose_questions(p: CycleMemory) -> None:
    """``asking_effort`` of each joint that has not answered yet.

    The first moves the described inertia by ASKING_WAY; each further one is larger, for friction
    hides a light joint from small ones, and has the other side, for a push has one.  Joints are
    asked to the side to which the others move them too: on other sides they would hide each other's
    answers.
    """
    turn = 2.0 * pi / asking_time(p)
    growth = 1.0
    for _ in range(p.times_asked[0]):
        growth = growth * ASKING_GROWTH
    for i in range(p.nv):
        size = 0.5 * ASKING_WAY * p.scale[i] * turn * turn * p.free_inertia[i]
        if p.times_asked[0] == 0:
            size = min(size, ASKING_EFFORT * p.effort_size[i])
        else:
            size = min(growth * size, ASKING_AGAIN * p.effort_size[i])
        if p.answered[i] >= ANSWERED:
            size = 0.0
        carried = 0.0
        for j in range(i):
            carried = carried + p.answers[i, j] * p.asking_effort[j]
        p.asking_effort[i] = copysign(size, carried)
    # friction has held them so far; together they move no joint further if it does not
    scale = 1.0
    if p.times_asked[0] == 0:
        most = 0.5 * ASKING_WAY * turn * turn
        for i in range(p.nv):
            together = 0.0
            for j in range(p.nv):
                together = together + p.answers[i, j] * p.asking_effort[j]
            scale = min(scale, most * p.scale[i] / max(abs(together), 1e-12))
    if p.times_asked[0] % 2 == 1:
        scale = -scale
    for i in range(p.nv):
        p.asking_effort[i] = scale * p.asking_effort[i]


def ask_again(p: CycleMemory, dt: float) -> bool:
    """Whether a light joint, one whose rotor counts, has not answered and may be asked with more
    effort.  The others have their rotors from now on.
    """
    again = False
    # a slow loop would ask for seconds, and bears little stiffness anyway
    quick = asking_time(p) <= 2.0 * ASKING_TIME
    for i in range(p.nv):
        light = quick and p.assumed_rotor[i] > p.free_inertia[i] and p.commanded[i] == 1
        if p.times_asked[0] == 0 and p.answered[i] == 0:
            # friction holds none that moves
            light = light and p.fastest[1, i] - p.fastest[0, i] <= speed_noise(p, i, dt)
        most = 0.999 * ASKING_AGAIN * p.effort_size[i]
        if light and p.answered[i] < ANSWERED and abs(p.asking_effort[i]) < most:
            again = True
        elif p.times_asked[0] == 0:
            p.answered[i] = ANSWERED
            take_rotor(p, i)
    p.times_asked[0] = p.times_asked[0] + 1
    return again


def listen(p: CycleMemory, dt: float) -> None:
    """``rotor`` of each joint: as assumed, or less where effort and speed, both above
    LISTENING_CORNER, go together as on a lighter joint.

    Impulse − what accelerates the others = (M + J) v, by least squares over LISTENING_TIME for each
    lateness that the answer may have.  Neither friction nor a push answers an effort, so a joint
    counts only where both agree.  This bounds the damping; it raises nothing.
    """
    remember_efforts(p, dt)
    kept = exp(-dt / LISTENING_TIME)
    if p.asked_for[0] == 0.0:
        # now the period is known
        find_bounds(p)
        choose_questions(p)
        await_answers(p)
    until = answering_time(p)
    is_complete = p.asked_for[0] >= 0.0 and p.asked_for[0] < until <= p.asked_for[0] + dt
    for i in range(p.nv):
        others = 0.0
        for j in range(p.nv):
            if j != i:
                others = others + p.inertia[i, j] * p.quick[j]
        v = p.quick[i]
        p.squared_speed[i] = kept * p.squared_speed[i] + v * v
        for k in range(LATEST_ANSWER):
            own = p.late_impulse[k, i] - others
            p.sums[k, i] = kept * p.sums[k, i] + v * own
            p.sums[k + LATEST_ANSWER, i] = kept * p.sums[k + LATEST_ANSWER, i] + own * own
        beyond = p.raw_speed[0, i] - p.reference[1, i]
        p.asked_most[i] = max(p.asked_most[i], abs(question(p, i)))
        p.fastest[0, i] = min(p.fastest[0, i], beyond)
        p.fastest[1, i] = max(p.fastest[1, i], beyond)
        # once it is complete: of one sample alone everything agrees
        if is_complete and p.answered[i] < ANSWERED:
            judge_pulse(p, i, dt)
        watch_to_and_fro(p, i, dt)
    if is_complete:
        p.asked_for[0] = 0.0 if ask_again(p, dt) else ASKED
        return
    if p.asked_for[0] < 0.0 or p.asked_for[0] >= until:
        for i in range(p.nv):
            take_rotor(p, i)
        return
    p.asked_for[0] = p.asked_for[0] + dt


def remember_efforts(p: CycleMemory, dt: float) -> None:
    """Efforts and impulses of the last periods, and how fast each joint goes beside its reference:
    above LISTENING_CORNER.
    """
    high = 1.0 - exp(-LISTENING_CORNER * dt)
    low = 1.0 - exp(-p.low_pass[0] * dt)
    for i in range(p.nv):
        for k in range(LATEST_ANSWER - 1):
            late = LATEST_ANSWER - 1 - k
            p.late_impulse[late, i] = p.late_impulse[late - 1, i]
        # above the corner: what was commanded beyond the model, integrated, and filtered as v̂ is
        p.passed[2, i] = p.passed[2, i] + high * (p.previous[i] - p.nominal[i] - p.passed[2, i])
        beyond = p.previous[i] - p.nominal[i] - p.passed[2, i]
        before = p.impulse[i]
        p.impulse[i] = (1.0 - high) * (before + beyond * dt)
        # a change of position shows the mean speed of its period
        p.passed[3, i] = p.passed[3, i] + low * (0.5 * (before + p.impulse[i]) - p.passed[3, i])
        p.late_impulse[0, i] = p.passed[3, i]
        for k in range(LATEST_ANSWER - 1):
            late = LATEST_ANSWER - 1 - k
            p.late_effort[late, i] = p.late_effort[late - 1, i]
        p.late_effort[0, i] = p.previous[i] - p.nominal[i]
        gone = p.velocity[i] - p.desired_velocity[i]
        p.passed[0, i] = p.passed[0, i] + high * (gone - p.passed[0, i])
        once = gone - p.passed[0, i]
        p.passed[1, i] = p.passed[1, i] + high * (once - p.passed[1, i])
        p.quick[i] = once - p.passed[1, i]


def judge_pulse(p: CycleMemory, i: int, dt: float) -> None:
    """The answer of joint ``i`` to the pulse that is over."""
    if p.times_asked[0] == 0:
        judge_answer(p, i)
    # the motions of many joints may hide how effort and speed go together; a load that nobody
    # described moves a joint to one side
    slower = min(p.fastest[1, i], -p.fastest[0, i])
    faster = max(p.fastest[1, i], -p.fastest[0, i])
    two_sided = p.times_asked[0] > 0 or slower > TWO_SIDED * faster
    if p.answered[i] < ANSWERED and two_sided:
        judge_fastest(p, i, dt)


def take_rotor(p: CycleMemory, i: int) -> None:
    """The bounds of joint ``i`` are for the rotor that it is seen to have; for none, if it did not
    answer and its encoder is coarse.
    """
    rotor = p.rotor_seen[i]
    if p.answered[i] < ANSWERED and p.digit[i] > COARSE_DIGIT * p.scale[i]:
        rotor = 0.0
    if p.rotor[i] != rotor:
        p.rotor[i] = rotor
        p.bounds_known[0] = 0


def watch_to_and_fro(p: CycleMemory, i: int, dt: float) -> None:
    """``rotor_seen`` of joint ``i``, if its speed changes to and fro, each time with its effort and
    by far more than the assumed inertia lets it.  Friction hides a light joint from the first
    pulse, not from this; a push has one side.
    """
    change = p.raw_speed[0, i] - p.raw_speed[1, i]
    least = TOSSED_SPEED * p.scale[i] + 4.0 * p.digit[i] / dt
    least = least + TOSSED_BY_STAMPS * abs(p.reference[1, i])
    if p.repeated[i] == 1 or abs(change) < TOSSED_BEFORE * least:
        return
    assumed = p.inertia[i, i] + p.rotor_seen[i]
    for k in range(LATEST_ANSWER):
        effort = p.late_effort[k, i]
        follows = effort * change > 0.0 and abs(change) * assumed > TOSSED * abs(effort) * dt
        grows = abs(effort) > TOSSED_GROWTH * abs(p.tossed[k, i])
        if not follows or p.tossed[k, i] * effort > 0.0:
            p.tossed[k, i] = 0.0
        elif p.tossed[k, i] != 0.0 and abs(change) > least and grows:
            lighter = abs(effort) * dt / abs(change) - p.inertia[i, i]
            if lighter > -PUSHED_SHARE * p.inertia[i, i]:
                p.rotor_seen[i] = max(TOSSED_SOFTER * p.rotor_seen[i], lighter)
        if follows:
            p.tossed[k, i] = effort


def judge_answer(p: CycleMemory, i: int) -> None:
    """``rotor_seen`` of joint ``i`` by the lateness at which effort and speed agree best; and
    ``untold_lateness``, where they agree at no other: slow motions agree at many.
    """
    noise = ANSWERED_SPEED * p.scale[i] + p.digit[i] * p.low_pass[0]
    noise = noise + JITTERY * abs(p.reference[1, i])
    if p.squared_speed[i] <= noise * noise:
        return
    best = 0.0
    late = 0
    for k in range(LATEST_ANSWER):
        agreement = agreement_at(p, i, k)
        if agreement > best:
            best = agreement
            late = k
    rotor = p.sums[late + LATEST_ANSWER, i] / max(p.sums[late, i], 1e-30) - p.inertia[i, i]
    # faster than the described inertia alone: something else pushes
    if best < ANSWER_AGREES or rotor < -PUSHED_SHARE * p.inertia[i, i]:
        return
    p.rotor_seen[i] = min(max(rotor, 0.0), p.rotor_seen[i])
    p.answered[i] = ANSWERED
    elsewhere = 0.0
    for k in range(LATEST_ANSWER):
        if k < late - 1 or k > late + 1:
            elsewhere = max(elsewhere, agreement_at(p, i, k))
    if elsewhere < ANSWER_DISAGREES:
        untold = late * p.period[0] - p.actuator_delay[0]
        p.untold_lateness[0] = max(p.untold_lateness[0], untold)


def speed_noise(p: CycleMemory, i: int, dt: float) -> float:
    """By how much differences of positions may be wrong as a speed."""
    noise = 2.0 * ANSWERED_SPEED * p.scale[i] + 4.0 * p.digit[i] / dt
    return noise + TOSSED_BY_STAMPS * abs(p.reference[1, i])


def judge_fastest(p: CycleMemory, i: int, dt: float) -> None:
    """``rotor_seen`` of joint ``i``, where friction takes most of the effort: friction makes no
    joint faster.  So its speed changes by no more than the impulse of a lobe of the pulse over its
    inertia, however late it answers.

    It has answered once it is as fast to both sides.
    """
    noise = speed_noise(p, i, dt)
    change = p.fastest[1, i] - p.fastest[0, i]
    if change <= noise:
        # an answer may come a pulse late
        p.held_by_friction[i] = p.asked_most[i] / ASKING_GROWTH
    # ∫ (cos x − cos 2x) dx from 2π/3 to 4π/3: the longest lobe
    lobe = 1.5 * sqrt(3.0) * asking_time(p) / (2.0 * pi)
    described = 0.0
    for j in range(p.nv):
        described = described + abs(p.answers[i, j] * p.asking_effort[j]) * lobe
    # at least as light as this, in inertias of the description
    heaviest = described / max(change, 1e-9)
    assumed = 1.0 + p.assumed_rotor[i] / p.free_inertia[i]
    if change <= noise or heaviest * PUSHED_BEYOND < 1.0 or heaviest > PROVEN * assumed:
        return
    p.answered[i] = p.answered[i] + 1
    # half of it from each side: gravity that is not described is on one
    p.friction_seen[i] = p.friction_seen[i] + 0.5 * p.held_by_friction[i]
    if p.answered[i] < ANSWERED:
        return
    learned = p.friction_seen[i] - p.trust[i] * p.dry[i]
    p.friction_seen[i] = min(max(learned, 0.0), largest_friction(p, i))
    p.rotor_seen[i] = min(
        max(LEFT_BY_FRICTION * heaviest - 1.0, 0.0) * p.free_inertia[i], p.rotor_seen[i]
    )
    take_rotor(p, i)


def agreement_at(p: CycleMemory, i: int, late: int) -> float:
    """Correlation of the speed of joint ``i`` with the efforts of ``late`` periods before, where
    they have the same side.
    """
    along = p.sums[late, i]
    whole = p.squared_speed[i] * p.sums[late + LATEST_ANSWER, i]
    return max(along, 0.0) / max(sqrt(whole), 1e-30)


# -- swings: springs and lateness that nobody told -------------------------------------------------


def watch_swings(p: CycleMemory, dt: float) -> None:
    """Soften joints that swing by themselves: v̂, above LISTENING_CORNER, goes to and fro and
    does not decay.  Its gear is a spring that the loop drives, or the loop is later than was told.
    """
    for i in range(p.nv):
        swinging = p.quick[i]
        p.share[i] = min(p.share[i] + dt / SWING_RETURN, 1.0)
        p.swing[i] = p.swing[i] + copysign(dt, p.swing[i])
        p.peak[0, i] = max(p.peak[0, i], abs(swinging))
        quiet = SWING_SPEED * p.scale[i]
        if abs(swinging) > quiet and swinging * p.swing[i] <= 0.0:
            noise = quiet + p.digit[i] * p.low_pass[0] + JITTERY * abs(p.reference[1, i])
            judge_swing(p, i, 2.0 * noise)
            p.swing[i] = copysign(dt, swinging)


def judge_swing(p: CycleMemory, i: int, least: float) -> None:
    """A swing of joint ``i`` is over.  After several that do not decay, and are larger than
    ``least``, it is softened, and others by their share in its inertia.
    """
    growth = p.peak[0, i] / max(p.peak[1, i], least)
    quick = abs(p.swing[i]) * p.natural[0] < 2.0
    lasts = quick and growth > SWING_LASTING and growth < SWING_SUDDEN and p.peak[1, i] > least
    p.swings[i] = p.swings[i] + 1 if lasts else 0
    p.peak[1, i] = p.peak[0, i]
    p.peak[0, i] = 0.0
    if p.swings[i] < SWINGS_TO_SOFTEN:
        return
    for j in range(p.nv):
        coupling = abs(p.inertia[i, j]) / max(sqrt(p.inertia[i, i] * p.inertia[j, j]), 1e-12)
        p.share[j] = max((1.0 - coupling * (1.0 - SWING_SOFTER)) * p.share[j], SWING_LEAST)


# -- velocity from positions -----------------------------------------------------------------------


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
        p.stood[i] = p.stood[i] + dt if abs(p.velocity[i]) < STANDING * p.scale[i] else 0.0
        p.repeated[i] = 1 if way == 0.0 and is_repeated(p, i, all_stand) else 0
        if p.repeated[i] == 0:
            gone = 0.0 if way * p.last_change[i] < 0.0 and abs(way) < 1.5 * p.digit[i] else way
            if way != 0.0:
                p.last_change[i] = way
            share = ordinary
            if p.waited[i] != dt:
                share = 1.0 - exp(-p.low_pass[0] * p.waited[i])
            p.raw_speed[1, i] = p.raw_speed[0, i]
            p.raw_speed[0, i] = gone / p.waited[i]
            p.velocity[i] = p.velocity[i] + share * (p.raw_speed[0, i] - p.velocity[i])
            desired = short_way(p, i, p.reference[0, i] - p.desired_before[i]) / p.waited[i]
            p.desired_velocity[i] = p.desired_velocity[i] + share * (
                desired - p.desired_velocity[i]
            )
            p.desired_before[i] = p.reference[0, i]
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


# -- a joint that shows no motion ------------------------------------------------------------------


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
    p.integral[i] = 0.0
    p.side[i] = 0.0
    return False


def beyond_friction(drive: float, then: float, friction: float) -> float:
    """The part of a drive that friction cannot hold, on a joint that stood under the drive ``then``
    and may stand under none.
    """
    return drive - min(max(drive, min(then, 0.0) - friction), max(then, 0.0) + friction)
