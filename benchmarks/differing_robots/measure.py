"""One run of one law on one robot, and what it is judged by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.signal import butter, sosfiltfilt

from benchmarks.differing_robots.differences import Difference, Move
from benchmarks.differing_robots.laws import BenchLaw, Knowledge
from benchmarks.differing_robots.robot import BenchRobot

HOLD_TIME = 1.0
SETTLE_TIME = 1.5
PUSH_TIME = 1.5
RELEASED_TIME = 1.5
PUSH_FORCE = 30.0


@dataclass
class RunTrace:
    """All of a run, rows by period."""

    t: list = field(default_factory=list)
    q: list = field(default_factory=list)
    v: list = field(default_factory=list)
    reference: list = field(default_factory=list)
    effort: list = field(default_factory=list)
    flange: list = field(default_factory=list)


def run(
    make: type[BenchLaw],
    difference: Difference,
    move: Move,
    flange: str,
    *,
    push: bool = True,
    declared: float = 1.0,
    robot_type: type[BenchRobot] = BenchRobot,
) -> tuple[dict, dict[str, np.ndarray], BenchLaw]:
    """Hold, move, settle, be pushed, come back.

    Args:
        declared: share of the robot's delay that the law is told.
        robot_type: how it measures.

    Returns:
        Figures, the run row by row, and the law in its last state.
    """
    d = difference
    robot = robot_type(d, move.start, flange)
    T = robot.period
    law = make(d.claim, Knowledge(T, declared * d.delay * T, HOLD_TIME), move)
    q, v = robot.measured()
    law.start(q, v)
    marks = np.cumsum(
        [HOLD_TIME, move.duration, SETTLE_TIME, *((PUSH_TIME, RELEASED_TIME) if push else ())]
    )
    trace = RunTrace()
    rng = np.random.default_rng(d.seed + 2)
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    steps = round(marks[-1] / T)
    lost = False
    for k in range(steps):
        t = k * T
        qd, vd, ad = move.at(t - HOLD_TIME)
        command = law.step(q, v, (qd, vd, ad))
        if not np.isfinite(command).all():
            lost = True
            break
        trace.t.append(t)
        trace.q.append(robot.q.copy())
        trace.v.append(robot.v.copy())
        trace.reference.append(qd)
        trace.effort.append(command.copy())
        trace.flange.append(robot.flange)
        ramp = min(max((t - marks[2]) / 0.1, 0.0), 1.0)
        robot.force = (
            PUSH_FORCE * ramp * direction if push and marks[2] <= t < marks[3] else np.zeros(3)
        )
        robot.step(command)
        q, v = robot.measured()
        if not np.isfinite(robot.q).all() or np.abs(robot.q - qd).max() > 3.5:
            lost = True
            break
    trace = {name: np.array(values) for name, values in vars(trace).items()}
    return figures(trace, d, marks, T, lost, push, direction), trace, law


def high_passed(x: np.ndarray, rate: float) -> np.ndarray:
    """Columns above 20 Hz."""
    return sosfiltfilt(butter(4, 20.0, "highpass", fs=rate, output="sos"), x, axis=0)


def figures(
    trace: dict[str, np.ndarray],
    d: Difference,
    marks: np.ndarray,
    T: float,
    lost: bool,
    push: bool,
    direction: np.ndarray,
) -> dict:
    """Largest errors in mrad; chatter and efforts as shares of the effort limits."""
    limit = d.claim.effort_limit
    t = trace["t"]
    out: dict = {"stable": False, "goal": np.inf, "way": np.inf}
    if lost or not len(t):
        return out
    e = trace["reference"] - trace["q"]
    way = (t >= HOLD_TIME) & (t < marks[2])
    end = way & (t >= marks[2] - 0.2)
    rest = way & (t >= marks[2] - 0.5)
    out["goal"] = 1e3 * float(np.abs(e[end]).max())
    out["way"] = 1e3 * float(np.abs(e[way]).max())
    scaled = trace["effort"] / limit
    moving = t < marks[2]
    out["chatter"] = float(np.mean(high_passed(scaled[rest], 1.0 / T) ** 2))
    out["speed"] = float((np.abs(trace["v"][moving]) / d.claim.velocity_limit).max())
    # neither a limit cycle nor one that grows: at rest nothing moves faster than 0.1 rad/s
    out["stable"] = bool(np.abs(trace["v"][rest]).max() < 0.1)
    if push:
        pushed = (t >= marks[2]) & (t < marks[3])
        after = t >= marks[3]
        away = (trace["flange"] - trace["flange"][end][-1]) @ direction
        peak = float(np.abs(away[pushed]).max())
        out["deflection"] = 1e3 * peak
        out["overshoot"] = float(max(0.0, -away[after].min())) / max(peak, 1e-3)
        built = trace["effort"][pushed] - trace["effort"][end].mean(0)
        out["built_up"] = float((np.abs(built) / limit).max())
    return out
