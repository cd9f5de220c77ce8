"""The observer on a simulated robot with dry friction, noisy sensors and a motion that excites
everything.
"""

import numpy as np
import pytest

import robot_dynamics_ros as rd

MODEL = rd.load_urdf(
    rd.robot_path("seven_axis"), armature={f"joint{i}": 0.2 if i < 5 else 0.05 for i in range(1, 8)}
)
THRESHOLD = 0.1 * MODEL.effort_limit
GAIN = 50.0


@pytest.fixture(scope="module")
def motion():
    return rd.design_excitation(MODEL, rd.DesignSettings(period=10.0, evaluations=60, scale=0.6))


def observe(motion, truth, duration, push=None):
    """(t, q, estimated effort, flag) once a millisecond."""
    friction = rd.Friction.of(MODEL)
    controller = rd.JointController(
        MODEL,
        rd.ComputedTorque(kp=400.0, kd=40.0, friction=friction),
        observer=rd.MomentumObserver(MODEL, GAIN, friction),
        collision=rd.CollisionMonitor(MODEL, THRESHOLD, delay=0.005),
    )
    controller.want_wrenches = False
    sensors = rd.Sensors(
        MODEL,
        rd.SensorSettings(position_noise=2e-5, velocity_noise=2e-3, effort_noise=0.05, seed=1),
    )
    plant = rd.Plant(truth, 1e-3, q0=motion.at(0.0))
    rows = []
    effort = rd.gravity_forces(MODEL, plant.q)
    for k in range(round(duration / 1e-3)):
        reading = sensors.sample(plant.t, plant.q, plant.v, effort)
        stamp = 10**9 + k * 10**6
        if k == 0:
            controller.activate(stamp - 1, reading.q, reading.v)
        effort = controller.update(stamp, reading.q, reading.v, reading.tau).copy()
        if k == 0:
            controller.accept_trajectory(motion.trajectory(rate=20.0), stamp)
        rows.append(
            (plant.t, plant.q, controller.observer.effort.copy(), controller.collision.flag)
        )
        plant.step(effort, push if push is not None and plant.t >= 3.0 else None)
    return rows


@pytest.mark.parametrize("errors", [{}, {"mass": 1.05, "friction": 1.2}], ids=["exact", "wrong"])
def test_nobody_is_there_and_nobody_is_seen(motion, errors):
    rows = observe(motion, rd.robot_model_error(MODEL, **errors), motion.period)
    assert not any(flag for *_, flag in rows)
    assert (
        np.max([np.abs(r) for t, _, r, _ in rows if t > 0.2], axis=0)
        < (0.5 if errors else 0.25) * THRESHOLD + 0.25
    ).all()


def test_a_push_is_seen_with_the_delay_of_the_low_pass(motion):
    force = np.array([0.0, 0.0, 0.0, 25.0, -20.0, 15.0])
    rows = observe(motion, MODEL, 3.5, {"flange": force})
    before = rows[2999][2]
    share = []
    flagged = None
    for t, q, r, flag in rows[3000:]:
        J = rd.jacobian(MODEL, q, "flange")
        R = rd.link_pose(MODEL, q, "flange")[:3, :3]
        true = J[3:].T @ (R @ force[3:])
        share.append((r - before) @ true / (true @ true))
        flagged = t - 3.0 if flag and flagged is None else flagged
    reached = next(k for k, x in enumerate(share) if x > 1.0 - np.exp(-1.0)) * 1e-3
    assert reached == pytest.approx(1.0 / GAIN, abs=0.006)
    assert share[-1] == pytest.approx(1.0, abs=0.08)
    assert flagged is not None and flagged < 0.06
