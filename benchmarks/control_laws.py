"""How well each law tracks on a robot that differs from its model: ``python -m benchmarks
control_laws``.

A move of 0.5 rad in all joints, there and back, at 80 % of the velocity limits, and a second and a
half of standing.
Cells: root mean square, and largest, error of any joint in mrad.  All laws have the same
    closed-loop frequency, 20
rad/s, with the inertia of the start pose; friction is compensated at the reference speed; nothing
is tuned to a column.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._closed_loop import arm, closed_loop, home
from benchmarks._results import write

OMEGA = 20.0
NOISE = rd.SensorSettings(position_noise=5e-5, velocity_noise=5e-3, seed=1)


@dataclass(frozen=True)
class Case:
    """One way in which robot and model differ."""

    name: str
    mass: float = 1.0
    friction: float = 1.0
    delay: int = 0
    sensors: rd.SensorSettings | None = None


CASES = (
    Case("exact model"),
    Case("10 % heavier", mass=1.1),
    Case("30 % heavier", mass=1.3),
    Case("friction + 30 %", friction=1.3),
    Case("1 ms late", delay=1),
    Case("5 ms late", delay=5),
    Case("noise", sensors=NOISE),
    Case("all", 1.1, 1.3, 1, NOISE),
)
RATES = (200, 500, 1000)
FREQUENCIES = (10.0, 20.0, 40.0, 60.0, 80.0, 120.0, 160.0, 240.0, 320.0, 480.0, 640.0, 960.0)
LINKS = {"six_axis": "tool0", "seven_axis": "flange"}


def laws(model: rd.RobotModel, omega: float = OMEGA) -> dict[str, rd.Law]:
    """All laws that track, as stiff as one another."""
    inertia = np.diag(rd.mass_matrix(model, home(model)))
    kp = omega**2 * inertia
    kd = 2.0 * omega * inertia
    friction = rd.Friction.of(model)
    return {
        "computed torque": rd.ComputedTorque(kp=omega**2, kd=2.0 * omega, friction=friction),
        "computed torque + I": rd.ComputedTorque(
            kp=omega**2, kd=2.0 * omega, ki=0.25 * omega**3, i_clamp=50.0, friction=friction
        ),
        "feedforward + PD": rd.FeedforwardPD(kp=kp, kd=kd, friction=friction),
        "feedforward + PID": rd.FeedforwardPD(
            kp=kp, kd=kd, ki=0.25 * omega * kp, friction=friction
        ),
        "joint impedance": rd.JointImpedance(stiffness=kp, damping_ratio=1.0, friction=friction),
        "Cartesian impedance": rd.CartesianImpedance(
            link=LINKS[model.name],
            stiffness=(30.0,) * 3 + (2000.0,) * 3,
            damping_ratio=1.0,
            posture_stiffness=kp,
            posture_damping=kd,
            friction=friction,
        ),
        "PD + gravity": rd.PDGravity(kp=kp, kd=kd, friction=friction),
    }


def track(
    model: rd.RobotModel, law: rd.Law, case: Case, rate: int = 1000
) -> tuple[float, float, float]:
    """Root mean square and largest error, and largest speed while standing at the end: mrad, mrad,
    mrad/s.
    """
    truth = rd.robot_model_error(model, mass=case.mass, friction=case.friction)
    q0 = home(model)
    q1 = q0 + 0.5 * np.where(np.arange(model.nv) % 2, -1.0, 1.0)
    plant = rd.Plant(
        truth, 1.0 / rate, integrator="semi_implicit_euler", substeps=max(1, 1000 // rate), q0=q0
    )
    controller = rd.JointController(model, law)
    controller.want_wrenches = False
    there = rd.plan_move(model, q0, q1, scale=0.8)
    back = rd.plan_move(model, q1, q0, scale=0.8)
    errors = []
    speeds = []
    sent = 0
    until = np.inf
    end = np.inf
    for t, q, v, _ in closed_loop(controller, plant, delay=case.delay, sensors=case.sensors):
        stamp = round(t * 1e9) + 1_000_000_000
        if sent == 0:
            goal = controller.accept_trajectory(there, stamp)
            sent = 1
            until = t + there.duration + 0.1
        elif sent == 1 and t >= until:
            goal = controller.accept_trajectory(back, stamp)
            sent = 2
            end = t + back.duration + 1.5
        errors.append(controller.reference[0] - q)
        if t > end - 0.2:
            speeds.append(v)
        if t > end or not np.abs(errors[-1]).max() < 3.0 or goal.status is rd.GoalStatus.ABORTED:
            break
    e = np.array(errors)
    if not t > end:
        return np.inf, np.inf, np.inf
    return (
        1e3 * float(np.sqrt(np.mean(e**2))),
        1e3 * float(np.abs(e).max()),
        1e3 * float(np.abs(speeds).max()),
    )


def highest_frequency(model: rd.RobotModel, title: str, rate: int, delay: int) -> float:
    """Largest of some frequencies, rad/s, up to which the loop of a frictionless arm is stable; 0
    if at none.

    Friction would hide that a loop is not.
    """
    slick = rd.robot_model_error(model, damping=0.0, friction=0.0)
    stable = 0.0
    for omega in FREQUENCIES:
        _, most, speed = track(slick, laws(slick, omega)[title], Case("", delay=delay), rate)
        if not (speed < 5.0 and most < 100.0):
            break
        stable = omega
    return stable


def by_case(model: rd.RobotModel) -> dict[str, dict[str, tuple[float, float]]]:
    """Law → case → root mean square and largest error, mrad, at 1 kHz."""
    return {
        title: {case.name: track(model, law, case)[:2] for case in CASES}
        for title, law in laws(model).items()
    }


def by_rate(model: rd.RobotModel) -> dict[str, dict[str, tuple[float, float]]]:
    """Law → rate in Hz → largest error, mrad, and largest speed while standing, mrad/s; the exact
    model.
    """
    return {
        title: {str(rate): track(model, law, CASES[0], rate)[1:] for rate in RATES}
        for title, law in laws(model).items()
    }


def stability(model: rd.RobotModel) -> dict[str, dict[str, tuple[float, ...]]]:
    """Law → rate in Hz → highest stable frequency, rad/s, with efforts at once and one period late;
    no friction.
    """
    return {
        title: {
            str(rate): tuple(highest_frequency(model, title, rate, k) for k in (0, 1))
            for rate in RATES
        }
        for title in ("computed torque", "feedforward + PD")
    }


PARTS = {
    "error of all joints and largest error, mrad": by_case,
    "largest error, mrad, and speed while standing, mrad/s": by_rate,
    "highest stable frequency, rad/s, at once and late": stability,
}


def main() -> int:
    """Print the tables; 1 if computed torque is not stable somewhere."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control_laws", description=(__doc__ or "").splitlines()[0]
    )
    parser.parse_args()
    figures: dict[str, dict[str, dict[str, dict[str, tuple[float, ...]]]]] = {}
    for name in LINKS:
        model = arm(name)
        for part, measured in PARTS.items():
            found = figures.setdefault(part, {})[name] = measured(model)
            print(f"\n{name}: {part}\n")
            for title, cells in found.items():
                row = "".join(
                    f"{case} {' '.join(f'{x:.2g}' for x in pair)}".rjust(26)
                    for case, pair in cells.items()
                )
                print(f"{title:20}{row}", flush=True)
    write("control_laws", figures)
    speeds = figures["largest error, mrad, and speed while standing, mrad/s"]
    return int(
        any(
            not speed < 5.0
            for table in speeds.values()
            for _, speed in table["computed torque"].values()
        )
    )


if __name__ == "__main__":
    sys.exit(main())
