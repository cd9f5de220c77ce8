"""Time stepping: friction and stops as impulses within a step, in which nothing is located.

Semi-implicit Euler, of order one:

    (M + h D + h² K) (v₁ − v) = h (τ − b − h K v) + λ,        q₁ = q ⊕ h v₁

Moreau's midpoint rule, of order two between events:

    q_m = q ⊕ ½ h v,    M(q_m) (v₁ − v) = h (τ(q_m, v_m) − b̄) + λ,    q₁ = q_m ⊕ ½ h v₁

with v_m predicted.  b̄ is the mean bias force of the rule in momenta
(:mod:`~robot_dynamics_ros.simulation.integrators.momentum`), found by iteration; with closed loops
it is b(q_m, v_m).  D and K are what is stiff: viscous friction, springs, engaged stops, contacts,
the
back-EMF of motors.  The midpoint rule takes them by the trapezoidal rule, and fully implicitly
where that would oscillate.  λ are the impulses of dry friction, |λ| ≤ h F, and of rigid stops, λ ≥
0: they and v₁ solve a complementarity problem.  A joint that would reverse within the step rests at
its end.  Closed loops bind the midpoint rule, K(q_m) (v + v₁) = 0; what is left of φ(q₁) and K(q₁)
v₁ is taken off by a projection.

Sources: Stewart and Trinkle, Int. J. Num. Meth. Eng. 39, 1996; Anitescu, SIAM J. Optim. 16, 2006;
Acary and Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 2008, ch. 10; Hairer,
Lubich and Wanner, *Geometric Numerical Integration*, 2006, sec. IV.4.

The functions here are routines, see
:mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source`.
"""

from __future__ import annotations

from math import copysign, inf

from robot_dynamics_ros.dynamics.complementarity import (
    FREE,
    HELD,
    HIGH,
    LOW,
    LoopMemory,
    allow,
    bind,
    factor_mass,
    solve_complementarity,
    solve_mass,
    speed_of,
    stop_of,
    take_off,
)
from robot_dynamics_ros.dynamics.configuration import move_free_joint
from robot_dynamics_ros.dynamics.engine.routines import (
    Integers,
    Kernel,
    Matrix,
    Vector,
    constant,
    integers,
    kernel,
    numbers,
)
from robot_dynamics_ros.simulation.effects.contact import (
    ContactMemory,
    add_contact_efforts,
    linearize_contacts,
    place_contacts,
)
from robot_dynamics_ros.simulation.effects.friction import JointFrictionMemory, dry_friction
from robot_dynamics_ros.simulation.effects.limits import (
    LimitMemory,
    limited_effort,
    linear_stop_effort,
    stop_effort,
)
from robot_dynamics_ros.simulation.effects.motors import (
    MotorMemory,
    motor_current,
    motor_rate,
    motor_step,
)
from robot_dynamics_ros.simulation.effects.springs import SpringMemory, spring_effort
from robot_dynamics_ros.simulation.integrators.momentum import (
    MomentumMemory,
    bias_impulse,
    carry_momentum,
    recall_momentum,
)

# What became of a step: it is done,
STEP_DONE = 0
# its state is not finite, or faster than any robot,
DIVERGED = 1
# its speed has grown so much in one step that the step is too long,
LEAPT = 2
# impulses of friction and stops were not found,
UNRESOLVED = 3
# or a command was not finite.
UNUSUAL = 4


class PlantMemory(
    LoopMemory,
    MomentumMemory,
    ContactMemory,
    LimitMemory,
    SpringMemory,
    JointFrictionMemory,
    MotorMemory,
):
    """State of time stepping, parameters of all that acts on the robot, and working space."""

    bodies: int = constant(int, "number of bodies")
    in_momenta: bool = constant(bool, "whether the bias impulse is found by iteration")
    midpoint: bool = constant(bool, "Moreau's midpoint rule; else semi-implicit Euler")
    q0: Vector = numbers(
        "nq", unit="rad or m", meaning="position at the start of the control period"
    )
    q_forces: Vector = numbers("nq", unit="rad or m", meaning="position where forces are evaluated")
    whole_q: Vector = numbers(
        "nq", unit="rad or m", meaning="position at the start of a step that is divided"
    )
    whole_v: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="velocity at the start of a step that is divided"
    )
    whole_z: Vector = numbers(
        "motors", unit="A", meaning="motor currents at the start of a step that is divided"
    )
    q_back: Vector = numbers("nq", unit="rad or m", meaning="position brought back to the loops")
    command: Vector = numbers("nv", unit="N m, N or V", meaning="command of this control period")
    held: Vector = numbers("nv", unit="N m, N or V", meaning="what the drives let through of it")
    tau: Vector = numbers("nv", unit="N m or N", meaning="effort of the motors")
    user: Vector = numbers("nv", unit="N m or N", meaning="effort of the user's function")
    slip: Vector = numbers("nv", meaning="sliding direction, −1, 0 or 1")
    tolerance: Vector = numbers(
        "nv", unit="rad or m", meaning="distance below which a joint touches its stop"
    )
    restitution: Vector = numbers("nv", meaning="speed after a rebound divided by that before")
    rest_velocity: Vector = numbers(
        1, unit="rad/s or m/s", meaning="speed below which nothing rebounds"
    )
    v0: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="velocity at the start of the control period"
    )
    position: Vector = numbers(
        "nv", unit="rad or m", meaning="position of each joint where forces are evaluated"
    )
    pressed: Vector = numbers("nv", meaning="1 where a compliant stop pushes in this step")
    damping: Vector = numbers(
        "nv", unit="N m s/rad or N s/m", meaning="damping that is implicit in the step"
    )
    stiffness: Vector = numbers(
        "nv", unit="N m/rad or N/m", meaning="stiffness that is implicit in the step"
    )
    stiff: Vector = numbers("nv", meaning="1 where the stiffness is taken fully implicitly")
    middle: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="velocity in the middle of the step"
    )
    effort: Vector = numbers("nv", unit="N m or N", meaning="all smooth efforts less the bias")
    bias: Vector = numbers(
        "nv", unit="N m or N", meaning="Coriolis, centrifugal, gravity and external forces"
    )
    applied: Vector = numbers(
        "nv", unit="N m s or N s", meaning="impulse of all but own motion and friction"
    )
    push: Vector = numbers(
        "nv", unit="N m or N", meaning="what external wrenches give at the joints"
    )
    implicit: Vector = numbers(
        "nv", meaning="what is implicit of damping and springs, on the mass matrix's diagonal"
    )
    coupled_implicit: Vector = numbers(
        "couples", meaning="what is implicit of coupled motors' viscous friction"
    )
    bound: Vector = numbers(
        "nv + couples", unit="N m s or N s", meaning="largest impulse of dry friction"
    )
    z: Vector = numbers("motors", unit="A", meaning="motor currents")
    z1: Vector = numbers("motors", unit="A", meaning="motor currents after the step")
    z0: Vector = numbers(
        "motors", unit="A", meaning="motor currents at the start of the control period"
    )
    external: Matrix = numbers(
        "bodies", 6, meaning="external moment and force on each body, in its axes"
    )
    flight: Vector = numbers(3, meaning="a vector that is rotated")
    h: Vector = numbers(1, unit="s", meaning="length of a step")
    max_speed: Vector = numbers(
        1, unit="rad/s or m/s", meaning="speed beyond which the motion has diverged"
    )
    floating_q: Integers = integers(
        "floating", meaning="where a floating joint's position begins in q"
    )
    status: Integers = integers(1, meaning="what became of the control period")
    steps: Integers = integers(1, meaning="control periods done")
    substeps: Integers = integers(1, meaning="steps in a control period")
    pushed: Integers = integers(1, meaning="1 if external wrenches act")
    mass_matrix: Kernel = kernel("q", "out M")
    external_efforts: Kernel = kernel("q", "external", "out effort")
    bias_forces: Kernel = kernel("q", "v", "external", "out b")


# -- one control period ----------------------------------------------------------------------------


def step(p: PlantMemory, command: Vector) -> int:
    """Take a command and advance by one control period; what became of it is also left in
    ``p.status``.
    """
    p.status[0] = UNUSUAL
    for i in range(p.nv):
        if not abs(command[i]) < inf:
            return UNUSUAL
    assign(p.nv, command, p.command)
    hold(p)
    return advance(p)


def run(
    p: PlantMemory,
    steps: int,
    commands: Vector,
    stride: int,
    path: Vector,
    recorded: int,
) -> int:
    """Many control periods; how many were done.  The command of period k begins at k · ``stride``;
    q, v and motor effort after every period go to ``path`` if they are ``recorded``.
    """
    for k in range(steps):
        for i in range(p.nv):
            p.command[i] = commands[k * stride + i]
        hold(p)
        if advance(p) != STEP_DONE:
            return k
        if recorded != 0:
            first = k * (p.nq + 2 * p.nv)
            for i in range(p.nq):
                path[first + i] = p.q[i]
            for i in range(p.nv):
                path[first + p.nq + i] = p.v[i]
                path[first + p.nq + p.nv + i] = p.tau[i]
    return steps


def hold(p: PlantMemory) -> None:
    """From ``p.command``: ``p.held``, what the drives let through, and ``p.tau``, what the motors
    give.
    """
    for i in range(p.nv):
        p.held[i] = limited_effort(p, i, p.command[i], position_of(p, i, p.q), p.v[i])
        p.tau[i] = p.held[i]
    for m in range(p.motors):
        i = p.motor_index[m]
        p.held[i] = min(max(p.command[i], -p.max_voltage[m]), p.max_voltage[m])
    motor_efforts(p)


def motor_efforts(p: PlantMemory) -> None:
    """``p.tau`` of the joints with motors."""
    for m in range(p.motors):
        i = p.motor_index[m]
        p.tau[i] = p.motor_kt[m] * motor_current(p, m, p.held[i], p.v[i], p.z[m])


def advance(p: PlantMemory) -> int:
    """Advance by one control period under what is held; if that fails, the state is as it was
    before.
    """
    copy_state(p, p.q, p.v, p.z, p.q0, p.v0, p.z0)
    for _ in range(p.substeps[0]):
        status = UNRESOLVED
        if substep(p, p.h[0]) != 0:
            status = check_progress(p)
        if status != STEP_DONE:
            p.status[0] = status
            copy_state(p, p.q0, p.v0, p.z0, p.q, p.v, p.z)
            return status
        copy_state(p, p.q1, p.v1, p.z1, p.q, p.v, p.z)
    p.steps[0] += 1
    p.status[0] = STEP_DONE
    motor_efforts(p)
    return STEP_DONE


def copy_state(
    p: PlantMemory,
    q: Vector,
    v: Vector,
    z: Vector,
    to_q: Vector,
    to_v: Vector,
    to_z: Vector,
) -> None:
    """Copy a state."""
    assign(p.nq, q, to_q)
    assign(p.nv, v, to_v)
    assign(p.motors, z, to_z)


def check_progress(p: PlantMemory) -> int:
    """Whether the step from ``p.v`` to ``p.v1`` makes sense: no speed beyond ``p.max_speed``, all
    finite, and no leap.
    """
    fastest = 0.0
    before = 0.0
    total = 0.0
    for i in range(p.nq):
        total += p.q1[i]
    for i in range(p.nv):
        total += p.v1[i]
        fastest = max(fastest, abs(p.v1[i]))
        before = max(before, abs(p.v[i]))
    for m in range(p.motors):
        total += p.z1[m]
    if not abs(total) < inf or fastest > p.max_speed[0]:
        return DIVERGED
    return LEAPT if fastest > 1.0 + 3.0 * before else STEP_DONE


# -- one step --------------------------------------------------------------------------------------


def substep(p: PlantMemory, h: float) -> int:
    """One step of length ``h`` from ``p.q``, ``p.v``, ``p.z`` to ``p.q1``, ``p.v1``, ``p.z1``; 0 if
    it cannot be resolved.

    Where the iteration does not converge, the step is made of 2, 4, … 64 shorter ones.
    """
    p.unsettled[0] = 0
    copy_state(p, p.q, p.v, p.z, p.whole_q, p.whole_v, p.whole_z)
    pieces = 1
    while pieces <= 64:
        done = 0
        for k in range(pieces):
            if k > 0:
                copy_state(p, p.q1, p.v1, p.z1, p.q, p.v, p.z)
            done = _undivided(p, h / float(pieces))
            if done == 0:
                break
        copy_state(p, p.whole_q, p.whole_v, p.whole_z, p.q, p.v, p.z)
        if done != 0 or p.unsettled[0] == 0:
            return done
        pieces *= 2
    return 0


def _undivided(p: PlantMemory, h: float) -> int:
    if prepare(p, h) == 0:
        return 0
    if p.midpoint:
        predict(p, h)
    return finish(p, h)


def prepare(p: PlantMemory, h: float) -> int:
    """``p.q_forces``, where forces are evaluated, and the factors of the mass matrix with what is
    implicit in the step.
    """
    assign(p.nq, p.q, p.q_forces)
    if p.midpoint:
        move(p, p.q, p.v, 0.5 * h, p.q_forces)
    p.mass_matrix(p.q_forces, p.M)
    if p.in_momenta:
        _start(p, h)
    else:
        _bias(p, p.v, h)
    for i in range(p.nv):
        position = position_of(p, i, p.q_forces)
        p.position[i] = position
        p.damping[i] = p.viscous[i] + p.spring_d[i]
        p.stiffness[i] = p.spring_p[i]
        p.pressed[i] = 0.0
        if pushes(p, i, position, h):
            p.pressed[i] = 1.0
            p.damping[i] += p.stop_damping[i]
            p.stiffness[i] += p.stop_stiffness[i]
    for m in range(p.motors):
        i = p.motor_index[m]
        motor_step(p, m, p.held[i], p.v[i], p.z[m], h)
        p.damping[i] += p.motor_damping[m]
    for i in range(p.nv):
        if p.midpoint and h * p.damping[i] <= p.M[i, i]:
            damped = 0.5
        else:
            damped = 1.0
        p.stiff[i] = 0.0 if p.midpoint and h * h * p.stiffness[i] <= p.M[i, i] else 1.0
        sprung = 0.25 if p.stiff[i] == 0.0 else 1.0
        p.implicit[i] = h * damped * p.damping[i] + h * h * sprung * p.stiffness[i]
        p.M[i, i] += p.implicit[i]
    for k in range(p.couples):
        damped = 0.5 if p.midpoint else 1.0
        for i in range(p.nv):
            if h * p.viscous[p.nv + k] * p.couple[k, i] * p.couple[k, i] > p.M[i, i]:
                damped = 1.0
        p.coupled_implicit[k] = h * damped * p.viscous[p.nv + k]
        for i in range(p.nv):
            for j in range(p.nv):
                p.M[i, j] += p.coupled_implicit[k] * p.couple[k, i] * p.couple[k, j]
    if p.contacts > 0:
        place_contacts(p, p.q_forces)
        linearize_contacts(p, p.v)
        sprung = 0.25 if p.midpoint else 1.0
        for i in range(p.nv):
            for j in range(p.nv):
                p.M[i, j] += h * p.D[i, j] + h * h * sprung * p.K[i, j]
    if factor_mass(p) == 0:
        return 0
    p.loop_ready[0] = 0
    if p.rows > 0:
        bind(p, p.q_forces, False)
    return 1


def pushes(p: PlantMemory, i: int, position: float, h: float) -> bool:
    """Whether the compliant stop of joint ``i``, which is at ``position`` where forces are
    evaluated, pushes at the end of what the step takes of it: it never pulls.
    """
    ahead = 0.0
    if not p.midpoint:
        ahead = h
    elif h * h * (p.stiffness[i] + p.stop_stiffness[i]) > p.M[i, i]:
        ahead = 0.5 * h
    effort = linear_stop_effort(p, i, position, p.v[i]) - ahead * p.stop_stiffness[i] * p.v[i]
    if position < p.stop_lower[i]:
        return effort > 0.0
    return position > p.stop_upper[i] and effort < 0.0


def _add_coupled(p: PlantMemory, k: int, effort: float, out: Vector) -> None:
    """Add an effort of coupled motor ``k`` to (nv,) efforts of the joints, by virtual work."""
    for i in range(p.nv):
        out[i] += effort * p.couple[k, i]


def _bias(p: PlantMemory, v: Vector, h: float) -> None:
    """``p.bias_impulse`` by bias forces at ``p.q_forces`` and ``v``."""
    p.bias_forces(p.q_forces, v, p.external, p.bias)
    for i in range(p.nv):
        p.bias_impulse[i] = -h * p.bias[i]


def _start(p: PlantMemory, h: float) -> None:
    """``p.push``, what external wrenches give at ``p.q_forces``, ``p.momentum`` there, and a first
    guess of ``p.bias_impulse``.
    """
    for i in range(p.nv):
        p.push[i] = 0.0
    if p.pushed[0] != 0:
        p.external_efforts(p.q_forces, p.external, p.push)
    recall_momentum(p, h)
    if p.past_steps[0] == 0:
        assign(p.nv, p.momentum, p.total)
        move(p, p.q_forces, p.v, 0.5 * h, p.q1)
        bias_impulse(p, h, p.v)


def predict(p: PlantMemory, h: float) -> None:
    """The velocity in the middle of the step, ``p.middle``."""
    smooth_efforts(p, p.v, h)
    for i in range(p.nv):
        tau = p.effort[i]
        if p.dry[i] != 0:
            friction = dry_friction(p, i, p.v[i])
            if friction < inf and p.v[i] != 0.0:
                tau -= copysign(friction, p.v[i])
        p.middle[i] = 0.5 * (h * tau + p.bias_impulse[i])
    for k in range(p.couples):
        speed = speed_of(p, p.nv + k, p.v)
        if speed != 0.0:
            _add_coupled(
                p, k, -copysign(0.5 * h * dry_friction(p, p.nv + k, speed), speed), p.middle
            )
    solve_mass(p, p.nv, p.middle)
    for i in range(p.nv):
        p.middle[i] += p.v[i]
        if p.rows == 0 and p.dry[i] != 0 and (p.v[i] == 0.0 or p.middle[i] * p.v[i] < 0.0):
            p.middle[i] = 0.0
    if p.rows > 0:
        allow(p, p.rows, p.middle)


def finish(p: PlantMemory, h: float) -> int:
    """The state at the end of the step; 0 if it cannot be resolved."""
    _impulses(p, h)
    assign(p.motors, p.new_current, p.z1)
    reach = 0.5 * h if p.midpoint else h
    if p.in_momenta:
        found = _iterate(p, h)
    else:
        found = _velocities_at_the_end(p, reach, True)
    if found == 0:
        return 0
    move(p, p.q_forces, p.v1, reach, p.q1)
    if not p.midpoint:
        _fly(p, h)
    moved = False
    for i in range(p.nv):
        if p.limit[i] != 0:
            stop = stop_of(p, i)
            k = p.q_of_v[i]
            if float(p.limit[i]) * (p.q1[k] - stop) > -p.tolerance[i]:
                p.q1[k] = stop
                moved = True
    if p.by_impulse:
        for i in range(p.nv):
            p.resting[i] = p.x[i] / h
        for k in range(p.couples):
            _add_coupled(p, k, p.x[p.nv + k] / h, p.resting)
    if p.rows > 0:
        return _bring_back(p)
    if p.in_momenta:
        carry_momentum(p, h)
        if moved:
            p.past_steps[0] = 0
    return 1


def _impulses(p: PlantMemory, h: float) -> None:
    """``p.applied``, the impulses of all that acts but the robot's own motion and dry friction, and
    ``p.bound`` of friction.
    """
    reach = 0.5 * h
    if not p.midpoint:
        reach = h
        assign(p.nv, p.v, p.middle)
    smooth_efforts(p, p.middle, h)
    if p.rows > 0:
        _bias(p, p.middle, h)
    for i in range(p.nv):
        lag = p.middle[i] - p.v[i]
        tau = p.effort[i] + p.damping[i] * lag - reach * p.stiff[i] * p.stiffness[i] * p.v[i]
        if p.contacts > 0:
            for j in range(p.nv):
                tau += p.D[i, j] * (p.middle[j] - p.v[j])
                if not p.midpoint:
                    tau -= h * p.K[i, j] * p.v[j]
        p.applied[i] = h * tau
    for k in range(p.couples):
        lag = speed_of(p, p.nv + k, p.middle) - speed_of(p, p.nv + k, p.v)
        _add_coupled(p, k, h * p.viscous[p.nv + k] * lag, p.applied)
    for i in range(p.nv + p.couples):
        p.bound[i] = h * dry_friction(p, i, speed_of(p, i, p.middle))


def _velocities_at_the_end(p: PlantMemory, reach: float, first: bool) -> int:
    """``p.v1`` for the present ``p.bias_impulse``; 0 if it cannot be resolved."""
    for i in range(p.nv):
        p.f[i] = p.applied[i] + p.bias_impulse[i]
    if p.by_impulse:
        _free_motion(p)
    if resolve(p, reach, first) == 0:
        return 0
    for i in range(p.nv):
        p.v1[i] = p.v[i] + p.u[i]
        if p.side[i] == HELD:
            p.v1[i] = p.target[i]
    return 1


def _with_momentum(p: PlantMemory, h: float, first: bool) -> int:
    """``p.v1``, and ``p.total``, the momentum after the impulses."""
    if _velocities_at_the_end(p, 0.5 * h, first) == 0:
        return 0
    for i in range(p.nv):
        p.total[i] = p.momentum[i] + p.applied[i] + p.x[i] - p.implicit[i] * p.u[i]
        if p.contacts > 0:
            for j in range(p.nv):
                p.total[i] -= h * (p.D[i, j] + 0.25 * h * p.K[i, j]) * p.u[j]
    for k in range(p.couples):
        _add_coupled(
            p, k, p.x[p.nv + k] - p.coupled_implicit[k] * speed_of(p, p.nv + k, p.u), p.total
        )
    return 1


def _iterate(p: PlantMemory, h: float) -> int:
    """Solve for ``p.v1`` and what depends on it, the bias impulse; 0 if that does not converge.

    Every iteration reduces the error by about the same ratio, which the last steps tell.
    """
    p.unsettled[0] = 0
    if _with_momentum(p, h, True) == 0:
        return 0
    # the motion may have become faster: it grows until it is measured again
    ratio = min(1.0, 1.2 * p.contraction[0])
    last = inf
    slow = 0
    for _ in range(30):
        assign(p.nv, p.v1, p.middle)
        move(p, p.q_forces, p.v1, 0.5 * h, p.q1)
        bias_impulse(p, h, p.v1)
        if _with_momentum(p, h, False) == 0:
            return 0
        change = 0.0
        fastest = 1e-3
        for i in range(p.nv):
            change = max(change, abs(p.v1[i] - p.middle[i]))
            fastest = max(fastest, abs(p.v1[i]))
        if last < inf:
            ratio = max(0.5 * ratio, change / max(last, 1e-300))
        if ratio < 0.5 and ratio * change <= 1e-12 * fastest:
            p.contraction[0] = ratio
            return 1
        if not change < 0.5 * last:
            slow += 1
            # as good as rounding allows
            if change <= 1e-8 * fastest:
                p.contraction[0] = 1.0
                return 1
            if slow > 3:
                break
        last = change
    p.unsettled[0] = 1
    return 0


def _free_motion(p: PlantMemory) -> None:
    """``p.loop_free``: the change of velocity with K (v + v₁) = 0, friction and stops left out."""
    assign(p.nv, p.f, p.loop_free)
    solve_mass(p, p.nv, p.loop_free)
    for i in range(p.nv):
        p.loop_free[i] += 2.0 * p.v[i]
    allow(p, p.rows, p.loop_free)
    for i in range(p.nv):
        p.loop_free[i] -= 2.0 * p.v[i]


def _bring_back(p: PlantMemory) -> int:
    """``p.q1`` and ``p.v1`` made the nearest state that loops, and the stops that joints rest on,
    allow.

    In the metric of the mass matrix at the end of the step: that in its middle makes errors more
    than twice as large.
    """
    p.mass_matrix(p.q1, p.M)
    if factor_mass(p) == 0:
        return 0
    n = 0
    for k in range(6):
        n = bind(p, p.q1, True)
        for i in range(p.nv):
            p.loop_row[i] = 0.0
        take_off(p, n, p.loop_row)
        largest = 0.0
        for i in range(p.nv):
            largest = max(largest, abs(p.loop_row[i]))
        if largest < 1e-13 or k == 5:
            break
        move(p, p.q1, p.loop_row, 1.0, p.q_back)
        assign(p.nq, p.q_back, p.q1)
    allow(p, n, p.v1)
    for i in range(p.nv):
        if abs(p.v1[i]) < 1e-13 and abs(p.x[i]) > 0.0:
            p.v1[i] = 0.0
    return 1


def _joint_efforts(p: PlantMemory, v: Vector) -> None:
    """``p.effort``: commands, the user's and external efforts, viscous friction and springs at
    ``p.position`` and ``v``.
    """
    for i in range(p.nv):
        p.effort[i] = p.held[i] + p.user[i] + p.push[i] - p.viscous[i] * v[i]
        p.effort[i] += spring_effort(p, i, p.position[i], v[i])
    for k in range(p.couples):
        _add_coupled(p, k, -p.viscous[p.nv + k] * speed_of(p, p.nv + k, v), p.effort)


def smooth_efforts(p: PlantMemory, v: Vector, h: float) -> None:
    """``p.effort``: all that acts at ``p.q_forces`` and ``v`` but dry friction, rigid stops and the
    bias b(q, v).

    The motors' new currents are left in ``p.new_current``.
    """
    _joint_efforts(p, v)
    for i in range(p.nv):
        if p.pressed[i] != 0.0:
            p.effort[i] += linear_stop_effort(p, i, p.position[i], v[i])
    for m in range(p.motors):
        i = p.motor_index[m]
        motor_step(p, m, p.held[i], v[i], p.z[m], h)
        p.effort[i] += p.motor_kt[m] * p.mean_current[m] - p.held[i]
    add_contact_efforts(p, v, p.effort)


def resolve(p: PlantMemory, reach: float, first: bool) -> int:
    """The complementarity problem of friction and stops; 0 if it has no solution.

    ``p.limit`` is −1 or +1 for joints whose lower or upper stop acts.  ``reach`` is the time for
    which the new velocity moves the joints from ``p.position``.  ``first`` begins with friction
    alone; else rows and sides are those of the last time.
    """
    if first:
        for i in range(p.nv):
            p.limit[i] = 0
        for i in range(p.nv + p.couples):
            p.target[i] = 0.0
            p.side[i] = FREE
            if p.dry[i] != 0:
                p.lo[i] = -p.bound[i]
                p.hi[i] = p.bound[i]
                # what rests is likely to rest on
                p.side[i] = HELD
                speed = speed_of(p, i, p.v)
                if speed > 0.0:
                    p.side[i] = LOW
                elif speed < 0.0:
                    p.side[i] = HIGH
    for _ in range(p.nv + 1):
        if solve_complementarity(p) == 0:
            return 0
        added = 0
        for i in range(p.nv):
            if p.limit[i] == 0:
                ahead = p.position[i] + reach * (p.v[i] + p.u[i])
                if ahead < p.lower[i] - p.tolerance[i]:
                    _add_stop(p, i, -1, reach)
                    added += 1
                elif ahead > p.upper[i] + p.tolerance[i]:
                    _add_stop(p, i, 1, reach)
                    added += 1
        if added == 0:
            return 1
    return 1


def _add_stop(p: PlantMemory, i: int, side: int, reach: float) -> None:
    """Make joint i's friction row one of friction and stop together."""
    p.limit[i] = side
    p.side[i] = HELD
    bound = p.bound[i] if p.dry[i] != 0 else 0.0
    direction = float(side)
    gap = max(0.0, p.position[i] - p.lower[i] if side < 0 else p.upper[i] - p.position[i])
    room = p.upper[i] - p.lower[i] - gap
    back = p.restitution[i] * direction * p.v[i]
    low = -bound
    high = bound
    # a rebound that would cross to the other stop within the step cannot be followed: the joint is
    # caught instead
    if direction * p.v[i] > p.rest_velocity[0] and reach * back > 0.0 and reach * back < room:
        p.target[i] = -direction * back
        low = 0.0
        high = 0.0
    elif gap > p.tolerance[i]:
        # arrive at the stop at the end of the step, sliding
        p.target[i] = direction * gap / reach
        low = -direction * bound
        high = low
    else:
        p.target[i] = 0.0
    p.lo[i] = low if side < 0 else -inf
    p.hi[i] = inf if side < 0 else high


# -- configurations --------------------------------------------------------------------------------


def assign(n: int, values: Vector, out: Vector) -> None:
    """Copy ``n`` numbers."""
    for i in range(n):
        out[i] = values[i]


def position_of(p: PlantMemory, i: int, q: Vector) -> float:
    """Position of joint ``i``, zero for a floating joint."""
    return 0.0 if p.q_of_v[i] < 0 else q[p.q_of_v[i]]


def move(p: PlantMemory, q: Vector, v: Vector, h: float, out: Vector) -> None:
    """q ⊕ h v: a sum, and the exponential of rigid motions for floating joints."""
    for i in range(p.nv):
        k = p.q_of_v[i]
        if k >= 0:
            out[k] = q[k] + h * v[i]
    for f in range(p.floating):
        move_free_joint(q, v, h, out, p.floating_q[f], p.floating_v[f])


def _fly(p: PlantMemory, h: float) -> None:
    """Let the origin of a floating body move in the axes of its joint frame.

    A body's linear velocity is given in axes that turn with it.  Stepping those components as they
    are would let a spinning body gain speed, (1 + h² ω²)^½ in every step; stepping the vector
    itself keeps its momentum.
    """
    for f in range(p.floating):
        k = p.floating_q[f]
        i = p.floating_v[f]
        p.flight[0] = p.v1[i + 3] + h * (p.v[i + 1] * p.v[i + 5] - p.v[i + 2] * p.v[i + 4])
        p.flight[1] = p.v1[i + 4] + h * (p.v[i + 2] * p.v[i + 3] - p.v[i] * p.v[i + 5])
        p.flight[2] = p.v1[i + 5] + h * (p.v[i] * p.v[i + 4] - p.v[i + 1] * p.v[i + 3])
        _rotate(p, p.q, k + 3, 1.0)
        for a in range(3):
            p.q1[k + a] = p.q[k + a] + h * p.flight[a]
        _rotate(p, p.q1, k + 3, -1.0)
        for a in range(3):
            p.v1[i + 3 + a] = p.flight[a]


def _rotate(p: PlantMemory, q: Vector, k: int, sense: float) -> None:
    """Rotate ``p.flight`` by the unit quaternion at ``q[k]``, or back with ``sense`` −1."""
    x = sense * q[k]
    y = sense * q[k + 1]
    z = sense * q[k + 2]
    w = q[k + 3]
    sx = p.flight[0]
    sy = p.flight[1]
    sz = p.flight[2]
    rx = 2.0 * (y * sz - z * sy)
    ry = 2.0 * (z * sx - x * sz)
    rz = 2.0 * (x * sy - y * sx)
    p.flight[0] = sx + w * rx + y * rz - z * ry
    p.flight[1] = sy + w * ry + z * rx - x * rz
    p.flight[2] = sz + w * rz + x * ry - y * rx


# -- what acts between events ----------------------------------------------------------------------


def applied_efforts(p: PlantMemory) -> None:
    """``p.effort``: motors, springs, stops, user, contacts and friction at ``p.q_forces``,
    ``p.middle`` and currents ``p.z1``.

    Dry friction acts on the joints of which ``p.slip`` says that they slide, against that
    direction.  Motor currents, their rates, and forces of contacts are left in ``p.mean_current``,
    ``p.new_current`` and ``p.contact_force``.
    """
    for i in range(p.nv):
        p.position[i] = position_of(p, i, p.q_forces)
        # external wrenches come on top
        p.push[i] = 0.0
    _joint_efforts(p, p.middle)
    for i in range(p.nv):
        p.effort[i] += stop_effort(p, i, p.position[i], p.middle[i])
        if p.slip[i] != 0.0:
            p.effort[i] -= p.slip[i] * dry_friction(p, i, p.middle[i])
    for m in range(p.motors):
        i = p.motor_index[m]
        p.mean_current[m] = motor_current(p, m, p.held[i], p.middle[i], p.z1[m])
        p.new_current[m] = motor_rate(p, m, p.held[i], p.middle[i], p.z1[m])
        p.effort[i] += p.motor_kt[m] * p.mean_current[m] - p.held[i]
    place_contacts(p, p.q_forces)
    add_contact_efforts(p, p.middle, p.effort)


_OF_A_STATE = (motor_efforts, applied_efforts, solve_complementarity)
STEPPING_ROUTINES = (
    step,
    run,
    hold,
    advance,
    substep,
    prepare,
    predict,
    finish,
    check_progress,
    *_OF_A_STATE,
)
"""Those that are called from outside."""
