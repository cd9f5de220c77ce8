"""Whatever arrives while a controller runs, its cycle compiles nothing, and everything asked for
takes effect.
"""

import threading
import time

import numpy as np
import pytest
from support.closed_loop import mid

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.cycle import loading
from robot_dynamics_ros.dynamics.engine import backends

PERIOD = 20_000_000
THREE_MINUTES = 180 * 10**9
# rad, and rad/s of its phase: how the arm moves meanwhile
WAY = 0.01
RATE = 2.0


def take_over_all(controller):
    """Let everything that is being prepared take effect, between two cycles."""
    deadline = time.monotonic() + 60.0
    while controller.changes.pending and time.monotonic() < deadline:
        time.sleep(0.01)
        controller.changes.take_over()


@pytest.mark.slow
def test_three_minutes_of_wrenches_payloads_laws_and_gains_compile_nothing_in_the_cycle(
    monkeypatch,
):
    arm = rd.load_robot("six_axis")
    made = []
    make = backends._engine

    def counted(model, name, *rest, **options):
        made.append((threading.current_thread(), name))
        return make(model, name, *rest, **options)

    class CountedGraph(loading.Graph):
        def __init__(self):
            made.append((threading.current_thread(), "a law"))
            super().__init__()

    monkeypatch.setattr(backends, "_engine", counted)
    monkeypatch.setattr(loading, "Graph", CountedGraph)
    controller = rd.JointController(
        arm,
        observer=rd.MomentumObserver(arm),
        contact=rd.control.ContactEstimate(arm, "tool0"),
        flange=rd.control.FlangeLoad(arm, "tool0_joint"),
        options=rd.ControllerOptions(state_timeout=1.0),
    )
    rng = np.random.default_rng(3)
    q = mid(arm)
    controller.activate(0, q, np.full(6, WAY * RATE))
    payloads = [None, *(rd.Payload("tool0", mass) for mass in (0.5, 1.0, 2.0))]
    laws = [
        lambda: rd.ComputedTorque(kp=rng.uniform(50, 200), kd=rng.uniform(10, 30)),
        lambda: rd.PDGravity(kp=rng.uniform(50, 200), kd=rng.uniform(1, 5), ki=rng.uniform(0, 5)),
        lambda: rd.JointImpedance(stiffness=rng.uniform(20, 60)),
        lambda: rd.CartesianImpedance(link=str(rng.choice(["tool0", "forearm_link"]))),
        lambda: rd.GravityCompensation(damping=1.0),
    ]
    made.clear()
    cycle = threading.current_thread()
    asked = carried = 0
    before = controller.payload
    times = range(PERIOD, THREE_MINUTES, PERIOD)
    # drawn beforehand: none depends on how fast a thread compiles
    events = np.random.default_rng(4).random(len(times))
    for t, event in zip(times, events, strict=True):
        if event < 0.06:
            controller.set_external_wrench(str(rng.choice(arm.link_names)), rng.normal(size=6), t)
        elif event < 0.08:
            controller.set_law(laws[rng.integers(len(laws))](), background=True)
        elif event < 0.097 and not controller.changes.pending:
            law = controller.law
            given = [n for n in law.gain_names if "clamp" not in n and getattr(law, n) is not None]
            controller.set_gains(**{str(rng.choice(given)): 1.0})
        elif event < 0.099:
            # the payload before this one takes effect first
            take_over_all(controller)
            controller.set_payload(payloads[rng.integers(4)], background=True)
            asked += 1
        # a slow motion whose velocities belong to its positions: noise instead would be refused
        # as a velocity of the wrong sign, sooner or later
        phase = RATE * t * 1e-9
        command = controller.update(
            t, q + WAY * np.sin(phase), np.full(6, WAY * RATE * np.cos(phase))
        )
        carried += controller.payload is not before
        before = controller.payload
        assert np.isfinite(command).all()
    take_over_all(controller)
    assert not controller.changes.pending
    assert asked > 10 and carried > 3
    assert [name for thread, name in made if thread is cycle] == []
    assert any(thread is not cycle for thread, _ in made)
    assert not controller.fault
