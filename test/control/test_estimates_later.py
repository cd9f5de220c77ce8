"""What no command needs may be made ready after the first command."""

import time

import numpy as np
import pytest
from support.closed_loop import mid

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.controller import JointController

PERIOD = 2_000_000


def run(controller, start, cycles):
    """States of an arm that is pushed about, and the commands, wrenches and external efforts that they give."""
    q, found = mid(controller.model), []
    for k in range(start, start + cycles):
        v = 0.1 * np.sin(0.1 * k + np.arange(controller.model.nv))
        tau = controller.update(k * PERIOD, q + 0.01 * v, v).copy()
        found.append((tau, controller.wrenches.copy(), controller.observer.effort.copy()))
    return found


def test_commands_come_before_and_estimates_after():
    model = rd.load_robot("six_axis")
    early = JointController(model, observer=MomentumObserver(model))
    late = JointController(model, observer=MomentumObserver(model), estimates_later=True)
    assert early.estimates_ready and not late.estimates_ready
    assert not late.want_wrenches and not late.want_efforts
    for controller in (early, late):
        controller.activate(0, mid(model), np.zeros(model.nv))
    for (a, *_), (b, *_) in zip(run(early, 1, 10), run(late, 1, 10), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)  # without wrenches another function gives the efforts

    late.prepare_estimates()
    deadline = time.monotonic() + 60.0
    while not late.estimates_ready:
        assert time.monotonic() < deadline
        late.changes.take_over()  # as a cycle does
        time.sleep(0.01)
    late.want_wrenches = late.want_efforts = True
    late.set_external_wrench(model.link_names[-1], [0.1, 0.2, 0.3, 1.0, 2.0, 3.0], 11 * PERIOD)
    early.set_external_wrench(model.link_names[-1], [0.1, 0.2, 0.3, 1.0, 2.0, 3.0], 11 * PERIOD)
    for (a, b, _), (c, d, _) in zip(run(early, 11, 10), run(late, 11, 10), strict=True):
        np.testing.assert_allclose(a, c, atol=1e-12)
        np.testing.assert_allclose(b, d, atol=1e-12)
    assert np.abs(late.observer.effort).max() > 0.0


def test_a_collision_flag_does_not_wait():
    model = rd.load_robot("two_link")
    observer = MomentumObserver(model)
    controller = JointController(
        model, observer=observer, collision=CollisionMonitor(model, [5.0, 5.0]), estimates_later=True
    )
    assert controller.estimates_ready and controller.want_efforts


def test_an_error_is_told(monkeypatch):
    controller = JointController(rd.load_robot("two_link"), estimates_later=True)
    monkeypatch.setattr(type(controller.kernels), "prepare_estimates", lambda self: 1 / 0)
    errors = []
    controller.prepare_estimates(errors.append)
    deadline = time.monotonic() + 60.0
    while not errors and time.monotonic() < deadline:
        controller.changes.take_over()
        time.sleep(0.01)
    assert isinstance(errors[0], ZeroDivisionError)
    assert not controller.estimates_ready


@pytest.mark.parametrize("name", ["forward_dynamics", "generalized_momentum"])
def test_nothing_of_it_is_compiled_before(name):
    assert not hasattr(JointController(rd.load_robot("two_link"), estimates_later=True).kernels, name)
