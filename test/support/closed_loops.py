"""Mechanisms with closed loops."""

from __future__ import annotations

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import (
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    RobotDescription,
)

CRANK = 0.3
COUPLER = 0.9
ROCKER = 0.7
GROUND = 0.8


def _bar(name, length, mass):
    moments = np.diag([1e-4, mass * length**2 / 12, mass * length**2 / 12])
    return Link(name, Inertia(mass, [length / 2, 0.0, 0.0], moments))


def hinge_joint(
    name, parent, child, x=0.0, y=0.0, kind=JointType.CONTINUOUS, axis=(0.0, 0.0, 1.0), **more
):
    """A joint at (x, y, 0) of its parent, about z if nothing else is said."""
    return Joint(
        name,
        kind,
        parent,
        child,
        origin=Pose(position=np.array([x, y, 0.0])),
        axis=np.array(axis),
        **more,
    )


def four_bar(closure="hinge", **joint):
    """Crank and coupler in series, rocker on the ground at (GROUND, 0); closed where coupler and
    rocker end.

    In the x-y plane, gravity along −y.  Returns the constraints and a consistent configuration.
    """
    links = (
        Link("base"),
        _bar("crank", CRANK, 1.0),
        _bar("coupler", COUPLER, 2.0),
        _bar("rocker", ROCKER, 1.5),
    )
    joints = (
        hinge_joint("crank_joint", "base", "crank", **joint),
        hinge_joint("coupler_joint", "crank", "coupler", x=CRANK, **joint),
        hinge_joint("rocker_joint", "base", "rocker", x=GROUND, **joint),
    )
    model = rd.RobotModel.from_description(
        RobotDescription("four_bar", links, joints), gravity=(0.0, -9.81, 0.0)
    )
    ends = {"point_a": (COUPLER, 0, 0), "point_b": (ROCKER, 0, 0)}
    if closure == "hinge":
        loop = rd.hinge_constraint(
            "closure", "coupler", "rocker", axis_a=(0, 0, 1), axis_b=(0, 0, 1), **ends
        )
    else:
        loop = rd.point_constraint("closure", "coupler", "rocker", **ends)
    return rd.Constraints(model, [loop])


def four_bar_angles(theta):
    """Absolute angles of coupler and rocker for a crank angle, by the cosine rule; the open
    branch.
    """
    d = np.array([GROUND - CRANK * np.cos(theta), -CRANK * np.sin(theta)])
    r = np.hypot(*d)
    beta = np.arctan2(d[1], d[0])
    gamma = np.arccos((COUPLER**2 + r**2 - ROCKER**2) / (2 * COUPLER * r))
    coupler = beta + gamma
    end = CRANK * np.array([np.cos(theta), np.sin(theta)]) + COUPLER * np.array(
        [np.cos(coupler), np.sin(coupler)]
    )
    return coupler, np.arctan2(end[1], end[0] - GROUND)


def slider_crank():
    """A crank of 0.2 m, a rod of 0.5 m, and a piston on the x axis, tied to the rod's end at a
    point.
    """
    links = (
        Link("base"),
        _bar("crank", 0.2, 1.0),
        _bar("rod", 0.5, 0.8),
        Link("piston", Inertia(2.0, [0.0, 0.0, 0.0], 1e-3 * np.eye(3))),
    )
    joints = (
        hinge_joint("crank_joint", "base", "crank"),
        hinge_joint("rod_joint", "crank", "rod", x=0.2),
        hinge_joint(
            "piston_joint", "base", "piston", kind=JointType.PRISMATIC, axis=(1.0, 0.0, 0.0)
        ),
    )
    model = rd.RobotModel.from_description(
        RobotDescription("slider_crank", links, joints), gravity=(0, -9.81, 0)
    )
    return rd.Constraints(
        model, [rd.point_constraint("pin", "rod", "piston", point_a=(0.5, 0, 0), point_b=(0, 0, 0))]
    )


def gripper_arm():
    """The six-axis arm with a gripper: two fingers on parallelograms, geared to each other."""
    links = [Link("palm", Inertia(0.4, [0, 0, 0.02], 4e-4 * np.eye(3)))]
    joints = []
    constraints = []
    for side, s in (("left", 1.0), ("right", -1.0)):
        for k, y in (("inner", 0.02), ("outer", 0.04)):
            links.append(Link(f"{side}_{k}", Inertia(0.05, [0, 0, 0.03], 2e-5 * np.eye(3))))
            joints.append(
                Joint(
                    f"{side}_{k}_joint",
                    JointType.CONTINUOUS,
                    "palm",
                    f"{side}_{k}",
                    origin=Pose(position=np.array([0, s * y, 0.04])),
                    axis=np.array([1.0, 0, 0]),
                )
            )
        links.append(Link(f"{side}_tip", Inertia(0.04, [0, s * 0.01, 0.02], 1e-5 * np.eye(3))))
        joints.append(
            Joint(
                f"{side}_tip_joint",
                JointType.CONTINUOUS,
                f"{side}_inner",
                f"{side}_tip",
                origin=Pose(position=np.array([0, 0, 0.06])),
                axis=np.array([1.0, 0, 0]),
            )
        )
        constraints.append(
            rd.hinge_constraint(
                f"{side}_loop",
                f"{side}_tip",
                f"{side}_outer",
                point_a=(0, s * 0.02, 0),
                point_b=(0, 0, 0.06),
                axis_a=(1, 0, 0),
                axis_b=(1, 0, 0),
            )
        )
    constraints.append(
        rd.gear_constraint("fingers", "left_inner_joint", "right_inner_joint", ratio=-1.0)
    )
    hand = RobotDescription("hand", tuple(links), tuple(joints))
    arm = rd.load_robot("six_axis")
    wrist = Joint("hand_mount", JointType.FIXED, "tool0", "palm")
    whole = RobotDescription(
        "gripper_arm",
        (*arm.description.links, *hand.links),
        (*arm.description.joints, wrist, *hand.joints),
    )
    return rd.Constraints(rd.RobotModel.from_description(whole), constraints)
