"""Fifth step: gains from what the twitches showed, tried on a step of each joint and of all; the
rotors that these steps show; the margin proved.

Sixth step: a tour, slow, which shows friction, and then at its own speed with it: errors, efforts
against limits, what is unexplained.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robot_dynamics_ros.commissioning.arm import ArmState, Bounds, Command, StepMotion, StepRunner
from robot_dynamics_ros.commissioning.findings import Finding, StepReport, mistake
from robot_dynamics_ros.commissioning.joint_parameters import joint_parameters
from robot_dynamics_ros.commissioning.release import effort_limit, scale_of, speed_limit
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.laws import ComputedTorque
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.planning import PlannedMotion
from robot_dynamics_ros.control.reference.trajectory import Trajectory, nanoseconds
from robot_dynamics_ros.control.robustness import GAPS_PAGE, Robustness
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.model.arm_profile import ArmProfile
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# rad, of a joint, or less where the joint is slow
STEP_RAD = 0.03
# Share of the velocity limit announced for steps
TUNING_SPEED = 0.4
# rad/s, bandwidths that are tried
SLOWEST_BANDWIDTH = 6.0
FASTEST_BANDWIDTH = 80.0
# Factor of the bandwidth after a good trial: larger ones leap over the stable region.
RAISED = 1.35
# Factor after a bad one: it more than undoes a good one, so that no bandwidth is tried twice.
LOWERED = 0.7
# Factor after a proof that failed: near the margin already, so a small one.
PROVEN = 0.85
# Share of the step by which a good response may overshoot.
OVERSHOOT = 0.25
# Share of the step by which it may ring afterwards.
RESPONSE_RINGING_SHARE = 0.12
# Share of the effort limit that noise may take of its commands: more heats the motors.
RESPONSE_NOISE_SHARE = 0.03
# Delay put in for the proof, over that of the loop
PROOF = 0.8
# Share of measured friction that is believed at the start
BELIEVED_FRICTION_SHARE = 0.9
# rad/s or m/s, of the reference over which measured friction changes its side; a panda overshoots
# with half of it
STEP_SMOOTHING_SPEED = 0.01
# s after a step
STEP_SETTLING_S = 0.8
# s, of the polynomials that smooth a step: half of the shortest step, which takes 0.1 s.
STEP_WINDOW_S = 0.05
# s, of those that smooth the slow tour, where accelerations are small and noise counts.
WINDOW_SLOW = 0.2
# The slow tour takes this many times as long as the tour itself.
SLOWLY = 4.0
# rad, error on the way that counts as not followed
NOT_FOLLOWED_RAD = 0.05
# Share of the effort limit
NEARLY = 0.95


@dataclass(frozen=True)
class ArmSettings:
    """Knowledge of an arm that the controller needs beside its description.

    Attributes:
        armature: joint name → inertia of rotor and gear, kg m² or kg.
        friction: joint name → Coulomb friction, N m or N.
        damping: joint name → viscous friction, N m s/rad or N s/m.
        delay: s, ``robot_delay``.
        bandwidth: rad/s, ``robustness.bandwidth``.
        gravity_compensated_by: as the controller's parameter.
        safe_command: as the controller's parameter.
    """

    armature: dict[str, float] = dataclasses.field(default_factory=dict)
    friction: dict[str, float] = dataclasses.field(default_factory=dict)
    damping: dict[str, float] = dataclasses.field(default_factory=dict)
    delay: float = 0.0
    bandwidth: float = Robustness().bandwidth
    gravity_compensated_by: str = "controller"
    safe_command: str = "gravity"

    @classmethod
    def of(cls, profile: ArmProfile) -> ArmSettings:
        """As the profile of an arm says."""
        return cls(
            profile.known("armature"),
            profile.known("coulomb"),
            delay=profile.driver.delay,
            gravity_compensated_by=profile.efforts.gravity_compensated_by,
            safe_command=profile.efforts.safe_command,
        )

    @property
    def options(self) -> ControllerOptions:
        """For a controller."""
        return ControllerOptions(
            gravity_compensated_by=self.gravity_compensated_by,
            safe_command=self.safe_command,
            robustness=Robustness(bandwidth=self.bandwidth, delay=self.delay),
        )

    def model(self, model: RobotModel) -> RobotModel:
        """The description with these rotors and this friction."""
        if not (self.armature or self.friction or self.damping):
            return model
        return model.replace(
            description=model.description.with_joints(self.armature, self.friction, self.damping)
        )

    def controller(self, model: RobotModel) -> JointController:
        """The default controller with these settings."""
        model = self.model(model)
        if self.friction:
            law = ComputedTorque(friction=self.friction_file.friction(model))
        else:
            law = None
        controller = JointController(model, law, options=self.options)
        controller.want_wrenches = False
        return controller

    @property
    def friction_file(self) -> FrictionFile:
        """The friction of these settings, for ``friction_file``."""
        entries = {"coulomb": self.friction, "viscous": self.damping}
        joints = {
            name: {key: values[name] for key, values in entries.items() if name in values}
            | {"smoothing": STEP_SMOOTHING_SPEED}
            for name in self.friction | self.damping
        }
        return FrictionFile(joints, BELIEVED_FRICTION_SHARE if self.friction else 0.0)

    def learned(
        self,
        names: Sequence[str],
        numbers: Mapping[str, Array | float],
    ) -> ArmSettings:
        """With the rotors, friction, damping and delay among the numbers of a report, of joints
        with these names; NaN leaves a joint as it was.
        """

        def known(quantity: str) -> dict[str, float]:
            values = zip(names, np.atleast_1d(numbers.get(quantity, np.nan)), strict=False)
            return {name: float(f"{value:.4g}") for name, value in values if 0.0 <= value < np.inf}

        # it has all that brakes at that speed: further damping is to be shown
        friction = known("friction")
        return dataclasses.replace(
            self,
            armature=self.armature | known("rotor"),
            friction=self.friction | friction,
            damping=dict.fromkeys(friction, 0.0) | self.damping | known("damping"),
            delay=float(numbers.get("robot_delay", self.delay)),
        )

    def learned_from(
        self,
        runner: StepRunner,
        window: float,
        quantities: Sequence[str],
    ) -> tuple[ArmSettings, dict[str, Array | float], str]:
        """With what the motion of the last run, smoothed over ``window`` s, shows of the joints,
        out of rotor, damping, friction: the settings, the numbers, and a sentence.
        """
        t, q, _, command = runner.record.arrays()
        delay = self.delay + 0.5 * runner.period
        model = self.model(runner.model)
        who = self.gravity_compensated_by
        try:
            joints = joint_parameters(
                model, t, q, command, delay, window=window, gravity_compensated_by=who
            )
        except ArgumentError as error:
            return self, {}, f"rotors and friction stay as they were: {error}"
        seen = {"rotor": joints.armature, "damping": joints.damping, "friction": joints.friction}
        numbers: dict[str, Array | float] = {name: seen[name] for name in quantities}
        before, after = joints.unexplained
        sentence = (
            f"learned from this motion: {', '.join(quantities)}; {after:.2%} of the effort "
            f"limits stay unexplained, {before:.2%} before"
        )
        return self.learned(model.joint_names, numbers), numbers, sentence


@dataclass(frozen=True)
class StepResponse:
    """How a joint went to a goal nearby.

    Attributes:
        overshoot: over the step.
        ringing: way that it goes both to and fro in the last third, over the step: creeping one way
            is none.
        noise: standard deviation of the command then, N m or N.
    """

    overshoot: float
    ringing: float
    noise: float


def step_response(
    t: Array,
    q: Array,
    command: Array,
    goal: float,
    start: float,
) -> StepResponse:
    """The response of a joint.

    Args:
        t: (k,) s, from the end of the reference's motion on.
        q: (k,) rad or m.
        command: (k,) N m or N.
        goal, start: rad or m.

    Raises:
        ArgumentError: fewer than ten states, or no step.
    """
    if len(t) < 10 or goal == start:
        remedy = "Give ten states and a goal elsewhere."
        raise ArgumentError(
            "there is no response to a step", where="step_response", got=len(t), remedy=remedy
        )
    t = np.asarray(t)
    q = np.asarray(q)
    command = np.asarray(command)
    step = goal - start
    late = t > t[0] + 2.0 / 3.0 * (t[-1] - t[0])
    tail = q[late]
    rough = np.diff(command[late])
    rise, fall = (
        x.max() for x in (tail - np.minimum.accumulate(tail), np.maximum.accumulate(tail) - tail)
    )
    if len(rough):
        noise = float(rough.std() / np.sqrt(2.0))
    else:
        noise = 0.0
    return StepResponse(
        max(float(((q - goal) / step).max()), 0.0), float(min(rise, fall)) / abs(step), noise
    )


def follow(
    runner: StepRunner,
    controller: JointController,
    trajectory: Trajectory,
    bounds: Bounds,
    state: ArmState,
    *,
    rest: float = 0.0,
    late: float = 0.0,
    errors: list[Array] | None = None,
) -> StepMotion[ArmState]:
    """Follow a trajectory of all joints from the reference on, within bounds, and stay ``rest`` s
    at its end; ``state`` is the newest.

    Commands are held back by ``late`` periods, to prove a margin; (n,) reference minus position of
    every state is appended to ``errors``.
    """
    controller.accept_trajectory(trajectory, nanoseconds(state.t))
    begun = state.t
    length = trajectory.duration + rest
    # between two whole numbers both commands are mixed
    size = int(late) + 2
    part = late % 1.0
    waiting = deque[Array](maxlen=size)
    while state.t - begun < length:
        command = np.array(controller.update(nanoseconds(state.t), state.q, state.v))
        # the first one has held the arm before
        waiting.extend([command] * max(size - len(waiting), 1))
        if errors is not None:
            errors.append(np.array(controller.error[0]))
        state = yield Command(part * waiting[0] + (1.0 - part) * waiting[1], bounds)
    return state


def to_rest(model: RobotModel, goal: Array, length: float) -> Trajectory:
    """A quintic to rest at (n,)."""
    still = np.zeros((1, model.nv))
    return Trajectory.from_waypoints(model.joint_names, [length], goal[None], still, still)


class _Tuning:
    """Steps with one bandwidth after another; ``responses``: the last ones by joint, ``margin``: s
    of delay beside the arm's own with which the loop was still stable.
    """

    def __init__(self, runner: StepRunner, settings: ArmSettings) -> None:
        self.runner = runner
        self.settings = settings
        self.responses, self.controllers = dict[int, StepResponse](), dict[float, JointController]()
        self.tried = list[tuple[float, bool, str]]()
        self.margin = self.whole_delay = self.best = 0.0

    def numbers(
        self,
        reached: float,
        learned: Mapping[str, Array | float],
    ) -> dict[str, Array | float]:
        """Numbers of the report; NaN for joints without a response."""
        numbers: dict[str, Array | float] = {
            "bandwidth": reached,
            "whole delay": self.whole_delay,
            "margin": self.margin,
            **learned,
        }
        for key in ("overshoot", "ringing", "noise"):
            numbers[key] = np.array(
                [getattr(self.responses.get(i), key, np.nan) for i in range(self.runner.model.nv)]
            )
        return numbers

    def controller(self, bandwidth: float, state: ArmState) -> JointController:
        """Active, with this bandwidth."""
        if bandwidth not in self.controllers:
            settings = dataclasses.replace(self.settings, bandwidth=bandwidth)
            self.controllers[bandwidth] = settings.controller(self.runner.model)
        controller = self.controllers[bandwidth]
        controller.activate(nanoseconds(state.t), state.q, np.zeros(len(state.q)))
        return controller

    def steps(
        self,
        controller: JointController,
        joints: list[int],
        state: ArmState,
        late: float = 0.0,
    ) -> StepMotion[ArmState]:
        """These joints go forth and back together; their responses."""
        model = self.runner.model
        runner = self.runner
        natural = controller.feedback_frequency[0]
        robustness = controller.options.robustness
        if not natural and robustness is not None:
            natural = robustness.bandwidth
        length = max(4.0 / natural, 0.1)
        step = np.zeros(model.nv)
        step[joints] = np.minimum(STEP_RAD * scale_of(model), 0.1 * speed_limit(model) * length)[
            joints
        ]
        step *= np.where(model.upper - state.q > state.q - model.lower, 1.0, -1.0)
        home = np.clip(state.q, model.lower, model.upper)
        bounds = Bounds.around(model, state.q, 2.5 * STEP_RAD, TUNING_SPEED)
        for goal, start in ((home + step, home), (home, home + step)):
            first = len(runner.record.t)
            way = to_rest(model, goal, length)
            state = yield from follow(
                runner, controller, way, bounds, state, rest=STEP_SETTLING_S, late=late
            )
            t, q, _, u = runner.record.arrays(first)
            after = t - t[0] > length
            for i in joints:
                self.responses[i] = step_response(
                    t[after], q[after, i], u[after, i], goal[i], start[i]
                )
        return state

    def fault(self) -> str:
        """A sentence about what is wrong with the last responses; ``""`` if nothing is."""
        model = self.runner.model
        for i, r in self.responses.items():
            name = model.joint_names[i]
            if r.overshoot > OVERSHOOT:
                return f"{name} overshoots by {r.overshoot:.0%}"
            if r.ringing > RESPONSE_RINGING_SHARE:
                return f"{name} rings by {r.ringing:.0%} of the step"
            if r.noise > RESPONSE_NOISE_SHARE * effort_limit(model)[i]:
                unit = model.joint(name).type.units[2]
                return f"the command of {name} has {r.noise:.2g} {unit} of noise"
        return ""

    def attempt(
        self,
        bandwidth: float,
        state: ArmState,
    ) -> StepMotion[tuple[bool, ArmState]]:
        """Steps of each joint, then of all, as long as they are good."""
        controller = self.controller(bandwidth, state)
        # those of another bandwidth say nothing about this one
        self.responses.clear()
        everyone = list(range(self.runner.model.nv))
        for joints in ([i] for i in everyone):
            state = yield from self.steps(controller, joints, state)
            if self.fault():
                break
        else:
            state = yield from self.steps(controller, everyone, state)
        self.tried.append((bandwidth, not self.fault(), self.fault()))
        self.whole_delay = controller.feedback_frequency[1]
        return not self.fault(), state

    def motion(self, state: ArmState) -> StepMotion[bool]:
        """Raise or lower the bandwidth, then prove the margin."""
        bandwidth = self.settings.bandwidth
        good, state = yield from self.attempt(bandwidth, state)
        while not good and bandwidth * LOWERED > SLOWEST_BANDWIDTH:
            bandwidth *= LOWERED
            good, state = yield from self.attempt(bandwidth, state)
        while good:
            self.best = bandwidth
            natural = self.controllers[bandwidth].feedback_frequency[0]
            bandwidth *= RAISED
            if natural < 0.97 * self.best or bandwidth > FASTEST_BANDWIDTH or len(self.tried) == 4:
                break
            good, state = yield from self.attempt(bandwidth, state)
        return bool(self.best)

    def proof(self, state: ArmState) -> StepMotion[bool]:
        """Steps of all joints with a delay put in."""
        controller = self.controller(self.best, state)
        before = dict(self.responses)
        late = PROOF * self.whole_delay / self.runner.period
        yield from self.steps(controller, list(range(self.runner.model.nv)), state, late)
        calm = max(r.ringing for r in self.responses.values()) < 0.5
        if calm:
            self.margin = PROOF * self.whole_delay
        else:
            self.margin = 0.0
        self.responses = before
        return calm


def tune(
    runner: StepRunner,
    settings: ArmSettings,
    announce: Callable[[str], None] = lambda sentence: None,
) -> tuple[StepReport, ArmSettings]:
    """Choose the bandwidth, learn rotors from the steps that this takes, and prove the margin by a
    delay that is put in.

    Args:
        runner: of the arm.
        settings: what is known, ``bandwidth`` where to begin.
        announce: called with one sentence a trial.

    Returns:
        The report, and the settings to use.
    """
    tuning = _Tuning(runner, settings)
    learned = dict[str, Array | float]()
    sentence = ""
    # rotors that seem too large make trials bad, and these show the true ones
    for _ in range(2):
        tuning.tried.clear()
        runner.run(tuning.motion, open_to=0.0)
        stopped = runner.record.stopped
        interrupted = not runner.record.ran_away
        for bandwidth, good, why in tuning.tried:
            announce(f"bandwidth {bandwidth:.3g} rad/s: {'good' if good else why}")
        if stopped and interrupted:
            break
        if stopped:
            announce(f"too fast: {stopped}")
        tuning.settings, learned, sentence = tuning.settings.learned_from(
            runner, STEP_WINDOW_S, ("rotor",)
        )
        tuning.controllers.clear()
        if tuning.best or not learned:
            break
    if tuning.best and not interrupted:
        stopped = ""
    while tuning.best > SLOWEST_BANDWIDTH and not tuning.margin and not stopped:
        runner.run(tuning.proof, open_to=0.0)
        if runner.record.stopped and not runner.record.ran_away:
            stopped = runner.record.stopped
            interrupted = True
        elif not tuning.margin:
            more = f"{PROOF * tuning.whole_delay * 1e3:.1f} ms more delay"
            announce(f"bandwidth {tuning.best:.3g} rad/s: not stable with {more}")
            tuning.best = PROVEN * min(
                tuning.best, tuning.controllers[tuning.best].feedback_frequency[0]
            )
    reached = tuning.best or settings.bandwidth
    numbers = tuning.numbers(reached, learned)
    if stopped and interrupted:
        return StepReport("tune", (), numbers, enough=False, notes=(stopped,)), settings
    if stopped or not tuning.margin:
        why = stopped or tuning.fault() or "it is not stable with more delay"
        kind = "margin" if tuning.best else "gains"
        finding = mistake(
            kind, (), f"the loop is not calm: {why}", reached, round(0.5 * settings.bandwidth, 1)
        )
        return StepReport("tune", (finding,), numbers, enough=not stopped, notes=(why,)), settings
    chosen = dataclasses.replace(tuning.settings, bandwidth=round(tuning.best, 1))
    margin = (
        f"stable with {tuning.margin * 1e3:.1f} ms of delay put in; the loop has "
        f"{tuning.whole_delay * 1e3:.1f} ms"
    )
    return StepReport("tune", (), numbers, notes=(margin, sentence)), chosen


def move(
    runner: StepRunner,
    settings: ArmSettings,
    tour: PlannedMotion,
    *,
    slowly: float = SLOWLY,
) -> tuple[StepReport, ArmSettings]:
    """Make a tour twice: in ``slowly`` times its duration, then as it is, with the friction that
    the slow one has shown.

    Rotors stay as they are: the margin is proven with them.

    Args:
        runner: of the arm.
        settings: of the controller.
        tour: from where the arm stands.
        slowly: 1: once only.

    Returns:
        The report, and the settings to use.
    """
    model = runner.model
    notes = list[str]()
    findings = list[Finding]()
    numbers = dict[str, "Array | float"]()
    used = np.zeros(runner.model.nv)
    for factor in (slowly, 1.0) if slowly > 1.0 else (1.0,):
        controller = settings.controller(model)
        errors = list[Array]()
        runner.run(partial(_tour, runner, controller, tour, factor, errors), open_to=0.0)
        if errors:
            name = "slow" if factor > 1.0 else "full speed"
            findings += _tracking(model, name, np.array(errors), numbers)
        if runner.record.command:
            used = np.maximum(
                used, np.abs(np.array(runner.record.command)).max(axis=0) / effort_limit(model)
            )
        if runner.record.stopped:
            notes.append(runner.record.stopped)
            break
        if factor > 1.0:
            settings, learned, sentence = settings.learned_from(
                runner, WINDOW_SLOW, ("damping", "friction")
            )
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
    """Go to the start of the tour, and make it in ``factor`` times its duration; its errors (n,)
    are appended.
    """
    model = runner.model
    samples = np.linspace(0.0, tour.duration, 200)
    places = tour.at(samples)
    speed = np.abs(tour.at(samples, 1)).max(axis=0) / factor
    here = np.vstack([places, state.q])
    room = 0.5 * NOT_FOLLOWED_RAD * scale_of(model)
    most = 1.3 * speed + 0.25 * speed_limit(model)
    bounds = Bounds(here.min(axis=0) - room, here.max(axis=0) + room, most, effort_limit(model))
    controller.activate(nanoseconds(state.t), state.q, np.zeros(model.nv))
    state = yield from follow(
        runner, controller, to_rest(model, tour.waypoints[0], 1.0), bounds, state, rest=0.3
    )
    yield from follow(
        runner, controller, tour.trajectory(factor), bounds, state, errors=errors, rest=0.5
    )
    return True


def _tracking(
    model: RobotModel,
    name: str,
    e: Array,
    numbers: dict[str, Array | float],
) -> list[Finding]:
    """Joints that are far off; the errors (k, n) of a tour with this name go into ``numbers``."""
    far = np.abs(e).max(axis=0)
    numbers[f"rms error, {name}"] = np.sqrt((e * e).mean(axis=0))
    numbers[f"largest error, {name}"] = far
    findings = []
    for i in np.flatnonzero(far > NOT_FOLLOWED_RAD * scale_of(model)):
        joint = model.joint_names[i]
        unit = model.joint(joint).type.units[0]
        sentence = f"{joint} is {far[i]:.3f} {unit} off its trajectory ({name})"
        findings.append(mistake("tracking", joint, sentence, far[i], 0.5))
    return findings
