"""The numbers that joints and rigid bodies can have, which robots are refused for theirs, and the
nearest possible inertias.

The equations of motion know merged bodies only: a link and all that is fixed to it.  Unless
repaired, what could make the mass matrix indefinite is always an error: a negative mass, or a
moving body with a negative moment of inertia.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.errors import ArgumentError, ModelError, RobotDynamicsError
from robot_dynamics_ros.model.description import Array, Inertia, Joint, JointLimits, JointType, Link

# Off unit length, as axes rounded to three digits are; more is taken for a mistake.
AXIS_TOLERANCE = 1e-3

_EYE = np.eye(3)
LARGEST_NUMBER = 1e12
"""Numbers of a robot beyond this, in SI units, are refused: products of them lose all digits or
leave the range of floating-point numbers.
"""
ErrorType = Callable[..., RobotDynamicsError]
# Share of the largest moment by which the triangle inequality may be missed: rounding to three
# digits does that.
TRIANGLE_TOLERANCE = 1e-3
# Share of the largest moment: a smaller negative one is rounding, and becomes zero.
NEGATIVE_TOLERANCE = 1e-6
# Principal moments below this share of the largest one are zero.
ROUND_OFF = 1e-12
# m; a body written as a point mass may carry rounding noise
NO_SIZE = 1e-6
# rad or m, by which positions written with six digits miss the limits that they stand for
POSITION_SLACK = 1e-5
INERTIA_POLICIES = ("error", "warn", "repair")
DEFAULT_POLICY = "warn"

# Links that a message names: beyond them it says how many more there are.
_LINKS_NAMED = 6
_REPAIR = "inertia_check 'repair' takes the nearest possible inertias instead."
# kg/m³: density of the sphere that stands for a link without inertia.
_WATER = 1000.0
# Its mass, as a share of the robot's.
_LIGHT_MASS_SHARE = 1e-3


def checked_axis(axis: Array, where: str, error: ErrorType = ModelError) -> Array:
    """(3,) ``axis`` made unit length."""
    x, y, z = (float(value) for value in axis)
    length = math.sqrt(x * x + y * y + z * z)
    shown = f"{x:g} {y:g} {z:g}"
    if not math.isfinite(length):
        raise error(
            f"the axis {shown} is not finite", where=where, remedy="Give three finite numbers."
        )
    if length == 0.0:
        raise error(
            "the axis is zero",
            where=where,
            got=shown,
            remedy='Give a unit vector, such as xyz="0 0 1".',
        )
    if abs(length - 1.0) > AXIS_TOLERANCE:
        unit = f"{x / length:.12g} {y / length:.12g} {z / length:.12g}"
        remedy = f'Divide it by its length: xyz="{unit}".'
        raise error(f"the axis {shown} has length {length:.6g}, not 1", where=where, remedy=remedy)
    if length != 1.0:
        return np.array([x / length, y / length, z / length])
    return axis


def listed(sentences: Sequence[str], most: int) -> str:
    """A line each for the first of some sentences, and how many more there are."""
    if len(sentences) > most:
        more = [f"… and {len(sentences) - most} more"]
    else:
        more = []
    return "".join(f"\n  {line}" for line in [*sentences[:most], *more])


def check_numbers(
    numbers: ArrayLike,
    where: str,
    what: str,
    error: ErrorType = ModelError,
) -> None:
    """Refuse numbers that are not finite, or beyond :data:`LARGEST_NUMBER`."""
    if not (np.abs(numbers) <= LARGEST_NUMBER).all():
        problem = (
            f"its {what} is not finite, or too large to compute with (beyond {LARGEST_NUMBER:g})"
        )
        raise error(
            problem,
            where=where,
            got=numbers,
            remedy="Give numbers in SI units: m, kg, kg m², N m s/rad.",
        )


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
            raise error(
                f"{name} is {value!r}",
                where=where,
                remedy="Give a finite number that is zero or more.",
            )
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
    axis = checked_axis(joint.axis, f"{where} <axis>", error)
    if axis is joint.axis:
        return joint
    return dataclasses.replace(joint, axis=axis)


def check_limits(limits: JointLimits, where: str, error: ErrorType = ModelError) -> None:
    """Raise ModelError unless lower ≤ upper, effort and velocity are zero or more, and the limits
    of acceleration above zero; NaN is never accepted.
    """
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
    for name in ("acceleration", "deceleration"):
        value = getattr(limits, name)
        if not value > 0.0:
            remedy = f"Give the largest {name} as a positive number, or leave it out."
            raise error(f"the {name} limit is {value:g}", where=where, remedy=remedy)


def beyond_limits(limits: JointLimits, position: Sequence[float]) -> str:
    """A position, given as the (nq,) coordinates of a joint, that is beyond the joint's limits, and
    these; empty if it is within them, or the joint has several coordinates.
    """
    if len(position) != 1:
        return ""
    if limits.lower - POSITION_SLACK <= position[0] <= limits.upper + POSITION_SLACK:
        return ""
    return f"{position[0]:g}, beyond its limits {limits.lower:g} to {limits.upper:g}"


class InertiaFault(NamedTuple):
    """A fault of mass properties, impossible or merely odd; ``indefinite`` if a mass or a moment is
    negative.
    """

    problem: str
    remedy: str
    impossible: bool = True
    indefinite: bool = False


def check_policy(policy: str) -> None:
    """Raise ArgumentError unless ``policy`` is one of :data:`INERTIA_POLICIES`."""
    if policy not in INERTIA_POLICIES:
        problem = f"expected 'error', 'warn' or 'repair', got {policy!r}"
        remedy = (
            "'error' refuses bodies that cannot exist, 'warn' computes with them where possible, "
            "'repair' takes the nearest."
        )
        raise ArgumentError(problem, where="inertia_check", remedy=remedy)


def inertial_place(link: str) -> str:
    """Name of the mass properties of a link in errors."""
    return f"link {link!r} <inertial>"


def inertia_fault(inertia: Inertia) -> InertiaFault | None:
    """The reason why no rigid body has these mass properties, and the remedy; None if there is
    none.

    A body without mass and rotational inertia is no fault (a frame, often), nor is a point mass.
    """
    mass = inertia.mass
    if mass < 0.0:
        return InertiaFault(
            f"the mass {mass:g} kg is negative", "Give a positive mass.", indefinite=True
        )
    moments = _principal_moments(inertia.rotational)
    not_positive, not_triangle = _impossible(np.array(mass), moments)
    low, middle, high = (float(value) for value in moments)
    shown = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m²"
    if not_positive:
        return InertiaFault(
            f"the rotational inertia is not positive ({shown})",
            "Check the signs and the products of inertia: ixy = -Σ m x y, and so on.",
            indefinite=True,
        )
    if not_triangle:
        if low + middle > 0.0:
            excess = 100.0 * (high / (low + middle) - 1.0)
        else:
            excess = np.inf
        return InertiaFault(
            (
                f"the rotational inertia breaks the triangle inequality ({shown}: the largest "
                "exceeds the sum of the others"
            )
            + (f" by {excess:.{0 if excess >= 10.0 else 1}f} %)" if excess < 1e4 else ")"),
            "Take the inertia from the CAD model again, about the centre of mass, in the axes of "
            "<origin>.",
        )
    if mass == 0.0 and high > 0.0:
        return InertiaFault(
            f"it has rotational inertia but no mass ({shown})",
            "Give it a mass, or no inertia.",
            False,
        )
    return None


def nearest_possible(inertia: Inertia) -> Inertia:
    """The mass properties of a rigid body that are nearest to the given ones; the same object if
    they are possible.

    The matrix of second moments of mass Σ = ½ tr(I) 1 − I of a body is positive semidefinite
    (Wensing, Kim and Slotine, IEEE RA-L 3, 2018); the nearest such matrix in the Frobenius norm has
    the negative eigenvalues replaced by zero, and
    I = tr(Σ) 1 − Σ.  Mass and centre of mass stay.  A negative mass becomes zero, and the inertia
    with it.
    """
    fault = inertia_fault(inertia)
    if fault is None or not fault.impossible:
        return inertia
    if inertia.mass < 0.0:
        return Inertia(0.0, inertia.com, np.zeros((3, 3)))
    rotational = inertia.rotational
    values, vectors = np.linalg.eigh(0.5 * np.trace(rotational) * np.eye(3) - rotational)
    second = (vectors * np.maximum(values, 0.0)) @ vectors.T
    possible = np.trace(second) * np.eye(3) - second
    return Inertia(inertia.mass, inertia.com, 0.5 * (possible + possible.T))


def repaired(links: Sequence[Link]) -> tuple[tuple[Link, ...], list[str]]:
    """The links with all impossible mass properties replaced by :func:`nearest_possible`, and a
    sentence for each.
    """
    new = []
    findings = []
    for link in links:
        body = nearest_possible(link.inertia)
        if body is not link.inertia:
            fault = inertia_fault(link.inertia)
            assert fault is not None
            moments = ", ".join(f"{x:.6g}" for x in _principal_moments(body.rotational))
            new_body = f"mass {body.mass:g} kg, principal moments {moments} kg m²"
            findings.append(f"{inertial_place(link.name)}: {fault.problem}; repaired: {new_body}")
            link = Link(link.name, body)
        new.append(link)
    return tuple(new), findings


def small_ball(robot_mass: float) -> Inertia:
    """Inertia that ``"repair"`` gives to a link without inertia that a joint must accelerate: a
    ball of water about the link's origin with a thousandth of the robot's mass (1 g at least).
    """
    mass = max(_LIGHT_MASS_SHARE * robot_mass, 1e-3)
    radius = (3.0 * mass / (4.0 * np.pi * _WATER)) ** (1.0 / 3.0)
    return Inertia(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))


def check_bodies(
    links: Sequence[Link],
    body_of: Mapping[str, int],
    bodies: Sequence[Inertia],
    joints: Sequence[str],
    policy: str,
) -> None:
    """Judge what the links of a robot add up to; an error names the links that are impossible
    themselves, or all that have inertia.

    Args:
        body_of: link name → index into ``bodies``, of which the root body is the last (index −1).
        joints: the joint that moves each body, by name; one less than there are bodies.
    """
    heavy = [link for link in links if link.inertia.mass != 0.0 or link.inertia.rotational.any()]
    for link in heavy:
        check_size(link.inertia, inertial_place(link.name))
        check_size(bodies[body_of[link.name]], inertial_place(link.name))
        # which no link may have, whatever it is fixed to
        if link.inertia.mass < 0.0:
            problem = f"the mass {link.inertia.mass:g} kg is negative"
            remedy = f"Give a positive mass. {_REPAIR}"
            where = inertial_place(link.name)
            setting = ("inertia_check", "repair")
            raise ModelError(
                problem, where=where, got=link.inertia.mass, remedy=remedy, setting=setting
            )
    moments = _principal_moments(np.array([body.rotational for body in bodies]))
    broken, not_triangle = _impossible(np.array([body.mass for body in bodies]), moments)
    if policy == "error":
        broken |= not_triangle
    else:
        # the root body does not move
        broken[-1] = False
    if not broken.any():
        return
    parts: dict[int, list[Link]] = {int(i): [] for i in np.flatnonzero(broken)}
    for link in heavy:
        parts.get(body_of[link.name] % len(bodies), []).append(link)
    at_fault = set[str]()
    # all of them, should each be within the tolerances by itself
    for those in parts.values():
        impossible = [x.name for x in those if (own := inertia_fault(x.inertia)) and own.impossible]
        at_fault.update(impossible or [x.name for x in those])
    # in the order of the source
    guilty = [link for link in heavy if link.name in at_fault]
    link = guilty[0]
    i = body_of[link.name] % len(bodies)
    fault = whole = inertia_fault(bodies[i])
    assert whole is not None and fault is not None
    problem = whole.problem
    if len(parts[i]) > 1:
        fault = inertia_fault(link.inertia) or whole
        if i < len(joints):
            body = f"the body that joint {joints[i]!r} moves"
        else:
            body = "the root body"
        problem = f"{fault.problem}; nor can {body}, which it is part of, exist: {whole.problem}"
    others = [
        f"{inertial_place(x.name)}: {(inertia_fault(x.inertia) or fault).problem}"
        for x in guilty[1:]
    ]
    raise ModelError(
        problem + listed(others, _LINKS_NAMED - 1),
        where=inertial_place(link.name),
        got=link.inertia.rotational.tolist(),
        remedy=f"{fault.remedy} {_REPAIR}",
        setting=("inertia_check", "repair" if policy != "error" or whole.indefinite else "warn"),
    )


def check_size(inertia: Inertia, where: str, error: ErrorType = ModelError) -> None:
    """Raise ModelError if a number is so large that its products leave the range of floating-point
    numbers.
    """
    check_numbers(
        [inertia.mass, *inertia.com, *inertia.rotational.flat],
        where,
        "mass, center or inertia",
        error,
    )


def _principal_moments(rotational: Array) -> Array:
    """(..., 3) ascending, round-off replaced by zero."""
    moments = np.linalg.eigvalsh(rotational)
    largest = np.abs(moments).max(axis=-1, keepdims=True)
    return np.where(np.abs(moments) <= ROUND_OFF * largest, 0.0, moments)


def _impossible(mass: Array, moments: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether moments (..., 3) are not positive, and whether they break the triangle inequality."""
    low = moments[..., 0]
    middle = moments[..., 1]
    high = moments[..., 2]
    noise = np.maximum(mass, 0.0) * NO_SIZE**2
    return low < -(NEGATIVE_TOLERANCE * high + noise), low + middle < high * (
        1.0 - TRIANGLE_TOLERANCE
    ) - noise
