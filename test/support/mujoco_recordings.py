"""Recordings of arms simulated by MuJoCo, which are not as their URDF says, and kinds of damage to
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.signal import savgol_filter

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.excitation import at_rest
from robot_dynamics_ros.model.description import Pose
from support.identification_data import wrong_robot
from support.mujoco_bridge import MujocoTwin

__all__ = ["DAMAGES", "Damage", "Log", "mujoco_recording"]

# s of a simulation step, and steps of a row of the recording
DT = 2e-3
EVERY = 2
# of the effort limit
_FRICTION = 0.02
TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Log:
    """What a logger wrote: times (n,), positions and efforts (n, nv), and the model that it is
    identified with.
    """

    model: rd.RobotModel
    t: np.ndarray
    q: np.ndarray
    effort: np.ndarray


def _reference(model: rd.RobotModel, rng: np.random.Generator, period: float) -> rd.Excitation:
    """A Fourier series with random coefficients, scaled into the limits of position and speed."""
    n = model.nv
    harmonics = 5
    a, b = at_rest(rng.normal(size=(2, n, harmonics)))
    unit = rd.Excitation(model.joint_names, period, np.zeros(n), a, b)
    grid = np.linspace(0.0, period, 800)
    x = unit.at(grid)
    v = unit.at(grid, 1)
    low = np.maximum(model.lower, -2.5)
    high = np.minimum(model.upper, 2.5)
    speed = np.minimum(np.where(np.isfinite(model.velocity_limit), model.velocity_limit, 2.0), 2.5)
    factor = np.minimum(
        0.85 * (high - low) / np.ptp(x, axis=0), 0.6 * speed / np.abs(v).max(axis=0)
    )
    middle = 0.5 * (low + high) - 0.5 * factor * (x.max(axis=0) + x.min(axis=0))
    return rd.Excitation(
        model.joint_names, period, middle, a * factor[:, None], b * factor[:, None]
    )


class _PointToPoint:
    """Motion between random positions by quintics, with rests; all joints begin and end
    together.
    """

    def __init__(
        self, model: rd.RobotModel, rng: np.random.Generator, period: float, rest: float = 0.6
    ) -> None:
        low = np.maximum(model.lower, -2.5)
        high = np.minimum(model.upper, 2.5)
        speed = np.minimum(
            np.where(np.isfinite(model.velocity_limit), model.velocity_limit, 2.0), 2.5
        )
        points = [0.5 * (low + high)]
        times = [0.0]
        while times[-1] < period:
            points.append(
                0.5 * (low + high) + 0.35 * (high - low) * rng.uniform(-1.0, 1.0, model.nv)
            )
            times.append(
                times[-1]
                + max(float(np.max(np.abs(points[-1] - points[-2]) / speed)) * 3.75, 0.5)
                + rest
            )
        self.points = np.array(points)
        self.times = np.array(times)
        self.rest = rest

    def at(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """(n, nv) positions or their derivatives at times (n,)."""
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2)
        duration = (np.diff(self.times) - self.rest)[k]
        quintic = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0]).deriv(order)
        x = np.minimum((t - self.times[k]) / duration, 1.0)
        return (self.points[k] if order == 0 else 0.0) + (quintic(x) / duration**order)[:, None] * (
            self.points[k + 1] - self.points[k]
        )


def mujoco_recording(
    prior: rd.RobotModel,
    seed: int,
    period: float = 20.0,
    delay: int = 0,
    gravity: np.ndarray | None = None,
    stribeck: float = 0.0,
    point_to_point: bool = False,
) -> Log:
    """An arm with other masses, friction and rotors than ``prior`` follows a motion in MuJoCo, and
    is recorded.

    Args:
        delay: simulation steps by which efforts are recorded late.
        gravity: m/s², where the arm does not stand as its model says.
        stribeck: share by which dry friction is larger at rest; it falls over 3 % of the velocity
            limit.
        point_to_point: whether the motion goes from point to point with rests; otherwise it is a
            Fourier series.
    """
    rng = np.random.default_rng(seed)
    limit = np.where(
        np.isfinite(prior.effort_limit) & (prior.effort_limit > 0), prior.effort_limit, 20.0
    )
    truth = wrong_robot(prior, seed, 0.15)
    if gravity is not None:
        truth = truth.replace(gravity=tuple(gravity))
    twin = MujocoTwin(truth, DT, integrator="implicitfast")
    dofs = twin.v_index
    inertia = np.diagonal(
        np.mean([rd.mass_matrix(prior, q) for q in rng.uniform(-1, 1, (20, prior.nv))], axis=0)
    )
    rotor = rng.uniform(0.2, 1.0, prior.nv) * np.maximum(inertia, 0.05)
    twin.model.dof_frictionloss[dofs] = _FRICTION * limit * rng.uniform(0.5, 1.5, prior.nv)
    twin.model.dof_damping[dofs] = _FRICTION * limit * rng.uniform(0.2, 1.0, prior.nv)
    twin.model.dof_armature[dofs] = rotor
    motion = (_PointToPoint if point_to_point else _reference)(prior, rng, period)
    dry = twin.model.dof_frictionloss[dofs].copy()
    falls = 0.03 * np.minimum(prior.velocity_limit, 10.0)
    t = DT * np.arange(round(period / DT))
    q, v, a = (motion.at(t, k) for k in range(3))
    ahead = rd.inverse_dynamics(prior, q, v, a)
    gain = np.diagonal(rd.mass_matrix(prior, np.zeros(prior.nv))) + rotor
    twin.set(q[0], v[0])
    mujoco.mj_forward(twin.model, twin.data)
    states = np.empty(q.shape)
    efforts = np.empty(q.shape)
    for k in range(len(t)):
        x = twin.data.qpos[twin.q_index]
        w = twin.data.qvel[dofs]
        tau = ahead[k] + gain * (900.0 * (q[k] - x) + 60.0 * (v[k] - w))
        states[k] = x
        efforts[k] = tau
        twin.model.dof_frictionloss[dofs] = dry * (1.0 + stribeck * np.exp(-((w / falls) ** 2)))
        twin.step(tau)
    efforts = np.concatenate([np.repeat(efforts[:1], delay, axis=0), efforts[: len(t) - delay]])
    states = states[::EVERY]
    efforts = efforts[::EVERY]
    t = t[::EVERY]
    states = states + 2e-5 * rng.standard_normal(states.shape)
    return Log(prior, t, states, efforts + 0.003 * limit * rng.standard_normal(states.shape))


@dataclass(frozen=True)
class Damage:
    """A kind of damage: what is done to a log, and a pattern of the cause that has to be named."""

    name: str
    cause: str
    do: Callable[[Log, np.random.Generator], Log]


def _changed(log: Log, **changes) -> Log:
    return dataclasses.replace(log, **changes)


def _columns(i: int, j: int, what: tuple[str, ...]) -> Callable[[Log, np.random.Generator], Log]:
    """Exchange two joints' columns, counted from 0; negative numbers from the end."""

    def do(log: Log, rng: np.random.Generator) -> Log:
        order = np.arange(log.model.nv)
        order[[i, j]] = order[[j, i]]
        return _changed(log, **{name: getattr(log, name)[:, order] for name in what})

    return do


def _each(what: str, joint: int | None, f: Callable[[np.ndarray, np.random.Generator], np.ndarray]):
    """Change one channel (n,), or all of them (n, nv) where ``joint`` is not given."""

    def do(log: Log, rng: np.random.Generator) -> Log:
        x = getattr(log, what).copy()
        if joint is None:
            x = f(x, rng)
        else:
            x[:, joint] = f(x[:, joint], rng)
        return _changed(log, **{what: x})

    return do


def _frozen(share: float) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    def f(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        a = int(0.3 * len(x))
        b = int((0.3 + share) * len(x))
        return np.concatenate([x[:a], np.repeat(x[a : a + 1], b - a, axis=0), x[b:]])

    return f


def _clipped(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(x, np.quantile(x, 0.12), np.quantile(x, 0.88))


def _spikes(size: float) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    def f(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = x.copy()
        at = rng.choice(len(x), len(x) // 100, replace=False)
        out[at] += size * np.ptp(x) * rng.choice([-1.0, 1.0], len(at))
        return out

    return f


def _late(seconds: float) -> Callable[[Log, np.random.Generator], Log]:
    def do(log: Log, rng: np.random.Generator) -> Log:
        k = round(seconds / (log.t[1] - log.t[0]))
        e = log.effort
        late = (
            np.concatenate([np.repeat(e[:1], k, axis=0), e[:-k]])
            if k > 0
            else np.concatenate([e[-k:], e[k:]])
        )
        return _changed(log, effort=late)

    return do


def _shifted(joint: int, by: float) -> Callable[[Log, np.random.Generator], Log]:
    return _each("q", joint, lambda x, rng: x + by)


def _gravity(log: Log) -> np.ndarray:
    return np.linalg.norm(log.model.gravity)


def _scaled_robot(log: Log, rng: np.random.Generator) -> Log:
    """The same kind of robot, 30 % smaller."""
    d = log.model.description
    joints = tuple(
        dataclasses.replace(j, origin=Pose(j.origin.rotation, 0.7 * j.origin.position))
        for j in d.joints
    )
    return _changed(
        log, model=log.model.replace(description=dataclasses.replace(d, joints=joints, source=""))
    )


def _short_forearm(log: Log, rng: np.random.Generator) -> Log:
    """The same robot with the link before the fourth joint 25 % longer."""
    d = log.model.description
    name = log.model.joint_names[2]
    joints = tuple(
        dataclasses.replace(j, origin=Pose(j.origin.rotation, 1.25 * j.origin.position))
        if j.name == name
        else j
        for j in d.joints
    )
    return _changed(
        log, model=log.model.replace(description=dataclasses.replace(d, joints=joints, source=""))
    )


def _tilted(degrees: float, axis: int) -> Callable[[Log, np.random.Generator], Log]:
    def do(log: Log, rng: np.random.Generator) -> Log:
        g = _gravity(log)
        x = np.deg2rad(degrees)
        gravity = np.array([0.0, 0.0, -g * np.cos(x)])
        gravity[axis] = g * np.sin(x)
        return _changed(log, model=log.model.replace(gravity=tuple(gravity)))

    return do


def _without_gravity(log: Log, rng: np.random.Generator) -> Log:
    return _changed(log, effort=log.effort - rd.gravity_forces(log.model, log.q))


def _shares(log: Log) -> np.ndarray:
    """(n,) how much of the recording has passed."""
    return log.t / log.t[-1]


def _push(log: Log, rng: np.random.Generator) -> Log:
    """Somebody leans on the second joint for a tenth of the recording."""
    share = _shares(log)
    effort = log.effort.copy()
    during = (share > 0.4) & (share < 0.5)
    effort[during, 1] += 0.6 * np.ptp(effort[:, 1]) * np.sin(10.0 * np.pi * (share[during] - 0.4))
    return _changed(log, effort=effort)


def _second(log: Log, rng: np.random.Generator) -> Log:
    """Two recordings of one arm with stamps that go on."""
    share = _shares(log)
    keep = (share < 0.35) | (share > 0.55)
    return _changed(log, t=log.t[: keep.sum()], q=log.q[keep], effort=log.effort[keep])


def _slow(log: Log, rng: np.random.Generator) -> Log:
    """Efforts at a twelfth of the rate."""
    return _changed(log, effort=log.effort[np.arange(len(log.t)) // 12 * 12])


def _positions_as_efforts(log: Log, _rng: np.random.Generator) -> Log:
    return _changed(log, effort=np.rad2deg(log.q).round(3))


def _velocities_as(name: str) -> Callable[[Log, np.random.Generator], Log]:
    return lambda log, rng: _changed(log, **{name: np.gradient(log.q, log.t, axis=0)})


def _exchanged_for_a_while(log: Log, _rng: np.random.Generator) -> Log:
    share = _shares(log)
    effort = log.effort.copy()
    while_ = (share > 0.3) & (share < 0.6)
    effort[while_, 1] = log.effort[while_, 2]
    effort[while_, 2] = log.effort[while_, 1]
    return _changed(log, effort=effort)


def _load(share: float, mass: float) -> Callable[[Log, np.random.Generator], Log]:
    """From ``share`` of the recording on the last link carries ``mass``, given as a share of the
    robot's; negative: until then.
    """

    def do(log: Log, _rng: np.random.Generator) -> Log:
        model = log.model
        dt = log.t[1] - log.t[0]
        q, v, a = (savgol_filter(log.q, 31, 5, deriv=k, delta=dt, axis=0) for k in range(3))
        last = model.joint(model.joint_names[-1]).child
        loaded = rd.carrying(
            model, rd.Payload(last, abs(mass) * model.total_mass, [0.02, 0.0, 0.08])
        )
        more = rd.inverse_dynamics(loaded, q, v, a) - rd.inverse_dynamics(model, q, v, a)
        edge = int(share * len(q))
        more[slice(edge) if mass > 0.0 else slice(edge, None)] = 0.0
        return _changed(log, effort=log.effort + more)

    return do


def _clock(pace: float) -> Callable[[Log, np.random.Generator], Log]:
    return lambda log, rng: _changed(log, t=log.t * pace)


def _noise(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return x.std() * rng.standard_normal(x.shape)


DAMAGES = (
    Damage("efforts of joints 2 and 3 exchanged", "exchange", _columns(1, 2, ("effort",))),
    Damage("efforts of the last two joints exchanged", "exchange", _columns(-2, -1, ("effort",))),
    Damage("joints 2 and 3 exchanged", "exchange", _columns(1, 2, ("q", "effort"))),
    Damage("the last two joints exchanged", "exchange", _columns(-2, -1, ("q", "effort"))),
    Damage("positions of joints 1 and 2 exchanged", "exchange|limits", _columns(0, 1, ("q",))),
    Damage(
        "effort of joint 2 frozen for 30 %",
        "effort.*frozen|frozen.*effort",
        _each("effort", 1, _frozen(0.3)),
    ),
    Damage(
        "all efforts frozen for 20 %",
        "effort.*frozen|frozen.*effort",
        _each("effort", None, _frozen(0.2)),
    ),
    Damage("effort of joint 2 always zero", "constant", _each("effort", 1, lambda x, rng: 0.0 * x)),
    Damage(
        "effort of the last joint always zero",
        "constant",
        _each("effort", -1, lambda x, rng: 0.0 * x),
    ),
    Damage("effort of joint 2 clipped", "clipped", _each("effort", 1, _clipped)),
    Damage("effort of joint 4 clipped", "clipped", _each("effort", 3, _clipped)),
    Damage(
        "position of joint 2 frozen for 10 %",
        "position.*frozen|frozen.*position",
        _each("q", 1, _frozen(0.1)),
    ),
    Damage(
        "position of joint 5 frozen for 10 %",
        "position.*frozen|frozen.*position",
        _each("q", 4, _frozen(0.1)),
    ),
    Damage("gravity 45° off", "gravity", _tilted(45.0, 0)),
    Damage("gravity 20° off", "gravity", _tilted(20.0, 1)),
    Damage("gravity inverted", "gravity", _tilted(180.0, 0)),
    Damage("efforts without gravity", "gravity", _without_gravity),
    Damage("a robot of another size", "length|another robot", _scaled_robot),
    Damage("another length of one link", "length|another robot", _short_forearm),
    Damage("zero of joint 2 off by 0.1 rad", "zero", _shifted(1, 0.1)),
    Damage("zero of joint 3 off by -0.1 rad", "zero", _shifted(2, -0.1)),
    Damage("spikes in positions of joint 1", "spike", _each("q", 0, _spikes(0.5))),
    Damage("spikes in efforts of joint 3", "spike", _each("effort", 2, _spikes(1.0))),
    Damage("small spikes in positions of joint 2", "spike", _each("q", 1, _spikes(0.02))),
    Damage("efforts 60 ms late", "late", _late(0.06)),
    Damage("efforts 150 ms late", "late", _late(0.15)),
    Damage("efforts 40 ms early", "early", _late(-0.04)),
    Damage("all efforts negated", "sign", _each("effort", None, lambda x, rng: -x)),
    Damage("effort of joint 4 negated", "sign", _each("effort", 3, lambda x, rng: -x)),
    Damage("position of joint 2 negated", "sign", _each("q", 1, lambda x, rng: -x)),
    Damage("degrees", "degrees", _each("q", None, lambda x, rng: np.rad2deg(x))),
    Damage("N mm", "scale", _each("effort", None, lambda x, rng: 1e3 * x)),
    Damage(
        "effort of joint 2 eight times too large",
        "scale",
        _each("effort", 1, lambda x, rng: 8.0 * x),
    ),
    Damage("pushed for a tenth of it", "stretch|pushed|contact", _push),
    Damage(
        "effort of joint 2 in N mm",
        r"efforts of joint \w+ have another scale.* 1000 times",
        _each("effort", 1, lambda x, rng: 1e3 * x),
    ),
    Damage("two recordings in one", "two recordings", _second),
    Damage("efforts at 20 Hz", "efforts of .*lower rate", _slow),
    Damage("kN m", "scale", _each("effort", None, lambda x, rng: 1e-3 * x)),
    Damage(
        "positions as efforts", "another quantity: .* holds the position of", _positions_as_efforts
    ),
    Damage(
        "velocities as efforts",
        "another quantity: .* holds the velocity of",
        _velocities_as("effort"),
    ),
    Damage(
        "velocities as positions", "nothing that is known|outside its limits", _velocities_as("q")
    ),
    Damage(
        "positions in revolutions",
        "positions of all joints .* revolutions",
        _each("q", None, lambda x, rng: x / TURN),
    ),
    Damage(
        "position of joint 2 in revolutions",
        r"position.* \w+ .* revolutions",
        _each("q", 1, lambda x, rng: x / TURN),
    ),
    Damage(
        "absolute values of the effort of joint 3",
        "nothing that is known",
        _each("effort", 2, lambda x, rng: np.abs(x)),
    ),
    Damage("noise as effort of joint 2", "nothing that is known", _each("effort", 1, _noise)),
    Damage("noise as efforts", "nothing that is known", _each("effort", None, _noise)),
    Damage(
        "efforts of joints 2 and 3 exchanged for a while",
        "nothing that is known",
        _exchanged_for_a_while,
    ),
    Damage("a load is picked up", "after 50% .* kg more", _load(0.5, 0.06)),
    Damage("a light load is picked up late", "after 70% .* kg more", _load(0.7, 0.03)),
    Damage("a load is set down", "after 40% .* kg less", _load(0.4, -0.06)),
    Damage("stamps at half the rate", r"time passes (1\.9|2) times as fast", _clock(2.0)),
    Damage("stamps at twice the rate", r"time passes 0\.5\d? times as fast", _clock(0.5)),
)
