"""Third step: the arm floats on its weight as described; drift shows what the description leaves."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.commissioning.arm import ArmState, Bounds, Command, Motion, StepRunner, effort_limit, scale_of
from robot_dynamics_ros.commissioning.findings import Change, Finding, StepReport
from robot_dynamics_ros.dynamics import gravity_forces, mass_matrix
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["REACH", "damping_of", "drift", "float_arm"]

REACH = 0.05
"""rad, announced of an arm that floats."""
SPEED = 0.04
"""Share of the velocity limit, announced."""
DAMPING = 4.0
"""1/s, of each joint by its inertia."""
DRIFTED = 0.01
"""rad, from which on an arm drifts."""
GRAVITY_ERROR = 0.15
"""Share of the largest weight of a joint, or of a tenth of its effort limit, that counts as a mistake."""


def damping_of(model: RobotModel, q: Array) -> Array:
    """(n,) N m s/rad or N s/m, of an arm that floats."""
    return np.asarray(DAMPING * np.diagonal(mass_matrix(model, q)))


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
    for i in np.flatnonzero(np.abs(far) > DRIFTED * scale_of(model)):
        name, share = model.joint_names[i], abs(effort[i]) / heaviest[i]
        sentence = (
            f"{name} drifts by {far[i]:+.3f} in {when[-1]:.1f} s: {effort[i]:+.2f} N m or N beyond its friction move it"
        )
        if share > GRAVITY_ERROR:
            change = Change("description", "masses and centres of mass from this joint on, or a payload")
            findings.append(Finding("drift", (name,), sentence, float(effort[i]), "N m or N", 0.9, change))
        else:
            notes.append(sentence)
    return StepReport("float", tuple(findings), {"drift": far, "effort": effort}, notes=tuple(notes))


def float_arm(runner: StepRunner, seconds: float = 3.0, push: float = 0.0) -> StepReport:
    """Let the arm float, within :data:`REACH`, and stop it where it drifts farther.

    Args:
        runner: of the arm.
        seconds: how long.
        push: s after that in which a person may push it, by 0.3 rad at most.
    """
    model = runner.model
    damping = np.zeros(model.nv)

    def motion(state: ArmState) -> Motion[int]:
        damping[:] = damping_of(model, state.q)
        for length, reach in ((seconds, REACH), (push, 0.3)):
            start, bounds = state, Bounds.around(model, state.q, reach, SPEED)
            while state.t - start.t < length:
                state = yield Command(runner.weight(state.q) - damping * state.v, bounds)
        return 0

    runner.run(motion)
    record = runner.record
    if record.fell:
        line = Change("arm", f"brake of {record.fell}")
        finding = Finding("brake", (record.fell,), f"{record.stopped}: it is not held", 1.0, "", 0.9, line)
        return StepReport("float", (finding,), {})
    if not (record.t or runner.stop()):
        raise ArgumentError(
            record.stopped or "no joint states arrive", where="float", remedy="Start the robot's driver."
        )
    findings: list[Finding] = []
    if record.lifted:
        change = Change("parameters", "gravity_compensated_by", "robot", safe=True)
        findings.append(
            Finding(
                "gravity_compensated_by_driver",
                (),
                f"the arm rises with its weight compensated ({record.stopped}): the driver compensates gravity, too",
                1.0,
                "",
                0.95,
                change,
            )
        )
    for name in record.reversed_joints:
        findings.append(reversed_command(name, record.stopped))
    if findings or (record.stopped and not record.ran_away) or len(record.t) < 10:
        notes = (record.stopped,) if record.stopped else ()
        return StepReport("float", tuple(findings), {}, enough=bool(findings), notes=notes)
    last = max(10, int(np.searchsorted(np.array(record.t), record.t[0] + seconds)))
    t, q, _, _ = record.arrays()
    report = drift(model, t[:last], q[:last], damping)
    if record.stopped and not report.findings:
        sentence = f"the arm does not float: {record.stopped}"
        change = Change("description", "masses and centres of mass, or a payload")
        return StepReport("float", (Finding("drift", (), sentence, 1.0, "", 0.8, change),), report.numbers)
    return report


def reversed_command(name: str, why: str) -> Finding:
    """The finding for a joint that moves against its commands."""
    return Finding(
        "command_sign",
        (name,),
        f"{name} moves against its command ({why})",
        -1.0,
        "",
        0.95,
        Change("driver", f"sign of the commands of {name}"),
    )
