"""Sixth step: a tour, slow and then at its own speed, with errors, efforts against limits, and what is unexplained.

The slow tour shows the friction of the joints; the one at its own speed is made with it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from robot_dynamics_ros.commissioning.arm import ArmState, Bounds, StepMotion, StepRunner
from robot_dynamics_ros.commissioning.findings import Finding, StepReport, mistake
from robot_dynamics_ros.commissioning.release import effort_limit, scale_of, speed_limit
from robot_dynamics_ros.commissioning.tune import ArmSettings, follow, to_rest
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.reference.planning import PlannedMotion
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.control.robustness import GAPS_PAGE
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

SLOWLY = 4.0  # Times as long as the tour itself takes
FAR = 0.05  # rad, error on the way that counts as not followed
NEARLY = 0.95  # Share of the effort limit
WINDOW = 0.2  # s, of the polynomials that smooth the slow tour


def move(
    runner: StepRunner, settings: ArmSettings, tour: PlannedMotion, *, slowly: float = SLOWLY
) -> tuple[StepReport, ArmSettings]:
    """Make a tour twice: in ``slowly`` times its duration, then as it is, with the friction that the slow one has shown.

    Rotors stay as they are: the margin is proven with them.

    Args:
        runner: of the arm.
        settings: of the controller.
        tour: from where the arm stands.
        slowly: 1: once only.

    Returns:
        The report, and the settings to use.
    """
    model, notes = runner.model, list[str]()
    findings, numbers, used = list[Finding](), dict[str, "Array | float"](), np.zeros(runner.model.nv)
    for factor in (slowly, 1.0) if slowly > 1.0 else (1.0,):
        controller, errors = settings.controller(model), list[Array]()
        runner.run(partial(_tour, runner, controller, tour, factor, errors), open_to=0.0)
        if errors:
            name = "slow" if factor > 1.0 else "full speed"
            findings += _tracking(model, name, np.array(errors), numbers)
        if runner.record.command:
            used = np.maximum(used, np.abs(np.array(runner.record.command)).max(axis=0) / effort_limit(model))
        if runner.record.stopped:
            notes.append(runner.record.stopped)
            break
        if factor > 1.0:
            settings, learned, sentence = settings.learned_from(runner, WINDOW, ("damping", "friction"))
            numbers |= learned
            notes.append(sentence)
    numbers["effort over limit"] = used
    for i in np.flatnonzero(used > NEARLY):
        sentence = f"{model.joint_names[i]} uses {used[i]:.0%} of its effort limit"
        findings.append(mistake("effort_limit", model.joint_names[i], sentence, used[i], 0.5))
    for sentence in controller.description_gaps():
        name = sentence.partition("joint ")[2].partition(":")[0]
        findings.append(mistake("unexplained_effort", name, sentence, 1.0, GAPS_PAGE))
    enough = not runner.record.stopped
    return StepReport("move", tuple(findings), numbers, enough=enough, notes=tuple(notes)), settings


def _tour(
    runner: StepRunner,
    controller: JointController,
    tour: PlannedMotion,
    factor: float,
    errors: list[Array],
    state: ArmState,
) -> StepMotion[bool]:
    """Go to the start of the tour, and make it in ``factor`` times its duration; its errors (n,) are appended."""
    model, samples = runner.model, np.linspace(0.0, tour.duration, 200)
    places, speed = tour.at(samples), np.abs(tour.at(samples, 1)).max(axis=0) / factor
    here, room = np.vstack([places, state.q]), 0.5 * FAR * scale_of(model)
    most = 1.3 * speed + 0.25 * speed_limit(model)
    bounds = Bounds(here.min(axis=0) - room, here.max(axis=0) + room, most, effort_limit(model))
    controller.activate(nanoseconds(state.t), state.q, np.zeros(model.nv))
    state = yield from follow(runner, controller, to_rest(model, tour.waypoints[0], 1.0), bounds, state, rest=0.3)
    yield from follow(runner, controller, tour.trajectory(factor), bounds, state, errors=errors, rest=0.5)
    return True


def _tracking(model: RobotModel, name: str, e: Array, numbers: dict[str, Array | float]) -> list[Finding]:
    """Joints that are far off; the errors (k, n) of a tour with this name go into ``numbers``."""
    far = np.abs(e).max(axis=0)
    numbers[f"rms error, {name}"], numbers[f"largest error, {name}"] = np.sqrt((e * e).mean(axis=0)), far
    findings = []
    for i in np.flatnonzero(far > FAR * scale_of(model)):
        sentence = f"{model.joint_names[i]} is {far[i]:.3f} rad or m off its trajectory ({name})"
        findings.append(mistake("tracking", model.joint_names[i], sentence, far[i], 0.5))
    return findings
