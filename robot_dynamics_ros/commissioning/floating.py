"""Third step: small pushes of each joint show its commands, then the arm floats, and its drift
shows errors of the description.

Where its weight acts little (:mod:`~robot_dynamics_ros.commissioning.release`), the arm is released
for ever longer instants: however late commands act, no release is longer than its command.  Then
each joint is pushed by an effort that grows until it moves, either way, and is held again by what
held it before.  At last the weight is compensated as described.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.commissioning.arm import (
    STANDING_SPEED_SHARE,
    ArmState,
    Bounds,
    Command,
    StepMotion,
    StepRunner,
)
from robot_dynamics_ros.commissioning.findings import Finding, StepReport, mistake
from robot_dynamics_ros.commissioning.release import (
    effort_limit,
    exposure,
    least_inertia,
    scale_of,
    speed_limit,
    usual_rotors,
)
from robot_dynamics_ros.dynamics import gravity_forces, mass_matrix, mass_matrix_inverse
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# 1/s, damping of each joint over its least inertia: calm with 20 ms of delay and a filter of 5 Hz.
# With half of it an arm with an unknown load drifts twice as fast.
HOLDING_DAMPING_PER_S = 12.0
# Part of that damping that acts before commands are proven: a wrong sign would feed the motion.
GENTLY = 0.15
# s, of the last release; each is twice as long as the one before. Twice as long lets an arm without
# compensation fall four times as far.
LONGEST_RELEASE_S = 0.064
# s after a release in which the arm is held: at least, and until it stands.
REST = (0.09, 1.5)
# Times the speed that a release has shown: how fast the next one may become, twice as long, before
# it is seen. With less of it, the announced speed is exceeded by an arm that falls.
PUSH_AHEAD = 3.0
# Times the speed that the described weight would give: faster is no error of the description.
TWICE = 2.0
# Share of the velocity limit that is announced at most.
RELEASE_SPEED_SHARE = 0.045
# The same with what may be added until a stop acts: the guard of the driver has to lie above it.
ANNOUNCED_SPEED_SHARE = 0.095
# Inertia seen over the least that is described, below which commands are in another unit. Higher
# accuses light wrists; lower misses units that differ by a factor of two.
UNIT_DOUBT_SHARE = 0.4
# 1/s, of the effort limit: how fast a push grows, or slower where a joint may be light
PUSH_RISE_PER_S = 0.06
# Shares of the velocity limit that a push may give to the least inertia: before, and after the
# joint's unit is seen. Twice as much moves a joint in a wrong unit faster than is announced.
PUSHED_SPEED_SHARES = (0.01, 0.02)
# s, beside two periods, until the motion that a push causes is seen.
MOTION_SEEN_AFTER_S = 0.02
# s, longest push while a lighter joint has not followed its commands
LONGEST_PUSH_S = 20.0
# s, of a push that is announced
ANNOUNCED_PUSH_S = 10.0
# Share of the likeliest joint's likeness from which on it may have been the joint itself that was
# pushed
PUSHED_CERTAINTY = 0.9
# Least inertia that is expected, over the description's
FRACTION = 0.8
GEARED = 0.1
"""Least share of the rotor that the controller assumes, of a joint whose description has none.

Without it, wrists are pushed for minutes.
"""
# The largest push is this share of the effort limit, and
PUSH_LIMIT_SHARE = 0.03
# times the described friction: it is that of a warm gear, and a cold one has more. A joint that has
# still more is reported as one that does not move.
RUB = 4.0
# Share of the effort limit that is taken for the friction where none is described.
UNKNOWN_PUSH_SHARE = 0.03
# rad that count as motion; or times the standard deviation of positions, if that is more
MOTION_OF_PUSH_RAD = 4e-4
NOISES_OF_MOTION = 8.0
OTHER_JOINTS_MOTION = 10.0, 3.0
"""Times that motion of joints that are not pushed: they may drift or be dragged along; of those of
which nothing is proven.
"""
# rad beside a stop within which a joint is not pushed towards it
STOP_ROOM_RAD = 5e-3
# rad, announced of a joint that twitches; the others stay within as much
TWITCH_REACH_RAD = 0.06
# rad, announced of an arm that floats
FLOAT_REACH = 0.05
# Share of the velocity limit, announced
FLOAT_SPEED = 0.04
# rad, from which on an arm drifts
DRIFTED = 0.01
# Hz, of the vibrations whose way through the loop shows its delay: several, since one alone does
# not tell a delay from the same delay and a whole period.
TONES = (4.0, 7.0, 12.0)
# Share of the velocity limit that they reach.
SHAKEN = 3e-3
# s, longest delay that is looked for: a third of a period of the slowest vibration.
LONGEST_DELAY = 0.08
# Amplitudes of measured efforts over their standard error that show a delay.
HEARD = 12.0
LIFTED = 0.35
"""Part of the weight by which the effort of a drift may differ from all of it where gravity is
compensated twice.
"""
GRAVITY_ERROR = 0.15
"""Share of the largest weight of a joint, or of a tenth of its effort limit, that counts as a
mistake.
"""


def damping_of(model: RobotModel, q: Array) -> Array:
    """(n,) N m s/rad or N s/m, of an arm that floats."""
    return HOLDING_DAMPING_PER_S * least_inertia(model, q)


def motion_seen(runner: StepRunner) -> Array:
    """(n,) rad or m that count as motion."""
    return np.maximum(
        MOTION_OF_PUSH_RAD * scale_of(runner.model), NOISES_OF_MOTION * runner.position_noise
    )


def _rise(runner: StepRunner, i: int, inertia: float, q: Array, share: float) -> float:
    """N m/s or N/s, at which a push on joint i grows that leaves this inertia slow until its motion
    is seen.
    """
    model = runner.model
    distance = motion_seen(runner)[i]
    late = MOTION_SEEN_AFTER_S + 2.0 * runner.period
    # speed of joint i at which another one, which it drags along, is at its limit
    drags = np.abs(mass_matrix_inverse(model, q)[:, i])
    bearable = speed_limit(model) * drags[i] / np.maximum(drags, 1e-9 * drags[i])
    fastest = share * float(bearable.min())
    # t, in which it moves that far: rise t³ / (6 J); its speed after that and the delay:
    t = np.geomspace(1e-3, 10.0, 400)
    slow = 3.0 * distance * (t + late) ** 2 / t**3 < fastest
    shortest = t[int(np.argmax(slow))]
    rise = 6.0 * distance * inertia / shortest**3
    return float(min(PUSH_RISE_PER_S * effort_limit(model)[i], rise))


def breaking_free(
    t: Array,
    displacement: Array,
    rise: float,
    least: float,
) -> tuple[float, float]:
    """When, s, a joint that an effort pushes that grows from t = 0 on breaks free, and its inertia:
    it then moves by rise (t − t₀)³ / (6 J).

    Its inertia is less where friction falls as it breaks free; NaN where too little of (k,)
    displacements from rest, rad or m, exceeds ``least``, which is noise.
    """
    noise = np.flatnonzero(displacement <= least)
    first = int(noise[-1]) + 1 if len(noise) else 0
    if len(t) - first < 2:
        return math.nan, math.nan
    slope, start = np.polyfit(t[first:], np.cbrt(displacement[first:]), 1)
    if slope > 0.0:
        return (max(-start / slope, 0.0), rise / (6.0 * slope**3))
    return (math.nan, math.nan)


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


class _Probe:
    """Pushes of several joints, as far as they have come.

    ``proven`` are the numbers of joints that have shown that their commands are their own, and in
    which unit; ``side`` (n,) is −1 where a joint has gone against its command; ``damping`` (n,) is
    much less of joints that are not proven; ``carried``: 1 if the weight is commanded.
    """

    def __init__(self, runner: StepRunner, announce: Callable[[str], None]) -> None:
        self.runner, self.model, self.limit, self.announce = (
            runner,
            runner.model,
            speed_limit(runner.model),
            announce,
        )
        self.findings, self.pushes, self.proven = list[Finding](), dict[int, Pushed](), set[int]()
        self.side = np.ones(self.model.nv)
        self.carried = 0.0

    def motion(self, state: ArmState) -> StepMotion[bool]:
        """Release the arm for ever longer instants, then push one joint after another, the lightest
        first.
        """
        frozen = self.runner.record.frozen
        names = self.model.joint_names
        model = self.model
        self.bounds = Bounds.around(
            model,
            state.q,
            TWITCH_REACH_RAD,
            min(RELEASE_SPEED_SHARE, ANNOUNCED_SPEED_SHARE - float(exposure(model, state.q))),
        )
        self.damping = GENTLY * damping_of(model, state.q)
        calm, state = yield from self.releases(state)
        if not calm:
            return True
        for name in frozen:
            others = "those of others do: it is not pushed"
            sentence = f"the state of {name} does not change at all, {others}"
            self.findings.append(mistake("frozen_joint", name, sentence, 0.0, certainty=0.7))
        awake = [i for i in range(model.nv) if names[i] not in frozen]
        rises = self.rises(state.q)
        for i in sorted(awake, key=lambda i: float(rises[i])):
            rise = min([rises[i], *(rises[k] for k in awake if k not in self.proven)])
            if rise < rises[i] and self.largest(i) > LONGEST_PUSH_S * rise:
                continue
            if (seconds := (model.friction[i] or self.largest(i)) / rise) > ANNOUNCED_PUSH_S:
                rotor = "less so with its rotor in the description"
                why = f"the joint is light for its friction, {rotor}"
                self.announce(f"each push of {names[i]} may take {seconds:.0f} s: {why}")
            finding, self.pushes[i], state = yield from self.signs(i, state, rise)
            self.findings += [finding] if finding is not None else []
            if finding is not None and finding.kind == "drift":
                break
        return True

    def rises(self, q: Array) -> Array:
        """(n,) rises of the first pushes, N m/s or N/s."""
        inertia = FRACTION * least_inertia(self.model, q, GEARED * usual_rotors(self.model))
        return np.array(
            [_rise(self.runner, i, x, q, PUSHED_SPEED_SHARES[0]) for i, x in enumerate(inertia)]
        )

    def largest(self, i: int) -> float:
        """The largest push of joint i, N m or N."""
        limit = effort_limit(self.model)[i]
        friction = self.model.friction[i]
        return float(PUSH_LIMIT_SHARE * limit + RUB * (friction or UNKNOWN_PUSH_SHARE * limit))

    def held(self, state: ArmState) -> Array:
        """(n,) of the weight, as far as it is commanded, and damping; both with the signs that
        commands have shown.
        """
        return (
            np.asarray(self.carried * self.runner.weight(state.q) - self.damping * state.v)
            * self.side
        )

    def rest(self, state: ArmState) -> StepMotion[ArmState]:
        """Let what held the arm before hold it, until it stands."""
        t = state.t
        still = np.maximum(STANDING_SPEED_SHARE * self.limit, 2e-3)
        shortest, longest = REST
        while state.t - t < shortest or (state.t - t < longest and (np.abs(state.v) > still).any()):
            state = yield Command(self.held(state), self.bounds, hold=True)
        return state

    def release(self, state: ArmState, length: float) -> StepMotion[tuple[Array, ArmState]]:
        """Release the arm for ``length`` s, and hold it again.

        Returns:
            (n,) the largest speed of each joint that is no noise, by the measured velocities and
            by the positions; and the state after that.
        """
        first = len(self.runner.record.t)
        t = state.t
        runner = self.runner
        while state.t - t < length - 0.5 * runner.period:
            state = yield Command(self.held(state), self.bounds)
        state = yield from self.rest(state)
        times, q, v, _ = runner.record.arrays(first)
        calm = np.abs(v[-10:]).max(axis=0)
        speed = np.where(np.abs(v).max(axis=0) > 3.0 * calm, np.abs(v).max(axis=0), 0.0)
        # slow motions show over more periods, those that last a moment only over few
        for back in (2, 6):
            moved = q[back:] - q[:-back]
            took = (times[back:] - times[:-back])[1:, None]
            # noise does not have the same sign twice
            same = np.sign(moved[1:]) == np.sign(moved[:-1])
            steady = np.minimum(np.abs(moved[1:]), np.abs(moved[:-1])) * same
            seen = steady > 6.0 * runner.position_noise + 1e-5
            speed = np.maximum(speed, np.where(seen, steady / took, 0.0).max(axis=0, initial=0.0))
        return speed, state

    def releases(self, state: ArmState) -> StepMotion[tuple[bool, ArmState]]:
        """Release the arm with no effort, then with its weight, ever longer; whether it is slow
        with one of them.
        """
        runner = self.runner
        model = self.model
        limit = self.limit
        slow = [False, False]
        worst = np.zeros(model.nv)
        for commanded in (0, 1):
            self.carried = float(commanded)
            length = runner.period
            while True:
                speed, state = yield from self.release(state, length)
                worst = np.maximum(worst, speed)
                if (PUSH_AHEAD * speed > RELEASE_SPEED_SHARE * limit).any():
                    break
                if length > LONGEST_RELEASE_S:
                    slow[commanded] = True
                    break
                length *= 2.0
            falls = length * np.abs(mass_matrix_inverse(model, state.q) @ runner.weight(state.q))
            if (
                not (slow[0] or commanded)
                and (speed > TWICE * falls + RELEASE_SPEED_SHARE / PUSH_AHEAD * limit).any()
            ):
                break
        self.carried = float(slow[1])
        if not any(slow):
            i = int(np.argmax(worst / limit))
            name = model.joint_names[i]
            ms = length * 1e3
            unit = model.joint(name).type.units[1]
            why = (
                f"{name} reaches {worst[i]:.3f} {unit} within {ms:.0f} ms where its weight "
                "should act little"
            )
            self.findings.append(mistake("drift", name, why, worst[i]))
        return any(slow), state

    def push(
        self,
        i: int,
        sign: float,
        rise: float,
        state: ArmState,
    ) -> StepMotion[tuple[Pushed, Array, ArmState]]:
        """Push joint i until something moves, and hold the arm; what is seen, (n,) the motion, and
        the state after it.
        """
        n = self.model.nv
        q = state.q
        t = state.t
        most = self.largest(i)
        push = 0.0
        moved = np.zeros(n)
        rows = []
        enough = motion_seen(self.runner)
        others = enough * [
            1.0 if k == i else OTHER_JOINTS_MOTION[k not in self.proven] for k in range(n)
        ]
        while push < most and not (np.abs(moved) > others).any():
            push = min(rise * (state.t - t), most)
            effort = self.held(state)
            effort[i] += sign * push
            state = yield Command(effort, self.bounds)
            moved = state.q - q
            # within its play, positions do not show it
            if abs(state.v[i]) > PUSHED_SPEED_SHARES[1] * self.limit[i]:
                moved[i] = math.copysign(max(abs(moved[i]), 2.0 * enough[i]), state.v[i])
            rows.append((state.t - t, abs(moved[i])))
        times, displacements = np.array(rows).T
        free, seen = breaking_free(times, displacements, rise, 0.2 * enough[i])
        state = yield from self.rest(state)
        return (
            Pushed(push, push if math.isnan(free) else min(rise * free, push), seen, q),
            moved,
            state,
        )

    def _unmoved(
        self,
        i: int,
        both: Array,
        drifts: Array,
        largest: float,
    ) -> Finding | None:
        """The mistake of a joint that no push moves, or of an arm that moves whatever is pushed."""
        names = self.model.joint_names
        if max(np.abs(both).max(), 1.0) < drifts.max():
            loose = names[int(np.argmax(drifts))]
            return mistake("drift", loose, f"{loose} moves the same way whatever is commanded", 1.0)
        if np.abs(both).max() < 0.5:
            unit = self.model.joint(names[i]).type.units[2]
            described = f"described are {self.model.friction[i]:.3g} {unit} of friction"
            sentence = f"{names[i]} does not move with {largest:.3g} {unit}, {described}"
            return mistake("no_motion", names[i], sentence, largest)
        return None

    def signs(
        self,
        i: int,
        state: ArmState,
        rise: float,
    ) -> StepMotion[tuple[Finding | None, Pushed, ArmState]]:
        """Push joint i both ways; a mistake of its commands, if there is one, what both pushes
        show, and the state after them.
        """
        runner = self.runner
        model = self.model
        name = model.joint_names[i]
        noise = motion_seen(runner)
        least = FRACTION * float(least_inertia(model, state.q)[i])
        moved = list[Array]()
        pushed = list[Pushed]()
        up, down = (
            abs(limit[i] - state.q[i]) > STOP_ROOM_RAD * scale_of(model)[i]
            for limit in (model.upper, model.lower)
        )
        # not against a stop
        for sign in (1.0 if up else -1.0, -1.0 if down else 1.0):
            seen, motion, state = yield from self.push(i, sign, rise, state)
            # NaN is not; friction that falls makes it look smaller, or larger
            if seen.inertia > UNIT_DOUBT_SHARE * least and not moved:
                inertia = max(least, 0.5 * seen.inertia)
                rise = max(rise, _rise(runner, i, inertia, state.q, PUSHED_SPEED_SHARES[1]))
            pushed.append(seen)
            moved.append(sign * motion / noise)
        largest = max(seen.effort for seen in pushed)
        # NaN is not
        shows = [seen.inertia for seen in pushed if seen.inertia > 0.0]
        inertia = max(least, min(shows, default=least))
        shown = Pushed(largest, max(seen.friction for seen in pushed), inertia, state.q)
        ways = np.sign(moved)
        smaller = np.minimum(*np.abs(moved))
        both = smaller * (ways[0] == ways[1]) * ways[0]
        drifts = smaller * (ways[0] == -ways[1])
        unmoved = self._unmoved(i, both, drifts, largest)
        if unmoved is not None:
            return unmoved, shown, state
        # columns: ways of free joints
        together = mass_matrix_inverse(model, state.q) / noise[:, None]
        along = np.abs(both @ together) / np.linalg.norm(together, axis=0)
        # the other joints stuck, or free
        likely = np.maximum(np.abs(both), along)
        other = int(np.argmax(likely))
        if likely[i] <= PUSHED_CERTAINTY * likely[other]:
            names = (name, model.joint_names[other])
            sentence = f"the command of {name} moves {names[1]}"
            return mistake("commands_exchanged", names, sentence, 1.0, names[::-1]), shown, state
        light = max(shows, default=math.nan) * FRACTION / least
        # both ways: friction that falls as a joint breaks free makes it look light, too
        if light < UNIT_DOUBT_SHARE:
            text = (
                f"{name} is as fast as if its command were {1.0 / light:.1f} times as large, or "
                "more: another unit"
            )
            return mistake("command_unit", name, text, 1.0 / light), shown, state
        self.proven.add(i)
        self.side[i], self.damping[i] = math.copysign(1.0, both[i]), damping_of(model, state.q)[i]
        angle, _, effort = model.joint(name).type.units
        why = (
            f"{name} moves against its command ({both[i] * noise[i] * 1e3:.2f} m{angle} at "
            f"{largest:.3g} {effort})"
        )
        return (mistake("command_sign", name, why, -1.0) if both[i] < 0.0 else None), shown, state


def probe(
    runner: StepRunner, announce: Callable[[str], None] = lambda sentence: None
) -> tuple[StepReport, dict[int, Pushed]]:
    """Push each joint a little, both ways, before anything is known of the commands: a wrong sign
    is named.

    Args:
        runner: of the arm.
        announce: called with a sentence before pushes that may take long.

    Returns:
        The report, and number of a joint → what its pushes showed.

    Raises:
        ArgumentError: the weight of the arm acts too much where it stands, or no joint states
            arrive.
    """
    pushes = _Probe(runner, announce)
    complete = runner.run(pushes.motion)
    record = runner.record
    if record.fell:
        return StepReport(
            "float", (mistake("brake", record.fell, f"{record.stopped}: it is not held", 1.0),)
        ), {}
    if not (record.t or runner.stop()):
        remedy = "Start the robot's driver."
        raise ArgumentError(
            record.stopped or "no joint states arrive", where="release of the arm", remedy=remedy
        )
    exchanged = set(
        itertools.chain.from_iterable(
            f.joints for f in pushes.findings if f.kind == "commands_exchanged"
        )
    )
    findings = [f for f in pushes.findings if f.kind != "no_motion" or f.joints[0] not in exchanged]
    findings.sort(key=lambda f: runner.model.joint_names.index(f.joints[0]))
    if record.ran_away and not findings and not runner.stop():
        findings.append(
            mistake(
                "drift", (), f"the arm runs away while it is pushed gently: {record.stopped}", 1.0
            )
        )
    notes = [record.stopped] if record.stopped else []
    rest = runner.model.nv - len(pushes.pushes) - len(record.frozen)
    if complete and rest and not any(f.kind == "drift" for f in findings):
        notes.append(
            f"{rest} joints were not pushed: a lighter one, whose commands they may get, has not "
            "moved"
        )
    return StepReport(
        "float", tuple(findings), {}, bool(complete or findings), notes=tuple(notes)
    ), pushes.pushes


def drift(model: RobotModel, t: Array, q: Array, damping: Array) -> StepReport:
    """The effort that moves an arm whose weight is compensated as described.

    Args:
        t: (k,) s.
        q: (k, n) positions, rad or m.
        damping: (n,) of the motion, N m s/rad or N s/m.

    Returns:
        A report; its number ``"drift"`` is how far joints went, ``"effort"`` the mean effort that
        moved them beyond friction.

    Raises:
        ArgumentError: fewer than ten states.
    """
    t = np.asarray(t, dtype=np.float64)
    q = np.asarray(q, dtype=np.float64)
    if len(t) < 10 or t[-1] <= t[0]:
        raise ArgumentError(
            f"{len(t)} states are too few", where="drift", remedy="Let the arm float for a second."
        )
    far = q[-1] - q[0]
    when = t - t[0]
    fit = np.polyfit(when, q, 2)
    speed = 2.0 * fit[0] * when.mean() + fit[1]
    acceleration = 2.0 * fit[0]
    effort = mass_matrix(model, q.mean(axis=0)) @ acceleration + damping * speed
    heaviest = np.maximum(np.abs(gravity_forces(model, q)).max(axis=0), 0.1 * effort_limit(model))
    findings = []
    notes = []
    weight = gravity_forces(model, q.mean(axis=0))
    drifting = (np.abs(far) > 0.3 * DRIFTED * scale_of(model)) & (
        np.abs(weight) > 2.0 * model.friction
    )
    share = float(
        effort[drifting] @ weight[drifting] / max(float(weight[drifting] @ weight[drifting]), 1e-12)
    )
    if drifting.any() and abs(share - 1.0) < LIFTED:
        sentence = f"the arm rises by {share:.2f} times its weight, which is compensated"
        sentence += ": the driver compensates gravity, too"
        finding = mistake("gravity_compensated_by_driver", (), sentence, share, "robot")
        return StepReport("float", (finding,), {"drift": far})
    for i in np.flatnonzero(np.abs(far) > DRIFTED * scale_of(model)):
        name = model.joint_names[i]
        share = abs(effort[i]) / heaviest[i]
        unit, _, unit_of_effort = model.joint(name).type.units
        sentence = f"{name} drifts by {far[i]:+.3f} {unit} in {when[-1]:.1f} s"
        sentence += f": {effort[i]:+.2f} {unit_of_effort} beyond its friction move it"
        if share > GRAVITY_ERROR:
            line = "masses and centres of mass from this joint on, or a payload"
            findings.append(mistake("drift", name, sentence, effort[i], certainty=0.9, line=line))
        else:
            notes.append(sentence)
    return StepReport(
        "float", tuple(findings), {"drift": far, "effort": effort}, notes=tuple(notes)
    )


def amplitudes(t: Array, x: Array, frequencies: Array) -> tuple[Array, Array]:
    """(f, ...) complex amplitudes of vibrations beside a parabola, at frequencies (f,), rad/s, of
    (k, ...) values; what neither explains.
    """
    waves = np.exp(1j * np.outer(t, frequencies))
    A = np.column_stack([np.vander(t, 3, increasing=True), waves.real, -waves.imag])
    fit = np.linalg.lstsq(A, x, rcond=None)[0]
    return fit[3 : 3 + len(frequencies)] + 1j * fit[3 + len(frequencies) :], x - A @ fit


def effort_delay(t: Array, command: Array, effort: Array, frequencies: Array) -> float:
    """Delay from commands to measured efforts (k, n), s, whatever the sign and the unit of these;
    NaN where efforts do not show the vibrations of the commands, of these frequencies, rad/s.
    """
    U, _ = amplitudes(t, command, frequencies)
    E, rest = amplitudes(t, np.nan_to_num(effort), frequencies)
    noise = np.where(
        np.isnan(effort).any(axis=0), np.inf, np.std(rest, axis=0) * np.sqrt(2.0 / len(t))
    )
    heard = np.linalg.norm(E, axis=0) > HEARD * np.maximum(noise, 1e-12)
    if not heard.any():
        return math.nan
    delays = np.arange(0.0, LONGEST_DELAY, 2.5e-4)
    turned = (
        np.exp(1j * np.outer(delays, frequencies))
        @ (E * U.conj() / np.linalg.norm(U, axis=0) / noise)[:, heard]
    )
    return float(delays[int(np.argmax((turned.real**2).sum(axis=1)))])


def late_commands(delay: float, period: float) -> list[Finding]:
    """The finding of a robot's delay, s, if it is more than 1.5 periods."""
    if not (delay > 1.5 * period and delay > 2e-3):
        return []
    periods = delay / period
    sentence = f"commands act {delay * 1e3:.1f} ms late, {periods:.1f} periods of the joint states"
    return [mistake("delay", (), sentence, delay, round(delay, 4))]


def float_arm(runner: StepRunner, seconds: float = 3.0) -> StepReport:
    """Let the arm float, within :data:`FLOAT_REACH`, and stop it where it drifts farther.

    Args:
        runner: of the arm, whose commands are proven by :func:`probe`.
        seconds: how long.
    """
    model = runner.model
    damping = np.zeros(model.nv)
    tones = 2.0 * np.pi * np.array(TONES)

    def motion(state: ArmState) -> StepMotion[bool]:
        damping[:] = damping_of(model, state.q)
        shake = SHAKEN * speed_limit(model) * least_inertia(model, state.q)
        begun = state.t
        bounds = Bounds.around(model, state.q, FLOAT_REACH, FLOAT_SPEED)
        while (now := state.t - begun) < seconds:
            shaking = float((tones * np.sin(tones * now)).sum()) * shake
            state = yield Command(runner.weight(state.q) - damping * state.v + shaking, bounds)
        return True

    runner.run(motion, open_to=0.5)
    record = runner.record
    if (record.stopped and not record.ran_away) or len(record.t) < 10:
        return StepReport(
            "float", (), {}, enough=False, notes=(record.stopped,) if record.stopped else ()
        )
    t, q, _, u = record.arrays()
    report = drift(model, t, q, damping)
    delay = effort_delay(t - t[0], u, np.array(record.effort), tones) - runner.period
    report = dataclasses.replace(
        report, findings=(*report.findings, *late_commands(delay, runner.period))
    )
    if record.stopped and not report.findings:
        finding = mistake("drift", (), f"the arm does not float: {record.stopped}", 1.0)
        return StepReport("float", (finding,), report.numbers)
    return report
