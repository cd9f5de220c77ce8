"""Steps on an arm: within announced bounds, and with an end at which the arm stands.

A step is a generator: it yields a :class:`Command` and receives the :class:`ArmState` that follows,
so that it reads from top to bottom like the motion itself. :class:`StepRunner` carries it out on
anything that can read and send.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from robot_dynamics_ros.commissioning.release import (
    effort_limit,
    least_inertia,
    require_calm,
    scale_of,
    speed_limit,
    usual_rotors,
)
from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# rad, beyond the announced positions, at which a joint is stopped: stopping takes the rest of 0.1
# rad
POSITION_SLACK_RAD = 0.02
# Share of the velocity limit announced before gains are tuned; stopping takes the rest of a tenth
UNTUNED_SPEED_SHARE = 0.06
# s of unusable states after which a stop waits no longer
UNUSABLE_STATES_S = 1.0
# Looks in vain for a state, after which a stop waits no longer for one
MISSED_STATES = 25
# s, longest stop
LONGEST_STOP_S = 3.0
# Share of the velocity limit below which a joint counts as standing
STANDING_SPEED_SHARE = 0.004
# States at rest after which an arm stands
STANDING_STATES = 25
STATES_BEFORE_SENDING = 20
"""States that are read before anything is sent: the noise of speeds from positions, and the place
at the start.
"""
# rad, that a joint may move before anything is sent
FALLEN_RAD = 3e-3
# rad/s, bandwidth of a controller for an arm that nothing is known of: it bears the delay below.
GENTLE_BANDWIDTH = 8.0
# s, the delay that it assumes: slower drivers are found by listening, before it is used.
GENTLE_DELAY_S = 0.03
# Largest inertia that is assumed of a joint without a known rotor, over that of its links: more
# would ring if it has none.
ASSUMED_ROTOR_RATIO = 2.0


@dataclass(frozen=True, eq=False)
class ArmState:
    """Joint states in the order of the model.

    Attributes:
        t: s, stamp.
        q, v: (n,) position and velocity, rad or m, rad/s or m/s.
        effort: (n,) measured effort as published; ``None`` if there is none.
        arrival: s, by this computer's clock.
    """

    t: float
    q: Array
    v: Array
    effort: Array | None = None
    arrival: float = math.nan


class Arm(Protocol):
    """An arm, or a stand-in for one."""

    def hold(self) -> None:
        """Brakes or the arm's own controller hold it from now on, if it has any; commands end."""

    def read(self) -> ArmState | None:
        """The next state; ``None`` if none has come in time."""

    def send(self, effort: Array) -> None:
        """Command (n,) efforts, N m or N, until the next ones."""

    def begin(self) -> None:
        """A step begins: states that have waited are old."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """The announcement of a motion.

    Attributes:
        lower, upper: (n,) where the joints stay, rad or m.
        speed: (n,) rad/s or m/s.
        effort: (n,) largest command, N m or N.
    """

    lower: Array
    upper: Array
    speed: Array
    effort: Array

    @classmethod
    def around(
        cls,
        model: RobotModel,
        q: Array,
        reach: Array | float,
        speed: float = UNTUNED_SPEED_SHARE,
    ) -> Bounds:
        """Bounds about a configuration, with all of the effort.

        Args:
            q: (n,) rad or m.
            reach: (n,) or one number, rad (a fifth of it in m).
            speed: share of the velocity limits.
        """
        distance = scale_of(model) * reach
        return cls(q - distance, q + distance, speed * speed_limit(model), effort_limit(model))


@dataclass(frozen=True, eq=False)
class Command:
    """(n,) efforts, N m or N, and what is announced from now on; ``None``: as before.

    With ``hold`` it is the last one for a while: what held the arm before holds it again, until a
    command follows without it.
    """

    effort: Array
    bounds: Bounds | None = None
    hold: bool = False


T = TypeVar("T")
# A step in motion, and its result
StepMotion = Generator[Command, ArmState, T]


@dataclass(eq=False)
class Record:
    """States and commands of a step.

    Attributes:
        t: s.
        q, v, effort, command: (n,) each; measured efforts are NaN where there are none.
        stopped: why it ended before its end; ``""`` if it did not.
        ran_away: whether it was stopped since a joint left its bounds.
        fell: name of a joint that moved before anything was sent; ``""``: none did.
        frozen: names of joints whose states did not change at all then, while those of others did.
        worst_reach: rad or m, largest distance beyond the announced positions.
        worst_speed: largest share of the velocity limits.
    """

    t: list[float] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)
    v: list[Array] = field(default_factory=list)
    effort: list[Array] = field(default_factory=list)
    command: list[Array] = field(default_factory=list)
    stopped: str = ""
    ran_away: bool = False
    fell: str = ""
    frozen: tuple[str, ...] = ()
    worst_reach: float = 0.0
    worst_speed: float = 0.0

    def append(self, state: ArmState, command: Array) -> None:
        """Add a state and the command that answers it."""
        self.t.append(state.t)
        self.q.append(state.q)
        self.v.append(state.v)
        self.effort.append(np.full(len(state.q), np.nan) if state.effort is None else state.effort)
        self.command.append(command)

    def arrays(self, first: int = 0) -> tuple[Array, Array, Array, Array]:
        """(k,) times and (k, n) positions, velocities and commands from the state with number
        ``first`` on.
        """
        rows = (self.t, self.q, self.v, self.command)
        return tuple(np.array(row[first:]) for row in rows)  # type: ignore[return-value]


def gentle_controller(
    model: RobotModel,
    options: ControllerOptions,
    q: Array,
    rotors: Mapping[str, float] | None = None,
) -> JointController:
    """A controller for an arm of which little is known, used at (n,) rad or m: slow, and patient
    with its delay; ``rotors`` are inertias, kg m² or kg, of joints where they have been seen.
    """
    robust = Robustness(bandwidth=GENTLE_BANDWIDTH, delay=GENTLE_DELAY_S)
    most = ASSUMED_ROTOR_RATIO * least_inertia(model, q)
    assumed = usual_rotors(model)
    light = {name: most[i] for i, name in enumerate(model.joint_names) if most[i] < assumed[i]}
    model = model.replace(description=model.description.with_joints({**light, **(rotors or {})}))
    controller = JointController(
        model, options=dataclasses.replace(options, robustness=robust, max_state_jump=0.0)
    )
    controller.want_wrenches = controller.want_efforts = False
    return controller


class StepRunner:
    """Carries steps out on one arm.

    Args:
        arm: the arm.
        model: its description.
        options: who compensates gravity, and the safe command, which is sent last: ``"zero"``, or
            ``"gravity"``, the effort that held the arm (the default here).
        stop: asked at every state whether to stop.

    Attributes:
        record: of the present or last step.
        options: as given.
        period, position_noise: s between joint states, and (n,) rad or m, standard deviation, once
            a step has begun.
    """

    def __init__(
        self,
        arm: Arm,
        model: RobotModel,
        options: ControllerOptions | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.arm = arm
        self.model = model
        self.stop = stop
        self.options = options or ControllerOptions(safe_command="gravity")
        self.record = Record()
        self.period = math.nan
        self.position_noise = np.zeros(model.nv)
        self._holding: JointController | None = None
        self._still = STANDING_SPEED_SHARE * speed_limit(model)
        self._newest: deque[ArmState] = deque(maxlen=6)
        self._noise = np.zeros(model.nv)
        self._proven = False
        self._held = False

    def weight(self, q: Array) -> Array:
        """(n,) effort against gravity that a command has to have."""
        if self.options.gravity_compensated_by != "controller":
            return np.zeros(self.model.nv)
        return gravity_forces(self.model, q)

    def run(
        self,
        motion: Callable[[ArmState], StepMotion[T]],
        *,
        open_to: float = 1.0,
    ) -> T | None:
        """Carry a step out, come to a stop, send the safe command.

        Args:
            motion: makes the generator from the first state.
            open_to: what may be wrong of the commands of the weight: 1: their signs, too; 0.5:
                gravity may be compensated twice; 0: nothing.

        Returns:
            The result of the step; ``None`` if it was stopped: ``record.stopped`` says why.

        Raises:
            ArgumentError: nothing is proven, and the weight of the arm acts too much where it
                stands.
        """
        self.record = Record()
        self._proven = not open_to
        self._held = False
        self._newest.clear()
        result = None
        bounds = None
        self.arm.begin()
        state = self._look()
        if state is None:
            return None
        if open_to:
            require_calm(self.model, state.q, open_to)
        steps = motion(state)
        try:
            command = next(steps)
            while True:
                bounds = command.bounds or bounds
                assert bounds is not None, "the first command announces bounds"
                if why := self._beyond(state, bounds):
                    self.record.ran_away = True
                    break
                self._send(
                    state, np.clip(command.effort, -bounds.effort, bounds.effort), command.hold
                )
                following = self.arm.read()
                if why := self._unusable(following):
                    break
                assert following is not None
                state = following
                command = steps.send(state)
        except StopIteration as end:
            result = end.value
            why = ""
        except BaseException:
            self._halt(bounds)
            raise
        finally:
            steps.close()
        self.record.stopped = why
        self._halt(bounds)
        return None if why else result

    # -- the guard ---------------------------------------------------------------------------------

    def _look(self) -> ArmState | None:
        """The state from which a step starts, once the noise is known; ``None`` if the arm cannot
        be read.
        """
        states: list[ArmState] = []
        for _ in range(2 * STATES_BEFORE_SENDING):
            state = self.arm.read()
            if why := self._unusable(state):
                self.record.stopped = why
                if self.stop():
                    return None
                continue
            assert state is not None
            states.append(state)
            moved = np.abs(state.q - states[0].q)
            if (moved > FALLEN_RAD * scale_of(self.model)).any():
                self.record.fell = self.model.joint_names[int(np.argmax(moved))]
                self.record.stopped = f"joint {self.record.fell} moves while nothing is sent"
                return None
            if len(states) == STATES_BEFORE_SENDING:
                break
        if len(states) < 5:
            return None
        q = np.array([state.q for state in states])
        changes = (np.ptp(q, axis=0) > 0.0) | (np.ptp([state.v for state in states], axis=0) > 0.0)
        if changes.any():
            self.record.frozen = tuple(
                n for n, x in zip(self.model.joint_names, changes, strict=True) if not x
            )
        self.period = max((states[-1].t - states[0].t) / (len(states) - 1), 1e-4)
        spread = np.std(q[2:] - q[:-2], axis=0)
        self.position_noise = spread / math.sqrt(2.0)
        self._noise = 3.0 * spread / self.period
        self._holding = self._holding or gentle_controller(self.model, self.options, states[-1].q)
        self.record.stopped = ""
        return states[-1]

    def _unusable(self, state: ArmState | None) -> str:
        if self.stop():
            return "stopped by a person"
        if state is None:
            return "joint states stopped"
        bad = ~(np.isfinite(state.q) & np.isfinite(state.v))
        if bad.any():
            return f"joint {self.model.joint_names[int(np.argmax(bad))]}: its state is not a number"
        if self._newest and not 0.0 < (passed := state.t - self._newest[-1].t) < UNUSABLE_STATES_S:
            return f"the time of joint states went on by {passed:.3g} s from one to the next"
        return ""

    def _note(self, state: ArmState, bounds: Bounds) -> tuple[Array, Array]:
        """(n,) distances from the bounds, and the larger of the measured speed and that of the
        positions, which no filter makes late.
        """
        outside = np.maximum(np.maximum(bounds.lower - state.q, state.q - bounds.upper), 0.0)
        speed = np.abs(state.v)
        for back in (2, 6):
            if len(self._newest) >= back and state.t > (before := self._newest[-back]).t:
                moved = np.abs(state.q - before.q) / (state.t - before.t)
                speed = np.maximum(speed, moved - self._noise * (2.0 / back))
        self.record.worst_reach = max(
            self.record.worst_reach, float((outside / scale_of(self.model)).max())
        )
        self.record.worst_speed = max(
            self.record.worst_speed, float((speed / speed_limit(self.model)).max())
        )
        return outside, speed

    def _beyond(self, state: ArmState, bounds: Bounds) -> str:
        outside, speed = self._note(state, bounds)
        name = self.model.joint_names
        if (far := outside > POSITION_SLACK_RAD * scale_of(self.model)).any():
            i = int(np.argmax(far))
            unit = self.model.joint(name[i]).type.units[0]
            return f"joint {name[i]}: {outside[i]:.3f} {unit} beyond the announced positions"
        if (speed > bounds.speed).any():
            i = int(np.argmax(speed / bounds.speed))
            unit = self.model.joint(name[i]).type.units[1]
            return (
                f"joint {name[i]}: {speed[i]:.3f} {unit}, {bounds.speed[i]:.3f} {unit} were "
                "announced"
            )
        return ""

    def _send(self, state: ArmState, command: Array, hold: bool = False) -> None:
        self._newest.append(state)
        self.record.append(state, command)
        if not (hold and self._held):
            self.arm.send(command)
        if hold and not self._held:
            self.arm.hold()
        self._held = hold

    # -- the end -----------------------------------------------------------------------------------

    def _halt(self, bounds: Bounds | None) -> None:
        """Stop: an arm whose commands are proven brakes until it stands; any other is held by what
        held it before.
        """
        if bounds is None or not self._newest or self._holding is None:
            return
        effort = self.weight(self._newest[-1].q)
        if self._proven:
            effort = self._brake(bounds, self._holding, effort)
        self.arm.send(np.zeros(self.model.nv) if self.options.safe_command == "zero" else effort)
        if not self._proven:
            self.arm.hold()

    def _brake(self, bounds: Bounds, holding: JointController, effort: Array) -> Array:
        """Brake until the arm stands; the effort that holds it then.

        While there are no states, ``effort`` carries it.
        """
        silent = 0.0
        calm = 0
        begun = math.nan
        last = self._newest[-1].t
        # false as long as the stop has not begun
        too_long = False
        while silent < UNUSABLE_STATES_S and calm < STANDING_STATES and not too_long:
            state = self.arm.read()
            # none, or one that is not new
            if state is None or state.t <= last:
                silent += UNUSABLE_STATES_S / MISSED_STATES
                self.arm.send(effort)
                continue
            if not (np.isfinite(state.q) & np.isfinite(state.v)).all():
                silent = silent + max(state.t - last, 1e-3)
                last = state.t
                too_long = last - begun > LONGEST_STOP_S
                self.arm.send(effort)
                continue
            silent = 0.0
            last = state.t
            _, speed = self._note(state, bounds)
            if math.isnan(begun):
                begun = state.t
                # noise is not to be braked
                moving = np.where(np.abs(state.v) > self._still, state.v, 0.0)
                holding.activate(nanoseconds(state.t), state.q, moving)
            held = np.array(holding.update(nanoseconds(state.t), state.q, state.v))
            effort = np.clip(held, -effort_limit(self.model), effort_limit(self.model))
            self._send(state, effort)
            calm = calm + 1 if (speed < self._still).all() else 0
            too_long = last - begun > LONGEST_STOP_S
        if calm:
            return np.mean(self.record.command[-STANDING_STATES:], axis=0)
        return effort
