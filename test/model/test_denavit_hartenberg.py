"""Denavit-Hartenberg tables: published arms, and there and back for random chains."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.description import JointType

PUMA = [
    (0, 0, 0, np.pi / 2),
    (0, 0, 0.4318, 0),
    (0, 0.15, 0.0203, -np.pi / 2),
    (0, 0.4318, 0, np.pi / 2),
    (0, 0, 0, -np.pi / 2),
    (0, 0, 0, 0),
]


def by_table(rows, q, modified=False):
    """Written out, independent of the package."""
    T = np.eye(4)
    for (theta, d, a, alpha), x in zip(rows, q, strict=True):
        c = np.cos(theta + x)
        s = np.sin(theta + x)
        ca = np.cos(alpha)
        sa = np.sin(alpha)
        if modified:
            A = [
                [c, -s, 0, a],
                [s * ca, c * ca, -sa, -d * sa],
                [s * sa, c * sa, ca, d * ca],
                [0, 0, 0, 1],
            ]
        else:
            A = [
                [c, -s * ca, s * sa, a * c],
                [s, c * ca, -c * sa, a * s],
                [0, sa, ca, d],
                [0, 0, 0, 1],
            ]
        T = T @ np.array(A)
    return T


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_published_table(convention):
    model = rd.from_denavit_hartenberg(PUMA, convention=convention)
    for q in np.random.default_rng(0).uniform(-3, 3, (5, 6)):
        assert_allclose(
            rd.link_pose(model, q, "tip"), by_table(PUMA, q, convention == "modified"), atol=1e-12
        )


def test_inertias_are_given_in_the_frames_of_the_table():
    com = np.array([-0.1, 0.02, 0.03])
    body = rd.Inertia(2.0, com, np.diag([0.1, 0.2, 0.25]))
    model = rd.from_denavit_hartenberg(PUMA, inertias=[body] * 6)
    q = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
    center = np.mean(
        [(by_table(PUMA[: k + 1], q[: k + 1]) @ [*com, 1.0])[:3] for k in range(6)], axis=0
    )
    assert_allclose(rd.center_of_mass(model, q), center, atol=1e-12)


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("seed", range(6))
def test_any_chain_there_and_back(convention, seed):
    model = random_model(
        seed,
        6,
        types=(JointType.REVOLUTE, JointType.PRISMATIC),
        branching=0.0,
        axis_aligned=0.5 if seed % 2 else 0.0,
    )
    tip = model.link_names[-1]
    table = rd.denavit_hartenberg(model, tip, convention=convention)
    again = rd.from_denavit_hartenberg(table)
    for q in np.random.default_rng(seed).uniform(-2, 2, (4, model.nq)):
        pose = rd.link_pose(model.replace(base=rd.Pose()), q, tip)
        assert_allclose(table.pose(q), pose, atol=1e-9)
        assert_allclose(rd.link_pose(again, q, "tip"), pose, atol=1e-9)
    assert table.rows[0].joint in str(table)


def test_parallel_and_meeting_axes():
    for robot in ("six_axis", "seven_axis", "two_link", "three_link"):
        model = rd.load_robot(robot)
        table = rd.denavit_hartenberg(model, model.link_names[-1])
        q = np.random.default_rng(1).uniform(-2, 2, len(table.rows))
        pose = rd.link_pose(model, q[: model.nq], model.link_names[-1])
        assert_allclose(table.pose(q), pose, atol=1e-9)


def test_what_no_table_can_hold():
    planar = random_model(2, 2, types=(JointType.PLANAR,), branching=0.0)
    with pytest.raises(ModelError, match="planar"):
        rd.denavit_hartenberg(planar, planar.link_names[-1])
    with pytest.raises(ArgumentError, match="convention"):
        rd.from_denavit_hartenberg(PUMA, convention="craig")
    with pytest.raises(ArgumentError, match="row 1"):
        rd.from_denavit_hartenberg([(0, 0, 0)])
    with pytest.raises(ArgumentError, match="inertias"):
        rd.from_denavit_hartenberg(PUMA, inertias=[rd.Inertia(1.0)])
