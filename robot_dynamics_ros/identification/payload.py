"""Payload at the flange, identified on the arm: from a gentle motion, or from poses at rest, and
their efforts.

The efforts that the arm alone does not explain are those of the payload, linear in its mass, first
moments and inertia, and of errors of the friction model, linear in these.  Friction errors are
estimated with the payload: the motion passes every position in both directions, so that they can be
distinguished from weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.dynamics import inverse_dynamics, joint_torque_regressor
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.dynamics.payload import Payload
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.identification.consistent import BodyShape, is_consistent
from robot_dynamics_ros.identification.excitation import Excitation, at_rest, position_bounds
from robot_dynamics_ros.identification.least_squares import inflation
from robot_dynamics_ros.identification.samples import MotionSamples
from robot_dynamics_ros.identification.torque_constants import EFFORT_SCALE_ERROR_SHARE
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint, vector

# kg, kg m, kg m²: payloads may well be of this size.
_LIKELY = np.array([20.0, *[2.0] * 3, *[0.1] * 6])
# Share by which masses of arms may well be off.
_ARM_ERROR = 0.05
# Shares that are compared with the data.
_ARM_ERRORS = np.geomspace(3e-4, 0.3, 13)
# The same share where masses are exact: not zero, so that the equations stay regular.
_EXACT = 1e-6
# Share by which friction may well be wrong.
_FRICTION = 0.3
# Friction and offset that no description may state, as a share of the effort limit.
_UNSTATED = 0.02
_PAYLOAD_OFFSET_SHARE = 2e-3
# s: motion and efforts are averaged over blocks of this length.
_BLOCK = 0.05
# s: efforts are at most so much early or late.
_LATEST = 0.02
# A joint slower than this many smoothing speeds of its friction may stick.
_SLOW_SMOOTHINGS = 3.0
_PASSES = 3
_WEIGHTS = 4


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload with its uncertainty.

    Attributes:
        payload: mass, centre of mass and inertia in the frame of its link; a point mass where the
            inertia was not seen.
        mass_error: standard error of the mass, kg.
        com_error: (3,) standard errors of the centre of mass, m.
        inertia_error: (3, 3) standard errors of the inertia about the centre of mass, kg m²;
            infinite if not asked.
        inertia_seen: whether the data show the inertia, and it is physically possible.
        rms: (nv,) effort that remains unexplained, N m or N.
        delay: s, by which the efforts are late.
        arm_error: share by which the arm's masses were taken to be off (1 standard deviation); 1
            with a covariance.
        effort_error: share by which all efforts were taken to be off together (1 standard
            deviation).
    """

    payload: Payload
    mass_error: float
    com_error: Array
    inertia_error: Array
    inertia_seen: bool
    rms: Array
    delay: float
    arm_error: float
    effort_error: float

    def __str__(self) -> str:
        p = self.payload
        com = ", ".join(
            f"{1e3 * c:.1f} ± {2e3 * e:.1f}" for c, e in zip(p.com, self.com_error, strict=True)
        )
        inertia = "inertia " + (
            "identified" if self.inertia_seen else "not seen, taken as a point mass"
        )
        return (
            f"{p.link}: {p.mass:.3f} ± {2 * self.mass_error:.3f} kg at ({com}) mm (2 standard "
            f"errors); {inertia}"
        )


def payload_motion(
    model: RobotModel,
    link: str,
    q0: ArrayLike,
    *,
    span: ArrayLike = 0.5,
    duration: float = 24.0,
    scale: float = 0.3,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    tries: int = 60,
    seed: int = 0,
) -> Excitation:
    """A gentle motion from a pose and back that shows a payload.

    Args:
        q0: (nv,) present configuration of the arm.
        span: (nv,) or one number, rad or m: how far each joint may move to either side.
        duration: s, for two periods.
        scale: share of the velocity limits.
        lower, upper: (nv,) position limits that are narrower than the URDF's.
        tries: number of motions compared; the one with the smallest errors of mass and centre is
            used.
        seed: of the random numbers.

    Returns:
        A motion of period ``duration`` / 2 that begins and ends at rest at ``q0``:
        ``.trajectory(2)`` is what controllers take.

    Raises:
        ArgumentError: ``q0`` outside the limits, or bounds that allow no motion.
    """
    n = model.nv
    q0 = vector(q0, n, "q0", joints=model.joint_names)
    if not (duration > 1.0 and 0.0 < scale <= 1.0 and tries >= 1):
        text = "needs more than a second, and a share of the limits from 0 to 1"
        remedy = "Give a duration above 1 s, a scale above 0 to 1, and at least one try."
        raise ArgumentError(text, where="payload motion", remedy=remedy)
    (low, high), reach = position_bounds(model, lower, upper), per_joint(span, n, "span")
    low = np.maximum(low, q0 - reach)
    high = np.minimum(high, q0 + reach)
    if (outside := (q0 < low) | (q0 > high)).any():
        i = int(np.argmax(outside))
        span = f"{low[i]:g} to {high[i]:g}"
        text = f"joint {model.joint_names[i]!r} stands at {q0[i]:g}, outside {span}"
        raise ArgumentError(text, where="q0", remedy="Move the arm to where it may move.")
    body, _, _ = _carrier(model, link)
    period = 0.5 * duration
    harmonics = 4
    speed = scale * np.where(np.isfinite(model.velocity_limit), model.velocity_limit, 2.0)
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, period, 160, endpoint=False)
    fine = np.linspace(0.0, period, 40 * harmonics + 1)
    best = -math.inf
    chosen = None
    for _ in range(tries):
        a, b = at_rest(rng.normal(size=(2, n, harmonics)))
        unit = Excitation(model.joint_names, period, np.zeros(n), a, b)
        start = unit.at(0.0)
        v = unit.at(fine, 1)
        q = unit.at(fine) - start
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.minimum(
                np.where(q.max(axis=0) > 0, (high - q0) / q.max(axis=0), np.inf),
                np.where(q.min(axis=0) < 0, (q0 - low) / -q.min(axis=0), np.inf),
            )
        factor = 0.98 * np.minimum(room, speed / np.abs(v).max(axis=0))
        a = a * factor[:, None]
        b = b * factor[:, None]
        motion = Excitation(model.joint_names, period, q0 - factor * start, a, b)
        worth = _worth(model, body, *(motion.at(times, k) for k in range(3)))
        if worth > best:
            best = worth
            chosen = motion
    if chosen is None or not math.isfinite(best):
        text = "no motion within the bounds shows a payload"
        remedy = (
            "Give the joints more room, or another pose: some joint has to feel the payload's "
            "weight."
        )
        raise ArgumentError(text, where="payload motion", remedy=remedy)
    return chosen


def _worth(model: RobotModel, body: int, q: Array, v: Array, a: Array) -> float:
    """Minus the logarithm of the uncertainty of mass and first moments."""
    Y = np.asarray(joint_torque_regressor(model, q, v, a))[..., 10 * body : 10 * body + 10]
    problem = _Problem(
        model, np.zeros(v.shape), Y, _friction(v, np.tanh(v / 0.02)), np.abs(v) > 0.02
    )
    covariance = np.linalg.pinv(problem.normal(1.0 / _usual(model))[0], hermitian=True)[:4, :4]
    sizes = np.array([1.0, 0.1, 0.1, 0.1])
    value = float(np.sum(covariance.diagonal() / sizes**2))
    return -math.log(value) if value > 0.0 else -math.inf


def _usual(model: RobotModel) -> Array:
    """(nv,) size of a joint's efforts, for weights."""
    return _limit_or(model.effort_limit, 50.0)


def _limit_or(limit: Array, usual: float) -> Array:
    """(nv,) limits, and a usual one where there is none."""
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, usual)


def _carrier(model: RobotModel, link: str) -> tuple[int, Array, Array]:
    """Body that carries a link, and rotation and position of the link in the body's frame."""
    model.link(link)
    i = model.link_index(link)
    body = int(model.link_body[i])
    if body < 0:
        raise ArgumentError(
            f"link {link!r} does not move",
            where="link",
            remedy="Name a link beyond a moving joint.",
        )
    return body, np.asarray(model.link_rotation[i]), np.asarray(model.link_position[i])


def _arm_directions(model: RobotModel, arm_error: float | ArrayLike | None) -> tuple[Array, Array]:
    """Directions (10 nb, k) in which the arm's own parameters may be off, and standard deviations
    that may be theirs.
    """
    size = 10 * model.nb
    if arm_error is None:
        covariance = np.zeros(())
    else:
        covariance = as_input(arm_error, (), "arm_error", finite=False)
    if covariance.ndim == 0:
        if arm_error is None:
            spreads = _ARM_ERRORS
        else:
            spreads = covariance.reshape(1)
        if not (0.0 <= spreads[0] < 10.0):
            raise ArgumentError(
                "expected a relative error of at least 0", where="arm_error", remedy="0.03 is 3 %."
            )
        directions = np.zeros((size, size))
        for k, body in enumerate(inertial_parameters(model).reshape(-1, 10)):
            own = slice(10 * k, 10 * k + 10)
            directions[own, own] = BodyShape(body).derivative(np.zeros(10)) / BodyShape.distance(
                np.ones(10)
            )
        return directions, np.maximum(spreads, _EXACT)
    if covariance.shape != (size, size) or not np.isfinite(covariance).all():
        text = (
            f"expected a number, or a finite covariance ({size}, {size}) of the arm's inertial "
            "parameters"
        )
        remedy = "Give identification.body_covariance with identification.model."
        raise ArgumentError(text, where="arm_error", remedy=remedy)
    power, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(power, 0.0)), np.ones(1)


def _effort_scale_error(effort_error: float | None, arm_error: float | ArrayLike | None) -> float:
    """Share by which all efforts may be off together; as given, or as usual for an arm that was
    identified from such efforts.
    """
    if effort_error is None:
        from_efforts = arm_error is not None and np.ndim(arm_error) == 2
        if from_efforts:
            return EFFORT_SCALE_ERROR_SHARE
        return 0.0
    expect(
        0.0 <= effort_error < 1.0,
        "a share from 0 to 1",
        effort_error,
        "effort_error",
        "0.05 is 5 %.",
    )
    return float(effort_error)


def _friction(v: Array, direction: Array) -> Array:
    """(m, nv, 3) columns of each joint's friction: viscous, dry and constant."""
    return np.stack([v, direction, np.ones(v.shape)], axis=-1)


class _Problem:
    """Least squares for payload, the arm's own errors, and errors of each joint's friction, with
    what is likely: of efforts (m, nv) that the arm does not explain, columns (m, nv, 10 + arm) of
    the payload and of the arm's errors, those of friction, and which rows count.
    """

    def __init__(
        self,
        model: RobotModel,
        effort: Array,
        columns: Array,
        friction: Array,
        use: NDArray[np.bool_],
    ) -> None:
        self.effort = effort
        self.columns = columns
        self.friction = friction
        self.use = use
        self.count = columns.shape[-1]
        self.joints: list[tuple[list[int], Array, Array, Array]] = []
        usual = _usual(model)
        fastest = _limit_or(model.velocity_limit, 2.0)
        for j in range(model.nv):
            A = np.column_stack([columns[:, j], friction[:, j]])[use[:, j]]
            own = [*range(self.count), *range(self.count + 3 * j, self.count + 3 * j + 3)]
            viscous = _FRICTION * model.damping[j] + _UNSTATED * usual[j] / fastest[j]
            errors = (
                viscous,
                _FRICTION * model.friction[j] + _UNSTATED * usual[j],
                _PAYLOAD_OFFSET_SHARE * usual[j],
            )
            self.joints.append((own, A.T @ A, A.T @ effort[use[:, j], j], 1.0 / np.square(errors)))

    def normal(self, weight: Array, spread: float = 1.0) -> tuple[Array, Array]:
        """Matrix and right-hand side for weights (nv,) of the joints' rows, and a standard
        deviation of the arm's errors.
        """
        size = self.count + 3 * len(self.joints)
        N = np.zeros((size, size))
        b = np.zeros(size)
        N[range(self.count), range(self.count)] = (
            np.r_[_LIKELY, np.full(self.count - 10, spread)] ** -2.0
        )
        for (own, G, c, held), w in zip(self.joints, weight, strict=True):
            N[np.ix_(own, own)] += w**2 * G
            b[own] += w**2 * c
            N[own[-3:], own[-3:]] += held
        return N, b

    def averaged(self, weight: Array, spreads: Array) -> tuple[Array, Array, float]:
        """Mean and covariance of all parameters over ``spreads`` (k,), each as likely as the data
        make it, and their mean.
        """
        means = []
        covariances = []
        evidence = np.empty(len(spreads))
        for k, spread in enumerate(spreads):
            N, b = self.normal(weight, spread)
            covariances.append(np.linalg.inv(N))
            means.append(covariances[-1] @ b)
            evidence[k] = (
                0.5 * b @ means[-1]
                - 0.5 * np.linalg.slogdet(N)[1]
                - (self.count - 10) * math.log(spread)
            )
        # half-normal, on a geometric grid
        evidence += np.log(spreads) - 0.5 * (spreads / _ARM_ERROR) ** 2
        share = np.exp(evidence - evidence.max())
        share /= share.sum()
        mean = share @ np.array(means)
        apart = np.array(means) - mean
        covariance = np.einsum("k,kij->ij", share, covariances) + (apart.T * share) @ apart
        return mean, covariance, float(np.exp(share @ np.log(spreads)))

    def residual(self, solution: Array) -> Array:
        """(m, nv) efforts that remain; NaN where they do not count."""
        friction = (self.friction * solution[self.count :].reshape(-1, 3)).sum(axis=-1)
        return np.where(
            self.use, self.effort - self.columns @ solution[: self.count] - friction, np.nan
        )


def estimate_payload(
    model: RobotModel,
    link: str,
    t: ArrayLike,
    q: ArrayLike,
    effort: ArrayLike,
    *,
    friction: Friction | None = None,
    arm_error: float | ArrayLike | None = None,
    effort_error: float | None = None,
) -> PayloadEstimate:
    """Estimate a payload from a recorded motion.

    Args:
        model: the arm without the payload.
        t: (n,) s.  q, effort: (n, nv) recorded positions and motor efforts.
        friction: of the joints, as well as it is known; that of the URDF if not given.
        arm_error: what the arm's own bodies may be off by: the standard deviation of their masses
            as a share, with centres and inertias off accordingly; or, of an identified arm, the
            covariance (10 nb, 10 nb) of its parameters, see :attr:`Identification.body_covariance`.
            The share is found from the data if not given.
        effort_error: share by which all efforts may be too large or too small together (1 standard
            deviation): it makes the payload as much too large.
            :attr:`Identification.effort_error` of an identified arm; 0.05 with a covariance and 0
            otherwise if not given.

    Raises:
        ArgumentError: data of the wrong shape or too few, a mass that is not positive, or a link
            that does not move.
        UnknownNameError: no such link.

    Sources: Khalil, Gautier and Lemoine, ICRA 2007 (payload identification by least squares);
    MacKay, Neural Computation 4 (1992) (size of the arm's errors by the evidence).
    """
    body, R, p = _carrier(model, link)
    friction = friction or Friction.of(model)
    directions, spreads = _arm_directions(model, arm_error)
    scale_error = _effort_scale_error(effort_error, arm_error)
    motion = MotionSamples.of(model, t, q, effort, window=0.2)
    delay = 0.0
    usual = _usual(model)
    weight = 1.0 / usual
    for _ in range(_PASSES):
        m = motion.earlier(delay)
        problem = _of_motion(model, m, friction, body, directions)
        for _ in range(_WEIGHTS):
            solution, covariance, spread = problem.averaged(weight, spreads)
            residual = problem.residual(solution)
            rms = np.sqrt(np.nansum(residual**2, axis=0) / np.maximum(problem.use.sum(axis=0), 1))
            alike = np.array([inflation(column, m.block_parts(_BLOCK)) for column in residual.T])
            weight = 1.0 / (np.maximum(rms, 1e-6 * usual) * np.sqrt(alike))
        rate = (
            np.where(problem.use, np.gradient(m.mean(m.effort, _BLOCK), _BLOCK, axis=0), 0.0)
            * weight
        )
        # to first order
        late = float(np.nansum(rate * residual * weight)) / max(float((rate * rate).sum()), 1e-300)
        delay = float(np.clip(delay - late, -_LATEST, _LATEST))
    return _result(link, solution[:10], covariance[:10, :10], R, p, rms, delay, spread, scale_error)


def _of_motion(
    model: RobotModel,
    m: MotionSamples,
    friction: Friction,
    body: int,
    directions: Array,
) -> _Problem:
    """Of block averages."""
    arm_effort = np.asarray(inverse_dynamics(model, m.q, m.v, m.a)) + friction.effort(m.v)
    Y = m.mean_regressor(model, _BLOCK)
    v = m.mean(m.v, _BLOCK)
    # while a joint turns back it may stick, and its friction is anything
    slow = m.mean((np.abs(m.v) < _SLOW_SMOOTHINGS * friction.smoothing).astype(float), _BLOCK)
    columns = np.concatenate([Y[..., 10 * body : 10 * body + 10], Y @ directions], axis=-1)
    dry = m.mean(np.tanh(m.v / friction.smoothing), _BLOCK)
    use = (slow == 0.0) & (np.abs(v) > 0.0)
    return _Problem(model, m.mean(m.effort - arm_effort, _BLOCK), columns, _friction(v, dry), use)


def estimate_payload_at_rest(
    model: RobotModel,
    link: str,
    q: ArrayLike,
    effort: ArrayLike,
    *,
    friction: Friction | None = None,
    arm_error: float | ArrayLike | None = None,
    effort_error: float | None = None,
) -> PayloadEstimate:
    """Estimate mass and centre of mass from poses at rest.

    Dry friction may hold each joint with up to its breakaway effort in either direction, and the
    arm may not be as the URDF says; the stated errors include both.  Average over poses that were
    reached from both sides where the errors are too large.

    Args:
        model: the arm without the payload.
        q, effort: (k, nv) or (nv,) positions at rest and mean motor efforts there; three poses with
            the hand turned show the whole centre of mass.
        friction: of the joints, as well as it is known; that of the URDF if not given.
        arm_error: see :func:`estimate_payload`; 0.05 if not given.
        effort_error: see :func:`estimate_payload`.

    Raises:
        ArgumentError: data of the wrong shape, a mass that is not positive, or a link that does not
            move.
        UnknownNameError: no such link.
    """
    body, R, p = _carrier(model, link)
    directions, spreads = _arm_directions(model, _ARM_ERROR if arm_error is None else arm_error)
    scale_error = _effort_scale_error(effort_error, arm_error)
    q, effort = (np.atleast_2d(as_input(x, (), name)) for x, name in ((q, "q"), (effort, "effort")))
    if (
        q.shape != effort.shape
        or q.shape[1] != model.nv
        or not (np.isfinite(q).all() and np.isfinite(effort).all())
    ):
        got = (q.shape, effort.shape)
        raise ArgumentError(
            f"expected two finite arrays (k, {model.nv})", where="q, effort", got=got
        )
    friction = friction or Friction.of(model)
    zero = np.zeros(q.shape)
    rest = effort - np.asarray(inverse_dynamics(model, q, zero, zero))
    Y = np.asarray(joint_torque_regressor(model, q, zero, zero))
    noise = np.maximum(friction.breakaway / math.sqrt(3.0), 1e-3 * _usual(model))
    columns = np.concatenate([Y[..., 10 * body : 10 * body + 10], Y @ directions], axis=-1)
    problem = _Problem(model, rest, columns, np.zeros((*q.shape, 3)), np.ones(q.shape, dtype=bool))
    solution, covariance, spread = problem.averaged(1.0 / noise, spreads)
    # poses at rest show no inertia
    covariance[range(4, 10), range(4, 10)] = np.inf
    rms = np.sqrt(np.mean(problem.residual(solution) ** 2, axis=0))
    return _result(link, solution[:10], covariance[:10, :10], R, p, rms, 0.0, spread, scale_error)


def _result(
    link: str,
    x: Array,
    covariance: Array,
    R: Array,
    p: Array,
    rms: Array,
    delay: float,
    arm_error: float,
    effort_error: float,
) -> PayloadEstimate:
    """From parameters in the body's frame to a payload in the link's frame."""
    # efforts that are too large make all parameters too large, and leave the centre where it is
    covariance = covariance + effort_error**2 * np.outer(x, x)
    mass = float(x[0])
    error = math.sqrt(max(float(covariance[0, 0]), 0.0))
    if not mass > 2.0 * error:
        remedy = (
            "If there is one: check signs and offsets of efforts, and that the model is the arm "
            "without it."
        )
        raise ArgumentError(
            f"no payload shows: {mass:.3g} ± {2 * error:.2g} kg", where="payload", remedy=remedy
        )
    com = x[1:4] / mass
    # ∂com/∂(m, h)
    by = np.concatenate([-com[:, None], np.eye(3)], axis=1) / mass
    com_covariance = R.T @ by @ covariance[:4, :4] @ by.T @ R
    about_origin = x[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    I = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))  # noqa: E741
    errors = np.sqrt(np.maximum(covariance.diagonal()[4:], 0.0))
    inertia_error = errors[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    own = R.T @ I @ R
    local = np.concatenate([[mass], np.zeros(3), own[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])
    small = (2.0 * inertia_error.diagonal() < np.abs(I.diagonal())).all()
    seen = bool(np.isfinite(errors).all() and is_consistent(local, 1e-9) and small)
    payload = Payload(
        link, mass, R.T @ (com - p), 0.5 * (own + own.T) if seen else np.zeros((3, 3))
    )
    com_error = np.sqrt(np.maximum(com_covariance.diagonal(), 0.0))
    return PayloadEstimate(
        payload, error, com_error, inertia_error, seen, rms, delay, arm_error, effort_error
    )
