"""One run of one law on one robot of a kind, and its figures."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.differences import Move
from benchmarks.differing_robots.kinds_laws import Contender, FunctionLaw
from benchmarks.differing_robots.kinds_robot import (
    TABLE_DEPTH,
    KindRobot,
    Scene,
    _place,
    make_scene,
    table,
    wall,
)
from benchmarks.differing_robots.measure import high_passed

__all__ = ["FIGURES", "run_kind"]

Vector = np.ndarray

STAND = 0.6
"""s of holding before the first motion."""
REST = 1.5
"""s after a motion, before its error is taken."""
EVENT = 1.0
"""s that a push lasts, and that slow states do."""
AFTER = 1.5
"""s from the end of an event to the end of the run; at rest it is 2.4 s."""
AFTER_LOAD = 2.4
WALL_TIME = 3.0
"""s that a wall stands in the way from the first touch on."""
BRAKE_TIME = 0.5
"""s of the motion after which late brakes open."""
FALL_TIME = 0.12
SLOW_RATE = 10.0
"""Hz of the states while they are slow."""
LOST_ERROR = 0.5
"""rad or m; beyond it the robot is lost, where nothing keeps it from its way."""
SHAKING = 5.0
"""% of the limits, rms above 20 Hz, of efforts that swing when they should be at rest."""
THROWN = 6.0
"""Of the velocity limit; what is faster is thrown."""
SWING_SPEED = 0.1
"""rad/s; what moves faster when it should be at rest swings."""

FIGURES = (
    "lost",
    "swings",
    "goal",
    "way",
    "swing",
    "force",
    "rough",
    "step",
    "speed",
    "fault",
    "says",
)


class _Plan:
    """The desired motion over the whole run."""

    def __init__(self, scene: Scene, stand: float) -> None:
        self.moves = scene.moves
        self.linear = scene.kind.motion == "two_points"
        self.begins = []
        t = stand
        for move in self.moves:
            self.begins.append(t)
            t += move.duration
        self.moved = t

    def at(self, t: float) -> tuple[Vector, Vector, Vector]:
        """(n,) position, velocity, acceleration at ``t`` s."""
        k = 0
        while k + 1 < len(self.moves) and t >= self.begins[k + 1]:
            k += 1
        move = self.moves[k]
        since = t - self.begins[k]
        if not self.linear:
            return move.at(since)
        zero = np.zeros(len(move.start))
        step = move.goal - move.start
        if since <= 0.0:
            return move.start, zero, zero
        if since >= move.duration:
            return move.goal, zero, zero
        return move.start + step * (since / move.duration), step / move.duration, zero

    def trajectory(self, k: int, names: tuple[str, ...]) -> rd.Trajectory:
        """Of the move ``k``, as a client would send it."""
        move = self.moves[k]
        zero = np.zeros(len(move.goal))
        if self.linear:
            return rd.Trajectory.from_waypoints(
                names, [1e-3, move.duration], [move.start, move.goal]
            )
        return rd.Trajectory.from_waypoints(names, [move.duration], [move.goal], [zero], [zero])


def run_kind(
    make: Callable[..., object], scene: Scene | None = None, **which: object
) -> dict[str, object]:
    """Hold, move, settle, be surprised, come back.

    Args:
        make: of a model and a period, a :class:`Contender` or a law function.
        scene: the robot; else ``which`` has ``kind``, ``arm_name`` and ``seed`` of it.

    Returns:
        :data:`FIGURES`; errors and swings in mrad, forces in N, efforts in % of the limits.
    """
    scene = scene or make_scene(**which)  # type: ignore[arg-type]
    return _Run(make, scene).go()


class _Run:
    def __init__(self, make: Callable[..., object], scene: Scene) -> None:
        self.scene = scene
        self.kind = kind = scene.kind
        self.robot = KindRobot(scene)
        self.period = scene.period
        self.law = _contender(make, scene)
        if kind.event == "falling":
            self.robot.fall(FALL_TIME)
            first = scene.moves[0]
            scene.moves[0] = Move(self.robot.q.copy(), first.goal, first.duration)
        self.plan = _Plan(scene, STAND)
        settled = self.plan.moved + REST
        self.event_from = (
            settled if kind.event_at == "rest" else STAND + 0.3 * scene.moves[0].duration
        )
        self.event_to = self.event_from + EVENT
        end = settled
        if kind.payload_at in ("picked", "dropped"):
            self.event_from = settled
            self.event_to = settled
            end = settled + AFTER_LOAD
        elif kind.event in ("push", "slow_states"):
            end = max(settled, self.event_to + AFTER)
        elif kind.event == "reset":
            end = self.event_from + AFTER
        elif kind.event == "wall":
            self.event_from = STAND
            self.event_to = STAND + 0.5 * scene.moves[0].duration + WALL_TIME
            end = self.event_to + AFTER
        elif kind.event == "brake":
            self.event_from = 0.0
            self.event_to = STAND + BRAKE_TIME
        elif kind.event == "table":
            self.event_from = STAND
            self.event_to = settled
        self.settled = settled
        self.end = end
        self.active = False
        self.done = False
        self.rng = np.random.default_rng(scene.seed + 2)
        self.rows: dict[str, list] = {x: [] for x in ("t", "q", "v", "desired", "effort")}
        self.jumped: Vector | None = None
        self.stopped = -1

    # -- surprises ---------------------------------------------------------------------------------

    def _surprise(self, t: float) -> None:
        """Let the event begin and end."""
        kind = self.kind
        if not (kind.event or self.scene.loaded is not None):
            return
        if not self.active and not self.done and t >= self.event_from:
            self.active = True
            self._begin()
        if self.active and kind.event == "table":
            self.low = float(
                _place(self.robot.difference.claim, self.plan.at(t)[0], self.flange) @ self.down
            )
            depth = TABLE_DEPTH * min(1.0, (t - self.event_from) / 0.5)
            self.low -= depth
        if self.active and t >= self.event_to and kind.event not in ("stop", "table", "reset"):
            self.active = False
            self.done = True
            self._finish()

    @property
    def flange(self) -> str:
        return self.scene.arm.arm.flange

    def _begin(self) -> None:
        kind = self.kind
        robot = self.robot
        scene = self.scene
        move = scene.moves[0]
        model = robot.difference.claim
        direction = self.rng.standard_normal(3)
        direction /= np.linalg.norm(direction)
        if kind.event == "push":
            robot.pushed = kind.force * direction
        elif kind.event == "wall":
            chord = _place(model, move.goal, self.flange) - _place(model, move.start, self.flange)
            middle = _place(model, 0.5 * (move.start + move.goal), self.flange)
            robot.surface = wall(middle, chord / np.linalg.norm(chord))
        elif kind.event == "table":
            chord = _place(model, move.goal, self.flange) - _place(model, move.start, self.flange)
            down = np.cross(chord, direction)
            self.down = down / np.linalg.norm(down)
            self.low = np.inf
            robot.surface = table(lambda: self.low, self.down)
        elif kind.event == "stop":
            step = move.goal - move.start
            i = int(self.rng.integers(robot.n))
            self.stopped = i
            robot.stop_at(i, float(move.start[i] + 0.6 * step[i]), float(np.sign(step[i])))
        elif kind.event == "brake":
            robot.brake(on=True)
        elif kind.event == "reset":
            shift = self.rng.uniform(0.2, 0.4, robot.n) * self.rng.choice([-1.0, 1.0], robot.n)
            shift = np.minimum(np.abs(shift), 0.3 * (model.upper - model.lower)) * np.sign(shift)
            low = model.lower + 0.02 * (model.upper - model.lower)
            high = model.upper - 0.02 * (model.upper - model.lower)
            free = ~np.isfinite(model.lower)
            there = np.clip(robot.q + np.where(free, 0.3, shift), low, high)
            there = np.where(np.isfinite(there), there, robot.q + 0.3)
            self.jumped = there
            robot.jump(there)
        elif scene.loaded is not None:
            picked = kind.payload_at == "picked"
            robot.carry(scene.loaded if picked else robot.difference.truth)

    def _finish(self) -> None:
        if self.kind.event in ("push", "wall"):
            self.robot.release()
        elif self.kind.event == "brake":
            self.robot.brake(on=False)

    # -- the run -----------------------------------------------------------------------------------

    def _arrivals(self, t: float, k: int) -> list[float]:
        """When the state of the period ``k`` arrives, s: never, once or twice."""
        kind = self.kind
        if kind.event == "slow_states" and self.event_from <= t < self.event_to:
            slow = round(1.0 / (SLOW_RATE * self.period))
            if k % slow:
                return []
        if kind.lost and self.rng.uniform() < kind.lost:
            return []
        periods, seconds = kind.late_states
        arrives = t + periods * self.period + seconds
        if kind.jitter:
            arrives += self.rng.uniform(0.0, kind.jitter)
        twice = kind.doubled and self.rng.uniform() < kind.doubled
        return [arrives, arrives + 0.5 * self.period] if twice else [arrives]

    def go(self) -> dict[str, object]:
        """The figures of the whole run."""
        robot = self.robot
        law = self.law
        kind = self.kind
        T = self.period
        h = robot.h
        periods, seconds = kind.late_commands
        late = (periods + robot.difference.delay) * T + seconds
        queue: list[tuple[int, int, str, object]] = []
        order = 0
        started = False
        sent = 0
        seen = 0.0
        command = np.zeros(robot.n)
        changing = kind.drift != (1.0, 1.0) or kind.breakaway != 1.0 or kind.drawn
        total = round(self.end / T)
        self.grid = [self.plan.at(k * T) for k in range(total + 1)]
        why = ""
        before: tuple[Vector, Vector] | None = None
        for k in range(total):
            t = k * T
            self._surprise(t)
            if changing:
                robot.friction(t, self.end)
            state = robot.measured()
            if kind.repeated and before is not None and self.rng.uniform() < kind.repeated:
                state = before
            before = state
            for arrives in self._arrivals(t, k):
                stamp = arrives if kind.stamped_late else t
                order += 1
                at = max(k * robot.substeps, round(arrives / h))
                heapq.heappush(queue, (at, order, "state", (stamp, state)))
            i = k * robot.substeps
            stop = i + robot.substeps
            while i < stop:
                while queue and queue[0][0] <= i:
                    _, _, what, content = heapq.heappop(queue)
                    if what == "effort":
                        robot.command(content)
                        continue
                    stamp, (q, v) = content
                    now = i * h
                    if not started:
                        law.start(stamp, q, v)
                        started = True
                    if sent < len(self.plan.moves) and now >= self.plan.begins[sent] - 1e-9:
                        law.follow(
                            self.plan.trajectory(sent, robot.difference.claim.joint_names),
                            self.plan.begins[sent],
                        )
                        sent += 1
                    on_grid = round(stamp / T)
                    exactly = on_grid <= total and abs(stamp - on_grid * T) < 1e-9
                    desired = self.grid[on_grid] if exactly else self.plan.at(stamp)
                    command = law.update(stamp, q, v, desired)
                    seen = now
                    if not np.isfinite(command).all():
                        why = "not finite"
                        break
                    order += 1
                    heapq.heappush(queue, (i + round(late / h), order, "effort", command.copy()))
                if why:
                    break
                until = min(stop, queue[0][0]) if queue else stop
                until = max(until, i + 1)
                robot.advance(until - i)
                i = until
            if started and i * h - seen > max(0.02, 3.0 * T):
                safe = law.watch(i * h)
                if safe is not None:
                    order += 1
                    heapq.heappush(queue, (i + round(late / h), order, "effort", safe))
            self._record(k, command)
            if k % 10 == 0:
                why = why or self._astray(t)
            if why:
                break
        return self._figures(why)

    def _record(self, k: int, command: Vector) -> None:
        """What is true at the end of the period ``k``."""
        rows = self.rows
        rows["t"].append((k + 1) * self.period)
        rows["q"].append(self.robot.q.copy())
        rows["v"].append(self.robot.v.copy())
        rows["desired"].append(self.grid[k + 1][0])
        rows["effort"].append(command.copy())

    def _astray(self, t: float) -> str:
        """Why the robot is lost, or ""."""
        q = self.robot.q
        if not np.isfinite(q).all():
            return "not finite"
        error = float(np.abs(q - self.rows["desired"][-1]).max())
        kept = self.kind.event in ("wall", "stop", "brake", "reset", "push", "slow_states")
        kept = kept and self.event_from <= t
        if error > (3.0 if kept else LOST_ERROR):
            return f"{error:.2f} rad astray"
        fastest = float((np.abs(self.robot.v) / self.robot.difference.claim.velocity_limit).max())
        if fastest > THROWN:
            return f"thrown, {fastest:.1f} times the speed limit"
        return ""

    def _figures(self, why: str) -> dict[str, object]:
        law = self.law
        model = self.robot.difference.claim
        rows = {name: np.array(values) for name, values in self.rows.items()}
        t = rows["t"]
        limit = self.robot.limit
        error = np.abs(rows["desired"] - rows["q"])
        if self.stopped >= 0:
            error[:, self.stopped] = 0.0
        if self.jumped is not None:
            after = t >= self.event_from
            error[after] = np.minimum(error[after], np.abs(rows["q"][after] - self.jumped))
        fault = law.fault
        out: dict[str, object] = {name: None for name in FIGURES}
        last = t >= t[-1] - 0.2
        still = t >= t[-1] - 0.5
        goal = 1e3 * float(error[last].max())
        if not why and goal > 1e3 * 0.25:
            why = f"{goal:.0f} mrad from its goal at the end"
        fast = float((np.abs(rows["v"]) / model.velocity_limit).max())
        out["lost"] = bool(why or fault)
        out["fault"] = fault or why
        out["force"] = self.robot.forces
        out["speed"] = fast
        out["says"] = law.says()
        if why:
            return out
        on_way = (t >= STAND) & (t < self.settled)
        out["goal"] = goal
        out["way"] = 1e3 * float(error[on_way].max())
        q = rows["q"][still]
        out["swing"] = 1e3 * float(np.ptp(q, axis=0).max())
        out["swings"] = bool(np.abs(rows["v"][still]).max() > SWING_SPEED)
        scaled = 100.0 * rows["effort"] / limit
        shaking = high_passed(scaled[still], 1.0 / self.period)
        out["swings"] = out["swings"] or bool(np.sqrt(np.mean(np.square(shaking))) > SHAKING)
        plain = on_way & ((t < self.event_from) | (not self.kind.event))
        if plain.sum() > 50:
            rough = high_passed(scaled[plain], 1.0 / self.period)
            out["rough"] = float(np.sqrt(np.mean(np.square(rough))))
            out["step"] = float(np.abs(np.diff(scaled[plain], axis=0)).max())
        return out


def _contender(make: Callable[..., object], scene: Scene) -> Contender:
    """The law on this robot."""
    holds = scene.kind.gravity
    claim = scene.difference.claim
    if isinstance(make, type) and issubclass(make, Contender):
        return make(claim, scene.period, robot_holds=holds)
    return FunctionLaw(make, claim, scene.period, robot_holds=holds)  # type: ignore[arg-type]
