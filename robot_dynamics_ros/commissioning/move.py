"""Sixth step: a tour, slow and then at its own speed, with errors, efforts against limits, and what is unexplained."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.commissioning.arm import ArmState, Bounds, Motion, StepRunner
from robot_dynamics_ros.commissioning.findings import StepReport, mistake
from robot_dynamics_ros.commissioning.release import effort_limit, scale_of, speed_limit
from robot_dynamics_ros.commissioning.tune import ArmSettings, follow, to_rest
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.reference.tour import Motion as Tour
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.control.robustness import GAPS_PAGE
from robot_dynamics_ros.model.description import Array

SLOWLY = 4.0  # Times as long as the tour itself takes
FAR = 0.05  # rad, error on the way that counts as not followed
NEARLY = 0.95  # Share of the effort limit


def move(runner: StepRunner, settings: ArmSettings, tour: Tour, *, slowly: float = SLOWLY) -> StepReport:
    """Make a tour twice: in ``slowly`` times its duration, then as it is.

    Args:
        runner: of the arm.
        settings: of the controller.
        tour: from where the arm stands.
        slowly: 1: once only.
    """
    model = runner.model
    controller = settings.controller(model)
    runs: dict[str, list[Array]] = {}

    def motion(state: ArmState) -> Motion[bool]:
        for factor in (slowly, 1.0) if slowly > 1.0 else (1.0,):
            errors = runs.setdefault("slow" if factor > 1.0 else "full speed", [])
            samples = np.linspace(0.0, tour.duration, 200)
            places, speed = tour.at(samples), np.abs(tour.at(samples, 1)).max(axis=0) / factor
            here = np.vstack([places, state.q])
            room = 0.5 * FAR * scale_of(model)
            bounds = Bounds(
                here.min(axis=0) - room,
                here.max(axis=0) + room,
                1.3 * speed + 0.25 * speed_limit(model),
                effort_limit(model),
            )
            controller.activate(nanoseconds(state.t), state.q, np.zeros(model.nv))
            to_start, way = to_rest(model, tour.waypoints[0], 1.0), tour.trajectory(factor)
            state = yield from follow(runner, controller, to_start, bounds, state, rest=0.3)
            state = yield from follow(runner, controller, way, bounds, state, errors=errors, rest=0.5)
        return True

    runner.run(motion, open_to=0.0)
    return _report(runner, controller, runs)


def _report(runner: StepRunner, controller: JointController, runs: dict[str, list[Array]]) -> StepReport:
    model, record = runner.model, runner.record
    findings, numbers = [], dict[str, "Array | float"]()
    for name, errors in runs.items():
        if errors:
            e = np.array(errors)
            numbers[f"rms error, {name}"] = np.sqrt((e * e).mean(axis=0))
            numbers[f"largest error, {name}"] = np.abs(e).max(axis=0)
            far = np.abs(e).max(axis=0)
            for i in np.flatnonzero(far > FAR * scale_of(model)):
                sentence = f"{model.joint_names[i]} is {far[i]:.3f} rad or m off its trajectory ({name})"
                findings.append(mistake("tracking", model.joint_names[i], sentence, far[i], 0.5))
    if record.command:
        used = np.abs(np.array(record.command)).max(axis=0) / effort_limit(model)
        numbers["effort over limit"] = used
        for i in np.flatnonzero(used > NEARLY):
            sentence = f"{model.joint_names[i]} uses {used[i]:.0%} of its effort limit"
            findings.append(mistake("effort_limit", model.joint_names[i], sentence, used[i], 0.5))
    notes = [record.stopped] if record.stopped else []
    for sentence in controller.description_gaps():
        name = sentence.partition("joint ")[2].partition(":")[0]
        findings.append(mistake("unexplained_effort", name, sentence, 1.0, GAPS_PAGE))
    return StepReport("move", tuple(findings), numbers, enough=not record.stopped, notes=tuple(notes))
