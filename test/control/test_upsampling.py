"""Chunks and set-points of positions alone are followed without seams."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.library import robot_path

MS = 1_000_000
SECOND = 1_000_000_000
ARMATURE = {name: 0.1 for name in rd.load_robot("six_axis").joint_names}
ARM = rd.load_urdf(str(robot_path("six_axis")), armature=ARMATURE)
MIDDLE = np.array([0.2, -0.8, 1.2, -0.7, 1.0, 0.3])
RATE = np.array([1.1, 0.9, 1.3, 0.7, 1.5, 1.0])
SIZE = np.array([0.4, 0.3, 0.4, 0.5, 0.4, 0.6])


def policy(t):
    return MIDDLE + SIZE * np.sin(RATE * t), SIZE * RATE * np.cos(RATE * t)


def roughness(send):
    """Root mean square of the effort's rate, N m/s, on a robot like the model, from 1 s on."""
    options = rd.ControllerOptions(
        stream_timeout=0.2, allow_nonzero_velocity_at_trajectory_end=True
    )
    control = rd.JointController(ARM, rd.ComputedTorque(kp=400.0, kd=40.0), options=options)
    q = MIDDLE.copy()
    v = np.zeros(6)
    control.activate(SECOND, q, v)
    efforts = []
    for k in range(2600):
        t = SECOND + k * MS
        send(control, k, t)
        effort = control.update(t, q, v)
        efforts.append(effort.copy())
        v = v + 1e-3 * rd.forward_dynamics(ARM, q, v, effort)
        q = q + 1e-3 * v
    rate = np.diff(efforts[1000:], axis=0) / 1e-3
    return np.sqrt((rate**2).sum(axis=1).mean())


def chunks(with_velocities):
    times = np.arange(1, 17) / 30.0

    def send(control, k, t):
        if k % 200 == 0:
            rows = [policy(1e-3 * k + x) for x in times]
            velocities = [v for _, v in rows] if with_velocities else None
            trajectory = rd.Trajectory.from_waypoints(
                ARM.joint_names,
                times,
                [q for q, _ in rows],
                velocities,
                allow_nonzero_end_velocity=True,
            )
            control.accept_trajectory(trajectory, t)

    return send


def points(with_velocities, due=33 * MS):
    def send(control, k, t):
        if k % 33 == 0 and k > 0:
            q, v = policy(1e-3 * (k + 33))
            point = rd.TrajectoryPoint(due, tuple(q), tuple(v) if with_velocities else ())
            control.accept_point(ARM.joint_names, point, t)

    return send


@pytest.fixture(scope="module")
def exact():
    return roughness(chunks(True))


@pytest.mark.parametrize(
    "send",
    [chunks(False), points(True), points(False), points(False, due=0)],
    ids=["chunks", "points with velocities", "points", "points due at once"],
)
def test_positions_alone_are_as_smooth_as_exact_velocities(exact, send):
    assert roughness(send) < 1.3 * exact


def test_a_jump_of_a_set_point_is_still_refused():
    control = rd.JointController(ARM)
    control.activate(SECOND, MIDDLE, np.zeros(6))
    control.update(SECOND + MS, MIDDLE, np.zeros(6))
    for k in range(5):
        control.accept_point(
            ARM.joint_names, rd.TrajectoryPoint(0, tuple(MIDDLE)), SECOND + (k + 1) * 20 * MS
        )
    with pytest.raises(rd.TrajectoryRejected):
        control.accept_point(
            ARM.joint_names, rd.TrajectoryPoint(0, tuple(MIDDLE + 3.0)), SECOND + 120 * MS
        )


@pytest.mark.parametrize("late", [0, 25 * MS], ids=["from the start", "late"])
def test_velocities_are_those_of_the_complete_spline(late):
    """SciPy's spline is the oracle: from the reference's velocity on, at rest in the end."""
    control = rd.JointController(ARM)
    moving = 0.1 * RATE
    control.activate(SECOND, MIDDLE, moving)
    control.update(SECOND + MS, MIDDLE, moving)
    start = SECOND + 2 * MS
    # stamped in the past, its first points are over
    stamp = start - late
    times = np.array([0.01, 0.02, 0.07, 0.1, 0.2])
    positions = MIDDLE + 0.02 * np.sin(np.arange(30.0).reshape(5, 6))
    trajectory = rd.Trajectory.from_waypoints(ARM.joint_names, times, positions, stamp=stamp)
    before = control.desired(start)
    control.accept_trajectory(trajectory, start)
    left = times > 1e-9 * late
    knots = np.concatenate([[1e-9 * late], times[left]])
    curve = CubicSpline(
        knots,
        np.vstack([before[0], positions[left]]),
        bc_type=((1, before[1]), (1, np.zeros(6))),
    )
    for t in np.linspace(knots[0], knots[-1], 50, endpoint=False):
        q, v, _ = control.desired(stamp + round(1e9 * t))
        # the first piece has the acceleration of the reference, too
        if t > knots[1]:
            np.testing.assert_allclose(q, curve(t), atol=1e-9)
            np.testing.assert_allclose(v, curve(t, 1), atol=1e-7)
