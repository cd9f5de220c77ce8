"""Before an arm carries its weight: small pushes of each joint, one after another, show the sign of its commands.

A joint is pushed by an effort that grows until it moves, either way, so slowly that the least inertia which it may have stays
slow, also with 20 ms of delay.  The arm stands where its weight acts little (:mod:`~robot_dynamics_ros.commissioning.release`),
so that a stop in time needs no command: what held it before holds it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics_ros.commissioning.arm import STILL, ArmState, Bounds, Command, Motion, StepRunner
from robot_dynamics_ros.commissioning.findings import Change, Finding, StepReport
from robot_dynamics_ros.commissioning.release import CALM, effort_limit, exposure, least_inertia, scale_of, speed_limit
from robot_dynamics_ros.dynamics import mass_matrix_inverse
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Pushed", "probe"]

DAMPING = 12.0
"""1/s, of each joint by its least inertia: calm with 20 ms of delay and a filter of 5 Hz."""
REST = 0.3
"""s, in which what held the arm stops it."""
SPEED, MOST = 0.045, 0.095
"""Shares of the velocity limit: announced at most, and with what may be added until a stop acts."""
UNIT = 0.4
"""Inertia seen over the least that is described, below which commands are in another unit."""
RISE = 0.06
"""1/s, of the effort limit: how fast a push grows, or slower where a joint may be light."""
PUSHED, LATE = 0.02, 0.02
"""Share of the velocity limit that a push may give to the least inertia, and s, beside two periods, until its motion is seen."""
LIKELY = 0.9
"""Share of the likeliest joint's likeness from which on it may have been the joint itself that was pushed."""
FRACTION = 0.8
"""Least inertia that is expected, over the description's."""
PUSH, RUB = 0.03, 4.0
"""Largest push: a share of the effort limit and times the friction described."""
MOVED, NOISE = 4e-4, 8.0
"""rad that count as motion; or times the standard deviation of positions, if that is more."""
OTHERS = 10.0
"""Times that motion of joints that are not pushed, which may drift or be dragged along."""
ROOM = 5e-3
"""rad beside a stop within which a joint is not pushed towards it."""
REACH = 0.06
"""rad, announced of a joint that twitches; the others stay within as much."""
COAST = 0.25, 1.5
"""s that a joint is left alone after a push: at least, and until it stands."""


def damping_of(model: RobotModel, q: Array) -> Array:
    """(n,) N m s/rad or N s/m, of an arm that floats."""
    return DAMPING * least_inertia(model, q)


def reversed_command(name: str, why: str) -> Finding:
    """The finding for a joint that moves against its commands."""
    line = Change("driver", f"sign of the commands of {name}")
    return Finding("command_sign", (name,), f"{name} moves against its command ({why})", -1.0, "", 0.95, line)


def motion_seen(runner: StepRunner) -> Array:
    """(n,) rad or m that count as motion."""
    return np.maximum(MOVED * scale_of(runner.model), NOISE * runner.position_noise)


def _rise(runner: StepRunner, i: int, inertia: float, q: Array) -> float:
    """N m/s or N/s, at which a push on joint i grows that leaves this inertia slow until its motion is seen."""
    model = runner.model
    way, late = motion_seen(runner)[i], LATE + 2.0 * runner.period
    drags = np.abs(mass_matrix_inverse(model, q)[:, i])  # how fast the others are then
    fastest = PUSHED * float((speed_limit(model) * drags[i] / np.maximum(drags, 1e-9 * drags[i])).min())
    t = np.geomspace(
        1e-3, 10.0, 400
    )  # in which it makes that way: rise t³ / (6 J); its speed after that and the delay:
    slow = 3.0 * way * (t + late) ** 2 / t**3 < fastest
    return float(min(RISE * effort_limit(model)[i], 6.0 * way * inertia / t[int(np.argmax(slow))] ** 3))


def breaking_free(t: Array, way: Array, rise: float, least: float) -> tuple[float, float]:
    """When a joint that a growing effort pushes breaks free, and its inertia: its way is rise (t − t₀)³ / (6 J) from then on.

    Args:
        t: (k,) s since the effort began to grow.
        way: (k,) rad or m, from rest.
        rise: N m/s or N/s.
        least: rad or m, of a way that is not noise.

    Returns:
        t₀ in s, and kg m² or kg, less where friction falls as it breaks free; NaN where too little is seen.
    """
    noise = np.flatnonzero(way <= least)
    first = int(noise[-1]) + 1 if len(noise) else 0
    if len(t) - first < 2:
        return math.nan, math.nan
    slope, start = np.polyfit(t[first:], np.cbrt(way[first:]), 1)
    return (max(-start / slope, 0.0), rise / (6.0 * slope**3)) if slope > 0.0 else (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Pushed:
    """A joint as pushes show it.

    Attributes:
        effort: the largest push, N m or N.
        friction: push from which on it moves, N m or N.
        inertia: kg m² or kg.
        q: (n,) where it was pushed, rad or m.
    """

    effort: float
    friction: float
    inertia: float
    q: Array


def _push(
    probe: _Probe, i: int, sign: float, inertia: float, state: ArmState
) -> Motion[tuple[Pushed, Array, ArmState]]:
    """Push joint i, whose inertia may be as little as this, until something moves.

    Returns:
        What is seen, (n,) the motion, and the state after it.
    """
    runner, model = probe.runner, probe.runner.model
    q, limit, damping = state.q, effort_limit(model), damping_of(model, state.q)
    t, rise = state.t, _rise(runner, i, inertia, q)
    most = PUSH * limit[i] + RUB * model.friction[i]
    push, moved, rows, enough = 0.0, np.zeros(model.nv), [], motion_seen(runner)
    others = np.where(np.arange(model.nv) == i, 1.0, OTHERS) * enough
    while push < most and not (np.abs(moved) > others).any():
        push = min(rise * (state.t - t), most)
        effort = probe.held(state, damping)
        effort[i] += sign * push
        state = yield Command(effort, probe.bounds)
        moved = state.q - q
        if abs(state.v[i]) > PUSHED * speed_limit(model)[i]:  # behind play, positions do not show it
            moved[i] = math.copysign(max(abs(moved[i]), 2.0 * enough[i]), state.v[i])
        rows.append((state.t - t, abs(moved[i])))
    times, ways = np.array(rows).T
    free, seen = breaking_free(times, ways, rise, 0.2 * enough[i])
    pushed = Pushed(push, push if math.isnan(free) else min(rise * free, push), seen, q)
    if int(np.argmax(np.abs(moved) / enough)) == i:
        probe.side[i] = sign * np.sign(moved[i])
    t, shortest, longest = state.t, *COAST
    while state.t - t < shortest or (
        state.t - t < longest and (np.abs(state.v) > np.maximum(STILL * speed_limit(model), 2e-3)).any()
    ):
        state = yield Command(probe.held(state, damping))
    return pushed, moved, state


def _signs(probe: _Probe, i: int, state: ArmState) -> Motion[tuple[Finding | None, Pushed, ArmState]]:
    """Push joint i both ways; a mistake of its commands, if there is one, what both pushes show, and the state after them."""
    runner, model = probe.runner, probe.runner.model
    name = model.joint_names[i]
    least = FRACTION * float(least_inertia(model, state.q)[i])
    moved, pushed, inertia = list[Array](), list[Pushed](), least
    up, down = (abs(limit[i] - state.q[i]) > ROOM * scale_of(model)[i] for limit in (model.upper, model.lower))
    for sign in (1.0 if up else -1.0, -1.0 if down else 1.0):  # not against a stop
        seen, way, state = yield from _push(probe, i, sign, inertia, state)
        inertia = max(least, seen.inertia if moved else 0.5 * seen.inertia)  # NaN: least
        pushed.append(seen)
        moved.append(sign * way / motion_seen(runner))
    largest = max(seen.effort for seen in pushed)
    shown = Pushed(largest, max(seen.friction for seen in pushed), inertia, state.q)
    both = np.where(np.sign(moved[0]) == np.sign(moved[1]), np.minimum(*np.abs(moved)), 0.0) * np.sign(moved[0])
    if np.abs(both).max() < 0.5:
        sentence = (
            f"{name} does not move with {largest:.3g} N m or N, described are {model.friction[i]:.3g} of friction"
        )
        line = Change("arm", f"brake, encoder or drive of {name}")
        return Finding("no_motion", (name,), sentence, largest, "N m or N", 0.8, line), shown, state
    together = mass_matrix_inverse(model, state.q) / motion_seen(runner)[:, None]  # columns: ways of free joints
    along = np.abs(both @ together) / np.linalg.norm(together, axis=0)
    likely = np.maximum(np.abs(both), along)  # the other joints stuck, or free
    other = int(np.argmax(likely))
    if likely[i] > LIKELY * likely[other]:
        why = f"{both[i] * motion_seen(runner)[i] * 1e3:.2f} mrad or mm at {largest:.3g} N m or N"
        light = pushed[-1].inertia * FRACTION / least
        if both[i] < 0.0:
            return reversed_command(name, why), shown, state
        if light < UNIT:  # NaN is not
            sentence = (
                f"{name} is as fast as if its command were {1.0 / light:.1f} times as large, or more: another unit"
            )
            line = Change("driver", f"unit of the commands of {name}")
            return Finding("command_unit", (name,), sentence, 1.0 / light, "", 0.9, line), shown, state
        return None, shown, state
    names = (name, model.joint_names[other])
    line = Change("parameters", "joints", names[::-1])
    return (
        Finding("commands_exchanged", names, f"the command of {name} moves {names[1]}", 1.0, "", 0.9, line),
        shown,
        state,
    )


@dataclass(eq=False)
class _Probe:
    """Pushes of several joints, as far as they have come.

    Attributes:
        findings: so far.
        pushes: number of a joint → what its pushes showed.
        side: (n,) 1 and -1 where a joint has followed its command, or is thought to, and where it has gone against it; 0: it
            gets no command.
        bounds: of all pushes.
    """

    runner: StepRunner
    side: Array
    findings: list[Finding] = field(default_factory=list)
    pushes: dict[int, Pushed] = field(default_factory=dict)
    bounds: Bounds | None = None

    def held(self, state: ArmState, damping: Array) -> Array:
        """(n,) the weight and damping."""
        return np.asarray(self.side * (self.runner.weight(state.q) - damping * state.v))

    def motion(self, state: ArmState) -> Motion[bool]:
        """Push one joint after another."""
        runner, names = self.runner, self.runner.model.joint_names
        speed = min(SPEED, MOST - float(exposure(runner.model, state.q)))
        self.bounds = Bounds.around(runner.model, state.q, REACH, speed)
        for i, name in enumerate(names):
            if name in runner.record.frozen:
                sentence = f"the state of {name} does not change at all, those of others do: it is not pushed"
                line = Change("arm", f"encoder of {name}")
                self.findings.append(Finding("frozen_joint", (name,), sentence, 0.0, "", 0.7, line))
                continue
            finding, self.pushes[i], state = yield from _signs(self, i, state)
            self.findings += [finding] if finding is not None else []
        return True


def probe(runner: StepRunner) -> tuple[StepReport, dict[int, Pushed]]:
    """Push each joint a little, both ways, before anything is known of the commands: a wrong sign is named.

    Args:
        runner: of the arm.

    Returns:
        The report, and number of a joint → what its pushes showed.

    Raises:
        ArgumentError: the weight of the arm acts too much where it stands, or no joint states arrive.
    """
    pushes = _Probe(runner, np.ones(runner.model.nv))
    complete, record = runner.run(pushes.motion), runner.record
    if record.ran_away and not pushes.findings:  # as an arm with little friction does whose signs are wrong
        states = [runner.arm.read() for _ in range(math.ceil(REST / runner.period))]
        if (last := states[-1]) is not None and exposure(runner.model, last.q) < CALM:
            pushes = _Probe(runner, np.zeros(runner.model.nv))
            complete = runner.run(pushes.motion)
    if record.fell:
        line = Change("arm", f"brake of {record.fell}")
        finding = Finding("brake", (record.fell,), f"{record.stopped}: it is not held", 1.0, "", 0.9, line)
        return StepReport("float", (finding,)), {}
    if not (record.t or runner.stop()):
        remedy = "Start the robot's driver."
        raise ArgumentError(record.stopped or "no joint states arrive", where="release of the arm", remedy=remedy)
    findings = list(pushes.findings)
    if record.ran_away and not findings and not runner.stop():
        sentence = f"the arm runs away while it is pushed gently: {record.stopped}"
        line = Change("description", "masses, mounting or a payload; or signs and unit of commands")
        findings.append(Finding("drift", (), sentence, 1.0, "", 0.8, line))
    notes = (record.stopped,) if record.stopped else ()
    return StepReport("float", tuple(findings), {}, bool(complete or findings), notes=notes), pushes.pushes
