"""What a trajectory may look like, and why it is refused."""

import math

import numpy as np
import pytest

from robot_dynamics_ros.control.reference.goal import ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.errors import RobotDynamicsError, TrajectoryError

NAMES = ("a", "b")


def point(t, q=(0.0, 0.0), v=(), a=(), e=()):
    return TrajectoryPoint(nanoseconds(t), q, v, a, e)


def test_fields_are_kept_and_degrees_follow_what_is_given():
    trajectory = Trajectory.from_points(
        NAMES,
        [
            point(0.5, (1, 2)),
            point(1.0, (3, 4), (5, 6)),
            point(2.0, (1, 1), (0, 0), (7, 8), (9, 10)),
        ],
        stamp=42,
    )
    assert trajectory.times.tolist() == [500_000_000, 1_000_000_000, 2_000_000_000]
    assert trajectory.positions.tolist() == [[1, 2], [3, 4], [1, 1]]
    assert trajectory.velocities.tolist() == [[0, 0], [5, 6], [0, 0]]
    assert trajectory.degree.tolist() == [1, 3, 5]
    assert trajectory.effort.tolist() == [[0, 0], [0, 0], [9, 10]]
    assert (trajectory.stamp, trajectory.duration, len(trajectory)) == (42, 2.0, 3)
    assert not trajectory.positions.flags.writeable


def test_accelerations_without_velocities_are_not_used_for_interpolation():
    assert Trajectory.from_points(NAMES, [point(1, a=(1, 1))]).degree.tolist() == [1]


def test_no_points_means_an_empty_trajectory_and_is_no_error():
    assert len(Trajectory.from_points(NAMES, [])) == 0
    assert len(Trajectory.from_points((), [])) == 0


@pytest.mark.parametrize(
    ("names", "points", "code", "text"),
    [
        (("a", "a"), [point(1)], ResultCode.INVALID_JOINTS, "'a' is named twice"),
        ((), [point(1, ())], ResultCode.INVALID_JOINTS, "no joint names"),
        (("a", ""), [point(1)], ResultCode.INVALID_JOINTS, "'' is no joint name"),
        (
            NAMES,
            [point(1, (1,))],
            ResultCode.INVALID_GOAL,
            r"points\[0\].positions: 1 values for 2 joints",
        ),
        (NAMES, [point(1, (1, 2, 3))], ResultCode.INVALID_GOAL, "3 values for 2 joints"),
        (NAMES, [point(1, v=(1,))], ResultCode.INVALID_GOAL, r"points\[0\].velocities"),
        (NAMES, [point(1, a=(1,))], ResultCode.INVALID_GOAL, r"points\[0\].accelerations"),
        (NAMES, [point(1, e=(1,))], ResultCode.INVALID_GOAL, r"points\[0\].effort"),
        (
            NAMES,
            [point(1), point(2, ("x", 1))],
            ResultCode.INVALID_GOAL,
            r"points\[1\].positions: not numbers",
        ),
        (NAMES, [point(1, (math.nan, 0))], ResultCode.INVALID_GOAL, "joint 'a' is nan"),
        (NAMES, [point(1, v=(0, math.inf)), point(2)], ResultCode.INVALID_GOAL, "joint 'b' is inf"),
        (NAMES, [point(1), point(1)], ResultCode.INVALID_GOAL, "strictly increasing"),
        (NAMES, [point(2), point(1)], ResultCode.INVALID_GOAL, "strictly increasing"),
        (NAMES, [point(-0.1)], ResultCode.INVALID_GOAL, "negative"),
        (
            NAMES,
            [TrajectoryPoint(0.5, (0, 0))],
            ResultCode.INVALID_GOAL,
            "integer number of nanoseconds",
        ),
        (NAMES, [point(1, (), (0, 0))], ResultCode.INVALID_GOAL, "no positions"),
        (NAMES, [point(1, (), (), (0, 0))], ResultCode.INVALID_GOAL, "no positions"),
        (NAMES, [point(1, (), e=(1, 1))], ResultCode.INVALID_GOAL, "effort only"),
        (NAMES, [point(1, v=(0, 0.01))], ResultCode.INVALID_GOAL, "'b' still moves"),
    ],
)
def test_a_bad_trajectory_is_refused_with_its_reason(names, points, code, text):
    with pytest.raises(TrajectoryRejected, match=text) as caught:
        Trajectory.from_points(names, points)
    assert caught.value.code is code
    assert isinstance(caught.value, (TrajectoryError, RobotDynamicsError))
    assert caught.value.remedy


def test_a_velocity_at_the_end_is_accepted_where_allowed():
    points = [point(1, v=(0, 0.5))]
    trajectory = Trajectory.from_points(NAMES, points, allow_nonzero_end_velocity=True)
    assert trajectory.velocities[-1].tolist() == [0, 0.5]


def test_a_zero_velocity_with_single_precision_rounding_is_rest():
    Trajectory.from_points(NAMES, [point(1, v=(1e-8, 0.0))])


def test_bad_stamps_are_refused():
    for stamp in (-1, 1.5, None):
        with pytest.raises(TrajectoryRejected, match=r"header.stamp"):
            Trajectory.from_points(NAMES, [point(1)], stamp=stamp)


def test_waypoints_are_the_same_as_points():
    a = Trajectory.from_waypoints(NAMES, [0.5, 1.0], [[1, 2], [3, 4]], [[1, 1], [0, 0]], stamp=7)
    b = Trajectory.from_points(
        NAMES, [point(0.5, (1, 2), (1, 1)), point(1.0, (3, 4), (0, 0))], stamp=7
    )
    for field in ("times", "positions", "velocities", "degree"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    with pytest.raises(TrajectoryRejected, match="1 rows for 2 times"):
        Trajectory.from_waypoints(NAMES, [0.5, 1.0], [[1, 2]])
    with pytest.raises(TrajectoryRejected, match=r"times\[1\]"):
        Trajectory.from_waypoints(NAMES, [0.5, math.nan], [[1, 2], [1, 2]])
