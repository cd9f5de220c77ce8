"""Energy over a million steps of ten robots that move chaotically, without friction and stops: does
it drift?

    python -m benchmarks.energy [--steps 1000000] [--dt 0.002] [--integrator moreau]

The mean of the energy's error over each of 50 windows, and a line fitted to these means.  What
counts is the rise of that line over the whole run beside the oscillation within a window, and the
momentum of the robots that float without gravity.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from robot_dynamics_ros.simulation import Plant

WINDOWS = 50


def chaotic_robots() -> Iterator[tuple[str, rd.RobotModel]]:
    """Eight on a fixed base under gravity, two that float without."""
    for name in ("two_link", "three_link", "six_axis", "seven_axis", "two_arm_torso"):
        yield name, rd.load_robot(name)
    yield "limb of 2", rd.limb(2, lengths=[0.5, 0.3], plane="vertical")
    yield "limb of 3", rd.limb(3, lengths=[0.4, 0.5, 0.3], masses=[1.0, 2.0, 0.5], plane="vertical")
    yield "limb of 4", rd.limb(4, lengths=[0.6, 0.4, 0.4, 0.3], plane="vertical")
    for name in ("three_link", "two_arm_torso"):
        yield (
            f"{name}, floating",
            rd.load_robot(name, floating_base=True).replace(gravity=(0.0, 0.0, 0.0)),
        )


def start(model: rd.RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """A configuration and velocities from which it moves in all joints."""
    rng = np.random.default_rng(1)
    floating = model.nq - model.nv
    v = rng.uniform(-1.0, 1.0, model.nv) * (2.0 if floating else 0.3)
    q = rd.integrate(
        model, model.neutral(), rng.uniform(-2.0, 2.0, model.nv) * (0.0 if floating else 1.0)
    )
    # its mass centre rests
    if floating:
        v[3:6] -= rd.centroidal_momentum(model, q, v)[3:] / model.total_mass
    return q, v


def drift(
    model: rd.RobotModel, steps: int, dt: float, integrator: str = "moreau"
) -> dict[str, float]:
    """Rise of the fitted line, oscillation within the first window, and how far momentum moved;
    over the largest kinetic energy and the largest momentum.
    """
    q0, v0 = start(model)
    plant = Plant(
        model, dt, integrator=integrator, friction=False, stops=None, limiter=False, q0=q0, v0=v0
    )
    begin = sum(plant.energy())
    means = []
    oscillation = 0.0
    kinetic = 0.0
    for window in range(WINDOWS):
        path = plant.run(np.zeros(model.nv), steps // WINDOWS)
        moving = np.asarray(rd.kinetic_energy(model, path.q, path.v))
        error = moving + rd.potential_energy(model, path.q) - begin
        means.append(float(error.mean()))
        kinetic = max(kinetic, float(moving.max()))
        if window == 0:
            oscillation = float(np.ptp(error))
    number = np.arange(WINDOWS)
    slope, level = np.polyfit(number, means, 1)
    rest = np.asarray(means) - slope * number - level
    uncertain = float(np.sqrt(rest @ rest / (WINDOWS - 2) / ((number - number.mean()) ** 2).sum()))
    result = {
        "rise": slope * WINDOWS / kinetic,
        "standard error of the rise": uncertain * WINDOWS / kinetic,
        "oscillation": oscillation / kinetic,
    }
    if model.nq > model.nv:
        before, after = (
            rd.centroidal_momentum(model, q, v) for q, v in ((q0, v0), (plant.q, plant.v))
        )
        result["momentum"] = float(np.abs(after - before).max() / np.abs(before).max())
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--dt", type=float, default=2e-3)
    parser.add_argument("--integrator", default="moreau")
    options = parser.parse_args()
    rows = {}
    print(f"{'':26}{'rise':>12}{'± (1 σ)':>12}{'oscillation':>14}{'momentum':>12}")
    for name, model in chaotic_robots():
        row = rows[name] = drift(model, options.steps, options.dt, options.integrator)
        cells = [f"{value:.1e}" for value in row.values()]
        print(
            f"{name:26}{cells[0]:>12}{cells[1]:>12}{cells[2]:>14}"
            f"{cells[3] if len(cells) > 3 else '':>12}",
            flush=True,
        )
    write("energy", {"steps": options.steps, "dt, s": options.dt, "robots": rows})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
