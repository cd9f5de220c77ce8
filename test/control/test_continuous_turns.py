"""Whole turns of continuous joints: counted from a message's first point, as
joint_trajectory_controller does, and never taken for reached where they are missing.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.goal import ResultCode

SECOND = 10**9
TURNTABLE = """<robot name="turntable"><link name="base"/><link name="disc"><inertial>
<mass value="2"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.04"/></inertial>
</link><joint name="turn" type="continuous"><parent link="base"/><child link="disc"/>
<axis xyz="0 0 1"/><limit effort="20" velocity="5"/></joint></robot>"""


def followed(start: float, times: list[float], positions: list[float], stamp: float = 0.0) -> float:
    """Where the reference ends, 20 s after it has begun at ``start``; sent at 10 s."""
    controller = rd.JointController(rd.load_urdf(TURNTABLE))
    controller.activate(10 * SECOND, np.array([start]), np.zeros(1))
    points = [
        rd.TrajectoryPoint(round(t * SECOND), [q], [0.0])
        for t, q in zip(times, positions, strict=True)
    ]
    trajectory = rd.Trajectory.from_points(["turn"], points, stamp=round(stamp * SECOND))
    controller.accept_trajectory(trajectory, 10 * SECOND)
    return float(controller.desired(30 * SECOND)[0, 0])


def wraparound(start: float, first: float) -> float:
    """Whole turns that joint_trajectory_controller adds: ``start`` and ``first`` are at most half a
    turn apart afterwards.
    """
    return 2.0 * math.pi * round((start - first) / (2.0 * math.pi))


@pytest.mark.parametrize("start", [0.0, 0.7, -3.0, 4.0 * math.pi, -50.3])
@pytest.mark.parametrize("first", [0.0, 0.01])
@pytest.mark.parametrize(
    "positions", [[0.0, 4.0], [0.0, 2.0 * math.pi], [1.0, -9.0], [-6.0, 6.0], [100.0, 94.0]]
)
def test_turns_are_counted_from_the_first_point(
    start: float, first: float, positions: list[float]
) -> None:
    if first == 0.01 and abs(start + wraparound(positions[0], start) - positions[0]) > 0.4:
        # too fast a start is refused
        return
    end = followed(start, [first, 6.0], positions)
    assert end == pytest.approx(positions[1] + wraparound(start, positions[0]), abs=1e-9)


@pytest.mark.parametrize("late", [0.5, 1.5, 2.5])
def test_points_that_are_over_still_count_the_turns(late: float) -> None:
    positions = [0.0, 2.0, 4.0, 7.0]
    end = followed(0.1, [0.0, 1.0, 2.0, 6.0], positions, stamp=10.0 - late)
    assert end == pytest.approx(7.0, abs=1e-9)


def test_set_points_go_the_short_way() -> None:
    controller = rd.JointController(rd.load_urdf(TURNTABLE))
    controller.activate(0, np.array([3.0]), np.zeros(1))
    controller.accept_point(["turn"], rd.TrajectoryPoint(SECOND, [-3.0], [0.0]), 0)
    assert controller.desired(SECOND)[0, 0] == pytest.approx(2.0 * math.pi - 3.0)


def run_goal(way: float, seconds: float, *, wrapped: bool = False) -> rd.Goal:
    """The goal of a motion of ``way`` rad, cubic, in a plant; ``wrapped``: its driver says angles
    between −π and π.
    """
    model = rd.load_urdf(TURNTABLE)
    plant = rd.Plant(model, dt=2e-3)
    controller = rd.JointController(model)
    controller.activate(0, plant.q, plant.v)
    s = np.linspace(0.0, 1.0, 51)[1:]
    positions = [[way * (3.0 * x * x - 2.0 * x**3)] for x in s]
    velocities = [[way / seconds * (6.0 * x - 6.0 * x * x)] for x in s]
    trajectory = rd.Trajectory.from_waypoints(["turn"], list(seconds * s), positions, velocities)
    tolerances = rd.Tolerances.uniform(1, goal=0.02, goal_time=2.0)
    goal = controller.accept_trajectory(trajectory, 0, tolerances)
    for k in range(round((seconds + 3.0) / 2e-3)):
        q = plant.q
        if wrapped:
            q = np.remainder(q + math.pi, 2.0 * math.pi) - math.pi
        plant.step(controller.update(k * 2_000_000, q, plant.v))
    return goal


def test_a_goal_that_is_turns_short_is_not_reached() -> None:
    goal = run_goal(100.0, 5.0)
    assert goal.status is rd.GoalStatus.ABORTED
    assert goal.code is ResultCode.GOAL_TOLERANCE_VIOLATED
    assert "turn" in goal.text and "position error" in goal.text
    error = float(goal.text.split(" is ")[1].split(" rad,")[0])
    assert abs(error) > 2.0 * math.pi


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("way", [12.0, -12.0])
def test_many_turns_within_the_limits_are_reached(way: float, wrapped: bool) -> None:
    goal = run_goal(way, 5.0, wrapped=wrapped)
    assert goal.status is rd.GoalStatus.SUCCEEDED, goal.text
