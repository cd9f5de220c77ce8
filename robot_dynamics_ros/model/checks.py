"""Checks of the numbers of a joint: axis, limits, frictions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import ModelError, RobotDynamicsError
from robot_dynamics_ros.model.description import Array, Joint, JointLimits, JointType

AXIS_TOLERANCE = 1e-3  # off unit length, as axes rounded to three digits are; more is taken for a mistake

_EYE = np.eye(3)
LARGEST = 1e12
"""Numbers of a robot beyond this, in SI units, are refused: products of them lose all digits or leave the range of
floating-point numbers."""
ErrorType = Callable[..., RobotDynamicsError]


def checked_axis(axis: Array, where: str, error: ErrorType = ModelError) -> Array:
    """(3,) ``axis`` made unit length."""
    x, y, z = (float(value) for value in axis)
    length = math.sqrt(x * x + y * y + z * z)
    shown = f"{x:g} {y:g} {z:g}"
    if not math.isfinite(length):
        raise error(f"the axis {shown} is not finite", where=where, remedy="Give three finite numbers.")
    if length == 0.0:
        raise error("the axis is zero", where=where, got=shown, remedy='Give a unit vector, such as xyz="0 0 1".')
    if abs(length - 1.0) > AXIS_TOLERANCE:
        remedy = f'Divide it by its length: xyz="{x / length:.12g} {y / length:.12g} {z / length:.12g}".'
        raise error(f"the axis {shown} has length {length:.6g}, not 1", where=where, remedy=remedy)
    return np.array([x / length, y / length, z / length]) if length != 1.0 else axis


def listed(sentences: Sequence[str], most: int) -> str:
    """A line each for the first of some sentences, and how many more there are."""
    more = [f"… and {len(sentences) - most} more"] if len(sentences) > most else []
    return "".join(f"\n  {line}" for line in [*sentences[:most], *more])


def check_numbers(numbers: ArrayLike, where: str, what: str, error: ErrorType = ModelError) -> None:
    """Refuse numbers that are not finite, or beyond :data:`LARGEST`."""
    if not (np.abs(numbers) <= LARGEST).all():
        problem = f"its {what} is not finite, or too large to compute with (beyond {LARGEST:g})"
        raise error(problem, where=where, got=numbers, remedy="Give numbers in SI units: m, kg, kg m², N m s/rad.")


def checked_joint(joint: Joint, where: str = "", error: ErrorType = ModelError) -> Joint:
    """The joint with a unit axis, or an error if any of its numbers cannot be used."""
    where = where or f"joint {joint.name!r}"
    if not isinstance(joint.type, JointType):
        remedy = f"Give one of {', '.join(f'JointType.{kind.name}' for kind in JointType)}."
        raise error(f"its type is {joint.type!r}", where=where, remedy=remedy)
    R = joint.origin.rotation
    if not (np.isfinite(joint.origin.position).all() and np.abs(R @ R.T - _EYE).max() < 1e-6):
        remedy = "Pose.from_rpy((x, y, z), (roll, pitch, yaw)) makes a right one."
        raise error("its origin is not finite, or the rotation is none", where=where, remedy=remedy)
    check_numbers(joint.origin.position, where, "origin", error)
    if joint.type is JointType.FIXED:
        return joint
    check_limits(joint.limits, where, error)
    for name in ("damping", "friction", "armature", "rotor_inertia"):
        value = getattr(joint, name)
        if not (math.isfinite(value) and value >= 0.0):
            raise error(f"{name} is {value!r}", where=where, remedy="Give a finite number that is zero or more.")
        check_numbers(value, where, name, error)
    if (m := joint.mimic) is not None:
        check_numbers([m.multiplier, m.offset], where, "mimic multiplier or offset", error)
    if (c := joint.coupling) is not None:
        sizes = (c.damping, c.friction, c.armature, c.width)
        check_numbers([c.ratio, *sizes], where, "coupling", error)
        if c.ratio == 0.0 or c.width == 0.0 or min(sizes) < 0.0:
            remedy = "Ratio and width are not zero, friction and inertia not negative."
            raise error(f"its coupling is {c}", where=where, remedy=remedy)
    if joint.type is JointType.FLOATING:
        return joint
    axis = checked_axis(joint.axis, where, error)
    return joint if axis is joint.axis else dataclasses.replace(joint, axis=axis)


def check_limits(limits: JointLimits, where: str, error: ErrorType = ModelError) -> None:
    """Raise ModelError unless lower ≤ upper and effort and velocity are zero or more; NaN is never accepted."""
    if not limits.lower <= limits.upper:
        raise error(
            f"the lower limit {limits.lower:g} exceeds the upper limit {limits.upper:g}"
            if limits.lower > limits.upper
            else "a position limit is not a number",
            where=where,
            remedy="Exchange the two, or correct the wrong one.",
        )
    for name in ("effort", "velocity"):
        value = getattr(limits, name)
        if not value >= 0.0:
            remedy = f"Give the largest {name} as a positive number; it holds in both directions."
            raise error(f"the {name} limit is {value:g}", where=where, remedy=remedy)
