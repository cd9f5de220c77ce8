"""One control cycle of the library: compiled, and as written where there is no compiler; joint
wrenches in both.

    python -m benchmarks.cycle

Besides the plain cycle, those that cut efforts, blend, or resist a known wrench.
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


def median(
    controller: JointController, special: Callable[[JointController, int], None] | None = None
) -> float:
    """µs a cycle, along a motion; ``special`` is called before each cycle, untimed."""
    q = controller.model.initial_configuration()
    cycles = CYCLES if controller.compiled else CYCLES // 20
    controller.activate(0, q, np.zeros(controller.model.nv))
    if controller.law.tracks:
        controller.accept_trajectory(
            rd.plan_move(controller.model, q, q + 0.02, duration=2.0 * CYCLES * PERIOD * 1e-9), 0
        )
    v = np.zeros(controller.model.nv)
    taken = np.zeros(cycles)
    for k in range(cycles):
        if special is not None:
            special(controller, (k + 1) * PERIOD)
        begin = time.perf_counter_ns()
        controller.update((k + 1) * PERIOD, q, v)
        taken[k] = time.perf_counter_ns() - begin
    return float(np.median(taken)) * 1e-3


def push(controller: JointController, t: int) -> None:
    """A known wrench, new in every cycle: it is resisted, and its first one is blended in."""
    link = controller.model.link_names[-1]
    controller.set_external_wrench(link, [0.1, 0.2, 0.3, 1.0, 2.0, 3.0], t)


def special_cycles(model: RobotModel) -> dict[str, float]:
    """µs of cycles in which something happens, every time."""
    cut = JointController(model, guards=rd.GuardSettings(effort_scale=0.01))
    blending = JointController(model, options=rd.ControllerOptions(blend_time=1e3))
    blending.activate(0, model.initial_configuration(), np.zeros(model.nv))
    blending.set_gains(kp=90.0)
    return {
        "plain": median(JointController(model)),
        "efforts cut": median(cut),
        "blending": median(
            blending, lambda c, t: c.set_gains(kp=90.0) if t == 2 * PERIOD else None
        ),
        "known wrench": median(JointController(model), push),
    }


def main() -> int:
    """Print the figures."""
    ratios: dict[str, float] = {}
    rows: dict[str, dict[str, float]] = {}
    print(f"µs a cycle, median of {CYCLES}, all joint wrenches with it\n")
    print(f"{'robot':12}{'law':38}{'compiled':>14}{'as written':>12}{'ratio':>8}")
    robots: dict[str, Callable[[], RobotModel]] = {
        "six_axis": lambda: rd.load_robot("six_axis"),
        "seven_axis": lambda: rd.load_robot("seven_axis"),
        "chain of 30": lambda: rd.limb(30),
    }
    for robot, make in robots.items():
        model = make()
        for name, law in laws(model).items():
            compiled = JointController(model, law)
            written = JointController(model.with_backend("numpy"), law)
            fast = median(compiled)
            slow = median(written)
            print(f"{robot:12}{name:38}{fast:14.1f}{slow:12.1f}{slow / fast:8.1f}", flush=True)
            rows[f"{robot}, {name}"] = {"compiled, µs": fast, "as written, µs": slow}
            ratios[f"{robot}, {name}: as written over compiled"] = slow / fast
            if robot != "six_axis":
                break
    special = special_cycles(rd.load_robot("six_axis"))
    print(
        "\nsix_axis, computed torque, µs: "
        + ", ".join(f"{name} {value:.1f}" for name, value in special.items())
    )
    keep("cycle", ratios)
    write("cycle", {"cycles": rows, "special": special})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
