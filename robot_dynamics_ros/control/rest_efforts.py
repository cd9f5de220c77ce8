"""Efforts that settings ask of the joints at rest, beside the effort limits: a wrong unit is
refused before it throws the arm.

At rest nothing but gravity, known wrenches and dry friction asks for effort.  A setting that asks
for more than the effort limits can only be a mistake, mostly grams for kilograms or mm for m.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.dynamics.algorithms.kinematics import jacobian_and_rate
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.payload import Payload
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Vec3

# Poses that stand for all: so many that a load which some pose bears is hardly ever missed, so few
# that a check takes some milliseconds of a control loop's time
SAMPLED_POSES = 32
# rad or m from zero: how far a joint without nearer limits is drawn
FARTHEST_SAMPLED_POSITION = math.pi
# share of an effort limit that rounding may add
REST_EFFORT_SLACK = 1e-6
# m/s²: what gravity is on earth, for a comparison with what was set
EARTH_GRAVITY = 9.81


def check_payload_at_rest(
    model: RobotModel,
    payload: Payload | None,
    q: Array | None = None,
) -> None:
    """Refuse a payload that the joints cannot hold.

    Args:
        model: the robot without the payload.
        payload: what it is to carry; ``None`` is always accepted.
        q: (nq,) the present pose; ``None`` if it is not known.

    Raises:
        ArgumentError: a joint's effort limit is below what it needs to hold robot and payload in
            the present pose, or in each of many poses drawn within the position limits.
        UnknownNameError: the model has no such link.
    """
    if payload is None or payload.mass == 0.0:
        return
    where = "payload mass"
    what = f"{payload.mass:g} kg on {payload.link!r}"
    remedy = "The mass is in kg, the centre of mass in m from the link's frame."
    if q is not None:
        bare = gravity_forces(model, q)
        loaded = bare + _effort_of_payload(model, payload, q)
        if (i := _overloaded(model, bare, loaded)) is not None:
            problem = f"{what} cannot be held in the present pose: {_needs(model, i, loaded[i])}"
            raise ArgumentError(problem, where=where, got=payload.mass, remedy=remedy)
    poses = sampled_poses(model)
    bare = gravity_forces(model, poses)
    loaded = bare + _effort_of_payload(model, payload, poses)
    _refuse_in_every_pose(model, bare, loaded, what, where, payload.mass, remedy)


def check_gravity_at_rest(model: RobotModel) -> None:
    """Refuse gravity in which the joints can hold the robot in no pose, while they can on earth.

    Raises:
        ArgumentError: mm/s² instead of m/s², for example.
    """
    magnitude = float(np.linalg.norm(model.gravity))
    if magnitude <= EARTH_GRAVITY:
        return
    asked = gravity_forces(model, sampled_poses(model))
    # the efforts are proportional to gravity
    on_earth = asked * (EARTH_GRAVITY / magnitude)
    what = f"gravity of {magnitude:g} m/s²"
    remedy = "Gravity is in m/s², on earth (0, 0, -9.81)."
    _refuse_in_every_pose(
        model, on_earth, asked, what, "gravity", np.asarray(model.gravity).tolist(), remedy
    )


def check_friction_at_rest(model: RobotModel, friction: Friction, where: str) -> None:
    """Refuse friction whose compensation alone needs more than a joint's effort limit.

    Raises:
        ArgumentError: dry friction of a joint is above its effort limit.
    """
    dry = np.maximum(friction.coulomb, friction.breakaway)
    _refuse_beyond_limit(
        model, dry, f"{where}: dry friction", "Dry friction is an effort: N m, or N."
    )


def check_feed_forward(model: RobotModel, effort: Array, where: str) -> None:
    """Refuse efforts (…, n) to be added to the command that are beyond the effort limits alone.

    Raises:
        ArgumentError: one of them is.
    """
    largest = np.abs(np.nan_to_num(effort)).reshape(-1, model.nv).max(axis=0, initial=0.0)
    _refuse_beyond_limit(model, largest, where, "Efforts are in N m, or N.")


def check_wrench_at_rest(
    model: RobotModel,
    gravity: Array,
    asked: Array,
    link: str,
    wrench: Array,
    verb: str,
    where: str,
) -> None:
    """Refuse a wrench that the joints cannot resist, or exert, in the present pose.

    Args:
        model: the robot.
        gravity: (nv,) efforts that hold it without the wrench.
        asked: (nv,) efforts that resist the wrench, or exert it.
        link: what the wrench acts on.
        wrench: (6,) [moment; force], N m and N.
        verb, where: of the message: "resisted" or "exerted", and the name of the input.

    Raises:
        ArgumentError: a joint would need more than its effort limit.
    """
    needed = gravity + asked
    if (i := _overloaded(model, gravity, needed)) is None:
        return
    force = float(np.linalg.norm(wrench[3:]))
    moment = float(np.linalg.norm(wrench[:3]))
    problem = (
        f"{force:.4g} N and {moment:.4g} N m on {link!r} cannot be {verb}: "
        f"{_needs(model, i, needed[i])}"
    )
    remedy = "Forces are in N, moments in N m."
    raise ArgumentError(problem, where=where, got=wrench.tolist(), remedy=remedy)


@once_per_model
def sampled_poses(model: RobotModel) -> Array:
    """(:data:`SAMPLED_POSES`, nq) poses drawn evenly within the position limits."""
    lower = np.clip(model.lower, -FARTHEST_SAMPLED_POSITION, FARTHEST_SAMPLED_POSITION)
    upper = np.clip(model.upper, -FARTHEST_SAMPLED_POSITION, FARTHEST_SAMPLED_POSITION)
    poses: Array = np.random.default_rng(0).uniform(lower, upper, (SAMPLED_POSES, model.nv))
    return poses


def _effort_of_payload(model: RobotModel, payload: Payload, q: Array) -> Array:
    """(…, nv) efforts that hold the payload alone: −J_cᵀ m g, J_c of its centre of mass.

    The Jacobian is evaluated as it is written: a control loop must not wait until it is compiled
    for a link that is asked for once.
    """
    weight = payload.mass * np.asarray(model.gravity)
    coordinates = [q[..., k] for k in range(model.nq)]
    link = model.link_index(payload.link)
    centre = Vec3.of(payload.com.tolist())
    rows, _ = jacobian_and_rate(NumericTree(model), coordinates, None, link, centre, "world")
    effort = np.zeros((*q.shape[:-1], model.nv))
    for force, row in zip(weight, rows[3:], strict=True):
        for k, entry in enumerate(row):
            effort[..., k] -= force * entry
    return effort


def _shares(model: RobotModel, effort: Array) -> Array:
    """(…, nv) efforts as shares of the limits; 0 where there is no limit."""
    limited = np.isfinite(model.effort_limit) & (model.effort_limit > 0.0)
    limit = np.where(limited, model.effort_limit, 1.0)
    shares: Array = np.where(limited, np.abs(effort) / limit, 0.0)
    return shares


def _overloaded(model: RobotModel, before: Array, after: Array) -> int | None:
    """The joint that needs most beyond its limit, of those that the change loads more."""
    shares = np.where(np.abs(after) > np.abs(before), _shares(model, after), 0.0)
    i = int(np.argmax(shares))
    return i if shares[i] > 1.0 + REST_EFFORT_SLACK else None


def _refuse_in_every_pose(
    model: RobotModel,
    before: Array,
    after: Array,
    what: str,
    where: str,
    got: object,
    remedy: str,
) -> None:
    """Refuse what makes an arm that some pose (a row each) bears one that none bears."""
    most = 1.0 + REST_EFFORT_SLACK
    bearable_before = _shares(model, before).max(axis=1) <= most
    shares = _shares(model, after)
    if not bearable_before.any() or (shares.max(axis=1) <= most).any():
        return
    lightest = int(np.argmin(shares.max(axis=1)))
    i = int(np.argmax(shares[lightest]))
    problem = (
        f"{what} can be held in none of {len(after)} poses within the position limits: even in "
        f"the best of them {_needs(model, i, after[lightest, i])}"
    )
    raise ArgumentError(problem, where=where, got=got, remedy=remedy)


def _refuse_beyond_limit(model: RobotModel, effort: Array, where: str, remedy: str) -> None:
    shares = _shares(model, effort)
    i = int(np.argmax(shares))
    if shares[i] > 1.0 + REST_EFFORT_SLACK:
        raise ArgumentError(_needs(model, i, effort[i]), where=where, remedy=remedy)


def _needs(model: RobotModel, i: int, effort: float) -> str:
    name = model.joint_names[i]
    unit = model.joint(name).type.units[2]
    return (
        f"joint {name!r} needs {abs(effort):.4g} {unit} and gives at most "
        f"{model.effort_limit[i]:.4g} {unit}"
    )
