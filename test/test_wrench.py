"""The Wrench value."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_trees import random_pose

import robot_dynamics_ros as rd
from robot_dynamics_ros import Wrench

seeds = st.integers(0, 10_000)


def some_wrench(rng, frame="tool0"):
    return Wrench(rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), frame)


@given(seeds)
def test_the_power_does_not_depend_on_point_or_frame(seed):
    """Moment and force, about any point and in any axes, do the same work on a rigid motion."""
    rng = np.random.default_rng(seed)
    w = some_wrench(rng)
    omega = rng.normal(size=3)
    origin_velocity = rng.normal(size=3)

    def twist_at(point):
        return np.concatenate([omega, origin_velocity + np.cross(omega, point)])

    there = rng.normal(size=3)
    power = w.power(twist_at(w.point))
    assert w.translate(there).power(twist_at(there)) == pytest.approx(power, abs=1e-10)
    pose = random_pose(rng)
    turned = w.express("world", pose)
    R = pose.rotation
    twist = twist_at(w.point)
    assert turned.power(np.concatenate([R @ twist[:3], R @ twist[3:]])) == pytest.approx(
        power, abs=1e-10
    )
    assert np.allclose(turned.point, R @ w.point + pose.position)


@given(seeds)
def test_there_and_back(seed):
    rng = np.random.default_rng(seed)
    w = some_wrench(rng)
    pose = random_pose(rng)
    assert w.translate(rng.normal(size=3)).translate(w.point) == w
    assert w.express("world", pose).express("tool0", pose.inverse()) == w
    assert (
        w.express("turned", rotation=pose.rotation).express("tool0", rotation=pose.rotation.T) == w
    )


def test_moment_of_a_force():
    w = Wrench(force=(0, 0, -10), point=(0.5, 0, 0), frame="tool0").translate((0, 0, 0))
    # r × F of x and −z
    assert w.moment.tolist() == [0, 5, 0]
    assert w.vector.tolist() == [0, 5, 0, 0, 0, -10]
    assert Wrench.from_vector(w.vector, frame="tool0") == w


def test_wrenches_of_one_frame_and_point_add_up():
    w = Wrench(force=(1, 2, 3), moment=(4, 5, 6), point=(0.1, 0, 0), frame="tool0")
    assert w + w == 2 * w == w * 2
    assert w - w == Wrench(point=(0.1, 0, 0), frame="tool0")
    assert -w + w == 0 * w
    assert (w + Wrench(point=(0.1, 0, 0), frame="tool0")).isclose(w)


def test_what_does_not_belong_together_is_not_added():
    w = Wrench(force=(1, 0, 0), frame="tool0")
    with pytest.raises(rd.ArgumentError, match=r"'tool0'.*'world'.*express"):
        w + Wrench(force=(1, 0, 0))
    with pytest.raises(rd.ArgumentError, match="translate"):
        w + Wrench(force=(1, 0, 0), point=(0, 0, 1e-3), frame="tool0")
    for other in (1.0, np.zeros(6), None):
        with pytest.raises(TypeError):
            w + other
    with pytest.raises(TypeError):
        w * w


def test_equality_has_a_tolerance_and_no_hash():
    w = Wrench(force=(100, 0, 0), moment=(0, 1, 0))
    assert w == Wrench(force=(100 + 1e-8, 0, 0), moment=(0, 1, 0))
    assert w != Wrench(force=(100 + 1e-5, 0, 0), moment=(0, 1, 0))
    assert w.isclose(Wrench(force=(101, 0, 0), moment=(0, 1, 0)), rtol=0.02)
    assert w != Wrench(force=(100, 0, 0), moment=(0, 1, 0), frame="tool0")
    assert w != Wrench(force=(100, 0, 0), moment=(0, 1, 0), point=(0, 0, 1))
    assert w != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(w)


def test_it_is_constant():
    w = Wrench(force=(1, 2, 3))
    with pytest.raises(ValueError, match="read-only"):
        w.force[0] = 5.0
    for again in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert again == w
        assert not again.moment.flags.writeable


@pytest.mark.parametrize("wrong", [(1, 2), "abc", (np.nan, 0, 0), (np.inf, 0, 0), None])
def test_wrong_numbers(wrong):
    for name in ("force", "moment", "point"):
        with pytest.raises(rd.ArgumentError):
            Wrench(**{name: wrong})


def test_a_frame_needs_one_placement():
    w = Wrench(force=(1, 0, 0))
    with pytest.raises(rd.ArgumentError, match="either"):
        w.express("tool0")
    with pytest.raises(rd.ArgumentError, match="rotation matrix"):
        w.express("tool0", rotation=2 * np.eye(3))


def test_in_symbols_it_is_what_it_is_in_numbers():
    sympy = pytest.importorskip("sympy")
    F, x, angle = sympy.symbols("F l angle", real=True)
    push = Wrench(force=(0, F, 0), moment=(0, 0, 2), point=(x / 2, 0, 0), frame="link")
    values = {F: 3.0, x: 0.8, angle: 0.3}

    def numbers(wrench):
        return [float(sympy.sympify(e).subs(values)) for e in wrench.vector]

    def number(wrench):
        return Wrench(
            *(
                np.array([float(sympy.sympify(e).subs(values)) for e in part])
                for part in (wrench.force, wrench.moment, wrench.point)
            ),
            wrench.frame,
        )

    same = number(push)
    np.testing.assert_allclose(
        numbers(push.translate((0, x, 0))), same.translate((0, 0.8, 0)).vector
    )
    turn = sympy.rot_axis3(angle)
    R = np.array(turn.subs(values), dtype=float)
    np.testing.assert_allclose(
        numbers(push.express("world", rotation=turn)), same.express("world", rotation=R).vector
    )
    total = push + 2 * push - push * x
    np.testing.assert_allclose(numbers(total), (same * (3.0 - 0.8)).vector)
    twist = (0, 0, angle, 0, 1, 0)
    assert float(push.power(twist).subs(values)) == pytest.approx(same.power((0, 0, 0.3, 0, 1, 0)))
    assert push == Wrench((0, F * 1, 0), (0, 0, 2), (x - x / 2, 0, 0), "link") and push != total
    for frame in ("tip", "world"):
        at_tip = Wrench(force=(0, F, 0), frame=frame)
        with pytest.raises(rd.ArgumentError, match="a wrench of numbers"):
            rd.inverse_dynamics(rd.limb(1), [0.0], [0.0], [0.0], external={"tip": at_tip})


def test_a_wrench_in_symbols_acts_on_a_robot_in_symbols():
    sympy = pytest.importorskip("sympy")
    F, length = sympy.symbols("F l1")
    limb = rd.limb(2)
    push = Wrench(force=(F, 0, 0), point=(0, length / 2, 0), frame="segment2")
    derived = rd.symbolic(limb, "auto")
    with_it = derived.joint_wrench("joint1", external={"segment2": push}).function()
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 2))
    value = limb.joint("joint2").origin.position[1]
    same = Wrench(force=(5.0, 0, 0), point=(0, value / 2, 0), frame="segment2")
    expected = rd.joint_wrenches(limb, q, v, a, external={"segment2": same}, joints=["joint1"])
    np.testing.assert_allclose(with_it(q, v, a, F=5.0)[:, 0], expected[0], atol=1e-12)
    with pytest.raises(rd.ArgumentError, match="express"):
        derived.joint_wrench("joint1", external={"segment1": push})
