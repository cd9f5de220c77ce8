"""The Gymnasium environment: Gymnasium's own checker, seeds, and a policy that arrives."""

import numpy as np
import pytest

import robot_dynamics_ros as rd

pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env

from robot_dynamics_ros.frameworks.reach_env import ToolReachEnv

START = np.array([0.2, -0.8, 1.2, -0.7, 1.0, 0.3])


def environment(engine="own", **options):
    arm = rd.load_robot("six_axis")
    if engine == "mujoco":
        pytest.importorskip("mujoco")
        plant = rd.MujocoPlant(arm, 2e-3, q0=START)
    else:
        plant = rd.Plant(arm, 2e-3, q0=START)
    return ToolReachEnv(plant, "tool0", **options)


@pytest.mark.parametrize("engine", ["own", "mujoco"])
@pytest.mark.parametrize("actions", ["effort", "twist"])
@pytest.mark.filterwarnings("error")
def test_gymnasiums_checker_finds_nothing(engine, actions):
    check_env(environment(engine, actions=actions), skip_render_check=True)


@pytest.mark.parametrize("actions", ["effort", "twist"])
def test_the_same_seed_gives_the_same_episode(actions):
    env = environment(actions=actions)
    episodes = []
    for seed in (7, 7, 8):
        seen, _ = env.reset(seed=seed)
        rows = [seen]
        env.action_space.seed(1)
        for _ in range(20):
            seen, reward, *_ = env.step(env.action_space.sample())
            rows.append(np.append(seen, reward)[: len(seen)])
        episodes.append(np.array(rows))
    np.testing.assert_array_equal(episodes[0], episodes[1])
    assert np.abs(episodes[0][0] - episodes[2][0]).max() > 1e-3


def test_a_twist_towards_the_target_arrives():
    env = environment(duration=4.0)
    seen, info = env.reset(seed=3)
    start = info["distance"]
    returned = 0.0
    for _ in range(env.steps):
        twist = np.zeros(6)
        twist[3:] = 3.0 * (seen[-3:] - seen[-6:-3]) / env.settings.speed[1]
        seen, reward, ended, cut, info = env.step(twist)
        returned += reward
        if ended or cut:
            break
    assert ended and not cut
    assert info["distance"] < env.tolerance < start
    # less than staying where it was
    assert returned > -start * env.steps * env.period


def test_gravity_is_held_and_time_cuts_an_episode_off():
    env = environment(actions="effort", duration=0.2)
    env.reset(seed=0)
    for k in range(10):
        _, _, ended, cut, _ = env.step(np.zeros(6))
        assert not ended
        assert cut == (k == 9)
    np.testing.assert_allclose(env.plant.q, START, atol=1e-6)


def test_what_is_no_setting_or_action_is_refused():
    with pytest.raises(rd.ArgumentError, match="one of effort, twist"):
        environment(actions="pose")
    with pytest.raises(rd.ArgumentError, match="multiple of the plant's"):
        environment(period=0.003)
    env = environment(actions="effort")
    env.reset(seed=0)
    with pytest.raises(rd.ArgumentError, match="is no action"):
        env.step(np.full(6, np.nan))
