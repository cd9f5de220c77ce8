"""How far a tool is from where it should be on robots that differ from their description: ``python
-m benchmarks.tool_motion``.

Ten differing robots each of six arms, those of ``benchmarks.differing_robots``, moved by MuJoCo.
The controllers know the description alone.  The tool is held for a second, follows a circle of
0.1 m radius at 0.25 m/s twice, and is held again.  Beside the controller's laws stands what
published Cartesian controllers do: Jᵀ (K e − D ẋ), gravity, Coriolis forces, and a spring in the
null space.  The same seed gives the same robots.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.differing_robots.arms import ARMS, load_arm
from benchmarks.differing_robots.differences import Difference, draw
from benchmarks.differing_robots.laws import START
from benchmarks.differing_robots.robot import Robot
from robot_dynamics_ros.control.laws.task_space import rotation_error
from robot_dynamics_ros.control.reference.task.poses import quaternion_of
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import kernel

# others, like j2s6s200, have joints too slow for the circle
TOOL_ARMS = ("panda", "ur5", "ur10", "tiago", "xarm7", "z1")
# robots in a row that the circle is not within reach of, until an arm is left out
MOST_MISSES = 20
RADIUS = 0.1
SPEED = 0.25
TURNS = 2
# s: held before; until the circle's speed is reached, and from it to rest; held after
HOLD_S = 1.0
RAMP_S = 0.5
REST_S = 2.0
# s: of the last rest, that the error at rest is taken from
LAST_S = 0.5
# s: between two points of the path
POINT_S = 0.05
# rad, m, rad: what the figures are held to
WAY_M = 3e-3
WAY_RAD = 10e-3
REST_M = 1e-3
# m: further away an arm is lost
LOST_M = 0.5
# the tilted circles that are tried, until one is within what the arm can follow
PLANES = [
    (first, second, sign)
    for first, second in ((0, 1), (1, 0), (0, 2), (1, 2), (2, 0), (2, 1))
    for sign in (1, -1)
]


@dataclass(frozen=True)
class Circle:
    """A circle through a pose: world axes ``first``, ``second`` with its sign, ``start`` (4, 4)."""

    start: np.ndarray
    first: int
    second: int
    sign: int

    @property
    def duration(self) -> float:
        """s, from rest to rest."""
        return TURNS * 2.0 * math.pi * RADIUS / SPEED + RAMP_S

    def angle(self, t: float) -> tuple[float, float]:
        """rad and rad/s at ``t`` s after the start: a smooth ramp up and down."""
        top = SPEED / RADIUS
        t = min(max(t, 0.0), self.duration)
        left = self.duration - t
        if t < RAMP_S:
            return top * ramp(t), top * ramp_rate(t)
        if left < RAMP_S:
            return TURNS * 2.0 * math.pi - top * ramp(left), top * ramp_rate(left)
        return top * (t - 0.5 * RAMP_S), top

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """(3,) position and velocity."""
        angle, rate = self.angle(t)
        x = self.start[:3, 3].copy()
        v = np.zeros(3)
        x[self.first] += RADIUS * (1.0 - math.cos(angle))
        x[self.second] += self.sign * RADIUS * math.sin(angle)
        v[self.first] = RADIUS * math.sin(angle) * rate
        v[self.second] = self.sign * RADIUS * math.cos(angle) * rate
        return x, v

    def path(self) -> rd.ToolPath:
        """The same for a controller, from the moment on that it is given."""
        times = np.append(np.arange(POINT_S, self.duration, POINT_S), self.duration)
        states = [self.at(t) for t in times]
        turn = quaternion_of(self.start[:3, :3])
        twists = [np.concatenate([np.zeros(3), v]) for _, v in states]
        return rd.ToolPath.of(times, [x for x, _ in states], [turn] * len(times), twists)


def ramp(t: float) -> float:
    """s: integral of the rate."""
    s = t / RAMP_S
    return RAMP_S * (s**3 - 0.5 * s**4)


def ramp_rate(t: float) -> float:
    """From 0 to 1 without a jump of its rate."""
    s = t / RAMP_S
    return s * s * (3.0 - 2.0 * s)


def circle_within_reach(model: rd.RobotModel, q: np.ndarray, link: str) -> Circle | None:
    """The first of :data:`PLANES` that the tool's reference follows without being slowed down."""
    pose = rd.link_pose(model, q, link)
    for plane in PLANES:
        circle = Circle(pose, *plane)
        tool = rd.ToolReference(model, rd.TaskSettings(link=link))
        tool.limit(
            model.lower + 0.05,
            model.upper - 0.05,
            model.velocity_limit,
            model.velocity_limit / 0.25,
        )
        tool.begin(0, q, np.zeros(model.nv))
        tool.on_path(circle.path(), 0)
        for k in range(1, int(circle.duration / 5e-3) + 40):
            tool.follow(k * 5_000_000)
        if not sum(tool.counts.values()):
            return circle
    return None


# -- laws ------------------------------------------------------------------------------------------


class OfController:
    """The controller with a task, under its default law or Cartesian impedance."""

    def __init__(self, d: Difference, circle: Circle, link: str, *, impedance: bool) -> None:
        self.period = 1.0 / d.rate
        self.circle = circle
        law = None
        robustness = Robustness(delay=d.delay / d.rate)
        if impedance:
            law = rd.CartesianImpedance(link=link, friction=rd.Friction.of(d.claim))
        self.control = rd.JointController(
            d.claim,
            law,
            options=rd.ControllerOptions(robustness=robustness),
            task=rd.TaskSettings(link=link),
        )
        self.control.want_wrenches = self.control.want_efforts = False
        self.sent = False

    def __call__(self, k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        stamp = START + round(k * self.period * 1e9)
        if k == 0:
            self.control.activate(stamp - 1, q, v)
        if not self.sent and k * self.period >= HOLD_S and not self.control.fault:
            self.control.accept_path(self.circle.path(), stamp)
            self.sent = True
        return self.control.update(stamp, q, v).copy()

    @property
    def fault(self) -> str:
        return self.control.fault


class PublishedImpedance:
    """Jᵀ (K e − D ẋ) + C q̇ + g, and a spring with damping in the null space of J."""

    fault = ""

    def __init__(self, d: Difference, circle: Circle, link: str, stiffness: float) -> None:
        model = d.claim
        self.period = 1.0 / d.rate
        self.circle = circle
        self.pose = kernel(model, "link_pose", link=model.link_index(link))
        self.jacobian = kernel(model, "jacobian", frame="world", link=model.link_index(link))
        self.bias = kernel(model, "bias_forces")
        self.limit = model.effort_limit
        # N m/rad and N/m, and twice the roots of both, as published
        self.K = np.repeat([stiffness / 20.0, stiffness], 3)
        self.D = 2.0 * np.sqrt(self.K)
        self.posture: np.ndarray | None = None

    def __call__(self, k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self.posture is None:
            self.posture = q.copy()
        x, _ = self.circle.at(k * self.period - HOLD_S)
        X = self.pose(q)
        J = self.jacobian(q, np.zeros(3))
        turned = rotation_error(self.circle.start[:3, :3], X[:3, :3])
        e = np.concatenate([turned, x - X[:3, 3]])
        spring = 20.0 * (self.posture - q) - 2.0 * math.sqrt(20.0) * v
        null = np.eye(len(q)) - J.T @ np.linalg.pinv(J.T)
        tau = J.T @ (self.K * e - self.D * (J @ v)) + null @ spring + self.bias(q, v)
        return np.clip(tau, -self.limit, self.limit)


TOOL_LAWS: dict[str, Callable[[Difference, Circle, str], object]] = {
    "default law": lambda d, c, link: OfController(d, c, link, impedance=False),
    "cartesian_impedance, 600 N/m": lambda d, c, link: OfController(d, c, link, impedance=True),
    "Jᵀ (K e − D ẋ), 600 N/m": lambda d, c, link: PublishedImpedance(d, c, link, 600.0),
    "Jᵀ (K e − D ẋ), 2400 N/m": lambda d, c, link: PublishedImpedance(d, c, link, 2400.0),
}


def run_tool(name: str, d: Difference, circle: Circle, q: np.ndarray, link: str) -> dict:
    """Largest errors of the tip on the way and at rest, m and rad; infinite where the arm is
    lost.
    """
    robot = Robot(d, q, link)
    law = TOOL_LAWS[name](d, circle, link)
    R = circle.start[:3, :3]
    steps = round((HOLD_S + circle.duration + REST_S) * d.rate)
    off = np.full(steps, np.inf)
    turned = np.full(steps, np.inf)
    q_measured, v = robot.measured()
    for k in range(steps):
        command = law(k, q_measured, v)  # type: ignore[operator]
        X = rd.link_pose(d.claim, robot.q, link)
        x, _ = circle.at(k * robot.period - HOLD_S)
        off[k] = np.linalg.norm(X[:3, 3] - x)
        turned[k] = np.linalg.norm(rotation_error(R, X[:3, :3]))
        if not np.isfinite(command).all() or not off[k] < LOST_M:
            off[k:] = np.inf
            break
        robot.step(command)
        q_measured, v = robot.measured()
    t = np.arange(steps) / d.rate
    way = (t >= HOLD_S) & (t < HOLD_S + circle.duration)
    last = t >= t[-1] - LAST_S
    return {
        "law": name,
        "way mm": 1e3 * off[way].max(),
        "way mrad": 1e3 * turned[way].max(),
        "rest mm": 1e3 * off[last].max(),
        "fault": law.fault,  # type: ignore[attr-defined]
    }


def tool_summary(rows: list[dict]) -> list[dict]:
    """One row a law: shares within the bounds, medians and 95th percentiles."""
    out = []
    for name in TOOL_LAWS:
        own = [row for row in rows if row["law"] == name]
        if not own:
            continue
        way, turned, rest = (
            np.array([row[key] for row in own]) for key in ("way mm", "way mrad", "rest mm")
        )

        def quantiles(x: np.ndarray) -> list[float]:
            return [float(np.quantile(x, share, method="higher")) for share in (0.5, 0.95)]

        good = (way <= 1e3 * WAY_M) & (turned <= 1e3 * WAY_RAD)
        out.append(
            {
                "law": name,
                "robots": len(own),
                "way within 3 mm, 10 mrad %": 100.0 * float(good.mean()),
                "rest within 1 mm %": 100.0 * float((rest <= 1e3 * REST_M).mean()),
                "way mm": quantiles(way),
                "way mrad": quantiles(turned),
                "rest mm": quantiles(rest),
                "faults": sum(bool(row["fault"]) for row in own),
            }
        )
    return out


def main() -> int:
    """Print a row a robot, then the table; write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tool_motion", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--runs", type=int, default=10, help="robots of each arm (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="of the first robot (default: 1)")
    parser.add_argument("--arm", nargs="*", default=list(TOOL_ARMS), choices=list(TOOL_ARMS))
    parser.add_argument("--law", nargs="*", default=list(TOOL_LAWS), choices=list(TOOL_LAWS))
    options = parser.parse_args()
    rows = []
    for arm_name in options.arm:
        arm = ARMS[arm_name]
        model = load_arm(arm)
        found = 0
        missed = 0
        seed = options.seed + 1000 * list(ARMS).index(arm_name)
        while found < options.runs and missed < MOST_MISSES:
            difference, move = draw(arm, model, seed)
            seed += 1
            q = 0.5 * (move.start + move.goal)
            circle = circle_within_reach(difference.claim, q, arm.flange)
            if circle is None:
                missed += 1
                continue
            found += 1
            missed = 0
            for name in options.law:
                row = run_tool(name, difference, circle, q, arm.flange)
                rows.append({"arm": arm_name, "seed": seed - 1, **row})
                print(
                    f"{arm_name:10}{seed - 1:6} {name:30}{row['way mm']:9.2f} mm"
                    f"{row['way mrad']:9.2f} mrad{row['rest mm']:9.2f} mm at rest  {row['fault']}",
                    flush=True,
                )
    summary = tool_summary(rows)
    for line in summary:
        print(line)
    write("tool_motion", {"summary": summary, "robots": rows})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
