"""Draws the figures of docs/reference/simulation.md and writes its numbers: ``python -m
docs.images.simulation_figures``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.simulation import JointFriction, Plant

HERE = Path(__file__).parent


def energy_drift() -> None:
    """A two-link arm swinging under gravity for 200 s at 10 ms."""
    model = rd.load_robot("two_link")
    q0 = np.array([-np.pi / 2 + 0.6, 0.4])
    figure, axes = plt.subplots(figsize=(7, 3.6), constrained_layout=True)
    found = {}
    for name in ("semi_implicit_euler", "moreau", "variational", "rk4", "rk8"):
        plant = Plant(model, 1e-2, integrator=name, friction=False, stops=None, q0=q0)
        start = sum(plant.energy())
        scale = start - sum(Plant(model, 1e-2, q0=[-np.pi / 2, 0.0], stops=None).energy())
        error = np.full(200, np.nan)
        worst = 0.0
        diverged = None
        for k in range(20_000):
            try:
                plant.step(np.zeros(2))
            except SimulationError:
                diverged = plant.t
                print(f"{name} diverges at {plant.t:g} s")
                break
            worst = max(worst, abs(sum(plant.energy()) - start) / scale)
            if k % 100 == 99:
                error[k // 100] = worst
                worst = 0.0
        axes.semilogy(np.arange(1, 201), np.maximum(error, 1e-16), label=name, linewidth=0.8)
        print(
            f"energy error {name:22} after 10 s {error[:10].max():.1e}   after 200 s "
            f"{error[-10:].max():.1e}"
        )
        found[name] = {
            "after 10 s": error[:10].max(),
            "after 200 s": error[-10:].max(),
            "diverged at, s": diverged,
        }
    write("energy_drift", {"integrators": found})
    axes.set(
        xlabel="time [s]",
        ylabel="energy error / energy of swing",
        title="Two-link arm, 10 ms steps, no friction",
    )
    axes.legend(loc="center right")
    axes.grid(alpha=0.3)
    figure.savefig(HERE / "energy_drift.svg")


def stick_slip() -> None:
    """A joint dragged through a spring, with and without a Stribeck curve."""
    model = rd.load_robot("pendulum").replace(gravity=(0, 0, 0))
    figure, axes = plt.subplots(figsize=(7, 3.0), constrained_layout=True)
    for static, label in ((1.0, "breakaway = Coulomb"), (3.0, "breakaway = 3 Coulomb")):
        plant = Plant(
            model,
            1e-3,
            integrator="rk4",
            stops=None,
            friction=JointFriction(viscous=1.0, coulomb=1.0, static=static, stribeck_velocity=0.02),
            user_effort=lambda t, q, v: 60.0 * (0.2 * t - q),
        )
        t = []
        q = []
        for _ in range(3000):
            plant.step([0.0])
            t.append(plant.t)
            q.append(plant.q[0])
        axes.plot(t, q, label=label)
    axes.set(
        xlabel="time [s]",
        ylabel="position [rad]",
        title="Stick-slip: a joint dragged through a spring at 0.2 rad/s",
    )
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(HERE / "stick_slip.svg")


if __name__ == "__main__":
    stick_slip()
    energy_drift()
