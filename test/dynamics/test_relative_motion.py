"""Relative motion: against Pinocchio, against differences in time, and against Exudyn's sensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_trees import (
    ALL_TYPES,
    random_description,
    random_model,
    random_pose,
    random_state,
    with_normals_along_z,
)
from support.wrench_oracle import LinkOracle

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import Pose


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_in_the_world_it_is_pinocchios(seed):
    model = rd.RobotModel.from_description(
        with_normals_along_z(random_description(seed, 6, types=ALL_TYPES))
    )
    if seed:
        # each link is a function of its own: not worth compiling again
        model = model.with_backend("interpreted")
    q, v, a = random_state(model, seed)
    oracle = LinkOracle(model, q, v, a)
    pin = oracle.pin
    P = oracle.bridge.model
    D = oracle.data
    offset = np.array([0.3, -0.2, 0.1])
    for link, k in oracle.ids.items():
        for axes, frame in (("world", pin.LOCAL_WORLD_ALIGNED), (link, pin.LOCAL)):
            seen = rd.motion(model, q, v, a, point_on=link, expressed_in=axes)
            velocity = pin.getFrameVelocity(P, D, k, frame)
            acceleration = pin.getFrameClassicalAcceleration(P, D, k, frame)
            for ours, theirs in (
                (seen.angular_velocity, velocity.angular),
                (seen.velocity, velocity.linear),
                (seen.angular_acceleration, acceleration.angular),
                (seen.acceleration, acceleration.linear),
            ):
                np.testing.assert_allclose(
                    ours, theirs, atol=1e-10 * max(1.0, np.abs(theirs).max())
                )
        point = rd.motion(model, q, v, a, point_on=link, offset=offset)
        pose = oracle.pose(link)
        np.testing.assert_allclose(point.position, pose.act(offset), atol=1e-11)
        np.testing.assert_allclose(point.rotation, pose.rotation, atol=1e-12)
        np.testing.assert_allclose(point.quaternion @ point.quaternion, 1.0)
        same = np.abs(pin.Quaternion(pose.rotation).coeffs() @ point.quaternion)
        assert same == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(point.rpy, pin.rpy.matrixToRpy(pose.rotation), atol=1e-9)


def moving_frame(link, rng):
    """A frame with a known history: its Frame at time 0, and its pose in the link at any time."""
    start = random_pose(rng)
    twist = rng.normal(size=6)
    rate = rng.normal(size=6)
    frame = rd.Frame(link, start, twist, rate)

    def pose(t):
        position = start.position + twist[3:] * t + rate[3:] * t**2 / 2
        # the rotation vector w t + α t²/2 has the angular velocity w and acceleration α at t = 0
        x = twist[:3] * t + rate[:3] * t**2 / 2
        K = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
        angle = np.linalg.norm(x)
        turn = (
            np.eye(3)
            if angle == 0
            else (np.eye(3) + np.sin(angle) / angle * K + (1 - np.cos(angle)) / angle**2 * K @ K)
        )
        return Pose(turn @ start.rotation, position)

    return frame, pose


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_derivatives_are_those_that_the_moving_observer_measures(seed):
    """Positions and orientations as seen, differentiated in time, give the velocities and
    accelerations as seen.
    """
    rng = np.random.default_rng(seed)
    model = random_model(seed, 4, base=random_pose(rng)).with_backend("interpreted")
    q, v, a = random_state(model, seed)
    v = v / 3.0
    a = a / 3.0
    link, carrier = (str(x) for x in rng.choice(model.link_names, 2))
    observer, pose = moving_frame(carrier, rng)
    offset = rng.normal(size=3)
    seen = rd.motion(model, q, v, a, point_on=link, offset=offset, relative_to=observer)

    def at(t):
        return rd.motion(
            model,
            q + v * t + a * t**2 / 2,
            point_on=link,
            offset=offset,
            relative_to=rd.Frame(carrier, pose(t)),
        )

    h = 1e-3
    far = {k: at(k * h) for k in (-2, -1, 0, 1, 2)}
    p = {k: s.position for k, s in far.items()}
    first = (p[-2] - 8 * p[-1] + 8 * p[1] - p[2]) / (12 * h)
    second = (-p[-2] + 16 * p[-1] - 30 * p[0] + 16 * p[1] - p[2]) / (12 * h * h)
    np.testing.assert_allclose(seen.position, p[0], atol=1e-12)
    np.testing.assert_allclose(seen.velocity, first, atol=1e-6)
    np.testing.assert_allclose(seen.acceleration, second, atol=1e-4)
    R = {k: s.rotation for k, s in far.items()}
    rate = (R[-2] - 8 * R[-1] + 8 * R[1] - R[2]) / (12 * h)
    # ω× in the observer's axes
    spin = rate @ R[0].T
    np.testing.assert_allclose(
        seen.angular_velocity, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-6
    )
    twice = (-R[-2] + 16 * R[-1] - 30 * R[0] + 16 * R[1] - R[2]) / (12 * h * h)
    # R̈ Rᵀ = α× + ω× ω×
    turn = twice @ R[0].T - spin @ spin
    np.testing.assert_allclose(
        seen.angular_acceleration, [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-4
    )


def test_expressed_in_turns_vectors_only():
    model = random_model(3, 5)
    q, v, a = random_state(model, 3)
    link = model.link_names[-1]
    observer = model.link_names[2]
    axes = model.link_names[3]
    own = rd.motion(model, q, v, a, point_on=link, relative_to=observer)
    turned = rd.motion(model, q, v, a, point_on=link, relative_to=observer, expressed_in=axes)
    R = rd.link_pose(model, q, axes)[:3, :3].T @ rd.link_pose(model, q, observer)[:3, :3]
    for name in (
        "position",
        "displacement",
        "velocity",
        "acceleration",
        "angular_velocity",
        "angular_acceleration",
    ):
        np.testing.assert_allclose(getattr(turned, name), R @ getattr(own, name), atol=1e-10)
    np.testing.assert_array_equal(turned.rotation, own.rotation)
    np.testing.assert_allclose(own.twist, np.concatenate([own.angular_velocity, own.velocity]))


def test_displacement_counts_from_the_reference():
    model = rd.load_robot("six_axis")
    q = np.full(6, 0.3)
    home = np.full(6, -0.2)
    here, zero, start = (rd.link_pose(model, x, "tool0")[:3, 3] for x in (q, np.zeros(6), home))
    np.testing.assert_allclose(
        rd.motion(model, q, point_on="tool0").displacement, here - zero, atol=1e-12
    )
    seen = rd.motion(model, q, point_on="tool0", reference=home, expressed_in="tool0")
    R = rd.link_pose(model, q, "tool0")[:3, :3]
    np.testing.assert_allclose(seen.displacement, R.T @ (here - start), atol=1e-12)


def test_a_link_rests_in_its_own_frame():
    model = random_model(5, 5)
    q, v, a = random_state(model, 5)
    link = model.link_names[-1]
    seen = rd.motion(model, q, v, a, point_on=link, offset=(0.1, 0.2, 0.3), relative_to=link)
    np.testing.assert_allclose(seen.position, (0.1, 0.2, 0.3), atol=1e-12)
    for name in ("velocity", "acceleration", "angular_velocity", "angular_acceleration"):
        np.testing.assert_allclose(getattr(seen, name), 0.0, atol=1e-10)


@given(st.integers(0, 10_000))
def test_angles_give_back_the_rotation(seed):
    R = random_pose(np.random.default_rng(seed)).rotation
    model = rd.limb(1).with_backend("interpreted")
    seen = rd.motion(model, [0.0], point_on="base", relative_to=rd.Frame("base", Pose(R.T)))
    np.testing.assert_allclose(seen.rotation, R, atol=1e-14)
    np.testing.assert_allclose(Pose.from_rpy(rpy=seen.rpy).rotation, R, atol=1e-12)
    x, y, z = seen.tait_bryan

    def about(axis, angle):
        rpy = [0.0, 0.0, 0.0]
        rpy[axis] = angle
        return Pose.from_rpy(rpy=rpy).rotation

    np.testing.assert_allclose(about(0, x) @ about(1, y) @ about(2, z), R, atol=1e-12)
