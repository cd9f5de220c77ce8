"""One control cycle of the library: in machine code, and statement by statement; joint wrenches in both.

    python -m benchmarks.cycle

Both work with the same compiled functions of the robot; what differs is all that stands between them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write
from robot_dynamics_ros.control import FeedforwardPD, Friction, JointController, Law
from robot_dynamics_ros.model.robot_model import RobotModel

PERIOD = 1_000_000
CYCLES = 4000


def laws(model: RobotModel) -> dict[str, Law]:
    """Every law that is compiled."""
    friction = Friction.of(model, viscous=0.5, coulomb=1.0)
    return {
        "computed torque": rd.ComputedTorque(),
        "computed torque, friction, integral": rd.ComputedTorque(ki=10.0, friction=friction),
        "PD with gravity": rd.PDGravity(kp=10.0, kd=1.0),
        "feed-forward": FeedforwardPD(kp=10.0, kd=1.0),
        "joint impedance": rd.JointImpedance(stiffness=20.0),
        "gravity compensation": rd.GravityCompensation(damping=1.0),
    }


def median(controller: JointController) -> float:
    """µs a cycle, along a motion."""
    q = controller.model.initial_configuration()
    controller.activate(0, q, np.zeros(controller.model.nv))
    if controller.law.tracks:
        controller.accept_trajectory(
            rd.plan_move(controller.model, q, q + 0.02, duration=2.0 * CYCLES * PERIOD * 1e-9), 0
        )
    v, taken = np.zeros(controller.model.nv), np.zeros(CYCLES)
    for k in range(CYCLES):
        begin = time.perf_counter_ns()
        controller.update((k + 1) * PERIOD, q, v)
        taken[k] = time.perf_counter_ns() - begin
    return float(np.median(taken)) * 1e-3


def main() -> int:
    """Print the figures."""
    ratios, found = {}, {}
    print(f"µs a cycle, median of {CYCLES}, all joint wrenches with it\n")
    print(f"{'robot':12}{'law':38}{'machine code':>14}{'statements':>12}{'ratio':>8}")
    robots: dict[str, Callable[[], RobotModel]] = {
        "six_axis": lambda: rd.load_robot("six_axis"),
        "chain of 30": lambda: rd.limb(30),
        "chain of 200": lambda: rd.limb(200),
    }
    for robot, make in robots.items():
        model = make()
        for name, law in laws(model).items():
            compiled, stated = (JointController(model, law) for _ in range(2))
            stated._compiled = None
            fast, slow = median(compiled), median(stated)
            said = "" if compiled.compiled else "  (not compiled)"
            print(f"{robot:12}{name:38}{fast:14.1f}{slow:12.1f}{slow / fast:8.1f}{said}", flush=True)
            found[f"{robot}, {name}"] = {"machine code, µs": fast, "statements, µs": slow}
            ratios[f"{robot}, {name}: statements over machine code"] = slow / fast
            if robot != "six_axis":
                break
    keep("cycle", ratios)
    write("cycle", {"cycles": found})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
