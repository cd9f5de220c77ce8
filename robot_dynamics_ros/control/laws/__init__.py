"""Control laws: small frozen values, each a pure function of the state and reference in a
workspace; the one table by name that node, command line and export choose from; and the laws as
plain functions for scripts.

The functions take one state and return efforts, without memory.  In a loop, :func:`bind` is faster:
it allocates once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.laws.base import Gain, Law, Workspace, registered
from robot_dynamics_ros.control.laws.joint_space import (
    ComputedTorque,
    FeedforwardPD,
    GravityCompensation,
    JointImpedance,
    PDGravity,
)
from robot_dynamics_ros.control.laws.task_space import CartesianImpedance
from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = [
    "ComputedTorque",
    "PDGravity",
    "GravityCompensation",
    "FeedforwardPD",
    "JointImpedance",
    "CartesianImpedance",
    "Law",
    "computed_torque",
    "pd_gravity",
    "gravity_compensation",
    "feedforward_pd",
    "joint_impedance",
    "cartesian_impedance",
    "bind",
]

LAWS: Mapping[str, type[Law]] = registered(
    ComputedTorque,
    PDGravity,
    FeedforwardPD,
    JointImpedance,
    CartesianImpedance,
    GravityCompensation,
)


def gain_fields(law: type[Law]) -> dict[str, str]:
    """ "p", "i", "d" → the field of a law that this parameter sets, as far as the law has one."""
    return {
        f.metadata["parameter"]: f.name
        for f in dataclasses.fields(law)
        if f.metadata.get("parameter")
    }


# (n,) a number a joint, or one for all
Row: TypeAlias = ArrayLike


def bind(model: RobotModel, law: Law) -> Callable[..., Array]:
    """A callable ``(q, v, q_d, v_d=0, a_d=0) -> (n,)`` efforts, with memory of its own that each
    call overwrites.

    Args:
        law: e.g. :class:`ComputedTorque`; ArgumentError: it does not fit the model, or the model
            has joints of several degrees of freedom.
    """
    x = Workspace(model)
    out = np.empty(model.nv)
    law.check(model).prepare(x.kernels)

    def efforts(q: Row, v: Row, q_d: Row, v_d: Row = 0.0, a_d: Row = 0.0) -> Array:
        for name, value in (("q", q), ("v", v), ("q_d", q_d), ("v_d", v_d), ("a_d", a_d)):
            # real and finite numbers: a law must not turn anything else into efforts
            as_input(value, (), name)
        try:
            x.set(q, v, q_d, v_d, a_d)
        except (TypeError, ValueError):
            shapes = tuple(np.shape(row) for row in (q, v, q_d, v_d, a_d))
            problem = f"expected {model.nv} numbers in each"
            remedy = "Give them in the order of joint_names."
            raise ArgumentError(
                problem, where="q, v, q_d, v_d, a_d", got=shapes, remedy=remedy
            ) from None
        return law(x, out)

    return efforts


def _with_gains(law: type[Law], gains: Mapping[str, Gain]) -> Law:
    """A law of a class; ArgumentError: a gain without a default is not given."""
    missing = [
        f.name
        for f in dataclasses.fields(law)
        if f.default is dataclasses.MISSING and f.name not in gains
    ]
    if missing:
        words = ", ".join(f"{name}=…" for name in missing)
        remedy = f"Add {words}; see help(rd.{law.__name__})."
        raise ArgumentError("not given", where=", ".join(missing), remedy=remedy)
    return options_of(law, gains, law.name)


def computed_torque(
    model: RobotModel,
    q: Row,
    v: Row,
    q_d: Row,
    v_d: Row = 0.0,
    a_d: Row = 0.0,
    **gains: Gain,
) -> Array:
    """(n,) τ = M(q) (q̈_d + Kd ė + Kp e) + C q̇ + g + F, N m or N; ``gains``: the fields of
    :class:`ComputedTorque`.
    """
    return bind(model, _with_gains(ComputedTorque, gains))(q, v, q_d, v_d, a_d)


def pd_gravity(
    model: RobotModel,
    q: Row,
    v: Row,
    q_d: Row,
    v_d: Row = 0.0,
    **gains: Gain,
) -> Array:
    """τ = Kp e + Kd ė + g(q) + F; ``gains``: the fields of :class:`PDGravity`."""
    return bind(model, _with_gains(PDGravity, gains))(q, v, q_d, v_d, 0.0)


def gravity_compensation(model: RobotModel, q: Row, v: Row = 0.0, **gains: Gain) -> Array:
    """τ = g(q) − D q̇ + F(q̇); ``gains``: the fields of :class:`GravityCompensation`."""
    return bind(model, _with_gains(GravityCompensation, gains))(q, v, q, 0.0, 0.0)


def feedforward_pd(
    model: RobotModel,
    q: Row,
    v: Row,
    q_d: Row,
    v_d: Row = 0.0,
    a_d: Row = 0.0,
    **gains: Gain,
) -> Array:
    """τ = inverse dynamics at the reference + Kp e + Kd ė; ``gains``: the fields of
    :class:`FeedforwardPD`.
    """
    return bind(model, _with_gains(FeedforwardPD, gains))(q, v, q_d, v_d, a_d)


def joint_impedance(
    model: RobotModel,
    q: Row,
    v: Row,
    q_d: Row,
    v_d: Row = 0.0,
    a_d: Row = 0.0,
    **gains: Gain,
) -> Array:
    """τ = K e + D ė + M q̈_d + C q̇ + g + F; ``gains``: the fields of :class:`JointImpedance`."""
    return bind(model, _with_gains(JointImpedance, gains))(q, v, q_d, v_d, a_d)


def cartesian_impedance(
    model: RobotModel,
    q: Row,
    v: Row,
    q_d: Row,
    v_d: Row = 0.0,
    a_d: Row = 0.0,
    **gains: Gain,
) -> Array:
    """τ = Jᵀ (K Δx + D Δẋ) + posture + M q̈_d + C q̇ + g + F; ``gains``: the fields of
    :class:`CartesianImpedance`.
    """
    return bind(model, _with_gains(CartesianImpedance, gains))(q, v, q_d, v_d, a_d)
