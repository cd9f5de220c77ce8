"""Poses in which an arm may be released before its commands are checked.

There its weight acts too little to make it fast before a wrong command is noticed.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.commissioning.evidence import without_compiling
from robot_dynamics_ros.control.cycle.loading import joint_sizes
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import gravity_forces, mass_matrix_inverse
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

# rad/s, of joints whose description has no velocity limit
ASSUMED_SPEED_LIMIT = 2.0
# s from the release of an arm until a correction acts: 20 ms of delay and three states at 500 Hz
REACTION = 0.026
# Mass of a tool that may be forgotten at the last link, over that of the arm
TOOL = 0.03
# Largest exposure with which an arm is released
LARGEST_EXPOSURE = 0.07
# of the search for a calm pose
_POSE_SEARCH_ROUNDS = 150
# rad or m from limits
_RELEASE_MARGIN_RAD = 0.1


@lru_cache(8)
def scale_of(model: RobotModel) -> Array:
    """(n,) 1 for joints that turn, 0.2 for those that slide: m that stand for a rad."""
    return np.array(
        [
            0.2 if model.joint(name).type is JointType.PRISMATIC else 1.0
            for name in model.joint_names
        ]
    )


@lru_cache(8)
def speed_limit(model: RobotModel) -> Array:
    """(n,) velocity limits, finite."""
    return np.where(
        np.isfinite(model.velocity_limit),
        model.velocity_limit,
        ASSUMED_SPEED_LIMIT * scale_of(model),
    )


def effort_limit(model: RobotModel) -> Array:
    """(n,) effort limits, finite."""
    return joint_sizes(model)["effort_size"]


def usual_rotors(model: RobotModel) -> Array:
    """(n,) rotor inertia that the controller assumes, kg m² or kg; 0 where the description has
    one.
    """
    return Robustness().rotor_share * joint_sizes(model)["assumed_rotor"]


def least_inertia(model: RobotModel, q: Array, rotors: ArrayLike = 0.0) -> Array:
    """(n,) inertia of each joint while the others yield, at (n,) rad or m: the least that it can
    show, kg m² or kg; with (n,) rotors beside those described.
    """
    inverse = mass_matrix_inverse(model, q)
    # (M + R)⁻¹ = (1 + M⁻¹ R)⁻¹ M⁻¹: a robot with these rotors would have to be compiled
    return np.asarray(
        1.0 / np.diagonal(np.linalg.solve(np.eye(model.nv) + inverse * rotors, inverse))
    )


def with_rotors(model: RobotModel) -> RobotModel:
    """The robot with usual rotors where its description has none: gears are there all the same."""
    rotors = usual_rotors(model)
    if not rotors.any():
        return model
    sizes = {name: x for name, x in zip(model.joint_names, rotors.tolist(), strict=True) if x > 0.0}
    return model.replace(description=model.description.with_joints(sizes))


def exposure(model: RobotModel, q: ArrayLike) -> Array:
    """Share of a speed limit that a joint may reach before a wrong command of the arm's weight is
    corrected.

    Commands of any joints may have the wrong sign, or gravity is compensated twice, or not at all,
    and a tool may be forgotten: each joint is then pulled by twice its weight, and that of the
    tool, at most, for :data:`REACTION`.  Where the description has no rotors, usual ones are
    assumed.

    Args:
        model: the robot as described.
        q: (..., n) rad or m.

    Returns:
        (...) largest share, over all joints.
    """
    return _exposure(*_with_tool(model), np.asarray(q, dtype=np.float64))


@lru_cache(4)
def _with_tool(model: RobotModel) -> tuple[RobotModel, RobotModel]:
    """The robot with rotors, and with a tool at its last link; not compiled, since both are asked a
    few times only.
    """
    model = without_compiling(with_rotors(model))
    link = model.joint(model.moving_joint_names[-1]).child
    return model, carrying(model, Payload(link, TOOL * float(np.sum(model.body_mass)), np.zeros(3)))


def _exposure(model: RobotModel, with_tool: RobotModel, q: Array) -> Array:
    weight = gravity_forces(model, q)
    pull = 2.0 * np.abs(weight) + np.abs(gravity_forces(with_tool, q) - weight)
    fast = np.abs(mass_matrix_inverse(model, q)) @ pull[..., None]
    return np.asarray(REACTION * (fast[..., 0] / speed_limit(model)).max(axis=-1))


def calm_pose(model: RobotModel, around: ArrayLike, most: float = 0.0) -> Array:
    """The pose on the path from ``around`` to one where the weight acts least, from which on the
    arm may be released.

    Nobody checks collisions: look at the pose before the arm moves there.

    Args:
        model: the robot as described.
        around: (n,) rad or m.
        most: exposure that is sought.

    Returns:
        (n,) rad or m, within limits.
    """
    from scipy.optimize import differential_evolution

    model, tool = _with_tool(model)
    margin = np.minimum(_RELEASE_MARGIN_RAD, 0.25 * (model.upper - model.lower))
    low = np.maximum(model.lower + margin, -math.pi)
    high = np.minimum(model.upper - margin, math.pi)
    here = np.clip(np.asarray(around, dtype=np.float64), low, high)
    calm = differential_evolution(
        partial(_exposure, model, tool),
        np.column_stack([low, high]),
        x0=here,
        seed=0,
        maxiter=_POSE_SEARCH_ROUNDS,
        tol=0.0,
        polish=False,
        updating="deferred",
        workers=lambda _, poses: _exposure(model, tool, np.array(list(poses))),
    ).x
    # joints that do not matter stay
    for i in range(model.nv):
        other = np.where(np.arange(model.nv) == i, here, calm)
        if _exposure(model, tool, other) <= max(most, float(_exposure(model, tool, calm))):
            calm = other
        else:
            calm = calm
    path = calm + np.linspace(1.0, 0.0, 201)[:, None] * (here - calm)
    allowed = _exposure(model, tool, path) <= most
    if allowed[-1]:
        return path[int(np.flatnonzero(~allowed).max(initial=-1)) + 1]
    return calm


def require_calm(model: RobotModel, q: Array, open_to: float = 1.0) -> None:
    """Refuse a release where the weight acts too much.

    Args:
        model: the robot as described.
        q: (n,) rad or m, where it would be released.
        open_to: share of :func:`exposure` that counts, because the rest is proven.

    Raises:
        ArgumentError: names a better pose, or says that the robot has none.
    """
    share = open_to * float(exposure(model, q))
    if share <= LARGEST_EXPOSURE:
        return
    calm = calm_pose(model, q)
    least = open_to * float(exposure(model, calm))
    pose = np.round(calm, 2).tolist()
    text = f"a wrong command could reach {share:.0%} of a speed limit here before it shows"
    remedy = f"Lead it to a pose where its weight acts little, such as {pose}."
    if least > LARGEST_EXPOSURE:
        remedy = (
            f"No pose within its limits is calm enough: {least:.0%} at {pose}, and "
            f"{LARGEST_EXPOSURE:.0%} is the most. Widen the limits if the arm's own are wider "
            "(upright or hanging is calm), or go by hand: "
            "docs/tutorials/simulation_to_hardware.md."
        )
    raise ArgumentError(text, where="release of the arm", remedy=remedy)
