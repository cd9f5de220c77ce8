"""The plain law: a spring and a damper at each motor, each joint for itself.

    τ = M(q) a_d + C(q, q̇) q̇ + g(q) + K e + D (v_d − v̂) + z + (f + b) s + c F

e = q_d − q, within the joint's reach; q̇ is the measured velocity, v̂ the one from positions; z, f,
b, s, c and F are those of the step ``disturbance``.  A spring and a damper at the motor take energy
out, whatever gear, link and load follow the motor.  With sampling and delay a damper drives if it
is too strong: that bounds D, and D bounds K.

Sources: Tomei, *A simple PD controller for robots with elastic joints* (1991); Albu-Schäffer, Ott,
Hirzinger, *A unified passivity-based control framework* (2007).
"""

from __future__ import annotations

from math import sqrt

from robot_dynamics_ros.control.cycle.ladder import Level
from robot_dynamics_ros.control.cycle.memory import CycleMemory

# 1/rad, of prismatic joints 1/m: stiffness over effort limit, N m/rad for each N m.  Robots are
# sold with it.
PLAIN_STIFFNESS = 7.0
# 2 ζ, ζ = 0.7: the error decays fastest
DAMPING_FACTOR = 1.4
# Damping × lateness over inertia, all joints together; at about π/2 it drives, and half of that is
# the margin
LATENESS_MARGIN = 0.8
# s, that every robot is late beside what is declared: a bus, a drive
UNDECLARED_LATENESS = 2e-3
# 1/s, at which the integral takes over what the spring gives; far below the natural frequency of
# spring and inertia, or both would swing
INTEGRAL_RATE = 2.0
# Of the effort limit, that a spring gives at most; weight, damper and integral need the rest
LARGEST_SPRING = 0.5


def hold_plainly(p: CycleMemory, i: int, dt: float) -> float:
    """N m or N: spring and damper of joint ``i``; the integral takes over what the spring gives.

    The spring is within LARGEST_SPRING, the integral within ``largest_rejected``.  The damper has
    no bound of its own.
    """
    strongest = LARGEST_SPRING * p.effort_size[i]
    spring = min(max(p.stiffness[i] * p.error[0, i], -strongest), strongest)
    damper = p.damping[i] * (p.reference[1, i] - p.velocity[i])
    # where the joint is kept from its path, the integral may only fall
    winds = p.taut[i] != 0.0 and p.rejected[i] * spring >= 0.0
    if p.saturated[i] * spring <= 0.0 and not winds:
        most = p.largest_rejected[i]
        integrated = p.rejected[i] + INTEGRAL_RATE * dt * spring
        p.rejected[i] = min(max(integrated, -most), most)
    return spring + damper


def choose_dampers(p: CycleMemory) -> None:
    """``stiffness`` and ``damping`` of the plain law: as usual, or what inertia and lateness bear
    at this pose; and ``reach`` of the joints that it leads.  Nothing is done where it leads none.
    """
    led = 0
    for i in range(p.nv):
        led = led + p.level[i]
    if led == 0:
        return
    find_bounds(p)
    lateness = p.whole_delay[0] + UNDECLARED_LATENESS
    for i in range(p.nv):
        usual = p.share[i] * p.share[i] * PLAIN_STIFFNESS * p.effort_size[i] / p.scale[i]
        inertia = p.inertia[i, i] + p.assumed_rotor[i]
        bearable = p.share[i] * LATENESS_MARGIN * p.bearable_inertia[i] / lateness
        p.damping[i] = min(DAMPING_FACTOR * sqrt(usual * inertia), bearable)
        p.stiffness[i] = min(usual, 0.5 * p.damping[i] * p.damping[i] / p.free_inertia[i])
        if p.level[i] == Level.PLAIN:
            # N m/rad or N/m: nothing is divided by less
            p.reach[i] = LARGEST_SPRING * p.effort_size[i] / max(p.stiffness[i], 1e-9)


def find_bounds(p: CycleMemory) -> None:
    """Find the inertia that each joint's damper meets at this pose: ``free_inertia`` m, while the
    other joints yield, and ``bearable_inertia``, m/κ, when all that the plain law leads are damped.

    A = (M + diag J)⁻¹ answers efforts with accelerations; m = 1/Aᵢᵢ; κ is the largest eigenvalue of
    A scaled to ones on its diagonal, from above: of the matrix of its absolute values, by the
    quotients of Collatz and Wielandt.
    """
    for i in range(p.nv):
        for j in range(p.nv):
            p.answers[i, j] = p.inertia[i, j]
        p.answers[i, i] = p.inertia[i, i] + p.rotor[i]
    invert(p)
    # nothing is divided by less than 1e-12; the direction of the cycle before is a good start, as
    # long as no entry is 0
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
                if p.level[j] == Level.PLAIN:
                    scale = sqrt(p.free_inertia[i] * p.free_inertia[j])
                    total = total + abs(p.answers[i, j]) * scale * p.direction[j]
            p.next_direction[i] = total
            if p.level[i] == Level.PLAIN:
                coupling = max(coupling, total / p.direction[i])
                largest = max(largest, total)
        for i in range(p.nv):
            p.direction[i] = min(max(p.next_direction[i] / max(largest, 1e-12), 0.01), 1.0)
    for i in range(p.nv):
        p.bearable_inertia[i] = p.free_inertia[i] / coupling


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
