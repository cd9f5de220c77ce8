"""One run of one law on one robot, and what it is judged by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.differing_robots.differences import Difference, Move
from benchmarks.differing_robots.laws import Knowledge
from benchmarks.differing_robots.robot import Robot

HOLD, SETTLE, PUSH, RELEASED = 1.0, 1.5, 1.5, 1.5
FORCE = 30.0


@dataclass
class Trace:
    """All of a run, rows by period."""

    t: list = field(default_factory=list)
    q: list = field(default_factory=list)
    v: list = field(default_factory=list)
    reference: list = field(default_factory=list)
    effort: list = field(default_factory=list)
    flange: list = field(default_factory=list)


def run(make, difference: Difference, move: Move, flange: str, *, push: bool = True, delay_factor: float = 1.0):
    """Hold, move, settle, be pushed, come back; (figures, trace as arrays)."""
    d = difference
    robot = Robot(d, move.start, flange)
    T = robot.period
    law = make(d.claim, Knowledge(T, d.delay * T, 1.0 / (2.0 * np.pi * d.velocity_filter)))
    q, v = robot.measured()
    law.move = move
    law.start(q, v)
    marks = np.cumsum([HOLD, move.duration, SETTLE, *((PUSH, RELEASED) if push else ())])
    trace = Trace()
    rng = np.random.default_rng(d.seed + 2)
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    steps = round(marks[-1] / T)
    lost = False
    for k in range(steps):
        t = k * T
        qd, vd, ad = move.at(t - HOLD)
        command = law.step(q, v, qd, vd, ad)
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
        robot.force = FORCE * ramp * direction if push and marks[2] <= t < marks[3] else np.zeros(3)
        robot.step(command)
        q, v = robot.measured()
        if not np.isfinite(robot.q).all() or np.abs(robot.q - qd).max() > 3.5:
            lost = True
            break
    trace = {name: np.array(values) for name, values in vars(trace).items()}
    return figures(trace, d, move, marks, T, lost, push), trace, law


def high_passed(x: np.ndarray, rate: float, cutoff: float) -> np.ndarray:
    from scipy.signal import butter, sosfiltfilt

    return sosfiltfilt(butter(4, cutoff, "highpass", fs=rate, output="sos"), x, axis=0)


def figures(trace, d: Difference, move: Move, marks, T: float, lost: bool, push: bool) -> dict:
    limit, n = d.claim.effort_limit, d.claim.nv
    e = trace["reference"] - trace["q"]
    t = trace["t"]
    out = {"lost": lost}
    if lost or not len(t):
        return out | {"goal": np.inf, "way": np.inf, "sag": np.inf, "stable": False, "goal_by_joint": [np.inf] * n}
    hold = (t > HOLD - 0.3) & (t < HOLD)
    way = (t >= HOLD) & (t < marks[2])
    end = (t >= marks[2] - 0.2) & (t < marks[2])
    rest = (t >= marks[2] - 0.5) & (t < marks[2])
    out["goal_by_joint"] = (1e3 * np.abs(e[end]).max(0)).tolist()
    out["way_by_joint"] = (1e3 * np.abs(e[way]).max(0)).tolist()
    out["goal"], out["way"] = max(out["goal_by_joint"]), max(out["way_by_joint"])
    out["sag"] = 1e3 * float(np.abs(e[t < HOLD]).max())
    scaled = trace["effort"] / limit
    out["chatter"] = float(np.sqrt(np.mean(high_passed(scaled[rest], 1.0 / T, 20.0) ** 2, axis=0)).max())
    out["chatter_way"] = float(np.sqrt(np.mean(high_passed(scaled[way], 1.0 / T, 20.0) ** 2, axis=0)).max())
    out["speed_at_rest"] = float(np.abs(trace["v"][rest]).max())
    out["oscillation"] = 1e3 * float(np.ptp(trace["q"][rest], axis=0).max())
    moving = t < marks[2]
    out["speed"] = float((np.abs(trace["v"][moving]) / d.claim.velocity_limit).max())
    out["effort"] = float(np.abs(scaled[moving]).max())
    out["at_limit"] = float(np.mean(np.abs(scaled[moving]) > 0.999))
    # not a limit cycle, nor one that grows: at rest nothing moves faster than 0.1 rad/s
    out["stable"] = bool(out["speed_at_rest"] < 0.1)
    if push:
        pushed = (t >= marks[2]) & (t < marks[3])
        after = t >= marks[3]
        before = trace["q"][end][-1]
        away = trace["q"] - before
        out["deflection"] = 1e3 * float(
            np.linalg.norm(trace["flange"][pushed] - trace["flange"][end][-1], axis=1).max()
        )
        built = np.abs(trace["effort"][pushed] - trace["effort"][end].mean(0))
        out["built_up"] = float((built / limit).max())
        peak = np.abs(away[pushed]).max(0)
        over = np.zeros(n)
        for i in range(n):
            sign = np.sign(away[pushed][-1, i])
            over[i] = max(0.0, float((-sign * away[after][:, i]).max())) / max(peak[i], 2e-3)
        out["overshoot"] = float(over.max())
        out["returned"] = 1e3 * float(np.abs(e[-1]).max())
        out["push_speed"] = float((np.abs(trace["v"][pushed | after]) / d.claim.velocity_limit).max())
    return out
