"""A controller and a robot that is not quite the one it knows, for the benchmarks of control."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

import robot_dynamics_ros as rd

__all__ = ["arm", "closed_loop", "home"]


def arm(name: str) -> rd.RobotModel:
    """A robot of ours with rotors in its joints: 0.2 kg m² reflected at the large ones, 0.05 at the
    small ones.
    """
    limits = rd.load_robot(name)
    rotors = {
        joint: 0.2 if limits.effort_limit[i] > 50.0 else 0.05
        for i, joint in enumerate(limits.joint_names)
    }
    return rd.load_urdf(rd.robot_path(name), armature=rotors)


def home(model: rd.RobotModel) -> np.ndarray:
    """A bent configuration amid the limits."""
    q = {"six_axis": [0.0, -1.3, 1.5, -0.4, 0.8, 0.3]}.get(model.name)
    return np.array(q) if q is not None else 0.5 * (model.lower + model.upper)


def closed_loop(
    controller: rd.JointController,
    plant: rd.Plant,
    *,
    delay: int = 0,
    sensors: rd.SensorSettings | None = None,
    external=None,
    measured_effort: bool = False,
) -> Iterator[tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (t in s, true q, true v, effort applied) once a control period; ends never.

    Args:
        delay: control periods that an effort takes to the motors.
        sensors: how states are measured; perfectly if not given.
        external: function of time giving link → wrench.
        measured_effort: give the controller the effort that was applied.
    """
    reading = rd.Sensors(plant.model, sensors) if sensors is not None else None
    start = rd.gravity_forces(controller.model, plant.q)
    waiting = deque([start] * delay)
    applied = start
    while True:
        t = plant.t
        q = plant.q
        v = plant.v
        stamp = round(t * 1e9) + 1_000_000_000
        x = q
        y = v
        if reading is not None:
            r = reading.sample(t, q, v, plant.tau)
            x = r.q
            y = r.v
        if controller.mode is rd.Mode.INACTIVE:
            controller.activate(stamp - 1, x, y)
        waiting.append(controller.update(stamp, x, y, applied if measured_effort else None).copy())
        applied = waiting.popleft()
        yield t, q, v, applied
        plant.step(applied, external(t) if external else None)
