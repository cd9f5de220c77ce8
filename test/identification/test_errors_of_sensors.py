"""Torque sensors that read a share of the moments across their joint's axis, and torque constants
that do not fit together.
"""

import warnings

import numpy as np
import pytest
from support.identification_data import wrong_robot

import robot_dynamics_ros as rd
from robot_dynamics_ros.friction.effects import joint_loads
from robot_dynamics_ros.friction.file import FrictionFile

# of the moments about x, y, z of the parent's frame
LEAK = np.array([0.03, -0.02, 0.0])


def motion(t, nv, seed):
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 3.0, (nv, 3))
    phase = rng.uniform(0.0, 6.0, (nv, 3))
    angle = t[:, None, None] * w + phase
    return tuple(
        0.6 * x.sum(axis=-1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle))
    )


def efforts(truth, state, leak):
    """What sensors read of an arm with Stribeck friction: the first joint's axis is z of its
    parent.
    """
    v = state[1]
    out = (
        rd.inverse_dynamics(truth, *state)
        + (2.0 + 1.5 * np.exp(-((v / 0.15) ** 2))) * np.tanh(v / 0.01)
        + 0.5 * v
    )
    # its parent is the world
    out[:, 0] += rd.joint_wrenches(truth, *state, expressed_in="world")[:, 0, :3] @ leak
    return out


@pytest.fixture(scope="module")
def arm():
    prior = (
        rd.load_robot("six_axis").lock("wrist_1_joint").lock("wrist_2_joint").lock("wrist_3_joint")
    )
    return prior, wrong_robot(prior, 3)


def found_with(arm, leak, scale=1.0):
    prior, truth = arm
    t = np.arange(0.0, 24.0, 0.008)
    state = motion(t, 3, 5)
    effort = efforts(truth, state, leak) * scale + 0.1 * np.random.default_rng(1).standard_normal(
        (len(t), 3)
    )
    return rd.identify(prior, t, state[0], effort)


@pytest.fixture(scope="module")
def leaking(arm):
    return found_with(arm, LEAK)


def test_the_share_of_each_moment_is_found(leaking):
    assert "crosstalk" in leaking.effects[0].effects
    assert [leaking.value(0, f"crosstalk{k}") for k in (1, 2)] == pytest.approx(LEAK[:2], abs=2e-3)
    assert any("shoulder_pan_joint" in note and "crosstalk" in note for note in leaking.notes)


def test_friction_that_controllers_compensate_keeps_its_place(leaking):
    assert all("stribeck" in form.effects for form in leaking.effects)
    np.testing.assert_allclose(leaking.friction.breakaway, 3.5, rtol=0.15)


def test_unseen_motion_is_predicted_and_the_file_holds_the_same(arm, leaking, tmp_path):
    state = motion(np.arange(0.0, 6.0, 0.004), 3, 11)
    wanted = efforts(arm[1], state, LEAK)
    predicted = leaking.predict(*state)
    leak = wanted - efforts(arm[1], state, 0.0 * LEAK)
    assert np.sqrt(np.mean((predicted - wanted)[:, 0] ** 2)) < 0.15 * np.sqrt(
        np.mean(leak[:, 0] ** 2)
    )
    rd.friction_file(leaking).write(tmp_path / "friction.json")
    read = FrictionFile.read(tmp_path / "friction.json", leaking.model)
    whole = rd.inverse_dynamics(leaking.model, *state) + read.efforts(
        leaking.model, *state, (slice(0, len(state[0])),)
    )
    np.testing.assert_allclose(whole, predicted, atol=1e-9)
    again = rd.load_urdf(leaking.urdf())
    np.testing.assert_allclose(
        read.efforts(again, *state), read.efforts(leaking.model, *state), atol=1e-9
    )


def test_good_sensors_get_no_errors(arm):
    found = found_with(arm, 0.0 * LEAK)
    assert not any({"crosstalk", "gain"} & {*form.effects} for form in found.effects)


def test_torque_constants_that_do_not_fit_together(arm, tmp_path):
    """Shoulder and elbow lift the same forearm: the ratio of their constants shows, their common
    size does not.
    """
    scale = np.array([1.0, 1.06, 1.0])
    found = found_with(arm, 0.0 * LEAK, scale)
    gains = [1.0 + found.value(j, "gain") for j in range(3)]
    assert gains[1] / gains[2] == pytest.approx(1.06, abs=5e-3)
    assert any("torque constant does not fit" in note for note in found.notes)
    state = motion(np.arange(0.0, 6.0, 0.004), 3, 11)
    wanted = efforts(arm[1], state, 0.0 * LEAK) * scale
    predicted = found.predict(*state)
    error = predicted - wanted
    effect = wanted[:, 1] * (1.0 - 1.0 / 1.06)
    assert np.sqrt(np.mean(error[:, 1:] ** 2)) < 0.15 * np.sqrt(np.mean(effect**2))
    rd.friction_file(found).write(tmp_path / "friction.json")
    again = rd.load_urdf(found.urdf())
    read = FrictionFile.read(tmp_path / "friction.json", again)
    whole = rd.inverse_dynamics(again, *state) + read.efforts(
        again, *state, (slice(0, len(state[0])),)
    )
    np.testing.assert_allclose(whole, predicted, atol=1e-6)


def test_moments_across_any_axis():
    """By their length, and by the moment that is left about the axis, which is the joint's
    effort.
    """
    model = rd.load_robot("seven_axis")
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, model.nv))
    load = joint_loads(model, ("load", "crosstalk"), q, v, a)
    moment = rd.joint_wrenches(model, q, v, a)[..., :3]
    np.testing.assert_allclose((load**2).sum(axis=-1), (moment**2).sum(axis=-1), rtol=1e-9)
    np.testing.assert_array_equal(
        load[0], joint_loads(model, ("load", "crosstalk"), q[0], v[0], a[0])
    )
    assert not joint_loads(model, ("stribeck",), q, v, a).any()


def test_where_there_are_no_such_moments_there_is_no_parameter():
    """A planar arm: nothing to find, nothing to warn about."""
    model = rd.load_robot("two_link")
    t = np.arange(0.0, 12.0, 0.008)
    state = motion(t, 2, 2)
    assert not joint_loads(model, ("crosstalk",), *state).any()
    effort = rd.inverse_dynamics(model, *state) + 0.4 * np.tanh(state[1] / 0.02)
    effort += 0.02 * np.random.default_rng(0).standard_normal(effort.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rd.identify(
            model, t, state[0], effort, rd.IdentificationSettings(friction=("crosstalk",))
        )
    assert not any(form.effects for form in found.effects)
