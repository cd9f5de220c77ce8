"""Periodic motions of few harmonics, at rest where a period begins.

    q_i(t) = c_i + Σ_l [ a_il sin(l ω t) − b_il cos(l ω t) ] / (l ω)

Source: Swevers, Ganseman, Tükel, De Schutter and Van Brussel, IEEE T-RA 13 (1997).
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.reference.planning import plan_move
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory, TrajectoryPoint
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel


def at_rest(raw: Array) -> Array:
    """(2, n, L) coefficients a, b nearest to ``raw`` for which speed and acceleration vanish at the start of a
    period."""
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
        condition: condition number of the regressor along it, columns in proportion to what fast motion shows.
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
        s, c = np.sin(angle), np.cos(angle)
        if derivative not in (0, 1, 2):
            raise ArgumentError(f"expected 0, 1 or 2, got {derivative!r}", where="derivative")
        a, b = ((s / lw, -c / lw), (c, s), (-s * lw, c * lw))[derivative]
        return np.asarray((self.centre if derivative == 0 else 0.0) + a @ self.sine.T + b @ self.cosine.T)

    def trajectory(
        self,
        periods: int = 1,
        *,
        rate: float = 50.0,
        start: ArrayLike | None = None,
        model: RobotModel | None = None,
        rest: float = 1.0,
    ) -> Trajectory:
        """As a joint trajectory with positions, velocities and accelerations: quintics between waypoints.

        Args:
            periods: how often.
            rate: waypoints a second.
            start: (n,) where the arm is: a move from there to the motion's start comes first (see
                :func:`~robot_dynamics_ros.control.reference.planning.plan_move`), then ``rest`` s of standing.
            model: the robot; needed for that.

        Raises:
            ArgumentError: no period, a rate that leaves less than two points a period, or ``start`` without ``model``.
        """
        if periods < 1 or int(periods) != periods or not rate * self.period >= 2.0:
            text = f"{periods!r} periods at {rate!r} points a second make no trajectory"
            raise ArgumentError(text, where="trajectory", remedy="Give at least one period and a rate above zero.")
        count = max(2, round(self.period * rate))
        t = np.arange(count * periods + 1) * (self.period / count)
        q, v, a = (self.at(t, k) for k in range(3))
        v[[0, -1]] = a[[0, -1]] = 0.0
        begin, points = 0, list[TrajectoryPoint]()
        if start is not None:
            if model is None:
                raise ArgumentError("the move to the start needs the robot", where="model", remedy="Pass model=.")
            move = plan_move(model, start, q[0], scale=0.3)
            begin = int(move.times[-1]) + round(rest * NANOSECONDS)
            zero = [0.0] * len(self.joint_names)
            turn = q[0] - move.positions[-1]  # continuous joints go the short way
            q = q - turn
            points = [
                TrajectoryPoint(int(time), row.tolist(), zero, zero)
                for time, row in zip(move.times, move.positions, strict=True)
            ]
        points += [
            TrajectoryPoint(begin + round(time * NANOSECONDS), *(x.tolist() for x in state))
            for time, *state in zip(t, q, v, a, strict=True)
        ]
        return Trajectory.from_points(self.joint_names, points)

    @staticmethod
    def write_csv(trajectory: Trajectory, path: str | Path) -> None:
        """Write waypoints as CSV: ``t``, then position, velocity and acceleration of each joint."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            fields = ("position", "velocity", "acceleration")
            out.writerow(["t", *(f"{name}.{field}" for field in fields for name in trajectory.joint_names)])
            rows = trajectory.positions, trajectory.velocities, trajectory.accelerations
            table = np.column_stack([np.asarray(trajectory.times) / NANOSECONDS, *rows])
            out.writerows([repr(x) for x in row] for row in table.tolist())

    @staticmethod
    def write_message(trajectory: Trajectory, path: str | Path) -> None:
        """Write a trajectory_msgs/JointTrajectory as JSON, which is YAML too: what ``ros2 topic pub`` takes."""
        names = ("positions", "velocities", "accelerations")
        fields = [np.asarray(getattr(trajectory, name)).tolist() for name in names]
        points = []
        for time, *rows in zip(trajectory.times, *fields, strict=True):
            sec, nanosec = divmod(int(time), NANOSECONDS)
            points.append({**dict(zip(names, rows, strict=True)), "time_from_start": {"sec": sec, "nanosec": nanosec}})
        document = {"joint_names": list(trajectory.joint_names), "points": points}
        Path(path).write_text(json.dumps(document) + "\n", encoding="utf-8")
