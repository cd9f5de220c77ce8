"""The laws by name: the one table that node, command line and export choose from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from robot_dynamics_ros.control.laws.base import Law
from robot_dynamics_ros.control.laws.joint_space import (
    ComputedTorque,
    FeedforwardPD,
    GravityCompensation,
    JointImpedance,
    PDGravity,
)
from robot_dynamics_ros.control.laws.task_space import CartesianImpedance

_ALL: tuple[type[Law], ...] = (
    ComputedTorque,
    PDGravity,
    FeedforwardPD,
    JointImpedance,
    CartesianImpedance,
    GravityCompensation,
)
LAWS: Mapping[str, type[Law]] = MappingProxyType({law.name: law for law in _ALL})


def gain_fields(law: type[Law]) -> dict[str, str]:
    """ "p", "i", "d" → the field of a law that this parameter sets, as far as the law has one."""
    return {f.metadata["parameter"]: f.name for f in dataclasses.fields(law) if f.metadata.get("parameter")}
