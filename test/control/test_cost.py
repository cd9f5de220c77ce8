"""What the cycle leaves behind: nothing."""

import tracemalloc

import numpy as np
import pytest
from support.closed_loop import mid
from support.memory import least_memory

import robot_dynamics_ros as rd

MS = 1_000_000


@pytest.mark.parametrize(
    "law",
    [
        rd.ComputedTorque(ki=10.0),
        rd.PDGravity(kp=10.0, kd=1.0),
        rd.CartesianImpedance(link="flange"),
    ],
    ids=lambda law: type(law).__name__,
)
def test_cycles_leave_no_memory_behind(law):
    arm = rd.load_robot("seven_axis")
    control = rd.JointController(arm, law, observer=rd.MomentumObserver(arm))
    q = mid(arm)
    v = np.zeros(7)
    control.activate(0, q, v)
    control.accept_trajectory(rd.plan_move(arm, q, q + 0.05, duration=10.0), 0)
    t = 0

    def cycles(n):
        nonlocal t
        for _ in range(n):
            t += MS
            control.update(t, q, v)

    tracemalloc.start()
    try:
        # until numpy's and the interpreter's free lists are full
        cycles(2000)
        left, peak = least_memory(lambda: cycles(500))
    finally:
        tracemalloc.stop()
    # about two bytes a cycle
    assert left < 1024
    assert peak < 32768


def test_arrays_handed_out_stay_the_same_objects():
    arm = rd.load_robot("two_link")
    control = rd.JointController(arm)
    q = np.array([0.1, 0.2])
    v = np.zeros(2)
    control.activate(0, q, v)
    arrays = (control.command, control.effort, control.reference, control.error, control.wrenches)
    for k in range(1, 5):
        assert control.update(k * MS, q, v) is control.command
    after = (control.command, control.effort, control.reference, control.error, control.wrenches)
    assert all(a is b for a, b in zip(arrays, after, strict=True))
