"""A step on an arm: within bounds that were stated before, with an end that leaves the arm standing.

A step is a generator: it yields a :class:`Command` and receives the :class:`ArmState` that follows, so that it reads from top
to bottom like the motion itself.  :class:`StepRunner` carries it out on anything that can read and send.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.cycle.loading import joint_sizes
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import gravity_forces, mass_matrix, mass_matrix_inverse
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Arm", "ArmState", "Bounds", "Command", "Motion", "Record", "StepRunner", "gentle_controller", "scale_of"]

SLACK = 0.02
"""rad, beyond the announced positions, at which a joint is stopped: stopping takes the rest of 0.1 rad."""
SLOW = 0.08
"""Share of the velocity limit announced before gains are tuned; stopping takes the rest of a tenth."""
SPEED = 2.0
"""rad/s, of joints whose description has no velocity limit."""
SILENCE = 1.0
"""s of unusable states after which a stop waits no longer."""
MISSED = 25
"""Looks in vain for a state, after which a stop waits no longer for one."""
SURE = 0.7
"""Share of an effort that a few states show which is believed."""
STOPPING = 3.0
"""s, longest stop."""
STILL = 0.004
"""Share of the velocity limit below which a joint counts as standing."""
AGAIN = 0.05
"""s until commands that are sent in another way have shown what they do, with a delay of 20 ms."""
CALM = 25
"""States at rest after which an arm stands."""
WINDOW = 12
"""States that show the cause of a runaway."""
BEFORE = 20
"""States that are read before anything is sent: the noise of speeds from positions, and the place at the start."""
FALLEN = 3e-3
"""rad, that a joint may move before anything is sent."""
PROVEN = 0.5
"""s, after which an arm that has not run away has shown that its commands act as they should."""
SUDDEN, START = 0.02, 0.1
"""Share of the velocity limit that a joint may reach at the start; s, of the start."""
GENTLE, PATIENT = 8.0, 0.03
"""rad/s and s: bandwidth and delay of a controller that nothing is known of the arm for."""
LIGHT = 2.0
"""Largest inertia that is assumed of a joint without a known rotor, over that of its links: more would ring if it has none."""


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
        cls, model: RobotModel, q: Array, reach: Array | float, speed: float = SLOW, effort: float = 1.0
    ) -> Bounds:
        """Bounds about a configuration.

        Args:
            q: (n,) rad or m.
            reach: (n,) or one number, rad (a fifth of it in m).
            speed, effort: shares of the limits of the description.
        """
        way = scale_of(model) * reach
        return cls(q - way, q + way, speed * speed_limit(model), effort * effort_limit(model))


@dataclass(frozen=True, eq=False)
class Command:
    """(n,) efforts, N m or N, and what is announced from now on; ``None``: as before."""

    effort: Array
    bounds: Bounds | None = None


T = TypeVar("T")
Motion = Generator[Command, ArmState, T]
"""A step in motion, and its result."""


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
        reversed_joints: names of joints that moved as if commands had the other sign.
        lifted: whether the arm moved as if its driver added gravity to commands.
        worst_reach: rad or m, largest way beyond the announced positions.
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
    reversed_joints: tuple[str, ...] = ()
    lifted: bool = False
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
        """(k,) times and (k, n) positions, velocities and commands from the state with number ``first`` on."""
        rows = (self.t, self.q, self.v, self.command)
        return tuple(np.array(row[first:]) for row in rows)  # type: ignore[return-value]


def scale_of(model: RobotModel) -> Array:
    """(n,) 1 for joints that turn, 0.2 for those that slide: m that stand for a rad."""
    return np.array([0.2 if model.joint(name).type is JointType.PRISMATIC else 1.0 for name in model.joint_names])


def speed_limit(model: RobotModel) -> Array:
    """(n,) velocity limits, finite."""
    return np.where(np.isfinite(model.velocity_limit), model.velocity_limit, SPEED * scale_of(model))


def effort_limit(model: RobotModel) -> Array:
    """(n,) effort limits, finite."""
    return joint_sizes(model)["effort_size"]


def least_inertia(model: RobotModel, q: Array) -> Array:
    """(n,) inertia of each joint while the others yield, at (n,) rad or m: the least that it can show, kg m² or kg."""
    return np.asarray(1.0 / np.diagonal(mass_matrix_inverse(model, q)))


def with_joint_values(
    model: RobotModel, armature: Mapping[str, float] | None = None, friction: Mapping[str, float] | None = None
) -> RobotModel:
    """The robot with other rotors and friction, by the names of joints."""
    rotors, dry = armature or {}, friction or {}
    if not (rotors or dry):
        return model
    joints = tuple(
        dataclasses.replace(
            joint, armature=rotors.get(joint.name, joint.armature), friction=dry.get(joint.name, joint.friction)
        )
        for joint in model.description.joints
    )
    return model.replace(description=dataclasses.replace(model.description, joints=joints))


def gentle_controller(
    model: RobotModel, options: ControllerOptions, q: Array, rotors: Mapping[str, float] | None = None
) -> JointController:
    """A controller for an arm of which little is known: slow, and patient with its delay.

    Args:
        q: (n,) where it is used, rad or m.
        rotors: joint name → inertia of its rotor, where it has been seen, kg m² or kg.
    """
    robust = Robustness(bandwidth=GENTLE, delay=PATIENT)
    most = LIGHT * least_inertia(model, q)
    assumed = robust.rotor_share * joint_sizes(model)["unknown_rotor"]
    light = {name: most[i] for i, name in enumerate(model.joint_names) if most[i] < assumed[i]}
    model = with_joint_values(model, {**light, **(rotors or {})})
    controller = JointController(model, options=dataclasses.replace(options, robustness=robust, max_state_jump=0.0))
    controller.want_wrenches = controller.want_efforts = False
    return controller


class StepRunner:
    """Carries steps out on one arm.

    Args:
        arm: the arm.
        model: its description.
        options: who compensates gravity, and the safe command, which is sent last: ``"zero"``, or ``"gravity"``, the effort that
            held the arm (the default here).
        stop: asked at every state whether to stop.

    Attributes:
        record: of the present or last step.
        options: as given.
        period, position_noise: s between joint states, and (n,) rad or m, standard deviation, once a step has begun.
    """

    def __init__(
        self,
        arm: Arm,
        model: RobotModel,
        options: ControllerOptions | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.arm, self.model, self.stop = arm, model, stop
        self.options = options or ControllerOptions(safe_command="gravity")
        self.record = Record()
        self.period, self.position_noise = math.nan, np.zeros(model.nv)
        self._holding: JointController | None = None
        self._still = STILL * speed_limit(model)
        self._newest: deque[tuple[ArmState, Array]] = deque(maxlen=WINDOW)
        self._sign, self._added, self._turned, self._proven = np.ones(model.nv), 0.0, False, False
        self._place, self._noise, self._begun = np.zeros(model.nv), np.zeros(model.nv), 0.0

    def weight(self, q: Array) -> Array:
        """(n,) effort against gravity that a command has to have."""
        if self.options.gravity_compensated_by != "controller":
            return np.zeros(self.model.nv)
        return gravity_forces(self.model, q)

    def run(self, motion: Callable[[ArmState], Motion[T]], *, proven: bool = False) -> T | None:
        """Carry a step out, come to a stop, send the safe command.

        Args:
            motion: makes the generator from the first state.
            proven: the arm has shown before that its commands act as they should.

        Returns:
            The result of the step; ``None`` if it was stopped: ``record.stopped`` says why.
        """
        self.record, self._sign, self._added = Record(), np.ones(self.model.nv), 0.0
        self._turned, self._proven = False, proven
        self._newest.clear()
        result, bounds = None, None
        self.arm.begin()
        state = self._look()
        if state is None:
            return None
        steps = motion(state)
        try:
            command = next(steps)
            while True:
                bounds = command.bounds or bounds
                assert bounds is not None, "the first command announces bounds"
                if why := self._beyond(state, bounds):
                    self.record.ran_away = True
                    self._newest.append((state, self._newest[-1][1] if self._newest else np.zeros(self.model.nv)))
                    break
                self._send(state, np.clip(command.effort, -bounds.effort, bounds.effort))
                following = self.arm.read()
                if why := self._unusable(following):
                    break
                assert following is not None
                state = following
                command = steps.send(state)
        except StopIteration as end:
            result, why = end.value, ""
        except BaseException:
            self._halt(bounds)
            raise
        finally:
            steps.close()
        self.record.stopped = why
        self._halt(bounds)
        return None if why else result

    # -- the guard -----------------------------------------------------------------------------------------------

    def _look(self) -> ArmState | None:
        """The state from which a step starts, once the noise is known; ``None`` if the arm cannot be read."""
        states: list[ArmState] = []
        for _ in range(2 * BEFORE):
            state = self.arm.read()
            if why := self._unusable(state):
                self.record.stopped = why
                if self.stop():
                    return None
                continue
            assert state is not None
            states.append(state)
            if (np.abs(state.q - states[0].q) > FALLEN * scale_of(self.model)).any():
                self.record.fell = self.model.joint_names[int(np.argmax(np.abs(state.q - states[0].q)))]
                self.record.stopped = f"joint {self.record.fell} moves while nothing is sent"
                return None
            if len(states) == BEFORE:
                break
        if len(states) < 5:
            return None
        q = np.array([state.q for state in states])
        changes = (np.ptp(q, axis=0) > 0.0) | (np.ptp([state.v for state in states], axis=0) > 0.0)
        if changes.any():
            self.record.frozen = tuple(n for n, x in zip(self.model.joint_names, changes, strict=True) if not x)
        self._place, self._begun = np.median(q, axis=0), states[-1].t
        self.period = max((states[-1].t - states[0].t) / (len(states) - 1), 1e-4)
        spread = np.std(q[2:] - q[:-2], axis=0)
        self.position_noise, self._noise = spread / math.sqrt(2.0), 3.0 * spread / self.period
        self._holding = self._holding or gentle_controller(self.model, self.options, self._place)
        self.record.stopped = ""
        return states[-1]

    def _unusable(self, state: ArmState | None) -> str:
        if self.stop():
            return "stopped by a person"
        if state is None:
            return "joint states stopped"
        bad = ~(np.isfinite(state.q) & np.isfinite(state.v))
        return f"joint {self.model.joint_names[int(np.argmax(bad))]}: its state is not a number" if bad.any() else ""

    def _speed(self, state: ArmState) -> Array:
        """(n,) the larger of the measured speed and that of the positions, which no filter makes late."""
        v = np.abs(state.v)
        for back in (2, 6):
            if len(self._newest) >= back and state.t > (before := self._newest[-back][0]).t:
                moved = np.abs(state.q - before.q) / (state.t - before.t)
                v = np.maximum(v, moved - self._noise * (2.0 / back))
        return v

    def _note(self, state: ArmState, bounds: Bounds) -> tuple[Array, Array]:
        outside = np.maximum(np.maximum(bounds.lower - state.q, state.q - bounds.upper), 0.0)
        speed = self._speed(state)
        self.record.worst_reach = max(self.record.worst_reach, float((outside / scale_of(self.model)).max()))
        self.record.worst_speed = max(self.record.worst_speed, float((speed / speed_limit(self.model)).max()))
        return outside, speed

    def _beyond(self, state: ArmState, bounds: Bounds) -> str:
        outside, speed = self._note(state, bounds)
        name = self.model.joint_names
        if (far := outside > SLACK * scale_of(self.model)).any():
            i = int(np.argmax(far))
            return f"joint {name[i]}: {outside[i]:.3f} rad or m beyond the announced positions"
        most = bounds.speed
        if state.t - self._begun < START and not self._proven:
            most = np.minimum(most, SUDDEN * speed_limit(self.model))
        if (speed > most).any():
            i = int(np.argmax(speed / most))
            return f"joint {name[i]}: {speed[i]:.3f} rad/s or m/s, {most[i]:.3f} were announced"
        return ""

    def _send(self, state: ArmState, effort: Array) -> None:
        command = self._sign * (effort - self._added * gravity_forces(self.model, state.q))
        self._newest.append((state, command))
        self.record.append(state, command)
        self.arm.send(command)

    # -- the end -------------------------------------------------------------------------------------------------

    def _halt(self, bounds: Bounds | None) -> None:
        """Brake with what the motion shows of the arm, until it stands; then the safe command."""
        if bounds is None:
            return
        holding, silent, calm, begun = self._holding, 0.0, 0, math.nan
        if not self._newest or holding is None:
            return
        newest = self._newest[-1][0]  # while there are no states, what carries the arm, and nothing that moves it
        effort, last = (
            self._sign * (self.weight(newest.q) - self._added * gravity_forces(self.model, newest.q)),
            newest.t,
        )
        if self.record.stopped and (self._speed(self._newest[-1][0]) > SUDDEN * speed_limit(self.model)).any():
            self._explain()
        missing, explained = self._missing(), newest.t
        while silent < SILENCE and calm < CALM:
            state = self.arm.read()
            if state is None or not (np.isfinite(state.q) & np.isfinite(state.v)).all():
                silent += SILENCE / MISSED if state is None else max(state.t - last, 1e-3)
                last = last if state is None else state.t
                self.arm.send(effort)
                continue
            silent, last = 0.0, state.t
            _, speed = self._note(state, bounds)
            again = state.t - explained > AGAIN and (speed > bounds.speed).any() and self._explain()
            explained = state.t if again else explained
            if math.isnan(begun) or again:
                begun = state.t if math.isnan(begun) else begun
                moving = np.where(np.abs(state.v) > self._still, state.v, 0.0)  # noise is not to be braked
                holding.activate(nanoseconds(state.t), state.q, moving)
            held = missing + holding.update(nanoseconds(state.t), state.q, state.v)
            self._send(state, np.clip(held, -effort_limit(self.model), effort_limit(self.model)))
            effort = self._newest[-1][1]
            calm = calm + 1 if (speed < self._still).all() else 0
            if state.t - begun > STOPPING:
                break
        if calm:
            effort = np.mean(self.record.command[-CALM:], axis=0)
        self.arm.send(np.zeros(self.model.nv) if self.options.safe_command == "zero" else effort)

    def _explain(self) -> bool:
        """Find out whether joints that run away move as if commands had the other sign, or as if the driver added gravity.

        Returns:
            Whether commands are sent in another way from now on.
        """
        since = self._newest[-1][0].t - self._begun if self._newest else 0.0
        if since > PROVEN or self._proven or len(self._newest) < 2 or self._newest[-1][0].t <= self._newest[0][0].t:
            return False
        model, newest = self.model, self._newest[-1][0]
        net, sent = self._motion_now()
        weight = gravity_forces(model, newest.q)
        fast = (self._speed(newest) > 0.7 * SUDDEN * speed_limit(model)) & (np.abs(sent) > 0.01 * effort_limit(model))
        if not fast.any():
            return False
        sent = self._sign * sent  # as it acts, as far as is known
        plain, other = np.abs(net - sent), np.abs(net + sent)
        i = int(np.argmax(fast * np.abs(weight)))
        if fast[i] and abs(net[i] - sent[i] - weight[i]) < 0.3 * abs(weight[i]):
            changed, self._added, self.record.lifted = self._added != 1.0, 1.0, True
            self._turned = True
            return changed
        wrong = fast & (other < 0.5 * plain)
        if wrong.any():
            self._sign, self._turned = np.where(wrong, -self._sign, self._sign), True
            names = [model.joint_names[k] for k in np.flatnonzero(wrong)]
            self.record.reversed_joints = tuple(dict.fromkeys([*self.record.reversed_joints, *names]))
        return bool(wrong.any())

    def _motion_now(self) -> tuple[Array, Array]:
        """(n,) effort that the present motion takes by the description, and mean command."""
        model, newest = self.model, self._newest[-1][0]
        since = newest.t - self._begun
        t = np.array([state.t for state, _ in self._newest]) - newest.t
        speeds = np.polyfit(t, [state.v for state, _ in self._newest], 1)[0]
        if (since < START and not self._turned) or len(t) < 4:
            places = 2.0 * (newest.q - self._place) / max(since, 1e-3) ** 2  # from rest
        else:
            places = 2.0 * np.polyfit(t, [state.q for state, _ in self._newest], 2)[0]
        acceleration = np.where(np.abs(speeds) > np.abs(places), speeds, places)
        if since < START and not self._turned and len(t) > 2:  # after a delay the motion has only just begun
            change = newest.v - self._newest[-3][0].v
            acceleration = np.where(np.abs(change) > SUDDEN * speed_limit(model), -change / t[-3], acceleration)
        own = gravity_forces(model, newest.q) if self.options.gravity_compensated_by == "controller" else 0.0
        net = mass_matrix(model, newest.q) @ acceleration + own
        return net, np.array([command for _, command in self._newest]).mean(axis=0)

    def _missing(self) -> Array:
        """(n,) effort that would stop what pulls the arm out of its bounds, beside its weight as described."""
        if not self.record.ran_away or self._turned or len(self._newest) < 3:
            return np.zeros(self.model.nv)
        net, sent = self._motion_now()
        pull = net - sent + self.model.friction * np.sign(self._newest[-1][0].v)
        most = 0.3 * effort_limit(self.model)
        return np.clip(-SURE * pull, -most, most)
