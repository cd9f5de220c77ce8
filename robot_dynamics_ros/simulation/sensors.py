"""Sensors of the robot: noise, resolution, delay and loss between its state and the joint states.

Everything is off by default and everything random comes from one seeded generator, so that a run
repeats exactly.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, fields

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import non_negative, settings_or_default


@dataclass(frozen=True, slots=True, eq=False)
class JointReading:
    """The measurements of one message.

    Attributes:
        t: when it was measured, s of simulated time.
        q: (nq,) position.  v: (nv,) velocity.  tau: (nv,) effort.
    """

    t: float
    q: Array
    v: Array
    tau: Array


@dataclass(frozen=True, slots=True)
class SensorSettings:
    """Errors of the sensors; the defaults are perfect sensors.  Scalars, or one value per
    coordinate.

    Attributes:
        position_resolution: encoder step, rad or m; 0 is continuous.
        position_noise: standard deviation, rad or m, added before quantisation.
        velocity_from_position: the velocity is the difference quotient of the measured positions,
            as in drives without a tachometer.
        velocity_time_constant: first-order low-pass on the measured velocity, s; 0 is none.
        velocity_noise: standard deviation, rad/s or m/s.
        effort_bias, effort_noise: constant error and standard deviation, N m or N.
        delay: transport delay, s.
        jitter: further delay, uniform between 0 and this, s; order is kept.
        drop_probability: share of readings that are lost.
        duplicate_probability: share of readings that arrive twice.
        seed: of the random generator.
    """

    position_resolution: float | Array = 0.0
    position_noise: float | Array = 0.0
    velocity_from_position: bool = False
    velocity_time_constant: float = 0.0
    velocity_noise: float | Array = 0.0
    effort_bias: float | Array = 0.0
    effort_noise: float | Array = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    drop_probability: float = 0.0
    duplicate_probability: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in (
            f.name for f in fields(self) if f.name not in ("seed", "velocity_from_position")
        ):
            value = getattr(self, name)
            where = f"sensor setting {name!r}"
            array = real_array_or_nan(value)
            if not np.isfinite(array).all() or (name != "effort_bias" and (array < 0.0).any()):
                raise ArgumentError("must be finite and not negative", where=where, got=value)
            if name.endswith("probability") and value > 1.0:
                raise ArgumentError("must be between 0 and 1", where=where, got=value)


class Sensors:
    """Simulated joint sensors: they measure, and delay, lose or repeat readings.

    Args:
        model: the robot.
        settings: errors of the sensors.

    Call :meth:`sample` after every simulation step (or every publishing period) and :meth:`deliver`
    for what has arrived by then.
    """

    def __init__(self, model: RobotModel, settings: SensorSettings | None = None) -> None:
        self.model = model
        self.settings = settings_or_default(SensorSettings, settings, "settings")
        self._position_resolution = self._each("position_resolution", model.nq)
        self._position_noise = self._each("position_noise", model.nq)
        self._velocity_noise = self._each("velocity_noise", model.nv)
        self._effort_bias = self._each("effort_bias", model.nv)
        self._effort_noise = self._each("effort_noise", model.nv)
        # an encoder sits on a joint; a floating base has none, and a quantised quaternion is no
        # rotation
        for k in model.q_index[model.joint_type == JointType.FLOATING]:
            self._position_resolution[k : k + 7] = self._position_noise[k : k + 7] = 0.0
        if self.settings.velocity_from_position and model.nq != model.nv:
            problem = "a floating joint has no position difference quotient"
            remedy = "Leave it off for robots with a floating base."
            raise ArgumentError(
                problem, where="sensor setting 'velocity_from_position'", got=True, remedy=remedy
            )
        self.reset()

    def _each(self, name: str, n: int) -> Array:
        """(n,) the setting of that name."""
        value = non_negative(
            getattr(self.settings, name), f"sensor setting {name!r}", size=n, signed=True
        )
        return np.array(np.broadcast_to(value, (n,)))

    def reset(self) -> None:
        """Forget everything under way and seed the generator again."""
        self._rng = np.random.default_rng(self.settings.seed)
        # oldest first: one connection, nothing overtakes
        self._queue: deque[tuple[float, JointReading]] = deque()
        self._last_arrival = -math.inf
        self._last: JointReading | None = None
        self._filtered: Array | None = None

    def sample(self, t: float, q: Array, v: Array, tau: Array) -> JointReading:
        """Measure the true state and send the reading on its way.

        Args:
            t: s.  q: (nq,).  v: (nv,).  tau: (nv,) motor effort.

        Returns:
            The reading as it left the sensor (it may arrive late, twice or never).
        """
        s = self.settings
        rng = self._rng
        q_m = np.array(q, dtype=np.float64)
        if self._position_noise.any():
            q_m += self._position_noise * rng.standard_normal(q_m.shape)
        step = self._position_resolution
        if step.any():
            np.copyto(q_m, step * np.round(q_m / np.where(step > 0.0, step, 1.0)), where=step > 0.0)
        if s.velocity_from_position:
            last = self._last
            if last is None or t <= last.t:
                v_m = np.zeros(self.model.nv)
            else:
                v_m = (q_m - last.q) / (t - last.t)
        else:
            v_m = np.array(v, dtype=np.float64)
        if self._velocity_noise.any():
            v_m += self._velocity_noise * rng.standard_normal(v_m.shape)
        if s.velocity_time_constant > 0.0:
            if self._filtered is None or self._last is None or t < self._last.t:
                self._filtered = v_m.copy()
            else:
                share = -math.expm1(-(t - self._last.t) / s.velocity_time_constant)
                self._filtered = self._filtered + share * (v_m - self._filtered)
            v_m = self._filtered.copy()
        tau_m = np.array(tau, dtype=np.float64) + self._effort_bias
        if self._effort_noise.any():
            tau_m += self._effort_noise * rng.standard_normal(tau_m.shape)
        reading = JointReading(float(t), q_m, v_m, tau_m)
        self._last = reading
        self._send(reading)
        return reading

    def _send(self, reading: JointReading) -> None:
        s = self.settings
        rng = self._rng
        if s.drop_probability > 0.0 and rng.random() < s.drop_probability:
            return
        if s.duplicate_probability > 0.0 and rng.random() < s.duplicate_probability:
            copies = 2
        else:
            copies = 1
        for _ in range(copies):
            arrival = reading.t + s.delay + (rng.uniform(0.0, s.jitter) if s.jitter > 0.0 else 0.0)
            self._last_arrival = max(arrival, self._last_arrival)
            self._queue.append((self._last_arrival, reading))

    def deliver(self, t: float) -> list[JointReading]:
        """The readings that have arrived by time ``t``, oldest first."""
        arrived = []
        # a delay of three periods means three, whatever 3 * 0.001 rounds to
        tolerance = 1e-9 * max(1.0, abs(t))
        while self._queue and self._queue[0][0] <= t + tolerance:
            arrived.append(self._queue.popleft()[1])
        return arrived
