"""Points and frames that move within a link, against derivatives of where they are."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from support.random_trees import ONE_DOF, random_model

import robot_dynamics_ros as rd

MODEL = random_model(4, 5, types=ONE_DOF)
Q0, V0, A0 = np.random.default_rng(4).normal(size=(3, MODEL.nv))
LINK = MODEL.link_names[-1]
OTHER = MODEL.link_names[2]
P, U, B = np.array([[0.1, 0.2, -0.3], [1.0, -0.5, 0.25], [0.3, 0.7, -2.0]])


def derivatives(position):
    """Value, first and second derivative at 0 by central differences."""
    h = 1e-4
    before = position(-h)
    now = position(0.0)
    after = position(h)
    return now, (after - before) / (2 * h), (after - 2 * now + before) / h**2


def test_a_point_that_moves_within_a_link():
    def at(t):
        q = Q0 + V0 * t + A0 * t * t / 2
        return rd.motion(
            MODEL, q, point_on=LINK, offset=P + U * t + B * t * t / 2, relative_to=OTHER
        ).position

    for axes in (None, "world"):
        seen = rd.motion(
            MODEL,
            Q0,
            V0,
            A0,
            point_on=LINK,
            offset=P,
            offset_velocity=U,
            offset_acceleration=B,
            relative_to=OTHER,
            expressed_in=axes,
        )
        turn = np.eye(3) if axes is None else rd.link_pose(MODEL, Q0, OTHER)[:3, :3]
        p, v, a = derivatives(at)
        assert_allclose(seen.position, turn @ p, atol=1e-12)
        assert_allclose(seen.velocity, turn @ v, atol=1e-6)
        assert_allclose(seen.acceleration, turn @ a, atol=1e-5)


def test_a_moving_frame_on_a_link_and_the_world():
    frame = rd.Frame(
        LINK, pose=rd.Pose.from_rpy(P, (0.3, -0.2, 0.9)), velocity=(*U, *B), acceleration=(*B, *P)
    )
    point = np.array([0.2, -0.1, 0.4])
    seen = rd.motion(MODEL, Q0, V0, A0, point_on=frame, offset=point, relative_to="world")
    # the other way round: the link's point as the frame sees it, and back by hand
    back = rd.motion(MODEL, Q0, V0, A0, point_on="world", relative_to=frame)
    assert_allclose(back.rotation, seen.rotation.T, atol=1e-12)
    assert_allclose(back.angular_velocity, -seen.rotation.T @ seen.angular_velocity, atol=1e-12)
    assert_allclose(
        back.angular_acceleration, -seen.rotation.T @ seen.angular_acceleration, atol=1e-11
    )
    origin = rd.motion(MODEL, Q0, V0, A0, point_on=frame, relative_to="world")
    w = seen.angular_velocity
    d = seen.rotation @ point
    assert_allclose(seen.velocity, origin.velocity + np.cross(w, d), atol=1e-12)
    expected = (
        origin.acceleration + np.cross(seen.angular_acceleration, d) + np.cross(w, np.cross(w, d))
    )
    assert_allclose(seen.acceleration, expected, atol=1e-10)
    zero = rd.motion(MODEL, Q0, V0, A0, point_on=rd.Frame(LINK, pose=P))
    plain = rd.motion(MODEL, Q0, V0, A0, point_on=LINK, offset=P)
    assert_allclose(zero.acceleration, plain.acceleration, atol=1e-12)


def test_the_force_residual():
    tau = rd.inverse_dynamics(MODEL, Q0, V0, A0)
    assert_allclose(rd.force_residual(MODEL, Q0, V0, A0, tau), 0.0, atol=1e-12)
    assert_allclose(
        rd.force_residual(MODEL, Q0, V0, None, tau), -rd.mass_matrix(MODEL, Q0) @ A0, atol=1e-10
    )


def test_paths_of_the_centres_of_mass(tmp_path):
    """Segments at rest relative to each other turn about the base: circles at constant speed."""
    limb = rd.limb(3, lengths=1.0)
    t = np.linspace(0.0, 1.0, 40)
    q = np.zeros((40, 3))
    v = np.zeros((40, 3))
    q[:, 0] = 2.0 * t
    v[:, 0] = 2.0
    paths = rd.center_of_mass_paths(limb, q, v)
    for k, radius in enumerate((0.5, 1.5, 2.5)):
        assert_allclose(np.linalg.norm(paths.position[k], axis=1), radius, atol=1e-12)
        assert_allclose(paths.speed[k], 2.0 * radius, atol=1e-12)
    paths.plot(tmp_path / "paths.png")
    assert (tmp_path / "paths.png").stat().st_size > 5000
    run = rd.simulate(limb, duration=0.05, dt=1e-3)
    assert rd.center_of_mass_paths(run, links=["segment2"]).position.shape == (1, len(run.t), 3)


def test_springs_that_change_during_a_run():
    limb = rd.limb(1, inertia="point", lengths=1.0)
    plant = rd.Plant(limb, 1e-3, springs=rd.JointPD(), friction=False)
    for _ in range(10):
        plant.step([0.0])
    assert plant.q[0] == 0.0
    for stiffness, target in ((4.0, 1.0), (9.0, -0.5)):
        plant.set_springs(rd.JointPD(p=stiffness, d=2.0, position=target))
        for _ in range(20000):
            plant.step([0.0])
        assert abs(plant.q[0] - target) < 1e-6


def test_the_wrenches_command_draws_the_same_paths():
    """Those of each link's centre of mass, beside the robot's."""
    from robot_dynamics_ros.recordings import of_run

    arm = rd.load_robot("three_link")
    run = rd.simulate(arm, q0=[0.2, -0.5, 0.7], duration=0.05)
    history = of_run(run)
    seen = rd.center_of_mass_paths(run)
    mass = [arm.link(name).inertia.mass for name in seen.links]
    for name, position, speed in zip(seen.links, seen.position, seen.speed, strict=True):
        assert_allclose(history.paths[f"centre of mass of {name}"], position, atol=1e-12)
        assert_allclose(history.speeds[f"centre of mass of {name}"], speed, atol=1e-12)
    assert_allclose(
        history.paths["centre of mass"], np.average(seen.position, axis=0, weights=mass), atol=1e-12
    )
