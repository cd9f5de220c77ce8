"""The robot behind a simulator node, used as a plant, and the Gymnasium environment over it."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import robot_dynamics_ros as rd
from robot_dynamics_ros.ros.lockstep_robot import LockstepRobot

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

START = np.array([0.2, -0.8, 1.2, -0.7, 1.0, 0.3])
PERIOD = 0.01
LOCKSTEP = {"time_mode": "lockstep", "update_rate": 1.0 / PERIOD}


def initial(model):
    """Parameters of the start, for the simulator."""
    return {
        f"initial_positions__{name}": float(q)
        for name, q in zip(model.joint_names, START, strict=False)
    }


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("six_axis")


@pytest.fixture
def robot(start, arm):
    start("simulator", robot_description_file="six_axis", **LOCKSTEP)
    with LockstepRobot(arm) as behind_the_node:
        yield behind_the_node


def test_it_moves_as_the_plant_in_this_process_does(robot, arm):
    """Bit for bit, after a reset too."""
    plant = rd.Plant(arm, PERIOD)
    assert robot.dt == plant.dt
    efforts = np.random.default_rng(4).uniform(-5.0, 5.0, (30, arm.nv))
    for reset_to in (None, START):
        robot.reset(reset_to)
        plant.reset(reset_to)
        for effort in efforts:
            robot.step(effort)
            plant.step(effort)
        np.testing.assert_array_equal(robot.q, plant.q)
        np.testing.assert_array_equal(robot.v, plant.v)
        np.testing.assert_array_equal(robot.tau, plant.tau)
        assert robot.t == plant.t
    with pytest.raises(rd.ArgumentError, match="expected 6 finite numbers"):
        robot.step(np.full(6, np.nan))


@pytest.mark.filterwarnings("error")
def test_gymnasiums_checker_finds_nothing_and_a_task_space_target_arrives(robot, arm):
    """The same episode as over a plant in this process, bit for bit."""
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from robot_dynamics_ros.frameworks.reach_env import ToolReachEnv

    def episode(plant):
        env = ToolReachEnv(plant, "tool0", period=2 * PERIOD, duration=4.0)
        seen, info = env.reset(seed=3, options={"q": START})
        rows = [seen]
        ended = cut = False
        while not (ended or cut):
            twist = np.zeros(6)
            twist[3:] = 3.0 * (seen[-3:] - seen[-6:-3]) / env.settings.speed[1]
            seen, _, ended, cut, info = env.step(twist)
            rows.append(seen)
        assert ended and info["distance"] < env.tolerance
        return np.array(rows)

    np.testing.assert_array_equal(episode(robot), episode(rd.Plant(arm, PERIOD)))
    check_env(ToolReachEnv(robot, "tool0", period=2 * PERIOD), skip_render_check=True)


def test_a_simulator_that_is_not_in_lockstep_is_named(start, arm):
    start("simulator", robot_description_file="six_axis")
    with pytest.raises(rd.ArgumentError, match=r"'time_mode' of 'robot_simulator'.*lockstep"):
        LockstepRobot(arm)
