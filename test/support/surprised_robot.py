"""Arms that MuJoCo moves, and that something surprises: a push, a wall, a closed brake, a reset.

Each surprise acts on the robot, or on the states that its driver sends; the controller is the
shipped one, called as its node calls it.  What is measured is what a person beside the arm sees:
how fast it became, how far it is from where it should be, and whether it was let go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import mujoco
import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.arms import BENCH_ARMS, home, load_arm
from benchmarks.differing_robots.differences import Move, changed, claiming, exact, rotor_size
from benchmarks.differing_robots.robot import BenchRobot
from robot_dynamics_ros.control.robustness import Robustness

#: s between two states
PERIOD = 0.002
#: s, when the move begins, and when it ends
BEGIN, END = 1.0, 3.0
SECOND = 1_000_000_000
STAMP = 1_700_000_000 * SECOND
State = tuple[int, np.ndarray, np.ndarray]


@dataclass
class Outcome:
    """What became of one run.

    Attributes:
        fault: the controller's, or "".
        speed: largest speed after the start, as a share of the velocity limit.
        goal: largest distance of a joint from the goal of the move at the end, rad.
        moved: largest distance of a joint from where it was before the surprise, rad.
        error: row by row, largest distance from the path, rad; ``t``: its times, s.
        still: largest speed in the last half second, rad/s.
        force: largest force on the wall, N.
    """

    fault: str = ""
    speed: float = 0.0
    goal: float = 0.0
    still: float = 0.0
    force: float = 0.0
    t: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    controller: rd.JointController | None = None

    def at(self, t: float) -> float:
        """Distance from the path at that time, rad."""
        return float(np.interp(t, self.t, self.error))


class Surprise:
    """Nothing happens.  ``duration``: s of the run."""

    duration = 5.0

    def before(self, t: float, run: Run) -> None:
        """Act on the robot, before the step at ``t``."""

    def states(self, t: float, state: State) -> Iterator[State]:
        """What the driver sends for a state."""
        yield state

    def begins_falling(self) -> float:
        """s for which the arm falls before the controller starts."""
        return 0.0


@dataclass
class Push(Surprise):
    """``size`` N on the flange for ``lasting`` s from ``start`` on."""

    size: float
    start: float = 0.3
    lasting: float = 1.0

    def before(self, t, run):
        on = self.start <= t < self.start + self.lasting
        run.robot.force = self.size * run.direction if on else np.zeros(3)


@dataclass
class Wall(Surprise):
    """A wall across the flange's way from ``start`` on, gone ``lasting`` s later."""

    start: float = 1.8
    lasting: float = 3.0
    stiffness: float = 3e4
    duration = 8.0

    def before(self, t, run):
        if t < self.start:
            run.before_wall = run.robot.flange
            return
        if not hasattr(run, "wall"):
            v = run.robot.flange - run.before_wall
            run.wall = run.robot.flange, v / np.linalg.norm(v)
        at, normal = run.wall
        depth = float((run.robot.flange - at) @ normal)
        speed = (depth - getattr(run, "depth", 0.0)) / PERIOD
        run.depth = depth
        on = t < self.start + self.lasting
        force = 0.0
        if on and depth > 0.0:
            force = max(self.stiffness * depth + 300.0 * speed, 0.0)
        run.outcome.force = max(run.outcome.force, force)
        run.robot.force = -force * normal


@dataclass
class Brake(Surprise):
    """The brakes of ``joints`` are closed until ``opens``."""

    opens: float = 1.6
    joints: tuple[int, ...] = (1, 3)

    def before(self, t, run):
        m, at = run.robot._m, run.robot._v_at[list(self.joints)]
        loss = run.robot.difference.dry[list(self.joints)]
        m.dof_frictionloss[at] = 1e4 if t < self.opens else loss
        run.robot._rubs = False


@dataclass
class Falling(Surprise):
    """The controller starts while the arm falls."""

    falls: float = 0.2

    def begins_falling(self):
        return self.falls


@dataclass
class Elsewhere(Surprise):
    """The robot is put elsewhere, at rest; ``back``: its stamps begin anew."""

    when: float = 0.5
    way: float = 0.5
    back: bool = False

    def before(self, t, run):
        if abs(t - self.when) < 0.5 * PERIOD:
            data, at = run.robot._data, run.robot
            data.qpos[at._q_at] += self.way * run.signs
            data.qvel[:] = 0.0
            mujoco.mj_forward(run.robot._m, data)

    def states(self, t, state):
        stamp, q, v = state
        yield (stamp - STAMP if self.back and t >= self.when else stamp), q, v


@dataclass
class Rare(Surprise):
    """States come at ``rate`` Hz between ``start`` and ``end``."""

    rate: float = 10.0
    start: float = 1.5
    end: float = 2.5
    last: float = -1.0

    def states(self, t, state):
        if self.start <= t < self.end and t - self.last < 1.0 / self.rate - 1e-9:
            return
        self.last = t
        yield state


@dataclass
class Unreliable(Surprise):
    """States 10 to 20 ms late, a fifth lost, a fifth doubled; stamped as measured, or arrived."""

    stamped_at_arrival: bool = False

    def __post_init__(self):
        self.rng = np.random.default_rng(3)
        self.waiting: list[tuple[float, State]] = []

    def states(self, t, state):
        if self.rng.uniform() > 0.2:
            due = t + self.rng.uniform(0.010, 0.020)
            self.waiting.append((due, state))
            if self.rng.uniform() < 0.2:
                self.waiting.append((due, state))
        ready = [x for x in self.waiting if x[0] <= t]
        self.waiting = [x for x in self.waiting if x[0] > t]
        for _, (stamp, q, v) in sorted(ready, key=lambda x: x[0]):
            yield (STAMP + round(t * SECOND) if self.stamped_at_arrival else stamp), q, v


class Run:
    """One robot, one controller, one surprise."""

    def __init__(self, name: str, surprise: Surprise, seed: int = 0, delay: int = 1, **options):
        rng = np.random.default_rng(seed)
        arm = BENCH_ARMS[name]
        claim = load_arm(arm)
        n = claim.nv
        links = len(claim.description.links)
        masses = rng.uniform(0.9, 1.1, links)
        rotors = rng.uniform(0.3, 1.0, n) * rotor_size(claim)
        truth = changed(claim, masses, np.zeros((links, 3)), rotors)
        limit = np.minimum(claim.effort_limit, 1e3)
        truth = claiming(truth, rng.uniform(0.02, 0.05, n) * limit, 0.01 * limit)
        difference = exact(claim, truth, rate=round(1.0 / PERIOD), delay=delay, seed=seed)
        step = rng.uniform(0.4, 0.8, n) * rng.choice([-1.0, 1.0], n)
        start = home(arm, claim) - 0.5 * step
        self.move = Move(start, start + step, END - BEGIN)
        self.robot = BenchRobot(difference, start, arm.flange)
        self.surprise, self.options = surprise, options
        self.signs = rng.choice([-1.0, 1.0], n)
        direction = rng.standard_normal(3)
        self.direction = direction / np.linalg.norm(direction)
        self.outcome = Outcome()
        self.claim = claim

    def __call__(self, moves: bool = True) -> Outcome:
        robot, surprise, out = self.robot, self.surprise, self.outcome
        n = self.claim.nv
        settings = rd.ControllerOptions(robustness=Robustness(), **self.options)
        control = rd.JointController(self.claim, options=settings)
        out.controller = control
        for _ in range(round(surprise.begins_falling() / PERIOD)):
            robot.step(np.zeros(n))
        q, v = robot.measured()
        control.activate(STAMP - 1, q, v)
        origin = robot.q.copy()
        command = np.zeros(n)
        sent = False
        stamp, stamped = STAMP, 0.0
        for k in range(round(surprise.duration / PERIOD)):
            t = k * PERIOD
            surprise.before(t, self)
            q, v = robot.measured()
            for state in surprise.states(t, (STAMP + round(t * SECOND), q, v)):
                if control.fault:
                    break
                if not 0 <= stamp - state[0] <= SECOND // 10:
                    stamp, stamped = state[0], t
                command = control.update(*state).copy()
            now = stamp + round((t - stamped) * SECOND)
            if k % 10 == 0 and not control.fault and (safe := control.watch(now)) is not None:
                command = safe.copy()
            if control.fault and not out.fault:
                out.fault = control.fault
                command = np.zeros(n)
            if moves and not sent and t >= BEGIN and control.mode is rd.Mode.HOLD:
                rest = np.zeros(n)
                names = self.claim.joint_names
                way = rd.Trajectory.from_waypoints(
                    names, [self.move.duration], [self.move.goal], [rest], [rest]
                )
                out.goal_handle = control.accept_trajectory(way, stamp)
                sent = True
            robot.step(command)
            out.t.append(t)
            desired = self.move.at(t - BEGIN)[0] if moves else origin
            out.error.append(float(np.abs(robot.q - desired).max()))
            share = float((np.abs(robot.v) / self.claim.velocity_limit).max())
            out.speeds.append(share)
            if t > 0.0:
                out.speed = max(out.speed, share)
            if t > surprise.duration - 0.5:
                out.still = max(out.still, float(np.abs(robot.v).max()))
            if not np.isfinite(robot.q).all() or np.abs(robot.q).max() > 50.0:
                out.fault = out.fault or "diverged"
                break
        out.goal = out.error[-1]
        return out


SURPRISES: dict[str, tuple[Callable[[], Surprise], bool]] = {
    "nothing": (Surprise, True),
    "push 25 N at rest": (lambda: Push(25.0), False),
    "push 50 N at rest": (lambda: Push(50.0), False),
    "push 100 N at rest": (lambda: Push(100.0), False),
    "push 50 N in motion": (lambda: Push(50.0, 1.7), True),
    "push 100 N in motion": (lambda: Push(100.0, 1.7), True),
    "wall": (Wall, True),
    "late brakes": (Brake, True),
    "late brakes at rest": (lambda: Brake(0.4, (1,)), False),
    "falls 0.2 s": (Falling, False),
    "falls 0.4 s": (lambda: Falling(0.4), False),
    "set elsewhere": (Elsewhere, False),
    "reset, stamps too": (lambda: Elsewhere(back=True), False),
    "set elsewhere in motion": (lambda: Elsewhere(2.0), True),
    "10 Hz for 1 s": (Rare, True),
    "20 Hz for 1 s": (lambda: Rare(20.0), True),
    "8 Hz for 1 s": (lambda: Rare(8.0), True),
    "unreliable states": (Unreliable, True),
    "unreliable, stamped at arrival": (lambda: Unreliable(True), True),
}
"""Name → surprise, and whether the arm is asked to move."""


def main() -> None:
    """All surprises on some arms, a line each."""
    import sys

    arms = sys.argv[1].split(",") if len(sys.argv) > 1 else ["panda", "ur10"]
    chosen = sys.argv[2].split(",") if len(sys.argv) > 2 else [""]
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for name, (make, moves) in SURPRISES.items():
        if not any(part in name for part in chosen):
            continue
        for arm in arms:
            for seed in range(seeds):
                out = Run(arm, make(), seed)(moves)
                c = out.controller
                counts = {k: n for k, n in c.counts.items() if n}
                handle = getattr(out, "goal_handle", None)
                status = handle.status.value if handle else "-"
                print(
                    f"{name:32s} {arm:8s}{seed} speed {out.speed:5.2f} "
                    f"end {1e3 * out.goal:8.1f} mrad still {out.still:5.2f} "
                    f"force {out.force:6.0f} {status} {out.fault[:70]} {counts}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
