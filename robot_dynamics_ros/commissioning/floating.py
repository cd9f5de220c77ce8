"""Third step: the arm floats with its weight compensated as described; its drift shows errors of the description."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from robot_dynamics_ros.commissioning.arm import ArmState, Bounds, Command, StepMotion, StepRunner
from robot_dynamics_ros.commissioning.findings import Finding, StepReport, mistake
from robot_dynamics_ros.commissioning.probe import damping_of
from robot_dynamics_ros.commissioning.release import effort_limit, least_inertia, scale_of, speed_limit
from robot_dynamics_ros.dynamics import gravity_forces, mass_matrix
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

REACH = 0.05  # rad, announced of an arm that floats
SPEED = 0.04  # Share of the velocity limit, announced
DRIFTED = 0.01  # rad, from which on an arm drifts
TONES, SHAKEN = (4.0, 7.0, 12.0), 3e-3
"""Hz, and share of the velocity limit, of the vibrations whose way through the loop shows its delay."""
LONGEST, HEARD = 0.08, 12.0
"""s, longest delay that is looked for; amplitudes of measured efforts over their standard error that show it."""
LIFTED = 0.35
"""Part of the weight by which the effort of a drift may differ from all of it where gravity is compensated twice."""
GRAVITY_ERROR = 0.15
"""Share of the largest weight of a joint, or of a tenth of its effort limit, that counts as a mistake."""


def drift(model: RobotModel, t: Array, q: Array, damping: Array) -> StepReport:
    """The effort that moves an arm whose weight is compensated as described.

    Args:
        t: (k,) s.
        q: (k, n) positions, rad or m.
        damping: (n,) of the motion, N m s/rad or N s/m.

    Returns:
        A report; its number ``"drift"`` is how far joints went, ``"effort"`` the mean effort that moved them beyond friction.

    Raises:
        ArgumentError: fewer than ten states.
    """
    t, q = np.asarray(t, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if len(t) < 10 or t[-1] <= t[0]:
        raise ArgumentError(f"{len(t)} states are too few", where="drift", remedy="Let the arm float for a second.")
    far, when = q[-1] - q[0], t - t[0]
    fit = np.polyfit(when, q, 2)
    speed, acceleration = 2.0 * fit[0] * when.mean() + fit[1], 2.0 * fit[0]
    effort = mass_matrix(model, q.mean(axis=0)) @ acceleration + damping * speed
    heaviest = np.maximum(np.abs(gravity_forces(model, q)).max(axis=0), 0.1 * effort_limit(model))
    findings, notes = [], []
    weight = gravity_forces(model, q.mean(axis=0))
    drifting = (np.abs(far) > 0.3 * DRIFTED * scale_of(model)) & (np.abs(weight) > 2.0 * model.friction)
    share = float(effort[drifting] @ weight[drifting] / max(float(weight[drifting] @ weight[drifting]), 1e-12))
    if drifting.any() and abs(share - 1.0) < LIFTED:
        sentence = (
            f"the arm rises by {share:.2f} times its weight, which is compensated: the driver compensates gravity, too"
        )
        finding = mistake("gravity_compensated_by_driver", (), sentence, share, "robot")
        return StepReport("float", (finding,), {"drift": far})
    for i in np.flatnonzero(np.abs(far) > DRIFTED * scale_of(model)):
        name, share = model.joint_names[i], abs(effort[i]) / heaviest[i]
        sentence = (
            f"{name} drifts by {far[i]:+.3f} in {when[-1]:.1f} s: {effort[i]:+.2f} N m or N beyond its friction move it"
        )
        if share > GRAVITY_ERROR:
            line = "masses and centres of mass from this joint on, or a payload"
            findings.append(mistake("drift", name, sentence, effort[i], certainty=0.9, line=line))
        else:
            notes.append(sentence)
    return StepReport("float", tuple(findings), {"drift": far, "effort": effort}, notes=tuple(notes))


def effort_delay(t: Array, command: Array, effort: Array, frequencies: Array) -> float:
    """Delay from commands to measured efforts (k, n), s, whatever the sign and the unit of these; NaN where efforts do not show the
    vibrations of the commands, of these frequencies, rad/s."""
    A = np.column_stack([t**0, t, t * t, *np.cos(np.outer(frequencies, t)), *np.sin(np.outer(frequencies, t))])
    sent, measured = (np.linalg.lstsq(A, np.nan_to_num(x), rcond=None)[0] for x in (command, effort))
    f, noise = len(frequencies), np.std(effort - A @ measured, axis=0) * np.sqrt(2.0 / len(t))
    U, E = (x[3 : 3 + f] - 1j * x[3 + f :] for x in (sent, measured))
    heard = np.linalg.norm(E, axis=0) > HEARD * np.maximum(noise, 1e-12)
    if not heard.any():
        return math.nan
    delays = np.arange(0.0, LONGEST, 2.5e-4)
    turned = np.exp(1j * np.outer(delays, frequencies)) @ (E * U.conj() / np.linalg.norm(U, axis=0) / noise)[:, heard]
    return float(delays[int(np.argmax((turned.real**2).sum(axis=1)))])


def late_commands(delay: float, period: float) -> list[Finding]:
    """The finding of a robot's delay, s, if it is more than 1.5 periods."""
    if not (delay > 1.5 * period and delay > 2e-3):
        return []
    sentence = f"commands act {delay * 1e3:.1f} ms late, {delay / period:.1f} periods of the joint states"
    return [mistake("delay", (), sentence, delay, round(delay, 4))]


def float_arm(runner: StepRunner, seconds: float = 3.0, push: float = 0.0) -> StepReport:
    """Let the arm float, within :data:`REACH`, and stop it where it drifts farther.

    Args:
        runner: of the arm, whose commands are proven by :func:`~robot_dynamics_ros.commissioning.probe`.
        seconds: how long.
        push: s after that in which a person may push it, by 0.3 rad at most.
    """
    model = runner.model
    damping, tones = np.zeros(model.nv), 2.0 * np.pi * np.array(TONES)

    def motion(state: ArmState) -> StepMotion[int]:
        damping[:] = damping_of(model, state.q)
        shake, begun = SHAKEN * speed_limit(model) * least_inertia(model, state.q), state.t
        for length, reach in ((seconds, REACH), (push, 0.3)):
            start, bounds = state, Bounds.around(model, state.q, reach, SPEED)
            while state.t - start.t < length:
                shaking = float((tones * np.sin(tones * (state.t - begun))).sum()) * shake
                state = yield Command(runner.weight(state.q) - damping * state.v + shaking, bounds)
        return 0

    runner.run(motion, open_to=0.5)
    record = runner.record
    if (record.stopped and not record.ran_away) or len(record.t) < 10:
        return StepReport("float", (), {}, enough=False, notes=(record.stopped,) if record.stopped else ())
    last = max(10, int(np.searchsorted(np.array(record.t), record.t[0] + seconds)))
    t, q, _, u = record.arrays()
    report = drift(model, t[:last], q[:last], damping)
    delay = effort_delay(t[:last] - t[0], u[:last], np.array(record.effort[:last]), tones) - runner.period
    report = dataclasses.replace(report, findings=(*report.findings, *late_commands(delay, runner.period)))
    if record.stopped and not report.findings:
        finding = mistake("drift", (), f"the arm does not float: {record.stopped}", 1.0)
        return StepReport("float", (finding,), report.numbers)
    return report
