"""Which mass properties a rigid body can have, which robots are refused for theirs, and the nearest possible ones.

The equations of motion know merged bodies only: a link and all that is fixed to it.  Unless repaired, what could make the
mass matrix indefinite is always an error: a negative mass, or a moving body with a negative moment of inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.checks import ErrorType, check_numbers, listed
from robot_dynamics_ros.model.description import Array, Inertia, Link

TRIANGLE_TOLERANCE = 1e-3  # of the largest moment: what rounding to three digits can do
NEGATIVE_TOLERANCE = 1e-6
ROUND_OFF = 1e-12  # of the eigenvalues
NO_SIZE = 1e-6  # m; a body written as a point mass may carry rounding noise
INERTIA_POLICIES = ("error", "warn", "repair")
DEFAULT_POLICY = "warn"

_SHOWN = 6
_REPAIR = "inertia_check 'repair' takes the nearest possible inertias instead."
_WATER = 1000.0  # kg/m³
_LIGHT = 1e-3  # of the robot's mass


class InertiaFault(NamedTuple):
    """A fault of mass properties, impossible or merely odd; ``indefinite`` if a mass or a moment is negative."""

    problem: str
    remedy: str
    impossible: bool = True
    indefinite: bool = False


def check_policy(policy: str) -> None:
    """Raise ArgumentError unless ``policy`` is one of :data:`INERTIA_POLICIES`."""
    if policy not in INERTIA_POLICIES:
        problem = f"expected 'error', 'warn' or 'repair', got {policy!r}"
        remedy = "'error' refuses bodies that cannot exist, 'warn' computes with them where possible, 'repair' takes the nearest."
        raise ArgumentError(problem, where="inertia_check", remedy=remedy)


def inertial_place(link: str) -> str:
    """Name of the mass properties of a link in errors."""
    return f"link {link!r} <inertial>"


def inertia_fault(inertia: Inertia) -> InertiaFault | None:
    """The reason why no rigid body has these mass properties, and the remedy; None if there is none.

    A body without mass and rotational inertia is no fault (a frame, often), nor is a point mass.
    """
    mass = inertia.mass
    if mass < 0.0:
        return InertiaFault(f"the mass {mass:g} kg is negative", "Give a positive mass.", indefinite=True)
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
        excess = 100.0 * (high / (low + middle) - 1.0) if low + middle > 0.0 else np.inf
        return InertiaFault(
            f"the rotational inertia breaks the triangle inequality ({shown}: the largest exceeds the sum of the others"
            + (f" by {excess:.{0 if excess >= 10.0 else 1}f} %)" if excess < 1e4 else ")"),
            "Take the inertia from the CAD model again, about the centre of mass, in the axes of <origin>.",
        )
    if mass == 0.0 and high > 0.0:
        return InertiaFault(f"it has rotational inertia but no mass ({shown})", "Give it a mass, or no inertia.", False)
    return None


def nearest_possible(inertia: Inertia) -> Inertia:
    """The mass properties of a rigid body that are nearest to the given ones; the same object if they are possible.

    The matrix of second moments of mass Σ = ½ tr(I) 1 − I of a body is positive semidefinite (Wensing, Kim and Slotine,
    IEEE RA-L 3, 2018); the nearest such matrix in the Frobenius norm has the negative eigenvalues replaced by zero, and
    I = tr(Σ) 1 − Σ.  Mass and centre of mass stay.  A negative mass becomes zero, and the inertia with it.
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
    """The links with all impossible mass properties replaced by :func:`nearest_possible`, and a sentence for each."""
    new, findings = [], []
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
    """Inertia that ``"repair"`` gives to a link without inertia that a joint must accelerate: a ball of water about the link's
    origin with a thousandth of the robot's mass (1 g at least)."""
    mass = max(_LIGHT * robot_mass, 1e-3)
    radius = (3.0 * mass / (4.0 * np.pi * _WATER)) ** (1.0 / 3.0)
    return Inertia(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))


def check_bodies(
    links: Sequence[Link], body_of: Mapping[str, int], bodies: Sequence[Inertia], joints: Sequence[str], policy: str
) -> None:
    """Judge what the links of a robot add up to; an error names the links that are impossible themselves, or all that have inertia.

    Args:
        body_of: link name → index into ``bodies``, of which the root body is the last (index −1).
        joints: the joint that moves each body, by name; one less than there are bodies.
    """
    heavy = [link for link in links if link.inertia.mass != 0.0 or link.inertia.rotational.any()]
    for link in heavy:
        check_size(link.inertia, inertial_place(link.name))
        check_size(bodies[body_of[link.name]], inertial_place(link.name))
        if link.inertia.mass < 0.0:  # which no link may have, whatever it is fixed to
            problem, remedy = f"the mass {link.inertia.mass:g} kg is negative", f"Give a positive mass. {_REPAIR}"
            setting = "inertia_check", "repair"
            raise ModelError(problem, where=inertial_place(link.name), remedy=remedy, setting=setting)
    moments = _principal_moments(np.array([body.rotational for body in bodies]))
    broken, not_triangle = _impossible(np.array([body.mass for body in bodies]), moments)
    if policy == "error":
        broken |= not_triangle
    else:
        broken[-1] = False  # the root body does not move
    if not broken.any():
        return
    parts: dict[int, list[Link]] = {int(i): [] for i in np.flatnonzero(broken)}
    for link in heavy:
        parts.get(body_of[link.name] % len(bodies), []).append(link)
    at_fault = set[str]()
    for those in parts.values():  # all of them, should each be within the tolerances by itself
        impossible = [x.name for x in those if (own := inertia_fault(x.inertia)) and own.impossible]
        at_fault.update(impossible or [x.name for x in those])
    guilty = [link for link in heavy if link.name in at_fault]  # in the order of the source
    link = guilty[0]
    i = body_of[link.name] % len(bodies)
    fault = whole = inertia_fault(bodies[i])
    assert whole is not None and fault is not None
    problem = whole.problem
    if len(parts[i]) > 1:
        fault = inertia_fault(link.inertia) or whole
        body = f"the body that joint {joints[i]!r} moves" if i < len(joints) else "the root body"
        problem = f"{fault.problem}; nor can {body}, which it is part of, exist: {whole.problem}"
    others = [f"{inertial_place(x.name)}: {(inertia_fault(x.inertia) or fault).problem}" for x in guilty[1:]]
    raise ModelError(
        problem + listed(others, _SHOWN - 1),
        where=inertial_place(link.name),
        got=link.inertia.rotational.tolist(),
        remedy=f"{fault.remedy} {_REPAIR}",
        setting=("inertia_check", "repair" if policy != "error" or whole.indefinite else "warn"),
    )


def check_size(inertia: Inertia, where: str, error: ErrorType = ModelError) -> None:
    """Raise ModelError if a number is so large that its products leave the range of floating-point numbers."""
    check_numbers([inertia.mass, *inertia.com, *inertia.rotational.flat], where, "mass, center or inertia", error)


def _principal_moments(rotational: Array) -> Array:
    """(..., 3) ascending, round-off replaced by zero."""
    moments = np.linalg.eigvalsh(rotational)
    largest = np.abs(moments).max(axis=-1, keepdims=True)
    return np.where(np.abs(moments) <= ROUND_OFF * largest, 0.0, moments)


def _impossible(mass: Array, moments: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether moments (..., 3) are not positive, and whether they break the triangle inequality."""
    low, middle, high = moments[..., 0], moments[..., 1], moments[..., 2]
    noise = np.maximum(mass, 0.0) * NO_SIZE**2
    return low < -(NEGATIVE_TOLERANCE * high + noise), low + middle < high * (1.0 - TRIANGLE_TOLERANCE) - noise
