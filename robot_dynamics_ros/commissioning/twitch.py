"""Fourth step: one joint at a time, small and slow: sign, friction, delay of the whole loop,
inertia, play.

A joint sweeps to and fro at a slow speed with three small vibrations on its effort.  Friction drops
out while it does not reverse, so that with their complex amplitudes, U of the effort and Q of the
position, a joint of inertia J and viscous friction d, in a loop of delay T, shows

    U / Q = (−J ω² + i ω d) exp(i ω T)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.commissioning.arm import (
    GENTLE_BANDWIDTH,
    ArmState,
    Bounds,
    Command,
    StepMotion,
    StepRunner,
    gentle_controller,
)
from robot_dynamics_ros.commissioning.findings import (
    Finding,
    StepReport,
    mistake,
    sorted_by_certainty,
)
from robot_dynamics_ros.commissioning.floating import (
    LONGEST_DELAY,
    TWITCH_REACH_RAD,
    Pushed,
    amplitudes,
    late_commands,
)
from robot_dynamics_ros.commissioning.listen import play_of
from robot_dynamics_ros.commissioning.release import (
    effort_limit,
    least_inertia,
    scale_of,
    speed_limit,
)
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.cycle.disturbance import MARGIN
from robot_dynamics_ros.control.cycle.loading import joint_sizes
from robot_dynamics_ros.control.reference.trajectory import Trajectory, nanoseconds
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import mass_matrix
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# s at constant speed: four periods of the slowest vibration fit in.
SWEEP = 1.0
# s of speeding up, and of slowing down.
TURN_OF_TWITCH_S = 0.2
# s at rest between two sweeps: the arm no longer swings.
PAUSE_OF_TWITCH_S = 0.4
# Share of the velocity limit
SWEEP_SPEED = 0.016
# Share of the speed of the sweep that each vibration takes
RIPPLE = 0.2
# Frequencies of the vibrations over the highest
VIBRATION_FREQUENCY_SHARES = (0.2, 0.45, 1.0)
# Hz, or an eighth of the rate
HIGHEST = 20.0
# Sweeps of a joint until its vibrations have the right size; a joint that needs more has none.
SWEEPS_A_JOINT = 5
# Largest factor of that size from one sweep to the next: a joint that breaks free must not jump.
LARGEST_SWEEP_GROWTH = 3.0
# Relative error of the fit from which on it tells no inertia
MISFIT = 0.3
# Share of the effort of the fastest vibration below which an inertia is not seen
UNSEEN = 0.4
# Largest effort against friction in a sweep, over the friction that pushes showed: it falls and
# rises along the way.
LARGEST_FRICTION_SHARE = 1.5
# The first effort over that friction: a little less than it takes, so that the joint does not jump.
BELIEVED = 0.9
# 1/s, of the largest friction: how fast the effort is raised while the joint is too slow. Twice as
# fast, a joint that breaks free overshoots; half as fast, a sweep ends before it moves.
AMPLITUDE_ADAPTATION = 0.7
# A joint counts as stuck below this share of the sweep's speed,
STUCK = 0.3
# and as too fast beyond this one: its effort is then lowered four times as quickly.
RUNS = 1.7
# rad: a joint with more play moves without its links there, and no inertia is had from it.
LEAST_PLAY = 2e-3
# Share of the largest rotors of such joints: an inertia that differs by less does not matter
LEAST_ROTOR = 0.02


@dataclass(frozen=True, eq=False)
class Sweep:
    """States of a joint that sweeps to and fro with vibrations.

    Attributes:
        t: (k,) s.
        q, v: (k,) position and measured velocity, rad or m, rad/s or m/s.
        effort: (k,) command without weight, N m or N.
        phase: (k,) 1 and −1 where it moves at constant speed, ±2 where it rests after that, 0
            elsewhere.
        frequencies: of the vibrations, rad/s.
    """

    t: Array
    q: Array
    v: Array
    effort: Array
    phase: Array
    frequencies: tuple[float, ...]


@dataclass(frozen=True)
class JointLoop:
    """A joint and its loop.

    Attributes:
        inertia: kg m² or kg; NaN where friction hides it.
        viscous: N m s/rad or N s/m, at the vibrations.
        delay: s from a command to the state that shows it, half a period of holding included.
        friction: N m or N at the speed of the sweep.
        play: rad or m.
        ripple: rad/s or m/s, mean amplitude of the vibrations.
        misfit: relative error of the fit.
    """

    inertia: float
    viscous: float
    delay: float
    friction: float
    play: float
    ripple: float
    misfit: float


def _parts(sweep: Sweep, phase: float) -> list[NDArray[np.int64]]:
    """Rows of each stretch in a phase, in either direction."""
    edges = np.flatnonzero(np.diff(sweep.phase)) + 1
    parts = np.split(np.arange(len(sweep.t)), edges)
    return [part for part in parts if abs(sweep.phase[part[0]]) == phase]


def loop_of(sweep: Sweep) -> JointLoop:
    """Inertia, delay, friction and play of a joint from its sweeps.

    Raises:
        ArgumentError: the joint has hardly moved at constant speed.
    """
    t = sweep.t
    w = np.array(sweep.frequencies)
    moving = [part for part in _parts(sweep, 1.0) if len(part) > 20]
    if len(moving) < 2:
        raise ArgumentError(
            "the joint has hardly moved", where="sweep", got=len(moving), remedy="Sweep to and fro."
        )

    def amplitudes_of(x: Array) -> Array:
        """(parts, frequencies) complex, each part's phase from its own beginning."""
        return np.array([amplitudes(t[part] - t[part[0]], x[part], w)[0] for part in moving])

    Q = amplitudes_of(sweep.q)
    U = amplitudes_of(sweep.effort)
    seen = (np.abs(Q) ** 2).sum(axis=0)
    G = (U * Q.conj()).sum(axis=0) / np.maximum(seen, 1e-30)
    least = math.inf
    inertia = 0.0
    viscous = 0.0
    delay = 0.0
    size = np.abs(G)
    # for each delay the other two by weighted least squares, which are linear
    for T in np.arange(0.0, LONGEST_DELAY, 2.5e-4):
        turned = G * np.exp(-1j * w * T)
        J = max(float(-(turned.real * w**2 / size**2).sum() / (w**4 / size**2).sum()), 1e-9)
        d = max(float((turned.imag * w / size**2).sum() / (w**2 / size**2).sum()), 0.0)
        misfit = float(np.sqrt((np.abs(turned - (-J * w**2 + 1j * w * d)) ** 2 / size**2).mean()))
        if misfit < least:
            least = misfit
            inertia = J
            viscous = d
            delay = float(T)
    if least > MISFIT or inertia * w[-1] ** 2 < UNSEEN * size[-1]:
        inertia = math.nan
    level = [float(sweep.phase[part[0]]) * float(sweep.effort[part].mean()) for part in moving]
    ripple = float((w * np.sqrt(seen / len(moving))).mean())
    return JointLoop(
        inertia=inertia,
        viscous=viscous,
        delay=delay,
        friction=float(np.mean(level)),
        play=hidden_way(sweep),
        ripple=ripple,
        misfit=least,
    )


def hidden_way(sweep: Sweep) -> float:
    """Way that the velocities show and the positions do not, from rest after one direction to rest
    after the other, rad or m; of three rests or more.
    """
    steps = np.diff(sweep.t) * 0.5 * (sweep.v[1:] + sweep.v[:-1])
    hidden = np.concatenate([[0.0], np.cumsum(steps)]) - sweep.q
    rests = _parts(sweep, 2.0)
    levels = np.array([np.median(hidden[part[len(part) // 2 :]]) for part in rests])
    sides = np.array([np.sign(sweep.phase[part[0]]) for part in rests])
    return max(float(np.mean(sides[1:-1] * (levels[1:-1] - 0.5 * (levels[:-2] + levels[2:])))), 0.0)


def bodies_inertia(model: RobotModel, q: Array) -> Array:
    """(n,) kg m² or kg of each joint without its rotor, between those of an arm that yields and one
    that is stiff.
    """
    return np.asarray(
        0.5 * (np.diagonal(mass_matrix(model, q)) + least_inertia(model, q)) - model.armature
    )


def _unlike_inertia(name: str, inertia: float, described: float, rotor: float) -> Finding:
    sentence = (
        f"{name} has an inertia of {inertia:.3g}, described are {described:.3g} kg m² (sliding: kg)"
    )
    return mistake("inertia", name, sentence, inertia / described, float(f"{rotor:.3g}"))


def _more_friction(name: str, friction: float, described: float, unit: str) -> Finding:
    sentence = f"{name} has {friction:.3g} {unit} of friction, described are {described:.3g} {unit}"
    return mistake("friction", name, sentence, friction, float(f"{friction:.3g}"))


def twitch_report(
    model: RobotModel,
    q: Array,
    loops: Sequence[JointLoop | None],
    period: float,
) -> StepReport:
    """Mistakes and measured numbers, from the loops of all joints.

    Args:
        q: (n,) configuration of the twitches, rad or m.
        loops: one for each joint, ``None`` where there is none.
        period: s, of the joint states.
    """
    n = model.nv
    names = model.joint_names
    measured_loops = [loop for loop in loops if loop is not None]
    columns = {
        key: np.array([np.nan if loop is None else getattr(loop, key) for loop in loops])
        for key in ("inertia", "delay", "friction", "play")
    }
    locked = np.diagonal(mass_matrix(model, q))
    free = least_inertia(model, q)
    bodies = bodies_inertia(model, q)
    # it moves without its links there
    columns["inertia"][columns["play"] > LEAST_PLAY * scale_of(model)] = np.nan
    # none at all would be taken for an unknown one
    rotor = np.maximum(columns["inertia"] - bodies, 0.02 * bodies)
    findings = []
    delays = [loop.delay for loop in measured_loops if loop.misfit < MISFIT]
    delay = float(np.median(delays)) if delays else 0.0
    robot_delay = max(delay - 0.5 * period, 0.0)
    findings += late_commands(robot_delay, period)
    largest_rotor, not_described = (
        joint_sizes(model)[key] for key in ("largest_rotor", "assumed_rotor")
    )
    described = model.friction + model.damping * SWEEP_SPEED * speed_limit(model)
    for i, loop in enumerate(loops):
        if loop is None:
            continue
        inertia = columns["inertia"][i]
        unlike = inertia > 1.6 * locked[i] + not_described[i] or inertia < 0.4 * free[i]
        if unlike and abs(inertia - locked[i]) > LEAST_ROTOR * largest_rotor[i]:
            findings.append(_unlike_inertia(names[i], inertia, locked[i], rotor[i]))
        if loop.friction > 1.8 * described[i] + 0.004 * effort_limit(model)[i]:
            unit = model.joint(names[i]).type.units[2]
            findings.append(_more_friction(names[i], loop.friction, described[i], unit))
        if loop.play > LEAST_PLAY * scale_of(model)[i]:
            findings.append(play_of(model, names[i], loop.play))
    # the low-pass of the velocity and half a period of differentiating
    whole = delay + 1.6e-3 + 0.5 * period
    numbers: dict[str, Array | float] = {
        **columns,
        "rotor": rotor,
        "described inertia": locked,
        "robot_delay": robot_delay,
        "largest bandwidth": MARGIN / whole,
    }
    return StepReport(
        "twitch", sorted_by_certainty(findings), numbers, enough=len(measured_loops) == n
    )


def _frequencies(runner: StepRunner) -> tuple[float, ...]:
    """rad/s, of the vibrations."""
    return tuple(
        2.0 * math.pi * min(HIGHEST, 0.125 / runner.period) * part
        for part in VIBRATION_FREQUENCY_SHARES
    )


@dataclass(eq=False)
class _Drive:
    """Effort of a joint along a slow way at this speed: soft feedback for its inertia, and
    friction, whose level grows to ``most`` while the joint sticks and falls while it is ahead.
    """

    level: float
    inertia: float
    speed: float
    most: float

    def effort(
        self,
        dt: float,
        lag: float,
        v: float,
        rate: float,
        acceleration: float,
    ) -> float:
        """N m or N, beside the weight, where the position lags by ``lag``, on a way with this rate
        and acceleration.
        """
        side = math.copysign(1.0, rate)
        if abs(rate) > 0.5 * self.speed:
            if v * side < STUCK * abs(rate):
                if lag * side > 0.0:
                    self.level += AMPLITUDE_ADAPTATION * self.most * dt
            elif v * side > RUNS * abs(rate) or lag * side < 0.0:
                self.level -= 4.0 * AMPLITUDE_ADAPTATION * self.most * dt
            self.level = min(max(self.level, 0.0), self.most)
        # poles of the error, both at the bandwidth
        w = GENTLE_BANDWIDTH
        feedback = acceleration + w * (w * lag + 2.0 * (rate - v))
        return self.level * rate / self.speed + self.inertia * feedback


def _way(start: float, side: float, speed: float) -> tuple[Array, Array, Array, Array]:
    """(17,) times, positions, rates and phases (of the pieces after them) of a joint that sweeps to
    and fro twice.
    """
    lengths = np.tile([TURN_OF_TWITCH_S, SWEEP, TURN_OF_TWITCH_S, PAUSE_OF_TWITCH_S], 4)
    sides = np.repeat([side, -side, side, -side], 4)
    # of the four pieces: speeding up, sweeping, slowing down, resting
    rates_at_begin = np.tile([0.0, speed, speed, 0.0], 4)
    mean_rates = np.tile([0.5 * speed, speed, 0.5 * speed, 0.0], 4)
    phases_of_pieces = np.tile([0.0, 1.0, 0.0, 2.0], 4)
    times = np.append(0.0, np.cumsum(lengths))
    positions = start + np.append(0.0, np.cumsum(sides * lengths * mean_rates))
    rates = np.append(sides * rates_at_begin, 0.0)
    phases = np.append(sides * phases_of_pieces, 0.0)
    return times, positions, rates, phases


class _Twitches:
    """The twitches of several joints, as far as they have come: joints without ``pushes`` do not
    sweep.
    """

    def __init__(
        self,
        runner: StepRunner,
        joints: Sequence[int],
        pushes: Mapping[int, Pushed],
    ) -> None:
        self.runner = runner
        self.joints = joints
        self.pushes = pushes
        self.place = np.zeros(0)
        self.loops: list[JointLoop | None] = [None] * runner.model.nv

    def sweep(
        self,
        controller: JointController,
        i: int,
        drive: _Drive,
        size: Array,
        state: ArmState,
    ) -> StepMotion[tuple[Sweep, ArmState]]:
        """Sweep joint i to and fro twice with vibrations of the given efforts (f,), while
        ``controller`` holds the others.
        """
        speed = drive.speed
        model = self.runner.model
        runner = self.runner
        rows = list[tuple[float, ...]]()
        q0 = np.clip(state.q, model.lower, model.upper)
        way = speed * (SWEEP + TURN_OF_TWITCH_S)
        if model.upper[i] - q0[i] > way or model.upper[i] - q0[i] > q0[i] - model.lower[i]:
            side = 1.0
        else:
            side = -1.0
        middle = q0.copy()
        middle[i] += 0.5 * side * way
        frequencies = _frequencies(runner)
        bounds = Bounds.around(model, middle, TWITCH_REACH_RAD)
        times, positions, rates, phases = _way(q0[i], side, speed)
        points = np.tile(q0, (16, 1))
        velocities = np.zeros((16, model.nv))
        points[:, i] = positions[1:]
        velocities[:, i] = rates[1:]
        start = state.t
        controller.activate(nanoseconds(start), q0, np.zeros(model.nv))
        reference = Trajectory.from_waypoints(
            model.joint_names, times[1:].tolist(), points, velocities
        )
        controller.accept_trajectory(reference, nanoseconds(start))
        while (now := state.t - start) < times[-1]:
            phase = phases[int(np.searchsorted(times, now, side="right")) - 1]
            effort = np.array(controller.update(nanoseconds(state.t), state.q, state.v))
            place, rate, acceleration = controller.reference[:, i].tolist()
            weight = runner.weight(state.q)[i]
            effort[i] = weight + drive.effort(
                runner.period, place - state.q[i], state.v[i], rate, acceleration
            )
            if abs(phase) < 2.0:
                effort[i] += float(
                    sum(a * math.sin(w * now) for a, w in zip(size, frequencies, strict=True))
                )
            rows.append((state.t, state.q[i], state.v[i], effort[i] - weight, phase))
            state = yield Command(effort, bounds)
        controller.activate(nanoseconds(state.t), state.q, np.zeros(model.nv))
        t, q, v, efforts, phase = np.array(rows).T
        return Sweep(t, q, v, efforts, phase, frequencies), state

    def rotors(self) -> Array:
        """(n,) inertia of rotors as the pushes showed them, kg m² or kg; NaN where nothing was
        pushed.
        """
        model = self.runner.model
        bodies = bodies_inertia(model, self.place)
        seen = np.full(model.nv, np.nan)
        for i, pushed in self.pushes.items():
            seen[i] = pushed.inertia
            bodies[i] = bodies_inertia(model, pushed.q)[i]
        # none at all would be taken for an unknown one
        least = 0.02 * bodies
        most = Robustness().rotor_share * joint_sizes(model)["largest_rotor"]
        return np.clip(seen - bodies, least, np.maximum(most, least))

    def motion(self, state: ArmState) -> StepMotion[bool]:
        """Sweep every joint that follows its commands."""
        model = self.runner.model
        runner = self.runner
        self.place = state.q
        seen = zip(model.joint_names, self.rotors(), strict=True)
        rotors = {name: rotor for name, rotor in seen if math.isfinite(rotor)}
        controller = gentle_controller(model, runner.options, state.q, rotors)
        controller.activate(nanoseconds(state.t), state.q, np.zeros(model.nv))
        rate = np.array(_frequencies(runner))
        limit = effort_limit(model)
        fastest = speed_limit(model)
        for i in (i for i in self.joints if i in self.pushes):
            pushed = self.pushes[i]
            friction = pushed.friction
            assumed = pushed.inertia
            inertia = max(assumed, mass_matrix(model, state.q)[i, i])
            speed = SWEEP_SPEED * fastest[i]
            most = (
                max(LARGEST_FRICTION_SHARE * friction, pushed.effort)
                + 0.5 * inertia * speed / TURN_OF_TWITCH_S
            )
            drive = _Drive(BELIEVED * friction, inertia, speed, most)
            target = RIPPLE * speed
            for _ in range(SWEEPS_A_JOINT):
                size = np.minimum(assumed * rate * target, 0.1 * limit[i])
                sweep, state = yield from self.sweep(controller, i, drive, size, state)
                loop = loop_of(sweep)
                if (before := self.loops[i]) is None or loop.misfit < before.misfit:
                    self.loops[i] = loop
                if math.isnan(loop.inertia):
                    factor = target / max(loop.ripple, 1e-9)
                else:
                    factor = loop.inertia / assumed
                if 0.6 < factor < 1.7:
                    break
                assumed *= min(max(factor, 1.0 / LARGEST_SWEEP_GROWTH), LARGEST_SWEEP_GROWTH)
        return True


def twitch(
    runner: StepRunner,
    pushes: Mapping[int, Pushed],
    joints: Sequence[str] | None = None,
) -> StepReport:
    """Move one joint after another, each within 0.06 rad and 6 % of its speed limit.

    Args:
        runner: of the arm.
        pushes: number of a joint → what its pushes showed, see
            :func:`~robot_dynamics_ros.commissioning.probe`.
        joints: by name; all if not given.
    """
    model = runner.model
    numbers = [model.joint_names.index(name) for name in (joints or model.joint_names)]
    twitches = _Twitches(runner, numbers, pushes)
    complete = runner.run(twitches.motion, open_to=0.5)
    record = runner.record
    notes = (record.stopped,) if record.stopped else ()
    if not any(twitches.loops):
        return StepReport("twitch", (), {}, enough=False, notes=notes)
    report = twitch_report(model, twitches.place, twitches.loops, runner.period)
    rotor = np.asarray(report.numbers["rotor"])
    shown = {**report.numbers, "rotor": np.where(np.isfinite(rotor), rotor, twitches.rotors())}
    return StepReport("twitch", report.findings, shown, bool(complete), notes=notes)
