"""The steps in their order on one arm: what each has found is used by the next, and ends in a
parameter file.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from robot_dynamics_ros.commissioning.arm import Arm, ArmState, Record, StepRunner
from robot_dynamics_ros.commissioning.findings import ANNOUNCED, KINDS, STEPS, StepReport
from robot_dynamics_ros.commissioning.floating import Pushed, float_arm, probe
from robot_dynamics_ros.commissioning.listen import listen_to
from robot_dynamics_ros.commissioning.release import (
    LARGEST_EXPOSURE,
    calm_pose,
    exposure,
    require_calm,
    scale_of,
)
from robot_dynamics_ros.commissioning.tune import ArmSettings, move, tune
from robot_dynamics_ros.commissioning.twitch import twitch
from robot_dynamics_ros.commissioning.weigh import weigh, weighing_poses
from robot_dynamics_ros.control.reference.planning import plan_motion
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.figures import (
    FIGURE_STYLE,
    as_html,
    curve,
    html_finding,
    html_page,
    html_table,
    pyplot,
)
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.measured_effort import MeasuredEffort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.whole_files import whole_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure


UNSAFE = frozenset(KINDS) - {
    "rate",
    "jitter",
    "clock",
    "missing_field",
    "velocity_filter",
    "frozen_effort",
    "friction",
    "delay",
    "inertia",
    "tracking",
    "effort_limit",
    "unexplained_effort",
}
"""Kinds of findings with which the arm is not commanded."""
# s, of joint states without commands: 20 messages come in it at 5 Hz.
LISTENING = 4.0
# Poses through which an arm is led: more of them tire a person and tell little more.
MOST_LED_POSES = 12
# s at rest in a pose: the arm no longer swings.
RESTING = 0.5
# s through a pose, each way: slow enough that accelerations do not count.
PASSING = 2.0
# rad or m between two poses of a person: nearer ones tell the same.
POSES_APART_RAD = 0.2
# s on the way to where the arm floats.
LEADING = 3.0
# s for a person to lead the arm to all poses
LEADING_PATIENCE_S = 300.0
# s without a usable joint state after which a step gives up: on a busy computer of two cores the
# middleware takes up to 10 s to find a publisher
SILENCE_BORNE_S = 15.0


@runtime_checkable
class Leads(Protocol):
    """An arm that can be led by itself: a stand-in."""

    def lead(self, goal: Array, seconds: float, rest: float = 0.0) -> list[ArmState]:
        """States on the way to (n,), and at rest there."""


@dataclass(eq=False)
class Commissioning:
    """The steps on one arm.

    Attributes:
        model: the robot as described.
        arm: the arm, or a stand-in.
        settings: what is known of it; each step adds.
        measured: meaning of measured efforts.
        declared_rate: Hz; NaN: unknown.
        stop: asked at every state whether to stop.
        announce: called with sentences for the person.
        publishers: names of the nodes that publish joint states.
        reports, records: of the steps done so far.
        pushes: number of a joint → what its pushes showed.
        step: under way; ``""``: none.
        sentence: the last one for the person: what a step asks for, or what it has found.
    """

    model: RobotModel
    arm: Arm
    settings: ArmSettings = field(default_factory=ArmSettings)
    measured: MeasuredEffort = field(default_factory=MeasuredEffort)
    declared_rate: float = math.nan
    stop: Callable[[], bool] = lambda: False
    announce: Callable[[str], None] = lambda sentence: None
    publishers: Callable[[], tuple[str, ...]] = tuple
    reports: dict[str, StepReport] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    pushes: dict[int, Pushed] = field(default_factory=dict)
    step: str = ""
    sentence: str = f"ready for {STEPS[0]}"

    def status(self) -> tuple[int, str, dict[str, str]]:
        """For ``/diagnostics``: 1 if a mistake was found, else 0; the last sentence; the step under
        way, and what each has found.
        """
        # a step in another thread may end now
        reports = dict(self.reports)
        values = {
            "step": self.step or "none",
            **{name: str(report) for name, report in reports.items()},
        }
        return int(any(report.findings for report in reports.values())), self.sentence, values

    def tell(self, sentence: str) -> None:
        """Announce a sentence of the step under way."""
        self.sentence = f"{self.step}: {sentence}"
        self.announce(sentence)

    def run(self, step: str) -> StepReport:
        """Do a step; where a mistake has a change that is safe, use it, and do the step again once
        if it needs it.

        Raises:
            UnknownNameError: no such step.
            ArgumentError: an earlier step has found what makes this one unsafe, or has not been
                done.
        """
        check_name("step of commissioning", step, STEPS)
        self.step = step
        self.sentence = f"{step}: {ANNOUNCED[step]}"
        try:
            self._check_before(step)
            report = self._do(step)
            if report.of_kind("gravity_compensated_by_driver") and step == "float":
                self.settings = dataclasses.replace(
                    self.settings, gravity_compensated_by="robot", safe_command="zero"
                )
                self.tell("again with gravity_compensated_by: robot")
                again = self._do(step)
                report = dataclasses.replace(again, findings=(*report.findings, *again.findings))
            self.sentence = f"{step}: {report}"
        except ArgumentError as error:
            self.sentence = str(error)
            raise
        finally:
            self.step = ""
        self.reports[step] = report
        return report

    def _check_before(self, step: str) -> None:
        k = STEPS.index(step)
        if k >= STEPS.index("float"):
            before = STEPS[k - 1]
            report = self.reports.get(before)
            if report is None or not report.enough:
                text = f"needs the step {before} before"
                raise ArgumentError(text, where=f"step {step}", remedy=f"Do {before} first.")
        if self.settings.gravity_compensated_by != "controller":
            used = {"gravity_compensated_by_driver"}
        else:
            used = set()
        for name in STEPS[:k]:
            for finding in self.reports[name].findings if name in self.reports else ():
                if finding.kind in UNSAFE - used and finding.certainty > 0.5:
                    text = f"the arm is not to move: {finding.sentence}"
                    remedy = f"Correct it ({finding.change}), and do {name} again."
                    raise ArgumentError(text, where=f"step {step}", remedy=remedy)

    def _do(self, step: str) -> StepReport:
        if step == "listen":
            return self._listen()
        if step == "weigh":
            return self._weigh()
        runner = StepRunner(
            self.arm, self.settings.model(self.model), self.settings.options, self.stop
        )
        try:
            if step == "float":
                return self._float(runner)
            if step == "twitch":
                report = twitch(runner, self.pushes)
                self.settings = self.settings.learned(self.model.joint_names, report.numbers)
                return report
            if step == "tune":
                report, self.settings = tune(runner, self.settings, self.tell)
                return report
            start = np.clip(self._state().q, self.model.lower, self.model.upper)
            report, self.settings = move(runner, self.settings, plan_motion(self.model, start))
            return report
        finally:
            self.records[step] = runner.record

    def _float(self, runner: StepRunner) -> StepReport:
        """Lead the arm to where its weight acts little, prove its commands, let it float."""
        here = self._state().q
        goal = calm_pose(runner.model, here)
        if exposure(runner.model, goal) > LARGEST_EXPOSURE:
            # nobody waits for a pose that the arm does not have
            require_calm(runner.model, here)
        if isinstance(self.arm, Leads):
            self.arm.lead(goal, LEADING, RESTING)
        elif exposure(runner.model, here) > LARGEST_EXPOSURE:
            pose = np.round(goal, 2).tolist()
            self.tell(
                f"lead the arm to a pose where its weight acts little, such as {pose}, and let "
                "it rest"
            )
            next(self._rests(lambda q: bool(exposure(runner.model, q) < LARGEST_EXPOSURE)), None)
        report, self.pushes = probe(runner, self.tell)
        if report.findings or not report.enough:
            return report
        return float_arm(runner)

    # -- the steps that only look ------------------------------------------------------------------

    def _state(self) -> ArmState:
        deadline = time.monotonic() + SILENCE_BORNE_S
        announced = False
        while True:
            state = self.arm.read()
            if state is not None and np.isfinite(state.q).all():
                return state
            if time.monotonic() > deadline or self.stop():
                break
            if state is None and not announced and not getattr(self.arm, "refused", ""):
                self.tell(f"waiting for joint states, {SILENCE_BORNE_S:.0f} s at most")
                announced = True
        why = getattr(self.arm, "refused", "")
        if self.stop():
            text = "stopped by a person before a joint state has arrived"
        elif why:
            text = f"no joint state can be used: {why}"
        else:
            text = f"no joint states have arrived for {SILENCE_BORNE_S:.0f} s"
        raise ArgumentError(
            text, where="arm", remedy="Start the robot, and check topics and joint names."
        )

    def _heard(self, seconds: float) -> list[ArmState]:
        self.arm.begin()
        first = self._state()
        states = [first]
        # a clock that is set back is a finding
        while 0.0 <= states[-1].t - first.t < seconds and not self.stop():
            states.append(self._state())
        return states

    def _listen(self) -> StepReport:
        still = self._heard(LISTENING)
        if isinstance(self.arm, Leads):
            here = still[-1].q
            moving = []
            for way in (0.15, -0.15, 0.0):
                moving += self.arm.lead(
                    np.clip(here + way, self.model.lower, self.model.upper), 1.2
                )
        else:
            self.tell("now move each joint by some tenths of a radian, within 20 s")
            moving = self._heard(20.0)
        options: dict[str, Any] = {
            "declared_rate": self.declared_rate,
            "publishers": self.publishers(),
            "measures_effort": self.measured.measured,
        }
        reports = [
            listen_to(self.model, still, still=True, **options),
            listen_to(self.model, moving, **options),
        ]
        findings = {(f.kind, f.joints): f for report in reports for f in report.findings}
        notes = dict.fromkeys(itertools.chain.from_iterable(report.notes for report in reports))
        numbers = {**reports[0].numbers, **reports[1].numbers}
        return StepReport("listen", tuple(findings.values()), numbers, notes=tuple(notes))

    def _weigh(self) -> StepReport:
        if not self.measured.measured:
            return StepReport("weigh", notes=("left out: this driver does not measure efforts",))
        here = self._state().q
        heard = self.reports.get("listen", StepReport("listen"))
        still = list(
            itertools.chain.from_iterable(
                finding.joints for finding in heard.of_kind("frozen_joint")
            )
        )
        if isinstance(self.arm, Leads):
            poses = weighing_poses(self.model, MOST_LED_POSES, around=here, span=1.0, still=still)
            passed = [self._passed(self.arm, pose) for pose in poses]
            self.arm.lead(here, 2.0, RESTING)
            q, efforts = (np.array(column) for column in zip(*passed, strict=True))
            return weigh(self.model, q, efforts, asked=poses, measured=self.measured)
        poses, efforts = self._poses_by_hand(
            weighing_poses(self.model, MOST_LED_POSES, around=here, still=still)[0]
        )
        return weigh(self.model, poses, efforts, measured=self.measured)

    def _passed(self, arm: Leads, pose: Array) -> tuple[Array, Array]:
        """(n,) mean position and (2, n) efforts while a pose is passed in both directions."""
        back, ahead = (
            np.clip(pose + way, self.model.lower, self.model.upper) for way in (-0.05, 0.05)
        )
        arm.lead(back, 1.5, 0.2)
        passed = [arm.lead(goal, PASSING) for goal in (ahead, back)]
        # it does not accelerate in the middle
        rows = [_rest(states[: len(states) // 2 + len(states) // 12]) for states in passed]
        return 0.5 * (rows[0][0] + rows[1][0]), np.array([effort for _, effort in rows])

    def _poses_by_hand(self, example: Array) -> tuple[Array, Array]:
        """Poses in which a person lets the arm rest, and the efforts there."""
        asked = np.round(example, 2).tolist()
        self.tell(
            f"lead the arm to {MOST_LED_POSES} different poses, such as {asked}, and let it rest "
            "in each"
        )
        rested: list[tuple[Array, Array]] = []
        for states in self._rests(
            lambda q: all(np.abs(q - pose).max() > POSES_APART_RAD for pose, _ in rested)
        ):
            rested.append(_rest(states))
            self.tell(f"pose {len(rested)} of {MOST_LED_POSES}")
            if len(rested) == MOST_LED_POSES:
                break
        poses, efforts = ([row[k] for row in rested] for k in (0, 1))
        return np.array(poses), np.array(efforts)

    def _rests(self, suits: Callable[[Array], bool]) -> Iterator[list[ArmState]]:
        """States of each rest in a pose that suits, while a person leads the arm."""
        near = 0.02 * scale_of(self.model)
        first = self._state()
        resting = [first]
        while 0.0 <= resting[-1].t - first.t < LEADING_PATIENCE_S and not self.stop():
            state = self._state()
            moved = (np.abs(state.q - resting[0].q) > near).any()
            resting = [state] if moved else [*resting, state]
            if resting[-1].t - resting[0].t > RESTING and suits(state.q):
                yield resting

    # -- what is left ------------------------------------------------------------------------------

    def parameters(self) -> dict[str, object]:
        """Parameters for the controller."""
        s = self.settings
        table: dict[str, object] = {
            "gravity_compensated_by": s.gravity_compensated_by,
            "safe_command": s.safe_command,
            "robot_delay": round(s.delay, 5),
            "robustness": {"bandwidth": round(s.bandwidth, 2)},
        }
        if s.armature:
            table["armature"] = {name: float(f"{value:.4g}") for name, value in s.armature.items()}
        return table

    def write(self, folder: Path) -> dict[str, Path]:
        """Write ``commissioning.json``, ``commissioning.html``, ``controller.yaml`` and
        ``friction.json``; their paths.
        """
        parameters = self.parameters()
        steps = [report.to_json() for report in self.reports.values()]
        document = {"robot": self.model.name, "steps": steps, "parameters": parameters}
        documents: dict[str, object] = {"commissioning.json": document}
        table = dict(parameters)
        friction = self.settings.friction_file
        if friction.joints:
            documents["friction.json"] = {"trust": friction.trust, "joints": friction.joints}
            table["friction_file"] = str((folder / "friction.json").resolve())
        # JSON is YAML
        documents["controller.yaml"] = {"/**": {"ros__parameters": table}}
        texts = {name: json.dumps(value, indent=1) for name, value in documents.items()}
        texts["commissioning.html"] = page(self.model, self.reports, self.records, parameters)
        with whole_files(folder) as place:
            for name, text in texts.items():
                (place / name).write_text(text, encoding="utf-8")
        return {name: folder / name for name in texts}


def _rest(states: list[ArmState]) -> tuple[Array, Array]:
    """Mean position and effort of the last part."""
    last = [state for state in states if state.t > states[-1].t - 0.6 * RESTING]
    efforts = [state.effort for state in last if state.effort is not None]
    if len(efforts) < len(last):
        raise ArgumentError(
            "joint states have no efforts", where="weigh", remedy="Go on without this step."
        )
    return np.mean([state.q for state in last], axis=0), np.mean(efforts, axis=0)


def page(
    model: RobotModel,
    reports: Mapping[str, StepReport],
    records: Mapping[str, Record],
    settings: Mapping[str, object],
) -> str:
    """The report as a page that needs no other file; reports and motions by step, settings:
    parameters for the controller.
    """
    lines = [
        html_table(("step", "result"), [(step, report.verdict) for step, report in reports.items()])
    ]
    for step, report in reports.items():
        lines.append(f"<h2>{step}</h2>")
        lines += [html_finding("poor", str(finding)) for finding in report.findings]
        lines += [html_finding("fair", note) for note in report.notes]
        lines += _numbers(model, report)
        if step in records and len(records[step].t) > 1:
            lines.append(as_html(partial(_picture, model, records[step]), f"motion of {step}"))
    lines.append(f"<h2>Parameters</h2><pre>{html.escape(json.dumps(settings, indent=1))}</pre>")
    return html_page(f"Commissioning of {model.name}", lines)


def _numbers(model: RobotModel, report: StepReport) -> Iterator[str]:
    """Single numbers, then a table of those of the joints, all with their units."""
    numbers = {key: np.asarray(value) for key, value in report.numbers.items()}
    for key, value in numbers.items():
        if not value.ndim:
            figure = f"{value:.4g} {_units_of(key)[0]}".rstrip()
            yield f"<p>{html.escape(key)}: {html.escape(figure)}</p>"
    columns = {key: value for key, value in numbers.items() if value.ndim}
    if columns:
        rows = []
        for j, name in enumerate(model.joint_names):
            sliding = model.joint(name).type is JointType.PRISMATIC
            cells = [
                f"{column[j]:.4g} {_units_of(key)[sliding]}".rstrip()
                for key, column in columns.items()
            ]
            rows.append((name, *cells))
        yield html_table(("joint", *columns), rows)


# of a number of a report: for joints that turn, and for joints that slide
_POSITION = "rad", "m"
_EFFORT = "N m", "N"
_INERTIA = "kg m²", "kg"
_TIME = "s", "s"
_FREQUENCY = "rad/s", "rad/s"
_SHARE = "", ""
_UNITS = {
    "rate": ("Hz", "Hz"),
    "jitter": _TIME,
    "age": _TIME,
    "position_resolution": _POSITION,
    "position_noise": _POSITION,
    "velocity_noise": ("rad/s", "m/s"),
    "effort_noise": _EFFORT,
    "velocity_delay": _TIME,
    "gravity": _EFFORT,
    "misfit": _EFFORT,
    "friction": _EFFORT,
    "damping": ("N m s/rad", "N s/m"),
    "drift": _POSITION,
    "effort": _EFFORT,
    "inertia": _INERTIA,
    "described inertia": _INERTIA,
    "rotor": _INERTIA,
    "delay": _TIME,
    "robot_delay": _TIME,
    "whole delay": _TIME,
    "margin": _TIME,
    "play": _POSITION,
    "bandwidth": _FREQUENCY,
    "largest bandwidth": _FREQUENCY,
    "overshoot": _SHARE,
    "ringing": _SHARE,
    "noise": _EFFORT,
    "rms error": _POSITION,
    "largest error": _POSITION,
    "effort over limit": _SHARE,
}


def _units_of(number: str) -> tuple[str, str]:
    """Of one of a report's numbers; what follows a comma in its name says of which motion."""
    return _UNITS[number.partition(",")[0]]


def _picture(model: RobotModel, record: Record) -> Figure:
    plt = pyplot()
    t, q, _, u = record.arrays()
    every = slice(None, None, max(1, len(t) // 3000))
    with plt.rc_context(FIGURE_STYLE):
        figure, (above, below) = plt.subplots(
            2, 1, sharex=True, figsize=(9.0, 4.5), layout="constrained"
        )
        for i, name in enumerate(model.joint_names):
            above.plot(t[every] - t[0], (q[every, i] - q[0, i]) * 1e3, label=name, **curve(i))
            below.plot(t[every] - t[0], u[every, i], **curve(i))
        above.set_ylabel("displacement in mrad or mm")
        below.set_ylabel("command in N m or N")
        below.set_xlabel("time in s")
        # over the curves it would hide them
        figure.legend(loc="outside upper center", fontsize=7, ncols=4)
    return figure
