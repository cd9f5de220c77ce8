"""External wrenches that are functions of time: each integrator keeps its order."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robot_dynamics_ros as rd

SLIDER = """<robot name="slider"><link name="rail"/><link name="sled"><inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="x" type="prismatic"><parent link="rail"/><child link="sled"/><axis xyz="1 0 0"/>
<limit lower="-100" upper="100" effort="1000" velocity="1000"/></joint></robot>"""
RATE = 9.0


def error(integrator: str, dt: float, frame: str) -> float:
    """m, against the closed form of 2 ẍ = 4 cos 9t from rest."""
    model = rd.load_urdf(SLIDER)

    def push(t: float) -> dict[str, np.ndarray]:
        return {"sled": np.array([0.0, 0.0, 0.0, 4.0 * math.cos(RATE * t), 0.0, 0.0])}

    run = rd.simulate(
        model, duration=0.8, dt=dt, integrator=integrator, stops=None, **{frame: push}
    )
    exact = 2.0 * (1.0 - np.cos(RATE * run.t)) / RATE**2
    return float(np.abs(run.q[:, 0] - exact).max())


@pytest.mark.parametrize("frame", ["external", "external_world"])
@pytest.mark.parametrize(
    ("integrator", "order"), [("moreau", 2), ("heun", 2), ("rk4", 4), ("rk6", 6)]
)
def test_the_order_is_kept(integrator: str, order: int, frame: str) -> None:
    coarse = error(integrator, 0.08, frame)
    fine = error(integrator, 0.04, frame)
    assert coarse / fine > 0.75 * 2.0**order
