"""Periodic motions of few harmonics, at rest where a period begins, and search for one that shows
all base parameters.

    q_i(t) = c_i + Σ_l [ a_il sin(l ω t) − b_il cos(l ω t) ] / (l ω)

Limits of position, velocity and acceleration are met by construction: each joint's series is made
smaller and moved until it fits. Efforts (by the prior model) and a floor, which no formula inverts,
are barriers. What is minimised is the condition number of the regressor, by an evolution strategy
of one parent and one child with steps that adapt.

Sources: Swevers, Ganseman, Tükel, De Schutter and Van Brussel, IEEE T-RA 13 (1997) (the series and
the criterion); Rechenberg, Evolutionsstrategie (1973) (the 1/5 rule).
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.limits import default_deceleration
from robot_dynamics_ros.control.reference.planning import plan_move
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory
from robot_dynamics_ros.dynamics import inverse_dynamics, link_poses
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.effort_parameters import EffortParameters, FrictionTerms
from robot_dynamics_ros.identification.least_squares import Identifiable, identifiable_parameters
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, non_negative, per_joint, settings_or_default
from robot_dynamics_ros.whole_files import whole_file, write_whole_text

# more make a motion that shakes the robot, and matrices that fill the memory
_MOST_HARMONICS = 100
# points per period of the highest harmonic, to find extremes
_FINE = 40
# Between evenly spaced points a trigonometric polynomial exceeds the largest of them by this factor
# at most (Ehlich and Zeller, Math. Z. 86, 1964).
_BETWEEN = math.cos(math.pi / _FINE)
# rad/s or m/s, of joints without a velocity limit.
_SPEED = 2.0
# rad or m, range of joints without position limits: one turn.
_SPAN = 2.0 * math.pi


def at_rest(raw: Array) -> Array:
    """(2, n, L) coefficients a, b nearest to ``raw`` for which speed and acceleration vanish at the
    start of a period.
    """
    l = np.arange(1, raw.shape[-1] + 1.0)  # noqa: E741 - the paper's name
    out = np.empty_like(raw)
    out[0] = raw[0] - raw[0].mean(axis=-1, keepdims=True)
    out[1] = raw[1] - (raw[1] @ l)[:, None] * l / (l @ l)
    return out


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that shows the parameters.

    Attributes:
        joint_names: (n,) the joints.
        period: s.
        centre: (n,) c, rad or m.
        sine, cosine: (n, L) a and b, rad/s or m/s.
        condition: condition number of the regressor along it, columns in proportion to what fast
            motion shows.
        effort: (n,) largest efforts along it by the prior model, N m or N.
    """

    joint_names: tuple[str, ...]
    period: float
    centre: Array
    sine: Array
    cosine: Array
    condition: float = math.inf
    effort: Array | None = None

    def at(self, t: ArrayLike, derivative: int = 0) -> Array:
        """(..., n) position, velocity (1) or acceleration (2) at times ``t``, s."""
        lw = 2.0 * math.pi / self.period * np.arange(1, self.sine.shape[-1] + 1.0)
        angle = np.asarray(t, dtype=np.float64)[..., None] * lw
        s = np.sin(angle)
        c = np.cos(angle)
        expect(derivative in (0, 1, 2), "0, 1 or 2", derivative, "derivative", "")
        a, b = ((s / lw, -c / lw), (c, s), (-s * lw, c * lw))[derivative]
        return np.asarray(
            (self.centre if derivative == 0 else 0.0) + a @ self.sine.T + b @ self.cosine.T
        )

    def trajectory(
        self,
        periods: int = 1,
        *,
        rate: float = 50.0,
        start: ArrayLike | None = None,
        model: RobotModel | None = None,
        rest: float = 1.0,
    ) -> Trajectory:
        """As a joint trajectory with positions, velocities and accelerations: quintics between
        waypoints.

        Args:
            periods: how often.
            rate: waypoints a second.
            start: (n,) where the arm is: a move from there to the motion's start comes first (see
                :func:`~robot_dynamics_ros.control.reference.planning.plan_move`), then ``rest`` s
                of standing.
            model: the robot; needed for that.

        Raises:
            ArgumentError: no period, a rate that leaves less than two points a period, or ``start``
                without ``model``.
        """
        if periods < 1 or int(periods) != periods or not rate * self.period >= 2.0:
            text = f"{periods!r} periods at {rate!r} points a second make no trajectory"
            raise ArgumentError(
                text, where="trajectory", remedy="Give at least one period and a rate above zero."
            )
        count = max(2, round(self.period * rate))
        t = np.arange(count * periods + 1) * (self.period / count)
        q, v, a = (self.at(t, k) for k in range(3))
        v[[0, -1]] = a[[0, -1]] = 0.0
        if start is not None:
            if model is None:
                raise ArgumentError(
                    "the move to the start needs the robot", where="model", remedy="Pass model=."
                )
            move = plan_move(model, start, q[0], scale=0.3)
            # continuous joints go the short way
            q = q - (q[0] - move.positions[-1])
            t = np.concatenate([move.times / NANOSECONDS, move.duration + rest + t])
            still = np.zeros_like(move.positions)
            q, v, a = (np.concatenate(x) for x in ((move.positions, q), (still, v), (still, a)))
        return Trajectory.from_waypoints(self.joint_names, t.tolist(), q, v, a)

    @staticmethod
    def write_csv(trajectory: Trajectory, path: str | Path) -> None:
        """Write waypoints as CSV: ``t``, then position, velocity and acceleration of each joint."""
        with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            fields = ("position", "velocity", "acceleration")
            out.writerow(
                [
                    "t",
                    *(
                        f"{name}.{field}"
                        for field, name in itertools.product(fields, trajectory.joint_names)
                    ),
                ]
            )
            rows = trajectory.positions, trajectory.velocities, trajectory.accelerations
            table = np.column_stack([np.asarray(trajectory.times) / NANOSECONDS, *rows])
            out.writerows([repr(x) for x in row] for row in table.tolist())

    @staticmethod
    def write_message(trajectory: Trajectory, path: str | Path) -> None:
        """Write a trajectory_msgs/JointTrajectory as JSON, which is YAML too: what ``ros2 topic
        pub`` takes.
        """
        names = ("positions", "velocities", "accelerations")
        fields = [np.asarray(getattr(trajectory, name)).tolist() for name in names]
        points = []
        for time, *rows in zip(trajectory.times, *fields, strict=True):
            sec, nanosec = divmod(int(time), NANOSECONDS)
            points.append(
                {
                    **dict(zip(names, rows, strict=True)),
                    "time_from_start": {"sec": sec, "nanosec": nanosec},
                }
            )
        document = {"joint_names": list(trajectory.joint_names), "points": points}
        write_whole_text(path, json.dumps(document) + "\n")


@dataclass(frozen=True, slots=True)
class DesignSettings:
    """Requirements on the motion.

    Attributes:
        period: s.
        harmonics: of the series; the fastest has the frequency harmonics / period.
        scale: share of the position range, velocity and acceleration limits that may be used, above
            0 to 1.
        effort_scale: share of the effort limits.
        acceleration: (n,) or one number, rad/s² or m/s²; ``None``: it reaches the velocity limit in
            0.25 s.  Those of the description count where they are smaller.
        lower, upper: (n,) position limits that are narrower than the URDF's, soft ones included.
        floor: m; origins of all moving links stay above this height (z of the world); ``None``:
            anywhere.
        terms: the joint parameters that the motion must show.
        evaluations: motions tried.
        seed: of the random numbers.
    """

    period: float = 20.0
    harmonics: int = 5
    scale: float = 0.8
    effort_scale: float = 0.8
    acceleration: ArrayLike | None = None
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    floor: float | None = None
    terms: FrictionTerms | None = None
    evaluations: int = 1500
    seed: int = 0

    def __post_init__(self) -> None:
        lasts = math.isfinite(self.period) and self.period > 0.0
        expect(
            lasts,
            "a positive number of seconds",
            self.period,
            "period",
            "10 to 30 s serve most arms.",
        )
        remedy = "5 harmonics and 1500 evaluations serve most arms."
        for name, least, most in (("harmonics", 3, _MOST_HARMONICS), ("evaluations", 1, 10**9)):
            value = getattr(self, name)
            good = int(value) == value and least <= value <= most
            expect(good, f"a whole number from {least} to {most}", value, name, remedy)
        for name, value in (("scale", self.scale), ("effort_scale", self.effort_scale)):
            expect(
                0.0 < value <= 1.0,
                "a number above 0, up to 1",
                value,
                name,
                "It is a share of the limits.",
            )
        expect(
            self.floor is None or math.isfinite(self.floor),
            "a height in m",
            self.floor,
            "floor",
            "",
        )


def position_bounds(
    model: RobotModel,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
) -> tuple[Array, Array]:
    """(nv,) each: the URDF's limits of positions, soft limits, and those given, whichever are
    narrowest.
    """
    expected: dict[str, Any] = {"size": model.nv, "infinite": True, "signed": True}
    limits = [model.joint(name).limits for name in model.joint_names]
    low = np.maximum(model.lower, [limit.soft_lower for limit in limits])
    high = np.minimum(model.upper, [limit.soft_upper for limit in limits])
    if lower is not None:
        low = np.maximum(low, non_negative(lower, "lower", **expected))
    if upper is not None:
        high = np.minimum(high, non_negative(upper, "upper", **expected))
    return low, high


class _ExcitationProblem:
    """The map from free numbers to motions, and the cost of these."""

    def __init__(
        self,
        model: RobotModel,
        s: DesignSettings,
        identifiable: Identifiable,
    ) -> None:
        self.model = model
        self.settings = s
        self.identifiable = identifiable
        n = model.nv
        self.size = (2, n, s.harmonics)
        low, high = position_bounds(model, s.lower, s.upper)
        low = np.where(
            np.isfinite(low), low, np.where(np.isfinite(high), high - _SPAN, -0.5 * _SPAN)
        )
        high = np.where(np.isfinite(high), high, low + _SPAN)
        if (low >= high).any():
            i = int(np.argmax(low - high))
            text = f"joint {model.joint_names[i]!r} has no room between {low[i]:g} and {high[i]:g}"
            raise ArgumentError(text, where="limits", remedy="Widen them, or lock the joint.")
        middle = 0.5 * (low + high)
        half = 0.5 * (high - low) * s.scale
        self.low = middle - half
        self.high = middle + half
        speed = np.where(np.isfinite(model.velocity_limit), model.velocity_limit, _SPEED)
        if (speed <= 0.0).any():
            i = int(np.argmin(speed))
            text = "may not move at all"
            remedy = "Correct the URDF's <limit>, or lock the joint."
            raise ArgumentError(
                f"joint {model.joint_names[i]!r} {text}", where="velocity limit", remedy=remedy
            )
        brake = default_deceleration(speed)
        if s.acceleration is not None:
            brake = per_joint(s.acceleration, n, "acceleration", positive=True)
        brake = np.minimum(brake, model.acceleration_limit)
        self.speed = s.scale * speed
        self.acceleration = s.scale * brake
        self.effort_limit = s.effort_scale * model.effort_limit
        self.times = np.arange(_FINE * s.harmonics) * (s.period / (_FINE * s.harmonics))
        self.coarse = slice(None, None, max(1, _FINE // 12))
        self.moving = [i for i, body in enumerate(model.link_body) if body >= 0]

    def motion(self, x: Array) -> Excitation:
        """The motion of free numbers: coefficients, and where in the room left the centre is (a
        sine of the last n).
        """
        n = self.model.nv
        s = self.settings
        a, b = at_rest(x[:-n].reshape(self.size))
        unit = Excitation(self.model.joint_names, s.period, np.zeros(n), a, b)
        q, v, acc = (unit.at(self.times, k) for k in range(3))
        middle = 0.5 * (q.max(axis=0) + q.min(axis=0))
        reach = (q.max(axis=0) - q.min(axis=0)) / _BETWEEN
        with np.errstate(divide="ignore"):
            factor = np.minimum(1.0, (self.high - self.low) / reach)
            for limit, rate in ((self.speed, v), (self.acceleration, acc)):
                factor = np.minimum(factor, _BETWEEN * limit / np.abs(rate).max(axis=0))
        factor *= 1.0 - 1e-9
        room = (self.high - self.low) - factor * reach
        centre = self.low - factor * (middle - 0.5 * reach) + room * 0.5 * (1.0 + np.sin(x[-n:]))
        return Excitation(
            self.model.joint_names, s.period, centre, a * factor[:, None], b * factor[:, None]
        )

    def cost(self, x: Array) -> tuple[float, Excitation]:
        """log10 of the condition number; above 100 by how far efforts or the floor are broken."""
        motion = self.motion(x)
        q, v, a = (motion.at(self.times[self.coarse], k) for k in range(3))
        model = self.model
        columns = self.identifiable.parameters
        friction = model.damping * v + model.friction * np.tanh(v / columns.smoothing)
        tau = inverse_dynamics(model, q, v, a) + friction
        over = float((np.abs(tau) / self.effort_limit).max()) - 1.0
        if self.settings.floor is not None and self.moving:
            z = np.asarray(link_poses(model, q))[:, self.moving, 2, 3]
            over = max(over, (self.settings.floor - float(z.min())))
        if over > 0.0:
            return 100.0 + over, motion
        Y = self.identifiable.base.regressor(columns.regressor(q, v, a))
        Y = Y / self.identifiable.effort_scale[:, None] / self.identifiable.sensitivity
        W = Y.reshape(-1, Y.shape[-1])
        squared = np.linalg.eigvalsh(W.T @ W)
        return 0.5 * math.log10(squared[-1] / max(squared[0], 1e-16 * squared[-1])), motion


def design_excitation(
    model: RobotModel,
    settings: DesignSettings | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Excitation:
    """A motion that shows all base parameters, within the limits.

    Args:
        progress: called with the share of the work done and the best condition number so far.

    Raises:
        ArgumentError: settings or limits that leave no motion; a robot with joints of several
            degrees of freedom.
    """
    s = settings_or_default(DesignSettings, settings, "settings")
    problem = _ExcitationProblem(
        model, s, identifiable_parameters(EffortParameters(model, s.terms))
    )
    rng = np.random.default_rng(s.seed)
    n = model.nv
    size = 2 * model.nv * s.harmonics
    strength = np.concatenate([np.tile(np.repeat(problem.speed, s.harmonics), 2), np.ones(n)])

    def drawn() -> Array:
        return (
            rng.normal(size=size + n)
            * strength
            * np.concatenate([np.full(size, 0.7), np.full(n, 2.0)])
        )

    best_x, (best, motion) = np.zeros(0), (math.inf, None)
    starts = max(1, s.evaluations // 6)
    step = 0.3
    for k in range(s.evaluations):
        # a motion that breaks a barrier even at its smallest starts from a smaller one
        if k < starts:
            x = drawn() * (1.0 if best < 100.0 else rng.uniform(0.02, 1.0))
        else:
            x = best_x + step * rng.normal(size=size + n) * strength * (rng.random(size + n) < 0.3)
        cost, candidate = problem.cost(x)
        if cost < best:
            best_x = x
            best = cost
            motion = candidate
            step *= 1.5 if k >= starts else 1.0
        elif k >= starts:
            step = max(step * 1.5**-0.25, 1e-3)
        if progress is not None and not k & 15:
            progress((k + 1) / s.evaluations, 10.0**best if best < 100.0 else math.inf)
    if motion is None or best >= 100.0:
        text = "no motion was found that keeps the effort limits"
        text += "" if s.floor is None else " and stays above the floor"
        remedy = "Narrow lower and upper to where the arm can hold itself, or raise effort_scale."
        raise ArgumentError(text, where="excitation", remedy=remedy)
    q, v, a = (motion.at(problem.times, k) for k in range(3))
    tau = inverse_dynamics(model, q, v, a) + model.damping * v + model.friction * np.sign(v)
    return dataclasses.replace(motion, condition=10.0**best, effort=np.abs(tau).max(axis=0))
